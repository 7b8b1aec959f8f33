/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of a location, for location*.c. Everything needs the context lock.
 */
#ifndef KVMIG_SRC_LOCATION_INTERNAL_H
#define KVMIG_SRC_LOCATION_INTERNAL_H

#include "cluster/cluster_internal.h"
#include "session/resolver.h"
#include <kvmig/location.h>

/* Who is asked for what. Strings are owned; hosts belong to the cluster, which its holder keeps. */
struct kvmig__inquiry {
    char *vm, *source, *target; /* host names as they were when it was asked */
    char *uuid; /* what vm stands for; NULL = not known yet */
    struct kvmig__cluster_host *source_host, *target_host;
    int64_t timeout_ms; /* of each answer */
};
void kvmig__inquiry_copy(struct kvmig__inquiry *dst, const struct kvmig__inquiry *src);
void kvmig__inquiry_clear(struct kvmig__inquiry *inquiry);

struct kvmig_location {
    struct kvmig_context *context;
    struct kvmig_cluster *cluster; /* held */
    uint32_t owners, holds;
    struct kvmig__inquiry inquiry;
    struct kvmig__resolution resolution; /* its proof is the one below */
    char *proof;
    struct kvmig__side source, target; /* as read */
};

/* With one hold; everything is copied. */
struct kvmig_location *kvmig__location_new(struct kvmig_cluster *cluster, const struct kvmig__inquiry *inquiry,
                                           const struct kvmig__resolution *resolution, const struct kvmig__side *source,
                                           const struct kvmig__side *target);
void kvmig__location_release(struct kvmig_location *location); /* gives the hold back; NULL is ignored */

#endif
