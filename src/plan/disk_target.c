/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where copies of disks go on the target: which pool, which volume, whether it must be created, whether what is there may
 * be used, and whether there is room for all of them together. Pure; any thread. Creates nothing.
 *
 * Rule: a volume that exists on the target is somebody's data. It is used only if the caller names the disk in copy_disks,
 * and never if a domain there uses it.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>
#include <string.h>

/* What earlier disks of this plan take: room in pools, and names in them. */
struct ledger {
    struct {
        const struct kvmig__pool *pool;
        uint64_t taken;
    } * v;
    size_t n;
    struct kvmig__strlist paths;
};

static void deny(const struct kvmig__check *c, struct kvmig__disk_job *job, const char *code, struct kvmig__detail *d,
                 const char *hint, const char *message)
{
    kvmig__note(c, code, KVMIG_SEVERITY_BLOCKER, kvmig__object_disk(job->plan.target), d, hint, "Disk %s: %s.",
                job->plan.target, message);
    kvmig__disk_set(job, KVMIG_DISK_IMPOSSIBLE, kvmig__strdup(message));
    job->plan.create = false;
}

static void remark(const struct kvmig__check *c, const struct kvmig__disk_job *job, const char *code, int32_t severity,
                   struct kvmig__detail *d, const char *hint, const char *message)
{
    kvmig__note(c, code, severity, kvmig__object_disk(job->plan.target), d, hint, "Disk %s: %s.", job->plan.target,
                message);
}

static struct kvmig__detail pool_detail(const struct kvmig__disk_job *job, const char *pool)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "source", job->plan.source_path);
    kvmig__detail_str(&d, "pool", pool);
    return d;
}

/* ---- which pool ---- */

static bool pool_holds_files(const struct kvmig__pool *pool)
{
    return kvmig__str_eq(pool->type, "dir") || kvmig__str_eq(pool->type, "fs") || kvmig__str_eq(pool->type, "netfs") ||
           kvmig__str_eq(pool->type, "vstorage");
}

static bool pool_holds_devices(const struct kvmig__pool *pool)
{
    return kvmig__str_eq(pool->type, "logical") || kvmig__str_eq(pool->type, "zfs");
}

static bool pool_fits(const struct kvmig__disk_job *job, const struct kvmig__pool *pool)
{
    if (!pool->target_path)
        return false;
    return job->source.type == KVMIG__DISK_BLOCK ? pool_holds_devices(pool) : pool_holds_files(pool);
}

/* The XML of the disk names its pool, and only the path of a disk can be changed for the target. */
static bool bound_elsewhere(const struct kvmig__disk_job *job, const struct kvmig__pool *pool)
{
    return job->disk->source.type == KVMIG__DISK_VOLUME && !kvmig__str_eq(job->disk->source.pool, pool->name);
}

/* The pool that the caller asked for; NULL after a finding. */
static const struct kvmig__pool *pool_asked_for(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    const struct kvmig__pool *pool = kvmig__host_find_pool(c->target, c->request->target_pool);
    struct kvmig__detail d = pool_detail(job, c->request->target_pool);

    if (!pool) {
        deny(c, job, "TARGET_POOL_MISSING", &d, "Define and start it, or leave target_pool unset.",
             "the pool asked for does not exist on the target");
        return NULL;
    }
    kvmig__detail_str(&d, "type", pool->type);
    if (!pool->active) {
        deny(c, job, "TARGET_POOL_INACTIVE", &d, "Start the pool on the target.",
             "the pool asked for is not active on the target");
        return NULL;
    }
    if (!pool_fits(job, pool) || bound_elsewhere(job, pool)) {
        deny(c, job, "TARGET_POOL_UNSUITABLE", &d,
             "Give a folder pool (dir, fs, netfs) for disks in files, a logical or zfs pool for block devices, and "
             "target_xml "
             "for a disk whose XML names a pool.",
             "the pool asked for cannot take this disk as its XML describes it");
        return NULL;
    }
    free(kvmig__detail_take(&d));
    return pool;
}

static const struct kvmig__pool *pool_by_default(const struct kvmig__check *c, const struct kvmig__disk_job *job)
{
    const struct kvmig__pool *pool = job->target.pool;

    if (!pool && job->source.pool && kvmig__str_eq(job->target.path, job->source.path))
        pool = kvmig__host_find_pool(c->target, job->source.pool->name);
    return pool && pool->active && pool_fits(job, pool) ? pool : NULL;
}

/* ---- a volume or device that exists ---- */

static bool path_in_use(const struct kvmig__host *host, const char *path)
{
    for (size_t i = 0; i < host->domains.n; i++) {
        const struct kvmig__domain *domain = &host->domains.v[i];

        for (size_t d = 0; d < domain->disks.n; d++) {
            if (kvmig__str_eq(domain->disks.v[d].source.path, path))
                return true;
            for (size_t b = 0; b < domain->disks.v[d].backing.n; b++) {
                if (kvmig__str_eq(domain->disks.v[d].backing.v[b].path, path))
                    return true;
            }
        }
    }
    return false;
}

/* QEMU 5.1 and later mirror only between images of one size. libvirt 10.0 and later on the target cuts a raw device to
 * size, so a larger one will do there. */
void kvmig__disk_check_size(const struct kvmig__check *c, struct kvmig__disk_job *job, uint64_t have)
{
    uint64_t need = job->plan.capacity, qemu = kvmig__qemu_of(c, c->source);
    bool cut = job->source.type == KVMIG__DISK_BLOCK && kvmig__str_eq(job->plan.format, "raw") &&
               kvmig__libvirt_of(c, c->target) >= KVMIG__VERSION(10, 0, 0);
    struct kvmig__detail d = { 0 };

    if (need == KVMIG__UNKNOWN || have == KVMIG__UNKNOWN || have == need || (have > need && cut))
        return;
    kvmig__detail_str(&d, "path", job->plan.target_path);
    kvmig__detail_uint(&d, "need", need);
    kvmig__detail_uint(&d, "have", have);
    if (have < need)
        deny(c, job, "DEST_VOLUME_SMALLER", &d, "Enlarge it to exactly the virtual size of the source.",
             "the volume on the target is smaller than the disk");
    else if (qemu >= KVMIG__VERSION(5, 1, 0))
        deny(c, job, "DEST_VOLUME_SIZE_DIFFERS", &d,
             "Make it exactly as large as the source, or remove it: it is created in the right size then.",
             "the volume on the target is larger than the disk, and QEMU mirrors only between images of one size");
    else
        remark(c, job, "DEST_VOLUME_SIZE_DIFFERS", KVMIG_SEVERITY_WARN, &d, "Make it exactly as large as the source.",
               "the volume on the target is larger than the disk; QEMU may refuse, or leave the rest as it was");
}

static void check_format(const struct kvmig__check *c, struct kvmig__disk_job *job, const char *have)
{
    struct kvmig__detail d = { 0 };

    if (!have || !job->plan.format || kvmig__str_eq(have, job->plan.format))
        return;
    kvmig__detail_str(&d, "path", job->plan.target_path);
    kvmig__detail_str(&d, "need", job->plan.format);
    kvmig__detail_str(&d, "have", have);
    deny(c, job, "DEST_VOLUME_FORMAT_DIFFERS", &d, "Convert it, or remove it: it is created in the right format then.",
         "the volume on the target has another image format");
}

/* The copy would go into something that the target has. */
static void use_existing(const struct kvmig__check *c, struct kvmig__disk_job *job, uint64_t size, const char *format)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "path", job->plan.target_path);
    kvmig__detail_str(&d, "identity", job->identity.why);
    if (path_in_use(c->target, job->plan.target_path)) {
        deny(c, job, "DEST_VOLUME_IN_USE", &d, "Choose another pool, or detach it from the domain that uses it.",
             "a domain of the target uses the volume that it would be copied into");
    } else if (!job->named) {
        deny(
            c, job, "DEST_VOLUME_EXISTS", &d,
            "If both hosts see one storage there, say so: list its folder in shared_paths of the cluster, or plan with "
            "KVMIG_COPY_NONE. Else remove the volume, or name the disk in copy_disks to have it overwritten.",
            "it would be copied, but the target already has a volume of that name");
    } else {
        if (job->identity.same == KVMIG__SAME_UNKNOWN && kvmig__str_eq(job->plan.target_path, job->source.path))
            remark(
                c, job, "SHARED_IDENTITY_UNPROVEN", KVMIG_SEVERITY_WARN, &d,
                "Make sure that the two hosts do not share this file.",
                "it is copied onto the volume of the same path on the target, and nothing proves that this is another "
                "one");
        else
            free(kvmig__detail_take(&d));
        kvmig__disk_check_size(c, job, size);
        if (kvmig__disk_is_copied(&job->plan))
            check_format(c, job, format);
    }
}

/* ---- room for a new volume ---- */

/* What the image takes on the target at once (raw), or at least (formats that grow). */
static uint64_t room_needed(const struct kvmig__disk_job *job, bool *out_grows)
{
    uint64_t used = job->disk->physical != KVMIG__UNKNOWN ? job->disk->physical : job->disk->allocation;

    *out_grows = !kvmig__str_eq(job->plan.format, "raw") || job->plan.method == KVMIG_DISK_COPY_INCREMENTAL;
    if (!*out_grows)
        return job->plan.capacity;
    return used == KVMIG__UNKNOWN ? 0 : used;
}

static uint64_t *room_taken(struct ledger *ledger, const struct kvmig__pool *pool)
{
    for (size_t i = 0; i < ledger->n; i++) {
        if (ledger->v[i].pool == pool)
            return &ledger->v[i].taken;
    }
    KVMIG__PUSH(ledger)->pool = pool;
    return &ledger->v[ledger->n - 1].taken;
}

static void check_room(const struct kvmig__check *c, struct kvmig__disk_job *job, const struct kvmig__pool *pool,
                       struct ledger *ledger)
{
    static const char hint[] = "Free space in the pool, or give another target_pool.";
    bool grows;
    uint64_t *taken = room_taken(ledger, pool), need = room_needed(job, &grows), have;
    struct kvmig__detail d = pool_detail(job, pool->name);

    if (need == KVMIG__UNKNOWN || pool->available == KVMIG__UNKNOWN) {
        remark(c, job, "TARGET_SPACE_UNVERIFIED", KVMIG_SEVERITY_INFO, &d, NULL,
               need == KVMIG__UNKNOWN ? "its size is not known, so the room on the target cannot be judged"
                                      : "the room in the target's pool is not known");
        return;
    }
    have = pool->available > *taken ? pool->available - *taken : 0;
    kvmig__detail_uint(&d, "need", need);
    kvmig__detail_uint(&d, "have", have);
    *taken += need;
    if (have < need) {
        deny(c, job, "TARGET_SPACE_INSUFFICIENT", &d, hint, "the pool on the target has too little room for it");
    } else if (grows && job->plan.capacity != KVMIG__UNKNOWN && have < job->plan.capacity) {
        kvmig__detail_uint(&d, "capacity", job->plan.capacity);
        remark(c, job, "TARGET_SPACE_INSUFFICIENT", KVMIG_SEVERITY_WARN, &d, hint,
               "the pool on the target has room for what it holds now, but not for all that it may grow to");
    } else {
        free(kvmig__detail_take(&d));
    }
}

static void create_volume(const struct kvmig__check *c, struct kvmig__disk_job *job, const struct kvmig__pool *pool,
                          struct ledger *ledger)
{
    struct kvmig__detail d = pool_detail(job, pool->name);

    if (pool_holds_devices(pool) && !kvmig__str_eq(job->plan.format, "raw")) {
        deny(c, job, "TARGET_PRECREATE_UNSUPPORTED", &d, "Create a device that is large enough on the target yourself.",
             "only raw images can be created in a pool of devices");
        return;
    }
    free(kvmig__detail_take(&d));
    job->plan.create = true;
    check_room(c, job, pool, ledger);
}

/* ---- one disk ---- */

static char *volume_name(const struct kvmig__disk_job *job, const struct kvmig__pool *pool, struct ledger *ledger)
{
    const char *base = kvmig__path_base(job->target.path ? job->target.path : job->source.path);
    char *name = kvmig__strdup(base ? base : job->plan.target);
    char *path = kvmig__asprintf("%s/%s", pool->target_path, name);

    /* Two disks of one name, from two folders, go into one pool. */
    if (kvmig__strlist_has(&ledger->paths, path)) {
        free(name);
        name = kvmig__asprintf("%s-%s", job->plan.target, base ? base : "disk");
    }
    free(path);
    return name;
}

static char *path_in_pool(const struct kvmig__pool *pool, const char *name)
{
    size_t n = strlen(pool->target_path);

    return kvmig__asprintf("%s%s%s", pool->target_path, n && pool->target_path[n - 1] == '/' ? "" : "/", name);
}

/* Folders of pools may overlap, so a file that one of them shows is there for all. */
static const struct kvmig__volume *find_existing(const struct kvmig__host *host, const struct kvmig__pool *pool,
                                                 const char *name, const char *path)
{
    const struct kvmig__volume *volume = kvmig__pool_find_volume(pool, name);

    for (size_t i = 0; i < host->pools.n && !volume; i++) {
        volume = kvmig__pool_find_volume(&host->pools.v[i], path);
        if (volume && !kvmig__str_eq(volume->path, path))
            volume = NULL;
    }
    return volume;
}

static void copy_into_pool(const struct kvmig__check *c, struct kvmig__disk_job *job, const struct kvmig__pool *pool,
                           struct ledger *ledger)
{
    const struct kvmig__volume *existing;

    job->plan.pool = kvmig__strdup(pool->name);
    job->plan.volume = volume_name(job, pool, ledger);
    job->plan.target_path = path_in_pool(pool, job->plan.volume);
    kvmig__strlist_add_new(&ledger->paths, job->plan.target_path);
    existing = find_existing(c->target, pool, job->plan.volume, job->plan.target_path);
    if (!existing) {
        create_volume(c, job, pool, ledger);
    } else {
        use_existing(c, job, existing->capacity, existing->format);
        /* An overlay that exists brings its own backing images. */
        kvmig__str_set(&job->plan.backing_path, NULL);
        kvmig__str_set(&job->plan.backing_format, NULL);
    }
    /* Where the XML names pool and volume, each host finds its own path, and none is to be changed. */
    if (job->disk->source.type == KVMIG__DISK_VOLUME && !kvmig__str_eq(job->plan.target_path, job->source.path))
        kvmig__str_set(&job->plan.target_path, NULL);
}

static void copy_without_pool(const struct kvmig__check *c, struct kvmig__disk_job *job)
{
    const struct kvmig__block_device *device = kvmig__host_block_device(c->target, job->target.path);
    struct kvmig__detail d = pool_detail(job, NULL);

    if (device) {
        free(kvmig__detail_take(&d));
        job->plan.target_path = kvmig__strdup(job->target.path);
        use_existing(c, job, device->size, NULL);
    } else if (job->plan.method == KVMIG_DISK_COPY_INCREMENTAL) {
        deny(c, job, "TARGET_PRECREATE_UNSUPPORTED", &d,
             "Define a storage pool for its folder on the target, or give target_pool.",
             "libvirt does not create the target of an incremental copy, and no storage pool of the target takes it");
    } else {
        deny(c, job, "TARGET_POOL_MISSING", &d,
             "Define and start a storage pool for its folder on the target, or give target_pool. If both hosts see one "
             "storage there, say so: list its folder in shared_paths of the cluster, or plan with KVMIG_COPY_NONE.",
             "it would be copied, but the target has no active storage pool for its folder, nor one of the same name");
    }
}

static void place(const struct kvmig__check *c, struct kvmig__disk_job *job, struct ledger *ledger)
{
    const struct kvmig__fact_image *image = kvmig__fact_image_of(c->view->facts, job->plan.target);
    const struct kvmig__pool *pool;
    struct kvmig__detail d = { 0 };

    if (image && !c->target->pools_known) {
        kvmig__disk_copy_onto_image(c, job, image);
    } else if (job->target.type == KVMIG__DISK_NETWORK || kvmig__target_xml_unread(c)) {
        remark(c, job, "TARGET_VOLUME_UNVERIFIED", KVMIG_SEVERITY_INFO, &d,
               "The target of the copy must exist, or lie in a storage pool in which libvirt can create it.",
               "whether the target has what it is copied into is not checked");
    } else if (!c->target->pools_known) {
        job->plan.target_path = kvmig__strdup(job->target.path);
        remark(c, job, "TARGET_VOLUME_UNVERIFIED", KVMIG_SEVERITY_INFO, &d, NULL,
               "the target's storage pools are not known; room and existing files there are not checked");
        if (job->identity.looks_shared)
            remark(c, job, "SHARED_IDENTITY_UNPROVEN", KVMIG_SEVERITY_WARN, &d,
                   "Make sure that the two hosts do not share this file, or do not copy it.", job->identity.why);
    } else {
        pool = c->request->target_pool ? pool_asked_for(c, job) : pool_by_default(c, job);
        if (pool)
            copy_into_pool(c, job, pool, ledger);
        else if (kvmig__disk_is_copied(&job->plan))
            copy_without_pool(c, job);
    }
}

void kvmig__disks_place_copies(const struct kvmig__check *c, struct kvmig__disk_jobs *jobs)
{
    struct ledger ledger = { 0 };

    for (size_t i = 0; i < jobs->n; i++) {
        if (kvmig__disk_is_copied(&jobs->v[i].plan))
            place(c, &jobs->v[i], &ledger);
    }
    free(ledger.v);
    kvmig__strlist_clear(&ledger.paths);
}
