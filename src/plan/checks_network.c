/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the VM's network interfaces plug into: bridges, libvirt networks and their port groups must exist on the target under
 * the same names. With domain XML of the caller for the target, that XML is judged. Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>
#include <strings.h>

static char *object_interface(const struct kvmig__interface *interface)
{
    const char *name = interface->alias ? interface->alias : interface->mac;

    if (!name)
        name = interface->target ? interface->target : interface->type;
    return kvmig__asprintf("device/%s", name ? name : "interface");
}

/* missing: what would have to be known to decide; NULL where it is known. */
static void note_with(const struct kvmig__check *c, const struct kvmig__interface *interface, const char *code,
                      int32_t severity, const char *missing, const char *hint, const char *message)
{
    struct kvmig__detail d = { 0 };

    if (missing)
        kvmig__detail_str(&d, "missing", missing);
    kvmig__detail_str(&d, "type", interface->type);
    kvmig__detail_str(&d, "source", interface->source);
    if (interface->portgroup)
        kvmig__detail_str(&d, "portgroup", interface->portgroup);
    kvmig__detail_str(&d, "mac", interface->mac);
    kvmig__note(c, code, severity, object_interface(interface), &d, hint, "Interface %s: %s (%s %s).",
                interface->mac ? interface->mac : "", message, interface->type ? interface->type : "",
                interface->source ? interface->source : "");
}

static void note(const struct kvmig__check *c, const struct kvmig__interface *interface, const char *code,
                 int32_t severity, const char *hint, const char *message)
{
    note_with(c, interface, code, severity, NULL, hint, message);
}

static void note_unverified(const struct kvmig__check *c, const struct kvmig__interface *interface, const char *code,
                            const char *missing, const char *message)
{
    note_with(c, interface, code, KVMIG_SEVERITY_INFO, missing, NULL, message);
}

/* ---- libvirt networks ---- */

static const struct kvmig__network *find_network(const struct kvmig__host *host, const char *name)
{
    for (size_t i = 0; i < host->networks.n; i++) {
        if (kvmig__str_eq(host->networks.v[i].name, name))
            return &host->networks.v[i];
    }
    return NULL;
}

/* The XML of a running domain shows the bridge that a network stands for, and names the network. */
static bool is_network_in_use(const struct kvmig__check *c, const struct kvmig__interface *interface)
{
    return kvmig__str_eq(interface->type, "bridge") && interface->source && find_network(c->source, interface->source);
}

static void check_network(const struct kvmig__check *c, const struct kvmig__interface *interface)
{
    const struct kvmig__network *network = find_network(c->target, interface->source);

    if (!interface->source)
        return;
    if (!network && !c->target->networks_known)
        note_unverified(c, interface, "NETWORK_UNVERIFIED", "the virtual networks of the target",
                        "the target's networks are not known; whether it has this one is not checked");
    else if (!network)
        note(c, interface, "NETWORK_MISSING", KVMIG_SEVERITY_BLOCKER,
             "Define and start the network on the target, or give target_xml with one that it has.",
             "the target does not have this network");
    else if (!network->active)
        note(c, interface, "NETWORK_INACTIVE", KVMIG_SEVERITY_BLOCKER, "Start the network on the target.",
             "the target has this network, but it is not active");
    else if (interface->portgroup && !kvmig__strlist_has(&network->portgroups, interface->portgroup))
        note(c, interface, "PORTGROUP_MISSING", KVMIG_SEVERITY_BLOCKER,
             "Add the port group to the network on the target.", "the target's network does not have this port group");
}

/* ---- bridges ---- */

static bool has_bridge(const struct kvmig__host *host, const char *name)
{
    for (size_t i = 0; i < host->networks.n; i++) {
        if (host->networks.v[i].active && kvmig__str_eq(host->networks.v[i].bridge, name))
            return true;
    }
    return kvmig__strlist_has(&host->bridges, name);
}

/* libvirt lists Linux bridges and not those of Open vSwitch. The source surely has the bridge: if its own list does not show
 * it, the target's proves nothing either. */
static void check_bridge(const struct kvmig__check *c, const struct kvmig__interface *interface)
{
    bool comparable =
        c->target->bridges_known && !kvmig__str_eq(interface->virtualport, "openvswitch") &&
        (!c->source->bridges_known || has_bridge(c->source, interface->source) || c->request->target_domain);

    if (!interface->source || has_bridge(c->target, interface->source))
        return;
    if (comparable)
        note(c, interface, "BRIDGE_MISSING", KVMIG_SEVERITY_BLOCKER,
             "Create the bridge on the target, or give target_xml with the target's bridge.",
             "the target does not have this bridge");
    else
        note_unverified(c, interface, "BRIDGE_UNVERIFIED", "all network devices of the target",
                        "whether the target has this bridge cannot be seen");
}

/* ---- other kinds ---- */

static void check_other(const struct kvmig__check *c, const struct kvmig__interface *interface)
{
    if (kvmig__str_eq(interface->type, "direct") || kvmig__str_eq(interface->type, "vhostuser") ||
        kvmig__str_eq(interface->type, "ethernet"))
        note_unverified(
            c, interface, "INTERFACE_UNVERIFIED", "what the target has under that name",
            "the target must have what it is attached to under the same name; libvirt cannot be asked for it");
    else if (kvmig__str_eq(interface->type, "user"))
        note(c, interface, "USER_NETWORK_RESETS", KVMIG_SEVERITY_WARN,
             "Attach the VM to a bridge or network for connections that survive.",
             "it is served by a process beside QEMU on the source; the guest's connections break when it moves");
}

/* From 11.4 on libvirt itself refuses another number of queues; older ones are a known problem. */
static void check_queues(const struct kvmig__check *c, const struct kvmig__interface *there)
{
    struct kvmig__detail d = { 0 };

    for (size_t i = 0; i < c->domain->interfaces.n; i++) {
        const struct kvmig__interface *here = &c->domain->interfaces.v[i];
        uint32_t mine = here->queues ? here->queues : 1, theirs = there->queues ? there->queues : 1;

        if (!here->mac || !there->mac || strcasecmp(here->mac, there->mac) != 0 || mine == theirs ||
            kvmig__libvirt_of(c, c->target) < KVMIG__VERSION(11, 4, 0))
            continue;
        kvmig__detail_str(&d, "mac", here->mac);
        kvmig__detail_uint(&d, "source_queues", mine);
        kvmig__detail_uint(&d, "target_queues", theirs);
        kvmig__note(c, "TARGET_XML_MISMATCH", KVMIG_SEVERITY_BLOCKER, object_interface(here), &d,
                    "Keep the queues of each interface as they are.",
                    "Interface %s has %u queues, and %u in the domain XML for the target.", here->mac, mine, theirs);
    }
}

void kvmig__check_network(const struct kvmig__check *c)
{
    const struct kvmig__domain *there = c->request->target_domain ? c->request->target_domain : c->domain;

    if (kvmig__target_xml_unread(c) || c->target->state != KVMIG__HOST_UP)
        return;
    for (size_t i = 0; i < there->interfaces.n; i++) {
        const struct kvmig__interface *interface = &there->interfaces.v[i];

        check_queues(c, interface);
        if (kvmig__str_eq(interface->type, "network") || is_network_in_use(c, interface))
            check_network(c, interface);
        else if (kvmig__str_eq(interface->type, "bridge"))
            check_bridge(c, interface);
        else
            check_other(c, interface);
    }
}
