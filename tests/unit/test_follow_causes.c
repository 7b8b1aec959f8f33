/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a migration in KubeVirt ended with the guest on the source: each cause by the traces that it leaves, also after the objects
 * that bore them are gone.
 */
#include "follow_world.h"

static void the_texts_of_a_failed_copy_are_decoded(void **state)
{
    static const struct {
        const char *text, *verdict;
    } cases[] = {
        { "virError(Code=9, Message=`guest CPU doesn`t match specification: missing features: erms`)",
          "CPU_FEATURE_MISSING" },
        { "guest CPU doesn`t match specification: extra features: xsaves", "CPU_FEATURE_EXTRA" },
        { "Cannot migrate empty or read-only disk sda", "COPY_LIST_HAS_READONLY_DISK" },
        { "the size of the volume has to be smaller or equal to the actual size of the target", "DEST_VOLUME_SMALLER" },
        { "Unsafe migration: Migration without shared storage is unsafe", "UNSAFE_MIGRATION_NOT_SHARED" },
        { "migrate_disks requires use of `VIR_MIGRATE_NON_SHARED_DISK`", "INVALID_FLAGS" },
        { "The TLS handshake failed", "TLS_CHANNEL_ERROR" },
        { "Live migration stuck for 150 seconds and has been aborted", "ABORTED_BY_PROGRESS_TIMEOUT" },
        { "Live migration is not completed after 300 seconds and has been cancelled", "ABORTED_BY_COMPLETION_TIMEOUT" },
        { "unsupported configuration: CPU mode custom is not supported by hypervisor", "CPU_MODEL_UNSUPPORTED" },
        { "unsupported configuration: video model virtio is not supported by hypervisor", "FAILED" },
        { "x509: certificate signed by unknown authority", "TLS_CHANNEL_ERROR" },
        { "cannot open the certificate store of the guest agent", "FAILED" },
        { "cannot migrate a domain with <hostdev mode=`subsystem`>", "HOSTDEV_NOT_MIGRATABLE" },
        { "internal error: hostdev0 vanished while the domain was being started", "FAILED" },
        { "something that nobody has seen before", "FAILED" },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        char *reason = kvmig__asprintf("'failureReason':'%s'", cases[i].text);

        copy_fails(*state, reason);
        assert_ended(*state, KVMIG__END_STAYED, cases[i].verdict);
        free(reason);
        teardown(state);
        setup(state);
    }
}

#define ABORTED "'abortStatus':'Succeeded','failureReason':'Live migration has been aborted',"

static void an_abort_that_was_asked_for_is_the_users(void **state)
{
    copy_fails(*state, ABORTED "'abortRequested':true,'endTimestamp':'2026-11-30T11:10:00Z'");
    assert_ended(*state, KVMIG__END_STAYED, "CANCELLED_BY_USER");
}

/* 1 GiB counts as 2 GB: 300 s, from 11:00:10 on. */
static void an_abort_that_nobody_asked_for_is_told_apart_by_its_time(void **state)
{
    static const struct {
        const char *more, *verdict;
    } cases[] = {
        { ABORTED "'endTimestamp':'2026-11-30T11:05:11Z'", "ABORTED_BY_COMPLETION_TIMEOUT" },
        { ABORTED "'endTimestamp':'2026-11-30T11:04:00Z'", "ABORTED_BY_PROGRESS_TIMEOUT" },
        { ABORTED "'endTimestamp':'2026-11-30T11:00:40Z'", "CANCELLED" }, /* too early for both timers */
        { ABORTED "'endTimestamp':'2026-11-30T11:06:40Z','mode':'Paused'", "ABORTED_BY_PROGRESS_TIMEOUT" },
        { ABORTED "'endTimestamp':'2026-11-30T11:10:11Z','mode':'Paused'", "ABORTED_BY_COMPLETION_TIMEOUT" },
        { ABORTED "'endTimestamp':'2026-11-30T11:01:11Z','migrationConfiguration':{'completionTimeoutPerGiB':30}",
          "ABORTED_BY_COMPLETION_TIMEOUT" },
        { ABORTED "'endTimestamp':'2026-11-30T11:01:11Z','migrationConfiguration':{'progressTimeout':60}",
          "ABORTED_BY_PROGRESS_TIMEOUT" },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct world *w;

        teardown(state);
        setup(state);
        w = *state;
        /* the configuration comes with the hand-over */
        if (strstr(cases[i].more, "migrationConfiguration")) {
            char *first = kvmig__asprintf(COPYING ",%s", strstr(cases[i].more, "'migrationConfiguration'"));

            vmi_is(w, "Running", "node-a", first);
            update(w);
            free(first);
        }
        copy_fails(w, cases[i].more);
        assert_ended(w, KVMIG__END_STAYED, cases[i].verdict);
    }
}

static void a_deletion_before_the_hand_over_is_a_cancel(void **state)
{
    struct world *w = *state;

    target_is(w, "tgt", "Pending", "node-b", NULL);
    vmim_is(w, "Scheduling", 2, ",'deletionTimestamp':'2026-11-30T11:00:05Z'");
    update(w);
    assert_true(w->follow.deleting);
    assert_int_equal(w->follow.end, KVMIG__END_OPEN);
    drop(&w->kube, &w->follow, KVMIG__KUBE_POD, "tgt");
    drop(&w->kube, &w->follow, KVMIG__KUBE_VMIM, "mig1");
    update(w);
    assert_ended(w, KVMIG__END_STAYED, "CANCELLED");
}

static void a_failed_vmim_that_is_deleted_afterwards_was_not_cancelled(void **state)
{
    struct world *w = *state;

    copy_fails(w, "'failureReason':'Target pod is down'");
    vmim_is(w, "Failed", 100, ",'deletionTimestamp':'2026-11-30T11:05:00Z'");
    drop(&w->kube, &w->follow, KVMIG__KUBE_VMIM, "mig1");
    update(w);
    assert_ended(w, KVMIG__END_STAYED, "TARGET_POD_LOST");
}

static void a_cancel_does_not_hide_a_cause_that_came_first(void **state)
{
    struct world *w = *state;

    copy_runs(w);
    vmim_is(w, "Running", 10, ",'deletionTimestamp':'2026-11-30T11:00:15Z'");
    copy_fails(w, "'abortRequested':true,'failureReason':'Unsafe migration: Migration without shared storage'");
    assert_ended(w, KVMIG__END_STAYED, "UNSAFE_MIGRATION_NOT_SHARED");
}

static void a_launcher_that_ended_by_its_own_timer_is_told_from_a_crash(void **state)
{
    static const struct {
        int failed_s;
        const char *verdict;
    } cases[] = { { 20, "TARGET_POD_LOST" }, { 300, "TARGET_START_TIMEOUT" }, { 900, "TARGET_POD_LOST" } };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct world *w;

        teardown(state);
        setup(state);
        w = *state;
        vmi_is(w, "Running", "node-a", HANDED_OVER);
        target_is(w, "tgt", "Running", "node-b",
                  ",'containerStatuses':[{'name':'compute','ready':true,'state':{'running':{'startedAt':'2026-11-30T11:"
                  "00:03Z'}}}]");
        vmim_is(w, "PreparingTarget", 4, NULL);
        update(w);
        target_is(w, "tgt", "Failed", "node-b",
                  ",'containerStatuses':[{'name':'compute','state':{'terminated':{'exitCode':2,'reason':'Error'}}}]");
        vmim_is(w, "Failed", cases[i].failed_s, NULL);
        update(w);
        assert_ended(w, KVMIG__END_STAYED, cases[i].verdict);
    }
}

static void a_pod_that_never_came_up_is_blamed_on_what_it_waited_for(void **state)
{
    static const struct {
        const char *reason, *message, *verdict;
    } cases[] = {
        { "FailedMount", "MountVolume.SetUp failed", "TARGET_VOLUME_NOT_READY" },
        { "FailedCreatePodSandBox", "interface not ready", "TARGET_NETWORK_NOT_READY" },
        { "Pulled", "image is there", "TARGET_POD_PENDING" },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct world *w;

        teardown(state);
        setup(state);
        w = *state;
        target_is(w, "tgt", "Pending", "node-b", NULL);
        vmim_is(w, "Scheduling", 2, NULL);
        event_is(w, "pod-event", "Pod", "tgt", "uid-tgt", cases[i].reason, cases[i].message);
        update(w);
        update(w);
        vmim_event(w, "SuccessfulDelete", "pending pod ns1/tgt timeout period exceeded");
        drop(&w->kube, &w->follow, KVMIG__KUBE_POD, "tgt");
        drop(&w->kube, &w->follow, KVMIG__KUBE_EVENT, "pod-event");
        vmim_is(w, "Failed", 902, NULL);
        update(w);
        assert_ended(w, KVMIG__END_STAYED, cases[i].verdict);
    }
}

static void causes_that_only_events_name_are_kept(void **state)
{
    static const struct {
        const char *message, *verdict;
    } cases[] = {
        { "Migration failed because another migration job is in progress", "MIGRATION_IN_PROGRESS" },
        { "Migration was taken over by another one", "MIGRATION_IN_PROGRESS" },
        { "timed out waiting for utility volumes to be removed", "UTILITY_VOLUMES_PRESENT" },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct world *w;

        teardown(state);
        setup(state);
        w = *state;
        vmim_event(w, "FailedMigration", cases[i].message);
        update(w);
        drop(&w->kube, &w->follow, KVMIG__KUBE_EVENT, "FailedMigration");
        vmim_is(w, "Failed", 3, NULL);
        update(w);
        assert_ended(w, KVMIG__END_STAYED, cases[i].verdict);
    }
}

/* 1 GiB counts as 2 GB: 300 s, times the factor. */
static void an_abort_of_the_stall_detector_is_no_time_out(void **state)
{
    static const struct {
        const char *gate, *end, *factor, *verdict;
    } cases[] = {
        { "MigrationStallDetection", "2026-11-30T11:03:20Z", "2", "NOT_CONVERGING" },
        { "MigrationStallDetection", "2026-11-30T11:06:00Z", "2", "NOT_CONVERGING" },
        { "MigrationStallDetection", "2026-11-30T11:10:11Z", "2", "ABORTED_BY_COMPLETION_TIMEOUT" },
        { "MigrationStallDetection", "2026-11-30T11:07:41Z", "1.5", "ABORTED_BY_COMPLETION_TIMEOUT" },
        { "MigrationStallDetection", "2026-11-30T11:00:20Z", "2", "CANCELLED" }, /* it cannot have seen enough yet */
        { "AnotherGate", "2026-11-30T11:05:11Z", "2", "ABORTED_BY_COMPLETION_TIMEOUT" },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct world *w;
        char *copying, *aborted;

        teardown(state);
        setup(state);
        w = *state;
        put(&w->kube,
            "{'apiVersion':'kubevirt.io/v1','kind':'KubeVirt','metadata':{'name':'kubevirt','namespace':'kubevirt'},"
            "'spec':{'configuration':{'developerConfiguration':{'featureGates':['%s']}}},'status':{'phase':'Deployed'}"
            "}",
            cases[i].gate);
        copying =
            kvmig__asprintf(COPYING ",'migrationConfiguration':{'completionTimeoutPerGiB':150,'progressTimeout':150,"
                                    "'experimental':{'stallDetector':{'completionTimeoutFactor':'%s'}}}",
                            cases[i].factor);
        vmi_is(w, "Running", "node-a", copying);
        update(w);
        aborted = kvmig__asprintf(ABORTED "'endTimestamp':'%s'", cases[i].end);
        copy_fails(w, aborted);
        assert_ended(w, KVMIG__END_STAYED, cases[i].verdict);
        free(copying);
        free(aborted);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_texts_of_a_failed_copy_are_decoded),
        T(an_abort_that_was_asked_for_is_the_users),
        T(an_abort_that_nobody_asked_for_is_told_apart_by_its_time),
        T(a_deletion_before_the_hand_over_is_a_cancel),
        T(a_failed_vmim_that_is_deleted_afterwards_was_not_cancelled),
        T(a_cancel_does_not_hide_a_cause_that_came_first),
        T(a_launcher_that_ended_by_its_own_timer_is_told_from_a_crash),
        T(a_pod_that_never_came_up_is_blamed_on_what_it_waited_for),
        T(causes_that_only_events_name_are_kept),
        T(an_abort_of_the_stall_detector_is_no_time_out),
    };
#undef T

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
