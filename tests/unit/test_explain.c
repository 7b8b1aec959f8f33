/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The explanation as a value, and what it says at chosen moments of the recordings. Single waits are in test_explain_phases.c and
 * test_explain_pods.c.
 */
#include "base/finding_internal.h"
#include "explain_test.h"

/* ---- the value ---- */

static void the_first_blocker_comes_first(void **state)
{
    struct kvmig_explanation *explanation = kvmig__explanation_new();

    (void)state;
    kvmig__explanation_add(explanation, "WAITING", KVMIG_SEVERITY_INFO, 0)->object = kvmig__strdup("migration/ns1/m");
    kvmig__explanation_add(explanation, "YOUNGER", KVMIG_SEVERITY_ERROR, 2)->since_ms = 20;
    kvmig__explanation_add(explanation, "OLDER", KVMIG_SEVERITY_ERROR, 2)->since_ms = 10;
    kvmig__explanation_add(explanation, "UNDATED", KVMIG_SEVERITY_ERROR, 2);
    kvmig__explanation_add(explanation, "SHALLOW", KVMIG_SEVERITY_ERROR, 1)->since_ms = 1;
    kvmig__explanation_add(explanation, "MILD", KVMIG_SEVERITY_WARN, 3);
    kvmig__explanation_finish(explanation);
    assert_int_equal(kvmig_explanation_count(explanation), 6);
    assert_string_equal(kvmig_explanation_wait(explanation, 0)->code, "OLDER");
    assert_string_equal(kvmig_explanation_wait(explanation, 1)->code, "YOUNGER");
    assert_string_equal(kvmig_explanation_wait(explanation, 2)->code, "UNDATED");
    assert_string_equal(kvmig_explanation_wait(explanation, 3)->code, "SHALLOW");
    assert_string_equal(kvmig_explanation_wait(explanation, 4)->code, "MILD");
    assert_string_equal(kvmig_explanation_wait(explanation, 5)->code, "WAITING");
    assert_null(kvmig_explanation_wait(explanation, 6));
    assert_string_equal(kvmig_explanation_verdict(explanation), "OLDER");
    says(kvmig_explanation_summary(explanation), "migration/ns1/m");
    says(kvmig_explanation_summary(explanation), "OLDER");
    kvmig_explanation_unref(explanation);
}

static void an_empty_explanation_says_so(void **state)
{
    struct kvmig_explanation *explanation = kvmig__explanation_new();
    char *json;

    (void)state;
    kvmig__explanation_finish(explanation);
    assert_int_equal(kvmig_explanation_count(explanation), 0);
    assert_string_equal(kvmig_explanation_verdict(explanation), "NO_FINDING");
    assert_true(*kvmig_explanation_summary(explanation));
    assert_int_equal(kvmig_explanation_to_json(explanation, &json), 0);
    says(json, "NO_FINDING");
    free(json);
    kvmig_explanation_unref(explanation);
}

static void json_has_what_is_known_and_null_is_refused(void **state)
{
    struct kvmig_explanation *explanation = kvmig__explanation_new(), *again;
    struct kvmig__wait *wait = kvmig__explanation_add(explanation, "WAITING", KVMIG_SEVERITY_WARN, 1);
    struct json_object *json, *first;
    char *text = NULL;

    (void)state;
    wait->object = kvmig__strdup("pod/ns1/p");
    wait->ends_ms = 4000;
    kvmig__explanation_finish(explanation);
    again = kvmig_explanation_ref(explanation);
    kvmig_explanation_unref(explanation);
    assert_int_equal(kvmig_explanation_to_json(again, &text), 0);
    json = json_tokener_parse(text);
    first = json_object_array_get_idx(member(json, "waits"), 0);
    assert_string_equal(json_object_get_string(member(first, "severity")), "warn");
    assert_string_equal(json_object_get_string(member(first, "object")), "pod/ns1/p");
    assert_int_equal(json_object_get_int64(member(first, "ends_ms")), 4000);
    assert_int_equal(json_object_get_int(member(first, "depth")), 1);
    assert_null(member(first, "since_ms"));
    assert_null(member(first, "hint"));
    json_object_put(json);
    free(text);
    assert_true(kvmig_explanation_to_json(NULL, &text) < 0);
    assert_null(text);
    assert_true(kvmig_explanation_to_json(again, NULL) < 0);
    kvmig_explanation_unref(again);
    kvmig_explanation_unref(NULL);
    assert_null(kvmig_explanation_ref(NULL));
    assert_int_equal(kvmig_explanation_count(NULL), 0);
}

/* ---- moments of the recordings ---- */

struct moment {
    struct recording recording;
    struct kvmig__kube kube;
    struct kvmig_explanation *explanation;
    int64_t now_ms;
};

/* The store as it was t seconds after the recording's begin. */
static void at_moment(struct moment *m, const char *name, const char *vmi, const char *vmim, double t)
{
    *m = (struct moment){ 0 };
    load_recording(&m->recording, name);
    know_all(&m->kube);
    for (size_t i = 0; i < m->recording.n && m->recording.v[i].t <= t; i++)
        apply_to_store(&m->kube, &m->recording.v[i]);
    m->now_ms = wall_of(&m->recording, t);
    m->explanation = explain(&m->kube, vmi, vmim, NULL, m->now_ms);
}

static void leave_moment(struct moment *m)
{
    kvmig_explanation_unref(m->explanation);
    kvmig__kube_clear(&m->kube);
    free_recording(&m->recording);
}

static void an_unschedulable_target_is_named_at_once(void **state)
{
    const struct kvmig_wait *wait;
    struct moment m;

    (void)state;
    at_moment(&m, "02-unschedulable", "vm1", "mig1", 1.3);
    wait = first_is(m.explanation, "TARGET_UNSCHEDULABLE", KVMIG_SEVERITY_ERROR);
    assert_string_equal(wait->object, "pod/ns1/virt-launcher-vm1-xdk8d");
    says(wait->condition, "none of 2 nodes");
    says(wait->condition, "1: node(s) didn't match pod anti-affinity rules");
    says(wait->evidence, "0/2 nodes are available");
    says(wait->limit, "unschedulable pod time-out (8 s)");
    assert_int_equal(wait->ends_ms, m.now_ms / 1000 * 1000 + 8000);
    assert_string_equal(kvmig_explanation_verdict(m.explanation), "TARGET_UNSCHEDULABLE");
    says(kvmig_explanation_summary(m.explanation), "phase Scheduling");
    assert_string_equal(the_wait(m.explanation, "WAITING")->waits_for, wait->object);
    leave_moment(&m);
    at_moment(&m, "02-unschedulable", "vm1", "mig1", 60);
    assert_string_equal(kvmig_explanation_verdict(m.explanation), "TARGET_UNSCHEDULABLE");
    assert_string_equal(kvmig_explanation_wait(m.explanation, 0)->object, "pod/ns1/virt-launcher-vm1-xdk8d");
    leave_moment(&m);
}

static void an_image_that_cannot_be_pulled_is_named_at_once(void **state)
{
    const struct kvmig_wait *wait;
    struct moment m;

    (void)state;
    at_moment(&m, "03-image-pull", "vm1", "mig1", 1.3);
    wait = first_is(m.explanation, "TARGET_IMAGE_PULL", KVMIG_SEVERITY_ERROR);
    says(wait->condition, "container compute");
    says(wait->condition, "registry.example/virt-launcher:v1");
    says(wait->evidence, "ImagePullBackOff");
    says(wait->limit, "pending pod time-out (8 s)");
    assert_string_equal(wait->waits_for, "image/registry.example/virt-launcher:v1");
    leave_moment(&m);
}

static void hotplug_waits_for_launcher_then_attachment_without_alarm(void **state)
{
    static const struct {
        double t;
        const char *code, *object;
    } moments[] = {
        { 2.0, "TARGET_POD_STARTING", "pod/ns1/virt-launcher-vm1-fsbgc" },
        { 3.5, "TARGET_POD_STARTING", "pod/ns1/virt-launcher-vm1-fsbgc" },
        { 3.87, "ATTACHMENT_POD_PENDING", "vm/ns1/vm1" },
        { 6.0, "TARGET_POD_STARTING", "pod/ns1/hp-volume-df7sh" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(moments); i++) {
        struct moment m;

        at_moment(&m, "09-hotplug", "vm1", "mig1", moments[i].t);
        assert_string_equal(first_is(m.explanation, moments[i].code, KVMIG_SEVERITY_INFO)->object, moments[i].object);
        assert_string_equal(kvmig_explanation_verdict(m.explanation), "WAITING");
        says(the_wait(m.explanation, "WAITING")->evidence, "hotplugged");
        leave_moment(&m);
    }
}

static void the_endless_cycle_of_hotplug_is_named(void **state)
{
    struct moment m;

    (void)state;
    at_moment(&m, "10-hotplug-unschedulable", "vm1", "mig1", 5);
    first_is(m.explanation, "TARGET_UNSCHEDULABLE", KVMIG_SEVERITY_ERROR);
    assert_null(find_wait(m.explanation, "TARGET_PODS_CYCLE"));
    leave_moment(&m);
    at_moment(&m, "10-hotplug-unschedulable", "vm1", "mig1", 12.5);
    first_is(m.explanation, "TARGET_UNSCHEDULABLE", KVMIG_SEVERITY_ERROR);
    says(the_wait(m.explanation, "TARGET_PODS_CYCLE")->condition, "3 target pods");
    assert_null(the_wait(m.explanation, "TARGET_PODS_CYCLE")->limit);
    leave_moment(&m);
    at_moment(&m, "10-hotplug-unschedulable", "vm1", "mig1", 18.5); /* the next pod has no status yet */
    says(first_is(m.explanation, "TARGET_PODS_CYCLE", KVMIG_SEVERITY_ERROR)->condition, "4 target pods");
    leave_moment(&m);
}

static void a_full_node_is_named_with_the_place_in_the_queue(void **state)
{
    const struct kvmig_wait *wait;
    struct kvmig_explanation *explanation;
    struct moment m;

    (void)state;
    at_moment(&m, "11-slots", "vm1-2", "mig1-2", 6);
    put(&m.kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'KubeVirt','metadata':{'name':'kubevirt','namespace':'kubevirt'},'spec':"
        "{'configuration':{'migrations':{'parallelOutboundMigrationsPerNode':1}}},'status':{'phase':'Deployed'}}");
    explanation = explain(&m.kube, "vm1-2", "mig1-2", NULL, m.now_ms);
    wait = first_is(explanation, "LIMIT_REACHED", KVMIG_SEVERITY_INFO);
    assert_string_equal(wait->object, "node/node-a");
    says(wait->condition, "1 of 1 slots");
    says(wait->condition, "place 1 in the queue");
    says(wait->evidence, "ns1/mig1");
    assert_string_equal(kvmig_explanation_verdict(explanation), "WAITING");
    kvmig_explanation_unref(explanation);
    leave_moment(&m);
}

static void a_cancel_that_is_put_off_is_explained(void **state)
{
    const struct kvmig_wait *wait;
    struct moment m;

    (void)state;
    at_moment(&m, "05-cancel-preparing", "vm1", "mig1", 5);
    wait = the_wait(m.explanation, "CANCEL_PENDING");
    says(wait->condition, "takes effect once the copy runs");
    says(wait->limit, "start timer");
    assert_true(wait->ends_ms > m.now_ms);
    says(wait->hint, "target launcher pod");
    assert_non_null(find_wait(m.explanation, "TARGET_PREPARING"));
    leave_moment(&m);
    at_moment(&m, "05-cancel-preparing", "vm1", "mig1", 8.12);
    assert_string_equal(kvmig_explanation_verdict(m.explanation), "CANCELLED");
    leave_moment(&m);
}

static void a_running_copy_has_a_limit_and_success_is_no_alarm(void **state)
{
    const struct kvmig_wait *wait;
    struct moment m;

    (void)state;
    at_moment(&m, "01-happy", "vm1", "mig1", 5);
    wait = first_is(m.explanation, "COPYING", KVMIG_SEVERITY_INFO);
    says(wait->limit, "completion limit (300 s); progress time-out (150 s");
    assert_int_equal(wait->ends_ms, wait->since_ms + 300000);
    assert_string_equal(kvmig_explanation_verdict(m.explanation), "RUNNING");
    leave_moment(&m);
    at_moment(&m, "01-happy", "vm1", "mig1", 7.5);
    first_is(m.explanation, "FINALIZING", KVMIG_SEVERITY_INFO);
    leave_moment(&m);
    at_moment(&m, "01-happy", "vm1", "mig1", 100);
    assert_string_equal(kvmig_explanation_verdict(m.explanation), "SUCCEEDED");
    says(the_wait(m.explanation, "LEFTOVER_SOURCE_POD")->condition, "harmless");
    assert_int_equal(worst(m.explanation), KVMIG_SEVERITY_INFO);
    leave_moment(&m);
}

/* At no moment of a migration that goes well is there more than a remark. */
static void a_migration_that_goes_well_raises_no_alarm(void **state)
{
    static const char *const names[] = { "01-happy", "09-hotplug", "11-slots" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(names); i++) {
        for (double t = 0.5; t < 10.5; t += 0.25) {
            struct moment m;

            at_moment(&m, names[i], "vm1", "mig1", t);
            if (worst(m.explanation) > KVMIG_SEVERITY_INFO)
                fail_msg("%s at %.2f: %s", names[i], t, kvmig_explanation_summary(m.explanation));
            leave_moment(&m);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_blocker_comes_first),
        cmocka_unit_test(an_empty_explanation_says_so),
        cmocka_unit_test(json_has_what_is_known_and_null_is_refused),
        cmocka_unit_test(an_unschedulable_target_is_named_at_once),
        cmocka_unit_test(an_image_that_cannot_be_pulled_is_named_at_once),
        cmocka_unit_test(hotplug_waits_for_launcher_then_attachment_without_alarm),
        cmocka_unit_test(the_endless_cycle_of_hotplug_is_named),
        cmocka_unit_test(a_full_node_is_named_with_the_place_in_the_queue),
        cmocka_unit_test(a_cancel_that_is_put_off_is_explained),
        cmocka_unit_test(a_running_copy_has_a_limit_and_success_is_no_alarm),
        cmocka_unit_test(a_migration_that_goes_well_raises_no_alarm),
    };

    kvmig__findings_hook = NULL; /* made-up codes */
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
