/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many distinct bytes a guest dirties within a time, fitted to what was measured. Does not measure, and knows nothing of a
 * migration. Pure; any thread; owns nothing.
 *
 * A guest writes some pages over and over (hot) and many seldom (cold), so that the rate falls with the length of the window: one
 * measurement gives the rate, two give the size of the hot part. Two numbers cannot fix three unknowns, so how much of the growth
 * between the two windows is due to cold pages is a choice: none (the low bound), half, or all of it (the high one).
 */
#include "plan/forecast_model.h"

#include <math.h>

#define STEPS 60 /* of a bisection */
#define FLAT 1.01 /* growth between two windows that is none */
#define LINEAR 0.97 /* growth between two windows that counts as proportional to their length */

static double saturate(const struct kvmig__dirty_class *c, double seconds)
{
    return c->bytes > 0 && c->rate > 0 ? c->bytes * (1 - exp(-seconds * c->rate / c->bytes)) : 0;
}

static double class_bytes(const struct kvmig__dirty_curve *curve, double seconds)
{
    return saturate(&curve->hot, seconds) + saturate(&curve->cold, seconds);
}

double kvmig__curve_bytes(const struct kvmig__dirty_curve *curve, double seconds)
{
    struct kvmig__dirty_point before = { 0, 0 };

    if (!(seconds > 0))
        return 0;
    if (curve->n_points == 0)
        return class_bytes(curve, seconds);
    for (size_t i = 0; i < curve->n_points; i++) {
        const struct kvmig__dirty_point *p = &curve->points[i];

        if (seconds <= p->seconds)
            return before.bytes +
                   (p->bytes - before.bytes) * (seconds - before.seconds) / (p->seconds - before.seconds);
        before = *p;
    }
    return before.bytes + saturate(&curve->cold, seconds - before.seconds);
}

double kvmig__curve_cold(const struct kvmig__dirty_curve *curve, double seconds)
{
    const double since = curve->n_points ? curve->points[curve->n_points - 1].seconds : 0;

    return seconds > since ? saturate(&curve->cold, seconds - since) : 0;
}

double kvmig__curve_hot(const struct kvmig__dirty_curve *curve, double seconds)
{
    if (curve->n_points == 0)
        return saturate(&curve->hot, seconds);
    return fmax(kvmig__curve_bytes(curve, seconds) - kvmig__curve_cold(curve, seconds), 0);
}

double kvmig__curve_hot_time(const struct kvmig__dirty_curve *curve, double bytes)
{
    struct kvmig__dirty_point before = { 0, 0 };

    if (bytes >= kvmig__curve_hot_most(curve))
        return HUGE_VAL;
    if (curve->n_points == 0)
        return -curve->hot.bytes / curve->hot.rate * log1p(-bytes / curve->hot.bytes);
    for (size_t i = 0; i < curve->n_points; i++) {
        const struct kvmig__dirty_point *p = &curve->points[i];

        if (p->bytes > bytes)
            return before.seconds + (p->seconds - before.seconds) * (bytes - before.bytes) / (p->bytes - before.bytes);
        before = *p;
    }
    return HUGE_VAL;
}

double kvmig__curve_hot_most(const struct kvmig__dirty_curve *curve)
{
    if (curve->n_points)
        return curve->points[curve->n_points - 1].bytes;
    return curve->hot.rate > 0 ? curve->hot.bytes : 0;
}

double kvmig__curve_most(const struct kvmig__dirty_curve *curve)
{
    const double cold = curve->cold.rate > 0 ? curve->cold.bytes : 0;

    return kvmig__curve_hot_most(curve) + cold;
}

void kvmig__curve_scale(struct kvmig__dirty_curve *curve, double factor)
{
    curve->hot.rate *= factor;
    curve->cold.rate *= factor;
    for (size_t i = 0; i < curve->n_points && factor > 0; i++)
        curve->points[i].seconds /= factor;
}

double kvmig__curve_fixed_point(const struct kvmig__dirty_curve *curve, double rate, double dead_s)
{
    double v = kvmig__curve_most(curve);

    for (int i = 0; i < 10000 && rate > 0; i++) {
        const double next = kvmig__curve_bytes(curve, v / rate + dead_s);

        if (fabs(v - next) <= 1e-6 * v)
            return next;
        v = next;
        if (v < 1)
            return 0;
    }
    return v;
}

/* ---- fitting ---- */

/*
 * No guest writes more in a longer time than at the same rate all the time. Where measurements say so it is noise, of which the shorter
 * one has more: they share the rate that both make together.
 */
static void pool(struct kvmig__dirty_point *points, size_t n)
{
    struct kvmig__dirty_point sums[KVMIG__CURVE_POINTS]; /* of neighbours with a common rate */
    size_t members[KVMIG__CURVE_POINTS], groups = 0, at = 0;

    for (size_t i = 0; i < n; i++) {
        sums[groups] = points[i];
        members[groups++] = 1;
        while (groups > 1 &&
               sums[groups - 1].bytes * sums[groups - 2].seconds > sums[groups - 2].bytes * sums[groups - 1].seconds) {
            groups--;
            sums[groups - 1].bytes += sums[groups].bytes;
            sums[groups - 1].seconds += sums[groups].seconds;
            members[groups - 1] += members[groups];
        }
    }
    for (size_t g = 0; g < groups; g++) {
        for (size_t i = 0; members[g] > 1 && i < members[g]; i++)
            points[at + i].bytes = sums[g].bytes * points[at + i].seconds / sums[g].seconds;
        at += members[g];
    }
}

/* Usable measurements in ascending order, never falling and never growing faster than time; at most KVMIG__CURVE_POINTS. */
static size_t tidy(const struct kvmig__dirty_point *points, size_t n, double limit, struct kvmig__dirty_point *out)
{
    size_t count = 0;

    for (size_t i = 0; i < n && count < KVMIG__CURVE_POINTS; i++) {
        size_t at = count;

        if (!(points[i].seconds > 1e-3) || !(points[i].seconds < 1e6) || !(points[i].bytes >= 0))
            continue;
        while (at > 0 && out[at - 1].seconds > points[i].seconds) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = points[i];
        count++;
    }
    pool(out, count);
    for (size_t i = 0; i < count; i++) {
        if (out[i].bytes > limit)
            out[i].bytes = limit;
        if (i > 0 && out[i].bytes < out[i - 1].bytes)
            out[i].bytes = out[i - 1].bytes;
    }
    return count;
}

/* Two measurements of the same length count as one: their mean. */
static size_t merge(struct kvmig__dirty_point *points, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && points[i].seconds < points[kept - 1].seconds * 1.05)
            points[kept - 1].bytes = (points[kept - 1].bytes + points[i].bytes) / 2;
        else
            points[kept++] = points[i];
    }
    return kept;
}

/* The one class that passes through both points; no larger than limit. */
static struct kvmig__dirty_class fit_class(struct kvmig__dirty_point a, struct kvmig__dirty_point b, double limit)
{
    const double growth = a.bytes > 0 ? b.bytes / a.bytes : 1;
    double low = 1e-9, high = 100 / a.seconds; /* rate / bytes */

    if (a.bytes <= 0)
        return (struct kvmig__dirty_class){ 0, 0 };
    if (growth >= LINEAR * b.seconds / a.seconds)
        return (struct kvmig__dirty_class){ limit, b.bytes / b.seconds };
    for (int i = 0; i < STEPS; i++) {
        const double middle = (low + high) / 2;
        const double got = (1 - exp(-middle * b.seconds)) / (1 - exp(-middle * a.seconds));

        if (got > growth)
            low = middle;
        else
            high = middle;
    }
    const double bytes = a.bytes / (1 - exp(-low * a.seconds));

    return (struct kvmig__dirty_class){ bytes < limit ? bytes : limit, bytes * low };
}

static void fit_two(struct kvmig__dirty_curve *curve, struct kvmig__dirty_point a, struct kvmig__dirty_point b,
                    double limit, double cold_share)
{
    const double slope = cold_share * (b.bytes - a.bytes) / (b.seconds - a.seconds);

    if (a.bytes > 0 && b.bytes >= LINEAR * a.bytes * b.seconds / a.seconds) { /* no sign of two classes */
        curve->hot = (struct kvmig__dirty_class){ limit, b.bytes / b.seconds };
        return;
    }
    a.bytes = fmax(a.bytes - slope * a.seconds, 0);
    b.bytes = fmax(b.bytes - slope * b.seconds, a.bytes);
    curve->hot = fit_class(a, b, limit);
    curve->cold = (struct kvmig__dirty_class){ fmax(limit - curve->hot.bytes, 0), slope };
}

static void fit_many(struct kvmig__dirty_curve *curve, const struct kvmig__dirty_point *points, size_t n, double limit,
                     double cold_share)
{
    const struct kvmig__dirty_point *last = &points[n - 1], *before = &points[n - 2];

    for (size_t i = 0; i < n; i++)
        curve->points[i] = points[i];
    curve->n_points = n;
    if (last->bytes <= before->bytes * FLAT)
        return;
    curve->cold.bytes = fmax(limit - last->bytes, 0);
    curve->cold.rate = cold_share * (last->bytes - before->bytes) / (last->seconds - before->seconds);
}

void kvmig__curve_fit(struct kvmig__dirty_curve *curve, const struct kvmig__dirty_point *points, size_t n, double limit,
                      double working_set, enum kvmig__curve_bound bound)
{
    static const double cold_share[] = { 0, 0.5, 1 };
    struct kvmig__dirty_point tidied[KVMIG__CURVE_POINTS];
    const double most = working_set > 0 && working_set < limit ? working_set : limit;
    /* Known to be all that is ever written: then nothing is cold. */
    const double share = most < limit ? 0 : cold_share[bound];

    *curve = (struct kvmig__dirty_curve){ .n_points = 0 };
    n = merge(tidied, tidy(points, n, most, tidied));
    if (n == 0)
        return;
    if (n == 1)
        curve->hot = (struct kvmig__dirty_class){ most, tidied[0].bytes / tidied[0].seconds };
    else if (n == 2)
        fit_two(curve, tidied[0], tidied[1], most, share);
    else
        fit_many(curve, tidied, n, most, share);
}
