/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists and maps of the API's JSON, for object descriptions (objects_io.h). Every list is cut off at a bound when it
 * is read. Knows nothing of any object. Any thread.
 */
#include "kubernetes/objects_io.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */

/* An empty one, if there is none. */
static const struct kvmig__value *get_array(const struct kvmig__io *io, const char *key)
{
    static const struct kvmig__value none = { .size = 1, .type = KVMIG__TAPE_ARRAY };
    const struct kvmig__value *value = kvmig__io_get(io, key);

    return kvmig__value_is(value, KVMIG__TAPE_ARRAY) ? value : &none;
}

/* Adds what is a text, or can be taken as one. */
static bool add_text(struct kvmig__strlist *list, const struct kvmig__value *value)
{
    const char *text = kvmig__value_text(value);

    if (text)
        kvmig__strlist_add(list, text);
    return text;
}

void kvmig__io_strlist(struct kvmig__io *io, const char *key, struct kvmig__strlist *list)
{
    const struct kvmig__value *array;
    size_t i = 0;

    if (io->encode) {
        if (list->n)
            kvmig__io_set(io, key, kvmig__json_strlist(list));
        return;
    }
    array = get_array(io, key);
    KVMIG__EACH_ELEMENT(array, element)
    {
        if (i++ < KVMIG__IO_ITEMS)
            add_text(list, element);
    }
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
    const struct kvmig__value *elements = get_array(io, key);
    struct json_object *array;
    size_t n = 0;

    if (!io->encode) {
        KVMIG__EACH_ELEMENT(elements, element)
        {
            const struct kvmig__value *value = kvmig__value_get(element, member);

            if (n++ < KVMIG__IO_ITEMS && !add_text(list, inner ? kvmig__value_get(value, inner) : value) && fallback)
                add_text(list, kvmig__value_get(element, fallback));
        }
    } else if (list->n) {
        array = json_object_new_array();
        for (size_t i = 0; i < list->n; i++)
            json_object_array_add(array, one_name(member, inner, list->v[i]));
        kvmig__io_set(io, key, array);
    }
}

static void read_list(struct kvmig__io *io, const struct kvmig__value *array, void **v, size_t *n, size_t size,
                      size_t most, kvmig__visit_fn visit)
{
    size_t i = 0;

    KVMIG__EACH_ELEMENT(array, element)
    {
        if (i++ >= most || element->type != KVMIG__TAPE_OBJECT)
            continue;
        io->level[io->depth].value = element;
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
    const struct kvmig__value *elements = get_array(io, key);
    struct json_object *array = NULL;

    io->depth++;
    io->level[io->depth].created = false;
    if (io->encode)
        array = write_list(io, *v, *n, size, visit);
    else
        read_list(io, elements, v, n, size, most, visit);
    io->depth--;
    if (!io->encode)
        return;
    if (json_object_array_length(array))
        kvmig__io_set(io, key, array);
    else
        json_object_put(array);
}

/* ---- maps ---- */

/* An empty one, if there is none. */
static const struct kvmig__value *get_map(const struct kvmig__io *io, const char *key)
{
    static const struct kvmig__value none = { .size = 1, .type = KVMIG__TAPE_OBJECT };
    const struct kvmig__value *value = kvmig__io_get(io, key);

    return kvmig__value_is(value, KVMIG__TAPE_OBJECT) ? value : &none;
}

/* A switch, whatever it is written as: not false, 0 or "". */
static bool is_on(const struct kvmig__value *value)
{
    const char *text = kvmig__value_text(value);

    if (!text || value->type == KVMIG__TAPE_FALSE)
        return false;
    if (value->type != KVMIG__TAPE_INT && value->type != KVMIG__TAPE_DOUBLE)
        return *text;
    text += strspn(text, "-0.");
    return *text >= '1' && *text <= '9'; /* else its exponent, of zero */
}

void kvmig__io_flags(struct kvmig__io *io, const char *key, struct kvmig__strlist *list)
{
    const struct kvmig__value *members = get_map(io, key);
    struct json_object *map;

    if (!io->encode) {
        KVMIG__EACH_MEMBER(members, name, value)
        {
            if (list->n < KVMIG__IO_ITEMS && is_on(value))
                kvmig__strlist_add(list, name->text);
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

static bool is_sorted(const struct kvmig__pairs *pairs)
{
    for (size_t i = 1; i < pairs->n; i++)
        if (strcmp(pairs->v[i - 1].key, pairs->v[i].key) >= 0)
            return false;
    return true;
}

void kvmig__io_pairs(struct kvmig__io *io, const char *key, struct kvmig__pairs *pairs)
{
    const struct kvmig__value *members = get_map(io, key);

    if (io->encode) {
        if (pairs->n)
            kvmig__io_set(io, key, write_pairs(pairs));
        return;
    }
    KVMIG__EACH_MEMBER(members, name, value)
    {
        const char *text = value->type == KVMIG__TAPE_NULL ? "" : kvmig__value_text(value);
        struct kvmig__pair *pair;

        if (pairs->n >= KVMIG__IO_ITEMS || !text)
            continue;
        pair = KVMIG__PUSH(pairs); /* a JSON object has no name twice */
        pair->key = kvmig__strdup(name->text);
        pair->value = kvmig__strdup(text);
    }
    pairs->sorted = is_sorted(pairs);
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
    const struct kvmig__value *members = get_map(io, key);

    if (io->encode) {
        if (amounts->n)
            kvmig__io_set(io, key, write_amounts(amounts));
        return;
    }
    KVMIG__EACH_MEMBER(members, name, value)
    {
        uint64_t milli;

        if (amounts->n < KVMIG__IO_ITEMS && kvmig__quantity_scaled(value, 3, &milli)) {
            struct kvmig__amount *amount = KVMIG__PUSH(amounts);

            amount->name = kvmig__strdup(name->text);
            amount->milli = milli;
        }
    }
}
