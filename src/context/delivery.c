/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Deliveries: calls into the caller's code. They are queued under the context lock, and run one by one in order on the
 * dispatching thread, without it, so that the caller's code may call the library. The queue owns a delivery; what data
 * is and who frees it is the business of fn and drop, of which exactly one runs.
 */
#include "context/context_private.h"

#include <stdlib.h>

struct kvmig__delivery {
    void (*fn)(void *data);
    void (*drop)(void *data);
    void *data;
    bool final;
    struct kvmig__delivery *next;
};

void kvmig__context_deliver(struct kvmig_context *context, void (*fn)(void *data), void (*drop)(void *data), void *data,
                            bool final)
{
    struct kvmig__delivery *delivery = kvmig__calloc(1, sizeof(*delivery));

    kvmig__context_assert_locked(context);
    *delivery = (struct kvmig__delivery){ .fn = fn, .drop = drop, .data = data, .final = final };
    if (context->last_delivery)
        context->last_delivery->next = delivery;
    else
        context->deliveries = delivery;
    context->last_delivery = delivery;
    if (!context->in_round)
        kvmig__context_kick(context);
}

bool kvmig__deliveries_run(struct kvmig_context *context, size_t budget)
{
    for (; context->deliveries && budget; budget--) {
        struct kvmig__delivery *delivery = context->deliveries;
        bool open = context->owners > 0;

        context->deliveries = delivery->next;
        if (!delivery->next)
            context->last_delivery = NULL;
        kvmig__context_unlock(context);
        if (open || delivery->final)
            delivery->fn(delivery->data);
        else if (delivery->drop)
            delivery->drop(delivery->data);
        free(delivery);
        kvmig__context_lock(context);
    }
    return context->deliveries != NULL;
}
