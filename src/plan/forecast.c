/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From what is known of a migration to a forecast per strategy: chooses the best source of each number, runs the model for the
 * middle and for both bounds, and puts the answers together. Does not: choose a strategy (forecast_choice.c), write findings
 * (forecast_findings.c). Pure; any thread; a forecast owns its reason.
 *
 * The caller's word goes before a measurement, a measurement before what the last migration taught, and that before a guess from
 * sizes; the wider the guess, the wider the bounds.
 */
#include "plan/forecast.h"
#include "plan/plan_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT_S 0.3 /* QEMU's downtime-limit */
#define DEFAULT_SETUP_S 0.5
#define DEFAULT_SWITCH_S 0.03
#define DEFAULT_SYNC_S 0.005
#define DEFAULT_INITIAL 20
#define DEFAULT_INCREMENT 10
#define LEAST_RATE 1024.0 /* bytes/s */
#define MOST_BYTES 1e18
/* A mere average hides bursts: each pass takes that much longer than its sending, as far as dirtying goes. */
#define AVERAGE_DEAD_S 0.1

enum side { LOW, MIDDLE, HIGH };

/* How far the bounds are from the middle. */
struct spread {
    double dirty_low, dirty_high, rate_low, rate_high, used_low, busy_low;
};

struct work {
    const struct kvmig__forecast_asked *asked;
    const struct kvmig__forecast_facts *facts;
    const struct kvmig__learned_link *link;
    const struct kvmig__learned_vm *vm;
    struct kvmig__dirty_point points[KVMIG__CURVE_POINTS];
    size_t n_points;
    double line; /* of the network, shared out; < 0 = not known */
    struct spread spread;
};

const char *kvmig__basis_name(int32_t basis)
{
    static const char *const names[] = { NULL,          "given",  "measured", "learned", "bandwidth-limit",
                                         "memory-size", "default" };

    return basis >= 0 && basis < (int32_t)KVMIG__N_ELEMENTS(names) ? names[basis] : NULL;
}

static double within(double value, double low, double high)
{
    return !(value > low) ? low : value > high ? high : value;
}

/* ---- what is known ---- */

static void take_memory(const struct work *w, struct kvmig__forecast *f)
{
    const struct kvmig__learned_vm *vm = w->vm;

    f->memory = w->asked->memory            ? (double)w->asked->memory
                : w->facts->told_memory > 0 ? w->facts->told_memory
                                            : w->facts->memory;
    f->memory = f->memory > 0 ? within(f->memory, 1, MOST_BYTES) : -1;
    f->used_basis = KVMIG__BASIS_SIZE;
    f->used = f->memory;
    if (w->asked->used) {
        f->used_basis = KVMIG__BASIS_GIVEN;
        f->used = (double)w->asked->used;
    } else if (vm && vm->measured && vm->resident > 0 && vm->outside != 0) {
        f->used_basis = KVMIG__BASIS_MEASURED;
        f->used = vm->resident - vm->outside;
    } else if (vm && vm->used >= 0) {
        f->used_basis = KVMIG__BASIS_LEARNED;
        f->used = vm->used;
    }
    f->used = within(f->used, 0, f->memory);
}

static void take_rate(struct work *w, struct kvmig__forecast *f)
{
    f->link_basis = KVMIG__BASIS_NONE;
    w->line = -1;
    if (w->asked->link || w->facts->told_link > 0) {
        f->link_basis = KVMIG__BASIS_GIVEN;
        w->line = w->asked->link ? (double)w->asked->link : w->facts->told_link;
    } else if (w->link && w->link->line > 0) {
        f->link_basis = KVMIG__BASIS_LEARNED;
        w->line = w->link->line;
    }
    if (w->line > 0)
        w->line = within(w->line / (1.0 + w->asked->sharing), LEAST_RATE, MOST_BYTES);
    f->rate = w->line;
    if (w->facts->cap > 0 && (w->line < 0 || w->facts->cap < w->line)) {
        if (w->line < 0)
            f->link_basis = KVMIG__BASIS_CAP;
        f->rate = within(w->facts->cap, LEAST_RATE, MOST_BYTES);
    }
}

static void add_point(struct work *w, double seconds, double bytes)
{
    if (w->n_points < KVMIG__CURVE_POINTS)
        w->points[w->n_points++] = (struct kvmig__dirty_point){ seconds, bytes };
}

static void take_dirty(struct work *w, struct kvmig__forecast *f)
{
    const struct kvmig__forecast_asked *asked = w->asked;

    f->dirty_basis = KVMIG__BASIS_NONE;
    for (size_t i = 0; i < asked->n_dirty; i++) {
        const double seconds = asked->dirty[i].window_ms ? (double)asked->dirty[i].window_ms / 1000 : 1;

        f->dirty_basis = KVMIG__BASIS_GIVEN;
        add_point(w, seconds, within((double)asked->dirty[i].bytes_per_s * seconds, 0, MOST_BYTES));
    }
    if (!w->n_points && w->facts->told_dirty >= 0) {
        f->dirty_basis = KVMIG__BASIS_GIVEN;
        add_point(w, 1, within(w->facts->told_dirty, 0, MOST_BYTES));
    }
    if (!w->n_points && w->vm && w->vm->n_points) {
        f->dirty_basis = w->vm->measured ? KVMIG__BASIS_MEASURED : KVMIG__BASIS_LEARNED;
        for (size_t i = 0; i < w->vm->n_points; i++)
            add_point(w, w->vm->points[i].seconds, w->vm->points[i].bytes);
    }
    f->n_points = w->n_points;
    f->dirty_known = w->n_points > 0;
    f->average = w->n_points == 1 && !asked->working_set;
}

static struct spread spread_of(const struct kvmig__forecast *f)
{
    struct spread s = { 0.85, 1.2, 0.9, 1.05, 1, 1 };

    if (f->dirty_basis == KVMIG__BASIS_MEASURED) { /* by samples; and migrating makes it more */
        s.dirty_low = 0.75;
        s.dirty_high = 1.5;
    }
    if (f->average) {
        s.dirty_low = 0.8;
        s.dirty_high = 1.5;
    }
    if (f->link_basis == KVMIG__BASIS_CAP)
        s.rate_low = 0.7;
    if (f->used_basis == KVMIG__BASIS_SIZE)
        s.used_low = 0.3;
    return s;
}

/* ---- the model's input ---- */

static double pick(enum side side, double low, double middle, double high)
{
    return side == LOW ? low : side == HIGH ? high : middle;
}

static double learned_or(double learned, double fallback)
{
    return learned >= 0 ? learned : fallback;
}

static void fill_rates(const struct work *w, const struct kvmig__forecast *f, enum side side, struct kvmig__copy_in *in)
{
    /* At worst everything is slower, at best faster; a limit is never exceeded. */
    const double factor = pick(side, w->spread.rate_high, 1, w->spread.rate_low);
    const double line = (w->line > 0 ? w->line : f->rate) * factor;

    in->rate = w->facts->cap > 0 ? fmin(line, f->rate) : line;
    if (w->line < 0)
        in->rate = f->rate * fmin(factor, 1);
    in->line = fmax(line, in->rate);
    in->post_rate = w->facts->post_cap > 0 ? fmin(w->facts->post_cap, in->line) : in->line;
    in->disk_rate = w->link && w->link->disk_rate > 0 ? fmin(w->link->disk_rate, in->rate) * factor : in->rate;
}

static void fill(const struct work *w, const struct kvmig__forecast *f, const struct kvmig__request *request,
                 enum side side, struct kvmig__copy_in *in)
{
    static const enum kvmig__curve_bound bounds[] = { KVMIG__CURVE_LOW, KVMIG__CURVE_MIDDLE, KVMIG__CURVE_HIGH };
    const double setup = w->asked->setup_ms ? (double)w->asked->setup_ms / 1000
                         : w->link          ? learned_or(w->link->setup_s, DEFAULT_SETUP_S)
                                            : DEFAULT_SETUP_S;

    *in = (struct kvmig__copy_in){ .memory = f->memory, .limit_s = f->limit_s };
    in->used = f->used * (side == LOW ? w->spread.used_low : 1);
    kvmig__curve_fit(&in->curve, w->points, w->n_points, f->used, (double)w->asked->working_set, bounds[side]);
    kvmig__curve_scale(&in->curve, pick(side, w->spread.dirty_low, 1, w->spread.dirty_high));
    fill_rates(w, f, side, in);
    in->disk_bytes = w->facts->disks > 0 ? w->facts->disks : 0;
    in->setup_s = setup * pick(side, 0.7, 1, 1.5);
    in->switch_s =
        (w->link ? learned_or(w->link->switch_s, DEFAULT_SWITCH_S) : DEFAULT_SWITCH_S) * pick(side, 0.7, 1, 2);
    in->sync_s = DEFAULT_SYNC_S;
    in->post_after_s = 0.1;
    in->converge_initial = request->auto_converge_initial ? request->auto_converge_initial : DEFAULT_INITIAL;
    in->converge_increment = request->auto_converge_increment ? request->auto_converge_increment : DEFAULT_INCREMENT;
    in->busy = w->asked->busy_percent      ? (double)w->asked->busy_percent / 100
               : w->vm && w->vm->busy >= 0 ? w->vm->busy
                                           : pick(side, 1, 1, 0.3);
    in->busy = within(in->busy, 0.01, 1);
}

/* ---- answers ---- */

static uint64_t whole(double value)
{
    return value >= 0 && value < 1e18 ? (uint64_t)(value + 0.5) : KVMIG__UNKNOWN;
}

/* Nothing but an average is known: the last passes have a floor. */
static bool bursts_fit(const struct kvmig__forecast *f, const struct kvmig__copy_in *in)
{
    return !f->average || kvmig__curve_fixed_point(&in->curve, in->rate, AVERAGE_DEAD_S) < in->rate * in->limit_s;
}

static void answer_totals(const struct kvmig__forecast *f, const struct kvmig__copy_out out[3], const bool ends[3],
                          struct kvmig_forecast *a)
{
    a->total_ms = ends[MIDDLE] ? whole(out[MIDDLE].total_s * 1000) : KVMIG__UNKNOWN;
    a->total_low_ms = ends[LOW] ? whole(out[LOW].total_s * 1000) : KVMIG__UNKNOWN;
    a->total_high_ms = ends[HIGH] && f->dirty_known ? whole(out[HIGH].total_s * 1000) : KVMIG__UNKNOWN;
    a->pause_ms = ends[MIDDLE] ? whole(out[MIDDLE].pause_s * 1000) : KVMIG__UNKNOWN;
    a->pause_low_ms = ends[LOW] ? whole(out[LOW].pause_s * 1000) : KVMIG__UNKNOWN;
    a->pause_high_ms = ends[HIGH] && f->dirty_known ? whole(out[HIGH].pause_s * 1000) : KVMIG__UNKNOWN;
    a->sent_bytes = ends[MIDDLE] ? whole(out[MIDDLE].sent) : KVMIG__UNKNOWN;
    a->sent_low_bytes = ends[LOW] ? whole(out[LOW].sent) : KVMIG__UNKNOWN;
    a->sent_high_bytes = ends[HIGH] && f->dirty_known ? whole(out[HIGH].sent) : KVMIG__UNKNOWN;
    if (a->total_low_ms > a->total_ms)
        a->total_low_ms = a->total_ms;
    if (a->pause_low_ms > a->pause_ms)
        a->pause_low_ms = a->pause_ms;
    if (a->total_high_ms < a->total_ms && a->total_ms != KVMIG__UNKNOWN)
        a->total_high_ms = a->total_ms;
    if (a->pause_high_ms < a->pause_ms && a->pause_ms != KVMIG__UNKNOWN)
        a->pause_high_ms = a->pause_ms;
}

static void answer_remedies(const struct kvmig__forecast *f, const struct kvmig__copy_in *in, bool ends,
                            struct kvmig_forecast *a)
{
    a->lowest_pause_ms = KVMIG__UNKNOWN;
    if (!f->dirty_known)
        return;
    a->lowest_pause_ms = whole(kvmig__copy_lowest_pause(in) * 1000);
    if (f->average) {
        const double floor = kvmig__curve_fixed_point(&in->curve, in->rate, AVERAGE_DEAD_S) / in->rate;

        if (whole(floor * 1000) > a->lowest_pause_ms)
            a->lowest_pause_ms = whole(floor * 1000);
    }
    if (ends)
        return;
    a->needed_bytes_per_s = whole(kvmig__copy_needed_rate(in));
    a->needed_throttle_percent = (uint32_t)kvmig__copy_needed_throttle(in);
}

static void answer_limit(const struct kvmig__forecast_facts *facts, struct kvmig_forecast *a)
{
    a->limit_ms = facts->limit_s < UINT64_MAX / 1000 ? facts->limit_s * 1000 : 0;
    a->limit_action = a->limit_ms ? facts->limit_action : KVMIG_LIMIT_NONE;
    if (!a->limit_ms)
        a->over_limit = 0;
    else if (a->converges < 0) /* dirtying is not known: the shortest time decides, or nothing does */
        a->over_limit = a->total_low_ms != KVMIG__UNKNOWN && a->total_low_ms > a->limit_ms ? 1 : -1;
    else
        a->over_limit = !a->converges || a->total_ms > a->limit_ms;
}

static void answer(const struct work *w, struct kvmig__forecast *f, const struct kvmig__request *request,
                   int32_t strategy)
{
    static const enum kvmig__copy_kind kinds[] = { KVMIG__COPY_PRE, KVMIG__COPY_CONVERGE, KVMIG__COPY_POST };
    struct kvmig_forecast *a = &f->of[strategy - 1];
    struct kvmig__copy_out out[3];
    struct kvmig__copy_in in[3];
    bool ends[3];

    *a = (struct kvmig_forecast){ .size = sizeof(*a) };
    for (int side = LOW; side <= HIGH; side++) {
        fill(w, f, request, side, &in[side]);
        kvmig__copy_run(&in[side], kinds[strategy - 1], &out[side]);
        ends[side] = out[side].converges && (strategy != KVMIG_STRATEGY_PRE_COPY || bursts_fit(f, &in[side]));
    }
    a->converges = strategy == KVMIG_STRATEGY_POST_COPY ? 1 : !f->dirty_known ? -1 : ends[MIDDLE];
    a->certain = a->converges >= 0 && ends[LOW] == ends[MIDDLE] && ends[HIGH] == ends[MIDDLE];
    a->rounds = out[MIDDLE].rounds;
    answer_totals(f, out, ends, a);
    if (strategy != KVMIG_STRATEGY_POST_COPY)
        answer_remedies(f, &in[MIDDLE], ends[MIDDLE] || strategy == KVMIG_STRATEGY_AUTO_CONVERGE, a);
    else
        a->lowest_pause_ms = a->pause_ms;
    answer_limit(w->facts, a);
}

void kvmig__forecast_make(const struct kvmig__request *request, const struct kvmig__forecast_facts *facts,
                          struct kvmig__forecast *out)
{
    struct work w = { .asked = &request->forecast, .facts = facts };

    *out = (struct kvmig__forecast){ .known = false };
    w.link = kvmig__learned_find_link(facts->learned, facts->source, facts->target);
    w.vm = kvmig__learned_find_vm(facts->learned, facts->uuid);
    take_memory(&w, out);
    take_rate(&w, out);
    take_dirty(&w, out);
    out->setup_basis = w.asked->setup_ms                ? KVMIG__BASIS_GIVEN
                       : w.link && w.link->setup_s >= 0 ? KVMIG__BASIS_LEARNED
                                                        : KVMIG__BASIS_DEFAULT;
    out->cap = facts->cap > 0 ? facts->cap : 0;
    out->planned = kvmig__forecast_planned(request, facts);
    out->limit_s = request->max_downtime_ms ? (double)request->max_downtime_ms / 1000 : DEFAULT_LIMIT_S;
    if (out->memory < 0 || out->rate < 0)
        return;
    out->known = true;
    w.spread = spread_of(out);
    for (int32_t strategy = 1; strategy <= KVMIG__N_STRATEGIES; strategy++)
        answer(&w, out, request, strategy);
    kvmig__forecast_choose(request, facts, out);
}

void kvmig__forecast_clear(struct kvmig__forecast *forecast)
{
    free(forecast->reason);
    *forecast = (struct kvmig__forecast){ .known = false };
}

void kvmig__forecast_copy(struct kvmig__forecast *dst, const struct kvmig__forecast *src)
{
    *dst = *src;
    dst->reason = kvmig__strdup(src->reason);
}

/* ---- public ---- */

int32_t kvmig_forecast_opts_init(struct kvmig_forecast_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_forecast_opts_init");
}

int32_t kvmig_forecast_init(struct kvmig_forecast *forecast, size_t size)
{
    return kvmig__opts_init(forecast, size, "kvmig_forecast_init");
}

int32_t kvmig_measure_opts_init(struct kvmig_measure_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_measure_opts_init");
}

int32_t kvmig_plan_forecast(const struct kvmig_plan *plan, int32_t strategy, struct kvmig_forecast *out_forecast)
{
    struct kvmig_forecast full;
    size_t size;

    if (!plan || !out_forecast || out_forecast->size < sizeof(size) || strategy < 1 || strategy > KVMIG__N_STRATEGIES)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_plan_forecast", NULL,
                                            "Begin the struct with KVMIG_FORECAST_INIT and use an enum kvmig_strategy.",
                                            "The plan, the strategy or the struct to fill is not usable."));
    if (!plan->forecast.known)
        return kvmig__fail(kvmig__error_new(
            ENODATA, "kvmig_plan_forecast", NULL,
            "Give the bandwidth in kvmig_plan_opts.forecast, or migrate once so that it is learned.",
            "There is no forecast: the bandwidth between the hosts or the guest's memory is not known."));
    full = plan->forecast.of[strategy - 1];
    size = out_forecast->size;
    full.size = size;
    memcpy(out_forecast, &full, size < sizeof(full) ? size : sizeof(full));
    return 0;
}

int32_t kvmig_plan_recommended_strategy(const struct kvmig_plan *plan, const char **out_reason)
{
    if (out_reason)
        *out_reason = plan ? plan->forecast.reason : NULL;
    return plan ? plan->forecast.recommended : 0;
}
