/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Conditions of monitors (RFC 7047 section 5.1, <condition>), evaluated here for servers that only know the plain
 * "monitor", which has none: such a server sends every row of the table complete with each change, so each row is
 * judged when it comes, and only those that match are kept. Clauses are ORed, as the server does for conditional
 * monitors. Any thread.
 */
#include "port/ovsdb_private.h"

#include <stdlib.h>
#include <string.h>

/* Index of the key; SIZE_MAX if there is none. */
static size_t find_key(const struct kvmig__ovsdb_value *value, const char *key)
{
    size_t low = 0, high = value->keys.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(value->keys.v[middle], key);

        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

/* How many of part's atoms or pairs are in whole. */
static size_t common(const struct kvmig__ovsdb_value *whole, const struct kvmig__ovsdb_value *part)
{
    size_t n = 0;

    if (whole->is_map != part->is_map)
        return 0;
    for (size_t i = 0; i < part->keys.n; i++) {
        size_t at = find_key(whole, part->keys.v[i]);

        n += at != SIZE_MAX && (!whole->is_map || strcmp(whole->values.v[at], part->values.v[i]) == 0);
    }
    return n;
}

static bool number_of(const struct kvmig__ovsdb_value *value, double *out_number)
{
    char *end;

    if (value->is_map || value->keys.n != 1 || !*value->keys.v[0])
        return false;
    *out_number = strtod(value->keys.v[0], &end);
    return *end == '\0';
}

static bool compare_numbers(const char *function, const struct kvmig__ovsdb_value *a,
                            const struct kvmig__ovsdb_value *b)
{
    double x, y;

    if (!number_of(a, &x) || !number_of(b, &y))
        return false;
    if (strcmp(function, "<") == 0)
        return x < y;
    if (strcmp(function, "<=") == 0)
        return x <= y;
    if (strcmp(function, ">") == 0)
        return x > y;
    return strcmp(function, ">=") == 0 && x >= y;
}

static bool holds(const char *function, const struct kvmig__ovsdb_value *value, const struct kvmig__ovsdb_value *wanted)
{
    size_t n = common(value, wanted);
    bool equal = n == wanted->keys.n && n == value->keys.n;

    if (strcmp(function, "==") == 0)
        return equal;
    if (strcmp(function, "!=") == 0)
        return !equal;
    if (strcmp(function, "includes") == 0)
        return n == wanted->keys.n;
    if (strcmp(function, "excludes") == 0)
        return n == 0;
    return compare_numbers(function, value, wanted);
}

static bool column_of(const char *column, const char *uuid, struct json_object *row,
                      struct kvmig__ovsdb_value *out_value)
{
    struct json_object *json;

    *out_value = (struct kvmig__ovsdb_value){ 0 };
    if (strcmp(column, "_uuid") == 0) {
        kvmig__strlist_add(&out_value->keys, uuid);
        return true;
    }
    return json_object_object_get_ex(row, column, &json) && kvmig__ovsdb_value_decode(json, out_value);
}

static bool clause_matches(struct json_object *clause, const char *uuid, struct json_object *row)
{
    struct json_object *column, *function;
    struct kvmig__ovsdb_value value = { 0 }, wanted = { 0 };
    bool matches;

    if (json_object_is_type(clause, json_type_boolean))
        return json_object_get_boolean(clause);
    if (!json_object_is_type(clause, json_type_array) || json_object_array_length(clause) != 3)
        return false;
    column = json_object_array_get_idx(clause, 0);
    function = json_object_array_get_idx(clause, 1);
    if (!json_object_is_type(column, json_type_string) || !json_object_is_type(function, json_type_string))
        return false;
    matches = column_of(json_object_get_string(column), uuid, row, &value) &&
              kvmig__ovsdb_value_decode(json_object_array_get_idx(clause, 2), &wanted) &&
              holds(json_object_get_string(function), &value, &wanted);
    kvmig__ovsdb_value_clear(&value);
    kvmig__ovsdb_value_clear(&wanted);
    return matches;
}

bool kvmig__ovsdb_filter_match(struct json_object *where, const char *uuid, struct json_object *row)
{
    if (!where)
        return true;
    for (size_t i = 0; i < json_object_array_length(where); i++) {
        if (clause_matches(json_object_array_get_idx(where, i), uuid, row))
            return true;
    }
    return false;
}
