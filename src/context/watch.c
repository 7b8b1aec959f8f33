/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * File descriptors of the library's own in the context's epoll set. Everything here needs the context lock; functions
 * of watches run in dispatch. A watch belongs to the context from add to remove; a removed one is kept, marked, until
 * no round can still have it among its events.
 */
#include "context/context_private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

struct kvmig__watch {
    struct kvmig_context *context;
    int fd;
    bool removed;
    void (*fn)(void *data, uint32_t events);
    void *data;
    struct kvmig__watch *next, *prev;
};

int32_t kvmig__watch_add(struct kvmig_context *context, int fd, uint32_t events,
                         void (*fn)(void *data, uint32_t events), void *data, struct kvmig__watch **out_watch)
{
    struct kvmig__watch *watch = kvmig__calloc(1, sizeof(*watch));
    struct epoll_event event = { .events = events, .data.ptr = watch };

    kvmig__context_assert_locked(context);
    *out_watch = NULL;
    if (epoll_ctl(context->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        int32_t rc = -errno;

        free(watch);
        return kvmig__fail(
            kvmig__error_new(rc, "epoll_ctl", kvmig_error_code_name(rc), NULL, "Cannot watch descriptor %d.", fd));
    }
    *watch = (struct kvmig__watch){ .context = context, .fd = fd, .fn = fn, .data = data, .next = context->watches };
    if (watch->next)
        watch->next->prev = watch;
    context->watches = watch;
    *out_watch = watch;
    return 0;
}

void kvmig__watch_modify(struct kvmig__watch *watch, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = watch };

    kvmig__context_assert_locked(watch->context);
    epoll_ctl(watch->context->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event);
}

void kvmig__watch_remove(struct kvmig__watch *watch)
{
    struct kvmig_context *context;

    if (!watch)
        return;
    context = watch->context;
    kvmig__context_assert_locked(context);
    epoll_ctl(context->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    if (watch->prev)
        watch->prev->next = watch->next;
    else
        context->watches = watch->next;
    if (watch->next)
        watch->next->prev = watch->prev;
    watch->removed = true;
    watch->prev = NULL;
    watch->next = context->removed_watches;
    context->removed_watches = watch;
}

static void free_list(struct kvmig__watch **list)
{
    while (*list) {
        struct kvmig__watch *watch = *list;

        *list = watch->next;
        free(watch);
    }
}

bool kvmig__watches_run(struct kvmig_context *context)
{
    struct epoll_event events[KVMIG__DISPATCH_BUDGET];
    int n = epoll_wait(context->epoll_fd, events, KVMIG__DISPATCH_BUDGET, 0);

    for (int i = 0; i < n; i++) {
        struct kvmig__watch *watch = events[i].data.ptr;

        /* The wake-up descriptor and the timer have no watch: they only make the context's own descriptor readable. */
        if (watch && !watch->removed)
            watch->fn(watch->data, events[i].events);
    }
    free_list(&context->removed_watches);
    return n == KVMIG__DISPATCH_BUDGET;
}

void kvmig__watches_free(struct kvmig_context *context)
{
    free_list(&context->watches);
    free_list(&context->removed_watches);
}
