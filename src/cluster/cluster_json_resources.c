/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The view as JSON: what a host has for guests beside storage and networks: NUMA cells with their pages, the time-stamp
 * counter, kinds of guests, lists of devices, and which secrets it keeps (never their values, which nobody here knows). Any
 * thread; objects are the caller's.
 */
#include "cluster/cluster_json.h"

static struct json_object *json_pages(const struct kvmig__pages *pages)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_u64(object, "size", pages->size);
    kvmig__json_add_u64(object, "total", pages->total);
    kvmig__json_add_u64(object, "free", pages->free);
    return object;
}

static struct json_object *json_cell(const struct kvmig__numa_cell *cell)
{
    struct json_object *object = json_object_new_object();
    struct json_object *cpus = json_object_new_array(), *pages = json_object_new_array();

    for (size_t i = 0; i < cell->cpus.n; i++)
        json_object_array_add(cpus, json_object_new_int64(cell->cpus.v[i]));
    for (size_t i = 0; i < cell->pages.n; i++)
        json_object_array_add(pages, json_pages(&cell->pages.v[i]));
    kvmig__json_add_u64(object, "id", cell->id);
    kvmig__json_add_u64(object, "memory", cell->memory);
    json_object_object_add(object, "cpus", cpus);
    json_object_object_add(object, "pages", pages);
    return object;
}

struct json_object *kvmig__json_secret(const struct kvmig__secret *secret)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "uuid", secret->uuid);
    kvmig__json_add_str(object, "usage_type", secret->usage_type);
    kvmig__json_add_str(object, "usage", secret->usage);
    kvmig__json_add_str(object, "of", secret->of);
    return object;
}

struct json_object *kvmig__json_offers(const struct kvmig__emulator *emulator)
{
    struct json_object *object = json_object_new_object();

    for (size_t i = 0; i < emulator->offers.n; i++)
        json_object_object_add(object, emulator->offers.v[i].what, kvmig__json_strlist(&emulator->offers.v[i].values));
    return object;
}

void kvmig__json_add_resources(struct json_object *object, const struct kvmig__host *host)
{
    struct json_object *cells, *secrets;

    if (host->tsc_frequency_hz)
        kvmig__json_add_u64(object, "tsc_frequency", host->tsc_frequency_hz);
    if (host->tsc_scaling >= 0)
        kvmig__json_add_bool(object, "tsc_scaling", host->tsc_scaling == 1);
    if (host->virt_types_known)
        json_object_object_add(object, "virt_types", kvmig__json_strlist(&host->virt_types));
    if (host->cells_known) {
        cells = json_object_new_array();
        for (size_t i = 0; i < host->cells.n; i++)
            json_object_array_add(cells, json_cell(&host->cells.v[i]));
        json_object_object_add(object, "numa_cells", cells);
    }
    if (host->secrets_known) {
        secrets = json_object_new_array();
        for (size_t i = 0; i < host->secrets.n; i++)
            json_object_array_add(secrets, kvmig__json_secret(&host->secrets.v[i]));
        json_object_object_add(object, "secrets", secrets);
    }
}
