/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Timers and watched descriptors: order, re-arming, disarming and removing from inside callbacks, a bounded dispatch.
 */
#include "context_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

struct probe {
    struct kvmig__timer timer;
    struct kvmig_context *context;
    struct probe *other;
    _Atomic int calls;
    int64_t called_at;
    char *order; /* appends name here */
    char name;
};

static void record(void *data)
{
    struct probe *probe = data;

    kvmig__timer_disarm(&probe->timer); /* it is disarmed already; doing so again is harmless */
    probe->called_at = kvmig__now_ms();
    if (probe->order)
        probe->order[strlen(probe->order)] = probe->name;
    probe->calls++;
}

static void record_and_disarm_other(void *data)
{
    struct probe *probe = data;

    record(data);
    kvmig__timer_disarm(&probe->other->timer);
}

static void record_and_rearm_self(void *data)
{
    struct probe *probe = data;

    record(data);
    kvmig__timer_arm(&probe->timer, 0);
}

static void record_and_arm_other(void *data)
{
    struct probe *probe = data;

    record(data);
    kvmig__timer_arm_in(&probe->other->timer, 0);
}

static void probe_init(struct probe *probe, struct kvmig_context *context, void (*fn)(void *))
{
    *probe = (struct probe){ .context = context };
    kvmig__timer_init(&probe->timer, context, fn, probe);
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

static void a_due_timer_makes_the_descriptor_readable_and_fires_once(void **state)
{
    struct kvmig_context *context = *state;
    struct probe probe;
    int64_t due;

    probe_init(&probe, context, record);
    assert_false(test_readable(context, 0));
    kvmig__context_lock(context);
    due = kvmig__now_ms() + 20;
    kvmig__timer_arm(&probe.timer, due);
    kvmig__context_unlock(context);
    assert_true(test_readable(context, TEST_DEADLINE_MS));
    test_drain(context);
    assert_int_equal(probe.calls, 1);
    assert_true(probe.called_at >= due); /* never early */
    assert_int_equal(probe.timer.due_ms, INT64_MAX);
    assert_false(test_readable(context, 0));
}

static void timers_fire_by_due_time_and_equal_ones_in_order_of_arming(void **state)
{
    struct kvmig_context *context = *state;
    struct probe probes[4];
    static const int after[] = { 3, 1, 1, 2 };
    char order[8] = "";
    int64_t now;

    kvmig__context_lock(context);
    now = kvmig__now_ms();
    for (int i = 0; i < 4; i++) {
        probe_init(&probes[i], context, record);
        probes[i].order = order;
        probes[i].name = (char)('a' + i);
        kvmig__timer_arm(&probes[i].timer, now + after[i]);
    }
    kvmig__context_unlock(context);
    test_run_until(context, &probes[0].calls, 1);
    assert_string_equal(order, "bcda");
}

static void arming_again_moves_a_timer_to_earlier_and_to_later(void **state)
{
    struct kvmig_context *context = *state;
    struct probe early, late, marker;

    probe_init(&early, context, record);
    probe_init(&late, context, record);
    probe_init(&marker, context, record);
    kvmig__context_lock(context);
    kvmig__timer_arm_in(&early.timer, INT64_MAX - 1);
    kvmig__timer_arm_in(&early.timer, 5);
    kvmig__timer_arm_in(&late.timer, 5);
    kvmig__timer_arm_in(&late.timer, INT64_MAX);
    kvmig__timer_arm_in(&marker.timer, 30);
    kvmig__context_unlock(context);
    test_run_until(context, &marker.calls, 1);
    assert_int_equal(early.calls, 1);
    assert_int_equal(late.calls, 0);
    kvmig__context_lock(context);
    kvmig__timer_disarm(&late.timer);
    kvmig__context_unlock(context);
}

static void a_time_in_the_past_is_due_at_once(void **state)
{
    struct kvmig_context *context = *state;
    struct probe zero, negative;

    probe_init(&zero, context, record);
    probe_init(&negative, context, record);
    kvmig__context_lock(context);
    kvmig__timer_arm(&zero.timer, 0);
    kvmig__timer_arm(&negative.timer, -5);
    kvmig__context_unlock(context);
    assert_true(test_readable(context, TEST_DEADLINE_MS));
    test_drain(context);
    assert_int_equal(zero.calls, 1);
    assert_int_equal(negative.calls, 1);
}

static void a_timer_may_disarm_another_that_is_due_too(void **state)
{
    struct kvmig_context *context = *state;
    struct probe first, second;

    probe_init(&first, context, record_and_disarm_other);
    probe_init(&second, context, record);
    first.other = &second;
    kvmig__context_lock(context);
    kvmig__timer_arm(&first.timer, 1);
    kvmig__timer_arm(&second.timer, 1);
    kvmig__context_unlock(context);
    test_drain(context);
    assert_int_equal(first.calls, 1);
    assert_int_equal(second.calls, 0);
    assert_false(test_readable(context, 0));
}

static void a_timer_may_arm_another(void **state)
{
    struct kvmig_context *context = *state;
    struct probe first, second;

    probe_init(&first, context, record_and_arm_other);
    probe_init(&second, context, record);
    first.other = &second;
    kvmig__context_lock(context);
    kvmig__timer_arm_in(&first.timer, 0);
    kvmig__context_unlock(context);
    test_run_until(context, &second.calls, 1);
    assert_int_equal(first.calls, 1);
}

static void free_probe(void *data)
{
    struct probe *probe = data;

    probe->other->calls++;
    free(probe);
}

static void a_timer_may_free_its_own_memory(void **state)
{
    struct kvmig_context *context = *state;
    struct probe counter, *probe = malloc(sizeof(*probe));

    probe_init(&counter, context, record);
    probe_init(probe, context, free_probe);
    probe->other = &counter;
    kvmig__context_lock(context);
    kvmig__timer_arm_in(&probe->timer, 0);
    kvmig__context_unlock(context);
    test_run_until(context, &counter.calls, 1);
}

static void a_timer_that_is_always_due_does_not_keep_dispatch(void **state)
{
    struct kvmig_context *context = *state;
    struct probe probe;

    probe_init(&probe, context, record_and_rearm_self);
    kvmig__context_lock(context);
    kvmig__timer_arm(&probe.timer, 0);
    kvmig__context_unlock(context);
    assert_int_equal(kvmig_context_dispatch(context), 1);
    assert_true(probe.calls > 0);
    assert_true(test_readable(context, 0));
    kvmig__context_lock(context);
    kvmig__timer_disarm(&probe.timer);
    kvmig__context_unlock(context);
    test_drain(context);
    assert_false(test_readable(context, 0));
}

/* ---- watches ---- */

struct pipe_watch {
    int fds[2];
    struct kvmig__watch *watch;
    struct pipe_watch *victim; /* removed when this one is called */
    uint32_t events;
    _Atomic int calls;
};

static void on_readable(void *data, uint32_t events)
{
    struct pipe_watch *w = data;
    char byte;

    assert_int_equal(read(w->fds[0], &byte, 1), 1);
    w->events = events;
    w->calls++;
    if (w->victim && w->victim->watch) {
        kvmig__watch_remove(w->victim->watch);
        w->victim->watch = NULL;
    }
}

static void watch_open(struct pipe_watch *w, struct kvmig_context *context)
{
    *w = (struct pipe_watch){ 0 };
    assert_int_equal(pipe(w->fds), 0);
    assert_int_equal(kvmig__watch_add(context, w->fds[0], EPOLLIN, on_readable, w, &w->watch), 0);
}

static void watch_close(struct pipe_watch *w)
{
    kvmig__watch_remove(w->watch);
    w->watch = NULL;
    close(w->fds[0]);
    close(w->fds[1]);
}

static void a_watch_is_called_while_its_descriptor_is_ready(void **state)
{
    struct kvmig_context *context = *state;
    struct pipe_watch w;

    kvmig__context_lock(context);
    watch_open(&w, context);
    kvmig__context_unlock(context);
    assert_false(test_readable(context, 0));
    assert_int_equal(write(w.fds[1], "ab", 2), 2);
    assert_true(test_readable(context, TEST_DEADLINE_MS));
    test_drain(context);
    assert_int_equal(w.calls, 1);
    assert_int_equal(w.events, EPOLLIN);
    assert_true(test_readable(context, 0)); /* level-triggered: a byte is left */
    test_drain(context);
    assert_int_equal(w.calls, 2);
    assert_false(test_readable(context, 0));

    kvmig__context_lock(context);
    kvmig__watch_modify(w.watch, 0);
    kvmig__context_unlock(context);
    assert_int_equal(write(w.fds[1], "c", 1), 1);
    test_drain(context);
    assert_int_equal(w.calls, 2);
    kvmig__context_lock(context);
    kvmig__watch_modify(w.watch, EPOLLIN);
    kvmig__context_unlock(context);
    test_drain(context);
    assert_int_equal(w.calls, 3);
    kvmig__context_lock(context);
    watch_close(&w);
    kvmig__context_unlock(context);
}

static void a_watch_may_remove_itself_or_another_that_is_ready_too(void **state)
{
    struct kvmig_context *context = *state;
    struct pipe_watch a, b;

    for (int self = 0; self <= 1; self++) {
        kvmig__context_lock(context);
        watch_open(&a, context);
        watch_open(&b, context);
        kvmig__context_unlock(context);
        a.victim = self ? &a : &b;
        b.victim = self ? &b : &a;
        assert_int_equal(write(a.fds[1], "xx", 2), 2);
        assert_int_equal(write(b.fds[1], "xx", 2), 2);
        test_drain(context);
        test_drain(context);
        /* Itself: each was called once. The other: only the first was called, and goes on. */
        assert_int_equal(a.calls + b.calls, 2);
        if (!self)
            assert_true((a.calls == 2 && !b.watch) || (b.calls == 2 && !a.watch));
        else
            assert_true(!a.watch && !b.watch);
        kvmig__context_lock(context);
        watch_close(&a);
        watch_close(&b);
        kvmig__context_unlock(context);
    }
}

static void a_descriptor_that_cannot_be_watched_is_refused(void **state)
{
    struct kvmig_context *context = *state;
    struct kvmig__watch *watch = (struct kvmig__watch *)context;

    kvmig__context_lock(context);
    assert_int_equal(kvmig__watch_add(context, -1, EPOLLIN, on_readable, NULL, &watch), -EBADF);
    assert_null(watch);
    kvmig__watch_remove(NULL);
    kvmig__context_unlock(context);
    assert_string_equal(kvmig_error_evidence(kvmig_error_last()), "EBADF");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_due_timer_makes_the_descriptor_readable_and_fires_once, setup, teardown),
        cmocka_unit_test_setup_teardown(timers_fire_by_due_time_and_equal_ones_in_order_of_arming, setup, teardown),
        cmocka_unit_test_setup_teardown(arming_again_moves_a_timer_to_earlier_and_to_later, setup, teardown),
        cmocka_unit_test_setup_teardown(a_time_in_the_past_is_due_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_timer_may_disarm_another_that_is_due_too, setup, teardown),
        cmocka_unit_test_setup_teardown(a_timer_may_arm_another, setup, teardown),
        cmocka_unit_test_setup_teardown(a_timer_may_free_its_own_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(a_timer_that_is_always_due_does_not_keep_dispatch, setup, teardown),
        cmocka_unit_test_setup_teardown(a_watch_is_called_while_its_descriptor_is_ready, setup, teardown),
        cmocka_unit_test_setup_teardown(a_watch_may_remove_itself_or_another_that_is_ready_too, setup, teardown),
        cmocka_unit_test_setup_teardown(a_descriptor_that_cannot_be_watched_is_refused, setup, teardown),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
