/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a guest is bound to and what the target must offer: huge pages, NUMA nodes, CPUs by number, devices, firmware, secrets,
 * the way between the hosts, post-copy. For each rule: it fires, a near miss is clean, and what is not known is not held
 * against the target.
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

static struct kvmig__host *alpha(void)
{
    return scene_host(&scene, "alpha");
}

static struct kvmig__host *beta(void)
{
    return scene_host(&scene, "beta");
}

static struct kvmig__domain *vm(void)
{
    return scene_vm(&scene);
}

static const struct kvmig_finding *expect(const char *code, int32_t severity)
{
    return assert_finding(scene_plan(&scene), code, severity);
}

static void expect_clean_of(const char *code)
{
    assert_no_finding(scene_plan(&scene), code);
    assert_clean(scene.plan);
}

/* A cell of the target with two CPUs, 8 GiB and pages of two sizes. */
static struct kvmig__numa_cell *add_cell(uint32_t id, uint64_t free_2m)
{
    struct kvmig__numa_cell *cell = KVMIG__PUSH(&beta()->cells);

    cell->id = id;
    cell->memory = 8 * GIB;
    *KVMIG__PUSH(&cell->cpus) = id * 2;
    *KVMIG__PUSH(&cell->cpus) = id * 2 + 1;
    *KVMIG__PUSH(&cell->pages) = (struct kvmig__pages){ 4096, 1000, 1000 };
    *KVMIG__PUSH(&cell->pages) = (struct kvmig__pages){ 2 * MIB, 4096, free_2m };
    beta()->cells_known = true;
    return cell;
}

static void add_offer(struct kvmig__host *host, const char *what, const char *value)
{
    struct kvmig__offer *offer = KVMIG__PUSH(&host->emulators.v[0].offers);

    offer->what = kvmig__strdup(what);
    if (value)
        kvmig__strlist_add(&offer->values, value);
}

static void add_need(const char *what, const char *value)
{
    struct kvmig__need *need = KVMIG__PUSH(&vm()->needs);

    need->what = kvmig__strdup(what);
    need->value = kvmig__strdup(value);
    need->name = kvmig__strdup("dev0");
}

static void add_pin(const char *what, const char *cpus)
{
    struct kvmig__cpu_pin *pin = KVMIG__PUSH(&vm()->cpu_pins);

    pin->what = kvmig__strdup(what);
    pin->cpus = kvmig__strdup(cpus);
}

/* ---- huge pages ---- */

static void free_huge_pages_are_counted(void **state)
{
    (void)state;
    vm()->hugepages = true;
    vm()->hugepage_size = 2 * MIB;
    vm()->memory = vm()->max_memory = 2 * GIB;
    expect("HUGEPAGES_UNVERIFIED", INFO); /* the target has not told */
    assert_clean(scene.plan);
    add_cell(0, 1023);
    assert_detail(expect("INSUFFICIENT_HUGEPAGES", BLOCKER), "1023");
    beta()->cells.v[0].pages.v[1].free = 1024;
    expect_clean_of("INSUFFICIENT_HUGEPAGES");
    assert_no_finding(scene.plan, "HUGEPAGES_UNVERIFIED");
    beta()->cells.v[0].pages.v[1].free = KVMIG__UNKNOWN;
    expect("HUGEPAGES_UNVERIFIED", INFO); /* enough in total, and how many are free is not known */
    beta()->cells.v[0].pages.v[1].total = 10;
    expect("INSUFFICIENT_HUGEPAGES", BLOCKER);
    vm()->hugepage_size = GIB; /* a size that the target does not list */
    assert_detail(expect("INSUFFICIENT_HUGEPAGES", BLOCKER), "1073741824");
}

static void huge_pages_count_where_the_memory_must_lie(void **state)
{
    (void)state;
    vm()->hugepages = true; /* of the host's default size, and the target has but one */
    vm()->memory = vm()->max_memory = 2 * GIB;
    add_cell(0, 1000);
    add_cell(1, 1000);
    expect_clean_of("INSUFFICIENT_HUGEPAGES");
    assert_no_finding(scene.plan, "HUGEPAGES_UNVERIFIED");
    vm()->numa_pinned = true;
    vm()->numa_nodeset = kvmig__strdup("1");
    assert_detail(expect("INSUFFICIENT_HUGEPAGES", BLOCKER), "1000");
    vm()->hugepages_mixed = true;
    expect("HUGEPAGES_UNVERIFIED", INFO);
    assert_clean(scene.plan);
}

static void the_default_size_is_not_guessed(void **state)
{
    struct kvmig__numa_cell *cell;

    (void)state;
    vm()->hugepages = true;
    vm()->memory = vm()->max_memory = 2 * GIB;
    cell = add_cell(0, 0);
    *KVMIG__PUSH(&cell->pages) = (struct kvmig__pages){ GIB, 4, 4 };
    expect("HUGEPAGES_UNVERIFIED", INFO);
    assert_clean(scene.plan);
}

/* ---- NUMA ---- */

static void numa_nodes_must_exist_and_hold_the_memory(void **state)
{
    (void)state;
    vm()->numa_pinned = true;
    vm()->numa_nodeset = kvmig__strdup("0-1");
    vm()->memory = vm()->max_memory = 12 * GIB;
    expect("NUMA_UNVERIFIED", INFO);
    add_cell(0, 0);
    assert_detail(expect("NUMA_NODE_MISSING", BLOCKER), "\"missing\": [\"1\"]");
    assert_no_finding(scene.plan, "NUMA_UNVERIFIED");
    add_cell(1, 0);
    expect_clean_of("NUMA_NODE_MISSING");
    kvmig__str_set(&vm()->numa_nodeset, "0,1,^0");
    assert_detail(expect("NUMA_MEMORY_INSUFFICIENT", BLOCKER), "8589934592");
    vm()->memory = vm()->max_memory = 8 * GIB;
    expect_clean_of("NUMA_MEMORY_INSUFFICIENT");
    kvmig__str_set(&vm()->numa_nodeset, "all of them");
    expect("NUMA_UNVERIFIED", INFO);
    assert_clean(scene.plan);
}

/* ---- CPUs by number ---- */

static void bound_cpus_must_exist(void **state)
{
    (void)state;
    add_pin("vcpu 0", "0-1");
    add_pin("vcpu 1", "6");
    expect_clean_of("PINNED_CPU_MISSING"); /* the target has not told its CPUs */
    add_cell(0, 0);
    assert_detail(expect("PINNED_CPU_MISSING", BLOCKER), "vcpu 1");
    kvmig__str_set(&vm()->cpu_pins.v[1].cpus, "1,6");
    assert_detail(expect("PINNED_CPU_MISSING", WARN), "\"missing\": [\"6\"]");
    add_cell(3, 0);
    expect_clean_of("PINNED_CPU_MISSING");
}

static void own_xml_for_the_target_decides_about_its_cpus(void **state)
{
    struct kvmig__domain there = { .name = NULL };

    (void)state;
    add_pin("vcpu 0", "9");
    add_cell(0, 0);
    expect("PINNED_CPU_MISSING", BLOCKER);
    kvmig__str_set(&scene.request.target_xml, "<domain/>");
    assert_no_finding(scene_plan(&scene), "PINNED_CPU_MISSING"); /* it was not parsed */
    scene.request.target_domain = &there;
    assert_no_finding(scene_plan(&scene), "PINNED_CPU_MISSING");
}

static void channels_need_processor_time(void **state)
{
    (void)state;
    scene.request.parallel_connections = 4;
    expect_clean_of("MULTIFD_ON_LIMITED_CPU");
    add_pin("emulator", "0-3");
    expect_clean_of("MULTIFD_ON_LIMITED_CPU");
    kvmig__str_set(&vm()->cpu_pins.v[0].cpus, "0-2");
    assert_detail(expect("MULTIFD_ON_LIMITED_CPU", WARN), "\"emulator_cpus\": 3");
    kvmig__str_set(&vm()->cpu_pins.v[0].cpus, "0-7");
    vm()->cpu_limited = true;
    expect("MULTIFD_ON_LIMITED_CPU", WARN);
    scene.request.parallel_connections = 0;
    expect_clean_of("MULTIFD_ON_LIMITED_CPU");
}

/* ---- what QEMU there offers ---- */

static void devices_must_be_offered_where_a_list_says_so(void **state)
{
    (void)state;
    add_need("graphics/type", "spice");
    expect_clean_of("DEVICE_UNSUPPORTED_ON_TARGET"); /* no list */
    add_offer(beta(), "graphics/type", "vnc");
    assert_detail(expect("DEVICE_UNSUPPORTED_ON_TARGET", BLOCKER), "\"target_has\": [\"vnc\"]");
    assert_string_equal(kvmig_finding_object(plan_finding(scene.plan, "DEVICE_UNSUPPORTED_ON_TARGET")), "device/dev0");
    add_offer(alpha(), "graphics/type", "vnc"); /* the source does not list it either, and yet the guest has it */
    expect_clean_of("DEVICE_UNSUPPORTED_ON_TARGET");
    kvmig__strlist_add(&alpha()->emulators.v[0].offers.v[0].values, "spice");
    expect("DEVICE_UNSUPPORTED_ON_TARGET", BLOCKER);
    kvmig__strlist_add(&beta()->emulators.v[0].offers.v[0].values, "spice");
    expect_clean_of("DEVICE_UNSUPPORTED_ON_TARGET");
}

static void a_device_that_is_not_supported_at_all_is_missing(void **state)
{
    (void)state;
    add_need("tpm/backendModel", "emulator");
    add_offer(beta(), "tpm", "yes"); /* offered, and no more is told */
    expect_clean_of("DEVICE_UNSUPPORTED_ON_TARGET");
    kvmig__strlist_clear(&beta()->emulators.v[0].offers.v[0].values);
    assert_detail(expect("DEVICE_UNSUPPORTED_ON_TARGET", BLOCKER), "tpm/backendModel");
    kvmig__str_set(&beta()->emulators.v[0].machine, "pc-q35-6.0"); /* asked for another machine */
    assert_no_finding(scene_plan(&scene), "DEVICE_UNSUPPORTED_ON_TARGET");
}

static void hyperv_features_are_named_together(void **state)
{
    const struct kvmig_finding *finding;

    (void)state;
    add_need("hyperv/features", "relaxed");
    add_need("hyperv/features", "evmcs");
    add_need("hyperv/features", "avic");
    add_offer(beta(), "hyperv/features", "relaxed");
    finding = expect("HYPERV_FEATURE_UNSUPPORTED", BLOCKER);
    assert_detail(finding, "\"missing\": [\"evmcs\", \"avic\"]");
    kvmig__strlist_add(&beta()->emulators.v[0].offers.v[0].values, "evmcs");
    kvmig__strlist_add(&beta()->emulators.v[0].offers.v[0].values, "avic");
    expect_clean_of("HYPERV_FEATURE_UNSUPPORTED");
    vm()->hyperv_passthrough = true;
    expect("HYPERV_PASSTHROUGH_NOT_MIGRATABLE", BLOCKER);
}

static void firmware_is_missing_only_if_the_source_lists_it(void **state)
{
    (void)state;
    vm()->loader = kvmig__strdup("/fw/CODE.fd");
    expect("FIRMWARE_UNVERIFIED", INFO);
    assert_clean(scene.plan);
    add_offer(beta(), "loader/path", "/fw/OTHER.fd");
    expect("FIRMWARE_UNVERIFIED", INFO);
    add_offer(alpha(), "loader/path", "/fw/CODE.fd");
    assert_detail(expect("FIRMWARE_MISSING", BLOCKER), "/fw/OTHER.fd");
    kvmig__strlist_add(&beta()->emulators.v[0].offers.v[0].values, "/fw/CODE.fd");
    expect_clean_of("FIRMWARE_MISSING");
    assert_no_finding(scene.plan, "FIRMWARE_UNVERIFIED");
    vm()->nvram_present = true;
    expect("NVRAM_UNVERIFIED", INFO);
    vm()->nvram = kvmig__strdup("/var/lib/libvirt/qemu/nvram/vm1.fd");
    expect_clean_of("NVRAM_UNVERIFIED");
}

/* ---- secrets ---- */

static void secrets_must_be_there_by_uuid_or_usage(void **state)
{
    struct kvmig__secret *wanted, *kept;

    (void)state;
    wanted = KVMIG__PUSH(&vm()->secrets);
    wanted->uuid = kvmig__strdup("aaaaaaaa-0000-4000-8000-00000000000a");
    wanted->of = kvmig__strdup("vda");
    assert_string_equal(kvmig_finding_object(expect("SECRET_MISSING", BLOCKER)),
                        "secret/aaaaaaaa-0000-4000-8000-00000000000a");
    kept = KVMIG__PUSH(&beta()->secrets);
    kept->uuid = kvmig__strdup("AAAAAAAA-0000-4000-8000-00000000000A");
    kept->usage = kvmig__strdup("lun");
    expect_clean_of("SECRET_MISSING");
    wanted = KVMIG__PUSH(&vm()->secrets);
    wanted->usage = kvmig__strdup("lun");
    expect_clean_of("SECRET_MISSING");
    kvmig__str_set(&vm()->secrets.v[1].usage, "other");
    assert_detail(expect("SECRET_MISSING", BLOCKER), "other");
    beta()->secrets_known = false;
    expect("SECRET_UNVERIFIED", INFO);
    assert_no_finding(scene.plan, "SECRET_MISSING");
    assert_clean(scene.plan);
}

/* ---- the way there ---- */

static void what_must_be_reached_is_told(void **state)
{
    const struct kvmig_finding *finding;

    (void)state;
    finding = expect("CONNECTIONS_UNVERIFIED", INFO);
    assert_detail(finding, "qemu+tls://beta/system");
    assert_detail(finding, "client certificate");
    assert_detail(finding, "49152-49215");
    kvmig__str_set(&scene.request.target_uri, "qemu+ssh://root@10.0.0.2/system");
    kvmig__str_set(&scene.request.migrate_uri, "tcp://[fd00::2]:49200");
    scene.request.flags = KVMIG_PLAN_TLS;
    finding = expect("CONNECTIONS_UNVERIFIED", INFO);
    assert_detail(finding, "SSH key");
    assert_detail(finding, "\"tls_name\": \"fd00::2\"");
    assert_detail(finding, "\"qemu_ports\": \"49200\"");
    kvmig__str_set(&scene.request.tls_destination, "beta.example");
    assert_detail(expect("CONNECTIONS_UNVERIFIED", INFO), "\"tls_name\": \"beta.example\"");
    scene.request.flags |= KVMIG_PLAN_MANAGED; /* this process dials the daemon */
    assert_null(strstr(kvmig_finding_detail(expect("CONNECTIONS_UNVERIFIED", INFO)), "daemon_uri"));
}

static void addresses_that_lead_nowhere_are_findings(void **state)
{
    static const struct {
        const char *uri;
        int32_t severity; /* 0 = clean */
    } daemons[] = {
        { "qemu:///system", BLOCKER },
        { "qemu+tcp://localhost:16509/system", BLOCKER },
        { "qemu+tcp://LocalHost.localdomain/system", BLOCKER },
        { "qemu+tcp://127.0.0.1:16599/system", WARN },
        { "qemu+tls://[::1]/system", WARN },
        { "qemu+unix:///session?socket=/run/other/libvirt-sock", 0 },
        { "qemu+tcp://host-local/system", 0 },
        { "qemu+ssh://admin@[fd00::2]:22/system", 0 },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(daemons); i++) {
        kvmig__str_set(&scene.request.target_uri, daemons[i].uri);
        if (daemons[i].severity)
            assert_detail(expect("TARGET_URI_LOCAL", daemons[i].severity), daemons[i].uri);
        else
            expect_clean_of("TARGET_URI_LOCAL");
    }
}

static void addresses_of_qemu_are_judged(void **state)
{
    (void)state;
    kvmig__str_set(&scene.request.migrate_uri, "tcp://127.0.0.1");
    expect("MIGRATE_URI_LOCAL", WARN);
    kvmig__str_set(&scene.request.migrate_uri, "tcp://10.0.0.2:0");
    assert_detail(expect("INVALID_ARGUMENT", BLOCKER), "10.0.0.2:0");
    kvmig__str_set(&scene.request.migrate_uri, "tcp://10.0.0.2:70000");
    expect("INVALID_ARGUMENT", BLOCKER);
    kvmig__str_set(&scene.request.migrate_uri, "tcp:10.0.0.2:49152");
    expect_clean_of("INVALID_ARGUMENT");
    kvmig__str_set(&scene.request.migrate_uri, NULL);
    kvmig__str_set(&beta()->name, "localhost.localdomain");
    kvmig__str_set(&scene.request.target, "localhost.localdomain");
    expect("TARGET_HOSTNAME_LOCAL", BLOCKER);
    kvmig__str_set(&scene.request.migrate_uri, "tcp://10.0.0.2");
    expect_clean_of("TARGET_HOSTNAME_LOCAL");
}

static void rdma_has_rules_of_its_own(void **state)
{
    (void)state;
    kvmig__str_set(&scene.request.migrate_uri, "rdma://10.0.0.2");
    expect("RDMA_NEEDS_MEMORY_LIMIT", BLOCKER);
    vm()->memory_hard_limit = true;
    expect_clean_of("RDMA_NEEDS_MEMORY_LIMIT");
    scene.request.flags = KVMIG_PLAN_TLS;
    assert_detail(expect("INVALID_FLAGS", BLOCKER), "TLS");
    scene.request.flags = 0;
    scene.request.parallel_connections = 2;
    assert_detail(expect("INVALID_FLAGS", BLOCKER), "PARALLEL");
}

static void a_unix_socket_takes_no_disks_along(void **state)
{
    (void)state;
    kvmig__str_set(&scene.request.migrate_uri, "unix:///run/m.sock");
    expect_clean_of("INVALID_FLAGS");
    scene_use_private_file(&scene);
    assert_detail(expect("INVALID_FLAGS", BLOCKER), "disks_uri");
}

static void ports_are_counted(void **state)
{
    (void)state;
    for (int i = 0; i < 31; i++)
        host_add_domain(beta(), "in", NULL, KVMIG__STATE_PAUSED)->migrating_in = true;
    assert_no_finding(scene_plan(&scene), "MIGRATION_PORTS_SHORT");
    host_add_domain(beta(), "in", NULL, KVMIG__STATE_PAUSED)->migrating_in = true;
    assert_detail(expect("MIGRATION_PORTS_SHORT", WARN), "32");
    kvmig__str_set(&scene.request.migrate_uri, "tcp://beta:50000");
    assert_no_finding(scene_plan(&scene), "MIGRATION_PORTS_SHORT");
}

/* ---- versions of all sides ---- */

static void what_a_side_cannot_do_is_told_beforehand(void **state)
{
    (void)state;
    scene.request.flags = KVMIG_PLAN_TLS;
    kvmig__str_set(&scene.request.tls_destination, "beta.example");
    expect_clean_of("FEATURE_UNSUPPORTED");
    beta()->libvirt_version = 5010000; /* tls.destination came with 6.0, and is not left out silently */
    assert_detail(expect("FEATURE_UNSUPPORTED", BLOCKER), "5.10.0");
    beta()->libvirt_version = 0;
    assert_no_finding(scene_plan(&scene), "FEATURE_UNSUPPORTED");
    scene.request.parallel_connections = 4;
    kvmig__str_set(&scene.request.compression, "zstd");
    alpha()->client_version = 9000000; /* the library of this process counts, too */
    assert_detail(expect("FEATURE_DROPPED", WARN), "zstd");
    alpha()->client_version = 9004000;
    assert_no_finding(scene_plan(&scene), "FEATURE_DROPPED");
}

static void unknown_versions_drop_nothing(void **state)
{
    (void)state;
    alpha()->qemu_version = beta()->qemu_version = 0;
    scene.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY;
    scene.request.parallel_connections = 4;
    assert_no_finding(scene_plan(&scene), "FEATURE_DROPPED");
    beta()->qemu_version = 10001000;
    assert_no_finding(scene_plan(&scene), "FEATURE_DROPPED");
    beta()->qemu_version = 10000000;
    expect("FEATURE_DROPPED", WARN);
}

/* ---- post-copy ---- */

static void post_copy_needs_userfaultfd_and_fetchable_memory(void **state)
{
    (void)state;
    expect_clean_of("USERFAULTFD_UNVERIFIED"); /* not without consent to post-copy */
    scene.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY;
    expect("USERFAULTFD_UNVERIFIED", INFO);
    assert_clean(scene.plan);
    vm()->memory_source = kvmig__strdup("memfd");
    expect_clean_of("POSTCOPY_MEMORY_UNSUITABLE");
    kvmig__str_set(&vm()->memory_source, "file");
    expect("POSTCOPY_MEMORY_UNSUITABLE", WARN);
    vm()->hugepages = true; /* files, but of hugetlbfs */
    vm()->hugepage_size = 2 * MIB;
    expect_clean_of("POSTCOPY_MEMORY_UNSUITABLE");
    vm()->hugepage_size = GIB;
    expect("POSTCOPY_PAGES_LARGE", WARN);
    vm()->state = KVMIG__STATE_PAUSED;
    vm()->reason = KVMIG__REASON_USER;
    assert_no_finding(scene_plan(&scene), "USERFAULTFD_UNVERIFIED"); /* it is left out */
}

static void host_devices_move_only_between_new_hosts_and_not_by_post_copy(void **state)
{
    (void)state;
    vm_add_device(&scene, "hostdev", "pci");
    alpha()->qemu_version = 8001000; /* libvirt is 11.6 on both */
    expect("HOSTDEV_NOT_MIGRATABLE", BLOCKER); /* the target's QEMU is older */
    beta()->qemu_version = 8001000;
    expect("HOSTDEV_NOT_MIGRATABLE", WARN);
    assert_verdict(scene.plan, KVMIG_VERDICT_MIGRATABLE_WITH_RISK);
    scene.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY;
    expect("POSTCOPY_WITH_HOSTDEV", WARN);
    beta()->qemu_version = 0; /* not known to be able to */
    expect("HOSTDEV_NOT_MIGRATABLE", BLOCKER);
}

static void a_module_of_memory_needs_an_address_while_the_guest_runs(void **state)
{
    struct kvmig__device *module;

    (void)state;
    module = vm_add_device(&scene, "memory", "dimm");
    expect_clean_of("DEVICE_NOT_MIGRATABLE"); /* a definition has none yet */
    vm()->running_xml = true;
    expect("DEVICE_NOT_MIGRATABLE", BLOCKER);
    module->managed = true;
    expect_clean_of("DEVICE_NOT_MIGRATABLE");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(free_huge_pages_are_counted),
        TEST(huge_pages_count_where_the_memory_must_lie),
        TEST(the_default_size_is_not_guessed),
        TEST(numa_nodes_must_exist_and_hold_the_memory),
        TEST(bound_cpus_must_exist),
        TEST(own_xml_for_the_target_decides_about_its_cpus),
        TEST(channels_need_processor_time),
        TEST(devices_must_be_offered_where_a_list_says_so),
        TEST(a_device_that_is_not_supported_at_all_is_missing),
        TEST(hyperv_features_are_named_together),
        TEST(firmware_is_missing_only_if_the_source_lists_it),
        TEST(secrets_must_be_there_by_uuid_or_usage),
        TEST(what_must_be_reached_is_told),
        TEST(addresses_that_lead_nowhere_are_findings),
        TEST(addresses_of_qemu_are_judged),
        TEST(rdma_has_rules_of_its_own),
        TEST(a_unix_socket_takes_no_disks_along),
        TEST(ports_are_counted),
        TEST(what_a_side_cannot_do_is_told_beforehand),
        TEST(unknown_versions_drop_nothing),
        TEST(post_copy_needs_userfaultfd_and_fetchable_memory),
        TEST(host_devices_move_only_between_new_hosts_and_not_by_post_copy),
        TEST(a_module_of_memory_needs_an_address_while_the_guest_runs),
    };

    return !!cmocka_run_group_tests_name("plan host needs", tests, NULL, NULL);
}
