/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Transactions on databases in memory: wait, mutate, select and comment, as far as the port uses them. Anything else in them fails the
 * test. With the context lock held.
 */
#include "fake_ovsdb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct json_object *fake_member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    json_object_object_get_ex(object, key, &value);
    return value;
}

static bool all_match(struct json_object *where, const char *uuid, struct json_object *columns)
{
    for (size_t i = 0; i < json_object_array_length(where); i++) {
        struct json_object *one = json_object_new_array();
        bool matches;

        json_object_array_add(one, json_object_get(json_object_array_get_idx(where, i)));
        matches = kvmig__ovsdb_filter_match(one, uuid, columns);
        json_object_put(one);
        if (!matches)
            return false;
    }
    return true;
}

static bool values_equal(struct json_object *a, struct json_object *b)
{
    struct kvmig__ovsdb_value x = { 0 }, y = { 0 };
    bool equal;

    assert_true(!a || kvmig__ovsdb_value_decode(a, &x));
    assert_true(!b || kvmig__ovsdb_value_decode(b, &y));
    equal = x.keys.n == y.keys.n;
    for (size_t i = 0; equal && i < x.keys.n; i++)
        equal = strcmp(x.keys.v[i], y.keys.v[i]) == 0 && (!x.is_map || strcmp(x.values.v[i], y.values.v[i]) == 0);
    kvmig__ovsdb_value_clear(&x);
    kvmig__ovsdb_value_clear(&y);
    return equal;
}

/* One row is expected, and one has to be there that equals it. */
static bool wait_holds(struct json_object *rows, struct json_object *op)
{
    struct json_object *expected = json_object_array_get_idx(fake_member(op, "rows"), 0),
                       *columns = fake_member(op, "columns");
    size_t n = 0;
    bool equal = true;

    assert_int_equal(json_object_get_int(fake_member(op, "timeout")), 0);
    assert_string_equal(json_object_get_string(fake_member(op, "until")), "==");
    json_object_object_foreach(rows, uuid, row)
    {
        if (!all_match(fake_member(op, "where"), uuid, row))
            continue;
        n++;
        for (size_t i = 0; i < json_object_array_length(columns); i++) {
            const char *column = json_object_get_string(json_object_array_get_idx(columns, i));

            equal = equal && values_equal(fake_member(row, column), fake_member(expected, column));
        }
    }
    return n == 1 && equal;
}

static struct json_object *map_json(const struct kvmig__ovsdb_value *map)
{
    const char **pairs = kvmig__calloc(2 * map->keys.n + 1, sizeof(*pairs));
    struct json_object *json;

    for (size_t i = 0; i < map->keys.n; i++) {
        pairs[2 * i] = map->keys.v[i];
        pairs[2 * i + 1] = map->values.v[i];
    }
    json = kvmig__ovsdb_json_map(pairs, map->keys.n);
    free(pairs);
    return json;
}

static size_t index_of(const struct kvmig__strlist *list, const char *s)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i], s) == 0)
            return i;
    return SIZE_MAX;
}

static void map_remove(struct kvmig__ovsdb_value *map, size_t i)
{
    free(map->keys.v[i]);
    free(map->values.v[i]);
    memmove(&map->keys.v[i], &map->keys.v[i + 1], (map->keys.n - i - 1) * sizeof(char *));
    memmove(&map->values.v[i], &map->values.v[i + 1], (map->values.n - i - 1) * sizeof(char *));
    map->keys.n--;
    map->values.n--;
}

/* As the server: a delete with a set removes the keys, an insert leaves keys alone that are there. */
static struct json_object *mutated_map(struct json_object *old, const char *mutator, struct json_object *argument)
{
    struct kvmig__ovsdb_value map = { 0 }, change = { 0 };
    struct json_object *json;

    assert_true(!old || kvmig__ovsdb_value_decode(old, &map));
    assert_true(kvmig__ovsdb_value_decode(argument, &change));
    for (size_t i = 0; i < change.keys.n; i++) {
        size_t at = index_of(&map.keys, change.keys.v[i]);

        if (strcmp(mutator, "delete") == 0 && at != SIZE_MAX) {
            assert_false(change.is_map);
            map_remove(&map, at);
        } else if (strcmp(mutator, "insert") == 0 && at == SIZE_MAX) {
            kvmig__strlist_add(&map.keys, change.keys.v[i]);
            kvmig__strlist_add(&map.values, change.values.v[i]);
        }
    }
    json = map_json(&map);
    kvmig__ovsdb_value_clear(&map);
    kvmig__ovsdb_value_clear(&change);
    return json;
}

static void mutate_row(struct json_object *row, struct json_object *mutations)
{
    for (size_t i = 0; i < json_object_array_length(mutations); i++) {
        struct json_object *mutation = json_object_array_get_idx(mutations, i);
        const char *column = json_object_get_string(json_object_array_get_idx(mutation, 0));
        const char *mutator = json_object_get_string(json_object_array_get_idx(mutation, 1));
        struct json_object *argument = json_object_array_get_idx(mutation, 2);

        if (strcmp(mutator, "+=") == 0)
            json_object_object_add(row, column,
                                   json_object_new_int64(json_object_get_int64(fake_member(row, column)) +
                                                         json_object_get_int64(argument)));
        else
            json_object_object_add(row, column, mutated_map(fake_member(row, column), mutator, argument));
    }
}

static struct json_object *run_mutate(struct json_object *rows, struct json_object *op)
{
    struct json_object *result = json_object_new_object();
    int count = 0;

    json_object_object_foreach(rows, uuid, row)
    {
        if (!all_match(fake_member(op, "where"), uuid, row))
            continue;
        mutate_row(row, fake_member(op, "mutations"));
        count++;
    }
    json_object_object_add(result, "count", json_object_new_int(count));
    return result;
}

static struct json_object *run_select(struct json_object *rows, struct json_object *op)
{
    struct json_object *result = json_object_new_object(), *found = json_object_new_array();

    json_object_object_foreach(rows, uuid, row)
    {
        if (all_match(fake_member(op, "where"), uuid, row))
            json_object_array_add(found, json_object_get(row));
    }
    json_object_object_add(result, "rows", found);
    return result;
}

/* On a copy of the tables, which takes their place if all went well. */
struct json_object *fake_ovsdb_run(struct kvmig__ovsdb *db, struct json_object *operations)
{
    struct json_object *tables = NULL, *results = json_object_new_array();

    json_object_deep_copy(db->tables, &tables, NULL);
    for (size_t i = 0; i < json_object_array_length(operations); i++) {
        struct json_object *op = json_object_array_get_idx(operations, i), *rows, *result = json_object_new_object();
        const char *name = json_object_get_string(fake_member(op, "op"));

        rows = fake_member(op, "table") ? fake_member(tables, json_object_get_string(fake_member(op, "table"))) : NULL;
        if (strcmp(name, "wait") == 0 && (!rows || !wait_holds(rows, op))) {
            json_object_put(result);
            json_object_put(results);
            json_object_put(tables);
            return NULL;
        }
        if (rows && strcmp(name, "mutate") == 0) {
            json_object_put(result);
            result = run_mutate(rows, op);
        } else if (rows && strcmp(name, "select") == 0) {
            json_object_put(result);
            result = run_select(rows, op);
        }
        json_object_array_add(results, result);
    }
    json_object_put(db->tables);
    db->tables = tables;
    db->changed = true;
    return results;
}
