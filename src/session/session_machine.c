/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs the state machine of a session: takes inputs one after another, looks pairs up in the table, moves, arms the deadline of
 * the state, and calls what carries the actions out. Does not know what a step does (session_steps.c), nor when it ends
 * (session_driver.c). In dispatch or a public call, with the context lock held.
 *
 * An action may bring the next input at once (a slot that is free, nothing to undo): it is queued and taken when the present
 * one is done with, so that no function is ever inside itself.
 */
#include "session/session_internal.h"

#include <errno.h>
#include <stdlib.h>

/* A driver has deadlines of its own. Only if it misses them by this much, the session stops waiting for it. */
static int64_t with_margin(int64_t ms)
{
    return ms + ms / 2 + 1;
}

/* ---- deadlines ---- */

/* How long the driver may take for a step: as it says itself, or else ms. */
static int64_t step_by(const struct kvmig_session *session, enum kvmig__step step, int64_t ms)
{
    const int64_t own_ms = session->driver ? session->driver->step_by_ms[step] : 0;

    return own_ms ? own_ms : ms;
}

/* The call may be lost while the migration goes on: then the driver watches it as long as a call may take. */
static int64_t locate_by(const struct kvmig_session *session, int64_t now_ms)
{
    const struct kvmig__driver_limits *limits = &session->limits;
    const int64_t call_by_ms = session->report->call_started_ms + limits->migrate_ms;

    return (session->call_begun && call_by_ms > now_ms ? call_by_ms : now_ms) +
           step_by(session, KVMIG__STEP_LOCATE, with_margin(limits->resolve_ms));
}

/* Ports have deadlines of their own, and run beside the driver. */
static int64_t or_ports(const struct kvmig_session *session, int64_t ms, int64_t wishes)
{
    const int64_t ports_ms = with_margin(wishes * kvmig__session_ports_longest_ms(session));

    return ms > ports_ms ? ms : ports_ms;
}

void kvmig__session_wait_for_followers(struct kvmig_session *session)
{
    int64_t ms = or_ports(session, 0, 1);

    if (session->followers.probes.n)
        ms += with_margin(session->followers.service_ms);
    kvmig__timer_arm_in(&session->deadline, ms);
}

static int64_t deadline_of(const struct kvmig_session *session, int64_t now_ms)
{
    const struct kvmig__driver_limits *limits = &session->limits;

    switch (session->state) {
    case KVMIG__ST_QUEUED:
        return now_ms + session->queue_ms;
    case KVMIG__ST_CHECKING:
        return now_ms + limits->step_ms;
    case KVMIG__ST_SCHEDULED: /* a preparation that fails is tried once more */
        return now_ms + or_ports(session, limits->step_ms, 2);
    case KVMIG__ST_READY:
        return now_ms + or_ports(session, limits->step_ms, 1) +
               (session->followers.probes.n ? with_margin(KVMIG__FIRST_ANSWER_MS) : 0);
    case KVMIG__ST_RUNNING: /* also when it is entered again after an abort was refused */
        return (session->call_begun ? session->report->call_started_ms : now_ms) + limits->migrate_ms;
    case KVMIG__ST_ABORTING_CANCEL:
    case KVMIG__ST_ABORTING_TIMEOUT:
        return now_ms + with_margin(limits->abort_ms);
    case KVMIG__ST_VERIFYING:
        return now_ms + step_by(session, KVMIG__STEP_LOCATE, with_margin(limits->resolve_ms));
    case KVMIG__ST_LOCATING_FAIL:
    case KVMIG__ST_LOCATING_CANCEL:
        return locate_by(session, now_ms);
    case KVMIG__ST_ADMITTING:
        return now_ms + step_by(session, KVMIG__STEP_ADMIT, with_margin(limits->step_ms));
    case KVMIG__ST_SCHEDULING:
        return now_ms + step_by(session, KVMIG__STEP_SCHEDULE, with_margin(limits->step_ms));
    case KVMIG__ST_PREPARING:
        return now_ms + step_by(session, KVMIG__STEP_PREPARE, with_margin(limits->step_ms));
    case KVMIG__ST_STOPPING_CANCEL:
        return now_ms + with_margin(limits->step_ms);
    case KVMIG__ST_FINISHING: /* then as long as ports and probes need */
        return now_ms + step_by(session, KVMIG__STEP_FINISH, with_margin(limits->step_ms));
    case KVMIG__ST_UNDOING_FAIL:
    case KVMIG__ST_UNDOING_CANCEL: /* each of its parts is given some time, whatever those before it took */
        return now_ms + step_by(session, KVMIG__STEP_UNDO, with_margin(2 * limits->step_ms));
    default:
        return INT64_MAX;
    }
}

static struct kvmig_error *step_error(const struct kvmig_session *session)
{
    return kvmig__error_new(ETIMEDOUT, "step_timeout_ms", NULL,
                            session->driver && session->driver->admits
                                ? "Ask kvmig_session_explain() what it waits for."
                                : "Look at the libvirt daemons of both hosts, or raise step_timeout_ms.",
                            "a step did not end in time (%s)", kvmig__fsm_state_comment(session->state));
}

static struct kvmig_error *deadline_error(const struct kvmig_session *session)
{
    switch (session->state) {
    case KVMIG__ST_QUEUED:
        return kvmig__error_new(ETIMEDOUT, "queue_timeout_ms", NULL,
                                "Raise queue_timeout_ms, or the limits of the cluster (max_migrations, max_outbound, "
                                "max_inbound).",
                                "no slot became free within %lld ms", (long long)session->queue_ms);
    case KVMIG__ST_RUNNING:
        return kvmig__error_new(ETIMEDOUT, "migrate_timeout_ms", NULL,
                                "Raise migrate_timeout_ms; allow a longer pause, more bandwidth, auto-converge or "
                                "post-copy; or migrate when the guest is less busy.",
                                "the migration did not end within %lld ms and was aborted",
                                (long long)session->limits.migrate_ms);
    case KVMIG__ST_SCHEDULED:
    case KVMIG__ST_READY:
        if (kvmig__session_ports_late(session))
            return kvmig__error_new(ETIMEDOUT, kvmig__session_ports_late(session), NULL,
                                    "Look at the port's events and its timeline in the report.",
                                    "port %s did not answer in time", kvmig__session_ports_late(session));
        return step_error(session);
    case KVMIG__ST_ABORTING_CANCEL:
    case KVMIG__ST_ABORTING_TIMEOUT:
        return kvmig__error_new(ETIMEDOUT, "abort_timeout_ms", NULL, "Look at the libvirt daemons of both hosts.",
                                "the migrate call did not return within %lld ms after it was aborted",
                                (long long)session->limits.abort_ms);
    default:
        return step_error(session);
    }
}

void kvmig__session_on_deadline(void *data)
{
    struct kvmig_session *session = data;
    enum kvmig__fsm_input input = KVMIG__IN_DEADLINE;
    struct kvmig_error *error;

    if (kvmig__session_close_overdue(session))
        return;
    error = deadline_error(session);
    /* While it runs, the call goes on until it is aborted; everything else is given up. */
    if (session->state != KVMIG__ST_RUNNING) {
        session->awaited = KVMIG__NO_STEP;
        session->followers.gate.open = false;
    }
    if (session->state == KVMIG__ST_FINISHING && kvmig__session_finish_failed(session, error) == KVMIG__IN_AT_UNKNOWN)
        input = KVMIG__IN_AT_UNKNOWN;
    if (session->state == KVMIG__ST_UNDOING_FAIL || session->state == KVMIG__ST_UNDOING_CANCEL)
        input = kvmig__session_undo_overdue(session);
    /* The last step may end without the driver, but not without the ports. */
    kvmig__session_close_driver(session, input, error);
}

/* ---- moving ---- */

static void move_to(struct kvmig_session *session, enum kvmig__fsm_state next)
{
    const int64_t now_ms = kvmig__now_ms();
    const int32_t phase = kvmig__fsm_phase((int32_t)next);

    if (next == session->state)
        return;
    kvmig__log(session->context, KVMIG_LOG_DEBUG, "session", "%s: %s -> %s", session->id,
               kvmig__fsm_state_name((int32_t)session->state), kvmig__fsm_state_name((int32_t)next));
    session->state = next;
    if (session->report->started_ms == 0) {
        session->report->started_ms = now_ms;
        session->report->started_wall_ms = kvmig__wall_ms();
    }
    if (kvmig__fsm_is_terminal((int32_t)next))
        session->report->ended_ms = now_ms;
    kvmig__timer_arm(&session->deadline, deadline_of(session, now_ms));
    if (phase != session->phase)
        kvmig__session_say_phase(session, phase, now_ms);
}

/* Once it is proven where the guest is, nothing is deferred any more; but somebody may ask for the migration again. */
static int32_t accepted_as(const struct kvmig_session *session)
{
    struct kvmig__driver *driver = session->driver;
    const bool asked = session->state >= KVMIG__ST_ADMITTING && driver && driver->ops->cancel_effect;
    const int32_t effect = asked ? driver->ops->cancel_effect(driver) : KVMIG_CANCEL_ACCEPTED;

    return session->state <= KVMIG__ST_READY || effect == KVMIG_CANCEL_WILL_RETURN ? effect : KVMIG_CANCEL_ACCEPTED;
}

static void say(struct kvmig_session *session, uint32_t actions)
{
    if (actions & KVMIG__SAY_ACCEPTED)
        kvmig__session_say_cancel(session, accepted_as(session));
    if (actions & KVMIG__SAY_TOO_LATE)
        kvmig__session_say_cancel(session, KVMIG_CANCEL_TOO_LATE);
    if (actions & KVMIG__SAY_REFUSED)
        kvmig__session_say_cancel(session, KVMIG_CANCEL_REFUSED);
    if (actions & KVMIG__SAY_UNKNOWN)
        kvmig__session_say_cancel(session, KVMIG_CANCEL_UNKNOWN);
}

static void begin_admit(struct kvmig_session *session)
{
    if (!session->driver->admits) {
        kvmig__session_feed(session, KVMIG__IN_STEP_OK, NULL);
        return;
    }
    session->asked_platform = true;
    kvmig__session_begin(session, KVMIG__STEP_ADMIT);
}

static void withdraw(struct kvmig_session *session)
{
    if (session->driver->ops->withdraw)
        session->driver->ops->withdraw(session->driver);
}

static void begin_schedule(struct kvmig_session *session)
{
    /* Source and target are known now, and whoever plugs the target's interface early must not have to wait for the port. */
    kvmig__session_ports_prepare(session);
    kvmig__session_begin(session, KVMIG__STEP_SCHEDULE);
}

static void begin_prepare(struct kvmig_session *session)
{
    kvmig__session_begin(session, KVMIG__STEP_PREPARE);
}

static void begin_abort(struct kvmig_session *session)
{
    if (session->call_begun)
        session->driver->ops->abort(session->driver);
}

static void act(struct kvmig_session *session, uint32_t actions)
{
    static const struct {
        uint32_t action;
        void (*fn)(struct kvmig_session *session);
    } effects[] = {
        { KVMIG__DO_ASK_SLOT, kvmig__session_ask_slot },
        { KVMIG__DO_CHECK, kvmig__session_check },
        { KVMIG__DO_ADMIT, begin_admit },
        { KVMIG__DO_WITHDRAW, withdraw },
        { KVMIG__DO_SCHEDULE, begin_schedule },
        { KVMIG__DO_PREPARE, begin_prepare },
        { KVMIG__DO_GATE, kvmig__session_gate },
        { KVMIG__DO_MIGRATE, kvmig__session_migrate },
        { KVMIG__DO_ABORT, begin_abort },
        { KVMIG__DO_LOCATE, kvmig__session_locate },
        { KVMIG__DO_FINISH, kvmig__session_finish },
        { KVMIG__DO_UNDO, kvmig__session_undo },
        { KVMIG__DO_END, kvmig__session_end },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(effects); i++)
        if (actions & effects[i].action)
            effects[i].fn(session);
}

static void take(struct kvmig_session *session, struct kvmig__session_input input)
{
    const struct kvmig__fsm_pair *pair = kvmig__fsm_pair(session->state, input.input);

    if (pair->kind != KVMIG__PAIR_GO) {
        kvmig__log(session->context, pair->kind == KVMIG__PAIR_ERROR ? KVMIG_LOG_ERROR : KVMIG_LOG_DEBUG, "session",
                   "%s: %s in %s: %s", session->id, kvmig__fsm_input_name((int32_t)input.input),
                   kvmig__fsm_state_name((int32_t)session->state), pair->reason);
        kvmig__error_free(input.error);
        return;
    }
    kvmig__session_note(session, (enum kvmig__fsm_state)pair->next, input.error);
    say(session, pair->actions);
    move_to(session, (enum kvmig__fsm_state)pair->next);
    act(session, pair->actions);
}

void kvmig__session_feed(struct kvmig_session *session, enum kvmig__fsm_input input, struct kvmig_error *error)
{
    *KVMIG__PUSH(&session->inputs) = (struct kvmig__session_input){ input, error };
    if (session->stepping)
        return;
    session->stepping = true;
    kvmig__session_hold(session);
    for (size_t i = 0; i < session->inputs.n; i++)
        take(session, session->inputs.v[i]);
    session->inputs.n = 0;
    session->stepping = false;
    kvmig__session_release(session);
}
