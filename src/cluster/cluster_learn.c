/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a view learns: export and import, and measuring how fast a guest dirties its memory. A measurement is asked of the backend of
 * the host that the VM runs on, which answers once and by its deadline; then the event goes out. Does not: measure (libvirt/measure.c).
 *
 * Public calls come from any thread and take the context lock; answers come in dispatch, with the lock held. A measurement owns itself until
 * it is answered, and holds the cluster.
 */
#include "cluster/cluster_private.h"
#include "cluster/learned_json.h"
#include "plan/locate.h"
#include <kvmig/forecast.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_MS 1000
#define LONGEST_WINDOW_MS 60000 /* libvirt's */
#define DEFAULT_SHORT_MS 1000
#define DEFAULT_LONG_MS 5000
#define MARGIN_MS 20000
#define LONGEST_MS ((uint64_t)3600 * 1000)

struct measuring {
    struct kvmig_cluster *cluster; /* held */
    char *vm, *uuid, *host;
};

static int32_t fail_null(const char *where, const char *what)
{
    return kvmig__fail(kvmig__error_new(EINVAL, where, NULL, NULL, "%s is NULL.", what));
}

/* ---- export and import ---- */

int32_t kvmig_cluster_export_learned(struct kvmig_cluster *cluster, char **out_json)
{
    if (out_json)
        *out_json = NULL;
    if (!cluster || !out_json)
        return fail_null("kvmig_cluster_export_learned", cluster ? "out_json" : "cluster");
    kvmig__context_lock(cluster->context);
    *out_json = kvmig__learned_to_json(&cluster->learned);
    kvmig__context_unlock(cluster->context);
    return 0;
}

int32_t kvmig_cluster_import_learned(struct kvmig_cluster *cluster, const char *json)
{
    int32_t rc;

    if (!cluster || !json)
        return fail_null("kvmig_cluster_import_learned", cluster ? "json" : "cluster");
    kvmig__context_lock(cluster->context);
    rc = kvmig__learned_from_json(&cluster->learned, json, "kvmig_cluster_import_learned");
    kvmig__context_unlock(cluster->context);
    return rc;
}

struct kvmig__learned *kvmig__cluster_learned(struct kvmig_cluster *cluster)
{
    return &cluster->learned;
}

/* ---- measuring ---- */

static void on_measured(void *owner, const struct kvmig__measured *measured, const struct kvmig_error *error)
{
    struct measuring *m = owner;
    struct kvmig_event *event = kvmig__event_new(KVMIG_EVENT_MEASURED);

    if (measured)
        kvmig__learned_measured(&m->cluster->learned, m->uuid, measured->points, measured->n_points, measured->resident,
                                measured->busy);
    kvmig__event_set_host(event, m->host);
    kvmig__event_set_migration(event, NULL, m->vm, KVMIG_PHASE_UNSET);
    kvmig__event_set_error(event, error);
    kvmig__cluster_emit(m->cluster, event);
    kvmig__cluster_release(m->cluster);
    free(m->vm);
    free(m->uuid);
    free(m->host);
    free(m);
}

static int32_t refuse(const char *option, uint64_t ms, const char *hint)
{
    char *where = kvmig__asprintf("kvmig_cluster_measure, option %s", option);
    int32_t rc =
        kvmig__fail(kvmig__error_new(EINVAL, where, NULL, hint, "%s is out of range: %" PRIu64 " ms.", option, ms));

    free(where);
    return rc;
}

static int32_t check_opts(const struct kvmig_measure_opts *opts, struct kvmig__measure *out)
{
    static const char *const names[] = { "short_ms", "long_ms" };

    *out = (struct kvmig__measure){ .window_ms = { opts->short_ms ? opts->short_ms : DEFAULT_SHORT_MS,
                                                   opts->long_ms ? opts->long_ms : DEFAULT_LONG_MS } };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(out->window_ms); i++) {
        if (out->window_ms[i] % SECOND_MS || out->window_ms[i] > LONGEST_WINDOW_MS)
            return refuse(names[i], out->window_ms[i], "Windows are whole seconds, at most 60 s.");
    }
    if (out->window_ms[1] <= out->window_ms[0])
        return refuse("long_ms", out->window_ms[1], "Make long_ms longer than short_ms.");
    if (opts->timeout_ms > LONGEST_MS)
        return refuse("timeout_ms", opts->timeout_ms, "At most an hour; 0 is the default.");
    out->timeout_ms =
        opts->timeout_ms ? (int64_t)opts->timeout_ms : (int64_t)(out->window_ms[0] + out->window_ms[1] + MARGIN_MS);
    return 0;
}

static struct kvmig__cluster_host *host_of(struct kvmig_cluster *cluster, const struct kvmig__host *facts)
{
    for (size_t i = 0; i < cluster->hosts.n; i++) {
        if (cluster->hosts.v[i]->facts == facts)
            return cluster->hosts.v[i];
    }
    return NULL;
}

static int32_t measure_locked(struct kvmig_cluster *cluster, const char *vm, const struct kvmig__measure *what)
{
    const struct kvmig__request request = { .vm = (char *)(uintptr_t)vm };
    struct kvmig__cluster_host *host;
    struct kvmig__located located;
    struct measuring *m;
    int32_t rc = kvmig__cluster_check_synced(cluster, "kvmig_cluster_measure");

    if (rc == 0 && !cluster->view.kube)
        rc = kvmig__locate_vm(&cluster->view, &request, &located);
    if (rc < 0)
        return rc;
    host = cluster->view.kube ? NULL : host_of(cluster, located.source);
    if (!host || !host->backend || !host->backend->ops->measure)
        return kvmig__fail(kvmig__error_new(ENOTSUP, "kvmig_cluster_measure", vm,
                                            "Give dirty rates in kvmig_plan_opts.forecast instead.",
                                            "only guests of libvirt hosts can be measured"));
    m = kvmig__calloc(1, sizeof(*m));
    *m = (struct measuring){ cluster, kvmig__strdup(located.domain->name), kvmig__strdup(located.domain->uuid),
                             kvmig__strdup(located.source->name) };
    kvmig__cluster_hold(cluster);
    host->backend->ops->measure(host->backend, m->uuid, what, on_measured, m);
    return 0;
}

int32_t kvmig_cluster_measure(struct kvmig_cluster *cluster, const char *vm, const struct kvmig_measure_opts *opts)
{
    struct kvmig_measure_opts known;
    struct kvmig__measure what;
    int32_t rc;

    if (!cluster || !vm || !*vm)
        return fail_null("kvmig_cluster_measure", cluster ? "vm" : "cluster");
    rc = kvmig__opts_copy(&known, sizeof(known), opts, "kvmig_cluster_measure");
    if (rc == 0)
        rc = check_opts(&known, &what);
    if (rc < 0)
        return rc;
    kvmig__context_lock(cluster->context);
    rc = measure_locked(cluster, vm, &what);
    kvmig__context_unlock(cluster->context);
    return rc;
}
