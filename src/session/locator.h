/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads where a guest is: the target, the source, the target again, through the hosts' backends, and judges with the
 * resolver. One round; who wants another one starts another one. A guest is its UUID: a name is first looked up on both
 * hosts, and the round asks for the UUID that was found. Everything needs the context lock.
 */
#ifndef KVMIG_SRC_LOCATOR_H
#define KVMIG_SRC_LOCATOR_H

#include "cluster/cluster_internal.h"
#include "session/resolver.h"

/* Called once, in dispatch, with the lock held; everything is borrowed for the call, the resolution's proof included. uuid:
 * of the guest that the answer is about; NULL if its name is not known on any host, or is that of two guests. */
typedef void (*kvmig__located_fn)(void *owner, const struct kvmig__resolution *resolution, const char *uuid,
                                  const struct kvmig__side *source, const struct kvmig__side *target);

/* vm: UUID or name. timeout_ms: for each reading. Never answers from inside the call. The caller keeps a hold on the cluster, and with it the
 * hosts, until it has the answer. */
void kvmig__locate(struct kvmig__cluster_host *source, struct kvmig__cluster_host *target, const char *vm,
                   int64_t timeout_ms, kvmig__located_fn fn, void *owner);

#endif
