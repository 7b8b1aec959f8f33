/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists and maps of the API's JSON, for object descriptions (objects_io.h). Every list is cut off at a bound when it
 * is read. Knows nothing of any object. Any thread.
 */
#include "kubernetes/objects_io.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */

static struct json_object *get_array(const struct kvmig__io *io, const char *key)
{
    struct json_object *value = kvmig__io_get(io, key);

    return json_object_is_type(value, json_type_array) ? value : NULL;
}

static size_t length_of(struct json_object *array, size_t most)
{
    size_t n = array ? json_object_array_length(array) : 0;

    return n < most ? n : most;
}

/* Adds what is a text, or can be taken as one. */
static bool add_text(struct kvmig__strlist *list, struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_string:
    case json_type_int:
    case json_type_boolean:
    case json_type_double:
        kvmig__strlist_add(list, json_object_get_string(value));
        return true;
    default:
        return false;
    }
}

void kvmig__io_strlist(struct kvmig__io *io, const char *key, struct kvmig__strlist *list)
{
    struct json_object *array;

    if (io->encode) {
        if (list->n)
            kvmig__io_set(io, key, kvmig__json_strlist(list));
        return;
    }
    array = get_array(io, key);
    for (size_t i = 0; i < length_of(array, KVMIG__IO_ITEMS); i++)
        add_text(list, json_object_array_get_idx(array, i));
}

static struct json_object *member_of(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    return key && json_object_is_type(object, json_type_object) && json_object_object_get_ex(object, key, &value)
               ? value
               : NULL;
}

static struct json_object *one_name(const char *member, const char *inner, const char *name)
{
    struct json_object *element = json_object_new_object(), *parent = element;

    if (inner) {
        parent = json_object_new_object();
        json_object_object_add(element, member, parent);
    }
    kvmig__json_add_str(parent, inner ? inner : member, name);
    return element;
}

void kvmig__io_names(struct kvmig__io *io, const char *key, const char *member, const char *inner, const char *fallback,
                     struct kvmig__strlist *list)
{
    struct json_object *array = get_array(io, key);

    if (!io->encode) {
        for (size_t i = 0; i < length_of(array, KVMIG__IO_ITEMS); i++) {
            struct json_object *element = json_object_array_get_idx(array, i);
            struct json_object *value = member_of(element, member);

            if (!add_text(list, inner ? member_of(value, inner) : value))
                add_text(list, member_of(element, fallback));
        }
    } else if (list->n) {
        array = json_object_new_array();
        for (size_t i = 0; i < list->n; i++)
            json_object_array_add(array, one_name(member, inner, list->v[i]));
        kvmig__io_set(io, key, array);
    }
}

static void read_list(struct kvmig__io *io, struct json_object *array, void **v, size_t *n, size_t size, size_t most,
                      kvmig__visit_fn visit)
{
    for (size_t i = 0; i < length_of(array, most); i++) {
        struct json_object *json = json_object_array_get_idx(array, i);

        if (!json_object_is_type(json, json_type_object))
            continue;
        io->level[io->depth].json = json;
        if (!visit(io, kvmig__array_push(v, n, size)))
            (*n)--;
    }
}

static struct json_object *write_list(struct kvmig__io *io, char *v, size_t n, size_t size, kvmig__visit_fn visit)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < n; i++) {
        struct json_object *json = json_object_new_object();

        io->level[io->depth].json = json;
        if (visit(io, v + i * size))
            json_object_array_add(array, json);
        else
            json_object_put(json);
    }
    return array;
}

void kvmig__io_list(struct kvmig__io *io, const char *key, void **v, size_t *n, size_t size, size_t most,
                    kvmig__visit_fn visit)
{
    struct json_object *array = io->encode ? NULL : get_array(io, key);

    io->depth++;
    io->level[io->depth].created = false;
    if (io->encode)
        array = write_list(io, *v, *n, size, visit);
    else
        read_list(io, array, v, n, size, most, visit);
    io->depth--;
    if (!io->encode)
        return;
    if (json_object_array_length(array))
        kvmig__io_set(io, key, array);
    else
        json_object_put(array);
}

/* ---- maps ---- */

static struct json_object *get_map(const struct kvmig__io *io, const char *key)
{
    struct json_object *value = kvmig__io_get(io, key);

    return json_object_is_type(value, json_type_object) ? value : NULL;
}

void kvmig__io_flags(struct kvmig__io *io, const char *key, struct kvmig__strlist *list)
{
    struct json_object *map = get_map(io, key);

    if (!io->encode) {
        if (!map)
            return;
        json_object_object_foreach(map, name, value)
        {
            if (list->n < KVMIG__IO_ITEMS && json_object_get_boolean(value))
                kvmig__strlist_add(list, name);
        }
    } else if (list->n) {
        map = json_object_new_object();
        for (size_t i = 0; i < list->n; i++)
            json_object_object_add(map, list->v[i], json_object_new_boolean(true));
        kvmig__io_set(io, key, map);
    }
}

static struct json_object *write_pairs(const struct kvmig__pairs *pairs)
{
    struct json_object *map = json_object_new_object();

    for (size_t i = 0; i < pairs->n; i++)
        kvmig__json_add_str(map, pairs->v[i].key, pairs->v[i].value ? pairs->v[i].value : "");
    return map;
}

void kvmig__io_pairs(struct kvmig__io *io, const char *key, struct kvmig__pairs *pairs)
{
    struct json_object *map = get_map(io, key);

    if (io->encode) {
        if (pairs->n)
            kvmig__io_set(io, key, write_pairs(pairs));
        return;
    }
    if (!map)
        return;
    json_object_object_foreach(map, name, value)
    {
        struct kvmig__pair *pair;

        if (pairs->n >= KVMIG__IO_ITEMS || json_object_is_type(value, json_type_object) ||
            json_object_is_type(value, json_type_array))
            continue;
        pair = KVMIG__PUSH(pairs); /* a JSON object has no name twice */
        pair->key = kvmig__strdup(name);
        pair->value = kvmig__strdup(value ? json_object_get_string(value) : "");
    }
}

void kvmig__drop_pairs(struct kvmig__pairs *pairs, bool (*drop)(const struct kvmig__pair *pair))
{
    size_t kept = 0;

    for (size_t i = 0; i < pairs->n; i++) {
        if (drop(&pairs->v[i])) {
            free(pairs->v[i].key);
            free(pairs->v[i].value);
        } else {
            pairs->v[kept++] = pairs->v[i];
        }
    }
    pairs->n = kept;
}

static struct json_object *write_amounts(const struct kvmig__amounts *amounts)
{
    struct json_object *map = json_object_new_object();

    for (size_t i = 0; i < amounts->n; i++) {
        char *text = kvmig__quantity_text(amounts->v[i].milli);

        kvmig__json_add_str(map, amounts->v[i].name, text);
        free(text);
    }
    return map;
}

void kvmig__io_amounts(struct kvmig__io *io, const char *key, struct kvmig__amounts *amounts)
{
    struct json_object *map = get_map(io, key);

    if (io->encode) {
        if (amounts->n)
            kvmig__io_set(io, key, write_amounts(amounts));
        return;
    }
    if (!map)
        return;
    json_object_object_foreach(map, name, value)
    {
        uint64_t milli;

        if (amounts->n < KVMIG__IO_ITEMS && kvmig__quantity_of(value, &milli)) {
            struct kvmig__amount *amount = KVMIG__PUSH(amounts);

            amount->name = kvmig__strdup(name);
            amount->milli = milli;
        }
    }
}
