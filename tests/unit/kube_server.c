/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The scripted API server. One lock guards replies and requests; threads of connections wait on one condition for
 * pieces. All threads end with kube_server_stop(), which breaks what they wait for.
 */
#include "kube_server.h"

#include "context_test.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MAX_CONNECTIONS 64
#define MAX_REQUEST 65536

enum piece_kind { PIECE_SEND, PIECE_DRIP, PIECE_END, PIECE_HANG_UP, PIECE_RESET };

struct piece {
    enum piece_kind kind;
    char *bytes;
    size_t n;
    struct piece *next;
};

struct kube_reply {
    struct kube_server *server;
    char *match;
    bool taken;
    struct piece *first, *last;
    struct kube_reply *next;
};

struct connection {
    struct kube_server *server;
    pthread_t thread;
    int fd;
};

struct kube_server_inside {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
    int listener;
    pthread_t thread;
    struct connection connections[MAX_CONNECTIONS];
    size_t n_connections;
    struct kube_reply *replies, *last_reply;
    struct kvmig__strlist requests;
};

/* ---- pieces ---- */

static void add_piece(struct kube_reply *reply, enum piece_kind kind, const char *bytes, size_t n)
{
    struct kube_server_inside *inside = reply->server->inside;
    struct piece *piece = kvmig__calloc(1, sizeof(*piece));

    piece->kind = kind;
    piece->bytes = kvmig__calloc(n + 1, 1);
    piece->n = n;
    if (n > 0)
        memcpy(piece->bytes, bytes, n);
    pthread_mutex_lock(&inside->lock);
    if (reply->last)
        reply->last->next = piece;
    else
        reply->first = piece;
    reply->last = piece;
    pthread_cond_broadcast(&inside->changed);
    pthread_mutex_unlock(&inside->lock);
}

void kube_raw(struct kube_reply *reply, const char *bytes, size_t n)
{
    add_piece(reply, PIECE_SEND, bytes, n);
}

void kube_say(struct kube_reply *reply, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = kvmig__vasprintf(fmt, args);
    va_end(args);
    kube_raw(reply, text, strlen(text));
    free(text);
}

static void add_chunk(struct kube_reply *reply, enum piece_kind kind, const char *fmt, va_list args)
{
    char *text = kvmig__vasprintf(fmt, args), *chunk = kvmig__asprintf("%zx\r\n%s\r\n", strlen(text), text);

    add_piece(reply, kind, chunk, strlen(chunk));
    free(chunk);
    free(text);
}

void kube_chunk(struct kube_reply *reply, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_chunk(reply, PIECE_SEND, fmt, args);
    va_end(args);
}

void kube_drip(struct kube_reply *reply, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_chunk(reply, PIECE_DRIP, fmt, args);
    va_end(args);
}

void kube_end(struct kube_reply *reply)
{
    add_piece(reply, PIECE_END, NULL, 0);
}

void kube_end_chunks(struct kube_reply *reply)
{
    kube_say(reply, "0\r\n\r\n");
    kube_end(reply);
}

void kube_hang_up(struct kube_reply *reply)
{
    add_piece(reply, PIECE_HANG_UP, NULL, 0);
}

void kube_reset(struct kube_reply *reply)
{
    add_piece(reply, PIECE_RESET, NULL, 0);
}

/* ---- replies ---- */

struct kube_reply *kube_server_on(struct kube_server *server, const char *match)
{
    struct kube_server_inside *inside = server->inside;
    struct kube_reply *reply = kvmig__calloc(1, sizeof(*reply));

    reply->server = server;
    reply->match = kvmig__strdup(match);
    pthread_mutex_lock(&inside->lock);
    if (inside->last_reply)
        inside->last_reply->next = reply;
    else
        inside->replies = reply;
    inside->last_reply = reply;
    pthread_mutex_unlock(&inside->lock);
    return reply;
}

bool kube_reply_taken(struct kube_reply *reply)
{
    bool taken;

    pthread_mutex_lock(&reply->server->inside->lock);
    taken = reply->taken;
    pthread_mutex_unlock(&reply->server->inside->lock);
    return taken;
}

void kube_json(struct kube_server *server, const char *match, const char *status, const char *headers, const char *body)
{
    struct kube_reply *reply = kube_server_on(server, match);

    kube_say(reply, "HTTP/1.1 %s\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n%s", status, headers,
             strlen(body), body);
    kube_end(reply);
}

struct kube_reply *kube_watch(struct kube_server *server, const char *match)
{
    struct kube_reply *reply = kube_server_on(server, match);

    kube_say(reply, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    return reply;
}

/* The first line of the request decides. */
static struct kube_reply *take_reply(struct kube_server *server, const char *request)
{
    struct kube_server_inside *inside = server->inside;
    char *line = kvmig__strndup(request, strcspn(request, "\r\n"));
    struct kube_reply *reply;

    pthread_mutex_lock(&inside->lock);
    kvmig__strlist_add(&inside->requests, request);
    for (reply = inside->replies; reply; reply = reply->next) {
        if (!reply->taken && strstr(line, reply->match))
            break;
    }
    if (reply)
        reply->taken = true;
    pthread_mutex_unlock(&inside->lock);
    free(line);
    server->requests++;
    if (!reply)
        server->unexpected++;
    return reply;
}

/* ---- a connection ---- */

static bool send_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

static size_t body_length(const char *head)
{
    const char *field = strcasestr(head, "\r\ncontent-length:");

    return field ? strtoul(field + strlen("\r\ncontent-length:"), NULL, 10) : 0;
}

/* A whole request, NUL-terminated; false: there is none any more. libcurl sends the next one only after the reply.
 * Who begins TLS is told that this is HTTP, as Go's server does. */
static bool read_request(int fd, char *request)
{
    static const char no_tls[] = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTPS request to an HTTP server.\n";
    size_t n = 0;

    for (;;) {
        ssize_t got = recv(fd, request + n, MAX_REQUEST - n - 1, 0);
        char *end;

        if (got <= 0)
            return false;
        n += (size_t)got;
        request[n] = '\0';
        if (request[0] == 0x16)
            return send_all(fd, no_tls, sizeof(no_tls) - 1) && false;
        end = strstr(request, "\r\n\r\n");
        if (end && strlen(end + 4) >= body_length(request))
            return true;
    }
}

static struct piece *next_piece(struct kube_reply *reply)
{
    struct kube_server_inside *inside = reply->server->inside;
    struct piece *piece;

    pthread_mutex_lock(&inside->lock);
    while (!reply->first && !inside->stopping)
        pthread_cond_wait(&inside->changed, &inside->lock);
    piece = inside->stopping ? NULL : reply->first;
    if (piece) {
        reply->first = piece->next;
        if (!piece->next)
            reply->last = NULL;
    }
    pthread_mutex_unlock(&inside->lock);
    return piece;
}

static bool send_drip(int fd, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!send_all(fd, bytes + i, 1))
            return false;
        if (i % 16 == 0)
            poll(NULL, 0, 1);
    }
    return true;
}

/* False: the connection is to be closed. */
static bool play(struct kube_reply *reply, int fd)
{
    const struct linger linger = { 1, 0 };
    struct piece *piece;
    bool goes_on = true, over = false;

    while (goes_on && !over && (piece = next_piece(reply))) {
        switch (piece->kind) {
        case PIECE_SEND:
            goes_on = send_all(fd, piece->bytes, piece->n);
            break;
        case PIECE_DRIP:
            goes_on = send_drip(fd, piece->bytes, piece->n);
            break;
        case PIECE_END:
            over = true;
            break;
        case PIECE_RESET:
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
            goes_on = false;
            break;
        case PIECE_HANG_UP:
            goes_on = false;
            break;
        }
        free(piece->bytes);
        free(piece);
    }
    return goes_on && over;
}

static void *serve(void *data)
{
    static const char none[] = "HTTP/1.1 599 Unexpected\r\nContent-Length: 0\r\n\r\n";
    struct connection *connection = data;
    struct kube_server_inside *inside = connection->server->inside;
    char *request = kvmig__calloc(MAX_REQUEST, 1);
    bool goes_on = true;

    while (goes_on && read_request(connection->fd, request)) {
        struct kube_reply *reply = take_reply(connection->server, request);

        goes_on = reply ? play(reply, connection->fd) : send_all(connection->fd, none, sizeof(none) - 1);
    }
    free(request);
    pthread_mutex_lock(&inside->lock);
    close(connection->fd);
    connection->fd = -1;
    pthread_mutex_unlock(&inside->lock);
    return NULL;
}

/* ---- the server ---- */

static void begin_connection(struct kube_server *server, int fd)
{
    struct kube_server_inside *inside = server->inside;
    struct connection *connection;
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    pthread_mutex_lock(&inside->lock);
    if (inside->stopping || inside->n_connections == MAX_CONNECTIONS) {
        close(fd);
    } else {
        connection = &inside->connections[inside->n_connections++];
        *connection = (struct connection){ .server = server, .fd = fd };
        server->connections++;
        if (pthread_create(&connection->thread, NULL, serve, connection) != 0)
            abort();
    }
    pthread_mutex_unlock(&inside->lock);
}

static void *listen_on(void *data)
{
    struct kube_server *server = data;
    int fd;

    while ((fd = accept4(server->inside->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        begin_connection(server, fd);
    return NULL;
}

void kube_server_start(struct kube_server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct kube_server_inside *inside = kvmig__calloc(1, sizeof(*inside));
    socklen_t size = sizeof(address);

    *server = (struct kube_server){ .inside = inside };
    pthread_mutex_init(&inside->lock, NULL);
    pthread_cond_init(&inside->changed, NULL);
    inside->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(inside->listener >= 0);
    assert_int_equal(bind(inside->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(inside->listener, 16), 0);
    assert_int_equal(getsockname(inside->listener, (struct sockaddr *)&address, &size), 0);
    snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&inside->thread, NULL, listen_on, server), 0);
}

void kube_server_deafen(struct kube_server *server)
{
    struct kube_server_inside *inside = server->inside;

    if (inside->listener < 0)
        return;
    shutdown(inside->listener, SHUT_RDWR); /* wakes accept() */
    pthread_join(inside->thread, NULL);
    close(inside->listener);
    inside->listener = -1;
}

char *kube_server_request(struct kube_server *server, int n)
{
    struct kube_server_inside *inside = server->inside;
    char *text;

    pthread_mutex_lock(&inside->lock);
    assert_true(n >= 0 && (size_t)n < inside->requests.n);
    text = kvmig__strdup(inside->requests.v[n]);
    pthread_mutex_unlock(&inside->lock);
    return text;
}

static void free_reply(struct kube_reply *reply)
{
    for (struct piece *piece = reply->first, *next; piece; piece = next) {
        next = piece->next;
        free(piece->bytes);
        free(piece);
    }
    free(reply->match);
    free(reply);
}

void kube_server_stop(struct kube_server *server)
{
    struct kube_server_inside *inside = server->inside;

    kube_server_deafen(server);
    pthread_mutex_lock(&inside->lock);
    inside->stopping = true;
    for (size_t i = 0; i < inside->n_connections; i++) {
        if (inside->connections[i].fd >= 0)
            shutdown(inside->connections[i].fd, SHUT_RDWR);
    }
    pthread_cond_broadcast(&inside->changed);
    pthread_mutex_unlock(&inside->lock);
    for (size_t i = 0; i < inside->n_connections; i++)
        pthread_join(inside->connections[i].thread, NULL);
    for (struct kube_reply *reply = inside->replies, *next; reply; reply = next) {
        next = reply->next;
        free_reply(reply);
    }
    kvmig__strlist_clear(&inside->requests);
    pthread_cond_destroy(&inside->changed);
    pthread_mutex_destroy(&inside->lock);
    free(inside);
}
