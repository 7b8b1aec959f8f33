/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The libvirt session driver: its life, the dispatch of steps, and what the steps share. The steps themselves are in
 * driver_*.c; what blocks runs on lanes, everything here in dispatch with the context lock held.
 *
 * The driver owns its lanes, ledger and a reference to the plan; the session owns the driver and outlives it. A call to the
 * session may begin the next step or free the driver, so it is always the last thing that a function does.
 */
#include "libvirt/driver_internal.h"

#include <errno.h>
#include <stdlib.h>

#define NO_STEP (-1)

/* ---- jobs ---- */

void *kvmig__driver_job_new(struct kvmig__virt_driver *d, struct kvmig__end *end, size_t size)
{
    struct kvmig__driver_job *job = kvmig__calloc(1, size);
    job->link = end->link;
    job->plan = kvmig_plan_ref(d->plan);
    return job;
}

void kvmig__driver_job_clear(struct kvmig__driver_job *job)
{
    kvmig_plan_unref(job->plan);
    kvmig__error_free(job->error);
}

void kvmig__driver_job_free(void *payload)
{
    kvmig__driver_job_clear(payload);
    free(payload);
}

struct kvmig_error *kvmig__driver_job_outcome(const struct kvmig__end *end, struct kvmig__driver_job *job,
                                              int32_t status, const char *what)
{
    if (job) {
        struct kvmig_error *error = job->error;
        job->error = NULL;
        return error;
    }
    const char *host = end->link->host;
    if (status != -ETIMEDOUT)
        return kvmig__error_new(status, host, NULL, "raise the limit of threads of this process",
                                "no thread could be started to %s", what);
    return kvmig__error_new(KVMIG_EUNREACHABLE, host, NULL, "check the host, its libvirt daemon and the network to it",
                            "host %s did not answer in time: %s", host, what);
}

struct kvmig_error *kvmig__driver_job_error(struct kvmig__end *end, struct kvmig__driver_job *job, int32_t status,
                                            const char *what)
{
    struct kvmig_error *error = kvmig__driver_job_outcome(end, job, status, what);
    if (status == -ETIMEDOUT)
        kvmig__end_renew(end);
    return error;
}

struct kvmig_error *kvmig__driver_act(struct kvmig__driver_job *job, int32_t action)
{
    return kvmig__virt_act(job->link, job->plan->uuid, action);
}

/* ---- what steps share ---- */

struct kvmig__report *kvmig__virt_report(struct kvmig__virt_driver *d)
{
    return kvmig__session_get_report(d->session);
}

int64_t kvmig__virt_time_left(const struct kvmig__virt_driver *d, int64_t max_ms)
{
    int64_t left = d->deadline_ms - kvmig__now_ms();
    if (left > max_ms)
        left = max_ms;
    return left < 1 ? 1 : left;
}

void kvmig__driver_step_fail(struct kvmig__virt_driver *d, struct kvmig_error *error)
{
    if (d->error)
        kvmig__error_free(error);
    else
        d->error = error;
}

void kvmig__driver_step_end(struct kvmig__virt_driver *d)
{
    enum kvmig__step step = (enum kvmig__step)d->step;
    struct kvmig_error *error = d->error;
    d->step = NO_STEP;
    d->error = NULL;
    kvmig__session_step_done(d->session, step, error);
}

static void answer_due(void *data)
{
    kvmig__driver_step_end(data);
}

void kvmig__driver_step_end_soon(struct kvmig__virt_driver *d)
{
    kvmig__timer_arm_in(&d->answer_timer, 0);
}

void kvmig__virt_remark(struct kvmig__virt_driver *d, const char *code, int32_t severity, const char *host,
                        const char *hint, const char *fmt, ...)
{
    struct kvmig_findings list = { NULL, 0 };
    char *object = kvmig__asprintf("vm/%s", d->plan->vm);
    va_list args;
    va_start(args, fmt);
    char *message = kvmig__vasprintf(fmt, args);
    va_end(args);
    kvmig__findings_add(&list, code, severity, object, host, NULL, hint, "%s", message);
    kvmig__session_notice(d->session, &list.v[0]);
    kvmig__findings_clear(&list);
    free(message);
    free(object);
}

size_t kvmig__virt_ledger_add(struct kvmig__virt_driver *d, const char *kind, const char *name, const char *host,
                              const char *outcome)
{
    struct kvmig__report *report = kvmig__virt_report(d);
    struct kvmig__report_item *item = kvmig__report_created(report, kind, name, host);
    kvmig__str_set(&item->outcome, outcome);
    return (size_t)(item - report->created.v);
}

void kvmig__virt_ledger_set(struct kvmig__virt_driver *d, size_t index, const char *outcome)
{
    kvmig__str_set(&kvmig__virt_report(d)->created.v[index].outcome, outcome);
}

char *kvmig__virt_failed_text(const struct kvmig_error *error)
{
    return kvmig__asprintf("failed: %s", kvmig_error_message(error));
}

/* ---- steps ---- */

/* Makes the lanes that are not there yet, and replaces those that hang in a call of an earlier step. */
static void open_ends(struct kvmig__virt_driver *d)
{
    const struct {
        struct kvmig__end *end;
        const char *role, *host, *uri;
    } ends[] = {
        { &d->source, "source", d->plan->source, d->source_uri },
        { &d->target, "target", d->plan->target, d->target_uri },
        { &d->migrate, "migrate", d->plan->source, d->source_uri },
    };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(ends); i++) {
        if (ends[i].end->lane) {
            if (kvmig__lane_is_stuck(ends[i].end->lane))
                kvmig__end_renew(ends[i].end);
            continue;
        }
        char *name = kvmig__asprintf("%s %s", ends[i].role, d->plan->vm);
        kvmig__end_init(ends[i].end, d->context, name, ends[i].host, ends[i].uri);
        if (ends[i].end == &d->migrate && (d->plan->request.flags & KVMIG_PLAN_MANAGED))
            kvmig__end_add_link(&d->migrate, d->plan->target, d->target_uri);
        free(name);
    }
}

/* The session no longer waits for the step that runs. Its jobs must not answer to the next one. */
static void abandon_step(struct kvmig__virt_driver *d)
{
    struct kvmig__end *ends[] = { &d->source, &d->target, &d->migrate };
    if (d->step == KVMIG__STEP_PREPARE)
        kvmig__virt_prepare_abandon(d);
    kvmig__virt_migrate_abandon(d);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(ends); i++) {
        if (ends[i]->lane && kvmig__lane_pending(ends[i]->lane) > 0)
            kvmig__end_renew(ends[i]);
    }
    kvmig__timer_disarm(&d->answer_timer);
    kvmig__timer_disarm(&d->retry_timer);
    kvmig__error_free(d->error);
    d->error = NULL;
    d->waiting = 0;
    d->step = NO_STEP;
}

static int64_t step_limit(const struct kvmig__virt_driver *d, enum kvmig__step step)
{
    switch (step) {
    case KVMIG__STEP_MIGRATE:
        return d->limits.migrate_ms;
    case KVMIG__STEP_LOCATE:
        return d->limits.resolve_ms;
    default:
        return d->limits.step_ms;
    }
}

static void driver_begin(struct kvmig__driver *driver, enum kvmig__step step)
{
    static void (*const begin[])(struct kvmig__virt_driver *) = {
        [KVMIG__STEP_SCHEDULE] = kvmig__virt_schedule_begin, [KVMIG__STEP_PREPARE] = kvmig__virt_prepare_begin,
        [KVMIG__STEP_MIGRATE] = kvmig__virt_migrate_begin,   [KVMIG__STEP_LOCATE] = kvmig__virt_locate_begin,
        [KVMIG__STEP_FINISH] = kvmig__virt_finish_begin,     [KVMIG__STEP_UNDO] = kvmig__virt_undo_begin,
    };
    struct kvmig__virt_driver *d = (struct kvmig__virt_driver *)driver;
    const struct kvmig_plan *plan = kvmig__session_plan(d->session);
    if (d->step != NO_STEP)
        abandon_step(d);
    if (plan != d->plan) {
        kvmig_plan_unref(d->plan);
        d->plan = kvmig_plan_ref(plan);
    }
    open_ends(d);
    d->step = step;
    d->deadline_ms = kvmig__now_ms() + step_limit(d, step);
    begin[step](d);
}

static void driver_abort(struct kvmig__driver *driver)
{
    kvmig__virt_abort((struct kvmig__virt_driver *)driver);
}

static void driver_tune(struct kvmig__driver *driver, enum kvmig__tuning what, uint64_t value)
{
    kvmig__virt_tune((struct kvmig__virt_driver *)driver, what, value);
}

/* ---- life ---- */

struct kvmig__creation_record *kvmig__creation_record_ref(struct kvmig__creation_record *record)
{
    record->refs++;
    return record;
}

void kvmig__creation_record_unref(struct kvmig__creation_record *record)
{
    if (record && --record->refs == 0)
        free(record);
}

struct kvmig__call_record *kvmig__call_record_ref(struct kvmig__call_record *record)
{
    record->refs++;
    return record;
}

void kvmig__call_record_unref(struct kvmig__call_record *record)
{
    if (record && --record->refs == 0)
        free(record);
}

static void free_volumes(struct kvmig__virt_driver *d)
{
    for (size_t i = 0; i < d->volumes.n; i++) {
        struct kvmig__virt_volume *v = &d->volumes.v[i];
        free(v->pool);
        free(v->name);
        free(v->path);
        kvmig__creation_record_unref(v->record);
    }
    free(d->volumes.v);
    free(d->capacities);
}

static void driver_free(struct kvmig__driver *driver)
{
    struct kvmig__virt_driver *d = (struct kvmig__virt_driver *)driver;
    abandon_step(d);
    kvmig__virt_watch_clear(d);
    free(d->watch.tunings.v);
    kvmig__end_close(&d->migrate);
    kvmig__end_close(&d->source);
    kvmig__end_close(&d->target);
    free_volumes(d);
    kvmig__call_record_unref(d->call_record);
    kvmig__side_clear(&d->source_side);
    kvmig__side_clear(&d->target_side);
    kvmig__side_clear(&d->target_again);
    kvmig_plan_unref(d->plan);
    free(d->target_definition);
    free(d->source_uri);
    free(d->target_uri);
    free(d);
}

static const struct kvmig__driver_ops driver_ops = {
    .begin = driver_begin,
    .abort = driver_abort,
    .tune = driver_tune,
    .free = driver_free,
};

struct kvmig__driver *kvmig__virt_driver_new(struct kvmig__host_backend *source, struct kvmig__host_backend *target,
                                             struct kvmig_session *session, const struct kvmig__driver_limits *limits)
{
    struct kvmig__virt_driver *d = kvmig__calloc(1, sizeof(*d));
    d->base.ops = &driver_ops;
    d->base.plugs_late = true; /* libvirt plugs taps in the Prepare phase of the migrate call */
    d->context = kvmig__virt_host_context(source);
    d->session = session;
    d->limits = *limits;
    d->source_uri = kvmig__strdup(kvmig__virt_host_uri(source));
    d->target_uri = kvmig__strdup(kvmig__virt_host_uri(target));
    d->step = NO_STEP;
    d->old_downtime_ms = d->old_bandwidth_mib = KVMIG__UNKNOWN;
    kvmig__timer_init(&d->answer_timer, d->context, answer_due, d);
    kvmig__virt_locate_init(d);
    kvmig__virt_watch_init(d);
    kvmig__virt_control_init(d);
    return &d->base;
}
