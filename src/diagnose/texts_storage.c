/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is said of disks, images, claims and host devices. Sources: libvirt's qemu_migration.c, QEMU's block/file-posix.c, DRBD,
 * KubeVirt's virt-handler. Pure.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

#define NEAR 600 /* characters to the next lines of the same failure */

/* "Failed to get "write" lock\nIs another process using the image [/path]?" */
static bool image(struct kvmig__match *match)
{
    const char *after, *stop = match->end - match->after > NEAR ? match->after + NEAR : match->end;
    char *path = kvmig__words_find(match->after, stop, "using the image [", &after)
                     ? kvmig__words_until(after, match->end, "]")
                     : NULL;

    if (path)
        kvmig__detail_str(&match->detail, "image", path);
    free(path);
    return true;
}

/* "Lockspace resource '/path' is locked" */
static bool resource(struct kvmig__match *match)
{
    return kvmig__match_quoted(match, "image");
}

/* swtpm holds its state by a lock of its own. */
static bool tpm(struct kvmig__match *match)
{
    match->object = kvmig__strdup("device/tpm");
    return true;
}

static bool line_has(const struct kvmig__match *match, const char *words)
{
    const char *begin = match->at, *stop = memchr(match->after, '\n', (size_t)(match->end - match->after));

    while (begin > match->said->text && begin[-1] != '\n' && match->at - begin < NEAR)
        begin--;
    return kvmig__words_find(begin, stop ? stop : match->end, words, NULL) != NULL;
}

static bool of_drbd(struct kvmig__match *match)
{
    return line_has(match, "drbd");
}

static bool of_rbd(struct kvmig__match *match)
{
    return line_has(match, "rbd image");
}

/* "Multi-Attach error for volume "pvc-1" Volume is already exclusively attached to one node" */
static bool volume(struct kvmig__match *match)
{
    return kvmig__match_quoted(match, "volume");
}

/* "State blocked by non-migratable device '0000:00:05.0/vfio'" */
static bool blocked_device(struct kvmig__match *match)
{
    char *name = kvmig__words_quoted(match->after, match->end);
    const bool is_vfio = name && strstr(name, "vfio");

    if (is_vfio == kvmig__str_eq(match->rule->code, "HOSTDEV_NOT_MIGRATABLE")) {
        kvmig__detail_str(&match->detail, is_vfio ? "type" : "device", is_vfio ? "vfio" : name);
        match->object = kvmig__asprintf("device/%s", name ? name : "unknown");
        free(name);
        return true;
    }
    free(name);
    return false;
}

/* "migration with virtiofs device is not supported" */
static bool kind_of_device(struct kvmig__match *match)
{
    char *kind = kvmig__words_word(match->after, match->end);
    const bool is = line_has(match, " is not supported") || line_has(match, " are not supported");

    if (is && kind) {
        kvmig__detail_str(&match->detail, "device", kind);
        match->object = kvmig__asprintf("device/%s", kind);
    }
    free(kind);
    return is;
}

/* "migration of disk vda failed: No space left on device" */
static bool failed_copy(struct kvmig__match *match)
{
    char *name = kvmig__words_word(match->after, match->end);

    if (!name || !line_has(match, " failed")) {
        free(name);
        return false;
    }
    kvmig__detail_str(&match->detail, "disk", name);
    match->object = kvmig__asprintf("disk/%s", name);
    free(name);
    return true;
}

static bool of_a_copy(struct kvmig__match *match)
{
    return line_has(match, "mirror") || line_has(match, "migration of disk") || line_has(match, "nbd") ||
           line_has(match, "block job") || line_has(match, "blockdev");
}

/* "Cannot access storage file '/path' (as uid:107, gid:107): No such file or directory" */
static bool file_missing(struct kvmig__match *match)
{
    char *path = kvmig__words_quoted(match->after, match->end);
    const bool missing = line_has(match, "No such file or directory");

    if (missing)
        kvmig__detail_str(&match->detail, "path", path);
    free(path);
    return missing;
}

static bool snapshots(struct kvmig__match *match)
{
    const uint64_t n = kvmig__words_number(match->said->text, match->after, match->end, NULL);

    if (!line_has(match, "snapshot") || n == UINT64_MAX)
        return false;
    kvmig__detail_uint(&match->detail, "snapshots", n);
    return true;
}

/* What the sizes are is known if they were observed: the copy may refuse a target that is larger, too. */
static bool sizes(struct kvmig__match *match)
{
    const struct kvmig__facts *facts = match->c->facts;

    for (size_t i = 0; i < facts->images.n; i++) {
        const struct kvmig__fact_image *seen = &facts->images.v[i];

        if (seen->source_virtual_size == KVMIG__UNKNOWN || seen->target_virtual_size == KVMIG__UNKNOWN ||
            seen->target_virtual_size >= seen->source_virtual_size)
            continue;
        kvmig__detail_uint(&match->detail, "need", seen->source_virtual_size);
        kvmig__detail_uint(&match->detail, "have", seen->target_virtual_size);
        match->object = kvmig__asprintf("disk/%s", seen->disk);
        return true;
    }
    return !facts->images.n;
}

/* "... 1073741824 has to be smaller or equal to the actual size 1014686023": whatever numbers the line has. */
static bool smaller(struct kvmig__match *match)
{
    const uint64_t have = kvmig__words_number(match->said->text, match->after, match->end, NULL);

    if (have != UINT64_MAX)
        kvmig__detail_uint(&match->detail, "have", have);
    return true;
}

static bool disk(struct kvmig__match *match)
{
    char *name = kvmig__words_word(match->after, match->end);

    kvmig__detail_str(&match->detail, "disk", name);
    match->object = name ? kvmig__asprintf("disk/%s", name) : NULL;
    free(name);
    return true;
}

static bool claim(struct kvmig__match *match)
{
    char *name = kvmig__words_word(match->after, match->end);
    const char *ns = match->c->vmi ? match->c->vmi->meta.ns : NULL;

    if (!name)
        return false;
    match->object = kvmig__asprintf("pvc/%s%s%s", ns ? ns : "", ns ? "/" : "", name);
    kvmig__detail_str(&match->detail, "claim", name);
    free(name);
    return true;
}

/* "<hostdev mode='subsystem' type='pci'>" */
static bool hostdev(struct kvmig__match *match)
{
    const char *after;
    char *type =
        kvmig__words_find(match->after, match->end, "type=", &after) ? kvmig__words_quoted(after, match->end) : NULL;

    kvmig__detail_str(&match->detail, "type", type);
    free(type);
    return true;
}

static bool vfio(struct kvmig__match *match)
{
    kvmig__detail_str(&match->detail, "type", "vfio");
    return true;
}

#define E KVMIG_SEVERITY_ERROR

const struct kvmig__text_rule kvmig__texts_storage[] = {
    { "Migration without shared storage is unsafe", NULL, "UNSAFE_MIGRATION_NOT_SHARED", E, NULL, NULL,
      "libvirt does not take the file system of a disk for shared, and refused.",
      "If both hosts do see one file system, consent to it; else have the disk copied." },
    { "Migration may lead to data corruption if disks use cache", NULL, "UNSAFE_DISK_CACHE", E, NULL, NULL,
      "A disk in a shared file is cached by the host, and libvirt refused.", "Use cache mode none or directsync." },
    { "Failed to get \"write\" lock", NULL, "IMAGE_LOCKED", E, NULL, image, "Another QEMU holds the lock of an image.",
      "Find who has it open; it must not be opened twice." },
    { "Failed to get shared \"write\" lock", NULL, "IMAGE_LOCKED", E, NULL, image,
      "Another QEMU holds the lock of an image.", "Find who has it open; it must not be opened twice." },
    { "Failed to get \"consistent read\" lock", NULL, "IMAGE_LOCKED", E, NULL, image,
      "Another QEMU holds the lock of an image.", "Find who has it open; it must not be opened twice." },
    { "Failed to get shared \"consistent read\" lock", NULL, "IMAGE_LOCKED", E, NULL, image,
      "Another QEMU holds the lock of an image.", "Find who has it open; it must not be opened twice." },
    { "Lockspace resource ", "is locked", "IMAGE_LOCKED", E, NULL, resource,
      "Another guest holds the lease of an image (virtlockd).", "Find who has it open; it must not be opened twice." },
    { "Failed to acquire lock: error -243", NULL, "IMAGE_LOCKED", E, NULL, NULL,
      "Another host holds the lease of an image (sanlock).", "Find which host holds it, and whether it lives." },
    { "Failed to acquire lock: Lease owned by other host", NULL, "IMAGE_LOCKED", E, NULL, NULL,
      "Another host holds the lease of an image (sanlock).", "Find which host holds it, and whether it lives." },
    { "SWTPM_NVRAM_Lock", "Could not", "IMAGE_LOCKED", E, NULL, tpm,
      "The state of the TPM is held by another swtpm, or cannot be locked.",
      "See whether the source's swtpm still runs, and whether the file system has locks." },
    { "Multiple primaries not allowed", NULL, "STORAGE_SINGLE_WRITER", E, NULL, NULL,
      "The storage admits one writer and refused the second.",
      "Allow two primaries for the time of a migration (DRBD), or let the storage hand over." },
    { "Wrong medium type", NULL, "STORAGE_SINGLE_WRITER", E, NULL, of_drbd,
      "The storage admits one writer and refused the second.",
      "Allow two primaries for the time of a migration (DRBD), or let the storage hand over." },
    { "is still being used", NULL, "STORAGE_SINGLE_WRITER", E, NULL, of_rbd,
      "The storage admits one writer and refused the second.",
      "Give both hosts access to the image for the time of a migration." },
    { "Multi-Attach error for volume ", NULL, "STORAGE_SINGLE_WRITER", E, NULL, volume,
      "The storage admits one node at a time and refused the second.",
      "Use storage that both nodes may attach (ReadWriteMany), or move the volume along." },
    { "cannot migrate a domain with <hostdev", NULL, "HOSTDEV_NOT_MIGRATABLE", E, NULL, hostdev,
      "The VM has a device of the host, which cannot move.", "Detach the device, or restart the VM elsewhere." },
    { "domain has assigned non-USB host devices", NULL, "HOSTDEV_NOT_MIGRATABLE", E, NULL, hostdev,
      "The VM has a device of the host, which cannot move.", "Detach the device, or restart the VM elsewhere." },
    { "VFIO migration is not supported", NULL, "HOSTDEV_NOT_MIGRATABLE", E, NULL, vfio,
      "The VM has a device of the host, which cannot move.", "Detach the device, or restart the VM elsewhere." },
    { "State blocked by non-migratable device ", NULL, "HOSTDEV_NOT_MIGRATABLE", E, NULL, blocked_device,
      "The VM has a device of the host, which cannot move.", "Detach the device, or restart the VM elsewhere." },
    { "State blocked by non-migratable device ", NULL, "DEVICE_NOT_MIGRATABLE", E, NULL, blocked_device,
      "The VM has a device whose state cannot move.", "Detach the device, or restart the VM elsewhere." },
    { "VFIO device doesn't support migration", NULL, "HOSTDEV_NOT_MIGRATABLE", E, NULL, vfio,
      "The VM has a device of the host, which cannot move.", "Detach the device, or restart the VM elsewhere." },
    { "migration with ", NULL, "DEVICE_NOT_MIGRATABLE", E, NULL, kind_of_device,
      "The VM has a device whose state cannot move.", "Detach the device, or restart the VM elsewhere." },
    { "Migration is disabled when VirtFS export path ", NULL, "DEVICE_NOT_MIGRATABLE", E, "device/9p", NULL,
      "The guest has a 9p file system mounted, and its state cannot move.", "Unmount it in the guest." },
    { "cannot migrate domain with ", NULL, "SNAPSHOTS_PRESENT", E, NULL, snapshots,
      "libvirt does not migrate a VM with snapshots.", "Remove the snapshots, or their metadata, and try again." },
    { "domain has active block job", NULL, "BLOCK_JOB_ACTIVE", E, NULL, NULL, "Another job holds a disk of the VM.",
      "Let the block job end, or end it, and try again." },
    { "Cannot migrate empty or read-only disk ", NULL, "COPY_LIST_HAS_READONLY_DISK", E, NULL, disk,
      "The list of disks to copy names one that is empty or read-only.", "Leave it out of the list." },
    { "pre-creation of storage targets for incremental storage migration is not supported", NULL,
      "TARGET_PRECREATE_UNSUPPORTED", E, NULL, NULL, "libvirt cannot create the target's image of an incremental copy.",
      "Create it on the target first." },
    { "no storage pool with matching target path ", NULL, "TARGET_PRECREATE_UNSUPPORTED", E, NULL, resource,
      "libvirt cannot create the target's image: no active pool of the target holds its folder.",
      "Create the image on the target first, or start the pool." },
    { "has to be smaller or equal to the actual size", NULL, "DEST_VOLUME_SMALLER", E, NULL, smaller,
      "The target's volume is smaller than the source's.", "Give a volume that is at least as large." },
    { "Source and target image have different sizes", NULL, "DEST_VOLUME_SMALLER", E, NULL, sizes,
      "The target's image has not the size of the source's, and cannot take the copy.",
      "Make the target's image exactly as large as the source's virtual size." },
    { "No space left on device", NULL, "TARGET_SPACE_INSUFFICIENT", E, NULL, of_a_copy,
      "The target ran out of space during the copy of a disk.", "Make room on the target, or choose another one." },
    { "migration of disk ", NULL, "DISK_COPY_FAILED", E, NULL, failed_copy, "The copy of a disk failed.",
      "The words behind it, or the target's log, say why." },
    { "Cannot access storage file ", NULL, "DISK_NOT_SHARED", E, NULL, file_missing,
      "A host does not have the file of a disk.",
      "See whether the file system is mounted there under the same path, or have the disk copied." },
    { "cannot migrate VMI: PVC ", "is not shared", "PVC_NOT_SHARED", E, NULL, claim,
      "A claim that both sides would open is not shared.",
      "Use a claim with ReadWriteMany, or move the volume along." },
    { .pattern = NULL },
};
