/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What libvirt and QEMU say of CPUs, machine types, and device state that a target cannot take. Sources: libvirt's cpu_x86.c and
 * qemu_process.c, QEMU's migration/savevm.c, migration/ram.c, hw/virtio/virtio.c. Pure.
 */
#include "diagnose/diagnose.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WARNINGS 4000 /* characters before an error, where QEMU names what it is about */
#define NEAR 600 /* characters to the next lines of the same failure */

static char *on_node(const struct kvmig__match *match)
{
    return match->c->target ? kvmig__asprintf("node/%s", match->c->target) : NULL;
}

static bool names(struct kvmig__match *match)
{
    struct kvmig__strlist features = { 0 };
    bool any;

    kvmig__words_names(match->said->text, match->after, match->end, &features);
    any = features.n > 0;
    if (any)
        kvmig__detail_list(&match->detail, "features", &features);
    kvmig__strlist_clear(&features);
    match->object = on_node(match);
    return any;
}

/* A stream that ends in the midst of memory reads as zeros, and the flags as 0x0: that tells of a broken connection at most. */
static bool some_flags(struct kvmig__match *match)
{
    const char *at = match->after;

    while (at < match->end && strchr(": ", *at))
        at++;
    return strtoul(at, NULL, 16) != 0;
}

/* "warning: host doesn't support requested feature: CPUID.80000001H:ECX.svm [bit 2]": QEMU names them before it gives up. */
static bool requested(struct kvmig__match *match)
{
    const char *at = match->at - match->said->text > WARNINGS ? match->at - WARNINGS : match->said->text, *after;
    struct kvmig__strlist features = { 0 };

    while ((at = kvmig__words_find(at, match->at, "requested feature: CPUID", &after))) {
        char *name = kvmig__words_until(after, match->at, " [\n");
        const char *dot = name ? strrchr(name, '.') : NULL;

        if (dot && dot[1])
            kvmig__strlist_add_new(&features, dot + 1);
        free(name);
        at = after;
    }
    if (features.n)
        kvmig__detail_list(&match->detail, "features", &features);
    kvmig__strlist_clear(&features);
    match->object = on_node(match);
    return true;
}

/* The rest of the line at at holds words. */
static bool line_has(const struct kvmig__match *match, const char *words)
{
    const char *stop = memchr(match->after, '\n', (size_t)(match->end - match->after));

    return kvmig__words_find(match->after, stop ? stop : match->end, words, NULL) != NULL;
}

static bool model(struct kvmig__match *match)
{
    char *name = *match->after == '\'' || *match->after == '"' ? kvmig__words_quoted(match->after, match->end)
                                                               : kvmig__words_word(match->after, match->end);

    kvmig__detail_str(&match->detail, "model", name);
    free(name);
    match->object = on_node(match);
    return true;
}

/* "CPU model X is not supported by hypervisor", and nothing else that is said of models. */
static bool model_refused(struct kvmig__match *match)
{
    return line_has(match, "not supported by hypervisor") && model(match);
}

static bool machine(struct kvmig__match *match)
{
    char *type = kvmig__words_quoted(match->after, match->end);

    kvmig__detail_str(&match->detail, "machine", type);
    free(type);
    match->object = on_node(match);
    return true;
}

/* ---- device state ---- */

/* The device that could not be loaded is named in a line that follows. */
static char *device_after(const struct kvmig__match *match)
{
    const char *after;

    if (kvmig__words_find(match->after, match->end, "of device ", &after))
        return kvmig__words_quoted(after, match->end);
    if (kvmig__words_find(match->after, match->end, "Failed to load ", &after))
        return kvmig__words_word(after, match->end);
    return NULL;
}

static void about_device(struct kvmig__match *match, char *device)
{
    kvmig__detail_str(&match->detail, "device", device);
    match->object = kvmig__asprintf("device/%s", device ? device : "unknown");
    free(device);
}

/* "Features 0x... unsupported. Allowed features: 0x...": bits that the guest has and the target does not allow. */
static bool feature_mask(struct kvmig__match *match)
{
    const char *after, *allowed_at;
    const uint64_t has = kvmig__words_number(match->said->text, match->after, match->end, &after);
    uint64_t allowed, mask;
    struct kvmig__strlist bits = { 0 };
    char *text;

    if (has == UINT64_MAX || !kvmig__words_find(after, match->end, "Allowed features:", &allowed_at))
        return false;
    allowed = kvmig__words_number(match->said->text, allowed_at, match->end, NULL);
    if (allowed == UINT64_MAX)
        return false;
    mask = has & ~allowed;
    text = kvmig__asprintf("0x%" PRIx64, mask);
    kvmig__detail_str(&match->detail, "mask", text);
    free(text);
    for (unsigned bit = 0; bit < 64; bit++) {
        if (mask >> bit & 1) {
            text = kvmig__asprintf("%u", bit);
            kvmig__strlist_add(&bits, text);
            free(text);
        }
    }
    kvmig__detail_list(&match->detail, "bits", &bits);
    kvmig__strlist_clear(&bits);
    about_device(match, device_after(match));
    return true;
}

/* The stream ended: the source went away, or gave up. Nothing is wrong with the device then. */
static bool stream_ended(const struct kvmig__match *match)
{
    const char *after, *stop = match->end - match->after > NEAR ? match->after + NEAR : match->end;

    return kvmig__words_find(match->after, stop, "load of migration failed: ", &after) &&
           (kvmig__words_match(after, match->end, "Input/output error") ||
            kvmig__words_match(after, match->end, "Connection reset") ||
            kvmig__words_match(after, match->end, "Operation canceled") ||
            kvmig__words_match(after, match->end, "Broken pipe"));
}

/* "error while loading state for instance 0x0 of device 'X'": ram has a rule of its own, and a feature mask says more. */
static bool device_state(struct kvmig__match *match)
{
    char *device = kvmig__words_quoted(match->after, match->end);
    char *object = kvmig__asprintf("device/%s", device ? device : "unknown");
    bool told = kvmig__str_eq(device, "ram") || stream_ended(match);

    for (size_t i = 0; i < match->c->findings.n && !told; i++)
        told = kvmig__str_eq(match->c->findings.v[i].code, "DEVICE_STATE_INCOMPATIBLE") &&
               kvmig__str_eq(match->c->findings.v[i].object, object);
    free(object);
    if (told)
        free(device);
    else
        about_device(match, device);
    return !told;
}

/* The same of device 'ram', where no line says which block it is. */
static bool ram_state(struct kvmig__match *match)
{
    char *device = kvmig__words_quoted(match->after, match->end);
    const bool is_ram = kvmig__str_eq(device, "ram");

    free(device);
    if (!is_ram || stream_ended(match) || kvmig__findings_has(&match->c->findings, "RAM_BLOCK_MISMATCH"))
        return false;
    match->object = kvmig__strdup("device/ram");
    return true;
}

/* "error while loading state section id 2(ram)": a later part of the same device. */
static bool part_of_state(struct kvmig__match *match)
{
    const char *open = memchr(match->after, '(', (size_t)(match->end - match->after));
    char *device = open ? kvmig__words_until(open + 1, match->end, ")\n") : NULL;

    if (!device || kvmig__str_eq(device, "ram") || stream_ended(match)) {
        free(device);
        return false;
    }
    about_device(match, device);
    return true;
}

static bool section(struct kvmig__match *match)
{
    char *name = kvmig__words_quoted(match->after, match->end);

    kvmig__detail_str(&match->detail, "section", name);
    match->object = kvmig__asprintf("device/%s", name ? name : "unknown");
    free(name);
    return true;
}

/* "Length mismatch: 0000:00:03.0/virtio-net-pci.rom: 0x40000 in != 0x80000" */
static bool ram_block(struct kvmig__match *match)
{
    const char *begin = match->after, *stop;
    char *block;

    while (begin < match->end && (*begin == ' ' || *begin == '"' || *begin == '\''))
        begin++;
    stop = begin;
    while (stop < match->end && !strchr(" \"'\n", *stop))
        stop++;
    while (stop > begin && (stop[-1] == ':' || stop[-1] == ','))
        stop--;
    block = kvmig__strndup(begin, (size_t)(stop - begin));
    kvmig__detail_str(&match->detail, "block", block);
    match->object = kvmig__strdup("device/ram");
    free(block);
    return true;
}

/* "State blocked by non-migratable CPU device (invtsc flag)" */
static bool cpu_flag(struct kvmig__match *match)
{
    const char *after = match->after;
    char *flag = NULL;

    if (after < match->end && *after == ' ')
        after++;
    if (after < match->end && *after == '(')
        flag = kvmig__words_word(after + 1, match->end);
    kvmig__detail_str(&match->detail, "flag", flag ? flag : "migratable");
    free(flag);
    return true;
}

/* "domain has CPU feature: invtsc" */
static bool cpu_feature(struct kvmig__match *match)
{
    char *flag = kvmig__words_word(match->after, match->end);

    kvmig__detail_str(&match->detail, "flag", flag);
    free(flag);
    return true;
}

static bool flag_invtsc(struct kvmig__match *match)
{
    kvmig__detail_str(&match->detail, "flag", "invtsc");
    return true;
}

/* "cpu_common: incoming version_id 5 is too new for local version_id 4": the name is before it. */
static bool too_new(struct kvmig__match *match)
{
    const char *begin = match->at, *stop;

    while (begin > match->said->text && (begin[-1] == ' ' || begin[-1] == ':'))
        begin--;
    for (stop = begin; begin > match->said->text && !strchr(" \n\"'", begin[-1]);)
        begin--;
    kvmig__detail_str(&match->detail, "reason", "version_id");
    about_device(match, stop > begin ? kvmig__strndup(begin, (size_t)(stop - begin)) : NULL);
    return true;
}

/* "error: failed to set MSR 0x38f to 0x7000000ff" */
static bool msr(struct kvmig__match *match)
{
    char *number = kvmig__words_word(match->after, match->end);

    kvmig__detail_str(&match->detail, "msr", number);
    free(number);
    match->object = kvmig__strdup("device/cpu");
    return true;
}

#define E KVMIG_SEVERITY_ERROR
#define TAKE_ANOTHER "Choose a target that has them, or give the guest a CPU model that all hosts can run."

const struct kvmig__text_rule kvmig__texts_cpu[] = {
    { "missing features:", NULL, "CPU_FEATURE_MISSING", E, NULL, names, "The target lacks CPU features of the guest.",
      TAKE_ANOTHER },
    { "Host CPU does not provide required features:", NULL, "CPU_FEATURE_MISSING", E, NULL, names,
      "The target lacks CPU features of the guest.", TAKE_ANOTHER },
    { "doesn't support requested features", NULL, "CPU_FEATURE_MISSING", E, NULL, requested,
      "The target lacks CPU features of the guest.", TAKE_ANOTHER },
    { "extra features:", NULL, "CPU_FEATURE_EXTRA", E, NULL, names,
      "The target's QEMU adds CPU features that the guest was not started with.",
      "Versions differ, so every host of the target's version answers alike: bring the hosts to one version, or "
      "restart the VM." },
    { "Unknown CPU model ", NULL, "CPU_MODEL_UNSUPPORTED", E, NULL, model, "The target does not know the CPU model.",
      "Choose another target, or a model that it offers." },
    { "unable to find CPU model ", NULL, "CPU_MODEL_UNSUPPORTED", E, NULL, model,
      "The target does not know the CPU model.", "Choose another target, or a model that it offers." },
    { "CPU model ", "not supported by hypervisor", "CPU_MODEL_UNSUPPORTED", E, NULL, model_refused,
      "The target does not offer the CPU model.", "Choose another target, or a model that it offers." },
    { "does not support CPU model ", NULL, "CPU_MODEL_UNSUPPORTED", E, NULL, model,
      "The target does not offer the CPU model.", "Choose another target, or a model that it offers." },
    { "non-migratable CPU device", NULL, "CPU_NON_MIGRATABLE_FLAG", E, NULL, cpu_flag,
      "The guest's CPU has a feature that cannot move.", "Give the guest a fixed TSC frequency, or drop invtsc." },
    { "domain has CPU feature: ", NULL, "CPU_NON_MIGRATABLE_FLAG", E, NULL, cpu_feature,
      "The guest's CPU has a feature that cannot move.", "Give the guest a fixed TSC frequency, or drop invtsc." },
    { "'invtsc' CPU feature but TSC frequency is not specified", NULL, "CPU_NON_MIGRATABLE_FLAG", E, NULL, flag_invtsc,
      "The guest's CPU has a feature that cannot move.", "Give the guest a fixed TSC frequency, or drop invtsc." },
    { "the machine ", "is not supported by emulator", "MACHINE_TYPE_UNSUPPORTED", E, NULL, machine,
      "The target does not offer the machine type.", "Choose a target with a QEMU that offers it." },
    { "does not support machine type ", NULL, "MACHINE_TYPE_UNSUPPORTED", E, NULL, machine,
      "The target does not offer the machine type.", "Choose a target with a QEMU that offers it." },
    { "unsupported machine type", NULL, "MACHINE_TYPE_UNSUPPORTED", E, NULL, machine,
      "The target does not offer the machine type.", "Choose a target with a QEMU that offers it." },
    { "Features ", "Allowed features:", "DEVICE_STATE_INCOMPATIBLE", E, NULL, feature_mask,
      "The guest uses features of a device that the target does not offer.",
      "Compare the versions of both sides, and the features of the host's network card or backend." },
    { "Unknown savevm section or instance ", NULL, "DEVICE_STATE_INCOMPATIBLE", E, NULL, section,
      "The target does not know a part of the guest's state.",
      "The definitions or versions on both sides differ: compare them." },
    { "savevm: unsupported version ", NULL, "DEVICE_STATE_INCOMPATIBLE", E, NULL, section,
      "The target is too old for a part of the guest's state.",
      "Choose a target whose QEMU is as new as the source's." },
    { "incoming version_id ", "is too new for local version_id", "DEVICE_STATE_INCOMPATIBLE", E, NULL, too_new,
      "The target is too old for the state of a device.", "Choose a target whose QEMU is as new as the source's." },
    { "error: failed to set MSR ", NULL, "DEVICE_STATE_INCOMPATIBLE", E, NULL, msr,
      "The target's CPU or kernel does not take a register of the guest.",
      "Compare CPUs, microcode and kernels of both hosts, and what the guest's CPU model offers." },
    { "error while loading state section id ", NULL, "DEVICE_STATE_INCOMPATIBLE", E, NULL, part_of_state,
      "The target could not load the state of a device.", "Compare versions and definitions of both sides." },
    { "error while loading state for instance ", "of device", "DEVICE_STATE_INCOMPATIBLE", E, NULL, device_state,
      "The target could not load the state of a device.", "Compare versions and definitions of both sides." },
    { "Length mismatch: ", NULL, "RAM_BLOCK_MISMATCH", E, NULL, ram_block,
      "A block of memory, usually an option ROM, has another length on the target.",
      "Install the same firmware and ROM packages on both hosts." },
    { "Size mismatch: ", NULL, "RAM_BLOCK_MISMATCH", E, NULL, ram_block,
      "A block of memory, usually an option ROM, has another length on the target.",
      "Install the same firmware and ROM packages on both hosts." },
    { "Unknown ramblock ", NULL, "RAM_BLOCK_MISMATCH", E, NULL, ram_block,
      "The guest has a block of memory that the target does not have.", "Compare the definitions of both sides." },
    { "error while loading state for instance ", "of device", "RAM_BLOCK_MISMATCH", E, NULL, ram_state,
      "The guest's memory could not be loaded: a block of it, usually an option ROM, does not fit.",
      "Install the same firmware and ROM packages on both hosts." },
    { "Unknown savevm section type ", NULL, "STREAM_MISMATCH", E, "target", NULL,
      "What came in to the target is damaged, or of another version.", "Compare the versions of both sides." },
    { "Unknown combination of migration flags", NULL, "STREAM_MISMATCH", E, "target", some_flags,
      "What came in to the target is damaged, or of another version.", "Compare the versions of both sides." },
    { "multifd: received packet magic ", NULL, "STREAM_MISMATCH", E, "target", NULL,
      "A parallel channel carried something else than the target expects.",
      "Have both sides use the same number of connections, or none; compare their versions." },
    { "multifd: received packet version ", NULL, "STREAM_MISMATCH", E, "target", NULL,
      "The two versions of QEMU do not agree about parallel channels.", "Migrate over one connection." },
    { "Not a migration stream", NULL, "STREAM_MISMATCH", E, "target", NULL,
      "What came in to the target was no migration stream.",
      "Something else connected to the port, or both sides disagree about TLS or parallel connections." },
    { "Unsupported migration stream version", NULL, "STREAM_MISMATCH", E, "target", NULL,
      "The target does not understand the migration stream.", "Compare the versions of both sides." },
    { .pattern = NULL },
};
