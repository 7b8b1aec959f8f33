/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What belongs to whom on a node and in the pods' network: interfaces of Open vSwitch without a launcher, and addresses that two live pods
 * own. A VM is known by its identity, never by a display name (port/interface_class.c has the rules). Pure.
 */
#include "diagnose/diagnose.h"
#include "port/interface_internal.h"

#include <string.h>

/* ---- interfaces ---- */

static void workload_of(const struct kvmig__kube_pod *pod, struct kvmig_workload *out)
{
    *out = (struct kvmig_workload)KVMIG_WORKLOAD_INIT;
    out->pod_namespace = pod->meta.ns;
    out->name = pod->meta.name;
    out->vmi_id = kvmig__pairs_get(&pod->meta.labels, "vmi.kubevirt.io/id");
    out->domain = kvmig__pairs_get(&pod->meta.annotations, "kubevirt.io/domain");
    out->display_name = kvmig__pairs_get(&pod->meta.labels, "vm.kubevirt.io/name");
    out->node = pod->node;
    out->kind = kvmig__pod_is_launcher(pod) ? KVMIG_WORKLOAD_LAUNCHER : KVMIG_WORKLOAD_POD;
}

/* Somebody who lives here, or has no node yet, may be its user. */
static bool may_be_used(const struct kvmig__case *c, const struct kvmig_interface *interface, const char *node,
                        bool *out_comparable)
{
    KVMIG__KUBE_EACH(c->kube, POD, pod)
    {
        struct kvmig_workload workload;
        enum kvmig__iface_relation relation;

        workload_of(pod, &workload);
        relation = kvmig__iface_relate(interface, &workload);
        *out_comparable = true;
        if (relation != KVMIG__IFACE_STRANGER && relation != KVMIG__IFACE_DISPLAY_NAME && !kvmig__pod_is_final(pod) &&
            (!pod->node || kvmig__str_eq(pod->node, node)))
            return true;
    }
    return false;
}

static void look_at_interface(struct kvmig__case *c, const struct kvmig__fact_interface *row)
{
    struct kvmig_interface interface = KVMIG_INTERFACE_INIT;
    struct kvmig__detail detail = { 0 };
    bool comparable = false;

    interface.name = row->name;
    interface.iface_id = kvmig__fact_get(&row->external_ids, "iface-id");
    interface.vm_namespace = kvmig__fact_get(&row->external_ids, "pod_namespace");
    interface.vm_id = kvmig__fact_get(&row->external_ids, "pod_name");
    if (!row->node || !row->name || !interface.vm_id || !*interface.vm_id || !interface.vm_namespace ||
        may_be_used(c, &interface, row->node, &comparable))
        return;
    kvmig__detail_str(&detail, "node", row->node);
    kvmig__detail_str(&detail, "pod_name", interface.vm_id);
    kvmig__detail_str(&detail, "iface-id", interface.iface_id);
    kvmig__case_note(c, "ORPHAN_INTERFACE", KVMIG_SEVERITY_WARN, kvmig__asprintf("interface/%s", row->name), &detail,
                     "Remove it only if it is still an orphan in a second look.",
                     "No launcher on %s can be the user of this interface.", row->node);
}

/* ---- addresses ---- */

/* low < no label < high */
static int priority_of(const struct kvmig__kube_pod *pod, const char *label)
{
    const char *value = kvmig__pairs_get(&pod->meta.labels, label);

    return kvmig__str_eq(value, "low") ? 0 : kvmig__str_eq(value, "high") ? 2 : 1;
}

static bool is_live(const struct kvmig__kube_pod *pod)
{
    return pod->ip && *pod->ip && kvmig__pod_is_launcher(pod) && !kvmig__pod_is_final(pod);
}

struct owners {
    struct kvmig__strlist all;
    const char *best;
    int priority;
    bool tie;
};

static void find_owners(const struct kvmig__case *c, const char *ip, struct owners *out)
{
    KVMIG__KUBE_EACH(c->kube, POD, pod)
    {
        int priority;

        if (!is_live(pod) || !kvmig__str_eq(pod->ip, ip))
            continue;
        priority = priority_of(pod, c->facts->ip_priority_label);
        out->tie = out->best && priority == out->priority  ? true
                   : out->best && priority < out->priority ? out->tie
                                                           : false;
        if (!out->best || priority > out->priority) {
            out->best = pod->meta.name;
            out->priority = priority;
        }
        kvmig__strlist_add_new(&out->all, pod->meta.name);
    }
}

static void look_at_address(struct kvmig__case *c, const char *ip)
{
    struct owners owners = { .best = NULL };
    struct kvmig__detail detail = { 0 };

    find_owners(c, ip, &owners);
    if (owners.all.n > 1 && owners.tie) {
        kvmig__detail_list(&detail, "pods", &owners.all);
        kvmig__case_note(c, "AMBIGUOUS_IP_OWNER", KVMIG_SEVERITY_WARN, kvmig__asprintf("ip/%s", ip), &detail,
                         "Mark the launcher where the guest does not run with the priority low.",
                         "Two live launchers own the address, and nothing decides which one gets its traffic.");
    } else if (owners.all.n > 1) {
        kvmig__detail_str(&detail, "pod", owners.best);
        kvmig__case_note(c, "IP_OWNER", KVMIG_SEVERITY_INFO, kvmig__asprintf("ip/%s", ip), &detail, NULL,
                         "Two live launchers own the address; by its priority %s gets the traffic.", owners.best);
    }
    kvmig__strlist_clear(&owners.all);
}

void kvmig__diagnose_addresses(struct kvmig__case *c)
{
    struct kvmig__strlist seen = { 0 };

    if (!c->kube || !kvmig__kube_is_known(c->kube, KVMIG__KUBE_POD))
        return;
    for (size_t i = 0; i < c->facts->interfaces.n; i++)
        look_at_interface(c, &c->facts->interfaces.v[i]);
    if (!c->facts->ip_priority_label)
        return;
    KVMIG__KUBE_EACH(c->kube, POD, pod)
    {
        if (is_live(pod) && !kvmig__strlist_has(&seen, pod->ip)) {
            kvmig__strlist_add(&seen, pod->ip);
            look_at_address(c, pod->ip);
        }
    }
    kvmig__strlist_clear(&seen);
}
