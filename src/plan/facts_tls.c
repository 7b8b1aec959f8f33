/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Certificates: whether the target's holds the name or address that is dialled, by the rules of GnuTLS (RFC 6125): DNS names without
 * regard to case, a wildcard for one whole first label, addresses only as addresses, the common name only where there is no other
 * name. And whether they are valid at the time of the question. Pure; any thread.
 */
#include "plan/facts_checks.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */

struct address {
    unsigned char bytes[16];
    size_t n;
};

static bool read_address(const char *text, struct address *out)
{
    *out = (struct address){ .n = 4 };
    if (inet_pton(AF_INET, text, out->bytes) == 1)
        return true;
    out->n = 16;
    return inet_pton(AF_INET6, text, out->bytes) == 1;
}

static bool has_address(const struct kvmig__fact_certificate *certificate, const struct address *address)
{
    for (size_t i = 0; i < certificate->ip.n; i++) {
        struct address other;

        if (read_address(certificate->ip.v[i], &other) && other.n == address->n &&
            memcmp(other.bytes, address->bytes, other.n) == 0)
            return true;
    }
    return false;
}

/* "*.example.com" stands for one label, and not for a whole domain like "*.com". */
static bool name_fits(const char *pattern, const char *name)
{
    const char *rest = strchr(name, '.');

    if (strcasecmp(pattern, name) == 0)
        return true;
    return pattern[0] == '*' && pattern[1] == '.' && strchr(pattern + 2, '.') && rest && rest > name &&
           strcasecmp(pattern + 1, rest) == 0;
}

static bool certificate_fits(const struct kvmig__fact_certificate *certificate, const char *name)
{
    struct address address;

    if (read_address(name, &address))
        return has_address(certificate, &address);
    for (size_t i = 0; i < certificate->dns.n; i++) {
        if (name_fits(certificate->dns.v[i], name))
            return true;
    }
    return !certificate->dns.n && !certificate->ip.n && certificate->subject_cn &&
           name_fits(certificate->subject_cn, name);
}

/* ---- the name that is dialled ---- */

/* The host in "tcp://HOST:PORT", "tcp:HOST:PORT", "qemu+tls://user@[ADDRESS]/system"; owned, NULL if there is none. */
static char *host_of(const char *uri)
{
    const char *p = strstr(uri, "://"), *at;
    size_t n;

    if (!p && !kvmig__str_starts(uri, "tcp:"))
        return NULL;
    p = p ? p + 3 : uri + 4;
    n = strcspn(p, "/?#");
    at = memchr(p, '@', n);
    if (at) {
        n -= (size_t)(at + 1 - p);
        p = at + 1;
    }
    if (n && *p == '[') {
        p++;
        n = strcspn(p, "]");
    } else {
        size_t m = strcspn(p, ":");

        n = m < n ? m : n;
    }
    while (n && p[n - 1] == '.') /* of a complete name */
        n--;
    return n ? kvmig__strndup(p, n) : NULL;
}

static bool dials_with_tls(const char *uri)
{
    const char *plus = uri ? strchr(uri, '+') : NULL, *end = uri ? strstr(uri, "://") : NULL;

    if (!end || end[3] == '/') /* this very host */
        return false;
    return !plus || plus > end || strncmp(plus, "+tls", 4) == 0; /* TLS is what libvirt does without being told */
}

static const char *control_uri(const struct kvmig__check *c)
{
    return c->request->target_uri ? c->request->target_uri : c->target->uri;
}

/* Owned. Without a URI the target tells its own host name, which is known of hosts that were asked; files may call a host as they
 * like, then NULL. */
static char *name_dialled(const struct kvmig__check *c)
{
    const struct kvmig__request *r = c->request;

    if (r->tls_destination)
        return kvmig__strdup(r->tls_destination);
    if (r->migrate_uri)
        return host_of(r->migrate_uri);
    return kvmig__target_was_asked(c) ? kvmig__strdup(c->target->name) : NULL;
}

/* ---- the certificates of a host ---- */

static const char *name_of(const struct kvmig__check *c, const struct kvmig__host *host)
{
    return host == c->target ? kvmig__observed_target(c) : host->name;
}

static bool is_of(const struct kvmig__check *c, const struct kvmig__fact_certificate *certificate,
                  const struct kvmig__host *host)
{
    return kvmig__host_names_match(certificate->node, name_of(c, host));
}

/* One that fits, if there are several: QEMU and the daemon may have one each. name NULL fits any. */
static const struct kvmig__fact_certificate *find(const struct kvmig__check *c, const struct kvmig__host *host,
                                                  const char *name)
{
    const struct kvmig__facts *facts = c->view->facts;

    for (size_t i = 0; i < facts->certificates.n; i++) {
        const struct kvmig__fact_certificate *certificate = &facts->certificates.v[i];

        if (is_of(c, certificate, host) && (!name || certificate_fits(certificate, name)))
            return certificate;
    }
    return NULL;
}

static char *object_of(const struct kvmig__check *c, const struct kvmig__host *host)
{
    return kvmig__asprintf("node/%s", name_of(c, host));
}

static void add_names(const struct kvmig__check *c, struct kvmig__detail *d)
{
    struct kvmig__strlist dns = { 0 }, ip = { 0 };

    for (size_t i = 0; i < c->view->facts->certificates.n; i++) {
        const struct kvmig__fact_certificate *certificate = &c->view->facts->certificates.v[i];

        if (!is_of(c, certificate, c->target))
            continue;
        for (size_t k = 0; k < certificate->dns.n; k++)
            kvmig__strlist_add_new(&dns, certificate->dns.v[k]);
        for (size_t k = 0; k < certificate->ip.n; k++)
            kvmig__strlist_add_new(&ip, certificate->ip.v[k]);
        if (!certificate->dns.n && !certificate->ip.n && certificate->subject_cn)
            kvmig__strlist_add_new(&dns, certificate->subject_cn);
    }
    kvmig__detail_list(d, "certificate_dns", &dns);
    kvmig__detail_list(d, "certificate_ip", &ip);
    kvmig__strlist_clear(&dns);
    kvmig__strlist_clear(&ip);
}

static void note_mismatch(const struct kvmig__check *c, const char *name)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "name", name);
    add_names(c, &d);
    kvmig__note(c, "TLS_HOSTNAME_MISMATCH", KVMIG_SEVERITY_BLOCKER, object_of(c, c->target), &d,
                "Dial a name that the certificate has, give it as tls_destination, or have a certificate made that has "
                "this one.",
                "The certificate of %s does not hold %s, by which it would be dialled.", name_of(c, c->target), name);
}

/* The name that would be dialled is not known, only what the host is called here. */
static void check_label(const struct kvmig__check *c)
{
    struct kvmig__detail d = { 0 };

    if (c->request->migrate_uri || find(c, c->target, name_of(c, c->target)))
        return;
    for (size_t i = 0; i < c->view->facts->certificates.n; i++) {
        const struct kvmig__fact_certificate *certificate = &c->view->facts->certificates.v[i];

        for (size_t k = 0; is_of(c, certificate, c->target) && k < certificate->dns.n; k++) {
            if (kvmig__host_names_match(certificate->dns.v[k], name_of(c, c->target)) ||
                certificate->dns.v[k][0] == '*')
                return;
        }
    }
    add_names(c, &d);
    kvmig__note(c, "TLS_NAME_UNVERIFIED", KVMIG_SEVERITY_INFO, object_of(c, c->target), &d,
                "Give migrate_uri or tls_destination, so that the name can be compared.",
                "The certificate of %s does not hold that name, and it is not known by which name it would be dialled.",
                name_of(c, c->target));
}

/* ---- time ---- */

static int64_t now_of(const struct kvmig__check *c)
{
    return c->request->now_ms > 0 ? c->request->now_ms / 1000 : c->view->facts->now;
}

static bool is_timely(const struct kvmig__fact_certificate *certificate, int64_t now)
{
    return (certificate->not_before < 0 || certificate->not_before <= now) &&
           (certificate->not_after < 0 || now <= certificate->not_after);
}

/* A host whose certificates that fit are all out of their time. */
static void check_time(const struct kvmig__check *c, const struct kvmig__host *host, const char *name)
{
    const struct kvmig__fact_certificate *bad = NULL;
    int64_t now = now_of(c);
    struct kvmig__detail d = { 0 };
    bool early;

    if (now < 0)
        return;
    for (size_t i = 0; i < c->view->facts->certificates.n; i++) {
        const struct kvmig__fact_certificate *certificate = &c->view->facts->certificates.v[i];

        if (!is_of(c, certificate, host) || (name && !certificate_fits(certificate, name)))
            continue;
        if (is_timely(certificate, now))
            return;
        bad = certificate;
    }
    if (!bad)
        return;
    early = bad->not_before > now;
    kvmig__detail_uint(&d, early ? "not_before" : "not_after", (uint64_t)(early ? bad->not_before : bad->not_after));
    kvmig__detail_uint(&d, "now", (uint64_t)now);
    kvmig__note(c, early ? "TLS_CERTIFICATE_NOT_YET_VALID" : "TLS_CERTIFICATE_EXPIRED", KVMIG_SEVERITY_BLOCKER,
                object_of(c, host), &d,
                early ? "Look at the clocks of the hosts, or wait." : "Have the certificate renewed.",
                "The certificate of %s %s.", name_of(c, host), early ? "is not valid yet" : "has expired");
}

/* ---- all of it ---- */

void kvmig__check_certificates(const struct kvmig__check *c)
{
    bool encrypted = kvmig__request_has(c->request, KVMIG_PLAN_TLS);
    bool dials = !kvmig__request_has(c->request, KVMIG_PLAN_MANAGED) && dials_with_tls(control_uri(c)) &&
                 (c->request->target_uri || kvmig__target_was_asked(c));
    char *name;

    if (!c->view->facts || !c->view->facts->certificates.n || (!encrypted && !dials))
        return;
    /* What QEMU dials comes first; only its absence says that the certificate is that of the daemon. */
    name = encrypted ? name_dialled(c) : host_of(control_uri(c));
    if (find(c, c->target, NULL)) {
        if (!name)
            check_label(c);
        if (name && !find(c, c->target, name))
            note_mismatch(c, name);
        else
            check_time(c, c->target, name);
    }
    check_time(c, c->source, NULL); /* it shows its own, too */
    free(name);
}
