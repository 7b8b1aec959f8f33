/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file kube.h
 * How to reach a Kubernetes cluster with KubeVirt, as a part of the options of kvmig_cluster_open(), and the cluster view as
 * a snapshot: loaded from what `kubectl get ... -o json|yaml` prints, and saved as such.
 */
#ifndef KVMIG_KUBE_H
#define KVMIG_KUBE_H

#include <kvmig/cluster.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Gives a bearer token whenever one is needed: before the first request, and again when the server refused the last one. Since: 0.1.0 */
struct kvmig_token_callback {
    /**
     * Returns a token that the library frees with free(), or NULL if there is none now. Runs on a thread of the library, so it
     * may block; it must not call the library.
     */
    char *(*fn)(void *user_data);
    void *user_data; /**< handed to fn and free; the library does not look at it */
    void (*free)(void *user_data); /**< runs exactly once, after the last call of fn; may be NULL */
};

/** Switches of struct kvmig_kube_opts. Append-only. Since: 0.1.0 */
enum kvmig_kube_flags {
    KVMIG_KUBE_IN_CLUSTER =
        1 << 0, /**< the service account of the pod that this process runs in; no kubeconfig is read */
    KVMIG_KUBE_INSECURE = 1 << 1, /**< consent: the server's certificate is not verified */
    KVMIG_KUBE_NO_EXEC =
        1 << 2, /**< refuse kubeconfigs whose user needs a credential plugin (a program that would be run) */
};

/**
 * A Kubernetes cluster; zero is the default of every member. With server set nothing is read from a kubeconfig; else members
 * that are set win over what the kubeconfig says. Append-only. Since: 0.1.0
 */
struct kvmig_kube_opts {
    size_t size; /**< set by KVMIG_KUBE_OPTS_INIT */
    const char
        *kubeconfig; /**< path, or several joined by ':' as in KUBECONFIG; NULL = $KUBECONFIG, else ~/.kube/config */
    const char *context; /**< context of the kubeconfig; NULL = its current-context */
    uint64_t flags; /**< enum kvmig_kube_flags */
    const char *server; /**< URL of the API server, for example "https://10.0.0.1:6443" */
    const char *ca_file; /**< PEM file of the server's certificate authority; NULL = the system's */
    const char *client_cert_file; /**< PEM file of our certificate */
    const char *client_key_file; /**< PEM file of its key */
    const char *token; /**< bearer token */
    const char *token_file; /**< file with a bearer token, read again when it changes or is refused */
    const char *tls_server_name; /**< name to expect in the server's certificate; NULL = the host of the URL */
    const char *proxy_url; /**< "http://...", "https://...", "socks5://..."; NULL = none */
    const char *namespace_; /**< only objects of this namespace; NULL = all that the account may read */
    /**
     * Only what concerns this VM ("NAMESPACE/NAME", or NAME in namespace_); NULL = all VMs. What other VMs do, and so the free slots
     * of the cluster, is not seen then.
     */
    const char *vm;
    struct kvmig_token_callback on_token; /**< used instead of token and token_file; fn NULL = not used */
    uint32_t page_size; /**< objects per page of a list; 0 = 500 */
    /**
     * Longest request that is no watch; 0 = 30000. It is also the patience with a silent server: after so long without an answer, but
     * 20 s at most, what it serves counts as lost: the view is told (VIEW_NOTICE with the code API_UNREACHABLE, once until an answer
     * comes), hosts are lost, and CLUSTER_SYNCED does not wait for it any more. A refused connection and credentials that cannot be
     * had are no silence: before the first answer they count at once.
     */
    uint32_t request_timeout_ms;
    uint32_t watch_idle_ms; /**< a watch that is silent for longer is opened anew; 0 = 300000 */
    uint32_t reserved; /**< must be 0 */
};

/** Begins a struct kvmig_kube_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_KUBE_OPTS_INIT KVMIG_OPTS_INIT(kvmig_kube_opts)

/**
 * The same at run time, for languages that cannot use the macro: zeroes size bytes at opts and sets opts->size to size,
 * which is what the caller takes the size of the struct to be. Returns 0. Threads: any. Errors: -EINVAL (opts is NULL, or size
 * has no room for the member size). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_kube_opts_init(struct kvmig_kube_opts *opts, size_t size);

/**
 * The Kubernetes objects of the view as one v1 List, reduced to what the library reads; loading it gives the same view.
 * Secrets, tokens, and the contents of volumes (cloud-init, config maps) are never in it. *out_json is owned by the caller, who
 * frees it with free(). Returns 0. Threads: any. Errors: -EINVAL (NULL), -ENOTSUP (the view has no Kubernetes cluster). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_snapshot(struct kvmig_cluster *cluster, char **out_json);

#ifdef __cplusplus
}
#endif
#endif
