/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Life and look-up of the cluster model: clearing, copying, finding, naming. Pure: no lock, clock, I/O or library
 * beyond base; any thread, as long as the caller keeps others from changing the same struct. Does not decide anything.
 *
 * Ownership: a struct owns all its strings and lists. *_clear() frees what a struct owns and leaves it empty, so that
 * clearing twice is harmless. *_copy() overwrites its destination without freeing what it held: pass raw memory or a
 * cleared struct. Finders return borrowed pointers.
 */
#include "cluster/model.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- CPU ---- */

void kvmig__cpu_clear(struct kvmig__cpu *cpu)
{
    if (!cpu)
        return;
    free(cpu->model);
    free(cpu->vendor);
    free(cpu->check);
    for (size_t i = 0; i < cpu->features.n; i++)
        free(cpu->features.v[i].name);
    free(cpu->features.v);
    kvmig__strlist_clear(&cpu->expanded);
    free(cpu->xml);
    memset(cpu, 0, sizeof(*cpu));
    cpu->migratable = -1;
}

void kvmig__cpu_copy(struct kvmig__cpu *dst, const struct kvmig__cpu *src)
{
    memset(dst, 0, sizeof(*dst));
    dst->mode = src->mode;
    dst->model = kvmig__strdup(src->model);
    dst->vendor = kvmig__strdup(src->vendor);
    dst->check = kvmig__strdup(src->check);
    dst->migratable = src->migratable;
    for (size_t i = 0; i < src->features.n; i++) {
        struct kvmig__cpu_feature *feature = KVMIG__PUSH(&dst->features);
        feature->name = kvmig__strdup(src->features.v[i].name);
        feature->policy = src->features.v[i].policy;
    }
    kvmig__strlist_copy(&dst->expanded, &src->expanded);
    dst->expanded_known = src->expanded_known;
    dst->tsc_frequency_hz = src->tsc_frequency_hz;
    dst->xml = kvmig__strdup(src->xml);
}

/* ---- domains ---- */

void kvmig__disk_source_clear(struct kvmig__disk_source *source)
{
    if (!source)
        return;
    free(source->path);
    free(source->protocol);
    free(source->name);
    free(source->host);
    free(source->pool);
    free(source->volume);
    free(source->format);
    memset(source, 0, sizeof(*source));
}

static void disk_clear(struct kvmig__disk *disk)
{
    free(disk->target);
    free(disk->bus);
    free(disk->device);
    kvmig__disk_source_clear(&disk->source);
    for (size_t i = 0; i < disk->backing.n; i++)
        kvmig__disk_source_clear(&disk->backing.v[i]);
    free(disk->backing.v);
    free(disk->cache);
    free(disk->io);
    free(disk->discard);
}

static void interface_clear(struct kvmig__interface *interface)
{
    free(interface->type);
    free(interface->source);
    free(interface->portgroup);
    free(interface->mac);
    free(interface->model);
    free(interface->target);
    free(interface->virtualport);
    free(interface->interface_id);
    free(interface->alias);
}

void kvmig__secret_clear(struct kvmig__secret *secret)
{
    free(secret->uuid);
    free(secret->usage_type);
    free(secret->usage);
    free(secret->of);
    memset(secret, 0, sizeof(*secret));
}

static void clear_demands(struct kvmig__domain *domain)
{
    for (size_t i = 0; i < domain->cpu_pins.n; i++) {
        free(domain->cpu_pins.v[i].what);
        free(domain->cpu_pins.v[i].cpus);
    }
    free(domain->cpu_pins.v);
    for (size_t i = 0; i < domain->secrets.n; i++)
        kvmig__secret_clear(&domain->secrets.v[i]);
    free(domain->secrets.v);
    for (size_t i = 0; i < domain->needs.n; i++) {
        free(domain->needs.v[i].what);
        free(domain->needs.v[i].value);
        free(domain->needs.v[i].name);
    }
    free(domain->needs.v);
    free(domain->memory_source);
}

static void device_clear(struct kvmig__device *device)
{
    free(device->kind);
    free(device->type);
    free(device->name);
}

void kvmig__domain_clear(struct kvmig__domain *domain)
{
    if (!domain)
        return;
    free(domain->name);
    free(domain->uuid);
    free(domain->virt_type);
    free(domain->arch);
    free(domain->machine);
    free(domain->emulator);
    kvmig__cpu_clear(&domain->cpu);
    clear_demands(domain);
    free(domain->numa_nodeset);
    free(domain->loader);
    free(domain->nvram);
    for (size_t i = 0; i < domain->disks.n; i++)
        disk_clear(&domain->disks.v[i]);
    free(domain->disks.v);
    for (size_t i = 0; i < domain->interfaces.n; i++)
        interface_clear(&domain->interfaces.v[i]);
    free(domain->interfaces.v);
    for (size_t i = 0; i < domain->devices.n; i++)
        device_clear(&domain->devices.v[i]);
    free(domain->devices.v);
    free(domain->xml);
    memset(domain, 0, sizeof(*domain));
    domain->cpu.migratable = -1;
}

/* ---- a host ---- */

struct kvmig__host *kvmig__host_new(void)
{
    struct kvmig__host *host = kvmig__calloc(1, sizeof(*host));
    host->memory_total = KVMIG__UNKNOWN;
    host->memory_free = KVMIG__UNKNOWN;
    host->tsc_scaling = -1;
    return host;
}

void kvmig__machine_clear(struct kvmig__machine *machine)
{
    if (!machine)
        return;
    free(machine->name);
    free(machine->canonical);
    free(machine->arch);
    memset(machine, 0, sizeof(*machine));
}

void kvmig__emulator_clear(struct kvmig__emulator *emulator)
{
    if (!emulator)
        return;
    free(emulator->path);
    free(emulator->arch);
    free(emulator->virt_type);
    free(emulator->machine);
    kvmig__cpu_clear(&emulator->host_model);
    for (size_t i = 0; i < emulator->models.n; i++) {
        struct kvmig__cpu_model *model = &emulator->models.v[i];
        free(model->name);
        free(model->vendor);
        free(model->canonical);
        kvmig__strlist_clear(&model->blockers);
    }
    free(emulator->models.v);
    for (size_t i = 0; i < emulator->offers.n; i++) {
        free(emulator->offers.v[i].what);
        kvmig__strlist_clear(&emulator->offers.v[i].values);
    }
    free(emulator->offers.v);
    memset(emulator, 0, sizeof(*emulator));
    emulator->host_model.migratable = -1;
}

void kvmig__network_clear(struct kvmig__network *network)
{
    if (!network)
        return;
    free(network->name);
    free(network->bridge);
    kvmig__strlist_clear(&network->portgroups);
    memset(network, 0, sizeof(*network));
}

void kvmig__volume_clear(struct kvmig__volume *volume)
{
    if (!volume)
        return;
    free(volume->name);
    free(volume->path);
    free(volume->format);
    free(volume->ctime);
    free(volume->backing_path);
    memset(volume, 0, sizeof(*volume));
}

void kvmig__pool_clear(struct kvmig__pool *pool)
{
    if (!pool)
        return;
    free(pool->name);
    free(pool->uuid);
    free(pool->type);
    free(pool->target_path);
    free(pool->source_host);
    free(pool->source_dir);
    free(pool->source_name);
    free(pool->source_device);
    for (size_t i = 0; i < pool->volumes.n; i++)
        kvmig__volume_clear(&pool->volumes.v[i]);
    free(pool->volumes.v);
    memset(pool, 0, sizeof(*pool));
}

void kvmig__block_device_clear(struct kvmig__block_device *device)
{
    if (!device)
        return;
    kvmig__strlist_clear(&device->paths);
    free(device->serial);
    free(device->wwn);
    memset(device, 0, sizeof(*device));
}

void kvmig__numa_cell_clear(struct kvmig__numa_cell *cell)
{
    free(cell->cpus.v);
    free(cell->pages.v);
    memset(cell, 0, sizeof(*cell));
}

static void host_clear_lists(struct kvmig__host *host)
{
    for (size_t i = 0; i < host->machines.n; i++)
        kvmig__machine_clear(&host->machines.v[i]);
    free(host->machines.v);
    for (size_t i = 0; i < host->cells.n; i++)
        kvmig__numa_cell_clear(&host->cells.v[i]);
    free(host->cells.v);
    for (size_t i = 0; i < host->secrets.n; i++)
        kvmig__secret_clear(&host->secrets.v[i]);
    free(host->secrets.v);
    for (size_t i = 0; i < host->emulators.n; i++)
        kvmig__emulator_clear(&host->emulators.v[i]);
    free(host->emulators.v);
    for (size_t i = 0; i < host->networks.n; i++)
        kvmig__network_clear(&host->networks.v[i]);
    free(host->networks.v);
    for (size_t i = 0; i < host->pools.n; i++)
        kvmig__pool_clear(&host->pools.v[i]);
    free(host->pools.v);
    for (size_t i = 0; i < host->block_devices.n; i++)
        kvmig__block_device_clear(&host->block_devices.v[i]);
    free(host->block_devices.v);
    for (size_t i = 0; i < host->domains.n; i++)
        kvmig__domain_clear(&host->domains.v[i]);
    free(host->domains.v);
}

void kvmig__host_free(struct kvmig__host *host)
{
    if (!host)
        return;
    free(host->name);
    free(host->uri);
    kvmig__error_free(host->lost_error);
    free(host->uuid);
    free(host->arch);
    kvmig__strlist_clear(&host->secure_models);
    kvmig__strlist_clear(&host->virt_types);
    kvmig__strlist_clear(&host->bridges);
    host_clear_lists(host);
    free(host);
}

/* ---- finding ---- */

/* UUIDs are written in either case. */
static bool uuid_eq(const char *a, const char *b)
{
    return a && b && strcasecmp(a, b) == 0;
}

/* A name wins over a URI, and a URI over a UUID, whatever the order of the hosts: the name is unique in the view. */
struct kvmig__host *kvmig__view_find_host(const struct kvmig__view *view, const char *name)
{
    if (!name)
        return NULL;
    for (size_t i = 0; i < view->hosts.n; i++)
        if (kvmig__str_eq(view->hosts.v[i]->name, name))
            return view->hosts.v[i];
    for (size_t i = 0; i < view->hosts.n; i++)
        if (kvmig__str_eq(view->hosts.v[i]->uri, name))
            return view->hosts.v[i];
    for (size_t i = 0; i < view->hosts.n; i++)
        if (uuid_eq(view->hosts.v[i]->uuid, name))
            return view->hosts.v[i];
    return NULL;
}

/* libvirt lets a domain carry another one's UUID as its name; the UUID wins, because it cannot be reused at will. */
struct kvmig__domain *kvmig__host_find_domain(const struct kvmig__host *host, const char *name_or_uuid)
{
    if (!name_or_uuid)
        return NULL;
    for (size_t i = 0; i < host->domains.n; i++)
        if (uuid_eq(host->domains.v[i].uuid, name_or_uuid))
            return &host->domains.v[i];
    for (size_t i = 0; i < host->domains.n; i++)
        if (kvmig__str_eq(host->domains.v[i].name, name_or_uuid))
            return &host->domains.v[i];
    return NULL;
}

const struct kvmig__pool *kvmig__host_find_pool(const struct kvmig__host *host, const char *name)
{
    if (!name)
        return NULL;
    for (size_t i = 0; i < host->pools.n; i++)
        if (kvmig__str_eq(host->pools.v[i].name, name))
            return &host->pools.v[i];
    return NULL;
}

static size_t length_without_trailing_slashes(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] == '/')
        length--;
    return length;
}

const struct kvmig__pool *kvmig__host_pool_of_path(const struct kvmig__host *host, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (!slash || slash[1] == '\0')
        return NULL;
    size_t folder = length_without_trailing_slashes(path, (size_t)(slash - path));
    for (size_t i = 0; i < host->pools.n; i++) {
        const struct kvmig__pool *pool = &host->pools.v[i];
        if (!pool->active || !pool->target_path)
            continue;
        size_t length = length_without_trailing_slashes(pool->target_path, strlen(pool->target_path));
        if (length == folder && memcmp(pool->target_path, path, length) == 0)
            return pool;
    }
    return NULL;
}

const struct kvmig__volume *kvmig__pool_find_volume(const struct kvmig__pool *pool, const char *path_or_name)
{
    if (!path_or_name)
        return NULL;
    for (size_t i = 0; i < pool->volumes.n; i++)
        if (kvmig__str_eq(pool->volumes.v[i].path, path_or_name))
            return &pool->volumes.v[i];
    for (size_t i = 0; i < pool->volumes.n; i++)
        if (kvmig__str_eq(pool->volumes.v[i].name, path_or_name))
            return &pool->volumes.v[i];
    return NULL;
}

/* ---- names ---- */

static const char *name_of(const char *const *names, size_t n, int32_t value)
{
    return value >= 0 && (size_t)value < n ? names[value] : NULL;
}

const char *kvmig__domain_state_name(int32_t state)
{
    static const char *const names[] = {
        [KVMIG__STATE_ABSENT] = "absent",   [KVMIG__STATE_RUNNING] = "running",
        [KVMIG__STATE_PAUSED] = "paused",   [KVMIG__STATE_SHUTOFF] = "shutoff",
        [KVMIG__STATE_CRASHED] = "crashed", [KVMIG__STATE_SUSPENDED_PM] = "pmsuspended",
        [KVMIG__STATE_OTHER] = "other",
    };
    return name_of(names, KVMIG__N_ELEMENTS(names), state);
}

const char *kvmig__domain_reason_name(int32_t reason)
{
    static const char *const names[] = {
        [KVMIG__REASON_OTHER] = "other",
        [KVMIG__REASON_USER] = "user",
        [KVMIG__REASON_MIGRATION] = "migration",
        [KVMIG__REASON_MIGRATED] = "migrated",
        [KVMIG__REASON_IOERROR] = "io-error",
        [KVMIG__REASON_STARTING_UP] = "starting-up",
        [KVMIG__REASON_POSTCOPY] = "postcopy",
        [KVMIG__REASON_POSTCOPY_FAILED] = "postcopy-failed",
        [KVMIG__REASON_API_ERROR] = "api-error",
        [KVMIG__REASON_MIGRATION_CANCELED] = "migration-canceled",
        [KVMIG__REASON_CRASHED] = "crashed",
        [KVMIG__REASON_UNPAUSED] = "unpaused",
        [KVMIG__REASON_BOOTED] = "booted",
        [KVMIG__REASON_FAILED] = "failed",
        [KVMIG__REASON_SHUTDOWN] = "shutdown",
        [KVMIG__REASON_DESTROYED] = "destroyed",
        [KVMIG__REASON_UNSPECIFIED] = "unspecified",
    };
    return name_of(names, KVMIG__N_ELEMENTS(names), reason);
}

const char *kvmig__disk_type_name(int32_t type)
{
    static const char *const names[] = {
        [KVMIG__DISK_FILE] = "file",
        [KVMIG__DISK_BLOCK] = "block",
        [KVMIG__DISK_NETWORK] = "network",
        [KVMIG__DISK_VOLUME] = "volume",
        [KVMIG__DISK_DIR] = "dir",
        [KVMIG__DISK_NVME] = "nvme",
        [KVMIG__DISK_VHOST_USER] = "vhostuser",
        [KVMIG__DISK_OTHER] = "other",
    };
    return name_of(names, KVMIG__N_ELEMENTS(names), type);
}

/* ---- one side of a migration ---- */

void kvmig__side_clear(struct kvmig__side *side)
{
    if (!side)
        return;
    free(side->error);
    free(side->uuid);
    memset(side, 0, sizeof(*side));
}

void kvmig__side_copy(struct kvmig__side *dst, const struct kvmig__side *src)
{
    *dst = *src;
    dst->error = kvmig__strdup(src->error);
    dst->uuid = kvmig__strdup(src->uuid);
}
