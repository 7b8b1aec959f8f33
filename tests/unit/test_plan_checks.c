/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner's checks of the VM, the target host, machine, devices and networks: each blocker with its evidence, and
 * what must not alarm.
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

static struct kvmig__host *beta(void)
{
    return scene_host(&scene, "beta");
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

/* ---- the VM ---- */

static void only_running_and_user_paused_vms_migrate(void **state)
{
    static const struct {
        int32_t state, reason;
        const char *code;
    } cases[] = {
        { KVMIG__STATE_SHUTOFF, KVMIG__REASON_OTHER, "VM_NOT_RUNNING" },
        { KVMIG__STATE_CRASHED, KVMIG__REASON_OTHER, "VM_NOT_RUNNING" },
        { KVMIG__STATE_PAUSED, KVMIG__REASON_IOERROR, "VM_IO_ERROR" },
        { KVMIG__STATE_PAUSED, KVMIG__REASON_MIGRATION, "VM_LEFT_PAUSED" },
        { KVMIG__STATE_PAUSED, KVMIG__REASON_API_ERROR, "VM_LEFT_PAUSED" },
        { KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY, "VM_IN_POSTCOPY" },
        { KVMIG__STATE_PAUSED, KVMIG__REASON_POSTCOPY_FAILED, "VM_IN_POSTCOPY" },
        { KVMIG__STATE_RUNNING, KVMIG__REASON_POSTCOPY, "VM_IN_POSTCOPY" },
        { KVMIG__STATE_PAUSED, KVMIG__REASON_OTHER, "VM_PAUSED_BY_SYSTEM" },
        { KVMIG__STATE_SUSPENDED_PM, KVMIG__REASON_OTHER, "VM_PM_SUSPENDED" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        scene_vm(&scene)->state = cases[i].state;
        scene_vm(&scene)->reason = cases[i].reason;
        assert_string_equal(kvmig_finding_object(expect(cases[i].code, BLOCKER)), "vm/vm1");
    }
    scene_vm(&scene)->state = KVMIG__STATE_PAUSED;
    scene_vm(&scene)->reason = KVMIG__REASON_USER;
    assert_clean(scene_plan(&scene));
    assert_true(scene.plan->was_paused);
}

static void jobs_and_migrations_are_in_the_way(void **state)
{
    (void)state;
    scene_vm(&scene)->job_active = true;
    expect("VM_JOB_ACTIVE", BLOCKER);
    scene_vm(&scene)->migrating_out = true;
    expect("MIGRATION_IN_PROGRESS", BLOCKER);
    assert_no_finding(scene.plan, "VM_JOB_ACTIVE");
}

static void snapshots_block_and_checkpoints_warn(void **state)
{
    (void)state;
    scene_vm(&scene)->checkpoints = 2;
    assert_detail(expect("CHECKPOINTS_LEFT_BEHIND", WARN), "2");
    scene_vm(&scene)->snapshots = 3;
    assert_detail(expect("SNAPSHOTS_PRESENT", BLOCKER), "3");
}

static void a_block_job_or_transient_disk_blocks(void **state)
{
    (void)state;
    scene_disk(&scene)->job_active = true;
    assert_string_equal(kvmig_finding_object(expect("BLOCK_JOB_ACTIVE", BLOCKER)), "disk/vda");
    scene_disk(&scene)->job_active = false;
    scene_disk(&scene)->transient = true;
    assert_detail(expect("DEVICE_NOT_MIGRATABLE", BLOCKER), "transient");
}

/* ---- devices ---- */

static void devices_of_the_host_cannot_move(void **state)
{
    static const struct {
        const char *kind, *type, *code;
        int32_t severity;
    } cases[] = {
        { "hostdev", "pci", "HOSTDEV_NOT_MIGRATABLE", BLOCKER },
        { "hostdev", "mdev", "HOSTDEV_NOT_MIGRATABLE", BLOCKER },
        { "hostdev", "scsi", "HOSTDEV_NOT_MIGRATABLE", WARN }, /* QEMU 6.0 and later decides itself */
        { "hostdev", "usb", "HOSTDEV_USB", WARN },
        { "vdpa", "vdpa", "DEVICE_NOT_MIGRATABLE", BLOCKER },
        { "filesystem", "virtiofs", "DEVICE_NOT_MIGRATABLE", BLOCKER },
        { "filesystem", "9p", "DEVICE_NOT_MIGRATABLE", BLOCKER },
        { "tpm", "passthrough", "DEVICE_NOT_MIGRATABLE", BLOCKER },
        { "tpm", "external", "TPM_STATE_UNVERIFIED", WARN },
        { "shmem", "ivshmem-plain", "DEVICE_NOT_MIGRATABLE", BLOCKER },
        { "launch-security", "sev", "DEVICE_NOT_MIGRATABLE", BLOCKER },
        { "qemu-commandline", NULL, "QEMU_COMMANDLINE_UNVERIFIED", WARN },
        { "vsock", "virtio", "DEVICE_RESETS", INFO },
    };
    struct kvmig__device *device;

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        const struct kvmig_finding *finding;

        scene_clear(&scene);
        setup(NULL);
        device = vm_add_device(&scene, cases[i].kind, cases[i].type);
        finding = expect(cases[i].code, cases[i].severity);
        assert_detail(finding, cases[i].type ? cases[i].type : cases[i].kind);
        assert_non_null(strstr(kvmig_finding_object(finding), device->name));
    }
}

static void harmless_devices_are_no_finding(void **state)
{
    (void)state;
    vm_add_device(&scene, "tpm", "emulator")->managed = true;
    vm_add_device(&scene, "memory", "dimm");
    vm_add_device(&scene, "shmem", "ivshmem-plain")->managed = true; /* the master of the memory */
    assert_clean(scene_plan(&scene));
}

static void newer_versions_lift_rules_to_warnings(void **state)
{
    struct kvmig__host *alpha = scene_host(&scene, "alpha");

    (void)state;
    vm_add_device(&scene, "filesystem", "virtiofs");
    alpha->qemu_version = beta()->qemu_version = 8002000;
    expect("DEVICE_NOT_MIGRATABLE", WARN);
    alpha->libvirt_version = 9000000;
    expect("DEVICE_NOT_MIGRATABLE", BLOCKER);
    alpha->libvirt_version = alpha->qemu_version = 0; /* not known: no blocker */
    expect("DEVICE_NOT_MIGRATABLE", WARN);
}

/* ---- the host ---- */

static void an_unreachable_target_blocks_with_its_error(void **state)
{
    const struct kvmig_finding *finding;

    (void)state;
    beta()->state = KVMIG__HOST_LOST;
    beta()->lost_error = kvmig__error_new(KVMIG_EUNREACHABLE, "beta", NULL, NULL, "connection refused");
    finding = expect("TARGET_UNREACHABLE", BLOCKER);
    assert_detail(finding, "connection refused");
    assert_string_equal(kvmig_finding_host(finding), "beta");
    assert_string_equal(kvmig_finding_object(finding), "node/beta");
    beta()->state = KVMIG__HOST_CONNECTING;
    expect("TARGET_UNREACHABLE", BLOCKER);
}

static void cloned_hosts_are_one_to_libvirt(void **state)
{
    (void)state;
    kvmig__str_set(&scene_host(&scene, "alpha")->uuid, "03000200-0400-0500-0006-ABCDEF080009");
    kvmig__str_set(&beta()->uuid, "03000200-0400-0500-0006-abcdef080009");
    assert_detail(expect("DUPLICATE_HOST_UUID", BLOCKER), "03000200-0400-0500-0006-abcdef080009");
}

static void a_name_or_uuid_that_is_taken_blocks(void **state)
{
    struct kvmig__domain *other =
        host_add_domain(beta(), "vm1", "99999999-0000-4000-8000-000000000009", KVMIG__STATE_SHUTOFF);

    (void)state;
    kvmig__str_set(&scene.request.source, "alpha");
    assert_detail(expect("DOMAIN_EXISTS_ON_TARGET", BLOCKER), "99999999");
    kvmig__str_set(&scene.request.target_name, "vm1-moved");
    assert_clean(scene_plan(&scene));
    kvmig__str_set(&other->uuid, scene_vm(&scene)->uuid);
    expect("DOMAIN_EXISTS_ON_TARGET", BLOCKER);
}

static void a_stopped_definition_of_the_vm_itself_is_replaced(void **state)
{
    struct kvmig__domain *other = host_add_domain(beta(), "vm1", scene_vm(&scene)->uuid, KVMIG__STATE_SHUTOFF);

    (void)state;
    kvmig__str_set(&scene.request.source, "alpha");
    expect("DEFINITION_REPLACED_ON_TARGET", WARN);
    other->state = KVMIG__STATE_PAUSED;
    expect("DOMAIN_EXISTS_ON_TARGET", BLOCKER);
}

static void older_versions_are_a_risk_and_block_without_a_versioned_machine(void **state)
{
    (void)state;
    beta()->qemu_version = 7001000;
    assert_detail(expect("QEMU_OLDER", WARN), "7.1.0"); /* the target has its machine type */
    kvmig__str_set(&scene_vm(&scene)->machine, "q35");
    expect("QEMU_OLDER", BLOCKER);
    kvmig__str_set(&scene_vm(&scene)->machine, scene_host(&scene, "alpha")->machines.v[0].name);
    beta()->qemu_version = 7002000;
    scene_host(&scene, "alpha")->qemu_version = 7002005; /* a stable update */
    assert_clean(scene_plan(&scene));
    beta()->libvirt_version = 10000000;
    assert_detail(expect("LIBVIRT_OLDER", WARN), "10.0.0");
    beta()->libvirt_version = beta()->qemu_version = 0;
    assert_no_finding(scene_plan(&scene), "LIBVIRT_OLDER");
    assert_no_finding(scene.plan, "QEMU_OLDER");
}

static void memory_is_judged_by_what_is_certain(void **state)
{
    (void)state;
    scene_vm(&scene)->memory = scene_vm(&scene)->max_memory = 65 * GIB;
    assert_detail(expect("INSUFFICIENT_MEMORY", BLOCKER), "69793218560");
    scene_vm(&scene)->memory = scene_vm(&scene)->max_memory = 40 * GIB;
    expect("MEMORY_FREE_LOW", INFO); /* caches count as used */
    assert_clean(scene.plan);
    host_add_domain(beta(), "other", "33333333-0000-4000-8000-000000000003", KVMIG__STATE_RUNNING)->max_memory =
        30 * GIB;
    expect("MEMORY_OVERCOMMITTED", WARN);
    beta()->domains.v[0].state = KVMIG__STATE_SHUTOFF;
    assert_clean(scene_plan(&scene));
    beta()->memory_total = beta()->memory_free = KVMIG__UNKNOWN;
    assert_clean(scene_plan(&scene));
}

static void more_virtual_cpus_than_cpus_is_a_risk(void **state)
{
    (void)state;
    scene_vm(&scene)->vcpus = 17;
    expect("VCPUS_OVERCOMMITTED", WARN);
    beta()->cpus = 0;
    assert_clean(scene_plan(&scene));
}

static void ties_to_the_host_are_told(void **state)
{
    (void)state;
    scene_vm(&scene)->hugepages = true;
    scene_vm(&scene)->numa_pinned = true;
    scene_vm(&scene)->numa_nodeset = kvmig__strdup("0-1");
    assert_clean(scene_plan(&scene));
    assert_finding(scene.plan, "HUGEPAGES_UNVERIFIED", INFO);
    assert_detail(assert_finding(scene.plan, "NUMA_UNVERIFIED", INFO), "0-1");
}

/* ---- machine, emulator ---- */

static void a_machine_type_must_be_offered(void **state)
{
    (void)state;
    kvmig__str_set(&scene_vm(&scene)->machine, "pc-q35-9.9");
    assert_detail(expect("MACHINE_TYPE_UNSUPPORTED", BLOCKER), "pc-q35-9.9");
    beta()->machines_known = false;
    assert_no_finding(scene_plan(&scene), "MACHINE_TYPE_UNSUPPORTED"); /* the source has it with the same QEMU */
    scene_host(&scene, "alpha")->qemu_version = 9009000;
    expect("MACHINE_TYPE_UNSUPPORTED", BLOCKER); /* QEMU 7.2 cannot have it */
    scene_host(&scene, "alpha")->qemu_version = 7002000;
    kvmig__str_set(&scene_vm(&scene)->machine, "pc-q35-7.1");
    expect("MACHINE_TYPE_UNVERIFIED", INFO);
    assert_no_finding(scene.plan, "MACHINE_TYPE_UNSUPPORTED");
    kvmig__str_set(&scene_vm(&scene)->machine, "pc-q35-rhel9.9.0"); /* a distribution counts otherwise */
    assert_no_finding(scene_plan(&scene), "MACHINE_TYPE_UNSUPPORTED");
}

static void add_alias(struct kvmig__host *host, const char *canonical)
{
    struct kvmig__machine *machine = KVMIG__PUSH(&host->machines);

    machine->name = kvmig__strdup("q35");
    machine->canonical = kvmig__strdup(canonical);
    machine->arch = kvmig__strdup("x86_64");
}

static void an_alias_that_means_another_machine_is_a_risk(void **state)
{
    (void)state;
    kvmig__str_set(&scene_vm(&scene)->machine, "q35");
    add_alias(scene_host(&scene, "alpha"), "pc-q35-7.2");
    add_alias(beta(), "pc-q35-8.2");
    assert_detail(expect("MACHINE_TYPE_ALIAS", WARN), "q35");
    kvmig__str_set(&beta()->machines.v[1].canonical, "pc-q35-7.2");
    assert_no_finding(scene_plan(&scene), "MACHINE_TYPE_ALIAS");
    kvmig__str_set(&beta()->machines.v[1].canonical, NULL); /* then the versions of QEMU tell */
    assert_no_finding(scene_plan(&scene), "MACHINE_TYPE_ALIAS");
    beta()->qemu_version = 8002000;
    expect("MACHINE_TYPE_ALIAS", WARN);
}

static void a_versioned_machine_is_no_alias(void **state)
{
    (void)state;
    beta()->qemu_version = 9002000;
    assert_no_finding(scene_plan(&scene), "MACHINE_TYPE_ALIAS");
    assert_clean(scene.plan);
}

static void the_emulator_must_exist_on_the_target(void **state)
{
    (void)state;
    kvmig__str_set(&emulator_of("beta")->path, "/usr/libexec/qemu-kvm");
    assert_detail(expect("EMULATOR_MISSING", BLOCKER), "/usr/libexec/qemu-kvm");
    kvmig__str_set(&scene_vm(&scene)->emulator, "/opt/qemu/bin/qemu"); /* neither host shows it */
    expect("EMULATOR_UNVERIFIED", INFO);
    assert_no_finding(scene.plan, "EMULATOR_MISSING");
}

static void kvm_guests_need_kvm(void **state)
{
    (void)state;
    kvmig__str_set(&emulator_of("beta")->virt_type, "qemu");
    assert_detail(expect("VIRT_TYPE_UNSUPPORTED", BLOCKER), "kvm");
}

/* ---- networks ---- */

static struct kvmig__interface *nic(void)
{
    return &scene_vm(&scene)->interfaces.v[0];
}

static void networks_must_exist_and_be_active(void **state)
{
    (void)state;
    kvmig__str_set(&nic()->portgroup, "vlan-42");
    assert_clean(scene_plan(&scene));
    kvmig__str_set(&nic()->portgroup, "vlan-99");
    assert_detail(expect("PORTGROUP_MISSING", BLOCKER), "vlan-99");
    beta()->networks.v[0].active = false;
    assert_detail(expect("NETWORK_INACTIVE", BLOCKER), "lan");
    kvmig__str_set(&nic()->source, "dmz");
    assert_detail(expect("NETWORK_MISSING", BLOCKER), "dmz");
    beta()->networks_known = false;
    expect("NETWORK_UNVERIFIED", INFO);
    assert_no_finding(scene.plan, "NETWORK_MISSING");
}

static void bridges_must_exist_where_the_host_can_list_them(void **state)
{
    (void)state;
    kvmig__str_set(&nic()->type, "bridge");
    kvmig__str_set(&nic()->source, "br0");
    assert_clean(scene_plan(&scene));
    kvmig__strlist_clear(&beta()->bridges);
    assert_detail(expect("BRIDGE_MISSING", BLOCKER), "br0");
    beta()->networks.v[0].bridge = kvmig__strdup("br0"); /* a network keeps it */
    assert_clean(scene_plan(&scene));
    kvmig__str_set(&beta()->networks.v[0].bridge, NULL);
    beta()->bridges_known = false;
    expect("BRIDGE_UNVERIFIED", INFO);
}

static void bridges_that_libvirt_does_not_list_prove_nothing(void **state)
{
    (void)state;
    kvmig__str_set(&nic()->type, "bridge");
    kvmig__str_set(&nic()->source, "br-int"); /* the source has it, and does not list it either */
    assert_clean(scene_plan(&scene));
    assert_finding(scene.plan, "BRIDGE_UNVERIFIED", INFO);
    kvmig__str_set(&nic()->source, "br0");
    kvmig__str_set(&nic()->virtualport, "openvswitch");
    kvmig__strlist_clear(&beta()->bridges);
    assert_clean(scene_plan(&scene));
}

static void a_bridge_that_stands_for_a_network_is_judged_as_network(void **state)
{
    (void)state;
    kvmig__str_set(&nic()->type, "bridge"); /* as the XML of a running domain shows it */
    assert_clean(scene_plan(&scene));
    beta()->networks.v[0].active = false;
    expect("NETWORK_INACTIVE", BLOCKER);
}

static void other_interfaces_are_told(void **state)
{
    (void)state;
    vm_add_interface(&scene, "direct", "eth1");
    assert_clean(scene_plan(&scene));
    assert_finding(scene.plan, "INTERFACE_UNVERIFIED", INFO);
    vm_add_interface(&scene, "user", NULL);
    expect("USER_NETWORK_RESETS", WARN);
}

static void the_callers_own_xml_is_judged_where_it_was_read(void **state)
{
    struct scene other;

    (void)state;
    scene_init(&other);
    kvmig__str_set(&scene.request.target_xml, "<domain/>");
    kvmig__str_set(&scene.request.persistent_xml, "<domain/>");
    scene.request.target_domain = scene_vm(&other);
    kvmig__str_set(&beta()->networks.v[0].name, "lan-b");
    expect("NETWORK_MISSING", BLOCKER);
    kvmig__str_set(&scene_vm(&other)->interfaces.v[0].source, "lan-b");
    assert_clean(scene_plan(&scene));
    assert_null(scene.plan->request.target_domain); /* it is not the plan's */
    kvmig__str_set(&scene_vm(&other)->disks.v[0].target, "sdx");
    expect("TARGET_XML_MISMATCH", BLOCKER);
    scene_clear(&other);
}

/* ---- problems of known versions ---- */

static void known_problems_are_told_where_they_apply(void **state)
{
    struct kvmig__host *alpha = scene_host(&scene, "alpha");

    (void)state;
    scene.request.parallel_connections = 4;
    alpha->qemu_version = 7001000;
    beta()->qemu_version = 9002000;
    assert_detail(expect("MULTIFD_VERSION_SKEW", WARN), "7.1.0");
    alpha->qemu_version = 7002000;
    assert_no_finding(scene_plan(&scene), "MULTIFD_VERSION_SKEW");
    scene.request.flags = KVMIG_PLAN_TLS;
    alpha->qemu_version = beta()->qemu_version = 5001000;
    expect("TLS_MULTIFD_OLD_QEMU", WARN);
    alpha->qemu_version = beta()->qemu_version = 10001000;
    alpha->libvirt_version = beta()->libvirt_version = 11010000;
    assert_clean(scene_plan(&scene));
    assert_no_finding(scene.plan, "KNOWN_PROBLEM");
    alpha->libvirt_version = beta()->libvirt_version = 11003000;
    scene.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY;
    assert_detail(expect("KNOWN_PROBLEM", WARN), "11.4.0");
}

/* ---- what is not known ---- */

static void unknown_facts_of_hosts_are_no_findings(void **state)
{
    struct kvmig__host *alpha = scene_host(&scene, "alpha");

    (void)state;
    kvmig__str_set(&alpha->uuid, NULL);
    kvmig__str_set(&beta()->uuid, NULL);
    assert_clean(scene_plan(&scene));
    kvmig__str_set(&scene_vm(&scene)->uuid, NULL);
    host_add_domain(beta(), "other", NULL, KVMIG__STATE_RUNNING);
    assert_clean(scene_plan(&scene));
    kvmig__str_set(&scene_vm(&scene)->machine, NULL);
    kvmig__str_set(&scene_vm(&scene)->emulator, NULL);
    assert_clean(scene_plan(&scene));
    assert_no_finding(scene.plan, "MACHINE_TYPE_UNVERIFIED");
}

static void an_emulator_is_missed_only_by_a_host_that_was_asked(void **state)
{
    (void)state;
    kvmig__str_set(&emulator_of("beta")->path, "/usr/libexec/qemu-kvm");
    kvmig__str_set(&emulator_of("beta")->machine, "pc-i440fx-7.2"); /* it was asked for other guests so far */
    expect("EMULATOR_UNVERIFIED", INFO);
    assert_no_finding(scene.plan, "EMULATOR_MISSING");
}

static void another_architecture_says_nothing_of_kvm(void **state)
{
    (void)state;
    kvmig__str_set(&emulator_of("beta")->arch, "aarch64");
    kvmig__str_set(&emulator_of("beta")->virt_type, "qemu");
    assert_no_finding(scene_plan(&scene), "VIRT_TYPE_UNSUPPORTED");
}

static void machines_of_another_architecture_do_not_count(void **state)
{
    (void)state;
    kvmig__str_set(&beta()->machines.v[0].arch, "i686");
    expect("MACHINE_TYPE_UNSUPPORTED", BLOCKER);
    kvmig__str_set(&beta()->machines.v[0].arch, NULL);
    assert_clean(scene_plan(&scene));
}

static void odd_file_systems_of_the_host_block(void **state)
{
    (void)state;
    vm_add_device(&scene, "filesystem", "ram");
    assert_detail(expect("DEVICE_NOT_MIGRATABLE", BLOCKER), "ram");
}

static void a_known_problem_needs_all_that_triggers_it(void **state)
{
    struct kvmig__host *alpha = scene_host(&scene, "alpha");

    (void)state;
    alpha->libvirt_version = beta()->libvirt_version = 11009000;
    scene_use_file(&scene, "/srv/nfs/vm1.qcow2", "qcow2");
    kvmig__strlist_add(&scene.view.shared_paths, "/srv/nfs");
    vm_add_device(&scene, "tpm", "external");
    vm_add_device(&scene, "vsock", "emulator");
    assert_no_finding(scene_plan(&scene), "KNOWN_PROBLEM");
    vm_add_device(&scene, "tpm", "emulator");
    assert_detail(expect("KNOWN_PROBLEM", INFO), "12.0.0");
    alpha->libvirt_version = beta()->libvirt_version = 10002000;
    assert_detail(expect("KNOWN_PROBLEM", WARN), "10.3.0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_running_and_user_paused_vms_migrate),
        TEST(jobs_and_migrations_are_in_the_way),
        TEST(snapshots_block_and_checkpoints_warn),
        TEST(a_block_job_or_transient_disk_blocks),
        TEST(devices_of_the_host_cannot_move),
        TEST(harmless_devices_are_no_finding),
        TEST(newer_versions_lift_rules_to_warnings),
        TEST(an_unreachable_target_blocks_with_its_error),
        TEST(cloned_hosts_are_one_to_libvirt),
        TEST(a_name_or_uuid_that_is_taken_blocks),
        TEST(a_stopped_definition_of_the_vm_itself_is_replaced),
        TEST(older_versions_are_a_risk_and_block_without_a_versioned_machine),
        TEST(memory_is_judged_by_what_is_certain),
        TEST(more_virtual_cpus_than_cpus_is_a_risk),
        TEST(ties_to_the_host_are_told),
        TEST(a_machine_type_must_be_offered),
        TEST(an_alias_that_means_another_machine_is_a_risk),
        TEST(a_versioned_machine_is_no_alias),
        TEST(the_emulator_must_exist_on_the_target),
        TEST(kvm_guests_need_kvm),
        TEST(networks_must_exist_and_be_active),
        TEST(bridges_must_exist_where_the_host_can_list_them),
        TEST(bridges_that_libvirt_does_not_list_prove_nothing),
        TEST(a_bridge_that_stands_for_a_network_is_judged_as_network),
        TEST(other_interfaces_are_told),
        TEST(the_callers_own_xml_is_judged_where_it_was_read),
        TEST(known_problems_are_told_where_they_apply),
        TEST(unknown_facts_of_hosts_are_no_findings),
        TEST(an_emulator_is_missed_only_by_a_host_that_was_asked),
        TEST(another_architecture_says_nothing_of_kvm),
        TEST(machines_of_another_architecture_do_not_count),
        TEST(odd_file_systems_of_the_host_block),
        TEST(a_known_problem_needs_all_that_triggers_it),
    };

    return !!cmocka_run_group_tests_name("plan checks", tests, NULL, NULL);
}
