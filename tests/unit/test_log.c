/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log: levels from options and from KVMIG_LOG, where messages go, what happens when nobody dispatches.
 */
#include "context_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct collected {
    char *text; /* one line per message */
    _Atomic int n;
    int frees;
    struct kvmig_context *log_back; /* logs from inside the callback, twice */
};

static void collect(int32_t level, const char *module, const char *message, void *user_data)
{
    struct collected *collected = user_data;
    char *text = kvmig__asprintf("%s%s %s: %s\n", collected->text ? collected->text : "", kvmig_log_level_name(level),
                                 module, message);

    assert_int_equal(collected->frees, 0);
    free(collected->text);
    collected->text = text;
    if (collected->n++ < 2 && collected->log_back)
        kvmig__log(collected->log_back, KVMIG_LOG_ERROR, "plan", "again");
}

static void collected_free(void *user_data)
{
    struct collected *collected = user_data;

    collected->frees++;
}

static struct kvmig_context *open_log(struct collected *collected, int32_t level, const char *environment)
{
    struct kvmig_context_opts opts = KVMIG_CONTEXT_OPTS_INIT;
    struct kvmig_context *context = NULL;

    if (environment)
        assert_int_equal(setenv("KVMIG_LOG", environment, 1), 0);
    else
        assert_int_equal(unsetenv("KVMIG_LOG"), 0);
    opts.log_level = level;
    if (collected)
        opts.on_log = (struct kvmig_log_callback){ collect, collected, collected_free };
    assert_int_equal(kvmig_context_new(&opts, &context), 0);
    unsetenv("KVMIG_LOG");
    return context;
}

static void close_log(struct kvmig_context *context, struct collected *collected)
{
    kvmig_context_unref(context);
    assert_int_equal(collected->frees, 1);
    free(collected->text);
    collected->text = NULL;
}

/* The levels of context, cluster, plan, session, libvirt as digits. */
static void assert_levels(struct kvmig_context *context, const char *expected)
{
    static const char *const modules[] = { "context", "cluster", "plan", "session", "libvirt" };
    char levels[6] = "";

    for (size_t i = 0; i < 5; i++) {
        for (int32_t level = KVMIG_LOG_ERROR; level <= KVMIG_LOG_DEBUG; level++) {
            if (kvmig__log_enabled(context, level, modules[i]))
                levels[i] = (char)('0' + level);
        }
    }
    assert_string_equal(levels, expected);
}

static void levels_come_from_the_option_or_the_environment(void **state)
{
    static const struct {
        int32_t option;
        const char *environment, *levels;
        bool complains;
    } cases[] = {
        { 0, NULL, "22222", false },
        { 0, "", "22222", false },
        { KVMIG_LOG_ERROR, NULL, "11111", false },
        { KVMIG_LOG_INFO, "debug,nonsense", "33333", false }, /* the option wins, the variable is not read */
        { 0, "debug", "44444", false },
        { 0, "error,session=debug,libvirt=info", "11143", false },
        { 0, "session=debug,error", "11141", false }, /* the order does not matter */
        { 0, " info , plan=error ", "33133", false },
        { 0, "loud", "22222", true },
        { 0, "info,session=loud,=debug,nowhere=debug,plan=debug", "33433", true },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct collected collected = { 0 };
        struct kvmig_context *context = open_log(&collected, cases[i].option, cases[i].environment);

        assert_levels(context, cases[i].levels);
        test_drain(context);
        assert_int_equal(collected.n, cases[i].complains);
        close_log(context, &collected);
    }
    assert_false(kvmig__log_enabled(NULL, KVMIG_LOG_ERROR, "session"));
}

static void unknown_words_are_reported_once_in_one_message(void **state)
{
    struct collected collected = { 0 };
    struct kvmig_context *context = open_log(&collected, 0, "loud,plan=x,loud");

    (void)state;
    assert_true(test_readable(context, 0));
    test_drain(context);
    assert_int_equal(collected.n, 1);
    assert_non_null(strstr(collected.text, "warn context: KVMIG_LOG: not understood: loud plan=x ("));
    close_log(context, &collected);
}

static void messages_are_delivered_in_dispatch_and_filtered(void **state)
{
    struct collected collected = { 0 };
    struct kvmig_context *context = open_log(&collected, 0, "info,libvirt=error");

    (void)state;
    kvmig__log(context, KVMIG_LOG_INFO, "session", "phase %d\nof %s", 3, "a\tb");
    kvmig__log(context, KVMIG_LOG_DEBUG, "session", "no");
    kvmig__log(context, KVMIG_LOG_WARN, "libvirt", "no");
    kvmig__context_lock(context);
    kvmig__log(context, KVMIG_LOG_ERROR, "libvirt", "with the lock held");
    kvmig__context_unlock(context);
    assert_int_equal(collected.n, 0);
    assert_true(test_readable(context, 0));
    test_drain(context);
    assert_string_equal(collected.text, "info session: phase 3 of a b\nerror libvirt: with the lock held\n");
    close_log(context, &collected);
}

static void a_log_callback_may_cause_messages(void **state)
{
    struct collected collected = { 0 };
    struct kvmig_context *context = open_log(&collected, 0, NULL);

    (void)state;
    collected.log_back = context;
    kvmig__log(context, KVMIG_LOG_ERROR, "plan", "first");
    test_drain(context);
    assert_string_equal(collected.text, "error plan: first\nerror plan: again\nerror plan: again\n");
    close_log(context, &collected);
}

static void a_full_queue_counts_what_it_drops(void **state)
{
    struct collected collected = { 0 };
    struct kvmig_context *context = open_log(&collected, 0, NULL);

    (void)state;
    for (int i = 0; i < 1234; i++)
        kvmig__log(context, KVMIG_LOG_ERROR, "plan", "%d", i);
    assert_int_equal(kvmig_context_dispatch(context), 1); /* bounded */
    assert_true(collected.n > 0 && collected.n < 1000);
    test_drain(context);
    assert_int_equal(collected.n, 1001);
    assert_non_null(strstr(collected.text, "error plan: 999\nwarn context: 234 log messages were dropped"));
    kvmig__log(context, KVMIG_LOG_ERROR, "plan", "later");
    test_drain(context);
    assert_int_equal(collected.n, 1002);
    close_log(context, &collected);
}

static void messages_that_nobody_fetched_end_with_the_context(void **state)
{
    struct collected collected = { 0 };
    struct kvmig_context *context = open_log(&collected, 0, NULL);

    (void)state;
    for (int i = 0; i < 1234; i++)
        kvmig__log(context, KVMIG_LOG_ERROR, "plan", "%d", i);
    close_log(context, &collected);
    assert_int_equal(collected.n, 0);
}

static void *log_a_lot(void *data)
{
    for (int i = 0; i < 300; i++)
        kvmig__log(data, KVMIG_LOG_ERROR, "libvirt", "%d", i);
    return NULL;
}

static void any_thread_may_log(void **state)
{
    struct collected collected = { 0 };
    struct kvmig_context *context = open_log(&collected, 0, NULL);
    pthread_t threads[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_a_lot, context), 0);
    test_run_until(context, &collected.n, 900);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    close_log(context, &collected);
}

static void without_a_callback_a_message_is_one_line_on_standard_error(void **state)
{
    struct kvmig_context *context = open_log(NULL, 0, NULL);
    char buffer[512] = "";
    int fds[2], saved;
    ssize_t n;

    (void)state;
    assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
    fflush(stderr);
    saved = dup(STDERR_FILENO);
    assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
    kvmig__log(context, KVMIG_LOG_WARN, "session", "a%%\n%s", "b");
    kvmig__log(context, KVMIG_LOG_INFO, "session", "no");
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    close(saved);
    n = read(fds[0], buffer, sizeof(buffer) - 1);
    assert_true(n > 0);
    assert_string_equal(buffer, "kvmig warn [session] a% b\n");
    close(fds[0]);
    close(fds[1]);
    assert_false(test_readable(context, 0));
    kvmig_context_unref(context);
}

static void levels_have_names(void **state)
{
    (void)state;
    assert_string_equal(kvmig_log_level_name(KVMIG_LOG_ERROR), "error");
    assert_string_equal(kvmig_log_level_name(KVMIG_LOG_DEBUG), "debug");
    assert_null(kvmig_log_level_name(0));
    assert_null(kvmig_log_level_name(5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_come_from_the_option_or_the_environment),
        cmocka_unit_test(unknown_words_are_reported_once_in_one_message),
        cmocka_unit_test(messages_are_delivered_in_dispatch_and_filtered),
        cmocka_unit_test(a_log_callback_may_cause_messages),
        cmocka_unit_test(a_full_queue_counts_what_it_drops),
        cmocka_unit_test(messages_that_nobody_fetched_end_with_the_context),
        cmocka_unit_test(any_thread_may_log),
        cmocka_unit_test(without_a_callback_a_message_is_one_line_on_standard_error),
        cmocka_unit_test(levels_have_names),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
