/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The last steps: LOCATE (where the guest is, once the migration can move it no more), FINISH and UNDO, which clean
 * up part by part, each within its share of the time: what does not come in time is a leftover, and the next part is
 * done all the same. In dispatch, with the context lock held.
 */
#include "kubernetes/driver_internal.h"
#include "session/resolver.h"

#include <errno.h>
#include <stdlib.h>

#define READ_AGAIN_MS 1000
#define ELSEWHERE_READS 3 /* that show the guest on a third node */

/* ---- reading ---- */

/* Only what is about our VMI proves anything: it, another one in its place, or the server's word that there is none. */
static void vmi_read_done(struct kvmig__kube_driver *d, const struct kvmig__answer *answer)
{
    struct json_object *vmi = kvmig__answer_object(answer, KVMIG__KUBE_VMI);
    const char *uid = kvmig__json_text(kvmig__json_at(vmi, "metadata"), "uid");

    if (vmi)
        kvmig__kube_backend_learn(d->backend, vmi);
    d->vmi_absent = kvmig__answer_absent(answer, KVMIG__KUBE_VMI, d->vmi) || (vmi && !kvmig__str_eq(uid, d->vmi_uid));
    d->vmi_read = vmi || d->vmi_absent;
    json_object_put(vmi);
}

/* The store may lag, and its kinds do not wait for each other: a VMIM may be seen to end before the VMI is seen to
 * have moved. */
static void read_vmi(struct kvmig__kube_driver *d)
{
    if (kvmig__errand_busy(&d->act) || kvmig__now_ms() < d->vmi_read_ms + READ_AGAIN_MS)
        return;
    d->vmi_read_ms = kvmig__now_ms();
    kvmig__errand_go(&d->act, "GET", kvmig__kube_path(KVMIG__KUBE_VMI, d->ns, d->vmi), NULL, NULL, d->limits.step_ms,
                     vmi_read_done);
}

static void read_anew(struct kvmig__kube_driver *d)
{
    d->vmi_read = false;
    d->vmi_read_ms = -READ_AGAIN_MS;
    d->vmi_reads = 0;
}

static void set_side(struct kvmig__side *side, bool reachable, const char *error)
{
    kvmig__side_clear(side);
    side->reachable = reachable;
    side->state = KVMIG__STATE_ABSENT;
    side->error = kvmig__strdup(error);
}

/* The guest runs on a node that is neither the plan's source nor proven to be the target: somebody else has moved it.
 * What is told of a side is told of the plan's host, so this is no side. NULL = it does not. */
static const char *third_node(const struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);

    if (!vmi || !vmi->node || !kvmig__str_eq(vmi->phase, "Running") || !d->plan->source ||
        kvmig__str_eq(vmi->node, d->plan->source) ||
        (d->follow.node_flipped && kvmig__str_eq(vmi->node, d->follow.target_node)))
        return NULL;
    return vmi->node;
}

static void set_elsewhere(struct kvmig__side *source, struct kvmig__side *target, const char *node)
{
    char *why = kvmig__asprintf("the guest runs on %s, which is neither its source nor its target", node);

    set_side(source, false, why);
    set_side(target, false, why);
    free(why);
}

/* What KubeVirt does next on the target is not this session's any more. */
static void leave_alone(struct kvmig__side *source, struct kvmig__side *target)
{
    if (!source->reachable)
        return;
    source->job_active = source->job_assumed = false;
    set_side(target, true, NULL);
}

void kvmig__kube_sides(struct kvmig__kube_driver *d, struct kvmig__side *source, struct kvmig__side *target)
{
    const struct kvmig_error *lost = kvmig__kube_backend_lost(d->backend, KVMIG__KUBE_VMI);
    const char *why = lost ? lost->message : "the API server does not answer";

    kvmig__follow_sides(&d->follow, kvmig__kube_store(d), source, target);
    if (d->follow.sends_away && kvmig__kube_has_moved(d)) {
        /* Into another VMI, maybe of another cluster, which this view does not show: KubeVirt says that it arrived
         * there. */
        set_side(source, true, NULL);
        set_side(target, true, NULL);
        target->state = KVMIG__STATE_RUNNING;
        target->reason = KVMIG__REASON_MIGRATED;
    } else if (!d->vmi_read || d->vmi_absent) {
        set_side(source, d->vmi_read, d->vmi_read ? NULL : why);
        set_side(target, d->vmi_read, d->vmi_read ? NULL : why);
    } else if (third_node(d)) {
        set_elsewhere(source, target, third_node(d));
    } else if (kvmig__kube_goes_on(d)) {
        leave_alone(source, target);
    }
}

/* ---- LOCATE ---- */

void kvmig__kube_locate_begin(struct kvmig__kube_driver *d)
{
    d->locate_began_ms = kvmig__now_ms();
    d->locate_by_ms = d->locate_began_ms + d->limits.resolve_ms;
    d->lookups = 0;
    read_anew(d);
    if (!d->following)
        kvmig__kube_follow_start(d);
    if (!kvmig__kube_has_moved(d))
        kvmig__kube_take_back(d);
}

/* Then what somebody else started is taken back as well; that takes its time, within bounds. */
void kvmig__kube_locate_cancelled(struct kvmig__kube_driver *d)
{
    const int64_t last_ms = d->locate_began_ms + KVMIG__DEFERRED_MS + d->limits.resolve_ms;
    const int64_t by_ms = kvmig__now_ms() + d->limits.resolve_ms;

    if (by_ms > d->locate_by_ms)
        d->locate_by_ms = by_ms < last_ms ? by_ms : last_ms;
    d->back.by_caller = true;
    read_anew(d);
    kvmig__kube_try_again(d);
    kvmig__kube_take_back(d);
}

/* A cancel that KubeVirt has only noted puts the deadline off, within bounds. */
static int64_t locate_by(struct kvmig__kube_driver *d)
{
    const bool deferred = d->follow.handed_off && (d->back.deleted || d->follow.deleting) && !kvmig__kube_is_over(d);
    int64_t by_ms = d->locate_began_ms + KVMIG__DEFERRED_MS;

    if (deferred) {
        by_ms = (by_ms < kvmig__now_ms() ? by_ms : kvmig__now_ms()) + d->limits.resolve_ms;
        d->locate_by_ms = by_ms > d->locate_by_ms ? by_ms : d->locate_by_ms;
    }
    return d->locate_by_ms;
}

static void lookup_done(struct kvmig__kube_driver *d, const struct kvmig_error *error)
{
    if (d->vmim)
        return;
    if (!error && kvmig__kube_none_will_come(d))
        d->maybe_posted = false;
    else
        kvmig__kube_find_ours_later(d);
}

/* Nothing can move the guest any more: what was asked for is over, and KubeVirt starts nothing anew. */
static bool is_settled(const struct kvmig__kube_driver *d)
{
    return kvmig__kube_is_over(d) && (!kvmig__kube_moves_volumes(d) || kvmig__kube_volumes_settled(d));
}

static void answer_location(struct kvmig__kube_driver *d, const struct kvmig__resolution *resolution,
                            const struct kvmig__side *source, const struct kvmig__side *target)
{
    d->step = -1;
    kvmig__errand_stop(&d->act);
    kvmig__timer_disarm(&d->step_timer);
    kvmig__session_located(d->session, resolution, source, target);
}

/* The guest is on the source, but KubeVirt has not given the migration up. */
static void doubt(struct kvmig__resolution *resolution, struct kvmig__side *source)
{
    *resolution = (struct kvmig__resolution){
        .verdict = KVMIG_LOCATION_RUNNING,
        .actions = { KVMIG_ACTION_WAIT },
        .proof = "the guest is on the source, but the migration has not come to its end: KubeVirt may still move it",
    };
    source->job_active = true;
}

static void say_goes_on(struct kvmig__kube_driver *d)
{
    if (d->told_goes_on)
        return;
    d->told_goes_on = true;
    kvmig__kube_remark(d, "STILL_MIGRATING", KVMIG_SEVERITY_WARN, NULL,
                       "Attach to it again, or cancel it: it may still move the guest to its target.",
                       "the migration was started by somebody else, and goes on without this session");
}

static struct kvmig__resolution resolve(struct kvmig__kube_driver *d, bool settled, struct kvmig__side *source,
                                        struct kvmig__side *target)
{
    struct kvmig__resolution resolution;

    kvmig__kube_sides(d, source, target);
    resolution = kvmig__resolve(source, target, target);
    if (third_node(d))
        resolution.proof = "the guest runs on a node that is neither the source nor the target of this migration";
    if (!resolution.decided || resolution.side > 0 || settled)
        return resolution;
    if (kvmig__kube_goes_on(d)) {
        resolution.proof = "the guest is on the source; somebody else's migration of it goes on without this session";
        say_goes_on(d);
    } else {
        doubt(&resolution, source);
    }
    return resolution;
}

static void judge(struct kvmig__kube_driver *d, bool settled, bool late)
{
    struct kvmig__side source = { .reachable = false }, target = { .reachable = false };
    const struct kvmig__resolution resolution = resolve(d, settled, &source, &target);
    const bool is_elsewhere = third_node(d) && d->vmi_read && ++d->vmi_reads >= ELSEWHERE_READS;

    if (resolution.decided || late || is_elsewhere)
        answer_location(d, &resolution, &source, &target);
    else
        d->vmi_read = false; /* look again, with fresh eyes */
    kvmig__side_clear(&source);
    kvmig__side_clear(&target);
}

void kvmig__kube_locate_look(struct kvmig__kube_driver *d)
{
    const int64_t left_ms = locate_by(d) - kvmig__now_ms();
    const bool settled = is_settled(d), late = left_ms <= 0;

    if (d->maybe_posted && !d->vmim && !late) {
        if (!kvmig__errand_busy(&d->act))
            kvmig__kube_find_ours(d, lookup_done);
        return; /* its creation may come through */
    }
    /* Options are read at the hand-off. The policy goes now: if it stays undecided where the guest is, no other step
     * comes. */
    if (!late && !kvmig__kube_has_moved(d) && (d->follow.handed_off || settled) && !d->vmi_read &&
        !kvmig__kube_policy_remove(d))
        return;
    if (kvmig__kube_volumes_recover(d) && !late)
        return;
    if (late) {
        judge(d, settled, true);
    } else if (settled || kvmig__kube_has_moved(d) || kvmig__kube_goes_on(d)) {
        if (d->vmi_read)
            judge(d, settled, false);
        else
            read_vmi(d);
    } else if (left_ms < d->limits.resolve_ms / 4 && !d->vmi_read) {
        read_vmi(d); /* for the last word */
    }
}

/* ---- FINISH and UNDO ---- */

void kvmig__kube_leftover(struct kvmig__kube_driver *d, struct kvmig_error *error)
{
    if (d->leftover)
        kvmig__error_free(error);
    else
        d->leftover = error;
}

static bool is_undo(const struct kvmig__kube_driver *d)
{
    return d->step == KVMIG__STEP_UNDO;
}

static bool target_pod_is_gone(const struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_pod *pod =
        d->follow.target_pod ? KVMIG__KUBE_FIND(kvmig__kube_store(d), POD, d->ns, d->follow.target_pod) : NULL;

    return !pod || !kvmig__str_eq(pod->meta.uid, d->follow.target_pod_uid) || kvmig__pod_is_final(pod);
}

static bool migration_is_done(struct kvmig__kube_driver *d)
{
    if (kvmig__kube_goes_on(d))
        return true;
    if (!kvmig__kube_is_over(d))
        return false;
    if (is_undo(d) && kvmig__kube_is_ours_to_end(d) && !target_pod_is_gone(d))
        return false;
    /* The record of one that ended stays: KubeVirt itself keeps the last five of each VM. */
    kvmig__kube_ledger_set(d, d->vmim_item, is_undo(d) && d->follow.gone ? "undone" : "kept");
    return true;
}

static bool has_service(const struct kvmig__kube_driver *d)
{
    const struct kvmig__kube *kube = kvmig__kube_store(d);

    KVMIG__KUBE_EACH(kube, SLICE, slice)
    {
        if (!kvmig__str_eq(slice->meta.ns, d->ns))
            continue;
        for (size_t i = 0; i < slice->endpoints.n; i++)
            if (slice->endpoints.v[i].pod && (kvmig__str_eq(slice->endpoints.v[i].pod, d->follow.source_pod) ||
                                              kvmig__str_eq(slice->endpoints.v[i].pod, d->follow.target_pod)))
                return true;
    }
    return false;
}

static bool volumes_are_done(struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);

    if (!kvmig__kube_moves_volumes(d))
        return true;
    if (is_undo(d))
        return kvmig__kube_volumes_settled(d) && kvmig__kube_volumes_restore_strategy(d);
    return vmi && !vmi->migrated_volumes.n;
}

static void last_look(struct kvmig__kube_driver *d)
{
    struct kvmig__side source = { .reachable = false }, target = { .reachable = false };

    kvmig__kube_sides(d, &source, &target);
    kvmig__session_final_side(d->session, &source, &target);
    kvmig__side_clear(&source);
    kvmig__side_clear(&target);
}

static bool part_is_done(struct kvmig__kube_driver *d)
{
    switch (d->part) {
    case KVMIG__PART_MIGRATION:
        return migration_is_done(d);
    case KVMIG__PART_ENDPOINTS:
        return is_undo(d) || !has_service(d) || d->follow.endpoints_moved_ms;
    case KVMIG__PART_VOLUMES:
        return volumes_are_done(d);
    case KVMIG__PART_POLICY:
        return kvmig__kube_policy_remove(d);
    default:
        if (is_undo(d) && !d->vmi_read)
            read_vmi(d);
        return !is_undo(d) || d->vmi_read;
    }
}

static void late_leftover(struct kvmig__kube_driver *d, const char *what, const char *hint)
{
    char *where = kvmig__kube_where(d);

    kvmig__kube_leftover(
        d, kvmig__error_new(ETIMEDOUT, where, d->back.error ? d->back.error->message : NULL, hint, "%s", what));
    free(where);
}

static void migration_is_late(struct kvmig__kube_driver *d)
{
    if (!is_undo(d)) {
        kvmig__kube_remark(d, "RESIZE_NOT_APPLIED", KVMIG_SEVERITY_WARN, NULL,
                           "Look at the VMI's conditions HotVCPUChange, HotMemoryChange and MigrationRequired.",
                           "the guest has moved, but KubeVirt has not completed the migration");
        kvmig__kube_ledger_set(d, d->vmim_item, "kept");
        return;
    }
    late_leftover(d,
                  kvmig__kube_is_over(d) ? "the target pod of the migration is still there"
                                         : "the migration was deleted, but has not ended yet",
                  "KubeVirt ends it by itself when its target gives up; deleting the target launcher pod is quicker.");
    kvmig__kube_ledger_failed(d, d->vmim_item, d->leftover);
}

static void volumes_are_late(struct kvmig__kube_driver *d)
{
    if (is_undo(d))
        late_leftover(
            d, "the VM's volumes are not proven to be as they were before",
            "Compare the claims in the VM with the report, and look at the condition VolumesChange of the VMI.");
    else
        kvmig__kube_remark(d, "STALE_MIGRATION_STATE", KVMIG_SEVERITY_WARN, NULL,
                           "Look at status.migratedVolumes of the VMI.",
                           "the guest has moved, but the VMI still lists volumes as being migrated");
}

static void part_is_late(struct kvmig__kube_driver *d)
{
    kvmig__errand_stop(&d->act);
    if (d->part == KVMIG__PART_MIGRATION) {
        migration_is_late(d);
    } else if (d->part == KVMIG__PART_ENDPOINTS) {
        d->endpoints_late = true;
        kvmig__kube_remark(d, "ENDPOINTS_NOT_MOVED", KVMIG_SEVERITY_WARN, NULL,
                           "Look at the Ready condition of the target launcher pod and at the EndpointSlice.",
                           "the guest has moved, but its service does not lead to the target pod yet");
    } else if (d->part == KVMIG__PART_VOLUMES) {
        volumes_are_late(d);
    } else if (d->part == KVMIG__PART_POLICY) {
        late_leftover(d, "the temporary migration policy is not proven to be removed",
                      "Delete it by hand; the report names it.");
        kvmig__kube_ledger_failed(d, d->policy.policy_item, d->leftover);
    }
}

static void next_part(struct kvmig__kube_driver *d)
{
    d->part++;
    d->part_by_ms = kvmig__now_ms() + d->limits.step_ms / 2;
    if (d->part == KVMIG__PART_LAST_LOOK)
        read_anew(d);
}

void kvmig__kube_end_begin(struct kvmig__kube_driver *d)
{
    d->part = KVMIG__PART_MIGRATION;
    d->part_by_ms = kvmig__now_ms() + d->limits.step_ms;
    read_anew(d);
    if (!d->following)
        kvmig__kube_follow_start(d);
    if (is_undo(d))
        kvmig__kube_take_back(d);
    else
        d->back.wanted = false;
}

static void end_done(struct kvmig__kube_driver *d)
{
    struct kvmig_error *leftover = d->leftover;

    d->leftover = NULL;
    if (d->ip_before && d->ip_after && !kvmig__str_eq(d->ip_before, d->ip_after))
        kvmig__kube_remark(d, "POD_IP_CHANGED", KVMIG_SEVERITY_INFO, NULL, NULL,
                           "the address of the guest's pod network changed from %s to %s", d->ip_before, d->ip_after);
    if (is_undo(d))
        last_look(d);
    if (leftover)
        kvmig__kube_step_failed(d, leftover);
    else
        kvmig__kube_step_ok(d);
}

void kvmig__kube_end_look(struct kvmig__kube_driver *d)
{
    while (d->part < KVMIG__PART_DONE) {
        if (!part_is_done(d)) {
            if (kvmig__now_ms() < d->part_by_ms) {
                kvmig__timer_arm(&d->step_timer, d->part_by_ms);
                return;
            }
            part_is_late(d);
        }
        next_part(d);
    }
    end_done(d);
}
