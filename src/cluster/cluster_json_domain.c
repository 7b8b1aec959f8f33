/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One domain of the view as JSON. Does not: include the domain XML (large, and libvirt tells it to whoever needs it). Any
 * thread; the object is the caller's.
 */
#include "cluster/cluster_json.h"

static const char *cpu_mode_name(int32_t mode)
{
    static const char *const names[] = { [KVMIG__CPU_NONE] = NULL,
                                         [KVMIG__CPU_CUSTOM] = "custom",
                                         [KVMIG__CPU_HOST_MODEL] = "host-model",
                                         [KVMIG__CPU_HOST_PASSTHROUGH] = "host-passthrough",
                                         [KVMIG__CPU_MAXIMUM] = "maximum" };

    return names[mode];
}

static const char *cpu_policy_name(int32_t policy)
{
    static const char *const names[] = { [KVMIG__CPU_REQUIRE] = "require",
                                         [KVMIG__CPU_FORCE] = "force",
                                         [KVMIG__CPU_OPTIONAL] = "optional",
                                         [KVMIG__CPU_DISABLE] = "disable",
                                         [KVMIG__CPU_FORBID] = "forbid" };

    return names[policy];
}

static struct json_object *json_guest_cpu(const struct kvmig__cpu *cpu)
{
    struct json_object *object = json_object_new_object(), *features = json_object_new_array();

    kvmig__json_add_str(object, "mode", cpu_mode_name(cpu->mode));
    kvmig__json_add_str(object, "model", cpu->model);
    kvmig__json_add_str(object, "vendor", cpu->vendor);
    if (cpu->migratable >= 0)
        kvmig__json_add_bool(object, "migratable", cpu->migratable);
    if (cpu->tsc_frequency_hz)
        kvmig__json_add_u64(object, "tsc_frequency", cpu->tsc_frequency_hz);
    for (size_t i = 0; i < cpu->features.n; i++) {
        struct json_object *feature = json_object_new_object();

        kvmig__json_add_str(feature, "name", cpu->features.v[i].name);
        kvmig__json_add_str(feature, "policy", cpu_policy_name(cpu->features.v[i].policy));
        json_object_array_add(features, feature);
    }
    json_object_object_add(object, "features", features);
    if (cpu->expanded_known)
        json_object_object_add(object, "expanded", kvmig__json_strlist(&cpu->expanded));
    return object;
}

static struct json_object *json_source(const struct kvmig__disk_source *source)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "type", kvmig__disk_type_name(source->type));
    kvmig__json_add_str(object, "path", source->path);
    kvmig__json_add_str(object, "protocol", source->protocol);
    kvmig__json_add_str(object, "name", source->name);
    kvmig__json_add_str(object, "host", source->host);
    kvmig__json_add_str(object, "pool", source->pool);
    kvmig__json_add_str(object, "volume", source->volume);
    kvmig__json_add_str(object, "format", source->format);
    kvmig__json_add_u64(object, "capacity", source->capacity);
    return object;
}

static struct json_object *json_disk(const struct kvmig__disk *disk)
{
    struct json_object *object = json_object_new_object(), *backing = json_object_new_array();

    kvmig__json_add_str(object, "target", disk->target);
    kvmig__json_add_str(object, "bus", disk->bus);
    kvmig__json_add_str(object, "device", disk->device);
    if (disk->has_source)
        json_object_object_add(object, "source", json_source(&disk->source));
    for (size_t i = 0; i < disk->backing.n; i++)
        json_object_array_add(backing, json_source(&disk->backing.v[i]));
    json_object_object_add(object, "backing", backing);
    kvmig__json_add_str(object, "cache", disk->cache);
    kvmig__json_add_str(object, "io", disk->io);
    kvmig__json_add_str(object, "discard", disk->discard);
    kvmig__json_add_bool(object, "readonly", disk->readonly);
    kvmig__json_add_bool(object, "shareable", disk->shareable);
    kvmig__json_add_bool(object, "transient", disk->transient);
    kvmig__json_add_u64(object, "capacity", disk->capacity);
    kvmig__json_add_u64(object, "allocation", disk->allocation);
    kvmig__json_add_u64(object, "physical", disk->physical);
    kvmig__json_add_bool(object, "job_active", disk->job_active);
    return object;
}

static struct json_object *json_interface(const struct kvmig__interface *interface)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "type", interface->type);
    kvmig__json_add_str(object, "source", interface->source);
    kvmig__json_add_str(object, "portgroup", interface->portgroup);
    kvmig__json_add_str(object, "mac", interface->mac);
    kvmig__json_add_str(object, "model", interface->model);
    kvmig__json_add_str(object, "target", interface->target);
    kvmig__json_add_str(object, "virtualport", interface->virtualport);
    kvmig__json_add_str(object, "alias", interface->alias);
    if (interface->queues)
        kvmig__json_add_u64(object, "queues", interface->queues);
    return object;
}

static struct json_object *json_device(const struct kvmig__device *device)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "kind", device->kind);
    kvmig__json_add_str(object, "type", device->type);
    kvmig__json_add_str(object, "name", device->name);
    return object;
}

static void add_devices(struct json_object *object, const struct kvmig__domain *domain)
{
    struct json_object *disks = json_object_new_array();
    struct json_object *interfaces = json_object_new_array(), *devices = json_object_new_array();

    for (size_t i = 0; i < domain->disks.n; i++)
        json_object_array_add(disks, json_disk(&domain->disks.v[i]));
    for (size_t i = 0; i < domain->interfaces.n; i++)
        json_object_array_add(interfaces, json_interface(&domain->interfaces.v[i]));
    for (size_t i = 0; i < domain->devices.n; i++)
        json_object_array_add(devices, json_device(&domain->devices.v[i]));
    json_object_object_add(object, "disks", disks);
    json_object_object_add(object, "interfaces", interfaces);
    json_object_object_add(object, "devices", devices);
}

static struct json_object *json_need(const struct kvmig__need *need)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "what", need->what);
    kvmig__json_add_str(object, "value", need->value);
    kvmig__json_add_str(object, "name", need->name);
    return object;
}

static void add_demands(struct json_object *object, const struct kvmig__domain *domain)
{
    struct json_object *needs = json_object_new_array(), *secrets = json_object_new_array();
    struct json_object *pins = json_object_new_object();

    for (size_t i = 0; i < domain->needs.n; i++)
        json_object_array_add(needs, json_need(&domain->needs.v[i]));
    for (size_t i = 0; i < domain->secrets.n; i++)
        json_object_array_add(secrets, kvmig__json_secret(&domain->secrets.v[i]));
    for (size_t i = 0; i < domain->cpu_pins.n; i++)
        kvmig__json_add_str(pins, domain->cpu_pins.v[i].what, domain->cpu_pins.v[i].cpus);
    json_object_object_add(object, "needs", needs);
    json_object_object_add(object, "secrets", secrets);
    json_object_object_add(object, "cpu_pins", pins);
    kvmig__json_add_bool(object, "cpu_limited", domain->cpu_limited);
    kvmig__json_add_str(object, "memory_source", domain->memory_source);
    kvmig__json_add_bool(object, "memory_locked", domain->memory_locked);
    kvmig__json_add_bool(object, "memory_hard_limit", domain->memory_hard_limit);
    kvmig__json_add_bool(object, "hyperv_passthrough", domain->hyperv_passthrough);
}

static void add_state(struct json_object *object, const struct kvmig__domain *domain)
{
    kvmig__json_add_str(object, "name", domain->name);
    kvmig__json_add_str(object, "uuid", domain->uuid);
    kvmig__json_add_str(object, "state", kvmig__domain_state_name(domain->state));
    kvmig__json_add_str(object, "reason", kvmig__domain_reason_name(domain->reason));
    kvmig__json_add_bool(object, "persistent", domain->persistent);
    kvmig__json_add_bool(object, "job_active", domain->job_active);
    kvmig__json_add_bool(object, "migrating_out", domain->migrating_out);
    kvmig__json_add_bool(object, "migrating_in", domain->migrating_in);
    kvmig__json_add_u64(object, "snapshots", domain->snapshots);
    kvmig__json_add_u64(object, "checkpoints", domain->checkpoints);
}

struct json_object *kvmig__json_domain(const struct kvmig__domain *domain)
{
    struct json_object *object = json_object_new_object();

    add_state(object, domain);
    kvmig__json_add_str(object, "virt_type", domain->virt_type);
    kvmig__json_add_str(object, "arch", domain->arch);
    kvmig__json_add_str(object, "machine", domain->machine);
    kvmig__json_add_str(object, "emulator", domain->emulator);
    kvmig__json_add_u64(object, "memory", domain->memory);
    kvmig__json_add_u64(object, "max_memory", domain->max_memory);
    kvmig__json_add_u64(object, "vcpus", domain->vcpus);
    json_object_object_add(object, "cpu", json_guest_cpu(&domain->cpu));
    kvmig__json_add_bool(object, "hugepages", domain->hugepages);
    if (domain->hugepage_size)
        kvmig__json_add_u64(object, "hugepage_size", domain->hugepage_size);
    kvmig__json_add_bool(object, "numa_pinned", domain->numa_pinned);
    kvmig__json_add_str(object, "numa_nodeset", domain->numa_nodeset);
    kvmig__json_add_str(object, "loader", domain->loader);
    kvmig__json_add_str(object, "nvram", domain->nvram);
    add_demands(object, domain);
    add_devices(object, domain);
    return object;
}
