/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rules that the whole table of the OVN port's state machine keeps, whatever its single pairs say.
 */
#include "port/ovn.h"
#include "port/ovn_states.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ORDERS (KVMIG__OVN_PIN | KVMIG__OVN_EXTEND | KVMIG__OVN_SETTLE | KVMIG__OVN_BUMP)
#define ANSWERS (KVMIG__OVN_END | KVMIG__OVN_FAIL)
#define ALL_ACTIONS ((1u << KVMIG__OVN_N_ACTIONS) - 1)

/* Calls check for every pair that moves. */
static void each_move(void (*check)(int32_t state, int32_t input, const struct kvmig__ovn_pair *pair))
{
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++)
        for (int32_t i = 0; i < KVMIG__OVN_N_INPUTS; i++)
            if (kvmig__ovn_pair_of(s, i)->kind == KVMIG__OVN_GO)
                check(s, i, kvmig__ovn_pair_of(s, i));
}

static void every_pair_is_written_down(void **test_state)
{
    (void)test_state;
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++) {
        for (int32_t i = 0; i < KVMIG__OVN_N_INPUTS; i++) {
            const struct kvmig__ovn_pair *pair = kvmig__ovn_pair_of(s, i);

            if (pair->kind < KVMIG__OVN_GO || pair->kind > KVMIG__OVN_ERROR)
                fail_msg("%s x %s is not written down", kvmig__ovn_state_name(s), kvmig__ovn_input_name(i));
            assert_true(pair->next < KVMIG__OVN_N_STATES);
            assert_int_equal(pair->actions & ~ALL_ACTIONS, 0);
            if (pair->kind != KVMIG__OVN_GO) {
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
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++) {
        assert_non_null(kvmig__ovn_state_name(s));
        assert_non_null(kvmig__ovn_state_comment(s));
    }
    for (int32_t i = 0; i < KVMIG__OVN_N_INPUTS; i++) {
        assert_non_null(kvmig__ovn_input_name(i));
        assert_non_null(kvmig__ovn_input_comment(i));
    }
    for (uint32_t a = 0; a < KVMIG__OVN_N_ACTIONS; a++)
        assert_non_null(kvmig__ovn_action_name(1u << a));
    assert_null(kvmig__ovn_state_name(-1));
    assert_null(kvmig__ovn_state_name(KVMIG__OVN_N_STATES));
    assert_null(kvmig__ovn_input_name(KVMIG__OVN_N_INPUTS));
    assert_null(kvmig__ovn_action_name(1u << KVMIG__OVN_N_ACTIONS));
    assert_null(kvmig__ovn_action_name(3));
    assert_null(kvmig__ovn_pair_of(KVMIG__OVN_N_STATES, 0));
    assert_null(kvmig__ovn_pair_of(0, -1));
}

static void wishes_are_the_first_inputs_and_taken_alike_in_every_state(void **test_state)
{
    (void)test_state;
    assert_int_equal(KVMIG__OVN_IN_PREPARE, KVMIG__OVN_PREPARE);
    assert_int_equal(KVMIG__OVN_IN_VERIFY, KVMIG__OVN_VERIFY);
    assert_int_equal(KVMIG__OVN_IN_VERIFY_LATE, KVMIG__OVN_VERIFY_LATE);
    assert_int_equal(KVMIG__OVN_IN_CONVERGE, KVMIG__OVN_CONVERGE);
    assert_int_equal(KVMIG__OVN_IN_CONVERGE_NOW, KVMIG__OVN_CONVERGE_NOW);
    assert_int_equal(KVMIG__OVN_IN_ROLLBACK, KVMIG__OVN_ROLLBACK);
    assert_int_equal(KVMIG__OVN_IN_GC, KVMIG__OVN_GC);
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++) {
        for (int32_t i = 0; i < KVMIG__OVN_N_WISHES; i++) {
            assert_memory_equal(kvmig__ovn_pair_of(s, i), kvmig__ovn_pair_of(0, i), sizeof(struct kvmig__ovn_pair));
            assert_int_equal(kvmig__ovn_pair_of(s, i)->actions, KVMIG__OVN_TAKE);
            assert_false(kvmig__ovn_is_resting(kvmig__ovn_pair_of(s, i)->next));
        }
    }
}

/* A wish that runs is answered exactly on the way into a state where none runs. */
static void check_answer(int32_t state, int32_t input, const struct kvmig__ovn_pair *pair)
{
    bool answers = pair->actions & ANSWERS;

    (void)input;
    assert_int_equal(answers, !kvmig__ovn_is_resting(state) && kvmig__ovn_is_resting(pair->next));
    assert_int_equal(!!(pair->actions & KVMIG__OVN_FAIL), pair->next == KVMIG__OVN_ST_FAILED);
}

static void a_wish_is_answered_exactly_once(void **test_state)
{
    (void)test_state;
    each_move(check_answer);
}

static void check_order(int32_t state, int32_t input, const struct kvmig__ovn_pair *pair)
{
    uint32_t orders = pair->actions & ORDERS;

    (void)state;
    (void)input;
    assert_int_equal(orders & (orders - 1), 0);
    if (orders == KVMIG__OVN_PIN)
        assert_int_equal(pair->next, KVMIG__OVN_ST_PINNING);
    if (orders == KVMIG__OVN_EXTEND)
        assert_int_equal(pair->next, KVMIG__OVN_ST_EXTENDING);
    if (orders == KVMIG__OVN_SETTLE)
        assert_int_equal(pair->next, KVMIG__OVN_ST_SETTLING);
    if (orders)
        assert_false(kvmig__ovn_is_resting(pair->next));
}

static void an_order_leads_to_the_state_that_waits_for_it(void **test_state)
{
    (void)test_state;
    each_move(check_order);
}

static void check_write(int32_t state, int32_t input, const struct kvmig__ovn_pair *pair)
{
    bool prepares = kvmig__ovn_public_state(state, false) == KVMIG_PORT_PREPARING;
    bool settles = kvmig__ovn_public_state(state, false) == KVMIG_PORT_CONVERGING;

    if (pair->actions & (KVMIG__OVN_PIN | KVMIG__OVN_EXTEND | KVMIG__OVN_UNDO))
        assert_true(prepares);
    if (pair->actions & KVMIG__OVN_SETTLE)
        assert_true(settles && input == KVMIG__OVN_IN_OURS);
    if (pair->actions & KVMIG__OVN_EXTEND)
        assert_int_equal(input, KVMIG__OVN_IN_READY);
}

static void only_preparing_and_settling_write(void **test_state)
{
    (void)test_state;
    each_move(check_write);
}

static void a_running_preparation_never_fails_without_being_put_back(void **test_state)
{
    (void)test_state;
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++)
        for (int32_t i = 0; i < KVMIG__OVN_N_INPUTS; i++)
            if (kvmig__ovn_public_state(s, false) == KVMIG_PORT_PREPARING)
                assert_false(kvmig__ovn_pair_of(s, i)->actions & KVMIG__OVN_FAIL);
}

static void every_wait_has_a_deadline(void **test_state)
{
    (void)test_state;
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++)
        assert_int_equal(kvmig__ovn_pair_of(s, KVMIG__OVN_IN_DEADLINE)->kind,
                         kvmig__ovn_is_resting(s) ? KVMIG__OVN_ERROR : KVMIG__OVN_GO);
}

static void no_state_is_stuck_and_each_is_reached(void **test_state)
{
    bool reached[KVMIG__OVN_N_STATES] = { [KVMIG__OVN_ST_IDLE] = true };

    (void)test_state;
    for (int round = 0; round < KVMIG__OVN_N_STATES; round++)
        for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++)
            for (int32_t i = 0; i < KVMIG__OVN_N_INPUTS; i++)
                if (reached[s] && kvmig__ovn_pair_of(s, i)->kind == KVMIG__OVN_GO)
                    reached[kvmig__ovn_pair_of(s, i)->next] = true;
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++)
        assert_true(reached[s]);
}

static void late_answers_change_no_state_that_did_not_ask(void **test_state)
{
    static const int32_t writes[] = { KVMIG__OVN_ST_PINNING, KVMIG__OVN_ST_EXTENDING, KVMIG__OVN_ST_SETTLING };
    static const int32_t bumps[] = { KVMIG__OVN_ST_ARM_BUMPING, KVMIG__OVN_ST_BUMPING, KVMIG__OVN_ST_FENCING,
                                     KVMIG__OVN_ST_HOME_BUMPING };

    (void)test_state;
    for (int32_t s = 0; s < KVMIG__OVN_N_STATES; s++) {
        bool writing = false, bumping = false;

        for (size_t k = 0; k < sizeof(writes) / sizeof(*writes); k++)
            writing |= writes[k] == s;
        for (size_t k = 0; k < sizeof(bumps) / sizeof(*bumps); k++)
            bumping |= bumps[k] == s;
        for (int32_t i = KVMIG__OVN_IN_WRITTEN; i <= KVMIG__OVN_IN_DENIED; i++)
            assert_int_equal(kvmig__ovn_pair_of(s, i)->kind, writing ? KVMIG__OVN_GO : KVMIG__OVN_STAY);
        for (int32_t i = KVMIG__OVN_IN_BUMPED; i <= KVMIG__OVN_IN_UNBUMPED; i++)
            assert_int_equal(kvmig__ovn_pair_of(s, i)->kind, bumping ? KVMIG__OVN_GO : KVMIG__OVN_STAY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_is_written_down),
        cmocka_unit_test(every_name_is_known_and_nothing_beyond),
        cmocka_unit_test(wishes_are_the_first_inputs_and_taken_alike_in_every_state),
        cmocka_unit_test(a_wish_is_answered_exactly_once),
        cmocka_unit_test(an_order_leads_to_the_state_that_waits_for_it),
        cmocka_unit_test(only_preparing_and_settling_write),
        cmocka_unit_test(a_running_preparation_never_fails_without_being_put_back),
        cmocka_unit_test(every_wait_has_a_deadline),
        cmocka_unit_test(no_state_is_stuck_and_each_is_reached),
        cmocka_unit_test(late_answers_change_no_state_that_did_not_ask),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
