/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backing images of a disk: which they are, and whether the target has them. libvirt leaves them out of the XML that it
 * would migrate, so where the domain does not name them, the source's storage pools do. Pure; any thread.
 */
#include "plan/checks.h"

#include <stdlib.h>

/* A chain that is longer than this goes in a circle, or is none that QEMU would open. */
#define MAX_CHAIN 200

static void follow_volumes(const struct kvmig__host *source, struct kvmig__disk_job *job)
{
    const struct kvmig__volume *volume = job->source.volume;

    while (volume && volume->backing_path && job->chain.n < MAX_CHAIN) {
        struct kvmig__backing *backing = KVMIG__PUSH(&job->chain);
        const struct kvmig__pool *pool = kvmig__host_pool_of_path(source, volume->backing_path);

        backing->type = job->source.type;
        backing->path = volume->backing_path;
        volume = pool ? kvmig__pool_find_volume(pool, volume->backing_path) : NULL;
        backing->format = volume ? volume->format : NULL;
    }
}

void kvmig__disk_find_chain(const struct kvmig__host *source, struct kvmig__disk_job *job)
{
    for (size_t i = 0; i < job->disk->backing.n; i++) {
        const struct kvmig__disk_source *image = &job->disk->backing.v[i];

        *KVMIG__PUSH(&job->chain) = (struct kvmig__backing){ image->type, image->path, image->name, image->format };
    }
    if (!job->chain.n)
        follow_volumes(source, job);
}

bool kvmig__backing_usable(const struct kvmig__check *c, const struct kvmig__backing *backing, bool *out_proven)
{
    const struct kvmig__disk_source source = { .type = backing->type, .path = (char *)backing->path };
    struct kvmig__place here, there;
    bool usable;

    /* Nobody looked, and the caller asks for it: there is nothing to be said. */
    *out_proven = !kvmig__target_was_asked(c) && !c->target->pools_known && c->request->copy == KVMIG_COPY_INCREMENTAL;
    if (*out_proven)
        return true;
    if (backing->type != KVMIG__DISK_FILE && backing->type != KVMIG__DISK_BLOCK)
        return false;
    kvmig__place_resolve(&here, c->source, &source);
    kvmig__place_resolve(&there, c->target, &source);
    *out_proven = kvmig__same_storage(c, &here, &there).same == KVMIG__SAME_YES;
    usable = *out_proven;
    /* A copy of a base image on each host is common; size and format must agree at least. */
    if (!usable && backing->type == KVMIG__DISK_FILE && there.volume)
        usable = !here.volume || (here.volume->capacity == there.volume->capacity &&
                                  kvmig__str_eq(here.volume->format, there.volume->format));
    kvmig__place_clear(&here);
    kvmig__place_clear(&there);
    return usable;
}

/* ---- disks that stay where they are ---- */

/* The backing image as the host's XML names it, or as the source's pool does. */
static struct kvmig__disk_source source_of(const struct kvmig__disk_job *job, size_t index)
{
    if (job->disk->backing.n)
        return job->disk->backing.v[index];
    return (struct kvmig__disk_source){ .type = job->chain.v[index].type, .path = (char *)job->chain.v[index].path };
}

/* enum kvmig__same, for the one backing image; *out_absent: the target shows its folder, and not the image. */
static int32_t backing_same(const struct kvmig__check *c, const struct kvmig__disk_job *job, size_t index,
                            bool *out_absent)
{
    const struct kvmig__disk_source source = source_of(job, index);
    struct kvmig__place here, there;
    int32_t same;

    kvmig__place_resolve(&here, c->source, &source);
    kvmig__place_resolve(&there, c->target, &source);
    same = kvmig__same_storage(c, &here, &there).same;
    *out_absent = there.type == KVMIG__DISK_FILE && there.pool && !there.volume;
    kvmig__place_clear(&here);
    kvmig__place_clear(&there);
    return same;
}

static void note_backing(const struct kvmig__check *c, const struct kvmig__disk_job *job, const char *image,
                         bool missing)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "backing", image);
    if (missing)
        kvmig__note(c, "BACKING_CHAIN_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__object_disk(job->plan.target), &d,
                    "Put the whole chain on shared storage, or have the disk copied (name it in copy_disks).",
                    "Disk %s: its top image is shared, but the target does not have its backing image %s.",
                    job->plan.target, image);
    else
        kvmig__note(c, "BACKING_IMAGE_UNPROVEN", KVMIG_SEVERITY_WARN, kvmig__object_disk(job->plan.target), &d,
                    "Make sure that the target opens the same backing image, or put the whole chain on shared storage.",
                    "Disk %s: its top image is shared, but nothing proves that its backing image %s is, too.",
                    job->plan.target, image);
}

void kvmig__disk_check_shared_chain(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    for (size_t i = 0; job->plan.method == KVMIG_DISK_SHARED && i < job->chain.n; i++) {
        const char *image = job->chain.v[i].path ? job->chain.v[i].path : job->chain.v[i].name;
        bool absent = false;
        int32_t same = backing_same(c, job, i, &absent);

        if (same == KVMIG__SAME_YES || !image)
            continue;
        if (same == KVMIG__SAME_NO || absent) {
            note_backing(c, job, image, true);
            kvmig__disk_set(job, KVMIG_DISK_IMPOSSIBLE, kvmig__strdup("the target does not have its backing images"));
            return;
        }
        /* The caller's word that all is shared holds for the chain, too; and of files nothing more is known. */
        if (c->request->copy != KVMIG_COPY_NONE && kvmig__target_was_asked(c)) {
            note_backing(c, job, image, false);
            return;
        }
    }
}
