/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handle of a probe: options that are wrong, start and end, owners and holders, a system that denies threads and
 * descriptors, and that nothing is left when it is gone. pthread_create() is wrapped by the linker.
 */
#include "probe_test.h"

#include "probe/probe_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static struct kvmig_context *context;
static _Atomic bool deny_threads; /* to this thread */
static _Atomic bool deny_more_threads; /* to all others */
static pthread_t test_thread;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *data);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *data)
{
    const bool deny = pthread_equal(pthread_self(), test_thread) ? deny_threads : deny_more_threads;

    return deny ? EAGAIN : __real_pthread_create(thread, attr, fn, data);
}

static int set_up(void **state)
{
    (void)state;
    test_set_alarm();
    test_thread = pthread_self();
    context = test_context_new(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kvmig_context_unref(context);
    return 0;
}

static size_t count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* Waits until nothing is left of probes: their threads end by themselves after the stop. */
static void wait_until_left(const char *folder, size_t n)
{
    const int64_t deadline = kvmig__now_ms() + TEST_DEADLINE_MS;

    while (count_entries(folder) > n) {
        assert_true(kvmig__now_ms() < deadline);
        poll(NULL, 0, 1);
    }
}

static struct kvmig_probe *refused_probe(void)
{
    struct kvmig_probe_target target = test_target(KVMIG_PROBE_TCP_CONNECT, "127.0.0.1", server_free_port());

    target.interval_ms = 5;
    target.timeout_ms = 100;
    return test_probe_new(context, &target, 1);
}

/* ---- options ---- */

static void assert_refused(struct kvmig_probe_target target, int32_t code, const char *where)
{
    const struct kvmig_probe_target good = test_target(KVMIG_PROBE_TCP_CONNECT, "::1", 1);
    const struct kvmig_probe_target *targets[] = { &good, &target };
    struct kvmig_probe_opts opts = KVMIG_PROBE_OPTS_INIT;
    struct kvmig_probe *probe = (struct kvmig_probe *)&opts;

    opts.targets = targets;
    opts.n_targets = 2;
    assert_int_equal(kvmig_probe_new(context, &opts, &probe), code);
    assert_null(probe);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), where);
}

static void wrong_targets_are_named(void **state)
{
    const struct kvmig_probe_target good = test_target(KVMIG_PROBE_HTTP_GET, "::1", 80);
    const char *const hosts[] = {
        NULL, "", "[::1]", "a b", "a/b", "user@host", "a\tb", "a#b", "\xc3\xa4", "a\r\nX: b"
    };
    const char *const paths[] = { "", "a", "/a b", "/a#b", "/\n", "/\x7f", "/ HTTP/1.1\r\nX: b", "/\r" };
    struct kvmig_probe_target bad;

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(hosts); i++) {
        bad = good;
        bad.host = hosts[i];
        assert_refused(bad, -EINVAL, "kvmig_probe_new: targets[1].host");
    }
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(paths); i++) {
        bad = good;
        bad.path = paths[i];
        assert_refused(bad, -EINVAL, "kvmig_probe_new: targets[1].path");
    }
    bad = good;
    bad.path = "/";
    bad.kind = KVMIG_PROBE_TCP_ECHO;
    assert_refused(bad, -EINVAL, "kvmig_probe_new: targets[1].path");
    bad.kind = 4;
    assert_refused(bad, -EINVAL, "kvmig_probe_new: targets[1].kind");
    bad = good;
    bad.port = 0;
    assert_refused(bad, -EINVAL, "kvmig_probe_new: targets[1].port");
    bad.port = 65536;
    assert_refused(bad, -EINVAL, "kvmig_probe_new: targets[1].port");
    bad = good;
    bad.interval_ms = UINT32_MAX;
    assert_refused(bad, -EINVAL, "kvmig_probe_new: targets[1].interval_ms");
    bad = good;
    bad.timeout_ms = UINT32_MAX;
    assert_refused(bad, -EINVAL, "kvmig_probe_new: targets[1].timeout_ms");
    bad = good;
    bad.interval_ms = 1;
    bad.timeout_ms = 257;
    assert_refused(bad, -EINVAL, "kvmig_probe_new: targets[1].timeout_ms");
    bad = good;
    bad.size = 0;
    assert_refused(bad, -EINVAL, "kvmig_probe_new: targets[1]");
}

static void unknown_options_are_refused(void **state)
{
    struct {
        struct kvmig_probe_target known;
        uint64_t newer;
    } target = { test_target(KVMIG_PROBE_TCP_CONNECT, "::1", 1), 0 };
    const struct kvmig_probe_target *pointer = &target.known;
    struct {
        struct kvmig_probe_opts known;
        uint64_t newer;
    } opts = { { sizeof(opts), &pointer, 1, NULL }, 0 };
    struct kvmig_probe *probe;

    (void)state;
    target.known.size = sizeof(target);
    assert_int_equal(kvmig_probe_new(context, &opts.known, &probe), 0);
    kvmig_probe_unref(probe);
    target.newer = 1;
    assert_int_equal(kvmig_probe_new(context, &opts.known, &probe), -E2BIG);
    target.newer = 0;
    opts.newer = 1;
    assert_int_equal(kvmig_probe_new(context, &opts.known, &probe), -E2BIG);
    assert_null(probe);
}

static void wrong_options_are_named(void **state)
{
    const struct kvmig_probe_target good = test_target(KVMIG_PROBE_TCP_CONNECT, "::1", 1);
    const struct kvmig_probe_target *targets[65] = { &good };
    struct kvmig_probe_opts opts;
    struct kvmig_probe *probe;

    (void)state;
    assert_int_equal(kvmig_probe_opts_init(NULL, sizeof(opts)), -EINVAL);
    assert_int_equal(kvmig_probe_opts_init(&opts, sizeof(opts)), 0);
    assert_int_equal(kvmig_probe_new(context, NULL, &probe), -EINVAL);
    assert_int_equal(kvmig_probe_new(context, &opts, &probe), -EINVAL);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "kvmig_probe_new: opts.n_targets");
    opts.targets = targets;
    assert_int_equal(kvmig_probe_new(context, &opts, &probe), -EINVAL);
    opts.n_targets = 65;
    assert_int_equal(kvmig_probe_new(context, &opts, &probe), -EINVAL);
    opts.n_targets = 2;
    assert_int_equal(kvmig_probe_new(context, &opts, &probe), -EINVAL);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "kvmig_probe_new: targets[1]");
    opts.n_targets = 1;
    opts.netns = "run/netns/a";
    assert_int_equal(kvmig_probe_new(context, &opts, &probe), -EINVAL);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "kvmig_probe_new: opts.netns");
    opts.netns = NULL;
    assert_int_equal(kvmig_probe_new(NULL, &opts, &probe), -EINVAL);
    assert_int_equal(kvmig_probe_new(context, &opts, NULL), -EINVAL);
}

static void null_is_an_error_not_a_crash(void **state)
{
    struct kvmig_probe_result result = { .size = sizeof(result) };
    char *json;

    (void)state;
    assert_null(kvmig_probe_ref(NULL));
    kvmig_probe_unref(NULL);
    assert_int_equal(kvmig_probe_start(NULL), -EINVAL);
    assert_int_equal(kvmig_probe_stop(NULL), -EINVAL);
    assert_int_equal(kvmig_probe_count(NULL), 0);
    assert_int_equal(kvmig_probe_get_result(NULL, 0, &result), -EINVAL);
    assert_int_equal(kvmig_probe_to_json(NULL, &json), -EINVAL);
    assert_null(kvmig_probe_kind_name(0));
    assert_null(kvmig_probe_kind_name(4));
    assert_null(kvmig_probe_kind_name(-1));
    assert_string_equal(kvmig_probe_kind_name(KVMIG_PROBE_TCP_ECHO), "echo");
}

/* ---- results ---- */

static void a_result_has_the_size_that_the_caller_knows(void **state)
{
    struct kvmig_probe *probe = refused_probe();
    struct kvmig_probe_result result;
    const size_t known = offsetof(struct kvmig_probe_result, gap_ms);

    (void)state;
    memset(&result, 0xaa, sizeof(result));
    result.size = known;
    assert_int_equal(kvmig_probe_get_result(probe, 0, &result), 0);
    assert_int_equal(result.size, known);
    assert_int_equal(result.tries, 0);
    assert_int_equal(result.gap_begin_ms, 0);
    assert_int_equal(result.gap_ms, 0xaaaaaaaaaaaaaaaa);
    result.size = 7;
    assert_int_equal(kvmig_probe_get_result(probe, 0, &result), -EINVAL);
    result.size = sizeof(result);
    assert_int_equal(kvmig_probe_get_result(probe, 1, &result), -EINVAL);
    assert_int_equal(kvmig_probe_get_result(probe, 0, NULL), -EINVAL);
    assert_int_equal(kvmig_probe_to_json(probe, NULL), -EINVAL);
    kvmig_probe_unref(probe);
}

static void results_stay_as_they_were_at_the_stop(void **state)
{
    struct server server;
    struct kvmig_probe_target target;
    struct kvmig_probe *probe;
    struct kvmig_probe_result then, later;

    (void)state;
    server_start(&server, "127.0.0.1", SERVER_ECHO);
    target = test_target(KVMIG_PROBE_TCP_ECHO, "127.0.0.1", server.port);
    probe = test_probe_new(context, &target, 1);
    assert_int_equal(kvmig_probe_stop(probe), 0); /* has not begun */
    assert_int_equal(kvmig_probe_start(probe), 0);
    test_wait_successes(probe, 0, 3);
    assert_int_equal(kvmig_probe_stop(probe), 0);
    then = test_result(probe, 0);
    server_stop(&server); /* which breaks the held connection */
    poll(NULL, 0, 250);
    assert_int_equal(kvmig_probe_stop(probe), 0);
    later = test_result(probe, 0);
    assert_memory_equal(&then, &later, sizeof(then));
    assert_int_equal(later.held_survived, 1);
    assert_int_equal(kvmig_probe_start(probe), -EALREADY);
    kvmig_probe_unref(probe);
}

/* ---- start and end ---- */

static void a_probe_starts_once(void **state)
{
    struct kvmig_probe *probe = refused_probe();

    (void)state;
    assert_int_equal(kvmig_probe_start(probe), 0);
    assert_int_equal(kvmig_probe_start(probe), -EALREADY);
    kvmig_probe_unref(probe);
}

static void it_tries_while_nobody_dispatches_and_ends_with_its_last_owner(void **state)
{
    const size_t threads = count_entries("/proc/self/task"), fds = count_entries("/proc/self/fd");
    struct kvmig_probe *probe = refused_probe();

    (void)state;
    assert_int_equal(kvmig_probe_start(probe), 0);
    test_wait_failures(probe, 0, 3);
    assert_ptr_equal(kvmig_probe_ref(probe), probe);
    kvmig_probe_unref(probe);
    test_wait_failures(probe, 0, 3);
    kvmig_probe_unref(probe);
    wait_until_left("/proc/self/task", threads);
    wait_until_left("/proc/self/fd", fds);
}

static void a_denied_thread_is_told_and_it_may_be_started_again(void **state)
{
    const size_t fds = count_entries("/proc/self/fd");
    struct kvmig_probe *probe = refused_probe();

    (void)state;
    deny_threads = true;
    assert_int_equal(kvmig_probe_start(probe), -EAGAIN);
    assert_int_equal(kvmig_probe_start(probe), -EAGAIN);
    deny_threads = false;
    test_drain(context);
    wait_until_left("/proc/self/fd", fds);
    assert_int_equal(kvmig_probe_start(probe), 0);
    test_wait_failures(probe, 0, 1);
    kvmig_probe_unref(probe);
}

static void denied_descriptors_are_told_and_it_may_be_started_again(void **state)
{
    struct rlimit old, none;
    struct kvmig_probe *probe = refused_probe();

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){ .rlim_cur = 0, .rlim_max = old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(kvmig_probe_start(probe), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(kvmig_probe_start(probe), 0);
    test_wait_failures(probe, 0, 1);
    kvmig_probe_unref(probe);
}

/* What the probe lacks is not taken for what the service lacks. */
static void tries_without_a_descriptor_say_so(void **state)
{
    struct server server;
    struct kvmig_probe_target target;
    struct rlimit old, few;
    struct kvmig_probe *probe;
    char *text;

    (void)state;
    server_start(&server, "127.0.0.1", SERVER_ECHO);
    target = test_target(KVMIG_PROBE_TCP_CONNECT, "127.0.0.1", server.port);
    probe = test_probe_new(context, &target, 1);
    assert_int_equal(kvmig_probe_start(probe), 0);
    test_wait_successes(probe, 0, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = (struct rlimit){ .rlim_cur = 0, .rlim_max = old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    test_wait_failures(probe, 0, 2);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    text = test_json_member(probe, 0, "last_failure", NULL);
    assert_string_equal(text, "EMFILE");
    free(text);
    test_wait_successes(probe, 0, 2);
    kvmig_probe_unref(probe);
    server_stop(&server);
}

static void names_are_looked_up_without_a_second_thread_too(void **state)
{
    struct kvmig_probe_target target = test_target(KVMIG_PROBE_TCP_CONNECT, "no..name", 1);
    struct kvmig_probe *probe = test_probe_new(context, &target, 1);

    (void)state;
    deny_more_threads = true;
    assert_int_equal(kvmig_probe_start(probe), 0);
    test_wait_failures(probe, 0, 2);
    deny_more_threads = false;
    kvmig_probe_unref(probe);
}

static void a_probe_keeps_its_context_open(void **state)
{
    struct kvmig_context *other = test_context_new(KVMIG_CONTEXT_THREAD);
    struct kvmig_probe_target target = test_target(KVMIG_PROBE_TCP_CONNECT, "127.0.0.1", server_free_port());
    struct kvmig_probe *probe = test_probe_new(other, &target, 1);

    (void)state;
    assert_int_equal(kvmig_probe_start(probe), 0);
    kvmig_context_unref(other);
    test_wait_failures(probe, 0, 1);
    kvmig_probe_unref(probe);
}

static void starting_and_ending_many_leaves_nothing(void **state)
{
    const size_t threads = count_entries("/proc/self/task"), fds = count_entries("/proc/self/fd");
    struct server server;

    (void)state;
    server_start(&server, "127.0.0.1", SERVER_HTTP);
    for (int i = 0; i < 60; i++) {
        struct kvmig_probe_target targets[] = {
            test_target(KVMIG_PROBE_TCP_CONNECT, "localhost", server.port),
            test_target(KVMIG_PROBE_TCP_ECHO, "127.0.0.1", server.port),
            test_target(KVMIG_PROBE_HTTP_GET, "127.0.0.1", server.port),
        };
        struct kvmig_probe *probe = test_probe_new(context, targets, 3);

        assert_int_equal(kvmig_probe_start(probe), 0);
        poll(NULL, 0, i % 4);
        if (i % 3 == 0)
            kvmig_probe_stop(probe);
        kvmig_probe_unref(probe);
    }
    server_stop(&server);
    wait_until_left("/proc/self/task", threads);
    wait_until_left("/proc/self/fd", fds);
}

/* ---- for sessions ---- */

static void a_holder_keeps_it_running_after_its_owner_left(void **state)
{
    struct kvmig_probe *probe = refused_probe();
    struct kvmig_probe_result result = { 0 };

    (void)state;
    kvmig__context_lock(context);
    assert_ptr_equal(kvmig__probe_context(probe), context);
    kvmig__probe_hold(probe);
    assert_false(kvmig__probe_is_running(probe));
    assert_int_equal(kvmig__probe_start(probe), 0);
    assert_true(kvmig__probe_is_running(probe));
    kvmig__context_unlock(context);
    kvmig_probe_unref(probe);
    while (result.failures < 3) {
        kvmig__context_lock(context);
        kvmig__probe_result(probe, 0, &result);
        kvmig__context_unlock(context);
        poll(NULL, 0, 1);
    }
    kvmig__context_lock(context);
    kvmig__probe_stop(probe);
    assert_false(kvmig__probe_is_running(probe));
    kvmig__probe_release(probe);
    kvmig__context_unlock(context);
}

static void a_success_since_a_time_is_known(void **state)
{
    struct server server;
    struct kvmig_probe_target target;
    struct kvmig_probe *probe;
    const int64_t begun_ms = kvmig__now_ms();
    struct json_object *report, *entry;

    (void)state;
    server_start(&server, "127.0.0.1", SERVER_ECHO);
    target = test_target(KVMIG_PROBE_TCP_CONNECT, "127.0.0.1", server.port);
    probe = test_probe_new(context, &target, 1);
    kvmig__context_lock(context);
    assert_false(kvmig__probe_succeeded_since(probe, 0, 0));
    assert_int_equal(kvmig__probe_start(probe), 0);
    kvmig__context_unlock(context);
    test_wait_successes(probe, 0, 2);
    kvmig__context_lock(context);
    assert_true(kvmig__probe_succeeded_since(probe, 0, begun_ms));
    assert_false(kvmig__probe_succeeded_since(probe, 0, kvmig__now_ms() + 60000));
    kvmig__probe_stop(probe);
    report = kvmig__probe_report(probe, begun_ms);
    kvmig__context_unlock(context);
    assert_in_range(json_object_get_int64(json_object_object_get(report, "begin_ms")), 0,
                    (uint64_t)(kvmig__now_ms() - begun_ms));
    entry = json_object_array_get_idx(json_object_object_get(report, "targets"), 0);
    entry = json_object_array_get_idx(json_object_object_get(entry, "series"), 0);
    assert_int_equal(json_object_array_length(entry), 4);
    assert_in_range(json_object_get_int64(json_object_array_get_idx(entry, 1)), 0,
                    (uint64_t)(kvmig__now_ms() - begun_ms));
    json_object_put(report);
    kvmig_probe_unref(probe);
    server_stop(&server);
}

/* ---- threads ---- */

static struct kvmig_probe *shared;
static _Atomic int leave;

static void *read_all_the_time(void *data)
{
    char *json;

    (void)data;
    while (!leave) {
        test_result(shared, 0);
        assert_int_equal(kvmig_probe_to_json(shared, &json), 0);
        free(json);
        kvmig_probe_ref(shared);
        kvmig_probe_unref(shared);
    }
    return NULL;
}

static void results_are_read_from_any_thread(void **state)
{
    pthread_t readers[3];

    (void)state;
    shared = refused_probe();
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all_the_time, NULL), 0);
    assert_int_equal(kvmig_probe_start(shared), 0);
    test_wait_failures(shared, 0, 10);
    assert_int_equal(kvmig_probe_stop(shared), 0);
    leave = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(readers[i], NULL);
    kvmig_probe_unref(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_targets_are_named),
        cmocka_unit_test(unknown_options_are_refused),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(null_is_an_error_not_a_crash),
        cmocka_unit_test(a_result_has_the_size_that_the_caller_knows),
        cmocka_unit_test(results_stay_as_they_were_at_the_stop),
        cmocka_unit_test(a_probe_starts_once),
        cmocka_unit_test(it_tries_while_nobody_dispatches_and_ends_with_its_last_owner),
        cmocka_unit_test(a_denied_thread_is_told_and_it_may_be_started_again),
        cmocka_unit_test(denied_descriptors_are_told_and_it_may_be_started_again),
        cmocka_unit_test(tries_without_a_descriptor_say_so),
        cmocka_unit_test(names_are_looked_up_without_a_second_thread_too),
        cmocka_unit_test(a_probe_keeps_its_context_open),
        cmocka_unit_test(starting_and_ending_many_leaves_nothing),
        cmocka_unit_test(a_holder_keeps_it_running_after_its_owner_left),
        cmocka_unit_test(a_success_since_a_time_is_known),
        cmocka_unit_test(results_are_read_from_any_thread),
    };

    return !!cmocka_run_group_tests(tests, set_up, tear_down);
}
