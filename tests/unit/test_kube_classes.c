/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Judging nodes by class gives what judging each by itself gives: in large clusters made at random, with VMs that ask for what is
 * common to many nodes and for what tells them apart. A VM that is bound to a clock has every node judged by itself, which is what
 * the answers are compared with.
 */
#include "kube_fixture.h"
#include "plan/kube_checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 400 /* more than are always judged one by one */

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 16;
}

static void add_node(struct cluster *c, size_t i, uint32_t *seed)
{
    static const char *const models[] = { "Skylake-Server", "Cascadelake-Server", "EPYC-Rome" };
    char name[32], text[64];
    struct kvmig__kube_node *node;

    snprintf(name, sizeof(name), "node-%03zu", i);
    node = cluster_add(c, KVMIG__KUBE_NODE, NULL, name);
    label(node, "kubernetes.io/hostname", name);
    snprintf(text, sizeof(text), "serial-%zu", i * 7);
    label(node, "example.com/serial", text);
    label(node, "zone", next(seed) % 2 ? "z1" : "z2");
    label(node, KVMIG__LABEL_SCHEDULABLE, next(seed) % 20 ? "true" : "false");
    snprintf(text, sizeof(text), KVMIG__LABEL_MODEL "%s", models[next(seed) % 3]);
    label(node, text, "true");
    if (next(seed) % 3)
        label(node, KVMIG__LABEL_FEATURE "avx", "true");
    if (!(next(seed) % 10)) {
        struct kvmig__taint *taint = KVMIG__PUSH(&node->taints);

        taint->key = kvmig__strdup("dedicated");
        taint->effect = kvmig__strdup("NoSchedule");
    }
    node->unschedulable = !(next(seed) % 15);
    condition(&node->conditions, "Ready", next(seed) % 12 ? "True" : "False", NULL, NULL);
    snprintf(text, sizeof(text), "uuid-%u", (unsigned)(next(seed) % 300));
    node->system_uuid = kvmig__strdup(text);
    amount(&node->allocatable, "cpu", 8000);
    amount(&node->allocatable, "memory", (next(seed) % 16) * GIB * 1000);
    if (next(seed) % 2)
        amount(&node->allocatable, "example.com/gpu", 2000);
}

static void add_pod(struct cluster *c, size_t i, uint32_t *seed)
{
    char name[32], node[32];
    struct kvmig__kube_pod *pod;

    snprintf(name, sizeof(name), "pod-%04zu", i);
    snprintf(node, sizeof(node), "node-%03u", (unsigned)(next(seed) % NODES));
    pod = cluster_add(c, KVMIG__KUBE_POD, "ns1", name);
    pod->phase = kvmig__strdup("Running");
    pod->node = kvmig__strdup(node);
    label(pod, "app", next(seed) % 40 ? "web" : "db");
    amount(&((struct kvmig__kube_container *)KVMIG__PUSH(&pod->containers))->requests, "memory",
           (next(seed) % 4) * GIB * 1000);
}

static void repel_db(struct kvmig__kube_vmi *vmi)
{
    struct kvmig__pod_term *term = KVMIG__PUSH(&vmi->placement.pod_forbidden);
    struct kvmig__requirement *requirement = KVMIG__PUSH(&term->selector);

    term->topology_key = kvmig__strdup("kubernetes.io/hostname");
    requirement->key = kvmig__strdup("app");
    requirement->op = kvmig__strdup("In");
    kvmig__strlist_add(&requirement->values, "db");
}

static void ask_serial(struct kvmig__kube_vmi *vmi, const char *op)
{
    struct kvmig__term *term = KVMIG__PUSH(&vmi->placement.node_required);
    struct kvmig__requirement *requirement = KVMIG__PUSH(term);

    requirement->key = kvmig__strdup("example.com/serial");
    requirement->op = kvmig__strdup(op);
    kvmig__strlist_add(&requirement->values, "serial-700");
    kvmig__strlist_add(&requirement->values, "serial-1400");
}

static void make(struct cluster *c, uint32_t seed)
{
    struct kvmig__kube_vmi *vmi;

    cluster_init(c);
    for (size_t i = 0; i < NODES; i++)
        add_node(c, i, &seed);
    for (size_t i = 0; i < 3 * NODES; i++)
        add_pod(c, i, &seed);
    cluster_add_launcher(c, "virt-launcher-vm1", "alpha");
    vmi = cluster_vm(c);
    label(cluster_node(c, "alpha"), KVMIG__LABEL_SCHEDULABLE, "true");
    cluster_node(c, "alpha")->system_uuid = kvmig__strdup("UUID-17");
    kvmig__str_set(&vmi->domain.cpu_model, "Skylake-Server");
    if (next(&seed) % 2)
        kvmig__pairs_set(&vmi->placement.node_selector, "zone", "z1");
    if (next(&seed) % 3 == 0)
        kvmig__strlist_add(&vmi->domain.gpus, "example.com/gpu");
    if (next(&seed) % 2)
        repel_db(vmi);
    if (next(&seed) % 3 == 0)
        ask_serial(vmi, next(&seed) % 2 ? "In" : "NotIn");
    if (next(&seed) % 4 == 0)
        kvmig__pairs_set(&vmi->placement.node_selector, "kubernetes.io/hostname", "node-123");
    if (next(&seed) % 3 == 0)
        cluster_bind(c, "root", "local", "node-200");
}

static void assert_same_findings(const struct kvmig_findings *a, const struct kvmig_findings *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_string_equal(a->v[i].code, b->v[i].code);
        assert_int_equal(a->v[i].severity, b->v[i].severity);
        assert_true(kvmig__str_eq(a->v[i].object, b->v[i].object));
        assert_true(kvmig__str_eq(a->v[i].host, b->v[i].host));
        assert_true(kvmig__str_eq(a->v[i].message, b->v[i].message));
        assert_true(kvmig__str_eq(a->v[i].detail, b->v[i].detail));
        assert_true(kvmig__str_eq(a->v[i].hint, b->v[i].hint));
    }
}

static void assert_same(const struct kvmig_plan *a, const struct kvmig_plan *b)
{
    const struct kvmig__candidates *x = kvmig__plan_candidates(a), *y = kvmig__plan_candidates(b);

    assert_int_equal(a->verdict, b->verdict);
    assert_true(kvmig__str_eq(a->target, b->target));
    assert_same_findings(&a->findings, &b->findings);
    assert_int_equal(x->n, y->n);
    for (size_t i = 0; i < x->n; i++) {
        assert_string_equal(x->v[i].host, y->v[i].host);
        assert_int_equal(x->v[i].verdict, y->v[i].verdict);
        assert_same_findings(&x->v[i].findings, &y->v[i].findings);
    }
}

static void classes_say_what_each_node_says(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 12; seed++) {
        struct kvmig_plan *by_class;
        struct cluster c;

        make(&c, seed);
        by_class = kvmig_plan_ref(cluster_plan(&c));
        cluster_vm(&c)->tsc_frequency_hz = 1; /* of a guest that does not need it: nothing else follows */
        assert_same(by_class, cluster_plan(&c));
        if (by_class->target && kvmig__plan_candidates(by_class)->n)
            assert_string_equal(by_class->target, kvmig__plan_candidates(by_class)->v[0].host);
        kvmig_plan_unref(by_class);
        cluster_clear(&c);
    }
}

static void many_nodes_are_few_classes(void **state)
{
    struct kvmig__kube_base *base;
    struct cluster c;

    (void)state;
    make(&c, 3);
    kvmig__kube_lookup_make(&c.kube);
    base = kvmig__kube_base(&c.kube);
    assert_true(kvmig__kube_base_own_key(base, "kubernetes.io/hostname"));
    assert_true(kvmig__kube_base_own_key(base, "example.com/serial"));
    assert_false(kvmig__kube_base_own_key(base, "zone"));
    assert_ptr_equal(kvmig__kube_base(&c.kube), base); /* once per state of the store */
    cluster_clear(&c);
}

static void a_kept_look_up_ends_with_the_first_change(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_plan(&c);
    assert_null(c.kube.lookup); /* a store that others may change keeps none */
    c.kube.keeps_lookup = true;
    cluster_plan(&c);
    assert_non_null(c.kube.lookup);
    cluster_add(&c, KVMIG__KUBE_NODE, NULL, "delta");
    assert_null(c.kube.lookup);
    assert_int_equal(kvmig__plan_candidates(cluster_plan(&c))->n, 3);
    kvmig__kube_remove(&c.kube, KVMIG__KUBE_NODE, NULL, "delta", NULL);
    assert_null(c.kube.lookup);
    assert_int_equal(kvmig__plan_candidates(cluster_plan(&c))->n, 2);
    cluster_clear(&c);
}

static void candidates_outlive_the_store(void **state)
{
    struct kvmig_plan *plan;
    struct cluster c;
    char *json = NULL;

    (void)state;
    make(&c, 5);
    plan = kvmig_plan_ref(cluster_plan(&c));
    cluster_clear(&c);
    assert_int_equal(kvmig_plan_candidate_count(plan), NODES + 2);
    assert_int_equal(kvmig_plan_to_json(plan, &json), 0);
    assert_null(strstr(json, "kvmig-node"));
    free(json);
    kvmig_plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_say_what_each_node_says),
        cmocka_unit_test(many_nodes_are_few_classes),
        cmocka_unit_test(a_kept_look_up_ends_with_the_first_change),
        cmocka_unit_test(candidates_outlive_the_store),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
