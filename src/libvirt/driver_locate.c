/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where is the guest? The target is read, then the source, then the target again (the state moves only from source to
 * target), until the resolver decides or the step's time is over; a migration of ours that still runs there has until the
 * migrate call's own deadline, and may be aborted. Whatever broke before is dialled again: a daemon that
 * comes back in time is heard. State and job are asked for one after the other, because the state never waits and is
 * worth having alone. Only reads.
 *
 * run and free functions run on lanes and see only their payload; the rest runs in dispatch.
 */
#include "libvirt/driver_internal.h"
#include "libvirt/side.h"
#include "session/outcome.h"

#include <stdlib.h>

#define READ_MS 5000 /* a host that takes longer counts as unreachable in this round */
#define FIRST_RETRY_MS 100
#define LAST_RETRY_MS 1000
#define LAST_READING 2

/* ---- on a control lane ---- */

struct read_job {
    struct kvmig__driver_job job;
    struct kvmig__side side;
    bool is_active; /* so that its job is worth asking for */
};

static void read_free(void *payload)
{
    struct read_job *read = payload;
    kvmig__driver_job_clear(&read->job);
    kvmig__side_clear(&read->side);
    free(read);
}

static void state_run(void *payload)
{
    struct read_job *read = payload;
    /* A connection that broke since its last use shows it only now: then the answer is asked for on a new one. */
    for (int attempt = 0; attempt < 2 && !read->side.reachable; attempt++) {
        kvmig__error_free(read->job.error);
        read->job.error = NULL;
        virConnectPtr conn = kvmig__link_open(read->job.link, &read->job.error);
        if (!conn)
            return;
        kvmig__side_clear(&read->side);
        read->is_active = kvmig__virt_read_state(conn, read->job.plan->uuid, &read->side);
        if (!read->side.reachable)
            kvmig__link_drop(read->job.link);
    }
}

static void job_run(void *payload)
{
    struct read_job *read = payload;
    virConnectPtr conn = kvmig__link_open(read->job.link, &read->job.error);
    if (conn)
        kvmig__virt_read_side_job(conn, read->job.plan->uuid, &read->side);
}

/* ---- in dispatch ---- */

static void read_next(struct kvmig__virt_driver *d);

/* What is read in one round, in this order. */
struct reading {
    struct kvmig__end *end;
    struct kvmig__side *side;
};

static struct reading reading_of(struct kvmig__virt_driver *d)
{
    const struct reading readings[] = {
        { &d->target, &d->target_side },
        { &d->source, &d->source_side },
        { &d->target, &d->target_again },
    };
    return readings[d->reading];
}

/* The last round is read to its end although the time is over: half an answer would pass for silence. It is short then, so
 * that the session does not stop waiting. */
static int64_t read_limit(const struct kvmig__virt_driver *d)
{
    int64_t left = kvmig__virt_time_left(d, READ_MS);
    int64_t least = d->limits.resolve_ms / 8 < 1000 ? d->limits.resolve_ms / 8 : 1000;
    return left > least ? left : least;
}

static void job_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct reading reading = reading_of(d);
    const struct read_job *read = payload;
    struct kvmig_error *error = kvmig__driver_job_error(reading.end, payload, status, "read the VM's job");
    if (read && !error) {
        kvmig__side_clear(reading.side);
        kvmig__side_copy(reading.side, &read->side);
    } else { /* the state is known; whether a job runs is not, so one is assumed */
        reading.side->job_active = reading.side->job_assumed = true;
    }
    kvmig__error_free(error);
    d->reading++;
    read_next(d);
}

static const struct kvmig__job_type job_type = { "read the VM's job", job_run, job_done, read_free };

static void state_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct reading reading = reading_of(d);
    struct read_job *read = payload;
    struct kvmig_error *error = kvmig__driver_job_error(reading.end, payload, status, "read the VM's state");
    kvmig__side_clear(reading.side);
    if (read)
        kvmig__side_copy(reading.side, &read->side);
    if (error)
        kvmig__str_set(&reading.side->error, kvmig_error_message(error));
    kvmig__error_free(error);
    if (read && read->is_active) {
        struct read_job *job = kvmig__driver_job_new(d, reading.end, sizeof(*job));
        kvmig__side_copy(&job->side, &read->side);
        kvmig__lane_submit(reading.end->lane, &job_type, d, job, read_limit(d));
        return;
    }
    d->reading++;
    read_next(d);
}

static const struct kvmig__job_type state_type = { "read the VM's state", state_run, state_done, read_free };

/* Nothing was asked of the target yet that could have put the guest there, so it need not be asked where the guest is. */
static struct kvmig__resolution resolve(struct kvmig__virt_driver *d)
{
    static const char proof[] =
        "the guest is on the source; the migrate call was not made, and the target cannot be asked";
    struct kvmig__side absent = { .reachable = true, .state = KVMIG__STATE_ABSENT };
    if (d->call_begun || d->target_again.reachable)
        return kvmig__resolve(&d->source_side, &d->target_side, &d->target_again);
    struct kvmig__resolution resolution = kvmig__resolve(&d->source_side, &absent, &absent);
    if (resolution.decided && resolution.side < 0)
        resolution.proof = proof;
    return resolution;
}

/* A call that was given up may lie in the daemon's queue: until it comes back a source that has the guest may lose it yet. */
static struct kvmig__resolution doubt(struct kvmig__resolution resolution)
{
    if (resolution.side > 0)
        return resolution;
    return (struct kvmig__resolution){
        .verdict = KVMIG_LOCATION_UNDECIDED,
        .actions = { KVMIG_ACTION_WAIT },
        .proof = "the migrate call was given up and has not come back: the source may still carry it out",
    };
}

static bool our_job_is_active(const struct kvmig__virt_driver *d)
{
    return d->call_begun && d->source_side.reachable && d->source_side.job_active && !d->source_side.job_assumed;
}

/* A migration that goes on without us (the connection broke, not the job) has as long as one that we watch. */
static bool is_over(const struct kvmig__virt_driver *d)
{
    int64_t now_ms = kvmig__now_ms();
    return now_ms >= d->deadline_ms && !(our_job_is_active(d) && now_ms < d->call_until_ms);
}

/* A strict target stays paused until we are done here: do not wait for a source whose answer changes nothing. */
static bool needs_no_source(const struct kvmig__virt_driver *d)
{
    const struct kvmig__outcome_facts facts = {
        .call_begun = d->call_begun,
        .call_ok = d->call_ok,
        .strict = (d->call_flags & VIR_MIGRATE_PAUSED) != 0,
        .was_paused = d->guest_paused,
    };
    return kvmig__outcome_is_proven_by_call(&facts, &d->source_side, &d->target_again);
}

static void judge(struct kvmig__virt_driver *d)
{
    struct kvmig__resolution resolution = resolve(d);
    if (resolution.decided && kvmig__virt_call_is_out(d))
        resolution = doubt(resolution);
    if (resolution.decided || needs_no_source(d) || is_over(d)) {
        d->step = -1;
        d->abort_wanted = false;
        kvmig__session_located(d->session, &resolution, &d->source_side, &d->target_again);
        return;
    }
    if (d->abort_wanted && our_job_is_active(d))
        kvmig__virt_abort_orphan(d);
    int64_t wait_ms = d->deadline_ms - kvmig__now_ms();
    kvmig__timer_arm_in(&d->retry_timer, wait_ms > 0 && wait_ms < d->retry_ms ? wait_ms : d->retry_ms);
    d->retry_ms = d->retry_ms * 2 > LAST_RETRY_MS ? LAST_RETRY_MS : d->retry_ms * 2;
}

static void read_next(struct kvmig__virt_driver *d)
{
    if (d->reading == LAST_READING &&
        !d->target_side.reachable) { /* silent just now: asking again would only cost time */
        kvmig__side_clear(&d->target_again);
        kvmig__side_copy(&d->target_again, &d->target_side);
        d->reading++;
    }
    while (d->reading <= LAST_READING && kvmig__end_is_jammed(reading_of(d).end)) {
        kvmig__side_clear(reading_of(d).side);
        kvmig__str_set(&reading_of(d).side->error, "earlier questions to the host hang; waiting for one to return");
        d->reading++;
    }
    if (d->reading > LAST_READING) {
        judge(d);
        return;
    }
    struct kvmig__end *end = reading_of(d).end;
    kvmig__lane_submit(end->lane, &state_type, d, kvmig__driver_job_new(d, end, sizeof(struct read_job)),
                       read_limit(d));
}

static void round_due(void *data)
{
    struct kvmig__virt_driver *d = data;
    d->reading = 0;
    read_next(d);
}

void kvmig__virt_locate_init(struct kvmig__virt_driver *d)
{
    kvmig__timer_init(&d->retry_timer, d->context, round_due, d);
}

void kvmig__virt_locate_begin(struct kvmig__virt_driver *d)
{
    d->retry_ms = FIRST_RETRY_MS;
    d->abort_wanted = false;
    round_due(d);
}
