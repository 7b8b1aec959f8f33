/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lanes: a worker thread each, with a queue of jobs. Submit, deadline, done and close run under the context lock; a
 * job's run() runs on the lane's thread. The thread never touches the context, but for its memory and its inbox.
 *
 * Who owns a job: the queue until the thread takes it; the thread while it runs; the inbox when it has run; dispatch
 * until done() has returned. A running job whose owner gave up (deadline, close) is the thread's alone, which frees it
 * when the call comes back. The states below are changed only under the lane's lock, so that exactly one side frees a
 * job.
 */
#include "context/context_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_FINISHED, JOB_ABANDONED };

struct kvmig__job {
    const struct kvmig__job_type *type;
    void *payload;
    enum job_state state; /* under the lane's lock */
    int32_t status;
    struct kvmig__job *next; /* in the lane's queue, then in the inbox */

    /* under the context lock, and only while the job has an owner */
    struct kvmig__lane *lane; /* NULL: nobody wants to hear of it any more */
    void *owner;
    struct kvmig__timer deadline;
    struct kvmig__job *next_owned, *prev_owned;
};

struct kvmig__lane {
    _Atomic uint32_t refs; /* the owner and the thread */
    struct kvmig_context *context; /* the thread: memory and inbox only */
    char *name;

    pthread_mutex_t lock;
    pthread_cond_t wake; /* a job was queued, or the lane was closed */
    struct kvmig__job *head, *tail; /* queued */
    bool stuck; /* the running job was abandoned */
    bool closed;

    /* under the context lock */
    bool started; /* the thread exists */
    void (*exit_fn)(void *data); /* set before the thread starts to end; may be NULL */
    void *exit_data;
    struct kvmig__job *owned; /* jobs that have an owner, in any state */
    struct kvmig__lane *next, *prev; /* open lanes of the context */
};

static void job_free(struct kvmig__job *job)
{
    job->type->free(job->payload);
    free(job);
}

static void lane_unref(struct kvmig__lane *lane)
{
    if (--lane->refs > 0)
        return;
    pthread_cond_destroy(&lane->wake);
    pthread_mutex_destroy(&lane->lock);
    free(lane->name);
    free(lane);
}

/* ---- the inbox ---- */

static void inbox_put(struct kvmig_context *context, struct kvmig__job *job)
{
    struct kvmig__inbox *inbox = &context->inbox;
    bool closed;

    pthread_mutex_lock(&inbox->lock);
    closed = inbox->closed;
    if (!closed) {
        job->next = NULL;
        if (inbox->tail)
            inbox->tail->next = job;
        else
            inbox->head = job;
        inbox->tail = job;
        kvmig__context_kick(context);
    }
    pthread_mutex_unlock(&inbox->lock);
    if (closed)
        job_free(job);
}

static struct kvmig__job *inbox_take(struct kvmig__inbox *inbox)
{
    struct kvmig__job *job;

    pthread_mutex_lock(&inbox->lock);
    job = inbox->head;
    if (job) {
        inbox->head = job->next;
        if (!job->next)
            inbox->tail = NULL;
    }
    pthread_mutex_unlock(&inbox->lock);
    return job;
}

static bool inbox_is_empty(struct kvmig__inbox *inbox)
{
    bool empty;

    pthread_mutex_lock(&inbox->lock);
    empty = inbox->head == NULL;
    pthread_mutex_unlock(&inbox->lock);
    return empty;
}

/* ---- the owner's side of a job; context lock held ---- */

static void job_own(struct kvmig__lane *lane, struct kvmig__job *job)
{
    job->next_owned = lane->owned;
    if (lane->owned)
        lane->owned->prev_owned = job;
    lane->owned = job;
}

/* The owner will hear no more of it than the caller tells it. */
static void job_disown(struct kvmig__job *job)
{
    struct kvmig__lane *lane = job->lane;

    kvmig__timer_disarm(&job->deadline);
    if (job->prev_owned)
        job->prev_owned->next_owned = job->next_owned;
    else
        lane->owned = job->next_owned;
    if (job->next_owned)
        job->next_owned->prev_owned = job->prev_owned;
    job->next_owned = job->prev_owned = NULL;
    job->lane = NULL;
}

/* Lane lock held. */
static void unqueue(struct kvmig__lane *lane, struct kvmig__job *job)
{
    struct kvmig__job *before = NULL;

    for (struct kvmig__job *j = lane->head; j != job; j = j->next)
        before = j;
    if (before)
        before->next = job->next;
    else
        lane->head = job->next;
    if (lane->tail == job)
        lane->tail = before;
}

/* The owner gives up on a job that it no longer owns. Says what state it was in: a queued one is the caller's to
 * free, a running one the thread's, a finished one is freed by dispatch. */
static enum job_state job_abandon(struct kvmig__lane *lane, struct kvmig__job *job)
{
    enum job_state state;

    pthread_mutex_lock(&lane->lock);
    state = job->state;
    if (state == JOB_QUEUED)
        unqueue(lane, job);
    if (state == JOB_RUNNING) {
        job->state = JOB_ABANDONED;
        lane->stuck = true;
    }
    pthread_mutex_unlock(&lane->lock);
    return state;
}

static void deadline_passed(void *data)
{
    struct kvmig__job *job = data;
    struct kvmig__lane *lane = job->lane;
    const struct kvmig__job_type *type = job->type;
    void *owner = job->owner;
    bool finished;

    pthread_mutex_lock(&lane->lock);
    finished = job->state == JOB_FINISHED;
    pthread_mutex_unlock(&lane->lock);
    if (finished)
        return; /* just in time: its result is in the inbox */
    kvmig__log(lane->context, KVMIG_LOG_WARN, "context", "%s: %s did not end in time and is given up", lane->name,
               type->name);
    job_disown(job);
    if (job_abandon(lane, job) == JOB_QUEUED)
        job_free(job);
    type->done(owner, NULL, -ETIMEDOUT);
}

bool kvmig__inbox_run(struct kvmig_context *context, size_t budget)
{
    struct kvmig__job *job;

    for (; budget && (job = inbox_take(&context->inbox)); budget--) {
        if (job->lane) {
            job_disown(job);
            job->type->done(job->owner, job->status == 0 ? job->payload : NULL, job->status);
        }
        job_free(job);
    }
    return !inbox_is_empty(&context->inbox);
}

void kvmig__inbox_close(struct kvmig_context *context)
{
    struct kvmig__inbox *inbox = &context->inbox;
    struct kvmig__job *job;

    pthread_mutex_lock(&inbox->lock);
    inbox->closed = true;
    close(inbox->event_fd);
    inbox->event_fd = -1;
    pthread_mutex_unlock(&inbox->lock);
    while ((job = inbox_take(inbox)))
        job_free(job);
}

/* ---- the thread ---- */

/* Lane lock held. */
static struct kvmig__job *next_job(struct kvmig__lane *lane)
{
    struct kvmig__job *job;

    while (!lane->head && !lane->closed)
        pthread_cond_wait(&lane->wake, &lane->lock);
    job = lane->head;
    if (!job)
        return NULL;
    lane->head = job->next;
    if (!lane->head)
        lane->tail = NULL;
    job->state = JOB_RUNNING;
    return job;
}

static void *lane_main(void *data)
{
    struct kvmig__lane *lane = data;
    struct kvmig_context *context = lane->context;
    struct kvmig__job *job;
    char thread_name[16]; /* the kernel's limit */

    snprintf(thread_name, sizeof(thread_name), "kvmig-%s", lane->name);
    pthread_setname_np(pthread_self(), thread_name);
    pthread_mutex_lock(&lane->lock);
    while ((job = next_job(lane))) {
        bool abandoned;

        pthread_mutex_unlock(&lane->lock);
        job->type->run(job->payload);
        pthread_mutex_lock(&lane->lock);
        abandoned = job->state == JOB_ABANDONED;
        job->state = JOB_FINISHED;
        lane->stuck = false;
        pthread_mutex_unlock(&lane->lock);
        if (abandoned)
            job_free(job);
        else
            inbox_put(context, job);
        pthread_mutex_lock(&lane->lock);
    }
    pthread_mutex_unlock(&lane->lock);
    if (lane->exit_fn)
        lane->exit_fn(lane->exit_data);
    lane_unref(lane);
    kvmig__context_memory_unref(context);
    return NULL;
}

static int32_t start_thread(struct kvmig__lane *lane)
{
    pthread_t thread;
    int32_t rc;

    lane->refs++;
    kvmig__context_memory_ref(lane->context);
    rc = kvmig__thread_create(&thread, lane_main, lane);
    if (rc < 0) {
        kvmig__context_memory_unref(lane->context);
        lane_unref(lane);
        return rc;
    }
    pthread_detach(thread);
    lane->started = true;
    return 0;
}

/* ---- lanes ---- */

struct kvmig__lane *kvmig__lane_new(struct kvmig_context *context, const char *name)
{
    struct kvmig__lane *lane = kvmig__calloc(1, sizeof(*lane));

    kvmig__context_assert_locked(context);
    lane->refs = 1;
    lane->context = context;
    lane->name = kvmig__strdup(name);
    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->wake, NULL);
    lane->next = context->lanes;
    if (context->lanes)
        context->lanes->prev = lane;
    context->lanes = lane;
    return lane;
}

void kvmig__lane_submit(struct kvmig__lane *lane, const struct kvmig__job_type *type, void *owner, void *payload,
                        int64_t timeout_ms)
{
    struct kvmig__job *job = kvmig__calloc(1, sizeof(*job));
    int32_t rc;

    kvmig__context_assert_locked(lane->context);
    *job = (struct kvmig__job){ .type = type, .payload = payload, .lane = lane, .owner = owner };
    kvmig__timer_init(&job->deadline, lane->context, deadline_passed, job);
    job_own(lane, job);
    rc = lane->started ? 0 : start_thread(lane);
    if (rc < 0) {
        job->state = JOB_FINISHED;
        job->status = -EAGAIN;
        inbox_put(lane->context, job);
        return;
    }
    if (timeout_ms >= 0)
        kvmig__timer_arm_in(&job->deadline, timeout_ms);
    pthread_mutex_lock(&lane->lock);
    if (lane->tail)
        lane->tail->next = job;
    else
        lane->head = job;
    lane->tail = job;
    pthread_cond_signal(&lane->wake);
    pthread_mutex_unlock(&lane->lock);
}

void kvmig__lane_set_exit(struct kvmig__lane *lane, void (*fn)(void *data), void *data)
{
    kvmig__context_assert_locked(lane->context);
    lane->exit_fn = fn;
    lane->exit_data = data;
}

bool kvmig__lane_is_stuck(const struct kvmig__lane *lane)
{
    struct kvmig__lane *locked = (struct kvmig__lane *)lane; /* only its mutex changes */
    bool stuck;

    pthread_mutex_lock(&locked->lock);
    stuck = lane->stuck;
    pthread_mutex_unlock(&locked->lock);
    return stuck;
}

bool kvmig__lane_has_thread(const struct kvmig__lane *lane)
{
    return lane->started;
}

size_t kvmig__lane_pending(const struct kvmig__lane *lane)
{
    size_t n = 0;

    for (const struct kvmig__job *job = lane->owned; job; job = job->next_owned)
        n++;
    return n;
}

void kvmig__lane_close(struct kvmig__lane *lane)
{
    struct kvmig__job *job;

    if (!lane)
        return;
    kvmig__context_assert_locked(lane->context);
    while ((job = lane->owned)) {
        job_disown(job);
        if (job_abandon(lane, job) == JOB_QUEUED)
            job_free(job);
    }
    if (lane->prev)
        lane->prev->next = lane->next;
    else
        lane->context->lanes = lane->next;
    if (lane->next)
        lane->next->prev = lane->prev;
    pthread_mutex_lock(&lane->lock);
    lane->closed = true;
    pthread_cond_signal(&lane->wake);
    pthread_mutex_unlock(&lane->lock);
    if (!lane->started && lane->exit_fn)
        lane->exit_fn(lane->exit_data);
    lane_unref(lane);
}

void kvmig__lanes_close(struct kvmig_context *context)
{
    while (context->lanes)
        kvmig__lane_close(context->lanes);
}
