/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The part of the index that all plannings on one state of the store share (see kube_base.h). Decides nothing. Pure; whoever may
 * use the store, one at a time. The base belongs to the store's look-ups; the nodes' names and columns are counted, because plans
 * outlive the store.
 */
#include "plan/kube_base.h"

#include <stdlib.h>
#include <string.h>

#define PODS "pods"
#define MOST_COMPARED 256 /* classes, of which each pair is remembered */

/* ---- nodes that outlive the store ---- */

static struct kvmig__kube_nodes *nodes_new(const struct kvmig__kube *kube)
{
    struct kvmig__kube_nodes *nodes = kvmig__calloc(1, sizeof(*nodes));
    size_t length = 0, at = 0;

    nodes->refs = 1;
    nodes->n = kube->kinds[KVMIG__KUBE_NODE].n;
    nodes->names = kvmig__calloc(nodes->n + 1, sizeof(*nodes->names));
    nodes->offers = kvmig__calloc(nodes->n + 1, sizeof(*nodes->offers));
    KVMIG__KUBE_EACH(kube, NODE, node)
    {
        length += strlen(node->meta.name) + 1;
    }
    nodes->text = kvmig__calloc(length + 1, 1);
    KVMIG__KUBE_EACH(kube, NODE, node)
    {
        size_t size = strlen(node->meta.name) + 1;

        memcpy(nodes->text + at, node->meta.name, size);
        nodes->names[node_i] = nodes->text + at;
        nodes->offers[node_i] = node->allocatable.n;
        at += size;
    }
    return nodes;
}

struct kvmig__kube_nodes *kvmig__kube_nodes_ref(struct kvmig__kube_nodes *nodes)
{
    __atomic_add_fetch(&nodes->refs, 1, __ATOMIC_RELAXED);
    return nodes;
}

void kvmig__kube_nodes_unref(struct kvmig__kube_nodes *nodes)
{
    if (!nodes || __atomic_sub_fetch(&nodes->refs, 1, __ATOMIC_ACQ_REL))
        return;
    for (size_t i = 0; i < nodes->columns.n; i++) {
        free(nodes->columns.v[i]->resource);
        free(nodes->columns.v[i]->left);
        free(nodes->columns.v[i]);
    }
    free(nodes->columns.v);
    free(nodes->names);
    free(nodes->offers);
    free(nodes->text);
    free(nodes);
}

static struct kvmig__kube_column *column_new(struct kvmig__kube_nodes *nodes, const char *resource)
{
    struct kvmig__kube_column *column = kvmig__calloc(1, sizeof(*column));

    column->resource = kvmig__strdup(resource);
    column->left = kvmig__calloc(nodes->n + 1, sizeof(*column->left));
    *KVMIG__PUSH(&nodes->columns) = column;
    return column;
}

struct kvmig__kube_nodes *kvmig__kube_nodes_copy(const struct kvmig__kube_nodes *nodes)
{
    struct kvmig__kube_nodes *copy = kvmig__calloc(1, sizeof(*copy));
    size_t length =
        nodes->n ? (size_t)(nodes->names[nodes->n - 1] - nodes->text) + strlen(nodes->names[nodes->n - 1]) : 0;

    copy->refs = 1;
    copy->n = nodes->n;
    copy->text = kvmig__calloc(length + 1, 1);
    copy->names = kvmig__calloc(nodes->n + 1, sizeof(*copy->names));
    copy->offers = kvmig__calloc(nodes->n + 1, sizeof(*copy->offers));
    memcpy(copy->text, nodes->text, length + 1);
    for (size_t i = 0; i < nodes->n; i++) {
        copy->names[i] = copy->text + (nodes->names[i] - nodes->text);
        copy->offers[i] = nodes->offers[i];
    }
    for (size_t i = 0; i < nodes->columns.n; i++)
        memcpy(column_new(copy, nodes->columns.v[i]->resource)->left, nodes->columns.v[i]->left,
               nodes->n * sizeof(*nodes->columns.v[i]->left));
    return copy;
}

/* ---- what is left ---- */

static uint64_t asked_by(const struct kvmig__kube_pod *pod, const char *resource)
{
    uint64_t asked = strcmp(resource, PODS) ? kvmig__kube_pod_request(pod, resource) : 1000;

    return asked == KVMIG__UNKNOWN ? 0 : asked;
}

static uint64_t used_on(const struct kvmig__kube_base *base, size_t i, const char *resource)
{
    uint64_t sum = kvmig__amounts_get(&kvmig__kube_base_node(base, i)->told_usage, resource);

    if (sum != KVMIG__UNKNOWN)
        return sum;
    sum = 0;
    for (size_t k = base->first[i]; k < base->first[i + 1]; k++) {
        uint64_t asked = asked_by(base->pods[k], resource);

        sum = asked > KVMIG__UNKNOWN - 1 - sum ? KVMIG__UNKNOWN - 1 : sum + asked;
    }
    return sum;
}

const struct kvmig__kube_column *kvmig__kube_base_column(struct kvmig__kube_base *base, struct kvmig__kube_nodes *nodes,
                                                         const char *resource)
{
    struct kvmig__kube_column *column;

    for (size_t i = 0; i < nodes->columns.n; i++) {
        if (!strcmp(nodes->columns.v[i]->resource, resource))
            return nodes->columns.v[i];
    }
    if (!kvmig__strlist_has(&base->resources, resource))
        return NULL;
    column = column_new(nodes, resource);
    for (size_t i = 0; i < nodes->n; i++) {
        uint64_t offered = kvmig__amounts_get(&kvmig__kube_base_node(base, i)->allocatable, resource), used;

        used = offered == KVMIG__UNKNOWN ? 0 : used_on(base, i, resource);
        column->left[i] = offered == KVMIG__UNKNOWN ? KVMIG__UNKNOWN : used < offered ? offered - used : 0;
    }
    return column;
}

/* ---- pods by node ---- */

static void place_pods(struct kvmig__kube_base *base)
{
    const struct kvmig__kube_list *list = &base->kube->kinds[KVMIG__KUBE_POD];
    size_t n = base->nodes->n, *node_of = kvmig__calloc(list->n + 1, sizeof(*node_of)), *next;

    base->first = kvmig__calloc(n + 1, sizeof(*base->first));
    KVMIG__KUBE_EACH(base->kube, POD, pod)
    {
        bool there = pod->node && !kvmig__pod_is_final(pod);

        node_of[pod_i] = there ? kvmig__kube_base_find(base, pod->node) : KVMIG__NO_NODE;
        if (node_of[pod_i] == KVMIG__NO_NODE)
            continue;
        base->first[node_of[pod_i] + 1]++;
        base->n_pods++;
        if (pod->placement.pod_forbidden.n)
            *KVMIG__PUSH(&base->repelling) = pod;
    }
    for (size_t i = 0; i < n; i++)
        base->first[i + 1] += base->first[i];
    base->pods = kvmig__calloc(base->n_pods + 1, sizeof(*base->pods));
    next = kvmig__calloc(n + 1, sizeof(*next));
    memcpy(next, base->first, (n + 1) * sizeof(*next));
    KVMIG__KUBE_EACH(base->kube, POD, pod)
    {
        if (node_of[pod_i] != KVMIG__NO_NODE)
            base->pods[next[node_of[pod_i]]++] = pod;
    }
    free(next);
    free(node_of);
}

static void look_at_nodes(struct kvmig__kube_base *base)
{
    base->newest_heartbeat_min = -1;
    KVMIG__KUBE_EACH(base->kube, NODE, node)
    {
        int64_t beat = kvmig__kube_heartbeat_min(node);

        if (beat > base->newest_heartbeat_min)
            base->newest_heartbeat_min = beat;
        if (kvmig__pairs_get(&node->meta.labels, KVMIG__LABEL_SCHEDULABLE))
            base->nodes_labelled = true;
        for (size_t i = 0; i < node->allocatable.n; i++)
            kvmig__strlist_add_new(&base->resources, node->allocatable.v[i].name);
    }
}

/* ---- life ---- */

static void base_free(void *data)
{
    struct kvmig__kube_base *base = data;

    kvmig__kube_nodes_unref(base->nodes);
    free(base->pods);
    free(base->first);
    free(base->class_of);
    free(base->classes.v);
    free(base->distances);
    kvmig__kube_memo_free(base->memo);
    kvmig__strlist_clear(&base->own_keys);
    kvmig__multimap_clear(&base->named);
    free(base->repelling.v);
    kvmig__strlist_clear(&base->resources);
    free(base);
}

struct kvmig__kube_base *kvmig__kube_base(const struct kvmig__kube *kube)
{
    struct kvmig__kube_base *base = kube->lookup->planner;

    if (base)
        return base;
    base = kvmig__calloc(1, sizeof(*base));
    base->kube = kube;
    base->nodes = nodes_new(kube);
    place_pods(base);
    look_at_nodes(base);
    kvmig__kube_base_classify(base);
    if (base->classes.n <= MOST_COMPARED)
        base->distances = kvmig__calloc(base->classes.n * base->classes.n + 1, sizeof(*base->distances));
    base->memo = kvmig__kube_memo_new(base);
    kube->lookup->planner = base;
    kube->lookup->planner_free = base_free;
    return base;
}

size_t kvmig__kube_base_find(const struct kvmig__kube_base *base, const char *node)
{
    const struct kvmig__multimap_entry *entry = kvmig__multimap_next(&base->kube->lookup->nodes, node, NULL);

    return entry ? entry->item : KVMIG__NO_NODE;
}

const struct kvmig__kube_node *kvmig__kube_base_node(const struct kvmig__kube_base *base, size_t i)
{
    return (const struct kvmig__kube_node *)base->kube->kinds[KVMIG__KUBE_NODE].v[i];
}

bool kvmig__kube_base_own_key(const struct kvmig__kube_base *base, const char *key)
{
    return key && kvmig__strlist_has(&base->own_keys, key);
}
