/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Failures of a connection to an OVSDB server, put into words. Keeps libcurl's text and the system's error as
 * evidence; the hints name the option or the file that is to be looked at. Calls nobody, waits for nothing. Any
 * thread.
 */
#include "port/ovsdb_trouble.h"

#include <errno.h>
#include <stdlib.h>

void kvmig__ovsdb_peer_init(struct kvmig__ovsdb_peer *peer, const struct kvmig__ovsdb_remote *remote,
                            const struct kvmig__ovsdb_tls *tls)
{
    peer->remote = *remote;
    peer->remote.text = kvmig__strdup(remote->text);
    peer->remote.path = kvmig__strdup(remote->path);
    peer->remote.host = kvmig__strdup(remote->host);
    if (!tls)
        return;
    peer->tls.ca_file = kvmig__strdup(tls->ca_file);
    peer->tls.cert_file = kvmig__strdup(tls->cert_file);
    peer->tls.key_file = kvmig__strdup(tls->key_file);
}

void kvmig__ovsdb_peer_clear(struct kvmig__ovsdb_peer *peer)
{
    free(peer->remote.text);
    free(peer->remote.path);
    free(peer->remote.host);
    free(peer->tls.ca_file);
    free(peer->tls.cert_file);
    free(peer->tls.key_file);
    *peer = (struct kvmig__ovsdb_peer){ 0 };
}

static const char *or_none(const char *file)
{
    return file ? file : "none";
}

/* ---- what to do about it; owned ---- */

static char *hint_unreachable(const struct kvmig__ovsdb_peer *peer, int32_t system_error)
{
    if (peer->remote.kind != KVMIG__REMOTE_UNIX)
        return kvmig__asprintf(
            "Check that the server runs and listens on port %u there, and that no firewall is between.",
            peer->remote.port);
    switch (system_error) {
    case EACCES:
    case EPERM:
        return kvmig__asprintf("Allow this process to write to %s.", peer->remote.path);
    case ENOENT:
        return kvmig__asprintf("Check the path, and that the server runs: there is no %s.", peer->remote.path);
    default:
        return kvmig__asprintf("Check that the server runs that listens on %s.", peer->remote.path);
    }
}

static char *hint_for(const struct kvmig__ovsdb_peer *peer, CURLcode result, int32_t system_error)
{
    switch (result) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return kvmig__asprintf("Check the name %s, and the name service of this host.", or_none(peer->remote.host));
    case CURLE_COULDNT_CONNECT:
        return hint_unreachable(peer, system_error);
    case CURLE_OPERATION_TIMEDOUT:
        return kvmig__strdup("Check that the host is up and that no firewall swallows the packets.");
    case CURLE_SSL_CERTPROBLEM:
        return kvmig__asprintf(
            "Check that cert_file (%s) and key_file (%s) are PEM files that belong together, without a "
            "passphrase.",
            or_none(peer->tls.cert_file), or_none(peer->tls.key_file));
    case CURLE_SSL_CACERT_BADFILE:
        return kvmig__asprintf("Check that ca_file (%s) can be read and has PEM certificates.",
                               or_none(peer->tls.ca_file));
    case CURLE_PEER_FAILED_VERIFICATION:
        return kvmig__asprintf("Give as ca_file the authority that signed the server's certificate; it is %s now.",
                               or_none(peer->tls.ca_file));
    case CURLE_SSL_CONNECT_ERROR:
        return kvmig__asprintf("Check that the server speaks TLS on this port, and trusts the authority that signed "
                               "cert_file (%s).",
                               or_none(peer->tls.cert_file));
    default:
        if (peer->remote.kind == KVMIG__REMOTE_SSL)
            return kvmig__asprintf("Look into the server's log; it may not accept the certificate in cert_file (%s).",
                                   or_none(peer->tls.cert_file));
        return kvmig__strdup("Look into the server's log.");
    }
}

/* ---- errors ---- */

static int32_t code_for(CURLcode result, int32_t system_error)
{
    switch (result) {
    case CURLE_OPERATION_TIMEDOUT:
        return ETIMEDOUT;
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
        return EINVAL;
    case CURLE_COULDNT_CONNECT:
        return system_error == EACCES || system_error == EPERM ? EACCES : KVMIG_EUNREACHABLE;
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return ECONNRESET;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
        return ENOMEM;
    default:
        return KVMIG_EUNREACHABLE;
    }
}

struct kvmig_error *kvmig__ovsdb_stream_trouble(const struct kvmig__ovsdb_peer *peer, CURL *easy, CURLcode result,
                                                const char *text)
{
    long system_error = 0;
    const char *name, *what = *text ? text : curl_easy_strerror(result);
    char *evidence, *hint;
    struct kvmig_error *error;

    if (easy)
        curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &system_error);
    name = kvmig_error_code_name((int32_t)system_error);
    evidence = name ? kvmig__asprintf("%s (libcurl error %d, %s)", what, (int)result, name)
                    : kvmig__asprintf("%s (libcurl error %d)", what, (int)result);
    hint = hint_for(peer, result, (int32_t)system_error);
    error =
        kvmig__error_new(code_for(result, (int32_t)system_error), peer->remote.text, evidence, hint,
                         "The OVSDB server %s cannot be talked to: %s", peer->remote.text, curl_easy_strerror(result));
    free(evidence);
    free(hint);
    return error;
}

struct kvmig_error *kvmig__ovsdb_hung_up(const struct kvmig__ovsdb_peer *peer)
{
    const char *hint = "Look whether the server was restarted, or what its log says about this client.";

    if (peer->remote.kind == KVMIG__REMOTE_TCP)
        hint = "Look whether the server was restarted, or what its log says about this client; if it wants TLS on this "
               "port, the remote must begin with ssl:.";
    return kvmig__error_new(ECONNRESET, peer->remote.text, NULL, hint, "The OVSDB server %s closed the connection.",
                            peer->remote.text);
}

struct kvmig_error *kvmig__ovsdb_does_not_read(const struct kvmig__ovsdb_peer *peer)
{
    return kvmig__error_new(EPIPE, peer->remote.text, NULL, "Look whether the server hangs.",
                            "The OVSDB server %s does not take what is sent to it.", peer->remote.text);
}

struct kvmig_error *kvmig__ovsdb_no_authority(const struct kvmig__ovsdb_peer *peer)
{
    return kvmig__error_new(EINVAL, peer->remote.text, NULL,
                            "Give as ca_file the authority that signed the server's certificate.",
                            "Without an authority the OVSDB server %s cannot be believed.", peer->remote.text);
}
