/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Domain XML of several libvirt versions, read into the model.
 */
#include "xml_test.h"

/* Reads a fixture; the test fails if it is refused. */
static struct kvmig__domain read_domain(const char *name)
{
    struct kvmig__domain domain;
    char *text = fixture(name);
    if (kvmig__xml_domain(text, name, &domain) < 0)
        fail_msg("%s: %s", name, kvmig_error_message(kvmig_error_last()));
    assert_string_equal(domain.xml, text);
    free(text);
    return domain;
}

/* Reads <domain> with the given content. */
static struct kvmig__domain parse_domain(const char *content)
{
    struct kvmig__domain domain;
    char *text = kvmig__asprintf("<domain type='kvm'>%s</domain>", content);
    if (kvmig__xml_domain(text, "test", &domain) < 0)
        fail_msg("%s", kvmig_error_message(kvmig_error_last()));
    free(text);
    return domain;
}

static const struct kvmig__disk *disk_of(const struct kvmig__domain *domain, const char *target)
{
    for (size_t i = 0; i < domain->disks.n; i++)
        if (kvmig__str_eq(domain->disks.v[i].target, target))
            return &domain->disks.v[i];
    fail_msg("no disk %s", target);
    return NULL;
}

static const struct kvmig__device *device_of(const struct kvmig__domain *domain, const char *kind, size_t nth)
{
    for (size_t i = 0; i < domain->devices.n; i++)
        if (kvmig__str_eq(domain->devices.v[i].kind, kind) && nth-- == 0)
            return &domain->devices.v[i];
    return NULL;
}

static const struct kvmig__interface *interface_of(const struct kvmig__domain *domain, size_t nth)
{
    assert_true(nth < domain->interfaces.n);
    return &domain->interfaces.v[nth];
}

static void check_device(const struct kvmig__device *device, const char *type, const char *name, bool managed)
{
    assert_non_null(device);
    assert_text(device->type, type);
    assert_text(device->name, name);
    assert_int_equal(device->managed, managed);
}

/* ---- identity, memory, CPU ---- */

static void a_running_guest_tells_what_it_is_made_of(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-web1");
    assert_text(d.name, "web1");
    assert_text(d.uuid, "7b6f2c10-0000-4000-8000-000000000001");
    assert_text(d.virt_type, "qemu");
    assert_text(d.arch, "x86_64");
    assert_text(d.machine, "pc-q35-7.2");
    assert_text(d.emulator, "/usr/bin/qemu-system-x86_64");
    assert_int_equal(d.memory, 64 << 20);
    assert_int_equal(d.max_memory, 64 << 20);
    assert_int_equal(d.vcpus, 1); /* of 2 possible ones */
    assert_int_equal(d.cpu.mode, KVMIG__CPU_CUSTOM);
    assert_text(d.cpu.model, "qemu64");
    assert_text(d.cpu.check, "full");
    assert_int_equal(d.cpu.migratable, -1);
    assert_int_equal(d.cpu.features.n, 2);
    assert_text(d.cpu.features.v[1].name, "lahf_lm");
    assert_int_equal(d.cpu.features.v[1].policy, KVMIG__CPU_REQUIRE);
    assert_false(d.cpu.expanded_known);
    assert_true(kvmig__str_starts(d.cpu.xml, "<cpu mode="));
    assert_true(kvmig__str_ends(d.cpu.xml, "</cpu>"));
    assert_int_equal(d.state, KVMIG__STATE_ABSENT); /* not in the XML */
    kvmig__domain_clear(&d);
}

static void memory_is_what_the_balloon_leaves_and_max_memory_what_qemu_holds(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("10.5/domain-windows");
    assert_int_equal(d.memory, (uint64_t)4 << 30);
    assert_int_equal(d.max_memory, (uint64_t)8 << 30);
    assert_int_equal(d.vcpus, 4);
    kvmig__domain_clear(&d);
}

static void an_expanded_host_model_is_a_custom_cpu_with_features(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-hostmodel-live");
    assert_int_equal(d.cpu.mode, KVMIG__CPU_CUSTOM);
    assert_text(d.cpu.vendor, "AMD");
    assert_int_equal(d.cpu.features.n, 28);
    size_t disabled = 0;
    for (size_t i = 0; i < d.cpu.features.n; i++)
        disabled += d.cpu.features.v[i].policy == KVMIG__CPU_DISABLE;
    assert_int_equal(disabled, 10);
    kvmig__domain_clear(&d);
    d = read_domain("9.0/domain-hostmodel");
    assert_int_equal(d.cpu.mode, KVMIG__CPU_HOST_MODEL);
    assert_null(d.cpu.model);
    kvmig__domain_clear(&d);
}

static void passthrough_and_maximum_tell_whether_they_are_migratable(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-devices");
    assert_int_equal(d.cpu.mode, KVMIG__CPU_HOST_PASSTHROUGH);
    assert_int_equal(d.cpu.migratable, 1);
    kvmig__domain_clear(&d);
    d = read_domain("10.5/domain-nvram-source");
    assert_int_equal(d.cpu.migratable, 0);
    kvmig__domain_clear(&d);
    d = read_domain("6.0/domain-numa-hugepages");
    assert_int_equal(d.cpu.mode, KVMIG__CPU_HOST_PASSTHROUGH);
    assert_int_equal(d.cpu.migratable, -1);
    kvmig__domain_clear(&d);
    d = read_domain("9.0/domain-extended");
    assert_int_equal(d.cpu.mode, KVMIG__CPU_MAXIMUM);
    assert_int_equal(d.cpu.migratable, 0);
    kvmig__domain_clear(&d);
}

static void a_cpu_that_only_tells_its_topology_has_no_mode(void **state)
{
    (void)state;
    struct kvmig__domain d = parse_domain("<cpu><topology sockets='1' cores='2' threads='1'/></cpu>");
    assert_int_equal(d.cpu.mode, KVMIG__CPU_NONE);
    assert_non_null(d.cpu.xml);
    kvmig__domain_clear(&d);
    d = parse_domain("<cpu match='exact'><model>Nehalem</model></cpu>"); /* as in old definitions */
    assert_int_equal(d.cpu.mode, KVMIG__CPU_CUSTOM);
    kvmig__domain_clear(&d);
    d = parse_domain("");
    assert_int_equal(d.cpu.mode, KVMIG__CPU_NONE);
    assert_int_equal(d.cpu.migratable, -1);
    assert_null(d.cpu.xml);
    kvmig__domain_clear(&d);
}

static void invtsc_and_a_pinned_tsc_frequency_are_seen(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-uefi");
    assert_text(d.cpu.features.v[0].name, "invtsc");
    assert_int_equal(d.cpu.tsc_frequency_hz, 2600000000);
    kvmig__domain_clear(&d);
}

static void old_feature_names_become_canonical(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("6.0/domain-old-feature-name");
    assert_text(d.cpu.features.v[0].name, "arch-capabilities");
    assert_text(d.machine, "ubuntu");
    kvmig__domain_clear(&d);
}

/* ---- placement and firmware ---- */

static void hugepages_and_strict_nodes_are_seen(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-numa");
    assert_true(d.hugepages);
    assert_int_equal(d.hugepage_size, 1 << 30);
    assert_true(d.numa_pinned);
    assert_text(d.numa_nodeset, "0-1");
    kvmig__domain_clear(&d);
    d = read_domain("6.0/domain-numa-hugepages");
    assert_int_equal(d.hugepage_size, 2 << 20);
    assert_text(d.numa_nodeset, "1");
    kvmig__domain_clear(&d);
    d = read_domain("9.0/domain-web1");
    assert_false(d.hugepages);
    assert_false(d.numa_pinned);
    kvmig__domain_clear(&d);
}

static void only_strict_placement_counts_as_pinned(void **state)
{
    (void)state;
    struct kvmig__domain d = parse_domain("<numatune><memory mode='preferred' nodeset='1'/></numatune>");
    assert_false(d.numa_pinned);
    kvmig__domain_clear(&d);
    d = parse_domain("<numatune><memory mode='strict' placement='auto'/></numatune>");
    assert_false(d.numa_pinned);
    kvmig__domain_clear(&d);
    d = parse_domain("<numatune><memory nodeset='3'/></numatune>");
    assert_text(d.numa_nodeset, "3");
    kvmig__domain_clear(&d);
    d = parse_domain("<numatune><memnode cellid='0' mode='strict' nodeset='0'/>"
                     "<memnode cellid='1' mode='restrictive' nodeset='2'/></numatune>");
    assert_true(d.numa_pinned);
    assert_text(d.numa_nodeset, "0,2");
    kvmig__domain_clear(&d);
}

static void firmware_and_its_variables_are_found_in_all_spellings(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-uefi");
    assert_text(d.loader, "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd");
    assert_text(d.nvram, "/var/lib/libvirt/qemu/nvram/uefi_VARS.fd");
    assert_true(d.nvram_present);
    kvmig__domain_clear(&d);
    d = read_domain("10.5/domain-nvram-source");
    assert_text(d.nvram, "/srv/nfs/nvram/nvram-source_VARS.fd");
    assert_true(d.nvram_present);
    kvmig__domain_clear(&d);
    d = parse_domain("<os><varstore path='/var/lib/libvirt/qemu/varstore/vm1.json'/></os>");
    assert_text(d.nvram, "/var/lib/libvirt/qemu/varstore/vm1.json");
    assert_true(d.nvram_present);
    kvmig__domain_clear(&d);
    d = parse_domain("<os><nvram type='network'><source protocol='iscsi' name='iqn.a:b/0'/></nvram></os>");
    assert_null(d.nvram);
    assert_true(d.nvram_present);
    kvmig__domain_clear(&d);
    d = parse_domain("<os><nvram type='file'>\n <source/>\n</nvram></os>");
    assert_null(d.nvram);
    kvmig__domain_clear(&d);
    d = read_domain("9.0/domain-web1");
    assert_null(d.loader);
    assert_false(d.nvram_present);
    kvmig__domain_clear(&d);
}

/* ---- disks ---- */

static void a_file_disk_tells_its_driver_options(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-web1");
    const struct kvmig__disk *disk = disk_of(&d, "vda");
    assert_int_equal(disk->source.type, KVMIG__DISK_FILE);
    assert_text(disk->source.path, "/srv/nfs/images/web1.qcow2");
    assert_text(disk->source.format, "qcow2");
    assert_text(disk->bus, "virtio");
    assert_text(disk->device, "disk");
    assert_text(disk->cache, "none");
    assert_text(disk->io, "native");
    assert_text(disk->discard, "unmap");
    assert_true(disk->has_source);
    assert_int_equal(disk->backing.n, 0);
    assert_false(disk->readonly || disk->shareable || disk->transient || disk->job_active);
    assert_true(disk->source.capacity == KVMIG__UNKNOWN);
    assert_true(disk->capacity == KVMIG__UNKNOWN);
    assert_true(disk->allocation == KVMIG__UNKNOWN);
    assert_true(disk->physical == KVMIG__UNKNOWN);
    disk = disk_of(&d, "sda");
    assert_text(disk->device, "cdrom");
    assert_false(disk->has_source);
    assert_true(disk->readonly);
    assert_null(disk->cache);
    kvmig__domain_clear(&d);
}

static void a_chain_of_images_is_read_from_top_to_base(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-chain");
    const struct kvmig__disk *disk = disk_of(&d, "vda");
    assert_text(disk->source.path, "/srv/local/chain-top.qcow2");
    assert_int_equal(disk->backing.n, 2);
    assert_text(disk->backing.v[0].path, "/srv/local/chain-mid.qcow2");
    assert_text(disk->backing.v[0].format, "qcow2");
    assert_text(disk->backing.v[1].path, "/srv/local/base.qcow2");
    kvmig__domain_clear(&d);
    d = read_domain("8.0/domain-chain");
    disk = disk_of(&d, "vda");
    assert_int_equal(disk->backing.n, 2);
    assert_int_equal(disk->backing.v[1].type, KVMIG__DISK_NETWORK);
    assert_text(disk->backing.v[1].protocol, "nbd");
    assert_text(disk->backing.v[1].name, "golden");
    assert_text(disk->backing.v[1].host, "images.example:10809");
    assert_text(disk->backing.v[1].format, "raw");
    kvmig__domain_clear(&d);
}

static void network_disks_tell_protocol_name_and_first_host(void **state)
{
    (void)state;
    static const struct {
        const char *target, *protocol, *name, *host;
    } expected[] = {
        { "vda", "rbd", "vms/db1", "ceph-a.example:6789" },
        { "vdb", "iscsi", "iqn.2024-01.example:vms/1", "10.0.0.9:3260" },
        { "vdc", "nbd", "export", "/run/nbd.sock" },
        { "vdd", "nbd", "v6", "[2001:db8::7]:10809" },
        { "sda", "http", "iso/tools.iso", "mirror.example:80" },
    };
    struct kvmig__domain d = read_domain("9.0/domain-rbd");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(expected); i++) {
        const struct kvmig__disk *disk = disk_of(&d, expected[i].target);
        assert_int_equal(disk->source.type, KVMIG__DISK_NETWORK);
        assert_true(disk->has_source);
        assert_text(disk->source.protocol, expected[i].protocol);
        assert_text(disk->source.name, expected[i].name);
        assert_text(disk->source.host, expected[i].host);
        assert_null(disk->source.path);
    }
    kvmig__domain_clear(&d);
}

static void every_other_kind_of_source_is_told_apart(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-block");
    assert_int_equal(disk_of(&d, "vda")->source.type, KVMIG__DISK_BLOCK);
    assert_text(disk_of(&d, "vda")->source.path, "/dev/mapper/mpatha");
    assert_text(disk_of(&d, "sda")->device, "lun");
    assert_int_equal(disk_of(&d, "vdb")->source.type, KVMIG__DISK_VOLUME);
    assert_text(disk_of(&d, "vdb")->source.pool, "vms");
    assert_text(disk_of(&d, "vdb")->source.volume, "data.qcow2");
    assert_true(disk_of(&d, "vdc")->shareable);
    assert_true(disk_of(&d, "vdd")->transient);
    assert_int_equal(disk_of(&d, "vde")->source.type, KVMIG__DISK_NVME);
    assert_text(disk_of(&d, "vde")->source.name, "0000:01:00.0/1");
    assert_int_equal(disk_of(&d, "fda")->source.type, KVMIG__DISK_DIR);
    assert_text(disk_of(&d, "fda")->source.path, "/srv/local/floppy");
    assert_text(disk_of(&d, "fdb")->device, "floppy");
    assert_false(disk_of(&d, "fdb")->has_source);
    kvmig__domain_clear(&d);
    d = read_domain("9.0/domain-vhostuser-disk");
    assert_int_equal(disk_of(&d, "vda")->source.type, KVMIG__DISK_VHOST_USER);
    assert_text(disk_of(&d, "vda")->source.path, "/run/vhost-blk.sock");
    kvmig__domain_clear(&d);
    d = parse_domain(
        "<devices><disk type='vhostvdpa'><source dev='/dev/vhost-vdpa-0'/><target dev='vda'/></disk></devices>");
    assert_int_equal(disk_of(&d, "vda")->source.type, KVMIG__DISK_OTHER);
    assert_text(disk_of(&d, "vda")->source.path, "/dev/vhost-vdpa-0");
    kvmig__domain_clear(&d);
}

static void a_mirror_is_a_block_job(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("11.3/domain-versioned-model");
    assert_false(disk_of(&d, "vda")->job_active);
    assert_text(disk_of(&d, "vda")->source.path, "/dev/mapper/vg0-versioned");
    assert_true(disk_of(&d, "vdb")->job_active);
    assert_text(disk_of(&d, "vdb")->source.path, "/srv/nfs/mirror.qcow2");
    kvmig__domain_clear(&d);
}

static void a_source_without_a_medium_is_an_empty_drive(void **state)
{
    (void)state;
    struct kvmig__domain d = parse_domain("<devices><disk type='file' device='cdrom'><source startupPolicy='optional'/>"
                                          "<target dev='sda'/></disk></devices>");
    assert_false(disk_of(&d, "sda")->has_source);
    kvmig__domain_clear(&d);
}

/* ---- interfaces and devices ---- */

static void interfaces_of_all_types_tell_their_source(void **state)
{
    (void)state;
    static const struct {
        const char *type, *source;
    } expected[] = {
        { "network", "ovs-net" },
        { "bridge", "br-int" },
        { "direct", "eth1" },
        { "hostdev", "0000:82:10.2" },
        { "vhostuser", "/run/vhost-net.sock" },
        { "vdpa", "/dev/vhost-vdpa-0" },
        { "user", NULL },
        { "ethernet", NULL },
        { "udp", "127.0.0.1" },
        { "bridge", "br0" },
        { "hostdev", "0000:82:10.4" },
    };
    struct kvmig__domain d = read_domain("9.0/domain-interfaces");
    assert_int_equal(d.interfaces.n, KVMIG__N_ELEMENTS(expected));
    for (size_t i = 0; i < d.interfaces.n; i++) {
        assert_text(interface_of(&d, i)->type, expected[i].type);
        assert_text(interface_of(&d, i)->source, expected[i].source);
        assert_non_null(interface_of(&d, i)->mac);
    }
    assert_text(interface_of(&d, 0)->portgroup, "vlan-42");
    assert_text(interface_of(&d, 0)->mac, "52:54:00:6b:00:01");
    assert_text(interface_of(&d, 1)->virtualport, "openvswitch");
    assert_text(interface_of(&d, 2)->model, "e1000e");
    assert_text(interface_of(&d, 7)->target, "tap-api");
    assert_text(interface_of(&d, 9)->alias, "ua-backup");
    kvmig__domain_clear(&d);
}

static void a_live_interface_of_a_network_stays_one_of_a_network(void **state)
{
    (void)state;
    struct kvmig__domain live = read_domain("9.0/domain-web1");
    struct kvmig__domain migratable = read_domain("9.0/domain-web1-migratable");
    assert_text(interface_of(&live, 0)->type, "network");
    assert_text(interface_of(&live, 0)->source, "lan");
    assert_text(interface_of(&live, 0)->target, "vnet1");
    assert_text(interface_of(&migratable, 0)->type, "network");
    assert_text(interface_of(&migratable, 0)->source, "lan");
    kvmig__domain_clear(&live);
    kvmig__domain_clear(&migratable);
    live = read_domain("8.0/domain-chain");
    assert_text(interface_of(&live, 0)->source, "ovs-net");
    assert_text(interface_of(&live, 0)->portgroup, "vlan-42");
    kvmig__domain_clear(&live);
}

static void interfaces_that_are_host_devices_are_listed_as_such(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-interfaces");
    check_device(device_of(&d, "hostdev", 0), "pci", "0000:82:10.2", true);
    assert_null(device_of(&d, "hostdev", 1)); /* the transient half of the team is unplugged by design */
    check_device(device_of(&d, "vdpa", 0), "vdpa", "/dev/vhost-vdpa-0", false);
    kvmig__domain_clear(&d);
}

static void host_devices_of_all_types_have_names(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-hostdevs");
    check_device(device_of(&d, "hostdev", 0), "pci", "0000:81:00.1", true);
    check_device(device_of(&d, "hostdev", 1), "usb", "046d:c52b", false);
    check_device(device_of(&d, "hostdev", 2), "usb", "bus 1 device 4", false);
    check_device(device_of(&d, "hostdev", 3), "mdev", "c2177883-f1bb-47f0-914d-32a22e3a8804", false);
    check_device(device_of(&d, "hostdev", 4), "scsi", "scsi_host2:0:3:0", false);
    check_device(device_of(&d, "hostdev", 5), "scsi", "iqn.2024-01.example:disk/2", false);
    check_device(device_of(&d, "hostdev", 6), "scsi_host", "naa.5123456789abcde0", false);
    assert_int_equal(d.devices.n, 7);
    kvmig__domain_clear(&d);
    d = read_domain("8.0/domain-devices");
    check_device(device_of(&d, "hostdev", 1), "usb", "1050:0407", true);
    kvmig__domain_clear(&d);
    d = read_domain("11.3/domain-versioned-model");
    check_device(device_of(&d, "hostdev", 0), "pci", "0000:ca:00.3", true);
    kvmig__domain_clear(&d);
    d = parse_domain("<devices><hostdev mode='capabilities' type='misc'><source><char>/dev/input/event3</char></source>"
                     "</hostdev></devices>");
    check_device(device_of(&d, "hostdev", 0), "misc", "/dev/input/event3", false);
    kvmig__domain_clear(&d);
}

static void devices_that_may_be_in_the_way_are_listed(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("9.0/domain-devices");
    check_device(device_of(&d, "filesystem", 0), "virtiofs", "share", false);
    check_device(device_of(&d, "filesystem", 1), "9p", "legacy", false);
    check_device(device_of(&d, "shmem", 0), "ivshmem-plain", "ivshmem0", true);
    check_device(device_of(&d, "shmem", 1), "ivshmem-plain", "ivshmem1", false);
    check_device(device_of(&d, "memory", 0), "dimm", NULL, false);
    check_device(device_of(&d, "memory", 1), "virtio-mem", NULL, false);
    check_device(device_of(&d, "vsock", 0), "virtio", NULL, false);
    check_device(device_of(&d, "redirdev", 0), "spicevmc", NULL, false);
    assert_int_equal(d.devices.n, 8);
    kvmig__domain_clear(&d);
    d = read_domain("11.3/domain-versioned-model");
    check_device(device_of(&d, "memory", 0), "virtio-mem", "virtiomem0", false);
    kvmig__domain_clear(&d);
}

static void tpms_tell_their_backend_and_whether_their_state_stays(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("8.0/domain-tpm-uefi");
    check_device(device_of(&d, "tpm", 0), "emulator", "tpm-crb", true);
    kvmig__domain_clear(&d);
    d = read_domain("10.5/domain-windows");
    check_device(device_of(&d, "tpm", 0), "emulator", "tpm-crb", false);
    kvmig__domain_clear(&d);
    d = read_domain("9.0/domain-tpm-passthrough");
    check_device(device_of(&d, "tpm", 0), "passthrough", "tpm-tis", false);
    kvmig__domain_clear(&d);
}

static void launch_security_and_qemu_options_are_listed(void **state)
{
    (void)state;
    struct kvmig__domain d = read_domain("10.5/domain-nvram-source");
    check_device(device_of(&d, "launch-security", 0), "sev", "launchSecurity", false);
    kvmig__domain_clear(&d);
    d = read_domain("11.3/domain-tdx");
    check_device(device_of(&d, "launch-security", 0), "tdx", "launchSecurity", false);
    kvmig__domain_clear(&d);
    d = read_domain("9.0/domain-extended");
    check_device(device_of(&d, "qemu-commandline", 0), NULL, "qemu:commandline", false);
    kvmig__domain_clear(&d);
    d = parse_domain("<qemu:commandline><qemu:arg value='-S'/></qemu:commandline>"); /* namespace not declared */
    assert_non_null(device_of(&d, "qemu-commandline", 0));
    kvmig__domain_clear(&d);
    d = parse_domain("<commandline/><other:commandline xmlns:other='urn:other'/>");
    assert_int_equal(d.devices.n, 0);
    kvmig__domain_clear(&d);
}

static void every_element_is_optional(void **state)
{
    (void)state;
    struct kvmig__domain domain;
    assert_int_equal(kvmig__xml_domain("<domain/>", "test", &domain), 0);
    assert_null(domain.name);
    assert_int_equal(domain.memory, 0);
    assert_int_equal(domain.disks.n + domain.interfaces.n + domain.devices.n, 0);
    kvmig__domain_clear(&domain);
    domain = parse_domain("<devices><disk/><interface/><hostdev/><filesystem/><tpm/><shmem/><memory/><redirdev/>"
                          "<vsock/></devices><os/><numatune/><memoryBacking/><clock/><launchSecurity/>");
    assert_int_equal(domain.disks.n, 1);
    assert_text(domain.disks.v[0].device, "disk");
    assert_int_equal(domain.interfaces.n, 1);
    assert_int_equal(domain.devices.n, 8);
    kvmig__domain_clear(&domain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_guest_tells_what_it_is_made_of),
        cmocka_unit_test(memory_is_what_the_balloon_leaves_and_max_memory_what_qemu_holds),
        cmocka_unit_test(an_expanded_host_model_is_a_custom_cpu_with_features),
        cmocka_unit_test(passthrough_and_maximum_tell_whether_they_are_migratable),
        cmocka_unit_test(a_cpu_that_only_tells_its_topology_has_no_mode),
        cmocka_unit_test(invtsc_and_a_pinned_tsc_frequency_are_seen),
        cmocka_unit_test(old_feature_names_become_canonical),
        cmocka_unit_test(hugepages_and_strict_nodes_are_seen),
        cmocka_unit_test(only_strict_placement_counts_as_pinned),
        cmocka_unit_test(firmware_and_its_variables_are_found_in_all_spellings),
        cmocka_unit_test(a_file_disk_tells_its_driver_options),
        cmocka_unit_test(a_chain_of_images_is_read_from_top_to_base),
        cmocka_unit_test(network_disks_tell_protocol_name_and_first_host),
        cmocka_unit_test(every_other_kind_of_source_is_told_apart),
        cmocka_unit_test(a_mirror_is_a_block_job),
        cmocka_unit_test(a_source_without_a_medium_is_an_empty_drive),
        cmocka_unit_test(interfaces_of_all_types_tell_their_source),
        cmocka_unit_test(a_live_interface_of_a_network_stays_one_of_a_network),
        cmocka_unit_test(interfaces_that_are_host_devices_are_listed_as_such),
        cmocka_unit_test(host_devices_of_all_types_have_names),
        cmocka_unit_test(devices_that_may_be_in_the_way_are_listed),
        cmocka_unit_test(tpms_tell_their_backend_and_whether_their_state_stays),
        cmocka_unit_test(launch_security_and_qemu_options_are_listed),
        cmocka_unit_test(every_element_is_optional),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
