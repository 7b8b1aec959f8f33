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

static void check_slots(const struct kvmig__kube_check *c)
{
    struct kvmig__kube_slots slots;

    kvmig__kube_slots(c->kube, c->vmi->node, &slots);
    if (!slots.known)
        return;
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

static void check_drain(const struct kvmig__kube_check *c)
{
    bool drained = c->vmi->evacuation_node && *c->vmi->evacuation_node;
    struct kvmig__detail d = { 0 };

    if (drained) {
        kvmig__detail_str(&d, "node", c->vmi->evacuation_node);
        kvmig__kube_note(c, "EVACUATION_OWNS_MIGRATION", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                         "Let the drain move it, or end the drain first (subresource evacuate/cancel).",
                         "The VM is being evacuated from %s: KubeVirt starts a migration of its own, again and again.",
                         c->vmi->evacuation_node);
    }
    if (kvmig__vmi_has_hotplug(c->vmi) && (drained || (c->source && c->source->unschedulable)))
        kvmig__kube_note(c, "HOTPLUG_EVICTION_HAZARD", KVMIG_SEVERITY_WARN, kvmig__kube_object_vm(c), NULL,
                         "Move the VM before the node is drained.",
                         "The VM has hotplugged volumes, and a drain may evict their pod before the VM has moved.");
}

void kvmig__kube_check_waits(const struct kvmig__kube_check *c)
{
    check_slots(c);
    check_backup(c);
    check_utility_volumes(c);
    check_drain(c);
}
