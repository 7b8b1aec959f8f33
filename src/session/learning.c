/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From the figures of one migration to what it teaches: how much became dirty in passes of which length, how long nothing flowed, how
 * fast the link was. A guest that was throttled or went on in post-copy teaches nothing of its dirtying; a migration whose limits were
 * changed on the way teaches nothing. Does not: keep anything beyond the migration. Pure; any thread; owns nothing.
 */
#include "session/learning.h"

#include "cluster/model.h"

#include <math.h>

#define MS 1000.0
#define SHARE_OF_LIMIT                                                                                                 \
    0.83 /* of what fits into the pause is sent in it, on average: a pass stops within a window of its goal */

static bool known(uint64_t value)
{
    return value != KVMIG__UNKNOWN;
}

/* QEMU measures the dirty rate from one look at the dirty log to another at least a second later; a new value marks such a look. */
static void take_dirty(struct kvmig__learning *l, const struct kvmig_progress *p)
{
    const double seconds = p->elapsed_ms > l->rate_ms ? (double)(p->elapsed_ms - l->rate_ms) / MS : 0;

    if (p->iteration < 2 || !known(p->dirty_bytes_per_s) || p->dirty_bytes_per_s == l->dirty_per_s)
        return;
    if (p->dirty_bytes_per_s && seconds > 0.5 && !l->throttled && l->n_points < KVMIG__CURVE_POINTS)
        l->points[l->n_points++] = (struct kvmig__dirty_point){ seconds, (double)p->dirty_bytes_per_s * seconds };
    l->dirty_per_s = p->dirty_bytes_per_s;
    l->rate_ms = p->elapsed_ms;
}

void kvmig__learning_sample(struct kvmig__learning *l, const struct kvmig_progress *p, int32_t mode)
{
    if (!known(p->elapsed_ms))
        return;
    if (!l->begun) {
        l->begun = true;
        l->first_ms = p->elapsed_ms;
        l->dirty_per_s = KVMIG__UNKNOWN;
    }
    l->post_copy = l->post_copy || mode == KVMIG_MODE_POST_COPY;
    l->throttled = l->throttled || p->throttle_percent > 0;
    if (!l->in_memory && p->iteration > 0) {
        l->in_memory = true;
        l->memory_ms = l->rate_ms = p->elapsed_ms;
    }
    if (l->in_memory && mode == KVMIG_MODE_PRE_COPY)
        take_dirty(l, p);
}

static double or_unknown(uint64_t value, double factor)
{
    return known(value) ? (double)value * factor : -1;
}

static void take_memory(const struct kvmig__report *report, struct kvmig__seen *out)
{
    const double page = or_unknown(report->page_size, 1), zero = or_unknown(report->pages_constant, 1);

    out->memory = or_unknown(report->memory_total, 1);
    out->used = out->memory > 0 && page > 0 && zero >= 0 ? out->memory - zero * page : -1;
    if (out->used < 0)
        out->used = -1;
}

static bool copied_disks(const struct kvmig__report *report)
{
    return known(report->disk_sent) && report->disk_sent;
}

bool kvmig__learning_end(const struct kvmig__learning *l, const struct kvmig__report *report, double cap,
                         double limit_s, struct kvmig__seen *out)
{
    const double sent = or_unknown(report->memory_sent, 1), rate = or_unknown(report->bandwidth_bytes_per_s, 1);

    *out = (struct kvmig__seen){
        .call_s = -1, .transfer_s = -1, .rate = -1, .sent = -1, .pause_s = -1, .last = -1, .cap = cap
    };
    if (l->tuned || l->post_copy || report->postcopy_used || sent <= 0 || rate <= 0)
        return false;
    /* The many small passes of a throttled guest make what is overhead hard to tell. */
    if (!l->throttled && report->call_started_ms && report->call_ended_ms > report->call_started_ms)
        out->call_s = (double)(report->call_ended_ms - report->call_started_ms) / MS;
    out->sent = sent;
    out->rate = rate;
    out->transfer_s = sent / rate;
    if (known(report->total_ms) && known(report->setup_ms) && report->total_ms > report->setup_ms &&
        !copied_disks(report))
        out->transfer_s = (double)(report->total_ms - report->setup_ms) / MS; /* the whole, not a moment */
    if (copied_disks(report) && l->in_memory && l->memory_ms > l->first_ms) {
        out->disk_bytes = (double)report->disk_sent;
        out->disk_s = (double)(l->memory_ms - l->first_ms) / MS;
    }
    take_memory(report, out);
    out->pause_s = or_unknown(report->pause_source_ms, 1 / MS);
    out->last = fmin(rate * limit_s * SHARE_OF_LIMIT, sent);
    for (size_t i = 0; i < l->n_points; i++)
        out->points[out->n_points++] = l->points[i];
    return true;
}
