/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks on observations for libvirt hosts: certificates, mounts, images, versions, and libvirt's flags by name. Each rule both ways.
 */
#include "plan_fixture.h"

#include "plan/facts_checks.h"

#include <stdlib.h>
#include <string.h>

struct told {
    struct scene scene;
    struct kvmig__facts *facts;
};

static void told_init(struct told *told)
{
    scene_init(&told->scene);
    told->facts = kvmig__facts_new();
    told->scene.view.facts = told->facts;
}

static void told_clear(struct told *told)
{
    scene_clear(&told->scene);
    kvmig__facts_free(told->facts);
}

/* The hosts as files tell them: nothing of their storage. */
static void tell_by_files(struct told *told)
{
    for (size_t i = 0; i < told->scene.view.hosts.n; i++) {
        told->scene.view.hosts.v[i]->from_files = true;
        told->scene.view.hosts.v[i]->pools_known = false;
    }
}

/* ---- certificates ---- */

/* names are separated by blanks; "ip:" begins an address. */
static struct kvmig__fact_certificate *add_certificate(struct told *told, const char *node, const char *names)
{
    struct kvmig__fact_certificate *certificate = KVMIG__PUSH(&told->facts->certificates);
    char *copy = kvmig__strdup(names), *rest = NULL;

    certificate->node = kvmig__strdup(node);
    certificate->subject_cn = kvmig__strdup("beta.example.com");
    certificate->not_before = certificate->not_after = -1;
    for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        if (strncmp(name, "ip:", 3) == 0)
            kvmig__strlist_add(&certificate->ip, name + 3);
        else
            kvmig__strlist_add(&certificate->dns, name);
    }
    free(copy);
    return certificate;
}

static bool mismatches(const char *names, const char *migrate_uri, const char *tls_destination)
{
    struct told told;
    bool found;

    told_init(&told);
    add_certificate(&told, "beta", names);
    told.scene.request.flags = KVMIG_PLAN_TLS;
    kvmig__str_set(&told.scene.request.target, "beta");
    kvmig__str_set(&told.scene.request.migrate_uri, migrate_uri);
    kvmig__str_set(&told.scene.request.tls_destination, tls_destination);
    found = plan_finding(scene_plan(&told.scene), "TLS_HOSTNAME_MISMATCH");
    assert_int_equal(kvmig_plan_verdict(told.scene.plan) == KVMIG_VERDICT_BLOCKED, found);
    told_clear(&told);
    return found;
}

static void certificates_hold_the_name_that_is_dialled(void **state)
{
    (void)state;
    assert_false(mismatches("beta.example.com", "tcp://beta.example.com:49152", NULL));
    assert_false(mismatches("beta.example.com", "tcp://BETA.example.com", NULL));
    assert_false(mismatches("beta.example.com", "tcp:beta.example.com:49152", NULL));
    assert_false(mismatches("beta.example.com", "tcp://beta.example.com./x", NULL));
    assert_false(mismatches("*.example.com", "tcp://beta.example.com", NULL));
    assert_false(mismatches("x ip:192.0.2.2", "tcp://192.0.2.2:49152", NULL));
    assert_false(mismatches("x ip:2001:db8::2", "tcp://[2001:DB8:0:0::2]:49152", NULL));
    assert_false(mismatches("", "tcp://beta.example.com", NULL)); /* the common name */
    assert_false(mismatches("x", "unix:///run/proxy.sock", NULL));
    assert_false(mismatches("beta.example.com", "tcp://192.0.2.2", "beta.example.com"));
    assert_false(mismatches("beta", NULL, NULL)); /* the host's own name */

    assert_true(mismatches("beta", "tcp://beta.example.com", NULL));
    assert_true(mismatches("*.example.com", "tcp://beta.rack.example.com", NULL));
    assert_true(mismatches("*.example.com", "tcp://example.com", NULL));
    assert_true(mismatches("*.com", "tcp://example.com", NULL));
    assert_true(mismatches("192.0.2.2", "tcp://192.0.2.2", NULL)); /* an address as a name */
    assert_true(mismatches("ip:192.0.2.2", "tcp://beta.example.com", NULL)); /* the common name counts no more */
    assert_true(mismatches("ip:192.0.2.20", "tcp://192.0.2.2", NULL));
    assert_true(mismatches("beta.example.com", "tcp://beta.example.com", "gamma"));
    assert_true(mismatches("gamma", NULL, NULL));
}

static void certificates_matter_where_they_are_used(void **state)
{
    struct told told;

    (void)state;
    told_init(&told);
    add_certificate(&told, "beta", "gamma");
    kvmig__str_set(&told.scene.request.target, "beta");
    told.scene.request.flags = KVMIG_PLAN_MANAGED;
    assert_clean(scene_plan(&told.scene));
    told.scene.request.flags = 0; /* the source's daemon dials qemu+tls://beta/system */
    assert_detail(assert_finding(scene_plan(&told.scene), "TLS_HOSTNAME_MISMATCH", KVMIG_SEVERITY_BLOCKER), "gamma");
    kvmig__str_set(&told.scene.request.target_uri, "qemu+ssh://beta/system");
    assert_clean(scene_plan(&told.scene));
    kvmig__str_set(&told.scene.request.target_uri, "qemu://root@beta:16514/system");
    assert_finding(scene_plan(&told.scene), "TLS_HOSTNAME_MISMATCH", KVMIG_SEVERITY_BLOCKER);
    add_certificate(&told, "beta", "beta"); /* one of the two is the daemon's */
    assert_clean(scene_plan(&told.scene));
    told_clear(&told);
}

static void certificates_have_their_time(void **state)
{
    struct kvmig__fact_certificate *own;
    struct told told;

    (void)state;
    told_init(&told);
    kvmig__str_set(&told.scene.request.target, "beta");
    told.scene.request.flags = KVMIG_PLAN_TLS;
    add_certificate(&told, "beta", "beta");
    own = add_certificate(&told, "alpha", "alpha");
    own->not_before = 1000;
    own->not_after = 2000;
    assert_clean(scene_plan(&told.scene)); /* the time is not known */
    told.scene.request.now_ms = 1000 * 1000;
    assert_clean(scene_plan(&told.scene));
    told.scene.request.now_ms = 2000 * 1000;
    assert_clean(scene_plan(&told.scene));
    told.scene.request.now_ms = 2001 * 1000;
    assert_finding(scene_plan(&told.scene), "TLS_CERTIFICATE_EXPIRED", KVMIG_SEVERITY_BLOCKER);
    told.scene.request.now_ms = 999 * 1000;
    assert_finding(scene_plan(&told.scene), "TLS_CERTIFICATE_NOT_YET_VALID", KVMIG_SEVERITY_BLOCKER);
    assert_no_finding(told.scene.plan, "TLS_CERTIFICATE_EXPIRED");
    add_certificate(&told, "alpha", "alpha"); /* without limits */
    assert_clean(scene_plan(&told.scene));
    told_clear(&told);
}

/* ---- mounts ---- */

static void add_mount(struct told *told, const char *node, const char *path, const char *type, const char *source)
{
    *KVMIG__PUSH(&told->facts->mounts) = (struct kvmig__fact_mount){ kvmig__strdup(node), kvmig__strdup(path),
                                                                     kvmig__strdup(type), kvmig__strdup(source) };
}

/* Of /srv/vms/d.qcow2 with that mounted on both hosts. */
static struct kvmig__identity identity(const char *type, const char *source, const char *type_b, const char *path_b,
                                       const char *source_b)
{
    struct kvmig__place place = { .type = KVMIG__DISK_FILE, .known = true, .path = (char *)"/srv/vms/d.qcow2" };
    struct kvmig__identity answer;
    struct kvmig__check c;
    struct told told;

    told_init(&told);
    c = (struct kvmig__check){ .view = &told.scene.view,
                               .source = scene_host(&told.scene, "alpha"),
                               .target = scene_host(&told.scene, "beta") };
    add_mount(&told, "alpha", "/srv/vms", type, source);
    add_mount(&told, "beta", path_b, type_b, source_b);
    answer = kvmig__facts_identity(&c, &place, &place);
    told_clear(&told);
    return answer;
}

static void mounts_prove_one_file_system_or_two(void **state)
{
    (void)state;
    assert_int_equal(identity("nfs4", "nas:/vms", "nfs4", "/srv/vms", "nas:/vms").same, KVMIG__SAME_YES);
    assert_int_equal(identity("nfs", "NAS:/vms/", "nfs4", "/srv/vms/", "nas:/vms").same, KVMIG__SAME_YES);
    assert_int_equal(identity("nfs4", "nas:/x/vms", "nfs4", "/srv", "nas:/x").same, KVMIG__SAME_YES);
    assert_int_equal(identity("nfs4", "nas:/srv/vms", "nfs4", "/", "nas:/").same, KVMIG__SAME_YES);
    assert_int_equal(identity("nfs4", "[2001:db8::1]:/vms", "nfs4", "/srv/vms", "[2001:db8::1]:/vms").same,
                     KVMIG__SAME_YES);
    assert_int_equal(identity("cifs", "//nas/vms", "smb3", "/srv/vms", "//nas/vms").same, KVMIG__SAME_YES);
    assert_int_equal(identity("ceph", "10.0.0.1,10.0.0.2:/vms", "ceph", "/srv/vms", "10.0.0.1,10.0.0.2:/vms").same,
                     KVMIG__SAME_YES);
    assert_int_equal(identity("gfs2", "/dev/mapper/san", "gfs2", "/srv/vms", "/dev/mapper/san").same, KVMIG__SAME_YES);
    assert_true(identity("nfs4", "nas:/vms", "nfs4", "/srv/vms", "nas:/vms").recognised);
    assert_false(identity("lustre", "mds@tcp:/vms", "lustre", "/srv/vms", "mds@tcp:/vms").recognised);

    assert_int_equal(identity("nfs4", "nas:/vms", "nfs4", "/srv/vms", "nas:/vms2").same, KVMIG__SAME_NO);
    assert_int_equal(identity("nfs4", "nas:/vms", "nfs4", "/srv", "nas:/").same, KVMIG__SAME_YES);
    assert_int_equal(identity("nfs4", "nas:/vms", "nfs4", "/srv", "nas:/vms").same, KVMIG__SAME_NO);
    assert_int_equal(identity("nfs4", "192.0.2.1:/vms", "nfs4", "/srv/vms", "192.0.2.2:/vms").same, KVMIG__SAME_NO);
    assert_int_equal(identity("ext4", "/dev/sda1", "ext4", "/srv/vms", "/dev/sda1").same, KVMIG__SAME_NO);
    assert_int_equal(identity("nfs4", "nas:/vms", "xfs", "/srv/vms", "/dev/sda1").same, KVMIG__SAME_NO);

    assert_int_equal(identity("nfs4", "nas:/vms", "nfs4", "/srv/vms", "192.0.2.2:/vms").same, KVMIG__SAME_UNKNOWN);
    assert_true(identity("nfs4", "nas:/vms", "nfs4", "/srv/vms", "192.0.2.2:/vms").looks_shared);
    assert_int_equal(identity("nfs4", "localhost:/vms", "nfs4", "/srv/vms", "localhost:/vms").same,
                     KVMIG__SAME_UNKNOWN);
    assert_int_equal(identity("fuse.mine", "x:/vms", "fuse.mine", "/srv/vms", "x:/vms").same, KVMIG__SAME_UNKNOWN);
    assert_null(
        identity("nfs4", "nas:/vms", "nfs4", "/srv/v", "nas:/vms").why); /* nothing is known of beta's /srv/vms */
    assert_int_equal(identity("nfs4", NULL, "nfs4", "/srv/vms", "nas:/vms").same, KVMIG__SAME_UNKNOWN);
    assert_int_equal(identity(NULL, "", NULL, "/srv/vms", "").same, KVMIG__SAME_UNKNOWN);
}

static void the_last_of_two_mounts_is_seen(void **state)
{
    const struct kvmig__fact_mount *mount;
    const char *rest;
    struct told told;

    (void)state;
    told_init(&told);
    add_mount(&told, "alpha", "/", "ext4", "/dev/sda1");
    add_mount(&told, "alpha", "/srv", "nfs4", "nas:/a");
    add_mount(&told, "alpha", "/srv", "nfs4", "nas:/b");
    add_mount(&told, "beta", "/srv/vms", "nfs4", "nas:/c");
    add_mount(&told, NULL, NULL, NULL, NULL);
    mount = kvmig__fact_mount_of(told.facts, "alpha", "/srv/vms/d", &rest);
    assert_string_equal(mount->source, "nas:/b");
    assert_string_equal(rest, "vms/d");
    assert_string_equal(kvmig__fact_mount_of(told.facts, "alpha", "/srvvms/d", &rest)->type, "ext4");
    assert_null(kvmig__fact_mount_of(told.facts, "alpha", "/srv/../etc/d", &rest));
    assert_null(kvmig__fact_mount_of(told.facts, "alpha", "d", &rest));
    assert_null(kvmig__fact_mount_of(told.facts, "gamma", "/d", &rest));
    told_clear(&told);
}

static void copies_are_not_made_onto_the_same_file(void **state)
{
    struct told told;

    (void)state;
    told_init(&told);
    tell_by_files(&told);
    scene_use_file(&told.scene, "/srv/vms/d.qcow2", "qcow2");
    kvmig__str_set(&told.scene.request.target, "beta");
    add_mount(&told, "alpha", "/srv", "nfs4", "nas:/srv");
    add_mount(&told, "beta", "/srv", "nfs4", "nas:/srv");
    assert_clean(scene_plan(&told.scene)); /* shared, and no copy is asked for */
    assert_method(told.scene.plan, "vda", KVMIG_DISK_SHARED);
    told.scene.request.copy = KVMIG_COPY_FULL;
    kvmig__strlist_add(&told.scene.request.libvirt_flags, "LIVE");
    kvmig__strlist_add(&told.scene.request.libvirt_flags, "NON_SHARED_DISK");
    assert_detail(assert_finding(scene_plan(&told.scene), "BLOCK_COPY_ONTO_SAME_STORAGE", KVMIG_SEVERITY_BLOCKER),
                  "nas:/srv");
    scene_add_file(&told.scene, "vdb", "/var/b.qcow2", "qcow2"); /* there is one to be copied: it alone is */
    assert_no_finding(scene_plan(&told.scene), "BLOCK_COPY_ONTO_SAME_STORAGE");
    assert_method(told.scene.plan, "vda", KVMIG_DISK_SHARED);
    assert_method(told.scene.plan, "vdb", KVMIG_DISK_COPY_FULL);
    kvmig__strlist_add(&told.scene.request.copy_disks, "vda");
    assert_finding(scene_plan(&told.scene), "BLOCK_COPY_ONTO_SAME_STORAGE", KVMIG_SEVERITY_BLOCKER);
    told_clear(&told);
}

/* ---- images ---- */

static struct kvmig__fact_image image(uint64_t size, uint64_t usable, uint64_t capacity, const char *mode, double share)
{
    return (struct kvmig__fact_image){ .target_virtual_size = size,
                                       .target_usable = usable,
                                       .target_capacity = capacity,
                                       .target_volume_mode = (char *)mode,
                                       .target_overhead = share };
}

static uint64_t room(uint64_t size, uint64_t usable, uint64_t capacity, const char *mode, double share)
{
    const struct kvmig__fact_image told = image(size, usable, capacity, mode, share);

    return kvmig__fact_image_room(&told);
}

static void a_file_system_keeps_some_room(void **state)
{
    const uint64_t none = KVMIG__UNKNOWN;

    (void)state;
    assert_int_equal(room(none, none, GIB, "Filesystem", 0.055), 1014686023);
    assert_int_equal(room(none, none, GIB, "Block", 0.055), GIB);
    assert_int_equal(room(none, none, GIB, NULL, -1), GIB);
    assert_int_equal(room(none, 1000, GIB, "Filesystem", 0.055), 1000);
    assert_int_equal(room(999, 1000, none, NULL, -1), 999);
    assert_int_equal(room(none, none, none, "Filesystem", 0.055), none);
    assert_int_equal(room(none, none, GIB, "Filesystem", 1.5), GIB);
    assert_true(room(none, none, UINT64_MAX - 1, "Filesystem", 0.5) < UINT64_MAX / 2 + 2);
}

static struct kvmig__fact_image *add_image(struct told *told, const char *disk, int32_t exists, uint64_t size)
{
    struct kvmig__fact_image *added = KVMIG__PUSH(&told->facts->images);

    *added = image(size, KVMIG__UNKNOWN, KVMIG__UNKNOWN, NULL, -1);
    added->disk = kvmig__strdup(disk);
    added->target_exists = exists;
    added->source_virtual_size = KVMIG__UNKNOWN;
    return added;
}

static void images_that_are_copied_into_have_the_size(void **state)
{
    struct kvmig__fact_image *there;
    struct told told;

    (void)state;
    told_init(&told);
    tell_by_files(&told);
    scene_use_file(&told.scene, "/data/d.img", "raw");
    kvmig__str_set(&told.scene.request.target, "beta");
    told.scene.request.copy = KVMIG_COPY_FULL;
    there = add_image(&told, "vda", 1, 4 * GIB);
    assert_no_finding(scene_plan(&told.scene), "DEST_VOLUME_SMALLER");
    assert_verdict(told.scene.plan, KVMIG_VERDICT_MIGRATABLE_WITH_RISK); /* it may be the very file */
    there->target_virtual_size = 4 * GIB - 1;
    assert_detail(assert_finding(scene_plan(&told.scene), "DEST_VOLUME_SMALLER", KVMIG_SEVERITY_BLOCKER), "4294967295");
    there->source_virtual_size = 4 * GIB - 1; /* the image itself says more than the host */
    assert_no_finding(scene_plan(&told.scene), "DEST_VOLUME_SMALLER");
    there->target_virtual_size = 5 * GIB;
    assert_finding(scene_plan(&told.scene), "DEST_VOLUME_SIZE_DIFFERS", KVMIG_SEVERITY_BLOCKER);
    there->target_pvc = kvmig__strdup("claim"); /* of which only a part is shown to the guest */
    assert_clean(scene_plan(&told.scene));
    kvmig__str_set(&there->disk, "vdb");
    assert_no_finding(scene_plan(&told.scene), "DEST_VOLUME_SIZE_DIFFERS");
    told_clear(&told);
}

static void incremental_copies_need_an_image(void **state)
{
    struct told told;

    (void)state;
    told_init(&told);
    tell_by_files(&told);
    scene_use_file(&told.scene, "/data/d.qcow2", "qcow2");
    kvmig__str_set(&told.scene.request.target, "beta");
    add_image(&told, "vda", 0, KVMIG__UNKNOWN);
    told.scene.request.copy = KVMIG_COPY_INCREMENTAL;
    assert_finding(scene_plan(&told.scene), "TARGET_PRECREATE_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER);
    told.scene.request.copy = KVMIG_COPY_FULL;
    assert_clean(scene_plan(&told.scene));
    told.scene.request.copy = KVMIG_COPY_NONE;
    assert_finding(scene_plan(&told.scene), "DISK_NOT_SHARED", KVMIG_SEVERITY_BLOCKER);
    told.facts->images.v[0].target_exists = 1;
    assert_clean(scene_plan(&told.scene));
    told.facts->images.v[0].target_exists = 0;
    told.scene.request.copy = KVMIG_COPY_FULL;
    scene_disk(&told.scene)->source.type = KVMIG__DISK_BLOCK;
    kvmig__strlist_add(&told.scene.request.copy_disks, "vda");
    assert_finding(scene_plan(&told.scene), "TARGET_PRECREATE_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER);
    told_clear(&told);
}

/* ---- versions ---- */

static void observed_versions_stand_in_for_unknown_ones(void **state)
{
    struct told told;

    (void)state;
    told_init(&told);
    kvmig__str_set(&told.scene.request.target, "beta");
    told.scene.request.parallel_connections = 4;
    told.facts->source.qemu = KVMIG__VERSION(7, 1, 0);
    told.facts->target.qemu = KVMIG__VERSION(9, 2, 0);
    assert_clean(scene_plan(&told.scene)); /* the hosts tell their own */
    scene_host(&told.scene, "alpha")->qemu_version = scene_host(&told.scene, "beta")->qemu_version = 0;
    assert_detail(assert_finding(scene_plan(&told.scene), "MULTIFD_VERSION_SKEW", KVMIG_SEVERITY_WARN), "9.2.0");
    told.facts->target.qemu = KVMIG__VERSION(9, 1, 2);
    assert_clean(scene_plan(&told.scene));
    told.facts->target.qemu = KVMIG__VERSION(6, 2, 0);
    assert_finding(scene_plan(&told.scene), "QEMU_OLDER", KVMIG_SEVERITY_WARN); /* the machine type has a version */
    told_clear(&told);
}

static void caches_are_coherent_on_cluster_file_systems(void **state)
{
    struct told told;

    (void)state;
    told_init(&told);
    tell_by_files(&told);
    scene_use_file(&told.scene, "/srv/d.qcow2", "qcow2");
    kvmig__str_set(&scene_disk(&told.scene)->cache, "writeback");
    kvmig__str_set(&told.scene.request.target, "beta");
    scene_host(&told.scene, "alpha")->qemu_version = scene_host(&told.scene, "beta")->qemu_version =
        KVMIG__VERSION(2, 6, 0);
    add_mount(&told, "alpha", "/srv", "nfs", "nas:/srv");
    add_mount(&told, "beta", "/srv", "nfs", "nas:/srv");
    assert_finding(scene_plan(&told.scene), "UNSAFE_DISK_CACHE", KVMIG_SEVERITY_BLOCKER);
    kvmig__str_set(&told.facts->mounts.v[0].type, "ocfs2");
    kvmig__str_set(&told.facts->mounts.v[1].type, "ocfs2");
    assert_no_finding(scene_plan(&told.scene), "UNSAFE_DISK_CACHE");
    told_clear(&told);
}

/* ---- flags ---- */

static bool refused(const char *flags, const char *detail)
{
    char *copy = kvmig__strdup(flags), *rest = NULL;
    const struct kvmig_finding *finding;
    struct told told;
    bool found;

    told_init(&told);
    for (char *flag = strtok_r(copy, " ", &rest); flag; flag = strtok_r(NULL, " ", &rest))
        kvmig__strlist_add(&told.scene.request.libvirt_flags, flag);
    finding = plan_finding(scene_plan(&told.scene), "INVALID_FLAGS");
    found = finding;
    if (finding)
        assert_detail(finding, detail);
    told_clear(&told);
    free(copy);
    return found;
}

static void flags_that_exclude_or_need_others(void **state)
{
    (void)state;
    assert_true(refused("NON_SHARED_DISK NON_SHARED_INC", "NON_SHARED_INC"));
    assert_true(refused("VIR_MIGRATE_NON_SHARED_DISK NON_SHARED_INC", "NON_SHARED_INC"));
    assert_true(refused("LIVE TUNNELLED", "PEER2PEER"));
    assert_true(refused("PEER2PEER TUNNELLED PARALLEL", "PARALLEL"));
    assert_true(refused("PEER2PEER TUNNELLED NON_SHARED_INC", "NON_SHARED_INC"));
    assert_true(refused("PEER2PEER TUNNELLED LIVE POSTCOPY", "POSTCOPY"));
    assert_true(refused("POSTCOPY", "LIVE"));
    assert_true(refused("LIVE POSTCOPY PAUSED", "PAUSED"));
    assert_true(refused("LIVE POSTCOPY_RESUME", "POSTCOPY"));
    assert_true(refused("ZEROCOPY", "PARALLEL"));
    assert_true(refused("ZEROCOPY PARALLEL TLS", "TLS"));
    assert_true(refused("ZEROCOPY PARALLEL COMPRESSED", "COMPRESSED"));
    assert_true(refused("PARALLEL COMPRESSED", "COMPRESSED"));
    assert_true(refused("NON_SHARED_SYNCHRONOUS_WRITES", "NON_SHARED_INC"));
    assert_true(refused("OFFLINE", "PERSIST_DEST"));
    assert_true(refused("OFFLINE PERSIST_DEST NON_SHARED_DISK", "NON_SHARED_DISK"));

    assert_false(refused("", NULL));
    assert_false(refused("LIVE PEER2PEER TUNNELLED", NULL));
    assert_false(refused("LIVE POSTCOPY", NULL));
    assert_false(refused("LIVE POSTCOPY POSTCOPY_RESUME", NULL));
    assert_false(refused("ZEROCOPY PARALLEL", NULL));
    assert_false(refused("COMPRESSED", NULL));
    assert_false(refused("NON_SHARED_INC NON_SHARED_SYNCHRONOUS_WRITES", NULL));
    assert_false(refused("OFFLINE PERSIST_DEST", NULL));
    assert_false(refused("LIVE PAUSED UNSAFE RDMA_PIN_ALL", NULL));
}

static void unknown_flags_are_told(void **state)
{
    struct told told;

    (void)state;
    told_init(&told);
    kvmig__strlist_add(&told.scene.request.libvirt_flags, "LIVE");
    assert_no_finding(scene_plan(&told.scene), "INVALID_ARGUMENT");
    kvmig__strlist_add(&told.scene.request.libvirt_flags, "LIVELY");
    assert_detail(assert_finding(scene_plan(&told.scene), "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER), "LIVELY");
    told_clear(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certificates_hold_the_name_that_is_dialled),
        cmocka_unit_test(certificates_matter_where_they_are_used),
        cmocka_unit_test(certificates_have_their_time),
        cmocka_unit_test(mounts_prove_one_file_system_or_two),
        cmocka_unit_test(the_last_of_two_mounts_is_seen),
        cmocka_unit_test(copies_are_not_made_onto_the_same_file),
        cmocka_unit_test(a_file_system_keeps_some_room),
        cmocka_unit_test(images_that_are_copied_into_have_the_size),
        cmocka_unit_test(incremental_copies_need_an_image),
        cmocka_unit_test(observed_versions_stand_in_for_unknown_ones),
        cmocka_unit_test(caches_are_coherent_on_cluster_file_systems),
        cmocka_unit_test(flags_that_exclude_or_need_others),
        cmocka_unit_test(unknown_flags_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
