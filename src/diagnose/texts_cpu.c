/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What libvirt and QEMU say of CPUs, machine types, and device state that a target cannot take. Sources: libvirt's cpu_x86.c and
 * qemu_process.c, QEMU's migration/savevm.c, migration/ram.c, hw/virtio/virtio.c. Pure.
 */
#include "diagnose/diagnose.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char *on_node(const struct kvmig__match *match)
{
    return match->c->target ? kvmig__asprintf("node/%s", match->c->target) : NULL;
}

static bool names(struct kvmig__match *match)
{
    struct kvmig__strlist features = { 0 };
    bool any;

    kvmig__words_names(match->after, match->end, &features);
    any = features.n > 0;
    if (any)
        kvmig__detail_list(&match->detail, "features", &features);
    kvmig__strlist_clear(&features);
    match->object = on_node(match);
    return any;
}

static bool model(struct kvmig__match *match)
{
    char *name = kvmig__words_word(match->after, match->end);

    kvmig__detail_str(&match->detail, "model", name);
    free(name);
    match->object = on_node(match);
    return true;
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
    const uint64_t has = kvmig__words_number(match->after, match->end, &after);
    uint64_t allowed, mask;
    struct kvmig__strlist bits = { 0 };
    char *text;

    if (has == UINT64_MAX || !kvmig__words_find(after, match->end, "Allowed features:", &allowed_at))
        return false;
    allowed = kvmig__words_number(allowed_at, match->end, NULL);
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

/* "error while loading state for instance 0x0 of device 'X'": ram has a rule of its own, and a feature mask says more. */
static bool device_state(struct kvmig__match *match)
{
    char *device = kvmig__words_quoted(match->after, match->end);
    const bool is_ram = kvmig__str_eq(device, "ram");
    char *object = kvmig__asprintf("device/%s", device ? device : "unknown");
    bool told = is_ram;

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

static bool flag_invtsc(struct kvmig__match *match)
{
    kvmig__detail_str(&match->detail, "flag", "invtsc");
    return true;
}

#define E KVMIG_SEVERITY_ERROR
#define TAKE_ANOTHER "Choose a target that has them, or give the guest a CPU model that all hosts can run."

const struct kvmig__text_rule kvmig__texts_cpu[] = {
    { "missing features:", NULL, "CPU_FEATURE_MISSING", E, NULL, names, "The target lacks CPU features of the guest.",
      TAKE_ANOTHER },
    { "Host CPU does not provide required features:", NULL, "CPU_FEATURE_MISSING", E, NULL, names,
      "The target lacks CPU features of the guest.", TAKE_ANOTHER },
    { "extra features:", NULL, "CPU_FEATURE_EXTRA", E, NULL, names,
      "The target's QEMU adds CPU features that the guest was not started with.",
      "Versions differ, so every host of the target's version answers alike: bring the hosts to one version, or "
      "restart the VM." },
    { "Unknown CPU model ", NULL, "CPU_MODEL_UNSUPPORTED", E, NULL, model, "The target does not know the CPU model.",
      "Choose another target, or a model that it offers." },
    { "does not support CPU model ", NULL, "CPU_MODEL_UNSUPPORTED", E, NULL, model,
      "The target does not offer the CPU model.", "Choose another target, or a model that it offers." },
    { "non-migratable CPU device", "invtsc", "CPU_NON_MIGRATABLE_FLAG", E, NULL, flag_invtsc,
      "The guest's CPU has a feature that cannot move.", "Give the guest a fixed TSC frequency, or drop invtsc." },
    { "'invtsc' CPU feature but TSC frequency is not specified", NULL, "CPU_NON_MIGRATABLE_FLAG", E, NULL, flag_invtsc,
      "The guest's CPU has a feature that cannot move.", "Give the guest a fixed TSC frequency, or drop invtsc." },
    { "does not support machine type ", NULL, "MACHINE_TYPE_UNSUPPORTED", E, NULL, machine,
      "The target does not offer the machine type.", "Choose a target with a QEMU that offers it." },
    { "unsupported machine type ", NULL, "MACHINE_TYPE_UNSUPPORTED", E, NULL, machine,
      "The target does not offer the machine type.", "Choose a target with a QEMU that offers it." },
    { "Features ", "Allowed features:", "DEVICE_STATE_INCOMPATIBLE", E, NULL, feature_mask,
      "The guest uses features of a device that the target does not offer.",
      "Compare the versions of both sides, and the features of the host's network card or backend." },
    { "Unknown savevm section or instance ", NULL, "DEVICE_STATE_INCOMPATIBLE", E, NULL, section,
      "The target does not know a part of the guest's state.",
      "The definitions or versions on both sides differ: compare them." },
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
    { "Not a migration stream", NULL, "STREAM_MISMATCH", E, "target", NULL,
      "What came in to the target was no migration stream.",
      "Something else connected to the port, or both sides disagree about TLS or parallel connections." },
    { "Unsupported migration stream version", NULL, "STREAM_MISMATCH", E, "target", NULL,
      "The target does not understand the migration stream.", "Compare the versions of both sides." },
    { .pattern = NULL },
};
