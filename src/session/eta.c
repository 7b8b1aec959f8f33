/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Time left, from progress figures. What memory remains falls within a round and jumps when the next one begins, so a
 * round is judged by the figures at its start, and between rounds only the share of the present one that is still to be sent
 * is known. Does not steer anything. Pure; any thread; owns nothing.
 *
 * Model: each round sends what was dirtied in the one before it. The ratio of two successive rounds is measured (or, after
 * the first round, taken from the dirty rate), and the rounds to come shrink by it until one fits into the pause that is
 * allowed. It is no forecast for a guest that dirties faster than the link carries: that is said by the reason.
 */
#include "session/eta.h"

#include <stdbool.h>

#define UNKNOWN UINT64_MAX
#define DEFAULT_DOWNTIME_MS 300 /* QEMU's */
#define SMOOTHING_MS 2000.0 /* weight of a sample = its time / (its time + this) */
#define NEAR 0.9 /* this share of a limit counts as the limit: rates are measured over short times */
#define SHRINKS 0.96 /* a round is smaller than the one before only if it is so by more than noise */
#define STEEPEST 0.95 /* ratio of rounds that is still worth a forecast */
#define MOST_ROUNDS 200

static bool known(uint64_t value)
{
    return value != UNKNOWN;
}

static bool some(uint64_t value)
{
    return known(value) && value > 0;
}

void kvmig__eta_init(struct kvmig__eta *eta, const struct kvmig__eta_limits *limits)
{
    *eta = (struct kvmig__eta){
        .limits = *limits, .elapsed_ms = UNKNOWN, .memory_sent = UNKNOWN, .disk_sent = UNKNOWN, .iteration = UNKNOWN
    };
}

static void smooth(double *rate, double sample, double ms)
{
    double weight = ms / (ms + SMOOTHING_MS);

    *rate = *rate > 0 ? *rate + weight * (sample - *rate) : sample;
}

/* Bytes per second between two samples; < 0 if the figures do not tell. */
static double rate_between(uint64_t before, uint64_t now, double ms)
{
    return known(before) && known(now) && now >= before && ms > 0 ? (double)(now - before) * 1000 / ms : -1;
}

static void measure(struct kvmig__eta *eta, const struct kvmig_progress *p)
{
    double ms = known(eta->elapsed_ms) && known(p->elapsed_ms) && p->elapsed_ms > eta->elapsed_ms
                    ? (double)(p->elapsed_ms - eta->elapsed_ms)
                    : 0;
    double memory = some(p->bandwidth_bytes_per_s) ? (double)p->bandwidth_bytes_per_s
                                                   : rate_between(eta->memory_sent, p->memory_sent, ms);
    double disk = rate_between(eta->disk_sent, p->disk_sent, ms);

    /* A first sample has no time of its own but may bring a rate; later ones count by their time. */
    if (memory >= 0 && (ms > 0 || eta->memory_rate <= 0))
        smooth(&eta->memory_rate, memory, ms);
    if (disk >= 0)
        smooth(&eta->disk_rate, disk, ms);
}

static void note_round(struct kvmig__eta *eta, const struct kvmig_progress *p)
{
    bool begins = p->at_iteration_boundary == 1 || (known(eta->iteration) && p->iteration != eta->iteration);

    if (!some(p->iteration) || !known(p->memory_remaining) || !begins)
        return;
    if (eta->n_rounds == 2)
        eta->rounds[0] = eta->rounds[1];
    else
        eta->n_rounds++;
    eta->rounds[eta->n_rounds - 1] =
        (struct kvmig__eta_round){ p->memory_remaining, p->dirty_bytes_per_s, eta->memory_rate };
}

static void remember(struct kvmig__eta *eta, const struct kvmig_progress *p)
{
    eta->elapsed_ms = p->elapsed_ms;
    eta->memory_sent = p->memory_sent;
    eta->disk_sent = p->disk_sent;
    eta->iteration = p->iteration;
}

/* ---- the answer ---- */

static struct kvmig__eta_answer answer(double ms, int32_t reason)
{
    return (struct kvmig__eta_answer){ ms < 0 || ms > 1e15 ? UNKNOWN : (uint64_t)ms, reason };
}

static double ms_for(double bytes, double rate)
{
    return rate > 0 ? bytes * 1000 / rate : -1;
}

static const struct kvmig__eta_round *last_round(const struct kvmig__eta *eta)
{
    return eta->n_rounds ? &eta->rounds[eta->n_rounds - 1] : NULL;
}

/* Memory that fits into the pause that is allowed. */
static double affordable(const struct kvmig__eta *eta)
{
    uint64_t ms = eta->limits.max_downtime_ms ? eta->limits.max_downtime_ms : DEFAULT_DOWNTIME_MS;

    return eta->memory_rate * (double)ms / 1000;
}

static bool dirties_too_fast(const struct kvmig__eta_round *round)
{
    return !known(round->dirty_per_s) || (double)round->dirty_per_s >= NEAR * round->rate;
}

/* A high dirty rate alone does not say it: a small working set is dirtied over and over and still fits into the pause. */
static bool is_dirty_limited(const struct kvmig__eta *eta)
{
    const struct kvmig__eta_round *before = &eta->rounds[0], *now = &eta->rounds[1];

    return eta->n_rounds == 2 && dirties_too_fast(before) && dirties_too_fast(now) &&
           (double)now->remaining >= SHRINKS * (double)before->remaining && (double)now->remaining > affordable(eta);
}

/* How much smaller each round is than the one before. */
static double ratio_of_rounds(const struct kvmig__eta *eta, const struct kvmig_progress *p)
{
    double ratio = 0;

    if (eta->n_rounds == 2 && eta->rounds[0].remaining > 0)
        ratio = (double)eta->rounds[1].remaining / (double)eta->rounds[0].remaining;
    else if (known(p->dirty_bytes_per_s))
        ratio = (double)p->dirty_bytes_per_s / eta->memory_rate;
    return ratio < STEEPEST ? ratio : STEEPEST;
}

static double ms_of_later_rounds(const struct kvmig__eta *eta, const struct kvmig_progress *p)
{
    const struct kvmig__eta_round *round = last_round(eta);
    double size = round ? (double)round->remaining : known(p->memory_total) ? (double)p->memory_total : 0;
    double ratio = ratio_of_rounds(eta, p), ms = 0;

    for (int i = 0; i < MOST_ROUNDS && ratio > 0 && size > affordable(eta); i++) {
        size *= ratio;
        ms += ms_for(size, eta->memory_rate);
    }
    return ms;
}

static int32_t link_reason(double rate, uint64_t cap)
{
    return cap && rate >= NEAR * (double)cap ? KVMIG_ETA_BANDWIDTH_CAPPED : KVMIG_ETA_BANDWIDTH_LIMITED;
}

static struct kvmig__eta_answer answer_before_memory(const struct kvmig__eta *eta, const struct kvmig_progress *p)
{
    double ms;

    if (!some(p->disk_total) || !some(p->disk_remaining))
        return answer(-1, KVMIG_ETA_SETUP);
    ms = ms_for((double)p->disk_remaining, eta->disk_rate);
    /* Memory comes after the disks, over the same link. */
    if (ms >= 0 && known(p->memory_total))
        ms += ms_for((double)p->memory_total, eta->disk_rate);
    return answer(ms, KVMIG_ETA_DISK_LIMITED);
}

static struct kvmig__eta_answer answer_memory(const struct kvmig__eta *eta, const struct kvmig_progress *p)
{
    const struct kvmig__eta_round *round = last_round(eta);
    double now = ms_for((double)p->memory_remaining, eta->memory_rate);

    if (p->iteration > 1 && round && (double)round->remaining <= affordable(eta))
        return answer(now, KVMIG_ETA_SWITCHING);
    if (is_dirty_limited(eta))
        return answer(-1, KVMIG_ETA_DIRTY_LIMITED);
    return answer(now + ms_of_later_rounds(eta, p), link_reason(eta->memory_rate, eta->limits.bandwidth_bytes_per_s));
}

struct kvmig__eta_answer kvmig__eta_sample(struct kvmig__eta *eta, const struct kvmig_progress *progress, int32_t mode)
{
    measure(eta, progress);
    note_round(eta, progress);
    remember(eta, progress);
    if (!some(progress->iteration) && mode != KVMIG_MODE_POST_COPY)
        return answer_before_memory(eta, progress);
    if (eta->memory_rate <= 0 || !known(progress->memory_remaining))
        return answer(-1, KVMIG_ETA_UNKNOWN);
    if (mode == KVMIG_MODE_POST_COPY)
        return answer(ms_for((double)progress->memory_remaining, eta->memory_rate),
                      link_reason(eta->memory_rate, eta->limits.postcopy_bandwidth_bytes_per_s));
    return answer_memory(eta, progress);
}
