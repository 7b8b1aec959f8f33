/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Takes apart the remotes of OVSDB servers as ovs-vsctl(8) and ovn-nbctl(8) write them. Pure: names are not looked up
 * and files not opened. What passes here is safe to put into a URL. Any thread; results are the caller's.
 */
#include "port/ovsdb_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT 6640
#define MAX_PATH_LENGTH 107 /* what an address of a Unix socket holds */
#define MAX_HOST_LENGTH 255

static const char hint[] = "Write unix:/path/of/socket, tcp:host:port or ssl:host:port, an IPv6 address in brackets; "
                           "join those of a cluster by commas.";

static struct kvmig_error *wrong(const char *where, const char *entry, const char *how)
{
    return kvmig__error_new(EINVAL, where, entry, hint, "A remote of an OVSDB server is wrong: %s.", how);
}

static bool is_all_of(const char *s, size_t n, const char *allowed)
{
    for (size_t i = 0; i < n; i++) {
        if (!strchr(allowed, s[i]))
            return false;
    }
    return true;
}

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Names of hosts, and IPv4 addresses. */
static bool is_host_name(const char *s, size_t n)
{
    return n > 0 && n <= MAX_HOST_LENGTH && s[0] != '-' && is_all_of(s, n, DIGITS LETTERS ".-_");
}

/* An IPv6 address, perhaps with a zone ("fe80::1%eth0"). Which groups make an address is left to who connects. */
static bool is_ipv6(const char *s, size_t n)
{
    const char *zone = memchr(s, '%', n);
    size_t n_address = zone ? (size_t)(zone - s) : n;

    if (zone && !is_host_name(zone + 1, n - n_address - 1))
        return false;
    return n_address >= 2 && n <= MAX_HOST_LENGTH && memchr(s, ':', n_address) &&
           is_all_of(s, n_address, DIGITS "abcdefABCDEF:.");
}

static bool parse_port(const char *s, uint16_t *out_port)
{
    unsigned long port;

    if (!*s || strlen(s) > 5 || !is_all_of(s, strlen(s), DIGITS))
        return false;
    port = strtoul(s, NULL, 10);
    *out_port = (uint16_t)port;
    return port >= 1 && port <= UINT16_MAX;
}

/* "host", "host:port", "[v6]", "[v6]:port". Returns what is wrong, or NULL. */
static const char *parse_address(const char *s, struct kvmig__ovsdb_remote *remote)
{
    bool bracket = *s == '[';
    const char *host = bracket ? s + 1 : s;
    const char *end = strchr(host, bracket ? ']' : ':');
    size_t n = end ? (size_t)(end - host) : strlen(host);
    const char *rest = host + n + (bracket && end ? 1 : 0);

    if (bracket && !end)
        return "the bracket is not closed";
    if (bracket ? !is_ipv6(host, n) : !is_host_name(host, n))
        return bracket ? "what is in brackets is no IPv6 address" : "there is no host name or address";
    remote->port = DEFAULT_PORT;
    if (*rest && (*rest != ':' || !parse_port(rest + 1, &remote->port)))
        return "the port is not a number from 1 to 65535";
    remote->host = kvmig__strndup(host, n);
    return NULL;
}

static const char *parse_path(const char *s, struct kvmig__ovsdb_remote *remote)
{
    if (*s != '/')
        return "the path of a socket begins with /";
    if (strlen(s) > MAX_PATH_LENGTH)
        return "the path of the socket is longer than the system allows";
    remote->path = kvmig__strdup(s);
    return NULL;
}

/* Returns what is wrong, or NULL. */
static const char *parse_remote(const char *entry, struct kvmig__ovsdb_remote *remote)
{
    remote->text = kvmig__strdup(entry);
    if (kvmig__str_starts(entry, "unix:")) {
        remote->kind = KVMIG__REMOTE_UNIX;
        return parse_path(entry + strlen("unix:"), remote);
    }
    if (kvmig__str_starts(entry, "tcp:")) {
        remote->kind = KVMIG__REMOTE_TCP;
        return parse_address(entry + strlen("tcp:"), remote);
    }
    if (kvmig__str_starts(entry, "ssl:")) {
        remote->kind = KVMIG__REMOTE_SSL;
        return parse_address(entry + strlen("ssl:"), remote);
    }
    if (kvmig__str_starts(entry, "punix:") || kvmig__str_starts(entry, "ptcp:") || kvmig__str_starts(entry, "pssl:"))
        return "this is how a server listens, not how a client connects";
    return *entry ? "it does not begin with unix:, tcp: or ssl:" : "there is nothing";
}

/* The next entry without the blanks around it, owned; *text moves behind it, to NULL after the last. */
static char *next_entry(const char **text)
{
    const char *start = *text + strspn(*text, " \t");
    size_t n = strcspn(start, ",");

    *text = start[n] ? start + n + 1 : NULL;
    while (n > 0 && (start[n - 1] == ' ' || start[n - 1] == '\t'))
        n--;
    return kvmig__strndup(start, n);
}

struct kvmig_error *kvmig__ovsdb_remotes_parse(const char *text, const char *where,
                                               struct kvmig__ovsdb_remotes *out_remotes)
{
    struct kvmig_error *error = NULL;

    *out_remotes = (struct kvmig__ovsdb_remotes){ 0 };
    if (!text)
        text = "";
    while (text && !error) {
        char *entry = next_entry(&text);
        const char *how = parse_remote(entry, KVMIG__PUSH(out_remotes));

        if (how)
            error = wrong(where, entry, how);
        free(entry);
    }
    if (error)
        kvmig__ovsdb_remotes_clear(out_remotes);
    return error;
}

void kvmig__ovsdb_remotes_clear(struct kvmig__ovsdb_remotes *remotes)
{
    for (size_t i = 0; i < remotes->n; i++) {
        free(remotes->v[i].text);
        free(remotes->v[i].path);
        free(remotes->v[i].host);
    }
    free(remotes->v);
    *remotes = (struct kvmig__ovsdb_remotes){ 0 };
}
