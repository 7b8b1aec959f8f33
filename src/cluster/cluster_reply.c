/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Answers of hosts that know them at once: each is given in a dispatch of its own, because a question is never answered from inside.
 * With the context lock held. An answer owns itself until it is given.
 */
#include "cluster/cluster_internal.h"

#include <stdlib.h>

struct reply {
    struct kvmig__timer timer;
    struct kvmig__side side;
    struct kvmig_error *error;
    kvmig__side_fn side_fn;
    kvmig__act_fn act_fn;
    void *owner;
};

static void on_reply(void *data)
{
    struct reply *reply = data;

    if (reply->side_fn)
        reply->side_fn(reply->owner, &reply->side);
    else
        reply->act_fn(reply->owner, reply->error);
    kvmig__side_clear(&reply->side);
    kvmig__error_free(reply->error);
    free(reply);
}

static struct reply *reply_new(struct kvmig_context *context, void *owner)
{
    struct reply *reply = kvmig__calloc(1, sizeof(*reply));

    reply->owner = owner;
    kvmig__timer_init(&reply->timer, context, on_reply, reply);
    kvmig__timer_arm_in(&reply->timer, 0);
    return reply;
}

void kvmig__reply_side(struct kvmig_context *context, const struct kvmig__side *side, kvmig__side_fn fn, void *owner)
{
    struct reply *reply = reply_new(context, owner);

    reply->side = *side;
    reply->side_fn = fn;
}

void kvmig__reply_act(struct kvmig_context *context, struct kvmig_error *error, kvmig__act_fn fn, void *owner)
{
    struct reply *reply = reply_new(context, owner);

    reply->error = error;
    reply->act_fn = fn;
}
