/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sessions whose platform says where the guest is, and whose nodes are asked as well. The platform is the driver of the fake
 * world; its hosts are the nodes.
 */
#include "session_test.h"

#include "session/session_internal.h"
#include <kvmig/kube.h>

#include <errno.h>

/* The public option wants a platform, which this world is not. */
static void new_witnessed(struct fixture *f)
{
    new_session(f, 0, 0);
    kvmig__context_lock(f->world.context);
    f->session->node_hosts = f->world.cluster;
    kvmig__cluster_hold(f->world.cluster);
    kvmig__context_unlock(f->world.context);
    f->world.hosts_differ = true;
}

static void hosts_say(struct fixture *f, int32_t source, int32_t target)
{
    fake_side(&f->world.sides_hosts[0], source, KVMIG__REASON_MIGRATED, false);
    fake_side(&f->world.sides_hosts[1], target, KVMIG__REASON_MIGRATED, false);
}

static bool reports(struct fixture *f, const char *testimony)
{
    char *json = NULL, *wanted = kvmig__asprintf("\"node_hosts\":\"%s\"", testimony);
    bool found;

    assert_int_equal(kvmig_session_report(f->session, &json), 0);
    found = strstr(json, wanted) != NULL;
    free(json);
    free(wanted);
    return found;
}

static void hosts_that_agree_change_nothing(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_witnessed(&f);
    hosts_say(&f, KVMIG__STATE_SHUTOFF, KVMIG__STATE_RUNNING);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_int_equal(fake_count(&f.caller, "notice NODE_HOSTS_DISAGREE"), 0);
    assert_true(reports(&f, "agrees"));
    close_fixture(&f);
}

static void a_guest_that_arrived_unreported_is_found_where_it_runs(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.sides_after[0] = f.world.sides[0]; /* the platform says that nothing came of it */
    f.world.sides_after[1] = f.world.sides[1];
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
    new_witnessed(&f);
    hosts_say(&f, KVMIG__STATE_ABSENT, KVMIG__STATE_RUNNING);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_true(fake_heard(&f.caller, "notice NODE_HOSTS_DISAGREE"));
    assert_true(reports(&f, "overrules"));
    close_fixture(&f);
}

static void a_guest_that_runs_twice_is_nobodys_success(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_witnessed(&f);
    hosts_say(&f, KVMIG__STATE_RUNNING, KVMIG__STATE_RUNNING);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_true(reports(&f, "overrules"));
    close_fixture(&f);
}

static void a_silent_host_beside_a_copy_that_was_not_told_leaves_it_open(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_witnessed(&f);
    hosts_say(&f, KVMIG__STATE_RUNNING, KVMIG__STATE_RUNNING);
    f.world.sides_hosts[1].reachable = false;
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_true(reports(&f, "doubts"));
    close_fixture(&f);
}

static void hosts_that_know_nothing_say_nothing(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_witnessed(&f);
    hosts_say(&f, KVMIG__STATE_ABSENT, KVMIG__STATE_ABSENT);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_true(reports(&f, "none"));
    close_fixture(&f);
}

/* The session lives until the hosts have answered, whoever lets go of it meanwhile. */
static void a_session_that_nobody_holds_hears_its_witness_out(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_witnessed(&f);
    hosts_say(&f, KVMIG__STATE_SHUTOFF, KVMIG__STATE_RUNNING);
    assert_int_equal(kvmig_session_start(f.session), 0);
    close_fixture(&f);
}

static void views_that_do_not_fit_are_refused(void **state)
{
    struct fixture f;
    struct kvmig_plan *plan;

    (void)state;
    open_fixture(&f);
    plan = fake_plan(&f.world, "vm-0", "host-1", 0, 0);
    f.opts.node_hosts = f.world.cluster;
    assert_int_equal(kvmig_session_new(f.world.cluster, plan, &f.opts, &f.session), -EINVAL);
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), "node_hosts"));
    kvmig_plan_unref(plan);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_that_agree_change_nothing),
        cmocka_unit_test(a_guest_that_arrived_unreported_is_found_where_it_runs),
        cmocka_unit_test(a_guest_that_runs_twice_is_nobodys_success),
        cmocka_unit_test(a_silent_host_beside_a_copy_that_was_not_told_leaves_it_open),
        cmocka_unit_test(hosts_that_know_nothing_say_nothing),
        cmocka_unit_test(a_session_that_nobody_holds_hears_its_witness_out),
        cmocka_unit_test(views_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
