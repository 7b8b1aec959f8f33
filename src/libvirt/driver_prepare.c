/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The driver's second step: volumes for the disks that are copied. Their size is the exact virtual size as QEMU sees it
 * now, because a copy onto a smaller or rounded volume fails at its end. One volume after another; each is in the ledger
 * before the next is begun. A volume that exists is an error and is not touched: it may be somebody's data.
 *
 * run and free functions run on lanes and see only their payload; the rest runs in dispatch.
 */
#include "libvirt/classify.h"
#include "libvirt/driver_internal.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <stdlib.h>

/* ---- sizes, on the source ---- */

struct sizes_job {
    struct kvmig__driver_job job;
    uint64_t *capacities; /* per disk of the plan */
};

static void sizes_free(void *payload)
{
    struct sizes_job *sizes = payload;
    kvmig__driver_job_clear(&sizes->job);
    free(sizes->capacities);
    free(sizes);
}

static void sizes_run(void *payload)
{
    struct sizes_job *sizes = payload;
    const struct kvmig_plan *plan = sizes->job.plan;
    virDomainPtr domain = kvmig__link_domain(sizes->job.link, plan->uuid, &sizes->job.error);
    if (!domain)
        return;
    sizes->capacities = kvmig__calloc(plan->disks.n + 1, sizeof(*sizes->capacities));
    for (size_t i = 0; i < plan->disks.n && !sizes->job.error; i++) {
        virDomainBlockInfo info;
        if (!plan->disks.v[i].create)
            continue;
        if (virDomainGetBlockInfo(domain, plan->disks.v[i].target, &info, 0) < 0)
            sizes->job.error = kvmig__link_error(sizes->job.link, "virDomainGetBlockInfo", NULL);
        else
            sizes->capacities[i] = info.capacity;
    }
    virDomainFree(domain);
}

/* ---- one volume, on the target ---- */

struct create_job {
    struct kvmig__driver_job job;
    const struct kvmig__disk_plan *disk; /* in the plan */
    uint64_t capacity;
    struct kvmig__creation_record *record;
};

static void create_free(void *payload)
{
    struct create_job *create = payload;
    kvmig__driver_job_clear(&create->job);
    kvmig__creation_record_unref(create->record);
    free(create);
}

static bool is_missing_volume(void)
{
    virErrorPtr last = virGetLastError();
    return last && last->code == VIR_ERR_NO_STORAGE_VOL;
}

/* NULL = the pool has no such volume, also after it was read again. */
static struct kvmig_error *check_volume_is_new(struct create_job *create, virStoragePoolPtr pool)
{
    const struct kvmig__disk_plan *disk = create->disk;
    for (int again = 0; again < 2; again++) {
        virStorageVolPtr volume = virStorageVolLookupByName(pool, disk->volume);
        if (volume) {
            virStorageVolFree(volume);
            return kvmig__error_new(EEXIST, create->job.link->host, disk->target_path,
                                    "remove it if nobody needs it, or choose another pool (target_pool)",
                                    "volume %s already exists in pool %s on host %s", disk->volume, disk->pool,
                                    create->job.link->host);
        }
        if (!is_missing_volume())
            return kvmig__link_error(create->job.link, "virStorageVolLookupByName", NULL);
        struct kvmig_error *error = again == 0 ? kvmig__link_refresh_pool(create->job.link, pool) : NULL;
        if (error)
            return error;
    }
    return NULL;
}

static struct kvmig_error *read_pool(struct create_job *create, virStoragePoolPtr pool, struct kvmig__pool *out)
{
    char *xml = virStoragePoolGetXMLDesc(pool, 0);
    if (!xml)
        return kvmig__link_error(create->job.link, "virStoragePoolGetXMLDesc", NULL);
    int32_t status = kvmig__xml_pool(xml, create->job.link->host, out);
    free(xml);
    return status < 0 ? kvmig__error_copy(kvmig_error_last()) : NULL;
}

/* The plan, the rewritten domain XML and the volume must agree on one path. */
static struct kvmig_error *check_path(struct create_job *create, virStorageVolPtr volume)
{
    const struct kvmig__disk_plan *disk = create->disk;
    char *path = virStorageVolGetPath(volume);
    if (!path)
        return kvmig__link_error(create->job.link, "virStorageVolGetPath", NULL);
    struct kvmig_error *error = NULL;
    if (disk->target_path && !kvmig__str_eq(path, disk->target_path))
        error = kvmig__error_new(KVMIG_ECONFLICT, create->job.link->host, path,
                                 "refresh the cluster view and plan again: the pool changed since",
                                 "the volume for disk %s is at %s, but %s was planned", disk->target, path,
                                 disk->target_path);
    free(path);
    return error;
}

static struct kvmig_error *create_volume(struct create_job *create, virStoragePoolPtr pool, const char *pool_type)
{
    int32_t expected = KVMIG__NOT_BEGUN;
    if (!atomic_compare_exchange_strong(&create->record->stage, &expected, KVMIG__CREATING))
        return kvmig__error_new(ETIMEDOUT, create->job.link->host, NULL, NULL, "too late to create a volume");
    char *xml = kvmig__virt_volume_xml(create->disk, create->capacity, pool_type);
    virStorageVolPtr volume = virStorageVolCreateXML(pool, xml, 0);
    free(xml);
    if (!volume) {
        int32_t cause;
        struct kvmig_error *failure = kvmig__link_error(create->job.link, "virStorageVolCreateXML", &cause);
        /* A request whose answer was lost may have been carried out. */
        if (cause != KVMIG__CAUSE_LINK_LOST)
            create->record->stage = KVMIG__NOT_CREATED;
        return failure;
    }
    create->record->stage = KVMIG__CREATED;
    struct kvmig_error *error = check_path(create, volume);
    virStorageVolFree(volume);
    return error;
}

static void create_run(void *payload)
{
    struct create_job *create = payload;
    virConnectPtr conn = kvmig__link_open(create->job.link, &create->job.error);
    if (!conn)
        return;
    virStoragePoolPtr pool = virStoragePoolLookupByName(conn, create->disk->pool);
    if (!pool) {
        create->job.error = kvmig__link_error(create->job.link, "virStoragePoolLookupByName", NULL);
        return;
    }
    struct kvmig__pool facts = { .name = NULL };
    create->job.error = check_volume_is_new(create, pool);
    if (!create->job.error)
        create->job.error = read_pool(create, pool, &facts);
    if (!create->job.error)
        create->job.error = create_volume(create, pool, facts.type);
    kvmig__pool_clear(&facts);
    virStoragePoolFree(pool);
}

/* ---- in dispatch ---- */

/* The job of the newest volume has ended or is given up. One that has not asked for the volume yet must not do so later. If
 * it did ask and does not answer, it is not known what came of it: then the volume is in the ledger, too. */
static void settle_newest(struct kvmig__virt_driver *d)
{
    struct kvmig__virt_volume *volume = &d->volumes.v[d->volumes.n - 1];
    int32_t stage = KVMIG__NOT_BEGUN;
    if (volume->in_ledger || atomic_compare_exchange_strong(&volume->record->stage, &stage, KVMIG__NOT_CREATED) ||
        stage == KVMIG__NOT_CREATED)
        return;
    volume->report_index = kvmig__virt_ledger_add(d, "volume", volume->path, d->plan->target, NULL);
    volume->in_ledger = true;
}

void kvmig__virt_prepare_abandon(struct kvmig__virt_driver *d)
{
    if (d->volumes.n > 0)
        settle_newest(d);
}

static void create_next(struct kvmig__virt_driver *d);

static void create_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct kvmig_error *error = kvmig__driver_job_error(&d->target, payload, status, "create a volume");
    settle_newest(d);
    if (error) {
        kvmig__driver_step_fail(d, error);
        kvmig__driver_step_end(d);
        return;
    }
    create_next(d);
}

static const struct kvmig__job_type create_type = { "create a volume", create_run, create_done, create_free };

static void create_one(struct kvmig__virt_driver *d, const struct kvmig__disk_plan *disk, uint64_t capacity)
{
    struct kvmig__virt_volume *volume = KVMIG__PUSH(&d->volumes);
    volume->pool = kvmig__strdup(disk->pool);
    volume->name = kvmig__strdup(disk->volume);
    volume->path = kvmig__strdup(disk->target_path ? disk->target_path : disk->volume);
    volume->record = kvmig__calloc(1, sizeof(*volume->record));
    volume->record->refs = 1;
    struct create_job *create = kvmig__driver_job_new(d, &d->target, sizeof(*create));
    create->disk = disk;
    create->capacity = capacity;
    create->record = kvmig__creation_record_ref(volume->record);
    kvmig__lane_submit(d->target.lane, &create_type, d, create, kvmig__virt_time_left(d, d->limits.step_ms));
}

static void create_next(struct kvmig__virt_driver *d)
{
    while (d->next_disk < d->plan->disks.n) {
        size_t i = d->next_disk++;
        if (d->plan->disks.v[i].create) {
            create_one(d, &d->plan->disks.v[i], d->capacities[i]);
            return;
        }
    }
    kvmig__driver_step_end(d);
}

static void sizes_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct sizes_job *sizes = payload;
    struct kvmig_error *error = kvmig__driver_job_error(&d->source, payload, status, "read the sizes of its disks");
    if (error) {
        kvmig__driver_step_fail(d, error);
        kvmig__driver_step_end(d);
        return;
    }
    free(d->capacities);
    d->capacities = sizes->capacities;
    sizes->capacities = NULL;
    d->next_disk = 0;
    create_next(d);
}

static const struct kvmig__job_type sizes_type = { "read disk sizes", sizes_run, sizes_done, sizes_free };

void kvmig__virt_prepare_begin(struct kvmig__virt_driver *d)
{
    for (size_t i = 0; i < d->plan->disks.n; i++) {
        if (!d->plan->disks.v[i].create)
            continue;
        kvmig__lane_submit(d->source.lane, &sizes_type, d,
                           kvmig__driver_job_new(d, &d->source, sizeof(struct sizes_job)),
                           kvmig__virt_time_left(d, d->limits.step_ms));
        return;
    }
    kvmig__driver_step_end_soon(d);
}
