/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of a context, for the rest of the library: its lock, timers, lanes (worker threads with a queue),
 * deliveries (callbacks of the caller) and log.
 *
 * Locking: one non-recursive mutex per context guards every handle that belongs to it. Public calls lock it; timers and
 * job results run in dispatch WITH the lock held; deliveries run in dispatch WITHOUT it. Worker threads never take it
 * and touch nothing but their job's payload. Nobody holds it across a call that may wait (libvirt, disk) or a call of the
 * user's.
 */
#ifndef KVMIG_SRC_CONTEXT_INTERNAL_H
#define KVMIG_SRC_CONTEXT_INTERNAL_H

#include "base/base.h"
#include <kvmig/context.h>
#include <kvmig/event.h>

void kvmig__context_lock(struct kvmig_context *context);
/* May end the context, if the last reference was given back under the lock: it must not be touched after this. */
void kvmig__context_unlock(struct kvmig_context *context);

/* ---- references (context.c) ---- all need the lock.
 * Owners keep the context open: the caller's own references, and one per cluster or session handle that a caller holds
 * (own when the handle is made, disown when the caller's last reference to it goes). When the last owner goes, nothing
 * is delivered any more but final deliveries, which run then.
 * Holders keep it running without keeping it open: work that must come to its end although nobody listens any more (a
 * running migration, the view that it needs). A context with holders and no owner goes on, on a thread of the library,
 * until the last holder releases it. */
void kvmig__context_own(struct kvmig_context *context);
void kvmig__context_disown(struct kvmig_context *context);
void kvmig__context_hold(struct kvmig_context *context);
void kvmig__context_release(struct kvmig_context *context);

/* ---- what handles of one context share (context.c) ----
 * A place for a pointer, NULL at first; owned by the module that it is for, which empties it before the context ends. */
enum kvmig__context_slot {
    KVMIG__SLOT_OVSDB, /* clients of OVSDB databases */
    KVMIG__N_SLOTS,
};
void **kvmig__context_slot(struct kvmig_context *context, enum kvmig__context_slot which);

/* ---- deliveries (delivery.c) ----
 * Runs fn(data) in dispatch, on a clean stack, without the lock, in order of queueing. Needs the lock. Once the last
 * owner is gone deliveries marked `final` (free functions) still run; others are dropped through drop(data) (may be
 * NULL), which also runs without the lock. */
void kvmig__context_deliver(struct kvmig_context *context, void (*fn)(void *data), void (*drop)(void *data), void *data,
                            bool final);

/* ---- timers (timer.c) ---- all need the lock; fn runs with the lock held. */
struct kvmig__timer {
    struct kvmig_context *context;
    void (*fn)(void *data);
    void *data;
    int64_t due_ms; /* CLOCK_MONOTONIC; INT64_MAX = disarmed */
    struct kvmig__timer *next, *prev;
};
void kvmig__timer_init(struct kvmig__timer *timer, struct kvmig_context *context, void (*fn)(void *data), void *data);
void kvmig__timer_arm(struct kvmig__timer *timer, int64_t due_ms); /* re-arming moves it */
void kvmig__timer_arm_in(struct kvmig__timer *timer, int64_t delay_ms);
void kvmig__timer_disarm(struct kvmig__timer *timer);

/* ---- watches (watch.c) ---- all need the lock; fn runs in dispatch with the lock held.
 * A file descriptor in the context's epoll set, level-triggered. A watch may be removed at any time, also from its own
 * or another watch's fn, and is never called after that. Remove it before closing fd; fd stays the caller's. */
struct kvmig__watch;
/* events: EPOLLIN, EPOLLOUT ...; fn gets what is true now. Errors: -EBADF, -EPERM (fd cannot be polled), -EEXIST,
 * -ENOSPC; *out_watch is NULL then. */
int32_t kvmig__watch_add(struct kvmig_context *context, int fd, uint32_t events,
                         void (*fn)(void *data, uint32_t events), void *data, struct kvmig__watch **out_watch);
void kvmig__watch_modify(struct kvmig__watch *watch, uint32_t events);
void kvmig__watch_remove(struct kvmig__watch *watch); /* NULL is ignored */

/* ---- lanes (lane.c): one worker thread that runs jobs one after another ----
 * A blocking call goes to a lane so that dispatch never blocks. All functions need the lock.
 *
 * Ownership of a payload: the job's until done() returns; then type->free() frees it. If the job runs out of time,
 * done() is called with payload NULL and -ETIMEDOUT: the thread still owns the payload and frees it when (if ever)
 * it comes back. A job that had not begun by its deadline is taken out of the queue and ends the same way. If the
 * lane's thread cannot be started, done() is called with payload NULL and -EAGAIN. done() never runs inside submit.
 *
 * run() has no context: a job says what happened through its payload. done() may call any function here, also close. */
struct kvmig__job_type {
    const char *name;
    void (*run)(void *payload); /* on the lane's thread, no lock */
    void (*done)(void *owner, void *payload, int32_t status); /* in dispatch, lock held; 0, -ETIMEDOUT, -EAGAIN */
    void (*free)(void *payload); /* any thread, with or without the lock: must neither take it nor block */
};
struct kvmig__lane;
/* The lane's thread starts with its first job and blocks all signals. name is for logs and the thread name. */
struct kvmig__lane *kvmig__lane_new(struct kvmig_context *context, const char *name);
/* timeout_ms < 0 = no deadline: for the migrate call, which its owner watches by other means, and for a probe, which goes on
 * until it is told to end. */
void kvmig__lane_submit(struct kvmig__lane *lane, const struct kvmig__job_type *type, void *owner, void *payload,
                        int64_t timeout_ms);
/* fn(data) runs exactly once, as the last act of the lane: on its thread, after the lane was closed and a running
 * job came back (from kvmig__lane_close() if the thread never started). What jobs opened on the lane, for example a
 * connection, is closed here, so that it never blocks dispatch. Takes no lock. */
void kvmig__lane_set_exit(struct kvmig__lane *lane, void (*fn)(void *data), void *data);
/* true while a job that ran out of time still blocks the lane's thread. */
bool kvmig__lane_is_stuck(const struct kvmig__lane *lane);
/* Whether the system gave it a thread, which the first job asks for; for owners that can say at once that it did not. */
bool kvmig__lane_has_thread(const struct kvmig__lane *lane);
/* Number of jobs queued or running that still have an owner. */
size_t kvmig__lane_pending(const struct kvmig__lane *lane);
/* The owner lets go: no done() is called any more; queued payloads are freed, a running one when its thread comes
 * back. The lane frees itself, and keeps the memory it needs of the context, without keeping the context open. NULL
 * is ignored. When the context ends it closes the lanes that are left. */
void kvmig__lane_close(struct kvmig__lane *lane);

/* ---- events and sinks (event.c, sink.c) ---- */
struct kvmig_event; /* built with the functions below, immutable once emitted */
struct kvmig_event *kvmig__event_new(int32_t type);
void kvmig__event_set_host(struct kvmig_event *event, const char *host);
void kvmig__event_set_session(struct kvmig_event *event, const char *id, const char *vm, int32_t phase,
                              int32_t previous, int32_t mode);
void kvmig__event_set_error(struct kvmig_event *event, const struct kvmig_error *error); /* copied */
void kvmig__event_set_finding(struct kvmig_event *event, const struct kvmig_finding *finding); /* copied */
void kvmig__event_set_progress(struct kvmig_event *event, const struct kvmig_progress *progress); /* deep copy */
void kvmig__event_set_queue_position(struct kvmig_event *event, uint32_t position);
void kvmig__event_set_port(struct kvmig_event *event, const char *name, int32_t state); /* enum kvmig_port_state */
void kvmig__event_set_migration(struct kvmig_event *event, const char *migration, const char *vm, int32_t phase);
void kvmig__event_set_token(struct kvmig_event *event, const char *token);
void kvmig__event_set_cancel_result(struct kvmig_event *event, int32_t result);

/* A sink holds a caller's event callback; its user `free` runs exactly once, after the last event. All need the
 * lock. */
struct kvmig__sink;
struct kvmig__sink *kvmig__sink_new(struct kvmig_context *context, struct kvmig_event_callback callback);
void kvmig__sink_emit(struct kvmig__sink *sink, struct kvmig_event *event); /* takes the event */
/* No more events are accepted; those already queued are delivered (drop_queued false) or dropped (true), then free
 * runs. Ends the owner's hold on the sink. NULL is ignored. */
void kvmig__sink_retire(struct kvmig__sink *sink, bool drop_queued);
/* For a call that failed before a sink existed: runs callback.free exactly once, through the context (needs the
 * lock), or at once if context is NULL. */
void kvmig__callback_discard(struct kvmig_context *context, void (*free_fn)(void *), void *user_data);

/* ---- log (log.c) ---- any thread, with or without the lock. Modules: context cluster plan session
 * port probe libvirt kubernetes. */
bool kvmig__log_enabled(struct kvmig_context *context, int32_t level, const char *module);
void kvmig__log(struct kvmig_context *context, int32_t level, const char *module, const char *fmt, ...)
    KVMIG__PRINTF(4, 5);

#endif
