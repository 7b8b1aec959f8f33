/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view as JSON: the hosts and what they offer. Domains are in cluster_json_domain.c, memory, CPUs and secrets in
 * cluster_json_resources.c. Does not: read JSON, judge. Runs on the
 * caller's thread under the context lock; the text is the caller's.
 */
#include "cluster/cluster_json.h"
#include "cluster/cluster_private.h"

#include <errno.h>
#include <stdlib.h>

static const char *host_state_name(int32_t state)
{
    static const char *const names[] = {
        [KVMIG__HOST_CONNECTING] = "connecting", [KVMIG__HOST_UP] = "up", [KVMIG__HOST_LOST] = "lost"
    };

    return names[state];
}

/* libvirt's numbers: 9000000 is 9.0.0. */
static void add_version(struct json_object *object, const char *key, uint64_t version)
{
    char *text;

    if (!version)
        return;
    text = kvmig__asprintf("%llu.%llu.%llu", (unsigned long long)(version / 1000000),
                           (unsigned long long)(version / 1000 % 1000), (unsigned long long)(version % 1000));
    kvmig__json_add_str(object, key, text);
    free(text);
}

static struct json_object *usable_models(const struct kvmig__emulator *emulator)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < emulator->models.n; i++)
        if (emulator->models.v[i].usable && emulator->models.v[i].name)
            json_object_array_add(array, json_object_new_string(emulator->models.v[i].name));
    return array;
}

static struct json_object *feature_names(const struct kvmig__cpu *cpu)
{
    struct json_object *array;

    if (cpu->expanded_known)
        return kvmig__json_strlist(&cpu->expanded);
    array = json_object_new_array();
    for (size_t i = 0; i < cpu->features.n; i++) {
        const struct kvmig__cpu_feature *feature = &cpu->features.v[i];

        if (feature->policy != KVMIG__CPU_DISABLE && feature->policy != KVMIG__CPU_FORBID)
            json_object_array_add(array, json_object_new_string(feature->name));
    }
    return array;
}

/* What a guest with the best acceleration of the host can have. */
static struct json_object *json_cpu(const struct kvmig__host *host)
{
    const struct kvmig__emulator *best = NULL;
    struct json_object *object;

    for (size_t i = 0; i < host->emulators.n; i++)
        if (!best || (kvmig__str_eq(host->emulators.v[i].virt_type, "kvm") && !kvmig__str_eq(best->virt_type, "kvm")))
            best = &host->emulators.v[i];
    if (!best)
        return NULL;
    object = json_object_new_object();
    kvmig__json_add_str(object, "virt_type", best->virt_type);
    if (best->host_model_known) {
        kvmig__json_add_str(object, "host_model", best->host_model.model);
        kvmig__json_add_str(object, "vendor", best->host_model.vendor);
        json_object_object_add(object, "features", feature_names(&best->host_model));
    }
    json_object_object_add(object, "usable_models", usable_models(best));
    return object;
}

static struct json_object *json_emulators(const struct kvmig__host *host)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < host->emulators.n; i++) {
        const struct kvmig__emulator *emulator = &host->emulators.v[i];
        struct json_object *object = json_object_new_object();

        kvmig__json_add_str(object, "path", emulator->path);
        kvmig__json_add_str(object, "arch", emulator->arch);
        kvmig__json_add_str(object, "virt_type", emulator->virt_type);
        kvmig__json_add_str(object, "machine", emulator->machine);
        kvmig__json_add_str(object, "host_model", emulator->host_model_known ? emulator->host_model.model : NULL);
        kvmig__json_add_bool(object, "host_passthrough", emulator->passthrough_supported);
        kvmig__json_add_bool(object, "maximum", emulator->maximum_supported);
        json_object_object_add(object, "usable_models", usable_models(emulator));
        json_object_object_add(object, "offers", kvmig__json_offers(emulator));
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *json_machines(const struct kvmig__host *host)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < host->machines.n; i++) {
        struct json_object *object = json_object_new_object();

        kvmig__json_add_str(object, "name", host->machines.v[i].name);
        kvmig__json_add_str(object, "canonical", host->machines.v[i].canonical);
        kvmig__json_add_str(object, "arch", host->machines.v[i].arch);
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *json_networks(const struct kvmig__host *host)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < host->networks.n; i++) {
        const struct kvmig__network *network = &host->networks.v[i];
        struct json_object *object = json_object_new_object();

        kvmig__json_add_str(object, "name", network->name);
        kvmig__json_add_bool(object, "active", network->active);
        kvmig__json_add_str(object, "bridge", network->bridge);
        json_object_object_add(object, "portgroups", kvmig__json_strlist(&network->portgroups));
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *json_volumes(const struct kvmig__pool *pool)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < pool->volumes.n; i++) {
        const struct kvmig__volume *volume = &pool->volumes.v[i];
        struct json_object *object = json_object_new_object();

        kvmig__json_add_str(object, "name", volume->name);
        kvmig__json_add_str(object, "path", volume->path);
        kvmig__json_add_str(object, "format", volume->format);
        kvmig__json_add_u64(object, "capacity", volume->capacity);
        kvmig__json_add_u64(object, "allocation", volume->allocation);
        kvmig__json_add_str(object, "ctime", volume->ctime);
        kvmig__json_add_str(object, "backing_path", volume->backing_path);
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *json_pools(const struct kvmig__host *host)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < host->pools.n; i++) {
        const struct kvmig__pool *pool = &host->pools.v[i];
        struct json_object *object = json_object_new_object();

        kvmig__json_add_str(object, "name", pool->name);
        kvmig__json_add_str(object, "uuid", pool->uuid);
        kvmig__json_add_str(object, "type", pool->type);
        kvmig__json_add_bool(object, "active", pool->active);
        kvmig__json_add_str(object, "target_path", pool->target_path);
        kvmig__json_add_str(object, "source_host", pool->source_host);
        kvmig__json_add_str(object, "source_dir", pool->source_dir);
        kvmig__json_add_str(object, "source_name", pool->source_name);
        kvmig__json_add_str(object, "source_device", pool->source_device);
        kvmig__json_add_u64(object, "capacity", pool->capacity);
        kvmig__json_add_u64(object, "available", pool->available);
        json_object_object_add(object, "volumes", json_volumes(pool));
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *json_block_devices(const struct kvmig__host *host)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < host->block_devices.n; i++) {
        const struct kvmig__block_device *device = &host->block_devices.v[i];
        struct json_object *object = json_object_new_object();

        json_object_object_add(object, "paths", kvmig__json_strlist(&device->paths));
        kvmig__json_add_str(object, "serial", device->serial);
        kvmig__json_add_str(object, "wwn", device->wwn);
        kvmig__json_add_u64(object, "size", device->size);
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *json_jobs(const struct kvmig__host *host)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < host->domains.n; i++) {
        const struct kvmig__domain *domain = &host->domains.v[i];
        struct json_object *object;

        if (!domain->job_active && !domain->migrating_in && !domain->migrating_out)
            continue;
        object = json_object_new_object();
        kvmig__json_add_str(object, "domain", domain->name);
        kvmig__json_add_str(object, "uuid", domain->uuid);
        kvmig__json_add_str(object, "kind",
                            domain->migrating_out  ? "migration-out"
                            : domain->migrating_in ? "migration-in"
                                                   : "other");
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *json_domains(const struct kvmig__host *host)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < host->domains.n; i++)
        json_object_array_add(array, kvmig__json_domain(&host->domains.v[i]));
    return array;
}

static void add_identity(struct json_object *object, const struct kvmig__host *host)
{
    kvmig__json_add_str(object, "name", host->name);
    kvmig__json_add_str(object, "uri", host->uri);
    kvmig__json_add_str(object, "state", host_state_name(host->state));
    if (host->state == KVMIG__HOST_LOST && host->lost_error)
        json_object_object_add(object, "error", kvmig__json_error(host->lost_error));
    kvmig__json_add_str(object, "uuid", host->uuid);
    add_version(object, "libvirt_version", host->libvirt_version);
    add_version(object, "qemu_version", host->qemu_version);
    kvmig__json_add_str(object, "arch", host->arch);
    if (host->cpus)
        kvmig__json_add_u64(object, "cpus", host->cpus);
    kvmig__json_add_u64(object, "memory_total", host->memory_total);
    kvmig__json_add_u64(object, "memory_free", host->memory_free);
}

struct json_object *kvmig__json_host(const struct kvmig__host *host)
{
    struct json_object *object = json_object_new_object(), *cpu = json_cpu(host);

    add_identity(object, host);
    json_object_object_add(object, "security_models", kvmig__json_strlist(&host->secure_models));
    if (cpu)
        json_object_object_add(object, "cpu", cpu);
    kvmig__json_add_resources(object, host);
    json_object_object_add(object, "emulators", json_emulators(host));
    if (host->machines_known)
        json_object_object_add(object, "machines", json_machines(host));
    if (host->networks_known)
        json_object_object_add(object, "networks", json_networks(host));
    if (host->bridges_known)
        json_object_object_add(object, "bridges", kvmig__json_strlist(&host->bridges));
    if (host->pools_known)
        json_object_object_add(object, "pools", json_pools(host));
    json_object_object_add(object, "block_devices", json_block_devices(host));
    if (host->domains_known || host->domains.n) {
        json_object_object_add(object, "jobs", json_jobs(host));
        json_object_object_add(object, "domains", json_domains(host));
    }
    return object;
}

int32_t kvmig_cluster_to_json(struct kvmig_cluster *cluster, char **out_json)
{
    struct json_object *object, *hosts;

    if (out_json)
        *out_json = NULL;
    if (!cluster || !out_json)
        return kvmig__fail(kvmig__error_new(-EINVAL, "kvmig_cluster_to_json", NULL, NULL, "%s is NULL",
                                            cluster ? "out_json" : "cluster"));
    object = json_object_new_object();
    hosts = json_object_new_array();
    kvmig__context_lock(cluster->context);
    kvmig__json_add_bool(object, "synced", cluster->synced);
    json_object_object_add(object, "shared_paths", kvmig__json_strlist(&cluster->view.shared_paths));
    for (size_t i = 0; i < cluster->view.hosts.n; i++)
        json_object_array_add(hosts, kvmig__json_host(cluster->view.hosts.v[i]));
    kvmig__context_unlock(cluster->context);
    json_object_object_add(object, "hosts", hosts);
    *out_json = kvmig__json_take_string(object);
    return 0;
}
