/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Making the links of an explanation of a KubeVirt migration: names of objects, limits, severity by age, and the events that prove
 * something. Pure; the caller's thread; strings of a link belong to the explanation.
 */
#include "session/explain_kube.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCHER_TIMER_MIN_S 240
#define LAUNCHER_TIMER_MAX_S 359

char *kvmig__explain_name(const char *kind, const char *ns, const char *name)
{
    return ns ? kvmig__asprintf("%s/%s/%s", kind, ns, name ? name : "?")
              : kvmig__asprintf("%s/%s", kind, name ? name : "?");
}

struct kvmig__wait *kvmig__explain_link(const struct kvmig__explain *x, const char *code, int32_t severity,
                                        int32_t depth, char *object, const char *condition, ...)
{
    struct kvmig__wait *wait = kvmig__explanation_add(x->to, code, severity, depth);
    va_list args;

    wait->object = object;
    va_start(args, condition);
    wait->condition = kvmig__vasprintf(condition, args);
    va_end(args);
    return wait;
}

void kvmig__explain_limit(struct kvmig__wait *wait, int64_t from_ms, int64_t seconds, const char *what, ...)
{
    char *text;
    va_list args;

    va_start(args, what);
    text = kvmig__vasprintf(what, args);
    va_end(args);
    free(wait->limit);
    wait->limit = kvmig__asprintf("%s (%" PRId64 " s)", text, seconds);
    wait->ends_ms = from_ms ? from_ms + seconds * 1000 : 0;
    free(text);
}

static int64_t launcher_started(const struct kvmig__explain *x)
{
    if (x->follow->target_started_ms)
        return x->follow->target_started_ms;
    return x->target && kvmig__str_eq(x->target->phase, "Running") ? x->target->started_ms : 0;
}

void kvmig__explain_launcher_limit(const struct kvmig__explain *x, struct kvmig__wait *wait)
{
    const int64_t started = launcher_started(x);

    free(wait->limit);
    wait->limit = kvmig__asprintf("start timer of the target launcher (between %d and %d s after its start)",
                                  LAUNCHER_TIMER_MIN_S, LAUNCHER_TIMER_MAX_S);
    wait->ends_ms = started ? started + LAUNCHER_TIMER_MAX_S * 1000 : 0;
}

int32_t kvmig__explain_grade(const struct kvmig__explain *x, int64_t since_ms, int64_t warn_s, int64_t error_s)
{
    const int64_t age_ms = since_ms && x->now_ms > since_ms ? x->now_ms - since_ms : 0;

    if (error_s && age_ms > error_s * 1000)
        return KVMIG_SEVERITY_ERROR;
    return warn_s && age_ms > warn_s * 1000 ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_INFO;
}

static bool is_about(const struct kvmig__kube_event *event, const struct kvmig__kube_meta *about)
{
    const struct kvmig__kube_kind_info *info = kvmig__kube_kind_info(about->kind);

    if (!info || !kvmig__str_eq(event->about_kind, info->kind))
        return false;
    if (event->about_uid && about->uid)
        return !strcmp(event->about_uid, about->uid);
    return kvmig__str_eq(event->about_ns, about->ns) && kvmig__str_eq(event->about_name, about->name);
}

const struct kvmig__kube_event *kvmig__explain_event(const struct kvmig__explain *x,
                                                     const struct kvmig__kube_meta *about, const char *reason,
                                                     int64_t since_ms)
{
    const struct kvmig__kube_event *newest = NULL;

    KVMIG__KUBE_EACH(x->kube, EVENT, event)
    {
        if (!is_about(event, about) || event->last_ms < since_ms ||
            (reason ? !kvmig__str_eq(event->reason, reason) : !kvmig__str_eq(event->type, "Warning")))
            continue;
        if (!newest || event->last_ms >= newest->last_ms)
            newest = event;
    }
    return newest;
}

int64_t kvmig__explain_timer(const struct kvmig__explain *x, const char *annotation, int64_t otherwise)
{
    const char *text = x->vmim ? kvmig__pairs_get(&x->vmim->meta.annotations, annotation) : NULL;
    char *end;
    long long seconds;

    if (!text || !*text)
        return otherwise;
    seconds = strtoll(text, &end, 10);
    return *end || seconds < 0 || seconds > INT32_MAX ? otherwise : seconds;
}
