/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sessions: their life and the public calls. Does not: run the state machine (session_machine.c) or do anything on a host. Public
 * calls come from any thread and take the context lock; the rest needs it. A session is owned as session_internal.h says.
 */
#include "session/session_internal.h"

#include "base/json_internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SECOND ((uint64_t)1000)
#define HOUR (3600 * SECOND)
#define LONGEST_MS (366 * 24 * HOUR) /* of any wait: more is a mistake, and sums of waits must not overflow */
#define DEFAULT_POLL_MS 200
#define DEFAULT_WAIT_MS (20 * 60 * SECOND) /* longer than KubeVirt's own limits where it has some (900 s) */
#define MIB ((uint64_t)1024 * 1024)

/* ---- life ---- */

static struct kvmig_session *session_new(struct kvmig_cluster *cluster, const struct kvmig_plan *plan)
{
    static _Atomic uint32_t count;
    struct kvmig_session *session = kvmig__calloc(1, sizeof(*session));

    session->context = kvmig__cluster_context(cluster);
    session->cluster = cluster;
    session->owners = 1;
    session->id = kvmig__asprintf("session-%u", (unsigned)++count);
    session->plan = kvmig_plan_ref(plan);
    session->state = KVMIG__ST_UNSET;
    session->phase = session->previous_phase = KVMIG_PHASE_UNSET;
    session->awaited = KVMIG__NO_STEP;
    session->report = kvmig__report_new();
    kvmig__timer_init(&session->deadline, session->context, kvmig__session_on_deadline, session);
    kvmig__timer_init(&session->retry, session->context, kvmig__session_on_retry, session);
    kvmig__followers_init(session);
    kvmig__context_own(session->context);
    kvmig__cluster_hold(cluster);
    return session;
}

static void session_free(struct kvmig_session *session)
{
    kvmig__timer_disarm(&session->deadline);
    kvmig__timer_disarm(&session->retry);
    kvmig__followers_free(session);
    if (session->cluster)
        kvmig__cluster_release(session->cluster);
    if (session->node_hosts)
        kvmig__cluster_release(session->node_hosts);
    kvmig__request_clear(&session->request);
    kvmig_plan_unref(session->plan);
    kvmig_plan_unref(session->first_plan);
    kvmig__session_wishes_clear(&session->wishes);
    json_object_put(session->token);
    json_object_put(session->driver_report);
    kvmig__report_free(session->report);
    kvmig__error_free(session->call_error);
    free(session->inputs.v);
    free(session->id);
    free(session);
}

void kvmig__session_hold(struct kvmig_session *session)
{
    session->holds++;
}

void kvmig__session_release(struct kvmig_session *session)
{
    if (--session->holds == 0 && !session->owners)
        session_free(session);
}

struct kvmig_session *kvmig_session_ref(struct kvmig_session *session)
{
    if (!session)
        return NULL;
    kvmig__context_lock(session->context);
    session->owners++;
    kvmig__context_unlock(session->context);
    return session;
}

void kvmig_session_unref(struct kvmig_session *session)
{
    struct kvmig_context *context;

    if (!session)
        return;
    context = session->context;
    kvmig__context_lock(context);
    if (--session->owners == 0) {
        kvmig__sink_retire(session->sink, true);
        session->sink = NULL;
        if (!session->holds)
            session_free(session);
        kvmig__context_disown(context);
    }
    kvmig__context_unlock(context);
}

/* ---- options ---- */

int32_t kvmig_session_opts_init(struct kvmig_session_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_session_opts_init");
}

static int32_t fail(int32_t code, const char *where, const char *evidence, const char *hint, const char *message)
{
    return kvmig__fail(kvmig__error_new(code, where, evidence, hint, "%s", message));
}

static int32_t check_time(const char *option, uint64_t ms)
{
    char *where, *evidence;
    int32_t rc;

    if (ms <= LONGEST_MS)
        return 0;
    where = kvmig__asprintf("kvmig_session_new: %s", option);
    evidence = kvmig__asprintf("%s = %llu", option, (unsigned long long)ms);
    rc = fail(EINVAL, where, evidence, "Milliseconds, at most one year; 0 is the default.", "a time-out is too long");
    free(where);
    free(evidence);
    return rc;
}

static int32_t check_opts(const struct kvmig_session_opts *opts)
{
    const struct {
        const char *name;
        uint64_t ms;
    } times[] = {
        { "queue_timeout_ms", opts->queue_timeout_ms },     { "step_timeout_ms", opts->step_timeout_ms },
        { "migrate_timeout_ms", opts->migrate_timeout_ms }, { "resolve_timeout_ms", opts->resolve_timeout_ms },
        { "abort_timeout_ms", opts->abort_timeout_ms },     { "service_timeout_ms", opts->service_timeout_ms },
        { "pending_timeout_ms", opts->pending_timeout_ms }, { "prepare_timeout_ms", opts->prepare_timeout_ms },
    };
    const uint64_t known =
        KVMIG_SESSION_TEMPORARY_POLICY | KVMIG_SESSION_DELETE_TARGET_POD | KVMIG_SESSION_STOP_EVACUATION;

    if (opts->reserved)
        return fail(EINVAL, "kvmig_session_new: reserved", NULL, "Initialise with KVMIG_SESSION_OPTS_INIT.",
                    "a reserved option is not 0");
    if (opts->flags & ~known)
        return fail(EINVAL, "kvmig_session_new: flags", NULL, "Use the values of enum kvmig_session_flags.",
                    "an unknown flag is set");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(times); i++) {
        int32_t rc = check_time(times[i].name, times[i].ms);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* What they say is read with the session's own lock held. */
static int32_t check_node_hosts(struct kvmig_cluster *cluster, struct kvmig_cluster *hosts)
{
    if (!hosts)
        return 0;
    if (kvmig__cluster_context(hosts) != kvmig__cluster_context(cluster))
        return fail(EINVAL, "kvmig_session_new: node_hosts", NULL, "Open both views in one context.",
                    "the view of the nodes' hosts belongs to another context");
    if (kvmig__cluster_kube_backend(hosts) || !kvmig__cluster_kube_backend(cluster))
        return fail(
            EINVAL, "kvmig_session_new: node_hosts", NULL,
            "Give a view of libvirt hosts to a session on a Kubernetes cluster; one on libvirt hosts asks them anyway.",
            "the views are not one of a Kubernetes cluster and one of libvirt hosts");
    return 0;
}

int32_t kvmig__session_check_opts(const struct kvmig_session_opts *opts, struct kvmig_cluster *cluster)
{
    int32_t rc = check_opts(opts);

    return rc ? rc : check_node_hosts(cluster, opts->node_hosts);
}

static int64_t or_default(uint64_t ms, uint64_t fallback)
{
    return (int64_t)(ms ? ms : fallback);
}

static void take_wishes(struct kvmig_session *session, const struct kvmig_session_opts *opts)
{
    session->wishes.attach = kvmig__strdup(opts->attach);
    session->wishes.flags = opts->flags;
    session->wishes.pending_ms = or_default(opts->pending_timeout_ms, DEFAULT_WAIT_MS);
    session->wishes.prepare_ms = or_default(opts->prepare_timeout_ms, DEFAULT_WAIT_MS);
    session->node_hosts = opts->node_hosts;
    if (session->node_hosts)
        kvmig__cluster_hold(session->node_hosts);
}

static void take_times(struct kvmig_session *session, const struct kvmig_session_opts *opts)
{
    session->queue_ms = or_default(opts->queue_timeout_ms, HOUR);
    session->followers.service_ms = or_default(opts->service_timeout_ms, 10 * SECOND);
    session->limits = (struct kvmig__driver_limits){
        .step_ms = or_default(opts->step_timeout_ms, 60 * SECOND),
        .migrate_ms = or_default(opts->migrate_timeout_ms, 6 * HOUR),
        .resolve_ms = or_default(opts->resolve_timeout_ms, 120 * SECOND),
        .abort_ms = or_default(opts->abort_timeout_ms, 30 * SECOND),
        .poll_ms = opts->poll_ms ? opts->poll_ms : DEFAULT_POLL_MS,
    };
}

/* What is to be migrated: a plan, or a request to plan at start. */
static int32_t check_plan(const struct kvmig_plan *plan, const struct kvmig_session_opts *opts,
                          struct kvmig__request *request)
{
    struct kvmig_error *error;

    if (plan && opts->attach)
        return fail(EINVAL, "kvmig_session_new: attach", opts->attach,
                    "Leave out the plan: set plan_opts with the VM's name instead.",
                    "a migration that runs already cannot be planned");
    if (!plan && !opts->plan_opts)
        return fail(EINVAL, "kvmig_session_new: plan", NULL, "Pass a plan, or set plan_opts.",
                    "neither a plan nor options for one are given");
    if (!plan)
        return kvmig__request_from_opts(request, opts->plan_opts, "kvmig_session_new: plan_opts");
    error = kvmig__session_plan_error(plan, "kvmig_session_new: plan");
    return error ? kvmig__fail(error) : 0;
}

int32_t kvmig_session_new(struct kvmig_cluster *cluster, const struct kvmig_plan *plan,
                          const struct kvmig_session_opts *opts, struct kvmig_session **out_session)
{
    struct kvmig_context *context = cluster ? kvmig__cluster_context(cluster) : NULL;
    struct kvmig__request request = { 0 };
    struct kvmig_session_opts own;
    int32_t rc = kvmig__opts_copy(&own, sizeof(own), opts, "kvmig_session_new");

    if (out_session)
        *out_session = NULL;
    if (!cluster || !out_session)
        rc = fail(EINVAL, cluster ? "kvmig_session_new: out_session" : "kvmig_session_new: cluster", NULL, NULL,
                  "a required pointer is NULL");
    if (!rc)
        rc = kvmig__session_check_opts(&own, cluster);
    if (!rc)
        rc = check_plan(plan, &own, &request);

    if (context)
        kvmig__context_lock(context);
    if (rc) {
        kvmig__callback_discard(context, own.on_event.free, own.on_event.user_data);
    } else {
        struct kvmig_session *session = session_new(cluster, plan);

        session->request = request;
        take_times(session, &own);
        take_wishes(session, &own);
        session->sink = kvmig__sink_new(context, own.on_event);
        *out_session = session;
    }
    if (context)
        kvmig__context_unlock(context);
    return rc;
}

/* ---- calls on a session ---- */

static int32_t fail_null(const char *where)
{
    return fail(EINVAL, where, NULL, NULL, "session is NULL");
}

static int32_t fail_phase(const struct kvmig_session *session, const char *where, const char *wanted)
{
    return kvmig__fail(kvmig__error_new(KVMIG_EPHASE, where, kvmig_phase_name(session->phase), NULL,
                                        "%s is in phase %s; this is possible %s", session->id,
                                        kvmig_phase_name(session->phase), wanted));
}

bool kvmig__session_start_locked(struct kvmig_session *session)
{
    if (session->state != KVMIG__ST_UNSET)
        return false;
    kvmig__session_hold(session); /* given back when its end is cleaned up */
    kvmig__session_feed(session, KVMIG__IN_START, NULL);
    return true;
}

int32_t kvmig_session_start(struct kvmig_session *session)
{
    int32_t rc = 0;

    if (!session)
        return fail_null("kvmig_session_start");
    kvmig__context_lock(session->context);
    if (!kvmig__session_start_locked(session))
        rc = fail(EALREADY, "kvmig_session_start", session->id, "Make another session for another attempt.",
                  "the session was started before");
    kvmig__context_unlock(session->context);
    return rc;
}

int32_t kvmig_session_cancel(struct kvmig_session *session)
{
    int32_t rc = 0;

    if (!session)
        return fail_null("kvmig_session_cancel");
    kvmig__context_lock(session->context);
    if (session->state == KVMIG__ST_UNSET || kvmig__fsm_is_terminal((int32_t)session->state)) {
        rc = fail_phase(session, "kvmig_session_cancel", "from its start until its end");
    } else {
        if (!session->cancel_pending)
            session->report->cancel_asked_ms = kvmig__now_ms();
        session->cancel_pending = true;
        kvmig__session_feed(session, KVMIG__IN_CANCEL, NULL);
        kvmig__session_gate_look(session);
    }
    kvmig__context_unlock(session->context);
    return rc;
}

/* ---- steering a running migration ---- */

static int32_t tune(struct kvmig_session *session, const char *where, enum kvmig__tuning what, uint64_t value)
{
    if (session->state != KVMIG__ST_RUNNING)
        return fail_phase(session, where, "in Running only, and not once it is being aborted");
    session->driver->ops->tune(session->driver, what, value);
    session->learning.tuned = session->learning.tuned || what != KVMIG__TUNE_POSTCOPY;
    return 0;
}

int32_t kvmig_session_set_bandwidth(struct kvmig_session *session, uint64_t mib_per_s)
{
    int32_t rc;

    if (!session)
        return fail_null("kvmig_session_set_bandwidth");
    if (mib_per_s > INT64_MAX / MIB)
        return fail(EINVAL, "kvmig_session_set_bandwidth: mib_per_s", NULL, "MiB per second; 0 is unlimited.",
                    "the bandwidth is too large");
    kvmig__context_lock(session->context);
    rc = tune(session, "kvmig_session_set_bandwidth", KVMIG__TUNE_BANDWIDTH, mib_per_s);
    if (!rc)
        session->eta.limits.bandwidth_bytes_per_s = mib_per_s * MIB;
    kvmig__context_unlock(session->context);
    return rc;
}

int32_t kvmig_session_set_max_downtime(struct kvmig_session *session, uint64_t ms)
{
    int32_t rc;

    if (!session)
        return fail_null("kvmig_session_set_max_downtime");
    if (ms < 1 || ms > LONGEST_MS)
        return fail(EINVAL, "kvmig_session_set_max_downtime: ms", NULL, "Milliseconds, at least 1.",
                    "the pause is out of range");
    kvmig__context_lock(session->context);
    rc = tune(session, "kvmig_session_set_max_downtime", KVMIG__TUNE_MAX_DOWNTIME, ms);
    if (!rc)
        session->eta.limits.max_downtime_ms = ms;
    kvmig__context_unlock(session->context);
    return rc;
}

int32_t kvmig_session_start_postcopy(struct kvmig_session *session)
{
    int32_t rc;

    if (!session)
        return fail_null("kvmig_session_start_postcopy");
    kvmig__context_lock(session->context);
    if (session->state == KVMIG__ST_RUNNING && !(session->plan->request.flags & KVMIG_PLAN_ALLOW_POSTCOPY))
        rc = fail(
            EPERM, "kvmig_session_start_postcopy", session->id,
            "Set KVMIG_PLAN_ALLOW_POSTCOPY when planning, if losing the link between the hosts may lose the guest.",
            "the plan does not consent to post-copy");
    else
        rc = tune(session, "kvmig_session_start_postcopy", KVMIG__TUNE_POSTCOPY, 0);
    kvmig__context_unlock(session->context);
    return rc;
}

/* ---- what is known of it ---- */

int32_t kvmig_session_phase(struct kvmig_session *session)
{
    int32_t phase;

    if (!session)
        return KVMIG_PHASE_UNSET;
    kvmig__context_lock(session->context);
    phase = session->phase;
    kvmig__context_unlock(session->context);
    return phase;
}

int32_t kvmig_session_mode(struct kvmig_session *session)
{
    int32_t mode;

    if (!session)
        return KVMIG_MODE_PRE_COPY;
    kvmig__context_lock(session->context);
    mode = session->mode;
    kvmig__context_unlock(session->context);
    return mode;
}

const char *kvmig_session_id(struct kvmig_session *session)
{
    return session ? session->id : NULL;
}

/* What the driver has to say, now or when it was let go. */
static void add_driver(struct kvmig_session *session, struct json_object *root)
{
    if (session->driver && session->driver->ops->report)
        session->driver->ops->report(session->driver, root);
    if (!session->driver && session->driver_report) {
        json_object_object_foreach(session->driver_report, key, value)
            json_object_object_add(root, key, json_object_get(value));
    }
}

int32_t kvmig_session_report(struct kvmig_session *session, char **out_json)
{
    struct json_object *root;

    if (out_json)
        *out_json = NULL;
    if (!session)
        return fail_null("kvmig_session_report");
    if (!out_json)
        return fail(EINVAL, "kvmig_session_report: out_json", NULL, NULL, "a required pointer is NULL");
    kvmig__context_lock(session->context);
    root = kvmig__report_json(session->report, session->plan, session->id, session->phase, kvmig__now_ms());
    kvmig__followers_add_json(session, root);
    add_driver(session, root);
    *out_json = kvmig__json_take_string(root);
    kvmig__context_unlock(session->context);
    return 0;
}
