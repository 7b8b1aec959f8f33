/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Events: building them, sharing them, reading them. An event is built by one thread, then handed to a sink and never
 * changed again; any thread may read or keep it. It owns everything that its accessors lend.
 */
#include "context/context_internal.h"

#include "base/finding_internal.h"
#include <kvmig/port.h>

#include <stdatomic.h>
#include <stdlib.h>

struct kvmig_event {
    _Atomic uint32_t refs;
    int32_t type;
    int64_t time_ms;
    char *host;
    char *session_id;
    int32_t phase, previous_phase, mode;
    uint32_t queue_position;
    int32_t cancel_result;
    char *port;
    int32_t port_state;
    char *migration, *vm;
    char *token;
    struct kvmig_error *error;
    bool has_finding, has_progress;
    struct kvmig_finding finding;
    struct kvmig_progress progress;
};

struct kvmig_event *kvmig__event_new(int32_t type)
{
    struct kvmig_event *event = kvmig__calloc(1, sizeof(*event));

    event->refs = 1;
    event->type = type;
    event->time_ms = kvmig__now_ms();
    return event;
}

void kvmig__event_set_host(struct kvmig_event *event, const char *host)
{
    kvmig__str_set(&event->host, host);
}

void kvmig__event_set_session(struct kvmig_event *event, const char *id, const char *vm, int32_t phase,
                              int32_t previous, int32_t mode)
{
    kvmig__str_set(&event->session_id, id);
    kvmig__str_set(&event->vm, vm);
    event->phase = phase;
    event->previous_phase = previous;
    event->mode = mode;
}

void kvmig__event_set_error(struct kvmig_event *event, const struct kvmig_error *error)
{
    kvmig__error_free(event->error);
    event->error = kvmig__error_copy(error);
}

void kvmig__event_set_finding(struct kvmig_event *event, const struct kvmig_finding *finding)
{
    kvmig__finding_clear(&event->finding);
    event->has_finding = finding != NULL;
    if (finding)
        kvmig__finding_copy(&event->finding, finding);
}

static void progress_clear(struct kvmig_progress *progress)
{
    for (uint32_t i = 0; i < progress->n_disks; i++) {
        free((char *)progress->disks[i]->target);
        free((struct kvmig_disk_progress *)progress->disks[i]);
    }
    free((void *)progress->disks);
    *progress = (struct kvmig_progress){ 0 };
}

void kvmig__event_set_progress(struct kvmig_event *event, const struct kvmig_progress *progress)
{
    struct kvmig_disk_progress **disks = NULL;

    progress_clear(&event->progress);
    event->has_progress = progress != NULL;
    if (!progress)
        return;
    if (progress->n_disks)
        disks = kvmig__calloc(progress->n_disks, sizeof(*disks));
    for (uint32_t i = 0; i < progress->n_disks; i++) {
        disks[i] = kvmig__calloc(1, sizeof(*disks[i]));
        *disks[i] = *progress->disks[i];
        disks[i]->size = sizeof(*disks[i]);
        disks[i]->target = kvmig__strdup(progress->disks[i]->target);
    }
    event->progress = *progress;
    event->progress.size = sizeof(event->progress);
    event->progress.disks = (const struct kvmig_disk_progress *const *)disks;
}

void kvmig__event_set_queue_position(struct kvmig_event *event, uint32_t position)
{
    event->queue_position = position;
}

void kvmig__event_set_cancel_result(struct kvmig_event *event, int32_t result)
{
    event->cancel_result = result;
}

void kvmig__event_set_port(struct kvmig_event *event, const char *name, int32_t state)
{
    kvmig__str_set(&event->port, name);
    event->port_state = state;
}

void kvmig__event_set_migration(struct kvmig_event *event, const char *migration, const char *vm, int32_t phase)
{
    kvmig__str_set(&event->migration, migration);
    kvmig__str_set(&event->vm, vm);
    event->phase = phase;
}

void kvmig__event_set_token(struct kvmig_event *event, const char *token)
{
    kvmig__str_set(&event->token, token);
}

/* ---- public ---- */

struct kvmig_event *kvmig_event_ref(const struct kvmig_event *event)
{
    struct kvmig_event *shared = (struct kvmig_event *)event; /* only its count changes */

    if (shared)
        shared->refs++;
    return shared;
}

void kvmig_event_unref(struct kvmig_event *event)
{
    if (!event || --event->refs > 0)
        return;
    progress_clear(&event->progress);
    kvmig__finding_clear(&event->finding);
    kvmig__error_free(event->error);
    free(event->port);
    free(event->migration);
    free(event->vm);
    free(event->token);
    free(event->session_id);
    free(event->host);
    free(event);
}

int32_t kvmig_event_type(const struct kvmig_event *event)
{
    return event ? event->type : 0;
}

int64_t kvmig_event_time(const struct kvmig_event *event)
{
    return event ? event->time_ms : 0;
}

const char *kvmig_event_host(const struct kvmig_event *event)
{
    return event ? event->host : NULL;
}

const char *kvmig_event_session_id(const struct kvmig_event *event)
{
    return event ? event->session_id : NULL;
}

int32_t kvmig_event_phase(const struct kvmig_event *event)
{
    return event ? event->phase : KVMIG_PHASE_UNSET;
}

int32_t kvmig_event_previous_phase(const struct kvmig_event *event)
{
    return event ? event->previous_phase : KVMIG_PHASE_UNSET;
}

int32_t kvmig_event_mode(const struct kvmig_event *event)
{
    return event ? event->mode : KVMIG_MODE_PRE_COPY;
}

uint32_t kvmig_event_queue_position(const struct kvmig_event *event)
{
    return event ? event->queue_position : 0;
}

int32_t kvmig_event_cancel_result(const struct kvmig_event *event)
{
    return event ? event->cancel_result : 0;
}

const char *kvmig_event_port(const struct kvmig_event *event)
{
    return event ? event->port : NULL;
}

int32_t kvmig_event_port_state(const struct kvmig_event *event)
{
    return event ? event->port_state : KVMIG_PORT_IDLE;
}

const char *kvmig_event_migration(const struct kvmig_event *event)
{
    return event ? event->migration : NULL;
}

const char *kvmig_event_vm(const struct kvmig_event *event)
{
    return event ? event->vm : NULL;
}

const char *kvmig_event_token(const struct kvmig_event *event)
{
    return event ? event->token : NULL;
}

const struct kvmig_progress *kvmig_event_progress(const struct kvmig_event *event)
{
    return event && event->has_progress ? &event->progress : NULL;
}

const struct kvmig_error *kvmig_event_error(const struct kvmig_event *event)
{
    return event ? event->error : NULL;
}

const struct kvmig_finding *kvmig_event_finding(const struct kvmig_event *event)
{
    return event && event->has_finding ? &event->finding : NULL;
}
