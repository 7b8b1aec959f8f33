/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of the HTTP client, for its own files:
 *   client.c              its life, the requests of it, and when functions of users run
 *   client_credentials.c  loading and renewing credentials
 *   client_request.c      one transfer
 *   client_setup.c        what libcurl is told: URL, TLS, headers
 *   client_lines.c        cutting a watch into lines
 *   client_error.c        answers and failures in words
 * Everything needs the context lock, but for client_lines.c and the pure parts of client_error.c.
 */
#ifndef KVMIG_SRC_CLIENT_PRIVATE_H
#define KVMIG_SRC_CLIENT_PRIVATE_H

#include "context/curl.h"
#include "kubernetes/client.h"
#include "kubernetes/client_lines.h"

#include <json-c/json.h>

/* Connections to the server. A client has one pool for new requests and replaces it when nothing comes any more on
 * it: requests over HTTP/2 share a connection, and one that is dead without a word would swallow them all, also
 * those that are tried again. */
struct kvmig__pool {
    unsigned refs; /* the client's, and one per transfer */
    CURLSH *share; /* the cache of connections; NULL = the context's */
    int64_t heard_ms; /* when the last byte came */
};

/* One load's result. Transfers keep what they were begun with. */
struct kvmig__credentials {
    unsigned refs;
    uint64_t number;
    struct kvmig__access *access;
};

struct kvmig__client {
    struct kvmig_context *context;
    struct kvmig__access_source *source;
    struct kvmig__client_opts opts;
    struct kvmig__lane *lane;
    struct kvmig__pool *pool;
    struct kvmig__request_http *requests;
    /* client_credentials.c; times are of CLOCK_MONOTONIC */
    struct kvmig__credentials *credentials; /* NULL until loaded */
    struct kvmig_error *load_error; /* why the last load failed */
    uint64_t loads;
    bool loading, refused;
    int64_t stale_ms, dead_ms; /* to be renewed in good time; not to be used any more */
    int64_t not_before_ms, backoff_ms; /* no load before */
};

enum kvmig__request_state {
    KVMIG__REQUEST_WAITING, /* for credentials */
    KVMIG__REQUEST_RUNNING,
    KVMIG__REQUEST_ENDED, /* done() is to be told */
};
struct kvmig__request_http {
    struct kvmig__client *client; /* NULL once cancelled */
    struct kvmig__request_http *next, *prev;
    struct kvmig__ask ask; /* strings owned */
    enum kvmig__request_state state;
    bool repeated; /* after a 401 */
    bool busy; /* a function of the user's runs; who cancels leaves the memory to that frame */
    bool opened, tell_opened; /* a watch that the server has accepted */
    struct kvmig__timer deadline, turn;
    int64_t heard_ms; /* when the last byte came, or the transfer began */
    /* the transfer */
    struct kvmig__pool *pool;
    struct kvmig__credentials *credentials;
    CURL *easy;
    struct kvmig__transfer *transfer;
    struct curl_slist *headers, *connect_to;
    char curl_text[CURL_ERROR_SIZE];
    /* what came */
    int32_t status;
    int64_t retry_after_ms;
    struct kvmig__lines lines; /* of a watch */
    char *body;
    size_t length, capacity;
    bool too_large;
    char *reason;
    struct kvmig_error *error;
};

/* client.c */
struct kvmig__pool *kvmig__pool_new(void);
void kvmig__pool_unref(struct kvmig__pool *pool); /* NULL is ignored */
/* The result is there: done() runs in dispatch. error is taken. */
void kvmig__request_end(struct kvmig__request_http *request, struct kvmig_error *error);
/* Lines are there. */
void kvmig__request_wake(struct kvmig__request_http *request);
/* Begins the transfer, waits for credentials, or ends. */
void kvmig__request_go_on(struct kvmig__request_http *request);

/* client_credentials.c */
enum kvmig__credentials_state {
    KVMIG__CREDENTIALS_READY,
    KVMIG__CREDENTIALS_AWAITED, /* kvmig__request_go_on() is called for all who wait */
    KVMIG__CREDENTIALS_FAILED, /* client->load_error says why; a later request tries again */
};
/* Loads them if need be. */
enum kvmig__credentials_state kvmig__client_credentials(struct kvmig__client *client);
/* The server refused these. True: newer ones are there, or are being got. */
bool kvmig__client_refused(struct kvmig__client *client, uint64_t number);
void kvmig__client_accepted(struct kvmig__client *client);
void kvmig__credentials_unref(struct kvmig__credentials *credentials); /* NULL is ignored */

/* client_request.c */
void kvmig__request_start(struct kvmig__request_http *request); /* credentials are ready */
void kvmig__request_stop(struct kvmig__request_http *request); /* takes the transfer down; what came stays */

/* client_setup.c: NULL, or what is wrong. */
struct kvmig_error *kvmig__request_set_up(struct kvmig__request_http *request);
void kvmig__request_free_headers(struct kvmig__request_http *request); /* wipes them */

/* client_error.c */
struct kvmig_error *kvmig__request_error(const struct kvmig__request_http *request, int32_t code, const char *evidence,
                                         const char *hint, const char *fmt, ...) KVMIG__PRINTF(5, 6);
/* The server's answer is no success; fills in reason and retry_after_ms too. */
struct kvmig_error *kvmig__request_status_error(struct kvmig__request_http *request);
struct kvmig_error *kvmig__request_curl_error(const struct kvmig__request_http *request, CURLcode result);
struct kvmig_error *kvmig__request_timeout_error(const struct kvmig__request_http *request);

#endif
