/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The diagnosis over what KubeVirt's controller really wrote: at chosen moments of each recording its verdict is the right one, and at every
 * moment, whatever is asked, it proposes nothing that would harm the guest and raises no alarm while all goes well.
 */
#include "diagnose_kube_test.h"

struct moment {
    struct recording recording;
    struct kvmig__kube kube;
};

static void reach(struct moment *m, const char *name, double t)
{
    *m = (struct moment){ .kube = { .now_ms = 0 } };
    load_recording(&m->recording, name);
    know_all(&m->kube);
    for (size_t i = 0; i < m->recording.n && m->recording.v[i].t <= t; i++)
        apply_to_store(&m->kube, &m->recording.v[i]);
}

static void leave(struct moment *m)
{
    kvmig__kube_clear(&m->kube);
    free_recording(&m->recording);
}

/* ---- chosen moments ---- */

static const struct {
    const char *recording;
    double t;
    const char *vm;
    int32_t intent;
    const char *verdict;
    const char *finding, *action; /* that must be there; NULL */
} looks[] = {
    { "01-happy", 1.0, "ns1/vm1", KVMIG_INTENT_LOOK, "NO_FINDING", NULL, NULL },
    { "01-happy", 1.08, "ns1/vm1", KVMIG_INTENT_LOOK, "WAITING", NULL, NULL },
    { "01-happy", 2.5, "ns1/vm1", KVMIG_INTENT_LOOK, "WAITING", NULL, NULL },
    { "01-happy", 3.5, "ns1/vm1", KVMIG_INTENT_LOOK, "WAITING", NULL, NULL },
    { "01-happy", 5, "ns1/vm1", KVMIG_INTENT_LOOK, "RUNNING", NULL, NULL },
    { "01-happy", 9, "ns1/vm1", KVMIG_INTENT_LOOK, "SUCCEEDED", "LEFTOVER_SOURCE_POD", NULL },
    { "01-happy", 1.5, "ns1/vm1", KVMIG_INTENT_CANCEL, "CANCELLED", NULL, "DELETE_MIGRATION" },
    { "01-happy", 3, "ns1/vm1", KVMIG_INTENT_CANCEL, "CANCELLED", NULL, "DELETE_TARGET_POD" },
    { "01-happy", 5, "ns1/vm1", KVMIG_INTENT_CANCEL, "CANCELLED", NULL, "DELETE_MIGRATION" },
    { "01-happy", 9, "ns1/vm1", KVMIG_INTENT_CANCEL, "SUCCEEDED", NULL, NULL },
    { "01-happy", 5, "ns1/vm1", KVMIG_INTENT_ROLLBACK, "CANCELLED", NULL, "DELETE_MIGRATION" },
    { "01-happy", 9, "ns1/vm1", KVMIG_INTENT_ROLLBACK, "REFUSED", NULL, NULL },
    { "02-unschedulable", 1.3, "ns1/vm1", KVMIG_INTENT_LOOK, "TARGET_UNSCHEDULABLE", "TARGET_UNSCHEDULABLE", NULL },
    { "02-unschedulable", 60, "ns1/vm1", KVMIG_INTENT_LOOK, "TARGET_UNSCHEDULABLE", "TARGET_UNSCHEDULABLE", NULL },
    { "02-unschedulable", 1.3, "ns1/vm1", KVMIG_INTENT_CANCEL, "CANCELLED", NULL, "DELETE_MIGRATION" },
    { "03-image-pull", 1.2, "ns1/vm1", KVMIG_INTENT_LOOK, "WAITING", NULL, NULL },
    { "03-image-pull", 1.3, "ns1/vm1", KVMIG_INTENT_LOOK, "TARGET_IMAGE_PULL", "TARGET_IMAGE_PULL", NULL },
    { "04-cancel-scheduling", 2.21, "ns1/vm1", KVMIG_INTENT_LOOK, "WAITING", NULL, NULL },
    { "04-cancel-scheduling", 2.24, "ns1/vm1", KVMIG_INTENT_LOOK, "CANCELLED", NULL, NULL },
    { "04-cancel-scheduling", 9, "ns1/vm1", KVMIG_INTENT_LOOK, "NO_FINDING", NULL, NULL },
    { "05-cancel-preparing", 3, "ns1/vm1", KVMIG_INTENT_LOOK, "WAITING", NULL, NULL },
    { "05-cancel-preparing", 3, "ns1/vm1", KVMIG_INTENT_CANCEL, "CANCELLED", NULL, "DELETE_TARGET_POD" },
    { "06-cancel-running", 4, "ns1/vm1", KVMIG_INTENT_LOOK, "RUNNING", NULL, NULL },
    { "06-cancel-running", 5.71, "ns1/vm1", KVMIG_INTENT_LOOK, "CANCELLED_BY_USER", NULL, NULL },
    { "06-cancel-running", 9, "ns1/vm1", KVMIG_INTENT_LOOK, "CANCELLED_BY_USER", NULL, NULL },
    { "07-source-reports-failure", 4, "ns1/vm1", KVMIG_INTENT_LOOK, "RUNNING", NULL, NULL },
    { "07-source-reports-failure", 6, "ns1/vm1", KVMIG_INTENT_LOOK, "CPU_FEATURE_MISSING", "CPU_FEATURE_MISSING",
      NULL },
    { "08-target-lost", 6, "ns1/vm1", KVMIG_INTENT_LOOK, "FAILED", "TARGET_POD_LOST", NULL },
    { "09-hotplug", 2, "ns1/vm1", KVMIG_INTENT_LOOK, "WAITING", NULL, NULL },
    { "09-hotplug", 5, "ns1/vm1", KVMIG_INTENT_LOOK, "WAITING", NULL, NULL },
    { "09-hotplug", 20, "ns1/vm1", KVMIG_INTENT_LOOK, "SUCCEEDED", NULL, NULL },
    { "10-hotplug-unschedulable", 2, "ns1/vm1", KVMIG_INTENT_LOOK, "TARGET_UNSCHEDULABLE", NULL, NULL },
    { "10-hotplug-unschedulable", 19, "ns1/vm1", KVMIG_INTENT_LOOK, "TARGET_UNSCHEDULABLE", "TARGET_PODS_CYCLE", NULL },
    { "11-slots", 5, "ns1/vm1-2", KVMIG_INTENT_LOOK, "WAITING", NULL, NULL },
    { "11-slots", 11.5, "ns1/vm1-2", KVMIG_INTENT_LOOK, "WAITING", NULL, NULL },
    { "11-slots", 11.5, "ns1/vm1", KVMIG_INTENT_LOOK, "SUCCEEDED", NULL, NULL },
    { "11-slots", 30, "ns1/vm1-2", KVMIG_INTENT_LOOK, "SUCCEEDED", NULL, NULL },
};

static void at_chosen_moments_the_verdict_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(looks); i++) {
        struct kvmig_diagnosis *diagnosis;
        struct moment m;

        reach(&m, looks[i].recording, looks[i].t);
        diagnosis = diagnose(&m.kube, NULL, looks[i].vm, NULL, looks[i].intent, wall_of(&m.recording, looks[i].t));
        if (strcmp(diagnosis->verdict, looks[i].verdict) != 0)
            fail_msg("%s at %.2f, intent %d: %s, not %s: %s", looks[i].recording, looks[i].t, looks[i].intent,
                     diagnosis->verdict, looks[i].verdict, diagnosis->summary);
        if (looks[i].finding && !look_up(&diagnosis->findings, looks[i].finding))
            fail_msg("%s at %.2f: no %s", looks[i].recording, looks[i].t, looks[i].finding);
        if (looks[i].action && !look_up(&diagnosis->actions, looks[i].action))
            fail_msg("%s at %.2f: no %s", looks[i].recording, looks[i].t, looks[i].action);
        kvmig_diagnosis_unref(diagnosis);
        leave(&m);
    }
}

/* ---- every moment ---- */

static const char *const names[] = {
    "01-happy",
    "02-unschedulable",
    "03-image-pull",
    "04-cancel-scheduling",
    "05-cancel-preparing",
    "06-cancel-running",
    "07-source-reports-failure",
    "08-target-lost",
    "09-hotplug",
    "10-hotplug-unschedulable",
    "11-slots",
};

/* A pod that is to be deleted is not the one in which the VMI says that the guest runs. */
static void check_pod(const struct kvmig__kube *kube, const struct kvmig_finding *action, const char *where)
{
    const struct kvmig__kube_pod *pod = KVMIG__KUBE_FIND(kube, POD, "ns1", strrchr(action->object, '/') + 1);

    KVMIG__KUBE_EACH(kube, VMI, vmi)
    {
        const struct kvmig__kube_pod *home = kvmig__kube_source_pod(kube, vmi);

        if (pod && home == pod)
            fail_msg("%s: %s of %s, in which the guest runs", where, action->code, action->object);
    }
}

static void check_actions(const struct kvmig__kube *kube, const struct kvmig_diagnosis *diagnosis, const char *where)
{
    static const char *const never[] = { "RESUME_SOURCE",        "RESUME_TARGET",  "DESTROY_SOURCE",
                                         "DESTROY_TARGET",       "REVERT_VOLUMES", "KEEP_TARGET_VOLUMES",
                                         "SET_REQUESTED_CHASSIS" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(never); i++)
        if (look_up(&diagnosis->actions, never[i]))
            fail_msg("%s: %s is proposed", where, never[i]);
    for (size_t i = 0; i < diagnosis->actions.n; i++)
        if (strstr(diagnosis->actions.v[i].code, "_POD"))
            check_pod(kube, &diagnosis->actions.v[i], where);
}

static bool goes_well(const char *name)
{
    return !strcmp(name, "01-happy") || !strcmp(name, "09-hotplug") || !strcmp(name, "11-slots");
}

static void check_look(const struct kvmig_diagnosis *diagnosis, const char *name, const char *where)
{
    static const char *const never[] = { "SPLIT_BRAIN",           "VM_LOST",          "SUCCEEDED_UNREPORTED",
                                         "STALE_MIGRATION_STATE", "STALE_ACTIVE_POD", "LEFTOVER_TARGET_POD",
                                         "POSTCOPY_ACTIVE",       "POSTCOPY_FAILED",  "FAILED_SOURCE_PAUSED" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(never); i++)
        if (!strcmp(diagnosis->verdict, never[i]) || look_up(&diagnosis->findings, never[i]))
            fail_msg("%s: %s", where, never[i]);
    for (size_t i = 0; goes_well(name) && i < diagnosis->findings.n; i++)
        if (diagnosis->findings.v[i].severity >= KVMIG_SEVERITY_ERROR)
            fail_msg("%s: %s, and all goes well", where, diagnosis->findings.v[i].code);
}

static void look_around(const struct kvmig__kube *kube, const char *name, double t, int64_t now_ms)
{
    for (int32_t intent = KVMIG_INTENT_LOOK; intent <= KVMIG_INTENT_DRAIN; intent++) {
        struct kvmig_diagnosis *diagnosis = diagnose(kube, NULL, "ns1/vm1", NULL, intent, now_ms);
        char *where = kvmig__asprintf("%s at %.2f, intent %d", name, t, intent);

        check_actions(kube, diagnosis, where);
        if (intent == KVMIG_INTENT_LOOK)
            check_look(diagnosis, name, where);
        free(where);
        kvmig_diagnosis_unref(diagnosis);
    }
}

static void at_no_moment_harm_is_advised(void **state)
{
    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(names); i++) {
        struct moment m = { .kube = { .now_ms = 0 } };

        load_recording(&m.recording, names[i]);
        know_all(&m.kube);
        for (size_t k = 0; k < m.recording.n; k++) {
            const double t = m.recording.v[k].t;

            apply_to_store(&m.kube, &m.recording.v[k]);
            if (KVMIG__KUBE_FIND(&m.kube, VMI, "ns1", "vm1"))
                look_around(&m.kube, names[i], t, wall_of(&m.recording, t));
        }
        leave(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_chosen_moments_the_verdict_is_right),
        cmocka_unit_test(at_no_moment_harm_is_advised),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
