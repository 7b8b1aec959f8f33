/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Following what is there already: attaching to somebody else's migration, taking a session up from its token, and
 * the temporary policy, which has to go on every way out.
 */
#include "kube_driver_test.h"

#define VMIM "virtualmachineinstancemigrations"
#define POLICY "migrationpolicies"

/* ---- attach ---- */

static void follows_a_migration_by_name(void **state)
{
    (void)state;
    session.wishes.attach = (char *)"ns1/theirs";
    make_driver();
    kubevirt_creates("theirs", "uid-x");
    begin(KVMIG__STEP_ADMIT);
    phase("Scheduling");
    expect_ok(KVMIG__STEP_ADMIT);
    assert_false(asked("POST", ""));
    assert_null(item("migration")); /* not ours */
    assert_non_null(strstr(session.token, "\"attached\":true"));
}

static void follows_whichever_runs(void **state)
{
    (void)state;
    session.wishes.attach = (char *)"";
    make_driver();
    kubevirt_creates("theirs", "uid-x");
    phase("WaitingForSync");
    begin(KVMIG__STEP_ADMIT);
    assert_int_equal(session.answers, 0);
    phase("Scheduling");
    expect_ok(KVMIG__STEP_ADMIT);
}

static void says_when_there_is_none_to_follow(void **state)
{
    (void)state;
    session.wishes.attach = (char *)"";
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, ENOENT, "no migration to follow");
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
}

/* ---- resume ---- */

/* The process dies: another driver, another session, the same cluster. */
static void die_and_resume(void)
{
    struct json_object *token = json_tokener_parse(session.token);

    drop_driver();
    kvmig__report_free(session.report);
    session.report = kvmig__report_new();
    json_object_put(session.wishes.token);
    session.wishes.token = token;
    session.answers = 0;
    world.log[0] = 0;
    show();
    make_driver();
    begin(KVMIG__STEP_ADMIT);
}

static void takes_up_a_migration(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    phase("Scheduling");
    expect_ok(KVMIG__STEP_ADMIT);
    die_and_resume();
    expect_ok(KVMIG__STEP_ADMIT);
    assert_false(asked("POST", ""));
    assert_string_equal(item("migration"), ""); /* its own again */
    begin(KVMIG__STEP_SCHEDULE);
    session.cancelling = true;
    driver->ops->withdraw(driver);
    run(300);
    assert_true(world.vmim_deleting);
}

static void finds_a_migration_that_the_token_does_not_name_yet(void **state)
{
    (void)state;
    make_driver();
    world.fault.method = "POST";
    world.fault.part = VMIM;
    world.fault.at_end = true;
    world.fault.applied = true;
    world.fault.times = 1;
    begin(KVMIG__STEP_ADMIT);
    phase("Scheduling");
    free(session.token);
    session.token = session.first_token; /* it died before it heard of its migration */
    session.first_token = NULL;
    assert_null(strstr(session.token, "uid-mig1"));
    die_and_resume();
    expect_ok(KVMIG__STEP_ADMIT);
    assert_string_equal(item("migration"), "");
}

static void starts_nothing_when_nothing_was_created(void **state)
{
    (void)state;
    make_driver();
    world.fault.method = "POST";
    world.fault.part = VMIM;
    world.fault.at_end = true;
    world.fault.times = 1;
    driver->ops->begin(driver, KVMIG__STEP_ADMIT);
    run(0);
    die_and_resume();
    run(1000);
    expect_error(KVMIG__STEP_ADMIT, ENOENT, "before it had created its migration");
    assert_false(asked("POST", ""));
}

static void finds_that_the_guest_moved_meanwhile(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    drop_driver();
    guest_moves();
    world.completed = true;
    phase("Succeeded");
    world.vmim_there = false;
    die_and_resume();
    expect_ok(KVMIG__STEP_ADMIT);
    begin(KVMIG__STEP_SCHEDULE);
    expect_ok(KVMIG__STEP_SCHEDULE);
    begin(KVMIG__STEP_PREPARE);
    expect_ok(KVMIG__STEP_PREPARE);
    begin(KVMIG__STEP_MIGRATE);
    expect_ok(KVMIG__STEP_MIGRATE);
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, 1);
}

static void finds_that_the_migration_failed_meanwhile(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    world.failed = world.completed = true;
    world.failure_reason = "guest CPU doesn't match specification: missing features: ssse3";
    world.vmim_there = false;
    die_and_resume();
    run(5000);
    expect_error(KVMIG__STEP_ADMIT, KVMIG_EMIGRATE, "lacks CPU features");
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
}

static void refuses_a_token_of_another_vm(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    session.plan.vm = (char *)"ns1/other";
    die_and_resume();
    expect_error(KVMIG__STEP_ADMIT, EINVAL, "about another VM");
}

static void survives_tokens_that_make_no_sense(void **state)
{
    static const char *const tokens[] = {
        "{}",
        "{\"vm\":\"ns1/vm1\",\"vmi_uid\":\"vmi-1\"}",
        "{\"vm\":\"ns1/vm1\",\"vmi_uid\":\"vmi-1\",\"migration\":[]}",
        "{\"vm\":\"ns1/vm1\",\"vmi_uid\":\"vmi-1\",\"migration\":{\"session\":\"s\",\"name\":\"n\"}}",
        "{\"vm\":\"ns1/vm1\",\"vmi_uid\":\"vmi-1\",\"migration\":{\"session\":\"s\"},\"volumes\":[{}]}",
        "{\"vm\":7,\"vmi_uid\":{}}",
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(tokens); i++) {
        json_object_put(session.wishes.token);
        session.wishes.token = json_tokener_parse(tokens[i]);
        make_driver();
        begin(KVMIG__STEP_ADMIT);
        expect_error(KVMIG__STEP_ADMIT, EINVAL, "the token");
        drop_driver();
    }
}

/* ---- the temporary policy ---- */

static void with_policy(void)
{
    session.wishes.flags = KVMIG_SESSION_TEMPORARY_POLICY;
    session.plan.request.bandwidth_mib = 50;
    session.plan.request.flags = KVMIG_PLAN_AUTO_CONVERGE;
    make_driver();
}

static void expect_policy_gone(void)
{
    assert_null(world.policy);
    assert_string_equal(world.vmi_label, "");
    assert_string_equal(item("migration policy"), "undone");
    assert_string_equal(item("VM label"), "undone");
}

static void makes_a_policy_for_this_vm_alone(void **state)
{
    const char *text;

    (void)state;
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    assert_non_null(world.policy);
    text = json_object_to_json_string_ext(world.policy, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    assert_non_null(strstr(text, "\"name\":\"kvmig-vmi-1\""));
    assert_non_null(strstr(text, "\"bandwidthPerMigration\":\"50Mi\""));
    assert_non_null(strstr(text, "\"allowAutoConverge\":true"));
    assert_non_null(strstr(text, "\"allowPostCopy\":false"));
    assert_non_null(strstr(text, "\"kvmig/session\":\"session-1-"));
    assert_non_null(strstr(text, "\"app\":\"shop\""));
    assert_null(strstr(text, "kubevirt.io/nodeName"));
    assert_true(kvmig__str_starts(world.vmi_label, "session-1-"));
    assert_true(strstr(world.log, POLICY) < strstr(world.log, "POST /apis/kubevirt.io/v1/namespaces/ns1/" VMIM "\n"));
}

static void removes_the_policy_after_success(void **state)
{
    (void)state;
    with_policy();
    go_to_running();
    guest_moves();
    world.completed = true;
    phase("Succeeded");
    expect_ok(KVMIG__STEP_MIGRATE);
    begin(KVMIG__STEP_FINISH);
    expect_ok(KVMIG__STEP_FINISH);
    expect_policy_gone();
    assert_true(has_notice("POLICY_NOT_APPLIED")); /* KubeVirt did not say that it used it */
}

static void removes_the_policy_after_a_failure(void **state)
{
    (void)state;
    with_policy();
    world.policy_used = "kvmig-vmi-1";
    go_to_running();
    migration_fails("virError(Code=1)");
    session.answers = 0;
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    expect_policy_gone();
    assert_false(has_notice("POLICY_NOT_APPLIED"));
}

static void removes_the_policy_when_the_creation_is_refused(void **state)
{
    (void)state;
    world.fault.method = "POST";
    world.fault.part = VMIM;
    world.fault.at_end = true;
    world.fault.status = 422;
    world.fault.message = "denied";
    world.fault.times = 9;
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, KVMIG_EBLOCKED, "denied");
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    expect_policy_gone();
}

static void removes_the_policy_when_it_stays_open_where_the_guest_is(void **state)
{
    (void)state;
    with_policy();
    go_to_running();
    session.cancelling = true;
    driver->ops->abort(driver);
    run(40000);
    session.answers = 0;
    begin(KVMIG__STEP_LOCATE);
    run(1000000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_false(session.resolution.decided);
    expect_policy_gone(); /* such a session ends here */
}

static void removes_the_policy_after_a_resume(void **state)
{
    (void)state;
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    show();
    phase("Scheduling");
    session.answers = 0;
    die_and_resume();
    expect_ok(KVMIG__STEP_ADMIT);
    migration_fails(NULL);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    expect_policy_gone();
}

static void replaces_a_policy_that_a_dead_session_left(void **state)
{
    (void)state;
    world.policy =
        json_tokener_parse("{\"metadata\":{\"name\":\"kvmig-vmi-1\",\"uid\":\"old\",\"annotations\":{\"kvmig/session\":"
                           "\"session-9-dead\"}}}");
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    assert_int_equal(count("DELETE", POLICY), 1);
    assert_non_null(strstr(json_object_to_json_string(world.policy), "uid-pol"));
    assert_true(world.vmim_there);
}

static void leaves_a_policy_that_nobody_of_us_made(void **state)
{
    (void)state;
    world.policy = json_tokener_parse("{\"metadata\":{\"name\":\"kvmig-vmi-1\",\"uid\":\"theirs\"}}");
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, EEXIST, "is there already");
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_non_null(world.policy);
    assert_string_equal(world.vmi_label, "");
}

static void starts_nothing_without_the_right_to_make_policies(void **state)
{
    (void)state;
    world.fault.method = "POST";
    world.fault.part = POLICY;
    world.fault.status = 403;
    world.fault.message = "cannot create resource \"migrationpolicies\"";
    world.fault.times = 9;
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, EPERM, "right to create migrationpolicies");
    assert_false(world.vmim_there);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_string_equal(world.vmi_label, "");
}

static void names_a_policy_that_stays(void **state)
{
    (void)state;
    with_policy();
    go_to_running();
    migration_fails("virError(Code=1)");
    session.answers = 0;
    world.fault.method = "DELETE";
    world.fault.part = POLICY;
    world.fault.status = 403;
    world.fault.message = "cannot delete resource";
    world.fault.times = 99;
    begin(KVMIG__STEP_UNDO);
    run(1000);
    expect_error(KVMIG__STEP_UNDO, EPERM, "remove the temporary migration policy");
    assert_non_null(strstr(item("migration policy"), "failed:"));
    assert_string_equal(item("VM label"), "undone"); /* so it selects nothing any more */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(follows_a_migration_by_name),
        TEST(follows_whichever_runs),
        TEST(says_when_there_is_none_to_follow),
        TEST(takes_up_a_migration),
        TEST(finds_a_migration_that_the_token_does_not_name_yet),
        TEST(starts_nothing_when_nothing_was_created),
        TEST(finds_that_the_guest_moved_meanwhile),
        TEST(finds_that_the_migration_failed_meanwhile),
        TEST(refuses_a_token_of_another_vm),
        TEST(survives_tokens_that_make_no_sense),
        TEST(makes_a_policy_for_this_vm_alone),
        TEST(removes_the_policy_after_success),
        TEST(removes_the_policy_after_a_failure),
        TEST(removes_the_policy_when_the_creation_is_refused),
        TEST(removes_the_policy_when_it_stays_open_where_the_guest_is),
        TEST(removes_the_policy_after_a_resume),
        TEST(replaces_a_policy_that_a_dead_session_left),
        TEST(leaves_a_policy_that_nobody_of_us_made),
        TEST(starts_nothing_without_the_right_to_make_policies),
        TEST(names_a_policy_that_stays),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
