/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watching the migrate call: statistics and state are polled on the source's control lane, one poll at a time, and told as
 * progress and changes of mode. A poll that fails changes nothing: what the call returns and what the hosts say counts. A
 * control connection that hangs is replaced. A host that is silent for as long as an abort may take, and does not answer on
 * a fresh connection either, is taken for gone, and the call with it: it would not come back for hours.
 *
 * run and free functions run on lanes and see only their payload; the rest runs in dispatch.
 */
#include "libvirt/driver_internal.h"

#include <errno.h>
#include <stdlib.h>

#define SWITCHING_POLL_MS 20
#define MONITOR_PATIENCE_MS 2000
#define LAST_BACK_OFF_MS 600000

/* ---- a poll, on the source's control lane ---- */

struct poll_job {
    struct kvmig__driver_job job;
    bool want_disks;
    bool heard; /* the host answered something */
    int state, reason; /* libvirt's */
    struct kvmig__job_sample sample;
    struct {
        uint64_t total, done; /* KVMIG__UNKNOWN */
    } * disks; /* per disk of the plan; NULL if not asked for */
};

static void poll_free(void *payload)
{
    struct poll_job *poll = payload;
    kvmig__driver_job_clear(&poll->job);
    free(poll->disks);
    free(poll);
}

/* While disks are copied before the memory, when it is cheap and all that moves, and once after it. */
static void poll_disks(struct poll_job *poll, virDomainPtr domain)
{
    const struct kvmig_plan *plan = poll->job.plan;
    poll->disks = kvmig__calloc(plan->disks.n + 1, sizeof(*poll->disks));
    for (size_t i = 0; i < plan->disks.n; i++) {
        virDomainBlockJobInfo info;
        poll->disks[i].total = poll->disks[i].done = KVMIG__UNKNOWN;
        if (!kvmig__virt_disk_is_copied(&plan->disks.v[i]) ||
            virDomainGetBlockJobInfo(domain, plan->disks.v[i].target, &info, 0) != 1)
            continue;
        poll->disks[i].total = info.end;
        poll->disks[i].done = info.cur;
    }
}

/* A question that needs QEMU's monitor while another one has hung in it for long would hang, too. */
static struct kvmig_error *check_monitor(const struct poll_job *poll, virDomainPtr domain)
{
    virDomainControlInfo control;
    if (virDomainGetControlInfo(domain, &control, 0) < 0)
        return NULL; /* not every driver knows it */
    if (control.state != VIR_DOMAIN_CONTROL_ERROR &&
        (control.state != VIR_DOMAIN_CONTROL_OCCUPIED || control.stateTime < MONITOR_PATIENCE_MS))
        return NULL;
    return kvmig__error_new(EBUSY, poll->job.link->host, NULL, NULL, "QEMU's monitor does not answer");
}

static void poll_run(void *payload)
{
    struct poll_job *poll = payload;
    virTypedParameterPtr params = NULL;
    int n_params = 0;
    int type = VIR_DOMAIN_JOB_NONE;
    virDomainPtr domain = kvmig__link_domain(poll->job.link, poll->job.plan->uuid, &poll->job.error);
    if (!domain) {
        poll->heard = poll->job.error->code == -KVMIG_ENOVM;
        return;
    }
    poll->heard = virDomainGetState(domain, &poll->state, &poll->reason, 0) == 0;
    if (!poll->heard)
        poll->job.error = kvmig__link_error(poll->job.link, "virDomainGetState", NULL);
    else
        poll->job.error = check_monitor(poll, domain);
    if (!poll->job.error && virDomainGetJobStats(domain, &type, &params, &n_params, 0) < 0)
        poll->job.error = kvmig__link_error(poll->job.link, "virDomainGetJobStats", NULL);
    kvmig__job_sample_read(type, params, n_params, &poll->sample);
    virTypedParamsFree(params, n_params);
    if (poll->want_disks && !poll->job.error)
        poll_disks(poll, domain);
    virDomainFree(domain);
}

/* ---- in dispatch ---- */

static int32_t mode_of(int state, int reason, int32_t before)
{
    if (before == KVMIG_MODE_POST_COPY)
        return before; /* there is no way back */
    if (state == VIR_DOMAIN_RUNNING)
        return KVMIG_MODE_PRE_COPY;
    if (state != VIR_DOMAIN_PAUSED)
        return before;
    if (reason == VIR_DOMAIN_PAUSED_POSTCOPY || reason == VIR_DOMAIN_PAUSED_POSTCOPY_FAILED)
        return KVMIG_MODE_POST_COPY;
    return KVMIG_MODE_PAUSED;
}

/* A migration pauses its source with a reason of its own. */
static void take_user_pause(struct kvmig__virt_watch *w, const struct poll_job *poll)
{
    if (poll->state == VIR_DOMAIN_PAUSED && poll->reason == VIR_DOMAIN_PAUSED_USER)
        w->user_paused = true;
    else if (poll->state == VIR_DOMAIN_RUNNING)
        w->user_paused = false;
}

static void take_mode(struct kvmig__virt_driver *d, const struct poll_job *poll)
{
    int32_t mode = mode_of(poll->state, poll->reason, d->watch.mode);
    if (mode == KVMIG_MODE_POST_COPY)
        kvmig__virt_report(d)->postcopy_used = true;
    if (mode == d->watch.mode)
        return;
    d->watch.mode = mode;
    kvmig__session_mode_changed(d->session, mode);
}

static void take_disks(struct kvmig__virt_watch *w, const struct poll_job *poll)
{
    size_t n = 0;
    for (size_t i = 0; i < poll->job.plan->disks.n; i++) {
        if (!kvmig__virt_disk_is_copied(&poll->job.plan->disks.v[i]))
            continue;
        struct kvmig_disk_progress *disk = &w->disks[n++];
        if (poll->disks && poll->disks[i].total != KVMIG__UNKNOWN) {
            disk->total = poll->disks[i].total;
            disk->done = poll->disks[i].done;
        }
    }
    w->disks_settled = poll->disks && w->iteration > 0;
}

static void tell_progress(struct kvmig__virt_driver *d, bool at_boundary)
{
    struct kvmig__virt_watch *w = &d->watch;
    struct kvmig_progress progress = w->sample.progress;
    w->told_ms = kvmig__now_ms();
    const struct kvmig_disk_progress **disks = kvmig__calloc(w->n_disks + 1, sizeof(const void *));
    for (size_t i = 0; i < w->n_disks; i++)
        disks[i] = &w->disks[i];
    progress.disks = disks;
    progress.n_disks = (uint32_t)w->n_disks;
    progress.at_iteration_boundary = at_boundary;
    kvmig__session_progress(d->session, &progress);
    free(disks);
}

static void take_sample(struct kvmig__virt_driver *d, const struct poll_job *poll)
{
    struct kvmig__virt_watch *w = &d->watch;
    if (poll->sample.type != VIR_DOMAIN_JOB_BOUNDED && poll->sample.type != VIR_DOMAIN_JOB_UNBOUNDED)
        return; /* not begun yet, or ended already */
    bool at_boundary = w->sampled && poll->sample.progress.iteration > w->iteration;
    w->sample = poll->sample;
    w->sampled = true;
    w->iteration = poll->sample.progress.iteration;
    take_disks(w, poll);
    /* Polls that come faster than the caller asked for are told only if they bring something new. */
    if (at_boundary || kvmig__now_ms() - w->told_ms >= d->limits.poll_ms / 2)
        tell_progress(d, at_boundary);
    if (w->iteration > 1 && !w->postcopy_asked && (d->plan->request.flags & KVMIG_PLAN_POSTCOPY_AFTER_PRECOPY) &&
        (d->features & KVMIG__FEATURE_POSTCOPY))
        kvmig__virt_tune(d, KVMIG__TUNE_POSTCOPY, 0);
}

/* ---- a host that is silent ---- */

static void probe_run(void *payload)
{
    struct kvmig__driver_job *job = payload;
    int state = 0;
    kvmig__link_drop(job->link);
    virDomainPtr domain = kvmig__link_domain(job->link, job->plan->uuid, &job->error);
    if (!domain)
        return;
    if (virDomainGetState(domain, &state, NULL, 0) < 0) /* waits for no job and no QEMU */
        job->error = kvmig__link_error(job->link, "virDomainGetState", NULL);
    virDomainFree(domain);
}

static void probe_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct kvmig__virt_watch *w = &d->watch;
    struct kvmig_error *error = kvmig__driver_job_outcome(&d->source, payload, status, "tell the VM's state");
    bool silent = status == -ETIMEDOUT || (payload && error && error->code != -KVMIG_ENOVM);
    kvmig__error_free(error);
    w->probing = false;
    if (!silent)
        w->answered_ms = kvmig__now_ms();
    if (w->running && status == -ETIMEDOUT)
        kvmig__virt_control_lost(d);
    if (w->running && silent)
        kvmig__virt_call_hung(d, "the source fell silent while the migrate call ran");
}

static const struct kvmig__job_type probe_type = { "look whether the host answers", probe_run, probe_done,
                                                   kvmig__driver_job_free };

static int64_t shorter(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void take_silence(struct kvmig__virt_driver *d, const struct kvmig_error *error)
{
    struct kvmig__virt_watch *w = &d->watch;
    int64_t silent_ms = kvmig__now_ms() - w->answered_ms;
    if (!w->silence_said && silent_ms >= shorter(KVMIG__CONTROL_MS, d->limits.abort_ms / 3)) {
        w->silence_said = true;
        kvmig__virt_remark(d, "SOURCE_SILENT", KVMIG_SEVERITY_WARN, d->plan->source,
                           "look whether the host, its libvirt daemon and the network to it are well",
                           "host %s has not told progress for a while: %s", d->plan->source,
                           kvmig_error_message(error));
    }
    if (w->probing || silent_ms < d->limits.abort_ms)
        return;
    w->probing = true;
    kvmig__lane_submit(d->source.lane, &probe_type, d,
                       kvmig__driver_job_new(d, &d->source, sizeof(struct kvmig__driver_job)),
                       shorter(KVMIG__CONTROL_MS, d->limits.abort_ms));
}

/* ---- polls, in dispatch ---- */

/* Post-copy may take no longer than one interval; that it began must be seen all the same. A daemon that swallows polls gets
 * fewer and fewer, because each costs a thread and a connection until it comes back. */
static int64_t poll_interval(const struct kvmig__virt_driver *d)
{
    bool switching = d->watch.postcopy_begun && d->watch.mode != KVMIG_MODE_POST_COPY;
    if (d->watch.lost_polls > 0) {
        int64_t back_off = (int64_t)KVMIG__CONTROL_MS << (d->watch.lost_polls > 6 ? 6 : d->watch.lost_polls);
        return back_off > LAST_BACK_OFF_MS ? LAST_BACK_OFF_MS : back_off;
    }
    return switching && d->limits.poll_ms > SWITCHING_POLL_MS ? SWITCHING_POLL_MS : d->limits.poll_ms;
}

static void poll_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct kvmig__virt_watch *w = &d->watch;
    const struct poll_job *poll = payload;
    struct kvmig_error *error = kvmig__driver_job_outcome(&d->source, payload, status, "tell progress");
    w->polling = false;
    if (w->running && status == -ETIMEDOUT) {
        w->lost_polls++;
        kvmig__virt_control_lost(d);
    }
    if (poll && poll->heard)
        w->answered_ms = kvmig__now_ms();
    else if (w->running && error)
        take_silence(d, error);
    if (w->running && !error) {
        w->silence_said = false;
        w->lost_polls = 0;
        take_user_pause(w, poll);
        take_mode(d, poll);
        take_sample(d, poll);
    }
    if (w->running)
        kvmig__timer_arm(&w->poll_timer, w->poll_sent_ms + poll_interval(d));
    kvmig__error_free(error);
}

static const struct kvmig__job_type poll_type = { "read progress", poll_run, poll_done, poll_free };

static void poll_due(void *data)
{
    struct kvmig__virt_driver *d = data;
    struct kvmig__virt_watch *w = &d->watch;
    if (!w->running || w->polling)
        return;
    struct poll_job *poll = kvmig__driver_job_new(d, &d->source, sizeof(*poll));
    poll->want_disks = w->n_disks > 0 && !w->disks_settled;
    w->polling = true;
    w->poll_sent_ms = kvmig__now_ms();
    kvmig__lane_submit(d->source.lane, &poll_type, d, poll, shorter(KVMIG__CONTROL_MS, d->limits.abort_ms));
}

void kvmig__virt_watch_init(struct kvmig__virt_driver *d)
{
    kvmig__timer_init(&d->watch.poll_timer, d->context, poll_due, d);
}

static void list_disks(struct kvmig__virt_driver *d)
{
    struct kvmig__virt_watch *w = &d->watch;
    kvmig__virt_watch_clear(d);
    w->disks = kvmig__calloc(d->plan->disks.n + 1, sizeof(*w->disks));
    for (size_t i = 0; i < d->plan->disks.n; i++) {
        if (!kvmig__virt_disk_is_copied(&d->plan->disks.v[i]))
            continue;
        struct kvmig_disk_progress *disk = &w->disks[w->n_disks++];
        disk->size = sizeof(*disk);
        disk->target = d->plan->disks.v[i].target; /* the plan outlives the watch */
        disk->total = d->plan->disks.v[i].capacity;
        disk->done = 0;
    }
}

void kvmig__virt_watch_start(struct kvmig__virt_driver *d)
{
    struct kvmig__virt_watch *w = &d->watch;
    list_disks(d);
    w->answered_ms = w->started_ms;
    w->silence_said = w->sampled = w->postcopy_asked = w->postcopy_begun = false;
    w->disks_settled = w->user_paused = false;
    w->iteration = 0;
    w->lost_polls = 0;
    w->told_ms = 0;
    w->mode = KVMIG_MODE_PRE_COPY;
    kvmig__timer_arm_in(&w->poll_timer, 0);
}

void kvmig__virt_watch_hurry(struct kvmig__virt_driver *d)
{
    if (d->watch.running && !d->watch.polling)
        kvmig__timer_arm_in(&d->watch.poll_timer, 0);
}

void kvmig__virt_watch_stop(struct kvmig__virt_driver *d)
{
    kvmig__timer_disarm(&d->watch.poll_timer);
}

void kvmig__virt_watch_clear(struct kvmig__virt_driver *d)
{
    kvmig__virt_watch_stop(d);
    free(d->watch.disks);
    d->watch.disks = NULL;
    d->watch.n_disks = 0;
}
