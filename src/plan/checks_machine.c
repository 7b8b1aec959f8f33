/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Can the target run the virtual machine at all: its machine type, its emulator, its kind of virtualisation?
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

bool kvmig__machine_has_version(const char *name)
{
    for (const char *dot = name ? strchr(name, '.') : NULL; dot; dot = strchr(dot + 1, '.')) {
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

    if (kvmig__machine_has_version(name) && !mine && !theirs)
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

/* Machine types of QEMU itself are called after the version that brought them: 8002000 for "pc-q35-8.2". 0 for all others,
 * those of distributions among them. */
static uint64_t version_of_machine(const char *name)
{
    static const char *const families[] = { "pc-q35-", "pc-i440fx-", "virt-", "pseries-", "s390-ccw-virtio-" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(families); i++) {
        const char *text = name + strlen(families[i]);
        char *end;
        unsigned long major, minor;

        if (!kvmig__str_starts(name, families[i]) || !isdigit((unsigned char)*text))
            continue;
        major = strtoul(text, &end, 10);
        if (*end != '.' || !isdigit((unsigned char)end[1]) || major > 1000)
            return 0;
        minor = strtoul(end + 1, &end, 10);
        return *end || minor > 999 ? 0 : KVMIG__VERSION(major, minor, 0);
    }
    return 0;
}

static void note_unsupported(const struct kvmig__check *c, const char *name)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "machine", name);
    kvmig__detail_version(&d, "target_qemu", kvmig__qemu_of(c, c->target));
    kvmig__note(c, "MACHINE_TYPE_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, kvmig__object_vm(c->domain), &d,
                "Choose a host whose QEMU offers it, or upgrade QEMU there.",
                "The target does not offer the machine type %s.", name);
}

/* Of a name of QEMU's own the version of QEMU tells enough, unless the source, which runs it, belies that. */
static bool is_too_new(const struct kvmig__check *c, const char *name)
{
    uint64_t since = version_of_machine(name);

    return kvmig__version_below(kvmig__qemu_of(c, c->target), since) &&
           !kvmig__version_below(kvmig__qemu_of(c, c->source), since);
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
        if (!there && is_too_new(c, name)) {
            note_unsupported(c, name);
        } else if (!there) {
            kvmig__detail_str(&d, "machine", name);
            kvmig__detail_str(&d, "missing", "the machine types of the target (its capabilities)");
            kvmig__note(c, "MACHINE_TYPE_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_vm(c->domain), &d, NULL,
                        "The target's machine types are not known; whether it offers %s is not checked.", name);
        }
        return;
    }
    note_unsupported(c, name);
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
    if (kvmig__target_was_asked(c) && has_emulator(c->source, there->emulator) && was_asked(c->target, c->domain)) {
        kvmig__note(c, "EMULATOR_MISSING", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                    "Install that QEMU there, or give target_xml with the target's emulator.",
                    "The target has no emulator %s.", there->emulator);
    } else {
        kvmig__detail_str(&d, "missing", "all emulators that the target has");
        kvmig__note(c, "EMULATOR_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_node(c->target), &d, NULL,
                    "Whether the target has the emulator %s cannot be seen.", there->emulator);
    }
}

/* ---- kind of virtualisation ---- */

/* The host's capabilities list what it can run. Without them, a host that was asked about KVM and TCG for its own architecture
 * and answered for one of them alone has answered for both. */
static void check_virt_type(const struct kvmig__check *c)
{
    const struct kvmig__domain *domain = c->domain;
    bool answered = c->target->virt_types_known;
    char *both = domain->arch && domain->virt_type ? kvmig__asprintf("%s %s", domain->arch, domain->virt_type) : NULL;
    bool listed = both && kvmig__strlist_has(&c->target->virt_types, both);
    struct kvmig__detail d = { 0 };

    free(both);
    for (size_t i = 0; i < c->target->emulators.n; i++) {
        const struct kvmig__emulator *emulator = &c->target->emulators.v[i];

        if (!kvmig__str_eq(emulator->arch, domain->arch))
            continue;
        answered = answered || kvmig__target_was_asked(c);
        listed = listed || kvmig__str_eq(emulator->virt_type, domain->virt_type);
    }
    if (listed || !answered || !domain->arch || !domain->virt_type)
        return;
    kvmig__detail_str(&d, "arch", domain->arch);
    kvmig__detail_str(&d, "virt_type", domain->virt_type);
    kvmig__note(c, "VIRT_TYPE_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                "Look whether virtualisation is enabled in the firmware and /dev/kvm exists there.",
                "The target cannot run %s guests of type %s.", domain->arch, domain->virt_type);
}

void kvmig__check_machine(const struct kvmig__check *c)
{
    check_machine_type(c);
    check_emulator(c);
    check_virt_type(c);
}
