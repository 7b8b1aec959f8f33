/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What migrations and measurements have taught about links and VMs. Plain data with its rules; no lock, clock or file. The cluster view
 * owns one (guarded by the context lock), the planner reads it.
 */
#ifndef KVMIG_SRC_LEARNED_H
#define KVMIG_SRC_LEARNED_H

#include "plan/forecast_model.h"

/* Entries that are kept; the one that was not used for longest goes. */
#define KVMIG__LEARNED_MOST 4096

struct kvmig__learned_link { /* of one pair of hosts, in that direction; numbers < 0 = not known */
    char *source, *target;
    double line; /* bytes/s without a limit */
    double setup_s; /* of the migrate call, in which no memory or disk flows, before and after */
    double switch_s; /* of the pause, beside the memory sent in it */
    double disk_rate; /* bytes/s while disks are copied */
    uint64_t stamp;
};
struct kvmig__learned_vm {
    char *uuid;
    double memory, used; /* of the last migration, bytes; < 0 = not known */
    double
        outside; /* resident memory of its process when it was measured, less what the migration then sent; 0 = not known */
    double resident; /* when it was last measured; < 0 = not known */
    double busy; /* share of its CPUs' time; < 0 = not known */
    struct kvmig__dirty_point points[KVMIG__CURVE_POINTS]; /* measured, or from the passes of the last migration */
    size_t n_points;
    bool measured; /* points are of a measurement that was made after the last migration */
    uint64_t stamp;
};
struct kvmig__learned {
    struct {
        struct kvmig__learned_link *v;
        size_t n;
    } links;
    struct {
        struct kvmig__learned_vm *v;
        size_t n;
    } vms;
    uint64_t stamp; /* counts what was learned */
};
void kvmig__learned_clear(struct kvmig__learned *learned);
const struct kvmig__learned_link *kvmig__learned_find_link(const struct kvmig__learned *learned, const char *source,
                                                           const char *target); /* NULL = nothing */
const struct kvmig__learned_vm *kvmig__learned_find_vm(const struct kvmig__learned *learned, const char *uuid);
/* The entry, made if there is none; valid until the next call. */
struct kvmig__learned_link *kvmig__learned_link(struct kvmig__learned *learned, const char *source, const char *target);
struct kvmig__learned_vm *kvmig__learned_vm(struct kvmig__learned *learned, const char *uuid);
/* Moves *slot towards value; what is known already counts half. */
void kvmig__learned_blend(double *slot, double value);

/* What was seen of a migration that succeeded by pre-copy; numbers < 0 = not known. */
struct kvmig__seen {
    double call_s; /* the migrate call */
    double transfer_s; /* in which memory flowed, pause included */
    double sent; /* of memory, bytes */
    double disk_s, disk_bytes; /* before it */
    double memory, used; /* bytes; used: sent in the first pass */
    double rate; /* bytes/s while memory flowed, as QEMU told it at last */
    double cap; /* the limit; 0 = none */
    double pause_s, last; /* bytes sent in the pause, as far as known */
    struct kvmig__dirty_point points[KVMIG__CURVE_POINTS]; /* what became dirty in a pass that long */
    size_t n_points;
};
void kvmig__learned_take(struct kvmig__learned *learned, const char *uuid, const char *source, const char *target,
                         const struct kvmig__seen *seen);
/* What a measurement told. */
void kvmig__learned_measured(struct kvmig__learned *learned, const char *uuid, const struct kvmig__dirty_point *points,
                             size_t n, double resident, double busy);

#endif
