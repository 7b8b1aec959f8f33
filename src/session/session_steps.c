/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The steps that touch hosts: begins them on the driver, and judges how the last steps ended. Does not take
 * answers of the driver (session_driver.c), nor wait for ports (session_gate.c). With the context lock held; the session owns its driver.
 */
#include "session/session_internal.h"

#define MIB ((uint64_t)1024 * 1024)

void kvmig__session_begin(struct kvmig_session *session, enum kvmig__step step)
{
    session->awaited = (int32_t)step;
    session->driver->ops->begin(session->driver, step);
}

/* ---- the call ---- */

static uint64_t bytes_of(uint64_t mib)
{
    return mib > UINT64_MAX / MIB ? UINT64_MAX : mib * MIB;
}

void kvmig__session_migrate(struct kvmig_session *session)
{
    const struct kvmig__request *request = &session->plan->request;
    const struct kvmig__eta_limits limits = {
        .bandwidth_bytes_per_s = bytes_of(request->bandwidth_mib),
        .postcopy_bandwidth_bytes_per_s = bytes_of(request->postcopy_bandwidth_mib),
        .max_downtime_ms = request->max_downtime_ms,
    };

    session->call_begun = true;
    session->report->call_started_ms = kvmig__now_ms();
    kvmig__eta_init(&session->eta, &limits);
    kvmig__session_begin(session, KVMIG__STEP_MIGRATE);
    /* Whatever could not be proven before the interface was plugged; it runs beside the copying of memory. */
    kvmig__session_ports_verify(session, false);
}

void kvmig__session_locate(struct kvmig_session *session)
{
    if (session->call_begun && !session->report->call_ended_ms)
        session->report->call_ended_ms = kvmig__now_ms(); /* it was given up */
    session->witness = NULL; /* of an earlier question: it frees itself */
    kvmig__session_begin(session, KVMIG__STEP_LOCATE);
}

/* ---- the ends ---- */

void kvmig__session_finish(struct kvmig_session *session)
{
    kvmig__session_close_begin(session, true);
    kvmig__session_begin(session, KVMIG__STEP_FINISH);
}

/* Everything that a step creates is in the ledger before it is created; an incoming copy comes with the call only. */
void kvmig__session_undo(struct kvmig_session *session)
{
    kvmig__session_close_begin(session, false);
    if (session->call_begun || session->report->created.n)
        kvmig__session_begin(session, KVMIG__STEP_UNDO);
    else
        kvmig__session_close_driver(session, KVMIG__IN_STEP_OK, NULL);
}

enum kvmig__fsm_input kvmig__session_finish_failed(const struct kvmig_session *session, const struct kvmig_error *error)
{
    const struct kvmig_plan *plan = session->plan;
    const bool to_resume = plan->request.handover == KVMIG_HANDOVER_STRICT && !plan->was_paused &&
                           session->resolution.verdict == KVMIG_LOCATION_TARGET_PAUSED;

    if (to_resume && session->report->handover_wait_ms == KVMIG__UNKNOWN)
        return KVMIG__IN_AT_UNKNOWN;
    /* What is not known about the source alone is a leftover there. */
    if (error->code == -KVMIG_EUNKNOWN && !kvmig__str_eq(error->where, plan->source))
        return KVMIG__IN_AT_UNKNOWN;
    return KVMIG__IN_STEP_FAIL;
}

enum kvmig__fsm_input kvmig__session_undo_ended(const struct kvmig_session *session, const struct kvmig_error *error)
{
    if (session->last_look == KVMIG__LOOK_GONE || (error && error->code == -KVMIG_EUNKNOWN))
        return KVMIG__IN_AT_UNKNOWN;
    return error ? KVMIG__IN_STEP_FAIL : KVMIG__IN_STEP_OK;
}

enum kvmig__fsm_input kvmig__session_undo_overdue(const struct kvmig_session *session)
{
    /* Before the call nothing of ours touched the guest: only what was created can be left. */
    if (session->last_look == KVMIG__LOOK_RUNS || (!session->call_begun && session->last_look == KVMIG__LOOK_NONE))
        return KVMIG__IN_DEADLINE;
    return KVMIG__IN_AT_UNKNOWN;
}
