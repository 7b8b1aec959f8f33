/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What of the VM itself forbids a live migration: host devices, memory encryption, Hyper-V settings. How it is attached to networks is in
 * kube_network.c. KubeVirt reports only the first such reason, and freezes its answer while a migration runs; here every one is found.
 * Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

/* ---- devices ---- */

static void note_device(const struct kvmig__kube_check *c, const char *device, const char *type, const char *why)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "type", type);
    kvmig__detail_str(&d, "device", device);
    kvmig__kube_note(c, "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER,
                     kvmig__asprintf("device/%s", device ? device : "?"), &d,
                     "Take the device from the VM, or stop it and start it elsewhere.", "%s cannot move: %s.",
                     device ? device : "A host device", why);
}

/* One mediated device can move, if its gate is on and the cluster permits the device. */
static void check_gpus(const struct kvmig__kube_check *c)
{
    const struct kvmig__strlist *gpus = &c->vmi->domain.gpus;
    const char *why = NULL;

    if (!gpus->n)
        return;
    if (gpus->n > 1)
        why = "only one GPU can be migrated";
    else if (!c->kubevirt)
        why = "that KubeVirt's gate VGPULiveMigration is on is not known";
    else if (!kvmig__kubevirt_gate(c, "VGPULiveMigration") || !kvmig__kubevirt_is_at_least(c, 1, 9))
        why = "KubeVirt's gate VGPULiveMigration is off";
    else if (!kvmig__strlist_has(&c->kubevirt->mediated_devices, gpus->v[0]))
        why = "it is not one of the permitted mediated devices";
    for (size_t i = 0; why && i < gpus->n; i++)
        note_device(c, gpus->v[i], "gpu", why);
}

static void check_reservations(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->domain.disks.n; i++) {
        const struct kvmig__kube_disk *disk = &c->vmi->domain.disks.v[i];

        if (disk->reservation && kvmig__kubevirt_is_at_least(c, 1, 9) == 0)
            kvmig__kube_note(c, "PERSISTENT_RESERVATION", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_volume(disk->name),
                             NULL, "Update KubeVirt to 1.9, or take the reservation from the disk.",
                             "Disk %s holds SCSI reservations, which this KubeVirt does not move.", disk->name);
    }
}

/* Its daemon keeps a state of its own, which it can hand over since 1.13; KubeVirt brings that since 1.5. */
static void check_filesystems(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->domain.filesystems.n && kvmig__kubevirt_is_at_least(c, 1, 5) == 0; i++)
        kvmig__kube_note(c, "VIRTIOFS_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER,
                         kvmig__kube_object_volume(c->vmi->domain.filesystems.v[i]), NULL,
                         "Update KubeVirt to 1.5 or later, or take the file system from the VM.",
                         "Volume %s is a virtiofs file system, which KubeVirt %s does not move.",
                         c->vmi->domain.filesystems.v[i], c->kubevirt->version);
}

static void check_devices(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->domain.host_devices.n; i++)
        note_device(c, c->vmi->domain.host_devices.v[i], "hostDevice", "it is a device of the host");
    check_gpus(c);
    check_reservations(c);
    check_filesystems(c);
}

/* ---- guest protection and Hyper-V ---- */

static void check_protection(const struct kvmig__kube_check *c)
{
    const char *kind = c->vmi->domain.launch_security;
    struct kvmig__detail d = { 0 };

    if (!kind)
        return;
    kvmig__detail_str(&d, "type", kind);
    kvmig__kube_note(c, "GUEST_PROTECTION_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                     "Stop it and start it elsewhere.",
                     "The guest's memory is protected from the host (%s) and cannot be moved.",
                     *kind ? kind : "launch security");
}

static bool requires_invtsc(const struct kvmig__kube_vmi *vmi)
{
    for (size_t i = 0; i < vmi->domain.cpu_features.n; i++) {
        const struct kvmig__kube_feature *feature = &vmi->domain.cpu_features.v[i];

        if (kvmig__str_eq(feature->name, "invtsc") &&
            (!feature->policy || !*feature->policy || !strcmp(feature->policy, "require")))
            return true;
    }
    return false;
}

static void note_unpinned(const struct kvmig__kube_check *c, const char *flag)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "flag", flag);
    kvmig__kube_note(c, "CPU_NON_MIGRATABLE_FLAG", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                     "Restart the VM on nodes whose TSC frequency is known, or without it.",
                     "The guest uses %s, but its TSC frequency is not pinned.", flag);
}

static void check_clocks(const struct kvmig__kube_check *c)
{
    if (c->vmi->domain.hyperv_passthrough)
        kvmig__kube_note(c, "HYPERV_PASSTHROUGH_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), NULL,
                         "Name the enlightenments that the VM needs, and restart it.",
                         "The VM takes all Hyper-V enlightenments of its host, whatever they are.");
    if (c->vmi->tsc_frequency_hz)
        return;
    if (kvmig__strlist_has(&c->vmi->domain.hyperv, "reenlightenment"))
        note_unpinned(c, "reenlightenment");
    if (requires_invtsc(c->vmi))
        note_unpinned(c, "invtsc");
}

void kvmig__kube_check_domain(const struct kvmig__kube_check *c)
{
    check_devices(c);
    check_protection(c);
    check_clocks(c);
}
