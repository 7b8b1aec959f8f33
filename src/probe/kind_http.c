/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tries that GET a page on a new connection. The status line is the answer (http_status.c); fields and body are not waited
 * for, redirects are not followed. Runs on the probe's thread; each open try has a socket of its own, which is closed by a
 * reset. The request is the same for every try and is made once, when the target is opened.
 */
#include "probe/engine.h"
#include "probe/http_status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BAD_STATUS 500
#define DEFAULT_PORT 80

struct http_try {
    struct kvmig__probe_io io; /* first: the epoll set knows its address */
    struct kvmig__worker *worker;
    uint64_t number;
    size_t n_sent; /* of the request */
    struct kvmig__http_head head;
};

struct http_target {
    char *request;
    size_t request_len;
    struct http_try *tries;
};

static struct http_try *try_of(struct kvmig__worker *worker, uint64_t number)
{
    struct http_target *target = worker->state;

    return &target->tries[number % worker->target->max_open];
}

/* What the target may say was checked when the probe was made: no blank and no control character is in it. */
static char *make_request(const struct kvmig__prober_target *target)
{
    const bool brackets = strchr(target->host, ':') != NULL;
    const size_t host_len = strcspn(target->host, "%"); /* a zone means nothing to the server */
    char port[8] = "";

    if (target->port != DEFAULT_PORT)
        snprintf(port, sizeof(port), ":%u", target->port);
    return kvmig__asprintf("GET %s HTTP/1.1\r\nHost: %s%.*s%s%s\r\nUser-Agent: kvmig\r\nConnection: close\r\n\r\n",
                           target->path ? target->path : "/", brackets ? "[" : "", (int)host_len, target->host,
                           brackets ? "]" : "", port);
}

/* ---- a try ---- */

static void end(struct http_try *try, int32_t error)
{
    kvmig__probe_io_reset(&try->io);
    kvmig__worker_end(try->worker, try->number, error);
}

static int32_t send_rest(struct http_try *try)
{
    const struct http_target *target = try->worker->state;
    const size_t left = target->request_len - try->n_sent;
    const ssize_t n = left ? send(try->io.fd, target->request + try->n_sent, left, MSG_NOSIGNAL) : 0;

    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    try->n_sent += (size_t)n;
    return 0;
}

/* 0: more is to come; else the status, or a negative errno. A short read has emptied the socket, unless its end is near. */
static int32_t receive(struct http_try *try, bool ends)
{
    char data[512];
    int32_t rc;
    ssize_t n;

    do {
        n = recv(try->io.fd, data, sizeof(data), 0);
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        if (n == 0)
            return -ECONNRESET;
        rc = kvmig__http_take(&try->head, data, (size_t)n);
    } while (!rc && (ends || n == sizeof(data)));
    return rc;
}

/* An answer counts also if the connection breaks after it, or before the whole request was sent. */
static void ready(struct kvmig__probe_io *io, uint32_t events)
{
    const uint32_t ends = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    struct http_try *try = (struct http_try *)io;
    int32_t sent = 0, got = 0;

    if (io->fd < 0)
        return;
    if (events & EPOLLOUT)
        sent = send_rest(try);
    if (sent || ends || events & EPOLLIN)
        got = receive(try, ends);
    if (got > 0)
        end(try, got < FIRST_BAD_STATUS ? 0 : -EIO);
    else if (sent || got)
        end(try, sent ? sent : got);
}

/* ---- the kind ---- */

static void *open_http(struct kvmig__worker *worker)
{
    struct http_target *target = kvmig__calloc(1, sizeof(*target));

    target->request = make_request(worker->target);
    target->request_len = strlen(target->request);
    target->tries = kvmig__calloc(worker->target->max_open, sizeof(*target->tries));
    for (size_t i = 0; i < worker->target->max_open; i++)
        target->tries[i] = (struct http_try){ .io = { ready, -1 }, .worker = worker };
    return target;
}

static void begin(struct kvmig__worker *worker, uint64_t number)
{
    struct http_try *try = try_of(worker, number);
    const int fd = kvmig__worker_connect(worker);
    int32_t rc = fd < 0 ? fd : 0;

    *try = (struct http_try){ .io = { ready, fd < 0 ? -1 : fd }, .worker = worker, .number = number };
    /* Edges: what can be sent or read is tried at once, so that the set never has to be changed. */
    if (!rc)
        rc = kvmig__engine_watch(worker->engine, &try->io, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    if (rc)
        end(try, rc);
}

static void abandon(struct kvmig__worker *worker, uint64_t number)
{
    kvmig__probe_io_reset(&try_of(worker, number)->io);
}

static void close_http(struct kvmig__worker *worker)
{
    struct http_target *target = worker->state;

    for (size_t i = 0; i < worker->target->max_open; i++)
        kvmig__probe_io_reset(&target->tries[i].io);
    free(target->tries);
    free(target->request);
    free(target);
}

const struct kvmig__probe_kind_ops kvmig__probe_http_ops = { open_http, begin, abandon, close_http };
