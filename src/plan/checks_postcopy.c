/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Post-copy, where the caller has consented to it: what keeps it from being switched on, and what makes it a greater risk
 * than it is anyway. From the switch on neither host holds a whole guest. Pure; any thread.
 */
#include "plan/checks.h"

#include <string.h>

#define LARGE_PAGE ((uint64_t)1 << 30)

/* ---- disks ---- */

static void check_copies(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n)
{
    struct kvmig__strlist copied = { 0 };
    struct kvmig__detail d = { 0 };

    for (size_t i = 0; i < n; i++) {
        if (kvmig__disk_is_copied(&disks[i]))
            kvmig__strlist_add(&copied, disks[i].target);
    }
    if (copied.n) {
        kvmig__detail_list(&d, "disks", &copied);
        kvmig__note(
            c, "POSTCOPY_WITH_VOLUME_MIGRATION", KVMIG_SEVERITY_WARN, kvmig__object_request(), &d,
            "Do not allow post-copy when disks are copied.",
            "Post-copy is allowed while disks are copied: if it breaks, the disks of the target are the only ones "
            "that are current, and the guest on them is incomplete.");
    }
    if (copied.n && kvmig__request_has(c->request, KVMIG_PLAN_TLS)) {
        kvmig__detail_list(&d, "disks", &copied);
        kvmig__note(c, "POSTCOPY_WITH_NBD_TLS", KVMIG_SEVERITY_WARN, kvmig__object_request(), &d,
                    "Do not allow post-copy, or do not encrypt.",
                    "Post-copy together with a disk copy over TLS is refused or fails on several versions.");
    }
    kvmig__strlist_clear(&copied);
}

/* ---- devices ---- */

static void check_hostdevs(const struct kvmig__check *c)
{
    struct kvmig__strlist names = { 0 };
    struct kvmig__detail d = { 0 };

    for (size_t i = 0; i < c->domain->devices.n; i++) {
        const struct kvmig__device *device = &c->domain->devices.v[i];

        if (kvmig__str_eq(device->kind, "hostdev") &&
            (kvmig__str_eq(device->type, "pci") || kvmig__str_eq(device->type, "mdev")))
            kvmig__strlist_add(&names, device->name ? device->name : device->type);
    }
    if (names.n) {
        kvmig__detail_list(&d, "devices", &names);
        kvmig__note(c, "POSTCOPY_WITH_HOSTDEV", KVMIG_SEVERITY_WARN, kvmig__object_request(), &d,
                    "Do not allow post-copy, or detach the devices first.",
                    "Post-copy is allowed for a guest with devices of the host, whose state QEMU cannot move while the "
                    "guest runs on the target.");
    }
    kvmig__strlist_clear(&names);
}

/* ---- memory ---- */

static bool has_persistent_memory(const struct kvmig__domain *domain)
{
    for (size_t i = 0; i < domain->devices.n; i++) {
        const struct kvmig__device *device = &domain->devices.v[i];

        if (kvmig__str_eq(device->kind, "memory") &&
            (kvmig__str_eq(device->type, "nvdimm") || kvmig__str_eq(device->type, "virtio-pmem")))
            return true;
    }
    return false;
}

static void check_memory(const struct kvmig__check *c)
{
    const struct kvmig__domain *domain = c->domain;
    bool file = kvmig__str_eq(domain->memory_source, "file") && !domain->hugepages;
    struct kvmig__detail d = { 0 };

    if (file || has_persistent_memory(domain)) {
        kvmig__detail_str(&d, "source", file ? "file" : "persistent memory");
        kvmig__note(
            c, "POSTCOPY_MEMORY_UNSUITABLE", KVMIG_SEVERITY_WARN, kvmig__object_vm(domain), &d,
            "Do not allow post-copy, or keep the guest's memory in memfd or huge pages (or the folder on tmpfs).",
            "The guest's memory is in files, and the kernel can fetch pages of files on demand only on tmpfs "
            "and hugetlbfs; elsewhere QEMU refuses post-copy.");
    } else if (domain->hugepages && domain->hugepage_size >= LARGE_PAGE) {
        kvmig__detail_uint(&d, "page_size", domain->hugepage_size);
        kvmig__note(c, "POSTCOPY_PAGES_LARGE", KVMIG_SEVERITY_WARN, kvmig__object_vm(domain), &d,
                    "Do not allow post-copy for this guest, or use smaller pages.",
                    "The guest's memory is in pages of 1 GiB or more: after the switch to post-copy each access to a "
                    "missing one stops a virtual CPU until the whole page has come.");
    }
}

/* Containers and a sysctl may forbid it, and no interface of libvirt tells. */
static void note_userfaultfd(const struct kvmig__check *c)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "missing", "whether QEMU may use userfaultfd on the target");
    kvmig__note(
        c, "USERFAULTFD_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_node(c->target), &d,
        "Look at sysctl vm.unprivileged_userfaultfd, at the rights on /dev/userfaultfd and, in containers, at the "
        "seccomp profile there.",
        "Post-copy needs userfaultfd on the target; libvirt cannot be asked whether QEMU may use it. If not, the "
        "migration is refused when it begins.");
}

void kvmig__check_postcopy(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n)
{
    if (!kvmig__request_has(c->request, KVMIG_PLAN_ALLOW_POSTCOPY))
        return;
    check_copies(c, disks, n);
    if (c->domain->state == KVMIG__STATE_PAUSED)
        return; /* it is left out */
    check_hostdevs(c);
    check_memory(c);
    note_userfaultfd(c);
}
