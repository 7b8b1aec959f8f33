/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of the OVSDB client, for its own files only:
 *   ovsdb_client.c     sharing, connections, back-off, and when functions of users run
 *   ovsdb_handshake.c  from a fresh connection to one that serves: _Server, the schema
 *   ovsdb_monitor.c    monitors: asking, changing, telling (with ovsdb_monitor_ask.c, ovsdb_monitor_take.c)
 *   ovsdb_transact.c   transactions and what became of them
 *   ovsdb_rows.c       rows from updates            (pure but for json-c, any thread)
 *   ovsdb_schema.c     types of columns             (pure but for json-c, any thread)
 *   ovsdb_filter.c     conditions, where the server has none (pure but for json-c, any thread)
 * All but the pure ones need the context lock.
 */
#ifndef KVMIG_SRC_OVSDB_PRIVATE_H
#define KVMIG_SRC_OVSDB_PRIVATE_H

#include "port/ovsdb.h"
#include "port/ovsdb_rpc.h"

#define KVMIG__OVSDB_CONNECT_MS 5000
#define KVMIG__OVSDB_PROBE_MS 5000
#define KVMIG__OVSDB_ANSWER_MS 60000 /* for one step of the handshake, or the first rows of a monitor */
#define KVMIG__OVSDB_MIN_BACKOFF_MS 1000
#define KVMIG__OVSDB_MAX_BACKOFF_MS 8000
#define KVMIG__OVSDB_STEADY_MS 1000 /* a connection that was synced for less than this has failed */
#define KVMIG__OVSDB_MAX_ROWS 65536 /* of one monitor */
#define KVMIG__OVSDB_MAX_BYTES ((size_t)64 << 20) /* of one monitor's rows */
#define KVMIG__OVSDB_NO_TXN "00000000-0000-0000-0000-000000000000"
#define KVMIG__UUID_SIZE 37 /* with the NUL */

/* ---- types of columns (ovsdb_schema.c) ---- */
enum kvmig__ovsdb_atom {
    KVMIG__ATOM_INTEGER,
    KVMIG__ATOM_REAL,
    KVMIG__ATOM_BOOLEAN,
    KVMIG__ATOM_STRING,
    KVMIG__ATOM_UUID,
};
struct kvmig__ovsdb_type {
    bool known; /* the schema has the column; the rest means nothing if not */
    bool is_map;
    bool scalar; /* one atom or pair at most */
    bool required; /* one at least: a server that leaves the column out means the default of key (and value) */
    enum kvmig__ovsdb_atom key, value;
};
/* NULL, or what is wrong with the answer to get_schema; where names the server and the database. */
struct kvmig_error *kvmig__ovsdb_schema_check(struct json_object *schema, const char *where);
bool kvmig__ovsdb_schema_has_table(struct json_object *schema, const char *table); /* schema may be NULL */
struct kvmig__ovsdb_type kvmig__ovsdb_schema_type(struct json_object *schema, const char *table, const char *column);
/* _uuid and _version are in no schema and may stand in conditions. */
bool kvmig__ovsdb_schema_has_column(struct json_object *schema, const char *table, const char *column);
/* Decodes a value of that type. false: it is not one; *out is empty then. */
bool kvmig__ovsdb_type_decode(const struct kvmig__ovsdb_type *type, struct json_object *json,
                              struct kvmig__ovsdb_value *out_value);
/* The same for the diff of a "modify", which may hold more or fewer atoms than a value. */
bool kvmig__ovsdb_type_apply(const struct kvmig__ovsdb_type *type, struct kvmig__ovsdb_value *value,
                             struct json_object *diff);
void kvmig__ovsdb_type_default(const struct kvmig__ovsdb_type *type, struct kvmig__ovsdb_value *out_value);

/* ---- conditions (ovsdb_filter.c) ---- */
/* Does a row (an object of columns, complete) match any clause? where NULL = yes; an empty array = no. */
bool kvmig__ovsdb_filter_match(struct json_object *where, const char *uuid, struct json_object *row);

/* ---- rows (ovsdb_rows.c) ---- */
/* What the rows of all tables of one monitor hold. */
struct kvmig__ovsdb_budget {
    size_t rows, bytes;
    size_t max_rows, max_bytes;
};
struct kvmig__ovsdb_rows {
    const char *table; /* borrowed, as names */
    const char *const *names; /* of the columns, ends with NULL */
    struct kvmig__ovsdb_type *types; /* beside names */
    size_t n_columns;
    struct kvmig__ovsdb_row **v; /* by UUID */
    size_t n;
};
enum kvmig__ovsdb_format {
    KVMIG__OVSDB_UPDATE, /* of plain monitors: old and new */
    KVMIG__OVSDB_UPDATE2, /* of conditional ones: initial, insert, modify (with differences), delete */
};
void kvmig__ovsdb_rows_init(struct kvmig__ovsdb_rows *rows, const char *table, const char *const *names);
void kvmig__ovsdb_rows_set_schema(struct kvmig__ovsdb_rows *rows, struct json_object *schema);
/* Applies the updates of one table ({uuid: update, ...}); filter is for KVMIG__OVSDB_UPDATE. NULL, or what is wrong
 * with them: some may have been applied then. */
struct kvmig_error *kvmig__ovsdb_rows_apply(struct kvmig__ovsdb_rows *rows, struct kvmig__ovsdb_budget *budget,
                                            enum kvmig__ovsdb_format format, struct json_object *updates,
                                            struct json_object *filter, const char *where);
const struct kvmig__ovsdb_row *kvmig__ovsdb_rows_find(const struct kvmig__ovsdb_rows *rows, const char *uuid);
/* Drops the rows; not what rows_init() made. */
void kvmig__ovsdb_rows_drop(struct kvmig__ovsdb_rows *rows, struct kvmig__ovsdb_budget *budget);
void kvmig__ovsdb_rows_clear(struct kvmig__ovsdb_rows *rows);

/* ---- the client (ovsdb_client.c) ---- */
enum kvmig__ovsdb_stage {
    KVMIG__OVSDB_IDLE, /* until the next try */
    KVMIG__OVSDB_CONNECTING,
    KVMIG__OVSDB_ASKING, /* the handshake */
    KVMIG__OVSDB_UP,
};
/* How this server can be asked for rows: the best that it has not refused yet. */
enum kvmig__ovsdb_method {
    KVMIG__MONITOR_COND_SINCE,
    KVMIG__MONITOR_COND,
    KVMIG__MONITOR_PLAIN,
};
struct kvmig__ovsdb {
    struct kvmig_context *context;
    struct kvmig__ovsdb *next; /* of the same context */
    size_t users, pins; /* memory lives until both are 0 */

    /* what is wanted */
    char *remotes_text, *database;
    struct kvmig__ovsdb_tls tls;
    bool leader_only;
    struct kvmig__ovsdb_remotes remotes;

    /* whom to try next */
    size_t *order; /* indexes of remotes, shuffled anew for each round */
    size_t at; /* tried in this round */
    uint64_t random;
    int64_t backoff_ms; /* the last one that was waited for; 0 = none since things were well */
    struct kvmig__timer retry;
    struct kvmig__strlist failures; /* of this round */
    struct kvmig_error *trouble;

    /* the connection */
    enum kvmig__ovsdb_stage stage;
    struct kvmig__ovsdb_rpc *rpc; /* NULL while idle */
    const struct kvmig__ovsdb_remote *remote;
    struct kvmig__timer answer; /* armed while the server owes a step or first rows */
    int64_t synced_ms; /* since when every monitor has its rows; 0 = not yet */
    enum kvmig__ovsdb_method method;

    /* _Server: our database's row */
    bool watched; /* the server has a _Server database */
    struct kvmig__ovsdb_rows server_rows;
    struct kvmig__ovsdb_budget server_budget;
    char *served_schema; /* its text when we came up; another one means another database behind the same name */

    /* what is remembered over connections */
    struct json_object *schema;
    char *cluster_id;
    int64_t min_index; /* of that cluster */
    uint64_t last_monitor_id;

    struct kvmig__ovsdb_monitor *monitors;
    struct kvmig__ovsdb_call *calls; /* in order */
    struct kvmig__timer deliver; /* functions of users run from here, and from nowhere else */
};
/* An error that names this connection and database. */
struct kvmig_error *kvmig__ovsdb_fault(const struct kvmig__ovsdb *db, int32_t code, const char *evidence,
                                       const char *hint, const char *fmt, ...) KVMIG__PRINTF(5, 6);
/* "tcp:host:6641, database OVN_Northbound"; owned. */
char *kvmig__ovsdb_place(const struct kvmig__ovsdb *db);
/* Ends the connection because of the error (taken), and goes on with the next. Whoever calls this from a reply or a
 * notification returns at once. */
void kvmig__ovsdb_drop(struct kvmig__ovsdb *db, struct kvmig_error *error);
/* Something about the connection, a monitor or a call has changed: sets or lifts the deadline for answers, notes
 * when all is synced, and lets users know soon. */
void kvmig__ovsdb_progress(struct kvmig__ovsdb *db);
void kvmig__ovsdb_deliver_soon(struct kvmig__ovsdb *db);
/* What a JSON-RPC error or an error of an operation says, shortened; owned. */
char *kvmig__ovsdb_error_text(struct json_object *error);
bool kvmig__ovsdb_error_says(struct json_object *error, const char *tag);

/* ---- handshake (ovsdb_handshake.c) ---- */
void kvmig__ovsdb_handshake_start(struct kvmig__ovsdb *db);
void kvmig__ovsdb_handshake_init(struct kvmig__ovsdb *db);
void kvmig__ovsdb_handshake_lost(struct kvmig__ovsdb *db);
/* params of an update of _Server; false: it is not one. */
bool kvmig__ovsdb_handshake_update(struct kvmig__ovsdb *db, const char *method, struct json_object *params);
/* The handshake is over (ovsdb_client.c). */
void kvmig__ovsdb_came_up(struct kvmig__ovsdb *db);

/* ---- monitors (ovsdb_monitor.c) ---- */
enum kvmig__monitor_state {
    KVMIG__MONITOR_OFF, /* not asked for on this connection */
    KVMIG__MONITOR_ASKED, /* until the first rows are here */
    KVMIG__MONITOR_LIVE,
    KVMIG__MONITOR_CHANGING, /* until the server confirms other conditions */
};

struct kvmig__ovsdb_monitored {
    struct kvmig__ovsdb_table spec; /* where is ours, and the newest */
    bool changed; /* where is not what the server was told last */
    struct kvmig__ovsdb_rows rows;
};

struct kvmig__ovsdb_monitor {
    struct kvmig__ovsdb *db;
    struct kvmig__ovsdb_monitor *next;
    struct kvmig__ovsdb_monitored *tables;
    size_t n_tables;
    struct kvmig__ovsdb_budget budget;

    enum kvmig__monitor_state state;
    enum kvmig__ovsdb_method method; /* that it was asked for by */
    char id[32]; /* "" = nothing of it is known to the server */
    uint64_t request; /* 0 = none is under way */
    char last_txn[KVMIG__UUID_SIZE]; /* up to which the rows are known */
    bool resumable; /* the rows are those of the present conditions and columns */

    bool marked, due; /* to be told soon; in this round */
    void (*changed)(void *data);
    void *data;
};
void kvmig__ovsdb_monitors_start(struct kvmig__ovsdb *db);
void kvmig__ovsdb_monitors_lost(struct kvmig__ovsdb *db);
void kvmig__ovsdb_monitors_forget_txn(struct kvmig__ovsdb *db); /* the next connection gets all rows anew */
bool kvmig__ovsdb_monitors_waiting(const struct kvmig__ovsdb *db); /* any that has not got the rows it asked for */
/* update, update2, update3, monitor_canceled. May drop the connection. */
void kvmig__ovsdb_monitors_notified(struct kvmig__ovsdb *db, const char *method, struct json_object *params);
void kvmig__ovsdb_monitors_mark(struct kvmig__ovsdb *db); /* all are to be told */
/* Begins a round of those who are marked now; tells the next of this round. false: none is left. */
void kvmig__ovsdb_monitors_round(struct kvmig__ovsdb *db);
bool kvmig__ovsdb_monitors_tell(struct kvmig__ovsdb *db);

/* What it asks for (ovsdb_monitor_ask.c): {table: [request]} of the tables that the schema has. The first request
 * covers all of them, a change those whose conditions are others than the server knows; both note that the server
 * knows them now. Owned. */
struct json_object *kvmig__ovsdb_first_requests(struct kvmig__ovsdb_monitor *monitor);
struct json_object *kvmig__ovsdb_change_requests(struct kvmig__ovsdb_monitor *monitor);

/* What it gets (ovsdb_monitor_take.c); NULL, or what is wrong with it. params is an array. */
struct kvmig_error *kvmig__ovsdb_take_first_rows(struct kvmig__ovsdb_monitor *monitor, struct json_object *result);
struct kvmig_error *kvmig__ovsdb_take_update(struct kvmig__ovsdb_monitor *monitor, const char *method,
                                             struct json_object *params);

/* ---- transactions (ovsdb_transact.c) ---- */
void kvmig__ovsdb_calls_send(struct kvmig__ovsdb *db); /* those that wait */
void kvmig__ovsdb_calls_lost(struct kvmig__ovsdb *db, const struct kvmig_error *error);
bool kvmig__ovsdb_calls_tell(struct kvmig__ovsdb *db); /* the next that has ended; false: none is left */
void kvmig__ovsdb_calls_free(struct kvmig__ovsdb *db); /* nobody is told */

#endif
