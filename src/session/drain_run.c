/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs a drain: makes the sessions of its migrations, never more at once than the limits allow, passes their events on, and tells the
 * one end. Does not: decide the order (plan/drain_order.c does). What is in a run is guarded by the context lock; sessions are made
 * and shown to the caller without it, on whichever thread made room for one. A run is kept by its owners and by the callbacks of
 * its sessions.
 */
#include "base/json_internal.h"
#include "cluster/cluster_internal.h"
#include "plan/drain_internal.h"
#include "session/session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct member {
    struct kvmig_drain_run *run;
    size_t index;
};

struct kvmig_drain_run {
    struct kvmig_context *context;
    struct kvmig_cluster *cluster; /* one owner of it, until the last owner of the run is gone */
    struct kvmig_drain *drain;
    uint32_t owners;
    uint32_t refs; /* atomic: one for the owners, one per callback */
    struct kvmig__sink *sink; /* NULL once the last owner is gone, or the end was told */
    struct kvmig_session_opts session_opts;
    void (*on_session)(struct kvmig_session *session, size_t index, void *user_data);
    void *user_data;

    uint8_t *states; /* per migration: enum kvmig__drain_state */
    int32_t *phases;
    struct kvmig_error **errors;
    struct kvmig_session **sessions;
    bool cancelled; /* no further one starts */
    int32_t phase;
};

/* ---- life ---- */

static void release(struct kvmig_drain_run *run)
{
    if (__atomic_sub_fetch(&run->refs, 1, __ATOMIC_ACQ_REL))
        return;
    for (size_t i = 0; i < run->drain->moves.n; i++)
        kvmig__error_free(run->errors[i]);
    free(run->states);
    free(run->phases);
    free(run->errors);
    free(run->sessions);
    kvmig_drain_unref(run->drain);
    free(run);
}

static struct kvmig_drain_run *run_new(struct kvmig_cluster *cluster, const struct kvmig_drain *drain)
{
    struct kvmig_drain_run *run = kvmig__calloc(1, sizeof(*run));
    size_t n = drain->moves.n;

    run->context = kvmig__cluster_context(cluster);
    run->drain = kvmig_drain_ref(drain);
    run->owners = run->refs = 1;
    run->phase = KVMIG_PHASE_RUNNING;
    run->states = kvmig__calloc(n + 1, sizeof(*run->states));
    run->phases = kvmig__calloc(n + 1, sizeof(*run->phases));
    run->errors = kvmig__calloc(n + 1, sizeof(*run->errors));
    run->sessions = kvmig__calloc(n + 1, sizeof(struct kvmig_session *));
    return run;
}

struct kvmig_drain_run *kvmig_drain_run_ref(struct kvmig_drain_run *run)
{
    if (!run)
        return NULL;
    kvmig__context_lock(run->context);
    run->owners++;
    kvmig__context_unlock(run->context);
    return run;
}

void kvmig_drain_run_unref(struct kvmig_drain_run *run)
{
    struct kvmig_context *context;
    bool last;

    if (!run)
        return;
    context = run->context;
    kvmig__context_lock(context);
    last = --run->owners == 0;
    if (last) {
        run->cancelled = true;
        kvmig__sink_retire(run->sink, true);
        run->sink = NULL;
    }
    kvmig__context_unlock(context);
    if (!last)
        return;
    for (size_t i = 0; i < run->drain->moves.n; i++) /* as it is cancelled, none is added */
        kvmig_session_unref(run->sessions[i]);
    kvmig_cluster_unref(run->cluster);
    kvmig_cluster_unref(run->session_opts.node_hosts);
    kvmig__context_lock(context);
    kvmig__context_disown(context);
    kvmig__context_unlock(context);
    release(run);
}

/* ---- the end ---- */

static size_t count_phase(const struct kvmig_drain_run *run, int32_t phase)
{
    size_t n = 0;

    for (size_t i = 0; i < run->drain->moves.n; i++)
        n += run->phases[i] == phase;
    return n;
}

/* What its migrations come to. */
static int32_t phase_of(const struct kvmig_drain_run *run)
{
    if (count_phase(run, KVMIG_PHASE_INDETERMINATE))
        return KVMIG_PHASE_INDETERMINATE;
    if (count_phase(run, KVMIG_PHASE_SUCCEEDED) == run->drain->moves.n && !run->drain->immovable.n)
        return KVMIG_PHASE_SUCCEEDED;
    return run->cancelled ? KVMIG_PHASE_CANCELLED : KVMIG_PHASE_FAILED;
}

static struct kvmig_error *error_of(const struct kvmig_drain_run *run)
{
    const size_t n = run->drain->moves.n, stuck = run->drain->immovable.n;

    if (run->phase == KVMIG_PHASE_SUCCEEDED)
        return NULL;
    return kvmig__error_new(run->phase == KVMIG_PHASE_CANCELLED ? ECANCELED : EIO, "drain", NULL,
                            "kvmig_drain_run_report() tells each of them.",
                            "%zu of %zu VMs have moved; %zu cannot move", count_phase(run, KVMIG_PHASE_SUCCEEDED),
                            n + stuck, stuck);
}

static bool is_over(const struct kvmig_drain_run *run)
{
    for (size_t i = 0; i < run->drain->moves.n; i++) {
        if (run->states[i] == KVMIG__DRAIN_RUNS || (run->states[i] == KVMIG__DRAIN_WAITS && !run->cancelled))
            return false;
    }
    return true;
}

/* Needs the lock. */
static void end_if_over(struct kvmig_drain_run *run)
{
    struct kvmig_event *event;
    struct kvmig_error *error;

    if (run->phase != KVMIG_PHASE_RUNNING || !is_over(run))
        return;
    run->phase = phase_of(run);
    if (!run->sink)
        return;
    event = kvmig__event_new(KVMIG_EVENT_DRAIN_END);
    kvmig__event_set_session(event, "drain", NULL, run->phase, KVMIG_PHASE_RUNNING, KVMIG_MODE_PRE_COPY);
    error = error_of(run);
    kvmig__event_set_error(event, error);
    kvmig__error_free(error);
    kvmig__sink_emit(run->sink, event);
    kvmig__sink_retire(run->sink, false);
    run->sink = NULL;
}

/* ---- one migration ---- */

/* error is taken. Needs the lock. */
static void note_end(struct kvmig_drain_run *run, size_t index, int32_t phase, struct kvmig_error *error)
{
    run->states[index] = KVMIG__DRAIN_OVER;
    run->phases[index] = phase;
    kvmig__error_free(run->errors[index]);
    run->errors[index] = error;
}

static void start_those_that_fit(struct kvmig_drain_run *run);

static void on_event(const struct kvmig_event *event, void *user_data)
{
    const struct member *member = user_data;
    struct kvmig_drain_run *run = member->run;
    bool ended = kvmig_event_type(event) == KVMIG_EVENT_END;

    kvmig__context_lock(run->context);
    if (kvmig_event_type(event) == KVMIG_EVENT_PHASE)
        run->phases[member->index] = kvmig_event_phase(event);
    if (run->sink)
        kvmig__sink_emit(run->sink, kvmig_event_ref(event));
    if (ended)
        note_end(run, member->index, kvmig_event_phase(event), kvmig__error_copy(kvmig_event_error(event)));
    kvmig__context_unlock(run->context);
    if (ended)
        start_those_that_fit(run);
}

static void member_free(void *user_data)
{
    struct member *member = user_data;

    release(member->run);
    free(member);
}

/* It ends before it has begun. */
static void fail_one(struct kvmig_drain_run *run, size_t index)
{
    kvmig__context_lock(run->context);
    note_end(run, index, KVMIG_PHASE_FAILED, kvmig__error_copy(kvmig_error_last()));
    kvmig__context_unlock(run->context);
}

/* A session that the caller has seen, and may have started, too; NULL: it could not be made. */
static struct kvmig_session *make_one(struct kvmig_drain_run *run, struct kvmig_cluster *cluster, size_t index)
{
    struct kvmig_session_opts opts = run->session_opts;
    struct member *member = kvmig__calloc(1, sizeof(*member));
    struct kvmig_session *session;

    *member = (struct member){ run, index };
    __atomic_add_fetch(&run->refs, 1, __ATOMIC_RELAXED);
    opts.on_event = (struct kvmig_event_callback){ on_event, member, member_free };
    if (kvmig_session_new(cluster, run->drain->moves.v[index].plan, &opts, &session) < 0) {
        fail_one(run, index);
        return NULL;
    }
    if (run->on_session)
        run->on_session(session, index, run->user_data);
    return session;
}

/* Looks whether it is still wanted and starts it with one hold of the lock: once a cancel or the last unref has returned, none starts. */
static void start_one(struct kvmig_drain_run *run, struct kvmig_cluster *cluster, size_t index)
{
    struct kvmig_session *session = make_one(run, cluster, index);
    bool kept, cancel;

    if (!session)
        return;
    kvmig__context_lock(run->context);
    if (!run->cancelled)
        (void)kvmig__session_start_locked(session); /* false: the caller was faster, which is as good */
    else if (session->state == KVMIG__ST_UNSET)
        run->states[index] = KVMIG__DRAIN_WAITS;
    kept = run->owners && session->state != KVMIG__ST_UNSET;
    if (kept) {
        run->sessions[index] = session;
        session->owners++; /* until it is cancelled */
    }
    cancel = kept && run->cancelled;
    kvmig__context_unlock(run->context);
    if (cancel) /* the caller has started it and cancelled the run */
        (void)kvmig_session_cancel(session);
    kvmig_session_unref(session);
}

/* Needs the lock. What the sessions are made with, which the last owner may let go of meanwhile. */
static void hold_views(struct kvmig_cluster *cluster, struct kvmig_cluster *node_hosts)
{
    kvmig__cluster_hold(cluster);
    if (node_hosts)
        kvmig__cluster_hold(node_hosts);
}

static void release_views(struct kvmig_cluster *cluster, struct kvmig_cluster *node_hosts)
{
    kvmig__cluster_release(cluster);
    if (node_hosts)
        kvmig__cluster_release(node_hosts);
}

/* False: none does now. */
static bool start_next(struct kvmig_drain_run *run)
{
    struct kvmig_cluster *cluster = run->cluster, *node_hosts = run->session_opts.node_hosts;
    size_t next = SIZE_MAX;

    kvmig__context_lock(run->context);
    if (!run->cancelled)
        next = kvmig__drain_next(run->drain, run->states);
    if (next != SIZE_MAX) {
        run->states[next] = KVMIG__DRAIN_RUNS;
        hold_views(cluster, node_hosts);
    } else {
        end_if_over(run);
    }
    kvmig__context_unlock(run->context);
    if (next == SIZE_MAX)
        return false;
    start_one(run, cluster, next);
    kvmig__context_lock(run->context);
    release_views(cluster, node_hosts);
    kvmig__context_unlock(run->context);
    return true;
}

static void start_those_that_fit(struct kvmig_drain_run *run)
{
    struct kvmig_context *context = run->context;

    /* The last owner of all may let go of it in on_session, of the run and of the context. */
    kvmig__context_lock(context);
    kvmig__context_hold(context);
    __atomic_add_fetch(&run->refs, 1, __ATOMIC_RELAXED);
    kvmig__context_unlock(context);
    while (start_next(run))
        ;
    kvmig__context_lock(context);
    kvmig__context_release(context);
    kvmig__context_unlock(context);
    release(run);
}

/* ---- public calls ---- */

int32_t kvmig_drain_run_opts_init(struct kvmig_drain_run_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_drain_run_opts_init");
}

static int32_t fail(const char *where, const char *hint, const char *message)
{
    return kvmig__fail(kvmig__error_new(EINVAL, where, NULL, hint, "%s", message));
}

static int32_t take_session_opts(struct kvmig_session_opts *known, const struct kvmig_session_opts *opts,
                                 struct kvmig_cluster *cluster)
{
    int32_t rc = kvmig__opts_copy(known, sizeof(*known), opts, "kvmig_drain_start: session");

    if (rc == 0 && (known->on_event.fn || known->on_event.free || known->plan_opts || known->attach))
        rc = fail("kvmig_drain_start: session", "Set on_event of the drain's own options.",
                  "on_event, plan_opts and attach of the sessions are the drain's");
    return rc ? rc : kvmig__session_check_opts(known, cluster);
}

int32_t kvmig_drain_start(struct kvmig_cluster *cluster, const struct kvmig_drain *drain,
                          const struct kvmig_drain_run_opts *opts, struct kvmig_drain_run **out_run)
{
    struct kvmig_context *context = cluster ? kvmig__cluster_context(cluster) : NULL;
    struct kvmig_session_opts session_opts = { 0 };
    struct kvmig_drain_run_opts own;
    struct kvmig_drain_run *run;
    int32_t rc = kvmig__opts_copy(&own, sizeof(own), opts, "kvmig_drain_start");

    if (out_run)
        *out_run = NULL;
    if (!cluster || !drain || !out_run)
        rc = fail("kvmig_drain_start", NULL, "cluster, drain or out_run is NULL");
    if (rc == 0)
        rc = take_session_opts(&session_opts, own.session, cluster);
    if (context)
        kvmig__context_lock(context);
    if (rc < 0) {
        kvmig__callback_discard(context, own.on_event.free, own.on_event.user_data);
        if (context)
            kvmig__context_unlock(context);
        return rc;
    }
    run = run_new(cluster, drain);
    kvmig__context_own(context);
    run->sink = kvmig__sink_new(context, own.on_event);
    kvmig__context_unlock(context);
    run->cluster = kvmig_cluster_ref(cluster);
    run->session_opts = session_opts;
    kvmig_cluster_ref(session_opts.node_hosts);
    run->on_session = own.on_session;
    run->user_data = own.user_data;
    *out_run = run;
    start_those_that_fit(run);
    return 0;
}

int32_t kvmig_drain_run_cancel(struct kvmig_drain_run *run)
{
    if (!run)
        return fail("kvmig_drain_run_cancel", NULL, "run is NULL");
    kvmig__context_lock(run->context);
    run->cancelled = true;
    kvmig__context_unlock(run->context);
    for (size_t i = 0; i < run->drain->moves.n; i++) {
        struct kvmig_session *session = NULL;

        kvmig__context_lock(run->context);
        if (run->states[i] == KVMIG__DRAIN_RUNS)
            session = run->sessions[i];
        kvmig__context_unlock(run->context);
        if (session)
            (void)kvmig_session_cancel(session); /* one that has just ended is no failure */
    }
    kvmig__context_lock(run->context);
    end_if_over(run);
    kvmig__context_unlock(run->context);
    return 0;
}

int32_t kvmig_drain_run_phase(struct kvmig_drain_run *run, size_t index)
{
    int32_t phase = KVMIG_PHASE_UNSET;

    if (!run)
        return phase;
    kvmig__context_lock(run->context);
    if (index == SIZE_MAX)
        phase = run->phase;
    else if (index < run->drain->moves.n)
        phase = run->phases[index];
    kvmig__context_unlock(run->context);
    return phase;
}

struct kvmig_session *kvmig_drain_run_session(struct kvmig_drain_run *run, size_t index)
{
    struct kvmig_session *session = NULL;

    if (!run)
        return NULL;
    kvmig__context_lock(run->context);
    if (index < run->drain->moves.n)
        session = run->sessions[index];
    kvmig__context_unlock(run->context);
    return session;
}

static struct json_object *member_to_json(const struct kvmig_drain_run *run, size_t index)
{
    const struct kvmig_plan *plan = run->drain->moves.v[index].plan;
    struct json_object *object = json_object_new_object();

    kvmig__json_add_str(object, "vm", plan->vm);
    kvmig__json_add_str(object, "source", plan->source);
    kvmig__json_add_str(object, "target", plan->target);
    kvmig__json_add_u64(object, "wave", run->drain->moves.v[index].wave);
    kvmig__json_add_str(object, "phase", kvmig_phase_name(run->phases[index]));
    if (run->sessions[index])
        kvmig__json_add_str(object, "session", kvmig_session_id(run->sessions[index]));
    json_object_object_add(object, "error", kvmig__json_error(run->errors[index]));
    return object;
}

int32_t kvmig_drain_run_report(struct kvmig_drain_run *run, char **out_json)
{
    struct json_object *root, *migrations;

    if (out_json)
        *out_json = NULL;
    if (!run || !out_json)
        return fail("kvmig_drain_run_report", NULL, "run or out_json is NULL");
    root = json_object_new_object();
    migrations = json_object_new_array();
    kvmig__context_lock(run->context);
    kvmig__json_add_str(root, "phase", kvmig_phase_name(run->phase));
    kvmig__json_add_u64(root, "moved", count_phase(run, KVMIG_PHASE_SUCCEEDED));
    kvmig__json_add_u64(root, "immovable", run->drain->immovable.n);
    for (size_t i = 0; i < run->drain->moves.n; i++)
        json_object_array_add(migrations, member_to_json(run, i));
    kvmig__context_unlock(run->context);
    json_object_object_add(root, "migrations", migrations);
    *out_json = kvmig__json_take_string(root);
    return 0;
}
