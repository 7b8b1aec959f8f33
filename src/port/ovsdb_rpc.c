/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests and answers on one stream. Does: number requests, match what comes back, answer the server's echo, notice
 * a silent server, and end in one call of lost(). Does not: reconnect, repeat anything, or know what methods mean.
 *
 * Runs with the context lock held. The connection is its user's and may be closed inside any of the user's functions:
 * it is emptied then, and its memory goes when the outermost frame that is inside it is left (busy). A message
 * belongs to the framer, which outlives the frame that reads from it.
 */
#include "port/ovsdb_rpc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REQUESTS 1024 /* without an answer */

struct request {
    uint64_t id;
    void (*reply)(void *data, struct json_object *result, struct json_object *server_error, bool lost);
    void *data;
    struct request *next;
};
struct queue {
    struct request *first, *last;
    size_t n;
};

/* How sure it is that the server is there. */
enum silence {
    HEARD, /* bytes came within probe_ms */
    ASKED, /* an echo was sent, nothing came since */
    LAST_LOOK, /* time is over; what came while this process did not dispatch is read first */
};

struct kvmig__ovsdb_rpc {
    struct kvmig_context *context;
    const struct kvmig__ovsdb_rpc_ops *ops;
    void *data;
    char *remote; /* for messages */
    struct kvmig__ovsdb_stream *stream; /* NULL after the loss */
    struct kvmig__ovsdb_framer *framer;
    struct queue sent; /* wait for an answer, by id */
    struct queue refused; /* could not be sent; answered in the next dispatch */
    struct kvmig__timer refuse;
    uint64_t last_id;
    struct kvmig__timer probe;
    int64_t probe_ms; /* 0 = do not probe */
    int64_t heard_ms; /* when the last bytes came; CLOCK_MONOTONIC */
    enum silence silence;
    bool lost, closed;
    struct kvmig_error *bad_message; /* set while a piece of the stream is cut into messages */
    unsigned busy;
};

/* ---- queues of requests ---- */

static void push(struct queue *queue, struct request *request)
{
    request->next = NULL;
    if (queue->last)
        queue->last->next = request;
    else
        queue->first = request;
    queue->last = request;
    queue->n++;
}

/* Takes the request with that id, or the first one for id 0, out of the queue; NULL if there is none. */
static struct request *take(struct queue *queue, uint64_t id)
{
    struct request *previous = NULL, *request = queue->first;

    while (request && id != 0 && request->id != id) {
        previous = request;
        request = request->next;
    }
    if (!request)
        return NULL;
    if (previous)
        previous->next = request->next;
    else
        queue->first = request->next;
    if (queue->last == request)
        queue->last = previous;
    queue->n--;
    return request;
}

static void drop(struct queue *queue)
{
    struct request *request;

    while ((request = take(queue, 0)))
        free(request);
}

/* ---- the end ---- */

static void hang_up(struct kvmig__ovsdb_rpc *rpc)
{
    kvmig__timer_disarm(&rpc->probe);
    kvmig__ovsdb_stream_close(rpc->stream);
    rpc->stream = NULL;
}

static void enter(struct kvmig__ovsdb_rpc *rpc)
{
    rpc->busy++;
}

static void leave(struct kvmig__ovsdb_rpc *rpc)
{
    if (--rpc->busy > 0 || !rpc->closed)
        return;
    kvmig__ovsdb_framer_free(rpc->framer);
    kvmig__error_free(rpc->bad_message);
    free(rpc->remote);
    free(rpc);
}

void kvmig__ovsdb_rpc_close(struct kvmig__ovsdb_rpc *rpc)
{
    if (!rpc)
        return;
    enter(rpc);
    rpc->closed = rpc->lost = true;
    hang_up(rpc);
    kvmig__timer_disarm(&rpc->refuse);
    drop(&rpc->sent);
    drop(&rpc->refused);
    leave(rpc);
}

static void answer(struct request *request, struct json_object *result, struct json_object *server_error, bool lost)
{
    if (request->reply)
        request->reply(request->data, result, server_error, lost);
    free(request);
}

/* Answers those that are in the queue now; what replies add waits for the next dispatch. */
static void answer_lost(struct kvmig__ovsdb_rpc *rpc, struct queue *queue)
{
    struct request *request;

    for (size_t n = queue->n; n > 0 && !rpc->closed; n--) {
        request = take(queue, 0);
        if (request) /* a reply may have forgotten others */
            answer(request, NULL, NULL, true);
    }
}

/* Takes the error. */
static void lose(struct kvmig__ovsdb_rpc *rpc, struct kvmig_error *error)
{
    if (rpc->lost) {
        kvmig__error_free(error);
        return;
    }
    rpc->lost = true;
    hang_up(rpc);
    answer_lost(rpc, &rpc->refused);
    answer_lost(rpc, &rpc->sent);
    if (rpc->closed)
        kvmig__error_free(error);
    else
        rpc->ops->lost(rpc->data, error);
}

static void refuse_is_due(void *data)
{
    struct kvmig__ovsdb_rpc *rpc = data;

    enter(rpc);
    answer_lost(rpc, &rpc->refused);
    if (rpc->refused.n > 0)
        kvmig__timer_arm_in(&rpc->refuse, 1);
    leave(rpc);
}

/* ---- sending ---- */

static void send_object(struct kvmig__ovsdb_rpc *rpc, struct json_object *object)
{
    size_t n;
    const char *text =
        json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &n);

    kvmig__ovsdb_stream_send(rpc->stream, text, n);
    json_object_put(object);
}

uint64_t kvmig__ovsdb_rpc_request(struct kvmig__ovsdb_rpc *rpc, const char *method, struct json_object *params,
                                  void (*reply)(void *data, struct json_object *result,
                                                struct json_object *server_error, bool lost),
                                  void *data)
{
    struct request *request = kvmig__calloc(1, sizeof(*request));
    struct json_object *object;

    *request = (struct request){ .id = ++rpc->last_id, .reply = reply, .data = data };
    if (rpc->lost || rpc->sent.n >= MAX_REQUESTS) {
        json_object_put(params);
        push(&rpc->refused, request);
        kvmig__timer_arm_in(&rpc->refuse, 0);
        return request->id;
    }
    object = json_object_new_object();
    json_object_object_add(object, "method", json_object_new_string(method));
    json_object_object_add(object, "params", params);
    json_object_object_add(object, "id", json_object_new_uint64(request->id));
    push(&rpc->sent, request);
    send_object(rpc, object);
    return request->id;
}

void kvmig__ovsdb_rpc_forget(struct kvmig__ovsdb_rpc *rpc, uint64_t id)
{
    struct request *request;

    if (id == 0)
        return;
    request = take(&rpc->refused, id);
    free(request);
    /* One that was sent keeps its place until its answer comes, so that the bound counts what the server owes. */
    for (request = rpc->sent.first; request; request = request->next) {
        if (request->id == id)
            request->reply = NULL;
    }
}

/* Answers a request of the server; result or error is taken, the other is NULL. */
static void send_reply(struct kvmig__ovsdb_rpc *rpc, struct json_object *id, struct json_object *result,
                       struct json_object *error)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "id", json_object_get(id));
    json_object_object_add(object, "result", result);
    json_object_object_add(object, "error", error);
    send_object(rpc, object);
}

/* ---- what comes from the server ---- */

static bool bad_message(struct kvmig__ovsdb_rpc *rpc, struct json_object *message, const char *how)
{
    char *text = kvmig__strndup(json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN), 200);

    rpc->bad_message = kvmig__error_new(EPROTO, NULL, text, "Check that the remote is that of an OVSDB server.",
                                        "A message of the OVSDB server is not JSON-RPC: %s.", how);
    free(text);
    return false;
}

static void take_request(struct kvmig__ovsdb_rpc *rpc, const char *method, struct json_object *params,
                         struct json_object *id)
{
    if (id && strcmp(method, "echo") == 0) {
        send_reply(rpc, id, json_object_get(params), NULL);
        return;
    }
    if (id)
        send_reply(rpc, id, NULL, json_object_new_string("unknown method"));
    rpc->ops->notified(rpc->data, method, params);
}

static void take_answer(struct kvmig__ovsdb_rpc *rpc, struct json_object *id, struct json_object *result,
                        struct json_object *server_error)
{
    int64_t number = json_object_is_type(id, json_type_int) ? json_object_get_int64(id) : 0;
    struct request *request = number > 0 ? take(&rpc->sent, (uint64_t)number) : NULL;

    if (request)
        answer(request, result, server_error, false);
    else
        kvmig__log(rpc->context, KVMIG_LOG_DEBUG, "port", "%s: an answer to no request is ignored", rpc->remote);
}

/* For the framer: false ends the reading of this piece. */
static bool take_message(void *data, struct json_object *message)
{
    struct kvmig__ovsdb_rpc *rpc = data;
    struct json_object *method, *params, *id, *result, *server_error;

    json_object_object_get_ex(message, "id", &id);
    if (json_object_object_get_ex(message, "method", &method)) {
        if (!json_object_is_type(method, json_type_string))
            return bad_message(rpc, message, "its method is no string");
        if (!json_object_object_get_ex(message, "params", &params) || !json_object_is_type(params, json_type_array))
            return bad_message(rpc, message, "its params are no array");
        take_request(rpc, json_object_get_string(method), params, id);
    } else {
        bool has_result = json_object_object_get_ex(message, "result", &result);

        if (!json_object_object_get_ex(message, "error", &server_error) && !has_result)
            return bad_message(rpc, message, "it has neither a method nor a result");
        take_answer(rpc, id, result, server_error);
    }
    return !rpc->lost;
}

static void take_bytes(void *data, const char *bytes, size_t n)
{
    struct kvmig__ovsdb_rpc *rpc = data;
    struct kvmig_error *error;

    enter(rpc);
    rpc->heard_ms = kvmig__now_ms();
    rpc->silence = HEARD;
    error = kvmig__ovsdb_framer_feed(rpc->framer, bytes, n, take_message, rpc);
    if (!error) {
        error = rpc->bad_message;
        rpc->bad_message = NULL;
    }
    if (error) {
        kvmig__str_set(&error->where, rpc->remote);
        lose(rpc, error);
    }
    leave(rpc);
}

/* ---- silence ---- */

static struct kvmig_error *silent(const struct kvmig__ovsdb_rpc *rpc)
{
    char *evidence = kvmig__asprintf("nothing came for %" PRId64 " ms", kvmig__now_ms() - rpc->heard_ms);
    struct kvmig_error *error =
        kvmig__error_new(ETIMEDOUT, rpc->remote, evidence,
                         "Check that the server's host is up, and whether the server hangs or is overloaded.",
                         "The OVSDB server %s is silent.", rpc->remote);

    free(evidence);
    return error;
}

static void probe_is_due(void *data)
{
    struct kvmig__ovsdb_rpc *rpc = data;
    int64_t due_ms = rpc->heard_ms + rpc->probe_ms;

    enter(rpc);
    if (rpc->silence == HEARD && kvmig__now_ms() < due_ms) {
        kvmig__timer_arm(&rpc->probe, due_ms);
    } else if (rpc->silence == HEARD) {
        rpc->silence = ASKED;
        kvmig__timer_arm_in(&rpc->probe, rpc->probe_ms);
        kvmig__ovsdb_rpc_request(rpc, "echo", json_object_new_array(), NULL, NULL);
    } else if (rpc->silence == ASKED) {
        rpc->silence = LAST_LOOK;
        kvmig__timer_arm_in(&rpc->probe, 1); /* sockets are read before that */
    } else {
        lose(rpc, silent(rpc));
    }
    leave(rpc);
}

/* ---- the stream ---- */

static void is_connected(void *data)
{
    struct kvmig__ovsdb_rpc *rpc = data;

    enter(rpc);
    rpc->heard_ms = kvmig__now_ms();
    if (rpc->probe_ms > 0)
        kvmig__timer_arm_in(&rpc->probe, rpc->probe_ms);
    rpc->ops->connected(rpc->data);
    leave(rpc);
}

static void is_lost(void *data, struct kvmig_error *error)
{
    struct kvmig__ovsdb_rpc *rpc = data;

    enter(rpc);
    lose(rpc, error);
    leave(rpc);
}

struct kvmig__ovsdb_rpc *kvmig__ovsdb_rpc_open(struct kvmig_context *context, const struct kvmig__ovsdb_remote *remote,
                                               const struct kvmig__ovsdb_tls *tls, int64_t connect_ms, int64_t probe_ms,
                                               const struct kvmig__ovsdb_rpc_ops *ops, void *data)
{
    static const struct kvmig__ovsdb_stream_ops stream_ops = { is_connected, take_bytes, is_lost };
    struct kvmig__ovsdb_rpc *rpc = kvmig__calloc(1, sizeof(*rpc));

    rpc->context = context;
    rpc->ops = ops;
    rpc->data = data;
    rpc->remote = kvmig__strdup(remote->text);
    rpc->framer = kvmig__ovsdb_framer_new(KVMIG__OVSDB_MAX_MESSAGE);
    rpc->probe_ms = probe_ms;
    kvmig__timer_init(&rpc->probe, context, probe_is_due, rpc);
    kvmig__timer_init(&rpc->refuse, context, refuse_is_due, rpc);
    rpc->stream = kvmig__ovsdb_stream_open(context, remote, tls, connect_ms, &stream_ops, rpc);
    return rpc;
}
