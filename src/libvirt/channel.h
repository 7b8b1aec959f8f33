/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A host's lane with its connection, which is given up and replaced when a call on it does not come back. Threads that hang
 * are counted, so that a host which swallows every call does not collect them without end: a jammed channel takes no new
 * job until one of its lost threads has returned.
 *
 * Everything needs the context lock but kvmig__channel_job_clear(), which any thread may call.
 */
#ifndef KVMIG_SRC_LIBVIRT_CHANNEL_H
#define KVMIG_SRC_LIBVIRT_CHANNEL_H

#include "libvirt/link.h"

/* Threads of one channel that may hang at a time. */
#define KVMIG__CHANNEL_MAX_LOST 3

struct kvmig__channel_count;

struct kvmig__channel {
    struct kvmig__end end;
    struct kvmig__channel_count *count;
    size_t awaited; /* jobs whose done() is still to come */
};

/* The head of every payload that goes through a channel. */
struct kvmig__channel_job {
    struct kvmig__channel_count *count;
    struct kvmig__link *link; /* for the lane's thread */
};

/* given: a connection to begin with, of which the channel takes a reference of its own; NULL = dial. */
void kvmig__channel_init(struct kvmig__channel *channel, struct kvmig_context *context, const char *name,
                         const char *uri, virConnectPtr given);
/* Lets go of everything; no done() comes any more. */
void kvmig__channel_close(struct kvmig__channel *channel);
size_t kvmig__channel_lost(const struct kvmig__channel *channel); /* threads that were given up and still hang */
bool kvmig__channel_is_jammed(const struct kvmig__channel *channel);
/* payload begins with job. type->done() must call kvmig__channel_landed(), type->free() kvmig__channel_job_clear(). */
void kvmig__channel_submit(struct kvmig__channel *channel, const struct kvmig__job_type *type, void *owner,
                           struct kvmig__channel_job *job, int64_t timeout_ms);
/* job: the payload that done() got; NULL if it ran out of time. */
void kvmig__channel_landed(struct kvmig__channel *channel, struct kvmig__channel_job *job);
/* Gives up what runs and what waits, without done(), and goes on with a new thread and connection. */
void kvmig__channel_renew(struct kvmig__channel *channel);
void kvmig__channel_job_clear(struct kvmig__channel_job *job);

#endif
