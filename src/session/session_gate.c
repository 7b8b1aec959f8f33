/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a session waits for its ports and probes: two gates before the migrate call, and the end, which comes when the driver,
 * the ports and the service are done. Waits by being told (kvmig__session_gate_look()) and, for probes, by a timer; deadlines are
 * those of the session's states. In dispatch or a public call, with the context lock held.
 */
#include "session/session_internal.h"

#include <stdlib.h>

#define LOOK_MS 20 /* how often probes are asked: about as often as they try */

/* ---- the gates ---- */

/* A delivery, queued behind the event of the phase: a caller that cancels in its callback is heard before the next step. */
static void gate_heard(void *data)
{
    struct kvmig_session *session = data;
    struct kvmig_context *context = session->context;

    kvmig__context_lock(context);
    session->followers.gate.heard = true;
    kvmig__session_gate_look(session);
    kvmig__session_release(session);
    kvmig__context_unlock(context);
}

static bool is_gate(enum kvmig__fsm_state state)
{
    return state == KVMIG__ST_SCHEDULED || state == KVMIG__ST_READY;
}

void kvmig__session_gate(struct kvmig_session *session)
{
    struct kvmig__followers *followers = &session->followers;

    followers->gate.open = true;
    followers->gate.heard = false;
    if (session->state == KVMIG__ST_SCHEDULED) {
        kvmig__session_ports_prepare(session);
    } else {
        kvmig__session_ports_verify(session, session->driver->plugs_late);
        kvmig__session_probes_start(session);
        followers->gate.probes_by_ms = kvmig__now_ms() + KVMIG__FIRST_ANSWER_MS;
    }
    kvmig__session_hold(session);
    kvmig__context_deliver(session->context, gate_heard, NULL, session, true);
}

static bool waits_for_probes(struct kvmig_session *session)
{
    struct kvmig__followers *followers = &session->followers;

    if (session->state != KVMIG__ST_READY || kvmig__session_probes_ready(session) ||
        kvmig__now_ms() >= followers->gate.probes_by_ms)
        return false;
    kvmig__timer_arm_in(&followers->look, LOOK_MS);
    return true;
}

static void look_at_gate(struct kvmig_session *session)
{
    struct kvmig__followers *followers = &session->followers;
    const struct kvmig_error *error = NULL;

    if (!followers->gate.open || !followers->gate.heard)
        return;
    if (is_gate(session->state)) { /* else it was cancelled: nobody waits for the ports any more */
        if (kvmig__session_ports_busy(session))
            return;
        error = kvmig__session_ports_error(session);
        if (!error && waits_for_probes(session))
            return;
    }
    followers->gate.open = false;
    kvmig__session_feed(session, error ? KVMIG__IN_STEP_FAIL : KVMIG__IN_STEP_OK, kvmig__error_copy(error));
}

/* ---- the end ---- */

void kvmig__session_close_begin(struct kvmig_session *session, bool moved)
{
    struct kvmig__followers *followers = &session->followers;

    followers->close.open = true;
    followers->close.moved = moved;
    followers->close.driver_done = false;
    followers->close.since_ms = kvmig__now_ms();
    /* Clients wait for the target's port. The source's still forwards: it is put back when the last look at the hosts has
     * confirmed that the guest is there. */
    if (moved)
        kvmig__session_ports_follow(session, true);
}

static void close_now(struct kvmig_session *session)
{
    struct kvmig__followers *followers = &session->followers;
    struct kvmig_error *error = followers->close.error;

    followers->close.open = false;
    followers->close.error = NULL;
    kvmig__timer_disarm(&followers->look);
    if (followers->close.input != KVMIG__IN_AT_UNKNOWN) {
        kvmig__session_ports_tell(session, followers->close.moved);
        kvmig__session_probes_tell(session);
    }
    kvmig__session_feed(session, followers->close.input, error);
}

static bool waits_for_service(struct kvmig_session *session)
{
    struct kvmig__followers *followers = &session->followers;

    if (!followers->close.moved || kvmig__session_probes_answered(session, followers->close.since_ms) ||
        kvmig__now_ms() >= followers->close.service_by_ms)
        return false;
    kvmig__timer_arm_in(&followers->look, LOOK_MS);
    return true;
}

static void look_at_close(struct kvmig_session *session)
{
    struct kvmig__followers *followers = &session->followers;

    if (!followers->close.open || !followers->close.driver_done || kvmig__session_ports_busy(session))
        return;
    if (followers->close.input == KVMIG__IN_AT_UNKNOWN || !waits_for_service(session))
        close_now(session);
}

void kvmig__session_close_driver(struct kvmig_session *session, enum kvmig__fsm_input input, struct kvmig_error *error)
{
    struct kvmig__followers *followers = &session->followers;

    if (!followers->close.open) {
        kvmig__session_feed(session, input, error);
        return;
    }
    followers->close.driver_done = true;
    followers->close.input = input;
    followers->close.error = error;
    followers->close.service_by_ms = kvmig__now_ms() + followers->service_ms;
    if (!followers->close.moved && input != KVMIG__IN_AT_UNKNOWN)
        kvmig__session_ports_follow(session, false);
    kvmig__session_wait_for_followers(session);
    look_at_close(session);
}

bool kvmig__session_close_overdue(struct kvmig_session *session)
{
    if (!session->followers.close.open || !session->followers.close.driver_done)
        return false;
    close_now(session);
    return true;
}

void kvmig__session_gate_look(struct kvmig_session *session)
{
    kvmig__session_hold(session);
    look_at_gate(session);
    look_at_close(session);
    kvmig__session_release(session);
}
