/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The hosts of a view: what their backends report, which events follow, and who waits for a reading. Does not: read anything
 * itself. Everything runs with the context lock held, reports in dispatch.
 *
 * A report may be the end of the view (an answer to a waiter may let go of the last hold), so a report holds the view
 * while it works, and touches nothing after it let go.
 */
#include "cluster/cluster_private.h"
#include "cluster/fingerprint.h"
#include "files/file_view.h"
#include "kubernetes/backend.h"

#include <errno.h>
#include <stdlib.h>

/* ---- the list ---- */

struct kvmig__cluster_host *kvmig__cluster_host_new(struct kvmig_cluster *cluster, const char *uri)
{
    struct kvmig__cluster_host *host = kvmig__calloc(1, sizeof(*host));

    host->cluster = cluster;
    host->thorough = true;
    host->index = cluster->hosts.n;
    host->facts = kvmig__host_new();
    host->facts->name = kvmig__strdup(uri);
    host->facts->uri = kvmig__strdup(uri);
    host->facts->state = KVMIG__HOST_CONNECTING;
    *KVMIG__PUSH(&cluster->hosts) = host;
    *KVMIG__PUSH(&cluster->view.hosts) = host->facts;
    kvmig__batch_named(host);
    cluster->synced = false;
    cluster->sync_wanted = true;
    return host;
}

struct kvmig__cluster_host *kvmig__cluster_host_add(struct kvmig_cluster *cluster, const char *uri, const char *where)
{
    for (size_t i = 0; i < cluster->hosts.n; i++) {
        if (!kvmig__str_eq(cluster->hosts.v[i]->facts->uri, uri))
            continue;
        kvmig__fail(
            kvmig__error_new(-EINVAL, where, uri, "add each host once", "the view has a host with this URI already"));
        return NULL;
    }
    return kvmig__cluster_host_new(cluster, uri);
}

static void drop_host(struct kvmig__cluster_host *host)
{
    if (host->backend)
        host->backend->ops->close(host->backend);
    kvmig__host_free(host->facts);
    free(host);
}

void kvmig__cluster_drop_hosts(struct kvmig_cluster *cluster)
{
    for (size_t i = 0; i < cluster->hosts.n; i++)
        drop_host(cluster->hosts.v[i]);
    for (size_t i = 0; i < cluster->removed.n; i++)
        drop_host(cluster->removed.v[i]);
    free(cluster->hosts.v);
    free(cluster->removed.v);
    free(cluster->view.hosts.v);
    while (cluster->waiters) {
        struct kvmig__waiter *waiter = cluster->waiters;

        cluster->waiters = waiter->next;
        free(waiter);
    }
}

struct kvmig__cluster_host *kvmig__cluster_find_host(struct kvmig_cluster *cluster, const char *name_or_uri)
{
    const struct kvmig__host *facts = kvmig__view_find_host(&cluster->view, name_or_uri);

    for (size_t i = 0; facts && i < cluster->hosts.n; i++)
        if (cluster->hosts.v[i]->facts == facts)
            return cluster->hosts.v[i];
    return NULL;
}

static void answer_all(struct kvmig__cluster_host *host)
{
    for (struct kvmig__waiter *waiter = host->cluster->waiters; waiter; waiter = waiter->next)
        if (waiter->host == host)
            waiter->armed = true;
}

/* It is kept: questions and answers that are out still speak of it, and a node may come back. */
void kvmig__cluster_host_remove(struct kvmig__cluster_host *host)
{
    struct kvmig_cluster *cluster = host->cluster;

    kvmig__cluster_hold(cluster);
    answer_all(host);
    kvmig__cluster_host_lost(host,
                             kvmig__error_new(ENOENT, host->facts->name, NULL, NULL,
                                              "host %s is not a part of the cluster any more", host->facts->name));
    for (size_t i = host->index; i + 1 < cluster->hosts.n; i++) {
        cluster->hosts.v[i] = cluster->hosts.v[i + 1];
        cluster->hosts.v[i]->index = i;
        cluster->view.hosts.v[i] = cluster->view.hosts.v[i + 1];
    }
    cluster->hosts.n--;
    cluster->view.hosts.n--;
    *KVMIG__PUSH(&cluster->removed) = host;
    kvmig__cluster_check_sync(cluster);
    kvmig__cluster_release(cluster);
}

void kvmig__cluster_host_restore(struct kvmig__cluster_host *host)
{
    struct kvmig_cluster *cluster = host->cluster;

    for (size_t i = 0; i < cluster->removed.n; i++)
        if (cluster->removed.v[i] == host)
            cluster->removed.v[i] = cluster->removed.v[--cluster->removed.n];
    host->index = cluster->hosts.n;
    *KVMIG__PUSH(&cluster->hosts) = host;
    *KVMIG__PUSH(&cluster->view.hosts) = host->facts;
    kvmig__batch_named(host);
}

void kvmig__cluster_emit(struct kvmig_cluster *cluster, struct kvmig_event *event)
{
    if (cluster->sink)
        kvmig__sink_emit(cluster->sink, event);
    else
        kvmig_event_unref(event);
}

/* ---- being in step ---- */

bool kvmig__cluster_host_ready(const struct kvmig__cluster_host *host)
{
    return host->settled &&
           (host->facts->state == KVMIG__HOST_LOST || host->asked_round == host->cluster->queries_round);
}

void kvmig__cluster_check_sync(struct kvmig_cluster *cluster)
{
    if (!cluster->sync_wanted)
        return;
    if (cluster->kube && !kvmig__kube_backend_synced(cluster->kube))
        return;
    for (size_t i = 0; i < cluster->hosts.n; i++)
        if (!kvmig__cluster_host_ready(cluster->hosts.v[i]))
            return;
    cluster->sync_wanted = false;
    cluster->synced = true;
    if (cluster->sink)
        kvmig__sink_emit(cluster->sink, kvmig__event_new(KVMIG_EVENT_CLUSTER_SYNCED));
}

void kvmig__cluster_read_all(struct kvmig_cluster *cluster)
{
    cluster->sync_wanted = true;
    if (cluster->files)
        kvmig__file_view_refresh(cluster->files);
    for (size_t i = 0; i < cluster->hosts.n; i++) {
        struct kvmig__cluster_host *host = cluster->hosts.v[i];

        host->settled = false;
        host->begun = false;
        host->thorough = true;
        host->backend->ops->refresh(host->backend);
    }
    kvmig__timer_arm_in(&cluster->sync_timer, 0);
}

struct kvmig__reading kvmig__cluster_host_begin(struct kvmig__cluster_host *host)
{
    struct kvmig_cluster *cluster = host->cluster;
    const struct kvmig__reading reading = { &cluster->queries, host->thorough };

    host->begun = true;
    host->thorough = false;
    host->begun_ms = kvmig__now_ms();
    host->asked_round = cluster->queries_round;
    for (struct kvmig__waiter *waiter = cluster->waiters; waiter; waiter = waiter->next)
        if (waiter->host == host)
            waiter->armed = true;
    return reading;
}

/* ---- what the guests of one host make us ask of all others ---- */

static bool learn_queries(struct kvmig_cluster *cluster)
{
    struct kvmig__queries now = { NULL, 0 };
    bool grown = false;

    for (size_t i = 0; i < cluster->hosts.n; i++)
        kvmig__queries_add_domains(&now, cluster->hosts.v[i]->facts);
    for (size_t i = 0; i < now.n; i++)
        grown |= !kvmig__queries_has(&cluster->queries, &now.v[i]);
    kvmig__queries_clear(&cluster->queries);
    cluster->queries = now;
    cluster->queries_round += grown;
    return grown;
}

static void ask_those_behind(struct kvmig_cluster *cluster)
{
    for (size_t i = 0; i < cluster->hosts.n; i++) {
        struct kvmig__cluster_host *host = cluster->hosts.v[i];

        if (host->facts->state != KVMIG__HOST_UP || host->asked_round == cluster->queries_round ||
            host->wanted_round == cluster->queries_round)
            continue;
        host->wanted_round = cluster->queries_round;
        host->backend->ops->refresh(host->backend);
    }
}

/* ---- reports ---- */

static bool has_other(const struct kvmig__cluster_host *host, const char *name)
{
    const struct kvmig_cluster *cluster = host->cluster;

    if (cluster->batch)
        return kvmig__batch_has_other(host, name);
    for (size_t i = 0; i < cluster->hosts.n; i++)
        if (cluster->hosts.v[i] != host && kvmig__str_eq(cluster->hosts.v[i]->facts->name, name))
            return true;
    return false;
}

/* The host's own name, unless another host of the view has it: then the URI. */
static void choose_name(const struct kvmig__cluster_host *host, struct kvmig__host *facts)
{
    if (!facts->name || !*facts->name || has_other(host, facts->name))
        kvmig__str_set(&facts->name, host->facts->uri);
}

static void emit(struct kvmig__cluster_host *host, int32_t type)
{
    struct kvmig_event *event;

    if (!host->cluster->sink)
        return;
    event = kvmig__event_new(type);
    kvmig__event_set_host(event, host->facts->name);
    kvmig__event_set_error(event, type == KVMIG_EVENT_HOST_LOST ? host->facts->lost_error : NULL);
    kvmig__sink_emit(host->cluster->sink, event);
}

static struct kvmig__waiter *take_armed_waiter(struct kvmig__cluster_host *host)
{
    for (struct kvmig__waiter **link = &host->cluster->waiters; *link; link = &(*link)->next) {
        struct kvmig__waiter *waiter = *link;

        if (waiter->host != host || !waiter->armed)
            continue;
        *link = waiter->next;
        return waiter;
    }
    return NULL;
}

/* The last part of every report: whoever waits for this host hears of it, and all that hangs on it is judged anew. */
static void reported(struct kvmig__cluster_host *host)
{
    struct kvmig_cluster *cluster = host->cluster;
    struct kvmig__waiter *waiter;

    if (host->begun)
        host->settled = true;
    while ((waiter = take_armed_waiter(host))) {
        waiter->fn(waiter->owner);
        free(waiter);
    }
    if (cluster->batch)
        return;
    kvmig__cluster_settle_slots(cluster);
    ask_those_behind(cluster);
    kvmig__cluster_check_sync(cluster);
}

void kvmig__cluster_batch_reported(struct kvmig_cluster *cluster)
{
    const bool grown = learn_queries(cluster);

    for (size_t i = 0; i < cluster->hosts.n; i++) {
        struct kvmig__cluster_host *host = cluster->hosts.v[i];

        if (grown && host->batched)
            host->asked_round = cluster->queries_round;
        host->batched = false;
    }
    kvmig__cluster_settle_slots(cluster);
    ask_those_behind(cluster);
    kvmig__cluster_check_sync(cluster);
}

/* What is new comes from this host's own guests, about which it has just been asked. */
static void learn(struct kvmig__cluster_host *host)
{
    struct kvmig_cluster *cluster = host->cluster;
    const uint64_t before = cluster->queries_round;

    host->batched = cluster->batch;
    if (!cluster->batch && learn_queries(cluster) && host->asked_round == before)
        host->asked_round++;
}

void kvmig__cluster_host_facts(struct kvmig__cluster_host *host, struct kvmig__host *facts)
{
    struct kvmig_cluster *cluster = host->cluster;
    struct kvmig__host *old = host->facts;
    const bool was_up = old->state == KVMIG__HOST_UP, first = host->facts_ms == 0;
    uint64_t before;

    kvmig__cluster_hold(cluster);
    choose_name(host, facts);
    kvmig__str_set(&facts->uri, old->uri);
    facts->state = KVMIG__HOST_UP;
    old->state = KVMIG__HOST_UP; /* being lost and found is told by events of its own */
    before = kvmig__host_fingerprint(old);
    host->facts = facts;
    cluster->view.hosts.v[host->index] = facts;
    kvmig__batch_named(host);
    kvmig__host_free(old);
    host->facts_ms = host->begun_ms;

    if (!was_up)
        emit(host, KVMIG_EVENT_HOST_FOUND);
    if (!first && before != kvmig__host_fingerprint(facts))
        emit(host, KVMIG_EVENT_CLUSTER_CHANGED);
    learn(host);
    reported(host);
    kvmig__cluster_release(cluster);
}

void kvmig__cluster_host_still(struct kvmig__cluster_host *host)
{
    struct kvmig_cluster *cluster = host->cluster;

    kvmig__cluster_hold(cluster);
    kvmig__cluster_host_begin(host);
    reported(host);
    kvmig__cluster_release(cluster);
}

void kvmig__cluster_host_lost(struct kvmig__cluster_host *host, struct kvmig_error *error)
{
    struct kvmig_cluster *cluster = host->cluster;
    struct kvmig__host *facts = host->facts;
    const bool was_lost = facts->state == KVMIG__HOST_LOST;

    kvmig__cluster_hold(cluster);
    facts->state = KVMIG__HOST_LOST;
    kvmig__error_free(facts->lost_error);
    facts->lost_error = error;
    host->thorough = true; /* whoever comes back may have changed */
    if (!was_lost)
        emit(host, KVMIG_EVENT_HOST_LOST);
    reported(host);
    kvmig__cluster_release(cluster);
}

/* ---- waiting for one host ---- */

void kvmig__cluster_refresh_host(struct kvmig__cluster_host *host, void (*fn)(void *owner), void *owner)
{
    struct kvmig__waiter *waiter = kvmig__calloc(1, sizeof(*waiter)), **end = &host->cluster->waiters;

    *waiter = (struct kvmig__waiter){ .host = host, .fn = fn, .owner = owner };
    while (*end)
        end = &(*end)->next;
    *end = waiter;
    host->thorough = true;
    host->backend->ops->refresh(host->backend);
}

void kvmig__cluster_refresh_forget(struct kvmig_cluster *cluster, void *owner)
{
    for (struct kvmig__waiter **link = &cluster->waiters; *link;) {
        struct kvmig__waiter *waiter = *link;

        if (waiter->owner == owner) {
            *link = waiter->next;
            free(waiter);
        } else {
            link = &waiter->next;
        }
    }
}
