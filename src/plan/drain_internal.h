/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of a drain's plan. Pure, but for drain_json.c, which writes a finished one as JSON.
 */
#ifndef KVMIG_SRC_DRAIN_INTERNAL_H
#define KVMIG_SRC_DRAIN_INTERNAL_H

#include "plan/plan_internal.h"
#include <kvmig/drain.h>

#define KVMIG__NO_TIME UINT64_MAX

/* A deep copy of struct kvmig_drain_opts. */
struct kvmig__drain_request {
    struct kvmig__strlist nodes, vms, targets, excludes;
    struct kvmig__request plan; /* vm, source, target NULL */
    uint64_t link_mib;
    uint32_t max_migrations, max_outbound, max_inbound; /* 0 = of the view */
};
int32_t kvmig__drain_request_from_opts(struct kvmig__drain_request *request, const struct kvmig_drain_opts *opts);
void kvmig__drain_request_clear(struct kvmig__drain_request *request);

struct kvmig__drain_limits {
    uint32_t total, out, in; /* at once; at least 1 */
    uint32_t taken; /* of total, by migrations that are under way already */
};
struct kvmig__drain_move {
    struct kvmig_plan *plan;
    uint32_t wave; /* from 1 */
    bool after; /* waits until all before it have ended: one of them has to make room first */
    uint64_t bytes; /* memory, and disks that are copied; KVMIG__UNKNOWN */
    uint64_t bandwidth; /* bytes/s that it may count on; 0 = not known */
    uint64_t begin_ms, finish_ms; /* from the start of the drain; KVMIG__NO_TIME */
    uint32_t taken_out; /* from its source, by migrations that are under way already */
    size_t from, to; /* numbers of its hosts, given by kvmig__drain_order(); SIZE_MAX: not known */
};
struct kvmig__drain_moves {
    struct kvmig__drain_move *v;
    size_t n;
};
struct kvmig_drain {
    uint32_t refs; /* atomic */
    struct kvmig__strlist nodes; /* that are emptied */
    struct kvmig__drain_limits limits;
    struct kvmig__drain_moves moves; /* in the order of their start */
    size_t n_hosts; /* that moves are from and to */
    struct {
        struct kvmig_plan **v;
        size_t n;
    } immovable;
    uint64_t expected_ms;
};

/* What is drained: the VMs, and the world in which their targets are chosen. kube or libvirt. */
struct kvmig__drain_vm {
    char *vm, *source; /* as a request names them */
    uint64_t memory; /* bytes */
};
struct kvmig__drain_vms {
    struct kvmig__drain_vm *v;
    size_t n;
};
struct kvmig__drain_world {
    const struct kvmig__view *view;
    const struct kvmig__drain_request *request;
    const struct kvmig__slots *slots;
    struct kvmig__drain_vms vms; /* largest first */
    struct kvmig__drain_limits limits;
    void *data;
};
/* A backend of drains (drain_kube.c, drain_libvirt.c). */
struct kvmig__drain_ops {
    /* Finds the VMs and the limits. Errors as kvmig_cluster_plan_drain(). */
    int32_t (*open)(struct kvmig__drain_world *world);
    /* Plans one VM beside all that were placed before; left: as if those had gone already. */
    int32_t (*plan)(struct kvmig__drain_world *world, const struct kvmig__drain_vm *vm, bool left,
                    struct kvmig_plan **out_plan);
    /* Takes the plan's target for it: what it needs there is no more free. Returns the plan with that target alone. */
    struct kvmig_plan *(*place)(struct kvmig__drain_world *world, const struct kvmig__drain_vm *vm,
                                struct kvmig_plan *plan); /* taken */
    /* Fills bytes, bandwidth and taken_out. */
    void (*measure)(const struct kvmig__drain_world *world, const struct kvmig__drain_vm *vm,
                    struct kvmig__drain_move *move);
    void (*close)(struct kvmig__drain_world *world);
};
extern const struct kvmig__drain_ops kvmig__drain_kube, kvmig__drain_libvirt;
bool kvmig__drain_has(const struct kvmig__strlist *list, const char *name, const char *other); /* either of them */

int32_t kvmig__drain_make(const struct kvmig__view *view, const struct kvmig__drain_request *request,
                          const struct kvmig__slots *slots, struct kvmig_drain **out_drain);

/* ---- the order (drain_order.c) ---- */
/* Numbers the hosts, gives waves and times, and sorts by them. */
void kvmig__drain_order(struct kvmig_drain *drain);
/* What a migration of a run is doing. */
enum kvmig__drain_state { KVMIG__DRAIN_WAITS, KVMIG__DRAIN_RUNS, KVMIG__DRAIN_OVER };
/* The next one that may start now; SIZE_MAX = none. states: one per move. */
size_t kvmig__drain_next(const struct kvmig_drain *drain, const uint8_t *states);

#endif
