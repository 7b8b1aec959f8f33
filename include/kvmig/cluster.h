/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file cluster.h
 * The cluster view: hosts, their VMs, storage, networks and limits, kept current in the background.
 * Plans and sessions are made from it. A host that hangs or is down delays no other.
 */
#ifndef KVMIG_CLUSTER_H
#define KVMIG_CLUSTER_H

#include <kvmig/context.h>
#include <kvmig/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A limit that is never reached. */
#define KVMIG_UNLIMITED UINT32_MAX

struct kvmig_kube_opts;

/** Options of kvmig_cluster_open(); zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_cluster_opts {
    size_t size; /**< set by KVMIG_CLUSTER_OPTS_INIT */
    const char *const *libvirt_uris; /**< libvirt URIs of the hosts; copied */
    size_t n_libvirt_uris; /**< entries in libvirt_uris; 0 = no host yet (kvmig_cluster_add_libvirt) */
    const char *const *shared_paths; /**< folders that the caller knows to be one shared storage on all hosts; copied */
    size_t n_shared_paths; /**< entries in shared_paths */
    uint32_t refresh_ms; /**< how often each host is read; 0 = 5000 */
    uint32_t call_timeout_ms; /**< a libvirt call that takes longer makes the host lost; 0 = 10000 */
    uint32_t max_migrations; /**< in total; 0 = 5 (KubeVirt's default), KVMIG_UNLIMITED = no limit */
    uint32_t max_outbound; /**< from one host; 0 = 2 (KubeVirt's default) */
    uint32_t max_inbound; /**< to one host; 0 = 2 */
    uint32_t reserved; /**< must be 0 */
    struct kvmig_event_callback on_event; /**< gets the events of the view; fn NULL = nobody does */
    const struct kvmig_kube_opts *kube; /**< a Kubernetes cluster with KubeVirt (kvmig/kube.h); copied; NULL = none */
    const char *const
        *snapshot_paths; /**< instead of a live cluster: files or folders with what is at hand, recognised by content
                                            (planning, explaining and diagnosing only): Kubernetes objects as kubectl prints
                                            them; libvirt's domain, capabilities and domain capabilities XML; rows of
                                            OVN's and Open vSwitch's databases; observations. See docs/files.md; copied */
    size_t n_snapshot_paths; /**< entries in snapshot_paths */
    const char *const
        *snapshot_hosts; /**< libvirt hosts that the files tell of: "HOST=FILE" = this file (a path, or its
                                            last parts) holds capabilities or a domain of HOST; "HOST" = there is such a
                                            host; copied */
    size_t n_snapshot_hosts; /**< entries in snapshot_hosts */
    const char
        *snapshot_source; /**< the host of the domains that no entry of snapshot_hosts gives to another one; NULL =
                                    one called "source"; copied */
};

/** Begins a struct kvmig_cluster_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_CLUSTER_OPTS_INIT KVMIG_OPTS_INIT(kvmig_cluster_opts)

/**
 * The same at run time, for languages that cannot use the macro: zeroes size bytes at opts and sets opts->size to size,
 * which is what the caller takes the size of the struct to be. Returns 0. Threads: any. Errors: -EINVAL (opts is NULL, or size
 * has no room for the member size). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_opts_init(struct kvmig_cluster_opts *opts, size_t size);

/** The view of a cluster: an opaque handle, counted. Since: 0.1.0 */
struct kvmig_cluster;

/**
 * Opens a view. Returns at once; KVMIG_EVENT_CLUSTER_SYNCED arrives when every host was read or is known to
 * be unreachable. *out_cluster is owned: kvmig_cluster_unref(). opts->on_event is taken, also on failure.
 * Threads: any. Errors: -EINVAL (names the option), -E2BIG. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_open(struct kvmig_context *context, const struct kvmig_cluster_opts *opts,
                                     struct kvmig_cluster **out_cluster);

/** One more owner. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_cluster *kvmig_cluster_ref(struct kvmig_cluster *cluster);
/**
 * One owner less; NULL is ignored. Sessions keep the view that they need. Its events stop with the last owner.
 * Never blocks. Threads: any. Since: 0.1.0
 */
KVMIG_API void kvmig_cluster_unref(struct kvmig_cluster *cluster);

/**
 * Reads every host again, now; KVMIG_EVENT_CLUSTER_SYNCED follows. Threads: any. Errors: -EINVAL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_refresh(struct kvmig_cluster *cluster);

/** 1 if every host was read once or is known to be unreachable, else 0. Threads: any. Errors: -EINVAL for NULL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_cluster_is_synced(struct kvmig_cluster *cluster);

/**
 * The whole view as JSON: hosts with versions, CPU, memory, machine types, networks, pools and jobs, and
 * their domains. *out_json is owned by the caller, who frees it with free(). Returns 0.
 * Threads: any. Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_to_json(struct kvmig_cluster *cluster, char **out_json);

#ifdef __cplusplus
}
#endif
#endif
