/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Timers: a list by due time in front of one timerfd. Everything here needs the context lock; timers fire in dispatch.
 * A timer is a member of its owner, who disarms it before it goes; a timer that fires is disarmed first, so its
 * function may arm it again, or free it. Resolution is a millisecond; never early.
 */
#include "context/context_private.h"

#include <sys/timerfd.h>

void kvmig__timer_init(struct kvmig__timer *timer, struct kvmig_context *context, void (*fn)(void *data), void *data)
{
    *timer = (struct kvmig__timer){ .context = context, .fn = fn, .data = data, .due_ms = INT64_MAX };
}

static void set_timer_fd(struct kvmig_context *context, int64_t due_ms)
{
    struct itimerspec spec = { 0 };

    if (due_ms == context->timer_set_ms)
        return;
    if (due_ms != INT64_MAX) {
        spec.it_value.tv_sec = due_ms > 0 ? due_ms / 1000 : 0;
        spec.it_value.tv_nsec = due_ms > 0 ? due_ms % 1000 * 1000000 : 1; /* all zero would disarm it */
    }
    timerfd_settime(context->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
    context->timer_set_ms = due_ms;
}

void kvmig__timers_program(struct kvmig_context *context)
{
    set_timer_fd(context, context->timers ? context->timers->due_ms : INT64_MAX);
}

void kvmig__timer_disarm(struct kvmig__timer *timer)
{
    kvmig__context_assert_locked(timer->context);
    if (timer->due_ms == INT64_MAX)
        return;
    if (timer->prev)
        timer->prev->next = timer->next;
    else
        timer->context->timers = timer->next;
    if (timer->next)
        timer->next->prev = timer->prev;
    timer->next = timer->prev = NULL;
    timer->due_ms = INT64_MAX;
    /* timer_fd stays as it is: waking once for nothing is cheaper than a system call for each disarmed timer. */
}

void kvmig__timer_arm(struct kvmig__timer *timer, int64_t due_ms)
{
    struct kvmig_context *context = timer->context;
    struct kvmig__timer *after = NULL;

    kvmig__timer_disarm(timer);
    if (due_ms == INT64_MAX)
        return;
    for (struct kvmig__timer *t = context->timers; t && t->due_ms <= due_ms; t = t->next)
        after = t;
    timer->due_ms = due_ms;
    timer->prev = after;
    timer->next = after ? after->next : context->timers;
    if (timer->next)
        timer->next->prev = timer;
    if (after)
        after->next = timer;
    else
        context->timers = timer;
    if (due_ms < context->timer_set_ms)
        set_timer_fd(context, due_ms);
}

void kvmig__timer_arm_in(struct kvmig__timer *timer, int64_t delay_ms)
{
    int64_t due_ms;

    if (delay_ms < 0)
        delay_ms = 0;
    /* One more, because now is rounded down. */
    if (delay_ms > 0 && __builtin_add_overflow(delay_ms, 1, &delay_ms))
        delay_ms = INT64_MAX;
    if (__builtin_add_overflow(kvmig__now_ms(), delay_ms, &due_ms))
        due_ms = INT64_MAX;
    kvmig__timer_arm(timer, due_ms);
}

bool kvmig__timers_run(struct kvmig_context *context, size_t budget)
{
    int64_t now = kvmig__now_ms();

    for (; context->timers && context->timers->due_ms <= now; budget--) {
        struct kvmig__timer *timer = context->timers;

        if (!budget)
            return true;
        kvmig__timer_disarm(timer);
        timer->fn(timer->data);
    }
    return false;
}
