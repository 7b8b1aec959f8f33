/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The states of an OVN port as data: one pure table (ovn_table.h) says for every state and input what happens.
 * States are finer than the public ones; each belongs to one. An input is a wish, the end of an order, the
 * deadline, or what the facts amount to: in every step the facts are judged, by the question that the state asks,
 * as exactly one input.
 */
#ifndef KVMIG_SRC_OVN_STATES_H
#define KVMIG_SRC_OVN_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include <kvmig/port.h>

/* X(name, public state, comment). CONVERGING and CONVERGED are ROLLING_BACK and ROLLED_BACK where the source is the
 * winner by a roll-back, or because a preparation failed. */
#define KVMIG__OVN_STATES(X)                                                                                           \
    X(IDLE, IDLE, "nothing was asked")                                                                                 \
    X(LOOKING, PREPARING, "looks at what stands in the ports, and whose it is")                                        \
    X(PINNING, PREPARING, "the write that pins the ports to the source alone is out")                                  \
    X(PINNED, PREPARING, "pinned; waits until OVN has followed and no older activation is left")                       \
    X(EXTENDING, PREPARING, "the write of both chassis and the strategy is out")                                       \
    X(EXTENDED, PREPARING, "written; waits until OVN's northd has resolved both chassis")                              \
    X(PREPARED, PREPARED, "belongs to both; goes on looking for claim and activation")                                 \
    X(ARMING, PREPARED, "nothing is plugged on the target yet; looks how its ovn-controller can be asked")             \
    X(ARM_BUMPING, PREPARED, "the bump of nb_cfg is out")                                                              \
    X(ARM_BARRIER, PREPARED, "waits until the target's ovn-controller has got as far as the bump")                     \
    X(CLAIMING, VERIFYING, "waits until the target has claimed the ports and has been quiet")                          \
    X(BUMPING, VERIFYING, "the claim was seen; the bump of nb_cfg is out")                                             \
    X(BARRIER, VERIFYING, "waits until the target's ovn-controller has got as far as the bump")                        \
    X(VERIFIED, VERIFIED, "proven; goes on looking for the activation")                                                \
    X(ACTIVATED, ACTIVATED, "the target has seen its guest's announcement on all ports")                               \
    X(RELEASING, CONVERGING, "looks what is left to do for the winner")                                                \
    X(FENCING, CONVERGING, "the answer to a write was lost: a bump is out, behind which it cannot come any more")      \
    X(SETTLING, CONVERGING, "the write that leaves the ports to the winner is out")                                    \
    X(HOMING, CONVERGING, "written; waits until the winner has the ports alone and has been quiet")                    \
    X(HOME_BUMPING, CONVERGING, "the winner has them; the bump of nb_cfg is out")                                      \
    X(HOME_BARRIER, CONVERGING, "waits until the winner's ovn-controller has got as far as the bump")                  \
    X(SETTLED, CONVERGED, "left to the winner; nothing temporary is there")                                            \
    X(SUPERSEDED, SUPERSEDED, "all ports belong to somebody else; nothing was changed there")                          \
    X(FAILED, FAILED, "the last wish failed")

/* X(name, comment) */
#define KVMIG__OVN_INPUTS(X)                                                                                           \
    X(PREPARE, "wish: extend to the target")                                                                           \
    X(VERIFY, "wish: prove that the target would forward")                                                             \
    X(VERIFY_LATE, "wish: likewise, as far as it can be proven before the interface is plugged")                       \
    X(CONVERGE, "wish: leave the ports to the winner, after the guest's announcement")                                 \
    X(CONVERGE_NOW, "wish: leave the ports to the winner at once")                                                     \
    X(ROLLBACK, "wish: put the ports back to the source")                                                              \
    X(GC, "wish: leave to the winner what an owner that is gone left over")                                            \
    X(WRITTEN, "the write was committed")                                                                              \
    X(CONFLICT, "a guard of the write did not hold; nothing was written")                                              \
    X(LOST, "whether the write was committed is not known")                                                            \
    X(UNWRITTEN, "the write did not get through; nothing was written")                                                 \
    X(DENIED, "the server refuses such a write, and always will")                                                      \
    X(BUMPED, "nb_cfg was bumped, and its value told")                                                                 \
    X(UNBUMPED, "the bump did not get through, or its value is not known")                                             \
    X(DEADLINE, "the time of the wish is over")                                                                        \
    X(NO_NEWS, "nothing that has to be told")                                                                          \
    X(ACTIVATION, "the target is activated on all ports")                                                              \
    X(BUSY, "an order is out, or it is too early to try again")                                                        \
    X(NOT_CURRENT, "a database that is needed is not connected")                                                       \
    X(BAD_NAMES, "the named chassis cannot be meant: unknown, ambiguous, one and the same, of no part here")           \
    X(NO_PORT, "no such logical port")                                                                                 \
    X(UNSUPPORTED, "this OVN lacks what was asked for")                                                                \
    X(FOREIGN, "a port carries the token of another owner")                                                            \
    X(LEFTOVER, "a port is pinned to another chassis, or to a pair that nobody owns")                                  \
    X(ELSEWHERE, "a port that is not ours is bound to another chassis than the source")                                \
    X(UNBOUND, "the source has not claimed a port")                                                                    \
    X(UNPINNED, "a port is pinned to nothing")                                                                         \
    X(OTHER_PAIR, "a port of ours is extended to another target, or with another strategy")                            \
    X(STALE, "an older activation is still there")                                                                     \
    X(NOT_FOLLOWED, "pinned to the source, but OVN has not followed yet")                                              \
    X(READY, "pinned to the source, and OVN has followed: may be extended")                                            \
    X(PAIR_STALE, "extended, and activated without being claimed")                                                     \
    X(PAIR_NOT_FOLLOWED, "extended, but OVN has not followed yet")                                                     \
    X(PAIR, "extended, and OVN has followed as far as it can be seen")                                                 \
    X(NOT_OURS, "a port is not extended, or not by this owner")                                                        \
    X(NO_PROOF, "nothing that was given could prove it")                                                               \
    X(PLUGGED, "the target has an interface or a claim already")                                                       \
    X(MISSING, "claim, interface or binding are not as they must be")                                                  \
    X(UNQUIET, "they are, but have not stayed so for long enough")                                                     \
    X(QUIET, "they are, nothing flapped of late: a barrier can be asked for")                                          \
    X(PENDING, "the barrier is not reached yet")                                                                       \
    X(PROVEN, "the barrier is reached and nothing changed meanwhile; or nothing changed for long enough")              \
    X(TOO_YOUNG, "what is left over is too young, or of unknown age")                                                  \
    X(AWAITING, "the guest's announcement may still come")                                                             \
    X(OURS, "a port carries what has to be cleaned up")                                                                \
    X(UNFENCED, "nothing of ours is seen, but a lost write may still come")                                            \
    X(UNPROVEN, "nothing of ours is left; that OVN has followed was not proven")                                       \
    X(NOTHING, "nothing of ours is left to do")                                                                        \
    X(PUT_BACK, "nothing of ours is left of the preparation that failed")                                              \
    X(TAKEN, "all ports belong to somebody else")

enum kvmig__ovn_state {
#define X(name, state, comment) KVMIG__OVN_ST_##name,
    KVMIG__OVN_STATES(X)
#undef X
        KVMIG__OVN_N_STATES
};
enum kvmig__ovn_input {
#define X(name, comment) KVMIG__OVN_IN_##name,
    KVMIG__OVN_INPUTS(X)
#undef X
        KVMIG__OVN_N_INPUTS
};
#define KVMIG__OVN_N_WISHES 7 /* the first inputs, in the order of enum kvmig__ovn_wish */

enum kvmig__ovn_action {
    KVMIG__OVN_TAKE = 1 << 0, /* the wish that was made is the one that runs */
    KVMIG__OVN_PIN = 1 << 1, /* order the write that pins to the source */
    KVMIG__OVN_EXTEND = 1 << 2, /* order the write of both chassis, strategy and token */
    KVMIG__OVN_SETTLE = 1 << 3, /* order the write of the winner */
    KVMIG__OVN_BUMP = 1 << 4, /* order a bump */
    KVMIG__OVN_BACK_OFF = 1 << 5, /* not again at once: 20 ms, doubling up to 1 s */
    KVMIG__OVN_FENCED = 1 << 6, /* a lost write can not come any more */
    KVMIG__OVN_UNDO = 1 << 7, /* the preparation has failed: keep the error, put back what it wrote */
    KVMIG__OVN_END = 1 << 8, /* answer: as wished */
    KVMIG__OVN_FAIL = 1 << 9, /* answer: the error */
};
#define KVMIG__OVN_N_ACTIONS 10

enum kvmig__ovn_kind {
    KVMIG__OVN_GO = 1, /* moves (maybe to the same state) and acts */
    KVMIG__OVN_STAY, /* waits, or is harmless here; reason says why */
    KVMIG__OVN_ERROR, /* must not happen: a bug of the library; state unchanged */
};

struct kvmig__ovn_pair {
    uint8_t kind;
    uint8_t next; /* of GO */
    uint32_t actions;
    const char *note; /* line of the timeline; of STAY: once in a wish. NULL = none */
    const char *reason; /* may be NULL for GO */
};

const struct kvmig__ovn_pair *kvmig__ovn_pair_of(int32_t state, int32_t input); /* NULL if there are no such */
const char *kvmig__ovn_state_name(int32_t state);
const char *kvmig__ovn_state_comment(int32_t state);
const char *kvmig__ovn_input_name(int32_t input);
const char *kvmig__ovn_input_comment(int32_t input);
const char *kvmig__ovn_action_name(uint32_t action); /* of one bit; NULL if unknown */
/* An enum kvmig_port_state; is_back: the winner is the source, by a roll-back or a failed preparation. */
int32_t kvmig__ovn_public_state(int32_t state, bool is_back);
/* No wish runs in it. */
bool kvmig__ovn_is_resting(int32_t state);

#endif
