/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How long a migration still takes, and what holds it: from successive progress figures. Pure; time comes in with the
 * figures.
 */
#ifndef KVMIG_SRC_ETA_H
#define KVMIG_SRC_ETA_H

#include <stdint.h>

#include <kvmig/event.h>

/* What the caller allows; 0 = not limited (downtime: QEMU's default). */
struct kvmig__eta_limits {
    uint64_t bandwidth_bytes_per_s;
    uint64_t postcopy_bandwidth_bytes_per_s;
    uint64_t max_downtime_ms;
};

/* One memory round, as its first figures tell: only they are exact, the dirty bitmap has just been read. */
struct kvmig__eta_round {
    uint64_t remaining; /* bytes */
    uint64_t dirty_per_s; /* bytes; UINT64_MAX = not known */
    double rate; /* bytes/s, smoothed, at that time */
};

struct kvmig__eta {
    struct kvmig__eta_limits limits;
    double memory_rate, disk_rate; /* bytes/s, smoothed; 0 = nothing moved yet */
    uint64_t elapsed_ms, memory_sent, disk_sent, iteration; /* of the last sample; UINT64_MAX = none */
    struct kvmig__eta_round rounds[2]; /* the last two, oldest first */
    uint32_t n_rounds;
};

struct kvmig__eta_answer {
    uint64_t ms; /* UINT64_MAX = not known, or it may never end */
    int32_t reason; /* enum kvmig_eta_reason */
};

void kvmig__eta_init(struct kvmig__eta *eta, const struct kvmig__eta_limits *limits);
/* mode: enum kvmig_mode. Figures that are not known (UINT64_MAX) are allowed everywhere. */
struct kvmig__eta_answer kvmig__eta_sample(struct kvmig__eta *eta, const struct kvmig_progress *progress, int32_t mode);

#endif
