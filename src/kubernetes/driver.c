/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The session driver for KubeVirt: its life, and which part of it looks at the state in which step. What the steps do
 * is in driver_*.c. Runs in dispatch with the context lock held, and never blocks.
 *
 * The driver owns its requests, timers and what it remembers of the migration; the session owns the driver and
 * outlives it. A call to the session may begin the next step, so it is always the last thing that a look does.
 */
#include "kubernetes/driver_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define NO_STEP (-1)
#define POLL_MS 1000 /* looks again without being told: clocks move although nothing changes */

/* ---- shared by all parts ---- */

const struct kvmig__kube *kvmig__kube_store(const struct kvmig__kube_driver *d)
{
    return kvmig__kube_backend_store(d->backend);
}

struct kvmig__report *kvmig__kube_report(const struct kvmig__kube_driver *d)
{
    return kvmig__session_get_report(d->session);
}

const struct kvmig__kube_vmi *kvmig__kube_our_vmi(const struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmi *vmi = KVMIG__KUBE_FIND(kvmig__kube_store(d), VMI, d->ns, d->vmi);

    return vmi && kvmig__str_eq(vmi->meta.uid, d->vmi_uid) ? vmi : NULL;
}

const struct kvmig__kube_vmim *kvmig__kube_our_vmim(const struct kvmig__kube_driver *d)
{
    const struct kvmig__kube_vmim *vmim = d->vmim ? KVMIG__KUBE_FIND(kvmig__kube_store(d), VMIM, d->ns, d->vmim) : NULL;

    return vmim && kvmig__str_eq(vmim->meta.uid, d->vmim_uid) ? vmim : NULL;
}

char *kvmig__kube_where(const struct kvmig__kube_driver *d)
{
    return d->vmim ? kvmig__asprintf("migration/%s/%s", d->ns, d->vmim) : kvmig__asprintf("vm/%s/%s", d->ns, d->vmi);
}

void kvmig__kube_remark(struct kvmig__kube_driver *d, const char *code, int32_t severity, const char *object,
                        const char *hint, const char *fmt, ...)
{
    struct kvmig_findings list = { NULL, 0 };
    char *where = object ? kvmig__strdup(object) : kvmig__kube_where(d), *message;
    va_list args;

    va_start(args, fmt);
    message = kvmig__vasprintf(fmt, args);
    va_end(args);
    kvmig__findings_add(&list, code, severity, where, NULL, NULL, hint, "%s", message);
    kvmig__session_notice(d->session, &list.v[0]);
    kvmig__findings_clear(&list);
    free(where);
    free(message);
}

size_t kvmig__kube_ledger_add(struct kvmig__kube_driver *d, const char *kind, const char *name)
{
    struct kvmig__report *report = kvmig__kube_report(d);

    return (size_t)(kvmig__report_created(report, kind, name, NULL) - report->created.v);
}

void kvmig__kube_ledger_set(struct kvmig__kube_driver *d, size_t item, const char *outcome)
{
    if (item != KVMIG__NO_ITEM)
        kvmig__str_set(&kvmig__kube_report(d)->created.v[item].outcome, outcome);
}

void kvmig__kube_ledger_failed(struct kvmig__kube_driver *d, size_t item, const struct kvmig_error *error)
{
    char *text = kvmig__asprintf("failed: %s", kvmig_error_message(error));

    kvmig__kube_ledger_set(d, item, text);
    free(text);
}

/* ---- answers ---- */

static void end_step(struct kvmig__kube_driver *d)
{
    d->step = NO_STEP;
    kvmig__kube_admit_leave(d);
    kvmig__errand_stop(&d->act);
    kvmig__timer_disarm(&d->step_timer);
}

void kvmig__kube_step_ok(struct kvmig__kube_driver *d)
{
    const enum kvmig__step step = (enum kvmig__step)d->step;

    end_step(d);
    kvmig__session_step_done(d->session, step, NULL);
}

void kvmig__kube_step_failed(struct kvmig__kube_driver *d, struct kvmig_error *error)
{
    const enum kvmig__step step = (enum kvmig__step)d->step;

    end_step(d);
    if (step == KVMIG__STEP_MIGRATE) {
        d->call_out = false;
        kvmig__session_call_done(d->session, error, false);
    } else {
        kvmig__session_step_done(d->session, step, error);
    }
}

void kvmig__kube_fail_soon(struct kvmig__kube_driver *d, struct kvmig_error *error)
{
    if (d->step_error)
        kvmig__error_free(error);
    else
        d->step_error = error;
    kvmig__kube_look_soon(d);
}

/* ---- looking ---- */

void kvmig__kube_look_soon(struct kvmig__kube_driver *d)
{
    kvmig__timer_arm_in(&d->look_timer, 0);
}

static void look_at_step(struct kvmig__kube_driver *d)
{
    if (d->step_error && d->step != KVMIG__STEP_LOCATE && d->step != NO_STEP) {
        struct kvmig_error *error = d->step_error;

        d->step_error = NULL;
        kvmig__kube_step_failed(d, error);
        return;
    }
    switch (d->step) {
    case KVMIG__STEP_ADMIT:
        kvmig__kube_admit_look(d);
        break;
    case KVMIG__STEP_SCHEDULE:
    case KVMIG__STEP_PREPARE:
        kvmig__kube_stage_look(d);
        break;
    case KVMIG__STEP_MIGRATE:
        kvmig__kube_migrate_look(d);
        break;
    case KVMIG__STEP_LOCATE:
        kvmig__kube_locate_look(d);
        break;
    case KVMIG__STEP_FINISH:
    case KVMIG__STEP_UNDO:
        kvmig__kube_end_look(d);
        break;
    default:
        break;
    }
}

static void look_due(void *data)
{
    struct kvmig__kube_driver *d = data;
    const int32_t step = d->step;

    kvmig__kube_follow_look(d);
    kvmig__kube_take_back_look(d);
    if (d->step == step) /* else the session began another one meanwhile, which looks for itself */
        look_at_step(d);
}

static void poll_due(void *data)
{
    struct kvmig__kube_driver *d = data;

    kvmig__timer_arm_in(&d->poll_timer, POLL_MS);
    kvmig__kube_look_soon(d);
}

static void store_changed(void *owner)
{
    kvmig__kube_look_soon(owner);
}

static void store_lost_object(void *owner, const struct kvmig__kube_meta *last)
{
    struct kvmig__kube_driver *d = owner;

    if (d->following)
        kvmig__follow_gone(&d->follow, last);
    kvmig__kube_look_soon(d);
}

/* ---- steps ---- */

static void step_due(void *data)
{
    struct kvmig__kube_driver *d = data;

    if (d->step == KVMIG__STEP_ADMIT)
        kvmig__kube_admit_due(d);
    else if (d->step == KVMIG__STEP_SCHEDULE || d->step == KVMIG__STEP_PREPARE)
        kvmig__kube_stage_due(d);
    else
        kvmig__kube_look_soon(d); /* its looks read the clock */
}

static void stage_begin(struct kvmig__kube_driver *d)
{
    if (!d->prepare_by_ms)
        d->prepare_by_ms = kvmig__now_ms() + d->wishes->prepare_ms;
    kvmig__timer_arm(&d->step_timer, d->prepare_by_ms);
}

static void driver_begin(struct kvmig__driver *driver, enum kvmig__step step)
{
    static void (*const begin[])(struct kvmig__kube_driver *) = {
        [KVMIG__STEP_ADMIT] = kvmig__kube_admit_begin,
        [KVMIG__STEP_SCHEDULE] = stage_begin,
        [KVMIG__STEP_PREPARE] = stage_begin,
        [KVMIG__STEP_MIGRATE] = kvmig__kube_migrate_begin,
        [KVMIG__STEP_LOCATE] = kvmig__kube_locate_begin,
        [KVMIG__STEP_FINISH] = kvmig__kube_end_begin,
        [KVMIG__STEP_UNDO] = kvmig__kube_end_begin,
    };
    struct kvmig__kube_driver *d = (struct kvmig__kube_driver *)driver;
    const struct kvmig_plan *plan = kvmig__session_plan(d->session);

    end_step(d); /* one that was given up answers no more */
    d->call_out = false;
    kvmig__error_free(d->step_error);
    d->step_error = NULL;
    if (plan != d->plan) {
        kvmig_plan_unref(d->plan);
        d->plan = kvmig_plan_ref(plan);
    }
    d->step = (int32_t)step;
    kvmig__kube_try_again(d);
    begin[step](d);
    kvmig__kube_look_soon(d);
}

static void driver_abort(struct kvmig__driver *driver)
{
    kvmig__kube_abort((struct kvmig__kube_driver *)driver);
}

static void driver_withdraw(struct kvmig__driver *driver)
{
    kvmig__kube_withdraw((struct kvmig__kube_driver *)driver);
}

static int32_t driver_cancel_effect(struct kvmig__driver *driver)
{
    return kvmig__kube_cancel_effect((struct kvmig__kube_driver *)driver);
}

static void driver_tune(struct kvmig__driver *driver, enum kvmig__tuning what, uint64_t value)
{
    struct kvmig__kube_driver *d = (struct kvmig__kube_driver *)driver;

    (void)what;
    (void)value;
    kvmig__kube_remark(d, "TUNING_FAILED", KVMIG_SEVERITY_WARN, NULL,
                       "Cancel it, and start it again with KVMIG_SESSION_TEMPORARY_POLICY and other options.",
                       "KubeVirt fixes the options of a migration before it starts; a running one cannot be tuned");
}

static void driver_report(struct kvmig__driver *driver, struct json_object *report)
{
    kvmig__kube_write_report((struct kvmig__kube_driver *)driver, report);
}

static void driver_explain(struct kvmig__driver *driver, struct kvmig_explanation *explanation)
{
    kvmig__kube_explain((struct kvmig__kube_driver *)driver, explanation);
}

/* ---- life ---- */

static void free_texts(struct kvmig__kube_driver *d)
{
    char *const texts[] = { d->ns,          d->vmi,        d->vmi_uid,     d->mark,         d->vmim,
                            d->vmim_uid,    d->ip_before,  d->ip_after,    d->told_target,  d->told_wait,
                            d->policy.name, d->policy.uid, d->policy.dead, d->back.pod_uid, d->back.pod };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++)
        free(texts[i]);
}

static void driver_free(struct kvmig__driver *driver)
{
    struct kvmig__kube_driver *d = (struct kvmig__kube_driver *)driver;
    struct kvmig__timer *const timers[] = { &d->look_timer, &d->step_timer, &d->waits_timer, &d->poll_timer };

    kvmig__kube_unwatch(d->backend, &d->watcher);
    kvmig__kube_hear_no_more(d);
    kvmig__errand_stop(&d->act);
    kvmig__errand_stop(&d->create);
    kvmig__errand_stop(&d->back_errand);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(timers); i++)
        kvmig__timer_disarm(timers[i]);
    if (d->following)
        kvmig__follow_clear(&d->follow);
    kvmig__kube_volumes_clear(&d->volumes);
    kvmig__error_free(d->step_error);
    kvmig__error_free(d->post_error);
    kvmig__error_free(d->back.error);
    kvmig__error_free(d->leftover);
    kvmig_plan_unref(d->plan);
    free_texts(d);
    free(d);
}

/* Session ids count from 1 in every process; the mark has to be unique in the cluster. It is no secret. */
static char *make_mark(const struct kvmig_session *session)
{
    uint64_t number = 0;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        number = (uint64_t)kvmig__wall_ms();
    return kvmig__asprintf("%s-%016" PRIx64, kvmig__session_id(session), number);
}

/* How long each step may take, with a margin over the deadlines here. */
static void set_step_limits(struct kvmig__kube_driver *d)
{
    const struct kvmig__driver_limits *limits = &d->limits;
    int64_t *by = d->base.step_by_ms;

    by[KVMIG__STEP_ADMIT] = 3 * limits->step_ms + d->wishes->pending_ms;
    by[KVMIG__STEP_SCHEDULE] = by[KVMIG__STEP_PREPARE] = limits->step_ms + d->wishes->prepare_ms;
    by[KVMIG__STEP_LOCATE] = 2 * limits->resolve_ms + KVMIG__DEFERRED_MS;
    by[KVMIG__STEP_FINISH] = by[KVMIG__STEP_UNDO] = 4 * limits->step_ms;
}

static const struct kvmig__driver_ops driver_ops = {
    .begin = driver_begin,
    .abort = driver_abort,
    .tune = driver_tune,
    .free = driver_free,
    .withdraw = driver_withdraw,
    .cancel_effect = driver_cancel_effect,
    .report = driver_report,
    .explain = driver_explain,
};

static void init_timers(struct kvmig__kube_driver *d)
{
    kvmig__timer_init(&d->look_timer, d->context, look_due, d);
    kvmig__timer_init(&d->step_timer, d->context, step_due, d);
    kvmig__timer_init(&d->waits_timer, d->context, kvmig__kube_waits_due, d);
    kvmig__timer_init(&d->poll_timer, d->context, poll_due, d);
    kvmig__timer_arm_in(&d->poll_timer, POLL_MS);
}

struct kvmig__driver *kvmig__kube_driver_new(struct kvmig__kube_backend *backend, struct kvmig_session *session,
                                             const struct kvmig__driver_limits *limits)
{
    struct kvmig__kube_driver *d = kvmig__calloc(1, sizeof(*d));
    const struct kvmig_plan *plan = kvmig__session_plan(session);
    const char *slash = strchr(plan->vm, '/');

    d->base.ops = &driver_ops;
    d->base.admits = true;
    d->context = kvmig__kube_backend_context(backend);
    d->backend = backend;
    d->session = session;
    d->limits = *limits;
    d->wishes = kvmig__session_wishes(session);
    d->plan = kvmig_plan_ref(plan);
    d->step = NO_STEP;
    d->vmim_item = d->volumes.item = d->policy.policy_item = d->policy.label_item = KVMIG__NO_ITEM;
    d->ns = slash ? kvmig__strndup(plan->vm, (size_t)(slash - plan->vm)) : kvmig__strdup("default");
    d->vmi = kvmig__strdup(slash ? slash + 1 : plan->vm);
    d->vmi_uid = kvmig__strdup(plan->uuid);
    d->mark = make_mark(session);
    d->told_mode = KVMIG_MODE_PRE_COPY;
    set_step_limits(d);
    init_timers(d);
    kvmig__errand_init(&d->act, d);
    kvmig__errand_init(&d->create, d);
    kvmig__errand_init(&d->back_errand, d);
    d->watcher = (struct kvmig__kube_watcher){ .changed = store_changed, .gone = store_lost_object, .owner = d };
    kvmig__kube_watch(backend, &d->watcher);
    return &d->base;
}
