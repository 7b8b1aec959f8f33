/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a driver tells its session. Answers that nobody waits for any more (a step that was given up, a session that has
 * ended) change nothing. In dispatch, with the context lock held.
 */
#include "session/session_internal.h"

static bool takes_answer(struct kvmig_session *session, int32_t step, const char *what)
{
    if (session->awaited == step) {
        session->awaited = KVMIG__NO_STEP;
        return true;
    }
    kvmig__log(session->context, KVMIG_LOG_DEBUG, "session", "%s: nobody waits for %s any more", session->id, what);
    return false;
}

static bool is_call_out(const struct kvmig_session *session)
{
    return session->awaited == KVMIG__STEP_MIGRATE;
}

/* The last figures, with the pause that became of the expected one; the report has them from the finished job. */
static void tell_final_figures(struct kvmig_session *session)
{
    const struct kvmig__report *report = session->report;
    const struct kvmig_progress final = {
        .size = sizeof(final),
        .elapsed_ms = report->total_ms,
        .memory_total = report->memory_total,
        .memory_sent = report->memory_sent,
        .memory_remaining = 0,
        .pages_normal = report->pages_normal,
        .pages_constant = report->pages_constant,
        .page_size = report->page_size,
        .disk_total = report->disk_total,
        .disk_sent = report->disk_sent,
        .disk_remaining = 0,
        .dirty_bytes_per_s = KVMIG__UNKNOWN,
        .bandwidth_bytes_per_s = report->bandwidth_bytes_per_s,
        .expected_pause_ms = KVMIG__UNKNOWN,
        .final_pause_ms = report->pause_source_ms,
        .iteration = report->iterations,
        .eta_ms = 0,
        .eta_reason = KVMIG_ETA_SWITCHING,
    };
    struct kvmig_event *event;

    if (report->pause_source_ms == KVMIG__UNKNOWN)
        return;
    event = kvmig__event_new(KVMIG_EVENT_PROGRESS);
    kvmig__event_set_progress(event, &final);
    kvmig__session_emit(session, event);
}

void kvmig__session_step_done(struct kvmig_session *session, enum kvmig__step step, struct kvmig_error *error)
{
    enum kvmig__fsm_input input = error ? KVMIG__IN_STEP_FAIL : KVMIG__IN_STEP_OK;

    if (!takes_answer(session, (int32_t)step, "this step")) {
        kvmig__error_free(error);
        return;
    }
    if (error && step == KVMIG__STEP_FINISH)
        input = kvmig__session_finish_failed(session, error);
    if (step == KVMIG__STEP_UNDO)
        input = kvmig__session_undo_ended(session, error);
    if (input == KVMIG__IN_STEP_OK && step == KVMIG__STEP_FINISH)
        tell_final_figures(session);
    if (step == KVMIG__STEP_FINISH || step == KVMIG__STEP_UNDO)
        kvmig__session_close_driver(session, input, error);
    else
        kvmig__session_feed(session, input, error);
}

void kvmig__session_call_done(struct kvmig_session *session, struct kvmig_error *error, bool hung)
{
    if (!takes_answer(session, KVMIG__STEP_MIGRATE, "the migrate call")) {
        kvmig__error_free(error);
        return;
    }
    session->report->call_ended_ms = kvmig__now_ms();
    session->call_error = kvmig__error_copy(error);
    session->call_ok = !error && !hung;
    session->call_failed = error && !hung;
    kvmig__session_feed(session, hung ? KVMIG__IN_CALL_HUNG : error ? KVMIG__IN_CALL_FAIL : KVMIG__IN_CALL_OK, error);
}

void kvmig__session_abort_refused(struct kvmig_session *session, struct kvmig_error *error)
{
    if (!is_call_out(session)) {
        kvmig__error_free(error);
        return;
    }
    kvmig__session_mode_changed(session, KVMIG_MODE_POST_COPY); /* which is what an abort is refused for */
    kvmig__session_feed(session, KVMIG__IN_ABORT_REFUSED, error);
}

/* ---- where the guest is ---- */

static const char *host_of_side(const struct kvmig_session *session, int32_t side)
{
    return side < 0 ? session->plan->source : side > 0 ? session->plan->target : NULL;
}

static struct kvmig__outcome outcome_of(const struct kvmig_session *session, const struct kvmig__resolution *resolution,
                                        const struct kvmig__side *source, const struct kvmig__side *target)
{
    const struct kvmig__outcome_facts facts = {
        .call_begun = session->call_begun || session->asked_platform,
        .call_ok = session->call_ok,
        .call_failed = session->call_failed,
        .strict = session->plan->request.handover == KVMIG_HANDOVER_STRICT,
        .was_paused = session->plan->was_paused,
    };

    return kvmig__outcome_of(&facts, resolution, source, target);
}

static void set_final(struct kvmig_session *session, int32_t side, int32_t verdict, const char *proof)
{
    struct kvmig__report *report = session->report;

    session->resolution.verdict = verdict;
    kvmig__str_set(&report->final_host, host_of_side(session, side));
    kvmig__str_set(&report->final_proof, proof);
    kvmig__str_set(&report->final_verdict, kvmig_location_verdict_name(verdict));
}

void kvmig__session_judge(struct kvmig_session *session, const struct kvmig__resolution *resolution,
                          const struct kvmig__side *source, const struct kvmig__side *target)
{
    const struct kvmig__outcome outcome = outcome_of(session, resolution, source, target);

    session->resolution = *resolution;
    session->left_paused = outcome.left_paused;
    set_final(session, outcome.side, outcome.verdict, outcome.proof);
    kvmig__session_feed(session, (enum kvmig__fsm_input)outcome.input,
                        outcome.error_code ? kvmig__session_unknown_error(session, &outcome, source, target) : NULL);
}

void kvmig__session_located(struct kvmig_session *session, const struct kvmig__resolution *resolution,
                            const struct kvmig__side *source, const struct kvmig__side *target)
{
    if (session->awaited == KVMIG__STEP_LOCATE && kvmig__session_ask_witness(session, resolution, source, target))
        return;
    if (takes_answer(session, KVMIG__STEP_LOCATE, "where the guest is"))
        kvmig__session_judge(session, resolution, source, target);
}

/* ---- the last look, after the roll-back ---- */

static int32_t look_of(const struct kvmig_session *session, const struct kvmig__side *source,
                       const struct kvmig__side *target)
{
    if (target->reachable && target->state == KVMIG__STATE_RUNNING)
        return KVMIG__LOOK_GONE;
    if (!source->reachable)
        return KVMIG__LOOK_NONE;
    switch (source->state) {
    case KVMIG__STATE_RUNNING:
    case KVMIG__STATE_SUSPENDED_PM: /* the guest sleeps by its own will */
        return KVMIG__LOOK_RUNS;
    case KVMIG__STATE_PAUSED:
        return session->plan->was_paused ? KVMIG__LOOK_RUNS : KVMIG__LOOK_STOPPED;
    default:
        return KVMIG__LOOK_GONE;
    }
}

static void note_stopped(struct kvmig_session *session, const struct kvmig__side *source)
{
    kvmig__session_say_finding(session, "SOURCE_NOT_RUNNING", KVMIG_SEVERITY_WARN, session->plan->source,
                               kvmig__domain_reason_name(source->reason),
                               "Ask with kvmig_cluster_locate(): it says whether the guest may be resumed there.",
                               "the guest is on %s, and is paused there although it was not before",
                               session->plan->source);
}

/* A host that fell silent takes nothing back of what was proven before. */
static void set_last_final(struct kvmig_session *session, const struct kvmig__side *source,
                           const struct kvmig__side *target)
{
    const struct kvmig__resolution resolution = kvmig__resolve(source, target, target);
    const struct kvmig__outcome outcome = outcome_of(session, &resolution, source, target);

    if (source->reachable && target->reachable)
        set_final(session, outcome.side, outcome.verdict, outcome.proof);
    else if (session->last_look == KVMIG__LOOK_RUNS)
        set_final(session, -1, KVMIG_LOCATION_FAILED,
                  "the guest was proven to be on the source and is there; what is left on the target cannot be asked");
}

void kvmig__session_final_side(struct kvmig_session *session, const struct kvmig__side *source,
                               const struct kvmig__side *target)
{
    if (session->awaited != KVMIG__STEP_UNDO)
        return;
    session->last_look = look_of(session, source, target);
    set_last_final(session, source, target);
    if (session->last_look == KVMIG__LOOK_STOPPED)
        note_stopped(session, source);
}

void kvmig__session_handover_proof(struct kvmig_session *session, bool source_seen_stopped)
{
    if (session->awaited == KVMIG__STEP_FINISH)
        session->handover = source_seen_stopped ? KVMIG__HANDOVER_SOURCE_STOPPED : KVMIG__HANDOVER_CALL_OK;
}

/* ---- while the call runs ---- */

void kvmig__session_progress(struct kvmig_session *session, const struct kvmig_progress *progress)
{
    struct kvmig_progress told = *progress;
    struct kvmig__eta_answer eta;
    struct kvmig_event *event;

    if (!is_call_out(session))
        return;
    eta = kvmig__eta_sample(&session->eta, progress, session->mode);
    kvmig__learning_sample(&session->learning, progress, session->mode);
    if (told.eta_ms == KVMIG__UNKNOWN && told.eta_reason == KVMIG_ETA_UNKNOWN) {
        told.eta_ms = eta.ms;
        told.eta_reason = eta.reason;
    }
    event = kvmig__event_new(KVMIG_EVENT_PROGRESS);
    kvmig__event_set_progress(event, &told);
    kvmig__session_emit(session, event);
}

void kvmig__session_mode_changed(struct kvmig_session *session, int32_t mode)
{
    if (!is_call_out(session) || mode == session->mode)
        return;
    session->mode = mode;
    if (mode == KVMIG_MODE_POST_COPY)
        session->report->postcopy_used = true;
    kvmig__session_emit(session, kvmig__event_new(KVMIG_EVENT_MODE));
}

struct kvmig__report *kvmig__session_get_report(struct kvmig_session *session)
{
    return session->report;
}

const struct kvmig_plan *kvmig__session_plan(struct kvmig_session *session)
{
    return session->plan;
}
