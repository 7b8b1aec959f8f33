/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who is where: launchers and VMIs by node, and which of them are on their way. Made in one pass over the store, so that making the
 * hosts of a large cluster does not look at every pod for every node. Pure; borrows from the store and is valid as long as it does
 * not change.
 */
#include "cluster/kube_places.h"

#include <stdlib.h>
#include <string.h>

/* ---- migrations under way ---- */

static int compare_vmi(const void *a, const void *b)
{
    const struct kvmig__kube_move *left = a, *right = b;

    return left->vmi < right->vmi ? -1 : left->vmi > right->vmi;
}

/* Where it goes to: as handed off, or else where its target launcher was scheduled. */
static const char *target_of(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi,
                             const struct kvmig__kube_vmim *vmim)
{
    const struct kvmig__kube_pod *pod;

    if (vmim->meta.uid && kvmig__str_eq(vmim->meta.uid, vmi->migration.uid) && vmi->migration.target_node)
        return vmi->migration.target_node;
    pod = kvmig__kube_target_pod(kube, vmim);
    return pod && !kvmig__pod_is_final(pod) ? pod->node : NULL;
}

static void find_moves(struct kvmig__kube_places *places, const struct kvmig__kube *kube)
{
    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        const struct kvmig__kube_vmi *vmi =
            kvmig__vmim_is_final(vmim) ? NULL : KVMIG__KUBE_FIND(kube, VMI, vmim->meta.ns, vmim->vmi);

        if (vmi && kvmig__kube_vmim_of(kube, vmi) == vmim)
            *KVMIG__PUSH(&places->moves) = (struct kvmig__kube_move){ vmi, vmim, target_of(kube, vmi, vmim) };
    }
    if (places->moves.n)
        qsort(places->moves.v, places->moves.n, sizeof(*places->moves.v), compare_vmi);
}

const struct kvmig__kube_move *kvmig__places_move(const struct kvmig__kube_places *places,
                                                  const struct kvmig__kube_vmi *vmi)
{
    const struct kvmig__kube_move key = { .vmi = vmi };

    return places->moves.n ? bsearch(&key, places->moves.v, places->moves.n, sizeof(key), compare_vmi) : NULL;
}

/* ---- by node ---- */

static int compare_node(const void *a, const void *b)
{
    const struct kvmig__kube_place *left = a, *right = b;

    return strcmp(left->node, right->node);
}

static void add(struct kvmig__kube_places *places, const char *node, const struct kvmig__kube_vmi *vmi,
                const struct kvmig__kube_pod *pod, bool incoming)
{
    if (node)
        *KVMIG__PUSH(&places->all) = (struct kvmig__kube_place){ node, vmi, pod, incoming };
}

void kvmig__places_init(struct kvmig__kube_places *places, const struct kvmig__kube *kube)
{
    *places = (struct kvmig__kube_places){ .kube = kube };
    find_moves(places, kube);
    KVMIG__KUBE_EACH(kube, VMI, vmi)
    {
        add(places, vmi->node, vmi, NULL, false);
    }
    KVMIG__KUBE_EACH(kube, POD, pod)
    {
        if (kvmig__pod_is_launcher(pod) && !kvmig__pod_is_final(pod))
            add(places, pod->node, NULL, pod, false);
    }
    for (size_t i = 0; i < places->moves.n; i++) {
        const struct kvmig__kube_move *move = &places->moves.v[i];

        if (move->vmi->node && !kvmig__str_eq(move->vmi->node, move->target))
            add(places, move->target, move->vmi, NULL, true);
    }
    if (places->all.n)
        qsort(places->all.v, places->all.n, sizeof(*places->all.v), compare_node);
}

void kvmig__places_clear(struct kvmig__kube_places *places)
{
    free(places->moves.v);
    free(places->all.v);
    *places = (struct kvmig__kube_places){ .kube = NULL };
}

const struct kvmig__kube_place *kvmig__places_at(const struct kvmig__kube_places *places, const char *node,
                                                 size_t *out_n)
{
    size_t low = 0, high = places->all.n, end;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (strcmp(places->all.v[middle].node, node) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < places->all.n && kvmig__str_eq(places->all.v[end].node, node); end++)
        continue;
    *out_n = end - low;
    return places->all.v + low;
}
