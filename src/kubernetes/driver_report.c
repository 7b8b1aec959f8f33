/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a session on KubeVirt adds to its report: the member `kubernetes`. Times are milliseconds since 1970; those
 * that the API wrote have whole seconds, those that end in _seen_ms are this process's clock. Reads the driver,
 * changes nothing. With the context lock held.
 */
#include "kubernetes/driver_internal.h"

#include <stdlib.h>

static void add_time(struct json_object *object, const char *key, int64_t ms)
{
    if (ms)
        kvmig__json_add_i64(object, key, ms);
}

static void add_migration(const struct kvmig__kube_driver *d, struct json_object *root)
{
    struct json_object *migration = kvmig__json_child(root, "migration");
    const struct kvmig__follow *f = &d->follow;

    kvmig__json_add_str(migration, "name", d->vmim);
    kvmig__json_add_str(migration, "uid", d->vmim_uid);
    kvmig__json_add_str(migration, "session", d->mark);
    kvmig__json_add_bool(migration, "attached", d->attached);
    kvmig__json_add_bool(migration, "resumed", d->resumed);
    kvmig__json_add_str(migration, "phase", f->stage ? kvmig__stage_name(f->stage) : NULL);
    kvmig__json_add_bool(migration, "gone", f->gone);
    kvmig__json_add_bool(migration, "controller_owned", f->controller_owned);
    kvmig__json_add_str(migration, "mode", kvmig_mode_name(f->mode));
    kvmig__json_add_str(migration, "verdict", f->verdict);
    kvmig__json_add_str(migration, "evidence", f->evidence);
    kvmig__json_add_str(migration, "abort_status", f->abort_status);
    kvmig__json_add_i64(migration, "target_pods", f->target_pods);
}

static void add_phases(const struct kvmig__kube_driver *d, struct json_object *root)
{
    struct json_object *phases = json_object_new_array();

    for (int32_t stage = KVMIG__STAGE_WAITING_FOR_SYNC; stage <= KVMIG__STAGE_FAILED; stage++) {
        struct json_object *entry;

        if (!d->phase_ms[stage] && !d->phase_seen_ms[stage])
            continue;
        entry = kvmig__json_new("phase", kvmig__stage_name(stage));
        add_time(entry, "entered_ms", d->phase_ms[stage]);
        add_time(entry, "entered_seen_ms", d->phase_seen_ms[stage]);
        json_object_array_add(phases, entry);
    }
    json_object_object_add(root, "phases", phases);
}

static void add_times(const struct kvmig__kube_driver *d, struct json_object *root)
{
    struct json_object *times = kvmig__json_child(root, "times");
    const struct kvmig__follow *f = &d->follow;

    add_time(times, "session_started_ms", kvmig__kube_report(d)->started_wall_ms);
    add_time(times, "copy_started_ms", f->start_ms);
    add_time(times, "domain_ready_ms", f->domain_ready_ms);
    add_time(times, "copy_ended_ms", f->end_ms);
    add_time(times, "node_flipped_seen_ms", f->node_flipped_seen_ms);
    add_time(times, "endpoints_moved_seen_ms", f->endpoints_moved_ms);
}

static void add_sides(const struct kvmig__kube_driver *d, struct json_object *root)
{
    const struct kvmig__follow *f = &d->follow;
    struct json_object *source = kvmig__json_child(root, "source"), *target = kvmig__json_child(root, "target");

    kvmig__json_add_str(source, "node", f->source_node);
    kvmig__json_add_str(source, "pod", f->source_pod);
    kvmig__json_add_str(source, "ip", f->source_ip);
    kvmig__json_add_str(target, "node", f->target_node);
    kvmig__json_add_str(target, "pod", f->target_pod);
    kvmig__json_add_str(target, "ip", f->target_ip);
    kvmig__json_add_str(target, "attachment_pod", f->attachment_pod);
    kvmig__json_add_str(target, "migration_address", f->target_address);
}

static void add_network(const struct kvmig__kube_driver *d, struct json_object *root)
{
    struct json_object *network = kvmig__json_child(root, "network");

    kvmig__json_add_str(network, "ip_before", d->ip_before);
    kvmig__json_add_str(network, "ip_after", d->ip_after);
    if (d->ip_before && d->ip_after)
        kvmig__json_add_bool(network, "ip_changed", !kvmig__str_eq(d->ip_before, d->ip_after));
    kvmig__json_add_str(network, "service", d->follow.service);
    if (d->follow.service || d->endpoints_late)
        kvmig__json_add_bool(network, "endpoints_moved", d->follow.endpoints_moved_ms != 0);
}

static void add_troubles(const struct kvmig__kube_driver *d, struct json_object *root)
{
    struct json_object *troubles = kvmig__json_child(root, "troubles");
    const struct kvmig__follow *f = &d->follow;

    kvmig__json_add_str(troubles, "unschedulable", f->unschedulable);
    kvmig__json_add_str(troubles, "image_pull", f->image_pull);
    kvmig__json_add_str(troubles, "pod_failure", f->pod_failure);
    kvmig__json_add_str(troubles, "quota", f->quota);
    kvmig__json_add_str(troubles, "event", f->event_failure);
    kvmig__json_add_str(troubles, "failure_reason", f->failure_reason);
}

static void add_options(const struct kvmig__kube_driver *d, struct json_object *root)
{
    const struct kvmig__kube_config *config = &d->follow.config;
    struct json_object *options;

    if (!d->following || !d->follow.handed_off)
        return;
    options = kvmig__json_child(root, "options");
    kvmig__json_add_u64(options, "bandwidth_bytes_per_s", config->bandwidth);
    kvmig__json_add_u64(options, "completion_s_per_gb", config->completion_s_per_gb);
    kvmig__json_add_u64(options, "progress_s", config->progress_s);
    if (config->auto_converge >= 0)
        kvmig__json_add_bool(options, "auto_converge", config->auto_converge != 0);
    if (config->post_copy >= 0)
        kvmig__json_add_bool(options, "post_copy", config->post_copy != 0);
    kvmig__json_add_str(options, "network", config->network);
}

static const char *volumes_state(int32_t state)
{
    switch (state) {
    case KVMIG__VOLUMES_AS_BEFORE:
        return "source";
    case KVMIG__VOLUMES_PATCHING:
        return "not known";
    default:
        return "destination";
    }
}

static void add_volumes(const struct kvmig__kube_driver *d, struct json_object *root)
{
    struct json_object *volumes, *list;

    if (!d->volumes.moves.n)
        return;
    volumes = kvmig__json_child(root, "volumes");
    kvmig__json_add_str(volumes, "vm_names", volumes_state(d->volumes.state));
    add_time(volumes, "destination_ready_ms", d->volumes.ready_ms);
    list = json_object_new_array();
    for (size_t i = 0; i < d->volumes.moves.n; i++) {
        struct json_object *entry = kvmig__json_new("volume", d->volumes.moves.v[i].volume);

        kvmig__json_add_str(entry, "source", d->volumes.moves.v[i].from);
        kvmig__json_add_str(entry, "destination", d->volumes.moves.v[i].to);
        json_object_array_add(list, entry);
    }
    json_object_object_add(volumes, "moves", list);
}

void kvmig__kube_write_report(struct kvmig__kube_driver *d, struct json_object *report)
{
    struct json_object *root = kvmig__json_child(report, "kubernetes");

    kvmig__json_add_str(root, "namespace", d->ns);
    kvmig__json_add_str(root, "vm", d->vmi);
    kvmig__json_add_str(root, "vmi_uid", d->vmi_uid);
    add_migration(d, root);
    add_phases(d, root);
    add_times(d, root);
    add_sides(d, root);
    add_network(d, root);
    add_troubles(d, root);
    add_options(d, root);
    add_volumes(d, root);
    kvmig__json_add_str(root, "temporary_policy", d->policy.name);
}
