/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Monitors: a copy of the rows that somebody needs, kept over reconnects. Asks by the best method that a server knows
 * (monitor_cond_since, monitor_cond, monitor), takes updates in, and changes conditions. Needs the context lock; runs
 * in dispatch.
 *
 * A monitor belongs to whoever made it; the client only links it. Rows stay readable while no server is there, marked
 * as not current. An update that cannot be right ends the connection, and the next one gets all rows anew; what is
 * kept until then may have half of that update.
 *
 * For servers that only know "monitor" (Open vSwitch 2.5 and older), which has no conditions, the whole table comes
 * over the wire, but only rows that match are kept (ovsdb_filter.c); the limit of a message is what bounds the rest.
 */
#include "port/ovsdb_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void start(struct kvmig__ovsdb_monitor *monitor);

static void mark(struct kvmig__ovsdb_monitor *monitor)
{
    monitor->marked = true;
    kvmig__ovsdb_deliver_soon(monitor->db);
}

/* The next connection gets all rows anew. */
static void give_up(struct kvmig__ovsdb_monitor *monitor, struct kvmig_error *error)
{
    monitor->resumable = false;
    kvmig__ovsdb_drop(monitor->db, error);
}

static void nothing_to_do(void *data, struct json_object *result, struct json_object *server_error, bool lost)
{
    (void)data;
    (void)result;
    (void)server_error;
    (void)lost;
}

/* Ends it on the server. Updates that are on their way have an id that nobody knows any more. */
static void cancel(struct kvmig__ovsdb_monitor *monitor)
{
    struct kvmig__ovsdb *db = monitor->db;
    struct json_object *params;

    if (monitor->request)
        kvmig__ovsdb_rpc_forget(db->rpc, monitor->request);
    if (monitor->id[0]) {
        params = json_object_new_array();
        json_object_array_add(params, json_object_new_string(monitor->id));
        kvmig__ovsdb_rpc_request(db->rpc, "monitor_cancel", params, nothing_to_do, NULL);
    }
    monitor->request = 0;
    monitor->id[0] = '\0';
    monitor->state = KVMIG__MONITOR_OFF;
}

/* ---- what the server says ---- */

static void change(struct kvmig__ovsdb_monitor *monitor);

static bool has_changed_table(const struct kvmig__ovsdb_monitor *monitor)
{
    for (size_t i = 0; i < monitor->n_tables; i++) {
        if (monitor->tables[i].changed)
            return true;
    }
    return false;
}

/* The server has done what it was asked for; is there more to ask? */
static void settle(struct kvmig__ovsdb_monitor *monitor)
{
    if (has_changed_table(monitor)) {
        change(monitor);
        return;
    }
    monitor->state = KVMIG__MONITOR_LIVE;
    monitor->resumable = true;
    mark(monitor);
}

static void refused(struct kvmig__ovsdb_monitor *monitor, struct json_object *server_error)
{
    char *text;

    if (kvmig__ovsdb_error_says(server_error, "unknown method") && monitor->method < KVMIG__MONITOR_PLAIN) {
        if (monitor->db->method == monitor->method)
            monitor->db->method = monitor->method + 1;
        start(monitor);
        kvmig__ovsdb_progress(monitor->db);
        return;
    }
    text = kvmig__ovsdb_error_text(server_error);
    give_up(monitor, kvmig__ovsdb_fault(monitor->db, -EPROTO, text, "Check the version of the server.",
                                        "The server refuses to send rows of table %s.", monitor->tables[0].spec.name));
    free(text);
}

static void got_first_rows(void *data, struct json_object *result, struct json_object *server_error, bool lost)
{
    struct kvmig__ovsdb_monitor *monitor = data;
    struct kvmig_error *error;

    if (lost)
        return;
    monitor->request = 0;
    if (server_error) {
        refused(monitor, server_error);
        return;
    }
    error = kvmig__ovsdb_take_first_rows(monitor, result);
    if (error) {
        give_up(monitor, error);
        return;
    }
    settle(monitor);
    kvmig__ovsdb_progress(monitor->db);
}

static void start(struct kvmig__ovsdb_monitor *monitor)
{
    static const char *const methods[] = { "monitor_cond_since", "monitor_cond", "monitor" };
    struct kvmig__ovsdb *db = monitor->db;
    struct json_object *params, *requests;

    monitor->method = db->method;
    requests = kvmig__ovsdb_first_requests(monitor);
    if (json_object_object_length(requests) == 0) {
        json_object_put(requests);
        for (size_t i = 0; i < monitor->n_tables; i++)
            kvmig__ovsdb_rows_drop(&monitor->tables[i].rows, &monitor->budget);
        settle(monitor);
        return;
    }
    snprintf(monitor->id, sizeof(monitor->id), "kvmig-%" PRIu64, ++db->last_monitor_id);
    params = json_object_new_array();
    json_object_array_add(params, json_object_new_string(db->database));
    json_object_array_add(params, json_object_new_string(monitor->id));
    json_object_array_add(params, requests);
    if (monitor->method == KVMIG__MONITOR_COND_SINCE)
        json_object_array_add(params,
                              json_object_new_string(monitor->resumable ? monitor->last_txn : KVMIG__OVSDB_NO_TXN));
    monitor->state = KVMIG__MONITOR_ASKED;
    monitor->request = kvmig__ovsdb_rpc_request(db->rpc, methods[monitor->method], params, got_first_rows, monitor);
}

/* ---- other conditions ---- */

static void got_change(void *data, struct json_object *result, struct json_object *server_error, bool lost)
{
    struct kvmig__ovsdb_monitor *monitor = data;

    (void)result;
    if (lost)
        return;
    monitor->request = 0;
    if (server_error) {
        cancel(monitor);
        start(monitor);
    } else {
        settle(monitor);
    }
    kvmig__ovsdb_progress(monitor->db);
}

/* Tells the server the conditions that it does not know yet; one that cannot change them gets a new monitor. */
static void change(struct kvmig__ovsdb_monitor *monitor)
{
    struct json_object *params, *requests;

    if (monitor->method == KVMIG__MONITOR_PLAIN) {
        cancel(monitor);
        start(monitor);
        return;
    }
    requests = kvmig__ovsdb_change_requests(monitor);
    if (json_object_object_length(requests) == 0) {
        json_object_put(requests);
        settle(monitor);
        return;
    }
    params = json_object_new_array();
    json_object_array_add(params, json_object_new_string(monitor->id));
    json_object_array_add(params, json_object_new_string(monitor->id));
    json_object_array_add(params, requests);
    monitor->state = KVMIG__MONITOR_CHANGING;
    monitor->request = kvmig__ovsdb_rpc_request(monitor->db->rpc, "monitor_cond_change", params, got_change, monitor);
}

void kvmig__ovsdb_monitor_set_where(struct kvmig__ovsdb_monitor *monitor, size_t table, struct json_object *where)
{
    struct kvmig__ovsdb_monitored *monitored = &monitor->tables[table];

    json_object_put(monitored->spec.where);
    monitored->spec.where = where;
    monitored->changed = true;
    monitor->resumable = false;
    if (monitor->state != KVMIG__MONITOR_LIVE)
        return; /* told when the answer is here, or with the next connection */
    change(monitor);
    kvmig__ovsdb_progress(monitor->db);
}

/* ---- updates ---- */

static struct kvmig__ovsdb_monitor *find_monitor(struct kvmig__ovsdb *db, const char *id)
{
    for (struct kvmig__ovsdb_monitor *monitor = db->monitors; monitor; monitor = monitor->next) {
        if (monitor->id[0] && strcmp(monitor->id, id) == 0)
            return monitor;
    }
    return NULL;
}

void kvmig__ovsdb_monitors_notified(struct kvmig__ovsdb *db, const char *method, struct json_object *params)
{
    bool is_canceled = strcmp(method, "monitor_canceled") == 0;
    struct json_object *id;
    struct kvmig__ovsdb_monitor *monitor;
    struct kvmig_error *error;

    if (!is_canceled && strcmp(method, "update") != 0 && strcmp(method, "update2") != 0 &&
        strcmp(method, "update3") != 0)
        return;
    id = json_object_is_type(params, json_type_array) && json_object_array_length(params) > 0
             ? json_object_array_get_idx(params, 0)
             : NULL;
    if (!json_object_is_type(id, json_type_string)) {
        kvmig__ovsdb_monitors_forget_txn(db);
        kvmig__ovsdb_drop(db, kvmig__ovsdb_fault(db, -KVMIG_EJSON, method, "Check that an OVSDB server listens there.",
                                                 "The server sent an update that names no monitor."));
        return;
    }
    monitor = find_monitor(db, json_object_get_string(id));
    if (!monitor)
        return;
    if (is_canceled) {
        give_up(monitor, kvmig__ovsdb_fault(db, -ECONNABORTED, NULL, NULL, "The server has ended a monitor."));
        return;
    }
    error = kvmig__ovsdb_take_update(monitor, method, params);
    if (error)
        give_up(monitor, error);
    else
        mark(monitor);
}

/* ---- life ---- */

struct kvmig__ovsdb_monitor *kvmig__ovsdb_monitor_new(struct kvmig__ovsdb *db, const struct kvmig__ovsdb_table *tables,
                                                      size_t n_tables, void (*changed)(void *data), void *data)
{
    struct kvmig__ovsdb_monitor *monitor = kvmig__calloc(1, sizeof(*monitor));

    monitor->db = db;
    monitor->next = db->monitors;
    db->monitors = monitor;
    monitor->tables = kvmig__calloc(n_tables, sizeof(*monitor->tables));
    monitor->n_tables = n_tables;
    for (size_t i = 0; i < n_tables; i++) {
        monitor->tables[i].spec = tables[i];
        kvmig__ovsdb_rows_init(&monitor->tables[i].rows, tables[i].name, tables[i].columns);
    }
    memcpy(monitor->last_txn, KVMIG__OVSDB_NO_TXN, sizeof(monitor->last_txn));
    monitor->budget.max_rows = KVMIG__OVSDB_MAX_ROWS;
    monitor->budget.max_bytes = KVMIG__OVSDB_MAX_BYTES;
    monitor->changed = changed;
    monitor->data = data;
    if (kvmig__ovsdb_is_up(db)) {
        start(monitor);
        kvmig__ovsdb_progress(db);
    }
    return monitor;
}

void kvmig__ovsdb_monitor_free(struct kvmig__ovsdb_monitor *monitor)
{
    struct kvmig__ovsdb *db;

    if (!monitor)
        return;
    db = monitor->db;
    for (struct kvmig__ovsdb_monitor **link = &db->monitors; *link; link = &(*link)->next) {
        if (*link == monitor) {
            *link = monitor->next;
            break;
        }
    }
    if (db->rpc)
        cancel(monitor);
    for (size_t i = 0; i < monitor->n_tables; i++) {
        json_object_put(monitor->tables[i].spec.where);
        kvmig__ovsdb_rows_clear(&monitor->tables[i].rows);
    }
    free(monitor->tables);
    free(monitor);
    kvmig__ovsdb_progress(db);
}

void kvmig__ovsdb_monitors_start(struct kvmig__ovsdb *db)
{
    for (struct kvmig__ovsdb_monitor *monitor = db->monitors; monitor; monitor = monitor->next)
        start(monitor);
}

void kvmig__ovsdb_monitors_lost(struct kvmig__ovsdb *db)
{
    for (struct kvmig__ovsdb_monitor *monitor = db->monitors; monitor; monitor = monitor->next) {
        monitor->state = KVMIG__MONITOR_OFF;
        monitor->request = 0;
        monitor->id[0] = '\0';
    }
}

void kvmig__ovsdb_monitors_forget_txn(struct kvmig__ovsdb *db)
{
    for (struct kvmig__ovsdb_monitor *monitor = db->monitors; monitor; monitor = monitor->next)
        monitor->resumable = false;
}

bool kvmig__ovsdb_monitors_waiting(const struct kvmig__ovsdb *db)
{
    for (const struct kvmig__ovsdb_monitor *monitor = db->monitors; monitor; monitor = monitor->next) {
        if (monitor->state != KVMIG__MONITOR_LIVE)
            return true;
    }
    return false;
}

/* ---- telling ---- */

void kvmig__ovsdb_monitors_mark(struct kvmig__ovsdb *db)
{
    for (struct kvmig__ovsdb_monitor *monitor = db->monitors; monitor; monitor = monitor->next)
        mark(monitor);
}

void kvmig__ovsdb_monitors_round(struct kvmig__ovsdb *db)
{
    for (struct kvmig__ovsdb_monitor *monitor = db->monitors; monitor; monitor = monitor->next) {
        monitor->due = monitor->marked;
        monitor->marked = false;
    }
}

bool kvmig__ovsdb_monitors_tell(struct kvmig__ovsdb *db)
{
    for (struct kvmig__ovsdb_monitor *monitor = db->monitors; monitor; monitor = monitor->next) {
        if (!monitor->due)
            continue;
        monitor->due = false;
        monitor->changed(monitor->data); /* may free any monitor, and put the client */
        return true;
    }
    return false;
}
