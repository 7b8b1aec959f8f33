/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The HTTP client when the server fails it, and when its users change their minds: broken connections, silence, and who
 * may cancel what when.
 */
#include "kube_http_test.h"

static const struct kvmig__client_opts patient = { .request_timeout_ms = TEST_DEADLINE_MS,
                                                   .idle_timeout_ms = TEST_DEADLINE_MS };

/* ---- trouble ---- */

static void test_connections_that_fail_have_codes_of_their_own(void **state)
{
    static const struct {
        const char *bytes;
        int32_t code;
    } cases[] = {
        { "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}", -ECONNRESET },
        { "SSH-2.0-OpenSSH_9.2\r\n", -EBADMSG },
        { "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd", -EBADMSG },
        { "", -ECONNRESET },
    };
    struct http_test *test = *state;

    http_test_open(test, &patient, NULL);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct kube_reply *reply = kube_server_on(&test->server, "");
        struct http_call call;

        kube_say(reply, "%s", cases[i].bytes);
        kube_hang_up(reply);
        http_get(test, &call, "/a");
        assert_int_equal(call.code, cases[i].code);
        http_call_clear(&call);
    }
}

static void test_nobody_listening_is_refused(void **state)
{
    struct http_test *test = *state;
    struct http_call call;

    http_test_open(test, &patient, NULL);
    kube_server_deafen(&test->server);
    http_get(test, &call, "/a");
    assert_int_equal(call.code, -ECONNREFUSED);
    assert_int_equal(call.status, 0);
    http_call_clear(&call);
}

static void test_tls_to_a_server_without_it_is_tls_trouble(void **state)
{
    struct http_test *test = *state;
    char *url = kvmig__asprintf("https%s", test->server.url + strlen("http"));
    struct http_call call;

    http_test_open(test, &patient, url);
    http_get(test, &call, "/a");
    assert_int_equal(call.code, -EPROTO);
    http_call_clear(&call);
    free(url);
}

static void test_a_silent_server_runs_into_the_deadline_and_gets_a_new_connection(void **state)
{
    struct http_test *test = *state;
    struct http_call call;

    http_test_open(test, &(struct kvmig__client_opts){ .request_timeout_ms = 1500 }, NULL);
    kube_server_on(&test->server, "GET /silent");
    http_get(test, &call, "/silent");
    assert_int_equal(call.code, -ETIMEDOUT);
    assert_int_equal(call.status, 0);
    assert_int_equal(call.retry_after_ms, -1);
    http_call_clear(&call);
    kube_json(&test->server, "GET /a", "200 OK", "", "{}");
    http_get(test, &call, "/a");
    assert_int_equal(call.code, 0);
    assert_int_equal(test->server.connections, 2);
    http_call_clear(&call);
}

static void test_a_silent_watch_ends_but_a_slow_one_lives(void **state)
{
    struct http_test *test = *state;
    struct kube_reply *slow = kube_watch(&test->server, "GET /slow"), *unopened;
    struct http_call call;

    http_test_open(test, &(struct kvmig__client_opts){ .request_timeout_ms = 1500, .idle_timeout_ms = 1500 }, NULL);
    http_call_init(&call, test, "GET", "/slow");
    call.ask.line = http_call_line;
    http_call_start(&call);
    test_run_until(test->context, &call.opened, 1);
    for (int i = 0; i < 8; i++) { /* together longer than both time-outs */
        struct test_target never = { &call.n_lines, 1 };

        kube_chunk(slow, "x");
        kvmig_context_run(test->context, test_reached, &never, 250);
    }
    assert_int_equal(call.done, 0);
    kube_chunk(slow, "\n");
    test_run_until(test->context, &call.done, 1);
    assert_int_equal(call.code, -ETIMEDOUT);
    assert_int_equal(call.status, 200);
    assert_string_equal(call.lines.v[0], "xxxxxxxx");
    http_call_clear(&call);

    unopened = kube_server_on(&test->server, "GET /never");
    http_call_init(&call, test, "GET", "/never");
    call.ask.line = http_call_line;
    http_call_run(&call);
    assert_true(kube_reply_taken(unopened));
    assert_int_equal(call.code, -ETIMEDOUT);
    assert_int_equal(call.status, 0);
    http_call_clear(&call);
}

/* ---- cancelling ---- */

static void test_a_cancelled_request_says_nothing(void **state)
{
    struct http_test *test = *state;
    struct http_call first, other;

    http_test_open(test, &patient, NULL);
    kube_json(&test->server, "GET /a", "200 OK", "", "{}");
    http_call_init(&first, test, "GET", "/a");
    http_call_start(&first);
    http_call_cancel(&first); /* before there are credentials */
    http_call_start(&first);
    test_wait_for(&test->tokens, 1);
    http_get(test, &other, "/b");
    assert_int_equal(other.status, 599);
    http_call_cancel(&first); /* its answer may be here already */
    http_call_clear(&other);
    test_drain(test->context);
    assert_true(first.done <= 1);
    http_call_clear(&first);
}

static void test_functions_may_cancel_free_and_ask(void **state)
{
    struct http_test *test = *state;
    struct kube_reply *reply = kube_watch(&test->server, "GET /w");
    struct http_call call, next;

    http_test_open(test, &patient, NULL);
    http_call_init(&call, test, "GET", "/w");
    call.ask.line = http_call_line;
    call.cancel_at_line = 2;
    kube_chunk(reply, "1\n2\n3\n4\n");
    http_call_start(&call);
    test_run_until(test->context, &call.n_lines, 2);
    test_drain(test->context);
    assert_int_equal(call.n_lines, 2);
    assert_int_equal(call.done, 0);
    http_call_clear(&call);

    kube_json(&test->server, "GET /a", "200 OK", "", "1");
    kube_json(&test->server, "GET /b", "200 OK", "", "2");
    http_call_init(&call, test, "GET", "/a");
    http_call_init(&next, test, "GET", "/b");
    call.then = &next;
    next.free_client = true;
    http_call_start(&call);
    test_run_until(test->context, &next.done, 1);
    assert_null(test->client);
    assert_string_equal(next.body, "2");
    http_call_clear(&call);
    http_call_clear(&next);
}

static void test_a_client_may_be_freed_in_the_middle_of_a_line(void **state)
{
    struct http_test *test = *state;
    struct kube_reply *reply = kube_watch(&test->server, "GET /w");
    struct http_call call, other;

    http_test_open(test, &patient, NULL);
    http_call_init(&call, test, "GET", "/w");
    call.ask.line = http_call_line;
    call.cancel_at_line = 1;
    call.free_client = true;
    kube_server_on(&test->server, "GET /other");
    http_call_init(&other, test, "GET", "/other");
    http_call_start(&other);
    kube_chunk(reply, "1\n2\n");
    http_call_start(&call);
    test_run_until(test->context, &call.n_lines, 1);
    test_drain(test->context);
    assert_null(test->client);
    assert_int_equal(call.n_lines, 1);
    assert_int_equal(call.done + other.done, 0);
    test_run_until(test->context, &test->token_freed, 1); /* the caller's function, without the lock */
    http_call_clear(&call);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, http_test_setup, http_test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(connections_that_fail_have_codes_of_their_own),
        TEST(nobody_listening_is_refused),
        TEST(tls_to_a_server_without_it_is_tls_trouble),
        TEST(a_silent_server_runs_into_the_deadline_and_gets_a_new_connection),
        TEST(a_silent_watch_ends_but_a_slow_one_lives),
        TEST(a_cancelled_request_says_nothing),
        TEST(functions_may_cancel_free_and_ask),
        TEST(a_client_may_be_freed_in_the_middle_of_a_line),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
