/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Life of a context: making it, its lock, its references, and its end. Does no work itself (dispatch.c, thread.c).
 * Public functions run on any thread. Who ends a context: the thread that gives back the last reference, once it leaves
 * the lock; or, if a thread is dispatching at that time, that thread when it is done.
 */
#include "context/context_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ---- lock ---- */

static _Noreturn void lock_misused(const char *how)
{
    fprintf(stderr, "libkvmig: internal error: the lock of a context was %s\n", how);
    abort();
}

static bool lock_is_mine(struct kvmig_context *context)
{
    return context->locked && pthread_equal(context->lock_holder, pthread_self());
}

void kvmig__context_assert_locked(struct kvmig_context *context)
{
    if (!lock_is_mine(context))
        lock_misused("not held where it must be");
}

void kvmig__context_lock(struct kvmig_context *context)
{
    if (lock_is_mine(context))
        lock_misused("taken twice");
    pthread_mutex_lock(&context->lock);
    context->lock_holder = pthread_self();
    context->locked = true;
}

static void finish(struct kvmig_context *context);

void kvmig__context_unlock(struct kvmig_context *context)
{
    bool last, threaded;

    kvmig__context_assert_locked(context);
    threaded = context->own_thread && !pthread_equal(context->driver, pthread_self());
    last = context->owners == 0 && !context->ending && (!context->driven || threaded);
    if (last) {
        context->ending = true;
        if (!threaded) {
            context->driven = true;
            context->driver = pthread_self();
        }
    }
    context->locked = false;
    pthread_mutex_unlock(&context->lock);
    if (last && threaded)
        kvmig__context_end_thread(context);
    else if (last)
        finish(context);
}

/* ---- references ---- */

void kvmig__context_memory_ref(struct kvmig_context *context)
{
    context->memory_refs++;
}

void kvmig__context_memory_unref(struct kvmig_context *context)
{
    if (--context->memory_refs > 0)
        return;
    pthread_cond_destroy(&context->changed);
    pthread_mutex_destroy(&context->lock);
    pthread_mutex_destroy(&context->inbox.lock);
    pthread_mutex_destroy(&context->log.lock);
    free(context);
}

void kvmig__context_own(struct kvmig_context *context)
{
    kvmig__context_assert_locked(context);
    context->owners++;
}

void kvmig__context_disown(struct kvmig_context *context)
{
    kvmig__context_assert_locked(context);
    context->owners--;
    if (context->owners == 0)
        kvmig__context_kick(context); /* the library's thread has something to end */
}

void kvmig__context_hold(struct kvmig_context *context)
{
    kvmig__context_assert_locked(context);
    context->holders++;
}

void kvmig__context_release(struct kvmig_context *context)
{
    kvmig__context_assert_locked(context);
    context->holders--;
    if (context->holders == 0 && context->owners == 0)
        kvmig__context_kick(context);
}

struct kvmig_context *kvmig_context_ref(struct kvmig_context *context)
{
    if (context)
        context->owners++;
    return context;
}

void kvmig_context_unref(struct kvmig_context *context)
{
    /* The lock of a forked child may be held by a thread that the child does not have. */
    if (!context || context->pid != getpid())
        return;
    kvmig__context_lock(context);
    kvmig__context_disown(context);
    kvmig__context_unlock(context);
}

/* ---- what handles of one context share ---- */

void **kvmig__context_slot(struct kvmig_context *context, enum kvmig__context_slot which)
{
    kvmig__context_assert_locked(context);
    return &context->slots[which];
}

/* ---- the end ---- */

void kvmig__context_quieten(struct kvmig_context *context)
{
    kvmig__deliveries_run(context, SIZE_MAX);
    kvmig__context_unlock(context);
    kvmig__log_close(context);
    kvmig__context_lock(context);
    kvmig__deliveries_run(context, SIZE_MAX); /* what the caller's last free function caused */
}

void kvmig__context_destroy(struct kvmig_context *context)
{
    kvmig__context_lock(context);
    kvmig__lanes_close(context);
    kvmig__curl_end(context);
    for (struct kvmig__timer *timer = context->timers, *next; timer; timer = next) {
        next = timer->next;
        kvmig__timer_disarm(timer);
    }
    kvmig__watches_free(context);
    kvmig__context_unlock(context);
    kvmig__inbox_close(context);
    close(context->timer_fd);
    close(context->epoll_fd);
    kvmig__context_memory_unref(context);
}

/* The last owner is gone and no thread dispatches; this thread drives now. Work that must come to its end without an
 * owner gets a thread of its own. */
static void finish(struct kvmig_context *context)
{
    int32_t rc = 0;
    bool holders;

    kvmig__context_lock(context);
    kvmig__context_quieten(context);
    holders = context->holders > 0;
    if (holders) {
        context->quiet = context->on_its_own = true;
        rc = kvmig__context_start_thread(context);
    }
    if (rc < 0) {
        /* Nobody will ever dispatch. Calls under way end on their own; who waits for them stays where it is. */
        kvmig__log(context, KVMIG_LOG_ERROR, "context", "no thread (%s): migrations that still run are not watched",
                   kvmig_error_code_name(rc));
        kvmig__lanes_close(context);
    }
    kvmig__context_unlock(context);
    if (!holders)
        kvmig__context_destroy(context);
}

/* ---- creation ---- */

static void init_locks(struct kvmig_context *context)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&context->lock, NULL);
    pthread_mutex_init(&context->inbox.lock, NULL);
    pthread_mutex_init(&context->log.lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&context->changed, &attr);
    pthread_condattr_destroy(&attr);
}

static int32_t open_fds(struct kvmig_context *context)
{
    struct epoll_event event = { .events = EPOLLIN };

    context->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (context->epoll_fd >= 0)
        context->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (context->timer_fd >= 0)
        context->inbox.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (context->inbox.event_fd < 0 ||
        epoll_ctl(context->epoll_fd, EPOLL_CTL_ADD, context->inbox.event_fd, &event) < 0 ||
        epoll_ctl(context->epoll_fd, EPOLL_CTL_ADD, context->timer_fd, &event) < 0)
        return -errno;
    return 0;
}

static void close_fds(struct kvmig_context *context)
{
    if (context->inbox.event_fd >= 0)
        close(context->inbox.event_fd);
    if (context->timer_fd >= 0)
        close(context->timer_fd);
    if (context->epoll_fd >= 0)
        close(context->epoll_fd);
}

static int32_t check_opts(const struct kvmig_context_opts *opts, struct kvmig_context **out_context)
{
    char *evidence;
    int32_t rc;

    if (!out_context)
        return kvmig__fail(kvmig__error_new(EINVAL, "out_context", NULL, "Pass the address of a pointer.",
                                            "There is no place for the new context."));
    if (opts->flags & ~(uint32_t)KVMIG_CONTEXT_THREAD) {
        evidence = kvmig__asprintf("flags = 0x%x", opts->flags);
        rc = kvmig__fail(kvmig__error_new(EINVAL, "opts.flags", evidence, "Use members of enum kvmig_context_flags.",
                                          "Unknown flags for a context."));
        free(evidence);
        return rc;
    }
    if (opts->log_level != 0 && !kvmig_log_level_name(opts->log_level)) {
        evidence = kvmig__asprintf("log_level = %d", opts->log_level);
        rc = kvmig__fail(kvmig__error_new(EINVAL, "opts.log_level", evidence,
                                          "Use a member of enum kvmig_log_level, or 0 for the default.",
                                          "Unknown log level for a context."));
        free(evidence);
        return rc;
    }
    return 0;
}

static int32_t make(const struct kvmig_context_opts *opts, struct kvmig_context **out_context)
{
    struct kvmig_context *context = kvmig__calloc(1, sizeof(*context));
    int32_t rc;

    context->memory_refs = 1;
    context->owners = 1;
    context->pid = getpid();
    context->flags = opts->flags;
    context->timer_set_ms = INT64_MAX;
    context->epoll_fd = context->timer_fd = context->inbox.event_fd = -1;
    init_locks(context);
    rc = open_fds(context);
    kvmig__log_init(context, opts->log_level, opts->on_log);
    if (rc == 0 && (opts->flags & KVMIG_CONTEXT_THREAD)) {
        kvmig__context_lock(context);
        rc = kvmig__context_start_thread(context);
        kvmig__context_unlock(context);
    }
    if (rc < 0) {
        kvmig__log_close(context);
        close_fds(context);
        kvmig__context_memory_unref(context);
        return kvmig__fail(kvmig__error_new(rc, "kvmig_context_new", kvmig_error_code_name(rc),
                                            "Raise the limit of open files or threads of the process.",
                                            "The system denies a resource that a context needs."));
    }
    *out_context = context;
    return 0;
}

int32_t kvmig_context_opts_init(struct kvmig_context_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_context_opts_init");
}

int32_t kvmig_context_new(const struct kvmig_context_opts *opts, struct kvmig_context **out_context)
{
    struct kvmig_context_opts known;
    int32_t rc = kvmig__opts_copy(&known, sizeof(known), opts, "kvmig_context_new: opts");

    if (out_context)
        *out_context = NULL;
    if (rc == 0)
        rc = check_opts(&known, out_context);
    if (rc == 0)
        return make(&known, out_context);
    kvmig__callback_discard(NULL, known.on_log.free, known.on_log.user_data);
    return rc;
}

/* ---- the rest of the public interface that needs no dispatch ---- */

int32_t kvmig_context_get_fd(struct kvmig_context *context)
{
    if (!context)
        return kvmig__fail(kvmig__error_new(EINVAL, "context", NULL, NULL, "There is no context."));
    if (context->pid != getpid())
        return kvmig__fail(kvmig__error_new(ECHILD, "kvmig_context_get_fd", NULL,
                                            "Make a context of its own in the child process.",
                                            "The context belongs to the parent process."));
    if (context->flags & KVMIG_CONTEXT_THREAD)
        return kvmig__fail(kvmig__error_new(EBUSY, "kvmig_context_get_fd", NULL,
                                            "Leave out KVMIG_CONTEXT_THREAD to dispatch from your own loop.",
                                            "The context dispatches on its own thread."));
    return context->epoll_fd;
}

void kvmig__context_kick(struct kvmig_context *context)
{
    const uint64_t one = 1;
    int saved_errno = errno;

    /* Fails only if the counter is full, and then it is readable anyway. */
    if (write(context->inbox.event_fd, &one, sizeof(one)) < 0)
        errno = saved_errno;
}

void kvmig_context_wake(struct kvmig_context *context)
{
    if (context)
        kvmig__context_kick(context);
}
