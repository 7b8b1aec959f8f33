/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who dials whom: in a peer-to-peer migration the source's daemon dials the target's daemon with its own credentials, and
 * always the source's QEMU dials the target's QEMU. Nothing can be tried from here: the ports of QEMU open when the
 * migration begins, and the daemon's credentials are not ours. So addresses that cannot work are findings, and what must work
 * is told. Pure; any thread.
 */
#include "plan/checks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* libvirt's range for migrations. */
#define FIRST_PORT 49152
#define LAST_PORT 49215
#define PORTS (LAST_PORT - FIRST_PORT + 1)

/* ---- URIs ---- */

struct uri {
    char *scheme, *host, *port; /* owned; NULL if absent; the host without brackets */
    bool socket; /* names a Unix socket in its query */
};

static void uri_clear(struct uri *uri)
{
    free(uri->scheme);
    free(uri->host);
    free(uri->port);
}

/* "host:port", "[::1]:port", "host"; an address of IPv6 without brackets has no port. */
static void split_authority(const char *text, size_t n, struct uri *out)
{
    const char *end = text + n, *at = memchr(text, '@', n), *host = at ? at + 1 : text, *close, *colon;

    if (host < end && *host == '[') {
        close = memchr(host, ']', (size_t)(end - host));
        if (!close)
            return;
        out->host = kvmig__strndup(host + 1, (size_t)(close - host - 1));
        colon = close + 1 < end && close[1] == ':' ? close + 1 : NULL;
    } else {
        colon = memchr(host, ':', (size_t)(end - host));
        if (colon && memchr(colon + 1, ':', (size_t)(end - colon - 1)))
            colon = NULL;
        out->host = kvmig__strndup(host, (size_t)((colon ? colon : end) - host));
    }
    if (colon)
        out->port = kvmig__strndup(colon + 1, (size_t)(end - colon - 1));
    if (!*out->host) {
        free(out->host);
        out->host = NULL;
    }
}

/* Accepts "tcp://host" and the older "tcp:host". */
static struct uri uri_of(const char *text)
{
    struct uri uri = { 0 };
    const char *colon = strchr(text, ':'), *rest, *query = strchr(text, '?');

    if (!colon)
        return uri;
    uri.scheme = kvmig__strndup(text, (size_t)(colon - text));
    rest = strncmp(colon, "://", 3) == 0 ? colon + 3 : colon + 1;
    if (*rest != '/')
        split_authority(rest, strcspn(rest, "/?"), &uri);
    uri.socket = query && strstr(query, "socket=");
    return uri;
}

static bool is_localhost(const char *host)
{
    return host && strncasecmp(host, "localhost", 9) == 0;
}

static bool is_loopback(const char *host)
{
    return is_localhost(host) || kvmig__str_starts(host, "127.") || kvmig__str_eq(host, "::1");
}

static bool is_address(const char *host)
{
    return host && (strchr(host, ':') || strspn(host, "0123456789.") == strlen(host));
}

/* ---- the target's daemon, in a peer-to-peer migration ---- */

static void note_local_uri(const struct kvmig__check *c, const char *uri, int32_t severity, const char *message)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "uri", uri);
    kvmig__note(
        c, "TARGET_URI_LOCAL", severity, kvmig__object_node(c->target), &d,
        "Give target_uri as the source host can dial it (for example qemu+tls://host/system), or let this process "
        "drive the migration (KVMIG_PLAN_MANAGED).",
        "The source daemon would dial %s, %s.", uri, message);
}

static void check_daemon_uri(const struct kvmig__check *c, const char *text, const struct uri *uri)
{
    if (!uri->host && !uri->socket)
        note_local_uri(c, text, KVMIG_SEVERITY_BLOCKER, "which names no host, and reach itself");
    else if (is_localhost(uri->host))
        note_local_uri(c, text, KVMIG_SEVERITY_BLOCKER, "and libvirt refuses to migrate to localhost");
    else if (is_loopback(uri->host))
        note_local_uri(c, text, KVMIG_SEVERITY_WARN,
                       "an address of its own, which is right only if it leads elsewhere");
}

/* ---- the target's QEMU ---- */

static bool port_is_valid(const char *port)
{
    return *port && strlen(port) <= 5 && strspn(port, "0123456789") == strlen(port) && strtoul(port, NULL, 10) > 0 &&
           strtoul(port, NULL, 10) <= UINT16_MAX;
}

static void note_bad_uri(const struct kvmig__check *c, const char *message, const char *hint)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "option", "migrate_uri");
    kvmig__detail_str(&d, "value", c->request->migrate_uri);
    kvmig__note(c, "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER, kvmig__object_request(), &d, hint,
                "Option migrate_uri (%s): %s.", c->request->migrate_uri, message);
}

static void check_rdma(const struct kvmig__check *c)
{
    struct kvmig__detail d = { 0 };

    if (kvmig__request_has(c->request, KVMIG_PLAN_TLS))
        kvmig__note_flags(c, "migrate_uri TLS", "Use tcp, or do not encrypt.",
                          "QEMU cannot encrypt a migration over RDMA.");
    if (kvmig__request_is_parallel(c->request))
        kvmig__note_flags(c, "migrate_uri PARALLEL", "Use tcp, or one connection.",
                          "Parallel connections are not possible over RDMA.");
    if (c->domain->memory_hard_limit || c->domain->memory_locked)
        return;
    kvmig__note(c, "RDMA_NEEDS_MEMORY_LIMIT", KVMIG_SEVERITY_BLOCKER, kvmig__object_vm(c->domain), &d,
                "Set memtune/hard_limit for the VM (virsh memtune), or use tcp.",
                "libvirt migrates over RDMA only guests with a hard limit of memory, because all of it is locked.");
}

static void check_migrate_uri(const struct kvmig__check *c, const struct uri *uri, bool copies)
{
    struct kvmig__detail d = { 0 };

    if (kvmig__str_eq(uri->scheme, "unix")) {
        if (copies)
            kvmig__note_flags(c, "migrate_uri disks_uri", "Use tcp, or put the disks on shared storage.",
                              "Disks are copied over a connection of their own, and with a Unix socket for the "
                              "memory libvirt needs one for the disks, too.");
        return;
    }
    if (uri->port && !port_is_valid(uri->port))
        note_bad_uri(c, "the port is none", "Give a port from 1 to 65535, or leave it out and libvirt chooses one.");
    if (kvmig__str_eq(uri->scheme, "rdma"))
        check_rdma(c);
    if (!is_loopback(uri->host))
        return;
    kvmig__detail_str(&d, "uri", c->request->migrate_uri);
    kvmig__note(c, "MIGRATE_URI_LOCAL", KVMIG_SEVERITY_WARN, kvmig__object_request(), &d,
                "Give the name or address under which the source reaches the target, or leave migrate_uri unset.",
                "QEMU on the source would connect to %s, an address of its own host.", uri->host);
}

/* Without migrate_uri the target names itself. */
static void check_hostname(const struct kvmig__check *c)
{
    struct kvmig__detail d = { 0 };

    if (c->request->migrate_uri || !is_localhost(c->target->name))
        return;
    kvmig__detail_str(&d, "hostname", c->target->name);
    kvmig__note(c, "TARGET_HOSTNAME_LOCAL", KVMIG_SEVERITY_BLOCKER, kvmig__object_node(c->target), &d,
                "Give the target a host name of its own, or give migrate_uri.",
                "The target calls itself %s, and libvirt does not migrate to that.", c->target->name);
}

static void check_ports(const struct kvmig__check *c, bool copies)
{
    const uint32_t each = copies ? 2 : 1;
    uint32_t incoming = 0;
    struct kvmig__detail d = { 0 };

    for (size_t i = 0; i < c->target->domains.n; i++)
        incoming += c->target->domains.v[i].migrating_in ? 1 : 0;
    /* Each that comes in holds a port, and a second one if disks come with it. */
    if (c->request->migrate_uri || incoming * 2 + each <= PORTS)
        return;
    kvmig__detail_uint(&d, "incoming", incoming);
    kvmig__detail_uint(&d, "ports", PORTS);
    kvmig__note(c, "MIGRATION_PORTS_SHORT", KVMIG_SEVERITY_WARN, kvmig__object_node(c->target), &d,
                "Wait until some have ended, or widen migration_port_max in the target's qemu.conf.",
                "%u guests are coming in to the target already, and libvirt has %d ports for them unless it is told "
                "otherwise.",
                incoming, PORTS);
}

/* ---- what must work and cannot be tried ---- */

/* The name that the target's certificate must have; NULL if that is not known. */
static const char *tls_name(const struct kvmig__check *c, const struct uri *uri)
{
    if (!kvmig__request_has(c->request, KVMIG_PLAN_TLS))
        return NULL;
    if (c->request->tls_destination)
        return c->request->tls_destination;
    return c->request->migrate_uri ? uri->host : c->target->name;
}

static const char *credentials_for(const struct uri *daemon)
{
    if (!daemon->scheme)
        return NULL;
    if (strstr(daemon->scheme, "+ssh") || strstr(daemon->scheme, "+libssh"))
        return "an SSH key without passphrase and the target's host key, of the user that the source's daemon runs as";
    if (strstr(daemon->scheme, "+tls") || !strchr(daemon->scheme, '+'))
        return "a TLS client certificate of the source's daemon";
    return NULL;
}

static void note_connections(const struct kvmig__check *c, const char *daemon_uri, const struct uri *daemon,
                             const struct uri *qemu, bool copies)
{
    const char *name = tls_name(c, qemu), *credentials = daemon_uri ? credentials_for(daemon) : NULL;
    char *ports = qemu->port ? kvmig__strdup(qemu->port) : kvmig__asprintf("%d-%d", FIRST_PORT, LAST_PORT);
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "from", c->source->name);
    kvmig__detail_str(&d, "to", c->target->name);
    if (daemon_uri)
        kvmig__detail_str(&d, "daemon_uri", daemon_uri);
    if (credentials)
        kvmig__detail_str(&d, "credentials", credentials);
    kvmig__detail_str(&d, "qemu_host", qemu->host ? qemu->host : c->target->name);
    kvmig__detail_str(&d, "qemu_ports", ports);
    kvmig__detail_uint(&d, "connections", copies ? 2 : 1);
    if (name) {
        kvmig__detail_str(&d, "tls_name", name);
        kvmig__detail_str(&d, "tls_name_is", is_address(name) ? "address" : "name");
    }
    kvmig__note(c, "CONNECTIONS_UNVERIFIED", KVMIG_SEVERITY_INFO, kvmig__object_node(c->target), &d,
                credentials
                    ? "The connection between the daemons uses the daemon's credentials, not those of this process."
                    : NULL,
                "%s must reach %s%s%s, and ports %s there for QEMU%s%s; that cannot be tried from here.",
                c->source->name, c->target->name, daemon_uri ? " by " : "", daemon_uri ? daemon_uri : "", ports,
                name ? ", whose certificate must name " : "", name ? name : "");
    free(ports);
}

void kvmig__check_reach(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n)
{
    const struct kvmig__request *r = c->request;
    /* Files do not tell how a host is dialled. */
    const char *own_uri = kvmig__target_was_asked(c) ? c->target->uri : NULL;
    const char *daemon_uri = r->target_uri ? r->target_uri : own_uri;
    bool copies = kvmig__disks_copied(disks, n);
    struct uri daemon = { 0 }, qemu = { 0 };

    if (kvmig__request_has(r, KVMIG_PLAN_MANAGED))
        daemon_uri = NULL;
    if (daemon_uri) {
        daemon = uri_of(daemon_uri);
        check_daemon_uri(c, daemon_uri, &daemon);
    }
    if (r->migrate_uri) {
        qemu = uri_of(r->migrate_uri);
        check_migrate_uri(c, &qemu, copies);
    }
    check_hostname(c);
    check_ports(c, copies);
    if (!kvmig__str_eq(qemu.scheme, "unix"))
        note_connections(c, daemon_uri, &daemon, &qemu, copies);
    uri_clear(&daemon);
    uri_clear(&qemu);
}
