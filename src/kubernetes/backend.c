/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The Kubernetes half of a cluster view: its life, who follows the store, and who is told when it changed. Does not read objects
 * (backend_kinds.c, src/files) nor make hosts of nodes (backend_hosts.c). In dispatch or a public call, with the context
 * lock held. The cluster view owns the backend; the backend owns client, reflectors and store.
 */
#include "kubernetes/backend_internal.h"

#include <stdlib.h>
#include <string.h>

#define REPORT_MS 50 /* changes come in bunches; the view of the hosts is made once for each bunch */
#define REPORT_SHARE                                                                                                   \
    20 /* ... and in a large cluster seldom enough to take no more than one part in so many of the time */
#define DEFAULT_PAGE 500
#define DEFAULT_REQUEST_MS 30000
#define DEFAULT_IDLE_MS 300000
#define PATIENCE_MS 20000

/* ---- telling ---- */

static bool is_in_step(const struct kvmig__kube_backend *backend)
{
    if (!backend->client)
        return backend->loaded;
    for (size_t i = 0; i < backend->sources.n; i++)
        if (!backend->sources.v[i]->pod && backend->sources.v[i]->state == KVMIG__REFLECTOR_STARTING)
            return false;
    return true;
}

static void on_report(void *data)
{
    struct kvmig__kube_backend *backend = data;
    struct kvmig_cluster *cluster = backend->cluster;

    int64_t begun_ms;

    backend->dirty = false; /* what is not in step yet will tell of a change */
    if (!is_in_step(backend))
        return;
    backend->hosts_told = true;
    kvmig__cluster_hold(cluster);
    begun_ms = kvmig__now_ms();
    kvmig__kube_hosts_report(backend);
    backend->next_report_ms = kvmig__now_ms() + REPORT_SHARE * (kvmig__now_ms() - begun_ms);
    kvmig__cluster_release(cluster);
}

static void on_told(void *data)
{
    struct kvmig__kube_backend *backend = data;
    struct kvmig_cluster *cluster = backend->cluster;
    struct kvmig__kube_watcher *watcher = backend->watchers;

    kvmig__cluster_hold(cluster); /* a watcher may let go of the view */
    if (backend->client)
        kvmig__kube_sources_follow_pods(backend);
    while (watcher) {
        struct kvmig__kube_watcher *next = watcher->next;

        watcher->changed(watcher->owner);
        watcher = next;
    }
    kvmig__cluster_release(cluster);
}

void kvmig__kube_hosts_changed(struct kvmig__kube_backend *backend)
{
    const int64_t soon_ms = kvmig__now_ms() + REPORT_MS;

    if (!backend->dirty)
        kvmig__timer_arm(&backend->report, soon_ms > backend->next_report_ms ? soon_ms : backend->next_report_ms);
    backend->dirty = true;
}

void kvmig__kube_changed(struct kvmig__kube_backend *backend)
{
    kvmig__timer_arm_in(&backend->told, 0);
}

void kvmig__kube_removed(struct kvmig__kube_backend *backend, const struct kvmig__kube_meta *last)
{
    struct kvmig__kube_watcher *watcher = backend->watchers;

    while (watcher) {
        struct kvmig__kube_watcher *next = watcher->next;

        if (watcher->gone)
            watcher->gone(watcher->owner, last);
        watcher = next;
    }
}

void kvmig__kube_notice(struct kvmig__kube_backend *backend, const struct kvmig_finding *finding)
{
    struct kvmig_event *event = kvmig__event_new(KVMIG_EVENT_VIEW_NOTICE);

    kvmig__event_set_host(event, finding->host);
    kvmig__event_set_finding(event, finding);
    kvmig__cluster_emit(backend->cluster, event);
}

void kvmig__kube_watch(struct kvmig__kube_backend *backend, struct kvmig__kube_watcher *watcher)
{
    watcher->next = backend->watchers;
    backend->watchers = watcher;
}

/* A watcher that is told may take itself out, but no other one. */
void kvmig__kube_unwatch(struct kvmig__kube_backend *backend, struct kvmig__kube_watcher *watcher)
{
    struct kvmig__kube_watcher **link = &backend->watchers;

    while (*link && *link != watcher)
        link = &(*link)->next;
    if (*link)
        *link = watcher->next;
}

/* ---- what is asked of it ---- */

struct kvmig_context *kvmig__kube_backend_context(const struct kvmig__kube_backend *backend)
{
    return backend->context;
}

const struct kvmig__kube *kvmig__kube_backend_store(const struct kvmig__kube_backend *backend)
{
    return &backend->store;
}

struct kvmig__client *kvmig__kube_backend_client(struct kvmig__kube_backend *backend)
{
    return backend->client;
}

bool kvmig__kube_backend_synced(const struct kvmig__kube_backend *backend)
{
    return is_in_step(backend) && backend->hosts_told;
}

const struct kvmig_error *kvmig__kube_backend_lost(const struct kvmig__kube_backend *backend, int32_t kind)
{
    for (size_t i = 0; i < backend->sources.n; i++)
        if (backend->sources.v[i]->kind == kind && backend->sources.v[i]->state == KVMIG__REFLECTOR_LOST)
            return backend->sources.v[i]->error;
    return NULL;
}

/* ---- life ---- */

static struct kvmig__kube_backend *backend_new(struct kvmig_cluster *cluster)
{
    struct kvmig__kube_backend *backend = kvmig__calloc(1, sizeof(*backend));

    backend->cluster = cluster;
    backend->context = kvmig__cluster_context(cluster);
    kvmig__timer_init(&backend->report, backend->context, on_report, backend);
    kvmig__timer_init(&backend->told, backend->context, on_told, backend);
    return backend;
}

/* "NAMESPACE/NAME", or a name in the namespace of the options. */
static void take_scope(struct kvmig__kube_backend *backend, const struct kvmig_kube_opts *opts)
{
    const char *slash = opts->vm ? strchr(opts->vm, '/') : NULL;

    backend->ns = slash ? kvmig__strndup(opts->vm, (size_t)(slash - opts->vm)) : kvmig__strdup(opts->namespace_);
    backend->vm = kvmig__strdup(slash ? slash + 1 : opts->vm);
    backend->store.scoped = backend->ns || backend->vm;
    backend->store.keeps_lookup = true;
}

struct kvmig__kube_backend *kvmig__kube_backend_new(struct kvmig_cluster *cluster, struct kvmig__access_source *source,
                                                    const struct kvmig_kube_opts *opts)
{
    struct kvmig__kube_backend *backend = backend_new(cluster);
    const struct kvmig__client_opts client_opts = {
        .request_timeout_ms = opts->request_timeout_ms ? opts->request_timeout_ms : DEFAULT_REQUEST_MS,
        .idle_timeout_ms = opts->watch_idle_ms ? opts->watch_idle_ms : DEFAULT_IDLE_MS,
    };

    take_scope(backend, opts);
    backend->page_size = opts->page_size ? opts->page_size : DEFAULT_PAGE;
    backend->patience_ms = client_opts.request_timeout_ms < PATIENCE_MS ? client_opts.request_timeout_ms : PATIENCE_MS;
    backend->client = kvmig__client_new(backend->context, source, &client_opts);
    kvmig__access_source_unref(source);
    kvmig__kube_sources_open(backend);
    return backend;
}

struct kvmig__kube_backend *kvmig__kube_backend_new_snapshot(struct kvmig_cluster *cluster)
{
    return backend_new(cluster);
}

void kvmig__kube_backend_wait(struct kvmig__kube_backend *backend)
{
    backend->loaded = false;
}

void kvmig__kube_backend_take(struct kvmig__kube_backend *backend, struct kvmig__kube *store)
{
    backend->loaded = true;
    if (store) {
        kvmig__kube_clear(&backend->store);
        backend->store = *store;
        backend->store.keeps_lookup = true;
        *store = (struct kvmig__kube){ .now_ms = 0 };
    }
    kvmig__kube_changed(backend);
    backend->dirty = true;
    kvmig__timer_arm_in(&backend->report, 0);
}

void kvmig__kube_backend_free(struct kvmig__kube_backend *backend)
{
    if (!backend)
        return;
    kvmig__timer_disarm(&backend->report);
    kvmig__timer_disarm(&backend->told);
    kvmig__kube_sources_close(backend);
    kvmig__client_free(backend->client);
    kvmig__kube_clear(&backend->store);
    free(backend->hosts.v); /* the hosts themselves are closed by the view */
    free(backend->ns);
    free(backend->vm);
    free(backend);
}
