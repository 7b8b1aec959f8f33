/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The small server of the tests of the probe, and how they wait. The server's sockets belong to its thread.
 */
#include "probe_test.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CLIENTS 512

/* ---- the server ---- */

struct clients {
    int fds[MAX_CLIENTS];
    size_t n;
};

static void reset_on_close(int fd)
{
    const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

static void send_text(const struct server *server, int fd)
{
    const size_t len = strlen(server->text), piece = server->in_pieces ? 1 : len;
    const int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    for (size_t at = 0; at < len && !server->ends; at += piece) {
        send(fd, server->text + at, piece, MSG_NOSIGNAL);
        if (server->in_pieces)
            poll(NULL, 0, 1);
    }
}

static void answer(struct server *server, int fd, const char *data, size_t n)
{
    char head[128];

    if (server->manner == SERVER_ECHO) {
        send(fd, data, n, MSG_NOSIGNAL);
    } else if (server->manner == SERVER_TEXT) {
        send_text(server, fd);
    } else if (server->manner == SERVER_GARBAGE) {
        send(fd, "220 welcome to another service\r\n", 32, MSG_NOSIGNAL);
    } else {
        snprintf(head, sizeof(head), "HTTP/1.1 %d Text\r\nContent-Length: 1000000\r\n\r\nbegin", server->status);
        send(fd, head, strlen(head), MSG_NOSIGNAL);
    }
}

static void drop_client(struct clients *clients, size_t index)
{
    close(clients->fds[index]);
    clients->fds[index] = clients->fds[--clients->n];
}

static void obey(struct server *server, struct clients *clients)
{
    if (server->order == ORDER_NONE)
        return;
    while (clients->n) {
        if (server->order == ORDER_RESET)
            reset_on_close(clients->fds[0]);
        drop_client(clients, 0);
    }
    server->order = ORDER_NONE;
}

static void serve(struct server *server, struct clients *clients, const struct pollfd *polled, size_t n)
{
    char data[4096];

    for (size_t i = n; i-- > 0;) { /* backwards, because the last one takes the place of one that goes */
        ssize_t got;

        if (!polled[i].revents)
            continue;
        got = recv(clients->fds[i], data, sizeof(data), MSG_DONTWAIT);
        if (got <= 0) {
            drop_client(clients, i);
        } else {
            server->requests++;
            snprintf(server->request, sizeof(server->request), "%.*s", (int)got, data);
            answer(server, clients->fds[i], data, (size_t)got);
            if (server->after_text == ORDER_RESET)
                reset_on_close(clients->fds[i]);
            if (server->after_text != ORDER_NONE)
                drop_client(clients, i);
        }
    }
}

static void server_round(struct server *server, struct clients *clients)
{
    struct pollfd polled[MAX_CLIENTS + 1];
    const size_t n = clients->n;

    for (size_t i = 0; i < n; i++)
        polled[i] = (struct pollfd){ .fd = clients->fds[i], .events = POLLIN };
    polled[n] = (struct pollfd){ .fd = server->listener, .events = n < MAX_CLIENTS ? POLLIN : 0 };
    poll(polled, n + 1, 1);
    serve(server, clients, polled, n);
    if (polled[n].revents & POLLIN) {
        const int fd = accept(server->listener, NULL, NULL);

        if (fd >= 0) {
            clients->fds[clients->n++] = fd;
            server->accepted++;
        }
    }
}

static void *server_main(void *data)
{
    struct server *server = data;
    struct clients clients = { .n = 0 };

    while (!server->ends) {
        obey(server, &clients);
        if (server->is_silent)
            poll(NULL, 0, 1);
        else
            server_round(server, &clients);
    }
    while (clients.n)
        drop_client(&clients, 0);
    return NULL;
}

static int listen_on(const char *host, int backlog, uint16_t *out_port)
{
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_STREAM };
    struct sockaddr_storage bound;
    socklen_t len = sizeof(bound);
    struct addrinfo *found;
    int fd;

    assert_int_equal(getaddrinfo(host, "0", &hints, &found), 0);
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, found->ai_addr, found->ai_addrlen), 0);
    assert_int_equal(listen(fd, backlog), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&bound, &len), 0);
    *out_port = ntohs(found->ai_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                   : ((struct sockaddr_in *)&bound)->sin_port);
    freeaddrinfo(found);
    return fd;
}

static void begin_to_serve(struct server *server, const char *host)
{
    server->listener = listen_on(host, 64, &server->port);
    assert_int_equal(pthread_create(&server->thread, NULL, server_main, server), 0);
}

void server_start(struct server *server, const char *host, enum server_manner manner)
{
    *server = (struct server){ .manner = manner, .status = 200 };
    begin_to_serve(server, host);
}

void server_start_text(struct server *server, const char *text, bool in_pieces, enum server_order after_text)
{
    *server = (struct server){ .manner = SERVER_TEXT, .text = text, .in_pieces = in_pieces, .after_text = after_text };
    begin_to_serve(server, "127.0.0.1");
}

void server_stop(struct server *server)
{
    server->ends = 1;
    pthread_join(server->thread, NULL);
    close(server->listener);
}

uint16_t server_free_port(void)
{
    uint16_t port;

    close(listen_on("127.0.0.1", 1, &port));
    return port;
}

/* ---- probes ---- */

struct kvmig_probe_target test_target(int32_t kind, const char *host, uint16_t port)
{
    return (struct kvmig_probe_target){ .size = sizeof(struct kvmig_probe_target),
                                        .host = host,
                                        .port = port,
                                        .kind = kind,
                                        .interval_ms = 40,
                                        .timeout_ms = 10000 };
}

struct kvmig_probe *test_probe_new(struct kvmig_context *context, struct kvmig_probe_target *targets, size_t n)
{
    const struct kvmig_probe_target *pointers[64];
    struct kvmig_probe_opts opts = KVMIG_PROBE_OPTS_INIT;
    struct kvmig_probe *probe = NULL;

    for (size_t i = 0; i < n; i++)
        pointers[i] = &targets[i];
    opts.targets = pointers;
    opts.n_targets = n;
    assert_int_equal(kvmig_probe_new(context, &opts, &probe), 0);
    assert_non_null(probe);
    return probe;
}

struct kvmig_probe_result test_result(struct kvmig_probe *probe, size_t index)
{
    struct kvmig_probe_result result = { .size = sizeof(result) };

    assert_int_equal(kvmig_probe_get_result(probe, index, &result), 0);
    return result;
}

static void wait_for(struct kvmig_probe *probe, size_t index, uint64_t successes, uint64_t failures)
{
    const int64_t deadline = kvmig__now_ms() + TEST_DEADLINE_MS;
    struct kvmig_probe_result result;

    for (;;) {
        result = test_result(probe, index);
        if (result.tries - result.failures >= successes && result.failures >= failures)
            return;
        assert_true(kvmig__now_ms() < deadline);
        poll(NULL, 0, 1);
    }
}

void test_wait_successes(struct kvmig_probe *probe, size_t index, uint64_t more)
{
    const struct kvmig_probe_result result = test_result(probe, index);

    wait_for(probe, index, result.tries - result.failures + more, 0);
}

void test_wait_failures(struct kvmig_probe *probe, size_t index, uint64_t more)
{
    wait_for(probe, index, 0, test_result(probe, index).failures + more);
}

void test_wait_open_gap(struct kvmig_probe *probe, size_t index)
{
    const int64_t deadline = kvmig__now_ms() + TEST_DEADLINE_MS;

    while (!test_result(probe, index).gap_is_open) {
        assert_true(kvmig__now_ms() < deadline);
        poll(NULL, 0, 1);
    }
}

char *test_json_member(struct kvmig_probe *probe, size_t index, const char *member, const char *inner)
{
    struct json_object *root, *found;
    char *text = NULL, *copy = NULL;

    assert_int_equal(kvmig_probe_to_json(probe, &text), 0);
    root = json_tokener_parse(text);
    assert_non_null(root);
    found = json_object_array_get_idx(json_object_object_get(root, "targets"), index);
    assert_non_null(found);
    found = json_object_object_get(found, member);
    if (found && inner)
        found = json_object_object_get(found, inner);
    if (found)
        copy = kvmig__strdup(json_object_get_string(found));
    json_object_put(root);
    free(text);
    return copy;
}
