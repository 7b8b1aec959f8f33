/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Slots of a view, with the migrations that are not ours: whoever else migrates guests between these hosts takes room too.
 * They are known from the hosts' last readings, which may still show a guest of ours that has just arrived; such a guest
 * counts as ours until the host has been read anew. Does not: decide (limits.c does), start anything. Needs the context
 * lock.
 */
#include "cluster/cluster_private.h"
#include "session/driver.h"
#include "session/session_internal.h"

#include <stdlib.h>

/* ---- which moving guests are ours ---- */

static struct kvmig__own_guest *find_guest(struct kvmig_cluster *cluster, const char *uuid)
{
    for (size_t i = 0; i < cluster->own_guests.n; i++)
        if (kvmig__str_eq(cluster->own_guests.v[i].uuid, uuid))
            return &cluster->own_guests.v[i];
    return NULL;
}

/* Whether a host shows the guest as moving, or will once more: a reading of it began before the guest's session ended. */
static bool may_be_shown(const struct kvmig_cluster *cluster, const struct kvmig__own_guest *guest)
{
    for (size_t i = 0; i < cluster->hosts.n; i++) {
        const struct kvmig__cluster_host *host = cluster->hosts.v[i];
        const bool shows = host->facts->state == KVMIG__HOST_UP && host->facts_ms <= guest->ended_ms;
        const bool will_show = host->begun_ms && host->begun_ms <= guest->ended_ms;

        if (shows || will_show)
            return true;
    }
    return false;
}

static void forget_old_guests(struct kvmig_cluster *cluster)
{
    size_t kept = 0;

    for (size_t i = 0; i < cluster->own_guests.n; i++) {
        struct kvmig__own_guest *guest = &cluster->own_guests.v[i];

        if (guest->running || may_be_shown(cluster, guest))
            cluster->own_guests.v[kept++] = *guest;
        else
            free(guest->uuid);
    }
    cluster->own_guests.n = kept;
}

static void note_own_guests(struct kvmig_cluster *cluster)
{
    const int64_t now_ms = kvmig__now_ms();

    for (size_t i = 0; i < cluster->own_guests.n; i++) {
        struct kvmig__own_guest *guest = &cluster->own_guests.v[i];

        if (guest->running)
            guest->ended_ms = now_ms;
        guest->running = false;
    }
    for (const struct kvmig__slot *slot = cluster->limits.head; slot; slot = slot->next) {
        const struct kvmig_plan *plan = slot->granted ? kvmig__session_plan(slot->owner) : NULL;
        struct kvmig__own_guest *guest;

        if (!plan || !plan->uuid)
            continue;
        guest = find_guest(cluster, plan->uuid);
        if (!guest) {
            guest = KVMIG__PUSH(&cluster->own_guests);
            guest->uuid = kvmig__strdup(plan->uuid);
        }
        guest->running = true;
    }
    forget_old_guests(cluster);
}

void kvmig__cluster_drop_guests(struct kvmig_cluster *cluster)
{
    for (size_t i = 0; i < cluster->own_guests.n; i++)
        free(cluster->own_guests.v[i].uuid);
    free(cluster->own_guests.v);
}

/* ---- counting those that are not ours ---- */

static bool is_foreign(struct kvmig_cluster *cluster, const struct kvmig__cluster_host *host,
                       const struct kvmig__domain *domain)
{
    const struct kvmig__own_guest *guest = find_guest(cluster, domain->uuid);

    return !guest || (!guest->running && host->facts_ms > guest->ended_ms);
}

static uint32_t foreign_on_host(struct kvmig_cluster *cluster, const struct kvmig__cluster_host *host, bool out)
{
    uint32_t n = 0;

    for (size_t i = 0; host->facts->state == KVMIG__HOST_UP && i < host->facts->domains.n; i++) {
        const struct kvmig__domain *domain = &host->facts->domains.v[i];

        if ((out ? domain->migrating_out : domain->migrating_in) && is_foreign(cluster, host, domain))
            n++;
    }
    return n;
}

static bool leaves_a_known_host(const struct kvmig_cluster *cluster, const char *uuid)
{
    for (size_t i = 0; i < cluster->hosts.n; i++) {
        const struct kvmig__host *facts = cluster->hosts.v[i]->facts;
        const struct kvmig__domain *domain =
            facts->state == KVMIG__HOST_UP ? kvmig__host_find_domain(facts, uuid) : NULL;

        if (domain && domain->migrating_out)
            return true;
    }
    return false;
}

/* A migration between two hosts of the view is seen on both and counts once. */
static uint32_t foreign_in_view(struct kvmig_cluster *cluster)
{
    uint32_t n = 0;

    for (size_t h = 0; h < cluster->hosts.n; h++) {
        const struct kvmig__cluster_host *host = cluster->hosts.v[h];

        n += foreign_on_host(cluster, host, true);
        for (size_t i = 0; host->facts->state == KVMIG__HOST_UP && i < host->facts->domains.n; i++) {
            const struct kvmig__domain *domain = &host->facts->domains.v[i];

            if (domain->migrating_in && is_foreign(cluster, host, domain) &&
                !leaves_a_known_host(cluster, domain->uuid))
                n++;
        }
    }
    return n;
}

/* Counted once and looked up often. */
struct foreign {
    struct kvmig_cluster *cluster;
    uint32_t total;
    struct {
        uint32_t out, in;
    } * per_host; /* in view order */
};

static void foreign_count(struct kvmig_cluster *cluster, struct foreign *out)
{
    *out = (struct foreign){ .cluster = cluster, .total = foreign_in_view(cluster) };
    out->per_host = kvmig__calloc(cluster->hosts.n + 1, sizeof(*out->per_host));
    for (size_t i = 0; i < cluster->hosts.n; i++) {
        out->per_host[i].out = foreign_on_host(cluster, cluster->hosts.v[i], true);
        out->per_host[i].in = foreign_on_host(cluster, cluster->hosts.v[i], false);
    }
}

static uint32_t foreign_of(void *data, const char *host_name, bool out)
{
    const struct foreign *foreign = data;
    const struct kvmig__cluster_host *host;

    if (!host_name)
        return foreign->total;
    host = kvmig__cluster_find_host(foreign->cluster, host_name);
    if (!host)
        return 0;
    return out ? foreign->per_host[host->index].out : foreign->per_host[host->index].in;
}

/* ---- for sessions and plans ---- */

void kvmig__cluster_settle_slots(struct kvmig_cluster *cluster)
{
    struct foreign foreign;

    note_own_guests(cluster);
    foreign_count(cluster, &foreign);
    kvmig__cluster_hold(cluster);
    kvmig__limits_settle(&cluster->limits, kvmig__session_slot_changed, foreign_of, &foreign);
    kvmig__cluster_release(cluster);
    free(foreign.per_host);
}

/* Whether a slot was granted for this very guest: its plan is made again once it has the slot, which must not hold it up. */
static bool is_for(const struct kvmig__slot *slot, const char *vm)
{
    const struct kvmig_plan *plan = slot->granted ? kvmig__session_plan(slot->owner) : NULL;

    return plan && (kvmig__str_eq(plan->uuid, vm) || kvmig__str_eq(plan->vm, vm));
}

void kvmig__cluster_slots(struct kvmig_cluster *cluster, const char *vm, struct kvmig__slots *out)
{
    const struct kvmig__limits *limits = &cluster->limits;
    struct foreign foreign;

    note_own_guests(cluster);
    foreign_count(cluster, &foreign);
    *out = (struct kvmig__slots){ .max_migrations = limits->max_migrations,
                                  .max_outbound = limits->max_outbound,
                                  .max_inbound = limits->max_inbound,
                                  .running = foreign.total };
    out->per_host = kvmig__calloc(cluster->hosts.n + 1, sizeof(*out->per_host));
    for (size_t i = 0; i < cluster->hosts.n; i++) {
        out->per_host[i].out = foreign.per_host[i].out;
        out->per_host[i].in = foreign.per_host[i].in;
    }
    for (const struct kvmig__slot *slot = limits->head; slot; slot = slot->next) {
        const struct kvmig__cluster_host *source, *target;

        if (!slot->granted || is_for(slot, vm))
            continue;
        source = slot->source ? kvmig__cluster_find_host(cluster, slot->source) : NULL;
        target = slot->target ? kvmig__cluster_find_host(cluster, slot->target) : NULL;
        out->running++;
        if (source)
            out->per_host[source->index].out++;
        if (target)
            out->per_host[target->index].in++;
    }
    free(foreign.per_host);
}

void kvmig__slots_clear(struct kvmig__slots *slots)
{
    free(slots->per_host);
    slots->per_host = NULL;
}
