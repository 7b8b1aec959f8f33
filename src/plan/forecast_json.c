/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A forecast as JSON, for the plan and for the report. Reads it and decides nothing. Any thread; the object is the caller's.
 */
#include "base/json_internal.h"
#include "plan/plan_internal.h"

/* Zero is "none", and says nothing. */
static void add_asked(struct json_object *object, const char *key, uint64_t number)
{
    if (number)
        kvmig__json_add_u64(object, key, number);
}

static void add_spread(struct json_object *object, const char *key, uint64_t middle, uint64_t low, uint64_t high)
{
    struct json_object *spread = json_object_new_object();

    kvmig__json_add_u64(spread, "expected", middle);
    kvmig__json_add_u64(spread, "low", low);
    kvmig__json_add_u64(spread, "high", high);
    json_object_object_add(object, key, spread);
}

static struct json_object *strategy_to_json(const struct kvmig_forecast *a)
{
    struct json_object *object = json_object_new_object();

    if (a->converges >= 0) {
        kvmig__json_add_bool(object, "converges", a->converges);
        kvmig__json_add_bool(object, "certain", a->certain);
    }
    add_spread(object, "total_ms", a->total_ms, a->total_low_ms, a->total_high_ms);
    add_spread(object, "pause_ms", a->pause_ms, a->pause_low_ms, a->pause_high_ms);
    add_spread(object, "sent_bytes", a->sent_bytes, a->sent_low_bytes, a->sent_high_bytes);
    kvmig__json_add_u64(object, "lowest_pause_ms", a->lowest_pause_ms);
    add_asked(object, "needed_bytes_per_s", a->needed_bytes_per_s);
    add_asked(object, "needed_throttle_percent", a->needed_throttle_percent);
    kvmig__json_add_u64(object, "rounds", a->rounds);
    if (!a->limit_ms)
        return object;
    kvmig__json_add_u64(object, "completion_limit_ms", a->limit_ms);
    if (a->over_limit >= 0)
        kvmig__json_add_bool(object, "over_limit", a->over_limit);
    kvmig__json_add_str(object, "limit_action", kvmig_limit_action_name(a->limit_action));
    return object;
}

static struct json_object *inputs_to_json(const struct kvmig__forecast *f)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_u64(object, "memory_bytes", (uint64_t)f->memory);
    kvmig__json_add_u64(object, "used_bytes", (uint64_t)f->used);
    kvmig__json_add_str(object, "used_from", kvmig__basis_name(f->used_basis));
    kvmig__json_add_u64(object, "bytes_per_s", (uint64_t)f->rate);
    kvmig__json_add_str(object, "bytes_per_s_from", kvmig__basis_name(f->link_basis));
    kvmig__json_add_str(object, "dirtying_from", kvmig__basis_name(f->dirty_basis));
    kvmig__json_add_u64(object, "dirty_samples", f->n_points);
    kvmig__json_add_str(object, "setup_from", kvmig__basis_name(f->setup_basis));
    kvmig__json_add_u64(object, "max_downtime_ms", (uint64_t)(f->limit_s * 1000 + 0.5));
    return object;
}

struct json_object *kvmig__forecast_json(const struct kvmig__forecast *f)
{
    struct json_object *object, *strategies;

    if (!f->known)
        return NULL;
    object = json_object_new_object();
    strategies = json_object_new_object();
    json_object_object_add(object, "inputs", inputs_to_json(f));
    for (int32_t strategy = 1; strategy <= KVMIG__N_STRATEGIES; strategy++)
        json_object_object_add(strategies, kvmig_strategy_name(strategy), strategy_to_json(&f->of[strategy - 1]));
    json_object_object_add(object, "strategies", strategies);
    kvmig__json_add_str(object, "planned", kvmig_strategy_name(f->planned));
    kvmig__json_add_str(object, "recommended", kvmig_strategy_name(f->recommended));
    kvmig__json_add_str(object, "reason", f->reason);
    return object;
}
