/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of a session, for the files of this folder, and what the cluster's slots tell a session. Everything is guarded
 * by the context lock.
 *
 * Who keeps a session: its public owners, and holds: one while it runs (from start until its end is cleaned up), one per
 * queued delivery. With the last owner its events stop; with the last of both it is freed. While it runs it holds the
 * cluster, and the cluster holds the context, so a migration comes to its end although nobody listens any more.
 */
#ifndef KVMIG_SRC_SESSION_INTERNAL_H
#define KVMIG_SRC_SESSION_INTERNAL_H

#include "cluster/cluster_internal.h"
#include "session/driver.h"
#include "session/eta.h"
#include "session/followers.h"
#include "session/fsm.h"
#include "session/learning.h"
#include "session/outcome.h"
#include "session/report.h"

#define KVMIG__NO_STEP (-1)

/* What the driver's last reading after UNDO says about the source. */
enum kvmig__last_look {
    KVMIG__LOOK_NONE, /* not told, or the source did not answer */
    KVMIG__LOOK_RUNS, /* as before: it runs, or is paused and was so before, or the guest sleeps */
    KVMIG__LOOK_STOPPED, /* it holds the guest, which does not run */
    KVMIG__LOOK_GONE, /* it does not hold the guest, or the guest runs on the target */
};
/* On what a strict hand-over resumed the target. */
enum kvmig__handover_proof { KVMIG__HANDOVER_UNTOLD, KVMIG__HANDOVER_SOURCE_STOPPED, KVMIG__HANDOVER_CALL_OK };

struct kvmig__session_input {
    enum kvmig__fsm_input input;
    struct kvmig_error *error; /* what went wrong; owned; NULL = nothing */
};

struct kvmig_session {
    struct kvmig_context *context;
    struct kvmig_cluster *cluster; /* held while it runs; NULL afterwards */
    struct kvmig_cluster *node_hosts; /* likewise; NULL = none was given */
    struct kvmig__witness *witness; /* asks them; NULL = nobody does */
    uint32_t owners, holds;
    char *id;
    struct kvmig__sink *sink; /* NULL once the last owner is gone, or the end was delivered */

    struct kvmig__request request; /* what to plan; cleared once there is a plan */
    struct kvmig_plan *plan; /* the plan in force; NULL = none yet */
    struct kvmig_plan
        *first_plan; /* that the driver was made with, if another target has replaced it; drivers may hold on to it */
    struct kvmig__session_wishes wishes;
    bool target_told; /* by the driver: ports were prepared for it */
    struct json_object *token; /* of the last checkpoint */
    struct json_object *driver_report; /* what the driver said of itself before it was freed */
    struct kvmig__driver_limits limits;
    int64_t queue_ms;

    enum kvmig__fsm_state state;
    int32_t phase, previous_phase;
    struct {
        struct kvmig__session_input *v;
        size_t n;
    } inputs; /* not yet taken */
    bool stepping; /* inputs are being taken, further up on the stack */
    struct kvmig__timer deadline; /* of the state */
    struct kvmig__timer retry; /* plans again while the view is not read yet */
    int64_t sync_by_ms; /* no longer than this */

    struct kvmig__slot slot;
    uint32_t hosts_to_check; /* CHECKING: answers that are still to come */
    struct kvmig__followers followers; /* ports and probes */

    struct kvmig__driver *driver;
    int32_t awaited; /* enum kvmig__step that the driver has to answer; KVMIG__NO_STEP */
    bool asked_platform; /* ADMIT was begun: the guest may move from now on, whatever this session waits for */
    bool call_begun;
    bool call_ok, call_failed; /* it returned so; neither = it did not return, or was given up */
    struct kvmig_error *call_error; /* what the migrate call said; NULL = success, or not returned */
    struct kvmig__resolution resolution; /* the last one */
    int32_t last_look; /* enum kvmig__last_look: the source after UNDO */
    int32_t handover; /* enum kvmig__handover_proof */
    bool left_paused; /* the guest is on the target, paused by somebody else */

    bool cancel_pending; /* a request waits for its CANCEL event */
    int32_t mode; /* enum kvmig_mode */
    struct kvmig__eta eta;
    struct kvmig__learning learning;
    struct kvmig__report *report;
};

/* ---- session.c: life ---- */
/* The options that do not depend on a plan. -EINVAL names the one that is wrong. Needs no lock. */
int32_t kvmig__session_check_opts(const struct kvmig_session_opts *opts, struct kvmig_cluster *cluster);
bool kvmig__session_start_locked(struct kvmig_session *session); /* false: it was started before */
void kvmig__session_hold(struct kvmig_session *session);
void kvmig__session_release(struct kvmig_session *session); /* may free it */

/* ---- session_target.c ---- */
/* "node-b", or "the target" while it is not known. Borrowed. */
const char *kvmig__session_target_name(const struct kvmig_session *session);
/* The call was not made, nobody has cancelled, and nothing failed. */
bool kvmig__session_may_prepare(const struct kvmig_session *session);

/* ---- session_witness.c ---- */
/* Asks node_hosts too, and judges then. false: there is nobody to ask. */
bool kvmig__session_ask_witness(struct kvmig_session *session, const struct kvmig__resolution *resolution,
                                const struct kvmig__side *source, const struct kvmig__side *target);

/* ---- session_driver.c ---- */
/* Goes on with where the guest was found to be. */
void kvmig__session_judge(struct kvmig_session *session, const struct kvmig__resolution *resolution,
                          const struct kvmig__side *source, const struct kvmig__side *target);

/* ---- session_machine.c ---- */
/* Takes error. The session may have ended when it returns, but is not freed before its holds are given back. */
void kvmig__session_feed(struct kvmig_session *session, enum kvmig__fsm_input input, struct kvmig_error *error);
void kvmig__session_on_deadline(void *session); /* of the deadline timer */
/* The driver is done with the last step: what is left to wait for has a deadline of its own. */
void kvmig__session_wait_for_followers(struct kvmig_session *session);

/* ---- session_plan.c ---- */
void kvmig__session_ask_slot(struct kvmig_session *session);
void kvmig__session_check(struct kvmig_session *session);
void kvmig__session_stop_planning(struct kvmig_session *session);
void kvmig__session_on_retry(void *session); /* of the retry timer */
/* What of a plan forbids to start: an owned error, NULL if nothing does. where names the call. */
struct kvmig_error *kvmig__session_plan_error(const struct kvmig_plan *plan, const char *where);

/* ---- session_resume.c ---- */
void kvmig__session_wishes_clear(struct kvmig__session_wishes *wishes);
/* What the token remembers, as a plan; owned. */
struct kvmig_plan *kvmig__session_plan_from_token(const struct kvmig_session *session);

/* ---- session_steps.c ---- */
void kvmig__session_begin(struct kvmig_session *session, enum kvmig__step step);
void kvmig__session_migrate(struct kvmig_session *session);
void kvmig__session_locate(struct kvmig_session *session);
void kvmig__session_finish(struct kvmig_session *session);
void kvmig__session_undo(struct kvmig_session *session);
/* FINISH did not end well: STEP_FAIL if the guest runs on the target all the same, AT_UNKNOWN if that is not proven. */
enum kvmig__fsm_input kvmig__session_finish_failed(const struct kvmig_session *session,
                                                   const struct kvmig_error *error);

/* How UNDO ended: STEP_OK, STEP_FAIL (leftovers), or AT_UNKNOWN if the source is not proven to hold the guest any more. error
 * is NULL if all went well. */
enum kvmig__fsm_input kvmig__session_undo_ended(const struct kvmig_session *session, const struct kvmig_error *error);
/* UNDO was not answered in time. DEADLINE, or AT_UNKNOWN if it is not proven what became of the source. */
enum kvmig__fsm_input kvmig__session_undo_overdue(const struct kvmig_session *session);

/* ---- session_end.c ---- */
void kvmig__session_end(struct kvmig_session *session);
/* The session is about to move to next. What becomes of the error that brought it there: the cause of the end, a notice, or
 * nothing. Takes error, which may be NULL. */
void kvmig__session_note(struct kvmig_session *session, enum kvmig__fsm_state next, struct kvmig_error *error);
/* ---- session_errors.c ---- all owned */
/* Why it is not proven where the guest is. */
struct kvmig_error *kvmig__session_unknown_error(const struct kvmig_session *session,
                                                 const struct kvmig__outcome *outcome, const struct kvmig__side *source,
                                                 const struct kvmig__side *target);
struct kvmig_error *kvmig__session_unanswered_error(const struct kvmig_session *session, const struct kvmig_error *why);
struct kvmig_error *kvmig__session_not_running_error(const struct kvmig_session *session,
                                                     const struct kvmig_error *why);
struct kvmig_error *kvmig__session_not_held_error(const struct kvmig_session *session, const struct kvmig_error *why);
struct kvmig_error *kvmig__session_stayed_error(const struct kvmig_session *session);
char *kvmig__error_text(const struct kvmig_error *error); /* message and evidence in one line; NULL gives NULL */

/* ---- session_events.c ---- */
void kvmig__session_emit(struct kvmig_session *session, struct kvmig_event *event); /* takes it; fills in the session */
void kvmig__session_say_phase(struct kvmig_session *session, int32_t phase, int64_t now_ms);
void kvmig__session_say_cancel(struct kvmig_session *session, int32_t result);
void kvmig__session_say_finding(struct kvmig_session *session, const char *code, int32_t severity, const char *host,
                                const char *evidence, const char *hint, const char *fmt, ...) KVMIG__PRINTF(7, 8);

/* ---- for the cluster's slots: the slot of a session was granted, or its place in the queue changed ---- */
void kvmig__session_slot_changed(struct kvmig__slot *slot);

#endif
