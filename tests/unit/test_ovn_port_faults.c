/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The OVN port when things go wrong, on an OVN in memory: answers that are lost, databases and daemons that are away, and handles
 * that are let go of at the wrong time.
 */
#include "ovn_port_test.h"

/* ---- answers that are lost ---- */

static void lost_answer_of_a_write_that_was_done_is_found_out(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    fake_ovsdb_fate(f.world.nb, FAKE_LOST_AND_DONE);
    fake_ovsdb_fate(f.world.nb, FAKE_UNSENT); /* the look after it fails once, too */
    to_prepared(&f);
    assert_nb(&f, "hv1,hv2", "rarp", "me");
    assert_int_equal(n_writes(&f, "kvmig"), 2); /* pinned once, extended once */
    close_fixture(&f);
}

static void lost_write_is_made_again(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    fake_ovsdb_fate(f.world.nb, FAKE_LOST);
    to_prepared(&f);
    assert_nb(&f, "hv1,hv2", "rarp", "me");
    assert_int_equal(n_writes(&f, "kvmig"), 3);
    close_fixture(&f);
}

static void write_that_reached_no_server_is_made_again(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    fake_ovsdb_fate(f.world.nb, FAKE_UNSENT);
    to_prepared(&f);
    assert_nb(&f, "hv1,hv2", "rarp", "me");
    assert_int_equal(n_writes(&f, "kvmig"), 3);
    close_fixture(&f);
}

static void lost_barrier_is_asked_for_again(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    to_prepared(&f);
    plug_target(&f);
    fake_ovsdb_fate(f.world.nb, FAKE_LOST);
    assert_int_equal(kvmig_port_verify(f.port), 0);
    port_run_until(f.context, &f.caller, "verified");
    close_fixture(&f);
}

static void database_that_was_never_initialised_is_told_apart(void **state)
{
    struct fixture f;

    (void)state;
    prepare_fixture(&f);
    f.opts.verify_timeout_ms = 1200; /* the barrier is asked for after 600 */
    open_port(&f);
    to_prepared(&f);
    plug_target(&f);
    port_settle(f.context);
    kvmig__context_lock(f.context);
    fake_ovsdb_set(f.world.sb, "SB_Global", OVN_GLOBAL,
                   "{\"options\":[\"map\",[[\"northd_internal_version\",\"23.03.1-20.27.0-70.6\"]]]}");
    f.world.nb->on_commit = NULL; /* northd has nothing to do with it */
    fake_ovsdb_delete(f.world.nb, "NB_Global", OVN_GLOBAL);
    kvmig__context_unlock(f.context);
    assert_int_equal(kvmig_port_verify(f.port), 0);
    port_run_until(f.context, &f.caller, ")");
    assert_int_equal(kvmig_port_state(f.port), KVMIG_PORT_FAILED);
    if (!strstr(f.caller.message, "NB_Global has no row") && !strstr(f.caller.evidence, "NB_Global has no row"))
        fail_msg("\"%s\" (%s) does not say why", f.caller.message, f.caller.evidence);
    close_fixture(&f);
}

static void server_that_objects_ends_the_wish_with_its_reason(void **state)
{
    struct fixture f;

    (void)state;
    prepare_fixture(&f);
    f.opts.prepare_timeout_ms = 100;
    open_port(&f);
    for (int i = 0; i < 50; i++)
        fake_ovsdb_fate(f.world.nb, FAKE_REFUSE);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, ")");
    assert_int_equal(kvmig_port_state(f.port), KVMIG_PORT_FAILED);
    assert_nb(&f, "-", "-", "-");
    close_fixture(&f);
}

static void one_write_is_out_at_a_time(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.nb->hold = true;
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "preparing");
    for (int i = 0; i < 5; i++) {
        edit(&f, f.world.sb, "SB_Global", OVN_GLOBAL, "{\"options\":[\"map\",[[\"a\",\"b\"]]]}");
        port_settle(f.context);
    }
    kvmig__context_lock(f.context);
    assert_non_null(f.world.nb->calls);
    kvmig__context_unlock(f.context);
    assert_int_equal(kvmig_port_rollback(f.port), 0); /* a newer wish does not hurry it */
    port_settle(f.context);
    kvmig__context_lock(f.context);
    fake_ovsdb_release(f.world.nb);
    kvmig__context_unlock(f.context);
    port_run_until(f.context, &f.caller, "rolled-back");
    assert_nb(&f, "hv1", "-", "-"); /* what was under way is undone, and nothing is left */
    close_fixture(&f);
}

/* ---- databases and daemons that are away ---- */

static void wish_waits_for_a_database_that_comes_back(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    port_settle(f.context);
    set_up(&f, f.world.nb, false);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_settle(f.context);
    assert_int_equal(kvmig_port_state(f.port), KVMIG_PORT_PREPARING);
    set_up(&f, f.world.nb, true);
    port_run_until(f.context, &f.caller, "prepared");
    close_fixture(&f);
}

static void database_that_stays_away_is_named(void **state)
{
    struct fixture f;

    (void)state;
    prepare_fixture(&f);
    f.opts.prepare_timeout_ms = 50;
    open_port(&f);
    set_up(&f, f.world.nb, false);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "failed(ETIMEDOUT)");
    if (!strstr(f.caller.message, "nb is down") && !strstr(f.caller.evidence, "nb is down"))
        fail_msg("\"%s\" (%s) does not say why", f.caller.message, f.caller.evidence);
    close_fixture(&f);
}

static void silent_northd_makes_the_preparation_fail_and_nothing_stays(void **state)
{
    struct fixture f;

    (void)state;
    prepare_fixture(&f);
    f.opts.prepare_timeout_ms = 400;
    f.opts.converge_timeout_ms = 400;
    open_port(&f);
    f.world.no_northd = true;
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "failed(ETIMEDOUT)");
    assert_nb(&f, "hv1", "-", "-");
    close_fixture(&f);
}

static void dead_controller_on_the_target_is_not_verified_but_rolled_back(void **state)
{
    struct fixture f;

    (void)state;
    prepare_fixture(&f);
    f.opts.verify_timeout_ms = 80;
    open_port(&f);
    to_prepared(&f);
    kvmig__context_lock(f.context);
    f.world.dead[1] = true;
    ovn_plug(&f.world, 1, true);
    kvmig__context_unlock(f.context);
    assert_int_equal(kvmig_port_verify(f.port), 0);
    port_run_until(f.context, &f.caller, "failed(ETIMEDOUT)");
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    port_run_until(f.context, &f.caller, "rolled-back");
    assert_nb(&f, "hv1", "-", "-");
    close_fixture(&f);
}

/* What its interfaces say would prove the wrong thing. */
static void database_of_another_chassis_proves_nothing_and_is_named(void **state)
{
    static const struct kvmig_port_ovs wrong = { .size = sizeof(wrong), .chassis = "hv2", .remotes = "ovs1" };
    static const struct kvmig_port_ovs *const wrong_list[] = { &wrong };
    struct fixture f;

    (void)state;
    prepare_fixture(&f);
    f.opts.ovs = wrong_list;
    f.opts.n_ovs = 1;
    f.opts.verify_timeout_ms = 50;
    open_port(&f);
    to_prepared(&f);
    plug_target(&f);
    assert_int_equal(kvmig_port_verify(f.port), 0);
    port_run_until(f.context, &f.caller, "failed(ETIMEDOUT)");
    if (!strstr(f.caller.message, "is that of hv1") && !strstr(f.caller.evidence, "is that of hv1"))
        fail_msg("\"%s\" (%s) does not say why", f.caller.message, f.caller.evidence);
    close_fixture(&f);
}

/* ---- letting go ---- */

static void port_may_go_while_transactions_are_out(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.nb->hold = true;
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "preparing");
    port_settle(f.context);
    kvmig_port_unref(f.port);
    f.port = NULL;
    kvmig__context_lock(f.context);
    assert_null(f.world.nb->calls);
    kvmig__context_unlock(f.context);
    close_fixture(&f);
}

static void port_may_go_while_an_answer_is_in_doubt(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    fake_ovsdb_fate(f.world.nb, FAKE_LOST);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    while (n_transactions(&f) == 0)
        assert_true(kvmig_context_dispatch(f.context) >= 0);
    kvmig_port_unref(f.port);
    f.port = NULL;
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_answer_of_a_write_that_was_done_is_found_out),
        cmocka_unit_test(lost_write_is_made_again),
        cmocka_unit_test(write_that_reached_no_server_is_made_again),
        cmocka_unit_test(lost_barrier_is_asked_for_again),
        cmocka_unit_test(database_that_was_never_initialised_is_told_apart),
        cmocka_unit_test(server_that_objects_ends_the_wish_with_its_reason),
        cmocka_unit_test(one_write_is_out_at_a_time),
        cmocka_unit_test(wish_waits_for_a_database_that_comes_back),
        cmocka_unit_test(database_that_stays_away_is_named),
        cmocka_unit_test(silent_northd_makes_the_preparation_fail_and_nothing_stays),
        cmocka_unit_test(dead_controller_on_the_target_is_not_verified_but_rolled_back),
        cmocka_unit_test(database_of_another_chassis_proves_nothing_and_is_named),
        cmocka_unit_test(port_may_go_while_transactions_are_out),
        cmocka_unit_test(port_may_go_while_an_answer_is_in_doubt),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
