/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tries on one TCP connection that is held: each sends the line of its number and waits for the same line. Runs on the
 * probe's thread; the connection belongs to the target's state here.
 *
 * While the network is silent the connection is kept, however many tries run out of time: TCP repeats what was lost, and
 * whether a session outlives a migration is what this kind is to find out. A line that comes back too late is taken off
 * the stream and counts for nothing. When the connection breaks (a reset, the end of the stream, TCP gave up) the open
 * tries fail, and the next one opens another connection; the tries of the time until it stands are sent as soon as it does.
 */
#include "probe/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE 9 /* eight hexadecimal digits and a newline */

enum stage { CLOSED, CONNECTING, STANDING };

struct echo {
    struct kvmig__probe_io io; /* first: the epoll set knows its address */
    struct kvmig__worker *worker;
    enum stage stage;
    int64_t began_ms; /* to connect */
    bool stood_before; /* some connection did */
    char in[LINE]; /* the line that is coming */
    size_t n_in;
    char rest[LINE]; /* of a line that could be sent in part only */
    size_t n_rest;
};

static void make_line(char line[LINE + 1], uint64_t number)
{
    snprintf(line, LINE + 1, "%08" PRIx32 "\n", (uint32_t)number);
}

/* ---- the connection ---- */

static void drop(struct echo *echo)
{
    if (echo->io.fd >= 0)
        close(echo->io.fd);
    echo->io.fd = -1;
    echo->stage = CLOSED;
    echo->n_in = echo->n_rest = 0;
}

/* The open tries were on it, or would have been. */
static void broken(struct echo *echo, int32_t error)
{
    struct kvmig__worker *worker = echo->worker;

    if (echo->stage == STANDING)
        kvmig__prober_set_held(worker->engine->prober, worker->index, 0);
    drop(echo);
    for (uint64_t number = worker->oldest; number < worker->next; number++)
        kvmig__worker_end(worker, number, error);
}

static int32_t socket_error(const struct echo *echo)
{
    int code = 0;
    socklen_t len = sizeof(code);

    return getsockopt(echo->io.fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0 ? -errno : -code;
}

static void dial(struct echo *echo)
{
    const int fd = kvmig__worker_connect(echo->worker);
    int32_t rc = fd < 0 ? fd : 0;

    echo->io.fd = fd < 0 ? -1 : fd;
    echo->stage = CONNECTING;
    echo->began_ms = echo->worker->engine->now_ms;
    /* Edges: what can be sent or read is tried at once, so that the set never has to be changed. */
    if (!rc)
        rc = kvmig__engine_watch(echo->worker->engine, &echo->io, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    if (rc)
        broken(echo, rc);
}

/* ---- sending ---- */

/* How much of it went out, or a negative errno; a full buffer takes nothing. */
static ssize_t send_some(const struct echo *echo, const char *data, size_t len)
{
    const ssize_t n = send(echo->io.fd, data, len, MSG_NOSIGNAL);

    return n >= 0 ? n : errno == EAGAIN ? 0 : -errno;
}

/* The end of a line that was begun: lines must not be mixed. */
static int32_t send_rest(struct echo *echo)
{
    const ssize_t n = echo->n_rest ? send_some(echo, echo->rest, echo->n_rest) : 0;

    if (n < 0)
        return (int32_t)n;
    echo->n_rest -= (size_t)n;
    memmove(echo->rest, echo->rest + n, echo->n_rest);
    return 0;
}

/* If the buffer is full, with what the network has not taken for long, the try is not sent and runs out of time. */
static int32_t send_line(struct echo *echo, uint64_t number)
{
    char line[LINE + 1];
    int32_t rc = send_rest(echo);
    ssize_t n;

    if (rc < 0 || echo->n_rest)
        return rc;
    make_line(line, number);
    n = send_some(echo, line, LINE);
    if (n <= 0)
        return (int32_t)n;
    echo->n_rest = LINE - (size_t)n;
    memcpy(echo->rest, line + n, echo->n_rest);
    return 0;
}

/* ---- receiving ---- */

/* Lines come back in order; those of tries whose time is over are known no more. */
static bool take_line(struct echo *echo)
{
    struct kvmig__worker *worker = echo->worker;
    const uint64_t youngest = worker->next - 1;
    char expected[LINE + 1], line[LINE + 1] = { 0 };
    uint32_t age; /* in tries; a number that was not sent yet is older than all of them */

    memcpy(line, echo->in, LINE);
    age = (uint32_t)youngest - (uint32_t)strtoul(line, NULL, 16);
    if (age > youngest)
        return false;
    make_line(expected, youngest - age);
    if (memcmp(line, expected, LINE) != 0)
        return false;
    kvmig__worker_end(worker, youngest - age, 0);
    return true;
}

static bool take(struct echo *echo, const char *data, size_t len)
{
    while (len > 0) {
        const size_t room = LINE - echo->n_in, n = len < room ? len : room;

        memcpy(echo->in + echo->n_in, data, n);
        echo->n_in += n;
        data += n;
        len -= n;
        if (echo->n_in < LINE)
            return true;
        echo->n_in = 0;
        if (!take_line(echo))
            return false;
    }
    return true;
}

static void not_an_echo(struct echo *echo)
{
    struct kvmig__worker *worker = echo->worker;

    kvmig__prober_set_error(
        worker->engine->prober, worker->index,
        kvmig__error_new(EPROTO, worker->target->label, NULL,
                         "Give the port of a service that sends back what it gets (echo), or probe by connections.",
                         "the target answers with something else than what was sent"));
    broken(echo, -EPROTO);
}

/* Reads until nothing is left: the set tells of new data only. A short read has emptied the socket, unless its end is
 * near. */
static void receive(struct echo *echo, bool ends)
{
    char data[512];
    ssize_t n;

    do {
        n = recv(echo->io.fd, data, sizeof(data), 0);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            broken(echo, n < 0 ? -errno : -ECONNRESET);
        else if (!take(echo, data, (size_t)n))
            not_an_echo(echo);
    } while (echo->stage == STANDING && (ends || n == sizeof(data)));
}

static void connected(struct echo *echo)
{
    struct kvmig__worker *worker = echo->worker;
    const int on = 1;
    int32_t rc = 0;

    echo->stage = STANDING;
    if (!echo->stood_before)
        kvmig__prober_set_held(worker->engine->prober, worker->index, 1);
    echo->stood_before = true;
    /* A line must not wait until the one before it was acknowledged. */
    setsockopt(echo->io.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    for (uint64_t number = worker->oldest; number < worker->next && !rc; number++) {
        if (kvmig__worker_is_open(worker, number))
            rc = send_line(echo, number);
    }
    if (rc)
        broken(echo, rc);
}

static void ready(struct kvmig__probe_io *io, uint32_t events)
{
    struct echo *echo = (struct echo *)io;

    if (io->fd < 0)
        return;
    if (echo->stage == CONNECTING) {
        if (events & (EPOLLERR | EPOLLHUP))
            broken(echo, socket_error(echo));
        else if (events & EPOLLOUT)
            connected(echo);
    }
    if (echo->stage == STANDING && events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        receive(echo, events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
}

/* ---- the kind ---- */

static void *open_echo(struct kvmig__worker *worker)
{
    struct echo *echo = kvmig__calloc(1, sizeof(*echo));

    *echo = (struct echo){ .io = { ready, -1 }, .worker = worker };
    return echo;
}

static void begin(struct kvmig__worker *worker, uint64_t number)
{
    struct echo *echo = worker->state;
    int32_t rc;

    /* A first packet that was lost is repeated after a second only: a new connection is sooner. */
    if (echo->stage == CONNECTING && worker->engine->now_ms - echo->began_ms > worker->target->timeout_ms)
        drop(echo);
    if (echo->stage == CLOSED) {
        dial(echo);
        return;
    }
    if (echo->stage == CONNECTING)
        return;
    rc = send_line(echo, number);
    if (rc)
        broken(echo, rc);
}

static void abandon(struct kvmig__worker *worker, uint64_t number)
{
    (void)worker;
    (void)number; /* the connection is kept for the others */
}

static void close_echo(struct kvmig__worker *worker)
{
    drop(worker->state);
    free(worker->state);
}

const struct kvmig__probe_kind_ops kvmig__probe_echo_ops = { open_echo, begin, abandon, close_echo };
