/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner for KubeVirt, node by node: labels, readiness, taints, neighbours, room, devices. Every case changes beta
 * and leaves gamma as it is, so that a finding about gamma would be a false one.
 */
#include "kube_fixture.h"

#include <stdlib.h>
#include <string.h>

#define HOSTNAME "kubernetes.io/hostname"

static void assert_blocked(struct cluster *c, const char *code, const char *piece)
{
    const struct kvmig_finding *found = assert_node_has(c, "beta", code, KVMIG_SEVERITY_BLOCKER, piece);

    assert_string_equal(found->host, "beta");
    assert_int_equal(candidate(c, "beta")->verdict, KVMIG_VERDICT_BLOCKED);
    assert_int_equal(candidate(c, "gamma")->verdict, KVMIG_VERDICT_MIGRATABLE);
    assert_string_equal(c->plan->target, "gamma");
}

/* ---- the node itself ---- */

static void a_node_must_be_ready_and_schedulable(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_node(&c, "beta")->unschedulable = true;
    assert_blocked(&c, "NODE_NOT_SCHEDULABLE", "cordoned");
    cluster_node(&c, "beta")->unschedulable = false;
    condition(&cluster_node(&c, "beta")->conditions, "Ready", "Unknown", NULL, NULL);
    assert_blocked(&c, "NODE_NOT_SCHEDULABLE", "not Ready");
    condition(&cluster_node(&c, "beta")->conditions, "Ready", "True", NULL, NULL);
    label(cluster_node(&c, "beta"), "kubevirt.io/schedulable", "false");
    assert_blocked(&c, "NODE_NOT_SCHEDULABLE", "kubevirt.io/schedulable");
    label(cluster_node(&c, "beta"), "kubevirt.io/schedulable", NULL);
    assert_blocked(&c, "NODE_NOT_SCHEDULABLE", "kubevirt.io/schedulable");
    label(cluster_node(&c, "alpha"), "kubevirt.io/schedulable", NULL);
    label(cluster_node(&c, "gamma"), "kubevirt.io/schedulable", NULL);
    assert_nothing(&c, "NODE_NOT_SCHEDULABLE"); /* these labels are not told at all */
    cluster_clear(&c);
}

static void heartbeat(struct cluster *c, const char *node, const char *time)
{
    kvmig__pairs_set(&cluster_node(c, node)->meta.annotations, "kubevirt.io/heartbeat", time);
}

static void a_heartbeat_is_old_against_those_of_the_others(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    heartbeat(&c, "beta", "2022-02-28T23:58:40Z");
    assert_nothing(&c, "NODE_NOT_SCHEDULABLE"); /* however long ago: all there is */
    heartbeat(&c, "gamma", "2022-03-01T00:03:10Z");
    assert_nothing(&c, "NODE_NOT_SCHEDULABLE");
    heartbeat(&c, "gamma", "2022-03-01T00:04:10Z");
    assert_blocked(&c, "NODE_NOT_SCHEDULABLE", "\"behind_min\": 6");
    heartbeat(&c, "gamma", "2023-01-01T00:00:00Z");
    assert_blocked(&c, "NODE_NOT_SCHEDULABLE", "\"heartbeat\"");
    heartbeat(&c, "beta", "some time");
    assert_nothing(&c, "NODE_NOT_SCHEDULABLE");
    cluster_clear(&c);
}

static struct kvmig__taint *taint(struct cluster *c, const char *key, const char *effect)
{
    struct kvmig__taint *taint = KVMIG__PUSH(&cluster_node(c, "beta")->taints);

    taint->key = kvmig__strdup(key);
    taint->effect = kvmig__strdup(effect);
    return taint;
}

static void taints_need_a_matching_toleration(void **state)
{
    struct kvmig__toleration *toleration;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    taint(&c, "soft", "PreferNoSchedule");
    assert_nothing(&c, "TAINT_NOT_TOLERATED");
    taint(&c, "hard", "NoSchedule")->value = kvmig__strdup("x");
    assert_blocked(&c, "TAINT_NOT_TOLERATED", "\"key\": \"hard\"");
    toleration = KVMIG__PUSH(&cluster_vm(&c)->placement.tolerations);
    toleration->key = kvmig__strdup("hard");
    assert_blocked(&c, "TAINT_NOT_TOLERATED", NULL); /* of another value */
    toleration->value = kvmig__strdup("x");
    assert_nothing(&c, "TAINT_NOT_TOLERATED");
    toleration->effect = kvmig__strdup("NoExecute");
    assert_blocked(&c, "TAINT_NOT_TOLERATED", NULL);
    kvmig__str_set(&toleration->effect, NULL);
    kvmig__str_set(&toleration->key, NULL);
    assert_blocked(&c, "TAINT_NOT_TOLERATED", NULL);
    toleration->op = kvmig__strdup("Exists");
    assert_nothing(&c, "TAINT_NOT_TOLERATED"); /* everything */
    cluster_clear(&c);
}

static void two_nodes_of_one_uuid_are_one_to_libvirt(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_node(&c, "alpha")->system_uuid = kvmig__strdup("ABCD");
    cluster_node(&c, "beta")->system_uuid = kvmig__strdup("abcd");
    assert_blocked(&c, "DUPLICATE_HOST_UUID", "abcd");
    cluster_clear(&c);
}

/* ---- selectors ---- */

static void selectors_of_vm_and_cluster_must_be_met(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    kvmig__pairs_set(&kubevirt->node_selectors, "pool", "vms");
    label(cluster_node(&c, "alpha"), "pool", "vms");
    label(cluster_node(&c, "gamma"), "pool", "vms");
    assert_blocked(&c, "NODE_SELECTOR_MISMATCH", "pool=vms");
    kvmig__pairs_set(&cluster_vm(&c)->placement.node_selector, "disk", "ssd");
    label(cluster_node(&c, "alpha"), "disk", "ssd");
    label(cluster_node(&c, "gamma"), "disk", "ssd");
    assert_blocked(&c, "NODE_SELECTOR_MISMATCH", "\"pool=vms\", \"disk=ssd\"");
    label(cluster_node(&c, "beta"), "kubernetes.io/arch", "arm64");
    assert_blocked(&c, "NODE_SELECTOR_MISMATCH", "kubernetes.io/arch=amd64");
    cluster_clear(&c);
}

static void a_selector_for_the_source_pins_the_vm(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__pairs_set(&cluster_vm(&c)->placement.node_selector, HOSTNAME, "alpha");
    assert_string_equal(assert_vm_has(&c, "NODE_SELECTOR_PINS_SOURCE", KVMIG_SEVERITY_BLOCKER, HOSTNAME)->object,
                        "vm/ns1/vm1");
    c.kube.kinds[KVMIG__KUBE_NODE].known = KVMIG__KUBE_UNKNOWN;
    assert_vm_has(&c, "NODE_SELECTOR_PINS_SOURCE", KVMIG_SEVERITY_BLOCKER, "alpha");
    cluster_clear(&c);

    cluster_init(&c);
    kvmig__pairs_set(&cluster_vm(&c)->placement.node_selector, "rack", "7");
    label(cluster_node(&c, "alpha"), "rack", "7");
    assert_vm_has(&c, "NODE_SELECTOR_PINS_SOURCE", KVMIG_SEVERITY_BLOCKER, "rack");
    label(cluster_node(&c, "gamma"), "rack", "7");
    assert_blocked(&c, "NODE_SELECTOR_MISMATCH", "rack=7");
    assert_nothing(&c, "NODE_SELECTOR_PINS_SOURCE");
    cluster_clear(&c);
}

static void required_node_affinity_is_followed(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    require_host(&cluster_vm(&c)->placement.node_required, "alpha");
    assert_vm_has(&c, "NODE_SELECTOR_PINS_SOURCE", KVMIG_SEVERITY_BLOCKER, "alpha");
    require_host(&cluster_vm(&c)->placement.node_required, "gamma");
    assert_blocked(&c, "NODE_AFFINITY_MISMATCH", HOSTNAME);
    assert_nothing(&c, "NODE_SELECTOR_PINS_SOURCE");
    cluster_clear(&c);
}

/* ---- neighbours ---- */

static void select_app(struct kvmig__term *selector)
{
    struct kvmig__requirement *requirement = KVMIG__PUSH(selector);

    requirement->key = kvmig__strdup("app");
    requirement->op = kvmig__strdup("In");
    kvmig__strlist_add(&requirement->values, "web");
}

static struct kvmig__kube_pod *add_neighbour(struct cluster *c, const char *name, const char *node)
{
    struct kvmig__kube_pod *pod = cluster_add(c, KVMIG__KUBE_POD, "ns1", name);

    pod->node = kvmig__strdup(node);
    pod->phase = kvmig__strdup("Running");
    label(pod, "app", "web");
    return pod;
}

static void anti_affinity_counts_in_both_directions(void **state)
{
    struct kvmig__pod_term *term;
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    term = KVMIG__PUSH(&cluster_vm(&c)->placement.pod_forbidden);
    term->topology_key = kvmig__strdup(HOSTNAME);
    select_app(&term->selector);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    pod = add_neighbour(&c, "web", "beta");
    assert_blocked(&c, "POD_ANTI_AFFINITY", "\"web\"");
    kvmig__strlist_add(&term->namespaces, "ns2");
    assert_nothing(&c, "POD_ANTI_AFFINITY");
    term = KVMIG__PUSH(&pod->placement.pod_forbidden); /* it does not want the VM either */
    term->topology_key = kvmig__strdup(HOSTNAME);
    select_app(&term->selector);
    assert_nothing(&c, "POD_ANTI_AFFINITY");
    label(cluster_vm(&c), "app", "web");
    assert_blocked(&c, "POD_ANTI_AFFINITY", NULL);
    kvmig__str_set(&pod->phase, "Succeeded");
    assert_nothing(&c, "POD_ANTI_AFFINITY");
    cluster_clear(&c);
}

static void a_neighbour_is_wanted_beside_the_vm(void **state)
{
    struct kvmig__pod_term *term;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    term = KVMIG__PUSH(&cluster_vm(&c)->placement.pod_required);
    term->topology_key = kvmig__strdup(HOSTNAME);
    select_app(&term->selector);
    assert_nothing(&c, "POD_AFFINITY_UNVERIFIED"); /* pods are not known */
    add_neighbour(&c, "web", "gamma");
    kvmig__strlist_add(&term->namespaces, "ns2");
    assert_node_has(&c, "beta", "POD_AFFINITY_UNVERIFIED", KVMIG_SEVERITY_INFO, HOSTNAME);
    kvmig__strlist_clear(&term->namespaces);
    assert_node_has(&c, "beta", "POD_AFFINITY_MISMATCH", KVMIG_SEVERITY_BLOCKER, HOSTNAME);
    assert_null(finding(&candidate(&c, "gamma")->findings, "POD_AFFINITY_UNVERIFIED"));
    assert_null(finding(&candidate(&c, "gamma")->findings, "POD_AFFINITY_MISMATCH"));
    cluster_clear(&c);
}

static void topology_spread_is_a_risk(void **state)
{
    struct kvmig__spread *spread;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    label(cluster_vm(&c), "app", "web");
    spread = KVMIG__PUSH(&cluster_vm(&c)->placement.spread);
    spread->topology_key = kvmig__strdup(HOSTNAME);
    spread->max_skew = 1;
    select_app(&spread->selector);
    add_neighbour(&c, "a", "alpha");
    assert_nothing(&c, "TOPOLOGY_SPREAD_VIOLATED");
    add_neighbour(&c, "b", "beta");
    assert_node_has(&c, "beta", "TOPOLOGY_SPREAD_VIOLATED", KVMIG_SEVERITY_WARN, "\"there\": 1");
    assert_null(finding(&candidate(&c, "gamma")->findings, "TOPOLOGY_SPREAD_VIOLATED"));
    cluster_clear(&c);
}

/* ---- room ---- */

static void a_second_launcher_must_fit(void **state)
{
    struct kvmig__kube_pod *other;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_launcher(&c, "source", "alpha");
    amount(&cluster_node(&c, "beta")->allocatable, "memory", 7 * GIB * 1000);
    amount(&cluster_node(&c, "beta")->allocatable, "cpu", 4000);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    other = cluster_add_launcher(&c, "other", "beta"); /* of another VM */
    label(other, "kubevirt.io/created-by", "another-uid");
    assert_blocked(&c, "INSUFFICIENT_MEMORY", "\"need\": 4294967296, \"have\": 3221225472");
    assert_null(finding(&candidate(&c, "beta")->findings, "INSUFFICIENT_CPU")); /* exactly enough */
    kvmig__str_set(&other->phase, "Succeeded");
    assert_nothing(&c, "INSUFFICIENT_MEMORY");
    amount(&cluster_node(&c, "beta")->told_usage, "memory",
           4 * GIB * 1000); /* an observation is more than what is seen */
    assert_blocked(&c, "INSUFFICIENT_MEMORY", "3221225472");
    cluster_clear(&c);
}

static void init_containers_and_overhead_count_as_in_the_scheduler(void **state)
{
    struct kvmig__kube_container *container;
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    pod = cluster_add_launcher(&c, "source", "alpha");
    container = KVMIG__PUSH(&pod->containers);
    container->init = true;
    amount(&container->limits, "cpu", 3000); /* no request: the limit is it */
    amount(&pod->overhead, "cpu", 250);
    amount(&cluster_node(&c, "beta")->allocatable, "cpu", 3249);
    assert_blocked(&c, "INSUFFICIENT_CPU", "\"need\": \"3.25\", \"have\": \"3.249\"");
    cluster_clear(&c);
}

static void devices_must_be_free(void **state)
{
    struct kvmig__kube_container *compute;
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    compute = &cluster_add_launcher(&c, "source", "alpha")->containers.v[0];
    amount(&compute->requests, "example.com/nic", 1000);
    assert_nothing(&c, "DEVICE_NOT_AVAILABLE"); /* no node tells of such devices */
    amount(&cluster_node(&c, "gamma")->allocatable, "example.com/nic", 4000);
    assert_blocked(&c, "DEVICE_NOT_AVAILABLE", "example.com/nic");
    amount(&cluster_node(&c, "beta")->allocatable, "example.com/nic", 1000);
    assert_nothing(&c, "DEVICE_NOT_AVAILABLE");
    pod = cluster_add(&c, KVMIG__KUBE_POD, "ns9", "taker");
    pod->node = kvmig__strdup("beta");
    amount(&KVMIG__PUSH(&pod->containers)->requests, "example.com/nic", 1000);
    assert_blocked(&c, "DEVICE_NOT_AVAILABLE", "\"have\": 0");
    cluster_clear(&c);
}

static void an_sriov_interface_needs_what_its_network_names(void **state)
{
    struct kvmig__kube_interface *interface;
    struct kvmig__kube_nad *nad;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    interface = KVMIG__PUSH(&cluster_vm(&c)->interfaces);
    interface->in_spec = true;
    interface->binding = kvmig__strdup("sriov");
    interface->multus = kvmig__strdup("fast");
    amount(&cluster_node(&c, "beta")->allocatable, "example.com/vf", 0);
    amount(&cluster_node(&c, "gamma")->allocatable, "example.com/vf", 8000);
    assert_nothing(&c, "DEVICE_NOT_AVAILABLE");
    nad = cluster_add(&c, KVMIG__KUBE_NAD, "ns1", "fast");
    kvmig__pairs_set(&nad->meta.annotations, "k8s.v1.cni.cncf.io/resourceName", "example.com/vf");
    assert_blocked(&c, "DEVICE_NOT_AVAILABLE", "example.com/vf");
    kvmig__str_set(&interface->multus, "ns1/fast");
    assert_blocked(&c, "DEVICE_NOT_AVAILABLE", "example.com/vf");
    cluster_clear(&c);
}

static void huge_pages_must_be_there_and_free(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_vm(&c)->domain.hugepages = kvmig__strdup("2Mi");
    amount(&cluster_node(&c, "gamma")->allocatable, "hugepages-2Mi", 4 * GIB * 1000);
    assert_blocked(&c, "DEVICE_NOT_AVAILABLE", "hugepages-2Mi");
    amount(&cluster_node(&c, "beta")->allocatable, "hugepages-2Mi", GIB * 1000);
    assert_blocked(&c, "INSUFFICIENT_MEMORY", "\"need\": 2147483648, \"have\": 1073741824");
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_must_be_ready_and_schedulable),
        cmocka_unit_test(a_heartbeat_is_old_against_those_of_the_others),
        cmocka_unit_test(taints_need_a_matching_toleration),
        cmocka_unit_test(two_nodes_of_one_uuid_are_one_to_libvirt),
        cmocka_unit_test(selectors_of_vm_and_cluster_must_be_met),
        cmocka_unit_test(a_selector_for_the_source_pins_the_vm),
        cmocka_unit_test(required_node_affinity_is_followed),
        cmocka_unit_test(anti_affinity_counts_in_both_directions),
        cmocka_unit_test(a_neighbour_is_wanted_beside_the_vm),
        cmocka_unit_test(topology_spread_is_a_risk),
        cmocka_unit_test(a_second_launcher_must_fit),
        cmocka_unit_test(init_containers_and_overhead_count_as_in_the_scheduler),
        cmocka_unit_test(devices_must_be_free),
        cmocka_unit_test(an_sriov_interface_needs_what_its_network_names),
        cmocka_unit_test(huge_pages_must_be_there_and_free),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
