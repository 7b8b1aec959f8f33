/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Devices that bind a guest to its host. One table says what libvirt and QEMU do with each kind: refuse it, leave it
 * behind, or carry it with a loss. Versions count as those of the source, which decides. Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>

/* Which of the source's versions lift a rule. */
enum lifted_by { NEVER, BY_QEMU, BY_LIBVIRT };

struct rule {
    const char *kind, *type; /* type NULL = any */
    const char *code;
    int32_t severity;
    enum lifted_by lifted_by;
    uint64_t lifted_in; /* from this version on the severity is at most a warning */
    const char *message; /* after the device's name */
    const char *hint;
};

#define DETACH "Detach it before the migration, or accept that the VM stays."

static const struct rule rules[] = {
    { "hostdev", "usb", "HOSTDEV_USB", KVMIG_SEVERITY_WARN, NEVER, 0,
      "stays behind on the source: the guest loses it, as if it had been unplugged",
      "Detach it before, and attach one of the target's after the migration." },
    /* Before QEMU told its own reasons (6.0), libvirt refused all but USB. */
    { "hostdev", "scsi", "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, BY_QEMU, KVMIG__VERSION(6, 0, 0),
      "is a SCSI device of the source; the target must reach the same one under the same address", DETACH },
    { "hostdev", "scsi_host", "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, BY_QEMU, KVMIG__VERSION(6, 0, 0),
      "is a SCSI host adapter; the target must offer an equal one under the same address", DETACH },
    { "hostdev", NULL, "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NEVER, 0,
      "is a device of the source host that is handed to the guest, and cannot move with it", DETACH },
    { "vdpa", NULL, "DEVICE_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, BY_QEMU, KVMIG__VERSION(8, 0, 0),
      "is a vDPA device; it can move only if QEMU can shadow its queues", DETACH },
    { "filesystem", "virtiofs", "DEVICE_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, BY_QEMU, KVMIG__VERSION(8, 2, 0),
      "is a folder of the source shared by virtiofs; it can move only with QEMU 8.2, virtiofsd 1.11 and a libvirt that "
      "allows it, onto the same folder",
      "Unmount it in the guest and detach it." },
    { "filesystem", "9p", "DEVICE_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NEVER, 0,
      "is a folder of the source shared by 9p, and QEMU refuses to migrate while the guest has it mounted",
      "Unmount it in the guest and detach it." },
    { "filesystem", NULL, "DEVICE_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NEVER, 0,
      "is a folder or file of the source that the guest sees as a file system",
      "Unmount it in the guest and detach it." },
    { "tpm", "passthrough", "DEVICE_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NEVER, 0,
      "is the TPM of the source host, whose secrets cannot leave it", "Use an emulated TPM." },
    { "tpm", "external", "TPM_STATE_UNVERIFIED", KVMIG_SEVERITY_WARN, NEVER, 0,
      "is a TPM that runs outside of libvirt, which does not carry its state along",
      "Make sure that the target's TPM process has the same state." },
    { "launch-security", NULL, "DEVICE_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NEVER, 0,
      "encrypts the guest's memory with keys of the source's processor",
      "Shut the VM down and start it on the target." },
    { "input", "passthrough", "DEVICE_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, NEVER, 0,
      "is an input device of the source host that is handed to the guest, and QEMU refuses to migrate it", DETACH },
    { "redirdev", NULL, "DEVICE_RESETS", KVMIG_SEVERITY_INFO, NEVER, 0,
      "is a redirected USB device; its connection is made anew", NULL },
    { "vsock", NULL, "DEVICE_RESETS", KVMIG_SEVERITY_INFO, NEVER, 0,
      "is a vsock device; its connections are reset, and its address must be free on the target", NULL },
    { "qemu-commandline", NULL, "QEMU_COMMANDLINE_UNVERIFIED", KVMIG_SEVERITY_WARN, NEVER, 0,
      "hands options to QEMU that libvirt does not look into; they must be valid, and mean the same, on the target",
      "Check what they name (files, addresses, devices) on the target." },
};

static const struct rule *find_rule(const struct kvmig__device *device)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(rules); i++) {
        if (kvmig__str_eq(rules[i].kind, device->kind) &&
            (!rules[i].type || kvmig__str_eq(rules[i].type, device->type)))
            return &rules[i];
    }
    return NULL;
}

/* "Missing evidence is no blocker": an unknown version counts as one that may lift the rule. */
static int32_t severity_on(const struct rule *rule, const struct kvmig__check *c)
{
    uint64_t version = rule->lifted_by == BY_QEMU ? kvmig__qemu_of(c, c->source) : kvmig__libvirt_of(c, c->source);

    if (rule->lifted_by == NEVER || kvmig__version_below(version, rule->lifted_in))
        return rule->severity;
    return KVMIG_SEVERITY_WARN;
}

static void note_device(const struct kvmig__check *c, const struct kvmig__device *device, const char *code,
                        int32_t severity, const char *hint, const char *message)
{
    const char *name = device->name ? device->name : device->kind;
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "kind", device->kind);
    kvmig__detail_str(&d, "type", device->type);
    kvmig__detail_str(&d, "name", device->name);
    kvmig__note(c, code, severity, kvmig__asprintf("device/%s", name), &d, hint, "%s %s (%s) %s.",
                device->type ? device->type : "Device", device->kind, name, message);
}

/* libvirt 9.0 and its neighbours refuse virtiofs whatever QEMU can do. */
static bool libvirt_refuses(const struct kvmig__check *c, const struct kvmig__device *device)
{
    return kvmig__str_eq(device->kind, "filesystem") && kvmig__str_eq(device->type, "virtiofs") &&
           kvmig__version_below(kvmig__libvirt_of(c, c->source), KVMIG__VERSION(9, 1, 0));
}

/* ---- PCI and mediated devices ---- */

static bool is_vfio(const struct kvmig__device *device)
{
    return kvmig__str_eq(device->kind, "hostdev") &&
           (kvmig__str_eq(device->type, "pci") || kvmig__str_eq(device->type, "mdev"));
}

/* libvirt 8.6 and QEMU 8.1 migrate such devices if their driver can (Linux 5.18). */
static bool migrates_vfio(const struct kvmig__check *c, const struct kvmig__host *host)
{
    return kvmig__qemu_of(c, host) >= KVMIG__VERSION(8, 1, 0) && kvmig__libvirt_of(c, host) >= KVMIG__VERSION(8, 6, 0);
}

/* Not: "no host of the view can take it", which each host says for itself. */
static bool others_decide(const struct kvmig__check *c)
{
    return migrates_vfio(c, c->source) && c->view->hosts.n > 1;
}

static void note_vfio(const struct kvmig__check *c, const struct kvmig__device *device, bool may)
{
    if (may)
        note_device(
            c, device, "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_WARN,
            "Make sure that its driver supports migration (VFIO, protocol 2) on both hosts, and give target_xml "
            "with the target's device.",
            "is a device of the source host; libvirt and QEMU can move it only if its driver can, onto an equal "
            "device of the target");
    else
        note_device(
            c, device, "HOSTDEV_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER, DETACH,
            "is a device of the source host that is handed to the guest, and cannot move with it: the hosts are "
            "not known to have libvirt 8.6 and QEMU 8.1");
}

void kvmig__check_devices_target(const struct kvmig__check *c)
{
    if (!others_decide(c))
        return;
    for (size_t i = 0; i < c->domain->devices.n; i++) {
        if (is_vfio(&c->domain->devices.v[i]))
            note_vfio(c, &c->domain->devices.v[i], migrates_vfio(c, c->target));
    }
}

/* ---- all ---- */

static void check_device(const struct kvmig__check *c, const struct kvmig__device *device)
{
    const struct rule *rule = find_rule(device);

    if (is_vfio(device)) {
        if (!others_decide(c))
            note_vfio(c, device, migrates_vfio(c, c->source));
    } else if (kvmig__str_eq(device->kind, "memory")) {
        if (kvmig__str_eq(device->type, "dimm") && !device->managed && c->domain->running_xml)
            note_device(c, device, "DEVICE_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER,
                        "Detach it, or restart the VM so that libvirt gives it an address.",
                        "has no address in the guest's memory, and libvirt refuses to migrate it");
    } else if (kvmig__str_eq(device->kind, "shmem")) {
        if (!device->managed)
            note_device(c, device, "DEVICE_NOT_MIGRATABLE", KVMIG_SEVERITY_BLOCKER,
                        "Give it role='master' if this guest owns the memory, or detach it.",
                        "is memory shared with other processes of the source, and not in the role of its master");
    } else if (rule) {
        note_device(c, device, rule->code, libvirt_refuses(c, device) ? KVMIG_SEVERITY_BLOCKER : severity_on(rule, c),
                    rule->hint, rule->message);
    }
}

void kvmig__check_devices(const struct kvmig__check *c)
{
    for (size_t i = 0; i < c->domain->devices.n; i++)
        check_device(c, &c->domain->devices.v[i]);
}
