/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Measuring how fast a guest dirties its memory: libvirt's dirty rate calculation, once per window, with the CPU time that the guest
 * used meanwhile and the resident memory of its process. By samples of pages, which costs the guest next to nothing; QEMU's exact
 * modes make it pay like a migration does.
 *
 * Blocks for as long as the windows are; runs on a lane of its own, so that it delays nothing else. One guest of a host is measured
 * at a time. While another measurement or a migration of the guest runs, QEMU refuses: that is -EBUSY, and no fault of anybody. What
 * libvirt gives is a rate in whole MiB/s. run and free functions see only their payload; the rest runs in dispatch with the lock.
 */
#include "libvirt/host_internal.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS 100
#define SECOND_MS 1000
#define PATIENCE_MS 5000 /* beyond the window, until the result is there */
#define MIB 1048576.0
#define NS 1e9

struct measure_job {
    struct kvmig__channel_job base;
    struct kvmig__measure what;
    char *uuid;
    struct kvmig__measured measured;
    struct kvmig_error *error;
};

struct kvmig__measuring { /* owner of a job; in the list of its host until it has been measured, or is given up */
    struct kvmig__virt_host *h;
    kvmig__measured_fn fn;
    void *owner;
    struct kvmig__measuring *next, *prev;
};

/* ---- on the lane ---- */

static struct kvmig_error *refusal(const struct measure_job *job, const char *call)
{
    struct kvmig_error *error = kvmig__link_error(job->base.link, call, NULL);
    const virErrorPtr last = virGetLastError();
    const char *message = last && last->message ? last->message : "";

    /* QEMU says "still in progress" of a measurement, and libvirt waits in vain for the job lock of a migration. */
    if ((last && last->code == VIR_ERR_OPERATION_TIMEOUT) || strstr(message, "progress") || strstr(message, "migrat"))
        error->code = -EBUSY;
    else if (last && (last->code == VIR_ERR_NO_SUPPORT || last->code == VIR_ERR_CONFIG_UNSUPPORTED ||
                      last->code == VIR_ERR_OPERATION_UNSUPPORTED))
        error->code = -ENOTSUP;
    return error;
}

/* < 0: not there. */
static double figure(virTypedParameterPtr params, int n, const char *name)
{
    const virTypedParameterPtr p = virTypedParamsGet(params, n, name);

    if (!p)
        return -1;
    switch (p->type) {
    case VIR_TYPED_PARAM_INT:
        return p->value.i;
    case VIR_TYPED_PARAM_UINT:
        return p->value.ui;
    case VIR_TYPED_PARAM_LLONG:
        return (double)p->value.l;
    case VIR_TYPED_PARAM_ULLONG:
        return (double)p->value.ul;
    default:
        return -1;
    }
}

/* 1 = the result is in *out_rate, 0 = not yet, -1 = failed. */
static int look(struct measure_job *job, virDomainPtr domain, double *out_rate)
{
    virDomainPtr domains[] = { domain, NULL };
    virDomainStatsRecordPtr *records = NULL;
    const int n = virDomainListGetStats(domains, VIR_DOMAIN_STATS_DIRTYRATE, &records, 0);
    int rc = 0;

    if (n < 0) {
        job->error = refusal(job, "virDomainListGetStats");
        return -1;
    }
    if (n > 0 &&
        figure(records[0]->params, records[0]->nparams, "dirtyrate.calc_status") == VIR_DOMAIN_DIRTYRATE_MEASURED) {
        *out_rate = figure(records[0]->params, records[0]->nparams, "dirtyrate.megabytes_per_second") * MIB;
        rc = *out_rate >= 0;
        if (*out_rate > 0)
            *out_rate += MIB / 2; /* it was rounded down; an idle guest stays idle */
    }
    virDomainStatsRecordListFree(records);
    return rc;
}

static bool wait_for(struct measure_job *job, virDomainPtr domain, uint64_t window_ms, double *out_rate)
{
    const int64_t until_ms = kvmig__now_ms() + (int64_t)window_ms + PATIENCE_MS;
    int got = 0;

    poll(NULL, 0, (int)window_ms);
    while (got == 0 && kvmig__now_ms() < until_ms && !kvmig__link_is_given_up(job->base.link, &job->error)) {
        got = look(job, domain, out_rate);
        if (got == 0)
            poll(NULL, 0, POLL_MS);
    }
    if (got == 0 && !job->error)
        job->error = kvmig__error_new(ETIMEDOUT, job->base.link->host, NULL, "try again, or give dirty rates yourself",
                                      "the measurement began, but its result did not come");
    return got > 0;
}

static void measure_window(struct measure_job *job, virDomainPtr domain, uint64_t window_ms)
{
    double rate = 0;

    if (kvmig__link_is_given_up(job->base.link, &job->error))
        return;
    if (virDomainStartDirtyRateCalc(domain, (int)(window_ms / SECOND_MS), 0) < 0) {
        job->error = refusal(job, "virDomainStartDirtyRateCalc");
        return;
    }
    if (wait_for(job, domain, window_ms, &rate))
        job->measured.points[job->measured.n_points++] =
            (struct kvmig__dirty_point){ (double)window_ms / SECOND_MS, rate * (double)window_ms / SECOND_MS };
}

/* CPU seconds so far, and of how many CPUs. */
static bool cpu_time(virDomainPtr domain, double *out_s, double *out_cpus)
{
    virDomainInfo info;

    if (virDomainGetInfo(domain, &info) < 0)
        return false;
    *out_s = (double)info.cpuTime / NS;
    *out_cpus = info.nrVirtCpu ? info.nrVirtCpu : 1;
    return true;
}

static double resident(virDomainPtr domain)
{
    virDomainMemoryStatStruct stats[VIR_DOMAIN_MEMORY_STAT_NR];
    const int n = virDomainMemoryStats(domain, stats, VIR_DOMAIN_MEMORY_STAT_NR, 0);

    for (int i = 0; i < n; i++) {
        if (stats[i].tag == VIR_DOMAIN_MEMORY_STAT_RSS)
            return (double)stats[i].val * 1024;
    }
    return -1;
}

static void measure(struct measure_job *job, virDomainPtr domain)
{
    double before_s = 0, after_s = 0, cpus = 1;
    const bool known = cpu_time(domain, &before_s, &cpus);
    const int64_t begun_ms = kvmig__now_ms();
    int64_t took_ms;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(job->what.window_ms) && !job->error; i++)
        measure_window(job, domain, job->what.window_ms[i]);
    took_ms = kvmig__now_ms() - begun_ms;
    job->measured.busy = -1;
    if (known && took_ms > 0 && cpu_time(domain, &after_s, &cpus) && after_s >= before_s) {
        const double busy = (after_s - before_s) * SECOND_MS / (double)took_ms / cpus;

        job->measured.busy = busy < 1 ? busy : 1;
    }
    job->measured.resident = resident(domain);
}

static void run_measure(void *payload)
{
    struct measure_job *job = payload;
    virDomainPtr domain = kvmig__link_domain(job->base.link, job->uuid, &job->error);

    if (!domain)
        return;
    measure(job, domain);
    virDomainFree(domain);
}

static void free_measure(void *payload)
{
    struct measure_job *job = payload;

    kvmig__channel_job_clear(&job->base);
    kvmig__error_free(job->error);
    free(job->uuid);
    free(job);
}

/* ---- in dispatch ---- */

static void let_go(struct kvmig__measuring *p)
{
    if (p->prev)
        p->prev->next = p->next;
    else
        p->h->measuring = p->next;
    if (p->next)
        p->next->prev = p->prev;
}

static struct kvmig_error *no_answer(const struct kvmig__virt_host *h, int32_t status)
{
    return kvmig__error_new(status, h->uri, NULL, "look after the libvirt daemon there",
                            "the host did not end the measurement in time");
}

static void on_given_up(void *owner, const struct kvmig_error *error)
{
    struct kvmig__measuring *p = owner;

    p->fn(p->owner, NULL, error);
    free(p);
}

/* Those that wait behind a call that hangs would wait in vain. */
static void replace_lane(struct kvmig__virt_host *h)
{
    while (h->measuring) {
        struct kvmig__measuring *p = h->measuring;

        let_go(p);
        kvmig__reply_act(h->context, no_answer(h, -ETIMEDOUT), on_given_up, p);
    }
    kvmig__channel_renew(&h->measure);
}

static void measure_done(void *owner, void *payload, int32_t status)
{
    struct kvmig__measuring *p = owner;
    struct measure_job *job = payload;
    struct kvmig_error *error = NULL;

    let_go(p);
    kvmig__channel_landed(&p->h->measure, job ? &job->base : NULL);
    if (!job) {
        if (kvmig__lane_is_stuck(p->h->measure.end.lane))
            replace_lane(p->h);
        error = no_answer(p->h, status);
    }
    p->fn(p->owner, job && !job->error ? &job->measured : NULL, job ? job->error : error);
    kvmig__error_free(error);
    free(p);
}

static const struct kvmig__job_type measure_type = { "measuring a guest", run_measure, measure_done, free_measure };

void kvmig__virt_measure(struct kvmig__host_backend *backend, const char *uuid, const struct kvmig__measure *what,
                         kvmig__measured_fn fn, void *owner)
{
    struct kvmig__virt_host *h = (struct kvmig__virt_host *)backend;
    struct kvmig__measuring *p = kvmig__calloc(1, sizeof(*p));
    struct measure_job *job;
    const int64_t now_ms = kvmig__now_ms();

    *p = (struct kvmig__measuring){ .h = h, .fn = fn, .owner = owner };
    if (kvmig__channel_is_jammed(&h->measure)) {
        kvmig__reply_act(h->context,
                         kvmig__error_new(-KVMIG_EUNREACHABLE, h->uri, NULL, "look after the libvirt daemon there",
                                          "%d earlier calls to the host still hang", KVMIG__CHANNEL_MAX_LOST),
                         on_given_up, p);
        return;
    }
    p->next = h->measuring;
    if (h->measuring)
        h->measuring->prev = p;
    h->measuring = p;
    job = kvmig__calloc(1, sizeof(*job));
    job->what = *what;
    job->uuid = kvmig__strdup(uuid);
    if (h->measure.awaited == 0 || h->measure_until_ms < now_ms)
        h->measure_until_ms = now_ms;
    h->measure_until_ms += what->timeout_ms; /* those before it come first */
    kvmig__channel_submit(&h->measure, &measure_type, p, &job->base, h->measure_until_ms - now_ms);
}

void kvmig__virt_measure_init(struct kvmig__virt_host *h, virConnectPtr given)
{
    kvmig__channel_init(&h->measure, h->context, "measure", h->uri, given);
}

void kvmig__virt_measure_close(struct kvmig__virt_host *h)
{
    kvmig__channel_close(&h->measure);
    while (h->measuring) {
        struct kvmig__measuring *p = h->measuring;

        let_go(p);
        free(p);
    }
}
