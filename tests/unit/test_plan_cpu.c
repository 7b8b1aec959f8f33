/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner's comparison of CPUs: what the running guest has and the target cannot give, by name; and what must not alarm.
 */
#include "plan_fixture.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKER KVMIG_SEVERITY_BLOCKER
#define WARN KVMIG_SEVERITY_WARN
#define INFO KVMIG_SEVERITY_INFO

static struct scene scene;

static int setup(void **state)
{
    (void)state;
    scene_init(&scene);
    kvmig__str_set(&scene.request.target, "beta");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scene_clear(&scene);
    return 0;
}

static struct kvmig__cpu *guest_cpu(void)
{
    return &scene_vm(&scene)->cpu;
}

static struct kvmig__emulator *emulator_of(const char *host)
{
    return &scene_host(&scene, host)->emulators.v[0];
}

/* Plans, and expects the finding. */
static const struct kvmig_finding *expect(const char *code, int32_t severity)
{
    return assert_finding(scene_plan(&scene), code, severity);
}

static void missing_features_are_named(void **state)
{
    static const char *const used[] = { "aes", "avx2", "avx512f", "pku", "mpx" };
    const struct kvmig_finding *finding;

    (void)state;
    guest_cpu()->expanded_known = true;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(used); i++)
        kvmig__strlist_add(&guest_cpu()->expanded, used[i]);
    for (size_t i = 2; i < KVMIG__N_ELEMENTS(used); i++)
        kvmig__strlist_add(&emulator_of("alpha")->host_model.expanded, used[i]);
    cpu_add_feature(guest_cpu(), "mpx", KVMIG__CPU_DISABLE);
    finding = expect("CPU_FEATURE_MISSING", BLOCKER);
    assert_string_equal(kvmig_finding_detail(finding), "{\"missing\": [\"avx512f\", \"pku\"]}");
    assert_string_equal(kvmig_finding_host(finding), "beta");
}

static void what_the_source_cannot_give_either_is_not_missed(void **state)
{
    (void)state;
    guest_cpu()->expanded_known = true;
    kvmig__strlist_add(&guest_cpu()->expanded, "vme"); /* in the model, but not in either host */
    assert_clean(scene_plan(&scene));
}

static void required_features_count_where_the_guest_is_not_expanded(void **state)
{
    (void)state;
    cpu_add_feature(guest_cpu(), "avx512f", KVMIG__CPU_REQUIRE);
    cpu_add_feature(guest_cpu(), "amx-tile", KVMIG__CPU_OPTIONAL);
    kvmig__strlist_add(&emulator_of("alpha")->host_model.expanded, "avx512f");
    assert_string_equal(kvmig_finding_detail(expect("CPU_FEATURE_MISSING", BLOCKER)), "{\"missing\": [\"avx512f\"]}");
}

static void nothing_is_called_missing_on_thin_evidence(void **state)
{
    (void)state;
    cpu_add_feature(guest_cpu(), "avx512f", KVMIG__CPU_REQUIRE);
    emulator_of("beta")->host_model.expanded_known = false;
    emulator_of("alpha")->host_model.expanded_known = false;
    assert_clean(scene_plan(&scene));
    assert_finding(scene.plan, "CPU_UNVERIFIED", INFO);
    /* Both host-models are one model; the source's adds the feature, so the model does not have it. */
    cpu_add_feature(&emulator_of("alpha")->host_model, "avx512f", KVMIG__CPU_REQUIRE);
    assert_detail(expect("CPU_FEATURE_MISSING", BLOCKER), "avx512f");
    cpu_add_feature(&emulator_of("beta")->host_model, "avx512f", KVMIG__CPU_REQUIRE);
    assert_clean(scene_plan(&scene));
    assert_no_finding(scene.plan, "CPU_UNVERIFIED");
}

static void a_feature_that_the_target_removes_is_missing(void **state)
{
    (void)state;
    cpu_add_feature(guest_cpu(), "hle", KVMIG__CPU_FORCE);
    emulator_of("beta")->host_model.expanded_known = false;
    cpu_add_feature(&emulator_of("beta")->host_model, "hle", KVMIG__CPU_DISABLE);
    assert_detail(expect("CPU_FEATURE_MISSING", BLOCKER), "hle");
}

static void a_model_must_be_known_and_usable(void **state)
{
    (void)state;
    emulator_of("beta")->models.v[0].usable = false;
    assert_detail(expect("CPU_MODEL_UNSUPPORTED", BLOCKER), "Haswell");
    kvmig__strlist_add(&emulator_of("beta")->models.v[0].blockers, "hle");
    kvmig__strlist_add(&emulator_of("beta")->models.v[0].blockers, "rtm");
    assert_string_equal(kvmig_finding_detail(expect("CPU_FEATURE_MISSING", BLOCKER)),
                        "{\"missing\": [\"hle\", \"rtm\"]}");
    cpu_add_feature(guest_cpu(), "hle", KVMIG__CPU_DISABLE);
    cpu_add_feature(guest_cpu(), "rtm", KVMIG__CPU_DISABLE);
    assert_clean(scene_plan(&scene));
    kvmig__str_set(&emulator_of("beta")->models.v[0].name, "Nehalem");
    assert_detail(expect("CPU_MODEL_UNSUPPORTED", BLOCKER), "Haswell");
}

static void a_model_that_is_unusable_on_both_hosts_proves_nothing(void **state)
{
    (void)state;
    emulator_of("alpha")->models.v[0].usable = emulator_of("beta")->models.v[0].usable = false;
    assert_clean(scene_plan(&scene));
    assert_finding(scene.plan, "CPU_UNVERIFIED", INFO);
}

static void vmx_details_are_compared_only_if_the_target_knows_them(void **state)
{
    (void)state;
    guest_cpu()->expanded_known = true;
    kvmig__strlist_add(&guest_cpu()->expanded, "vmx-ept");
    kvmig__strlist_add(&emulator_of("alpha")->host_model.expanded, "vmx-ept");
    assert_clean(scene_plan(&scene));
    kvmig__strlist_add(&emulator_of("beta")->host_model.expanded, "vmx-vpid");
    assert_detail(expect("CPU_FEATURE_MISSING", BLOCKER), "vmx-ept");
}

static void a_passed_through_cpu_is_a_risk_where_it_differs(void **state)
{
    (void)state;
    guest_cpu()->mode = KVMIG__CPU_HOST_PASSTHROUGH;
    kvmig__str_set(&guest_cpu()->model, NULL);
    assert_clean(scene_plan(&scene));
    kvmig__strlist_add(&emulator_of("alpha")->host_model.expanded, "avx512f");
    assert_detail(expect("CPU_PASSTHROUGH_MISMATCH", WARN), "avx512f");
    emulator_of("alpha")->host_model.expanded_known = false;
    kvmig__str_set(&emulator_of("alpha")->host_model.model, "Skylake-Server");
    assert_detail(expect("CPU_PASSTHROUGH_MISMATCH", WARN), "Skylake-Server");
    kvmig__str_set(&emulator_of("beta")->host_model.vendor, "AMD");
    assert_detail(expect("CPU_VENDOR_MISMATCH", BLOCKER), "AMD");
    emulator_of("beta")->passthrough_supported = false;
    expect("CPU_MODEL_UNSUPPORTED", BLOCKER);
}

static void host_model_means_the_model_of_the_source(void **state)
{
    (void)state;
    guest_cpu()->mode = KVMIG__CPU_HOST_MODEL;
    kvmig__str_set(&guest_cpu()->model, NULL);
    assert_clean(scene_plan(&scene));
    kvmig__strlist_add(&emulator_of("alpha")->host_model.expanded, "rfds-clear");
    assert_detail(expect("CPU_FEATURE_MISSING", BLOCKER), "rfds-clear");
}

static void what_no_host_can_carry_is_told_without_a_target(void **state)
{
    (void)state;
    cpu_add_feature(guest_cpu(), "invtsc", KVMIG__CPU_REQUIRE);
    assert_detail(expect("CPU_NON_MIGRATABLE_FLAG", BLOCKER), "invtsc");
    assert_null(kvmig_finding_host(plan_finding(scene.plan, "CPU_NON_MIGRATABLE_FLAG")));
    guest_cpu()->tsc_frequency_hz = 2500000000;
    assert_clean(scene_plan(&scene)); /* fixed; and invtsc is in no host-model */
    guest_cpu()->tsc_frequency_hz = 0;
    guest_cpu()->features.v[0].policy = KVMIG__CPU_DISABLE;
    assert_clean(scene_plan(&scene));
    guest_cpu()->migratable = 0;
    assert_detail(expect("CPU_NON_MIGRATABLE_FLAG", BLOCKER), "migratable=off");
    guest_cpu()->migratable = 1;
    assert_clean(scene_plan(&scene));
}

static void a_cpu_that_cannot_be_compared_is_a_remark(void **state)
{
    (void)state;
    kvmig__str_set(&emulator_of("beta")->arch, "aarch64");
    expect("CPU_UNVERIFIED", INFO);
    guest_cpu()->mode = KVMIG__CPU_NONE;
    assert_no_finding(scene_plan(&scene), "CPU_UNVERIFIED");
}

static void an_expanded_invtsc_counts_unless_it_was_removed(void **state)
{
    (void)state;
    guest_cpu()->expanded_known = true;
    kvmig__strlist_add(&guest_cpu()->expanded, "invtsc");
    expect("CPU_NON_MIGRATABLE_FLAG", BLOCKER);
    cpu_add_feature(guest_cpu(), "invtsc", KVMIG__CPU_FORBID);
    assert_clean(scene_plan(&scene));
}

static void a_source_that_was_not_asked_leaves_the_comparison_open(void **state)
{
    (void)state;
    kvmig__str_set(&emulator_of("alpha")->virt_type, "qemu");
    guest_cpu()->expanded_known = true;
    kvmig__strlist_add(&guest_cpu()->expanded, "avx512f"); /* then the guest's own list counts as it is */
    expect("CPU_FEATURE_MISSING", BLOCKER);
    guest_cpu()->mode = KVMIG__CPU_HOST_PASSTHROUGH;
    expect("CPU_UNVERIFIED", INFO);
    guest_cpu()->mode = KVMIG__CPU_HOST_MODEL;
    expect("CPU_UNVERIFIED", INFO);
    kvmig__str_set(&emulator_of("alpha")->virt_type, "kvm");
    emulator_of("alpha")->host_model_known = false;
    expect("CPU_UNVERIFIED", INFO);
}

static void a_host_model_of_another_vendor_blocks(void **state)
{
    (void)state;
    guest_cpu()->mode = KVMIG__CPU_HOST_MODEL;
    kvmig__str_set(&emulator_of("beta")->host_model.vendor, "AMD");
    expect("CPU_VENDOR_MISMATCH", BLOCKER);
    guest_cpu()->mode = KVMIG__CPU_CUSTOM;
    assert_clean(scene_plan(&scene)); /* the guest's own model names no vendor */
    kvmig__str_set(&guest_cpu()->vendor, "Intel");
    expect("CPU_VENDOR_MISMATCH", BLOCKER);
}

static void host_models_that_differ_leave_the_comparison_open(void **state)
{
    (void)state;
    guest_cpu()->mode = KVMIG__CPU_HOST_MODEL;
    emulator_of("alpha")->host_model.expanded_known = false;
    assert_clean(scene_plan(&scene));
    assert_no_finding(scene.plan, "CPU_UNVERIFIED"); /* one model without additions */
    kvmig__str_set(&emulator_of("beta")->host_model.model, "Skylake-Client");
    expect("CPU_UNVERIFIED", INFO);
    cpu_add_feature(&emulator_of("alpha")->host_model, "hle", KVMIG__CPU_REQUIRE);
    cpu_add_feature(&emulator_of("beta")->host_model, "hle", KVMIG__CPU_DISABLE);
    assert_detail(expect("CPU_FEATURE_MISSING", BLOCKER), "hle");
}

static void a_target_without_models_leaves_the_model_open(void **state)
{
    (void)state;
    free(emulator_of("beta")->models.v[0].name);
    emulator_of("beta")->models.n = 0;
    expect("CPU_UNVERIFIED", INFO);
    assert_clean(scene.plan);
}

static void the_answer_for_the_same_machine_counts(void **state)
{
    struct kvmig__emulator *other = KVMIG__PUSH(&scene_host(&scene, "beta")->emulators);

    (void)state;
    other->arch = kvmig__strdup("x86_64");
    other->virt_type = kvmig__strdup("kvm");
    other->machine = kvmig__strdup("pc-q35-7.2");
    kvmig__str_set(&emulator_of("beta")->machine, "pc-i440fx-7.2");
    KVMIG__PUSH(&other->models)->name = kvmig__strdup("Haswell");
    other->models.v[0].usable = false;
    expect("CPU_MODEL_UNSUPPORTED", BLOCKER);
}

static void a_tsc_of_another_frequency_blocks_unless_it_is_scaled(void **state)
{
    (void)state;
    guest_cpu()->tsc_frequency_hz = 2600000000;
    assert_clean(scene_plan(&scene)); /* the target has not told its own */
    scene_host(&scene, "beta")->tsc_frequency_hz = 2100000000;
    assert_no_finding(scene_plan(&scene), "TSC_FREQUENCY_MISMATCH"); /* nor whether it scales */
    scene_host(&scene, "beta")->tsc_scaling = 0;
    assert_detail(expect("TSC_FREQUENCY_MISMATCH", BLOCKER), "2100000000");
    scene_host(&scene, "beta")->tsc_scaling = 1;
    assert_clean(scene_plan(&scene));
    scene_host(&scene, "beta")->tsc_scaling = 0;
    scene_host(&scene, "beta")->tsc_frequency_hz = 2600500000; /* within 250 parts of a million */
    assert_clean(scene_plan(&scene));
    scene_host(&scene, "beta")->tsc_frequency_hz = 2601000000;
    expect("TSC_FREQUENCY_MISMATCH", BLOCKER);
    guest_cpu()->tsc_frequency_hz = 0;
    assert_clean(scene_plan(&scene));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(missing_features_are_named),
        TEST(what_the_source_cannot_give_either_is_not_missed),
        TEST(required_features_count_where_the_guest_is_not_expanded),
        TEST(nothing_is_called_missing_on_thin_evidence),
        TEST(a_feature_that_the_target_removes_is_missing),
        TEST(a_model_must_be_known_and_usable),
        TEST(a_model_that_is_unusable_on_both_hosts_proves_nothing),
        TEST(vmx_details_are_compared_only_if_the_target_knows_them),
        TEST(a_passed_through_cpu_is_a_risk_where_it_differs),
        TEST(host_model_means_the_model_of_the_source),
        TEST(what_no_host_can_carry_is_told_without_a_target),
        TEST(a_cpu_that_cannot_be_compared_is_a_remark),
        TEST(an_expanded_invtsc_counts_unless_it_was_removed),
        TEST(a_source_that_was_not_asked_leaves_the_comparison_open),
        TEST(a_host_model_of_another_vendor_blocks),
        TEST(host_models_that_differ_leave_the_comparison_open),
        TEST(a_target_without_models_leaves_the_model_open),
        TEST(the_answer_for_the_same_machine_counts),
        TEST(a_tsc_of_another_frequency_blocks_unless_it_is_scaled),
    };

    return !!cmocka_run_group_tests_name("plan CPU", tests, NULL, NULL);
}
