/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a host opens for a disk source: the path or network image, and the pool and volume of the view that it is. Pure; any
 * thread. A place owns its path and borrows the rest from the host and the source.
 */
#include "plan/checks.h"

#include <stdlib.h>
#include <string.h>

const char *kvmig__path_base(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path;
}

/* What a volume of such a pool is to QEMU. */
static int32_t type_of_pool(const char *pool_type)
{
    static const struct {
        const char *pool;
        int32_t type;
    } kinds[] = {
        { "dir", KVMIG__DISK_FILE },         { "fs", KVMIG__DISK_FILE },
        { "netfs", KVMIG__DISK_FILE },       { "vstorage", KVMIG__DISK_FILE },
        { "logical", KVMIG__DISK_BLOCK },    { "disk", KVMIG__DISK_BLOCK },
        { "iscsi", KVMIG__DISK_BLOCK },      { "scsi", KVMIG__DISK_BLOCK },
        { "mpath", KVMIG__DISK_BLOCK },      { "zfs", KVMIG__DISK_BLOCK },
        { "rbd", KVMIG__DISK_NETWORK },      { "gluster", KVMIG__DISK_NETWORK },
        { "sheepdog", KVMIG__DISK_NETWORK }, { "iscsi-direct", KVMIG__DISK_NETWORK },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(kinds); i++) {
        if (kvmig__str_eq(kinds[i].pool, pool_type))
            return kinds[i].type;
    }
    return KVMIG__DISK_OTHER;
}

static void resolve_volume(struct kvmig__place *place, const struct kvmig__host *host,
                           const struct kvmig__disk_source *source)
{
    place->pool = kvmig__host_find_pool(host, source->pool);
    place->type = KVMIG__DISK_VOLUME;
    if (!place->pool || !source->volume)
        return;
    place->known = true;
    place->type = type_of_pool(place->pool->type);
    place->volume = kvmig__pool_find_volume(place->pool, source->volume);
    place->name = source->volume;
    if (place->volume && place->volume->path)
        place->path = kvmig__strdup(place->volume->path);
    else if (place->pool->target_path)
        place->path = kvmig__asprintf("%s/%s", place->pool->target_path, source->volume);
}

void kvmig__place_resolve(struct kvmig__place *place, const struct kvmig__host *host,
                          const struct kvmig__disk_source *source)
{
    *place = (struct kvmig__place){ .type = source->type };
    if (source->type == KVMIG__DISK_VOLUME) {
        resolve_volume(place, host, source);
        return;
    }
    place->known = true;
    place->protocol = source->protocol;
    place->name = source->name;
    place->server = source->host;
    place->path = kvmig__strdup(source->path);
    place->pool = kvmig__host_pool_of_path(host, source->path);
    if (place->pool)
        place->volume = kvmig__pool_find_volume(place->pool, source->path);
}

void kvmig__place_clear(struct kvmig__place *place)
{
    free(place->path);
    *place = (struct kvmig__place){ 0 };
}

const struct kvmig__block_device *kvmig__host_block_device(const struct kvmig__host *host, const char *path)
{
    for (size_t i = 0; path && i < host->block_devices.n; i++) {
        if (kvmig__strlist_has(&host->block_devices.v[i].paths, path))
            return &host->block_devices.v[i];
    }
    return NULL;
}
