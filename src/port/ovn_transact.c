/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the machine's orders to operations of OVSDB (RFC 7047 section 5.2). Every edit is guarded, and all of them go
 * into one transaction, so it is all or nothing; only our own four keys are touched, so that what other writers add to
 * the maps survives. Pure but for json-c: any thread; what is returned belongs to the caller.
 */
#include "port/ovn_port.h"

#include <stdlib.h>

#define LSP_TABLE "Logical_Switch_Port"
#define OWNER_KEY "kvmig-owner"
#define PREVIOUS_KEY "kvmig-previous"
#define REQUESTED_KEY "requested-chassis"
#define STRATEGY_KEY "activation-strategy"

static struct json_object *operation(const char *op, const char *table)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "op", json_object_new_string(op));
    json_object_object_add(object, "table", json_object_new_string(table));
    return object;
}

static struct json_object *strings(const char *const *v, size_t n)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < n; i++)
        json_object_array_add(array, json_object_new_string(v[i]));
    return array;
}

/* [["_uuid", "==", ["uuid", "..."]]], to which more clauses may be added. */
static struct json_object *where_uuid(const char *uuid)
{
    struct json_object *where = json_object_new_array();

    json_object_array_add(where, kvmig__ovsdb_json_clause("_uuid", "==", kvmig__ovsdb_json_uuid(uuid)));
    return where;
}

static struct json_object *includes(const char *column, const char *key, const char *value)
{
    const char *const pair[] = { key, value };

    return kvmig__ovsdb_json_clause(column, "includes", kvmig__ovsdb_json_map(pair, 1));
}

/* ---- guards ---- */

/* A "wait" that does not wait: it holds now, or the transaction is refused. columns and row are taken. */
static void add_wait(struct json_object *operations, struct json_object *where, struct json_object *columns,
                     struct json_object *row)
{
    struct json_object *wait = operation("wait", LSP_TABLE), *rows = json_object_new_array();

    json_object_array_add(rows, row);
    json_object_object_add(wait, "timeout", json_object_new_int(0));
    json_object_object_add(wait, "where", where);
    json_object_object_add(wait, "columns", columns);
    json_object_object_add(wait, "until", json_object_new_string("=="));
    json_object_object_add(wait, "rows", rows);
    json_object_array_add(operations, wait);
}

static struct json_object *map_of(const struct kvmig__ovsdb_row *row, const char *column)
{
    const struct kvmig__ovsdb_value *value = kvmig__ovsdb_column(row, column);
    const size_t n = value && value->is_map ? value->keys.n : 0;
    const char **pairs = n ? kvmig__calloc(2 * n, sizeof(*pairs)) : NULL;
    struct json_object *map;

    for (size_t i = 0; i < n; i++) {
        pairs[2 * i] = value->keys.v[i];
        pairs[2 * i + 1] = value->values.v[i];
    }
    map = kvmig__ovsdb_json_map(pairs, n);
    free(pairs);
    return map;
}

/* Both maps are, in whole, what they were when the decision was made. The only way to say that a key is not there. */
static void add_exact_guard(struct json_object *operations, const char *uuid, const struct kvmig__ovsdb_row *row)
{
    static const char *const columns[] = { "options", "external_ids" };
    struct json_object *expected = json_object_new_object();

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(columns); i++)
        json_object_object_add(expected, columns[i], map_of(row, columns[i]));
    add_wait(operations, where_uuid(uuid), strings(columns, KVMIG__N_ELEMENTS(columns)), expected);
}

/* A row that fulfils the conditions is there: the condition is in where, and rows only repeats what where says. */
static void add_pair_guard(struct json_object *operations, const struct kvmig__ovn_edit *edit, const char *name)
{
    static const char *const columns[] = { "name" };
    struct json_object *where = where_uuid(edit->uuid), *expected = json_object_new_object();

    json_object_array_add(where, includes("external_ids", OWNER_KEY, edit->if_owner));
    json_object_array_add(where, includes("options", REQUESTED_KEY, edit->if_requested));
    if (edit->if_previous) /* the same owner may have prepared the port anew meanwhile */
        json_object_array_add(where, includes("external_ids", PREVIOUS_KEY, edit->if_previous));
    json_object_object_add(expected, "name", json_object_new_string(name));
    add_wait(operations, where, strings(columns, KVMIG__N_ELEMENTS(columns)), expected);
}

/* ---- edits ---- */

static void add_mutation(struct json_object *mutations, const char *column, const char *mutator,
                         struct json_object *value)
{
    json_object_array_add(mutations, kvmig__ovsdb_json_clause(column, mutator, value));
}

/* Sets two keys of a map; NULL removes one. An insert does not overwrite, so both are deleted first, in order. */
static void add_pair(struct json_object *mutations, const char *column, const char *const keys[2],
                     const char *const values[2])
{
    const char *pairs[4];
    size_t n = 0;

    add_mutation(mutations, column, "delete", kvmig__ovsdb_json_set(keys, 2));
    for (size_t i = 0; i < 2; i++) {
        if (!values[i])
            continue;
        pairs[2 * n] = keys[i];
        pairs[2 * n + 1] = values[i];
        n++;
    }
    if (n)
        add_mutation(mutations, column, "insert", kvmig__ovsdb_json_map(pairs, n));
}

void kvmig__ovn_add_edit(struct json_object *operations, const struct kvmig__ovn_edit *edit,
                         const struct kvmig__ovsdb_row *row)
{
    static const char *const option_keys[2] = { REQUESTED_KEY, STRATEGY_KEY };
    static const char *const id_keys[2] = { OWNER_KEY, PREVIOUS_KEY };
    const char *const options[2] = { edit->requested_chassis, edit->activation_strategy };
    const char *const ids[2] = { edit->owner, edit->previous };
    struct json_object *mutate = operation("mutate", LSP_TABLE), *mutations = json_object_new_array();

    if (edit->exact)
        add_exact_guard(operations, edit->uuid, row);
    else
        add_pair_guard(operations, edit, kvmig__ovsdb_str(row, "name"));
    add_pair(mutations, "options", option_keys, options);
    add_pair(mutations, "external_ids", id_keys, ids);
    json_object_object_add(mutate, "where", where_uuid(edit->uuid));
    json_object_object_add(mutate, "mutations", mutations);
    json_object_array_add(operations, mutate);
}

void kvmig__ovn_add_comment(struct json_object *operations, const char *write, const char *owner)
{
    struct json_object *comment = json_object_new_object();
    char *text = kvmig__asprintf("kvmig %s %s", write, owner);

    json_object_object_add(comment, "op", json_object_new_string("comment"));
    json_object_object_add(comment, "comment", json_object_new_string(text));
    json_object_array_add(operations, comment);
    free(text);
}

/* ---- the barrier ---- */

static void add_select(struct json_object *operations)
{
    static const char *const columns[] = { "nb_cfg" };
    struct json_object *select = operation("select", "NB_Global");

    json_object_object_add(select, "where", json_object_new_array());
    json_object_object_add(select, "columns", strings(columns, KVMIG__N_ELEMENTS(columns)));
    json_object_array_add(operations, select);
}

struct json_object *kvmig__ovn_bump_operations(void)
{
    struct json_object *operations = json_object_new_array(), *mutate = operation("mutate", "NB_Global");
    struct json_object *mutations = json_object_new_array();

    add_mutation(mutations, "nb_cfg", "+=", json_object_new_int(1));
    json_object_object_add(mutate, "where", json_object_new_array());
    json_object_object_add(mutate, "mutations", mutations);
    json_object_array_add(operations, mutate);
    add_select(operations);
    return operations;
}

bool kvmig__ovn_bump_result(struct json_object *results, int64_t *out_nb_cfg)
{
    struct json_object *rows, *value, *select = NULL;

    if (json_object_is_type(results, json_type_array) && json_object_array_length(results) >= 2)
        select = json_object_array_get_idx(results, 1);
    if (!json_object_object_get_ex(select, "rows", &rows) || !json_object_is_type(rows, json_type_array) ||
        json_object_array_length(rows) != 1 ||
        !json_object_object_get_ex(json_object_array_get_idx(rows, 0), "nb_cfg", &value) ||
        !json_object_is_type(value, json_type_int))
        return false;
    *out_nb_cfg = json_object_get_int64(value);
    return true;
}

struct json_object *kvmig__ovn_look_operations(void)
{
    struct json_object *operations = json_object_new_array();

    add_select(operations);
    return operations;
}
