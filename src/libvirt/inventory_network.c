/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading a host's networks: libvirt's virtual networks, and the host's network devices that a guest's interface can be
 * plugged into. Those are all devices by name, not only Linux bridges: the local port of an Open vSwitch bridge looks like
 * any other device to libvirt. What guests bring themselves (their tap devices) is left out. Runs on the host's lane.
 */
#include "libvirt/inventory.h"
#include "libvirt/xml_util.h"

#include <stdlib.h>

/* ---- virtual networks ---- */

static void read_network(struct kvmig__inventory *inv, virNetworkPtr handle)
{
    const char *name = virNetworkGetName(handle);
    struct kvmig__network network;
    char *xml, *where;
    int32_t rc;

    kvmig__inventory_calls(inv, "virNetworkGetXMLDesc");
    xml = virNetworkGetXMLDesc(handle, 0);
    if (!xml) {
        kvmig__inventory_failed(inv, "virNetworkGetXMLDesc", name);
        return;
    }
    where = kvmig__asprintf("%s: network %s", inv->label, name);
    rc = kvmig__xml_network(xml, where, &network);
    free(where);
    free(xml);
    if (rc < 0) {
        kvmig__inventory_misread(inv, name);
        return;
    }
    kvmig__inventory_calls(inv, "virNetworkIsActive");
    network.active = virNetworkIsActive(handle) == 1;
    if (network.active && network.bridge)
        kvmig__strlist_add_new(&inv->host->bridges, network.bridge);
    *KVMIG__PUSH(&inv->host->networks) = network;
}

static void read_networks(struct kvmig__inventory *inv)
{
    virNetworkPtr *handles = NULL;
    int n;

    kvmig__inventory_calls(inv, "virConnectListAllNetworks");
    n = virConnectListAllNetworks(inv->conn, &handles, 0);
    if (n < 0) {
        kvmig__inventory_failed(inv, "virConnectListAllNetworks", NULL);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (!inv->error)
            read_network(inv, handles[i]);
        virNetworkFree(handles[i]);
    }
    free(handles);
    inv->host->networks_known = true;
}

/* ---- network devices ---- */

static bool read_interfaces(struct kvmig__inventory *inv, struct kvmig__strlist *links)
{
    virInterfacePtr *handles = NULL;
    int n;

    kvmig__inventory_calls(inv, "virConnectListAllInterfaces");
    n = virConnectListAllInterfaces(inv->conn, &handles, VIR_CONNECT_LIST_INTERFACES_ACTIVE);
    if (n < 0) {
        kvmig__inventory_failed(inv, "virConnectListAllInterfaces", NULL);
        return false;
    }
    for (int i = 0; i < n; i++) {
        kvmig__strlist_add_new(links, virInterfaceGetName(handles[i]));
        virInterfaceFree(handles[i]);
    }
    free(handles);
    return true;
}

static void read_net_device(struct kvmig__inventory *inv, virNodeDevicePtr handle, struct kvmig__strlist *links)
{
    struct kvmig__xml xml;
    char *text, *name = NULL;

    kvmig__inventory_calls(inv, "virNodeDeviceGetXMLDesc");
    text = virNodeDeviceGetXMLDesc(handle, 0);
    if (!text) {
        kvmig__inventory_failed(inv, "virNodeDeviceGetXMLDesc", virNodeDeviceGetName(handle));
        return;
    }
    if (kvmig__xml_open(&xml, text, inv->label, "device") == 0) {
        name = kvmig__xml_child_text(kvmig__xml_child(xml.root, "capability"), "interface");
        kvmig__xml_close(&xml);
    }
    if (name)
        kvmig__strlist_add_new(links, name);
    free(name);
    free(text);
}

static bool read_net_devices(struct kvmig__inventory *inv, struct kvmig__strlist *links)
{
    virNodeDevicePtr *handles = NULL;
    int n;

    kvmig__inventory_calls(inv, "virConnectListAllNodeDevices");
    n = virConnectListAllNodeDevices(inv->conn, &handles, VIR_CONNECT_LIST_NODE_DEVICES_CAP_NET);
    if (n < 0) {
        kvmig__inventory_failed(inv, "virConnectListAllNodeDevices", "network devices");
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (!inv->error)
            read_net_device(inv, handles[i], links);
        virNodeDeviceFree(handles[i]);
    }
    free(handles);
    return true;
}

/* The interface driver names all devices in one answer; where there is none, node devices are asked one by one, which is
 * kept for the usual readings. */
static bool read_links(struct kvmig__inventory *inv, struct kvmig__strlist *links)
{
    struct kvmig__cache *cache = inv->cache;

    if (read_interfaces(inv, links))
        return true;
    if (inv->error)
        return false;
    if (inv->depth == KVMIG__DEPTH_USUAL && cache->links_known) {
        kvmig__strlist_copy(links, &cache->links);
        return true;
    }
    cache->links_known = read_net_devices(inv, links) && !inv->error;
    kvmig__strlist_copy(&cache->links, links);
    return cache->links_known;
}

/* ---- what running guests tell ---- */

static void note_guests(struct kvmig__host *host, struct kvmig__strlist *taps)
{
    for (size_t i = 0; i < host->domains.n; i++) {
        const struct kvmig__domain *domain = &host->domains.v[i];

        for (size_t k = 0; domain->state != KVMIG__STATE_SHUTOFF && k < domain->interfaces.n; k++) {
            const struct kvmig__interface *interface = &domain->interfaces.v[k];

            if (interface->target)
                kvmig__strlist_add_new(taps, interface->target);
            if (interface->source && kvmig__str_eq(interface->type, "bridge"))
                kvmig__strlist_add_new(&host->bridges, interface->source);
        }
    }
}

void kvmig__inventory_networks(struct kvmig__inventory *inv)
{
    struct kvmig__strlist links = { NULL, 0 }, taps = { NULL, 0 };

    read_networks(inv);
    if (!inv->error)
        inv->host->bridges_known = read_links(inv, &links);
    note_guests(inv->host, &taps);
    for (size_t i = 0; i < links.n; i++)
        if (!kvmig__strlist_has(&taps, links.v[i]) && !kvmig__str_eq(links.v[i], "lo"))
            kvmig__strlist_add_new(&inv->host->bridges, links.v[i]);
    kvmig__strlist_clear(&links);
    kvmig__strlist_clear(&taps);
}
