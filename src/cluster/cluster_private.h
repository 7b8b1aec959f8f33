/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cluster view itself, for the files of this folder only. Everything is guarded by the context lock.
 *
 * A view is kept by its public owners and by internal holds (sessions, location questions). With the last owner its events
 * stop; with the last of both it is freed, and with it its hosts and their backends.
 */
#ifndef KVMIG_SRC_CLUSTER_PRIVATE_H
#define KVMIG_SRC_CLUSTER_PRIVATE_H

#include "cluster/cluster_internal.h"

/* Somebody who waits for fresh facts of a host. */
struct kvmig__waiter {
    struct kvmig__cluster_host *host;
    void (*fn)(void *owner);
    void *owner;
    bool armed; /* a reading has begun since it came */
    struct kvmig__waiter *next;
};

/* A guest that a session of this view migrates, or has just migrated: readings of hosts may still show it moving. */
struct kvmig__own_guest {
    char *uuid;
    bool running; /* its session has a slot */
    int64_t ended_ms; /* when it lost it */
};

/* While many hosts are reported at once (cluster_batch.c). */
struct kvmig__batch {
    struct kvmig__cluster_host **slots; /* a table by name, open addressing */
    size_t mask, used;
};

struct kvmig_cluster {
    struct kvmig_context *context;
    uint32_t owners; /* public references */
    uint32_t holds;
    struct kvmig__sink *sink; /* NULL once the last owner is gone */
    uint32_t refresh_ms, call_timeout_ms;

    struct kvmig__kube_backend *kube; /* the Kubernetes cluster, or files with its objects; NULL = none */
    struct kvmig__file_view *files; /* reads the files of a view of files; NULL = a live one */
    struct kvmig__view view; /* hosts.v[i] is hosts.v[i]->facts of the list below */
    struct {
        struct kvmig__cluster_host **v;
        size_t n;
    } hosts;
    struct {
        struct kvmig__cluster_host **v;
        size_t n;
    } removed; /* nodes that have left the cluster */
    struct kvmig__queries queries; /* what the guests of the view raise */
    uint64_t queries_round; /* counts the times that something was added to them */

    bool synced; /* every host was read once or is known to be unreachable */
    bool sync_wanted; /* SYNCED is owed */
    struct kvmig__timer sync_timer; /* looks whether it is due, for views without hosts too */
    struct kvmig__waiter *waiters;
    struct kvmig__batch *batch; /* NULL = hosts are reported one by one */

    struct kvmig__learned learned;
    struct kvmig__limits limits;
    struct {
        struct kvmig__own_guest *v;
        size_t n;
    } own_guests;
};

/* cluster_hosts.c */
void kvmig__cluster_read_all(struct kvmig_cluster *cluster); /* thoroughly, now */
void kvmig__cluster_drop_hosts(struct kvmig_cluster *cluster);
bool kvmig__cluster_host_ready(const struct kvmig__cluster_host *host); /* read, or known to be unreachable */
void kvmig__cluster_batch_reported(struct kvmig_cluster *cluster); /* what follows from all reports of a batch */

/* cluster_batch.c */
void kvmig__batch_named(struct kvmig__cluster_host *host); /* it has a new name; nothing without a batch */
bool kvmig__batch_has_other(const struct kvmig__cluster_host *host, const char *name); /* within a batch */

/* cluster_slots.c */
void kvmig__cluster_drop_guests(struct kvmig_cluster *cluster);
/* The slots as a plan for vm sees them, its own slot left out. kvmig__slots_clear() empties *out. */
void kvmig__cluster_slots(struct kvmig_cluster *cluster, const char *vm, struct kvmig__slots *out);
void kvmig__slots_clear(struct kvmig__slots *slots);

#endif
