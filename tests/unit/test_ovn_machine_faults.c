/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The machine of an OVN port when orders are never answered, or answered when nobody waits any more, and when somebody
 * changes the ports in the middle of a wish.
 */
#include "ovn_sim.h"

#include <errno.h>

#define OTHERS "kvmig1;requested=hv1;source=hv1;target=hv3;since=1700000000000"

static void init(struct sim *sim, const char *pinned)
{
    sim_init(sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_pin(sim, 0, pinned, NULL);
    sim_run(sim, 20);
}

static void prepare(struct sim *sim)
{
    sim_wish(sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(sim, 1000);
    assert_int_equal(sim->state, KVMIG_PORT_PREPARED);
}

static void assert_in(const struct sim *sim, const char *name)
{
    assert_string_equal(kvmig__ovn_machine_state_name(sim->machine), name);
}

/* Steps until the machine is in that state. */
static void reach(struct sim *sim, const char *name)
{
    for (int i = 0; i < 2000 && strcmp(kvmig__ovn_machine_state_name(sim->machine), name) != 0; i++)
        sim_tick(sim);
    assert_in(sim, name);
}

/* The answers come when all is over; nothing is ordered then, and the port can be rolled back. */
static void assert_recovers(struct sim *sim)
{
    size_t writes = sim->writes, bumps = sim->bumps;

    sim->hangs = false;
    sim_run(sim, 200);
    assert_int_equal(sim->state, KVMIG_PORT_FAILED);
    assert_int_equal(sim->writes, writes);
    assert_int_equal(sim->bumps, bumps);
    sim_wish(sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
    sim_finish(sim, 5000);
    assert_null(sim->error);
}

static void a_write_that_is_never_answered_ends_at_the_deadline(void **state)
{
    static const char *const pinned[] = { NULL, "hv1" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(pinned); i++) {
        struct sim sim;

        init(&sim, pinned[i]);
        sim.hangs = true;
        sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
        assert_in(&sim, i ? "EXTENDING" : "PINNING");
        sim_run(&sim, 31000);
        assert_int_equal(sim.state, KVMIG_PORT_ROLLING_BACK);
        sim_finish(&sim, 30000);
        sim_assert_error(&sim, ETIMEDOUT, "could not be put back");
        assert_recovers(&sim);
        assert_int_equal(sim.state, KVMIG_PORT_ROLLED_BACK);
        sim_assert_clean(&sim, "hv1");
        sim_clear(&sim);
    }
}

static void a_settlement_that_is_never_answered_ends_at_the_deadline(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1");
    prepare(&sim);
    sim.hangs = true;
    sim_wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2", NULL);
    assert_in(&sim, "SETTLING");
    sim_finish(&sim, 31000);
    sim_assert_error(&sim, ETIMEDOUT, "could not be written in time");
    sim.hangs = false;
    sim_run(&sim, 100);
    sim_plug(&sim, 1, true);
    sim_wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2", NULL); /* it was committed late, and is still to be proven */
    sim_finish(&sim, 5000);
    assert_int_equal(sim.state, KVMIG_PORT_CONVERGED);
    assert_int_equal(sim_count(&sim, "converged"), 1);
    sim_assert_clean(&sim, "hv2");
    sim_clear(&sim);
}

static void a_bump_that_is_never_answered_ends_at_the_deadline(void **state)
{
    static const struct {
        enum kvmig__ovn_wish wish;
        bool plugged;
        const char *in;
    } cases[] = { { KVMIG__OVN_VERIFY, true, "BUMPING" },
                  { KVMIG__OVN_VERIFY_LATE, false, "ARM_BUMPING" },
                  { KVMIG__OVN_VERIFY, false, "CLAIMING" } };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct sim sim;

        init(&sim, "hv1");
        prepare(&sim);
        sim_plug(&sim, 1, cases[i].plugged);
        sim_run(&sim, 100);
        sim.hangs = true;
        sim_wish(&sim, cases[i].wish, NULL, NULL);
        assert_in(&sim, cases[i].in);
        sim_finish(&sim, 31000);
        sim_assert_error(&sim, ETIMEDOUT, NULL);
        assert_recovers(&sim);
        sim_assert_clean(&sim, "hv1");
        sim_clear(&sim);
    }
}

static void a_proof_whose_bump_or_barrier_hangs_ends_at_the_deadline(void **state)
{
    (void)state;
    for (int barrier = 0; barrier < 2; barrier++) {
        struct sim sim;

        init(&sim, "hv1");
        prepare(&sim);
        sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
        reach(&sim, barrier ? "HOME_BARRIER" : "HOME_BUMPING");
        sim.hangs = !barrier;
        sim.northd_stopped = barrier;
        sim_finish(&sim, 31000);
        sim_assert_error(&sim, ETIMEDOUT, "written, but not proven");
        sim_assert_clean(&sim, "hv1");
        sim.northd_stopped = false;
        assert_recovers(&sim);
        sim_clear(&sim);
    }
}

static void a_fence_that_is_never_answered_ends_at_the_deadline(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1");
    sim.fate = SIM_LOSE_BEFORE;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_run(&sim, 10);
    sim.hangs = true;
    sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
    sim_finish(&sim, 31000);
    sim_assert_error(&sim, ETIMEDOUT, NULL);
    sim.fate = SIM_COMMIT;
    assert_recovers(&sim);
    sim_assert_clean(&sim, "hv1");
    sim_clear(&sim);
}

/* ---- what was written, or may have been, is put back ---- */

static void a_write_whose_answer_was_lost_is_put_back_as_well(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1");
    sim.fate = SIM_LOSE_AFTER;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim.northd_stopped = true;
    sim_run(&sim, 10);
    sim.fate = SIM_COMMIT;
    assert_string_equal(sim.lsps[0].requested, "hv1,hv2");
    sim_finish(&sim, 60000);
    sim_assert_error(&sim, ETIMEDOUT, "northd has not followed");
    sim_assert_clean(&sim, "hv1");
    sim_clear(&sim);
}

static void a_preparation_that_was_asked_for_twice_is_put_back_as_well(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1");
    sim.northd_stopped = true;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    reach(&sim, "EXTENDED");
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(&sim, 60000);
    sim_assert_error(&sim, ETIMEDOUT, "northd has not followed");
    sim_assert_clean(&sim, "hv1");
    sim_clear(&sim);
}

/* ---- somebody else, in the middle of it ---- */

struct meddling {
    const char *requested, *strategy, *owner, *previous;
    int32_t code; /* 0 = the preparation succeeds */
};

static void somebody_meddles_after_a_write_of_the_preparation(void **state)
{
    static const struct meddling cases[] = {
        { "hv1,hv3", "rarp", "other", OTHERS, KVMIG_EREFUSED },
        { "hv3", NULL, NULL, NULL, KVMIG_EREFUSED },
        { "hv1,hv3", "rarp", NULL, NULL, KVMIG_EREFUSED },
        { "hv3", NULL, "mig-1", OTHERS, KVMIG_EREFUSED },
        { "hv1", NULL, NULL, NULL, 0 },
        { NULL, NULL, "mig-1", OTHERS, 0 },
        { "hv1,hv3", "rarp", "mig-1", OTHERS, 0 },
        { "hv1,hv2", "rarp", "mig-1", OTHERS, 0 },
    };
    static const char *const states[] = { "PINNED", "EXTENDED" };

    (void)state;
    for (size_t i = 0; i < 2 * KVMIG__N_ELEMENTS(cases); i++) {
        const struct meddling *c = &cases[i / 2];
        struct sim sim;

        init(&sim, i % 2 ? "hv1" : NULL);
        sim.northd_stopped = true;
        sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
        reach(&sim, states[i % 2]);
        sim_pin(&sim, 0, c->requested, c->strategy);
        sim_own(&sim, 0, c->owner, c->previous);
        sim.northd_stopped = false;
        sim_finish(&sim, 40000);
        if (c->code) {
            sim_assert_error(&sim, c->code, NULL);
        } else {
            assert_null(sim.error);
            assert_string_equal(sim.lsps[0].requested, "hv1,hv2");
            assert_string_equal(sim.lsps[0].strategy, "rarp");
        }
        if (c->owner && strcmp(c->owner, "other") == 0)
            assert_string_equal(sim.lsps[0].requested, "hv1,hv3");
        sim_clear(&sim);
    }
}

static void a_port_that_goes_away_while_it_is_prepared_fails_it(void **state)
{
    static const char *const states[] = { "PINNED", "EXTENDED" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(states); i++) {
        struct sim sim;

        init(&sim, i ? "hv1" : NULL);
        sim.northd_stopped = true;
        sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
        reach(&sim, states[i]);
        sim.lsps[0].exists = false;
        sim_finish(&sim, 1000);
        sim_assert_error(&sim, ENOENT, "no logical port");
        sim_clear(&sim);
    }
}

static void a_chassis_that_goes_away_while_it_is_prepared_fails_it_and_is_put_back(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1");
    sim.northd_stopped = true;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    reach(&sim, "EXTENDED");
    sim.chassis[1].known = false; /* its ovn-controller ended, or it was deleted */
    sim_finish(&sim, 1000);
    sim_assert_error(&sim, KVMIG_ENOHOST, "no chassis hv2");
    sim_assert_clean(&sim, "hv1");
    sim_clear(&sim);
}

static void an_activation_without_a_claim_is_stale_and_fails_it(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1");
    sim.northd_stopped = true;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    reach(&sim, "EXTENDED");
    sim.lsps[0].activated[1] = true;
    sim_finish(&sim, 1000);
    sim_assert_error(&sim, KVMIG_EREFUSED, "left over from before");
    sim_assert_clean(&sim, "hv1");
    sim_clear(&sim);
}

static void another_process_of_the_owner_that_prepares_again_is_settled_again(void **state)
{
    static const char *const states[] = { "HOMING", "HOME_BARRIER" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(states); i++) {
        struct sim sim;

        init(&sim, "hv1");
        prepare(&sim);
        sim.northd_stopped = !i;
        sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
        reach(&sim, states[i]);
        sim_pin(&sim, 0, "hv1,hv2", "rarp");
        sim_own(&sim, 0, "mig-1", "kvmig1;requested=hv1;source=hv1;target=hv2;since=1700000000000");
        kvmig__str_set(&sim.lsps[0].first_strategy, NULL);
        sim.northd_stopped = false;
        sim_finish(&sim, 5000);
        assert_int_equal(sim.state, KVMIG_PORT_ROLLED_BACK);
        sim_assert_clean(&sim, "hv1");
        sim_clear(&sim);
    }
}

static void a_port_that_goes_away_during_the_proof_ends_it(void **state)
{
    static const char *const states[] = { "HOMING", "HOME_BARRIER" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(states); i++) {
        struct sim sim;

        init(&sim, "hv1");
        prepare(&sim);
        sim.northd_stopped = !i;
        sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
        reach(&sim, states[i]);
        sim.lsps[0].exists = false;
        sim_finish(&sim, 100);
        assert_int_equal(sim.state, KVMIG_PORT_ROLLED_BACK);
        assert_int_equal(sim_count(&sim, "gone"), 1);
        sim_clear(&sim);
    }
}

static void what_arming_rests_on_may_go_away_meanwhile(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1");
    prepare(&sim);
    sim.northd_stopped = true;
    sim_wish(&sim, KVMIG__OVN_VERIFY_LATE, NULL, NULL);
    reach(&sim, "ARM_BARRIER");
    sim.lsps[0].want_additional[1] = false; /* northd was started anew, from an older database */
    sim_tick(&sim);
    assert_in(&sim, "ARMING");
    sim.northd_stopped = false;
    sim_finish(&sim, 5000);
    assert_int_equal(sim.state, KVMIG_PORT_PREPARED);
    sim.northd_stopped = true;
    sim_wish(&sim, KVMIG__OVN_VERIFY_LATE, NULL, NULL);
    reach(&sim, "ARM_BARRIER");
    sim.barrier_off = true;
    sim_finish(&sim, 100);
    sim_assert_error(&sim, ENOTSUP, "turned off");
    sim_clear(&sim);
}

static void a_new_wish_drops_an_answer_that_nobody_has_fetched(void **state)
{
    struct kvmig__ovn_orders orders = { 0 };
    struct kvmig__ovn_facts facts = { .nb = { .used = true } };
    struct kvmig_error *denied = kvmig__error_new(-EPERM, "NB", NULL, NULL, "permission denied");
    struct sim sim;

    (void)state;
    init(&sim, "hv1");
    prepare(&sim);
    sim_wish(&sim, KVMIG__OVN_CONVERGE_NOW, "hv2", NULL);
    kvmig__ovn_machine_written(sim.machine, KVMIG__OVN_NOT_WRITTEN, denied, sim.now_ms);
    kvmig__ovn_machine_wish(sim.machine, KVMIG__OVN_ROLLBACK, NULL, NULL, 0, sim.now_ms);
    kvmig__ovn_machine_step(sim.machine, &facts, sim.now_ms, &orders);
    assert_false(orders.ended);
    assert_null(orders.error);
    assert_int_equal(orders.state, KVMIG_PORT_ROLLING_BACK);
    kvmig__ovn_orders_clear(&orders);
    kvmig__error_free(denied);
    sim_clear(&sim);
}

static void answers_that_nobody_asked_for_are_ignored(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1");
    for (int how = KVMIG__OVN_WRITTEN; how <= KVMIG__OVN_NOT_WRITTEN; how++) {
        kvmig__ovn_machine_written(sim.machine, (enum kvmig__ovn_carried)how, NULL, sim.now_ms);
        kvmig__ovn_machine_bumped(sim.machine, (enum kvmig__ovn_carried)how, 5, NULL, sim.now_ms);
    }
    sim_run(&sim, 50);
    assert_int_equal(sim.state, KVMIG_PORT_IDLE);
    assert_int_equal(sim.notes.n, 0);
    sim_clear(&sim);
}

static void a_process_that_learns_whom_to_watch_asks_to_be_stepped_again(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1");
    prepare(&sim);
    sim_restart(&sim, "mig-1");
    sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
    assert_true(sim.wake_ms <= sim.now_ms);
    assert_string_equal(kvmig__ovn_machine_target(sim.machine), "hv2");
    sim_tick(&sim);
    assert_true(sim.wake_ms > sim.now_ms);
    sim_clear(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_that_is_never_answered_ends_at_the_deadline),
        cmocka_unit_test(a_settlement_that_is_never_answered_ends_at_the_deadline),
        cmocka_unit_test(a_bump_that_is_never_answered_ends_at_the_deadline),
        cmocka_unit_test(a_proof_whose_bump_or_barrier_hangs_ends_at_the_deadline),
        cmocka_unit_test(a_fence_that_is_never_answered_ends_at_the_deadline),
        cmocka_unit_test(a_write_whose_answer_was_lost_is_put_back_as_well),
        cmocka_unit_test(a_preparation_that_was_asked_for_twice_is_put_back_as_well),
        cmocka_unit_test(somebody_meddles_after_a_write_of_the_preparation),
        cmocka_unit_test(a_port_that_goes_away_while_it_is_prepared_fails_it),
        cmocka_unit_test(a_chassis_that_goes_away_while_it_is_prepared_fails_it_and_is_put_back),
        cmocka_unit_test(an_activation_without_a_claim_is_stale_and_fails_it),
        cmocka_unit_test(another_process_of_the_owner_that_prepares_again_is_settled_again),
        cmocka_unit_test(a_port_that_goes_away_during_the_proof_ends_it),
        cmocka_unit_test(what_arming_rests_on_may_go_away_meanwhile),
        cmocka_unit_test(a_new_wish_drops_an_answer_that_nobody_has_fetched),
        cmocka_unit_test(answers_that_nobody_asked_for_are_ignored),
        cmocka_unit_test(a_process_that_learns_whom_to_watch_asks_to_be_stepped_again),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
