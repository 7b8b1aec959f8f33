/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The reflector with a server that behaves: lists in pages, watches and bookmarks, and what is reported of them: each
 * change once, in order, deletions with the last state, and only differences after a gap.
 */
#include "base/json_internal.h"
#include "kube_reflector_test.h"

static void test_pages_are_one_list_and_the_watch_goes_on_from_it(void **state)
{
    struct reflector_test *test = *state;
    char *first = pods_json("a u1 5, b u2 6"), *second = pods_json("c u3 7");
    struct kube_reply *watch;

    serve_list(test, "GET /api/v1/pods?limit=2 HTTP", 10, "next/one=", first);
    serve_list(test, "GET /api/v1/pods?limit=2&continue=next%2Fone%3D HTTP", 10, NULL, second);
    watch = kube_watch(&test->http->server, WATCH "&allowWatchBookmarks=true&timeoutSeconds=");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "ns/a 5\nns/b 6\nns/c 7\nSYNCED\nsettled");
    send_event(watch, "ADDED", "d u4 11");
    send_event(watch, "MODIFIED", "a u1 12");
    send_event(watch, "DELETED", "b u2 13");
    test_run_until(test->http->context, &test->reports, 6);
    test_run_until(test->http->context, &test->settled, 2);
    assert_int_equal(test->http->server.unexpected, 0);
    assert_true(http_request_has(test->http, 2, "resourceVersion=10 HTTP"));
    assert_string_equal(test->log.v[0], "ns/d 11");
    assert_true(kvmig__strlist_has(&test->log, "gone ns/b u2 last"));
    free(first);
    free(second);
}

static void test_selectors_are_part_of_lists_and_watches(void **state)
{
    const struct kvmig__reflector_opts opts = { .path = PODS, .selectors = "labelSelector=a%3Db", .patience_ms = 1000 };
    struct reflector_test *test = *state;

    serve_list(test, "GET /api/v1/pods?labelSelector=a%3Db HTTP", 10, NULL, NULL);
    kube_watch(&test->http->server, "resourceVersion=10&labelSelector=a%3Db HTTP");
    reflector_test_open(test, NULL, &opts);
    reflector_expect_log(test, "SYNCED\nsettled");
    reflector_wait_requests(test, 2);
    assert_int_equal(test->http->server.unexpected, 0);
}

static void test_what_arrives_together_is_settled_together(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *watch = kube_watch(&test->http->server, WATCH);
    char *one = pods_json("a u1 11"), *two = pods_json("b u2 12");

    serve_pods(test, 10, "");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "SYNCED\nsettled");
    kube_chunk(watch, "{\"type\":\"ADDED\",\"object\":%s}\n{\"type\":\"ADDED\",\"object\":%s}\n", one, two);
    reflector_expect_log(test, "ns/a 11\nns/b 12\nsettled");
    free(one);
    free(two);
}

static void test_what_is_repeated_or_older_is_not_reported(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *watch = kube_watch(&test->http->server, WATCH);

    serve_pods(test, 10, "a u1 5");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "ns/a 5\nSYNCED\nsettled");
    send_event(watch, "MODIFIED", "a u1 11");
    send_event(watch, "MODIFIED", "a u1 11"); /* again */
    send_event(watch, "MODIFIED", "a u1 9"); /* a stale read; as a text it would be the higher one */
    send_event(watch, "DELETED", "a u1 8");
    send_event(watch, "DELETED", "a u1 12");
    send_event(watch, "MODIFIED", "a u1 11"); /* late: it must not come to life again */
    send_event(watch, "DELETED", "a u1 12");
    send_event(watch, "ADDED", "a u2 14");
    send_event(watch, "DELETED", "a u1 12"); /* of the one before */
    send_event(watch, "ADDED", "end u9 15");
    while (!kvmig__strlist_has(&test->log, "ns/end 15"))
        test_run_until(test->http->context, &test->n_log, test->n_log + 1);
    for (size_t i = 0; i < test->log.n; i++) {
        if (strcmp(test->log.v[i], "settled") == 0)
            test->log.v[i][0] = '\0';
    }
    assert_int_equal(test->reports, 5); /* a 5, a 11, gone, a 14, end */
    assert_true(kvmig__strlist_has(&test->log, "ns/a 11"));
    assert_true(kvmig__strlist_has(&test->log, "gone ns/a u1 last"));
    assert_true(kvmig__strlist_has(&test->log, "ns/a 14"));
}

static void test_another_uid_is_another_object(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *watch = kube_watch(&test->http->server, WATCH);

    serve_pods(test, 10, "a u1 5");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "ns/a 5\nSYNCED\nsettled");
    send_event(watch, "MODIFIED", "a u2 11"); /* the deletion between was missed */
    reflector_expect_log(test, "gone ns/a u1\nns/a 11\nsettled");
}

static void test_versions_that_are_no_numbers_are_only_compared(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *watch = kube_watch(&test->http->server, WATCH);
    static const char event[] = "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\","
                                "\"uid\":\"u\",\"resourceVersion\":\"%s\"}}}\n";

    kube_json(&test->http->server, LIST, "200 OK", "", "{\"metadata\":{\"resourceVersion\":\"zz\"},\"items\":[]}");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "SYNCED\nsettled");
    kube_chunk(watch, event, "v9");
    reflector_expect_log(test, "ns/a v9\nsettled");
    kube_chunk(watch, event, "v9");
    kube_chunk(watch, event, "v10");
    while (!kvmig__strlist_has(&test->log, "ns/a v10"))
        test_run_until(test->http->context, &test->n_log, test->n_log + 1);
    assert_int_equal(test->reports, 2);
    assert_true(http_request_has(test->http, 1, "resourceVersion=zz "));
}

static void test_a_watch_that_ends_goes_on_from_the_last_bookmark(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *watch = kube_watch(&test->http->server, "resourceVersion=10 "), *next;

    serve_pods(test, 10, "a u1 5");
    next = kube_watch(&test->http->server, "resourceVersion=40 ");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "ns/a 5\nSYNCED\nsettled");
    send_event(watch, "MODIFIED", "a u1 30");
    send_bookmark(watch, 40);
    send_bookmark(watch, 20); /* late */
    kube_end_chunks(watch);
    reflector_expect_log(test, "ns/a 30\nsettled");
    send_event(next, "MODIFIED", "a u1 41");
    reflector_expect_log(test, "ns/a 41\nsettled");
    assert_int_equal(test->http->server.requests, 3); /* no list between */
    assert_int_equal(test->states, 1);
}

static void test_a_relist_reports_only_what_differs(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *watch = kube_watch(&test->http->server, "resourceVersion=10 "), *next;

    serve_pods(test, 10, "same u1 1, changed u2 2, gone u3 3, anew u4 4");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "ns/same 1\nns/changed 2\nns/gone 3\nns/anew 4\nSYNCED\nsettled");
    serve_pods(test, 50, "same u1 1, changed u2 20, anew u5 40, new u6 41");
    next = kube_watch(&test->http->server, "resourceVersion=50 ");
    send_error(watch, 410, "Expired");
    reflector_expect_log(test, "ns/changed 20\ngone ns/anew u4\nns/anew 40\nns/new 41\ngone ns/gone u3\nsettled");
    send_event(next, "ADDED", "gone u3 3"); /* from a cache that lags */
    send_event(next, "MODIFIED", "same u1 51");
    while (!kvmig__strlist_has(&test->log, "ns/same 51"))
        test_run_until(test->http->context, &test->n_log, test->n_log + 1);
    assert_false(kvmig__strlist_has(&test->log, "ns/gone 3"));
    assert_int_equal(test->states, 1); /* all the time in step */
}

static void test_a_refresh_lists_anew_at_any_time(void **state)
{
    struct reflector_test *test = *state;

    kube_watch(&test->http->server, WATCH);
    serve_pods(test, 10, "a u1 5");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "ns/a 5\nSYNCED\nsettled");
    reflector_wait_requests(test, 2);
    serve_pods(test, 20, "a u1 15, b u2 16");
    kvmig__context_lock(test->http->context);
    kvmig__reflector_refresh(test->reflector);
    kvmig__reflector_refresh(test->reflector);
    kvmig__context_unlock(test->http->context);
    test->refresh_at = "ns/a 15"; /* and again, from inside of a list */
    serve_pods(test, 30, "b u2 26");
    reflector_expect_log(test, "ns/a 15\nns/b 26\ngone ns/a u1\nsettled");
}

static void test_an_answer_to_a_write_is_known_until_the_watch_brings_it(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *watch = kube_watch(&test->http->server, "resourceVersion=10 ");
    char *text = pods_json("new u7 30");
    struct json_object *object = kvmig__json_parse(text, strlen(text));

    serve_pods(test, 10, "a u1 5");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "ns/a 5\nSYNCED\nsettled");
    kvmig__context_lock(test->http->context);
    kvmig__reflector_learn(test->reflector, object);
    kvmig__context_unlock(test->http->context);
    reflector_expect_log(test, "ns/new 30\nsettled");
    /* A list from before the write does not know it; one from after it would. */
    serve_pods(test, 20, "a u1 5, b u2 15");
    send_error(watch, 410, "Expired");
    watch = kube_watch(&test->http->server, "resourceVersion=20 ");
    reflector_expect_log(test, "ns/b 15\nsettled");
    serve_pods(test, 40, "a u1 5, b u2 15");
    send_error(watch, 410, "Expired");
    reflector_expect_log(test, "gone ns/new u7\nsettled");
    /* The answer to an earlier write, which comes late. */
    kvmig__context_lock(test->http->context);
    kvmig__reflector_learn(test->reflector, object);
    kvmig__context_unlock(test->http->context);
    test_drain(test->http->context);
    assert_int_equal(test->n_log, 0);
    json_object_put(object);
    free(text);
}

static void test_any_function_may_free_the_reflector(void **state)
{
    static const char *const places[] = { "ns/a 5", "SYNCED", "settled", "ns/c 11", "gone ns/b u2 last" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(places); i++) {
        struct reflector_test *test;
        struct kube_reply *watch;
        void *mine = NULL;

        reflector_setup(&mine);
        test = mine;
        test->free_at = places[i];
        watch = kube_watch(&test->http->server, WATCH);
        serve_pods(test, 10, "a u1 5, b u2 6");
        send_event(watch, "ADDED", "c u3 11");
        send_event(watch, "DELETED", "b u2 12");
        reflector_test_open(test, NULL, NULL);
        while (test->reflector)
            test_run_until(test->http->context, &test->n_log, test->n_log + 1);
        test_drain(test->http->context);
        reflector_teardown(&mine);
    }
}

static void test_thousands_of_objects_keep_their_places(void **state)
{
    const struct kvmig__reflector_opts opts = { .path = PODS, .page_size = 5000, .patience_ms = TEST_DEADLINE_MS };
    struct reflector_test *test = *state;
    struct kvmig__strlist pods = { 0 };
    struct kube_reply *watch = kube_watch(&test->http->server, "resourceVersion=9000 ");
    char *joined;

    for (int i = 0; i < 2000; i++) {
        char *pod = kvmig__asprintf("pod%d uid%d %d", i, i, i + 1);

        kvmig__strlist_add(&pods, pod);
        free(pod);
    }
    joined = kvmig__strlist_join(&pods, ",");
    serve_pods(test, 9000, joined);
    free(joined);
    reflector_test_open(test, NULL, &opts);
    test_run_until(test->http->context, &test->settled, 1);
    assert_int_equal(test->reports, 2000);
    for (int i = 1999; i >= 1000; i--) {
        free(pods.v[i]);
        pods.n--;
    }
    joined = kvmig__strlist_join(&pods, ",");
    serve_pods(test, 9500, joined);
    send_error(watch, 410, "Gone");
    test_run_until(test->http->context, &test->settled, 2);
    assert_int_equal(test->reports, 3000);
    assert_int_equal(test->store.n, 1000);
    kvmig__strlist_clear(&pods);
    free(joined);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, reflector_setup, reflector_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_are_one_list_and_the_watch_goes_on_from_it),
        TEST(selectors_are_part_of_lists_and_watches),
        TEST(what_arrives_together_is_settled_together),
        TEST(what_is_repeated_or_older_is_not_reported),
        TEST(another_uid_is_another_object),
        TEST(versions_that_are_no_numbers_are_only_compared),
        TEST(a_watch_that_ends_goes_on_from_the_last_bookmark),
        TEST(a_relist_reports_only_what_differs),
        TEST(a_refresh_lists_anew_at_any_time),
        TEST(an_answer_to_a_write_is_known_until_the_watch_brings_it),
        cmocka_unit_test(test_any_function_may_free_the_reflector),
        TEST(thousands_of_objects_keep_their_places),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
