/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Disks that stay where they are: devices whose name tells what they are, backing images that must be shared, too, cache modes of
 * network images; and what the XML for the target may not change.
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

static const struct kvmig_finding *expect(const char *code, int32_t severity)
{
    return assert_finding(scene_plan(&scene), code, severity);
}

/* ---- devices by their name ---- */

static void a_name_that_is_unique_in_the_world_proves_the_device(void **state)
{
    static const struct {
        const char *path;
        bool proven;
    } names[] = {
        { "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4", true },
        { "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4-part1", true },
        { "/dev/disk/by-id/scsi-3600140500000000000000000000000aa", true },
        { "/dev/disk/by-id/dm-uuid-mpath-3600140500000000000000000000000aa", true },
        { "/dev/disk/by-id/nvme-eui.0025385b71b00f2a", true },
        { "/dev/mapper/3600140500000000000000000000000aa", true },
        { "/dev/disk/by-path/ip-192.0.2.1:3260-iscsi-iqn.2020-01.org.example:x-lun-1", true },
        { "/dev/disk/by-path/ip-127.0.0.1:3260-iscsi-iqn.2020-01.org.example:x-lun-1", false },
        { "/dev/disk/by-path/pci-0000:00:1f.2-ata-1", false },
        { "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_drive-scsi0", false }, /* virtual disks share such serial numbers */
        { "/dev/disk/by-id/ata-DISK_S1", false },
        { "/dev/mapper/lun1", false },
        { "/dev/mapper/36001405", false },
        { "/dev/vg0/vm1", false },
        { "/dev/sda", false },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(names); i++) {
        scene_use_file(&scene, names[i].path, "raw");
        scene_disk(&scene)->source.type = KVMIG__DISK_BLOCK;
        if (names[i].proven) {
            assert_clean(scene_plan(&scene));
            assert_no_finding(scene.plan, "SHARED_IDENTITY_UNPROVEN");
        } else {
            expect("SHARED_IDENTITY_UNPROVEN", WARN);
        }
        assert_method(scene.plan, "vda", KVMIG_DISK_SHARED);
    }
}

static void a_unique_name_does_not_outweigh_what_the_hosts_say(void **state)
{
    static const char path[] = "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4";

    (void)state;
    scene_use_file(&scene, path, "raw");
    scene_disk(&scene)->source.type = KVMIG__DISK_BLOCK;
    host_add_device(alpha(), path, "0x5000c500a1b2c3d4", 4 * GIB);
    host_add_device(beta(), "/dev/sda", "0x1", GIB);
    expect("BLOCK_DEVICE_NOT_SHARED", BLOCKER); /* the target lists its devices, and has none of that name */
    host_add_device(beta(), path, "0x5000c500a1b2c3d4", 8 * GIB);
    expect("BLOCK_DEVICE_NOT_SHARED", BLOCKER); /* of another size */
    beta()->block_devices.v[1].size = 4 * GIB;
    assert_clean(scene_plan(&scene));
}

/* ---- chains ---- */

/* vda is shared by the caller's word, on a base image in another folder. */
static void use_overlay(void)
{
    struct kvmig__disk_source *base;

    scene_use_file(&scene, "/srv/nfs/vm1.qcow2", "qcow2");
    kvmig__strlist_add(&scene.view.shared_paths, "/srv/nfs");
    base = KVMIG__PUSH(&scene_disk(&scene)->backing);
    base->type = KVMIG__DISK_FILE;
    base->path = kvmig__strdup("/var/lib/base/golden.qcow2");
    base->format = kvmig__strdup("qcow2");
    base->capacity = KVMIG__UNKNOWN;
}

static void a_shared_overlay_needs_its_base_on_the_target(void **state)
{
    struct kvmig__volume *volume;

    (void)state;
    use_overlay();
    assert_detail(expect("BACKING_IMAGE_UNPROVEN", WARN), "golden.qcow2"); /* nobody shows its folder */
    host_add_pool(beta(), "base", "dir", "/var/lib/base");
    assert_detail(expect("BACKING_CHAIN_MISSING", BLOCKER), "golden.qcow2");
    assert_method(scene.plan, "vda", KVMIG_DISK_IMPOSSIBLE);
    pool_add_volume(&beta()->pools.v[0], "golden.qcow2", "qcow2", SCENE_CTIME);
    expect("BACKING_IMAGE_UNPROVEN", WARN); /* the source does not show it, so it cannot be compared */
    volume =
        pool_add_volume(host_add_pool(alpha(), "base", "dir", "/var/lib/base"), "golden.qcow2", "qcow2", SCENE_CTIME);
    assert_clean(scene_plan(&scene)); /* one inode */
    assert_no_finding(scene.plan, "BACKING_IMAGE_UNPROVEN");
    volume->capacity = GIB;
    expect("BACKING_CHAIN_MISSING", BLOCKER); /* two images of one name */
}

static void a_chain_that_is_stated_to_be_shared_is_believed(void **state)
{
    (void)state;
    use_overlay();
    scene.request.copy = KVMIG_COPY_NONE;
    assert_no_finding(scene_plan(&scene), "BACKING_IMAGE_UNPROVEN");
    scene.request.copy = KVMIG_COPY_AUTO;
    kvmig__strlist_add(&scene.view.shared_paths, "/var/lib/base");
    assert_clean(scene_plan(&scene));
}

static void a_chain_of_network_images_is_compared_as_such(void **state)
{
    struct kvmig__disk_source *base = KVMIG__PUSH(&scene_disk(&scene)->backing);

    (void)state;
    base->type = KVMIG__DISK_NETWORK;
    base->protocol = kvmig__strdup("rbd");
    base->name = kvmig__strdup("vms/base");
    base->capacity = KVMIG__UNKNOWN;
    assert_clean(scene_plan(&scene));
    assert_no_finding(scene.plan, "BACKING_IMAGE_UNPROVEN");
    kvmig__str_set(&base->protocol, "nbd");
    base->host = kvmig__strdup("localhost:10809"); /* another server on each host */
    expect("BACKING_IMAGE_UNPROVEN", WARN);
}

/* ---- cache modes ---- */

static void network_images_are_cached_by_the_host_unless_they_are_rbd(void **state)
{
    (void)state;
    alpha()->qemu_version = beta()->qemu_version = 2012000;
    kvmig__str_set(&scene_disk(&scene)->cache, "writeback");
    assert_no_finding(scene_plan(&scene), "UNSAFE_DISK_CACHE");
    kvmig__str_set(&scene_disk(&scene)->source.protocol, "gluster");
    scene_disk(&scene)->source.host = kvmig__strdup("192.0.2.1");
    expect("UNSAFE_DISK_CACHE", BLOCKER);
    kvmig__str_set(&scene_disk(&scene)->cache, "none");
    assert_no_finding(scene_plan(&scene), "UNSAFE_DISK_CACHE");
}

/* ---- the XML for the target ---- */

static void queues_must_stay_as_they_are(void **state)
{
    struct kvmig__interface there = { .type = (char *)"network",
                                      .source = (char *)"lan",
                                      .mac = scene_vm(&scene)->interfaces.v[0].mac };
    struct kvmig__domain xml = *scene_vm(&scene);

    (void)state;
    xml.interfaces.v = &there;
    xml.interfaces.n = 1;
    kvmig__str_set(&scene.request.target_xml, "<domain/>");
    kvmig__str_set(&scene.request.persistent_xml, "<domain/>");
    scene.request.target_domain = &xml;
    there.queues = 1; /* what leaving it out means */
    assert_clean(scene_plan(&scene));
    there.queues = 4;
    assert_detail(expect("TARGET_XML_MISMATCH", BLOCKER), "\"target_queues\": 4");
    assert_no_finding(scene.plan, "KNOWN_PROBLEM");
    beta()->libvirt_version = alpha()->libvirt_version = 11003000; /* does not notice */
    assert_no_finding(scene_plan(&scene), "TARGET_XML_MISMATCH");
    assert_detail(expect("KNOWN_PROBLEM", WARN), "11.4.0");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_name_that_is_unique_in_the_world_proves_the_device),
        TEST(a_unique_name_does_not_outweigh_what_the_hosts_say),
        TEST(a_shared_overlay_needs_its_base_on_the_target),
        TEST(a_chain_that_is_stated_to_be_shared_is_believed),
        TEST(a_chain_of_network_images_is_compared_as_such),
        TEST(network_images_are_cached_by_the_host_unless_they_are_rbd),
        TEST(queues_must_stay_as_they_are),
    };

    return !!cmocka_run_group_tests_name("plan shared disks", tests, NULL, NULL);
}
