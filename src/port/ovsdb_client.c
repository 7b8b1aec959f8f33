/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The client itself: shared by those in one context who want the same database, connected for as long as anybody has
 * it. Says which remote is tried when, what the trouble is, and when functions of users run. What is said on a
 * connection is in the other files of the client. Needs the context lock; runs in dispatch.
 *
 * A client belongs to its users together and goes with the last one. It owns the connection, its timers and the calls;
 * a monitor belongs to whoever made it.
 *
 * Functions of users run from one timer only, so never from inside a call of theirs, and may do anything, also put the
 * client.
 */
#include "port/ovsdb_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- what went wrong ---- */

char *kvmig__ovsdb_place(const struct kvmig__ovsdb *db)
{
    return kvmig__asprintf("%s, database %s", db->remote ? db->remote->text : db->remotes_text, db->database);
}

struct kvmig_error *kvmig__ovsdb_fault(const struct kvmig__ovsdb *db, int32_t code, const char *evidence,
                                       const char *hint, const char *fmt, ...)
{
    char *place = kvmig__ovsdb_place(db), *message;
    struct kvmig_error *error;
    va_list args;

    va_start(args, fmt);
    message = kvmig__vasprintf(fmt, args);
    va_end(args);
    error = kvmig__error_new(code, place, evidence, hint, "%s", message);
    free(message);
    free(place);
    return error;
}

static struct json_object *member(struct json_object *object, const char *name)
{
    struct json_object *found;

    return json_object_object_get_ex(object, name, &found) && json_object_is_type(found, json_type_string) ? found
                                                                                                           : NULL;
}

bool kvmig__ovsdb_error_says(struct json_object *error, const char *tag)
{
    struct json_object *text = json_object_is_type(error, json_type_string) ? error : member(error, "error");

    return text && strcmp(json_object_get_string(text), tag) == 0;
}

char *kvmig__ovsdb_error_text(struct json_object *error)
{
    struct json_object *text = member(error, "error"), *details = member(error, "details");

    if (json_object_is_type(error, json_type_string))
        return kvmig__asprintf("%.400s", json_object_get_string(error));
    if (!text)
        return kvmig__strdup("an error without a text");
    return kvmig__asprintf("%.100s%s%.400s", json_object_get_string(text), details ? ": " : "",
                           details ? json_object_get_string(details) : "");
}

/* Remembers what happened to this remote, and makes the trouble of all that were tried in this round. */
static void note_failure(struct kvmig__ovsdb *db, struct kvmig_error *error)
{
    char *line = kvmig__asprintf("%s: %s%s%s", db->remote->text, error->message, error->evidence ? " " : "",
                                 error->evidence ? error->evidence : "");

    kvmig__strlist_add(&db->failures, line);
    free(line);
    if (db->failures.n > 1) {
        free(error->evidence);
        error->evidence = kvmig__strlist_join(&db->failures, "; ");
    }
    kvmig__error_free(db->trouble);
    db->trouble = error;
}

/* ---- whom to try, and when ---- */

static uint64_t next_random(struct kvmig__ovsdb *db)
{
    db->random ^= db->random << 13;
    db->random ^= db->random >> 7;
    db->random ^= db->random << 17;
    return db->random;
}

/* So that not all clients of a cluster go to the same server. */
static void begin_round(struct kvmig__ovsdb *db)
{
    for (size_t i = db->remotes.n; i > 1; i--) {
        size_t j = next_random(db) % i, order = db->order[i - 1];

        db->order[i - 1] = db->order[j];
        db->order[j] = order;
    }
    db->at = 0;
}

/* How long to wait before the next try. Within a round nothing, nor after a connection that was well for a while. */
static int64_t next_delay(struct kvmig__ovsdb *db, bool was_well)
{
    if (was_well) {
        begin_round(db);
        db->backoff_ms = 0;
        return 0;
    }
    if (db->at < db->remotes.n)
        return 0;
    begin_round(db);
    db->backoff_ms = db->backoff_ms ? db->backoff_ms * 2 : KVMIG__OVSDB_MIN_BACKOFF_MS;
    if (db->backoff_ms > KVMIG__OVSDB_MAX_BACKOFF_MS)
        db->backoff_ms = KVMIG__OVSDB_MAX_BACKOFF_MS;
    return db->backoff_ms;
}

static void connected(void *data)
{
    struct kvmig__ovsdb *db = data;

    db->stage = KVMIG__OVSDB_ASKING;
    kvmig__ovsdb_handshake_start(db);
    kvmig__ovsdb_progress(db);
}

static void notified(void *data, const char *method, struct json_object *params)
{
    struct kvmig__ovsdb *db = data;

    if (!kvmig__ovsdb_handshake_update(db, method, params))
        kvmig__ovsdb_monitors_notified(db, method, params);
}

static void lost(void *data, struct kvmig_error *error)
{
    kvmig__ovsdb_drop(data, error);
}

static void open_next(void *data)
{
    static const struct kvmig__ovsdb_rpc_ops ops = { .connected = connected, .notified = notified, .lost = lost };
    struct kvmig__ovsdb *db = data;

    if (db->at == 0)
        kvmig__strlist_clear(&db->failures);
    db->remote = &db->remotes.v[db->order[db->at++]];
    db->stage = KVMIG__OVSDB_CONNECTING;
    db->method = KVMIG__MONITOR_COND_SINCE;
    db->rpc = kvmig__ovsdb_rpc_open(db->context, db->remote, &db->tls, KVMIG__OVSDB_CONNECT_MS, KVMIG__OVSDB_PROBE_MS,
                                    &ops, db);
}

void kvmig__ovsdb_drop(struct kvmig__ovsdb *db, struct kvmig_error *error)
{
    bool was_up = db->stage == KVMIG__OVSDB_UP;
    bool was_well = db->synced_ms && kvmig__now_ms() - db->synced_ms >= KVMIG__OVSDB_STEADY_MS;

    kvmig__log(db->context, was_up ? KVMIG_LOG_WARN : KVMIG_LOG_DEBUG, "port", "%s, database %s: %s %s",
               db->remote->text, db->database, error->message, error->evidence ? error->evidence : "");
    kvmig__ovsdb_rpc_close(db->rpc);
    db->rpc = NULL;
    db->stage = KVMIG__OVSDB_IDLE;
    db->synced_ms = 0;
    kvmig__ovsdb_handshake_lost(db);
    kvmig__ovsdb_monitors_lost(db);
    kvmig__ovsdb_calls_lost(db, error);
    if (was_well)
        kvmig__strlist_clear(&db->failures);
    note_failure(db, error);
    kvmig__timer_arm_in(&db->retry, next_delay(db, was_well));
    kvmig__ovsdb_monitors_mark(db);
    kvmig__ovsdb_progress(db);
}

void kvmig__ovsdb_came_up(struct kvmig__ovsdb *db)
{
    db->stage = KVMIG__OVSDB_UP;
    kvmig__error_free(db->trouble);
    db->trouble = NULL;
    kvmig__log(db->context, KVMIG_LOG_INFO, "port", "%s serves database %s", db->remote->text, db->database);
    kvmig__ovsdb_monitors_start(db);
    kvmig__ovsdb_calls_send(db);
    kvmig__ovsdb_monitors_mark(db);
    kvmig__ovsdb_progress(db);
}

static void answer_is_late(void *data)
{
    struct kvmig__ovsdb *db = data;

    kvmig__ovsdb_drop(db, kvmig__ovsdb_fault(db, -ETIMEDOUT, NULL, "Check the load of the server.",
                                             "The server lives but does not answer a request for its schema or rows."));
}

void kvmig__ovsdb_progress(struct kvmig__ovsdb *db)
{
    bool is_up = db->stage == KVMIG__OVSDB_UP, waits = is_up && kvmig__ovsdb_monitors_waiting(db);

    if (waits || db->stage == KVMIG__OVSDB_ASKING)
        kvmig__timer_arm_in(&db->answer, KVMIG__OVSDB_ANSWER_MS);
    else
        kvmig__timer_disarm(&db->answer);
    if (is_up && !waits && !db->synced_ms)
        db->synced_ms = kvmig__now_ms();
}

/* ---- functions of users ---- */

static void free_if_unused(struct kvmig__ovsdb *db)
{
    if (!db->users && !db->pins)
        free(db);
}

static void deliver(void *data)
{
    struct kvmig__ovsdb *db = data;

    db->pins++;
    kvmig__ovsdb_monitors_round(db);
    while (db->users && kvmig__ovsdb_monitors_tell(db)) {
    }
    while (db->users && kvmig__ovsdb_calls_tell(db)) {
    }
    db->pins--;
    free_if_unused(db);
}

void kvmig__ovsdb_deliver_soon(struct kvmig__ovsdb *db)
{
    kvmig__timer_arm_in(&db->deliver, 0);
}

/* ---- sharing ---- */

static bool is_same(const struct kvmig__ovsdb *db, const struct kvmig__ovsdb_spec *spec)
{
    return kvmig__str_eq(db->remotes_text, spec->remotes) && kvmig__str_eq(db->database, spec->database) &&
           kvmig__str_eq(db->tls.ca_file, spec->ca_file) && kvmig__str_eq(db->tls.cert_file, spec->cert_file) &&
           kvmig__str_eq(db->tls.key_file, spec->key_file) && db->leader_only == spec->leader_only;
}

static struct kvmig_error *check_spec(const struct kvmig__ovsdb_spec *spec, const char *where,
                                      struct kvmig__ovsdb_remotes *out_remotes)
{
    struct kvmig_error *error = kvmig__ovsdb_remotes_parse(spec->remotes, where, out_remotes);

    if (error)
        return error;
    for (size_t i = 0; i < out_remotes->n; i++) {
        if (out_remotes->v[i].kind != KVMIG__REMOTE_SSL || (spec->ca_file && spec->cert_file && spec->key_file))
            continue;
        error = kvmig__error_new(-EINVAL, where, out_remotes->v[i].text,
                                 "Give the files of the authority, the certificate and the private key.",
                                 "An ssl: remote needs files that are not given.");
        kvmig__ovsdb_remotes_clear(out_remotes);
        return error;
    }
    return NULL;
}

static void seed(struct kvmig__ovsdb *db)
{
    if (getrandom(&db->random, sizeof(db->random), GRND_NONBLOCK) != (ssize_t)sizeof(db->random))
        db->random = (uint64_t)kvmig__now_ms() ^ (uint64_t)(uintptr_t)db;
    db->random |= 1; /* 0 would stay 0 */
}

/* remotes taken. */
static struct kvmig__ovsdb *make(struct kvmig_context *context, const struct kvmig__ovsdb_spec *spec,
                                 const struct kvmig__ovsdb_remotes *remotes)
{
    struct kvmig__ovsdb *db = kvmig__calloc(1, sizeof(*db));

    db->context = context;
    db->remotes_text = kvmig__strdup(spec->remotes);
    db->database = kvmig__strdup(spec->database);
    db->tls.ca_file = kvmig__strdup(spec->ca_file);
    db->tls.cert_file = kvmig__strdup(spec->cert_file);
    db->tls.key_file = kvmig__strdup(spec->key_file);
    db->leader_only = spec->leader_only;
    db->remotes = *remotes;
    db->order = kvmig__calloc(remotes->n, sizeof(*db->order));
    for (size_t i = 0; i < remotes->n; i++)
        db->order[i] = i;
    seed(db);
    begin_round(db);
    kvmig__timer_init(&db->retry, context, open_next, db);
    kvmig__timer_init(&db->answer, context, answer_is_late, db);
    kvmig__timer_init(&db->deliver, context, deliver, db);
    kvmig__ovsdb_handshake_init(db);
    kvmig__timer_arm_in(&db->retry, 0);
    return db;
}

struct kvmig_error *kvmig__ovsdb_get(struct kvmig_context *context, const struct kvmig__ovsdb_spec *spec,
                                     const char *where, struct kvmig__ovsdb **out_db)
{
    void **slot = kvmig__context_slot(context, KVMIG__SLOT_OVSDB);
    struct kvmig__ovsdb_remotes remotes;
    struct kvmig__ovsdb *db;
    struct kvmig_error *error;

    *out_db = NULL;
    for (db = *slot; db; db = db->next) {
        if (is_same(db, spec)) {
            db->users++;
            *out_db = db;
            return NULL;
        }
    }
    error = check_spec(spec, where, &remotes);
    if (error)
        return error;
    db = make(context, spec, &remotes);
    db->users = 1;
    db->next = *slot;
    *slot = db;
    *out_db = db;
    return NULL;
}

static void unlink_from_context(struct kvmig__ovsdb *db)
{
    void **slot = kvmig__context_slot(db->context, KVMIG__SLOT_OVSDB);
    struct kvmig__ovsdb *before = *slot;

    if (before == db) {
        *slot = db->next;
        return;
    }
    while (before->next != db)
        before = before->next;
    before->next = db->next;
}

static void free_members(struct kvmig__ovsdb *db)
{
    kvmig__ovsdb_rows_clear(&db->server_rows);
    kvmig__ovsdb_remotes_clear(&db->remotes);
    kvmig__strlist_clear(&db->failures);
    kvmig__error_free(db->trouble);
    json_object_put(db->schema);
    free(db->served_schema);
    free(db->cluster_id);
    free(db->order);
    free(db->remotes_text);
    free(db->database);
    free(db->tls.ca_file);
    free(db->tls.cert_file);
    free(db->tls.key_file);
}

void kvmig__ovsdb_put(struct kvmig__ovsdb *db)
{
    if (!db || --db->users)
        return;
    assert(!db->monitors);
    unlink_from_context(db);
    kvmig__timer_disarm(&db->retry);
    kvmig__timer_disarm(&db->answer);
    kvmig__timer_disarm(&db->deliver);
    kvmig__ovsdb_rpc_close(db->rpc);
    kvmig__ovsdb_calls_free(db);
    free_members(db);
    free_if_unused(db);
}

/* ---- what is known ---- */

bool kvmig__ovsdb_is_up(const struct kvmig__ovsdb *db)
{
    return db->stage == KVMIG__OVSDB_UP;
}

const struct kvmig_error *kvmig__ovsdb_trouble(const struct kvmig__ovsdb *db)
{
    return db->trouble;
}

const char *kvmig__ovsdb_schema_version(const struct kvmig__ovsdb *db)
{
    struct json_object *version;

    return db->schema && json_object_object_get_ex(db->schema, "version", &version) ? json_object_get_string(version)
                                                                                    : NULL;
}

bool kvmig__ovsdb_has_column(const struct kvmig__ovsdb *db, const char *table, const char *column)
{
    return kvmig__ovsdb_schema_has_column(db->schema, table, column);
}
