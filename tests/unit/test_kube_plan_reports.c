/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What people who run KubeVirt have written about migrations that failed, by the numbers of docs/decisions.md ("Field reports"): each
 * observation that a planner could have told before the start must be told.
 */
#include "kube_fixture.h"

#include <stdlib.h>
#include <string.h>

#define FEATURE "cpu-feature.node.kubevirt.io/"

static struct kvmig__kube_interface *add_interface(struct cluster *c, const char *binding)
{
    struct kvmig__kube_interface *interface = KVMIG__PUSH(&cluster_vm(c)->interfaces);

    interface->name = kvmig__strdup("default");
    interface->binding = kvmig__strdup(binding);
    interface->in_spec = interface->pod_network = true;
    return interface;
}

/* 000: RWX on all disks; RWO and RWOP are refused, and each volume is named with its mode and method. */
static void report_000_volumes_by_access_mode_and_method(void **state)
{
    static const char *const modes[] = { "ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany" };
    struct cluster c;

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(modes); i++) {
        cluster_init(&c);
        cluster_add_claim(&c, "data", modes[i]);
        cluster_add_volume(&c, "data", "dataVolume", "data");
        assert_vm_has(&c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, modes[i]);
        assert_int_equal(disk(&c, "data")->method, KVMIG_DISK_IMPOSSIBLE);
        assert_int_equal(disk(&c, "root")->method, KVMIG_DISK_SHARED);
        cluster_clear(&c);
    }
}

/* 000: the completed launcher of an earlier migration is clean-up, and not in the way. */
static void report_000_a_completed_launcher_is_not_in_the_way(void **state)
{
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_launcher(&c, "source", "alpha");
    pod = cluster_add_launcher(&c, "before", "beta");
    kvmig__str_set(&pod->phase, "Succeeded");
    assert_nothing(&c, "SECOND_LAUNCHER_ALIVE");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&pod->phase, "Running");
    assert_vm_has(&c, "SECOND_LAUNCHER_ALIVE", KVMIG_SEVERITY_WARN, "before");
    cluster_clear(&c);
}

/* 000: the record of a migration may be of another one that has ended. */
static void report_000_the_record_of_an_ended_migration_does_not_block(void **state)
{
    struct kvmig__kube_migration_state *record;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    record = &cluster_vm(&c)->migration;
    record->present = record->completed = true;
    record->uid = kvmig__strdup("before");
    cluster_know(&c, KVMIG__KUBE_VMIM);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    record->completed = false;
    assert_vm_has(&c, "STALE_MIGRATION_STATE", KVMIG_SEVERITY_WARN, "before");
    cluster_clear(&c);
}

/* 002: established connections break under masquerade, and the pod's address changes. */
static void report_002_masquerade_breaks_connections(void **state)
{
    const struct kvmig_finding *found;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_interface(&c, "masquerade")->ip = kvmig__strdup("10.0.0.9");
    found = assert_vm_has(&c, "CONNECTIONS_RESET", KVMIG_SEVERITY_INFO, "10.0.0.9");
    assert_non_null(strstr(found->message, "established connections break"));
    cluster_clear(&c);
}

/* 002: RWO on NFS, local-path, hostDisk and a pod bridge were refused; all of them are found at once. */
static void report_002_all_that_was_refused_is_found_at_once(void **state)
{
    struct kvmig__kube_pv *pv;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_interface(&c, "bridge");
    cluster_add_claim(&c, "nfs", "ReadWriteOnce");
    cluster_add_volume(&c, "nfs", "persistentVolumeClaim", "nfs");
    pv = cluster_bind(&c, "nfs", "nfs", NULL);
    pv->server = kvmig__strdup("192.0.2.1");
    cluster_add_claim(&c, "local", "ReadWriteOnce");
    cluster_add_volume(&c, "local", "persistentVolumeClaim", "local");
    cluster_bind(&c, "local", "local", "alpha");
    cluster_add_volume(&c, "file", "hostDisk", NULL);
    assert_vm_has(&c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, NULL);
    assert_vm_has(&c, "HOST_DISK_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, "file");
    assert_vm_has(&c, "POD_BRIDGE_BINDING", KVMIG_SEVERITY_BLOCKER, "default");
    assert_node_has(&c, "beta", "PV_NODE_AFFINITY", KVMIG_SEVERITY_BLOCKER, "[\"alpha\"]");
    cluster_clear(&c);
}

/* 002: an image that was imported by hand sat in ImagePullBackOff for a quarter of an hour. */
static void report_002_an_imported_image_cannot_be_pulled(void **state)
{
    struct kvmig__kube_container *container;
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_volume(&c, "os", "containerDisk", NULL);
    pod = cluster_add_launcher(&c, "source", "alpha");
    container = KVMIG__PUSH(&pod->containers);
    container->name = kvmig__strdup("volumeos");
    container->image_id = kvmig__strdup("quay.io/containerdisks/fedora@sha256:0b");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&container->image_id, "sha256:0b");
    assert_vm_has(&c, "IMAGE_REFERENCE_NOT_PULLABLE", KVMIG_SEVERITY_WARN, "volumeos");
    cluster_clear(&c);
}

/* 002: one model name, and a feature that one node lacks: KubeVirt's condition says True. */
static void report_002_one_model_name_and_a_feature_less(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    label(cluster_node(&c, "alpha"), "host-model-required-features.node.kubevirt.io/ddpd-u", "true");
    label(cluster_node(&c, "alpha"), "host-model-required-features.node.kubevirt.io/rfds-no", "true");
    label(cluster_node(&c, "gamma"), FEATURE "ddpd-u", "true");
    label(cluster_node(&c, "gamma"), FEATURE "rfds-no", "true");
    label(cluster_node(&c, "beta"), FEATURE "rfds-clear", "true");
    assert_node_has(&c, "beta", "CPU_FEATURE_MISSING", KVMIG_SEVERITY_BLOCKER, "[\"ddpd-u\", \"rfds-no\"]");
    assert_string_equal(c.plan->target, "gamma");
    assert_null(finding(&c.plan->findings, "CPU_FEATURE_MISSING"));
    cluster_clear(&c);
}

/* 002: host-passthrough moves to another generation, and nothing objects. */
static void report_002_passthrough_to_another_generation_is_a_risk(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, "host-passthrough");
    label(cluster_node(&c, "alpha"), FEATURE "avx512f", "true");
    label(cluster_node(&c, "gamma"), FEATURE "avx512f", "true");
    assert_node_has(&c, "beta", "CPU_PASSTHROUGH_MISMATCH", KVMIG_SEVERITY_WARN, "avx512f");
    assert_string_equal(c.plan->target, "gamma");
    cluster_clear(&c);
}

/* 003: limits of the cluster and of a node, and a policy per label, are told before the start. */
static void report_003_limits_and_policy(void **state)
{
    struct kvmig__kube_policy *policy;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    for (size_t i = 0; i < 2; i++) {
        char *name = kvmig__asprintf("vm-%zu", i);

        cluster_add_vm(&c, name, "alpha");
        cluster_add_vmim(&c, name, name, "Running");
        free(name);
    }
    assert_vm_has(&c, "LIMIT_REACHED", KVMIG_SEVERITY_INFO, "\"limit\": 2");
    assert_is(&c, KVMIG_VERDICT_QUEUED);
    label(cluster_vm(&c), "app", "db");
    policy = cluster_add(&c, KVMIG__KUBE_POLICY, NULL, "slow");
    policy->has_selectors = true;
    kvmig__pairs_set(&policy->vmi_selector, "app", "db");
    policy->config.bandwidth = 1048576;
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"bandwidth\": 1048576");
    cluster_clear(&c);
}

/* 003: the default bandwidth is no limit, whatever older pages say. */
static void report_003_the_default_bandwidth_is_unlimited(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_kubevirt(&c, "v1.9.0");
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"bandwidth\": 0");
    cluster_clear(&c);
}

/* 004: a local volume moves with its VM; the destination must be there, large enough, and on another node. */
static void report_004_a_local_volume_moves(void **state)
{
    struct kvmig__kube_pvc *pvc;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__str_set(&cluster_claim(&c, "root")->access_modes.v[0], "ReadWriteOnce");
    cluster_bind(&c, "root", "local", "alpha");
    assert_vm_has(&c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, "root");
    cluster_add(&c, KVMIG__KUBE_VM, "ns1", "vm1");
    cluster_add_kubevirt(&c, "v1.9.0");
    cluster_move(&c, "root", "new");
    assert_vm_has(&c, "DEST_VOLUME_MISSING", KVMIG_SEVERITY_BLOCKER, NULL);
    pvc = cluster_add_claim(&c, "new", "ReadWriteOnce");
    cluster_bind(&c, "new", "local", "beta");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    assert_string_equal(c.plan->target, "beta"); /* a volume that is bound forces the node */
    assert_int_equal(disk(&c, "root")->method, KVMIG_DISK_COPY_FULL);
    assert_node_has(&c, "gamma", "PV_NODE_AFFINITY", KVMIG_SEVERITY_BLOCKER, "[\"beta\"]");
    pvc->capacity = pvc->requested = 9 * GIB;
    assert_vm_has(&c, "DEST_VOLUME_SMALLER", KVMIG_SEVERITY_BLOCKER, NULL);
    cluster_clear(&c);
}

/* 004: what is left of a volume migration that was broken off must be mended first. */
static void report_004_recovery_comes_first(void **state)
{
    struct kvmig__kube_vm *vm;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    vm = cluster_add(&c, KVMIG__KUBE_VM, "ns1", "vm1");
    cluster_add_kubevirt(&c, "v1.9.0");
    cluster_add_claim(&c, "new", "ReadWriteMany");
    cluster_move(&c, "root", "new");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    condition(&vm->conditions, "ManualRecoveryRequired", "True", NULL, NULL);
    assert_vm_has(&c, "MANUAL_RECOVERY_REQUIRED", KVMIG_SEVERITY_BLOCKER, NULL);
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_000_volumes_by_access_mode_and_method),
        cmocka_unit_test(report_000_a_completed_launcher_is_not_in_the_way),
        cmocka_unit_test(report_000_the_record_of_an_ended_migration_does_not_block),
        cmocka_unit_test(report_002_masquerade_breaks_connections),
        cmocka_unit_test(report_002_all_that_was_refused_is_found_at_once),
        cmocka_unit_test(report_002_an_imported_image_cannot_be_pulled),
        cmocka_unit_test(report_002_one_model_name_and_a_feature_less),
        cmocka_unit_test(report_002_passthrough_to_another_generation_is_a_risk),
        cmocka_unit_test(report_003_limits_and_policy),
        cmocka_unit_test(report_003_the_default_bandwidth_is_unlimited),
        cmocka_unit_test(report_004_a_local_volume_moves),
        cmocka_unit_test(report_004_recovery_comes_first),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
