/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Databases in memory behind the interface of the OVSDB client. Like the real one it calls its users from a timer only, with the
 * context lock held; rows are rebuilt before that, and stay as they are until then. Owned by the test.
 */
#include "fake_ovsdb.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_TABLES 8

struct fake_table {
    const char *name;
    const char *const *columns;
    struct json_object *where;
    struct kvmig__ovsdb_row *rows;
    size_t n_rows;
};
struct kvmig__ovsdb_monitor {
    struct kvmig__ovsdb *db;
    struct fake_table tables[MAX_TABLES];
    size_t n_tables;
    bool asked; /* for other rows, which are not there yet */
    bool told;
    void (*changed)(void *data);
    void *data;
    struct kvmig__ovsdb_monitor *next;
};
struct kvmig__ovsdb_call {
    struct kvmig__ovsdb *db;
    struct json_object *operations;
    void (*done)(void *data, const struct kvmig__ovsdb_result *result);
    void *data;
    struct kvmig__ovsdb_call *next;
};

static struct kvmig__ovsdb *databases;

/* ---- rows ---- */

static void rows_clear(struct fake_table *table)
{
    for (size_t i = 0; i < table->n_rows; i++) {
        for (size_t k = 0; k < table->rows[i].columns.n; k++)
            kvmig__ovsdb_value_clear(&table->rows[i].columns.v[k]);
        free(table->rows[i].columns.v);
        free(table->rows[i].uuid);
    }
    free(table->rows);
    table->rows = NULL;
    table->n_rows = 0;
}

static void row_build(struct fake_table *table, struct kvmig__ovsdb_row *row, const char *uuid,
                      struct json_object *columns)
{
    row->uuid = kvmig__strdup(uuid);
    row->names = table->columns;
    for (size_t i = 0; table->columns[i]; i++) {
        struct kvmig__ovsdb_value *value = KVMIG__PUSH(&row->columns);
        struct json_object *json = fake_member(columns, table->columns[i]);

        if (json)
            assert_true(kvmig__ovsdb_value_decode(json, value));
    }
}

static void table_build(struct kvmig__ovsdb *db, struct fake_table *table)
{
    struct json_object *rows = fake_member(db->tables, table->name);

    rows_clear(table);
    if (!rows)
        return;
    json_object_object_foreach(rows, uuid, columns)
    {
        if (!kvmig__ovsdb_filter_match(table->where, uuid, columns))
            continue;
        table->rows = kvmig__realloc_array(table->rows, table->n_rows + 1, sizeof(*table->rows));
        memset(&table->rows[table->n_rows], 0, sizeof(*table->rows));
        row_build(table, &table->rows[table->n_rows++], uuid, columns);
    }
}

static void soon(struct kvmig__ovsdb *db)
{
    kvmig__timer_arm_in(&db->deliver, 0);
}

/* ---- transactions ---- */

static enum fake_fate next_fate(struct kvmig__ovsdb *db)
{
    enum fake_fate fate = FAKE_DO;

    if (!db->up)
        return FAKE_UNSENT;
    if (db->fates.n) {
        fate = db->fates.v[0];
        memmove(&db->fates.v[0], &db->fates.v[1], --db->fates.n * sizeof(db->fates.v[0]));
    }
    return fate;
}

static void carry_out(struct kvmig__ovsdb *db, struct json_object *operations, struct kvmig__ovsdb_result *result)
{
    const enum fake_fate fate = next_fate(db);

    json_object_array_add(db->log, json_object_get(operations));
    switch (fate) {
    case FAKE_UNSENT:
        result->outcome = KVMIG__OVSDB_UNSENT;
        return;
    case FAKE_LOST:
        result->outcome = KVMIG__OVSDB_UNKNOWN;
        return;
    case FAKE_REFUSE:
        result->outcome = KVMIG__OVSDB_REFUSED;
        return;
    case FAKE_DO:
    case FAKE_LOST_AND_DONE:
        result->results = fake_ovsdb_run(db, operations);
        result->is_guard = !result->results;
        result->outcome = fate == FAKE_LOST_AND_DONE ? KVMIG__OVSDB_UNKNOWN
                          : result->results          ? KVMIG__OVSDB_DONE
                                                     : KVMIG__OVSDB_REFUSED;
    }
}

/* ---- telling ---- */

static void publish(struct kvmig__ovsdb *db)
{
    struct kvmig__ovsdb_monitor *next;

    while (db->changed && db->on_commit) {
        db->changed = false;
        db->on_commit(db->data);
    }
    for (struct kvmig__ovsdb_monitor *monitor = db->monitors; monitor; monitor = monitor->next) {
        for (size_t i = 0; db->up && i < monitor->n_tables; i++)
            table_build(db, &monitor->tables[i]);
        monitor->asked = monitor->asked && !db->up;
        monitor->told = false;
    }
    for (struct kvmig__ovsdb_monitor *monitor = db->monitors; monitor; monitor = next) {
        next = monitor->next;
        if (monitor->told)
            continue;
        monitor->told = true;
        monitor->changed(monitor->data);
        next = db->monitors; /* any of them may be gone */
        while (next && next->told)
            next = next->next;
    }
    db->changed = false;
}

static void on_deliver(void *data)
{
    struct kvmig__ovsdb *db = data;

    publish(db);
    while (db->calls && !db->hold) {
        struct kvmig__ovsdb_call *call = db->calls;
        struct kvmig__ovsdb_result result = { 0 };
        struct kvmig_error *error = NULL;

        db->calls = call->next;
        carry_out(db, call->operations, &result);
        publish(db); /* effects are seen before the answer */
        if (result.outcome != KVMIG__OVSDB_DONE)
            error = kvmig__error_new(EIO, db->remotes, NULL, NULL, "the transaction did not go well");
        result.error = error;
        if (result.outcome != KVMIG__OVSDB_DONE) {
            json_object_put(result.results);
            result.results = NULL;
        }
        call->done(call->data, &result);
        json_object_put(result.results);
        json_object_put(call->operations);
        kvmig__error_free(error);
        free(call);
    }
}

/* ---- for the test ---- */

struct kvmig__ovsdb *fake_ovsdb_new(struct kvmig_context *context, const char *remotes)
{
    struct kvmig__ovsdb *db = kvmig__calloc(1, sizeof(*db));

    db->context = context;
    db->remotes = kvmig__strdup(remotes);
    db->up = true;
    db->tables = json_object_new_object();
    db->log = json_object_new_array();
    kvmig__timer_init(&db->deliver, context, on_deliver, db);
    db->next = databases;
    databases = db;
    return db;
}

void fake_ovsdb_free(struct kvmig__ovsdb *db)
{
    struct kvmig__ovsdb **link = &databases;

    assert_int_equal(db->users, 0);
    assert_null(db->monitors);
    assert_null(db->calls);
    while (*link != db)
        link = &(*link)->next;
    *link = db->next;
    kvmig__timer_disarm(&db->deliver);
    kvmig__error_free(db->trouble);
    kvmig__strlist_clear(&db->missing);
    json_object_put(db->tables);
    json_object_put(db->log);
    free(db->fates.v);
    free(db->remotes);
    free(db);
}

static struct json_object *row_of(struct kvmig__ovsdb *db, const char *table, const char *uuid, bool make)
{
    struct json_object *rows = fake_member(db->tables, table), *row;

    if (!rows && make) {
        rows = json_object_new_object();
        json_object_object_add(db->tables, table, rows);
    }
    row = rows ? fake_member(rows, uuid) : NULL;
    if (!row && make) {
        row = json_object_new_object();
        json_object_object_add(rows, uuid, row);
    }
    return row;
}

void fake_ovsdb_set(struct kvmig__ovsdb *db, const char *table, const char *uuid, const char *columns)
{
    struct json_object *row = row_of(db, table, uuid, true), *given = json_tokener_parse(columns);

    assert_non_null(given);
    json_object_object_foreach(given, column, value)
    {
        json_object_object_add(row, column, json_object_get(value));
    }
    json_object_put(given);
    db->changed = true;
    soon(db);
}

void fake_ovsdb_set_json(struct kvmig__ovsdb *db, const char *table, const char *uuid, const char *column,
                         struct json_object *value)
{
    json_object_object_add(row_of(db, table, uuid, true), column, value);
    db->changed = true;
    soon(db);
}

void fake_ovsdb_delete(struct kvmig__ovsdb *db, const char *table, const char *uuid)
{
    json_object_object_del(fake_member(db->tables, table), uuid);
    db->changed = true;
    soon(db);
}

struct json_object *fake_ovsdb_column(struct kvmig__ovsdb *db, const char *table, const char *uuid, const char *column)
{
    struct json_object *row = row_of(db, table, uuid, false);

    return row ? fake_member(row, column) : NULL;
}

/* Lives in the JSON of the map, which is ["map", [[key, value], ...]]. */
const char *fake_ovsdb_key(struct kvmig__ovsdb *db, const char *table, const char *uuid, const char *column,
                           const char *key)
{
    struct json_object *map = fake_ovsdb_column(db, table, uuid, column), *pairs;

    pairs = map ? json_object_array_get_idx(map, 1) : NULL;
    for (size_t i = 0; pairs && i < json_object_array_length(pairs); i++) {
        struct json_object *pair = json_object_array_get_idx(pairs, i);

        if (strcmp(json_object_get_string(json_object_array_get_idx(pair, 0)), key) == 0)
            return json_object_get_string(json_object_array_get_idx(pair, 1));
    }
    return NULL;
}

void fake_ovsdb_set_up(struct kvmig__ovsdb *db, bool up)
{
    db->up = up;
    kvmig__error_free(db->trouble);
    db->trouble = up ? NULL : kvmig__error_new(ECONNREFUSED, db->remotes, NULL, NULL, "%s is down", db->remotes);
    soon(db);
}

void fake_ovsdb_fate(struct kvmig__ovsdb *db, enum fake_fate fate)
{
    *KVMIG__PUSH(&db->fates) = fate;
}

void fake_ovsdb_release(struct kvmig__ovsdb *db)
{
    db->hold = false;
    soon(db);
}

/* ---- the interface ---- */

struct kvmig_error *kvmig__ovsdb_get(struct kvmig_context *context, const struct kvmig__ovsdb_spec *spec,
                                     const char *where, struct kvmig__ovsdb **out_db)
{
    *out_db = NULL;
    for (struct kvmig__ovsdb *db = databases; db; db = db->next) {
        if (db->context == context && strcmp(db->remotes, spec->remotes) == 0) {
            db->users++;
            *out_db = db;
            return NULL;
        }
    }
    return kvmig__error_new(EINVAL, where, spec->remotes, NULL, "there is no such fake database");
}

void kvmig__ovsdb_put(struct kvmig__ovsdb *db)
{
    if (db)
        db->users--;
}

bool kvmig__ovsdb_is_up(const struct kvmig__ovsdb *db)
{
    return db->up;
}

const struct kvmig_error *kvmig__ovsdb_trouble(const struct kvmig__ovsdb *db)
{
    return db->trouble;
}

const char *kvmig__ovsdb_schema_version(const struct kvmig__ovsdb *db)
{
    (void)db;
    return "1.0.0";
}

bool kvmig__ovsdb_has_column(const struct kvmig__ovsdb *db, const char *table, const char *column)
{
    char *name = kvmig__asprintf("%s.%s", table, column);
    bool missing = kvmig__strlist_has(&db->missing, name);

    free(name);
    return !missing;
}

struct kvmig__ovsdb_monitor *kvmig__ovsdb_monitor_new(struct kvmig__ovsdb *db, const struct kvmig__ovsdb_table *tables,
                                                      size_t n_tables, void (*changed)(void *data), void *data)
{
    struct kvmig__ovsdb_monitor *monitor = kvmig__calloc(1, sizeof(*monitor));

    assert_true(n_tables <= MAX_TABLES);
    monitor->db = db;
    monitor->n_tables = n_tables;
    for (size_t i = 0; i < n_tables; i++)
        monitor->tables[i] =
            (struct fake_table){ .name = tables[i].name, .columns = tables[i].columns, .where = tables[i].where };
    monitor->asked = true;
    monitor->changed = changed;
    monitor->data = data;
    monitor->next = db->monitors;
    db->monitors = monitor;
    soon(db);
    return monitor;
}

void kvmig__ovsdb_monitor_free(struct kvmig__ovsdb_monitor *monitor)
{
    struct kvmig__ovsdb_monitor **link;

    if (!monitor)
        return;
    link = &monitor->db->monitors;
    while (*link != monitor)
        link = &(*link)->next;
    *link = monitor->next;
    for (size_t i = 0; i < monitor->n_tables; i++) {
        rows_clear(&monitor->tables[i]);
        json_object_put(monitor->tables[i].where);
    }
    free(monitor);
}

bool kvmig__ovsdb_monitor_is_current(const struct kvmig__ovsdb_monitor *monitor)
{
    return monitor->db->up && !monitor->asked;
}

void kvmig__ovsdb_monitor_set_where(struct kvmig__ovsdb_monitor *monitor, size_t table, struct json_object *where)
{
    json_object_put(monitor->tables[table].where);
    monitor->tables[table].where = where;
    monitor->asked = true;
    soon(monitor->db);
}

size_t kvmig__ovsdb_row_count(const struct kvmig__ovsdb_monitor *monitor, size_t table)
{
    return monitor->tables[table].n_rows;
}

const struct kvmig__ovsdb_row *kvmig__ovsdb_row(const struct kvmig__ovsdb_monitor *monitor, size_t table, size_t index)
{
    return &monitor->tables[table].rows[index];
}

const struct kvmig__ovsdb_row *kvmig__ovsdb_row_by_uuid(const struct kvmig__ovsdb_monitor *monitor, size_t table,
                                                        const char *uuid)
{
    for (size_t i = 0; i < monitor->tables[table].n_rows; i++)
        if (strcmp(monitor->tables[table].rows[i].uuid, uuid) == 0)
            return &monitor->tables[table].rows[i];
    return NULL;
}

struct kvmig__ovsdb_call *kvmig__ovsdb_transact(struct kvmig__ovsdb *db, struct json_object *operations,
                                                int64_t timeout_ms,
                                                void (*done)(void *data, const struct kvmig__ovsdb_result *result),
                                                void *data)
{
    struct kvmig__ovsdb_call *call = kvmig__calloc(1, sizeof(*call)), **link = &db->calls;

    assert_true(timeout_ms > 0);
    *call = (struct kvmig__ovsdb_call){ .db = db, .operations = operations, .done = done, .data = data };
    while (*link)
        link = &(*link)->next;
    *link = call;
    soon(db);
    return call;
}

void kvmig__ovsdb_call_forget(struct kvmig__ovsdb_call *call)
{
    struct kvmig__ovsdb_call **link;

    if (!call)
        return;
    link = &call->db->calls;
    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
    json_object_put(call->operations);
    free(call);
}
