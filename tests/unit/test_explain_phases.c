/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the explanation says of a migration in KubeVirt outside of its pods: what keeps it Pending, the steps from the hand-over to
 * the end, and what is left behind. Each wait is INFO in normal times and worse later.
 */
#include "explain_test.h"

#define UID "uid-mig1"

/* ---- Pending, object by object ---- */

struct world {
    struct kvmig__kube kube;
    struct kvmig_explanation *explanation;
};

static void vmi_is(struct world *w, const char *spec, const char *status)
{
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/"
        "v1','kind':'VirtualMachineInstance','metadata':{'name':'vm1','namespace':'ns1','uid':'uid-vm1'},"
        "'spec':{'domain':{'memory':{'guest':'1Gi'}}%s},'status':{'nodeName':'node-a','phase':'Running'%s}}",
        spec ? spec : "", status ? status : "");
}

/* A VMIM of vm1, created and in its phase since so many seconds. */
static void vmim_is(struct world *w, const char *name, int created, const char *phase, const char *meta,
                    const char *status)
{
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/"
        "v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'%s','namespace':'ns1','uid':"
        "'uid-%s','creationTimestamp':'%s'%s},'spec':{'vmiName':'vm1'},'status':{'phase':'%s','"
        "phaseTransitionTimestamps':["
        "{'phase':'%s','phaseTransitionTimestamp':'%s'}]%s}}",
        name, name, at(created), meta ? meta : "", phase, phase, at(created), status ? status : "");
}

static void pod_is(struct world *w, const char *name, const char *job, const char *phase)
{
    put(&w->kube,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','namespace':'ns1','uid':'uid-%s','creationTimestamp':'"
        "%s','labels':"
        "{'kubevirt.io':'virt-launcher','kubevirt.io/"
        "created-by':'uid-vm1'%s%s%s}},'spec':{'nodeName':'%s','containers':[{'name':"
        "'compute'}]},'status':{'phase':'%s','startTime':'%s','containerStatuses':[{'name':'compute','ready':true,'"
        "state':{'running':"
        "{'startedAt':'%s'}}}]}}",
        name, name, at(-50), job ? ",'kubevirt.io/migrationJobUID':'" : "", job ? job : "", job ? "'" : "",
        job ? "node-b" : "node-a", phase, at(2), at(2));
}

static void event_is(struct world *w, const char *kind, const char *name, const char *uid, const char *reason,
                     const char *message)
{
    put(&w->kube,
        "{'apiVersion':'v1','kind':'Event','metadata':{'name':'%s.%s','namespace':'ns1'},'involvedObject':{'kind':'%s',"
        "'namespace':"
        "'ns1','name':'%s','uid':'%s'},'type':'Warning','reason':'%s','message':'%s','firstTimestamp':'%s','"
        "lastTimestamp':'%s'}",
        name, reason, kind, name, uid, reason, message, at(3), at(5));
}

static const struct kvmig_explanation *explained(struct world *w, int seconds)
{
    kvmig_explanation_unref(w->explanation);
    w->explanation = explain(&w->kube, "vm1", "mig1", NULL, T0 + seconds * 1000LL);
    return w->explanation;
}

static int setup(void **state)
{
    struct world *w = kvmig__calloc(1, sizeof(*w));

    *state = w;
    know_all(&w->kube);
    vmi_is(w, NULL, NULL);
    vmim_is(w, "mig1", 0, "Pending", NULL, NULL);
    pod_is(w, "src", NULL, "Running");
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

static void pending_without_a_visible_cause_is_told_after_a_while(void **state)
{
    first_is(explained(*state, 5), "PENDING_UNEXPLAINED", KVMIG_SEVERITY_INFO);
    first_is(explained(*state, 60), "PENDING_UNEXPLAINED", KVMIG_SEVERITY_WARN);
    says(first_is(explained(*state, 600), "PENDING_UNEXPLAINED", KVMIG_SEVERITY_ERROR)->hint, "virt-controller");
}

static void a_vmim_that_nobody_looks_at_is_told(void **state)
{
    struct world *w = *state;

    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'mig1','namespace':"
        "'ns1','uid':'" UID "','creationTimestamp':'%s'},'spec':{'vmiName':'vm1'}}",
        at(0));
    first_is(explained(w, 5), "CONTROLLER_SILENT", KVMIG_SEVERITY_INFO);
    first_is(explained(w, 100), "CONTROLLER_SILENT", KVMIG_SEVERITY_ERROR);
}

static void a_backup_is_named(void **state)
{
    struct world *w = *state;

    vmim_is(w, "mig1", 0, "Pending", NULL,
            ",'conditions':[{'type':'migrationBlockedByBackup','status':'True','reason':'BackupInProgress','message':'"
            "backup b1'}]");
    vmi_is(w, NULL,
           ",'changedBlockTracking':{'backupStatus':{'backupName':'b1','startTimestamp':'2026-11-30T10:59:00Z'}}");
    says(first_is(explained(w, 5), "BACKUP_RUNNING", KVMIG_SEVERITY_INFO)->condition, "b1");
    assert_null(find_wait(w->explanation, "PENDING_UNEXPLAINED"));
    first_is(explained(w, 3600), "BACKUP_RUNNING", KVMIG_SEVERITY_WARN);
}

static void utility_volumes_have_a_limit_that_an_annotation_overrides(void **state)
{
    static const char condition[] =
        ",'conditions':[{'type':'migrationBlockedByUtilityVolumes','status':'True','reason':'UtilityVolumesPresent'}]";
    struct world *w = *state;
    const struct kvmig_wait *wait;

    vmim_is(w, "mig1", 0, "Pending", NULL, condition);
    wait = first_is(explained(w, 5), "UTILITY_VOLUMES_PRESENT", KVMIG_SEVERITY_WARN);
    says(wait->limit, "(150 s)");
    assert_int_equal(wait->ends_ms, T0 + 150000);
    vmim_is(w, "mig1", 0, "Pending", ",'annotations':{'kubevirt.io/migrationUtilityVolumesTimeoutSeconds':'30'}",
            condition);
    assert_int_equal(first_is(explained(w, 5), "UTILITY_VOLUMES_PRESENT", KVMIG_SEVERITY_WARN)->ends_ms, T0 + 30000);
}

static void a_back_off_ends_when_kubevirt_says(void **state)
{
    static const char owned[] = ",'annotations':{'kubevirt.io/evacuationMigration':'node-a'}";
    struct world *w = *state;
    const struct kvmig_wait *wait;

    vmim_is(w, "old1", -900, "Succeeded", owned, NULL);
    vmim_is(w, "old2", -800, "Failed", owned, NULL);
    vmim_is(w, "old3", -600, "Failed", owned, NULL);
    vmim_is(w, "old4", -20, "Failed", owned, NULL); /* the third in a row: 80 s */
    vmim_is(w, "mig1", 0, "Pending", owned, NULL);
    event_is(w, "VirtualMachineInstance", "vm1", "uid-vm1", "MigrationBackoff", "waits");
    wait = the_wait(explained(w, 5), "MIGRATION_BACKOFF");
    assert_int_equal(wait->ends_ms, T0 + 60000);
    says(wait->limit, "(80 s)");
    assert_int_equal(wait->severity, KVMIG_SEVERITY_INFO);
    assert_null(find_wait(explained(w, 61), "MIGRATION_BACKOFF"));
    vmim_is(w, "mig1", 0, "Pending", NULL, NULL); /* a user's is never held back */
    assert_null(find_wait(explained(w, 5), "MIGRATION_BACKOFF"));
}

static void a_vm_that_does_not_run_is_named(void **state)
{
    struct world *w = *state;

    put(&w->kube, "{'apiVersion':'kubevirt.io/"
                  "v1','kind':'VirtualMachineInstance','metadata':{'name':'vm1','namespace':'ns1','uid':"
                  "'uid-vm1'},'status':{'phase':'Scheduling'}}");
    first_is(explained(w, 5), "VM_NOT_RUNNING", KVMIG_SEVERITY_WARN);
}

static void launchers_that_still_live_are_named(void **state)
{
    struct world *w = *state;

    pod_is(w, "older", "uid-of-another", "Running");
    says(first_is(explained(w, 5), "SEVERAL_LIVE_PODS", KVMIG_SEVERITY_INFO)->evidence, "older, src");
    first_is(explained(w, 400), "SEVERAL_LIVE_PODS", KVMIG_SEVERITY_ERROR);
    pod_is(w, "older", "uid-of-another", "Succeeded");
    assert_null(find_wait(explained(w, 5), "SEVERAL_LIVE_PODS"));
}

static void an_active_pod_that_has_ended_is_named(void **state)
{
    struct world *w = *state;

    pod_is(w, "older", "uid-of-another", "Succeeded");
    vmi_is(w, NULL, ",'activePods':{'uid-src':'node-a','uid-older':'node-b'}");
    assert_null(find_wait(explained(w, 5), "STALE_ACTIVE_POD"));
    assert_string_equal(first_is(explained(w, 60), "STALE_ACTIVE_POD", KVMIG_SEVERITY_ERROR)->object, "pod/ns1/older");
}

static void a_quota_is_named(void **state)
{
    struct world *w = *state;
    const struct kvmig_wait *wait;

    put(&w->kube, "{'apiVersion':'v1','kind':'ResourceQuota','metadata':{'name':'team','namespace':'ns1'}}");
    vmim_is(
        w, "mig1", 0, "Pending", NULL,
        ",'conditions':[{'type':'migrationRejectedByResourceQuota','status':'True','message':'exceeded quota: team'}]");
    wait = first_is(explained(w, 5), "QUOTA_EXCEEDED", KVMIG_SEVERITY_ERROR);
    assert_string_equal(wait->object, "resourcequota/ns1/team");
    assert_string_equal(kvmig_explanation_verdict(w->explanation), "QUOTA_EXCEEDED");
    assert_null(wait->limit);
}

static void a_pod_that_the_server_refuses_is_named(void **state)
{
    struct world *w = *state;

    event_is(w, "VirtualMachineInstance", "vm1", "uid-vm1", "FailedCreate", "violates PodSecurity restricted");
    says(first_is(explained(w, 5), "TARGET_POD_REFUSED", KVMIG_SEVERITY_ERROR)->evidence, "PodSecurity");
    event_is(w, "VirtualMachineInstance", "vm1", "uid-vm1", "FailedCreate",
             "pods x is forbidden: exceeded quota: team");
    first_is(explained(w, 5), "QUOTA_EXCEEDED", KVMIG_SEVERITY_ERROR);
}

static void what_may_not_be_read_is_named_and_not_guessed(void **state)
{
    struct world *w = *state;

    w->kube.kinds[KVMIG__KUBE_POD].known = KVMIG__KUBE_FORBIDDEN;
    kvmig__kube_remove(&w->kube, KVMIG__KUBE_POD, "ns1", "src", NULL);
    explained(w, 600);
    says(the_wait(w->explanation, "NOT_VISIBLE")->condition, "pods may not be read");
    assert_null(find_wait(w->explanation, "PENDING_UNEXPLAINED"));
    assert_null(find_wait(w->explanation, "TARGET_POD_LOST"));
    assert_string_equal(kvmig_explanation_verdict(w->explanation), "WAITING");
}

static void a_sync_that_is_blocked_is_named(void **state)
{
    struct world *w = *state;

    vmim_is(w, "mig1", 0, "WaitingForSync", NULL, NULL);
    first_is(explained(w, 5), "SYNC_PENDING", KVMIG_SEVERITY_INFO);
    vmim_is(w, "mig1", 0, "Synchronizing", NULL,
            ",'conditions':[{'type':'decentralizedMigrationBlocked','status':'True','message':'no route'}]");
    says(first_is(explained(w, 5), "SYNC_BLOCKED", KVMIG_SEVERITY_ERROR)->evidence, "no route");
}

/* ---- from the hand-over on ---- */

#define STATE(more)                                                                                                    \
    ",'migrationState':{'migrationUid':'" UID "','sourceNode':'node-a','sourcePod':'src','targetNode':'node-b',"       \
    "'targetPod':'tgt'" more "}"
#define STARTED ",'startTimestamp':'2026-11-30T11:00:10Z'"

static void handed_over(struct world *w, const char *phase, const char *status)
{
    vmim_is(w, "mig1", 0, phase, NULL, NULL);
    pod_is(w, "tgt", UID, "Running");
    vmi_is(w, NULL, status);
}

static void each_step_of_the_preparation_names_who_is_to_act(void **state)
{
    struct world *w = *state;
    const struct kvmig_wait *wait;

    handed_over(w, "Scheduled", NULL);
    first_is(explained(w, 5), "HANDOVER_PENDING", KVMIG_SEVERITY_INFO);
    handed_over(w, "PreparingTarget", STATE(""));
    wait = first_is(explained(w, 5), "TARGET_PREPARING", KVMIG_SEVERITY_INFO);
    assert_string_equal(wait->object, "node/node-b");
    assert_int_equal(wait->ends_ms, T0 + 2000 + 359000);
    first_is(explained(w, 60), "TARGET_PREPARING", KVMIG_SEVERITY_WARN);
    event_is(w, "VirtualMachineInstance", "vm1", "uid-vm1", "SyncFailed", "no such device");
    says(first_is(explained(w, 6), "TARGET_PREPARING", KVMIG_SEVERITY_WARN)->evidence, "no such device");
    kvmig__kube_remove(&w->kube, KVMIG__KUBE_EVENT, "ns1", "vm1.SyncFailed", NULL);
    handed_over(w, "TargetReady", STATE(""));
    assert_string_equal(first_is(explained(w, 5), "SOURCE_NOT_STARTED", KVMIG_SEVERITY_INFO)->object, "node/node-a");
}

static void a_node_that_is_not_ready_is_named(void **state)
{
    struct world *w = *state;

    handed_over(w, "Running", STATE(STARTED));
    put(&w->kube, "{'apiVersion':'v1','kind':'Node','metadata':{'name':'node-b'},'status':{'conditions':[{'type':'"
                  "Ready','status':"
                  "'Unknown','message':'Kubelet stopped posting node status.'}]}}");
    assert_string_equal(first_is(explained(w, 20), "NODE_NOT_READY", KVMIG_SEVERITY_ERROR)->object, "node/node-b");
}

static void what_a_copy_is_doing_is_told(void **state)
{
    struct world *w = *state;
    const struct kvmig_wait *wait;

    handed_over(w, "Running", STATE(STARTED ",'mode':'PreCopy'"));
    wait = first_is(explained(w, 20), "COPYING", KVMIG_SEVERITY_INFO);
    assert_int_equal(wait->ends_ms, T0 + 10000 + 300000);
    first_is(explained(w, 400), "COPYING", KVMIG_SEVERITY_WARN);
    handed_over(w, "Running", STATE(STARTED ",'mode':'Paused'"));
    assert_int_equal(first_is(explained(w, 20), "GUEST_PAUSED_FOR_COPY", KVMIG_SEVERITY_WARN)->ends_ms,
                     T0 + 10000 + 600000);
    handed_over(w, "Running", STATE(STARTED ",'mode':'PostCopy'"));
    wait = first_is(explained(w, 20), "POSTCOPY_ACTIVE", KVMIG_SEVERITY_WARN);
    assert_null(wait->limit);
    assert_string_equal(kvmig_explanation_verdict(w->explanation), "POSTCOPY_ACTIVE");
}

static void a_guest_paused_by_io_errors_is_named(void **state)
{
    struct world *w = *state;

    handed_over(w, "Running",
                STATE(STARTED) ",'conditions':[{'type':'Paused','status':'True','reason':'PausedIOError'}]");
    first_is(explained(w, 20), "VM_IO_ERROR", KVMIG_SEVERITY_ERROR);
}

static void a_change_that_holds_the_migration_in_running_is_named(void **state)
{
    static const char *const types[][2] = { { "HotVCPUChange", "RESIZE_NOT_APPLIED" },
                                            { "HotMemoryChange", "RESIZE_NOT_APPLIED" },
                                            { "MigrationRequired", "MIGRATION_STILL_REQUIRED" } };
    struct world *w = *state;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(types); i++) {
        char *status =
            kvmig__asprintf("%s,'conditions':[{'type':'%s','status':'True'}]",
                            STATE(STARTED ",'endTimestamp':'2026-11-30T11:00:20Z','completed':true"), types[i][0]);

        handed_over(w, "Running", status);
        says(first_is(explained(w, 25), types[i][1], KVMIG_SEVERITY_INFO)->evidence, types[i][0]);
        first_is(explained(w, 200), types[i][1], KVMIG_SEVERITY_WARN);
        free(status);
    }
}

/* A service with both launchers as endpoints. */
static void slice_is(struct world *w, const char *source_ready, const char *target_ready)
{
    put(&w->kube,
        "{'apiVersion':'discovery.k8s.io/"
        "v1','kind':'EndpointSlice','metadata':{'name':'web-1','namespace':'ns1','labels':{"
        "'kubernetes.io/"
        "service-name':'web'}},'endpoints':[{'addresses':['10.0.0.1'],'conditions':{'ready':%s},'targetRef':{'kind':"
        "'Pod','name':'src'}},{'addresses':['10.0.0.2'],'conditions':{'ready':%s},'targetRef':{'kind':'Pod','name':'"
        "tgt'}}]}",
        source_ready, target_ready);
}

static void services_that_point_to_the_wrong_pod_are_named(void **state)
{
    struct world *w = *state;
    const struct kvmig_wait *wait;

    handed_over(w, "Running", STATE(STARTED));
    slice_is(w, "true", "true");
    says(first_is(explained(w, 20), "DUAL_READY_ENDPOINTS", KVMIG_SEVERITY_WARN)->evidence, "pod tgt");
    slice_is(w, "true", "false");
    assert_null(find_wait(explained(w, 20), "DUAL_READY_ENDPOINTS"));
    handed_over(w, "Running", STATE(STARTED ",'endTimestamp':'2026-11-30T11:00:20Z'"));
    put(&w->kube, "{'apiVersion':'kubevirt.io/"
                  "v1','kind':'VirtualMachineInstance','metadata':{'name':'vm1','namespace':'ns1','uid':"
                  "'uid-vm1'},'status':{'phase':'Running','nodeName':'node-b'" STATE(
                      STARTED ",'endTimestamp':'2026-11-30T11:00:20Z'") "}}");
    wait = the_wait(explained(w, 22), "ENDPOINT_HANDOVER_PENDING");
    assert_int_equal(wait->severity, KVMIG_SEVERITY_INFO);
    says(wait->evidence, "the target pod is not a ready endpoint");
    assert_int_equal(the_wait(explained(w, 60), "ENDPOINT_HANDOVER_PENDING")->severity, KVMIG_SEVERITY_WARN);
    slice_is(w, "false", "true");
    assert_null(find_wait(explained(w, 60), "ENDPOINT_HANDOVER_PENDING"));
}

static void a_cancel_that_will_not_last_is_named(void **state)
{
    struct world *w = *state;

    vmim_is(w, "mig1", 0, "Pending",
            ",'deletionTimestamp':'2026-11-30T11:00:05Z','annotations':{'kubevirt.io/workloadUpdateMigration':''}",
            NULL);
    first_is(explained(w, 8), "CANCEL_INEFFECTIVE", KVMIG_SEVERITY_WARN);
}

/* ---- what is left ---- */

static void left_overs_are_named_and_not_blamed(void **state)
{
    struct world *w = *state;

    handed_over(w, "Failed", STATE(STARTED ",'completed':true,'failed':true,'failureReason':'Target pod is down'"));
    assert_string_equal(kvmig_explanation_verdict(explained(w, 5)), "TARGET_POD_LOST");
    assert_int_equal(the_wait(w->explanation, "LEFTOVER_TARGET_POD")->severity, KVMIG_SEVERITY_INFO);
    assert_int_equal(the_wait(explained(w, 100), "LEFTOVER_TARGET_POD")->severity, KVMIG_SEVERITY_ERROR);
    assert_string_equal(kvmig_explanation_verdict(w->explanation), "TARGET_POD_LOST");
}

static void a_state_that_nobody_owns_is_named(void **state)
{
    struct world *w = *state;

    kvmig__kube_remove(&w->kube, KVMIG__KUBE_VMIM, "ns1", "mig1", NULL);
    vmi_is(w, NULL, STATE(STARTED));
    says(first_is(explained(w, 20), "STALE_MIGRATION_STATE", KVMIG_SEVERITY_ERROR)->evidence, UID);
    says(kvmig_explanation_summary(w->explanation), "no migration is under way");
    vmi_is(w, NULL, STATE(STARTED ",'completed':true"));
    assert_int_equal(kvmig_explanation_count(explained(w, 20)), 0);
    assert_string_equal(kvmig_explanation_verdict(w->explanation), "NO_FINDING");
}

static void a_vm_that_is_still_marked_for_eviction_is_named(void **state)
{
    struct world *w = *state;

    vmim_is(w, "mig1", 0, "Failed", NULL, NULL);
    vmi_is(w, NULL, ",'evacuationNodeName':'node-a'");
    assert_int_equal(the_wait(explained(w, 20), "EVACUATION_PENDING")->severity, KVMIG_SEVERITY_WARN);
}

static void a_vm_that_needs_a_decision_is_named(void **state)
{
    struct world *w = *state;

    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachine','metadata':{'name':'vm1','namespace':'ns1'},'status':{"
        "'conditions':[{'type':'ManualRecoveryRequired','status':'True','message':'m'}]}}");
    vmim_is(w, "mig1", 0, "Failed", NULL, NULL);
    assert_int_equal(the_wait(explained(w, 20), "MANUAL_RECOVERY_REQUIRED")->severity, KVMIG_SEVERITY_ERROR);
}

static void an_end_that_is_not_proven_is_not_claimed(void **state)
{
    struct world *w = *state;

    handed_over(w, "Failed", STATE(STARTED));
    first_is(explained(w, 5), "UNDECIDED", KVMIG_SEVERITY_INFO);
    first_is(explained(w, 60), "UNDECIDED", KVMIG_SEVERITY_WARN);
}

/* Every field of the API is optional. */
static void objects_with_nothing_in_them_do_no_harm(void **state)
{
    static const char *const phases[] = { "",           "WaitingForSync", "Synchronizing",   "Pending",
                                          "Scheduling", "Scheduled",      "PreparingTarget", "TargetReady",
                                          "Running",    "Succeeded",      "Failed",          "Unheard-of" };
    struct world *w = *state;

    kvmig__kube_remove(&w->kube, KVMIG__KUBE_POD, "ns1", "src", NULL);
    put(&w->kube, "{'apiVersion':'v1','kind':'Event','metadata':{'name':'e','namespace':'ns1'}}");
    put(&w->kube, "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n'}}");
    put(&w->kube, "{'apiVersion':'discovery.k8s.io/"
                  "v1','kind':'EndpointSlice','metadata':{'name':'s','namespace':'ns1'},'endpoints':["
                  "{}]}");
    put(&w->kube, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'tgt','namespace':'ns1','labels':{'kubevirt.io':'"
                  "virt-launcher',"
                  "'kubevirt.io/migrationJobUID':'" UID "'}}}");
    put(&w->kube, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'hp','namespace':'ns1','labels':{'kubevirt.io':'"
                  "hotplug-disk',"
                  "'kubevirt.io/migrationJobUID':'" UID
                  "'}},'spec':{'nodeName':'n','containers':[{}]},'status':{'phase':'Pending',"
                  "'containerStatuses':[{'state':{'waiting':{}}}]}}");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(phases); i++) {
        put(&w->kube,
            "{'apiVersion':'kubevirt.io/"
            "v1','kind':'VirtualMachineInstance','metadata':{'name':'vm1','namespace':'ns1'}%s}",
            i % 2 ? ",'status':{'phase':'Running','migrationState':{'migrationUid':'" UID "'}}" : "");
        put(&w->kube,
            "{'apiVersion':'kubevirt.io/"
            "v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'mig1','namespace':'ns1','uid':"
            "'" UID "'},'spec':{'vmiName':'vm1'},'status':{'phase':'%s'}}",
            phases[i]);
        assert_true(*kvmig_explanation_summary(explained(w, 5)));
        assert_true(kvmig_explanation_count(w->explanation) > 0);
    }
}

static void slots_that_cannot_be_counted_are_no_fault(void **state)
{
    struct world *w = *state;

    w->kube.scoped = true;
    first_is(explained(w, 5), "NOT_VISIBLE", KVMIG_SEVERITY_INFO);
    says(first_is(explained(w, 3600), "NOT_VISIBLE", KVMIG_SEVERITY_WARN)->condition, "slots of the cluster");
    assert_null(find_wait(w->explanation, "PENDING_UNEXPLAINED"));
    assert_string_equal(kvmig_explanation_verdict(w->explanation), "WAITING");
    w->kube.scoped = false;
    first_is(explained(w, 3600), "PENDING_UNEXPLAINED", KVMIG_SEVERITY_ERROR);
    w->kube.kinds[KVMIG__KUBE_VMI].known = KVMIG__KUBE_FORBIDDEN;
    explained(w, 3600);
    assert_null(find_wait(w->explanation, "PENDING_UNEXPLAINED"));
    assert_string_equal(kvmig_explanation_verdict(w->explanation), "WAITING");
}

static void copy_with(struct world *w, const char *spec, const char *options)
{
    char *status =
        kvmig__asprintf(",'migrationState':{'migrationUid':'" UID "','sourceNode':'node-a','targetNode':'node-b',"
                        "'startTimestamp':'%s','mode':'PreCopy','migrationConfiguration':{"
                        "'completionTimeoutPerGiB':150,'progressTimeout':60%s}}",
                        at(10), options);

    vmi_is(w, spec, status);
    free(status);
}

static void what_happens_at_the_completion_limit_is_told(void **state)
{
    struct world *w = *state;
    const char *limit;

    pod_is(w, "tgt", UID, "Running");
    vmim_is(w, "mig1", 0, "Running", NULL, NULL);
    copy_with(w, NULL, "");
    limit = the_wait(explained(w, 20), "COPYING")->limit;
    assert_string_equal(limit, "completion limit (300 s); progress time-out (60 s without fewer bytes left)");
    copy_with(w, NULL, ",'allowPostCopy':true,'allowWorkloadDisruption':true");
    says(the_wait(explained(w, 20), "COPYING")->limit, "completion limit, then it switches to post-copy");
    copy_with(w, NULL, ",'allowPostCopy':false,'allowWorkloadDisruption':true");
    says(the_wait(explained(w, 20), "COPYING")->limit, "then the guest is paused, and the limit doubles (300 s)");
    copy_with(w, NULL, ",'allowPostCopy':true,'allowWorkloadDisruption':false"); /* permitted, but never begun */
    says(the_wait(explained(w, 20), "COPYING")->limit, "completion limit (300 s)");
    copy_with(w, NULL, ",'completionTimeoutPerGiB':0");
    assert_string_equal(the_wait(explained(w, 20), "COPYING")->limit,
                        "progress time-out (60 s without fewer bytes left)");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(pending_without_a_visible_cause_is_told_after_a_while),
        T(a_vmim_that_nobody_looks_at_is_told),
        T(a_backup_is_named),
        T(utility_volumes_have_a_limit_that_an_annotation_overrides),
        T(slots_that_cannot_be_counted_are_no_fault),
        T(what_happens_at_the_completion_limit_is_told),
        T(a_back_off_ends_when_kubevirt_says),
        T(a_vm_that_does_not_run_is_named),
        T(launchers_that_still_live_are_named),
        T(an_active_pod_that_has_ended_is_named),
        T(a_quota_is_named),
        T(a_pod_that_the_server_refuses_is_named),
        T(what_may_not_be_read_is_named_and_not_guessed),
        T(a_sync_that_is_blocked_is_named),
        T(each_step_of_the_preparation_names_who_is_to_act),
        T(a_node_that_is_not_ready_is_named),
        T(what_a_copy_is_doing_is_told),
        T(a_guest_paused_by_io_errors_is_named),
        T(a_change_that_holds_the_migration_in_running_is_named),
        T(services_that_point_to_the_wrong_pod_are_named),
        T(a_cancel_that_will_not_last_is_named),
        T(left_overs_are_named_and_not_blamed),
        T(a_state_that_nobody_owns_is_named),
        T(a_vm_that_is_still_marked_for_eviction_is_named),
        T(a_vm_that_needs_a_decision_is_named),
        T(an_end_that_is_not_proven_is_not_claimed),
        T(objects_with_nothing_in_them_do_no_harm),
    };
#undef T

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
