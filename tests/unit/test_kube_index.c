/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The index of a planning against the plain reading of the whole store, in clusters made at random; and that what a check of one node
 * looks at is what concerns that node: so that the cost of a plan grows with the cluster, and not with its square.
 */
#include "kube_fixture.h"
#include "plan/kube_checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONE "zone"

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 16;
}

struct world {
    struct cluster c;
    struct kvmig__kube_check check;
    struct kvmig__kube_index index;
    size_t nodes, pods;
};

static void add_nodes(struct world *w, size_t n)
{
    char name[32], zone[32];

    for (size_t i = 0; i < n; i++) {
        struct kvmig__kube_node *node;

        snprintf(name, sizeof(name), "node-%03zu", i);
        snprintf(zone, sizeof(zone), "z%zu", i % 5);
        node = cluster_add(&w->c, KVMIG__KUBE_NODE, NULL, name);
        label(node, "kubernetes.io/hostname", name);
        label(node, ZONE, zone);
        amount(&node->allocatable, "memory", 64 * GIB * 1000);
    }
    w->nodes = n;
}

static void repel(struct kvmig__pod_terms *terms, const char *key, const char *app)
{
    struct kvmig__pod_term *term = KVMIG__PUSH(terms);
    struct kvmig__requirement *requirement = KVMIG__PUSH(&term->selector);

    term->topology_key = kvmig__strdup(key);
    requirement->key = kvmig__strdup("app");
    requirement->op = kvmig__strdup("In");
    kvmig__strlist_add(&requirement->values, app);
}

static void add_pods(struct world *w, size_t n, uint32_t *seed)
{
    static const char *const phases[] = { "Running", "Running", "Pending", "Succeeded", "Failed" };
    char name[64], node[32];

    for (size_t i = 0; i < n; i++) {
        struct kvmig__kube_pod *pod;

        snprintf(name, sizeof(name), "pod-%05u-%zu", (unsigned)next(seed), i);
        snprintf(node, sizeof(node), "node-%03zu", next(seed) % (w->nodes + 1)); /* one of them does not exist */
        pod = cluster_add(&w->c, KVMIG__KUBE_POD, "ns1", name);
        pod->phase = kvmig__strdup(phases[next(seed) % KVMIG__N_ELEMENTS(phases)]);
        pod->node = next(seed) % 8 ? kvmig__strdup(node) : NULL;
        label(pod, "app", next(seed) % 4 ? "web" : "db");
        amount(&((struct kvmig__kube_container *)KVMIG__PUSH(&pod->containers))->requests, "memory",
               (next(seed) % 8) * GIB * 1000);
        if (!(next(seed) % 4))
            repel(&pod->placement.pod_forbidden, next(seed) % 2 ? ZONE : "kubernetes.io/hostname", "db");
    }
    w->pods = n;
}

static void make(struct world *w, size_t nodes, size_t pods, uint32_t seed)
{
    *w = (struct world){ .nodes = nodes };
    cluster_init(&w->c);
    add_nodes(w, nodes);
    label(cluster_vm(&w->c), "app", "db");
    repel(&cluster_vm(&w->c)->placement.pod_forbidden, ZONE, "db");
    add_pods(w, pods, &seed);
    kvmig__kube_lookup_make(&w->c.kube);
    w->check = (struct kvmig__kube_check){ .kube = &w->c.kube, .vmi = cluster_vm(&w->c), .index = &w->index };
    kvmig__kube_index_init(&w->index, &w->check);
}

static void unmake(struct world *w)
{
    kvmig__kube_index_clear(&w->index);
    cluster_clear(&w->c);
}

static bool lives_on(const struct kvmig__kube_pod *pod, const char *node)
{
    return kvmig__str_eq(pod->node, node) && !kvmig__pod_is_final(pod);
}

static void the_pods_on_a_node_are_those_of_the_store(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct world w;
        size_t sum = 0;

        make(&w, 1 + seed % 7, seed * 10, seed);
        KVMIG__KUBE_EACH(&w.c.kube, NODE, node)
        {
            struct kvmig__kube_base *base = w.index.base;
            const struct kvmig__kube_column *memory = kvmig__kube_base_column(base, base->nodes, "memory");
            size_t at = kvmig__kube_base_find(base, node->meta.name), expected = 0;
            size_t n = base->first[at + 1] - base->first[at];
            uint64_t used = 0, left = kvmig__amounts_get(&node->allocatable, "memory");

            KVMIG__KUBE_EACH(&w.c.kube, POD, pod)
            {
                if (!lives_on(pod, node->meta.name))
                    continue;
                assert_true(expected < n);
                assert_ptr_equal(base->pods[base->first[at] + expected], pod); /* in the order of the store */
                expected++;
                used += kvmig__kube_pod_request(pod, "memory");
            }
            assert_int_equal(n, expected);
            sum += n;
            if (left != KVMIG__UNKNOWN)
                left = used < left ? left - used : 0;
            assert_non_null(memory);
            assert_true(memory->left[at] == left);
        }
        assert_int_equal(w.index.base->n_pods, sum); /* each is looked at once, whatever the number of nodes */
        unmake(&w);
    }
}

/* As Kubernetes has it: some pod of that app runs in the same domain. */
static bool is_repelled(const struct world *w, const struct kvmig__kube_node *node)
{
    KVMIG__KUBE_EACH(&w->c.kube, POD, pod)
    {
        const struct kvmig__kube_node *there =
            kvmig__pod_is_final(pod) ? NULL : KVMIG__KUBE_FIND(&w->c.kube, NODE, NULL, pod->node);

        if (!there)
            continue;
        if (kvmig__str_eq(kvmig__pairs_get(&pod->meta.labels, "app"), "db") &&
            kvmig__pairs_get(&there->meta.labels, ZONE) &&
            kvmig__str_eq(kvmig__pairs_get(&there->meta.labels, ZONE), kvmig__pairs_get(&node->meta.labels, ZONE)))
            return true;
        for (size_t i = 0; i < pod->placement.pod_forbidden.n; i++) {
            const char *key = pod->placement.pod_forbidden.v[i].topology_key;

            if (kvmig__pairs_get(&there->meta.labels, key) &&
                kvmig__str_eq(kvmig__pairs_get(&there->meta.labels, key), kvmig__pairs_get(&node->meta.labels, key)))
                return true;
        }
    }
    return false;
}

static void neighbours_repel_as_the_whole_store_says(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct world w;

        make(&w, 1 + seed % 7, seed, seed);
        KVMIG__KUBE_EACH(&w.c.kube, NODE, node)
        {
            struct kvmig_findings findings = { 0 };
            struct kvmig__kube_check check = w.check;

            check.target = node;
            check.target_name = node->meta.name;
            check.out = &findings;
            kvmig__kube_check_neighbours(&check);
            assert_int_equal(kvmig__findings_has(&findings, "POD_ANTI_AFFINITY"), is_repelled(&w, node));
            kvmig__findings_clear(&findings);
        }
        unmake(&w);
    }
}

static void only_neighbours_of_the_domain_are_looked_at(void **state)
{
    const struct kvmig__kube_neighbour *there;
    struct world w;
    size_t n, sum = 0;

    (void)state;
    make(&w, 50, 2000, 7);
    for (size_t zone = 0; zone < 5; zone++) {
        char domain[32];

        snprintf(domain, sizeof(domain), "z%zu", zone);
        there = kvmig__kube_neighbours_in(&w.index, 0, ZONE, domain, &n);
        for (size_t i = 0; i < n; i++) {
            assert_string_equal(there[i].domain, domain);
            assert_int_equal(there[i].rule, 0);
        }
        assert_true(n > 0);
        sum += n;
    }
    assert_true(sum < w.pods);
    assert_null(kvmig__kube_neighbours_in(&w.index, 0, ZONE, "z9", &n));
    assert_int_equal(n, 0);
    assert_null(kvmig__kube_neighbours_in(&w.index, 99, ZONE, "z1", &n));
    unmake(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pods_on_a_node_are_those_of_the_store),
        cmocka_unit_test(neighbours_repel_as_the_whole_store_says),
        cmocka_unit_test(only_neighbours_of_the_domain_are_looked_at),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
