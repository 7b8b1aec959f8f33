/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Description of a pod. Its containers stand in four lists of the API (specs and statuses, of init containers and
 * others) and in one of the model. Environment, arguments and mounted secrets are not looked at. Any thread; see
 * objects_io.h for directions and ownership.
 */
#include "kubernetes/objects_io.h"

#include <stdlib.h>
#include <string.h>

struct containers {
    struct kvmig__kube_container *v;
    size_t n;
};

/* ---- one container ---- */

static void visit_spec(struct kvmig__io *io, struct kvmig__kube_container *container)
{
    kvmig__io_str(io, "name", &container->name);
    kvmig__io_str(io, "image", &container->image);
    kvmig__visit_resources(io, &container->requests, &container->limits);
}

static bool visit_spec_main(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_container *container = element;

    if (io->encode && container->init)
        return false;
    visit_spec(io, container);
    return true;
}

static bool visit_spec_init(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_container *container = element;
    char *restart = container->sidecar ? kvmig__strdup("Always") : NULL;

    if (!io->encode || container->init) {
        container->init = true;
        visit_spec(io, container);
        kvmig__io_str(io, "restartPolicy", &restart);
        container->sidecar = kvmig__str_eq(restart, "Always");
    }
    free(restart);
    return container->init;
}

static void visit_state(struct kvmig__io *io, struct kvmig__kube_container *container)
{
    static const char *const nothing[] = { NULL };
    bool there = true;

    kvmig__io_begin(io, "state");
    if (!io->encode) /* a container that is ready runs; without a state it waits, as the API documents */
        kvmig__str_set(&container->state, kvmig__io_first_object(io, nothing));
    if (!container->state)
        container->state = kvmig__strdup(container->ready ? "running" : "waiting");
    kvmig__io_present(io, container->state, &there);
    kvmig__io_begin(io, container->state);
    kvmig__io_str(io, "reason", &container->reason);
    kvmig__io_str(io, "message", &container->message);
    kvmig__io_i32(io, "exitCode", &container->exit_code);
    kvmig__io_time(io, strcmp(container->state, "terminated") ? "startedAt" : "finishedAt", &container->since_ms);
    kvmig__io_end(io);
    kvmig__io_end(io);
}

static void visit_status(struct kvmig__io *io, struct kvmig__kube_container *container)
{
    kvmig__io_str(io, "name", &container->name);
    kvmig__io_str(io, "image", &container->image);
    kvmig__io_str(io, "imageID", &container->image_id);
    kvmig__io_bool(io, "ready", &container->ready);
    kvmig__io_bool(io, "started", &container->started);
    kvmig__io_u32(io, "restartCount", &container->restarts);
    visit_state(io, container);
}

static bool visit_status_main(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_container *container = element;

    if (io->encode && (container->init || !container->state))
        return false;
    visit_status(io, container);
    return true;
}

static bool visit_status_init(struct kvmig__io *io, void *element)
{
    struct kvmig__kube_container *container = element;

    if (io->encode && (!container->init || !container->state))
        return false;
    container->init = true;
    visit_status(io, container);
    return true;
}

/* ---- joining ---- */

/* Moves all of the status; the spec's image is the one that was asked for. */
static void give_status(struct kvmig__kube_container *to, struct kvmig__kube_container *from)
{
    free(from->name);
    if (to->image)
        free(from->image);
    else
        to->image = from->image;
    to->image_id = from->image_id;
    to->ready = from->ready;
    to->started = from->started;
    to->state = from->state;
    to->reason = from->reason;
    to->message = from->message;
    to->since_ms = from->since_ms;
    to->exit_code = from->exit_code;
    to->restarts = from->restarts;
}

static void join(struct containers *specs, struct containers *statuses, bool init)
{
    for (size_t i = 0; i < statuses->n; i++) {
        struct kvmig__kube_container *to = NULL;

        for (size_t k = 0; k < specs->n && !to; k++) {
            if (specs->v[k].init == init && !specs->v[k].state && kvmig__str_eq(specs->v[k].name, statuses->v[i].name))
                to = &specs->v[k];
        }
        if (to)
            give_status(to, &statuses->v[i]);
        else
            *KVMIG__PUSH(specs) = statuses->v[i];
    }
    free(statuses->v);
}

static void read_containers(struct kvmig__io *io, bool init, struct containers *out)
{
    struct containers statuses = { 0 };

    kvmig__io_begin(io, "spec");
    KVMIG__IO_LIST_JOINED(io, init ? "initContainers" : "containers", out, init ? visit_spec_init : visit_spec_main);
    kvmig__io_end(io);
    kvmig__io_begin(io, "status");
    KVMIG__IO_LIST_JOINED(io, init ? "initContainerStatuses" : "containerStatuses", &statuses,
                          init ? visit_status_init : visit_status_main);
    kvmig__io_end(io);
    join(out, &statuses, init);
}

static void visit_containers(struct kvmig__io *io, struct containers *containers)
{
    if (!io->encode) {
        read_containers(io, false, containers);
        read_containers(io, true, containers);
        return;
    }
    kvmig__io_begin(io, "spec");
    KVMIG__IO_LIST(io, "containers", containers, visit_spec_main);
    KVMIG__IO_LIST(io, "initContainers", containers, visit_spec_init);
    kvmig__io_end(io);
    kvmig__io_begin(io, "status");
    KVMIG__IO_LIST(io, "containerStatuses", containers, visit_status_main);
    KVMIG__IO_LIST(io, "initContainerStatuses", containers, visit_status_init);
    kvmig__io_end(io);
}

/* ---- the pod ---- */

void kvmig__visit_pod(struct kvmig__io *io, struct kvmig__kube_pod *pod)
{
    struct containers containers = { .v = pod->containers.v, .n = pod->containers.n };

    kvmig__io_begin(io, "spec");
    kvmig__io_str(io, "nodeName", &pod->node);
    kvmig__visit_placement(io, &pod->placement);
    kvmig__io_names(io, "volumes", "persistentVolumeClaim", "claimName", NULL, &pod->claims);
    kvmig__io_amounts(io, "overhead", &pod->overhead);
    kvmig__io_end(io);
    kvmig__io_begin(io, "status");
    kvmig__io_str(io, "phase", &pod->phase);
    kvmig__io_str(io, "reason", &pod->reason);
    kvmig__io_str(io, "message", &pod->message);
    kvmig__io_str(io, "podIP", &pod->ip);
    kvmig__io_names(io, "podIPs", "ip", NULL, NULL, &pod->ips);
    kvmig__visit_conditions(io, &pod->conditions);
    kvmig__io_time(io, "startTime", &pod->started_ms);
    kvmig__io_end(io);
    visit_containers(io, &containers);
    pod->containers.v = containers.v;
    pod->containers.n = containers.n;
}
