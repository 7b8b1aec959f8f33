/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What was observed of the images that disks are opened from and copied to, on hosts that tell nothing of their storage: whether the
 * target has them, and whether the guest's disk fits. Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>

const struct kvmig__fact_image *kvmig__fact_image_of(const struct kvmig__facts *facts, const char *disk)
{
    for (size_t i = 0; facts && disk && i < facts->images.n; i++) {
        if (kvmig__str_eq(facts->images.v[i].disk, disk))
            return &facts->images.v[i];
    }
    return NULL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b; /* unknown is the largest number */
}

uint64_t kvmig__fact_image_room(const struct kvmig__fact_image *image)
{
    bool block = kvmig__str_eq(image->target_volume_mode, "Block");
    uint64_t room = least(image->target_usable, image->target_virtual_size), capacity = image->target_capacity;
    double share = image->target_overhead;

    if (image->target_usable != KVMIG__UNKNOWN || capacity == KVMIG__UNKNOWN)
        return room;
    /* In millionths, whole numbers: a double cannot hold every size. */
    if (!block && share > 0 && share < 1) {
        uint64_t millionths = (uint64_t)(share * 1e6 + 0.5);

        capacity -= capacity / 1000000 * millionths + (capacity % 1000000 * millionths + 999999) / 1000000;
    }
    return least(room, capacity);
}

/* ---- one disk of a domain ---- */

void kvmig__disk_see_path(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    const struct kvmig__fact_image *image = kvmig__fact_image_of(c->view->facts, job->plan.target);

    if (image && image->target_path && job->target.type == KVMIG__DISK_FILE && !job->target.pool)
        kvmig__str_set(&job->target.path, image->target_path);
}

/* Of a device, what may be used of it is its size; of a file, that may be less than what it grows to. */
static bool sizes_differ(const struct kvmig__disk_job *job, const struct kvmig__fact_image *image)
{
    uint64_t there = image->target_virtual_size, here = image->source_virtual_size;

    if (there == KVMIG__UNKNOWN && job->source.type == KVMIG__DISK_BLOCK)
        there = image->target_usable;
    return here && here != KVMIG__UNKNOWN && there != KVMIG__UNKNOWN && here != there;
}

void kvmig__disk_see_absence(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    const struct kvmig__fact_image *image = kvmig__fact_image_of(c->view->facts, job->plan.target);

    if (!image || job->identity.same != KVMIG__SAME_UNKNOWN || job->source.type == KVMIG__DISK_NETWORK)
        return;
    if (image->target_exists == 0)
        job->identity = (struct kvmig__identity){ .same = KVMIG__SAME_NO, .why = "the target does not have it" };
    else if (sizes_differ(job, image) && c->request->copy == KVMIG_COPY_NONE)
        job->identity = (struct kvmig__identity){ .same = KVMIG__SAME_UNKNOWN,
                                                  .why = "what the two hosts have there was seen with different sizes",
                                                  .looks_shared = true };
    else if (sizes_differ(job, image))
        job->identity = (struct kvmig__identity){ .same = KVMIG__SAME_NO, .why = "the two are of different sizes" };
}

static void deny(const struct kvmig__check *c, struct kvmig__disk_job *job, const char *code, struct kvmig__detail *d,
                 const char *hint, const char *message)
{
    kvmig__note(c, code, KVMIG_SEVERITY_BLOCKER, kvmig__object_disk(job->plan.target), d, hint, "Disk %s: %s.",
                job->plan.target, message);
    kvmig__disk_set(job, KVMIG_DISK_IMPOSSIBLE, kvmig__strdup(message));
}

static struct kvmig__detail detail_of(const struct kvmig__disk_job *job, const struct kvmig__fact_image *image)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "source", job->plan.source_path);
    if (image->target_pvc)
        kvmig__detail_str(&d, "claim", image->target_pvc);
    else
        kvmig__detail_str(&d, "path", job->plan.target_path);
    return d;
}

/* libvirt creates what is missing only for whole copies, and only files in its storage pools. */
static void copy_onto_nothing(const struct kvmig__check *c, struct kvmig__disk_job *job,
                              const struct kvmig__fact_image *image)
{
    bool incremental = c->request->copy == KVMIG_COPY_INCREMENTAL || job->plan.method == KVMIG_DISK_COPY_INCREMENTAL;
    struct kvmig__detail d = detail_of(job, image);

    kvmig__detail_str(&d, "disk", job->plan.target);
    if (incremental)
        deny(c, job, "TARGET_PRECREATE_UNSUPPORTED", &d,
             "Create the image on the target, with the same backing images and virtual size, or copy whole disks.",
             "libvirt does not create the target of an incremental copy, and the target does not have it");
    else if (job->source.type != KVMIG__DISK_FILE)
        deny(c, job, "TARGET_PRECREATE_UNSUPPORTED", &d, "Create the device on the target, as large as the source.",
             "libvirt creates only files in its storage pools, and the target does not have this device");
    else
        kvmig__note(c, "TARGET_VOLUME_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_disk(job->plan.target), &d,
                    "Its folder must be an active storage pool of the target; libvirt creates it there.",
                    "Disk %s: the target does not have it yet, and its storage pools are not known.", job->plan.target);
}

static void check_smaller(const struct kvmig__check *c, struct kvmig__disk_job *job,
                          const struct kvmig__fact_image *image, uint64_t have)
{
    struct kvmig__detail d = detail_of(job, image);

    kvmig__detail_uint(&d, "need", job->plan.capacity);
    kvmig__detail_uint(&d, "have", have);
    deny(c, job, "DEST_VOLUME_SMALLER", &d,
         image->target_pvc ? "Make a larger claim; a file system needs some room for itself."
                           : "Enlarge it to exactly the virtual size of the source.",
         "what it would be copied into holds less than the disk");
}

void kvmig__disk_copy_onto_image(const struct kvmig__check *c, struct kvmig__disk_job *job,
                                 const struct kvmig__fact_image *image)
{
    uint64_t room = kvmig__fact_image_room(image);
    struct kvmig__detail d;

    if (image->source_virtual_size && image->source_virtual_size != KVMIG__UNKNOWN)
        job->plan.capacity = image->source_virtual_size;
    kvmig__str_set(&job->plan.target_path, image->target_path ? image->target_path : job->target.path);
    if (image->target_exists == 0 && !image->target_pvc) {
        copy_onto_nothing(c, job, image);
        return;
    }
    if (job->identity.same == KVMIG__SAME_UNKNOWN && !image->target_pvc &&
        kvmig__str_eq(job->plan.target_path, job->source.path)) {
        d = detail_of(job, image);
        kvmig__detail_str(&d, "identity", job->identity.why);
        kvmig__note(
            c, "SHARED_IDENTITY_UNPROVEN", KVMIG_SEVERITY_WARN, kvmig__object_disk(job->plan.target), &d,
            "Make sure that the two hosts do not share this file.",
            "Disk %s: it is copied onto the file of the same path on the target, and nothing proves that this is "
            "another one.",
            job->plan.target);
    }
    if (job->plan.capacity != KVMIG__UNKNOWN && room < job->plan.capacity)
        check_smaller(c, job, image, room);
    else if (image->target_virtual_size != KVMIG__UNKNOWN && !image->target_pvc)
        kvmig__disk_check_size(c, job, image->target_virtual_size);
}
