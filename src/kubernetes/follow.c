/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The follower of one migration in KubeVirt: what it is about, its stages, and how one look at the store is made. Reading the
 * objects is in follow_take.c, the judgement of the end in follow_end.c, the two sides and the effect of a cancel in follow_sides.c.
 *
 * It asks nobody and writes nothing; whoever owns it calls kvmig__follow_update() after each change of the store. Pure; the owner's
 * thread; every string belongs to the follower.
 */
#include "kubernetes/follow_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- stages ---- */

static const struct {
    const char *name;
    int32_t phase;
} stages[] = {
    [KVMIG__STAGE_NONE] = { "Unset", KVMIG_PHASE_UNSET },
    [KVMIG__STAGE_WAITING_FOR_SYNC] = { "WaitingForSync", KVMIG_PHASE_WAITING_FOR_SYNC },
    [KVMIG__STAGE_SYNCHRONIZING] = { "Synchronizing", KVMIG_PHASE_SYNCHRONIZING },
    [KVMIG__STAGE_PENDING] = { "Pending", KVMIG_PHASE_PENDING },
    [KVMIG__STAGE_SCHEDULING] = { "Scheduling", KVMIG_PHASE_SCHEDULING },
    [KVMIG__STAGE_SCHEDULED] = { "Scheduled", KVMIG_PHASE_SCHEDULED },
    [KVMIG__STAGE_PREPARING_TARGET] = { "PreparingTarget", KVMIG_PHASE_PREPARING_TARGET },
    [KVMIG__STAGE_TARGET_READY] = { "TargetReady", KVMIG_PHASE_TARGET_READY },
    [KVMIG__STAGE_RUNNING] = { "Running", KVMIG_PHASE_RUNNING },
    [KVMIG__STAGE_SUCCEEDED] = { "Succeeded", KVMIG_PHASE_SUCCEEDED },
    [KVMIG__STAGE_FAILED] = { "Failed", KVMIG_PHASE_FAILED },
};

int32_t kvmig__stage_phase(int32_t stage)
{
    return stage >= 0 && (size_t)stage < KVMIG__N_ELEMENTS(stages) ? stages[stage].phase : KVMIG_PHASE_UNSET;
}

const char *kvmig__stage_name(int32_t stage)
{
    return stage >= 0 && (size_t)stage < KVMIG__N_ELEMENTS(stages) ? stages[stage].name : NULL;
}

/* ---- life ---- */

void kvmig__follow_init(struct kvmig__follow *follow, const struct kvmig__kube_vmi *vmi,
                        const struct kvmig__kube_vmim *vmim)
{
    *follow = (struct kvmig__follow){ 0 };
    kvmig__kube_config_init(&follow->config);
    follow->ns = kvmig__strdup(vmi->meta.ns);
    follow->vmi = kvmig__strdup(vmi->meta.name);
    follow->vmi_uid = kvmig__strdup(vmi->meta.uid);
    if (vmim)
        kvmig__follow_bind(follow, vmim->meta.name, vmim->meta.uid);
}

void kvmig__follow_bind(struct kvmig__follow *follow, const char *vmim, const char *vmim_uid)
{
    kvmig__str_set(&follow->vmim, vmim);
    kvmig__str_set(&follow->vmim_uid, vmim_uid);
}

/* X(member): every owned string. */
#define STRINGS(X)                                                                                                     \
    X(ns)                                                                                                              \
    X(vmi)                                                                                                             \
    X(vmi_uid)                                                                                                         \
    X(vmim)                                                                                                            \
    X(vmim_uid)                                                                                                        \
    X(abort_status)                                                                                                    \
    X(source_node)                                                                                                     \
    X(source_pod)                                                                                                      \
    X(source_ip)                                                                                                       \
    X(target_node)                                                                                                     \
    X(target_pod)                                                                                                      \
    X(target_pod_uid)                                                                                                  \
    X(target_ip)                                                                                                       \
    X(attachment_pod)                                                                                                  \
    X(target_address)                                                                                                  \
    X(service)                                                                                                         \
    X(unschedulable)                                                                                                   \
    X(image_pull)                                                                                                      \
    X(pod_failure)                                                                                                     \
    X(quota)                                                                                                           \
    X(event_failure)                                                                                                   \
    X(failure_reason)                                                                                                  \
    X(evidence)                                                                                                        \
    X(evacuation_node)                                                                                                 \
    X(timer_event)                                                                                                     \
    X(pod_trouble)

/* X(member): every number and switch whose change is a change. */
#define NUMBERS(X)                                                                                                     \
    X(stage)                                                                                                           \
    X(stage_since_ms)                                                                                                  \
    X(mode)                                                                                                            \
    X(seen)                                                                                                            \
    X(gone)                                                                                                            \
    X(deleting)                                                                                                        \
    X(handed_off)                                                                                                      \
    X(postcopy_seen)                                                                                                   \
    X(abort_requested)                                                                                                 \
    X(start_ms)                                                                                                        \
    X(end_ms)                                                                                                          \
    X(domain_ready_ms)                                                                                                 \
    X(domain_detected)                                                                                                 \
    X(target_pod_gone)                                                                                                 \
    X(node_flipped)                                                                                                    \
    X(node_flipped_seen_ms)                                                                                            \
    X(endpoints_moved_ms)                                                                                              \
    X(timer_deleted)                                                                                                   \
    X(target_pods)                                                                                                     \
    X(end)                                                                                                             \
    X(controller_owned)                                                                                                \
    X(created_ms)                                                                                                      \
    X(failed_ms)                                                                                                       \
    X(reached)                                                                                                         \
    X(cancel_seen)                                                                                                     \
    X(completed)                                                                                                       \
    X(failed)                                                                                                          \
    X(sends_away)                                                                                                      \
    X(vmi_deleting)                                                                                                    \
    X(target_pod_ended)                                                                                                \
    X(target_started_ms)

void kvmig__follow_clear(struct kvmig__follow *follow)
{
#define X(member) free(follow->member);
    STRINGS(X)
#undef X
    kvmig__strlist_clear(&follow->target_pod_names);
    kvmig__kube_config_clear(&follow->config);
    *follow = (struct kvmig__follow){ 0 };
}

/* ---- what changed ---- */

#define FNV_BASIS 14695981039346656037u
#define FNV_PRIME 1099511628211u

static void mix(uint64_t *hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ p[i]) * FNV_PRIME;
}

/* The terminator too: two strings do not read like one, and an absent one not like an empty one. */
static void mix_string(uint64_t *hash, const char *s)
{
    if (s)
        mix(hash, s, strlen(s) + 1);
    else
        mix(hash, "\xff", 1);
}

static void mix_number(uint64_t *hash, int64_t number)
{
    mix(hash, &number, sizeof(number));
}

static uint64_t fingerprint(const struct kvmig__follow *follow)
{
    uint64_t hash = FNV_BASIS;

#define X(member) mix_string(&hash, follow->member);
    STRINGS(X)
#undef X
#define X(member) mix_number(&hash, (int64_t)follow->member);
    NUMBERS(X)
#undef X
    mix_string(&hash, follow->verdict);
    mix_string(&hash, follow->pod_trouble_code);
    return hash;
}

/* ---- one look at the store ---- */

const struct kvmig__kube_vmi *kvmig__follow_vmi(const struct kvmig__follow *follow, const struct kvmig__kube *kube)
{
    const struct kvmig__kube_vmi *vmi = KVMIG__KUBE_FIND(kube, VMI, follow->ns, follow->vmi);

    if (vmi && follow->vmi_uid && vmi->meta.uid && strcmp(follow->vmi_uid, vmi->meta.uid) != 0)
        return NULL;
    return vmi;
}

/* The VMI's first VMIM that was created since, and is not final; one that is final already was somebody else's. */
static const struct kvmig__kube_vmim *next_vmim(const struct kvmig__follow *follow, const struct kvmig__kube *kube)
{
    const struct kvmig__kube_vmim *best = NULL;

    if (!follow->created_after_ms)
        return NULL;
    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        if (!kvmig__str_eq(vmim->meta.ns, follow->ns) || !kvmig__str_eq(vmim->vmi, follow->vmi) ||
            kvmig__vmim_is_final(vmim) || vmim->meta.created_ms < follow->created_after_ms)
            continue;
        if (!best || vmim->meta.created_ms < best->meta.created_ms)
            best = vmim;
    }
    return best;
}

static void look_at_vmim(struct kvmig__follow *follow, const struct kvmig__kube *kube)
{
    const struct kvmig__kube_vmim *vmim;

    if (!follow->vmim) {
        vmim = next_vmim(follow, kube);
        if (!vmim)
            return;
        kvmig__follow_bind(follow, vmim->meta.name, vmim->meta.uid);
    }
    vmim = KVMIG__KUBE_FIND(kube, VMIM, follow->ns, follow->vmim);
    if (vmim && kvmig__follow_is_vmim(follow, vmim))
        kvmig__follow_take_vmim(follow, vmim);
    else if (follow->seen && kvmig__kube_is_known(kube, KVMIG__KUBE_VMIM))
        follow->gone = true;
}

/* Of several launchers the one that KubeVirt has handed over to, else the newest that lives. */
static const struct kvmig__kube_pod *target_pod(const struct kvmig__follow *follow, const struct kvmig__kube *kube)
{
    const struct kvmig__kube_vmim key = { .meta = { .ns = follow->ns, .name = follow->vmim, .uid = follow->vmim_uid } };
    const struct kvmig__kube_pod *pod = NULL;

    if (follow->handed_off && follow->target_pod)
        pod = KVMIG__KUBE_FIND(kube, POD, follow->ns, follow->target_pod);
    return pod && kvmig__follow_is_target(follow, pod) ? pod : kvmig__kube_target_pod(kube, &key);
}

static void look_at_pods(struct kvmig__follow *follow, const struct kvmig__kube *kube)
{
    const struct kvmig__kube_vmim key = { .meta = { .ns = follow->ns, .name = follow->vmim, .uid = follow->vmim_uid } };
    const struct kvmig__kube_pod *target, *attachment;

    if (!follow->vmim_uid)
        return;
    KVMIG__KUBE_EACH(kube, POD, pod)
    {
        if (kvmig__follow_is_target(follow, pod))
            kvmig__strlist_add_new(&follow->target_pod_names, pod->meta.name);
    }
    target = target_pod(follow, kube);
    if (target)
        kvmig__follow_take_target(follow, target);
    else if (follow->target_pod && kvmig__kube_is_known(kube, KVMIG__KUBE_POD))
        follow->target_pod_gone = true;
    attachment = kvmig__kube_attachment_pod(kube, &key);
    if (attachment)
        kvmig__follow_take_attachment(follow, attachment);
}

static void look_at_source(struct kvmig__follow *follow, const struct kvmig__kube *kube,
                           const struct kvmig__kube_vmi *vmi)
{
    const struct kvmig__kube_pod *pod;

    if (!follow->source_pod && !follow->node_flipped && kvmig__str_eq(vmi->node, follow->source_node)) {
        pod = kvmig__kube_source_pod(kube, vmi);
        if (pod)
            kvmig__str_set(&follow->source_pod, pod->meta.name);
    }
    pod = follow->source_pod ? KVMIG__KUBE_FIND(kube, POD, follow->ns, follow->source_pod) : NULL;
    if (pod && pod->ip)
        kvmig__str_set(&follow->source_ip, pod->ip);
}

/* Once more if names of launchers were learnt that other events are about. */
static void take_events(struct kvmig__follow *follow, const struct kvmig__kube *kube)
{
    size_t names;

    do {
        names = follow->target_pod_names.n;
        KVMIG__KUBE_EACH(kube, EVENT, event)
        {
            kvmig__follow_take_event(follow, event);
        }
    } while (follow->target_pod_names.n > names);
}

bool kvmig__follow_update(struct kvmig__follow *follow, const struct kvmig__kube *kube, int64_t now_ms)
{
    const uint64_t before = fingerprint(follow);
    const struct kvmig__kube_vmi *vmi;

    look_at_vmim(follow, kube);
    /* Events before pods: what a pod says of itself now outweighs what was said of it. */
    take_events(follow, kube);
    vmi = kvmig__follow_vmi(follow, kube);
    if (vmi)
        kvmig__follow_take_vmi(follow, vmi);
    look_at_pods(follow, kube);
    if (vmi) {
        kvmig__follow_take_node(follow, vmi, now_ms);
        look_at_source(follow, kube, vmi);
    }
    kvmig__follow_take_slices(follow, kube, now_ms);
    follow->target_pods = (uint32_t)follow->target_pod_names.n;
    kvmig__follow_judge(follow, kube);
    return fingerprint(follow) != before;
}

void kvmig__follow_gone(struct kvmig__follow *follow, const struct kvmig__kube_meta *last)
{
    const struct kvmig__kube_vmim *vmim = (const struct kvmig__kube_vmim *)last;
    const struct kvmig__kube_vmi *vmi = (const struct kvmig__kube_vmi *)last;
    const struct kvmig__kube_pod *pod = (const struct kvmig__kube_pod *)last;

    switch (last->kind) {
    case KVMIG__KUBE_VMIM:
        if (!kvmig__follow_is_vmim(follow, vmim))
            return;
        kvmig__follow_take_vmim(follow, vmim);
        follow->gone = true;
        return;
    case KVMIG__KUBE_VMI:
        if (kvmig__str_eq(last->ns, follow->ns) && kvmig__str_eq(last->name, follow->vmi) &&
            (!follow->vmi_uid || kvmig__str_eq(last->uid, follow->vmi_uid)))
            kvmig__follow_take_vmi(follow, vmi);
        return;
    case KVMIG__KUBE_POD:
        if (kvmig__follow_is_attachment(follow, pod))
            kvmig__follow_take_attachment(follow, pod);
        if (!kvmig__follow_is_target(follow, pod))
            return;
        kvmig__strlist_add_new(&follow->target_pod_names, last->name);
        /* the last word of an older launcher that was replaced meanwhile says nothing new */
        if (follow->target_pod && !kvmig__str_eq(follow->target_pod, last->name))
            return;
        kvmig__follow_take_target(follow, pod);
        follow->target_pod_gone = true;
        return;
    case KVMIG__KUBE_EVENT:
        kvmig__follow_take_event(follow, (const struct kvmig__kube_event *)last);
        return;
    default:
        return;
    }
}
