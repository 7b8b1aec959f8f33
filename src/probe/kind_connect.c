/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tries that open a TCP connection and close it. Sends nothing. Runs on the probe's thread; each open try has a socket of
 * its own, so that after a silence the next try is answered at once, without waiting for TCP to repeat itself.
 * A connection that stood is closed by a reset.
 */
#include "probe/engine.h"

#include <errno.h>
#include <stdlib.h>

struct
try {
    struct kvmig__probe_io io; /* first: the epoll set knows its address */
    struct kvmig__worker *worker;
    uint64_t number;
};

static struct try *try_of(struct kvmig__worker *worker, uint64_t number)
{
    struct try *tries = worker->state;

    return &tries[number % worker->target->max_open];
}

static int32_t socket_error(int fd)
{
    int code = 0;
    socklen_t len = sizeof(code);

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0 || !code ? -ECONNRESET : -code;
}

static void ready(struct kvmig__probe_io *io, uint32_t events)
{
    struct try *try = (struct try *)io;
    int32_t error = 0;

    if (io->fd < 0)
        return;
    if (events & (EPOLLERR | EPOLLHUP))
        error = socket_error(io->fd);
    kvmig__probe_io_reset(io);
    kvmig__worker_end(try->worker, try->number, error);
}

static void *open_tries(struct kvmig__worker *worker)
{
    struct try *tries = kvmig__calloc(worker->target->max_open, sizeof(*tries));

    for (size_t i = 0; i < worker->target->max_open; i++)
        tries[i] = (struct try){ .io = { ready, -1 }, .worker = worker };
    return tries;
}

static void begin(struct kvmig__worker *worker, uint64_t number)
{
    struct try *try = try_of(worker, number);
    const int fd = kvmig__worker_connect(worker);
    int32_t rc = fd < 0 ? fd : 0;

    try->number = number;
    try->io.fd = fd < 0 ? -1 : fd;
    if (!rc)
        rc = kvmig__engine_watch(worker->engine, &try->io, EPOLLOUT);
    if (!rc)
        return;
    kvmig__probe_io_reset(&try->io);
    kvmig__worker_end(worker, number, rc);
}

static void abandon(struct kvmig__worker *worker, uint64_t number)
{
    kvmig__probe_io_reset(&try_of(worker, number)->io);
}

static void close_tries(struct kvmig__worker *worker)
{
    for (size_t i = 0; i < worker->target->max_open; i++)
        kvmig__probe_io_reset(&try_of(worker, i)->io);
    free(worker->state);
}

const struct kvmig__probe_kind_ops kvmig__probe_connect_ops = { open_tries, begin, abandon, close_tries };
