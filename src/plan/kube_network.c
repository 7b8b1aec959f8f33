/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The VM's networks: whether the binding to the pod network can migrate at all, what happens to the guest's address and connections
 * then, what secondary networks need, and the network that carries the copy. Knows nothing of the CNI behind them. Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

#define ALLOW_BRIDGE "kubevirt.io/allow-pod-bridge-network-live-migration"

/* ---- the pod network ---- */

static const struct kvmig__kube_binding *find_binding(const struct kvmig__kube_check *c, const char *name)
{
    for (size_t i = 0; c->kubevirt && i < c->kubevirt->bindings.n; i++) {
        if (kvmig__str_eq(c->kubevirt->bindings.v[i].name, name))
            return &c->kubevirt->bindings.v[i];
    }
    return NULL;
}

static void note_bridge(const struct kvmig__kube_check *c, const char *interface)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "interface", interface);
    kvmig__detail_str(&d, "annotation", ALLOW_BRIDGE);
    kvmig__kube_note(c, "POD_BRIDGE_BINDING", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                     "Use masquerade; or, if the CNI keeps the VM's address, set the annotation on the VM's template.",
                     "Interface %s is bridged to the pod network, and the VM does not carry the annotation that "
                     "permits to migrate it so.",
                     interface);
}

static void note_binding(const struct kvmig__kube_check *c, const char *interface, const char *binding)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "interface", interface);
    kvmig__detail_str(&d, "binding", binding);
    kvmig__kube_note(c, "NETWORK_BINDING_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                     "Use masquerade, or a binding that is registered as migratable in the KubeVirt object.",
                     "Interface %s is attached to the pod network by %s, which does not migrate.", interface, binding);
}

static void note_address_changes(const struct kvmig__kube_check *c, const struct kvmig__kube_interface *interface)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "interface", interface->name);
    if (interface->ip)
        kvmig__detail_str(&d, "address", interface->ip);
    kvmig__kube_note(c, "CONNECTIONS_RESET", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                     "Clients have to connect anew; expect a gap of a few seconds for Services.",
                     "Interface %s is masqueraded: the pod's address changes, and established connections break.",
                     interface->name);
}

static void note_address_kept(const struct kvmig__kube_check *c, const struct kvmig__kube_interface *interface,
                              const char *binding)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "interface", interface->name);
    kvmig__detail_str(&d, "binding", binding);
    if (interface->ip)
        kvmig__detail_str(&d, "address", interface->ip);
    kvmig__kube_note(
        c, "POD_ADDRESS_MUST_STAY", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
        "Make sure that the CNI gives the target pod the same address.",
        "Interface %s is attached to the pod network by %s: the guest keeps its address, and the pod must, "
        "too, or its connections break.",
        interface->name, binding);
}

static void note_unverified(const struct kvmig__kube_check *c, const char *interface, const char *plugin)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "interface", interface);
    kvmig__detail_str(&d, "binding", plugin);
    kvmig__detail_str(&d, "missing", "KubeVirt");
    kvmig__kube_note(c, "NETWORK_BINDING_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                     "Give the KubeVirt object: it registers binding plugins, and says which of them migrate.",
                     "Interface %s uses the binding plugin %s; whether that migrates is not known.", interface, plugin);
}

/* The guest sees the link go down for a moment, and asks for an address anew. */
static void note_refreshed(const struct kvmig__kube_check *c, const char *interface, const char *plugin)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "interface", interface);
    kvmig__detail_str(&d, "binding", plugin);
    kvmig__kube_note(
        c, "LINK_REFRESHED", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
        "A guest without a DHCP client on it has to be told its new address.",
        "KubeVirt sets the link of interface %s down and up after the switch, so that the guest renews its "
        "address; connections break if it gets another one.",
        interface);
}

static void check_plugin(const struct kvmig__kube_check *c, const char *interface, const char *binding,
                         const char *plugin)
{
    const struct kvmig__kube_binding *registered = find_binding(c, plugin);

    if (!c->kubevirt)
        note_unverified(c, interface, plugin);
    else if (!registered || !registered->method)
        note_binding(c, interface, binding);
    else if (!strcmp(registered->method, "link-refresh"))
        note_refreshed(c, interface, plugin);
}

static void check_interface(const struct kvmig__kube_check *c, const struct kvmig__kube_interface *interface)
{
    const char *binding = interface->binding ? interface->binding : "bridge";
    const char *plugin = kvmig__after_prefix(binding, "plugin:");

    if (plugin)
        check_plugin(c, interface->name, binding, plugin);
    else if (!strcmp(binding, "masquerade"))
        note_address_changes(c, interface);
    else if (!strcmp(binding, "bridge") && !kvmig__pairs_get(&c->vmi->meta.annotations, ALLOW_BRIDGE))
        note_bridge(c, interface->name);
    else if (!strcmp(binding, "bridge") || !strcmp(binding, "passt"))
        note_address_kept(c, interface, binding);
    else
        note_binding(c, interface->name, binding);
}

/* ---- other networks ---- */

/* The namespace of a network's definition; owned. */
static char *namespace_of(const struct kvmig__kube_check *c, const char *network)
{
    const char *slash = strchr(network, '/');

    return slash ? kvmig__strndup(network, (size_t)(slash - network)) : kvmig__strdup(c->vmi->meta.ns);
}

const struct kvmig__kube_nad *kvmig__kube_nad_of(const struct kvmig__kube_check *c, const char *network)
{
    const char *slash = strchr(network, '/');
    char *ns = namespace_of(c, network);
    const struct kvmig__kube_nad *nad = KVMIG__KUBE_FIND(c->kube, NAD, ns, slash ? slash + 1 : network);

    free(ns);
    return nad;
}

/* A view of one namespace lists the definitions of that one only. */
static bool would_be_listed(const struct kvmig__kube_check *c, const char *network)
{
    char *ns = namespace_of(c, network);
    bool listed =
        kvmig__kube_is_known(c->kube, KVMIG__KUBE_NAD) && (!c->kube->scoped || kvmig__str_eq(ns, c->vmi->meta.ns));

    free(ns);
    return listed;
}

/* The target launcher asks for the same networks; without its definition one is refused for ever. */
static void check_definition(const struct kvmig__kube_check *c, const struct kvmig__kube_interface *interface)
{
    const char *slash = strchr(interface->multus, '/');
    struct kvmig__detail d = { 0 };
    char *ns;

    if (!would_be_listed(c, interface->multus) || kvmig__kube_nad_of(c, interface->multus))
        return;
    ns = namespace_of(c, interface->multus);
    kvmig__detail_str(&d, "network", interface->multus);
    kvmig__detail_str(&d, "interface", interface->name);
    kvmig__kube_note(
        c, "NAD_MISSING", KVMIG_SEVERITY_BLOCKER,
        kvmig__asprintf("networkattachmentdefinition/%s/%s", ns ? ns : "default",
                        slash ? slash + 1 : interface->multus),
        &d, "Make the NetworkAttachmentDefinition anew, or take the interface from the VM.",
        "Interface %s is attached to network %s, which has no NetworkAttachmentDefinition: no launcher can be made.",
        interface->name ? interface->name : "?", interface->multus);
    free(ns);
}

static void note_replugged(const struct kvmig__kube_check *c, const char *interface)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "interface", interface);
    kvmig__detail_str(&d, "binding", "sriov");
    kvmig__kube_note(c, "DEVICE_RESETS", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                     "Bond it with another interface, if the guest must not lose that network meanwhile.",
                     "Interface %s (SR-IOV) is unplugged before the migration and plugged in again on the target.",
                     interface);
}

/* ---- the network of the copy ---- */

/* Where virt-handler has no interface of that network, the copy silently takes the pod network. */
static void check_handlers_network(const struct kvmig__kube_check *c, size_t at, const char *node)
{
    const struct kvmig__kube_pod *handler = kvmig__kube_handler_on(c->index->base, at);
    const char *networks = handler ? kvmig__pairs_get(&handler->meta.annotations, KVMIG__NOTE_NETWORKS) : NULL;
    struct kvmig__detail d = { 0 };

    if (!handler || !c->config->network || !*c->config->network || (networks && strstr(networks, "migration0")))
        return;
    kvmig__detail_str(&d, "network", c->config->network);
    kvmig__kube_note(c, "MIGRATION_NETWORK_NOT_ATTACHED", KVMIG_SEVERITY_WARN, kvmig__asprintf("node/%s", node), &d,
                     "Wait until virt-operator has rolled virt-handler out with that network.",
                     "virt-handler on %s is not attached to the migration network %s: the copy would take the pod "
                     "network.",
                     node, c->config->network);
}

void kvmig__kube_check_target_network(const struct kvmig__kube_check *c)
{
    check_handlers_network(c, c->target_at, c->target_name);
}

/* Its definition stands in the namespace in which KubeVirt is installed. */
static void check_migration_network(const struct kvmig__kube_check *c)
{
    const char *network = c->config->network, *ns = c->kubevirt ? c->kubevirt->meta.ns : NULL;
    struct kvmig__detail d = { 0 };

    if (!network || !*network || !ns)
        return;
    check_handlers_network(c, kvmig__kube_base_find(c->index->base, c->vmi->node), c->vmi->node);
    if (!kvmig__kube_is_known(c->kube, KVMIG__KUBE_NAD) || (c->kube->scoped && !kvmig__str_eq(ns, c->vmi->meta.ns)) ||
        KVMIG__KUBE_FIND(c->kube, NAD, ns, network))
        return;
    kvmig__detail_str(&d, "network", network);
    kvmig__detail_str(&d, "namespace", ns);
    kvmig__kube_note(c, "MIGRATION_NETWORK_MISSING", KVMIG_SEVERITY_WARN,
                     kvmig__asprintf("networkattachmentdefinition/%s/%s", ns, network), &d,
                     "Make it in the namespace of KubeVirt, or take it from spec.configuration.migrations.network.",
                     "KubeVirt is told to migrate over network %s, which has no NetworkAttachmentDefinition in %s.",
                     network, ns);
}

void kvmig__kube_check_network(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->interfaces.n; i++) {
        const struct kvmig__kube_interface *interface = &c->vmi->interfaces.v[i];

        if (!interface->in_spec)
            continue;
        if (interface->pod_network)
            check_interface(c, interface);
        if (interface->multus)
            check_definition(c, interface);
        if (kvmig__str_eq(interface->binding, "sriov"))
            note_replugged(c, interface->name);
    }
    check_migration_network(c);
}
