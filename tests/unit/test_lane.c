/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lanes: jobs in order on a thread of their own, deadlines, jobs that hang, lanes and contexts that end meanwhile. Each
 * test counts that a payload is freed exactly once, whoever has it.
 */
#include "context_test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/* What all jobs of a test write to; outlives their threads. */
static _Atomic int runs, frees, dones, exits;
static _Atomic int order[256];

struct owner {
    struct kvmig__lane *lane;
    int32_t last_status;
    bool last_had_payload;
    bool close_in_done, submit_in_done;
};

struct payload {
    struct test_gate *gate; /* may be NULL */
    int number;
    sigset_t mask;
    char thread_name[16];
};

static void job_run(void *data)
{
    struct payload *payload = data;

    if (payload->gate)
        test_gate_pass(payload->gate);
    pthread_sigmask(SIG_SETMASK, NULL, &payload->mask);
    pthread_getname_np(pthread_self(), payload->thread_name, sizeof(payload->thread_name));
    order[runs++] = payload->number;
}

static void job_free(void *data)
{
    free(data);
    frees++;
}

static void job_done(void *data, void *payload, int32_t status);

static const struct kvmig__job_type job_type = { "test job", job_run, job_done, job_free };

static void submit(struct owner *owner, struct test_gate *gate, int number, int64_t timeout_ms)
{
    struct payload *payload = calloc(1, sizeof(*payload));

    *payload = (struct payload){ .gate = gate, .number = number };
    kvmig__lane_submit(owner->lane, &job_type, owner, payload, timeout_ms);
}

static void job_done(void *data, void *payload, int32_t status)
{
    struct owner *owner = data;
    struct payload *result = payload;

    owner->last_status = status;
    owner->last_had_payload = payload != NULL;
    if (result) {
        assert_int_equal(order[dones], result->number);
        assert_int_equal(sigismember(&result->mask, SIGTERM), 1);
        assert_int_equal(sigismember(&result->mask, SIGUSR1), 1);
        assert_string_equal(result->thread_name, "kvmig-a-long-na");
    }
    dones++;
    if (owner->submit_in_done) {
        owner->submit_in_done = false;
        submit(owner, NULL, 1, -1);
    } else if (owner->close_in_done) {
        kvmig__lane_close(owner->lane);
        owner->lane = NULL;
    }
}

static void on_exit_of_lane(void *data)
{
    (void)data;
    exits++;
}

static struct owner open_lane(struct kvmig_context *context)
{
    struct owner owner = { 0 };

    kvmig__context_lock(context);
    owner.lane = kvmig__lane_new(context, "a-long-name-of-a-lane");
    kvmig__lane_set_exit(owner.lane, on_exit_of_lane, NULL);
    kvmig__context_unlock(context);
    return owner;
}

static void submit_locked(struct kvmig_context *context, struct owner *owner, struct test_gate *gate, int number,
                          int64_t timeout_ms)
{
    kvmig__context_lock(context);
    submit(owner, gate, number, timeout_ms);
    kvmig__context_unlock(context);
}

static void close_lane(struct kvmig_context *context, struct owner *owner)
{
    kvmig__context_lock(context);
    kvmig__lane_close(owner->lane);
    kvmig__context_unlock(context);
    owner->lane = NULL;
}

static size_t pending(struct kvmig_context *context, struct owner *owner)
{
    size_t n;

    kvmig__context_lock(context);
    n = kvmig__lane_pending(owner->lane);
    kvmig__context_unlock(context);
    return n;
}

static bool is_stuck(struct kvmig_context *context, struct owner *owner)
{
    bool stuck;

    kvmig__context_lock(context);
    stuck = kvmig__lane_is_stuck(owner->lane);
    kvmig__context_unlock(context);
    return stuck;
}

static int setup(void **state)
{
    runs = frees = dones = exits = 0;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(order); i++)
        order[i] = 0;
    *state = test_context_new(0);
    return 0;
}

static int teardown(void **state)
{
    kvmig_context_unref(*state);
    return 0;
}

/* ---- the usual course ---- */

static void a_result_makes_the_descriptor_readable_and_is_handed_over(void **state)
{
    struct kvmig_context *context = *state;
    struct owner owner = open_lane(context);

    assert_false(test_readable(context, 0));
    submit_locked(context, &owner, NULL, 7, TEST_DEADLINE_MS);
    assert_true(test_readable(context, TEST_DEADLINE_MS));
    test_run_until(context, &dones, 1);
    assert_int_equal(owner.last_status, 0);
    assert_true(owner.last_had_payload);
    assert_int_equal(frees, 1);
    assert_int_equal(pending(context, &owner), 0);
    close_lane(context, &owner);
    test_wait_for(&exits, 1);
}

static void jobs_run_one_after_another_in_order(void **state)
{
    struct kvmig_context *context = *state;
    struct test_gate gate = TEST_GATE_INIT;
    struct owner owner = open_lane(context);

    submit_locked(context, &owner, &gate, 0, -1);
    for (int i = 1; i < 100; i++)
        submit_locked(context, &owner, NULL, i, -1);
    assert_int_equal(pending(context, &owner), 100);
    test_gate_open(&gate);
    test_run_until(context, &dones, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(order[i], i);
    assert_int_equal(frees, 100);
    close_lane(context, &owner);
    test_wait_for(&exits, 1);
}

static void dispatch_hands_over_a_bounded_number_of_results(void **state)
{
    struct kvmig_context *context = *state;
    struct owner owner = open_lane(context);
    int32_t more;

    for (int i = 0; i < 200; i++)
        submit_locked(context, &owner, NULL, i, -1);
    test_wait_for(&runs, 200);
    more = kvmig_context_dispatch(context);
    assert_int_equal(more, 1);
    assert_true(dones > 0 && dones < 200);
    assert_true(test_readable(context, 0));
    test_run_until(context, &dones, 200);
    assert_int_equal(frees, 200);
    close_lane(context, &owner);
    test_wait_for(&exits, 1);
}

static void done_may_submit_and_close(void **state)
{
    struct kvmig_context *context = *state;
    struct owner owner = open_lane(context);

    owner.submit_in_done = owner.close_in_done = true;
    submit_locked(context, &owner, NULL, 0, -1);
    test_run_until(context, &dones, 2);
    assert_null(owner.lane);
    assert_int_equal(frees, 2);
    test_wait_for(&exits, 1);
}

static void a_lane_that_never_ran_a_job_has_no_thread_and_ends_at_once(void **state)
{
    struct kvmig_context *context = *state;
    struct owner owner = open_lane(context);

    close_lane(context, &owner);
    assert_int_equal(exits, 1);
    kvmig__context_lock(context);
    kvmig__lane_close(NULL);
    kvmig__context_unlock(context);
}

/* ---- deadlines ---- */

static void a_hanging_job_is_given_up_and_freed_when_it_comes_back(void **state)
{
    struct kvmig_context *context = *state;
    struct test_gate gate = TEST_GATE_INIT;
    struct owner owner = open_lane(context);

    submit_locked(context, &owner, &gate, 0, 5);
    test_wait_for(&gate.waiting, 1);
    test_run_until(context, &dones, 1);
    assert_int_equal(owner.last_status, -ETIMEDOUT);
    assert_false(owner.last_had_payload);
    assert_int_equal(frees, 0);
    assert_int_equal(pending(context, &owner), 0);
    assert_true(is_stuck(context, &owner));
    test_gate_open(&gate);
    test_wait_for(&frees, 1);
    assert_false(is_stuck(context, &owner));
    test_drain(context);
    assert_int_equal(dones, 1); /* the late return tells nobody */
    close_lane(context, &owner);
    test_wait_for(&exits, 1);
    assert_int_equal(frees, 1);
}

static void a_lane_works_on_after_a_hanging_job_came_back(void **state)
{
    struct kvmig_context *context = *state;
    struct test_gate gate = TEST_GATE_INIT;
    struct owner owner = open_lane(context);

    submit_locked(context, &owner, &gate, 0, 5);
    test_wait_for(&gate.waiting, 1);
    submit_locked(context, &owner, NULL, 1, TEST_DEADLINE_MS);
    test_run_until(context, &dones, 1);
    test_gate_open(&gate);
    test_run_until(context, &dones, 2);
    assert_int_equal(owner.last_status, 0);
    assert_int_equal(frees, 2);
    close_lane(context, &owner);
    test_wait_for(&exits, 1);
}

static void a_job_that_had_not_begun_by_its_deadline_never_runs(void **state)
{
    struct kvmig_context *context = *state;
    struct test_gate gate = TEST_GATE_INIT;
    struct owner owner = open_lane(context);

    submit_locked(context, &owner, &gate, 0, -1);
    test_wait_for(&gate.waiting, 1);
    submit_locked(context, &owner, NULL, 1, 5);
    test_run_until(context, &dones, 1);
    assert_int_equal(owner.last_status, -ETIMEDOUT);
    assert_int_equal(frees, 1);
    assert_int_equal(pending(context, &owner), 1);
    assert_false(is_stuck(context, &owner)); /* the running job has no deadline and still has its owner */
    submit_locked(context, &owner, NULL, 2, -1); /* the queue is whole after one was taken out of it */
    test_gate_open(&gate);
    test_wait_for(&runs, 2);
    close_lane(context, &owner);
    test_wait_for(&exits, 1);
    assert_int_equal(runs, 2);
    test_drain(context);
    assert_int_equal(frees, 3);
}

static void a_result_that_is_there_at_the_deadline_counts(void **state)
{
    struct kvmig_context *context = *state;
    struct test_gate gate = TEST_GATE_INIT;
    struct owner owner = open_lane(context);

    submit_locked(context, &owner, NULL, 0, 1);
    submit_locked(context, &owner, &gate, 1, -1);
    test_wait_for(&gate.waiting, 1); /* so the result of the first is there */
    poll(NULL, 0, 5); /* and its deadline has passed */
    test_run_until(context, &dones, 1);
    assert_int_equal(owner.last_status, 0);
    test_gate_open(&gate);
    test_run_until(context, &dones, 2);
    close_lane(context, &owner);
    test_wait_for(&exits, 1);
    assert_int_equal(frees, 2);
}

/* ---- the owner goes ---- */

static void closing_a_lane_frees_what_is_queued_and_forgets_what_runs(void **state)
{
    struct kvmig_context *context = *state;
    struct test_gate gate = TEST_GATE_INIT;
    struct owner owner = open_lane(context);

    submit_locked(context, &owner, &gate, 0, TEST_DEADLINE_MS);
    submit_locked(context, &owner, NULL, 1, TEST_DEADLINE_MS);
    submit_locked(context, &owner, NULL, 2, -1);
    test_wait_for(&gate.waiting, 1);
    close_lane(context, &owner);
    assert_int_equal(frees, 2);
    assert_int_equal(exits, 0);
    test_gate_open(&gate);
    test_wait_for(&exits, 1);
    assert_int_equal(frees, 3);
    test_drain(context);
    assert_int_equal(dones, 0);
    assert_int_equal(runs, 1);
}

static void closing_a_lane_forgets_results_that_wait_for_dispatch(void **state)
{
    struct kvmig_context *context = *state;
    struct owner owner = open_lane(context);

    submit_locked(context, &owner, NULL, 0, -1);
    assert_true(test_readable(context, TEST_DEADLINE_MS));
    close_lane(context, &owner);
    test_wait_for(&exits, 1);
    test_drain(context);
    assert_int_equal(dones, 0);
    assert_int_equal(frees, 1);
}

static void a_context_ends_without_waiting_for_a_hanging_thread(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct test_gate gate = TEST_GATE_INIT;
    struct owner hanging = open_lane(context), given_up = open_lane(context), idle = open_lane(context);

    (void)state;
    submit_locked(context, &given_up, &gate, 0, 1);
    test_wait_for(&gate.waiting, 1);
    test_run_until(context, &dones, 1);
    submit_locked(context, &hanging, &gate, 1, -1);
    submit_locked(context, &hanging, NULL, 2, -1);
    submit_locked(context, &idle, NULL, 3, -1);
    test_wait_for(&gate.waiting, 2);
    test_wait_for(&runs, 1);
    kvmig_context_unref(context); /* would never return if it waited: the gate is closed */
    test_wait_for(&exits, 1); /* the idle one */
    assert_int_equal(frees, 2); /* the queued job, and the result that was never looked at */
    test_gate_open(&gate);
    test_wait_for(&exits, 3);
    assert_int_equal(frees, 4);
    assert_int_equal(dones, 1);
}

static void a_lane_may_be_closed_long_before_its_hanging_job_and_the_context_end(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct test_gate gate = TEST_GATE_INIT;
    struct owner owner = open_lane(context);

    (void)state;
    submit_locked(context, &owner, &gate, 0, -1);
    test_wait_for(&gate.waiting, 1);
    close_lane(context, &owner);
    kvmig_context_unref(context);
    assert_int_equal(frees, 0);
    test_gate_open(&gate);
    test_wait_for(&exits, 1);
    assert_int_equal(frees, 1);
    assert_int_equal(dones, 0);
}

static void closing_races_with_jobs_that_end(void **state)
{
    struct kvmig_context *context = *state;

    for (int i = 0; i < 200; i++) {
        struct owner owner = open_lane(context);

        submit_locked(context, &owner, NULL, 0, i % 2 ? 0 : -1);
        submit_locked(context, &owner, NULL, 0, -1);
        if (i % 3)
            kvmig_context_dispatch(context);
        close_lane(context, &owner);
        test_wait_for(&exits, i + 1);
        test_drain(context);
        assert_int_equal(frees, 2 * (i + 1));
        runs = dones = 0;
    }
}

static void the_end_of_a_context_races_with_jobs_that_end(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct kvmig_context *context = test_context_new(0);
        struct owner owner = open_lane(context);

        runs = 0;
        submit_locked(context, &owner, NULL, 0, -1);
        if (i % 2)
            test_wait_for(&runs, 1);
        kvmig_context_unref(context);
        test_wait_for(&exits, i + 1);
        assert_int_equal(frees, i + 1);
    }
}

/* ---- no thread to be had; the linker sends the library's calls here ---- */

static bool deny_threads;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *data);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *data)
{
    return deny_threads ? EAGAIN : __real_pthread_create(thread, attr, fn, data);
}

static void without_a_thread_the_job_ends_with_an_error_in_dispatch(void **state)
{
    struct kvmig_context *context = *state;
    struct owner owner = open_lane(context);

    deny_threads = true;
    submit_locked(context, &owner, NULL, 0, TEST_DEADLINE_MS);
    assert_int_equal(dones, 0); /* never inside submit */
    assert_int_equal(pending(context, &owner), 1);
    assert_true(test_readable(context, 0));
    test_drain(context);
    deny_threads = false;
    assert_int_equal(dones, 1);
    assert_int_equal(owner.last_status, -EAGAIN);
    assert_false(owner.last_had_payload);
    assert_int_equal(frees, 1);
    submit_locked(context, &owner, NULL, 0, TEST_DEADLINE_MS); /* the next job tries again */
    test_run_until(context, &dones, 2);
    assert_int_equal(owner.last_status, 0);
    close_lane(context, &owner);
    test_wait_for(&exits, 1);
}

static void without_a_thread_a_context_of_its_own_thread_is_not_made(void **state)
{
    struct kvmig_context_opts opts = KVMIG_CONTEXT_OPTS_INIT;
    struct kvmig_context *context = *state;

    opts.flags = KVMIG_CONTEXT_THREAD;
    deny_threads = true;
    assert_int_equal(kvmig_context_new(&opts, &context), -EAGAIN);
    deny_threads = false;
    assert_null(context);
    assert_string_equal(kvmig_error_evidence(kvmig_error_last()), "EAGAIN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_result_makes_the_descriptor_readable_and_is_handed_over),
        TEST(jobs_run_one_after_another_in_order),
        TEST(dispatch_hands_over_a_bounded_number_of_results),
        TEST(done_may_submit_and_close),
        TEST(a_lane_that_never_ran_a_job_has_no_thread_and_ends_at_once),
        TEST(a_hanging_job_is_given_up_and_freed_when_it_comes_back),
        TEST(a_lane_works_on_after_a_hanging_job_came_back),
        TEST(a_job_that_had_not_begun_by_its_deadline_never_runs),
        TEST(a_result_that_is_there_at_the_deadline_counts),
        TEST(closing_a_lane_frees_what_is_queued_and_forgets_what_runs),
        TEST(closing_a_lane_forgets_results_that_wait_for_dispatch),
        TEST(a_context_ends_without_waiting_for_a_hanging_thread),
        TEST(a_lane_may_be_closed_long_before_its_hanging_job_and_the_context_end),
        TEST(closing_races_with_jobs_that_end),
        TEST(the_end_of_a_context_races_with_jobs_that_end),
        TEST(without_a_thread_the_job_ends_with_an_error_in_dispatch),
        TEST(without_a_thread_a_context_of_its_own_thread_is_not_made),
#undef TEST
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
