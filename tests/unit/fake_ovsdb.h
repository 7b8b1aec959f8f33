/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stands in for the OVSDB client (port/ovsdb.h): databases in memory, whose rows, failures and outages the test decides. Transactions
 * are carried out as far as the port needs them (wait, mutate, select, comment). Everything needs the context lock, as the real client does,
 * but for what says otherwise.
 */
#ifndef KVMIG_TESTS_FAKE_OVSDB_H
#define KVMIG_TESTS_FAKE_OVSDB_H

#include "port/ovsdb.h"

/* What becomes of the next transaction. */
enum fake_fate {
    FAKE_DO, /* it is carried out */
    FAKE_UNSENT, /* no server was reached */
    FAKE_LOST_AND_DONE, /* carried out, but the answer is lost */
    FAKE_LOST, /* lost on the way */
    FAKE_REFUSE, /* the server objects */
};

/* One database, which clients find by its remotes. */
struct kvmig__ovsdb {
    struct kvmig_context *context;
    char *remotes;
    struct kvmig__ovsdb *next;
    size_t users;
    bool up;
    struct kvmig_error *trouble;
    struct kvmig__strlist missing; /* "Table.column" that its schema lacks */
    struct json_object *tables; /* {table: {uuid: {column: value}}} */
    struct kvmig__ovsdb_monitor *monitors;
    struct kvmig__ovsdb_call *calls; /* in order */
    struct kvmig__timer deliver;
    bool changed; /* since monitors were told */
    bool hold; /* transactions wait until it is lifted */
    struct {
        enum fake_fate *v;
        size_t n;
    } fates; /* of those to come */
    struct json_object *log; /* array of the operations of each transaction */
    void (*on_commit)(void *data); /* before monitors are told; NULL = nothing */
    void *data;
};

/* Makes a database that is up and empty; lives until fake_ovsdb_free(). */
struct kvmig__ovsdb *fake_ovsdb_new(struct kvmig_context *context, const char *remotes);
void fake_ovsdb_free(struct kvmig__ovsdb *db); /* fails the test if a client was not put back */

/* Sets columns of a row (JSON text of an object), which is made if it is not there. */
void fake_ovsdb_set(struct kvmig__ovsdb *db, const char *table, const char *uuid, const char *columns);
void fake_ovsdb_set_json(struct kvmig__ovsdb *db, const char *table, const char *uuid, const char *column,
                         struct json_object *value); /* taken */
void fake_ovsdb_delete(struct kvmig__ovsdb *db, const char *table, const char *uuid);
/* The value of a column, or of one key of a map; NULL if there is none. Borrowed. */
struct json_object *fake_ovsdb_column(struct kvmig__ovsdb *db, const char *table, const char *uuid, const char *column);
const char *fake_ovsdb_key(struct kvmig__ovsdb *db, const char *table, const char *uuid, const char *column,
                           const char *key);
void fake_ovsdb_set_up(struct kvmig__ovsdb *db, bool up);
void fake_ovsdb_fate(struct kvmig__ovsdb *db, enum fake_fate fate); /* of the next transaction that has none */
void fake_ovsdb_release(struct kvmig__ovsdb *db); /* lifts hold */

/* ---- between its own files (fake_ovsdb_run.c) ---- */
struct json_object *fake_member(struct json_object *object, const char *key); /* NULL if it is not there; borrowed */
/* Results, or NULL if a guard did not hold: nothing was changed then. */
struct json_object *fake_ovsdb_run(struct kvmig__ovsdb *db, struct json_object *operations);
/* Of the real client (ovsdb_filter.c): whether a row fulfils any of the clauses. */
bool kvmig__ovsdb_filter_match(struct json_object *where, const char *uuid, struct json_object *row);

#endif
