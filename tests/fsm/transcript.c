/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plays a script against the state machine of a session: one input per line on standard input ("START", "CALL_FAIL"; # begins
 * a comment), and prints what becomes of each: state, phase and actions, or why it changes nothing. No clock, no session.
 */
#include "session/fsm.h"

#include <stdio.h>
#include <string.h>

static int32_t find_input(const char *name)
{
    for (int32_t i = 0; i < KVMIG__N_INPUTS; i++)
        if (strcmp(kvmig__fsm_input_name(i), name) == 0)
            return i;
    return -1;
}

static void print_actions(uint32_t actions)
{
    for (uint32_t bit = 1; bit; bit <<= 1)
        if (actions & bit)
            printf(" %s", kvmig__fsm_action_name(bit));
}

static int32_t play(int32_t state, int32_t input)
{
    const struct kvmig__fsm_pair *pair = kvmig__fsm_pair((enum kvmig__fsm_state)state, (enum kvmig__fsm_input)input);

    printf("%s\n", kvmig__fsm_input_name(input));
    if (pair->kind != KVMIG__PAIR_GO) {
        printf("    %s in %s: %s\n", pair->kind == KVMIG__PAIR_IGNORE ? "ignored" : "ERROR",
               kvmig__fsm_state_name(state), pair->reason);
        return state;
    }
    printf("    %s [%s]", kvmig__fsm_state_name(pair->next), kvmig_phase_name(kvmig__fsm_phase(pair->next)));
    print_actions(pair->actions);
    printf("\n");
    return pair->next;
}

int main(void)
{
    int32_t state = KVMIG__ST_UNSET;
    char line[256];

    while (fgets(line, sizeof(line), stdin)) {
        int32_t input;

        line[strcspn(line, "#\n")] = '\0';
        line[strcspn(line, " ")] = '\0';
        if (!line[0])
            continue;
        input = find_input(line);
        if (input < 0) {
            fprintf(stderr, "no such input: \"%s\"\n", line);
            return 2;
        }
        state = play(state, input);
    }
    return 0;
}
