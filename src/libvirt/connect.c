/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opening a connection. Does: open without ever asking a person, silence libvirt's printing for this connection, say what
 * is wrong with a URI that cannot be opened. Does not: retry, keep alive, register anything process-wide. Blocks: runs on a
 * lane. The connection is the caller's.
 *
 * While a connection opens there is none yet to silence, and the handler for all connections belongs to the application:
 * so libvirt prints a failure to open on standard error, unless the application has set a handler (virSetErrorFunc).
 */
#include "libvirt/classify.h"
#include "libvirt/libvirt_internal.h"

#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>

static void ignore_error(void *data, virErrorPtr error)
{
    (void)data;
    (void)error;
}

/* The ssh client asks for passwords and unknown host keys on the terminal, behind the application's back, unless it is told
 * not to. NULL = nothing to add. */
static char *uri_without_questions(const char *uri)
{
    const char *scheme_end = strstr(uri, "://"), *transport = strstr(uri, "+ssh");

    if (!scheme_end || !transport || transport + strlen("+ssh") != scheme_end || strstr(uri, "no_tty="))
        return NULL;
    return kvmig__asprintf("%s%sno_tty=1", uri, strchr(uri, '?') ? "&" : "?");
}

static const char *hint_for_open(void)
{
    const virError *last = virGetLastError();

    switch (last ? kvmig__virt_cause(last->code, last->domain, last->message) : KVMIG__CAUSE_OTHER) {
    case KVMIG__CAUSE_CONNECT:
    case KVMIG__CAUSE_LINK_LOST:
        return "check the host name and port in the URI, the firewall, and that the libvirt daemon runs and listens "
               "there";
    case KVMIG__CAUSE_TLS:
        return "check that the client's certificate and the CA are installed, and that the daemon's certificate names "
               "the "
               "host as the URI does";
    case KVMIG__CAUSE_ACCESS:
        return "the daemon refused this user: check its access rules, or use credentials that need no question";
    default:
        return "write the URI as libvirt knows it, for example qemu+tls://host/system";
    }
}

void kvmig__virt_init(void)
{
    virInitialize(); /* if it fails, opening a connection fails too, and says why */
}

virConnectPtr kvmig__virt_open(const char *uri, struct kvmig_error **out_error)
{
    char *quiet = uri_without_questions(uri);
    /* No callback for credentials: what needs a question fails. */
    virConnectPtr conn = virConnectOpenAuth(quiet ? quiet : uri, NULL, 0);

    free(quiet);
    if (!conn) {
        *out_error = kvmig__virt_error(uri, "virConnectOpenAuth", hint_for_open());
        return NULL;
    }
    virConnSetErrorFunc(conn, NULL, ignore_error);
    return conn;
}
