/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client of one OVSDB database on one server or cluster: finds a server that serves (connected, the leader if asked
 * for, not older than what was seen before), keeps monitors current over reconnects, and sends transactions. Handles of
 * one context that want the same database share one client. Everything needs the context lock; functions of users run
 * in dispatch with the lock held, never from inside a call here.
 *
 * Reconnects by itself, for as long as somebody has it: at once after a connection that had been synced, else after 1 s
 * that doubles up to 8 s; remotes are taken in random order.
 */
#ifndef KVMIG_SRC_OVSDB_H
#define KVMIG_SRC_OVSDB_H

#include "context/context_internal.h"
#include "port/ovsdb_value.h"
#include <json-c/json.h>

struct kvmig__ovsdb_spec {
    const char *remotes; /* "unix:...,tcp:...,ssl:..." */
    const char *database; /* "OVN_Northbound" */
    const char *ca_file, *cert_file, *key_file; /* for ssl: */
    bool leader_only; /* reads must be those of a cluster's leader; harmless for a server that is no cluster */
};
struct kvmig__ovsdb;
/* The client of that spec, shared; put back with kvmig__ovsdb_put(). Errors: -EINVAL (the remotes; files missing for
 * ssl:), where names the option. */
struct kvmig_error *kvmig__ovsdb_get(struct kvmig_context *context, const struct kvmig__ovsdb_spec *spec,
                                     const char *where, struct kvmig__ovsdb **out_db);
void kvmig__ovsdb_put(struct kvmig__ovsdb *db); /* NULL is ignored; monitors and calls must be gone */

/* Connected to a server that serves, schema read. */
bool kvmig__ovsdb_is_up(const struct kvmig__ovsdb *db);
/* Why it is not up; NULL if it is, or was never tried. Borrowed. */
const struct kvmig_error *kvmig__ovsdb_trouble(const struct kvmig__ovsdb *db);
/* Of the schema that was read last; NULL and false before. */
const char *kvmig__ovsdb_schema_version(const struct kvmig__ovsdb *db);
bool kvmig__ovsdb_has_column(const struct kvmig__ovsdb *db, const char *table, const char *column);

/* ---- monitors: a copy of the rows that somebody needs ---- */
struct kvmig__ovsdb_table {
    const char *name;
    const char *const *columns; /* ends with NULL; those that the schema lacks are left out */
    struct json_object
        *where; /* array of clauses, ORed, so an empty one = no rows; taken; NULL = all rows (small tables only) */
};
struct kvmig__ovsdb_monitor;
/* changed() says that rows, or whether they are current, or the trouble of the connection, may be other than before.
 * The strings of tables must live as long as the monitor. */
struct kvmig__ovsdb_monitor *kvmig__ovsdb_monitor_new(struct kvmig__ovsdb *db, const struct kvmig__ovsdb_table *tables,
                                                      size_t n_tables, void (*changed)(void *data), void *data);
void kvmig__ovsdb_monitor_free(struct kvmig__ovsdb_monitor *monitor); /* NULL is ignored; allowed inside changed() */
/* The rows are those of a live connection. If not, they are the last that were seen, and no ground for a decision. */
bool kvmig__ovsdb_monitor_is_current(const struct kvmig__ovsdb_monitor *monitor);
/* Other rows from now on (monitor_cond_change, or a new monitor); where taken. is_current() is false until they are
 * there. */
void kvmig__ovsdb_monitor_set_where(struct kvmig__ovsdb_monitor *monitor, size_t table, struct json_object *where);
size_t kvmig__ovsdb_row_count(const struct kvmig__ovsdb_monitor *monitor, size_t table);
const struct kvmig__ovsdb_row *kvmig__ovsdb_row(const struct kvmig__ovsdb_monitor *monitor, size_t table, size_t index);
const struct kvmig__ovsdb_row *kvmig__ovsdb_row_by_uuid(const struct kvmig__ovsdb_monitor *monitor, size_t table,
                                                        const char *uuid); /* NULL if none */

/* ---- transactions ---- */
enum kvmig__ovsdb_outcome {
    KVMIG__OVSDB_DONE, /* committed */
    KVMIG__OVSDB_REFUSED, /* nothing was applied: a guard did not hold (is_guard), or the server objects */
    KVMIG__OVSDB_UNSENT, /* no server could be reached in time: nothing was applied */
    KVMIG__OVSDB_UNKNOWN, /* sent, but the connection was lost or the answer did not come: read again and compare */
};
struct kvmig__ovsdb_result {
    enum kvmig__ovsdb_outcome outcome;
    bool is_guard; /* REFUSED because a "wait" operation did not hold ("timed out") */
    const struct kvmig_error *error; /* NULL if DONE; borrowed */
    struct json_object *results; /* DONE: array with one element per operation; borrowed */
};
struct kvmig__ovsdb_call;
/* operations: array without the database's name; taken. done() is called exactly once, unless forgotten. A
 * transaction's effects on monitors of the same client are visible before done(). */
struct kvmig__ovsdb_call *kvmig__ovsdb_transact(struct kvmig__ovsdb *db, struct json_object *operations,
                                                int64_t timeout_ms,
                                                void (*done)(void *data, const struct kvmig__ovsdb_result *result),
                                                void *data);
void kvmig__ovsdb_call_forget(struct kvmig__ovsdb_call *call); /* done() is not called; NULL is ignored */

#endif
