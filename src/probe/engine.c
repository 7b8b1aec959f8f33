/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The probe's thread: waits, lets the kinds see what came in, ends the tries whose time is over, and begins those that are
 * due. Knows no protocol (kind_*.c) and does not judge results (probe_stats.c). It never blocks but in its one wait, which
 * ends at the next try or time-out, and when the probe is stopped.
 *
 * All targets begin at the same time, so that tries with the same interval are due together and one wake-up serves them
 * all. The schedule does not drift; tries that the thread came too late for are left out, and the lateness is kept,
 * because a thread that gets no processor sees a gap that the service did not have.
 */
#include "probe/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A time-out does not wake the thread of its own if a try is due within this time anyway. */
#define PATIENCE_MS 20
#define MAX_EVENTS 128

/* ---- tries ---- */

static struct kvmig__probe_slot *slot_of(const struct kvmig__worker *worker, uint64_t number)
{
    return &worker->slots[number % worker->target->max_open];
}

bool kvmig__worker_is_open(const struct kvmig__worker *worker, uint64_t number)
{
    const struct kvmig__probe_slot *slot = slot_of(worker, number);

    return slot->is_open && slot->number == number;
}

static bool time_is_over(const struct kvmig__worker *worker, uint64_t number, int64_t at_ms)
{
    return at_ms - slot_of(worker, number)->began_ms > worker->target->timeout_ms;
}

/* An answer is in time if it came before the wait should have ended: that the thread woke later than that is not the
 * target's fault. */
void kvmig__worker_end(struct kvmig__worker *worker, uint64_t number, int32_t error)
{
    struct kvmig__engine *engine = worker->engine;

    if (!kvmig__worker_is_open(worker, number))
        return;
    if (!error && time_is_over(worker, number, engine->seen_ms))
        error = -ETIMEDOUT;
    slot_of(worker, number)->is_open = false;
    kvmig__prober_record(engine->prober, worker->index, error, slot_of(worker, number)->began_ms, engine->now_ms);
}

/* When the oldest open try runs out of time. */
static int64_t deadline_of(struct kvmig__worker *worker)
{
    while (worker->oldest < worker->next && !kvmig__worker_is_open(worker, worker->oldest))
        worker->oldest++;
    return worker->oldest < worker->next ? slot_of(worker, worker->oldest)->began_ms + worker->target->timeout_ms
                                         : INT64_MAX;
}

static void expire(struct kvmig__worker *worker)
{
    while (worker->engine->now_ms > deadline_of(worker)) {
        worker->ops->abandon(worker, worker->oldest);
        kvmig__worker_end(worker, worker->oldest, -ETIMEDOUT);
    }
}

static void begin(struct kvmig__worker *worker)
{
    const uint64_t number = worker->next;

    *slot_of(worker, number) =
        (struct kvmig__probe_slot){ .is_open = true, .number = number, .began_ms = worker->engine->now_ms };
    worker->next++;
    if (worker->error)
        kvmig__worker_end(worker, number, worker->error);
    else
        worker->ops->begin(worker, number);
}

/* The address has come, or it never will. */
static void get_ready(struct kvmig__worker *worker)
{
    const int32_t rc =
        kvmig__prober_get_address(worker->engine->prober, worker->index, &worker->address, &worker->address_len);

    if (rc < 0)
        worker->error = rc;
    else if (rc > 0)
        worker->state = worker->ops->open(worker);
}

static bool is_ready(const struct kvmig__worker *worker)
{
    return worker->state || worker->error;
}

static void run_due(struct kvmig__worker *worker)
{
    struct kvmig__engine *engine = worker->engine;
    const int64_t interval_ms = worker->target->interval_ms, late_ms = engine->now_ms - worker->due_ms;

    if (is_ready(worker))
        expire(worker);
    if (late_ms < 0)
        return;
    worker->due_ms += interval_ms + late_ms / interval_ms * interval_ms;
    if (late_ms > engine->late_ms) {
        engine->late_ms = late_ms;
        kvmig__prober_set_late(engine->prober, late_ms);
    }
    if (is_ready(worker))
        begin(worker);
}

/* ---- what the kinds use ---- */

int kvmig__worker_connect(const struct kvmig__worker *worker)
{
    const int fd = socket(worker->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&worker->address, worker->address_len) < 0 && errno != EINPROGRESS) {
        const int code = errno;

        close(fd);
        return -code;
    }
    return fd;
}

int32_t kvmig__engine_watch(struct kvmig__engine *engine, struct kvmig__probe_io *io, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = io };

    return epoll_ctl(engine->epoll_fd, EPOLL_CTL_ADD, io->fd, &event) < 0 ? -errno : 0;
}

void kvmig__probe_io_reset(struct kvmig__probe_io *io)
{
    const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

    if (io->fd < 0)
        return;
    setsockopt(io->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(io->fd);
    io->fd = -1;
}

/* ---- the loop ---- */

/* Addresses are known, or the end has come, which the loop sees. */
static void woken(struct kvmig__engine *engine)
{
    uint64_t count;

    if (read(engine->prober->wake_fd, &count, sizeof(count)) < 0)
        return;
    for (size_t i = 0; i < engine->prober->n_targets; i++) {
        if (!is_ready(&engine->workers[i]))
            get_ready(&engine->workers[i]);
    }
}

static int64_t next_wake(struct kvmig__engine *engine)
{
    int64_t due_ms = INT64_MAX, deadline_ms = INT64_MAX;

    for (size_t i = 0; i < engine->prober->n_targets; i++) {
        const int64_t over_ms = deadline_of(&engine->workers[i]);

        if (engine->workers[i].due_ms < due_ms)
            due_ms = engine->workers[i].due_ms;
        if (over_ms < deadline_ms)
            deadline_ms = over_ms;
    }
    /* Time is over after the deadline, not at it. */
    return deadline_ms < due_ms - PATIENCE_MS ? deadline_ms + 1 : due_ms;
}

static void wait_and_run(struct kvmig__engine *engine)
{
    struct epoll_event events[MAX_EVENTS];
    const int64_t wake_ms = next_wake(engine), wait_ms = wake_ms - kvmig__now_ms();
    const int n = epoll_wait(engine->epoll_fd, events, MAX_EVENTS, wait_ms > 0 ? (int)wait_ms : 0);

    engine->now_ms = kvmig__now_ms();
    engine->seen_ms = engine->now_ms < wake_ms ? engine->now_ms : wake_ms;
    for (int i = 0; i < n; i++) {
        struct kvmig__probe_io *io = events[i].data.ptr;

        if (io)
            io->ready(io, events[i].events);
        else
            woken(engine);
    }
    if (n < MAX_EVENTS) { /* else answers may be left that came in time */
        for (size_t i = 0; i < engine->prober->n_targets; i++)
            run_due(&engine->workers[i]);
    }
}

/* ---- beginning and end ---- */

static const struct kvmig__probe_kind_ops *ops_of(int32_t kind)
{
    return kind == KVMIG_PROBE_TCP_CONNECT ? &kvmig__probe_connect_ops
           : kind == KVMIG_PROBE_TCP_ECHO  ? &kvmig__probe_echo_ops
                                           : &kvmig__probe_http_ops;
}

static void set_up(struct kvmig__engine *engine)
{
    struct kvmig__prober *prober = engine->prober;

    engine->now_ms = engine->seen_ms = kvmig__now_ms();
    engine->workers = kvmig__calloc(prober->n_targets, sizeof(*engine->workers));
    for (size_t i = 0; i < prober->n_targets; i++) {
        struct kvmig__worker *worker = &engine->workers[i];
        const struct kvmig__prober_target *target = &prober->targets[i];

        *worker = (struct kvmig__worker){
            .engine = engine, .index = i, .target = target, .ops = ops_of(target->kind), .due_ms = engine->now_ms
        };
        worker->slots = kvmig__calloc(target->max_open, sizeof(*worker->slots));
        get_ready(worker);
    }
}

static void tear_down(struct kvmig__engine *engine)
{
    for (size_t i = 0; i < engine->prober->n_targets; i++) {
        struct kvmig__worker *worker = &engine->workers[i];

        if (worker->state)
            worker->ops->close(worker);
        free(worker->slots);
    }
    free(engine->workers);
}

void kvmig__prober_run(struct kvmig__prober *prober)
{
    struct kvmig__engine engine = { .prober = prober, .epoll_fd = prober->epoll_fd };

    kvmig__prober_enter_netns(prober);
    kvmig__prober_look_up(prober);
    set_up(&engine);
    while (!prober->stopping)
        wait_and_run(&engine);
    tear_down(&engine);
}
