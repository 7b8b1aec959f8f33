/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A finished explanation as JSON. Reads it and decides nothing; what is not known is left out. Any thread; the text is the
 * caller's.
 */
#include "session/explain.h"

#include "base/json_internal.h"

#include <errno.h>

/* 0 is "not known", and says nothing. */
static void add_time(struct json_object *object, const char *key, int64_t ms)
{
    if (ms)
        kvmig__json_add_i64(object, key, ms);
}

static struct json_object *wait_to_json(const struct kvmig_wait *wait)
{
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "code", wait->code);
    kvmig__json_add_str(object, "severity", kvmig_severity_name(wait->severity));
    kvmig__json_add_i64(object, "depth", wait->depth);
    kvmig__json_add_str(object, "object", wait->object);
    kvmig__json_add_str(object, "waits_for", wait->waits_for);
    kvmig__json_add_str(object, "condition", wait->condition);
    kvmig__json_add_str(object, "evidence", wait->evidence);
    add_time(object, "since_ms", wait->since_ms);
    kvmig__json_add_str(object, "limit", wait->limit);
    add_time(object, "ends_ms", wait->ends_ms);
    kvmig__json_add_str(object, "hint", wait->hint);
    return object;
}

int32_t kvmig_explanation_to_json(const struct kvmig_explanation *explanation, char **out_json)
{
    struct json_object *root, *waits;

    if (out_json)
        *out_json = NULL;
    if (!explanation || !out_json)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_explanation_to_json", NULL, NULL, "%s is NULL.",
                                            explanation ? "out_json" : "explanation"));
    root = json_object_new_object();
    waits = json_object_new_array();
    kvmig__json_add_str(root, "verdict", kvmig_explanation_verdict(explanation));
    kvmig__json_add_str(root, "summary", kvmig_explanation_summary(explanation));
    for (size_t i = 0; i < kvmig_explanation_count(explanation); i++)
        json_object_array_add(waits, wait_to_json(kvmig_explanation_wait(explanation, i)));
    json_object_object_add(root, "waits", waits);
    *out_json = kvmig__json_take_string(root);
    return 0;
}
