/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One transfer of a request: begins it, keeps what comes within its bounds, and says how it ended. A 401 begins it
 * again once, with newer credentials.
 *
 * Needs the context lock. receive_*() are called by libcurl from inside its own functions, where it must not be
 * entered again: they keep bytes and move timers, nothing else.
 */
#include "kubernetes/client_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REFUSAL ((size_t)64 << 10) /* of the body of an answer that is no success; the rest is not kept */
#define FIRST_CAPACITY ((size_t)4 << 10)

static bool is_success(const struct kvmig__request_http *request)
{
    return request->status >= 200 && request->status < 300;
}

static void note_life(struct kvmig__request_http *request)
{
    request->heard_ms = request->pool->heard_ms = kvmig__now_ms();
}

/* ---- what comes ---- */

static void open_watch(struct kvmig__request_http *request)
{
    request->opened = request->tell_opened = true;
    kvmig__timer_arm_in(&request->deadline, request->client->opts.idle_timeout_ms);
    kvmig__request_wake(request);
}

/* libcurl's CURLOPT_HEADERFUNCTION: a line. */
static size_t receive_header(char *line, size_t size, size_t n, void *data)
{
    struct kvmig__request_http *request = data;
    long status = 0;

    note_life(request);
    curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    request->status = (int32_t)status;
    if (line[0] == '\r' || line[0] == '\n') {
        if (request->ask.line && is_success(request) && !request->opened)
            open_watch(request);
    }
    return size * n;
}

static size_t keep_body(struct kvmig__request_http *request, const char *bytes, size_t n)
{
    size_t most = is_success(request) ? request->client->opts.max_body : MAX_REFUSAL, keep = n;

    if (n > most - request->length) {
        if (is_success(request)) {
            request->too_large = true;
            return CURL_WRITEFUNC_ERROR;
        }
        keep = most - request->length;
    }
    if (keep >= request->capacity - request->length) {
        size_t capacity = request->capacity ? request->capacity : FIRST_CAPACITY;

        while (keep >= capacity - request->length)
            capacity *= 2;
        request->body = kvmig__realloc_array(request->body, capacity, 1);
        request->capacity = capacity;
    }
    memcpy(request->body + request->length, bytes, keep);
    request->length += keep;
    request->body[request->length] = '\0';
    return n;
}

/* libcurl's CURLOPT_WRITEFUNCTION. */
static size_t receive_body(char *bytes, size_t size, size_t n, void *data)
{
    struct kvmig__request_http *request = data;

    n *= size;
    note_life(request);
    if (!request->opened)
        return keep_body(request, bytes, n);
    kvmig__request_wake(request);
    if (kvmig__lines_feed(&request->lines, bytes, n))
        return n;
    request->too_large = true;
    return CURL_WRITEFUNC_ERROR;
}

/* ---- how it ends ---- */

static struct kvmig_error *too_large(const struct kvmig__request_http *request)
{
    const struct kvmig__client_opts *opts = &request->client->opts;
    char *evidence = kvmig__asprintf("more than %zu bytes", request->opened ? opts->max_line : opts->max_body);
    struct kvmig_error *error =
        kvmig__request_error(request, EMSGSIZE, evidence,
                             request->opened ? "Look for an object that has grown without bounds."
                                             : "Ask for smaller pages (page_size), or for one namespace only.",
                             "The API server's answer is too large.");

    free(evidence);
    return error;
}

static void read_retry_after(struct kvmig__request_http *request)
{
    curl_off_t seconds = 0;

    if (curl_easy_getinfo(request->easy, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0)
        request->retry_after_ms = seconds < INT32_MAX ? (int64_t)seconds * 1000 : INT32_MAX;
}

/* True: the request begins anew, or waits for that. */
static bool repeat(struct kvmig__request_http *request)
{
    if (request->status != 401 || request->repeated ||
        !kvmig__client_refused(request->client, request->credentials->number))
        return false;
    request->repeated = true;
    kvmig__request_stop(request);
    kvmig__request_go_on(request);
    return true;
}

static void transfer_has_ended(void *data, CURLcode result)
{
    struct kvmig__request_http *request = data;
    struct kvmig_error *error = NULL;
    long status = 0;

    curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    request->status = (int32_t)status;
    if (request->status > 0 && request->status != 401)
        kvmig__client_accepted(request->client);
    if (request->too_large) {
        error = too_large(request);
    } else if (result != CURLE_OK && !(request->status >= 300)) {
        error = kvmig__request_curl_error(request, result);
    } else if (!is_success(request)) { /* also if its body was cut */
        read_retry_after(request);
        if (repeat(request))
            return;
        error = kvmig__request_status_error(request);
    } else if (request->opened) {
        kvmig__lines_finish(&request->lines);
    }
    kvmig__request_end(request, error);
}

/* ---- begin and stop ---- */

void kvmig__request_start(struct kvmig__request_http *request)
{
    struct kvmig__client *client = request->client;
    struct kvmig_error *error;

    request->state = KVMIG__REQUEST_RUNNING;
    request->status = 0;
    request->length = 0;
    request->retry_after_ms = -1;
    request->heard_ms = kvmig__now_ms();
    request->pool = client->pool;
    request->pool->refs++;
    request->credentials = client->credentials;
    request->credentials->refs++;
    request->easy = kvmig__curl_easy();
    error = request->easy ? kvmig__request_set_up(request) : kvmig__request_curl_error(request, CURLE_FAILED_INIT);
    if (!error) {
        curl_easy_setopt(request->easy, CURLOPT_HEADERFUNCTION, receive_header);
        curl_easy_setopt(request->easy, CURLOPT_HEADERDATA, request);
        curl_easy_setopt(request->easy, CURLOPT_WRITEFUNCTION, receive_body);
        curl_easy_setopt(request->easy, CURLOPT_WRITEDATA, request);
        request->transfer = kvmig__curl_add(client->context, request->easy, transfer_has_ended, request);
        if (!request->transfer)
            error = kvmig__request_curl_error(request, CURLE_OUT_OF_MEMORY);
    }
    if (error)
        kvmig__request_end(request, error);
}

void kvmig__request_stop(struct kvmig__request_http *request)
{
    kvmig__curl_remove(request->transfer);
    request->transfer = NULL;
    if (request->easy)
        curl_easy_cleanup(request->easy);
    request->easy = NULL;
    kvmig__request_free_headers(request);
    kvmig__credentials_unref(request->credentials);
    request->credentials = NULL;
    kvmig__pool_unref(request->pool);
    request->pool = NULL;
}
