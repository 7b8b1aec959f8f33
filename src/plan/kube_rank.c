/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What nodes of a Kubernetes cluster are compared by beyond their findings (see rank.h): zone and CPU, which all nodes of a class
 * have in common, and peers and links, which are each node's own; and which nodes the caller does not want. Numbers are worked
 * out only for what the VM or the caller asks for. Pure; any thread.
 */
#include "plan/checks.h"
#include "plan/kube_lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_ZONE "topology.kubernetes.io/zone"

/* ---- what nodes of a class have in common ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void kvmig__kube_rank_begin(const struct kvmig__kube_check *c, struct kvmig__kube_yardstick *out)
{
    *out = (struct kvmig__kube_yardstick){ 0 };
    if (!c->source)
        return;
    out->zone = kvmig__pairs_get(&c->source->meta.labels, LABEL_ZONE);
    for (size_t i = 0; i < c->source->meta.labels.n; i++) {
        const char *feature = kvmig__after_prefix(c->source->meta.labels.v[i].key, KVMIG__LABEL_FEATURE);

        if (feature)
            *KVMIG__PUSH(&out->features) = feature;
    }
    if (out->features.n > 1)
        qsort(out->features.v, out->features.n, sizeof(*out->features.v), compare_texts);
}

void kvmig__kube_rank_end(struct kvmig__kube_yardstick *yardstick)
{
    free(yardstick->features.v);
}

static uint64_t away(const struct kvmig__kube_check *c, const struct kvmig__kube_yardstick *source, bool shared)
{
    const char *zone;

    if (!source->zone || (shared && kvmig__kube_base_own_key(c->index->base, LABEL_ZONE)))
        return KVMIG__UNKNOWN;
    zone = kvmig__pairs_get(&c->target->meta.labels, LABEL_ZONE);
    return zone ? strcmp(zone, source->zone) != 0 : KVMIG__UNKNOWN;
}

/* Of the features that KubeVirt's labels tell: in one node's list and not in the other's. */
static uint64_t feature_distance(const struct kvmig__kube_check *c, const struct kvmig__kube_yardstick *source)
{
    uint64_t there = 0, both = 0;

    for (size_t i = 0; i < c->target->meta.labels.n; i++) {
        const char *feature = kvmig__after_prefix(c->target->meta.labels.v[i].key, KVMIG__LABEL_FEATURE);

        if (!feature)
            continue;
        there++;
        both += bsearch(&feature, source->features.v, source->features.n, sizeof(feature), compare_texts) != NULL;
    }
    return there ? source->features.n - both + there - both : KVMIG__UNKNOWN;
}

/* All nodes of a class have the same labels; the base remembers what was counted. */
static uint64_t class_distance(const struct kvmig__kube_check *c, const struct kvmig__kube_yardstick *source)
{
    struct kvmig__kube_base *base = c->index->base;
    size_t here = kvmig__kube_base_find(base, c->source->meta.name);
    uint64_t *known;

    if (!base->distances || here == KVMIG__NO_NODE)
        return feature_distance(c, source);
    known = &base->distances[base->class_of[here] * base->classes.n + base->class_of[c->target_at]];
    if (!*known)
        *known = 1 + feature_distance(c, source); /* of what is not known: 0 again */
    return *known - 1;
}

void kvmig__kube_rank_class(const struct kvmig__kube_check *c, const struct kvmig__kube_yardstick *source, bool shared,
                            struct kvmig__kube_class *out)
{
    out->away = away(c, source, shared);
    out->features = source->features.n ? class_distance(c, source) : KVMIG__UNKNOWN;
}

/* ---- each node's own ---- */

struct links {
    const struct kvmig__kube_base *base;
    uint64_t *v;
};

static void set_link(void *data, const char *target, uint64_t bytes_per_s)
{
    const struct links *links = data;
    size_t node = kvmig__kube_base_find(links->base, target);

    if (node != KVMIG__NO_NODE)
        links->v[node] = bytes_per_s;
}

void kvmig__kube_rank_links(const struct kvmig__kube_check *c, struct kvmig__kube_lazy *lazy)
{
    const struct kvmig__request *request = c->request;

    struct links links = { c->index->base, NULL };

    lazy->usual_link = kvmig__usual_link(request, c->vmi->node);
    if (!lazy->usual_link)
        return;
    lazy->links = kvmig__calloc(lazy->nodes->n + 1, sizeof(*lazy->links));
    for (size_t i = 0; i < lazy->nodes->n; i++)
        lazy->links[i] = KVMIG__UNKNOWN;
    links.v = lazy->links;
    for (size_t i = 0; i < request->links.n; i++)
        set_link(&links, request->links.v[i].host, request->links.v[i].bytes_per_s);
    kvmig__learned_links(request, c->vmi->node, set_link, &links);
}

uint64_t kvmig__kube_headroom(const struct kvmig__kube_lazy *lazy, size_t node)
{
    const uint64_t left = lazy->memory ? lazy->memory[node] : KVMIG__UNKNOWN;

    if (left == KVMIG__UNKNOWN)
        return KVMIG__UNKNOWN;
    return left > lazy->memory_need ? (left - lazy->memory_need) / 1000 : 0;
}

struct kvmig__rank kvmig__kube_rank(const struct kvmig__kube_lazy *lazy, size_t node)
{
    const struct kvmig__kube_class *class = kvmig__kube_class_of(lazy, node);
    const uint64_t link = lazy->links ? lazy->links[node] : KVMIG__UNKNOWN;

    return (struct kvmig__rank){
        .blockers = class->blockers,
        .risks = class->risks,
        .peers = lazy->peers ? lazy->peers[node] : KVMIG__UNKNOWN,
        .away = class->away,
        .link = link,
        .link_or_usual = link != KVMIG__UNKNOWN ? link : lazy->usual_link,
        .headroom = kvmig__kube_headroom(lazy, node),
        .copy = KVMIG__UNKNOWN, /* the same wherever it goes */
        .features = class->features,
    };
}

/* ---- nodes that the caller does not want ---- */

static bool has_labels(const struct kvmig__kube_node *node, const struct kvmig__strlist *labels)
{
    for (size_t i = 0; i < labels->n; i++) {
        const char *equals = strchr(labels->v[i], '='), *value;
        char *key =
            kvmig__asprintf("%.*s", equals ? (int)(equals - labels->v[i]) : (int)strlen(labels->v[i]), labels->v[i]);

        value = kvmig__pairs_get(&node->meta.labels, key);
        free(key);
        if (!value || (equals && strcmp(value, equals + 1) != 0))
            return false;
    }
    return true;
}

bool *kvmig__kube_unwanted(const struct kvmig__kube_check *c)
{
    const struct kvmig__kube_base *base = c->index->base;
    const struct kvmig__request *request = c->request;
    bool *unwanted;

    if (!request->exclude.n && !request->target_labels.n)
        return NULL;
    unwanted = kvmig__calloc(base->nodes->n + 1, sizeof(*unwanted));
    for (size_t i = 0; i < request->exclude.n; i++) {
        size_t node = kvmig__kube_base_find(base, request->exclude.v[i]);

        if (node != KVMIG__NO_NODE)
            unwanted[node] = true;
    }
    for (size_t i = 0; request->target_labels.n && i < base->nodes->n; i++)
        unwanted[i] = unwanted[i] || !has_labels(kvmig__kube_base_node(base, i), &request->target_labels);
    return unwanted;
}

static int32_t refuse(const char *option, const char *target)
{
    char *where = kvmig__asprintf("planning a migration, option %s", option);
    int32_t rc = kvmig__fail(kvmig__error_new(EINVAL, where, NULL, "Name another target, or leave out the option.",
                                              "Node %s is asked for as the target, and ruled out.", target));

    free(where);
    return rc;
}

int32_t kvmig__kube_check_choice(const struct kvmig__kube *kube, const struct kvmig__request *request)
{
    const bool known = kvmig__kube_is_known(kube, KVMIG__KUBE_NODE);
    const struct kvmig__kube_node *asked = NULL;

    for (size_t i = 0; i < request->exclude.n; i++) {
        if (kvmig__str_eq(request->exclude.v[i], request->target))
            return refuse("exclude", request->target);
        if (known && !KVMIG__KUBE_FIND(kube, NODE, NULL, request->exclude.v[i]))
            return kvmig__fail(kvmig__error_new(KVMIG_ENOHOST, "planning a migration, option exclude", NULL,
                                                "Use a node's name as kvmig_cluster_to_json() lists them.",
                                                "No node of the view is called %s.", request->exclude.v[i]));
    }
    if (request->target && known)
        asked = KVMIG__KUBE_FIND(kube, NODE, NULL, request->target);
    return asked && !has_labels(asked, &request->target_labels) ? refuse("target_labels", request->target) : 0;
}
