/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The report's data: making it, its lists, its end. Does not write JSON (report_json.c) and tells no time. Guarded by the
 * context lock like the session that owns it.
 */
#include "session/report.h"

#include "cluster/model.h"

#include <stdlib.h>

struct kvmig__report *kvmig__report_new(void)
{
    struct kvmig__report *report = kvmig__calloc(1, sizeof(*report));

    report->pause_source_ms = report->pause_total_ms = report->handover_wait_ms = KVMIG__UNKNOWN;
    report->total_ms = report->setup_ms = KVMIG__UNKNOWN;
    report->memory_total = report->memory_sent = KVMIG__UNKNOWN;
    report->pages_normal = report->pages_constant = report->page_size = KVMIG__UNKNOWN;
    report->disk_total = report->disk_sent = KVMIG__UNKNOWN;
    report->iterations = report->bandwidth_bytes_per_s = KVMIG__UNKNOWN;
    return report;
}

static void item_clear(struct kvmig__report_item *item)
{
    free(item->kind);
    free(item->name);
    free(item->host);
    free(item->outcome);
}

void kvmig__report_free(struct kvmig__report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->created.n; i++)
        item_clear(&report->created.v[i]);
    free(report->created.v);
    free(report->phases.v);
    kvmig__findings_clear(&report->notices);
    kvmig__error_free(report->error);
    free(report->flags);
    free(report->domain_job);
    free(report->final_host);
    free(report->final_proof);
    free(report->final_verdict);
    free(report->final_hosts);
    free(report);
}

void kvmig__report_phase_enter(struct kvmig__report *report, int32_t phase, int64_t now_ms)
{
    struct kvmig__report_phase *entered;

    if (report->phases.n)
        report->phases.v[report->phases.n - 1].left_ms = now_ms;
    entered = KVMIG__PUSH(&report->phases);
    *entered = (struct kvmig__report_phase){ .phase = phase, .entered_ms = now_ms };
}

struct kvmig__report_item *kvmig__report_created(struct kvmig__report *report, const char *kind, const char *name,
                                                 const char *host)
{
    struct kvmig__report_item *item = KVMIG__PUSH(&report->created);

    item->kind = kvmig__strdup(kind);
    item->name = kvmig__strdup(name);
    item->host = kvmig__strdup(host);
    return item;
}
