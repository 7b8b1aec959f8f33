/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What else of the guest's hardware a target node must offer: the frequency of its time stamp counter, Hyper-V enlightenments, the
 * machine type. Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_TSC "cpu-timer.node.kubevirt.io/tsc-frequency"
#define LABEL_TSC_SCALABLE "cpu-timer.node.kubevirt.io/tsc-scalable"
#define LABEL_TSC_SERVED "scheduling.node.kubevirt.io/tsc-frequency-"
#define TOLERANCE_PPM 250

/* ---- time stamp counter ---- */

static bool requires_feature(const struct kvmig__kube_vmi *vmi, const char *name)
{
    for (size_t i = 0; i < vmi->domain.cpu_features.n; i++) {
        const struct kvmig__kube_feature *feature = &vmi->domain.cpu_features.v[i];

        if (kvmig__str_eq(feature->name, name) &&
            (!feature->policy || !*feature->policy || !strcmp(feature->policy, "require")))
            return true;
    }
    return false;
}

/* Only such VMs are bound to their frequency. */
static bool is_pinned(const struct kvmig__kube_vmi *vmi)
{
    return vmi->tsc_frequency_hz &&
           (requires_feature(vmi, "invtsc") || kvmig__strlist_has(&vmi->domain.hyperv, "reenlightenment"));
}

static bool is_near(uint64_t have, uint64_t want)
{
    uint64_t off = have > want ? have - want : want - have;

    return off <= want / 1000000 * TOLERANCE_PPM + want % 1000000 * TOLERANCE_PPM / 1000000;
}

static bool serves(const struct kvmig__kube_node *node, uint64_t want, uint64_t *out_have)
{
    char *key = kvmig__asprintf("%s%" PRIu64, LABEL_TSC_SERVED, want);
    const char *served = kvmig__pairs_get(&node->meta.labels, key);
    const char *text = kvmig__pairs_get(&node->meta.labels, LABEL_TSC);
    bool scalable = kvmig__str_eq(kvmig__pairs_get(&node->meta.labels, LABEL_TSC_SCALABLE), "true");

    free(key);
    *out_have = text ? strtoull(text, NULL, 10) : 0;
    return kvmig__str_eq(served, "true") || is_near(*out_have, want) || (scalable && *out_have >= want);
}

static void check_tsc(const struct kvmig__kube_check *c)
{
    uint64_t want = c->vmi->tsc_frequency_hz, have;
    struct kvmig__detail d = { 0 };

    if (!is_pinned(c->vmi) || serves(c->target, want, &have))
        return;
    if (!have && (!c->source || !kvmig__pairs_get(&c->source->meta.labels, LABEL_TSC)))
        return; /* nobody told frequencies */
    kvmig__detail_uint(&d, "wanted_hz", want);
    if (have)
        kvmig__detail_uint(&d, "present_hz", have);
    kvmig__kube_note(c, "TSC_FREQUENCY_MISMATCH", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                     "Choose a node with that frequency, or one that can scale down to it.",
                     "The guest's TSC is pinned to %" PRIu64 " Hz; node %s runs at %" PRIu64
                     " Hz and cannot offer that.",
                     want, c->target_name, have);
}

/* ---- Hyper-V ---- */

static void check_hyperv(const struct kvmig__kube_check *c)
{
    static const char *const labelled[] = { "vpindex",     "runtime",         "reset",    "synic", "synictimer",
                                            "frequencies", "reenlightenment", "tlbflush", "ipi" };
    struct kvmig__strlist missing = { 0 };
    struct kvmig__detail d = { 0 };
    bool stale;

    if (!kvmig__kubevirt_gate(c, "HypervStrictCheck"))
        return;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(labelled); i++) {
        char *key = kvmig__asprintf("%s%s", KVMIG__LABEL_HYPERV, labelled[i]);

        if (kvmig__strlist_has(&c->vmi->domain.hyperv, labelled[i]) && kvmig__kube_lacks(c, key, "true", &stale))
            kvmig__strlist_add(&missing, key);
        free(key);
    }
    if (kvmig__strlist_has(&c->vmi->domain.hyperv, "evmcs") &&
        kvmig__kube_lacks(c, KVMIG__LABEL_VENDOR "Intel", "true", &stale))
        kvmig__strlist_add(&missing, KVMIG__LABEL_VENDOR "Intel");
    if (missing.n) {
        kvmig__detail_list(&d, "keys", &missing);
        kvmig__kube_note(c, "NODE_SELECTOR_MISMATCH", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                         "Choose a node whose kernel offers them.",
                         "Node %s does not offer Hyper-V enlightenments that the VM uses (%s first).", c->target_name,
                         missing.v[0]);
    }
    kvmig__strlist_clear(&missing);
}

/* ---- machine type ---- */

/* "q35" names no hardware in particular: only the running guest's own, versioned name can be looked up. */
static bool is_alias(const char *machine)
{
    return !strchr(machine, '.');
}

static void note_machine(const struct kvmig__kube_check *c, const char *machine)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "type", machine);
    if (is_alias(machine))
        kvmig__kube_note(c, "MACHINE_TYPE_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__kube_object_target(c), &d, NULL,
                         "Which machine type %s stands for is not told, so node %s cannot be judged.", machine,
                         c->target_name);
    else
        kvmig__kube_note(c, "MACHINE_TYPE_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                         "Choose a node whose QEMU has it, or restart the VM with a machine type that all have.",
                         "Node %s does not offer the machine type %s.", c->target_name, machine);
}

static void check_machine(const struct kvmig__kube_check *c)
{
    const char *machine = c->vmi->machine && *c->vmi->machine ? c->vmi->machine : c->vmi->domain.machine;
    struct kvmig__strlist stale = { 0 };
    bool is_stale;
    char *key;

    /* nodes have these labels since 1.6 */
    if (!machine || !*machine ||
        (!kvmig__kube_has_label(c->target, KVMIG__LABEL_MACHINE) &&
         !kvmig__kube_has_label(c->source, KVMIG__LABEL_MACHINE)))
        return;
    key = kvmig__asprintf("%s%s", KVMIG__LABEL_MACHINE, machine);
    if (kvmig__kube_lacks(c, key, "true", &is_stale)) {
        note_machine(c, machine); /* this label tells what QEMU offers, whoever has lost it */
        if (is_stale) {
            kvmig__strlist_add(&stale, key);
            kvmig__kube_note_stale(c, &stale);
        }
    }
    kvmig__strlist_clear(&stale);
    free(key);
}

void kvmig__kube_check_clock(const struct kvmig__kube_check *c)
{
    check_tsc(c);
    check_hyperv(c);
    check_machine(c);
}
