/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state machine of a session: one pure table (fsm_table.h). States are finer than the public phases; each
 * belongs to one. Time comes in as inputs (deadlines are armed by the session), effects go out as actions.
 */
#ifndef KVMIG_SRC_FSM_H
#define KVMIG_SRC_FSM_H

#include <stdbool.h>
#include <stdint.h>

#include <kvmig/event.h>

/* X(name, phase, comment) */
#define KVMIG__FSM_STATES(X)                                                                                           \
    X(UNSET, UNSET, "made, not started")                                                                               \
    X(QUEUED, PENDING, "makes a plan if none was given; waits for a slot")                                             \
    X(CHECKING, PENDING, "has a slot; the plan is made again from fresh facts")                                        \
    X(ADMITTING, PENDING, "a platform that migrates by itself was asked; waits until it has chosen a target")          \
    X(SCHEDULING, SCHEDULING, "connects to both hosts and proves that the target is free for the VM")                  \
    X(SCHEDULED, SCHEDULED, "the target is proven free; waits for gates (ports that need to know the target)")         \
    X(PREPARING, PREPARING_TARGET, "creates target volumes")                                                           \
    X(READY, TARGET_READY, "everything is in place; waits for gates (ports)")                                          \
    X(RUNNING, RUNNING, "the migrate call runs")                                                                       \
    X(ABORTING_CANCEL, RUNNING, "a cancel was asked for; waits for the migrate call to return")                        \
    X(ABORTING_TIMEOUT, RUNNING, "our deadline passed; waits for the migrate call to return")                          \
    X(VERIFYING, FINALIZING, "the call succeeded; proves that the guest runs on the target")                           \
    X(FINISHING, FINALIZING, "proven; resumes a strict hand-over, cleans the source")                                  \
    X(STOPPING_CANCEL, ROLLING_BACK, "cancelled while a step ran; waits for that step")                                \
    X(LOCATING_FAIL, ROLLING_BACK, "a step or the call failed; asks where the guest is")                               \
    X(LOCATING_CANCEL, ROLLING_BACK, "a step or the call ended after a cancel; asks where the guest is")               \
    X(UNDOING_FAIL, ROLLING_BACK, "the guest is proven on the source; undoes what was created")                        \
    X(UNDOING_CANCEL, ROLLING_BACK, "likewise, after a cancel")                                                        \
    X(SUCCEEDED, SUCCEEDED, "terminal: the guest is on the target")                                                    \
    X(FAILED, FAILED, "terminal: the guest is where it was")                                                           \
    X(CANCELLED, CANCELLED, "terminal: the guest is where it was, because the caller asked")                           \
    X(INDETERMINATE, INDETERMINATE, "terminal: not known; nothing was started or destroyed")

/* X(name, comment) */
#define KVMIG__FSM_INPUTS(X)                                                                                           \
    X(START, "the caller starts the session")                                                                          \
    X(SLOT, "a slot was granted")                                                                                      \
    X(STEP_OK, "the step of this state ended well")                                                                    \
    X(STEP_FAIL, "the step of this state failed, and left nothing but what undo knows of")                             \
    X(CALL_OK, "the migrate call returned success")                                                                    \
    X(CALL_FAIL, "the migrate call returned failure")                                                                  \
    X(CALL_HUNG, "the migrate call did not return in time and was abandoned")                                          \
    X(AT_SOURCE, "resolver: the guest is on the source, and on the target nothing runs")                               \
    X(AT_TARGET, "resolver: the guest is on the target, and on the source nothing runs")                               \
    X(AT_NONE, "resolver: the guest is on neither side")                                                               \
    X(AT_BOTH, "resolver: the guest runs on both sides, or post-copy broke")                                           \
    X(AT_UNKNOWN, "not decided within the deadline, or the last step did not prove it any more")                       \
    X(CANCEL, "the caller cancels")                                                                                    \
    X(ABORT_REFUSED, "the abort was refused: post-copy has begun")                                                     \
    X(DEADLINE, "the deadline of this state passed")

enum kvmig__fsm_state {
#define X(name, phase, comment) KVMIG__ST_##name,
    KVMIG__FSM_STATES(X)
#undef X
        KVMIG__N_STATES
};
enum kvmig__fsm_input {
#define X(name, comment) KVMIG__IN_##name,
    KVMIG__FSM_INPUTS(X)
#undef X
        KVMIG__N_INPUTS
};

/* Effects: SAY_* before the state changes, DO_* after it. */
enum kvmig__fsm_action {
    KVMIG__DO_ASK_SLOT = 1 << 0,
    KVMIG__DO_CHECK = 1 << 1,
    KVMIG__DO_SCHEDULE = 1 << 2,
    KVMIG__DO_PREPARE = 1 << 3,
    KVMIG__DO_GATE = 1 << 4, /* ask the gates; answers with STEP_OK or STEP_FAIL */
    KVMIG__DO_MIGRATE = 1 << 5,
    KVMIG__DO_ABORT = 1 << 6, /* abort the job; the answer is CALL_*, ABORT_REFUSED, or what LOCATE sees */
    KVMIG__DO_LOCATE = 1 << 7,
    KVMIG__DO_FINISH = 1 << 8,
    KVMIG__DO_UNDO = 1 << 9,
    KVMIG__SAY_ACCEPTED = 1 << 10, /* SAY_*: the CANCEL event that answers a pending request, if there is one */
    KVMIG__SAY_TOO_LATE = 1 << 11,
    KVMIG__SAY_REFUSED = 1 << 12,
    KVMIG__SAY_UNKNOWN = 1 << 13,
    KVMIG__DO_END = 1 << 14, /* release the slot, terminal event */
    KVMIG__DO_ADMIT = 1 << 15, /* answers with STEP_OK or STEP_FAIL */
    KVMIG__DO_WITHDRAW = 1 << 16, /* what a platform was asked to do is not wanted any more; comes before DO_LOCATE */
};
#define KVMIG__FSM_N_ACTIONS 17

/* How the table treats a pair. */
enum kvmig__fsm_kind {
    KVMIG__PAIR_GO = 1, /* moves (maybe to the same state) and acts */
    KVMIG__PAIR_IGNORE, /* harmless here; reason says why */
    KVMIG__PAIR_ERROR, /* must not happen: a bug in the caller of the machine; state unchanged */
};

struct kvmig__fsm_pair {
    uint8_t kind;
    uint8_t next; /* of GO; the others change nothing */
    uint32_t actions;
    const char *reason; /* for IGNORE and ERROR; may be NULL for GO */
};

const struct kvmig__fsm_pair *kvmig__fsm_pair(enum kvmig__fsm_state state, enum kvmig__fsm_input input);
const char *kvmig__fsm_state_name(int32_t state);
const char *kvmig__fsm_state_comment(int32_t state);
const char *kvmig__fsm_input_name(int32_t input);
const char *kvmig__fsm_input_comment(int32_t input);
const char *kvmig__fsm_action_name(uint32_t action); /* of one bit: "ASK_SLOT", "SAY_ACCEPTED", ...; NULL if unknown */
int32_t kvmig__fsm_phase(int32_t state); /* enum kvmig_phase */
bool kvmig__fsm_is_terminal(int32_t state);

#endif
