/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Single looks at a job: virsh domjobinfo, block jobs, what a probe measured. Statistics over time are judged in series.c. Pure.
 */
#include "diagnose/diagnose.h"

static void note_pause(struct kvmig__case *c, const struct kvmig__fact_job *job)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_uint(&detail, "ms", job->downtime_ms);
    kvmig__detail_str(&detail, "source", job->file);
    kvmig__case_note(c, "GUEST_PAUSE", KVMIG_SEVERITY_INFO, kvmig__strdup(c->vm_object), &detail, NULL,
                     "The guest was stopped for %llu ms at the switch.", (unsigned long long)job->downtime_ms);
}

static void look_at_job(struct kvmig__case *c, const struct kvmig__fact_job *job)
{
    if (job->incoming)
        return;
    if (kvmig__str_eq(job->type, "Completed")) {
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "SUCCEEDED", "the source's job is completed");
        if (job->downtime_ms != KVMIG__UNKNOWN)
            note_pause(c, job);
    } else if (kvmig__str_eq(job->type, "Failed")) {
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "the source's job failed");
    } else if (kvmig__str_eq(job->type, "Cancelled")) {
        kvmig__case_state(c, KVMIG__KNOWN_ENDED, "CANCELLED", "the source's job was cancelled; who asked is not told");
    } else if (kvmig__str_eq(job->type, "Bounded") || kvmig__str_eq(job->type, "Unbounded")) {
        kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "the source's job runs");
    }
}

/* A mirror may be at 100 % and not ready: the copy of memory waits for that. */
static void look_at_block_job(struct kvmig__case *c, const struct kvmig__fact_block_job *job)
{
    struct kvmig__detail detail = { 0 };

    if (!kvmig__str_eq(job->type, "mirror") || job->ready != 0 || !job->device)
        return;
    kvmig__detail_str(&detail, "device", job->device);
    if (job->offset != KVMIG__UNKNOWN && job->length != KVMIG__UNKNOWN) {
        kvmig__detail_uint(&detail, "offset", job->offset);
        kvmig__detail_uint(&detail, "len", job->length);
    }
    kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "a disk is still being copied");
    kvmig__case_note(c, "DISK_NOT_READY", KVMIG_SEVERITY_INFO, kvmig__asprintf("disk/%s", job->device), &detail,
                     "Wait: memory is copied once every mirror is ready.",
                     "The copy of %s is not ready, so the copy of memory has not begun.", job->device);
}

static void look_at_probe(struct kvmig__case *c)
{
    struct kvmig__detail detail = { 0 };

    if (c->facts->probe.service_gap_ms == KVMIG__UNKNOWN)
        return;
    kvmig__detail_uint(&detail, "ms", c->facts->probe.service_gap_ms);
    kvmig__case_note(c, "SERVICE_GAP", KVMIG_SEVERITY_INFO, kvmig__strdup(c->vm_object), &detail, NULL,
                     "Clients did not reach the guest for %llu ms.",
                     (unsigned long long)c->facts->probe.service_gap_ms);
}

void kvmig__diagnose_jobs(struct kvmig__case *c)
{
    for (size_t i = 0; i < c->facts->jobs.n; i++)
        look_at_job(c, &c->facts->jobs.v[i]);
    for (size_t i = 0; i < c->facts->block_jobs.n; i++)
        look_at_block_job(c, &c->facts->block_jobs.v[i]);
    look_at_probe(c);
}
