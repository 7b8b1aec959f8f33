/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The other end of a connection, in the test's own thread: a socket that listens, and blocking reads and writes with
 * a deadline. A connection is whole when the kernel has it in its queue, so nobody has to accept while the library
 * connects.
 */
#ifndef KVMIG_TESTS_FAKE_PEER_H
#define KVMIG_TESTS_FAKE_PEER_H

#include "context_test.h"
#include "port/ovsdb_stream.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct fake_peer {
    char folder[32]; /* of a Unix socket; "" = TCP */
    int listener;
    struct kvmig__ovsdb_remote remote; /* how to connect to it */
};

static inline void fake_peer_name(struct fake_peer *peer, char *text)
{
    struct kvmig__ovsdb_remotes remotes;

    assert_null(kvmig__ovsdb_remotes_parse(text, "test", &remotes));
    assert_int_equal(remotes.n, 1);
    peer->remote = remotes.v[0];
    free(remotes.v);
    free(text);
}

static inline struct fake_peer fake_peer_unix(void)
{
    struct fake_peer peer = { .folder = "/tmp/kvmig-peer-XXXXXX" };
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    assert_non_null(mkdtemp(peer.folder));
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/db.sock", peer.folder);
    peer.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(peer.listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(peer.listener, 8), 0);
    fake_peer_name(&peer, kvmig__asprintf("unix:%s", address.sun_path));
    return peer;
}

static inline struct fake_peer fake_peer_tcp(void)
{
    struct fake_peer peer = { .folder = "" };
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);

    peer.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(peer.listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(peer.listener, 8), 0);
    assert_int_equal(getsockname(peer.listener, (struct sockaddr *)&address, &size), 0);
    fake_peer_name(&peer, kvmig__asprintf("tcp:127.0.0.1:%d", ntohs(address.sin_port)));
    return peer;
}

/* Nobody listens any more; connections stay. */
static inline void fake_peer_stop_listening(struct fake_peer *peer)
{
    if (peer->listener >= 0)
        close(peer->listener);
    peer->listener = -1;
}

static inline void fake_peer_end(struct fake_peer *peer)
{
    fake_peer_stop_listening(peer);
    if (peer->remote.path)
        unlink(peer->remote.path);
    if (*peer->folder)
        rmdir(peer->folder);
    free(peer->remote.text);
    free(peer->remote.path);
    free(peer->remote.host);
}

static inline int fake_peer_accept(struct fake_peer *peer)
{
    struct pollfd fd = { .fd = peer->listener, .events = POLLIN };
    int connection;

    assert_int_equal(poll(&fd, 1, TEST_DEADLINE_MS), 1);
    connection = accept(peer->listener, NULL, NULL);
    assert_true(connection >= 0);
    return connection;
}

static inline void peer_send(int connection, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(connection, bytes, n, MSG_NOSIGNAL);

        assert_true(sent > 0);
        bytes += sent;
        n -= (size_t)sent;
    }
}

static inline void peer_say(int connection, const char *text)
{
    peer_send(connection, text, strlen(text));
}

/* Reads what is there, at most size - 1 bytes, and ends it with NUL; waits for the first byte. Returns how many; 0 =
 * the end. */
static inline size_t peer_hear(int connection, char *text, size_t size)
{
    struct pollfd fd = { .fd = connection, .events = POLLIN };
    ssize_t n;

    assert_int_equal(poll(&fd, 1, TEST_DEADLINE_MS), 1);
    n = recv(connection, text, size - 1, 0);
    if (n < 0)
        n = 0; /* reset */
    text[n] = '\0';
    return (size_t)n;
}

/* Dispatches until the descriptor, a connection or a listener, has something to read. */
static inline void peer_pump_until_readable(struct kvmig_context *context, int descriptor)
{
    struct pollfd fds[] = { { .fd = descriptor, .events = POLLIN },
                            { .fd = kvmig_context_get_fd(context), .events = POLLIN } };
    int64_t deadline = kvmig__now_ms() + TEST_DEADLINE_MS;

    for (;;) {
        int32_t more = kvmig_context_dispatch(context);

        assert_true(more >= 0 && kvmig__now_ms() < deadline);
        fds[0].revents = 0;
        assert_true(poll(fds, 2, more ? 0 : TEST_DEADLINE_MS) >= 0);
        if (fds[0].revents)
            return;
    }
}

static inline bool peer_has_heard_something(int connection)
{
    struct pollfd fd = { .fd = connection, .events = POLLIN };

    return poll(&fd, 1, 0) == 1;
}

#endif
