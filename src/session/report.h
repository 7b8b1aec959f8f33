/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a session tells in the end. Plain data, filled by the session and its driver; report.c writes it as JSON.
 */
#ifndef KVMIG_SRC_REPORT_H
#define KVMIG_SRC_REPORT_H

#include "base/finding_internal.h"
#include <kvmig/event.h>

struct kvmig__report_phase {
    int32_t phase;
    int64_t entered_ms, left_ms; /* CLOCK_MONOTONIC; 0 = not left */
};
struct kvmig__report_item { /* something that was created, and what became of it */
    char *kind; /* "volume", "domain", ... */
    char *name; /* path, UUID */
    char *host;
    char *outcome; /* "kept", "undone", "failed: ..." ; NULL = not decided yet */
};
struct kvmig__report {
    struct {
        struct kvmig__report_phase *v;
        size_t n;
    } phases;
    struct {
        struct kvmig__report_item *v;
        size_t n;
    } created;
    struct kvmig_findings notices; /* dropped features, remarks */
    struct kvmig_error *error; /* the cause, if it did not succeed */
    char *flags; /* the libvirt flags that were used, names joined by "|" */
    char *domain_job; /* "peer2peer" or "managed" */
    int64_t started_ms, ended_ms, started_wall_ms;
    int64_t call_started_ms, call_ended_ms; /* the migrate call */
    int64_t cancel_asked_ms, cancel_settled_ms;
    int32_t cancel_result; /* enum kvmig_cancel_result; 0 = never asked */
    /* figures of the completed job; KVMIG__UNKNOWN where libvirt did not say */
    uint64_t pause_source_ms; /* downtime_net: measured on the source */
    uint64_t pause_total_ms; /* downtime: from the source's stop to the target's start, by the hosts' clocks */
    uint64_t handover_wait_ms; /* strict hand-over: from the end of the call until the target was resumed */
    uint64_t total_ms, setup_ms;
    uint64_t memory_total, memory_sent, pages_normal, pages_constant, page_size;
    uint64_t disk_total, disk_sent;
    uint64_t iterations;
    uint64_t bandwidth_bytes_per_s;
    bool postcopy_used;
    char *final_host; /* where the guest was proven to run at the end; NULL = not proven */
    char *final_proof; /* what proves it */
    char *final_verdict; /* the resolver's verdict name */
    char *final_hosts; /* what the nodes' own hosts said to that (witness.h); NULL = they were not asked */
};
struct kvmig__report *kvmig__report_new(void);
void kvmig__report_free(struct kvmig__report *report);
void kvmig__report_phase_enter(struct kvmig__report *report, int32_t phase, int64_t now_ms);
/* The item is valid until the next one is added. */
struct kvmig__report_item *kvmig__report_created(struct kvmig__report *report, const char *kind, const char *name,
                                                 const char *host);

struct kvmig_plan;
struct json_object;
/* Without the ports and probes, which the session adds. Owned. */
struct json_object *kvmig__report_json(const struct kvmig__report *report, const struct kvmig_plan *plan,
                                       const char *session_id, int32_t phase, int64_t now_ms);
#endif
