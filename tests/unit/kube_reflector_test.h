/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A user of a reflector for tests: writes down what it is told, one line each, and keeps the store that follows from
 * it. A report that contradicts the store (a deletion of what is not there) fails the test.
 */
#ifndef KVMIG_TESTS_KUBE_REFLECTOR_TEST_H
#define KVMIG_TESTS_KUBE_REFLECTOR_TEST_H

#include "kube_http_test.h"
#include "kubernetes/reflector.h"

#define PODS "/api/v1/pods"
#define LIST "GET /api/v1/pods?limit="
#define WATCH "GET /api/v1/pods?watch=true"

struct reflector_test {
    struct http_test *http;
    struct kvmig__reflector *reflector;
    struct kvmig__strlist log; /* "ns/name VERSION", "gone ns/name uid", "SYNCED", "settled" */
    struct kvmig__strlist store; /* "ns/name uid" */
    _Atomic int reports, settled, states, n_log;
    int32_t error;
    const char *free_at, *refresh_at; /* a line of the log, at which that is done */
};

static inline const char *reflector_state_name(enum kvmig__reflector_state state)
{
    static const char *const names[] = { "STARTING", "SYNCED", "FORBIDDEN", "ABSENT", "LOST" };

    return names[state];
}

/* Takes line. */
static inline void reflector_test_note(struct reflector_test *test, char *line)
{
    kvmig__strlist_add(&test->log, line);
    test->n_log++;
    if (kvmig__str_eq(line, test->refresh_at)) {
        test->refresh_at = NULL;
        kvmig__reflector_refresh(test->reflector);
    }
    if (kvmig__str_eq(line, test->free_at)) {
        kvmig__reflector_free(test->reflector);
        test->reflector = NULL;
    }
    free(line);
}

static inline const char *reflector_test_text(struct json_object *object, const char *name)
{
    struct json_object *metadata = json_object_object_get(object, "metadata");

    return json_object_get_string(json_object_object_get(metadata, name));
}

static inline void reflector_test_object(void *data, struct json_object *object)
{
    struct reflector_test *test = data;
    const char *ns = reflector_test_text(object, "namespace"), *name = reflector_test_text(object, "name");
    char *entry = kvmig__asprintf("%s/%s %s", ns, name, reflector_test_text(object, "uid"));

    assert_non_null(test->reflector);
    kvmig__strlist_add_new(&test->store, entry);
    test->reports++;
    free(entry);
    reflector_test_note(test, kvmig__asprintf("%s/%s %s", ns, name, reflector_test_text(object, "resourceVersion")));
}

static inline void reflector_test_gone(void *data, const char *ns, const char *name, const char *uid,
                                       struct json_object *last)
{
    struct reflector_test *test = data;
    char *entry = kvmig__asprintf("%s/%s %s", ns, name, uid);
    size_t i = 0;

    assert_non_null(test->reflector);
    while (i < test->store.n && strcmp(test->store.v[i], entry) != 0)
        i++;
    assert_true(i < test->store.n); /* it was reported before */
    free(test->store.v[i]);
    test->store.v[i] = test->store.v[--test->store.n];
    test->reports++;
    reflector_test_note(test, kvmig__asprintf("gone %s%s", entry, last ? " last" : ""));
    free(entry);
}

static inline void reflector_test_state(void *data, enum kvmig__reflector_state state, const struct kvmig_error *error)
{
    struct reflector_test *test = data;

    assert_non_null(test->reflector);
    assert_int_equal(kvmig__reflector_state(test->reflector), state);
    assert_int_equal(error != NULL, state >= KVMIG__REFLECTOR_FORBIDDEN);
    test->error = kvmig_error_code(error);
    test->states++;
    reflector_test_note(test, kvmig__strdup(reflector_state_name(state)));
}

static inline void reflector_test_settled(void *data)
{
    struct reflector_test *test = data;

    assert_non_null(test->reflector);
    test->settled++;
    reflector_test_note(test, kvmig__strdup("settled"));
}

static const struct kvmig__reflector_ops reflector_test_ops = {
    reflector_test_object,
    reflector_test_gone,
    reflector_test_state,
    reflector_test_settled,
};

static const struct kvmig__client_opts reflector_client_opts = { .request_timeout_ms = TEST_DEADLINE_MS,
                                                                 .idle_timeout_ms = TEST_DEADLINE_MS };
static const struct kvmig__reflector_opts reflector_opts = {
    .path = PODS, .page_size = 2, .patience_ms = TEST_DEADLINE_MS, .backoff_ms = 10, .refused_ms = 10
};

static inline void reflector_test_open(struct reflector_test *test, const struct kvmig__client_opts *client,
                                       const struct kvmig__reflector_opts *opts)
{
    http_test_open(test->http, client ? client : &reflector_client_opts, NULL);
    kvmig__context_lock(test->http->context);
    test->reflector = kvmig__reflector_new(test->http->context, test->http->client, opts ? opts : &reflector_opts,
                                           &reflector_test_ops, test);
    assert_int_equal(test->n_log, 0); /* nothing from inside of new */
    kvmig__context_unlock(test->http->context);
}

static inline int reflector_setup(void **state)
{
    struct reflector_test *test = kvmig__calloc(1, sizeof(*test));
    void *http = NULL;

    http_test_setup(&http);
    test->http = http;
    *state = test;
    return 0;
}

static inline void reflector_test_close(struct reflector_test *test)
{
    kvmig__context_lock(test->http->context);
    kvmig__reflector_free(test->reflector);
    test->reflector = NULL;
    kvmig__context_unlock(test->http->context);
}

static inline int reflector_teardown(void **state)
{
    struct reflector_test *test = *state;
    void *http = test->http;

    reflector_test_close(test);
    http_test_teardown(&http);
    kvmig__strlist_clear(&test->log);
    kvmig__strlist_clear(&test->store);
    free(test);
    return 0;
}

/* Runs until the log has so many lines, compares them, and takes them off it. */
static inline void reflector_expect_log(struct reflector_test *test, const char *expected)
{
    struct kvmig__strlist first = { NULL, 1 };
    char *log;

    for (const char *c = expected; *c; c++)
        first.n += *c == '\n';
    test_run_until(test->http->context, &test->n_log, (int)first.n);
    first.v = test->log.v;
    log = kvmig__strlist_join(&first, "\n");
    assert_string_equal(log, expected);
    free(log);
    for (size_t i = 0; i < first.n; i++)
        free(test->log.v[i]);
    test->log.n -= first.n;
    memmove(test->log.v, test->log.v + first.n, test->log.n * sizeof(*test->log.v));
    test->n_log = (int)test->log.n;
}

static inline void reflector_wait_requests(struct reflector_test *test, int n)
{
    int64_t end = kvmig__now_ms() + TEST_DEADLINE_MS;

    while (test->http->server.requests < n) {
        struct test_target target = { &test->http->server.requests, n };

        assert_true(kvmig__now_ms() < end);
        kvmig_context_run(test->http->context, test_reached, &target, 1);
    }
}

/* ---- JSON; owned ---- */

static inline char *pod_json(const char *name, const char *uid, int version)
{
    return kvmig__asprintf("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":"
                           "\"%d\"}}",
                           name, uid, version);
}

/* items: joined by ','; NULL = none */
static inline void serve_list(struct reflector_test *test, const char *match, int version, const char *token,
                              const char *items)
{
    char *body = kvmig__asprintf("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"%d\",\"continue\":\"%s\"},"
                                 "\"items\":[%s]}",
                                 version, token ? token : "", items ? items : "");

    kube_json(&test->http->server, match, "200 OK", "", body);
    free(body);
}

/* "name uid version" separated by ',': "a 1 5, b 2 6" */
static inline char *pods_json(const char *pods)
{
    struct kvmig__strlist items = { 0 };
    char *copy = kvmig__strdup(pods), *save = NULL, *joined;

    for (char *pod = strtok_r(copy, ",", &save); pod; pod = strtok_r(NULL, ",", &save)) {
        char name[64], uid[64], *json;
        int version;

        assert_int_equal(sscanf(pod, " %63s %63s %d", name, uid, &version), 3);
        json = pod_json(name, uid, version);
        kvmig__strlist_add(&items, json);
        free(json);
    }
    joined = kvmig__strlist_join(&items, ",");
    kvmig__strlist_clear(&items);
    free(copy);
    return joined;
}

/* The next list, in one page. */
static inline void serve_pods(struct reflector_test *test, int version, const char *pods)
{
    char *items = pods_json(pods);

    serve_list(test, LIST, version, NULL, items);
    free(items);
}

static inline void send_event(struct kube_reply *watch, const char *type, const char *pod)
{
    char *object = pods_json(pod);

    kube_chunk(watch, "{\"type\":\"%s\",\"object\":%s}\n", type, object);
    free(object);
}

static inline void send_bookmark(struct kube_reply *watch, int version)
{
    kube_chunk(watch, "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%d\"}}}\n", version);
}

static inline void send_error(struct kube_reply *watch, int code, const char *reason)
{
    kube_chunk(watch,
               "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"message\":\"because\",\"reason\":\"%s\","
               "\"code\":%d}}\n",
               reason, code);
}

#endif
