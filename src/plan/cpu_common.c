/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compares the CPUs of a set of nodes (cpu_common.h). Nodes that say the same are one kind, so that the work grows with the
 * kinds of hardware and not with the nodes. Nothing is concluded of a node that tells nothing: it is named, and left out.
 * Pure; any thread; the answer belongs to the caller.
 */
#include "plan/cpu_common.h"
#include "cluster/kube.h"

#include <stdlib.h>
#include <string.h>

/* ---- what models contain ---- */

static int compare_contents(const void *a, const void *b)
{
    return strcmp(((const struct kvmig__cpu_contents *)a)->model, ((const struct kvmig__cpu_contents *)b)->model);
}

void kvmig__cpu_map_sort(struct kvmig__cpu_map *map)
{
    if (map->n)
        qsort(map->v, map->n, sizeof(*map->v), compare_contents);
    for (size_t i = 0; i < map->n; i++)
        kvmig__strlist_sort(&map->v[i].features);
}

/* The first version of a model is the model as it was before models had versions. */
const struct kvmig__cpu_contents *kvmig__cpu_map_find(const struct kvmig__cpu_map *map, const char *model)
{
    struct kvmig__cpu_contents key = { .model = (char *)model }, *found;

    if (!model || !map->n)
        return NULL;
    found = bsearch(&key, map->v, map->n, sizeof(*map->v), compare_contents);
    if (found || !kvmig__str_ends(model, "-v1"))
        return found;
    key.model = kvmig__strndup(model, strlen(model) - strlen("-v1"));
    found = bsearch(&key, map->v, map->n, sizeof(*map->v), compare_contents);
    free(key.model);
    return found;
}

void kvmig__cpu_map_clear(struct kvmig__cpu_map *map)
{
    for (size_t i = 0; i < map->n; i++) {
        free(map->v[i].model);
        free(map->v[i].vendor);
        kvmig__strlist_clear(&map->v[i].features);
    }
    free(map->v);
    *map = (struct kvmig__cpu_map){ NULL, 0 };
}

/* ---- sorted lists ---- */

static bool is_equal(const struct kvmig__strlist *a, const struct kvmig__strlist *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (strcmp(a->v[i], b->v[i]) != 0)
            return false;
    }
    return true;
}

/* Adds what is in a and, as `in_b` says, in b or not in b. */
static void select_from(const struct kvmig__strlist *a, const struct kvmig__strlist *b, bool in_b,
                        struct kvmig__strlist *out)
{
    size_t k = 0;

    for (size_t i = 0; i < a->n; i++) {
        while (k < b->n && strcmp(b->v[k], a->v[i]) < 0)
            k++;
        if ((k < b->n && strcmp(b->v[k], a->v[i]) == 0) == in_b)
            kvmig__strlist_add(out, a->v[i]);
    }
}

static bool has_details_of_vmx(const struct kvmig__strlist *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (kvmig__str_starts(list->v[i], "vmx-"))
            return true;
    }
    return false;
}

/* What a has and b lacks. Details of nested virtualisation count only if both tell them: libvirt before 9.10 knows none. */
static void subtract(const struct kvmig__strlist *a, const struct kvmig__strlist *b, struct kvmig__strlist *out)
{
    const bool all = has_details_of_vmx(b);
    struct kvmig__strlist difference = { 0 };

    select_from(a, b, false, &difference);
    for (size_t i = 0; i < difference.n; i++) {
        if (all || !kvmig__str_starts(difference.v[i], "vmx-"))
            kvmig__strlist_add(out, difference.v[i]);
    }
    kvmig__strlist_clear(&difference);
}

static void intersect(struct kvmig__strlist *a, const struct kvmig__strlist *b)
{
    struct kvmig__strlist both = { 0 };

    select_from(a, b, true, &both);
    kvmig__strlist_clear(a);
    *a = both;
}

/* ---- kinds ---- */

/* Each is compared with each, and clusters have a handful. Labels can make every node its own, and then none of it would help. */
#define MOST_KINDS 64
#define TOO_MANY "there are more kinds of CPUs than are compared at once"

static bool is_alike(const struct kvmig__cpu_kind *a, const struct kvmig__cpu_kind *b)
{
    return a->unknown == b->unknown && a->features_known == b->features_known && a->obsolete == b->obsolete &&
           kvmig__str_eq(a->vendor, b->vendor) && kvmig__str_eq(a->host_model, b->host_model) &&
           is_equal(&a->models, &b->models) && is_equal(&a->required, &b->required) &&
           is_equal(&a->features, &b->features) && is_equal(&a->migration_models, &b->migration_models);
}

static struct kvmig__cpu_kind *find_alike(const struct kvmig__cpu_common *common, const struct kvmig__cpu_kind *kind)
{
    for (size_t i = 0; i < common->kinds.n; i++) {
        if (is_alike(&common->kinds.v[i], kind))
            return &common->kinds.v[i];
    }
    return NULL;
}

/* All that is left of it is the node's name. */
static void leave_out(struct kvmig__cpu_kind *kind)
{
    const struct kvmig__strlist nodes = kind->nodes;

    kind->nodes = (struct kvmig__strlist){ 0 };
    kvmig__cpu_kind_clear(kind);
    kind->nodes = nodes;
    kind->unknown = TOO_MANY;
}

/* Takes kind. */
static void add_kind(struct kvmig__cpu_common *out, struct kvmig__cpu_kind *kind)
{
    struct kvmig__cpu_kind *alike = find_alike(out, kind);

    if (!alike && !kind->unknown && out->kinds.n >= MOST_KINDS) {
        leave_out(kind);
        alike = find_alike(out, kind);
    }
    if (alike) {
        kvmig__strlist_add_new(&alike->nodes, kind->nodes.v[0]);
        kvmig__cpu_kind_clear(kind);
        return;
    }
    *KVMIG__PUSH(&out->kinds) = *kind;
}

bool kvmig__cpu_common_is_kube(const struct kvmig__view *view)
{
    return view->kube && (view->kube->kinds[KVMIG__KUBE_NODE].n || !view->hosts.n);
}

static void collect_nodes(const struct kvmig__kube *kube, const struct kvmig__strlist *names,
                          const struct kvmig__cpu_map *map, struct kvmig__cpu_common *out)
{
    KVMIG__KUBE_EACH(kube, NODE, node)
    {
        struct kvmig__cpu_kind kind = { 0 };

        if (names->n && !kvmig__strlist_has(names, node->meta.name))
            continue;
        kvmig__cpu_kind_of_node(node, map, &kind);
        add_kind(out, &kind);
    }
}

static void collect_hosts(const struct kvmig__view *view, const struct kvmig__strlist *names,
                          const struct kvmig__cpu_map *map, struct kvmig__cpu_common *out)
{
    for (size_t i = 0; i < view->hosts.n; i++) {
        const struct kvmig__host *host = view->hosts.v[i];
        struct kvmig__cpu_kind kind = { 0 };
        bool named = !names->n;

        for (size_t k = 0; k < names->n && !named; k++)
            named = kvmig__view_find_host(view, names->v[k]) == host;
        if (!named)
            continue;
        kvmig__cpu_kind_of_host(host, map, &kind);
        add_kind(out, &kind);
    }
}

/* ---- models ---- */

static void fill_lost(struct kvmig__cpu_choice *choice, const struct kvmig__cpu_kind *kind, struct kvmig__cpu_lost *out)
{
    if (kind->unknown)
        return;
    if (choice->contents && kind->features_known) {
        subtract(&kind->features, &choice->contents->features, &out->features);
        out->known = true;
    } else if (kvmig__str_eq(choice->model, kind->host_model)) {
        kvmig__strlist_copy(&out->features, &kind->required); /* all that the host adds to it */
        out->known = true;
    }
    choice->n_lost += out->known ? out->features.n * kind->nodes.n : 0;
}

static void add_choice(struct kvmig__cpu_common *out, const char *model, const struct kvmig__cpu_map *map)
{
    struct kvmig__cpu_choice *choice = KVMIG__PUSH(&out->choices);

    choice->model = kvmig__strdup(model);
    choice->contents = kvmig__cpu_map_find(map, model);
    choice->lost = kvmig__calloc(out->kinds.n, sizeof(*choice->lost));
    for (size_t i = 0; i < out->kinds.n; i++)
        fill_lost(choice, &out->kinds.v[i], &choice->lost[i]);
    if (choice->contents && out->common_known)
        subtract(&out->common, &choice->contents->features, &choice->can_add);
}

static size_t count_unknown(const struct kvmig__cpu_choice *choice, size_t n)
{
    size_t unknown = 0;

    for (size_t i = 0; i < n; i++)
        unknown += !choice->lost[i].known;
    return unknown;
}

static bool comes_before(const struct kvmig__cpu_choice *a, const struct kvmig__cpu_choice *b, size_t n_kinds)
{
    size_t unknown_a = count_unknown(a, n_kinds), unknown_b = count_unknown(b, n_kinds);

    if (unknown_a != unknown_b)
        return unknown_a < unknown_b;
    return a->n_lost != b->n_lost ? a->n_lost < b->n_lost : strcmp(a->model, b->model) < 0;
}

static void sort_choices(struct kvmig__cpu_common *out)
{
    for (size_t i = 1; i < out->choices.n; i++) {
        struct kvmig__cpu_choice moved = out->choices.v[i];
        size_t k = i;

        for (; k > 0 && comes_before(&moved, &out->choices.v[k - 1], out->kinds.n); k--)
            out->choices.v[k] = out->choices.v[k - 1];
        out->choices.v[k] = moved;
    }
}

static void choose(struct kvmig__cpu_common *out, const struct kvmig__cpu_map *map)
{
    struct kvmig__strlist models = { 0 };
    bool any = false;

    out->common_known = true;
    for (size_t i = 0; i < out->kinds.n; i++) {
        const struct kvmig__cpu_kind *kind = &out->kinds.v[i];

        if (kind->unknown)
            continue;
        if (any) {
            intersect(&models, &kind->models);
            intersect(&out->common, &kind->features);
        } else {
            kvmig__strlist_copy(&models, &kind->models);
            kvmig__strlist_copy(&out->common, &kind->features);
        }
        any = true;
        out->common_known = out->common_known && kind->features_known;
    }
    out->common_known = out->common_known && any;
    if (!out->common_known)
        kvmig__strlist_clear(&out->common);
    for (size_t i = 0; i < models.n; i++)
        add_choice(out, models.v[i], map);
    sort_choices(out);
    kvmig__strlist_clear(&models);
}

/* ---- guests with the host's own model ---- */

/* KubeVirt asks for what the host's model has beyond its name, and for a label of the name; libvirt compares it all. */
static void judge_move(const struct kvmig__cpu_kind *from, const struct kvmig__cpu_kind *to, bool kube,
                       struct kvmig__cpu_move *out)
{
    out->known = from->host_model && to->features_known && (kube || from->features_known);
    if (!out->known)
        return;
    subtract(kube ? &from->required : &from->features, &to->features, &out->lacking);
    out->obsolete = to->obsolete;
    out->model_missing = kube && to->migration_models.n && !kvmig__strlist_has(&to->migration_models, from->host_model);
}

static void judge_moves(struct kvmig__cpu_common *out, bool kube)
{
    for (size_t from = 0; from < out->kinds.n; from++) {
        for (size_t to = 0; to < out->kinds.n; to++) {
            const struct kvmig__cpu_kind *a = &out->kinds.v[from], *b = &out->kinds.v[to];

            if (a->unknown || b->unknown || (from == to && !a->obsolete))
                continue;
            *KVMIG__PUSH(&out->moves) = (struct kvmig__cpu_move){ .from = from, .to = to };
            judge_move(a, b, kube, &out->moves.v[out->moves.n - 1]);
        }
    }
}

void kvmig__cpu_common_make(const struct kvmig__view *view, const struct kvmig__strlist *nodes,
                            const struct kvmig__cpu_map *map, struct kvmig__cpu_common *out)
{
    const bool kube = kvmig__cpu_common_is_kube(view);

    if (kube)
        collect_nodes(view->kube, nodes, map, out);
    else
        collect_hosts(view, nodes, map, out);
    choose(out, map);
    judge_moves(out, kube);
}

void kvmig__cpu_common_clear(struct kvmig__cpu_common *common)
{
    for (size_t i = 0; i < common->choices.n; i++) {
        struct kvmig__cpu_choice *choice = &common->choices.v[i];

        free(choice->model);
        for (size_t k = 0; k < common->kinds.n; k++)
            kvmig__strlist_clear(&choice->lost[k].features);
        free(choice->lost);
        kvmig__strlist_clear(&choice->can_add);
    }
    for (size_t i = 0; i < common->moves.n; i++)
        kvmig__strlist_clear(&common->moves.v[i].lacking);
    for (size_t i = 0; i < common->kinds.n; i++)
        kvmig__cpu_kind_clear(&common->kinds.v[i]);
    free(common->choices.v);
    free(common->moves.v);
    free(common->kinds.v);
    kvmig__strlist_clear(&common->common);
    memset(common, 0, sizeof(*common));
}
