/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What can go wrong between this process and an OVSDB server, as errors that say how to mend it. All errors are
 * owned; their `where` is the remote. Any thread.
 */
#ifndef KVMIG_SRC_OVSDB_TROUBLE_H
#define KVMIG_SRC_OVSDB_TROUBLE_H

#include "port/ovsdb_stream.h"
#include <curl/curl.h>

/* Whom a stream talks to, kept for its messages. */
struct kvmig__ovsdb_peer {
    struct kvmig__ovsdb_remote remote;
    struct kvmig__ovsdb_tls tls;
};
void kvmig__ovsdb_peer_init(struct kvmig__ovsdb_peer *peer, const struct kvmig__ovsdb_remote *remote,
                            const struct kvmig__ovsdb_tls *tls); /* copies; tls may be NULL */
void kvmig__ovsdb_peer_clear(struct kvmig__ovsdb_peer *peer);

/* What libcurl met: text is its own (may be ""), easy may be NULL. */
struct kvmig_error *kvmig__ovsdb_stream_trouble(const struct kvmig__ovsdb_peer *peer, CURL *easy, CURLcode result,
                                                const char *text);
struct kvmig_error *kvmig__ovsdb_hung_up(const struct kvmig__ovsdb_peer *peer);
struct kvmig_error *kvmig__ovsdb_does_not_read(const struct kvmig__ovsdb_peer *peer);
struct kvmig_error *kvmig__ovsdb_no_authority(const struct kvmig__ovsdb_peer *peer);

#endif
