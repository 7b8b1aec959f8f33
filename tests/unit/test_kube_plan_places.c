/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner for KubeVirt, places: conditions of nodes, neighbours of other namespaces, what a launcher needs without a pod to look at,
 * CPUs where labels are scarce, volumes that are still to be made. Every case changes beta and leaves gamma as it is.
 */
#include "kube_fixture.h"

#include <stdlib.h>
#include <string.h>

#define ZONE "topology.kubernetes.io/zone"

static void assert_blocked(struct cluster *c, const char *code, const char *piece)
{
    assert_node_has(c, "beta", code, KVMIG_SEVERITY_BLOCKER, piece);
    assert_null(finding(&candidate(c, "gamma")->findings, code));
}

/* ---- nodes ---- */

static void a_node_without_disk_takes_no_pod_and_one_without_memory_does(void **state)
{
    struct kvmig__toleration *toleration;
    struct kvmig__taint *taint;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    condition(&cluster_node(&c, "beta")->conditions, "DiskPressure", "True", NULL, NULL);
    assert_blocked(&c, "NODE_NOT_SCHEDULABLE", "DiskPressure");
    toleration = KVMIG__PUSH(&cluster_vm(&c)->placement.tolerations);
    toleration->key = kvmig__strdup("node.kubernetes.io/disk-pressure");
    toleration->op = kvmig__strdup("Exists");
    assert_nothing(&c, "NODE_NOT_SCHEDULABLE");
    condition(&cluster_node(&c, "beta")->conditions, "MemoryPressure", "True", NULL, NULL);
    taint = KVMIG__PUSH(&cluster_node(&c, "beta")->taints);
    taint->key = kvmig__strdup("node.kubernetes.io/memory-pressure");
    taint->effect = kvmig__strdup("NoSchedule");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    assert_nothing(&c, "TAINT_NOT_TOLERATED");
    cluster_clear(&c);
}

static void frozen_labels_are_a_remark(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__pairs_set(&cluster_node(&c, "beta")->meta.annotations, "node-labeller.kubevirt.io/skip-node", "true");
    assert_node_has(&c, "beta", "NODE_LABELS_FROZEN", KVMIG_SEVERITY_INFO, NULL);
    assert_int_equal(candidate(&c, "beta")->verdict, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void other_architectures_need_nodes_that_emulate_them(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    label(cluster_node(&c, "beta"), "kubernetes.io/arch", "arm64");
    assert_blocked(&c, "NODE_SELECTOR_MISMATCH", "kubernetes.io/arch=amd64");
    kvmig__strlist_add(&cluster_add_kubevirt(&c, "v1.9.0")->feature_gates, "CrossArchitectureVirtualization");
    assert_blocked(&c, "NODE_SELECTOR_MISMATCH", "kubevirt.io/vm-arch-amd64=true");
    label(cluster_node(&c, "beta"), "kubevirt.io/vm-arch-amd64", "true");
    assert_nothing(&c, "NODE_SELECTOR_MISMATCH");
    cluster_clear(&c);
}

/* ---- neighbours ---- */

static struct kvmig__pod_term *repel_apps(struct cluster *c)
{
    struct kvmig__pod_term *term = KVMIG__PUSH(&cluster_vm(c)->placement.pod_forbidden);
    struct kvmig__requirement *requirement = KVMIG__PUSH(&term->selector);

    requirement->key = kvmig__strdup("app");
    requirement->op = kvmig__strdup("Exists");
    term->topology_key = kvmig__strdup("kubernetes.io/hostname");
    return term;
}

static void anti_affinity_may_select_namespaces(void **state)
{
    struct kvmig__requirement *requirement;
    struct kvmig__kube_pod *pod;
    struct kvmig__pod_term *term;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    pod = cluster_add(&c, KVMIG__KUBE_POD, "ns2", "other");
    pod->node = kvmig__strdup("beta");
    pod->phase = kvmig__strdup("Running");
    label(pod, "app", "db");
    term = repel_apps(&c);
    assert_nothing(&c, "POD_ANTI_AFFINITY"); /* of another namespace */
    term->has_namespace_selector = true;
    assert_blocked(&c, "POD_ANTI_AFFINITY", "other"); /* all namespaces */
    requirement = KVMIG__PUSH(&term->namespace_selector);
    requirement->key = kvmig__strdup("team");
    requirement->op = kvmig__strdup("In");
    kvmig__strlist_add(&requirement->values, "blue");
    assert_nothing(&c, "POD_ANTI_AFFINITY");
    label(cluster_add(&c, KVMIG__KUBE_NAMESPACE, NULL, "ns2"), "team", "blue");
    assert_blocked(&c, "POD_ANTI_AFFINITY", "other");
    cluster_clear(&c);
}

static void a_spread_counts_domains_that_the_vm_may_go_to(void **state)
{
    struct kvmig__kube_pod *pod;
    struct kvmig__spread *spread;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    label(cluster_node(&c, "alpha"), ZONE, "a");
    label(cluster_node(&c, "beta"), ZONE, "b");
    label(cluster_node(&c, "gamma"), ZONE, "c");
    pod = cluster_add_launcher(&c, "source", "alpha");
    cluster_add_launcher(&c, "neighbour", "beta");
    label(cluster_add_launcher(&c, "second", "beta"), "kubevirt.io/created-by", "another");
    (void)pod;
    spread = KVMIG__PUSH(&cluster_vm(&c)->placement.spread);
    spread->topology_key = kvmig__strdup(ZONE);
    spread->max_skew = 2;
    assert_node_has(&c, "beta", "TOPOLOGY_SPREAD_VIOLATED", KVMIG_SEVERITY_WARN, "\"least\": 0");
    label(cluster_node(&c, "alpha"), "pool", "vms");
    label(cluster_node(&c, "beta"), "pool", "vms");
    kvmig__pairs_set(&cluster_vm(&c)->placement.node_selector, "pool", "vms"); /* zone c is out of the question */
    assert_nothing(&c, "TOPOLOGY_SPREAD_VIOLATED");
    cluster_clear(&c);
}

/* ---- room ---- */

static void what_was_plugged_in_since_counts(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_launcher(&c, "source", "alpha");
    amount(&cluster_vm(&c)->domain.requests, "memory", 32 * GIB * 1000);
    cluster_node(&c, "beta")->allocatable.v[1].milli = 16 * GIB * 1000;
    assert_blocked(&c, "INSUFFICIENT_MEMORY", "\"need\": 34359738368");
    cluster_node(&c, "beta")->allocatable.v[1].milli = 32 * GIB * 1000;
    assert_nothing(&c, "INSUFFICIENT_MEMORY");
    cluster_clear(&c);
}

static void a_node_takes_so_many_pods(void **state)
{
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    amount(&cluster_node(&c, "beta")->allocatable, "pods", 1000);
    assert_nothing(&c, "POD_LIMIT_REACHED");
    pod = cluster_add(&c, KVMIG__KUBE_POD, "ns2", "other");
    pod->node = kvmig__strdup("beta");
    pod->phase = kvmig__strdup("Running");
    assert_blocked(&c, "POD_LIMIT_REACHED", "\"need\": 1");
    kvmig__str_set(&pod->phase, "Succeeded");
    assert_nothing(&c, "POD_LIMIT_REACHED");
    KVMIG__PUSH(&cluster_vm(&c)->volume_status)->hotplug = true;
    assert_blocked(&c, "POD_LIMIT_REACHED", "\"need\": 2"); /* its attachment pod, too */
    cluster_clear(&c);
}

static void without_a_pod_the_vm_tells_its_devices(void **state)
{
    struct kvmig__kube_interface *interface;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_node(&c, "beta")->allocatable.v[2].milli = 0;
    assert_blocked(&c, "DEVICE_NOT_AVAILABLE", "devices.kubevirt.io/kvm");
    cluster_add_kubevirt(&c, "v1.9.0")->emulation = true;
    assert_nothing(&c, "DEVICE_NOT_AVAILABLE");
    amount(&cluster_node(&c, "gamma")->allocatable, "bridge.example/br1", 1000);
    amount(&cluster_node(&c, "alpha")->allocatable, "bridge.example/br1", 1000);
    interface = KVMIG__PUSH(&cluster_vm(&c)->interfaces);
    interface->name = kvmig__strdup("blue");
    interface->binding = kvmig__strdup("bridge");
    interface->multus = kvmig__strdup("blue-net");
    interface->in_spec = true;
    kvmig__pairs_set(&((struct kvmig__kube_nad *)cluster_add(&c, KVMIG__KUBE_NAD, "ns1", "blue-net"))->meta.annotations,
                     "k8s.v1.cni.cncf.io/resourceName", "bridge.example/br1");
    assert_blocked(&c, "DEVICE_NOT_AVAILABLE", "bridge.example/br1"); /* the bridge is not on that node */
    cluster_clear(&c);
}

static void an_even_number_of_cpus_may_be_asked_for(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_vm(&c)->domain.dedicated_cpus = cluster_vm(&c)->domain.isolated_emulator = true;
    cluster_vm(&c)->domain.cores = 4;
    label(cluster_node(&c, "beta"), "kubevirt.io/cpumanager", "true");
    label(cluster_node(&c, "gamma"), "kubevirt.io/cpumanager", "true");
    cluster_node(&c, "beta")->allocatable.v[0].milli = 5000;
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    assert_nothing(&c, "INSUFFICIENT_CPU");
    kvmig__pairs_set(&kubevirt->meta.annotations, "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity", "");
    assert_blocked(&c, "INSUFFICIENT_CPU", "\"need\": 6");
    cluster_clear(&c);
}

static void a_quota_of_claims_must_hold_the_state_of_the_target(void **state)
{
    struct kvmig__kube_volume_status *status;
    struct kvmig__kube_quota *quota;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    quota = cluster_add(&c, KVMIG__KUBE_QUOTA, "ns1", "claims");
    amount(&quota->hard, "persistentvolumeclaims", 2000);
    amount(&quota->used, "persistentvolumeclaims", 2000);
    assert_nothing(&c, "QUOTA_EXCEEDED");
    status = KVMIG__PUSH(&cluster_vm(&c)->volume_status);
    status->name = kvmig__strdup("persistent-state-for-this-vm");
    status->has_claim = true;
    status->claim.claim = kvmig__strdup("persistent-state-for-vm1-x");
    kvmig__strlist_add(&status->claim.access_modes, "ReadWriteOnce");
    assert_vm_has(&c, "QUOTA_EXCEEDED", KVMIG_SEVERITY_BLOCKER, "persistentvolumeclaims");
    cluster_clear(&c);
}

/* ---- CPU ---- */

static void an_obsolete_model_is_listed_nowhere(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, "Conroe-v1");
    assert_node_has(&c, "beta", "CPU_MODEL_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, "\"reason\": \"obsolete\"");
    cluster_add_kubevirt(&c, "v1.9.0")->obsolete_models_given = true; /* an empty list instead of the built-in one */
    assert_node_has(&c, "beta", "CPU_MODEL_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, "{\"model\": \"Conroe-v1\"}");
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, "Haswell");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void without_its_node_the_hosts_model_cannot_be_compared(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__kube_remove(&c.kube, KVMIG__KUBE_NODE, NULL, "alpha", NULL);
    assert_node_has(&c, "beta", "CPU_UNVERIFIED", KVMIG_SEVERITY_INFO, "\"missing\": \"alpha\"");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, "Haswell");
    assert_nothing(&c, "CPU_UNVERIFIED");
    cluster_clear(&c);
}

static void drop_features(struct cluster *c, const char *node)
{
    label(cluster_node(c, node), "cpu-feature.node.kubevirt.io/aes", NULL);
    label(cluster_node(c, node), "cpu-feature.node.kubevirt.io/avx2", NULL);
}

static void generations_differ_though_no_feature_is_told(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, "host-passthrough");
    drop_features(&c, "beta");
    assert_nothing(&c, "CPU_UNVERIFIED"); /* of one model */
    assert_nothing(&c, "CPU_PASSTHROUGH_MISMATCH");
    label(cluster_node(&c, "alpha"), "host-model-required-features.node.kubevirt.io/rfds-clear", "true");
    label(cluster_node(&c, "gamma"), "cpu-feature.node.kubevirt.io/rfds-clear", "true");
    assert_node_has(&c, "beta", "CPU_PASSTHROUGH_MISMATCH", KVMIG_SEVERITY_WARN, "[\"rfds-clear\"]");
    label(cluster_node(&c, "beta"), "host-model-cpu.node.kubevirt.io/Skylake", NULL);
    label(cluster_node(&c, "beta"), "host-model-cpu.node.kubevirt.io/Broadwell", "true");
    assert_node_has(&c, "beta", "CPU_UNVERIFIED", KVMIG_SEVERITY_INFO, "Broadwell");
    assert_nothing(&c, "CPU_PASSTHROUGH_MISMATCH");
    cluster_clear(&c);
}

static void evmcs_needs_intel_with_the_strict_gate(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, "Haswell");
    kvmig__strlist_add(&cluster_vm(&c)->domain.hyperv, "evmcs");
    label(cluster_node(&c, "beta"), "cpu-vendor.node.kubevirt.io/Intel", NULL);
    label(cluster_node(&c, "alpha"), "cpu-vendor.node.kubevirt.io/Intel", NULL);
    assert_nothing(&c, "NODE_SELECTOR_MISMATCH");
    kvmig__strlist_add(&cluster_add_kubevirt(&c, "v1.9.0")->feature_gates, "HypervStrictCheck");
    assert_blocked(&c, "NODE_SELECTOR_MISMATCH", "cpu-vendor.node.kubevirt.io/Intel");
    cluster_clear(&c);
}

/* ---- volumes ---- */

static void a_claim_of_which_nothing_is_known_is_told(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__kube_remove(&c.kube, KVMIG__KUBE_PVC, "ns1", "root", NULL);
    assert_nothing(&c, "ACCESS_MODE_UNVERIFIED"); /* KubeVirt's verdict is there */
    kvmig__str_set(&cluster_vm(&c)->conditions.v[0].type, "Ready");
    assert_vm_has(&c, "ACCESS_MODE_UNVERIFIED", KVMIG_SEVERITY_INFO, "\"claim\": \"root\"");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void a_claim_that_the_status_leaves_out_counts_as_not_shared(void **state)
{
    struct kvmig__kube_volume_status *status;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_volume(&c, "data", "persistentVolumeClaim", "data");
    cluster_add_claim(&c, "data", "ReadWriteMany");
    condition(&cluster_vm(&c)->conditions, "LiveMigratable", "False", "DisksNotLiveMigratable", "cannot migrate VMI");
    assert_vm_has(&c, "NOT_LIVE_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NULL); /* the status may be cut down */
    status = KVMIG__PUSH(&cluster_vm(&c)->volume_status);
    status->name = kvmig__strdup("root");
    status->has_claim = true;
    assert_vm_has(&c, "VOLUME_STATUS_MISSING", KVMIG_SEVERITY_BLOCKER, "\"claim\": \"data\"");
    assert_nothing(&c, "NOT_LIVE_MIGRATABLE");
    cluster_clear(&c);
}

static void a_verdict_that_is_older_than_the_claim_is_not_repeated_as_a_fact(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    condition(&cluster_vm(&c)->conditions, "LiveMigratable", "False", "DisksNotLiveMigratable",
              "cannot migrate VMI: PVC root is not shared, live migration requires that all PVCs must be shared");
    assert_vm_has(&c, "NOT_LIVE_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "DisksNotLiveMigratable");
    assert_nothing(&c, "PVC_NOT_SHARED");
    cluster_clear(&c);
}

static void the_method_is_told_with_what_causes_it(void **state)
{
    const struct kvmig_finding *found;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_nothing(&c, "BLOCK_COPY_LIST");
    cluster_add_volume(&c, "seed", "cloudInitNoCloud", NULL);
    found = assert_vm_has(&c, "BLOCK_COPY_LIST", KVMIG_SEVERITY_INFO, "{\"disks\": [\"seed\"]}");
    assert_non_null(strstr(found->message, "BlockMigration"));
    assert_non_null(strstr(found->message, "lives in the launcher"));
    kvmig__str_set(&cluster_vm(&c)->domain.disks.v[1].device, "cdrom");
    assert_nothing(&c, "BLOCK_COPY_LIST");
    cluster_clear(&c);
}

static struct kvmig__kube_pvc *begin_move(struct cluster *c)
{
    struct kvmig__kube_pvc *pvc;

    cluster_init(c);
    cluster_add(c, KVMIG__KUBE_VM, "ns1", "vm1");
    cluster_add_kubevirt(c, "v1.9.0");
    pvc = cluster_add_claim(c, "new", "ReadWriteOnce");
    cluster_move(c, "root", "new");
    return pvc;
}

static void a_volume_that_is_still_to_be_made_may_choose_its_node(void **state)
{
    struct kvmig__kube_storage_class *class;
    struct kvmig__requirement *requirement;
    struct kvmig__kube_pvc *pvc;
    struct kvmig__term *term;
    struct cluster c;

    (void)state;
    pvc = begin_move(&c);
    kvmig__str_set(&pvc->phase, "Pending");
    kvmig__str_set(&pvc->storage_class, "local");
    class = cluster_add(&c, KVMIG__KUBE_STORAGE_CLASS, NULL, "local");
    class->binding_mode = kvmig__strdup("WaitForFirstConsumer");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__pairs_set(&pvc->meta.annotations, "volume.kubernetes.io/selected-node", "gamma");
    assert_blocked(&c, "PV_NODE_AFFINITY", "[\"gamma\"]");
    kvmig__pairs_clear(&pvc->meta.annotations);
    term = KVMIG__PUSH(&class->topologies);
    requirement = KVMIG__PUSH(term);
    requirement->key = kvmig__strdup(ZONE);
    requirement->op = kvmig__strdup("In");
    kvmig__strlist_add(&requirement->values, "a");
    label(cluster_node(&c, "gamma"), ZONE, "a");
    assert_blocked(&c, "STORAGE_TOPOLOGY_MISMATCH", "local");
    label(cluster_node(&c, "beta"), ZONE, "a");
    assert_nothing(&c, "STORAGE_TOPOLOGY_MISMATCH");
    cluster_clear(&c);
}

static void a_data_volume_must_be_filled_or_have_a_populator(void **state)
{
    struct kvmig__kube_data_volume *volume;
    struct kvmig__kube_pvc *pvc;
    struct cluster c;

    (void)state;
    pvc = begin_move(&c);
    volume = cluster_add(&c, KVMIG__KUBE_DATA_VOLUME, "ns1", "new");
    volume->phase = kvmig__strdup("ImportInProgress");
    assert_vm_has(&c, "DATA_VOLUME_NOT_READY", KVMIG_SEVERITY_BLOCKER, "ImportInProgress");
    pvc->populated = true;
    assert_nothing(&c, "DATA_VOLUME_NOT_READY");
    pvc->populated = false;
    kvmig__str_set(&volume->phase, "Succeeded");
    assert_nothing(&c, "DATA_VOLUME_NOT_READY");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void a_destination_may_be_held_by_a_pod(void **state)
{
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    begin_move(&c);
    pod = cluster_add(&c, KVMIG__KUBE_POD, "ns1", "binder");
    kvmig__strlist_add(&pod->claims, "new");
    pod->node = kvmig__strdup("gamma");
    assert_vm_has(&c, "DEST_VOLUME_HELD_BY_POD", KVMIG_SEVERITY_WARN, "binder");
    pod->phase = kvmig__strdup("Succeeded");
    assert_nothing(&c, "DEST_VOLUME_HELD_BY_POD");
    cluster_clear(&c);
}

static void kubevirt_must_know_volume_migrations(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    begin_move(&c);
    kubevirt = KVMIG__KUBE_FIND(&c.kube, KUBEVIRT, "kubevirt", "kubevirt");
    kvmig__str_set(&kubevirt->version, "v1.2.1");
    assert_vm_has(&c, "KUBEVIRT_TOO_OLD", KVMIG_SEVERITY_BLOCKER, "v1.2.1");
    kvmig__str_set(&kubevirt->version, "v1.3.0");
    assert_nothing(&c, "KUBEVIRT_TOO_OLD");
    kvmig__str_set(&kubevirt->phase, "Deploying");
    assert_vm_has(&c, "KUBEVIRT_UPDATING", KVMIG_SEVERITY_WARN, NULL);
    kvmig__str_set(&kubevirt->version, "v1.9.0");
    cluster_vm(&c)->domain.disks.v[0].reservation = true;
    assert_vm_has(&c, "PERSISTENT_RESERVATION", KVMIG_SEVERITY_BLOCKER, NULL);
    c.request.volume_changes.n = 0;
    assert_nothing(&c, "PERSISTENT_RESERVATION");
    assert_vm_has(&c, "KUBEVIRT_UPDATING", KVMIG_SEVERITY_INFO, NULL);
    c.request.volume_changes.n = 1;
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_without_disk_takes_no_pod_and_one_without_memory_does),
        cmocka_unit_test(frozen_labels_are_a_remark),
        cmocka_unit_test(other_architectures_need_nodes_that_emulate_them),
        cmocka_unit_test(anti_affinity_may_select_namespaces),
        cmocka_unit_test(a_spread_counts_domains_that_the_vm_may_go_to),
        cmocka_unit_test(what_was_plugged_in_since_counts),
        cmocka_unit_test(a_node_takes_so_many_pods),
        cmocka_unit_test(without_a_pod_the_vm_tells_its_devices),
        cmocka_unit_test(an_even_number_of_cpus_may_be_asked_for),
        cmocka_unit_test(a_quota_of_claims_must_hold_the_state_of_the_target),
        cmocka_unit_test(an_obsolete_model_is_listed_nowhere),
        cmocka_unit_test(without_its_node_the_hosts_model_cannot_be_compared),
        cmocka_unit_test(generations_differ_though_no_feature_is_told),
        cmocka_unit_test(evmcs_needs_intel_with_the_strict_gate),
        cmocka_unit_test(a_claim_of_which_nothing_is_known_is_told),
        cmocka_unit_test(a_claim_that_the_status_leaves_out_counts_as_not_shared),
        cmocka_unit_test(a_verdict_that_is_older_than_the_claim_is_not_repeated_as_a_fact),
        cmocka_unit_test(the_method_is_told_with_what_causes_it),
        cmocka_unit_test(a_volume_that_is_still_to_be_made_may_choose_its_node),
        cmocka_unit_test(a_data_volume_must_be_filled_or_have_a_populator),
        cmocka_unit_test(a_destination_may_be_held_by_a_pod),
        cmocka_unit_test(kubevirt_must_know_volume_migrations),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
