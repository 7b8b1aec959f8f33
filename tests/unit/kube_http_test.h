/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the HTTP client and the reflector share: a scripted server, and a client that talks to it with a
 * token of the test's.
 */
#ifndef KVMIG_TESTS_KUBE_HTTP_TEST_H
#define KVMIG_TESTS_KUBE_HTTP_TEST_H

#include "context_test.h"
#include "kube_server.h"
#include "kubernetes/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct http_test {
    struct kvmig_context *context;
    struct kube_server server;
    struct kvmig__client *client;
    _Atomic int tokens, token_freed; /* how often a token was asked for */
    _Atomic bool no_token;
    struct test_gate *token_gate; /* set: tokens wait there */
};

/* "token-1", "token-2", ... */
static inline char *http_test_token(void *data)
{
    struct http_test *test = data;
    int n = ++test->tokens;

    if (test->token_gate)
        test_gate_pass(test->token_gate);
    return test->no_token ? NULL : kvmig__asprintf("token-%d", n);
}

static inline void http_test_token_free(void *data)
{
    ((struct http_test *)data)->token_freed++;
}

/* Makes the client; url NULL = the scripted server's. */
static inline void http_test_open(struct http_test *test, const struct kvmig__client_opts *opts, const char *url)
{
    struct kvmig_kube_opts kube = KVMIG_KUBE_OPTS_INIT;
    struct kvmig__access_source *source = NULL;

    kube.server = url ? url : test->server.url;
    kube.on_token = (struct kvmig_token_callback){ http_test_token, test, http_test_token_free };
    assert_int_equal(kvmig__access_source_new(&kube, "test", &source), 0);
    kvmig__context_lock(test->context);
    test->client = kvmig__client_new(test->context, source, opts);
    kvmig__context_unlock(test->context);
    kvmig__access_source_unref(source);
}

static inline void http_test_close(struct http_test *test)
{
    kvmig__context_lock(test->context);
    kvmig__client_free(test->client);
    test->client = NULL;
    kvmig__context_unlock(test->context);
}

static inline int http_test_setup(void **state)
{
    struct http_test *test = kvmig__calloc(1, sizeof(*test));

    test->context = test_context_new(0);
    kube_server_start(&test->server);
    *state = test;
    return 0;
}

static inline int http_test_teardown(void **state)
{
    struct http_test *test = *state;

    if (test->client)
        http_test_close(test);
    kvmig_context_unref(test->context);
    kube_server_stop(&test->server);
    free(test);
    return 0;
}

/* ---- requests ---- */

struct http_call {
    struct http_test *test;
    struct kvmig__request_http *request;
    _Atomic int done, opened, n_lines;
    int32_t status, code;
    char *body, *reason, *text; /* of the error: message, evidence and hint in one */
    int64_t retry_after_ms;
    struct kvmig__strlist lines;
    int cancel_at_line; /* cancels itself there; 0 = never */
    bool free_client; /* in the last function that is called */
    struct http_call *then; /* begins in done() */
    struct kvmig__ask ask;
};

static inline void http_call_begin(struct http_call *call);

static inline void http_call_line(void *data, const char *line, size_t length)
{
    struct http_call *call = data;

    assert_int_equal(strlen(line), length);
    assert_int_equal(call->done, 0);
    kvmig__strlist_add(&call->lines, line);
    call->n_lines++;
    if (call->n_lines != call->cancel_at_line)
        return;
    if (call->free_client) {
        kvmig__client_free(call->test->client);
        call->test->client = NULL;
    } else {
        kvmig__client_cancel(call->request);
    }
    call->request = NULL;
}

static inline void http_call_opened(void *data)
{
    struct http_call *call = data;

    assert_int_equal(call->n_lines + call->done, 0);
    call->opened++;
}

static inline void http_call_done(void *data, const struct kvmig__answer *answer)
{
    struct http_call *call = data;

    call->request = NULL;
    call->status = answer->status;
    call->code = kvmig_error_code(answer->error);
    call->body = kvmig__strdup(answer->body);
    if (answer->body)
        assert_int_equal(strlen(answer->body), answer->length);
    call->reason = kvmig__strdup(answer->reason);
    call->retry_after_ms = answer->retry_after_ms;
    if (answer->error)
        call->text =
            kvmig__asprintf("%s | %s | %s | %s", kvmig_error_where(answer->error), kvmig_error_message(answer->error),
                            kvmig_error_evidence(answer->error), kvmig_error_hint(answer->error));
    call->done++;
    if (call->free_client && !call->cancel_at_line) {
        kvmig__client_free(call->test->client);
        call->test->client = NULL;
    }
    if (call->then)
        http_call_begin(call->then);
}

static inline void http_call_begin(struct http_call *call)
{
    int done = call->done;

    call->ask.done = http_call_done;
    call->ask.owner = call;
    if (call->ask.line)
        call->ask.opened = http_call_opened;
    call->request = kvmig__client_ask(call->test->client, &call->ask);
    assert_non_null(call->request);
    assert_int_equal(call->done, done); /* never inside ask */
}

static inline void http_call_init(struct http_call *call, struct http_test *test, const char *method, const char *path)
{
    *call = (struct http_call){ .test = test, .ask = { .method = method, .path = path } };
}

static inline void http_call_start(struct http_call *call)
{
    kvmig__context_lock(call->test->context);
    http_call_begin(call);
    kvmig__context_unlock(call->test->context);
}

static inline void http_call_run(struct http_call *call)
{
    int done = call->done;

    http_call_start(call);
    test_run_until(call->test->context, &call->done, done + 1);
}

static inline void http_call_cancel(struct http_call *call)
{
    kvmig__context_lock(call->test->context);
    kvmig__client_cancel(call->request);
    call->request = NULL;
    kvmig__context_unlock(call->test->context);
}

static inline void http_call_clear(struct http_call *call)
{
    free(call->body);
    free(call->reason);
    free(call->text);
    kvmig__strlist_clear(&call->lines);
    call->body = call->reason = call->text = NULL;
}

/* One GET, for what its answer is. */
static inline void http_get(struct http_test *test, struct http_call *call, const char *path)
{
    http_call_init(call, test, "GET", path);
    http_call_run(call);
}

static inline bool http_request_has(struct http_test *test, int n, const char *text)
{
    char *request = kube_server_request(&test->server, n);
    bool has = strstr(request, text) != NULL;

    free(request);
    return has;
}

#endif
