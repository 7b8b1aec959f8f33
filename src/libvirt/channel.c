/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Channels: see channel.h. Does: count payloads, replace lanes. Does not: call libvirt on anything but a connection that the
 * caller gave, and that only to count a reference. A payload that nobody awaits any more and that has not been freed is one
 * that a lost thread holds; the count lives as long as the last of them.
 */
#include "libvirt/channel.h"

#include <stdatomic.h>
#include <stdlib.h>

struct kvmig__channel_count {
    _Atomic uint32_t refs; /* the channel and each payload */
    _Atomic size_t payloads; /* that have not been freed */
};

static void count_unref(struct kvmig__channel_count *count)
{
    if (--count->refs == 0)
        free(count);
}

void kvmig__channel_init(struct kvmig__channel *channel, struct kvmig_context *context, const char *name,
                         const char *uri, virConnectPtr given)
{
    char *full_name = kvmig__asprintf("%s %s", name, uri);

    kvmig__end_init(&channel->end, context, full_name, uri, uri);
    free(full_name);
    if (given && virConnectRef(given) == 0)
        channel->end.link->conn = given; /* the lane has no thread yet */
    channel->count = kvmig__calloc(1, sizeof(*channel->count));
    channel->count->refs = 1;
    channel->awaited = 0;
}

void kvmig__channel_close(struct kvmig__channel *channel)
{
    kvmig__end_close(&channel->end);
    count_unref(channel->count);
}

size_t kvmig__channel_lost(const struct kvmig__channel *channel)
{
    return channel->count->payloads - channel->awaited;
}

bool kvmig__channel_is_jammed(const struct kvmig__channel *channel)
{
    return kvmig__channel_lost(channel) >= KVMIG__CHANNEL_MAX_LOST;
}

void kvmig__channel_submit(struct kvmig__channel *channel, const struct kvmig__job_type *type, void *owner,
                           struct kvmig__channel_job *job, int64_t timeout_ms)
{
    job->count = channel->count;
    job->link = channel->end.link;
    channel->count->refs++;
    channel->count->payloads++;
    channel->awaited++;
    kvmig__lane_submit(channel->end.lane, type, owner, job, timeout_ms);
}

void kvmig__channel_landed(struct kvmig__channel *channel, struct kvmig__channel_job *job)
{
    channel->awaited--;
    if (job)
        kvmig__channel_job_clear(job); /* it is about to be freed, and not lost */
}

void kvmig__channel_renew(struct kvmig__channel *channel)
{
    kvmig__end_renew(&channel->end);
    channel->awaited = 0;
}

void kvmig__channel_job_clear(struct kvmig__channel_job *job)
{
    if (!job->count)
        return;
    job->count->payloads--;
    count_unref(job->count);
    job->count = NULL;
}
