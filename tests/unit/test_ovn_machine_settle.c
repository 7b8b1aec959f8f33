/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The machine of an OVN port converges and rolls back: to the winner alone, as it stood before, proven; and leaves
 * alone what is not its own.
 */
#include "ovn_settle_test.h"

#include <errno.h>

static void after_the_announcement_the_port_is_left_to_the_target(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, NULL);
    sim_announce(&sim, 1);
    wish(&sim, KVMIG__OVN_CONVERGE, "hv2");
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    sim_assert_clean(&sim, "hv2");
    assert_int_equal(sim_count(&sim, "activated"), 1);
    assert_int_equal(sim_count(&sim, "converge-anyway"), 0);
    assert_int_equal(sim.lsps[0].main, 1);
    assert_non_null(strstr(sim.last_detail, "\"chassis\": \"hv2\", \"proof\": \"barrier\""));
    sim_clear(&sim);
}

static void it_waits_for_the_announcement_but_not_for_ever(void **state)
{
    struct sim sim;
    int64_t began;

    (void)state;
    prepared(&sim, "hv1");
    began = sim.now_ms;
    sim_wish(&sim, KVMIG__OVN_CONVERGE, "hv2", NULL);
    sim_run(&sim, 900);
    assert_string_equal(sim.lsps[0].requested, "hv1,hv2");
    assert_true(sim.wake_ms <= began + 1000);
    sim_finish(&sim, 10000);
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    assert_int_equal(sim_count(&sim, "converge-anyway"), 1);
    sim_assert_clean(&sim, "hv2");
    sim_clear(&sim);
}

static void it_goes_on_as_soon_as_the_announcement_comes(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim_wish(&sim, KVMIG__OVN_CONVERGE, "hv2", NULL);
    sim_run(&sim, 100);
    sim_announce(&sim, 1);
    sim_run(&sim, 20);
    assert_string_equal(sim.lsps[0].requested, "hv2");
    sim_finish(&sim, 10000);
    assert_int_equal(sim_count(&sim, "converge-anyway"), 0);
    sim_clear(&sim);
}

static void converging_now_does_not_wait_for_it(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim_wish(&sim, KVMIG__OVN_CONVERGE_NOW, "node2", NULL);
    sim_run(&sim, 20);
    assert_string_equal(sim.lsps[0].requested, "hv2"); /* in the form of the preparation */
    sim_finish(&sim, 10000);
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    sim_clear(&sim);
}

static void with_the_southbound_database_away_it_is_written_at_once_and_proven_later(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim.sb_down = true;
    sim_wish(&sim, KVMIG__OVN_CONVERGE, "hv2", NULL);
    sim_run(&sim, 50);
    assert_string_equal(sim.lsps[0].requested, "hv2");
    sim_run(&sim, 5000);
    assert_false(sim.ended);
    sim.sb_down = false;
    sim_finish(&sim, 10000);
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    sim_clear(&sim);
}

static void rolled_back_it_is_as_it_was_but_stays_pinned(void **state)
{
    static const char *const pinned[] = { NULL, "hv1", "node1" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(pinned); i++) {
        struct sim sim;

        prepared(&sim, pinned[i]);
        sim_announce(&sim, 1);
        wish(&sim, KVMIG__OVN_ROLLBACK, NULL);
        assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
        sim_assert_clean(&sim, "hv1");
        assert_string_equal(sim.lsps[0].requested, pinned[i] ? pinned[i] : "hv1");
        assert_int_equal(sim.lsps[0].main, 0);
        assert_false(sim.lsps[0].additional[1] || sim.lsps[0].activated[1]);
        assert_int_equal(sim_count(&sim, "rolled-back"), 1);
        sim_clear(&sim);
    }
}

static void in_the_northbound_database_alone_the_commit_is_the_end(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.with_sb = false;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(&sim, 1000);
    wish(&sim, KVMIG__OVN_CONVERGE, "hv2");
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    sim_assert_clean(&sim, "hv2");
    assert_non_null(strstr(sim.last_detail, "\"proof\": \"commit\""));
    sim_clear(&sim);
}

static void without_a_barrier_the_winner_has_to_be_quiet(void **state)
{
    (void)state;
    for (int ovs = 0; ovs < 2; ovs++) {
        struct sim sim;
        int64_t began;

        prepared(&sim, "hv1");
        sim.barrier_off = true;
        sim.with_ovs = ovs;
        began = sim.now_ms;
        wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2");
        assert_state(&sim, KVMIG_PORT_CONVERGED);
        assert_true(sim.now_ms - began >= 1200);
        assert_non_null(strstr(sim.last_detail, ovs ? "\"proof\": \"ovn-installed\"" : "\"proof\": \"binding\""));
        sim_clear(&sim);
    }
}

static void the_release_by_the_source_is_a_flap_and_no_failure(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim.with_ovs = true;
    sim.random = 7; /* the controllers act at different times */
    sim_announce(&sim, 1);
    wish(&sim, KVMIG__OVN_CONVERGE, "hv2");
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    sim_assert_clean(&sim, "hv2");
    sim_clear(&sim);
}

static void written_but_not_proven_is_said_and_can_be_proven_later(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim.chassis[1].runs = false;
    wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2");
    sim_assert_error(&sim, ETIMEDOUT, "written, but not proven");
    sim_assert_clean(&sim, "hv2");
    sim.chassis[1].runs = true;
    wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2");
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    assert_non_null(strstr(sim.last_detail, "\"proof\": \"barrier\""));
    assert_int_equal(sim.lsps[0].main, 1);
    sim_clear(&sim);
}

static void a_dead_controller_on_the_target_does_not_hinder_the_roll_back(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim.chassis[1].runs = false;
    sim.lsps[0].additional[1] = false; /* its Chassis row is gone, too */
    sim.chassis[1].known = false;
    wish(&sim, KVMIG__OVN_ROLLBACK, NULL);
    assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
    sim_assert_clean(&sim, "hv1");
    sim_clear(&sim);
}

static void northd_stopped_keeps_the_proof_away_but_not_the_write(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim.northd_stopped = true;
    wish(&sim, KVMIG__OVN_ROLLBACK, NULL);
    sim_assert_error(&sim, ETIMEDOUT, "northd has not followed");
    sim_assert_clean(&sim, "hv1");
    sim.northd_stopped = false;
    wish(&sim, KVMIG__OVN_ROLLBACK, NULL);
    assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
    sim_clear(&sim);
}

/* ---- repeated, late, reordered ---- */

static void repeating_it_writes_nothing(void **state)
{
    struct sim sim;
    size_t writes;

    (void)state;
    prepared(&sim, "hv1");
    wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2");
    writes = sim.writes;
    for (int i = 0; i < 3; i++) {
        sim_wish(&sim, KVMIG__OVN_CONVERGE, "hv2", NULL);
        sim_finish(&sim, 10);
        assert_state(&sim, KVMIG_PORT_CONVERGED);
    }
    sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL); /* late: it stays what it was */
    sim_finish(&sim, 10);
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    sim_wish(&sim, KVMIG__OVN_CONVERGE, "hv1", NULL); /* the token is gone, and with it the right to write */
    sim_finish(&sim, 10);
    assert_state(&sim, KVMIG_PORT_SUPERSEDED);
    assert_int_equal(sim.writes, writes);
    sim_assert_clean(&sim, "hv2");
    sim_clear(&sim);
}

static void a_roll_back_of_nothing_changes_nothing(void **state)
{
    static const char *const pinned[] = { NULL, "hv1", "hv3", "hv1,hv2" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(pinned); i++) {
        struct sim sim;

        sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
        sim_pin(&sim, 0, pinned[i], NULL);
        sim_wish(&sim, KVMIG__OVN_ROLLBACK, i % 2 ? "hv1" : NULL, NULL);
        sim_finish(&sim, 10);
        assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
        assert_int_equal(sim.writes, 0);
        assert_true(kvmig__str_eq(sim.lsps[0].requested, pinned[i]));
        sim_clear(&sim);
    }
}

static void the_newest_wish_counts(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim_wish(&sim, KVMIG__OVN_CONVERGE, "hv2", NULL);
    sim_run(&sim, 100); /* waits for the announcement */
    wish(&sim, KVMIG__OVN_ROLLBACK, NULL);
    assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
    sim_assert_clean(&sim, "hv1");
    sim_clear(&sim);
}

static void a_wish_for_the_same_winner_takes_over_an_unfinished_proof(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim.northd_stopped = true;
    sim_wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2", NULL);
    sim_run(&sim, 100);
    sim_wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2", NULL);
    sim_run(&sim, 100);
    assert_false(sim.ended);
    sim.northd_stopped = false;
    sim_finish(&sim, 5000);
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    sim_clear(&sim);
}

static void a_guest_moves_there_and_back_and_there_again(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    for (int i = 0; i < 6; i++) {
        const char *names[] = { "hv1", "hv2" };
        size_t from = (size_t)i % 2, to = 1 - from;

        sim_wish(&sim, KVMIG__OVN_PREPARE, names[from], names[to]);
        sim_finish(&sim, 10000);
        assert_state(&sim, KVMIG_PORT_PREPARED);
        sim_plug(&sim, to, true);
        sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
        sim_finish(&sim, 10000);
        assert_state(&sim, KVMIG_PORT_VERIFIED);
        sim_announce(&sim, to);
        wish(&sim, KVMIG__OVN_CONVERGE, names[to]);
        assert_state(&sim, KVMIG_PORT_CONVERGED);
        sim_assert_clean(&sim, names[to]);
        sim_plug(&sim, from, false);
        sim_run(&sim, 20);
    }
    sim_clear(&sim);
}

static void a_lost_answer_is_looked_up_and_the_proof_still_made(void **state)
{
    (void)state;
    for (int fate = SIM_LOSE_BEFORE; fate <= SIM_LOSE_AFTER; fate++) {
        struct sim sim;

        prepared(&sim, "hv1");
        sim.fate = (enum sim_fate)fate;
        sim_wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2", NULL);
        sim_run(&sim, 10);
        sim.fate = SIM_COMMIT;
        sim.want_detail = "converged";
        sim_finish(&sim, 5000);
        assert_state(&sim, KVMIG_PORT_CONVERGED);
        assert_non_null(sim.last_detail);
        sim_assert_clean(&sim, "hv2");
        sim_clear(&sim);
    }
}

static void what_the_server_denies_fails_and_is_asked_again_when_it_is_wished(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim.fate = SIM_DENY;
    wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2");
    sim_assert_error(&sim, EPERM, "permission denied");
    sim.fate = SIM_COMMIT;
    wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2");
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    sim_clear(&sim);
}

static void with_the_northbound_database_away_it_waits_until_the_deadline(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim.nb_down = true;
    wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2");
    sim_assert_error(&sim, ETIMEDOUT, "the northbound database is not connected");
    sim.nb_down = false;
    wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2");
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    sim_clear(&sim);
}

/* ---- what else the proof asks for ---- */

/* Northd has followed; no barrier can be read, so that it may be stopped then. */
static void home(struct sim *sim)
{
    prepared(sim, "hv1");
    sim->with_ovs = sim->barrier_off = true;
    sim_wish(sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
    sim_run(sim, 100);
    assert_string_equal(kvmig__ovn_machine_state_name(sim->machine), "HOMING");
}

static void an_activation_that_is_left_keeps_it_unproven(void **state)
{
    struct sim sim;

    (void)state;
    home(&sim);
    sim.northd_stopped = true;
    sim.lsps[0].activated[1] = true;
    sim_run(&sim, 10000);
    assert_false(sim.ended);
    sim.northd_stopped = false;
    sim_finish(&sim, 5000);
    assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
    sim_clear(&sim);
}

static void a_loser_that_does_not_let_go_is_waited_for_and_then_named(void **state)
{
    struct sim sim;
    int64_t began;

    (void)state;
    prepared(&sim, "hv1");
    sim.chassis[1].runs = false; /* killed: its Chassis row and its claim stay */
    assert_true(sim.lsps[0].additional[1]);
    began = sim.now_ms;
    sim.want_detail = "unreleased";
    wish(&sim, KVMIG__OVN_CONVERGE, "hv1");
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    assert_string_equal(sim.lsps[0].requested, "hv1");
    assert_int_equal(sim_count(&sim, "unreleased"), 1);
    assert_true(sim.now_ms - began >= 5000);
    sim_clear(&sim);
    home(&sim);
    sim.lsps[0].additional[1] = true;
    sim.chassis[1].runs = false;
    sim.want_detail = "unreleased";
    sim_finish(&sim, 15000);
    assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
    assert_string_equal(sim.last_detail, "{\"port\": \"vm-nic0\", \"chassis\": [\"hv2\"]}");
    sim_clear(&sim);
}

static void without_any_other_witness_the_port_has_to_be_up(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim.barrier_off = true;
    sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
    sim_run(&sim, 50);
    sim.chassis[0].runs = false;
    sim.chassis[0].ifaces[0].installed = false;
    sim_run(&sim, 10000);
    assert_false(sim.ended);
    sim.chassis[0].ifaces[0].installed = true;
    sim_finish(&sim, 5000);
    assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
    sim_clear(&sim);
}

static void a_port_that_was_never_bound_may_stay_unbound_when_it_is_put_back(void **state)
{
    (void)state;
    for (int seen = 0; seen < 2; seen++) {
        struct sim sim;

        prepared(&sim, "hv1");
        sim_plug(&sim, 0, false);
        sim_run(&sim, 20);
        if (!seen)
            sim_restart(&sim, "mig-1");
        wish(&sim, KVMIG__OVN_ROLLBACK, NULL);
        if (seen)
            sim_assert_error(&sim, ETIMEDOUT, "is not claimed by hv1: nobody has it");
        else
            assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
        sim_assert_clean(&sim, "hv1");
        sim_clear(&sim);
    }
}

static void the_wait_for_the_announcement_never_eats_the_time_of_the_write(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim.machine->activation_ms = 3600000;
    wish(&sim, KVMIG__OVN_CONVERGE, "hv2");
    assert_state(&sim, KVMIG_PORT_CONVERGED);
    assert_int_equal(sim_count(&sim, "converge-anyway"), 1);
    sim_clear(&sim);
}

static void a_barrier_that_was_awaited_during_an_outage_is_asked_for_anew(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim, "hv1");
    sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
    for (int i = 0; i < 200 && strcmp(kvmig__ovn_machine_state_name(sim.machine), "HOME_BARRIER") != 0; i++)
        sim_tick(&sim);
    sim.northd_stopped = true;
    sim.nb_down = true;
    sim_tick(&sim);
    sim.nb_down = false;
    sim_tick(&sim);
    sim.northd_stopped = false;
    sim_finish(&sim, 5000);
    assert_state(&sim, KVMIG_PORT_ROLLED_BACK);
    assert_int_equal(sim.bumps, 2);
    sim_clear(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_the_announcement_the_port_is_left_to_the_target),
        cmocka_unit_test(it_waits_for_the_announcement_but_not_for_ever),
        cmocka_unit_test(it_goes_on_as_soon_as_the_announcement_comes),
        cmocka_unit_test(converging_now_does_not_wait_for_it),
        cmocka_unit_test(with_the_southbound_database_away_it_is_written_at_once_and_proven_later),
        cmocka_unit_test(rolled_back_it_is_as_it_was_but_stays_pinned),
        cmocka_unit_test(in_the_northbound_database_alone_the_commit_is_the_end),
        cmocka_unit_test(without_a_barrier_the_winner_has_to_be_quiet),
        cmocka_unit_test(the_release_by_the_source_is_a_flap_and_no_failure),
        cmocka_unit_test(written_but_not_proven_is_said_and_can_be_proven_later),
        cmocka_unit_test(a_dead_controller_on_the_target_does_not_hinder_the_roll_back),
        cmocka_unit_test(northd_stopped_keeps_the_proof_away_but_not_the_write),
        cmocka_unit_test(repeating_it_writes_nothing),
        cmocka_unit_test(a_roll_back_of_nothing_changes_nothing),
        cmocka_unit_test(the_newest_wish_counts),
        cmocka_unit_test(a_wish_for_the_same_winner_takes_over_an_unfinished_proof),
        cmocka_unit_test(a_guest_moves_there_and_back_and_there_again),
        cmocka_unit_test(a_lost_answer_is_looked_up_and_the_proof_still_made),
        cmocka_unit_test(what_the_server_denies_fails_and_is_asked_again_when_it_is_wished),
        cmocka_unit_test(with_the_northbound_database_away_it_waits_until_the_deadline),
        cmocka_unit_test(an_activation_that_is_left_keeps_it_unproven),
        cmocka_unit_test(a_loser_that_does_not_let_go_is_waited_for_and_then_named),
        cmocka_unit_test(without_any_other_witness_the_port_has_to_be_up),
        cmocka_unit_test(a_port_that_was_never_bound_may_stay_unbound_when_it_is_put_back),
        cmocka_unit_test(the_wait_for_the_announcement_never_eats_the_time_of_the_write),
        cmocka_unit_test(a_barrier_that_was_awaited_during_an_outage_is_asked_for_anew),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
