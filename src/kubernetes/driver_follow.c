/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Follows the migration in the store and tells the session what it sees: the target, the mode, what it waits for, and
 * when SCHEDULE, PREPARE and MIGRATE are over. Judges by follow.h alone, and asks nobody. In dispatch, with the
 * context lock held.
 */
#include "kubernetes/driver_internal.h"
#include "session/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAUSE_MS 3000 /* how long an end without a known cause waits for one */
#define WAITS_SOON_MS 200 /* changes come in bunches: one explanation for each */

void kvmig__kube_follow_start(struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);
    static const struct kvmig__kube_vmi nobody;

    if (d->following)
        kvmig__follow_clear(&d->follow);
    kvmig__follow_init(&d->follow, vmi ? vmi : &nobody, kvmig__kube_our_vmim(d));
    kvmig__str_set(&d->follow.ns, d->ns);
    kvmig__str_set(&d->follow.vmi, d->vmi);
    kvmig__str_set(&d->follow.vmi_uid, d->vmi_uid);
    kvmig__str_set(&d->follow.source_node, d->plan->source);
    d->follow.source_fixed = d->plan->source && !d->wishes->attach;
    if (d->resumed) {
        kvmig__str_set(&d->follow.target_node, kvmig__json_text(d->wishes->token, "target"));
        d->follow.resumed = true;
    }
    d->following = true;
    if (d->vmim)
        kvmig__follow_bind(&d->follow, d->vmim, d->vmim_uid);
}

/* ---- judging ---- */

bool kvmig__kube_has_moved(const struct kvmig__kube_driver *d)
{
    return d->following && d->follow.end == KVMIG__END_MOVED;
}

bool kvmig__kube_is_over(const struct kvmig__kube_driver *d)
{
    if (!d->vmim)
        return !d->maybe_posted;
    return d->follow.gone || d->follow.stage == KVMIG__STAGE_FAILED || d->follow.stage == KVMIG__STAGE_SUCCEEDED ||
           d->follow.end == KVMIG__END_LOST;
}

bool kvmig__kube_has_reached(const struct kvmig__kube_driver *d, int32_t stage)
{
    return (d->follow.stage >= stage && d->follow.stage != KVMIG__STAGE_FAILED) || kvmig__kube_has_moved(d);
}

bool kvmig__kube_source_moved(const struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);

    return vmi && d->plan->source && !kvmig__str_eq(vmi->node, d->plan->source) && !d->attached &&
           !d->follow.handed_off && !kvmig__kube_has_moved(d);
}

/* From the end of the copy on it does not go on, but comes to its end. */
bool kvmig__kube_goes_on(const struct kvmig__kube_driver *d)
{
    return d->following && d->vmim && !kvmig__kube_is_ours_to_end(d) && !kvmig__kube_is_over(d) &&
           d->follow.end == KVMIG__END_OPEN && !d->follow.node_flipped && !d->follow.domain_ready_ms &&
           !d->follow.completed && !d->follow.postcopy_seen;
}

/* The VMIM says that it succeeded; the VMI, which proves it, may be seen to later. */
static bool is_reported_done(const struct kvmig__kube_driver *d)
{
    return d->follow.stage == KVMIG__STAGE_SUCCEEDED && d->follow.end != KVMIG__END_LOST;
}

/* Before the hand-off KubeVirt removes the pods of a migration that it gives up, and its event says which of its timers that was. */
static bool cause_is_known(const struct kvmig__follow *follow)
{
    return follow->verdict && !kvmig__str_eq(follow->verdict, "FAILED") &&
           (follow->handed_off || !kvmig__str_eq(follow->verdict, "TARGET_POD_LOST"));
}

/* The event that tells why comes a little after the end, and the VMI's last state may too. */
bool kvmig__kube_has_ended_badly(struct kvmig__kube_driver *d)
{
    const bool ended = d->follow.gone || d->follow.stage == KVMIG__STAGE_FAILED || d->follow.end == KVMIG__END_LOST;

    if (!d->vmim || !ended || kvmig__kube_has_moved(d) || is_reported_done(d))
        return false;
    if (!d->ended_seen_ms)
        d->ended_seen_ms = kvmig__now_ms();
    return d->back.wanted || cause_is_known(&d->follow) || kvmig__now_ms() - d->ended_seen_ms >= CAUSE_MS;
}

/* ---- telling ---- */

static void note_phases(struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmim *vmim = kvmig__kube_our_vmim(d);

    if (d->follow.stage > KVMIG__STAGE_NONE && d->follow.stage <= KVMIG__STAGE_FAILED &&
        !d->phase_seen_ms[d->follow.stage])
        d->phase_seen_ms[d->follow.stage] = kvmig__wall_ms();
    for (size_t i = 0; vmim && i < vmim->transitions.n; i++)
        for (int32_t stage = KVMIG__STAGE_WAITING_FOR_SYNC; stage <= KVMIG__STAGE_FAILED; stage++)
            if (kvmig__str_eq(vmim->transitions.v[i].phase, kvmig__stage_name(stage)))
                d->phase_ms[stage] = vmim->transitions.v[i].at_ms;
}

static void note_addresses(struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_our_vmi(d);
    char **ip = kvmig__kube_has_moved(d) ? &d->ip_after : &d->ip_before;

    for (size_t i = 0; vmi && i < vmi->interfaces.n; i++)
        if (vmi->interfaces.v[i].pod_network && vmi->interfaces.v[i].ip) {
            kvmig__str_set(ip, vmi->interfaces.v[i].ip);
            return;
        }
}

static void tell_ready(struct kvmig__kube_driver *d)
{
    if (!d->volumes.moves.n || !d->follow.domain_ready_ms || d->volumes.ready_ms == d->follow.domain_ready_ms)
        return;
    d->volumes.ready_ms = d->follow.domain_ready_ms;
    kvmig__kube_checkpoint(d); /* the VMI that knows it may be gone when it is needed */
}

/* Also once a cancel is under way, or it is over: it may have moved the guest, and ports have to follow it there. */
static void tell_target(struct kvmig__kube_driver *d)
{
    if (kvmig__str_eq(d->told_target, d->follow.target_node))
        return;
    kvmig__str_set(&d->told_target, d->follow.target_node);
    kvmig__kube_checkpoint(d);
    kvmig__session_target(d->session, d->told_target);
}

static void tell_mode(struct kvmig__kube_driver *d)
{
    if (!d->call_out || d->follow.mode == d->told_mode)
        return;
    d->told_mode = d->follow.mode;
    kvmig__session_mode_changed(d->session, d->told_mode);
}

void kvmig__kube_follow_look(struct kvmig__kube_driver *d)
{
    if (!d->following)
        return;
    if (d->waits_timer.due_ms == INT64_MAX)
        kvmig__timer_arm_in(&d->waits_timer, WAITS_SOON_MS);
    if (!d->vmim)
        return;
    kvmig__follow_update(&d->follow, kvmig__kube_store(d), kvmig__wall_ms());
    note_phases(d);
    note_addresses(d);
    kvmig__kube_policy_look(d);
    tell_ready(d);
    tell_mode(d);
    tell_target(d); /* last: a port that fails at once may begin another step */
}

/* ---- what it waits for ---- */

static void say_request(struct kvmig__kube_driver *d, struct kvmig_explanation *explanation)
{
    const struct kvmig__errand *errand = kvmig__errand_busy(&d->create) ? &d->create
                                         : kvmig__errand_busy(&d->act)  ? &d->act
                                                                        : &d->back_errand;
    struct kvmig__wait *wait;

    if (!kvmig__errand_busy(errand) || !errand->path)
        return;
    wait = kvmig__explanation_add(explanation, "WAITING", KVMIG_SEVERITY_INFO, 0);
    wait->object = kvmig__kube_where(d);
    wait->waits_for = kvmig__strdup("request");
    wait->condition = kvmig__asprintf("the API server's answer to %s %s", errand->method, errand->path);
}

void kvmig__kube_explain(struct kvmig__kube_driver *d, struct kvmig_explanation *explanation)
{
    const struct kvmig_error *lost = kvmig__kube_backend_lost(d->backend, KVMIG__KUBE_VMIM);

    if (lost) {
        struct kvmig__wait *wait = kvmig__explanation_add(explanation, "UNDECIDED", KVMIG_SEVERITY_ERROR, 1);

        wait->object = kvmig__strdup("cluster");
        wait->condition = kvmig__strdup("the API server answers again; what is shown may be out of date");
        wait->evidence = kvmig__strdup(lost->message);
    }
    say_request(d, explanation);
    if (d->following)
        kvmig__explain_kube(explanation, kvmig__kube_store(d), kvmig__kube_our_vmi(d), kvmig__kube_our_vmim(d),
                            d->vmim ? &d->follow : NULL, kvmig__wall_ms());
}

static char *detail_of(const struct kvmig_wait *wait)
{
    struct kvmig__detail detail = { NULL, 0 };

    kvmig__detail_str(&detail, "waits_for", wait->waits_for);
    kvmig__detail_str(&detail, "evidence", wait->evidence);
    kvmig__detail_str(&detail, "limit", wait->limit);
    if (wait->since_ms > 0)
        kvmig__detail_uint(&detail, "since_ms", (uint64_t)wait->since_ms);
    if (wait->ends_ms > 0)
        kvmig__detail_uint(&detail, "ends_ms", (uint64_t)wait->ends_ms);
    return kvmig__detail_take(&detail);
}

/* The first blocker, if it is another one than before. */
static void tell_wait(struct kvmig__kube_driver *d, const struct kvmig_wait *wait)
{
    struct kvmig_findings list = { NULL, 0 };
    char *key = wait ? kvmig__asprintf("%s %d %s %s", wait->code, (int)wait->severity, wait->object,
                                       wait->condition ? wait->condition : "")
                     : NULL;
    char *detail;

    if (wait && !kvmig__str_eq(key, d->told_wait)) {
        detail = detail_of(wait);
        kvmig__findings_add(&list, wait->code, wait->severity, wait->object, NULL, detail, wait->hint, "%s",
                            wait->condition ? wait->condition : "waits");
        kvmig__session_waits(d->session, &list.v[0]);
        kvmig__findings_clear(&list);
        free(detail);
    }
    free(d->told_wait);
    d->told_wait = key;
}

void kvmig__kube_waits_due(void *data)
{
    struct kvmig__kube_driver *d = data;
    struct kvmig_explanation *explanation;

    if (d->step != KVMIG__STEP_ADMIT && d->step != KVMIG__STEP_SCHEDULE && d->step != KVMIG__STEP_PREPARE &&
        d->step != KVMIG__STEP_MIGRATE) /* a gate's wait is the session's to tell */
        return;
    explanation = kvmig__explanation_new();
    kvmig__kube_explain(d, explanation);
    kvmig__explanation_finish(explanation);
    tell_wait(d, kvmig_explanation_wait(explanation, 0));
    kvmig_explanation_unref(explanation);
}

/* ---- SCHEDULE and PREPARE ---- */

void kvmig__kube_stage_look(struct kvmig__kube_driver *d)
{
    const int32_t wanted = d->step == KVMIG__STEP_SCHEDULE ? KVMIG__STAGE_SCHEDULED : KVMIG__STAGE_TARGET_READY;

    if (kvmig__kube_has_ended_badly(d))
        kvmig__kube_step_failed(d, kvmig__kube_ended_error(d));
    else if (kvmig__kube_source_moved(d))
        kvmig__kube_step_failed(d, kvmig__kube_source_moved_error(d));
    else if (kvmig__kube_has_reached(d, wanted))
        kvmig__kube_step_ok(d);
    else if (d->back.wanted && kvmig__kube_taken_back(d))
        kvmig__kube_step_failed(d, kvmig__kube_cancelled_error(d));
}

void kvmig__kube_stage_due(struct kvmig__kube_driver *d)
{
    kvmig__kube_step_failed(d, kvmig__kube_late_error(d, "prepare_timeout_ms", d->wishes->prepare_ms,
                                                      d->step == KVMIG__STEP_SCHEDULE
                                                          ? "the target pod did not become ready"
                                                          : "the target was not prepared"));
}

/* ---- MIGRATE ---- */

void kvmig__kube_migrate_begin(struct kvmig__kube_driver *d)
{
    d->call_out = true;
    d->abort_by_ms = d->moved_by_ms = 0;
    d->told_mode = KVMIG_MODE_PRE_COPY;
    if (d->prepare_by_ms)
        kvmig__timer_arm(&d->step_timer, d->prepare_by_ms);
}

static void call_ok(struct kvmig__kube_driver *d)
{
    d->call_out = false;
    d->step = -1;
    kvmig__timer_disarm(&d->step_timer);
    kvmig__session_call_done(d->session, NULL, false);
}

static void call_hung(struct kvmig__kube_driver *d, struct kvmig_error *error)
{
    d->call_out = false;
    d->step = -1;
    kvmig__timer_disarm(&d->step_timer);
    kvmig__session_call_done(d->session, error, true);
}

/* One of the two, guest and record, has come; the other follows soon, or somebody holds it up (a CPU or memory
 * hotplug to be completed). */
static bool record_is_late(struct kvmig__kube_driver *d)
{
    if (!d->moved_by_ms)
        d->moved_by_ms = kvmig__now_ms() + d->limits.step_ms;
    kvmig__timer_arm(&d->step_timer, d->moved_by_ms);
    return kvmig__now_ms() >= d->moved_by_ms;
}

/* Ours is the limit up to the copy; the copy itself is bounded by the session. */
static bool copy_is_late(const struct kvmig__kube_driver *d)
{
    return d->prepare_by_ms && kvmig__now_ms() >= d->prepare_by_ms && d->follow.stage < KVMIG__STAGE_RUNNING &&
           !d->follow.start_ms && !d->abort_by_ms && kvmig__kube_is_ours_to_end(d);
}

void kvmig__kube_migrate_look(struct kvmig__kube_driver *d)
{
    const bool moved = kvmig__kube_has_moved(d);

    if (moved || is_reported_done(d)) {
        if ((moved && (kvmig__kube_is_over(d) || d->abort_by_ms)) || record_is_late(d))
            call_ok(d);
        return;
    }
    if (copy_is_late(d)) {
        call_hung(d, kvmig__kube_late_error(d, "prepare_timeout_ms", d->wishes->prepare_ms, "the copy did not begin"));
        return;
    }
    if (kvmig__kube_has_ended_badly(d)) {
        kvmig__kube_step_failed(d, kvmig__kube_ended_error(d));
    } else if (d->abort_by_ms && (d->back.failed || kvmig__now_ms() >= d->abort_by_ms)) {
        call_hung(d, d->back.failed ? kvmig__error_copy(d->back.error)
                                    : kvmig__kube_late_error(d, "abort_timeout_ms", d->limits.abort_ms,
                                                             "the migration did not end after it was aborted"));
    }
}
