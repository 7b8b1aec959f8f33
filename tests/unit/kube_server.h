/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A scripted API server for tests: HTTP/1.1 on a loopback port, a thread per connection. The test says which request
 * gets which reply, and what a reply is made of, piece by piece, also while it is being sent: so a watch is a reply
 * that the test goes on writing. Requests are kept as they came.
 *
 * A request takes the first reply, in order of adding, that fits it and was not taken. One that no reply fits gets a
 * 599, which no test expects.
 */
#ifndef KVMIG_TESTS_KUBE_SERVER_H
#define KVMIG_TESTS_KUBE_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct kube_server {
    char url[64];
    _Atomic int requests, connections, unexpected;
    struct kube_server_inside *inside;
};
struct kube_reply;

void kube_server_start(struct kube_server *server);
void kube_server_stop(struct kube_server *server); /* ends connections and threads, and frees */
/* Nobody listens any more; connections stay. */
void kube_server_deafen(struct kube_server *server);
/* What came as the n-th request (from 0): head and body; owned. */
char *kube_server_request(struct kube_server *server, int n);

/* A reply for the next request whose first line contains match ("GET /api/v1/pods"); "" fits all. */
struct kube_reply *kube_server_on(struct kube_server *server, const char *match);
/* Has a request taken it? */
bool kube_reply_taken(struct kube_reply *reply);

/* Pieces, in order. What is added when all before it was sent, goes out at once. */
void kube_raw(struct kube_reply *reply, const char *bytes, size_t n);
void kube_say(struct kube_reply *reply, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kube_chunk(struct kube_reply *reply, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A chunk, every byte of which is a packet of its own. */
void kube_drip(struct kube_reply *reply, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kube_end(struct kube_reply *reply); /* the reply is complete; the connection stays open for the next request */
void kube_end_chunks(struct kube_reply *reply); /* the last chunk, and the end */
void kube_hang_up(struct kube_reply *reply); /* closes the connection */
void kube_reset(struct kube_reply *reply); /* breaks it */

/* Whole replies. headers: lines with "\r\n", or "". */
void kube_json(struct kube_server *server, const char *match, const char *status, const char *headers,
               const char *body);
/* The beginning of a watch. */
struct kube_reply *kube_watch(struct kube_server *server, const char *match);

#endif
