/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts, the longest gap and the series of one target; probe_stats.h says which time a try counts at. Does not know what
 * a try is. Pure; any thread, under whatever lock guards the struct. The spans belong to the struct.
 */
#include "probe/probe_stats.h"

#include <stdlib.h>
#include <string.h>

void kvmig__probe_stats_init(struct kvmig__probe_stats *stats, int64_t hole_ms)
{
    *stats = (struct kvmig__probe_stats){ .hole_ms = hole_ms };
}

void kvmig__probe_stats_clear(struct kvmig__probe_stats *stats)
{
    free(stats->spans);
    *stats = (struct kvmig__probe_stats){ .hole_ms = stats->hole_ms };
}

/* ---- the series ---- */

/* Whether one span of both would hide where a gap begins or ends. */
static bool parts(const struct kvmig__probe_span *before, const struct kvmig__probe_span *after, int64_t gap_begin_ms,
                  int64_t gap_end_ms)
{
    return (before->successes || after->successes) && before->begin_ms < gap_end_ms && after->end_ms > gap_begin_ms;
}

/* Makes one span of the two neighbours that together are the shortest. The longest gap stays as it is, and so does the one
 * that is open, which may grow longer. */
static void make_coarser(struct kvmig__probe_stats *stats)
{
    struct kvmig__probe_span *best = NULL;
    size_t at;

    for (size_t i = 0; i + 1 < stats->n_spans; i++) {
        struct kvmig__probe_span *span = &stats->spans[i];

        if (!parts(span, span + 1, stats->gap_begin_ms, stats->gap_end_ms) &&
            !parts(span, span + 1, stats->last_success_ms, INT64_MAX) &&
            (!best || span[1].end_ms - span->begin_ms < best[1].end_ms - best->begin_ms))
            best = span;
    }
    if (!best)
        return;
    best->end_ms = best[1].end_ms;
    best->successes += best[1].successes;
    best->failures += best[1].failures;
    at = (size_t)(best - stats->spans) + 1;
    stats->n_spans--;
    memmove(best + 1, best + 2, (stats->n_spans - at) * sizeof(*best));
}

static struct kvmig__probe_span *insert_span(struct kvmig__probe_stats *stats, size_t at, int64_t time_ms)
{
    struct kvmig__probe_span *span;

    if (stats->n_spans == stats->room) {
        stats->room = stats->room ? 2 * stats->room : 8;
        stats->spans = kvmig__realloc_array(stats->spans, stats->room, sizeof(*stats->spans));
    }
    span = &stats->spans[at];
    memmove(span + 1, span, (stats->n_spans - at) * sizeof(*span));
    stats->n_spans++;
    *span = (struct kvmig__probe_span){ .begin_ms = time_ms, .end_ms = time_ms };
    return span;
}

static void place_success(struct kvmig__probe_stats *stats, int64_t time_ms)
{
    struct kvmig__probe_span *last = stats->n_spans ? &stats->spans[stats->n_spans - 1] : NULL;

    if (!last || !last->successes || time_ms - last->end_ms > stats->hole_ms)
        last = insert_span(stats, stats->n_spans, time_ms);
    if (time_ms > last->end_ms)
        last->end_ms = time_ms;
    last->successes++;
}

/* Into the span that it lies in, or the neighbour of its kind that it goes on from, or one of its own. */
static void place_failure(struct kvmig__probe_stats *stats, int64_t time_ms)
{
    size_t after = stats->n_spans; /* first span that begins after it */
    struct kvmig__probe_span *before, *next, *span;

    while (after > 0 && stats->spans[after - 1].begin_ms > time_ms)
        after--;
    before = after > 0 ? &stats->spans[after - 1] : NULL;
    next = after < stats->n_spans ? &stats->spans[after] : NULL;
    if (before && (time_ms <= before->end_ms || (!before->successes && time_ms - before->end_ms <= stats->hole_ms)))
        span = before;
    else if (next && !next->successes && next->begin_ms - time_ms <= stats->hole_ms)
        span = next;
    else
        span = insert_span(stats, after, time_ms);
    if (time_ms < span->begin_ms)
        span->begin_ms = time_ms;
    if (time_ms > span->end_ms)
        span->end_ms = time_ms;
    span->failures++;
}

static void bound(struct kvmig__probe_stats *stats)
{
    if (stats->n_spans > KVMIG__PROBE_MAX_SPANS)
        make_coarser(stats);
}

/* ---- tries ---- */

void kvmig__probe_stats_success(struct kvmig__probe_stats *stats, int64_t ended_ms)
{
    const int64_t last_ms = stats->last_success_ms;

    stats->tries++;
    if (last_ms && ended_ms - last_ms > stats->gap_end_ms - stats->gap_begin_ms) {
        stats->gap_begin_ms = last_ms;
        stats->gap_end_ms = ended_ms;
    }
    stats->last_success_ms = ended_ms;
    place_success(stats, ended_ms);
    bound(stats);
}

void kvmig__probe_stats_failure(struct kvmig__probe_stats *stats, int64_t began_ms, int64_t ended_ms)
{
    stats->tries++;
    stats->failures++;
    if (ended_ms > stats->last_failure_ms)
        stats->last_failure_ms = ended_ms;
    place_failure(stats, began_ms);
    bound(stats);
}

bool kvmig__probe_stats_gap(const struct kvmig__probe_stats *stats, int64_t now_ms, struct kvmig__probe_gap *out_gap)
{
    const int64_t last_ms = stats->last_success_ms;

    *out_gap = (struct kvmig__probe_gap){ .begin_ms = stats->gap_begin_ms, .end_ms = stats->gap_end_ms };
    if (!last_ms)
        return false;
    if (!out_gap->begin_ms || now_ms - last_ms > out_gap->end_ms - out_gap->begin_ms)
        *out_gap = (struct kvmig__probe_gap){ .begin_ms = last_ms, .end_ms = now_ms, .is_open = true };
    return true;
}
