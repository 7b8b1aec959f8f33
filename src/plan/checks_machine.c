/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Can the target run the virtual machine at all: its machine type, its emulator, its kind of virtualisation, its firmware?
 * Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- machine type ---- */

static const struct kvmig__machine *find_machine(const struct kvmig__host *host, const char *arch, const char *name)
{
    for (size_t i = 0; i < host->machines.n; i++) {
        const struct kvmig__machine *machine = &host->machines.v[i];

        if (kvmig__str_eq(machine->name, name) && (!machine->arch || !arch || kvmig__str_eq(machine->arch, arch)))
            return machine;
    }
    return NULL;
}

/* A name with a version in it ("pc-q35-7.2", "pseries-rhel8.6.0") means the same everywhere. */
static bool has_version(const char *name)
{
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        if (dot > name && isdigit((unsigned char)dot[-1]) && isdigit((unsigned char)dot[1]))
            return true;
    }
    return false;
}

static void check_alias(const struct kvmig__check *c, const struct kvmig__machine *here,
                        const struct kvmig__machine *there)
{
    const char *name = c->domain->machine;
    const char *mine = here ? here->canonical : NULL, *theirs = there ? there->canonical : NULL;
    uint64_t sq = kvmig__qemu_of(c, c->source), tq = kvmig__qemu_of(c, c->target);
    struct kvmig__detail d = { 0 };

    if (has_version(name) && !mine && !theirs)
        return;
    /* The lists of the hosts say what the name means; without them the versions of QEMU have to. */
    if (mine && theirs ? kvmig__str_eq(mine, theirs) : !sq || !tq || sq / 1000 == tq / 1000)
        return;
    kvmig__detail_str(&d, "machine", name);
    kvmig__detail_str(&d, "source", mine);
    kvmig__detail_str(&d, "target", theirs);
    kvmig__detail_version(&d, "source_qemu", sq);
    kvmig__detail_version(&d, "target_qemu", tq);
    kvmig__note(c, "MACHINE_TYPE_ALIAS", KVMIG_SEVERITY_WARN, kvmig__object_vm(c->domain), &d,
                "Give the VM a machine type with a version (virsh edit, then a restart).",
                "The machine type %s is a name without a version, and means other virtual hardware on the target.",
                name);
}

static void check_machine_type(const struct kvmig__check *c)
{
    const char *name = c->domain->machine;
    const struct kvmig__machine *here, *there;
    struct kvmig__detail d = { 0 };

    if (!name)
        return;
    here = find_machine(c->source, c->domain->arch, name);
    there = find_machine(c->target, c->domain->arch, name);
    if (there || !c->target->machines_known) {
        check_alias(c, here, there);
        if (!there)
            kvmig__note(c, "MACHINE_TYPE_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_vm(c->domain), &d, NULL,
                        "The target's machine types are not known; whether it offers %s is not checked.", name);
        return;
    }
    kvmig__detail_str(&d, "machine", name);
    kvmig__detail_version(&d, "target_qemu", kvmig__qemu_of(c, c->target));
    kvmig__note(c, "MACHINE_TYPE_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, kvmig__object_vm(c->domain), &d,
                "Choose a host whose QEMU offers it, or upgrade QEMU there.",
                "The target does not offer the machine type %s.", name);
}

/* ---- emulator ---- */

static bool has_emulator(const struct kvmig__host *host, const char *path)
{
    for (size_t i = 0; i < host->emulators.n; i++) {
        if (kvmig__str_eq(host->emulators.v[i].path, path))
            return true;
    }
    return false;
}

/* The host was asked what it has for guests like this one. */
static bool was_asked(const struct kvmig__host *host, const struct kvmig__domain *domain)
{
    for (size_t i = 0; i < host->emulators.n; i++) {
        const struct kvmig__emulator *emulator = &host->emulators.v[i];

        if (kvmig__str_eq(emulator->arch, domain->arch) && kvmig__str_eq(emulator->machine, domain->machine))
            return true;
    }
    return false;
}

static void check_emulator(const struct kvmig__check *c)
{
    const struct kvmig__domain *there = c->request->target_domain ? c->request->target_domain : c->domain;
    struct kvmig__strlist known = { 0 };
    struct kvmig__detail d = { 0 };

    if (!there->emulator || kvmig__target_xml_unread(c) || !c->target->emulators.n ||
        has_emulator(c->target, there->emulator))
        return;
    for (size_t i = 0; i < c->target->emulators.n; i++) {
        if (c->target->emulators.v[i].path)
            kvmig__strlist_add_new(&known, c->target->emulators.v[i].path);
    }
    kvmig__detail_str(&d, "emulator", there->emulator);
    kvmig__detail_list(&d, "target_has", &known);
    kvmig__strlist_clear(&known);
    /* Hosts are asked about the emulators of all guests: what shows on the source and not on the target is not there. */
    if (kvmig__target_was_asked(c) && has_emulator(c->source, there->emulator) && was_asked(c->target, c->domain))
        kvmig__note(c, "EMULATOR_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                    "Install that QEMU there, or give target_xml with the target's emulator.",
                    "The target has no emulator %s.", there->emulator);
    else
        kvmig__note(c, "EMULATOR_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_node(c->target), &d, NULL,
                    "Whether the target has the emulator %s cannot be seen.", there->emulator);
}

/* ---- kind of virtualisation ---- */

/* Every host is asked about KVM and TCG for its own architecture, so that an answer for one of them alone is an answer for
 * both. */
static void check_virt_type(const struct kvmig__check *c)
{
    const struct kvmig__domain *domain = c->domain;
    bool answered = false;
    struct kvmig__detail d = { 0 };

    for (size_t i = 0; i < c->target->emulators.n; i++) {
        const struct kvmig__emulator *emulator = &c->target->emulators.v[i];

        if (!kvmig__str_eq(emulator->arch, domain->arch))
            continue;
        answered = true;
        if (kvmig__str_eq(emulator->virt_type, domain->virt_type))
            return;
    }
    if (!answered || !domain->virt_type || !kvmig__target_was_asked(c))
        return;
    kvmig__detail_str(&d, "arch", domain->arch);
    kvmig__detail_str(&d, "virt_type", domain->virt_type);
    kvmig__note(c, "VIRT_TYPE_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                "Look whether virtualisation is enabled in the firmware and /dev/kvm exists there.",
                "The target cannot run %s guests of type %s.", domain->arch, domain->virt_type);
}

/* ---- firmware ---- */

static void check_firmware(const struct kvmig__check *c)
{
    struct kvmig__detail d = { 0 };

    if (!c->domain->loader)
        return;
    kvmig__detail_str(&d, "loader", c->domain->loader);
    kvmig__note(c, "FIRMWARE_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_vm(c->domain), &d, NULL,
                "The target must have the firmware %s; libvirt cannot be asked for it.", c->domain->loader);
}

void kvmig__check_machine(const struct kvmig__check *c)
{
    check_machine_type(c);
    check_emulator(c);
    check_virt_type(c);
    check_firmware(c);
}
