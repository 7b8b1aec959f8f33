/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Single options of a request: values that libvirt or QEMU would refuse once the migration has begun. Findings INVALID_ARGUMENT
 * name the option, the value and what is allowed. Pure; any thread.
 */
#include "plan/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* libvirt hands the limit to QEMU in bytes per second, as a signed number. */
#define MAX_BANDWIDTH_MIB ((uint64_t)INT64_MAX >> 20)
/* QEMU's own limit for the acceptable pause. */
#define MAX_DOWNTIME_MS 2000000
/* QEMU counts its channels in one byte. */
#define MAX_PARALLEL 255
#define MAX_THROTTLE_PERCENT 99

static void invalid(const struct kvmig__check *c, const char *option, const char *value, const char *hint,
                    const char *message)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "option", option);
    kvmig__detail_str(&d, "value", value);
    kvmig__note(c, "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER, kvmig__object_request(), &d, hint, "Option %s: %s.",
                option, message);
}

static void at_most(const struct kvmig__check *c, const char *option, uint64_t value, uint64_t limit)
{
    char *text, *hint;

    if (value <= limit)
        return;
    text = kvmig__asprintf("%" PRIu64, value);
    hint = kvmig__asprintf("Give at most %" PRIu64 ", or 0 for the default.", limit);
    invalid(c, option, text, hint, "the value is too large");
    free(hint);
    free(text);
}

static void check_compression(const struct kvmig__check *c)
{
    static const struct {
        const char *name;
        int32_t max_level; /* 0 = has no levels */
    } methods[] = { { "xbzrle", 0 }, { "mt", 9 }, { "zlib", 9 }, { "zstd", 20 } };
    const struct kvmig__request *r = c->request;
    char *level = kvmig__asprintf("%" PRId32, r->compression_level);
    size_t i = 0;

    for (; r->compression && i < KVMIG__N_ELEMENTS(methods); i++) {
        if (kvmig__str_eq(methods[i].name, r->compression))
            break;
    }
    if (!r->compression) {
        if (r->compression_level)
            invalid(c, "compression_level", level, "Give compression, too.", "a level is given, but no compression");
    } else if (i == KVMIG__N_ELEMENTS(methods)) {
        invalid(c, "compression", r->compression, "Use xbzrle, mt, zlib or zstd.", "the method is not known");
    } else if (r->compression_level < 0 || r->compression_level > methods[i].max_level) {
        invalid(c, "compression_level", level,
                methods[i].max_level ? "Give a level that the method has, or 0 for the default."
                                     : "Leave it 0: the method has no levels.",
                "the level is out of range");
    }
    free(level);
}

/* Accepts "tcp://host" and the older "tcp:host" alike, as libvirt does. */
static void check_migrate_uri(const struct kvmig__check *c)
{
    static const char *const schemes[] = { "tcp:", "rdma:", "unix:" };
    const char *uri = c->request->migrate_uri;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(schemes); i++) {
        if (!uri || kvmig__str_starts(uri, schemes[i]))
            return;
    }
    invalid(c, "migrate_uri", uri, "Use tcp://host, rdma://host or unix:///path.",
            "libvirt does not know this transport");
}

void kvmig__check_options(const struct kvmig__check *c)
{
    const struct kvmig__request *r = c->request;

    at_most(c, "bandwidth_mib", r->bandwidth_mib, MAX_BANDWIDTH_MIB);
    at_most(c, "postcopy_bandwidth_mib", r->postcopy_bandwidth_mib, MAX_BANDWIDTH_MIB);
    at_most(c, "max_downtime_ms", r->max_downtime_ms, MAX_DOWNTIME_MS);
    at_most(c, "parallel_connections", r->parallel_connections, MAX_PARALLEL);
    at_most(c, "auto_converge_initial", r->auto_converge_initial, MAX_THROTTLE_PERCENT);
    at_most(c, "auto_converge_increment", r->auto_converge_increment, MAX_THROTTLE_PERCENT);
    check_compression(c);
    check_migrate_uri(c);
    if (r->target_name && strchr(r->target_name, '/'))
        invalid(c, "target_name", r->target_name, "Choose a name without a slash.",
                "libvirt does not take a slash in the name of a domain");
}
