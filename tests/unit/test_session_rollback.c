/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The roll-back and the hand-over to their last word: what is proven when they end, and what the report says then. And a migration
 * that goes on although its call is lost.
 */
#include "session_test.h"

#include <json-c/json.h>

static void call_fails(struct fixture *f)
{
    f->world.sides_after[0] = f->world.sides[0];
    f->world.sides_after[1] = f->world.sides[1];
    f->world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
}

static void run_with(struct fixture *f, int32_t handover)
{
    new_session(f, 0, handover);
    run_to_end(f);
}

/* NULL = it must not be there. */
static void assert_report(const struct fixture *f, const char *path, const char *expected)
{
    struct json_object *root, *found = NULL;
    char *text = NULL;
    bool has;

    assert_int_equal(kvmig_session_report(f->session, &text), 0);
    root = json_tokener_parse(text);
    has = json_pointer_get(root, path, &found) == 0 && found;
    if (has != !!expected || (has && !strstr(json_object_get_string(found), expected)))
        fail_msg("%s is not \"%s\" in %s", path, expected ? expected : "absent", text);
    json_object_put(root);
    free(text);
}

static void last_look(struct fixture *f, int32_t state, int32_t reason)
{
    f->world.looks_again = true;
    fake_side(&f->world.sides_last[0], state, reason, false);
    fake_side(&f->world.sides_last[1], KVMIG__STATE_ABSENT, KVMIG__REASON_OTHER, false);
}

/* ---- the roll-back does not prove that the guest is back ---- */

static void undo_that_does_not_prove_the_source_is_indeterminate(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_fails(&f);
    f.world.creates_volume = true;
    f.world.steps[KVMIG__STEP_UNDO] = FAKE_FAIL;
    f.world.fail_code[KVMIG__STEP_UNDO] = KVMIG_EUNKNOWN;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_int_equal(f.caller.end_error, -KVMIG_EUNKNOWN);
    assert_non_null(strstr(f.caller.end_message, "not proven that it runs"));
    assert_true(fake_heard(&f.caller, "notice ROLLBACK_INCOMPLETE"));
    assert_report(&f, "/notices/0/message", "it is not proven");
    assert_report(&f, "/final/host", NULL);
    assert_report(&f, "/final/verdict", "UNDECIDED");
    assert_report(&f, "/error/evidence", "before that: step 2 failed");
    close_fixture(&f);
}

static void cancelled_undo_that_does_not_prove_the_source_is_indeterminate(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_fails(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    f.world.steps[KVMIG__STEP_UNDO] = FAKE_FAIL;
    f.world.fail_code[KVMIG__STEP_UNDO] = KVMIG_EUNKNOWN;
    f.caller.cancel_at = KVMIG_PHASE_RUNNING;
    run_with(&f, 0);
    assert_true(fake_heard(&f.caller, "cancel accepted"));
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_int_equal(f.caller.end_error, -KVMIG_EUNKNOWN);
    close_fixture(&f);
}

static void undo_that_is_never_answered_after_the_call_is_indeterminate(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_fails(&f);
    f.opts.step_timeout_ms = 20;
    f.world.steps[KVMIG__STEP_UNDO] = FAKE_NEVER;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_int_equal(f.caller.end_error, -KVMIG_EUNKNOWN);
    close_fixture(&f);
}

static void undo_that_is_never_answered_before_the_call_leaves_leftovers_only(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.opts.step_timeout_ms = 20;
    f.world.creates_volume = true;
    f.world.steps[KVMIG__STEP_PREPARE] = FAKE_FAIL;
    f.world.steps[KVMIG__STEP_UNDO] = FAKE_NEVER;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_true(fake_heard(&f.caller, "notice ROLLBACK_INCOMPLETE"));
    close_fixture(&f);
}

static void undo_that_is_never_answered_after_the_source_was_seen_to_run_is_a_failure(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_fails(&f);
    f.opts.step_timeout_ms = 20;
    f.world.steps[KVMIG__STEP_UNDO] = FAKE_NEVER;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    while (!strstr(f.world.log, "undo"))
        fake_drain(&f.world);
    last_look(&f, KVMIG__STATE_RUNNING, KVMIG__REASON_OTHER);
    fake_tell_last_look(&f.world);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    close_fixture(&f);
}

/* ---- the last look ---- */

static void report_says_that_the_source_runs_again(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_fails(&f);
    fake_side(&f.world.sides_after[0], KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION, false);
    last_look(&f, KVMIG__STATE_RUNNING, KVMIG__REASON_UNPAUSED);
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(fake_count(&f.caller, "notice"), 0);
    assert_report(&f, "/final/verdict", "NO_FINDING");
    assert_report(&f, "/final/host", "host-0");
    close_fixture(&f);
}

static void source_that_does_not_run_after_the_rollback_is_told(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_fails(&f);
    last_look(&f, KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION);
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_true(fake_heard(&f.caller, "notice SOURCE_NOT_RUNNING"));
    assert_report(&f, "/final/verdict", "FAILED_SOURCE_PAUSED");
    close_fixture(&f);
}

static void source_that_is_gone_after_the_rollback_is_no_clean_failure(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_fails(&f);
    last_look(&f, KVMIG__STATE_SHUTOFF, KVMIG__REASON_CRASHED);
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_report(&f, "/final/verdict", "VM_LOST");
    assert_report(&f, "/final/host", NULL);
    close_fixture(&f);
}

static void silent_target_after_the_rollback_takes_no_proof_back(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    call_fails(&f);
    fake_side(&f.world.sides_after[0], KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION, false);
    last_look(&f, KVMIG__STATE_RUNNING, KVMIG__REASON_OTHER);
    f.world.sides_last[1].reachable = false;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_report(&f, "/final/host", "host-0");
    assert_report(&f, "/final/verdict", "FAILED");
    close_fixture(&f);
}

/* ---- the call's success as a proof ---- */

static void source_that_dies_after_a_strict_call_does_not_hold_the_guest_back(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.sides_after[0].reachable = false;
    fake_side(&f.world.sides_after[1], KVMIG__STATE_PAUSED, KVMIG__REASON_USER, false);
    f.world.tells_handover = true;
    run_with(&f, KVMIG_HANDOVER_STRICT);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_string_equal(f.world.log, "schedule prepare migrate locate finish");
    assert_report(&f, "/final/proof", "the migrate call reported success");
    assert_report(&f, "/final/host", "host-1");
    close_fixture(&f);
}

static void source_that_was_seen_stopped_is_what_the_report_says(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    fake_side(&f.world.sides_after[1], KVMIG__STATE_PAUSED, KVMIG__REASON_USER, false);
    f.world.tells_handover = f.world.source_seen_stopped = true;
    run_with(&f, KVMIG_HANDOVER_STRICT);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_report(&f, "/final/proof", "the source was seen to hold no running copy");
    close_fixture(&f);
}

static void source_that_dies_after_the_call_is_left_to_be_cleaned(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.sides_after[0].reachable = false;
    f.world.steps[KVMIG__STEP_FINISH] = FAKE_FAIL;
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_true(fake_heard(&f.caller, "notice SOURCE_CLEANUP_PENDING"));
    close_fixture(&f);
}

/* The guest ran on the target: the source's memory is older than the disks. */
static void paused_source_after_a_call_that_succeeded_is_not_resumed(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    fake_side(&f.world.sides_after[0], KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION, false);
    fake_side(&f.world.sides_after[1], KVMIG__STATE_ABSENT, KVMIG__REASON_OTHER, false);
    run_with(&f, 0);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_int_equal(f.caller.end_error, -KVMIG_EUNKNOWN);
    assert_string_equal(f.world.log, "schedule prepare migrate locate");
    close_fixture(&f);
}

/* ---- the call is lost, the migration goes on ---- */

static void lose_the_call(struct fixture *f)
{
    call_fails(f);
    f->world.steps[KVMIG__STEP_LOCATE] = FAKE_NEVER;
    f->opts.resolve_timeout_ms = 1;
    new_session(f, 0, 0);
    assert_int_equal(kvmig_session_start(f->session), 0);
    while (!strstr(f->world.log, "locate"))
        fake_drain(&f->world);
}

static void migration_that_goes_on_without_its_call_is_aborted_by_a_cancel(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    lose_the_call(&f);
    assert_int_equal(kvmig_session_cancel(f.session), 0);
    assert_int_equal(f.world.n_aborts, 1);
    assert_int_equal(fake_count(&f.caller, "cancel "), 0); /* answered when it is known where the guest is */
    fake_answer_located(&f.world);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_true(fake_heard(&f.caller, "cancel accepted"));
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    close_fixture(&f);
}

static int32_t some_time_passed(void *until_ms)
{
    return kvmig__now_ms() >= *(const int64_t *)until_ms;
}

static void migration_that_goes_on_without_its_call_is_watched_beyond_the_resolve_deadline(void **state)
{
    struct fixture f;
    int64_t until_ms;

    (void)state;
    open_fixture(&f);
    lose_the_call(&f);
    until_ms = kvmig__now_ms() + 30; /* many times the resolve deadline */
    while (!some_time_passed(&until_ms))
        fake_drain(&f.world);
    assert_int_equal(kvmig_session_phase(f.session), KVMIG_PHASE_ROLLING_BACK);
    fake_side(&f.world.sides_after[0], KVMIG__STATE_SHUTOFF, KVMIG__REASON_MIGRATED, false);
    fake_side(&f.world.sides_after[1], KVMIG__STATE_RUNNING, KVMIG__REASON_MIGRATED, false);
    fake_answer_located(&f.world);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    close_fixture(&f);
}

static void lost_call_is_not_watched_beyond_the_migrate_deadline(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.opts.migrate_timeout_ms = 50;
    lose_the_call(&f);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    close_fixture(&f);
}

static void cancel_while_locating_before_the_call_aborts_nothing(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_PREPARE] = FAKE_FAIL;
    f.caller.cancel_at = KVMIG_PHASE_ROLLING_BACK;
    run_with(&f, 0);
    assert_true(fake_heard(&f.caller, "cancel accepted"));
    assert_int_equal(f.world.n_aborts, 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undo_that_does_not_prove_the_source_is_indeterminate),
        cmocka_unit_test(cancelled_undo_that_does_not_prove_the_source_is_indeterminate),
        cmocka_unit_test(undo_that_is_never_answered_after_the_call_is_indeterminate),
        cmocka_unit_test(undo_that_is_never_answered_before_the_call_leaves_leftovers_only),
        cmocka_unit_test(undo_that_is_never_answered_after_the_source_was_seen_to_run_is_a_failure),
        cmocka_unit_test(report_says_that_the_source_runs_again),
        cmocka_unit_test(source_that_does_not_run_after_the_rollback_is_told),
        cmocka_unit_test(source_that_is_gone_after_the_rollback_is_no_clean_failure),
        cmocka_unit_test(silent_target_after_the_rollback_takes_no_proof_back),
        cmocka_unit_test(source_that_dies_after_a_strict_call_does_not_hold_the_guest_back),
        cmocka_unit_test(source_that_was_seen_stopped_is_what_the_report_says),
        cmocka_unit_test(source_that_dies_after_the_call_is_left_to_be_cleaned),
        cmocka_unit_test(paused_source_after_a_call_that_succeeded_is_not_resumed),
        cmocka_unit_test(migration_that_goes_on_without_its_call_is_aborted_by_a_cancel),
        cmocka_unit_test(migration_that_goes_on_without_its_call_is_watched_beyond_the_resolve_deadline),
        cmocka_unit_test(lost_call_is_not_watched_beyond_the_migrate_deadline),
        cmocka_unit_test(cancel_while_locating_before_the_call_aborts_nothing),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
