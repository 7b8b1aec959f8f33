/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Labels that the target launcher asks of its node: the VM's own selector and required node affinity, those of the cluster, and those
 * that follow from the VM's hardware (the CPU's are in kube_cpu.c). Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

#define HOSTNAME "kubernetes.io/hostname"

/* ---- one target ---- */

struct asked {
    struct kvmig__strlist missing, stale; /* "key=value"; keys */
};

static void ask(const struct kvmig__kube_check *c, const char *key, const char *value, struct asked *asked)
{
    char *text;
    bool stale;

    if (!kvmig__kube_lacks(c, key, value, &stale))
        return;
    text = kvmig__asprintf("%s=%s", key, value ? value : "");
    kvmig__strlist_add_new(stale ? &asked->stale : &asked->missing, stale ? key : text);
    free(text);
}

static void ask_all(const struct kvmig__kube_check *c, const struct kvmig__pairs *selector, struct asked *asked)
{
    for (size_t i = 0; i < selector->n; i++)
        ask(c, selector->v[i].key, selector->v[i].value, asked);
}

/* Between architectures nothing moves, unless nodes emulate other ones. */
static void ask_architecture(const struct kvmig__kube_check *c, struct asked *asked)
{
    const char *have = kvmig__pairs_get(&c->target->meta.labels, "kubernetes.io/arch"), *want = c->vmi->architecture;
    char *text;

    if (!have)
        have = c->target->architecture;
    if ((!want || !*want) && c->source)
        want = kvmig__pairs_get(&c->source->meta.labels, "kubernetes.io/arch");
    if (!have || !want || !*want || !strcmp(have, want))
        return;
    if (kvmig__kubevirt_gate(c, "CrossArchitectureVirtualization")) {
        text = kvmig__asprintf("kubevirt.io/vm-arch-%s", want);
        ask(c, text, "true", asked);
        free(text);
        return;
    }
    text = kvmig__asprintf("kubernetes.io/arch=%s", want);
    kvmig__strlist_add(&asked->missing, text);
    free(text);
}

static void ask_hardware(const struct kvmig__kube_check *c, struct asked *asked)
{
    static const struct {
        const char *kind, *label;
    } guards[] = {
        { "sev", "kubevirt.io/sev" },
        { "sevES", "kubevirt.io/sev-es" },
        { "sevSNP", "kubevirt.io/sev-snp" },
        { "tdx", "kubevirt.io/tdx" },
    };

    if (c->vmi->domain.realtime)
        ask(c, "kubevirt.io/realtime", "true", asked);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(guards); i++) {
        if (kvmig__str_eq(c->vmi->domain.launch_security, guards[i].kind))
            ask(c, guards[i].label, "true", asked);
    }
    if (kvmig__kube_has_label(c->source, KVMIG__LABEL_VENDOR) &&
        !kvmig__kube_has_label(c->target, KVMIG__LABEL_VENDOR)) {
        for (size_t i = 0; i < c->source->meta.labels.n; i++) {
            if (kvmig__str_starts(c->source->meta.labels.v[i].key, KVMIG__LABEL_VENDOR))
                ask(c, c->source->meta.labels.v[i].key, c->source->meta.labels.v[i].value, asked);
        }
    }
}

static void read_terms(const struct kvmig__terms *terms, struct kvmig__strlist *keys, struct kvmig__strlist *texts)
{
    for (size_t t = 0; t < terms->n; t++) {
        for (size_t i = 0; i < terms->v[t].n; i++) {
            const struct kvmig__requirement *requirement = &terms->v[t].v[i];
            char *values = kvmig__strlist_join(&requirement->values, ", ");
            char *text = kvmig__asprintf("%s %s%s%s", requirement->key ? requirement->key : "?",
                                         requirement->op ? requirement->op : "?", *values ? " " : "", values);

            kvmig__strlist_add_new(keys, requirement->key);
            kvmig__strlist_add_new(texts, text);
            free(text);
            free(values);
        }
    }
}

static void check_affinity(const struct kvmig__kube_check *c)
{
    const struct kvmig__terms *terms = &c->vmi->placement.node_required;
    struct kvmig__strlist keys = { 0 }, texts = { 0 };
    struct kvmig__detail d = { 0 };

    if (kvmig__terms_hold(terms, &c->target->meta.labels, c->target->meta.name))
        return;
    read_terms(terms, &keys, &texts);
    kvmig__detail_list(&d, "keys", &keys);
    kvmig__detail_list(&d, "requires", &texts);
    kvmig__kube_note(c, "NODE_AFFINITY_MISMATCH", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                     "Choose a node that the VM's affinity admits.",
                     "The VM's required node affinity does not admit node %s.", c->target_name);
    kvmig__strlist_clear(&keys);
    kvmig__strlist_clear(&texts);
}

void kvmig__kube_check_selectors(const struct kvmig__kube_check *c)
{
    struct asked asked = { 0 };
    struct kvmig__detail d = { 0 };
    char *names;

    ask_architecture(c, &asked);
    if (c->kubevirt)
        ask_all(c, &c->kubevirt->node_selectors, &asked);
    ask_all(c, &c->vmi->placement.node_selector, &asked);
    ask_hardware(c, &asked);
    if (asked.missing.n) {
        names = kvmig__strlist_join(&asked.missing, ", ");
        kvmig__detail_list(&d, "labels", &asked.missing);
        kvmig__kube_note(c, "NODE_SELECTOR_MISMATCH", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                         "Choose a node that has them.", "Node %s lacks labels that the VM's launcher asks for: %s.",
                         c->target_name, names);
        free(names);
    }
    if (asked.stale.n)
        kvmig__kube_note_stale(c, &asked.stale);
    check_affinity(c);
    kvmig__strlist_clear(&asked.missing);
    kvmig__strlist_clear(&asked.stale);
}

/* ---- the VM alone: is there any other node for it? ---- */

static void note_pinned(const struct kvmig__kube_check *c, const char *key, const char *value)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "key", key);
    kvmig__detail_str(&d, "value", value);
    kvmig__kube_note(c, "NODE_SELECTOR_PINS_SOURCE", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_vm(c), &d,
                     "Change the VM's nodeSelector or affinity (it takes effect when the VM starts anew).",
                     "The VM's own placement (%s %s) admits only the node that it runs on.", key, value ? value : "");
}

static bool is_on_source(const struct kvmig__kube_check *c, const char *host)
{
    const char *label = c->source ? kvmig__pairs_get(&c->source->meta.labels, HOSTNAME) : NULL;

    return host && kvmig__str_eq(host, label ? label : c->vmi->node);
}

static bool any_other_node(const struct kvmig__kube_check *c, const char *key, const char *value)
{
    KVMIG__KUBE_EACH(c->kube, NODE, node)
    {
        if (!kvmig__str_eq(node->meta.name, c->vmi->node) &&
            kvmig__str_eq(kvmig__pairs_get(&node->meta.labels, key), value))
            return true;
    }
    return false;
}

static bool has_other_nodes(const struct kvmig__kube_check *c)
{
    KVMIG__KUBE_EACH(c->kube, NODE, node)
    {
        if (!kvmig__str_eq(node->meta.name, c->vmi->node))
            return true;
    }
    return false;
}

static void check_selector_pins(const struct kvmig__kube_check *c)
{
    const struct kvmig__pairs *selector = &c->vmi->placement.node_selector;

    for (size_t i = 0; i < selector->n; i++) {
        const char *key = selector->v[i].key, *value = selector->v[i].value;
        bool met = c->source && kvmig__str_eq(kvmig__pairs_get(&c->source->meta.labels, key), value);

        if (kvmig__str_eq(key, HOSTNAME) ? is_on_source(c, value)
                                         : met && has_other_nodes(c) && !any_other_node(c, key, value))
            note_pinned(c, key, value);
    }
}

/* The one value that the term allows for the node's own name; NULL if it says nothing of the kind. */
static const char *host_of_term(const struct kvmig__term *term)
{
    for (size_t i = 0; i < term->n; i++) {
        const struct kvmig__requirement *requirement = &term->v[i];

        if (kvmig__str_eq(requirement->op, "In") && requirement->values.n == 1 &&
            (requirement->is_field || kvmig__str_eq(requirement->key, HOSTNAME)))
            return requirement->values.v[0];
    }
    return NULL;
}

static bool admits_other(const struct kvmig__kube_check *c, const struct kvmig__terms *terms)
{
    KVMIG__KUBE_EACH(c->kube, NODE, node)
    {
        if (!kvmig__str_eq(node->meta.name, c->vmi->node) &&
            kvmig__terms_hold(terms, &node->meta.labels, node->meta.name))
            return true;
    }
    return false;
}

static void check_affinity_pins(const struct kvmig__kube_check *c)
{
    const struct kvmig__terms *terms = &c->vmi->placement.node_required;
    bool by_name = terms->n, by_label;
    char *value;

    for (size_t i = 0; i < terms->n; i++)
        by_name = by_name && is_on_source(c, host_of_term(&terms->v[i]));
    by_label = terms->n && has_other_nodes(c) && c->source &&
               kvmig__terms_hold(terms, &c->source->meta.labels, c->source->meta.name) && !admits_other(c, terms);
    if (!by_name && !by_label)
        return;
    value = terms->v[0].n ? kvmig__strlist_join(&terms->v[0].v[0].values, ", ") : NULL;
    note_pinned(c, by_name ? HOSTNAME : (terms->v[0].n && terms->v[0].v[0].key ? terms->v[0].v[0].key : "affinity"),
                by_name ? c->vmi->node : value);
    free(value);
}

void kvmig__kube_check_pins(const struct kvmig__kube_check *c)
{
    check_selector_pins(c);
    check_affinity_pins(c);
}
