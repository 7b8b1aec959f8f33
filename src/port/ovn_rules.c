/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What OVN does with a name, and what which release of OVN understands. Where an OVN would ignore what it is told, it
 * opens the port instead of closing it; so what is not known to be understood is refused here. Pure; any thread.
 */
#include "port/ovn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct kvmig__ovn_chassis *kvmig__ovn_chassis_find(const struct kvmig__ovn_facts *facts, const char *name_or_host,
                                                         bool *out_ambiguous)
{
    const struct kvmig__ovn_chassis *found = NULL;

    if (out_ambiguous)
        *out_ambiguous = false;
    for (size_t i = 0; i < facts->chassis.n; i++)
        if (kvmig__str_eq(facts->chassis.v[i].name, name_or_host))
            return &facts->chassis.v[i];
    for (size_t i = 0; i < facts->chassis.n; i++) {
        if (!kvmig__str_eq(facts->chassis.v[i].hostname, name_or_host))
            continue;
        if (found && out_ambiguous)
            *out_ambiguous = true;
        if (!found)
            found = &facts->chassis.v[i];
    }
    return found;
}

/* ---- releases ---- */

struct release {
    bool known;
    unsigned year, month;
    bool has_patch;
    unsigned patch;
};

static bool read_number(const char **p, unsigned *out)
{
    unsigned value = 0, digits = 0;

    for (; **p >= '0' && **p <= '9' && digits < 6; (*p)++, digits++)
        value = value * 10 + (unsigned)(**p - '0');
    *out = value;
    return digits > 0;
}

/* "23.03.1", "23.03", "23.03.1-20.27.0-70.6"; anything else is unknown. */
static struct release parse_release(const char *text)
{
    struct release r = { 0 };
    const char *p = text;

    if (!p || !read_number(&p, &r.year) || *p++ != '.' || !read_number(&p, &r.month))
        return (struct release){ 0 };
    r.known = true;
    if (*p == '.') {
        p++;
        r.has_patch = read_number(&p, &r.patch);
    }
    return r;
}

static bool is_at_least(const struct release *r, unsigned year, unsigned month)
{
    return r->year > year || (r->year == year && r->month >= month);
}

static struct kvmig_error *no_multichassis(const char *version)
{
    return kvmig__error_new(-ENOTSUP, "strategy", version,
                            "upgrade OVN to 22.09 or newer, or migrate without carrying the port: expect a gap until "
                            "the target has claimed it",
                            "this OVN has no ports that belong to two chassis (they came with 22.06)");
}

static struct kvmig_error *would_be_ignored(const char *what, const char *since, const char *version)
{
    return kvmig__error_new(
        -ENOTSUP, "strategy", version,
        "choose a strategy that this OVN knows, or \"none\" if the guest's address may be on both chassis for a moment",
        "OVN %s would ignore the activation strategy %s (it came with %s) and let the target forward at once",
        version ? version : "of an unknown version", what, since);
}

struct kvmig_error *kvmig__ovn_strategy(int32_t wanted, const char *ovn_version, bool has_additional,
                                        const char **out_value)
{
    struct release release = parse_release(ovn_version);
    bool has_rarp = !release.known || is_at_least(&release, 22, 9);
    bool has_all = release.known && is_at_least(&release, 25, 9);

    *out_value = NULL;
    if (!has_additional || (release.known && !is_at_least(&release, 22, 6)))
        return no_multichassis(ovn_version);
    switch (wanted) {
    case KVMIG_PORT_STRATEGY_NONE:
        return NULL;
    case KVMIG_PORT_STRATEGY_AUTO:
    case KVMIG_PORT_STRATEGY_RARP:
        if (!has_rarp)
            return would_be_ignored("rarp", "22.09", ovn_version);
        *out_value = has_all && wanted == KVMIG_PORT_STRATEGY_AUTO ? "rarp,garp,na" : "rarp";
        return NULL;
    case KVMIG_PORT_STRATEGY_GARP:
    case KVMIG_PORT_STRATEGY_NA:
        if (!has_all)
            return would_be_ignored(wanted == KVMIG_PORT_STRATEGY_GARP ? "garp" : "na", "25.09", ovn_version);
        *out_value = wanted == KVMIG_PORT_STRATEGY_GARP ? "garp" : "na";
        return NULL;
    default:
        return kvmig__error_new(-EINVAL, "strategy", NULL, "use an enum kvmig_port_strategy",
                                "no activation strategy has the number %d", (int)wanted);
    }
}

bool kvmig__ovn_blocks_addresses(const char *ovn_version)
{
    struct release release = parse_release(ovn_version);

    return release.known && is_at_least(&release, 25, 9);
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool kvmig__ovn_is_address(const char *text)
{
    const char *p = text;

    for (int i = 0; i < 6; i++) {
        if (!is_hex(*p++))
            return false;
        p += is_hex(*p);
        if (i < 5 && *p++ != ':')
            return false;
    }
    return !*p || *p == ' ';
}

/* More than twice the throttle of claims: 500 ms, and 2000 ms from 24.03.7, 25.03.2 and 25.09. Of 24.09 only the
 * releases up to 24.09.3 are known to have the short one. */
#define STABLE_SHORT_MS 1200
#define STABLE_LONG_MS 4500

int64_t kvmig__ovn_stable_ms(const char *ovn_version)
{
    static const struct {
        unsigned year, month, last_short;
    } branches[] = { { 24, 3, 6 }, { 24, 9, 3 }, { 25, 3, 1 } };
    struct release release = parse_release(ovn_version);

    if (!release.known)
        return STABLE_LONG_MS;
    if (!is_at_least(&release, 24, 3))
        return STABLE_SHORT_MS;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(branches); i++)
        if (release.year == branches[i].year && release.month == branches[i].month)
            return release.has_patch && release.patch <= branches[i].last_short ? STABLE_SHORT_MS : STABLE_LONG_MS;
    return STABLE_LONG_MS;
}
