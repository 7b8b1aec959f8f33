/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dispatching on a thread of the library: for contexts made so (KVMIG_CONTEXT_THREAD), and for contexts without an
 * owner that still have work to end. The thread belongs to its context; who ends the context joins it, unless the
 * context was left on its own: then the thread ends the context when the last holder releases it.
 */
#include "context/context_private.h"

#include <errno.h>
#include <signal.h>

int32_t kvmig__thread_create(pthread_t *out_thread, void *(*fn)(void *data), void *data)
{
    sigset_t all, old;
    int rc;

    /* Signals belong to the application's threads. The new thread inherits the mask. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(out_thread, NULL, fn, data);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -rc;
}

/* The last owner is gone. True if this thread has to end the context now. */
static bool settle_end(struct kvmig_context *context)
{
    if (!context->quiet) {
        kvmig__context_quieten(context);
        context->quiet = true;
        pthread_cond_broadcast(&context->changed);
    }
    if (!context->ending) { /* it was let go of in a callback, on this thread */
        context->ending = context->on_its_own = true;
        pthread_detach(pthread_self());
    }
    return context->on_its_own && context->holders == 0;
}

static void *thread_main(void *data)
{
    struct kvmig_context *context = data;
    bool end = false;

    pthread_setname_np(pthread_self(), "kvmig-dispatch");
    kvmig__context_lock(context);
    while (!context->leave) {
        kvmig__dispatch_round(context);
        context->rounds++;
        pthread_cond_broadcast(&context->changed);
        if (context->owners == 0 && settle_end(context)) {
            end = true;
            break;
        }
        kvmig__context_unlock(context);
        kvmig__context_wait(context, -1);
        kvmig__context_lock(context);
    }
    kvmig__context_unlock(context);
    if (end)
        kvmig__context_destroy(context);
    return NULL;
}

int32_t kvmig__context_start_thread(struct kvmig_context *context)
{
    pthread_t thread;
    int32_t rc = kvmig__thread_create(&thread, thread_main, context);

    if (rc < 0)
        return rc;
    context->driven = context->own_thread = true;
    context->driver = thread;
    if (context->on_its_own)
        pthread_detach(thread);
    return 0;
}

bool kvmig__context_wait_changed(struct kvmig_context *context, int64_t deadline_ms)
{
    const struct timespec deadline = { .tv_sec = deadline_ms / 1000, .tv_nsec = deadline_ms % 1000 * 1000000 };
    int rc;

    kvmig__context_assert_locked(context);
    context->locked = false;
    if (deadline_ms == INT64_MAX)
        rc = pthread_cond_wait(&context->changed, &context->lock);
    else
        rc = pthread_cond_timedwait(&context->changed, &context->lock, &deadline);
    context->lock_holder = pthread_self();
    context->locked = true;
    return rc == ETIMEDOUT;
}

void kvmig__context_end_thread(struct kvmig_context *context)
{
    pthread_t thread;

    kvmig__context_lock(context);
    kvmig__context_kick(context);
    while (!context->quiet)
        kvmig__context_wait_changed(context, INT64_MAX);
    thread = context->driver;
    if (context->holders > 0) {
        context->on_its_own = true;
        pthread_detach(thread);
        kvmig__context_unlock(context);
        return;
    }
    context->leave = true;
    kvmig__context_kick(context);
    kvmig__context_unlock(context);
    pthread_join(thread, NULL);
    kvmig__context_destroy(context);
}
