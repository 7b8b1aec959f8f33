/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The small cluster of kube_fixture.h. Owns its store, its request and its last plan.
 */
#include "kube_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS "ns1"

/* ---- objects ---- */

void cluster_know(struct cluster *cluster, int32_t kind)
{
    cluster->kube.kinds[kind].known = KVMIG__KUBE_KNOWN;
}

void *cluster_add(struct cluster *cluster, int32_t kind, const char *ns, const char *name)
{
    struct kvmig__kube_meta *object = kvmig__kube_object_new(kind);

    object->ns = kvmig__strdup(ns);
    object->name = kvmig__strdup(name);
    kvmig__kube_put(&cluster->kube, object);
    cluster_know(cluster, kind);
    return object;
}

void label(void *object, const char *key, const char *value)
{
    struct kvmig__pairs *labels = &((struct kvmig__kube_meta *)object)->labels, kept = { 0 };

    if (value) {
        kvmig__pairs_set(labels, key, value);
        return;
    }
    for (size_t i = 0; i < labels->n; i++) {
        if (strcmp(labels->v[i].key, key) != 0)
            kvmig__pairs_set(&kept, labels->v[i].key, labels->v[i].value);
    }
    kvmig__pairs_clear(labels);
    *labels = kept;
}

void amount(struct kvmig__amounts *amounts, const char *name, uint64_t milli)
{
    for (size_t i = 0; i < amounts->n; i++) {
        if (kvmig__str_eq(amounts->v[i].name, name)) {
            amounts->v[i].milli = milli;
            return;
        }
    }
    *KVMIG__PUSH(amounts) = (struct kvmig__amount){ kvmig__strdup(name), milli };
}

void condition(struct kvmig__kube_conditions *conditions, const char *type, const char *status, const char *reason,
               const char *message)
{
    struct kvmig__kube_condition *c = NULL;

    for (size_t i = 0; i < conditions->n; i++) {
        if (kvmig__str_eq(conditions->v[i].type, type))
            c = &conditions->v[i];
    }
    if (!c) {
        c = KVMIG__PUSH(conditions);
        c->type = kvmig__strdup(type);
    }
    kvmig__str_set(&c->status, status);
    kvmig__str_set(&c->reason, reason);
    kvmig__str_set(&c->message, message);
}

void require_host(struct kvmig__terms *terms, const char *node)
{
    struct kvmig__term *term = KVMIG__PUSH(terms);
    struct kvmig__requirement *requirement = KVMIG__PUSH(term);

    requirement->key = kvmig__strdup("kubernetes.io/hostname");
    requirement->op = kvmig__strdup("In");
    kvmig__strlist_add(&requirement->values, node);
}

struct kvmig__kube_node *cluster_add_node(struct cluster *cluster, const char *name)
{
    static const char *const labels[] = {
        "kubevirt.io/schedulable",
        "cpu-vendor.node.kubevirt.io/Intel",
        "cpu-feature.node.kubevirt.io/aes",
        "cpu-feature.node.kubevirt.io/avx2",
        "cpu-model.node.kubevirt.io/Haswell",
        "cpu-model-migration.node.kubevirt.io/Haswell",
        "cpu-model-migration.node.kubevirt.io/Skylake",
        "host-model-cpu.node.kubevirt.io/Skylake",
        "host-model-required-features.node.kubevirt.io/avx2",
        "machine-type.node.kubevirt.io/pc-q35-8.2",
    };
    struct kvmig__kube_node *node = cluster_add(cluster, KVMIG__KUBE_NODE, NULL, name);

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(labels); i++)
        label(node, labels[i], "true");
    label(node, "kubernetes.io/hostname", name);
    label(node, "kubernetes.io/arch", "amd64");
    condition(&node->conditions, "Ready", "True", NULL, NULL);
    amount(&node->allocatable, "cpu", 16000);
    amount(&node->allocatable, "memory", 64 * GIB * 1000);
    amount(&node->allocatable, "devices.kubevirt.io/kvm", 1000000);
    return node;
}

static void add_vm(struct cluster *cluster)
{
    struct kvmig__kube_vmi *vmi = cluster_add(cluster, KVMIG__KUBE_VMI, NS, "vm1");

    vmi->meta.uid = kvmig__strdup(VM_UID);
    vmi->phase = kvmig__strdup("Running");
    vmi->node = kvmig__strdup("alpha");
    vmi->architecture = kvmig__strdup("amd64");
    vmi->machine = kvmig__strdup("pc-q35-8.2");
    vmi->domain.cpu_model = kvmig__strdup("host-model");
    vmi->domain.memory = 2 * GIB;
    condition(&vmi->conditions, "LiveMigratable", "True", NULL, NULL);
    cluster_add_claim(cluster, "root", "ReadWriteMany");
    cluster_add_volume(cluster, "root", "persistentVolumeClaim", "root");
}

void cluster_init(struct cluster *cluster)
{
    *cluster = (struct cluster){ 0 };
    cluster_add_node(cluster, "alpha");
    cluster_add_node(cluster, "beta");
    cluster_add_node(cluster, "gamma");
    add_vm(cluster);
    cluster->request.vm = kvmig__strdup("ns1/vm1");
}

void cluster_clear(struct cluster *cluster)
{
    kvmig_plan_unref(cluster->plan);
    kvmig__request_clear(&cluster->request);
    kvmig__kube_clear(&cluster->kube);
}

struct kvmig__kube_node *cluster_node(struct cluster *cluster, const char *name)
{
    return KVMIG__KUBE_FIND(&cluster->kube, NODE, NULL, name);
}

struct kvmig__kube_vmi *cluster_vm(struct cluster *cluster)
{
    return KVMIG__KUBE_FIND(&cluster->kube, VMI, NS, "vm1");
}

struct kvmig__kube_pod *cluster_add_launcher(struct cluster *cluster, const char *name, const char *node)
{
    struct kvmig__kube_pod *pod = cluster_add(cluster, KVMIG__KUBE_POD, NS, name);
    struct kvmig__kube_container *compute = KVMIG__PUSH(&pod->containers);

    label(pod, "kubevirt.io", "virt-launcher");
    label(pod, "kubevirt.io/created-by", VM_UID);
    pod->phase = kvmig__strdup("Running");
    pod->node = kvmig__strdup(node);
    compute->name = kvmig__strdup("compute");
    compute->state = kvmig__strdup("running");
    amount(&compute->requests, "cpu", 2000);
    amount(&compute->requests, "memory", 4 * GIB * 1000);
    return pod;
}

struct kvmig__kube_vmim *cluster_add_vmim(struct cluster *cluster, const char *name, const char *vmi, const char *phase)
{
    struct kvmig__kube_vmim *vmim = cluster_add(cluster, KVMIG__KUBE_VMIM, NS, name);

    vmim->meta.uid = kvmig__asprintf("uid-of-%s", name);
    vmim->vmi = kvmig__strdup(vmi);
    vmim->phase = kvmig__strdup(phase);
    return vmim;
}

struct kvmig__kube_vmi *cluster_add_vm(struct cluster *cluster, const char *name, const char *node)
{
    struct kvmig__kube_vmi *vmi = cluster_add(cluster, KVMIG__KUBE_VMI, NS, name);

    vmi->meta.uid = kvmig__asprintf("uid-of-%s", name);
    vmi->phase = kvmig__strdup("Running");
    vmi->node = kvmig__strdup(node);
    return vmi;
}

struct kvmig__kube_pvc *cluster_claim(struct cluster *cluster, const char *name)
{
    return KVMIG__KUBE_FIND(&cluster->kube, PVC, NS, name);
}

struct kvmig__kube_pvc *cluster_add_claim(struct cluster *cluster, const char *name, const char *access_mode)
{
    struct kvmig__kube_pvc *pvc = cluster_add(cluster, KVMIG__KUBE_PVC, NS, name);

    kvmig__strlist_add(&pvc->access_modes, access_mode);
    pvc->storage_class = kvmig__strdup("shared");
    pvc->volume_mode = kvmig__strdup("Block");
    pvc->phase = kvmig__strdup("Bound");
    pvc->requested = pvc->capacity = 10 * GIB;
    return pvc;
}

struct kvmig__kube_pv *cluster_bind(struct cluster *cluster, const char *claim, const char *type, const char *node)
{
    char *name = kvmig__asprintf("pv-%s", claim);
    struct kvmig__kube_pv *pv = cluster_add(cluster, KVMIG__KUBE_PV, NULL, name);

    pv->type = kvmig__strdup(type);
    if (node)
        require_host(&pv->node_required, node);
    kvmig__str_set(&cluster_claim(cluster, claim)->volume, name);
    free(name);
    return pv;
}

struct kvmig__kube_disk *cluster_add_volume(struct cluster *cluster, const char *name, const char *kind,
                                            const char *claim)
{
    struct kvmig__kube_vmi *vmi = cluster_vm(cluster);
    struct kvmig__kube_volume *volume = KVMIG__PUSH(&vmi->volumes);
    struct kvmig__kube_disk *disk = KVMIG__PUSH(&vmi->domain.disks);

    volume->name = kvmig__strdup(name);
    volume->kind = kvmig__strdup(kind);
    volume->claim = kvmig__strdup(claim);
    disk->name = kvmig__strdup(name);
    disk->device = kvmig__strdup("disk");
    return disk;
}

struct kvmig__kube_kubevirt *cluster_add_kubevirt(struct cluster *cluster, const char *version)
{
    struct kvmig__kube_kubevirt *kubevirt = cluster_add(cluster, KVMIG__KUBE_KUBEVIRT, "kubevirt", "kubevirt");

    kubevirt->phase = kvmig__strdup("Deployed");
    kubevirt->version = kvmig__strdup(version);
    kvmig__strlist_add(&kubevirt->update_methods, "LiveMigrate");
    return kubevirt;
}

void cluster_move(struct cluster *cluster, const char *volume, const char *claim)
{
    struct kvmig__volume_change *change = KVMIG__PUSH(&cluster->request.volume_changes);

    change->volume = kvmig__strdup(volume);
    change->claim = kvmig__strdup(claim);
}

/* ---- planning ---- */

const struct kvmig_plan *cluster_plan(struct cluster *cluster)
{
    struct kvmig__view view = { .kube = &cluster->kube };

    kvmig_plan_unref(cluster->plan);
    cluster->plan = NULL;
    assert_int_equal(kvmig__plan_make(&view, &cluster->request, NULL, &cluster->plan), 0);
    return cluster->plan;
}

const struct kvmig__candidate *candidate(const struct cluster *cluster, const char *node)
{
    for (size_t i = 0; i < kvmig__plan_candidates(cluster->plan)->n; i++) {
        if (kvmig__str_eq(kvmig__plan_candidates(cluster->plan)->v[i].host, node))
            return &kvmig__plan_candidates(cluster->plan)->v[i];
    }
    return NULL;
}

const struct kvmig_finding *finding(const struct kvmig_findings *findings, const char *code)
{
    for (size_t i = 0; i < findings->n; i++) {
        if (kvmig__str_eq(findings->v[i].code, code))
            return &findings->v[i];
    }
    return NULL;
}

static const struct kvmig_finding *assert_in(const struct kvmig_findings *findings, const char *code, int32_t severity,
                                             const char *piece)
{
    const struct kvmig_finding *found = finding(findings, code);

    if (!found)
        fail_msg("no finding %s", code);
    assert_int_equal(found->severity, severity);
    if (piece && (!found->detail || !strstr(found->detail, piece)))
        fail_msg("%s: no %s in %s", code, piece, found->detail ? found->detail : "(no detail)");
    return found;
}

const struct kvmig_finding *assert_vm_has(struct cluster *cluster, const char *code, int32_t severity,
                                          const char *piece)
{
    return assert_in(&cluster_plan(cluster)->findings, code, severity, piece);
}

const struct kvmig_finding *assert_node_has(struct cluster *cluster, const char *node, const char *code,
                                            int32_t severity, const char *piece)
{
    cluster_plan(cluster);
    assert_non_null(candidate(cluster, node));
    return assert_in(&candidate(cluster, node)->findings, code, severity, piece);
}

void assert_nothing(struct cluster *cluster, const char *code)
{
    assert_null(finding(&cluster_plan(cluster)->findings, code));
    for (size_t i = 0; i < kvmig__plan_candidates(cluster->plan)->n; i++)
        assert_null(finding(&kvmig__plan_candidates(cluster->plan)->v[i].findings, code));
}

void assert_is(struct cluster *cluster, int32_t verdict)
{
    const struct kvmig_plan *plan = cluster_plan(cluster);

    for (size_t i = 0; plan->verdict != verdict && i < plan->findings.n; i++)
        print_message("%s: %s\n", plan->findings.v[i].code, plan->findings.v[i].message);
    assert_string_equal(kvmig_verdict_name(plan->verdict), kvmig_verdict_name(verdict));
}

const struct kvmig__disk_plan *disk(const struct cluster *cluster, const char *volume)
{
    for (size_t i = 0; i < cluster->plan->disks.n; i++) {
        if (kvmig__str_eq(cluster->plan->disks.v[i].target, volume))
            return &cluster->plan->disks.v[i];
    }
    fail_msg("the plan has no volume %s", volume);
    return NULL;
}
