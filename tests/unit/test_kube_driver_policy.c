/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The temporary policy of a session: what it says, that it goes on every way out, and what of other sessions it leaves
 * alone.
 */
#include "kube_driver_test.h"

#define VMIM "virtualmachineinstancemigrations"
#define POLICY "migrationpolicies"

static void with_policy(void)
{
    session.wishes.flags = KVMIG_SESSION_TEMPORARY_POLICY;
    session.plan.request.bandwidth_mib = 50;
    session.plan.request.flags = KVMIG_PLAN_AUTO_CONVERGE;
    make_driver();
}

/* Of the last checkpoint. Owned. */
static char *policy_name(void)
{
    struct json_object *token = json_tokener_parse(session.token);
    char *name =
        kvmig__strdup(json_object_get_string(json_object_object_get(json_object_object_get(token, "policy"), "name")));

    json_object_put(token);
    return name;
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
    assert_non_null(strstr(text, "\"name\":\"kvmig-vmi-1-session-1-"));
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
    char *name;

    (void)state;
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    name = policy_name();
    world.policy_used = name;
    go_on_to_running();
    migration_fails("virError(Code=1)");
    session.answers = 0;
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    expect_policy_gone();
    assert_false(has_notice("POLICY_NOT_APPLIED"));
    free(name);
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

/* Another session of this VM, or of one of that name, has labelled it. */
static void labelled_by(const char *mark, int64_t until_s)
{
    snprintf(world.vmi_label, sizeof(world.vmi_label), "%s", mark);
    if (until_s)
        snprintf(world.vmi_label_until, sizeof(world.vmi_label_until), "%lld", (long long)until_s);
    world.other_policy = json_tokener_parse("{\"kind\":\"MigrationPolicy\",\"metadata\":{\"name\":"
                                            "\"kvmig-vmi-1-session-9-x\",\"uid\":\"old\",\"annotations\":{"
                                            "\"kvmig/session\":\"session-9-x\"}}}");
    show();
}

static void replaces_what_a_dead_session_left(void **state)
{
    (void)state;
    labelled_by("session-9-x", kvmig__wall_ms() / 1000 - 1);
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    assert_null(world.other_policy);
    assert_non_null(world.policy);
    assert_true(kvmig__str_starts(world.vmi_label, "session-1-"));
    assert_true(strtoll(world.vmi_label_until, NULL, 10) > kvmig__wall_ms() / 1000);
    assert_true(world.vmim_there);
}

static void expect_busy(void)
{
    expect_error(KVMIG__STEP_ADMIT, EBUSY, "session-9-x");
    assert_false(world.vmim_there);
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_string_equal(world.vmi_label, "session-9-x");
    assert_false(asked("DELETE", POLICY));
}

static void leaves_what_a_live_session_uses(void **state)
{
    (void)state;
    labelled_by("session-9-x", kvmig__wall_ms() / 1000 + 10);
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    expect_busy();
    assert_non_null(world.other_policy);
    assert_false(asked("PATCH", ""));
}

static void leaves_a_label_that_does_not_tell_how_long_it_is_needed(void **state)
{
    (void)state;
    labelled_by("session-9-x", 0);
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    expect_busy();
}

static void does_not_overwrite_a_label_that_came_first(void **state)
{
    (void)state;
    world.labelled_meanwhile = "session-9-x";
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    expect_busy();
    assert_string_equal(item("VM label"), "undone");
}

static void goes_on_when_the_answer_to_the_label_is_lost(void **state)
{
    (void)state;
    world.fault.method = "PATCH";
    world.fault.part = "virtualmachineinstances/vm1";
    world.fault.applied = true;
    world.fault.times = 1;
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    run(1000);
    assert_true(world.vmim_there);
    assert_string_equal(item("VM label"), "");
}

static void leaves_the_label_of_another_session(void **state)
{
    (void)state;
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    snprintf(world.vmi_label, sizeof(world.vmi_label), "session-9-x");
    migration_fails(NULL);
    session.answers = 0;
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_string_equal(world.vmi_label, "session-9-x");
    assert_string_equal(item("VM label"), "undone");
    assert_null(world.policy);
}

static void leaves_a_label_that_changes_hands_just_before(void **state)
{
    (void)state;
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    world.labelled_meanwhile = "session-9-x";
    migration_fails(NULL);
    session.answers = 0;
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_string_equal(world.vmi_label, "session-9-x");
}

static void leaves_a_policy_that_nobody_of_us_made(void **state)
{
    char *name;

    (void)state;
    world.fault.method = "POST";
    world.fault.part = POLICY;
    world.fault.status = 503;
    world.fault.message = "overloaded";
    world.fault.times = 1;
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    name = policy_name();
    world.other_policy = json_tokener_parse("{\"kind\":\"MigrationPolicy\",\"metadata\":{\"uid\":\"theirs\"}}");
    json_object_object_add(json_object_object_get(world.other_policy, "metadata"), "name",
                           json_object_new_string(name));
    run(1000);
    expect_error(KVMIG__STEP_ADMIT, EEXIST, "is there already");
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_non_null(world.other_policy);
    assert_string_equal(world.vmi_label, "");
    free(name);
}

static void leaves_no_trace_of_a_label_that_was_refused(void **state)
{
    (void)state;
    world.fault.method = "PATCH";
    world.fault.part = "virtualmachineinstances/vm1";
    world.fault.status = 403;
    world.fault.message = "cannot patch resource";
    world.fault.times = 99;
    with_policy();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, EPERM, "right to patch virtualmachineinstances");
    assert_string_equal(item("VM label"), "undone");
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
}

/* The server is in trouble for longer than LOCATE has for it. */
static void tries_again_after_an_outage(const char *method, const char *part, int32_t status)
{
    with_policy();
    go_to_running();
    migration_fails("virError(Code=1)");
    session.answers = 0;
    world.fault.method = method;
    world.fault.part = part;
    world.fault.status = status;
    world.fault.message = status == 503 ? "overloaded" : NULL;
    world.fault.times = 1000000;
    begin(KVMIG__STEP_LOCATE);
    run(60000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
    assert_non_null(strstr(session.token, "\"policy\""));
    world.fault.times = 0;
    begin(KVMIG__STEP_UNDO);
    run(1000);
    expect_ok(KVMIG__STEP_UNDO);
    expect_policy_gone();
    assert_null(strstr(session.token, "\"policy\""));
}

static void removes_the_label_after_an_outage(void **state)
{
    (void)state;
    tries_again_after_an_outage("PATCH", "virtualmachineinstances/vm1", 503);
}

static void removes_the_policy_after_an_outage(void **state)
{
    (void)state;
    tries_again_after_an_outage("DELETE", POLICY, 503);
}

static void takes_no_404_of_a_proxy_for_the_removal(void **state)
{
    (void)state;
    tries_again_after_an_outage("GET", POLICY, 404);
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
        TEST(makes_a_policy_for_this_vm_alone),
        TEST(removes_the_policy_after_success),
        TEST(removes_the_policy_after_a_failure),
        TEST(removes_the_policy_when_the_creation_is_refused),
        TEST(removes_the_policy_when_it_stays_open_where_the_guest_is),
        TEST(removes_the_policy_after_a_resume),
        TEST(replaces_what_a_dead_session_left),
        TEST(leaves_what_a_live_session_uses),
        TEST(leaves_a_label_that_does_not_tell_how_long_it_is_needed),
        TEST(does_not_overwrite_a_label_that_came_first),
        TEST(goes_on_when_the_answer_to_the_label_is_lost),
        TEST(leaves_the_label_of_another_session),
        TEST(leaves_a_label_that_changes_hands_just_before),
        TEST(leaves_a_policy_that_nobody_of_us_made),
        TEST(leaves_no_trace_of_a_label_that_was_refused),
        TEST(removes_the_label_after_an_outage),
        TEST(removes_the_policy_after_an_outage),
        TEST(takes_no_404_of_a_proxy_for_the_removal),
        TEST(starts_nothing_without_the_right_to_make_policies),
        TEST(names_a_policy_that_stays),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
