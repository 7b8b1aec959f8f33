/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The machine of an OVN port verifies: a barrier or a time without change, and nothing less. The simulation checks each
 * "verified" against what it knows to be true (ovn_sim.c).
 */
#include "ovn_sim.h"

#include <errno.h>

static void prepared(struct sim *sim)
{
    sim_init(sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_wish(sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(sim, 1000);
    assert_int_equal(sim->state, KVMIG_PORT_PREPARED);
}

static void verify(struct sim *sim, int64_t ms)
{
    sim->want_detail = "verified";
    sim_wish(sim, KVMIG__OVN_VERIFY, NULL, NULL);
    sim_finish(sim, ms);
}

static void assert_verified(const struct sim *sim, const char *evidence)
{
    if (sim->error)
        fail_msg("%s", kvmig_error_message(sim->error));
    assert_int_equal(sim->state, KVMIG_PORT_VERIFIED);
    if (!strstr(sim->last_detail, evidence))
        fail_msg("the evidence does not say %s: %s", evidence, sim->last_detail);
}

static void a_claim_and_a_barrier_after_it_prove_it(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim_plug(&sim, 1, true);
    sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
    assert_int_equal(sim.bumps, 0); /* a bump from before the claim would prove nothing */
    sim.want_detail = "verified";
    sim_finish(&sim, 500);
    assert_verified(&sim, "\"proof\": \"barrier\", \"nb_cfg\": 1, \"nb_cfg_reached\": 1");
    assert_int_equal(sim.bumps, 1);
    assert_int_equal(sim_count(&sim, "claimed"), 1);
    assert_int_equal(sim_count(&sim, "barrier"), 1);
    sim_clear(&sim);
}

static void an_old_nb_cfg_that_is_high_enough_is_no_proof(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim.nb_cfg = 1000;
    sim_plug(&sim, 1, true);
    sim_run(&sim, 100);
    sim.chassis[1].runs = false; /* it has claimed, and hangs */
    sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
    sim_finish(&sim, 60000);
    sim_assert_error(&sim, ETIMEDOUT, "does not answer the barrier: it has got to nb_cfg 1000, not to 1001");
    assert_string_equal(sim.lsps[0].requested, "hv1,hv2");
    assert_int_equal(sim.writes, 2); /* nothing but the preparation */
    sim_clear(&sim);
}

static void without_a_claim_it_says_what_is_missing(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    verify(&sim, 60000);
    sim_assert_error(&sim, ETIMEDOUT, "vm-nic0 is not claimed by hv2");
    sim.with_ovs = true;
    sim_plug(&sim, 1, true);
    sim.chassis[1].ifaces[0].no_ofport = true;
    sim.with_sb = false;
    verify(&sim, 60000);
    sim_assert_error(&sim, ETIMEDOUT, "no OpenFlow port (ofport -1: could not open network device)");
    sim_clear(&sim);
}

static void with_a_dead_controller_the_interface_alone_proves_nothing(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim.with_ovs = true;
    sim.with_sb = false;
    sim.chassis[1].runs = false;
    sim_plug(&sim, 1, true);
    sim.chassis[1].ifaces[0].installed = true; /* left from before it died */
    sim.chassis[1].ifaces[0].ts = 5;
    verify(&sim, 60000);
    sim_assert_error(&sim, ETIMEDOUT, "does not answer the barrier");
    sim_clear(&sim);
}

static void without_a_barrier_the_flag_has_to_stay(void **state)
{
    struct sim sim;
    int64_t began;

    (void)state;
    prepared(&sim);
    sim.with_ovs = true;
    sim.barrier_off = true;
    sim_plug(&sim, 1, true);
    began = sim.now_ms;
    verify(&sim, 60000);
    assert_verified(&sim, "\"proof\": \"ovn-installed\"");
    assert_in_range(sim.now_ms - began, 1200, 1300);
    assert_int_equal(sim.bumps, 0);
    sim_clear(&sim);
}

static void of_an_unknown_release_the_longer_throttle_is_assumed(void **state)
{
    struct sim sim;
    int64_t began;

    (void)state;
    prepared(&sim);
    sim.version = NULL;
    sim.with_ovs = true;
    sim.barrier_off = true;
    sim_plug(&sim, 1, true);
    began = sim.now_ms;
    verify(&sim, 60000);
    assert_verified(&sim, "\"stable_ms\": 4500");
    assert_in_range(sim.now_ms - began, 4500, 4600);
    sim_clear(&sim);
}

/* Installed anew every 500 ms; between that, always "true". */
static void flap_until_the_end(struct sim *sim)
{
    while (!sim->ended) {
        struct sim_iface *iface = &sim->chassis[1].ifaces[0];

        sim_run(sim, 500);
        iface->ts++;
        iface->changed_ms = sim->now_ms;
    }
}

static void a_flapping_interface_never_passes(void **state)
{
    (void)state;
    for (int off = 0; off < 2; off++) {
        struct sim sim;

        prepared(&sim);
        sim.with_ovs = true;
        sim.barrier_off = off;
        sim_plug(&sim, 1, true);
        sim_run(&sim, 50);
        sim.chassis[1].ifaces[0].ts++;
        sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
        flap_until_the_end(&sim);
        sim_assert_error(&sim, ETIMEDOUT, "flapped");
        assert_true(sim_count(&sim, "flap") > 10);
        sim_clear(&sim);
    }
}

static void a_single_flap_costs_quiet_time_and_a_new_barrier(void **state)
{
    struct sim sim;
    int64_t flapped;

    (void)state;
    prepared(&sim);
    sim_plug(&sim, 1, true);
    sim_run(&sim, 100);
    assert_int_equal(sim_count(&sim, "claimed"), 1);
    sim.lsps[0].additional[1] = false;
    sim.chassis[1].ifaces[0].changed_ms = sim.now_ms;
    sim_run(&sim, 5); /* it is claimed again in the same tick: only the flap is seen in the facts if they show it */
    sim.chassis[1].runs = false;
    sim.lsps[0].additional[1] = false;
    sim_run(&sim, 10);
    assert_int_equal(sim_count(&sim, "flap"), 1);
    flapped = sim.now_ms;
    sim.chassis[1].runs = true;
    verify(&sim, 5000);
    assert_verified(&sim, "\"flaps\": 1");
    assert_true(sim.now_ms - flapped >= 1190);
    sim_clear(&sim);
}

/* A barrier that is answered at once would fit between two changes of a fight. */
static void a_barrier_is_asked_for_after_one_claim_throttle_if_the_flag_can_be_seen(void **state)
{
    struct sim sim;
    int64_t from_ms;

    (void)state;
    prepared(&sim);
    sim.with_ovs = true;
    from_ms = sim.now_ms;
    sim_plug(&sim, 1, true);
    verify(&sim, 5000);
    assert_verified(&sim, "\"proof\": \"barrier\"");
    assert_true(sim.now_ms - from_ms >= 600);
    sim_clear(&sim);

    prepared(&sim);
    sim.with_ovs = true;
    sim_plug(&sim, 1, true);
    sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
    for (int i = 0; i < 20; i++) { /* changes as often as chassis claim in turn */
        sim_run(&sim, 500);
        assert_int_equal(sim.state, KVMIG_PORT_VERIFYING);
        sim.chassis[1].ifaces[0].ts++;
        sim.chassis[1].ifaces[0].changed_ms = sim.now_ms;
    }
    sim_clear(&sim);
}

static void a_change_while_the_barrier_is_awaited_voids_it(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim.with_ovs = true;
    sim_plug(&sim, 1, true);
    sim_run(&sim, 100);
    sim.northd_stopped = true; /* the barrier does not get through */
    sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
    sim_run(&sim, 700);
    assert_string_equal(kvmig__ovn_machine_state_name(sim.machine), "BARRIER");
    sim.chassis[1].ifaces[0].ts++;
    sim.chassis[1].ifaces[0].changed_ms = sim.now_ms;
    sim_run(&sim, 5);
    assert_string_equal(kvmig__ovn_machine_state_name(sim.machine), "CLAIMING");
    sim.northd_stopped = false;
    sim.want_detail = "verified";
    sim_finish(&sim, 5000);
    assert_verified(&sim, "\"nb_cfg\": 2");
    sim_clear(&sim);
}

static void an_interface_that_is_replaced_is_a_flap(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim.with_ovs = true;
    sim_plug(&sim, 1, true);
    sim_run(&sim, 100);
    sim.chassis[1].ifaces[0].generation++;
    sim_run(&sim, 10);
    assert_int_equal(sim_count(&sim, "flap"), 1);
    sim_clear(&sim);
}

static void two_interfaces_of_one_port_never_pass(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim.with_ovs = true;
    sim_plug(&sim, 1, true);
    sim.chassis[1].ifaces[0].duplicate = true;
    verify(&sim, 60000);
    sim_assert_error(&sim, ETIMEDOUT, "hv2 has 2 interfaces with iface-id vm-nic0");
    sim_clear(&sim);
}

static void a_proof_that_is_seen_late_counts(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim_plug(&sim, 1, true);
    sim_run(&sim, 100);
    sim.northd_stopped = true;
    sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
    sim_run(&sim, 100);
    sim.northd_stopped = false;
    sim.now_ms += 60000; /* the process was stopped for a minute */
    sim_tick(&sim);
    assert_true(sim.ended);
    assert_int_equal(sim.state, KVMIG_PORT_VERIFIED);
    sim_clear(&sim);
}

static void a_moved_main_chassis_fails_it(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim_plug(&sim, 1, true);
    sim_run(&sim, 100);
    sim_plug(&sim, 0, false);
    verify(&sim, 60000);
    sim_assert_error(&sim, ETIMEDOUT, "the main chassis of vm-nic0 has moved: nobody has it instead of hv1");
    sim_clear(&sim);
}

static void a_database_that_comes_back_is_looked_at_anew(void **state)
{
    struct sim sim;
    int64_t back;

    (void)state;
    prepared(&sim);
    sim.with_ovs = true;
    sim.barrier_off = true;
    sim_plug(&sim, 1, true);
    sim_run(&sim, 5000);
    sim.ovs_down = true;
    sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
    sim_run(&sim, 500);
    assert_false(sim.ended);
    sim.ovs_down = false;
    back = sim.now_ms;
    sim_finish(&sim, 5000);
    assert_int_equal(sim.state, KVMIG_PORT_VERIFIED);
    assert_true(sim.now_ms - back >= 1200);
    assert_int_equal(sim_count(&sim, "flap"), 0); /* an outage is none */
    sim_clear(&sim);
}

static void what_can_never_be_proven_is_refused_at_once(void **state)
{
    (void)state;
    for (int with_sb = 0; with_sb < 2; with_sb++) {
        for (int late = 0; late < 2; late++) {
            struct sim sim;

            prepared(&sim);
            sim.with_sb = with_sb;
            sim.barrier_off = true;
            sim_wish(&sim, late ? KVMIG__OVN_VERIFY_LATE : KVMIG__OVN_VERIFY, NULL, NULL);
            sim_finish(&sim, 10);
            sim_assert_error(&sim, ENOTSUP, with_sb ? "turned off" : "neither");
            sim_clear(&sim);
        }
    }
}

static void what_is_not_prepared_by_us_cannot_be_verified(void **state)
{
    static const struct {
        const char *requested, *strategy, *owner;
    } cases[] = { { NULL, NULL, NULL },           { "hv1", NULL, "mig-1" },       { "hv1,hv2", "rarp", NULL },
                  { "hv1,hv2", "rarp", "other" }, { "hv1,hv3", "rarp", "mig-1" }, { "hv1,hv2", NULL, "mig-1" } };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct sim sim;

        prepared(&sim);
        sim_pin(&sim, 0, cases[i].requested, cases[i].strategy);
        sim_own(&sim, 0, cases[i].owner, cases[i].owner ? "kvmig1;source=hv1;target=hv2;since=5" : NULL);
        sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
        sim_finish(&sim, 10);
        sim_assert_error(&sim, KVMIG_EPHASE, NULL);
        sim_clear(&sim);
    }
}

static void another_process_of_the_owner_verifies_what_the_first_prepared(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim_plug(&sim, 1, true);
    sim_run(&sim, 50);
    sim_restart(&sim, "mig-1");
    verify(&sim, 1000);
    assert_verified(&sim, "barrier");
    assert_string_equal(kvmig__ovn_machine_source(sim.machine), "hv1");
    assert_string_equal(kvmig__ovn_machine_target(sim.machine), "hv2");
    sim_clear(&sim);
}

static void a_port_that_is_not_there_is_said_to_be_so(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.lsps[0].exists = false;
    sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
    sim_finish(&sim, 10);
    sim_assert_error(&sim, ENOENT, "no logical port");
    sim_clear(&sim);
}

static void all_ports_have_to_be_proven(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.n_lsps = 2;
    sim_run(&sim, 50);
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(&sim, 1000);
    sim_plug(&sim, 1, true);
    sim.chassis[1].ifaces[1].plugged = false;
    sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
    sim_run(&sim, 3000);
    assert_false(sim.ended);
    sim.chassis[1].ifaces[1].plugged = true;
    sim_finish(&sim, 2000);
    assert_int_equal(sim.state, KVMIG_PORT_VERIFIED);
    sim_clear(&sim);
}

static void a_lost_bump_is_bumped_again(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim_plug(&sim, 1, true);
    sim_run(&sim, 100);
    sim.fate = SIM_LOSE_BEFORE;
    sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
    sim_run(&sim, 300);
    sim.fate = SIM_COMMIT;
    sim_finish(&sim, 2000);
    assert_int_equal(sim.state, KVMIG_PORT_VERIFIED);
    assert_true(sim.bumps > 1);
    sim_clear(&sim);
}

/* ---- before anything is plugged ---- */

static void late_verification_arms_with_a_barrier(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim.want_detail = "armed";
    sim_wish(&sim, KVMIG__OVN_VERIFY_LATE, NULL, NULL);
    sim_finish(&sim, 1000);
    assert_int_equal(sim.state, KVMIG_PORT_PREPARED);
    assert_null(sim.error);
    assert_non_null(strstr(sim.last_detail, "\"proof\": \"barrier\""));
    sim_plug(&sim, 1, true); /* libvirt plugs it in the migrate call */
    sim_run(&sim, 100);
    assert_int_equal(sim_count(&sim, "claimed"), 1);
    verify(&sim, 1000);
    assert_verified(&sim, "barrier");
    sim_clear(&sim);
}

static void late_verification_fails_if_the_target_does_not_answer(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim.chassis[1].runs = false;
    sim_wish(&sim, KVMIG__OVN_VERIFY_LATE, NULL, NULL);
    sim_finish(&sim, 60000);
    sim_assert_error(&sim, ETIMEDOUT, "does not answer the barrier");
    sim_clear(&sim);
}

static void late_verification_without_a_barrier_needs_the_targets_open_vswitch(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim.barrier_off = sim.with_ovs = sim.ovs_down = true;
    sim.want_detail = "armed";
    sim_wish(&sim, KVMIG__OVN_VERIFY_LATE, NULL, NULL);
    sim_run(&sim, 500);
    assert_false(sim.ended);
    sim.ovs_down = false;
    sim_finish(&sim, 100);
    assert_int_equal(sim.state, KVMIG_PORT_PREPARED);
    assert_non_null(strstr(sim.last_detail, "\"open_vswitch\": \"yes\""));
    sim_clear(&sim);
}

static void late_verification_of_a_plugged_port_is_a_full_one(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim_plug(&sim, 1, true);
    sim_run(&sim, 50);
    sim.want_detail = "verified";
    sim_wish(&sim, KVMIG__OVN_VERIFY_LATE, NULL, NULL);
    sim_finish(&sim, 1000);
    assert_verified(&sim, "barrier");
    sim_clear(&sim);
}

/* ---- nobody asks ---- */

static void the_activation_is_told_once_whenever_it_comes(void **state)
{
    (void)state;
    for (int verified = 0; verified < 2; verified++) {
        struct sim sim;

        prepared(&sim);
        sim_plug(&sim, 1, true);
        sim_run(&sim, 100);
        if (verified)
            verify(&sim, 1000);
        sim_announce(&sim, 1);
        sim_run(&sim, 100);
        assert_int_equal(sim.state, KVMIG_PORT_ACTIVATED);
        assert_int_equal(sim_count(&sim, "activated"), 1);
        assert_true(sim.wake_ms == INT64_MAX);
        sim_clear(&sim);
    }
}

static void a_claim_that_is_lost_again_is_a_flap(void **state)
{
    struct sim sim;

    (void)state;
    prepared(&sim);
    sim_plug(&sim, 1, true);
    sim_run(&sim, 100);
    sim_plug(&sim, 1, false);
    sim_run(&sim, 100);
    assert_int_equal(sim_count(&sim, "claimed"), 1);
    assert_int_equal(sim_count(&sim, "flap"), 1);
    assert_int_equal(sim.state, KVMIG_PORT_PREPARED);
    sim_clear(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_and_a_barrier_after_it_prove_it),
        cmocka_unit_test(an_old_nb_cfg_that_is_high_enough_is_no_proof),
        cmocka_unit_test(without_a_claim_it_says_what_is_missing),
        cmocka_unit_test(with_a_dead_controller_the_interface_alone_proves_nothing),
        cmocka_unit_test(without_a_barrier_the_flag_has_to_stay),
        cmocka_unit_test(of_an_unknown_release_the_longer_throttle_is_assumed),
        cmocka_unit_test(a_flapping_interface_never_passes),
        cmocka_unit_test(a_single_flap_costs_quiet_time_and_a_new_barrier),
        cmocka_unit_test(a_barrier_is_asked_for_after_one_claim_throttle_if_the_flag_can_be_seen),
        cmocka_unit_test(a_change_while_the_barrier_is_awaited_voids_it),
        cmocka_unit_test(an_interface_that_is_replaced_is_a_flap),
        cmocka_unit_test(two_interfaces_of_one_port_never_pass),
        cmocka_unit_test(a_proof_that_is_seen_late_counts),
        cmocka_unit_test(a_moved_main_chassis_fails_it),
        cmocka_unit_test(a_database_that_comes_back_is_looked_at_anew),
        cmocka_unit_test(what_can_never_be_proven_is_refused_at_once),
        cmocka_unit_test(what_is_not_prepared_by_us_cannot_be_verified),
        cmocka_unit_test(another_process_of_the_owner_verifies_what_the_first_prepared),
        cmocka_unit_test(a_port_that_is_not_there_is_said_to_be_so),
        cmocka_unit_test(all_ports_have_to_be_proven),
        cmocka_unit_test(a_lost_bump_is_bumped_again),
        cmocka_unit_test(late_verification_arms_with_a_barrier),
        cmocka_unit_test(late_verification_fails_if_the_target_does_not_answer),
        cmocka_unit_test(late_verification_without_a_barrier_needs_the_targets_open_vswitch),
        cmocka_unit_test(late_verification_of_a_plugged_port_is_a_full_one),
        cmocka_unit_test(the_activation_is_told_once_whenever_it_comes),
        cmocka_unit_test(a_claim_that_is_lost_again_is_a_flap),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
