/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a probe and its thread share: its life, and the place where results go. Does no try itself (engine.c). Any thread.
 * Whoever has a reference may call everything; the last one frees it and closes its descriptors.
 */
#include "probe/prober.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- life ---- */

struct kvmig__prober *kvmig__prober_new(size_t n_targets, const char *netns)
{
    struct kvmig__prober *prober = kvmig__calloc(1, sizeof(*prober));

    prober->refs = 1;
    prober->epoll_fd = prober->wake_fd = -1;
    prober->netns = kvmig__strdup(netns);
    prober->n_targets = n_targets;
    prober->targets = kvmig__calloc(n_targets, sizeof(*prober->targets));
    for (size_t i = 0; i < n_targets; i++)
        prober->targets[i].held_survived = -1;
    pthread_mutex_init(&prober->lock, NULL);
    return prober;
}

struct kvmig__prober *kvmig__prober_ref(struct kvmig__prober *prober)
{
    prober->refs++;
    return prober;
}

void kvmig__prober_unref(struct kvmig__prober *prober)
{
    if (--prober->refs > 0)
        return;
    kvmig__prober_close(prober);
    for (size_t i = 0; i < prober->n_targets; i++) {
        struct kvmig__prober_target *target = &prober->targets[i];

        free(target->host);
        free(target->path);
        free(target->label);
        kvmig__probe_stats_clear(&target->stats);
        kvmig__error_free(target->error);
    }
    pthread_mutex_destroy(&prober->lock);
    free(prober->targets);
    free(prober->netns);
    free(prober);
}

int32_t kvmig__prober_open(struct kvmig__prober *prober)
{
    struct epoll_event event = { .events = EPOLLIN };
    int32_t rc = 0;

    prober->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (prober->epoll_fd >= 0)
        prober->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (prober->wake_fd < 0 || epoll_ctl(prober->epoll_fd, EPOLL_CTL_ADD, prober->wake_fd, &event) < 0) {
        rc = -errno;
        kvmig__prober_close(prober);
    }
    return rc;
}

void kvmig__prober_close(struct kvmig__prober *prober)
{
    if (prober->epoll_fd >= 0)
        close(prober->epoll_fd);
    if (prober->wake_fd >= 0)
        close(prober->wake_fd);
    prober->epoll_fd = prober->wake_fd = -1;
}

void kvmig__prober_wake(struct kvmig__prober *prober)
{
    const uint64_t one = 1;

    /* Fails only if the counter is full, and then it is readable anyway. */
    if (write(prober->wake_fd, &one, sizeof(one)) < 0)
        return;
}

void kvmig__prober_set_started(struct kvmig__prober *prober)
{
    pthread_mutex_lock(&prober->lock);
    prober->started_ms = kvmig__now_ms();
    pthread_mutex_unlock(&prober->lock);
}

void kvmig__prober_stop(struct kvmig__prober *prober)
{
    pthread_mutex_lock(&prober->lock);
    if (!prober->stopped_ms)
        prober->stopped_ms = kvmig__now_ms();
    pthread_mutex_unlock(&prober->lock);
    prober->stopping = true;
    if (prober->wake_fd >= 0)
        kvmig__prober_wake(prober);
}

/* ---- results ---- */

void kvmig__prober_record(struct kvmig__prober *prober, size_t index, int32_t error, int64_t began_ms, int64_t ended_ms)
{
    struct kvmig__prober_target *target = &prober->targets[index];

    pthread_mutex_lock(&prober->lock);
    if (!prober->stopped_ms) {
        if (error) {
            kvmig__probe_stats_failure(&target->stats, began_ms, ended_ms);
            target->last_error = error;
        } else {
            kvmig__probe_stats_success(&target->stats, ended_ms);
        }
    }
    pthread_mutex_unlock(&prober->lock);
}

void kvmig__prober_set_held(struct kvmig__prober *prober, size_t index, int32_t held_survived)
{
    pthread_mutex_lock(&prober->lock);
    if (!prober->stopped_ms)
        prober->targets[index].held_survived = held_survived;
    pthread_mutex_unlock(&prober->lock);
}

void kvmig__prober_set_late(struct kvmig__prober *prober, int64_t late_ms)
{
    pthread_mutex_lock(&prober->lock);
    if (!prober->stopped_ms)
        prober->late_ms = late_ms;
    pthread_mutex_unlock(&prober->lock);
}

void kvmig__prober_set_error(struct kvmig__prober *prober, size_t index, struct kvmig_error *error)
{
    struct kvmig__prober_target *target = &prober->targets[index];

    pthread_mutex_lock(&prober->lock);
    if (target->error)
        kvmig__error_free(error);
    else
        target->error = error;
    pthread_mutex_unlock(&prober->lock);
}

int32_t kvmig__prober_get_address(struct kvmig__prober *prober, size_t index, struct sockaddr_storage *out_address,
                                  socklen_t *out_len)
{
    const struct kvmig__prober_target *target = &prober->targets[index];
    int32_t rc;

    pthread_mutex_lock(&prober->lock);
    rc = target->error ? target->error->code : target->address_len > 0;
    if (rc > 0) {
        *out_address = target->address;
        *out_len = target->address_len;
    }
    pthread_mutex_unlock(&prober->lock);
    return rc;
}
