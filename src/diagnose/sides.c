/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The outcome from what both sides show, by the table of the state resolver (session/resolver.c judges live hosts; here texts are read,
 * and a side may not have been looked at). Never advises to start, resume or destroy a copy unless the other side is proven to hold none
 * that runs. Pure.
 */
#include "diagnose/diagnose.h"

#include <string.h>

enum side {
    SIDE_UNKNOWN,
    SIDE_UNREACHABLE,
    SIDE_ABSENT,
    SIDE_RUNNING,
    SIDE_MIGRATING,
    SIDE_POSTCOPY,
    SIDE_POSTCOPY_FAILED,
    SIDE_IO_ERROR,
    SIDE_PAUSED,
    SIDE_ENDED
};

static bool says(const char *state, const char *reason, const char *word)
{
    return (state && strstr(state, word)) || (reason && strstr(reason, word));
}

/* state may hold the reason, as virsh prints it: "paused (migrating)". */
static enum side side_of(const char *state, const char *reason)
{
    if (!state)
        return SIDE_UNKNOWN;
    if (kvmig__str_starts(state, "unreachable"))
        return SIDE_UNREACHABLE;
    if (kvmig__str_starts(state, "absent"))
        return SIDE_ABSENT;
    if (kvmig__str_starts(state, "shut off") || kvmig__str_starts(state, "shutoff") ||
        kvmig__str_starts(state, "crashed"))
        return SIDE_ENDED;
    if (says(state, reason, "post-copy failed"))
        return SIDE_POSTCOPY_FAILED;
    if (says(state, reason, "post-copy"))
        return SIDE_POSTCOPY;
    if (kvmig__str_starts(state, "running") || kvmig__str_starts(state, "blocked"))
        return SIDE_RUNNING;
    if (says(state, reason, "migrat"))
        return SIDE_MIGRATING;
    if (says(state, reason, "I/O error"))
        return SIDE_IO_ERROR;
    return kvmig__str_starts(state, "paused") ? SIDE_PAUSED : SIDE_UNKNOWN;
}

struct sides {
    enum side source, target;
    bool job; /* one is said to run */
    bool no_job; /* none is said to */
};

static enum side from_facts(const struct kvmig__case *c, const char *side)
{
    for (size_t i = 0; i < c->facts->states.n; i++)
        if (kvmig__str_eq(c->facts->states.v[i].side, side))
            return side_of(c->facts->states.v[i].state, c->facts->states.v[i].reason);
    return SIDE_UNKNOWN;
}

static void look(const struct kvmig__case *c, struct sides *out)
{
    const char *job = c->ask->job;

    out->source = c->ask->source_state ? side_of(c->ask->source_state, NULL) : from_facts(c, "source");
    out->target = c->ask->target_state ? side_of(c->ask->target_state, NULL) : from_facts(c, "target");
    for (size_t i = 0; i < c->facts->jobs.n && !job; i++)
        if (!c->facts->jobs.v[i].incoming)
            job = c->facts->jobs.v[i].type;
    out->job = kvmig__str_eq(job, "Bounded") || kvmig__str_eq(job, "Unbounded");
    out->no_job = job && !out->job && !kvmig__str_eq(job, "unknown");
}

static bool holds_none(enum side side)
{
    return side == SIDE_ABSENT || side == SIDE_ENDED;
}

static void target_runs(struct kvmig__case *c, const struct sides *sides)
{
    if (sides->source == SIDE_RUNNING) {
        if (sides->job)
            kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "the job is in the middle of its switch");
        else
            kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "SPLIT_BRAIN",
                              "both sides run the guest, and no job explains it");
        return;
    }
    if (sides->source == SIDE_POSTCOPY || sides->target == SIDE_POSTCOPY) {
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "POSTCOPY_ACTIVE",
                          "the guest runs on the target and still fetches memory from the source");
        return;
    }
    if (c->ask->migrate_rc < 0 || c->strength >= KVMIG__KNOWN_TOLD)
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN,
                          c->ask->migrate_rc > 0 || kvmig__str_eq(c->state, "SUCCEEDED") ? "SUCCEEDED"
                                                                                         : "SUCCEEDED_UNREPORTED",
                          "the guest runs on the target");
    else
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "SUCCEEDED", "the guest runs on the target");
}

/* The source is paused by the migration, and the copy on the target does not run. */
static void source_stands(struct kvmig__case *c, const struct sides *sides)
{
    if (sides->job) {
        kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "the job is at its switch");
        return;
    }
    if (sides->target == SIDE_UNREACHABLE || sides->target == SIDE_UNKNOWN) {
        kvmig__case_state(
            c, KVMIG__KNOWN_PROVEN, "UNDECIDED",
            "the source is paused by the migration, and it is not known whether the target runs the guest");
        return;
    }
    kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "FAILED_SOURCE_PAUSED",
                      "the migration left the guest paused on the source, and the target does not run it");
    if (!holds_none(sides->target))
        kvmig__case_act(c, "DESTROY_TARGET", kvmig__strdup(c->vm_object), NULL,
                        "Destroy the target's copy, which never ran, before the source is resumed.");
    kvmig__case_act(c, "RESUME_SOURCE", kvmig__strdup(c->vm_object), NULL,
                    "Resume the guest on the source: the target is proven to hold no running copy.");
}

static void source_runs(struct kvmig__case *c, const struct sides *sides)
{
    if (sides->job)
        kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "the source runs the guest, and its job goes on");
    else if (c->ask->migrate_rc < 0 || c->strength >= KVMIG__KNOWN_TOLD || sides->no_job)
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "the guest goes on running on the source");
    if (!sides->job && (sides->target == SIDE_MIGRATING || sides->target == SIDE_PAUSED) && sides->no_job)
        kvmig__case_act(c, "DESTROY_TARGET", kvmig__strdup(c->vm_object), NULL,
                        "Destroy the target's copy, which never ran: the source runs the guest.");
}

void kvmig__diagnose_sides(struct kvmig__case *c)
{
    struct sides sides = { SIDE_UNKNOWN, SIDE_UNKNOWN, false, false };

    look(c, &sides);
    if (sides.source == SIDE_UNKNOWN && sides.target == SIDE_UNKNOWN)
        return;
    if (sides.target == SIDE_POSTCOPY_FAILED)
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "POSTCOPY_FAILED",
                          "the link was lost in post-copy, and the guest is stopped on the target");
    else if (sides.target == SIDE_RUNNING || sides.target == SIDE_POSTCOPY)
        target_runs(c, &sides);
    else if (sides.source == SIDE_MIGRATING)
        source_stands(c, &sides);
    else if (sides.source == SIDE_RUNNING)
        source_runs(c, &sides);
    else if (holds_none(sides.source) && holds_none(sides.target))
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "VM_LOST", "neither side has the guest");
    else if (sides.source == SIDE_UNREACHABLE || sides.target == SIDE_UNREACHABLE)
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "UNDECIDED",
                          "a side could not be asked, and the other proves nothing");
}
