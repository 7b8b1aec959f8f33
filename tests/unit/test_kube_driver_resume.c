/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Following what is there already: attaching to somebody else's migration, taking a session up from its token.
 */
#include "kube_driver_test.h"

#define VMIM "virtualmachineinstancemigrations"

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
    run(30000);
    assert_int_equal(session.answers, 0); /* its request may still come through */
    run(20000);
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

/* ---- the token ---- */

static void sends_nothing_before_its_token_is_heard(void **state)
{
    (void)state;
    make_driver();
    session.deaf = true;
    begin(KVMIG__STEP_ADMIT);
    assert_int_equal(session.checkpoints, 1);
    assert_true(asked("POST", "dryRun"));
    assert_int_equal(count("POST", VMIM), 1); /* the dry run alone */
    assert_false(world.vmim_there);
    session.deaf = false;
    run(100);
    assert_true(world.vmim_there);
}

static void sends_nothing_that_was_given_up_before_its_token_was_heard(void **state)
{
    (void)state;
    make_driver();
    session.deaf = true;
    begin(KVMIG__STEP_ADMIT);
    drop_driver();
    session.deaf = false;
    run(1000);
    assert_false(world.vmim_there);
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
        TEST(sends_nothing_before_its_token_is_heard),
        TEST(sends_nothing_that_was_given_up_before_its_token_was_heard),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
