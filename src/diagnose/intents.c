/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is asked for beside the look: what a cancel or a roll-back would lead to, and how a drain stands. Comes last: it rests on all that
 * was found. An answer never asks for more than the evidence allows: what is proven on both sides outranks the wish. Source of the rules of
 * cancelling: kubevirt.md 2.8 (KubeVirt's migration controller). Pure.
 */
#include "diagnose/diagnose.h"

#include <string.h>

#define DRAIN_TAINT "kubevirt.io/drain" /* KubeVirt's default of nodeDrainTaintKey */

static bool is_state(const struct kvmig__case *c, const char *code)
{
    return kvmig__str_eq(c->state, code);
}

/* ---- cancel ---- */

static char *migration_object(const struct kvmig__case *c)
{
    return kvmig__asprintf("migration/%s%s%s", c->vmim->meta.ns ? c->vmim->meta.ns : "", c->vmim->meta.ns ? "/" : "",
                           c->vmim->meta.name);
}

/* Made by KubeVirt for an eviction, and made anew as long as the VM is marked. */
static bool comes_back(const struct kvmig__case *c)
{
    return c->vmi && c->vmi->evacuation_node && *c->vmi->evacuation_node &&
           kvmig__str_eq(c->vmi->evacuation_node, c->vmi->node);
}

static void evacuation(struct kvmig__case *c)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "node", c->vmi->evacuation_node);
    kvmig__case_note(c, "EVACUATION_PENDING", KVMIG_SEVERITY_WARN, kvmig__strdup(c->vm_object), &detail,
                     "Use the subresource evacuate/cancel first (KubeVirt 1.7 and later), or end the drain.",
                     "The VM is marked for eviction from %s: a new migration will be made.", c->vmi->evacuation_node);
}

static void cancel_in_kubevirt(struct kvmig__case *c)
{
    const struct kvmig__kube_migration_state *state = &c->vmim->state;

    if (kvmig__vmim_is_final(c->vmim) || c->strength >= KVMIG__KNOWN_PROVEN)
        return;
    if (state->completed || state->domain_ready_ms) {
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "REFUSED",
                          "the guest has been switched to the target: a cancel comes too late");
        return;
    }
    if (comes_back(c)) {
        evacuation(c);
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "CANCEL_INEFFECTIVE",
                          "the cancel works, and KubeVirt makes a new migration");
    } else {
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, state->abort_requested ? "CANCELLED_BY_USER" : "CANCELLED",
                          "the migration ends, and the guest goes on running on the source");
    }
    kvmig__case_act(c, "DELETE_MIGRATION", migration_object(c), NULL,
                    "Delete the migration object; KubeVirt removes the target pod.");
}

static void cancel(struct kvmig__case *c)
{
    if (is_state(c, "POSTCOPY_ACTIVE") || is_state(c, "POSTCOPY_FAILED") || is_state(c, "POSTCOPY_RECOVERING") ||
        c->ask->postcopy_started > 0) {
        if (c->strength < KVMIG__KNOWN_PROVEN)
            kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "REFUSED", "in post-copy a cancel would destroy the guest");
        return;
    }
    if (c->vmim) {
        cancel_in_kubevirt(c);
    } else if (is_state(c, "RUNNING") || is_state(c, "CONVERGING")) {
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "CANCELLED",
                          "the job is aborted, and the guest goes on running on the source");
        kvmig__case_act(c, "ABORT_JOB", kvmig__strdup(c->vm_object), NULL, "Abort the job on the source.");
    }
}

/* ---- roll-back ---- */

/* The caller's migration is over, and what is there belongs to a later one. */
static bool belongs_to_another(const struct kvmig__case *c)
{
    if (!c->ask->migration || !c->kube)
        return false;
    KVMIG__KUBE_EACH(c->kube, VMIM, vmim)
    {
        if (vmim != c->vmim && !kvmig__vmim_is_final(vmim) && c->vmim && kvmig__vmim_is_final(c->vmim) &&
            kvmig__str_eq(vmim->vmi, c->vmim->vmi) && kvmig__str_eq(vmim->meta.ns, c->vmim->meta.ns))
            return true;
    }
    return false;
}

static void roll_back(struct kvmig__case *c)
{
    if (belongs_to_another(c))
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "NO_ACTION",
                          "another migration of the VM is under way, and what is there belongs to it");
    else if (is_state(c, "SUCCEEDED") || c->ask->postcopy_started > 0)
        kvmig__case_override(
            c, "REFUSED", "the guest's newest state is on the target: a way back is a new migration, not a roll-back");
    else if (is_state(c, "RUNNING") || is_state(c, "CONVERGING") || is_state(c, "WAITING"))
        cancel(c);
    else if (is_state(c, "FAILED") && c->facts->lsps_known && !kvmig__findings_worst(&c->findings))
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "ROLLED_BACK_TO_SOURCE",
                          "VM and network are on the source, and nothing is left over");
}

/* ---- drain ---- */

static const char *taint_key(const struct kvmig__case *c)
{
    KVMIG__KUBE_EACH(c->kube, KUBEVIRT, kubevirt)
    {
        if (kubevirt->config.drain_taint)
            return kubevirt->config.drain_taint;
    }
    return DRAIN_TAINT;
}

static bool has_taint(const struct kvmig__kube_node *node, const char *key)
{
    for (size_t i = 0; i < node->taints.n; i++)
        if (kvmig__str_eq(node->taints.v[i].key, key))
            return true;
    return false;
}

static bool is_moving(const struct kvmig__case *c, const struct kvmig__kube_vmi *vmi)
{
    const struct kvmig__kube_vmim *vmim = kvmig__kube_vmim_of(c->kube, vmi);

    return (vmim && !kvmig__vmim_is_final(vmim)) || (vmi->evacuation_node && *vmi->evacuation_node);
}

static void drain(struct kvmig__case *c)
{
    const struct kvmig__kube_node *node = KVMIG__KUBE_FIND(c->kube, NODE, NULL, c->ask->node);
    const char *key = taint_key(c);
    struct kvmig__strlist waiting = { 0 };
    size_t moving = 0;
    struct kvmig__detail detail = { 0 };

    KVMIG__KUBE_EACH(c->kube, VMI, vmi)
    {
        if (!kvmig__str_eq(vmi->node, c->ask->node) || !kvmig__str_eq(vmi->phase, "Running"))
            continue;
        if (is_moving(c, vmi))
            moving++;
        else
            kvmig__strlist_add(&waiting, vmi->meta.name);
    }
    if (waiting.n && node && !has_taint(node, key) && kvmig__kube_is_known(c->kube, KVMIG__KUBE_VMIM)) {
        kvmig__detail_str(&detail, "taint", key);
        kvmig__detail_list(&detail, "vms", &waiting);
        kvmig__case_note(
            c, "NO_MIGRATION_REQUESTED", KVMIG_SEVERITY_ERROR, kvmig__asprintf("node/%s", c->ask->node), &detail,
            "Evict the launchers (kubectl drain), or set the taint: a cordon alone moves nothing.",
            "VMs run on the node, no migration of them was asked for, and the node lacks the drain taint.");
    } else if (waiting.n || moving) {
        kvmig__case_override(c, "WAITING", "the node is marked, and VMs are still to be moved");
    }
    kvmig__strlist_clear(&waiting);
}

void kvmig__diagnose_intent(struct kvmig__case *c)
{
    switch (c->ask->intent) {
    case KVMIG_INTENT_CANCEL:
        cancel(c);
        break;
    case KVMIG_INTENT_ROLLBACK:
        roll_back(c);
        break;
    case KVMIG_INTENT_DRAIN:
        if (c->kube)
            drain(c);
        break;
    default:
        break;
    }
}
