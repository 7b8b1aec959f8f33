/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of the cluster view: the current model, its hosts with their backends, slots, and what backends and
 * sessions call. Everything needs the context lock unless it says otherwise.
 */
#ifndef KVMIG_SRC_CLUSTER_INTERNAL_H
#define KVMIG_SRC_CLUSTER_INTERNAL_H

#include "cluster/limits.h"
#include "cluster/model.h"
#include "cluster/queries.h"
#include "context/context_internal.h"
#include "plan/plan_internal.h"
#include <kvmig/cluster.h>
#include <kvmig/location.h>

/* ---- what a backend offers per host ---- */
struct kvmig__host_backend;
struct kvmig_session;
struct kvmig__driver;
struct kvmig__driver_limits;

/* Answer of read_side: side is taken by the callee's caller only for the duration of the call. */
typedef void (*kvmig__side_fn)(void *owner, const struct kvmig__side *side);
/* Answer of act: error NULL = done; borrowed. */
typedef void (*kvmig__act_fn)(void *owner, const struct kvmig_error *error);

/* A measurement of how fast a guest dirties its memory. */
struct kvmig__measure {
    uint64_t window_ms[2]; /* whole seconds, ascending */
    int64_t timeout_ms; /* of all */
};
struct kvmig__measured {
    struct kvmig__dirty_point points[2];
    size_t n_points;
    double resident, busy; /* bytes of the process; share of the guest's CPUs; < 0 = not known */
};
/* Exactly one of measured and error is NULL; both borrowed. */
typedef void (*kvmig__measured_fn)(void *owner, const struct kvmig__measured *measured,
                                   const struct kvmig_error *error);

struct kvmig__host_backend_ops {
    void (*refresh)(struct kvmig__host_backend *backend); /* read now; answers with host_facts or host_lost */
    void (*close)(struct kvmig__host_backend *backend); /* frees it; nothing is reported any more */
    /* Reads one domain's state, on a lane of its own so that inventory never delays it. Always answers, at the latest
     * after timeout_ms (then side->reachable is false). Never answers from inside the call; not at all once the
     * backend is closed. */
    void (*read_side)(struct kvmig__host_backend *backend, const char *vm_uuid_or_name, int64_t timeout_ms,
                      kvmig__side_fn fn, void *owner);
    /* enum kvmig_location_action on this host: RESUME_*, DESTROY_*, SUSPEND_BOTH (this host's half). */
    void (*act)(struct kvmig__host_backend *backend, const char *vm_uuid_or_name, int32_t action, int64_t timeout_ms,
                kvmig__act_fn fn, void *owner);
    /* A driver for a session whose plan goes from this host to target. */
    struct kvmig__driver *(*driver_new)(struct kvmig__host_backend *source, struct kvmig__host_backend *target,
                                        struct kvmig_session *session, const struct kvmig__driver_limits *limits);
    /* May be NULL. Answers once, at the latest after its time-out, never from inside the call; -ECANCELED when the backend closes. */
    void (*measure)(struct kvmig__host_backend *backend, const char *vm_uuid, const struct kvmig__measure *what,
                    kvmig__measured_fn fn, void *owner);
};
struct kvmig__host_backend {
    const struct kvmig__host_backend_ops *ops;
};

/* For backends that know an answer at once: gives it in a dispatch of its own. side (shallow) and error are taken. (cluster_reply.c) */
void kvmig__reply_side(struct kvmig_context *context, const struct kvmig__side *side, kvmig__side_fn fn, void *owner);
void kvmig__reply_act(struct kvmig_context *context, struct kvmig_error *error, kvmig__act_fn fn, void *owner);

/* ---- one host in the view ---- */
struct kvmig__cluster_host {
    struct kvmig_cluster *cluster;
    struct kvmig__host_backend *backend;
    struct kvmig__host *facts; /* the newest; never NULL; the element of cluster->view */
    bool settled; /* read once or known to be unreachable, since the last refresh of the whole view */
    size_t index; /* in the view */
    bool begun; /* a reading has begun since the last refresh of the whole view; only that one settles the host */
    bool thorough; /* the next reading is to be a thorough one */
    bool batched; /* reported in the batch that goes on */
    uint64_t asked_round; /* what the last reading that began asked; of cluster->queries_round */
    uint64_t wanted_round; /* what the host was last told to ask */
    int64_t begun_ms, facts_ms; /* when the last reading began; when that of facts began; 0 = never */
};

/* A host that is not read yet, in state CONNECTING. The caller sets ->backend before it gives up the lock. NULL, with the
 * error set, if the view has that URI already; where names the call for the error. */
struct kvmig__cluster_host *kvmig__cluster_host_add(struct kvmig_cluster *cluster, const char *uri, const char *where);
/* The same for a backend that knows that nobody else has the URI. */
struct kvmig__cluster_host *kvmig__cluster_host_new(struct kvmig_cluster *cluster, const char *uri);

/* A backend calls this when it begins to read its host: what it reports next is newer than all that was asked for until now.
 * queries: asked about emulators, beyond those of the host's own guests; borrowed, valid under the lock. thorough: read
 * also what is costly and seldom changes (volumes, block devices), and let storage pools look again. */
struct kvmig__reading {
    const struct kvmig__queries *queries;
    bool thorough;
};
struct kvmig__reading kvmig__cluster_host_begin(struct kvmig__cluster_host *host);

/* What a backend reports, as its last act in whatever it is doing: the report may close it. facts are taken and replace the
 * old ones; events follow from the difference. A lost host keeps its last facts, with another state. */
void kvmig__cluster_host_facts(struct kvmig__cluster_host *host, struct kvmig__host *facts);
void kvmig__cluster_host_lost(struct kvmig__cluster_host *host, struct kvmig_error *error); /* taken */

/* Between them many hosts may be added and reported, but none removed; what follows for the view as a whole comes at the end, which
 * may be the view's. For backends that are asked nothing about emulators. No batch within a batch. */
void kvmig__cluster_batch_begin(struct kvmig_cluster *cluster);
void kvmig__cluster_batch_end(struct kvmig_cluster *cluster);

/* What is known of the host answers all that was asked: there is nothing newer to be had. */
void kvmig__cluster_host_still(struct kvmig__cluster_host *host);
/* Facts beside hosts and objects; borrowed, valid until the next call or the view's end. kube: the view is one of Kubernetes. */
void kvmig__cluster_set_facts(struct kvmig_cluster *cluster, const struct kvmig__facts *facts, bool kube);
/* Takes a host out of the view and answers those who wait for it; host and backend stay valid until the view ends. */
void kvmig__cluster_host_remove(struct kvmig__cluster_host *host);
/* Puts one back that was taken out; its facts come with the next report. */
void kvmig__cluster_host_restore(struct kvmig__cluster_host *host);
/* Looks whether SYNCED is due; for backends whose hosts are not known from the beginning. */
void kvmig__cluster_check_sync(struct kvmig_cluster *cluster);
void kvmig__cluster_emit(struct kvmig_cluster *cluster, struct kvmig_event *event); /* takes it */

/* ---- for sessions and locations ---- */
/* The Kubernetes objects of the view; NULL = it has no Kubernetes cluster. Borrowed. */
const struct kvmig__view *
kvmig__cluster_view(const struct kvmig_cluster *cluster); /* borrowed; under the context lock */
const struct kvmig__kube *kvmig__cluster_kube(const struct kvmig_cluster *cluster);
struct kvmig_context *kvmig__cluster_context(struct kvmig_cluster *cluster);
void kvmig__cluster_timing(const struct kvmig_cluster *cluster, uint32_t *out_refresh_ms,
                           uint32_t *out_call_timeout_ms);
void kvmig__cluster_hold(struct kvmig_cluster *cluster); /* an internal reference; keeps the view going */
void kvmig__cluster_release(struct kvmig_cluster *cluster);
struct kvmig__cluster_host *kvmig__cluster_find_host(struct kvmig_cluster *cluster, const char *name_or_uri);
int32_t kvmig__cluster_plan_locked(struct kvmig_cluster *cluster, const struct kvmig__request *request,
                                   struct kvmig_plan **out_plan);
bool kvmig__cluster_synced(const struct kvmig_cluster *cluster);
int32_t kvmig__cluster_check_synced(const struct kvmig_cluster *cluster,
                                    const char *where); /* -KVMIG_ENOTSYNCED, or 0 */
struct kvmig__kube_backend *kvmig__cluster_kube_backend(const struct kvmig_cluster *cluster); /* NULL = none */
/* A plan for a session that follows what somebody else started: vmim as kvmig__plan_kube_attach(), NULL = no migration has to be there. */
int32_t kvmig__cluster_attach_locked(struct kvmig_cluster *cluster, const char *vm, const char *vmim,
                                     struct kvmig_plan **out_plan);
/* Freshness for re-validation: refreshes one host and calls fn when its facts are new or it is lost. */
void kvmig__cluster_refresh_host(struct kvmig__cluster_host *host, void (*fn)(void *owner), void *owner);
void kvmig__cluster_refresh_forget(struct kvmig_cluster *cluster, void *owner);
struct kvmig__learned *kvmig__cluster_learned(struct kvmig_cluster *cluster);
struct kvmig__limits *kvmig__cluster_limits(struct kvmig_cluster *cluster);
/* Grants slots; sessions hear of it through their slot's owner (session.c's kvmig__session_slot_changed). */
void kvmig__cluster_settle_slots(struct kvmig_cluster *cluster);

#endif
