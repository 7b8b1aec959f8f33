/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the planner copies disks: whole or incrementally, where to, into how much room, and what must never happen to data that
 * is already there.
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

/* ---- copies ---- */

static void a_private_file_is_copied_into_the_pool_of_its_folder(void **state)
{
    const struct kvmig__disk_plan *disk;

    (void)state;
    scene_use_private_file(&scene);
    disk = expect_method(KVMIG_DISK_COPY_FULL);
    assert_clean(scene.plan);
    assert_true(disk->create);
    assert_string_equal(disk->pool, "images");
    assert_string_equal(disk->volume, "vm1.qcow2");
    assert_string_equal(disk->target_path, SCENE_DIR "/vm1.qcow2");
    assert_string_equal(disk->source_path, SCENE_DIR "/vm1.qcow2");
    assert_string_equal(disk->format, "qcow2");
    assert_int_equal(disk->capacity, 4 * GIB);
    assert_int_equal(disk->estimate, GIB);
    assert_detail(assert_finding(scene.plan, "BLOCK_COPY_LIST", INFO), "[\"vda\"]");
}

static void another_pool_means_another_path(void **state)
{
    const struct kvmig__disk_plan *disk;

    (void)state;
    scene_use_private_file(&scene);
    kvmig__str_set(&beta->pools.v[0].target_path, "/data/images/"); /* the pool of the same name */
    disk = expect_method(KVMIG_DISK_COPY_FULL);
    assert_string_equal(disk->target_path, "/data/images/vm1.qcow2");
    host_add_pool(beta, "fast", "dir", "/fast");
    kvmig__str_set(&scene.request.target_pool, "fast");
    disk = expect_method(KVMIG_DISK_COPY_FULL);
    assert_string_equal(disk->pool, "fast");
    assert_string_equal(disk->target_path, "/fast/vm1.qcow2");
    assert_clean(scene.plan);
}

static void without_a_pool_there_is_no_copy(void **state)
{
    const struct kvmig_finding *finding;

    (void)state;
    scene_use_private_file(&scene);
    beta->pools.v[0].active = false;
    finding = expect("TARGET_POOL_MISSING", BLOCKER);
    assert_non_null(strstr(kvmig_finding_hint(finding), "shared_paths"));
    expect_method(KVMIG_DISK_IMPOSSIBLE);
    kvmig__str_set(&scene.request.target_pool, "images");
    expect("TARGET_POOL_INACTIVE", BLOCKER);
    kvmig__str_set(&scene.request.target_pool, "nowhere");
    assert_detail(expect("TARGET_POOL_MISSING", BLOCKER), "nowhere");
}

static void unknown_pools_block_nothing(void **state)
{
    (void)state;
    scene_use_file(&scene, SCENE_DIR "/vm1.qcow2", "qcow2");
    beta->pools_known = false;
    expect_method(KVMIG_DISK_COPY_FULL);
    assert_clean(scene.plan);
    assert_finding(scene.plan, "TARGET_VOLUME_UNVERIFIED", INFO);
}

static void a_file_that_is_there_is_not_overwritten(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", SCENE_OTHER_CTIME);
    expect("DEST_VOLUME_EXISTS", BLOCKER);
    assert_false(expect_method(KVMIG_DISK_IMPOSSIBLE)->create);
}

static void a_named_disk_uses_what_is_there(void **state)
{
    const struct kvmig__disk_plan *disk;

    (void)state;
    scene_use_private_file(&scene);
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", SCENE_OTHER_CTIME);
    pool_add_volume(&alpha->pools.v[0], "idle.raw", "raw", SCENE_CTIME);
    pool_add_volume(&beta->pools.v[0], "idle.raw", "raw", SCENE_OTHER_CTIME)->capacity = GIB; /* two folders, then */
    name_disk("vda");
    disk = expect_method(KVMIG_DISK_COPY_FULL);
    assert_clean(scene.plan);
    assert_false(disk->create); /* so that it is not removed on rollback either */
    assert_string_equal(disk->volume, "vm1.qcow2");
}

static void a_named_disk_on_what_may_be_itself_is_a_risk(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", SCENE_OTHER_CTIME);
    name_disk("vda");
    expect("SHARED_IDENTITY_UNPROVEN", WARN);
    kvmig__str_set(&beta->pools.v[0].volumes.v[0].ctime, SCENE_CTIME);
    expect("BLOCK_COPY_ONTO_SAME_STORAGE", BLOCKER);
}

static void a_volume_that_a_domain_uses_is_never_overwritten(void **state)
{
    struct kvmig__domain *other;

    (void)state;
    scene_use_private_file(&scene);
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", SCENE_OTHER_CTIME);
    other = host_add_domain(beta, "other", "33333333-0000-4000-8000-000000000003", KVMIG__STATE_SHUTOFF);
    KVMIG__PUSH(&other->disks)->source.path = kvmig__strdup(SCENE_DIR "/vm1.qcow2");
    name_disk("vda");
    expect("DEST_VOLUME_IN_USE", BLOCKER);
}

static void an_existing_volume_must_fit_exactly(void **state)
{
    struct kvmig__volume *volume;

    (void)state;
    scene_use_private_file(&scene);
    volume = pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", SCENE_OTHER_CTIME);
    name_disk("vda");
    volume->capacity = 4 * GIB - 1;
    assert_detail(expect("DEST_VOLUME_SMALLER", BLOCKER), "\"need\": 4294967296, \"have\": 4294967295");
    volume->capacity = 4 * GIB + 1;
    expect("DEST_VOLUME_SIZE_DIFFERS", BLOCKER); /* QEMU mirrors only between equals */
    alpha->qemu_version = beta->qemu_version = 5000000;
    expect("DEST_VOLUME_SIZE_DIFFERS", WARN);
    volume->capacity = 4 * GIB;
    kvmig__str_set(&volume->format, "raw");
    assert_detail(expect("DEST_VOLUME_FORMAT_DIFFERS", BLOCKER), "raw");
}

static void a_larger_raw_device_will_do_for_newer_libvirt(void **state)
{
    (void)state;
    scene_use_block_device(&scene);
    host_add_device(alpha, "/dev/mapper/lun1", "0x1", 4 * GIB);
    host_add_device(beta, "/dev/mapper/lun1", "0x2", 5 * GIB);
    name_disk("vda");
    expect_method(KVMIG_DISK_COPY_FULL);
    assert_clean(scene.plan);
    alpha->libvirt_version = beta->libvirt_version = 9000000;
    expect("DEST_VOLUME_SIZE_DIFFERS", BLOCKER);
}

static void two_disks_of_one_name_do_not_collide(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    scene_add_file(&scene, "vdb", "/srv/other/vm1.qcow2", "qcow2");
    kvmig__str_set(&scene.request.target_pool, "images");
    scene_plan(&scene);
    assert_clean(scene.plan);
    assert_string_equal(assert_method(scene.plan, "vda", KVMIG_DISK_COPY_FULL)->volume, "vm1.qcow2");
    assert_string_equal(assert_method(scene.plan, "vdb", KVMIG_DISK_COPY_FULL)->volume, "vdb-vm1.qcow2");
}

/* ---- room ---- */

static void a_raw_image_needs_its_whole_size(void **state)
{
    const struct kvmig_finding *finding;

    (void)state;
    scene_use_private_file(&scene);
    scene_use_file(&scene, SCENE_DIR "/vm1.raw", "raw");
    beta->pools.v[0].available = 4 * GIB;
    assert_clean(scene_plan(&scene));
    beta->pools.v[0].available = 4 * GIB - 1;
    finding = expect("TARGET_SPACE_INSUFFICIENT", BLOCKER);
    assert_detail(finding, "\"need\": 4294967296, \"have\": 4294967295");
    assert_string_equal(kvmig_finding_object(finding), "disk/vda");
}

static void an_image_that_grows_needs_what_it_holds(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    beta->pools.v[0].available = 2 * GIB;
    expect("TARGET_SPACE_INSUFFICIENT", WARN);
    assert_method(scene.plan, "vda", KVMIG_DISK_COPY_FULL);
    beta->pools.v[0].available = GIB - 1;
    expect("TARGET_SPACE_INSUFFICIENT", BLOCKER);
    beta->pools.v[0].available = KVMIG__UNKNOWN;
    expect("TARGET_SPACE_UNVERIFIED", INFO);
}

static void the_disks_of_a_plan_share_the_room(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    scene_use_file(&scene, SCENE_DIR "/a.raw", "raw");
    scene_add_file(&scene, "vdb", SCENE_DIR "/b.raw", "raw");
    beta->pools.v[0].available = 7 * GIB;
    assert_detail(expect("TARGET_SPACE_INSUFFICIENT", BLOCKER), "\"have\": 3221225472");
    assert_method(scene.plan, "vda", KVMIG_DISK_COPY_FULL);
    assert_method(scene.plan, "vdb", KVMIG_DISK_IMPOSSIBLE);
    beta->pools.v[0].available = 8 * GIB;
    assert_clean(scene_plan(&scene));
}

/* ---- backing chains ---- */

static void add_backing(struct kvmig__disk *disk, const char *path)
{
    struct kvmig__disk_source *backing = KVMIG__PUSH(&disk->backing);

    backing->type = KVMIG__DISK_FILE;
    backing->path = kvmig__strdup(path);
    backing->format = kvmig__strdup("qcow2");
    backing->capacity = KVMIG__UNKNOWN;
}

static void a_chain_that_the_target_has_is_copied_incrementally(void **state)
{
    const struct kvmig__disk_plan *disk;

    (void)state;
    scene_use_private_file(&scene);
    add_backing(scene_disk(&scene), SCENE_DIR "/base.qcow2");
    pool_add_volume(&alpha->pools.v[0], "base.qcow2", "qcow2", SCENE_CTIME);
    expect_method(KVMIG_DISK_COPY_FULL); /* the target does not have it */
    pool_add_volume(&beta->pools.v[0], "base.qcow2", "qcow2", SCENE_OTHER_CTIME);
    disk = expect_method(KVMIG_DISK_COPY_INCREMENTAL);
    assert_finding(scene.plan, "BACKING_IMAGE_UNPROVEN", WARN);
    assert_true(disk->create);
    assert_string_equal(disk->backing_path, SCENE_DIR "/base.qcow2");
    assert_string_equal(disk->backing_format, "qcow2");
    assert_int_equal(disk->estimate, GIB);
}

static void a_shared_backing_image_is_proven(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    add_backing(scene_disk(&scene), "/srv/nfs/base.qcow2");
    kvmig__strlist_add(&scene.view.shared_paths, "/srv/nfs");
    expect_method(KVMIG_DISK_COPY_INCREMENTAL);
    assert_clean(scene.plan);
    scene.request.copy = KVMIG_COPY_FULL;
    assert_null(expect_method(KVMIG_DISK_COPY_FULL)->backing_path);
    assert_clean(scene.plan);
}

/* libvirt leaves backing images out of the XML that it migrates; the volumes still tell them. */
static void a_chain_is_seen_in_the_volumes_of_the_source(void **state)
{
    const struct kvmig__disk_plan *disk;

    (void)state;
    scene_use_private_file(&scene)->backing_path = kvmig__strdup(SCENE_DIR "/mid.qcow2");
    pool_add_volume(&alpha->pools.v[0], "mid.qcow2", "qcow2", SCENE_CTIME)->backing_path =
        kvmig__strdup(SCENE_DIR "/base.raw");
    pool_add_volume(&alpha->pools.v[0], "base.raw", "raw", SCENE_OTHER_CTIME);
    pool_add_volume(&beta->pools.v[0], "mid.qcow2", "qcow2", SCENE_CTIME);
    disk = expect_method(KVMIG_DISK_COPY_FULL); /* the base is missing */
    assert_non_null(strstr(disk->reason, "base.raw"));
    pool_add_volume(&beta->pools.v[0], "base.raw", "raw", SCENE_OTHER_CTIME);
    disk = expect_method(KVMIG_DISK_COPY_INCREMENTAL);
    assert_clean(scene.plan);
    assert_string_equal(disk->backing_path, SCENE_DIR "/mid.qcow2");
    assert_string_equal(disk->backing_format, "qcow2");
}

static void volumes_that_back_each_other_end(void **state)
{
    (void)state;
    scene_use_private_file(&scene)->backing_path = kvmig__strdup(SCENE_DIR "/vm1.qcow2");
    scene_plan(&scene);
}

static void all_chains_are_copied_in_one_way(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    add_backing(scene_disk(&scene), SCENE_DIR "/base.qcow2");
    pool_add_volume(&alpha->pools.v[0], "base.qcow2", "qcow2", SCENE_CTIME);
    pool_add_volume(&beta->pools.v[0], "base.qcow2", "qcow2", SCENE_CTIME);
    add_backing(scene_add_file(&scene, "vdb", SCENE_DIR "/data.qcow2", "qcow2"), SCENE_DIR "/missing.qcow2");
    scene_add_file(&scene, "vdc", SCENE_DIR "/plain.raw", "raw");
    scene_plan(&scene);
    assert_clean(scene.plan);
    assert_non_null(strstr(assert_method(scene.plan, "vda", KVMIG_DISK_COPY_FULL)->reason, "vdb"));
    assert_method(scene.plan, "vdb", KVMIG_DISK_COPY_FULL);
    pool_add_volume(&alpha->pools.v[0], "missing.qcow2", "qcow2", SCENE_OTHER_CTIME);
    pool_add_volume(&beta->pools.v[0], "missing.qcow2", "qcow2", SCENE_OTHER_CTIME);
    scene_plan(&scene);
    assert_method(scene.plan, "vda", KVMIG_DISK_COPY_INCREMENTAL);
    assert_method(scene.plan, "vdb", KVMIG_DISK_COPY_INCREMENTAL);
    assert_method(scene.plan, "vdc", KVMIG_DISK_COPY_FULL); /* its top image is all there is */
}

static void a_forced_incremental_copy_needs_the_chain(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    add_backing(scene_disk(&scene), SCENE_DIR "/base.qcow2");
    scene.request.copy = KVMIG_COPY_INCREMENTAL;
    assert_detail(expect("BACKING_CHAIN_MISSING", BLOCKER), "base.qcow2");
    expect_method(KVMIG_DISK_IMPOSSIBLE);
}

static void an_overlay_that_exists_keeps_its_own_backing(void **state)
{
    const struct kvmig__disk_plan *disk;

    (void)state;
    scene_use_private_file(&scene);
    add_backing(scene_disk(&scene), "/srv/nfs/base.qcow2");
    kvmig__strlist_add(&scene.view.shared_paths, "/srv/nfs");
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", SCENE_OTHER_CTIME);
    name_disk("vda");
    disk = expect_method(KVMIG_DISK_COPY_INCREMENTAL);
    assert_false(disk->create);
    assert_null(disk->backing_path);
}

static void an_incremental_copy_without_a_pool_cannot_be_created(void **state)
{
    (void)state;
    scene_use_file(&scene, "/srv/local/vm1.qcow2", "qcow2");
    add_backing(scene_disk(&scene), "/srv/nfs/base.qcow2");
    kvmig__strlist_add(&scene.view.shared_paths, "/srv/nfs");
    expect("TARGET_PRECREATE_UNSUPPORTED", BLOCKER);
}

/* ---- with other options ---- */

static void post_copy_with_disk_copies_is_a_risk(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    scene.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY;
    expect("POSTCOPY_WITH_VOLUME_MIGRATION", WARN);
    assert_no_finding(scene.plan, "POSTCOPY_WITH_NBD_TLS");
    scene.request.flags |= KVMIG_PLAN_TLS;
    expect("POSTCOPY_WITH_NBD_TLS", WARN);
    kvmig__strlist_add(&scene.view.shared_paths, SCENE_DIR);
    assert_no_finding(scene_plan(&scene), "POSTCOPY_WITH_NBD_TLS");
    assert_no_finding(scene.plan, "POSTCOPY_WITH_VOLUME_MIGRATION");
}

static void the_callers_own_xml_says_where_a_copy_goes(void **state)
{
    const struct kvmig__disk_plan *disk;
    struct scene other;

    (void)state;
    scene_use_private_file(&scene);
    scene_init(&other);
    scene_use_file(&other, "/fast/renamed.qcow2", "qcow2");
    host_add_pool(beta, "fast", "dir", "/fast");
    kvmig__str_set(&scene.request.target_xml, "<domain/>");
    kvmig__str_set(&scene.request.persistent_xml, "<domain/>");
    scene.request.target_domain = scene_vm(&other);
    disk = expect_method(KVMIG_DISK_COPY_FULL);
    assert_clean(scene.plan);
    assert_string_equal(disk->pool, "fast");
    assert_string_equal(disk->target_path, "/fast/renamed.qcow2");
    scene.request.target_domain = NULL; /* not read: nothing is said of paths */
    disk = expect_method(KVMIG_DISK_COPY_FULL);
    assert_clean(scene.plan);
    assert_false(disk->create);
    assert_null(disk->target_path);
    scene_clear(&other);
}

static void a_backing_image_of_a_domain_is_never_overwritten(void **state)
{
    struct kvmig__domain *other;

    (void)state;
    scene_use_private_file(&scene);
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", "qcow2", SCENE_OTHER_CTIME);
    other = host_add_domain(beta, "other", "33333333-0000-4000-8000-000000000003", KVMIG__STATE_RUNNING);
    add_backing(KVMIG__PUSH(&other->disks), SCENE_DIR "/vm1.qcow2");
    name_disk("vda");
    expect("DEST_VOLUME_IN_USE", BLOCKER);
}

/* ---- odd pools and sizes ---- */

static void every_pool_of_folders_takes_files(void **state)
{
    static const char *const types[] = { "dir", "fs", "netfs", "vstorage" };

    (void)state;
    scene_use_private_file(&scene);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(types); i++) {
        kvmig__str_set(&beta->pools.v[0].type, types[i]);
        assert_true(expect_method(KVMIG_DISK_COPY_FULL)->create);
    }
    kvmig__str_set(&beta->pools.v[0].type, "rbd");
    expect("TARGET_POOL_MISSING", BLOCKER);
    kvmig__str_set(&beta->pools.v[0].type, "dir");
    kvmig__str_set(&beta->pools.v[0].target_path, NULL);
    expect("TARGET_POOL_MISSING", BLOCKER);
}

static void a_pool_of_devices_takes_raw_devices_only(void **state)
{
    (void)state;
    scene_use_block_device(&scene);
    host_add_pool(beta, "tank", "zfs", "/dev/zvol/tank");
    kvmig__str_set(&scene.request.target_pool, "tank");
    host_add_device(alpha, "/dev/mapper/lun1", "0x1", 4 * GIB);
    host_add_device(beta, "/dev/mapper/lun1", "0x2", 4 * GIB);
    assert_true(expect_method(KVMIG_DISK_COPY_FULL)->create);
    kvmig__str_set(&scene_disk(&scene)->source.format, "qcow2");
    expect("TARGET_PRECREATE_UNSUPPORTED", BLOCKER);
}

static void sizes_that_are_not_known_block_nothing(void **state)
{
    (void)state;
    scene_use_private_file(&scene)->capacity = KVMIG__UNKNOWN;
    scene_use_file(&scene, SCENE_DIR "/vm1.qcow2", "raw");
    scene_disk(&scene)->capacity = scene_disk(&scene)->source.capacity = KVMIG__UNKNOWN;
    scene_disk(&scene)->allocation = scene_disk(&scene)->physical = KVMIG__UNKNOWN;
    expect("TARGET_SPACE_UNVERIFIED", INFO);
    assert_clean(scene.plan);
    pool_add_volume(&beta->pools.v[0], "vm1.qcow2", NULL, NULL)->capacity = GIB;
    name_disk("vda");
    assert_no_finding(scene_plan(&scene), "DEST_VOLUME_SMALLER");
    assert_no_finding(scene.plan, "DEST_VOLUME_SIZE_DIFFERS");
    scene_disk(&scene)->capacity = 2 * GIB;
    expect("DEST_VOLUME_SMALLER", BLOCKER);
    beta->pools.v[0].volumes.v[0].capacity = KVMIG__UNKNOWN;
    assert_no_finding(scene_plan(&scene), "DEST_VOLUME_SMALLER");
}

static void a_size_is_taken_from_where_it_is_known(void **state)
{
    (void)state;
    scene_use_private_file(&scene);
    scene_disk(&scene)->capacity = scene_disk(&scene)->source.capacity = KVMIG__UNKNOWN;
    assert_int_equal(expect_method(KVMIG_DISK_COPY_FULL)->capacity, 4 * GIB); /* the volume tells */
    scene_disk(&scene)->source.capacity = 3 * GIB;
    assert_int_equal(expect_method(KVMIG_DISK_COPY_FULL)->capacity, 3 * GIB);
    scene_disk(&scene)->capacity = 2 * GIB;
    assert_int_equal(expect_method(KVMIG_DISK_COPY_FULL)->capacity, 2 * GIB);
}

static void a_network_backing_image_makes_the_copy_whole(void **state)
{
    struct kvmig__disk_source *backing;

    (void)state;
    scene_use_private_file(&scene);
    backing = KVMIG__PUSH(&scene_disk(&scene)->backing);
    backing->type = KVMIG__DISK_NETWORK;
    backing->protocol = kvmig__strdup("rbd");
    backing->name = kvmig__strdup("golden/base");
    assert_non_null(strstr(expect_method(KVMIG_DISK_COPY_FULL)->reason, "golden/base"));
}

static void a_backing_image_of_another_size_or_format_is_none(void **state)
{
    struct kvmig__volume *there;

    (void)state;
    scene_use_private_file(&scene);
    add_backing(scene_disk(&scene), SCENE_DIR "/base.qcow2");
    pool_add_volume(&alpha->pools.v[0], "base.qcow2", "qcow2", SCENE_CTIME);
    there = pool_add_volume(&beta->pools.v[0], "base.qcow2", "qcow2", SCENE_OTHER_CTIME);
    expect_method(KVMIG_DISK_COPY_INCREMENTAL);
    there->capacity = GIB;
    expect_method(KVMIG_DISK_COPY_FULL);
    there->capacity = 4 * GIB;
    kvmig__str_set(&there->format, "raw");
    expect_method(KVMIG_DISK_COPY_FULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_private_file_is_copied_into_the_pool_of_its_folder),
        TEST(another_pool_means_another_path),
        TEST(without_a_pool_there_is_no_copy),
        TEST(unknown_pools_block_nothing),
        TEST(a_file_that_is_there_is_not_overwritten),
        TEST(a_named_disk_uses_what_is_there),
        TEST(a_named_disk_on_what_may_be_itself_is_a_risk),
        TEST(a_volume_that_a_domain_uses_is_never_overwritten),
        TEST(an_existing_volume_must_fit_exactly),
        TEST(a_larger_raw_device_will_do_for_newer_libvirt),
        TEST(two_disks_of_one_name_do_not_collide),
        TEST(a_raw_image_needs_its_whole_size),
        TEST(an_image_that_grows_needs_what_it_holds),
        TEST(the_disks_of_a_plan_share_the_room),
        TEST(a_chain_that_the_target_has_is_copied_incrementally),
        TEST(a_shared_backing_image_is_proven),
        TEST(a_chain_is_seen_in_the_volumes_of_the_source),
        TEST(volumes_that_back_each_other_end),
        TEST(all_chains_are_copied_in_one_way),
        TEST(a_forced_incremental_copy_needs_the_chain),
        TEST(an_overlay_that_exists_keeps_its_own_backing),
        TEST(an_incremental_copy_without_a_pool_cannot_be_created),
        TEST(post_copy_with_disk_copies_is_a_risk),
        TEST(the_callers_own_xml_says_where_a_copy_goes),
        TEST(every_pool_of_folders_takes_files),
        TEST(a_pool_of_devices_takes_raw_devices_only),
        TEST(sizes_that_are_not_known_block_nothing),
        TEST(a_size_is_taken_from_where_it_is_known),
        TEST(a_network_backing_image_makes_the_copy_whole),
        TEST(a_backing_image_of_another_size_or_format_is_none),
        TEST(a_backing_image_of_a_domain_is_never_overwritten),
    };

    return !!cmocka_run_group_tests_name("plan copies", tests, NULL, NULL);
}
