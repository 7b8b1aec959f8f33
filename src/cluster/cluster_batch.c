/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Many hosts reported at once, as the nodes of a cluster are: what follows for the view as a whole is then worked out once, and whether
 * a name is taken is looked up in a table, so that a report of n hosts costs n and not n * n. Does not: judge a report
 * (cluster_hosts.c). Needs the context lock, which is held from begin to end. The table lends hosts, and lives as long as the batch.
 */
#include "cluster/cluster_private.h"

#include <stdlib.h>
#include <string.h>

static size_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return (size_t)(hash ^ hash >> 32);
}

static void insert(struct kvmig__batch *batch, struct kvmig__cluster_host *host)
{
    size_t at = hash_of(host->facts->name) & batch->mask;

    while (batch->slots[at])
        at = (at + 1) & batch->mask;
    batch->slots[at] = host;
    batch->used++;
}

/* A host stands there under each name that it has had since. */
static void fill(struct kvmig__batch *batch, const struct kvmig_cluster *cluster)
{
    size_t room = 64;

    while (room < cluster->hosts.n * 4 + 4)
        room *= 2;
    free(batch->slots);
    batch->slots = kvmig__calloc(room, sizeof(struct kvmig__cluster_host *));
    batch->mask = room - 1;
    batch->used = 0;
    for (size_t i = 0; i < cluster->hosts.n; i++)
        insert(batch, cluster->hosts.v[i]);
}

void kvmig__batch_named(struct kvmig__cluster_host *host)
{
    struct kvmig__batch *batch = host->cluster->batch;

    if (!batch)
        return;
    if (batch->used * 2 > batch->mask)
        fill(batch, host->cluster);
    else
        insert(batch, host);
}

bool kvmig__batch_has_other(const struct kvmig__cluster_host *host, const char *name)
{
    const struct kvmig__batch *batch = host->cluster->batch;

    for (size_t at = hash_of(name) & batch->mask; batch->slots[at]; at = (at + 1) & batch->mask)
        if (batch->slots[at] != host && kvmig__str_eq(batch->slots[at]->facts->name, name))
            return true;
    return false;
}

void kvmig__cluster_batch_begin(struct kvmig_cluster *cluster)
{
    kvmig__cluster_hold(cluster);
    cluster->batch = kvmig__calloc(1, sizeof(*cluster->batch));
    fill(cluster->batch, cluster);
}

void kvmig__cluster_batch_end(struct kvmig_cluster *cluster)
{
    free(cluster->batch->slots);
    free(cluster->batch);
    cluster->batch = NULL;
    kvmig__cluster_batch_reported(cluster);
    kvmig__cluster_release(cluster);
}
