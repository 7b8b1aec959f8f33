/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sinks: a caller's event callback on its way from the handle that has it to the last call of its free function.
 * Functions here need the context lock; the caller's functions run as deliveries, without it. A sink is freed by its
 * last delivery, which is the one that runs the caller's free.
 */
#include "context/context_private.h"

#include <stdlib.h>

struct kvmig__sink {
    struct kvmig_context *context;
    struct kvmig_event_callback callback;
    bool muted; /* under the context lock: what is queued is dropped */
};

struct queued_event {
    struct kvmig__sink *sink;
    struct kvmig_event *event;
};

struct kvmig__sink *kvmig__sink_new(struct kvmig_context *context, struct kvmig_event_callback callback)
{
    struct kvmig__sink *sink = kvmig__calloc(1, sizeof(*sink));

    kvmig__context_assert_locked(context);
    *sink = (struct kvmig__sink){ .context = context, .callback = callback };
    return sink;
}

static void drop_event(void *data)
{
    struct queued_event *queued = data;

    kvmig_event_unref(queued->event);
    free(queued);
}

static void deliver_event(void *data)
{
    struct queued_event *queued = data;
    struct kvmig__sink *sink = queued->sink;
    bool muted;

    kvmig__context_lock(sink->context);
    muted = sink->muted;
    kvmig__context_unlock(sink->context);
    if (!muted)
        sink->callback.fn(queued->event, sink->callback.user_data);
    drop_event(queued);
}

void kvmig__sink_emit(struct kvmig__sink *sink, struct kvmig_event *event)
{
    struct queued_event *queued;

    kvmig__context_assert_locked(sink->context);
    if (!sink->callback.fn) {
        kvmig_event_unref(event);
        return;
    }
    queued = kvmig__calloc(1, sizeof(*queued));
    *queued = (struct queued_event){ .sink = sink, .event = event };
    kvmig__context_deliver(sink->context, deliver_event, drop_event, queued, false);
}

static void end_sink(void *data)
{
    struct kvmig__sink *sink = data;

    if (sink->callback.free)
        sink->callback.free(sink->callback.user_data);
    free(sink);
}

void kvmig__sink_retire(struct kvmig__sink *sink, bool drop_queued)
{
    if (!sink)
        return;
    kvmig__context_assert_locked(sink->context);
    sink->muted = drop_queued;
    kvmig__context_deliver(sink->context, end_sink, NULL, sink, true);
}

struct discarded {
    void (*free_fn)(void *user_data);
    void *user_data;
};

static void run_discarded(void *data)
{
    struct discarded *discarded = data;

    discarded->free_fn(discarded->user_data);
    free(discarded);
}

void kvmig__callback_discard(struct kvmig_context *context, void (*free_fn)(void *), void *user_data)
{
    struct discarded *discarded;

    if (!free_fn)
        return;
    if (!context) {
        free_fn(user_data);
        return;
    }
    discarded = kvmig__calloc(1, sizeof(*discarded));
    *discarded = (struct discarded){ free_fn, user_data };
    kvmig__context_deliver(context, run_discarded, NULL, discarded, true);
}
