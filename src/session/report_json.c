/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The report as JSON: what was planned beside what happened. Reads the report and the plan, changes nothing; what is not
 * known is left out. Runs on the caller's thread with the context lock held; the text is the caller's.
 */
#include "session/report.h"

#include "base/json_internal.h"
#include "plan/plan_internal.h"

#include <string.h>

static struct json_object *add_object(struct json_object *parent, const char *key)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(parent, key, object);
    return object;
}

static struct json_object *add_array(struct json_object *parent, const char *key)
{
    struct json_object *array = json_object_new_array();

    json_object_object_add(parent, key, array);
    return array;
}

/* From from_ms until to_ms, or until now if that has not come; nothing if it has not begun. */
static void add_span(struct json_object *object, const char *key, int64_t from_ms, int64_t to_ms, int64_t now_ms)
{
    if (from_ms)
        kvmig__json_add_i64(object, key, (to_ms ? to_ms : now_ms) - from_ms);
}

static void add_plan_disks(struct json_object *object, const struct kvmig_plan *plan)
{
    struct json_object *disks = add_array(object, "disks");
    uint64_t sum = 0;

    for (size_t i = 0; i < plan->disks.n; i++) {
        const struct kvmig__disk_plan *disk = &plan->disks.v[i];
        struct json_object *entry = json_object_new_object();

        kvmig__json_add_str(entry, "target", disk->target);
        kvmig__json_add_str(entry, "method", kvmig_disk_method_name(disk->method));
        kvmig__json_add_str(entry, "reason", disk->reason);
        kvmig__json_add_u64(entry, "estimated_bytes", disk->estimate);
        kvmig__json_add_str(entry, "source_path", disk->source_path);
        kvmig__json_add_str(entry, "target_path", disk->target_path);
        json_object_array_add(disks, entry);
        sum = sum == KVMIG__UNKNOWN || disk->estimate == KVMIG__UNKNOWN ? KVMIG__UNKNOWN : sum + disk->estimate;
    }
    kvmig__json_add_u64(object, "estimated_disk_bytes", sum);
}

static void add_plan(struct json_object *root, const struct kvmig_plan *plan)
{
    struct json_object *object;

    if (!plan)
        return;
    kvmig__json_add_str(root, "vm", plan->vm);
    kvmig__json_add_str(root, "uuid", plan->uuid);
    kvmig__json_add_str(root, "source", plan->source);
    kvmig__json_add_str(root, "target", plan->target);
    object = add_object(root, "plan");
    kvmig__json_add_str(object, "verdict", kvmig_verdict_name(plan->verdict));
    kvmig__json_add_str(object, "target", plan->target);
    add_plan_disks(object, plan);
    json_object_object_add(object, "findings", kvmig__json_findings(&plan->findings));
}

static void add_phases(struct json_object *root, const struct kvmig__report *report, int64_t now_ms)
{
    struct json_object *phases = add_array(root, "phases");

    for (size_t i = 0; i < report->phases.n; i++) {
        const struct kvmig__report_phase *phase = &report->phases.v[i];
        struct json_object *entry = json_object_new_object();
        /* The terminal phase lasts no time. */
        int64_t end_ms = phase->left_ms ? phase->left_ms : report->ended_ms;

        kvmig__json_add_str(entry, "phase", kvmig_phase_name(phase->phase));
        kvmig__json_add_i64(entry, "begun_ms", phase->entered_ms - report->started_ms);
        add_span(entry, "duration_ms", phase->entered_ms, end_ms, now_ms);
        json_object_array_add(phases, entry);
    }
}

static void add_flags(struct json_object *root, const char *flags)
{
    struct json_object *array;

    if (!flags)
        return;
    array = add_array(root, "flags");
    while (*flags) {
        size_t n = strcspn(flags, "|");

        if (n)
            json_object_array_add(array, json_object_new_string_len(flags, (int)n));
        flags += n + (flags[n] == '|');
    }
}

static void add_figures(struct json_object *root, const struct kvmig__report *report)
{
    struct json_object *pause = add_object(root, "pause"), *memory = add_object(root, "memory");
    struct json_object *disk = add_object(root, "disk"), *job = add_object(root, "job");

    kvmig__json_add_u64(pause, "source_ms", report->pause_source_ms);
    kvmig__json_add_u64(pause, "total_ms", report->pause_total_ms);
    kvmig__json_add_u64(pause, "handover_wait_ms", report->handover_wait_ms);
    kvmig__json_add_u64(memory, "total", report->memory_total);
    kvmig__json_add_u64(memory, "sent", report->memory_sent);
    kvmig__json_add_u64(memory, "iterations", report->iterations);
    kvmig__json_add_u64(memory, "pages_normal", report->pages_normal);
    kvmig__json_add_u64(memory, "pages_constant", report->pages_constant);
    kvmig__json_add_u64(memory, "page_size", report->page_size);
    kvmig__json_add_u64(memory, "bandwidth_bytes_per_s", report->bandwidth_bytes_per_s);
    kvmig__json_add_u64(disk, "total", report->disk_total);
    kvmig__json_add_u64(disk, "sent", report->disk_sent);
    kvmig__json_add_u64(job, "total_ms", report->total_ms);
    kvmig__json_add_u64(job, "setup_ms", report->setup_ms);
}

static void add_created(struct json_object *root, const struct kvmig__report *report)
{
    struct json_object *created = add_array(root, "created");

    for (size_t i = 0; i < report->created.n; i++) {
        const struct kvmig__report_item *item = &report->created.v[i];
        struct json_object *entry = json_object_new_object();

        kvmig__json_add_str(entry, "kind", item->kind);
        kvmig__json_add_str(entry, "name", item->name);
        kvmig__json_add_str(entry, "host", item->host);
        kvmig__json_add_str(entry, "outcome", item->outcome);
        json_object_array_add(created, entry);
    }
}

static void add_cancel(struct json_object *root, const struct kvmig__report *report)
{
    struct json_object *cancel;

    if (!report->cancel_asked_ms)
        return;
    cancel = add_object(root, "cancel");
    kvmig__json_add_i64(cancel, "asked_ms", report->cancel_asked_ms - report->started_ms);
    kvmig__json_add_str(cancel, "result", kvmig_cancel_result_name(report->cancel_result));
    if (report->cancel_settled_ms)
        kvmig__json_add_i64(cancel, "settled_ms", report->cancel_settled_ms - report->cancel_asked_ms);
}

static void add_final(struct json_object *root, const struct kvmig__report *report)
{
    struct json_object *final = add_object(root, "final");

    kvmig__json_add_str(final, "host", report->final_host);
    kvmig__json_add_str(final, "verdict", report->final_verdict);
    kvmig__json_add_str(final, "proof", report->final_proof);
    kvmig__json_add_str(final, "node_hosts", report->final_hosts);
}

/* Of a migration that succeeded: of one that did not, it is not known whether it would have ended. */
static void add_measured(struct json_object *object, const struct kvmig__report *report)
{
    struct json_object *measured = add_object(object, "measured");
    uint64_t sent = report->memory_sent;

    kvmig__json_add_bool(measured, "converged", true);
    if (sent != KVMIG__UNKNOWN && report->disk_sent != KVMIG__UNKNOWN)
        sent += report->disk_sent;
    if (report->call_started_ms && report->call_ended_ms)
        kvmig__json_add_i64(measured, "total_ms", report->call_ended_ms - report->call_started_ms);
    kvmig__json_add_u64(measured, "pause_ms", report->pause_source_ms);
    kvmig__json_add_u64(measured, "sent_bytes", sent);
    kvmig__json_add_u64(measured, "rounds", report->iterations);
}

/* What was expected, beside what came of it. */
static void add_forecast(struct json_object *root, const struct kvmig__report *report, const struct kvmig_plan *plan,
                         int32_t phase)
{
    struct json_object *object, *predicted, *strategies, *mine = NULL;
    const int32_t strategy = !plan ? 0 : report->postcopy_used ? KVMIG_STRATEGY_POST_COPY : plan->forecast.planned;

    if (!plan || !plan->forecast.known)
        return;
    object = add_object(root, "forecast");
    predicted = kvmig__forecast_json(&plan->forecast);
    kvmig__json_add_str(object, "strategy", kvmig_strategy_name(strategy));
    if (json_object_object_get_ex(predicted, "strategies", &strategies) &&
        json_object_object_get_ex(strategies, kvmig_strategy_name(strategy), &mine))
        json_object_object_add(object, "predicted", json_object_get(mine));
    if (phase == KVMIG_PHASE_SUCCEEDED)
        add_measured(object, report);
    json_object_object_add(object, "plan", predicted);
}

struct json_object *kvmig__report_json(const struct kvmig__report *report, const struct kvmig_plan *plan,
                                       const char *session_id, int32_t phase, int64_t now_ms)
{
    struct json_object *root = json_object_new_object();

    kvmig__json_add_str(root, "session", session_id);
    kvmig__json_add_str(root, "phase", kvmig_phase_name(phase));
    if (kvmig_phase_is_terminal(phase))
        kvmig__json_add_str(root, "outcome", kvmig_phase_name(phase));
    if (report->started_wall_ms)
        kvmig__json_add_i64(root, "started_unix_ms", report->started_wall_ms);
    add_span(root, "total_ms", report->started_ms, report->ended_ms, now_ms);
    add_phases(root, report, now_ms);
    add_span(root, "call_ms", report->call_started_ms, report->call_ended_ms,
             report->ended_ms ? report->ended_ms : now_ms);
    kvmig__json_add_str(root, "transport", report->domain_job);
    add_flags(root, report->flags);
    add_figures(root, report);
    kvmig__json_add_bool(root, "postcopy_used", report->postcopy_used);
    add_created(root, report);
    json_object_object_add(root, "notices", kvmig__json_findings(&report->notices));
    if (report->error)
        json_object_object_add(root, "error", kvmig__json_error(report->error));
    add_cancel(root, report);
    add_final(root, report);
    add_plan(root, plan);
    add_forecast(root, report, plan, phase);
    return root;
}
