/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tries that GET a page on a new connection, by libcurl. Does not look at the page: the status line is the answer, and the
 * body is not waited for. Runs on the probe's thread, which owns the multi handle and every easy handle; libcurl's sockets
 * are in the thread's epoll set, and its next time-out is one of the times that the loop wakes at.
 *
 * Each open try of a target has an easy handle, made when it is first needed and used again. Time-outs are the engine's.
 */
#include "probe/engine.h"

#include "context/curl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BAD_STATUS 500

struct socket_io {
    struct kvmig__probe_io io; /* first: the epoll set knows its address */
    struct kvmig__http *http;
    struct socket_io *next; /* of all */
};

struct kvmig__http {
    struct kvmig__engine *engine;
    CURLM *multi;
    int64_t due_ms; /* INT64_MAX = nothing */
    struct socket_io *ios; /* never fewer: an event of this round may still point to one that is closed */
};

struct
try {
    struct kvmig__worker *worker;
    CURL *easy; /* NULL = not made yet */
    bool is_added; /* to the multi handle */
    uint64_t number;
};

struct target_state {
    char *url;
    struct curl_slist *resolve; /* the address of the name; NULL if the URL has it */
    struct try *tries;
};

/* ---- what all targets share ---- */

static void ready(struct kvmig__probe_io *io, uint32_t events)
{
    struct kvmig__http *http = ((struct socket_io *)io)->http;
    int mask = 0, running;

    if (io->fd < 0)
        return;
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP))
        mask |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        mask |= CURL_CSELECT_OUT;
    if (events & EPOLLERR)
        mask |= CURL_CSELECT_ERR;
    curl_multi_socket_action(http->multi, io->fd, mask, &running);
}

static struct socket_io *take_io(struct kvmig__http *http, int fd)
{
    struct socket_io *io = http->ios;

    while (io && io->io.fd >= 0)
        io = io->next;
    if (!io) {
        io = kvmig__calloc(1, sizeof(*io));
        *io = (struct socket_io){ .io = { ready, -1 }, .http = http, .next = http->ios };
        http->ios = io;
    }
    io->io.fd = fd;
    return io;
}

/* libcurl says what it waits for on a socket. One that it has closed already has left the set by itself. */
static int socket_changed(CURL *easy, curl_socket_t fd, int what, void *data, void *known)
{
    struct kvmig__http *http = data;
    struct socket_io *io = known;
    struct epoll_event event = { 0 };

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (io) {
            epoll_ctl(http->engine->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
            io->io.fd = -1;
        }
        return 0;
    }
    if (what & CURL_POLL_IN)
        event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        event.events |= EPOLLOUT;
    if (io) {
        event.data.ptr = &io->io;
        return epoll_ctl(http->engine->epoll_fd, EPOLL_CTL_MOD, fd, &event);
    }
    io = take_io(http, fd);
    curl_multi_assign(http->multi, fd, io);
    if (kvmig__engine_watch(http->engine, &io->io, event.events) == 0)
        return 0;
    io->io.fd = -1;
    return -1;
}

static int timer_changed(CURLM *multi, long timeout_ms, void *data)
{
    struct kvmig__http *http = data;

    (void)multi;
    http->due_ms = timeout_ms < 0 ? INT64_MAX : kvmig__now_ms() + timeout_ms;
    return 0;
}

struct kvmig__http *kvmig__http_new(struct kvmig__engine *engine)
{
    CURL *first = kvmig__curl_easy(); /* sets libcurl up, once in the process */
    CURLM *multi = first ? curl_multi_init() : NULL;
    struct kvmig__http *http;

    curl_easy_cleanup(first);
    if (!multi)
        return NULL;
    http = kvmig__calloc(1, sizeof(*http));
    *http = (struct kvmig__http){ .engine = engine, .multi = multi, .due_ms = INT64_MAX };
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, http);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_changed);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, http);
    return http;
}

int64_t kvmig__http_due(const struct kvmig__http *http)
{
    return http->due_ms;
}

void kvmig__http_free(struct kvmig__http *http)
{
    if (!http)
        return;
    curl_multi_cleanup(http->multi);
    while (http->ios) {
        struct socket_io *next = http->ios->next;

        free(http->ios);
        http->ios = next;
    }
    free(http);
}

/* ---- results ---- */

static void let_go(struct try *try)
{
    if (try->is_added)
        curl_multi_remove_handle(try->worker->engine->http->multi, try->easy);
    try->is_added = false;
}

/* Any status is an answer, also if the connection breaks after it. */
static int32_t error_of(CURL *easy, CURLcode result)
{
    long status = 0, os_error = 0;

    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (status >= FIRST_BAD_STATUS)
        return -EIO;
    if (status > 0)
        return 0;
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_error);
    if (os_error)
        return -(int32_t)os_error;
    return result == CURLE_GOT_NOTHING || result == CURLE_RECV_ERROR ? -ECONNRESET : -EPROTO;
}

void kvmig__http_run(struct kvmig__http *http)
{
    CURLMsg *message;
    int running, left;

    if (http->due_ms <= kvmig__now_ms()) {
        http->due_ms = INT64_MAX;
        curl_multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    while ((message = curl_multi_info_read(http->multi, &left))) {
        const int32_t error = error_of(message->easy_handle, message->data.result);
        struct try *try = NULL;

        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &try);
        let_go(try); /* message is not valid any more */
        kvmig__worker_end(try->worker, try->number, error);
    }
}

/* ---- a target ---- */

/* Where to: a name goes with the address that was looked up, so that libcurl does not look it up again. */
static void set_address(struct target_state *state, const struct kvmig__worker *worker)
{
    const struct kvmig__prober_target *target = worker->target;
    const char *path = target->path ? target->path : "/", *scope = strchr(target->host, '%');
    char number[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
    struct in_addr ignored;
    char *entry;

    if (strchr(target->host, ':')) {
        state->url =
            kvmig__asprintf("http://[%.*s%s%s]:%u%s", scope ? (int)(scope - target->host) : (int)strlen(target->host),
                            target->host, scope ? "%25" : "", scope ? scope + 1 : "", target->port, path);
        return;
    }
    state->url = kvmig__asprintf("http://%s:%u%s", target->host, target->port, path);
    if (inet_pton(AF_INET, target->host, &ignored) == 1 ||
        getnameinfo((const struct sockaddr *)&worker->address, worker->address_len, number, sizeof(number), NULL, 0,
                    NI_NUMERICHOST) != 0)
        return;
    entry = kvmig__asprintf(strchr(number, ':') ? "%s:%u:[%s]" : "%s:%u:%s", target->host, target->port, number);
    state->resolve = curl_slist_append(NULL, entry);
    free(entry);
}

/* The status is known when the body begins: enough. */
static size_t refuse_body(char *data, size_t size, size_t n, void *user)
{
    (void)data;
    (void)size;
    (void)n;
    (void)user;
    return 0;
}

/* A reset, as after every try that opened a connection (kind_connect.c): the answer is there when it is sent. */
static int close_by_reset(void *user, curl_socket_t fd, curlsocktype purpose)
{
    const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

    (void)user;
    (void)purpose;
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0 ? CURL_SOCKOPT_ERROR : CURL_SOCKOPT_OK;
}

static CURL *make_easy(const struct target_state *state, struct try *try)
{
    CURL *easy = kvmig__curl_easy();

    if (!easy)
        return NULL;
    curl_easy_setopt(easy, CURLOPT_URL, state->url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_RESOLVE, state->resolve);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, close_by_reset);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 0L); /* one packet is all that is sent */
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "libkvmig");
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, refuse_body);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, try);
    return easy;
}

static void *open_http(struct kvmig__worker *worker)
{
    struct target_state *state;

    if (!worker->engine->http) {
        worker->error = -ENOMEM;
        kvmig__prober_set_error(worker->engine->prober, worker->index,
                                kvmig__error_new(ENOMEM, worker->target->label, NULL,
                                                 "Check the installation of libcurl, or probe by connections.",
                                                 "libcurl cannot be set up"));
        return NULL;
    }
    state = kvmig__calloc(1, sizeof(*state));
    set_address(state, worker);
    state->tries = kvmig__calloc(worker->target->max_open, sizeof(*state->tries));
    for (size_t i = 0; i < worker->target->max_open; i++)
        state->tries[i].worker = worker;
    return state;
}

static struct try *try_of(struct kvmig__worker *worker, uint64_t number)
{
    struct target_state *state = worker->state;

    return &state->tries[number % worker->target->max_open];
}

static void begin(struct kvmig__worker *worker, uint64_t number)
{
    struct try *try = try_of(worker, number);

    try->number = number;
    if (!try->easy)
        try->easy = make_easy(worker->state, try);
    try->is_added = try->easy && curl_multi_add_handle(worker->engine->http->multi, try->easy) == CURLM_OK;
    if (!try->is_added)
        kvmig__worker_end(worker, number, -ENOMEM);
}

static void abandon(struct kvmig__worker *worker, uint64_t number)
{
    let_go(try_of(worker, number));
}

static void close_http(struct kvmig__worker *worker)
{
    struct target_state *state = worker->state;

    for (size_t i = 0; i < worker->target->max_open; i++) {
        let_go(&state->tries[i]);
        curl_easy_cleanup(state->tries[i].easy);
    }
    curl_slist_free_all(state->resolve);
    free(state->tries);
    free(state->url);
    free(state);
}

const struct kvmig__probe_kind_ops kvmig__probe_http_ops = { open_http, begin, abandon, close_http };
