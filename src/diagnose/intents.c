/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is asked for beside the look: what a cancel or a roll-back would lead to, and how a drain stands. Comes last: it rests on all that
 * was found. An answer never asks for more than the evidence allows: what is proven on both sides outranks the wish. Source of the rules of
 * cancelling: kubevirt.md 2.8 (KubeVirt's migration controller). Pure.
 */
#include "diagnose/diagnose.h"
#include <kvmig/session.h>

#include <stdlib.h>
#include <string.h>

#define DRAIN_TAINT "kubevirt.io/drain" /* KubeVirt's default of nodeDrainTaintKey */

static bool is_state(const struct kvmig__case *c, const char *code)
{
    return kvmig__str_eq(c->state, code);
}

static bool is_postcopy(const struct kvmig__case *c)
{
    return is_state(c, "POSTCOPY_ACTIVE") || is_state(c, "POSTCOPY_FAILED") || is_state(c, "POSTCOPY_RECOVERING");
}

/* ---- volumes that go along ---- */

/* Taking a volume migration back is one change of all volumes of the VM, and only until the target's domain was ready. */
static bool revert_volumes(struct kvmig__case *c)
{
    const bool ready = c->follow.domain_ready_ms || (c->vmim && c->vmim->state.domain_ready_ms);

    if (!c->vmi || ready)
        return false;
    for (size_t i = 0; i < c->vmi->migrated_volumes.n; i++) {
        const struct kvmig__kube_migrated_volume *volume = &c->vmi->migrated_volumes.v[i];
        struct kvmig__detail detail = { 0 };

        if (!volume->source.claim)
            continue;
        kvmig__detail_str(&detail, "volume", volume->name);
        kvmig__detail_str(&detail, "claim", volume->source.claim);
        kvmig__case_act(c, "REVERT_VOLUMES", kvmig__asprintf("volume/%s", volume->name), &detail,
                        "Point volume %s of the VM back to claim %s, together with all others.", volume->name,
                        volume->source.claim);
    }
    return c->vmi->migrated_volumes.n > 0;
}

/* ---- cancel ---- */

static char *migration_object(const struct kvmig__case *c)
{
    return kvmig__asprintf("migration/%s%s%s", c->vmim->meta.ns ? c->vmim->meta.ns : "", c->vmim->meta.ns ? "/" : "",
                           c->vmim->meta.name);
}

static void evacuation(struct kvmig__case *c)
{
    struct kvmig__detail detail = { 0 };

    if (!c->vmi->evacuation_node || !*c->vmi->evacuation_node)
        return;
    kvmig__detail_str(&detail, "node", c->vmi->evacuation_node);
    kvmig__case_note(c, "EVACUATION_PENDING", KVMIG_SEVERITY_WARN, kvmig__strdup(c->vm_object), &detail,
                     "Use the subresource evacuate/cancel first (KubeVirt 1.7 and later), or end the drain.",
                     "The VM is marked for eviction from %s: a new migration will be made.", c->vmi->evacuation_node);
}

static void delete_migration(struct kvmig__case *c)
{
    if (!c->vmim->meta.deleted_ms)
        kvmig__case_act(c, "DELETE_MIGRATION", migration_object(c), NULL,
                        "Delete the migration object; KubeVirt removes the target pod.");
}

/* Before the copy has begun the guest is not in that pod, and its end ends the migration at once. */
static void delete_target(struct kvmig__case *c)
{
    const struct kvmig__kube_pod *pod = kvmig__kube_target_pod(c->kube, c->vmim);

    if (pod && !kvmig__pod_is_final(pod) && !c->follow.start_ms && !c->follow.domain_ready_ms &&
        !kvmig__str_eq(pod->node, c->vmi->node))
        kvmig__case_act(c, "DELETE_TARGET_POD",
                        kvmig__asprintf("pod/%s/%s", pod->meta.ns ? pod->meta.ns : "", pod->meta.name), NULL,
                        "Delete the target launcher %s: the cancel takes effect at once, and the guest stays where it "
                        "is.",
                        pod->meta.name);
}

static void cancel_followed(struct kvmig__case *c)
{
    const char *why;

    switch (kvmig__follow_cancel_effect(&c->follow, &why)) {
    case KVMIG_CANCEL_TOO_LATE:
    case KVMIG_CANCEL_REFUSED:
        kvmig__case_override(c, "REFUSED", why);
        return;
    case KVMIG_CANCEL_WILL_RETURN:
        evacuation(c);
        kvmig__case_override(c, "CANCEL_INEFFECTIVE", "the cancel works, and KubeVirt makes a new migration");
        if (!revert_volumes(c))
            delete_migration(c);
        return;
    case KVMIG_CANCEL_DEFERRED:
        delete_target(c);
        break;
    default:
        if (c->follow.deleting) /* asked for already, and not carried out */
            delete_target(c);
        break;
    }
    kvmig__case_override(c, c->follow.abort_requested ? "CANCELLED_BY_USER" : "CANCELLED",
                         "the migration ends, and the guest goes on running on the source");
    delete_migration(c);
}

/* The VM is not among what was given. */
static void cancel_alone(struct kvmig__case *c)
{
    const struct kvmig__kube_migration_state *state = &c->vmim->state;

    if (state->completed || state->domain_ready_ms) {
        kvmig__case_override(c, "REFUSED", "the guest has been switched to the target: a cancel comes too late");
        return;
    }
    kvmig__case_override(c, state->abort_requested ? "CANCELLED_BY_USER" : "CANCELLED",
                         "the migration ends, and the guest goes on running on the source");
    delete_migration(c);
}

/* The caller's migration is over, and what is there belongs to another one. */
static bool belongs_to_another(const struct kvmig__case *c)
{
    if (!c->ask->migration || !c->kube)
        return false;
    KVMIG__KUBE_EACH(c->kube, VMIM, vmim)
    {
        const char *name = c->vmim ? c->vmim->vmi : c->vmi ? c->vmi->meta.name : NULL;
        const char *ns = c->vmim ? c->vmim->meta.ns : c->vmi ? c->vmi->meta.ns : NULL;

        if (vmim != c->vmim && !kvmig__vmim_is_final(vmim) && (!c->vmim || kvmig__vmim_is_final(c->vmim)) &&
            !kvmig__str_eq(vmim->meta.name, c->ask->migration) && kvmig__str_eq(vmim->vmi, name) &&
            kvmig__str_eq(vmim->meta.ns, ns))
            return true;
    }
    return false;
}

static bool is_under_way(const struct kvmig__case *c)
{
    return is_state(c, "RUNNING") || is_state(c, "CONVERGING") || is_state(c, "WAITING");
}

static void cancel(struct kvmig__case *c)
{
    if (belongs_to_another(c)) {
        kvmig__case_override(c, "NO_ACTION", "that migration is over, and another one of the VM is under way");
        return;
    }
    if (is_postcopy(c) || (c->ask->postcopy_started > 0 && !kvmig__str_starts(c->state ? c->state : "", "SUCCEEDED"))) {
        if (is_postcopy(c) || c->strength < KVMIG__KNOWN_PROVEN)
            kvmig__case_override(c, "REFUSED", "in post-copy a cancel would destroy the guest");
        return;
    }
    if (c->strength >= KVMIG__KNOWN_PROVEN)
        return;
    if (c->vmim && !kvmig__vmim_is_final(c->vmim)) {
        if (c->vmi)
            cancel_followed(c);
        else
            cancel_alone(c);
    } else if (!c->vmim && (is_under_way(c) || kvmig__case_job(c) > 0) && !c->vmi) {
        kvmig__case_override(c, "CANCELLED", "the job is aborted, and the guest goes on running on the source");
        kvmig__case_act(c, "ABORT_JOB", kvmig__strdup(c->vm_object), NULL, "Abort the job on the source.");
    }
}

/* ---- roll-back ---- */

/* What a roll-back would still have to undo. */
static bool is_left(const struct kvmig__case *c)
{
    static const char *const codes[] = {
        "LEFTOVER_TARGET_POD",   "STALE_LSP_OPTIONS",        "LSP_WRONG_CHASSIS",
        "STALE_PORT_GROUP",      "SOURCE_PORT_DISABLED",     "ORPHAN_INTERFACE",
        "STALE_MIGRATION_STATE", "MANUAL_RECOVERY_REQUIRED", "VM_IO_ERROR",
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(codes); i++)
        if (kvmig__findings_has(&c->findings, codes[i]))
            return true;
    return c->actions.n > 0;
}

/* Proven to run where it came from, with nothing of the migration's pods. */
static bool is_back(const struct kvmig__case *c)
{
    const struct kvmig__kube_vmim key = { .meta = { .ns = c->follow.ns, .uid = c->follow.vmim_uid } };
    const struct kvmig__kube_pod *pod = c->follow.vmim_uid ? kvmig__kube_target_pod(c->kube, &key) : NULL;

    return c->vmi && c->follow.end == KVMIG__END_STAYED && (!pod || kvmig__pod_is_final(pod)) &&
           !kvmig__kube_condition_is(&c->vmi->conditions, "Paused", "True");
}

/* On libvirt both hosts were asked, and no job runs. */
static bool is_back_on_host(const struct kvmig__case *c)
{
    return !c->kube && is_state(c, "FAILED") && kvmig__case_job(c) < 0 && kvmig__case_is_absent(c, "target");
}

static void roll_back(struct kvmig__case *c)
{
    const bool ended_there = is_state(c, "SUCCEEDED") || is_postcopy(c) || c->ask->postcopy_started > 0;

    if (belongs_to_another(c)) {
        kvmig__case_override(c, "NO_ACTION",
                             "another migration of the VM is under way, and what is there belongs to it");
    } else if (ended_there && !is_state(c, "VM_LOST") && !is_state(c, "SPLIT_BRAIN") && !is_state(c, "UNDECIDED") &&
               !is_state(c, "SUCCEEDED_UNREPORTED")) {
        kvmig__case_override(
            c, "REFUSED", "the guest's newest state is on the target: a way back is a new migration, not a roll-back");
    } else if (is_under_way(c) || (c->vmim && !kvmig__vmim_is_final(c->vmim))) {
        cancel(c);
    } else if (is_back(c) || is_back_on_host(c) || (c->follow.end == KVMIG__END_STAYED && is_left(c))) {
        revert_volumes(c);
        if (!is_left(c) && c->facts->lsps_known)
            kvmig__case_override(c, "ROLLED_BACK_TO_SOURCE",
                                 "VM and network are on the source, and nothing is left over");
    }
}

/* ---- drain ---- */

static const char *taint_key(const struct kvmig__case *c)
{
    const struct kvmig__kube_kubevirt *kubevirt = kvmig__kube_kubevirt(c->kube);

    return kubevirt && kubevirt->config.drain_taint && *kubevirt->config.drain_taint ? kubevirt->config.drain_taint
                                                                                     : DRAIN_TAINT;
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

    return (vmim && !kvmig__vmim_is_final(vmim)) ||
           (vmi->evacuation_node && kvmig__str_eq(vmi->evacuation_node, vmi->node));
}

struct drained {
    struct kvmig__strlist waiting; /* VMs that nobody asked to move */
    size_t moving, ended;
};

static void look_at_vms(const struct kvmig__case *c, struct drained *out)
{
    KVMIG__KUBE_EACH(c->kube, VMI, vmi)
    {
        if (!kvmig__str_eq(vmi->node, c->ask->node))
            continue;
        if (kvmig__str_eq(vmi->phase, "Succeeded") || kvmig__str_eq(vmi->phase, "Failed"))
            out->ended++;
        else if (!kvmig__str_eq(vmi->phase, "Running"))
            continue;
        else if (is_moving(c, vmi))
            out->moving++;
        else
            kvmig__strlist_add(&out->waiting, vmi->meta.name);
    }
}

static void drain(struct kvmig__case *c)
{
    const struct kvmig__kube_node *node = KVMIG__KUBE_FIND(c->kube, NODE, NULL, c->ask->node);
    const char *key = taint_key(c);
    struct drained drained = { .moving = 0 };
    struct kvmig__detail detail = { 0 };

    look_at_vms(c, &drained);
    if (drained.waiting.n && node && !has_taint(node, key) && kvmig__kube_is_known(c->kube, KVMIG__KUBE_VMIM)) {
        kvmig__detail_str(&detail, "taint", key);
        kvmig__detail_list(&detail, "vms", &drained.waiting);
        kvmig__case_note(
            c, "NO_MIGRATION_REQUESTED", KVMIG_SEVERITY_ERROR, kvmig__asprintf("node/%s", c->ask->node), &detail,
            "Evict the launchers (kubectl drain), or set the taint: a cordon alone moves nothing.",
            "VMs run on the node, no migration of them was asked for, and the node lacks the drain taint.");
    } else if (drained.waiting.n || drained.moving) {
        /* How far the one that moves is says more. */
        if (!drained.moving || c->strength < KVMIG__KNOWN_RUNNING || !is_under_way(c))
            kvmig__case_override(c, "WAITING", "VMs are still to be moved off the node");
    } else if (drained.ended && c->strength < KVMIG__KNOWN_ENDED) {
        kvmig__case_override(c, "NOTHING_TO_MIGRATE", "all VMs of the node have ended; nothing is to be waited for");
    }
    kvmig__strlist_clear(&drained.waiting);
}

/* ---- what the evidence forbids ---- */

/* By the state in which it would do harm (DESIGN.md, I1, I2): advice of one rule never outruns what another one has proven. */
static void forbid(struct kvmig__case *c)
{
    static const struct {
        const char *state, *actions;
    } rules[] = {
        { "SUCCEEDED", "RESUME_SOURCE DESTROY_TARGET DELETE_TARGET_POD REVERT_VOLUMES ABORT_JOB RETRY" },
        { "SUCCEEDED_UNREPORTED", "RESUME_SOURCE DESTROY_TARGET DELETE_TARGET_POD REVERT_VOLUMES ABORT_JOB RETRY" },
        { "POSTCOPY_ACTIVE", "RESUME_SOURCE DESTROY_SOURCE DESTROY_TARGET DELETE_TARGET_POD DELETE_STALE_POD "
                             "DELETE_MIGRATION ABORT_JOB REVERT_VOLUMES RETRY" },
        { "POSTCOPY_RECOVERING", "RESUME_SOURCE DESTROY_SOURCE DESTROY_TARGET DELETE_TARGET_POD DELETE_STALE_POD "
                                 "DELETE_MIGRATION ABORT_JOB REVERT_VOLUMES RESUME_TARGET" },
        { "POSTCOPY_FAILED", "RESUME_SOURCE DESTROY_SOURCE DESTROY_TARGET DELETE_TARGET_POD DELETE_STALE_POD "
                             "DELETE_MIGRATION ABORT_JOB REVERT_VOLUMES RESUME_TARGET" },
        { "UNDECIDED", "RESUME_SOURCE RESUME_TARGET DESTROY_SOURCE DESTROY_TARGET DELETE_TARGET_POD DELETE_STALE_POD "
                       "DELETE_MIGRATION ABORT_JOB SET_REQUESTED_CHASSIS CLEAR_ACTIVATION_STRATEGY ENABLE_PORT "
                       "DISABLE_PORT REVERT_VOLUMES KEEP_TARGET_VOLUMES RETRY FORCE_UNSAFE" },
        { "VM_LOST", "RESUME_SOURCE RESUME_TARGET DESTROY_SOURCE DESTROY_TARGET RETRY" },
        { "SPLIT_BRAIN", "RESUME_SOURCE RESUME_TARGET DESTROY_SOURCE DESTROY_TARGET DELETE_TARGET_POD "
                         "DELETE_STALE_POD DELETE_MIGRATION ABORT_JOB SET_REQUESTED_CHASSIS CLEAR_ACTIVATION_STRATEGY "
                         "ENABLE_PORT DISABLE_PORT REVERT_VOLUMES KEEP_TARGET_VOLUMES RETRY" },
        { "REFUSED", "RESUME_SOURCE DESTROY_TARGET DELETE_TARGET_POD DELETE_MIGRATION ABORT_JOB REVERT_VOLUMES" },
        { "NO_ACTION", "RESUME_SOURCE RESUME_TARGET DESTROY_SOURCE DESTROY_TARGET DELETE_TARGET_POD DELETE_STALE_POD "
                       "DELETE_MIGRATION ABORT_JOB REVERT_VOLUMES KEEP_TARGET_VOLUMES SET_REQUESTED_CHASSIS "
                       "CLEAR_ACTIVATION_STRATEGY ENABLE_PORT DISABLE_PORT" },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(rules); i++) {
        for (const char *p = rules[i].actions; is_state(c, rules[i].state) && *p;) {
            char *action = kvmig__strndup(p, strcspn(p, " "));

            kvmig__case_drop(&c->actions, action, NULL);
            p += strlen(action) + strspn(p + strlen(action), " ");
            free(action);
        }
    }
}

void kvmig__diagnose_intent(struct kvmig__case *c)
{
    forbid(c); /* by what is; then by what the answer has become */
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
    forbid(c);
}
