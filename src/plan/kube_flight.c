/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What else is going on: a migration of this VM that is under way or has left its traces, and what would hold a new one back (slots,
 * a backup, utility volumes, pods that still live, the drain's own migration). Pure; any thread.
 */
#include "cluster/kube_lookup.h"
#include "plan/kube_checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_JOB "kubevirt.io/migrationJobUID"

/* ---- migrations of this VM ---- */

static void note_in_progress(const struct kvmig__kube_check *c, const char *name, const char *uid, const char *phase)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "uid", uid);
    if (name)
        kvmig__detail_str(&d, "migration", name);
    if (phase)
        kvmig__detail_str(&d, "phase", phase);
    kvmig__kube_note(c, "MIGRATION_IN_PROGRESS", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                     "Wait for it, follow it, or cancel it; KubeVirt admits one migration per VM.",
                     "The VM is being migrated already, by %s (%s).", name ? name : "a migration that is not seen",
                     uid ? uid : "without UID");
}

static bool lives_beside(const struct kvmig__kube_check *c, const struct kvmig__kube_pod *pod)
{
    return pod && !kvmig__pod_is_final(pod) && pod != c->pod && kvmig__str_eq(pod->meta.ns, c->vmi->meta.ns);
}

static bool target_lives(const struct kvmig__kube_check *c, const struct kvmig__kube_migration_state *state)
{
    struct kvmig__pod_cursor pods = kvmig__kube_pods_of_job(c->kube, state->uid);
    const struct kvmig__kube_pod *pod;

    while ((pod = kvmig__pod_cursor_next(&pods))) {
        if (lives_beside(c, pod) && kvmig__str_eq(kvmig__pairs_get(&pod->meta.labels, LABEL_JOB), state->uid))
            return true;
    }
    return state->target_pod && lives_beside(c, KVMIG__KUBE_FIND(c->kube, POD, c->vmi->meta.ns, state->target_pod));
}

static void check_unfinished_state(const struct kvmig__kube_check *c)
{
    const struct kvmig__kube_migration_state *state = &c->vmi->migration;
    struct kvmig__detail d = { 0 };

    if (!state->present || !state->uid || state->completed || state->failed)
        return;
    if (!kvmig__kube_is_known(c->kube, KVMIG__KUBE_VMIM) || target_lives(c, state)) {
        note_in_progress(c, NULL, state->uid, NULL);
        return;
    }
    kvmig__detail_str(&d, "uid", state->uid);
    kvmig__detail_str(&d, "target_pod", state->target_pod);
    kvmig__kube_note(c, "STALE_MIGRATION_STATE", KVMIG_SEVERITY_WARN, kvmig__kube_object_vm(c), &d,
                     "Nothing is in flight: a new migration takes the record over.",
                     "The VM's record of migration %s was never ended, but there is no such migration and no target.",
                     state->uid);
}

/* KubeVirt starts none while more than one pod of the VM lives. */
static void check_second_pod(const struct kvmig__kube_check *c)
{
    struct kvmig__pod_cursor pods = kvmig__kube_pods_of(c->kube, c->vmi);
    const struct kvmig__kube_pod *pod;

    if (!c->pod || !c->vmi->meta.uid)
        return;
    while ((pod = kvmig__pod_cursor_next(&pods))) {
        const char *maker = kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/created-by");
        struct kvmig__detail d = { 0 };

        if (pod == c->pod || kvmig__pod_is_final(pod) || !kvmig__pod_is_launcher(pod) ||
            !kvmig__str_eq(maker, c->vmi->meta.uid) || !kvmig__str_eq(pod->meta.ns, c->vmi->meta.ns))
            continue;
        kvmig__detail_str(&d, "pod", pod->meta.name);
        kvmig__detail_str(&d, "node", pod->node);
        kvmig__kube_note(c, "SECOND_LAUNCHER_ALIVE", KVMIG_SEVERITY_WARN,
                         kvmig__asprintf("pod/%s/%s", pod->meta.ns ? pod->meta.ns : "default", pod->meta.name), &d,
                         "Find out why it lives on; KubeVirt waits for its end without limit.",
                         "Another launcher of the VM has not ended: %s. A new migration waits for it.", pod->meta.name);
    }
}

void kvmig__kube_check_flight(const struct kvmig__kube_check *c)
{
    if (c->vmim) {
        note_in_progress(c, c->vmim->meta.name, c->vmim->meta.uid, c->vmim->phase);
        return;
    }
    check_unfinished_state(c);
    check_second_pod(c);
}

/* ---- slots ---- */

static void note_limit(const struct kvmig__kube_check *c, char *object, uint64_t active, uint64_t limit, bool cluster)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_uint(&d, "active", active);
    kvmig__detail_uint(&d, "limit", limit);
    if (kvmig__kube_is_known(c->kube, KVMIG__KUBE_POD))
        kvmig__detail_uint(&d, "position",
                           kvmig__kube_queue_length(c->kube, cluster ? NULL : c->vmi->node) + UINT64_C(1));
    kvmig__kube_note(c, "LIMIT_REACHED", KVMIG_SEVERITY_INFO, object, &d,
                     "It waits for a slot; or raise the limit in the KubeVirt object.",
                     "%" PRIu64 " of at most %" PRIu64 " migrations %s are under way.", active, limit,
                     cluster ? "in the cluster" : "from this node");
}

/* Of a view that leaves part of the cluster out; where nothing was said of migrations there is nothing to say. */
static void note_slots_unknown(const struct kvmig__kube_check *c)
{
    struct kvmig__detail d = { 0 };

    if (!c->kube->scoped)
        return;
    kvmig__detail_str(&d, "missing", "migrations of all namespaces");
    kvmig__kube_note(
        c, "LIMITS_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__strdup("cluster"), &d,
        "Look at the whole cluster, with an account that may list migrations and VMs in all namespaces.",
        "Whether a slot for another migration is free is not known: this view shows a part of the cluster.");
}

static void check_slots(const struct kvmig__kube_check *c)
{
    struct kvmig__kube_slots slots;

    kvmig__kube_slots(c->kube, c->vmi->node, &slots);
    if (!slots.known) {
        note_slots_unknown(c);
        return;
    }
    if (slots.running >= slots.limit)
        note_limit(c, kvmig__strdup("cluster"), slots.running, slots.limit, true);
    if (c->vmi->node && slots.outbound >= slots.outbound_limit)
        note_limit(c, kvmig__asprintf("node/%s", c->vmi->node), slots.outbound, slots.outbound_limit, false);
}

/* ---- other waits ---- */

static void check_backup(const struct kvmig__kube_check *c)
{
    struct kvmig__detail d = { 0 };

    if (!c->vmi->backup)
        return;
    kvmig__detail_str(&d, "backup", c->vmi->backup);
    kvmig__kube_note(c, "BACKUP_RUNNING", KVMIG_SEVERITY_WARN, kvmig__kube_object_vm(c), &d,
                     "Wait for its end; the migration stays Pending until then, without limit.",
                     "Backup %s of the VM is running.", c->vmi->backup);
}

static void check_utility_volumes(const struct kvmig__kube_check *c)
{
    struct kvmig__strlist names = { 0 };
    struct kvmig__detail d = { 0 };

    for (size_t i = 0; i < c->vmi->volumes.n; i++) {
        if (c->vmi->volumes.v[i].utility)
            kvmig__strlist_add(&names, c->vmi->volumes.v[i].name);
    }
    if (names.n) {
        kvmig__detail_list(&d, "volumes", &names);
        kvmig__detail_uint(&d, "limit_s", c->config->utility_s);
        kvmig__kube_note(c, "UTILITY_VOLUMES_PRESENT", KVMIG_SEVERITY_WARN, kvmig__kube_object_vm(c), &d,
                         "Detach them; a migration that still sees them when its time is over fails.",
                         "The VM has utility volumes (%s first), which a migration waits for.", names.v[0]);
    }
    kvmig__strlist_clear(&names);
}

static void note_evacuation(const struct kvmig__kube_check *c)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "node", c->vmi->evacuation_node);
    kvmig__kube_note(c, "EVACUATION_OWNS_MIGRATION", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                     "Let the drain move it, or end the drain first (subresource evacuate/cancel).",
                     "The VM is being evacuated from %s: KubeVirt starts a migration of its own, again and again.",
                     c->vmi->evacuation_node);
}

/* What the VM itself says counts more than what the cluster says. */
static const char *eviction_strategy(const struct kvmig__kube_check *c)
{
    if (c->vmi->eviction_strategy && *c->vmi->eviction_strategy)
        return c->vmi->eviction_strategy;
    return c->kubevirt ? c->kubevirt->eviction_strategy : NULL;
}

static void check_drain(const struct kvmig__kube_check *c)
{
    bool evacuated = c->vmi->evacuation_node && *c->vmi->evacuation_node;
    bool drained = evacuated || (c->source && c->source->unschedulable) || c->request->flags & KVMIG_PLAN_FOR_DRAIN;

    if (evacuated)
        note_evacuation(c);
    /* since 1.7 such pods are not evicted before their VM has moved */
    if (drained && kvmig__vmi_has_hotplug(c->vmi) && kvmig__kubevirt_is_at_least(c, 1, 7) <= 0)
        kvmig__kube_note(c, "HOTPLUG_EVICTION_HAZARD", KVMIG_SEVERITY_WARN, kvmig__kube_object_vm(c), NULL,
                         "Move the VM before the node is drained.",
                         "The VM has hotplugged volumes, and a drain may evict their pod before the VM has moved.");
    if (drained && kvmig__str_eq(eviction_strategy(c), "None"))
        kvmig__kube_note(c, "EVICTION_STOPS_VM", KVMIG_SEVERITY_WARN, kvmig__kube_object_vm(c), NULL,
                         "Migrate it before the drain; or set its evictionStrategy to LiveMigrate.",
                         "The VM's eviction strategy is None: a drain shuts it down instead of moving it.");
}

/* ---- what KubeVirt does by itself ---- */

/* It makes a migration for these, whoever else asks for one. */
static void check_automatic(const struct kvmig__kube_check *c)
{
    static const char *const types[] = { "MigrationRequired", "HotVCPUChange", "HotMemoryChange" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(types); i++) {
        const struct kvmig__kube_condition *condition = kvmig__kube_condition(&c->vmi->conditions, types[i]);
        struct kvmig__detail d = { 0 };

        if (!condition || !kvmig__str_eq(condition->status, "True"))
            continue;
        kvmig__detail_str(&d, "condition", types[i]);
        kvmig__detail_str(&d, "reason", condition->reason);
        kvmig__kube_note(c, "AUTOMATIC_MIGRATION_DUE", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                         "Let it do so; a migration of one's own carries the change out as well, if it comes first.",
                         "KubeVirt is going to migrate the VM by itself, to carry a change out (%s).", types[i]);
    }
}

/* Of a set of volumes that is on its way every migration takes the whole. */
static void check_volumes_under_way(const struct kvmig__kube_check *c)
{
    struct kvmig__strlist names = { 0 };
    struct kvmig__detail d = { 0 };

    if (c->request->volume_changes.n || !kvmig__kube_condition_is(&c->vmi->conditions, "VolumesChange", "True"))
        return;
    for (size_t i = 0; i < c->vmi->migrated_volumes.n; i++)
        kvmig__strlist_add(&names, c->vmi->migrated_volumes.v[i].name);
    kvmig__detail_list(&d, "volumes", &names);
    kvmig__kube_note(c, "VOLUME_MIGRATION_IN_PROGRESS", KVMIG_SEVERITY_WARN, kvmig__kube_object_vm(c), &d,
                     "Leave it to KubeVirt, which makes the migration; or revert all of its volumes at once.",
                     "A volume migration of the VM is under way: whatever migration comes next copies those volumes.");
    kvmig__strlist_clear(&names);
}

/* A volume that is just being plugged has no pod on the target, and the migration waits for one. */
static void check_hotplug(const struct kvmig__kube_check *c)
{
    static const char *const passing[] = { "Pending", "Bound", "AttachedToNode", "Detaching", "UnMountedFromPod" };

    for (size_t i = 0; i < c->vmi->volume_status.n; i++) {
        const struct kvmig__kube_volume_status *status = &c->vmi->volume_status.v[i];
        bool passes = false;
        struct kvmig__detail d = { 0 };

        for (size_t k = 0; status->hotplug && k < KVMIG__N_ELEMENTS(passing); k++)
            passes = passes || kvmig__str_eq(status->phase, passing[k]);
        if (!passes)
            continue;
        kvmig__detail_str(&d, "phase", status->phase);
        kvmig__detail_str(&d, "reason", status->reason);
        kvmig__kube_note(c, "HOTPLUG_IN_PROGRESS", KVMIG_SEVERITY_WARN, kvmig__kube_object_volume(status->name), &d,
                         "Wait until it is ready, or gone: the target's attachment pod is made once, at the beginning.",
                         "Volume %s is just being plugged in or out (%s).", status->name ? status->name : "?",
                         status->phase);
    }
}

void kvmig__kube_check_waits(const struct kvmig__kube_check *c)
{
    check_slots(c);
    check_backup(c);
    check_utility_volumes(c);
    check_drain(c);
    check_automatic(c);
    check_volumes_under_way(c);
    check_hotplug(c);
    kvmig__kube_check_backoff(c);
}
