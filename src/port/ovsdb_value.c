/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values of OVSDB (RFC 7047 section 5.1): decoding sets and maps into text, applying the differences of update2,
 * reading columns of a row, and building the few values that requests need. Knows no schema: whether a value fits its
 * column is for ovsdb_schema.c. Any thread; values belong to the caller.
 *
 * Inside a value the atoms or keys are sorted and no two are equal, so that comparing and applying differences is one
 * pass.
 */
#include "port/ovsdb_value.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/* ---- decoding ---- */

struct pair {
    char *key;
    char *value; /* NULL in a set */
};
struct pairs {
    struct pair *v;
    size_t n;
};

static void free_pairs(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++) {
        free(pairs->v[i].key);
        free(pairs->v[i].value);
    }
    free(pairs->v);
    *pairs = (struct pairs){ 0 };
}

static bool is_tagged(struct json_object *json, const char *tag)
{
    struct json_object *first;

    if (!json_object_is_type(json, json_type_array) || json_object_array_length(json) != 2)
        return false;
    first = json_object_array_get_idx(json, 0);
    return json_object_is_type(first, json_type_string) && strcmp(json_object_get_string(first), tag) == 0;
}

/* NULL for a text with a NUL inside, which would be another text for us. */
static char *string_text(struct json_object *json)
{
    const char *text = json_object_get_string(json);
    size_t len = (size_t)json_object_get_string_len(json);

    return strlen(text) == len ? kvmig__strndup(text, len) : NULL;
}

/* An atom as text, owned; NULL if it is none. */
static char *atom_text(struct json_object *json)
{
    struct json_object *uuid;

    switch (json_object_get_type(json)) {
    case json_type_string:
        return string_text(json);
    case json_type_int:
    case json_type_double:
        return kvmig__strdup(json_object_get_string(json));
    case json_type_boolean:
        return kvmig__strdup(json_object_get_boolean(json) ? "true" : "false");
    case json_type_array:
        if (!is_tagged(json, "uuid"))
            return NULL;
        uuid = json_object_array_get_idx(json, 1);
        if (!json_object_is_type(uuid, json_type_string) || !kvmig__is_uuid(json_object_get_string(uuid)))
            return NULL;
        return string_text(uuid);
    default:
        return NULL;
    }
}

static bool decode_pair(struct json_object *json, bool is_map, struct pair *out_pair)
{
    if (!is_map) {
        out_pair->key = atom_text(json);
        return out_pair->key != NULL;
    }
    if (!json_object_is_type(json, json_type_array) || json_object_array_length(json) != 2)
        return false;
    out_pair->key = atom_text(json_object_array_get_idx(json, 0));
    out_pair->value = atom_text(json_object_array_get_idx(json, 1));
    return out_pair->key && out_pair->value;
}

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

static bool decode_elements(struct json_object *elements, bool is_map, struct pairs *out_pairs)
{
    size_t n;

    if (!json_object_is_type(elements, json_type_array))
        return false;
    n = json_object_array_length(elements);
    out_pairs->v = kvmig__calloc(n, sizeof(*out_pairs->v));
    for (size_t i = 0; i < n; i++) {
        out_pairs->n++;
        if (!decode_pair(json_object_array_get_idx(elements, i), is_map, &out_pairs->v[i]))
            return false;
    }
    if (n > 1)
        qsort(out_pairs->v, n, sizeof(*out_pairs->v), compare_pairs);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(out_pairs->v[i - 1].key, out_pairs->v[i].key) == 0)
            return false;
    }
    return true;
}

static bool decode(struct json_object *json, bool *out_is_map, struct pairs *out_pairs)
{
    *out_is_map = is_tagged(json, "map");
    if (*out_is_map || is_tagged(json, "set"))
        return decode_elements(json_object_array_get_idx(json, 1), *out_is_map, out_pairs);
    out_pairs->v = kvmig__calloc(1, sizeof(*out_pairs->v));
    out_pairs->n = 1;
    return decode_pair(json, false, &out_pairs->v[0]);
}

/* The texts move; pairs is empty after this. */
static void value_from_pairs(bool is_map, struct pairs *pairs, struct kvmig__ovsdb_value *out_value)
{
    *out_value = (struct kvmig__ovsdb_value){ .is_map = is_map };
    if (pairs->n) {
        out_value->keys.v = kvmig__calloc(pairs->n, sizeof(char *));
        out_value->keys.n = pairs->n;
        if (is_map) {
            out_value->values.v = kvmig__calloc(pairs->n, sizeof(char *));
            out_value->values.n = pairs->n;
        }
    }
    for (size_t i = 0; i < pairs->n; i++) {
        out_value->keys.v[i] = pairs->v[i].key;
        if (is_map)
            out_value->values.v[i] = pairs->v[i].value;
        pairs->v[i] = (struct pair){ 0 };
    }
    free_pairs(pairs);
}

bool kvmig__ovsdb_value_decode(struct json_object *json, struct kvmig__ovsdb_value *out_value)
{
    struct pairs pairs = { 0 };
    bool is_map;

    *out_value = (struct kvmig__ovsdb_value){ 0 };
    if (!decode(json, &is_map, &pairs)) {
        free_pairs(&pairs);
        return false;
    }
    value_from_pairs(is_map, &pairs, out_value);
    return true;
}

void kvmig__ovsdb_value_clear(struct kvmig__ovsdb_value *value)
{
    kvmig__strlist_clear(&value->keys);
    kvmig__strlist_clear(&value->values);
    *value = (struct kvmig__ovsdb_value){ 0 };
}

/* ---- differences ---- */

static struct pair take(struct kvmig__ovsdb_value *value, size_t i)
{
    struct pair pair = { .key = value->keys.v[i], .value = value->is_map ? value->values.v[i] : NULL };

    value->keys.v[i] = NULL;
    if (value->is_map)
        value->values.v[i] = NULL;
    return pair;
}

/* Both have the key: a pair that is another one replaces the old, an equal one, or an atom of a set, removes it. */
static void merge_equal(const struct pair *old, const struct pair *diff, struct pairs *out_pairs)
{
    if (diff->value && strcmp(old->value, diff->value) != 0) {
        out_pairs->v[out_pairs->n++] = *diff;
    } else {
        free(diff->key);
        free(diff->value);
    }
    free(old->key);
    free(old->value);
}

static void merge(struct kvmig__ovsdb_value *value, struct kvmig__ovsdb_value *diff, struct pairs *out_pairs)
{
    size_t i = 0, j = 0;

    out_pairs->v = kvmig__calloc(value->keys.n + diff->keys.n, sizeof(*out_pairs->v));
    while (i < value->keys.n || j < diff->keys.n) {
        int order = i == value->keys.n ? 1 : j == diff->keys.n ? -1 : strcmp(value->keys.v[i], diff->keys.v[j]);

        if (order == 0) {
            struct pair old = take(value, i++), new = take(diff, j++);

            merge_equal(&old, &new, out_pairs);
        } else {
            out_pairs->v[out_pairs->n++] = order < 0 ? take(value, i++) : take(diff, j++);
        }
    }
}

bool kvmig__ovsdb_value_apply(struct kvmig__ovsdb_value *value, struct json_object *diff_json, bool scalar)
{
    struct kvmig__ovsdb_value diff;
    struct pairs merged = { 0 };
    bool is_map;

    if (!kvmig__ovsdb_value_decode(diff_json, &diff))
        return false;
    if (scalar) {
        kvmig__ovsdb_value_clear(value);
        *value = diff;
        return true;
    }
    is_map = diff.is_map;
    if (value->is_map != is_map && value->keys.n > 0) {
        kvmig__ovsdb_value_clear(&diff);
        return false;
    }
    value->is_map = is_map;
    merge(value, &diff, &merged);
    kvmig__ovsdb_value_clear(value);
    kvmig__ovsdb_value_clear(&diff);
    value_from_pairs(is_map, &merged, value);
    return true;
}

/* ---- reading ---- */

const struct kvmig__ovsdb_value *kvmig__ovsdb_column(const struct kvmig__ovsdb_row *row, const char *column)
{
    for (size_t i = 0; row && i < row->columns.n; i++) {
        if (strcmp(row->names[i], column) == 0)
            return row->columns.v[i].keys.n ? &row->columns.v[i] : NULL;
    }
    return NULL;
}

const char *kvmig__ovsdb_str(const struct kvmig__ovsdb_row *row, const char *column)
{
    const struct kvmig__ovsdb_value *value = kvmig__ovsdb_column(row, column);

    return value && !value->is_map ? value->keys.v[0] : NULL;
}

bool kvmig__ovsdb_int(const struct kvmig__ovsdb_row *row, const char *column, int64_t *out_value)
{
    const char *text = kvmig__ovsdb_str(row, column);
    long long number;
    char *end;

    if (!text || !*text)
        return false;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || *end)
        return false;
    *out_value = number;
    return true;
}

bool kvmig__ovsdb_bool(const struct kvmig__ovsdb_row *row, const char *column)
{
    return kvmig__str_eq(kvmig__ovsdb_str(row, column), "true");
}

const char *kvmig__ovsdb_key(const struct kvmig__ovsdb_row *row, const char *column, const char *key)
{
    const struct kvmig__ovsdb_value *value = kvmig__ovsdb_column(row, column);

    for (size_t i = 0; value && value->is_map && i < value->keys.n; i++) {
        if (strcmp(value->keys.v[i], key) == 0)
            return value->values.v[i];
    }
    return NULL;
}

/* ---- building ---- */

/* [tag, content]; content taken. */
static struct json_object *tagged(const char *tag, struct json_object *content)
{
    struct json_object *array = json_object_new_array();

    json_object_array_add(array, json_object_new_string(tag));
    json_object_array_add(array, content);
    return array;
}

struct json_object *kvmig__ovsdb_json_uuid(const char *uuid)
{
    return tagged("uuid", json_object_new_string(uuid));
}

struct json_object *kvmig__ovsdb_json_set(const char *const *atoms, size_t n)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < n; i++)
        json_object_array_add(array, json_object_new_string(atoms[i]));
    return tagged("set", array);
}

struct json_object *kvmig__ovsdb_json_map(const char *const *pairs, size_t n_pairs)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < n_pairs; i++)
        json_object_array_add(array, tagged(pairs[2 * i], json_object_new_string(pairs[2 * i + 1])));
    return tagged("map", array);
}

struct json_object *kvmig__ovsdb_json_clause(const char *column, const char *function, struct json_object *value)
{
    struct json_object *array = tagged(column, json_object_new_string(function));

    json_object_array_add(array, value);
    return array;
}
