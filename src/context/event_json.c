/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An event as one line of JSON, read through the public accessors. Any thread; the text belongs to the caller.
 */
#include "base/json_internal.h"

#include <errno.h>

#include <kvmig/event.h>
#include <kvmig/port.h>

/* Figures that are known; the struct marks others with UINT64_MAX. */
static void add_figures(struct json_object *object, const struct kvmig_progress *progress)
{
    kvmig__json_add_u64(object, "elapsed_ms", progress->elapsed_ms);
    kvmig__json_add_u64(object, "memory_total", progress->memory_total);
    kvmig__json_add_u64(object, "memory_sent", progress->memory_sent);
    kvmig__json_add_u64(object, "memory_remaining", progress->memory_remaining);
    kvmig__json_add_u64(object, "pages_normal", progress->pages_normal);
    kvmig__json_add_u64(object, "pages_constant", progress->pages_constant);
    kvmig__json_add_u64(object, "page_size", progress->page_size);
    kvmig__json_add_u64(object, "disk_total", progress->disk_total);
    kvmig__json_add_u64(object, "disk_sent", progress->disk_sent);
    kvmig__json_add_u64(object, "disk_remaining", progress->disk_remaining);
    kvmig__json_add_u64(object, "dirty_bytes_per_s", progress->dirty_bytes_per_s);
    kvmig__json_add_u64(object, "bandwidth_bytes_per_s", progress->bandwidth_bytes_per_s);
    kvmig__json_add_u64(object, "expected_pause_ms", progress->expected_pause_ms);
    kvmig__json_add_u64(object, "final_pause_ms", progress->final_pause_ms);
    kvmig__json_add_u64(object, "iteration", progress->iteration);
    kvmig__json_add_u64(object, "eta_ms", progress->eta_ms);
    kvmig__json_add_str(object, "eta_reason", kvmig_eta_reason_name(progress->eta_reason));
    kvmig__json_add_i64(object, "throttle_percent", progress->throttle_percent);
    kvmig__json_add_bool(object, "at_iteration_boundary", progress->at_iteration_boundary != 0);
}

static struct json_object *progress_object(const struct kvmig_progress *progress)
{
    struct json_object *object = json_object_new_object(), *disks = json_object_new_array();

    add_figures(object, progress);
    for (uint32_t i = 0; i < progress->n_disks; i++) {
        const struct kvmig_disk_progress *disk = progress->disks[i];
        struct json_object *entry = json_object_new_object();

        kvmig__json_add_str(entry, "target", disk->target);
        kvmig__json_add_u64(entry, "total", disk->total);
        kvmig__json_add_u64(entry, "done", disk->done);
        json_object_array_add(disks, entry);
    }
    json_object_object_add(object, "disks", disks);
    return object;
}

static void add_session(struct json_object *object, const struct kvmig_event *event)
{
    int32_t type = kvmig_event_type(event);

    kvmig__json_add_str(object, "session", kvmig_event_session_id(event));
    kvmig__json_add_str(object, "phase", kvmig_phase_name(kvmig_event_phase(event)));
    if (type == KVMIG_EVENT_PHASE || type == KVMIG_EVENT_END || type == KVMIG_EVENT_DRAIN_END)
        kvmig__json_add_str(object, "previous_phase", kvmig_phase_name(kvmig_event_previous_phase(event)));
    kvmig__json_add_str(object, "mode", kvmig_mode_name(kvmig_event_mode(event)));
    if (kvmig_event_queue_position(event))
        kvmig__json_add_u64(object, "queue_position", kvmig_event_queue_position(event));
    kvmig__json_add_str(object, "cancel_result", kvmig_cancel_result_name(kvmig_event_cancel_result(event)));
}

int32_t kvmig_event_to_json(const struct kvmig_event *event, char **out_json)
{
    struct json_object *object;

    if (out_json)
        *out_json = NULL;
    if (!event || !out_json)
        return kvmig__fail(kvmig__error_new(EINVAL, event ? "out_json" : "event", NULL, NULL,
                                            "kvmig_event_to_json needs an event and a place for the text."));
    object = json_object_new_object();
    kvmig__json_add_str(object, "type", kvmig_event_type_name(kvmig_event_type(event)));
    kvmig__json_add_i64(object, "time_ms", kvmig_event_time(event));
    kvmig__json_add_str(object, "host", kvmig_event_host(event));
    kvmig__json_add_str(object, "vm", kvmig_event_vm(event));
    if (kvmig_event_session_id(event))
        add_session(object, event);
    if (kvmig_event_port(event)) {
        kvmig__json_add_str(object, "port", kvmig_event_port(event));
        kvmig__json_add_str(object, "port_state", kvmig_port_state_name(kvmig_event_port_state(event)));
    }
    if (kvmig_event_migration(event)) {
        kvmig__json_add_str(object, "migration", kvmig_event_migration(event));
        kvmig__json_add_str(object, "phase", kvmig_phase_name(kvmig_event_phase(event)));
    }
    if (kvmig_event_token(event))
        json_object_object_add(object, "token", json_tokener_parse(kvmig_event_token(event)));
    if (kvmig_event_error(event))
        json_object_object_add(object, "error", kvmig__json_error(kvmig_event_error(event)));
    if (kvmig_event_finding(event))
        json_object_object_add(object, "finding", kvmig__json_finding(kvmig_event_finding(event)));
    if (kvmig_event_progress(event))
        json_object_object_add(object, "progress", progress_object(kvmig_event_progress(event)));
    *out_json = kvmig__json_take_string(object);
    return 0;
}
