/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JSON-RPC 1.0 as OVSDB speaks it (RFC 7047 section 4) on one stream: cuts the byte stream into messages, matches
 * answers to requests, answers echo, and probes a silent server. Bounds what a hostile server can cost: size and depth
 * of a message, requests in flight, silence. Knows nothing of databases. Everything needs the context lock.
 */
#ifndef KVMIG_SRC_OVSDB_RPC_H
#define KVMIG_SRC_OVSDB_RPC_H

#include "port/ovsdb_stream.h"
#include <json-c/json.h>

#define KVMIG__OVSDB_MAX_MESSAGE ((size_t)64 << 20) /* bytes of one message */
#define KVMIG__OVSDB_MAX_DEPTH 32 /* of nesting; OVSDB needs about 10 */

/* ---- the cutter (pure but for json-c): bytes in, messages out ---- */
struct kvmig__ovsdb_framer;
struct kvmig__ovsdb_framer *kvmig__ovsdb_framer_new(size_t max_message);
void kvmig__ovsdb_framer_free(struct kvmig__ovsdb_framer *framer);
/* Takes bytes; calls message() for each whole one (owned by it; always a JSON object). Returns NULL, or what is wrong:
 * broken JSON, a message that is no object, too long, too deep; then the framer is of no use any more. message() may
 * return false to stop: the rest is dropped. */
struct kvmig_error *kvmig__ovsdb_framer_feed(struct kvmig__ovsdb_framer *framer, const char *bytes, size_t n,
                                             bool (*message)(void *data, struct json_object *message), void *data);

/* ---- the connection ---- */
struct kvmig__ovsdb_rpc;
struct kvmig__ovsdb_rpc_ops {
    void (*connected)(void *data);
    /* A notification or a request of the server other than echo; params borrowed. */
    void (*notified)(void *data, const char *method, struct json_object *params);
    void (*lost)(void *data,
                 struct kvmig_error *error); /* taken; once; all replies were answered before with lost set */
};
struct kvmig__ovsdb_rpc *kvmig__ovsdb_rpc_open(struct kvmig_context *context, const struct kvmig__ovsdb_remote *remote,
                                               const struct kvmig__ovsdb_tls *tls, int64_t connect_ms, int64_t probe_ms,
                                               const struct kvmig__ovsdb_rpc_ops *ops, void *data);
/* Sends a request; params taken. reply() gets the result, or the JSON-RPC error (server_error), both borrowed, or lost
 * = true: whether the server got and did it is not known. Exactly once, never from inside this call. Returns the id,
 * which is never 0. */
uint64_t kvmig__ovsdb_rpc_request(struct kvmig__ovsdb_rpc *rpc, const char *method, struct json_object *params,
                                  void (*reply)(void *data, struct json_object *result,
                                                struct json_object *server_error, bool lost),
                                  void *data);
/* reply() is not called any more for this id. */
void kvmig__ovsdb_rpc_forget(struct kvmig__ovsdb_rpc *rpc, uint64_t id);
/* Nothing of the user is called any more, replies neither. Allowed inside any of its functions. NULL is ignored. */
void kvmig__ovsdb_rpc_close(struct kvmig__ovsdb_rpc *rpc);

#endif
