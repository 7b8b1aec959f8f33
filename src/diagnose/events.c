/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Events of a migration's job: what libvirt's life-cycle events and QEMU's states of the migration, in their order, prove. Post-copy has
 * begun once the target says so, not when the source stops. Sources: libvirt's qemu_process.c, QEMU's migration/migration.c. Pure.
 */
#include "diagnose/diagnose.h"

struct seen {
    bool source_postcopy, target_postcopy, failed, recovering, completed, stopped;
    const struct kvmig__fact_job_event *last; /* which decided */
};

static bool is(const struct kvmig__fact_job_event *event, const char *name, const char *detail)
{
    return kvmig__str_eq(event->event, name) && (!detail || kvmig__str_eq(event->detail, detail));
}

static void take_status(struct seen *seen, const char *status)
{
    if (kvmig__str_eq(status, "postcopy-active")) {
        seen->source_postcopy = seen->target_postcopy = true;
        seen->failed = seen->recovering = false;
    } else if (kvmig__str_eq(status, "postcopy-paused")) {
        seen->failed = true;
        seen->recovering = false;
    } else if (kvmig__str_starts(status ? status : "", "postcopy-recover")) {
        seen->recovering = true;
    } else if (kvmig__str_eq(status, "completed")) {
        seen->completed = true;
        seen->failed = seen->recovering = false;
    }
}

static void take(struct seen *seen, const struct kvmig__fact_job_event *event)
{
    const bool on_target = kvmig__str_eq(event->side, "target");

    seen->last = event;
    take_status(seen, event->status);
    if (is(event, "SUSPENDED", "POSTCOPY_FAILED")) {
        seen->failed = true;
        seen->recovering = false;
    } else if (is(event, "SUSPENDED", "POSTCOPY") && !on_target) {
        seen->source_postcopy = true;
    } else if (is(event, "RESUMED", "POSTCOPY") && on_target) {
        seen->target_postcopy = true;
        seen->failed = seen->recovering = false;
    } else if (is(event, "RESUMED", "MIGRATED") && on_target) {
        seen->completed = true;
        seen->failed = seen->recovering = false;
    } else if (is(event, "STOPPED", "MIGRATED") && !on_target) {
        seen->completed = true;
    }
    seen->stopped = seen->stopped || is(event, "SUSPENDED", "MIGRATED");
}

static void point_of_no_return(struct kvmig__case *c, const struct kvmig__fact_job_event *event)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "source", event->file);
    kvmig__detail_uint(&detail, "line", event->line);
    kvmig__case_note(c, "POINT_OF_NO_RETURN", KVMIG_SEVERITY_WARN, kvmig__strdup(c->vm_object), &detail,
                     "Do not cancel and do not resume the source: the guest's newest state is on the target.",
                     "The guest has been switched to the target; the source cannot take over any more.");
}

void kvmig__diagnose_events(struct kvmig__case *c)
{
    struct seen seen = { .last = NULL };

    for (size_t i = 0; i < c->facts->events.n; i++)
        take(&seen, &c->facts->events.v[i]);
    if (!seen.last)
        return;
    if (seen.source_postcopy || seen.target_postcopy)
        point_of_no_return(c, seen.last);
    if (seen.failed && !seen.recovering) {
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "POSTCOPY_FAILED",
                          "the link was lost in post-copy, and the guest is stopped on the target");
        kvmig__case_act(c, "POSTCOPY_RECOVER", kvmig__strdup(c->vm_object), NULL,
                        "Migrate again with POSTCOPY_RESUME once the hosts reach each other.");
    } else if (seen.recovering) {
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "POSTCOPY_RECOVERING",
                          "the link was lost in post-copy, and recovery has begun");
    } else if (seen.completed) {
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "SUCCEEDED", "the job's events end with the guest on the target");
    } else if (seen.source_postcopy || seen.target_postcopy) {
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "POSTCOPY_ACTIVE",
                          "the guest runs on the target and still fetches memory from the source");
    } else {
        kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "the job's events show no end");
    }
}
