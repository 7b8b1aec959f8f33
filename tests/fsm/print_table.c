/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Prints the table of the session's state machine: "table" as plain text, one pair per line (tests/fsm/table.expected), "doc" as
 * docs/session-states.md with a graph. Both files are committed; tests fail when they differ from what this prints:
 *   tests/fsm/print_table table >tests/fsm/table.expected
 *   tests/fsm/print_table doc >docs/session-states.md
 */
#include "session/fsm.h"

#include <stdio.h>
#include <string.h>

static const struct kvmig__fsm_pair *pair_of(int32_t state, int32_t input)
{
    return kvmig__fsm_pair((enum kvmig__fsm_state)state, (enum kvmig__fsm_input)input);
}

static void print_actions(uint32_t actions, const char *separator)
{
    const char *before = "";

    for (uint32_t bit = 1; bit; bit <<= 1) {
        if (actions & bit) {
            printf("%s%s", before, kvmig__fsm_action_name(bit));
            before = separator;
        }
    }
}

/* ---- table ---- */

static void print_pair(int32_t state, int32_t input)
{
    const struct kvmig__fsm_pair *pair = pair_of(state, input);

    printf("%-16s %-13s ", kvmig__fsm_state_name(state), kvmig__fsm_input_name(input));
    switch (pair->kind) {
    case KVMIG__PAIR_GO:
        printf("-> %s", kvmig__fsm_state_name(pair->next));
        if (pair->actions)
            printf("  ");
        print_actions(pair->actions, " ");
        if (pair->reason)
            printf("  (%s)", pair->reason);
        break;
    case KVMIG__PAIR_IGNORE:
        printf("ignored: %s", pair->reason);
        break;
    default:
        printf("error: %s", pair->reason);
        break;
    }
    printf("\n");
}

static void print_table(void)
{
    for (int32_t state = 0; state < KVMIG__N_STATES; state++)
        for (int32_t input = 0; input < KVMIG__N_INPUTS; input++)
            print_pair(state, input);
}

/* ---- document ---- */

static void print_states(void)
{
    printf("## States\n\n| state | phase | meaning |\n|---|---|---|\n");
    for (int32_t state = 0; state < KVMIG__N_STATES; state++)
        printf("| `%s` | %s | %s |\n", kvmig__fsm_state_name(state), kvmig_phase_name(kvmig__fsm_phase(state)),
               kvmig__fsm_state_comment(state));
}

static void print_inputs(void)
{
    printf("\n## Inputs\n\n| input | meaning |\n|---|---|\n");
    for (int32_t input = 0; input < KVMIG__N_INPUTS; input++)
        printf("| `%s` | %s |\n", kvmig__fsm_input_name(input), kvmig__fsm_input_comment(input));
}

static void print_moves(void)
{
    printf("\n## Moves\n\n| state | input | next | actions | why |\n|---|---|---|---|---|\n");
    for (int32_t state = 0; state < KVMIG__N_STATES; state++) {
        for (int32_t input = 0; input < KVMIG__N_INPUTS; input++) {
            const struct kvmig__fsm_pair *pair = pair_of(state, input);

            if (pair->kind != KVMIG__PAIR_GO)
                continue;
            printf("| `%s` | `%s` | `%s` | ", kvmig__fsm_state_name(state), kvmig__fsm_input_name(input),
                   kvmig__fsm_state_name(pair->next));
            print_actions(pair->actions, ", ");
            printf(" | %s |\n", pair->reason ? pair->reason : "");
        }
    }
}

static void print_others(void)
{
    printf(
        "\n## Everything else\n\nInputs that change nothing. \"error\" would be a bug of the library; it is logged.\n\n"
        "| state | input | how | why |\n|---|---|---|---|\n");
    for (int32_t state = 0; state < KVMIG__N_STATES; state++) {
        for (int32_t input = 0; input < KVMIG__N_INPUTS; input++) {
            const struct kvmig__fsm_pair *pair = pair_of(state, input);

            if (pair->kind != KVMIG__PAIR_GO)
                printf("| `%s` | `%s` | %s | %s |\n", kvmig__fsm_state_name(state), kvmig__fsm_input_name(input),
                       pair->kind == KVMIG__PAIR_IGNORE ? "ignored" : "error", pair->reason);
        }
    }
}

/* One edge per pair of states; its inputs are joined. */
static void print_edge(int32_t from, int32_t to)
{
    const char *before = "";

    for (int32_t input = 0; input < KVMIG__N_INPUTS; input++) {
        const struct kvmig__fsm_pair *pair = pair_of(from, input);

        if (pair->kind != KVMIG__PAIR_GO || pair->next != to)
            continue;
        if (!*before)
            printf("    %s -> %s [label=\"", kvmig__fsm_state_name(from), kvmig__fsm_state_name(to));
        printf("%s%s", before, kvmig__fsm_input_name(input));
        before = "\\n";
    }
    if (*before)
        printf("\"];\n");
}

static void print_graph(void)
{
    printf("\n## Graph\n\nGraphviz: `dot -Tsvg`.\n\n```dot\ndigraph session {\n    rankdir=TB;\n"
           "    node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
           "    edge [fontname=\"sans-serif\", fontsize=8];\n");
    for (int32_t state = 0; state < KVMIG__N_STATES; state++)
        printf("    %s [label=\"%s\\n%s\"%s];\n", kvmig__fsm_state_name(state), kvmig__fsm_state_name(state),
               kvmig_phase_name(kvmig__fsm_phase(state)), kvmig__fsm_is_terminal(state) ? ", peripheries=2" : "");
    for (int32_t from = 0; from < KVMIG__N_STATES; from++)
        for (int32_t to = 0; to < KVMIG__N_STATES; to++)
            print_edge(from, to);
    printf("}\n```\n");
}

static void print_document(void)
{
    printf("<!-- Printed by tests/fsm/print_table from src/session/fsm_table.h; do not edit. -->\n"
           "# States of a session\n\n"
           "The state machine of `kvmig_session`. States are finer than the public phases; each belongs to one. Every "
           "pair of\n"
           "state and input is listed below, with its reason where it changes nothing.\n\n");
    print_states();
    print_inputs();
    print_moves();
    print_others();
    print_graph();
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "table") == 0) {
        print_table();
    } else if (argc == 2 && strcmp(argv[1], "doc") == 0) {
        print_document();
    } else {
        fprintf(stderr, "usage: %s table|doc\n", argv[0]);
        return 2;
    }
    return 0;
}
