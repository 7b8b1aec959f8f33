/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner for KubeVirt as a whole: finding the VM, choosing the target, verdicts, what is under way, what holds a migration back,
 * and what is not known.
 */
#include "kube_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int32_t plan_of(struct cluster *c, const char *vm, const char *source, const char *target)
{
    struct kvmig__view view = { .kube = &c->kube };

    kvmig__str_set(&c->request.vm, vm);
    kvmig__str_set(&c->request.source, source);
    kvmig__str_set(&c->request.target, target);
    kvmig_plan_unref(c->plan);
    c->plan = NULL;
    return kvmig__plan_make(&view, &c->request, NULL, &c->plan);
}

/* ---- finding and choosing ---- */

static void a_plain_vm_migrates_and_the_plan_says_what_it_is_of(void **state)
{
    const struct kvmig_plan *plan;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    plan = c.plan;
    assert_true(plan->kube);
    assert_false(plan->attached);
    assert_string_equal(plan->vm, "ns1/vm1");
    assert_string_equal(plan->uuid, VM_UID);
    assert_string_equal(plan->source, "alpha");
    assert_string_equal(plan->target, "beta");
    assert_int_equal(kvmig__plan_candidates(plan)->n, 2);
    assert_int_equal(disk(&c, "root")->method, KVMIG_DISK_SHARED);
    cluster_clear(&c);
}

static void names_that_lead_nowhere_are_errors(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_int_equal(plan_of(&c, "vm1", NULL, NULL), 0);
    assert_int_equal(plan_of(&c, VM_UID, "alpha", "beta"), 0);
    assert_int_equal(plan_of(&c, "ns1/none", NULL, NULL), -KVMIG_ENOVM);
    assert_int_equal(plan_of(&c, "vm1", "beta", NULL), -KVMIG_ENOVM);
    assert_int_equal(plan_of(&c, "vm1", NULL, "delta"), -KVMIG_ENOHOST);
    cluster_add(&c, KVMIG__KUBE_VMI, "ns2", "vm1");
    assert_int_equal(plan_of(&c, "vm1", NULL, NULL), -KVMIG_EAMBIGUOUS);
    assert_non_null(strstr(kvmig_error_evidence(kvmig_error_last()), "ns2"));
    assert_null(c.plan);
    cluster_clear(&c);
}

static void the_source_is_no_target(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_int_equal(plan_of(&c, "vm1", NULL, "alpha"), 0);
    assert_int_equal(c.plan->verdict, KVMIG_VERDICT_BLOCKED);
    assert_non_null(finding(&c.plan->findings, "TARGET_IS_SOURCE"));
    assert_null(candidate(&c, "alpha"));
    cluster_clear(&c);
}

static void the_best_candidate_is_taken_unless_one_is_named(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    amount(&cluster_node(&c, "gamma")->allocatable, "memory", 256 * GIB * 1000);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    assert_string_equal(c.plan->target, "gamma"); /* more room */
    cluster_node(&c, "gamma")->unschedulable = true;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    assert_string_equal(c.plan->target, "beta");
    assert_null(finding(&c.plan->findings, "NODE_NOT_SCHEDULABLE")); /* it is no matter of the chosen one */
    assert_int_equal(plan_of(&c, "vm1", NULL, "gamma"), 0);
    assert_int_equal(c.plan->verdict, KVMIG_VERDICT_BLOCKED);
    assert_string_equal(c.plan->target, "gamma");
    assert_non_null(finding(&c.plan->findings, "NODE_NOT_SCHEDULABLE"));
    cluster_clear(&c);
}

static void without_a_feasible_node_every_reason_is_told(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_node(&c, "beta")->unschedulable = true;
    label(cluster_node(&c, "gamma"), "cpu-feature.node.kubevirt.io/avx2", NULL);
    assert_is(&c, KVMIG_VERDICT_BLOCKED);
    assert_null(c.plan->target);
    assert_vm_has(&c, "NO_FEASIBLE_TARGET", KVMIG_SEVERITY_BLOCKER, "gamma");
    assert_vm_has(&c, "NODE_NOT_SCHEDULABLE", KVMIG_SEVERITY_BLOCKER, NULL);
    assert_vm_has(&c, "CPU_FEATURE_MISSING", KVMIG_SEVERITY_BLOCKER, "avx2");
    cluster_clear(&c);
}

static void without_nodes_the_vm_alone_is_judged(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    c.kube.kinds[KVMIG__KUBE_NODE].known = KVMIG__KUBE_UNKNOWN;
    for (const char *const *name = (const char *const[]){ "alpha", "beta", "gamma", NULL }; *name; name++)
        kvmig__kube_remove(&c.kube, KVMIG__KUBE_NODE, NULL, *name, NULL);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    assert_null(c.plan->target);
    assert_int_equal(kvmig__plan_candidates(c.plan)->n, 0);
    assert_int_equal(plan_of(&c, "vm1", NULL, "anything"), 0);
    assert_string_equal(c.plan->target, "anything");
    assert_int_equal(c.plan->verdict, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void kinds_that_may_not_be_read_are_told(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    c.kube.kinds[KVMIG__KUBE_QUOTA].known = KVMIG__KUBE_FORBIDDEN;
    assert_vm_has(&c, "CHECK_SKIPPED", KVMIG_SEVERITY_INFO, "ResourceQuota");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

/* ---- state ---- */

static void only_a_running_vm_moves(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__str_set(&cluster_vm(&c)->phase, "Scheduled");
    assert_vm_has(&c, "VM_NOT_RUNNING", KVMIG_SEVERITY_BLOCKER, "Scheduled");
    kvmig__str_set(&cluster_vm(&c)->phase, NULL); /* not told */
    assert_nothing(&c, "VM_NOT_RUNNING");
    cluster_vm(&c)->meta.deleted_ms = 1;
    assert_vm_has(&c, "VM_BEING_DELETED", KVMIG_SEVERITY_BLOCKER, NULL);
    cluster_clear(&c);
}

static void a_pause_by_the_user_is_kept_and_one_by_a_fault_blocks(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    condition(&cluster_vm(&c)->conditions, "Paused", "True", "PausedByUser", NULL);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    assert_true(c.plan->was_paused);
    condition(&cluster_vm(&c)->conditions, "Paused", "True", "PausedIOError", NULL);
    assert_vm_has(&c, "VM_IO_ERROR", KVMIG_SEVERITY_BLOCKER, NULL);
    assert_false(c.plan->was_paused);
    condition(&cluster_vm(&c)->conditions, "Paused", "True", "PausedByMigrationMonitor", NULL);
    assert_vm_has(&c, "VM_LEFT_PAUSED", KVMIG_SEVERITY_BLOCKER, NULL);
    condition(&cluster_vm(&c)->conditions, "Paused", "True", "SomethingNew", NULL);
    assert_vm_has(&c, "VM_STATE_UNVERIFIED", KVMIG_SEVERITY_INFO, "SomethingNew");
    cluster_clear(&c);
}

/* ---- migrations under way, and their traces ---- */

static void begin_state(struct cluster *c)
{
    struct kvmig__kube_migration_state *migration = &cluster_vm(c)->migration;

    migration->present = true;
    migration->uid = kvmig__strdup(JOB_UID);
    migration->target_pod = kvmig__strdup("target");
}

static void a_second_migration_is_refused_with_the_firsts_name(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_vmim(&c, "first", "vm1", "Pending");
    assert_vm_has(&c, "MIGRATION_IN_PROGRESS", KVMIG_SEVERITY_BLOCKER, "uid-of-first");
    assert_vm_has(&c, "MIGRATION_IN_PROGRESS", KVMIG_SEVERITY_BLOCKER, "\"first\"");
    assert_is(&c, KVMIG_VERDICT_BLOCKED);
    kvmig__str_set(&KVMIG__KUBE_FIND(&c.kube, VMIM, "ns1", "first")->phase, "Failed");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void an_unended_record_is_stale_only_if_nothing_is_in_flight(void **state)
{
    struct kvmig__kube_pod *target;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    begin_state(&c);
    assert_vm_has(&c, "MIGRATION_IN_PROGRESS", KVMIG_SEVERITY_BLOCKER, JOB_UID); /* nobody says that it is over */
    cluster_know(&c, KVMIG__KUBE_VMIM);
    cluster_know(&c, KVMIG__KUBE_POD);
    assert_vm_has(&c, "STALE_MIGRATION_STATE", KVMIG_SEVERITY_WARN, JOB_UID);
    assert_nothing(&c, "MIGRATION_IN_PROGRESS");
    target = cluster_add_launcher(&c, "target", "beta");
    label(target, "kubevirt.io/migrationJobUID", JOB_UID);
    assert_vm_has(&c, "MIGRATION_IN_PROGRESS", KVMIG_SEVERITY_BLOCKER, JOB_UID);
    kvmig__str_set(&target->phase, "Failed");
    assert_vm_has(&c, "STALE_MIGRATION_STATE", KVMIG_SEVERITY_WARN, JOB_UID);
    cluster_vm(&c)->migration.failed = true;
    assert_nothing(&c, "STALE_MIGRATION_STATE");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void another_living_launcher_is_waited_for(void **state)
{
    struct kvmig__kube_pod *left;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_launcher(&c, "source", "alpha");
    left = cluster_add_launcher(&c, "left", "beta");
    assert_vm_has(&c, "SECOND_LAUNCHER_ALIVE", KVMIG_SEVERITY_WARN, "left");
    kvmig__str_set(&left->phase, "Succeeded");
    assert_nothing(&c, "SECOND_LAUNCHER_ALIVE");
    cluster_clear(&c);
}

/* ---- waits ---- */

static void a_full_limit_queues_and_tells_the_position(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    const struct kvmig_finding *limit;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kubevirt = cluster_add_kubevirt(&c, "v1.9.0");
    kubevirt->config.parallel_cluster = 1;
    cluster_add_vm(&c, "vm2", "beta");
    cluster_add_vm(&c, "vm3", "alpha");
    cluster_add_vmim(&c, "runs", "vm2", "Running");
    cluster_add_vmim(&c, "waits", "vm3", "Pending");
    limit = assert_vm_has(&c, "LIMIT_REACHED", KVMIG_SEVERITY_INFO, "\"active\": 1");
    assert_string_equal(limit->object, "cluster");
    assert_null(strstr(limit->detail, "position")); /* whether vm3 waits is not known without pods */
    cluster_know(&c, KVMIG__KUBE_POD);
    assert_vm_has(&c, "LIMIT_REACHED", KVMIG_SEVERITY_INFO, "\"position\": 2");
    assert_is(&c, KVMIG_VERDICT_QUEUED);
    kubevirt->config.parallel_cluster = 5;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void the_limit_of_the_source_node_is_told_apart(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_kubevirt(&c, "v1.9.0");
    cluster_add_vm(&c, "vm2", "alpha");
    cluster_add_vm(&c, "vm3", "alpha");
    cluster_add_vmim(&c, "m2", "vm2", "Running");
    cluster_add_vmim(&c, "m3", "vm3", "Scheduling");
    assert_string_equal(assert_vm_has(&c, "LIMIT_REACHED", KVMIG_SEVERITY_INFO, "\"limit\": 2")->object, "node/alpha");
    cluster_clear(&c);
}

static void backups_utility_volumes_and_drains_are_told(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_vm(&c)->backup = kvmig__strdup("nightly");
    assert_vm_has(&c, "BACKUP_RUNNING", KVMIG_SEVERITY_WARN, "nightly");
    cluster_add_volume(&c, "tools", "persistentVolumeClaim", "root");
    cluster_vm(&c)->volumes.v[1].utility = true;
    assert_vm_has(&c, "UTILITY_VOLUMES_PRESENT", KVMIG_SEVERITY_WARN, "\"limit_s\": 150");
    cluster_vm(&c)->evacuation_node = kvmig__strdup("alpha");
    assert_vm_has(&c, "EVACUATION_OWNS_MIGRATION", KVMIG_SEVERITY_INFO, "alpha");
    assert_nothing(&c, "HOTPLUG_EVICTION_HAZARD");
    cluster_vm(&c)->volumes.v[0].hotpluggable = true;
    assert_vm_has(&c, "HOTPLUG_EVICTION_HAZARD", KVMIG_SEVERITY_WARN, NULL);
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE_WITH_RISK);
    cluster_clear(&c);
}

/* ---- quota ---- */

static struct kvmig__kube_quota *add_quota(struct cluster *c, const char *resource, uint64_t hard, uint64_t used)
{
    struct kvmig__kube_quota *quota = cluster_add(c, KVMIG__KUBE_QUOTA, "ns1", "q");

    amount(&quota->hard, resource, hard);
    amount(&quota->used, resource, used);
    return quota;
}

static void a_quota_must_hold_a_second_launcher(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_launcher(&c, "source", "alpha");
    add_quota(&c, "requests.memory", 10 * GIB * 1000, 6 * GIB * 1000);
    assert_nothing(&c, "QUOTA_EXCEEDED"); /* exactly full */
    add_quota(&c, "requests.memory", 10 * GIB * 1000, 6 * GIB * 1000 + 1000);
    assert_vm_has(&c, "QUOTA_EXCEEDED", KVMIG_SEVERITY_BLOCKER, "\"shortfall\": 1}");
    add_quota(&c, "pods", 4000, 3000);
    assert_nothing(&c, "QUOTA_EXCEEDED");
    cluster_vm(&c)->volumes.v[0].hotpluggable = true; /* needs an attachment pod, too */
    assert_vm_has(&c, "QUOTA_EXCEEDED", KVMIG_SEVERITY_BLOCKER, "\"request\": 2,");
    kvmig__strlist_add(&add_quota(&c, "pods", 0, 0)->scopes, "BestEffort");
    assert_nothing(&c, "QUOTA_EXCEEDED");
    add_quota(&c, "limits.memory", 0, 0); /* the launcher has none */
    assert_nothing(&c, "QUOTA_EXCEEDED");
    add_quota(&c, "cpu", 3500, 1600);
    assert_vm_has(&c, "QUOTA_EXCEEDED", KVMIG_SEVERITY_BLOCKER, "\"shortfall\": \"0.1\"");
    add_quota(&c, "requests.storage", 0, 0);
    assert_nothing(&c, "QUOTA_EXCEEDED");
    cluster_clear(&c);
}

static void a_quota_elsewhere_does_not_count(void **state)
{
    struct kvmig__kube_quota *quota;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    quota = cluster_add(&c, KVMIG__KUBE_QUOTA, "ns2", "q");
    amount(&quota->hard, "pods", 0);
    amount(&quota->used, "pods", 0);
    assert_nothing(&c, "QUOTA_EXCEEDED");
    cluster_clear(&c);
}

/* ---- options ---- */

static void parallel_channels_on_limited_cpu_are_a_risk(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    c.request.parallel_connections = 8;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    amount(&cluster_vm(&c)->domain.limits, "cpu", 2000);
    assert_vm_has(&c, "MULTIFD_ON_LIMITED_CPU", KVMIG_SEVERITY_WARN, "CPU limit");
    amount(&cluster_vm(&c)->domain.limits, "cpu", 0);
    assert_nothing(&c, "MULTIFD_ON_LIMITED_CPU");
    cluster_vm(&c)->domain.dedicated_cpus = true;
    assert_vm_has(&c, "MULTIFD_ON_LIMITED_CPU", KVMIG_SEVERITY_WARN, "dedicated");
    cluster_clear(&c);
}

static void options_of_the_migrate_call_are_not_ours(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    c.request.flags = KVMIG_PLAN_MANAGED | KVMIG_PLAN_ALLOW_POSTCOPY;
    c.request.target_pool = kvmig__strdup("pool");
    assert_vm_has(&c, "OPTION_WITHOUT_EFFECT", KVMIG_SEVERITY_INFO, "[\"managed\", \"target_pool\"]");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

static void the_options_in_force_are_told_with_their_policy(void **state)
{
    struct kvmig__kube_policy *policy;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_nothing(&c, "MIGRATION_OPTIONS");
    cluster_add_kubevirt(&c, "v1.9.0");
    policy = cluster_add(&c, KVMIG__KUBE_POLICY, NULL, "slow");
    policy->has_selectors = true;
    policy->config.bandwidth = 1 << 20;
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"policy\": \"slow\"");
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"completion_limit_s\": 450");
    cluster_clear(&c);
}

static void an_image_without_a_repository_cannot_be_pulled(void **state)
{
    struct kvmig__kube_container *container;
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    pod = cluster_add_launcher(&c, "source", "alpha");
    container = KVMIG__PUSH(&pod->containers);
    container->name = kvmig__strdup("volumeroot");
    container->image_id = kvmig__strdup("registry.example/cirros@sha256:0123");
    assert_nothing(&c, "IMAGE_REFERENCE_NOT_PULLABLE");
    kvmig__str_set(&container->image_id, "sha256:0123");
    assert_vm_has(&c, "IMAGE_REFERENCE_NOT_PULLABLE", KVMIG_SEVERITY_WARN, "volumeroot");
    kvmig__str_set(&container->name, "compute");
    assert_nothing(&c, "IMAGE_REFERENCE_NOT_PULLABLE");
    cluster_clear(&c);
}

/* ---- following somebody else's migration ---- */

static int32_t attach(struct cluster *c, const char *vm, const char *vmim)
{
    struct kvmig__view view = { .kube = &c->kube };

    kvmig_plan_unref(c->plan);
    c->plan = NULL;
    return kvmig__plan_kube_attach(&view, vm, vmim, &c->plan);
}

static void a_migration_under_way_can_be_followed(void **state)
{
    struct kvmig__kube_vmim *vmim;
    struct kvmig__kube_pod *pod;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_int_equal(attach(&c, "ns1/vm1", ""), -ENOENT);
    vmim = cluster_add_vmim(&c, "m", "vm1", "Pending");
    assert_int_equal(attach(&c, "vm1", ""), 0);
    assert_true(c.plan->kube && c.plan->attached);
    assert_string_equal(c.plan->vm, "ns1/vm1");
    assert_string_equal(c.plan->source, "alpha");
    assert_null(c.plan->target);
    assert_int_equal(c.plan->verdict, KVMIG_VERDICT_MIGRATABLE);
    assert_int_equal(c.plan->findings.n, 0);
    pod = cluster_add_launcher(&c, "target", "beta");
    label(pod, "kubevirt.io/migrationJobUID", "uid-of-m");
    assert_int_equal(attach(&c, NULL, "m"), 0);
    assert_string_equal(c.plan->target, "beta");
    /* of the VM's record only what is about this migration */
    cluster_vm(&c)->migration.uid = kvmig__strdup("another");
    cluster_vm(&c)->migration.target_node = kvmig__strdup("gamma");
    assert_int_equal(attach(&c, "vm1", "ns1/m"), 0);
    assert_string_equal(c.plan->target, "beta");
    kvmig__str_set(&cluster_vm(&c)->migration.uid, "uid-of-m");
    cluster_vm(&c)->migration.source_node = kvmig__strdup("alpha");
    kvmig__str_set(&cluster_vm(&c)->node, "gamma");
    assert_int_equal(attach(&c, "vm1", "ns1/m"), 0);
    assert_string_equal(c.plan->source, "alpha");
    assert_string_equal(c.plan->target, "gamma");
    kvmig__str_set(&vmim->phase, "Succeeded");
    assert_int_equal(attach(&c, "vm1", ""), -ENOENT);
    assert_int_equal(attach(&c, "vm1", "m"), 0); /* by name, also when it is over */
    assert_int_equal(attach(&c, "vm1", "none"), -ENOENT);
    assert_int_equal(attach(&c, "none", ""), -KVMIG_ENOVM);
    assert_int_equal(attach(&c, "vm1", "ns2/m"), -ENOENT);
    cluster_clear(&c);
}

static void before_1_6_the_target_cannot_be_pinned(void **state)
{
    struct kvmig__kube_kubevirt *kubevirt;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kubevirt = cluster_add_kubevirt(&c, "v1.5.3");
    assert_vm_has(&c, "TARGET_NOT_PINNED", KVMIG_SEVERITY_INFO, "v1.5.3");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    c.request.target = kvmig__strdup("beta");
    assert_vm_has(&c, "TARGET_NOT_PINNED", KVMIG_SEVERITY_WARN, "v1.5.3");
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE_WITH_RISK);
    kvmig__str_set(&kubevirt->version, "v1.6.0");
    assert_nothing(&c, "TARGET_NOT_PINNED");
    kvmig__str_set(&kubevirt->version, NULL); /* not known */
    assert_nothing(&c, "TARGET_NOT_PINNED");
    cluster_clear(&c);
}

static void options_are_not_claimed_while_policies_are_not_seen(void **state)
{
    const struct kvmig_finding *found;
    struct kvmig__kube_policy *policy;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    cluster_add_kubevirt(&c, "v1.9.0");
    label(cluster_vm(&c), "app", "db");
    found = assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"policies\": \"not visible\"");
    assert_non_null(strstr(found->message, "not certain"));
    assert_null(strstr(found->message, "KubeVirt migrates the VM with"));
    c.kube.kinds[KVMIG__KUBE_POLICY].known = KVMIG__KUBE_FORBIDDEN;
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"policies\": \"not visible\"");
    cluster_know(&c, KVMIG__KUBE_POLICY);
    found = assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"policies\": \"visible\"");
    assert_non_null(strstr(found->message, "KubeVirt migrates the VM with the cluster's options"));
    /* a policy that could win, were the labels of the namespace known */
    policy = cluster_add(&c, KVMIG__KUBE_POLICY, NULL, "gold");
    policy->has_selectors = true;
    kvmig__pairs_set(&policy->ns_selector, "class", "gold");
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"policies\": \"not visible\"");
    kvmig__pairs_set(&policy->vmi_selector, "app", "web"); /* not for this VM anyway */
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"policies\": \"visible\"");
    kvmig__pairs_set(&policy->vmi_selector, "app", "db");
    cluster_add(&c, KVMIG__KUBE_NAMESPACE, NULL, "ns1");
    assert_vm_has(&c, "MIGRATION_OPTIONS", KVMIG_SEVERITY_INFO, "\"policies\": \"visible\"");
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_vm_migrates_and_the_plan_says_what_it_is_of),
        cmocka_unit_test(names_that_lead_nowhere_are_errors),
        cmocka_unit_test(the_source_is_no_target),
        cmocka_unit_test(the_best_candidate_is_taken_unless_one_is_named),
        cmocka_unit_test(without_a_feasible_node_every_reason_is_told),
        cmocka_unit_test(without_nodes_the_vm_alone_is_judged),
        cmocka_unit_test(kinds_that_may_not_be_read_are_told),
        cmocka_unit_test(only_a_running_vm_moves),
        cmocka_unit_test(a_pause_by_the_user_is_kept_and_one_by_a_fault_blocks),
        cmocka_unit_test(a_second_migration_is_refused_with_the_firsts_name),
        cmocka_unit_test(an_unended_record_is_stale_only_if_nothing_is_in_flight),
        cmocka_unit_test(another_living_launcher_is_waited_for),
        cmocka_unit_test(a_full_limit_queues_and_tells_the_position),
        cmocka_unit_test(the_limit_of_the_source_node_is_told_apart),
        cmocka_unit_test(backups_utility_volumes_and_drains_are_told),
        cmocka_unit_test(a_quota_must_hold_a_second_launcher),
        cmocka_unit_test(a_quota_elsewhere_does_not_count),
        cmocka_unit_test(parallel_channels_on_limited_cpu_are_a_risk),
        cmocka_unit_test(options_of_the_migrate_call_are_not_ours),
        cmocka_unit_test(the_options_in_force_are_told_with_their_policy),
        cmocka_unit_test(an_image_without_a_repository_cannot_be_pulled),
        cmocka_unit_test(a_migration_under_way_can_be_followed),
        cmocka_unit_test(before_1_6_the_target_cannot_be_pinned),
        cmocka_unit_test(options_are_not_claimed_while_policies_are_not_seen),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
