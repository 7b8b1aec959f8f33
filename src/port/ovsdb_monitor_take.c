/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a server says to a monitor, taken into its rows, and reading them. Sends nothing and ends nothing: what is
 * wrong with a message is returned. Needs the context lock.
 */
#include "port/ovsdb_private.h"

#include <stdlib.h>
#include <string.h>

static struct kvmig__ovsdb_monitored *find_table(struct kvmig__ovsdb_monitor *monitor, const char *name)
{
    for (size_t i = 0; i < monitor->n_tables; i++) {
        if (strcmp(monitor->tables[i].spec.name, name) == 0)
            return &monitor->tables[i];
    }
    return NULL;
}

static struct kvmig_error *malformed(const struct kvmig__ovsdb_monitor *monitor, const char *what)
{
    return kvmig__ovsdb_fault(monitor->db, -KVMIG_EJSON, what, "Check that an OVSDB server listens there.",
                              "The server's message about rows is not one.");
}

/* {table: {uuid: update}} */
static struct kvmig_error *apply_tables(struct kvmig__ovsdb_monitor *monitor, struct json_object *updates)
{
    enum kvmig__ovsdb_format format =
        monitor->method == KVMIG__MONITOR_PLAIN ? KVMIG__OVSDB_UPDATE : KVMIG__OVSDB_UPDATE2;
    struct kvmig_error *error = NULL;
    char *place;

    if (!json_object_is_type(updates, json_type_object))
        return malformed(monitor, "the updates of its tables are not an object");
    place = kvmig__ovsdb_place(monitor->db);
    json_object_object_foreach(updates, name, table_updates)
    {
        struct kvmig__ovsdb_monitored *monitored = find_table(monitor, name);

        if (!monitored)
            error = malformed(monitor, "there is a table that was not asked for");
        else
            error = kvmig__ovsdb_rows_apply(&monitored->rows, &monitor->budget, format, table_updates,
                                            monitored->spec.where, place);
        if (error)
            break;
    }
    free(place);
    return error;
}

/* Rows instead of those that were there, which come back if the new ones are broken. */
static struct kvmig_error *replace_tables(struct kvmig__ovsdb_monitor *monitor, struct json_object *updates)
{
    struct kvmig__ovsdb_rows *before = kvmig__calloc(monitor->n_tables, sizeof(*before));
    struct kvmig__ovsdb_budget budget_before = monitor->budget;
    struct kvmig_error *error;

    monitor->budget.rows = monitor->budget.bytes = 0;
    for (size_t i = 0; i < monitor->n_tables; i++) {
        before[i] = monitor->tables[i].rows;
        monitor->tables[i].rows.v = NULL;
        monitor->tables[i].rows.n = 0;
    }
    error = apply_tables(monitor, updates);
    for (size_t i = 0; i < monitor->n_tables; i++) {
        struct kvmig__ovsdb_rows *rows = &monitor->tables[i].rows;

        if (error) {
            kvmig__ovsdb_rows_drop(rows, &monitor->budget);
            *rows = before[i];
        } else {
            kvmig__ovsdb_rows_drop(&before[i], &budget_before);
        }
    }
    if (error)
        monitor->budget = budget_before;
    free(before);
    return error;
}

static bool take_txn(struct kvmig__ovsdb_monitor *monitor, struct json_object *txn)
{
    if (!json_object_is_type(txn, json_type_string) || !kvmig__is_uuid(json_object_get_string(txn)))
        return false;
    memcpy(monitor->last_txn, json_object_get_string(txn), sizeof(monitor->last_txn));
    return true;
}

/* The first rows: [found, last transaction, rows] from monitor_cond_since, else the rows alone. */
struct kvmig_error *kvmig__ovsdb_take_first_rows(struct kvmig__ovsdb_monitor *monitor, struct json_object *result)
{
    struct json_object *found;

    if (monitor->method != KVMIG__MONITOR_COND_SINCE) {
        /* Rows of a method that knows no transactions: what was remembered before says nothing about them. */
        memcpy(monitor->last_txn, KVMIG__OVSDB_NO_TXN, sizeof(monitor->last_txn));
        return replace_tables(monitor, result);
    }
    if (!json_object_is_type(result, json_type_array) || json_object_array_length(result) != 3)
        return malformed(monitor, "the answer to monitor_cond_since has not three parts");
    found = json_object_array_get_idx(result, 0);
    if (!json_object_is_type(found, json_type_boolean) || !take_txn(monitor, json_object_array_get_idx(result, 1)))
        return malformed(monitor, "the answer to monitor_cond_since has parts of other types");
    return json_object_get_boolean(found) ? apply_tables(monitor, json_object_array_get_idx(result, 2))
                                          : replace_tables(monitor, json_object_array_get_idx(result, 2));
}

struct kvmig_error *kvmig__ovsdb_take_update(struct kvmig__ovsdb_monitor *monitor, const char *method,
                                             struct json_object *params)
{
    static const char *const methods[] = { "update3", "update2", "update" };
    size_t n = monitor->method == KVMIG__MONITOR_COND_SINCE ? 3 : 2;

    if (strcmp(method, methods[monitor->method]) != 0 || json_object_array_length(params) != n)
        return malformed(monitor, "an update of another form than that of the monitor");
    if (monitor->state == KVMIG__MONITOR_ASKED)
        return malformed(monitor, "an update before the first rows");
    if (n == 3 && !take_txn(monitor, json_object_array_get_idx(params, 1)))
        return malformed(monitor, "the last transaction of an update is not a UUID");
    return apply_tables(monitor, json_object_array_get_idx(params, n - 1));
}

/* ---- reading ---- */

bool kvmig__ovsdb_monitor_is_current(const struct kvmig__ovsdb_monitor *monitor)
{
    return monitor->state == KVMIG__MONITOR_LIVE;
}

size_t kvmig__ovsdb_row_count(const struct kvmig__ovsdb_monitor *monitor, size_t table)
{
    return monitor->tables[table].rows.n;
}

const struct kvmig__ovsdb_row *kvmig__ovsdb_row(const struct kvmig__ovsdb_monitor *monitor, size_t table, size_t index)
{
    return index < monitor->tables[table].rows.n ? monitor->tables[table].rows.v[index] : NULL;
}

const struct kvmig__ovsdb_row *kvmig__ovsdb_row_by_uuid(const struct kvmig__ovsdb_monitor *monitor, size_t table,
                                                        const char *uuid)
{
    return kvmig__ovsdb_rows_find(&monitor->tables[table].rows, uuid);
}
