/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A port that is prepared and about to be settled: how the tests of settling begin, wish, and look at the outcome. */
#ifndef KVMIG_TESTS_OVN_SETTLE_TEST_H
#define KVMIG_TESTS_OVN_SETTLE_TEST_H

#include "ovn_sim.h"

static void prepared(struct sim *sim, const char *pinned)
{
    sim_init(sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_pin(sim, 0, pinned, NULL);
    sim_run(sim, 20);
    sim_wish(sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(sim, 1000);
    assert_int_equal(sim->state, KVMIG_PORT_PREPARED);
    sim_plug(sim, 1, true);
    sim_run(sim, 100);
}

static void wish(struct sim *sim, enum kvmig__ovn_wish wish, const char *winner)
{
    sim->want_detail = "converged";
    sim_wish(sim, wish, winner, NULL);
    sim_finish(sim, 70000);
}

static void assert_state(const struct sim *sim, int32_t state)
{
    if (sim->error)
        fail_msg("%s", kvmig_error_message(sim->error));
    assert_int_equal(sim->state, state);
}

#endif
