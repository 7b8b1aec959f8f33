/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Can the target give the running guest the CPU that it has? libvirt finds out only when the incoming QEMU starts. What the
 * guest needs is compared with what the target's host-model offers for the same architecture and kind of virtualisation, by
 * canonical names of features. A feature is called missing only if that is known: models are not compared by what one
 * remembers of them, and what the source itself cannot give, the guest does not have. Pure; any thread.
 */
#include "plan/checks.h"

#include <stdlib.h>

#define HINT_FEATURES                                                                                                  \
    "Choose a host that has them, bring microcode and kernel of the target up to date, or give the VM a CPU model "    \
    "that "                                                                                                            \
    "all hosts have."

/* ---- looking things up ---- */

/* What the host answered for guests like this: of the same machine type if it was asked for that. */
static const struct kvmig__emulator *find_emulator(const struct kvmig__host *host, const struct kvmig__domain *domain)
{
    const struct kvmig__emulator *best = NULL;

    for (size_t i = 0; i < host->emulators.n; i++) {
        const struct kvmig__emulator *emulator = &host->emulators.v[i];

        if (!kvmig__str_eq(emulator->arch, domain->arch) || !kvmig__str_eq(emulator->virt_type, domain->virt_type))
            continue;
        if (kvmig__str_eq(emulator->machine, domain->machine))
            return emulator;
        if (!best)
            best = emulator;
    }
    return best;
}

static int32_t policy_of(const struct kvmig__cpu *cpu, const char *feature)
{
    for (size_t i = 0; i < cpu->features.n; i++) {
        if (kvmig__str_eq(cpu->features.v[i].name, feature))
            return cpu->features.v[i].policy;
    }
    return -1;
}

static bool policy_requires(int32_t policy)
{
    return policy == KVMIG__CPU_REQUIRE || policy == KVMIG__CPU_FORCE;
}

static bool policy_removes(int32_t policy)
{
    return policy == KVMIG__CPU_DISABLE || policy == KVMIG__CPU_FORBID;
}

static bool has_vmx_details(const struct kvmig__strlist *features)
{
    for (size_t i = 0; i < features->n; i++) {
        if (kvmig__str_starts(features->v[i], "vmx-"))
            return true;
    }
    return false;
}

/* Features whose absence from a host-model says nothing: invtsc is never in it (it has a check of its own), and libvirt before
 * 9.10 does not know the details of vmx. */
static bool is_comparable(const char *feature, const struct kvmig__strlist *offered)
{
    if (kvmig__str_eq(feature, "invtsc"))
        return false;
    return !kvmig__str_starts(feature, "vmx-") || !offered || has_vmx_details(offered);
}

/* ---- findings ---- */

static char *joined(const struct kvmig__strlist *names)
{
    return kvmig__strlist_join(names, ", ");
}

static void note_missing(const struct kvmig__check *c, const char *code, int32_t severity,
                         const struct kvmig__strlist *missing, const char *message)
{
    struct kvmig__detail d = { 0 };
    char *text = joined(missing);

    kvmig__detail_list(&d, "missing", missing);
    kvmig__note(c, code, severity, kvmig__object_node(c->target), &d, HINT_FEATURES, "%s: %s.", message, text);
    free(text);
}

static void note_model(const struct kvmig__check *c, const char *model, const char *message)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "model", model);
    kvmig__note(c, "CPU_MODEL_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d, HINT_FEATURES,
                "%s: %s.", message, model);
}

static void note_unverified(const struct kvmig__check *c, const char *what)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "missing", what);
    kvmig__note(c, "CPU_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_node(c->target), &d, NULL,
                "Whether the target's CPU has all that the guest uses could not be compared, for lack of: %s.", what);
}

/* ---- features ---- */

/* The source's answers, for what the guest cannot have there; NULL = not known. */
static const struct kvmig__strlist *given_on(const struct kvmig__emulator *here)
{
    return here && here->host_model_known && here->host_model.expanded_known ? &here->host_model.expanded : NULL;
}

static bool lacks(const struct kvmig__strlist *offered, const struct kvmig__strlist *given, const char *feature)
{
    return !kvmig__strlist_has(offered, feature) && is_comparable(feature, offered) &&
           (!given || kvmig__strlist_has(given, feature));
}

/* Of the features that both hosts listed in full. */
static void missing_from(const struct kvmig__strlist *needed, const struct kvmig__strlist *offered,
                         const struct kvmig__strlist *given, const struct kvmig__cpu *guest, struct kvmig__strlist *out)
{
    for (size_t i = 0; i < needed->n; i++) {
        if (!policy_removes(policy_of(guest, needed->v[i])) && lacks(offered, given, needed->v[i]))
            kvmig__strlist_add_new(out, needed->v[i]);
    }
}

static void missing_required(const struct kvmig__cpu *guest, const struct kvmig__strlist *offered,
                             const struct kvmig__strlist *given, struct kvmig__strlist *out)
{
    for (size_t i = 0; i < guest->features.n; i++) {
        const struct kvmig__cpu_feature *feature = &guest->features.v[i];

        if (policy_requires(feature->policy) && lacks(offered, given, feature->name))
            kvmig__strlist_add_new(out, feature->name);
    }
}

/* Features that the target's host-model says it lacks. */
static void missing_by_removal(const struct kvmig__cpu *guest, const struct kvmig__cpu *offered,
                               struct kvmig__strlist *out)
{
    for (size_t i = 0; i < offered->features.n; i++) {
        const struct kvmig__cpu_feature *feature = &offered->features.v[i];

        if (policy_removes(feature->policy) && policy_requires(policy_of(guest, feature->name)))
            kvmig__strlist_add_new(out, feature->name);
    }
}

/* Where the host-models of both hosts are one model plus features, a feature that the source's adds is not part of the
 * model; if the target's does not add it, the target lacks it. */
static void missing_by_addition(const struct kvmig__cpu *source, const struct kvmig__cpu *target,
                                const struct kvmig__cpu *guest, bool all, struct kvmig__strlist *out)
{
    if (!source->model || !kvmig__str_eq(source->model, target->model))
        return;
    for (size_t i = 0; i < source->features.n; i++) {
        const struct kvmig__cpu_feature *feature = &source->features.v[i];
        int32_t wanted = policy_of(guest, feature->name);

        if (!policy_requires(feature->policy) || policy_requires(policy_of(target, feature->name)) ||
            policy_removes(wanted) || !is_comparable(feature->name, NULL))
            continue;
        if (all || policy_requires(wanted))
            kvmig__strlist_add_new(out, feature->name);
    }
}

/* ---- models ---- */

static const struct kvmig__cpu_model *find_model(const struct kvmig__emulator *emulator, const char *name)
{
    for (size_t i = 0; i < emulator->models.n; i++) {
        if (kvmig__str_eq(emulator->models.v[i].name, name))
            return &emulator->models.v[i];
    }
    return NULL;
}

static bool removes_anything(const struct kvmig__cpu *cpu)
{
    for (size_t i = 0; i < cpu->features.n; i++) {
        if (policy_removes(cpu->features.v[i].policy))
            return true;
    }
    return false;
}

/* Adds what the model's own blockers name, but for those that block it on the source as well. */
static void missing_by_blockers(const struct kvmig__cpu_model *here, const struct kvmig__cpu_model *there,
                                const struct kvmig__cpu *guest, struct kvmig__strlist *missing)
{
    for (size_t i = 0; i < there->blockers.n; i++) {
        const char *name = there->blockers.v[i];

        if (!policy_removes(policy_of(guest, name)) && !(here && kvmig__strlist_has(&here->blockers, name)))
            kvmig__strlist_add_new(missing, name);
    }
}

/* False if nothing certain can be said of the guest's model on the target. */
static bool check_model(const struct kvmig__check *c, const struct kvmig__emulator *here,
                        const struct kvmig__emulator *there, struct kvmig__strlist *missing)
{
    const struct kvmig__cpu *guest = &c->domain->cpu;
    const struct kvmig__cpu_model *mine = here ? find_model(here, guest->model) : NULL;
    const struct kvmig__cpu_model *theirs = find_model(there, guest->model);

    if (!there->models.n || !guest->model)
        return false;
    if (!theirs) {
        note_model(c, guest->model, "The target does not know the CPU model of the guest");
        return true;
    }
    if (theirs->usable)
        return true;
    if (theirs->blockers.n) {
        missing_by_blockers(mine, theirs, guest, missing);
        return true;
    }
    /* The guest may do without just those features that the target lacks, as it must if the source lacks some, too. */
    if (removes_anything(guest) || (mine && !mine->usable))
        return false;
    note_model(c, guest->model, "The target cannot run the CPU model of the guest");
    return true;
}

/* Every feature that the guest asks for beyond its model is one that the target's host-model names. */
static bool additions_offered(const struct kvmig__cpu *guest, const struct kvmig__cpu *offered)
{
    for (size_t i = 0; i < guest->features.n; i++) {
        const struct kvmig__cpu_feature *feature = &guest->features.v[i];

        if (policy_requires(feature->policy) && is_comparable(feature->name, NULL) &&
            !policy_requires(policy_of(offered, feature->name)))
            return false;
    }
    return true;
}

/* ---- the modes of a guest's CPU ---- */

static bool vendor_differs(const struct kvmig__check *c, const char *source, const char *target)
{
    struct kvmig__detail d = { 0 };

    if (!source || !target || kvmig__str_eq(source, target))
        return false;
    kvmig__detail_str(&d, "source", source);
    kvmig__detail_str(&d, "target", target);
    kvmig__note(c, "CPU_VENDOR_MISMATCH", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                "Choose a host with a CPU of the same vendor, or restart the VM with a CPU model of no vendor.",
                "The guest's CPU is made by %s, the target's by %s.", source, target);
    return true;
}

/* A CPU that libvirt knows by model and features, as that of every running guest that is not passed through. */
static void check_modelled(const struct kvmig__check *c, const struct kvmig__emulator *here,
                           const struct kvmig__emulator *there)
{
    const struct kvmig__cpu *guest = &c->domain->cpu, *offered = &there->host_model;
    struct kvmig__strlist missing = { 0 };
    bool judged;

    if (vendor_differs(c, guest->vendor, offered->vendor))
        return;
    if (offered->expanded_known && guest->expanded_known) {
        missing_from(&guest->expanded, &offered->expanded, given_on(here), guest, &missing);
        judged = true;
    } else {
        judged =
            check_model(c, here, there, &missing) && (offered->expanded_known || additions_offered(guest, offered));
        if (offered->expanded_known)
            missing_required(guest, &offered->expanded, given_on(here), &missing);
        else
            missing_by_removal(guest, offered, &missing);
        if (here && here->host_model_known)
            missing_by_addition(&here->host_model, offered, guest, false, &missing);
    }
    if (missing.n)
        note_missing(c, "CPU_FEATURE_MISSING", KVMIG_SEVERITY_BLOCKER, &missing,
                     "The target lacks CPU features that the guest uses");
    else if (!judged)
        note_unverified(c, "what the CPU models contain on the target");
    kvmig__strlist_clear(&missing);
}

/* A definition that still says host-model stands for the source's. */
static void check_host_model(const struct kvmig__check *c, const struct kvmig__emulator *here,
                             const struct kvmig__emulator *there)
{
    const struct kvmig__cpu *guest = &c->domain->cpu;
    struct kvmig__strlist missing = { 0 };
    bool judged = false;

    if (!here || !here->host_model_known) {
        note_unverified(c, "the source's host-model");
        return;
    }
    if (vendor_differs(c, here->host_model.vendor, there->host_model.vendor))
        return;
    if (here->host_model.expanded_known && there->host_model.expanded_known) {
        missing_from(&here->host_model.expanded, &there->host_model.expanded, NULL, guest, &missing);
        judged = true;
    } else {
        missing_by_addition(&here->host_model, &there->host_model, guest, true, &missing);
        missing_by_removal(&here->host_model, &there->host_model, &missing);
        judged = kvmig__str_eq(here->host_model.model, there->host_model.model);
    }
    if (missing.n)
        note_missing(c, "CPU_FEATURE_MISSING", KVMIG_SEVERITY_BLOCKER, &missing,
                     "The target lacks CPU features that the guest uses");
    else if (!judged)
        note_unverified(c, "what the host-models of the two hosts, which are different models, contain");
    kvmig__strlist_clear(&missing);
}

static void note_other_model(const struct kvmig__check *c, const struct kvmig__cpu *source,
                             const struct kvmig__cpu *target)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "source", source->model);
    kvmig__detail_str(&d, "target", target->model);
    kvmig__note(c, "CPU_PASSTHROUGH_MISMATCH", KVMIG_SEVERITY_WARN, kvmig__object_node(c->target), &d, HINT_FEATURES,
                "The guest has the source's CPU passed through (%s), and the target has another one (%s).",
                source->model, target->model);
}

/* The whole CPU of the host is handed through; nobody objects if the target's is another one, and the guest fails later. */
static void check_passthrough(const struct kvmig__check *c, const struct kvmig__emulator *here,
                              const struct kvmig__emulator *there)
{
    const struct kvmig__cpu *source = here ? &here->host_model : NULL, *target = &there->host_model;
    bool maximum = c->domain->cpu.mode == KVMIG__CPU_MAXIMUM;
    bool told = kvmig__target_was_asked(c) || (maximum ? there->maximum_told : there->passthrough_told);
    struct kvmig__strlist missing = { 0 };

    if ((maximum ? !there->maximum_supported : !there->passthrough_supported) && told) {
        note_model(c, maximum ? "maximum" : "host-passthrough", "The target does not offer this CPU mode");
        return;
    }
    if (!here || !here->host_model_known) {
        note_unverified(c, "the source's host-model");
        return;
    }
    if (vendor_differs(c, source->vendor, target->vendor))
        return;
    if (source->expanded_known && target->expanded_known)
        missing_from(&source->expanded, &target->expanded, NULL, &c->domain->cpu, &missing);
    else
        missing_by_addition(source, target, &c->domain->cpu, true, &missing);
    if (missing.n)
        note_missing(c, "CPU_PASSTHROUGH_MISMATCH", KVMIG_SEVERITY_WARN, &missing,
                     "The guest has the source's CPU passed through, and the target lacks features of it");
    else if (source->model && target->model && !kvmig__str_eq(source->model, target->model) &&
             !(source->expanded_known && target->expanded_known))
        note_other_model(c, source, target);
    kvmig__strlist_clear(&missing);
}

/* ---- what no host can carry ---- */

static bool uses_invtsc(const struct kvmig__cpu *cpu)
{
    int32_t policy = policy_of(cpu, "invtsc");

    return policy_requires(policy) || (!policy_removes(policy) && kvmig__strlist_has(&cpu->expanded, "invtsc"));
}

/* QEMU refuses to migrate a guest with an invariant TSC unless its frequency is fixed. With it fixed, a CPU with
 * migratable='off' may start to move, though its features are those of one host. */
static void check_non_migratable(const struct kvmig__check *c)
{
    const struct kvmig__cpu *cpu = &c->domain->cpu;
    bool off = cpu->migratable == 0, fixed = cpu->tsc_frequency_hz != 0, invtsc = uses_invtsc(cpu) && !fixed;
    struct kvmig__strlist flags = { 0 };
    struct kvmig__detail d = { 0 };

    if (!off && !invtsc)
        return;
    kvmig__strlist_add(&flags, "migratable=off");
    kvmig__strlist_add(&flags, "invtsc");
    if (off && invtsc)
        kvmig__detail_list(&d, "flag", &flags);
    else
        kvmig__detail_str(&d, "flag", flags.v[off ? 0 : 1]);
    kvmig__note(c, "CPU_NON_MIGRATABLE_FLAG", fixed ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_BLOCKER,
                kvmig__object_vm(c->domain), &d,
                off ? "Set migratable='on' in the VM's <cpu>, and restart it."
                    : "Fix the frequency of the VM's tsc timer or leave invtsc out, and restart the VM.",
                off ? "%s has a CPU with migratable='off', whose features QEMU cannot carry to another host."
                    : "%s has the CPU feature invtsc without a fixed TSC frequency, and QEMU refuses to migrate it.",
                c->domain->name);
    kvmig__strlist_clear(&flags);
}

/* libvirt lets a guest start with another frequency than the host's within 250 parts of a million, or if the host can scale
 * it. Only what both tell is judged. */
static void check_tsc(const struct kvmig__check *c)
{
    uint64_t wanted = c->domain->cpu.tsc_frequency_hz, present = c->target->tsc_frequency_hz;
    uint64_t difference = wanted > present ? wanted - present : present - wanted;
    struct kvmig__detail d = { 0 };

    if (!kvmig__str_eq(c->domain->virt_type, "kvm") || !wanted || !present || c->target->tsc_scaling != 0 ||
        difference <= present / 4000)
        return;
    kvmig__detail_uint(&d, "wanted", wanted);
    kvmig__detail_uint(&d, "present", present);
    kvmig__detail_str(&d, "scaling", "no");
    kvmig__note(c, "TSC_FREQUENCY_MISMATCH", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                "Choose a host whose TSC has that frequency, or can be scaled.",
                "The VM's TSC has %llu Hz, the target's %llu Hz, and the target cannot scale it.",
                (unsigned long long)wanted, (unsigned long long)present);
}

void kvmig__check_cpu(const struct kvmig__check *c)
{
    const struct kvmig__emulator *here, *there;

    if (!c->target) {
        check_non_migratable(c);
        return;
    }
    check_tsc(c);
    if (c->domain->cpu.mode == KVMIG__CPU_NONE || c->target->state != KVMIG__HOST_UP)
        return;
    here = find_emulator(c->source, c->domain);
    there = find_emulator(c->target, c->domain);
    if (!there) {
        note_unverified(c, "the target's domain capabilities for guests of this kind");
        return;
    }
    switch (c->domain->cpu.mode) {
    case KVMIG__CPU_HOST_PASSTHROUGH:
    case KVMIG__CPU_MAXIMUM:
        check_passthrough(c, here, there);
        break;
    case KVMIG__CPU_HOST_MODEL:
        check_host_model(c, here, there);
        break;
    default:
        check_modelled(c, here, there);
        break;
    }
}
