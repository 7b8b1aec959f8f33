/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner for KubeVirt and storage: methods, access modes, local volumes, and volume migrations.
 */
#include "kube_fixture.h"

#include <stdlib.h>
#include <string.h>

/* ---- methods and sharing ---- */

static void only_what_lives_in_the_launcher_is_copied(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_volume(&c, "cloudinit", "cloudInitNoCloud", NULL);
    cluster_add_volume(&c, "system", "containerDisk", NULL)->readonly = true; /* its overlay is written all the same */
    kvmig__str_set(&cluster_add_volume(&c, "tools", "containerDisk", NULL)->device, "cdrom");
    assert_vm_has(&c, "BLOCK_COPY_LIST", KVMIG_SEVERITY_INFO, "[\"cloudinit\", \"system\"]");
    assert_int_equal(disk(&c, "root")->method, KVMIG_DISK_SHARED);
    assert_int_equal(disk(&c, "system")->method, KVMIG_DISK_COPY_FULL);
    assert_int_equal(disk(&c, "tools")->method, KVMIG_DISK_SKIP);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void nothing_to_copy_is_no_finding(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_nothing(&c, "BLOCK_COPY_LIST");
    cluster_clear(&c);
}

static void a_claim_must_be_read_write_many(void **state)
{
    const struct kvmig_finding *found;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_claim(&c, "data", "ReadWriteOnce");
    cluster_add_volume(&c, "data", "dataVolume", "data");
    found = assert_vm_has(&c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, "ReadWriteOnce");
    assert_string_equal(found->object, "pvc/ns1/data");
    assert_non_null(strstr(found->hint, "volume migration"));
    assert_int_equal(disk(&c, "data")->method, KVMIG_DISK_IMPOSSIBLE);
    kvmig__str_set(&cluster_claim(&c, "data")->access_modes.v[0], "ReadOnlyMany");
    assert_vm_has(&c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, "ReadOnlyMany");
    cluster_clear(&c);
}

static struct kvmig__kube_volume_status *add_status(struct cluster *c, const char *volume, const char *claim,
                                                    const char *mode)
{
    struct kvmig__kube_volume_status *status = KVMIG__PUSH(&cluster_vm(c)->volume_status);

    status->name = kvmig__strdup(volume);
    status->has_claim = true;
    status->claim.claim = kvmig__strdup(claim);
    kvmig__strlist_add(&status->claim.access_modes, mode);
    return status;
}

static void the_vms_status_stands_in_for_the_claim(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__kube_remove(&c.kube, KVMIG__KUBE_PVC, "ns1", "root", NULL);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE); /* nothing is known of it */
    add_status(&c, "root", "root", "ReadWriteOnce");
    assert_vm_has(&c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, "\"claim\": \"root\"");
    cluster_clear(&c);
}

static void the_storage_profile_tells_the_way_out(void **state)
{
    struct kvmig__kube_storage_profile *profile;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    profile = cluster_add(&c, KVMIG__KUBE_STORAGE_PROFILE, NULL, "shared");
    kvmig__strlist_add(&profile->access_modes, "ReadWriteMany");
    assert_nothing(&c, "ACCESS_MODE_TOO_NARROW");
    kvmig__str_set(&cluster_claim(&c, "root")->access_modes.v[0], "ReadWriteOnce");
    assert_vm_has(&c, "ACCESS_MODE_TOO_NARROW", KVMIG_SEVERITY_INFO, "ReadWriteMany");
    cluster_clear(&c);
}

static void firmware_state_is_carried_over_since_1_4(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_status(&c, "vm1-state", "persistent-state-for-vm1-abcde", "ReadWriteOnce");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kubevirt = cluster_add_kubevirt(&c, "v1.4.0");
    assert_vm_has(&c, "FIRMWARE_STATE_COPIED", KVMIG_SEVERITY_INFO, NULL);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&kubevirt->version, "v1.3.9");
    assert_string_equal(assert_vm_has(&c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, NULL)->object,
                        "pvc/ns1/persistent-state-for-vm1-abcde");
    kvmig__str_set(&kubevirt->version, "unreadable");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void a_file_of_the_host_must_be_said_to_be_shared(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_volume(&c, "file", "hostDisk", NULL);
    assert_vm_has(&c, "HOST_DISK_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, "file");
    assert_int_equal(disk(&c, "file")->method, KVMIG_DISK_IMPOSSIBLE);
    cluster_vm(&c)->volumes.v[1].shared = true;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

/* ---- where a volume can be used ---- */

static void the_node_affinity_of_a_volume_counts_more_than_its_mode(void **state)
{
    const struct kvmig_finding *found;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_bind(&c, "root", "csi", "gamma");
    found = assert_node_has(&c, "beta", "PV_NODE_AFFINITY", KVMIG_SEVERITY_BLOCKER, "\"allowed_nodes\": [\"gamma\"]");
    assert_string_equal(found->object, "pv/pv-root");
    assert_string_equal(c.plan->target, "gamma");
    cluster_bind(&c, "root", "csi", "alpha");
    assert_is(&c, KVMIG_VERDICT_BLOCKED);
    cluster_clear(&c);
}

static void node_affinity_by_name_is_judged_without_nodes(void **state)
{
    struct kvmig__kube_pv *pv;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    pv = cluster_bind(&c, "root", "csi", "alpha");
    c.kube.kinds[KVMIG__KUBE_NODE].known = KVMIG__KUBE_UNKNOWN;
    for (const char *const *name = (const char *const[]){ "alpha", "beta", "gamma", NULL }; *name; name++)
        kvmig__kube_remove(&c.kube, KVMIG__KUBE_NODE, NULL, *name, NULL);
    assert_vm_has(&c, "PV_NODE_AFFINITY", KVMIG_SEVERITY_BLOCKER, "alpha"); /* the source and no other */
    kvmig__strlist_add(&pv->node_required.v[0].v[0].values, "beta");
    assert_nothing(&c, "PV_NODE_AFFINITY");
    c.request.target = kvmig__strdup("gamma");
    assert_vm_has(&c, "PV_NODE_AFFINITY", KVMIG_SEVERITY_BLOCKER, "beta");
    kvmig__str_set(&c.request.target, "beta");
    assert_nothing(&c, "PV_NODE_AFFINITY");
    kvmig__str_set(&c.request.target, "gamma");
    kvmig__str_set(&pv->node_required.v[0].v[0].key, "zone"); /* what zone gamma is in is not known */
    assert_nothing(&c, "PV_NODE_AFFINITY");
    cluster_clear(&c);
}

static void a_path_of_the_node_is_not_shared_whatever_the_claim_says(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_bind(&c, "root", "hostPath", NULL);
    assert_string_equal(assert_vm_has(&c, "RWX_ON_LOCAL_PV", KVMIG_SEVERITY_BLOCKER, "hostPath")->object, "pv/pv-root");
    c.request.flags = KVMIG_PLAN_UNSAFE;
    assert_vm_has(&c, "RWX_ON_LOCAL_PV", KVMIG_SEVERITY_WARN, NULL);
    kvmig__str_set(&KVMIG__KUBE_FIND(&c.kube, PV, NULL, "pv-root")->type, "nfs");
    assert_nothing(&c, "RWX_ON_LOCAL_PV");
    cluster_clear(&c);
}

static void a_class_may_need_a_parameter_for_two_attachments(void **state)
{
    struct kvmig__kube_storage_class *class;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    class = cluster_add(&c, KVMIG__KUBE_STORAGE_CLASS, NULL, "shared");
    class->provisioner = kvmig__strdup("driver.longhorn.io");
    assert_string_equal(assert_vm_has(&c, "STORAGE_CLASS_NOT_MIGRATABLE", KVMIG_SEVERITY_WARN, "migratable")->object,
                        "storageclass/shared");
    kvmig__pairs_set(&class->parameters, "migratable", "true");
    assert_nothing(&c, "STORAGE_CLASS_NOT_MIGRATABLE");
    cluster_clear(&c);
}

/* ---- volume migrations ---- */

/* root is on a local claim and moves to "dest". */
static void begin_move(struct cluster *c)
{
    cluster_init(c);
    kvmig__str_set(&cluster_claim(c, "root")->access_modes.v[0], "ReadWriteOnce");
    cluster_bind(c, "root", "local", "alpha");
    cluster_add_claim(c, "dest", "ReadWriteOnce");
    cluster_move(c, "root", "dest");
    cluster_add_kubevirt(c, "v1.9.0");
    cluster_add(c, KVMIG__KUBE_VM, "ns1", "vm1");
    condition(&cluster_vm(c)->conditions, "LiveMigratable", "False", "DisksNotLiveMigratable",
              "cannot migrate VMI: PVC root is not shared");
    condition(&cluster_vm(c)->conditions, "StorageLiveMigratable", "True", NULL, NULL);
}

static void a_local_volume_moves_with_its_vm(void **state)
{
    struct cluster c;

    (void)state;
    begin_move(&c);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    assert_int_equal(disk(&c, "root")->method, KVMIG_DISK_COPY_FULL);
    assert_int_equal(disk(&c, "root")->estimate, 10 * GIB);
    assert_string_equal(disk(&c, "root")->target_path, "dest");
    assert_vm_has(&c, "BLOCK_COPY_LIST", KVMIG_SEVERITY_INFO, "[\"root\"]");
    cluster_clear(&c);
}

static void what_is_not_moved_must_still_be_shared(void **state)
{
    struct cluster c;

    (void)state;
    begin_move(&c);
    cluster_add_claim(&c, "other", "ReadWriteOnce");
    cluster_add_volume(&c, "other", "dataVolume", "other");
    assert_string_equal(assert_vm_has(&c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, NULL)->object, "pvc/ns1/other");
    cluster_clear(&c);
}

static void some_kinds_of_volumes_do_not_move(void **state)
{
    struct kvmig__kube_disk *disk;
    struct cluster c;

    (void)state;
    begin_move(&c);
    disk = &cluster_vm(&c)->domain.disks.v[0];
    disk->shareable = true;
    assert_string_equal(assert_vm_has(&c, "VOLUME_NOT_MOVABLE", KVMIG_SEVERITY_BLOCKER, "shareable")->object,
                        "volume/root");
    disk->shareable = false;
    kvmig__str_set(&disk->device, "lun");
    assert_vm_has(&c, "VOLUME_NOT_MOVABLE", KVMIG_SEVERITY_BLOCKER, "LUN");
    kvmig__str_set(&disk->device, "disk");
    kvmig__strlist_add(&cluster_vm(&c)->domain.filesystems, "root");
    assert_vm_has(&c, "VOLUME_NOT_MOVABLE", KVMIG_SEVERITY_BLOCKER, "virtiofs");
    kvmig__strlist_clear(&cluster_vm(&c)->domain.filesystems);
    kvmig__str_set(&cluster_vm(&c)->volumes.v[0].kind, "containerDisk");
    assert_vm_has(&c, "VOLUME_NOT_MOVABLE", KVMIG_SEVERITY_BLOCKER, "not a PVC or DataVolume");
    cluster_clear(&c);
}

static void hotplugged_volumes_move_since_1_4(void **state)
{
    struct cluster c;

    (void)state;
    begin_move(&c);
    cluster_vm(&c)->volumes.v[0].hotpluggable = true;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&KVMIG__KUBE_FIND(&c.kube, KUBEVIRT, "kubevirt", "kubevirt")->version, "v1.3.0");
    assert_vm_has(&c, "VOLUME_NOT_MOVABLE", KVMIG_SEVERITY_BLOCKER, "hotplug");
    cluster_clear(&c);
}

static void changes_must_make_sense(void **state)
{
    struct cluster c;

    (void)state;
    begin_move(&c);
    cluster_move(&c, "none", "dest2");
    assert_vm_has(&c, "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER, "none");
    kvmig__str_set(&c.request.volume_changes.v[1].volume, "root");
    assert_vm_has(&c, "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER, "root");
    cluster_clear(&c);
    begin_move(&c);
    kvmig__str_set(&c.request.volume_changes.v[0].claim, "root");
    assert_vm_has(&c, "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER, "root");
    cluster_clear(&c);
}

static void the_destination_must_be_large_enough(void **state)
{
    struct kvmig__kube_pvc *root, *dest;
    struct cluster c;

    (void)state;
    begin_move(&c);
    root = cluster_claim(&c, "root");
    dest = cluster_claim(&c, "dest");
    dest->capacity = 10 * GIB - 1;
    assert_string_equal(
        assert_vm_has(&c, "DEST_VOLUME_SMALLER", KVMIG_SEVERITY_BLOCKER, "\"need\": 10737418240, \"have\": 10737418239")
            ->object,
        "pvc/ns1/dest");
    dest->capacity = 0; /* not told: what was asked for is what there is at least */
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    dest->requested = KVMIG__UNKNOWN;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    dest->capacity = 10 * GIB;
    kvmig__str_set(&dest->volume_mode, "Filesystem"); /* a file system takes its share */
    root->capacity = GIB;
    dest->capacity = GIB;
    assert_vm_has(&c, "DEST_VOLUME_SMALLER", KVMIG_SEVERITY_BLOCKER, "\"need\": 1073741824, \"have\": 1014686023");
    kvmig__str_set(&root->volume_mode, "Filesystem"); /* the same share on both sides */
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&dest->volume_mode, "Block");
    dest->capacity = 1014686023 + 1;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void the_destination_must_be_there_free_and_writable(void **state)
{
    struct kvmig__kube_vmi *other;
    struct cluster c;

    (void)state;
    begin_move(&c);
    kvmig__str_set(&cluster_claim(&c, "dest")->access_modes.v[0], "ReadOnlyMany");
    assert_vm_has(&c, "DEST_VOLUME_READ_ONLY", KVMIG_SEVERITY_BLOCKER, "ReadOnlyMany");
    other = cluster_add_vm(&c, "vm2", "beta");
    KVMIG__PUSH(&other->volumes)->claim = kvmig__strdup("dest");
    assert_vm_has(&c, "DEST_VOLUME_IN_USE", KVMIG_SEVERITY_BLOCKER, "vm2");
    kvmig__kube_remove(&c.kube, KVMIG__KUBE_PVC, "ns1", "dest", NULL);
    assert_vm_has(&c, "DEST_VOLUME_MISSING", KVMIG_SEVERITY_BLOCKER, "root");
    c.kube.kinds[KVMIG__KUBE_PVC].known = KVMIG__KUBE_FORBIDDEN;
    assert_nothing(&c, "DEST_VOLUME_MISSING");
    cluster_clear(&c);
}

static void an_unbound_destination_is_judged_by_its_class(void **state)
{
    struct kvmig__kube_storage_class *class;
    struct cluster c;

    (void)state;
    begin_move(&c);
    kvmig__str_set(&cluster_claim(&c, "dest")->phase, "Pending");
    assert_vm_has(&c, "DEST_VOLUME_UNBOUND", KVMIG_SEVERITY_WARN, "Pending");
    class = cluster_add(&c, KVMIG__KUBE_STORAGE_CLASS, NULL, "shared");
    class->binding_mode = kvmig__strdup("WaitForFirstConsumer");
    assert_vm_has(&c, "VOLUME_BINDS_ON_TARGET", KVMIG_SEVERITY_INFO, NULL);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__pairs_set(&cluster_claim(&c, "dest")->meta.annotations, "volume.kubernetes.io/selected-node", "alpha");
    assert_vm_has(&c, "PV_NODE_AFFINITY", KVMIG_SEVERITY_BLOCKER, "alpha"); /* within one node nothing moves */
    kvmig__str_set(&cluster_claim(&c, "dest")->phase, "Lost");
    assert_vm_has(&c, "DEST_VOLUME_LOST", KVMIG_SEVERITY_BLOCKER, NULL);
    cluster_clear(&c);
}

static void a_bound_destination_chooses_the_node(void **state)
{
    struct cluster c;

    (void)state;
    begin_move(&c);
    cluster_bind(&c, "dest", "local", "gamma");
    assert_node_has(&c, "beta", "PV_NODE_AFFINITY", KVMIG_SEVERITY_BLOCKER, "\"claim\": \"dest\"");
    assert_string_equal(c.plan->target, "gamma");
    cluster_bind(&c, "dest", "local", "alpha");
    assert_is(&c, KVMIG_VERDICT_BLOCKED);
    cluster_clear(&c);
}

static void the_vm_must_be_in_a_state_to_change_its_volumes(void **state)
{
    struct kvmig__kube_vm *vm;
    struct cluster c;

    (void)state;
    begin_move(&c);
    vm = KVMIG__KUBE_FIND(&c.kube, VM, "ns1", "vm1");
    condition(&vm->conditions, "RestartRequired", "True", NULL, NULL);
    assert_vm_has(&c, "RESTART_REQUIRED", KVMIG_SEVERITY_BLOCKER, NULL);
    condition(&vm->conditions, "RestartRequired", "False", NULL, NULL);
    condition(&vm->conditions, "ManualRecoveryRequired", "True", NULL, NULL);
    assert_vm_has(&c, "MANUAL_RECOVERY_REQUIRED", KVMIG_SEVERITY_BLOCKER, NULL);
    kvmig__kube_remove(&c.kube, KVMIG__KUBE_VM, "ns1", "vm1", NULL);
    assert_vm_has(&c, "VM_OBJECT_MISSING", KVMIG_SEVERITY_BLOCKER, NULL);
    c.kube.kinds[KVMIG__KUBE_VM].known = KVMIG__KUBE_UNKNOWN;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    condition(&cluster_vm(&c)->conditions, "VolumesChange", "True", NULL, NULL);
    assert_vm_has(&c, "VOLUME_MIGRATION_IN_PROGRESS", KVMIG_SEVERITY_BLOCKER, NULL);
    cluster_clear(&c);
}

static void the_cluster_must_carry_volume_migrations_out(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    begin_move(&c);
    kubevirt = KVMIG__KUBE_FIND(&c.kube, KUBEVIRT, "kubevirt", "kubevirt");
    kubevirt->rollout_strategy = kvmig__strdup("Stage");
    assert_vm_has(&c, "ROLLOUT_STRATEGY_STAGES", KVMIG_SEVERITY_BLOCKER, "Stage");
    kvmig__str_set(&kubevirt->rollout_strategy, "LiveUpdate");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    kvmig__str_set(&kubevirt->update_methods.v[0], "Evict");
    assert_vm_has(&c, "UPDATE_METHOD_MISSING", KVMIG_SEVERITY_BLOCKER, "Evict");
    kvmig__strlist_clear(&kubevirt->update_methods);
    assert_vm_has(&c, "UPDATE_METHOD_MISSING", KVMIG_SEVERITY_BLOCKER, NULL);
    c.kube.trimmed = true; /* objects from files may be cut down to their essentials */
    assert_vm_has(&c, "UPDATE_METHOD_MISSING", KVMIG_SEVERITY_WARN, NULL);
    kvmig__str_set(&kubevirt->observed_deployment, "one");
    kvmig__str_set(&kubevirt->target_deployment, "two");
    assert_vm_has(&c, "KUBEVIRT_UPDATING", KVMIG_SEVERITY_WARN, NULL);
    cluster_clear(&c);
}

static void post_copy_and_moving_volumes_are_a_risk(void **state)
{
    struct cluster c;

    (void)state;
    begin_move(&c);
    assert_nothing(&c, "POSTCOPY_WITH_VOLUME_MIGRATION");
    c.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY;
    assert_vm_has(&c, "POSTCOPY_WITH_VOLUME_MIGRATION", KVMIG_SEVERITY_WARN, NULL);
    c.request.flags = 0;
    KVMIG__KUBE_FIND(&c.kube, KUBEVIRT, "kubevirt", "kubevirt")->config.post_copy = 1;
    assert_vm_has(&c, "POSTCOPY_WITH_VOLUME_MIGRATION", KVMIG_SEVERITY_WARN, NULL);
    cluster_clear(&c);
}

static void kubevirts_word_on_the_storage_counts(void **state)
{
    struct cluster c;

    (void)state;
    begin_move(&c);
    condition(&cluster_vm(&c)->conditions, "StorageLiveMigratable", "False", "NotMigratable", "SomethingNew: no");
    assert_vm_has(&c, "NOT_LIVE_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, "SomethingNew");
    cluster_clear(&c);
}

/* ---- the request ---- */

static void volume_changes_are_copied_and_validated(void **state)
{
    struct kvmig_volume_change changes[] = { { "root", "dest" }, { "data", NULL } };
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;
    struct kvmig__request request, copy;

    (void)state;
    opts.vm = "vm1";
    opts.flags = KVMIG_PLAN_ANY_TARGET;
    opts.volume_changes = changes;
    opts.n_volume_changes = 1;
    assert_int_equal(kvmig__request_from_opts(&request, &opts, "test"), 0);
    kvmig__request_copy(&copy, &request);
    kvmig__request_clear(&request);
    assert_int_equal(copy.volume_changes.n, 1);
    assert_string_equal(copy.volume_changes.v[0].volume, "root");
    assert_string_equal(copy.volume_changes.v[0].claim, "dest");
    assert_int_equal(copy.flags, KVMIG_PLAN_ANY_TARGET);
    kvmig__request_clear(&copy);
    opts.n_volume_changes = 2;
    assert_true(kvmig__request_from_opts(&request, &opts, "test") < 0);
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), "volume_changes"));
    assert_non_null(strstr(kvmig_error_evidence(kvmig_error_last()), "entry 1"));
    kvmig__request_clear(&request);
    opts.volume_changes = NULL;
    assert_true(kvmig__request_from_opts(&request, &opts, "test") < 0);
    kvmig__request_clear(&request);
}

static void a_volume_migration_goes_where_the_scheduler_wants(void **state)
{
    struct cluster c;

    (void)state;
    begin_move(&c);
    assert_vm_has(&c, "TARGET_NOT_PINNED", KVMIG_SEVERITY_INFO, "volume migration");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    c.request.target = kvmig__strdup("beta");
    assert_vm_has(&c, "TARGET_NOT_PINNED", KVMIG_SEVERITY_WARN, "volume migration");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE_WITH_RISK);
    c.request.flags = KVMIG_PLAN_ANY_TARGET; /* then nobody promised anything */
    assert_nothing(&c, "TARGET_NOT_PINNED");
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_lives_in_the_launcher_is_copied),
        cmocka_unit_test(nothing_to_copy_is_no_finding),
        cmocka_unit_test(a_claim_must_be_read_write_many),
        cmocka_unit_test(the_vms_status_stands_in_for_the_claim),
        cmocka_unit_test(the_storage_profile_tells_the_way_out),
        cmocka_unit_test(firmware_state_is_carried_over_since_1_4),
        cmocka_unit_test(a_file_of_the_host_must_be_said_to_be_shared),
        cmocka_unit_test(the_node_affinity_of_a_volume_counts_more_than_its_mode),
        cmocka_unit_test(node_affinity_by_name_is_judged_without_nodes),
        cmocka_unit_test(a_path_of_the_node_is_not_shared_whatever_the_claim_says),
        cmocka_unit_test(a_class_may_need_a_parameter_for_two_attachments),
        cmocka_unit_test(a_local_volume_moves_with_its_vm),
        cmocka_unit_test(what_is_not_moved_must_still_be_shared),
        cmocka_unit_test(some_kinds_of_volumes_do_not_move),
        cmocka_unit_test(hotplugged_volumes_move_since_1_4),
        cmocka_unit_test(changes_must_make_sense),
        cmocka_unit_test(the_destination_must_be_large_enough),
        cmocka_unit_test(the_destination_must_be_there_free_and_writable),
        cmocka_unit_test(an_unbound_destination_is_judged_by_its_class),
        cmocka_unit_test(a_bound_destination_chooses_the_node),
        cmocka_unit_test(the_vm_must_be_in_a_state_to_change_its_volumes),
        cmocka_unit_test(the_cluster_must_carry_volume_migrations_out),
        cmocka_unit_test(post_copy_and_moving_volumes_are_a_risk),
        cmocka_unit_test(kubevirts_word_on_the_storage_counts),
        cmocka_unit_test(volume_changes_are_copied_and_validated),
        cmocka_unit_test(a_volume_migration_goes_where_the_scheduler_wants),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
