/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Acting on a running migrate call from the source's control lane: aborting it, tuning it, switching it to post-copy.
 *
 * An abort that was asked for is repeated until the call returns: libvirt answers "no job" while the call is on its way to
 * the daemon, and an accepted abort can be lost with the daemon's restart. When the call does not return in time it is
 * given up. In post-copy there is no way back, and the session is told so.
 *
 * Requests to tune it wait in the watch until they were answered: a lane that is replaced takes none of them along.
 *
 * run and free functions run on lanes and see only their payload; the rest runs in dispatch.
 */
#include "libvirt/driver_internal.h"

#include "libvirt/classify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ABORT_CALL_MS 3000 /* an abort that takes longer is sent again on a new connection */
#define ABORT_AGAIN_MS 100 /* there was no job yet */
#define ABORT_REPEAT_MS 1000 /* it was accepted, and the call goes on */
#define OLD_POLL_MS 500 /* a poll that is out for longer would hold up the abort */
/* What libvirt itself uses for "no limit"; zero would be taken as a limit by some versions. */
#define UNLIMITED_MIB ((unsigned long)(INT64_MAX / (1024 * 1024)))

/* ---- on the source's control lane ---- */

struct abort_job {
    struct kvmig__driver_job job;
    struct kvmig__call_record *record; /* the call that is to end; NULL = a job that outlived it */
    bool in_postcopy; /* it failed, because there is no way back */
};

static void abort_free(void *payload)
{
    struct abort_job *abort = payload;
    kvmig__driver_job_clear(&abort->job);
    kvmig__call_record_unref(abort->record);
    free(abort);
}

/* libvirt has no code for this refusal, and its text is translated: the state tells. */
static bool is_in_postcopy(virDomainPtr domain, int32_t cause)
{
    int state = 0;
    int reason = 0;
    if (cause == KVMIG__CAUSE_POSTCOPY_BEGAN)
        return true;
    return virDomainGetState(domain, &state, &reason, 0) == 0 && state == VIR_DOMAIN_PAUSED &&
           (reason == VIR_DOMAIN_PAUSED_POSTCOPY || reason == VIR_DOMAIN_PAUSED_POSTCOPY_FAILED);
}

static void abort_run(void *payload)
{
    struct abort_job *abort = payload;
    int32_t cause = KVMIG__CAUSE_OTHER;
    virDomainPtr domain = kvmig__link_domain(abort->job.link, abort->job.plan->uuid, &abort->job.error);
    if (!domain)
        return;
    /* Once the call is back a job on the domain is somebody else's. */
    if (!kvmig__link_is_given_up(abort->job.link, &abort->job.error) && !(abort->record && abort->record->returned) &&
        virDomainAbortJob(domain) < 0) {
        abort->job.error = kvmig__link_error(abort->job.link, "virDomainAbortJob", &cause);
        abort->in_postcopy = is_in_postcopy(domain, cause);
    }
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
    if (error && abort && (abort->in_postcopy || w->mode == KVMIG_MODE_POST_COPY)) {
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

static const struct kvmig__job_type abort_type = { "abort", abort_run, abort_done, abort_free };

static void send_abort(struct kvmig__virt_driver *d)
{
    if (d->watch.abort_sent)
        return;
    d->watch.abort_sent = true;
    struct abort_job *abort = kvmig__driver_job_new(d, &d->source, sizeof(*abort));
    abort->record = kvmig__call_record_ref(d->call_record);
    kvmig__lane_submit(d->source.lane, &abort_type, d, abort, ABORT_CALL_MS);
}

static void abort_due(void *data)
{
    struct kvmig__virt_driver *d = data;
    if (d->watch.running && d->watch.aborting)
        send_abort(d);
}

static void send_tunings(struct kvmig__virt_driver *d);

void kvmig__virt_control_lost(struct kvmig__virt_driver *d)
{
    struct kvmig__virt_watch *w = &d->watch;
    kvmig__end_renew(&d->source);
    w->polling = w->abort_sent = w->probing = false;
    kvmig__timer_arm_in(&w->poll_timer, d->limits.poll_ms);
    if (!w->aborting) {
        send_tunings(d);
        return;
    }
    w->tunings.n = 0;
    kvmig__timer_arm_in(&w->abort_timer, 0);
}

/* ---- aborting a job that outlived its call, in dispatch ---- */

/* The next round shows what came of it, and sends it again if it was lost. */
static void orphan_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    const struct abort_job *abort = payload;
    bool refused = abort && abort->in_postcopy;
    struct kvmig_error *error = kvmig__driver_job_error(&d->source, payload, status, "abort the migration");
    if (!refused) {
        kvmig__error_free(error);
        return;
    }
    d->abort_wanted = false;
    kvmig__session_abort_refused(d->session, error);
}

static const struct kvmig__job_type orphan_type = { "abort a job", abort_run, orphan_done, abort_free };

void kvmig__virt_abort_orphan(struct kvmig__virt_driver *d)
{
    kvmig__lane_submit(d->source.lane, &orphan_type, d, kvmig__driver_job_new(d, &d->source, sizeof(struct abort_job)),
                       ABORT_CALL_MS);
}

/* ---- abort, as the session asks for it ---- */

void kvmig__virt_abort(struct kvmig__virt_driver *d)
{
    struct kvmig__virt_watch *w = &d->watch;
    if (d->step == KVMIG__STEP_LOCATE)
        d->abort_wanted = true; /* sent as soon as a round finds our job */
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
        kvmig__virt_call_hung(d, "the migrate call did not return after it was aborted");
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
    struct kvmig_error *error = kvmig__driver_job_outcome(&d->source, payload, status, "tune the migration");
    struct kvmig__virt_watch *w = &d->watch;
    const struct kvmig__tuning_request request = w->tunings.v[0]; /* the lane answers in the order of the requests */
    w->tunings.n--;
    memmove(w->tunings.v, w->tunings.v + 1, w->tunings.n * sizeof(*w->tunings.v));
    if (request.what == KVMIG__TUNE_POSTCOPY && status == -ETIMEDOUT)
        w->postcopy_asked = false; /* it may not have been heard: the next sample asks again */
    if (w->running && status == -ETIMEDOUT)
        kvmig__virt_control_lost(d);
    if (error && w->running)
        kvmig__virt_remark(d, "TUNING_FAILED", KVMIG_SEVERITY_WARN, d->plan->source, kvmig_error_hint(error),
                           "could not %s: %s", tuning_text(request.what), kvmig_error_message(error));
    if (!error && request.what == KVMIG__TUNE_POSTCOPY) {
        w->postcopy_begun = true;
        kvmig__virt_watch_hurry(d);
    }
    kvmig__error_free(error);
}

static const struct kvmig__job_type tune_type = { "tune", tune_run, tune_done, kvmig__driver_job_free };

static void send_tuning(struct kvmig__virt_driver *d, const struct kvmig__tuning_request *request)
{
    struct tune_job *tune = kvmig__driver_job_new(d, &d->source, sizeof(*tune));
    tune->what = request->what;
    tune->value = request->value;
    tune->in_postcopy = d->watch.mode == KVMIG_MODE_POST_COPY;
    kvmig__lane_submit(d->source.lane, &tune_type, d, tune, KVMIG__CONTROL_MS);
}

/* What was still to be answered when its lane was replaced. */
static void send_tunings(struct kvmig__virt_driver *d)
{
    for (size_t i = 0; i < d->watch.tunings.n; i++)
        send_tuning(d, &d->watch.tunings.v[i]);
}

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
    struct kvmig__tuning_request *request = KVMIG__PUSH(&d->watch.tunings);
    request->what = what;
    request->value = value;
    send_tuning(d, request);
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
