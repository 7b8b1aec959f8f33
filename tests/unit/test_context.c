/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The context on the caller's thread: making and ending it, deliveries, dispatch and run, who may call what from where.
 */
#include "context_test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* What a delivery does, and what became of it. */
struct note {
    struct kvmig_context *context;
    char name;
    void (*act)(struct note *note); /* in the callback; may be NULL */
    int32_t result; /* of act */
    _Atomic int *called; /* may be NULL */
};

static char trace[512]; /* names of deliveries, upper case if dropped */
static int depth; /* deliveries on the stack */
static pthread_t called_on;

static void trace_add(char c)
{
    size_t n = strlen(trace);

    assert_true(n + 1 < sizeof(trace));
    trace[n] = c;
}

static void note_fn(void *data)
{
    struct note *note = data;

    assert_int_equal(depth++, 0);
    called_on = pthread_self();
    trace_add(note->name);
    if (note->act)
        note->act(note);
    if (note->called)
        (*note->called)++;
    depth--;
}

static void note_drop(void *data)
{
    struct note *note = data;

    trace_add((char)(note->name - 'a' + 'A'));
}

static void deliver(struct note *note, bool final)
{
    kvmig__context_lock(note->context);
    kvmig__context_deliver(note->context, note_fn, note_drop, note, final);
    kvmig__context_unlock(note->context);
}

static int setup(void **state)
{
    memset(trace, 0, sizeof(trace));
    depth = 0;
    *state = test_context_new(0);
    return 0;
}

static int teardown(void **state)
{
    kvmig_context_unref(*state);
    return 0;
}

/* ---- making ---- */

static _Atomic int log_frees;

static void count_log_free(void *data)
{
    assert_ptr_equal(data, &log_frees);
    log_frees++;
}

static void options_are_initialised_at_run_time_as_by_the_macro(void **state)
{
    const struct kvmig_context_opts fresh = KVMIG_CONTEXT_OPTS_INIT;
    struct kvmig_context_opts opts;

    (void)state;
    memset(&opts, 0xff, sizeof(opts));
    assert_int_equal(kvmig_context_opts_init(&opts, sizeof(opts)), 0);
    assert_memory_equal(&opts, &fresh, sizeof(opts));
    assert_int_equal(kvmig_context_opts_init(&opts, sizeof(opts.size) - 1), -EINVAL);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "kvmig_context_opts_init");
    assert_int_equal(kvmig_context_opts_init(NULL, sizeof(opts)), -EINVAL);
}

static void bad_options_are_refused_and_their_callback_is_freed_once(void **state)
{
    struct {
        struct kvmig_context_opts opts;
        uint64_t newer;
    } big = { .opts = KVMIG_CONTEXT_OPTS_INIT };
    struct kvmig_context *context = NULL;
    struct kvmig_context_opts *opts = &big.opts;

    (void)state;
    log_frees = 0;
    opts->on_log = (struct kvmig_log_callback){ NULL, &log_frees, count_log_free };
    opts->flags = 1u << 31;
    assert_int_equal(kvmig_context_new(opts, &context), -EINVAL);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "opts.flags");
    assert_int_equal(log_frees, 1);
    opts->flags = 0;
    opts->log_level = 9;
    assert_int_equal(kvmig_context_new(opts, &context), -EINVAL);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "opts.log_level");
    assert_string_equal(kvmig_error_evidence(kvmig_error_last()), "log_level = 9");
    assert_int_equal(log_frees, 2);
    opts->log_level = 0;
    assert_int_equal(kvmig_context_new(opts, NULL), -EINVAL);
    assert_int_equal(log_frees, 3);
    opts->size = sizeof(big);
    big.newer = 1;
    assert_int_equal(kvmig_context_new(opts, &context), -E2BIG);
    assert_int_equal(log_frees, 4);
    opts->size = 0;
    assert_int_equal(kvmig_context_new(opts, &context), -EINVAL);
    assert_int_equal(log_frees, 4); /* a struct without a size has no members */
    assert_null(context);
    assert_int_equal(kvmig_context_new(NULL, &context), 0);
    kvmig_context_unref(context);
}

static void calls_without_a_context_fail_or_do_nothing(void **state)
{
    (void)state;
    assert_int_equal(kvmig_context_get_fd(NULL), -EINVAL);
    assert_int_equal(kvmig_context_dispatch(NULL), -EINVAL);
    assert_int_equal(kvmig_context_run(NULL, NULL, NULL, 0), -EINVAL);
    assert_null(kvmig_context_ref(NULL));
    kvmig_context_unref(NULL);
    kvmig_context_wake(NULL);
}

/* ---- deliveries ---- */

static void deliveries_run_in_order_on_the_dispatching_thread(void **state)
{
    struct kvmig_context *context = *state;
    struct note notes[] = { { .context = context, .name = 'a' },
                            { .context = context, .name = 'b' },
                            { .context = context, .name = 'c' } };

    assert_false(test_readable(context, 0));
    for (size_t i = 0; i < 3; i++)
        deliver(&notes[i], i == 1);
    assert_string_equal(trace, "");
    assert_true(test_readable(context, 0));
    assert_int_equal(kvmig_context_dispatch(context), 0);
    assert_string_equal(trace, "abc");
    assert_true(pthread_equal(called_on, pthread_self()));
    assert_false(test_readable(context, 0));
}

static void dispatch_runs_a_bounded_number_of_deliveries(void **state)
{
    struct kvmig_context *context = *state;
    struct note note = { .context = context, .name = 'a' };

    for (int i = 0; i < 300; i++)
        deliver(&note, false);
    assert_int_equal(kvmig_context_dispatch(context), 1);
    assert_true(strlen(trace) > 0 && strlen(trace) < 300);
    assert_true(test_readable(context, 0));
    test_drain(context);
    assert_int_equal(strlen(trace), 300);
    assert_false(test_readable(context, 0));
}

static void deliver_again(struct note *note)
{
    if (strlen(trace) < 5)
        deliver(note, false);
}

static void a_callback_may_cause_deliveries_which_run_after_it_from_a_clean_stack(void **state)
{
    struct kvmig_context *context = *state;
    struct note note = { .context = context, .name = 'a', .act = deliver_again };

    deliver(&note, false);
    test_drain(context);
    assert_string_equal(trace, "aaaaa");
}

static void call_public_functions(struct note *note)
{
    struct kvmig_context *other = test_context_new(0);

    kvmig_context_unref(kvmig_context_ref(note->context));
    assert_true(kvmig_context_get_fd(note->context) >= 0);
    kvmig_context_wake(note->context);
    assert_int_equal(kvmig_context_dispatch(other), 0); /* another context may be dispatched */
    kvmig_context_unref(other);
    note->result = 1;
}

static void a_callback_may_call_the_library(void **state)
{
    struct note note = { .context = *state, .name = 'a', .act = call_public_functions };

    deliver(&note, false);
    test_drain(*state);
    assert_int_equal(note.result, 1);
}

/* ---- who may dispatch ---- */

static void dispatch_nested(struct note *note)
{
    note->result = kvmig_context_dispatch(note->context);
}

static void run_nested(struct note *note)
{
    note->result = kvmig_context_run(note->context, NULL, NULL, 0);
}

static int32_t dispatch_in_condition(void *data)
{
    return kvmig_context_dispatch(data) == -EBUSY;
}

static void dispatch_and_run_from_inside_a_callback_are_refused(void **state)
{
    struct kvmig_context *context = *state;
    struct note a = { .context = context, .name = 'a', .act = dispatch_nested };
    struct note b = { .context = context, .name = 'b', .act = run_nested };

    deliver(&a, false);
    deliver(&b, false);
    test_drain(context);
    assert_int_equal(a.result, -EBUSY);
    assert_int_equal(b.result, -EBUSY);
    assert_string_not_equal(kvmig_error_hint(kvmig_error_last()), "");
    assert_int_equal(kvmig_context_run(context, dispatch_in_condition, context, 0), 0);
}

struct other_thread {
    struct kvmig_context *context;
    int32_t dispatch_result, run_result;
};

static void *dispatch_elsewhere(void *data)
{
    struct other_thread *other = data;

    other->dispatch_result = kvmig_context_dispatch(other->context);
    other->run_result = kvmig_context_run(other->context, NULL, NULL, 0);
    return NULL;
}

static void let_other_thread_try(struct note *note)
{
    struct other_thread other = { note->context, 0, 0 };
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, dispatch_elsewhere, &other), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    note->result = other.dispatch_result == other.run_result ? other.dispatch_result : 0;
}

static void a_second_thread_may_not_dispatch_at_the_same_time_but_afterwards(void **state)
{
    struct kvmig_context *context = *state;
    struct note note = { .context = context, .name = 'a', .act = let_other_thread_try };
    struct other_thread after = { context, 1, 1 };
    pthread_t thread;

    deliver(&note, false);
    test_drain(context);
    assert_int_equal(note.result, -EBUSY);
    assert_int_equal(pthread_create(&thread, NULL, dispatch_elsewhere, &after), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(after.dispatch_result, 0);
    assert_int_equal(after.run_result, -ETIMEDOUT);
}

static void a_forked_child_cannot_use_the_context(void **state)
{
    struct kvmig_context *context = *state;
    struct note note = { .context = context, .name = 'a' };
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        int ok = kvmig_context_get_fd(context) == -ECHILD && kvmig_context_dispatch(context) == -ECHILD &&
                 kvmig_context_run(context, NULL, NULL, 0) == -ECHILD;

        kvmig_context_unref(context); /* changes nothing for the parent */
        _exit(ok ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    deliver(&note, false);
    test_drain(context);
    assert_string_equal(trace, "a");
}

/* ---- run ---- */

static int32_t count_and_never(void *data)
{
    ++*(int *)data;
    return 0;
}

static int32_t at_once(void *data)
{
    (void)data;
    return 1;
}

static void run_asks_before_it_waits(void **state)
{
    assert_int_equal(kvmig_context_run(*state, at_once, NULL, -1), 0);
}

static void run_without_time_dispatches_once_and_times_out(void **state)
{
    struct note note = { .context = *state, .name = 'a' };
    int asked = 0;

    deliver(&note, false);
    assert_int_equal(kvmig_context_run(*state, count_and_never, &asked, 0), -ETIMEDOUT);
    assert_string_equal(trace, "a");
    assert_int_equal(asked, 2);
    assert_int_equal(kvmig_context_run(*state, NULL, NULL, 5), -ETIMEDOUT);
    assert_int_equal(kvmig_context_run(*state, NULL, NULL, -2), -EINVAL);
    assert_int_equal(kvmig_context_run(*state, at_once, NULL, INT64_MAX), 0);
}

static _Atomic int flag, stop_signals;

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

static void wake_from_another_thread_makes_run_ask_again(void **state)
{
    pthread_t thread;

    flag = 0;
    assert_int_equal(pthread_create(&thread, NULL, set_flag_and_wake, *state), 0);
    assert_int_equal(kvmig_context_run(*state, flag_is_set, NULL, -1), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void set_flag(int signal_number)
{
    (void)signal_number;
    flag = 1;
}

/* The signal may come before run waits: then it is sent again. */
static void *send_signals(void *data)
{
    const pthread_t *target = data;

    do {
        poll(NULL, 0, 2);
        pthread_kill(*target, SIGUSR1);
    } while (!stop_signals);
    return NULL;
}

static void a_signal_handler_makes_run_ask_again(void **state)
{
    struct sigaction action = { .sa_handler = set_flag }, old;
    pthread_t self = pthread_self(), thread;

    flag = stop_signals = 0;
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    assert_int_equal(pthread_create(&thread, NULL, send_signals, &self), 0);
    assert_int_equal(kvmig_context_run(*state, flag_is_set, NULL, -1), 0);
    stop_signals = 1;
    assert_int_equal(pthread_join(thread, NULL), 0);
    sigaction(SIGUSR1, &old, NULL);
}

/* ---- the end ---- */

static void with_the_last_owner_only_final_deliveries_run(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct note notes[] = { { .context = context, .name = 'a' },
                            { .context = context, .name = 'b' },
                            { .context = context, .name = 'c' },
                            { .context = context, .name = 'd' } };

    (void)state;
    for (size_t i = 0; i < 4; i++)
        deliver(&notes[i], i % 2 == 1);
    kvmig_context_ref(context);
    kvmig_context_unref(context);
    assert_string_equal(trace, "");
    kvmig_context_unref(context);
    assert_string_equal(trace, "AbCd");
    assert_true(pthread_equal(called_on, pthread_self()));
}

static void a_handle_keeps_the_context_open(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct note note = { .context = context, .name = 'a' };

    (void)state;
    kvmig__context_lock(context);
    kvmig__context_own(context);
    kvmig__context_unlock(context);
    kvmig_context_unref(context);
    deliver(&note, false);
    test_drain(context);
    assert_string_equal(trace, "a");
    deliver(&note, true);
    kvmig__context_lock(context);
    kvmig__context_disown(context);
    assert_string_equal(trace, "a"); /* not before the lock is free */
    kvmig__context_unlock(context);
    assert_string_equal(trace, "aa");
}

static void let_go(struct note *note)
{
    kvmig_context_unref(note->context);
}

static void letting_go_in_a_callback_ends_the_context_after_dispatch(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct note notes[] = { { .context = context, .name = 'a', .act = let_go },
                            { .context = context, .name = 'b' },
                            { .context = context, .name = 'c' } };

    (void)state;
    for (size_t i = 0; i < 3; i++)
        deliver(&notes[i], i == 2);
    assert_int_equal(kvmig_context_dispatch(context), 0);
    assert_string_equal(trace, "aBc");
}

static void letting_go_in_a_callback_ends_run(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct note notes[] = { { .context = context, .name = 'a', .act = let_go }, { .context = context, .name = 'b' } };

    (void)state;
    deliver(&notes[0], false);
    deliver(&notes[1], true);
    assert_int_equal(kvmig_context_run(context, NULL, NULL, -1), -ECANCELED);
    assert_string_equal(trace, "ab");
}

static void nothing_is_left_of_a_context_that_never_ran(void **state)
{
    struct kvmig_context_opts opts = KVMIG_CONTEXT_OPTS_INIT;
    struct kvmig_context *context;

    (void)state;
    log_frees = 0;
    opts.on_log = (struct kvmig_log_callback){ NULL, &log_frees, count_log_free };
    assert_int_equal(kvmig_context_new(&opts, &context), 0);
    assert_int_equal(log_frees, 0);
    kvmig_context_unref(context);
    assert_int_equal(log_frees, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(options_are_initialised_at_run_time_as_by_the_macro),
        TEST(bad_options_are_refused_and_their_callback_is_freed_once),
        TEST(calls_without_a_context_fail_or_do_nothing),
        TEST(deliveries_run_in_order_on_the_dispatching_thread),
        TEST(dispatch_runs_a_bounded_number_of_deliveries),
        TEST(a_callback_may_cause_deliveries_which_run_after_it_from_a_clean_stack),
        TEST(a_callback_may_call_the_library),
        TEST(dispatch_and_run_from_inside_a_callback_are_refused),
        TEST(a_second_thread_may_not_dispatch_at_the_same_time_but_afterwards),
        TEST(a_forked_child_cannot_use_the_context),
        TEST(run_asks_before_it_waits),
        TEST(run_without_time_dispatches_once_and_times_out),
        TEST(wake_from_another_thread_makes_run_ask_again),
        TEST(a_signal_handler_makes_run_ask_again),
        TEST(with_the_last_owner_only_final_deliveries_run),
        TEST(a_handle_keeps_the_context_open),
        TEST(letting_go_in_a_callback_ends_the_context_after_dispatch),
        TEST(letting_go_in_a_callback_ends_run),
        TEST(nothing_is_left_of_a_context_that_never_ran),
#undef TEST
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
