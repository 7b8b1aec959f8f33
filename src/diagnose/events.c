/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Events of a migration's job: what libvirt's life-cycle events and QEMU's states of the migration, in their order, prove. SUSPENDED
 * MIGRATED proves nothing; RESUMED MIGRATED is a success on the target and a failure on the source. Post-copy is judged side by side,
 * because only postcopy-active proves that a recovery has ended. Sources: libvirt's qemu_process.c, QEMU's migration/migration.c. Pure.
 */
#include "diagnose/diagnose.h"

#define SWITCH_S 60 /* KubeVirt gives up a switch after that; a normal one takes less than a second */

enum postcopy { NOT_BEGUN, ACTIVE, BROKEN, RECOVERING };
enum end { OPEN, SUCCEEDED, FAILED, CANCELLED };

struct side {
    enum postcopy postcopy;
    double stopped_s; /* at the switch; < 0 = not */
    double resumed_s;
    bool complete; /* it says that its part is done */
    bool paused; /* it could not be resumed */
    bool gone; /* the domain failed there */
    bool ran; /* it was resumed there */
};
struct seen {
    struct side source, target;
    enum end end;
    const struct kvmig__fact_job_event *last;
};

static bool is(const struct kvmig__fact_job_event *event, const char *name, const char *detail)
{
    return kvmig__str_eq(event->event, name) && kvmig__str_starts(event->detail ? event->detail : "", detail);
}

/* A new attempt: what was before it is over. */
static void begin_again(struct seen *seen)
{
    *seen =
        (struct seen){ .source = { .stopped_s = -1, .resumed_s = -1 }, .target = { .stopped_s = -1, .resumed_s = -1 } };
}

static void take_status(struct seen *seen, struct side *side, const char *status)
{
    if ((kvmig__str_eq(status, "setup") || kvmig__str_eq(status, "active")) && seen->end != OPEN)
        begin_again(seen);
    else if (kvmig__str_eq(status, "postcopy-active"))
        seen->source.postcopy = seen->target.postcopy = ACTIVE;
    else if (kvmig__str_eq(status, "postcopy-paused"))
        side->postcopy = BROKEN;
    else if (kvmig__str_starts(status, "postcopy-recover"))
        side->postcopy = RECOVERING;
    else if (kvmig__str_eq(status, "completed"))
        side->complete = true;
    else if (kvmig__str_eq(status, "failed"))
        seen->end = FAILED;
    else if (kvmig__str_eq(status, "cancelled"))
        seen->end = CANCELLED;
}

static void take_of_source(struct seen *seen, const struct kvmig__fact_job_event *event)
{
    struct side *side = &seen->source;

    if (is(event, "SUSPENDED", "POSTCOPY_FAILED")) {
        side->postcopy = BROKEN;
    } else if (is(event, "SUSPENDED", "POSTCOPY")) {
        side->postcopy = ACTIVE;
    } else if (is(event, "SUSPENDED", "API_ERROR")) {
        side->paused = true;
        if (seen->end != SUCCEEDED)
            seen->end = FAILED;
    } else if (is(event, "RESUMED", "MIGRATED") || is(event, "RESUMED", "UNPAUSED")) {
        if (side->stopped_s >= 0 && seen->end != SUCCEEDED)
            seen->end = FAILED;
    } else if (is(event, "STOPPED", "MIGRATED")) {
        seen->end = SUCCEEDED;
    }
    if (is(event, "SUSPENDED", "MIGRATED")) {
        if (seen->end != OPEN)
            begin_again(seen);
        seen->source.stopped_s = event->time_s >= 0 ? event->time_s : 0;
    } else if (is(event, "SUSPENDED", "POSTCOPY") && side->stopped_s < 0) {
        side->stopped_s = event->time_s >= 0 ? event->time_s : 0;
    }
}

static void take_of_target(struct seen *seen, const struct kvmig__fact_job_event *event)
{
    struct side *side = &seen->target;

    if (is(event, "SUSPENDED", "POSTCOPY_FAILED") || is(event, "RESUMED", "POSTCOPY_FAILED")) {
        side->postcopy = BROKEN;
    } else if (is(event, "RESUMED", "POSTCOPY")) {
        seen->source.postcopy = seen->target.postcopy = ACTIVE;
    } else if (is(event, "RESUMED", "MIGRATED")) {
        seen->end = SUCCEEDED;
    } else if (is(event, "STOPPED", "FAILED") || is(event, "STOPPED", "CRASHED")) {
        side->gone = true;
        if (seen->end == OPEN && side->postcopy == NOT_BEGUN)
            seen->end = FAILED;
    }
    if (kvmig__str_eq(event->event, "RESUMED")) {
        side->ran = true;
        if (side->resumed_s < 0)
            side->resumed_s = event->time_s;
    }
}

static void take(struct seen *seen, const struct kvmig__fact_job_event *event)
{
    const bool on_target = kvmig__str_eq(event->side, "target");

    if (event->status)
        take_status(seen, on_target ? &seen->target : &seen->source, event->status);
    else if (on_target)
        take_of_target(seen, event);
    else
        take_of_source(seen, event);
    if (seen->source.complete && seen->end == OPEN)
        seen->end = SUCCEEDED;
    seen->last = event;
}

/* ---- what that proves ---- */

static void point_of_no_return(struct kvmig__case *c, const struct kvmig__fact_job_event *event)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "source", event->file);
    kvmig__detail_uint(&detail, "line", event->line);
    kvmig__case_note(c, "POINT_OF_NO_RETURN", KVMIG_SEVERITY_WARN, kvmig__strdup(c->vm_object), &detail,
                     "Do not cancel and do not resume the source: the guest's newest state is on the target.",
                     "The guest has been switched to the target; the source cannot take over any more.");
}

static void judge_postcopy(struct kvmig__case *c, const struct seen *seen)
{
    const enum postcopy source = seen->source.postcopy, target = seen->target.postcopy;

    point_of_no_return(c, seen->last);
    if (source == RECOVERING || target == RECOVERING) {
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "POSTCOPY_RECOVERING",
                          "the link was lost in post-copy, and recovery has begun");
    } else if (source == BROKEN || target == BROKEN) {
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "POSTCOPY_FAILED",
                          "the link was lost in post-copy, and the guest is stopped on the target");
        kvmig__case_act(c, "POSTCOPY_RECOVER", kvmig__strdup(c->vm_object), NULL,
                        "Migrate again with POSTCOPY_RESUME once the hosts reach each other.");
    } else {
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "POSTCOPY_ACTIVE",
                          "the guest runs on the target and still fetches memory from the source");
    }
}

static void note_pause(struct kvmig__case *c, const struct seen *seen)
{
    const double ms = (seen->target.resumed_s - seen->source.stopped_s) * 1000;
    struct kvmig__detail detail = { 0 };

    if (seen->source.stopped_s < 0 || seen->target.resumed_s < 0 || ms < 1 || ms > 1e9 ||
        kvmig__findings_has(&c->findings, "GUEST_PAUSE"))
        return;
    kvmig__detail_uint(&detail, "ms", (uint64_t)(ms + 0.5));
    kvmig__detail_str(&detail, "source", seen->last->file);
    kvmig__case_note(c, "GUEST_PAUSE", KVMIG_SEVERITY_INFO, kvmig__strdup(c->vm_object), &detail, NULL,
                     "The guest was stopped for %.0f ms at the switch.", ms);
}

static void judge_open(struct kvmig__case *c, const struct seen *seen)
{
    const double stopped = seen->source.stopped_s, now = c->ask->events_now_s;

    if (stopped >= 0 && now > 0 && now - stopped >= SWITCH_S && !seen->target.ran)
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "UNDECIDED",
                          "the guest was stopped on the source long ago, and nothing tells that the target took it");
    else
        kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "the job's events show no end");
}

static void judge_failure(struct kvmig__case *c, const struct seen *seen)
{
    if (!seen->source.paused) {
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "the job's events end with the guest on the source");
        return;
    }
    kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED_SOURCE_PAUSED",
                      "the source could not be resumed after the migration had failed");
    if (seen->target.gone && !seen->target.ran)
        kvmig__case_act(c, "RESUME_SOURCE", kvmig__strdup(c->vm_object), NULL,
                        "Mend what kept it from resuming, then resume it: the target's copy has failed.");
}

void kvmig__diagnose_events(struct kvmig__case *c)
{
    struct seen seen;

    begin_again(&seen);
    for (size_t i = 0; i < c->facts->events.n; i++)
        take(&seen, &c->facts->events.v[i]);
    if (!seen.last)
        return;
    if (seen.end == SUCCEEDED) {
        kvmig__case_state(c, KVMIG__KNOWN_ENDED, "SUCCEEDED", "the job's events end with the guest on the target");
        note_pause(c, &seen);
    } else if (seen.source.postcopy != NOT_BEGUN || seen.target.postcopy != NOT_BEGUN) {
        judge_postcopy(c, &seen);
    } else if (seen.end == FAILED) {
        judge_failure(c, &seen);
    } else if (seen.end == CANCELLED) {
        kvmig__case_state(c, KVMIG__KNOWN_ENDED, "CANCELLED", "the job was cancelled; who asked is not told");
    } else {
        judge_open(c, &seen);
    }
}
