/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hosts, facts and a driver that exist only here; see fake_backend.h. Everything but the functions of the header runs with the
 * context lock held, as a real backend does.
 */
#include "fake_backend.h"

#include "session/report.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIB ((uint64_t)1 << 30)
#define RUN_DEADLINE_MS 30000 /* reached only when a test fails */

/* ---- answers that come later ----
 * As deliveries: callbacks of the caller that are queued already run first, so that what they do is heard before. */

struct fake_task {
    struct kvmig_context *context;
    void (*fn)(void *data); /* NULL = cancelled */
    void *data;
};

static void run_task(void *data)
{
    struct fake_task *task = data;
    struct kvmig_context *context = task->context;

    kvmig__context_lock(context);
    if (task->fn)
        task->fn(task->data);
    free(task);
    kvmig__context_unlock(context);
}

static struct fake_task *later(struct fake_world *world, void (*fn)(void *data), void *data)
{
    struct fake_task *task = kvmig__calloc(1, sizeof(*task));

    *task = (struct fake_task){ world->context, fn, data };
    kvmig__context_deliver(world->context, run_task, NULL, task, true);
    return task;
}

static void cancel_task(struct fake_task **task)
{
    if (*task)
        (*task)->fn = NULL;
    *task = NULL;
}

/* ---- facts ---- */

static void add_guest(struct kvmig__host *facts, int n, bool paused)
{
    struct kvmig__domain *domain = KVMIG__PUSH(&facts->domains);

    domain->name = kvmig__asprintf("vm-%d", n);
    domain->uuid = kvmig__asprintf("550e8400-e29b-41d4-a716-44665544%04d", n);
    domain->state = paused ? KVMIG__STATE_PAUSED : KVMIG__STATE_RUNNING;
    domain->reason = paused ? KVMIG__REASON_USER : KVMIG__REASON_OTHER;
    domain->persistent = true;
    domain->virt_type = kvmig__strdup("kvm");
    domain->arch = kvmig__strdup("x86_64");
    domain->machine = kvmig__strdup("pc-q35-7.2");
    domain->emulator = kvmig__strdup("/usr/bin/qemu-system-x86_64");
    domain->memory = domain->max_memory = GIB;
    domain->vcpus = 1;
    domain->cpu.migratable = -1;
}

static void add_machine(struct kvmig__host *facts)
{
    struct kvmig__machine *machine = KVMIG__PUSH(&facts->machines);

    machine->name = kvmig__strdup("pc-q35-7.2");
    machine->arch = kvmig__strdup("x86_64");
    facts->machines_known = true;
}

static struct kvmig__host *make_facts(const struct fake_host *fake)
{
    struct kvmig__host *facts = kvmig__host_new();

    facts->name = kvmig__strdup(fake->name);
    facts->uuid = kvmig__asprintf("00000000-0000-0000-0000-00000000000%d", fake->index + 1);
    facts->arch = kvmig__strdup("x86_64");
    facts->cpus = 8;
    facts->memory_total = fake->blocked ? GIB / 2 : 64 * GIB;
    facts->memory_free = facts->memory_total;
    facts->libvirt_version = 9000000;
    facts->qemu_version = 7002000;
    facts->domains_known = facts->networks_known = facts->pools_known = true;
    add_machine(facts);
    for (int i = 0; fake->with_vm && i < fake->world->n_vms; i++)
        add_guest(facts, i, fake->world->vm_paused);
    return facts;
}

/* ---- the host backend ---- */

static void on_refresh(void *data)
{
    struct fake_host *fake = data;

    fake->refreshing = NULL;
    kvmig__cluster_host_begin(fake->host);
    if (fake->down)
        kvmig__cluster_host_lost(fake->host,
                                 kvmig__error_new(KVMIG_EUNREACHABLE, fake->name, NULL, NULL, "it is down"));
    else
        kvmig__cluster_host_facts(fake->host, make_facts(fake));
}

static void host_refresh(struct kvmig__host_backend *backend)
{
    struct fake_host *fake = (struct fake_host *)backend;

    if (!fake->silent && !fake->refreshing)
        fake->refreshing = later(fake->world, on_refresh, fake);
}

static void host_close(struct kvmig__host_backend *backend)
{
    struct fake_host *fake = (struct fake_host *)backend;

    cancel_task(&fake->refreshing);
    fake->world->n_closed++;
}

struct fake_question {
    struct fake_host *fake;
    kvmig__side_fn side_fn;
    kvmig__act_fn act_fn;
    int32_t action;
    void *owner;
};

static const struct kvmig__side *side_of(const struct fake_host *fake)
{
    const struct fake_world *world = fake->world;

    const size_t index = fake->index == 0 ? 0 : 1;

    if (world->hosts_differ)
        return &world->sides_hosts[index];
    return &(world->call_returned ? world->sides_after : world->sides)[index];
}

/* Of "vm-0". */
static char vm_uuid[] = "550e8400-e29b-41d4-a716-446655440000";

/* What a real host would do. */
static void change_side(struct fake_host *fake, int32_t action)
{
    struct kvmig__side *side = &fake->world->sides[fake->index == 0 ? 0 : 1];

    switch (action) {
    case KVMIG_ACTION_RESUME_SOURCE:
    case KVMIG_ACTION_RESUME_TARGET:
        fake_side(side, KVMIG__STATE_RUNNING, KVMIG__REASON_OTHER, false);
        break;
    case KVMIG_ACTION_SUSPEND_BOTH:
        fake_side(side, KVMIG__STATE_PAUSED, KVMIG__REASON_USER, false);
        break;
    default:
        fake_side(side, KVMIG__STATE_ABSENT, KVMIG__REASON_OTHER, false);
        break;
    }
}

static void on_question(void *data)
{
    struct fake_question question = *(struct fake_question *)data;
    struct kvmig_error *error = NULL;

    free(data);
    if (question.side_fn) {
        struct kvmig__side side = *side_of(question.fake);

        if (side.reachable && side.state != KVMIG__STATE_ABSENT)
            side.uuid = vm_uuid;
        question.side_fn(question.owner, &side);
        return;
    }
    if (question.fake->world->act_fails)
        error = kvmig__error_new(KVMIG_EVIRT, question.fake->name, NULL, NULL, "the action failed");
    else
        change_side(question.fake, question.action);
    question.fake->world->acted[question.fake->world->n_acted++] = question.action;
    question.act_fn(question.owner, error);
    kvmig__error_free(error);
}

static void ask(struct kvmig__host_backend *backend, struct fake_question what)
{
    struct fake_host *fake = (struct fake_host *)backend;
    struct fake_question *question = kvmig__calloc(1, sizeof(*question));

    *question = what;
    question->fake = fake;
    later(fake->world, on_question, question);
}

static void host_read_side(struct kvmig__host_backend *backend, const char *vm, int64_t timeout_ms, kvmig__side_fn fn,
                           void *owner)
{
    assert_non_null(vm);
    assert_true(timeout_ms > 0);
    ((struct fake_host *)backend)->world->n_asked++;
    ask(backend, (struct fake_question){ .side_fn = fn, .owner = owner });
}

static void host_act(struct kvmig__host_backend *backend, const char *vm, int32_t action, int64_t timeout_ms,
                     kvmig__act_fn fn, void *owner)
{
    assert_true(kvmig__is_uuid(vm)); /* never by a name */
    assert_true(timeout_ms > 0);
    ask(backend, (struct fake_question){ .act_fn = fn, .owner = owner, .action = action });
}

struct fake_measurement {
    struct fake_host *fake;
    kvmig__measured_fn fn;
    void *owner;
};

static void on_measurement(void *data)
{
    const struct kvmig__measured told = {
        .points = { { 1, 10 * 1024 * 1024 }, { 5, 40 * 1024 * 1024 } }, .n_points = 2, .resident = GIB / 2, .busy = 0.5
    };
    struct fake_measurement measurement = *(struct fake_measurement *)data;
    struct kvmig_error *error = NULL;

    free(data);
    if (measurement.fake->world->measure_fails)
        error = kvmig__error_new(EBUSY, measurement.fake->name, NULL, NULL, "somebody else measures");
    measurement.fn(measurement.owner, error ? NULL : &told, error);
    kvmig__error_free(error);
}

static void host_measure(struct kvmig__host_backend *backend, const char *vm, const struct kvmig__measure *what,
                         kvmig__measured_fn fn, void *owner)
{
    struct fake_host *fake = (struct fake_host *)backend;
    struct fake_measurement *measurement = kvmig__calloc(1, sizeof(*measurement));

    assert_true(kvmig__is_uuid(vm));
    assert_true(what->timeout_ms > (int64_t)what->window_ms[1]);
    fake->world->measured = *what;
    *measurement = (struct fake_measurement){ fake, fn, owner };
    later(fake->world, on_measurement, measurement);
}

/* ---- the driver ---- */

struct fake_driver {
    struct kvmig__driver base;
    struct fake_world *world;
    struct kvmig_session *session;
    struct fake_task *answer, *abort_answer;
    int32_t step; /* that runs; -1 = none */
};

static void call_returns(struct fake_driver *driver, struct kvmig_error *error, bool hung)
{
    driver->step = -1;
    driver->world->call_returned = true;
    kvmig__session_call_done(driver->session, error, hung);
}

static struct kvmig_error *step_error(const struct fake_world *world, int32_t step)
{
    if (world->steps[step] == FAKE_OK)
        return NULL;
    return kvmig__error_new(world->fail_code[step] ? world->fail_code[step] : KVMIG_EVIRT, "host-1", "libvirt said no",
                            NULL, "step %d failed", step);
}

static void locate(struct fake_driver *driver)
{
    const struct fake_world *world = driver->world;
    const struct kvmig__side *sides = world->call_returned ? world->sides_after : world->sides;
    const struct kvmig__resolution resolution = kvmig__resolve(&sides[0], &sides[1], &sides[1]);

    kvmig__session_located(driver->session, &resolution, &sides[0], &sides[1]);
}

/* What the driver has to say before it answers the step. */
static void tell_more(struct fake_driver *driver, int32_t step)
{
    const struct fake_world *world = driver->world;

    if (step == KVMIG__STEP_UNDO && world->looks_again)
        kvmig__session_final_side(driver->session, &world->sides_last[0], &world->sides_last[1]);
    if (step == KVMIG__STEP_FINISH && world->tells_handover) {
        kvmig__session_get_report(driver->session)->handover_wait_ms = 20;
        kvmig__session_handover_proof(driver->session, world->source_seen_stopped);
    }
}

static void on_answer(void *data)
{
    struct fake_driver *driver = data;
    struct fake_world *world = driver->world;
    const int32_t step = driver->step;

    driver->answer = NULL;
    driver->step = -1;
    if (step < 0)
        return; /* the test has answered it */
    switch (step) {
    case KVMIG__STEP_MIGRATE:
        call_returns(driver, step_error(world, step), world->call_hung);
        break;
    case KVMIG__STEP_LOCATE:
        locate(driver);
        break;
    default:
        tell_more(driver, step);
        kvmig__session_step_done(driver->session, (enum kvmig__step)step, step_error(world, step));
        break;
    }
}

static void driver_begin(struct kvmig__driver *base, enum kvmig__step step)
{
    static const char *const names[] = { "schedule", "prepare", "migrate", "locate", "finish", "undo", "admit" };
    struct fake_driver *driver = (struct fake_driver *)base;
    struct fake_world *world = driver->world;
    size_t used = strlen(world->log);

    snprintf(world->log + used, sizeof(world->log) - used, "%s%s", used ? " " : "", names[step]);
    world->n_begun++;
    driver->step = (int32_t)step;
    cancel_task(&driver->answer);
    if (step == KVMIG__STEP_PREPARE && world->creates_volume)
        kvmig__report_created(kvmig__session_get_report(driver->session), "volume", "/images/vm.qcow2", "host-1");
    if (step == KVMIG__STEP_UNDO && world->creates_volume && world->steps[step] == FAKE_OK)
        kvmig__str_set(&kvmig__session_get_report(driver->session)->created.v[0].outcome, "undone");
    if (world->steps[step] != FAKE_NEVER)
        driver->answer = later(world, on_answer, driver);
}

static void on_abort_answer(void *data)
{
    struct fake_driver *driver = data;

    driver->abort_answer = NULL;
    switch (driver->world->abort) {
    case FAKE_ABORT_ENDS_CALL:
        call_returns(driver, kvmig__error_new(KVMIG_EVIRT, "host-0", NULL, NULL, "canceled by client"), false);
        break;
    case FAKE_ABORT_LOSES:
        call_returns(driver, NULL, false);
        break;
    case FAKE_ABORT_REFUSED:
        kvmig__session_abort_refused(driver->session,
                                     kvmig__error_new(KVMIG_EVIRT, "host-0", NULL, NULL, "post-copy has begun"));
        break;
    default:
        break;
    }
}

static void driver_abort(struct kvmig__driver *base)
{
    struct fake_driver *driver = (struct fake_driver *)base;

    driver->world->n_aborts++;
    if (driver->step != KVMIG__STEP_MIGRATE)
        return; /* no call is out: what becomes of a job is seen by LOCATE */
    cancel_task(&driver->answer);
    if (driver->world->abort != FAKE_ABORT_NEVER && !driver->abort_answer)
        driver->abort_answer = later(driver->world, on_abort_answer, driver);
}

static void driver_tune(struct kvmig__driver *base, enum kvmig__tuning what, uint64_t value)
{
    ((struct fake_driver *)base)->world->tuned[what] = value;
}

static void driver_free(struct kvmig__driver *base)
{
    struct fake_driver *driver = (struct fake_driver *)base;

    cancel_task(&driver->answer);
    cancel_task(&driver->abort_answer);
    driver->world->n_drivers_freed++;
    if (driver->world->driver == driver)
        driver->world->driver = NULL;
    free(driver);
}

static void driver_withdraw(struct kvmig__driver *base)
{
    ((struct fake_driver *)base)->world->n_withdrawn++;
}

static int32_t driver_cancel_effect(struct kvmig__driver *base)
{
    const int32_t effect = ((struct fake_driver *)base)->world->cancel_effect;

    return effect ? effect : KVMIG_CANCEL_ACCEPTED;
}

static const struct kvmig__driver_ops driver_ops = { .begin = driver_begin,
                                                     .abort = driver_abort,
                                                     .tune = driver_tune,
                                                     .free = driver_free,
                                                     .withdraw = driver_withdraw,
                                                     .cancel_effect = driver_cancel_effect };

static struct kvmig__driver *host_driver_new(struct kvmig__host_backend *source, struct kvmig__host_backend *target,
                                             struct kvmig_session *session, const struct kvmig__driver_limits *limits)
{
    struct fake_driver *driver = kvmig__calloc(1, sizeof(*driver));

    assert_ptr_not_equal(source, target);
    assert_true(limits->step_ms > 0 && limits->migrate_ms > 0 && limits->poll_ms > 0);
    driver->base.ops = &driver_ops;
    driver->base.admits = ((struct fake_host *)source)->world->admits;
    driver->base.step_by_ms[KVMIG__STEP_ADMIT] = ((struct fake_host *)source)->world->admit_by_ms;
    driver->base.plugs_late = ((struct fake_host *)source)->world->plugs_late;
    driver->world = ((struct fake_host *)source)->world;
    driver->session = session;
    driver->step = -1;
    driver->world->driver = driver;
    driver->world->n_drivers++;
    return &driver->base;
}

/* ---- the world ---- */

static const struct kvmig__host_backend_ops host_ops = {
    .refresh = host_refresh,
    .close = host_close,
    .read_side = host_read_side,
    .act = host_act,
    .driver_new = host_driver_new,
    .measure = host_measure,
};

void fake_side(struct kvmig__side *side, int32_t state, int32_t reason, bool job)
{
    *side = (struct kvmig__side){ .reachable = true, .state = state, .reason = reason, .job_active = job };
}

struct fake_host *fake_add_host(struct fake_world *world, bool silent)
{
    static const char *const names[MAX_HOSTS] = { "host-0", "host-1", "host-2", "host-3" };
    static const char *const uris[MAX_HOSTS] = { "fake://0/", "fake://1/", "fake://2/", "fake://3/" };
    struct fake_host *fake = &world->hosts[world->n_hosts];

    fake->base.ops = &host_ops;
    fake->world = world;
    fake->index = world->n_hosts;
    fake->name = names[world->n_hosts];
    fake->with_vm = world->n_hosts == 0;
    fake->silent = silent;
    kvmig__context_lock(world->context);
    fake->host = kvmig__cluster_host_add(world->cluster, uris[world->n_hosts], "test");
    fake->host->backend = &fake->base;
    host_refresh(&fake->base);
    kvmig__context_unlock(world->context);
    world->n_hosts++;
    return fake;
}

void fake_host_answers(struct fake_host *fake)
{
    fake->silent = false;
    kvmig__context_lock(fake->world->context);
    host_refresh(&fake->base);
    kvmig__context_unlock(fake->world->context);
}

static int32_t is_synced(void *data)
{
    return kvmig_cluster_is_synced(((struct fake_world *)data)->cluster);
}

void fake_world_open_on(struct fake_world *world, uint32_t flags, int n_hosts, int n_vms,
                        const struct kvmig_cluster_opts *opts)
{
    struct kvmig_context_opts context_opts = KVMIG_CONTEXT_OPTS_INIT;

    memset(world, 0, sizeof(*world));
    world->n_vms = n_vms;
    context_opts.flags = flags;
    context_opts.log_level = KVMIG_LOG_ERROR;
    assert_int_equal(kvmig_context_new(&context_opts, &world->context), 0);
    assert_int_equal(kvmig_cluster_open(world->context, opts, &world->cluster), 0);
    fake_side(&world->sides[0], KVMIG__STATE_RUNNING, KVMIG__REASON_OTHER, false);
    fake_side(&world->sides[1], KVMIG__STATE_ABSENT, KVMIG__REASON_OTHER, false);
    fake_side(&world->sides_after[0], KVMIG__STATE_SHUTOFF, KVMIG__REASON_MIGRATED, false);
    fake_side(&world->sides_after[1], KVMIG__STATE_RUNNING, KVMIG__REASON_MIGRATED, false);
    for (int i = 0; i < n_hosts; i++)
        fake_add_host(world, false);
    fake_run(world, is_synced, world);
}

void fake_world_open(struct fake_world *world, int n_hosts, int n_vms, const struct kvmig_cluster_opts *opts)
{
    fake_world_open_on(world, 0, n_hosts, n_vms, opts);
}

void fake_world_close(struct fake_world *world)
{
    kvmig_cluster_unref(world->cluster);
    world->cluster = NULL;
    kvmig_context_unref(world->context);
    world->context = NULL;
    assert_int_equal(world->n_drivers, world->n_drivers_freed);
}

struct kvmig_plan *fake_plan(struct fake_world *world, const char *vm, const char *target, uint64_t flags,
                             int32_t handover)
{
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;
    struct kvmig_plan *plan = NULL;

    opts.vm = vm;
    opts.target = target;
    opts.flags = flags;
    opts.handover = handover;
    assert_int_equal(kvmig_cluster_plan(world->cluster, &opts, &plan), 0);
    return plan;
}

void fake_answer_step(struct fake_world *world, enum kvmig__step step, struct kvmig_error *error)
{
    kvmig__context_lock(world->context);
    world->driver->step = -1;
    kvmig__session_step_done(world->driver->session, step, error);
    kvmig__context_unlock(world->context);
}

void fake_tell_last_look(struct fake_world *world)
{
    kvmig__context_lock(world->context);
    kvmig__session_final_side(world->driver->session, &world->sides_last[0], &world->sides_last[1]);
    kvmig__context_unlock(world->context);
}

void fake_answer_located(struct fake_world *world)
{
    kvmig__context_lock(world->context);
    world->driver->step = -1;
    locate(world->driver);
    kvmig__context_unlock(world->context);
}

void fake_answer_call(struct fake_world *world, struct kvmig_error *error, bool hung)
{
    kvmig__context_lock(world->context);
    call_returns(world->driver, error, hung);
    kvmig__context_unlock(world->context);
}

void fake_progress(struct fake_world *world, const struct kvmig_progress *progress)
{
    kvmig__context_lock(world->context);
    kvmig__session_progress(world->driver->session, progress);
    kvmig__context_unlock(world->context);
}

void fake_mode(struct fake_world *world, int32_t mode)
{
    kvmig__context_lock(world->context);
    kvmig__session_mode_changed(world->driver->session, mode);
    kvmig__context_unlock(world->context);
}

void fake_run(struct fake_world *world, int32_t (*until)(void *data), void *data)
{
    assert_int_equal(kvmig_context_run(world->context, until, data, RUN_DEADLINE_MS), 0);
}

void fake_drain(struct fake_world *world)
{
    int32_t more;

    while ((more = kvmig_context_dispatch(world->context)) == 1) {
    }
    assert_int_equal(more, 0);
}
