/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The follower's judgement, case by case: what proves where the guest is and what does not, the two sides, what a cancel would do
 * in each phase, and whose objects are read. Causes are in test_follow_causes.c; what KubeVirt really wrote is played by
 * test_follow_recordings.c.
 */
#include "follow_world.h"

#include "session/resolver.h"
#include <time.h>

/* ---- where the guest is ---- */

static void only_the_node_of_the_vmi_proves_that_it_moved(void **state)
{
    struct world *w = *state;

    copy_runs(w);
    vmi_is(w, "Running", "node-a", COPYING ",'targetNodeDomainReadyTimestamp':'2026-11-30T11:00:20Z'");
    update(w);
    assert_int_equal(w->follow.end, KVMIG__END_OPEN);
    vmim_is(w, "Succeeded", 22, NULL); /* the VMI's change is still under way */
    update(w);
    assert_int_equal(w->follow.end, KVMIG__END_OPEN);
    vmi_is(w, "Running", "node-b", COPYING ",'endTimestamp':'2026-11-30T11:00:21Z','completed':true");
    update(w);
    assert_ended(w, KVMIG__END_MOVED, "SUCCEEDED");
    assert_int_equal(w->follow.node_flipped_seen_ms, T0 + 1000000);
}

static void a_guest_on_the_target_has_moved_whatever_the_vmim_says(void **state)
{
    struct world *w = *state;

    copy_runs(w);
    vmi_is(w, "Running", "node-b", COPYING ",'endTimestamp':'2026-11-30T11:00:21Z'");
    vmim_is(w, "Failed", 22, NULL);
    vmim_event(w, "FailedMigration", "Migration failed because target pod shutdown during migration");
    update(w);
    assert_ended(w, KVMIG__END_MOVED, "SUCCEEDED_UNREPORTED");
}

static void a_failed_vmim_does_not_prove_that_the_copy_ended(void **state)
{
    struct world *w = *state;

    copy_runs(w);
    vmim_is(w, "Failed", 30, NULL);
    update(w);
    assert_int_equal(w->follow.end, KVMIG__END_OPEN);
    vmi_is(w, "Running", "node-b", COPYING ",'endTimestamp':'2026-11-30T11:00:31Z','completed':true");
    update(w);
    assert_ended(w, KVMIG__END_MOVED, "SUCCEEDED_UNREPORTED");
}

static void a_vmim_that_vanishes_while_the_copy_runs_proves_nothing(void **state)
{
    struct world *w = *state;

    copy_runs(w);
    drop(&w->kube, &w->follow, KVMIG__KUBE_VMIM, "mig1");
    update(w);
    assert_true(w->follow.gone);
    assert_int_equal(w->follow.end, KVMIG__END_OPEN);
    drop(&w->kube, &w->follow, KVMIG__KUBE_POD, "tgt");
    update(w);
    assert_ended(w, KVMIG__END_STAYED, "CANCELLED");
}

static void a_vmim_that_vanished_with_success_is_never_taken_for_a_stay(void **state)
{
    struct world *w = *state;

    copy_runs(w);
    vmim_is(w, "Succeeded", 30, NULL);
    drop(&w->kube, &w->follow, KVMIG__KUBE_VMIM, "mig1");
    drop(&w->kube, &w->follow, KVMIG__KUBE_POD, "tgt");
    update(w);
    assert_int_equal(w->follow.end, KVMIG__END_OPEN);
    vmi_is(w, "Running", "node-b", COPYING ",'completed':true");
    update(w);
    assert_ended(w, KVMIG__END_MOVED, "SUCCEEDED");
}

static void a_vmim_that_is_not_listed_is_not_gone_while_nothing_is_known(void **state)
{
    struct world *w = *state;

    kvmig__kube_remove(&w->kube, KVMIG__KUBE_VMIM, "ns1", "mig1", NULL);
    w->kube.kinds[KVMIG__KUBE_VMIM].known = KVMIG__KUBE_UNKNOWN;
    update(w);
    assert_false(w->follow.gone);
    w->kube.kinds[KVMIG__KUBE_VMIM].known = KVMIG__KUBE_KNOWN;
    update(w);
    assert_ended(w, KVMIG__END_STAYED, "CANCELLED");
}

static void a_new_vmim_of_the_same_name_is_another(void **state)
{
    struct world *w = *state;

    put(&w->kube, "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'mig1',"
                  "'namespace':'ns1','uid':'another'},'spec':{'vmiName':'vm1'},'status':{'phase':'Running'}}");
    update(w);
    assert_int_equal(w->follow.stage, KVMIG__STAGE_PENDING);
    assert_true(w->follow.gone);
}

static void a_later_migration_to_the_same_node_is_not_ours(void **state)
{
    struct world *w = *state;

    copy_fails(w, "'failureReason':'Target pod is down'");
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstance','metadata':{'name':'vm1','namespace':'ns1',"
        "'uid':'uid-vm1'},'status':{'phase':'Running','nodeName':'node-b','migrationState':{'migrationUid':'another',"
        "'sourceNode':'node-a','targetNode':'node-b','completed':true}}}");
    update(w);
    assert_ended(w, KVMIG__END_STAYED, "TARGET_POD_LOST");
}

static void a_vmi_that_is_gone_is_lost_only_if_vmis_are_known(void **state)
{
    struct world *w = *state;

    copy_runs(w);
    kvmig__kube_remove(&w->kube, KVMIG__KUBE_VMI, "ns1", "vm1", NULL);
    w->kube.kinds[KVMIG__KUBE_VMI].known = KVMIG__KUBE_FORBIDDEN;
    update(w);
    assert_int_equal(w->follow.end, KVMIG__END_OPEN);
    w->kube.kinds[KVMIG__KUBE_VMI].known = KVMIG__KUBE_KNOWN;
    update(w);
    assert_ended(w, KVMIG__END_LOST, "VM_LOST");
}

static void a_guest_that_ended_by_itself_is_not_lost(void **state)
{
    struct world *w = *state;

    copy_runs(w);
    vmi_is(w, "Succeeded", "node-a", COPYING);
    update(w);
    assert_ended(w, KVMIG__END_LOST, "NOTHING_TO_MIGRATE");
}

static void postcopy_is_over_only_when_it_completed(void **state)
{
    struct world *w = *state;

    copy_runs(w);
    vmi_is(w, "Running", "node-b", HANDED_OVER ",'startTimestamp':'2026-11-30T11:00:10Z','mode':'PostCopy'");
    update(w);
    assert_true(w->follow.postcopy_seen);
    assert_int_equal(w->follow.mode, KVMIG_MODE_POST_COPY);
    assert_int_equal(w->follow.end, KVMIG__END_OPEN);
    vmi_is(w, "Running", "node-b", COPYING ",'completed':true");
    update(w);
    assert_ended(w, KVMIG__END_MOVED, "SUCCEEDED");
}

static void a_vmi_that_fails_in_postcopy_has_lost_its_memory(void **state)
{
    struct world *w = *state;

    copy_runs(w);
    vmi_is(w, "Running", "node-a", HANDED_OVER ",'mode':'PostCopy'");
    update(w);
    vmi_is(w, "Failed", "node-a", HANDED_OVER ",'mode':'PostCopy','failed':true,'completed':true");
    update(w);
    assert_ended(w, KVMIG__END_LOST, "POSTCOPY_FAILED");
}

static void a_source_that_sends_its_guest_away_ends_well(void **state)
{
    struct world *w = *state;

    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'mig1',"
        "'namespace':'ns1','uid':'" UID "'},'spec':{'vmiName':'vm1','sendTo':{'migrationID':'m','connectURL':'u'}},"
        "'status':{'phase':'Synchronizing'}}");
    vmi_is(w, "Succeeded", "node-a", NULL);
    update(w);
    assert_int_equal(w->follow.end, KVMIG__END_OPEN);
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'mig1',"
        "'namespace':'ns1','uid':'" UID "'},'spec':{'vmiName':'vm1','sendTo':{'migrationID':'m','connectURL':'u'}},"
        "'status':{'phase':'Succeeded'}}");
    update(w);
    assert_ended(w, KVMIG__END_MOVED, "SUCCEEDED");
}

/* ---- the two sides ---- */

static void assert_sides(struct world *w, int32_t source, int32_t target, int32_t verdict)
{
    struct kvmig__side s = { 0 }, t = { 0 };

    update(w);
    kvmig__follow_sides(&w->follow, &w->kube, &s, &t);
    assert_int_equal(s.reachable, source >= 0);
    assert_int_equal(t.reachable, target >= 0);
    if (s.reachable)
        assert_int_equal(s.state, source);
    else
        assert_non_null(s.error);
    if (t.reachable)
        assert_int_equal(t.state, target);
    assert_int_equal(kvmig__resolve(&s, &t, &t).verdict, verdict);
    kvmig__side_clear(&s);
    kvmig__side_clear(&t);
}

static void the_sides_say_what_the_vmi_proves(void **state)
{
    struct world *w = *state;

    assert_sides(w, KVMIG__STATE_RUNNING, KVMIG__STATE_ABSENT, KVMIG_LOCATION_NO_FINDING);
    copy_runs(w);
    assert_sides(w, KVMIG__STATE_RUNNING, KVMIG__STATE_PAUSED, KVMIG_LOCATION_RUNNING);
    vmi_is(w, "Running", "node-a", HANDED_OVER ",'mode':'PostCopy','startTimestamp':'2026-11-30T11:00:10Z'");
    assert_sides(w, KVMIG__STATE_RUNNING, KVMIG__STATE_PAUSED, KVMIG_LOCATION_RUNNING);
    vmi_is(w, "Running", "node-b", HANDED_OVER ",'mode':'PostCopy','startTimestamp':'2026-11-30T11:00:10Z'");
    assert_sides(w, KVMIG__STATE_PAUSED, KVMIG__STATE_RUNNING, KVMIG_LOCATION_POSTCOPY_ACTIVE);
    vmi_is(w, "Running", "node-b", COPYING ",'completed':true");
    assert_sides(w, KVMIG__STATE_ABSENT, KVMIG__STATE_RUNNING, KVMIG_LOCATION_SUCCEEDED);
    vmi_is(w, "Running", "node-c", NULL);
    assert_sides(w, -1, -1, KVMIG_LOCATION_UNDECIDED);
    vmi_is(w, "Failed", "node-b", NULL);
    assert_sides(w, KVMIG__STATE_ABSENT, KVMIG__STATE_ABSENT, KVMIG_LOCATION_VM_LOST);
}

static void a_vmi_that_cannot_be_read_makes_both_sides_unreachable(void **state)
{
    struct world *w = *state;

    kvmig__kube_remove(&w->kube, KVMIG__KUBE_VMI, "ns1", "vm1", NULL);
    w->kube.kinds[KVMIG__KUBE_VMI].known = KVMIG__KUBE_FORBIDDEN;
    assert_sides(w, -1, -1, KVMIG_LOCATION_UNDECIDED);
    w->kube.kinds[KVMIG__KUBE_VMI].known = KVMIG__KUBE_KNOWN;
    assert_sides(w, KVMIG__STATE_ABSENT, KVMIG__STATE_ABSENT, KVMIG_LOCATION_VM_LOST);
}

static void a_node_that_does_not_answer_proves_nothing(void **state)
{
    struct world *w = *state;

    put(&w->kube,
        "{'apiVersion':'v1','kind':'Node','metadata':{'name':'node-a'},'status':{'conditions':[{'type':'Ready',"
        "'status':'Unknown','message':'Kubelet stopped posting node status.'}]}}");
    assert_sides(w, -1, KVMIG__STATE_ABSENT, KVMIG_LOCATION_UNDECIDED);
}

static void a_paused_guest_says_why(void **state)
{
    static const struct {
        const char *reason;
        int32_t expected;
    } cases[] = { { "PausedByUser", KVMIG__REASON_USER },
                  { "PausedIOError", KVMIG__REASON_IOERROR },
                  { "PausedByMigrationMonitor", KVMIG__REASON_MIGRATION } };
    struct world *w = *state;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct kvmig__side s = { 0 }, t = { 0 };

        put(&w->kube,
            "{'apiVersion':'kubevirt.io/"
            "v1','kind':'VirtualMachineInstance','metadata':{'name':'vm1','namespace':'ns1','uid':"
            "'uid-vm1'},'status':{'phase':'Running','nodeName':'node-a','conditions':[{'type':'Paused','status':'True',"
            "'reason':'%s'}]}}",
            cases[i].reason);
        kvmig__follow_sides(&w->follow, &w->kube, &s, &t);
        assert_int_equal(s.state, KVMIG__STATE_PAUSED);
        assert_int_equal(s.reason, cases[i].expected);
        kvmig__side_clear(&s);
        kvmig__side_clear(&t);
    }
}

/* ---- cancel ---- */

static void assert_cancel(struct world *w, int32_t expected)
{
    const char *why = NULL;

    update(w);
    assert_int_equal(kvmig__follow_cancel_effect(&w->follow, &why), expected);
    assert_non_null(why);
}

static void a_cancel_does_what_its_phase_allows(void **state)
{
    struct world *w = *state;

    assert_cancel(w, KVMIG_CANCEL_ACCEPTED);
    target_is(w, "tgt", "Running", "node-b", NULL);
    vmim_is(w, "Scheduling", 2, NULL);
    assert_cancel(w, KVMIG_CANCEL_ACCEPTED);
    vmim_is(w, "Scheduled", 3, NULL);
    assert_cancel(w, KVMIG_CANCEL_ACCEPTED);
    vmi_is(w, "Running", "node-a", HANDED_OVER);
    assert_cancel(w, KVMIG_CANCEL_DEFERRED);
    vmim_is(w, "PreparingTarget", 4, NULL);
    assert_cancel(w, KVMIG_CANCEL_DEFERRED);
    vmim_is(w, "TargetReady", 5, NULL);
    assert_cancel(w, KVMIG_CANCEL_DEFERRED);
    vmim_is(w, "Running", 10, NULL);
    vmi_is(w, "Running", "node-a", COPYING);
    assert_cancel(w, KVMIG_CANCEL_ACCEPTED);
    vmi_is(w, "Running", "node-a", COPYING ",'targetNodeDomainReadyTimestamp':'2026-11-30T11:00:20Z'");
    assert_cancel(w, KVMIG_CANCEL_TOO_LATE);
}

static void a_cancel_of_postcopy_is_refused(void **state)
{
    struct world *w = *state;

    copy_runs(w);
    vmi_is(w, "Running", "node-a", HANDED_OVER ",'mode':'PostCopy'");
    assert_cancel(w, KVMIG_CANCEL_REFUSED);
}

static void a_cancel_of_a_controllers_migration_does_not_last(void **state)
{
    struct world *w = *state;

    vmim_is(w, "Scheduling", 2, ",'annotations':{'kubevirt.io/evacuationMigration':'node-a'}");
    assert_cancel(w, KVMIG_CANCEL_WILL_RETURN);
    assert_true(w->follow.controller_owned);
}

static void a_cancel_of_anybodys_migration_does_not_last_during_an_eviction(void **state)
{
    struct world *w = *state;

    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstance','metadata':{'name':'vm1','namespace':'ns1',"
        "'uid':'uid-vm1'},'status':{'phase':'Running','nodeName':'node-a','evacuationNodeName':'node-a'}}");
    assert_cancel(w, KVMIG_CANCEL_WILL_RETURN);
    assert_false(w->follow.controller_owned);
}

/* ---- which migration, which pod ---- */

static void the_next_migration_is_bound_when_it_comes(void **state)
{
    struct world *w = *state;
    const struct kvmig__kube_vmi *vmi = KVMIG__KUBE_FIND(&w->kube, VMI, "ns1", "vm1");

    kvmig__follow_clear(&w->follow);
    vmim_is(w, "Failed", 2, NULL); /* an older one */
    kvmig__follow_init(&w->follow, vmi, NULL);
    update(w);
    assert_null(w->follow.vmim);
    w->follow.created_after_ms = T0 + 10000;
    update(w);
    assert_null(w->follow.vmim);
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'mig2',"
        "'namespace':'ns1','uid':'uid-mig2','creationTimestamp':'%s'},'spec':{'vmiName':'vm1'}}",
        at(12));
    update(w);
    assert_string_equal(w->follow.vmim_uid, "uid-mig2");
    assert_int_equal(w->follow.stage, KVMIG__STAGE_NONE);
}

static void an_attachment_pod_is_never_taken_for_the_launcher(void **state)
{
    struct world *w = *state;

    put(&w->kube,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'hp','namespace':'ns1','uid':'uid-hp','creationTimestamp':"
        "'%s','labels':{'kubevirt.io':'hotplug-disk','kubevirt.io/migrationJobUID':'" UID
        "'}},'spec':{'nodeName':'node-z','containers':[{'name':'hotplug-disk'}]},'status':{'phase':'Running'}}",
        at(9));
    target_is(w, "tgt", "Pending", "node-b", NULL);
    update(w);
    assert_string_equal(w->follow.target_pod, "tgt");
    assert_string_equal(w->follow.target_node, "node-b");
    assert_string_equal(w->follow.attachment_pod, "hp");
}

static void another_launcher_does_not_inherit_the_node(void **state)
{
    struct world *w = *state;

    target_is(w, "tgt", "Pending", "node-b", NULL);
    update(w);
    drop(&w->kube, &w->follow, KVMIG__KUBE_POD, "tgt");
    update(w);
    assert_true(w->follow.target_pod_gone);
    assert_string_equal(w->follow.target_node, "node-b");
    target_is(w, "tgt2", "Pending", NULL, NULL);
    update(w);
    assert_false(w->follow.target_pod_gone);
    assert_null(w->follow.target_node);
    assert_int_equal(w->follow.target_pods, 2);
}

static void the_services_have_moved_when_the_last_one_has(void **state)
{
    static const char slice[] =
        "{'apiVersion':'discovery.k8s.io/"
        "v1','kind':'EndpointSlice','metadata':{'name':'%s-x','namespace':'ns1','labels':"
        "{'kubernetes.io/"
        "service-name':'%s'}},'endpoints':[{'addresses':['10.0.0.1'],'conditions':{'ready':%s},'targetRef':{'kind':"
        "'Pod','name':'src'}},{'addresses':['10.0.0.2'],'conditions':{'ready':%s},'targetRef':{'kind':'Pod','name':'"
        "tgt'}}]}";
    struct world *w = *state;

    copy_runs(w);
    put(&w->kube, slice, "a", "a", "true", "false");
    put(&w->kube, slice, "b", "b", "false", "true");
    vmi_is(w, "Running", "node-b", COPYING ",'completed':true");
    update(w);
    assert_int_equal(w->follow.endpoints_moved_ms, 0);
    assert_string_equal(w->follow.service, "a");
    put(&w->kube, slice, "a", "a", "false", "true");
    update(w);
    assert_int_equal(w->follow.endpoints_moved_ms, T0 + 1000000);
}

static struct kvmig__kube_meta *foreign_slice(const char *ns, size_t i)
{
    struct kvmig__kube_slice *slice = (struct kvmig__kube_slice *)kvmig__kube_object_new(KVMIG__KUBE_SLICE);

    slice->meta.ns = kvmig__strdup(ns);
    slice->meta.name = kvmig__asprintf("foreign-%06zu", i);
    slice->service = kvmig__asprintf("foreign-%06zu", i);
    return &slice->meta;
}

/* Processor time of one look, the least of three. */
static clock_t cost_of_a_look(struct world *w)
{
    clock_t least = 0;

    for (int32_t i = 0; i < 3; i++) {
        const clock_t before = clock();
        clock_t cost;

        update(w);
        cost = clock() - before;
        least = i == 0 || cost < least ? cost : least;
    }
    return least;
}

/* Four times as many take about four times as long; each against each would be sixteen times. */
static void many_services_of_others_do_not_matter(void **state)
{
    struct world *w = *state;
    clock_t few, many;

    copy_runs(w);
    vmi_is(w, "Running", "node-b", COPYING ",'completed':true");
    for (size_t i = 0; i < 4000; i++)
        kvmig__kube_put(&w->kube, foreign_slice("ns1", i));
    few = cost_of_a_look(w);
    for (size_t i = 4000; i < 16000; i++)
        kvmig__kube_put(&w->kube, foreign_slice("ns1", i));
    many = cost_of_a_look(w);
    assert_true(many < 10 * (few + CLOCKS_PER_SEC / 1000));
    assert_int_equal(w->follow.endpoints_moved_ms, 0);
    assert_null(w->follow.service);
}

static void services_of_other_namespaces_are_of_others(void **state)
{
    static const char slice[] =
        "{'apiVersion':'discovery.k8s.io/v1','kind':'EndpointSlice','metadata':{'name':'s','namespace':'%s','labels':"
        "{'kubernetes.io/service-name':'s'}},'endpoints':[{'addresses':['10.0.0.2'],'conditions':{'ready':%s},"
        "'targetRef':{'kind':'Pod','name':'tgt'}}]}";
    struct world *w = *state;

    copy_runs(w);
    put(&w->kube, slice, "ns0", "false");
    put(&w->kube, slice, "ns1", "true");
    put(&w->kube, slice, "ns2", "false");
    vmi_is(w, "Running", "node-b", COPYING ",'completed':true");
    update(w);
    assert_int_equal(w->follow.endpoints_moved_ms, T0 + 1000000);
}

static void stages_have_names_and_phases(void **state)
{
    (void)state;
    for (int32_t stage = KVMIG__STAGE_NONE; stage <= KVMIG__STAGE_FAILED; stage++)
        assert_string_equal(kvmig__stage_name(stage), kvmig_phase_name(kvmig__stage_phase(stage)));
    assert_null(kvmig__stage_name(KVMIG__STAGE_FAILED + 1));
    assert_null(kvmig__stage_name(-1));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(only_the_node_of_the_vmi_proves_that_it_moved),
        T(a_guest_on_the_target_has_moved_whatever_the_vmim_says),
        T(a_failed_vmim_does_not_prove_that_the_copy_ended),
        T(a_vmim_that_vanishes_while_the_copy_runs_proves_nothing),
        T(a_vmim_that_vanished_with_success_is_never_taken_for_a_stay),
        T(a_vmim_that_is_not_listed_is_not_gone_while_nothing_is_known),
        T(a_new_vmim_of_the_same_name_is_another),
        T(a_later_migration_to_the_same_node_is_not_ours),
        T(a_vmi_that_is_gone_is_lost_only_if_vmis_are_known),
        T(a_guest_that_ended_by_itself_is_not_lost),
        T(postcopy_is_over_only_when_it_completed),
        T(a_vmi_that_fails_in_postcopy_has_lost_its_memory),
        T(a_source_that_sends_its_guest_away_ends_well),
        T(the_sides_say_what_the_vmi_proves),
        T(a_vmi_that_cannot_be_read_makes_both_sides_unreachable),
        T(a_node_that_does_not_answer_proves_nothing),
        T(a_paused_guest_says_why),
        T(a_cancel_does_what_its_phase_allows),
        T(a_cancel_of_postcopy_is_refused),
        T(a_cancel_of_a_controllers_migration_does_not_last),
        T(a_cancel_of_anybodys_migration_does_not_last_during_an_eviction),
        T(the_next_migration_is_bound_when_it_comes),
        T(an_attachment_pod_is_never_taken_for_the_launcher),
        T(another_launcher_does_not_inherit_the_node),
        T(the_services_have_moved_when_the_last_one_has),
        T(many_services_of_others_do_not_matter),
        T(services_of_other_namespaces_are_of_others),
        T(stages_have_names_and_phases),
    };
#undef T

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
