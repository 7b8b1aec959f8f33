/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HTTP to one API server, in the context's loop: requests with a whole answer, and watches whose lines arrive as they
 * come. Uses libcurl's multi interface (context/curl.h); HTTP/2 where the server offers it, all requests over as few
 * connections as possible. Credentials are loaded, and renewed when they are refused or expire, on a lane; requests
 * wait for them.
 *
 * Everything needs the context lock; callbacks run in dispatch with it held, never from inside the call that made the
 * request. A callback may make and cancel requests, and may free the client.
 */
#ifndef KVMIG_SRC_CLIENT_H
#define KVMIG_SRC_CLIENT_H

#include "context/context_internal.h"
#include "kubernetes/access.h"

struct json_object;
struct kvmig__client;
struct kvmig__request_http;

struct kvmig__client_opts {
    /* Of a request, from its start to its last byte; of a watch, until the server accepts it. */
    int64_t request_timeout_ms;
    int64_t idle_timeout_ms; /* a watch without any byte for so long ends with -ETIMEDOUT */
    size_t max_body; /* bytes of one answer; 0 = 64 MiB */
    size_t max_line; /* bytes of one line of a watch; 0 = 8 MiB */
};
/* source is referenced. Nothing is sent before the first request. */
struct kvmig__client *kvmig__client_new(struct kvmig_context *context, struct kvmig__access_source *source,
                                        const struct kvmig__client_opts *opts);
/* Cancels what is under way (no callback); NULL is ignored. */
void kvmig__client_free(struct kvmig__client *client);
/* Namespace of the kubeconfig's context, server URL: NULL until loaded. Borrowed until credentials are renewed: copy
 * them. */
const char *kvmig__client_namespace(const struct kvmig__client *client);
const char *kvmig__client_server(const struct kvmig__client *client);

/* An answer. error is NULL for a 2xx status; else it says what went wrong: an HTTP status with the server's own
 * message (a metav1.Status body's message and reason), or what libcurl says. It is borrowed. Codes: -EACCES 401, -EPERM
 * 403, -ENOENT 404, -EEXIST 409 (AlreadyExists), -EAGAIN 409 (Conflict) and 429, -ESTALE 410, -EINVAL other 4xx, -EIO
 * 5xx, -ETIMEDOUT, -ECONNREFUSED, -ECONNRESET, -EBADMSG (not HTTP, a redirect), -EPROTO (TLS), -EMSGSIZE (body or line
 * too large), -KVMIG_EUNREACHABLE, or what kvmig__access_load() says. */
struct kvmig__answer {
    int32_t status; /* HTTP status; 0 = none arrived */
    const char *body; /* NUL-terminated; NULL for a watch */
    size_t length;
    int64_t retry_after_ms; /* of a Retry-After header; -1 = none */
    const char *reason; /* of a metav1.Status: "Conflict", "Expired", ...; NULL = none */
    const struct kvmig_error *error;
};
typedef void (*kvmig__answer_fn)(void *owner, const struct kvmig__answer *answer);
/* A line of a watch, without its end; borrowed, NUL-terminated. */
typedef void (*kvmig__line_fn)(void *owner, const char *line, size_t length);

struct kvmig__ask {
    const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char *path; /* with query, from the server's root: "/api/v1/pods?limit=500"; copied */
    const char *body; /* JSON; copied; NULL = none */
    const char *content_type; /* NULL = application/json */
    kvmig__line_fn line; /* set: a watch */
    kvmig__answer_fn done; /* exactly once, unless cancelled */
    void *owner;
    void (*opened)(void *owner); /* a watch: the server accepted it; before its first line. NULL = not told */
};
/* Never NULL; trouble arrives through done. A 401 renews credentials and repeats the request once. */
struct kvmig__request_http *kvmig__client_ask(struct kvmig__client *client, const struct kvmig__ask *ask);
/* No callback any more; NULL is ignored. What was sent may have had its effect. */
void kvmig__client_cancel(struct kvmig__request_http *request);

/* A metav1.Status, as bodies of refusals and ERROR events of watches have it. */
struct kvmig__status {
    int32_t code; /* HTTP's; 0 = not said */
    char *message, *reason; /* NULL = not said */
    int64_t retry_after_ms; /* -1 = not said */
};
/* False: json is none. To be cleared in either case. */
bool kvmig__status_read(struct json_object *json, struct kvmig__status *out);
void kvmig__status_clear(struct kvmig__status *status);
/* The code of struct kvmig__answer for an HTTP status; reason may be NULL. */
int32_t kvmig__status_error_code(int32_t http_status, const char *reason);
const char *kvmig__status_hint(int32_t error_code); /* NULL = none */

/* Percent-encodes one path segment or query value; owned. */
char *kvmig__url_escape(const char *text);

#endif
