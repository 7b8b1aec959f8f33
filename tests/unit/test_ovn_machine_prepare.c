/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The machine of an OVN port prepares: pins before it extends, refuses what is not its own, survives lost answers and
 * other writers, and puts back what it wrote when it fails.
 */
#include "ovn_sim.h"

#include <errno.h>

static void prepare(struct sim *sim)
{
    sim_wish(sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(sim, 60000);
}

static void assert_prepared(const struct sim *sim, const char *pair)
{
    if (sim->error)
        fail_msg("%s", kvmig_error_message(sim->error));
    assert_int_equal(sim->state, KVMIG_PORT_PREPARED);
    for (size_t i = 0; i < sim->n_lsps; i++) {
        assert_string_equal(sim->lsps[i].requested, pair);
        assert_string_equal(sim->lsps[i].owner, "mig-1");
    }
}

static void assert_previous(const struct sim *sim, const char *requested, const char *strategy)
{
    struct kvmig__ovn_previous previous;

    assert_true(kvmig__ovn_previous_read(sim->lsps[0].previous, &previous));
    assert_true(kvmig__str_eq(previous.requested_chassis, requested));
    assert_true(kvmig__str_eq(previous.activation_strategy, strategy));
    assert_non_null(previous.source);
    assert_non_null(previous.target);
    assert_true(previous.since_ms > 1700000000000);
    kvmig__ovn_previous_clear(&previous);
}

static void an_unpinned_port_is_pinned_first(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    prepare(&sim);
    assert_prepared(&sim, "hv1,hv2");
    assert_string_equal(sim.lsps[0].strategy, "rarp");
    assert_int_equal(sim.writes, 2);
    assert_int_equal(sim_count(&sim, "pinned"), 1);
    assert_int_equal(sim_count(&sim, "extended"), 1);
    assert_previous(&sim, NULL, NULL);
    sim_clear(&sim);
}

static void a_pinned_port_is_extended_in_one_write(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_pin(&sim, 0, "hv1", "rarp");
    prepare(&sim);
    assert_prepared(&sim, "hv1,hv2");
    assert_int_equal(sim.writes, 1);
    assert_previous(&sim, "hv1", "rarp");
    sim_clear(&sim);
}

static void the_form_in_which_a_port_is_pinned_is_kept(void **state)
{
    static const struct {
        const char *pinned, *source, *target, *pair;
    } cases[] = {
        { "node1", "hv1", "hv2", "node1,node2" },     { "hv1", "node1", "node2", "hv1,hv2" },
        { NULL, "node1", "hv2", "node1,node2" },      { NULL, "hv1", "node2", "hv1,hv2" },
        { "node1", "node1", "node2", "node1,node2" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct sim sim;

        sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
        sim_pin(&sim, 0, cases[i].pinned, NULL);
        sim_wish(&sim, KVMIG__OVN_PREPARE, cases[i].source, cases[i].target);
        sim_finish(&sim, 60000);
        assert_prepared(&sim, cases[i].pair);
        sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
        sim_finish(&sim, 60000);
        assert_string_equal(sim.lsps[0].requested, cases[i].pinned ? cases[i].pinned : cases[i].source);
        sim_clear(&sim);
    }
}

static void repeating_it_writes_nothing(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    prepare(&sim);
    prepare(&sim);
    sim_wish(&sim, KVMIG__OVN_PREPARE, "node1", "node2");
    sim_finish(&sim, 60000);
    assert_prepared(&sim, "hv1,hv2");
    assert_int_equal(sim.writes, 2);
    sim_restart(&sim, "mig-1"); /* another process of the same owner */
    prepare(&sim);
    assert_prepared(&sim, "hv1,hv2");
    assert_int_equal(sim.writes, 2);
    sim_clear(&sim);
}

static void a_wish_that_comes_while_a_write_is_out_waits_for_it(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    for (int i = 0; i < 5; i++)
        sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(&sim, 60000);
    assert_prepared(&sim, "hv1,hv2");
    assert_int_equal(sim.writes, 2);
    sim_clear(&sim);
}

static void another_target_goes_through_the_source_alone(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    prepare(&sim);
    sim_plug(&sim, 1, true);
    sim_run(&sim, 200);
    sim_announce(&sim, 1);
    sim_run(&sim, 50);
    assert_int_equal(sim.state, KVMIG_PORT_ACTIVATED);
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv3");
    sim_finish(&sim, 60000);
    assert_prepared(&sim, "hv1,hv3");
    assert_previous(&sim, NULL, NULL);
    assert_int_equal(sim.writes, 4);
    sim_clear(&sim);
}

static void all_ports_go_in_one_write(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.n_lsps = 2;
    sim_pin(&sim, 1, "hv1", NULL);
    sim_run(&sim, 50);
    prepare(&sim);
    assert_prepared(&sim, "hv1,hv2");
    assert_int_equal(sim.writes, 2);
    sim_clear(&sim);
}

static void a_strategy_of_none_is_written_as_none(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_NONE);
    sim_pin(&sim, 0, "hv1", "rarp");
    prepare(&sim);
    assert_prepared(&sim, "hv1,hv2");
    assert_null(sim.lsps[0].strategy);
    sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
    sim_finish(&sim, 60000);
    sim_assert_clean(&sim, "hv1"); /* with its strategy */
    sim_clear(&sim);
}

static void without_the_southbound_database_names_are_not_checked_and_it_says_so(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.with_sb = false;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "ghost");
    sim_finish(&sim, 60000);
    assert_prepared(&sim, "hv1,ghost");
    assert_int_equal(sim_count(&sim, "unchecked-chassis"), 1);
    sim_clear(&sim);
}

/* ---- refusals ---- */

struct refusal {
    const char *source, *target, *pinned, *owner, *version;
    int32_t strategy, code;
    const char *part;
};

static void what_cannot_be_meant_or_is_not_ours_is_refused_and_nothing_written(void **state)
{
    static const struct refusal cases[] = {
        { "hv1", "ghost", NULL, NULL, NULL, 0, KVMIG_ENOHOST, "hv1 (host node1), hv2 (host node2), hv3 (host node3)" },
        { "ghost", "hv2", NULL, NULL, NULL, 0, KVMIG_ENOHOST, "no chassis ghost" },
        { "hv1", "hv 2", NULL, NULL, NULL, 0, EINVAL, "\"hv 2\"" },
        { "hv1,hv3", "hv2", NULL, NULL, NULL, 0, EINVAL, "several chassis" },
        { "hv1", " hv2", NULL, NULL, NULL, 0, EINVAL, NULL },
        { "hv1", "", NULL, NULL, NULL, 0, EINVAL, "no name" },
        { NULL, "hv2", NULL, NULL, NULL, 0, EINVAL, "no name" },
        { "hv1", "hv1", NULL, NULL, NULL, 0, EINVAL, "one and the same" },
        { "hv1", "node1", NULL, NULL, NULL, 0, EINVAL, "one and the same" },
        { "hv1", "hv2", "hv3", NULL, NULL, 0, KVMIG_EREFUSED, "pinned to hv3" },
        { "hv1", "hv2", "hv1,hv2", NULL, NULL, 0, KVMIG_EREFUSED, "nobody says" },
        { "hv1", "hv2", "hv3,hv2", "mig-1", NULL, 0, KVMIG_EREFUSED, "another source" },
        { "hv1", "hv2", "hv1,hv2", "other", NULL, 0, KVMIG_EREFUSED, "belongs to the migration other" },
        { "hv1", "hv2", "hv1", "other", NULL, 0, KVMIG_EREFUSED, "belongs to the migration other" },
        { "hv1", "hv2", NULL, "other", NULL, 0, KVMIG_EREFUSED, "belongs to the migration other" },
        { "hv2", "hv1", NULL, NULL, NULL, 0, KVMIG_EREFUSED, "bound to hv1" },
        { "hv1", "hv2", NULL, NULL, "22.03.0", 0, ENOTSUP, "22.06" },
        { "hv1", "hv2", NULL, NULL, NULL, KVMIG_PORT_STRATEGY_GARP, ENOTSUP, "25.09" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        const struct refusal *c = &cases[i];
        struct sim sim;

        sim_init(&sim, c->strategy);
        sim_pin(&sim, 0, c->pinned, NULL);
        sim_own(&sim, 0, c->owner, c->owner ? "kvmig1;source=hv1;target=hv2;since=1700000000000" : NULL);
        if (c->version)
            sim.version = c->version;
        sim_wish(&sim, KVMIG__OVN_PREPARE, c->source, c->target);
        sim_finish(&sim, 1000);
        sim_assert_error(&sim, c->code, c->part);
        assert_string_not_equal(kvmig_error_hint(sim.error), "");
        assert_int_equal(sim.writes, 0);
        assert_true(kvmig__str_eq(sim.lsps[0].requested, c->pinned));
        sim_clear(&sim);
    }
}

static void a_refusal_carries_the_code_of_the_finding(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_pin(&sim, 0, "hv1,hv2", "rarp");
    prepare(&sim);
    assert_non_null(strstr(kvmig_error_evidence(sim.error), "\"code\": \"STALE_LSP_OPTIONS\""));
    sim_pin(&sim, 0, "hv3", NULL);
    prepare(&sim);
    assert_non_null(strstr(kvmig_error_evidence(sim.error), "\"code\": \"LSP_WRONG_CHASSIS\""));
    sim_clear(&sim);
}

static void no_such_port(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.lsps[0].exists = false;
    prepare(&sim);
    sim_assert_error(&sim, ENOENT, "no logical port vm");
    sim_clear(&sim);
}

static void one_refused_port_refuses_all(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.n_lsps = 2;
    sim_pin(&sim, 1, "hv3", NULL);
    prepare(&sim);
    sim_assert_error(&sim, KVMIG_EREFUSED, "vm-nic1");
    assert_int_equal(sim.writes, 0);
    sim_clear(&sim);
}

/* ---- waits ---- */

static void it_waits_for_databases_and_says_which(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.nb_down = true;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_run(&sim, 5000);
    sim.nb_down = false;
    sim_finish(&sim, 1000);
    assert_prepared(&sim, "hv1,hv2");
    sim.sb_down = true;
    prepare(&sim);
    sim_assert_error(&sim, ETIMEDOUT, "the southbound database is not connected");
    assert_string_equal(sim.lsps[0].requested, "hv1,hv2"); /* this wish wrote nothing */
    sim_clear(&sim);
}

static void an_unbound_port_is_waited_for_unwritten(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_plug(&sim, 0, false);
    sim_run(&sim, 20);
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_run(&sim, 2000);
    assert_int_equal(sim.writes, 0);
    sim_plug(&sim, 0, true);
    sim_finish(&sim, 1000);
    assert_prepared(&sim, "hv1,hv2");
    sim_clear(&sim);
}

static void a_stale_activation_is_waited_out(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_pin(&sim, 0, "hv1", NULL);
    sim_run(&sim, 20);
    sim.northd_stopped = true;
    sim.lsps[0].activated[1] = true;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_run(&sim, 3000);
    assert_int_equal(sim.writes, 0);
    assert_int_equal(sim_count(&sim, "stale-activation"), 1);
    sim.northd_stopped = false;
    sim_finish(&sim, 1000);
    assert_prepared(&sim, "hv1,hv2");
    sim_clear(&sim);
}

static void a_second_migration_right_after_the_first_meets_no_stale_activation(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    prepare(&sim);
    sim_plug(&sim, 1, true);
    sim_run(&sim, 100);
    sim_announce(&sim, 1);
    sim.northd_stopped = true; /* roll-back and next preparation are written before northd runs */
    sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
    sim_run(&sim, 100);
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_run(&sim, 1000);
    assert_string_equal(sim.lsps[0].requested, "hv1");
    sim.northd_stopped = false;
    sim_finish(&sim, 1000);
    assert_prepared(&sim, "hv1,hv2");
    assert_false(sim.lsps[0].activated[1]);
    sim_clear(&sim);
}

/* ---- failing ---- */

static void with_northd_stopped_it_fails_in_time_and_is_put_back(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_pin(&sim, 0, "hv1", "x");
    sim_run(&sim, 20);
    sim.northd_stopped = true;
    prepare(&sim);
    sim_assert_error(&sim, ETIMEDOUT, "northd has not followed");
    sim_assert_clean(&sim, "hv1");
    assert_string_equal(sim.last_write, "rollback");
    sim_clear(&sim);
}

static void a_pin_that_the_source_does_not_follow_is_put_back(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.northd_stopped = true;
    prepare(&sim);
    sim_assert_error(&sim, ETIMEDOUT, "northd has not followed");
    sim_assert_clean(&sim, "hv1");
    sim_clear(&sim);
}

static void what_the_server_denies_fails_at_once(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.fate = SIM_DENY;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_finish(&sim, 100);
    sim_assert_error(&sim, EPERM, "permission denied");
    assert_int_equal(sim.writes, 1);
    sim_clear(&sim);
}

static void what_cannot_be_sent_is_tried_again_until_the_deadline(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.fate = SIM_UNSENT;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_run(&sim, 5000);
    sim.fate = SIM_COMMIT;
    sim_finish(&sim, 2000);
    assert_prepared(&sim, "hv1,hv2");
    assert_in_range(sim.writes, 5, 20);
    sim.fate = SIM_UNSENT;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv3");
    sim_finish(&sim, 60000);
    sim_assert_error(&sim, ETIMEDOUT, "no server could be reached");
    sim_clear(&sim);
}

static void a_lost_answer_is_looked_up_in_the_facts(void **state)
{
    (void)state;
    for (int fate = SIM_LOSE_BEFORE; fate <= SIM_LOSE_AFTER; fate++) {
        struct sim sim;

        sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
        sim.fate = (enum sim_fate)fate;
        sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
        sim_run(&sim, 10);
        sim.fate = SIM_COMMIT;
        sim_finish(&sim, 1000);
        assert_prepared(&sim, "hv1,hv2");
        assert_int_equal(sim.writes, fate == SIM_LOSE_BEFORE ? 3 : 2);
        sim_clear(&sim);
    }
}

static void a_lost_write_cannot_come_after_the_roll_back(void **state)
{
    (void)state;
    for (int late_ms = 0; late_ms < 100; late_ms += 5) {
        struct sim sim;

        sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
        sim_pin(&sim, 0, "hv1", NULL);
        sim_run(&sim, 20);
        sim.fate = SIM_LOSE_AND_COMMIT_LATE;
        sim.late_ms = late_ms;
        sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
        sim_run(&sim, 10);
        sim.fate = SIM_COMMIT;
        sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
        sim_finish(&sim, 5000);
        assert_int_equal(sim.state, KVMIG_PORT_ROLLED_BACK);
        sim_run(&sim, 200);
        sim_assert_clean(&sim, "hv1");
        sim_clear(&sim);
    }
}

static void another_owner_who_is_faster_wins(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_pin(&sim, 0, "hv1", NULL);
    sim_run(&sim, 20);
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_pin(&sim, 0, "hv1,hv3", "rarp");
    sim_own(&sim, 0, "other", "kvmig1;requested=hv1;source=hv1;target=hv3;since=1700000000000");
    sim_finish(&sim, 1000);
    sim_assert_error(&sim, KVMIG_EREFUSED, "belongs to the migration other (hv1 to hv3");
    assert_string_equal(sim.lsps[0].requested, "hv1,hv3");
    assert_int_equal(sim_count(&sim, "conflict"), 1);
    sim_wish(&sim, KVMIG__OVN_ROLLBACK, NULL, NULL);
    sim_finish(&sim, 1000);
    assert_int_equal(sim.state, KVMIG_PORT_SUPERSEDED);
    assert_string_equal(sim.lsps[0].requested, "hv1,hv3");
    sim_clear(&sim);
}

static void other_keys_that_change_meanwhile_only_cost_another_try(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim_pin(&sim, 0, "hv1", NULL);
    sim_run(&sim, 20);
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim.lsps[0].others++;
    sim_finish(&sim, 1000);
    assert_prepared(&sim, "hv1,hv2");
    assert_int_equal(sim.writes, 2);
    sim_clear(&sim);
}

static void options_that_somebody_strips_are_written_again(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    prepare(&sim);
    sim_pin(&sim, 0, NULL, NULL); /* a controller that "cleans" */
    sim_run(&sim, 20);
    prepare(&sim);
    assert_prepared(&sim, "hv1,hv2");
    assert_string_equal(sim.lsps[0].strategy, "rarp");
    sim_pin(&sim, 0, "hv1,hv2", NULL); /* only the strategy: the target would forward at once */
    prepare(&sim);
    assert_prepared(&sim, "hv1,hv2");
    assert_string_equal(sim.lsps[0].strategy, "rarp");
    sim_clear(&sim);
}

static void a_port_that_is_created_anew_meanwhile_is_prepared_anew(void **state)
{
    struct sim sim;

    (void)state;
    sim_init(&sim, KVMIG_PORT_STRATEGY_AUTO);
    sim.northd_stopped = true;
    sim_wish(&sim, KVMIG__OVN_PREPARE, "hv1", "hv2");
    sim_run(&sim, 100);
    sim_recreate(&sim, 0);
    sim.northd_stopped = false;
    sim_finish(&sim, 2000);
    assert_prepared(&sim, "hv1,hv2");
    sim_clear(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unpinned_port_is_pinned_first),
        cmocka_unit_test(a_pinned_port_is_extended_in_one_write),
        cmocka_unit_test(the_form_in_which_a_port_is_pinned_is_kept),
        cmocka_unit_test(repeating_it_writes_nothing),
        cmocka_unit_test(a_wish_that_comes_while_a_write_is_out_waits_for_it),
        cmocka_unit_test(another_target_goes_through_the_source_alone),
        cmocka_unit_test(all_ports_go_in_one_write),
        cmocka_unit_test(a_strategy_of_none_is_written_as_none),
        cmocka_unit_test(without_the_southbound_database_names_are_not_checked_and_it_says_so),
        cmocka_unit_test(what_cannot_be_meant_or_is_not_ours_is_refused_and_nothing_written),
        cmocka_unit_test(a_refusal_carries_the_code_of_the_finding),
        cmocka_unit_test(no_such_port),
        cmocka_unit_test(one_refused_port_refuses_all),
        cmocka_unit_test(it_waits_for_databases_and_says_which),
        cmocka_unit_test(an_unbound_port_is_waited_for_unwritten),
        cmocka_unit_test(a_stale_activation_is_waited_out),
        cmocka_unit_test(a_second_migration_right_after_the_first_meets_no_stale_activation),
        cmocka_unit_test(with_northd_stopped_it_fails_in_time_and_is_put_back),
        cmocka_unit_test(a_pin_that_the_source_does_not_follow_is_put_back),
        cmocka_unit_test(what_the_server_denies_fails_at_once),
        cmocka_unit_test(what_cannot_be_sent_is_tried_again_until_the_deadline),
        cmocka_unit_test(a_lost_answer_is_looked_up_in_the_facts),
        cmocka_unit_test(a_lost_write_cannot_come_after_the_roll_back),
        cmocka_unit_test(another_owner_who_is_faster_wins),
        cmocka_unit_test(other_keys_that_change_meanwhile_only_cost_another_try),
        cmocka_unit_test(options_that_somebody_strips_are_written_again),
        cmocka_unit_test(a_port_that_is_created_anew_meanwhile_is_prepared_anew),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
