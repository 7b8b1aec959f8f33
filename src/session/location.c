/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locations: the public answer of the resolver, as an object. Does not ask hosts (location_ask.c). Public calls come from any
 * thread. An answer never changes; its counts are guarded by the context lock. It is kept by public owners (from
 * kvmig_location_ref() on) and, until its callback has run, by whoever asked. While it has a public owner it keeps the context open, as every
 * handle of a caller does; all the time it holds the cluster, because kvmig_location_apply() asks again.
 */
#include "session/location_internal.h"

#include "base/json_internal.h"

#include <errno.h>
#include <stdlib.h>

/* ---- options ---- */

int32_t kvmig_locate_opts_init(struct kvmig_locate_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_locate_opts_init");
}

/* ---- life ---- */

struct kvmig_location *kvmig__location_new(struct kvmig_cluster *cluster, const struct kvmig__inquiry *inquiry,
                                           const struct kvmig__resolution *resolution, const struct kvmig__side *source,
                                           const struct kvmig__side *target)
{
    struct kvmig_location *location = kvmig__calloc(1, sizeof(*location));

    location->cluster = cluster;
    location->context = kvmig__cluster_context(cluster);
    location->holds = 1;
    kvmig__inquiry_copy(&location->inquiry, inquiry);
    location->resolution = *resolution;
    location->resolution.proof = location->proof = kvmig__strdup(resolution->proof);
    kvmig__side_copy(&location->source, source);
    kvmig__side_copy(&location->target, target);
    kvmig__cluster_hold(cluster);
    return location;
}

static void free_if_unused(struct kvmig_location *location)
{
    if (location->owners || location->holds)
        return;
    kvmig__cluster_release(location->cluster);
    kvmig__inquiry_clear(&location->inquiry);
    free(location->proof);
    kvmig__side_clear(&location->source);
    kvmig__side_clear(&location->target);
    free(location);
}

void kvmig__location_release(struct kvmig_location *location)
{
    if (!location)
        return;
    location->holds--;
    free_if_unused(location);
}

struct kvmig_location *kvmig_location_ref(const struct kvmig_location *location)
{
    struct kvmig_location *shared = (struct kvmig_location *)location; /* only its count changes */

    if (!shared)
        return NULL;
    kvmig__context_lock(shared->context);
    if (shared->owners++ == 0)
        kvmig__context_own(shared->context);
    kvmig__context_unlock(shared->context);
    return shared;
}

void kvmig_location_unref(struct kvmig_location *location)
{
    struct kvmig_context *context;

    if (!location)
        return;
    context = location->context;
    kvmig__context_lock(context);
    if (--location->owners == 0) {
        free_if_unused(location);
        kvmig__context_disown(context);
    }
    kvmig__context_unlock(context);
}

/* ---- what it says ---- */

int32_t kvmig_location_verdict(const struct kvmig_location *location)
{
    return location ? location->resolution.verdict : 0;
}

const char *kvmig_location_host(const struct kvmig_location *location)
{
    const int32_t side = location ? location->resolution.side : 0;

    return side < 0 ? location->inquiry.source : side > 0 ? location->inquiry.target : NULL;
}

const char *kvmig_location_proof(const struct kvmig_location *location)
{
    return location ? location->resolution.proof : "";
}

size_t kvmig_location_action_count(const struct kvmig_location *location)
{
    size_t n = 0;

    while (location && n < KVMIG__MAX_ACTIONS && location->resolution.actions[n])
        n++;
    return n;
}

int32_t kvmig_location_action(const struct kvmig_location *location, size_t index)
{
    return index < kvmig_location_action_count(location) ? location->resolution.actions[index] : 0;
}

/* ---- JSON ---- */

static struct json_object *side_object(const char *host, const struct kvmig__side *side)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "host", host);
    kvmig__json_add_bool(object, "reachable", side->reachable);
    kvmig__json_add_str(object, "uuid", side->uuid);
    if (side->reachable) {
        kvmig__json_add_str(object, "state", kvmig__domain_state_name(side->state));
        kvmig__json_add_str(object, "reason", kvmig__domain_reason_name(side->reason));
        kvmig__json_add_bool(object, "persistent", side->persistent);
        kvmig__json_add_bool(object, "job_active", side->job_active);
        if (side->job_assumed)
            kvmig__json_add_bool(object, "job_assumed", true);
    }
    kvmig__json_add_str(object, "error", side->error);
    return object;
}

/* As in the catalogue of codes: an object with a code, so that more can be said of it later. */
static struct json_object *action_json(int32_t action)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "code", kvmig_location_action_name(action));
    return object;
}

int32_t kvmig_location_to_json(const struct kvmig_location *location, char **out_json)
{
    const char *host = kvmig_location_host(location);
    struct json_object *root, *actions;

    if (!location || !out_json)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_location_to_json", NULL, NULL, "%s is NULL",
                                            location ? "out_json" : "location"));
    root = json_object_new_object();
    actions = json_object_new_array();
    kvmig__json_add_str(root, "vm", location->inquiry.vm);
    kvmig__json_add_str(root, "uuid", location->inquiry.uuid);
    kvmig__json_add_str(root, "verdict", kvmig_location_verdict_name(location->resolution.verdict));
    if (host)
        kvmig__json_add_str(root, "host", host);
    else
        json_object_object_add(root, "host", NULL); /* none, both or unknown: an answer, too */
    kvmig__json_add_str(root, "proof", location->resolution.proof);
    for (size_t i = 0; i < kvmig_location_action_count(location); i++)
        json_object_array_add(actions, action_json(location->resolution.actions[i]));
    json_object_object_add(root, "actions", actions);
    json_object_object_add(root, "source", side_object(location->inquiry.source, &location->source));
    json_object_object_add(root, "target", side_object(location->inquiry.target, &location->target));
    *out_json = kvmig__json_take_string(root);
    return 0;
}

/* ---- names ---- */

const char *kvmig_location_verdict_name(int32_t verdict)
{
    static const char *const names[] = {
        [KVMIG_LOCATION_NO_FINDING] = "NO_FINDING",
        [KVMIG_LOCATION_RUNNING] = "RUNNING",
        [KVMIG_LOCATION_SUCCEEDED] = "SUCCEEDED",
        [KVMIG_LOCATION_SUCCEEDED_UNREPORTED] = "SUCCEEDED_UNREPORTED",
        [KVMIG_LOCATION_FAILED] = "FAILED",
        [KVMIG_LOCATION_FAILED_SOURCE_PAUSED] = "FAILED_SOURCE_PAUSED",
        [KVMIG_LOCATION_TARGET_PAUSED] = "TARGET_PAUSED",
        [KVMIG_LOCATION_POSTCOPY_ACTIVE] = "POSTCOPY_ACTIVE",
        [KVMIG_LOCATION_POSTCOPY_FAILED] = "POSTCOPY_FAILED",
        [KVMIG_LOCATION_SPLIT_BRAIN] = "SPLIT_BRAIN",
        [KVMIG_LOCATION_VM_LOST] = "VM_LOST",
        [KVMIG_LOCATION_UNDECIDED] = "UNDECIDED",
    };

    return verdict > 0 && (size_t)verdict < KVMIG__N_ELEMENTS(names) ? names[verdict] : NULL;
}

const char *kvmig_location_action_name(int32_t action)
{
    static const char *const names[] = {
        [KVMIG_ACTION_WAIT] = "WAIT",
        [KVMIG_ACTION_RESUME_SOURCE] = "RESUME_SOURCE",
        [KVMIG_ACTION_RESUME_TARGET] = "RESUME_TARGET",
        [KVMIG_ACTION_DESTROY_SOURCE] = "DESTROY_SOURCE",
        [KVMIG_ACTION_DESTROY_TARGET] = "DESTROY_TARGET",
        [KVMIG_ACTION_POSTCOPY_RECOVER] = "POSTCOPY_RECOVER",
        [KVMIG_ACTION_SUSPEND_BOTH] = "SUSPEND_BOTH",
    };

    return action > 0 && (size_t)action < KVMIG__N_ELEMENTS(names) ? names[action] : NULL;
}
