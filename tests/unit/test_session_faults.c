/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sessions that do not go well: steps and calls that fail, hang or lie, hosts that fall silent, drivers that never answer. What
 * the session does then, and what it must never do.
 */
#include "session_test.h"

#include <errno.h>

static void guest_stays(struct fixture *f)
{
    f->world.sides_after[0] = f->world.sides[0];
    f->world.sides_after[1] = f->world.sides[1];
}

static void run_with(struct fixture *f, int32_t handover)
{
    new_session(f, 0, handover);
    run_to_end(f);
}

/* ---- before the call ---- */

static void hosts_cannot_be_prepared_and_the_guest_is_proven_in_place(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_SCHEDULE] = FAKE_FAIL;
    run_with(&f, 0);
    assert_heard_all(&f.caller, "phase Pending, phase Scheduling, phase RollingBack, phase Failed, end Failed");
    assert_int_equal(f.caller.end_error, -KVMIG_EVIRT);
    assert_string_equal(f.world.log, "schedule locate");
    close_fixture(&f);
}

static void volume_cannot_be_created_and_those_before_are_undone(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.creates_volume = true;
    f.world.steps[KVMIG__STEP_PREPARE] = FAKE_FAIL;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_string_equal(f.world.log, "schedule prepare locate undo");
    close_fixture(&f);
}

static void target_that_is_down_before_the_call_is_a_failure_not_a_riddle(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_SCHEDULE] = FAKE_FAIL;
    f.world.sides[1].reachable = false;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    close_fixture(&f);
}

static void guest_that_somebody_else_moved_is_left_alone(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_SCHEDULE] = FAKE_FAIL;
    f.world.sides[0] = f.world.sides_after[0];
    f.world.sides[1] = f.world.sides_after[1];
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_string_equal(f.world.log, "schedule locate"); /* no finish: the source is not ours to clean */
    close_fixture(&f);
}

static void step_that_is_never_answered_is_given_up(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.opts.step_timeout_ms = 20;
    f.world.steps[KVMIG__STEP_PREPARE] = FAKE_NEVER;
    f.world.creates_volume = true;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -ETIMEDOUT);
    assert_string_equal(f.world.log, "schedule prepare locate undo");
    close_fixture(&f);
}

static void answer_that_comes_too_late_changes_nothing(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.opts.step_timeout_ms = 20;
    f.world.steps[KVMIG__STEP_PREPARE] = FAKE_NEVER;
    f.world.steps[KVMIG__STEP_LOCATE] = FAKE_NEVER;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    while (!strstr(f.world.log, "locate"))
        fake_drain(&f.world);
    fake_answer_step(&f.world, KVMIG__STEP_PREPARE, NULL);
    fake_answer_step(&f.world, KVMIG__STEP_PREPARE, kvmig__error_new(EIO, NULL, NULL, NULL, "twice"));
    fake_answer_call(&f.world, NULL, false);
    fake_drain(&f.world);
    assert_int_equal(kvmig_session_phase(f.session), KVMIG_PHASE_ROLLING_BACK);
    assert_string_equal(f.world.log, "schedule prepare locate");
    f.world.call_returned = false;
    fake_answer_located(&f.world);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    close_fixture(&f);
}

/* ---- the call ---- */

static void call_fails_and_the_guest_is_where_it_was(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    guest_stays(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -KVMIG_EVIRT);
    assert_string_equal(f.world.log, "schedule prepare migrate locate undo");
    close_fixture(&f);
}

static void call_fails_but_the_guest_has_moved(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_int_equal(f.caller.end_error, 0);
    assert_true(fake_heard(&f.caller, "notice SUCCEEDED_UNREPORTED"));
    close_fixture(&f);
}

static void call_succeeds_but_the_guest_is_on_the_source(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    guest_stays(&f);
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -KVMIG_EMIGRATE);
    assert_string_equal(f.world.log, "schedule prepare migrate locate undo");
    close_fixture(&f);
}

static void call_hangs_and_the_hosts_are_asked(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    guest_stays(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
    f.world.call_hung = true;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    close_fixture(&f);
}

static void call_that_takes_too_long_is_aborted(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    guest_stays(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    f.opts.migrate_timeout_ms = 10;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -ETIMEDOUT);
    assert_int_equal(f.world.n_aborts, 1);
    close_fixture(&f);
}

static void call_that_wins_against_our_timeout_is_a_success(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    f.world.abort = FAKE_ABORT_LOSES;
    f.opts.migrate_timeout_ms = 10;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_int_equal(f.caller.end_error, 0);
    close_fixture(&f);
}

/* Post-copy cannot be aborted; when all time is up the hosts are asked, and nothing is touched while it runs. */
static void postcopy_beyond_every_deadline_is_left_alone(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    f.world.abort = FAKE_ABORT_REFUSED;
    fake_side(&f.world.sides[0], KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY, true);
    fake_side(&f.world.sides[1], KVMIG__STATE_RUNNING, KVMIG__REASON_POSTCOPY, true);
    f.opts.migrate_timeout_ms = f.opts.abort_timeout_ms = 10;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_int_equal(f.caller.end_error, -KVMIG_EUNKNOWN);
    assert_string_equal(f.world.log, "schedule prepare migrate locate");
    close_fixture(&f);
}

/* ---- where is the guest ---- */

static void expect_indeterminate(struct fixture *f, int32_t code)
{
    f->world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
    run_with(f, 0);
    assert_int_equal(f->caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_int_equal(f->caller.end_error, code);
    /* Nothing is started or destroyed on a guess. */
    assert_string_equal(f->world.log, "schedule prepare migrate locate");
    assert_non_null(strstr(f->caller.end_message, "host-0"));
    assert_non_null(strstr(f->caller.end_message, "host-1"));
}

static void guest_on_both_sides_is_told_and_not_touched(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.sides_after[0] = f.world.sides[0];
    expect_indeterminate(&f, -KVMIG_ESPLIT);
    close_fixture(&f);
}

static void guest_on_no_side_is_told(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.sides_after[1] = f.world.sides[1];
    expect_indeterminate(&f, -KVMIG_ELOST);
    close_fixture(&f);
}

static void silent_source_is_no_proof(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.sides_after[0].reachable = false;
    expect_indeterminate(&f, -KVMIG_EUNKNOWN);
    close_fixture(&f);
}

static void broken_postcopy_is_told_and_not_touched(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    fake_side(&f.world.sides_after[0], KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY_FAILED, false);
    fake_side(&f.world.sides_after[1], KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY_FAILED, false);
    expect_indeterminate(&f, -KVMIG_EUNKNOWN);
    close_fixture(&f);
}

static void success_that_cannot_be_proven_is_none(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.sides_after[1].reachable = false;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    close_fixture(&f);
}

static void driver_that_never_locates_ends_indeterminate(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.opts.resolve_timeout_ms = 10;
    f.world.steps[KVMIG__STEP_LOCATE] = FAKE_NEVER;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_int_equal(f.caller.end_error, -KVMIG_EUNKNOWN);
    close_fixture(&f);
}

/* ---- the ends ---- */

static void leftover_on_the_source_does_not_change_success(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_FINISH] = FAKE_FAIL;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_int_equal(f.caller.end_error, 0);
    assert_true(fake_heard(&f.caller, "notice SOURCE_CLEANUP_PENDING"));
    assert_null(strstr(f.world.log, "undo"));
    close_fixture(&f);
}

static void finish_that_is_never_answered_is_a_leftover(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.opts.step_timeout_ms = 20;
    f.world.steps[KVMIG__STEP_FINISH] = FAKE_NEVER;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_true(fake_heard(&f.caller, "notice SOURCE_CLEANUP_PENDING"));
    close_fixture(&f);
}

static void guest_that_stopped_running_on_the_target_is_no_success(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_FINISH] = FAKE_FAIL;
    f.world.fail_code[KVMIG__STEP_FINISH] = KVMIG_EUNKNOWN;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_int_equal(f.caller.end_error, -KVMIG_EUNKNOWN);
    close_fixture(&f);
}

static void strict_handover_is_finished_on_the_target(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    fake_side(&f.world.sides_after[1], KVMIG__STATE_PAUSED, KVMIG__REASON_USER, false);
    run_with(&f, KVMIG_HANDOVER_STRICT);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_int_equal(fake_count(&f.caller, "notice"), 0);
    close_fixture(&f);
}

static void strict_handover_that_cannot_resume_the_target_is_no_success(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    fake_side(&f.world.sides_after[1], KVMIG__STATE_PAUSED, KVMIG__REASON_USER, false);
    f.world.steps[KVMIG__STEP_FINISH] = FAKE_FAIL;
    run_with(&f, KVMIG_HANDOVER_STRICT);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_int_equal(f.caller.end_error, -KVMIG_EUNKNOWN);
    assert_null(strstr(f.world.log, "undo"));
    close_fixture(&f);
}

static void strict_handover_goes_forward_when_only_the_target_holds_the_guest(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
    fake_side(&f.world.sides_after[1], KVMIG__STATE_PAUSED, KVMIG__REASON_USER, false);
    run_with(&f, KVMIG_HANDOVER_STRICT);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_string_equal(f.world.log, "schedule prepare migrate locate finish");
    close_fixture(&f);
}

static void undo_that_fails_is_told_with_the_cause(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    guest_stays(&f);
    f.world.creates_volume = true;
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
    f.world.steps[KVMIG__STEP_UNDO] = FAKE_FAIL;
    f.world.fail_code[KVMIG__STEP_UNDO] = KVMIG_EUNREACHABLE;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -KVMIG_EVIRT);
    assert_true(fake_heard(&f.caller, "notice ROLLBACK_INCOMPLETE"));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_cannot_be_prepared_and_the_guest_is_proven_in_place),
        cmocka_unit_test(volume_cannot_be_created_and_those_before_are_undone),
        cmocka_unit_test(target_that_is_down_before_the_call_is_a_failure_not_a_riddle),
        cmocka_unit_test(guest_that_somebody_else_moved_is_left_alone),
        cmocka_unit_test(step_that_is_never_answered_is_given_up),
        cmocka_unit_test(answer_that_comes_too_late_changes_nothing),
        cmocka_unit_test(call_fails_and_the_guest_is_where_it_was),
        cmocka_unit_test(call_fails_but_the_guest_has_moved),
        cmocka_unit_test(call_succeeds_but_the_guest_is_on_the_source),
        cmocka_unit_test(call_hangs_and_the_hosts_are_asked),
        cmocka_unit_test(call_that_takes_too_long_is_aborted),
        cmocka_unit_test(call_that_wins_against_our_timeout_is_a_success),
        cmocka_unit_test(postcopy_beyond_every_deadline_is_left_alone),
        cmocka_unit_test(guest_on_both_sides_is_told_and_not_touched),
        cmocka_unit_test(guest_on_no_side_is_told),
        cmocka_unit_test(silent_source_is_no_proof),
        cmocka_unit_test(broken_postcopy_is_told_and_not_touched),
        cmocka_unit_test(success_that_cannot_be_proven_is_none),
        cmocka_unit_test(driver_that_never_locates_ends_indeterminate),
        cmocka_unit_test(leftover_on_the_source_does_not_change_success),
        cmocka_unit_test(finish_that_is_never_answered_is_a_leftover),
        cmocka_unit_test(guest_that_stopped_running_on_the_target_is_no_success),
        cmocka_unit_test(strict_handover_is_finished_on_the_target),
        cmocka_unit_test(strict_handover_that_cannot_resume_the_target_is_no_success),
        cmocka_unit_test(strict_handover_goes_forward_when_only_the_target_holds_the_guest),
        cmocka_unit_test(undo_that_fails_is_told_with_the_cause),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
