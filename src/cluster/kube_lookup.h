/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Look-ups over the store of Kubernetes objects: which pods are said to run a VMI, which belong to a migration, which migrations
 * a VMI has. Made for one planning, or kept beside a store that stays as it is for a while; the first change of the store drops
 * it. Pure data; whoever may read the store may build it, as long as nobody else reads or changes the store meanwhile.
 */
#ifndef KVMIG_SRC_KUBE_LOOKUP_H
#define KVMIG_SRC_KUBE_LOOKUP_H

#include "cluster/kube.h"

/* Texts to numbers; a text may stand for several. Texts are borrowed. */
struct kvmig__multimap {
    struct kvmig__multimap_entry {
        const char *key;
        uint32_t hash, item, next; /* next: 1 + index of the entry behind it in its bucket */
    } * v;
    size_t n, room;
    uint32_t *buckets;
    size_t n_buckets; /* a power of two; 0 = not finished */
};
void kvmig__multimap_add(struct kvmig__multimap *map, const char *key, size_t item); /* NULL and "" are left out */
void kvmig__multimap_finish(struct kvmig__multimap *map); /* after the last addition, before the first search */
/* The entry of that key behind at (NULL = the first), in the order of addition; NULL = no more. */
const struct kvmig__multimap_entry *kvmig__multimap_next(const struct kvmig__multimap *map, const char *key,
                                                         const struct kvmig__multimap_entry *at);
void kvmig__multimap_clear(struct kvmig__multimap *map);

struct kvmig__kube_lookup {
    struct kvmig__multimap pods_of_vmi, pods_of_job, vmims_of_vmi, vmims_by_uid, vmis_by_uid, nodes;
    void *planner; /* what the planner keeps here (plan/kube_base.c) */
    void (*planner_free)(void *planner);
};
/* Builds it unless it is there. The caller drops it, unless the store keeps it (kube->keeps_lookup). */
void kvmig__kube_lookup_make(struct kvmig__kube *kube);
void kvmig__kube_lookup_drop(struct kvmig__kube *kube);

/* Pods that may be of a VMI: with a look-up those that mention its UID or name, else all. Each pod once, in the store's order
 * per key. */
struct kvmig__pod_cursor {
    const struct kvmig__kube *kube;
    const char *keys[2];
    size_t key, at;
    bool job; /* keys[0] is the UID of a migration */
    const struct kvmig__multimap_entry *entry;
};
struct kvmig__pod_cursor kvmig__kube_pods_of(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi);
/* Pods of a migration, by its UID. */
struct kvmig__pod_cursor kvmig__kube_pods_of_job(const struct kvmig__kube *kube, const char *uid);
const struct kvmig__kube_pod *kvmig__pod_cursor_next(struct kvmig__pod_cursor *cursor); /* NULL = no more */

#endif
