/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A user of a stream for tests: keeps what it is told, and can close the stream inside of any of its functions. */
#ifndef KVMIG_TESTS_STREAM_TEST_H
#define KVMIG_TESTS_STREAM_TEST_H

#include "fake_peer.h"

enum { CLOSE_IN_CONNECTED = 1, CLOSE_IN_RECEIVED = 2, CLOSE_IN_LOST = 4 };

struct stream_user {
    struct kvmig_context *context;
    struct kvmig__ovsdb_stream *stream;
    int close_in;
    _Atomic int connected, received, lost; /* received counts bytes */
    char last; /* of the bytes received */
    struct kvmig_error *error;
};

static inline void stream_user_hang_up(struct stream_user *user)
{
    kvmig__ovsdb_stream_close(user->stream);
    user->stream = NULL;
}

static inline void stream_user_connected(void *data)
{
    struct stream_user *user = data;

    user->connected++;
    if (user->close_in & CLOSE_IN_CONNECTED)
        stream_user_hang_up(user);
}

static inline void stream_user_received(void *data, const char *bytes, size_t n)
{
    struct stream_user *user = data;

    assert_int_equal(user->connected, 1);
    assert_int_equal(user->lost, 0);
    assert_true(n > 0);
    user->received += (int)n;
    user->last = bytes[n - 1];
    if (user->close_in & CLOSE_IN_RECEIVED)
        stream_user_hang_up(user);
}

static inline void stream_user_lost(void *data, struct kvmig_error *error)
{
    struct stream_user *user = data;

    user->lost++;
    kvmig__error_free(user->error);
    user->error = error;
    if (user->close_in & CLOSE_IN_LOST)
        stream_user_hang_up(user);
}

static inline void stream_user_open(struct stream_user *user, struct kvmig_context *context,
                                    const struct kvmig__ovsdb_remote *remote, const struct kvmig__ovsdb_tls *tls,
                                    int64_t connect_ms)
{
    static const struct kvmig__ovsdb_stream_ops ops = { stream_user_connected, stream_user_received, stream_user_lost };

    user->context = context;
    kvmig__context_lock(context);
    user->stream = kvmig__ovsdb_stream_open(context, remote, tls, connect_ms, &ops, user);
    assert_non_null(user->stream);
    assert_int_equal(user->connected + user->lost, 0); /* never inside open */
    kvmig__context_unlock(context);
}

static inline void stream_user_send(struct stream_user *user, const char *bytes, size_t n)
{
    int lost = user->lost;

    kvmig__context_lock(user->context);
    kvmig__ovsdb_stream_send(user->stream, bytes, n);
    assert_int_equal(user->lost, lost); /* never inside send */
    kvmig__context_unlock(user->context);
}

static inline void stream_user_close(struct stream_user *user)
{
    kvmig__context_lock(user->context);
    stream_user_hang_up(user);
    kvmig__context_unlock(user->context);
}

static inline void stream_user_end(struct stream_user *user)
{
    stream_user_close(user);
    kvmig__error_free(user->error);
    user->error = NULL;
}

#endif
