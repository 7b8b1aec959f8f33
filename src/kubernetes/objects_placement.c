/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Descriptions of what decides where a pod or VMI may run: node selectors, affinity, tolerations, spreading. Only
 * what is required is read; preferences do not decide. Any thread; see objects_io.h for directions and ownership.
 *
 * Where Kubernetes says that an absent or empty selector selects nothing, the term gets one requirement that never
 * holds: In no values at all.
 */
#include "kubernetes/objects_io.h"

#include <stdlib.h>
#include <string.h>

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

static bool is_never(const struct kvmig__term *term)
{
    return term->n == 1 && kvmig__str_eq(term->v[0].key, "") && kvmig__str_eq(term->v[0].op, "In") &&
           !term->v[0].values.n && !term->v[0].is_field;
}

static void add_never(struct kvmig__term *term)
{
    struct kvmig__requirement *requirement = KVMIG__PUSH(term);

    requirement->key = kvmig__strdup("");
    requirement->op = kvmig__strdup("In");
}

static void visit_requirement(struct kvmig__io *io, struct kvmig__requirement *requirement)
{
    kvmig__io_str(io, "key", &requirement->key);
    kvmig__io_str(io, "operator", &requirement->op);
    kvmig__io_strlist(io, "values", &requirement->values);
}

static bool visit_expression(struct kvmig__io *io, void *element)
{
    struct kvmig__requirement *requirement = element;

    if (io->encode && requirement->is_field)
        return false;
    visit_requirement(io, requirement);
    return true;
}

static bool visit_field(struct kvmig__io *io, void *element)
{
    struct kvmig__requirement *requirement = element;

    if (io->encode && !requirement->is_field)
        return false;
    requirement->is_field = true;
    visit_requirement(io, requirement);
    return true;
}

/* ---- node affinity ---- */

static bool visit_node_term(struct kvmig__io *io, void *element)
{
    struct kvmig__term *term = element;

    if (io->encode && is_never(term))
        return true;
    KVMIG__IO_LIST(io, "matchExpressions", term, visit_expression);
    KVMIG__IO_LIST(io, "matchFields", term, visit_field);
    if (!io->encode && !term->n)
        add_never(term);
    return true;
}

void kvmig__visit_terms(struct kvmig__io *io, const char *key, struct kvmig__terms *terms)
{
    kvmig__io_begin(io, key);
    KVMIG__IO_LIST(io, "nodeSelectorTerms", terms, visit_node_term);
    kvmig__io_end(io);
}

/* ---- label selectors ---- */

static void read_match_labels(struct kvmig__io *io, struct kvmig__term *term)
{
    struct kvmig__pairs labels = { 0 };

    kvmig__io_pairs(io, "matchLabels", &labels);
    for (size_t i = 0; i < labels.n; i++) {
        struct kvmig__requirement *requirement = KVMIG__PUSH(term);

        requirement->key = kvmig__strdup(labels.v[i].key);
        requirement->op = kvmig__strdup("In");
        kvmig__strlist_add(&requirement->values, labels.v[i].value);
    }
    kvmig__pairs_clear(&labels);
}

static void visit_selector(struct kvmig__io *io, const char *key, struct kvmig__term *term)
{
    kvmig__io_begin(io, key);
    if (!io->encode)
        read_match_labels(io, term);
    KVMIG__IO_LIST(io, "matchExpressions", term, visit_expression);
    kvmig__io_end(io);
}

static void visit_label_selector(struct kvmig__io *io, struct kvmig__term *term)
{
    bool there = !is_never(term);

    kvmig__io_present(io, "labelSelector", &there);
    if (there)
        visit_selector(io, "labelSelector", term);
    else if (!io->encode)
        add_never(term);
}

static bool visit_pod_term(struct kvmig__io *io, void *element)
{
    struct kvmig__pod_term *term = element;

    visit_label_selector(io, &term->selector);
    kvmig__io_strlist(io, "namespaces", &term->namespaces);
    kvmig__io_present(io, "namespaceSelector", &term->has_namespace_selector);
    visit_selector(io, "namespaceSelector", &term->namespace_selector);
    kvmig__io_str(io, "topologyKey", &term->topology_key);
    return true;
}

static void visit_pod_terms(struct kvmig__io *io, const char *key, struct kvmig__pod_terms *terms)
{
    kvmig__io_begin(io, key);
    KVMIG__IO_LIST(io, REQUIRED, terms, visit_pod_term);
    kvmig__io_end(io);
}

/* ---- the rest ---- */

static bool visit_toleration(struct kvmig__io *io, void *element)
{
    struct kvmig__toleration *toleration = element;

    kvmig__io_str(io, "key", &toleration->key);
    kvmig__io_str(io, "operator", &toleration->op);
    kvmig__io_str(io, "value", &toleration->value);
    kvmig__io_str(io, "effect", &toleration->effect);
    return true;
}

static bool visit_spread(struct kvmig__io *io, void *element)
{
    struct kvmig__spread *spread = element;
    char *otherwise = kvmig__strdup("DoNotSchedule");
    bool required;

    kvmig__io_str(io, "whenUnsatisfiable", &otherwise);
    required = kvmig__str_eq(otherwise, "DoNotSchedule");
    free(otherwise);
    if (!required)
        return false;
    kvmig__io_str(io, "topologyKey", &spread->topology_key);
    kvmig__io_u32(io, "maxSkew", &spread->max_skew);
    visit_label_selector(io, &spread->selector);
    return true;
}

void kvmig__visit_placement(struct kvmig__io *io, struct kvmig__placement *placement)
{
    kvmig__io_pairs(io, "nodeSelector", &placement->node_selector);
    kvmig__io_begin(io, "affinity");
    kvmig__io_begin(io, "nodeAffinity");
    kvmig__visit_terms(io, REQUIRED, &placement->node_required);
    kvmig__io_end(io);
    visit_pod_terms(io, "podAffinity", &placement->pod_required);
    visit_pod_terms(io, "podAntiAffinity", &placement->pod_forbidden);
    kvmig__io_end(io);
    KVMIG__IO_LIST(io, "tolerations", &placement->tolerations, visit_toleration);
    KVMIG__IO_LIST(io, "topologySpreadConstraints", &placement->spread, visit_spread);
}
