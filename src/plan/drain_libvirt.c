/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Drains of libvirt hosts: the guests that are active on them, the view's limits, and what a guest takes on its target. The view is
 * not changed: targets are copies of its hosts, to which each guest that was placed is added, with what it takes of memory, huge
 * pages and pools. Pure; any thread that may read the view.
 */
#include "plan/checks.h"
#include "plan/drain_internal.h"
#include "plan/locate.h"

#include <stdlib.h>
#include <string.h>

#define WHERE "kvmig_cluster_plan_drain"
#define MIB ((uint64_t)1 << 20)

/* A host as it will be. Shallow: the lists that change are its own, what they hold is the view's. */
struct copy {
    struct kvmig__host host;
    bool own; /* differs from the view's */
};
struct data {
    struct kvmig__view view; /* of the copies */
    struct copy *copies;
    struct kvmig__strlist skip; /* hosts that are no targets */
};

/* ---- hosts ---- */

static int32_t add_hosts(const struct kvmig__view *view, const struct kvmig__strlist *names, const char *option,
                         struct kvmig__strlist *out)
{
    for (size_t i = 0; i < names->n; i++) {
        const struct kvmig__host *host = kvmig__view_find_host(view, names->v[i]);
        char *where;
        int32_t rc;

        if (host) {
            kvmig__strlist_add_new(out, host->name);
            continue;
        }
        where = kvmig__asprintf("%s, option %s", WHERE, option);
        rc = kvmig__fail(kvmig__error_new(KVMIG_ENOHOST, where, NULL,
                                          "Use a host name or URI as kvmig_cluster_to_json() lists them.",
                                          "No host of the view is called %s.", names->v[i]));
        free(where);
        return rc;
    }
    return 0;
}

static int32_t find_targets(const struct kvmig__drain_world *world, struct kvmig__strlist *out_nodes)
{
    struct kvmig__strlist targets = { 0 };
    struct data *data = world->data;
    int32_t rc = add_hosts(world->view, &world->request->nodes, "nodes", out_nodes);

    if (rc == 0)
        rc = add_hosts(world->view, &world->request->targets, "targets", &targets);
    if (rc == 0)
        rc = add_hosts(world->view, &world->request->excludes, "excludes", &data->skip);
    for (size_t i = 0; i < out_nodes->n; i++)
        kvmig__strlist_add_new(&data->skip, out_nodes->v[i]);
    for (size_t i = 0; targets.n && i < world->view->hosts.n; i++) {
        if (!kvmig__strlist_has(&targets, world->view->hosts.v[i]->name))
            kvmig__strlist_add_new(&data->skip, world->view->hosts.v[i]->name);
    }
    kvmig__strlist_clear(&targets);
    return rc;
}

/* ---- guests ---- */

static uint64_t memory_of(const struct kvmig__domain *domain)
{
    return domain->max_memory > domain->memory ? domain->max_memory : domain->memory;
}

/* named: of the list of VMs, which are found; else all. */
static void find_on(struct kvmig__drain_world *world, const struct kvmig__host *host, bool *named)
{
    const struct kvmig__strlist *vms = &world->request->vms;

    for (size_t i = 0; i < host->domains.n; i++) {
        const struct kvmig__domain *domain = &host->domains.v[i];
        struct kvmig__drain_vm *vm;
        bool wanted = !vms->n;

        if (!kvmig__domain_runs(domain))
            continue;
        for (size_t k = 0; k < vms->n; k++) {
            bool is_it = kvmig__str_eq(vms->v[k], domain->uuid) || kvmig__str_eq(vms->v[k], domain->name);

            named[k] = named[k] || is_it;
            wanted = wanted || is_it;
        }
        if (!wanted)
            continue;
        vm = KVMIG__PUSH(&world->vms);
        vm->vm = kvmig__strdup(domain->uuid ? domain->uuid : domain->name);
        vm->source = kvmig__strdup(host->name);
        vm->memory = memory_of(domain);
    }
}

static bool is_anywhere(const struct kvmig__view *view, const char *vm)
{
    for (size_t i = 0; i < view->hosts.n; i++) {
        if (kvmig__host_find_domain(view->hosts.v[i], vm))
            return true;
    }
    return false;
}

static int32_t find_vms(struct kvmig__drain_world *world, const struct kvmig__strlist *nodes)
{
    const struct kvmig__strlist *vms = &world->request->vms;
    bool *named = kvmig__calloc(vms->n + 1, sizeof(*named));
    int32_t rc = 0;

    for (size_t i = 0; i < world->view->hosts.n; i++) {
        const struct kvmig__host *host = world->view->hosts.v[i];

        if (!world->request->nodes.n || kvmig__strlist_has(nodes, host->name))
            find_on(world, host, named);
    }
    for (size_t i = 0; i < vms->n && rc == 0; i++) {
        if (!named[i] && !is_anywhere(world->view, vms->v[i]))
            rc = kvmig__fail(kvmig__error_new(KVMIG_ENOVM, WHERE ", option vms", NULL,
                                              "Check the name; kvmig_cluster_to_json() lists all VMs of the view.",
                                              "No host of the view has a VM %s.", vms->v[i]));
    }
    free(named);
    return rc;
}

/* ---- limits ---- */

static uint32_t limit_of(uint32_t asked, uint32_t own)
{
    uint32_t limit = asked && (!own || asked < own) ? asked : own;

    return limit ? limit : KVMIG_UNLIMITED;
}

static void find_limits(struct kvmig__drain_world *world)
{
    const struct kvmig__drain_request *request = world->request;
    const struct kvmig__slots *slots = world->slots;

    world->limits = (struct kvmig__drain_limits){
        .total = limit_of(request->max_migrations, slots ? slots->max_migrations : 0),
        .out = limit_of(request->max_outbound, slots ? slots->max_outbound : 0),
        .in = limit_of(request->max_inbound, slots ? slots->max_inbound : 0),
        .taken = slots ? slots->running : 0,
    };
}

/* ---- the hosts as they will be ---- */

static void copy_view(struct data *data, const struct kvmig__view *view)
{
    data->view = *view; /* shallow */
    data->view.hosts.v = kvmig__calloc(view->hosts.n + 1, sizeof(*data->view.hosts.v));
    data->copies = kvmig__calloc(view->hosts.n + 1, sizeof(*data->copies));
    for (size_t i = 0; i < view->hosts.n; i++) {
        data->copies[i].host = *view->hosts.v[i];
        data->view.hosts.v[i] = &data->copies[i].host;
    }
}

static void *copy_list(const void *v, size_t n, size_t size)
{
    void *copy = kvmig__calloc(n + 1, size);

    if (n)
        memcpy(copy, v, n * size);
    return copy;
}

/* Its lists become its own before the first change. */
static void make_own(struct copy *copy)
{
    struct kvmig__host *host = &copy->host;

    if (copy->own)
        return;
    copy->own = true;
    host->domains.v = copy_list(host->domains.v, host->domains.n, sizeof(*host->domains.v));
    host->pools.v = copy_list(host->pools.v, host->pools.n, sizeof(*host->pools.v));
    host->cells.v = copy_list(host->cells.v, host->cells.n, sizeof(*host->cells.v));
    for (size_t i = 0; i < host->cells.n; i++) {
        struct kvmig__numa_cell *cell = &host->cells.v[i];

        cell->pages.v = copy_list(cell->pages.v, cell->pages.n, sizeof(*cell->pages.v));
    }
}

static void free_own(struct kvmig__host *host)
{
    for (size_t i = 0; i < host->cells.n; i++)
        free(host->cells.v[i].pages.v);
    free(host->cells.v);
    free(host->domains.v);
    free(host->pools.v);
}

static void data_free(struct data *data)
{
    for (size_t i = 0; i < data->view.hosts.n; i++) {
        if (data->copies[i].own)
            free_own(&data->copies[i].host);
    }
    free(data->copies);
    free(data->view.hosts.v);
    kvmig__strlist_clear(&data->skip);
    free(data);
}

static int32_t open_world(struct kvmig__drain_world *world)
{
    struct kvmig__strlist nodes = { 0 };
    struct data *data = kvmig__calloc(1, sizeof(*data));
    int32_t rc;

    world->data = data;
    copy_view(data, world->view);
    rc = find_targets(world, &nodes);
    if (rc == 0)
        rc = find_vms(world, &nodes);
    find_limits(world);
    kvmig__strlist_clear(&nodes);
    return rc;
}

static void close_world(struct kvmig__drain_world *world)
{
    data_free(world->data);
}

/* ---- planning and placing ---- */

/* Whether guests before it have left changes nothing here: they are on hosts that are no targets. */
static int32_t plan_on(struct kvmig__drain_world *world, const struct kvmig__drain_vm *vm, const char *target,
                       struct kvmig_plan **out_plan)
{
    struct data *data = world->data;
    struct kvmig__request request = world->request->plan; /* shallow: borrows for this one plan */

    request.vm = vm->vm;
    request.source = vm->source;
    request.target = (char *)target;
    request.skip = &data->skip;
    return kvmig__plan_make(&data->view, &request, world->slots, out_plan);
}

static int32_t plan_vm(struct kvmig__drain_world *world, const struct kvmig__drain_vm *vm, bool left,
                       struct kvmig_plan **out_plan)
{
    (void)left;
    return plan_on(world, vm, NULL, out_plan);
}

static struct copy *copy_of(struct data *data, const char *name)
{
    for (size_t i = 0; i < data->view.hosts.n; i++) {
        if (kvmig__str_eq(data->copies[i].host.name, name))
            return &data->copies[i];
    }
    return NULL;
}

static void take_memory(struct kvmig__host *host, const struct kvmig__domain *domain)
{
    uint64_t need = memory_of(domain);

    if (host->memory_free != KVMIG__UNKNOWN && !domain->hugepages)
        host->memory_free = need < host->memory_free ? host->memory_free - need : 0;
}

static void take_storage(struct kvmig__host *host, const struct kvmig_plan *plan)
{
    for (size_t i = 0; i < plan->disks.n; i++) {
        const struct kvmig__disk_plan *disk = &plan->disks.v[i];
        uint64_t need = disk->estimate != KVMIG__UNKNOWN ? disk->estimate : disk->capacity;

        for (size_t p = 0; disk->create && need != KVMIG__UNKNOWN && p < host->pools.n; p++) {
            struct kvmig__pool *pool = &host->pools.v[p];

            if (kvmig__str_eq(pool->name, disk->pool) && pool->available != KVMIG__UNKNOWN)
                pool->available = need < pool->available ? pool->available - need : 0;
        }
    }
}

static struct kvmig_plan *place(struct kvmig__drain_world *world, const struct kvmig__drain_vm *vm,
                                struct kvmig_plan *plan)
{
    struct data *data = world->data;
    const struct kvmig__host *source = kvmig__view_find_host(world->view, vm->source);
    const struct kvmig__domain *domain = source ? kvmig__host_find_domain(source, vm->vm) : NULL;
    struct copy *target = copy_of(data, plan->target);

    kvmig__plan_keep_target(plan, KVMIG__UNKNOWN);
    if (!domain || !target)
        return plan;
    make_own(target);
    *KVMIG__PUSH(&target->host.domains) = *domain;
    take_memory(&target->host, domain);
    kvmig__take_hugepages(&target->host, domain);
    take_storage(&target->host, plan);
    return plan;
}

static uint32_t taken_from(const struct kvmig__drain_world *world, const char *source)
{
    for (size_t i = 0; world->slots && world->slots->per_host && i < world->view->hosts.n; i++) {
        if (kvmig__str_eq(world->view->hosts.v[i]->name, source))
            return world->slots->per_host[i].out;
    }
    return 0;
}

static void measure(const struct kvmig__drain_world *world, const struct kvmig__drain_vm *vm,
                    struct kvmig__drain_move *move)
{
    const struct kvmig__drain_request *request = world->request;
    uint64_t disks = kvmig__disks_bytes_to_copy(move->plan->disks.v, move->plan->disks.n, NULL),
             asked = request->plan.bandwidth_mib * MIB;
    uint64_t out = world->limits.out < world->vms.n ? world->limits.out : world->vms.n;

    move->bytes = vm->memory ? kvmig__sum(vm->memory, disks) : KVMIG__UNKNOWN;
    move->bandwidth = request->link_mib * MIB / (out ? out : 1);
    if (asked && (!move->bandwidth || asked < move->bandwidth))
        move->bandwidth = asked;
    move->taken_out = taken_from(world, vm->source);
}

const struct kvmig__drain_ops kvmig__drain_libvirt = { open_world, plan_vm, place, measure, close_world };
