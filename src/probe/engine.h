/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The probe's thread from the inside: a schedule of tries that is the same for every kind, and what the kinds give to it.
 * All of this is touched by that thread only.
 */
#ifndef KVMIG_SRC_PROBE_ENGINE_H
#define KVMIG_SRC_PROBE_ENGINE_H

#include "probe/prober.h"

#include <sys/epoll.h>

struct kvmig__worker;

/* Something in the epoll set; its address is the event's data. It must stay valid to the end of a round of events, and
 * bear an event that was for a descriptor which it does not have any more. */
struct kvmig__probe_io {
    void (*ready)(struct kvmig__probe_io *io, uint32_t events);
    int fd; /* -1 = closed */
};

/* One kind of try. A try has a number, counted from 0 for each target; at most max_open of them are open at a time, so
 * that number % max_open tells them apart. */
struct kvmig__probe_kind_ops {
    void *(*open)(struct kvmig__worker *worker); /* before the first try; the address is known */
    /* Begins a try. It ends by kvmig__worker_end(), which may be called at once, or by abandon(). */
    void (*begin)(struct kvmig__worker *worker, uint64_t number);
    /* Its time is over: what it uses is to be given back. */
    void (*abandon)(struct kvmig__worker *worker, uint64_t number);
    void (*close)(struct kvmig__worker *worker); /* frees what open() made, and ends what is open */
};

struct kvmig__probe_slot {
    bool is_open;
    uint64_t number;
    int64_t began_ms;
};

/* The tries of one target. */
struct kvmig__worker {
    struct kvmig__engine *engine;
    size_t index; /* in the prober */
    const struct kvmig__prober_target *target; /* its fixed part only */
    const struct kvmig__probe_kind_ops *ops;
    void *state; /* of its kind; NULL before the address is known */
    struct sockaddr_storage address;
    socklen_t address_len;
    int32_t error; /* not 0: every try fails with it */
    int64_t due_ms; /* the next try */
    uint64_t next; /* its number */
    uint64_t oldest; /* no try before this one is open */
    struct kvmig__probe_slot *slots; /* target->max_open of them */
};

struct kvmig__engine {
    struct kvmig__prober *prober;
    int epoll_fd;
    int64_t now_ms; /* when the round began, after the wait */
    int64_t seen_ms; /* what has happened in the wait counts as of this time, see kvmig__worker_end() */
    int64_t late_ms;
    struct kvmig__worker *workers; /* prober->n_targets of them */
};

/* The try has ended: error 0, or a negative errno. Nothing happens if it is not open any more. */
void kvmig__worker_end(struct kvmig__worker *worker, uint64_t number, int32_t error);
bool kvmig__worker_is_open(const struct kvmig__worker *worker, uint64_t number);
/* Opens a socket to the target that does not block, and begins to connect. Returns it, or a negative errno. */
int kvmig__worker_connect(const struct kvmig__worker *worker);
/* io->fd begins to be watched. Returns 0 or a negative errno. */
int32_t kvmig__engine_watch(struct kvmig__engine *engine, struct kvmig__probe_io *io, uint32_t events);
/* Closes io->fd, which leaves the epoll set, too; a connection ends by a reset, as load balancers do with their checks: dozens
 * of tries in a second would otherwise fill the tables of closed connections on both sides and in every firewall between
 * them. Nothing happens if it is closed. */
void kvmig__probe_io_reset(struct kvmig__probe_io *io);

extern const struct kvmig__probe_kind_ops kvmig__probe_connect_ops; /* kind_connect.c */
extern const struct kvmig__probe_kind_ops kvmig__probe_echo_ops; /* kind_echo.c */
extern const struct kvmig__probe_kind_ops kvmig__probe_http_ops; /* kind_http.c */

#endif
