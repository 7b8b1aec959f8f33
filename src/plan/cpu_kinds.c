/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one host or node says about its CPU: a libvirt host by its domain capabilities, a node of KubeVirt by its labels. Does
 * not compare any two. Pure; any thread; what is filled belongs to the caller (kvmig__cpu_kind_clear()).
 */
#include "plan/cpu_common.h"
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

void kvmig__cpu_kind_clear(struct kvmig__cpu_kind *kind)
{
    kvmig__strlist_clear(&kind->nodes);
    free(kind->vendor);
    free(kind->host_model);
    kvmig__strlist_clear(&kind->models);
    kvmig__strlist_clear(&kind->required);
    kvmig__strlist_clear(&kind->features);
    kvmig__strlist_clear(&kind->migration_models);
    memset(kind, 0, sizeof(*kind));
}

/* Every guest of KVM has it, whatever its model. */
static bool is_of_every_guest(const char *feature)
{
    return kvmig__str_eq(feature, "hypervisor");
}

static void add_feature(struct kvmig__strlist *list, const char *feature)
{
    if (feature && *feature && !is_of_every_guest(feature))
        kvmig__strlist_add(list, feature);
}

static void finish(struct kvmig__cpu_kind *kind)
{
    kvmig__strlist_sort(&kind->models);
    kvmig__strlist_sort(&kind->required);
    kvmig__strlist_sort(&kind->features);
    kvmig__strlist_sort(&kind->migration_models);
}

/* The host's features, as its model's contents with what it adds and removes. */
static void expand(struct kvmig__cpu_kind *kind, const struct kvmig__cpu_map *map, const struct kvmig__strlist *removed)
{
    const struct kvmig__cpu_contents *contents = kvmig__cpu_map_find(map, kind->host_model);

    if (!contents)
        return;
    for (size_t i = 0; i < contents->features.n; i++) {
        if (!kvmig__strlist_has(removed, contents->features.v[i]) &&
            !kvmig__strlist_has(&kind->required, contents->features.v[i]))
            add_feature(&kind->features, contents->features.v[i]);
    }
    for (size_t i = 0; i < kind->required.n; i++)
        add_feature(&kind->features, kind->required.v[i]);
    kind->features_known = true;
}

/* ---- libvirt ---- */

/* For guests of KVM on the host's own architecture, if it was asked for these. */
static const struct kvmig__emulator *main_emulator(const struct kvmig__host *host)
{
    const struct kvmig__emulator *best = NULL;
    int best_score = -1;

    for (size_t i = 0; i < host->emulators.n; i++) {
        const struct kvmig__emulator *emulator = &host->emulators.v[i];
        int score = (kvmig__str_eq(emulator->virt_type, "kvm") ? 4 : 0) +
                    (!host->arch || kvmig__str_eq(emulator->arch, host->arch) ? 2 : 0) + (emulator->models.n ? 1 : 0);

        if (score > best_score) {
            best = emulator;
            best_score = score;
        }
    }
    return best;
}

static void read_host_model(const struct kvmig__cpu *cpu, const struct kvmig__cpu_map *map, struct kvmig__cpu_kind *out)
{
    struct kvmig__strlist removed = { 0 };

    out->vendor = kvmig__strdup(cpu->vendor);
    out->host_model = kvmig__strdup(cpu->model);
    for (size_t i = 0; i < cpu->features.n; i++) {
        const struct kvmig__cpu_feature *feature = &cpu->features.v[i];

        if (feature->policy == KVMIG__CPU_REQUIRE || feature->policy == KVMIG__CPU_FORCE)
            add_feature(&out->required, feature->name);
        else if (feature->policy == KVMIG__CPU_DISABLE || feature->policy == KVMIG__CPU_FORBID)
            kvmig__strlist_add_new(&removed, feature->name);
    }
    if (cpu->expanded_known) {
        for (size_t i = 0; i < cpu->expanded.n; i++)
            add_feature(&out->features, cpu->expanded.v[i]);
        out->features_known = true;
    } else {
        expand(out, map, &removed);
    }
    kvmig__strlist_clear(&removed);
}

static bool is_usable(const struct kvmig__emulator *emulator, const char *model)
{
    for (size_t i = 0; i < emulator->models.n; i++) {
        if (kvmig__str_eq(emulator->models.v[i].name, model))
            return emulator->models.v[i].usable;
    }
    return false;
}

/* "Haswell" and "Haswell-v1" are one: the name that older hosts know, too, stands for both. */
static bool has_other_name(const struct kvmig__emulator *emulator, const char *model)
{
    for (size_t i = 0; i < emulator->models.n; i++) {
        if (kvmig__str_eq(emulator->models.v[i].canonical, model) &&
            !kvmig__str_eq(emulator->models.v[i].name, model) && is_usable(emulator, emulator->models.v[i].name))
            return true;
    }
    return false;
}

void kvmig__cpu_kind_of_host(const struct kvmig__host *host, const struct kvmig__cpu_map *map,
                             struct kvmig__cpu_kind *out)
{
    const struct kvmig__emulator *emulator = main_emulator(host);

    kvmig__strlist_add(&out->nodes, host->name);
    if (host->state != KVMIG__HOST_UP)
        out->unknown = "it does not answer";
    else if (!emulator)
        out->unknown = "its domain capabilities are not known";
    else if (!emulator->models.n)
        out->unknown = "its domain capabilities list no CPU models";
    if (out->unknown)
        return;
    for (size_t i = 0; i < emulator->models.n; i++) {
        const struct kvmig__cpu_model *model = &emulator->models.v[i];

        if (model->usable && !has_other_name(emulator, model->name))
            kvmig__strlist_add_new(&out->models, model->name);
    }
    if (emulator->host_model_known)
        read_host_model(&emulator->host_model, map, out);
    finish(out);
}

/* ---- KubeVirt ---- */

static void read_label(struct kvmig__cpu_kind *out, const struct kvmig__pair *label)
{
    const char *model = kvmig__after_prefix(label->key, KVMIG__LABEL_MODEL),
               *migration = kvmig__after_prefix(label->key, KVMIG__LABEL_MODEL_MIGRATION),
               *feature = kvmig__after_prefix(label->key, KVMIG__LABEL_FEATURE),
               *host_model = kvmig__after_prefix(label->key, KVMIG__LABEL_HOST_MODEL),
               *required = kvmig__after_prefix(label->key, KVMIG__LABEL_HOST_FEATURE),
               *vendor = kvmig__after_prefix(label->key, KVMIG__LABEL_VENDOR);

    /* The scheduler asks for the value "true"; the node-labeller writes no other. */
    if (model && kvmig__str_eq(label->value, "true"))
        kvmig__strlist_add_new(&out->models, model);
    if (migration)
        kvmig__strlist_add_new(&out->migration_models, migration);
    if (feature && kvmig__str_eq(label->value, "true"))
        add_feature(&out->features, feature);
    if (required)
        add_feature(&out->required, required);
    if (host_model && !out->host_model)
        out->host_model = kvmig__strdup(host_model);
    if (vendor && !out->vendor)
        out->vendor = kvmig__strdup(vendor);
    out->obsolete = out->obsolete || kvmig__str_eq(label->key, KVMIG__LABEL_OBSOLETE);
}

void kvmig__cpu_kind_of_node(const struct kvmig__kube_node *node, const struct kvmig__cpu_map *map,
                             struct kvmig__cpu_kind *out)
{
    const struct kvmig__strlist none = { 0 };

    kvmig__strlist_add(&out->nodes, node->meta.name);
    if (kvmig__kube_has_label(node, KVMIG__LABEL_MODEL)) {
        for (size_t i = 0; i < node->meta.labels.n; i++)
            read_label(out, &node->meta.labels.v[i]);
        out->features_known = out->features.n > 0;
        if (!out->features_known)
            expand(out, map, &none);
        finish(out);
    } else if (kvmig__str_eq(node->architecture, "arm64")) {
        out->unknown = "nodes of arm64 have no labels for CPU models; guests there have host-passthrough";
    } else {
        out->unknown = "it has no label " KVMIG__LABEL_MODEL "...";
    }
}
