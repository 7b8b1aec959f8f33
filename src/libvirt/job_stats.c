/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Job statistics of libvirt -> progress figures and the figures of the report. Every key is optional: what libvirt does not
 * say stays unknown (UINT64_MAX), except counters that libvirt leaves out while they are zero. Estimates nothing.
 *
 * Pure; any thread; nothing is kept.
 */
#include "libvirt/job.h"

#include <string.h>

static uint64_t figure(virTypedParameterPtr params, int n, const char *name)
{
    virTypedParameterPtr p = n > 0 ? virTypedParamsGet(params, n, name) : NULL;
    if (!p)
        return KVMIG__UNKNOWN;
    switch (p->type) {
    case VIR_TYPED_PARAM_ULLONG:
        return p->value.ul;
    case VIR_TYPED_PARAM_UINT:
        return p->value.ui;
    case VIR_TYPED_PARAM_LLONG:
        return p->value.l < 0 ? KVMIG__UNKNOWN : (uint64_t)p->value.l;
    case VIR_TYPED_PARAM_INT:
        return p->value.i < 0 ? KVMIG__UNKNOWN : (uint64_t)p->value.i;
    default:
        return KVMIG__UNKNOWN;
    }
}

static uint64_t known_or(uint64_t value, uint64_t fallback)
{
    return value == KVMIG__UNKNOWN ? fallback : value;
}

static void read_memory(virTypedParameterPtr params, int n, struct kvmig_progress *p)
{
    p->iteration = known_or(figure(params, n, VIR_DOMAIN_JOB_MEMORY_ITERATION), 0);
    p->memory_total = figure(params, n, VIR_DOMAIN_JOB_MEMORY_TOTAL);
    if (p->memory_total == 0) { /* the disks go first: libvirt shows zeroes until the memory phase begins */
        p->memory_total = KVMIG__UNKNOWN;
        return;
    }
    p->memory_sent = figure(params, n, VIR_DOMAIN_JOB_MEMORY_PROCESSED);
    p->memory_remaining = figure(params, n, VIR_DOMAIN_JOB_MEMORY_REMAINING);
    p->pages_normal = figure(params, n, VIR_DOMAIN_JOB_MEMORY_NORMAL);
    p->pages_constant = figure(params, n, VIR_DOMAIN_JOB_MEMORY_CONSTANT);
    p->page_size = figure(params, n, VIR_DOMAIN_JOB_MEMORY_PAGE_SIZE);
    p->bandwidth_bytes_per_s = figure(params, n, VIR_DOMAIN_JOB_MEMORY_BPS);
    /* libvirt leaves the rate out while it is zero; before the second round it is not measured yet */
    uint64_t pages =
        known_or(figure(params, n, VIR_DOMAIN_JOB_MEMORY_DIRTY_RATE), p->iteration > 1 ? 0 : KVMIG__UNKNOWN);
    if (pages == 0)
        p->dirty_bytes_per_s = 0;
    else if (pages != KVMIG__UNKNOWN && p->page_size != KVMIG__UNKNOWN)
        p->dirty_bytes_per_s = pages * p->page_size;
}

void kvmig__job_sample_read(int type, virTypedParameterPtr params, int n_params, struct kvmig__job_sample *out)
{
    memset(out, 0, sizeof(*out));
    out->type = type;
    struct kvmig_progress *p = &out->progress;
    p->size = sizeof(*p);
    p->elapsed_ms = figure(params, n_params, VIR_DOMAIN_JOB_TIME_ELAPSED);
    p->memory_sent = p->memory_remaining = p->pages_normal = p->pages_constant = p->page_size = KVMIG__UNKNOWN;
    p->dirty_bytes_per_s = p->bandwidth_bytes_per_s = p->eta_ms = p->final_pause_ms = KVMIG__UNKNOWN;
    read_memory(params, n_params, p);
    p->disk_total = figure(params, n_params, VIR_DOMAIN_JOB_DISK_TOTAL);
    p->disk_sent = figure(params, n_params, VIR_DOMAIN_JOB_DISK_PROCESSED);
    p->disk_remaining = figure(params, n_params, VIR_DOMAIN_JOB_DISK_REMAINING);
    p->expected_pause_ms = figure(params, n_params, VIR_DOMAIN_JOB_DOWNTIME);
    p->throttle_percent = (int32_t)known_or(figure(params, n_params, VIR_DOMAIN_JOB_AUTO_CONVERGE_THROTTLE), 0);
    p->eta_reason = KVMIG_ETA_UNKNOWN;
    out->downtime_ms = p->expected_pause_ms;
    out->downtime_net_ms = figure(params, n_params, VIR_DOMAIN_JOB_DOWNTIME_NET);
    out->setup_ms = figure(params, n_params, VIR_DOMAIN_JOB_SETUP_TIME);
}

void kvmig__job_to_report(const struct kvmig__job_sample *sample, bool completed, struct kvmig__report *report)
{
    const struct kvmig_progress *p = &sample->progress;
    report->total_ms = p->elapsed_ms;
    report->memory_total = p->memory_total;
    report->memory_sent = p->memory_sent;
    report->pages_normal = p->pages_normal;
    report->pages_constant = p->pages_constant;
    report->page_size = p->page_size;
    /* A finished job may no longer count its disks: then the last poll has to do. */
    if (!completed || (p->disk_total && p->disk_total != KVMIG__UNKNOWN)) {
        report->disk_total = p->disk_total;
        report->disk_sent = p->disk_sent;
    }
    report->iterations = p->iteration;
    report->bandwidth_bytes_per_s = p->bandwidth_bytes_per_s;
    report->setup_ms = sample->setup_ms;
    if (completed) { /* of a running job the same keys tell what QEMU expects, not what was */
        report->pause_source_ms = sample->downtime_net_ms;
        report->pause_total_ms = sample->downtime_ms;
    }
}
