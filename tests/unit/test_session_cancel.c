/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cancelling: at every phase, in every race, and what the caller is told. A cancel in the callback of a phase is heard before the
 * next step begins.
 */
#include "session_test.h"

static void cancel_at(struct fixture *f, int32_t phase)
{
    f->caller.cancel_at = phase;
    new_session(f, KVMIG_PLAN_ALLOW_POSTCOPY, 0);
    run_to_end(f);
    assert_int_equal(f->caller.cancel_rc, 0);
    assert_int_equal(fake_count(&f->caller, "cancel "), 1);
}

/* The call goes on until it is aborted; the guest then is where it was. */
static void call_can_be_aborted(struct fixture *f)
{
    f->world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    f->world.abort = FAKE_ABORT_ENDS_CALL;
    f->world.sides_after[0] = f->world.sides[0];
    f->world.sides_after[1] = f->world.sides[1];
}

static void in_pending_at_once(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    cancel_at(&f, KVMIG_PHASE_PENDING);
    assert_heard_all(&f.caller, "phase Pending, cancel accepted, phase Cancelled, end Cancelled");
    assert_int_equal(f.caller.end_error, 0);
    assert_string_equal(f.world.log, "");
    close_fixture(&f);
}

static void in_scheduling_after_the_step(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    cancel_at(&f, KVMIG_PHASE_SCHEDULING);
    assert_heard_all(&f.caller, "phase Pending, phase Scheduling, cancel accepted, phase RollingBack, phase Cancelled, "
                                "end Cancelled");
    assert_string_equal(f.world.log, "schedule locate");
    close_fixture(&f);
}

static void in_scheduled_before_anything_is_created(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    cancel_at(&f, KVMIG_PHASE_SCHEDULED);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    assert_string_equal(f.world.log, "schedule locate");
    close_fixture(&f);
}

static void in_preparing_what_was_created_is_undone(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.creates_volume = true;
    cancel_at(&f, KVMIG_PHASE_PREPARING_TARGET);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    assert_string_equal(f.world.log, "schedule prepare locate undo");
    close_fixture(&f);
}

static void in_preparing_although_the_step_fails(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_PREPARE] = FAKE_FAIL;
    cancel_at(&f, KVMIG_PHASE_PREPARING_TARGET);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    assert_int_equal(f.caller.end_error, 0);
    close_fixture(&f);
}

static void in_target_ready_before_the_call(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    cancel_at(&f, KVMIG_PHASE_TARGET_READY);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    assert_false(fake_heard(&f.caller, "phase Running"));
    assert_null(strstr(f.world.log, "migrate"));
    close_fixture(&f);
}

static void in_running_the_call_is_aborted_and_undone(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_can_be_aborted(&f);
    cancel_at(&f, KVMIG_PHASE_RUNNING);
    assert_heard_all(
        &f.caller, "phase Pending, phase Scheduling, phase Scheduled, phase PreparingTarget, phase TargetReady, phase "
                   "Running, phase RollingBack, cancel accepted, phase Cancelled, end Cancelled");
    assert_int_equal(f.world.n_aborts, 1);
    assert_string_equal(f.world.log, "schedule prepare migrate locate undo");
    close_fixture(&f);
}

static void in_running_it_is_told_that_somebody_will_ask_again(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.cancel_effect = KVMIG_CANCEL_WILL_RETURN;
    call_can_be_aborted(&f);
    cancel_at(&f, KVMIG_PHASE_RUNNING);
    assert_true(fake_heard(&f.caller, "cancel will-return"));
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    close_fixture(&f);
}

static void in_running_nothing_is_deferred(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.cancel_effect = KVMIG_CANCEL_DEFERRED;
    call_can_be_aborted(&f);
    cancel_at(&f, KVMIG_PHASE_RUNNING);
    assert_true(fake_heard(&f.caller, "cancel accepted"));
    close_fixture(&f);
}

static void in_running_the_call_wins_the_race(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    f.world.abort = FAKE_ABORT_LOSES;
    cancel_at(&f, KVMIG_PHASE_RUNNING);
    assert_true(fake_heard(&f.caller, "cancel too-late"));
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    close_fixture(&f);
}

static void in_running_the_call_fails_but_the_guest_has_moved(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    cancel_at(&f, KVMIG_PHASE_RUNNING);
    assert_true(fake_heard(&f.caller, "cancel too-late"));
    assert_true(fake_heard(&f.caller, "notice SUCCEEDED_UNREPORTED"));
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_int_equal(f.caller.end_error, 0);
    close_fixture(&f);
}

static void in_running_a_host_falls_silent(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_can_be_aborted(&f);
    f.world.sides_after[1].reachable = false;
    cancel_at(&f, KVMIG_PHASE_RUNNING);
    assert_true(fake_heard(&f.caller, "cancel unknown"));
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_int_equal(f.caller.end_error, -KVMIG_EUNKNOWN);
    assert_non_null(strstr(f.caller.end_message, "host-1"));
    assert_string_equal(f.world.log, "schedule prepare migrate locate");
    close_fixture(&f);
}

static int32_t cancel_was_answered(void *caller)
{
    return fake_count(caller, "cancel ") > 0;
}

static void in_postcopy_it_is_refused_and_goes_on(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    f.world.abort = FAKE_ABORT_REFUSED;
    f.caller.cancel_at = KVMIG_PHASE_RUNNING;
    new_session(&f, KVMIG_PLAN_ALLOW_POSTCOPY, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, cancel_was_answered, &f.caller);
    assert_true(fake_heard(&f.caller, "cancel refused"));
    assert_int_equal(kvmig_session_phase(f.session), KVMIG_PHASE_RUNNING);
    fake_answer_call(&f.world, NULL, false);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    close_fixture(&f);
}

static void in_finalizing_it_is_too_late(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    cancel_at(&f, KVMIG_PHASE_FINALIZING);
    assert_true(fake_heard(&f.caller, "cancel too-late"));
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    close_fixture(&f);
}

static void after_a_failure_it_is_accepted_and_the_cause_stays(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
    f.world.sides_after[0] = f.world.sides[0];
    f.world.sides_after[1] = f.world.sides[1];
    cancel_at(&f, KVMIG_PHASE_ROLLING_BACK);
    assert_true(fake_heard(&f.caller, "cancel accepted"));
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -KVMIG_EVIRT);
    close_fixture(&f);
}

static void repeated_requests_get_one_answer_while_one_is_pending(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_can_be_aborted(&f);
    f.world.abort = FAKE_ABORT_NEVER;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, session_runs, &f.caller);
    for (int i = 0; i < 5; i++)
        assert_int_equal(kvmig_session_cancel(f.session), 0);
    assert_int_equal(f.world.n_aborts, 1);
    fake_answer_call(&f.world, kvmig__error_new(KVMIG_EVIRT, NULL, NULL, NULL, "aborted"), false);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(fake_count(&f.caller, "cancel "), 1);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    close_fixture(&f);
}

static void abort_that_is_never_answered_ends_by_asking_the_hosts(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_can_be_aborted(&f);
    f.world.abort = FAKE_ABORT_NEVER;
    f.opts.abort_timeout_ms = 10;
    cancel_at(&f, KVMIG_PHASE_RUNNING);
    /* The fake hosts still say what they said before the call returned: the guest is on the source. */
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    assert_true(fake_heard(&f.caller, "cancel accepted"));
    assert_string_equal(f.world.log, "schedule prepare migrate locate undo");
    close_fixture(&f);
}

static void while_a_timed_out_call_is_aborted(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_can_be_aborted(&f);
    f.world.abort = FAKE_ABORT_NEVER;
    f.opts.migrate_timeout_ms = 10;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    while (f.world.n_aborts == 0)
        fake_drain(&f.world);
    assert_int_equal(kvmig_session_cancel(f.session), 0);
    assert_int_equal(f.world.n_aborts, 2);
    fake_answer_call(&f.world, kvmig__error_new(KVMIG_EVIRT, NULL, NULL, NULL, "aborted"), false);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    assert_int_equal(f.caller.end_error, 0);
    close_fixture(&f);
}

static void rollback_that_is_incomplete_is_told_with_the_leftover(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_can_be_aborted(&f);
    f.world.creates_volume = true;
    f.world.steps[KVMIG__STEP_UNDO] = FAKE_FAIL;
    cancel_at(&f, KVMIG_PHASE_RUNNING);
    assert_true(fake_heard(&f.caller, "notice ROLLBACK_INCOMPLETE"));
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    assert_int_equal(f.caller.end_error, -KVMIG_EVIRT);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_pending_at_once),
        cmocka_unit_test(in_scheduling_after_the_step),
        cmocka_unit_test(in_scheduled_before_anything_is_created),
        cmocka_unit_test(in_preparing_what_was_created_is_undone),
        cmocka_unit_test(in_preparing_although_the_step_fails),
        cmocka_unit_test(in_target_ready_before_the_call),
        cmocka_unit_test(in_running_the_call_is_aborted_and_undone),
        cmocka_unit_test(in_running_it_is_told_that_somebody_will_ask_again),
        cmocka_unit_test(in_running_nothing_is_deferred),
        cmocka_unit_test(in_running_the_call_wins_the_race),
        cmocka_unit_test(in_running_the_call_fails_but_the_guest_has_moved),
        cmocka_unit_test(in_running_a_host_falls_silent),
        cmocka_unit_test(in_postcopy_it_is_refused_and_goes_on),
        cmocka_unit_test(in_finalizing_it_is_too_late),
        cmocka_unit_test(after_a_failure_it_is_accepted_and_the_cause_stays),
        cmocka_unit_test(repeated_requests_get_one_answer_while_one_is_pending),
        cmocka_unit_test(abort_that_is_never_answered_ends_by_asking_the_hosts),
        cmocka_unit_test(while_a_timed_out_call_is_aborted),
        cmocka_unit_test(rollback_that_is_incomplete_is_told_with_the_leftover),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
