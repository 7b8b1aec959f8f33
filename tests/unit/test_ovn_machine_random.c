/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The machine of an OVN port in bad weather: wishes in any order, parties that act late, lost answers, databases
 * that go away, another owner, other writers, ports created anew, a process that dies. Every write is checked by
 * the simulation, every "verified" as well; here, that a wish is always answered, and what is left when the weather
 * clears up. The seeds are fixed.
 */
#include "ovn_sim.h"

#define SEEDS 300
#define EVENTS 60

static uint32_t last_seed;

static const char *const names[] = { "hv1", "hv2", "hv3", "node1", "node2" };

static void random_wish(struct sim *sim)
{
    static const enum kvmig__ovn_wish wishes[] = { KVMIG__OVN_PREPARE,      KVMIG__OVN_PREPARE,     KVMIG__OVN_PREPARE,
                                                   KVMIG__OVN_VERIFY,       KVMIG__OVN_VERIFY_LATE, KVMIG__OVN_CONVERGE,
                                                   KVMIG__OVN_CONVERGE_NOW, KVMIG__OVN_ROLLBACK };
    enum kvmig__ovn_wish wish = wishes[sim_random(sim, KVMIG__N_ELEMENTS(wishes))];
    const char *a = wish == KVMIG__OVN_ROLLBACK ? NULL : names[sim_random(sim, KVMIG__N_ELEMENTS(names))];

    if (wish == KVMIG__OVN_PREPARE && sim_random(sim, 4))
        sim_wish(sim, wish, "hv1", "hv2");
    else
        sim_wish(sim, wish, a, names[sim_random(sim, KVMIG__N_ELEMENTS(names))]);
}

/* Somebody with another token, who keeps the rules. */
static void other_owner(struct sim *sim)
{
    struct sim_lsp *lsp = &sim->lsps[sim_random(sim, (uint32_t)sim->n_lsps)];

    if (!lsp->owner && lsp->requested && !strchr(lsp->requested, ',')) {
        char *pair = kvmig__asprintf("%s,hv3", lsp->requested);

        kvmig__str_set(&lsp->owner, "other");
        kvmig__str_set(&lsp->previous, "kvmig1;source=hv1;target=hv3;since=5");
        kvmig__str_set(&lsp->requested, pair);
        kvmig__str_set(&lsp->strategy, "rarp");
        free(pair);
    } else if (kvmig__str_eq(lsp->owner, "other")) {
        kvmig__str_set(&lsp->owner, NULL);
        kvmig__str_set(&lsp->previous, NULL);
        kvmig__str_set(&lsp->requested, sim_random(sim, 2) ? "hv1" : "hv3");
        kvmig__str_set(&lsp->strategy, NULL);
    }
}

/* Somebody without a token, who does not know them. */
static void other_system(struct sim *sim)
{
    struct sim_lsp *lsp = &sim->lsps[sim_random(sim, (uint32_t)sim->n_lsps)];

    switch (sim_random(sim, 4)) {
    case 0:
        kvmig__str_set(&lsp->requested, NULL);
        kvmig__str_set(&lsp->strategy, NULL);
        break;
    case 1:
        kvmig__str_set(&lsp->requested, "hv1");
        break;
    default:
        lsp->others++;
        break;
    }
}

static void random_event(struct sim *sim)
{
    switch (sim_random(sim, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        random_wish(sim);
        break;
    case 4:
        sim->fate = (enum sim_fate)sim_random(sim, 6);
        sim->late_ms = (int)sim_random(sim, 100);
        break;
    case 5:
        sim->nb_down = !sim->nb_down;
        break;
    case 6:
        sim->sb_down = !sim->sb_down;
        break;
    case 7:
        sim->ovs_down = !sim->ovs_down;
        break;
    case 8:
        sim->northd_stopped = !sim->northd_stopped;
        break;
    case 9:
        sim->chassis[sim_random(sim, SIM_CHASSIS)].runs ^= true;
        break;
    case 10:
        sim_plug(sim, 1 + sim_random(sim, 2), sim_random(sim, 2));
        break;
    case 11:
        sim_announce(sim, 1 + sim_random(sim, 2));
        break;
    case 12:
        other_owner(sim);
        break;
    case 13:
        other_system(sim);
        break;
    case 14:
        if (sim_random(sim, 3) == 0)
            sim_recreate(sim, sim_random(sim, (uint32_t)sim->n_lsps));
        break;
    default:
        if (sim_random(sim, 3) == 0)
            sim_restart(sim, "mig-1");
        break;
    }
}

static void clear_up(struct sim *sim)
{
    sim->nb_down = sim->sb_down = sim->ovs_down = sim->northd_stopped = false;
    sim->fate = SIM_COMMIT;
    for (int c = 0; c < SIM_CHASSIS; c++)
        sim->chassis[c].runs = true;
    if (sim->random)
        sim_run(sim, 500);
}

static void setup(struct sim *sim, uint32_t seed)
{
    sim_init(sim, KVMIG_PORT_STRATEGY_AUTO);
    sim->n_lsps = 1 + seed % 2;
    sim->with_sb = seed % 5 != 0;
    sim->with_ovs = seed % 3 != 0;
    sim->barrier_off = seed % 7 == 0;
    if (seed % 4 == 0)
        sim_pin(sim, 0, seed % 8 ? "node1" : "hv1", NULL);
    sim->random = seed * 2654435761u + 1;
    sim_run(sim, 100);
}

/* In the end nothing is left of this owner, whatever happened, and no port was unpinned by it. */
static void assert_nothing_of_ours(const struct sim *sim)
{
    for (size_t i = 0; i < sim->n_lsps; i++) {
        const struct sim_lsp *lsp = &sim->lsps[i];

        assert_false(kvmig__str_eq(lsp->owner, "mig-1"));
        if (!lsp->owner) {
            assert_null(lsp->previous);
            assert_false(lsp->requested && strchr(lsp->requested, ','));
        }
    }
}

static void storm(uint32_t seed)
{
    struct sim sim;

    setup(&sim, seed);
    for (int i = 0; i < EVENTS; i++) {
        random_event(&sim);
        sim_run(&sim, sim_random(&sim, 4) ? 5 + sim_random(&sim, 100) : 1500);
    }
    clear_up(&sim);
    sim_plug(&sim, 0, true);
    sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
    sim_finish(&sim, 70000);
    sim_run(&sim, 500); /* nothing comes after it */
    assert_nothing_of_ours(&sim);
    sim_clear(&sim);
}

static void a_storm_leaves_nothing_of_ours(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        last_seed = seed;
        storm(seed);
    }
}

/* One migration in the same weather, but nobody else writes: at its end the port is where the guest is, and proven. */
static void migrate(uint32_t seed)
{
    struct sim sim;
    bool moves = seed % 3 != 0;

    setup(&sim, seed);
    sim.with_sb = true;
    sim.with_ovs |= sim.barrier_off; /* one of them can prove it */
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    for (int i = 0; i < 20; i++) {
        sim.fate = sim_random(&sim, 2) ? SIM_COMMIT : (enum sim_fate)sim_random(&sim, 4);
        sim.late_ms = (int)sim_random(&sim, 200);
        sim.nb_down = sim_random(&sim, 4) == 0;
        sim.northd_stopped = sim_random(&sim, 4) == 0;
        sim_run(&sim, sim_random(&sim, 200));
        if (sim_random(&sim, 4) == 0)
            sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
        if (sim_random(&sim, 16) == 0)
            sim_restart(&sim, "mig-1");
    }
    clear_up(&sim);
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(&sim, 40000);
    assert_int_equal(sim.state, KVMIG_PORT_PREPARED);
    sim_plug(&sim, 1, true);
    sim_wish(&sim, KVMIG__OVN_VERIFY, NULL, NULL);
    sim_finish(&sim, 40000);
    assert_int_equal(sim.state, KVMIG_PORT_VERIFIED);
    if (moves)
        sim_announce(&sim, 1);
    sim_wish(&sim, moves ? KVMIG__OVN_CONVERGE : KVMIG__OVN_ROLLBACK, moves ? "node2" : NULL, NULL);
    sim_finish(&sim, 40000);
    assert_int_equal(sim.state, moves ? KVMIG_PORT_CONVERGED : KVMIG_PORT_ROLLED_BACK);
    sim_assert_clean(&sim, moves ? "hv2" : "hv1");
    for (size_t i = 0; i < sim.n_lsps; i++)
        assert_int_equal(sim.lsps[i].main, moves);
    sim_clear(&sim);
}

static void a_migration_in_bad_weather_ends_where_the_guest_is(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        last_seed = seed;
        migrate(seed);
    }
}

/* Where to look if it failed. */
static int say_seed(void **state)
{
    (void)state;
    print_message("the last seed was %u of %d\n", (unsigned)last_seed, SEEDS);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_storm_leaves_nothing_of_ours, say_seed),
        cmocka_unit_test_teardown(a_migration_in_bad_weather_ends_where_the_guest_is, say_seed),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
