/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The VM by itself: is it in a state from which it can migrate, and has it anything that libvirt refuses to move? libvirt
 * has no dry run, so its own refusals are told here, before anything is touched. Pure; any thread.
 */
#include "plan/checks.h"

static struct kvmig__detail state_detail(const struct kvmig__domain *domain)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "state", kvmig__domain_state_name(domain->state));
    kvmig__detail_str(&d, "reason", kvmig__domain_reason_name(domain->reason));
    return d;
}

static void note_state(const struct kvmig__check *c, const char *code, int32_t severity, const char *hint,
                       const char *message)
{
    struct kvmig__detail d = state_detail(c->domain);

    kvmig__note(c, code, severity, kvmig__object_vm(c->domain), &d, hint, "%s %s.", c->domain->name, message);
}

/* Only a guest that a user paused is known to be whole: it is moved as it is, and stays paused. */
static void check_paused(const struct kvmig__check *c)
{
    switch (c->domain->reason) {
    case KVMIG__REASON_USER:
        break;
    case KVMIG__REASON_IOERROR:
        note_state(c, "VM_IO_ERROR", KVMIG_SEVERITY_BLOCKER, "Mend the storage and resume the VM first.",
                   "is paused by an I/O error, and its storage may not hold what the guest wrote");
        break;
    case KVMIG__REASON_POSTCOPY:
    case KVMIG__REASON_POSTCOPY_FAILED:
        note_state(c, "VM_IN_POSTCOPY", KVMIG_SEVERITY_BLOCKER,
                   "Let the post-copy migration end, or recover it; never resume this side while the other may run.",
                   "is one half of a post-copy migration");
        break;
    case KVMIG__REASON_MIGRATION:
    case KVMIG__REASON_MIGRATED:
    case KVMIG__REASON_API_ERROR:
        note_state(c, "VM_LEFT_PAUSED", KVMIG_SEVERITY_BLOCKER,
                   "Find out where the guest runs (kvmig_location), and resume or destroy accordingly, first.",
                   "was left paused by a migration");
        break;
    default:
        note_state(c, "VM_PAUSED_BY_SYSTEM", KVMIG_SEVERITY_BLOCKER,
                   "Find out why it is paused, and resume it, or suspend it by your own decision, first.",
                   "is paused, and not by a user");
        break;
    }
}

static void check_state(const struct kvmig__check *c)
{
    switch (c->domain->state) {
    case KVMIG__STATE_RUNNING:
        if (c->domain->reason == KVMIG__REASON_POSTCOPY || c->domain->reason == KVMIG__REASON_POSTCOPY_FAILED)
            note_state(c, "VM_IN_POSTCOPY", KVMIG_SEVERITY_BLOCKER, "Let the post-copy migration end, or recover it.",
                       "still fetches memory from the host where it ran before");
        break;
    case KVMIG__STATE_PAUSED:
        check_paused(c);
        break;
    case KVMIG__STATE_SUSPENDED_PM:
        note_state(
            c, "VM_PM_SUSPENDED", KVMIG_SEVERITY_BLOCKER, "Wake it up first.",
            "sleeps; QEMU before 9.0 would wake it up on the target, and only running and paused VMs can migrate");
        break;
    case KVMIG__STATE_OTHER:
        note_state(c, "VM_STATE_UNVERIFIED", KVMIG_SEVERITY_INFO, NULL,
                   "is in a state that this library does not know");
        break;
    default:
        note_state(c, "VM_NOT_RUNNING", KVMIG_SEVERITY_BLOCKER, "Start it; only running and paused VMs can migrate.",
                   "does not run, so there is nothing to migrate live");
        break;
    }
}

static void check_jobs(const struct kvmig__check *c)
{
    const struct kvmig__domain *domain = c->domain;

    if (domain->migrating_out || domain->migrating_in)
        note_state(c, "MIGRATION_IN_PROGRESS", KVMIG_SEVERITY_BLOCKER, "Wait for it to end.",
                   domain->migrating_out ? "is being migrated to another host already"
                                         : "is being migrated to this host just now");
    else if (domain->job_active)
        note_state(c, "VM_JOB_ACTIVE", KVMIG_SEVERITY_BLOCKER,
                   "Wait for the job (save, backup, dump, ...) to end, or abort it.",
                   "is held by another job of libvirt, which admits no migration beside it");
}

static void check_snapshots(const struct kvmig__check *c)
{
    struct kvmig__detail d = { 0 };

    if (c->domain->snapshots) {
        kvmig__detail_uint(&d, "snapshots", c->domain->snapshots);
        kvmig__note(
            c, "SNAPSHOTS_PRESENT", KVMIG_SEVERITY_BLOCKER, kvmig__object_vm(c->domain), &d,
            "Delete them, or drop their metadata (virsh snapshot-delete --metadata) and define them again on the "
            "target.",
            "%s has %u snapshots, and libvirt migrates none of them and refuses.", c->domain->name,
            c->domain->snapshots);
    }
    if (c->domain->checkpoints) {
        kvmig__detail_uint(&d, "checkpoints", c->domain->checkpoints);
        kvmig__note(c, "CHECKPOINTS_LEFT_BEHIND", KVMIG_SEVERITY_WARN, kvmig__object_vm(c->domain), &d,
                    "Plan a full backup after the migration, or define the checkpoints again on the target.",
                    "%s has %u checkpoints, which libvirt does not carry along; incremental backups start anew.",
                    c->domain->name, c->domain->checkpoints);
    }
}

static void check_disks(const struct kvmig__check *c)
{
    for (size_t i = 0; i < c->domain->disks.n; i++) {
        const struct kvmig__disk *disk = &c->domain->disks.v[i];
        struct kvmig__detail d = { 0 };

        if (disk->job_active) {
            kvmig__detail_str(&d, "disk", disk->target);
            kvmig__note(c, "BLOCK_JOB_ACTIVE", KVMIG_SEVERITY_BLOCKER, kvmig__object_disk(disk->target), &d,
                        "Wait for the block job (copy, commit, pull, backup) to end, or abort it.",
                        "A block job runs on disk %s, and libvirt refuses to migrate beside it.", disk->target);
        }
        if (disk->transient) {
            kvmig__detail_str(&d, "kind", "disk");
            kvmig__detail_str(&d, "type", "transient");
            kvmig__note(c, "DEVICE_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, kvmig__object_disk(disk->target), &d,
                        "Detach it, or make it an ordinary disk.",
                        "Disk %s is transient: its changes live in a temporary image that libvirt does not migrate.",
                        disk->target);
        }
    }
}

static void check_hyperv(const struct kvmig__check *c)
{
    struct kvmig__detail d = { 0 };

    if (!c->domain->hyperv_passthrough)
        return;
    kvmig__detail_str(&d, "mode", "passthrough");
    kvmig__note(c, "HYPERV_PASSTHROUGH_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, kvmig__object_vm(c->domain), &d,
                "Name the Hyper-V features that the guest needs instead, and restart it.",
                "%s takes all Hyper-V settings from its host, and QEMU refuses to migrate it.", c->domain->name);
}

void kvmig__check_domain(const struct kvmig__check *c)
{
    check_state(c);
    check_jobs(c);
    check_snapshots(c);
    check_disks(c);
    check_hyperv(c);
    kvmig__check_devices(c);
}
