/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Look-ups over the store of Kubernetes objects (see kube_lookup.h). Decides nothing: what is found still has to be compared.
 * Pure; any thread, as long as nobody else uses the store. Owns its tables; the texts and objects are the store's.
 */
#include "cluster/kube_lookup.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_JOB "kubevirt.io/migrationJobUID"
#define MOST_KEYS 7 /* that one pod is entered under */

/* ---- tables ---- */

/* FNV-1a: the keys are names and UIDs, and an unlucky bucket costs time, not memory. */
static uint32_t hash_of(const char *key)
{
    uint32_t hash = 2166136261u;

    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 16777619u;
    return hash ^ hash >> 15;
}

void kvmig__multimap_add(struct kvmig__multimap *map, const char *key, size_t item)
{
    if (!key || !*key || item >= UINT32_MAX)
        return;
    if (map->n == map->room) {
        map->room = map->room ? map->room * 2 : 64;
        map->v = kvmig__realloc_array(map->v, map->room, sizeof(*map->v));
    }
    map->v[map->n++] = (struct kvmig__multimap_entry){ key, hash_of(key), (uint32_t)item, 0 };
}

void kvmig__multimap_finish(struct kvmig__multimap *map)
{
    map->n_buckets = 16;
    while (map->n_buckets < map->n)
        map->n_buckets *= 2;
    map->buckets = kvmig__calloc(map->n_buckets, sizeof(*map->buckets));
    for (size_t i = map->n; i-- > 0;) { /* backwards, so that each bucket is in the order of addition */
        uint32_t *bucket = &map->buckets[map->v[i].hash & (map->n_buckets - 1)];

        map->v[i].next = *bucket;
        *bucket = (uint32_t)(i + 1);
    }
}

const struct kvmig__multimap_entry *kvmig__multimap_next(const struct kvmig__multimap *map, const char *key,
                                                         const struct kvmig__multimap_entry *at)
{
    uint32_t hash, next;

    if (!key || !map->n_buckets)
        return NULL;
    hash = at ? at->hash : hash_of(key);
    next = at ? at->next : map->buckets[hash & (map->n_buckets - 1)];
    for (; next; next = map->v[next - 1].next) {
        if (map->v[next - 1].hash == hash && !strcmp(map->v[next - 1].key, key))
            return &map->v[next - 1];
    }
    return NULL;
}

void kvmig__multimap_clear(struct kvmig__multimap *map)
{
    free(map->v);
    free(map->buckets);
    *map = (struct kvmig__multimap){ 0 };
}

/* ---- what a pod says about whom it runs ---- */

/* Each text once. */
static size_t keys_of(const struct kvmig__kube_pod *pod, const char *keys[MOST_KEYS])
{
    const char *told[MOST_KEYS] = {
        kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/created-by"),
        kvmig__pairs_get(&pod->meta.annotations, "kubevirt.io/domain"),
        kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/domain"),
        kvmig__pairs_get(&pod->meta.labels, "vmi.kubevirt.io/id"),
    };
    size_t n = 0, known = 4;

    for (size_t i = 0; i < pod->meta.owners.n; i++) {
        if (!kvmig__str_eq(pod->meta.owners.v[i].kind, "VirtualMachineInstance"))
            continue;
        told[known++] = pod->meta.owners.v[i].uid;
        told[known++] = pod->meta.owners.v[i].name;
        break; /* a pod has one VMI; those with more are found by their labels */
    }
    for (size_t i = 0; i < known; i++) {
        bool there = !told[i] || !*told[i];

        for (size_t k = 0; k < n && !there; k++)
            there = !strcmp(keys[k], told[i]);
        if (!there)
            keys[n++] = told[i];
    }
    return n;
}

static bool has_key(const struct kvmig__kube_pod *pod, const char *key)
{
    const char *keys[MOST_KEYS];
    size_t n = keys_of(pod, keys);

    for (size_t i = 0; i < n; i++) {
        if (kvmig__str_eq(keys[i], key))
            return true;
    }
    return false;
}

/* ---- building ---- */

static void enter_pods(struct kvmig__kube_lookup *lookup, const struct kvmig__kube *kube)
{
    KVMIG__KUBE_EACH(kube, POD, pod)
    {
        const char *keys[MOST_KEYS];
        size_t n = kvmig__pod_is_launcher(pod) ? keys_of(pod, keys) : 0;

        for (size_t i = 0; i < n; i++)
            kvmig__multimap_add(&lookup->pods_of_vmi, keys[i], pod_i);
        kvmig__multimap_add(&lookup->pods_of_job, kvmig__pairs_get(&pod->meta.labels, LABEL_JOB), pod_i);
    }
}

void kvmig__kube_lookup_make(struct kvmig__kube *kube)
{
    struct kvmig__kube_lookup *lookup;

    if (kube->lookup)
        return;
    lookup = kvmig__calloc(1, sizeof(*lookup));
    enter_pods(lookup, kube);
    KVMIG__KUBE_EACH(kube, VMIM, vmim)
    {
        kvmig__multimap_add(&lookup->vmims_of_vmi, vmim->vmi, vmim_i);
        kvmig__multimap_add(&lookup->vmims_by_uid, vmim->meta.uid, vmim_i);
    }
    KVMIG__KUBE_EACH(kube, VMI, vmi)
    {
        kvmig__multimap_add(&lookup->vmis_by_uid, vmi->meta.uid, vmi_i);
    }
    KVMIG__KUBE_EACH(kube, NODE, node)
    {
        kvmig__multimap_add(&lookup->nodes, node->meta.name, node_i);
    }
    kvmig__multimap_finish(&lookup->pods_of_vmi);
    kvmig__multimap_finish(&lookup->pods_of_job);
    kvmig__multimap_finish(&lookup->vmims_of_vmi);
    kvmig__multimap_finish(&lookup->vmims_by_uid);
    kvmig__multimap_finish(&lookup->vmis_by_uid);
    kvmig__multimap_finish(&lookup->nodes);
    kube->lookup = lookup;
}

void kvmig__kube_lookup_drop(struct kvmig__kube *kube)
{
    struct kvmig__kube_lookup *lookup = kube->lookup;

    if (!lookup)
        return;
    kube->lookup = NULL;
    if (lookup->planner)
        lookup->planner_free(lookup->planner);
    kvmig__multimap_clear(&lookup->pods_of_vmi);
    kvmig__multimap_clear(&lookup->pods_of_job);
    kvmig__multimap_clear(&lookup->vmims_of_vmi);
    kvmig__multimap_clear(&lookup->vmims_by_uid);
    kvmig__multimap_clear(&lookup->vmis_by_uid);
    kvmig__multimap_clear(&lookup->nodes);
    free(lookup);
}

/* ---- asking ---- */

struct kvmig__pod_cursor kvmig__kube_pods_of(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi)
{
    bool named = vmi->meta.name && *vmi->meta.name;

    return (struct kvmig__pod_cursor){
        .kube = kube, .keys = { vmi->meta.uid && *vmi->meta.uid ? vmi->meta.uid : NULL, named ? vmi->meta.name : NULL }
    };
}

struct kvmig__pod_cursor kvmig__kube_pods_of_job(const struct kvmig__kube *kube, const char *uid)
{
    return (struct kvmig__pod_cursor){ .kube = kube, .keys = { uid, NULL }, .job = true };
}

static const struct kvmig__kube_pod *pod_at(const struct kvmig__pod_cursor *cursor)
{
    return (const struct kvmig__kube_pod *)cursor->kube->kinds[KVMIG__KUBE_POD].v[cursor->entry->item];
}

static const struct kvmig__kube_pod *next_of_job(struct kvmig__pod_cursor *cursor)
{
    cursor->entry = kvmig__multimap_next(&cursor->kube->lookup->pods_of_job, cursor->keys[0], cursor->entry);
    return cursor->entry ? pod_at(cursor) : NULL;
}

static const struct kvmig__kube_pod *next_of_vmi(struct kvmig__pod_cursor *cursor)
{
    for (; cursor->key < 2; cursor->key++, cursor->entry = NULL) {
        for (;;) {
            cursor->entry =
                kvmig__multimap_next(&cursor->kube->lookup->pods_of_vmi, cursor->keys[cursor->key], cursor->entry);
            if (!cursor->entry)
                break;
            if (!cursor->key || !cursor->keys[0] || !has_key(pod_at(cursor), cursor->keys[0]))
                return pod_at(cursor);
        }
    }
    return NULL;
}

const struct kvmig__kube_pod *kvmig__pod_cursor_next(struct kvmig__pod_cursor *cursor)
{
    const struct kvmig__kube_list *pods = &cursor->kube->kinds[KVMIG__KUBE_POD];

    if (!cursor->kube->lookup)
        return cursor->at < pods->n ? (const struct kvmig__kube_pod *)pods->v[cursor->at++] : NULL;
    return cursor->job ? next_of_job(cursor) : next_of_vmi(cursor);
}
