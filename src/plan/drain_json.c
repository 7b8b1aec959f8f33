/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A finished drain as JSON. Knows json-c, unlike the rest of the planner; reads the drain and decides nothing. Any thread.
 */
#include "base/json_internal.h"
#include "plan/drain_internal.h"

#include <errno.h>

static void add_limit(struct json_object *object, const char *key, uint32_t limit)
{
    if (limit == KVMIG_UNLIMITED)
        json_object_object_add(object, key, NULL); /* null: there is none */
    else
        kvmig__json_add_u64(object, key, limit);
}

static struct json_object *limits_to_json(const struct kvmig__drain_limits *limits)
{
    struct json_object *object = json_object_new_object();

    add_limit(object, "total", limits->total);
    add_limit(object, "outbound", limits->out);
    add_limit(object, "inbound", limits->in);
    kvmig__json_add_u64(object, "under_way", limits->taken);
    return object;
}

static void add_ms(struct json_object *object, const char *key, uint64_t ms)
{
    json_object_object_add(object, key, NULL); /* null: not known */
    kvmig__json_add_u64(object, key, ms);
}

static struct json_object *move_to_json(const struct kvmig__drain_move *move)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "vm", move->plan->vm);
    kvmig__json_add_str(object, "source", move->plan->source);
    kvmig__json_add_str(object, "target", move->plan->target);
    kvmig__json_add_str(object, "verdict", kvmig_verdict_name(move->plan->verdict));
    kvmig__json_add_bool(object, "after_all_before", move->after);
    kvmig__json_add_u64(object, "bytes", move->bytes);
    if (move->bandwidth)
        kvmig__json_add_u64(object, "bandwidth_bytes_per_s", move->bandwidth);
    add_ms(object, "begin_ms", move->begin_ms);
    add_ms(object, "finish_ms", move->finish_ms);
    json_object_object_add(object, "findings", kvmig__json_findings(&move->plan->findings));
    return object;
}

static struct json_object *waves_to_json(const struct kvmig_drain *drain)
{
    struct json_object *waves = json_object_new_array(), *migrations = NULL;
    uint32_t last = 0;

    for (size_t i = 0; i < drain->moves.n; i++) {
        if (drain->moves.v[i].wave != last) {
            struct json_object *wave = json_object_new_object();

            last = drain->moves.v[i].wave;
            migrations = json_object_new_array();
            kvmig__json_add_u64(wave, "wave", last);
            json_object_object_add(wave, "migrations", migrations);
            json_object_array_add(waves, wave);
        }
        json_object_array_add(migrations, move_to_json(&drain->moves.v[i]));
    }
    return waves;
}

static struct json_object *immovable_to_json(const struct kvmig_drain *drain)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < drain->immovable.n; i++) {
        const struct kvmig_plan *plan = drain->immovable.v[i];
        struct json_object *object = json_object_new_object();

        kvmig__json_add_str(object, "vm", plan->vm);
        kvmig__json_add_str(object, "source", plan->source);
        kvmig__json_add_str(object, "verdict", kvmig_verdict_name(plan->verdict));
        json_object_object_add(object, "findings", kvmig__json_findings(&plan->findings));
        json_object_array_add(array, object);
    }
    return array;
}

int32_t kvmig_drain_to_json(const struct kvmig_drain *drain, char **out_json)
{
    struct json_object *object;

    if (out_json)
        *out_json = NULL;
    if (!drain || !out_json)
        return kvmig__fail(
            kvmig__error_new(EINVAL, "kvmig_drain_to_json", NULL, NULL, "%s is NULL.", drain ? "out_json" : "drain"));
    object = json_object_new_object();
    json_object_object_add(object, "nodes", kvmig__json_strlist(&drain->nodes));
    json_object_object_add(object, "limits", limits_to_json(&drain->limits));
    json_object_object_add(object, "waves", waves_to_json(drain));
    json_object_object_add(object, "immovable", immovable_to_json(drain));
    add_ms(object, "expected_ms", drain->expected_ms);
    kvmig__json_add_str(object, "expected_from",
                        drain->expected_ms == KVMIG__NO_TIME
                            ? "not known: neither a bandwidth limit nor the link's bandwidth is given"
                            : "guest memory and copied disks, sent once, at the bandwidth that each may count on");
    *out_json = kvmig__json_take_string(object);
    return 0;
}
