/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the guest is, as the resolver wants to read it, and what a cancel would do now. The VMI and the pods stand for the two hosts'
 * libvirt, which a client of the API cannot ask: a side that they do not prove is unreachable, never guessed. Pure; the owner's
 * thread; the sides are the caller's (kvmig__side_clear).
 */
#include "kubernetes/follow_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- the two sides ---- */

static void set_unreachable(struct kvmig__side *side, const char *why)
{
    kvmig__side_clear(side);
    side->error = kvmig__strdup(why);
}

static void set_state(struct kvmig__side *side, int32_t state, int32_t reason, const char *uuid)
{
    kvmig__side_clear(side);
    side->reachable = true;
    side->state = state;
    side->reason = reason;
    side->uuid = kvmig__strdup(uuid);
}

/* The guest of a VMI on its node: virt-handler shows a pause as a condition. */
static void set_guest(struct kvmig__side *side, const struct kvmig__kube_vmi *vmi, int32_t running_reason)
{
    const struct kvmig__kube_condition *paused = kvmig__kube_condition(&vmi->conditions, "Paused");
    int32_t reason = KVMIG__REASON_OTHER;

    if (!paused || !kvmig__str_eq(paused->status, "True")) {
        set_state(side, KVMIG__STATE_RUNNING, running_reason, vmi->meta.uid);
        return;
    }
    if (kvmig__str_eq(paused->reason, "PausedByUser"))
        reason = KVMIG__REASON_USER;
    else if (kvmig__str_eq(paused->reason, "PausedIOError"))
        reason = KVMIG__REASON_IOERROR;
    else if (kvmig__str_eq(paused->reason, "PausedByMigrationMonitor"))
        reason = KVMIG__REASON_MIGRATION;
    set_state(side, KVMIG__STATE_PAUSED, reason, vmi->meta.uid);
}

/* On a node that does not answer, what its virt-handler wrote last proves nothing. */
static void doubt_node(struct kvmig__side *side, const struct kvmig__kube *kube, const char *name)
{
    const struct kvmig__kube_node *node = name ? KVMIG__KUBE_FIND(kube, NODE, NULL, name) : NULL;
    const struct kvmig__kube_condition *ready = node ? kvmig__kube_condition(&node->conditions, "Ready") : NULL;
    char *why;

    if (!ready || kvmig__str_eq(ready->status, "True"))
        return;
    why = kvmig__asprintf("node %s is not ready: %s", name, ready->message ? ready->message : "it does not answer");
    set_unreachable(side, why);
    free(why);
}

/* The copy has begun, and nothing says that it is over. */
static bool copies(const struct kvmig__follow *follow)
{
    return follow->start_ms && kvmig__follow_target_may_run(follow);
}

static void at_source(const struct kvmig__follow *follow, const struct kvmig__kube *kube,
                      const struct kvmig__kube_vmi *vmi, struct kvmig__side *source, struct kvmig__side *target)
{
    const bool job = copies(follow);

    set_guest(source, vmi, KVMIG__REASON_OTHER);
    if (job)
        set_state(target, KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION, vmi->meta.uid);
    else
        set_state(target, KVMIG__STATE_ABSENT, KVMIG__REASON_OTHER, NULL);
    source->job_active = target->job_active = job;
    source->job_assumed = target->job_assumed = job && (follow->gone || follow->stage == KVMIG__STAGE_FAILED);
    doubt_node(source, kube, follow->source_node);
    if (job)
        doubt_node(target, kube, follow->target_node);
}

static void at_target(const struct kvmig__follow *follow, const struct kvmig__kube *kube,
                      const struct kvmig__kube_vmi *vmi, struct kvmig__side *source, struct kvmig__side *target)
{
    const bool fetching = follow->postcopy_seen && !follow->completed && !follow->failed &&
                          follow->stage != KVMIG__STAGE_SUCCEEDED && follow->stage != KVMIG__STAGE_FAILED;

    set_guest(target, vmi, fetching ? KVMIG__REASON_POSTCOPY : KVMIG__REASON_MIGRATED);
    if (fetching)
        set_state(source, KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY, vmi->meta.uid);
    else
        set_state(source, KVMIG__STATE_ABSENT, KVMIG__REASON_MIGRATED, NULL);
    source->job_active = target->job_active = fetching;
    doubt_node(target, kube, follow->target_node);
}

static void both_unreachable(struct kvmig__side *source, struct kvmig__side *target, const char *why)
{
    set_unreachable(source, why);
    set_unreachable(target, why);
}

void kvmig__follow_sides(const struct kvmig__follow *follow, const struct kvmig__kube *kube, struct kvmig__side *source,
                         struct kvmig__side *target)
{
    const struct kvmig__kube_vmi *vmi = kvmig__follow_vmi(follow, kube);
    const bool ended = vmi && (kvmig__str_eq(vmi->phase, "Failed") || kvmig__str_eq(vmi->phase, "Succeeded"));
    char *why = NULL;

    if (!vmi && !kvmig__kube_is_known(kube, KVMIG__KUBE_VMI)) {
        both_unreachable(source, target,
                         kube->kinds[KVMIG__KUBE_VMI].known == KVMIG__KUBE_FORBIDDEN
                             ? "the account may not read virtualmachineinstances, which tell where the guest runs"
                             : "virtualmachineinstances were not read, which tell where the guest runs");
    } else if (!vmi || ended) {
        set_state(source, KVMIG__STATE_ABSENT, KVMIG__REASON_OTHER, NULL);
        set_state(target, KVMIG__STATE_ABSENT, KVMIG__REASON_OTHER, NULL);
    } else if (!kvmig__str_eq(vmi->phase, "Running")) {
        why = kvmig__asprintf("VMI %s/%s is in phase %s", follow->ns, follow->vmi, vmi->phase ? vmi->phase : "unset");
        both_unreachable(source, target, why);
    } else if (follow->node_flipped && kvmig__str_eq(vmi->node, follow->target_node)) {
        at_target(follow, kube, vmi, source, target);
    } else if (vmi->node && kvmig__str_eq(vmi->node, follow->source_node)) {
        at_source(follow, kube, vmi, source, target);
    } else {
        why = kvmig__asprintf(
            "VMI %s/%s runs on %s, which is neither the source nor proven to be this migration's target", follow->ns,
            follow->vmi, vmi->node ? vmi->node : "no node");
        both_unreachable(source, target, why);
    }
    free(why);
}

/* ---- cancel ---- */

static bool has_switched(const struct kvmig__follow *follow)
{
    return follow->node_flipped || follow->stage == KVMIG__STAGE_SUCCEEDED || (follow->completed && !follow->failed) ||
           (follow->domain_ready_ms && !follow->failed);
}

/* An eviction asks for a new migration as long as the VMI is marked, whoever made this one. */
bool kvmig__follow_will_return(const struct kvmig__follow *follow)
{
    const bool marked = follow->evacuation_node && *follow->evacuation_node;

    return follow->controller_owned || (marked && kvmig__str_eq(follow->evacuation_node, follow->source_node));
}

int32_t kvmig__follow_cancel_effect(const struct kvmig__follow *follow, const char **out_why)
{
    const char *why = "the target pod is removed and the migration ends at once";
    int32_t effect = KVMIG_CANCEL_ACCEPTED;

    if (follow->end == KVMIG__END_MOVED || (follow->end == KVMIG__END_OPEN && has_switched(follow))) {
        effect = KVMIG_CANCEL_TOO_LATE;
        why = "the guest has switched to the target; going back takes another migration";
    } else if (follow->end != KVMIG__END_OPEN || follow->stage == KVMIG__STAGE_FAILED || follow->gone) {
        why = "the migration is over already";
    } else if (follow->postcopy_seen) {
        effect = KVMIG_CANCEL_REFUSED;
        why = "post-copy is active: aborting would lose the guest's memory, and KubeVirt refuses it";
    } else if (kvmig__follow_will_return(follow)) {
        effect = KVMIG_CANCEL_WILL_RETURN;
        why = "a controller of the cluster asks for this migration and creates it again as long as its cause stands";
    } else if (follow->stage < KVMIG__STAGE_RUNNING &&
               (follow->handed_off || follow->stage >= KVMIG__STAGE_PREPARING_TARGET)) {
        effect = KVMIG_CANCEL_DEFERRED;
        why = "KubeVirt aborts nothing between hand-over and start of the copy: it takes effect once the copy runs, "
              "when the "
              "target launcher's start timer (240 to 359 s) ends it, or when the target pod is deleted";
    } else if (follow->stage == KVMIG__STAGE_RUNNING) {
        why = "the copy is aborted and the guest stays on the source";
    }
    if (out_why)
        *out_why = why;
    return effect;
}
