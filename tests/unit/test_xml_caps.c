/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What hosts of several libvirt versions say about themselves, read into the model: capabilities, domain capabilities,
 * CPUs and the names of their features.
 */
#include "xml_test.h"

static struct kvmig__host *read_host(const char *name)
{
    struct kvmig__host *host = kvmig__host_new();
    char *text = fixture(name);
    if (kvmig__xml_capabilities(text, name, host) < 0)
        fail_msg("%s: %s", name, kvmig_error_message(kvmig_error_last()));
    free(text);
    return host;
}

static struct kvmig__emulator read_emulator(const char *name)
{
    struct kvmig__emulator emulator;
    char *text = fixture(name);
    if (kvmig__xml_domain_capabilities(text, name, &emulator) < 0)
        fail_msg("%s: %s", name, kvmig_error_message(kvmig_error_last()));
    free(text);
    return emulator;
}

static const struct kvmig__machine *machine_of(const struct kvmig__host *host, const char *arch, const char *name)
{
    const struct kvmig__machine *found = NULL;
    for (size_t i = 0; i < host->machines.n; i++) {
        if (!kvmig__str_eq(host->machines.v[i].name, name) || !kvmig__str_eq(host->machines.v[i].arch, arch))
            continue;
        assert_null(found); /* listed once */
        found = &host->machines.v[i];
    }
    return found;
}

static const struct kvmig__cpu_model *model_of(const struct kvmig__emulator *emulator, const char *name)
{
    for (size_t i = 0; i < emulator->models.n; i++)
        if (kvmig__str_eq(emulator->models.v[i].name, name))
            return &emulator->models.v[i];
    fail_msg("no model %s", name);
    return NULL;
}

static bool has_feature(const struct kvmig__cpu *cpu, const char *name, int32_t policy)
{
    for (size_t i = 0; i < cpu->features.n; i++)
        if (kvmig__str_eq(cpu->features.v[i].name, name) && cpu->features.v[i].policy == policy)
            return true;
    return false;
}

/* ---- capabilities ---- */

static void a_host_tells_its_uuid_arch_cpus_and_security(void **state)
{
    (void)state;
    struct kvmig__host *host = read_host("9.0/capabilities-alpha");
    assert_text(host->uuid, "11111111-aaaa-4000-8000-00000000000a");
    assert_text(host->arch, "x86_64");
    assert_int_equal(host->cpus, 2);
    assert_int_equal(host->secure_models.n, 2);
    assert_text(host->secure_models.v[0], "none");
    assert_text(host->secure_models.v[1], "dac");
    assert_true(host->machines_known);
    assert_true(host->memory_total == KVMIG__UNKNOWN); /* not its business */
    kvmig__host_free(host);
}

static void cpus_are_counted_over_numa_cells(void **state)
{
    (void)state;
    struct kvmig__host *host = read_host("6.0/capabilities-skylake");
    assert_int_equal(host->cpus, 16); /* the topology there tells one socket of two */
    kvmig__host_free(host);
    host = read_host("11.3/capabilities-genoa");
    assert_int_equal(host->cpus, 64);
    kvmig__host_free(host);
}

static void without_cells_the_topology_is_counted(void **state)
{
    (void)state;
    struct kvmig__host *host = kvmig__host_new();
    const char *text = "<capabilities><host><cpu><arch>x86_64</arch><topology sockets='2' dies='2' cores='4' "
                       "threads='2'/></cpu></host></capabilities>";
    assert_int_equal(kvmig__xml_capabilities(text, "test", host), 0);
    assert_int_equal(host->cpus, 32);
    assert_false(host->machines_known);
    assert_int_equal(kvmig__xml_capabilities("<capabilities><host/></capabilities>", "test", host), 0);
    assert_int_equal(host->cpus, 0);
    assert_null(host->arch); /* read anew, nothing is left of the first */
    kvmig__host_free(host);
}

static void machines_and_their_aliases_are_listed_once_per_architecture(void **state)
{
    (void)state;
    struct kvmig__host *host = read_host("9.0/capabilities-alpha");
    assert_text(machine_of(host, "x86_64", "q35")->canonical, "pc-q35-7.2");
    assert_text(machine_of(host, "x86_64", "pc")->canonical, "pc-i440fx-7.2");
    assert_null(machine_of(host, "x86_64", "pc-q35-7.2")->canonical);
    assert_non_null(machine_of(host, "i686", "q35"));
    assert_null(machine_of(host, "aarch64", "virt"));
    kvmig__host_free(host);
}

static void machines_inside_a_domain_type_are_not_listed_again(void **state)
{
    (void)state;
    struct kvmig__host *host = read_host("6.0/capabilities-haswell");
    assert_int_equal(host->machines.n, 8);
    assert_text(machine_of(host, "x86_64", "ubuntu")->canonical, "pc-i440fx-4.2");
    kvmig__host_free(host);
    host = kvmig__host_new();
    const char *text = "<capabilities><guest><arch name='x86_64'><machine>pc-q35-9.0</machine><domain type='kvm'>"
                       "<machine canonical='pc-q35-9.0'>q35</machine><machine>q35</machine></domain></arch></guest>"
                       "</capabilities>";
    assert_int_equal(kvmig__xml_capabilities(text, "test", host), 0);
    assert_int_equal(host->machines.n, 2);
    assert_text(machine_of(host, "x86_64", "q35")->canonical, "pc-q35-9.0");
    kvmig__host_free(host);
}

/* ---- domain capabilities ---- */

static void domain_capabilities_tell_what_they_were_asked_for(void **state)
{
    (void)state;
    struct kvmig__emulator e = read_emulator("9.0/domcapabilities-alpha-qemu-i440fx");
    assert_text(e.path, "/usr/bin/qemu-system-x86_64");
    assert_text(e.virt_type, "qemu");
    assert_text(e.machine, "pc-i440fx-7.2");
    assert_text(e.arch, "x86_64");
    assert_false(e.passthrough_supported);
    assert_false(e.host_passthrough_migratable);
    assert_true(e.maximum_supported);
    kvmig__emulator_clear(&e);
    e = read_emulator("9.0/domcapabilities-alpha-kvm-q35");
    assert_text(e.virt_type, "kvm");
    assert_text(e.machine, "pc-q35-7.2");
    assert_true(e.passthrough_supported);
    assert_true(e.host_passthrough_migratable);
    kvmig__emulator_clear(&e);
}

static void host_model_is_read_with_its_features(void **state)
{
    (void)state;
    struct kvmig__emulator e = read_emulator("8.0/domcapabilities-icelake-kvm-q35");
    assert_true(e.host_model_known);
    assert_int_equal(e.host_model.mode, KVMIG__CPU_CUSTOM);
    assert_text(e.host_model.model, "Icelake-Server-noTSX");
    assert_text(e.host_model.vendor, "Intel");
    assert_true(has_feature(&e.host_model, "fsrm", KVMIG__CPU_REQUIRE));
    assert_true(has_feature(&e.host_model, "mpx", KVMIG__CPU_DISABLE));
    assert_null(e.host_model.xml);
    assert_int_equal(e.host_model.migratable, -1);
    kvmig__emulator_clear(&e);
}

static void versions_without_the_list_cannot_refuse_migratable_passthrough(void **state)
{
    (void)state;
    struct kvmig__emulator e = read_emulator("6.0/domcapabilities-haswell-kvm-q35");
    assert_true(e.passthrough_supported);
    assert_true(e.host_passthrough_migratable);
    assert_false(e.maximum_supported);
    kvmig__emulator_clear(&e);
    const char *text = "<domainCapabilities><cpu><mode name='host-passthrough' supported='yes'>"
                       "<enum name='hostPassthroughMigratable'><value>off</value></enum></mode>"
                       "<mode name='host-model' supported='no'/></cpu></domainCapabilities>";
    assert_int_equal(kvmig__xml_domain_capabilities(text, "test", &e), 0);
    assert_true(e.passthrough_supported);
    assert_false(e.host_passthrough_migratable);
    assert_false(e.host_model_known);
    kvmig__emulator_clear(&e);
}

static void custom_models_tell_whether_they_are_usable(void **state)
{
    (void)state;
    struct kvmig__emulator e = read_emulator("9.0/domcapabilities-alpha-qemu-q35");
    assert_true(model_of(&e, "Westmere")->usable);
    assert_text(model_of(&e, "Westmere")->vendor, "Intel");
    assert_false(model_of(&e, "phenom")->usable);
    assert_null(model_of(&e, "qemu64")->vendor); /* "unknown" */
    assert_null(model_of(&e, "Westmere")->canonical);
    kvmig__emulator_clear(&e);
    const char *text = "<domainCapabilities><cpu><mode name='custom' supported='yes'><model usable='unknown'>a</model>"
                       "<model>b</model><model usable='no'>c</model></mode></cpu></domainCapabilities>";
    assert_int_equal(kvmig__xml_domain_capabilities(text, "test", &e), 0);
    assert_true(model_of(&e, "a")->usable); /* no evidence against it */
    assert_true(model_of(&e, "b")->usable);
    assert_false(model_of(&e, "c")->usable);
    kvmig__emulator_clear(&e);
}

static void blockers_are_read_for_their_models(void **state)
{
    (void)state;
    struct kvmig__emulator e = read_emulator("10.5/domcapabilities-rome-kvm-q35");
    assert_true(model_of(&e, "EPYC-Rome")->usable);
    assert_int_equal(model_of(&e, "EPYC-Rome")->blockers.n, 0);
    const struct kvmig__cpu_model *milan = model_of(&e, "EPYC-Milan");
    assert_false(milan->usable);
    assert_int_equal(milan->blockers.n, 2);
    assert_text(milan->blockers.v[0], "pcid");
    assert_text(milan->blockers.v[1], "vaes");
    kvmig__emulator_clear(&e);
}

static void versioned_models_are_known_by_both_names(void **state)
{
    (void)state;
    struct kvmig__emulator e = read_emulator("11.3/domcapabilities-sapphire-kvm-q35");
    assert_text(model_of(&e, "Skylake-Server-IBRS")->canonical, "Skylake-Server-v2");
    assert_null(model_of(&e, "Skylake-Server-v2")->canonical);
    assert_true(model_of(&e, "Skylake-Server-v2")->usable);
    assert_false(model_of(&e, "EPYC-Genoa-v1")->usable);
    assert_true(kvmig__strlist_has(&model_of(&e, "EPYC-Genoa-v1")->blockers, "nrip-save"));
    kvmig__emulator_clear(&e);
}

static void blockers_of_unknown_models_are_ignored(void **state)
{
    (void)state;
    struct kvmig__emulator e;
    const char *text = "<domainCapabilities><cpu><mode name='custom' supported='yes'><blockers model='x'>"
                       "<feature name='a'/></blockers><blockers><feature name='b'/></blockers></mode>"
                       "<mode name='host-model' supported='yes'><vendor>v</vendor></mode>"
                       "<mode name='host-model' supported='yes'><model>m</model></mode></cpu></domainCapabilities>";
    assert_int_equal(kvmig__xml_domain_capabilities(text, "test", &e), 0);
    assert_int_equal(e.models.n, 0);
    assert_text(e.host_model.model, "m");
    assert_null(e.host_model.vendor);
    kvmig__emulator_clear(&e);
}

static void all_hosts_of_the_fixtures_can_be_read(void **state)
{
    (void)state;
    static const char *const hosts[] = { "6.0|haswell", "6.0|skylake", "8.0|cascade", "8.0|icelake",   "9.0|alpha",
                                         "9.0|beta",    "10.5|rome",   "10.5|milan",  "11.3|sapphire", "11.3|genoa" };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(hosts); i++) {
        int n = (int)strcspn(hosts[i], "|");
        char *name = kvmig__asprintf("%.*s/capabilities-%s", n, hosts[i], hosts[i] + n + 1);
        struct kvmig__host *host = read_host(name);
        assert_non_null(host->uuid);
        assert_true(host->cpus > 0 && host->machines.n > 0);
        kvmig__host_free(host);
        free(name);
        name = kvmig__asprintf("%.*s/domcapabilities-%s-kvm-q35", n, hosts[i], hosts[i] + n + 1);
        struct kvmig__emulator emulator = read_emulator(name);
        assert_true(emulator.host_model_known && emulator.models.n > 0);
        kvmig__emulator_clear(&emulator);
        free(name);
    }
}

/* ---- CPUs ---- */

static void one_cpu_element_is_read_with_all_policies(void **state)
{
    (void)state;
    struct kvmig__cpu cpu;
    const char *text = "<cpu mode='custom' match='exact' check='partial'><model fallback='forbid'>Haswell</model>"
                       "<vendor>Intel</vendor><feature policy='force' name='a'/><feature policy='optional' name='b'/>"
                       "<feature policy='forbid' name='c'/><feature name='d'/><feature policy='require'/></cpu>";
    assert_int_equal(kvmig__xml_cpu(text, "test", &cpu), 0);
    assert_text(cpu.model, "Haswell");
    assert_text(cpu.check, "partial");
    assert_int_equal(cpu.features.n, 4); /* one has no name */
    assert_true(has_feature(&cpu, "a", KVMIG__CPU_FORCE));
    assert_true(has_feature(&cpu, "b", KVMIG__CPU_OPTIONAL));
    assert_true(has_feature(&cpu, "c", KVMIG__CPU_FORBID));
    assert_true(has_feature(&cpu, "d", KVMIG__CPU_REQUIRE));
    assert_true(kvmig__str_starts(cpu.xml, "<cpu ") && kvmig__str_ends(cpu.xml, "</cpu>"));
    assert_non_null(strstr(cpu.xml, "<vendor>Intel</vendor>"));
    kvmig__cpu_clear(&cpu);
}

static void equal_features_get_equal_names(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "arch-facilities", "arch-capabilities" },
        { "arch_capabilities", "arch-capabilities" },
        { "sse4_1", "sse4.1" },
        { "sse4-2", "sse4.2" },
        { "sse3", "pni" },
        { "pclmulqdq", "pclmuldq" },
        { "lahf-lm", "lahf_lm" },
        { "LAHF_LM", "lahf_lm" },
        { "tsc-adjust", "tsc_adjust" },
        { "tsc_adjust", "tsc_adjust" },
        { "ds-cpl", "ds_cpl" },
        { "kvm-pv-unhalt", "kvm_pv_unhalt" },
        { "nrip_save", "nrip-save" },
        { "tsc_deadline_timer", "tsc-deadline" },
        { "cqm", "cmt" },
        { "xd", "nx" },
        { "aes", "aes" },
        { "sse4", "sse4" }, /* only a beginning of other names */
        { "sse4-11", "sse4-11" },
    };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(pairs); i++)
        assert_text(kvmig__cpu_feature_canonical(pairs[i][0]), pairs[i][1]);
    assert_null(kvmig__cpu_feature_canonical(NULL));
}

static void features_outside_the_table_are_spelled_in_one_way(void **state)
{
    (void)state;
    struct kvmig__cpu cpu;
    const char *text =
        "<cpu><feature name='AVX512_VPOPCNTDQ'/><feature name='hv_relaxed'/><feature name='md_clear'/></cpu>";
    assert_int_equal(kvmig__xml_cpu(text, "test", &cpu), 0);
    assert_text(cpu.features.v[0].name, "avx512-vpopcntdq");
    assert_text(cpu.features.v[1].name, "hv-relaxed");
    assert_text(cpu.features.v[2].name, "md-clear");
    kvmig__cpu_clear(&cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_tells_its_uuid_arch_cpus_and_security),
        cmocka_unit_test(cpus_are_counted_over_numa_cells),
        cmocka_unit_test(without_cells_the_topology_is_counted),
        cmocka_unit_test(machines_and_their_aliases_are_listed_once_per_architecture),
        cmocka_unit_test(machines_inside_a_domain_type_are_not_listed_again),
        cmocka_unit_test(domain_capabilities_tell_what_they_were_asked_for),
        cmocka_unit_test(host_model_is_read_with_its_features),
        cmocka_unit_test(versions_without_the_list_cannot_refuse_migratable_passthrough),
        cmocka_unit_test(custom_models_tell_whether_they_are_usable),
        cmocka_unit_test(blockers_are_read_for_their_models),
        cmocka_unit_test(versioned_models_are_known_by_both_names),
        cmocka_unit_test(blockers_of_unknown_models_are_ignored),
        cmocka_unit_test(all_hosts_of_the_fixtures_can_be_read),
        cmocka_unit_test(one_cpu_element_is_read_with_all_policies),
        cmocka_unit_test(equal_features_get_equal_names),
        cmocka_unit_test(features_outside_the_table_are_spelled_in_one_way),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
