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

void kvmig__session_step_done(struct kvmig_session *session, enum kvmig__step step, struct kvmig_error *error)
{
    enum kvmig__fsm_input input = error ? KVMIG__IN_STEP_FAIL : KVMIG__IN_STEP_OK;

    if (!takes_answer(session, (int32_t)step, "this step")) {
        kvmig__error_free(error);
        return;
    }
    if (error && step == KVMIG__STEP_FINISH)
        input = kvmig__session_finish_failed(session, error);
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
    kvmig__session_feed(session, hung ? KVMIG__IN_CALL_HUNG : error ? KVMIG__IN_CALL_FAIL : KVMIG__IN_CALL_OK, error);
}

void kvmig__session_abort_refused(struct kvmig_session *session, struct kvmig_error *error)
{
    if (is_call_out(session))
        kvmig__session_feed(session, KVMIG__IN_ABORT_REFUSED, error);
    else
        kvmig__error_free(error);
}

/* ---- where the guest is ---- */

static const char *host_of_side(const struct kvmig_session *session, int32_t side)
{
    return side < 0 ? session->plan->source : side > 0 ? session->plan->target : NULL;
}

static void judge(struct kvmig_session *session, const struct kvmig__resolution *resolution,
                  const struct kvmig__side *source, const struct kvmig__side *target)
{
    const struct kvmig__outcome_facts facts = {
        .call_begun = session->call_begun,
        .strict = session->plan->request.handover == KVMIG_HANDOVER_STRICT,
        .was_paused = session->plan->was_paused,
    };
    const struct kvmig__outcome outcome = kvmig__outcome_of(&facts, resolution, source, target);
    struct kvmig__report *report = session->report;

    session->resolution = *resolution;
    session->left_paused = outcome.left_paused;
    kvmig__str_set(&report->final_host, host_of_side(session, outcome.side));
    kvmig__str_set(&report->final_proof, outcome.proof);
    kvmig__str_set(&report->final_verdict, kvmig_location_verdict_name(resolution->verdict));
    kvmig__session_feed(session, (enum kvmig__fsm_input)outcome.input,
                        outcome.error_code ? kvmig__session_unknown_error(session, &outcome, source, target) : NULL);
}

void kvmig__session_located(struct kvmig_session *session, const struct kvmig__resolution *resolution,
                            const struct kvmig__side *source, const struct kvmig__side *target)
{
    if (takes_answer(session, KVMIG__STEP_LOCATE, "where the guest is"))
        judge(session, resolution, source, target);
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
