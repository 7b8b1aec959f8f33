/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tries from another network namespace. Needs the right to make one; without it the test is skipped (77). The namespace
 * belongs to a thread, whose server answers in it, and goes with it.
 */
#include "probe_test.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define SKIPPED 77

/* A thread in a namespace of its own. */
struct island {
    pthread_t thread;
    char path[64];
    struct server server, server6, http;
    int control; /* a socket of the namespace: whoever has it can set its devices */
    struct test_gate gate;
    _Atomic int ready;
};

static struct kvmig_context *context;
static struct island island = { .gate = TEST_GATE_INIT };

static void set_loopback(short flags)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = flags };

    assert_int_equal(ioctl(island.control, SIOCSIFFLAGS, &request), 0);
}

static void *island_main(void *data)
{
    (void)data;
    assert_int_equal(unshare(CLONE_NEWNET), 0);
    snprintf(island.path, sizeof(island.path), "/proc/%d/task/%ld/ns/net", (int)getpid(), syscall(SYS_gettid));
    island.control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(island.control >= 0);
    set_loopback(IFF_UP);
    server_start(&island.server, "127.0.0.1", SERVER_ECHO);
    server_start(&island.server6, "::1", SERVER_ECHO);
    server_start(&island.http, "127.0.0.1", SERVER_HTTP);
    island.ready = 1;
    test_gate_pass(&island.gate);
    server_stop(&island.server);
    server_stop(&island.server6);
    server_stop(&island.http);
    close(island.control);
    return NULL;
}

static int set_up(void **state)
{
    (void)state;
    test_set_alarm();
    context = test_context_new(0);
    assert_int_equal(pthread_create(&island.thread, NULL, island_main, NULL), 0);
    test_wait_for(&island.ready, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_gate_open(&island.gate);
    pthread_join(island.thread, NULL);
    kvmig_context_unref(context);
    return 0;
}

static struct kvmig_probe *start_in(const char *netns, const struct kvmig_probe_target *const *targets, size_t n)
{
    struct kvmig_probe_opts opts = KVMIG_PROBE_OPTS_INIT;
    struct kvmig_probe *probe;

    opts.targets = targets;
    opts.n_targets = n;
    opts.netns = netns;
    assert_int_equal(kvmig_probe_new(context, &opts, &probe), 0);
    assert_int_equal(kvmig_probe_start(probe), 0);
    return probe;
}

static void link_of(const char *path, char out[64])
{
    const ssize_t n = readlink(path, out, 63);

    assert_true(n > 0);
    out[n] = '\0';
}

static void tries_are_made_in_the_namespace(void **state)
{
    const struct kvmig_probe_target connect = test_target(KVMIG_PROBE_TCP_CONNECT, "127.0.0.1", island.server.port),
                                    echo = test_target(KVMIG_PROBE_TCP_ECHO, "::1", island.server6.port),
                                    http = test_target(KVMIG_PROBE_HTTP_GET, "127.0.0.1", island.http.port);
    const struct kvmig_probe_target *const targets[] = { &connect, &echo, &http };
    struct kvmig_probe *probe = start_in(island.path, targets, 3);

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        test_wait_successes(probe, i, 3);
        assert_int_equal(test_result(probe, i).failures, 0);
    }
    kvmig_probe_unref(probe);
}

/* The network is away and comes back, as it is and does when a guest moves. */
static void an_outage_lies_within_the_gap_and_the_held_connection_outlives_it(void **state)
{
    struct kvmig_probe_target connect = test_target(KVMIG_PROBE_TCP_CONNECT, "127.0.0.1", island.server.port),
                              echo = test_target(KVMIG_PROBE_TCP_ECHO, "127.0.0.1", island.server.port);
    const struct kvmig_probe_target *const targets[] = { &connect, &echo };
    struct kvmig_probe *probe;
    int64_t down_ms, up_ms;

    (void)state;
    connect.interval_ms = echo.interval_ms = 10;
    connect.timeout_ms = echo.timeout_ms = 100;
    probe = start_in(island.path, targets, 2);
    for (size_t i = 0; i < 2; i++)
        test_wait_successes(probe, i, 5);
    set_loopback(0);
    down_ms = kvmig__now_ms();
    for (size_t i = 0; i < 2; i++) {
        test_wait_failures(probe, i, 20);
        test_wait_open_gap(probe, i);
    }
    up_ms = kvmig__now_ms();
    set_loopback(IFF_UP);
    for (size_t i = 0; i < 2; i++) {
        struct kvmig_probe_result result;

        test_wait_successes(probe, i, 5);
        result = test_result(probe, i);
        assert_true(result.gap_ms >= (uint64_t)(up_ms - down_ms));
        assert_true(result.gap_end_ms >= up_ms);
    }
    assert_int_equal(test_result(probe, 1).held_survived, 1);
    kvmig_probe_unref(probe);
}

/* The same address is another host there, and only the probe's thread goes there. */
static void the_rest_of_the_process_stays_where_it_is(void **state)
{
    struct server here;
    struct kvmig_probe_target target;
    const struct kvmig_probe_target *const targets[] = { &target };
    struct kvmig_probe *in, *out;
    char before[64], after[64];

    (void)state;
    link_of("/proc/thread-self/ns/net", before);
    server_start(&here, "127.0.0.2", SERVER_ECHO);
    target = test_target(KVMIG_PROBE_TCP_CONNECT, "127.0.0.2", here.port);
    in = start_in(island.path, targets, 1);
    out = start_in(NULL, targets, 1);
    test_wait_successes(out, 0, 3);
    test_wait_failures(in, 0, 3);
    assert_int_equal(test_result(in, 0).tries, test_result(in, 0).failures);
    assert_int_equal(test_result(out, 0).failures, 0);
    link_of("/proc/thread-self/ns/net", after);
    assert_string_equal(before, after);
    kvmig_probe_unref(in);
    kvmig_probe_unref(out);
    server_stop(&here);
}

static void names_are_looked_up_for_the_namespace(void **state)
{
    const struct kvmig_probe_target target = test_target(KVMIG_PROBE_TCP_CONNECT, "localhost", island.server.port);
    const struct kvmig_probe_target *const targets[] = { &target };
    struct kvmig_probe *probe = start_in(island.path, targets, 1);
    char *error;

    (void)state;
    while (test_result(probe, 0).tries < 2)
        poll(NULL, 0, 1);
    error = test_json_member(probe, 0, "error", NULL);
    assert_null(error);
    kvmig_probe_unref(probe);
}

static void a_namespace_of_another_type_is_refused(void **state)
{
    const struct kvmig_probe_target target = test_target(KVMIG_PROBE_TCP_CONNECT, "127.0.0.1", island.server.port);
    const struct kvmig_probe_target *const targets[] = { &target };
    struct kvmig_probe *probe = start_in("/proc/self/ns/uts", targets, 1);
    char *text;

    (void)state;
    test_wait_failures(probe, 0, 2);
    text = test_json_member(probe, 0, "error", "evidence");
    assert_string_equal(text, "EINVAL");
    free(text);
    kvmig_probe_unref(probe);
}

static void *try_to_unshare(void *out_denied)
{
    *(bool *)out_denied = unshare(CLONE_NEWNET) < 0;
    return NULL;
}

static bool namespaces_are_denied(void)
{
    pthread_t thread;
    bool denied = true;

    if (pthread_create(&thread, NULL, try_to_unshare, &denied) == 0)
        pthread_join(thread, NULL);
    return denied;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tries_are_made_in_the_namespace),
        cmocka_unit_test(an_outage_lies_within_the_gap_and_the_held_connection_outlives_it),
        cmocka_unit_test(the_rest_of_the_process_stays_where_it_is),
        cmocka_unit_test(names_are_looked_up_for_the_namespace),
        cmocka_unit_test(a_namespace_of_another_type_is_refused),
    };

    if (namespaces_are_denied()) {
        fprintf(stderr, "skipped: no network namespace can be made\n");
        return SKIPPED;
    }
    return !!cmocka_run_group_tests(tests, set_up, tear_down);
}
