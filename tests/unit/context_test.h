/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the context share: making one, waiting for things with a deadline, gates for worker threads.
 */
#ifndef KVMIG_TESTS_CONTEXT_TEST_H
#define KVMIG_TESTS_CONTEXT_TEST_H

#include "context/context_internal.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <unistd.h>

#include <cmocka.h>

/* Long enough for a loaded machine under a sanitizer; reached only when a test fails. */
#define TEST_DEADLINE_MS 30000

static inline struct kvmig_context *test_context_new(uint32_t flags)
{
    struct kvmig_context_opts opts = KVMIG_CONTEXT_OPTS_INIT;
    struct kvmig_context *context = NULL;

    opts.flags = flags;
    opts.log_level = KVMIG_LOG_ERROR;
    assert_int_equal(kvmig_context_new(&opts, &context), 0);
    assert_non_null(context);
    return context;
}

/* True if the descriptor of the context becomes readable within the time. */
static inline bool test_readable(struct kvmig_context *context, int timeout_ms)
{
    struct pollfd fd = { .fd = kvmig_context_get_fd(context), .events = POLLIN };

    return poll(&fd, 1, timeout_ms) == 1;
}

/* For kvmig_context_run(): a counter has reached a number. */
struct test_target {
    const _Atomic int *counter;
    int value;
};

static inline int32_t test_reached(void *data)
{
    const struct test_target *target = data;

    return *target->counter >= target->value;
}

/* Dispatches until the counter has reached the value. */
static inline void test_run_until(struct kvmig_context *context, const _Atomic int *counter, int value)
{
    struct test_target target = { counter, value };

    assert_int_equal(kvmig_context_run(context, test_reached, &target, TEST_DEADLINE_MS), 0);
}

/* Waits without dispatching, for what other threads do. */
static inline void test_wait_for(const _Atomic int *counter, int value)
{
    for (int waited = 0; *counter < value; waited++) {
        assert_true(waited < TEST_DEADLINE_MS);
        poll(NULL, 0, 1);
    }
}

/* Dispatches until nothing is due. */
static inline void test_drain(struct kvmig_context *context)
{
    int32_t more;

    while ((more = kvmig_context_dispatch(context)) == 1) {
    }
    assert_int_equal(more, 0);
}

/* A place where a thread waits until the test lets it pass. */
struct test_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    _Atomic int waiting;
};

#define TEST_GATE_INIT                                                                                                 \
    {                                                                                                                  \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0                                                  \
    }

static inline void test_gate_pass(struct test_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->waiting++;
    while (!gate->open)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->waiting--;
    pthread_mutex_unlock(&gate->lock);
}

static inline void test_gate_open(struct test_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

/* Ends the program if a test hangs, whatever it hangs in. */
static inline void test_set_alarm(void)
{
    alarm(180);
}

#endif
