/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What KubeVirt's controller would answer about migrations as such: the options in force for one VM, its completion limit, the
 * slots that are taken, and who is next for one. Pure: no handle, lock, clock, JSON; any thread, as long as nobody changes the store
 * meanwhile. The numbers are KubeVirt's own defaults where no object says otherwise.
 */
#include "cluster/kube_lookup.h"

#include <stdlib.h>
#include <string.h>

#define NAME_LABEL "kubernetes.io/metadata.name"
#define JOB_LABEL "kubevirt.io/migrationJobUID"
#define STALL_FACTOR_MILLI 2000
#define QEMU_PAUSE_MS 300

/* ---- options: code defaults, the KubeVirt object, the policy ---- */

static void set_defaults(struct kvmig__kube_config *config)
{
    kvmig__kube_config_init(config);
    config->parallel_cluster = 5;
    config->outbound_node = 2;
    config->bandwidth = 0;
    config->completion_s_per_gb = 150;
    config->progress_s = 150;
    config->utility_s = 150;
    config->max_downtime_ms = 900;
    config->auto_converge = 0;
    config->post_copy = 0;
    config->unsafe = 0;
    config->disable_tls = 0;
    config->match_selinux = 1;
    config->drain_taint = kvmig__strdup("kubevirt.io/drain");
}

static void take_number(uint64_t *to, uint64_t from)
{
    if (from != KVMIG__UNKNOWN)
        *to = from;
}

static void take_switch(int32_t *to, int32_t from)
{
    if (from >= 0)
        *to = from;
}

static void take_text(char **to, const char *from)
{
    if (from)
        kvmig__str_set(to, from);
}

/* What a policy may say as well as the KubeVirt object. */
static void overlay_common(struct kvmig__kube_config *to, const struct kvmig__kube_config *from)
{
    take_number(&to->bandwidth, from->bandwidth);
    take_number(&to->completion_s_per_gb, from->completion_s_per_gb);
    take_number(&to->max_downtime_ms, from->max_downtime_ms);
    take_switch(&to->auto_converge, from->auto_converge);
    if (from->post_copy >= 0) { /* where only post-copy is said, the other follows it */
        to->post_copy = from->post_copy;
        to->workload_disruption = from->post_copy;
    }
    take_switch(&to->workload_disruption, from->workload_disruption);
    take_text(&to->compression, from->compression);
    take_number(&to->stall_factor_milli, from->stall_factor_milli);
    take_number(&to->stall_progress_s, from->stall_progress_s);
    to->stall_detector |= from->stall_detector;
    to->downtime_tuning |= from->downtime_tuning;
}

static void overlay_cluster_only(struct kvmig__kube_config *to, const struct kvmig__kube_config *from)
{
    take_number(&to->parallel_cluster, from->parallel_cluster);
    take_number(&to->outbound_node, from->outbound_node);
    take_number(&to->progress_s, from->progress_s);
    take_number(&to->utility_s, from->utility_s);
    take_switch(&to->unsafe, from->unsafe);
    take_switch(&to->disable_tls, from->disable_tls);
    take_switch(&to->match_selinux, from->match_selinux);
    take_text(&to->network, from->network);
    take_text(&to->drain_taint, from->drain_taint);
}

static bool all_equal(const struct kvmig__pairs *wanted, const struct kvmig__pairs *labels)
{
    for (size_t i = 0; i < wanted->n; i++) {
        const char *value = kvmig__pairs_get(labels, wanted->v[i].key);

        if (!value || !kvmig__str_eq(value, kvmig__pairs_get(wanted, wanted->v[i].key)))
            return false;
    }
    return true;
}

struct match {
    size_t vmi_labels, ns_labels;
};

/* KubeVirt skips both selectors for a VMI without any label; such a policy matches with score 0. */
static bool policy_matches(const struct kvmig__kube_policy *policy, const struct kvmig__pairs *vmi_labels,
                           const struct kvmig__pairs *ns_labels, struct match *out)
{
    *out = (struct match){ 0 };
    if (!policy->has_selectors)
        return false;
    if (!vmi_labels->n)
        return true;
    if (!all_equal(&policy->vmi_selector, vmi_labels) || !all_equal(&policy->ns_selector, ns_labels))
        return false;
    *out = (struct match){ .vmi_labels = policy->vmi_selector.n, .ns_labels = policy->ns_selector.n };
    return true;
}

static bool is_better(const struct match *a, const struct match *b)
{
    size_t sum_a = a->vmi_labels + a->ns_labels, sum_b = b->vmi_labels + b->ns_labels;

    return sum_a != sum_b ? sum_a > sum_b : a->vmi_labels > b->vmi_labels;
}

/* Every namespace has a label of its name. Overwrites out. */
static void labels_of_namespace(const struct kvmig__kube *kube, const char *name, struct kvmig__pairs *out)
{
    const struct kvmig__kube_namespace *ns = KVMIG__KUBE_FIND(kube, NAMESPACE, NULL, name);

    *out = (struct kvmig__pairs){ 0 };
    if (ns)
        kvmig__pairs_copy(out, &ns->meta.labels);
    else if (name)
        kvmig__pairs_set(out, NAME_LABEL, name);
}

static int32_t why_better(const struct match *a, const struct match *b)
{
    if (a->vmi_labels + a->ns_labels != b->vmi_labels + b->ns_labels)
        return KVMIG__POLICY_MORE_LABELS;
    return a->vmi_labels != b->vmi_labels ? KVMIG__POLICY_MORE_VM_LABELS : KVMIG__POLICY_NAME;
}

/* The list is in name order, so that of equal ones the first stays. */
void kvmig__kube_policy_choice(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi,
                               struct kvmig__kube_policy_choice *out)
{
    struct match best = { 0 }, second = { 0 }, match;
    struct kvmig__pairs ns_labels;

    *out = (struct kvmig__kube_policy_choice){ 0 };
    labels_of_namespace(kube, vmi->meta.ns, &ns_labels);
    KVMIG__KUBE_EACH(kube, POLICY, policy)
    {
        if (!policy_matches(policy, &vmi->meta.labels, &ns_labels, &match))
            continue;
        if (!out->winner || is_better(&match, &best)) {
            out->second = out->winner;
            second = best;
            out->winner = policy;
            best = match;
        } else if (!out->second || is_better(&match, &second)) {
            out->second = policy;
            second = match;
        }
    }
    kvmig__pairs_clear(&ns_labels);
    out->vmi_labels = best.vmi_labels;
    out->ns_labels = best.ns_labels;
    out->why = out->second ? why_better(&best, &second) : KVMIG__POLICY_ONLY;
}

/* Asks for a label of the namespace that is not known from its name. */
static bool needs_namespace(const struct kvmig__kube_policy *policy, const struct kvmig__pairs *vmi_labels)
{
    if (!policy->has_selectors || !vmi_labels->n || !all_equal(&policy->vmi_selector, vmi_labels))
        return false;
    for (size_t i = 0; i < policy->ns_selector.n; i++) {
        if (!kvmig__str_eq(policy->ns_selector.v[i].key, NAME_LABEL))
            return true;
    }
    return false;
}

bool kvmig__kube_policies_seen(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi)
{
    if (!kvmig__kube_is_known(kube, KVMIG__KUBE_POLICY))
        return false;
    if (KVMIG__KUBE_FIND(kube, NAMESPACE, NULL, vmi->meta.ns))
        return true;
    KVMIG__KUBE_EACH(kube, POLICY, policy)
    {
        if (needs_namespace(policy, &vmi->meta.labels))
            return false;
    }
    return true;
}

void kvmig__kube_config_for(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi,
                            struct kvmig__kube_config *out, const struct kvmig__kube_policy **out_policy)
{
    const struct kvmig__kube_kubevirt *kubevirt = kvmig__kube_kubevirt(kube);
    struct kvmig__kube_policy_choice choice = { 0 };
    const struct kvmig__kube_policy *policy;

    if (vmi)
        kvmig__kube_policy_choice(kube, vmi, &choice);
    policy = choice.winner;
    set_defaults(out);
    if (kubevirt) {
        overlay_common(out, &kubevirt->config);
        overlay_cluster_only(out, &kubevirt->config);
    }
    if (policy)
        overlay_common(out, &policy->config);
    if (out->workload_disruption < 0)
        out->workload_disruption = out->post_copy;
    if (out_policy)
        *out_policy = policy;
}

/* ---- the platform ---- */

bool kvmig__kube_gate(const struct kvmig__kube_kubevirt *kubevirt, const char *gate)
{
    return kubevirt && kvmig__strlist_has(&kubevirt->feature_gates, gate) &&
           !kvmig__strlist_has(&kubevirt->disabled_gates, gate);
}

bool kvmig__kube_is_updating(const struct kvmig__kube_kubevirt *kubevirt)
{
    return kubevirt && ((kubevirt->phase && strcmp(kubevirt->phase, "Deployed") != 0) ||
                        (kubevirt->observed_deployment && kubevirt->target_deployment &&
                         strcmp(kubevirt->observed_deployment, kubevirt->target_deployment) != 0));
}

/* A live object without the list has none; in files the strategy may have been left out as a whole. */
int32_t kvmig__kube_updates_by_migration(const struct kvmig__kube *kube, const struct kvmig__kube_kubevirt *kubevirt)
{
    if (!kubevirt)
        return -1;
    if (kvmig__strlist_has(&kubevirt->update_methods, "LiveMigrate"))
        return 1;
    return kubevirt->update_strategy_given || !kube->trimmed ? 0 : -1;
}

/* The options alone do nothing: they are for a detector that is behind a gate. */
uint64_t kvmig__kube_stall_factor_milli(const struct kvmig__kube *kube, const struct kvmig__kube_config *config)
{
    const struct kvmig__kube_kubevirt *kubevirt = kvmig__kube_kubevirt(kube);

    if (!config->stall_detector || !kvmig__kube_gate(kubevirt, "MigrationStallDetection"))
        return 0;
    return config->stall_factor_milli == KVMIG__UNKNOWN || !config->stall_factor_milli ? STALL_FACTOR_MILLI
                                                                                       : config->stall_factor_milli;
}

uint64_t kvmig__kube_pause_limit_ms(const struct kvmig__kube *kube, const struct kvmig__kube_config *config)
{
    const struct kvmig__kube_kubevirt *kubevirt = kvmig__kube_kubevirt(kube);
    bool tuned = (config->stall_detector && kvmig__kube_gate(kubevirt, "MigrationStallDetection")) ||
                 (config->downtime_tuning && kvmig__kube_gate(kubevirt, "MigrationDowntimeTuning"));

    return tuned && config->max_downtime_ms != KVMIG__UNKNOWN ? config->max_downtime_ms : QEMU_PAUSE_MS;
}

bool kvmig__vmi_has_vfio(const struct kvmig__kube_vmi *vmi)
{
    for (size_t i = 0; i < vmi->interfaces.n; i++) {
        if (kvmig__str_eq(vmi->interfaces.v[i].binding, "sriov"))
            return true;
    }
    return vmi->domain.host_devices.n || vmi->domain.gpus.n;
}

/* ---- the completion limit ---- */

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > KVMIG__UNKNOWN - 1 - b ? KVMIG__UNKNOWN - 1 : a + b;
}

static uint64_t known_or_zero(uint64_t value)
{
    return value == KVMIG__UNKNOWN ? 0 : value;
}

static uint64_t migrated_bytes(const struct kvmig__kube_vmi *vmi)
{
    uint64_t memory = known_or_zero(vmi->domain.memory), sum;

    if (!memory)
        memory = known_or_zero(kvmig__amounts_get(&vmi->domain.requests, "memory")) / 1000;
    sum = memory;
    for (size_t i = 0; i < vmi->migrated_volumes.n; i++) {
        const struct kvmig__kube_claim_info *source = &vmi->migrated_volumes.v[i].source;
        uint64_t requested = known_or_zero(source->requested), capacity = known_or_zero(source->capacity);

        /* what is absent does not lower the smaller of the two */
        if (!requested || (capacity && capacity < requested))
            requested = capacity;
        sum = add(sum, requested);
    }
    return sum;
}

uint64_t kvmig__kube_completion_limit_s(const struct kvmig__kube_vmi *vmi, const struct kvmig__kube_config *config)
{
    const uint64_t giga = 1000000000; /* KubeVirt divides by 10^9, whatever the option's name says */
    uint64_t bytes = migrated_bytes(vmi), per_gb = known_or_zero(config->completion_s_per_gb);
    uint64_t units = bytes / giga + (bytes % giga != 0);

    if (per_gb && units > (KVMIG__UNKNOWN - 1) / per_gb)
        return KVMIG__UNKNOWN - 1;
    return units * per_gb;
}

/* ---- slots and the queue ---- */

static bool is_pending(const struct kvmig__kube_vmim *vmim)
{
    return !vmim->phase || !*vmim->phase || !strcmp(vmim->phase, "Pending");
}

/* The UIDs of the migrations that have a target launcher: read once, because each pending migration asks for it; or looked up,
 * where the store has tables. */
struct jobs {
    const struct kvmig__kube *kube;
    const char **v;
    size_t n;
};

static int compare_jobs(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void jobs_init(struct jobs *jobs, const struct kvmig__kube *kube)
{
    *jobs = (struct jobs){ .kube = kube };
    if (kube->lookup)
        return;
    KVMIG__KUBE_EACH(kube, POD, pod)
    {
        const char *uid = kvmig__pod_is_launcher(pod) ? kvmig__pairs_get(&pod->meta.labels, JOB_LABEL) : NULL;

        if (uid)
            *KVMIG__PUSH(jobs) = uid;
    }
    if (jobs->n)
        qsort(jobs->v, jobs->n, sizeof(*jobs->v), compare_jobs);
}

static bool has_pod(const struct jobs *jobs, const struct kvmig__kube_vmim *vmim)
{
    struct kvmig__pod_cursor pods = kvmig__kube_pods_of_job(jobs->kube, vmim->meta.uid);
    const char *uid = vmim->meta.uid;
    const struct kvmig__kube_pod *pod;

    while (uid && *uid && jobs->kube->lookup && (pod = kvmig__pod_cursor_next(&pods))) {
        if (kvmig__pod_is_launcher(pod))
            return true;
    }
    return uid && jobs->n && bsearch(&uid, jobs->v, jobs->n, sizeof(*jobs->v), compare_jobs);
}

/* Holds a slot: past Pending, or pending with a pod already. */
static bool holds_slot(const struct jobs *jobs, const struct kvmig__kube_vmim *vmim)
{
    if (kvmig__vmim_is_final(vmim))
        return false;
    return !is_pending(vmim) || has_pod(jobs, vmim);
}

static bool leaves_node(const struct kvmig__kube *kube, const struct kvmig__kube_vmim *vmim, const char *node)
{
    const struct kvmig__kube_vmi *vmi = KVMIG__KUBE_FIND(kube, VMI, vmim->meta.ns, vmim->vmi);

    if (!vmi || !node)
        return false;
    return kvmig__str_eq(vmi->node, node) || (vmi->migration.uid && kvmig__str_eq(vmi->migration.uid, vmim->meta.uid) &&
                                              kvmig__str_eq(vmi->migration.source_node, node));
}

static void count_slots(const struct kvmig__kube *kube, const struct jobs *jobs, const char *source_node,
                        struct kvmig__kube_slots *out)
{
    struct kvmig__kube_config config;

    *out = (struct kvmig__kube_slots){ 0 };
    kvmig__kube_config_for(kube, NULL, &config, NULL);
    out->limit = config.parallel_cluster;
    out->outbound_limit = config.outbound_node;
    kvmig__kube_config_clear(&config);
    out->known =
        !kube->scoped && kvmig__kube_is_known(kube, KVMIG__KUBE_VMIM) && kvmig__kube_is_known(kube, KVMIG__KUBE_VMI);
    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        if (!holds_slot(jobs, vmim))
            continue;
        out->running++;
        out->outbound += leaves_node(kube, vmim, source_node);
    }
}

void kvmig__kube_slots(const struct kvmig__kube *kube, const char *source_node, struct kvmig__kube_slots *out)
{
    struct jobs jobs;

    jobs_init(&jobs, kube);
    count_slots(kube, &jobs, source_node, out);
    free(jobs.v);
}

void kvmig__kube_slot_holders(const struct kvmig__kube *kube, const char *source_node, struct kvmig__strlist *out)
{
    struct jobs jobs;

    jobs_init(&jobs, kube);
    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        char *name;

        if (!holds_slot(&jobs, vmim) || (source_node && !leaves_node(kube, vmim, source_node)))
            continue;
        name = kvmig__asprintf("%s/%s", vmim->meta.ns ? vmim->meta.ns : "default", vmim->meta.name);
        kvmig__strlist_add(out, name);
        free(name);
    }
    free(jobs.v);
}

static uint32_t priority_of(const struct kvmig__kube_vmim *vmim)
{
    if (kvmig__str_eq(vmim->priority, "system-critical"))
        return 100;
    if (kvmig__str_eq(vmim->priority, "user-triggered"))
        return 50;
    return kvmig__str_eq(vmim->priority, "system-maintenance") ? 20 : 0;
}

static bool goes_before(const struct kvmig__kube_vmim *a, const struct kvmig__kube_vmim *b)
{
    uint32_t priority_a = priority_of(a), priority_b = priority_of(b);

    if (priority_a != priority_b)
        return priority_a > priority_b;
    if (a->meta.created_ms != b->meta.created_ms)
        return a->meta.created_ms < b->meta.created_ms;
    return strcmp(a->meta.name ? a->meta.name : "", b->meta.name ? b->meta.name : "") < 0;
}

/* Pending for want of a pod, and not on its way out. */
static bool is_queued(const struct jobs *jobs, const struct kvmig__kube_vmim *vmim)
{
    return is_pending(vmim) && !vmim->meta.deleted_ms && !has_pod(jobs, vmim);
}

static uint32_t position_of(const struct kvmig__kube *kube, const struct jobs *jobs,
                            const struct kvmig__kube_vmim *vmim)
{
    const struct kvmig__kube_vmi *vmi = KVMIG__KUBE_FIND(kube, VMI, vmim->meta.ns, vmim->vmi);
    const char *node = vmi ? vmi->node : NULL;
    struct kvmig__kube_slots slots;
    uint32_t position = 1;
    bool cluster_full;

    if (!is_queued(jobs, vmim))
        return 0;
    count_slots(kube, jobs, node, &slots);
    cluster_full = slots.running >= slots.limit;
    if (!slots.known || (!cluster_full && slots.outbound < slots.outbound_limit))
        return 0;
    KVMIG__KUBE_EACH(kube, VMIM, other)
    {
        /* with room in the cluster, only those wait in front that leave the same node */
        if (other != vmim && is_queued(jobs, other) && goes_before(other, vmim) &&
            (cluster_full || leaves_node(kube, other, node)))
            position++;
    }
    return position;
}

uint32_t kvmig__kube_queue_position(const struct kvmig__kube *kube, const struct kvmig__kube_vmim *vmim)
{
    struct jobs jobs;
    uint32_t position;

    if (!kvmig__kube_is_known(kube, KVMIG__KUBE_POD))
        return 0;
    jobs_init(&jobs, kube);
    position = position_of(kube, &jobs, vmim);
    free(jobs.v);
    return position;
}

uint32_t kvmig__kube_queue_length(const struct kvmig__kube *kube, const char *source_node)
{
    struct jobs jobs;
    uint32_t n = 0;

    jobs_init(&jobs, kube);
    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        n += is_queued(&jobs, vmim) && (!source_node || leaves_node(kube, vmim, source_node));
    }
    free(jobs.v);
    return n;
}
