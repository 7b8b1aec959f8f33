/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dispatching: results of lanes, timers, watches, then the caller's callbacks; a bounded number of each, so that the
 * caller's loop gets its turn. Runs on the caller's thread (or on the library's, through thread.c), one at a time.
 */
#include "context/context_private.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

bool kvmig__dispatch_round(struct kvmig_context *context)
{
    bool more = false;
    uint64_t count;

    context->in_round = true;
    /* First, so that whoever kicks from now on makes the descriptor readable again. */
    if (read(context->inbox.event_fd, &count, sizeof(count)) < 0)
        count = 0;
    more |= kvmig__inbox_run(context, KVMIG__DISPATCH_BUDGET);
    more |= kvmig__timers_run(context, KVMIG__DISPATCH_BUDGET);
    more |= kvmig__watches_run(context);
    kvmig__deliveries_run(context, KVMIG__DISPATCH_BUDGET);
    more |= kvmig__log_run(context, KVMIG__DISPATCH_BUDGET);
    more |= context->deliveries != NULL; /* also those that were queued from callbacks of the log */
    kvmig__timers_program(context);
    context->in_round = false;
    if (more)
        kvmig__context_kick(context);
    return more;
}

int32_t kvmig__context_wait(struct kvmig_context *context, int64_t timeout_ms)
{
    struct pollfd fd = { .fd = context->epoll_fd, .events = POLLIN };
    int timeout = timeout_ms < 0 ? -1 : timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms;

    return poll(&fd, 1, timeout) < 0 ? -errno : 0;
}

static int32_t check_caller(struct kvmig_context *context, const char *call)
{
    if (!context)
        return kvmig__fail(kvmig__error_new(EINVAL, call, NULL, NULL, "There is no context."));
    if (context->pid != getpid())
        return kvmig__fail(kvmig__error_new(ECHILD, call, NULL, "Make a context of its own in the child process.",
                                            "The context belongs to the parent process."));
    return 0;
}

/* Needs the lock. Makes this thread the one that dispatches, or says why it cannot be. */
static int32_t claim(struct kvmig_context *context, const char *call)
{
    if (!context->driven) {
        context->driven = true;
        context->driver = pthread_self();
        return 0;
    }
    if (pthread_equal(context->driver, pthread_self()))
        return kvmig__fail(kvmig__error_new(EBUSY, call, NULL,
                                            "Return from the callback; what it waits for is dispatched after that.",
                                            "The context is dispatching already, further up on this thread."));
    return kvmig__fail(kvmig__error_new(EBUSY, call, NULL, "Dispatch a context on one thread only.",
                                        context->own_thread ? "The context dispatches on its own thread."
                                                            : "Another thread is dispatching this context."));
}

int32_t kvmig_context_dispatch(struct kvmig_context *context)
{
    int32_t rc = check_caller(context, "kvmig_context_dispatch");

    if (rc < 0)
        return rc;
    kvmig__context_lock(context);
    rc = claim(context, "kvmig_context_dispatch");
    if (rc == 0) {
        rc = kvmig__dispatch_round(context) && context->owners > 0;
        context->driven = false;
    }
    kvmig__context_unlock(context);
    return rc;
}

/* ---- run ---- */

struct condition {
    int32_t (*until)(void *user_data); /* NULL = never */
    void *user_data;
    int64_t deadline; /* INT64_MAX = none */
};

static bool is_met(const struct condition *condition)
{
    return condition->until && condition->until(condition->user_data) != 0;
}

/* -1 without a deadline. */
static int64_t time_left(const struct condition *condition)
{
    int64_t now = kvmig__now_ms();

    if (condition->deadline == INT64_MAX)
        return -1;
    return condition->deadline > now ? condition->deadline - now : 0;
}

static int32_t timed_out(void)
{
    return kvmig__fail(kvmig__error_new(ETIMEDOUT, "kvmig_context_run: timeout_ms", NULL,
                                        "Allow more time, or look for what has not happened.",
                                        "The condition was not met in time."));
}

static int32_t run_here(struct kvmig_context *context, const struct condition *condition)
{
    bool expired = false, gone = false;

    for (;;) {
        int64_t left;

        if (is_met(condition))
            return 0;
        if (gone)
            return kvmig__fail(kvmig__error_new(ECANCELED, "kvmig_context_run", NULL,
                                                "Keep a reference to the context while it runs.",
                                                "The last owner of the context let go of it."));
        if (expired)
            return timed_out();
        left = time_left(condition);
        expired = left == 0;
        if (kvmig__context_wait(context, left) == -EINTR)
            continue; /* a signal handler may have changed what the condition looks at */
        kvmig__context_lock(context);
        kvmig__dispatch_round(context);
        gone = context->owners == 0;
        kvmig__context_unlock(context);
    }
}

/* The context dispatches on its own thread: asks again after each round of that thread. */
static int32_t run_beside(struct kvmig_context *context, const struct condition *condition)
{
    bool expired = false;

    for (;;) {
        uint64_t rounds;

        kvmig__context_lock(context);
        rounds = context->rounds;
        kvmig__context_unlock(context);
        if (is_met(condition))
            return 0;
        if (expired)
            return timed_out();
        kvmig__context_lock(context);
        while (context->rounds == rounds && !expired)
            expired = kvmig__context_wait_changed(context, condition->deadline);
        kvmig__context_unlock(context);
    }
}

static int64_t deadline_in(int64_t timeout_ms)
{
    int64_t deadline;

    if (timeout_ms < 0 || __builtin_add_overflow(kvmig__now_ms(), timeout_ms, &deadline))
        return INT64_MAX;
    return deadline;
}

int32_t kvmig_context_run(struct kvmig_context *context, int32_t (*until)(void *user_data), void *user_data,
                          int64_t timeout_ms)
{
    const struct condition condition = { until, user_data, deadline_in(timeout_ms) };
    int32_t rc = check_caller(context, "kvmig_context_run");
    bool beside;

    if (rc < 0)
        return rc;
    if (timeout_ms < -1)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_context_run: timeout_ms", NULL,
                                            "Pass milliseconds, or -1 for no limit.", "The time-out is negative."));
    kvmig__context_lock(context);
    beside = context->own_thread && !pthread_equal(context->driver, pthread_self());
    if (beside)
        kvmig__context_own(context); /* it must not end under this thread's feet */
    else
        rc = claim(context, "kvmig_context_run");
    kvmig__context_unlock(context);
    if (rc < 0)
        return rc;
    rc = beside ? run_beside(context, &condition) : run_here(context, &condition);
    kvmig__context_lock(context);
    if (beside)
        kvmig__context_disown(context);
    else
        context->driven = false;
    kvmig__context_unlock(context);
    return rc;
}
