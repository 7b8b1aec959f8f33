/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Description of a VMI's network interfaces, which stand in three lists of the API (the devices, the networks that
 * they belong to, and the status), joined by name in the model. Any thread; see objects_io.h for directions and
 * ownership.
 */
#include "kubernetes/objects_io.h"

#include <stdlib.h>
#include <string.h>

#define PLUGIN "plugin:"

struct interfaces {
    struct kvmig__kube_interface *v;
    size_t n;
};

/* ---- one element of each list ---- */

static void read_binding(struct kvmig__io *io, struct kvmig__kube_interface *interface)
{
    static const char *const others[] = { "binding", "dhcpOptions", NULL };
    char *plugin = NULL;

    kvmig__str_set(&interface->binding, kvmig__io_first_object(io, others));
    kvmig__io_begin(io, "binding");
    kvmig__io_str(io, "name", &plugin);
    kvmig__io_end(io);
    if (plugin && !interface->binding)
        interface->binding = kvmig__asprintf(PLUGIN "%s", plugin);
    free(plugin);
}

static void write_binding(struct kvmig__io *io, const char *binding)
{
    bool there = true;

    if (!binding)
        return;
    if (!kvmig__str_starts(binding, PLUGIN)) {
        kvmig__io_present(io, binding, &there);
        return;
    }
    kvmig__io_begin(io, "binding");
    kvmig__json_add_str(io->level[io->depth].json, "name", binding + strlen(PLUGIN));
    kvmig__io_end(io);
}

static bool visit_device(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_interface *interface = element;

    if (io->encode && !interface->in_spec)
        return false;
    interface->in_spec = true;
    kvmig__io_str(io, "name", &interface->name);
    kvmig__io_str(io, "macAddress", &interface->mac);
    kvmig__io_str(io, "model", &interface->model);
    if (io->encode)
        write_binding(io, interface->binding);
    else
        read_binding(io, interface);
    return true;
}

static bool visit_network(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_interface *interface = element;

    if (io->encode && !(interface->in_spec && (interface->pod_network || interface->multus)))
        return false;
    kvmig__io_str(io, "name", &interface->name);
    kvmig__io_present(io, "pod", &interface->pod_network);
    kvmig__io_begin(io, "multus");
    kvmig__io_str(io, "networkName", &interface->multus);
    kvmig__io_end(io);
    return true;
}

static bool visit_status(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_interface *interface = element;

    if (io->encode && interface->in_spec && !interface->ip && !interface->ips.n && !interface->status_mac &&
        !interface->link_state && !interface->info_source)
        return false;
    kvmig__io_str(io, "name", &interface->name);
    kvmig__io_str(io, "ipAddress", &interface->ip);
    kvmig__io_strlist(io, "ipAddresses", &interface->ips);
    kvmig__io_str(io, "mac", &interface->status_mac);
    kvmig__io_str(io, "linkState", &interface->link_state);
    kvmig__io_str(io, "infoSource", &interface->info_source);
    return true;
}

/* ---- joining ---- */

static struct kvmig__kube_interface *find(const struct interfaces *list, size_t n, const char *name)
{
    for (size_t i = 0; name && i < n; i++) {
        if (kvmig__str_eq(list->v[i].name, name))
            return &list->v[i];
    }
    return NULL;
}

static void move_str(char **to, char **from)
{
    free(*to);
    *to = *from;
    *from = NULL;
}

static void join_networks(struct interfaces *list, struct interfaces *networks)
{
    for (size_t i = 0; i < networks->n; i++) {
        struct kvmig__kube_interface *from = &networks->v[i], *to = find(list, list->n, from->name);

        if (to) {
            to->pod_network = from->pod_network;
            move_str(&to->multus, &from->multus);
        }
        free(from->multus);
        free(from->name);
    }
    free(networks->v);
}

/* What the guest alone knows of has no name in the spec, and maybe none at all. */
static void join_statuses(struct interfaces *list, struct interfaces *statuses)
{
    size_t n_spec = list->n;

    for (size_t i = 0; i < statuses->n; i++) {
        struct kvmig__kube_interface *from = &statuses->v[i], *to = find(list, n_spec, from->name);

        if (!to) {
            *KVMIG__PUSH(list) = *from;
            continue;
        }
        move_str(&to->ip, &from->ip);
        move_str(&to->status_mac, &from->status_mac);
        move_str(&to->link_state, &from->link_state);
        move_str(&to->info_source, &from->info_source);
        kvmig__strlist_clear(&to->ips);
        to->ips = from->ips;
        free(from->name);
    }
    free(statuses->v);
}

static void read_interfaces(struct kvmig__io *io, struct interfaces *list)
{
    struct interfaces networks = { 0 }, statuses = { 0 };

    kvmig__io_begin(io, "spec");
    kvmig__io_begin(io, "domain");
    kvmig__io_begin(io, "devices");
    KVMIG__IO_LIST_JOINED(io, "interfaces", list, visit_device);
    kvmig__io_end(io);
    kvmig__io_end(io);
    KVMIG__IO_LIST_JOINED(io, "networks", &networks, visit_network);
    kvmig__io_end(io);
    kvmig__io_begin(io, "status");
    KVMIG__IO_LIST_JOINED(io, "interfaces", &statuses, visit_status);
    kvmig__io_end(io);
    join_networks(list, &networks);
    join_statuses(list, &statuses);
}

static void write_interfaces(struct kvmig__io *io, struct interfaces *list)
{
    kvmig__io_begin(io, "spec");
    kvmig__io_begin(io, "domain");
    kvmig__io_begin(io, "devices");
    KVMIG__IO_LIST(io, "interfaces", list, visit_device);
    kvmig__io_end(io);
    kvmig__io_end(io);
    KVMIG__IO_LIST(io, "networks", list, visit_network);
    kvmig__io_end(io);
    kvmig__io_begin(io, "status");
    KVMIG__IO_LIST(io, "interfaces", list, visit_status);
    kvmig__io_end(io);
}

void kvmig__visit_interfaces(struct kvmig__io *io, struct kvmig__kube_vmi *vmi)
{
    struct interfaces list = { .v = vmi->interfaces.v, .n = vmi->interfaces.n };

    if (io->encode)
        write_interfaces(io, &list);
    else
        read_interfaces(io, &list);
    vmi->interfaces.v = list.v;
    vmi->interfaces.n = list.n;
}
