/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Volume migrations: one patch forth, one patch back, and what decides between them: failures, cancels, a VM that
 * would have to be restarted, and one that was interrupted in the middle. The test's server applies the patches.
 */
#include "kube_driver_test.h"

#define VMIM "virtualmachineinstancemigrations"
#define VM "virtualmachines/vm1"

static const char vm_json[] =
    "{'apiVersion':'kubevirt.io/"
    "v1','kind':'VirtualMachine','metadata':{'namespace':'ns1','name':'vm1','uid':'vm-uid'},'spec':{"
    "'dataVolumeTemplates':[{'metadata':{'name':'data-old'},'spec':{'storage':{'size':1}}}],'template':{'spec':{'"
    "volumes':[{"
    "'name':'cloudinit','cloudInitNoCloud':{}},{'name':'root','persistentVolumeClaim':{'claimName':'root-old','"
    "hotpluggable':true}},"
    "{'name':'data','dataVolume':{'name':'data-old'}}]}}}}";

/* A claim in the store; dv: with a DataVolume of that name behind it. */
static void put_claim(const char *name, bool dv)
{
    struct kvmig__kube_pvc *pvc = (struct kvmig__kube_pvc *)kvmig__kube_object_new(KVMIG__KUBE_PVC);
    struct kvmig__kube_owner *owner;

    pvc->meta.ns = kvmig__strdup("ns1");
    pvc->meta.name = kvmig__strdup(name);
    if (dv) {
        owner = KVMIG__PUSH(&pvc->meta.owners);
        owner->kind = kvmig__strdup("DataVolume");
        owner->name = kvmig__strdup(name);
    }
    kvmig__kube_put(&world.store, &pvc->meta);
}

static void move(const char *volume, const char *claim)
{
    struct kvmig__volume_change *change = KVMIG__PUSH(&session.plan.request.volume_changes);

    change->volume = (char *)volume;
    change->claim = (char *)claim;
}

static void make_move(void)
{
    set_vm(vm_json);
    put_claim("root-new", false);
    put_claim("data-new", true);
    move("root", "root-new");
    move("data", "data-new");
    world.volume_migration = true;
    make_driver();
}

static const char *vm_text(void)
{
    json_object_object_del(world.vm, "status");
    return json_object_to_json_string_ext(world.vm, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static bool vm_says(const char *text)
{
    return strstr(vm_text(), text) != NULL;
}

static void expect_vm_as_before(void)
{
    char *before = kvmig__strdup(vm_json);

    for (char *p = before; *p; p++)
        if (*p == '\'')
            *p = '"';
    assert_string_equal(vm_text(), before);
    free(before);
}

static void admit(void)
{
    begin(KVMIG__STEP_ADMIT);
    world.volumes_change = world.migrated_volumes = true; /* KubeVirt has taken notice */
    show();
}

static void admit_and_run(void)
{
    admit();
    kubevirt_creates("kubevirt-workload-update-1", "uid-mig1");
    target_pod("launcher-b", "node-b", "Running");
    phase("Scheduled");
    expect_ok(KVMIG__STEP_ADMIT);
    hand_off();
    begin(KVMIG__STEP_SCHEDULE);
    expect_ok(KVMIG__STEP_SCHEDULE);
    phase("TargetReady");
    begin(KVMIG__STEP_PREPARE);
    expect_ok(KVMIG__STEP_PREPARE);
    begin(KVMIG__STEP_MIGRATE);
    start_copy();
}

static void kubevirt_notices_the_way_back(void)
{
    world.volumes_change = world.migrated_volumes = false;
    show();
    run(300);
}

static void patches_all_volumes_at_once(void **state)
{
    (void)state;
    make_move();
    admit();
    assert_int_equal(world.patches, 1);
    assert_int_equal(count("PATCH", VM "?dryRun=All"), 1);
    assert_false(asked("POST", VMIM));
    assert_true(vm_says("\"updateVolumesStrategy\":\"Migration\""));
    assert_true(vm_says("{\"claimName\":\"root-new\",\"hotpluggable\":true}"));
    assert_true(vm_says("\"dataVolume\":{\"name\":\"data-new\"}"));
    assert_true(vm_says("\"metadata\":{\"name\":\"data-new\"}"));
    assert_non_null(strstr(world.first_patch, "\"op\":\"test\""));
    assert_non_null(strstr(session.token, "\"from\":\"root-old\""));
    assert_string_equal(item("volume change"), "kept");
    assert_int_equal(session.answers, 0);
}

static void follows_the_migration_that_kubevirt_makes(void **state)
{
    (void)state;
    make_move();
    admit_and_run();
    assert_non_null(strstr(session.token, "kubevirt-workload-update-1"));
    assert_string_equal(session.targets, "node-b,");
    guest_moves();
    assert_null(strstr(session.token, "\"ready_ms\":0"));
    world.completed = true;
    kubevirt_notices_the_way_back(); /* as it does after success, too */
    phase("Succeeded");
    expect_ok(KVMIG__STEP_MIGRATE);
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, 1);
    begin(KVMIG__STEP_FINISH);
    expect_ok(KVMIG__STEP_FINISH);
    assert_int_equal(world.patches, 1);
    assert_true(vm_says("root-new"));
    assert_string_equal(item("volume change"), "kept");
}

static void makes_the_policy_before_it_patches(void **state)
{
    const char *policy, *patch;

    (void)state;
    session.wishes.flags = KVMIG_SESSION_TEMPORARY_POLICY;
    make_move();
    admit();
    policy = strstr(world.log, "POST /apis/migrations.kubevirt.io");
    patch = strstr(world.log, "PATCH /apis/kubevirt.io/v1/namespaces/ns1/" VM "\n");
    assert_non_null(policy);
    assert_non_null(patch);
    assert_true(policy < patch);
    assert_int_equal(world.patches, 1);
}

static void changes_a_data_volume_to_a_plain_claim(void **state)
{
    (void)state;
    set_vm(vm_json);
    put_claim("data-new", false);
    move("data", "data-new");
    world.volume_migration = true;
    make_driver();
    admit();
    assert_true(vm_says("{\"name\":\"data\",\"persistentVolumeClaim\":{\"claimName\":\"data-new\"}}"));
    assert_true(vm_says("\"dataVolumeTemplates\":[]")); /* a template that no volume names is refused */
    session.cancelling = true;
    driver->ops->withdraw(driver);
    run(300);
    session.answers = 0;
    kubevirt_notices_the_way_back();
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    assert_true(vm_says("{\"name\":\"data\",\"dataVolume\":{\"name\":\"data-old\"}}"));
    assert_true(vm_says("{\"metadata\":{\"name\":\"data-old\"},\"spec\":{\"storage\":{\"size\":1}}}"));
}

static void refuses_a_volume_that_cannot_move(void **state)
{
    (void)state;
    set_vm(vm_json);
    move("cloudinit", "x");
    make_driver();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, KVMIG_EBLOCKED, "neither a PersistentVolumeClaim nor a DataVolume");
    assert_int_equal(world.patches, 0);
    assert_null(item("volume change"));
}

static void changes_nothing_when_the_dry_run_is_refused(void **state)
{
    (void)state;
    world.fault.method = "PATCH";
    world.fault.part = "dryRun";
    world.fault.status = 403;
    world.fault.message = "cannot patch resource \"virtualmachines\"";
    world.fault.times = 9;
    make_move();
    begin(KVMIG__STEP_ADMIT);
    expect_error(KVMIG__STEP_ADMIT, EPERM, "right to patch virtualmachines");
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(world.patches, 0);
}

static void overwrites_nothing_that_changed_meanwhile(void **state)
{
    (void)state;
    make_move();
    world.fault.method = "PATCH";
    world.fault.part = "vm1";
    world.fault.at_end = true;
    world.fault.status = 422; /* a test of the patch did not hold */
    world.fault.times = 1;
    begin(KVMIG__STEP_ADMIT);
    assert_int_equal(count("GET", VM), 2); /* made anew from what is there now */
    assert_int_equal(world.patches, 1);
    assert_true(vm_says("root-new"));
}

static void finds_its_patch_when_the_answer_was_lost(void **state)
{
    (void)state;
    make_move();
    world.fault.method = "PATCH";
    world.fault.part = "vm1";
    world.fault.at_end = true;
    world.fault.applied = true;
    world.fault.times = 1;
    begin(KVMIG__STEP_ADMIT);
    run(5000);
    assert_int_equal(session.answers, 0);
    assert_int_equal(world.patches, 1);
    kubevirt_creates("kubevirt-workload-update-1", "uid-mig1");
    phase("Scheduling");
    expect_ok(KVMIG__STEP_ADMIT);
}

static void a_failure_puts_all_volumes_back(void **state)
{
    (void)state;
    make_move();
    admit_and_run();
    migration_fails("virError(Code=9): destination volume size is smaller than the source");
    expect_error(KVMIG__STEP_MIGRATE, KVMIG_EMIGRATE, "destination volume is too small");
    begin(KVMIG__STEP_LOCATE);
    run(1000);
    assert_int_equal(world.patches, 2); /* else KubeVirt tries again for ever */
    assert_int_equal(session.answers, 0);
    kubevirt_notices_the_way_back();
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    expect_vm_as_before();
    assert_string_equal(item("volume change"), "undone");
    assert_false(asked("DELETE", VMIM)); /* which KubeVirt does itself */
}

static void a_cancel_is_one_reverse_patch(void **state)
{
    (void)state;
    make_move();
    admit_and_run();
    assert_int_equal(driver->ops->cancel_effect(driver), KVMIG_CANCEL_ACCEPTED);
    session.cancelling = true;
    driver->ops->abort(driver);
    run(300);
    assert_int_equal(world.patches, 2);
    assert_false(asked("DELETE", VMIM));
    world.abort_requested = true; /* KubeVirt deletes its migration */
    migration_fails("Live migration has been aborted");
    expect_error(KVMIG__STEP_MIGRATE, ECANCELED, "cancelled");
    kubevirt_notices_the_way_back();
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    expect_vm_as_before();
    assert_int_equal(world.patches, 3); /* and updateVolumesStrategy as it was */
}

static void a_cancel_before_kubevirt_has_made_a_migration(void **state)
{
    (void)state;
    make_move();
    admit();
    session.cancelling = true;
    driver->ops->withdraw(driver);
    run(300);
    expect_error(KVMIG__STEP_ADMIT, ECANCELED, "withdrawn");
    begin(KVMIG__STEP_LOCATE);
    run(1000);
    assert_int_equal(session.answers, 0); /* it may still make one */
    kubevirt_notices_the_way_back();
    expect_ok(KVMIG__STEP_LOCATE);
    assert_int_equal(session.resolution.side, -1);
}

static void does_not_go_back_once_the_destination_is_the_good_copy(void **state)
{
    (void)state;
    make_move();
    admit_and_run();
    world.ready = true;
    show();
    run(300);
    session.cancelling = true;
    driver->ops->abort(driver);
    run(1000);
    assert_int_equal(world.patches, 1);
    guest_moves();
    world.completed = true;
    phase("Succeeded");
    expect_ok(KVMIG__STEP_MIGRATE);
}

static void a_vm_that_would_have_to_restart_is_put_back(void **state)
{
    (void)state;
    make_move();
    begin(KVMIG__STEP_ADMIT);
    world.restart_required = true;
    show();
    run(300);
    expect_error(KVMIG__STEP_ADMIT, KVMIG_EBLOCKED, "RestartRequired");
    assert_string_equal(session.error->evidence, "a LUN cannot be moved");
    begin(KVMIG__STEP_LOCATE);
    run(1000);
    expect_ok(KVMIG__STEP_LOCATE);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    expect_vm_as_before();
}

static void leaves_a_claim_alone_that_somebody_else_set(void **state)
{
    char *text;

    (void)state;
    make_move();
    admit();
    text = kvmig__strdup(vm_text());
    memcpy(strstr(text, "root-new"), "root-odd", 8);
    set_vm(text);
    free(text);
    session.cancelling = true;
    driver->ops->withdraw(driver);
    run(300);
    expect_error(KVMIG__STEP_ADMIT, ESTALE, "volume root names root-odd now");
    begin(KVMIG__STEP_UNDO);
    run(5 * STEP_MS);
    expect_error(KVMIG__STEP_UNDO, ETIMEDOUT, "not proven to be as they were");
    assert_true(vm_says("root-odd"));
    assert_non_null(strstr(item("volume change"), "failed: volume root names root-odd now"));
}

static void interrupt(void)
{
    world.vmi_there = false;
    world.manual_recovery = true;
    migration_vanishes();
    session.answers = 0;
    begin(KVMIG__STEP_LOCATE);
    run(1000);
    assert_int_equal(session.answers, 0);
    world.manual_recovery = false;
    show();
    run(1000);
    expect_ok(KVMIG__STEP_LOCATE);
    assert_true(has_notice("MANUAL_RECOVERY_REQUIRED"));
}

static void recovers_to_the_sources_before_the_switch(void **state)
{
    (void)state;
    make_move();
    admit_and_run();
    interrupt();
    assert_true(vm_says("root-old"));
    assert_true(vm_says("data-old"));
    assert_true(vm_says("updateVolumesStrategy"));
}

static void recovers_to_the_destinations_after_the_switch(void **state)
{
    (void)state;
    make_move();
    admit_and_run();
    world.ready = true;
    show();
    run(300);
    interrupt();
    assert_true(vm_says("root-new"));
    assert_false(vm_says("updateVolumesStrategy"));
}

static void resume(void)
{
    struct json_object *token = json_tokener_parse(session.token);

    drop_driver();
    kvmig__report_free(session.report);
    session.report = kvmig__report_new();
    json_object_put(session.wishes.token);
    session.wishes.token = token;
    session.answers = 0;
    make_driver();
    begin(KVMIG__STEP_ADMIT);
}

static void a_resumed_session_knows_the_way_back(void **state)
{
    (void)state;
    make_move();
    admit();
    resume();
    assert_int_equal(session.answers, 0);
    assert_int_equal(world.patches, 1);
    kubevirt_creates("kubevirt-workload-update-1", "uid-mig1");
    phase("Scheduling");
    expect_ok(KVMIG__STEP_ADMIT);
    resume();
    expect_ok(KVMIG__STEP_ADMIT);
    session.cancelling = true;
    driver->ops->withdraw(driver);
    run(300);
    kubevirt_notices_the_way_back();
    migration_vanishes();
    begin(KVMIG__STEP_LOCATE);
    expect_ok(KVMIG__STEP_LOCATE);
    begin(KVMIG__STEP_UNDO);
    expect_ok(KVMIG__STEP_UNDO);
    expect_vm_as_before();
    assert_string_equal(item("volume change"), "undone");
}

static void counts_only_migrations_made_after_the_patch(void **state)
{
    (void)state;
    make_move();
    kubevirt_creates("kubevirt-workload-update-0", "uid-old");
    phase("Failed");
    admit();
    run(5000);
    assert_int_equal(session.answers, 0);
    kubevirt_creates("kubevirt-workload-update-1", "uid-mig1");
    phase("Scheduling");
    expect_ok(KVMIG__STEP_ADMIT);
}

/* ---- what is known may be wrong ---- */

static void keeps_destinations_that_became_the_good_copy_unseen(void **state)
{
    (void)state;
    make_move();
    admit_and_run();
    world.ready = true; /* the server knows; the view does not */
    session.cancelling = true;
    driver->ops->abort(driver);
    run(2000);
    assert_true(vm_says("root-new"));
    assert_int_equal(world.patches, 1);
    assert_non_null(strstr(session.token, "\"ready_ms\":1"));
}

static void puts_nothing_back_while_the_guest_cannot_be_read(void **state)
{
    (void)state;
    make_move();
    admit_and_run();
    world.fault.method = "GET";
    world.fault.part = "virtualmachineinstances/vm1";
    world.fault.status = 503;
    world.fault.message = "overloaded";
    world.fault.times = 1000000;
    session.cancelling = true;
    driver->ops->abort(driver);
    run(STEP_MS + 10000); /* longer than one request is repeated */
    assert_int_equal(world.patches, 1);
    world.fault.times = 0;
    run(10000);
    assert_true(vm_says("\"root-old\""));
}

static void takes_no_404_of_a_proxy_for_a_vm_that_is_gone(void **state)
{
    (void)state;
    make_move();
    admit_and_run();
    world.fault.method = "GET";
    world.fault.part = "virtualmachines/vm1";
    world.fault.status = 404;
    world.fault.times = 1000000;
    session.cancelling = true;
    driver->ops->abort(driver);
    run(20000);
    assert_string_equal(item("volume change"), "kept"); /* not "undone" */
    world.fault.times = 0;
    run(10000);
    assert_true(vm_says("\"root-old\""));
    assert_string_equal(item("volume change"), "undone");
}

static void does_not_follow_a_workload_update_that_moves_no_volumes(void **state)
{
    (void)state;
    make_move();
    world.no_volume_label = true;
    begin(KVMIG__STEP_ADMIT);
    kubevirt_creates("kubevirt-workload-update-9", "uid-update");
    phase("Scheduling");
    assert_int_equal(session.answers, 0);
    assert_null(strstr(session.token, "uid-update"));
    world.volumes_change = world.migrated_volumes = true; /* so this is what moves them */
    show();
    run(300);
    expect_ok(KVMIG__STEP_ADMIT);
    assert_non_null(strstr(session.token, "uid-update"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(patches_all_volumes_at_once),
        TEST(follows_the_migration_that_kubevirt_makes),
        TEST(makes_the_policy_before_it_patches),
        TEST(changes_a_data_volume_to_a_plain_claim),
        TEST(refuses_a_volume_that_cannot_move),
        TEST(changes_nothing_when_the_dry_run_is_refused),
        TEST(overwrites_nothing_that_changed_meanwhile),
        TEST(finds_its_patch_when_the_answer_was_lost),
        TEST(a_failure_puts_all_volumes_back),
        TEST(a_cancel_is_one_reverse_patch),
        TEST(a_cancel_before_kubevirt_has_made_a_migration),
        TEST(does_not_go_back_once_the_destination_is_the_good_copy),
        TEST(a_vm_that_would_have_to_restart_is_put_back),
        TEST(leaves_a_claim_alone_that_somebody_else_set),
        TEST(recovers_to_the_sources_before_the_switch),
        TEST(recovers_to_the_destinations_after_the_switch),
        TEST(a_resumed_session_knows_the_way_back),
        TEST(counts_only_migrations_made_after_the_patch),
        TEST(keeps_destinations_that_became_the_good_copy_unseen),
        TEST(puts_nothing_back_while_the_guest_cannot_be_read),
        TEST(takes_no_404_of_a_proxy_for_a_vm_that_is_gone),
        TEST(does_not_follow_a_workload_update_that_moves_no_volumes),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
