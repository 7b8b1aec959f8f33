/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How a migration in KubeVirt ended, as far as it is proven, and what it or earlier ones left behind: pods, states, marks for an
 * eviction, a volume migration that needs a decision. Pure; the caller's thread.
 */
#include "session/explain_kube.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_TARGET_ERROR_S 60
#define LEFT_SOURCE_WARN_S 120
#define PROOF_WARN_S 30

static char *migration_name(const struct kvmig__explain *x)
{
    return kvmig__explain_name("migration", x->follow->ns, x->follow->vmim);
}

/* ---- outcome ---- */

static int32_t severity_of(const char *verdict)
{
    static const char *const good[] = { "SUCCEEDED", "CANCELLED", "CANCELLED_BY_USER", "NOTHING_TO_MIGRATE" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(good); i++) {
        if (!strcmp(verdict, good[i]))
            return KVMIG_SEVERITY_INFO;
    }
    return KVMIG_SEVERITY_ERROR;
}

static const char *end_text(int32_t end)
{
    switch (end) {
    case KVMIG__END_MOVED:
        return "ended: the guest runs on the target";
    case KVMIG__END_STAYED:
        return "ended: the guest runs on the source";
    default:
        return "ended: the guest runs nowhere";
    }
}

/* Over as the VMIM says, while the VMI does not prove where the guest is. */
static void add_unproven(const struct kvmig__explain *x)
{
    const struct kvmig__follow *follow = x->follow;
    const bool moved_on = follow->stage == KVMIG__STAGE_SUCCEEDED && follow->completed && !follow->failed;
    const int64_t since = follow->stage_since_ms;
    struct kvmig__wait *wait;

    if (moved_on) {
        wait = kvmig__explain_link(x, "SUCCEEDED", KVMIG_SEVERITY_INFO, 0, migration_name(x),
                                   "ended: the guest has moved on since");
        wait->evidence = kvmig__asprintf("migrationState is completed; the VM runs on %s now",
                                         x->vmi && x->vmi->node ? x->vmi->node : "no node");
    } else {
        wait = kvmig__explain_link(x, "UNDECIDED", kvmig__explain_grade(x, since, PROOF_WARN_S, 0), 0,
                                   migration_name(x), "%s, but it is not proven yet on which node the guest runs",
                                   follow->gone ? "the migration is gone" : kvmig__stage_name(follow->stage));
        wait->hint = kvmig__strdup("Compare status.nodeName and status.migrationState of the VMI, and the target pod.");
    }
    wait->since_ms = since;
}

/* "container NAME: REASON: MESSAGE" as the follower keeps it; the reference stands in quotes within the message, if at all. */
static void add_image(const char *text, struct kvmig__detail *out)
{
    const char *name = strncmp(text, "container ", 10) == 0 ? text + 10 : text, *open = strchr(text, '"');
    char *container = kvmig__strndup(name, strcspn(name, ":"));
    char *reference = open ? kvmig__strndup(open + 1, strcspn(open + 1, "\"")) : NULL;

    if (name != text)
        kvmig__detail_str(out, "container", container);
    if (reference)
        kvmig__detail_str(out, "reference", reference);
    free(container);
    free(reference);
}

/* The migration of the VM that is under way beside the one that is over. */
static const char *other_uid(const struct kvmig__explain *x)
{
    KVMIG__KUBE_EACH(x->kube, VMIM, vmim)
    {
        if (kvmig__str_eq(vmim->meta.ns, x->follow->ns) && kvmig__str_eq(vmim->vmi, x->follow->vmi) &&
            !kvmig__str_eq(vmim->meta.uid, x->follow->vmim_uid) && !kvmig__vmim_is_final(vmim))
            return vmim->meta.uid;
    }
    return x->vmi && x->vmi->migration.present && !x->vmi->migration.completed && !x->vmi->migration.failed
               ? x->vmi->migration.uid
               : NULL;
}

static void add_detail(const struct kvmig__explain *x, struct kvmig__wait *wait)
{
    const struct kvmig__follow *follow = x->follow;

    if (!strcmp(follow->verdict, "TARGET_UNSCHEDULABLE"))
        kvmig__scheduler_detail(follow->unschedulable, &wait->detail);
    else if (!strcmp(follow->verdict, "TARGET_IMAGE_PULL") && follow->image_pull)
        add_image(follow->image_pull, &wait->detail);
    else if (!strcmp(follow->verdict, "QUOTA_EXCEEDED"))
        kvmig__quota_detail(follow->quota, &wait->detail);
    else if (!strcmp(follow->verdict, "MIGRATION_IN_PROGRESS") && other_uid(x))
        kvmig__detail_str(&wait->detail, "uid", other_uid(x));
}

/* A cause that lies with the target's pod is told of that pod. */
static char *end_object(const struct kvmig__explain *x)
{
    static const char *const codes[] = { "TARGET_UNSCHEDULABLE", "TARGET_IMAGE_PULL" };
    const char *pod = x->follow->target_pod                ? x->follow->target_pod
                      : x->follow->target_pod_names.n == 1 ? x->follow->target_pod_names.v[0]
                                                           : NULL;

    for (size_t i = 0; pod && i < KVMIG__N_ELEMENTS(codes); i++)
        if (!strcmp(x->follow->verdict, codes[i]))
            return kvmig__explain_name("pod", x->follow->ns, pod);
    return migration_name(x);
}

void kvmig__explain_end(const struct kvmig__explain *x)
{
    const struct kvmig__follow *follow = x->follow;
    struct kvmig__wait *wait;

    if (follow->end == KVMIG__END_OPEN || !follow->verdict) {
        add_unproven(x);
        return;
    }
    wait = kvmig__explain_link(x, follow->verdict, severity_of(follow->verdict), 0, end_object(x), "%s",
                               end_text(follow->end));
    add_detail(x, wait);
    wait->evidence = kvmig__strdup(follow->evidence);
    wait->since_ms = follow->end_ms ? follow->end_ms : follow->stage_since_ms;
    if (!x->to->verdict)
        x->to->verdict = kvmig__strdup(follow->verdict);
}

/* ---- pods that were left ---- */

static bool compute_ended(const struct kvmig__kube_pod *pod)
{
    for (size_t i = 0; i < pod->containers.n; i++) {
        if (kvmig__str_eq(pod->containers.v[i].name, "compute"))
            return kvmig__str_eq(pod->containers.v[i].state, "terminated");
    }
    return false;
}

static void left_source(const struct kvmig__explain *x)
{
    const struct kvmig__follow *follow = x->follow;
    const struct kvmig__kube_pod *pod =
        follow->source_pod ? KVMIG__KUBE_FIND(x->kube, POD, follow->ns, follow->source_pod) : NULL;
    const bool ended = pod && (kvmig__pod_is_final(pod) || compute_ended(pod));
    struct kvmig__wait *wait;

    if (!pod || follow->end != KVMIG__END_MOVED)
        return;
    wait = kvmig__explain_link(x, "LEFTOVER_SOURCE_POD",
                               ended ? KVMIG_SEVERITY_INFO
                                     : kvmig__explain_grade(x, follow->end_ms, LEFT_SOURCE_WARN_S, 0),
                               1, kvmig__explain_name("pod", pod->meta.ns, pod->meta.name),
                               ended ? "the source's launcher has ended and is still listed; that is harmless"
                                     : "the source's launcher must end");
    wait->evidence = kvmig__asprintf("phase %s", pod->phase ? pod->phase : "unset");
}

/* Of a moment that nobody dated it is not known that it is within normal times. */
static int32_t left_severity(const struct kvmig__explain *x, int64_t since_ms)
{
    return since_ms && x->now_ms ? kvmig__explain_grade(x, since_ms, 0, LEFT_TARGET_ERROR_S) : KVMIG_SEVERITY_ERROR;
}

/* A launcher of a migration that is over lives on, although the guest is on the source. */
static void left_target(const struct kvmig__explain *x)
{
    const struct kvmig__follow *follow = x->follow;
    const int64_t since = follow->failed_ms ? follow->failed_ms : follow->end_ms;
    struct kvmig__wait *wait;

    if (!x->target || kvmig__pod_is_final(x->target) || x->target->meta.deleted_ms || follow->end != KVMIG__END_STAYED)
        return;
    wait = kvmig__explain_link(x, "LEFTOVER_TARGET_POD", left_severity(x, since), 1,
                               kvmig__explain_name("pod", x->target->meta.ns, x->target->meta.name),
                               "the target launcher must end: no migration owns it any more");
    wait->evidence =
        kvmig__asprintf("phase %s, and the migration is over", x->target->phase ? x->target->phase : "unset");
    kvmig__detail_str(&wait->detail, "node", x->target->node);
    wait->since_ms = since;
    wait->hint = kvmig__strdup("Delete that pod; the guest runs on the source.");
}

/* Nothing of it is in flight, and the guest is proven to be elsewhere. */
static bool is_left(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod)
{
    const struct kvmig__kube_migration_state *state = &x->vmi->migration;
    const char *job = kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/migrationJobUID");
    const char *maker = kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/created-by");
    const char *id = kvmig__pairs_get(&pod->meta.labels, "vmi.kubevirt.io/id");
    const bool ours = maker ? kvmig__str_eq(maker, x->vmi->meta.uid) : kvmig__str_eq(id, x->vmi->meta.name);

    if (!job || !ours || !kvmig__pod_is_launcher(pod) || !kvmig__str_eq(pod->meta.ns, x->vmi->meta.ns) ||
        kvmig__pod_is_final(pod) || pod->meta.deleted_ms || kvmig__str_eq(pod->node, x->vmi->node) ||
        kvmig__kube_find_uid(x->kube, KVMIG__KUBE_VMIM, job))
        return false;
    if (kvmig__str_eq(state->source_pod, pod->meta.name)) /* it has brought the guest here, and ends */
        return false;
    return !state->present || !kvmig__str_eq(state->uid, job) || state->failed;
}

static void left_targets(const struct kvmig__explain *x)
{
    if (!x->pods_known || !kvmig__kube_is_known(x->kube, KVMIG__KUBE_VMIM) || !x->vmi->node ||
        !kvmig__str_eq(x->vmi->phase, "Running"))
        return;
    KVMIG__KUBE_EACH(x->kube, POD, pod)
    {
        const int64_t since =
            pod->meta.created_ms > x->follow->stage_since_ms ? pod->meta.created_ms : x->follow->stage_since_ms;
        struct kvmig__wait *wait;

        if (!is_left(x, pod))
            continue;
        wait = kvmig__explain_link(x, "LEFTOVER_TARGET_POD", left_severity(x, since), 1,
                                   kvmig__explain_name("pod", pod->meta.ns, pod->meta.name),
                                   "a target launcher is left of a migration that is gone");
        wait->evidence =
            kvmig__asprintf("no migration has the UID %s; the VM runs on %s",
                            kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/migrationJobUID"), x->vmi->node);
        kvmig__detail_str(&wait->detail, "node", pod->node);
        wait->since_ms = since;
        wait->hint = kvmig__strdup("Delete that pod; the guest is not in it.");
    }
}

/* ---- states and marks of the VM ---- */

static bool has_live_target(const struct kvmig__explain *x, const char *uid)
{
    const struct kvmig__kube_vmim key = { .meta = { .ns = x->vmi->meta.ns, .uid = (char *)uid } };
    const struct kvmig__kube_pod *pod = kvmig__kube_target_pod(x->kube, &key);

    return pod && !kvmig__pod_is_final(pod);
}

static void stale_state(const struct kvmig__explain *x)
{
    const struct kvmig__kube_migration_state *state = &x->vmi->migration;
    struct kvmig__wait *wait;

    if (!state->present || !state->uid || state->completed || state->failed || !x->pods_known ||
        !kvmig__kube_is_known(x->kube, KVMIG__KUBE_VMIM) ||
        kvmig__kube_find_uid(x->kube, KVMIG__KUBE_VMIM, state->uid) || has_live_target(x, state->uid))
        return;
    wait = kvmig__explain_link(x, "STALE_MIGRATION_STATE", KVMIG_SEVERITY_ERROR, 1,
                               kvmig__explain_name("vm", x->vmi->meta.ns, x->vmi->meta.name),
                               "migrationState of the VM is neither completed nor failed, but nothing is in flight");
    wait->evidence = kvmig__asprintf("migrationUid %s; no migration has that UID, and no target pod lives", state->uid);
    kvmig__detail_str(&wait->detail, "uid", state->uid);
    wait->since_ms = state->start_ms;
    wait->hint =
        kvmig__strdup("It may block later migrations. Prove on which node the guest runs before it is mended.");
}

static void evacuation_pending(const struct kvmig__explain *x)
{
    struct kvmig__wait *wait;
    const char *node = x->vmi->evacuation_node;

    if (!node || !*node || !kvmig__str_eq(node, x->vmi->node) || x->follow->end != KVMIG__END_STAYED)
        return;
    wait = kvmig__explain_link(x, "EVACUATION_PENDING", KVMIG_SEVERITY_WARN, 1,
                               kvmig__explain_name("vm", x->vmi->meta.ns, x->vmi->meta.name),
                               "the VM is still marked for eviction from %s: KubeVirt will migrate it again", node);
    wait->evidence = kvmig__asprintf("status.evacuationNodeName %s", node);
    kvmig__detail_str(&wait->detail, "node", node);
    wait->hint = kvmig__strdup("Use the evacuate/cancel subresource if it is to stay.");
}

static void stopped_by_io_error(const struct kvmig__explain *x)
{
    const struct kvmig__kube_condition *paused = kvmig__kube_condition(&x->vmi->conditions, "Paused");
    struct kvmig__wait *wait;

    if (!paused || !kvmig__str_eq(paused->status, "True") || !kvmig__str_eq(paused->reason, "PausedIOError"))
        return;
    wait = kvmig__explain_link(x, "VM_IO_ERROR", KVMIG_SEVERITY_ERROR, 1,
                               kvmig__explain_name("vm", x->vmi->meta.ns, x->vmi->meta.name),
                               "the guest is paused by an I/O error of its storage");
    wait->evidence = kvmig__strdup("condition Paused, reason PausedIOError");
    wait->since_ms = paused->since_ms;
}

static void add_resize(const struct kvmig__explain *x, const char *what, uint64_t current, uint64_t requested)
{
    struct kvmig__wait *wait = kvmig__explain_link(
        x, "RESIZE_NOT_APPLIED", KVMIG_SEVERITY_WARN, 1, kvmig__explain_name("vm", x->vmi->meta.ns, x->vmi->meta.name),
        "the VM has moved, and the change of its %s did not take effect", what);

    wait->evidence = kvmig__asprintf("%" PRIu64 " now, %" PRIu64 " asked for", current, requested);
    kvmig__detail_str(&wait->detail, "what", what);
    kvmig__detail_uint(&wait->detail, "current", current);
    kvmig__detail_uint(&wait->detail, "requested", requested);
    wait->since_ms = x->follow->end_ms;
    wait->hint = kvmig__strdup("Ask for the change again, or restart the VM.");
}

/* What was asked for after the move is for the next one. */
static bool is_asked_since(const struct kvmig__explain *x, const char *type)
{
    const struct kvmig__kube_condition *condition = kvmig__kube_condition(&x->vmi->conditions, type);
    const int64_t since = condition ? condition->since_ms ? condition->since_ms : condition->probed_ms : 0;

    return condition && kvmig__str_eq(condition->status, "True") && (!x->follow->end_ms || since > x->follow->end_ms);
}

static void resize_not_applied(const struct kvmig__explain *x)
{
    const struct kvmig__kube_vmi *vmi = x->vmi;

    if (x->follow->end != KVMIG__END_MOVED || x->follow->stage != KVMIG__STAGE_SUCCEEDED)
        return;
    if (vmi->topology_sockets && vmi->domain.sockets && vmi->topology_sockets < vmi->domain.sockets &&
        !is_asked_since(x, "HotVCPUChange"))
        add_resize(x, "sockets", vmi->topology_sockets, vmi->domain.sockets);
    if (vmi->memory_guest_current && vmi->memory_guest_current != KVMIG__UNKNOWN && vmi->memory_guest_requested &&
        vmi->memory_guest_requested != KVMIG__UNKNOWN && vmi->memory_guest_current != vmi->memory_guest_requested &&
        !is_asked_since(x, "HotMemoryChange"))
        add_resize(x, "memory", vmi->memory_guest_current, vmi->memory_guest_requested);
}

static void manual_recovery(const struct kvmig__explain *x)
{
    const struct kvmig__kube_vm *vm = KVMIG__KUBE_FIND(x->kube, VM, x->follow->ns, x->follow->vmi);
    const struct kvmig__kube_condition *condition =
        vm ? kvmig__kube_condition(&vm->conditions, "ManualRecoveryRequired") : NULL;
    struct kvmig__wait *wait;

    if (!condition || !kvmig__str_eq(condition->status, "True"))
        return;
    wait = kvmig__explain_link(x, "MANUAL_RECOVERY_REQUIRED", KVMIG_SEVERITY_ERROR, 1,
                               kvmig__explain_name("vm", vm->meta.ns, vm->meta.name),
                               "a volume migration was interrupted: which claims hold the good copy must be decided");
    wait->evidence = kvmig__strdup(condition->message ? condition->message : "condition ManualRecoveryRequired");
    wait->since_ms = condition->since_ms;
    wait->hint =
        kvmig__strdup("If targetNodeDomainReadyTimestamp of the last migration was set, keep the destination claims; "
                      "else go back to the source's.");
}

void kvmig__explain_left(const struct kvmig__explain *x)
{
    left_source(x);
    left_target(x);
    if (x->vmi) {
        stopped_by_io_error(x);
        left_targets(x);
        stale_state(x);
        evacuation_pending(x);
        resize_not_applied(x);
    }
    manual_recovery(x);
}
