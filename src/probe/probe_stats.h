/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is kept of the tries against one target: counts, the longest gap between two successes, and a time series of
 * bounded size. Pure: no thread, clock or descriptor; times come in as milliseconds of one clock that does not go back.
 *
 * When things happened. A success counts at the time when its try ENDED: that is when a client had its answer. So a gap
 * goes from the end of the last success to the end of the first one after it. It contains the whole time during which
 * the service was away, and is longer than that by at most one interval and one round trip. A failure counts in the
 * series at the time when its try BEGAN: that is when the client asked in vain, and it does not smear the time-out over
 * the time when the service was back already.
 */
#ifndef KVMIG_SRC_PROBE_STATS_H
#define KVMIG_SRC_PROBE_STATS_H

#include "base/base.h"

/* Of the series of one target; a longer one is made coarser where it tells least. */
#define KVMIG__PROBE_MAX_SPANS 512

/* A time in which nothing changed: tries succeeded one after another, or none did. */
struct kvmig__probe_span {
    int64_t begin_ms, end_ms; /* of the first and of the last try in it */
    uint64_t successes, failures;
};

struct kvmig__probe_stats {
    int64_t hole_ms; /* successes that are further apart do not belong to one span */
    uint64_t tries, failures;
    int64_t last_success_ms, last_failure_ms; /* when they ended; 0 = none yet */
    int64_t gap_begin_ms, gap_end_ms; /* the longest that has ended; both 0 = none yet */
    struct kvmig__probe_span *spans; /* by time, none overlaps another */
    size_t n_spans, room;
};

struct kvmig__probe_gap {
    int64_t begin_ms, end_ms;
    bool is_open; /* no success has ended it yet */
};

void kvmig__probe_stats_init(struct kvmig__probe_stats *stats, int64_t hole_ms);
void kvmig__probe_stats_clear(struct kvmig__probe_stats *stats);
/* A success comes when it ends, in that order. */
void kvmig__probe_stats_success(struct kvmig__probe_stats *stats, int64_t ended_ms);
/* A failure may be known long after younger tries have succeeded. */
void kvmig__probe_stats_failure(struct kvmig__probe_stats *stats, int64_t began_ms, int64_t ended_ms);
/* The longest gap at now_ms, an open one included. False if none is known: nothing has succeeded yet. */
bool kvmig__probe_stats_gap(const struct kvmig__probe_stats *stats, int64_t now_ms, struct kvmig__probe_gap *out_gap);

#endif
