/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Events as objects, their JSON, and sinks: order, exactly one free after the last call, nothing after it.
 */
#include "context_test.h"

#include "base/finding_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- objects ---- */

static struct kvmig_event *full_event(void)
{
    static const struct kvmig_disk_progress vda = { 0, "vda", 100, 40 }, vdb = { 0, "vdb", UINT64_MAX, 1 };
    static const struct kvmig_disk_progress *const disks[] = { &vda, &vdb };
    struct kvmig_error *error = kvmig__error_new(KVMIG_EVIRT, "host a", "Operation failed", "Look.", "It \"failed\".");
    struct kvmig_event *event = kvmig__event_new(KVMIG_EVENT_END);
    struct kvmig_findings findings = { 0 };
    struct kvmig_progress progress;

    memset(&progress, 0xff, sizeof(progress));
    progress.memory_total = 4096;
    progress.eta_reason = KVMIG_ETA_DIRTY_LIMITED;
    progress.throttle_percent = 20;
    progress.at_iteration_boundary = 1;
    progress.n_disks = 2;
    progress.disks = disks;
    kvmig__event_set_host(event, "a");
    kvmig__event_set_session(event, "s1", "ns/web", KVMIG_PHASE_FAILED, KVMIG_PHASE_ROLLING_BACK, KVMIG_MODE_PAUSED);
    kvmig__event_set_error(event, error);
    kvmig__event_set_finding(event, kvmig__findings_add(&findings, "POSTCOPY_LOST", KVMIG_SEVERITY_WARN, "vm/a", NULL,
                                                        "[1, 2]", "Do.", "Lost."));
    kvmig__event_set_progress(event, &progress);
    kvmig__event_set_queue_position(event, 3);
    kvmig__event_set_cancel_result(event, KVMIG_CANCEL_REFUSED);
    kvmig__error_free(error);
    kvmig__findings_clear(&findings);
    return event;
}

static void an_event_keeps_copies_and_lends_them(void **state)
{
    struct kvmig_event *event = full_event(), *kept = kvmig_event_ref(event);
    const struct kvmig_progress *progress = kvmig_event_progress(event);

    (void)state;
    kvmig_event_unref(event);
    assert_ptr_equal(kept, event);
    assert_int_equal(kvmig_event_type(kept), KVMIG_EVENT_END);
    assert_true(kvmig_event_time(kept) > 0 && kvmig_event_time(kept) <= kvmig__now_ms());
    assert_string_equal(kvmig_event_host(kept), "a");
    assert_string_equal(kvmig_event_session_id(kept), "s1");
    assert_string_equal(kvmig_event_vm(kept), "ns/web");
    assert_int_equal(kvmig_event_phase(kept), KVMIG_PHASE_FAILED);
    assert_int_equal(kvmig_event_previous_phase(kept), KVMIG_PHASE_ROLLING_BACK);
    assert_int_equal(kvmig_event_mode(kept), KVMIG_MODE_PAUSED);
    assert_int_equal(kvmig_event_queue_position(kept), 3);
    assert_int_equal(kvmig_event_cancel_result(kept), KVMIG_CANCEL_REFUSED);
    assert_int_equal(kvmig_error_code(kvmig_event_error(kept)), -KVMIG_EVIRT);
    assert_string_equal(kvmig_finding_code(kvmig_event_finding(kept)), "POSTCOPY_LOST");
    assert_int_equal(progress->size, sizeof(*progress));
    assert_int_equal(progress->memory_total, 4096);
    assert_true(progress->memory_sent == UINT64_MAX);
    assert_int_equal(progress->n_disks, 2);
    assert_int_equal(progress->disks[0]->size, sizeof(struct kvmig_disk_progress));
    assert_string_equal(progress->disks[0]->target, "vda");
    assert_int_equal(progress->disks[1]->done, 1);
    kvmig_event_unref(kept);
}

static void setting_again_replaces(void **state)
{
    struct kvmig_event *event = full_event();
    struct kvmig_progress none = { 0 };

    (void)state;
    kvmig__event_set_host(event, "b");
    kvmig__event_set_error(event, NULL);
    kvmig__event_set_finding(event, NULL);
    kvmig__event_set_progress(event, &none);
    assert_string_equal(kvmig_event_host(event), "b");
    assert_null(kvmig_event_error(event));
    assert_null(kvmig_event_finding(event));
    assert_int_equal(kvmig_event_progress(event)->n_disks, 0);
    kvmig__event_set_progress(event, NULL);
    assert_null(kvmig_event_progress(event));
    kvmig_event_unref(event);
}

static void accessors_of_no_event_are_empty(void **state)
{
    (void)state;
    assert_null(kvmig_event_ref(NULL));
    kvmig_event_unref(NULL);
    assert_int_equal(kvmig_event_type(NULL), 0);
    assert_int_equal(kvmig_event_time(NULL), 0);
    assert_null(kvmig_event_host(NULL));
    assert_null(kvmig_event_session_id(NULL));
    assert_int_equal(kvmig_event_phase(NULL), 0);
    assert_int_equal(kvmig_event_previous_phase(NULL), 0);
    assert_int_equal(kvmig_event_mode(NULL), 0);
    assert_int_equal(kvmig_event_queue_position(NULL), 0);
    assert_int_equal(kvmig_event_cancel_result(NULL), 0);
    assert_null(kvmig_event_progress(NULL));
    assert_null(kvmig_event_error(NULL));
    assert_null(kvmig_event_finding(NULL));
}

static void json_of_a_session_event_says_all_that_is_known(void **state)
{
    struct kvmig_event *event = full_event();
    char *json, *expected;

    (void)state;
    assert_int_equal(kvmig_event_to_json(event, &json), 0);
    expected = kvmig__asprintf(
        "{\"type\":\"end\",\"time_ms\":%lld,\"host\":\"a\",\"vm\":\"ns/"
        "web\",\"session\":\"s1\",\"phase\":\"Failed\",\"previous_phase\":"
        "\"RollingBack\",\"mode\":\"Paused\",\"queue_position\":3,\"cancel_result\":\"refused\",\"error\":{\"code\":"
        "-4000,\"name\":\"KVMIG_EVIRT\",\"message\":\"It \\\"failed\\\".\",\"where\":\"host a\",\"evidence\":"
        "\"Operation failed\",\"hint\":\"Look.\"},\"finding\":{\"code\":\"POSTCOPY_LOST\",\"severity\":\"warn\","
        "\"object\":\"vm/a\",\"message\":\"Lost.\",\"detail\":[1,2],\"hint\":\"Do.\"},\"progress\":{\"memory_total\":"
        "4096,\"eta_reason\":\"dirty-limited\",\"throttle_percent\":20,\"at_iteration_boundary\":true,\"disks\":[{"
        "\"target\":\"vda\",\"total\":100,\"done\":40},{\"target\":\"vdb\",\"done\":1}]}}",
        (long long)kvmig_event_time(event));
    assert_string_equal(json, expected);
    free(expected);
    free(json);
    kvmig_event_unref(event);
}

static void json_of_a_cluster_event_has_nothing_of_a_session(void **state)
{
    struct kvmig_event *event = kvmig__event_new(KVMIG_EVENT_HOST_LOST);
    char *json = NULL, *expected;

    (void)state;
    kvmig__event_set_host(event, "b");
    assert_int_equal(kvmig_event_to_json(event, &json), 0);
    expected =
        kvmig__asprintf("{\"type\":\"host-lost\",\"time_ms\":%lld,\"host\":\"b\"}", (long long)kvmig_event_time(event));
    assert_string_equal(json, expected);
    free(expected);
    free(json);
    assert_int_equal(kvmig_event_to_json(event, NULL), -EINVAL);
    json = (char *)event;
    assert_int_equal(kvmig_event_to_json(NULL, &json), -EINVAL);
    assert_null(json);
    kvmig_event_unref(event);
}

static void names_are_stable_and_unknown_ones_null(void **state)
{
    (void)state;
    assert_string_equal(kvmig_event_type_name(KVMIG_EVENT_CLUSTER_SYNCED), "cluster-synced");
    assert_string_equal(kvmig_event_type_name(KVMIG_EVENT_END), "end");
    assert_string_equal(kvmig_event_type_name(KVMIG_EVENT_DRAIN_END), "drain-end");
    assert_null(kvmig_event_type_name(0));
    assert_null(kvmig_event_type_name(KVMIG_EVENT_DRAIN_END + 1));
    for (int32_t phase = KVMIG_PHASE_UNSET; phase <= KVMIG_PHASE_INDETERMINATE; phase++) {
        assert_non_null(kvmig_phase_name(phase));
        assert_int_equal(kvmig_phase_is_terminal(phase), phase >= KVMIG_PHASE_SUCCEEDED);
    }
    assert_string_equal(kvmig_phase_name(KVMIG_PHASE_PREPARING_TARGET), "PreparingTarget");
    assert_null(kvmig_phase_name(-1));
    assert_null(kvmig_phase_name(KVMIG_PHASE_INDETERMINATE + 1));
    assert_int_equal(kvmig_phase_is_terminal(99), 0);
    assert_string_equal(kvmig_mode_name(KVMIG_MODE_POST_COPY), "PostCopy");
    assert_null(kvmig_mode_name(3));
    assert_string_equal(kvmig_cancel_result_name(KVMIG_CANCEL_TOO_LATE), "too-late");
    assert_null(kvmig_cancel_result_name(0));
    assert_string_equal(kvmig_eta_reason_name(KVMIG_ETA_BANDWIDTH_LIMITED), "bandwidth-limited");
    assert_null(kvmig_eta_reason_name(7));
}

/* ---- sinks ---- */

struct listener {
    struct kvmig_context *context;
    struct kvmig__sink *sink;
    char seen[256]; /* queue positions as letters; '.' for free */
    bool retire_in_callback;
    bool emit_in_callback;
    struct kvmig_event *kept;
};

static void emit(struct listener *listener, int number)
{
    struct kvmig_event *event = kvmig__event_new(KVMIG_EVENT_QUEUED);

    kvmig__event_set_queue_position(event, (uint32_t)number);
    kvmig__context_lock(listener->context);
    kvmig__sink_emit(listener->sink, event);
    kvmig__context_unlock(listener->context);
}

static void retire(struct listener *listener, bool drop_queued)
{
    kvmig__context_lock(listener->context);
    kvmig__sink_retire(listener->sink, drop_queued);
    kvmig__context_unlock(listener->context);
    listener->sink = NULL;
}

static void see(struct listener *listener, char c)
{
    size_t n = strlen(listener->seen);

    assert_true(n + 1 < sizeof(listener->seen));
    listener->seen[n] = c;
}

static void on_event(const struct kvmig_event *event, void *user_data)
{
    struct listener *listener = user_data;

    see(listener, (char)('a' + kvmig_event_queue_position(event)));
    if (listener->emit_in_callback) {
        listener->emit_in_callback = false;
        emit(listener, 25);
    }
    if (listener->retire_in_callback) {
        listener->retire_in_callback = false;
        retire(listener, true);
    }
    if (!listener->kept)
        listener->kept = kvmig_event_ref(event);
}

static void on_free(void *user_data)
{
    see(user_data, '.');
}

static void listen(struct listener *listener, struct kvmig_context *context, bool with_fn)
{
    const struct kvmig_event_callback callback = { with_fn ? on_event : NULL, listener, on_free };

    *listener = (struct listener){ .context = context };
    kvmig__context_lock(context);
    listener->sink = kvmig__sink_new(context, callback);
    kvmig__context_unlock(context);
}

static int setup(void **state)
{
    *state = test_context_new(0);
    return 0;
}

static int teardown(void **state)
{
    kvmig_context_unref(*state);
    return 0;
}

static void events_arrive_in_order_and_free_runs_once_after_the_last(void **state)
{
    struct kvmig_context *context = *state;
    struct listener listener;

    listen(&listener, context, true);
    for (int i = 0; i < 5; i++)
        emit(&listener, i);
    assert_string_equal(listener.seen, "");
    retire(&listener, false);
    assert_string_equal(listener.seen, ""); /* never inside a call of the library */
    test_drain(context);
    assert_string_equal(listener.seen, "abcde.");
    assert_int_equal(kvmig_event_queue_position(listener.kept), 0); /* kept beyond its callback */
    kvmig_event_unref(listener.kept);
}

static void retiring_may_drop_what_is_queued(void **state)
{
    struct kvmig_context *context = *state;
    struct listener listener;

    listen(&listener, context, true);
    emit(&listener, 0);
    emit(&listener, 1);
    retire(&listener, true);
    test_drain(context);
    assert_string_equal(listener.seen, ".");
}

static void a_callback_may_retire_its_own_sink(void **state)
{
    struct kvmig_context *context = *state;
    struct listener listener;

    listen(&listener, context, true);
    listener.retire_in_callback = true;
    for (int i = 0; i < 4; i++)
        emit(&listener, i);
    test_drain(context);
    assert_string_equal(listener.seen, "a.");
    kvmig_event_unref(listener.kept);
}

static void an_event_caused_by_a_callback_comes_after_those_before_it(void **state)
{
    struct kvmig_context *context = *state;
    struct listener listener;

    listen(&listener, context, true);
    listener.emit_in_callback = true;
    emit(&listener, 0);
    emit(&listener, 1);
    test_drain(context);
    assert_string_equal(listener.seen, "abz");
    retire(&listener, false);
    test_drain(context);
    assert_string_equal(listener.seen, "abz.");
    kvmig_event_unref(listener.kept);
}

static void without_a_function_only_free_runs(void **state)
{
    struct kvmig_context *context = *state;
    struct listener listener;

    listen(&listener, context, false);
    emit(&listener, 0);
    assert_false(test_readable(context, 0));
    retire(&listener, false);
    test_drain(context);
    assert_string_equal(listener.seen, ".");
}

static void with_the_context_queued_events_are_dropped_and_free_runs(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct listener listener;

    (void)state;
    listen(&listener, context, true);
    emit(&listener, 0);
    retire(&listener, false);
    kvmig_context_unref(context);
    assert_string_equal(listener.seen, ".");
}

static void the_callback_of_a_call_that_failed_is_freed_once(void **state)
{
    struct kvmig_context *context = *state;
    struct listener listener = { .context = context };

    kvmig__context_lock(context);
    kvmig__callback_discard(context, on_free, &listener);
    kvmig__callback_discard(context, NULL, &listener);
    kvmig__context_unlock(context);
    assert_string_equal(listener.seen, "");
    test_drain(context);
    assert_string_equal(listener.seen, ".");
    kvmig__callback_discard(NULL, on_free, &listener);
    assert_string_equal(listener.seen, "..");
}

static void retiring_no_sink_does_nothing(void **state)
{
    kvmig__context_lock(*state);
    kvmig__sink_retire(NULL, true);
    kvmig__context_unlock(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        cmocka_unit_test(an_event_keeps_copies_and_lends_them),
        cmocka_unit_test(setting_again_replaces),
        cmocka_unit_test(accessors_of_no_event_are_empty),
        cmocka_unit_test(json_of_a_session_event_says_all_that_is_known),
        cmocka_unit_test(json_of_a_cluster_event_has_nothing_of_a_session),
        cmocka_unit_test(names_are_stable_and_unknown_ones_null),
        TEST(events_arrive_in_order_and_free_runs_once_after_the_last),
        TEST(retiring_may_drop_what_is_queued),
        TEST(a_callback_may_retire_its_own_sink),
        TEST(an_event_caused_by_a_callback_comes_after_those_before_it),
        TEST(without_a_function_only_free_runs),
        cmocka_unit_test(with_the_context_queued_events_are_dropped_and_free_runs),
        TEST(the_callback_of_a_call_that_failed_is_freed_once),
        TEST(retiring_no_sink_does_nothing),
#undef TEST
    };

    kvmig__findings_hook = NULL; /* made-up codes */
    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
