/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The Kubernetes half of a cluster view: one client, one reflector per kind, the store, and the nodes as hosts of the view. Everything
 * needs the context lock; callbacks run in dispatch with it held.
 */
#ifndef KVMIG_SRC_KUBE_BACKEND_H
#define KVMIG_SRC_KUBE_BACKEND_H

#include "cluster/cluster_internal.h"
#include "cluster/kube.h"
#include "kubernetes/client.h"

struct kvmig__kube_backend;

/* source is taken. */
struct kvmig__kube_backend *kvmig__kube_backend_new(struct kvmig_cluster *cluster, struct kvmig__access_source *source,
                                                    const struct kvmig_kube_opts *opts);
/* Of a view of files (src/files), which reads them: it is in step once it was given a store. */
struct kvmig__kube_backend *kvmig__kube_backend_new_snapshot(struct kvmig_cluster *cluster);
void kvmig__kube_backend_wait(struct kvmig__kube_backend *backend); /* another store is being read */
/* Replaces the store. store is taken, and is empty afterwards; NULL = it could not be read, the old one stays. */
void kvmig__kube_backend_take(struct kvmig__kube_backend *backend, struct kvmig__kube *store);
void kvmig__kube_backend_free(struct kvmig__kube_backend *backend); /* NULL is ignored */
struct kvmig_context *kvmig__kube_backend_context(const struct kvmig__kube_backend *backend);
const struct kvmig__kube *kvmig__kube_backend_store(const struct kvmig__kube_backend *backend);
/* For sessions: requests of their own. */
struct kvmig__client *kvmig__kube_backend_client(struct kvmig__kube_backend *backend);
/* Every kind was listed once, or is known not to be had. */
bool kvmig__kube_backend_synced(const struct kvmig__kube_backend *backend);
/* The watch that a kind depends on has been without an answer for too long; borrowed error, NULL = healthy. */
const struct kvmig_error *kvmig__kube_backend_lost(const struct kvmig__kube_backend *backend, int32_t kind);

/* Somebody who follows the store. changed: after each batch of changes. gone: an object was removed from it; last is its last state,
 * borrowed. Both run in dispatch; they may unwatch, themselves too. */
struct kvmig__kube_watcher {
    void (*changed)(void *owner);
    void (*gone)(void *owner, const struct kvmig__kube_meta *last);
    void *owner;
    struct kvmig__kube_watcher *next; /* the backend's */
};
void kvmig__kube_watch(struct kvmig__kube_backend *backend, struct kvmig__kube_watcher *watcher);
void kvmig__kube_unwatch(struct kvmig__kube_backend *backend, struct kvmig__kube_watcher *watcher);
/* Puts the server's answer to a write into the store at once, so that nobody has to wait for the watch to bring it; the reflector
 * drops what is older. */
void kvmig__kube_backend_learn(struct kvmig__kube_backend *backend, struct json_object *object);

/* The driver of a session on this cluster (driver.c); see session/driver.h. */
struct kvmig__driver *kvmig__kube_driver_new(struct kvmig__kube_backend *backend, struct kvmig_session *session,
                                             const struct kvmig__driver_limits *limits);

#endif
