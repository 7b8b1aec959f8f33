/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The HTTP client's life, its requests, and when functions of users run. Does not: know what an answer means, or how
 * one is got (client_request.c).
 *
 * Needs the context lock; runs in dispatch. A request belongs to the client from kvmig__client_ask() until done() has
 * returned or it was cancelled. libcurl's callbacks only keep what came; users are told from a timer of the request,
 * on a clean stack, where they may make and cancel requests and free the client: a request that is cancelled while its
 * user runs is emptied at once, and its memory goes when that frame is left (busy).
 */
#include "kubernetes/client_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT_MS 30000
#define DEFAULT_IDLE_MS 300000
#define DEFAULT_MAX_BODY ((size_t)64 << 20)
#define DEFAULT_MAX_LINE ((size_t)8 << 20)
#define LINES_PER_TURN 128 /* so that a flood does not starve others */

/* ---- connections ---- */

struct kvmig__pool *kvmig__pool_new(void)
{
    struct kvmig__pool *pool = kvmig__calloc(1, sizeof(*pool));

    pool->refs = 1;
    pool->share = curl_share_init();
    if (pool->share && curl_share_setopt(pool->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT) != CURLSHE_OK) {
        curl_share_cleanup(pool->share);
        pool->share = NULL;
    }
    return pool;
}

void kvmig__pool_unref(struct kvmig__pool *pool)
{
    if (!pool || --pool->refs > 0)
        return;
    if (pool->share)
        curl_share_cleanup(pool->share); /* closes what is open */
    free(pool);
}

/* ---- requests ---- */

static void free_request(struct kvmig__request_http *request)
{
    kvmig__request_stop(request);
    kvmig__timer_disarm(&request->turn);
    kvmig__timer_disarm(&request->deadline);
    kvmig__lines_clear(&request->lines);
    free(request->body);
    free(request->reason);
    kvmig__error_free(request->error);
    free((char *)(uintptr_t)request->ask.method);
    free((char *)(uintptr_t)request->ask.path);
    free((char *)(uintptr_t)request->ask.body);
    free((char *)(uintptr_t)request->ask.content_type);
    free(request);
}

static void unlink_request(struct kvmig__request_http *request)
{
    struct kvmig__client *client = request->client;

    if (request->prev)
        request->prev->next = request->next;
    else
        client->requests = request->next;
    if (request->next)
        request->next->prev = request->prev;
    request->next = request->prev = NULL;
    request->client = NULL;
}

void kvmig__client_cancel(struct kvmig__request_http *request)
{
    if (!request || !request->client)
        return;
    kvmig__request_stop(request);
    kvmig__timer_disarm(&request->turn);
    kvmig__timer_disarm(&request->deadline);
    unlink_request(request);
    if (!request->busy)
        free_request(request);
}

void kvmig__request_wake(struct kvmig__request_http *request)
{
    kvmig__timer_arm(&request->turn, 0);
}

void kvmig__request_end(struct kvmig__request_http *request, struct kvmig_error *error)
{
    kvmig__request_stop(request);
    kvmig__timer_disarm(&request->deadline);
    kvmig__error_free(request->error);
    request->error = error;
    request->state = KVMIG__REQUEST_ENDED;
    kvmig__request_wake(request);
}

void kvmig__request_go_on(struct kvmig__request_http *request)
{
    struct kvmig__client *client = request->client;

    switch (kvmig__client_credentials(client)) {
    case KVMIG__CREDENTIALS_READY:
        kvmig__request_start(request);
        break;
    case KVMIG__CREDENTIALS_AWAITED:
        request->state = KVMIG__REQUEST_WAITING;
        break;
    case KVMIG__CREDENTIALS_FAILED:
        kvmig__request_end(request, kvmig__error_copy(client->load_error));
        break;
    }
}

/* ---- telling the user ---- */

/* False: the user cancelled. */
static bool tell_lines(struct kvmig__request_http *request)
{
    size_t length = 0;
    char *line;

    if (request->tell_opened) {
        request->tell_opened = false;
        if (request->ask.opened)
            request->ask.opened(request->ask.owner);
    }
    for (int n = 0; n < LINES_PER_TURN && request->client; n++) {
        line = kvmig__lines_take(&request->lines, &length);
        if (!line)
            break;
        if (length > 0)
            request->ask.line(request->ask.owner, line, length);
    }
    return request->client != NULL;
}

static void tell_answer(struct kvmig__request_http *request)
{
    const struct kvmig__answer answer = {
        .status = request->status,
        .body = request->ask.line ? NULL
                : request->body   ? request->body
                                  : "",
        .length = request->ask.line ? 0 : request->length,
        .retry_after_ms = request->retry_after_ms,
        .reason = request->reason,
        .error = request->error,
    };

    unlink_request(request);
    request->ask.done(request->ask.owner, &answer);
}

static void take_turn(void *data)
{
    struct kvmig__request_http *request = data;
    bool over;

    request->busy = true;
    over = !tell_lines(request);
    if (!over && kvmig__lines_ready(&request->lines)) {
        kvmig__timer_arm_in(&request->turn, 1); /* with 0 it would be run in this dispatch */
    } else if (!over && request->state == KVMIG__REQUEST_ENDED) {
        over = true;
        tell_answer(request);
    }
    request->busy = false;
    if (over)
        free_request(request);
}

/* ---- deadlines ---- */

/* Nothing came from the server on any of its connections meanwhile: the next request gets a new one. */
static void suspect_connections(struct kvmig__request_http *request)
{
    struct kvmig__client *client = request->client;

    if (request->pool != client->pool || client->pool->heard_ms > request->heard_ms)
        return;
    kvmig__pool_unref(client->pool);
    client->pool = kvmig__pool_new();
}

static void deadline_is_due(void *data)
{
    struct kvmig__request_http *request = data;
    int64_t due = request->opened ? request->heard_ms + request->client->opts.idle_timeout_ms : 0;

    if (due > kvmig__now_ms()) {
        kvmig__timer_arm(&request->deadline, due);
        return;
    }
    if (request->pool)
        suspect_connections(request);
    kvmig__request_end(request, kvmig__request_timeout_error(request));
}

/* ---- the client ---- */

struct kvmig__request_http *kvmig__client_ask(struct kvmig__client *client, const struct kvmig__ask *ask)
{
    struct kvmig__request_http *request = kvmig__calloc(1, sizeof(*request));

    request->client = client;
    request->ask = *ask;
    request->ask.method = kvmig__strdup(ask->method);
    request->ask.path = kvmig__strdup(ask->path);
    request->ask.body = kvmig__strdup(ask->body);
    request->ask.content_type = kvmig__strdup(ask->content_type);
    request->lines.max_line = client->opts.max_line;
    request->retry_after_ms = -1;
    request->heard_ms = kvmig__now_ms();
    request->next = client->requests;
    if (request->next)
        request->next->prev = request;
    client->requests = request;
    kvmig__timer_init(&request->deadline, client->context, deadline_is_due, request);
    kvmig__timer_init(&request->turn, client->context, take_turn, request);
    kvmig__timer_arm_in(&request->deadline, client->opts.request_timeout_ms);
    kvmig__request_go_on(request);
    return request;
}

struct kvmig__client *kvmig__client_new(struct kvmig_context *context, struct kvmig__access_source *source,
                                        const struct kvmig__client_opts *opts)
{
    struct kvmig__client *client = kvmig__calloc(1, sizeof(*client));

    client->context = context;
    client->source = kvmig__access_source_ref(source);
    client->opts = *opts;
    if (client->opts.request_timeout_ms <= 0)
        client->opts.request_timeout_ms = DEFAULT_TIMEOUT_MS;
    if (client->opts.idle_timeout_ms <= 0)
        client->opts.idle_timeout_ms = DEFAULT_IDLE_MS;
    if (client->opts.max_body == 0)
        client->opts.max_body = DEFAULT_MAX_BODY;
    if (client->opts.max_line == 0)
        client->opts.max_line = DEFAULT_MAX_LINE;
    client->lane = kvmig__lane_new(context, "kubernetes");
    client->pool = kvmig__pool_new();
    client->stale_ms = client->dead_ms = INT64_MAX;
    return client;
}

/* The last reference runs a function of the caller's, which must not happen under the lock. */
static void drop_source(void *source)
{
    kvmig__access_source_unref(source);
}

void kvmig__client_free(struct kvmig__client *client)
{
    if (!client)
        return;
    while (client->requests)
        kvmig__client_cancel(client->requests);
    kvmig__lane_close(client->lane);
    kvmig__context_deliver(client->context, drop_source, drop_source, client->source, true);
    kvmig__credentials_unref(client->credentials);
    kvmig__pool_unref(client->pool);
    kvmig__error_free(client->load_error);
    free(client);
}

const char *kvmig__client_namespace(const struct kvmig__client *client)
{
    return client->credentials ? client->credentials->access->ns : NULL;
}

const char *kvmig__client_server(const struct kvmig__client *client)
{
    return client->credentials ? client->credentials->access->server : NULL;
}

char *kvmig__url_escape(const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    char *escaped = kvmig__calloc(strlen(text) * 3 + 1, 1), *out = escaped;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);

        if (plain) {
            *out++ = (char)c;
        } else {
            *out++ = '%';
            *out++ = digits[c >> 4];
            *out++ = digits[c & 15];
        }
    }
    return escaped;
}
