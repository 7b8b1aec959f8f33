/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The libvirt session driver after a migrate call that moved the guest: taking over, strict hand-over, cleaning the source.
 */
#include "driver_test.h"

/* ---- FINISH ---- */

static void moved(struct kvmig_session *s)
{
    prepare(s);
    pass_step(s, KVMIG__STEP_MIGRATE);
    pass_step(s, KVMIG__STEP_LOCATE);
    assert_int_equal(s->resolution.side, 1);
}

static void the_source_is_undefined_after_the_target_is_proven(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    moved(&s);
    pass_step(&s, KVMIG__STEP_FINISH);
    assert_log("b create one.img; a migrate; a undefine; ");
    assert_string_equal(outcome_of(&s, "volume", "b"), "kept");
    assert_string_equal(outcome_of(&s, "disk", "a"), "left on source");
    assert_string_equal(outcome_of(&s, "definition", "a"), "removed");
    assert_string_equal(outcome_of(&s, "definition", "b"), "kept");
    assert_int_equal(s.report->pause_source_ms, 42);
    assert_string_equal(s.report->domain_job, "peer2peer");
    assert_string_equal(s.report->flags, "LIVE|PEER2PEER|PERSIST_DEST|NON_SHARED_DISK");
    close_driver(&s);
}

static void the_source_keeps_the_only_definition(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    s.plan->request.flags = KVMIG_PLAN_TRANSIENT_TARGET;
    moved(&s);
    pass_step(&s, KVMIG__STEP_FINISH);
    assert_log("a migrate; ");
    assert_string_equal(outcome_of(&s, "definition", "a"), "left on source: the target has none");
    close_driver(&s);
}

static void the_source_keeps_its_definition_on_request(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    s.plan->request.flags = KVMIG_PLAN_KEEP_SOURCE_DEFINITION;
    moved(&s);
    pass_step(&s, KVMIG__STEP_FINISH);
    assert_log("a migrate; ");
    assert_string_equal(outcome_of(&s, "definition", "a"), "left on source: asked for");
    close_driver(&s);
}

static void a_target_that_libvirt_could_not_define_is_defined(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    moved(&s);
    fake.hosts[FAKE_B].vm.persistent = false;
    pass_step(&s, KVMIG__STEP_FINISH);
    assert_log("a migrate; b define <domain/>; a undefine; ");
    close_driver(&s);
}

static void a_target_that_cannot_be_defined_leaves_the_source_its_definition(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    moved(&s);
    fake.hosts[FAKE_B].vm.persistent = false;
    set_failing(FAKE_B, "define");
    run_step(&s, KVMIG__STEP_FINISH);
    assert_error(&s, "virDomainDefineXML failed");
    assert_log("a migrate; ");
    close_driver(&s);
}

static void a_dead_copy_on_the_source_is_destroyed_once_the_target_runs(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    moved(&s);
    set_vm(FAKE_A, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION);
    pass_step(&s, KVMIG__STEP_FINISH);
    assert_log("a migrate; a destroy; a undefine; ");
    close_driver(&s);
}

static void a_source_that_runs_is_never_destroyed_nor_undefined(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    moved(&s);
    set_vm(FAKE_A, VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_BOOTED);
    run_step(&s, KVMIG__STEP_FINISH);
    assert_error(&s, "not proven to have stopped");
    assert_log("a migrate; ");
    close_driver(&s);
}

/* ---- strict hand-over ---- */

static void strictly_moved(struct kvmig_session *s)
{
    s->plan->request.handover = KVMIG_HANDOVER_STRICT;
    moved(s);
    assert_true(fake.flags & VIR_MIGRATE_PAUSED);
    assert_int_equal(s->resolution.verdict, KVMIG_LOCATION_TARGET_PAUSED);
}

static void the_target_is_resumed_when_the_source_is_gone(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    strictly_moved(&s);
    pass_step(&s, KVMIG__STEP_FINISH);
    assert_log("a migrate; b resume; a undefine; ");
    assert_int_equal(s.proofs, 1);
    assert_true(s.source_seen_stopped);
    assert_true(s.report->handover_wait_ms != KVMIG__UNKNOWN);
    close_driver(&s);
}

static void a_paused_source_is_destroyed_before_the_target_is_resumed(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    strictly_moved(&s);
    set_vm(FAKE_A, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_MIGRATION);
    pass_step(&s, KVMIG__STEP_FINISH);
    assert_log("a migrate; a destroy; b resume; a undefine; ");
    close_driver(&s);
}

static void the_target_is_not_resumed_while_the_source_runs(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 100, 1000);
    strictly_moved(&s);
    set_vm(FAKE_A, VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_BOOTED);
    run_step(&s, KVMIG__STEP_FINISH);
    assert_error(&s, "not proven to have stopped");
    assert_int_equal(s.error->code, -KVMIG_EUNKNOWN);
    assert_true(s.report->handover_wait_ms == KVMIG__UNKNOWN);
    assert_log("a migrate; ");
    close_driver(&s);
}

static void a_silent_source_does_not_hold_up_a_call_that_succeeded(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 300, 1000);
    strictly_moved(&s);
    fake_lock();
    fake.hosts[FAKE_A].down = true;
    fake_unlock();
    run_step(&s, KVMIG__STEP_FINISH);
    assert_non_null(s.error); /* the source could not be cleaned */
    assert_true(s.report->handover_wait_ms != KVMIG__UNKNOWN);
    assert_log("a migrate; b resume; ");
    assert_int_equal(s.proofs, 1);
    assert_false(s.source_seen_stopped);
    close_driver(&s);
}

static void a_call_that_succeeded_is_not_doubted_because_the_source_falls_silent(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 3600000, 1000); /* an hour to find out: nobody waits for it */
    strictly_moved(&s);
    fake_lock();
    fake.hosts[FAKE_A].down = true;
    fake_unlock();
    run_step(&s, KVMIG__STEP_LOCATE);
    assert_false(s.resolution.decided); /* the session judges by what the call proved */
    close_driver(&s);
}

static void a_target_that_cannot_be_resumed_is_an_unknown_end_and_keeps_everything(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    strictly_moved(&s);
    set_failing(FAKE_B, "resume");
    run_step(&s, KVMIG__STEP_FINISH);
    assert_error(&s, "not proven to run there");
    assert_int_equal(s.error->code, -KVMIG_EUNKNOWN);
    assert_log("a migrate; ");
    close_driver(&s);
}

static void a_target_that_an_io_error_paused_is_not_verified(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    moved(&s);
    set_vm(FAKE_B, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_IOERROR);
    run_step(&s, KVMIG__STEP_FINISH);
    assert_int_equal(s.error->code, -KVMIG_EUNKNOWN);
    assert_log("a migrate; "); /* the source keeps its definition */
    close_driver(&s);
}

static void a_target_that_does_not_answer_is_not_verified(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 300, 1000);
    moved(&s);
    fake_lock();
    fake.hosts[FAKE_B].hang_in = "state";
    fake_unlock();
    run_step(&s, KVMIG__STEP_FINISH);
    assert_int_equal(s.error->code, -KVMIG_EUNKNOWN);
    assert_string_equal(s.error->where, "b");
    assert_log("a migrate; ");
    close_driver(&s);
}

static int32_t sees_a_pause(void *session)
{
    return ((struct kvmig_session *)session)->mode == KVMIG_MODE_PAUSED;
}

static void a_guest_that_a_user_paused_meanwhile_is_not_resumed_by_a_strict_handover(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    s.plan->request.handover = KVMIG_HANDOVER_STRICT;
    prepare(&s);
    fake.call = FAKE_WAITS;
    begin(&s, KVMIG__STEP_MIGRATE);
    set_vm(FAKE_A, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER);
    await(&s, sees_a_pause);
    fake_release_call();
    await(&s, has_answer);
    pass_step(&s, KVMIG__STEP_LOCATE);
    pass_step(&s, KVMIG__STEP_FINISH);
    assert_log("a migrate; a undefine; ");
    assert_true(kvmig__findings_has(&s.notices, "TARGET_LEFT_PAUSED"));
    close_driver(&s);
}

static void a_guest_that_a_user_paused_stays_paused(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    set_vm(FAKE_A, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER);
    s.plan->request.handover = KVMIG_HANDOVER_STRICT;
    prepare(&s);
    pass_step(&s, KVMIG__STEP_MIGRATE);
    assert_false(fake.flags & VIR_MIGRATE_PAUSED);
    set_vm(FAKE_B, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER);
    pass_step(&s, KVMIG__STEP_FINISH);
    assert_log("a migrate; a undefine; ");
    close_driver(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_source_is_undefined_after_the_target_is_proven),
        cmocka_unit_test(the_source_keeps_the_only_definition),
        cmocka_unit_test(the_source_keeps_its_definition_on_request),
        cmocka_unit_test(a_target_that_libvirt_could_not_define_is_defined),
        cmocka_unit_test(a_target_that_cannot_be_defined_leaves_the_source_its_definition),
        cmocka_unit_test(a_dead_copy_on_the_source_is_destroyed_once_the_target_runs),
        cmocka_unit_test(a_source_that_runs_is_never_destroyed_nor_undefined),
        cmocka_unit_test(the_target_is_resumed_when_the_source_is_gone),
        cmocka_unit_test(a_paused_source_is_destroyed_before_the_target_is_resumed),
        cmocka_unit_test(the_target_is_not_resumed_while_the_source_runs),
        cmocka_unit_test(a_silent_source_does_not_hold_up_a_call_that_succeeded),
        cmocka_unit_test(a_call_that_succeeded_is_not_doubted_because_the_source_falls_silent),
        cmocka_unit_test(a_target_that_cannot_be_resumed_is_an_unknown_end_and_keeps_everything),
        cmocka_unit_test(a_target_that_an_io_error_paused_is_not_verified),
        cmocka_unit_test(a_target_that_does_not_answer_is_not_verified),
        cmocka_unit_test(a_guest_that_a_user_paused_meanwhile_is_not_resumed_by_a_strict_handover),
        cmocka_unit_test(a_guest_that_a_user_paused_stays_paused),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
