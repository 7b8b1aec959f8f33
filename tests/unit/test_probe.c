/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tries against real sockets on the loopback device: what counts as a success of each kind, silence, connections that
 * break, names that cannot be looked up. No test says how long anything takes; what is compared are times of one clock.
 */
#include "probe_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct kvmig_context *context;

static int set_up(void **state)
{
    (void)state;
    test_set_alarm();
    context = test_context_new(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kvmig_context_unref(context);
    return 0;
}

static struct kvmig_probe *start(struct kvmig_probe_target *targets, size_t n)
{
    struct kvmig_probe *probe = test_probe_new(context, targets, n);

    assert_int_equal(kvmig_probe_start(probe), 0);
    return probe;
}

static void assert_member(struct kvmig_probe *probe, size_t index, const char *member, const char *inner,
                          const char *expected)
{
    char *text = test_json_member(probe, index, member, inner);

    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

/* A time-out that ends within a test. */
static struct kvmig_probe_target impatient(struct kvmig_probe_target target)
{
    target.interval_ms = 10;
    target.timeout_ms = 100;
    return target;
}

/* ---- all kinds ---- */

static void every_kind_succeeds(const char *host, const char *label)
{
    struct server echo, http;
    struct kvmig_probe_target targets[3];
    struct kvmig_probe *probe;
    char *text, *expected;

    server_start(&echo, host, SERVER_ECHO);
    server_start(&http, host, SERVER_HTTP);
    targets[0] = test_target(KVMIG_PROBE_TCP_CONNECT, host, echo.port);
    targets[1] = test_target(KVMIG_PROBE_TCP_ECHO, host, echo.port);
    targets[2] = test_target(KVMIG_PROBE_HTTP_GET, host, http.port);
    targets[2].path = "/a/../b?c=%20d";
    probe = start(targets, 3);
    for (size_t i = 0; i < 3; i++) {
        struct kvmig_probe_result result;

        test_wait_successes(probe, i, 5);
        result = test_result(probe, i);
        assert_int_equal(result.failures, 0);
        assert_true(result.gap_begin_ms > 0 && result.gap_end_ms > result.gap_begin_ms);
        assert_int_equal(result.gap_ms, result.gap_end_ms - result.gap_begin_ms);
        assert_true(result.last_success_ms >= result.gap_begin_ms && result.last_success_ms <= kvmig__now_ms());
        assert_int_equal(result.last_failure_ms, 0);
        assert_int_equal(result.held_survived, i == 1 ? 1 : -1);
    }
    expected = kvmig__asprintf("http:%s:%u/a/../b?c=%%20d", label, http.port);
    text = test_json_member(probe, 2, "target", NULL);
    assert_string_equal(text, expected);
    free(text);
    free(expected);
    kvmig_probe_unref(probe);
    server_stop(&echo);
    server_stop(&http);
}

static void every_kind_succeeds_over_ipv4(void **state)
{
    (void)state;
    every_kind_succeeds("127.0.0.1", "127.0.0.1");
}

static void every_kind_succeeds_over_ipv6(void **state)
{
    (void)state;
    every_kind_succeeds("::1", "[::1]");
}

static void a_name_is_looked_up(void **state)
{
    struct server echo, http;
    struct kvmig_probe_target targets[2];
    struct kvmig_probe *probe;

    (void)state;
    server_start(&echo, "127.0.0.1", SERVER_ECHO);
    server_start(&http, "127.0.0.1", SERVER_HTTP);
    targets[0] = test_target(KVMIG_PROBE_TCP_CONNECT, "localhost", echo.port);
    targets[1] = test_target(KVMIG_PROBE_HTTP_GET, "localhost", http.port);
    probe = start(targets, 2);
    /* The name may be the IPv6 address, where nobody listens: an answer of either kind shows that it was looked up. */
    for (size_t i = 0; i < 2; i++) {
        while (test_result(probe, i).tries < 3)
            poll(NULL, 0, 1);
        assert_null(test_json_member(probe, i, "error", NULL));
    }
    kvmig_probe_unref(probe);
    server_stop(&echo);
    server_stop(&http);
}

static void a_bad_name_fails_and_does_not_disturb_the_others(void **state)
{
    struct server echo;
    struct kvmig_probe_target targets[2];
    struct kvmig_probe *probe;

    (void)state;
    server_start(&echo, "127.0.0.1", SERVER_ECHO);
    targets[0] = test_target(KVMIG_PROBE_TCP_CONNECT, "no..name", 1);
    targets[1] = test_target(KVMIG_PROBE_TCP_CONNECT, "127.0.0.1", echo.port);
    probe = start(targets, 2);
    test_wait_failures(probe, 0, 3);
    test_wait_successes(probe, 1, 3);
    assert_int_equal(test_result(probe, 0).gap_begin_ms, 0);
    assert_int_equal(test_result(probe, 1).failures, 0);
    assert_member(probe, 0, "error", "message", "the name \"no..name\" cannot be looked up");
    assert_member(probe, 0, "error", "where", "tcp:no..name:1");
    assert_null(test_json_member(probe, 1, "error", NULL));
    kvmig_probe_unref(probe);
    server_stop(&echo);
}

static void a_missing_namespace_fails_every_try(void **state)
{
    struct kvmig_probe_target target = test_target(KVMIG_PROBE_TCP_CONNECT, "127.0.0.1", 1);
    const struct kvmig_probe_target *pointer = &target;
    struct kvmig_probe_opts opts = KVMIG_PROBE_OPTS_INIT;
    struct kvmig_probe *probe;

    (void)state;
    opts.targets = &pointer;
    opts.n_targets = 1;
    opts.netns = "/no/such/namespace";
    assert_int_equal(kvmig_probe_new(context, &opts, &probe), 0);
    assert_int_equal(kvmig_probe_start(probe), 0);
    test_wait_failures(probe, 0, 3);
    assert_int_equal(test_result(probe, 0).failures, test_result(probe, 0).tries);
    assert_member(probe, 0, "error", "where", "/no/such/namespace");
    assert_member(probe, 0, "error", "evidence", "ENOENT");
    assert_member(probe, 0, "last_failure", NULL, "ENOENT");
    kvmig_probe_unref(probe);
}

/* ---- failures ---- */

static void a_refused_try_fails(void **state)
{
    const uint16_t port = server_free_port();
    struct kvmig_probe_target targets[3];
    struct kvmig_probe *probe;

    (void)state;
    for (int i = 0; i < 3; i++)
        targets[i] = test_target(KVMIG_PROBE_TCP_CONNECT + i, "127.0.0.1", port);
    probe = start(targets, 3);
    for (size_t i = 0; i < 3; i++) {
        struct kvmig_probe_result result;

        test_wait_failures(probe, i, 3);
        result = test_result(probe, i);
        assert_int_equal(result.failures, result.tries);
        assert_int_equal(result.gap_begin_ms, 0);
        assert_int_equal(result.gap_ms, 0);
        assert_int_equal(result.last_success_ms, 0);
        assert_true(result.last_failure_ms > 0);
        assert_int_equal(result.held_survived, -1);
        assert_member(probe, i, "last_failure", NULL, "ECONNREFUSED");
    }
    kvmig_probe_unref(probe);
}

/* Fills the queue of a listener that nobody accepts from, so that new connections get no answer. */
static void silence_is_a_gap_that_ends_with_the_first_answer(void **state)
{
    struct server server;
    struct kvmig_probe_target target;
    struct kvmig_probe *probe;
    struct kvmig_probe_result result;
    int64_t silent_ms, back_ms;

    (void)state;
    server_start(&server, "127.0.0.1", SERVER_ECHO);
    assert_int_equal(listen(server.listener, 1), 0); /* a short queue */
    target = impatient(test_target(KVMIG_PROBE_TCP_CONNECT, "127.0.0.1", server.port));
    probe = start(&target, 1);
    test_wait_successes(probe, 0, 5);
    server.is_silent = 1;
    test_wait_failures(probe, 0, 15); /* the queue has been full for longer than a time-out */
    silent_ms = kvmig__now_ms();
    test_wait_failures(probe, 0, 50);
    test_wait_open_gap(probe, 0);
    result = test_result(probe, 0);
    assert_true(result.gap_begin_ms == result.last_success_ms);
    assert_member(probe, 0, "last_failure", NULL, "ETIMEDOUT");
    back_ms = kvmig__now_ms();
    server.is_silent = 0;
    test_wait_successes(probe, 0, 5);
    result = test_result(probe, 0);
    assert_true(result.gap_ms >= (uint64_t)(back_ms - silent_ms));
    assert_true(result.gap_end_ms >= back_ms);
    kvmig_probe_unref(probe);
    server_stop(&server);
}

/* ---- the held connection ---- */

static void the_held_connection_outlives_silence(void **state)
{
    struct server server;
    struct kvmig_probe_target target;
    struct kvmig_probe *probe;
    struct kvmig_probe_result result;
    uint64_t failures;
    int64_t back_ms;

    (void)state;
    server_start(&server, "127.0.0.1", SERVER_ECHO);
    target = impatient(test_target(KVMIG_PROBE_TCP_ECHO, "127.0.0.1", server.port));
    probe = start(&target, 1);
    test_wait_successes(probe, 0, 5);
    server.is_silent = 1;
    test_wait_failures(probe, 0, 30); /* far more than are open at a time: what they sent comes back too late */
    test_wait_open_gap(probe, 0);
    failures = test_result(probe, 0).failures;
    back_ms = kvmig__now_ms();
    server.is_silent = 0;
    test_wait_successes(probe, 0, 20);
    result = test_result(probe, 0);
    assert_int_equal(result.held_survived, 1);
    assert_int_equal(server.accepted, 1);
    assert_true(result.failures >= failures); /* late answers count for nothing */
    assert_true(result.gap_end_ms >= back_ms);
    assert_true(result.gap_ms > target.timeout_ms);
    assert_member(probe, 0, "held_survived", NULL, "true");
    kvmig_probe_unref(probe);
    server_stop(&server);
}

static void a_broken_connection_is_told_and_replaced(int order)
{
    struct server server;
    struct kvmig_probe_target target;
    struct kvmig_probe *probe;

    server_start(&server, "127.0.0.1", SERVER_ECHO);
    target = test_target(KVMIG_PROBE_TCP_ECHO, "127.0.0.1", server.port);
    target.interval_ms = 100;
    probe = start(&target, 1);
    test_wait_successes(probe, 0, 3);
    server.order = order;
    test_wait_for(&server.accepted, 2);
    test_wait_successes(probe, 0, 3);
    assert_int_equal(test_result(probe, 0).held_survived, 0);
    assert_member(probe, 0, "held_survived", NULL, "false");
    kvmig_probe_unref(probe);
    server_stop(&server);
}

static void a_reset_breaks_the_held_connection(void **state)
{
    (void)state;
    a_broken_connection_is_told_and_replaced(ORDER_RESET);
}

static void the_end_of_the_stream_breaks_the_held_connection(void **state)
{
    (void)state;
    a_broken_connection_is_told_and_replaced(ORDER_FINISH);
}

static void a_service_that_is_no_echo_is_named(void **state)
{
    struct server server;
    struct kvmig_probe_target target;
    struct kvmig_probe *probe;

    (void)state;
    server_start(&server, "127.0.0.1", SERVER_GARBAGE);
    target = test_target(KVMIG_PROBE_TCP_ECHO, "127.0.0.1", server.port);
    probe = start(&target, 1);
    test_wait_failures(probe, 0, 3);
    assert_int_equal(test_result(probe, 0).tries, test_result(probe, 0).failures);
    assert_member(probe, 0, "error", "name", "EPROTO");
    assert_member(probe, 0, "error", "message", "the target answers with something else than what was sent");
    kvmig_probe_unref(probe);
    server_stop(&server);
}

static void an_echo_that_begins_to_listen_later_is_found(void **state)
{
    struct server server;
    struct kvmig_probe_target target;
    struct kvmig_probe *probe;

    (void)state;
    server_start(&server, "127.0.0.1", SERVER_ECHO);
    server.is_silent = 1;
    assert_int_equal(listen(server.listener, 0), 0);
    target = impatient(test_target(KVMIG_PROBE_TCP_ECHO, "127.0.0.1", server.port));
    probe = start(&target, 1);
    test_wait_failures(probe, 0, 20);
    server.is_silent = 0;
    test_wait_successes(probe, 0, 5);
    kvmig_probe_unref(probe);
    server_stop(&server);
}

/* ---- many ---- */

static void many_targets_are_tried_side_by_side(void **state)
{
    struct server echo, http;
    struct kvmig_probe_target targets[64];
    struct kvmig_probe *probe;

    (void)state;
    server_start(&echo, "127.0.0.1", SERVER_ECHO);
    server_start(&http, "::1", SERVER_HTTP);
    for (int i = 0; i < 64; i++) {
        const int32_t kind = KVMIG_PROBE_TCP_CONNECT + i % 3;

        targets[i] = kind == KVMIG_PROBE_HTTP_GET ? test_target(kind, "::1", http.port)
                                                  : test_target(kind, "127.0.0.1", echo.port);
        targets[i].interval_ms = 100 + (uint32_t)i % 4 * 10;
    }
    probe = start(targets, 64);
    test_wait_successes(probe, 63, 3);
    for (size_t i = 0; i < 64; i++) {
        while (test_result(probe, i).last_success_ms == 0)
            test_wait_successes(probe, i, 1);
        assert_int_equal(test_result(probe, i).failures, 0);
    }
    kvmig_probe_unref(probe);
    server_stop(&echo);
    server_stop(&http);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_succeeds_over_ipv4),
        cmocka_unit_test(every_kind_succeeds_over_ipv6),
        cmocka_unit_test(a_name_is_looked_up),
        cmocka_unit_test(a_bad_name_fails_and_does_not_disturb_the_others),
        cmocka_unit_test(a_missing_namespace_fails_every_try),
        cmocka_unit_test(a_refused_try_fails),
        cmocka_unit_test(silence_is_a_gap_that_ends_with_the_first_answer),
        cmocka_unit_test(the_held_connection_outlives_silence),
        cmocka_unit_test(a_reset_breaks_the_held_connection),
        cmocka_unit_test(the_end_of_the_stream_breaks_the_held_connection),
        cmocka_unit_test(a_service_that_is_no_echo_is_named),
        cmocka_unit_test(an_echo_that_begins_to_listen_later_is_found),
        cmocka_unit_test(many_targets_are_tried_side_by_side),
    };

    return !!cmocka_run_group_tests(tests, set_up, tear_down);
}
