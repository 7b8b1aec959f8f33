/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An OVSDB server that says what a test tells it to, in place of the connection (kvmig__ovsdb_rpc_*, wrapped by the
 * linker). JSON is written with ' for ". Every function here takes the lock of the context, and dispatches until
 * nothing is due.
 */
#ifndef KVMIG_TESTS_FAKE_OVSDB_RPC_H
#define KVMIG_TESTS_FAKE_OVSDB_RPC_H

#include "context_test.h"
#include "port/ovsdb_private.h"

struct fake_request {
    uint64_t id;
    char *method;
    struct json_object *params;
    void (*reply)(void *data, struct json_object *result, struct json_object *server_error, bool lost);
    void *data;
};
struct fake_ovsdb {
    struct kvmig_context *context;
    struct kvmig__ovsdb_rpc *rpc; /* the open connection; NULL if there is none */
    struct kvmig__strlist opened; /* remotes, in order */
    int n_closed;
    struct {
        struct fake_request *v;
        size_t n;
    } requests; /* without an answer */
};
extern struct fake_ovsdb fake;

void fake_ovsdb_init(struct kvmig_context *context);
void fake_ovsdb_clear(void); /* the client must have closed its connection */

struct json_object *fake_json(const char *text); /* owned; fails the test if it does not parse */

/* ---- what the server does ---- */
void fake_connect(void);
void fake_reply(const char *method, const char *result); /* to the oldest request of that method */
void fake_refuse(const char *method, const char *error);
void fake_notify(const char *method, const char *params);
void fake_lose(const char *why);
/* A whole handshake, without first rows of monitors: a server alone, or what the row of _Server says. */
void fake_serve(void);
void fake_serve_row(const char *row);

/* ---- what the client asked ---- */
size_t fake_pending(const char *method);
/* Fails the test unless the oldest request of that method has these params. */
void fake_expect(const char *method, const char *params);
/* A part of them: an element of the array. */
struct json_object *fake_param(const char *method, size_t index); /* borrowed */

/* The rows and schemas that fake_serve() tells. */
#define FAKE_ROW "11111111-1111-4111-8111-111111111111"
extern const char fake_server_schema[], fake_schema[];

#endif
