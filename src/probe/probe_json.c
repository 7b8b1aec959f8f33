/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a probe has seen, as JSON. Copies the figures under the prober's lock and writes without it, so that the probe's
 * thread never waits for a document. Any thread; the objects are the caller's.
 */
#include "probe/probe_private.h"

#include "base/json_internal.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a target at one time. */
struct view {
    struct kvmig_probe_result result;
    struct kvmig__probe_span *spans;
    size_t n_spans;
    int32_t last_error;
    struct kvmig_error *error;
};

static void view_fill(struct view *view, struct kvmig__prober *prober, size_t index)
{
    const struct kvmig__prober_target *target = &prober->targets[index];

    pthread_mutex_lock(&prober->lock);
    kvmig__prober_result(prober, index, &view->result);
    view->n_spans = target->stats.n_spans;
    view->spans = kvmig__calloc(view->n_spans + 1, sizeof(*view->spans));
    if (view->n_spans)
        memcpy(view->spans, target->stats.spans, view->n_spans * sizeof(*view->spans));
    view->last_error = target->last_error;
    view->error = kvmig__error_copy(target->error);
    pthread_mutex_unlock(&prober->lock);
}

static void view_clear(struct view *view)
{
    free(view->spans);
    kvmig__error_free(view->error);
}

static void add_gap(struct json_object *object, const struct kvmig_probe_result *result, int64_t base_ms)
{
    if (!result->gap_begin_ms)
        return;
    kvmig__json_add_u64(object, "gap_ms", result->gap_ms);
    kvmig__json_add_i64(object, "gap_begin_ms", result->gap_begin_ms - base_ms);
    kvmig__json_add_i64(object, "gap_end_ms", result->gap_end_ms - base_ms);
    kvmig__json_add_bool(object, "gap_is_open", result->gap_is_open);
}

/* [begin, end, successes, failures] each. */
static struct json_object *series(const struct view *view, int64_t base_ms)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < view->n_spans; i++) {
        const struct kvmig__probe_span *span = &view->spans[i];
        struct json_object *entry = json_object_new_array();

        json_object_array_add(entry, json_object_new_int64(span->begin_ms - base_ms));
        json_object_array_add(entry, json_object_new_int64(span->end_ms - base_ms));
        json_object_array_add(entry, json_object_new_uint64(span->successes));
        json_object_array_add(entry, json_object_new_uint64(span->failures));
        json_object_array_add(array, entry);
    }
    return array;
}

static struct json_object *target_json(struct kvmig__prober *prober, size_t index, int64_t base_ms)
{
    const struct kvmig__prober_target *target = &prober->targets[index];
    struct json_object *object = json_object_new_object();
    struct view view;

    view_fill(&view, prober, index);
    kvmig__json_add_str(object, "target", target->label);
    kvmig__json_add_str(object, "kind", kvmig_probe_kind_name(target->kind));
    kvmig__json_add_i64(object, "interval_ms", target->interval_ms);
    kvmig__json_add_i64(object, "timeout_ms", target->timeout_ms);
    kvmig__json_add_u64(object, "tries", view.result.tries);
    kvmig__json_add_u64(object, "failures", view.result.failures);
    if (view.last_error)
        kvmig__json_add_str(object, "last_failure", kvmig_error_code_name(view.last_error));
    add_gap(object, &view.result, base_ms);
    if (view.result.held_survived >= 0)
        kvmig__json_add_bool(object, "held_survived", view.result.held_survived);
    json_object_object_add(object, "series", series(&view, base_ms));
    if (view.error)
        json_object_object_add(object, "error", kvmig__json_error(view.error));
    view_clear(&view);
    return object;
}

struct json_object *kvmig__prober_json(struct kvmig__prober *prober, int64_t base_ms)
{
    struct json_object *root = json_object_new_object(), *targets = json_object_new_array();
    int64_t started_ms, stopped_ms, late_ms;

    pthread_mutex_lock(&prober->lock);
    started_ms = prober->started_ms;
    stopped_ms = prober->stopped_ms;
    late_ms = prober->late_ms;
    pthread_mutex_unlock(&prober->lock);
    kvmig__json_add_str(root, "netns", prober->netns);
    if (started_ms)
        kvmig__json_add_i64(root, "begin_ms", started_ms - base_ms);
    if (stopped_ms)
        kvmig__json_add_i64(root, "end_ms", stopped_ms - base_ms);
    kvmig__json_add_i64(root, "late_ms", late_ms);
    for (size_t i = 0; i < prober->n_targets; i++)
        json_object_array_add(targets, target_json(prober, i, base_ms));
    json_object_object_add(root, "targets", targets);
    return root;
}
