/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan of a drain: its request, its life, its accessors, and the assignment of targets, one VM after the other, each beside all
 * that were placed before it. The largest go first: they are the hardest to place. A VM that finds no place beside the others is
 * tried once more as if those had left already, and then waits for them. Which VMs there are and what they need is for
 * drain_kube.c and drain_libvirt.c. Pure; any thread; a drain is immutable once it is made.
 */
#include "plan/drain_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WHERE "kvmig_cluster_plan_drain"
#define MIB ((uint64_t)1 << 20)

/* ---- the request ---- */

int32_t kvmig_drain_opts_init(struct kvmig_drain_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_drain_opts_init");
}

static int32_t refuse(const char *option, const char *evidence, const char *hint, const char *message)
{
    char *where = kvmig__asprintf("%s, option %s", WHERE, option);
    int32_t rc = kvmig__fail(kvmig__error_new(EINVAL, where, evidence, hint, "%s", message));

    free(where);
    return rc;
}

static int32_t take_list(struct kvmig__strlist *list, const char *const *v, size_t n, const char *option)
{
    for (size_t i = 0; i < n; i++) {
        if (!v || !v[i] || !*v[i])
            return refuse(option, NULL, "Leave out what is empty.", "An entry of the list is NULL or empty.");
        kvmig__strlist_add_new(list, v[i]);
    }
    return 0;
}

/* Targets are assigned so that all of them fit; a scheduler would put the VMs anywhere, and onto the other nodes that are emptied. */
static int32_t take_plan(struct kvmig__request *request, const struct kvmig_plan_opts *opts)
{
    int32_t rc = kvmig__request_for_many(request, opts, WHERE ": plan");

    if (rc == 0 && request->target)
        rc = refuse("plan.target", request->target, "Use targets of the drain.",
                    "The options of all migrations name one target.");
    if (rc == 0 && request->flags & KVMIG_PLAN_ANY_TARGET)
        rc = refuse("plan.flags", "KVMIG_PLAN_ANY_TARGET", "Leave out the flag; targets limits the choice.",
                    "A drain assigns its targets itself.");
    return rc;
}

static int32_t take_link(struct kvmig__drain_request *request, uint64_t link_mib)
{
    if (link_mib > UINT64_MAX / MIB)
        return refuse("link_mib", NULL, "Give MiB per second, or 0.", "No link carries that much.");
    request->link_mib = link_mib;
    return 0;
}

int32_t kvmig__drain_request_from_opts(struct kvmig__drain_request *request, const struct kvmig_drain_opts *opts)
{
    struct kvmig_drain_opts known;
    int32_t rc = kvmig__opts_copy(&known, sizeof(known), opts, WHERE);

    *request = (struct kvmig__drain_request){ 0 };
    if (rc == 0)
        rc = take_list(&request->nodes, known.nodes, known.n_nodes, "nodes");
    if (rc == 0)
        rc = take_list(&request->vms, known.vms, known.n_vms, "vms");
    if (rc == 0)
        rc = take_list(&request->targets, known.targets, known.n_targets, "targets");
    if (rc == 0)
        rc = take_list(&request->excludes, known.excludes, known.n_excludes, "excludes");
    if (rc == 0 && !request->nodes.n && !request->vms.n)
        rc = refuse("nodes", NULL, "Name hosts to empty, or VMs to move.", "There is nothing to drain.");
    if (rc == 0 && known.reserved)
        rc = refuse("reserved", NULL, "Initialise with KVMIG_DRAIN_OPTS_INIT.", "A reserved option is not 0.");
    if (rc == 0)
        rc = take_link(request, known.link_mib);
    if (rc == 0)
        rc = take_plan(&request->plan, known.plan);
    request->max_migrations = known.max_migrations;
    request->max_outbound = known.max_outbound;
    request->max_inbound = known.max_inbound;
    if (rc < 0)
        kvmig__drain_request_clear(request);
    return rc;
}

void kvmig__drain_request_clear(struct kvmig__drain_request *request)
{
    kvmig__strlist_clear(&request->nodes);
    kvmig__strlist_clear(&request->vms);
    kvmig__strlist_clear(&request->targets);
    kvmig__strlist_clear(&request->excludes);
    kvmig__request_clear(&request->plan);
}

bool kvmig__drain_has(const struct kvmig__strlist *list, const char *name, const char *other)
{
    return (name && kvmig__strlist_has(list, name)) || (other && kvmig__strlist_has(list, other));
}

/* ---- the assignment ---- */

static int compare_sizes(const void *a, const void *b)
{
    const struct kvmig__drain_vm *x = a, *y = b;

    if (x->memory != y->memory)
        return x->memory > y->memory ? -1 : 1;
    return strcmp(x->vm, y->vm);
}

static int32_t assign(struct kvmig__drain_world *world, const struct kvmig__drain_ops *ops,
                      const struct kvmig__drain_vm *vm, struct kvmig_drain *drain)
{
    struct kvmig__drain_move *move;
    struct kvmig_plan *plan;
    bool after = false;
    int32_t rc = ops->plan(world, vm, false, &plan);

    if (rc < 0)
        return rc;
    if (plan->verdict == KVMIG_VERDICT_BLOCKED && drain->moves.n) {
        struct kvmig_plan *later;

        if (ops->plan(world, vm, true, &later) == 0) {
            after = later->verdict != KVMIG_VERDICT_BLOCKED;
            kvmig_plan_unref(after ? plan : later);
            plan = after ? later : plan;
        }
    }
    if (plan->verdict == KVMIG_VERDICT_BLOCKED) {
        *KVMIG__PUSH(&drain->immovable) = plan;
        return 0;
    }
    move = KVMIG__PUSH(&drain->moves);
    move->after = after;
    move->plan = ops->place(world, vm, plan);
    ops->measure(world, vm, move);
    return 0;
}

static struct kvmig_drain *drain_new(const struct kvmig__drain_world *world)
{
    struct kvmig_drain *drain = kvmig__calloc(1, sizeof(*drain));

    drain->refs = 1;
    drain->limits = world->limits;
    kvmig__strlist_copy(&drain->nodes, &world->request->nodes);
    return drain;
}

static void world_clear(struct kvmig__drain_world *world)
{
    for (size_t i = 0; i < world->vms.n; i++) {
        free(world->vms.v[i].vm);
        free(world->vms.v[i].source);
    }
    free(world->vms.v);
}

int32_t kvmig__drain_make(const struct kvmig__view *view, const struct kvmig__drain_request *request,
                          const struct kvmig__slots *slots, struct kvmig_drain **out_drain)
{
    const struct kvmig__drain_ops *ops = view->kube ? &kvmig__drain_kube : &kvmig__drain_libvirt;
    struct kvmig__drain_world world = { .view = view, .request = request, .slots = slots };
    struct kvmig_drain *drain = NULL;
    int32_t rc = ops->open(&world);

    *out_drain = NULL;
    if (rc == 0) {
        if (world.vms.n)
            qsort(world.vms.v, world.vms.n, sizeof(*world.vms.v), compare_sizes);
        drain = drain_new(&world);
    }
    for (size_t i = 0; rc == 0 && i < world.vms.n; i++)
        rc = assign(&world, ops, &world.vms.v[i], drain);
    if (rc == 0) {
        kvmig__drain_order(drain);
        *out_drain = drain;
    } else {
        kvmig_drain_unref(drain);
    }
    ops->close(&world);
    world_clear(&world);
    return rc;
}

/* ---- life ---- */

struct kvmig_drain *kvmig_drain_ref(const struct kvmig_drain *drain)
{
    struct kvmig_drain *owned = (struct kvmig_drain *)drain; /* the count is no part of what is immutable */

    if (owned)
        __atomic_add_fetch(&owned->refs, 1, __ATOMIC_RELAXED);
    return owned;
}

void kvmig_drain_unref(struct kvmig_drain *drain)
{
    if (!drain || __atomic_sub_fetch(&drain->refs, 1, __ATOMIC_ACQ_REL))
        return;
    for (size_t i = 0; i < drain->moves.n; i++)
        kvmig_plan_unref(drain->moves.v[i].plan);
    for (size_t i = 0; i < drain->immovable.n; i++)
        kvmig_plan_unref(drain->immovable.v[i]);
    free(drain->moves.v);
    free(drain->immovable.v);
    kvmig__strlist_clear(&drain->nodes);
    free(drain);
}

/* ---- accessors ---- */

size_t kvmig_drain_count(const struct kvmig_drain *drain)
{
    return drain ? drain->moves.n : 0;
}

const struct kvmig_plan *kvmig_drain_plan(const struct kvmig_drain *drain, size_t index)
{
    return index < kvmig_drain_count(drain) ? drain->moves.v[index].plan : NULL;
}

uint32_t kvmig_drain_wave(const struct kvmig_drain *drain, size_t index)
{
    return index < kvmig_drain_count(drain) ? drain->moves.v[index].wave : 0;
}

uint64_t kvmig_drain_finish_ms(const struct kvmig_drain *drain, size_t index)
{
    return index < kvmig_drain_count(drain) ? drain->moves.v[index].finish_ms : KVMIG__NO_TIME;
}

uint64_t kvmig_drain_expected_ms(const struct kvmig_drain *drain)
{
    return drain ? drain->expected_ms : KVMIG__NO_TIME;
}

size_t kvmig_drain_immovable_count(const struct kvmig_drain *drain)
{
    return drain ? drain->immovable.n : 0;
}

const struct kvmig_plan *kvmig_drain_immovable(const struct kvmig_drain *drain, size_t index)
{
    return index < kvmig_drain_immovable_count(drain) ? drain->immovable.v[index] : NULL;
}
