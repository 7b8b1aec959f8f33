/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How a session ends: what becomes of its errors on the way, the last words in the report, the terminal event, and
 * letting go of everything. With the context lock held; the clean-up is a delivery of its own, queued after the terminal event, so
 * that no driver is freed while it is calling, and nothing of the caller's is freed before the event has reached it.
 */
#include "session/session_internal.h"

#include "base/json_internal.h"

#include <stdlib.h>

/* ---- errors on the way ---- */

static void keep_first(struct kvmig_session *session, struct kvmig_error *error)
{
    if (!session->report->error) {
        session->report->error = error;
        return;
    }
    kvmig__log(session->context, KVMIG_LOG_INFO, "session", "%s: %s", session->id, kvmig_error_message(error));
    kvmig__error_free(error);
}

static void replace(struct kvmig_session *session, struct kvmig_error *error)
{
    kvmig__error_free(session->report->error);
    session->report->error = error;
}

static bool says_unknown(const struct kvmig_error *error)
{
    return error->code == -KVMIG_EUNKNOWN || error->code == -KVMIG_ELOST || error->code == -KVMIG_ESPLIT;
}

static char *leftovers_of(const struct kvmig__report *report)
{
    struct kvmig__strlist names = { NULL, 0 };
    char *text = NULL;

    for (size_t i = 0; i < report->created.n; i++) {
        const struct kvmig__report_item *item = &report->created.v[i];

        if (!kvmig__str_eq(item->outcome, "undone")) {
            char *name = kvmig__asprintf("%s %s%s%s", item->kind, item->name, item->host ? " on " : "",
                                         item->host ? item->host : "");

            kvmig__strlist_add(&names, name);
            free(name);
        }
    }
    if (names.n)
        text = kvmig__strlist_join(&names, ", ");
    kvmig__strlist_clear(&names);
    return text;
}

static void note_rollback_incomplete(struct kvmig_session *session, const struct kvmig_error *error, bool proven)
{
    char *evidence = kvmig__error_text(error), *leftovers = leftovers_of(session->report);
    const bool paused = session->resolution.verdict == KVMIG_LOCATION_FAILED_SOURCE_PAUSED;

    kvmig__session_say_finding(
        session, "ROLLBACK_INCOMPLETE", KVMIG_SEVERITY_ERROR, NULL, evidence,
        paused ? "Ask with kvmig_cluster_locate() and resume the guest on the source if it is still "
                 "paused; then remove what is left."
               : "Remove what is left when the host can be reached again.",
        proven ? "the guest is on %s, but not everything could be undone%s%s"
               : "it is not proven that the guest runs on %s, and not everything was undone%s%s",
        session->plan->source, leftovers ? "; left: " : "", leftovers ? leftovers : "");
    free(evidence);
    free(leftovers);
}

static void note_cleanup_pending(struct kvmig_session *session, const struct kvmig_error *error)
{
    char *evidence = kvmig__error_text(error);

    kvmig__session_say_finding(session, "SOURCE_CLEANUP_PENDING", KVMIG_SEVERITY_WARN, session->plan->source, evidence,
                               "Remove what is left of the VM on the source; never start it there.",
                               "the guest runs on %s; what is left of it on %s could not be removed",
                               kvmig__session_target_name(session), session->plan->source);
    free(evidence);
}

static void note_moved_anyway(struct kvmig_session *session)
{
    char *evidence = kvmig__error_text(session->report->error ? session->report->error : session->call_error);

    kvmig__session_say_finding(
        session, "SUCCEEDED_UNREPORTED", KVMIG_SEVERITY_WARN, kvmig__session_target_name(session), evidence, NULL,
        "the guest is on %s, although the migrate call did not report success", kvmig__session_target_name(session));
    replace(session, NULL);
    free(evidence);
}

static void note_left_paused(struct kvmig_session *session)
{
    kvmig__session_say_finding(session, "TARGET_LEFT_PAUSED", KVMIG_SEVERITY_WARN, kvmig__session_target_name(session),
                               NULL, "Resume it on the target when whoever paused it agrees.",
                               "the guest was paused by somebody else during the migration and is left so on %s",
                               kvmig__session_target_name(session));
}

static bool is_undoing(enum kvmig__fsm_state state)
{
    return state == KVMIG__ST_UNDOING_FAIL || state == KVMIG__ST_UNDOING_CANCEL;
}

/* What the report says in the end must not be older than the doubt. */
static struct kvmig_error *unproven_after_undo(struct kvmig_session *session, const struct kvmig_error *error)
{
    struct kvmig__report *report = session->report;
    char *leftovers = leftovers_of(report);

    if (leftovers)
        note_rollback_incomplete(session, error, false);
    free(leftovers);
    if (session->last_look == KVMIG__LOOK_NONE) {
        kvmig__str_set(&report->final_host, NULL);
        kvmig__str_set(&report->final_verdict, kvmig_location_verdict_name(KVMIG_LOCATION_UNDECIDED));
        kvmig__str_set(&report->final_proof,
                       "the roll-back began with the guest on the source, but it did not prove that "
                       "the guest runs there");
    }
    return kvmig__session_not_held_error(session, error);
}

static void note_indeterminate(struct kvmig_session *session, struct kvmig_error *error)
{
    struct kvmig_error *final = error;

    kvmig__session_ports_left(session);
    if (session->state == KVMIG__ST_FINISHING)
        final = kvmig__session_not_running_error(session, error);
    else if (is_undoing(session->state))
        final = unproven_after_undo(session, error);
    else if (!error || !says_unknown(error))
        final = kvmig__session_unanswered_error(session, error);
    if (final != error)
        kvmig__error_free(error);
    replace(session, final);
}

static void note_undo_failed(struct kvmig_session *session, enum kvmig__fsm_state next, struct kvmig_error *error)
{
    note_rollback_incomplete(session, error, true);
    /* A cancelled session has no other error to tell. */
    if (next == KVMIG__ST_CANCELLED)
        keep_first(session, error);
    else
        kvmig__error_free(error);
}

static void note_target(struct kvmig_session *session)
{
    if (session->state != KVMIG__ST_VERIFYING)
        note_moved_anyway(session);
    if (session->left_paused)
        note_left_paused(session);
}

/* Whether an error on the way to this state is why the session does not succeed. */
static bool is_cause(enum kvmig__fsm_state next)
{
    return next == KVMIG__ST_FAILED || next == KVMIG__ST_LOCATING_FAIL || next == KVMIG__ST_UNDOING_FAIL ||
           next == KVMIG__ST_ABORTING_TIMEOUT;
}

void kvmig__session_note(struct kvmig_session *session, enum kvmig__fsm_state next, struct kvmig_error *error)
{
    const enum kvmig__fsm_state state = session->state;

    /* From here on it ends because the caller asked, whatever was wrong before. */
    if (next == KVMIG__ST_ABORTING_CANCEL)
        replace(session, NULL);
    if (next == KVMIG__ST_INDETERMINATE) {
        note_indeterminate(session, error);
    } else if (next == KVMIG__ST_FINISHING && next != state) {
        kvmig__error_free(error);
        note_target(session);
    } else if (!error) {
        if (next == KVMIG__ST_UNDOING_FAIL && !session->report->error)
            replace(session, kvmig__session_stayed_error(session));
    } else if (state == KVMIG__ST_FINISHING) {
        note_cleanup_pending(session, error);
        kvmig__error_free(error);
    } else if (is_undoing(state)) {
        note_undo_failed(session, next, error);
    } else if (is_cause(next)) {
        keep_first(session, error);
    } else {
        kvmig__log(session->context, KVMIG_LOG_INFO, "session", "%s: %s", session->id, kvmig_error_message(error));
        kvmig__error_free(error);
    }
}

/* ---- the end ---- */

static const char *handover_text(const struct kvmig_session *session)
{
    switch (session->handover) {
    case KVMIG__HANDOVER_SOURCE_STOPPED:
        return "the source was seen to hold no running copy, then the guest was resumed on the target (strict "
               "hand-over)";
    case KVMIG__HANDOVER_CALL_OK:
        return "the migrate call reported success, after which nothing in libvirt resumes the source, which could not "
               "be "
               "asked; then the guest was resumed on the target (strict hand-over)";
    default:
        return "the guest was complete on the target and the source not to run it again; then the guest was resumed on "
               "the "
               "target (strict hand-over)";
    }
}

static void complete_report(struct kvmig_session *session)
{
    struct kvmig__report *report = session->report;
    const bool moved = session->state == KVMIG__ST_SUCCEEDED;

    for (size_t i = 0; i < report->created.n; i++)
        if (!report->created.v[i].outcome)
            report->created.v[i].outcome = kvmig__strdup(moved ? "kept" : "left");
    if (!moved)
        return;
    replace(session, NULL);
    if (session->resolution.verdict == KVMIG_LOCATION_TARGET_PAUSED && report->handover_wait_ms != KVMIG__UNKNOWN) {
        kvmig__str_set(&report->final_verdict, kvmig_location_verdict_name(KVMIG_LOCATION_SUCCEEDED));
        kvmig__str_set(&report->final_proof, handover_text(session));
    }
}

/* The next forecast for this VM and these hosts is to be better. */
static void learn(struct kvmig_session *session)
{
    const struct kvmig_plan *plan = session->plan;
    struct kvmig__seen seen;

    if (session->state != KVMIG__ST_SUCCEEDED || !plan || !plan->uuid || !plan->source || !plan->target)
        return;
    if (kvmig__learning_end(&session->learning, session->report, plan->forecast.cap, plan->forecast.limit_s, &seen))
        kvmig__learned_take(kvmig__cluster_learned(session->cluster), plan->uuid, plan->source, plan->target, &seen);
}

static void clean_up(void *data)
{
    struct kvmig_session *session = data;
    struct kvmig_context *context = session->context;

    kvmig__context_lock(context);
    if (session->driver && session->driver->ops->report) {
        session->driver_report = json_object_new_object();
        session->driver->ops->report(session->driver, session->driver_report);
    }
    if (session->driver)
        session->driver->ops->free(session->driver);
    session->driver = NULL;
    kvmig__sink_retire(session->sink, false);
    session->sink = NULL;
    kvmig__cluster_release(session->cluster);
    session->cluster = NULL;
    if (session->node_hosts)
        kvmig__cluster_release(session->node_hosts);
    session->node_hosts = NULL;
    kvmig__session_release(session); /* the hold of the run */
    kvmig__context_unlock(context);
}

void kvmig__session_end(struct kvmig_session *session)
{
    struct kvmig_event *event = kvmig__event_new(KVMIG_EVENT_END);

    kvmig__timer_disarm(&session->deadline);
    kvmig__session_stop_planning(session);
    session->awaited = KVMIG__NO_STEP;
    complete_report(session);
    learn(session);
    kvmig__followers_end(session);
    kvmig__event_set_error(event, session->report->error);
    kvmig__session_emit(session, event);
    kvmig__context_deliver(session->context, clean_up, NULL, session, true);
    kvmig__limits_leave(kvmig__cluster_limits(session->cluster), &session->slot);
    kvmig__cluster_settle_slots(session->cluster);
}
