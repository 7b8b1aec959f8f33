/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading a host's storage: pools, their volumes, and block devices. Volumes and block devices are asked one by one, and a
 * volume costs the daemon a look into the file, perhaps over a network: so usual readings take them from the cache. Thorough
 * ones first let active pools look for volumes that others have made, which changes nothing but libvirt's list. Runs on the
 * host's lane.
 */
#include "libvirt/inventory.h"

#include <libvirt/virterror.h>
#include <stdlib.h>

/* ---- volumes ---- */

static void read_volume(struct kvmig__inventory *inv, virStorageVolPtr handle, struct kvmig__pool *pool)
{
    const char *name = virStorageVolGetName(handle);
    struct kvmig__volume volume;
    char *xml, *where;
    int32_t rc;

    kvmig__inventory_calls(inv, "virStorageVolGetXMLDesc");
    xml = virStorageVolGetXMLDesc(handle, 0);
    if (!xml) { /* most often: it has just been deleted */
        kvmig__inventory_failed(inv, "virStorageVolGetXMLDesc", name);
        return;
    }
    where = kvmig__asprintf("%s: volume %s of pool %s", inv->label, name, pool->name);
    rc = kvmig__xml_volume(xml, where, &volume);
    free(where);
    free(xml);
    if (rc < 0)
        kvmig__inventory_misread(inv, name);
    else
        *KVMIG__PUSH(&pool->volumes) = volume;
}

static void read_volumes(struct kvmig__inventory *inv, virStoragePoolPtr handle, struct kvmig__pool *pool)
{
    virStorageVolPtr *volumes = NULL;
    int n;

    if (inv->depth == KVMIG__DEPTH_THOROUGH) {
        kvmig__inventory_calls(inv, "virStoragePoolRefresh");
        /* A pool that is just being worked on, or a connection without the right, gives the list as it is. */
        if (virStoragePoolRefresh(handle, 0) < 0)
            kvmig__inventory_failed(inv, "virStoragePoolRefresh", pool->name);
    }
    if (inv->error)
        return;
    kvmig__inventory_calls(inv, "virStoragePoolListAllVolumes");
    n = virStoragePoolListAllVolumes(handle, &volumes, 0);
    if (n < 0) {
        kvmig__inventory_failed(inv, "virStoragePoolListAllVolumes", pool->name);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (!inv->error)
            read_volume(inv, volumes[i], pool);
        virStorageVolFree(volumes[i]);
    }
    free(volumes);
}

/* ---- pools ---- */

static bool read_pool_xml(struct kvmig__inventory *inv, virStoragePoolPtr handle, struct kvmig__pool *pool)
{
    const char *name = virStoragePoolGetName(handle);
    char *xml, *where;
    int32_t rc;

    kvmig__inventory_calls(inv, "virStoragePoolGetXMLDesc");
    xml = virStoragePoolGetXMLDesc(handle, 0);
    if (!xml) {
        kvmig__inventory_failed(inv, "virStoragePoolGetXMLDesc", name);
        return false;
    }
    where = kvmig__asprintf("%s: pool %s", inv->label, name);
    rc = kvmig__xml_pool(xml, where, pool);
    free(where);
    free(xml);
    if (rc < 0)
        kvmig__inventory_misread(inv, name);
    return rc == 0;
}

static void read_pool(struct kvmig__inventory *inv, virStoragePoolPtr handle, bool fresh)
{
    virStoragePoolInfo info;
    struct kvmig__pool pool;

    if (!read_pool_xml(inv, handle, &pool))
        return;
    kvmig__inventory_calls(inv, "virStoragePoolIsActive");
    pool.active = virStoragePoolIsActive(handle) == 1;
    if (pool.active && fresh)
        read_volumes(inv, handle, &pool);
    else if (pool.active)
        kvmig__cache_fill_pool(inv->cache, &pool);
    if (pool.active && !inv->error) { /* after the pool has looked again */
        kvmig__inventory_calls(inv, "virStoragePoolGetInfo");
        if (virStoragePoolGetInfo(handle, &info) == 0) {
            pool.capacity = info.capacity;
            pool.available = info.available;
        } else {
            kvmig__inventory_failed(inv, "virStoragePoolGetInfo", pool.name);
        }
    }
    *KVMIG__PUSH(&inv->host->pools) = pool;
}

static void read_pools(struct kvmig__inventory *inv)
{
    const bool fresh = inv->depth != KVMIG__DEPTH_USUAL || !inv->cache->pools_filled;
    virStoragePoolPtr *handles = NULL;
    int n;

    kvmig__inventory_calls(inv, "virConnectListAllStoragePools");
    n = virConnectListAllStoragePools(inv->conn, &handles, 0);
    if (n < 0) {
        kvmig__inventory_failed(inv, "virConnectListAllStoragePools", NULL);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (!inv->error)
            read_pool(inv, handles[i], fresh);
        virStoragePoolFree(handles[i]);
    }
    free(handles);
    inv->host->pools_known = true;
    if (fresh && !inv->error)
        kvmig__cache_keep_pools(inv->cache, inv->host);
}

/* ---- block devices ---- */

static void read_block_device(struct kvmig__inventory *inv, virNodeDevicePtr handle)
{
    const char *name = virNodeDeviceGetName(handle);
    struct kvmig__block_device device;
    char *xml, *where;
    int32_t rc;

    kvmig__inventory_calls(inv, "virNodeDeviceGetXMLDesc");
    xml = virNodeDeviceGetXMLDesc(handle, 0);
    if (!xml) {
        kvmig__inventory_failed(inv, "virNodeDeviceGetXMLDesc", name);
        return;
    }
    where = kvmig__asprintf("%s: node device %s", inv->label, name);
    rc = kvmig__xml_block_device(xml, where, &device);
    free(where);
    free(xml);
    if (rc < 0)
        kvmig__inventory_misread(inv, name);
    else
        *KVMIG__PUSH(&inv->host->block_devices) = device;
}

static void read_block_devices(struct kvmig__inventory *inv)
{
    virNodeDevicePtr *handles = NULL;
    int n;

    kvmig__inventory_calls(inv, "virConnectListAllNodeDevices");
    n = virConnectListAllNodeDevices(inv->conn, &handles, VIR_CONNECT_LIST_NODE_DEVICES_CAP_STORAGE);
    if (n < 0) {
        kvmig__inventory_failed(inv, "virConnectListAllNodeDevices", "storage devices");
        return;
    }
    for (int i = 0; i < n; i++) {
        if (!inv->error)
            read_block_device(inv, handles[i]);
        virNodeDeviceFree(handles[i]);
    }
    free(handles);
    if (!inv->error)
        kvmig__cache_keep_block_devices(inv->cache, inv->host);
}

void kvmig__inventory_storage(struct kvmig__inventory *inv)
{
    const bool usual = inv->depth == KVMIG__DEPTH_USUAL && inv->cache->pools_filled;

    read_pools(inv);
    if (inv->error)
        return;
    inv->host->block_devices_asked = true;
    if (usual)
        kvmig__cache_fill_block_devices(inv->cache, inv->host);
    else
        read_block_devices(inv);
}
