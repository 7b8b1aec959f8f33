/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is remembered from one planning to the next changes no answer: in large clusters made at random, each VM is planned one after the
 * other on one store that keeps its look-ups, then on a store that knows nothing yet, then with every node judged by itself; the whole
 * JSON must be the same. The VMs draw what they ask for from a few values, so that many ask for the same, and others for nearly that.
 */
#include "kube_fixture.h"
#include "plan/kube_checks.h"
#include "plan/kube_lazy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 260 /* more than are always judged one by one */
#define VMS 40
#define KINDS 9 /* of nodes, and of VMs */
#define SEEDS 3
#define LABEL_ZONE "topology.kubernetes.io/zone"
#define LABEL_MACHINE KVMIG__LABEL_MACHINE "pc-q35-9.4"

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 16;
}

/* One time in n. */
static bool rarely(uint32_t *seed, uint32_t n)
{
    return !(next(seed) % n);
}

/* ---- nodes ---- */

static const char *const models[] = { "Skylake-Server", "EPYC-Rome" };
static const char *const features[] = { "aes", "avx2", "invpcid", "vmx" };

static void label_cpu(struct kvmig__kube_node *node, uint32_t *seed)
{
    uint32_t model = next(seed) % KVMIG__N_ELEMENTS(models);
    char key[96];

    snprintf(key, sizeof(key), KVMIG__LABEL_MODEL "%s", models[model]);
    label(node, key, "true");
    snprintf(key, sizeof(key), KVMIG__LABEL_MODEL_MIGRATION "%s", models[model]);
    label(node, key, "true");
    snprintf(key, sizeof(key), KVMIG__LABEL_HOST_MODEL "%s", models[model]);
    label(node, key, "true");
    label(node, model ? KVMIG__LABEL_VENDOR "AMD" : KVMIG__LABEL_VENDOR "Intel", "true");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(features); i++) {
        snprintf(key, sizeof(key), "%s%s", i % 2 ? KVMIG__LABEL_HOST_FEATURE : KVMIG__LABEL_FEATURE, features[i]);
        if (!rarely(seed, 8))
            label(node, key, "true");
    }
    if (rarely(seed, 20))
        label(node, KVMIG__LABEL_OBSOLETE, "true");
    if (!rarely(seed, 6))
        label(node, LABEL_MACHINE, "true");
    if (rarely(seed, 4))
        label(node, KVMIG__LABEL_HYPERV "vpindex", "true");
}

static void add_handler(struct cluster *c, const char *node, uint32_t *seed)
{
    struct kvmig__kube_pod *pod = cluster_add(c, KVMIG__KUBE_POD, "kubevirt", node);

    label(pod, "kubevirt.io", "virt-handler");
    pod->node = kvmig__strdup(node);
    if (!rarely(seed, 6))
        pod->phase = kvmig__strdup("Running");
    condition(&pod->conditions, "Ready", rarely(seed, 8) ? "False" : "True", NULL, NULL);
    if (rarely(seed, 2))
        kvmig__pairs_set(&pod->meta.annotations, KVMIG__NOTE_NETWORKS, "[{\"interface\":\"migration0\"}]");
}

static void add_node(struct cluster *c, size_t i, uint32_t *own)
{
    uint32_t kind = next(own) % KINDS * 7919, *seed = &kind; /* own: what nodes of a kind differ in */
    char name[32], text[64];
    struct kvmig__kube_node *node;

    snprintf(name, sizeof(name), "node-%03zu", i);
    node = cluster_add(c, KVMIG__KUBE_NODE, NULL, name);
    label(node, KVMIG__LABEL_HOSTNAME, name);
    snprintf(text, sizeof(text), "serial-%zu", i);
    label(node, "example.com/serial", text);
    label(node, LABEL_ZONE, rarely(seed, 2) ? "z1" : "z2");
    label(node, KVMIG__LABEL_SCHEDULABLE, rarely(seed, 20) ? "false" : "true");
    label(node, "kubernetes.io/arch", rarely(seed, 30) ? "arm64" : "amd64");
    label_cpu(node, seed);
    if (rarely(seed, 10)) {
        struct kvmig__taint *taint = KVMIG__PUSH(&node->taints);

        taint->key = kvmig__strdup("dedicated");
        taint->effect = kvmig__strdup("NoSchedule");
    }
    node->unschedulable = rarely(own, 20);
    snprintf(text, sizeof(text), "2026-11-30T11:%02u:33Z", (unsigned)(next(seed) % 8));
    kvmig__pairs_set(&node->meta.annotations, KVMIG__LABEL_HEARTBEAT, text);
    condition(&node->conditions, "Ready", rarely(seed, 20) ? "False" : "True", NULL, NULL);
    snprintf(text, sizeof(text), "uuid-%zu", rarely(own, 30) ? 7 : i);
    node->system_uuid = kvmig__strdup(text);
    amount(&node->allocatable, "cpu", 64000);
    amount(&node->allocatable, "memory", (8 + next(own) % 16) * GIB * 1000);
    if (!rarely(own, 5))
        add_handler(c, name, seed);
}

/* ---- VMs ---- */

static struct kvmig__kube_pod *launch(struct cluster *c, const struct kvmig__kube_vmi *vmi)
{
    char *name = kvmig__asprintf("virt-launcher-%s", vmi->meta.name);
    struct kvmig__kube_pod *pod = cluster_add_launcher(c, name, vmi->node);

    label(pod, "kubevirt.io/created-by", vmi->meta.uid);
    kvmig__pairs_set(&pod->placement.node_selector, KVMIG__LABEL_SCHEDULABLE, "true");
    free(name);
    return pod;
}

static void tolerate(struct kvmig__tolerations *tolerations)
{
    struct kvmig__toleration *toleration = KVMIG__PUSH(tolerations);

    toleration->key = kvmig__strdup("dedicated");
    toleration->op = kvmig__strdup("Exists");
}

static void require(struct kvmig__kube_vmi *vmi, const char *key, const char *op, const char *value)
{
    struct kvmig__term *term = KVMIG__PUSH(&vmi->placement.node_required);
    struct kvmig__requirement *requirement = KVMIG__PUSH(term);

    requirement->key = kvmig__strdup(key);
    requirement->op = kvmig__strdup(op);
    kvmig__strlist_add(&requirement->values, value);
}

static void place(struct kvmig__kube_vmi *vmi, struct kvmig__kube_pod *pod, uint32_t *seed)
{
    if (rarely(seed, 3))
        kvmig__pairs_set(&vmi->placement.node_selector, LABEL_ZONE, rarely(seed, 2) ? "z1" : "z2");
    if (rarely(seed, 6))
        tolerate(rarely(seed, 2) || !pod ? &vmi->placement.tolerations : &pod->placement.tolerations);
    if (rarely(seed, 8))
        require(vmi, LABEL_ZONE, rarely(seed, 2) ? "In" : "NotIn", "z1");
    if (rarely(seed, 10))
        require(vmi, "example.com/serial", "NotIn", "serial-17");
    if (rarely(seed, 12))
        kvmig__pairs_set(&vmi->placement.node_selector, KVMIG__LABEL_HOSTNAME, "node-123");
}

/* Some launchers ask for what not even their own node has any more. */
static void remember_origin(struct kvmig__kube_pod *pod, uint32_t *seed)
{
    if (rarely(seed, 2))
        kvmig__pairs_set(&pod->placement.node_selector, KVMIG__LABEL_MODEL_MIGRATION "Skylake-Server", "true");
    if (rarely(seed, 3))
        kvmig__pairs_set(&pod->placement.node_selector, KVMIG__LABEL_FEATURE "aes", "true");
    if (rarely(seed, 4))
        kvmig__pairs_set(&pod->placement.node_selector, KVMIG__LABEL_FEATURE "gone", "true");
    if (rarely(seed, 3))
        label(pod, "kubevirt.io/migrationJobUID", JOB_UID);
}

static void name_features(struct kvmig__kube_domain *domain, uint32_t *seed)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(features); i++) {
        struct kvmig__kube_feature *feature;

        if (!rarely(seed, 4))
            continue;
        feature = KVMIG__PUSH(&domain->cpu_features);
        feature->name = kvmig__strdup(features[i]);
        feature->policy = kvmig__strdup(rarely(seed, 3) ? "forbid" : "require");
    }
}

static void build(struct kvmig__kube_vmi *vmi, uint32_t *seed)
{
    static const char *const kinds[] = { "host-model", "host-model", "host-passthrough", "Skylake-Server", "Conroe" };

    if (!rarely(seed, 4))
        vmi->domain.cpu_model = kvmig__strdup(kinds[next(seed) % KVMIG__N_ELEMENTS(kinds)]);
    if (rarely(seed, 4))
        name_features(&vmi->domain, seed);
    if (rarely(seed, 3))
        vmi->machine = kvmig__strdup(rarely(seed, 3) ? "pc-q35-10.0" : "pc-q35-9.4");
    if (rarely(seed, 8))
        vmi->domain.machine = kvmig__strdup("q35");
    if (rarely(seed, 6))
        kvmig__strlist_add(&vmi->domain.hyperv, "vpindex");
    vmi->domain.dedicated_cpus = rarely(seed, 10);
    vmi->domain.realtime = rarely(seed, 12);
    if (rarely(seed, 12))
        vmi->domain.launch_security = kvmig__strdup(rarely(seed, 2) ? "sev" : "tdx");
    if (rarely(seed, 3))
        vmi->architecture = kvmig__strdup(rarely(seed, 5) ? "arm64" : "amd64");
    if (rarely(seed, 6)) {
        vmi->migration.completed = true;
        vmi->migration.failed = rarely(seed, 3);
        vmi->migration.target_node = kvmig__strdup(vmi->node);
    }
}

static void add_vm(struct cluster *c, size_t i, uint32_t *own)
{
    uint32_t kind = next(own) % KINDS * 104729, *seed = &kind;
    struct kvmig__kube_pod *pod = NULL;
    struct kvmig__kube_vmi *vmi;
    char name[32], node[32];

    snprintf(name, sizeof(name), "vm-%02zu", i);
    snprintf(node, sizeof(node), rarely(own, 25) ? "unseen-%u" : "node-%03u", (unsigned)(next(own) % 3));
    vmi = cluster_add_vm(c, name, node);
    if (!rarely(seed, 8))
        pod = launch(c, vmi);
    build(vmi, seed);
    place(vmi, pod, seed);
    if (rarely(own, 6)) /* nearly the same as others of its kind */
        place(vmi, pod, own);
    if (pod && rarely(seed, 3))
        remember_origin(pod, seed);
}

static void make(struct cluster *c, uint32_t seed)
{
    struct kvmig__kube_kubevirt *kubevirt;

    cluster_init(c);
    kubevirt = cluster_add_kubevirt(c, "v1.6.0");
    if (rarely(&seed, 2))
        kvmig__strlist_add(&kubevirt->feature_gates, "HypervStrictCheck");
    if (rarely(&seed, 2))
        kubevirt->config.network = kvmig__strdup("migration");
    for (size_t i = 0; i < NODES; i++)
        add_node(c, i, &seed);
    for (size_t i = 0; i < VMS; i++)
        add_vm(c, i, &seed);
}

/* ---- the comparison ---- */

static struct kvmig_plan *plan_of(struct cluster *c, size_t vm)
{
    free(c->request.vm);
    c->request.vm = kvmig__asprintf("ns1/vm-%02zu", vm);
    return kvmig_plan_ref(cluster_plan(c));
}

static char *json_of(const struct kvmig_plan *plan)
{
    char *json = NULL;

    assert_int_equal(kvmig_plan_to_json(plan, &json), 0);
    assert_null(strstr(json, "kvmig-node"));
    return json;
}

static void forget(struct cluster *c, bool keep)
{
    kvmig__kube_lookup_drop(&c->kube);
    c->kube.keeps_lookup = keep;
}

static void assert_same(const char *expected, const struct kvmig_plan *plan)
{
    char *json = json_of(plan);

    assert_string_equal(json, expected);
    free(json);
}

/* What is asked of a plan that is remembered comes after all others have used the same judgements. */
static size_t count_shared(struct kvmig_plan *const *plans)
{
    size_t shared = 0;

    for (size_t i = 0; i < VMS; i++) {
        for (size_t k = 0; k < i; k++) {
            if (plans[i]->lazy->shared == plans[k]->lazy->shared) {
                shared++;
                break;
            }
        }
    }
    return shared;
}

static void compare_all(uint32_t seed, size_t *out_shared)
{
    struct kvmig_plan *warm[VMS];
    struct cluster c;

    make(&c, seed);
    forget(&c, true);
    for (size_t i = 0; i < VMS; i++)
        warm[i] = plan_of(&c, i);
    *out_shared += count_shared(warm);
    forget(&c, false);
    for (size_t i = 0; i < VMS; i++) {
        struct kvmig__kube_vmi *vmi;
        struct kvmig_plan *plan = plan_of(&c, i);
        char *cold = json_of(plan);

        assert_same(cold, warm[i]);
        kvmig_plan_unref(plan);
        vmi = KVMIG__KUBE_FIND(&c.kube, VMI, "ns1", c.request.vm + strlen("ns1/"));
        vmi->tsc_frequency_hz = 1; /* of a guest that does not need it: nothing else follows */
        plan = plan_of(&c, i);
        assert_same(cold, plan);
        vmi->tsc_frequency_hz = 0;
        kvmig_plan_unref(plan);
        kvmig_plan_unref(warm[i]);
        free(cold);
    }
    cluster_clear(&c);
}

static void what_is_remembered_changes_no_answer(void **state)
{
    size_t shared = 0;

    (void)state;
    for (uint32_t seed = 1; seed <= SEEDS; seed++)
        compare_all(seed, &shared);
    print_message("%zu of %d plans used what others had found\n", shared, SEEDS * VMS);
    assert_true(shared > VMS / 2);
}

/* One thing in which the VM differs from all others. */
static void vary(struct kvmig__kube_vmi *vmi, struct kvmig__kube_pod *pod, size_t what)
{
    struct kvmig__kube_feature *feature;

    switch (what) {
    case 1:
        vmi->machine = kvmig__strdup("pc-q35-10.0");
        break;
    case 2:
        tolerate(&pod->placement.tolerations);
        break;
    case 3:
        label(pod, "kubevirt.io/migrationJobUID", JOB_UID);
        break;
    case 4:
        kvmig__pairs_set(&pod->placement.node_selector, KVMIG__LABEL_MODEL_MIGRATION "EPYC-Rome", "true");
        break;
    case 5:
        kvmig__pairs_set(&vmi->placement.node_selector, LABEL_ZONE, "z1");
        break;
    case 6:
        feature = KVMIG__PUSH(&vmi->domain.cpu_features);
        feature->name = kvmig__strdup("avx2");
        break;
    case 7:
        vmi->domain.dedicated_cpus = true;
        break;
    case 8:
        vmi->domain.realtime = true;
        break;
    case 9:
        vmi->domain.launch_security = kvmig__strdup("sev");
        break;
    case 10:
        vmi->architecture = kvmig__strdup("arm64");
        break;
    case 11:
        kvmig__strlist_add(&vmi->domain.hyperv, "vpindex");
        break;
    case 12:
        kvmig__str_set(&vmi->domain.cpu_model, "Skylake-Server");
        break;
    case 13:
        require(vmi, LABEL_ZONE, "In", "z2");
        break;
    case 14:
        vmi->domain.machine = kvmig__strdup("pc-q35-8.2");
        break;
    case 15:
        tolerate(&vmi->placement.tolerations);
        break;
    default: /* as all others */
        break;
    }
}

static void vms_that_differ_in_one_thing_are_told_apart(void **state)
{
    struct kvmig_plan *warm[16];
    struct cluster c;

    (void)state;
    make(&c, 2);
    kvmig__strlist_add(&KVMIG__KUBE_FIND(&c.kube, KUBEVIRT, "kubevirt", "kubevirt")->feature_gates,
                       "HypervStrictCheck");
    for (size_t i = 0; i < 16; i++) {
        char *name = kvmig__asprintf("vm-%02zu", VMS + i);
        struct kvmig__kube_vmi *vmi = cluster_add_vm(&c, name, "node-000");

        vmi->domain.cpu_model = kvmig__strdup("host-model");
        vary(vmi, launch(&c, vmi), i);
        free(name);
    }
    forget(&c, true);
    for (size_t i = 0; i < 16; i++)
        warm[i] = plan_of(&c, VMS + i);
    assert_ptr_equal(plan_of(&c, VMS)->lazy->shared, warm[0]->lazy->shared);
    kvmig_plan_unref(c.plan);
    for (size_t i = 1; i < 16; i++)
        assert_ptr_not_equal(warm[i]->lazy->shared, warm[0]->lazy->shared);
    forget(&c, false);
    for (size_t i = 0; i < 16; i++) {
        struct kvmig_plan *cold = plan_of(&c, VMS + i);
        char *json = json_of(cold);

        assert_same(json, warm[i]);
        kvmig_plan_unref(cold);
        kvmig_plan_unref(warm[i]);
        free(json);
    }
    cluster_clear(&c);
}

static void a_finding_that_names_the_launcher_is_its_own(void **state)
{
    struct kvmig_plan *plans[2];
    struct cluster c;
    uint32_t seed = 1;

    (void)state;
    cluster_init(&c);
    for (size_t i = 0; i < NODES; i++)
        add_node(&c, i, &seed);
    c.kube.keeps_lookup = true;
    for (size_t i = 0; i < 2; i++) {
        char name[] = "vm-00";
        struct kvmig__kube_pod *pod;

        name[4] = (char)('0' + i);
        pod = launch(&c, cluster_add_vm(&c, name, "alpha"));
        kvmig__pairs_set(&pod->placement.node_selector, KVMIG__LABEL_FEATURE "gone", "true");
        kvmig__pairs_set(&pod->placement.node_selector, KVMIG__LABEL_FEATURE "aes", "true");
    }
    for (size_t i = 0; i < 2; i++)
        plans[i] = plan_of(&c, i);
    for (size_t i = 0; i < 2; i++) {
        char *json = json_of(plans[i]);

        assert_non_null(strstr(json, "STALE_NODE_SELECTOR"));
        assert_non_null(strstr(json, i ? "virt-launcher-vm-01" : "virt-launcher-vm-00"));
        assert_null(strstr(json, i ? "virt-launcher-vm-00" : "virt-launcher-vm-01"));
        free(json);
        kvmig_plan_unref(plans[i]);
    }
    cluster_clear(&c);
}

/* More kinds of VMs than are remembered. */
static void much_is_forgotten(void **state)
{
    struct kvmig_plan *first;
    struct cluster c;
    uint32_t seed = 5;
    char *before;

    (void)state;
    make(&c, seed);
    c.kube.keeps_lookup = true;
    first = plan_of(&c, 0);
    before = json_of(first);
    for (size_t i = 0; i < 2100; i++) {
        struct kvmig__kube_vmi *vmi = KVMIG__KUBE_FIND(&c.kube, VMI, "ns1", "vm-01");

        free(vmi->domain.machine);
        vmi->domain.machine = kvmig__asprintf("pc-%zu", i);
        kvmig_plan_unref(plan_of(&c, 1));
    }
    assert_same(before, first);
    kvmig_plan_unref(first);
    first = plan_of(&c, 0);
    assert_same(before, first);
    kvmig_plan_unref(first);
    free(before);
    cluster_clear(&c);
}

/* Tells the memo of a class with more than it may hold. */
static void note_much(struct cluster *c, struct kvmig__kube_judged *judged)
{
    enum { LENGTH = 1 << 20 };
    char *message = kvmig__calloc(LENGTH + 1, 1);
    struct kvmig_finding findings[100] = { 0 };
    const struct kvmig__kube_class class = { .findings = { findings, KVMIG__N_ELEMENTS(findings) } };

    memset(message, 'x', LENGTH);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(findings); i++) {
        findings[i].code = (char *)"LIMIT_REACHED";
        findings[i].message = message;
    }
    kvmig__kube_memo_note(kvmig__kube_base(&c->kube), judged, &class);
    free(message);
}

/* The judgements for the first VM, after another that asks for something new; borrowed. */
static const struct kvmig__kube_judged *after_another(struct cluster *c, const char *machine)
{
    struct kvmig__kube_vmi *vmi = KVMIG__KUBE_FIND(&c->kube, VMI, "ns1", "vm-01");
    const struct kvmig__kube_judged *judged;
    struct kvmig_plan *plan;

    free(vmi->domain.machine);
    vmi->domain.machine = kvmig__strdup(machine);
    kvmig_plan_unref(plan_of(c, 1));
    plan = plan_of(c, 0);
    judged = plan->lazy->shared;
    kvmig_plan_unref(plan);
    return judged;
}

static void only_what_is_kept_counts(void **state)
{
    struct kvmig__kube_judged *alone = kvmig__kube_judged_new(0);
    struct kvmig_plan *first;
    struct cluster c;

    (void)state;
    make(&c, 5);
    forget(&c, true);
    first = plan_of(&c, 0);
    note_much(&c, alone);
    assert_ptr_equal(after_another(&c, "pc-1"), first->lazy->shared);
    note_much(&c, first->lazy->shared);
    assert_ptr_not_equal(after_another(&c, "pc-2"), first->lazy->shared);
    note_much(&c, first->lazy->shared); /* which is forgotten by now */
    kvmig_plan_unref(first);
    first = plan_of(&c, 0);
    assert_ptr_equal(after_another(&c, "pc-3"), first->lazy->shared);
    kvmig_plan_unref(first);
    kvmig__kube_judged_unref(alone);
    cluster_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_remembered_changes_no_answer),
        cmocka_unit_test(vms_that_differ_in_one_thing_are_told_apart),
        cmocka_unit_test(a_finding_that_names_the_launcher_is_its_own),
        cmocka_unit_test(much_is_forgotten),
        cmocka_unit_test(only_what_is_kept_counts),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
