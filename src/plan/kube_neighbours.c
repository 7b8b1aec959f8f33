/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Other pods as a reason against a target: anti-affinity in both directions, required affinity, topology spread. A view may know
 * launcher pods only, so what follows from a pod that is there is a blocker, and what would follow from one that is not is a remark.
 * Pure; any thread.
 *
 * The target launcher carries the VM's labels. The source launcher stands where it is until the switch, so it counts, too.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

#define MAX_REPELLING 8 /* pods that are named per rule */

/* ---- selectors over pods ---- */

static bool selects(const struct kvmig__term *selector, const struct kvmig__pairs *labels)
{
    for (size_t i = 0; i < selector->n; i++) {
        if (!kvmig__requirement_holds(&selector->v[i], labels, NULL))
            return false;
    }
    return true; /* an empty label selector selects all */
}

/* Of a namespace that is not seen the label that all have is known. */
static bool selects_namespace(const struct kvmig__kube *kube, const struct kvmig__term *selector, const char *name)
{
    const struct kvmig__kube_namespace *ns = KVMIG__KUBE_FIND(kube, NAMESPACE, NULL, name);
    struct kvmig__pairs labels = { 0 };
    bool selected;

    if (ns)
        return selects(selector, &ns->meta.labels);
    kvmig__pairs_set(&labels, "kubernetes.io/metadata.name", name ? name : "default");
    selected = selects(selector, &labels);
    kvmig__pairs_clear(&labels);
    return selected;
}

static bool in_namespaces(const struct kvmig__kube *kube, const struct kvmig__pod_term *term, const char *own,
                          const char *ns)
{
    if (!term->namespaces.n && !term->has_namespace_selector)
        return kvmig__str_eq(own, ns);
    return kvmig__strlist_has(&term->namespaces, ns) ||
           (term->has_namespace_selector && selects_namespace(kube, &term->namespace_selector, ns));
}

/* The topology domain of the node that a pod runs on; NULL if not known. */
static const char *domain_of(const struct kvmig__kube_base *base, const char *node_name, const char *key)
{
    size_t at = key ? kvmig__kube_base_find(base, node_name) : KVMIG__NO_NODE;

    return at == KVMIG__NO_NODE ? NULL : kvmig__pairs_get(&kvmig__kube_base_node(base, at)->meta.labels, key);
}

static const struct kvmig__pairs *own_labels(const struct kvmig__kube_check *c)
{
    return c->pod ? &c->pod->meta.labels : &c->vmi->meta.labels;
}

/* ---- the rules, and the pods that they select ----
 * In this order: the VM's anti-affinities, the anti-affinity of all other pods (one rule), the VM's affinities, its spreads. */

static size_t rule_of_others(const struct kvmig__kube_check *c)
{
    return c->vmi->placement.pod_forbidden.n;
}

static size_t rule_of_affinity(const struct kvmig__kube_check *c, size_t i)
{
    return rule_of_others(c) + 1 + i;
}

static size_t rule_of_spread(const struct kvmig__kube_check *c, size_t i)
{
    return rule_of_affinity(c, c->vmi->placement.pod_required.n) + i;
}

static void add_neighbour(struct kvmig__kube_index *index, size_t rule, const char *key,
                          const struct kvmig__kube_pod *pod)
{
    const char *domain = domain_of(index->base, pod->node, key);

    if (domain)
        *KVMIG__PUSH(&index->neighbours) = (struct kvmig__kube_neighbour){ rule, key, domain, pod };
}

static void collect_own(struct kvmig__kube_index *index, const struct kvmig__kube_check *c,
                        const struct kvmig__pod_terms *terms, size_t first_rule, const struct kvmig__kube_pod *pod)
{
    for (size_t i = 0; i < terms->n; i++) {
        if (in_namespaces(c->kube, &terms->v[i], c->vmi->meta.ns, pod->meta.ns) &&
            selects(&terms->v[i].selector, &pod->meta.labels))
            add_neighbour(index, first_rule + i, terms->v[i].topology_key, pod);
    }
}

static void collect_others(struct kvmig__kube_index *index, const struct kvmig__kube_check *c,
                           const struct kvmig__kube_pod *pod)
{
    const struct kvmig__pod_terms *terms = &pod->placement.pod_forbidden;

    for (size_t i = 0; i < terms->n && pod != c->pod; i++) {
        const struct kvmig__pod_term *term = &terms->v[i];

        if (!term->topology_key || !in_namespaces(c->kube, term, pod->meta.ns, c->vmi->meta.ns) ||
            !selects(&term->selector, own_labels(c)))
            continue;
        kvmig__strlist_add_new(&index->repelling_keys, term->topology_key);
        add_neighbour(index, rule_of_others(c), term->topology_key, pod);
    }
}

static void collect_spread(struct kvmig__kube_index *index, const struct kvmig__kube_check *c,
                           const struct kvmig__kube_pod *pod)
{
    for (size_t i = 0; i < c->vmi->placement.spread.n; i++) {
        const struct kvmig__spread *spread = &c->vmi->placement.spread.v[i];

        if (!pod->meta.deleted_ms && kvmig__str_eq(pod->meta.ns, c->vmi->meta.ns) &&
            selects(&spread->selector, &pod->meta.labels))
            add_neighbour(index, rule_of_spread(c, i), spread->topology_key, pod);
    }
}

static void collect(struct kvmig__kube_index *index, const struct kvmig__kube_check *c,
                    const struct kvmig__kube_pod *pod)
{
    collect_own(index, c, &c->vmi->placement.pod_forbidden, 0, pod);
    collect_others(index, c, pod);
    collect_own(index, c, &c->vmi->placement.pod_required, rule_of_affinity(c, 0), pod);
    collect_spread(index, c, pod);
}

/* Has been moved away by then. */
static bool has_left(const struct kvmig__kube_check *c, const struct kvmig__kube_pod *pod)
{
    for (size_t i = 0; c->whatif && c->whatif->left && i < c->whatif->before.n; i++) {
        if (c->whatif->before.v[i] == pod)
            return true;
    }
    return false;
}

/* A VM without rules of its own looks only at the pods that have some. */
void kvmig__kube_collect_neighbours(struct kvmig__kube_index *index, const struct kvmig__kube_check *c)
{
    const struct kvmig__placement *own = &c->vmi->placement;
    bool all = own->pod_forbidden.n || own->pod_required.n || own->spread.n;
    const struct kvmig__kube_pod *const *pods = all ? index->base->pods : index->base->repelling.v;
    size_t n = all ? index->base->n_pods : index->base->repelling.n;

    for (size_t i = 0; i < n; i++) {
        if (!has_left(c, pods[i]))
            collect(index, c, pods[i]);
    }
    for (size_t i = 0; c->whatif && i < c->whatif->moved.n; i++)
        collect(index, c, c->whatif->moved.v[i]);
}

/* Only nodes that the VM's own selector and affinity admit make up the domains that are compared. */
static bool is_eligible(const struct kvmig__kube_check *c, const struct kvmig__kube_node *node)
{
    const struct kvmig__pairs *selector = &c->vmi->placement.node_selector;

    for (size_t i = 0; i < selector->n; i++) {
        if (!kvmig__str_eq(kvmig__pairs_get(&node->meta.labels, selector->v[i].key), selector->v[i].value))
            return false;
    }
    return kvmig__terms_hold(&c->vmi->placement.node_required, &node->meta.labels, node->meta.name);
}

void kvmig__kube_count_spread(struct kvmig__kube_index *index, const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->placement.spread.n; i++) {
        const char *key = c->vmi->placement.spread.v[i].topology_key;
        uint64_t *least = KVMIG__PUSH(&index->spread_least);

        *least = KVMIG__UNKNOWN;
        KVMIG__KUBE_EACH(c->kube, NODE, node)
        {
            const char *domain = key ? kvmig__pairs_get(&node->meta.labels, key) : NULL;
            size_t n;

            kvmig__kube_neighbours_in(index, rule_of_spread(c, i), key, domain, &n);
            if (domain && n < *least && is_eligible(c, node))
                *least = n;
        }
    }
}

/* The pods that a rule selects in the target's domain. */
static const struct kvmig__kube_neighbour *around(const struct kvmig__kube_check *c, size_t rule, const char *key,
                                                  size_t *out_n)
{
    const char *domain = key ? kvmig__pairs_get(&c->target->meta.labels, key) : NULL;

    return kvmig__kube_neighbours_in(c->index, rule, key, domain, out_n);
}

/* ---- anti-affinity ---- */

static void note_repelled(const struct kvmig__kube_check *c, const struct kvmig__kube_pod *pod, const char *key,
                          const char *whose)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "pod", pod->meta.name);
    kvmig__detail_str(&d, "pod_node", pod->node);
    kvmig__detail_str(&d, "topology_key", key);
    kvmig__kube_note(c, "POD_ANTI_AFFINITY", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                     "Choose a node in another topology domain, or move that pod first.",
                     "The anti-affinity of %s keeps the VM off node %s: pod %s runs in the same %s.", whose,
                     c->target_name, pod->meta.name, key);
}

static void check_anti_affinity(const struct kvmig__kube_check *c, size_t rule, const char *key, const char *whose)
{
    size_t n;
    const struct kvmig__kube_neighbour *there = around(c, rule, key, &n);

    for (size_t i = 0; i < n && i < MAX_REPELLING; i++)
        note_repelled(c, there[i].pod, key, whose);
}

static void check_anti_affinities(const struct kvmig__kube_check *c)
{
    const struct kvmig__pod_terms *own = &c->vmi->placement.pod_forbidden;

    for (size_t i = 0; i < own->n; i++)
        check_anti_affinity(c, i, own->v[i].topology_key, "the VM");
    for (size_t i = 0; i < c->index->repelling_keys.n; i++)
        check_anti_affinity(c, rule_of_others(c), c->index->repelling_keys.v[i], "another pod");
}

/* ---- required affinity ---- */

/* Of a kind of pod of which some are seen, but none there. */
static void note_alone(const struct kvmig__kube_check *c, const char *key)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "topology_key", key);
    kvmig__kube_note(c, "POD_AFFINITY_MISMATCH", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                     "Choose a node next to such a pod.",
                     "The VM's required affinity wants a pod beside it that runs elsewhere, but not in the %s of node "
                     "%s.",
                     key ? key : "topology", c->target_name);
}

/* Pods that no VM runs in may not have been read at all. */
static void note_unseen(const struct kvmig__kube_check *c, const char *key)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "topology_key", key);
    kvmig__kube_note(c, "POD_AFFINITY_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__kube_object_target(c), &d,
                     "Make sure that such a pod runs there; else the target stays unschedulable.",
                     "The VM must run next to a pod that is not seen in the %s of node %s.", key ? key : "topology",
                     c->target_name);
}

static void check_affinity(const struct kvmig__kube_check *c)
{
    const struct kvmig__pod_terms *terms = &c->vmi->placement.pod_required;

    for (size_t i = 0; i < terms->n; i++) {
        const char *key = terms->v[i].topology_key;
        size_t n;

        around(c, rule_of_affinity(c, i), key, &n);
        if (n)
            continue;
        if (kvmig__kube_has_neighbours(c->index, rule_of_affinity(c, i)))
            note_alone(c, key);
        else
            note_unseen(c, key);
    }
}

/* ---- topology spread ---- */

static void check_spread(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->placement.spread.n; i++) {
        const struct kvmig__spread *spread = &c->vmi->placement.spread.v[i];
        const char *domain =
            spread->topology_key ? kvmig__pairs_get(&c->target->meta.labels, spread->topology_key) : NULL;
        uint64_t least = c->index->spread_least.v[i];
        struct kvmig__detail d = { 0 };
        size_t there;

        if (!domain || !spread->max_skew || least == KVMIG__UNKNOWN)
            continue;
        around(c, rule_of_spread(c, i), spread->topology_key, &there);
        if (there + selects(&spread->selector, own_labels(c)) <= least + spread->max_skew)
            continue;
        kvmig__detail_str(&d, "topology_key", spread->topology_key);
        kvmig__detail_uint(&d, "there", there);
        kvmig__detail_uint(&d, "least", least);
        kvmig__detail_uint(&d, "max_skew", spread->max_skew);
        kvmig__kube_note(c, "TOPOLOGY_SPREAD_VIOLATED", KVMIG_SEVERITY_WARN, kvmig__kube_object_target(c), &d,
                         "Choose a node in a domain with fewer of these pods.",
                         "As far as pods are seen, the VM's topology spread over %s does not admit node %s.",
                         spread->topology_key, c->target_name);
    }
}

uint64_t kvmig__kube_count_peers(const struct kvmig__kube_check *c)
{
    uint64_t peers = 0;

    for (size_t i = 0; i < c->vmi->placement.spread.n; i++) {
        const struct kvmig__spread *spread = &c->vmi->placement.spread.v[i];
        const char *key = spread->topology_key;
        const char *here = key && c->source ? kvmig__pairs_get(&c->source->meta.labels, key) : NULL;
        size_t n;

        around(c, rule_of_spread(c, i), key, &n);
        /* in the domain of the source, the VM itself is one of them until it has moved */
        if (n && here && c->pod && kvmig__str_eq(here, kvmig__pairs_get(&c->target->meta.labels, key)) &&
            selects(&spread->selector, own_labels(c)))
            n--;
        peers += n;
    }
    return peers;
}

void kvmig__kube_check_neighbours(const struct kvmig__kube_check *c)
{
    if (!kvmig__kube_is_known(c->kube, KVMIG__KUBE_POD))
        return;
    check_anti_affinities(c);
    check_affinity(c);
    check_spread(c);
}
