/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The context itself, for the files of this folder only.
 *
 * The struct outlives the context: threads of lanes that still hang in a call keep its memory, and nothing else of it
 * (memory_refs). Locks, outermost first: context->lock, a lane's lock, inbox.lock. log.lock is a leaf of its own.
 */
#ifndef KVMIG_SRC_CONTEXT_PRIVATE_H
#define KVMIG_SRC_CONTEXT_PRIVATE_H

#include "context/context_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* Work of each kind that one dispatch does at most, so that an embedding loop is never starved. */
#define KVMIG__DISPATCH_BUDGET 64

#define KVMIG__N_LOG_MODULES 8

struct kvmig__curl;
struct kvmig__job;
struct kvmig__delivery;
struct kvmig__log_message;

/* Finished jobs on their way from lane threads to dispatch. */
struct kvmig__inbox {
    pthread_mutex_t lock;
    struct kvmig__job *head, *tail;
    int event_fd; /* also what wakes the context; -1 once closed */
    bool closed; /* the context has ended: whoever brings a job frees it */
};

struct kvmig__log_state {
    pthread_mutex_t lock;
    int32_t levels[KVMIG__N_LOG_MODULES]; /* fixed after creation */
    struct kvmig_log_callback callback; /* fixed after creation; fn NULL = standard error */
    struct kvmig__log_message *head, *tail;
    size_t n_queued, n_dropped;
    bool closed;
};

struct kvmig_context {
    _Atomic uint32_t memory_refs; /* the context and each lane thread */
    pid_t pid; /* of the process that made it */
    uint32_t flags; /* enum kvmig_context_flags */
    int epoll_fd, timer_fd;

    pthread_mutex_t lock; /* guards everything below but inbox and log */
    _Atomic(pthread_t) lock_holder; /* for finding bugs; valid while locked is set */
    _Atomic bool locked;
    pthread_cond_t changed; /* a round of the library's thread ended */

    _Atomic uint32_t owners; /* changed to fewer only under the lock; 0 = nothing is delivered any more */
    uint32_t holders;
    bool driven; /* some thread is inside dispatch, run, or the end of the context */
    pthread_t driver; /* that thread; valid while driven */
    bool own_thread; /* the driver is a thread of the library */
    bool ending; /* a thread has taken on the end of the context */
    bool quiet; /* own thread, no owners: the last delivery has run */
    bool leave; /* own thread: return, another thread ends the context */
    bool on_its_own; /* own thread: end the context when the last holder goes */
    uint64_t rounds; /* of the library's thread, so that run() sees that something happened */

    struct kvmig__delivery *deliveries, *last_delivery;
    struct kvmig__timer *timers; /* by due time */
    int64_t timer_set_ms; /* what timer_fd is set to; INT64_MAX = nothing */
    struct kvmig__watch *watches;
    struct kvmig__watch *removed_watches; /* freed when no round can still refer to them */
    bool in_round; /* the end of the round sees what is queued: nobody needs to kick */
    struct kvmig__lane *lanes; /* open ones */
    struct kvmig__curl *curl; /* NULL until something needs it */
    void *slots[KVMIG__N_SLOTS]; /* see kvmig__context_slot() */

    struct kvmig__inbox inbox;
    struct kvmig__log_state log;
};

/* Ends the process if the lock is not held by this thread: a bug in the library, better found than suffered. */
void kvmig__context_assert_locked(struct kvmig_context *context);
/* Memory only; any thread. */
void kvmig__context_memory_ref(struct kvmig_context *context);
void kvmig__context_memory_unref(struct kvmig_context *context);
/* Makes the fd readable. Any thread, any lock, signal handlers. */
void kvmig__context_kick(struct kvmig_context *context);

/* dispatch.c: one bounded round; needs the lock, drops it for deliveries; true if more is due. */
bool kvmig__dispatch_round(struct kvmig_context *context);
/* Waits for the fd to become readable, without the lock; timeout_ms -1 = for ever. Returns 0 or -EINTR. */
int32_t kvmig__context_wait(struct kvmig_context *context, int64_t timeout_ms);

/* thread.c: a thread that blocks all signals; joinable. 0 or -errno. */
int32_t kvmig__thread_create(pthread_t *out_thread, void *(*fn)(void *data), void *data);
/* Dispatching on a thread of the library. Needs the lock. 0 or -errno. */
int32_t kvmig__context_start_thread(struct kvmig_context *context);
/* Ends a context that has its own thread, from another thread. Called without the lock, after context->ending was
 * set. */
void kvmig__context_end_thread(struct kvmig_context *context);
/* Waits for the end of a round of the library's thread. Needs the lock, drops it meanwhile; true if deadline_ms
 * (CLOCK_MONOTONIC, INT64_MAX = none) has passed. */
bool kvmig__context_wait_changed(struct kvmig_context *context, int64_t deadline_ms);
/* context.c: no owner is left. Runs the deliveries that are queued and the free function of the log; after this
 * nothing of the caller's is called. Needs the lock, drops it meanwhile. */
void kvmig__context_quieten(struct kvmig_context *context);
/* context.c: ends a context that nothing refers to any more. Without the lock. */
void kvmig__context_destroy(struct kvmig_context *context);

/* delivery.c: runs up to budget deliveries; needs the lock, drops it meanwhile; true if some are left. */
bool kvmig__deliveries_run(struct kvmig_context *context, size_t budget);

/* timer.c: all need the lock. */
bool kvmig__timers_run(struct kvmig_context *context, size_t budget); /* true if some are still due */
void kvmig__timers_program(struct kvmig_context *context); /* sets timer_fd to the nearest timer */

/* watch.c: all need the lock. */
bool kvmig__watches_run(struct kvmig_context *context); /* true if some may be left */
void kvmig__watches_free(struct kvmig_context *context);

/* lane.c */
bool kvmig__inbox_run(struct kvmig_context *context, size_t budget); /* needs the lock; true if some are left */
void kvmig__inbox_close(struct kvmig_context *context); /* frees what is in it; without the lock */
void kvmig__lanes_close(struct kvmig_context *context); /* needs the lock */

/* curl.c: needs the lock; the transfers are gone. */
void kvmig__curl_end(struct kvmig_context *context);

/* log.c */
void kvmig__log_init(struct kvmig_context *context, int32_t level, struct kvmig_log_callback callback);
bool kvmig__log_run(struct kvmig_context *context, size_t budget); /* needs the lock, drops it; true if some are left */
void kvmig__log_close(struct kvmig_context *context); /* drops what is queued, runs the user's free; without the lock */

#endif
