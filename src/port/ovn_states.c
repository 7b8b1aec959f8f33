/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The states of an OVN port, as data: the table of ovn_table.h and the names of its parts. Does not run anything:
 * ovn_machine.c judges, looks pairs up, and carries out the actions. Pure; any thread.
 */
#include "port/ovn_states.h"

#include <stddef.h>

#define GO(next, actions, note, why)                                                                                   \
    {                                                                                                                  \
        KVMIG__OVN_GO, KVMIG__OVN_ST_##next, (actions), note, why                                                      \
    }
#define STAY(note, why)                                                                                                \
    {                                                                                                                  \
        KVMIG__OVN_STAY, 0, 0, note, why                                                                               \
    }
#define ERROR(why)                                                                                                     \
    {                                                                                                                  \
        KVMIG__OVN_ERROR, 0, 0, NULL, why                                                                              \
    }

static const struct kvmig__ovn_pair table[KVMIG__OVN_N_STATES][KVMIG__OVN_N_INPUTS] = {
#include "port/ovn_table.h"
};

static const char *const state_names[] = {
#define X(name, state, comment) #name,
    KVMIG__OVN_STATES(X)
#undef X
};
static const char *const state_comments[] = {
#define X(name, state, comment) comment,
    KVMIG__OVN_STATES(X)
#undef X
};
static const int32_t public_states[] = {
#define X(name, state, comment) KVMIG_PORT_##state,
    KVMIG__OVN_STATES(X)
#undef X
};
static const char *const input_names[] = {
#define X(name, comment) #name,
    KVMIG__OVN_INPUTS(X)
#undef X
};
static const char *const input_comments[] = {
#define X(name, comment) comment,
    KVMIG__OVN_INPUTS(X)
#undef X
};
/* In the order of the bits. */
static const char *const action_names[KVMIG__OVN_N_ACTIONS] = {
    "TAKE", "PIN", "EXTEND", "SETTLE", "BUMP", "BACK_OFF", "FENCED", "UNDO", "END", "FAIL",
};

static bool is_state(int32_t state)
{
    return state >= 0 && state < KVMIG__OVN_N_STATES;
}

static bool is_input(int32_t input)
{
    return input >= 0 && input < KVMIG__OVN_N_INPUTS;
}

const struct kvmig__ovn_pair *kvmig__ovn_pair_of(int32_t state, int32_t input)
{
    return is_state(state) && is_input(input) ? &table[state][input] : NULL;
}

const char *kvmig__ovn_state_name(int32_t state)
{
    return is_state(state) ? state_names[state] : NULL;
}

const char *kvmig__ovn_state_comment(int32_t state)
{
    return is_state(state) ? state_comments[state] : NULL;
}

const char *kvmig__ovn_input_name(int32_t input)
{
    return is_input(input) ? input_names[input] : NULL;
}

const char *kvmig__ovn_input_comment(int32_t input)
{
    return is_input(input) ? input_comments[input] : NULL;
}

const char *kvmig__ovn_action_name(uint32_t action)
{
    for (size_t i = 0; i < KVMIG__OVN_N_ACTIONS; i++)
        if (action == 1u << i)
            return action_names[i];
    return NULL;
}

int32_t kvmig__ovn_public_state(int32_t state, bool is_back)
{
    int32_t public_state = is_state(state) ? public_states[state] : KVMIG_PORT_IDLE;

    if (is_back && public_state == KVMIG_PORT_CONVERGING)
        return KVMIG_PORT_ROLLING_BACK;
    if (is_back && public_state == KVMIG_PORT_CONVERGED)
        return KVMIG_PORT_ROLLED_BACK;
    return public_state;
}

bool kvmig__ovn_is_resting(int32_t state)
{
    return state == KVMIG__OVN_ST_IDLE || state == KVMIG__OVN_ST_PREPARED || state == KVMIG__OVN_ST_VERIFIED ||
           state == KVMIG__OVN_ST_ACTIVATED || state == KVMIG__OVN_ST_SETTLED || state == KVMIG__OVN_ST_SUPERSEDED ||
           state == KVMIG__OVN_ST_FAILED;
}
