/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the planner takes for shared storage, on which evidence, and disks that are neither shared nor copied.
 */
#include "plan_fixture.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKER KVMIG_SEVERITY_BLOCKER
#define WARN KVMIG_SEVERITY_WARN
#define INFO KVMIG_SEVERITY_INFO

static struct scene scene;
static struct kvmig__host *alpha, *beta;

static int setup(void **state)
{
    (void)state;
    scene_init(&scene);
    alpha = scene_host(&scene, "alpha");
    beta = scene_host(&scene, "beta");
    kvmig__str_set(&scene.request.target, "beta");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scene_clear(&scene);
    return 0;
}

static const struct kvmig_finding *expect(const char *code, int32_t severity)
{
    return assert_finding(scene_plan(&scene), code, severity);
}

static const struct kvmig__disk_plan *expect_method(int32_t method)
{
    return assert_method(scene_plan(&scene), "vda", method);
}

static void name_disk(const char *target)
{
    kvmig__strlist_add(&scene.request.copy_disks, target);
}

/* ---- shared ---- */

static void network_images_are_shared(void **state)
{
    (void)state;
    expect_method(KVMIG_DISK_SHARED);
    kvmig__str_set(&scene_disk(&scene)->source.protocol, "iscsi");
    kvmig__str_set(&scene_disk(&scene)->source.host, "10.0.0.9:3260");
    expect_method(KVMIG_DISK_SHARED);
    assert_clean(scene.plan);
}

static void a_network_image_of_localhost_is_not_proven(void **state)
{
    static const char *const hosts[] = { "localhost", "127.0.0.1:10809", "[::1]:10809" };

    (void)state;
    kvmig__str_set(&scene_disk(&scene)->source.protocol, "nbd");
    expect("SHARED_IDENTITY_UNPROVEN", WARN); /* a socket of the host */
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(hosts); i++) {
        kvmig__str_set(&scene_disk(&scene)->source.host, hosts[i]);
        expect("SHARED_IDENTITY_UNPROVEN", WARN);
    }
    kvmig__str_set(&scene_disk(&scene)->source.host, "nbd.example:10809");
    assert_clean(scene_plan(&scene));
}

static void a_folder_that_the_caller_states_is_shared(void **state)
{
    (void)state;
    scene_use_file(&scene, "/srv/nfs/a/vm1.qcow2", "qcow2");
    kvmig__strlist_add(&scene.view.shared_paths, "/srv/nfs/");
    expect_method(KVMIG_DISK_SHARED);
    assert_clean(scene.plan);
    assert_finding(scene.plan, "SHARED_FS_UNRECOGNISED", INFO);
    scene.request.flags = KVMIG_PLAN_UNSAFE;
    assert_no_finding(scene_plan(&scene), "SHARED_FS_UNRECOGNISED");
}

static void only_what_is_below_a_stated_folder_is_shared(void **state)
{
    static const char *const outside[] = { "/srv/nfs2/vm1.qcow2", "/srv/nfs/../local/vm1.qcow2", "/srv/nfs" };

    (void)state;
    kvmig__strlist_add(&scene.view.shared_paths, "/srv/nfs");
    kvmig__strlist_add(&scene.view.shared_paths, "/"); /* would be everything, and is nothing */
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(outside); i++) {
        scene_use_file(&scene, outside[i], "qcow2");
        expect_method(KVMIG_DISK_IMPOSSIBLE);
    }
}

static void use_pools(const char *type, const char *source_host, const char *other_host)
{
    struct kvmig__pool *a, *b;

    scene_use_file(&scene, SCENE_DIR "/vm1.qcow2", "qcow2");
    a = host_add_pool(alpha, "nas", type, SCENE_DIR);
    b = host_add_pool(beta, "nas-b", type, SCENE_DIR);
    kvmig__str_set(&a->source_host, source_host);
    kvmig__str_set(&b->source_host, other_host);
    kvmig__str_set(&a->source_dir, "/export");
    kvmig__str_set(&b->source_dir, "/export");
}

static void pools_of_one_server_are_one_storage(void **state)
{
    (void)state;
    use_pools("netfs", "nas.example", "NAS.example");
    expect_method(KVMIG_DISK_SHARED);
    assert_clean(scene.plan);
    assert_no_finding(scene.plan, "SHARED_FS_UNRECOGNISED"); /* libvirt knows network file systems */
    kvmig__str_set(&beta->pools.v[0].source_dir, "/other");
    expect_method(KVMIG_DISK_COPY_FULL);
}

static void pools_that_name_no_server_prove_nothing(void **state)
{
    (void)state;
    use_pools("netfs", "localhost", "localhost");
    expect_method(KVMIG_DISK_COPY_FULL);
    kvmig__str_set(&alpha->pools.v[0].source_host, NULL);
    kvmig__str_set(&beta->pools.v[0].source_host, NULL);
    expect_method(KVMIG_DISK_COPY_FULL);
    kvmig__str_set(&alpha->pools.v[0].source_host, "nas");
    kvmig__str_set(&beta->pools.v[0].source_host, "nas");
    expect_method(KVMIG_DISK_SHARED);
    beta->pools.v[0].active = false;
    expect_method(KVMIG_DISK_IMPOSSIBLE);
}

static void one_inode_is_one_file(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", SCENE_CTIME);
    expect_method(KVMIG_DISK_SHARED);
    kvmig__str_set(&beta->pools.v[0].volumes.v[0].ctime, NULL);
    expect_method(KVMIG_DISK_IMPOSSIBLE);
}

static void a_time_to_the_second_is_no_proof(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", "1796040285.000000000");
    kvmig__str_set(&alpha->pools.v[0].volumes.v[0].ctime, "1796040285.000000000");
    expect("DEST_VOLUME_EXISTS", BLOCKER);
    kvmig__str_set(&alpha->pools.v[0].volumes.v[0].ctime, "1796040285");
    kvmig__str_set(&beta->pools.v[0].volumes.v[0].ctime, "1796040285");
    expect("DEST_VOLUME_EXISTS", BLOCKER);
}

/* The image of a running guest changes between the readings of the two hosts; a file beside it rests. */
static void a_resting_neighbour_proves_the_folder(void **state)
{
    struct kvmig__domain *other;

    (void)state;
    scene_use_private_file(&scene);
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", SCENE_OTHER_CTIME);
    expect("DEST_VOLUME_EXISTS", BLOCKER);
    pool_add_volume(&alpha->pools.v[0], "tools.iso", "raw", "1700000000.123456789");
    pool_add_volume(&beta->pools.v[0], "tools.iso", "raw", "1700000000.123456789");
    expect_method(KVMIG_DISK_SHARED);
    assert_clean(scene.plan);
    pool_add_volume(&alpha->pools.v[0], "other.qcow2", "qcow2", "1700000000.000000001");
    pool_add_volume(&beta->pools.v[0], "other.qcow2", "qcow2", "1700000000.000000002");
    expect("DEST_VOLUME_EXISTS", BLOCKER); /* this one rests, and speaks against it */
    other = host_add_domain(alpha, "other", "44444444-0000-4000-8000-000000000004", KVMIG__STATE_RUNNING);
    KVMIG__PUSH(&other->disks)->source.path = kvmig__strdup(SCENE_DIR "/other.qcow2");
    expect_method(KVMIG_DISK_SHARED); /* unless a guest of the view writes to it */
}

/* Hosts that were installed from one image have equal inodes in private folders. */
static void equal_neighbours_do_not_share_a_file_that_only_the_source_has(void **state)
{
    const struct kvmig__disk_plan *disk;

    (void)state;
    scene_use_private_file(&scene);
    pool_add_volume(&alpha->pools.v[0], "tools.iso", "raw", "1700000000.123456789");
    pool_add_volume(&beta->pools.v[0], "tools.iso", "raw", "1700000000.123456789");
    disk = expect_method(KVMIG_DISK_COPY_FULL);
    assert_true(disk->create);
}

static void the_caller_may_state_that_nothing_needs_a_copy(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    scene.request.copy = KVMIG_COPY_NONE;
    expect_method(KVMIG_DISK_SHARED);
    assert_clean(scene.plan);
    assert_finding(scene.plan, "DISK_NOT_SEEN_ON_TARGET", INFO);
}

static void a_statement_is_not_taken_against_the_evidence(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", SCENE_OTHER_CTIME);
    pool_add_volume(&alpha->pools.v[0], "idle.qcow2", "qcow2", SCENE_CTIME);
    pool_add_volume(&beta->pools.v[0], "idle.qcow2", "qcow2", SCENE_OTHER_CTIME);
    scene.request.copy = KVMIG_COPY_NONE;
    expect_method(KVMIG_DISK_SHARED); /* a third party may have written to it meanwhile */
    kvmig__str_set(&beta->pools.v[0].volumes.v[1].format, "raw");
    expect("DISK_NOT_SHARED", BLOCKER);
    expect_method(KVMIG_DISK_IMPOSSIBLE);
}

static void disks_that_are_left_out_of_the_list_stay(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    scene_add_file(&scene, "vdb", SCENE_DIR "/data.raw", "raw");
    name_disk("vda");
    scene_plan(&scene);
    assert_method(scene.plan, "vda", KVMIG_DISK_COPY_FULL);
    assert_method(scene.plan, "vdb", KVMIG_DISK_SHARED);
}

/* ---- block devices ---- */

static void a_block_device_is_shared_by_its_world_wide_name(void **state)
{
    (void)state;
    scene_use_block_device(&scene);
    host_add_device(alpha, "/dev/mapper/lun1", "0x5000c500a1b2c3d4", 4 * GIB);
    host_add_device(beta, "/dev/mapper/lun1", "0x5000C500A1B2C3D4", 4 * GIB);
    expect_method(KVMIG_DISK_SHARED);
    assert_clean(scene.plan);
}

static void a_block_device_that_only_looks_shared_blocks(void **state)
{
    (void)state;
    scene_use_block_device(&scene);
    host_add_device(alpha, "/dev/mapper/lun1", "0x5000c500a1b2c3d4", 4 * GIB);
    host_add_device(beta, "/dev/mapper/lun1", "0x5000c500ffffffff", 4 * GIB);
    assert_detail(expect("BLOCK_DEVICE_NOT_SHARED", BLOCKER), "world-wide");
    kvmig__str_set(&beta->block_devices.v[0].wwn, NULL);
    assert_detail(expect("SHARED_IDENTITY_UNPROVEN", WARN), "no identity");
    beta->block_devices.v[0].size = 5 * GIB;
    assert_detail(expect("BLOCK_DEVICE_NOT_SHARED", BLOCKER), "size");
    beta->block_devices.v[0].size = 4 * GIB;
    alpha->block_devices.v[0].serial = kvmig__strdup("A1");
    beta->block_devices.v[0].serial = kvmig__strdup("B2");
    assert_detail(expect("BLOCK_DEVICE_NOT_SHARED", BLOCKER), "serial");
    kvmig__str_set(&beta->block_devices.v[0].serial, "A1");
    expect_method(KVMIG_DISK_SHARED);
    assert_clean(scene.plan);
}

static void a_block_device_that_the_target_lacks_blocks(void **state)
{
    (void)state;
    scene_use_block_device(&scene);
    host_add_device(alpha, "/dev/mapper/lun1", NULL, 4 * GIB);
    host_add_device(beta, "/dev/sda", NULL, 9 * GIB);
    assert_detail(expect("BLOCK_DEVICE_NOT_SHARED", BLOCKER), "no device of that path");
}

static void a_block_device_of_unknown_identity_is_a_risk(void **state)
{
    (void)state;
    scene_use_block_device(&scene);
    expect("SHARED_IDENTITY_UNPROVEN", WARN);
    assert_method(scene.plan, "vda", KVMIG_DISK_SHARED);
    scene.request.copy = KVMIG_COPY_NONE;
    assert_clean(scene_plan(&scene));
}

static void hosts_that_were_asked_and_cannot_tell_a_device_need_consent(void **state)
{
    (void)state;
    scene_use_block_device(&scene);
    alpha->block_devices_asked = true;
    expect("SHARED_IDENTITY_UNPROVEN", WARN); /* of one host only files tell */
    beta->block_devices_asked = true;
    expect("SHARED_IDENTITY_UNPROVEN", BLOCKER);
    assert_method(scene.plan, "vda", KVMIG_DISK_IMPOSSIBLE);
    scene.request.flags |= KVMIG_PLAN_UNSAFE;
    expect("SHARED_IDENTITY_UNPROVEN", WARN);
    assert_method(scene.plan, "vda", KVMIG_DISK_SHARED);
    scene.request.flags &= ~(uint64_t)KVMIG_PLAN_UNSAFE;
    scene.request.copy = KVMIG_COPY_NONE;
    assert_clean(scene_plan(&scene));
}

static void a_volume_group_is_as_shared_as_its_device(void **state)
{
    (void)state;
    scene_use_block_device(&scene);
    kvmig__str_set(&scene_disk(&scene)->source.path, "/dev/vg0/vm1");
    kvmig__str_set(&host_add_pool(alpha, "vg0", "logical", "/dev/vg0")->source_device, "/dev/sdb");
    kvmig__str_set(&host_add_pool(beta, "vg0", "logical", "/dev/vg0")->source_device, "/dev/sdq");
    expect("SHARED_IDENTITY_UNPROVEN", WARN);
    host_add_device(alpha, "/dev/sdb", "0x1", 40 * GIB);
    host_add_device(beta, "/dev/sdq", "0x1", 40 * GIB);
    expect_method(KVMIG_DISK_SHARED);
    assert_clean(scene.plan);
    kvmig__str_set(&beta->block_devices.v[0].wwn, "0x2");
    expect("BLOCK_DEVICE_NOT_SHARED", BLOCKER);
}

static void a_block_device_is_copied_into_a_pool_that_is_asked_for(void **state)
{
    const struct kvmig__disk_plan *disk;

    (void)state;
    scene_use_block_device(&scene);
    host_add_device(alpha, "/dev/mapper/lun1", "0x1", 4 * GIB);
    host_add_device(beta, "/dev/mapper/lun1", "0x2", 4 * GIB);
    host_add_pool(beta, "vg1", "logical", "/dev/vg1");
    kvmig__str_set(&scene.request.target_pool, "vg1");
    disk = expect_method(KVMIG_DISK_COPY_FULL);
    assert_clean(scene.plan);
    assert_true(disk->create);
    assert_string_equal(disk->target_path, "/dev/vg1/lun1");
    assert_int_equal(disk->estimate, 4 * GIB);
    kvmig__str_set(&beta->pools.v[0].type, "dir");
    expect("TARGET_POOL_UNSUITABLE", BLOCKER);
}

static void a_named_block_device_is_overwritten_only_if_it_is_another(void **state)
{
    const struct kvmig__disk_plan *disk;

    (void)state;
    scene_use_block_device(&scene);
    host_add_device(alpha, "/dev/mapper/lun1", "0x1", 4 * GIB);
    host_add_device(beta, "/dev/mapper/lun1", NULL, 4 * GIB);
    name_disk("vda");
    expect("SHARED_IDENTITY_UNPROVEN", BLOCKER);
    kvmig__str_set(&beta->block_devices.v[0].wwn, "0x2");
    disk = expect_method(KVMIG_DISK_COPY_FULL);
    assert_clean(scene.plan);
    assert_false(disk->create);
    assert_string_equal(disk->target_path, "/dev/mapper/lun1");
    kvmig__str_set(&beta->block_devices.v[0].wwn, "0x1");
    expect("BLOCK_COPY_ONTO_SAME_STORAGE", BLOCKER);
}

/* ---- read-only, empty, odd ---- */

static void an_empty_drive_is_skipped(void **state)
{
    (void)state;
    scene_disk(&scene)->has_source = false;
    expect_method(KVMIG_DISK_SKIP);
    assert_clean(scene.plan);
    name_disk("vda");
    expect("COPY_LIST_HAS_READONLY_DISK", BLOCKER);
}

static void a_medium_must_be_on_the_target(void **state)
{
    (void)state;
    scene_use_file(&scene, SCENE_DIR "/tools.iso", "raw");
    scene_disk(&scene)->readonly = true;
    expect("READONLY_MEDIA_UNVERIFIED", WARN);
    assert_method(scene.plan, "vda", KVMIG_DISK_SKIP);
    pool_add_volume(host_add_pool(alpha, "images", "dir", SCENE_DIR), "tools.iso", "raw", SCENE_CTIME);
    host_add_pool(beta, "images", "dir", SCENE_DIR);
    expect("READONLY_MEDIA_MISSING", BLOCKER);
    pool_add_volume(&beta->pools.v[0], "tools.iso", "raw", SCENE_OTHER_CTIME);
    expect_method(KVMIG_DISK_SKIP);
    assert_clean(scene.plan);
    beta->pools.v[0].volumes.v[0].capacity = GIB;
    expect("READONLY_MEDIA_DIFFERS", WARN);
    scene.request.copy = KVMIG_COPY_NONE;
    assert_clean(scene_plan(&scene));
}

static void a_read_only_disk_is_not_copied_even_if_named(void **state)
{
    (void)state;
    scene_disk(&scene)->readonly = true;
    name_disk("vda");
    assert_string_equal(kvmig_finding_object(expect("COPY_LIST_HAS_READONLY_DISK", BLOCKER)), "disk/vda");
    name_disk("vdz");
    assert_detail(expect("INVALID_ARGUMENT", BLOCKER), "vdz");
}

static void disks_that_several_guests_share_are_not_copied(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    scene_disk(&scene)->shareable = true;
    expect("VOLUME_NOT_MOVABLE", BLOCKER);
    kvmig__strlist_add(&scene.view.shared_paths, SCENE_DIR);
    expect_method(KVMIG_DISK_SHARED);
    assert_clean(scene.plan);
}

static void storage_that_belongs_to_one_host_blocks(void **state)
{
    (void)state;
    scene_disk(&scene)->source.type = KVMIG__DISK_NVME;
    expect("DISK_NOT_MIGRATABLE", BLOCKER);
    scene_disk(&scene)->source.type = KVMIG__DISK_VHOST_USER;
    expect("SHARED_IDENTITY_UNPROVEN", WARN);
}

static void a_volume_disk_goes_by_its_pool(void **state)
{
    const struct kvmig__disk_plan *disk;
    struct kvmig__disk_source *source = &scene_disk(&scene)->source;

    (void)state;
    scene_use_private_file(&scene);
    source->type = KVMIG__DISK_VOLUME;
    kvmig__str_set(&source->path, NULL);
    kvmig__str_set(&source->pool, "images");
    kvmig__str_set(&source->volume, "vm1.qcow2");
    kvmig__str_set(&beta->pools.v[0].target_path, "/elsewhere");
    disk = expect_method(KVMIG_DISK_COPY_FULL);
    assert_clean(scene.plan);
    assert_string_equal(disk->pool, "images");
    assert_true(disk->create);
    assert_null(disk->target_path); /* each host resolves pool and volume itself */
    kvmig__str_set(&beta->pools.v[0].name, "other");
    expect("TARGET_POOL_MISSING", BLOCKER);
    kvmig__str_set(&scene.request.target_pool, "other");
    expect("TARGET_POOL_UNSUITABLE", BLOCKER);
}

static void caches_matter_on_shared_files_with_old_qemu(void **state)
{
    (void)state;
    use_pools("netfs", "nas", "nas");
    kvmig__str_set(&scene_disk(&scene)->cache, "writeback");
    assert_clean(scene_plan(&scene)); /* QEMU 4.0 and later drop the cache */
    alpha->qemu_version = beta->qemu_version = 2006000;
    assert_detail(expect("UNSAFE_DISK_CACHE", BLOCKER), "writeback");
    kvmig__str_set(&scene_disk(&scene)->cache, NULL);
    assert_detail(expect("UNSAFE_DISK_CACHE", BLOCKER), "default");
    scene.request.flags = KVMIG_PLAN_UNSAFE;
    expect("UNSAFE_DISK_CACHE", WARN);
    scene.request.flags = 0;
    scene_disk(&scene)->shareable = true;
    assert_no_finding(scene_plan(&scene), "UNSAFE_DISK_CACHE");
    scene_disk(&scene)->shareable = false;
    kvmig__str_set(&scene_disk(&scene)->cache, "directsync");
    assert_no_finding(scene_plan(&scene), "UNSAFE_DISK_CACHE");
}

static void another_kind_of_storage_in_the_callers_xml_is_another(void **state)
{
    struct scene other;

    (void)state;
    scene_init(&other);
    scene_use_private_file(&scene);
    kvmig__str_set(&scene.request.target_xml, "<domain/>");
    scene.request.target_domain = scene_vm(&other); /* a network image there */
    name_disk("vda");
    expect_method(KVMIG_DISK_COPY_FULL);
    assert_finding(scene.plan, "TARGET_VOLUME_UNVERIFIED", INFO);
    scene_clear(&other);
}

/* ---- without a target ---- */

static void without_a_target_the_methods_follow_from_the_vm(void **state)
{
    struct kvmig__disk *disk;

    (void)state;
    kvmig__str_set(&scene.request.target, NULL);
    beta->state = KVMIG__HOST_LOST;
    scene_add_file(&scene, "vdb", "/srv/local/b.raw", "raw");
    scene_add_file(&scene, "vdc", "/srv/nfs/c.raw", "raw");
    scene_add_file(&scene, "vdd", "/dev/vg0/d", "raw")->source.type = KVMIG__DISK_BLOCK;
    disk = scene_add_file(&scene, "sda", "/srv/local/tools.iso", "raw");
    disk->readonly = true;
    disk = scene_add_file(&scene, "sdb", "/srv/local/none", "raw");
    disk->has_source = false;
    kvmig__strlist_add(&scene.view.shared_paths, "/srv/nfs");
    scene_plan(&scene);
    assert_method(scene.plan, "vda", KVMIG_DISK_SHARED);
    assert_method(scene.plan, "vdb", KVMIG_DISK_COPY_FULL);
    assert_method(scene.plan, "vdc", KVMIG_DISK_SHARED);
    assert_method(scene.plan, "vdd", KVMIG_DISK_SHARED);
    assert_method(scene.plan, "sda", KVMIG_DISK_SKIP);
    assert_method(scene.plan, "sdb", KVMIG_DISK_SKIP);
    kvmig__str_set(&scene.request.target_pool, "vg1");
    scene_plan(&scene);
    assert_method(scene.plan, "vdd", KVMIG_DISK_COPY_FULL);
    kvmig__str_set(&scene.request.target_pool, NULL);
    name_disk("vdd");
    scene_plan(&scene);
    assert_method(scene.plan, "vdd", KVMIG_DISK_COPY_FULL);
    assert_method(scene.plan, "vdb", KVMIG_DISK_SHARED); /* left out of the list */
}

static void what_a_disk_opens_is_told(void **state)
{
    (void)state;
    assert_string_equal(expect_method(KVMIG_DISK_SHARED)->source_path, "rbd:vms/vm1");
    kvmig__str_set(&scene_disk(&scene)->source.name, NULL);
    assert_null(expect_method(KVMIG_DISK_SHARED)->source_path);
    scene_disk(&scene)->source.type = KVMIG__DISK_VOLUME;
    kvmig__str_set(&scene_disk(&scene)->source.protocol, NULL);
    kvmig__str_set(&scene_disk(&scene)->source.pool, "tank");
    kvmig__str_set(&scene_disk(&scene)->source.volume, "vm1");
    beta->pools_known = false;
    assert_string_equal(expect_method(KVMIG_DISK_SHARED)->source_path, "tank/vm1");
    assert_finding(scene.plan, "SHARED_IDENTITY_UNPROVEN", WARN);
}

static void a_disk_that_is_said_to_be_shared_and_is_seen_needs_no_remark(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", SCENE_OTHER_CTIME);
    scene.request.copy = KVMIG_COPY_NONE;
    assert_no_finding(scene_plan(&scene), "DISK_NOT_SEEN_ON_TARGET");
    scene_use_block_device(&scene);
    assert_no_finding(scene_plan(&scene), "DISK_NOT_SEEN_ON_TARGET");
}

static void a_volume_of_another_name_in_one_group_is_another(void **state)
{
    struct scene other;

    (void)state;
    scene_init(&other);
    scene_use_block_device(&scene);
    scene_use_block_device(&other);
    kvmig__str_set(&scene_disk(&scene)->source.path, "/dev/vg0/vm1");
    kvmig__str_set(&scene_disk(&other)->source.path, "/dev/vg0/vm2");
    kvmig__str_set(&host_add_pool(alpha, "vg0", "logical", "/dev/vg0")->source_device, "/dev/sdb");
    kvmig__str_set(&host_add_pool(beta, "vg0", "logical", "/dev/vg0")->source_device, "/dev/sdb");
    host_add_device(alpha, "/dev/sdb", "0x1", 40 * GIB);
    host_add_device(beta, "/dev/sdb", "0x1", 40 * GIB);
    kvmig__str_set(&scene.request.target_xml, "<domain/>");
    scene.request.target_domain = scene_vm(&other);
    expect("BLOCK_DEVICE_NOT_SHARED", BLOCKER);
    kvmig__str_set(&scene_disk(&other)->source.path, "/dev/vg0/vm1");
    expect_method(KVMIG_DISK_SHARED);
    scene_clear(&other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(network_images_are_shared),
        TEST(a_network_image_of_localhost_is_not_proven),
        TEST(a_folder_that_the_caller_states_is_shared),
        TEST(only_what_is_below_a_stated_folder_is_shared),
        TEST(pools_of_one_server_are_one_storage),
        TEST(pools_that_name_no_server_prove_nothing),
        TEST(one_inode_is_one_file),
        TEST(a_time_to_the_second_is_no_proof),
        TEST(a_resting_neighbour_proves_the_folder),
        TEST(equal_neighbours_do_not_share_a_file_that_only_the_source_has),
        TEST(the_caller_may_state_that_nothing_needs_a_copy),
        TEST(a_statement_is_not_taken_against_the_evidence),
        TEST(disks_that_are_left_out_of_the_list_stay),
        TEST(a_block_device_is_shared_by_its_world_wide_name),
        TEST(a_block_device_that_only_looks_shared_blocks),
        TEST(a_block_device_that_the_target_lacks_blocks),
        TEST(a_block_device_of_unknown_identity_is_a_risk),
        TEST(hosts_that_were_asked_and_cannot_tell_a_device_need_consent),
        TEST(a_volume_group_is_as_shared_as_its_device),
        TEST(a_block_device_is_copied_into_a_pool_that_is_asked_for),
        TEST(a_named_block_device_is_overwritten_only_if_it_is_another),
        TEST(an_empty_drive_is_skipped),
        TEST(a_medium_must_be_on_the_target),
        TEST(a_read_only_disk_is_not_copied_even_if_named),
        TEST(disks_that_several_guests_share_are_not_copied),
        TEST(storage_that_belongs_to_one_host_blocks),
        TEST(a_volume_disk_goes_by_its_pool),
        TEST(caches_matter_on_shared_files_with_old_qemu),
        TEST(without_a_target_the_methods_follow_from_the_vm),
        TEST(what_a_disk_opens_is_told),
        TEST(a_disk_that_is_said_to_be_shared_and_is_seen_needs_no_remark),
        TEST(a_volume_of_another_name_in_one_group_is_another),
        TEST(another_kind_of_storage_in_the_callers_xml_is_another),
    };

    return !!cmocka_run_group_tests_name("plan disks", tests, NULL, NULL);
}
