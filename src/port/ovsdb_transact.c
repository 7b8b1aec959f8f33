/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Transactions: kept until a server is there, sent once and never again, and judged by what came back. Whether a
 * transaction that got no answer was done cannot be known from here, so that is what its user is told. Needs the
 * context lock; runs in dispatch.
 *
 * A call belongs to the client until done() returns, or until it is forgotten.
 */
#include "port/ovsdb_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum state {
    QUEUED,
    SENT,
    ENDED, /* done() is to be called */
    TELLING, /* done() runs: no longer linked */
};

struct kvmig__ovsdb_call {
    struct kvmig__ovsdb *db;
    struct kvmig__ovsdb_call *next;
    enum state state;
    struct json_object *operations;
    uint64_t request; /* 0 = none, or its answer is here */
    struct kvmig__timer deadline;

    enum kvmig__ovsdb_outcome outcome;
    bool is_guard;
    struct kvmig_error *error;
    struct json_object *results;
    void (*done)(void *data, const struct kvmig__ovsdb_result *result);
    void *data;
};

static void unlink_call(struct kvmig__ovsdb_call *call)
{
    struct kvmig__ovsdb_call **link = &call->db->calls;

    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
}

static void free_call(struct kvmig__ovsdb_call *call)
{
    kvmig__timer_disarm(&call->deadline);
    json_object_put(call->operations);
    json_object_put(call->results);
    kvmig__error_free(call->error);
    free(call);
}

/* error taken. */
static void end(struct kvmig__ovsdb_call *call, enum kvmig__ovsdb_outcome outcome, struct kvmig_error *error)
{
    kvmig__timer_disarm(&call->deadline);
    call->state = ENDED;
    call->request = 0;
    call->outcome = outcome;
    call->error = error;
    kvmig__ovsdb_deliver_soon(call->db);
}

static void end_unknown(struct kvmig__ovsdb_call *call, const char *evidence)
{
    end(call, KVMIG__OVSDB_UNKNOWN,
        kvmig__ovsdb_fault(call->db, -KVMIG_EUNKNOWN, evidence, "Read the rows again and compare.",
                           "It is not known whether the transaction was done."));
}

/* ---- what the server answered ---- */

static struct json_object *member(struct json_object *object, const char *name)
{
    struct json_object *found;

    return json_object_object_get_ex(object, name, &found) ? found : NULL;
}

static const char *text_of(struct json_object *object, const char *name)
{
    struct json_object *found = member(object, name);

    return json_object_is_type(found, json_type_string) ? json_object_get_string(found) : "";
}

static int32_t code_of(struct json_object *error)
{
    static const struct {
        const char *tag;
        int32_t code;
    } codes[] = {
        { "permission error", -EPERM },     { "not owner", -EPERM }, { "not allowed", -EPERM },
        { "resources exhausted", -ENOSPC }, { "I/O error", -EIO },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(codes); i++) {
        if (kvmig__ovsdb_error_says(error, codes[i].tag))
            return codes[i].code;
    }
    return -EINVAL;
}

/* The result at index is an error; one more than there are operations means that committing failed. */
static void end_failed(struct kvmig__ovsdb_call *call, size_t index, struct json_object *failure)
{
    size_t n = json_object_array_length(call->operations);
    struct json_object *operation = index < n ? json_object_array_get_idx(call->operations, index) : NULL;
    const char *op = operation ? text_of(operation, "op") : "commit";
    char *text = kvmig__ovsdb_error_text(failure);
    char *evidence = operation
                         ? kvmig__asprintf("operation %zu (%s %s): %s", index, op, text_of(operation, "table"), text)
                         : kvmig__asprintf("commit: %s", text);

    call->is_guard = strcmp(op, "wait") == 0 && kvmig__ovsdb_error_says(failure, "timed out");
    if (call->is_guard)
        end(call, KVMIG__OVSDB_REFUSED,
            kvmig__ovsdb_fault(call->db, -ESTALE, evidence, "Read the rows again.",
                               "The database is not as expected any more; nothing was changed."));
    else if (kvmig__ovsdb_error_says(failure, "cluster error"))
        end_unknown(call, evidence); /* the server tries again by itself; if it tells us, it may be in the log or not */
    else
        end(call, KVMIG__OVSDB_REFUSED,
            kvmig__ovsdb_fault(call->db, code_of(failure), evidence, NULL,
                               "The server refused the transaction; nothing was changed."));
    free(evidence);
    free(text);
}

/* The whole request was refused. "canceled": the server let go of it before it was through, which in a cluster may
 * be after it was sent to the others. */
static void end_rejected(struct kvmig__ovsdb_call *call, struct json_object *server_error)
{
    char *text = kvmig__ovsdb_error_text(server_error);

    if (kvmig__ovsdb_error_says(server_error, "canceled"))
        end_unknown(call, text);
    else
        end(call, KVMIG__OVSDB_REFUSED,
            kvmig__ovsdb_fault(call->db, code_of(server_error), text, NULL,
                               "The server rejected the transaction; nothing was changed."));
    free(text);
}

/* false: that is no answer to a transaction. */
static bool judge(struct kvmig__ovsdb_call *call, struct json_object *results)
{
    size_t n_operations = json_object_array_length(call->operations), n;

    if (!json_object_is_type(results, json_type_array))
        return false;
    n = json_object_array_length(results);
    for (size_t i = 0; i < n; i++) {
        struct json_object *result = json_object_array_get_idx(results, i);

        if (!json_object_is_type(result, json_type_object))
            return false;
        if (member(result, "error")) {
            end_failed(call, i, result);
            return true;
        }
    }
    if (n != n_operations)
        return false;
    call->results = json_object_get(results);
    end(call, KVMIG__OVSDB_DONE, NULL);
    return true;
}

static void answered(void *data, struct json_object *result, struct json_object *server_error, bool lost)
{
    struct kvmig__ovsdb_call *call = data;
    struct kvmig__ovsdb *db = call->db;

    call->request = 0;
    if (lost)
        return; /* the end of the connection follows, with the reason */
    if (server_error) {
        end_rejected(call, server_error);
    } else if (!judge(call, result)) {
        end_unknown(call, "the answer has not one result for each operation");
        kvmig__ovsdb_drop(db, kvmig__ovsdb_fault(db, -KVMIG_EJSON, NULL, "Check that an OVSDB server listens there.",
                                                 "The server's answer to a transaction is not one."));
    }
}

/* ---- sending ---- */

static void send_call(struct kvmig__ovsdb_call *call)
{
    struct json_object *params = json_object_new_array();

    json_object_array_add(params, json_object_new_string(call->db->database));
    for (size_t i = 0; i < json_object_array_length(call->operations); i++)
        json_object_array_add(params, json_object_get(json_object_array_get_idx(call->operations, i)));
    call->state = SENT;
    call->request = kvmig__ovsdb_rpc_request(call->db->rpc, "transact", params, answered, call);
}

void kvmig__ovsdb_calls_send(struct kvmig__ovsdb *db)
{
    for (struct kvmig__ovsdb_call *call = db->calls; call; call = call->next) {
        if (call->state == QUEUED)
            send_call(call);
    }
}

void kvmig__ovsdb_calls_lost(struct kvmig__ovsdb *db, const struct kvmig_error *error)
{
    char *evidence = kvmig__asprintf("%s %s", error->message, error->evidence ? error->evidence : "");

    for (struct kvmig__ovsdb_call *call = db->calls; call; call = call->next) {
        if (call->state == SENT)
            end_unknown(call, evidence);
    }
    free(evidence);
}

static void is_late(void *data)
{
    struct kvmig__ovsdb_call *call = data;
    const struct kvmig_error *trouble = call->db->trouble;
    char *evidence;

    if (call->state == SENT) {
        kvmig__ovsdb_rpc_forget(call->db->rpc, call->request);
        end_unknown(call, "the server did not answer in time");
        return;
    }
    evidence = trouble ? kvmig__asprintf("%s %s", trouble->message, trouble->evidence ? trouble->evidence : "")
                       : kvmig__strdup("the connection was not ready in time");
    end(call, KVMIG__OVSDB_UNSENT,
        kvmig__ovsdb_fault(call->db, -KVMIG_EUNREACHABLE, evidence, "Check the remotes and that their servers run.",
                           "No server could be reached in time; nothing was changed."));
    free(evidence);
}

struct kvmig__ovsdb_call *kvmig__ovsdb_transact(struct kvmig__ovsdb *db, struct json_object *operations,
                                                int64_t timeout_ms,
                                                void (*done)(void *data, const struct kvmig__ovsdb_result *result),
                                                void *data)
{
    struct kvmig__ovsdb_call *call = kvmig__calloc(1, sizeof(*call)), **link = &db->calls;

    call->db = db;
    call->operations = operations;
    call->done = done;
    call->data = data;
    kvmig__timer_init(&call->deadline, db->context, is_late, call);
    kvmig__timer_arm_in(&call->deadline, timeout_ms);
    while (*link)
        link = &(*link)->next;
    *link = call;
    if (kvmig__ovsdb_is_up(db))
        send_call(call);
    return call;
}

/* ---- the end of a call ---- */

void kvmig__ovsdb_call_forget(struct kvmig__ovsdb_call *call)
{
    if (!call || call->state == TELLING)
        return;
    if (call->request)
        kvmig__ovsdb_rpc_forget(call->db->rpc, call->request);
    unlink_call(call);
    free_call(call);
}

bool kvmig__ovsdb_calls_tell(struct kvmig__ovsdb *db)
{
    for (struct kvmig__ovsdb_call *call = db->calls; call; call = call->next) {
        struct kvmig__ovsdb_result result;

        if (call->state != ENDED)
            continue;
        unlink_call(call);
        call->state = TELLING;
        result = (struct kvmig__ovsdb_result){
            .outcome = call->outcome, .is_guard = call->is_guard, .error = call->error, .results = call->results
        };
        call->done(call->data, &result); /* may forget any call, and put the client */
        free_call(call);
        return true;
    }
    return false;
}

void kvmig__ovsdb_calls_free(struct kvmig__ovsdb *db)
{
    while (db->calls) {
        struct kvmig__ovsdb_call *call = db->calls;

        db->calls = call->next;
        free_call(call);
    }
}
