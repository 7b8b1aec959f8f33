/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libcurl's multi interface on the context's watches and timers. Does: carry libcurl's sockets and its time-out into
 * the context, and hand out results. Does not: know protocols, or keep the easy handles, which are their users'.
 *
 * Runs with the context lock held, in dispatch or under a public call. libcurl calls back from inside its own
 * functions; those callbacks only move watches and the timer, because libcurl must not be entered again there. Users
 * are called from the outermost frame, where they may add and remove transfers. The multi handle is the context's:
 * made for the first transfer, gone with the context. Whoever has a transfer keeps the context, so none is left by
 * then.
 */
#include "context/curl.h"

#include "context/context_private.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct kvmig__transfer {
    struct kvmig__curl *curl;
    CURL *easy;
    void (*done)(void *data, CURLcode result);
    void *data;
    struct kvmig__transfer *next, *prev;
};

/* A socket that libcurl wants to hear of. */
struct curl_fd {
    struct kvmig__curl *curl;
    curl_socket_t fd;
    struct kvmig__watch *watch; /* NULL: could not be watched; its transfer ends by its time-out */
};

struct kvmig__curl {
    struct kvmig_context *context;
    CURLM *multi;
    struct kvmig__timer timer;
    struct kvmig__transfer *transfers;
};

/* ---- the process ---- */

static pthread_once_t global_once = PTHREAD_ONCE_INIT;
static bool global_ready;

static void init_global(void)
{
    global_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

static bool set_up(void)
{
    pthread_once(&global_once, init_global);
    return global_ready;
}

/* A program that the application starts must not inherit a connection that may write to a database. */
static curl_socket_t open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)data;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

CURL *kvmig__curl_easy(void)
{
    CURL *easy = set_up() ? curl_easy_init() : NULL;

    if (!easy)
        return NULL;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    /* A look-up of a name that hangs is left to its thread; else removing the transfer would wait for it. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    return easy;
}

/* ---- results ---- */

static struct kvmig__transfer *find_transfer(struct kvmig__curl *curl, const CURL *easy)
{
    struct kvmig__transfer *transfer = curl->transfers;

    while (transfer && transfer->easy != easy)
        transfer = transfer->next;
    return transfer;
}

static void hand_out_results(struct kvmig__curl *curl)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(curl->multi, &left))) {
        struct kvmig__transfer *transfer = find_transfer(curl, message->easy_handle);

        /* The message dies with the handle that done() may remove. */
        if (message->msg == CURLMSG_DONE && transfer)
            transfer->done(transfer->data, message->data.result);
    }
}

static void act(struct kvmig__curl *curl, curl_socket_t fd, int mask)
{
    int running;

    curl_multi_socket_action(curl->multi, fd, mask, &running);
    hand_out_results(curl);
}

/* ---- sockets and the timer ---- */

static void fd_is_ready(void *data, uint32_t events)
{
    struct curl_fd *fd = data;
    int mask = (events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events & EPOLLOUT ? CURL_CSELECT_OUT : 0);

    act(fd->curl, fd->fd, mask ? mask : CURL_CSELECT_ERR);
}

static uint32_t epoll_events(int what)
{
    return (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
}

static struct curl_fd *watch_fd(struct kvmig__curl *curl, curl_socket_t socket, int what)
{
    struct curl_fd *fd = kvmig__calloc(1, sizeof(*fd));

    *fd = (struct curl_fd){ .curl = curl, .fd = socket };
    if (kvmig__watch_add(curl->context, socket, epoll_events(what), fd_is_ready, fd, &fd->watch) < 0)
        kvmig__log(curl->context, KVMIG_LOG_ERROR, "context", "a connection is not watched: %s",
                   kvmig_error_evidence(kvmig_error_last()));
    return fd;
}

/* libcurl's CURLMOPT_SOCKETFUNCTION. Never fails: that would break every transfer of the multi handle. */
static int socket_changed(CURL *easy, curl_socket_t socket, int what, void *data, void *socket_data)
{
    struct kvmig__curl *curl = data;
    struct curl_fd *fd = socket_data;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (fd)
            kvmig__watch_remove(fd->watch);
        free(fd);
        curl_multi_assign(curl->multi, socket, NULL);
    } else if (!fd) {
        curl_multi_assign(curl->multi, socket, watch_fd(curl, socket, what));
    } else if (fd->watch) {
        kvmig__watch_modify(fd->watch, epoll_events(what));
    }
    return 0;
}

/* libcurl's CURLMOPT_TIMERFUNCTION. */
static int timer_changed(CURLM *multi, long timeout_ms, void *data)
{
    struct kvmig__curl *curl = data;

    (void)multi;
    if (timeout_ms < 0)
        kvmig__timer_disarm(&curl->timer);
    else
        kvmig__timer_arm_in(&curl->timer, timeout_ms);
    return 0;
}

static void timer_is_due(void *data)
{
    act(data, CURL_SOCKET_TIMEOUT, 0);
}

/* ---- the context's own ---- */

static struct kvmig__curl *curl_of(struct kvmig_context *context)
{
    struct kvmig__curl *curl = context->curl;
    CURLM *multi;

    if (curl)
        return curl;
    multi = set_up() ? curl_multi_init() : NULL;
    if (!multi)
        return NULL;
    if (!(curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_THREADSAFE))
        kvmig__log(context, KVMIG_LOG_WARN, "context",
                   "this libcurl is not set up safely by several threads at once: an application that uses it too "
                   "should call curl_global_init() first");
    curl = context->curl = kvmig__calloc(1, sizeof(*curl));
    *curl = (struct kvmig__curl){ .context = context, .multi = multi };
    kvmig__timer_init(&curl->timer, context, timer_is_due, curl);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, curl);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_changed);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, curl);
    return curl;
}

void kvmig__curl_end(struct kvmig_context *context)
{
    struct kvmig__curl *curl = context->curl;

    if (!curl)
        return;
    curl_multi_cleanup(curl->multi); /* closes cached connections: their watches go through socket_changed() */
    kvmig__timer_disarm(&curl->timer);
    free(curl);
    context->curl = NULL;
}

/* ---- transfers ---- */

struct kvmig__transfer *kvmig__curl_add(struct kvmig_context *context, CURL *easy,
                                        void (*done)(void *data, CURLcode result), void *data)
{
    struct kvmig__curl *curl = curl_of(context);
    struct kvmig__transfer *transfer;

    kvmig__context_assert_locked(context);
    if (!curl || curl_multi_add_handle(curl->multi, easy) != CURLM_OK)
        return NULL;
    transfer = kvmig__calloc(1, sizeof(*transfer));
    *transfer =
        (struct kvmig__transfer){ .curl = curl, .easy = easy, .done = done, .data = data, .next = curl->transfers };
    if (transfer->next)
        transfer->next->prev = transfer;
    curl->transfers = transfer;
    return transfer;
}

void kvmig__curl_remove(struct kvmig__transfer *transfer)
{
    if (!transfer)
        return;
    kvmig__context_assert_locked(transfer->curl->context);
    if (transfer->prev)
        transfer->prev->next = transfer->next;
    else
        transfer->curl->transfers = transfer->next;
    if (transfer->next)
        transfer->next->prev = transfer->prev;
    curl_multi_remove_handle(transfer->curl->multi, transfer->easy);
    free(transfer);
}
