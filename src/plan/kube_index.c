/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The index of one planning: which pods the rules about neighbours select and where, what the VM needs. What does not depend on the
 * VM is in the base (kube_base.c). Decides nothing. Pure; any thread. Owns its lists; what they hold is the store's.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

/* ---- neighbours ---- */

static int compare_numbers(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_place(const struct kvmig__kube_neighbour *a, const struct kvmig__kube_neighbour *b)
{
    int order = compare_numbers(a->rule, b->rule);

    if (!order)
        order = strcmp(a->key, b->key);
    return order ? order : strcmp(a->domain, b->domain);
}

static int compare_neighbours(const void *a, const void *b)
{
    const struct kvmig__kube_neighbour *x = a, *y = b;
    int order = compare_place(x, y);

    if (!order)
        order = strcmp(x->pod->meta.ns ? x->pod->meta.ns : "", y->pod->meta.ns ? y->pod->meta.ns : "");
    return order ? order : strcmp(x->pod->meta.name, y->pod->meta.name);
}

static size_t bound(const struct kvmig__kube_index *index, const struct kvmig__kube_neighbour *wanted, bool behind)
{
    size_t low = 0, high = index->neighbours.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_place(&index->neighbours.v[middle], wanted);

        if (order < 0 || (behind && !order))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct kvmig__kube_neighbour *kvmig__kube_neighbours_in(const struct kvmig__kube_index *index, size_t rule,
                                                              const char *key, const char *domain, size_t *out_n)
{
    const struct kvmig__kube_neighbour wanted = { .rule = rule, .key = key, .domain = domain };
    size_t first;

    *out_n = 0;
    if (!key || !domain)
        return NULL;
    first = bound(index, &wanted, false);
    *out_n = bound(index, &wanted, true) - first;
    return *out_n ? &index->neighbours.v[first] : NULL;
}

bool kvmig__kube_has_neighbours(const struct kvmig__kube_index *index, size_t rule)
{
    const struct kvmig__kube_neighbour wanted = { .rule = rule, .key = "", .domain = "" };
    size_t first = bound(index, &wanted, false);

    return first < index->neighbours.n && index->neighbours.v[first].rule == rule;
}

/* ---- the index ---- */

void kvmig__kube_index_init(struct kvmig__kube_index *index, const struct kvmig__kube_check *c)
{
    struct kvmig__kube_base *base = kvmig__kube_base(c->kube);
    struct kvmig__kube_check here = *c;

    *index = (struct kvmig__kube_index){ .base = base,
                                         .nodes = c->whatif ? c->whatif->nodes : base->nodes,
                                         .newest_heartbeat_min = base->newest_heartbeat_min,
                                         .nodes_labelled = base->nodes_labelled };
    here.index = index;
    kvmig__kube_wants(&here, &index->wants);
    kvmig__kube_collect_neighbours(index, &here);
    if (index->neighbours.n)
        qsort(index->neighbours.v, index->neighbours.n, sizeof(*index->neighbours.v), compare_neighbours);
    kvmig__kube_count_spread(index, &here);
}

void kvmig__kube_index_clear(struct kvmig__kube_index *index)
{
    for (size_t i = 0; i < index->allowed.n; i++)
        kvmig__strlist_clear(&index->allowed.v[i].names);
    free(index->allowed.v);
    free(index->neighbours.v);
    free(index->spread_least.v);
    kvmig__kube_wants_clear(&index->wants);
    kvmig__strlist_clear(&index->repelling_keys);
}
