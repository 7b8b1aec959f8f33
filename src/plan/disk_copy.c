/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How disks are copied: whole, or only the top image onto backing images that the target has. libvirt takes one of two flags
 * for all disks of a migration: with NON_SHARED_INC it copies the top image of every disk, so a disk with backing images
 * cannot be copied whole beside one that is copied incrementally. Here one consistent choice is made for all. Also the cache
 * modes of disks that stay shared. Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>

#define HINT_CHAIN                                                                                                     \
    "Provide the backing images at the same paths on the target, in folders that a storage pool shows, or copy whole " \
    "disks (KVMIG_COPY_FULL)."

/* ---- does the target have the backing images? ---- */

static void look_at_chain(const struct kvmig__check *c, struct kvmig__disk_job *job, bool *out_proven)
{
    job->incremental_possible = job->chain.n > 0;
    *out_proven = true;
    for (size_t i = 0; i < job->chain.n; i++) {
        const struct kvmig__backing *backing = &job->chain.v[i];
        bool proven = false;

        if (kvmig__backing_usable(c, backing, &proven)) {
            *out_proven = *out_proven && proven;
            continue;
        }
        job->incremental_possible = false;
        job->missing_backing = backing->path ? backing->path : backing->name;
        return;
    }
}

static void note_backing_unproven(const struct kvmig__check *c, const struct kvmig__disk_job *job)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "backing", job->chain.v[0].path);
    kvmig__note(
        c, "BACKING_IMAGE_UNPROVEN", KVMIG_SEVERITY_WARN, kvmig__object_disk(job->plan.target), &d,
        "Make sure that the backing images are identical on both hosts, or copy whole disks (KVMIG_COPY_FULL).",
        "Disk %s: the target has images of the same name and size as its backing images, but nothing proves that "
        "their contents are the same.",
        job->plan.target);
}

static void note_chain_missing(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "backing", job->missing_backing);
    kvmig__note(c, "BACKING_CHAIN_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__object_disk(job->plan.target), &d,
                HINT_CHAIN,
                "Disk %s: an incremental copy is asked for, but the target does not have its backing image %s.",
                job->plan.target, job->missing_backing ? job->missing_backing : "");
    kvmig__disk_set(job, KVMIG_DISK_IMPOSSIBLE, kvmig__strdup("the target does not have its backing images"));
}

/* ---- one choice for all ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b; /* unknown is the largest number */
}

static void estimate(struct kvmig__disk_job *job)
{
    const struct kvmig__disk *disk = job->disk;
    bool block = job->source.type == KVMIG__DISK_BLOCK;

    if (job->plan.method == KVMIG_DISK_COPY_INCREMENTAL)
        job->plan.estimate = disk->allocation;
    else if (job->chain.n || block)
        job->plan.estimate = job->plan.capacity;
    else
        job->plan.estimate = least(job->plan.capacity, disk->allocation);
}

static void make_incremental(const struct kvmig__check *c, struct kvmig__disk_job *job, bool proven)
{
    const struct kvmig__backing *backing = &job->chain.v[0];

    kvmig__disk_set(job, KVMIG_DISK_COPY_INCREMENTAL,
                    kvmig__strdup("not shared; the target has its backing images, so only the top image is copied"));
    job->plan.backing_path = kvmig__strdup(backing->path);
    job->plan.backing_format = kvmig__strdup(backing->format);
    if (!proven)
        note_backing_unproven(c, job);
}

static void make_full(const struct kvmig__check *c, struct kvmig__disk_job *job, const struct kvmig__disk_job *obstacle)
{
    if (obstacle && obstacle != job)
        kvmig__disk_set(
            job, KVMIG_DISK_COPY_FULL,
            kvmig__asprintf("not shared; copied whole, because %s has to be and libvirt copies all disks in "
                            "one way",
                            obstacle->plan.target));
    else if (obstacle)
        kvmig__disk_set(
            job, KVMIG_DISK_COPY_FULL,
            kvmig__asprintf(kvmig__target_was_asked(c)
                                ? "not shared; copied whole, because the target does not have its backing image %s"
                                : "copied whole, because nothing tells whether the target has its backing image %s",
                            job->missing_backing ? job->missing_backing : ""));
    else
        kvmig__disk_set(job, KVMIG_DISK_COPY_FULL, kvmig__strdup("not shared; copied whole, as asked"));
}

/* A disk that rules out an incremental copy of all; NULL if none does. */
static const struct kvmig__disk_job *find_obstacle(const struct kvmig__disk_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++) {
        const struct kvmig__disk_job *job = &jobs->v[i];

        if (kvmig__disk_is_copied(&job->plan) && job->chain.n && !job->incremental_possible)
            return job;
    }
    return NULL;
}

static void choose(const struct kvmig__check *c, struct kvmig__disk_jobs *jobs, const bool *proven)
{
    const struct kvmig__disk_job *obstacle = find_obstacle(jobs);
    bool whole = c->request->copy == KVMIG_COPY_FULL || (obstacle && c->request->copy != KVMIG_COPY_INCREMENTAL);

    if (c->request->copy == KVMIG_COPY_FULL)
        obstacle = NULL;
    for (size_t i = 0; i < jobs->n; i++) {
        struct kvmig__disk_job *job = &jobs->v[i];

        if (!job->chain.n || !kvmig__disk_is_copied(&job->plan))
            continue;
        if (whole)
            make_full(c, job, obstacle);
        else if (job->incremental_possible)
            make_incremental(c, job, proven[i]);
        else
            note_chain_missing(c, job);
    }
}

void kvmig__disks_choose_copy(const struct kvmig__check *c, struct kvmig__disk_jobs *jobs)
{
    bool *proven = kvmig__calloc(jobs->n + 1, sizeof(*proven));

    if (c->target) {
        for (size_t i = 0; i < jobs->n; i++) {
            if (kvmig__disk_is_copied(&jobs->v[i].plan))
                look_at_chain(c, &jobs->v[i], &proven[i]);
        }
        choose(c, jobs, proven);
    }
    for (size_t i = 0; i < jobs->n; i++) {
        if (kvmig__disk_is_copied(&jobs->v[i].plan))
            estimate(&jobs->v[i]);
    }
    free(proven);
}

/* ---- cache modes ---- */

static bool cache_is_safe(const char *cache)
{
    return kvmig__str_eq(cache, "none") || kvmig__str_eq(cache, "directsync");
}

/* Images that libvirt asks the cache mode of; librbd keeps its cache in QEMU, where migration flushes it. */
static bool host_may_cache(const struct kvmig__place *source)
{
    return source->type == KVMIG__DISK_FILE || source->type == KVMIG__DISK_BLOCK ||
           (source->type == KVMIG__DISK_NETWORK && source->protocol && !kvmig__str_eq(source->protocol, "rbd"));
}

/* The older one of the two, as far as known: libvirt asks the source's, and the target's drops what its host has cached. */
static uint64_t oldest_qemu(const struct kvmig__check *c)
{
    uint64_t here = kvmig__qemu_of(c, c->source), there = kvmig__qemu_of(c, c->target);

    return here && there && there < here ? there : here;
}

/* QEMU 4.0 and later drop the host's cache of an image before they hand it over. */
void kvmig__disk_check_cache(const struct kvmig__check *c, const struct kvmig__disk_job *job)
{
    const struct kvmig__disk *disk = job->disk;
    uint64_t qemu = oldest_qemu(c);
    bool consent = kvmig__request_has(c->request, KVMIG_PLAN_UNSAFE);
    struct kvmig__detail d = { 0 };

    if (job->plan.method != KVMIG_DISK_SHARED || disk->shareable || cache_is_safe(disk->cache) ||
        !host_may_cache(&job->source) || qemu >= KVMIG__VERSION(4, 0, 0) || (!qemu && c->source->from_files) ||
        kvmig__fact_cache_coherent(c, job->source.path))
        return;
    kvmig__detail_str(&d, "disk", disk->target);
    kvmig__detail_str(&d, "mode", disk->cache ? disk->cache : "default");
    kvmig__detail_version(&d, "qemu", qemu);
    kvmig__note(
        c, "UNSAFE_DISK_CACHE", qemu && !consent ? KVMIG_SEVERITY_BLOCKER : KVMIG_SEVERITY_WARN,
        kvmig__object_disk(disk->target), &d,
        "Set cache='none' or 'directsync' on the disk, or upgrade QEMU to 4.0 or later.",
        "Disk %s: it is shared and cached by the host (cache mode %s), and QEMU %s; the target could read stale "
        "data.",
        disk->target, disk->cache ? disk->cache : "default",
        qemu ? "before 4.0 does not drop that cache" : "of an unknown version may not drop that cache");
}
