/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Single looks at a job: virsh domjobinfo, block jobs, what a probe measured. Statistics over time are judged in series.c. Pure.
 */
#include "diagnose/diagnose.h"

#define SILENT_MS 30000 /* without a byte: no normal set-up takes so long */
#define NETWORK_S 30 /* a port becomes active within some seconds */

static void note_pause(struct kvmig__case *c, const struct kvmig__fact_job *job)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_uint(&detail, "ms", job->downtime_ms);
    kvmig__detail_str(&detail, "source", job->file);
    kvmig__case_note(c, "GUEST_PAUSE", KVMIG_SEVERITY_INFO, kvmig__strdup(c->vm_object), &detail, NULL,
                     "The guest was stopped for %llu ms at the switch.", (unsigned long long)job->downtime_ms);
}

/* One look is enough if nothing at all has moved. */
static void look_at_silence(struct kvmig__case *c, const struct kvmig__fact_job *job)
{
    struct kvmig__detail detail = { 0 };

    if (job->processed != 0 || job->elapsed_ms == KVMIG__UNKNOWN || job->elapsed_ms < SILENT_MS ||
        job->disk_total != KVMIG__UNKNOWN || c->facts->series.n || c->facts->block_jobs.n)
        return;
    kvmig__detail_uint(&detail, "silent_ms", job->elapsed_ms);
    kvmig__detail_str(&detail, "source", job->file);
    kvmig__case_note(c, "STUCK_HANDSHAKE", KVMIG_SEVERITY_ERROR, kvmig__strdup(c->vm_object), &detail,
                     "Abort it, and look at what connects the hosts: TLS together with parallel connections, "
                     "firewalls, the migration port.",
                     "Not a byte has moved since the start %llu s ago: the connection was never set up.",
                     (unsigned long long)job->elapsed_ms / 1000);
}

static void look_at_job(struct kvmig__case *c, const struct kvmig__fact_job *job)
{
    if (job->other)
        return;
    if (kvmig__str_eq(job->type, "Completed")) {
        /* A failure after it would have cleared it. */
        kvmig__case_state(c, KVMIG__KNOWN_ENDED, "SUCCEEDED", "the job is completed");
        if (job->downtime_ms != KVMIG__UNKNOWN)
            note_pause(c, job);
    } else if (job->incoming) {
        return;
    } else if (kvmig__str_eq(job->type, "Failed")) {
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "the source's job failed");
    } else if (kvmig__str_eq(job->type, "Cancelled")) {
        kvmig__case_state(c, KVMIG__KNOWN_ENDED, "CANCELLED", "the source's job was cancelled; who asked is not told");
    } else if (kvmig__str_eq(job->type, "Bounded") || kvmig__str_eq(job->type, "Unbounded")) {
        kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "the source's job runs");
        look_at_silence(c, job);
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
    const struct kvmig__fact_probe *probe = &c->facts->probe;
    struct kvmig__detail gap = { 0 }, pause = { 0 };

    if (probe->service_gap_ms != KVMIG__UNKNOWN && probe->service_gap_ms) {
        kvmig__detail_uint(&gap, "ms", probe->service_gap_ms);
        kvmig__case_note(c, "SERVICE_GAP", KVMIG_SEVERITY_INFO, kvmig__strdup(c->vm_object), &gap, NULL,
                         "Clients did not reach the guest for %llu ms.", (unsigned long long)probe->service_gap_ms);
    }
    if (probe->guest_gap_ms == KVMIG__UNKNOWN || !probe->guest_gap_ms ||
        kvmig__findings_has(&c->findings, "GUEST_PAUSE"))
        return;
    kvmig__detail_uint(&pause, "ms", probe->guest_gap_ms);
    kvmig__case_note(c, "GUEST_PAUSE", KVMIG_SEVERITY_INFO, kvmig__strdup(c->vm_object), &pause, NULL,
                     "The guest itself noticed a stop of at most %llu ms.", (unsigned long long)probe->guest_gap_ms);
}

/* Something holds the start back until the network has told it something. */
static void look_at_wait(struct kvmig__case *c, const struct kvmig__fact_network_wait *wait)
{
    const int64_t now = wait->now >= 0 ? wait->now : c->now_ms / 1000;
    const int64_t waited = wait->since >= 0 && now > wait->since ? now - wait->since : 0;
    struct kvmig__detail detail = { 0 };

    kvmig__case_state(c, KVMIG__KNOWN_WAITING, "WAITING", "it waits for an event of the network");
    if (waited < NETWORK_S)
        return;
    kvmig__detail_str(&detail, "event", wait->waiting_for);
    kvmig__detail_uint(&detail, "waited_s", (uint64_t)waited);
    if (wait->host)
        kvmig__detail_str(&detail, "host", wait->host);
    if (wait->port_status)
        kvmig__detail_str(&detail, "port_status", wait->port_status);
    if (wait->binding_status)
        kvmig__detail_str(&detail, "binding_status", wait->binding_status);
    kvmig__case_note(c, "WAITING_NETWORK_EVENT", KVMIG_SEVERITY_ERROR, kvmig__strdup(c->vm_object), &detail,
                     "See why the port does not become active on that host: its agent, its binding, its interface. "
                     "There is no job yet that could be aborted.",
                     "The start waits for %s, which has not come for %lld s.",
                     wait->waiting_for ? wait->waiting_for : "an event of the network", (long long)waited);
}

void kvmig__diagnose_jobs(struct kvmig__case *c)
{
    for (size_t i = 0; i < c->facts->jobs.n; i++)
        look_at_job(c, &c->facts->jobs.v[i]);
    for (size_t i = 0; i < c->facts->block_jobs.n; i++)
        look_at_block_job(c, &c->facts->block_jobs.v[i]);
    look_at_probe(c);
    for (size_t i = 0; i < c->facts->network_waits.n; i++)
        look_at_wait(c, &c->facts->network_waits.v[i]);
}
