/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a probe and its thread share, for the files of this folder only.
 *
 * Life: the struct is counted: the probe, the job on its lane and a thread that looks up names have one reference each.
 * So a thread that is left behind (stop does not wait for it) keeps what it needs and nothing else. What a target is told
 * does not change once it is made; what is known of it is guarded by the prober's lock, a leaf: nothing else is locked
 * under it.
 */
#ifndef KVMIG_SRC_PROBE_PROBER_H
#define KVMIG_SRC_PROBE_PROBER_H

#include "probe/probe_stats.h"
#include <kvmig/probe.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define KVMIG__PROBE_MAX_TARGETS 64
#define KVMIG__PROBE_MAX_OPEN 256 /* tries of one target at the same time: each may cost a descriptor */

struct kvmig__prober_target {
    /* fixed */
    char *host; /* without brackets */
    char *path; /* HTTP only */
    char *label; /* for people: "tcp:10.0.0.1:80" */
    uint16_t port;
    int32_t kind;
    int64_t interval_ms, timeout_ms;
    size_t max_open; /* tries at the same time */

    /* under the lock */
    struct kvmig__probe_stats stats;
    int32_t held_survived; /* as in struct kvmig_probe_result */
    int32_t last_error; /* why the last failed try failed: a negative errno; 0 = none did */
    struct kvmig_error *error; /* why no try succeeds, where that is not the network's fault */
    struct sockaddr_storage address;
    socklen_t address_len; /* 0 = not known yet */
};

struct kvmig__prober {
    _Atomic uint32_t refs;
    _Atomic bool stopping;
    int epoll_fd; /* of the probe's thread; -1 before the start */
    int wake_fd; /* an eventfd: stopping was set, or addresses are known */
    char *netns; /* NULL = that of the process */
    size_t n_targets;
    struct kvmig__prober_target *targets;

    pthread_mutex_t lock;
    int64_t started_ms, stopped_ms; /* 0 = not yet; nothing is recorded after the stop */
    int64_t late_ms; /* the longest that the thread itself came too late to begin a try */
};

/* ---- prober.c ---- any thread */
struct kvmig__prober *kvmig__prober_new(size_t n_targets, const char *netns); /* its targets are to be filled in */
struct kvmig__prober *kvmig__prober_ref(struct kvmig__prober *prober);
void kvmig__prober_unref(struct kvmig__prober *prober);
/* Opens the descriptors that the thread needs. Errors: -EMFILE, -ENFILE, -ENOMEM. */
int32_t kvmig__prober_open(struct kvmig__prober *prober);
void kvmig__prober_close(struct kvmig__prober *prober); /* undoes open; no thread may have begun */
void kvmig__prober_wake(struct kvmig__prober *prober);
void kvmig__prober_set_started(struct kvmig__prober *prober);
/* From now on nothing is recorded, and the thread ends soon. */
void kvmig__prober_stop(struct kvmig__prober *prober);

/* A try has ended: error 0, or a negative errno. */
void kvmig__prober_record(struct kvmig__prober *prober, size_t index, int32_t error, int64_t began_ms,
                          int64_t ended_ms);
void kvmig__prober_set_held(struct kvmig__prober *prober, size_t index, int32_t held_survived);
void kvmig__prober_set_late(struct kvmig__prober *prober, int64_t late_ms);
/* Takes error, unless there is one already. */
void kvmig__prober_set_error(struct kvmig__prober *prober, size_t index, struct kvmig_error *error);
/* 1: *out_address has been filled; 0: it is not known yet; a negative errno: it never will be. Before the first try. */
int32_t kvmig__prober_get_address(struct kvmig__prober *prober, size_t index, struct sockaddr_storage *out_address,
                                  socklen_t *out_len);

/* ---- lookup.c ---- the probe's thread */
/* The whole thread enters the namespace; one that cannot be entered is the error of every target. */
void kvmig__prober_enter_netns(struct kvmig__prober *prober);
/* Addresses are known at once; names are looked up meanwhile on another thread, which wakes the prober. */
void kvmig__prober_look_up(struct kvmig__prober *prober);

/* ---- engine.c ---- the probe's thread; returns after kvmig__prober_stop() */
void kvmig__prober_run(struct kvmig__prober *prober);

#endif
