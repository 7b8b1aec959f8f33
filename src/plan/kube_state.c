/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the VM is in a state to be migrated: running, not on its way out, not paused by a fault. Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <string.h>

static void check_phase(const struct kvmig__kube_check *c)
{
    const char *phase = c->vmi->phase;
    struct kvmig__detail d = { 0 };

    if (phase && strcmp(phase, "Running") != 0) {
        kvmig__detail_str(&d, "phase", phase);
        kvmig__kube_note(c, "VM_NOT_RUNNING", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                         "Wait until it runs; what does not run cannot be live-migrated.", "The VM is %s, not Running.",
                         *phase ? phase : "not started");
    }
    if (c->vmi->meta.deleted_ms)
        kvmig__kube_note(c, "VM_BEING_DELETED", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), NULL,
                         "Nothing can be done for it any more.", "The VM is being deleted.");
}

static void check_pause(const struct kvmig__kube_check *c)
{
    const struct kvmig__kube_condition *paused = kvmig__kube_condition(&c->vmi->conditions, "Paused");
    struct kvmig__detail d = { 0 };

    if (!paused || !kvmig__str_eq(paused->status, "True") || kvmig__str_eq(paused->reason, "PausedByUser"))
        return;
    kvmig__detail_str(&d, "reason", paused->reason);
    if (kvmig__str_eq(paused->reason, "PausedIOError"))
        kvmig__kube_note(c, "VM_IO_ERROR", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                         "Mend its storage and let it run again first.",
                         "The VM is paused by an I/O error; its storage may not hold what it wrote.");
    else if (kvmig__str_eq(paused->reason, "PausedByMigrationMonitor"))
        kvmig__kube_note(c, "VM_LEFT_PAUSED", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                         "Let that migration end, or find out where the guest runs.",
                         "The VM was paused by a migration that did not get through.");
    else
        kvmig__kube_note(c, "VM_STATE_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d, NULL,
                         "The VM is paused; it stays so on the target.");
}

void kvmig__kube_check_state(const struct kvmig__kube_check *c)
{
    check_phase(c);
    check_pause(c);
}
