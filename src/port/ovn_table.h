/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every (state x input) pair of an OVN port; included once, by ovn_states.c. docs/port-states.md is printed from it.
 *   GO(next, actions, note, why)   moves, maybe to the same state, and acts; note is a line of the timeline
 *   STAY(note, why)                waits, or harmless here; note is told once in a wish
 *   ERROR(why)                     a bug of the library; nothing changes
 * What many states have in common stands in one macro each.
 */
#define WHY_LATE_WRITE "the write of a wish that was given up ends; the facts are looked at in any case"
#define WHY_LATE_BUMP "the bump of a wish that was given up ends; it proves nothing here"
#define WHY_NO_WISH "no wish runs that could be late"
#define WHY_OTHER_QUESTION "the facts are not asked this question here"
#define WHY_CALLER "callers get the error; nothing was written by this wish, or it is put back first"
#define WHY_AGAIN "the facts are looked at again, and the write is made anew if it is still due"
#define WHY_TELL "fresh facts will tell"
#define WHY_WAIT_ORDER "one order at a time; its answer comes, or the deadline"
#define WHY_WAIT_DB "stale facts are no ground for a decision; waits until the deadline"
#define WHY_WAIT_NORTHD "OVN needs its time; waits until the deadline"
#define WHY_DENIED "asking again would not help"
#define WHY_CHANGED "what was proven so far is void: the proof begins anew"
#define WHY_NO_GUESS "a claim alone does not show that the flows are there"
#define WHY_WRITTEN_UNPROVEN "written, but not proven; it may be asked again"

#define WISH(name, next) [KVMIG__OVN_IN_##name] = GO(next, KVMIG__OVN_TAKE, NULL, NULL)
/* A wish is taken in every state; it takes the place of the one that runs. */
#define WISHES                                                                                                         \
    WISH(PREPARE, LOOKING), WISH(VERIFY, CLAIMING), WISH(VERIFY_LATE, ARMING), WISH(CONVERGE, RELEASING),              \
        WISH(CONVERGE_NOW, RELEASING), WISH(ROLLBACK, RELEASING), WISH(GC, RELEASING)

#define NOT_HERE(name, why) [KVMIG__OVN_IN_##name] = ERROR(why)
#define WAIT_HERE(name, why) [KVMIG__OVN_IN_##name] = STAY(NULL, why)

#define LATE_WRITES                                                                                                    \
    WAIT_HERE(WRITTEN, WHY_LATE_WRITE), WAIT_HERE(CONFLICT, WHY_LATE_WRITE), WAIT_HERE(LOST, WHY_LATE_WRITE),          \
        WAIT_HERE(UNWRITTEN, WHY_LATE_WRITE), WAIT_HERE(DENIED, WHY_LATE_WRITE)
#define LATE_BUMPS WAIT_HERE(BUMPED, WHY_LATE_BUMP), WAIT_HERE(UNBUMPED, WHY_LATE_BUMP)

/* ---- questions that a state does not ask ---- */
#define NO_REST NOT_HERE(NO_NEWS, WHY_OTHER_QUESTION), NOT_HERE(ACTIVATION, WHY_OTHER_QUESTION)
#define NO_NAMES NOT_HERE(BAD_NAMES, WHY_OTHER_QUESTION), NOT_HERE(NO_PORT, WHY_OTHER_QUESTION)
#define NO_PREPARING                                                                                                   \
    NOT_HERE(UNSUPPORTED, WHY_OTHER_QUESTION), NOT_HERE(FOREIGN, WHY_OTHER_QUESTION),                                  \
        NOT_HERE(LEFTOVER, WHY_OTHER_QUESTION), NOT_HERE(ELSEWHERE, WHY_OTHER_QUESTION),                               \
        NOT_HERE(UNBOUND, WHY_OTHER_QUESTION), NOT_HERE(UNPINNED, WHY_OTHER_QUESTION),                                 \
        NOT_HERE(OTHER_PAIR, WHY_OTHER_QUESTION), NOT_HERE(STALE, WHY_OTHER_QUESTION),                                 \
        NOT_HERE(NOT_FOLLOWED, WHY_OTHER_QUESTION), NOT_HERE(READY, WHY_OTHER_QUESTION),                               \
        NOT_HERE(PAIR_STALE, WHY_OTHER_QUESTION), NOT_HERE(PAIR, WHY_OTHER_QUESTION)
#define NO_FOLLOWING NOT_HERE(PAIR_NOT_FOLLOWED, WHY_OTHER_QUESTION)
#define NO_VERIFYING NOT_HERE(NOT_OURS, WHY_OTHER_QUESTION), NOT_HERE(NO_PROOF, WHY_OTHER_QUESTION)
#define NO_PLUGGING NOT_HERE(PLUGGED, WHY_OTHER_QUESTION)
#define NO_PROVING                                                                                                     \
    NOT_HERE(MISSING, WHY_OTHER_QUESTION), NOT_HERE(UNQUIET, WHY_OTHER_QUESTION), NOT_HERE(QUIET, WHY_OTHER_QUESTION), \
        NOT_HERE(PENDING, WHY_OTHER_QUESTION), NOT_HERE(PROVEN, WHY_OTHER_QUESTION)
#define NO_RELEASING                                                                                                   \
    NOT_HERE(TOO_YOUNG, WHY_OTHER_QUESTION), NOT_HERE(AWAITING, WHY_OTHER_QUESTION),                                   \
        NOT_HERE(UNFENCED, WHY_OTHER_QUESTION), NOT_HERE(UNPROVEN, WHY_OTHER_QUESTION),                                \
        NOT_HERE(PUT_BACK, WHY_OTHER_QUESTION)
#define NO_HOMING                                                                                                      \
    NOT_HERE(OURS, WHY_OTHER_QUESTION), NOT_HERE(NOTHING, WHY_OTHER_QUESTION), NOT_HERE(TAKEN, WHY_OTHER_QUESTION)
#define NO_SETTLING NO_RELEASING, NO_HOMING
#define NO_CURRENCY NOT_HERE(NOT_CURRENT, WHY_OTHER_QUESTION)

/* ---- no wish runs ---- */
#define RESTING                                                                                                        \
    WISHES, LATE_WRITES, LATE_BUMPS, NOT_HERE(DEADLINE, WHY_NO_WISH), WAIT_HERE(NO_NEWS, "nothing has to be done"),    \
        NOT_HERE(BUSY, WHY_OTHER_QUESTION), NO_CURRENCY, NO_NAMES, NO_PREPARING, NO_FOLLOWING, NO_VERIFYING,           \
        NO_PLUGGING, NO_PROVING, NO_SETTLING
#define INATTENTIVE RESTING, NOT_HERE(ACTIVATION, WHY_OTHER_QUESTION)
#define ATTENTIVE RESTING, [KVMIG__OVN_IN_ACTIVATION] = GO(ACTIVATED, 0, "activated", NULL)

/* ---- preparing: looks at the facts; the state only remembers which write was the last ---- */
#define REFUSE(name) [KVMIG__OVN_IN_##name] = GO(RELEASING, KVMIG__OVN_UNDO, NULL, WHY_CALLER)
#define PREPARING                                                                                                      \
    WISHES, LATE_WRITES, LATE_BUMPS, REFUSE(DEADLINE), NO_REST, WAIT_HERE(BUSY, WHY_WAIT_ORDER),                       \
        WAIT_HERE(NOT_CURRENT, WHY_WAIT_DB), REFUSE(BAD_NAMES), REFUSE(NO_PORT), REFUSE(UNSUPPORTED), REFUSE(FOREIGN), \
        REFUSE(LEFTOVER), REFUSE(ELSEWHERE), WAIT_HERE(UNBOUND, "the source may claim it; waits until the deadline"),  \
        [KVMIG__OVN_IN_UNPINNED] =                                                                                     \
            GO(PINNING, KVMIG__OVN_PIN, NULL, "an unpinned port would be fought over when the target is plugged"),     \
        [KVMIG__OVN_IN_OTHER_PAIR] =                                                                                   \
            GO(PINNING, KVMIG__OVN_PIN, NULL, "an activation of the former target must not outlive it"),               \
        [KVMIG__OVN_IN_STALE] = STAY("stale-activation", "extended now, the target would forward without its guest"),  \
        WAIT_HERE(NOT_FOLLOWED, WHY_WAIT_NORTHD),                                                                      \
        [KVMIG__OVN_IN_READY] = GO(EXTENDING, KVMIG__OVN_EXTEND, NULL, NULL), REFUSE(PAIR_STALE),                      \
        WAIT_HERE(PAIR_NOT_FOLLOWED, WHY_WAIT_NORTHD),                                                                 \
        [KVMIG__OVN_IN_PAIR] = GO(PREPARED, KVMIG__OVN_END, "prepared", NULL), NO_VERIFYING, NO_PLUGGING, NO_PROVING,  \
        NO_SETTLING
/* The facts are not judged while the write is out. */
#define WRITING                                                                                                        \
    WISHES, LATE_BUMPS, NO_REST, WAIT_HERE(BUSY, WHY_WAIT_ORDER), NO_CURRENCY, NO_NAMES, NO_PREPARING, NO_FOLLOWING,   \
        NO_VERIFYING, NO_PLUGGING, NO_PROVING, NO_SETTLING
#define PREPARE_WRITING                                                                                                \
    WRITING, [KVMIG__OVN_IN_CONFLICT] = GO(LOOKING, KVMIG__OVN_BACK_OFF, "conflict", WHY_AGAIN),                       \
             [KVMIG__OVN_IN_LOST] = GO(LOOKING, KVMIG__OVN_BACK_OFF, "lost", WHY_TELL),                                \
             [KVMIG__OVN_IN_UNWRITTEN] = GO(LOOKING, KVMIG__OVN_BACK_OFF, NULL, WHY_AGAIN),                            \
             [KVMIG__OVN_IN_DENIED] = GO(RELEASING, KVMIG__OVN_UNDO, NULL, WHY_DENIED), REFUSE(DEADLINE)

/* ---- verifying: writes nothing but bumps ---- */
#define GIVE_UP(name, why) [KVMIG__OVN_IN_##name] = GO(FAILED, KVMIG__OVN_FAIL, NULL, why)
#define VERIFYING                                                                                                      \
    WISHES, LATE_WRITES, GIVE_UP(DEADLINE, "nothing is written; the ports stay extended"), NO_REST,                    \
        WAIT_HERE(BUSY, WHY_WAIT_ORDER), WAIT_HERE(NOT_CURRENT, WHY_WAIT_DB), NO_NAMES, NO_PREPARING,                  \
        GIVE_UP(NOT_OURS, "what is not prepared cannot be verified"), GIVE_UP(NO_PROOF, WHY_NO_GUESS), NO_SETTLING
#define VERIFY_BUMPING(ask)                                                                                            \
    WISHES, LATE_WRITES, GIVE_UP(DEADLINE, "nothing is written; the ports stay extended"), NO_REST,                    \
        WAIT_HERE(BUSY, WHY_WAIT_ORDER), NO_CURRENCY, NO_NAMES, NO_PREPARING, NO_FOLLOWING, NO_VERIFYING, NO_PLUGGING, \
        NO_PROVING, NO_SETTLING, [KVMIG__OVN_IN_UNBUMPED] = GO(ask, KVMIG__OVN_BACK_OFF, NULL, "is bumped anew")

/* ---- settling ---- */
#define SETTLE_GIVE_UP(name, why) [KVMIG__OVN_IN_##name] = GO(FAILED, KVMIG__OVN_FAIL, NULL, why)
#define HOMECOMING                                                                                                     \
    WISHES, LATE_WRITES, SETTLE_GIVE_UP(DEADLINE, WHY_WRITTEN_UNPROVEN), NO_REST, WAIT_HERE(BUSY, WHY_WAIT_ORDER),     \
        WAIT_HERE(NOT_CURRENT, WHY_WAIT_DB), NO_NAMES, NO_PREPARING, NO_FOLLOWING, NO_VERIFYING, NO_PLUGGING,          \
        NO_RELEASING, [KVMIG__OVN_IN_OURS] = GO(RELEASING, 0, NULL, "something of ours is there again"),               \
                      [KVMIG__OVN_IN_NOTHING] =                                                                        \
                          GO(SETTLED, KVMIG__OVN_END, "converged", "no port is left to prove anything of"),            \
                      [KVMIG__OVN_IN_TAKEN] = GO(SUPERSEDED, KVMIG__OVN_END, "superseded", "the next owner has them")
#define SETTLE_BUMPING(ask, why)                                                                                       \
    WISHES, LATE_WRITES, SETTLE_GIVE_UP(DEADLINE, why), NO_REST, WAIT_HERE(BUSY, WHY_WAIT_ORDER), NO_CURRENCY,         \
        NO_NAMES, NO_PREPARING, NO_FOLLOWING, NO_VERIFYING, NO_PLUGGING, NO_PROVING,                                   \
        NO_SETTLING, [KVMIG__OVN_IN_UNBUMPED] = GO(ask, KVMIG__OVN_BACK_OFF, NULL, "is bumped anew")

[KVMIG__OVN_ST_IDLE] = { INATTENTIVE },
[KVMIG__OVN_ST_LOOKING] = { PREPARING },
[KVMIG__OVN_ST_PINNING] = {
    PREPARE_WRITING,
    [KVMIG__OVN_IN_WRITTEN] = GO(PINNED, 0, "pinned", NULL),
},
[KVMIG__OVN_ST_PINNED] = { PREPARING },
[KVMIG__OVN_ST_EXTENDING] = {
    PREPARE_WRITING,
    [KVMIG__OVN_IN_WRITTEN] = GO(EXTENDED, 0, "extended", NULL),
},
[KVMIG__OVN_ST_EXTENDED] = { PREPARING },
[KVMIG__OVN_ST_PREPARED] = { ATTENTIVE },
[KVMIG__OVN_ST_ARMING] = {
    VERIFYING, LATE_BUMPS,
    WAIT_HERE(PAIR_NOT_FOLLOWED, WHY_WAIT_NORTHD),
    [KVMIG__OVN_IN_PLUGGED] = GO(CLAIMING, 0, NULL, "it can be verified in full"),
    WAIT_HERE(MISSING, "neither the barrier nor the target's Open vSwitch can be read yet"),
    NOT_HERE(UNQUIET, WHY_OTHER_QUESTION),
    [KVMIG__OVN_IN_QUIET] = GO(ARM_BUMPING, KVMIG__OVN_BUMP, NULL, "a bump from before the preparation proves nothing"),
    NOT_HERE(PENDING, WHY_OTHER_QUESTION),
    [KVMIG__OVN_IN_PROVEN] =
        GO(PREPARED, KVMIG__OVN_END, "armed", "no barrier can be read, but the target's Open vSwitch is there"),
},
[KVMIG__OVN_ST_ARM_BUMPING] = {
    VERIFY_BUMPING(ARMING),
    [KVMIG__OVN_IN_BUMPED] = GO(ARM_BARRIER, 0, "barrier", NULL),
},
[KVMIG__OVN_ST_ARM_BARRIER] = {
    VERIFYING, LATE_BUMPS,
    [KVMIG__OVN_IN_PAIR_NOT_FOLLOWED] = GO(ARMING, 0, NULL, WHY_CHANGED),
    NO_PLUGGING,
    [KVMIG__OVN_IN_MISSING] = GO(ARMING, 0, NULL, "the barrier cannot be read any more"),
    NOT_HERE(UNQUIET, WHY_OTHER_QUESTION),
    NOT_HERE(QUIET, WHY_OTHER_QUESTION),
    WAIT_HERE(PENDING, WHY_WAIT_NORTHD),
    [KVMIG__OVN_IN_PROVEN] = GO(PREPARED, KVMIG__OVN_END, "armed", NULL),
},
[KVMIG__OVN_ST_CLAIMING] = {
    VERIFYING, LATE_BUMPS, NO_FOLLOWING, NO_PLUGGING,
    WAIT_HERE(MISSING, "the target may be plugged yet; waits until the deadline"),
    WAIT_HERE(UNQUIET, "one look at the right moment is no proof"),
    [KVMIG__OVN_IN_QUIET] = GO(BUMPING, KVMIG__OVN_BUMP, NULL, "a bump from before the claim proves nothing"),
    NOT_HERE(PENDING, WHY_OTHER_QUESTION),
    [KVMIG__OVN_IN_PROVEN] = GO(VERIFIED, KVMIG__OVN_END, "verified", "unchanged for longer than OVN's claim throttle"),
},
[KVMIG__OVN_ST_BUMPING] = {
    VERIFY_BUMPING(CLAIMING),
    [KVMIG__OVN_IN_BUMPED] = GO(BARRIER, 0, "barrier", NULL),
},
[KVMIG__OVN_ST_BARRIER] = {
    VERIFYING, LATE_BUMPS, NO_FOLLOWING, NO_PLUGGING,
    [KVMIG__OVN_IN_MISSING] = GO(CLAIMING, 0, NULL, WHY_CHANGED),
    [KVMIG__OVN_IN_UNQUIET] = GO(CLAIMING, 0, NULL, WHY_CHANGED),
    NOT_HERE(QUIET, WHY_OTHER_QUESTION),
    WAIT_HERE(PENDING, WHY_WAIT_NORTHD),
    [KVMIG__OVN_IN_PROVEN] = GO(VERIFIED, KVMIG__OVN_END, "verified", NULL),
},
[KVMIG__OVN_ST_VERIFIED] = { ATTENTIVE },
[KVMIG__OVN_ST_ACTIVATED] = { INATTENTIVE },
[KVMIG__OVN_ST_RELEASING] = {
    WISHES, LATE_WRITES, LATE_BUMPS, NO_REST,
    SETTLE_GIVE_UP(DEADLINE, "nothing is proven to be written; it may be asked again"),
    WAIT_HERE(BUSY, WHY_WAIT_ORDER),
    WAIT_HERE(NOT_CURRENT, WHY_WAIT_DB),
    SETTLE_GIVE_UP(BAD_NAMES, "nothing was written"),
    SETTLE_GIVE_UP(NO_PORT, "there is nothing to clean up"),
    NO_PREPARING, NO_FOLLOWING, NO_VERIFYING, NO_PLUGGING, NO_PROVING,
    SETTLE_GIVE_UP(TOO_YOUNG, "its owner may live, and nothing was written"),
    WAIT_HERE(AWAITING, "settled now, the target would forward before its guest runs; waits for a bounded time"),
    [KVMIG__OVN_IN_OURS] = GO(SETTLING, KVMIG__OVN_SETTLE, NULL, NULL),
    [KVMIG__OVN_IN_UNFENCED] = GO(FENCING, KVMIG__OVN_BUMP, NULL, "after a later commit, a lost write cannot come"),
    [KVMIG__OVN_IN_UNPROVEN] = GO(HOMING, 0, NULL, NULL),
    [KVMIG__OVN_IN_NOTHING] = GO(SETTLED, KVMIG__OVN_END, "nothing-left", NULL),
    [KVMIG__OVN_IN_PUT_BACK] = GO(FAILED, KVMIG__OVN_FAIL, NULL, "the error of the preparation is answered"),
    [KVMIG__OVN_IN_TAKEN] = GO(SUPERSEDED, KVMIG__OVN_END, "superseded", NULL),
},
[KVMIG__OVN_ST_FENCING] = {
    SETTLE_BUMPING(RELEASING, "a lost write may still come; it may be asked again"),
    [KVMIG__OVN_IN_BUMPED] = GO(RELEASING, KVMIG__OVN_FENCED, "fenced", NULL),
},
[KVMIG__OVN_ST_SETTLING] = {
    WRITING,
    [KVMIG__OVN_IN_WRITTEN] = GO(RELEASING, 0, "settled", "looks again: something may be left"),
    [KVMIG__OVN_IN_CONFLICT] = GO(RELEASING, KVMIG__OVN_BACK_OFF, "conflict", WHY_AGAIN),
    [KVMIG__OVN_IN_LOST] = GO(RELEASING, KVMIG__OVN_BACK_OFF, "lost", WHY_TELL),
    [KVMIG__OVN_IN_UNWRITTEN] = GO(RELEASING, KVMIG__OVN_BACK_OFF, NULL, WHY_AGAIN),
    SETTLE_GIVE_UP(DENIED, WHY_DENIED),
    SETTLE_GIVE_UP(DEADLINE, "whether it was written is not known yet; it may be asked again"),
},
[KVMIG__OVN_ST_HOMING] = {
    HOMECOMING, LATE_BUMPS,
    WAIT_HERE(MISSING, "a single bad sample is no failure: OVN itself lets go of the port for a moment here"),
    WAIT_HERE(UNQUIET, "one look at the right moment is no proof"),
    [KVMIG__OVN_IN_QUIET] = GO(HOME_BUMPING, KVMIG__OVN_BUMP, NULL, "a bump from before the claim proves nothing"),
    NOT_HERE(PENDING, WHY_OTHER_QUESTION),
    [KVMIG__OVN_IN_PROVEN] =
        GO(SETTLED, KVMIG__OVN_END, "converged", "unchanged for longer than OVN's claim throttle, or no witness"),
},
[KVMIG__OVN_ST_HOME_BUMPING] = {
    SETTLE_BUMPING(HOMING, WHY_WRITTEN_UNPROVEN),
    [KVMIG__OVN_IN_BUMPED] = GO(HOME_BARRIER, 0, "barrier", NULL),
},
[KVMIG__OVN_ST_HOME_BARRIER] = {
    HOMECOMING, LATE_BUMPS,
    [KVMIG__OVN_IN_MISSING] = GO(HOMING, 0, NULL, WHY_CHANGED),
    [KVMIG__OVN_IN_UNQUIET] = GO(HOMING, 0, NULL, WHY_CHANGED),
    NOT_HERE(QUIET, WHY_OTHER_QUESTION),
    WAIT_HERE(PENDING, WHY_WAIT_NORTHD),
    [KVMIG__OVN_IN_PROVEN] = GO(SETTLED, KVMIG__OVN_END, "converged", NULL),
},
[KVMIG__OVN_ST_SETTLED] = { INATTENTIVE },
[KVMIG__OVN_ST_SUPERSEDED] = { INATTENTIVE },
[KVMIG__OVN_ST_FAILED] = { INATTENTIVE },
