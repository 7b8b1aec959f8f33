/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A finished plan as JSON. Knows json-c, unlike most of the planner; it reads the plan and decides nothing. Any thread.
 * Domain XML that the caller gave is not repeated: it may hold passwords.
 */
#include "base/json_internal.h"
#include "plan/kube_lazy.h"
#include "plan/plan_internal.h"

#include <errno.h>

static struct json_object *flags_to_json(uint64_t flags)
{
    static const struct {
        uint64_t flag;
        const char *name;
    } names[] = {
        { KVMIG_PLAN_MANAGED, "MANAGED" },
        { KVMIG_PLAN_UNSAFE, "UNSAFE" },
        { KVMIG_PLAN_AUTO_CONVERGE, "AUTO_CONVERGE" },
        { KVMIG_PLAN_ALLOW_POSTCOPY, "ALLOW_POSTCOPY" },
        { KVMIG_PLAN_POSTCOPY_AFTER_PRECOPY, "POSTCOPY_AFTER_PRECOPY" },
        { KVMIG_PLAN_TLS, "TLS" },
        { KVMIG_PLAN_TRANSIENT_TARGET, "TRANSIENT_TARGET" },
        { KVMIG_PLAN_KEEP_SOURCE_DEFINITION, "KEEP_SOURCE_DEFINITION" },
        { KVMIG_PLAN_ABORT_ON_IO_ERROR, "ABORT_ON_IO_ERROR" },
        { KVMIG_PLAN_ANY_TARGET, "ANY_TARGET" },
        { KVMIG_PLAN_FOR_DRAIN, "FOR_DRAIN" },
    };
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(names); i++) {
        if (flags & names[i].flag)
            json_object_array_add(array, json_object_new_string(names[i].name));
    }
    return array;
}

/* Zero is the default of every number, and says nothing. */
static void add_asked(struct json_object *object, const char *key, uint64_t number)
{
    if (number)
        kvmig__json_add_u64(object, key, number);
}

static struct json_object *changes_to_json(const struct kvmig__request *request)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < request->volume_changes.n; i++) {
        struct json_object *object = json_object_new_object();

        kvmig__json_add_str(object, "volume", request->volume_changes.v[i].volume);
        kvmig__json_add_str(object, "claim", request->volume_changes.v[i].claim);
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *request_to_json(const struct kvmig__request *request)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "vm", request->vm);
    kvmig__json_add_str(object, "source", request->source);
    kvmig__json_add_str(object, "target", request->target);
    json_object_object_add(object, "flags", flags_to_json(request->flags));
    kvmig__json_add_str(object, "copy", kvmig_copy_name(request->copy));
    kvmig__json_add_str(object, "handover", kvmig_handover_name(request->handover));
    if (request->copy_disks.n)
        json_object_object_add(object, "copy_disks", kvmig__json_strlist(&request->copy_disks));
    if (request->volume_changes.n)
        json_object_object_add(object, "volume_changes", changes_to_json(request));
    if (request->exclude.n)
        json_object_object_add(object, "exclude", kvmig__json_strlist(&request->exclude));
    if (request->target_labels.n)
        json_object_object_add(object, "target_labels", kvmig__json_strlist(&request->target_labels));
    kvmig__json_add_str(object, "target_pool", request->target_pool);
    add_asked(object, "bandwidth_mib", request->bandwidth_mib);
    add_asked(object, "postcopy_bandwidth_mib", request->postcopy_bandwidth_mib);
    add_asked(object, "max_downtime_ms", request->max_downtime_ms);
    add_asked(object, "parallel_connections", request->parallel_connections);
    add_asked(object, "auto_converge_initial", request->auto_converge_initial);
    add_asked(object, "auto_converge_increment", request->auto_converge_increment);
    kvmig__json_add_str(object, "compression", request->compression);
    if (request->compression_level)
        kvmig__json_add_i64(object, "compression_level", request->compression_level);
    kvmig__json_add_str(object, "tls_destination", request->tls_destination);
    kvmig__json_add_str(object, "target_uri", request->target_uri);
    kvmig__json_add_str(object, "migrate_uri", request->migrate_uri);
    kvmig__json_add_str(object, "target_name", request->target_name);
    kvmig__json_add_bool(object, "target_xml", request->target_xml != NULL);
    kvmig__json_add_bool(object, "persistent_xml", request->persistent_xml != NULL);
    return object;
}

static struct json_object *disk_to_json(const struct kvmig__disk_plan *disk)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "target", disk->target);
    kvmig__json_add_str(object, "method", kvmig_disk_method_name(disk->method));
    kvmig__json_add_str(object, "reason", disk->reason);
    kvmig__json_add_str(object, "source_path", disk->source_path);
    kvmig__json_add_str(object, "format", disk->format);
    kvmig__json_add_u64(object, "capacity", disk->capacity);
    kvmig__json_add_u64(object, "estimate", disk->estimate);
    kvmig__json_add_str(object, "pool", disk->pool);
    kvmig__json_add_str(object, "volume", disk->volume);
    kvmig__json_add_str(object, "target_path", disk->target_path);
    kvmig__json_add_bool(object, "create", disk->create);
    kvmig__json_add_str(object, "backing_path", disk->backing_path);
    kvmig__json_add_str(object, "backing_format", disk->backing_format);
    return object;
}

static struct json_object *disks_to_json(const struct kvmig__disk_plan *disks, size_t n)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < n; i++)
        json_object_array_add(array, disk_to_json(&disks[i]));
    return array;
}

/* What it is ordered by; what is not known is left out. */
static void add_reasons(struct json_object *object, const struct kvmig__candidate *candidate)
{
    struct json_object *reasons = json_object_new_object();

    for (int32_t reason = KVMIG__REASON_BLOCKERS; reason < KVMIG__REASON_NAME; reason++) {
        uint64_t value = kvmig__rank_value(&candidate->rank, (enum kvmig__reason)reason);

        if (value != KVMIG__UNKNOWN)
            kvmig__json_add_u64(reasons, kvmig__reason_name((enum kvmig__reason)reason), value);
    }
    json_object_object_add(object, "reasons", reasons);
    if (!candidate->better)
        return;
    kvmig__json_add_str(object, "better_by", kvmig__reason_name(candidate->better_by));
    kvmig__json_add_str(object, "better", candidate->better);
}

static struct json_object *candidates_to_json(const struct kvmig_plan *plan)
{
    const struct kvmig__candidates *candidates = kvmig__plan_candidates(plan);
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < candidates->n; i++) {
        const struct kvmig__candidate *candidate = &candidates->v[i];
        struct json_object *object = json_object_new_object();

        kvmig__json_add_str(object, "node", candidate->host);
        kvmig__json_add_str(object, "verdict", kvmig_verdict_name(candidate->verdict));
        add_reasons(object, candidate);
        json_object_object_add(object, "findings", kvmig__json_findings(&candidate->findings));
        json_object_object_add(object, "disks", disks_to_json(candidate->disks.v, candidate->disks.n));
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *remedies_to_json(const struct kvmig_plan *plan)
{
    const struct kvmig__remedies *remedies = kvmig__plan_remedies(plan);
    struct json_object *object = json_object_new_object(), *changes = json_object_new_array();

    kvmig__json_add_str(object, "target", remedies->target);
    kvmig__json_add_bool(object, "possible", remedies->possible);
    for (size_t i = 0; i < remedies->changes.n; i++) {
        const struct kvmig_finding *finding = &remedies->changes.v[i];
        struct json_object *change = json_object_new_object();

        kvmig__json_add_str(change, "kind", kvmig_mend_name(kvmig__finding_mend(finding)));
        kvmig__json_add_str(change, "code", finding->code);
        kvmig__json_add_str(change, "object", finding->object);
        kvmig__json_add_str(change, "host", finding->host);
        kvmig__json_add_str(change, "hint", finding->hint);
        json_object_array_add(changes, change);
    }
    json_object_object_add(object, "changes", changes);
    return object;
}

/* All but the candidates. */
static struct json_object *plan_to_json(const struct kvmig_plan *plan)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "vm", plan->vm);
    kvmig__json_add_str(object, "uuid", plan->uuid);
    kvmig__json_add_str(object, "source", plan->source);
    json_object_object_add(object, "target", NULL); /* null: there is none */
    kvmig__json_add_str(object, "target", plan->target);
    kvmig__json_add_str(object, "verdict", kvmig_verdict_name(plan->verdict));
    kvmig__json_add_bool(object, "persistent", plan->persistent);
    kvmig__json_add_bool(object, "was_paused", plan->was_paused);
    json_object_object_add(object, "findings", kvmig__json_findings(&plan->findings));
    json_object_object_add(object, "disks", disks_to_json(plan->disks.v, plan->disks.n));
    return object;
}

static struct json_object *counts_to_json(const struct kvmig_plan *plan)
{
    size_t counts[KVMIG_VERDICT_SOURCE + 1] = { 0 };
    struct json_object *object = json_object_new_object();

    if (plan->lazy)
        kvmig__kube_lazy_count(plan->lazy, counts);
    for (size_t i = 0; !plan->lazy && i < plan->candidates.n; i++)
        counts[plan->candidates.v[i].verdict]++;
    for (int32_t verdict = KVMIG_VERDICT_MIGRATABLE; verdict <= KVMIG_VERDICT_BLOCKED; verdict++)
        kvmig__json_add_u64(object, kvmig_verdict_name(verdict), counts[verdict]);
    return object;
}

static int32_t fail_null(const char *where, const struct kvmig_plan *plan)
{
    return kvmig__fail(kvmig__error_new(EINVAL, where, NULL, NULL, "%s is NULL.", plan ? "out_json" : "plan"));
}

int32_t kvmig_plan_to_json(const struct kvmig_plan *plan, char **out_json)
{
    struct json_object *object;

    if (!plan || !out_json)
        return fail_null("kvmig_plan_to_json", plan);
    object = plan_to_json(plan);
    json_object_object_add(object, "candidates", candidates_to_json(plan));
    if (plan->forecast.known)
        json_object_object_add(object, "forecast", kvmig__forecast_json(&plan->forecast));
    if (plan->verdict == KVMIG_VERDICT_BLOCKED)
        json_object_object_add(object, "remedies", remedies_to_json(plan));
    json_object_object_add(object, "request", request_to_json(&plan->request));
    *out_json = kvmig__json_take_string(object);
    return 0;
}

int32_t kvmig_plan_summary_to_json(const struct kvmig_plan *plan, char **out_json)
{
    struct json_object *object;

    if (!plan || !out_json)
        return fail_null("kvmig_plan_summary_to_json", plan);
    object = plan_to_json(plan);
    json_object_object_add(object, "candidates_by_verdict", counts_to_json(plan));
    *out_json = kvmig__json_take_string(object);
    return 0;
}
