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

/* ---- selectors over pods ---- */

static bool selects(const struct kvmig__term *selector, const struct kvmig__pairs *labels)
{
    for (size_t i = 0; i < selector->n; i++) {
        if (!kvmig__requirement_holds(&selector->v[i], labels, NULL))
            return false;
    }
    return true; /* an empty label selector selects all */
}

static bool in_namespaces(const struct kvmig__strlist *namespaces, const char *own, const char *ns)
{
    return namespaces->n ? kvmig__strlist_has(namespaces, ns) : kvmig__str_eq(own, ns);
}

/* The topology domain of the node that a pod runs on; NULL if not known. */
static const char *domain_of(const struct kvmig__kube *kube, const char *node_name, const char *key)
{
    const struct kvmig__kube_node *node = KVMIG__KUBE_FIND(kube, NODE, NULL, node_name);

    return node && key ? kvmig__pairs_get(&node->meta.labels, key) : NULL;
}

static bool same_domain(const struct kvmig__kube_check *c, const struct kvmig__kube_pod *pod, const char *key)
{
    const char *there;

    if (!pod->node || !key)
        return false;
    if (!strcmp(pod->node, c->target_name)) /* most often it is about the node itself: no need to look it up */
        return kvmig__pairs_get(&c->target->meta.labels, key);
    if (!strcmp(key, "kubernetes.io/hostname"))
        return false;
    there = kvmig__pairs_get(&c->target->meta.labels, key);
    return there && kvmig__str_eq(there, domain_of(c->kube, pod->node, key));
}

static const struct kvmig__pairs *own_labels(const struct kvmig__kube_check *c)
{
    return c->pod ? &c->pod->meta.labels : &c->vmi->meta.labels;
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

static void check_own_anti_affinity(const struct kvmig__kube_check *c)
{
    const struct kvmig__pod_terms *terms = &c->vmi->placement.pod_forbidden;

    for (size_t i = 0; i < terms->n; i++) {
        const struct kvmig__pod_term *term = &terms->v[i];

        KVMIG__KUBE_EACH(c->kube, POD, pod)
        {
            if (kvmig__pod_is_final(pod) || !in_namespaces(&term->namespaces, c->vmi->meta.ns, pod->meta.ns) ||
                !selects(&term->selector, &pod->meta.labels) || !same_domain(c, pod, term->topology_key))
                continue;
            note_repelled(c, pod, term->topology_key, "the VM");
        }
    }
}

static void check_others_anti_affinity(const struct kvmig__kube_check *c)
{
    KVMIG__KUBE_EACH(c->kube, POD, pod)
    {
        const struct kvmig__pod_terms *terms = &pod->placement.pod_forbidden;

        if (pod == c->pod || kvmig__pod_is_final(pod))
            continue;
        for (size_t i = 0; i < terms->n; i++) {
            const struct kvmig__pod_term *term = &terms->v[i];

            if (in_namespaces(&term->namespaces, pod->meta.ns, c->vmi->meta.ns) &&
                selects(&term->selector, own_labels(c)) && same_domain(c, pod, term->topology_key))
                note_repelled(c, pod, term->topology_key, "another pod");
        }
    }
}

/* ---- required affinity ---- */

static bool is_attracted(const struct kvmig__kube_check *c, const struct kvmig__pod_term *term)
{
    KVMIG__KUBE_EACH(c->kube, POD, pod)
    {
        if (!kvmig__pod_is_final(pod) && in_namespaces(&term->namespaces, c->vmi->meta.ns, pod->meta.ns) &&
            selects(&term->selector, &pod->meta.labels) && same_domain(c, pod, term->topology_key))
            return true;
    }
    return false;
}

static void check_affinity(const struct kvmig__kube_check *c)
{
    const struct kvmig__pod_terms *terms = &c->vmi->placement.pod_required;

    for (size_t i = 0; i < terms->n; i++) {
        struct kvmig__detail d = { 0 };

        if (is_attracted(c, &terms->v[i]))
            continue;
        kvmig__detail_str(&d, "topology_key", terms->v[i].topology_key);
        kvmig__kube_note(c, "POD_AFFINITY_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__kube_object_target(c), &d,
                         "Make sure that such a pod runs there; else the target stays unschedulable.",
                         "The VM must run next to a pod that is not seen in the %s of node %s.",
                         terms->v[i].topology_key ? terms->v[i].topology_key : "topology", c->target_name);
    }
}

/* ---- topology spread ---- */

struct counts {
    uint64_t target, least;
};

static uint64_t count_in(const struct kvmig__kube_check *c, const struct kvmig__spread *spread, const char *domain)
{
    uint64_t n = 0;

    KVMIG__KUBE_EACH(c->kube, POD, pod)
    {
        if (!kvmig__pod_is_final(pod) && !pod->meta.deleted_ms && kvmig__str_eq(pod->meta.ns, c->vmi->meta.ns) &&
            selects(&spread->selector, &pod->meta.labels) && pod->node &&
            kvmig__str_eq(domain_of(c->kube, pod->node, spread->topology_key), domain))
            n++;
    }
    return n;
}

static struct counts count(const struct kvmig__kube_check *c, const struct kvmig__spread *spread, const char *domain)
{
    struct counts counts = { .target = count_in(c, spread, domain), .least = KVMIG__UNKNOWN };

    KVMIG__KUBE_EACH(c->kube, NODE, node)
    {
        const char *other = kvmig__pairs_get(&node->meta.labels, spread->topology_key);
        uint64_t n;

        if (!other)
            continue;
        n = count_in(c, spread, other);
        counts.least = n < counts.least ? n : counts.least;
    }
    return counts;
}

static void check_spread(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->placement.spread.n; i++) {
        const struct kvmig__spread *spread = &c->vmi->placement.spread.v[i];
        const char *domain =
            spread->topology_key ? kvmig__pairs_get(&c->target->meta.labels, spread->topology_key) : NULL;
        struct kvmig__detail d = { 0 };
        struct counts counts;

        if (!domain || !spread->max_skew)
            continue;
        counts = count(c, spread, domain);
        if (counts.target + selects(&spread->selector, own_labels(c)) <= counts.least + spread->max_skew)
            continue;
        kvmig__detail_str(&d, "topology_key", spread->topology_key);
        kvmig__detail_uint(&d, "there", counts.target);
        kvmig__detail_uint(&d, "least", counts.least);
        kvmig__detail_uint(&d, "max_skew", spread->max_skew);
        kvmig__kube_note(c, "TOPOLOGY_SPREAD_VIOLATED", KVMIG_SEVERITY_WARN, kvmig__kube_object_target(c), &d,
                         "Choose a node in a domain with fewer of these pods.",
                         "As far as pods are seen, the VM's topology spread over %s does not admit node %s.",
                         spread->topology_key, c->target_name);
    }
}

void kvmig__kube_check_neighbours(const struct kvmig__kube_check *c)
{
    if (!kvmig__kube_is_known(c->kube, KVMIG__KUBE_POD))
        return;
    check_own_anti_affinity(c);
    check_others_anti_affinity(c);
    check_affinity(c);
    check_spread(c);
}
