/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Drains of a KubeVirt cluster: the VMs that run on the nodes, KubeVirt's own limits, and what a launcher takes on its target. The
 * store is not changed: what is placed is subtracted from a copy of the nodes' amounts, and its pod counts as a neighbour on the
 * target. Pure; needs the store for itself while it works.
 */
#include "plan/checks.h"
#include "plan/drain_internal.h"
#include "plan/kube_lazy.h"

#include <stdlib.h>
#include <string.h>

#define WHERE "kvmig_cluster_plan_drain"
#define MIB ((uint64_t)1 << 20)

struct data {
    struct kvmig__kube *kube;
    struct kvmig__kube_base *base;
    struct kvmig__kube_whatif whatif;
    bool *skip;
    bool had_lookup;
};

/* ---- nodes ---- */

static int32_t check_nodes(const struct kvmig__drain_world *world, const struct kvmig__strlist *names,
                           const char *option)
{
    const struct data *data = world->data;

    if (!kvmig__kube_is_known(data->kube, KVMIG__KUBE_NODE))
        return 0;
    for (size_t i = 0; i < names->n; i++) {
        char *where;
        int32_t rc;

        if (kvmig__kube_base_find(data->base, names->v[i]) != KVMIG__NO_NODE)
            continue;
        where = kvmig__asprintf("%s, option %s", WHERE, option);
        rc = kvmig__fail(kvmig__error_new(KVMIG_ENOHOST, where, NULL,
                                          "Use a node's name as kvmig_cluster_to_json() lists them.",
                                          "No node of the view is called %s.", names->v[i]));
        free(where);
        return rc;
    }
    return 0;
}

static void mark(struct data *data, const struct kvmig__strlist *names, bool skip)
{
    for (size_t i = 0; i < names->n; i++) {
        size_t at = kvmig__kube_base_find(data->base, names->v[i]);

        if (at != KVMIG__NO_NODE)
            data->skip[at] = skip;
    }
}

static int32_t find_targets(struct kvmig__drain_world *world)
{
    const struct kvmig__drain_request *request = world->request;
    struct data *data = world->data;
    int32_t rc = check_nodes(world, &request->nodes, "nodes");

    if (rc == 0)
        rc = check_nodes(world, &request->targets, "targets");
    if (rc == 0)
        rc = check_nodes(world, &request->excludes, "excludes");
    data->skip = kvmig__calloc(data->base->nodes->n + 1, sizeof(*data->skip));
    for (size_t i = 0; request->targets.n && i < data->base->nodes->n; i++)
        data->skip[i] = true;
    mark(data, &request->targets, false);
    mark(data, &request->excludes, true);
    mark(data, &request->nodes, true);
    return rc;
}

/* ---- VMs ---- */

static uint64_t memory_of(const struct kvmig__kube_vmi *vmi)
{
    uint64_t current = vmi->memory_guest_current;

    if (current && current != KVMIG__UNKNOWN)
        return current;
    if (vmi->domain.memory != KVMIG__UNKNOWN && vmi->domain.memory)
        return vmi->domain.memory;
    current = kvmig__amounts_get(&vmi->domain.requests, "memory");
    return current == KVMIG__UNKNOWN ? 0 : current / 1000;
}

static void add_vm(struct kvmig__drain_world *world, const struct kvmig__kube_vmi *vmi)
{
    struct kvmig__drain_vm *vm = KVMIG__PUSH(&world->vms);

    vm->vm = kvmig__asprintf("%s/%s", vmi->meta.ns ? vmi->meta.ns : "default", vmi->meta.name);
    vm->source = kvmig__strdup(vmi->node);
    vm->memory = memory_of(vmi);
}

static int32_t fail_vm(const char *vm, bool ambiguous)
{
    return kvmig__fail(
        kvmig__error_new(ambiguous ? KVMIG_EAMBIGUOUS : KVMIG_ENOVM, WHERE ", option vms", NULL,
                         "Name it as NAMESPACE/NAME, or by its UID.",
                         ambiguous ? "Several namespaces have a VM %s." : "No running VM %s is in the view.", vm));
}

static int32_t find_named(struct kvmig__drain_world *world)
{
    const struct kvmig__drain_request *request = world->request;
    const struct data *data = world->data;

    for (size_t i = 0; i < request->vms.n; i++) {
        bool ambiguous;
        const struct kvmig__kube_vmi *vmi = kvmig__kube_vmi(data->kube, request->vms.v[i], &ambiguous);

        if (!vmi)
            return fail_vm(request->vms.v[i], ambiguous);
        if (kvmig__vmi_runs(vmi) && (!request->nodes.n || kvmig__strlist_has(&request->nodes, vmi->node)))
            add_vm(world, vmi);
    }
    return 0;
}

static int32_t find_vms(struct kvmig__drain_world *world)
{
    const struct kvmig__drain_request *request = world->request;
    const struct data *data = world->data;

    if (request->vms.n)
        return find_named(world);
    KVMIG__KUBE_EACH(data->kube, VMI, vmi)
    {
        if (kvmig__vmi_runs(vmi) && kvmig__strlist_has(&request->nodes, vmi->node))
            add_vm(world, vmi);
    }
    return 0;
}

/* ---- limits ---- */

static uint32_t clamp(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static uint32_t limit_of(uint32_t asked, uint64_t own)
{
    uint32_t limit = asked ? asked : clamp(own);

    return limit ? limit : 1;
}

static void find_limits(struct kvmig__drain_world *world)
{
    const struct data *data = world->data;
    struct kvmig__kube_slots slots;

    kvmig__kube_slots(data->kube, NULL, &slots);
    /* asking for more than KubeVirt grants would only fill its queue */
    world->limits = (struct kvmig__drain_limits){ .total = limit_of(world->request->max_migrations, slots.limit),
                                                  .out = limit_of(world->request->max_outbound, slots.outbound_limit),
                                                  .in = limit_of(world->request->max_inbound, UINT32_MAX),
                                                  .taken = clamp(slots.running) };
    if (slots.limit && world->limits.total > slots.limit)
        world->limits.total = clamp(slots.limit);
    if (slots.outbound_limit && world->limits.out > slots.outbound_limit)
        world->limits.out = clamp(slots.outbound_limit);
}

static int32_t open_world(struct kvmig__drain_world *world)
{
    struct data *data = kvmig__calloc(1, sizeof(*data));
    int32_t rc;

    world->data = data;
    data->kube = (struct kvmig__kube *)world->view->kube; /* changed by nothing but its look-ups */
    data->had_lookup = data->kube->lookup;
    kvmig__kube_lookup_make(data->kube);
    data->base = kvmig__kube_base(data->kube);
    data->whatif.nodes = kvmig__kube_nodes_copy(data->base->nodes);
    rc = find_targets(world);
    data->whatif.skip = data->skip;
    if (rc == 0)
        rc = find_vms(world);
    if (rc == 0)
        find_limits(world);
    return rc;
}

static void close_world(struct kvmig__drain_world *world)
{
    struct data *data = world->data;

    for (size_t i = 0; i < data->whatif.moved.n; i++)
        free((struct kvmig__kube_pod *)data->whatif.moved.v[i]); /* a copy of what the store owns, but for its node */
    free(data->whatif.moved.v);
    free(data->whatif.before.v);
    kvmig__kube_nodes_unref(data->whatif.nodes);
    free(data->skip);
    if (!data->had_lookup && !data->kube->keeps_lookup)
        kvmig__kube_lookup_drop(data->kube);
    free(data);
}

/* ---- planning and placing ---- */

static int32_t plan_vm(struct kvmig__drain_world *world, const struct kvmig__drain_vm *vm, bool left,
                       struct kvmig_plan **out_plan)
{
    struct data *data = world->data;
    struct kvmig__request request = world->request->plan; /* shallow: borrows for this one plan */
    int32_t rc;

    request.vm = vm->vm;
    data->whatif.left = left;
    rc = kvmig__plan_kube_whatif(world->view, &request, &data->whatif, out_plan);
    /* what is immovable is told in full, with the amounts as they are now */
    if (rc == 0 && (*out_plan)->verdict == KVMIG_VERDICT_BLOCKED)
        kvmig__plan_candidates(*out_plan);
    return rc;
}

/* The wants of the plan point at the columns of this copy of the nodes. */
static void take_room(const struct kvmig__kube_lazy *lazy, size_t node)
{
    for (size_t i = 0; i < lazy->wants.n; i++) {
        const struct kvmig__kube_want *want = &lazy->wants.v[i];
        uint64_t *left = want->left ? (uint64_t *)&want->left[node] : NULL;

        if (!left || *left == KVMIG__UNKNOWN || want->need == KVMIG__UNKNOWN)
            continue;
        *left = want->need < *left ? *left - want->need : 0;
    }
}

/* The pod as it will be: the store's own, but for the node. The plan keeps the node's name as long as the nodes live. */
static void move_pod(struct data *data, const struct kvmig__drain_vm *vm, size_t node)
{
    const struct kvmig__kube_vmi *vmi = kvmig__kube_vmi(data->kube, vm->vm, NULL);
    const struct kvmig__kube_pod *pod = vmi ? kvmig__kube_source_pod(data->kube, vmi) : NULL;
    struct kvmig__kube_pod *copy;

    if (!pod)
        return;
    copy = kvmig__calloc(1, sizeof(*copy));
    *copy = *pod;
    copy->node = (char *)data->whatif.nodes->names[node];
    *KVMIG__PUSH(&data->whatif.moved) = copy;
    *KVMIG__PUSH(&data->whatif.before) = pod;
}

static struct kvmig_plan *place(struct kvmig__drain_world *world, const struct kvmig__drain_vm *vm,
                                struct kvmig_plan *plan)
{
    struct data *data = world->data;
    size_t node = plan->target ? kvmig__kube_base_find(data->base, plan->target) : KVMIG__NO_NODE;

    if (node == KVMIG__NO_NODE) /* nodes are not known: the scheduler will find one */
        return plan;
    kvmig__plan_keep_target(plan, node);
    take_room(plan->lazy, node);
    kvmig__kube_lazy_free(plan->lazy);
    plan->lazy = NULL;
    move_pod(data, vm, node);
    return plan;
}

static void measure(const struct kvmig__drain_world *world, const struct kvmig__drain_vm *vm,
                    struct kvmig__drain_move *move)
{
    const struct data *data = world->data;
    const struct kvmig__kube_vmi *vmi = kvmig__kube_vmi(data->kube, vm->vm, NULL);
    uint64_t disks = kvmig__disks_bytes_to_copy(move->plan->disks.v, move->plan->disks.n, NULL),
             share = world->request->link_mib * MIB / world->limits.out;
    struct kvmig__kube_config config;
    struct kvmig__kube_slots slots;

    move->bytes = vm->memory ? kvmig__sum(vm->memory, disks) : KVMIG__UNKNOWN;
    move->bandwidth = share;
    kvmig__kube_config_for(data->kube, vmi, &config, NULL);
    if (config.bandwidth && config.bandwidth != KVMIG__UNKNOWN && (!share || config.bandwidth < share))
        move->bandwidth = config.bandwidth;
    kvmig__kube_config_clear(&config);
    kvmig__kube_slots(data->kube, vm->source, &slots);
    move->taken_out = clamp(slots.outbound);
}

const struct kvmig__drain_ops kvmig__drain_kube = { open_world, plan_vm, place, measure, close_world };
