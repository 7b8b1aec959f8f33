/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The choice of the target among nodes: zone, spread, links, CPU, memory, and nodes that the caller does not want; node by node and
 * by classes of nodes alike.
 */
#include "kube_fixture.h"
#include "plan/learned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONE "topology.kubernetes.io/zone"
#define FEATURE "cpu-feature.node.kubevirt.io/"

static struct cluster cluster;

static int setup(void **state)
{
    (void)state;
    cluster_init(&cluster);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cluster_clear(&cluster);
    return 0;
}

static void assert_first(const char *node, const char *because)
{
    const struct kvmig_plan *plan = cluster_plan(&cluster);

    assert_string_equal(kvmig_plan_target(plan), node); /* found without writing out the candidates */
    assert_string_equal(kvmig_plan_candidate_host(plan, 0), node);
    if (!strstr(kvmig_plan_candidate_reason(plan, 0), because))
        fail_msg("\"%s\" does not tell \"%s\"", kvmig_plan_candidate_reason(plan, 0), because);
}

static void the_zone_of_the_source_comes_first(void **state)
{
    (void)state;
    label(cluster_node(&cluster, "alpha"), ZONE, "a");
    label(cluster_node(&cluster, "beta"), ZONE, "b");
    assert_first("beta", "nearer to the source: another zone (gamma: not known)");
    label(cluster_node(&cluster, "gamma"), ZONE, "a");
    assert_first("gamma", "nearer to the source: the same zone (beta: another zone)");
}

static void links_that_were_learned_count(void **state)
{
    struct kvmig__learned learned = { 0 };

    (void)state;
    cluster.request.learned = &learned;
    kvmig__learned_link(&learned, "alpha", "gamma")->line = 1 << 30;
    kvmig__learned_link(&learned, "alpha", "beta")->line = 100 << 20;
    kvmig__learned_link(&learned, "alpha", "elsewhere")->line = 1; /* not in the view */
    assert_string_equal(kvmig_plan_candidate_host(cluster_plan(&cluster), 0), "gamma");
    assert_non_null(strstr(kvmig_plan_candidate_reason(cluster.plan, 0), "a faster link: 1 GiB/s"));
    cluster.request.learned = NULL;
    kvmig__learned_clear(&learned);
}

static void faster_links_come_first(void **state)
{
    struct kvmig__link_speed *link = KVMIG__PUSH(&cluster.request.links);

    (void)state;
    link->host = kvmig__strdup("gamma");
    link->bytes_per_s = 1 << 30;
    link = KVMIG__PUSH(&cluster.request.links);
    link->host = kvmig__strdup("nowhere");
    link->bytes_per_s = 1;
    assert_first("gamma", "a faster link: 1 GiB/s (beta: not known)");
}

static void a_cpu_like_the_sources_comes_first(void **state)
{
    (void)state;
    label(cluster_node(&cluster, "beta"), FEATURE "avx512f", "true");
    assert_first("gamma", "features that differ): 0 (beta: 1)");
}

/* Peers of the VM's spread; the VM itself is none. */
static void fewer_peers_come_first(void **state)
{
    struct kvmig__spread *spread = KVMIG__PUSH(&cluster_vm(&cluster)->placement.spread);
    struct kvmig__requirement *app = KVMIG__PUSH(&spread->selector);
    struct kvmig__kube_pod *peer;

    (void)state;
    spread->topology_key = kvmig__strdup("kubernetes.io/hostname");
    spread->max_skew = 5;
    app->key = kvmig__strdup("app");
    app->op = kvmig__strdup("Exists");
    peer = cluster_add_launcher(&cluster, "virt-launcher-vm1-x", "alpha");
    label(peer, "app", "db");
    peer = cluster_add(&cluster, KVMIG__KUBE_POD, "ns1", "peer");
    kvmig__str_set(&peer->node, "beta");
    kvmig__str_set(&peer->phase, "Running");
    label(peer, "app", "db");
    assert_first("gamma", "fewer of the VM's peers are near: 0 (beta: 1)");
}

/* ---- nodes that are not wanted ---- */

static void excluded_nodes_are_no_candidates(void **state)
{
    const struct kvmig_plan *plan;

    (void)state;
    kvmig__strlist_add(&cluster.request.exclude, "beta");
    plan = cluster_plan(&cluster);
    assert_int_equal(kvmig_plan_candidate_count(plan), 1);
    assert_string_equal(kvmig_plan_target(plan), "gamma");
    kvmig__strlist_add(&cluster.request.exclude, "gamma");
    plan = cluster_plan(&cluster);
    assert_int_equal(kvmig_plan_verdict(plan), KVMIG_VERDICT_BLOCKED);
    assert_non_null(strstr(kvmig_finding_detail(finding(&plan->findings, "NO_FEASIBLE_TARGET")), "\"excluded\""));
}

static void labels_choose_nodes(void **state)
{
    const struct kvmig_plan *plan;

    (void)state;
    label(cluster_node(&cluster, "gamma"), "rack", "r2");
    kvmig__strlist_add(&cluster.request.target_labels, "rack=r2");
    plan = cluster_plan(&cluster);
    assert_int_equal(kvmig_plan_candidate_count(plan), 1);
    assert_string_equal(kvmig_plan_target(plan), "gamma");
    kvmig__strlist_add(&cluster.request.target_labels, "rack");
    assert_string_equal(kvmig_plan_target(cluster_plan(&cluster)), "gamma");
    kvmig__strlist_add(&cluster.request.target_labels, "rack=r3");
    assert_null(kvmig_plan_target(cluster_plan(&cluster)));
}

static void assert_fails(int32_t code, const char *option)
{
    const struct kvmig__view view = { .kube = &cluster.kube };
    struct kvmig_plan *plan;

    assert_int_equal(kvmig__plan_make(&view, &cluster.request, NULL, &plan), -code);
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), option));
}

static void what_contradicts_itself_or_is_not_there_is_an_error(void **state)
{
    (void)state;
    kvmig__strlist_add(&cluster.request.exclude, "omega");
    assert_fails(KVMIG_ENOHOST, "exclude");
    kvmig__str_set(&cluster.request.target, "beta");
    kvmig__str_set(&cluster.request.exclude.v[0], "beta");
    assert_fails(EINVAL, "exclude");
    kvmig__str_set(&cluster.request.exclude.v[0], "gamma");
    kvmig__strlist_add(&cluster.request.target_labels, "rack");
    assert_fails(EINVAL, "target_labels");
}

/* KubeVirt before 1.6 cannot be told the target, so that it may go where it must not. */
static void not_to_go_somewhere_needs_a_pinned_target(void **state)
{
    (void)state;
    cluster_add_kubevirt(&cluster, "v1.5.0");
    assert_vm_has(&cluster, "TARGET_NOT_PINNED", KVMIG_SEVERITY_INFO, NULL);
    kvmig__strlist_add(&cluster.request.exclude, "beta");
    assert_vm_has(&cluster, "TARGET_NOT_PINNED", KVMIG_SEVERITY_WARN, NULL);
}

/* In a large cluster nodes are judged by class. */
static void classes_are_ranked_as_nodes_are(void **state)
{
    char name[16];

    (void)state;
    label(cluster_node(&cluster, "alpha"), ZONE, "a");
    for (size_t i = 0; i < 400; i++) {
        snprintf(name, sizeof(name), "n%03zu", i);
        label(cluster_add_node(&cluster, name), ZONE, i == 123 ? "a" : "b");
    }
    assert_first("n123", "nearer to the source");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(the_zone_of_the_source_comes_first),
        TEST(faster_links_come_first),
        TEST(links_that_were_learned_count),
        TEST(a_cpu_like_the_sources_comes_first),
        TEST(fewer_peers_come_first),
        TEST(excluded_nodes_are_no_candidates),
        TEST(labels_choose_nodes),
        TEST(what_contradicts_itself_or_is_not_there_is_an_error),
        TEST(not_to_go_somewhere_needs_a_pinned_target),
        TEST(classes_are_ranked_as_nodes_are),
#undef TEST
    };

    return !!cmocka_run_group_tests_name("kube plan rank", tests, NULL, NULL);
}
