/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The arithmetic of a forecast: how fast a guest dirties memory, and how QEMU copies it round by round. Pure; any thread. Bytes,
 * seconds, bytes/s; every number is finite and not negative.
 */
#ifndef KVMIG_SRC_FORECAST_MODEL_H
#define KVMIG_SRC_FORECAST_MODEL_H

#include "base/base.h"

/* ---- how much is dirtied in a time (forecast_curve.c) ---- */

/* Bytes of distinct pages that are written within a time that long. */
struct kvmig__dirty_point {
    double seconds, bytes;
};
#define KVMIG__CURVE_POINTS 16
/*
 * Two classes of pages, hot and cold, each saturating: sum of bytes x (1 - exp(-seconds x rate / bytes)); or, where three or more times
 * were measured, the straight lines between them, and cold pages after the last one.
 */
struct kvmig__dirty_curve {
    struct kvmig__dirty_class {
        double bytes, rate; /* how many pages, and how fast they are written as long as few of them are dirty */
    } hot, cold;
    struct kvmig__dirty_point points[KVMIG__CURVE_POINTS]; /* ascending; the cold class goes on after the last one */
    size_t n_points; /* 0 = the classes alone */
};
/* What of the two classes is taken for granted where two measurements leave a choice. */
enum kvmig__curve_bound { KVMIG__CURVE_LOW, KVMIG__CURVE_MIDDLE, KVMIG__CURVE_HIGH };
/*
 * Fits a curve to measurements of any order and quality. limit: the guest's used memory; working_set: what the caller knows of the
 * pages that are ever written, 0 = nothing. n = 0 gives a guest that writes nothing.
 */
void kvmig__curve_fit(struct kvmig__dirty_curve *curve, const struct kvmig__dirty_point *points, size_t n, double limit,
                      double working_set, enum kvmig__curve_bound bound);
double kvmig__curve_bytes(const struct kvmig__dirty_curve *curve, double seconds);
double kvmig__curve_most(const struct kvmig__dirty_curve *curve); /* after for ever */
/* Of these the cold pages, and the hot ones, which are the rest. And how many pages are hot at all. */
double kvmig__curve_cold(const struct kvmig__dirty_curve *curve, double seconds);
double kvmig__curve_hot(const struct kvmig__dirty_curve *curve, double seconds);
double kvmig__curve_hot_most(const struct kvmig__dirty_curve *curve);
/* The shortest time in which so many hot pages are written; HUGE_VAL if never more are. */
double kvmig__curve_hot_time(const struct kvmig__dirty_curve *curve, double bytes);
void kvmig__curve_scale(struct kvmig__dirty_curve *curve, double factor); /* a guest that writes factor times as fast */
/*
 * The pass that is as large as what is dirtied while it is sent, for passes that take dead_s longer than the sending: V = dirty(V / rate +
 * dead_s), from above. libvirt's and QEMU's own reasoning apart, no pass is smaller for long. 0 = passes shrink to nothing.
 */
double kvmig__curve_fixed_point(const struct kvmig__dirty_curve *curve, double rate, double dead_s);

/* ---- one migration (forecast_model.c) ---- */
enum kvmig__copy_kind { KVMIG__COPY_PRE, KVMIG__COPY_CONVERGE, KVMIG__COPY_POST };
struct kvmig__copy_in {
    double memory, used; /* of the guest; of it not zero */
    struct kvmig__dirty_curve curve;
    double rate; /* while the guest runs on the source */
    double line; /* where no cap holds: the last pass; at least rate */
    double post_rate; /* after the switch to post-copy */
    double disk_bytes, disk_rate; /* copied before the memory */
    double limit_s; /* longest pause */
    double setup_s, finish_s; /* before the first and after the last byte */
    double switch_s; /* part of every pause: device state, the target's start */
    double sync_s; /* of every pass, in which nothing is sent: dirty pages are collected */
    double post_after_s; /* post-copy: from the end of the first pass until the switch is asked for */
    double converge_initial, converge_increment; /* percent */
    double busy; /* share of its CPU time that the guest needs to write as fast as it does; 1 = all */
    double patience_s; /* gives up after this; 0 = when nothing gets better any more */
};
struct kvmig__copy_out {
    bool converges; /* post-copy: always */
    double total_s; /* of the call; until it is given up, if it does not converge */
    double pause_s;
    double sent; /* bytes, disks included */
    double last; /* bytes of the last pass, or of the smallest one that was reached */
    double throttle; /* percent at the end */
    uint32_t rounds;
};
void kvmig__copy_run(const struct kvmig__copy_in *in, enum kvmig__copy_kind kind, struct kvmig__copy_out *out);
/* The lowest limit of the pause, in seconds, with which pre-copy converges. */
double kvmig__copy_lowest_pause(const struct kvmig__copy_in *in);
/* The lowest rate with which pre-copy converges; 0 = none within 64 times the present one. */
double kvmig__copy_needed_rate(const struct kvmig__copy_in *in);
/* The least slow-down of the guest, in percent, with which pre-copy converges; 100 = none does. */
double kvmig__copy_needed_throttle(const struct kvmig__copy_in *in);

#endif
