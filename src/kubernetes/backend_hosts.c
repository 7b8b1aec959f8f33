/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Nodes as hosts of the cluster view, with the VMIs that run on them as domains: made anew from the store some time after it
 * changed. Answers where a VMI is from the store, and makes drivers for sessions. Does not act on a node: KubeVirt's own agents do.
 * In dispatch or a public call, with the context lock held. The view owns the hosts and closes them.
 */
#include "cluster/kube_places.h"
#include "kubernetes/backend_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list, by name ---- */

/* Where the node is, or would be. */
static size_t place_of(const struct kvmig__kube_backend *backend, const char *node)
{
    size_t low = 0, high = backend->hosts.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(backend->hosts.v[middle]->node, node) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- what the view asks of a host ---- */

static void host_refresh(struct kvmig__host_backend *base)
{
    struct kvmig__kube_host *host = (struct kvmig__kube_host *)base;

    host->backend->dirty = true;
    kvmig__timer_arm_in(&host->backend->report, 0);
}

static void host_close(struct kvmig__host_backend *base)
{
    struct kvmig__kube_host *host = (struct kvmig__kube_host *)base;
    struct kvmig__kube_backend *backend = host->backend;

    size_t at = place_of(backend, host->node);

    backend->hosts.n--;
    memmove(&backend->hosts.v[at], &backend->hosts.v[at + 1], (backend->hosts.n - at) * sizeof(*backend->hosts.v));
    free(host->node);
    free(host);
}

static void read_vmi(const struct kvmig__kube_host *host, const char *vm, struct kvmig__side *side)
{
    const struct kvmig__kube *kube = &host->backend->store;
    const struct kvmig_error *lost = kvmig__kube_backend_lost(host->backend, KVMIG__KUBE_VMI);
    bool ambiguous;
    const struct kvmig__kube_vmi *vmi = kvmig__kube_vmi(kube, vm, &ambiguous);

    *side = (struct kvmig__side){ .state = KVMIG__STATE_ABSENT, .reason = KVMIG__REASON_OTHER };
    side->reachable = !lost && !ambiguous && kvmig__kube_is_known(kube, KVMIG__KUBE_VMI);
    if (!side->reachable)
        side->error = kvmig__strdup(lost        ? kvmig_error_message(lost)
                                    : ambiguous ? "VMs of several namespaces have this name"
                                                : "VMIs cannot be read");
    if (!side->reachable || !vmi || !kvmig__str_eq(vmi->node, host->node) || kvmig__str_eq(vmi->phase, "Failed") ||
        kvmig__str_eq(vmi->phase, "Succeeded"))
        return;
    side->uuid = kvmig__strdup(vmi->meta.uid);
    side->state =
        kvmig__kube_condition_is(&vmi->conditions, "Paused", "True") ? KVMIG__STATE_PAUSED : KVMIG__STATE_RUNNING;
    side->reason = side->state == KVMIG__STATE_PAUSED ? KVMIG__REASON_USER : KVMIG__REASON_OTHER;
    side->job_active = vmi->migration.present && !vmi->migration.completed && vmi->migration.start_ms;
}

static void host_read_side(struct kvmig__host_backend *base, const char *vm, int64_t timeout_ms, kvmig__side_fn fn,
                           void *owner)
{
    struct kvmig__kube_host *host = (struct kvmig__kube_host *)base;
    struct kvmig__side side;

    (void)timeout_ms;
    read_vmi(host, vm, &side);
    kvmig__reply_side(host->backend->context, &side, fn, owner);
}

static void host_act(struct kvmig__host_backend *base, const char *vm, int32_t action, int64_t timeout_ms,
                     kvmig__act_fn fn, void *owner)
{
    struct kvmig__kube_host *host = (struct kvmig__kube_host *)base;
    struct kvmig_error *error = kvmig__error_new(
        ENOTSUP, host->node, vm, "KubeVirt's own agents start and stop guests: delete the VMI, or use virtctl.",
        "%s is nothing that a client may do on a node of a KubeVirt cluster", kvmig_location_action_name(action));

    (void)timeout_ms;
    kvmig__reply_act(host->backend->context, error, fn, owner);
}

static const struct kvmig__host_backend_ops ops = {
    .refresh = host_refresh,
    .close = host_close,
    .read_side = host_read_side,
    .act = host_act, /* no driver_new: a migration is made with the cluster, not with a node */
};

/* ---- nodes to hosts ---- */

static struct kvmig__kube_host *find_host(const struct kvmig__kube_backend *backend, const char *node)
{
    size_t at = place_of(backend, node);

    return at < backend->hosts.n && kvmig__str_eq(backend->hosts.v[at]->node, node) ? backend->hosts.v[at] : NULL;
}

static struct kvmig__kube_host *add_host(struct kvmig__kube_backend *backend, const char *node)
{
    struct kvmig__kube_host *host = kvmig__calloc(1, sizeof(*host));
    char *uri = kvmig__asprintf("kube://%s", node);
    size_t at = place_of(backend, node);

    host->base.ops = &ops;
    host->backend = backend;
    host->node = kvmig__strdup(node);
    host->host = kvmig__cluster_host_new(backend->cluster, uri);
    host->host->backend = &host->base;
    (void)KVMIG__PUSH(&backend->hosts);
    memmove(&backend->hosts.v[at + 1], &backend->hosts.v[at], (backend->hosts.n - 1 - at) * sizeof(*backend->hosts.v));
    backend->hosts.v[at] = host;
    free(uri);
    return host;
}

/* A node that is not Ready is there, but its facts may be old: the planner has findings for that; the host is not lost. */
static void report_node(struct kvmig__kube_backend *backend, const struct kvmig__kube_places *places,
                        const struct kvmig__kube_node *node)
{
    struct kvmig__kube_host *host = find_host(backend, node->meta.name);
    const struct kvmig_error *lost = kvmig__kube_backend_lost(backend, KVMIG__KUBE_NODE);

    if (!lost)
        lost = kvmig__kube_backend_lost(backend, KVMIG__KUBE_VMI);
    if (!host)
        host = add_host(backend, node->meta.name);
    else if (host->vanished)
        kvmig__cluster_host_restore(host->host);
    host->vanished = false;
    host->wanted = true;
    kvmig__cluster_host_begin(host->host);
    if (lost)
        kvmig__cluster_host_lost(host->host, kvmig__error_copy(lost));
    else
        kvmig__cluster_host_facts(host->host, kvmig__places_host(places, node));
}

/* Nodes that nobody told of, but on which VMIs run: without the right to read nodes these are all that is known. */
static void report_unseen(struct kvmig__kube_backend *backend, const struct kvmig__kube_places *places)
{
    KVMIG__KUBE_EACH(&backend->store, VMI, vmi)
    {
        struct kvmig__kube_node node = { .meta = { .kind = KVMIG__KUBE_NODE, .name = vmi->node } };

        if (vmi->node && !KVMIG__KUBE_FIND(&backend->store, NODE, NULL, vmi->node))
            report_node(backend, places, &node);
    }
}

static void drop_vanished(struct kvmig__kube_backend *backend)
{
    for (size_t i = 0; i < backend->hosts.n; i++) {
        struct kvmig__kube_host *host = backend->hosts.v[i];

        if (!host->wanted && !host->vanished) {
            host->vanished = true;
            kvmig__cluster_host_remove(host->host);
        }
        host->wanted = false;
    }
}

/* The caller holds the view. */
void kvmig__kube_hosts_report(struct kvmig__kube_backend *backend)
{
    struct kvmig__kube_places places;

    kvmig__cluster_batch_begin(backend->cluster);
    kvmig__places_init(&places, &backend->store);
    KVMIG__KUBE_EACH(&backend->store, NODE, node)
    {
        report_node(backend, &places, node);
    }
    report_unseen(backend, &places);
    kvmig__places_clear(&places);
    kvmig__cluster_batch_end(backend->cluster);
    drop_vanished(backend);
    kvmig__cluster_check_sync(backend->cluster);
}
