/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tries that GET a page: which answers count, however they come, and what is asked. First the reading of a status line by
 * itself, then tries against a server on the loopback device.
 */
#include "probe/http_status.h"
#include "probe_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

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

/* ---- the status line ---- */

/* In every pair of pieces, and byte by byte. */
static void assert_status(const char *text, int32_t expected)
{
    const size_t len = strlen(text);
    struct kvmig__http_head head = { 0 };
    int32_t rc = 0;

    for (size_t i = 0; i < len && !rc; i++)
        rc = kvmig__http_take(&head, text + i, 1);
    assert_int_equal(rc, expected);
    for (size_t cut = 0; cut <= len; cut++) {
        head = (struct kvmig__http_head){ 0 };
        rc = kvmig__http_take(&head, text, cut);
        if (!rc)
            rc = kvmig__http_take(&head, text + cut, len - cut);
        assert_int_equal(rc, expected);
    }
}

static void a_status_line_is_read_in_any_pieces(void **state)
{
    (void)state;
    assert_status(OK_HEAD, 200);
    assert_status("HTTP/1.0 404 Not Found\n", 404);
    assert_status("HTTP/1.1 503\r\n", 503);
    assert_status("HTTP/1.1 204 \r\n", 204);
    assert_status("HTTP/1.1 999\nHTTP/1.1 200\n", 999);
    assert_status("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200);
}

static void a_line_that_is_not_complete_is_no_status(void **state)
{
    (void)state;
    assert_status("", 0);
    assert_status("HTTP/1.1 20", 0);
    assert_status("HTTP/1.1 200 OK\r", 0);
}

static void interim_answers_are_passed_over(void **state)
{
    (void)state;
    assert_status("HTTP/1.1 100 Continue\r\n\r\n" OK_HEAD, 200);
    assert_status("HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX:\r\n\r\nHTTP/1.1 500 No\r\n",
                  500);
    assert_status("HTTP/1.1 103 Early Hints\r\nHTTP/1.1 200 OK\r\n", 0); /* a field, if an odd one */
    assert_status("HTTP/1.1 100 Continue\r\n\r\n\r\n" OK_HEAD, -EPROTO);
}

static void what_cannot_become_a_status_line_is_refused_at_once(void **state)
{
    const char *const texts[] = {
        "S",
        "\n",
        "\r",
        " ",
        "http/",
        "HTTP/2",
        "HTTP/0",
        "HTTP/1.2",
        "HTTP/1.10",
        "HTTP/1.1  ",
        "HTTP/1.1\t",
        "HTTP/1.1 0",
        "HTTP/1.1 2\r",
        "HTTP/1.1 20\n",
        "HTTP/1.1 20x",
        "HTTP/1.1 2000",
        "HTTP/1.1 200\t",
        "HTTP/1.1 -",
        "PRI * HTTP/2.0\r\n",
        "220 welcome\r\n",
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++)
        assert_status(texts[i], -EPROTO);
}

static int32_t take_repeated(struct kvmig__http_head *head, char c, size_t n)
{
    int32_t rc = 0;

    while (n-- > 0 && !rc)
        rc = kvmig__http_take(head, &c, 1);
    return rc;
}

static void what_never_ends_is_refused_at_a_limit(void **state)
{
    struct kvmig__http_head head = { 0 };

    (void)state;
    assert_int_equal(kvmig__http_take(&head, "HTTP/1.1 200 ", 13), 0);
    assert_int_equal(take_repeated(&head, 'x', KVMIG__HTTP_LONGEST_LINE - 13), 0);
    assert_int_equal(take_repeated(&head, 'x', 1), -EPROTO);
    head = (struct kvmig__http_head){ 0 };
    assert_int_equal(kvmig__http_take(&head, "HTTP/1.1 100 \n", 14), 0);
    assert_int_equal(take_repeated(&head, 'x', KVMIG__HTTP_LONGEST_HEAD - 14), 0);
    assert_int_equal(take_repeated(&head, 'x', 1), -EPROTO);
    head = (struct kvmig__http_head){ 0 };
    for (size_t i = 0; i < KVMIG__HTTP_LONGEST_HEAD / 16; i++)
        assert_int_equal(kvmig__http_take(&head, "HTTP/1.1 100 \n\r\n", 16), 0);
    assert_int_equal(take_repeated(&head, 'H', 1), -EPROTO);
}

/* ---- tries ---- */

static struct kvmig_probe *start(const struct server *server)
{
    struct kvmig_probe_target target = test_target(KVMIG_PROBE_HTTP_GET, "127.0.0.1", server->port);
    struct kvmig_probe *probe = test_probe_new(context, &target, 1);

    assert_int_equal(kvmig_probe_start(probe), 0);
    return probe;
}

static void assert_last_failure(struct kvmig_probe *probe, const char *expected)
{
    char *text = test_json_member(probe, 0, "last_failure", NULL);

    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void any_status_below_500_is_an_answer(void **state)
{
    struct server server;
    struct kvmig_probe *probe;
    uint64_t failures;

    (void)state;
    server_start(&server, "127.0.0.1", SERVER_HTTP);
    probe = start(&server);
    test_wait_successes(probe, 0, 2);
    server.status = 404;
    test_wait_successes(probe, 0, 3);
    server.status = 301; /* not followed */
    test_wait_successes(probe, 0, 3);
    assert_int_equal(test_result(probe, 0).failures, 0);
    server.status = 503;
    test_wait_failures(probe, 0, 3);
    assert_last_failure(probe, "EIO");
    server.status = 499;
    test_wait_successes(probe, 0, 3);
    failures = test_result(probe, 0).failures;
    test_wait_successes(probe, 0, 3);
    assert_int_equal(test_result(probe, 0).failures, failures);
    kvmig_probe_unref(probe);
    server_stop(&server);
}

static void assert_success(const char *text, bool in_pieces, enum server_order after_text)
{
    struct server server;
    struct kvmig_probe *probe;

    server_start_text(&server, text, in_pieces, after_text);
    probe = start(&server);
    test_wait_successes(probe, 0, 3);
    assert_int_equal(test_result(probe, 0).failures, 0);
    kvmig_probe_unref(probe);
    server_stop(&server);
}

static void assert_failure(const char *text, enum server_order after_text, const char *code)
{
    struct server server;
    struct kvmig_probe *probe;

    server_start_text(&server, text, false, after_text);
    probe = start(&server);
    test_wait_failures(probe, 0, 3);
    assert_int_equal(test_result(probe, 0).tries, test_result(probe, 0).failures);
    assert_last_failure(probe, code);
    kvmig_probe_unref(probe);
    server_stop(&server);
}

static void an_answer_may_come_byte_by_byte(void **state)
{
    (void)state;
    assert_success(OK_HEAD, true, ORDER_NONE);
    assert_success("HTTP/1.1 100 Continue\r\n\r\n" OK_HEAD, true, ORDER_NONE);
}

static void an_interim_answer_is_not_the_answer(void **state)
{
    (void)state;
    assert_success("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", false, ORDER_NONE);
    assert_failure("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\n\r\n", ORDER_NONE, "EIO");
    assert_failure("HTTP/1.1 100 Continue\r\n\r\n", ORDER_FINISH, "ECONNRESET");
}

static void an_answer_counts_though_the_connection_ends_after_it(void **state)
{
    (void)state;
    assert_success(OK_HEAD, false, ORDER_FINISH);
    assert_success(OK_HEAD "\r\n", true, ORDER_FINISH);
    /* Longer than one read, so that what is left must be read although the end was seen. */
    assert_success(
        "HTTP/1.1 103 Early Hints\r\n"
        "Link: "
        "</aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa>"
        "\r\n\r\n" OK_HEAD "\r\n",
        false, ORDER_FINISH);
}

static void a_connection_that_ends_before_the_answer_is_a_failure(void **state)
{
    (void)state;
    assert_failure("", ORDER_FINISH, "ECONNRESET");
    assert_failure("", ORDER_RESET, "ECONNRESET");
    assert_failure("HTTP/1.1 200 O", ORDER_FINISH, "ECONNRESET");
}

static void what_is_no_http_is_no_answer(void **state)
{
    (void)state;
    assert_failure("220 welcome to another service\r\n", ORDER_NONE, "EPROTO");
    assert_failure("SSH-2.0-none", ORDER_NONE, "EPROTO");
    assert_failure("HTTP/2 200\r\n", ORDER_NONE, "EPROTO");
    assert_failure("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ORDER_FINISH, "EPROTO");
}

static void a_head_that_never_ends_is_no_answer(void **state)
{
    const char begin[] = "HTTP/1.1 100 Continue\r\nX: ", line[] = "HTTP/1.1 200 ";
    char *text = kvmig__calloc(1, 3 * KVMIG__HTTP_LONGEST_HEAD + 1);

    (void)state;
    memset(text, 'x', 3 * KVMIG__HTTP_LONGEST_HEAD);
    memcpy(text, begin, sizeof(begin) - 1);
    assert_failure(text, ORDER_NONE, "EPROTO");
    memset(text, 'x', sizeof(begin));
    memcpy(text, line, sizeof(line) - 1);
    assert_failure(text, ORDER_NONE, "EPROTO");
    memset(text, 'x', sizeof(line));
    memcpy(text, OK_HEAD, sizeof(OK_HEAD) - 1); /* but what follows the status line does not matter */
    assert_success(text, false, ORDER_NONE);
    free(text);
}

static void a_page_that_does_not_come_runs_out_of_time(void **state)
{
    struct kvmig_probe_target target;
    struct kvmig_probe *probe;
    struct server server;

    (void)state;
    server_start(&server, "127.0.0.1", SERVER_HTTP);
    target = test_target(KVMIG_PROBE_HTTP_GET, "127.0.0.1", server.port);
    target.interval_ms = 10;
    target.timeout_ms = 100;
    probe = test_probe_new(context, &target, 1);
    assert_int_equal(kvmig_probe_start(probe), 0);
    test_wait_successes(probe, 0, 3);
    server.is_silent = 1;
    test_wait_failures(probe, 0, 30);
    assert_last_failure(probe, "ETIMEDOUT");
    server.is_silent = 0;
    test_wait_successes(probe, 0, 3);
    kvmig_probe_unref(probe);
    server_stop(&server);
}

/* ---- what is asked ---- */

static void assert_request(const char *bind_to, const char *host, const char *path, const char *line, const char *named)
{
    struct server server;
    struct kvmig_probe_target target;
    struct kvmig_probe *probe;
    char *expected;

    server_start(&server, bind_to, SERVER_HTTP);
    target = test_target(KVMIG_PROBE_HTTP_GET, host, server.port);
    target.path = path;
    probe = test_probe_new(context, &target, 1);
    assert_int_equal(kvmig_probe_start(probe), 0);
    test_wait_successes(probe, 0, 2);
    kvmig_probe_unref(probe);
    server_stop(&server);
    assert_true(server.accepted >= server.requests); /* a connection for each */
    expected = kvmig__asprintf("GET %s HTTP/1.1\r\nHost: %s:%u\r\nUser-Agent: kvmig\r\nConnection: close\r\n\r\n", line,
                               named, server.port);
    assert_string_equal(server.request, expected);
    free(expected);
}

static void the_request_names_path_and_host(void **state)
{
    (void)state;
    assert_request("127.0.0.1", "127.0.0.1", NULL, "/", "127.0.0.1");
    assert_request("127.0.0.1", "127.0.0.1", "/a/../b?c=%20d", "/a/../b?c=%20d", "127.0.0.1");
    assert_request("::1", "::1", "/", "/", "[::1]");
    assert_request("::1", "::1%1", "/", "/", "[::1]"); /* a zone is not the server's business */
}

static void a_long_path_is_sent_whole(void **state)
{
    char path[2049] = "/";

    (void)state;
    memset(path + 1, 'p', sizeof(path) - 2);
    assert_request("127.0.0.1", "127.0.0.1", path, path, "127.0.0.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_line_is_read_in_any_pieces),
        cmocka_unit_test(a_line_that_is_not_complete_is_no_status),
        cmocka_unit_test(interim_answers_are_passed_over),
        cmocka_unit_test(what_cannot_become_a_status_line_is_refused_at_once),
        cmocka_unit_test(what_never_ends_is_refused_at_a_limit),
        cmocka_unit_test(any_status_below_500_is_an_answer),
        cmocka_unit_test(an_answer_may_come_byte_by_byte),
        cmocka_unit_test(an_interim_answer_is_not_the_answer),
        cmocka_unit_test(an_answer_counts_though_the_connection_ends_after_it),
        cmocka_unit_test(a_connection_that_ends_before_the_answer_is_a_failure),
        cmocka_unit_test(what_is_no_http_is_no_answer),
        cmocka_unit_test(a_head_that_never_ends_is_no_answer),
        cmocka_unit_test(a_page_that_does_not_come_runs_out_of_time),
        cmocka_unit_test(the_request_names_path_and_host),
        cmocka_unit_test(a_long_path_is_sent_whole),
    };

    return !!cmocka_run_group_tests(tests, set_up, tear_down);
}
