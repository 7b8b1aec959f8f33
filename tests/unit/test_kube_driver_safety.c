/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the KubeVirt session driver may rely on: where the guest goes although it was cancelled, which answers prove that
 * something is not there, requests that come through late, a guest that others move, and what is left of a session that
 * died.
 */
#include "kube_driver_test.h"

#define VMIM "virtualmachineinstancemigrations"
#define VMI_PATH "virtualmachineinstances/"

static void fault(const char *method, const char *part, int32_t status, const char *message, int32_t times)
{
    world.fault.method = method;
    world.fault.part = part;
    world.fault.status = status;
    world.fault.message = message;
    world.fault.times = times;
}

/* ---- the target ---- */

static void tells_where_the_guest_goes_although_it_was_cancelled(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    session.cancelling = true;
    world.silent = true; /* the deletion is late */
    driver->ops->withdraw(driver);
    run(100);
    phase("Scheduling");
    target_pod("launcher-c", "node-c", "Running");
    phase("Scheduled");
    hand_off();
    start_copy();
    guest_moves();
    world.completed = true;
    phase("Succeeded");
    world.silent = false;
    run(100);
    session.answers = 0;
    begin(KVMIG__STEP_LOCATE);
    run(1000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, 1);
    assert_string_equal(session.targets, "node-c,");
}

static void writes_the_target_into_the_token(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    assert_non_null(strstr(session.token, "\"target\":\"node-b\""));
}

/* ---- what proves absence ---- */

static void does_not_take_a_strange_404_for_a_vm_that_is_gone(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    migration_fails("virError(Code=1)");
    session.answers = 0;
    fault("GET", VMI_PATH, 404, NULL, 1000);
    begin(KVMIG__STEP_LOCATE);
    run(130000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_false(session.resolution.decided);
    assert_int_not_equal(session.resolution.verdict, KVMIG_LOCATION_VM_LOST);
}

static void does_not_take_any_json_for_the_vm(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    migration_fails("virError(Code=1)");
    session.answers = 0;
    fault("GET", VMI_PATH, 200, "hello", 1000); /* a Status, but not the VMI */
    begin(KVMIG__STEP_LOCATE);
    run(60000);
    assert_int_equal(session.answers, 0);
    assert_true(count("GET", VMI_PATH) < 70); /* it does not ask without a pause */
    world.fault.times = 0;
    run(2000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
}

/* ---- creating it ---- */

static void lose_the_post(bool applied)
{
    fault("POST", VMIM, 0, NULL, 1);
    world.fault.at_end = true; /* not the dry run */
    world.fault.applied = applied;
}

/* The request that was lost is carried out after all. */
static void come_through(void)
{
    struct json_object *body = json_tokener_parse(world.last_body);
    struct json_object *meta = json_object_object_get(body, "metadata");

    free(world.vmim_mark);
    world.vmim_mark = kvmig__strdup(
        json_object_get_string(json_object_object_get(json_object_object_get(meta, "annotations"), "kvmig/session")));
    kubevirt_creates(json_object_get_string(json_object_object_get(meta, "name")), "uid-mig1");
    json_object_put(body);
}

/* It was sent twice: the one that is answered met the other one. Then something else than the API server answers. */
static void look_for_it_behind(int32_t status, const char *message)
{
    make_driver();
    world.slow_post = true;
    driver->ops->begin(driver, KVMIG__STEP_ADMIT);
    run(0);
    come_through();
    fault("GET", VMIM "/", status, message, 5);
    world.slow_post = false;
    run(10000);
    assert_int_equal(count("POST", VMIM), 2); /* the dry run, and one */
    assert_int_equal(session.answers, 0);
    assert_non_null(strstr(session.token, "uid-mig1"));
}

static void takes_a_login_page_for_no_answer(void **state)
{
    (void)state;
    look_for_it_behind(200, NULL);
}

static void takes_a_404_about_something_else_for_no_answer(void **state)
{
    (void)state;
    look_for_it_behind(404, "the server could not find the requested resource");
}

static void takes_no_other_migration_of_its_name_for_its_own(void **state)
{
    (void)state;
    make_driver();
    world.slow_post = true;
    driver->ops->begin(driver, KVMIG__STEP_ADMIT);
    run(0);
    come_through();
    free(world.vmim_mark);
    world.vmim_mark = kvmig__strdup("another");
    show();
    world.slow_post = false;
    run(1000);
    expect_error(KVMIG__STEP_ADMIT, KVMIG_EUNKNOWN, "not known whether the migration was created");
    assert_null(item("migration"));
}

/* The step is over, its request is not. */
static void waits_for_a_creation_that_may_come_through_late(void **state)
{
    (void)state;
    make_driver();
    lose_the_post(false);
    driver->ops->begin(driver, KVMIG__STEP_ADMIT);
    run(0);
    driver->ops->withdraw(driver);
    begin(KVMIG__STEP_LOCATE);
    run(20000);
    assert_int_equal(session.answers, 0);
    assert_true(count("GET", VMIM) >= 10);
    come_through();
    run(2000);
    assert_true(world.vmim_deleting);
    assert_int_equal(session.answers, 0);
    migration_vanishes();
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
}

static void says_that_nothing_was_created_once_it_cannot_come_any_more(void **state)
{
    (void)state;
    make_driver();
    lose_the_post(false);
    driver->ops->begin(driver, KVMIG__STEP_ADMIT);
    run(0);
    driver->ops->withdraw(driver);
    begin(KVMIG__STEP_LOCATE);
    run(30000);
    assert_int_equal(session.answers, 0);
    run(15000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
}

static void takes_back_what_is_created_after_its_step_was_given_up(void **state)
{
    (void)state;
    make_driver();
    world.slow_post = true; /* the creation's answer is slow */
    driver->ops->begin(driver, KVMIG__STEP_ADMIT);
    run(0);
    assert_int_equal(count("POST", VMIM), 2);
    driver->ops->withdraw(driver);
    begin(KVMIG__STEP_LOCATE);
    world.slow_post = false;
    run(1000);
    assert_true(asked("DELETE", VMIM "/kvmig-session-1-"));
    assert_int_equal(session.answers, 0);
    migration_vanishes();
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
}

static void does_not_call_a_webhooks_refusal_a_missing_right(void **state)
{
    (void)state;
    fault("POST", VMIM, 403, "admission webhook \"w\" denied the request: not today", 9);
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, KVMIG_EBLOCKED, "not today");
}

/* ---- a guest that others move ---- */

static void starts_nothing_when_the_guest_has_moved_since_it_was_planned(void **state)
{
    (void)state;
    make_driver();
    world.node = "node-c";
    show();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, ESTALE, "runs on node-c now, not on node-a");
    assert_false(asked("POST", ""));
    begin(KVMIG__STEP_LOCATE);
    run(5000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, 0); /* no side of this plan has it */
}

static void gives_up_when_the_guest_is_moved_before_the_hand_off(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    phase("Pending");
    world.node = "node-c";
    show();
    run(300);
    expect_error(KVMIG__STEP_ADMIT, ESTALE, "runs on node-c now");
    driver->ops->withdraw(driver);
    begin(KVMIG__STEP_LOCATE);
    assert_true(world.vmim_deleting);
    migration_vanishes();
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, 0);
}

static void does_not_say_source_of_a_node_that_is_not_the_plans(void **state)
{
    (void)state;
    session.wishes.attach = (char *)"theirs";
    make_driver();
    world.node = "node-c"; /* before it was attached to */
    kubevirt_creates("theirs", "uid-x");
    begin(KVMIG__STEP_ADMIT);
    migration_fails(NULL);
    session.answers = 0;
    driver->ops->withdraw(driver);
    begin(KVMIG__STEP_LOCATE);
    run(5000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, 0);
}

/* ---- somebody else's ---- */

static void attach_to_one_that_is_pending(void)
{
    session.wishes.attach = (char *)"";
    make_driver();
    kubevirt_creates("theirs", "uid-x");
    begin(KVMIG__STEP_ADMIT);
    run(PENDING_MS + 100);
    expect_error(KVMIG__STEP_ADMIT, ETIMEDOUT, "did not leave Pending");
    driver->ops->withdraw(driver);
}

static void lets_somebody_elses_migration_go_on_without_it(void **state)
{
    (void)state;
    attach_to_one_that_is_pending();
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
    assert_true(session.resolution.decided);
    assert_true(has_notice("STILL_MIGRATING"));
    assert_false(asked("DELETE", ""));
}

static void takes_somebody_elses_migration_back_when_the_caller_cancels_at_last(void **state)
{
    (void)state;
    attach_to_one_that_is_pending();
    world.silent = true;
    begin(KVMIG__STEP_LOCATE);
    driver->ops->abort(driver);
    world.silent = false;
    run(1000);
    assert_int_equal(count("DELETE", VMIM), 1);
    assert_int_equal(session.answers, 0);
    migration_vanishes();
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
}

/* ---- what is left of a session that died ---- */

static void die(void)
{
    drop_driver();
    kvmig__report_free(session.report);
    session.report = kvmig__report_new();
    json_object_put(session.wishes.token);
    session.wishes.token = json_tokener_parse(session.token);
    session.answers = 0;
    session.targets[0] = world.log[0] = 0;
}

static void take_up(void)
{
    show();
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    run(5000);
}

static void go_through(void)
{
    static const enum kvmig__step steps[] = { KVMIG__STEP_SCHEDULE, KVMIG__STEP_PREPARE, KVMIG__STEP_MIGRATE,
                                              KVMIG__STEP_LOCATE, KVMIG__STEP_FINISH };

    expect_ok(KVMIG__STEP_ADMIT);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(steps); i++) {
        begin(steps[i]);
        expect_ok(steps[i]);
    }
    assert_int_equal(session.resolution.side, 1);
}

static void finishes_what_succeeded_meanwhile_and_is_gone(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    die();
    guest_moves();
    world.completed = true;
    world.phase = "Succeeded";
    world.vmim_there = false;
    take_up();
    assert_string_equal(session.targets, "node-b,");
    go_through();
}

/* A later migration has begun and ended: nothing on record tells how ours came to its end, but for where the guest is. */
static void finishes_what_succeeded_although_its_record_was_overwritten(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    die();
    world.node = "node-b";
    world.handed_off = world.vmim_there = false;
    kvmig__kube_remove(&world.store, KVMIG__KUBE_POD, "ns1", "launcher-b", NULL);
    world.pod = NULL;
    take_up();
    go_through();
}

static void rolls_back_what_failed_meanwhile_although_the_source_node_is_gone(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    die();
    assert_true(kvmig__kube_remove(&world.store, KVMIG__KUBE_NODE, NULL, "node-a", NULL));
    world.failed = world.completed = true;
    world.pod_phase = "Failed";
    world.phase = "Failed";
    take_up();
    assert_int_equal(session.step, KVMIG__STEP_ADMIT);
    assert_non_null(session.error);
    session.answers = 0;
    driver->ops->withdraw(driver);
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
}

static void cleans_up_after_a_vm_that_is_gone(void **state)
{
    (void)state;
    session.wishes.flags = KVMIG_SESSION_TEMPORARY_POLICY;
    make_driver();
    go_to_running();
    die();
    world.vmi_there = world.vmim_there = false;
    take_up();
    expect_error(KVMIG__STEP_ADMIT, KVMIG_ELOST, "the VM has ended");
    driver->ops->withdraw(driver);
    begin(KVMIG__STEP_LOCATE);
    run(5000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.verdict, KVMIG_LOCATION_VM_LOST);
    assert_null(world.policy);
}

static void cleans_up_what_was_prepared_for_a_migration_that_never_was(void **state)
{
    (void)state;
    session.wishes.flags = KVMIG_SESSION_TEMPORARY_POLICY;
    make_driver();
    lose_the_post(false);
    driver->ops->begin(driver, KVMIG__STEP_ADMIT);
    run(0);
    assert_non_null(world.policy);
    die();
    take_up();
    run(60000);
    expect_error(KVMIG__STEP_ADMIT, ECANCELED, "what it had prepared for it is removed");
    driver->ops->withdraw(driver);
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_null(world.policy);
    assert_string_equal(world.vmi_label, "");
    assert_string_equal(item("migration policy"), "undone");
}

static void does_not_take_a_strange_404_for_a_migration_that_is_gone(void **state)
{
    struct json_object *report = json_object_new_object();

    (void)state;
    make_driver();
    go_to_running();
    die();
    fault("GET", VMIM "/", 404, "the server could not find the requested resource", 3);
    take_up();
    expect_ok(KVMIG__STEP_ADMIT);
    driver->ops->report(driver, report);
    assert_non_null(strstr(json_object_to_json_string(report), "\"gone\": false")); /* it was there all the time */
    json_object_put(report);
    assert_false(asked("DELETE", ""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_where_the_guest_goes_although_it_was_cancelled),
        TEST(writes_the_target_into_the_token),
        TEST(does_not_take_a_strange_404_for_a_vm_that_is_gone),
        TEST(does_not_take_any_json_for_the_vm),
        TEST(takes_a_login_page_for_no_answer),
        TEST(takes_a_404_about_something_else_for_no_answer),
        TEST(takes_no_other_migration_of_its_name_for_its_own),
        TEST(waits_for_a_creation_that_may_come_through_late),
        TEST(says_that_nothing_was_created_once_it_cannot_come_any_more),
        TEST(takes_back_what_is_created_after_its_step_was_given_up),
        TEST(does_not_call_a_webhooks_refusal_a_missing_right),
        TEST(starts_nothing_when_the_guest_has_moved_since_it_was_planned),
        TEST(gives_up_when_the_guest_is_moved_before_the_hand_off),
        TEST(does_not_say_source_of_a_node_that_is_not_the_plans),
        TEST(lets_somebody_elses_migration_go_on_without_it),
        TEST(takes_somebody_elses_migration_back_when_the_caller_cancels_at_last),
        TEST(finishes_what_succeeded_meanwhile_and_is_gone),
        TEST(finishes_what_succeeded_although_its_record_was_overwritten),
        TEST(rolls_back_what_failed_meanwhile_although_the_source_node_is_gone),
        TEST(cleans_up_after_a_vm_that_is_gone),
        TEST(cleans_up_what_was_prepared_for_a_migration_that_never_was),
        TEST(does_not_take_a_strange_404_for_a_migration_that_is_gone),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
