/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a reflector remembers of objects: namespace and name, uid, resourceVersion; a hash table, and a ring of those
 * that were deleted lately. No JSON is kept. Reports nothing and knows no context; one thread at a time.
 */
#include "kubernetes/reflector_private.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64

/* ---- identities ---- */

uint64_t kvmig__version_number(const char *version)
{
    uint64_t number = 0;

    if (!*version)
        return 0;
    for (; *version; version++) {
        if (*version < '0' || *version > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*version - '0'), &number))
            return 0;
    }
    return number;
}

static const char *text_member(struct json_object *object, const char *name)
{
    struct json_object *member = NULL;

    return json_object_object_get_ex(object, name, &member) && json_object_is_type(member, json_type_string)
               ? json_object_get_string(member)
               : "";
}

bool kvmig__identity_read(struct json_object *object, struct kvmig__identity *out)
{
    struct json_object *metadata = NULL;

    if (!json_object_is_type(object, json_type_object) || !json_object_object_get_ex(object, "metadata", &metadata) ||
        !json_object_is_type(metadata, json_type_object))
        return false;
    *out = (struct kvmig__identity){
        .ns = text_member(metadata, "namespace"),
        .name = text_member(metadata, "name"),
        .uid = text_member(metadata, "uid"),
        .version = text_member(metadata, "resourceVersion"),
    };
    out->number = kvmig__version_number(out->version);
    return *out->name != '\0';
}

/* ---- the table ---- */

/* FNV-1a, over both with their NUL. */
static uint64_t hash_of(const char *ns, const char *name)
{
    uint64_t hash = 14695981039346656037U;

    for (const char *c = ns;; c++) {
        hash = (hash ^ (unsigned char)*c) * 1099511628211U;
        if (!*c)
            break;
    }
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211U;
    return hash;
}

static struct kvmig__known **bucket_of(const struct kvmig__index *index, uint64_t hash)
{
    return &index->buckets[(hash ^ hash >> 32) & (index->n_buckets - 1)];
}

struct kvmig__known *kvmig__index_find(const struct kvmig__index *index, const char *ns, const char *name)
{
    uint64_t hash = hash_of(ns, name);
    struct kvmig__known *known = index->n_buckets ? *bucket_of(index, hash) : NULL;

    while (known && (known->hash != hash || strcmp(known->ns, ns) != 0 || strcmp(known->name, name) != 0))
        known = known->next;
    return known;
}

static void grow(struct kvmig__index *index)
{
    struct kvmig__index larger = { .n_buckets = index->n_buckets ? index->n_buckets * 2 : FIRST_BUCKETS };

    larger.buckets = kvmig__calloc(larger.n_buckets, sizeof(struct kvmig__known *));
    for (size_t i = 0; i < index->n_buckets; i++) {
        for (struct kvmig__known *known = index->buckets[i], *next; known; known = next) {
            struct kvmig__known **bucket = bucket_of(&larger, known->hash);

            next = known->next;
            known->next = *bucket;
            *bucket = known;
        }
    }
    free(index->buckets);
    index->buckets = larger.buckets;
    index->n_buckets = larger.n_buckets;
}

void kvmig__index_update(struct kvmig__known *known, const struct kvmig__identity *identity)
{
    known->number = identity->number;
    kvmig__str_set(&known->opaque, identity->number ? NULL : identity->version);
}

struct kvmig__known *kvmig__index_add(struct kvmig__index *index, const struct kvmig__identity *identity)
{
    size_t ns = strlen(identity->ns) + 1, name = strlen(identity->name) + 1, uid = strlen(identity->uid) + 1;
    struct kvmig__known *known = kvmig__calloc(1, sizeof(*known) + ns + name + uid), **bucket;

    memcpy(known->ns, identity->ns, ns);
    memcpy(known->ns + ns, identity->name, name);
    memcpy(known->ns + ns + name, identity->uid, uid);
    known->name = known->ns + ns;
    known->uid = known->name + name;
    known->hash = hash_of(identity->ns, identity->name);
    kvmig__index_update(known, identity);
    if (index->n >= index->n_buckets)
        grow(index);
    bucket = bucket_of(index, known->hash);
    known->next = *bucket;
    *bucket = known;
    index->n++;
    return known;
}

void kvmig__index_take(struct kvmig__index *index, struct kvmig__known *known)
{
    struct kvmig__known **link = bucket_of(index, known->hash);

    while (*link != known)
        link = &(*link)->next;
    *link = known->next;
    known->next = NULL;
    index->n--;
}

struct kvmig__known *kvmig__index_sweep(struct kvmig__index *index, uint32_t round, uint64_t number)
{
    struct kvmig__known *swept = NULL;

    for (size_t i = 0; i < index->n_buckets; i++) {
        for (struct kvmig__known **link = &index->buckets[i]; *link;) {
            struct kvmig__known *known = *link;

            if (known->round == round || (number && known->number > number)) {
                link = &known->next;
                continue;
            }
            *link = known->next;
            known->next = swept;
            swept = known;
            index->n--;
        }
    }
    return swept;
}

void kvmig__known_free(struct kvmig__known *known)
{
    if (!known)
        return;
    free(known->opaque);
    free(known);
}

/* ---- the deleted ---- */

void kvmig__index_bury(struct kvmig__index *index, const char *uid, uint64_t number)
{
    struct kvmig__grave *grave = &index->graves[index->next_grave];

    if (!*uid || !number)
        return;
    index->next_grave = (index->next_grave + 1) % KVMIG__N_GRAVES;
    kvmig__str_set(&grave->uid, uid);
    grave->number = number;
}

/* Something of the same uid may come back, when its labels fit the selector again: it is newer then. */
bool kvmig__index_is_buried(const struct kvmig__index *index, const struct kvmig__identity *identity)
{
    for (size_t i = 0; i < KVMIG__N_GRAVES; i++) {
        const struct kvmig__grave *grave = &index->graves[i];

        if (grave->uid && identity->number && identity->number <= grave->number &&
            strcmp(grave->uid, identity->uid) == 0)
            return true;
    }
    return false;
}

void kvmig__index_clear(struct kvmig__index *index)
{
    for (size_t i = 0; i < index->n_buckets; i++) {
        for (struct kvmig__known *known = index->buckets[i], *next; known; known = next) {
            next = known->next;
            kvmig__known_free(known);
        }
    }
    free(index->buckets);
    for (size_t i = 0; i < KVMIG__N_GRAVES; i++)
        free(index->graves[i].uid);
    *index = (struct kvmig__index){ 0 };
}
