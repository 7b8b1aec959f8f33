/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The machine of an OVN port and what keeps the target silent until its guest has announced itself: where OVN would not
 * do it, what another handle or somebody else made of it, and the end of it.
 */
#include "ovn_sim.h"

#include <errno.h>

/* Prepared with that strategy, and plugged on the target. */
static void plugged(struct sim *sim, int32_t strategy)
{
    sim_init(sim, strategy);
    sim_wish(sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(sim, 1000);
    assert_int_equal(sim->state, KVMIG_PORT_PREPARED);
    sim_plug(sim, 1, true);
    sim_run(sim, 50);
}

static void verify(struct sim *sim)
{
    sim_wish(sim, KVMIG__OVN_VERIFY, NULL, NULL);
    sim_finish(sim, 3000);
    if (sim->error)
        fail_msg("%s", kvmig_error_message(sim->error));
    assert_int_equal(sim->state, KVMIG_PORT_VERIFIED);
}

static void a_port_that_ovn_would_not_keep_silent_is_refused(void **state)
{
    static const struct {
        const char *version;
        int32_t strategy;
        bool refused;
    } cases[] = { { "25.09.0", KVMIG_PORT_STRATEGY_AUTO, true },
                  { "26.03.1", KVMIG_PORT_STRATEGY_RARP, true },
                  { "25.09.0", KVMIG_PORT_STRATEGY_NONE, false },
                  { "25.03.2", KVMIG_PORT_STRATEGY_AUTO, false },
                  { NULL, KVMIG_PORT_STRATEGY_AUTO, false } };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct sim sim;

        sim_init(&sim, cases[i].strategy);
        sim.n_lsps = 2;
        sim_run(&sim, 50);
        sim.version = cases[i].version;
        sim.lsps[1].no_address = true; /* one is enough */
        sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
        sim_finish(&sim, 60000);
        if (cases[i].refused) {
            sim_assert_error(&sim, ENOTSUP, "vm-nic1 has no address");
            assert_non_null(strstr(kvmig_error_hint(sim.error), "none"));
            assert_int_equal(sim.writes, 0);
        } else {
            assert_int_equal(sim.state, KVMIG_PORT_PREPARED);
            assert_string_equal(sim.lsps[1].requested, "hv1,hv2");
        }
        sim_clear(&sim);
    }
}

/* The strategy of the handle that verifies does not matter. */
static void verifying_takes_the_strategy_of_the_preparation(void **state)
{
    static const int32_t pairs[][2] = { { KVMIG_PORT_STRATEGY_NONE, KVMIG_PORT_STRATEGY_AUTO },
                                        { KVMIG_PORT_STRATEGY_AUTO, KVMIG_PORT_STRATEGY_NONE } };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(pairs); i++) {
        struct sim sim;
        size_t writes;

        plugged(&sim, pairs[i][0]);
        sim.strategy = pairs[i][1];
        sim_restart(&sim, "mig-1");
        writes = sim.writes;
        verify(&sim);
        assert_int_equal(sim.writes, writes);
        assert_true(!sim.lsps[0].strategy == (pairs[i][0] == KVMIG_PORT_STRATEGY_NONE));
        sim_clear(&sim);
    }
}

/* Stripped, the target would forward at once; another one may be unknown to this OVN, which is the same. */
static void a_strategy_that_somebody_changed_is_not_verified(void **state)
{
    static const struct {
        int32_t strategy;
        const char *changed;
    } cases[] = { { KVMIG_PORT_STRATEGY_AUTO, NULL },
                  { KVMIG_PORT_STRATEGY_AUTO, "garp" },
                  { KVMIG_PORT_STRATEGY_NONE, "rarp" } };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct sim sim;

        plugged(&sim, cases[i].strategy);
        sim_pin(&sim, 0, "hv1,hv2", cases[i].changed);
        sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
        sim_finish(&sim, 10);
        sim_assert_error(&sim, KVMIG_EPHASE, "changed by somebody else");
        sim_clear(&sim);
    }
}

/* The guest runs on the target then, and nobody fights over the port. */
static void a_source_that_lets_go_after_the_activation_is_no_flap(void **state)
{
    (void)state;
    for (int with_ovs = 0; with_ovs < 2; with_ovs++) {
        for (int announced = 0; announced < 2; announced++) {
            struct sim sim;

            plugged(&sim, KVMIG_PORT_STRATEGY_AUTO);
            sim.with_ovs = with_ovs;
            verify(&sim);
            if (announced) {
                sim_announce(&sim, 1);
                sim_run(&sim, 50);
                assert_int_equal(sim.state, KVMIG_PORT_ACTIVATED);
            }
            sim_plug(&sim, 0, false);
            sim_run(&sim, 200);
            assert_int_equal(sim.lsps[0].main, -1);
            assert_int_equal(sim_count(&sim, "flap"), announced ? 0 : 1);
            sim_clear(&sim);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_that_ovn_would_not_keep_silent_is_refused),
        cmocka_unit_test(verifying_takes_the_strategy_of_the_preparation),
        cmocka_unit_test(a_strategy_that_somebody_changed_is_not_verified),
        cmocka_unit_test(a_source_that_lets_go_after_the_activation_is_no_flap),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
