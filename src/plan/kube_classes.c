/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Classes of nodes: those that differ in nothing but their names, identities and amounts are judged once. What a class is made of
 * is written as one text per node, so that nothing but equal texts makes nodes equal. A label that nearly every node has with a
 * value of its own is left out: a VM that asks for such a label has the nodes that it names judged one by one (kube_judge.c).
 * Pure; while the base is built.
 */
#include "plan/kube_base.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MANY 64 /* classes that need no thinning out, and values that make a label a node's own */
#define KUBEVIRT "kubevirt.io/"

/* ---- one text per node ---- */

void kvmig__kube_text_add(struct kvmig__kube_text *text, const char *what)
{
    size_t size = what ? strlen(what) + 1 : 1; /* with its end, so that two fields never read as one */

    if (text->room - text->n < size + 1) {
        text->room = (text->room + size) * 2 + 256;
        text->v = kvmig__realloc_array(text->v, text->room, 1);
    }
    text->v[text->n++] = what ? '+' : '-';
    memcpy(text->v + text->n, what ? what : "", size);
    text->n += size;
}

void kvmig__kube_text_number(struct kvmig__kube_text *text, int64_t number)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%" PRId64, number);
    kvmig__kube_text_add(text, digits);
}

static void write_labels(struct kvmig__kube_text *text, const struct kvmig__kube_base *base,
                         const struct kvmig__kube_node *node)
{
    kvmig__kube_text_number(text, (int64_t)node->meta.labels.n);
    for (size_t i = 0; i < node->meta.labels.n; i++) {
        const struct kvmig__pair *label = &node->meta.labels.v[i];

        kvmig__kube_text_add(text, label->key);
        kvmig__kube_text_add(text, kvmig__kube_base_own_key(base, label->key) ? "" : label->value);
    }
    /* annotations are full of what is a node's own; only KubeVirt's say something about guests */
    for (size_t i = 0; i < node->meta.annotations.n; i++) {
        const struct kvmig__pair *note = &node->meta.annotations.v[i];

        if ((!kvmig__str_starts(note->key, KUBEVIRT) && strcmp(note->key, KVMIG__NOTE_SKIP_LABELLER)) ||
            kvmig__str_eq(note->key, KVMIG__LABEL_HEARTBEAT))
            continue;
        kvmig__kube_text_add(text, note->key);
        kvmig__kube_text_add(text, note->value);
    }
}

static void write_state(struct kvmig__kube_text *text, const struct kvmig__kube_base *base,
                        const struct kvmig__kube_node *node)
{
    kvmig__kube_text_number(text, (int64_t)node->taints.n);
    for (size_t i = 0; i < node->taints.n; i++) {
        kvmig__kube_text_add(text, node->taints.v[i].key);
        kvmig__kube_text_add(text, node->taints.v[i].value);
        kvmig__kube_text_add(text, node->taints.v[i].effect);
    }
    for (size_t i = 0; i < node->conditions.n; i++) {
        kvmig__kube_text_add(text, node->conditions.v[i].type);
        kvmig__kube_text_add(text, node->conditions.v[i].status);
    }
    kvmig__kube_text_number(text, node->unschedulable);
    kvmig__kube_text_number(text, node->meta.deleted_ms != 0);
    if (kvmig__kube_heartbeat_late_min(node, base->newest_heartbeat_min)) /* is told by its time */
        kvmig__kube_text_add(text, kvmig__pairs_get(&node->meta.annotations, KVMIG__LABEL_HEARTBEAT));
    kvmig__kube_text_number(text, kvmig__kube_heartbeat_late_min(node, base->newest_heartbeat_min));
}

/* Its virt-handler, where that is seen. */
static void write_handler(struct kvmig__kube_text *text, const struct kvmig__kube_base *base, size_t node)
{
    const struct kvmig__kube_pod *handler = kvmig__kube_handler_on(base, node);

    kvmig__kube_text_add(text, handler ? kvmig__pairs_get(&handler->meta.annotations, KVMIG__NOTE_NETWORKS) : NULL);
    kvmig__kube_text_number(text, !handler ? 0 : !handler->phase ? 1 : 2 + kvmig__pod_is_ready_for_kubevirt(handler));
}

static void write_node(struct kvmig__kube_text *text, const struct kvmig__kube_base *base, size_t i, bool twin)
{
    const struct kvmig__kube_node *node = kvmig__kube_base_node(base, i);

    text->n = 0;
    write_labels(text, base, node);
    write_state(text, base, node);
    write_handler(text, base, i);
    kvmig__kube_text_add(text, node->architecture);
    kvmig__kube_text_add(text, node->kernel);
    kvmig__kube_text_add(text, node->kubelet);
    kvmig__kube_text_add(text, twin ? node->system_uuid : "");
    for (size_t k = 0; k < node->allocatable.n; k++)
        kvmig__kube_text_add(text, node->allocatable.v[k].name);
    kvmig__kube_text_add(text, "/");
    for (size_t k = 0; k < node->capacity.n; k++)
        kvmig__kube_text_add(text, node->capacity.v[k].name);
}

/* ---- classes ---- */

uint32_t kvmig__kube_text_hash(const struct kvmig__kube_text *text)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < text->n; i++)
        hash = (hash ^ (unsigned char)text->v[i]) * 16777619u;
    return hash ^ hash >> 15;
}

struct seen {
    uint32_t *slots; /* 1 + class */
    size_t mask;
    struct {
        struct kvmig__kube_text *v; /* per class */
        size_t n;
    } texts;
};

static uint32_t class_of_text(struct seen *seen, const struct kvmig__kube_text *text, bool *out_new)
{
    size_t at = kvmig__kube_text_hash(text) & seen->mask;
    struct kvmig__kube_text *copy;

    for (; seen->slots[at]; at = (at + 1) & seen->mask) {
        const struct kvmig__kube_text *there = &seen->texts.v[seen->slots[at] - 1];

        if (there->n == text->n && !memcmp(there->v, text->v, text->n)) {
            *out_new = false;
            return seen->slots[at] - 1;
        }
    }
    copy = KVMIG__PUSH(&seen->texts);
    copy->v = kvmig__calloc(text->n + 1, 1);
    copy->n = text->n;
    memcpy(copy->v, text->v, text->n);
    seen->slots[at] = (uint32_t)seen->texts.n;
    *out_new = true;
    return (uint32_t)seen->texts.n - 1;
}

static void seen_clear(struct seen *seen)
{
    for (size_t i = 0; i < seen->texts.n; i++)
        free(seen->texts.v[i].v);
    free(seen->texts.v);
    free(seen->slots);
}

static void group(struct kvmig__kube_base *base, const bool *twins)
{
    struct kvmig__kube_text text = { 0 };
    struct seen seen = { .mask = 15 };

    while (seen.mask < base->nodes->n * 2)
        seen.mask = seen.mask * 2 + 1;
    seen.slots = kvmig__calloc(seen.mask + 1, sizeof(*seen.slots));
    base->classes.n = 0;
    for (size_t i = 0; i < base->nodes->n; i++) {
        bool is_new;

        write_node(&text, base, i, twins[i]);
        base->class_of[i] = class_of_text(&seen, &text, &is_new);
        if (is_new)
            *KVMIG__PUSH(&base->classes) = (uint32_t)i;
    }
    seen_clear(&seen);
    free(text.v);
}

/* ---- labels that tell nodes apart ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t count_values(const struct kvmig__kube_base *base, const char *key)
{
    const char **values = kvmig__calloc(base->nodes->n + 1, sizeof(*values));
    size_t n = 0, distinct = 0;

    for (size_t i = 0; i < base->nodes->n; i++) {
        const char *value = kvmig__pairs_get(&kvmig__kube_base_node(base, i)->meta.labels, key);

        if (value)
            values[n++] = value;
    }
    if (n)
        qsort(values, n, sizeof(*values), compare_texts);
    for (size_t i = 0; i < n; i++)
        distinct += !i || strcmp(values[i - 1], values[i]) != 0;
    free(values);
    return distinct;
}

/* Of the labels in which the first nodes differ: those that have many values among all. */
static void find_own_keys(struct kvmig__kube_base *base)
{
    const struct kvmig__pairs *first = &kvmig__kube_base_node(base, 0)->meta.labels;
    struct kvmig__strlist differ = { 0 };

    for (size_t i = 1; i < base->nodes->n && i < MANY; i++) {
        const struct kvmig__pairs *other = &kvmig__kube_base_node(base, i)->meta.labels;

        for (size_t k = 0; k < other->n; k++) {
            if (!kvmig__str_eq(kvmig__pairs_get(first, other->v[k].key), other->v[k].value))
                kvmig__strlist_add_new(&differ, other->v[k].key);
        }
    }
    for (size_t i = 0; i < differ.n && i < MANY; i++) {
        if (count_values(base, differ.v[i]) > MANY)
            kvmig__strlist_add_new(&base->own_keys, differ.v[i]);
    }
    kvmig__strlist_clear(&differ);
}

static void name_nodes(struct kvmig__kube_base *base)
{
    for (size_t i = 0; i < base->nodes->n; i++) {
        const struct kvmig__kube_node *node = kvmig__kube_base_node(base, i);

        kvmig__multimap_add(&base->named, node->meta.name, i);
        for (size_t k = 0; k < base->own_keys.n; k++)
            kvmig__multimap_add(&base->named, kvmig__pairs_get(&node->meta.labels, base->own_keys.v[k]), i);
    }
    kvmig__multimap_finish(&base->named);
}

/* ---- machines that call themselves the same ---- */

struct identity {
    const char *uuid;
    size_t node;
};

static int compare_identities(const void *a, const void *b)
{
    const struct identity *x = a, *y = b;

    return strcasecmp(x->uuid, y->uuid);
}

static void find_twins(const struct kvmig__kube_base *base, bool *twins)
{
    struct identity *all = kvmig__calloc(base->nodes->n + 1, sizeof(*all));
    size_t n = 0;

    for (size_t i = 0; i < base->nodes->n; i++) {
        const char *uuid = kvmig__kube_base_node(base, i)->system_uuid;

        if (uuid && *uuid)
            all[n++] = (struct identity){ uuid, i };
    }
    if (n)
        qsort(all, n, sizeof(*all), compare_identities);
    for (size_t i = 1; i < n; i++) {
        if (!compare_identities(&all[i - 1], &all[i]))
            twins[all[i - 1].node] = twins[all[i].node] = true;
    }
    free(all);
}

void kvmig__kube_base_classify(struct kvmig__kube_base *base)
{
    bool *twins = kvmig__calloc(base->nodes->n + 1, sizeof(*twins));

    base->class_of = kvmig__calloc(base->nodes->n + 1, sizeof(*base->class_of));
    kvmig__strlist_add(&base->own_keys, KVMIG__LABEL_HOSTNAME);
    find_twins(base, twins);
    group(base, twins);
    if (base->classes.n > MANY) {
        find_own_keys(base);
        group(base, twins);
    }
    name_nodes(base);
    free(twins);
}
