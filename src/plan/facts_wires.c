/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A domain or a VMI as its network sees it: under which names its logical ports may go, which MAC addresses it shows, where it runs
 * and which migrations of it are under way. Pure; any thread. Wires borrow from the view what is not a list or a text of their own.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>

void kvmig__wires_note(struct kvmig_findings *out, const char *target, const char *code, int32_t severity, char *object,
                       struct kvmig__detail *detail, const char *hint, const char *message_fmt, ...)
{
    va_list args;
    char *message, *text = detail ? kvmig__detail_take(detail) : NULL;

    va_start(args, message_fmt);
    message = kvmig__vasprintf(message_fmt, args);
    va_end(args);
    kvmig__findings_add(out, code, severity, object, target, text, hint, "%s", message);
    free(message);
    free(text);
    free(object);
}

static void add_move(struct kvmig__wires *wires, const char *source, const char *target)
{
    *KVMIG__PUSH(&wires->moves) = (struct kvmig__move){ source, target };
}

/* ---- a domain of libvirt ---- */

static bool is_virtual_nic(const struct kvmig__interface *interface)
{
    return !kvmig__str_eq(interface->type, "hostdev") && !kvmig__str_eq(interface->type, "vdpa") &&
           !kvmig__str_eq(interface->type, "user");
}

void kvmig__wires_of_domain(struct kvmig__wires *wires, const struct kvmig__check *c)
{
    *wires = (struct kvmig__wires){ .facts = c->view->facts, .name = c->domain->name, .source = c->source->name };
    wires->object = kvmig__object_vm(c->domain);
    for (size_t i = 0; i < c->domain->interfaces.n; i++) {
        const struct kvmig__interface *interface = &c->domain->interfaces.v[i];

        if (!is_virtual_nic(interface))
            continue;
        wires->plugged = true;
        if (interface->mac)
            kvmig__strlist_add_new(&wires->macs, interface->mac);
        if (interface->interface_id)
            kvmig__strlist_add_new(&wires->ids, interface->interface_id);
    }
    wires->moves_known = true; /* libvirt says itself whether a job runs */
    if (c->domain->migrating_out || c->domain->migrating_in || c->domain->job_active)
        add_move(wires, c->source->name, NULL);
    kvmig__places_index(wires);
    kvmig__find_ports(wires);
}

/* ---- a VMI ---- */

/* SR-IOV devices are on no switch of the host. */
static bool is_on_switch(const struct kvmig__kube_interface *interface)
{
    return interface->in_spec && !kvmig__str_eq(interface->binding, "sriov");
}

/* Behind NAT, in passt or in slirp the guest's own MAC address is not seen outside of the pod. */
static bool shows_mac(const struct kvmig__kube_interface *interface)
{
    return !interface->binding || kvmig__str_eq(interface->binding, "bridge");
}

static void add_provider(struct kvmig__wires *wires, const struct kvmig__kube_check *c, const char *network)
{
    const struct kvmig__kube_nad *nad = kvmig__kube_nad_of(c, network);
    const char *ns = c->vmi->meta.ns ? c->vmi->meta.ns : "default", *slash = NULL;
    char *provider;

    for (const char *p = network; *p && !slash; p++)
        slash = *p == '/' ? p : NULL;
    if (nad)
        provider = kvmig__asprintf("%s.%s.ovn", nad->meta.name, nad->meta.ns ? nad->meta.ns : ns);
    else if (slash)
        provider = kvmig__asprintf("%s.%.*s.ovn", slash + 1, (int)(slash - network), network);
    else
        provider = kvmig__asprintf("%s.%s.ovn", network, ns);
    kvmig__strlist_add_new(&wires->providers, provider);
    free(provider);
}

static void add_interfaces(struct kvmig__wires *wires, const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->interfaces.n; i++) {
        const struct kvmig__kube_interface *interface = &c->vmi->interfaces.v[i];
        const char *mac = interface->mac ? interface->mac : interface->status_mac;

        if (!is_on_switch(interface))
            continue;
        wires->plugged = true;
        if (mac && *mac && shows_mac(interface))
            kvmig__strlist_add_new(&wires->macs, mac);
        if (interface->multus && *interface->multus)
            add_provider(wires, c, interface->multus);
    }
}

static void add_pods(struct kvmig__wires *wires, const struct kvmig__kube_check *c)
{
    struct kvmig__pod_cursor pods = kvmig__kube_pods_of(c->kube, c->vmi);
    const struct kvmig__kube_pod *pod;

    wires->pods_known = kvmig__kube_is_known(c->kube, KVMIG__KUBE_POD);
    while ((pod = kvmig__pod_cursor_next(&pods))) {
        const char *id = kvmig__pairs_get(&pod->meta.labels, "vmi.kubevirt.io/id");
        const char *maker = kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/created-by");

        if (kvmig__pod_is_launcher(pod) && kvmig__str_eq(pod->meta.ns, c->vmi->meta.ns) &&
            ((id && kvmig__str_eq(id, c->vmi->meta.name)) || (maker && kvmig__str_eq(maker, c->vmi->meta.uid))))
            kvmig__strlist_add_new(&wires->pods, pod->meta.name);
    }
}

static void add_vmim(struct kvmig__wires *wires, const struct kvmig__kube_check *c, const struct kvmig__kube_vmim *vmim)
{
    const struct kvmig__kube_migration_state *state = &vmim->state, *other = &c->vmi->migration;
    const struct kvmig__kube_pod *pod = kvmig__kube_target_pod(c->kube, vmim);
    const char *source = state->source_node, *target = state->target_node;

    if (vmim->meta.uid && kvmig__str_eq(other->uid, vmim->meta.uid)) {
        source = source ? source : other->source_node;
        target = target ? target : other->target_node;
    }
    if (!target && pod)
        target = pod->node;
    add_move(wires, source ? source : c->vmi->node, target);
}

static void add_moves(struct kvmig__wires *wires, const struct kvmig__kube_check *c)
{
    const struct kvmig__kube_migration_state *state = &c->vmi->migration;

    wires->moves_known = kvmig__kube_is_known(c->kube, KVMIG__KUBE_VMIM);
    KVMIG__KUBE_EACH(c->kube, VMIM, vmim)
    {
        if (kvmig__str_eq(vmim->vmi, c->vmi->meta.name) && kvmig__str_eq(vmim->meta.ns, c->vmi->meta.ns) &&
            !kvmig__vmim_is_final(vmim))
            add_vmim(wires, c, vmim);
    }
    if (!wires->moves_known && state->present && !state->completed && !state->failed)
        add_move(wires, state->source_node ? state->source_node : c->vmi->node, state->target_node);
}

void kvmig__wires_of_vmi(struct kvmig__wires *wires, const struct kvmig__kube_check *c)
{
    *wires = (struct kvmig__wires){ .facts = c->facts, .name = c->vmi->meta.name, .source = c->vmi->node };
    wires->ns = c->vmi->meta.ns ? c->vmi->meta.ns : "default";
    wires->object = kvmig__kube_object_vm(c);
    add_interfaces(wires, c);
    add_pods(wires, c);
    add_moves(wires, c);
    kvmig__places_index(wires);
    kvmig__find_ports(wires);
}

void kvmig__wires_clear(struct kvmig__wires *wires)
{
    free(wires->object);
    kvmig__strlist_clear(&wires->macs);
    kvmig__strlist_clear(&wires->ids);
    kvmig__strlist_clear(&wires->pods);
    kvmig__strlist_clear(&wires->providers);
    kvmig__strlist_clear(&wires->tried);
    kvmig__strlist_clear(&wires->places);
    free(wires->moves.v);
    free(wires->ports.v);
    *wires = (struct kvmig__wires){ 0 };
}
