/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a probe is told: reads and judges the options, and makes of them what its thread needs. Opens nothing and looks up
 * no name. Any thread; everything is copied.
 */
#include "probe/probe_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_INTERVAL_MS 20
#define DEFAULT_TIMEOUT_MS 200
#define LONGEST_MS (3600 * 1000)
#define LONGEST_HOST 255
#define LONGEST_PATH 2048

int32_t kvmig_probe_target_init(struct kvmig_probe_target *target, size_t size)
{
    return kvmig__opts_init(target, size, "kvmig_probe_target_init");
}

int32_t kvmig_probe_result_init(struct kvmig_probe_result *result, size_t size)
{
    return kvmig__opts_init(result, size, "kvmig_probe_result_init");
}

int32_t kvmig_probe_opts_init(struct kvmig_probe_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_probe_opts_init");
}

static int32_t fail(const char *where, const char *option, const char *evidence, const char *hint, const char *message)
{
    char *full = kvmig__asprintf("%s%s%s", where, *option ? "." : "", option);
    const int32_t rc = kvmig__fail(kvmig__error_new(EINVAL, full, evidence, hint, "%s", message));

    free(full);
    return rc;
}

static int32_t fail_number(const char *where, const char *option, uint64_t number, const char *hint,
                           const char *message)
{
    char *evidence = kvmig__asprintf("%s = %llu", option, (unsigned long long)number);
    const int32_t rc = fail(where, option, evidence, hint, message);

    free(evidence);
    return rc;
}

/* Printable ASCII but for these and blanks: such text cannot break out of the line of a request. */
static bool is_plain(const char *text, const char *unwanted)
{
    for (const char *c = text; *c; c++) {
        if (*c <= ' ' || *c > '~' || strchr(unwanted, *c))
            return false;
    }
    return true;
}

static int32_t check_where_to(const struct kvmig_probe_target *target, const char *where)
{
    if (!kvmig_probe_kind_name(target->kind))
        return fail_number(where, "kind", (uint32_t)target->kind, "Use a member of enum kvmig_probe_kind.",
                           "the kind of try is not known");
    if (!target->host || !*target->host)
        return fail(where, "host", NULL, "Give an address or a name.", "the target has no host");
    if (strlen(target->host) > LONGEST_HOST || !is_plain(target->host, "[]/?#@\\\"'<>"))
        return fail(where, "host", target->host, "Give an IPv4 address, an IPv6 address without brackets, or a name.",
                    "the host is no address and no name");
    if (!target->port || target->port > UINT16_MAX)
        return fail_number(where, "port", target->port, "A port is a number from 1 to 65535.",
                           "the port is out of range");
    if (!target->path)
        return 0;
    if (target->kind != KVMIG_PROBE_HTTP_GET)
        return fail(where, "path", target->path, "Leave it NULL, or use KVMIG_PROBE_HTTP_GET.",
                    "only an HTTP target has a path");
    if (*target->path != '/' || strlen(target->path) > LONGEST_PATH || !is_plain(target->path, "#"))
        return fail(where, "path", target->path,
                    "Begin it with a slash; write blanks and special characters as %XX; at most 2048 bytes.",
                    "the path cannot be part of a request");
    return 0;
}

static int32_t check_times(const struct kvmig_probe_target *target, const char *where)
{
    if (target->interval_ms > LONGEST_MS)
        return fail_number(where, "interval_ms", target->interval_ms, "Milliseconds, at most one hour.",
                           "the interval is too long");
    if (target->timeout_ms > LONGEST_MS)
        return fail_number(where, "timeout_ms", target->timeout_ms, "Milliseconds, at most one hour.",
                           "the time-out is too long");
    if (target->timeout_ms / target->interval_ms > KVMIG__PROBE_MAX_OPEN)
        return fail_number(where, "timeout_ms", target->timeout_ms, "Make timeout_ms at most 256 times interval_ms.",
                           "too many tries of the target would be open at the same time");
    return 0;
}

static char *make_label(const struct kvmig_probe_target *target)
{
    const bool brackets = strchr(target->host, ':') != NULL;

    return kvmig__asprintf("%s:%s%s%s:%u%s", kvmig_probe_kind_name(target->kind), brackets ? "[" : "", target->host,
                           brackets ? "]" : "", target->port, target->path ? target->path : "");
}

static void take_target(struct kvmig__prober_target *own, const struct kvmig_probe_target *target)
{
    own->host = kvmig__strdup(target->host);
    own->path = kvmig__strdup(target->path);
    own->label = make_label(target);
    own->port = (uint16_t)target->port;
    own->kind = target->kind;
    own->interval_ms = target->interval_ms;
    own->timeout_ms = target->timeout_ms;
    /* One is begun while the oldest has just its whole time-out behind it, and a try that was begun late may be closer to
     * its successor than an interval. */
    own->max_open = target->timeout_ms / target->interval_ms + 2;
    /* One lost try among others does not end a span of successes. */
    kvmig__probe_stats_init(&own->stats, 3 * own->interval_ms);
}

static int32_t read_target(const struct kvmig_probe_target *given, size_t index, struct kvmig__prober_target *own)
{
    char *where = kvmig__asprintf("kvmig_probe_new: targets[%zu]", index);
    struct kvmig_probe_target target;
    int32_t rc = given ? kvmig__opts_copy(&target, sizeof(target), given, where)
                       : fail(where, "", NULL, NULL, "the pointer to the target is NULL");

    if (!rc) {
        target.interval_ms = target.interval_ms ? target.interval_ms : DEFAULT_INTERVAL_MS;
        target.timeout_ms = target.timeout_ms ? target.timeout_ms : DEFAULT_TIMEOUT_MS;
        rc = check_where_to(&target, where);
    }
    if (!rc)
        rc = check_times(&target, where);
    if (!rc)
        take_target(own, &target);
    free(where);
    return rc;
}

int32_t kvmig__prober_from_opts(const struct kvmig_probe_opts *opts, struct kvmig__prober **out_prober)
{
    struct kvmig_probe_opts own;
    struct kvmig__prober *prober;
    int32_t rc = kvmig__opts_copy(&own, sizeof(own), opts, "kvmig_probe_new");

    if (rc)
        return rc;
    if (!own.targets || own.n_targets < 1 || own.n_targets > KVMIG__PROBE_MAX_TARGETS)
        return fail_number("kvmig_probe_new: opts", "n_targets", own.targets ? own.n_targets : 0,
                           "Give 1 to 64 targets.", "a probe cannot have so many targets");
    if (own.netns && *own.netns != '/')
        return fail("kvmig_probe_new: opts", "netns", own.netns,
                    "Give the whole path, such as /run/netns/NAME, or NULL for the namespace of the process.",
                    "the network namespace is not an absolute path");
    prober = kvmig__prober_new(own.n_targets, own.netns);
    for (size_t i = 0; i < own.n_targets && !rc; i++)
        rc = read_target(own.targets[i], i, &prober->targets[i]);
    if (rc)
        kvmig__prober_unref(prober);
    else
        *out_prober = prober;
    return rc;
}
