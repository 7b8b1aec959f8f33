/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The volumes of a VMI: how each gets to the target, and whether both sides can open what is not copied. KubeVirt's rule of access
 * modes is textual, so it is followed as such; whether the claim can be used over there is a matter of kube_claims.c. Pure; any
 * thread.
 */
#include "plan/kube_checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RWX "ReadWriteMany"
#define STATE_PREFIX "persistent-state-for"

/* ---- joining what is known of a volume ---- */

static const char *destination_of(const struct kvmig__kube_check *c, const char *volume)
{
    for (size_t i = 0; i < c->request->volume_changes.n; i++) {
        if (kvmig__str_eq(c->request->volume_changes.v[i].volume, volume))
            return c->request->volume_changes.v[i].claim;
    }
    for (size_t i = 0; i < c->vmi->migrated_volumes.n; i++) {
        if (kvmig__str_eq(c->vmi->migrated_volumes.v[i].name, volume))
            return c->vmi->migrated_volumes.v[i].destination.claim;
    }
    return NULL;
}

static const struct kvmig__kube_volume_status *status_of(const struct kvmig__kube_vmi *vmi, const char *volume)
{
    for (size_t i = 0; i < vmi->volume_status.n; i++) {
        if (kvmig__str_eq(vmi->volume_status.v[i].name, volume))
            return &vmi->volume_status.v[i];
    }
    return NULL;
}

static const struct kvmig__kube_disk *disk_of(const struct kvmig__kube_vmi *vmi, const char *volume)
{
    for (size_t i = 0; i < vmi->domain.disks.n; i++) {
        if (kvmig__str_eq(vmi->domain.disks.v[i].name, volume))
            return &vmi->domain.disks.v[i];
    }
    return NULL;
}

static bool is_claim(const struct kvmig__kube_volume *volume)
{
    return kvmig__str_eq(volume->kind, "persistentVolumeClaim") || kvmig__str_eq(volume->kind, "dataVolume");
}

void kvmig__kube_drive(const struct kvmig__kube_check *c, size_t index, struct kvmig__kube_drive *out)
{
    const struct kvmig__kube_volume *volume = &c->vmi->volumes.v[index];

    *out = (struct kvmig__kube_drive){
        .volume = volume,
        .disk = disk_of(c->vmi, volume->name),
        .status = status_of(c->vmi, volume->name),
        .filesystem = kvmig__strlist_has(&c->vmi->domain.filesystems, volume->name),
        .moves_to = destination_of(c, volume->name),
    };
    if (!is_claim(volume))
        return;
    out->claim = volume->claim;
    if (!out->claim && out->status && out->status->has_claim)
        out->claim = out->status->claim.claim;
    out->pvc = KVMIG__KUBE_FIND(c->kube, PVC, c->vmi->meta.ns, out->claim);
    if (out->pvc && out->pvc->access_modes.n)
        out->modes = &out->pvc->access_modes;
    else if (out->status && out->status->has_claim && out->status->claim.access_modes.n)
        out->modes = &out->status->claim.access_modes;
}

/* ---- methods ---- */

static uint64_t capacity_of(const struct kvmig__kube_drive *drive)
{
    uint64_t capacity = drive->pvc ? drive->pvc->capacity : KVMIG__UNKNOWN;

    if ((capacity == KVMIG__UNKNOWN || !capacity) && drive->pvc)
        capacity = drive->pvc->requested;
    if ((capacity == KVMIG__UNKNOWN || !capacity) && drive->status && drive->status->has_claim)
        capacity = drive->status->claim.capacity;
    return capacity ? capacity : KVMIG__UNKNOWN;
}

static void decide_claim(const struct kvmig__kube_drive *drive, struct kvmig__disk_plan *plan)
{
    if (drive->moves_to) {
        plan->method = KVMIG_DISK_COPY_FULL;
        plan->reason = kvmig__asprintf("it moves to the claim %s", drive->moves_to);
        plan->target_path = kvmig__strdup(drive->moves_to);
        plan->estimate = plan->capacity;
    } else if (!drive->modes) {
        plan->method = KVMIG_DISK_SHARED;
        plan->reason =
            kvmig__strdup("a claim whose access modes are not known; KubeVirt copies none that does not move");
    } else if (kvmig__strlist_has(drive->modes, RWX)) {
        plan->method = KVMIG_DISK_SHARED;
        plan->reason = kvmig__strdup("both launchers open the claim (ReadWriteMany)");
    } else {
        plan->method = KVMIG_DISK_IMPOSSIBLE;
        plan->reason = kvmig__strdup("the claim is not ReadWriteMany and is not moved");
    }
}

static void decide_host_disk(const struct kvmig__kube_drive *drive, struct kvmig__disk_plan *plan)
{
    plan->method = drive->volume->shared ? KVMIG_DISK_SHARED : KVMIG_DISK_IMPOSSIBLE;
    plan->reason = kvmig__strdup(drive->volume->shared ? "a file that all hosts share, the VM says"
                                                       : "a file of the host that is not said to be shared");
}

/* Disks that a launcher makes for itself (containerDisk, cloud-init, emptyDisk, secrets ...) are copied while they are writable to
 * QEMU; a CD-ROM is made anew on the target. */
static void decide_own(const struct kvmig__kube_drive *drive, struct kvmig__disk_plan *plan)
{
    bool cdrom = kvmig__str_eq(drive->disk->device, "cdrom");

    plan->method = cdrom ? KVMIG_DISK_SKIP : KVMIG_DISK_COPY_FULL;
    plan->reason =
        kvmig__strdup(cdrom ? "a CD-ROM that the target makes for itself" : "a disk that lives in the launcher");
}

static void decide(const struct kvmig__kube_drive *drive, struct kvmig__disk_plan *plan)
{
    *plan = (struct kvmig__disk_plan){
        .target = kvmig__strdup(drive->volume->name),
        .source_path = kvmig__strdup(drive->claim),
        .capacity = capacity_of(drive),
        .estimate = KVMIG__UNKNOWN,
    };
    if (is_claim(drive->volume))
        decide_claim(drive, plan);
    else if (kvmig__str_eq(drive->volume->kind, "hostDisk"))
        decide_host_disk(drive, plan);
    else
        decide_own(drive, plan);
}

void kvmig__kube_plan_volumes(const struct kvmig__kube_check *c, struct kvmig__disk_plan **out_disks, size_t *out_n)
{
    struct {
        struct kvmig__disk_plan *v;
        size_t n;
    } disks = { 0 };

    for (size_t i = 0; i < c->vmi->volumes.n; i++) {
        struct kvmig__kube_drive drive;

        kvmig__kube_drive(c, i, &drive);
        /* file systems of the launcher itself (secrets, configuration by virtiofs) are nobody's disk */
        if (drive.volume->utility || (!drive.disk && !drive.claim))
            continue;
        decide(&drive, KVMIG__PUSH(&disks));
    }
    *out_disks = disks.v;
    *out_n = disks.n;
}

/* ---- sharing ---- */

static void note_not_shared(const struct kvmig__kube_check *c, const char *claim, const char *volume,
                            const struct kvmig__strlist *modes, const char *hint)
{
    struct kvmig__detail d = { 0 };
    char *text = modes ? kvmig__strlist_join(modes, ", ") : NULL;

    kvmig__detail_str(&d, "claim", claim);
    kvmig__detail_str(&d, "volume", volume);
    if (modes)
        kvmig__detail_list(&d, "access_modes", modes);
    kvmig__kube_note(c, "PVC_NOT_SHARED", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_claim(c, claim), &d, hint,
                     "Claim %s is not ReadWriteMany (%s): source and target cannot both open it.", claim,
                     text ? text : "?");
    free(text);
}

/* The way out, if the storage could do it. */
static void note_too_narrow(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive)
{
    const char *class = drive->pvc ? drive->pvc->storage_class : NULL;
    const struct kvmig__kube_storage_profile *profile = KVMIG__KUBE_FIND(c->kube, STORAGE_PROFILE, NULL, class);
    struct kvmig__detail d = { 0 };

    if (!profile || !kvmig__strlist_has(&profile->access_modes, RWX))
        return;
    kvmig__detail_str(&d, "available", RWX);
    kvmig__detail_str(&d, "storage_class", class);
    kvmig__kube_note(c, "ACCESS_MODE_TOO_NARROW", KVMIG_SEVERITY_INFO, kvmig__kube_object_claim(c, drive->claim), &d,
                     "Make a ReadWriteMany claim of that class and move the volume to it (volume migration).",
                     "Storage class %s offers ReadWriteMany, but claim %s was made without it.", class, drive->claim);
}

static void check_sharing(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive)
{
    struct kvmig__detail d = { 0 };

    if (drive->moves_to)
        return;
    if (drive->claim && drive->modes && !kvmig__strlist_has(drive->modes, RWX)) {
        note_not_shared(c, drive->claim, drive->volume->name, drive->modes,
                        "Move the volume to another claim along with the VM (volume migration: a block copy), or use a "
                        "ReadWriteMany claim.");
        note_too_narrow(c, drive);
    }
    if (kvmig__str_eq(drive->volume->kind, "hostDisk") && !drive->volume->shared) {
        kvmig__detail_str(&d, "volume", drive->volume->name);
        kvmig__kube_note(c, "HOST_DISK_NOT_SHARED", KVMIG_SEVERITY_BLOCKER,
                         kvmig__kube_object_volume(drive->volume->name), &d,
                         "Put it on a claim; or say shared: true if all hosts really see the same file.",
                         "Volume %s is a file of the host that is not said to be shared.", drive->volume->name);
    }
}

/* ---- what is not known of a claim ---- */

/* KubeVirt's own rule needs it in the VM's status; where the claim itself is not seen either, it is the only witness. */
static void check_unknown(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive)
{
    const struct kvmig__kube_condition *live = kvmig__kube_condition(&c->vmi->conditions, "LiveMigratable");
    struct kvmig__detail d = { 0 };

    if (!drive->claim || drive->moves_to || drive->modes || drive->volume->utility || live)
        return;
    kvmig__detail_str(&d, "claim", drive->claim);
    kvmig__detail_str(&d, "missing", "access modes");
    kvmig__kube_note(
        c, "ACCESS_MODE_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__kube_object_claim(c, drive->claim), &d,
        "Give the PersistentVolumeClaim, or the VM with its status.",
        "Whether claim %s is ReadWriteMany is not known: neither the claim nor KubeVirt's verdict is seen.",
        drive->claim);
}

void kvmig__kube_note_unobserved(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->volumes.n; i++) {
        struct kvmig__kube_drive drive;
        struct kvmig__detail d = { 0 };

        kvmig__kube_drive(c, i, &drive);
        if (!is_claim(drive.volume) || drive.moves_to || drive.volume->utility ||
            (drive.status && drive.status->has_claim))
            continue;
        kvmig__detail_str(&d, "claim", drive.claim);
        kvmig__kube_note(c, "VOLUME_STATUS_MISSING", KVMIG_SEVERITY_BLOCKER,
                         kvmig__kube_object_volume(drive.volume->name), &d,
                         "See whether the claim exists and is bound; virt-controller writes the status then.",
                         "The VM's status says nothing of the claim of volume %s, which KubeVirt takes for not shared.",
                         drive.volume->name ? drive.volume->name : "?");
    }
}

/* ---- state of TPM and EFI ---- */

static bool is_state(const struct kvmig__kube_volume_status *status)
{
    const struct kvmig__strlist *modes = &status->claim.access_modes;

    return status->has_claim && modes->n && !kvmig__strlist_has(modes, RWX) &&
           (kvmig__str_starts(status->claim.claim, STATE_PREFIX) || kvmig__str_starts(status->name, STATE_PREFIX));
}

bool kvmig__kube_state_is_copied(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->volume_status.n; i++) {
        if (is_state(&c->vmi->volume_status.v[i]))
            return kvmig__kubevirt_is_at_least(c, 1, 4) != 0;
    }
    return false;
}

/* From 1.4 on the target gets a claim of its own for it, and the state is carried over. */
static void check_firmware_state(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->volume_status.n; i++) {
        const struct kvmig__kube_volume_status *status = &c->vmi->volume_status.v[i];
        struct kvmig__detail d = { 0 };

        if (!is_state(status))
            continue;
        if (kvmig__kubevirt_is_at_least(c, 1, 4) == 0) {
            note_not_shared(c, status->claim.claim, status->name, &status->claim.access_modes,
                            "Update KubeVirt to 1.4 or later, which carries the state over.");
            continue;
        }
        kvmig__detail_str(&d, "claim", status->claim.claim);
        kvmig__kube_note(c, "FIRMWARE_STATE_COPIED", KVMIG_SEVERITY_INFO,
                         kvmig__kube_object_claim(c, status->claim.claim), &d, NULL,
                         "The state of TPM or EFI is carried over to a claim that KubeVirt makes for the target.");
    }
}

void kvmig__kube_check_volumes(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->volumes.n; i++) {
        struct kvmig__kube_drive drive;

        kvmig__kube_drive(c, i, &drive);
        check_sharing(c, &drive);
        check_unknown(c, &drive);
    }
    check_firmware_state(c);
}

/* ---- what is copied ---- */

/* KubeVirt calls the method BlockMigration as soon as one disk is copied, be it as small as cloud-init's. */
void kvmig__kube_check_copies(const struct kvmig__kube_check *c, const struct kvmig__disk_plan *disks, size_t n)
{
    struct kvmig__strlist names = { 0 }, whys = { 0 };
    struct kvmig__detail d = { 0 };
    bool moves = false;
    char *text;

    for (size_t i = 0; i < n; i++) {
        if (disks[i].method != KVMIG_DISK_COPY_FULL)
            continue;
        kvmig__strlist_add(&names, disks[i].target);
        text = kvmig__asprintf("%s (%s)", disks[i].target, disks[i].reason ? disks[i].reason : "?");
        kvmig__strlist_add(&whys, text);
        free(text);
        moves = moves || disks[i].target_path;
    }
    if (names.n) {
        text = kvmig__strlist_join(&whys, ", ");
        kvmig__detail_list(&d, "disks", &names);
        kvmig__kube_note(c, "BLOCK_COPY_LIST", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                         moves
                             ? NULL
                             : "These disks are small, as a rule; KubeVirt calls the method BlockMigration because of "
                               "them. As CD-ROMs they would not be copied.",
                         "%zu volume%s will be copied (BlockMigration): %s.", names.n, names.n == 1 ? "" : "s", text);
        free(text);
    }
    kvmig__strlist_clear(&names);
    kvmig__strlist_clear(&whys);
}
