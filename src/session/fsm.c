/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state machine of a session, as data: the table of fsm_table.h and the names of its parts. Does not run anything:
 * session.c looks pairs up, changes its state and carries out the actions. Pure; any thread.
 */
#include "session/fsm.h"

#include <stddef.h>

#define GO(next, actions, why)                                                                                         \
    {                                                                                                                  \
        KVMIG__PAIR_GO, KVMIG__ST_##next, (actions), why                                                               \
    }
#define IGNORE(why)                                                                                                    \
    {                                                                                                                  \
        KVMIG__PAIR_IGNORE, 0, 0, why                                                                                  \
    }
#define ERROR(why)                                                                                                     \
    {                                                                                                                  \
        KVMIG__PAIR_ERROR, 0, 0, why                                                                                   \
    }

static const struct kvmig__fsm_pair table[KVMIG__N_STATES][KVMIG__N_INPUTS] = {
#include "session/fsm_table.h"
};

static const char *const state_names[] = {
#define X(name, phase, comment) #name,
    KVMIG__FSM_STATES(X)
#undef X
};
static const char *const state_comments[] = {
#define X(name, phase, comment) comment,
    KVMIG__FSM_STATES(X)
#undef X
};
static const int32_t state_phases[] = {
#define X(name, phase, comment) KVMIG_PHASE_##phase,
    KVMIG__FSM_STATES(X)
#undef X
};
static const char *const input_names[] = {
#define X(name, comment) #name,
    KVMIG__FSM_INPUTS(X)
#undef X
};
static const char *const input_comments[] = {
#define X(name, comment) comment,
    KVMIG__FSM_INPUTS(X)
#undef X
};
/* In the order of the bits. */
static const char *const action_names[KVMIG__FSM_N_ACTIONS] = {
    "ASK_SLOT", "CHECK",        "SCHEDULE",     "PREPARE",     "GATE",        "MIGRATE", "ABORT", "LOCATE",   "FINISH",
    "UNDO",     "SAY_ACCEPTED", "SAY_TOO_LATE", "SAY_REFUSED", "SAY_UNKNOWN", "END",     "ADMIT", "WITHDRAW",
};

static bool is_state(int32_t state)
{
    return state >= 0 && state < KVMIG__N_STATES;
}

static bool is_input(int32_t input)
{
    return input >= 0 && input < KVMIG__N_INPUTS;
}

const struct kvmig__fsm_pair *kvmig__fsm_pair(enum kvmig__fsm_state state, enum kvmig__fsm_input input)
{
    return is_state((int32_t)state) && is_input((int32_t)input) ? &table[state][input] : NULL;
}

const char *kvmig__fsm_state_name(int32_t state)
{
    return is_state(state) ? state_names[state] : NULL;
}

const char *kvmig__fsm_state_comment(int32_t state)
{
    return is_state(state) ? state_comments[state] : NULL;
}

const char *kvmig__fsm_input_name(int32_t input)
{
    return is_input(input) ? input_names[input] : NULL;
}

const char *kvmig__fsm_input_comment(int32_t input)
{
    return is_input(input) ? input_comments[input] : NULL;
}

const char *kvmig__fsm_action_name(uint32_t action)
{
    for (size_t i = 0; i < KVMIG__FSM_N_ACTIONS; i++)
        if (action == 1u << i)
            return action_names[i];
    return NULL;
}

int32_t kvmig__fsm_phase(int32_t state)
{
    return is_state(state) ? state_phases[state] : KVMIG_PHASE_UNSET;
}

bool kvmig__fsm_is_terminal(int32_t state)
{
    return state == KVMIG__ST_SUCCEEDED || state == KVMIG__ST_FAILED || state == KVMIG__ST_CANCELLED ||
           state == KVMIG__ST_INDETERMINATE;
}
