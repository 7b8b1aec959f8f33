/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The driver's last step when the guest is proven to be on the target: a strict hand-over is completed (source proven
 * stopped, then the target resumed), the target is verified to run and to be persistent, the figures of the job are read,
 * and only then what is left on the source is removed: a dead copy and the definition. Disks that were copied stay on the
 * source: they are the last resort, and not ours to delete.
 *
 * In a strict hand-over report->handover_wait_ms is set as soon as the target was resumed: a failure before it means that the
 * guest does not run. Whatever else fails is a leftover.
 *
 * run and free functions run on lanes and see only their payload; the rest runs in dispatch.
 */
#include "libvirt/driver_internal.h"

#include <poll.h>
#include <stdlib.h>

#define LOOK_AGAIN_MS 10 /* a strict hand-over waits while the guest stands still */

/* ---- figures of the finished job ---- */

struct figures {
    bool completed; /* sample holds the figures of a job that ended well */
    struct kvmig__job_sample sample;
};

static void read_figures(virDomainPtr domain, struct figures *out)
{
    virTypedParameterPtr params = NULL;
    int n_params = 0;
    int type = VIR_DOMAIN_JOB_NONE;
    if (virDomainGetJobStats(domain, &type, &params, &n_params,
                             VIR_DOMAIN_JOB_STATS_COMPLETED | VIR_DOMAIN_JOB_STATS_KEEP_COMPLETED) < 0)
        return; /* nothing depends on them */
    out->completed = type == VIR_DOMAIN_JOB_COMPLETED && n_params > 0;
    kvmig__job_sample_read(type, params, n_params, &out->sample);
    virTypedParamsFree(params, n_params);
}

/* ---- the source has stopped, on its control lane ---- */

struct stop_job {
    struct kvmig__driver_job job;
    bool call_ok; /* libvirt said that the target holds the guest */
    int64_t deadline_ms;
    bool seen_stopped;
};

static bool is_dead_copy(const struct kvmig__side *side)
{
    return side->state == KVMIG__STATE_PAUSED || side->state == KVMIG__STATE_CRASHED;
}

static struct kvmig_error *still_there(const struct kvmig__driver_job *job, const struct kvmig__side *side)
{
    return kvmig__error_new(KVMIG_EUNKNOWN, job->link->host, side->error,
                            "look at the VM on both hosts; resume it on the target once it is stopped on the source",
                            "the VM on the source is not proven to have stopped: %s, %s%s",
                            side->reachable ? kvmig__domain_state_name(side->state) : "the host does not answer",
                            kvmig__domain_reason_name(side->reason), side->job_active ? ", busy with a job" : "");
}

/* Whether the target may be resumed now. After a call that succeeded nothing in libvirt lets the source run again: then
 * it is enough that the source is not seen to run. Without it only a source that is gone is proof. */
static bool has_stopped(struct stop_job *stop, const struct kvmig__side *side, bool last_look)
{
    if (!side->reachable)
        return stop->call_ok;
    stop->seen_stopped = side->state == KVMIG__STATE_ABSENT || side->state == KVMIG__STATE_SHUTOFF;
    if (stop->seen_stopped)
        return true;
    if (!is_dead_copy(side))
        return false;
    if (side->job_active)
        return last_look && stop->call_ok;
    stop->job.error = kvmig__driver_act(&stop->job, KVMIG_ACTION_DESTROY_SOURCE);
    stop->seen_stopped = !stop->job.error;
    if (stop->seen_stopped)
        return true;
    if (!stop->call_ok)
        return false;
    kvmig__error_free(stop->job.error); /* tried again when the target runs */
    stop->job.error = NULL;
    return true;
}

static bool look_at_source(struct stop_job *stop)
{
    bool last_look = kvmig__now_ms() >= stop->deadline_ms || stop->job.link->given_up;
    struct kvmig__side side = { .reachable = false };
    struct kvmig_error *error = NULL;
    virConnectPtr conn = kvmig__link_open(stop->job.link, &error);
    if (conn)
        kvmig__virt_read_side(conn, stop->job.plan->uuid, &side);
    else
        kvmig__str_set(&side.error, kvmig_error_message(error));
    bool stopped = has_stopped(stop, &side, last_look);
    if (!stopped && last_look && !stop->job.error)
        stop->job.error = still_there(&stop->job, &side);
    kvmig__side_clear(&side);
    kvmig__error_free(error);
    return stopped || stop->job.error;
}

static void stop_run(void *payload)
{
    while (!look_at_source(payload))
        poll(NULL, 0, LOOK_AGAIN_MS);
}

/* ---- the target takes over, on its control lane ---- */

struct take_job {
    struct kvmig__driver_job job;
    bool resume; /* strict hand-over, and nobody paused the guest meanwhile */
    int64_t resumed_ms; /* 0 = it was not paused */
    struct figures figures;
    bool persistent;
    struct kvmig_error *define_error; /* a leftover, no doubt about the guest */
};

static void take_free(void *payload)
{
    struct take_job *take = payload;
    kvmig__driver_job_clear(&take->job);
    kvmig__error_free(take->define_error);
    free(take);
}

/* Takes cause; NULL = what was seen is all. */
static struct kvmig_error *not_running(const char *target, struct kvmig_error *cause)
{
    struct kvmig_error *error = kvmig__error_new(
        KVMIG_EUNKNOWN, target, cause ? kvmig_error_message(cause) : NULL,
        "look at the VM on the target; it holds the complete guest, so resume it there once its cause is mended",
        "the guest is on the target, but is not proven to run there");
    kvmig__error_free(cause);
    return error;
}

static struct kvmig_error *resume_and_verify(struct take_job *take, virDomainPtr domain)
{
    const char *host = take->job.link->host;
    int state = 0;
    int reason = 0;
    if (virDomainGetState(domain, &state, &reason, 0) < 0)
        return not_running(host, kvmig__link_error(take->job.link, "virDomainGetState", NULL));
    if (take->resume && state == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_USER) {
        struct kvmig_error *error = kvmig__driver_act(&take->job, KVMIG_ACTION_RESUME_TARGET);
        if (error)
            return not_running(host, error);
        take->resumed_ms = kvmig__now_ms();
        if (virDomainGetState(domain, &state, &reason, 0) < 0)
            return not_running(host, kvmig__link_error(take->job.link, "virDomainGetState", NULL));
    }
    /* Paused by anything but a person, for example by an I/O error, it may be a guest that will not run here. */
    if (state == VIR_DOMAIN_RUNNING || state == VIR_DOMAIN_PMSUSPENDED ||
        (state == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_USER && !take->resume))
        return NULL;
    return not_running(host, NULL);
}

/* libvirt moves the guest first and defines it then, which may fail by itself. */
static struct kvmig_error *define_on_target(struct take_job *take, virDomainPtr domain)
{
    struct kvmig_error *error = NULL;
    char *xml = kvmig__strdup(take->job.plan->request.persistent_xml);
    if (!xml)
        xml = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE);
    if (!xml)
        return kvmig__link_error(take->job.link, "virDomainGetXMLDesc", NULL);
    if (!kvmig__link_is_given_up(take->job.link, &error)) {
        virDomainPtr defined = virDomainDefineXML(take->job.link->conn, xml);
        if (defined)
            virDomainFree(defined);
        else
            error = kvmig__link_error(take->job.link, "virDomainDefineXML", NULL);
    }
    free(xml);
    return error;
}

static void take_run(void *payload)
{
    struct take_job *take = payload;
    virDomainPtr domain = kvmig__link_domain(take->job.link, take->job.plan->uuid, &take->job.error);
    if (!domain) {
        take->job.error = not_running(take->job.link->host, take->job.error);
        return;
    }
    take->job.error = resume_and_verify(take, domain);
    if (!take->job.error) {
        read_figures(domain, &take->figures);
        if (kvmig__virt_persists(take->job.plan) && virDomainIsPersistent(domain) == 0)
            take->define_error = define_on_target(take, domain);
        take->persistent = virDomainIsPersistent(domain) == 1;
    }
    virDomainFree(domain);
}

/* ---- what is left on the source, on its control lane ---- */

struct clean_job {
    struct kvmig__driver_job job;
    bool undefine;
    uint64_t version; /* of the source's libvirt */
    struct figures figures;
    bool destroyed, undefined;
};

static struct kvmig_error *undefine(struct clean_job *clean, virDomainPtr domain)
{
    struct kvmig_error *error = NULL;
    if (kvmig__link_is_given_up(clean->job.link, &error))
        return error;
    if (virDomainUndefineFlags(domain, kvmig__virt_undefine_flags(clean->version)) < 0)
        return kvmig__link_error(clean->job.link, "virDomainUndefineFlags", NULL);
    clean->undefined = true;
    return NULL;
}

static void clean_run(void *payload)
{
    struct clean_job *clean = payload;
    struct kvmig__side side = { .reachable = false };
    virDomainPtr domain = NULL;
    virConnectPtr conn = kvmig__link_open(clean->job.link, &clean->job.error);
    if (!conn)
        return;
    kvmig__virt_read_side(conn, clean->job.plan->uuid, &side);
    bool gone = side.reachable && (side.state == KVMIG__STATE_ABSENT || side.state == KVMIG__STATE_SHUTOFF);
    if (!gone && side.reachable && is_dead_copy(&side) && !side.job_active) {
        clean->job.error = kvmig__driver_act(&clean->job, KVMIG_ACTION_DESTROY_SOURCE);
        gone = clean->destroyed = !clean->job.error;
    }
    if (!gone && !clean->job.error)
        clean->job.error = still_there(&clean->job, &side);
    if (gone && kvmig__link_find_domain(clean->job.link, clean->job.plan->uuid, &domain, &clean->job.error) && domain) {
        read_figures(domain, &clean->figures);
        if (clean->undefine)
            clean->job.error = undefine(clean, domain);
        virDomainFree(domain);
    }
    kvmig__side_clear(&side);
}

/* ---- in dispatch ---- */

static void say_what_stays(struct kvmig__virt_driver *d)
{
    for (size_t i = 0; i < d->volumes.n; i++) {
        if (d->volumes.v[i].in_ledger)
            kvmig__virt_ledger_set(d, d->volumes.v[i].report_index, "kept");
    }
    for (size_t i = 0; i < d->plan->disks.n; i++) {
        const struct kvmig__disk_plan *disk = &d->plan->disks.v[i];
        if (kvmig__virt_disk_is_copied(disk))
            kvmig__virt_ledger_add(d, "disk", disk->source_path ? disk->source_path : disk->target, d->plan->source,
                                   "left on source");
    }
}

/* Takes the figures over. libvirt's pause ends when the target is complete; in a strict hand-over the guest waits on, until it
 * was resumed. */
static void take_figures(struct kvmig__virt_driver *d, const struct figures *figures)
{
    struct kvmig__report *report = kvmig__virt_report(d);
    if (!figures->completed)
        return;
    kvmig__job_to_report(&figures->sample, true, report);
    int64_t to_resume_ms = d->resumed_ms - report->call_started_ms;
    if (d->resumed_ms && report->pause_total_ms != KVMIG__UNKNOWN && report->total_ms != KVMIG__UNKNOWN &&
        to_resume_ms > (int64_t)report->total_ms)
        report->pause_total_ms += (uint64_t)to_resume_ms - report->total_ms;
}

/* The source knows more than the target (disks, and post-copy at all), but only as long as it has the domain. Failing both,
 * the last poll has to do, which is in the report since the call ended. */
static void report_figures(struct kvmig__virt_driver *d, const struct clean_job *clean)
{
    struct kvmig__report *report = kvmig__virt_report(d);
    if (clean)
        take_figures(d, &clean->figures);
    if (d->watch.postcopy_begun && !d->figures_known)
        report->postcopy_used = true; /* of pre-copy the target would know the figures */
}

static void clean_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    const struct clean_job *clean = payload;
    bool undefine_wanted = clean && clean->undefine;
    bool undefined = clean && clean->undefined;
    struct kvmig_error *error = kvmig__driver_job_error(&d->source, payload, status, "clean up the source");
    report_figures(d, clean);
    if (clean && clean->destroyed)
        kvmig__virt_ledger_add(d, "domain", d->plan->uuid, d->plan->source, "destroyed: a dead copy");
    if (undefined) {
        kvmig__virt_ledger_add(d, "definition", d->plan->vm, d->plan->source, "removed");
    } else if (undefine_wanted && error) {
        char *text = kvmig__virt_failed_text(error);
        kvmig__virt_ledger_add(d, "definition", d->plan->vm, d->plan->source, text);
        free(text);
    }
    if (error)
        kvmig__driver_step_fail(d, error);
    kvmig__driver_step_end(d);
}

static const struct kvmig__job_type clean_type = { "clean up the source", clean_run, clean_done,
                                                   kvmig__driver_job_free };

/* Whether the source's definition may go, and what the report says if it stays. */
static bool decide_undefine(struct kvmig__virt_driver *d, bool persistent_on_target)
{
    const char *outcome = NULL;
    if (!d->plan->persistent)
        return false;
    if (d->plan->request.flags & KVMIG_PLAN_KEEP_SOURCE_DEFINITION)
        outcome = "left on source: asked for";
    else if (!persistent_on_target)
        outcome = "left on source: the target has none";
    if (outcome)
        kvmig__virt_ledger_add(d, "definition", d->plan->vm, d->plan->source, outcome);
    return !outcome;
}

static void take_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    struct take_job *take = payload;
    struct kvmig__report *report = kvmig__virt_report(d);
    struct kvmig_error *error = kvmig__driver_job_error(&d->target, payload, status, "take the guest over");
    if (take && take->resumed_ms) {
        d->resumed_ms = take->resumed_ms;
        report->handover_wait_ms = (uint64_t)(take->resumed_ms - report->call_ended_ms);
    }
    if (error) {
        kvmig__driver_step_fail(d, take ? error : not_running(d->plan->target, error));
        kvmig__driver_step_end(d);
        return;
    }
    if (d->watch.user_paused && (d->features & KVMIG__FEATURE_STRICT))
        kvmig__virt_remark(d, "TARGET_LEFT_PAUSED", KVMIG_SEVERITY_WARN, d->plan->target, "resume it if it is wanted",
                           "somebody paused the VM on host %s during the migration; it is left paused on host %s",
                           d->plan->source, d->plan->target);
    d->figures_known = take->figures.completed;
    take_figures(d, &take->figures);
    if (take->persistent)
        kvmig__virt_ledger_add(d, "definition", d->plan->vm, d->plan->target, "kept");
    if (take->define_error) {
        kvmig__driver_step_fail(d, take->define_error);
        take->define_error = NULL;
    }
    say_what_stays(d);
    struct clean_job *clean = kvmig__driver_job_new(d, &d->source, sizeof(*clean));
    clean->undefine = decide_undefine(d, take->persistent);
    clean->version = d->versions.source;
    kvmig__lane_submit(d->source.lane, &clean_type, d, clean, kvmig__virt_time_left(d, d->limits.step_ms));
}

static const struct kvmig__job_type take_type = { "take over on the target", take_run, take_done, take_free };

static void take_over(struct kvmig__virt_driver *d)
{
    struct take_job *take = kvmig__driver_job_new(d, &d->target, sizeof(*take));
    take->resume = (d->features & KVMIG__FEATURE_STRICT) && !d->watch.user_paused;
    kvmig__lane_submit(d->target.lane, &take_type, d, take, kvmig__virt_time_left(d, d->limits.step_ms));
}

static void stop_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__virt_driver *d = owner;
    const struct stop_job *stop = payload;
    bool seen_stopped = stop && stop->seen_stopped;
    struct kvmig_error *error =
        kvmig__driver_job_error(&d->source, payload, status, "prove that the source has stopped");
    /* A source that fell silent is like one that cannot be reached: then the call's success is proof enough. */
    if (!error || (!payload && d->call_ok)) {
        kvmig__error_free(error);
        kvmig__session_handover_proof(d->session, seen_stopped);
        take_over(d);
        return;
    }
    kvmig__driver_step_fail(d, error);
    kvmig__driver_step_end(d);
}

static const struct kvmig__job_type stop_type = { "prove that the source has stopped", stop_run, stop_done,
                                                  kvmig__driver_job_free };

void kvmig__virt_finish_begin(struct kvmig__virt_driver *d)
{
    if (!(d->features & KVMIG__FEATURE_STRICT)) {
        take_over(d);
        return;
    }
    struct stop_job *stop = kvmig__driver_job_new(d, &d->source, sizeof(*stop));
    stop->call_ok = d->call_ok;
    stop->deadline_ms = kvmig__now_ms() + kvmig__virt_time_left(d, d->limits.step_ms / 2);
    kvmig__lane_submit(d->source.lane, &stop_type, d, stop, kvmig__virt_time_left(d, d->limits.step_ms / 2 + 1000));
}
