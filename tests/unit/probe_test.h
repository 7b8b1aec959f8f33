/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the probe share: a small server on the loopback device whose manners can be changed while it runs, and
 * waiting for results. The server has a thread of its own; everything in it that tests read or set is atomic.
 */
#ifndef KVMIG_TESTS_PROBE_TEST_H
#define KVMIG_TESTS_PROBE_TEST_H

#include "context_test.h"
#include "kvmig/probe.h"

#include <json-c/json.h>
#include <sys/socket.h>

enum server_manner {
    SERVER_ECHO, /* sends back what comes in */
    SERVER_HTTP, /* one answer with server.status, the body of which never ends */
    SERVER_GARBAGE, /* answers with something else */
    SERVER_TEXT, /* answers with server.text */
};

enum server_order { ORDER_NONE, ORDER_RESET, ORDER_FINISH }; /* what to do with connections that stand */

struct server {
    int listener;
    uint16_t port;
    pthread_t thread;
    enum server_manner manner; /* fixed */
    const char *text; /* fixed */
    bool in_pieces; /* fixed: the text goes out byte by byte */
    enum server_order after_text; /* fixed: what to do with the connection after the text */
    char request[4096]; /* the last one, as text; to be read after the stop */
    _Atomic int status; /* of HTTP answers */
    _Atomic int is_silent; /* accepts nothing and reads nothing */
    _Atomic int order; /* becomes ORDER_NONE when it is done */
    _Atomic int accepted, requests, ends;
};

/* host is "127.0.0.1" or "::1". */
void server_start(struct server *server, const char *host, enum server_manner manner);
/* One that answers with a text. */
void server_start_text(struct server *server, const char *text, bool in_pieces, enum server_order after_text);
void server_stop(struct server *server);
/* Opens and closes a listener: a port at which nobody listens. */
uint16_t server_free_port(void);

/* A probe of n targets: no try runs out of time within a test unless the target says otherwise. */
struct kvmig_probe *test_probe_new(struct kvmig_context *context, struct kvmig_probe_target *targets, size_t n);
struct kvmig_probe_target test_target(int32_t kind, const char *host, uint16_t port);
struct kvmig_probe_result test_result(struct kvmig_probe *probe, size_t index);
/* Waits until so many more tries have succeeded or failed. */
void test_wait_successes(struct kvmig_probe *probe, size_t index, uint64_t more);
void test_wait_failures(struct kvmig_probe *probe, size_t index, uint64_t more);
/* Waits until the present outage is the longest gap, however the machine stumbled before. */
void test_wait_open_gap(struct kvmig_probe *probe, size_t index);
/* Member of a target in the probe's JSON, as text; the caller frees it; NULL if there is none. */
char *test_json_member(struct kvmig_probe *probe, size_t index, const char *member, const char *inner);

#endif
