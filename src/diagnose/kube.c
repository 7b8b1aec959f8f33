/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A migration in KubeVirt: takes over what the explanation of waits concludes from the objects (session/explain_kube.c), as state,
 * findings and actions, and checks it against what was seen beside the objects. Pure; the follower it fills belongs to the case.
 */
#include "diagnose/diagnose.h"
#include "session/explain.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *code;
    enum kvmig__strength strength;
} states[] = {
    { "WAITING", KVMIG__KNOWN_WAITING },
    { "RUNNING", KVMIG__KNOWN_RUNNING },
    { "POSTCOPY_ACTIVE", KVMIG__KNOWN_PROVEN },
    { "POSTCOPY_FAILED", KVMIG__KNOWN_PROVEN },
    { "SUCCEEDED", KVMIG__KNOWN_ENDED },
    { "SUCCEEDED_UNREPORTED", KVMIG__KNOWN_PROVEN },
    { "FAILED", KVMIG__KNOWN_TOLD },
    { "CANCELLED", KVMIG__KNOWN_ENDED },
    { "CANCELLED_BY_USER", KVMIG__KNOWN_ENDED },
    { "CANCEL_INEFFECTIVE", KVMIG__KNOWN_ENDED },
    { "ABORTED_BY_COMPLETION_TIMEOUT", KVMIG__KNOWN_ENDED },
    { "ABORTED_BY_PROGRESS_TIMEOUT", KVMIG__KNOWN_ENDED },
    { "NOTHING_TO_MIGRATE", KVMIG__KNOWN_ENDED },
    { "VM_LOST", KVMIG__KNOWN_PROVEN },
    { "UNDECIDED", KVMIG__KNOWN_TOLD },
};

/* Remarks of a wait that is within normal times are none; these are facts of their own, or why it waits at all. */
static const char *const remarks[] = { "LEFTOVER_SOURCE_POD", "LIMIT_REACHED", "MIGRATION_BACKOFF" };

static const struct {
    const char *finding, *action, *text;
} remedies[] = {
    { "LEFTOVER_TARGET_POD", "DELETE_TARGET_POD", "Delete the target launcher that is left: the guest is not in it." },
    { "STALE_ACTIVE_POD", "DELETE_STALE_POD", "Delete the launcher that has ended." },
};

static void take_state(struct kvmig__case *c, const char *code, const char *why)
{
    for (size_t i = 0; code && i < KVMIG__N_ELEMENTS(states); i++)
        if (kvmig__str_eq(states[i].code, code))
            kvmig__case_state(c, states[i].strength, states[i].code, "%s", why ? why : "as its objects show");
}

static bool is_state(const char *code)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(states); i++)
        if (kvmig__str_eq(states[i].code, code))
            return true;
    return false;
}

static bool is_remark(const char *code)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(remarks); i++)
        if (kvmig__str_eq(remarks[i], code))
            return true;
    return false;
}

/* A job that is seen on the source is in flight, whatever the API has lost. */
static bool is_refuted(const struct kvmig__case *c, const struct kvmig__wait *wait)
{
    return kvmig__str_eq(wait->code, "STALE_MIGRATION_STATE") && kvmig__case_job(c) > 0;
}

static void propose(struct kvmig__case *c, const struct kvmig__wait *wait)
{
    for (size_t i = 0; wait->severity >= KVMIG_SEVERITY_ERROR && i < KVMIG__N_ELEMENTS(remedies); i++)
        if (kvmig__str_eq(remedies[i].finding, wait->code))
            kvmig__case_act(c, remedies[i].action, kvmig__strdup(wait->object), NULL, "%s", remedies[i].text);
}

/* A migration of which only a record is left is no object. */
static bool is_told(const struct kvmig__case *c, const struct kvmig__wait *wait)
{
    return wait->object && (c->vmim || !kvmig__str_starts(wait->object, "migration/"));
}

static void take_wait(struct kvmig__case *c, struct kvmig__wait *wait)
{
    struct kvmig__detail detail = wait->detail; /* taken over */

    if (is_state(wait->code)) {
        take_state(c, wait->code, wait->condition);
        return;
    }
    if ((wait->severity < KVMIG_SEVERITY_WARN && !is_remark(wait->code)) || is_refuted(c, wait))
        return;
    wait->detail = (struct kvmig__detail){ 0 };
    if (wait->evidence &&
        (!detail.n || kvmig__str_eq(wait->code, "DEADLOCK_NETWORK_PENDING"))) /* a chain is no evidence */
        kvmig__detail_str(&detail, "evidence", wait->evidence);
    if (wait->limit)
        kvmig__detail_str(&detail, "limit", wait->limit);
    kvmig__case_note(c, wait->code, wait->severity, kvmig__strdup(is_told(c, wait) ? wait->object : c->vm_object),
                     &detail, wait->hint, "%s", wait->condition ? wait->condition : wait->code);
    propose(c, wait);
    /* KubeVirt aborts the job then: in libvirt's words it was cancelled. Before that it is a wait like others. */
    if (c->follow.end == KVMIG__END_STAYED && kvmig__str_eq(wait->code, "TARGET_POD_LOST"))
        kvmig__case_state(c, KVMIG__KNOWN_ENDED, "FAILED", "the target's pod was lost, and the guest stayed");
}

/* In post-copy the guest runs on the target; stopped there, and by nobody's wish, it has lost its source. */
static void look_at_pause(struct kvmig__case *c)
{
    const struct kvmig__kube_migration_state *state = &c->vmi->migration;
    const struct kvmig__kube_condition *paused = kvmig__kube_condition(&c->vmi->conditions, "Paused");

    if (!paused || !kvmig__str_eq(paused->status, "True") || kvmig__str_eq(paused->reason, "PausedByUser") ||
        kvmig__str_eq(paused->reason, "PausedIOError") || !state->present || !kvmig__str_eq(state->mode, "PostCopy") ||
        state->completed || !state->target_node || !kvmig__str_eq(state->target_node, c->vmi->node))
        return;
    c->strength = KVMIG__KNOWN_NONE; /* more exact than that post-copy is active */
    kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "POSTCOPY_FAILED",
                      "the guest was switched in post-copy, and is stopped on the target");
}

static void look_at_switch(struct kvmig__case *c)
{
    struct kvmig__detail detail = { 0 };
    const char *why = c->follow.postcopy_seen ? "post-copy was begun" : "the target's domain is ready";

    if (c->follow.end != KVMIG__END_OPEN || c->follow.completed || c->follow.failed ||
        (!c->follow.postcopy_seen && !c->follow.domain_ready_ms))
        return;
    kvmig__detail_str(&detail, "evidence", why);
    kvmig__case_note(c, "POINT_OF_NO_RETURN", KVMIG_SEVERITY_WARN, kvmig__strdup(c->vm_object), &detail,
                     "Do not cancel: the guest's newest state is on the target.",
                     "The guest has been switched to the target; the source cannot take over any more.");
}

/* A refusal that speaks of a migration in flight is wrong where the objects show that there is none. */
void kvmig__diagnose_refuted(struct kvmig__case *c)
{
    if (kvmig__findings_has(&c->findings, "STALE_MIGRATION_STATE"))
        kvmig__case_drop(&c->findings, "MIGRATION_IN_PROGRESS", NULL);
}

/* The migration object is not there, but the VM's own record of it is. One that is open proves nothing where migrations are known:
 * the explanation tells that it is stale. */
static void follow_record(struct kvmig__case *c)
{
    const struct kvmig__kube_migration_state *state = &c->vmi->migration;

    if (!state->present || !state->uid)
        return;
    if (state->completed || state->failed) {
        kvmig__follow_bind(&c->follow, state->uid, state->uid);
        c->follow.stage = state->failed ? KVMIG__STAGE_FAILED : KVMIG__STAGE_SUCCEEDED;
        c->follow.reached = state->start_ms ? KVMIG__STAGE_RUNNING : KVMIG__STAGE_PREPARING_TARGET;
    } else if (c->kube->kinds[KVMIG__KUBE_VMIM].known != KVMIG__KUBE_KNOWN) {
        if (kvmig__str_eq(state->mode, "PostCopy"))
            kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "POSTCOPY_ACTIVE",
                              "the guest runs on the target and still fetches memory from the source");
        else if (state->start_ms || state->mode)
            kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "migrationState of the VM shows a copy under way");
        else
            kvmig__case_state(c, KVMIG__KNOWN_WAITING, "WAITING",
                              "migrationState of the VM shows a target being prepared");
        if (!c->target)
            c->target = state->target_node;
    }
}

void kvmig__diagnose_kube(struct kvmig__case *c)
{
    struct kvmig_explanation *explanation;

    if (!c->kube || !c->vmi)
        return;
    kvmig__follow_init(&c->follow, c->vmi, c->vmim);
    if (!c->vmim)
        follow_record(c);
    kvmig__follow_update(&c->follow, c->kube, c->now_ms);
    explanation = kvmig__explanation_new();
    kvmig__explain_kube(explanation, c->kube, c->vmi, c->vmim, &c->follow, c->now_ms);
    for (size_t i = 0; i < explanation->waits.n; i++)
        take_wait(c, &explanation->waits.v[i]);
    kvmig__explanation_finish(explanation);
    take_state(c, explanation->verdict, explanation->summary);
    kvmig_explanation_unref(explanation);
    if (!c->target)
        c->target = c->follow.target_node;
    if (c->follow.end == KVMIG__END_STAYED) /* whatever the cause */
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "the migration is over, and the guest runs on the source");
    look_at_pause(c);
    look_at_switch(c);
}
