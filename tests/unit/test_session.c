/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sessions from start to end, on hosts and a driver that exist only here: order of events, plans, steering, report.
 */
#include "session/report.h"
#include "session_test.h"

#include <errno.h>

static struct json_object *member(struct json_object *object, const char *path)
{
    struct json_object *found = NULL;

    if (json_pointer_get(object, path, &found) != 0)
        fail_msg("no %s in %s", path, json_object_to_json_string(object));
    return found;
}

static void assert_text(struct json_object *object, const char *path, const char *expected)
{
    assert_string_equal(json_object_get_string(member(object, path)), expected);
}

#define HAPPY                                                                                                          \
    "phase Pending, phase Scheduling, phase Scheduled, phase PreparingTarget, phase TargetReady, phase Running, "      \
    "phase Finalizing, phase Succeeded, end Succeeded"

/* ---- going well ---- */

static void phases_come_in_order_and_the_end_once_and_last(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_phase(f.session), KVMIG_PHASE_UNSET);
    run_to_end(&f);
    assert_heard_all(&f.caller, HAPPY);
    assert_string_equal(f.world.log, "schedule prepare migrate locate finish");
    assert_int_equal(f.caller.n_ends, 1);
    assert_int_equal(f.caller.end_error, 0);
    assert_int_equal(kvmig_session_phase(f.session), KVMIG_PHASE_SUCCEEDED);
    close_fixture(&f);
}

static void session_plans_by_itself_when_it_gets_options(void **state)
{
    struct kvmig_plan_opts plan_opts = KVMIG_PLAN_OPTS_INIT;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    plan_opts.vm = "vm-0";
    f.opts.plan_opts = &plan_opts;
    assert_int_equal(kvmig_session_new(f.world.cluster, NULL, &f.opts, &f.session), 0);
    plan_opts.vm = NULL; /* it was copied */
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    close_fixture(&f);
}

static void session_without_a_plan_waits_until_the_view_is_read(void **state)
{
    struct kvmig_plan_opts plan_opts = KVMIG_PLAN_OPTS_INIT;
    struct fake_host *late;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    late = fake_add_host(&f.world, true);
    plan_opts.vm = "vm-0";
    plan_opts.target = "host-1";
    f.opts.plan_opts = &plan_opts;
    assert_int_equal(kvmig_session_new(f.world.cluster, NULL, &f.opts, &f.session), 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_drain(&f.world);
    assert_heard_all(&f.caller, "phase Pending");
    fake_host_answers(late);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    close_fixture(&f);
}

static void session_without_a_plan_gives_up_a_view_that_is_never_read(void **state)
{
    struct kvmig_plan_opts plan_opts = KVMIG_PLAN_OPTS_INIT;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    fake_add_host(&f.world, true);
    plan_opts.vm = "vm-0";
    f.opts.plan_opts = &plan_opts;
    f.opts.step_timeout_ms = 30;
    assert_int_equal(kvmig_session_new(f.world.cluster, NULL, &f.opts, &f.session), 0);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -KVMIG_ENOTSYNCED);
    close_fixture(&f);
}

static void session_that_plans_by_itself_tells_why_it_cannot(void **state)
{
    struct kvmig_plan_opts plan_opts = KVMIG_PLAN_OPTS_INIT;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    plan_opts.vm = "no-such-vm";
    f.opts.plan_opts = &plan_opts;
    assert_int_equal(kvmig_session_new(f.world.cluster, NULL, &f.opts, &f.session), 0);
    run_to_end(&f);
    assert_heard_all(&f.caller, "phase Pending, phase Failed, end Failed");
    assert_int_equal(f.caller.end_error, -KVMIG_ENOVM);
    close_fixture(&f);
}

static void paused_guest_stays_paused_and_counts_as_moved(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.vm_paused = true;
    fake_side(&f.world.sides[0], KVMIG__STATE_PAUSED, KVMIG__REASON_USER, false);
    fake_side(&f.world.sides_after[1], KVMIG__STATE_PAUSED, KVMIG__REASON_USER, false);
    new_session(&f, 0, 0);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_int_equal(fake_count(&f.caller, "notice TARGET_LEFT_PAUSED"), 0);
    close_fixture(&f);
}

static void guest_that_somebody_paused_meanwhile_is_left_so_and_told(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    fake_side(&f.world.sides_after[1], KVMIG__STATE_PAUSED, KVMIG__REASON_USER, false);
    new_session(&f, 0, 0);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_true(fake_heard(&f.caller, "notice TARGET_LEFT_PAUSED"));
    close_fixture(&f);
}

/* ---- bad input ---- */

static void options_are_initialised_at_run_time_as_by_the_macro(void **state)
{
    const struct kvmig_session_opts fresh = KVMIG_SESSION_OPTS_INIT;
    struct kvmig_session_opts opts;

    (void)state;
    memset(&opts, 0xff, sizeof(opts));
    assert_int_equal(kvmig_session_opts_init(&opts, sizeof(opts)), 0);
    assert_memory_equal(&opts, &fresh, sizeof(opts));
    assert_int_equal(kvmig_session_opts_init(&opts, sizeof(opts.size) - 1), -EINVAL);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "kvmig_session_opts_init");
    assert_int_equal(kvmig_session_opts_init(NULL, sizeof(opts)), -EINVAL);
}

static void bad_options_are_refused_by_name_and_the_callback_is_freed_once(void **state)
{
    struct kvmig_session_opts too_new[2] = { KVMIG_SESSION_OPTS_INIT, { .size = 1 } };
    struct kvmig_plan_opts no_vm = KVMIG_PLAN_OPTS_INIT;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_session_new(f.world.cluster, NULL, &f.opts, &f.session), -EINVAL);
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), "plan"));
    assert_null(f.session);
    f.opts.plan_opts = &no_vm;
    assert_int_equal(kvmig_session_new(f.world.cluster, NULL, &f.opts, &f.session), -EINVAL);
    f.opts.migrate_timeout_ms = UINT64_MAX;
    assert_int_equal(kvmig_session_new(f.world.cluster, NULL, &f.opts, &f.session), -EINVAL);
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), "migrate_timeout_ms"));
    f.opts.migrate_timeout_ms = 0;
    f.opts.reserved = 1;
    assert_int_equal(kvmig_session_new(f.world.cluster, NULL, &f.opts, &f.session), -EINVAL);
    f.opts.reserved = 0;
    too_new[0].size = sizeof(too_new);
    too_new[0].on_event = f.opts.on_event;
    assert_int_equal(kvmig_session_new(f.world.cluster, NULL, too_new, &f.session), -E2BIG);
    assert_int_equal(kvmig_session_new(f.world.cluster, NULL, &f.opts, NULL), -EINVAL);
    assert_int_equal(f.caller.n_frees, 0); /* never inside the call */
    fake_drain(&f.world);
    assert_int_equal(f.caller.n_frees, 6);
    assert_int_equal(kvmig_session_new(NULL, NULL, &f.opts, &f.session), -EINVAL);
    assert_int_equal(f.caller.n_frees, 7); /* without a cluster there is no context to wait for */
    fake_world_close(&f.world);
}

static void calls_without_a_session_are_refused(void **state)
{
    char *text;

    (void)state;
    assert_int_equal(kvmig_session_start(NULL), -EINVAL);
    assert_int_equal(kvmig_session_cancel(NULL), -EINVAL);
    assert_int_equal(kvmig_session_set_bandwidth(NULL, 1), -EINVAL);
    assert_int_equal(kvmig_session_set_max_downtime(NULL, 1), -EINVAL);
    assert_int_equal(kvmig_session_start_postcopy(NULL), -EINVAL);
    assert_int_equal(kvmig_session_report(NULL, &text), -EINVAL);
    assert_null(text);
    assert_int_equal(kvmig_session_phase(NULL), KVMIG_PHASE_UNSET);
    assert_null(kvmig_session_id(NULL));
    assert_null(kvmig_session_ref(NULL));
    kvmig_session_unref(NULL);
}

static void blocked_plan_is_refused_with_its_blocker(void **state)
{
    struct kvmig_plan *plan;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.hosts[1].blocked = true;
    assert_int_equal(kvmig_cluster_refresh(f.world.cluster), 0);
    fake_drain(&f.world);
    plan = fake_plan(&f.world, "vm-0", "host-1", 0, 0);
    assert_int_equal(kvmig_session_new(f.world.cluster, plan, &f.opts, &f.session), -KVMIG_EBLOCKED);
    assert_non_null(strstr(kvmig_error_message(kvmig_error_last()), "INSUFFICIENT_MEMORY"));
    kvmig_plan_unref(plan);
    fake_drain(&f.world);
    assert_int_equal(f.caller.n_frees, 1);
    fake_world_close(&f.world);
}

static void session_starts_once(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_cancel(f.session), -KVMIG_EPHASE);
    run_to_end(&f);
    assert_int_equal(kvmig_session_start(f.session), -EALREADY);
    assert_int_equal(kvmig_session_cancel(f.session), -KVMIG_EPHASE);
    close_fixture(&f);
}

static void ids_are_unique(void **state)
{
    struct kvmig_session *other = NULL;
    struct kvmig_plan *plan;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_session(&f, 0, 0);
    plan = fake_plan(&f.world, "vm-0", "host-1", 0, 0);
    assert_int_equal(kvmig_session_new(f.world.cluster, plan, NULL, &other), 0);
    assert_string_not_equal(kvmig_session_id(f.session), kvmig_session_id(other));
    kvmig_session_unref(other);
    kvmig_plan_unref(plan);
    close_fixture(&f);
}

/* ---- the second look ---- */

static void plan_that_became_blocked_fails_with_the_blocker(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_session(&f, 0, 0);
    f.world.hosts[1].blocked = true;
    run_to_end(&f);
    assert_heard_all(&f.caller, "phase Pending, notice INSUFFICIENT_MEMORY, phase Failed, end Failed");
    assert_int_equal(f.caller.end_error, -KVMIG_EBLOCKED);
    assert_non_null(strstr(f.caller.end_message, "INSUFFICIENT_MEMORY"));
    assert_string_equal(f.world.log, "");
    close_fixture(&f);
}

static void target_that_went_down_fails_before_anything_is_touched(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_session(&f, 0, 0);
    f.world.hosts[1].down = true;
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -KVMIG_EBLOCKED);
    assert_string_equal(f.world.log, "");
    close_fixture(&f);
}

static void host_that_is_never_read_again_ends_at_the_deadline(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.opts.step_timeout_ms = 30;
    new_session(&f, 0, 0);
    f.world.hosts[1].silent = true;
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -ETIMEDOUT);
    close_fixture(&f);
}

/* ---- steering ---- */

static void tuning_is_for_running_migrations_only(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_set_bandwidth(f.session, 1), -KVMIG_EPHASE);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, session_runs, &f.caller);
    assert_int_equal(kvmig_session_set_bandwidth(f.session, 7), 0);
    assert_int_equal(kvmig_session_set_bandwidth(f.session, UINT64_MAX), -EINVAL);
    assert_int_equal(kvmig_session_set_max_downtime(f.session, 0), -EINVAL);
    assert_int_equal(kvmig_session_set_max_downtime(f.session, 900), 0);
    assert_int_equal(kvmig_session_start_postcopy(f.session), -EPERM);
    assert_int_equal(f.world.tuned[KVMIG__TUNE_BANDWIDTH], 7);
    assert_int_equal(f.world.tuned[KVMIG__TUNE_MAX_DOWNTIME], 900);
    fake_answer_call(&f.world, NULL, false);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(kvmig_session_set_max_downtime(f.session, 900), -KVMIG_EPHASE);
    assert_int_equal(kvmig_session_start_postcopy(f.session), -KVMIG_EPHASE);
    close_fixture(&f);
}

static void postcopy_needs_consent_and_shows_as_mode(void **state)
{
    struct json_object *report;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    new_session(&f, KVMIG_PLAN_ALLOW_POSTCOPY, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, session_runs, &f.caller);
    assert_int_equal(kvmig_session_start_postcopy(f.session), 0);
    assert_int_equal(kvmig_session_mode(f.session), KVMIG_MODE_PRE_COPY);
    fake_mode(&f.world, KVMIG_MODE_POST_COPY);
    fake_mode(&f.world, KVMIG_MODE_POST_COPY);
    assert_int_equal(kvmig_session_mode(f.session), KVMIG_MODE_POST_COPY);
    fake_answer_call(&f.world, NULL, false);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(fake_count(&f.caller, "mode PostCopy"), 1);
    report = report_of(f.session);
    assert_true(json_object_get_boolean(member(report, "/postcopy_used")));
    json_object_put(report);
    close_fixture(&f);
}

static void the_last_progress_tells_how_long_the_guest_was_paused(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, session_runs, &f.caller);
    kvmig__context_lock(f.world.context);
    kvmig__session_get_report(f.session)->pause_source_ms = 42; /* as the driver reads it from the finished job */
    kvmig__context_unlock(f.world.context);
    fake_answer_call(&f.world, NULL, false);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(fake_count(&f.caller, "progress"), 1);
    assert_int_equal(f.caller.progress.final_pause_ms, 42);
    close_fixture(&f);
}

static void progress_is_told_with_an_estimate_while_the_call_runs(void **state)
{
    struct kvmig_progress progress;
    struct fixture f;

    (void)state;
    memset(&progress, 0xff, sizeof(progress)); /* nothing known */
    progress.eta_reason = KVMIG_ETA_UNKNOWN;
    progress.throttle_percent = progress.at_iteration_boundary = 0;
    progress.n_disks = 0;
    progress.disks = NULL;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, session_runs, &f.caller);
    fake_progress(&f.world, &progress);
    fake_drain(&f.world);
    assert_int_equal(f.caller.progress.eta_reason, KVMIG_ETA_SETUP);
    progress.elapsed_ms = 1000;
    progress.iteration = 1;
    progress.memory_total = progress.memory_remaining = 100 << 20;
    progress.memory_sent = 0;
    progress.bandwidth_bytes_per_s = 10 << 20;
    fake_progress(&f.world, &progress);
    fake_drain(&f.world);
    assert_int_equal(f.caller.progress.eta_reason, KVMIG_ETA_BANDWIDTH_LIMITED);
    assert_int_equal(f.caller.progress.eta_ms, 10000);
    fake_answer_call(&f.world, NULL, false);
    fake_progress(&f.world, &progress); /* too late to be told */
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(fake_count(&f.caller, "progress"), 2);
    close_fixture(&f);
}

/* ---- the report ---- */

static void report_tells_plan_and_outcome_without_holes_in_time(void **state)
{
    struct json_object *report, *phases;
    int64_t sum = 0;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.creates_volume = true;
    new_session(&f, 0, 0);
    report = report_of(f.session); /* at any time */
    assert_text(report, "/phase", "Unset");
    json_object_put(report);
    run_to_end(&f);
    report = report_of(f.session);
    assert_text(report, "/outcome", "Succeeded");
    assert_text(report, "/vm", "vm-0");
    assert_text(report, "/final/host", "host-1");
    assert_text(report, "/final/verdict", "SUCCEEDED");
    assert_text(report, "/created/0/outcome", "kept");
    assert_text(report, "/plan/verdict", kvmig_verdict_name(KVMIG_VERDICT_MIGRATABLE));
    phases = member(report, "/phases");
    for (size_t i = 0; i < json_object_array_length(phases); i++)
        sum += json_object_get_int64(member(json_object_array_get_idx(phases, i), "/duration_ms"));
    assert_int_equal(sum, json_object_get_int64(member(report, "/total_ms")));
    json_object_put(report);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_come_in_order_and_the_end_once_and_last),
        cmocka_unit_test(session_plans_by_itself_when_it_gets_options),
        cmocka_unit_test(session_without_a_plan_waits_until_the_view_is_read),
        cmocka_unit_test(session_without_a_plan_gives_up_a_view_that_is_never_read),
        cmocka_unit_test(session_that_plans_by_itself_tells_why_it_cannot),
        cmocka_unit_test(paused_guest_stays_paused_and_counts_as_moved),
        cmocka_unit_test(guest_that_somebody_paused_meanwhile_is_left_so_and_told),
        cmocka_unit_test(options_are_initialised_at_run_time_as_by_the_macro),
        cmocka_unit_test(bad_options_are_refused_by_name_and_the_callback_is_freed_once),
        cmocka_unit_test(calls_without_a_session_are_refused),
        cmocka_unit_test(blocked_plan_is_refused_with_its_blocker),
        cmocka_unit_test(session_starts_once),
        cmocka_unit_test(ids_are_unique),
        cmocka_unit_test(plan_that_became_blocked_fails_with_the_blocker),
        cmocka_unit_test(target_that_went_down_fails_before_anything_is_touched),
        cmocka_unit_test(host_that_is_never_read_again_ends_at_the_deadline),
        cmocka_unit_test(tuning_is_for_running_migrations_only),
        cmocka_unit_test(postcopy_needs_consent_and_shows_as_mode),
        cmocka_unit_test(the_last_progress_tells_how_long_the_guest_was_paused),
        cmocka_unit_test(progress_is_told_with_an_estimate_while_the_call_runs),
        cmocka_unit_test(report_tells_plan_and_outcome_without_holes_in_time),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
