/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Volume migrations: whether the VM and the cluster are set up so that KubeVirt carries one out. KubeVirt never refuses one: what it
 * cannot do waits without end, or silently becomes a change for the next start (RestartRequired). The destination claims are judged
 * in kube_move_claim.c. Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

/* ---- one volume ---- */

static void not_movable(const struct kvmig__kube_check *c, const char *volume, const char *reason, const char *hint)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "reason", reason);
    kvmig__kube_note(c, "VOLUME_NOT_MOVABLE", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_volume(volume), &d, hint,
                     "Volume %s cannot take part in a volume migration: %s.", volume, reason);
}

static void check_kind(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive)
{
    static const char later[] = "The change would apply at the next start only: stop the VM, or leave the volume out.";
    const char *name = drive->volume->name;

    if (!drive->claim) {
        not_movable(c, name, "not a PVC or DataVolume", "Only volumes on claims move.");
        return;
    }
    if (drive->disk && drive->disk->shareable)
        not_movable(c, name, "shareable disk", later);
    if (drive->disk && kvmig__str_eq(drive->disk->device, "lun"))
        not_movable(c, name, "LUN", later);
    if (drive->disk && drive->disk->reservation)
        not_movable(c, name, "SCSI persistent reservation", later);
    if (drive->filesystem)
        not_movable(c, name, "virtiofs filesystem", later);
    if (drive->volume->utility)
        not_movable(c, name, "utility volume", "Detach it.");
    if ((drive->volume->hotpluggable || (drive->status && drive->status->hotplug)) &&
        kvmig__kubevirt_is_at_least(c, 1, 4) == 0)
        not_movable(c, name, "hotplugged volume", "Update KubeVirt to 1.4 or later, or unplug it.");
}

static void invalid(const struct kvmig__kube_check *c, const char *volume, const char *value, const char *what)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "volume", volume);
    kvmig__detail_str(&d, "value", value);
    kvmig__kube_note(c, "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_volume(volume), &d,
                     "Name volumes of the VM, each with a claim of its own that it is not on yet.", "Volume %s: %s.",
                     volume, what);
}

static bool is_repeated(const struct kvmig__request *request, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (kvmig__str_eq(request->volume_changes.v[i].volume, request->volume_changes.v[index].volume) ||
            kvmig__str_eq(request->volume_changes.v[i].claim, request->volume_changes.v[index].claim))
            return true;
    }
    return false;
}

static bool find_drive(const struct kvmig__kube_check *c, const char *volume, struct kvmig__kube_drive *out)
{
    for (size_t i = 0; i < c->vmi->volumes.n; i++) {
        if (!kvmig__str_eq(c->vmi->volumes.v[i].name, volume))
            continue;
        kvmig__kube_drive(c, i, out);
        return true;
    }
    return false;
}

static bool is_used_by_vm(const struct kvmig__kube_check *c, const char *claim)
{
    for (size_t i = 0; i < c->vmi->volumes.n; i++) {
        struct kvmig__kube_drive drive;

        kvmig__kube_drive(c, i, &drive);
        if (kvmig__str_eq(drive.claim, claim))
            return true;
    }
    return false;
}

static void check_change(const struct kvmig__kube_check *c, size_t index)
{
    const struct kvmig__volume_change *change = &c->request->volume_changes.v[index];
    struct kvmig__kube_drive drive;

    if (!find_drive(c, change->volume, &drive)) {
        invalid(c, change->volume, change->volume, "the VM has no such volume");
        return;
    }
    if (is_repeated(c->request, index))
        invalid(c, change->volume, change->claim, "the volume, or its destination, is named twice");
    if (is_used_by_vm(c, change->claim))
        invalid(c, change->volume, change->claim, "the destination is a claim that the VM uses already");
    check_kind(c, &drive);
    if (drive.claim)
        kvmig__kube_check_destination(c, &drive);
}

/* ---- the VM ---- */

static void blocked(const struct kvmig__kube_check *c, const char *code, const char *hint, const char *message)
{
    kvmig__kube_note(c, code, KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), NULL, hint, "%s", message);
}

static void check_vm(const struct kvmig__kube_check *c)
{
    if (!c->vm) {
        if (kvmig__kube_is_known(c->kube, KVMIG__KUBE_VM))
            blocked(c, "VM_OBJECT_MISSING", "Volumes move with a VirtualMachine only; make one for it.",
                    "There is no VirtualMachine of this name whose volumes could be changed.");
        return;
    }
    if (kvmig__kube_condition_is(&c->vm->conditions, "RestartRequired", "True"))
        blocked(c, "RESTART_REQUIRED", "Restart the VM first; until then changes of its volumes are not carried out.",
                "The VM waits for a restart because of an earlier change.");
    if (kvmig__kube_condition_is(&c->vm->conditions, "ManualRecoveryRequired", "True"))
        blocked(c, "MANUAL_RECOVERY_REQUIRED", "Mend that first: keep the destinations, or go back to the sources.",
                "An earlier volume migration of the VM was broken off and is not resolved.");
}

static void check_under_way(const struct kvmig__kube_check *c)
{
    struct kvmig__strlist names = { 0 };
    struct kvmig__detail d = { 0 };

    if (!c->vmi->migrated_volumes.n && !kvmig__kube_condition_is(&c->vmi->conditions, "VolumesChange", "True"))
        return;
    for (size_t i = 0; i < c->vmi->migrated_volumes.n; i++)
        kvmig__strlist_add(&names, c->vmi->migrated_volumes.v[i].name);
    kvmig__detail_list(&d, "volumes", &names);
    kvmig__kube_note(c, "VOLUME_MIGRATION_IN_PROGRESS", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                     "Wait for its end, or revert all of its volumes at once.",
                     "A volume migration of the VM is under way already.");
    kvmig__strlist_clear(&names);
}

/* StorageLiveMigratable denies them for all disks, also of volumes that stay. */
static void check_all_reservations(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->domain.disks.n; i++) {
        const struct kvmig__kube_disk *disk = &c->vmi->domain.disks.v[i];

        if (!disk->reservation || kvmig__findings_has(c->out, "PERSISTENT_RESERVATION") ||
            kvmig__kubevirt_is_at_least(c, 1, 9) == 0) /* kube_domain.c says so */
            continue;
        kvmig__kube_note(c, "PERSISTENT_RESERVATION", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_volume(disk->name),
                         NULL, "The change would apply at the next start only: stop the VM for it.",
                         "Disk %s holds SCSI reservations; with such a disk KubeVirt moves no volume of the VM.",
                         disk->name);
    }
}

/* ---- the cluster ---- */

static void check_methods(const struct kvmig__kube_check *c)
{
    int32_t updates = kvmig__kube_updates_by_migration(c->kube, c->kubevirt);
    struct kvmig__detail d = { 0 };

    if (updates > 0)
        return;
    kvmig__detail_list(&d, "methods", &c->kubevirt->update_methods);
    kvmig__kube_note(c, "UPDATE_METHOD_MISSING", updates ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_BLOCKER,
                     kvmig__strdup("cluster"), &d,
                     "Add LiveMigrate to spec.workloadUpdateStrategy.workloadUpdateMethods of the KubeVirt object.",
                     "KubeVirt is not told to update workloads by live migration: the volumes would never move.");
}

static void check_cluster(const struct kvmig__kube_check *c)
{
    const struct kvmig__kube_kubevirt *kubevirt = c->kubevirt;
    struct kvmig__detail d = { 0 };

    if (!kubevirt)
        return;
    check_methods(c);
    if (kubevirt->rollout_strategy && *kubevirt->rollout_strategy &&
        strcmp(kubevirt->rollout_strategy, "LiveUpdate") != 0) {
        kvmig__detail_str(&d, "strategy", kubevirt->rollout_strategy);
        kvmig__kube_note(c, "ROLLOUT_STRATEGY_STAGES", KVMIG_SEVERITY_BLOCKER, kvmig__strdup("cluster"), &d,
                         "Set spec.configuration.vmRolloutStrategy of the KubeVirt object to LiveUpdate.",
                         "Changes of VMs are kept for their next start (%s): the volumes would not move.",
                         kubevirt->rollout_strategy);
    }
    if (kvmig__kubevirt_is_at_least(c, 1, 3) == 0) {
        kvmig__detail_str(&d, "version", kubevirt->version);
        kvmig__detail_str(&d, "since", "1.3");
        kvmig__kube_note(c, "KUBEVIRT_TOO_OLD", KVMIG_SEVERITY_BLOCKER, kvmig__strdup("cluster"), &d,
                         "Update KubeVirt.", "KubeVirt %s does not know volume migrations.", kubevirt->version);
    }
}

/* Each node gets a new virt-handler then, which carries the copy; it waits for it, but not for ever. */
static void check_update(const struct kvmig__kube_check *c)
{
    bool moves = c->request->volume_changes.n;
    struct kvmig__detail d = { 0 };

    if (!kvmig__kube_is_updating(c->kubevirt))
        return;
    kvmig__detail_str(&d, "phase", c->kubevirt->phase);
    kvmig__kube_note(c, "KUBEVIRT_UPDATING", moves ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_INFO,
                     kvmig__strdup("cluster"), &d, "Wait for the end of its roll-out.",
                     "KubeVirt itself is being rolled out: %s.",
                     moves ? "it begins no volume migration until that is done"
                           : "a copy that takes longer than five minutes may break when virt-handler is replaced");
}

void kvmig__kube_check_move(const struct kvmig__kube_check *c)
{
    check_update(c);
    if (!c->request->volume_changes.n)
        return;
    for (size_t i = 0; i < c->request->volume_changes.n; i++)
        check_change(c, i);
    check_vm(c);
    check_under_way(c);
    check_cluster(c);
    check_all_reservations(c);
    if (c->config->post_copy > 0 || c->request->flags & KVMIG_PLAN_ALLOW_POSTCOPY)
        kvmig__kube_note(c, "POSTCOPY_WITH_VOLUME_MIGRATION", KVMIG_SEVERITY_WARN, kvmig__kube_object_vm(c), NULL,
                         "Forbid post-copy for this migration.",
                         "Post-copy may be used together with the copy of volumes: if the link breaks then, neither "
                         "side holds the VM.");
}
