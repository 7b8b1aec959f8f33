/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A volume migration that waits for KubeVirt: told also while there is no migration object, with what keeps it from starting.
 */
#include "explain_test.h"

struct world {
    struct kvmig__kube kube;
    struct kvmig_explanation *explanation;
};

#define MIGRATED ",'migratedVolumes':[{'volumeName':'root','destinationPVCInfo':{'claimName':'new'}}]"
#define CHANGE(status, text)                                                                                           \
    ",'conditions':[{'type':'VolumesChange','status':'" status "','lastTransitionTime':'2026-11-30T11:00:00Z',"        \
    "'message':'" text "'}]"

static void vmi_is(struct world *w, const char *claim, const char *status)
{
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/"
        "v1','kind':'VirtualMachineInstance','metadata':{'name':'vm1','namespace':'ns1','uid':"
        "'uid-vm1'},'spec':{'domain':{},'volumes':[{'name':'root','persistentVolumeClaim':{'claimName':'%s'}}]},'"
        "status':{"
        "'nodeName':'node-a','phase':'Running'%s}}",
        claim, status);
}

static void vm_is(struct world *w, const char *claim, const char *conditions)
{
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachine','metadata':{'name':'vm1','namespace':'ns1'},'spec':{"
        "'updateVolumesStrategy':'Migration','template':{'spec':{'domain':{},'volumes':[{'name':'root',"
        "'persistentVolumeClaim':{'claimName':'%s'}}]}}},'status':{'conditions':[%s]}}",
        claim, conditions);
}

static void kubevirt_is(struct world *w, const char *methods, const char *status)
{
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/"
        "v1','kind':'KubeVirt','metadata':{'name':'kubevirt','namespace':'kubevirt'},'spec':{"
        "'workloadUpdateStrategy':{'workloadUpdateMethods':[%s]}},'status':{%s}}",
        methods, status);
}

static const struct kvmig_explanation *explained(struct world *w, const char *vmim, int seconds)
{
    kvmig_explanation_unref(w->explanation);
    w->explanation = explain(&w->kube, "vm1", vmim, NULL, T0 + seconds * 1000LL);
    return w->explanation;
}

static int setup(void **state)
{
    struct world *w = kvmig__calloc(1, sizeof(*w));

    *state = w;
    know_all(&w->kube);
    vmi_is(w, "old", "");
    vm_is(w, "old", "");
    kubevirt_is(w, "'LiveMigrate'", "'phase':'Deployed'");
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    kvmig_explanation_unref(w->explanation);
    kvmig__kube_clear(&w->kube);
    free(w);
    return 0;
}

static void without_a_change_nothing_waits(void **state)
{
    says(kvmig_explanation_summary(explained(*state, NULL, 5)), "no migration is under way");
    assert_string_equal(kvmig_explanation_verdict(((struct world *)*state)->explanation), "NO_FINDING");
}

static void an_accepted_change_waits_for_kubevirts_migration(void **state)
{
    struct world *w = *state;
    const struct kvmig_wait *wait;

    vmi_is(w, "new", MIGRATED CHANGE("True", "migrate volumes"));
    vm_is(w, "new", "");
    wait = first_is(explained(w, NULL, 5), "VOLUME_MIGRATION_WAITING", KVMIG_SEVERITY_INFO);
    says(wait->condition, "root to claim new");
    says(wait->evidence, "migrate volumes");
    assert_int_equal(wait->since_ms, T0);
    assert_string_equal(kvmig_explanation_verdict(w->explanation), "WAITING");
    first_is(explained(w, NULL, 300), "VOLUME_MIGRATION_WAITING", KVMIG_SEVERITY_WARN);
    assert_string_equal(kvmig_explanation_verdict(w->explanation), "WAITING");
}

static void a_change_that_is_not_accepted_yet_is_told(void **state)
{
    struct world *w = *state;

    vm_is(w, "new", "");
    says(first_is(explained(w, NULL, 5), "VOLUME_MIGRATION_WAITING", KVMIG_SEVERITY_INFO)->condition, "accept");
}

static void a_destination_that_is_missing_is_told_with_kubevirts_words(void **state)
{
    struct world *w = *state;

    vm_is(w, "new", "");
    vmi_is(w, "old", CHANGE("False", "the destination PVC new was not found"));
    says(first_is(explained(w, NULL, 5), "DEST_VOLUME_MISSING", KVMIG_SEVERITY_ERROR)->evidence,
         "PVC new was not found");
    assert_string_equal(kvmig_explanation_verdict(w->explanation), "DEST_VOLUME_MISSING");
    vmi_is(w, "old", CHANGE("False", "the volumes cannot be changed now"));
    says(first_is(explained(w, NULL, 5), "VOLUME_CHANGE_REFUSED", KVMIG_SEVERITY_ERROR)->evidence, "cannot be changed");
}

static void a_cancelled_change_waits_for_nothing(void **state)
{
    struct world *w = *state;

    vmi_is(
        w, "old",
        ",'conditions':[{'type':'VolumesChange','status':'False','reason':'VolumesChangeCancellation','message':'x'}]");
    assert_string_equal(kvmig_explanation_verdict(explained(w, NULL, 5)), "NO_FINDING");
    vmi_is(w, "old",
           CHANGE("False", "the destination PVC new was not found")); /* left over: nothing is wanted any more */
    assert_string_equal(kvmig_explanation_verdict(explained(w, NULL, 5)), "NO_FINDING");
    kvmig__kube_remove(&w->kube, KVMIG__KUBE_VM, "ns1", "vm1", NULL); /* what is wanted is not seen */
    assert_string_equal(kvmig_explanation_verdict(explained(w, NULL, 5)), "DEST_VOLUME_MISSING");
}

static void a_change_that_is_kept_for_the_next_start_is_told(void **state)
{
    struct world *w = *state;

    vm_is(w, "new", "{'type':'RestartRequired','status':'True','message':'a non-live-updatable field was changed'}");
    says(first_is(explained(w, NULL, 5), "RESTART_REQUIRED", KVMIG_SEVERITY_ERROR)->evidence, "non-live-updatable");
    vm_is(w, "old",
          "{'type':'RestartRequired','status':'True','message':'something else'}"); /* no volume is concerned */
    assert_null(find_wait(explained(w, NULL, 5), "RESTART_REQUIRED"));
}

static void what_the_platform_lacks_is_told(void **state)
{
    struct world *w = *state;

    vmi_is(w, "new", MIGRATED CHANGE("True", ""));
    kubevirt_is(w, "'Evict'", "'phase':'Deployed'");
    says(first_is(explained(w, NULL, 5), "UPDATE_METHOD_MISSING", KVMIG_SEVERITY_ERROR)->evidence, "Evict");
    kubevirt_is(w, "", "'phase':'Deployed'");
    first_is(explained(w, NULL, 5), "UPDATE_METHOD_MISSING", KVMIG_SEVERITY_ERROR);
    w->kube.trimmed = true; /* from files: the object may be cut down, but a strategy without methods is one */
    first_is(explained(w, NULL, 5), "UPDATE_METHOD_MISSING", KVMIG_SEVERITY_ERROR);
    put(&w->kube, "{'apiVersion':'kubevirt.io/v1','kind':'KubeVirt','metadata':{'name':'kubevirt','namespace':"
                  "'kubevirt'},'spec':{},'status':{'phase':'Deployed'}}");
    first_is(explained(w, NULL, 5), "UPDATE_METHOD_MISSING", KVMIG_SEVERITY_WARN);
    kubevirt_is(w, "'LiveMigrate'", "'phase':'Deployed','observedDeploymentID':'a','targetDeploymentID':'b'");
    the_wait(explained(w, NULL, 5), "KUBEVIRT_UPDATING");
}

static void after_a_failure_it_is_tried_again(void **state)
{
    struct world *w = *state;

    vmi_is(w, "new", MIGRATED CHANGE("True", ""));
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'mig1','namespace':"
        "'ns1','uid':'uid-mig1','creationTimestamp':'%s'},'spec':{'vmiName':'vm1'},'status':{'phase':'Failed'}}",
        at(1));
    says(the_wait(explained(w, "mig1", 5), "VOLUME_MIGRATION_WAITING")->hint, "again");
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'mig1','namespace':"
        "'ns1','uid':'uid-mig1','creationTimestamp':'%s'},'spec':{'vmiName':'vm1'},'status':{'phase':'Pending'}}",
        at(1));
    assert_null(find_wait(explained(w, "mig1", 5), "VOLUME_MIGRATION_WAITING"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(without_a_change_nothing_waits),
        T(an_accepted_change_waits_for_kubevirts_migration),
        T(a_change_that_is_not_accepted_yet_is_told),
        T(a_destination_that_is_missing_is_told_with_kubevirts_words),
        T(a_cancelled_change_waits_for_nothing),
        T(a_change_that_is_kept_for_the_next_start_is_told),
        T(what_the_platform_lacks_is_told),
        T(after_a_failure_it_is_tried_again),
    };
#undef T

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
