/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The machine of an OVN port cleans up after an owner that is gone: what is old enough, whoever's it was, and
 * nothing that came after it.
 */
#include "ovn_sim.h"

#include <errno.h>

#define PREVIOUS "kvmig1;requested=hv1;source=hv1;target=hv2;since=1700000000000"

static void init(struct sim *sim, const char *requested, const char *strategy, const char *owner, const char *previous)
{
    sim_init(sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_pin(sim, 0, requested, strategy);
    kvmig__str_set(&sim->lsps[0].first_strategy, NULL);
    sim_own(sim, 0, owner, previous);
    sim_run(sim, 20);
}

static void gc(struct sim *sim, const char *winner, int64_t min_age_ms)
{
    struct kvmig__ovn_machine *m = sim->machine;

    sim->ended = false;
    sim->by_gc = true;
    kvmig__error_free(sim->error);
    sim->error = NULL;
    kvmig__ovn_machine_wish(m, KVMIG__OVN_GC, winner, NULL, min_age_ms, sim->now_ms);
    sim_finish(sim, 60000);
}

static void assert_collected(const struct sim *sim, const char *winner)
{
    if (sim->error)
        fail_msg("%s", kvmig_error_message(sim->error));
    assert_int_equal(sim->state, KVMIG_PORT_CONVERGED);
    sim_assert_clean(sim, winner);
}

static void what_a_dead_owner_left_is_settled_and_proven(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1,hv2", "rarp", "dead", PREVIOUS);
    gc(&sim, "node1", 0);
    assert_collected(&sim, "hv1");
    assert_string_equal(sim.lsps[0].requested, "hv1"); /* as it stood there before */
    assert_string_equal(sim.last_write, "gc");
    assert_int_equal(sim_count(&sim, "converged"), 1);
    assert_string_equal(kvmig__ovn_machine_source(sim.machine), "node1");
    assert_null(kvmig__ovn_machine_target(sim.machine));
    sim_clear(&sim);
}

static void what_stood_there_before_is_restored(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1,hv2", "rarp", "dead", "kvmig1;requested=hv1;strategy=garp;source=hv1;target=hv2;since=5");
    gc(&sim, "hv1", 0);
    kvmig__str_set(&sim.lsps[0].first_strategy, "garp");
    assert_collected(&sim, "hv1");
    sim_clear(&sim);
}

static void age_decides(void **state)
{
    static const struct {
        const char *previous, *strategy, *owner;
        int64_t min_age_ms;
        const char *refusal; /* NULL = settled */
    } cases[] = {
        { PREVIOUS, "rarp", "dead", 1000, NULL },
        { PREVIOUS, "rarp", "dead", 3600000, "ms old, not 3600000" },
        { PREVIOUS, "rarp", "mig-1", 3600000, "ms old, not 3600000" }, /* our own counts as well */
        { "kvmig1;source=hv1;target=hv2;since=1900000000000", "rarp", "dead", 1000, "ms old" }, /* from the future */
        { "kvmig1;source=hv1;target=hv2;since=1900000000000", "rarp", "dead", 0, NULL },
        { "garbage", "rarp", "dead", 1, "not known" },
        { "garbage", "rarp", "dead", 0, NULL },
        { NULL, "rarp", "dead", 1, "not known" },
        { "kvmig1;source=hv1;target=hv2;since=0", "rarp", "dead", 1, "not known" },
        { NULL, "rarp", NULL, 1, "not known" },
        { NULL, "rarp", NULL, 0, NULL },
        { NULL, NULL, NULL, 0, NULL },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct sim sim;

        init(&sim, "hv1,hv2", cases[i].strategy, cases[i].owner, cases[i].previous);
        sim_run(&sim, 1000);
        gc(&sim, "hv1", cases[i].min_age_ms);
        if (cases[i].refusal) {
            sim_assert_error(&sim, KVMIG_EREFUSED, cases[i].refusal);
            assert_int_equal(sim.writes, 0);
        } else {
            assert_collected(&sim, "hv1");
        }
        sim_clear(&sim);
    }
}

static void a_strategy_alone_is_left_over_as_well(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1", "rarp", NULL, NULL);
    gc(&sim, "hv1", 0);
    assert_collected(&sim, "hv1");
    sim_clear(&sim);
}

static void where_nothing_is_left_over_nothing_is_done(void **state)
{
    static const char *const pinned[] = { NULL, "hv1", "hv3" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(pinned); i++) {
        struct sim sim;

        init(&sim, pinned[i], NULL, NULL, NULL);
        gc(&sim, "hv1", 1000);
        assert_int_equal(sim.state, KVMIG_PORT_CONVERGED);
        assert_null(sim.error);
        assert_int_equal(sim.writes, 0);
        assert_true(kvmig__str_eq(sim.lsps[0].requested, pinned[i]));
        sim_clear(&sim);
    }
}

static void names_and_ports_are_checked(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1,hv2", "rarp", "dead", PREVIOUS);
    gc(&sim, "ghost", 0);
    sim_assert_error(&sim, KVMIG_ENOHOST, "no chassis ghost");
    gc(&sim, "hv 1", 0);
    sim_assert_error(&sim, EINVAL, "hv 1");
    sim.lsps[0].exists = false;
    gc(&sim, "hv1", 0);
    sim_assert_error(&sim, ENOENT, "no logical port");
    sim_clear(&sim);
}

static void any_chassis_may_be_the_winner(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1,hv2", "rarp", "dead", PREVIOUS);
    sim_plug(&sim, 2, true);
    gc(&sim, "hv3", 0);
    assert_collected(&sim, "hv3");
    assert_int_equal(sim.lsps[0].main, 2);
    sim_clear(&sim);
}

static void what_comes_after_it_is_not_collected(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1,hv2", "rarp", "dead", PREVIOUS);
    sim.northd_stopped = true;
    kvmig__ovn_machine_wish(sim.machine, KVMIG__OVN_GC, "hv1", NULL, 0, sim.now_ms);
    sim.by_gc = true;
    for (int i = 0; i < 100 && sim.lsps[0].owner; i++)
        sim_tick(&sim);
    assert_string_equal(sim.lsps[0].requested, "hv1");
    sim_pin(&sim, 0, "hv1,hv3", "rarp");
    sim_own(&sim, 0, "mig-2", PREVIOUS);
    sim_finish(&sim, 60000);
    assert_int_equal(sim.state, KVMIG_PORT_SUPERSEDED);
    assert_string_equal(sim.lsps[0].requested, "hv1,hv3");
    assert_string_equal(sim.lsps[0].owner, "mig-2");
    sim_clear(&sim);
}

static void an_owner_who_lives_after_all_is_looked_at_anew(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1,hv2", "rarp", "slow", PREVIOUS);
    sim_run(&sim, 5000);
    sim.by_gc = true;
    kvmig__ovn_machine_wish(sim.machine, KVMIG__OVN_GC, "hv1", NULL, 1000, sim.now_ms);
    sim_tick(&sim);
    assert_true(sim.order.out);
    /* Meanwhile a young migration has the port. */
    sim_pin(&sim, 0, "hv1,hv3", "rarp");
    sim_own(&sim, 0, "mig-2", "kvmig1;source=hv1;target=hv3;since=1700000005900");
    sim_finish(&sim, 1000);
    sim_assert_error(&sim, KVMIG_EREFUSED, "migration mig-2");
    assert_string_equal(sim.lsps[0].owner, "mig-2");
    sim_clear(&sim);
}

static void asked_again_it_proves_what_it_could_not(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1,hv2", "rarp", "dead", PREVIOUS);
    sim.northd_stopped = true;
    gc(&sim, "hv1", 0);
    sim_assert_error(&sim, ETIMEDOUT, "written, but not proven");
    sim.northd_stopped = false;
    gc(&sim, "hv1", 0);
    assert_collected(&sim, "hv1");
    assert_int_equal(sim_count(&sim, "converged"), 1);
    sim_clear(&sim);
}

static void without_the_southbound_database_the_name_is_not_checked_and_it_says_so(void **state)
{
    struct sim sim;

    (void)state;
    init(&sim, "hv1,hv2", "rarp", "dead", PREVIOUS);
    sim.with_sb = false;
    gc(&sim, "hv1", 0);
    assert_collected(&sim, "hv1");
    assert_int_equal(sim_count(&sim, "unchecked-chassis"), 1);
    sim_clear(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_dead_owner_left_is_settled_and_proven),
        cmocka_unit_test(what_stood_there_before_is_restored),
        cmocka_unit_test(age_decides),
        cmocka_unit_test(a_strategy_alone_is_left_over_as_well),
        cmocka_unit_test(where_nothing_is_left_over_nothing_is_done),
        cmocka_unit_test(names_and_ports_are_checked),
        cmocka_unit_test(any_chassis_may_be_the_winner),
        cmocka_unit_test(what_comes_after_it_is_not_collected),
        cmocka_unit_test(an_owner_who_lives_after_all_is_looked_at_anew),
        cmocka_unit_test(asked_again_it_proves_what_it_could_not),
        cmocka_unit_test(without_the_southbound_database_the_name_is_not_checked_and_it_says_so),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
