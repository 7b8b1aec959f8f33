/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The libvirt session driver before the migrate call, and after one that failed: what it proves, creates and undoes, in
 * which order, and what it leaves alone.
 */
#include "driver_test.h"

#include <limits.h>

/* A call that fails and leaves the two sides in these states. */
static void failed_call(struct kvmig_session *s, int a_state, int a_reason, int b_state, int b_reason)
{
    fake_lock();
    fake.call = FAKE_FAILS;
    fake_unlock();
    run_step(s, KVMIG__STEP_MIGRATE);
    assert_non_null(s->error);
    set_vm(FAKE_A, a_state, a_reason);
    set_vm(FAKE_B, b_state, b_reason);
}

static int32_t hangs(void *session)
{
    (void)session;
    return fake_is_hung();
}

/* ---- SCHEDULE ---- */

static void a_free_target_and_a_running_source_pass(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    pass_step(&s, KVMIG__STEP_SCHEDULE);
    assert_log("");
    close_driver(&s);
}

static void refused(void (*prepare_world)(void), const char *part)
{
    struct kvmig_session s;
    open_driver(&s, 5000, 1000);
    prepare_world();
    run_step(&s, KVMIG__STEP_SCHEDULE);
    assert_error(&s, part);
    run_step(&s, KVMIG__STEP_UNDO);
    assert_null(s.error);
    assert_log("");
    close_driver(&s);
}

static void target_has_it(void)
{
    set_vm(FAKE_B, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION);
}

static void target_has_the_name(void)
{
    fake.hosts[FAKE_B].name_taken = true;
}

static void source_is_off(void)
{
    set_vm(FAKE_A, VIR_DOMAIN_SHUTOFF, 0);
}

static void source_has_an_io_error(void)
{
    set_vm(FAKE_A, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_IOERROR);
}

static void source_is_busy(void)
{
    fake.hosts[FAKE_A].vm.job = FAKE_OUT;
}

static void source_has_it_not(void)
{
    fake.hosts[FAKE_A].vm.there = false;
}

static void target_is_down(void)
{
    fake.hosts[FAKE_B].down = true;
}

static void what_must_not_start_is_refused_and_nothing_is_touched(void **state)
{
    (void)state;
    refused(target_has_it, "already has an active domain with UUID");
    refused(target_has_the_name, "already has another domain named vm");
    refused(source_is_off, "it is shutoff");
    refused(source_has_an_io_error, "it is paused");
    refused(source_is_busy, "busy with another job");
    refused(source_has_it_not, "there is no domain with UUID");
    refused(target_is_down, "virConnectOpenAuth failed");
}

static void a_host_that_hangs_ends_the_step_in_time(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 100, 1000);
    fake.hosts[FAKE_B].hang_in = "version";
    run_step(&s, KVMIG__STEP_SCHEDULE);
    assert_error(&s, "host b did not answer in time");
    close_driver(&s);
}

static void a_stopped_definition_on_the_target_is_allowed_and_said(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    set_vm(FAKE_B, VIR_DOMAIN_SHUTOFF, 0);
    fake.hosts[FAKE_B].vm.persistent = true;
    pass_step(&s, KVMIG__STEP_SCHEDULE);
    assert_true(kvmig__findings_has(&s.notices, "TARGET_DEFINITION_REPLACED"));
    close_driver(&s);
}

/* ---- PREPARE ---- */

static void volumes_get_the_exact_size_and_are_in_the_ledger(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    plan_new_volume(&s, "vdb", "two.img");
    prepare(&s);
    assert_log("b create one.img; b create two.img; ");
    assert_int_equal(s.report->created.n, 2);
    assert_string_equal(s.report->created.v[0].name, "/p/one.img");
    assert_string_equal(outcome_of(&s, "volume", "b"), "(open)");
    close_driver(&s);
}

static void an_existing_volume_is_an_error_and_survives_the_undoing(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    plan_new_volume(&s, "vdb", "two.img");
    kvmig__strlist_add(&fake.hosts[FAKE_B].volumes, "two.img");
    pass_step(&s, KVMIG__STEP_SCHEDULE);
    run_step(&s, KVMIG__STEP_PREPARE);
    assert_error(&s, "volume two.img already exists in pool p on host b");
    pass_step(&s, KVMIG__STEP_UNDO);
    assert_log("b create one.img; b delete one.img; ");
    assert_string_equal(outcome_of(&s, "volume", "b"), "undone");
    close_driver(&s);
}

static void a_pool_in_which_others_build_is_waited_for(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    fake.hosts[FAKE_B].pool_busy = 2;
    pass_step(&s, KVMIG__STEP_SCHEDULE);
    pass_step(&s, KVMIG__STEP_PREPARE);
    assert_int_equal(fake.hosts[FAKE_B].pool_busy, 0);
    fake.hosts[FAKE_B].pool_busy = 2;
    pass_step(&s, KVMIG__STEP_UNDO);
    assert_log("b create one.img; b delete one.img; ");
    close_driver(&s);
}

static void a_pool_that_stays_busy_ends_with_the_step(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 200, 1000);
    plan_new_volume(&s, "vda", "one.img");
    fake.hosts[FAKE_B].pool_busy = INT_MAX;
    pass_step(&s, KVMIG__STEP_SCHEDULE);
    run_step(&s, KVMIG__STEP_PREPARE);
    assert_error(&s, "host b did not answer in time");
    close_driver(&s);
    assert_log("");
}

static void a_volume_is_not_created_after_the_step_was_given_up(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 200, 1000);
    plan_new_volume(&s, "vda", "one.img");
    pass_step(&s, KVMIG__STEP_SCHEDULE);
    fake.hosts[FAKE_B].hang_in = "refresh";
    run_step(&s, KVMIG__STEP_PREPARE);
    assert_error(&s, "host b did not answer in time");
    assert_false(in_ledger(&s, "volume", "b"));
    close_driver(&s); /* lets the lost thread go on */
    assert_log("");
}

static void a_creation_without_an_answer_stays_in_the_ledger_as_unknown(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 200, 1000);
    plan_new_volume(&s, "vda", "one.img");
    pass_step(&s, KVMIG__STEP_SCHEDULE);
    fake.hosts[FAKE_B].hang_in = "create";
    run_step(&s, KVMIG__STEP_PREPARE);
    assert_string_equal(outcome_of(&s, "volume", "b"), "(open)");
    run_step(&s, KVMIG__STEP_UNDO);
    assert_error(&s, "it is not known whether volume one.img was created");
    assert_non_null(strstr(outcome_of(&s, "volume", "b"), "failed: it is not known"));
    close_driver(&s);
}

static void a_creation_whose_answer_was_lost_stays_in_the_ledger_as_unknown(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    pass_step(&s, KVMIG__STEP_SCHEDULE);
    set_failing(FAKE_B, "create");
    fake.hosts[FAKE_B].fail_text = "End of file while reading data: Input/output error";
    run_step(&s, KVMIG__STEP_PREPARE);
    run_step(&s, KVMIG__STEP_UNDO);
    assert_error(&s, "it is not known whether volume one.img was created");
    close_driver(&s);
}

static void a_creation_that_fails_leaves_nothing_in_the_ledger(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    pass_step(&s, KVMIG__STEP_SCHEDULE);
    set_failing(FAKE_B, "create");
    run_step(&s, KVMIG__STEP_PREPARE);
    assert_error(&s, "virStorageVolCreateXML failed");
    assert_false(in_ledger(&s, "volume", "b"));
    pass_step(&s, KVMIG__STEP_UNDO);
    close_driver(&s);
}

static int32_t volume_is_there(void *session)
{
    (void)session;
    fake_lock();
    bool there = fake.hosts[FAKE_B].volumes.n > 0;
    fake_unlock();
    return there;
}

static void a_creation_that_answers_late_is_undone(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 1000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    pass_step(&s, KVMIG__STEP_SCHEDULE);
    fake.hosts[FAKE_B].hang_in = "create";
    begin(&s, KVMIG__STEP_PREPARE);
    await(&s, hangs);
    begin(&s, KVMIG__STEP_LOCATE); /* the session gave the step up */
    await(&s, has_answer);
    assert_string_equal(outcome_of(&s, "volume", "b"), "(open)");
    fake_release(FAKE_B);
    await(&s, volume_is_there);
    run_step(&s, KVMIG__STEP_UNDO);
    assert_log("b create one.img; b delete one.img; ");
    close_driver(&s);
}

/* ---- UNDO ---- */

static void the_targets_copy_goes_first_then_the_source_resumes_then_volumes_go(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION);
    pass_step(&s, KVMIG__STEP_UNDO);
    assert_log("b create one.img; a migrate; b destroy; a resume; b delete one.img; ");
    assert_string_equal(outcome_of(&s, "domain", "b"), "undone");
    assert_string_equal(outcome_of(&s, "volume", "b"), "undone");
    assert_true(kvmig__findings_has(&s.notices, "SOURCE_RESUMED"));
    assert_int_equal(s.final_sides, 1);
    assert_int_equal(s.final_source_state, KVMIG__STATE_RUNNING);
    assert_int_equal(s.final_target_state, KVMIG__STATE_ABSENT);
    close_driver(&s);
}

static void a_source_that_a_user_paused_is_not_resumed(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    set_vm(FAKE_A, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER);
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION, VIR_DOMAIN_SHUTOFF, 0);
    pass_step(&s, KVMIG__STEP_UNDO);
    assert_log("a migrate; ");
    close_driver(&s);
}

static void a_copy_that_cannot_be_destroyed_keeps_the_source_paused_and_the_volumes(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 300, 1000);
    plan_new_volume(&s, "vda", "one.img");
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION);
    set_failing(FAKE_B, "destroy");
    run_step(&s, KVMIG__STEP_UNDO);
    assert_error(&s, "not proven to run on the source as before");
    assert_int_equal(s.error->code, -KVMIG_EUNKNOWN);
    assert_non_null(strstr(s.error->evidence, "virDomainDestroyFlags failed"));
    assert_log("b create one.img; a migrate; ");
    assert_non_null(strstr(outcome_of(&s, "volume", "b"), "failed: "));
    close_driver(&s);
}

static void a_target_that_runs_is_not_destroyed(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION, VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_MIGRATED);
    run_step(&s, KVMIG__STEP_UNDO);
    assert_int_equal(s.error->code, -KVMIG_EUNKNOWN);
    assert_non_null(strstr(s.error->evidence, "the copy on the target runs"));
    assert_log("a migrate; ");
    close_driver(&s);
}

static void nothing_is_removed_when_the_source_no_longer_holds_the_guest(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_SHUTOFF, 0, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION);
    run_step(&s, KVMIG__STEP_UNDO);
    assert_int_equal(s.error->code, -KVMIG_EUNKNOWN);
    assert_non_null(strstr(s.error->evidence, "not seen to hold the guest"));
    assert_int_equal(s.final_source_state, KVMIG__STATE_SHUTOFF);
    assert_log("b create one.img; a migrate; ");
    close_driver(&s);
}

static void a_definition_that_the_migration_made_is_removed(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    s.plan->request.handover = KVMIG_HANDOVER_STRICT; /* so that a complete copy is paused as by a user */
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_RUNNING, 0, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER);
    fake.hosts[FAKE_B].vm.persistent = true;
    pass_step(&s, KVMIG__STEP_UNDO);
    assert_log("a migrate; b destroy; b undefine; ");
    assert_string_equal(outcome_of(&s, "definition", "b"), "undone");
    close_driver(&s);
}

static void a_definition_that_was_there_before_comes_back(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    set_vm(FAKE_B, VIR_DOMAIN_SHUTOFF, 0);
    fake.hosts[FAKE_B].vm.persistent = true;
    fake.hosts[FAKE_B].vm.definition = "<old/>";
    s.plan->request.handover = KVMIG_HANDOVER_STRICT;
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_RUNNING, 0, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER);
    fake.hosts[FAKE_B].vm.definition = "<new/>";
    pass_step(&s, KVMIG__STEP_UNDO);
    assert_log("a migrate; b destroy; b define <old/>; ");
    close_driver(&s);
}

static void an_unchanged_definition_is_left_alone(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    set_vm(FAKE_B, VIR_DOMAIN_SHUTOFF, 0);
    fake.hosts[FAKE_B].vm.persistent = true;
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_RUNNING, 0, VIR_DOMAIN_SHUTOFF, 0);
    pass_step(&s, KVMIG__STEP_UNDO);
    assert_log("a migrate; ");
    close_driver(&s);
}

static void without_a_call_a_domain_on_the_target_is_not_ours(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    prepare(&s);
    set_vm(FAKE_B, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION);
    pass_step(&s, KVMIG__STEP_UNDO);
    assert_log("");
    close_driver(&s);
}

static void a_domain_on_the_target_that_does_not_look_like_our_copy_is_left_alone(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_RUNNING, 0, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER);
    run_step(&s, KVMIG__STEP_UNDO);
    assert_error(&s, "not seen to be a copy that this migration made");
    assert_int_not_equal(s.error->code, -KVMIG_EUNKNOWN); /* the source runs: it is a leftover */
    assert_log("a migrate; ");
    close_driver(&s);
}

static void a_domain_that_made_the_call_fail_is_not_ours(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    prepare(&s);
    fake.call_code = VIR_ERR_DOM_EXIST;
    failed_call(&s, VIR_DOMAIN_RUNNING, 0, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION);
    run_step(&s, KVMIG__STEP_UNDO);
    assert_error(&s, "not seen to be a copy that this migration made");
    assert_log("a migrate; ");
    close_driver(&s);
}

static void a_definition_that_nothing_of_ours_can_have_made_is_left_alone(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_RUNNING, 0, VIR_DOMAIN_SHUTOFF, 0); /* before the memory was begun with */
    fake.hosts[FAKE_B].vm.persistent = true;
    run_step(&s, KVMIG__STEP_UNDO);
    assert_error(&s, "not seen to come from it");
    assert_log("b create one.img; a migrate; b delete one.img; ");
    close_driver(&s);
}

static void a_source_that_cannot_be_resumed_is_an_unknown_end(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION, VIR_DOMAIN_SHUTOFF, 0);
    set_failing(FAKE_A, "resume");
    run_step(&s, KVMIG__STEP_UNDO);
    assert_error(&s, "not proven to run on the source as before");
    assert_int_equal(s.error->code, -KVMIG_EUNKNOWN);
    assert_int_equal(s.final_source_state, KVMIG__STATE_PAUSED);
    close_driver(&s);
}

static void a_volume_that_hangs_takes_no_time_from_the_source(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 800, 1000);
    plan_new_volume(&s, "vda", "one.img");
    plan_new_volume(&s, "vdb", "two.img");
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION, VIR_DOMAIN_SHUTOFF, 0);
    fake_lock();
    fake.hosts[FAKE_B].hang_in = "delete";
    fake_unlock();
    run_step(&s, KVMIG__STEP_UNDO);
    assert_non_null(s.error);
    assert_int_not_equal(s.error->code, -KVMIG_EUNKNOWN); /* volumes are leftovers: the source was seen to run */
    assert_int_equal(s.final_source_state, KVMIG__STATE_RUNNING);
    assert_log("b create one.img; b create two.img; a migrate; a resume; ");
    close_driver(&s);
}

static int32_t downtime_is_set(void *session)
{
    (void)session;
    fake_lock();
    bool set = fake.hosts[FAKE_A].max_downtime == 50;
    fake_unlock();
    return set;
}

static void a_limit_that_was_set_too_late_is_set_back(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 100);
    s.plan->request.max_downtime_ms = 50;
    prepare(&s);
    fake.hosts[FAKE_A].hang_in = "set downtime";
    begin(&s, KVMIG__STEP_MIGRATE);
    await(&s, hangs);
    abort_call(&s);
    await(&s, has_answer);
    fake_release(FAKE_A);
    await(&s, downtime_is_set);
    pass_step(&s, KVMIG__STEP_UNDO);
    assert_int_equal(fake.hosts[FAKE_A].max_downtime, 300);
    close_driver(&s);
}

static void limits_that_were_changed_are_set_back(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    s.plan->request.max_downtime_ms = 50;
    s.plan->request.bandwidth_mib = 10;
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_RUNNING, 0, VIR_DOMAIN_SHUTOFF, 0);
    assert_int_equal(fake.hosts[FAKE_A].max_downtime, 50);
    fake.hosts[FAKE_A].max_speed = 10; /* libvirt keeps the parameter of the call */
    pass_step(&s, KVMIG__STEP_UNDO);
    assert_int_equal(fake.hosts[FAKE_A].max_downtime, 300);
    assert_int_equal(fake.hosts[FAKE_A].max_speed, 1000);
    close_driver(&s);
}

static void a_destroy_that_was_given_up_does_not_happen_later(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 200, 1000);
    prepare(&s);
    failed_call(&s, VIR_DOMAIN_RUNNING, 0, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION);
    fake_lock();
    fake.hosts[FAKE_B].hang_in = "state";
    fake_unlock();
    run_step(&s, KVMIG__STEP_UNDO);
    assert_error(&s, "host b did not answer in time");
    close_driver(&s); /* lets the lost thread go on */
    assert_log("a migrate; ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_target_and_a_running_source_pass),
        cmocka_unit_test(what_must_not_start_is_refused_and_nothing_is_touched),
        cmocka_unit_test(a_host_that_hangs_ends_the_step_in_time),
        cmocka_unit_test(a_stopped_definition_on_the_target_is_allowed_and_said),
        cmocka_unit_test(volumes_get_the_exact_size_and_are_in_the_ledger),
        cmocka_unit_test(an_existing_volume_is_an_error_and_survives_the_undoing),
        cmocka_unit_test(a_pool_in_which_others_build_is_waited_for),
        cmocka_unit_test(a_pool_that_stays_busy_ends_with_the_step),
        cmocka_unit_test(a_volume_is_not_created_after_the_step_was_given_up),
        cmocka_unit_test(a_creation_without_an_answer_stays_in_the_ledger_as_unknown),
        cmocka_unit_test(a_creation_whose_answer_was_lost_stays_in_the_ledger_as_unknown),
        cmocka_unit_test(a_creation_that_fails_leaves_nothing_in_the_ledger),
        cmocka_unit_test(a_creation_that_answers_late_is_undone),
        cmocka_unit_test(the_targets_copy_goes_first_then_the_source_resumes_then_volumes_go),
        cmocka_unit_test(a_source_that_a_user_paused_is_not_resumed),
        cmocka_unit_test(a_copy_that_cannot_be_destroyed_keeps_the_source_paused_and_the_volumes),
        cmocka_unit_test(a_target_that_runs_is_not_destroyed),
        cmocka_unit_test(nothing_is_removed_when_the_source_no_longer_holds_the_guest),
        cmocka_unit_test(a_definition_that_the_migration_made_is_removed),
        cmocka_unit_test(a_definition_that_was_there_before_comes_back),
        cmocka_unit_test(an_unchanged_definition_is_left_alone),
        cmocka_unit_test(without_a_call_a_domain_on_the_target_is_not_ours),
        cmocka_unit_test(a_domain_on_the_target_that_does_not_look_like_our_copy_is_left_alone),
        cmocka_unit_test(a_domain_that_made_the_call_fail_is_not_ours),
        cmocka_unit_test(a_definition_that_nothing_of_ours_can_have_made_is_left_alone),
        cmocka_unit_test(a_source_that_cannot_be_resumed_is_an_unknown_end),
        cmocka_unit_test(a_volume_that_hangs_takes_no_time_from_the_source),
        cmocka_unit_test(a_limit_that_was_set_too_late_is_set_back),
        cmocka_unit_test(limits_that_were_changed_are_set_back),
        cmocka_unit_test(a_destroy_that_was_given_up_does_not_happen_later),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
