/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a backend does for a session: the driver interface, and what the driver tells the session. All calls both ways
 * happen on the dispatching thread with the context lock held; a driver blocks only on its lanes.
 *
 * A driver runs one step at a time. begin() starts a step; the driver answers exactly once with
 * kvmig__session_step_done(), kvmig__session_call_done() (migrate) or kvmig__session_located() (locate), never from
 * inside begin(). Every step has a deadline of its own (limits from the session): on a hung host the driver abandons its
 * lane and answers with an error. Should it not, the session gives the step up some time after: it begins another one,
 * and the driver then abandons the old one without an answer.
 *
 * LOCATE may come before MIGRATE: then nothing of ours can have moved the guest, and a source that has it is answer enough
 * although the target is silent. UNDO may follow any step: an incoming copy, for example, is the driver's to remove only if it
 * made the call.
 */
#ifndef KVMIG_SRC_DRIVER_H
#define KVMIG_SRC_DRIVER_H

#include "cluster/model.h"
#include "plan/plan_internal.h"
#include "session/resolver.h"
#include <kvmig/session.h>

struct kvmig_session;
struct kvmig_explanation;
struct json_object;

enum kvmig__step {
    KVMIG__STEP_SCHEDULE, /* connect to both hosts, prove that the target has no such domain, that the VM runs on the source */
    KVMIG__STEP_PREPARE, /* create volumes; record each in the ledger before the next */
    KVMIG__STEP_MIGRATE, /* the blocking call; progress meanwhile */
    KVMIG__STEP_LOCATE, /* ask until decided or until the resolve deadline */
    KVMIG__STEP_FINISH, /* guest proven on the target: strict hand-over resume, remove the source's dead copy and definition.
                           -KVMIG_EUNKNOWN: the guest is not proven to run on the target; any other error is a leftover.
                           report->handover_wait_ms is set as soon as the target was resumed */
    KVMIG__STEP_UNDO, /* guest proven on the source: remove an incoming copy, created volumes, leftovers; resume the source if
                             the migration left it paused and the guest was running before. -KVMIG_EUNKNOWN: the source is not
                             proven to hold and run the guest (gone meanwhile, or not resumed); any other error is a leftover */
    /* Comes before SCHEDULE. */
    KVMIG__STEP_ADMIT, /* hand the request to a platform that runs migrations itself, and wait until it has chosen a target (KubeVirt:
                          dry run, VMIM, its phase after Pending). A driver that does not admit is not asked */
    KVMIG__N_STEPS
};

enum kvmig__tuning { KVMIG__TUNE_BANDWIDTH, KVMIG__TUNE_MAX_DOWNTIME, KVMIG__TUNE_POSTCOPY };

/* Limits that the session hands to its driver, ms. */
struct kvmig__driver_limits {
    int64_t step_ms, migrate_ms, resolve_ms, abort_ms;
    uint32_t poll_ms;
};

struct kvmig__driver;
struct kvmig__driver_ops {
    void (*begin)(struct kvmig__driver *driver, enum kvmig__step step);
    /* Aborts the migrate call. Answers with call_done (however it ended) or abort_refused. Asking again is allowed. */
    void (*abort)(struct kvmig__driver *driver);
    void (*tune)(struct kvmig__driver *driver, enum kvmig__tuning what, uint64_t value);
    void (*free)(struct kvmig__driver *driver); /* abandons whatever runs; answers nothing any more */
    /* The rest may be NULL. */
    /* The caller cancels, or a gate failed, before MIGRATE: whatever the platform was asked to do is withdrawn. The step that runs, if
     * one does, is answered soon after, however it ended; LOCATE waits for what was withdrawn to come to its end. */
    void (*withdraw)(struct kvmig__driver *driver);
    int32_t (*cancel_effect)(
        struct kvmig__driver *driver); /* what a cancel accepted now would be: ACCEPTED, DEFERRED, WILL_RETURN */
    void (*report)(struct kvmig__driver *driver, struct json_object *report); /* adds a member of its own */
    void (*explain)(struct kvmig__driver *driver, struct kvmig_explanation *explanation); /* adds what it waits for */
};
struct kvmig__driver {
    const struct kvmig__driver_ops *ops;
    bool admits; /* it has a step ADMIT */
    /* How long a step of this driver may take, ms, margins included; 0 = as the session's limits say. */
    int64_t step_by_ms[KVMIG__N_STEPS];
    bool
        plugs_late; /* the guest's interfaces on the target are plugged by MIGRATE itself: ports cannot be wholly proven before */
};

/* ---- what a driver tells its session (session.c) ---- error is taken; NULL = success ---- */
void kvmig__session_step_done(struct kvmig_session *session, enum kvmig__step step, struct kvmig_error *error);
/* hung: the call did not return and was abandoned (error says how). */
void kvmig__session_call_done(struct kvmig_session *session, struct kvmig_error *error, bool hung);
void kvmig__session_abort_refused(struct kvmig_session *session, struct kvmig_error *error);
/* The resolver's answer; location taken. decided false = still open when the resolve deadline passed. */
void kvmig__session_located(struct kvmig_session *session, const struct kvmig__resolution *resolution,
                            const struct kvmig__side *source, const struct kvmig__side *target);
/* After UNDO, before its step_done: the last reading of both sides. Sets the report's final state; a source that does not
 * run, and was not paused before, is named in a notice. */
void kvmig__session_final_side(struct kvmig_session *session, const struct kvmig__side *source,
                               const struct kvmig__side *target);
/* During FINISH of a strict hand-over, before its step_done: what the target was resumed on. true: the source was seen to
 * hold no running copy; false: it could not be asked, and the call's own success had to do. */
void kvmig__session_handover_proof(struct kvmig_session *session, bool source_seen_stopped);
void kvmig__session_progress(struct kvmig_session *session, const struct kvmig_progress *progress);
void kvmig__session_mode_changed(struct kvmig_session *session, int32_t mode);
/* A remark or a dropped feature: NOTICE event and report. finding is copied. */
void kvmig__session_notice(struct kvmig_session *session, const struct kvmig_finding *finding);

/* The target became known, or another one was chosen (node NULL = none any more): ports are prepared for it at once. */
void kvmig__session_target(struct kvmig_session *session, const char *node);
/* What another process needs to take over: CHECKPOINT event. token is taken. */
void kvmig__session_checkpoint(struct kvmig_session *session, struct json_object *token);
/* What it waits for changed: WAIT event. finding is copied. */
void kvmig__session_waits(struct kvmig_session *session, const struct kvmig_finding *finding);
/* What the caller asked of the session beyond the plan. */
struct kvmig__session_wishes {
    char *attach; /* as kvmig_session_opts.attach */
    uint64_t flags; /* enum kvmig_session_flags */
    int64_t pending_ms, prepare_ms;
    struct json_object *token; /* of kvmig_session_resume(); NULL = a fresh session */
};
/* The caller has cancelled, and it has not ended yet. Else whatever is withdrawn is so because something went wrong. */
bool kvmig__session_is_cancelling(const struct kvmig_session *session);
const struct kvmig__session_wishes *kvmig__session_wishes(const struct kvmig_session *session);
const char *kvmig__session_id(const struct kvmig_session *session);

/* ---- the report that both fill (report.h) ---- */
struct kvmig__report *kvmig__session_get_report(struct kvmig_session *session);
const struct kvmig_plan *kvmig__session_plan(struct kvmig_session *session); /* the plan in force */

#endif
