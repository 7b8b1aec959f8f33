/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner for KubeVirt and the guest's CPU: by mode, per node, with every label that is missing; machine types. Every case changes beta
 * and leaves gamma as it is, so that a finding about gamma would be a false one.
 */
#include "kube_fixture.h"

#include <stdlib.h>
#include <string.h>

#define FEATURE "cpu-feature.node.kubevirt.io/"
#define MIGRATION_MODEL "cpu-model-migration.node.kubevirt.io/"

static void assert_blocked(struct cluster *c, const char *code, const char *piece)
{
    const struct kvmig_finding *found = assert_node_has(c, "beta", code, KVMIG_SEVERITY_BLOCKER, piece);

    assert_string_equal(found->host, "beta");
    assert_int_equal(candidate(c, "beta")->verdict, KVMIG_VERDICT_BLOCKED);
    assert_int_equal(candidate(c, "gamma")->verdict, KVMIG_VERDICT_MIGRATABLE);
    assert_string_equal(c->plan->target, "gamma");
}

/* ---- CPU ---- */

static void every_missing_feature_of_the_host_model_is_named(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    label(cluster_node(&c, "alpha"), "host-model-required-features.node.kubevirt.io/aes", "true");
    label(cluster_node(&c, "beta"), FEATURE "avx2", NULL);
    label(cluster_node(&c, "beta"), FEATURE "aes", NULL);
    assert_blocked(&c, "CPU_FEATURE_MISSING", "\"features\": [\"avx2\", \"aes\"]");
    assert_null(finding(&candidate(&c, "beta")->findings, "CPU_MODEL_UNSUPPORTED"));
    cluster_clear(&c);
}

static void the_host_models_name_must_be_listed_for_migration(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    label(cluster_node(&c, "beta"), MIGRATION_MODEL "Skylake", NULL);
    assert_blocked(&c, "CPU_MODEL_UNSUPPORTED", "Skylake");
    cluster_clear(&c);
}

/* The launcher of a VM that came from a weaker node asks for what that one had. */
static struct kvmig__kube_pod *add_migrated_launcher(struct cluster *c)
{
    struct kvmig__kube_pod *pod = cluster_add_launcher(c, "source", "alpha");

    kvmig__pairs_set(&pod->placement.node_selector, MIGRATION_MODEL "Haswell", "true");
    kvmig__pairs_set(&pod->placement.node_selector, FEATURE "aes", "true");
    return pod;
}

static void a_vm_that_has_migrated_can_go_back_to_a_weaker_node(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_migrated_launcher(&c);
    label(cluster_node(&c, "beta"), FEATURE "avx2", NULL);
    label(cluster_node(&c, "beta"), MIGRATION_MODEL "Skylake", NULL);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    assert_int_equal(candidate(&c, "beta")->verdict, KVMIG_VERDICT_MIGRATABLE);
    label(cluster_node(&c, "beta"), FEATURE "aes", NULL);
    assert_blocked(&c, "CPU_FEATURE_MISSING", "[\"aes\"]");
    label(cluster_node(&c, "beta"), MIGRATION_MODEL "Haswell", NULL);
    assert_blocked(&c, "CPU_MODEL_UNSUPPORTED", "Haswell");
    cluster_clear(&c);
}

static void a_label_that_not_even_the_source_has_is_stale(void **state)
{
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    pod = add_migrated_launcher(&c);
    kvmig__pairs_set(&pod->placement.node_selector, FEATURE "renamed", "true");
    label(cluster_node(&c, "gamma"), FEATURE "renamed", "true"); /* not updated yet: it can still go there */
    assert_blocked(&c, "STALE_NODE_SELECTOR", FEATURE "renamed");
    assert_null(finding(&candidate(&c, "beta")->findings, "CPU_FEATURE_MISSING"));
    label(cluster_node(&c, "gamma"), FEATURE "renamed", NULL);
    assert_is(&c, KVMIG_VERDICT_BLOCKED);
    cluster_clear(&c);
}

static void features_on_a_first_launcher_do_not_stand_for_the_host_model(void **state)
{
    struct kvmig__kube_feature *feature;
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    feature = KVMIG__PUSH(&cluster_vm(&c)->domain.cpu_features);
    feature->name = kvmig__strdup("aes");
    pod = cluster_add_launcher(&c, "source", "alpha");
    kvmig__pairs_set(&pod->placement.node_selector, FEATURE "aes", "true");
    label(cluster_node(&c, "beta"), FEATURE "avx2", NULL);
    assert_blocked(&c, "CPU_FEATURE_MISSING", "avx2");
    assert_vm_has(&c, "HOST_MODEL_NOT_ENFORCED", KVMIG_SEVERITY_INFO, NULL);
    cluster_clear(&c);
}

static void where_the_guests_cpu_comes_from_may_be_unknown(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_vm(&c)->migration.present = cluster_vm(&c)->migration.completed = true;
    cluster_vm(&c)->migration.target_node = kvmig__strdup("alpha");
    label(cluster_node(&c, "beta"), FEATURE "avx2", NULL);
    assert_node_has(&c, "beta", "CPU_UNVERIFIED", KVMIG_SEVERITY_INFO, "avx2");
    assert_nothing(&c, "CPU_FEATURE_MISSING");
    /* a launcher that was a target, but whose selector tells nothing */
    label(cluster_add_launcher(&c, "source", "alpha"), "kubevirt.io/migrationJobUID", "long-gone");
    assert_node_has(&c, "beta", "CPU_UNVERIFIED", KVMIG_SEVERITY_INFO, "avx2");
    cluster_clear(&c);
}

static void a_named_model_needs_its_own_label_only(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, "Haswell");
    label(cluster_node(&c, "beta"), FEATURE "avx2", NULL);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    assert_int_equal(candidate(&c, "beta")->verdict, KVMIG_VERDICT_MIGRATABLE);
    label(cluster_node(&c, "beta"), "cpu-model.node.kubevirt.io/Haswell", NULL);
    assert_blocked(&c, "CPU_MODEL_UNSUPPORTED", "Haswell");
    cluster_clear(&c);
}

static void the_model_may_come_from_the_cluster(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, NULL);
    cluster_add_kubevirt(&c, "v1.9.0")->cpu_model = kvmig__strdup("Haswell");
    label(cluster_node(&c, "beta"), "cpu-model.node.kubevirt.io/Haswell", NULL);
    assert_blocked(&c, "CPU_MODEL_UNSUPPORTED", "Haswell");
    cluster_clear(&c);
}

static void passthrough_is_a_risk_on_another_generation(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, "host-passthrough");
    label(cluster_node(&c, "beta"), FEATURE "avx2", NULL);
    assert_node_has(&c, "beta", "CPU_PASSTHROUGH_MISMATCH", KVMIG_SEVERITY_WARN, "[\"avx2\"]");
    assert_int_equal(candidate(&c, "beta")->verdict, KVMIG_VERDICT_MIGRATABLE_WITH_RISK);
    assert_string_equal(c.plan->target, "gamma");
    cluster_clear(&c);
}

static void vendors_must_agree_in_every_mode(void **state)
{
    static const char *const modes[] = { "host-model", "host-passthrough", "Haswell" };
    struct cluster c;

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(modes); i++) {
        cluster_init(&c);
        kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, modes[i]);
        label(cluster_node(&c, "beta"), "cpu-vendor.node.kubevirt.io/Intel", NULL);
        label(cluster_node(&c, "beta"), "cpu-vendor.node.kubevirt.io/AMD", "true");
        assert_blocked(&c, "CPU_VENDOR_MISMATCH", "AMD");
        cluster_clear(&c);
    }
}

static void obsolete_host_models_and_forbidden_features_block(void **state)
{
    struct kvmig__kube_feature *feature;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    label(cluster_node(&c, "beta"), "node-labeller.kubevirt.io/obsolete-host-model", "true");
    assert_blocked(&c, "CPU_MODEL_UNSUPPORTED", "obsolete");
    label(cluster_node(&c, "beta"), "node-labeller.kubevirt.io/obsolete-host-model", NULL);
    feature = KVMIG__PUSH(&cluster_vm(&c)->domain.cpu_features);
    feature->name = kvmig__strdup("hle");
    feature->policy = kvmig__strdup("forbid");
    label(cluster_node(&c, "beta"), FEATURE "hle", "true");
    assert_blocked(&c, "CPU_FEATURE_FORBIDDEN", "hle");
    cluster_clear(&c);
}

static void dedicated_cpus_need_a_cpu_manager_and_whole_cpus(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_vm(&c)->domain.dedicated_cpus = cluster_vm(&c)->domain.isolated_emulator = true;
    cluster_vm(&c)->domain.cores = 4;
    label(cluster_node(&c, "gamma"), "kubevirt.io/cpumanager", "true");
    assert_blocked(&c, "CPU_MANAGER_DISABLED", NULL);
    label(cluster_node(&c, "beta"), "cpumanager", "true"); /* the older name */
    amount(&cluster_node(&c, "beta")->allocatable, "cpu", 5000);
    assert_nothing(&c, "CPU_MANAGER_DISABLED");
    assert_nothing(&c, "INSUFFICIENT_CPU");
    amount(&cluster_node(&c, "beta")->allocatable, "cpu", 4000);
    assert_blocked(&c, "INSUFFICIENT_CPU", "\"need\": 5, \"have\": 4");
    cluster_clear(&c);
}

/* ---- clock and machine ---- */

static void tell_tsc(struct cluster *c, const char *hz, const char *scalable)
{
    label(cluster_node(c, "beta"), "cpu-timer.node.kubevirt.io/tsc-frequency", hz);
    label(cluster_node(c, "beta"), "cpu-timer.node.kubevirt.io/tsc-scalable", scalable);
}

static void a_pinned_tsc_must_be_near_or_scalable(void **state)
{
    struct kvmig__kube_vmi *vmi;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    vmi = cluster_vm(&c);
    vmi->tsc_frequency_hz = 2000000000;
    label(cluster_node(&c, "gamma"), "scheduling.node.kubevirt.io/tsc-frequency-2000000000", "true");
    tell_tsc(&c, "3000000000", "false");
    assert_nothing(&c, "TSC_FREQUENCY_MISMATCH"); /* the VM does not depend on it */
    kvmig__strlist_add(&vmi->domain.hyperv, "reenlightenment");
    assert_blocked(&c, "TSC_FREQUENCY_MISMATCH", "3000000000");
    tell_tsc(&c, "3000000000", "true");
    assert_nothing(&c, "TSC_FREQUENCY_MISMATCH");
    tell_tsc(&c, "1900000000", "true"); /* it cannot scale up */
    assert_blocked(&c, "TSC_FREQUENCY_MISMATCH", "1900000000");
    tell_tsc(&c, "2000500000", "false"); /* 250 ppm */
    assert_nothing(&c, "TSC_FREQUENCY_MISMATCH");
    tell_tsc(&c, "2000500001", "false");
    assert_blocked(&c, "TSC_FREQUENCY_MISMATCH", "2000000000");
    tell_tsc(&c, NULL, NULL); /* nobody told */
    assert_nothing(&c, "TSC_FREQUENCY_MISMATCH");
    cluster_clear(&c);
}

static void the_machine_type_must_be_offered(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    label(cluster_node(&c, "beta"), "machine-type.node.kubevirt.io/pc-q35-8.2", NULL);
    assert_blocked(&c, "MACHINE_TYPE_UNSUPPORTED", "pc-q35-8.2");
    kvmig__str_set(&cluster_vm(&c)->machine, NULL);
    cluster_vm(&c)->domain.machine = kvmig__strdup("q35"); /* a name that each node understands in its own way */
    assert_node_has(&c, "gamma", "MACHINE_TYPE_UNVERIFIED", KVMIG_SEVERITY_INFO, "q35");
    kvmig__str_set(&cluster_vm(&c)->domain.machine, NULL);
    assert_nothing(&c, "MACHINE_TYPE_UNVERIFIED");
    cluster_clear(&c);
}

static void strict_hyperv_checks_only_with_their_gate(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    kvmig__strlist_add(&cluster_vm(&c)->domain.hyperv, "vpindex");
    label(cluster_node(&c, "gamma"), "hyperv.node.kubevirt.io/vpindex", "true");
    assert_nothing(&c, "NODE_SELECTOR_MISMATCH");
    kvmig__strlist_add(&kubevirt->feature_gates, "HypervStrictCheck");
    assert_blocked(&c, "NODE_SELECTOR_MISMATCH", "hyperv.node.kubevirt.io/vpindex");
    kvmig__strlist_add(&kubevirt->disabled_gates, "HypervStrictCheck");
    assert_nothing(&c, "NODE_SELECTOR_MISMATCH");
    cluster_clear(&c);
}

static void the_source_must_tell_its_host_model(void **state)
{
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_nothing(&c, "HOST_MODEL_MISSING");
    label(cluster_node(&c, "alpha"), "host-model-cpu.node.kubevirt.io/Skylake", NULL);
    assert_vm_has(&c, "HOST_MODEL_MISSING", KVMIG_SEVERITY_BLOCKER, "alpha");
    assert_is(&c, KVMIG_VERDICT_BLOCKED);
    label(cluster_node(&c, "beta"), "host-model-cpu.node.kubevirt.io/Skylake", NULL);
    label(cluster_node(&c, "gamma"), "host-model-cpu.node.kubevirt.io/Skylake", NULL);
    assert_vm_has(&c, "HOST_MODEL_MISSING", KVMIG_SEVERITY_BLOCKER, NULL); /* other labels are there */
    c.kube.trimmed = true; /* in files some labels may have been left out, for all nodes */
    assert_nothing(&c, "HOST_MODEL_MISSING");
    c.kube.trimmed = false;
    condition(&cluster_vm(&c)->conditions, "LiveMigratable", "False", "CPUModeLiveMigratable", "no host model");
    assert_nothing(&c, "NOT_LIVE_MIGRATABLE"); /* it is explained */
    condition(&cluster_vm(&c)->conditions, "LiveMigratable", "True", NULL, NULL);
    /* what the launcher was made with is asked for again */
    pod = cluster_add_launcher(&c, "source", "alpha");
    kvmig__pairs_set(&pod->placement.node_selector, "cpu-model-migration.node.kubevirt.io/Skylake", "true");
    assert_nothing(&c, "HOST_MODEL_MISSING");
    kvmig__pairs_clear(&pod->placement.node_selector);
    pod->placement.node_selector = (struct kvmig__pairs){ 0 };
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, "Haswell");
    assert_nothing(&c, "HOST_MODEL_MISSING");
    cluster_clear(&c);
}

static void without_labels_anywhere_nothing_is_said_of_the_host_model(void **state)
{
    static const char *const nodes[] = { "alpha", "beta", "gamma" };
    struct cluster c;

    (void)state;
    cluster_init(&c);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(nodes); i++) {
        kvmig__pairs_clear(&cluster_node(&c, nodes[i])->meta.labels);
        cluster_node(&c, nodes[i])->meta.labels = (struct kvmig__pairs){ 0 };
    }
    assert_nothing(&c, "HOST_MODEL_MISSING");
    cluster_clear(&c);
}

static void arm64_has_no_host_model(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__str_set(&cluster_vm(&c)->architecture, "arm64");
    assert_vm_has(&c, "HOST_MODEL_MISSING", KVMIG_SEVERITY_BLOCKER, "arm64");
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, "host-passthrough");
    assert_nothing(&c, "HOST_MODEL_MISSING");
    kvmig__str_set(&cluster_vm(&c)->domain.cpu_model, NULL);
    assert_nothing(&c, "HOST_MODEL_MISSING");
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_missing_feature_of_the_host_model_is_named),
        cmocka_unit_test(the_host_models_name_must_be_listed_for_migration),
        cmocka_unit_test(a_vm_that_has_migrated_can_go_back_to_a_weaker_node),
        cmocka_unit_test(a_label_that_not_even_the_source_has_is_stale),
        cmocka_unit_test(features_on_a_first_launcher_do_not_stand_for_the_host_model),
        cmocka_unit_test(where_the_guests_cpu_comes_from_may_be_unknown),
        cmocka_unit_test(a_named_model_needs_its_own_label_only),
        cmocka_unit_test(the_model_may_come_from_the_cluster),
        cmocka_unit_test(passthrough_is_a_risk_on_another_generation),
        cmocka_unit_test(vendors_must_agree_in_every_mode),
        cmocka_unit_test(obsolete_host_models_and_forbidden_features_block),
        cmocka_unit_test(dedicated_cpus_need_a_cpu_manager_and_whole_cpus),
        cmocka_unit_test(a_pinned_tsc_must_be_near_or_scalable),
        cmocka_unit_test(the_machine_type_must_be_offered),
        cmocka_unit_test(strict_hyperv_checks_only_with_their_gate),
        cmocka_unit_test(the_source_must_tell_its_host_model),
        cmocka_unit_test(without_labels_anywhere_nothing_is_said_of_the_host_model),
        cmocka_unit_test(arm64_has_no_host_model),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
