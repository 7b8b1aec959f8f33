/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The KubeVirt session driver from the dry run to the end: what it asks the server, when each step is over, and what
 * it makes of refusals, lost answers, and migrations that fail, hang, change their target or vanish.
 */
#include "kube_driver_test.h"

#define CREATE "virtualmachineinstancemigrations"
#define DRY CREATE "?dryRun=All"

static void asks_first_then_creates(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    assert_int_equal(count("POST", DRY), 1);
    assert_int_equal(count("POST", CREATE), 2);
    assert_non_null(strstr(world.last_body, "\"name\":\"kvmig-session-1-"));
    assert_non_null(strstr(world.last_body, "\"vmiName\":\"vm1\""));
    assert_non_null(strstr(world.last_body, "\"kubernetes.io/hostname\":\"host-b\""));
    assert_non_null(strstr(world.last_body, "\"kvmig/session\":\"session-1-"));
    assert_null(strstr(world.last_body, "priority"));
    assert_string_equal(item("migration"), "");
    assert_int_equal(session.answers, 0);
}

static void pins_nothing_when_any_target_will_do(void **state)
{
    (void)state;
    session.plan.request.flags = KVMIG_PLAN_ANY_TARGET;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    assert_null(strstr(world.last_body, "addedNodeSelector"));
}

static void goes_all_the_way(void **state)
{
    struct json_object *report = json_object_new_object();

    (void)state;
    world.slices = true;
    make_driver();
    go_to_running();
    assert_string_equal(session.targets, "node-b,");
    guest_moves();
    assert_int_equal(session.answers, 0); /* the record follows */
    world.completed = true;
    phase("Succeeded");
    expect_ok(KVMIG__STEP_MIGRATE);
    assert_false(session.hung);
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, 1);
    begin(KVMIG__STEP_FINISH);
    assert_int_equal(session.answers, 0); /* the service has not followed yet */
    world.slices_moved = true;
    show();
    run(300);
    expect_ok(KVMIG__STEP_FINISH);
    assert_string_equal(item("migration"), "kept");
    assert_true(has_notice("POD_IP_CHANGED"));
    assert_false(has_notice("ENDPOINTS_NOT_MOVED"));
    driver->ops->report(driver, report);
    assert_non_null(strstr(json_object_to_json_string(report), "\"ip_after\": \"10.0.0.2\""));
    assert_non_null(strstr(json_object_to_json_string(report), "\"verdict\": \"SUCCEEDED\""));
    json_object_put(report);
}

static void reports_a_service_that_does_not_follow(void **state)
{
    (void)state;
    world.slices = true;
    make_driver();
    go_to_running();
    guest_moves();
    world.completed = true;
    phase("Succeeded");
    expect_ok(KVMIG__STEP_MIGRATE);
    begin(KVMIG__STEP_FINISH);
    run(STEP_MS);
    expect_ok(KVMIG__STEP_FINISH);
    assert_true(has_notice("ENDPOINTS_NOT_MOVED"));
}

static void does_not_wait_for_ever_for_the_record_of_a_guest_that_moved(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    guest_moves();
    run(STEP_MS + 1000);
    expect_ok(KVMIG__STEP_MIGRATE);
    begin(KVMIG__STEP_FINISH);
    run(STEP_MS + 1000);
    expect_ok(KVMIG__STEP_FINISH);
    assert_true(has_notice("RESIZE_NOT_APPLIED"));
}

static void takes_a_migration_that_ran_ahead_of_the_steps(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    world.handed_off = world.started = world.completed = true;
    world.pod = "launcher-b";
    world.pod_node = "node-b";
    world.pod_phase = "Running";
    show();
    run(300);
    world.phase = "Running";
    guest_moves();
    phase("Succeeded");
    expect_ok(KVMIG__STEP_ADMIT);
    begin(KVMIG__STEP_SCHEDULE);
    expect_ok(KVMIG__STEP_SCHEDULE);
    begin(KVMIG__STEP_PREPARE);
    expect_ok(KVMIG__STEP_PREPARE);
    begin(KVMIG__STEP_MIGRATE);
    expect_ok(KVMIG__STEP_MIGRATE);
}

/* ---- refusals ---- */

static void says_why_the_server_refuses_and_creates_nothing(void **state)
{
    (void)state;
    world.fault.method = "POST";
    world.fault.part = DRY;
    world.fault.status = 422;
    world.fault.message = "Cannot migrate VMI, Reason: DisksNotLiveMigratable, Message: not shared";
    world.fault.times = 9;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, KVMIG_EBLOCKED, "DisksNotLiveMigratable");
    assert_int_equal(count("POST", CREATE), 1);
    assert_null(item("migration"));
    driver->ops->withdraw(driver);
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
}

static void names_the_right_that_is_missing(void **state)
{
    (void)state;
    world.fault.method = "POST";
    world.fault.part = DRY;
    world.fault.status = 403;
    world.fault.message =
        "virtualmachineinstancemigrations.kubevirt.io is forbidden: User \"u\" cannot create resource";
    world.fault.times = 9;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, EPERM, "right to create");
    assert_non_null(strstr(session.error->hint, "kubevirt.io:migrate"));
}

static void names_the_migration_that_is_under_way(void **state)
{
    (void)state;
    world.foreign_vmim = true;
    show();
    world.fault.method = "POST";
    world.fault.part = DRY;
    world.fault.status = 400;
    world.fault.message = "in-flight migration detected. Active migration job (uid-theirs)";
    world.fault.times = 9;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, KVMIG_EBLOCKED, "ns1/theirs");
}

static void asks_again_while_the_server_is_in_trouble(void **state)
{
    (void)state;
    world.fault.method = "POST";
    world.fault.part = DRY;
    world.fault.status = 503;
    world.fault.message = "overloaded";
    world.fault.times = 3;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    run(10000);
    assert_int_equal(count("POST", DRY), 4);
    assert_true(world.vmim_there);
}

static void gives_up_on_a_silent_server(void **state)
{
    (void)state;
    world.silent = true;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    run(2 * STEP_MS);
    expect_error(KVMIG__STEP_ADMIT, ETIMEDOUT, "did not take the migration");
}

static void refuses_a_vm_that_was_started_anew(void **state)
{
    (void)state;
    session.plan.uuid = "vmi-0";
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, KVMIG_ENOVM, "started anew");
    assert_string_equal(world.log, "");
}

static void refuses_to_start_what_it_may_not_follow(void **state)
{
    (void)state;
    world.store.kinds[KVMIG__KUBE_VMIM].known = KVMIG__KUBE_FORBIDDEN;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, EPERM, "may not read virtualmachineinstancemigrations");
    assert_string_equal(world.log, "");
}

/* ---- lost answers ---- */

static void lose_the_post(bool applied)
{
    world.fault.method = "POST";
    world.fault.part = CREATE;
    world.fault.at_end = true; /* not the dry run */
    world.fault.status = 0;
    world.fault.applied = applied;
    world.fault.times = 1;
}

static void finds_what_it_created_when_the_answer_was_lost(void **state)
{
    (void)state;
    make_driver();
    lose_the_post(true);
    begin(KVMIG__STEP_ADMIT);
    run(10000);
    assert_int_equal(count("POST", CREATE) - count("POST", DRY), 1);
    assert_int_equal(count("GET", CREATE), 1);
    assert_string_equal(item("migration"), "");
    assert_non_null(strstr(session.token, "uid-mig1"));
}

static void repeats_a_post_only_after_it_was_not_found(void **state)
{
    (void)state;
    make_driver();
    lose_the_post(false);
    begin(KVMIG__STEP_ADMIT);
    run(10000);
    assert_int_equal(count("POST", CREATE) - count("POST", DRY), 2);
    assert_true(count("GET", CREATE) >= 2);
    assert_true(world.vmim_there);
}

/* It was lost on the way, looked for in vain, and comes through when it is being sent again. */
static void takes_its_own_migration_for_no_other(void **state)
{
    (void)state;
    make_driver();
    lose_the_post(false);
    world.late_post = true;
    begin(KVMIG__STEP_ADMIT);
    run(10000);
    assert_int_equal(count("POST", CREATE) - count("POST", DRY), 2);
    assert_non_null(strstr(session.token, "uid-mig1"));
    assert_int_equal(session.answers, 0);
}

static void writes_a_checkpoint_before_it_creates(void **state)
{
    (void)state;
    make_driver();
    lose_the_post(false);
    world.silent = true;
    begin(KVMIG__STEP_ADMIT);
    assert_null(session.token); /* the dry run has no effect */
    world.silent = false;
    run(0);
    assert_int_equal(session.checkpoints, 1);
    assert_null(strstr(session.token, "uid-mig1"));
    assert_non_null(strstr(session.token, "\"backend\":\"kubevirt\""));
    assert_non_null(strstr(session.token, "\"vmi_uid\":\"vmi-1\""));
}

/* ---- what may happen to a migration ---- */

static void prepares_ports_for_each_target_while_pending(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    phase("Pending");
    assert_string_equal(session.targets, "");
    target_pod("launcher-b", NULL, "Pending");
    assert_string_equal(session.targets, "");
    target_pod("launcher-b", "node-b", "Pending");
    assert_string_equal(session.targets, "node-b,");
    target_pod("launcher-c", "node-c", "Pending"); /* the first one was deleted, as for hotplugged volumes */
    assert_non_null(strstr(session.targets, "node-c,"));
    assert_int_equal(session.answers, 0);
}

static void bounds_pending_and_names_the_blocker(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    phase("Pending");
    run(PENDING_MS + 1000);
    expect_error(KVMIG__STEP_ADMIT, ETIMEDOUT, "did not leave Pending within pending_timeout_ms");
    driver->ops->withdraw(driver);
    begin(KVMIG__STEP_LOCATE);
    assert_int_equal(count("DELETE", CREATE), 1);
    assert_int_equal(session.answers, 0); /* it was deleted, and is not gone yet */
    migration_vanishes();
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_string_equal(item("migration"), "undone");
    assert_int_equal(session.final_source, KVMIG__STATE_RUNNING);
}

static void bounds_the_preparation(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    phase("Scheduling");
    expect_ok(KVMIG__STEP_ADMIT);
    begin(KVMIG__STEP_SCHEDULE);
    phase("Scheduled");
    expect_ok(KVMIG__STEP_SCHEDULE);
    begin(KVMIG__STEP_PREPARE);
    run(PREPARE_MS);
    expect_error(KVMIG__STEP_PREPARE, ETIMEDOUT, "was not prepared within prepare_timeout_ms");
}

static void bounds_the_wait_for_the_copy(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    target_pod("launcher-b", "node-b", "Running");
    phase("Scheduled");
    expect_ok(KVMIG__STEP_ADMIT);
    begin(KVMIG__STEP_SCHEDULE);
    expect_ok(KVMIG__STEP_SCHEDULE);
    hand_off();
    phase("TargetReady");
    begin(KVMIG__STEP_PREPARE);
    expect_ok(KVMIG__STEP_PREPARE);
    begin(KVMIG__STEP_MIGRATE);
    run(PREPARE_MS);
    expect_error(KVMIG__STEP_MIGRATE, ETIMEDOUT, "the copy did not begin within prepare_timeout_ms");
    assert_true(session.hung);
    begin(KVMIG__STEP_LOCATE);
    assert_true(world.vmim_deleting);
}

static void waits_for_the_vmi_to_show_what_the_record_says(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    world.ready = true;
    phase("Succeeded");
    migration_vanishes(); /* and its record is removed */
    assert_int_equal(session.answers, 0);
    world.pod = "launcher-b";
    world.completed = true;
    guest_moves();
    expect_ok(KVMIG__STEP_MIGRATE);
}

static void tells_how_a_migration_failed(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    migration_fails("virError(Code=9): guest CPU doesn't match specification: missing features: avx512f");
    expect_error(KVMIG__STEP_MIGRATE, KVMIG_EMIGRATE, "lacks CPU features");
    assert_non_null(strstr(session.error->evidence, "avx512f"));
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_string_equal(item("migration"), "kept"); /* the record of a failure */
    assert_false(asked("DELETE", CREATE));
}

static void tells_that_a_migration_vanished(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    phase("Scheduling");
    expect_ok(KVMIG__STEP_ADMIT);
    begin(KVMIG__STEP_SCHEDULE);
    target_pod("launcher-b", "node-b", "Running");
    migration_vanishes();
    expect_error(KVMIG__STEP_SCHEDULE, ECANCELED, "last seen in Scheduling");
}

static void believes_a_moved_guest_more_than_a_failed_record(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    guest_moves();
    phase("Failed");
    run(5000);
    expect_ok(KVMIG__STEP_MIGRATE);
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, 1);
}

static void reads_the_vmi_itself_before_it_says_where_the_guest_is(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    world.completed = true;
    world.ready = true;
    world.phase = "Failed"; /* the store has seen the migration's end, but not yet that the guest moved */
    world.pod_phase = "Running";
    show();
    world.node = "node-b";
    run(5000);
    session.answers = 0;
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, 1);
}

static void decides_nothing_without_an_answer(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    migration_fails("virError(Code=1)");
    session.answers = 0;
    world.silent = true;
    begin(KVMIG__STEP_LOCATE);
    run(119000);
    assert_int_equal(session.answers, 0);
    run(2000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_false(session.resolution.decided);
}

static void tells_that_the_vm_is_lost(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    world.vmi_there = false;
    migration_vanishes();
    expect_error(KVMIG__STEP_MIGRATE, KVMIG_ELOST, "VM has ended");
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.verdict, KVMIG_LOCATION_VM_LOST);
}

static void tells_the_mode(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    world.mode = "PostCopy";
    show();
    run(300);
    assert_int_equal(session.mode, KVMIG_MODE_POST_COPY);
}

static void says_what_it_waits_for(void **state)
{
    (void)state;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    show();
    phase("Pending");
    target_pod("launcher-b", NULL, "Pending");
    run(2000);
    assert_true(session.waits.n > 0);
    assert_true(session.waits.n < 6); /* once each, not at every look */
}

static void cannot_be_tuned(void **state)
{
    (void)state;
    make_driver();
    go_to_running();
    driver->ops->tune(driver, KVMIG__TUNE_BANDWIDTH, 10);
    assert_true(has_notice("TUNING_FAILED"));
}

static void a_step_that_was_given_up_answers_no_more(void **state)
{
    (void)state;
    world.silent = true;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    begin(KVMIG__STEP_LOCATE);
    world.silent = false;
    run(5000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_false(world.vmim_there);
}

static void looks_for_a_migration_whose_creation_was_given_up(void **state)
{
    (void)state;
    make_driver();
    lose_the_post(true);
    driver->ops->begin(driver, KVMIG__STEP_ADMIT);
    run(0);
    begin(KVMIG__STEP_LOCATE);
    run(3000);
    assert_int_equal(session.answers, 0);
    assert_true(asked("DELETE", CREATE));
    migration_vanishes();
    expect_ok(KVMIG__STEP_LOCATE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(asks_first_then_creates),
        TEST(pins_nothing_when_any_target_will_do),
        TEST(goes_all_the_way),
        TEST(reports_a_service_that_does_not_follow),
        TEST(does_not_wait_for_ever_for_the_record_of_a_guest_that_moved),
        TEST(takes_a_migration_that_ran_ahead_of_the_steps),
        TEST(says_why_the_server_refuses_and_creates_nothing),
        TEST(names_the_right_that_is_missing),
        TEST(names_the_migration_that_is_under_way),
        TEST(asks_again_while_the_server_is_in_trouble),
        TEST(gives_up_on_a_silent_server),
        TEST(refuses_a_vm_that_was_started_anew),
        TEST(refuses_to_start_what_it_may_not_follow),
        TEST(finds_what_it_created_when_the_answer_was_lost),
        TEST(repeats_a_post_only_after_it_was_not_found),
        TEST(takes_its_own_migration_for_no_other),
        TEST(writes_a_checkpoint_before_it_creates),
        TEST(prepares_ports_for_each_target_while_pending),
        TEST(bounds_pending_and_names_the_blocker),
        TEST(bounds_the_preparation),
        TEST(bounds_the_wait_for_the_copy),
        TEST(waits_for_the_vmi_to_show_what_the_record_says),
        TEST(tells_how_a_migration_failed),
        TEST(tells_that_a_migration_vanished),
        TEST(believes_a_moved_guest_more_than_a_failed_record),
        TEST(reads_the_vmi_itself_before_it_says_where_the_guest_is),
        TEST(decides_nothing_without_an_answer),
        TEST(tells_that_the_vm_is_lost),
        TEST(tells_the_mode),
        TEST(says_what_it_waits_for),
        TEST(cannot_be_tuned),
        TEST(a_step_that_was_given_up_answers_no_more),
        TEST(looks_for_a_migration_whose_creation_was_given_up),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
