/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The libvirt session driver while the migrate call runs: what it tells, aborting, tuning, hangs and lost connections, and
 * asking afterwards where the guest is.
 */
#include "driver_test.h"

static int32_t call_is_out(void *session)
{
    (void)session;
    fake_lock();
    bool out = fake.hosts[FAKE_A].vm.job == FAKE_OUT;
    fake_unlock();
    return out;
}

static void waiting_call(struct kvmig_session *s)
{
    prepare(s);
    fake_lock();
    fake.call = FAKE_WAITS;
    fake_unlock();
    begin(s, KVMIG__STEP_MIGRATE);
    await(s, call_is_out);
}

static void tune(struct kvmig_session *s, enum kvmig__tuning what, uint64_t value)
{
    kvmig__context_lock(s->context);
    s->driver->ops->tune(s->driver, what, value);
    kvmig__context_unlock(s->context);
}

static size_t count_in_log(const char *what)
{
    char *log = fake_log();
    size_t n = 0;
    for (const char *p = strstr(log, what); p; p = strstr(p + 1, what))
        n++;
    free(log);
    return n;
}

/* ---- progress ---- */

static int32_t has_progress(void *session)
{
    return ((struct kvmig_session *)session)->progresses >= 2;
}

static int32_t reached_second_round(void *session)
{
    return ((struct kvmig_session *)session)->iteration == 2;
}

static void set_iteration(unsigned long long iteration)
{
    fake_lock();
    fake.iteration = iteration;
    fake_unlock();
}

static void progress_is_told_and_a_new_round_is_marked(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    waiting_call(&s);
    await(&s, has_progress);
    assert_string_equal(s.first_disk, "vda");
    assert_int_equal(s.boundaries, 0);
    set_iteration(2);
    await(&s, reached_second_round);
    assert_int_equal(s.boundaries, 1);
    fake_release_call();
    await(&s, has_answer);
    assert_null(s.error);
    assert_int_equal(s.report->iterations, 2);
    close_driver(&s);
}

static int32_t is_in_postcopy(void *session)
{
    return ((struct kvmig_session *)session)->mode == KVMIG_MODE_POST_COPY;
}

static void postcopy_begins_after_the_first_round_and_is_asked_for_once(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    s.plan->request.flags = KVMIG_PLAN_ALLOW_POSTCOPY | KVMIG_PLAN_POSTCOPY_AFTER_PRECOPY;
    set_iteration(1);
    waiting_call(&s);
    await(&s, has_progress);
    assert_int_equal(count_in_log("postcopy"), 0);
    set_iteration(2);
    await(&s, is_in_postcopy);
    s.progresses = 0;
    await(&s, has_progress);
    assert_int_equal(count_in_log("postcopy"), 1);
    assert_true(s.report->postcopy_used);
    fake_release_call();
    await(&s, has_answer);
    close_driver(&s);
}

static int32_t was_aborted(void *session)
{
    (void)session;
    return count_in_log("abort") > 0;
}

static int32_t has_notice(void *session)
{
    return ((struct kvmig_session *)session)->notices.n > 0;
}

static int32_t speed_is_set(void *session)
{
    (void)session;
    fake_lock();
    bool set = fake.hosts[FAKE_A].max_speed == 64;
    fake_unlock();
    return set;
}

static void tuning_reaches_libvirt_and_its_failure_is_a_notice(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    waiting_call(&s);
    tune(&s, KVMIG__TUNE_MAX_DOWNTIME, 700);
    tune(&s, KVMIG__TUNE_BANDWIDTH, 64);
    tune(&s, KVMIG__TUNE_POSTCOPY, 0); /* without consent: refused before libvirt is asked */
    await(&s, has_notice);
    await(&s, speed_is_set);
    assert_true(kvmig__findings_has(&s.notices, "TUNING_FAILED"));
    kvmig__findings_clear(&s.notices);
    fake_lock();
    fake.hosts[FAKE_A].fail_in = "set speed";
    fake_unlock();
    tune(&s, KVMIG__TUNE_BANDWIDTH, 32);
    await(&s, has_notice);
    assert_int_equal(fake.hosts[FAKE_A].max_downtime, 700);
    assert_int_equal(fake.hosts[FAKE_A].max_speed, 64);
    assert_int_equal(count_in_log("postcopy"), 0);
    fake_release_call();
    await(&s, has_answer);
    close_driver(&s);
}

static void polls_that_fail_change_nothing(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    waiting_call(&s);
    fake_lock();
    fake.hosts[FAKE_A].fail_in = "statistics";
    fake_unlock();
    kvmig_context_run(s.context, has_answer, &s, 50);
    assert_int_equal(s.answers, 0);
    fake_release_call();
    await(&s, has_answer);
    assert_null(s.error);
    close_driver(&s);
}

/* ---- abort ---- */

static void an_abort_is_repeated_until_there_is_a_job(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 5000);
    fake.aborts_without_job = 2;
    waiting_call(&s);
    abort_call(&s);
    await(&s, has_answer);
    assert_error(&s, "canceled by client");
    assert_false(s.hung);
    assert_int_equal(count_in_log("abort"), 3);
    close_driver(&s);
}

static int32_t was_refused(void *session)
{
    return ((struct kvmig_session *)session)->refusals > 0;
}

static void an_abort_in_postcopy_is_refused_and_the_call_goes_on(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    fake.abort_text = "Requested operation is not valid: cannot abort migration in post-copy mode";
    waiting_call(&s);
    abort_call(&s);
    await(&s, was_refused);
    assert_int_equal(s.answers, 0);
    fake_release_call();
    await(&s, has_answer);
    assert_null(s.error);
    close_driver(&s);
}

static void an_abort_before_the_call_is_made_prevents_it(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 5000);
    prepare(&s);
    begin(&s, KVMIG__STEP_MIGRATE);
    abort_call(&s);
    await(&s, has_answer);
    assert_error(&s, "cancelled before the migrate call was made");
    assert_log("");
    close_driver(&s);
}

static void an_abort_after_the_call_is_ignored(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    prepare(&s);
    pass_step(&s, KVMIG__STEP_MIGRATE);
    abort_call(&s);
    pass_step(&s, KVMIG__STEP_LOCATE);
    assert_log("a migrate; ");
    close_driver(&s);
}

static void a_call_that_does_not_end_after_an_abort_is_given_up(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 500, 150);
    fake.call_ignores_abort = true;
    waiting_call(&s);
    abort_call(&s);
    await(&s, has_answer);
    assert_true(s.hung);
    assert_error(&s, "did not return after it was aborted");
    begin(&s, KVMIG__STEP_LOCATE);
    kvmig_context_run(s.context, has_answer, &s, 700); /* longer than the step may take when there is no job */
    assert_int_equal(s.answers, 0);
    fake_release_call();
    await(&s, has_answer);
    assert_int_equal(s.resolution.side, 1);
    assert_int_equal(s.answers, 1); /* the call's late return is no answer */
    close_driver(&s);
}

static int32_t hangs(void *session)
{
    (void)session;
    return fake_is_hung();
}

/* A call that hangs before libvirt begins with it, and is given up. */
static void call_given_up_in_the_queue(struct kvmig_session *s)
{
    plan_new_volume(s, "vda", "one.img");
    prepare(s);
    fake_lock();
    fake.hosts[FAKE_A].hang_in = "migrate";
    fake_unlock();
    begin(s, KVMIG__STEP_MIGRATE);
    await(s, hangs);
    abort_call(s);
    await(s, has_answer);
    assert_true(s->hung);
}

static void a_source_that_may_still_carry_a_given_up_call_out_proves_nothing(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 300, 150);
    call_given_up_in_the_queue(&s);
    pass_step(&s, KVMIG__STEP_LOCATE); /* it runs there, without a job, and the target has nothing */
    assert_false(s.resolution.decided);
    assert_int_equal(s.resolution.verdict, KVMIG_LOCATION_UNDECIDED);
    assert_int_equal(s.resolution.side, 0);
    fake_release(FAKE_A);
    begin(&s, KVMIG__STEP_LOCATE);
    await(&s, has_answer);
    assert_int_equal(s.resolution.side, 1);
    close_driver(&s);
}

static void nothing_is_undone_while_a_given_up_call_is_out(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 300, 150);
    call_given_up_in_the_queue(&s);
    run_step(&s, KVMIG__STEP_UNDO);
    assert_int_equal(s.error->code, -KVMIG_EUNKNOWN);
    assert_non_null(strstr(outcome_of(&s, "volume", "b"), "failed: "));
    close_driver(&s); /* the call is carried out now */
    char *log = fake_log();
    assert_null(strstr(log, "delete"));
    free(log);
}

static void a_source_that_falls_silent_ends_the_wait_for_the_call(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 300, 300);
    waiting_call(&s);
    fake_lock();
    fake.hosts[FAKE_A].fail_text = "End of file while reading data: Input/output error";
    fake.hosts[FAKE_A].fail_in = "state";
    fake_unlock();
    await(&s, has_answer);
    assert_true(s.hung);
    assert_error(&s, "the source fell silent");
    assert_true(kvmig__findings_has(&s.notices, "SOURCE_SILENT"));
    close_driver(&s);
}

static void a_tuning_behind_a_poll_that_hangs_is_not_lost(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 300);
    waiting_call(&s);
    fake_lock();
    fake.hosts[FAKE_A].hang_in = "statistics";
    fake_unlock();
    await(&s, hangs);
    tune(&s, KVMIG__TUNE_BANDWIDTH, 64);
    await(&s, speed_is_set);
    assert_int_equal(s.answers, 0); /* the host answers, only its QEMU does not */
    close_driver(&s);
}

static void a_migration_that_outlives_its_call_is_awaited_and_can_be_aborted(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 200, 1000);
    prepare(&s);
    fake.call = FAKE_FAILS;
    run_step(&s, KVMIG__STEP_MIGRATE);
    fake_lock();
    fake.hosts[FAKE_A].vm.job = FAKE_OUT;
    fake_unlock();
    begin(&s, KVMIG__STEP_LOCATE);
    kvmig_context_run(s.context, has_answer, &s, 500);
    assert_int_equal(s.answers, 0);
    abort_call(&s);
    await(&s, was_aborted);
    fake_lock();
    fake.hosts[FAKE_A].vm.job = FAKE_NO_JOB;
    fake_unlock();
    await(&s, has_answer);
    assert_true(s.resolution.decided);
    assert_int_equal(s.resolution.side, -1);
    close_driver(&s);
}

static void a_disk_that_the_definition_lacks_does_not_prevent_the_call(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    plan_new_volume(&s, "vda", "one.img");
    kvmig__str_set(&s.plan->disks.v[0].target_path, "/p/two.img");
    kvmig__str_set(&s.plan->disks.v[0].volume, "two.img");
    fake.hosts[FAKE_A].vm.live =
        "<domain type='kvm'><name>vm</name><uuid>" FAKE_UUID "</uuid><devices><disk type='file' device='disk'>"
        "<source file='/p/one.img'/><target dev='vda'/></disk></devices></domain>";
    fake.hosts[FAKE_A].vm.definition = "<domain type='kvm'><name>vm</name><uuid>" FAKE_UUID "</uuid></domain>";
    prepare(&s);
    pass_step(&s, KVMIG__STEP_MIGRATE);
    assert_int_equal(count_in_log("a migrate"), 1);
    close_driver(&s);
}

static void a_refusal_in_another_language_is_understood(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    fake.abort_text = "Die angeforderte Operation ist nicht zulässig";
    waiting_call(&s);
    set_vm(FAKE_A, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_POSTCOPY);
    abort_call(&s);
    await(&s, was_refused);
    fake_release_call();
    await(&s, has_answer);
    assert_null(s.error);
    close_driver(&s);
}

static void an_abort_gets_through_although_a_poll_hangs(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 10000);
    waiting_call(&s);
    fake_lock();
    fake.hosts[FAKE_A].hang_in = "statistics";
    fake_unlock();
    await(&s, hangs);
    kvmig_context_run(s.context, has_answer, &s, 700); /* older than a poll may be */
    abort_call(&s);
    await(&s, has_answer);
    assert_error(&s, "canceled by client");
    close_driver(&s);
}

static void the_call_is_given_up_when_another_step_begins(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 300, 1000);
    waiting_call(&s);
    begin(&s, KVMIG__STEP_LOCATE);
    fake_release_call();
    await(&s, has_answer);
    assert_int_equal(s.answers, 1);
    assert_int_equal(s.resolution.side, 1);
    close_driver(&s);
}

static void the_driver_can_go_at_any_time(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    waiting_call(&s);
    close_driver(&s); /* the call returns after the driver is gone */
    open_driver(&s, 5000, 1000);
    begin(&s, KVMIG__STEP_SCHEDULE);
    close_driver(&s);
    open_driver(&s, 5000, 1000);
    close_driver(&s);
}

/* ---- managed ---- */

static void a_managed_call_uses_connections_of_its_own(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    s.plan->request.flags = KVMIG_PLAN_MANAGED;
    pass_step(&s, KVMIG__STEP_SCHEDULE);
    assert_int_equal(fake.hosts[FAKE_A].connections, 2);
    assert_int_equal(fake.hosts[FAKE_B].connections, 2);
    pass_step(&s, KVMIG__STEP_MIGRATE);
    assert_string_equal(s.report->domain_job, "managed");
    assert_false(fake.flags & VIR_MIGRATE_PEER2PEER);
    close_driver(&s);
}

/* ---- lost connections ---- */

static void a_source_daemon_that_dies_ends_the_call_and_is_asked_again_when_it_is_back(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    waiting_call(&s);
    fake_lock();
    fake.hosts[FAKE_A].down = true;
    fake_unlock();
    await(&s, has_answer);
    assert_error(&s, "Connection reset by peer");
    assert_int_equal(s.error->code, -KVMIG_EUNREACHABLE);
    assert_false(s.hung);
    begin(&s, KVMIG__STEP_LOCATE);
    kvmig_context_run(s.context, has_answer, &s, 150);
    assert_int_equal(s.answers, 0); /* not known is no answer as long as there is time */
    fake_lock();
    fake.hosts[FAKE_A].down = false;
    fake_unlock();
    await(&s, has_answer);
    assert_true(s.resolution.decided);
    assert_int_equal(s.resolution.side, -1);
    close_driver(&s);
}

static void a_host_that_stays_silent_leaves_it_undecided(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 400, 1000);
    prepare(&s);
    fake.call = FAKE_FAILS;
    run_step(&s, KVMIG__STEP_MIGRATE);
    fake_lock();
    fake.hosts[FAKE_B].down = true;
    fake_unlock();
    run_step(&s, KVMIG__STEP_LOCATE);
    assert_false(s.resolution.decided);
    close_driver(&s);
}

static void a_host_that_swallows_every_question_is_not_asked_without_end(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 2000, 1000);
    prepare(&s);
    fake.call = FAKE_FAILS;
    run_step(&s, KVMIG__STEP_MIGRATE);
    fake_lock();
    fake.hosts[FAKE_B].hang_in = "state";
    fake.hosts[FAKE_B].vm.there = true;
    fake_unlock();
    for (int i = 0; i < 12; i++) { /* each is given up by the next */
        begin(&s, KVMIG__STEP_LOCATE);
        kvmig_context_run(s.context, has_answer, &s, 30);
    }
    fake_lock();
    size_t hung = fake.hung;
    fake_unlock();
    assert_in_range(hung, 2, 8);
    close_driver(&s);
}

static void without_a_call_a_silent_target_does_not_matter(void **state)
{
    struct kvmig_session s;
    (void)state;
    open_driver(&s, 5000, 1000);
    prepare(&s);
    begin(&s, KVMIG__STEP_MIGRATE);
    abort_call(&s);
    await(&s, has_answer);
    fake_lock();
    fake.hosts[FAKE_B].down = true;
    fake_unlock();
    run_step(&s, KVMIG__STEP_LOCATE);
    assert_true(s.resolution.decided);
    assert_int_equal(s.resolution.side, -1);
    close_driver(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_is_told_and_a_new_round_is_marked),
        cmocka_unit_test(postcopy_begins_after_the_first_round_and_is_asked_for_once),
        cmocka_unit_test(tuning_reaches_libvirt_and_its_failure_is_a_notice),
        cmocka_unit_test(polls_that_fail_change_nothing),
        cmocka_unit_test(an_abort_is_repeated_until_there_is_a_job),
        cmocka_unit_test(an_abort_in_postcopy_is_refused_and_the_call_goes_on),
        cmocka_unit_test(an_abort_before_the_call_is_made_prevents_it),
        cmocka_unit_test(an_abort_after_the_call_is_ignored),
        cmocka_unit_test(a_call_that_does_not_end_after_an_abort_is_given_up),
        cmocka_unit_test(an_abort_gets_through_although_a_poll_hangs),
        cmocka_unit_test(the_call_is_given_up_when_another_step_begins),
        cmocka_unit_test(a_source_that_may_still_carry_a_given_up_call_out_proves_nothing),
        cmocka_unit_test(nothing_is_undone_while_a_given_up_call_is_out),
        cmocka_unit_test(a_source_that_falls_silent_ends_the_wait_for_the_call),
        cmocka_unit_test(a_tuning_behind_a_poll_that_hangs_is_not_lost),
        cmocka_unit_test(a_migration_that_outlives_its_call_is_awaited_and_can_be_aborted),
        cmocka_unit_test(a_disk_that_the_definition_lacks_does_not_prevent_the_call),
        cmocka_unit_test(a_refusal_in_another_language_is_understood),
        cmocka_unit_test(the_driver_can_go_at_any_time),
        cmocka_unit_test(a_managed_call_uses_connections_of_its_own),
        cmocka_unit_test(a_source_daemon_that_dies_ends_the_call_and_is_asked_again_when_it_is_back),
        cmocka_unit_test(a_host_that_stays_silent_leaves_it_undecided),
        cmocka_unit_test(a_host_that_swallows_every_question_is_not_asked_without_end),
        cmocka_unit_test(without_a_call_a_silent_target_does_not_matter),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
