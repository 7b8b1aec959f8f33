/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What was learned of links and VMs: finding, adding, forgetting the oldest, taking over a migration or a measurement. Does not:
 * forecast, read or write JSON, lock. Pure; the caller guards it and owns it.
 */
#include "plan/learned.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CAP_HOLDS 0.85 /* this share of the limit on average: the limit was what held, the line is not known */
#define LEAST_SHARE 0.25 /* of the time in which QEMU says that memory flowed; less is not believed */

void kvmig__learned_clear(struct kvmig__learned *learned)
{
    for (size_t i = 0; i < learned->links.n; i++) {
        free(learned->links.v[i].source);
        free(learned->links.v[i].target);
    }
    for (size_t i = 0; i < learned->vms.n; i++)
        free(learned->vms.v[i].uuid);
    free(learned->links.v);
    free(learned->vms.v);
    *learned = (struct kvmig__learned){ .stamp = 0 };
}

const struct kvmig__learned_link *kvmig__learned_find_link(const struct kvmig__learned *learned, const char *source,
                                                           const char *target)
{
    for (size_t i = 0; learned && source && target && i < learned->links.n; i++) {
        if (!strcmp(learned->links.v[i].source, source) && !strcmp(learned->links.v[i].target, target))
            return &learned->links.v[i];
    }
    return NULL;
}

const struct kvmig__learned_vm *kvmig__learned_find_vm(const struct kvmig__learned *learned, const char *uuid)
{
    for (size_t i = 0; learned && uuid && i < learned->vms.n; i++) {
        if (!strcmp(learned->vms.v[i].uuid, uuid))
            return &learned->vms.v[i];
    }
    return NULL;
}

static size_t oldest_link(const struct kvmig__learned *learned)
{
    size_t oldest = 0;

    for (size_t i = 1; i < learned->links.n; i++) {
        if (learned->links.v[i].stamp < learned->links.v[oldest].stamp)
            oldest = i;
    }
    return oldest;
}

static size_t oldest_vm(const struct kvmig__learned *learned)
{
    size_t oldest = 0;

    for (size_t i = 1; i < learned->vms.n; i++) {
        if (learned->vms.v[i].stamp < learned->vms.v[oldest].stamp)
            oldest = i;
    }
    return oldest;
}

struct kvmig__learned_link *kvmig__learned_link(struct kvmig__learned *learned, const char *source, const char *target)
{
    struct kvmig__learned_link *link = (void *)(uintptr_t)kvmig__learned_find_link(learned, source, target);

    if (!link) {
        if (learned->links.n < KVMIG__LEARNED_MOST) {
            link = KVMIG__PUSH(&learned->links);
        } else {
            link = &learned->links.v[oldest_link(learned)];
            free(link->source);
            free(link->target);
        }
        *link = (struct kvmig__learned_link){ .source = kvmig__strdup(source),
                                              .target = kvmig__strdup(target),
                                              .line = -1,
                                              .setup_s = -1,
                                              .switch_s = -1,
                                              .disk_rate = -1 };
    }
    link->stamp = ++learned->stamp;
    return link;
}

struct kvmig__learned_vm *kvmig__learned_vm(struct kvmig__learned *learned, const char *uuid)
{
    struct kvmig__learned_vm *vm = (void *)(uintptr_t)kvmig__learned_find_vm(learned, uuid);

    if (!vm) {
        if (learned->vms.n < KVMIG__LEARNED_MOST) {
            vm = KVMIG__PUSH(&learned->vms);
        } else {
            vm = &learned->vms.v[oldest_vm(learned)];
            free(vm->uuid);
        }
        *vm = (struct kvmig__learned_vm){
            .uuid = kvmig__strdup(uuid), .memory = -1, .used = -1, .resident = -1, .busy = -1
        };
    }
    vm->stamp = ++learned->stamp;
    return vm;
}

void kvmig__learned_blend(double *slot, double value)
{
    if (value >= 0)
        *slot = *slot >= 0 ? (*slot + value) / 2 : value;
}

static bool limit_held(const struct kvmig__seen *seen)
{
    return seen->cap > 0 && seen->rate >= CAP_HOLDS * seen->cap;
}

/* A limit that held tells better how long memory flowed than QEMU does, whose rate is that of a moment; the pause is not held back. */
static double transfer_of(const struct kvmig__seen *seen)
{
    if (limit_held(seen) && seen->pause_s >= 0 && seen->last >= 0 && seen->sent > seen->last)
        return (seen->sent - seen->last) / seen->cap + seen->pause_s;
    return seen->transfer_s;
}

/* What went out in the call, less what is known to be overhead: of a short copy QEMU's own figures are mostly overhead. */
static double line_of(const struct kvmig__learned_link *link, const struct kvmig__seen *seen, double disk_s)
{
    const double flowed_s = seen->call_s - disk_s - link->setup_s;

    if (!(seen->sent > 0) || !(seen->transfer_s > 0))
        return seen->rate;
    if (seen->call_s < 0 || link->setup_s < 0 || flowed_s < seen->transfer_s * LEAST_SHARE)
        return seen->sent / seen->transfer_s;
    return seen->sent / fmin(flowed_s, seen->transfer_s);
}

static void take_link(struct kvmig__learned_link *link, const struct kvmig__seen *seen)
{
    const double disk_s = seen->disk_s > 0 ? seen->disk_s : 0;

    if (seen->rate > 0 && !limit_held(seen))
        kvmig__learned_blend(&link->line, line_of(link, seen, disk_s));
    if (seen->call_s >= 0 && seen->transfer_s >= 0)
        kvmig__learned_blend(&link->setup_s, fmax(seen->call_s - transfer_of(seen) - disk_s, 0));
    if (seen->disk_s > 0.5 && seen->disk_bytes > 0)
        kvmig__learned_blend(&link->disk_rate, seen->disk_bytes / seen->disk_s);
    if (seen->pause_s >= 0 && seen->last >= 0 && link->line > 0)
        kvmig__learned_blend(&link->switch_s, fmax(seen->pause_s - seen->last / link->line, 0));
}

void kvmig__learned_take(struct kvmig__learned *learned, const char *uuid, const char *source, const char *target,
                         const struct kvmig__seen *seen)
{
    struct kvmig__learned_vm *vm = kvmig__learned_vm(learned, uuid);

    take_link(kvmig__learned_link(learned, source, target), seen);
    if (seen->memory > 0)
        vm->memory = seen->memory;
    if (seen->used >= 0) {
        vm->used = seen->used;
        vm->outside = vm->resident > 0 && vm->measured ? vm->resident - seen->used : 0;
    }
    vm->resident = -1; /* it is another process from now on */
    vm->measured = false;
    if (seen->n_points) {
        vm->n_points = seen->n_points < KVMIG__CURVE_POINTS ? seen->n_points : KVMIG__CURVE_POINTS;
        memcpy(vm->points, seen->points, vm->n_points * sizeof(*vm->points));
    }
}

void kvmig__learned_measured(struct kvmig__learned *learned, const char *uuid, const struct kvmig__dirty_point *points,
                             size_t n, double resident, double busy)
{
    struct kvmig__learned_vm *vm = kvmig__learned_vm(learned, uuid);

    vm->n_points = n < KVMIG__CURVE_POINTS ? n : KVMIG__CURVE_POINTS;
    memcpy(vm->points, points, vm->n_points * sizeof(*points));
    vm->resident = resident;
    vm->busy = busy;
    vm->measured = true;
}
