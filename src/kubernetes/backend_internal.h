/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of the Kubernetes backend, for its own files (backend*.c). Everything needs the context lock.
 */
#ifndef KVMIG_SRC_KUBE_BACKEND_INTERNAL_H
#define KVMIG_SRC_KUBE_BACKEND_INTERNAL_H

#include "kubernetes/backend.h"
#include "kubernetes/objects.h"
#include "kubernetes/reflector.h"

/* One reflector; kinds may have several (events). */
struct kvmig__kube_source {
    struct kvmig__kube_backend *backend;
    int32_t kind; /* enum kvmig__kube_kind */
    struct kvmig__reflector *reflector;
    enum kvmig__reflector_state state;
    bool listed; /* once at least, or the server does not have the kind */
    struct kvmig_error *error; /* why it is FORBIDDEN, ABSENT or LOST */
    char *pod_ns, *pod; /* events of one pod; NULL = of all objects of the kind */
};

struct kvmig__kube_host { /* a node, as a host of the view */
    struct kvmig__host_backend base;
    struct kvmig__kube_backend *backend;
    struct kvmig__cluster_host *host;
    char *node;
    bool vanished; /* its node has left the cluster, and it the view */
    bool wanted; /* its node is still there (while the hosts are gone through) */
};

struct kvmig__kube_backend {
    struct kvmig_cluster *cluster;
    struct kvmig_context *context;
    struct kvmig__kube store;
    char *ns, *vm; /* the view's scope; NULL = none. vm is a name in ns */
    struct kvmig__client *client; /* NULL: a snapshot */
    bool loaded; /* the snapshot was */
    struct {
        struct kvmig__kube_source **v;
        size_t n;
    } sources;
    struct {
        struct kvmig__kube_host **v;
        size_t n;
    } hosts;
    struct kvmig__timer report; /* hosts are told some time after the store has changed */
    struct kvmig__timer told; /* watchers are told in a dispatch of its own */
    struct kvmig__kube_watcher *watchers;
    bool dirty; /* since hosts were told */
    int64_t next_report_ms; /* not before: a large view takes time to make */
    bool pods_changed; /* or migrations: whose events are to be followed is looked at again */
    bool lost_told; /* that the server does not answer */
    bool hosts_told; /* once at least, when everything was in step */
    uint32_t page_size;
    int64_t patience_ms; /* without an answer for so long, what is known counts as old */
};

/* ---- backend.c ---- */
void kvmig__kube_changed(struct kvmig__kube_backend *backend); /* the store has; watchers are told soon */
void kvmig__kube_hosts_changed(struct kvmig__kube_backend *backend); /* what hosts are made of has changed */
void kvmig__kube_removed(struct kvmig__kube_backend *backend, const struct kvmig__kube_meta *last);
void kvmig__kube_notice(struct kvmig__kube_backend *backend, const struct kvmig_finding *finding); /* VIEW_NOTICE */
/* ---- backend_kinds.c ---- */
void kvmig__kube_sources_open(struct kvmig__kube_backend *backend);
void kvmig__kube_sources_close(struct kvmig__kube_backend *backend);
void kvmig__kube_sources_follow_pods(struct kvmig__kube_backend *backend); /* events of pods of running migrations */
/* ---- backend_hosts.c ---- */
void kvmig__kube_hosts_report(struct kvmig__kube_backend *backend);

#endif
