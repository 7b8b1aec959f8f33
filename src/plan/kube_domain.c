/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What of the VM itself forbids a live migration: host devices, memory encryption, Hyper-V settings, how it is attached to the pod
 * network. KubeVirt reports only the first such reason, and freezes its answer while a migration runs; here every one is found.
 * Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

#define ALLOW_BRIDGE "kubevirt.io/allow-pod-bridge-network-live-migration"

/* ---- devices ---- */

static void note_device(const struct kvmig__kube_check *c, const char *device, const char *type, const char *why)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "type", type);
    kvmig__detail_str(&d, "device", device);
    kvmig__kube_note(c, "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER,
                     kvmig__asprintf("device/%s", device ? device : "?"), &d,
                     "Take the device from the VM, or stop it and start it elsewhere.", "%s cannot move: %s.",
                     device ? device : "A host device", why);
}

/* One mediated device can move, if its gate is on and the cluster permits the device. */
static void check_gpus(const struct kvmig__kube_check *c)
{
    const struct kvmig__strlist *gpus = &c->vmi->domain.gpus;
    const char *why = NULL;

    if (!gpus->n)
        return;
    if (gpus->n > 1)
        why = "only one GPU can be migrated";
    else if (!c->kubevirt)
        why = "that KubeVirt's gate VGPULiveMigration is on is not known";
    else if (!kvmig__kubevirt_gate(c, "VGPULiveMigration") || !kvmig__kubevirt_is_at_least(c, 1, 9))
        why = "KubeVirt's gate VGPULiveMigration is off";
    else if (!kvmig__strlist_has(&c->kubevirt->mediated_devices, gpus->v[0]))
        why = "it is not one of the permitted mediated devices";
    for (size_t i = 0; why && i < gpus->n; i++)
        note_device(c, gpus->v[i], "gpu", why);
}

static void check_reservations(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->domain.disks.n; i++) {
        const struct kvmig__kube_disk *disk = &c->vmi->domain.disks.v[i];

        if (disk->reservation && kvmig__kubevirt_is_at_least(c, 1, 9) == 0)
            kvmig__kube_note(c, "PERSISTENT_RESERVATION", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_volume(disk->name),
                             NULL, "Update KubeVirt to 1.9, or take the reservation from the disk.",
                             "Disk %s holds SCSI reservations, which this KubeVirt does not move.", disk->name);
    }
}

static void check_devices(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->domain.host_devices.n; i++)
        note_device(c, c->vmi->domain.host_devices.v[i], "hostDevice", "it is a device of the host");
    check_gpus(c);
    check_reservations(c);
}

/* ---- guest protection and Hyper-V ---- */

static void check_protection(const struct kvmig__kube_check *c)
{
    const char *kind = c->vmi->domain.launch_security;
    struct kvmig__detail d = { 0 };

    if (!kind)
        return;
    kvmig__detail_str(&d, "type", kind);
    kvmig__kube_note(c, "GUEST_PROTECTION_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                     "Stop it and start it elsewhere.",
                     "The guest's memory is protected from the host (%s) and cannot be moved.",
                     *kind ? kind : "launch security");
}

static bool requires_invtsc(const struct kvmig__kube_vmi *vmi)
{
    for (size_t i = 0; i < vmi->domain.cpu_features.n; i++) {
        const struct kvmig__kube_feature *feature = &vmi->domain.cpu_features.v[i];

        if (kvmig__str_eq(feature->name, "invtsc") &&
            (!feature->policy || !*feature->policy || !strcmp(feature->policy, "require")))
            return true;
    }
    return false;
}

static void note_unpinned(const struct kvmig__kube_check *c, const char *flag)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "flag", flag);
    kvmig__kube_note(c, "CPU_NON_MIGRATABLE_FLAG", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                     "Restart the VM on nodes whose TSC frequency is known, or without it.",
                     "The guest uses %s, but its TSC frequency is not pinned.", flag);
}

static void check_clocks(const struct kvmig__kube_check *c)
{
    if (c->vmi->domain.hyperv_passthrough)
        kvmig__kube_note(c, "HYPERV_PASSTHROUGH_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), NULL,
                         "Name the enlightenments that the VM needs, and restart it.",
                         "The VM takes all Hyper-V enlightenments of its host, whatever they are.");
    if (c->vmi->tsc_frequency_hz)
        return;
    if (kvmig__strlist_has(&c->vmi->domain.hyperv, "reenlightenment"))
        note_unpinned(c, "reenlightenment");
    if (requires_invtsc(c->vmi))
        note_unpinned(c, "invtsc");
}

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

static void note_address_changes(const struct kvmig__kube_check *c, const char *interface)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "interface", interface);
    kvmig__kube_note(c, "CONNECTIONS_RESET", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                     "Clients have to connect anew; expect a gap of a few seconds for Services.",
                     "Interface %s is masqueraded: the pod's address changes, and established connections break.",
                     interface);
}

static void note_address_kept(const struct kvmig__kube_check *c, const char *interface)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "interface", interface);
    kvmig__kube_note(c, "POD_ADDRESS_MUST_STAY", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                     "Make sure that the CNI gives the target pod the same address.",
                     "Interface %s is bridged to the pod network: the guest keeps its address, and the pod must, too.",
                     interface);
}

static void check_interface(const struct kvmig__kube_check *c, const struct kvmig__kube_interface *interface)
{
    const char *binding = interface->binding ? interface->binding : "bridge";
    const char *plugin = kvmig__after_prefix(binding, "plugin:");
    const struct kvmig__kube_binding *registered;

    if (!strcmp(binding, "masquerade")) {
        note_address_changes(c, interface->name);
    } else if (!strcmp(binding, "bridge")) {
        if (kvmig__pairs_get(&c->vmi->meta.annotations, ALLOW_BRIDGE))
            note_address_kept(c, interface->name);
        else
            note_bridge(c, interface->name);
    } else if (plugin) {
        registered = find_binding(c, plugin);
        if (c->kubevirt && (!registered || !registered->method))
            note_binding(c, interface->name, binding);
    } else if (strcmp(binding, "passt") != 0) {
        note_binding(c, interface->name, binding);
    }
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

void kvmig__kube_check_domain(const struct kvmig__kube_check *c)
{
    check_devices(c);
    check_protection(c);
    check_clocks(c);
    for (size_t i = 0; i < c->vmi->interfaces.n; i++) {
        const struct kvmig__kube_interface *interface = &c->vmi->interfaces.v[i];

        if (interface->in_spec && interface->pod_network)
            check_interface(c, interface);
        if (interface->in_spec && interface->multus)
            check_definition(c, interface);
    }
}
