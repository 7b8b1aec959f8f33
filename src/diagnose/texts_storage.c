/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is said of disks, images, claims and host devices. Sources: libvirt's qemu_migration.c, QEMU's block/file-posix.c, DRBD,
 * KubeVirt's virt-handler. Pure.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

static bool image(struct kvmig__match *match)
{
    char *path = kvmig__words_quoted(match->after, match->end);

    if (path && *path == '/')
        kvmig__detail_str(&match->detail, "image", path);
    free(path);
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
    { "Multiple primaries not allowed", NULL, "STORAGE_SINGLE_WRITER", E, NULL, NULL,
      "The storage admits one writer and refused the second.",
      "Allow two primaries for the time of a migration (DRBD), or let the storage hand over." },
    { "Need access to UpToDate data", NULL, "STORAGE_SINGLE_WRITER", E, NULL, NULL,
      "The storage admits one writer and refused the second.", "Bring the replica of the target up to date first." },
    { "cannot migrate a domain with <hostdev", NULL, "HOSTDEV_NOT_MIGRATABLE", E, NULL, hostdev,
      "The VM has a device of the host, which cannot move.", "Detach the device, or restart the VM elsewhere." },
    { "domain has assigned non-USB host devices", NULL, "HOSTDEV_NOT_MIGRATABLE", E, NULL, hostdev,
      "The VM has a device of the host, which cannot move.", "Detach the device, or restart the VM elsewhere." },
    { "VFIO migration is not supported", NULL, "HOSTDEV_NOT_MIGRATABLE", E, NULL, vfio,
      "The VM has a device of the host, which cannot move.", "Detach the device, or restart the VM elsewhere." },
    { "Cannot migrate empty or read-only disk ", NULL, "COPY_LIST_HAS_READONLY_DISK", E, NULL, disk,
      "The list of disks to copy names one that is empty or read-only.", "Leave it out of the list." },
    { "pre-creation of storage targets for incremental storage migration is not supported", NULL,
      "TARGET_PRECREATE_UNSUPPORTED", E, NULL, NULL, "libvirt cannot create the target's image of an incremental copy.",
      "Create it on the target first." },
    { "has to be smaller or equal to the actual size", NULL, "DEST_VOLUME_SMALLER", E, NULL, NULL,
      "The target's volume is smaller than the source's.", "Give a volume that is at least as large." },
    { "cannot migrate VMI: PVC ", "is not shared", "PVC_NOT_SHARED", E, NULL, claim,
      "A claim that both sides would open is not shared.",
      "Use a claim with ReadWriteMany, or move the volume along." },
    { .pattern = NULL },
};
