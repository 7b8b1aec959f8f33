/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Answers that are no success, and transfers that failed, in words: with the server's own message and reason, what
 * libcurl says, and what to look at. What others wrote is bounded, made one line, and rid of our secrets, should it
 * repeat them. Calls nobody, waits for nothing; functions that take a request need the context lock, the others run on
 * any thread.
 */
#include "base/json_internal.h"
#include "kubernetes/client_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 1000 /* bytes of what others wrote */
#define MIN_SECRET 4 /* a shorter one is no secret, and would be found everywhere */

/* ---- JSON ---- */

/* Borrowed; NULL: it is not there, or no string. */
static const char *text_member(struct json_object *json, const char *name)
{
    struct json_object *member = NULL;

    return json_object_object_get_ex(json, name, &member) && json_object_is_type(member, json_type_string)
               ? json_object_get_string(member)
               : NULL;
}

static int64_t number_member(struct json_object *json, const char *name)
{
    struct json_object *member = NULL;

    return json_object_object_get_ex(json, name, &member) && json_object_is_type(member, json_type_int)
               ? json_object_get_int64(member)
               : 0;
}

bool kvmig__status_read(struct json_object *json, struct kvmig__status *out)
{
    struct json_object *details = NULL;
    int64_t seconds = 0, code;
    const char *kind;

    *out = (struct kvmig__status){ .retry_after_ms = -1 };
    if (!json_object_is_type(json, json_type_object))
        return false;
    kind = text_member(json, "kind");
    if (!kind || strcmp(kind, "Status") != 0)
        return false;
    out->message = kvmig__strdup(text_member(json, "message"));
    out->reason = kvmig__strdup(text_member(json, "reason"));
    code = number_member(json, "code");
    out->code = code > 0 && code < 1000 ? (int32_t)code : 0;
    if (json_object_object_get_ex(json, "details", &details) && json_object_is_type(details, json_type_object))
        seconds = number_member(details, "retryAfterSeconds");
    if (seconds > 0)
        out->retry_after_ms = seconds < INT32_MAX / 1000 ? seconds * 1000 : INT32_MAX;
    return true;
}

void kvmig__status_clear(struct kvmig__status *status)
{
    free(status->message);
    free(status->reason);
    *status = (struct kvmig__status){ .retry_after_ms = -1 };
}

/* ---- codes and hints ---- */

int32_t kvmig__status_error_code(int32_t http_status, const char *reason)
{
    switch (http_status) {
    case 401:
        return -EACCES;
    case 403:
        return -EPERM;
    case 404:
        return -ENOENT;
    case 409:
        return kvmig__str_eq(reason, "AlreadyExists") ? -EEXIST : -EAGAIN;
    case 410:
        return -ESTALE;
    case 429:
        return -EAGAIN;
    default:
        return http_status >= 500 ? -EIO : http_status >= 400 ? -EINVAL : -EBADMSG;
    }
}

const char *kvmig__status_hint(int32_t error_code)
{
    switch (error_code) {
    case -EACCES:
        return "Check the token or the client certificate: the server does not know who this is, or it has expired.";
    case -EPERM:
        return "Let a role of this account allow it, or do without what it is needed for.";
    case -EBADMSG:
        return "Check that the URL is that of an API server, and not of something in front of it.";
    case -EIO:
        return "Look into the API server's log; such trouble often passes by itself.";
    default:
        return NULL;
    }
}

/* ---- what others wrote ---- */

static void hide(char *text, const char *secret)
{
    size_t length = secret ? strlen(secret) : 0;
    char *found;

    if (length < MIN_SECRET)
        return;
    for (found = strstr(text, secret); found; found = strstr(found, secret))
        memset(found, '*', length);
}

/* Owned. Secrets are looked for before the text is cut, so that no half of one is left. */
static char *clean(const struct kvmig__request_http *request, const char *text)
{
    char *copy = kvmig__strdup(text);

    if (request->credentials) {
        hide(copy, request->credentials->access->token);
        hide(copy, request->credentials->access->basic_password);
    }
    if (strlen(copy) > MAX_TEXT)
        memcpy(copy + MAX_TEXT - 3, "...", 4);
    for (char *c = copy; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = ' ';
    }
    return copy;
}

/* ---- errors ---- */

struct kvmig_error *kvmig__request_error(const struct kvmig__request_http *request, int32_t code, const char *evidence,
                                         const char *hint, const char *fmt, ...)
{
    const char *server = request->credentials ? request->credentials->access->server : "";
    char *where = kvmig__asprintf("%s %s%.*s", request->ask.method, server, (int)strcspn(request->ask.path, "?"),
                                  request->ask.path);
    struct kvmig_error *error;
    char *message;
    va_list args;

    va_start(args, fmt);
    message = kvmig__vasprintf(fmt, args);
    va_end(args);
    error = kvmig__error_new(code, where, evidence, hint, "%s", message);
    free(message);
    free(where);
    return error;
}

/* What the body says: the message of a metav1.Status, or its beginning. Owned; NULL = nothing. */
static char *evidence_of(struct kvmig__request_http *request)
{
    struct json_object *json = kvmig__json_parse(request->body, request->length);
    struct kvmig__status status;
    const char *text = NULL;
    char *evidence;

    if (kvmig__status_read(json, &status)) {
        text = status.message;
        request->reason = status.reason;
        status.reason = NULL;
        if (request->retry_after_ms < 0)
            request->retry_after_ms = status.retry_after_ms;
    } else if (request->length > 0) {
        text = request->body;
    }
    evidence = text ? clean(request, text) : NULL;
    kvmig__status_clear(&status);
    json_object_put(json);
    return evidence;
}

struct kvmig_error *kvmig__request_status_error(struct kvmig__request_http *request)
{
    char *evidence, *reason;
    int32_t code;
    struct kvmig_error *error;

    free(request->reason);
    request->reason = NULL;
    evidence = evidence_of(request);
    code = kvmig__status_error_code(request->status, request->reason);
    reason = request->reason ? clean(request, request->reason) : NULL;
    error = kvmig__request_error(request, code, evidence, kvmig__status_hint(code), "The API server answered %d%s%s.",
                                 (int)request->status, reason ? ", " : "", reason ? reason : "");
    free(reason);
    free(evidence);
    return error;
}

struct kvmig_error *kvmig__request_timeout_error(const struct kvmig__request_http *request)
{
    const char *hint = "Check that the server is up and that no firewall swallows the packets.";

    if (request->state == KVMIG__REQUEST_WAITING)
        return kvmig__request_error(request, ETIMEDOUT, NULL,
                                    "Look whether the credential plugin hangs, or the disk that the files are on.",
                                    "The credentials for the API server were not there in time.");
    if (request->opened)
        return kvmig__request_error(request, ETIMEDOUT, NULL, NULL, "Nothing came on the watch for %lld s.",
                                    (long long)(request->client->opts.idle_timeout_ms / 1000));
    return kvmig__request_error(request, ETIMEDOUT, *request->curl_text ? request->curl_text : NULL, hint,
                                "The API server did not answer in time.");
}

static int32_t curl_code(CURLcode result, int32_t system_error)
{
    switch (result) {
    case CURLE_OPERATION_TIMEDOUT:
        return ETIMEDOUT;
    case CURLE_COULDNT_CONNECT:
        return system_error == ECONNREFUSED ? ECONNREFUSED : KVMIG_EUNREACHABLE;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
        return KVMIG_EUNREACHABLE;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
        return EPROTO;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
        return ENOMEM;
    case CURLE_URL_MALFORMAT:
        return EINVAL;
    case CURLE_UNSUPPORTED_PROTOCOL: /* HTTP/0.9, which is whatever does not begin as HTTP */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
        return EBADMSG;
    default:
        return ECONNRESET;
    }
}

static const char *curl_hint(const struct kvmig__access *access, CURLcode result)
{
    switch (result) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return "Check the server's name, and the name service of this host.";
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
        return "Check the proxy's URL, and whether it is needed.";
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
        return "Check that the server runs and listens there, and that no firewall is between.";
    case CURLE_SSL_CERTPROBLEM:
        return "Check that client certificate and key are PEM, belong together, and need no passphrase.";
    case CURLE_SSL_CACERT_BADFILE:
        return "Check that the certificate authority's file can be read and has PEM certificates.";
    case CURLE_PEER_FAILED_VERIFICATION:
        return access->tls_server_name
                   ? "Check that the authority signed the server's certificate, and that it has the tls-server-name."
                   : "Give the authority that signed the server's certificate, and a tls-server-name if the "
                     "certificate "
                     "has another name than the URL.";
    case CURLE_SSL_CONNECT_ERROR:
        return "Check that the server speaks TLS on this port, and accepts the client certificate.";
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_GOT_NOTHING:
        return "Check that the URL is that of an API server, and whether it must begin with https.";
    default:
        return NULL;
    }
}

struct kvmig_error *kvmig__request_curl_error(const struct kvmig__request_http *request, CURLcode result)
{
    const char *what = *request->curl_text ? request->curl_text : curl_easy_strerror(result);
    char *text = clean(request, what), *evidence;
    long system_error = 0;
    struct kvmig_error *error;

    if (request->easy)
        curl_easy_getinfo(request->easy, CURLINFO_OS_ERRNO, &system_error);
    evidence = kvmig__asprintf("%s (libcurl error %d)", text, (int)result);
    error = kvmig__request_error(
        request, curl_code(result, (int32_t)system_error), evidence, curl_hint(request->credentials->access, result),
        request->status > 0 ? "The API server's answer was cut off: %s." : "The API server cannot be talked to: %s.",
        curl_easy_strerror(result));
    free(evidence);
    free(text);
    return error;
}
