/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One migration, run through as QEMU runs it: passes over the pages that are marked dirty, a look at what became dirty meanwhile when
 * less is left than fits into the pause, the throttle of auto-converge, the switch to post-copy. Does not: know a plan, choose a
 * strategy. Pure; any thread; owns nothing.
 *
 * A pass ends when what is left is less than rate x limit, not when nothing is left: then the dirty log is read, and the guest is stopped
 * if there is still less. Sending is counted in windows of a tenth of a second, as QEMU's rate limit is. The last pass is not held
 * back by the bandwidth limit. Of the pages that are left and those that were dirtied, some are the same.
 */
#include "plan/forecast_model.h"

#include <math.h>

#define PAGE 4096.0
#define PAGE_ON_THE_WIRE (4096.0 + 8.0) /* with its header */
#define ZERO_ON_THE_WIRE 9.0
#define WINDOW_S 0.1
#define MOST_ROUNDS 5000
#define PATIENT_ROUNDS 40 /* without progress */
#define PATIENT_S 10.0
#define PROGRESS 0.99
#define THROTTLE_MOST 99.0
#define THROTTLE_PERIOD_S 1.0
#define SEARCH_STEPS 24

struct copy {
    const struct kvmig__copy_in *in;
    struct kvmig__dirty_curve curve;
    bool converge;
    double at_s, sent;
    double left; /* marked dirty and not sent: hot + quiet */
    double hot, quiet; /* of pages that the guest writes over and over, and of the others */
    double best; /* the least that was left after a look */
    double best_at_s;
    uint32_t rounds, best_round;
    double throttle; /* percent */
    double speed; /* of the guest's writing; 1 = unthrottled */
    double period_s, period_dirty, period_sent; /* since auto-converge last judged */
    int high; /* how often it found too much dirtied */
};

static double threshold(const struct copy *c)
{
    return c->in->rate * c->in->limit_s;
}

/* ---- auto-converge ---- */

/* A guest that needs only part of its CPU time for writing is not slowed down by losing the rest. */
static double speed_at(const struct kvmig__copy_in *in, double throttle)
{
    const double share = 1 - throttle / 100, busy = in->busy > 0.01 ? in->busy : 0.01;

    return share >= busy ? 1 : share / busy;
}

static void judge_throttle(struct copy *c, double seconds, double dirtied, double sent)
{
    c->period_s += seconds;
    c->period_dirty += dirtied;
    c->period_sent += sent;
    if (!c->converge || c->period_s <= THROTTLE_PERIOD_S)
        return;
    if (c->period_dirty > c->period_sent / 2 && ++c->high >= 2) {
        c->high = 0;
        c->throttle =
            c->throttle > 0 ? fmin(c->throttle + c->in->converge_increment, THROTTLE_MOST) : c->in->converge_initial;
        c->speed = speed_at(c->in, c->throttle);
    }
    c->period_s = c->period_dirty = c->period_sent = 0;
}

/* ---- passes ---- */

static double whole_windows(double seconds)
{
    const double windows = ceil(seconds / WINDOW_S - 1e-9);

    return (windows > 1 ? windows : 1) * WINDOW_S;
}

/*
 * Sends that share of what is marked, while the guest writes for so long; returns what became marked. Some of what it writes is marked
 * still: the hot pages that were marked are what it wrote within some time before, and the curve tells how much of two neighbouring
 * times is the same: nothing if it goes through its memory in turn, more if it jumps about. What of them is sent is taken to be
 * any of them.
 */
static double send_and_dirty(struct copy *c, double share, double seconds)
{
    const double cold = kvmig__curve_cold(&c->curve, seconds), cold_most = c->curve.cold.bytes;
    const double hot = kvmig__curve_hot(&c->curve, seconds), before_s = kvmig__curve_hot_time(&c->curve, c->hot);
    const double again = fmax(c->hot + hot - kvmig__curve_hot(&c->curve, before_s + seconds), 0);
    double hot_added, cold_added;

    c->hot *= 1 - share;
    c->quiet *= 1 - share;
    hot_added = fmin(fmax(hot - (1 - share) * again, 0), fmax(kvmig__curve_hot_most(&c->curve) - c->hot, 0));
    cold_added = cold_most > 0 ? cold * fmax(1 - c->quiet / cold_most, 0) : 0;
    c->hot += hot_added;
    c->quiet += cold_added;
    return hot_added + cold_added;
}

/* Sends until less than the threshold is left, then looks. extra_s: nothing of the guest's own pages is sent in it. */
static void pass(struct copy *c, double extra_s)
{
    const double wire = PAGE_ON_THE_WIRE / PAGE, goal = threshold(c);
    const double need_s = c->left > goal ? (c->left - goal) * wire / c->in->rate : 0;
    const double send_s = whole_windows(need_s + extra_s) - extra_s;
    const double sent = fmin(c->left, send_s * c->in->rate / wire);
    const double seconds = send_s + extra_s + c->in->sync_s;
    const double dirtied = send_and_dirty(c, c->left > 0 ? sent / c->left : 0, seconds * c->speed);

    c->at_s += seconds;
    c->sent += sent * wire;
    c->left = c->hot + c->quiet;
    c->rounds++;
    judge_throttle(c, seconds, dirtied, sent * wire);
}

static bool is_stuck(struct copy *c)
{
    if (c->rounds == 1 || c->left < c->best * PROGRESS || (c->converge && c->throttle < THROTTLE_MOST && c->high)) {
        c->best = c->rounds == 1 ? c->left : fmin(c->best, c->left);
        c->best_at_s = c->at_s;
        c->best_round = c->rounds;
    }
    if (c->in->patience_s > 0 && c->at_s > c->in->patience_s)
        return true;
    return c->rounds >= MOST_ROUNDS ||
           (c->rounds - c->best_round > PATIENT_ROUNDS && c->at_s - c->best_at_s > PATIENT_S);
}

static void first_pass(struct copy *c)
{
    const struct kvmig__copy_in *in = c->in;
    const double zero = fmax(in->memory - in->used, 0) / PAGE * ZERO_ON_THE_WIRE;

    c->at_s = in->setup_s;
    if (in->disk_bytes > 0)
        c->at_s += in->disk_bytes / in->disk_rate;
    c->sent = in->disk_bytes + zero;
    c->hot = fmin(kvmig__curve_hot_most(&c->curve), in->used);
    c->quiet = in->used - c->hot;
    c->left = in->used;
    pass(c, zero / in->rate);
}

/* The guest is stopped and everything that is left goes out, as fast as the line is. */
static void stop_and_copy(const struct copy *c, struct kvmig__copy_out *out)
{
    const double wire = c->left * PAGE_ON_THE_WIRE / PAGE;

    out->pause_s = wire / c->in->line + c->in->switch_s;
    out->total_s = c->at_s + out->pause_s + c->in->finish_s;
    out->sent = c->sent + wire;
    out->last = c->left;
}

/* The guest is stopped for the state of its devices only; what is dirty follows. */
static void switch_to_post(struct copy *c, struct kvmig__copy_out *out)
{
    const double wait_s = c->in->post_after_s, sent = fmin(c->left, wait_s * c->in->rate);
    double left;

    send_and_dirty(c, c->left > 0 ? sent / c->left : 0, wait_s);
    left = c->hot + c->quiet;

    out->pause_s = c->in->switch_s;
    out->total_s = c->at_s + wait_s + out->pause_s + left / c->in->post_rate + c->in->finish_s;
    out->sent = c->sent + sent + left;
    out->last = left;
    out->converges = true;
    out->rounds = c->rounds;
}

void kvmig__copy_run(const struct kvmig__copy_in *in, enum kvmig__copy_kind kind, struct kvmig__copy_out *out)
{
    struct copy c = { .in = in, .curve = in->curve, .converge = kind == KVMIG__COPY_CONVERGE, .speed = 1 };

    *out = (struct kvmig__copy_out){ .converges = false };
    first_pass(&c);
    if (kind == KVMIG__COPY_POST && c.left >= threshold(&c)) {
        switch_to_post(&c, out);
        return;
    }
    while (c.left >= threshold(&c) && !is_stuck(&c))
        pass(&c, 0);
    out->converges = c.left < threshold(&c);
    stop_and_copy(&c, out);
    out->rounds = c.rounds;
    out->throttle = c.throttle;
    if (!out->converges && c.best < c.left)
        out->last = c.best;
}

/* ---- what would do ---- */

static bool converges(const struct kvmig__copy_in *in)
{
    struct kvmig__copy_out out;

    kvmig__copy_run(in, KVMIG__COPY_PRE, &out);
    return out.converges;
}

double kvmig__copy_lowest_pause(const struct kvmig__copy_in *in)
{
    struct kvmig__copy_in tried = *in;
    double low = 0, high = (kvmig__curve_most(&in->curve) + PAGE) / in->rate * 1.01;

    tried.patience_s = 0;
    for (int i = 0; i < SEARCH_STEPS && high - low > 1e-3; i++) {
        tried.limit_s = (low + high) / 2;
        if (converges(&tried))
            high = tried.limit_s;
        else
            low = tried.limit_s;
    }
    return high;
}

double kvmig__copy_needed_rate(const struct kvmig__copy_in *in)
{
    struct kvmig__copy_in tried = *in;
    double low = in->rate, high = in->rate * 64;

    tried.patience_s = 0;
    tried.rate = high;
    tried.line = fmax(in->line, high);
    if (!converges(&tried))
        return 0;
    for (int i = 0; i < SEARCH_STEPS && high / low > 1.01; i++) {
        tried.rate = sqrt(low * high);
        if (converges(&tried))
            high = tried.rate;
        else
            low = tried.rate;
    }
    return high;
}

double kvmig__copy_needed_throttle(const struct kvmig__copy_in *in)
{
    struct kvmig__copy_in tried = *in;

    tried.patience_s = 0;
    for (double throttle = 0; throttle < 100; throttle += throttle < 90 ? 5 : 1) {
        tried.curve = in->curve;
        kvmig__curve_scale(&tried.curve, speed_at(in, throttle));
        if (converges(&tried))
            return throttle;
    }
    return 100;
}
