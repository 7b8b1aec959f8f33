/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a fresh connection to one that serves (ovsdb-server(7)): is the server part of its cluster, the leader if we
 * need it, not behind what we have seen, and of the cluster that we know? Its database _Server says so, and goes on
 * saying so while we are connected: a server that falls back is left for another. Then the schema. Needs the context
 * lock; runs in dispatch.
 *
 * Servers without _Server (before Open vSwitch 2.9) know no clusters: theirs are taken as they are.
 */
#include "port/ovsdb_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SERVER_MONITOR "kvmig-server"

static const char *const database_columns[] = {
    "name", "model", "connected", "leader", "schema", "cid", "index", NULL
};

void kvmig__ovsdb_handshake_init(struct kvmig__ovsdb *db)
{
    kvmig__ovsdb_rows_init(&db->server_rows, "Database", database_columns);
    db->server_budget.max_rows = 16; /* we ask for one */
    db->server_budget.max_bytes = KVMIG__OVSDB_MAX_BYTES;
}

void kvmig__ovsdb_handshake_lost(struct kvmig__ovsdb *db)
{
    db->watched = false;
    kvmig__ovsdb_rows_drop(&db->server_rows, &db->server_budget);
}

static struct json_object *params_of(const char *text)
{
    struct json_object *params = json_object_new_array();

    json_object_array_add(params, json_object_new_string(text));
    return params;
}

static void refuse(struct kvmig__ovsdb *db, const char *method, struct json_object *server_error)
{
    char *text = kvmig__ovsdb_error_text(server_error);
    bool is_missing = kvmig__ovsdb_error_says(server_error, "unknown database");

    kvmig__ovsdb_drop(db, kvmig__ovsdb_fault(db, is_missing ? -ENOENT : -EPROTO, text,
                                             is_missing ? "Check the name of the database and the remotes."
                                                        : "Check that an OVSDB server listens there.",
                                             "The server refuses %s.", method));
    free(text);
}

/* ---- the server's own view of our database ---- */

static struct kvmig_error *check_cluster(struct kvmig__ovsdb *db, const struct kvmig__ovsdb_row *row)
{
    const char *cluster_id = kvmig__ovsdb_str(row, "cid");
    int64_t index = 0;
    char *evidence;
    struct kvmig_error *error = NULL;

    if (!cluster_id)
        return NULL; /* one server alone, or a relay: nothing to compare */
    kvmig__ovsdb_int(row, "index", &index);
    if (db->cluster_id && strcasecmp(db->cluster_id, cluster_id) != 0) {
        evidence = kvmig__asprintf("cluster %s, but it was %s before", cluster_id, db->cluster_id);
        error = kvmig__ovsdb_fault(db, -KVMIG_EREFUSED, evidence,
                                   "Check the remotes. If the cluster was made anew, open what uses it again.",
                                   "The server belongs to another cluster than before.");
        free(evidence);
    } else if (index < db->min_index) {
        evidence = kvmig__asprintf("index %lld, but %lld was seen before", (long long)index, (long long)db->min_index);
        error = kvmig__ovsdb_fault(db, -ESTALE, evidence, "It is tried again when it has caught up.",
                                   "The server is behind its cluster.");
        free(evidence);
    }
    if (error)
        return error;
    kvmig__str_set(&db->cluster_id, cluster_id);
    db->min_index = index;
    return NULL;
}

static struct kvmig_error *check_row(struct kvmig__ovsdb *db)
{
    const struct kvmig__ovsdb_row *row = db->server_rows.n ? db->server_rows.v[0] : NULL;
    const char *schema = kvmig__ovsdb_str(row, "schema");

    if (!row)
        return kvmig__ovsdb_fault(db, -ENOENT, NULL, "Check the name of the database and the remotes.",
                                  "The server has no database %s.", db->database);
    if (!schema || !*schema)
        return kvmig__ovsdb_fault(db, -KVMIG_EUNREACHABLE, NULL, "Check that the server could join its cluster.",
                                  "The server does not have the database yet.");
    if (!kvmig__ovsdb_bool(row, "connected"))
        return kvmig__ovsdb_fault(db, -KVMIG_EUNREACHABLE, NULL, "Check that most servers of the cluster are up.",
                                  "The server is cut off from its cluster.");
    if (db->leader_only && !kvmig__ovsdb_bool(row, "leader"))
        return kvmig__ovsdb_fault(db, -KVMIG_EUNREACHABLE, NULL, "Give the remotes of all servers of the cluster.",
                                  "The server is not the leader of its cluster.");
    if (db->stage == KVMIG__OVSDB_UP && db->served_schema && strcmp(db->served_schema, schema) != 0)
        return kvmig__ovsdb_fault(db, -ESTALE, NULL, NULL, "The schema of the database was changed; it is read anew.");
    kvmig__str_set(&db->served_schema, schema);
    return check_cluster(db, row);
}

static struct kvmig_error *take_row(struct kvmig__ovsdb *db, struct json_object *updates)
{
    struct json_object *table;
    struct kvmig_error *error = NULL;
    char *place = kvmig__ovsdb_place(db);

    if (json_object_object_get_ex(updates, "Database", &table))
        error = kvmig__ovsdb_rows_apply(&db->server_rows, &db->server_budget, KVMIG__OVSDB_UPDATE2, table, NULL, place);
    else if (!json_object_is_type(updates, json_type_object))
        error = kvmig__ovsdb_fault(db, -KVMIG_EJSON, NULL, "Check that an OVSDB server listens there.",
                                   "The server's rows of _Server are not an object.");
    free(place);
    return error ? error : check_row(db);
}

bool kvmig__ovsdb_handshake_update(struct kvmig__ovsdb *db, const char *method, struct json_object *params)
{
    struct json_object *id;
    struct kvmig_error *error;

    if (!db->watched || strcmp(method, "update2") != 0 || !json_object_is_type(params, json_type_array) ||
        json_object_array_length(params) != 2)
        return false;
    id = json_object_array_get_idx(params, 0);
    if (!json_object_is_type(id, json_type_string) || strcmp(json_object_get_string(id), SERVER_MONITOR) != 0)
        return false;
    error = take_row(db, json_object_array_get_idx(params, 1));
    if (error)
        kvmig__ovsdb_drop(db, error);
    return true;
}

/* ---- the steps ---- */

static void got_schema(void *data, struct json_object *result, struct json_object *server_error, bool lost)
{
    struct kvmig__ovsdb *db = data;
    struct kvmig_error *error;
    char *place;

    if (lost)
        return;
    if (server_error) {
        refuse(db, "get_schema", server_error);
        return;
    }
    place = kvmig__ovsdb_place(db);
    error = kvmig__ovsdb_schema_check(result, place);
    free(place);
    if (error) {
        kvmig__ovsdb_drop(db, error);
        return;
    }
    if (!db->schema || !json_object_equal(db->schema, result)) {
        json_object_put(db->schema);
        db->schema = json_object_get(result);
        kvmig__ovsdb_monitors_forget_txn(db);
    }
    kvmig__ovsdb_came_up(db);
}

static void ask_schema(struct kvmig__ovsdb *db)
{
    kvmig__ovsdb_rpc_request(db->rpc, "get_schema", params_of(db->database), got_schema, db);
}

static void nothing_to_do(void *data, struct json_object *result, struct json_object *server_error, bool lost)
{
    (void)data;
    (void)result;
    (void)server_error;
    (void)lost;
}

/* Without it a server would cut us off whenever a database comes, goes, or changes its schema. */
static void say_aware(struct kvmig__ovsdb *db)
{
    struct json_object *params = json_object_new_array();

    json_object_array_add(params, json_object_new_boolean(true));
    kvmig__ovsdb_rpc_request(db->rpc, "set_db_change_aware", params, nothing_to_do, db);
}

static void got_row(void *data, struct json_object *result, struct json_object *server_error, bool lost)
{
    struct kvmig__ovsdb *db = data;
    struct kvmig_error *error;

    if (lost)
        return;
    if (server_error) {
        refuse(db, "monitor_cond of _Server", server_error);
        return;
    }
    error = take_row(db, result);
    if (error) {
        kvmig__ovsdb_drop(db, error);
        return;
    }
    db->watched = true;
    say_aware(db);
    ask_schema(db);
    kvmig__ovsdb_progress(db);
}

static struct json_object *row_request(const struct kvmig__ovsdb *db)
{
    struct json_object *requests = json_object_new_object(), *request = json_object_new_object();
    struct json_object *columns = json_object_new_array(), *where = json_object_new_array();
    struct json_object *list = json_object_new_array();

    for (size_t i = 0; i < db->server_rows.n_columns; i++) {
        if (db->server_rows.types[i].known)
            json_object_array_add(columns, json_object_new_string(database_columns[i]));
    }
    json_object_array_add(where, kvmig__ovsdb_json_clause("name", "==", json_object_new_string(db->database)));
    json_object_object_add(request, "columns", columns);
    json_object_object_add(request, "where", where);
    json_object_array_add(list, request);
    json_object_object_add(requests, "Database", list);
    return requests;
}

static void got_server_schema(void *data, struct json_object *result, struct json_object *server_error, bool lost)
{
    struct kvmig__ovsdb *db = data;
    struct json_object *params;

    if (lost)
        return;
    if (server_error && kvmig__ovsdb_error_says(server_error, "unknown database")) {
        ask_schema(db);
        kvmig__ovsdb_progress(db);
        return;
    }
    if (server_error) {
        refuse(db, "get_schema", server_error);
        return;
    }
    if (!kvmig__ovsdb_schema_has_table(result, "Database")) {
        kvmig__ovsdb_drop(db, kvmig__ovsdb_fault(db, -KVMIG_EJSON, "the schema of _Server has no table Database",
                                                 "Check that an OVSDB server listens there.",
                                                 "The server's schema is not a schema."));
        return;
    }
    kvmig__ovsdb_rows_set_schema(&db->server_rows, result);
    params = params_of("_Server");
    json_object_array_add(params, json_object_new_string(SERVER_MONITOR));
    json_object_array_add(params, row_request(db));
    kvmig__ovsdb_rpc_request(db->rpc, "monitor_cond", params, got_row, db);
    kvmig__ovsdb_progress(db);
}

void kvmig__ovsdb_handshake_start(struct kvmig__ovsdb *db)
{
    kvmig__ovsdb_rpc_request(db->rpc, "get_schema", params_of("_Server"), got_server_schema, db);
}
