/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small helpers for the planner's checks: a finding in one call, the names of objects, versions and sizes as text. Pure; any
 * thread. What is passed as owned is freed here.
 */
#include "plan/checks.h"

#include <inttypes.h>
#include <stdlib.h>

void kvmig__note(const struct kvmig__check *c, const char *code, int32_t severity, char *object,
                 struct kvmig__detail *detail, const char *hint, const char *message_fmt, ...)
{
    va_list args;
    char *message, *text = detail ? kvmig__detail_take(detail) : NULL;

    va_start(args, message_fmt);
    message = kvmig__vasprintf(message_fmt, args);
    va_end(args);
    kvmig__findings_add(c->out, code, severity, object, c->target ? c->target->name : NULL, text, hint, "%s", message);
    free(message);
    free(text);
    free(object);
}

bool kvmig__target_was_asked(const struct kvmig__check *c)
{
    return !c->target || !c->target->from_files;
}

char *kvmig__object_node(const struct kvmig__host *host)
{
    /* The target that nobody has named has no URI either. */
    return host->from_files && !host->uri ? kvmig__strdup("target") : kvmig__asprintf("node/%s", host->name);
}

char *kvmig__object_vm(const struct kvmig__domain *domain)
{
    return kvmig__asprintf("vm/%s", domain->name);
}

char *kvmig__object_disk(const char *target)
{
    return kvmig__asprintf("disk/%s", target);
}

char *kvmig__object_request(void)
{
    return kvmig__strdup("request");
}

char *kvmig__version_text(uint64_t version)
{
    return kvmig__asprintf("%" PRIu64 ".%" PRIu64 ".%" PRIu64, version / 1000000, version / 1000 % 1000,
                           version % 1000);
}

void kvmig__detail_version(struct kvmig__detail *d, const char *key, uint64_t version)
{
    char *text;

    if (!version)
        return;
    text = kvmig__version_text(version);
    kvmig__detail_str(d, key, text);
    free(text);
}

bool kvmig__version_below(uint64_t version, uint64_t limit)
{
    return version && version < limit;
}

char *kvmig__bytes_text(uint64_t bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    uint64_t whole = bytes, rest = 0;
    size_t unit = 0;

    for (; whole >= 1024 && unit + 1 < KVMIG__N_ELEMENTS(units); unit++) {
        rest = whole % 1024;
        whole /= 1024;
    }
    if (!rest)
        return kvmig__asprintf("%" PRIu64 " %s", whole, units[unit]);
    return kvmig__asprintf("%" PRIu64 ".%" PRIu64 " %s", whole, rest * 10 / 1024, units[unit]);
}
