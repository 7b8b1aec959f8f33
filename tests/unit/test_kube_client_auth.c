/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Credentials of the HTTP client: one load for all who wait, renewal when the server refuses them, and back-off when
 * that does not help.
 */
#include "kube_http_test.h"

#define REFUSED "{\"kind\":\"Status\",\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}"

static const struct kvmig__client_opts patient = { .request_timeout_ms = TEST_DEADLINE_MS,
                                                   .idle_timeout_ms = TEST_DEADLINE_MS };

static void test_one_load_serves_all_who_wait(void **state)
{
    struct http_test *test = *state;
    struct test_gate gate = TEST_GATE_INIT;
    struct http_call calls[5];

    test->token_gate = &gate;
    http_test_open(test, &patient, NULL);
    for (int i = 0; i < 5; i++) {
        kube_json(&test->server, "GET /a", "200 OK", "", "{}");
        http_call_init(&calls[i], test, "GET", "/a");
        http_call_start(&calls[i]);
    }
    test_wait_for(&gate.waiting, 1);
    test_drain(test->context);
    assert_int_equal(test->server.requests, 0);
    test_gate_open(&gate);
    for (int i = 0; i < 5; i++) {
        test_run_until(test->context, &calls[i].done, 1);
        assert_int_equal(calls[i].code, 0);
        http_call_clear(&calls[i]);
    }
    assert_int_equal(test->tokens, 1);
}

static void test_a_refused_token_is_renewed_once_for_all(void **state)
{
    struct http_test *test = *state;
    struct kube_reply *replies[3];
    struct http_call calls[3];

    http_test_open(test, &patient, NULL);
    for (int i = 0; i < 3; i++) {
        replies[i] = kube_server_on(&test->server, "GET /a");
        http_call_init(&calls[i], test, "GET", "/a");
        http_call_start(&calls[i]);
    }
    for (int i = 0; i < 3; i++) /* those that come again */
        kube_json(&test->server, "GET /a", "200 OK", "", "{\"all\":\"well\"}");
    for (int waited = 0; test->server.requests < 3; waited++) {
        struct test_target never = { &test->server.requests, 3 };

        assert_true(waited < TEST_DEADLINE_MS);
        kvmig_context_run(test->context, test_reached, &never, 1);
    }
    for (int i = 0; i < 3; i++) {
        kube_say(replies[i], "HTTP/1.1 401 Unauthorized\r\nContent-Length: %zu\r\n\r\n%s", strlen(REFUSED), REFUSED);
        kube_end(replies[i]);
    }
    for (int i = 0; i < 3; i++) {
        test_run_until(test->context, &calls[i].done, 1);
        assert_int_equal(calls[i].status, 200);
        assert_string_equal(calls[i].body, "{\"all\":\"well\"}");
        assert_true(http_request_has(test, 3 + i, "Bearer token-2\r\n"));
        http_call_clear(&calls[i]);
    }
    assert_int_equal(test->tokens, 2);
    assert_int_equal(test->server.requests, 6);
}

static void test_a_watch_begins_again_after_a_renewal(void **state)
{
    struct http_test *test = *state;
    struct kube_reply *reply;
    struct http_call call;

    http_test_open(test, &patient, NULL);
    kube_json(&test->server, "GET /w", "401 Unauthorized", "", REFUSED);
    reply = kube_watch(&test->server, "GET /w");
    kube_chunk(reply, "line\n");
    kube_end_chunks(reply);
    http_call_init(&call, test, "GET", "/w");
    call.ask.line = http_call_line;
    http_call_run(&call);
    assert_int_equal(call.code, 0);
    assert_int_equal(call.opened, 1);
    assert_int_equal(call.n_lines, 1);
    http_call_clear(&call);
}

static void test_a_refusal_after_renewal_is_final_and_does_not_renew_at_once_again(void **state)
{
    struct http_test *test = *state;
    struct http_call call;

    http_test_open(test, &patient, NULL);
    for (int i = 0; i < 3; i++)
        kube_json(&test->server, "GET /a", "401 Unauthorized", "", REFUSED);
    http_get(test, &call, "/a");
    assert_int_equal(call.code, -EACCES);
    assert_int_equal(call.status, 401);
    assert_string_equal(call.reason, "Unauthorized");
    assert_non_null(strstr(call.text, "client certificate"));
    assert_int_equal(test->tokens, 2);
    assert_int_equal(test->server.requests, 2);
    http_call_clear(&call);

    http_get(test, &call, "/a"); /* within the back-off, which is half a second at first */
    assert_int_equal(call.code, -EACCES);
    assert_in_range(test->server.requests, 3, 4);
    http_call_clear(&call);
}

static void test_a_load_that_fails_ends_who_waits_and_is_not_repeated_at_once(void **state)
{
    struct http_test *test = *state;
    struct http_call call;
    int tokens;

    test->no_token = true;
    http_test_open(test, &patient, NULL);
    http_get(test, &call, "/a");
    assert_true(call.code < 0);
    assert_int_equal(call.status, 0);
    http_call_clear(&call);
    tokens = test->tokens;
    test->no_token = false;
    do { /* later requests find it mended, once the back-off is over */
        kube_json(&test->server, "GET /a", "200 OK", "", "{}");
        http_get(test, &call, "/a");
        http_call_clear(&call);
        poll(NULL, 0, 20);
    } while (call.code < 0);
    assert_int_equal(call.status, 200);
    assert_int_equal(test->tokens, tokens + 1);
}

static void test_credentials_that_hang_end_the_request_in_time(void **state)
{
    struct http_test *test = *state;
    struct test_gate gate = TEST_GATE_INIT;
    struct http_call call;

    test->token_gate = &gate;
    http_test_open(test, &(struct kvmig__client_opts){ .request_timeout_ms = 100 }, NULL);
    http_get(test, &call, "/a");
    assert_int_equal(call.code, -ETIMEDOUT);
    assert_non_null(strstr(call.text, "credentials"));
    http_call_clear(&call);
    http_test_close(test); /* while the job still runs */
    test_drain(test->context);
    assert_int_equal(test->token_freed, 0);
    test_gate_open(&gate);
    test_wait_for(&test->token_freed, 1);
}

static void test_a_token_that_no_header_can_carry_is_an_error(void **state)
{
    struct kvmig_kube_opts kube = KVMIG_KUBE_OPTS_INIT;
    struct http_test *test = *state;
    struct kvmig__access_source *source = NULL;
    struct http_call call;

    kube.server = test->server.url;
    kube.token = "abc\r\nX-Evil: yes";
    if (kvmig__access_source_new(&kube, "test", &source) < 0)
        return; /* refused even earlier */
    kvmig__context_lock(test->context);
    test->client = kvmig__client_new(test->context, source, &patient);
    kvmig__context_unlock(test->context);
    kvmig__access_source_unref(source);
    http_get(test, &call, "/a");
    assert_true(call.code < 0);
    assert_null(strstr(call.text, "abc"));
    assert_int_equal(test->server.requests, 0);
    http_call_clear(&call);
}

/* ---- what a kubeconfig says ---- */

static char folder[] = "/tmp/kvmig-kube-auth-XXXXXX";

static void write_plugin(const char *url)
{
    char *script = kvmig__asprintf(
        "cd %s && cat >plugin <<'END' && chmod +x plugin && cat >config <<END2\n"
        "#!/bin/sh\n"
        "echo x >>%s/count\n"
        "n=$(wc -l <%s/count)\n"
        "t=$(date -u -d '+2 seconds' +%%Y-%%m-%%dT%%H:%%M:%%SZ)\n"
        "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":'\n"
        "echo \"{\\\"token\\\":\\\"plugin-$n\\\",\\\"expirationTimestamp\\\":\\\"$t\\\"}}\"\n"
        "END\n"
        "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: '%s'}}],\n"
        " contexts: [{name: c, context: {cluster: c, user: u, namespace: ns7}}],\n"
        " users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never,\n"
        "   command: %s/plugin}}}]}\n"
        "END2\n",
        folder, folder, folder, url, folder);

    assert_int_equal(system(script), 0);
    free(script);
}

static void test_a_token_is_renewed_before_it_expires(void **state)
{
    struct kvmig_kube_opts kube = KVMIG_KUBE_OPTS_INIT;
    struct http_test *test = *state;
    struct kvmig__access_source *source = NULL;
    char *path = kvmig__asprintf("%s/config", folder);
    int64_t end = kvmig__now_ms() + TEST_DEADLINE_MS;
    struct http_call call;
    bool renewed = false;

    write_plugin(test->server.url);
    kube.kubeconfig = path;
    assert_int_equal(kvmig__access_source_new(&kube, "test", &source), 0);
    kvmig__context_lock(test->context);
    test->client = kvmig__client_new(test->context, source, &patient);
    kvmig__context_unlock(test->context);
    kvmig__access_source_unref(source);
    for (int i = 0; !renewed; i++) {
        assert_true(kvmig__now_ms() < end);
        kube_json(&test->server, "GET /a", "200 OK", "", "{}");
        http_get(test, &call, "/a");
        assert_int_equal(call.code, 0); /* the server never has to refuse one */
        http_call_clear(&call);
        renewed = !http_request_has(test, i, "Bearer plugin-1\r\n");
        poll(NULL, 0, 20);
    }
    assert_string_equal(kvmig__client_namespace(test->client), "ns7");
    free(path);
}

static void open_kubeconfig(struct http_test *test, const char *user)
{
    struct kvmig_kube_opts kube = KVMIG_KUBE_OPTS_INIT;
    struct kvmig__access_source *source = NULL;
    char *path = kvmig__asprintf("%s/user", folder);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file,
            "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: '%s'}}],\n"
            " contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {%s}}]}\n",
            test->server.url, user);
    assert_int_equal(fclose(file), 0);
    kube.kubeconfig = path;
    assert_int_equal(kvmig__access_source_new(&kube, "test", &source), 0);
    kvmig__context_lock(test->context);
    test->client = kvmig__client_new(test->context, source, &patient);
    kvmig__context_unlock(test->context);
    kvmig__access_source_unref(source);
    free(path);
}

static void test_basic_credentials_and_impersonation_are_sent(void **state)
{
    struct http_test *test = *state;
    struct http_call call;

    open_kubeconfig(test, "username: me, password: secret1, as: other, as-groups: [g1, g2]");
    kube_json(&test->server, "GET /a", "500 Internal", "", "you sent secret1");
    http_get(test, &call, "/a");
    assert_true(http_request_has(test, 0, "\r\nAuthorization: Basic bWU6c2VjcmV0MQ==\r\n"));
    assert_true(http_request_has(test, 0, "\r\nImpersonate-User: other\r\n"));
    assert_true(http_request_has(test, 0, "\r\nImpersonate-Group: g1\r\nImpersonate-Group: g2\r\n"));
    assert_null(strstr(call.text, "secret1"));
    http_call_clear(&call);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char *command = kvmig__asprintf("rm -rf %s", folder);
    int status = system(command);

    (void)state;
    free(command);
    return status;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, http_test_setup, http_test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_load_serves_all_who_wait),
        TEST(a_refused_token_is_renewed_once_for_all),
        TEST(a_watch_begins_again_after_a_renewal),
        TEST(a_refusal_after_renewal_is_final_and_does_not_renew_at_once_again),
        TEST(a_load_that_fails_ends_who_waits_and_is_not_repeated_at_once),
        TEST(credentials_that_hang_end_the_request_in_time),
        TEST(a_token_that_no_header_can_carry_is_an_error),
        TEST(a_token_is_renewed_before_it_expires),
        TEST(basic_credentials_and_impersonation_are_sent),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, make_folder, remove_folder);
}
