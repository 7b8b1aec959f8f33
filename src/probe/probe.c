/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Probes: their life, start and end, and what is known. Does not try anything: that is a job on a lane, and so a thread
 * that does not depend on how soon the caller's loop gets its turn.
 *
 * Public calls come from any thread. Life and state are guarded by the context lock, figures by the prober's. A probe is
 * kept by its owners, which keep the context open, and by its holders (sessions). Nobody waits for the thread: the lane is
 * closed at the stop, and thread and prober end by themselves soon after it.
 */
#include "probe/probe_private.h"

#include "base/json_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the job ---- */

static void job_run(void *payload)
{
    kvmig__prober_run(payload);
}

/* The job ends only when the probe stops, which closes the lane before. */
static void job_done(void *owner, void *payload, int32_t status)
{
    (void)owner;
    (void)payload;
    (void)status;
}

static void job_free(void *payload)
{
    kvmig__prober_unref(payload);
}

static const struct kvmig__job_type job_type = { "probe", job_run, job_done, job_free };

/* ---- start and end; context lock held ---- */

static int32_t fail_system(int32_t code, const char *hint, const char *message)
{
    return kvmig__fail(kvmig__error_new(code, "kvmig_probe_start", kvmig_error_code_name(code), hint, "%s", message));
}

int32_t kvmig__probe_start(struct kvmig_probe *probe)
{
    int32_t rc;

    if (probe->was_started)
        return fail_system(-EALREADY, "Make another probe.", "the probe was started before");
    rc = kvmig__prober_open(probe->prober);
    if (rc < 0)
        return fail_system(rc, "Raise the limit of open files of the process.",
                           "the system denies a descriptor that a probe needs");
    kvmig__prober_set_started(probe->prober);
    probe->lane = kvmig__lane_new(probe->context, "probe");
    kvmig__lane_submit(probe->lane, &job_type, probe, kvmig__prober_ref(probe->prober), -1);
    if (!kvmig__lane_has_thread(probe->lane)) {
        kvmig__lane_close(probe->lane);
        probe->lane = NULL;
        kvmig__prober_close(probe->prober);
        return fail_system(-EAGAIN, "Raise the limit of threads of the process.", "a probe gets no thread");
    }
    probe->was_started = true;
    kvmig__log(probe->context, KVMIG_LOG_DEBUG, "probe", "begins with %zu targets, the first is %s",
               probe->prober->n_targets, probe->prober->targets[0].label);
    return 0;
}

bool kvmig__probe_is_running(const struct kvmig_probe *probe)
{
    return probe->lane != NULL;
}

void kvmig__probe_stop(struct kvmig_probe *probe)
{
    if (!probe->lane)
        return;
    /* In this order the thread frees its job itself; else that might have to wait for somebody to dispatch. */
    kvmig__lane_close(probe->lane);
    probe->lane = NULL;
    kvmig__prober_stop(probe->prober);
    kvmig__log(probe->context, KVMIG_LOG_DEBUG, "probe", "stops; the first target is %s",
               probe->prober->targets[0].label);
}

/* ---- life ---- */

static void end_if_unused(struct kvmig_probe *probe)
{
    if (probe->owners || probe->holds)
        return;
    kvmig__probe_stop(probe);
    kvmig__prober_unref(probe->prober);
    free(probe);
}

void kvmig__probe_hold(struct kvmig_probe *probe)
{
    probe->holds++;
}

void kvmig__probe_release(struct kvmig_probe *probe)
{
    if (!probe)
        return;
    probe->holds--;
    end_if_unused(probe);
}

int32_t kvmig__probe_attach(struct kvmig_probe *probe)
{
    if (probe->has_session)
        return -EBUSY;
    if (probe->was_started && !probe->lane)
        return -KVMIG_EPHASE;
    probe->has_session = true;
    kvmig__probe_hold(probe);
    return 0;
}

void kvmig__probe_detach(struct kvmig_probe *probe)
{
    probe->has_session = false;
    kvmig__probe_release(probe);
}

struct kvmig_context *kvmig__probe_context(const struct kvmig_probe *probe)
{
    return probe->context;
}

static int32_t fail_null(const char *where, const char *what)
{
    return kvmig__fail(kvmig__error_new(EINVAL, where, NULL, NULL, "%s is NULL", what));
}

int32_t kvmig_probe_new(struct kvmig_context *context, const struct kvmig_probe_opts *opts,
                        struct kvmig_probe **out_probe)
{
    struct kvmig__prober *prober = NULL;
    struct kvmig_probe *probe;
    int32_t rc;

    if (out_probe)
        *out_probe = NULL;
    if (!context || !out_probe)
        return fail_null("kvmig_probe_new", context ? "out_probe" : "context");
    rc = kvmig__prober_from_opts(opts, &prober);
    if (rc)
        return rc;
    probe = kvmig__calloc(1, sizeof(*probe));
    *probe = (struct kvmig_probe){ .context = context, .prober = prober, .owners = 1 };
    kvmig__context_lock(context);
    kvmig__context_own(context);
    kvmig__context_unlock(context);
    *out_probe = probe;
    return 0;
}

struct kvmig_probe *kvmig_probe_ref(struct kvmig_probe *probe)
{
    if (!probe)
        return NULL;
    kvmig__context_lock(probe->context);
    if (probe->owners++ == 0) /* a session has handed it out again */
        kvmig__context_own(probe->context);
    kvmig__context_unlock(probe->context);
    return probe;
}

void kvmig_probe_unref(struct kvmig_probe *probe)
{
    struct kvmig_context *context;

    if (!probe)
        return;
    context = probe->context;
    kvmig__context_lock(context);
    if (--probe->owners == 0) {
        end_if_unused(probe);
        kvmig__context_disown(context);
    }
    kvmig__context_unlock(context);
}

int32_t kvmig_probe_start(struct kvmig_probe *probe)
{
    int32_t rc;

    if (!probe)
        return fail_null("kvmig_probe_start", "probe");
    kvmig__context_lock(probe->context);
    rc = kvmig__probe_start(probe);
    kvmig__context_unlock(probe->context);
    return rc;
}

int32_t kvmig_probe_stop(struct kvmig_probe *probe)
{
    if (!probe)
        return fail_null("kvmig_probe_stop", "probe");
    kvmig__context_lock(probe->context);
    kvmig__probe_stop(probe);
    kvmig__context_unlock(probe->context);
    return 0;
}

/* ---- what is known ---- */

void kvmig__prober_result(const struct kvmig__prober *prober, size_t index, struct kvmig_probe_result *out_result)
{
    const struct kvmig__prober_target *target = &prober->targets[index];
    struct kvmig__probe_gap gap;

    *out_result = (struct kvmig_probe_result){
        .size = sizeof(*out_result),
        .tries = target->stats.tries,
        .failures = target->stats.failures,
        .held_survived = target->held_survived,
        .last_success_ms = target->stats.last_success_ms,
        .last_failure_ms = target->stats.last_failure_ms,
    };
    if (!kvmig__probe_stats_gap(&target->stats, prober->stopped_ms ? prober->stopped_ms : kvmig__now_ms(), &gap))
        return;
    out_result->gap_begin_ms = gap.begin_ms;
    out_result->gap_end_ms = gap.end_ms;
    out_result->gap_ms = (uint64_t)(gap.end_ms - gap.begin_ms);
    out_result->gap_is_open = gap.is_open;
}

const char *kvmig__probe_label(const struct kvmig_probe *probe, size_t index)
{
    return probe->prober->targets[index].label;
}

void kvmig__probe_result(struct kvmig_probe *probe, size_t index, struct kvmig_probe_result *out_result)
{
    pthread_mutex_lock(&probe->prober->lock);
    kvmig__prober_result(probe->prober, index, out_result);
    pthread_mutex_unlock(&probe->prober->lock);
}

bool kvmig__probe_succeeded_since(struct kvmig_probe *probe, size_t index, int64_t since_ms)
{
    struct kvmig_probe_result result;

    kvmig__probe_result(probe, index, &result);
    return result.last_success_ms && result.last_success_ms >= since_ms;
}

struct json_object *kvmig__probe_report(struct kvmig_probe *probe, int64_t base_ms)
{
    return kvmig__prober_json(probe->prober, base_ms);
}

size_t kvmig_probe_count(const struct kvmig_probe *probe)
{
    return probe ? probe->prober->n_targets : 0;
}

int32_t kvmig_probe_get_result(struct kvmig_probe *probe, size_t index, struct kvmig_probe_result *result)
{
    struct kvmig_probe_result full;
    const size_t size = result ? result->size : 0;
    char *evidence;
    int32_t rc;

    if (!probe || !result)
        return fail_null("kvmig_probe_get_result", probe ? "result" : "probe");
    if (index < probe->prober->n_targets && size >= sizeof(size)) {
        kvmig__probe_result(probe, index, &full);
        full.size = size;
        memcpy(result, &full, size < sizeof(full) ? size : sizeof(full));
        return 0;
    }
    evidence = kvmig__asprintf("index = %zu of %zu, size = %zu", index, probe->prober->n_targets, size);
    rc = kvmig__fail(kvmig__error_new(EINVAL, "kvmig_probe_get_result", evidence,
                                      "Set result->size to the size of the struct; count by kvmig_probe_count().",
                                      size < sizeof(size) ? "the size member of the result is not set"
                                                          : "there is no target of that number"));
    free(evidence);
    return rc;
}

int32_t kvmig_probe_to_json(struct kvmig_probe *probe, char **out_json)
{
    if (!probe || !out_json)
        return fail_null("kvmig_probe_to_json", probe ? "out_json" : "probe");
    *out_json = kvmig__json_take_string(kvmig__prober_json(probe->prober, 0));
    return 0;
}

const char *kvmig_probe_kind_name(int32_t kind)
{
    static const char *const names[] = {
        [KVMIG_PROBE_TCP_CONNECT] = "tcp",
        [KVMIG_PROBE_TCP_ECHO] = "echo",
        [KVMIG_PROBE_HTTP_GET] = "http",
    };

    return kind > 0 && (size_t)kind < KVMIG__N_ELEMENTS(names) ? names[kind] : NULL;
}
