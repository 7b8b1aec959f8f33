/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Acting on a running migrate call from the source's control lane: aborting it, tuning it, switching it to post-copy.
 *
 * An abort that was asked for is repeated until the call returns: libvirt answers "no job" while the call is on its way to
 * the daemon, and an accepted abort can be lost with the daemon's restart. When the call does not return in time it is
 * given up. In post-copy there is no way back, and the session is told so.
 *
 * run and free functions run on lanes and see only their payload; the rest runs in dispatch.
 */
#include "libvirt/driver_internal.h"

#include "libvirt/classify.h"

#include <errno.h>

#define ABORT_CALL_MS 3000 /* an abort that takes longer is sent again on a new connection */
#define ABORT_AGAIN_MS 100 /* there was no job yet */
#define ABORT_REPEAT_MS 1000 /* it was accepted, and the call goes on */
#define OLD_POLL_MS 500 /* a poll that is out for longer would hold up the abort */
/* What libvirt itself uses for "no limit"; zero would be taken as a limit by some versions. */
#define UNLIMITED_MIB ((unsigned long)(INT64_MAX / (1024 * 1024)))

/* ---- on the source's control lane ---- */

struct abort_job {
    struct kvmig__driver_job job;
    int32_t cause; /* enum kvmig__virt_cause, if it failed */
};

static void abort_run(void *payload)
{
    struct abort_job *abort = payload;
    virDomainPtr domain = kvmig__link_domain(abort->job.link, abort->job.plan->uuid, &abort->job.error);
    if (!domain)
        return;
    if (!kvmig__link_is_given_up(abort->job.link, &abort->job.error) && virDomainAbortJob(domain) < 0)
        abort->job.error = kvmig__link_error(abort->job.link, "virDomainAbortJob", &abort->cause);
    virDomainFree(domain);
}

struct tune_job {
    struct kvmig__driver_job job;
    enum kvmig__tuning what;
    uint64_t value;
    bool in_postcopy;
};

static int tune_call(const struct tune_job *tune, virDomainPtr domain, const char **out_call)
{
    unsigned int flags = tune->in_postcopy ? VIR_DOMAIN_MIGRATE_MAX_SPEED_POSTCOPY : 0;
    switch (tune->what) {
    case KVMIG__TUNE_BANDWIDTH:
        *out_call = "virDomainMigrateSetMaxSpeed";
        return virDomainMigrateSetMaxSpeed(domain, tune->value ? (unsigned long)tune->value : UNLIMITED_MIB, flags);
    case KVMIG__TUNE_MAX_DOWNTIME:
        *out_call = "virDomainMigrateSetMaxDowntime";
        return virDomainMigrateSetMaxDowntime(domain, tune->value, 0);
    default:
        *out_call = "virDomainMigrateStartPostCopy";
        return virDomainMigrateStartPostCopy(domain, 0);
    }
}

static void tune_run(void *payload)
{
    struct tune_job *tune = payload;
    const char *call = "";
    virDomainPtr domain = kvmig__link_domain(tune->job.link, tune->job.plan->uuid, &tune->job.error);
    if (!domain)
        return;
    if (!kvmig__link_is_given_up(tune->job.link, &tune->job.error) && tune_call(tune, domain, &call) < 0)
        tune->job.error = kvmig__link_error(tune->job.link, call, NULL);
    virDomainFree(domain);
}

/* ---- abort, in dispatch ---- */

static void send_abort(struct kvmig__virt_driver *d);

static void abort_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct kvmig__virt_watch *w = &d->watch;
    const struct abort_job *abort = payload;
    struct kvmig_error *error = kvmig__driver_job_outcome(&d->source, payload, status, "abort the migration");
    w->abort_sent = false;
    if (w->running && status == -ETIMEDOUT)
        kvmig__virt_control_lost(d);
    if (!w->running || !w->aborting) {
        kvmig__error_free(error);
        return;
    }
    if (error && abort && abort->cause == KVMIG__CAUSE_POSTCOPY_BEGAN) {
        w->aborting = false;
        w->abort_refused = true;
        kvmig__timer_disarm(&w->abort_timer);
        kvmig__timer_arm_in(&w->guard_timer, kvmig__virt_time_left(d, INT64_MAX) + d->limits.abort_ms);
        kvmig__session_abort_refused(d->session, error);
        return;
    }
    kvmig__timer_arm_in(&w->abort_timer, error ? ABORT_AGAIN_MS : ABORT_REPEAT_MS);
    kvmig__error_free(error);
}

static const struct kvmig__job_type abort_type = { "abort", abort_run, abort_done, kvmig__driver_job_free };

static void send_abort(struct kvmig__virt_driver *d)
{
    if (d->watch.abort_sent)
        return;
    d->watch.abort_sent = true;
    kvmig__lane_submit(d->source.lane, &abort_type, d, kvmig__driver_job_new(d, &d->source, sizeof(struct abort_job)),
                       ABORT_CALL_MS);
}

static void abort_due(void *data)
{
    struct kvmig__virt_driver *d = data;
    if (d->watch.running && d->watch.aborting)
        send_abort(d);
}

void kvmig__virt_control_lost(struct kvmig__virt_driver *d)
{
    struct kvmig__virt_watch *w = &d->watch;
    kvmig__end_renew(&d->source);
    w->polling = w->abort_sent = false;
    kvmig__timer_arm_in(&w->poll_timer, d->limits.poll_ms);
    if (w->aborting)
        kvmig__timer_arm_in(&w->abort_timer, 0);
}

void kvmig__virt_abort(struct kvmig__virt_driver *d)
{
    struct kvmig__virt_watch *w = &d->watch;
    if ((!w->preparing && !w->running) || w->aborting)
        return; /* ended already; its result is on its way or was told */
    w->aborting = true;
    kvmig__timer_arm_in(&w->guard_timer, d->limits.abort_ms);
    if (w->preparing)
        return; /* seen before the call is made */
    if (w->polling && kvmig__now_ms() - w->poll_sent_ms > OLD_POLL_MS)
        kvmig__virt_control_lost(d);
    send_abort(d);
}

static void guard_due(void *data)
{
    struct kvmig__virt_driver *d = data;
    if (d->watch.aborting || d->watch.abort_refused)
        kvmig__virt_call_hung(d);
    else
        kvmig__virt_abort(d);
}

/* ---- tuning, in dispatch ---- */

static const char *tuning_text(enum kvmig__tuning what)
{
    switch (what) {
    case KVMIG__TUNE_BANDWIDTH:
        return "change the bandwidth limit";
    case KVMIG__TUNE_MAX_DOWNTIME:
        return "change the acceptable pause";
    default:
        return "switch to post-copy";
    }
}

static void tune_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    const struct tune_job *tune = payload;
    struct kvmig_error *error = kvmig__driver_job_outcome(&d->source, payload, status, "tune the migration");
    if (d->watch.running && status == -ETIMEDOUT)
        kvmig__virt_control_lost(d);
    if (error && d->watch.running)
        kvmig__virt_remark(d, "TUNING_FAILED", KVMIG_SEVERITY_WARN, d->plan->source, kvmig_error_hint(error),
                           "could not %s: %s", tune ? tuning_text(tune->what) : "tune the migration",
                           kvmig_error_message(error));
    if (!error && tune->what == KVMIG__TUNE_POSTCOPY) {
        d->watch.postcopy_begun = true;
        kvmig__virt_watch_hurry(d);
    }
    kvmig__error_free(error);
}

static const struct kvmig__job_type tune_type = { "tune", tune_run, tune_done, kvmig__driver_job_free };

void kvmig__virt_tune(struct kvmig__virt_driver *d, enum kvmig__tuning what, uint64_t value)
{
    if (!d->watch.running && !d->watch.preparing)
        return;
    if (what == KVMIG__TUNE_POSTCOPY) {
        d->watch.postcopy_asked = true;
        if (!(d->features & KVMIG__FEATURE_POSTCOPY)) {
            kvmig__virt_remark(d, "TUNING_FAILED", KVMIG_SEVERITY_WARN, d->plan->source, NULL,
                               "could not switch to post-copy: the migration runs without it");
            return;
        }
    } else {
        d->limits_changed = true;
    }
    struct tune_job *tune = kvmig__driver_job_new(d, &d->source, sizeof(*tune));
    tune->what = what;
    tune->value = value;
    tune->in_postcopy = d->watch.mode == KVMIG_MODE_POST_COPY;
    kvmig__lane_submit(d->source.lane, &tune_type, d, tune, KVMIG__CONTROL_MS);
}

/* ---- life ---- */

void kvmig__virt_control_init(struct kvmig__virt_driver *d)
{
    kvmig__timer_init(&d->watch.abort_timer, d->context, abort_due, d);
    kvmig__timer_init(&d->watch.guard_timer, d->context, guard_due, d);
}

void kvmig__virt_control_start(struct kvmig__virt_driver *d)
{
    d->watch.polling = d->watch.abort_sent = false;
    /* The session aborts a call that takes too long; should it not, it is done here. */
    kvmig__timer_arm_in(&d->watch.guard_timer, d->limits.migrate_ms + d->limits.abort_ms);
}

void kvmig__virt_control_stop(struct kvmig__virt_driver *d)
{
    kvmig__timer_disarm(&d->watch.abort_timer);
    kvmig__timer_disarm(&d->watch.guard_timer);
}
