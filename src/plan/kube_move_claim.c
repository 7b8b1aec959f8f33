/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The destination claim of one volume that is to move: there, writable, free, bound or about to be, and large enough. Pure; any
 * thread.
 */
#include "plan/facts_checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a file system keeps for itself: thousandths, CDI's default, where the claim does not tell. */
#define DEFAULT_OVERHEAD 55
#define SELECTED_NODE "volume.kubernetes.io/selected-node"

/* ---- size ---- */

static uint64_t known_size(uint64_t capacity, uint64_t requested)
{
    if (capacity && capacity != KVMIG__UNKNOWN)
        return capacity;
    return requested ? requested : KVMIG__UNKNOWN;
}

static uint64_t size_of_claim(const struct kvmig__kube_pvc *pvc)
{
    return pvc ? known_size(pvc->capacity, pvc->requested) : KVMIG__UNKNOWN;
}

static bool is_block(const char *volume_mode)
{
    return kvmig__str_eq(volume_mode, "Block");
}

/* What the image on a file system may take, rounded down; exact, without overflow. */
static uint64_t less_overhead(uint64_t size, uint64_t overhead)
{
    return size - (size / 1000 * overhead + (size % 1000 * overhead + 999) / 1000);
}

static uint64_t overhead_of(const struct kvmig__kube_drive *drive)
{
    double told = drive->status && drive->status->has_claim ? drive->status->claim.filesystem_overhead : 0;

    return told > 0 && told < 1 ? (uint64_t)(told * 1000 + 0.5) : DEFAULT_OVERHEAD;
}

/* Between two file systems the same share is lost on both sides, so the claims themselves are compared. */
static void check_size(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive,
                       const struct kvmig__kube_pvc *to)
{
    uint64_t need = size_of_claim(drive->pvc), have = size_of_claim(to), overhead = overhead_of(drive);
    const char *mode = drive->pvc ? drive->pvc->volume_mode : NULL;
    struct kvmig__detail d = { 0 };

    if (need == KVMIG__UNKNOWN && drive->status && drive->status->has_claim) {
        need = known_size(drive->status->claim.capacity, drive->status->claim.requested);
        mode = drive->status->claim.volume_mode;
    }
    if (need == KVMIG__UNKNOWN || have == KVMIG__UNKNOWN)
        return;
    if (is_block(mode) && !is_block(to->volume_mode))
        have = less_overhead(have, overhead);
    else if (!is_block(mode) && is_block(to->volume_mode))
        need = less_overhead(need, overhead);
    if (have >= need)
        return;
    kvmig__detail_uint(&d, "need", need);
    kvmig__detail_uint(&d, "have", have);
    kvmig__detail_str(&d, "volume", drive->volume->name);
    kvmig__detail_str(&d, "from_mode", mode);
    kvmig__detail_str(&d, "to_mode", to->volume_mode);
    kvmig__kube_note(c, "DEST_VOLUME_SMALLER", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_claim(c, to->meta.name), &d,
                     "Make a larger claim; a file system needs some room for itself.",
                     "Claim %s has %" PRIu64 " bytes for a disk of %" PRIu64 ".", to->meta.name, have, need);
}

/* Observed sizes of the images themselves say more than those of the claims. */
static bool check_observed_size(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive,
                                const struct kvmig__kube_pvc *to)
{
    const struct kvmig__fact_image *image = kvmig__fact_image_of(c->facts, drive->volume->name);
    uint64_t have;
    struct kvmig__detail d = { 0 };

    if (!image && drive->status)
        image = kvmig__fact_image_of(c->facts, drive->status->target);
    have = image ? kvmig__fact_image_room(image) : KVMIG__UNKNOWN;
    if (have == KVMIG__UNKNOWN || image->source_virtual_size == KVMIG__UNKNOWN || !image->source_virtual_size ||
        (image->target_pvc && !kvmig__str_eq(image->target_pvc, to->meta.name)))
        return false;
    if (have >= image->source_virtual_size)
        return true;
    kvmig__detail_uint(&d, "need", image->source_virtual_size);
    kvmig__detail_uint(&d, "have", have);
    kvmig__detail_str(&d, "volume", drive->volume->name);
    kvmig__kube_note(c, "DEST_VOLUME_SMALLER", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_claim(c, to->meta.name), &d,
                     "Make a larger claim; a file system needs some room for itself.",
                     "Claim %s has %" PRIu64 " bytes for an image of %" PRIu64 ".", to->meta.name, have,
                     image->source_virtual_size);
    return true;
}

/* ---- access, users ---- */

static bool is_writable(const struct kvmig__strlist *modes)
{
    return !modes->n || kvmig__strlist_has(modes, "ReadWriteMany") || kvmig__strlist_has(modes, "ReadWriteOnce") ||
           kvmig__strlist_has(modes, "ReadWriteOncePod");
}

static void check_access(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive,
                         const struct kvmig__kube_pvc *to)
{
    struct kvmig__detail d = { 0 };

    if (is_writable(&to->access_modes))
        return;
    kvmig__detail_list(&d, "access_modes", &to->access_modes);
    kvmig__detail_str(&d, "volume", drive->volume->name);
    kvmig__kube_note(c, "DEST_VOLUME_READ_ONLY", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_claim(c, to->meta.name), &d,
                     "Make a claim that can be written.", "Claim %s cannot be written to.", to->meta.name);
}

static void check_users(const struct kvmig__kube_check *c, const struct kvmig__kube_pvc *to)
{
    KVMIG__KUBE_EACH(c->kube, VMI, vmi)
    {
        struct kvmig__detail d = { 0 };

        if (!kvmig__str_eq(vmi->meta.ns, to->meta.ns) || kvmig__str_eq(vmi->meta.name, c->vmi->meta.name) ||
            kvmig__str_eq(vmi->phase, "Succeeded") || kvmig__str_eq(vmi->phase, "Failed"))
            continue;
        for (size_t i = 0; i < vmi->volumes.n; i++) {
            if (!kvmig__str_eq(vmi->volumes.v[i].claim, to->meta.name))
                continue;
            kvmig__detail_str(&d, "vm", vmi->meta.name);
            kvmig__kube_note(c, "DEST_VOLUME_IN_USE", KVMIG_SEVERITY_BLOCKER,
                             kvmig__kube_object_claim(c, to->meta.name), &d, "Take a claim of its own.",
                             "Claim %s is a disk of VM %s.", to->meta.name, vmi->meta.name);
        }
    }
}

/* A pod that holds it, such as one that was made to have it bound, goes on holding it on its own node. */
static void check_holders(const struct kvmig__kube_check *c, const struct kvmig__kube_pvc *to)
{
    KVMIG__KUBE_EACH(c->kube, POD, pod)
    {
        struct kvmig__detail d = { 0 };

        if (kvmig__pod_is_final(pod) || !kvmig__str_eq(pod->meta.ns, to->meta.ns) || kvmig__pod_is_launcher(pod) ||
            !kvmig__strlist_has(&pod->claims, to->meta.name))
            continue;
        kvmig__detail_str(&d, "pod", pod->meta.name);
        kvmig__detail_str(&d, "node", pod->node);
        kvmig__kube_note(c, "DEST_VOLUME_HELD_BY_POD", KVMIG_SEVERITY_WARN, kvmig__kube_object_claim(c, to->meta.name),
                         &d, "Let that pod end before the migration begins.", "Claim %s is in use by pod %s.",
                         to->meta.name, pod->meta.name);
    }
}

/* ---- the DataVolume of that name ----
 * KubeVirt takes one that is not filled yet only if a volume populator fills it; else the change waits for a restart. */

static void check_data_volume(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive,
                              const struct kvmig__kube_pvc *to)
{
    const struct kvmig__kube_data_volume *volume =
        KVMIG__KUBE_FIND(c->kube, DATA_VOLUME, c->vmi->meta.ns, drive->moves_to);
    struct kvmig__detail d = { 0 };

    if (!volume || !volume->phase || kvmig__str_eq(volume->phase, "Succeeded") ||
        kvmig__str_eq(volume->phase, "PendingPopulation") || (to && to->populated))
        return;
    kvmig__detail_str(&d, "phase", volume->phase);
    if (volume->progress)
        kvmig__detail_str(&d, "progress", volume->progress);
    kvmig__kube_note(
        c, "DATA_VOLUME_NOT_READY", to ? KVMIG_SEVERITY_BLOCKER : KVMIG_SEVERITY_WARN,
        kvmig__asprintf("datavolume/%s/%s", volume->meta.ns ? volume->meta.ns : "default", volume->meta.name), &d,
        "Wait until its phase is Succeeded; for a class that waits for its first consumer, have it bound "
        "immediately, or use a plain claim.",
        "DataVolume %s is not ready (%s): KubeVirt would keep the change for the VM's next start.", volume->meta.name,
        volume->phase);
}

/* ---- binding ---- */

static void check_unbound(const struct kvmig__kube_check *c, const struct kvmig__kube_pvc *to)
{
    const struct kvmig__kube_storage_class *class = KVMIG__KUBE_FIND(c->kube, STORAGE_CLASS, NULL, to->storage_class);
    bool waits = class && kvmig__str_eq(class->binding_mode, "WaitForFirstConsumer");
    const char *node = kvmig__pairs_get(&to->meta.annotations, SELECTED_NODE);
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "phase", to->phase);
    if (node)
        kvmig__detail_str(&d, "node", node);
    if (kvmig__str_eq(to->phase, "Lost"))
        kvmig__kube_note(c, "DEST_VOLUME_LOST", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_claim(c, to->meta.name), &d,
                         "Make another claim.", "The volume of claim %s is gone.", to->meta.name);
    else if (node && kvmig__str_eq(node, c->vmi->node))
        kvmig__kube_note(c, "PV_NODE_AFFINITY", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_claim(c, to->meta.name), &d,
                         "Make another claim: within one node nothing can be moved.",
                         "Claim %s is being made on the node that the VM runs on.", to->meta.name);
    else if (waits)
        kvmig__kube_note(c, "VOLUME_BINDS_ON_TARGET", KVMIG_SEVERITY_INFO, kvmig__kube_object_claim(c, to->meta.name),
                         &d, "Its class waits for the first consumer, which is the target launcher.",
                         "Claim %s gets its volume when the target launcher is scheduled.", to->meta.name);
    else
        kvmig__kube_note(c, "DEST_VOLUME_UNBOUND", KVMIG_SEVERITY_WARN, kvmig__kube_object_claim(c, to->meta.name), &d,
                         "See the claim's events; the target launcher waits for it.", "Claim %s has no volume yet.",
                         to->meta.name);
}

static bool is_bound(const struct kvmig__kube_pvc *pvc)
{
    return !pvc->phase || kvmig__str_eq(pvc->phase, "Bound");
}

static void note_missing(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "volume", drive->volume->name);
    kvmig__kube_note(c, "DEST_VOLUME_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_claim(c, drive->moves_to), &d,
                     "Make the claim first; it may be larger than the source, but not smaller.",
                     "There is no claim %s to move volume %s to.", drive->moves_to, drive->volume->name);
}

void kvmig__kube_check_destination(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive)
{
    const struct kvmig__kube_pvc *to = KVMIG__KUBE_FIND(c->kube, PVC, c->vmi->meta.ns, drive->moves_to);

    check_data_volume(c, drive, to);
    if (!to) {
        if (kvmig__kube_is_known(c->kube, KVMIG__KUBE_PVC))
            note_missing(c, drive);
        return;
    }
    if (!check_observed_size(c, drive, to))
        check_size(c, drive, to);
    check_access(c, drive, to);
    check_users(c, to);
    check_holders(c, to);
    if (!is_bound(to))
        check_unbound(c, to);
}
