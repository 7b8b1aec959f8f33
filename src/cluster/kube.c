/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The store of Kubernetes objects: the kinds, putting, removing, finding. Pure: no handle, lock, clock, JSON; any thread, as long
 * as the caller keeps others from changing the same store. It does not read objects (src/kubernetes) and concludes nothing from
 * them (kube_ask.c). The store owns what is put into it; finders lend.
 */
#include "cluster/kube_lookup.h"

#include <stdlib.h>
#include <string.h>

/* ---- kinds ---- */

static const struct kvmig__kube_kind_info kinds[KVMIG__N_KUBE_KINDS] = {
#define X(NAME, kind_name, api, plural_name, is_namespaced, type)                                                      \
    [KVMIG__KUBE_##NAME] = { .kind = kind_name,                                                                        \
                             .api_version = api,                                                                       \
                             .plural = plural_name,                                                                    \
                             .namespaced = is_namespaced,                                                              \
                             .size = sizeof(struct type) },
    KVMIG__KUBE_KINDS(X)
#undef X
};

const struct kvmig__kube_kind_info *kvmig__kube_kind_info(int32_t kind)
{
    return kind >= 0 && kind < KVMIG__N_KUBE_KINDS ? &kinds[kind] : NULL;
}

/* Length of the group in "group/version"; the core group has none. */
static size_t group_length(const char *api_version)
{
    const char *slash = strchr(api_version, '/');

    return slash ? (size_t)(slash - api_version) : 0;
}

static bool same_group(const char *a, const char *b)
{
    size_t length = group_length(a);

    return length == group_length(b) && !strncmp(a, b, length);
}

int32_t kvmig__kube_kind_of(const char *api_version, const char *kind)
{
    for (int32_t i = 0; i < KVMIG__N_KUBE_KINDS; i++) {
        if (kvmig__str_eq(kinds[i].kind, kind) && (!api_version || same_group(kinds[i].api_version, api_version)))
            return i;
    }
    return -1;
}

bool kvmig__kube_is_known(const struct kvmig__kube *kube, int32_t kind)
{
    return kind >= 0 && kind < KVMIG__N_KUBE_KINDS && kube->kinds[kind].known == KVMIG__KUBE_KNOWN;
}

/* ---- the order of a list: namespace, then name ---- */

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_key(int32_t kind, const struct kvmig__kube_meta *object, const char *ns, const char *name)
{
    int order = kinds[kind].namespaced ? compare_text(object->ns, ns) : 0;

    return order ? order : compare_text(object->name, name);
}

/* Where the object is or would be; *out_there tells which. */
static size_t place_of(const struct kvmig__kube_list *list, int32_t kind, const char *ns, const char *name,
                       bool *out_there)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_key(kind, list->v[middle], ns, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *out_there = low < list->n && !compare_key(kind, list->v[low], ns, name);
    return low;
}

/* The tables are of these kinds alone. */
static void note_change(struct kvmig__kube *kube, int32_t kind)
{
    if (kind == KVMIG__KUBE_POD || kind == KVMIG__KUBE_NODE || kind == KVMIG__KUBE_VMI || kind == KVMIG__KUBE_VMIM)
        kvmig__kube_lookup_drop(kube);
}

void kvmig__kube_put(struct kvmig__kube *kube, struct kvmig__kube_meta *object)
{
    struct kvmig__kube_list *list = &kube->kinds[object->kind];
    bool there;
    size_t at = place_of(list, object->kind, object->ns, object->name, &there);

    note_change(kube, object->kind);
    if (there) {
        kvmig__kube_object_free(list->v[at]);
    } else {
        (void)KVMIG__PUSH(list);
        memmove(&list->v[at + 1], &list->v[at], (list->n - 1 - at) * sizeof(*list->v));
    }
    list->v[at] = object;
}

bool kvmig__kube_remove(struct kvmig__kube *kube, int32_t kind, const char *ns, const char *name, const char *uid)
{
    struct kvmig__kube_list *list;
    bool there;
    size_t at;

    if (!kvmig__kube_kind_info(kind))
        return false;
    list = &kube->kinds[kind];
    at = place_of(list, kind, ns, name, &there);
    if (!there || (uid && !kvmig__str_eq(uid, list->v[at]->uid)))
        return false;
    note_change(kube, kind);
    kvmig__kube_object_free(list->v[at]);
    list->n--;
    memmove(&list->v[at], &list->v[at + 1], (list->n - at) * sizeof(*list->v));
    return true;
}

struct kvmig__kube_meta *kvmig__kube_find(const struct kvmig__kube *kube, int32_t kind, const char *ns,
                                          const char *name)
{
    const struct kvmig__kube_list *list;
    bool there;
    size_t at;

    if (!kvmig__kube_kind_info(kind) || !name)
        return NULL;
    list = &kube->kinds[kind];
    at = place_of(list, kind, ns, name, &there);
    return there ? list->v[at] : NULL;
}

struct kvmig__kube_meta *kvmig__kube_find_uid(const struct kvmig__kube *kube, int32_t kind, const char *uid)
{
    const struct kvmig__multimap *by_uid = NULL;

    if (!kvmig__kube_kind_info(kind) || !uid)
        return NULL;
    if (kube->lookup && (kind == KVMIG__KUBE_VMI || kind == KVMIG__KUBE_VMIM) && *uid)
        by_uid = kind == KVMIG__KUBE_VMI ? &kube->lookup->vmis_by_uid : &kube->lookup->vmims_by_uid;
    if (by_uid) {
        const struct kvmig__multimap_entry *entry = kvmig__multimap_next(by_uid, uid, NULL);

        return entry ? kube->kinds[kind].v[entry->item] : NULL;
    }
    for (size_t i = 0; i < kube->kinds[kind].n; i++) {
        if (kvmig__str_eq(kube->kinds[kind].v[i]->uid, uid))
            return kube->kinds[kind].v[i];
    }
    return NULL;
}

void kvmig__kube_clear(struct kvmig__kube *kube)
{
    if (!kube)
        return;
    kvmig__kube_lookup_drop(kube);
    for (int32_t kind = 0; kind < KVMIG__N_KUBE_KINDS; kind++) {
        for (size_t i = 0; i < kube->kinds[kind].n; i++)
            kvmig__kube_object_free(kube->kinds[kind].v[i]);
        free(kube->kinds[kind].v);
    }
    memset(kube, 0, sizeof(*kube));
}
