/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Storage pools, volumes, block devices and networks, read into the model; and disks of a domain given other paths.
 */
#include "xml_test.h"

#define READ(kind, name, out)                                                                                          \
    do {                                                                                                               \
        char *text_ = fixture(name);                                                                                   \
        assert_int_equal(kvmig__xml_##kind(text_, name, out), 0);                                                      \
        free(text_);                                                                                                   \
    } while (0)

static void a_pool_tells_what_makes_it_the_same_elsewhere(void **state)
{
    (void)state;
    struct kvmig__pool pool;
    READ(pool, "9.0/pool-netfs", &pool);
    assert_text(pool.name, "netfs");
    assert_text(pool.uuid, "5a5a0000-0000-4000-8000-000000000001");
    assert_text(pool.type, "netfs");
    assert_text(pool.source_host, "nfs.example");
    assert_text(pool.source_dir, "/export/vms");
    assert_text(pool.target_path, "/srv/nfs/images");
    assert_false(pool.active);
    kvmig__pool_clear(&pool);
    READ(pool, "10.5/pool-rbd", &pool);
    assert_text(pool.source_host, "ceph-a.example,ceph-b.example"); /* whatever the order */
    assert_text(pool.source_name, "vms");
    assert_null(pool.target_path);
    assert_int_equal(pool.capacity, 107374182400);
    assert_int_equal(pool.available, 96636764160);
    kvmig__pool_clear(&pool);
    READ(pool, "9.0/pool-logical", &pool);
    assert_text(pool.source_device, "/dev/sdb1,/dev/sdc1");
    assert_text(pool.source_name, "vg0");
    kvmig__pool_clear(&pool);
    READ(pool, "9.0/pool-iscsi", &pool);
    assert_text(pool.source_host, "10.0.0.9");
    assert_text(pool.source_device, "iqn.2024-01.example:vms");
    kvmig__pool_clear(&pool);
    READ(pool, "10.5/pool-gluster", &pool);
    assert_text(pool.source_dir, "/images");
    assert_text(pool.source_name, "vmvol");
    kvmig__pool_clear(&pool);
}

static void a_local_pool_has_no_source(void **state)
{
    (void)state;
    struct kvmig__pool pool;
    READ(pool, "9.0/pool-dir", &pool);
    assert_text(pool.type, "dir");
    assert_null(pool.source_host);
    assert_null(pool.source_dir);
    assert_null(pool.source_device);
    kvmig__pool_clear(&pool);
    assert_int_equal(kvmig__xml_pool("<pool/>", "test", &pool), 0);
    assert_true(pool.capacity == KVMIG__UNKNOWN && pool.available == KVMIG__UNKNOWN);
    kvmig__pool_clear(&pool);
}

static void a_volume_tells_path_format_sizes_and_identity(void **state)
{
    (void)state;
    struct kvmig__volume volume;
    READ(volume, "9.0/volume-backed", &volume);
    assert_text(volume.name, "chain-top.qcow2");
    assert_text(volume.path, "/srv/local/chain-top.qcow2");
    assert_text(volume.format, "qcow2");
    assert_int_equal(volume.capacity, 67108864);
    assert_int_equal(volume.allocation, 200704);
    assert_text(volume.backing_path, "/srv/local/chain-mid.qcow2");
    assert_non_null(strchr(volume.ctime, '.'));
    kvmig__volume_clear(&volume);
    READ(volume, "10.5/volume-rbd", &volume);
    assert_text(volume.path, "vms/old");
    assert_null(volume.ctime);
    assert_null(volume.backing_path);
    kvmig__volume_clear(&volume);
    assert_int_equal(kvmig__xml_volume("<volume/>", "test", &volume), 0);
    assert_true(volume.capacity == KVMIG__UNKNOWN && volume.allocation == KVMIG__UNKNOWN);
    kvmig__volume_clear(&volume);
}

static void a_block_device_tells_its_paths_and_identity(void **state)
{
    (void)state;
    struct kvmig__block_device device;
    READ(block_device, "10.5/nodedev-multipath", &device);
    assert_int_equal(device.paths.n, 4);
    assert_text(device.paths.v[0], "/dev/dm-3");
    assert_true(kvmig__strlist_has(&device.paths, "/dev/mapper/mpatha"));
    assert_text(device.wwn, "0x6001405a1b2c3d4e5f60718293a4b5c6");
    assert_text(device.serial, "36001405a1b2c3d4e5f60718293a4b5c6");
    assert_int_equal(device.size, 1099511627776);
    kvmig__block_device_clear(&device);
    READ(block_device, "9.0/nodedev-virtio", &device);
    assert_int_equal(device.paths.n, 1);
    assert_null(device.wwn);
    assert_null(device.serial);
    assert_int_equal(device.size, 274877906944);
    kvmig__block_device_clear(&device);
    READ(block_device, "10.5/nodedev-cdrom", &device);
    assert_true(device.size == KVMIG__UNKNOWN);
    kvmig__block_device_clear(&device);
}

static void a_node_device_that_is_no_storage_is_empty(void **state)
{
    (void)state;
    struct kvmig__block_device device;
    const char *text =
        "<device><name>net_eth0</name><devnode type='dev'>/dev/x</devnode><capability type='net'/></device>";
    assert_int_equal(kvmig__xml_block_device(text, "test", &device), 0);
    assert_int_equal(device.paths.n, 0);
    assert_true(device.size == KVMIG__UNKNOWN);
    kvmig__block_device_clear(&device);
}

static void a_network_tells_bridge_and_portgroups(void **state)
{
    (void)state;
    struct kvmig__network network;
    READ(network, "9.0/network-ovs", &network);
    assert_text(network.name, "ovs-net");
    assert_text(network.bridge, "br-int");
    assert_int_equal(network.portgroups.n, 2);
    assert_text(network.portgroups.v[1], "vlan-43");
    kvmig__network_clear(&network);
    READ(network, "10.5/network-sriov", &network);
    assert_text(network.name, "sriov");
    assert_null(network.bridge);
    kvmig__network_clear(&network);
}

/* ---- other paths for disks ---- */

static void a_moved_disk_gets_its_path_and_loses_its_chain(void **state)
{
    (void)state;
    struct kvmig__domain domain;
    static const char *const targets[] = { "vda" }, *const paths[] = { "/new/\"top\" & <more>.qcow2" };
    char *text = fixture("9.0/domain-chain"), *moved = NULL;
    assert_int_equal(kvmig__xml_retarget_disks(text, "test", targets, paths, 1, &moved), 0);
    assert_int_equal(kvmig__xml_domain(moved, "moved", &domain), 0);
    assert_text(domain.disks.v[0].source.path, paths[0]);
    assert_text(domain.disks.v[0].source.format, "qcow2");
    assert_int_equal(domain.disks.v[0].backing.n, 0);
    assert_null(strstr(moved, "chain-mid"));
    assert_text(domain.disks.v[1].source.path, "/srv/local/tools.iso"); /* not named, not touched */
    assert_non_null(strstr(moved, "<backingStore/>"));
    kvmig__domain_clear(&domain);
    free(moved);
    free(text);
}

static void what_is_not_understood_is_kept(void **state)
{
    (void)state;
    static const char *const targets[] = { "vdb", "vda" }, *const paths[] = { "/dev/new", "/new/a" };
    const char *before = "<domain type='kvm' xmlns:q='urn:q'><!-- c --><future a='1'>t &amp; u</future><devices>"
                         "<disk type='file'><driver name='qemu' odd='x'/><source file='/old/a'><seclabel model='dac'/>"
                         "</source><target dev='vda'/><serial>1</serial></disk><disk type='block'><source dev='/old/b' "
                         "index='3'/><target dev='vdb'/></disk></devices><q:x y='z'/></domain>";
    const char *after = "<domain xmlns:q=\"urn:q\" type=\"kvm\"><!-- c --><future a=\"1\">t &amp; u</future><devices>"
                        "<disk type=\"file\"><driver name=\"qemu\" odd=\"x\"/><source file=\"/new/a\"><seclabel "
                        "model=\"dac\"/></source><target dev=\"vda\"/><serial>1</serial></disk><disk type=\"block\">"
                        "<source dev=\"/dev/new\" index=\"3\"/><target dev=\"vdb\"/></disk></devices><q:x y=\"z\"/>"
                        "</domain>";
    char *moved = NULL;
    assert_int_equal(kvmig__xml_retarget_disks(before, "test", targets, paths, 2, &moved), 0);
    assert_string_equal(moved, after);
    free(moved);
}

static void a_path_in_any_language_survives(void **state)
{
    (void)state;
    static const char *const targets[] = { "vda" }, *const paths[] = { "/srv/\303\244\346\234\215" };
    struct kvmig__domain domain;
    char *text = fixture("9.0/domain-web1"), *moved = NULL;
    assert_int_equal(kvmig__xml_retarget_disks(text, "test", targets, paths, 1, &moved), 0);
    assert_int_equal(kvmig__xml_domain(moved, "moved", &domain), 0);
    assert_text(domain.disks.v[0].source.path, paths[0]);
    kvmig__domain_clear(&domain);
    free(moved);
    free(text);
}

static void an_unchanged_path_keeps_its_chain(void **state)
{
    (void)state;
    static const char *const targets[] = { "vda" }, *const paths[] = { "/srv/local/chain-top.qcow2" };
    char *text = fixture("9.0/domain-chain"), *moved = NULL;
    assert_int_equal(kvmig__xml_retarget_disks(text, "test", targets, paths, 1, &moved), 0);
    assert_non_null(strstr(moved, "chain-mid"));
    free(moved);
    free(text);
}

static void disks_that_cannot_move_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *fixture, *target, *path, *message;
    } cases[] = {
        { "9.0/domain-chain", "vdz", "/new", "no disk \"vdz\"" },
        { "9.0/domain-rbd", "vda", "/new", "has no path that could be changed" },
        { "9.0/domain-web1", "sda", "/new", "has no path that could be changed" }, /* empty drive */
        { "9.0/domain-chain", "vda", "", "empty or cannot be written" },
        { "9.0/domain-chain", "vda", "/new\xff", "empty or cannot be written" },
        { "9.0/domain-chain", "vda", "/new\n", "empty or cannot be written" },
        { "9.0/domain-chain", "vda", NULL, "empty or cannot be written" },
    };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        char *text = fixture(cases[i].fixture), *moved = (char *)"untouched";
        int32_t code = kvmig__xml_retarget_disks(text, "test", &cases[i].target, &cases[i].path, 1, &moved);
        assert_error(code, -KVMIG_EXML, cases[i].message);
        assert_null(moved);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_tells_what_makes_it_the_same_elsewhere),
        cmocka_unit_test(a_local_pool_has_no_source),
        cmocka_unit_test(a_volume_tells_path_format_sizes_and_identity),
        cmocka_unit_test(a_block_device_tells_its_paths_and_identity),
        cmocka_unit_test(a_node_device_that_is_no_storage_is_empty),
        cmocka_unit_test(a_network_tells_bridge_and_portgroups),
        cmocka_unit_test(a_moved_disk_gets_its_path_and_loses_its_chain),
        cmocka_unit_test(what_is_not_understood_is_kept),
        cmocka_unit_test(a_path_in_any_language_survives),
        cmocka_unit_test(an_unchanged_path_keeps_its_chain),
        cmocka_unit_test(disks_that_cannot_move_are_refused),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
