/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What target launcher and attachment pod wait for: the scheduler's message and the labels that nodes lack, images, volumes,
 * network, containers, and the circle of hotplugged volumes and a network that waits for Scheduling.
 */
#include "explain_test.h"

struct world {
    struct kvmig__kube kube;
    struct kvmig_explanation *explanation;
};

static void vmim_is(struct world *w, const char *phase, const char *annotations)
{
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/"
        "v1','kind':'VirtualMachineInstanceMigration','metadata':{'name':'mig1','namespace':'ns1','uid':"
        "'uid-mig1','creationTimestamp':'%s','annotations':{%s}},'spec':{'vmiName':'vm1'},'status':{'phase':'%s',"
        "'phaseTransitionTimestamps':[{'phase':'%s','phaseTransitionTimestamp':'%s'}]}}",
        at(0), annotations ? annotations : "", phase, phase, at(1));
}

/* With a hotplugged volume or without. */
static void vmi_is(struct world *w, bool hotplug)
{
    put(&w->kube,
        "{'apiVersion':'kubevirt.io/"
        "v1','kind':'VirtualMachineInstance','metadata':{'name':'vm1','namespace':'ns1','uid':'uid-vm1'},"
        "'spec':{'domain':{}},'status':{'nodeName':'node-a','phase':'Running'%s}}",
        hotplug ? ",'volumeStatus':[{'name':'data','hotplugVolume':{'attachPodName':'hp0'}}]" : "");
}

/* A pod of the migration, created one second after it; spec and status are members. */
static void pod_is(struct world *w, const char *name, const char *role, const char *spec, const char *status)
{
    put(&w->kube,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','namespace':'ns1','uid':'uid-%s','creationTimestamp':'"
        "%s','labels':{"
        "'kubevirt.io':'%s','kubevirt.io/"
        "migrationJobUID':'uid-mig1'}},'spec':{'containers':[{'name':'compute','image':'launcher:v1'},"
        "{'name':'volumeroot','image':'disk@sha256:1'}]%s},'status':{%s}}",
        name, name, at(1), role, spec ? spec : "", status ? status : "");
}

static void target_is(struct world *w, const char *spec, const char *status)
{
    pod_is(w, "tgt", "virt-launcher", spec, status);
}

static void attachment_is(struct world *w, const char *spec, const char *status)
{
    pod_is(w, "hp1", "hotplug-disk", spec, status);
}

/* An event about a pod, first seen at second first. */
static void event_is(struct world *w, const char *pod, const char *reason, const char *message, int first, int last,
                     int count)
{
    put(&w->kube,
        "{'apiVersion':'v1','kind':'Event','metadata':{'name':'%s.%s','namespace':'ns1'},'involvedObject':{'kind':'Pod'"
        ",'namespace':"
        "'ns1','name':'%s','uid':'uid-%s'},'type':'Warning','reason':'%s','message':'%s','count':%d,'firstTimestamp':'%"
        "s',"
        "'lastTimestamp':'%s'}",
        pod, reason, pod, pod, reason, message, count, at(first), at(last));
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
    vmi_is(w, false);
    vmim_is(w, "Scheduling", NULL);
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

#define ON_B ",'nodeName':'node-b'"
#define RUNNING                                                                                                        \
    "'phase':'Running','startTime':'2026-11-30T11:00:03Z','containerStatuses':["                                       \
    "{'name':'compute','state':{'running':{'startedAt':'2026-11-30T11:00:03Z'}}},"                                     \
    "{'name':'volumeroot','ready':true,'state':{'running':{'startedAt':'2026-11-30T11:00:03Z'}}}]"

/* ---- the scheduler ---- */

static void the_schedulers_message_is_split_into_counts(void **state)
{
    struct kvmig__pairs reasons;
    uint32_t total;

    (void)state;
    assert_int_equal(
        kvmig__scheduler_message("0/7 nodes are available: 1 node(s) had untolerated taint {a.b/c: d, e. f}, "
                                 "2 Insufficient memory, 3 node(s) didn't match Pod's node affinity/selector, 1 "
                                 "Insufficient memory. preemption: 0/7 nodes are available: 7 Preemption is not "
                                 "helpful for scheduling.",
                                 &total, &reasons),
        3);
    assert_int_equal(total, 7);
    assert_string_equal(kvmig__pairs_get(&reasons, "node(s) had untolerated taint {a.b/c: d, e. f}"), "1");
    assert_string_equal(kvmig__pairs_get(&reasons, "Insufficient memory"), "3");
    assert_string_equal(kvmig__pairs_get(&reasons, "node(s) didn't match Pod's node affinity/selector"), "3");
    kvmig__pairs_clear(&reasons);

    assert_int_equal(
        kvmig__scheduler_message("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. no new "
                                 "claims to deallocate, preemption: not helpful.",
                                 &total, &reasons),
        1);
    assert_string_equal(kvmig__pairs_get(&reasons, "pod has unbound immediate PersistentVolumeClaims"), "3");
    kvmig__pairs_clear(&reasons);
}

static void what_is_no_message_of_the_scheduler_gives_no_counts(void **state)
{
    static const char *const texts[] = { NULL,
                                         "",
                                         "0/",
                                         "0/x",
                                         "no nodes",
                                         "0/3",
                                         "0/3 nodes are available",
                                         "0/3: ",
                                         "0/99999999999999999999: 1 a",
                                         "0/1: {",
                                         "0/1: ,,,",
                                         "0/1: }}}. ",
                                         "0/1: 5" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        struct kvmig__pairs reasons;
        uint32_t total;

        kvmig__scheduler_message(texts[i], &total, &reasons);
        for (size_t k = 0; k < reasons.n; k++)
            assert_true(*reasons.v[k].key);
        kvmig__pairs_clear(&reasons);
    }
}

static void node_is(struct world *w, const char *name, const char *labels)
{
    put(&w->kube, "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','labels':{%s}}}", name, labels);
}

#define WANTS                                                                                                          \
    ",'nodeSelector':{'cpu-feature.node.kubevirt.io/ddpd-u':'true','kubernetes.io/hostname':'node-b'},'affinity':{"    \
    "'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'matchExpressions':["     \
    "{'key':'node-labeller.kubevirt.io/obsolete-host-model','operator':'DoesNotExist'},"                               \
    "{'key':'zone','operator':'In','values':['z1','z2']}]}]}}}"
#define UNSCHEDULABLE                                                                                                  \
    "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable','message':"      \
    "'0/2 nodes are available: 2 node(s) didn`t match Pod`s node affinity/selector.'}]"

static void labels_that_nodes_lack_are_named_per_node(void **state)
{
    struct world *w = *state;
    struct kvmig__strlist missing = { 0 };
    const struct kvmig_wait *wait;
    char *all;

    node_is(w, "node-a", "'kubernetes.io/hostname':'node-a'"); /* the source */
    node_is(w, "node-b", "'kubernetes.io/hostname':'node-b','zone':'z2'");
    node_is(w, "node-c",
            "'kubernetes.io/hostname':'node-c','cpu-feature.node.kubevirt.io/ddpd-u':'true','zone':'z9',"
            "'node-labeller.kubevirt.io/obsolete-host-model':'true'");
    target_is(w, WANTS, UNSCHEDULABLE);
    assert_int_equal(kvmig__missing_labels(&w->kube, KVMIG__KUBE_FIND(&w->kube, POD, "ns1", "tgt"), "node-a", &missing),
                     0);
    all = kvmig__strlist_join(&missing, "; ");
    assert_string_equal(all, "node-b lacks: cpu-feature.node.kubevirt.io/ddpd-u; node-c lacks: "
                             "kubernetes.io/hostname=node-b, must not have "
                             "node-labeller.kubevirt.io/obsolete-host-model, zone=z1|z2");
    free(all);
    kvmig__strlist_clear(&missing);
    wait = first_is(explained(w, 5), "TARGET_UNSCHEDULABLE", KVMIG_SEVERITY_ERROR);
    says(wait->evidence, "node-b lacks: cpu-feature.node.kubevirt.io/ddpd-u; node-c lacks: ");
    assert_null(strstr(wait->evidence, "node-a lacks"));
    says(wait->condition, "none of 2 nodes");
    says(wait->limit, "(300 s)");
    assert_int_equal(wait->ends_ms, T0 + 301000);
}

/* Of many nodes those that are nearest to fit are told, each with all of its labels as far as there is room. */
static void nodes_and_labels_are_bounded_each_by_itself(void **state)
{
    struct world *w = *state;
    struct kvmig__strlist missing = { 0 };
    char name[16];

    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "far-%02d", i);
        node_is(w, name, "");
    }
    node_is(w, "near", "'l0':'x','l1':'x','l2':'x','l3':'x','l4':'x','l5':'x','l6':'x','l7':'x','l8':'x','l9':'x'");
    target_is(
        w,
        ",'nodeSelector':{'l0':'x','l1':'x','l2':'x','l3':'x','l4':'x','l5':'x','l6':'x','l7':'x','l8':'x','l9':'x',"
        "'rack':'r1'}",
        UNSCHEDULABLE);
    assert_int_equal(kvmig__missing_labels(&w->kube, KVMIG__KUBE_FIND(&w->kube, POD, "ns1", "tgt"), "node-a", &missing),
                     13);
    assert_int_equal(missing.n, 8);
    assert_string_equal(missing.v[0], "near lacks: rack=r1");
    assert_string_equal(missing.v[1], "far-00 lacks: l0=x, l1=x, l2=x, l3=x, l4=x, l5=x, l6=x, l7=x and 3 more");
    kvmig__strlist_clear(&missing);
    says(the_wait(explained(w, 5), "TARGET_UNSCHEDULABLE")->evidence, "and 13 more nodes.");
}

static void a_pod_without_a_node_is_normal_for_a_while(void **state)
{
    struct world *w = *state;

    target_is(w, NULL, "'phase':'Pending'");
    says(first_is(explained(w, 3), "TARGET_POD_STARTING", KVMIG_SEVERITY_INFO)->limit, "pending pod time-out (900 s)");
    first_is(explained(w, 60), "TARGET_POD_STARTING", KVMIG_SEVERITY_WARN);
    target_is(w, NULL,
              "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':'SchedulingGated'}]");
    says(first_is(explained(w, 3), "TARGET_POD_STARTING", KVMIG_SEVERITY_INFO)->evidence, "SchedulingGated");
}

/* ---- images, volumes, network ---- */

static void every_way_to_lack_an_image_is_known(void **state)
{
    static const char *const reasons[] = { "ErrImagePull", "ImagePullBackOff", "InvalidImageName",
                                           "ErrImageNeverPull" };
    struct world *w = *state;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(reasons); i++) {
        char *status =
            kvmig__asprintf("'phase':'Pending','containerStatuses':[{'name':'compute','state':{'waiting':{'reason':"
                            "'PodInitializing'}}},{'name':'volumeroot','image':'disk@sha256:1','state':{'waiting':{"
                            "'reason':'%s','message':'not found'}}}]",
                            reasons[i]);
        const struct kvmig_wait *wait;

        target_is(w, ON_B, status);
        wait = first_is(explained(w, 3), "TARGET_IMAGE_PULL", KVMIG_SEVERITY_ERROR);
        says(wait->condition, "container volumeroot");
        says(wait->condition, "disk@sha256:1 on node-b");
        says(wait->evidence, reasons[i]);
        free(status);
    }
    vmim_is(w, "Scheduling", "'kubevirt.io/migrationPendingPodTimeoutSeconds':'20'");
    assert_int_equal(the_wait(explained(w, 3), "TARGET_IMAGE_PULL")->ends_ms, T0 + 21000);
}

static void containers_that_do_not_start_are_named(void **state)
{
    struct world *w = *state;

    target_is(w, ON_B,
              "'phase':'Pending','containerStatuses':[{'name':'compute','state':{'waiting':{'reason':"
              "'CreateContainerConfigError','message':'secret x not found'}}}]");
    says(first_is(explained(w, 3), "TARGET_CONTAINER_FAILING", KVMIG_SEVERITY_ERROR)->evidence, "secret x");
}

static void volumes_that_are_not_ready_are_named(void **state)
{
    struct world *w = *state;
    const struct kvmig_wait *wait;

    target_is(w, ON_B, "'phase':'Pending'");
    first_is(explained(w, 3), "TARGET_POD_STARTING", KVMIG_SEVERITY_INFO);
    event_is(w, "tgt", "FailedMount", "Unable to attach or mount volumes", 2, 3, 1);
    first_is(explained(w, 4), "TARGET_VOLUME_NOT_READY", KVMIG_SEVERITY_WARN);
    first_is(explained(w, 300), "TARGET_VOLUME_NOT_READY", KVMIG_SEVERITY_ERROR);
    event_is(w, "tgt", "FailedAttachVolume", "Multi-Attach error for volume pvc-1", 2, 4, 1);
    wait = first_is(explained(w, 5), "TARGET_VOLUME_NOT_READY", KVMIG_SEVERITY_ERROR);
    says(wait->hint, "ReadWriteMany");
    says(wait->evidence, "FailedAttachVolume");
}

#define CNI_TEXT "failed to set up sandbox network: waiting for OVN port: ovn-installed not set, timed out"

static void a_network_that_is_not_ready_is_named(void **state)
{
    struct world *w = *state;
    const struct kvmig_wait *wait;

    target_is(w, ON_B, "'phase':'Pending'");
    event_is(w, "tgt", "FailedCreatePodSandBox", CNI_TEXT, 3, 4, 1);
    wait = first_is(explained(w, 5), "TARGET_NETWORK_NOT_READY", KVMIG_SEVERITY_WARN);
    assert_string_equal(wait->waits_for, "network");
    says(wait->evidence, "ovn-installed");
    first_is(explained(w, 60), "TARGET_NETWORK_NOT_READY", KVMIG_SEVERITY_ERROR);
    event_is(w, "tgt", "FailedCreatePodSandBox", CNI_TEXT, 3, 4, 4);
    first_is(explained(w, 5), "TARGET_NETWORK_NOT_READY", KVMIG_SEVERITY_ERROR);
    /* once the sandbox is there the event is history */
    target_is(w, ON_B,
              "'phase':'Running','containerStatuses':[{'name':'compute','state':{'running':{}}},{'name':'volumeroot',"
              "'ready':false,'state':{'running':{}}}]");
    first_is(explained(w, 5), "TARGET_CONTAINER_NOT_READY", KVMIG_SEVERITY_INFO);
}

static void hotplug_and_a_network_that_waits_for_scheduling_are_a_dead_lock(void **state)
{
    struct world *w = *state;
    const struct kvmig_wait *wait;

    vmi_is(w, true);
    vmim_is(w, "Pending", NULL);
    target_is(w, ON_B, "'phase':'Pending'");
    event_is(w, "tgt", "FailedCreatePodSandBox", CNI_TEXT, 3, 4, 1);
    wait = first_is(explained(w, 5), "DEADLOCK_NETWORK_PENDING", KVMIG_SEVERITY_ERROR);
    assert_string_equal(wait->object, "pod/ns1/tgt");
    assert_string_equal(the_wait(w->explanation, "WAITING")->waits_for, "pod/ns1/tgt");
    says(wait->hint, "while the migration is Pending");
    assert_string_equal(kvmig_explanation_verdict(w->explanation), "DEADLOCK_NETWORK_PENDING");
    /* the attachment pod needs the network as well */
    target_is(w, ON_B, RUNNING);
    attachment_is(w, ON_B, "'phase':'Pending'");
    event_is(w, "hp1", "FailedCreatePodSandBox", "interface not ready", 3, 4, 1);
    first_is(explained(w, 5), "TARGET_NETWORK_NOT_READY", KVMIG_SEVERITY_WARN); /* once is nothing: it is tried again */
    event_is(w, "hp1", "FailedCreatePodSandBox", "interface not ready", 3, 4, 2);
    first_is(explained(w, 40), "DEADLOCK_NETWORK_PENDING", KVMIG_SEVERITY_ERROR);
    event_is(w, "hp1", "FailedCreatePodSandBox", "interface not ready", 3, 4, 3);
    assert_string_equal(first_is(explained(w, 5), "DEADLOCK_NETWORK_PENDING", KVMIG_SEVERITY_ERROR)->object,
                        "pod/ns1/hp1");
    /* what the network plug-in refuses for another reason is no circle */
    event_is(w, "hp1", "FailedCreatePodSandBox", "no address is free in the pool", 3, 4, 1);
    first_is(explained(w, 5), "TARGET_NETWORK_NOT_READY", KVMIG_SEVERITY_WARN);
}

/* ---- containers, attachment ---- */

static void init_containers_are_named(void **state)
{
    struct world *w = *state;

    target_is(w, ON_B ",'initContainers':[{'name':'setup'}]",
              "'phase':'Pending','initContainerStatuses':[{'name':'setup','ready':false,'state':{'running':{}}}]");
    says(first_is(explained(w, 3), "TARGET_POD_STARTING", KVMIG_SEVERITY_INFO)->condition, "init container setup");
    first_is(explained(w, 120), "TARGET_POD_STARTING", KVMIG_SEVERITY_WARN);
}

static void a_container_that_is_not_ready_has_the_launchers_timer(void **state)
{
    struct world *w = *state;
    const struct kvmig_wait *wait;

    target_is(
        w, ON_B,
        "'phase':'Running','startTime':'2026-11-30T11:00:03Z','containerStatuses':[{'name':'compute','state':{"
        "'running':{'startedAt':'2026-11-30T11:00:04Z'}}},{'name':'volumeroot','ready':false,'state':{'running':{}}}]");
    wait = first_is(explained(w, 5), "TARGET_CONTAINER_NOT_READY", KVMIG_SEVERITY_INFO);
    says(wait->evidence, "volumeroot");
    says(wait->limit, "between 240 and 359 s");
    assert_int_equal(wait->ends_ms, T0 + 4000 + 359000);
    first_is(explained(w, 100), "TARGET_CONTAINER_NOT_READY", KVMIG_SEVERITY_WARN);
}

static void an_attachment_pod_that_is_never_made_is_named(void **state)
{
    struct world *w = *state;

    vmi_is(w, true);
    vmim_is(w, "Pending", NULL);
    target_is(w, ON_B, RUNNING);
    first_is(explained(w, 5), "ATTACHMENT_POD_PENDING", KVMIG_SEVERITY_INFO);
    first_is(explained(w, 60), "ATTACHMENT_POD_MISSING", KVMIG_SEVERITY_ERROR);
    vmim_is(w, "Scheduling", NULL); /* plugged in too late */
    says(first_is(explained(w, 5), "ATTACHMENT_POD_MISSING", KVMIG_SEVERITY_ERROR)->hint, "Cancel");
}

static void a_pod_that_has_ended_or_is_gone_is_named(void **state)
{
    struct world *w = *state;
    struct kvmig__follow follow;

    target_is(w, ON_B, "'phase':'Failed','message':'node was low on memory'");
    says(first_is(explained(w, 5), "TARGET_POD_LOST", KVMIG_SEVERITY_ERROR)->evidence, "low on memory");
    kvmig__follow_init(&follow, KVMIG__KUBE_FIND(&w->kube, VMI, "ns1", "vm1"),
                       KVMIG__KUBE_FIND(&w->kube, VMIM, "ns1", "mig1"));
    kvmig__follow_update(&follow, &w->kube, T0);
    drop(&w->kube, &follow, KVMIG__KUBE_POD, "tgt");
    kvmig_explanation_unref(w->explanation);
    w->explanation = explain(&w->kube, "vm1", "mig1", &follow, T0 + 6000);
    first_is(w->explanation, "TARGET_POD_LOST", KVMIG_SEVERITY_ERROR);
    kvmig__follow_clear(&follow);
    /* one that was never seen is only not listed yet */
    assert_null(find_wait(explained(w, 6), "TARGET_POD_LOST"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schedulers_message_is_split_into_counts),
        cmocka_unit_test(what_is_no_message_of_the_scheduler_gives_no_counts),
        T(labels_that_nodes_lack_are_named_per_node),
        T(nodes_and_labels_are_bounded_each_by_itself),
        T(a_pod_without_a_node_is_normal_for_a_while),
        T(every_way_to_lack_an_image_is_known),
        T(containers_that_do_not_start_are_named),
        T(volumes_that_are_not_ready_are_named),
        T(a_network_that_is_not_ready_is_named),
        T(hotplug_and_a_network_that_waits_for_scheduling_are_a_dead_lock),
        T(init_containers_are_named),
        T(a_container_that_is_not_ready_has_the_launchers_timer),
        T(an_attachment_pod_that_is_never_made_is_named),
        T(a_pod_that_has_ended_or_is_gone_is_named),
    };
#undef T

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
