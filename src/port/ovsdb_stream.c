/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes to and from one OVSDB server. Does: let libcurl connect (names, addresses one beside the other, TLS), then
 * move bytes with curl_easy_send() and curl_easy_recv() whenever a watch says so. Does not: reconnect, or know what
 * the bytes mean.
 *
 * Runs with the context lock held. The stream is its user's and may be closed inside any of the user's functions: it is
 * emptied then, and its memory goes when the outermost frame that is inside it is left (busy).
 */
#include "port/ovsdb_stream.h"

#include "context/curl.h"
#include "port/ovsdb_trouble.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define MAX_UNSENT ((size_t)16 << 20)
#define MAX_READ_AT_ONCE ((size_t)256 << 10) /* in one dispatch, so that a flood does not starve others */
#define READ_SIZE ((size_t)16 << 10)

/* TLS demands that a write which could not be finished is repeated with the same bytes at the same address. */
struct chunk {
    struct chunk *next;
    size_t n, sent;
    char bytes[];
};

struct kvmig__ovsdb_stream {
    struct kvmig_context *context;
    const struct kvmig__ovsdb_stream_ops *ops;
    void *data;
    struct kvmig__ovsdb_peer peer; /* for messages */
    CURLSH *share; /* a connection cache of its own, see open_share() */
    CURL *easy;
    struct kvmig__transfer *transfer;
    char curl_text[CURL_ERROR_SIZE];
    struct kvmig__watch *watch; /* NULL until connected, and after the loss */
    struct kvmig__timer turn; /* goes on in the next dispatch: reads on, or tells the loss */
    struct chunk *unsent, *last_unsent;
    size_t n_unsent; /* bytes */
    bool want_out; /* the watch waits for EPOLLOUT too */
    struct kvmig_error *loss; /* to be told */
    bool dead, closed;
    unsigned busy;
};

/* ---- the end ---- */

static void drop_unsent(struct kvmig__ovsdb_stream *stream)
{
    while (stream->unsent) {
        struct chunk *chunk = stream->unsent;

        stream->unsent = chunk->next;
        free(chunk);
    }
    stream->last_unsent = NULL;
    stream->n_unsent = 0;
}

/* What the kernel has not sent yet is not to be sent any more: a transaction that was given up could else be committed
 * after whatever its owner does next on another connection. */
static void discard_in_kernel(struct kvmig__ovsdb_stream *stream)
{
    const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
    curl_socket_t fd = CURL_SOCKET_BAD;

    if (curl_easy_getinfo(stream->easy, CURLINFO_ACTIVESOCKET, &fd) == CURLE_OK && fd != CURL_SOCKET_BAD)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

/* Lets go of the connection. The easy handle goes before the share in which its connection is kept. */
static void hang_up(struct kvmig__ovsdb_stream *stream)
{
    kvmig__timer_disarm(&stream->turn);
    kvmig__watch_remove(stream->watch);
    stream->watch = NULL;
    discard_in_kernel(stream);
    kvmig__curl_remove(stream->transfer);
    stream->transfer = NULL;
    curl_easy_cleanup(stream->easy);
    stream->easy = NULL;
    curl_share_cleanup(stream->share);
    stream->share = NULL;
    drop_unsent(stream);
}

static void enter(struct kvmig__ovsdb_stream *stream)
{
    stream->busy++;
}

static void leave(struct kvmig__ovsdb_stream *stream)
{
    if (--stream->busy > 0 || !stream->closed)
        return;
    kvmig__error_free(stream->loss);
    kvmig__ovsdb_peer_clear(&stream->peer);
    free(stream);
}

void kvmig__ovsdb_stream_close(struct kvmig__ovsdb_stream *stream)
{
    if (!stream)
        return;
    enter(stream);
    stream->closed = stream->dead = true;
    hang_up(stream);
    leave(stream);
}

/* Takes the error. The user hears of it in the next dispatch. */
static void lose(struct kvmig__ovsdb_stream *stream, struct kvmig_error *error)
{
    if (stream->dead) {
        kvmig__error_free(error);
        return;
    }
    stream->dead = true;
    stream->loss = error;
    hang_up(stream);
    kvmig__timer_arm(&stream->turn, 0);
}

static void lose_by_curl(struct kvmig__ovsdb_stream *stream, CURLcode result)
{
    lose(stream, kvmig__ovsdb_stream_trouble(&stream->peer, stream->easy, result, stream->curl_text));
}

/* ---- moving bytes ---- */

static void set_events(struct kvmig__ovsdb_stream *stream)
{
    bool want_out = stream->unsent != NULL;

    if (stream->dead || want_out == stream->want_out)
        return;
    stream->want_out = want_out;
    kvmig__watch_modify(stream->watch, EPOLLIN | (want_out ? EPOLLOUT : 0));
}

/* Sends what the server takes now. Calls nobody. */
static void flush(struct kvmig__ovsdb_stream *stream)
{
    while (!stream->dead && stream->watch && stream->unsent) {
        struct chunk *chunk = stream->unsent;
        size_t n = 0;
        CURLcode result = curl_easy_send(stream->easy, chunk->bytes + chunk->sent, chunk->n - chunk->sent, &n);

        if (result == CURLE_AGAIN)
            break;
        if (result != CURLE_OK) {
            lose_by_curl(stream, result);
            return;
        }
        chunk->sent += n;
        stream->n_unsent -= n;
        if (chunk->sent < chunk->n)
            continue;
        stream->unsent = chunk->next;
        if (!chunk->next)
            stream->last_unsent = NULL;
        free(chunk);
    }
    if (stream->watch)
        set_events(stream);
}

void kvmig__ovsdb_stream_send(struct kvmig__ovsdb_stream *stream, const char *bytes, size_t n)
{
    struct chunk *chunk;

    if (stream->dead || n == 0)
        return;
    if (n > MAX_UNSENT - stream->n_unsent) {
        lose(stream, kvmig__ovsdb_does_not_read(&stream->peer));
        return;
    }
    chunk = kvmig__calloc(1, sizeof(*chunk) + n);
    chunk->n = n;
    memcpy(chunk->bytes, bytes, n);
    if (stream->last_unsent)
        stream->last_unsent->next = chunk;
    else
        stream->unsent = chunk;
    stream->last_unsent = chunk;
    stream->n_unsent += n;
    flush(stream);
}

/* Reads what is there. What libcurl has decrypted already does not make the socket readable, so this reads until
 * there is nothing, or goes on in the next dispatch. */
static void receive(struct kvmig__ovsdb_stream *stream)
{
    char bytes[READ_SIZE];
    size_t total = 0;

    while (!stream->dead && total < MAX_READ_AT_ONCE) {
        size_t n = 0;
        CURLcode result = curl_easy_recv(stream->easy, bytes, sizeof(bytes), &n);

        if (result == CURLE_AGAIN)
            return;
        if (result != CURLE_OK) {
            lose_by_curl(stream, result);
        } else if (n == 0) {
            lose(stream, kvmig__ovsdb_hung_up(&stream->peer));
        } else {
            total += n;
            stream->ops->received(stream->data, bytes, n);
        }
    }
    if (!stream->dead)
        kvmig__timer_arm_in(&stream->turn, 1); /* with 0 it would be run in this dispatch */
}

static void socket_is_ready(void *data, uint32_t events)
{
    struct kvmig__ovsdb_stream *stream = data;

    (void)events; /* TLS may have to read in order to write, and the other way round: always try both */
    enter(stream);
    receive(stream);
    flush(stream);
    leave(stream);
}

static void take_turn(void *data)
{
    struct kvmig__ovsdb_stream *stream = data;
    struct kvmig_error *loss = stream->loss;

    enter(stream);
    stream->loss = NULL;
    if (loss)
        stream->ops->lost(stream->data, loss);
    else
        receive(stream);
    leave(stream);
}

/* ---- connecting ---- */

static void connection_is_made(struct kvmig__ovsdb_stream *stream)
{
    curl_socket_t fd = CURL_SOCKET_BAD;

    curl_easy_getinfo(stream->easy, CURLINFO_ACTIVESOCKET, &fd);
    if (kvmig__watch_add(stream->context, fd, EPOLLIN, socket_is_ready, stream, &stream->watch) < 0) {
        lose(stream, kvmig__error_copy(kvmig_error_last()));
        return;
    }
    /* Bytes may have come with the end of TLS' handshake, and be decrypted already. */
    kvmig__timer_arm(&stream->turn, 0);
    stream->ops->connected(stream->data);
    flush(stream);
}

static void connect_has_ended(void *data, CURLcode result)
{
    struct kvmig__ovsdb_stream *stream = data;

    enter(stream);
    if (result == CURLE_OK)
        connection_is_made(stream);
    else
        lose_by_curl(stream, result);
    leave(stream);
}

/* Handles of one multi handle share a cache of connections, and whoever connects there closes what looks old or odd
 * to it, connections of others that were left to their users among them. A cache of its own keeps this one safe. */
static bool open_share(struct kvmig__ovsdb_stream *stream)
{
    stream->share = curl_share_init();
    return stream->share && curl_share_setopt(stream->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT) == CURLSHE_OK &&
           curl_easy_setopt(stream->easy, CURLOPT_SHARE, stream->share) == CURLE_OK;
}

/* Only who has a certificate of the authority is believed. Neither are the system's authorities, because host names are
 * not compared, and anybody can have a certificate of those; nor is a passphrase asked for on a terminal. */
static bool set_tls(CURL *easy, const struct kvmig__ovsdb_tls *tls)
{
    return curl_easy_setopt(easy, CURLOPT_CAINFO, tls->ca_file) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSLCERT, tls->cert_file) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSLKEY, tls->key_file) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_KEYPASSWD, "") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SSL_ENABLE_ALPN, 0L) == CURLE_OK;
}

/* What libcurl shall connect to; owned. HTTP is never spoken. */
static char *url_of(const struct kvmig__ovsdb_remote *remote)
{
    const char *scheme = remote->kind == KVMIG__REMOTE_SSL ? "https" : "http";
    const char *zone;

    if (remote->kind == KVMIG__REMOTE_UNIX)
        return kvmig__strdup("http://localhost");
    if (!strchr(remote->host, ':'))
        return kvmig__asprintf("%s://%s:%u", scheme, remote->host, remote->port);
    zone = strchr(remote->host, '%');
    if (!zone)
        return kvmig__asprintf("%s://[%s]:%u", scheme, remote->host, remote->port);
    return kvmig__asprintf("%s://[%.*s%%25%s]:%u", scheme, (int)(zone - remote->host), remote->host, zone + 1,
                           remote->port);
}

static bool set_up(struct kvmig__ovsdb_stream *stream, const struct kvmig__ovsdb_remote *remote,
                   const struct kvmig__ovsdb_tls *tls, int64_t connect_ms)
{
    CURL *easy = stream->easy = kvmig__curl_easy();
    long bound = connect_ms < 1 ? 1 : connect_ms > INT32_MAX ? INT32_MAX : (long)connect_ms;
    char *url = url_of(remote);
    bool ok = easy && open_share(stream) && curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
              curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK &&
              curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
              curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, bound) == CURLE_OK &&
              curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, stream->curl_text) == CURLE_OK;

    free(url);
    if (ok && remote->kind == KVMIG__REMOTE_UNIX)
        ok = curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, remote->path) == CURLE_OK;
    if (ok && remote->kind == KVMIG__REMOTE_SSL)
        ok = set_tls(easy, tls);
    return ok;
}

struct kvmig__ovsdb_stream *kvmig__ovsdb_stream_open(struct kvmig_context *context,
                                                     const struct kvmig__ovsdb_remote *remote,
                                                     const struct kvmig__ovsdb_tls *tls, int64_t connect_ms,
                                                     const struct kvmig__ovsdb_stream_ops *ops, void *data)
{
    struct kvmig__ovsdb_stream *stream = kvmig__calloc(1, sizeof(*stream));

    stream->context = context;
    stream->ops = ops;
    stream->data = data;
    kvmig__timer_init(&stream->turn, context, take_turn, stream);
    kvmig__ovsdb_peer_init(&stream->peer, remote, tls);
    if (remote->kind == KVMIG__REMOTE_SSL && (!tls || !tls->ca_file)) {
        lose(stream, kvmig__ovsdb_no_authority(&stream->peer));
        return stream;
    }
    if (set_up(stream, remote, tls, connect_ms))
        stream->transfer = kvmig__curl_add(context, stream->easy, connect_has_ended, stream);
    if (!stream->transfer)
        lose_by_curl(stream, CURLE_FAILED_INIT);
    return stream;
}
