/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rows of one table of a monitor, kept by UUID, and how updates change them. What a server sends is not believed:
 * a value that is not of its column's type, a change of a row that is not there, or more rows than the budget allows
 * ends in an error. Any thread; rows belong to the struct and stay where they are until the next update.
 *
 * A row that is inserted although it is there, or deleted although it is not, is no error: what results is the same.
 */
#include "port/ovsdb_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void kvmig__ovsdb_rows_init(struct kvmig__ovsdb_rows *rows, const char *table, const char *const *names)
{
    *rows = (struct kvmig__ovsdb_rows){ .table = table, .names = names };
    while (names[rows->n_columns])
        rows->n_columns++;
    rows->types = kvmig__calloc(rows->n_columns, sizeof(*rows->types));
}

void kvmig__ovsdb_rows_set_schema(struct kvmig__ovsdb_rows *rows, struct json_object *schema)
{
    for (size_t i = 0; i < rows->n_columns; i++)
        rows->types[i] = kvmig__ovsdb_schema_type(schema, rows->table, rows->names[i]);
}

static void free_row(struct kvmig__ovsdb_row *row)
{
    if (!row)
        return;
    for (size_t i = 0; i < row->columns.n; i++)
        kvmig__ovsdb_value_clear(&row->columns.v[i]);
    free(row->columns.v);
    free(row->uuid);
    free(row);
}

static size_t list_bytes(const struct kvmig__strlist *list)
{
    size_t bytes = 0;

    for (size_t i = 0; i < list->n; i++)
        bytes += strlen(list->v[i]) + 1 + sizeof(char *);
    return bytes;
}

static size_t row_bytes(const struct kvmig__ovsdb_row *row)
{
    size_t bytes = sizeof(*row) + KVMIG__UUID_SIZE + row->columns.n * sizeof(*row->columns.v);

    for (size_t i = 0; i < row->columns.n; i++)
        bytes += list_bytes(&row->columns.v[i].keys) + list_bytes(&row->columns.v[i].values);
    return bytes;
}

static void release_row(struct kvmig__ovsdb_row *row, struct kvmig__ovsdb_budget *budget)
{
    budget->rows--;
    budget->bytes -= row_bytes(row);
    free_row(row);
}

void kvmig__ovsdb_rows_drop(struct kvmig__ovsdb_rows *rows, struct kvmig__ovsdb_budget *budget)
{
    for (size_t i = 0; i < rows->n; i++)
        release_row(rows->v[i], budget);
    free(rows->v);
    rows->v = NULL;
    rows->n = 0;
}

void kvmig__ovsdb_rows_clear(struct kvmig__ovsdb_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        free_row(rows->v[i]);
    free(rows->v);
    free(rows->types);
    *rows = (struct kvmig__ovsdb_rows){ 0 };
}

/* ---- finding ---- */

static int compare_key(const void *uuid, const void *element)
{
    return strcmp(uuid, (*(struct kvmig__ovsdb_row *const *)element)->uuid);
}

static int compare_rows(const void *a, const void *b)
{
    return strcmp((*(struct kvmig__ovsdb_row *const *)a)->uuid, (*(struct kvmig__ovsdb_row *const *)b)->uuid);
}

static struct kvmig__ovsdb_row **find(const struct kvmig__ovsdb_rows *rows, const char *uuid)
{
    return rows->n ? bsearch(uuid, rows->v, rows->n, sizeof(*rows->v), compare_key) : NULL;
}

const struct kvmig__ovsdb_row *kvmig__ovsdb_rows_find(const struct kvmig__ovsdb_rows *rows, const char *uuid)
{
    struct kvmig__ovsdb_row **found = uuid ? find(rows, uuid) : NULL;

    return found ? *found : NULL;
}

/* ---- one update ---- */

/* While an update is applied, rows that go are marked and new ones gathered, so that the array is put in order only
 * once. */
struct change {
    struct kvmig__ovsdb_rows *rows;
    struct kvmig__ovsdb_budget *budget;
    enum kvmig__ovsdb_format format;
    struct json_object *filter;
    const char *where;
    bool *gone; /* beside rows->v */
    struct {
        struct kvmig__ovsdb_row **v;
        size_t n;
    } added;
};

static struct kvmig_error *broken(const struct change *change, const char *uuid, const char *column, const char *what)
{
    char *evidence = kvmig__asprintf("table %s, row %.40s%s%s: %s", change->rows->table, uuid,
                                     column ? ", column " : "", column ? column : "", what);
    struct kvmig_error *error = kvmig__error_new(
        -KVMIG_EJSON, change->where, evidence,
        "The rows are asked for again; if this comes back, the server is broken or not an OVSDB server.",
        "The server sent an update that cannot be right.");

    free(evidence);
    return error;
}

static struct kvmig_error *check_budget(const struct change *change)
{
    const struct kvmig__ovsdb_budget *budget = change->budget;
    struct kvmig_error *error;
    char *evidence;

    if (budget->rows <= budget->max_rows && budget->bytes <= budget->max_bytes)
        return NULL;
    evidence = kvmig__asprintf("table %s: %zu rows and %zu bytes so far, at most %zu rows and %zu bytes are kept",
                               change->rows->table, budget->rows, budget->bytes, budget->max_rows, budget->max_bytes);
    error = kvmig__error_new(-EFBIG, change->where, evidence, "Ask for fewer rows, or check what fills the table.",
                             "The server has more rows than a monitor may hold.");
    free(evidence);
    return error;
}

/* A new row of all columns; those that json lacks have the default. */
static struct kvmig_error *decode_row(const struct change *change, const char *uuid, struct json_object *json,
                                      struct kvmig__ovsdb_row **out_row)
{
    const struct kvmig__ovsdb_rows *rows = change->rows;
    struct kvmig__ovsdb_row *row;

    *out_row = NULL;
    if (!json_object_is_type(json, json_type_object))
        return broken(change, uuid, NULL, "its columns are not an object");
    row = kvmig__calloc(1, sizeof(*row));
    row->uuid = kvmig__strdup(uuid);
    row->names = rows->names;
    row->columns.n = rows->n_columns;
    row->columns.v = kvmig__calloc(rows->n_columns, sizeof(*row->columns.v));
    for (size_t i = 0; i < rows->n_columns; i++) {
        struct json_object *value;

        if (!rows->types[i].known)
            continue;
        if (!json_object_object_get_ex(json, rows->names[i], &value)) {
            kvmig__ovsdb_type_default(&rows->types[i], &row->columns.v[i]);
        } else if (!kvmig__ovsdb_type_decode(&rows->types[i], value, &row->columns.v[i])) {
            free_row(row);
            return broken(change, uuid, rows->names[i], "a value of another type than the schema's");
        }
    }
    *out_row = row;
    return NULL;
}

static void remove_row(struct change *change, const char *uuid)
{
    struct kvmig__ovsdb_row **found = find(change->rows, uuid);

    if (found)
        change->gone[found - change->rows->v] = true;
}

static struct kvmig_error *put_row(struct change *change, const char *uuid, struct json_object *json)
{
    struct kvmig__ovsdb_row **found = find(change->rows, uuid), *row;
    struct kvmig_error *error = decode_row(change, uuid, json, &row);

    if (error)
        return error;
    change->budget->rows++;
    change->budget->bytes += row_bytes(row);
    if (found) {
        release_row(*found, change->budget);
        *found = row;
    } else {
        *KVMIG__PUSH(&change->added) = row;
    }
    return check_budget(change);
}

static struct kvmig_error *modify_row(struct change *change, const char *uuid, struct json_object *diff)
{
    const struct kvmig__ovsdb_rows *rows = change->rows;
    struct kvmig__ovsdb_row **found = find(rows, uuid);
    struct kvmig_error *error = NULL;

    if (!found)
        return broken(change, uuid, NULL, "it is changed but was never sent");
    if (!json_object_is_type(diff, json_type_object))
        return broken(change, uuid, NULL, "its changes are not an object");
    change->budget->bytes -= row_bytes(*found);
    for (size_t i = 0; !error && i < rows->n_columns; i++) {
        struct json_object *value;

        if (rows->types[i].known && json_object_object_get_ex(diff, rows->names[i], &value) &&
            !kvmig__ovsdb_type_apply(&rows->types[i], &(*found)->columns.v[i], value))
            error = broken(change, uuid, rows->names[i], "a change that does not fit the column");
    }
    change->budget->bytes += row_bytes(*found);
    return error ? error : check_budget(change);
}

/* {"old": ..., "new": ...}: "new" is complete; without it the row is gone. */
static struct kvmig_error *apply_update(struct change *change, const char *uuid, struct json_object *update)
{
    struct json_object *new;

    if (json_object_object_get_ex(update, "new", &new)) {
        if (!json_object_is_type(new, json_type_object))
            return broken(change, uuid, NULL, "its columns are not an object");
        if (kvmig__ovsdb_filter_match(change->filter, uuid, new))
            return put_row(change, uuid, new);
    } else if (!json_object_object_get_ex(update, "old", NULL)) {
        return broken(change, uuid, NULL, "neither old nor new");
    }
    remove_row(change, uuid);
    return NULL;
}

static struct kvmig_error *apply_update2(struct change *change, const char *uuid, struct json_object *update)
{
    struct json_object *content;

    if (json_object_object_get_ex(update, "initial", &content) || json_object_object_get_ex(update, "insert", &content))
        return put_row(change, uuid, content);
    if (json_object_object_get_ex(update, "modify", &content))
        return modify_row(change, uuid, content);
    if (!json_object_object_get_ex(update, "delete", NULL))
        return broken(change, uuid, NULL, "none of initial, insert, modify and delete");
    remove_row(change, uuid);
    return NULL;
}

static struct kvmig_error *apply_row(struct change *change, const char *uuid, struct json_object *update)
{
    if (!kvmig__is_uuid(uuid))
        return broken(change, uuid, NULL, "that is no UUID");
    if (!json_object_is_type(update, json_type_object))
        return broken(change, uuid, NULL, "its update is not an object");
    return change->format == KVMIG__OVSDB_UPDATE ? apply_update(change, uuid, update)
                                                 : apply_update2(change, uuid, update);
}

/* Takes the marked rows out and puts the new ones in. */
static void settle(struct change *change)
{
    struct kvmig__ovsdb_rows *rows = change->rows;
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++) {
        if (change->gone[i])
            release_row(rows->v[i], change->budget);
        else
            rows->v[n++] = rows->v[i];
    }
    rows->n = n;
    if (change->added.n) {
        rows->v = kvmig__realloc_array(rows->v, n + change->added.n, sizeof(*rows->v));
        memcpy(rows->v + n, change->added.v, change->added.n * sizeof(*rows->v));
        rows->n += change->added.n;
        qsort(rows->v, rows->n, sizeof(*rows->v), compare_rows);
    }
    free(change->added.v);
    free(change->gone);
}

struct kvmig_error *kvmig__ovsdb_rows_apply(struct kvmig__ovsdb_rows *rows, struct kvmig__ovsdb_budget *budget,
                                            enum kvmig__ovsdb_format format, struct json_object *updates,
                                            struct json_object *filter, const char *where)
{
    struct change change = { .rows = rows, .budget = budget, .format = format, .filter = filter, .where = where };
    struct kvmig_error *error = NULL;

    if (!json_object_is_type(updates, json_type_object))
        return broken(&change, "*", NULL, "its updates are not an object");
    change.gone = kvmig__calloc(rows->n, sizeof(*change.gone));
    json_object_object_foreach(updates, uuid, update)
    {
        error = apply_row(&change, uuid, update);
        if (error)
            break;
    }
    settle(&change);
    return error;
}
