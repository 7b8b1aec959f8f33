/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contexts that dispatch on a thread of the library, and contexts without an owner that have work to end.
 */
#include "context_test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

struct note {
    struct kvmig_context *context;
    void (*act)(struct note *note);
    int32_t result;
    struct test_gate *gate;
    _Atomic int calls, drops;
    pthread_t thread;
    int signals_blocked;
};

static void note_fn(void *data)
{
    struct note *note = data;
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    note->signals_blocked = sigismember(&mask, SIGTERM);
    note->thread = pthread_self();
    if (note->act)
        note->act(note);
    note->calls++;
}

static void note_drop(void *data)
{
    struct note *note = data;

    note->drops++;
}

static void deliver(struct note *note, bool final)
{
    kvmig__context_lock(note->context);
    kvmig__context_deliver(note->context, note_fn, note_drop, note, final);
    kvmig__context_unlock(note->context);
}

static void callbacks_run_on_the_thread_of_the_library(void **state)
{
    struct kvmig_context *context = test_context_new(KVMIG_CONTEXT_THREAD);
    struct note note = { .context = context };

    (void)state;
    deliver(&note, false);
    test_run_until(context, &note.calls, 1);
    assert_false(pthread_equal(note.thread, pthread_self()));
    assert_int_equal(note.signals_blocked, 1);
    kvmig_context_unref(context);
}

static void run_only_waits_and_dispatch_is_refused(void **state)
{
    struct kvmig_context *context = test_context_new(KVMIG_CONTEXT_THREAD);

    (void)state;
    assert_int_equal(kvmig_context_get_fd(context), -EBUSY);
    assert_int_equal(kvmig_context_dispatch(context), -EBUSY);
    assert_int_equal(kvmig_context_run(context, NULL, NULL, 0), -ETIMEDOUT);
    assert_int_equal(kvmig_context_run(context, NULL, NULL, 5), -ETIMEDOUT);
    kvmig_context_unref(context);
}

static void call_run(struct note *note)
{
    note->result = kvmig_context_run(note->context, NULL, NULL, -1);
}

static void run_from_a_callback_is_refused(void **state)
{
    struct kvmig_context *context = test_context_new(KVMIG_CONTEXT_THREAD);
    struct note note = { .context = context, .act = call_run };

    (void)state;
    deliver(&note, false);
    test_run_until(context, &note.calls, 1);
    assert_int_equal(note.result, -EBUSY);
    kvmig_context_unref(context);
}

static _Atomic int flag;

static int32_t flag_is_set(void *data)
{
    (void)data;
    return flag;
}

static void *set_flag_and_wake(void *data)
{
    poll(NULL, 0, 5);
    flag = 1;
    kvmig_context_wake(data);
    return NULL;
}

static void wake_makes_run_ask_again(void **state)
{
    struct kvmig_context *context = test_context_new(KVMIG_CONTEXT_THREAD);
    pthread_t thread;

    (void)state;
    flag = 0;
    assert_int_equal(pthread_create(&thread, NULL, set_flag_and_wake, context), 0);
    assert_int_equal(kvmig_context_run(context, flag_is_set, NULL, -1), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    kvmig_context_unref(context);
}

static void wait_at_gate(struct note *note)
{
    test_gate_pass(note->gate);
}

static void after_unref_returned_no_callback_runs(void **state)
{
    struct kvmig_context *context = test_context_new(KVMIG_CONTEXT_THREAD);
    struct test_gate gate = TEST_GATE_INIT;
    struct note first = { .context = context, .act = wait_at_gate, .gate = &gate };
    struct note dropped = { .context = context }, final = { .context = context };

    (void)state;
    deliver(&first, false);
    test_wait_for(&gate.waiting, 1);
    deliver(&dropped, false);
    deliver(&final, true);
    kvmig__context_lock(context);
    kvmig__context_disown(context); /* as unref does, but without waiting */
    test_gate_open(&gate);
    kvmig__context_unlock(context);
    assert_int_equal(first.calls, 1);
    assert_int_equal(dropped.calls, 0);
    assert_int_equal(dropped.drops, 1);
    assert_int_equal(final.calls, 1);
}

static void let_go(struct note *note)
{
    kvmig_context_unref(note->context);
}

static void the_last_owner_may_let_go_in_a_callback(void **state)
{
    struct kvmig_context *context = test_context_new(KVMIG_CONTEXT_THREAD);
    struct note first = { .context = context, .act = let_go }, final = { .context = context };

    (void)state;
    kvmig__context_lock(context);
    kvmig__context_deliver(context, note_fn, note_drop, &first, false);
    kvmig__context_deliver(context, note_fn, note_drop, &final, true);
    kvmig__context_unlock(context);
    test_wait_for(&final.calls, 1);
    assert_int_equal(first.calls, 1);
}

/* ---- work without an owner ---- */

struct work {
    struct kvmig_context *context;
    struct kvmig__lane *lane;
    struct test_gate gate;
    struct note final, dropped;
    _Atomic int done, freed, exited;
    _Atomic int ended_well;
};

static void work_run(void *data)
{
    struct work *work = data;

    test_gate_pass(&work->gate);
}

static void work_done(void *owner, void *payload, int32_t status)
{
    struct work *work = owner;

    work->ended_well = payload == work && status == 0;
    kvmig__context_deliver(work->context, note_fn, note_drop, &work->dropped, false);
    kvmig__context_deliver(work->context, note_fn, note_drop, &work->final, true);
    kvmig__lane_close(work->lane);
    kvmig__context_release(work->context);
    work->done++;
}

static void work_free(void *data)
{
    struct work *work = data;

    work->freed++;
}

static void work_exit(void *data)
{
    struct work *work = data;

    work->exited++;
}

static const struct kvmig__job_type work_type = { "work", work_run, work_done, work_free };

static void start_work(struct work *work, struct kvmig_context *context)
{
    work->context = context;
    kvmig__context_lock(context);
    kvmig__context_hold(context);
    work->lane = kvmig__lane_new(context, "work");
    kvmig__lane_set_exit(work->lane, work_exit, work);
    kvmig__lane_submit(work->lane, &work_type, work, work, -1);
    kvmig__context_unlock(context);
}

static void work_goes_on_without_an_owner_and_then_the_context_ends(void **state)
{
    static const uint32_t flags[] = { 0, KVMIG_CONTEXT_THREAD };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(flags); i++) {
        struct kvmig_context *context = test_context_new(flags[i]);
        struct work work = { .gate = TEST_GATE_INIT };
        struct note dropped = { .context = context }, final = { .context = context };

        start_work(&work, context);
        test_wait_for(&work.gate.waiting, 1);
        if (flags[i] == 0) {
            deliver(&dropped, false);
            deliver(&final, true);
        }
        kvmig_context_unref(context); /* does not wait for the work */
        assert_int_equal(work.done, 0);
        assert_int_equal(final.calls, flags[i] == 0);
        assert_int_equal(dropped.drops, flags[i] == 0);
        test_gate_open(&work.gate);
        test_wait_for(&work.final.calls, 1);
        test_wait_for(&work.dropped.drops, 1);
        test_wait_for(&work.exited, 1);
        assert_int_equal(work.done, 1);
        assert_int_equal(work.ended_well, 1);
        assert_int_equal(work.freed, 1);
        assert_int_equal(work.dropped.calls, 0);
    }
}

static void count_free(void *counter)
{
    ++*(_Atomic int *)counter;
}

static void the_log_callback_ends_with_the_last_owner_not_with_the_work(void **state)
{
    static const uint32_t flags[] = { 0, KVMIG_CONTEXT_THREAD };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(flags); i++) {
        struct kvmig_context_opts opts = KVMIG_CONTEXT_OPTS_INIT;
        struct kvmig_context *context = NULL;
        struct work work = { .gate = TEST_GATE_INIT };
        _Atomic int frees = 0;

        opts.flags = flags[i];
        opts.on_log = (struct kvmig_log_callback){ NULL, &frees, count_free };
        assert_int_equal(kvmig_context_new(&opts, &context), 0);
        start_work(&work, context);
        kvmig_context_unref(context);
        assert_int_equal(frees, 1);
        test_gate_open(&work.gate);
        test_wait_for(&work.exited, 1);
        test_wait_for(&work.dropped.drops, 1);
        test_wait_for(&work.final.calls, 1);
        assert_int_equal(frees, 1);
    }
}

static void work_that_ends_before_the_owner_goes_needs_no_thread(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct work work = { .gate = TEST_GATE_INIT };

    (void)state;
    start_work(&work, context);
    test_gate_open(&work.gate);
    test_run_until(context, &work.dropped.calls, 1);
    assert_int_equal(work.final.calls, 1);
    assert_true(pthread_equal(work.final.thread, pthread_self()));
    kvmig_context_unref(context);
    test_wait_for(&work.exited, 1);
}

/* The linker sends the library's calls here. */
static bool deny_threads;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *data);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *data)
{
    return deny_threads ? EAGAIN : __real_pthread_create(thread, attr, fn, data);
}

static void without_a_thread_the_work_of_no_owner_is_given_up(void **state)
{
    static struct kvmig_context *context; /* its memory stays with the work that nobody ends */
    struct work work = { .gate = TEST_GATE_INIT };
    struct note final = { 0 };

    (void)state;
    context = final.context = test_context_new(0);
    start_work(&work, context);
    test_wait_for(&work.gate.waiting, 1);
    deliver(&final, true);
    deny_threads = true;
    kvmig_context_unref(context);
    deny_threads = false;
    assert_int_equal(final.calls, 1);
    assert_int_equal(work.done, 0);
    test_gate_open(&work.gate);
    test_wait_for(&work.exited, 1);
    test_wait_for(&work.freed, 1);
    assert_int_equal(work.done, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callbacks_run_on_the_thread_of_the_library),
        cmocka_unit_test(run_only_waits_and_dispatch_is_refused),
        cmocka_unit_test(run_from_a_callback_is_refused),
        cmocka_unit_test(wake_makes_run_ask_again),
        cmocka_unit_test(after_unref_returned_no_callback_runs),
        cmocka_unit_test(the_last_owner_may_let_go_in_a_callback),
        cmocka_unit_test(work_goes_on_without_an_owner_and_then_the_context_ends),
        cmocka_unit_test(the_log_callback_ends_with_the_last_owner_not_with_the_work),
        cmocka_unit_test(work_that_ends_before_the_owner_goes_needs_no_thread),
        cmocka_unit_test(without_a_thread_the_work_of_no_owner_is_given_up),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
