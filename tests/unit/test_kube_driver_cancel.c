/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Taking a migration back on KubeVirt: in each phase, with the target pod and with the eviction behind it, what
 * somebody else started, and what cannot be taken back.
 */
#include "kube_driver_test.h"

#define VMIM "virtualmachineinstancemigrations"

static void cancel(void)
{
    session.cancelling = true;
    driver->ops->withdraw(driver);
    run(300);
}

static void abort_call(void)
{
    session.cancelling = true;
    driver->ops->abort(driver);
    run(300);
}

static void fail_requests(const char *method, const char *part, int32_t status, const char *message)
{
    world.fault.method = method;
    world.fault.part = part;
    world.fault.status = status;
    world.fault.message = message;
    world.fault.times = 1000000;
}

static void locate_on_source(void)
{
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_true(session.resolution.decided);
    assert_int_equal(session.resolution.side, -1);
}

static void before_anything_was_created(void **state)
{
    (void)state;
    make_driver();
    world.silent = true;
    begin(KVMIG__STEP_ADMIT);
    cancel();
    expect_error(KVMIG__STEP_ADMIT, ECANCELED, "withdrawn");
    world.silent = false;
    locate_on_source();
    assert_false(world.vmim_there);
    assert_int_equal(driver->ops->cancel_effect(driver), KVMIG_CANCEL_ACCEPTED);
}

static void while_the_creation_is_out(void **state)
{
    (void)state;
    make_driver();
    world.fault.method = "POST"; /* the dry run is let through, the creation gets no answer yet */
    driver->ops->begin(driver, KVMIG__STEP_ADMIT);
    world.fault.part = VMIM;
    world.fault.at_end = true;
    world.fault.applied = true;
    world.fault.times = 1;
    session.cancelling = true;
    run(0);
    driver->ops->withdraw(driver);
    run(5000);
    assert_true(world.vmim_there);
    assert_true(world.vmim_deleting);
    expect_error(KVMIG__STEP_ADMIT, ECANCELED, "withdrawn");
}

static void in_pending_it_deletes_the_migration(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    phase("Pending");
    assert_int_equal(driver->ops->cancel_effect(driver), KVMIG_CANCEL_ACCEPTED);
    cancel();
    expect_error(KVMIG__STEP_ADMIT, ECANCELED, "withdrawn");
    assert_int_equal(count("DELETE", VMIM), 1);
    assert_non_null(strstr(world.last_body, "\"uid\":\"uid-mig1\""));
    begin(KVMIG__STEP_LOCATE);
    run(5000);
    assert_int_equal(session.answers, 0); /* it is still there */
    migration_vanishes();
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_string_equal(item("migration"), "undone");
    assert_int_equal(count("DELETE", VMIM), 1);
}

static void at_a_gate_it_deletes_without_a_step(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    phase("Scheduling");
    expect_ok(KVMIG__STEP_ADMIT);
    cancel();
    assert_int_equal(session.answers, 0);
    assert_true(world.vmim_deleting);
    migration_vanishes();
    locate_on_source();
}

static void go_to_preparing(void)
{
    begin(KVMIG__STEP_ADMIT);
    show();
    target_pod("launcher-b", "node-b", "Running");
    phase("Scheduled");
    expect_ok(KVMIG__STEP_ADMIT);
    begin(KVMIG__STEP_SCHEDULE);
    expect_ok(KVMIG__STEP_SCHEDULE);
    begin(KVMIG__STEP_PREPARE);
    hand_off();
}

static void after_hand_off_it_waits_for_the_copy(void **state)
{
    (void)state;
    make_driver();
    go_to_preparing();
    assert_int_equal(driver->ops->cancel_effect(driver), KVMIG_CANCEL_DEFERRED);
    cancel();
    expect_error(KVMIG__STEP_PREPARE, ECANCELED, "withdrawn");
    show();
    begin(KVMIG__STEP_LOCATE);
    run(200000); /* longer than the resolve deadline: KubeVirt only aborts a copy that runs */
    assert_int_equal(session.answers, 0);
    assert_false(asked("DELETE", "pods"));
    start_copy();
    world.abort_requested = true;
    migration_fails("Live migration has been aborted");
    migration_vanishes();
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
}

static void deletes_the_target_pod_only_when_asked_to(void **state)
{
    (void)state;
    session.wishes.flags = KVMIG_SESSION_DELETE_TARGET_POD;
    make_driver();
    go_to_preparing();
    assert_int_equal(driver->ops->cancel_effect(driver), KVMIG_CANCEL_ACCEPTED);
    cancel();
    assert_true(asked("DELETE", "/api/v1/namespaces/ns1/pods/launcher-b"));
    assert_int_equal(count("DELETE", "pods"), 1);
    assert_non_null(strstr(world.last_body, "\"uid\":\"uid-launcher-b\""));
    expect_error(KVMIG__STEP_PREPARE, ECANCELED, "withdrawn");
    show();
    run(5000);
    assert_int_equal(count("DELETE", "pods"), 1);
}

static void never_deletes_the_target_pod_of_a_running_copy(void **state)
{
    (void)state;
    session.wishes.flags = KVMIG_SESSION_DELETE_TARGET_POD;
    make_driver();
    go_to_running();
    abort_call();
    run(5000);
    assert_int_equal(count("DELETE", VMIM), 1);
    assert_false(asked("DELETE", "pods"));
}

/* The view lags behind, or its watch is lost: the server knows more. */
static void leaves_the_target_pod_when_the_copy_has_begun_unseen(void **state)
{
    (void)state;
    session.wishes.flags = KVMIG_SESSION_DELETE_TARGET_POD;
    make_driver();
    go_to_preparing();
    world.started = true;
    cancel();
    run(5000);
    assert_true(asked("GET", "virtualmachineinstances/vm1"));
    assert_true(world.vmim_deleting);
    assert_false(asked("DELETE", "pods"));
}

static void leaves_the_target_pod_when_the_guest_has_moved_unseen(void **state)
{
    (void)state;
    session.wishes.flags = KVMIG_SESSION_DELETE_TARGET_POD;
    make_driver();
    go_to_preparing();
    world.node = "node-b";
    cancel();
    run(5000);
    assert_false(asked("DELETE", "pods"));
}

static void leaves_the_target_pod_while_the_guest_cannot_be_read(void **state)
{
    (void)state;
    session.wishes.flags = KVMIG_SESSION_DELETE_TARGET_POD;
    make_driver();
    go_to_preparing();
    fail_requests("GET", "virtualmachineinstances/vm1", 503, "overloaded");
    cancel();
    run(60000);
    assert_false(asked("DELETE", "pods"));
    assert_true(has_notice("LEFTOVER_TARGET_POD"));
    assert_int_equal(session.notices.n, 1); /* said once */
    world.fault.times = 0;
    run(10000);
    assert_int_equal(count("DELETE", "pods"), 1);
}

static void aborts_a_running_copy(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    abort_call();
    assert_int_equal(session.answers, 0);
    world.abort_requested = true;
    migration_fails("Live migration has been aborted");
    expect_error(KVMIG__STEP_MIGRATE, ECANCELED, "was cancelled");
    assert_false(session.hung);
    migration_vanishes();
    locate_on_source();
}

static void gives_an_abort_up_that_comes_to_nothing(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    abort_call();
    run(31000);
    expect_error(KVMIG__STEP_MIGRATE, ETIMEDOUT, "did not end after it was aborted");
    assert_true(session.hung);
}

static void says_so_when_it_may_not_delete(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    world.fault.method = "DELETE";
    world.fault.part = VMIM;
    world.fault.status = 403;
    world.fault.message = "forbidden: cannot delete resource";
    world.fault.times = 99;
    abort_call();
    run(1000);
    expect_error(KVMIG__STEP_MIGRATE, EPERM, "right to delete");
    assert_true(session.hung);
}

static void cancels_when_an_outage_is_over(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    fail_requests("DELETE", VMIM, 503, "overloaded");
    abort_call();
    run(40000);
    expect_error(KVMIG__STEP_MIGRATE, ETIMEDOUT, "did not end after it was aborted");
    begin(KVMIG__STEP_LOCATE);
    run(40000);
    assert_int_equal(session.answers, 0);
    world.fault.times = 0;
    run(10000);
    assert_true(world.vmim_deleting);
    migration_fails("Live migration has been aborted");
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
}

static void answers_a_cancel_during_an_outage(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    phase("Pending");
    fail_requests("DELETE", VMIM, 0, NULL);
    cancel();
    run(60000);
    expect_error(KVMIG__STEP_ADMIT, ECANCELED, "withdrawn");
    world.fault.times = 0;
    begin(KVMIG__STEP_LOCATE);
    run(10000);
    assert_true(world.vmim_deleting);
}

static void takes_no_404_of_a_proxy_for_a_deletion(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    fail_requests("DELETE", VMIM, 404, NULL);
    abort_call();
    run(5000);
    assert_true(count("DELETE", VMIM) > 1);
    world.fault.times = 0;
    run(10000);
    assert_true(world.vmim_deleting);
}

static void takes_no_404_about_something_else_for_a_deletion(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    fail_requests("DELETE", VMIM, 404, "the server could not find the requested resource");
    abort_call();
    run(5000);
    assert_true(count("DELETE", VMIM) > 1);
    assert_true(count("DELETE", VMIM) < 10);
    world.fault.times = 0;
    run(10000);
    assert_true(world.vmim_deleting);
}

static void comes_too_late_when_the_guest_has_moved(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    guest_moves();
    abort_call();
    expect_ok(KVMIG__STEP_MIGRATE);
    assert_false(asked("DELETE", VMIM));
}

static void loses_the_race_against_the_switch(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    abort_call();
    assert_true(world.vmim_deleting);
    guest_moves();
    world.completed = true;
    phase("Succeeded");
    expect_ok(KVMIG__STEP_MIGRATE);
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, 1);
}

static void is_refused_in_post_copy(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    world.mode = "PostCopy";
    show();
    run(300);
    abort_call();
    assert_int_equal(session.refusals, 1);
    assert_false(asked("DELETE", VMIM));
    session.cancelling = false;
    guest_moves();
    world.completed = true;
    phase("Succeeded");
    expect_ok(KVMIG__STEP_MIGRATE);
}

static void is_refused_when_post_copy_begins_before_it_takes_effect(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    abort_call();
    assert_int_equal(session.refusals, 0);
    world.mode = "PostCopy";
    show();
    run(40000);
    assert_int_equal(session.refusals, 1);
    assert_int_equal(session.answers, 0);
}

static void withdraws_the_eviction_first(void **state)
{
    (void)state;
    session.wishes.flags = KVMIG_SESSION_STOP_EVACUATION;
    session.wishes.attach = (char *)"ns1/evac";
    world.evacuation_node = "node-a";
    world.controller_owned = true;
    make_driver();
    kubevirt_creates("evac", "uid-evac");
    begin(KVMIG__STEP_ADMIT);
    assert_int_equal(driver->ops->cancel_effect(driver), KVMIG_CANCEL_ACCEPTED);
    cancel();
    assert_int_equal(count("PUT", "virtualmachineinstances/vm1/evacuate/cancel"), 1);
    assert_int_equal(count("DELETE", VMIM), 1);
    assert_true(strstr(world.log, "PUT ") < strstr(world.log, "DELETE "));
    expect_error(KVMIG__STEP_ADMIT, ECANCELED, "withdrawn");
}

static void says_that_an_eviction_will_return(void **state)
{
    (void)state;
    session.wishes.attach = (char *)"";
    world.evacuation_node = "node-a";
    world.controller_owned = true;
    make_driver();
    kubevirt_creates("evac", "uid-evac");
    begin(KVMIG__STEP_ADMIT);
    assert_int_equal(driver->ops->cancel_effect(driver), KVMIG_CANCEL_WILL_RETURN);
    cancel();
    assert_false(asked("PUT", "evacuate"));
    assert_int_equal(count("DELETE", VMIM), 1);
}

static void still_says_that_an_eviction_will_return_when_the_guest_has_stayed(void **state)
{
    (void)state;
    session.wishes.attach = (char *)"";
    world.evacuation_node = "node-a";
    world.controller_owned = true;
    make_driver();
    kubevirt_creates("evac", "uid-evac");
    go_to_running();
    abort_call();
    world.abort_requested = true;
    migration_fails("Live migration has been aborted");
    expect_error(KVMIG__STEP_MIGRATE, ECANCELED, "was cancelled");
    migration_vanishes();
    locate_on_source();
    assert_int_equal(driver->ops->cancel_effect(driver), KVMIG_CANCEL_WILL_RETURN);
}

static void leaves_a_foreign_migration_alone_when_only_a_gate_failed(void **state)
{
    (void)state;
    session.wishes.attach = (char *)"theirs";
    make_driver();
    kubevirt_creates("theirs", "uid-x");
    phase("Scheduling");
    begin(KVMIG__STEP_ADMIT);
    expect_ok(KVMIG__STEP_ADMIT);
    begin(KVMIG__STEP_SCHEDULE);
    driver->ops->withdraw(driver); /* a port failed; nobody cancelled */
    run(1000);
    expect_error(KVMIG__STEP_SCHEDULE, ECANCELED, "withdrawn");
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE); /* the guest is where it was; what comes of the migration is not awaited */
    assert_int_equal(session.resolution.side, -1);
    assert_true(has_notice("STILL_MIGRATING"));
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_int_equal(session.final_source, KVMIG__STATE_RUNNING);
    assert_false(asked("DELETE", VMIM));
}

static void does_not_abort_a_foreign_migration_for_a_limit_of_its_own(void **state)
{
    (void)state;
    session.wishes.attach = (char *)"theirs";
    make_driver();
    kubevirt_creates("theirs", "uid-x");
    target_pod("launcher-b", "node-b", "Running");
    hand_off();
    start_copy();
    begin(KVMIG__STEP_ADMIT);
    expect_ok(KVMIG__STEP_ADMIT);
    begin(KVMIG__STEP_MIGRATE);
    driver->ops->abort(driver);
    run(1000);
    expect_error(KVMIG__STEP_MIGRATE, ETIMEDOUT, "started by somebody else");
    assert_true(session.hung);
    assert_false(asked("DELETE", VMIM));
}

static void names_a_target_pod_that_stays(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    target_pod("launcher-b", "node-b", "Running");
    phase("Failed");
    run(5000);
    session.answers = 0;
    begin(KVMIG__STEP_UNDO);
    run(3 * STEP_MS);
    expect_error(KVMIG__STEP_UNDO, ETIMEDOUT, "target pod of the migration is still there");
    assert_non_null(strstr(item("migration"), "failed:"));
    assert_int_equal(session.final_source, KVMIG__STATE_RUNNING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(before_anything_was_created),
        TEST(while_the_creation_is_out),
        TEST(in_pending_it_deletes_the_migration),
        TEST(at_a_gate_it_deletes_without_a_step),
        TEST(after_hand_off_it_waits_for_the_copy),
        TEST(deletes_the_target_pod_only_when_asked_to),
        TEST(never_deletes_the_target_pod_of_a_running_copy),
        TEST(leaves_the_target_pod_when_the_copy_has_begun_unseen),
        TEST(leaves_the_target_pod_when_the_guest_has_moved_unseen),
        TEST(leaves_the_target_pod_while_the_guest_cannot_be_read),
        TEST(aborts_a_running_copy),
        TEST(gives_an_abort_up_that_comes_to_nothing),
        TEST(says_so_when_it_may_not_delete),
        TEST(cancels_when_an_outage_is_over),
        TEST(answers_a_cancel_during_an_outage),
        TEST(takes_no_404_of_a_proxy_for_a_deletion),
        TEST(takes_no_404_about_something_else_for_a_deletion),
        TEST(comes_too_late_when_the_guest_has_moved),
        TEST(loses_the_race_against_the_switch),
        TEST(is_refused_in_post_copy),
        TEST(is_refused_when_post_copy_begins_before_it_takes_effect),
        TEST(withdraws_the_eviction_first),
        TEST(says_that_an_eviction_will_return),
        TEST(still_says_that_an_eviction_will_return_when_the_guest_has_stayed),
        TEST(leaves_a_foreign_migration_alone_when_only_a_gate_failed),
        TEST(does_not_abort_a_foreign_migration_for_a_limit_of_its_own),
        TEST(names_a_target_pod_that_stays),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
