/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The HTTP client against a scripted API server: what is sent, what comes back, its bounds, and watches.
 */
#include "base/json_internal.h"
#include "kube_http_test.h"

#include "kubernetes/client_lines.h"

#include <json-c/json.h>
#include <time.h>

#define STATUS(code, reason, message)                                                                                  \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"" message                         \
    "\",\"reason\":\"" reason "\",\"code\":" #code "}"

static const struct kvmig__client_opts patient = { .request_timeout_ms = TEST_DEADLINE_MS,
                                                   .idle_timeout_ms = TEST_DEADLINE_MS };

/* ---- what is sent ---- */

static void test_a_request_carries_token_agent_and_what_it_accepts(void **state)
{
    struct http_test *test = *state;
    struct http_call call;

    http_test_open(test, &patient, NULL);
    assert_null(kvmig__client_server(test->client));
    kube_json(&test->server, "GET /api/v1/nodes?limit=5 HTTP/1.1", "200 OK", "", "{\"kind\":\"NodeList\"}");
    http_get(test, &call, "/api/v1/nodes?limit=5");
    assert_int_equal(call.status, 200);
    assert_int_equal(call.code, 0);
    assert_string_equal(call.body, "{\"kind\":\"NodeList\"}");
    assert_int_equal(call.retry_after_ms, -1);
    assert_true(http_request_has(test, 0, "\r\nAuthorization: Bearer token-1\r\n"));
    assert_true(http_request_has(test, 0, "\r\nUser-Agent: libkvmig/"));
    assert_true(http_request_has(test, 0, "\r\nAccept: application/json\r\n"));
    assert_true(http_request_has(test, 0, "\r\nAccept-Encoding: gzip\r\n"));
    assert_string_equal(kvmig__client_server(test->client), test->server.url);
    http_call_clear(&call);
}

static void test_a_body_is_sent_with_its_type(void **state)
{
    struct http_test *test = *state;
    struct http_call call;

    http_test_open(test, &patient, NULL);
    kube_json(&test->server, "POST /apis/x", "201 Created", "", "{}");
    http_call_init(&call, test, "POST", "/apis/x");
    call.ask.body = "{\"a\":1}";
    http_call_run(&call);
    assert_int_equal(call.status, 201);
    assert_int_equal(call.code, 0);
    assert_true(http_request_has(test, 0, "\r\nContent-Type: application/json\r\n"));
    assert_true(http_request_has(test, 0, "\r\n\r\n{\"a\":1}"));
    http_call_clear(&call);

    kube_json(&test->server, "PATCH /apis/x/1", "200 OK", "", "{}");
    http_call_init(&call, test, "PATCH", "/apis/x/1");
    call.ask.body = "[]";
    call.ask.content_type = "application/json-patch+json";
    http_call_run(&call);
    assert_int_equal(call.code, 0);
    assert_true(http_request_has(test, 1, "\r\nContent-Type: application/json-patch+json\r\n"));
    http_call_clear(&call);

    kube_json(&test->server, "DELETE /apis/x/1", "200 OK", "", "{}");
    http_call_init(&call, test, "DELETE", "/apis/x/1");
    http_call_run(&call);
    assert_int_equal(call.code, 0);
    http_call_clear(&call);
    assert_int_equal(test->server.connections,
                     2); /* what libcurl must not send twice by itself begins one of its own */
}

static void test_a_proxy_is_used_if_one_is_given_and_never_from_the_environment(void **state)
{
    struct kvmig_kube_opts kube = KVMIG_KUBE_OPTS_INIT;
    struct http_test *test = *state;
    struct kvmig__access_source *source = NULL;
    struct http_call call;

    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("no_proxy", "*", 1);
    http_test_open(test, &patient, NULL);
    kube_json(&test->server, "GET /a HTTP", "200 OK", "", "{}");
    http_get(test, &call, "/a");
    assert_int_equal(call.code, 0);
    http_call_clear(&call);
    http_test_close(test);

    kube.server = "http://api.example:8080/base/";
    kube.proxy_url = test->server.url;
    assert_int_equal(kvmig__access_source_new(&kube, "test", &source), 0);
    kvmig__context_lock(test->context);
    test->client = kvmig__client_new(test->context, source, &patient);
    kvmig__context_unlock(test->context);
    kvmig__access_source_unref(source);
    kube_json(&test->server, "GET http://api.example:8080/base/b HTTP", "200 OK", "", "{}");
    http_get(test, &call, "/b");
    assert_int_equal(call.code, 0);
    http_call_clear(&call);
    unsetenv("http_proxy");
    unsetenv("no_proxy");
}

static void test_escaping_leaves_only_what_needs_none(void **state)
{
    char *escaped = kvmig__url_escape("a-b_c.d~9/ =%,\xc3\xa4");

    (void)state;
    assert_string_equal(escaped, "a-b_c.d~9%2F%20%3D%25%2C%C3%A4");
    free(escaped);
}

/* ---- what comes back ---- */

static void test_a_refusal_keeps_the_servers_message_and_reason(void **state)
{
    static const struct {
        const char *status, *body;
        int32_t http, code;
        const char *reason;
    } cases[] = {
        { "400 Bad Request", STATUS(400, "BadRequest", "no"), 400, -EINVAL, "BadRequest" },
        { "403 Forbidden", STATUS(403, "Forbidden", "no"), 403, -EPERM, "Forbidden" },
        { "404 Not Found", STATUS(404, "NotFound", "no"), 404, -ENOENT, "NotFound" },
        { "409 Conflict", STATUS(409, "AlreadyExists", "no"), 409, -EEXIST, "AlreadyExists" },
        { "409 Conflict", STATUS(409, "Conflict", "no"), 409, -EAGAIN, "Conflict" },
        { "410 Gone", STATUS(410, "Expired", "no"), 410, -ESTALE, "Expired" },
        { "422 Unprocessable", STATUS(422, "Invalid", "no"), 422, -EINVAL, "Invalid" },
        { "429 Too Many", STATUS(429, "TooManyRequests", "no"), 429, -EAGAIN, "TooManyRequests" },
        { "500 Internal", STATUS(500, "InternalError", "no"), 500, -EIO, "InternalError" },
        { "503 Unavailable", "no backends, says no proxy", 503, -EIO, NULL },
        { "302 Found", "", 302, -EBADMSG, NULL },
    };
    struct http_test *test = *state;

    http_test_open(test, &patient, NULL);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct http_call call;

        kube_json(&test->server, "", cases[i].status, "Location: /elsewhere\r\n", cases[i].body);
        http_get(test, &call, "/api/v1/pods?limit=1");
        assert_int_equal(call.status, cases[i].http);
        assert_int_equal(call.code, cases[i].code);
        assert_true(kvmig__str_eq(call.reason, cases[i].reason));
        assert_true(!*cases[i].body || strstr(call.text, "no"));
        assert_non_null(strstr(call.text, "GET http://127.0.0.1:"));
        assert_null(strstr(call.text, "limit"));
        http_call_clear(&call);
    }
    assert_int_equal(test->server.requests, (int)KVMIG__N_ELEMENTS(cases)); /* nothing is tried twice or elsewhere */
}

static void test_retry_after_is_understood_in_all_its_forms(void **state)
{
    struct http_test *test = *state;
    time_t later = time(NULL) + 100;
    struct http_call call;
    struct tm tm;
    char date[80];

    http_test_open(test, &patient, NULL);
    kube_json(&test->server, "", "429 Too Many", "Retry-After: 7\r\n", "{}");
    http_get(test, &call, "/a");
    assert_int_equal(call.retry_after_ms, 7000);
    http_call_clear(&call);

    gmtime_r(&later, &tm);
    strftime(date, sizeof(date), "Retry-After: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
    kube_json(&test->server, "", "503 Unavailable", date, "{}");
    http_get(test, &call, "/a");
    assert_in_range(call.retry_after_ms, 1000, 100000);
    http_call_clear(&call);

    kube_json(&test->server, "", "429 Too Many", "",
              "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":3},\"code\":429}");
    http_get(test, &call, "/a");
    assert_int_equal(call.retry_after_ms, 3000);
    http_call_clear(&call);

    kube_json(&test->server, "", "429 Too Many", "Retry-After: soon\r\n", "");
    http_get(test, &call, "/a");
    assert_int_equal(call.retry_after_ms, -1);
    http_call_clear(&call);
}

static void test_a_token_that_the_server_repeats_is_hidden(void **state)
{
    struct http_test *test = *state;
    struct http_call call;

    http_test_open(test, &patient, NULL);
    kube_json(&test->server, "", "500 Internal", "", STATUS(500, "X", "bad header: Bearer token-1\\n, sir"));
    http_get(test, &call, "/a");
    assert_null(strstr(call.text, "token-1"));
    assert_non_null(strstr(call.text, "bad header: Bearer *******"));
    assert_null(strchr(call.text, '\n'));
    http_call_clear(&call);
}

static void test_a_compressed_list_is_read(void **state)
{
    /* gzip of {"kind":"List"} */
    static const unsigned char zipped[] = { 0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56,
                                            0xca, 0xce, 0xcc, 0x4b, 0x51, 0xb2, 0x52, 0xf2, 0xc9, 0x2c, 0x2e, 0x51,
                                            0xaa, 0x05, 0x00, 0xc1, 0x7f, 0xfa, 0x0a, 0x0f, 0x00, 0x00, 0x00 };
    struct http_test *test = *state;
    struct kube_reply *reply = kube_server_on(&test->server, "");
    struct http_call call;

    http_test_open(test, &patient, NULL);
    kube_say(reply, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", sizeof(zipped));
    kube_raw(reply, (const char *)zipped, sizeof(zipped));
    kube_end(reply);
    http_get(test, &call, "/a");
    assert_string_equal(call.body, "{\"kind\":\"List\"}");
    http_call_clear(&call);
}

static void test_an_answer_without_body_is_an_empty_text(void **state)
{
    struct http_test *test = *state;
    struct http_call call;

    http_test_open(test, &patient, NULL);
    kube_json(&test->server, "", "200 OK", "", "");
    http_get(test, &call, "/a");
    assert_string_equal(call.body, "");
    http_call_clear(&call);
}

/* ---- bounds ---- */

static void test_a_body_beyond_its_bound_is_refused(void **state)
{
    const struct kvmig__client_opts opts = { .request_timeout_ms = TEST_DEADLINE_MS, .max_body = 100 };
    struct http_test *test = *state;
    char text[200] = "";
    struct http_call call;

    http_test_open(test, &opts, NULL);
    memset(text, 'x', 100);
    kube_json(&test->server, "", "200 OK", "", text);
    http_get(test, &call, "/a");
    assert_int_equal(call.code, 0);
    assert_string_equal(call.body, text);
    http_call_clear(&call);

    memset(text, 'x', 101);
    kube_json(&test->server, "", "200 OK", "", text);
    http_get(test, &call, "/a");
    assert_int_equal(call.code, -EMSGSIZE);
    http_call_clear(&call);
}

static void test_a_huge_refusal_is_still_a_refusal(void **state)
{
    struct http_test *test = *state;
    struct kube_reply *reply = kube_server_on(&test->server, "");
    char *text = kvmig__calloc(1000001, 1);
    struct http_call call;

    memset(text, 'x', 1000000);
    http_test_open(test, &patient, NULL);
    kube_say(reply, "HTTP/1.1 500 Internal\r\nContent-Length: 1000000\r\n\r\n%s", text);
    kube_end(reply);
    http_get(test, &call, "/a");
    assert_int_equal(call.code, -EIO);
    assert_in_range(strlen(call.text), 100, 2000);
    http_call_clear(&call);
    free(text);
}

static void test_a_line_beyond_its_bound_ends_the_watch_after_those_before(void **state)
{
    const struct kvmig__client_opts opts = { .request_timeout_ms = TEST_DEADLINE_MS, .max_line = 10 };
    struct http_test *test = *state;
    struct kube_reply *reply = kube_watch(&test->server, "");
    struct http_call call;

    http_test_open(test, &opts, NULL);
    kube_chunk(reply, "0123456789\n01234567890");
    http_call_init(&call, test, "GET", "/a?watch=true");
    call.ask.line = http_call_line;
    http_call_run(&call);
    assert_int_equal(call.code, -EMSGSIZE);
    assert_int_equal(call.n_lines, 1);
    assert_string_equal(call.lines.v[0], "0123456789");
    http_call_clear(&call);
}

/* ---- watches ---- */

static void test_lines_arrive_however_they_were_cut(void **state)
{
    struct http_test *test = *state;
    struct kube_reply *reply = kube_watch(&test->server, "GET /w");
    struct http_call call;

    http_test_open(test, &patient, NULL);
    http_call_init(&call, test, "GET", "/w");
    call.ask.line = http_call_line;
    http_call_start(&call);
    test_run_until(test->context, &call.opened, 1);
    kube_chunk(reply, "{\"n\":1}\n{\"n\":2}\r\n\n{\"n\"");
    test_run_until(test->context, &call.n_lines, 2);
    kube_drip(reply, ":3}\n{\"n\":4}\n");
    test_run_until(test->context, &call.n_lines, 4);
    kube_chunk(reply, "{\"n\":5}"); /* the last one may lack its end */
    kube_end_chunks(reply);
    test_run_until(test->context, &call.done, 1);
    assert_int_equal(call.code, 0);
    assert_null(call.body);
    assert_int_equal(call.n_lines, 5);
    for (int i = 0; i < 5; i++) {
        char *line = kvmig__asprintf("{\"n\":%d}", i + 1);

        assert_string_equal(call.lines.v[i], line);
        free(line);
    }
    assert_false(http_request_has(test, 0, "Accept-Encoding"));
    http_call_clear(&call);
}

static void test_a_cut_watch_does_not_show_half_a_line(void **state)
{
    struct http_test *test = *state;
    struct kube_reply *reply = kube_watch(&test->server, "GET /w");
    struct http_call call;

    http_test_open(test, &patient, NULL);
    http_call_init(&call, test, "GET", "/w");
    call.ask.line = http_call_line;
    kube_chunk(reply, "{\"n\":1}\n{\"n\":");
    kube_hang_up(reply);
    http_call_run(&call);
    assert_int_equal(call.code, -ECONNRESET);
    assert_int_equal(call.status, 200);
    assert_int_equal(call.n_lines, 1);
    http_call_clear(&call);
}

static void test_a_flood_of_lines_arrives_whole_and_in_order(void **state)
{
    struct http_test *test = *state;
    struct kube_reply *reply = kube_watch(&test->server, "GET /w");
    struct http_call call;

    http_test_open(test, &patient, NULL);
    http_call_init(&call, test, "GET", "/w");
    call.ask.line = http_call_line;
    for (int i = 0; i < 5000; i++)
        kube_chunk(reply, "%d\n", i);
    kube_end_chunks(reply);
    http_call_run(&call);
    assert_int_equal(call.n_lines, 5000);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(atoi(call.lines.v[i]), i);
    http_call_clear(&call);
}

static void test_a_refused_watch_has_no_lines(void **state)
{
    struct http_test *test = *state;
    struct http_call call;

    http_test_open(test, &patient, NULL);
    http_call_init(&call, test, "GET", "/w");
    call.ask.line = http_call_line;
    kube_json(&test->server, "GET /w", "410 Gone", "", STATUS(410, "Expired", "too old"));
    http_call_run(&call);
    assert_int_equal(call.code, -ESTALE);
    assert_int_equal(call.opened + call.n_lines, 0);
    assert_non_null(strstr(call.text, "too old"));
    http_call_clear(&call);
}

/* ---- JSON and lines ---- */

static void test_the_bound_of_a_line_does_not_count_its_end(void **state)
{
    struct kvmig__lines lines = { .max_line = 3 };
    size_t length;

    (void)state;
    assert_true(kvmig__lines_feed(&lines, "abc\nde", 6));
    assert_true(kvmig__lines_feed(&lines, "f\n", 2));
    assert_string_equal(kvmig__lines_take(&lines, &length), "abc");
    assert_string_equal(kvmig__lines_take(&lines, &length), "def");
    assert_null(kvmig__lines_take(&lines, &length));
    assert_true(kvmig__lines_feed(&lines, "gh\nxy", 5));
    assert_false(kvmig__lines_feed(&lines, "zz", 2));
    assert_string_equal(kvmig__lines_take(&lines, &length), "gh");
    kvmig__lines_finish(&lines);
    assert_null(kvmig__lines_take(&lines, &length));
    kvmig__lines_clear(&lines);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, http_test_setup, http_test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_carries_token_agent_and_what_it_accepts),
        TEST(a_body_is_sent_with_its_type),
        TEST(a_proxy_is_used_if_one_is_given_and_never_from_the_environment),
        cmocka_unit_test(test_escaping_leaves_only_what_needs_none),
        TEST(a_refusal_keeps_the_servers_message_and_reason),
        TEST(retry_after_is_understood_in_all_its_forms),
        TEST(a_token_that_the_server_repeats_is_hidden),
        TEST(a_compressed_list_is_read),
        TEST(an_answer_without_body_is_an_empty_text),
        TEST(a_body_beyond_its_bound_is_refused),
        TEST(a_huge_refusal_is_still_a_refusal),
        TEST(a_line_beyond_its_bound_ends_the_watch_after_those_before),
        TEST(lines_arrive_however_they_were_cut),
        TEST(a_cut_watch_does_not_show_half_a_line),
        TEST(a_flood_of_lines_arrives_whole_and_in_order),
        TEST(a_refused_watch_has_no_lines),
        cmocka_unit_test(test_the_bound_of_a_line_does_not_count_its_end),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
