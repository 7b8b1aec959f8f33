/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The outcome from what both sides show, by the table of the state resolver (session/resolver.c judges live hosts; here texts are read,
 * and a side may not have been looked at). Never advises to start, resume or destroy a copy unless the other side is proven to hold none
 * that runs. Pure.
 */
#include "diagnose/diagnose.h"

#include <string.h>

enum side {
    SIDE_UNKNOWN, /* nobody looked */
    SIDE_UNREACHABLE,
    SIDE_ABSENT,
    SIDE_ENDED, /* shut off, and it is not told that it has run */
    SIDE_STOPPED, /* shut off by the guest or by somebody */
    SIDE_LEFT, /* shut off because it went elsewhere: it was migrated, or saved */
    SIDE_CRASHED,
    SIDE_RUNNING,
    SIDE_MIGRATING, /* paused by the migration, or not started yet */
    SIDE_POSTCOPY,
    SIDE_POSTCOPY_FAILED,
    SIDE_API_ERROR, /* paused, because it could not be resumed after a failed migration */
    SIDE_IO_ERROR,
    SIDE_USER, /* paused by somebody, or by a migration that was told to leave it so */
    SIDE_PAUSED, /* it is not told why */
};

static bool says(const char *state, const char *reason, const char *word)
{
    return (state && strcasestr(state, word)) || (reason && strcasestr(reason, word)); /* virsh: "api error" */
}

static enum side side_of_paused(const char *state, const char *reason)
{
    static const struct {
        const char *word;
        enum side side;
    } words[] = { { "migrat", SIDE_MIGRATING },
                  { "starting up", SIDE_MIGRATING },
                  { "API error", SIDE_API_ERROR },
                  { "I/O error", SIDE_IO_ERROR },
                  { "user", SIDE_USER } };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(words); i++)
        if (says(state, reason, words[i].word))
            return words[i].side;
    return SIDE_PAUSED;
}

static enum side side_of_off(const char *state, const char *reason)
{
    if (says(state, reason, "panicked") || says(state, NULL, "(shutdown") ||
        (reason && kvmig__str_starts(reason, "shutdown")))
        return SIDE_STOPPED;
    if (says(state, reason, "migrated") || says(state, reason, "saved"))
        return SIDE_LEFT;
    return kvmig__str_starts(state, "crashed") ? SIDE_CRASHED : SIDE_ENDED;
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
        return side_of_off(state, reason);
    if (says(state, reason, "post-copy failed"))
        return SIDE_POSTCOPY_FAILED;
    if (says(state, reason, "post-copy"))
        return SIDE_POSTCOPY;
    if (kvmig__str_starts(state, "running") || kvmig__str_starts(state, "idle") || kvmig__str_starts(state, "blocked"))
        return SIDE_RUNNING;
    return kvmig__str_starts(state, "paused") ? side_of_paused(state, reason) : SIDE_UNKNOWN;
}

struct sides {
    enum side source, target;
    bool target_migrated; /* it is told that it came by a migration */
    bool target_came; /* or that somebody resumed it, as a strict hand-over does */
    bool target_booted; /* it was started there: what runs is another life of the guest */
    bool job; /* one is said to run */
    bool no_job; /* none is said to */
    bool began_postcopy, never_postcopy;
    bool returned, failed; /* what is known of the call or record: success, failure */
};

static enum side look_at_source(const struct kvmig__case *c)
{
    const struct kvmig__fact_domain_state *told = kvmig__case_seen(c, "source");

    if (c->ask->source_state)
        return side_of(c->ask->source_state, NULL);
    return told ? side_of(told->state, told->reason) : SIDE_UNKNOWN;
}

static void look_at_target(const struct kvmig__case *c, struct sides *out)
{
    const struct kvmig__fact_domain_state *told = kvmig__case_seen(c, "target");
    const char *state = c->ask->target_state ? c->ask->target_state : told ? told->state : NULL;
    const char *reason = c->ask->target_state || !told ? NULL : told->reason;

    out->target = side_of(state, reason);
    out->target_migrated = out->target == SIDE_RUNNING && says(state, reason, "migrated");
    out->target_came = out->target_migrated || (out->target == SIDE_RUNNING && says(state, reason, "unpaused"));
    out->target_booted = out->target == SIDE_RUNNING && says(state, reason, "booted");
}

static bool is_failure(const char *state)
{
    static const char *const states[] = { "FAILED",
                                          "FAILED_SOURCE_PAUSED",
                                          "CANCELLED",
                                          "CANCELLED_BY_USER",
                                          "ABORTED_BY_COMPLETION_TIMEOUT",
                                          "ABORTED_BY_PROGRESS_TIMEOUT",
                                          "SUCCEEDED_UNREPORTED" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(states); i++)
        if (kvmig__str_eq(state, states[i]))
            return true;
    return false;
}

static void look(const struct kvmig__case *c, struct sides *out)
{
    const char *job = c->ask->job;

    *out = (struct sides){ .source = SIDE_UNKNOWN };
    out->source = look_at_source(c);
    look_at_target(c, out);
    if (out->source == SIDE_POSTCOPY && c->ask->source_state && kvmig__str_starts(c->ask->source_state, "running"))
        out->source = SIDE_RUNNING; /* no source runs in post-copy */
    out->job = kvmig__case_job(c) > 0;
    out->no_job = kvmig__case_job(c) < 0;
    for (size_t i = c->facts->jobs.n; i-- > 0 && !job;)
        if (!c->facts->jobs.v[i].incoming && !c->facts->jobs.v[i].other)
            job = c->facts->jobs.v[i].type;
    out->began_postcopy = c->ask->postcopy_started > 0 || out->source == SIDE_POSTCOPY ||
                          out->source == SIDE_POSTCOPY_FAILED || out->target == SIDE_POSTCOPY ||
                          out->target == SIDE_POSTCOPY_FAILED ||
                          kvmig__str_starts(c->state ? c->state : "", "POSTCOPY_");
    out->never_postcopy = c->ask->postcopy_started < 0;
    out->returned = c->ask->migrate_rc > 0;
    out->failed = !out->returned && (c->ask->migrate_rc < 0 || is_failure(c->state) || kvmig__str_eq(job, "Failed") ||
                                     kvmig__str_eq(job, "Cancelled"));
}

static bool holds_none(enum side side)
{
    return side == SIDE_ABSENT || side == SIDE_ENDED || side == SIDE_STOPPED || side == SIDE_LEFT ||
           side == SIDE_CRASHED;
}

static bool is_silent(enum side side)
{
    return side == SIDE_UNREACHABLE || side == SIDE_UNKNOWN;
}

/* The migration has paused it there, or has not started it: whoever resumes it does what the migration would have done. */
static bool is_held(enum side side)
{
    return side == SIDE_MIGRATING || side == SIDE_PAUSED || side == SIDE_USER || side == SIDE_API_ERROR;
}

/* What both sides show now outranks what events told of the past. */
static void prove(struct kvmig__case *c, const char *code, const char *why)
{
    if (c->seen_both)
        kvmig__case_override(c, code, why);
    else
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, code, "%s", why);
}

static void act(struct kvmig__case *c, const char *code, const char *what)
{
    kvmig__case_act(c, code, kvmig__strdup(c->vm_object), NULL, "%s", what);
}

static void running(struct kvmig__case *c, const char *why)
{
    if (kvmig__str_eq(c->state, "FAILED") && c->strength <= KVMIG__KNOWN_TOLD && !c->claims.n)
        kvmig__case_override(c, "RUNNING", why); /* a client gave up; the job did not */
    else
        kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "%s", why);
}

/* A record says that the guest moved, and both sides show that it has not: it is of the past. */
static bool is_outdated(const struct kvmig__case *c)
{
    return c->seen_both && c->state && kvmig__str_starts(c->state, "SUCCEEDED");
}

static void goes_on(struct kvmig__case *c, const char *why)
{
    if (is_outdated(c))
        kvmig__case_override(c, "RUNNING", why);
    else
        running(c, why);
}

static void io_error(struct kvmig__case *c, const char *where)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "side", where);
    kvmig__detail_str(&detail, "reason", "I/O error");
    kvmig__case_note(c, "VM_IO_ERROR", KVMIG_SEVERITY_ERROR, kvmig__strdup(c->vm_object), &detail,
                     "Mend the storage, then resume the guest where it is.",
                     "The guest is paused by an I/O error on the %s.", where);
}

/* ---- the guest runs on the target, or is whole there ---- */

static void succeeded(struct kvmig__case *c, const struct sides *sides)
{
    if (sides->failed)
        prove(c, "SUCCEEDED_UNREPORTED",
              "the guest is on the target, although the call or the record says that it failed");
    else
        prove(c, "SUCCEEDED", "the guest is on the target");
}

/* Only a target that is told to have come by the migration is known to hold the source's state; and a source of which it is not told
 * why it is paused may still be serving post-copy. */
static void drop_source(struct kvmig__case *c, const struct sides *sides)
{
    if (!sides->target_came && !sides->returned)
        return;
    if (sides->source == SIDE_PAUSED && !sides->target_migrated && !sides->returned)
        return; /* by a watchdog, for a snapshot ... */
    if (is_held(sides->source) || sides->source == SIDE_POSTCOPY)
        act(c, "DESTROY_SOURCE", "Destroy the source's copy, which is paused and old: the guest runs on the target.");
}

static void target_runs(struct kvmig__case *c, const struct sides *sides)
{
    switch (sides->source) {
    case SIDE_RUNNING:
        if (sides->began_postcopy)
            prove(c, "UNDECIDED", "both sides are said to run, and post-copy to have begun: look again");
        else
            prove(c, "SPLIT_BRAIN", "both sides run the guest, and no post-copy explains it");
        return;
    case SIDE_POSTCOPY:
        if (!sides->target_migrated || sides->job) {
            prove(c, "POSTCOPY_ACTIVE", "the guest runs on the target and still fetches memory from the source");
            return;
        }
        break;
    case SIDE_POSTCOPY_FAILED:
        prove(c, "POSTCOPY_FAILED", "the link was lost in post-copy: the target lacks memory that the source holds");
        return;
    case SIDE_UNREACHABLE:
        if (sides->returned || sides->target_migrated)
            break;
        prove(c, "UNDECIDED", "the target runs the guest, and the source, which may run it too, could not be asked");
        return;
    case SIDE_UNKNOWN:
        if (sides->target_migrated || sides->returned)
            break;
        if (sides->job)
            running(c, "the target has begun to run, and the source's job goes on");
        else if (sides->failed || c->strength > KVMIG__KNOWN_NONE)
            prove(c, "UNDECIDED",
                  "the target runs the guest, and nobody has looked at the source, which may run it too");
        return; /* else a domain that runs, and nothing else */
    case SIDE_USER:
    case SIDE_IO_ERROR:
        if (sides->target_migrated || sides->returned)
            break;
        prove(c, "UNDECIDED", "the target runs the guest, and the source holds a copy that no migration has paused");
        return;
    default:
        break;
    }
    if (sides->job && is_held(sides->source)) {
        running(c, "the job is in the middle of its switch");
        return;
    }
    if (sides->target_booted && is_held(sides->source)) {
        prove(c, "UNDECIDED",
              "the target was booted, not migrated to, and the source's paused copy may be the only one of its state");
        return;
    }
    succeeded(c, sides);
    drop_source(c, sides);
}

static void target_in_postcopy(struct kvmig__case *c, const struct sides *sides)
{
    if (sides->target == SIDE_POSTCOPY_FAILED && sides->source == SIDE_RUNNING) {
        prove(c, "UNDECIDED", "the source runs the guest, and the target holds a newer copy that is stopped");
    } else if (sides->target == SIDE_POSTCOPY_FAILED) {
        prove(c, "POSTCOPY_FAILED", "the link was lost in post-copy, and the guest is stopped on the target");
        if (!holds_none(sides->source) && sides->source != SIDE_UNREACHABLE)
            act(c, "POSTCOPY_RECOVER", "Migrate again with POSTCOPY_RESUME once the hosts reach each other.");
    } else if (sides->source == SIDE_POSTCOPY_FAILED) {
        prove(c, "POSTCOPY_FAILED", "the link was lost in post-copy: the target lacks memory that the source holds");
        act(c, "POSTCOPY_RECOVER", "Migrate again with POSTCOPY_RESUME once the hosts reach each other.");
    } else if (sides->source == SIDE_RUNNING) {
        prove(c, "UNDECIDED", "the source runs the guest, and the target is in post-copy: look again");
    } else {
        prove(c, "POSTCOPY_ACTIVE", "the guest runs on the target and still fetches memory from the source");
    }
}

/* ---- the source is paused, and the target does not run ---- */

static void source_stands(struct kvmig__case *c, const struct sides *sides)
{
    if (sides->job && !sides->began_postcopy) {
        goes_on(c, "the job is at its switch");
    } else if (is_silent(sides->target)) {
        prove(c, "UNDECIDED", "the source is paused, and it is not known whether the target runs the guest");
    } else if (sides->began_postcopy) {
        if (holds_none(sides->target))
            prove(c, "VM_LOST", "post-copy had begun, and the target's copy, the newest one, is gone");
        else
            prove(c, "POSTCOPY_FAILED", "post-copy had begun, and the target does not run the guest");
    } else if (sides->target == SIDE_USER || sides->target == SIDE_IO_ERROR || sides->target == SIDE_API_ERROR) {
        prove(c, "UNDECIDED", "both copies are paused, and either may be the whole one");
    } else if (sides->target == SIDE_STOPPED || sides->target == SIDE_LEFT) {
        prove(
            c, "UNDECIDED",
            "the source is paused, and the target has run the guest since: the source's memory may not fit its disks");
    } else if (sides->returned ||
               (c->strength >= KVMIG__KNOWN_ENDED && c->state && kvmig__str_starts(c->state, "SUCCEEDED"))) {
        prove(c, "UNDECIDED", "the target had taken the guest over, and does not run it any more");
    } else {
        prove(c, "FAILED_SOURCE_PAUSED",
              "the migration left the guest paused on the source, and the target does not run it");
        if (sides->source == SIDE_PAUSED && !sides->never_postcopy)
            return; /* post-copy is not ruled out by how it is paused */
        if (sides->target != SIDE_ABSENT && sides->target != SIDE_MIGRATING)
            return; /* it may have run there, and been stopped since: resolver.c, OFF_SINCE */
        if (sides->target == SIDE_MIGRATING)
            act(c, "DESTROY_TARGET", "Destroy the target's copy, which never ran, before the source is resumed.");
        act(c, "RESUME_SOURCE", "Resume the guest on the source: the target is proven to hold no running copy.");
    }
}

static void source_in_postcopy(struct kvmig__case *c, const struct sides *sides)
{
    if (is_silent(sides->target))
        prove(c, "UNDECIDED", "post-copy had begun, and the target, which holds the guest, could not be asked");
    else if (holds_none(sides->target))
        prove(c, "VM_LOST", "post-copy had begun, and the target's copy, the newest one, is gone");
    else
        prove(c, "POSTCOPY_FAILED", "post-copy had begun, and the target does not run the guest");
}

/* ---- the source runs ---- */

static void source_runs(struct kvmig__case *c, const struct sides *sides)
{
    if (sides->job) {
        goes_on(c, "the source runs the guest, and its job goes on");
        return;
    }
    if (sides->returned && !holds_none(sides->target)) {
        prove(c, "UNDECIDED", "the call returned success, and the source runs the guest: look at both sides again");
        return;
    }
    if (sides->target == SIDE_IO_ERROR) {
        prove(c, "UNDECIDED", "the source runs the guest, and the target holds a copy that has run, too");
        return;
    }
    if (is_held(sides->target) && !sides->no_job && !sides->failed) {
        goes_on(c, "the source runs the guest, and the target waits for it");
        return;
    }
    c->located = true;
    if (is_outdated(c)) {
        prove(c, "UNDECIDED",
              "a record says that the guest moved, and it runs on the source: see whether the record is of another "
              "migration");
        return;
    }
    if (sides->failed || c->unproven || c->strength >= KVMIG__KNOWN_TOLD || is_held(sides->target))
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "the guest goes on running on the source");
    if (is_held(sides->target) && sides->target != SIDE_PAUSED && /* of that one it is not told why */
        (sides->no_job || c->ask->migrate_rc < 0)) /* a log may tell of an earlier attempt than the one that runs */
        act(c, "DESTROY_TARGET", "Destroy the target's copy, which is not needed: the source runs the guest.");
}

/* ---- the source holds nothing ---- */

/* The target holds all of the guest: nothing but a migration that was complete leaves it paused so. A source that crashed, or that the
 * guest or somebody shut down, has not left by one. */
static bool is_whole(const struct sides *sides)
{
    if (sides->source == SIDE_CRASHED || sides->source == SIDE_STOPPED)
        return false;
    return sides->target == SIDE_USER || sides->target == SIDE_API_ERROR ||
           (sides->target == SIDE_PAUSED && (sides->returned || sides->source == SIDE_LEFT));
}

static void source_is_gone(struct kvmig__case *c, const struct sides *sides)
{
    if (sides->target == SIDE_UNREACHABLE) {
        prove(c, "UNDECIDED", "the source does not hold the guest, and the target could not be asked");
    } else if (sides->target == SIDE_UNKNOWN) {
        if (sides->failed || sides->returned)
            prove(c, "UNDECIDED", "the source does not hold the guest, and nobody has looked at the target");
        else if (sides->source == SIDE_STOPPED)
            kvmig__case_state(c, KVMIG__KNOWN_TOLD, "NOTHING_TO_MIGRATE", "the guest was shut down");
    } else if (holds_none(sides->target)) {
        if (sides->source == SIDE_STOPPED || sides->target == SIDE_STOPPED)
            prove(c, "NOTHING_TO_MIGRATE", "the guest was shut down");
        else
            prove(c, "VM_LOST", "neither side has the guest");
    } else if (is_whole(sides)) {
        succeeded(c, sides);
        act(c, "RESUME_TARGET",
            "Resume the guest on the target, unless it was meant to be paused: it is whole there, and "
            "the source holds no copy.");
    } else if (sides->source != SIDE_CRASHED && sides->target == SIDE_IO_ERROR) {
        succeeded(c, sides);
    } else if (sides->target != SIDE_MIGRATING || sides->returned || sides->source == SIDE_LEFT) {
        prove(c, "UNDECIDED", "the source does not hold the guest, and nothing tells whether the target got all of it");
    } else {
        prove(c, "VM_LOST", "the source is gone, and the target never got all of the guest");
    }
}

/* Worth knowing; what it means for the guest is in the verdict. */
static void note_silence(struct kvmig__case *c, enum side side, const char *code, const char *node)
{
    if (side == SIDE_UNREACHABLE)
        kvmig__case_note(c, code, KVMIG_SEVERITY_INFO,
                         node ? kvmig__asprintf("node/%s", node)
                              : kvmig__strdup(kvmig__str_starts(code, "S") ? "source" : "target"),
                         NULL, "Get an answer from it, or fence it, before anything is done there.",
                         "This side was asked, and did not answer.");
}

void kvmig__diagnose_sides(struct kvmig__case *c)
{
    struct sides sides;

    look(c, &sides);
    if (sides.source == SIDE_IO_ERROR && (holds_none(sides.target) || is_silent(sides.target)))
        io_error(c, "source");
    else if (sides.target == SIDE_IO_ERROR && holds_none(sides.source))
        io_error(c, "target");
    if (sides.source == SIDE_UNKNOWN && sides.target == SIDE_UNKNOWN)
        return;
    note_silence(c, sides.source, "SOURCE_UNREACHABLE", c->source);
    note_silence(c, sides.target, "TARGET_UNREACHABLE", c->target);
    c->seen_both = !is_silent(sides.source) && !is_silent(sides.target);
    /* Of events: here it is judged by what is there now, and in order. */
    kvmig__case_drop(&c->actions, "RESUME_SOURCE", NULL);
    if (sides.target == SIDE_POSTCOPY_FAILED || sides.target == SIDE_POSTCOPY)
        target_in_postcopy(c, &sides);
    else if (sides.target == SIDE_RUNNING)
        target_runs(c, &sides);
    else if (sides.source == SIDE_MIGRATING || sides.source == SIDE_API_ERROR ||
             (sides.source == SIDE_PAUSED && (sides.failed || sides.began_postcopy)))
        source_stands(c, &sides);
    else if (sides.source == SIDE_POSTCOPY || sides.source == SIDE_POSTCOPY_FAILED)
        source_in_postcopy(c, &sides);
    else if (sides.source == SIDE_RUNNING)
        source_runs(c, &sides);
    else if (holds_none(sides.source))
        source_is_gone(c, &sides);
    else if (sides.source == SIDE_USER || sides.source == SIDE_PAUSED || sides.source == SIDE_IO_ERROR) {
        if (sides.failed && holds_none(sides.target))
            kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "the guest is on the source, paused as it was before");
    } else if (sides.source == SIDE_UNREACHABLE || sides.target == SIDE_UNREACHABLE) {
        prove(c, "UNDECIDED", "a side could not be asked, and the other proves nothing");
    }
}
