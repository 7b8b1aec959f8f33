/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The machine of an OVN port among others: another process of its owner, other owners, and systems that know no tokens.
 */
#include "ovn_settle_test.h"

#include <errno.h>

static void another_process_of_the_owner_finishes(void **state)
{
    static const struct {
        enum kvmig__ovn_wish wish;
        const char *winner, *ends_on;
        int32_t state;
    } cases[] = { { KVMIG__OVN_CONVERGE_NOW, "hv2", "hv2", KVMIG_PORT_CONVERGED },
                  { KVMIG__OVN_CONVERGE_NOW, "node1", "hv1", KVMIG_PORT_CONVERGED },
                  { KVMIG__OVN_ROLLBACK, NULL, "hv1", KVMIG_PORT_ROLLED_BACK },
                  { KVMIG__OVN_ROLLBACK, "node1", "hv1", KVMIG_PORT_ROLLED_BACK } };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct sim sim;

        prepared(&sim, NULL);
        sim_restart(&sim, "mig-1");
        wish(&sim, cases[i].wish, cases[i].winner);
        assert_state(&sim, cases[i].state);
        sim_assert_clean(&sim, cases[i].ends_on);
        sim_clear(&sim);
    }
}

/* The database that knows host names may answer later than the one that has the port. */
static void another_name_of_the_winner_is_understood_before_it_is_judged(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2");
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    sim_restart(&sim, "mig-1");
    sim.sb_down = true;
    for (size_t i = 0; i < SIM_CHASSIS; i++)
        sim.chassis[i].known = false; /* nothing was ever read */
    sim_wish(&sim, KVMIG__OVN_CONVERGE_NOW, "node2", NULL);
    sim_run(&sim, 500);
    assert_false(sim.ended);
    sim.sb_down = false;
    for (size_t i = 0; i < SIM_CHASSIS; i++)
        sim.chassis[i].known = true;
    sim_finish(&sim, 70000);
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    sim_assert_clean(&sim, "hv2");
    sim_clear(&sim);
}

/* A write whose answer was lost may arrive when the same owner has prepared the port anew. */
static void a_late_roll_back_does_not_touch_the_next_preparation_of_the_same_owner(void **state)
{
    struct sim_order late;
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_pin(&sim, 0, "hv1", NULL);
    sim_run(&sim, 20);
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(&sim, 1000);
    sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
    while (!sim.order.out)
        sim_tick(&sim);
    late = sim.order;
    sim.order = (struct sim_order){ 0 };
    sim_commit(&sim, &late); /* the answer is lost, and so the next look finds it done */
    kvmig__ovn_machine_written(sim.machine, KVMIG__OVN_LOST, NULL, sim.now_ms);
    sim_finish(&sim, 70000);
    assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
    sim_run(&sim, 20);
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(&sim, 1000);
    assert_state(&sim, KVMIG_PORT_PREPARED);
    assert_false(sim_commit(&sim, &late));
    assert_string_equal(sim.lsps[0].requested, "hv1,hv2");
    sim_order_clear(&late);
    sim_clear(&sim);
}

static void a_late_clean_up_does_not_touch_the_next_migration(void **state)
{
    static const enum kvmig__ovn_wish wishes[] = { KVMIG__OVN_CONVERGE, KVMIG__OVN_CONVERGE_NOW, KVMIG__OVN_ROLLBACK };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(wishes); i++) {
        struct sim sim;
        size_t writes;

        prepared(&sim, "hv1");
        writes = sim.writes;
        sim_pin(&sim, 0, "hv1,hv2", "rarp"); /* even the same pair */
        sim_own(&sim, 0, "mig-2", "kvmig1;requested=hv1;source=hv1;target=hv2;since=1700000000000");
        wish(&sim, wishes[i], wishes[i] == KVMIG__OVN_ROLLBACK ? NULL : "hv2");
        assert_state(&sim, KVMIG_PORT_SUPERSEDED);
        assert_int_equal(sim.writes, writes);
        assert_string_equal(sim.lsps[0].requested, "hv1,hv2");
        assert_string_equal(sim.lsps[0].owner, "mig-2");
        sim_clear(&sim);
    }
}

static void another_owner_who_comes_between_look_and_write_is_not_touched(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim_wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2", NULL);
    assert_true(sim.order.out);
    sim_own(&sim, 0, "mig-2", "kvmig1;requested=hv1;source=hv1;target=hv2;since=1700000000000");
    sim_finish(&sim, 1000);
    assert_state(&sim, KVMIG_PORT_SUPERSEDED);
    assert_string_equal(sim.lsps[0].owner, "mig-2");
    assert_int_equal(sim_count(&sim, "conflict"), 1);
    sim_clear(&sim);
}

static void the_next_owner_during_the_proof_supersedes_it(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim.northd_stopped = true;
    sim_wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2", NULL);
    sim_run(&sim, 100);
    sim_pin(&sim, 0, "hv2,hv3", "rarp");
    sim_own(&sim, 0, "mig-2", "kvmig1;requested=hv2;source=hv2;target=hv3;since=1700000000000");
    sim_finish(&sim, 1000);
    assert_state(&sim, KVMIG_PORT_SUPERSEDED);
    assert_string_equal(sim.lsps[0].requested, "hv2,hv3");
    sim_clear(&sim);
}

static void of_several_ports_only_our_own_are_settled(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.n_lsps = 2;
    sim_run(&sim, 50);
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(&sim, 1000);
    sim_own(&sim, 1, "mig-2", "kvmig1;requested=hv1;source=hv1;target=hv2;since=1700000000000");
    wish(&sim, KVMIG__OVN_ROLLBACK, NULL);
    assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
    assert_int_equal(sim_count(&sim, "superseded"), 1);
    assert_string_equal(sim.lsps[0].requested, "hv1");
    assert_null(sim.lsps[0].owner);
    assert_string_equal(sim.lsps[1].requested, "hv1,hv2");
    assert_string_equal(sim.lsps[1].owner, "mig-2");
    sim_clear(&sim);
}

static void options_that_another_system_changed_are_settled_with_an_exact_guard(void **state)
{
    static const char *const changed[] = { "hv2", "hv3", "hv1,hv3", NULL };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(changed); i++) {
        struct sim sim;

        prepared(&sim, "hv1");
        sim_pin(&sim, 0, changed[i], NULL);
        wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2");
        assert_state(&sim, KVMIG_PORT_CONVERGED);
        assert_int_equal(sim_count(&sim, "changed-by-other"), 1);
        sim_assert_clean(&sim, "hv2");
        sim_clear(&sim);
    }
}

static void keys_of_others_do_not_hinder_the_settlement(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim_wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2", NULL);
    sim.lsps[0].others++;
    sim_run(&sim, 20);
    assert_string_equal(sim.lsps[0].requested, "hv2");
    assert_int_equal(sim_count(&sim, "conflict"), 0);
    sim_clear(&sim);
}

static void a_port_that_was_created_anew_or_is_gone_is_left_alone(void **state)
{
    (void)state;
    for (int gone = 0; gone < 2; gone++) {
        struct sim sim;
        size_t writes;

        prepared(&sim, "hv1");
        writes = sim.writes;
        sim_recreate(&sim, 0);
        sim.lsps[0].exists = !gone;
        wish(&sim, gone ? KVMIG__OVN_ROLLBACK : KVMIG__OVN_CONVERGE, gone ? NULL : "hv2");
        assert_state(&sim, gone ? KVMIG_PORT_ROLLED_BACK : KVMIG_PORT_CONVERGED);
        assert_int_equal(sim_count(&sim, gone ? "gone" : "recreated"), 1);
        assert_int_equal(sim.writes, writes);
        sim_clear(&sim);
    }
}

static void a_winner_that_takes_no_part_is_refused(void **state)
{
    static const struct {
        const char *winner;
        int32_t code;
    } cases[] = { { "hv3", EINVAL }, { "ghost", EINVAL }, { "hv2,hv1", EINVAL }, { "", EINVAL }, { NULL, EINVAL } };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct sim sim;

        prepared(&sim, "hv1");
        wish(&sim, KVMIG__OVN_CONVERGE, cases[i].winner);
        sim_assert_error(&sim, cases[i].code, NULL);
        assert_string_equal(sim.lsps[0].requested, "hv1,hv2");
        sim_clear(&sim);
    }
}

static void a_refused_preparation_does_not_mislead_the_roll_back(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv3", "hv2");
    sim_finish(&sim, 100);
    sim_assert_error(&sim, KVMIG_EREFUSED, "another source");
    wish(&sim, KVMIG__OVN_ROLLBACK, NULL);
    assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
    sim_assert_clean(&sim, "hv1");
    sim_clear(&sim);
}

static void a_damaged_note_still_lets_it_be_settled(void **state)
{
    (void)state;
    for (int back = 0; back < 2; back++) {
        struct sim sim;

        prepared(&sim, "hv1");
        sim_own(&sim, 0, "mig-1", "garbage");
        sim_restart(&sim, "mig-1");
        wish(&sim, back ? KVMIG__OVN_ROLLBACK : KVMIG__OVN_CONVERGE_NOW, back ? NULL : "hv2");
        assert_state(&sim, back ? KVMIG_PORT_ROLLED_BACK : KVMIG_PORT_CONVERGED);
        sim_assert_clean(&sim, back ? "hv1" : "hv2");
        sim_clear(&sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_process_of_the_owner_finishes),
        cmocka_unit_test(another_name_of_the_winner_is_understood_before_it_is_judged),
        cmocka_unit_test(a_late_roll_back_does_not_touch_the_next_preparation_of_the_same_owner),
        cmocka_unit_test(a_late_clean_up_does_not_touch_the_next_migration),
        cmocka_unit_test(another_owner_who_comes_between_look_and_write_is_not_touched),
        cmocka_unit_test(the_next_owner_during_the_proof_supersedes_it),
        cmocka_unit_test(of_several_ports_only_our_own_are_settled),
        cmocka_unit_test(options_that_another_system_changed_are_settled_with_an_exact_guard),
        cmocka_unit_test(keys_of_others_do_not_hinder_the_settlement),
        cmocka_unit_test(a_port_that_was_created_anew_or_is_gone_is_left_alone),
        cmocka_unit_test(a_winner_that_takes_no_part_is_refused),
        cmocka_unit_test(a_refused_preparation_does_not_mislead_the_roll_back),
        cmocka_unit_test(a_damaged_note_still_lets_it_be_settled),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
