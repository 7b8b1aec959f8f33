/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Problems of known versions of libvirt and QEMU, as their release notes and public reports tell them: one table of which
 * component, on which side, from and before which version, and what a migration must do to meet it. Data first; the code
 * below only looks it up. Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <stdlib.h>
#include <strings.h>

enum component { LIBVIRT, QEMU };
enum side { SOURCE = 1, TARGET = 2, EITHER = SOURCE | TARGET };

/* What a migration must have for a problem to concern it; all of them. */
enum trigger {
    ALWAYS = 0,
    TLS = 1 << 0,
    PARALLEL = 1 << 1,
    POSTCOPY = 1 << 2,
    COPY = 1 << 3, /* disks are copied */
    CUSTOM_CPU = 1 << 4,
    VMX = 1 << 5, /* the guest's CPU has vmx */
    EMULATED_TPM = 1 << 6,
    SHARED_FILE = 1 << 7, /* a disk in a shared file */
    NEW_QEMU_TARGET = 1 << 8, /* QEMU on the target is 9.2 or later */
    TEN_QEMU_TARGET = 1 << 9, /* QEMU on the target is 10.0 or later */
    INCREMENTAL = 1 << 10, /* disks are copied, only their top images */
    QUEUES_CHANGED = 1 << 11, /* the target's XML has other numbers of queues for an interface */
    DEFAULT_VIDEO = 1 << 12 /* a video device whose model is left to libvirt */
};

#define V(major, minor) KVMIG__VERSION(major, minor, 0)

static const struct problem {
    const char *code;
    enum component component;
    enum side side;
    uint64_t from, before; /* before 0 = not mended in any version known */
    uint32_t triggers;
    int32_t severity;
    const char *message;
    const char *hint;
} problems[] = {
    { "MULTIFD_VERSION_SKEW", QEMU, SOURCE, V(7, 1), V(7, 2), PARALLEL | NEW_QEMU_TARGET, KVMIG_SEVERITY_WARN,
      "Parallel connections from QEMU 7.1 to 9.2 or later are known to fail", "Use one connection." },
    { "TLS_MULTIFD_OLD_QEMU", QEMU, EITHER, 0, V(5, 2), TLS | PARALLEL, KVMIG_SEVERITY_WARN,
      "TLS with parallel connections can hang for ever in the handshake with QEMU before 5.2",
      "Use one connection, or leave encryption to the network." },
    { "KNOWN_PROBLEM", LIBVIRT, SOURCE, V(7, 3), V(7, 6), INCREMENTAL, KVMIG_SEVERITY_BLOCKER,
      "libvirt 7.3 to 7.5 do not copy the contents of disks whose top images only are to be copied, and the guest goes "
      "on "
      "with empty ones",
      "Upgrade libvirt on the source to 7.6, or copy whole disks (KVMIG_COPY_FULL)." },
    { "KNOWN_PROBLEM", LIBVIRT, EITHER, 0, V(11, 4), QUEUES_CHANGED, KVMIG_SEVERITY_WARN,
      "libvirt before 11.4 does not notice that the target's XML has other numbers of queues for an interface, and the "
      "guest's state cannot be loaded there",
      "Keep the queues of each interface as they are." },
    { "KNOWN_PROBLEM", LIBVIRT, EITHER, 0, V(12, 5), DEFAULT_VIDEO, KVMIG_SEVERITY_INFO,
      "libvirt before 12.5 does not write down which video model it has chosen, and may choose another one on the "
      "target",
      "Name the model of the video device in the VM's XML." },
    { "KNOWN_PROBLEM", LIBVIRT, EITHER, V(11, 2), V(11, 4), POSTCOPY, KVMIG_SEVERITY_WARN,
      "libvirt 11.2 and 11.3 crash when a broken post-copy migration is recovered",
      "Upgrade libvirt to 11.4, or do not allow post-copy." },
    { "KNOWN_PROBLEM", LIBVIRT, EITHER, 0, V(10, 3), TLS | COPY | PARALLEL, KVMIG_SEVERITY_WARN,
      "libvirt before 10.3 checks the wrong TLS host name for disk copies with parallel connections",
      "Upgrade libvirt to 10.3, or use one connection." },
    { "KNOWN_PROBLEM", LIBVIRT, EITHER, 0, V(10, 3), TLS | COPY | POSTCOPY, KVMIG_SEVERITY_WARN,
      "libvirt before 10.3 checks the wrong TLS host name for disk copies with post-copy",
      "Upgrade libvirt to 10.3, or do not allow post-copy." },
    { "KNOWN_PROBLEM", LIBVIRT, EITHER, V(10, 2), V(10, 3), CUSTOM_CPU, KVMIG_SEVERITY_WARN,
      "libvirt 10.2 handles custom CPU models wrongly when it migrates", "Upgrade libvirt to 10.3." },
    { "KNOWN_PROBLEM", LIBVIRT, EITHER, V(9, 10), V(10, 2), VMX, KVMIG_SEVERITY_WARN,
      "libvirt 9.10 to 10.1 add vmx-* features to the guest's CPU that other versions refuse",
      "Upgrade libvirt to 10.2 on both hosts." },
    { "KNOWN_PROBLEM", LIBVIRT, TARGET, 0, V(11, 10), CUSTOM_CPU | TEN_QEMU_TARGET, KVMIG_SEVERITY_WARN,
      "libvirt before 11.10 with QEMU 10.0 or later reports an extra CPU feature \"ht\" and refuses the guest",
      "Upgrade libvirt on the target to 11.10." },
    { "KNOWN_PROBLEM", LIBVIRT, EITHER, V(10, 1), V(10, 4), SHARED_FILE, KVMIG_SEVERITY_INFO,
      "libvirt 10.1 to 10.3 have trouble with images on NFS exports with root_squash", "Upgrade libvirt to 10.4." },
    { "KNOWN_PROBLEM", LIBVIRT, EITHER, 0, V(12, 0), EMULATED_TPM | SHARED_FILE, KVMIG_SEVERITY_INFO,
      "libvirt before 12.0 has trouble with the state of an emulated TPM on NFS",
      "Keep the TPM state on local storage, or upgrade libvirt to 12.0." },
    { "KNOWN_PROBLEM", LIBVIRT, TARGET, V(11, 0), V(11, 5), ALWAYS, KVMIG_SEVERITY_INFO,
      "libvirt 11.0 to 11.4 block requests for the XML of a domain that is coming in", "Upgrade libvirt to 11.5." },
    { "KNOWN_PROBLEM", LIBVIRT, EITHER, 0, V(10, 5), ALWAYS, KVMIG_SEVERITY_INFO,
      "The daemon of libvirt before 10.5 can crash if the guest shuts down while it is migrated",
      "Upgrade libvirt to 10.5." },
    { "KNOWN_PROBLEM", LIBVIRT, SOURCE, 0, V(11, 6), TLS, KVMIG_SEVERITY_INFO,
      "A long encrypted migration can end QEMU on the source when GnuTLS renews its keys; libvirt 11.6 has a setting "
      "for it",
      "Prefer short migrations, or upgrade libvirt to 11.6." },
};

/* ---- what this migration has ---- */

static bool uses_vmx(const struct kvmig__cpu *cpu)
{
    for (size_t i = 0; i < cpu->features.n; i++) {
        const struct kvmig__cpu_feature *feature = &cpu->features.v[i];

        if ((kvmig__str_eq(feature->name, "vmx") || kvmig__str_starts(feature->name, "vmx-")) &&
            (feature->policy == KVMIG__CPU_REQUIRE || feature->policy == KVMIG__CPU_FORCE))
            return true;
    }
    return kvmig__strlist_has(&cpu->expanded, "vmx");
}

static uint32_t triggers_of_disks(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n)
{
    uint32_t triggers = 0;

    for (size_t i = 0; i < n && i < c->domain->disks.n; i++) {
        if (kvmig__disk_is_copied(&disks[i]))
            triggers |= COPY;
        if (disks[i].method == KVMIG_DISK_COPY_INCREMENTAL)
            triggers |= INCREMENTAL;
        if (disks[i].method == KVMIG_DISK_SHARED && c->domain->disks.v[i].source.type == KVMIG__DISK_FILE)
            triggers |= SHARED_FILE;
    }
    return triggers;
}

/* 0 = not given, which libvirt takes for one. */
static bool queues_differ(const struct kvmig__domain *here, const struct kvmig__domain *there)
{
    for (size_t i = 0; there && i < there->interfaces.n; i++) {
        const struct kvmig__interface *a = &there->interfaces.v[i];

        for (size_t k = 0; k < here->interfaces.n; k++) {
            const struct kvmig__interface *b = &here->interfaces.v[k];

            if (a->mac && b->mac && strcasecmp(a->mac, b->mac) == 0 &&
                (a->queues ? a->queues : 1) != (b->queues ? b->queues : 1))
                return true;
        }
    }
    return false;
}

static uint32_t triggers_of(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n)
{
    const struct kvmig__domain *domain = c->domain;
    uint32_t triggers = triggers_of_disks(c, disks, n);

    triggers |= kvmig__request_has(c->request, KVMIG_PLAN_TLS) ? TLS : 0;
    triggers |= kvmig__request_has(c->request, KVMIG_PLAN_ALLOW_POSTCOPY) ? POSTCOPY : 0;
    triggers |= kvmig__request_is_parallel(c->request) ? PARALLEL : 0;
    triggers |= domain->cpu.mode == KVMIG__CPU_CUSTOM || domain->cpu.mode == KVMIG__CPU_HOST_MODEL ? CUSTOM_CPU : 0;
    triggers |= uses_vmx(&domain->cpu) ? VMX : 0;
    triggers |= queues_differ(domain, c->request->target_domain) ? QUEUES_CHANGED : 0;
    triggers |= domain->video_by_default ? DEFAULT_VIDEO : 0;
    triggers |= kvmig__qemu_of(c, c->target) >= V(9, 2) ? NEW_QEMU_TARGET : 0;
    triggers |= kvmig__qemu_of(c, c->target) >= V(10, 0) ? TEN_QEMU_TARGET : 0;
    for (size_t i = 0; i < domain->devices.n; i++) {
        if (kvmig__str_eq(domain->devices.v[i].kind, "tpm") && kvmig__str_eq(domain->devices.v[i].type, "emulator"))
            triggers |= EMULATED_TPM;
    }
    return triggers;
}

/* ---- look-up ---- */

static bool concerns(const struct kvmig__check *c, const struct problem *problem, const struct kvmig__host *host,
                     enum side side)
{
    uint64_t version = problem->component == QEMU ? kvmig__qemu_of(c, host) : kvmig__libvirt_of(c, host);

    return (problem->side & side) && version && version >= problem->from &&
           (!problem->before || version < problem->before);
}

static void note_problem(const struct kvmig__check *c, const struct problem *problem, bool on_source, bool on_target)
{
    struct kvmig__detail d = { 0 };
    bool qemu = problem->component == QEMU;

    kvmig__detail_str(&d, "component", qemu ? "qemu" : "libvirt");
    if (on_source)
        kvmig__detail_version(&d, "source", qemu ? kvmig__qemu_of(c, c->source) : kvmig__libvirt_of(c, c->source));
    if (on_target || problem->triggers & (NEW_QEMU_TARGET | TEN_QEMU_TARGET)) /* those are about the target, too */
        kvmig__detail_version(&d, "target", qemu ? kvmig__qemu_of(c, c->target) : kvmig__libvirt_of(c, c->target));
    kvmig__detail_version(&d, "mended_in", problem->before);
    kvmig__note(c, problem->code, problem->severity, kvmig__object_request(), &d, problem->hint, "%s.",
                problem->message);
}

void kvmig__check_known_problems(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n)
{
    uint32_t triggers = triggers_of(c, disks, n);

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(problems); i++) {
        const struct problem *problem = &problems[i];
        bool on_source = concerns(c, problem, c->source, SOURCE), on_target = concerns(c, problem, c->target, TARGET);

        if ((on_source || on_target) && (problem->triggers & triggers) == problem->triggers)
            note_problem(c, problem, on_source, on_target);
    }
}
