/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The index of one planning: what is on which node, which pods the rules about neighbours select and where, what holds for all nodes.
 * Built once, in one pass over the pods and one over the nodes, so that judging a node costs what is on that node. Decides nothing.
 * Pure; any thread. Owns its lists; what they hold is the store's.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

/* ---- pods by node ---- */

/* Pods of one node stay in the order of the store. */
struct entry {
    const struct kvmig__kube_pod *pod;
    size_t at;
};

static int compare_numbers(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->pod->node, y->pod->node);

    return order ? order : compare_numbers(x->at, y->at);
}

static void index_pods(struct kvmig__kube_index *index, const struct kvmig__kube *kube)
{
    struct {
        struct entry *v;
        size_t n;
    } entries = { 0 };

    KVMIG__KUBE_EACH(kube, POD, pod)
    {
        const struct entry entry = { pod, entries.n };

        if (pod->node && !kvmig__pod_is_final(pod))
            *KVMIG__PUSH(&entries) = entry;
    }
    if (entries.n)
        qsort(entries.v, entries.n, sizeof(*entries.v), compare_entries);
    for (size_t i = 0; i < entries.n; i++)
        *KVMIG__PUSH(&index->pods) = entries.v[i].pod;
    free(entries.v);
}

/* The first pod that is on that node, or on one behind it. */
static size_t first_on(const struct kvmig__kube_index *index, const char *node)
{
    size_t low = 0, high = index->pods.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(index->pods.v[middle]->node, node) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct kvmig__kube_pod *const *kvmig__kube_pods_on(const struct kvmig__kube_index *index, const char *node,
                                                         size_t *out_n)
{
    size_t first = node ? first_on(index, node) : index->pods.n, end = first;

    while (end < index->pods.n && !strcmp(index->pods.v[end]->node, node))
        end++;
    *out_n = end - first;
    return *out_n ? &index->pods.v[first] : NULL;
}

/* ---- neighbours ---- */

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

/* ---- nodes ---- */

static void index_nodes(struct kvmig__kube_index *index, const struct kvmig__kube *kube)
{
    index->newest_heartbeat_min = -1;
    KVMIG__KUBE_EACH(kube, NODE, node)
    {
        int64_t beat = kvmig__kube_heartbeat_min(node);

        if (beat > index->newest_heartbeat_min)
            index->newest_heartbeat_min = beat;
        if (kvmig__pairs_get(&node->meta.labels, KVMIG__LABEL_SCHEDULABLE))
            index->nodes_labelled = true;
        for (size_t i = 0; i < node->allocatable.n; i++)
            kvmig__strlist_add_new(&index->resources, node->allocatable.v[i].name);
    }
}

void kvmig__kube_index_init(struct kvmig__kube_index *index, const struct kvmig__kube_check *c)
{
    *index = (struct kvmig__kube_index){ 0 };
    index_pods(index, c->kube);
    index_nodes(index, c->kube);
    kvmig__kube_collect_neighbours(index, c);
    if (index->neighbours.n)
        qsort(index->neighbours.v, index->neighbours.n, sizeof(*index->neighbours.v), compare_neighbours);
    kvmig__kube_count_spread(index, c);
}

void kvmig__kube_index_clear(struct kvmig__kube_index *index)
{
    for (size_t i = 0; i < index->allowed.n; i++)
        kvmig__strlist_clear(&index->allowed.v[i].names);
    free(index->allowed.v);
    free(index->pods.v);
    free(index->neighbours.v);
    free(index->spread_least.v);
    kvmig__strlist_clear(&index->repelling_keys);
    kvmig__strlist_clear(&index->resources);
}
