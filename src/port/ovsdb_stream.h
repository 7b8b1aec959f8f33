/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes to and from one OVSDB server over a Unix socket, TCP or TLS: libcurl connects (CURLOPT_CONNECT_ONLY), a watch
 * says when there is something to do. Knows nothing of JSON. Everything needs the context lock; functions of the user
 * run in dispatch.
 */
#ifndef KVMIG_SRC_OVSDB_STREAM_H
#define KVMIG_SRC_OVSDB_STREAM_H

#include "context/context_internal.h"

/* One remote as OVS writes it, taken apart (pure; ovsdb_remote.c). */
struct kvmig__ovsdb_remote {
    enum { KVMIG__REMOTE_UNIX, KVMIG__REMOTE_TCP, KVMIG__REMOTE_SSL } kind;
    char *text; /* as given, for messages */
    char *path; /* unix: */
    char *host; /* tcp:, ssl: without brackets */
    uint16_t port; /* 6640 if none is given, as ovsdb(7) says */
};
struct kvmig__ovsdb_remotes {
    struct kvmig__ovsdb_remote *v;
    size_t n;
};
/* "unix:/path,tcp:host:port,ssl:[v6]:port". Errors: -EINVAL with what is wrong and how it should look; where names the
 * option. */
struct kvmig_error *kvmig__ovsdb_remotes_parse(const char *text, const char *where,
                                               struct kvmig__ovsdb_remotes *out_remotes);
void kvmig__ovsdb_remotes_clear(struct kvmig__ovsdb_remotes *remotes);

struct kvmig__ovsdb_tls {
    char *ca_file, *cert_file, *key_file; /* NULL = not given */
};

struct kvmig__ovsdb_stream;
struct kvmig__ovsdb_stream_ops {
    void (*connected)(void *data);
    void (*received)(void *data, const char *bytes, size_t n);
    void (*lost)(void *data, struct kvmig_error *error); /* taken; once; the stream is dead, and to be closed */
};
/* Connects; connected() or lost() follow, never from inside. Names are looked up and TLS is shaken hands in the
 * background. connect_ms bounds both. The server's certificate must be signed by the authority; its host name is not
 * compared (OVS' certificates carry none), as ovs-vsctl does not either. */
struct kvmig__ovsdb_stream *kvmig__ovsdb_stream_open(struct kvmig_context *context,
                                                     const struct kvmig__ovsdb_remote *remote,
                                                     const struct kvmig__ovsdb_tls *tls, int64_t connect_ms,
                                                     const struct kvmig__ovsdb_stream_ops *ops, void *data);
/* Queues bytes (copied). More than 16 MiB that the server does not take ends the stream. */
void kvmig__ovsdb_stream_send(struct kvmig__ovsdb_stream *stream, const char *bytes, size_t n);
/* No function of the user is called any more. Allowed inside any of them. NULL is ignored. */
void kvmig__ovsdb_stream_close(struct kvmig__ovsdb_stream *stream);

#endif
