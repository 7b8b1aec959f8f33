/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The memory between two readings of a host: see inventory_cache.h. Does not: decide when an answer is too old (the
 * reading's depth does), talk to libvirt. Owned by one reading at a time; no lock.
 */
#include "libvirt/inventory_cache.h"

#include <stdlib.h>

/* Guests come and go, and each may bring keys of its own. */
#define MAX_ENTRIES 4096

struct kvmig__cache *kvmig__cache_new(void)
{
    return kvmig__calloc(1, sizeof(struct kvmig__cache));
}

void kvmig__cache_drop(struct kvmig__cache_map *map)
{
    for (size_t i = 0; i < map->n; i++) {
        free(map->v[i].key);
        free(map->v[i].value);
    }
    free(map->v);
    *map = (struct kvmig__cache_map){ NULL, 0 };
}

static struct kvmig__cache_entry *find(const struct kvmig__cache_map *map, const char *key)
{
    for (size_t i = 0; i < map->n; i++)
        if (kvmig__str_eq(map->v[i].key, key))
            return &map->v[i];
    return NULL;
}

const struct kvmig__cache_entry *kvmig__cache_get(const struct kvmig__cache_map *map, const char *key)
{
    return find(map, key);
}

void kvmig__cache_put(struct kvmig__cache_map *map, const char *key, const char *value)
{
    struct kvmig__cache_entry *entry = find(map, key);

    if (!entry) {
        if (map->n >= MAX_ENTRIES)
            kvmig__cache_drop(map);
        entry = KVMIG__PUSH(map);
        entry->key = kvmig__strdup(key);
    }
    kvmig__str_set(&entry->value, value);
}

void kvmig__cache_check(struct kvmig__cache *cache, const char *capabilities)
{
    if (kvmig__str_eq(cache->capabilities, capabilities))
        return;
    kvmig__str_set(&cache->capabilities, capabilities);
    kvmig__cache_drop(&cache->emulators);
    kvmig__cache_drop(&cache->features);
}

/* ---- volumes ---- */

static void copy_volumes(struct kvmig__pool *dst, const struct kvmig__pool *src)
{
    for (size_t i = 0; i < src->volumes.n; i++) {
        const struct kvmig__volume *from = &src->volumes.v[i];

        *KVMIG__PUSH(&dst->volumes) = (struct kvmig__volume){ .name = kvmig__strdup(from->name),
                                                              .path = kvmig__strdup(from->path),
                                                              .format = kvmig__strdup(from->format),
                                                              .capacity = from->capacity,
                                                              .allocation = from->allocation,
                                                              .ctime = kvmig__strdup(from->ctime),
                                                              .backing_path = kvmig__strdup(from->backing_path) };
    }
}

static void drop_pools(struct kvmig__cache *cache)
{
    for (size_t i = 0; i < cache->pools.n; i++)
        kvmig__pool_clear(&cache->pools.v[i]);
    free(cache->pools.v);
    cache->pools.v = NULL;
    cache->pools.n = 0;
}

void kvmig__cache_keep_pools(struct kvmig__cache *cache, const struct kvmig__host *host)
{
    drop_pools(cache);
    for (size_t i = 0; i < host->pools.n; i++) {
        const struct kvmig__pool *pool = &host->pools.v[i];
        struct kvmig__pool *kept;

        if (!pool->active)
            continue;
        kept = KVMIG__PUSH(&cache->pools);
        kept->uuid = kvmig__strdup(pool->uuid);
        copy_volumes(kept, pool);
    }
    cache->pools_filled = true;
}

void kvmig__cache_fill_pool(const struct kvmig__cache *cache, struct kvmig__pool *pool)
{
    for (size_t i = 0; i < cache->pools.n; i++)
        if (kvmig__str_eq(cache->pools.v[i].uuid, pool->uuid))
            copy_volumes(pool, &cache->pools.v[i]);
}

/* ---- block devices ---- */

static void copy_block_device(struct kvmig__block_device *dst, const struct kvmig__block_device *src)
{
    kvmig__strlist_copy(&dst->paths, &src->paths);
    dst->serial = kvmig__strdup(src->serial);
    dst->wwn = kvmig__strdup(src->wwn);
    dst->size = src->size;
}

static void drop_block_devices(struct kvmig__cache *cache)
{
    for (size_t i = 0; i < cache->block_devices.n; i++)
        kvmig__block_device_clear(&cache->block_devices.v[i]);
    free(cache->block_devices.v);
    cache->block_devices.v = NULL;
    cache->block_devices.n = 0;
}

void kvmig__cache_keep_block_devices(struct kvmig__cache *cache, const struct kvmig__host *host)
{
    drop_block_devices(cache);
    for (size_t i = 0; i < host->block_devices.n; i++)
        copy_block_device(KVMIG__PUSH(&cache->block_devices), &host->block_devices.v[i]);
}

void kvmig__cache_fill_block_devices(const struct kvmig__cache *cache, struct kvmig__host *host)
{
    for (size_t i = 0; i < cache->block_devices.n; i++)
        copy_block_device(KVMIG__PUSH(&host->block_devices), &cache->block_devices.v[i]);
}

void kvmig__cache_free(struct kvmig__cache *cache)
{
    if (!cache)
        return;
    free(cache->capabilities);
    kvmig__cache_drop(&cache->emulators);
    kvmig__cache_drop(&cache->features);
    kvmig__cache_drop(&cache->domains);
    drop_pools(cache);
    drop_block_devices(cache);
    kvmig__strlist_clear(&cache->links);
    free(cache);
}
