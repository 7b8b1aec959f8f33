/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The reflector with a server that misbehaves: refusals, expiry in the middle of pages, broken and cut lines, silence,
 * stale lists, watches that end at once; and a long random history with all of it, after which the reports must add up
 * to the truth.
 */
#include "kube_reflector_test.h"

#define REFUSAL(code, reason)                                                                                          \
    "{\"kind\":\"Status\",\"message\":\"because\",\"reason\":\"" reason "\",\"code\":" #code "}"

static void expect_in_step(struct reflector_test *test)
{
    serve_pods(test, 10, "a u1 5");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "ns/a 5\nSYNCED\nsettled");
}

/* ---- expiry ---- */

static void test_a_watch_refused_with_410_lists_anew(void **state)
{
    struct reflector_test *test = *state;

    kube_json(&test->http->server, WATCH, "410 Gone", "", REFUSAL(410, "Expired"));
    expect_in_step(test);
    serve_pods(test, 20, "a u1 5, b u2 15");
    reflector_expect_log(test, "ns/b 15\nsettled");
    assert_int_equal(test->states, 1);
}

static void test_pages_that_expire_are_read_again_as_a_whole(void **state)
{
    struct reflector_test *test = *state;
    char *first = pods_json("a u1 5, b u2 6"), *all = pods_json("a u1 5, b u2 16, c u3 17");

    serve_list(test, LIST "2 HTTP", 10, "t1", first);
    kube_json(&test->http->server, LIST "2&continue=t1", "410 Gone", "", REFUSAL(410, "Expired"));
    serve_list(test, "GET /api/v1/pods HTTP", 20, NULL, all);
    kube_watch(&test->http->server, "resourceVersion=20 ");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "ns/a 5\nns/b 6\nns/b 16\nns/c 17\nSYNCED\nsettled");
    reflector_wait_requests(test, 4);
    assert_int_equal(test->http->server.unexpected, 0);
    free(first);
    free(all);
}

static void test_expiry_again_and_again_is_not_answered_by_lists_without_pause(void **state)
{
    struct reflector_test *test = *state;
    int64_t begin = kvmig__now_ms();

    for (int i = 0; i < 6; i++) {
        serve_pods(test, 10 + i, "");
        kube_json(&test->http->server, WATCH, "410 Gone", "", REFUSAL(410, "Expired"));
    }
    reflector_test_open(test, NULL, NULL);
    reflector_wait_requests(test, 12);
    assert_true(kvmig__now_ms() - begin >= 20 + 40 + 80 + 160); /* the waits double, from the second on */
}

/* ---- refusals ---- */

static void test_forbidden_and_absent_are_states_that_end(void **state)
{
    struct reflector_test *test = *state;

    kube_json(&test->http->server, LIST, "403 Forbidden", "", REFUSAL(403, "Forbidden"));
    kube_json(&test->http->server, LIST, "404 Not Found", "", REFUSAL(404, "NotFound"));
    serve_pods(test, 10, "a u1 5");
    kube_json(&test->http->server, WATCH, "410 Gone", "", REFUSAL(410, "Expired"));
    kube_json(&test->http->server, LIST, "404 Not Found", "", REFUSAL(404, "NotFound"));
    serve_pods(test, 20, "a u1 5");
    reflector_test_open(test, NULL, NULL);
    /* What is known stays known while the server does not serve the kind. */
    reflector_expect_log(test, "FORBIDDEN\nABSENT\nns/a 5\nSYNCED\nsettled\nABSENT\nSYNCED\nsettled");
}

static void test_who_may_list_but_not_watch_is_forbidden_and_still_reads(void **state)
{
    struct reflector_test *test = *state;

    for (int i = 0; i < 2; i++)
        kube_json(&test->http->server, WATCH, "403 Forbidden", "", REFUSAL(403, "Forbidden"));
    expect_in_step(test);
    reflector_expect_log(test, "FORBIDDEN");
    assert_int_equal(test->error, -EPERM);
    serve_pods(test, 20, "a u1 15");
    reflector_expect_log(test, "ns/a 15\nsettled"); /* without a change of state to and fro */
    kube_watch(&test->http->server, WATCH);
    serve_pods(test, 30, "a u1 15");
    reflector_expect_log(test, "settled\nSYNCED");
}

static void test_a_token_that_stays_refused_is_forbidden(void **state)
{
    struct reflector_test *test = *state;

    for (int i = 0; i < 2; i++)
        kube_json(&test->http->server, LIST, "401 Unauthorized", "", REFUSAL(401, "Unauthorized"));
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "FORBIDDEN");
    assert_int_equal(test->error, -EACCES);
    serve_pods(test, 10, "");
    kube_watch(&test->http->server, WATCH);
    test_run_until(test->http->context, &test->settled, 1);
    assert_int_equal(kvmig__reflector_state(test->reflector), KVMIG__REFLECTOR_SYNCED);
}

static void test_retry_after_is_obeyed(void **state)
{
    struct reflector_test *test = *state;
    int64_t begin;

    kube_json(&test->http->server, LIST, "429 Too Many", "Retry-After: 1\r\n", "");
    serve_pods(test, 10, "");
    kube_watch(&test->http->server, WATCH);
    begin = kvmig__now_ms();
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "SYNCED\nsettled");
    assert_true(kvmig__now_ms() - begin >= 1000);
}

/* ---- trouble ---- */

static void test_trouble_shorter_than_patience_is_not_told(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *cut = kube_server_on(&test->http->server, LIST), *broken;

    kube_say(cut, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"items\":[");
    kube_reset(cut);
    kube_json(&test->http->server, LIST, "500 Internal", "", "");
    kube_json(&test->http->server, LIST, "200 OK", "", "<html>captive portal</html>");
    kube_json(&test->http->server, LIST, "200 OK", "", "{\"metadata\":{},\"items\":[]}");
    kube_json(&test->http->server, LIST, "200 OK", "", "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":{}}");
    broken = kube_server_on(&test->http->server, LIST);
    kube_hang_up(broken);
    kube_watch(&test->http->server, WATCH);
    serve_pods(test, 10, "a u1 5");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "ns/a 5\nSYNCED\nsettled");
    assert_int_equal(test->http->server.unexpected, 0);
}

static void test_a_server_that_says_nothing_is_lost_after_patience_and_found_again(void **state)
{
    const struct kvmig__reflector_opts opts = { .path = PODS, .page_size = 2, .patience_ms = 300, .backoff_ms = 10 };
    struct reflector_test *test = *state;

    kube_server_on(&test->http->server, LIST); /* for ever */
    reflector_test_open(test, &(struct kvmig__client_opts){ .request_timeout_ms = 1500 }, &opts);
    reflector_expect_log(test, "LOST");
    assert_int_equal(test->error, -ETIMEDOUT);
    serve_pods(test, 10, "a u1 5");
    kube_server_on(&test->http->server, WATCH); /* not accepted */
    reflector_expect_log(test, "ns/a 5\nSYNCED\nsettled");
    reflector_expect_log(test, "LOST");
    kube_watch(&test->http->server, "resourceVersion=10 ");
    reflector_expect_log(test, "SYNCED");
    assert_int_equal(test->http->server.requests, 4);
}

static void test_a_lost_server_tells_its_last_error(void **state)
{
    const struct kvmig__reflector_opts opts = { .path = PODS, .page_size = 2, .patience_ms = 1500, .backoff_ms = 100 };
    struct reflector_test *test = *state;

    for (int i = 0; i < 20; i++)
        kube_json(&test->http->server, LIST, "503 Unavailable", "", "");
    reflector_test_open(test, NULL, &opts);
    reflector_expect_log(test, "LOST");
    assert_int_equal(test->error, -EIO);
}

static void test_broken_lines_lose_no_event(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *watch = kube_watch(&test->http->server, "resourceVersion=10 ");

    expect_in_step(test);
    send_event(watch, "MODIFIED", "a u1 11");
    kube_chunk(watch, "{\"type\":\"MODIFIED\",\"obj\n"); /* a proxy cut it */
    send_event(watch, "MODIFIED", "a u1 99"); /* after what is broken nothing is believed */
    reflector_expect_log(test, "ns/a 11\nsettled");
    watch = kube_watch(&test->http->server, "resourceVersion=11 ");
    send_event(watch, "MODIFIED", "a u1 12");
    kube_chunk(watch, "{\"type\":\"MODIFIED\",\"object\":{\"metad");
    kube_hang_up(watch);
    reflector_expect_log(test, "ns/a 12\nsettled");
    watch = kube_watch(&test->http->server, "resourceVersion=12 ");
    send_event(watch, "DELETED", "a u1 13");
    reflector_expect_log(test, "gone ns/a u1 last\nsettled");
}

static void test_a_version_at_which_every_watch_breaks_is_given_up(void **state)
{
    struct reflector_test *test = *state;

    for (int i = 0; i < 3; i++) {
        struct kube_reply *watch = kube_watch(&test->http->server, "resourceVersion=10 ");

        if (i == 1)
            send_error(watch, 500, "InternalError");
        else
            kube_chunk(watch, "]]]\n");
    }
    expect_in_step(test);
    serve_pods(test, 20, "a u1 15");
    kube_watch(&test->http->server, "resourceVersion=20 ");
    reflector_expect_log(test, "ns/a 15\nsettled");
    reflector_wait_requests(test, 6);
    assert_int_equal(test->http->server.unexpected, 0);
}

static void test_a_silent_watch_is_opened_anew_from_where_it_was(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *watch = kube_watch(&test->http->server, "resourceVersion=10 ");

    serve_pods(test, 10, "a u1 5");
    reflector_test_open(
        test, &(struct kvmig__client_opts){ .request_timeout_ms = TEST_DEADLINE_MS, .idle_timeout_ms = 1500 }, NULL);
    reflector_expect_log(test, "ns/a 5\nSYNCED\nsettled");
    send_bookmark(watch, 17);
    watch = kube_watch(&test->http->server, "resourceVersion=17 ");
    send_event(watch, "MODIFIED", "a u1 18");
    reflector_expect_log(test, "ns/a 18\nsettled");
    assert_int_equal(test->http->server.requests, 3);
    assert_int_equal(test->states, 1);
}

static void test_watches_that_end_at_once_are_not_opened_without_pause(void **state)
{
    struct reflector_test *test = *state;
    int64_t begin;

    for (int i = 0; i < 6; i++)
        kube_end_chunks(kube_watch(&test->http->server, WATCH));
    kube_watch(&test->http->server, WATCH);
    begin = kvmig__now_ms();
    expect_in_step(test);
    reflector_wait_requests(test, 8);
    assert_true(kvmig__now_ms() - begin >= 10 + 20 + 40 + 80 + 160 + 320);
    assert_int_equal(test->http->server.unexpected, 0);
}

static void test_a_line_without_bounds_leads_to_a_list(void **state)
{
    const struct kvmig__client_opts opts = { .request_timeout_ms = TEST_DEADLINE_MS,
                                             .idle_timeout_ms = TEST_DEADLINE_MS,
                                             .max_line = 200 };
    struct reflector_test *test = *state;
    char text[300];

    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 3; i++)
        kube_chunk(kube_watch(&test->http->server, WATCH), "%.*s", (int)sizeof(text), text);
    serve_pods(test, 10, "a u1 5");
    serve_pods(test, 20, "a u1 15");
    kube_watch(&test->http->server, WATCH);
    reflector_test_open(test, &opts, NULL);
    reflector_expect_log(test, "ns/a 5\nSYNCED\nsettled\nns/a 15\nsettled");
}

/* ---- lists that are behind ---- */

static void test_a_list_older_than_what_was_seen_is_asked_for_again(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *watch = kube_watch(&test->http->server, "resourceVersion=10 ");

    expect_in_step(test);
    send_event(watch, "ADDED", "b u2 30");
    send_event(watch, "DELETED", "a u1 31");
    test_run_until(test->http->context, &test->reports, 3);
    serve_pods(test, 9, "a u1 5"); /* would bring back a, and take b */
    serve_pods(test, 40, "b u2 30");
    kube_watch(&test->http->server, "resourceVersion=40 ");
    send_error(watch, 410, "Expired");
    reflector_wait_requests(test, 5);
    assert_int_equal(test->reports, 3);
    assert_int_equal(test->store.n, 1);
}

static void test_a_server_set_back_to_a_backup_is_believed_in_the_end(void **state)
{
    struct reflector_test *test = *state;
    struct kube_reply *watch = kube_watch(&test->http->server, "resourceVersion=1000 ");

    serve_pods(test, 1000, "a u1 900, b u2 950");
    reflector_test_open(test, NULL, NULL);
    reflector_expect_log(test, "ns/a 900\nns/b 950\nSYNCED\nsettled");
    for (int i = 0; i < 5; i++)
        serve_pods(test, 500, "a u1 400");
    send_error(watch, 410, "Expired");
    watch = kube_watch(&test->http->server, "resourceVersion=500 ");
    test_run_until(test->http->context, &test->reports, 4);
    send_event(watch, "MODIFIED", "a u1 501");
    test_run_until(test->http->context, &test->reports, 5);
    assert_int_equal(test->store.n, 1);
    assert_true(kvmig__strlist_has(&test->log, "ns/a 501"));
    assert_true(kvmig__strlist_has(&test->log, "gone ns/b u2"));
}

/* ---- a long history ---- */

#define N_PODS 8
#define N_EVENTS 400

struct history {
    uint32_t random;
    int version;
    int uids[N_PODS], versions[N_PODS]; /* uid 0 = not there */
    int last_uid;
    char *events[N_EVENTS]; /* lines */
    int n_events;
};

static uint32_t roll(struct history *history, uint32_t sides)
{
    history->random = history->random * 1664525 + 1013904223;
    return (history->random >> 8) % sides;
}

static void happen(struct history *history)
{
    int i = (int)roll(history, N_PODS);
    const char *type = "MODIFIED";
    char *name = kvmig__asprintf("p%d", i), *uid, *object;

    history->version += 1 + (int)roll(history, 3);
    if (!history->uids[i]) {
        history->uids[i] = ++history->last_uid;
        type = "ADDED";
    } else if (roll(history, 3) == 0) {
        type = "DELETED";
    }
    uid = kvmig__asprintf("u%d", history->uids[i]);
    object = pod_json(name, uid, history->version);
    history->versions[i] = history->version;
    if (*type == 'D')
        history->uids[i] = 0;
    history->events[history->n_events++] = kvmig__asprintf("{\"type\":\"%s\",\"object\":%s}\n", type, object);
    free(object);
    free(uid);
    free(name);
}

static char *present(const struct history *history)
{
    struct kvmig__strlist pods = { 0 };
    char *joined;

    for (int i = 0; i < N_PODS; i++) {
        char *pod = kvmig__asprintf("p%d u%d %d", i, history->uids[i], history->versions[i]);

        if (history->uids[i])
            kvmig__strlist_add(&pods, pod);
        free(pod);
    }
    joined = kvmig__strlist_join(&pods, ",");
    kvmig__strlist_clear(&pods);
    return joined;
}

/* Breaks the watch in some way, and gives what follows: another watch, that repeats what may have been missed, or a
 * list. */
static struct kube_reply *break_off(struct reflector_test *test, struct history *history, struct kube_reply *watch)
{
    uint32_t how = roll(history, 6);
    int from = history->n_events - 1 - (int)roll(history, 6);
    struct kube_reply *next;

    if (how == 0) {
        char *pods = present(history);

        serve_pods(test, history->version, pods);
        send_error(watch, 410, "Expired");
        free(pods);
    } else if (how == 1) {
        kube_chunk(watch, "garbage\n");
    } else if (how == 2) {
        kube_chunk(watch, "%.20s", history->events[history->n_events - 1]);
        kube_hang_up(watch);
    } else if (how == 3) {
        kube_reset(watch);
        from = 0; /* what was on its way is gone */
    } else {
        kube_end_chunks(watch);
    }
    next = kube_watch(&test->http->server, WATCH);
    for (int i = from < 0 ? 0 : from; i < history->n_events; i++)
        kube_chunk(next, "%s", history->events[i]);
    return next;
}

static void check_store(struct reflector_test *test, const struct history *history)
{
    size_t n = 0;

    for (int i = 0; i < N_PODS; i++) {
        char *entry = kvmig__asprintf("ns/p%d u%d", i, history->uids[i]);

        if (history->uids[i]) {
            assert_true(kvmig__strlist_has(&test->store, entry));
            n++;
        }
        free(entry);
    }
    assert_int_equal(test->store.n, n + 1); /* and the last one */
}

static void run_history(uint32_t seed)
{
    static const struct kvmig__reflector_opts opts = {
        .path = PODS, .page_size = 100, .patience_ms = TEST_DEADLINE_MS, .backoff_ms = 1
    };
    struct history history = { .random = seed, .version = 10 };
    struct reflector_test *test;
    struct kube_reply *watch;
    void *state = NULL;

    reflector_setup(&state);
    test = state;
    serve_pods(test, history.version, "");
    watch = kube_watch(&test->http->server, WATCH);
    reflector_test_open(test, NULL, &opts);
    for (int i = 0; i < 100; i++) {
        happen(&history);
        kube_chunk(watch, "%s", history.events[history.n_events - 1]);
        if (roll(&history, 4) == 0)
            kube_chunk(watch, "%s", history.events[roll(&history, (uint32_t)history.n_events)]);
        if (roll(&history, 10) == 0)
            watch = break_off(test, &history, watch);
    }
    kube_chunk(watch, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"ns\",\"name\":\"last\",\"uid\":"
                      "\"l\",\"resourceVersion\":\"9999\"}}}\n");
    while (!kvmig__strlist_has(&test->log, "ns/last 9999"))
        test_run_until(test->http->context, &test->n_log, test->n_log + 1);
    check_store(test, &history);
    assert_int_equal(test->http->server.unexpected, 0);
    for (int i = 0; i < history.n_events; i++)
        free(history.events[i]);
    reflector_teardown(&state);
}

static void test_any_history_with_any_faults_adds_up(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++)
        run_history(seed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, reflector_setup, reflector_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_watch_refused_with_410_lists_anew),
        TEST(pages_that_expire_are_read_again_as_a_whole),
        TEST(expiry_again_and_again_is_not_answered_by_lists_without_pause),
        TEST(forbidden_and_absent_are_states_that_end),
        TEST(who_may_list_but_not_watch_is_forbidden_and_still_reads),
        TEST(a_token_that_stays_refused_is_forbidden),
        TEST(retry_after_is_obeyed),
        TEST(trouble_shorter_than_patience_is_not_told),
        TEST(a_server_that_says_nothing_is_lost_after_patience_and_found_again),
        TEST(a_lost_server_tells_its_last_error),
        TEST(broken_lines_lose_no_event),
        TEST(a_version_at_which_every_watch_breaks_is_given_up),
        TEST(a_silent_watch_is_opened_anew_from_where_it_was),
        TEST(watches_that_end_at_once_are_not_opened_without_pause),
        TEST(a_line_without_bounds_leads_to_a_list),
        TEST(a_list_older_than_what_was_seen_is_asked_for_again),
        TEST(a_server_set_back_to_a_backup_is_believed_in_the_end),
        cmocka_unit_test(test_any_history_with_any_faults_adds_up),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
