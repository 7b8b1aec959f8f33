/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What several readers ask of the Kubernetes store: labels and amounts, conditions, selectors, the VMI that a name means, its
 * migration, and the pods of both. Pure: no handle, lock, clock, JSON; any thread, as long as nobody changes the store meanwhile.
 * Answers are borrowed from the store. Migration options, slots and the queue are in kube_migrations.c.
 */
#include "cluster/kube_lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- labels, amounts, conditions ---- */

/* Of sorted ones: the first that does not come before key. */
static size_t place_of(const struct kvmig__pairs *pairs, const char *key)
{
    size_t low = 0, high = pairs->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(pairs->v[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct kvmig__pair *find_pair(const struct kvmig__pairs *pairs, const char *key)
{
    const size_t first = pairs->sorted && key ? place_of(pairs, key) : 0;

    for (size_t i = first; i < pairs->n; i++) {
        if (kvmig__str_eq(pairs->v[i].key, key))
            return &pairs->v[i];
        if (pairs->sorted)
            break;
    }
    return NULL;
}

const char *kvmig__pairs_get(const struct kvmig__pairs *pairs, const char *key)
{
    const struct kvmig__pair *pair = find_pair(pairs, key);

    if (!pair)
        return NULL;
    return pair->value ? pair->value : "";
}

const struct kvmig__pair *kvmig__pairs_next(const struct kvmig__pairs *pairs, const char *prefix, size_t *at)
{
    if (pairs->sorted && !*at)
        *at = place_of(pairs, prefix);
    for (; *at < pairs->n; ++*at) {
        if (kvmig__str_starts(pairs->v[*at].key, prefix))
            return &pairs->v[(*at)++];
        if (pairs->sorted)
            break;
    }
    *at = pairs->n;
    return NULL;
}

void kvmig__pairs_set(struct kvmig__pairs *pairs, const char *key, const char *value)
{
    struct kvmig__pair *pair = find_pair(pairs, key);

    if (!pair) {
        pairs->sorted = false;
        pair = KVMIG__PUSH(pairs);
        pair->key = kvmig__strdup(key);
    }
    kvmig__str_set(&pair->value, value);
}

void kvmig__pairs_copy(struct kvmig__pairs *dst, const struct kvmig__pairs *src)
{
    *dst = (struct kvmig__pairs){ 0 };
    for (size_t i = 0; i < src->n; i++)
        kvmig__pairs_set(dst, src->v[i].key, src->v[i].value);
}

uint64_t kvmig__amounts_get(const struct kvmig__amounts *amounts, const char *name)
{
    for (size_t i = 0; i < amounts->n; i++) {
        if (kvmig__str_eq(amounts->v[i].name, name))
            return amounts->v[i].milli;
    }
    return KVMIG__UNKNOWN;
}

const struct kvmig__kube_condition *kvmig__kube_condition(const struct kvmig__kube_conditions *conditions,
                                                          const char *type)
{
    for (size_t i = 0; i < conditions->n; i++) {
        if (kvmig__str_eq(conditions->v[i].type, type))
            return &conditions->v[i];
    }
    return NULL;
}

bool kvmig__kube_condition_is(const struct kvmig__kube_conditions *conditions, const char *type, const char *status)
{
    const struct kvmig__kube_condition *condition = kvmig__kube_condition(conditions, type);

    return condition && kvmig__str_eq(condition->status, status);
}

/* ---- selectors ---- */

static bool to_number(const char *text, long long *out)
{
    char *end;

    if (!text || !*text)
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return !errno && !*end;
}

static bool compares(const struct kvmig__requirement *requirement, const char *value, bool greater)
{
    long long have, limit;

    if (requirement->values.n != 1 || !to_number(value, &have) || !to_number(requirement->values.v[0], &limit))
        return false;
    return greater ? have > limit : have < limit;
}

bool kvmig__requirement_holds(const struct kvmig__requirement *requirement, const struct kvmig__pairs *labels,
                              const char *name)
{
    const char *value = requirement->is_field ? name : kvmig__pairs_get(labels, requirement->key);

    if (kvmig__str_eq(requirement->op, "In"))
        return value && kvmig__strlist_has(&requirement->values, value);
    if (kvmig__str_eq(requirement->op, "NotIn"))
        return !value || !kvmig__strlist_has(&requirement->values, value);
    if (kvmig__str_eq(requirement->op, "Exists"))
        return value;
    if (kvmig__str_eq(requirement->op, "DoesNotExist"))
        return !value;
    if (kvmig__str_eq(requirement->op, "Gt"))
        return compares(requirement, value, true);
    if (kvmig__str_eq(requirement->op, "Lt"))
        return compares(requirement, value, false);
    return false;
}

static bool term_holds(const struct kvmig__term *term, const struct kvmig__pairs *labels, const char *name)
{
    for (size_t i = 0; i < term->n; i++) {
        if (!kvmig__requirement_holds(&term->v[i], labels, name))
            return false;
    }
    return term->n; /* a term without requirements matches nothing */
}

bool kvmig__terms_hold(const struct kvmig__terms *terms, const struct kvmig__pairs *labels, const char *name)
{
    for (size_t i = 0; i < terms->n; i++) {
        if (term_holds(&terms->v[i], labels, name))
            return true;
    }
    return !terms->n;
}

/* ---- a VMI and its migration ---- */

/* The VMI of "NAMESPACE/NAME". */
static const struct kvmig__kube_vmi *vmi_of_path(const struct kvmig__kube *kube, const char *vm, const char *slash)
{
    char *ns = kvmig__strndup(vm, (size_t)(slash - vm));
    const struct kvmig__kube_vmi *vmi = KVMIG__KUBE_FIND(kube, VMI, ns, slash + 1);

    free(ns);
    return vmi;
}

const struct kvmig__kube_vmi *kvmig__kube_vmi(const struct kvmig__kube *kube, const char *vm, bool *out_ambiguous)
{
    const struct kvmig__kube_vmi *found;
    const char *slash = vm ? strchr(vm, '/') : NULL;
    size_t n = 0;

    if (out_ambiguous)
        *out_ambiguous = false;
    if (!vm)
        return NULL;
    if (slash)
        return vmi_of_path(kube, vm, slash);
    found = (const struct kvmig__kube_vmi *)kvmig__kube_find_uid(kube, KVMIG__KUBE_VMI, vm);
    if (found)
        return found;
    KVMIG__KUBE_EACH(kube, VMI, vmi)
    {
        if (!kvmig__str_eq(vmi->meta.name, vm))
            continue;
        found = vmi;
        n++;
    }
    if (out_ambiguous)
        *out_ambiguous = n > 1;
    return n == 1 ? found : NULL;
}

bool kvmig__vmim_is_final(const struct kvmig__kube_vmim *vmim)
{
    return kvmig__str_eq(vmim->phase, "Succeeded") || kvmig__str_eq(vmim->phase, "Failed");
}

/* Whether a is the better answer to "the migration of this VMI". Of two that are under way, the controller fails the one that the
 * VMI's state is not about; before the VMI has a state, the older one is ahead. */
static bool is_rather(const struct kvmig__kube_vmim *a, const struct kvmig__kube_vmim *b,
                      const struct kvmig__kube_vmi *vmi)
{
    bool final = kvmig__vmim_is_final(a);
    bool owns_a = a->meta.uid && kvmig__str_eq(a->meta.uid, vmi->migration.uid);
    bool owns_b = b->meta.uid && kvmig__str_eq(b->meta.uid, vmi->migration.uid);

    if (final != kvmig__vmim_is_final(b))
        return !final;
    if (final)
        return a->meta.created_ms > b->meta.created_ms;
    return owns_a != owns_b ? owns_a : a->meta.created_ms < b->meta.created_ms;
}

static const struct kvmig__kube_vmim *better(const struct kvmig__kube_vmim *best, const struct kvmig__kube_vmim *vmim,
                                             const struct kvmig__kube_vmi *vmi)
{
    bool ours = kvmig__str_eq(vmim->meta.ns, vmi->meta.ns) && kvmig__str_eq(vmim->vmi, vmi->meta.name);

    return ours && (!best || is_rather(vmim, best, vmi)) ? vmim : best;
}

const struct kvmig__kube_vmim *kvmig__kube_vmim_of(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi)
{
    const struct kvmig__multimap_entry *entry = NULL;
    const struct kvmig__kube_vmim *best = NULL;

    if (kube->lookup) {
        while ((entry = kvmig__multimap_next(&kube->lookup->vmims_of_vmi, vmi->meta.name, entry)))
            best = better(best, (const struct kvmig__kube_vmim *)kube->kinds[KVMIG__KUBE_VMIM].v[entry->item], vmi);
        return best;
    }
    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        best = better(best, vmim, vmi);
    }
    return best;
}

bool kvmig__vmi_runs(const struct kvmig__kube_vmi *vmi)
{
    return vmi->node && *vmi->node && !kvmig__str_eq(vmi->phase, "Succeeded") && !kvmig__str_eq(vmi->phase, "Failed");
}

bool kvmig__vmi_has_hotplug(const struct kvmig__kube_vmi *vmi)
{
    for (size_t i = 0; i < vmi->volume_status.n; i++) {
        if (vmi->volume_status.v[i].hotplug)
            return true;
    }
    for (size_t i = 0; i < vmi->volumes.n; i++) {
        if (vmi->volumes.v[i].hotpluggable)
            return true;
    }
    return false;
}

const struct kvmig__kube_kubevirt *kvmig__kube_kubevirt(const struct kvmig__kube *kube)
{
    const struct kvmig__kube_kubevirt *best = NULL;

    KVMIG__KUBE_EACH(kube, KUBEVIRT, kubevirt)
    {
        bool deployed = kvmig__str_eq(kubevirt->phase, "Deployed") && !kubevirt->meta.deleted_ms;

        if (!best || (deployed && !kvmig__str_eq(best->phase, "Deployed")))
            best = kubevirt;
    }
    return best;
}

/* ---- pods ---- */

bool kvmig__pod_is_final(const struct kvmig__kube_pod *pod)
{
    return kvmig__str_eq(pod->phase, "Succeeded") || kvmig__str_eq(pod->phase, "Failed");
}

static bool has_role(const struct kvmig__kube_pod *pod, const char *role)
{
    return kvmig__str_eq(kvmig__pairs_get(&pod->meta.labels, "kubevirt.io"), role);
}

bool kvmig__pod_is_launcher(const struct kvmig__kube_pod *pod)
{
    return has_role(pod, "virt-launcher");
}

bool kvmig__pod_is_ready_for_kubevirt(const struct kvmig__kube_pod *pod)
{
    if (!kvmig__str_eq(pod->phase, "Running") || pod->meta.deleted_ms)
        return false;
    for (size_t i = 0; i < pod->containers.n; i++) {
        const struct kvmig__kube_container *container = &pod->containers.v[i];
        bool only_runs = kvmig__str_eq(container->name, "compute") || kvmig__str_eq(container->name, "istio-proxy");

        if (container->init || !container->state) /* no status, no vote */
            continue;
        if (only_runs ? !kvmig__str_eq(container->state, "running") : !container->ready)
            return false;
    }
    return true;
}

/* The newest pod of a role that carries the migration's UID; those that have ended only if there is no other. */
static const struct kvmig__kube_pod *pod_of(const struct kvmig__kube *kube, const struct kvmig__kube_vmim *vmim,
                                            const char *role)
{
    struct kvmig__pod_cursor pods = kvmig__kube_pods_of_job(kube, vmim->meta.uid);
    const struct kvmig__kube_pod *best = NULL, *pod;

    if (!vmim->meta.uid)
        return NULL;
    while ((pod = kvmig__pod_cursor_next(&pods))) {
        const char *job = kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/migrationJobUID");
        bool ended = kvmig__pod_is_final(pod);

        if (!has_role(pod, role) || !kvmig__str_eq(job, vmim->meta.uid) || !kvmig__str_eq(pod->meta.ns, vmim->meta.ns))
            continue;
        if (!best || (kvmig__pod_is_final(best) && !ended) ||
            (kvmig__pod_is_final(best) == ended && pod->meta.created_ms > best->meta.created_ms))
            best = pod;
    }
    return best;
}

const struct kvmig__kube_pod *kvmig__kube_target_pod(const struct kvmig__kube *kube,
                                                     const struct kvmig__kube_vmim *vmim)
{
    return pod_of(kube, vmim, "virt-launcher");
}

const struct kvmig__kube_pod *kvmig__kube_attachment_pod(const struct kvmig__kube *kube,
                                                         const struct kvmig__kube_vmim *vmim)
{
    return pod_of(kube, vmim, "hotplug-disk");
}

/* By the strongest mark that the pod carries: the VMI's UID, its owner, or its name. */
static bool runs_vmi(const struct kvmig__kube_pod *pod, const struct kvmig__kube_vmi *vmi)
{
    const char *uid = kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/created-by");
    const char *name = kvmig__pairs_get(&pod->meta.annotations, "kubevirt.io/domain");

    if (!kvmig__pod_is_launcher(pod) || !kvmig__str_eq(pod->meta.ns, vmi->meta.ns))
        return false;
    if (uid && vmi->meta.uid)
        return !strcmp(uid, vmi->meta.uid);
    for (size_t i = 0; i < pod->meta.owners.n; i++) {
        const struct kvmig__kube_owner *owner = &pod->meta.owners.v[i];

        if (kvmig__str_eq(owner->kind, "VirtualMachineInstance"))
            return owner->uid && vmi->meta.uid ? !strcmp(owner->uid, vmi->meta.uid)
                                               : kvmig__str_eq(owner->name, vmi->meta.name);
    }
    if (!name)
        name = kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/domain");
    if (!name)
        name = kvmig__pairs_get(&pod->meta.labels, "vmi.kubevirt.io/id");
    return kvmig__str_eq(name, vmi->meta.name);
}

/* A pod made as a target holds the guest once its migration has put it there. */
static bool is_still_target(const struct kvmig__kube *kube, const struct kvmig__kube_pod *pod,
                            const struct kvmig__kube_vmi *vmi)
{
    const char *job = kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/migrationJobUID");
    const struct kvmig__kube_vmim *vmim;

    if (!job)
        return false;
    vmim = (const struct kvmig__kube_vmim *)kvmig__kube_find_uid(kube, KVMIG__KUBE_VMIM, job);
    if (vmim && kvmig__vmim_is_final(vmim))
        return kvmig__str_eq(vmim->phase, "Failed");
    if (kvmig__str_eq(vmi->migration.uid, job))
        return vmi->migration.failed || (!vmi->migration.completed && !vmi->migration.end_ms);
    return vmim;
}

const struct kvmig__kube_pod *kvmig__kube_source_pod(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi)
{
    struct kvmig__pod_cursor pods = kvmig__kube_pods_of(kube, vmi);
    const struct kvmig__kube_pod *best = NULL, *pod;

    while ((pod = kvmig__pod_cursor_next(&pods))) {
        if (kvmig__pod_is_final(pod) || !runs_vmi(pod, vmi) || is_still_target(kube, pod, vmi) ||
            (vmi->node && pod->node && strcmp(vmi->node, pod->node) != 0))
            continue;
        if (!best || pod->meta.created_ms > best->meta.created_ms)
            best = pod;
    }
    return best;
}
