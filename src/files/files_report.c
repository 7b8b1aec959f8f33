/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * kvmig's own report of a migration (`kvmig migrate --report`, kvmig_session_report()) or of a port (`kvmig port --json`,
 * kvmig_port_to_json()) as a fact. What is no text where a text belongs is passed over. Any thread; a loading belongs to one.
 */
#include "files/files_internal.h"

#include <string.h>

/* A session, its phases, and where the guest was proven to be at the end: nothing else has these. */
static bool is_report(struct json_object *json)
{
    return json_object_is_type(kvmig__files_member(json, "session"), json_type_string) &&
           json_object_is_type(kvmig__files_member(json, "phases"), json_type_array) &&
           json_object_is_type(kvmig__files_member(json, "final"), json_type_object);
}

static void take_error(struct json_object *json, struct kvmig__fact_error *out)
{
    kvmig__files_str(json, "name", &out->name);
    kvmig__files_str(json, "message", &out->message);
    kvmig__files_str(json, "where", &out->where);
    kvmig__files_str(json, "evidence", &out->evidence);
}

static void take_notices(struct json_object *json, struct kvmig__fact_report *report)
{
    struct json_object *notices = kvmig__files_list(json, "notices");

    for (size_t i = 0; i < kvmig__files_count(notices); i++) {
        struct json_object *from = json_object_array_get_idx(notices, i);
        struct kvmig__fact_notice *notice = KVMIG__PUSH(&report->notices);

        kvmig__files_str(from, "code", &notice->code);
        kvmig__files_str(from, "severity", &notice->severity);
        kvmig__files_str(from, "object", &notice->object);
        kvmig__files_str(from, "message", &notice->message);
        kvmig__files_str(kvmig__files_member(from, "detail"), "evidence", &notice->evidence);
    }
}

bool kvmig__files_report(struct kvmig__files_load *load, struct json_object *json)
{
    struct kvmig__facts *facts = load->files->facts;
    struct json_object *final = kvmig__files_member(json, "final");
    struct json_object *started = kvmig__files_member(json, "started_unix_ms");
    struct kvmig__fact_report *report;

    if (!is_report(json))
        return false;
    if (facts->reports.n >= KVMIG__FILES_ITEMS)
        return true;
    report = KVMIG__PUSH(&facts->reports);
    report->file = kvmig__strdup(load->base.name);
    report->started_ms = json_object_is_type(started, json_type_int) ? json_object_get_int64(started) : 0;
    kvmig__files_str(json, "vm", &report->vm);
    kvmig__files_str(json, "uuid", &report->uuid);
    kvmig__files_str(json, "source", &report->source);
    kvmig__files_str(json, "target", &report->target);
    kvmig__files_str(json, "outcome", &report->outcome);
    take_error(kvmig__files_member(json, "error"), &report->error);
    kvmig__files_str(final, "verdict", &report->proven);
    kvmig__files_str(final, "host", &report->host);
    take_notices(json, report);
    return true;
}

/* ---- of a port ---- */

/* Its backend, its state and its own timeline; the ports within the report of a migration have them too, but no file of their own. */
static bool is_port_report(struct json_object *json)
{
    return json_object_is_type(kvmig__files_member(json, "kind"), json_type_string) &&
           json_object_is_type(kvmig__files_member(json, "state"), json_type_string) &&
           json_object_is_type(kvmig__files_member(json, "timeline"), json_type_array);
}

/* What stands against the port now: a failed operation; or one that left the port's state alone, as long as nothing came after it. */
static struct json_object *port_error(struct json_object *json)
{
    struct json_object *error = kvmig__files_member(json, "error"), *timeline = kvmig__files_list(json, "timeline");
    const size_t n = kvmig__files_count(timeline);
    struct json_object *last = n ? json_object_array_get_idx(timeline, n - 1) : NULL;
    struct json_object *what = kvmig__files_member(last, "what");

    if (error || !json_object_is_type(what, json_type_string) || strcmp(json_object_get_string(what), "error") != 0)
        return error;
    return kvmig__files_member(last, "detail");
}

bool kvmig__files_port_report(struct kvmig__files_load *load, struct json_object *json)
{
    struct kvmig__facts *facts = load->files->facts;
    struct kvmig__fact_port_report *report;

    if (!is_port_report(json))
        return false;
    if (facts->port_reports.n >= KVMIG__FILES_ITEMS)
        return true;
    report = KVMIG__PUSH(&facts->port_reports);
    report->file = kvmig__strdup(load->base.name);
    kvmig__files_str(json, "name", &report->name);
    kvmig__files_str(json, "state", &report->state);
    take_error(port_error(json), &report->error);
    return true;
}
