/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blockers on KubeVirt are independent of each other (conditions_test.h); and what a plan says would make the VM movable is the
 * smallest set of changes that does.
 */
#include "conditions_test.h"
#include "kube_fixture.h"

#include <stdlib.h>
#include <string.h>

#define SUBSETS 600

/* ---- the conditions: each changes what no other one does ---- */

static void cordon(struct cluster *c)
{
    cluster_node(c, "beta")->unschedulable = true;
}

static void taint(struct cluster *c)
{
    struct kvmig__taint *taint = KVMIG__PUSH(&cluster_node(c, "beta")->taints);

    taint->key = kvmig__strdup("dedicated");
    taint->effect = kvmig__strdup("NoSchedule");
}

static void little_memory(struct cluster *c)
{
    amount(&cluster_node(c, "beta")->allocatable, "memory", 3 * GIB * 1000);
}

static void few_cpus(struct cluster *c)
{
    amount(&cluster_node(c, "beta")->allocatable, "cpu", 1000);
}

static void no_avx2(struct cluster *c)
{
    label(cluster_node(c, "beta"), "cpu-feature.node.kubevirt.io/avx2", NULL);
}

static void no_model(struct cluster *c)
{
    label(cluster_node(c, "beta"), "cpu-model-migration.node.kubevirt.io/Skylake", NULL);
}

static void no_machine(struct cluster *c)
{
    label(cluster_node(c, "beta"), "machine-type.node.kubevirt.io/pc-q35-8.2", NULL);
    label(cluster_node(c, "beta"), "machine-type.node.kubevirt.io/pc-q35-9.0", "true");
}

static void selector(struct cluster *c)
{
    kvmig__pairs_set(&cluster_vm(c)->placement.node_selector, "rack", "r1");
    label(cluster_node(c, "alpha"), "rack", "r1");
    label(cluster_node(c, "gamma"), "rack", "r1"); /* else it pins the source */
}

static void repel(struct cluster *c)
{
    struct kvmig__pod_term *term = KVMIG__PUSH(&cluster_vm(c)->placement.pod_forbidden);
    struct kvmig__requirement *requirement = KVMIG__PUSH(&term->selector);
    struct kvmig__kube_pod *pod = cluster_add(c, KVMIG__KUBE_POD, "ns1", "rival");

    term->topology_key = kvmig__strdup("kubernetes.io/hostname");
    requirement->key = kvmig__strdup("rival");
    requirement->op = kvmig__strdup("Exists");
    label(pod, "rival", "true");
    kvmig__str_set(&pod->node, "beta");
    kvmig__str_set(&pod->phase, "Running");
}

static void not_shared(struct cluster *c)
{
    kvmig__str_set(&cluster_claim(c, "root")->access_modes.v[0], "ReadWriteOnce");
}

static void bound_elsewhere(struct cluster *c)
{
    cluster_add_claim(c, "data", "ReadWriteMany");
    cluster_add_volume(c, "data", "persistentVolumeClaim", "data");
    cluster_bind(c, "data", "csi", "alpha");
    require_host(&((struct kvmig__kube_pv *)c->kube.kinds[KVMIG__KUBE_PV].v[0])->node_required, "gamma");
}

static void device(struct cluster *c)
{
    kvmig__strlist_add(&cluster_vm(c)->domain.host_devices, "example.com/card");
    amount(&cluster_node(c, "beta")->allocatable, "example.com/card", 1000);
    amount(&cluster_node(c, "gamma")->allocatable, "example.com/card", 1000);
}

static void bridge(struct cluster *c)
{
    struct kvmig__kube_interface *interface = KVMIG__PUSH(&cluster_vm(c)->interfaces);

    interface->name = kvmig__strdup("default");
    interface->binding = kvmig__strdup("bridge");
    interface->in_spec = interface->pod_network = true;
}

static void encrypted(struct cluster *c)
{
    cluster_vm(c)->domain.launch_security = kvmig__strdup("sev");
    label(cluster_node(c, "alpha"), "kubevirt.io/sev", "true");
    label(cluster_node(c, "beta"), "kubevirt.io/sev", "true");
    label(cluster_node(c, "gamma"), "kubevirt.io/sev", "true");
}

static void hyperv(struct cluster *c)
{
    cluster_vm(c)->domain.hyperv_passthrough = true;
}

static void quota(struct cluster *c)
{
    struct kvmig__kube_quota *object = cluster_add(c, KVMIG__KUBE_QUOTA, "ns1", "q");

    amount(&object->hard, "pods", 3000);
    amount(&object->used, "pods", 3000);
}

static void io_error(struct cluster *c)
{
    condition(&cluster_vm(c)->conditions, "Paused", "True", "PausedIOError", NULL);
}

static void migrating(struct cluster *c)
{
    cluster_add_vmim(c, "first", "vm1", "Pending");
}

static void deleted(struct cluster *c)
{
    cluster_vm(c)->meta.deleted_ms = 1;
}

static const struct {
    const char *code;
    void (*make)(struct cluster *);
} conditions[] = {
    { "NODE_NOT_SCHEDULABLE", cordon },
    { "TAINT_NOT_TOLERATED", taint },
    { "INSUFFICIENT_MEMORY", little_memory },
    { "INSUFFICIENT_CPU", few_cpus },
    { "CPU_FEATURE_MISSING", no_avx2 },
    { "CPU_MODEL_UNSUPPORTED", no_model },
    { "MACHINE_TYPE_UNSUPPORTED", no_machine },
    { "NODE_SELECTOR_MISMATCH", selector },
    { "POD_ANTI_AFFINITY", repel },
    { "PVC_NOT_SHARED", not_shared },
    { "PV_NODE_AFFINITY", bound_elsewhere },
    { "HOSTDEV_NOT_MIGRATABLE", device },
    { "POD_BRIDGE_BINDING", bridge },
    { "GUEST_PROTECTION_NOT_MIGRATABLE", encrypted },
    { "HYPERV_PASSTHROUGH_NOT_MIGRATABLE", hyperv },
    { "QUOTA_EXCEEDED", quota },
    { "VM_IO_ERROR", io_error },
    { "MIGRATION_IN_PROGRESS", migrating },
    { "VM_BEING_DELETED", deleted },
};
#define N_CONDITIONS KVMIG__N_ELEMENTS(conditions)

static void build(struct cluster *c, uint64_t subset)
{
    cluster_init(c);
    cluster_add_launcher(c, "virt-launcher-vm1-x", "alpha");
    kvmig__str_set(&c->request.target, "beta");
    for (size_t i = 0; i < N_CONDITIONS; i++) {
        if (subset >> i & 1)
            conditions[i].make(c);
    }
}

static const char *code_of(size_t index)
{
    return conditions[index].code;
}

static struct cluster world; /* of the last subset */

static const struct kvmig_plan *plan_subset(uint64_t subset)
{
    cluster_clear(&world);
    build(&world, subset);
    return cluster_plan(&world);
}

static const struct conditions all = { N_CONDITIONS, code_of, plan_subset };

static void taking_one_condition_away_takes_its_finding_away(void **state)
{
    (void)state;
    conditions_check(&all, SUBSETS);
    cluster_clear(&world);
}

/* ---- what would make it movable ---- */

static void mending_what_is_told_makes_it_movable(void **state)
{
    uint64_t random = 2;

    (void)state;
    for (size_t n = 0; n < SUBSETS / 4; n++) {
        uint64_t subset = conditions_draw(&all, &random), remedies,
                 nevers = conditions_bit(&all, "GUEST_PROTECTION_NOT_MIGRATABLE");
        const struct kvmig__remedies *answer;
        struct cluster c;

        build(&c, subset);
        kvmig__str_set(&c.request.target, NULL);
        cordon(&c); /* gamma has less against it */
        label(cluster_node(&c, "gamma"), "cpu-model-migration.node.kubevirt.io/Skylake", NULL);
        answer = kvmig__plan_remedies(cluster_plan(&c));
        remedies = conditions_told(&all, &answer->changes, subset);
        assert_int_equal(answer->possible, !(subset & nevers));
        assert_true(remedies != 0);
        assert_true(answer->changes.n <= (size_t)__builtin_popcountll(subset) + 1);
        for (size_t i = 0; i < answer->changes.n; i++)
            assert_true(kvmig_finding_mend(&answer->changes.v[i]) != 0);
        if (kvmig__str_eq(answer->target, "gamma")) {
            /* what is told of gamma is its own model and what the VM has against it everywhere */
            assert_true(remedies & conditions_bit(&all, "CPU_MODEL_UNSUPPORTED"));
            assert_false(remedies & conditions_bit(&all, "NODE_NOT_SCHEDULABLE"));
        }
        cluster_clear(&c);
    }
}

static const struct kvmig__remedies *remedies_of(struct cluster *c)
{
    return kvmig__plan_remedies(cluster_plan(c));
}

static void the_smallest_set_wins_then_the_cheapest(void **state)
{
    const struct kvmig__remedies *remedies;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_int_equal(remedies_of(&c)->changes.n, 0); /* nothing to mend */
    assert_null(kvmig_plan_remedy_target(c.plan));
    taint(&c);
    cordon(&c);
    no_avx2(&c);
    label(cluster_node(&c, "gamma"), "cpu-model-migration.node.kubevirt.io/Skylake", NULL);
    remedies = remedies_of(&c);
    assert_string_equal(remedies->target, "gamma"); /* one change */
    assert_int_equal(remedies->changes.n, 1);
    assert_int_equal(kvmig_finding_mend(kvmig_findings_get(kvmig_plan_remedies(c.plan), 0)), KVMIG_MEND_RESTART);
    cluster_clear(&c);

    cluster_init(&c);
    cordon(&c);
    label(cluster_node(&c, "gamma"), "cpu-model-migration.node.kubevirt.io/Skylake", NULL);
    remedies = remedies_of(&c);
    assert_string_equal(remedies->target, "beta"); /* to uncordon it is cheaper than a restart */
    assert_string_equal(remedies->changes.v[0].code, "NODE_NOT_SCHEDULABLE");
    cluster_node(&c, "beta")->unschedulable = false;
    assert_is(&c, KVMIG_VERDICT_MIGRATABLE);
    cluster_clear(&c);
}

/* Other storage for a claim takes away all that stands against its present one. */
static void one_claim_is_one_change(void **state)
{
    const struct kvmig__remedies *remedies;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    not_shared(&c);
    cluster_bind(&c, "root", "csi", "alpha");
    require_host(&((struct kvmig__kube_pv *)c.kube.kinds[KVMIG__KUBE_PV].v[0])->node_required, "gamma");
    taint(&c); /* beta: the claim twice, and this; gamma: the claim, and these two */
    cluster_node(&c, "gamma")->unschedulable = true;
    label(cluster_node(&c, "gamma"), "cpu-model-migration.node.kubevirt.io/Skylake", NULL);
    remedies = remedies_of(&c);
    assert_string_equal(remedies->target, "beta");
    assert_int_equal(remedies->changes.n, 3);
    cluster_clear(&c);
}

static void another_target_is_a_remedy_too(void **state)
{
    const struct kvmig__remedies *remedies;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    kvmig__str_set(&c.request.target, "beta");
    no_avx2(&c);
    remedies = remedies_of(&c);
    assert_string_equal(remedies->target, "gamma");
    assert_int_equal(remedies->changes.n, 1);
    assert_string_equal(remedies->changes.v[0].code, "CHOOSE_OTHER_NODE");
    assert_int_equal(kvmig_finding_mend(&remedies->changes.v[0]), KVMIG_MEND_REQUEST);
    kvmig__str_set(&c.request.target, "alpha"); /* where it is */
    remedies = remedies_of(&c);
    assert_string_equal(remedies->target, "gamma");
    assert_int_equal(remedies->changes.n, 1);
    cluster_clear(&c);
}

static void what_cannot_be_mended_is_said_so(void **state)
{
    const struct kvmig__remedies *remedies;
    struct cluster c;

    (void)state;
    cluster_init(&c);
    encrypted(&c);
    remedies = remedies_of(&c);
    assert_false(remedies->possible);
    assert_int_equal(kvmig_finding_mend(&remedies->changes.v[0]), KVMIG_MEND_NEVER);
    assert_string_equal(kvmig_mend_name(KVMIG_MEND_NEVER), "never");
    assert_null(kvmig_mend_name(0));
    assert_null(kvmig_mend_name(11));
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taking_one_condition_away_takes_its_finding_away),
        cmocka_unit_test(mending_what_is_told_makes_it_movable),
        cmocka_unit_test(the_smallest_set_wins_then_the_cheapest),
        cmocka_unit_test(one_claim_is_one_change),
        cmocka_unit_test(another_target_is_a_remedy_too),
        cmocka_unit_test(what_cannot_be_mended_is_said_so),
    };

    return !!cmocka_run_group_tests_name("kube plan property", tests, NULL, NULL);
}
