/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How every disk of the VM gets to the target: shared, copied, skipped, or not at all. Decides the method of each disk by
 * what is proven, stated or asked for; how copies are made and where they go is in disk_copy.c and disk_target.c. Pure; any
 * thread. The disk plans are handed to the caller.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>

#define HINT_STATE_SHARED                                                                                              \
    "If both hosts see one storage there, say so: list its folder in shared_paths of the cluster, or plan with "       \
    "KVMIG_COPY_NONE."

void kvmig__disk_set(struct kvmig__disk_job *job, int32_t method, char *reason)
{
    job->plan.method = method;
    free(job->plan.reason);
    job->plan.reason = reason;
}

static void set(struct kvmig__disk_job *job, int32_t method, const char *reason)
{
    kvmig__disk_set(job, method, kvmig__strdup(reason));
}

bool kvmig__disk_is_copied(const struct kvmig__disk_plan *disk)
{
    return disk->method == KVMIG_DISK_COPY_FULL || disk->method == KVMIG_DISK_COPY_INCREMENTAL;
}

uint64_t kvmig__disks_bytes_to_copy(const struct kvmig__disk_plan *disks, size_t n, uint64_t *out_known)
{
    uint64_t all = 0, known = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = disks[i].estimate != KVMIG__UNKNOWN ? disks[i].estimate : disks[i].capacity;

        if (!kvmig__disk_is_copied(&disks[i]))
            continue;
        all = kvmig__sum(all, bytes);
        if (bytes != KVMIG__UNKNOWN)
            known = kvmig__sum(known, bytes);
    }
    if (out_known)
        *out_known = known;
    return all;
}

/* Evidence that most findings about a disk share: what is opened, and how its identity was judged. */
static struct kvmig__detail evidence(const struct kvmig__disk_job *job)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "source", job->plan.source_path);
    if (!kvmig__str_eq(job->target.path, job->source.path))
        kvmig__detail_str(&d, "target", job->target.path);
    kvmig__detail_str(&d, "identity", job->identity.why);
    return d;
}

static void note(const struct kvmig__check *c, const struct kvmig__disk_job *job, const char *code, int32_t severity,
                 const char *hint, const char *message)
{
    struct kvmig__detail d = evidence(job);

    kvmig__note(c, code, severity, kvmig__object_disk(job->plan.target), &d, hint, "Disk %s: %s.", job->plan.target,
                message);
}

static void impossible(const struct kvmig__check *c, struct kvmig__disk_job *job, const char *code, const char *hint,
                       const char *message)
{
    set(job, KVMIG_DISK_IMPOSSIBLE, message);
    note(c, job, code, KVMIG_SEVERITY_BLOCKER, hint, message);
}

/* Of doubts that a host left open although it was asked; files are not expected to settle them. */
static int32_t severity_if_asked(const struct kvmig__check *c)
{
    return kvmig__target_was_asked(c) ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_INFO;
}

/* ---- read-only disks ---- */

static void decide_readonly(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    static const char hint[] = "Eject the medium, or provide the same file at the same path on the target.";
    const struct kvmig__volume *here = job->source.volume, *there = job->target.volume;

    set(job, KVMIG_DISK_SKIP, "read-only; it is not copied");
    if (c->request->copy == KVMIG_COPY_NONE || job->identity.same == KVMIG__SAME_YES ||
        job->source.type == KVMIG__DISK_NETWORK || kvmig__target_xml_unread(c))
        return;
    if (there && here && here->capacity != there->capacity)
        note(c, job, "READONLY_MEDIA_DIFFERS", KVMIG_SEVERITY_WARN, hint,
             "the target has a file of another size at the path of this read-only disk");
    else if (there)
        set(job, KVMIG_DISK_SKIP, "read-only; the target has it at the same path");
    else if ((job->source.type == KVMIG__DISK_FILE && job->target.pool) || job->identity.same == KVMIG__SAME_NO)
        impossible(c, job, "READONLY_MEDIA_MISSING", hint,
                   "the target does not have this read-only disk, so the guest cannot be started there");
    else
        note(c, job, "READONLY_MEDIA_UNVERIFIED", severity_if_asked(c), hint,
             "it is read-only and not copied; whether the target has it cannot be seen, because no storage pool of the "
             "target shows its folder");
}

/* ---- disks that stay where they are ---- */

static void note_unrecognised(const struct kvmig__check *c, const struct kvmig__disk_job *job)
{
    if (job->source.type != KVMIG__DISK_FILE || job->identity.recognised ||
        kvmig__request_has(c->request, KVMIG_PLAN_UNSAFE))
        return;
    note(c, job, "SHARED_FS_UNRECOGNISED", KVMIG_SEVERITY_INFO,
         "If libvirt refuses the migration as unsafe (error 81), it does not know the file system as a shared one. "
         "Make sure "
         "that it is, then consent with KVMIG_PLAN_UNSAFE.",
         "it is shared, but libvirt judges by the type of the file system and may not recognise that");
}

static void note_onto_itself(const struct kvmig__check *c, const struct kvmig__disk_job *job)
{
    const struct kvmig__facts *facts = c->view->facts;
    const struct kvmig__fact_mount *mount;
    struct kvmig__detail d = evidence(job);
    const char *rest;

    mount = facts && job->target.path ? kvmig__fact_mount_of(facts, kvmig__observed_target(c), job->target.path, &rest)
                                      : NULL;
    if (mount)
        kvmig__detail_str(&d, "file_system", mount->source);
    kvmig__note(c, "BLOCK_COPY_ONTO_SAME_STORAGE", KVMIG_SEVERITY_BLOCKER, kvmig__object_disk(job->plan.target), &d,
                "Leave it out of what is copied: it need not be.",
                "Disk %s: a copy is asked for, but both hosts see one storage, and it would be copied onto itself.",
                job->plan.target);
}

static void decide_shared(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    set(job, KVMIG_DISK_SHARED, job->identity.why);
    if (job->named) {
        note_onto_itself(c, job);
        return;
    }
    note_unrecognised(c, job);
}

static void bound_to_its_host(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    impossible(c, job, "DISK_NOT_MIGRATABLE", "Detach it, or move its contents to a disk in a file or volume.",
               "NVMe devices given to the guest and folders shown as a disk belong to one host and cannot be copied");
}

/* Nothing is copied, because the caller says that it need not be. */
static void decide_stated(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    bool block = job->source.type == KVMIG__DISK_BLOCK;

    if (job->source.type == KVMIG__DISK_NVME || job->source.type == KVMIG__DISK_DIR) {
        bound_to_its_host(c, job);
        return;
    }
    if (job->identity.same == KVMIG__SAME_NO) {
        impossible(c, job, block ? "BLOCK_DEVICE_NOT_SHARED" : "DISK_NOT_SHARED",
                   "Let the disk be copied (KVMIG_COPY_AUTO, or name it in copy_disks), or put it on shared storage.",
                   "it is said to be shared, but the target has something else there");
        return;
    }
    set(job, KVMIG_DISK_SHARED, "the caller says that it is shared");
    if (job->identity.same == KVMIG__SAME_YES)
        set(job, KVMIG_DISK_SHARED, job->identity.why);
    else if (job->source.type == KVMIG__DISK_FILE && job->target.pool && !job->target.volume)
        note(c, job, "DISK_NOT_SEEN_ON_TARGET", KVMIG_SEVERITY_INFO,
             "Refresh the storage pool on the target, and look whether the shared storage is mounted there.",
             "it is said to be shared, but the target's storage pool does not list it");
    if (job->identity.looks_shared)
        note(c, job, "SHARED_IDENTITY_UNPROVEN", KVMIG_SEVERITY_WARN,
             "Make sure that both hosts see one storage there; if they do not, the guest goes on with other data.",
             job->identity.why);
    note_unrecognised(c, job);
}

/* Both hosts were asked and could not tell one device from another: the guest's data hang on a name. */
static bool device_could_not_be_told(const struct kvmig__check *c, const struct kvmig__disk_job *job)
{
    return job->source.type == KVMIG__DISK_BLOCK && c->target && c->source->block_devices_asked &&
           c->target->block_devices_asked;
}

/* libvirt takes it for shared; nothing here proves or refutes it. */
static void shared_unproven(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    if (device_could_not_be_told(c, job) && !kvmig__request_has(c->request, KVMIG_PLAN_UNSAFE)) {
        impossible(c, job, "SHARED_IDENTITY_UNPROVEN",
                   "If both hosts open the same storage under this name, say so: shared_paths, KVMIG_COPY_NONE, or "
                   "KVMIG_PLAN_UNSAFE. Otherwise have the disk copied (target_pool).",
                   "libvirt takes this block device for shared, but neither host tells its serial number or world-wide "
                   "name; if the target has another device there, the guest goes on with other data");
        return;
    }
    set(job, KVMIG_DISK_SHARED, "libvirt takes storage of this kind for shared");
    note(c, job, "SHARED_IDENTITY_UNPROVEN", severity_if_asked(c),
         "Make sure that both hosts open the same storage under this name; KVMIG_COPY_NONE states it.",
         "libvirt takes it for shared, but nothing proves that the target opens the same storage; if it does not, the "
         "guest goes on with other data");
}

static bool may_be_copied(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    if (!job->disk->shareable && !kvmig__str_eq(job->disk->device, "lun"))
        return true;
    impossible(
        c, job, "VOLUME_NOT_MOVABLE", HINT_STATE_SHARED,
        "disks that several guests share and SCSI pass-through LUNs cannot be copied, and it is not proven to be "
        "shared");
    return false;
}

/* libvirt was told to copy disks and to choose them, which it does without asking whether block devices are shared. Hosts that
 * can be asked settle that themselves. */
static bool flags_name_it(const struct kvmig__check *c, const struct kvmig__disk_job *job)
{
    return kvmig__flags_copy_all(c->request) && !kvmig__target_was_asked(c) && !job->disk->shareable;
}

/* A copy is asked for by name, onto something that may be the very same storage. */
static void copy_unproven(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    if (!kvmig__target_was_asked(c)) {
        if (!may_be_copied(c, job))
            return;
        set(job, KVMIG_DISK_COPY_FULL, "copied as asked");
        if (!kvmig__fact_image_of(c->view->facts, job->plan.target))
            note(c, job, "SHARED_IDENTITY_UNPROVEN", KVMIG_SEVERITY_INFO,
                 "Make sure that the two hosts do not share it.",
                 "it is copied as asked, and nothing tells whether the target has another one under this name");
        return;
    }
    impossible(c, job, "SHARED_IDENTITY_UNPROVEN",
               "Give target_pool so that the copy goes to a new volume, or take the disk out of copy_disks if it is "
               "shared.",
               "a copy is asked for, but the target may open the same storage under this name, and it would be copied "
               "onto itself");
}

/* ---- by kind of storage ---- */

static void decide_block(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    bool wanted = job->named || flags_name_it(c, job);

    if (job->identity.same == KVMIG__SAME_UNKNOWN) {
        if (!wanted)
            shared_unproven(c, job);
        else if (!c->request->target_pool)
            copy_unproven(c, job);
        else if (may_be_copied(c, job))
            set(job, KVMIG_DISK_COPY_FULL, "copied as asked");
    } else if (!wanted && !c->request->target_pool) {
        impossible(
            c, job, "BLOCK_DEVICE_NOT_SHARED",
            "Put the disk on storage that both hosts reach, use the device's /dev/disk/by-id name, or have it "
            "copied: give target_pool, or name it in copy_disks if the target's device may be overwritten.",
            "libvirt would take this block device for shared, but the target has another one or none of that path");
    } else if (may_be_copied(c, job)) {
        set(job, KVMIG_DISK_COPY_FULL, "not shared");
    }
}

static void decide_network(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    if (job->identity.same == KVMIG__SAME_NO)
        set(job, KVMIG_DISK_COPY_FULL, job->identity.why);
    else if (job->named)
        copy_unproven(c, job);
    else
        shared_unproven(c, job);
}

static void decide_by_kind(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    switch (job->source.type) {
    case KVMIG__DISK_FILE:
        if (may_be_copied(c, job))
            set(job, KVMIG_DISK_COPY_FULL,
                job->identity.same == KVMIG__SAME_NO ? "not shared" : "not proven to be shared");
        break;
    case KVMIG__DISK_BLOCK:
        decide_block(c, job);
        break;
    case KVMIG__DISK_NETWORK:
        decide_network(c, job);
        break;
    case KVMIG__DISK_NVME:
    case KVMIG__DISK_DIR:
        bound_to_its_host(c, job);
        break;
    default: /* vhost-user, volumes of pools that are not known */
        shared_unproven(c, job);
        break;
    }
}

/* The XML names a pool that the target is known not to have. */
static bool pool_missing(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    if (job->disk->source.type != KVMIG__DISK_VOLUME || !c->target->pools_known || job->target.known ||
        c->request->target_pool || kvmig__target_xml_unread(c))
        return false;
    impossible(c, job, "TARGET_POOL_MISSING",
               "Define and start the pool on the target, or give target_pool so that the disk is copied to another.",
               "its XML names a storage pool that the target does not have");
    return true;
}

static void decide(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    const struct kvmig__strlist *list = &c->request->copy_disks;

    if (!job->disk->has_source)
        set(job, KVMIG_DISK_SKIP, "the drive is empty");
    else if (!kvmig__target_xml_unread(c) && !kvmig__target_disk(c, job->plan.target))
        impossible(c, job, "TARGET_XML_MISMATCH", "Give the target the same disks as the source, under the same names.",
                   "the domain XML for the target does not have it");
    else if (pool_missing(c, job))
        return;
    else if (job->disk->readonly)
        decide_readonly(c, job);
    else if (c->request->copy == KVMIG_COPY_NONE || (list->n && !job->named))
        decide_stated(c, job);
    else if (job->identity.same == KVMIG__SAME_YES)
        decide_shared(c, job);
    else
        decide_by_kind(c, job);
}

/* Without a target: what follows from the VM and the request alone. */
static void decide_alone(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    const struct kvmig__strlist *list = &c->request->copy_disks;
    bool block_stays = job->source.type == KVMIG__DISK_BLOCK && !job->named && !c->request->target_pool;

    if (!job->disk->has_source)
        set(job, KVMIG_DISK_SKIP, "the drive is empty");
    else if (job->disk->readonly)
        set(job, KVMIG_DISK_SKIP, "read-only; it is not copied");
    else if (c->request->copy == KVMIG_COPY_NONE || (list->n && !job->named))
        set(job, KVMIG_DISK_SHARED, "the caller says that it is shared");
    else if (kvmig__path_stated(c->view, job->source.path))
        set(job, KVMIG_DISK_SHARED, "the caller stated that this folder is shared");
    else if (job->source.type == KVMIG__DISK_FILE || (job->source.type == KVMIG__DISK_BLOCK && !block_stays))
        set(job, KVMIG_DISK_COPY_FULL, "unless a target turns out to share it");
    else
        set(job, KVMIG_DISK_SHARED, "libvirt takes storage of this kind for shared; each target is checked");
}

/* ---- setting up ---- */

static uint64_t known_or(uint64_t value, uint64_t otherwise)
{
    return value == KVMIG__UNKNOWN || value == 0 ? otherwise : value;
}

static uint64_t virtual_size(const struct kvmig__check *c, const struct kvmig__disk_job *job)
{
    const struct kvmig__block_device *device = kvmig__host_block_device(c->source, job->source.path);
    uint64_t size = KVMIG__UNKNOWN;

    if (device)
        size = known_or(device->size, size);
    if (job->source.volume)
        size = known_or(job->source.volume->capacity, size);
    size = known_or(job->disk->source.capacity, size);
    return known_or(job->disk->capacity, size);
}

static char *opened_path(const struct kvmig__disk_job *job)
{
    const struct kvmig__disk_source *source = &job->disk->source;

    if (job->source.path)
        return kvmig__strdup(job->source.path);
    if (source->protocol && source->name)
        return kvmig__asprintf("%s:%s", source->protocol, source->name);
    if (source->pool && source->volume)
        return kvmig__asprintf("%s/%s", source->pool, source->volume);
    return NULL;
}

static void begin(const struct kvmig__check *c, const struct kvmig__disk *disk, struct kvmig__disk_job *job)
{
    const struct kvmig__disk *there = c->target ? kvmig__target_disk(c, disk->target) : NULL;

    job->disk = disk;
    job->named = kvmig__strlist_has(&c->request->copy_disks, disk->target);
    job->plan.target = kvmig__strdup(disk->target);
    job->plan.capacity = KVMIG__UNKNOWN;
    job->plan.estimate = KVMIG__UNKNOWN;
    if (!disk->has_source)
        return;
    kvmig__place_resolve(&job->source, c->source, &disk->source);
    kvmig__disk_find_chain(c->source, job);
    job->plan.source_path = opened_path(job);
    job->plan.format = kvmig__strdup(disk->source.format);
    job->plan.capacity = virtual_size(c, job);
    if (!c->target)
        return;
    kvmig__place_resolve(&job->target, c->target, there && there->has_source ? &there->source : &disk->source);
    kvmig__disk_see_path(c, job);
    job->identity = kvmig__same_storage(c, &job->source, &job->target);
    kvmig__disk_see_absence(c, job);
}

/* libvirt is to copy disks and to choose them itself, but all that could be copied is shared. */
static void check_void_copy(const struct kvmig__check *c, const struct kvmig__disk_jobs *jobs)
{
    if (!c->target || !kvmig__flags_copy_all(c->request))
        return;
    for (size_t i = 0; i < jobs->n; i++) {
        if (kvmig__disk_is_copied(&jobs->v[i].plan))
            return;
    }
    for (size_t i = 0; i < jobs->n; i++) {
        if (jobs->v[i].plan.method == KVMIG_DISK_SHARED && jobs->v[i].identity.same == KVMIG__SAME_YES &&
            !jobs->v[i].disk->shareable)
            note_onto_itself(c, &jobs->v[i]);
    }
}

static void note_copy_list(const struct kvmig__check *c, const struct kvmig__disk_jobs *jobs)
{
    struct kvmig__strlist copied = { 0 };
    struct kvmig__detail d = { 0 };
    char *text;

    for (size_t i = 0; i < jobs->n; i++) {
        if (kvmig__disk_is_copied(&jobs->v[i].plan))
            kvmig__strlist_add(&copied, jobs->v[i].plan.target);
    }
    if (copied.n) {
        text = kvmig__strlist_join(&copied, ", ");
        kvmig__detail_list(&d, "disks", &copied);
        kvmig__note(c, "BLOCK_COPY_LIST", KVMIG_SEVERITY_INFO, kvmig__object_request(), &d, NULL,
                    "Copied to the target: %s.", text);
        free(text);
    }
    kvmig__strlist_clear(&copied);
}

static void hand_over(struct kvmig__disk_jobs *jobs, struct kvmig__disk_plan **out_disks, size_t *out_n)
{
    *out_n = jobs->n;
    *out_disks = jobs->n ? kvmig__calloc(jobs->n, sizeof(**out_disks)) : NULL;
    for (size_t i = 0; i < jobs->n; i++) {
        (*out_disks)[i] = jobs->v[i].plan;
        kvmig__place_clear(&jobs->v[i].source);
        kvmig__place_clear(&jobs->v[i].target);
        free(jobs->v[i].chain.v);
    }
    free(jobs->v);
}

void kvmig__plan_disks(const struct kvmig__check *c, struct kvmig__disk_plan **out_disks, size_t *out_n)
{
    struct kvmig__disk_jobs jobs = { 0 };

    for (size_t i = 0; i < c->domain->disks.n; i++) {
        struct kvmig__disk_job *job = KVMIG__PUSH(&jobs);

        begin(c, &c->domain->disks.v[i], job);
        if (c->target)
            decide(c, job);
        else
            decide_alone(c, job);
    }
    check_void_copy(c, &jobs);
    kvmig__disks_choose_copy(c, &jobs);
    if (c->target) {
        kvmig__disks_place_copies(c, &jobs);
        for (size_t i = 0; i < jobs.n; i++) {
            kvmig__disk_check_cache(c, &jobs.v[i]);
            kvmig__disk_check_shared_chain(c, &jobs.v[i]);
        }
        note_copy_list(c, &jobs);
    }
    hand_over(&jobs, out_disks, out_n);
}
