/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asking where a guest is, and acting on the answer. An action is done only if a fresh answer still allows it, and what comes
 * back is the answer after it. A name counts for the first question only: what it was found to stand for, a UUID, is asked for
 * and acted on from then on, so that a namesake is never hit.
 *
 * Public calls come from any thread; the rest runs in dispatch with the context lock held. An asker owns itself from the call
 * until the caller's callback and free have run; it holds the cluster (and so the context), so that the callback's free runs
 * also if everybody else lets go meanwhile.
 */
#include "session/location_internal.h"

#include "session/locator.h"

#include <errno.h>
#include <stdlib.h>

#define DEFAULT_TIMEOUT_MS 10000
#define LONGEST_MS ((uint64_t)24 * 3600 * 1000)

struct asker;

/* An action on one host, out. */
struct deed {
    struct asker *asker;
    bool done;
};

struct asker {
    struct kvmig_context *context;
    struct kvmig_cluster *cluster; /* held */
    struct kvmig__inquiry inquiry;
    struct kvmig_location_callback callback;
    int32_t action; /* to be done; 0 = none, or done */
    struct deed deeds[2]; /* on the source, on the target */
    struct kvmig_location *location; /* the answer; held */
    struct kvmig_error *error; /* or why there is none */
};

void kvmig__inquiry_copy(struct kvmig__inquiry *dst, const struct kvmig__inquiry *src)
{
    *dst = *src;
    dst->vm = kvmig__strdup(src->vm);
    dst->source = kvmig__strdup(src->source);
    dst->target = kvmig__strdup(src->target);
    dst->uuid = kvmig__strdup(src->uuid);
}

void kvmig__inquiry_clear(struct kvmig__inquiry *inquiry)
{
    free(inquiry->vm);
    free(inquiry->source);
    free(inquiry->target);
    free(inquiry->uuid);
    *inquiry = (struct kvmig__inquiry){ .timeout_ms = 0 };
}

/* ---- the answer ---- */

static void asker_free(struct asker *asker)
{
    struct kvmig_context *context = asker->context;

    kvmig__context_lock(context);
    kvmig__location_release(asker->location);
    kvmig__inquiry_clear(&asker->inquiry);
    kvmig__error_free(asker->error);
    kvmig__cluster_release(asker->cluster);
    free(asker);
    kvmig__context_unlock(context);
}

static void drop_answer(void *data)
{
    struct asker *asker = data;

    if (asker->callback.free)
        asker->callback.free(asker->callback.user_data);
    asker_free(asker);
}

static void deliver_answer(void *data)
{
    struct asker *asker = data;

    if (asker->callback.fn)
        asker->callback.fn(asker->error ? NULL : asker->location, asker->error, asker->callback.user_data);
    drop_answer(asker);
}

static void answer(struct asker *asker)
{
    kvmig__context_deliver(asker->context, deliver_answer, drop_answer, asker, false);
}

/* ---- asking and acting ---- */

static void ask(struct asker *asker);

static void on_done(void *owner, const struct kvmig_error *error)
{
    struct deed *deed = owner;
    struct asker *asker = deed->asker;

    deed->done = true;
    if (error && !asker->error)
        asker->error = kvmig__error_copy(error);
    if (!asker->deeds[0].done || !asker->deeds[1].done)
        return;
    if (asker->error)
        answer(asker);
    else
        ask(asker);
}

static bool concerns(int32_t action, bool source)
{
    switch (action) {
    case KVMIG_ACTION_RESUME_SOURCE:
    case KVMIG_ACTION_DESTROY_SOURCE:
        return source;
    case KVMIG_ACTION_RESUME_TARGET:
    case KVMIG_ACTION_DESTROY_TARGET:
        return !source;
    default:
        return true;
    }
}

static void act_on(struct deed *deed, struct kvmig__cluster_host *host, int32_t action)
{
    const struct kvmig__inquiry *inquiry = &deed->asker->inquiry;

    host->backend->ops->act(host->backend, inquiry->uuid, action, inquiry->timeout_ms, on_done, deed);
}

/* A backend never answers from inside act(). */
static void act(struct asker *asker)
{
    const int32_t action = asker->action;

    asker->action = 0;
    for (size_t i = 0; i < 2; i++)
        asker->deeds[i] = (struct deed){ .asker = asker, .done = !concerns(action, i == 0) };
    if (!asker->deeds[0].done)
        act_on(&asker->deeds[0], asker->inquiry.source_host, action);
    if (!asker->deeds[1].done)
        act_on(&asker->deeds[1], asker->inquiry.target_host, action);
}

static struct kvmig_error *refusal(const struct kvmig__inquiry *inquiry, const struct kvmig__resolution *resolution,
                                   int32_t action)
{
    char *where = kvmig__asprintf("kvmig_location_apply: vm/%s", inquiry->vm);
    struct kvmig_error *error =
        kvmig__error_new(KVMIG_EREFUSED, where, resolution->proof,
                         "Ask again with kvmig_cluster_locate() and take one of the actions that the answer allows.",
                         "%s is not allowed: the answer is %s", kvmig_location_action_name(action),
                         kvmig_location_verdict_name(resolution->verdict));

    free(where);
    return error;
}

static void on_located(void *owner, const struct kvmig__resolution *resolution, const char *uuid,
                       const struct kvmig__side *source, const struct kvmig__side *target)
{
    struct asker *asker = owner;

    kvmig__str_set(&asker->inquiry.uuid, uuid);
    if (asker->action && (!uuid || !kvmig__resolution_allows(resolution, asker->action))) {
        asker->error = refusal(&asker->inquiry, resolution, asker->action);
    } else if (asker->action) {
        act(asker);
        return;
    } else {
        asker->location = kvmig__location_new(asker->cluster, &asker->inquiry, resolution, source, target);
    }
    answer(asker);
}

static void ask(struct asker *asker)
{
    const struct kvmig__inquiry *inquiry = &asker->inquiry;

    kvmig__locate(inquiry->source_host, inquiry->target_host, inquiry->uuid ? inquiry->uuid : inquiry->vm,
                  inquiry->timeout_ms, on_located, asker);
}

static void start(struct kvmig_cluster *cluster, const struct kvmig__inquiry *inquiry, int32_t action,
                  struct kvmig_location_callback callback)
{
    struct asker *asker = kvmig__calloc(1, sizeof(*asker));

    asker->context = kvmig__cluster_context(cluster);
    asker->cluster = cluster;
    asker->callback = callback;
    asker->action = action == KVMIG_ACTION_WAIT ? 0 : action; /* waiting is asking again */
    kvmig__inquiry_copy(&asker->inquiry, inquiry);
    kvmig__cluster_hold(cluster);
    ask(asker);
}

/* ---- public ---- */

static int32_t fail(int32_t code, const char *where, const char *evidence, const char *hint, const char *message)
{
    return kvmig__fail(kvmig__error_new(code, where, evidence, hint, "%s", message));
}

static int32_t check_opts(const struct kvmig_locate_opts *opts)
{
    if (!opts->vm || !*opts->vm)
        return fail(EINVAL, "kvmig_cluster_locate: vm", NULL, "Name the VM, or give its UUID.", "no VM is given");
    if (!opts->source || !*opts->source)
        return fail(EINVAL, "kvmig_cluster_locate: source", NULL, "Name the host that the VM came from.",
                    "no source is given");
    if (!opts->target || !*opts->target)
        return fail(EINVAL, "kvmig_cluster_locate: target", NULL, "Name the host that the VM was to go to.",
                    "no target is given");
    if (opts->timeout_ms > LONGEST_MS)
        return fail(EINVAL, "kvmig_cluster_locate: timeout_ms", NULL, "Milliseconds, at most one day.",
                    "the time-out is too long");
    return 0;
}

static int32_t fail_no_host(const char *which, const char *name)
{
    char *where = kvmig__asprintf("kvmig_cluster_locate: %s", which);
    int32_t rc =
        kvmig__fail(kvmig__error_new(KVMIG_ENOHOST, where, name,
                                     "Use a host's name or URI as in the view; a host that was never reached is "
                                     "known by its URI only.",
                                     "no host %s in the cluster view", name));

    free(where);
    return rc;
}

/* Names are copied: what the answer says must not change with the view. */
static int32_t make_inquiry(struct kvmig_cluster *cluster, const struct kvmig_locate_opts *opts,
                            struct kvmig__inquiry *out)
{
    struct kvmig__cluster_host *source = kvmig__cluster_find_host(cluster, opts->source);
    struct kvmig__cluster_host *target = kvmig__cluster_find_host(cluster, opts->target);
    const uint64_t timeout_ms = opts->timeout_ms ? opts->timeout_ms : DEFAULT_TIMEOUT_MS;

    if (!source)
        return fail_no_host("source", opts->source);
    if (!target)
        return fail_no_host("target", opts->target);
    if (source == target)
        return fail(EINVAL, "kvmig_cluster_locate: target", source->facts->name, "Name two hosts.",
                    "source and target are the same host");
    *out = (struct kvmig__inquiry){ .source_host = source, .target_host = target, .timeout_ms = (int64_t)timeout_ms };
    out->vm = kvmig__strdup(opts->vm);
    out->source = kvmig__strdup(source->facts->name);
    out->target = kvmig__strdup(target->facts->name);
    return 0;
}

int32_t kvmig_cluster_locate(struct kvmig_cluster *cluster, const struct kvmig_locate_opts *opts,
                             struct kvmig_location_callback callback)
{
    struct kvmig__inquiry inquiry = { .timeout_ms = 0 };
    struct kvmig_locate_opts own;
    struct kvmig_context *context;
    int32_t rc;

    if (!cluster) {
        kvmig__callback_discard(NULL, callback.free, callback.user_data);
        return fail(EINVAL, "kvmig_cluster_locate: cluster", NULL, NULL, "a required pointer is NULL");
    }
    context = kvmig__cluster_context(cluster);
    rc = kvmig__opts_copy(&own, sizeof(own), opts, "kvmig_cluster_locate");
    if (!rc)
        rc = check_opts(&own);
    kvmig__context_lock(context);
    if (!rc)
        rc = make_inquiry(cluster, &own, &inquiry);
    if (!rc)
        start(cluster, &inquiry, 0, callback);
    else
        kvmig__callback_discard(context, callback.free, callback.user_data);
    kvmig__context_unlock(context);
    kvmig__inquiry_clear(&inquiry);
    return rc;
}

static int32_t check_action(const struct kvmig_location *location, int32_t action)
{
    if (!kvmig_location_action_name(action)) {
        char *evidence = kvmig__asprintf("action = %d", action);
        int32_t rc = fail(EINVAL, "kvmig_location_apply: action", evidence, "Use an enum kvmig_location_action.",
                          "unknown action");

        free(evidence);
        return rc;
    }
    if (!kvmig__resolution_allows(&location->resolution, action))
        return kvmig__fail(refusal(&location->inquiry, &location->resolution, action));
    if (action == KVMIG_ACTION_POSTCOPY_RECOVER)
        return fail(ENOTSUP, "kvmig_location_apply: action", location->inquiry.vm,
                    "Call virDomainMigrateToURI3() again with the same parameters and VIR_MIGRATE_POSTCOPY_RESUME.",
                    "post-copy is recovered by a new migrate call, not by an action on a host");
    return 0;
}

int32_t kvmig_location_apply(const struct kvmig_location *location, int32_t action,
                             struct kvmig_location_callback callback)
{
    int32_t rc;

    if (!location) {
        kvmig__callback_discard(NULL, callback.free, callback.user_data);
        return fail(EINVAL, "kvmig_location_apply: location", NULL, NULL, "a required pointer is NULL");
    }
    kvmig__context_lock(location->context);
    rc = check_action(location, action);
    if (!rc)
        start(location->cluster, &location->inquiry, action, callback);
    else
        kvmig__callback_discard(location->context, callback.free, callback.user_data);
    kvmig__context_unlock(location->context);
    return rc;
}
