/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Questions to the Kubernetes store: names, selectors, pods of a VM and of its migration, options in force, slots, queue.
 */
#include "kube_fixture.h"

#include <stdlib.h>

/* ---- VMs and migrations ---- */

static void a_vm_is_found_by_path_name_or_uid(void **state)
{
    struct cluster c;
    bool ambiguous;

    (void)state;
    cluster_init(&c);
    assert_ptr_equal(kvmig__kube_vmi(&c.kube, "ns1/vm1", &ambiguous), cluster_vm(&c));
    assert_ptr_equal(kvmig__kube_vmi(&c.kube, "vm1", &ambiguous), cluster_vm(&c));
    assert_ptr_equal(kvmig__kube_vmi(&c.kube, VM_UID, NULL), cluster_vm(&c));
    assert_null(kvmig__kube_vmi(&c.kube, "ns2/vm1", &ambiguous));
    assert_false(ambiguous);
    cluster_add(&c, KVMIG__KUBE_VMI, "ns2", "vm1");
    assert_null(kvmig__kube_vmi(&c.kube, "vm1", &ambiguous));
    assert_true(ambiguous);
    assert_ptr_equal(kvmig__kube_vmi(&c.kube, "ns1/vm1", &ambiguous), cluster_vm(&c));
    assert_false(ambiguous);
    assert_null(kvmig__kube_vmi(&c.kube, NULL, NULL));
    cluster_clear(&c);
}

static void a_vm_runs_on_a_node_until_it_has_ended(void **state)
{
    struct kvmig__kube_vmi vmi = { .node = (char *)"alpha" };

    (void)state;
    assert_true(kvmig__vmi_runs(&vmi));
    vmi.phase = (char *)"Failed";
    assert_false(kvmig__vmi_runs(&vmi));
    vmi = (struct kvmig__kube_vmi){ .phase = (char *)"Scheduling" };
    assert_false(kvmig__vmi_runs(&vmi));
}

static void the_migration_of_a_vm_is_the_unfinished_or_the_newest(void **state)
{
    struct kvmig__kube_vmim *old, *new, *live;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_null(kvmig__kube_vmim_of(&c.kube, cluster_vm(&c)));
    cluster_add_vmim(&c, "of-another", "vm2", "Running");
    old = cluster_add_vmim(&c, "z-old", "vm1", "Failed");
    new = cluster_add_vmim(&c, "a-new", "vm1", "Succeeded");
    old->meta.created_ms = 1000;
    new->meta.created_ms = 2000;
    assert_ptr_equal(kvmig__kube_vmim_of(&c.kube, cluster_vm(&c)), new);
    live = cluster_add_vmim(&c, "live", "vm1", "Pending");
    live->meta.created_ms = 500;
    assert_ptr_equal(kvmig__kube_vmim_of(&c.kube, cluster_vm(&c)), live);
    /* of two that are not over, the one that the VM's state is about */
    new = cluster_add_vmim(&c, "other", "vm1", NULL);
    new->meta.created_ms = 900;
    assert_ptr_equal(kvmig__kube_vmim_of(&c.kube, cluster_vm(&c)), live);
    cluster_vm(&c)->migration.uid = kvmig__strdup("uid-of-other");
    assert_ptr_equal(kvmig__kube_vmim_of(&c.kube, cluster_vm(&c)), new);
    cluster_clear(&c);
}

/* ---- pods ---- */

static void readiness_is_kubevirts_own(void **state)
{
    struct kvmig__kube_container *proxy;
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    pod = cluster_add_launcher(&c, "p", "alpha");
    assert_true(kvmig__pod_is_ready_for_kubevirt(pod)); /* compute need not be ready, only run */
    proxy = KVMIG__PUSH(&pod->containers);
    proxy->name = kvmig__strdup("volumeroot");
    assert_true(kvmig__pod_is_ready_for_kubevirt(pod)); /* no status yet: not counted */
    proxy->state = kvmig__strdup("running");
    assert_false(kvmig__pod_is_ready_for_kubevirt(pod));
    proxy->ready = true;
    assert_true(kvmig__pod_is_ready_for_kubevirt(pod));
    kvmig__str_set(&pod->containers.v[0].state, "waiting");
    assert_false(kvmig__pod_is_ready_for_kubevirt(pod));
    kvmig__str_set(&pod->containers.v[0].state, "running");
    pod->meta.deleted_ms = 1;
    assert_false(kvmig__pod_is_ready_for_kubevirt(pod));
    pod->meta.deleted_ms = 0;
    kvmig__str_set(&pod->phase, "Pending");
    assert_false(kvmig__pod_is_ready_for_kubevirt(pod));
    cluster_clear(&c);
}

static void target_pods_are_told_by_role_and_job(void **state)
{
    struct kvmig__kube_pod *launcher, *newer, *attachment;
    struct kvmig__kube_vmim *vmim;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    vmim = cluster_add_vmim(&c, "m", "vm1", "Scheduling");
    assert_null(kvmig__kube_target_pod(&c.kube, vmim));
    cluster_add_launcher(&c, "source", "alpha");
    launcher = cluster_add_launcher(&c, "target", "beta");
    label(launcher, "kubevirt.io/migrationJobUID", "uid-of-m");
    attachment = cluster_add_launcher(&c, "hp", "beta");
    label(attachment, "kubevirt.io", "hotplug-disk");
    label(attachment, "kubevirt.io/migrationJobUID", "uid-of-m");
    assert_ptr_equal(kvmig__kube_target_pod(&c.kube, vmim), launcher);
    assert_ptr_equal(kvmig__kube_attachment_pod(&c.kube, vmim), attachment);
    newer = cluster_add_launcher(&c, "again", "gamma");
    label(newer, "kubevirt.io/migrationJobUID", "uid-of-m");
    newer->meta.created_ms = 5;
    assert_ptr_equal(kvmig__kube_target_pod(&c.kube, vmim), newer);
    kvmig__str_set(&newer->phase, "Failed"); /* ended ones come last */
    assert_ptr_equal(kvmig__kube_target_pod(&c.kube, vmim), launcher);
    cluster_clear(&c);
}

static void the_source_pod_is_where_the_guest_runs(void **state)
{
    struct kvmig__kube_pod *first, *second;
    struct kvmig__kube_vmim *vmim;
    struct kvmig__kube_vmi *vmi;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    vmi = cluster_vm(&c);
    assert_null(kvmig__kube_source_pod(&c.kube, vmi));
    first = cluster_add_launcher(&c, "first", "alpha");
    second = cluster_add_launcher(&c, "second", "beta");
    label(second, "kubevirt.io/migrationJobUID", "uid-of-m");
    vmim = cluster_add_vmim(&c, "m", "vm1", "Running");
    assert_ptr_equal(kvmig__kube_source_pod(&c.kube, vmi), first);
    /* it has moved */
    kvmig__str_set(&vmi->node, "beta");
    kvmig__str_set(&first->phase, "Succeeded");
    assert_null(kvmig__kube_source_pod(&c.kube, vmi)); /* not proven yet */
    vmi->migration.uid = kvmig__strdup("uid-of-m");
    vmi->migration.end_ms = 7;
    assert_ptr_equal(kvmig__kube_source_pod(&c.kube, vmi), second);
    kvmig__str_set(&vmim->phase, "Succeeded");
    assert_ptr_equal(kvmig__kube_source_pod(&c.kube, vmi), second);
    kvmig__str_set(&vmim->phase, "Failed");
    assert_null(kvmig__kube_source_pod(&c.kube, vmi));
    kvmig__kube_remove(&c.kube, KVMIG__KUBE_VMIM, "ns1", "m", NULL); /* collected long ago */
    assert_ptr_equal(kvmig__kube_source_pod(&c.kube, vmi), second);
    cluster_clear(&c);
}

static void a_launcher_of_a_former_vm_of_the_name_is_not_taken(void **state)
{
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    pod = cluster_add_launcher(&c, "p", "alpha");
    label(pod, "vmi.kubevirt.io/id", "vm1");
    label(pod, "kubevirt.io/created-by", "another-uid");
    assert_null(kvmig__kube_source_pod(&c.kube, cluster_vm(&c)));
    label(pod, "kubevirt.io/created-by", NULL);
    assert_ptr_equal(kvmig__kube_source_pod(&c.kube, cluster_vm(&c)), pod);
    cluster_clear(&c);
}

static void hotplug_is_told_by_status_or_spec(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_false(kvmig__vmi_has_hotplug(cluster_vm(&c)));
    cluster_vm(&c)->volumes.v[0].hotpluggable = true;
    assert_true(kvmig__vmi_has_hotplug(cluster_vm(&c)));
    cluster_vm(&c)->volumes.v[0].hotpluggable = false;
    KVMIG__PUSH(&cluster_vm(&c)->volume_status)->hotplug = true;
    assert_true(kvmig__vmi_has_hotplug(cluster_vm(&c)));
    cluster_clear(&c);
}

/* ---- selectors ---- */

static bool holds(const char *op, const char *value, const char *key)
{
    struct kvmig__requirement requirement = { 0 };
    struct kvmig__pairs labels = { 0 };
    bool answer;

    requirement.key = kvmig__strdup(key);
    requirement.op = kvmig__strdup(op);
    if (value)
        kvmig__strlist_add(&requirement.values, value);
    kvmig__pairs_set(&labels, "zone", "a");
    kvmig__pairs_set(&labels, "rank", "7");
    answer = kvmig__requirement_holds(&requirement, &labels, "n");
    free(requirement.key);
    free(requirement.op);
    kvmig__strlist_clear(&requirement.values);
    kvmig__pairs_clear(&labels);
    return answer;
}

static void requirements_follow_kubernetes(void **state)
{
    (void)state;
    assert_true(holds("In", "a", "zone"));
    assert_false(holds("In", "b", "zone"));
    assert_false(holds("In", "a", "none"));
    assert_true(holds("NotIn", "b", "zone"));
    assert_true(holds("NotIn", "a", "none")); /* absent is not in it */
    assert_false(holds("NotIn", "a", "zone"));
    assert_true(holds("Exists", NULL, "zone"));
    assert_false(holds("Exists", NULL, "none"));
    assert_true(holds("DoesNotExist", NULL, "none"));
    assert_true(holds("Gt", "6", "rank"));
    assert_false(holds("Gt", "7", "rank"));
    assert_true(holds("Lt", "8", "rank"));
    assert_false(holds("Lt", "x", "rank"));
    assert_false(holds("Gt", "1", "zone"));
    assert_false(holds("Sometimes", "a", "zone"));
}

static void terms_are_alternatives(void **state)
{
    struct kvmig__terms terms = { 0 };
    struct kvmig__pairs labels = { 0 };
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_true(kvmig__terms_hold(&terms, &labels, "n")); /* no constraint */
    require_host(&cluster_bind(&c, "root", "csi", "alpha")->node_required, "beta");
    {
        const struct kvmig__kube_pv *pv = KVMIG__KUBE_FIND(&c.kube, PV, NULL, "pv-root");

        assert_true(kvmig__terms_hold(&pv->node_required, &cluster_node(&c, "beta")->meta.labels, "beta"));
        assert_false(kvmig__terms_hold(&pv->node_required, &cluster_node(&c, "gamma")->meta.labels, "gamma"));
    }
    (void)KVMIG__PUSH(&terms); /* a term of nothing matches nothing */
    assert_false(kvmig__terms_hold(&terms, &labels, "n"));
    free(terms.v);
    cluster_clear(&c);
}

/* ---- options in force ---- */

static struct kvmig__kube_policy *add_policy(struct cluster *c, const char *name, const char *vmi_label,
                                             const char *ns_label, uint64_t bandwidth)
{
    struct kvmig__kube_policy *policy = cluster_add(c, KVMIG__KUBE_POLICY, NULL, name);

    policy->has_selectors = true;
    if (vmi_label)
        kvmig__pairs_set(&policy->vmi_selector, vmi_label, "yes");
    if (ns_label)
        kvmig__pairs_set(&policy->ns_selector, ns_label, "yes");
    policy->config.bandwidth = bandwidth;
    return policy;
}

static void assert_policy(struct cluster *c, const char *name)
{
    const struct kvmig__kube_policy *policy;
    struct kvmig__kube_config config;

    kvmig__kube_config_for(&c->kube, cluster_vm(c), &config, &policy);
    kvmig__kube_config_clear(&config);
    if (!name) {
        assert_null(policy);
        return;
    }
    assert_non_null(policy);
    assert_string_equal(policy->meta.name, name);
}

static void options_come_from_code_cluster_and_policy(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct kvmig__kube_policy *policy;
    struct kvmig__kube_config config;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__kube_config_for(&c.kube, cluster_vm(&c), &config, NULL);
    assert_int_equal(config.parallel_cluster, 5);
    assert_int_equal(config.outbound_node, 2);
    assert_int_equal(config.bandwidth, 0);
    assert_int_equal(config.completion_s_per_gb, 150);
    assert_int_equal(config.post_copy, 0);
    assert_int_equal(config.workload_disruption, 0);
    assert_int_equal(config.match_selinux, 1);
    assert_string_equal(config.drain_taint, "kubevirt.io/drain");
    kvmig__kube_config_clear(&config);

    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    kubevirt->config.post_copy = 1;
    kubevirt->config.bandwidth = 64 << 20;
    kubevirt->config.network = kvmig__strdup("mignet");
    policy = add_policy(&c, "p", NULL, NULL, KVMIG__UNKNOWN);
    policy->config.completion_s_per_gb = 30;
    policy->config.network = kvmig__strdup("no policy may say this");
    kvmig__kube_config_for(&c.kube, cluster_vm(&c), &config, NULL);
    assert_int_equal(config.post_copy, 1);
    assert_int_equal(config.workload_disruption, 1); /* follows post-copy */
    assert_int_equal(config.bandwidth, 64 << 20);
    assert_int_equal(config.completion_s_per_gb, 30);
    assert_string_equal(config.network, "mignet");
    kvmig__kube_config_clear(&config);

    kubevirt->config.workload_disruption = 0;
    kvmig__kube_config_for(&c.kube, cluster_vm(&c), &config, NULL);
    assert_int_equal(config.workload_disruption, 0);
    kvmig__kube_config_clear(&config);
    policy->config.post_copy = 1; /* the policy says post-copy only, so the other follows the policy */
    kvmig__kube_config_for(&c.kube, cluster_vm(&c), &config, NULL);
    assert_int_equal(config.workload_disruption, 1);
    kvmig__kube_config_clear(&config);
    cluster_clear(&c);
}

static void the_policy_with_most_labels_wins(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    label(cluster_vm(&c), "one", "yes");
    label(cluster_vm(&c), "two", "yes");
    label(cluster_add(&c, KVMIG__KUBE_NAMESPACE, NULL, "ns1"), "space", "yes");
    cluster_add(&c, KVMIG__KUBE_POLICY, NULL, "a-without-selectors");
    assert_policy(&c, NULL);
    add_policy(&c, "m-everything", NULL, NULL, 1);
    assert_policy(&c, "m-everything");
    add_policy(&c, "n-everything", NULL, NULL, 1);
    assert_policy(&c, "m-everything"); /* equal: the smaller name */
    add_policy(&c, "z-space", NULL, "space", 1);
    assert_policy(&c, "z-space");
    add_policy(&c, "z-vm", "one", NULL, 1);
    assert_policy(&c, "z-vm"); /* as many labels, but more of them the VM's */
    add_policy(&c, "y-both", "two", "space", 1);
    assert_policy(&c, "y-both");
    add_policy(&c, "a-other", "three", "space", 1);
    assert_policy(&c, "y-both");
    cluster_clear(&c);
}

static void a_vm_without_labels_is_matched_by_any_selector(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add_policy(&c, "p", "one", "space", 1);
    assert_policy(&c, "p");
    label(cluster_vm(&c), "other", "yes");
    assert_policy(&c, NULL);
    cluster_clear(&c);
}

static uint64_t limit_of(uint64_t memory, uint64_t per_gb)
{
    struct kvmig__kube_config config;
    struct cluster c;
    uint64_t limit;

    cluster_init(&c);
    cluster_vm(&c)->domain.memory = memory;
    kvmig__kube_config_init(&config);
    config.completion_s_per_gb = per_gb;
    limit = kvmig__kube_completion_limit_s(cluster_vm(&c), &config);
    cluster_clear(&c);
    return limit;
}

static void the_completion_limit_counts_decimal_gigabytes_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(limit_of(GIB / 2, 150), 150);
    assert_int_equal(limit_of(GIB, 150), 300);
    assert_int_equal(limit_of(4 * GIB, 150), 750);
    assert_int_equal(limit_of(8 * GIB, 150), 1350);
    assert_int_equal(limit_of(64 * GIB, 150), 10350);
    assert_int_equal(limit_of(1000000000, 150), 150);
    assert_int_equal(limit_of(8 * GIB, 0), 0);
    assert_int_equal(limit_of(KVMIG__UNKNOWN, 150), 0);
    assert_true(limit_of(KVMIG__UNKNOWN - 1, KVMIG__UNKNOWN - 1) == KVMIG__UNKNOWN - 1);
}

static void the_completion_limit_counts_moving_volumes(void **state)
{
    struct kvmig__kube_migrated_volume *volume;
    struct kvmig__kube_config config;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__kube_config_init(&config);
    config.completion_s_per_gb = 1;
    volume = KVMIG__PUSH(&cluster_vm(&c)->migrated_volumes);
    volume->source.requested = 5000000000;
    volume->source.capacity = 9000000000;
    assert_int_equal(kvmig__kube_completion_limit_s(cluster_vm(&c), &config), 3 + 5); /* 2 GiB are 2.147 GB */
    volume->source.requested = 0;
    assert_int_equal(kvmig__kube_completion_limit_s(cluster_vm(&c), &config), 12);
    cluster_clear(&c);
}

/* ---- slots and queue ---- */

static void slots_count_what_is_past_pending_or_has_a_pod(void **state)
{
    static const char *const phases[] = { "Scheduling",  "Scheduled", "PreparingTarget",
                                          "TargetReady", "Running",   "Synchronizing" };
    struct kvmig__kube_slots slots;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__kube_slots(&c.kube, "alpha", &slots);
    assert_false(slots.known);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(phases); i++)
        cluster_add_vmim(&c, phases[i], "elsewhere", phases[i]);
    cluster_add_vmim(&c, "none", "vm2", NULL);
    cluster_add_vmim(&c, "empty", "vm2", "");
    cluster_add_vmim(&c, "pending", "vm1", "Pending");
    cluster_add_vmim(&c, "done", "vm1", "Succeeded");
    cluster_add_vmim(&c, "failed", "vm1", "Failed");
    kvmig__kube_slots(&c.kube, "alpha", &slots);
    assert_true(slots.known);
    assert_int_equal(slots.running, KVMIG__N_ELEMENTS(phases));
    assert_int_equal(slots.outbound, 0);
    label(cluster_add_launcher(&c, "target", "beta"), "kubevirt.io/migrationJobUID", "uid-of-pending");
    kvmig__kube_slots(&c.kube, "alpha", &slots);
    assert_int_equal(slots.running, KVMIG__N_ELEMENTS(phases) + 1);
    assert_int_equal(slots.outbound, 1);
    cluster_clear(&c);
}

static void a_migration_counts_for_its_source_after_the_switch_too(void **state)
{
    struct kvmig__kube_slots slots;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_vmim(&c, "m", "vm1", "Running");
    kvmig__str_set(&cluster_vm(&c)->node, "beta");
    kvmig__kube_slots(&c.kube, "alpha", &slots);
    assert_int_equal(slots.outbound, 0);
    cluster_vm(&c)->migration.uid = kvmig__strdup("uid-of-m");
    cluster_vm(&c)->migration.source_node = kvmig__strdup("alpha");
    kvmig__kube_slots(&c.kube, "alpha", &slots);
    assert_int_equal(slots.outbound, 1);
    cluster_clear(&c);
}

static void the_queue_is_by_priority_then_age(void **state)
{
    struct kvmig__kube_vmim *mine, *older, *urgent, *elsewhere;
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_know(&c, KVMIG__KUBE_POD);
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    kubevirt->config.parallel_cluster = 1;
    cluster_add_vm(&c, "vm2", "alpha");
    cluster_add_vm(&c, "vm3", "alpha");
    cluster_add_vm(&c, "vm4", "beta");
    cluster_add_vm(&c, "vm5", "alpha");
    mine = cluster_add_vmim(&c, "mine", "vm1", "Pending");
    mine->meta.created_ms = 50;
    assert_int_equal(kvmig__kube_queue_position(&c.kube, mine), 0); /* a slot is free */
    cluster_add_vmim(&c, "runs", "vm5", "Running");
    assert_int_equal(kvmig__kube_queue_position(&c.kube, mine), 1);
    older = cluster_add_vmim(&c, "older", "vm2", "Pending");
    older->meta.created_ms = 40;
    urgent = cluster_add_vmim(&c, "urgent", "vm3", "Pending");
    urgent->meta.created_ms = 90;
    urgent->priority = kvmig__strdup("system-critical");
    elsewhere = cluster_add_vmim(&c, "elsewhere", "vm4", "Pending");
    elsewhere->meta.created_ms = 10;
    assert_int_equal(kvmig__kube_queue_position(&c.kube, urgent), 1);
    assert_int_equal(kvmig__kube_queue_position(&c.kube, elsewhere), 2);
    assert_int_equal(kvmig__kube_queue_position(&c.kube, older), 3);
    assert_int_equal(kvmig__kube_queue_position(&c.kube, mine), 4);
    assert_int_equal(kvmig__kube_queue_length(&c.kube, NULL), 4);
    assert_int_equal(kvmig__kube_queue_length(&c.kube, "beta"), 1);
    /* room in the cluster, none on the node: who leaves another node does not wait, and is not in front */
    kubevirt->config.parallel_cluster = 9;
    kubevirt->config.outbound_node = 1;
    assert_int_equal(kvmig__kube_queue_position(&c.kube, elsewhere), 0);
    assert_int_equal(kvmig__kube_queue_position(&c.kube, mine), 3);
    label(cluster_add_launcher(&c, "target", "beta"), "kubevirt.io/migrationJobUID", "uid-of-mine");
    assert_int_equal(kvmig__kube_queue_position(&c.kube, mine), 0); /* it has its slot */
    cluster_clear(&c);
}

static void whoever_is_counted_as_holding_a_slot_is_named(void **state)
{
    struct kvmig__strlist names = { 0 };
    struct kvmig__kube_slots slots;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_vm(&c, "vm2", "beta");
    cluster_vm(&c)->migration.uid = kvmig__strdup("uid-of-another");
    cluster_vm(&c)->migration.source_node = kvmig__strdup("gamma"); /* of an earlier migration */
    cluster_add_vmim(&c, "one", "vm1", "Running");
    cluster_add_vmim(&c, "over", "vm1", "Failed");
    cluster_add_vmim(&c, "waits", "vm2", "Pending");
    kvmig__kube_slots(&c.kube, "gamma", &slots);
    assert_int_equal(slots.running, 1);
    assert_int_equal(slots.outbound, 0);
    kvmig__kube_slot_holders(&c.kube, NULL, &names);
    assert_int_equal(names.n, 1);
    assert_string_equal(names.v[0], "ns1/one");
    kvmig__strlist_clear(&names);
    kvmig__kube_slot_holders(&c.kube, "gamma", &names);
    assert_int_equal(names.n, 0);
    label(cluster_add_launcher(&c, "target", "alpha"), "kubevirt.io/migrationJobUID", "uid-of-waits");
    kvmig__kube_slot_holders(&c.kube, "beta", &names);
    assert_int_equal(names.n, 1);
    assert_string_equal(names.v[0], "ns1/waits");
    kvmig__strlist_clear(&names);
    cluster_clear(&c);
}

static void the_stall_detector_is_believed_behind_its_gate_only(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct kvmig__kube_config config;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__kube_config_init(&config);
    config.stall_detector = true;
    assert_int_equal(kvmig__kube_stall_factor_milli(&c.kube, &config), 0);
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    assert_int_equal(kvmig__kube_stall_factor_milli(&c.kube, &config), 0);
    kvmig__strlist_add(&kubevirt->feature_gates, "MigrationStallDetection");
    assert_int_equal(kvmig__kube_stall_factor_milli(&c.kube, &config), 2000);
    config.stall_factor_milli = 1500;
    assert_int_equal(kvmig__kube_stall_factor_milli(&c.kube, &config), 1500);
    kvmig__strlist_add(&kubevirt->disabled_gates, "MigrationStallDetection");
    assert_int_equal(kvmig__kube_stall_factor_milli(&c.kube, &config), 0);
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vm_is_found_by_path_name_or_uid),
        cmocka_unit_test(a_vm_runs_on_a_node_until_it_has_ended),
        cmocka_unit_test(the_migration_of_a_vm_is_the_unfinished_or_the_newest),
        cmocka_unit_test(readiness_is_kubevirts_own),
        cmocka_unit_test(target_pods_are_told_by_role_and_job),
        cmocka_unit_test(the_source_pod_is_where_the_guest_runs),
        cmocka_unit_test(a_launcher_of_a_former_vm_of_the_name_is_not_taken),
        cmocka_unit_test(hotplug_is_told_by_status_or_spec),
        cmocka_unit_test(requirements_follow_kubernetes),
        cmocka_unit_test(terms_are_alternatives),
        cmocka_unit_test(options_come_from_code_cluster_and_policy),
        cmocka_unit_test(the_policy_with_most_labels_wins),
        cmocka_unit_test(a_vm_without_labels_is_matched_by_any_selector),
        cmocka_unit_test(the_completion_limit_counts_decimal_gigabytes_rounded_up),
        cmocka_unit_test(the_completion_limit_counts_moving_volumes),
        cmocka_unit_test(slots_count_what_is_past_pending_or_has_a_pod),
        cmocka_unit_test(a_migration_counts_for_its_source_after_the_switch_too),
        cmocka_unit_test(the_queue_is_by_priority_then_age),
        cmocka_unit_test(whoever_is_counted_as_holding_a_slot_is_named),
        cmocka_unit_test(the_stall_detector_is_believed_behind_its_gate_only),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
