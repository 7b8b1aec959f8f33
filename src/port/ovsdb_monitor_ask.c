/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a monitor asks a server for: its tables, columns and conditions as far as the schema has them. Only builds
 * JSON, which belongs to the caller. Needs the context lock.
 */
#include "port/ovsdb_private.h"

#include <string.h>

/* The column of a clause that is one, else NULL. */
static const char *clause_column(struct json_object *clause)
{
    struct json_object *column;

    if (!json_object_is_type(clause, json_type_array))
        return NULL;
    column = json_object_array_get_idx(clause, 0);
    return json_object_is_type(column, json_type_string) ? json_object_get_string(column) : NULL;
}

/* The conditions as the server may see them: without clauses on columns that it does not have, which match no row.
 * For a server an empty list means all rows, for us none, so neither is left to that. */
static struct json_object *where_request(const struct kvmig__ovsdb *db, const struct kvmig__ovsdb_table *table)
{
    struct json_object *where = json_object_new_array();

    for (size_t i = 0; table->where && i < json_object_array_length(table->where); i++) {
        struct json_object *clause = json_object_array_get_idx(table->where, i);
        const char *column = clause_column(clause);

        if (!column || kvmig__ovsdb_schema_has_column(db->schema, table->name, column))
            json_object_array_add(where, json_object_get(clause));
    }
    if (json_object_array_length(where) == 0)
        json_object_array_add(where, json_object_new_boolean(!table->where));
    return where;
}

static struct json_object *columns_request(const struct kvmig__ovsdb_monitor *monitor,
                                           const struct kvmig__ovsdb_monitored *monitored)
{
    const struct kvmig__ovsdb_table *table = &monitored->spec;
    struct json_object *columns = json_object_new_array();
    struct kvmig__strlist names = { 0 };

    for (size_t i = 0; i < monitored->rows.n_columns; i++) {
        if (monitored->rows.types[i].known)
            kvmig__strlist_add_new(&names, table->columns[i]);
    }
    /* What we judge rows by must come with them. */
    for (size_t i = 0;
         monitor->method == KVMIG__MONITOR_PLAIN && table->where && i < json_object_array_length(table->where); i++) {
        const char *column = clause_column(json_object_array_get_idx(table->where, i));

        if (column && kvmig__ovsdb_schema_type(monitor->db->schema, table->name, column).known)
            kvmig__strlist_add_new(&names, column);
    }
    for (size_t i = 0; i < names.n; i++)
        json_object_array_add(columns, json_object_new_string(names.v[i]));
    kvmig__strlist_clear(&names);
    return columns;
}

static void add_table(struct json_object *requests, const char *table, struct json_object *request)
{
    struct json_object *list = json_object_new_array();

    json_object_array_add(list, request);
    json_object_object_add(requests, table, list);
}

/* Of all tables that the schema has. */
struct json_object *kvmig__ovsdb_first_requests(struct kvmig__ovsdb_monitor *monitor)
{
    struct json_object *requests = json_object_new_object();

    for (size_t i = 0; i < monitor->n_tables; i++) {
        struct kvmig__ovsdb_monitored *monitored = &monitor->tables[i];
        struct json_object *request;

        kvmig__ovsdb_rows_set_schema(&monitored->rows, monitor->db->schema);
        monitored->changed = false;
        if (!kvmig__ovsdb_schema_has_table(monitor->db->schema, monitored->spec.name))
            continue;
        request = json_object_new_object();
        json_object_object_add(request, "columns", columns_request(monitor, monitored));
        if (monitor->method != KVMIG__MONITOR_PLAIN)
            json_object_object_add(request, "where", where_request(monitor->db, &monitored->spec));
        add_table(requests, monitored->spec.name, request);
    }
    return requests;
}

/* Of the tables whose conditions were changed. */
struct json_object *kvmig__ovsdb_change_requests(struct kvmig__ovsdb_monitor *monitor)
{
    struct json_object *requests = json_object_new_object();

    for (size_t i = 0; i < monitor->n_tables; i++) {
        struct kvmig__ovsdb_monitored *monitored = &monitor->tables[i];
        struct json_object *request;

        if (!monitored->changed)
            continue;
        monitored->changed = false;
        if (!kvmig__ovsdb_schema_has_table(monitor->db->schema, monitored->spec.name))
            continue;
        request = json_object_new_object();
        json_object_object_add(request, "where", where_request(monitor->db, &monitored->spec));
        add_table(requests, monitored->spec.name, request);
    }
    return requests;
}
