/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Prints the table of the OVN port's state machine as docs/port-states.md, with a graph. The file is committed; a
 * test fails when it differs from what this prints:
 *   tests/fsm/port_print >docs/port-states.md
 */
#include "port/ovn_states.h"

#include <stdio.h>
#include <string.h>

static void print_states(void)
{
    printf("## States\n\n| state | public state | meaning |\n|---|---|---|\n");
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++) {
        const char *on = kvmig_port_state_name(kvmig__ovn_public_state(s, false));
        const char *back = kvmig_port_state_name(kvmig__ovn_public_state(s, true));

        printf("| `%s` | %s", kvmig__ovn_state_name(s), on);
        if (strcmp(on, back) != 0)
            printf(" or %s", back);
        printf(" | %s |\n", kvmig__ovn_state_comment(s));
    }
}

static void print_inputs(void)
{
    printf("\n## Inputs\n\n| input | meaning |\n|---|---|\n");
    for (int32_t i = 0; i < KVMIG__OVN_N_INPUTS; i++)
        printf("| `%s` | %s |\n", kvmig__ovn_input_name(i), kvmig__ovn_input_comment(i));
}

/* The same in every state (tests/fsm/test_port.c). */
static void print_wishes(void)
{
    printf("\n## Wishes\n\nTaken in every state; a wish takes the place of the one that runs.\n\n"
           "| wish | next |\n|---|---|\n");
    for (int32_t i = 0; i < KVMIG__OVN_N_WISHES; i++)
        printf("| `%s` | `%s` |\n", kvmig__ovn_input_name(i), kvmig__ovn_state_name(kvmig__ovn_pair_of(0, i)->next));
}

static void print_actions(uint32_t actions)
{
    const char *before = "";

    for (uint32_t bit = 1; bit; bit <<= 1) {
        if (actions & bit) {
            printf("%s%s", before, kvmig__ovn_action_name(bit));
            before = ", ";
        }
    }
}

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

static void print_moves(void)
{
    printf("\n## Moves\n\nOf the inputs that are no wishes. A note is a line of the port's timeline; \"converged\" is "
           "\"rolled-back\" there where\nthe source is the winner by a roll-back.\n\n"
           "| state | input | next | actions | note | why |\n|---|---|---|---|---|---|\n");
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++) {
        for (int32_t i = KVMIG__OVN_N_WISHES; i < KVMIG__OVN_N_INPUTS; i++) {
            const struct kvmig__ovn_pair *pair = kvmig__ovn_pair_of(s, i);

            if (pair->kind != KVMIG__OVN_GO)
                continue;
            printf("| `%s` | `%s` | `%s` | ", kvmig__ovn_state_name(s), kvmig__ovn_input_name(i),
                   kvmig__ovn_state_name(pair->next));
            print_actions(pair->actions);
            printf(" | %s | %s |\n", or_nothing(pair->note), or_nothing(pair->reason));
        }
    }
}

/* The inputs of a state that are treated alike, from the first of them; nothing if an earlier input printed them. */
static void print_alike(int32_t state, int32_t first, bool errors)
{
    const struct kvmig__ovn_pair *pair = kvmig__ovn_pair_of(state, first);

    if (pair->kind == KVMIG__OVN_GO || (pair->kind == KVMIG__OVN_ERROR) != errors)
        return;
    for (int32_t i = 0; i < first; i++)
        if (kvmig__ovn_pair_of(state, i)->kind == pair->kind &&
            strcmp(kvmig__ovn_pair_of(state, i)->reason, pair->reason) == 0)
            return;
    printf("| `%s` | ", kvmig__ovn_state_name(state));
    for (int32_t i = first; i < KVMIG__OVN_N_INPUTS; i++) {
        const struct kvmig__ovn_pair *other = kvmig__ovn_pair_of(state, i);

        if (other->kind == pair->kind && strcmp(other->reason, pair->reason) == 0)
            printf("%s`%s`", i == first ? "" : ", ", kvmig__ovn_input_name(i));
    }
    printf(" | %s%s%s |\n", pair->reason, pair->note ? "; noted once: " : "", or_nothing(pair->note));
}

static void print_others(bool errors)
{
    printf("\n## %s\n\n| state | inputs | why |\n|---|---|---|\n",
           errors ? "What cannot happen" : "What changes nothing");
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++)
        for (int32_t i = 0; i < KVMIG__OVN_N_INPUTS; i++)
            print_alike(s, i, errors);
}

static void print_edge(int32_t from, int32_t to)
{
    const char *before = "";

    for (int32_t i = KVMIG__OVN_N_WISHES; i < KVMIG__OVN_N_INPUTS; i++) {
        const struct kvmig__ovn_pair *pair = kvmig__ovn_pair_of(from, i);

        if (pair->kind != KVMIG__OVN_GO || pair->next != to)
            continue;
        if (!*before)
            printf("    %s -> %s [label=\"", kvmig__ovn_state_name(from), kvmig__ovn_state_name(to));
        printf("%s%s", before, kvmig__ovn_input_name(i));
        before = "\\n";
    }
    if (*before)
        printf("\"];\n");
}

static void print_graph(void)
{
    printf("\n## Graph\n\nGraphviz: `dot -Tsvg`. Without the wishes; where no wish runs, the frame is double.\n\n"
           "```dot\ndigraph port {\n    rankdir=TB;\n    node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
           "    edge [fontname=\"sans-serif\", fontsize=8];\n");
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++)
        printf("    %s [label=\"%s\\n%s\"%s];\n", kvmig__ovn_state_name(s), kvmig__ovn_state_name(s),
               kvmig_port_state_name(kvmig__ovn_public_state(s, false)),
               kvmig__ovn_is_resting(s) ? ", peripheries=2" : "");
    for (int32_t from = 0; from < KVMIG__OVN_N_STATES; from++)
        for (int32_t to = 0; to < KVMIG__OVN_N_STATES; to++)
            print_edge(from, to);
    printf("}\n```\n");
}

int main(void)
{
    printf("<!-- Printed by tests/fsm/port_print from src/port/ovn_table.h; do not edit. -->\n"
           "# States of an OVN port\n\n"
           "The state machine of a `kvmig_port` of OVN. States are finer than the public ones; each belongs to one. In "
           "every step "
           "the facts of the\ndatabases are judged, by the question that the state asks, as exactly one input. Every "
           "pair of "
           "state and input is listed below.\n\n");
    print_states();
    print_inputs();
    print_wishes();
    print_moves();
    print_others(false);
    print_others(true);
    print_graph();
    return 0;
}
