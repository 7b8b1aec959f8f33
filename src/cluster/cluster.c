/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cluster view: making it, its owners and holds, and what a caller asks of it as a whole. Does not: read hosts (their
 * backends do, on lanes), judge what they report (cluster_hosts.c), count slots (cluster_slots.c). Public calls come from any
 * thread and take the context lock; the rest needs it. The view owns its hosts; each host owns its backend.
 */
#include "cluster/cluster_private.h"
#include "files/file_view.h"
#include "kubernetes/backend.h"
#include "kubernetes/objects.h"
#include "libvirt/libvirt_internal.h"
#include <kvmig/kube.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define DEFAULT_REFRESH_MS 5000
#define DEFAULT_CALL_TIMEOUT_MS 10000
/* As KubeVirt: parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode. */
#define DEFAULT_MAX_MIGRATIONS 5
#define DEFAULT_MAX_PER_HOST 2

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
    return value ? value : fallback;
}

/* ---- options ---- */

int32_t kvmig_cluster_opts_init(struct kvmig_cluster_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_cluster_opts_init");
}

static int32_t bad_option(const char *option, size_t index, const char *value, const char *what, const char *hint)
{
    char *where = kvmig__asprintf("kvmig_cluster_open: %s[%zu]", option, index);
    int32_t rc = kvmig__fail(kvmig__error_new(-EINVAL, where, value, hint, "%s[%zu] %s", option, index, what));

    free(where);
    return rc;
}

/* One list of strings of the options: none NULL or empty, none twice. */
static int32_t check_strings(const char *option, const char *const *v, size_t n)
{
    if (n && !v)
        return kvmig__fail(kvmig__error_new(-EINVAL, "kvmig_cluster_open", NULL,
                                            "set the pointer and the number together, or neither",
                                            "%s is NULL, but n_%s is %zu", option, option, n));
    for (size_t i = 0; i < n; i++) {
        if (!v[i] || !*v[i])
            return bad_option(option, i, NULL, v[i] ? "is empty" : "is NULL", "leave it out");
        for (size_t k = 0; k < i; k++)
            if (kvmig__str_eq(v[i], v[k]))
                return bad_option(option, i, v[i], "is there twice", "name each one once");
    }
    return 0;
}

static int32_t check_opts(const struct kvmig_cluster_opts *opts)
{
    int32_t rc;

    if (opts->reserved)
        return kvmig__fail(kvmig__error_new(-EINVAL, "kvmig_cluster_open: reserved", NULL,
                                            "Initialise the options with KVMIG_CLUSTER_OPTS_INIT.",
                                            "the reserved member of the options is not 0"));
    rc = check_strings("libvirt_uris", opts->libvirt_uris, opts->n_libvirt_uris);
    if (!rc)
        rc = check_strings("shared_paths", opts->shared_paths, opts->n_shared_paths);
    if (!rc)
        rc = check_strings("snapshot_paths", opts->snapshot_paths, opts->n_snapshot_paths);
    if (!rc)
        rc = check_strings("snapshot_hosts", opts->snapshot_hosts, opts->n_snapshot_hosts);
    for (size_t i = 0; !rc && i < opts->n_snapshot_hosts; i++)
        if (opts->snapshot_hosts[i][0] == '=' || kvmig__str_ends(opts->snapshot_hosts[i], "="))
            rc = bad_option("snapshot_hosts", i, opts->snapshot_hosts[i], "names no host or no file",
                            "write HOST=FILE, or HOST alone");
    if (!rc && opts->kube && opts->n_snapshot_paths)
        rc = kvmig__fail(kvmig__error_new(-EINVAL, "kvmig_cluster_open: snapshot_paths", opts->snapshot_paths[0],
                                          "Open two views: one of the cluster, one of the files.",
                                          "a view is either of a live cluster or of files"));
    for (size_t i = 0; !rc && i < opts->n_shared_paths; i++)
        if (opts->shared_paths[i][0] != '/')
            rc = bad_option("shared_paths", i, opts->shared_paths[i], "is not an absolute path",
                            "name the folder as the hosts' domain XML does, from the root on");
    return rc;
}

/* The callback belongs to the call also if the options are refused; a struct that is too short has none. */
static struct kvmig_event_callback callback_of(const struct kvmig_cluster_opts *opts)
{
    const size_t end = offsetof(struct kvmig_cluster_opts, on_event) + sizeof(opts->on_event);

    return opts && opts->size >= end ? opts->on_event : (struct kvmig_event_callback){ NULL, NULL, NULL };
}

/* ---- birth and death ---- */

static void on_sync_timer(void *data)
{
    kvmig__cluster_check_sync(data);
}

static struct kvmig_cluster *cluster_new(struct kvmig_context *context, const struct kvmig_cluster_opts *opts)
{
    struct kvmig_cluster *cluster = kvmig__calloc(1, sizeof(*cluster));

    cluster->context = context;
    cluster->owners = 1;
    kvmig__context_own(context);
    kvmig__context_hold(context);
    cluster->refresh_ms = or_default(opts->refresh_ms, DEFAULT_REFRESH_MS);
    cluster->call_timeout_ms = or_default(opts->call_timeout_ms, DEFAULT_CALL_TIMEOUT_MS);
    /* KubeVirt counts for itself, and its queue is where a migration waits. */
    kvmig__limits_init(&cluster->limits,
                       or_default(opts->max_migrations, opts->kube ? KVMIG_UNLIMITED : DEFAULT_MAX_MIGRATIONS),
                       or_default(opts->max_outbound, opts->kube ? KVMIG_UNLIMITED : DEFAULT_MAX_PER_HOST),
                       or_default(opts->max_inbound, opts->kube ? KVMIG_UNLIMITED : DEFAULT_MAX_PER_HOST));
    for (size_t i = 0; i < opts->n_shared_paths; i++)
        kvmig__strlist_add(&cluster->view.shared_paths, opts->shared_paths[i]);
    kvmig__timer_init(&cluster->sync_timer, context, on_sync_timer, cluster);
    cluster->sync_wanted = true;
    return cluster;
}

/* Nobody refers to it any more. */
static void cluster_free(struct kvmig_cluster *cluster)
{
    struct kvmig_context *context = cluster->context;

    kvmig__timer_disarm(&cluster->sync_timer);
    kvmig__file_view_close(cluster->files);
    kvmig__cluster_drop_hosts(cluster);
    kvmig__file_view_free(cluster->files);
    kvmig__kube_backend_free(cluster->kube);
    kvmig__cluster_drop_guests(cluster);
    kvmig__learned_clear(&cluster->learned);
    kvmig__queries_clear(&cluster->queries);
    kvmig__strlist_clear(&cluster->view.shared_paths);
    free(cluster);
    kvmig__context_release(context);
}

static void add_hosts(struct kvmig_cluster *cluster, const struct kvmig_cluster_opts *opts)
{
    for (size_t i = 0; i < opts->n_libvirt_uris; i++) {
        struct kvmig__cluster_host *host =
            kvmig__cluster_host_add(cluster, opts->libvirt_uris[i], "kvmig_cluster_open");

        host->backend =
            kvmig__virt_host_new(host, opts->libvirt_uris[i], NULL, cluster->refresh_ms, cluster->call_timeout_ms);
    }
}

static struct kvmig__file_view *open_files(struct kvmig_cluster *cluster, const struct kvmig_cluster_opts *opts)
{
    struct kvmig__files_ask ask = { .source = kvmig__strdup(opts->snapshot_source) };

    for (size_t i = 0; i < opts->n_snapshot_paths; i++)
        kvmig__strlist_add(&ask.paths, opts->snapshot_paths[i]);
    for (size_t i = 0; i < opts->n_snapshot_hosts; i++)
        kvmig__strlist_add(&ask.hosts, opts->snapshot_hosts[i]);
    return kvmig__file_view_open(cluster, cluster->kube, &ask);
}

/* source is that of opts->kube, taken; NULL = none. */
static void add_kube(struct kvmig_cluster *cluster, const struct kvmig_cluster_opts *opts,
                     struct kvmig__access_source *source)
{
    struct kvmig_kube_opts kube;

    if (source) {
        kvmig__opts_copy(&kube, sizeof(kube), opts->kube, "kvmig_cluster_open: kube");
        cluster->kube = kvmig__kube_backend_new(cluster, source, &kube);
    } else if (opts->n_snapshot_paths) {
        cluster->kube = kvmig__kube_backend_new_snapshot(cluster);
        cluster->files = open_files(cluster, opts);
    }
    if (cluster->kube)
        cluster->view.kube = kvmig__kube_backend_store(cluster->kube);
}

int32_t kvmig_cluster_open(struct kvmig_context *context, const struct kvmig_cluster_opts *opts,
                           struct kvmig_cluster **out_cluster)
{
    const struct kvmig_event_callback callback = callback_of(opts);
    struct kvmig__access_source *source = NULL;
    struct kvmig_cluster_opts own;
    int32_t rc;

    if (out_cluster)
        *out_cluster = NULL;
    if (!context || !out_cluster)
        rc = kvmig__fail(kvmig__error_new(-EINVAL, "kvmig_cluster_open", NULL, NULL, "%s is NULL",
                                          context ? "out_cluster" : "context"));
    else
        rc = kvmig__opts_copy(&own, sizeof(own), opts, "kvmig_cluster_open");
    if (!rc)
        rc = check_opts(&own);
    if (!rc && own.kube)
        rc = kvmig__access_source_new(own.kube, "kvmig_cluster_open: kube", &source);
    if (!rc)
        kvmig__virt_init();

    if (context)
        kvmig__context_lock(context);
    if (rc) {
        kvmig__callback_discard(context, callback.free, callback.user_data);
    } else {
        struct kvmig_cluster *cluster = cluster_new(context, &own);

        cluster->sink = kvmig__sink_new(context, callback);
        add_hosts(cluster, &own);
        add_kube(cluster, &own, source);
        kvmig__timer_arm_in(&cluster->sync_timer, 0);
        *out_cluster = cluster;
    }
    if (context)
        kvmig__context_unlock(context);
    return rc;
}

struct kvmig_cluster *kvmig_cluster_ref(struct kvmig_cluster *cluster)
{
    if (!cluster)
        return NULL;
    kvmig__context_lock(cluster->context);
    cluster->owners++;
    kvmig__context_unlock(cluster->context);
    return cluster;
}

void kvmig_cluster_unref(struct kvmig_cluster *cluster)
{
    struct kvmig_context *context;

    if (!cluster)
        return;
    context = cluster->context;
    kvmig__context_lock(context);
    if (--cluster->owners == 0) {
        kvmig__sink_retire(cluster->sink, true);
        cluster->sink = NULL;
        if (!cluster->holds)
            cluster_free(cluster);
        kvmig__context_disown(context);
    }
    kvmig__context_unlock(context);
}

void kvmig__cluster_hold(struct kvmig_cluster *cluster)
{
    cluster->holds++;
}

void kvmig__cluster_release(struct kvmig_cluster *cluster)
{
    if (--cluster->holds == 0 && !cluster->owners)
        cluster_free(cluster);
}

/* ---- what a caller asks of the whole view ---- */

static int32_t fail_null(const char *where)
{
    return kvmig__fail(kvmig__error_new(-EINVAL, where, NULL, NULL, "cluster is NULL"));
}

int32_t kvmig_cluster_refresh(struct kvmig_cluster *cluster)
{
    if (!cluster)
        return fail_null("kvmig_cluster_refresh");
    kvmig__context_lock(cluster->context);
    kvmig__cluster_read_all(cluster);
    kvmig__context_unlock(cluster->context);
    return 0;
}

int32_t kvmig_cluster_is_synced(struct kvmig_cluster *cluster)
{
    int32_t synced;

    if (!cluster)
        return fail_null("kvmig_cluster_is_synced");
    kvmig__context_lock(cluster->context);
    synced = cluster->synced;
    kvmig__context_unlock(cluster->context);
    return synced;
}

/* A live view's time is that of the moment: waits are judged at it when the snapshot is read. */
static char *save(const struct kvmig__kube *kube)
{
    struct kvmig__kube now = *kube; /* shallow, to be read only */

    if (!now.now_ms)
        now.now_ms = kvmig__wall_ms();
    return kvmig__snapshot_save(&now);
}

int32_t kvmig_cluster_snapshot(struct kvmig_cluster *cluster, char **out_json)
{
    int32_t rc = 0;

    if (out_json)
        *out_json = NULL;
    if (!cluster)
        return fail_null("kvmig_cluster_snapshot");
    if (!out_json)
        return kvmig__fail(kvmig__error_new(-EINVAL, "kvmig_cluster_snapshot", NULL, NULL, "out_json is NULL"));
    kvmig__context_lock(cluster->context);
    if (cluster->view.kube)
        *out_json = save(cluster->view.kube);
    else
        rc = kvmig__fail(
            kvmig__error_new(-ENOTSUP, "kvmig_cluster_snapshot", NULL,
                             "Open the view with a kubeconfig; kvmig_cluster_to_json() tells of libvirt hosts.",
                             "the view has no Kubernetes cluster"));
    kvmig__context_unlock(cluster->context);
    return rc;
}

void kvmig__cluster_set_facts(struct kvmig_cluster *cluster, const struct kvmig__facts *facts, bool kube)
{
    cluster->view.facts = facts;
    cluster->view.kube = kube ? kvmig__kube_backend_store(cluster->kube) : NULL;
}

struct kvmig__kube_backend *kvmig__cluster_kube_backend(const struct kvmig_cluster *cluster)
{
    return cluster->kube;
}

const struct kvmig__view *kvmig__cluster_view(const struct kvmig_cluster *cluster)
{
    return &cluster->view;
}

const struct kvmig__kube *kvmig__cluster_kube(const struct kvmig_cluster *cluster)
{
    return cluster->view.kube;
}

struct kvmig_context *kvmig__cluster_context(struct kvmig_cluster *cluster)
{
    return cluster->context;
}

void kvmig__cluster_timing(const struct kvmig_cluster *cluster, uint32_t *out_refresh_ms, uint32_t *out_call_timeout_ms)
{
    *out_refresh_ms = cluster->refresh_ms;
    *out_call_timeout_ms = cluster->call_timeout_ms;
}

struct kvmig__limits *kvmig__cluster_limits(struct kvmig_cluster *cluster)
{
    return &cluster->limits;
}
