/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rules that the whole table of the session's state machine keeps, whatever its single pairs say.
 */
#include "session/fsm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SAY (KVMIG__SAY_ACCEPTED | KVMIG__SAY_TOO_LATE | KVMIG__SAY_REFUSED | KVMIG__SAY_UNKNOWN)
#define ALL_ACTIONS ((1u << KVMIG__FSM_N_ACTIONS) - 1)

static const struct kvmig__fsm_pair *pair_of(int32_t state, int32_t input)
{
    return kvmig__fsm_pair((enum kvmig__fsm_state)state, (enum kvmig__fsm_input)input);
}

static void every_pair_is_written_down(void **test_state)
{
    (void)test_state;
    for (int32_t s = 0; s < KVMIG__N_STATES; s++) {
        for (int32_t i = 0; i < KVMIG__N_INPUTS; i++) {
            const struct kvmig__fsm_pair *pair = pair_of(s, i);

            assert_in_range(pair->kind, KVMIG__PAIR_GO, KVMIG__PAIR_ERROR);
            assert_true(pair->next < KVMIG__N_STATES);
            assert_int_equal(pair->actions & ~ALL_ACTIONS, 0);
            if (pair->kind != KVMIG__PAIR_GO) {
                assert_non_null(pair->reason);
                assert_true(strlen(pair->reason) > 10);
                assert_int_equal(pair->actions, 0);
            }
        }
    }
}

static void every_name_is_known_and_nothing_beyond(void **test_state)
{
    (void)test_state;
    for (int32_t s = 0; s < KVMIG__N_STATES; s++) {
        assert_non_null(kvmig__fsm_state_name(s));
        assert_non_null(kvmig__fsm_state_comment(s));
        assert_non_null(kvmig_phase_name(kvmig__fsm_phase(s)));
        assert_int_equal(kvmig__fsm_is_terminal(s), kvmig_phase_is_terminal(kvmig__fsm_phase(s)));
    }
    for (int32_t i = 0; i < KVMIG__N_INPUTS; i++) {
        assert_non_null(kvmig__fsm_input_name(i));
        assert_non_null(kvmig__fsm_input_comment(i));
    }
    for (uint32_t a = 0; a < KVMIG__FSM_N_ACTIONS; a++)
        assert_non_null(kvmig__fsm_action_name(1u << a));
    assert_null(kvmig__fsm_state_name(-1));
    assert_null(kvmig__fsm_state_name(KVMIG__N_STATES));
    assert_null(kvmig__fsm_input_name(KVMIG__N_INPUTS));
    assert_null(kvmig__fsm_action_name(1u << KVMIG__FSM_N_ACTIONS));
    assert_null(kvmig__fsm_action_name(3));
}

static void nothing_leaves_a_terminal_state(void **test_state)
{
    (void)test_state;
    for (int32_t s = 0; s < KVMIG__N_STATES; s++)
        for (int32_t i = 0; kvmig__fsm_is_terminal(s) && i < KVMIG__N_INPUTS; i++)
            assert_int_not_equal(pair_of(s, i)->kind, KVMIG__PAIR_GO);
}

static void the_end_is_said_exactly_on_the_way_into_a_terminal_state(void **test_state)
{
    (void)test_state;
    for (int32_t s = 0; s < KVMIG__N_STATES; s++) {
        for (int32_t i = 0; i < KVMIG__N_INPUTS; i++) {
            const struct kvmig__fsm_pair *pair = pair_of(s, i);

            if (pair->kind == KVMIG__PAIR_GO)
                assert_int_equal(kvmig__fsm_is_terminal(pair->next), !!(pair->actions & KVMIG__DO_END));
        }
    }
}

static void every_wait_has_a_deadline(void **test_state)
{
    (void)test_state;
    for (int32_t s = 0; s < KVMIG__N_STATES; s++) {
        const struct kvmig__fsm_pair *pair = pair_of(s, KVMIG__IN_DEADLINE);

        if (s == KVMIG__ST_UNSET || kvmig__fsm_is_terminal(s))
            continue;
        assert_int_equal(pair->kind, KVMIG__PAIR_GO);
        assert_int_not_equal(pair->next, s);
    }
}

/* With nothing but deadlines a session comes to its end: no host, no driver and no caller can hold it. */
static void deadlines_alone_end_every_session(void **test_state)
{
    (void)test_state;
    for (int32_t s = KVMIG__ST_QUEUED; s < KVMIG__N_STATES; s++) {
        int32_t state = s;

        for (int steps = 0; !kvmig__fsm_is_terminal(state); steps++) {
            assert_true(steps < KVMIG__N_STATES);
            state = pair_of(state, KVMIG__IN_DEADLINE)->next;
        }
    }
}

/* I1, I2: undoing and finishing act on one side each, so both need the proof that goes with them. */
static void undo_and_finish_follow_a_proof_only(void **test_state)
{
    (void)test_state;
    for (int32_t s = 0; s < KVMIG__N_STATES; s++) {
        for (int32_t i = 0; i < KVMIG__N_INPUTS; i++) {
            if (pair_of(s, i)->actions & KVMIG__DO_UNDO)
                assert_int_equal(i, KVMIG__IN_AT_SOURCE);
            if (pair_of(s, i)->actions & KVMIG__DO_FINISH)
                assert_int_equal(i, KVMIG__IN_AT_TARGET);
        }
    }
}

static void success_needs_a_proof_and_has_no_way_back(void **test_state)
{
    (void)test_state;
    for (int32_t s = 0; s < KVMIG__N_STATES; s++)
        for (int32_t i = 0; i < KVMIG__N_INPUTS; i++)
            if (pair_of(s, i)->kind == KVMIG__PAIR_GO && pair_of(s, i)->next == KVMIG__ST_SUCCEEDED)
                assert_int_equal(s, KVMIG__ST_FINISHING);
    for (int32_t i = 0; i < KVMIG__N_INPUTS; i++) {
        const struct kvmig__fsm_pair *pair = pair_of(KVMIG__ST_FINISHING, i);

        if (pair->kind == KVMIG__PAIR_GO)
            assert_true(pair->next == KVMIG__ST_FINISHING || pair->next == KVMIG__ST_SUCCEEDED ||
                        pair->next == KVMIG__ST_INDETERMINATE);
    }
}

/* A guest may be anywhere once the call was made: no path says that it is on the source without having asked. */
static void after_the_call_no_end_but_through_the_resolver(void **test_state)
{
    static const int32_t after[] = { KVMIG__ST_RUNNING, KVMIG__ST_ABORTING_CANCEL, KVMIG__ST_ABORTING_TIMEOUT };

    (void)test_state;
    for (size_t k = 0; k < sizeof(after) / sizeof(after[0]); k++)
        for (int32_t i = 0; i < KVMIG__N_INPUTS; i++)
            if (pair_of(after[k], i)->kind == KVMIG__PAIR_GO)
                assert_false(kvmig__fsm_is_terminal(pair_of(after[k], i)->next));
}

static void unproven_places_end_indeterminate_and_touch_nothing(void **test_state)
{
    static const int32_t inputs[] = { KVMIG__IN_AT_NONE, KVMIG__IN_AT_BOTH, KVMIG__IN_AT_UNKNOWN };

    (void)test_state;
    for (int32_t s = 0; s < KVMIG__N_STATES; s++) {
        for (size_t k = 0; k < 3; k++) {
            const struct kvmig__fsm_pair *pair = pair_of(s, inputs[k]);

            if (pair->kind != KVMIG__PAIR_GO)
                continue;
            assert_int_equal(pair->next, KVMIG__ST_INDETERMINATE);
            assert_int_equal(pair->actions & ~(SAY | KVMIG__DO_END), 0);
        }
    }
}

/* A roll-back that does not prove the guest on the source is no clean failure. */
static void undoing_can_end_unproven(void **test_state)
{
    static const int32_t states[] = { KVMIG__ST_UNDOING_FAIL, KVMIG__ST_UNDOING_CANCEL };

    (void)test_state;
    for (size_t k = 0; k < 2; k++) {
        const struct kvmig__fsm_pair *pair = pair_of(states[k], KVMIG__IN_AT_UNKNOWN);

        assert_int_equal(pair->kind, KVMIG__PAIR_GO);
        assert_int_equal(pair->next, KVMIG__ST_INDETERMINATE);
        assert_int_not_equal(pair_of(states[k], KVMIG__IN_STEP_FAIL)->next, KVMIG__ST_INDETERMINATE);
    }
}

/* The migration may go on although its call is lost, so a cancel reaches it wherever a call may be behind. */
static void cancel_reaches_a_migration_whose_call_is_lost(void **test_state)
{
    static const int32_t states[] = { KVMIG__ST_RUNNING, KVMIG__ST_ABORTING_TIMEOUT, KVMIG__ST_LOCATING_FAIL,
                                      KVMIG__ST_LOCATING_CANCEL };

    (void)test_state;
    for (size_t k = 0; k < sizeof(states) / sizeof(states[0]); k++) {
        assert_true(pair_of(states[k], KVMIG__IN_CANCEL)->actions & KVMIG__DO_ABORT);
        assert_int_equal(pair_of(states[k], KVMIG__IN_CANCEL)->actions & SAY, 0);
    }
}

/* Walks every path, carrying whether a cancel is pending: it is answered before the end on each of them. */
struct walk {
    bool seen[KVMIG__N_STATES][2];
};

static void walk(struct walk *w, int32_t state, bool pending)
{
    if (w->seen[state][pending])
        return;
    w->seen[state][pending] = true;
    for (int32_t i = 0; i < KVMIG__N_INPUTS; i++) {
        const struct kvmig__fsm_pair *pair = pair_of(state, i);
        bool now = pending || i == KVMIG__IN_CANCEL;

        if (i == KVMIG__IN_CANCEL && pair->kind == KVMIG__PAIR_ERROR)
            continue; /* callers are refused before */
        if (pair->kind == KVMIG__PAIR_IGNORE)
            assert_true(i != KVMIG__IN_CANCEL || pending); /* it would stay without an answer */
        if (pair->kind != KVMIG__PAIR_GO)
            continue;
        if (pair->actions & SAY)
            now = false;
        if (kvmig__fsm_is_terminal(pair->next))
            assert_false(now);
        else
            walk(w, pair->next, now);
    }
}

static void every_cancel_is_answered_before_the_end(void **test_state)
{
    struct walk w = { { { false } } };

    (void)test_state;
    walk(&w, KVMIG__ST_UNSET, false);
}

static void every_state_is_reached(void **test_state)
{
    bool reached[KVMIG__N_STATES] = { [KVMIG__ST_UNSET] = true };

    (void)test_state;
    for (int round = 0; round < KVMIG__N_STATES; round++)
        for (int32_t s = 0; s < KVMIG__N_STATES; s++)
            for (int32_t i = 0; reached[s] && i < KVMIG__N_INPUTS; i++)
                if (pair_of(s, i)->kind == KVMIG__PAIR_GO)
                    reached[pair_of(s, i)->next] = true;
    for (int32_t s = 0; s < KVMIG__N_STATES; s++)
        assert_true(reached[s]);
}

/* A small generator of our own: the same walks on every machine. */
static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static void any_order_of_inputs_ends_at_most_once_and_acts_no_more(void **test_state)
{
    (void)test_state;
    for (uint32_t seed = 1; seed <= 2000; seed++) {
        uint32_t random = seed;
        int32_t state = KVMIG__ST_UNSET;
        int ends = 0;

        for (int n = 0; n < 200; n++) {
            const struct kvmig__fsm_pair *pair = pair_of(state, (int32_t)(next_random(&random) % KVMIG__N_INPUTS));

            assert_true(ends == 0 || pair->kind != KVMIG__PAIR_GO);
            if (pair->kind != KVMIG__PAIR_GO)
                continue;
            ends += !!(pair->actions & KVMIG__DO_END);
            state = pair->next;
        }
        assert_true(ends <= 1);
        assert_int_equal(ends, kvmig__fsm_is_terminal(state));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_is_written_down),
        cmocka_unit_test(every_name_is_known_and_nothing_beyond),
        cmocka_unit_test(nothing_leaves_a_terminal_state),
        cmocka_unit_test(the_end_is_said_exactly_on_the_way_into_a_terminal_state),
        cmocka_unit_test(every_wait_has_a_deadline),
        cmocka_unit_test(deadlines_alone_end_every_session),
        cmocka_unit_test(undo_and_finish_follow_a_proof_only),
        cmocka_unit_test(success_needs_a_proof_and_has_no_way_back),
        cmocka_unit_test(after_the_call_no_end_but_through_the_resolver),
        cmocka_unit_test(unproven_places_end_indeterminate_and_touch_nothing),
        cmocka_unit_test(undoing_can_end_unproven),
        cmocka_unit_test(cancel_reaches_a_migration_whose_call_is_lost),
        cmocka_unit_test(every_cancel_is_answered_before_the_end),
        cmocka_unit_test(every_state_is_reached),
        cmocka_unit_test(any_order_of_inputs_ends_at_most_once_and_acts_no_more),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
