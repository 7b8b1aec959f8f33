/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See driver_test.h. The functions that a driver calls on its session and its hosts are here instead of the library's.
 */
#include "driver_test.h"

#include <kvmig/location.h>

#define PATIENCE_MS 20000 /* only a test that fails takes this long */

/* ---- what the driver finds at its hosts ---- */

static struct kvmig_session *current;

const char *kvmig__virt_host_uri(struct kvmig__host_backend *backend)
{
    return backend == (void *)&fake.hosts[FAKE_A] ? "fake://a/system" : "fake://b/system";
}

struct kvmig_context *kvmig__virt_host_context(struct kvmig__host_backend *backend)
{
    (void)backend;
    return current->context;
}

/* Stands in front of the public one, which would bring the whole library along, and with it another session. */
const char *kvmig_location_action_name(int32_t action)
{
    (void)action;
    return "?";
}

/* ---- what the driver tells its session ---- */

static void take_answer(struct kvmig_session *s, struct kvmig_error *error)
{
    kvmig__error_free(s->error);
    s->error = error;
    s->answers++;
    kvmig_context_wake(s->context);
}

void kvmig__session_step_done(struct kvmig_session *s, enum kvmig__step step, struct kvmig_error *error)
{
    (void)step;
    take_answer(s, error);
}

void kvmig__session_call_done(struct kvmig_session *s, struct kvmig_error *error, bool hung)
{
    s->hung = hung;
    take_answer(s, error);
}

void kvmig__session_abort_refused(struct kvmig_session *s, struct kvmig_error *error)
{
    kvmig__error_free(error);
    s->refusals++;
}

void kvmig__session_located(struct kvmig_session *s, const struct kvmig__resolution *resolution,
                            const struct kvmig__side *source, const struct kvmig__side *target)
{
    (void)source;
    (void)target;
    s->resolution = *resolution;
    take_answer(s, NULL);
}

void kvmig__session_final_side(struct kvmig_session *s, const struct kvmig__side *source,
                               const struct kvmig__side *target)
{
    s->final_sides++;
    s->final_source_state = source->reachable ? source->state : -1;
    s->final_target_state = target->reachable ? target->state : -1;
}

void kvmig__session_handover_proof(struct kvmig_session *s, bool source_seen_stopped)
{
    s->proofs++;
    s->source_seen_stopped = source_seen_stopped;
}

void kvmig__session_progress(struct kvmig_session *s, const struct kvmig_progress *progress)
{
    s->progresses++;
    s->boundaries += progress->at_iteration_boundary != 0;
    s->iteration = progress->iteration;
    if (progress->n_disks)
        strncpy(s->first_disk, progress->disks[0]->target, sizeof(s->first_disk) - 1);
}

void kvmig__session_mode_changed(struct kvmig_session *s, int32_t mode)
{
    s->mode = mode;
}

void kvmig__session_notice(struct kvmig_session *s, const struct kvmig_finding *finding)
{
    kvmig__findings_add(&s->notices, finding->code, finding->severity, finding->object, finding->host, NULL, NULL, "%s",
                        finding->message);
}

struct kvmig__report *kvmig__session_get_report(struct kvmig_session *s)
{
    return s->report;
}

const struct kvmig_plan *kvmig__session_plan(struct kvmig_session *s)
{
    return s->plan;
}

/* ---- the test's side ---- */

void set_vm(int host, int state, int reason)
{
    fake_lock();
    fake.hosts[host].vm.there = true;
    fake.hosts[host].vm.state = state;
    fake.hosts[host].vm.reason = reason;
    fake_unlock();
}

void set_failing(int host, const char *call)
{
    fake_lock();
    fake.hosts[host].fail_in = call;
    fake_unlock();
}

void open_driver(struct kvmig_session *s, int64_t step_ms, int64_t abort_ms)
{
    const struct kvmig__driver_limits limits = {
        .step_ms = step_ms, .migrate_ms = PATIENCE_MS, .resolve_ms = step_ms, .abort_ms = abort_ms, .poll_ms = 5
    };
    memset(s, 0, sizeof(*s));
    fake_reset();
    current = s;
    assert_int_equal(virInitialize(), 0); /* libvirt's typed parameters are the real ones */
    assert_int_equal(kvmig_context_new(NULL, &s->context), 0);
    s->plan = kvmig__calloc(1, sizeof(*s->plan));
    s->plan->refs = 1;
    s->plan->vm = kvmig__strdup("vm");
    s->plan->uuid = kvmig__strdup(FAKE_UUID);
    s->plan->source = kvmig__strdup("a");
    s->plan->target = kvmig__strdup("b");
    s->plan->persistent = true;
    s->report = kvmig__report_new();
    kvmig__context_lock(s->context);
    s->driver = kvmig__virt_driver_new((void *)&fake.hosts[FAKE_A], (void *)&fake.hosts[FAKE_B], s, &limits);
    kvmig__context_unlock(s->context);
}

void close_driver(struct kvmig_session *s)
{
    kvmig__context_lock(s->context);
    s->driver->ops->free(s->driver);
    kvmig__context_unlock(s->context);
    fake_end();
    kvmig_plan_unref(s->plan);
    kvmig__report_free(s->report);
    kvmig__findings_clear(&s->notices);
    kvmig__error_free(s->error);
    kvmig_context_unref(s->context);
}

void plan_new_volume(struct kvmig_session *s, const char *target, const char *volume)
{
    struct kvmig__disk_plan *disk = KVMIG__PUSH(&s->plan->disks);
    disk->target = kvmig__strdup(target);
    disk->method = KVMIG_DISK_COPY_FULL;
    disk->source_path = kvmig__asprintf("/p/%s", volume);
    disk->format = kvmig__strdup("raw");
    disk->pool = kvmig__strdup("p");
    disk->volume = kvmig__strdup(volume);
    disk->target_path = kvmig__asprintf("/p/%s", volume);
    disk->create = true;
}

void begin(struct kvmig_session *s, enum kvmig__step step)
{
    kvmig__context_lock(s->context);
    s->answers = 0;
    s->driver->ops->begin(s->driver, step);
    assert_int_equal(s->answers, 0); /* never from inside begin() */
    kvmig__context_unlock(s->context);
}

int32_t has_answer(void *session)
{
    return ((struct kvmig_session *)session)->answers > 0;
}

void await(struct kvmig_session *s, int32_t (*condition)(void *session))
{
    /* In slices, because what the fake hosts do wakes nobody here. */
    const int64_t late_ms = kvmig__now_ms() + PATIENCE_MS;
    while (kvmig_context_run(s->context, condition, s, 5) != 0)
        assert_true(kvmig__now_ms() < late_ms);
}

void run_step(struct kvmig_session *s, enum kvmig__step step)
{
    begin(s, step);
    await(s, has_answer);
    assert_int_equal(s->answers, 1);
}

void pass_step(struct kvmig_session *s, enum kvmig__step step)
{
    run_step(s, step);
    if (s->error)
        fail_msg("step %d: %s", step, s->error->message);
}

void prepare(struct kvmig_session *s)
{
    pass_step(s, KVMIG__STEP_SCHEDULE);
    pass_step(s, KVMIG__STEP_PREPARE);
}

void abort_call(struct kvmig_session *s)
{
    kvmig__context_lock(s->context);
    s->driver->ops->abort(s->driver);
    kvmig__context_unlock(s->context);
}

void assert_log(const char *expected)
{
    char *log = fake_log();
    assert_string_equal(log, expected);
    free(log);
}

void assert_error(const struct kvmig_session *s, const char *part)
{
    assert_non_null(s->error);
    if (!strstr(s->error->message, part))
        fail_msg("\"%s\" is not in \"%s\"", part, s->error->message);
}

static const struct kvmig__report_item *find_item(const struct kvmig_session *s, const char *kind, const char *host)
{
    for (size_t i = 0; i < s->report->created.n; i++) {
        const struct kvmig__report_item *item = &s->report->created.v[i];
        if (strcmp(item->kind, kind) == 0 && strcmp(item->host, host) == 0)
            return item;
    }
    return NULL;
}

bool in_ledger(const struct kvmig_session *s, const char *kind, const char *host)
{
    return find_item(s, kind, host) != NULL;
}

const char *outcome_of(const struct kvmig_session *s, const char *kind, const char *host)
{
    const struct kvmig__report_item *item = find_item(s, kind, host);
    assert_non_null(item);
    return item->outcome ? item->outcome : "(open)";
}
