/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pending: the plan of a session and its slot. Makes the plan if the caller gave none, waits for a slot, then makes the plan
 * again from fresh facts of both hosts, with source and target as they were: what was true when the plan was made may not
 * be true any more. Touches no host; the cluster view reads them. The driver is made last: a session that has one may
 * touch hosts. In dispatch or kvmig_session_start(), with the context lock held; the session owns plan, slot and driver.
 */
#include "session/session_internal.h"

#include "kubernetes/backend.h"

#include <errno.h>
#include <stdlib.h>

#define RETRY_MS 50 /* how soon to plan again while the view is being read */

/* ---- judging plans ---- */

static const struct kvmig_finding *first_blocker(const struct kvmig_plan *plan)
{
    for (size_t i = 0; i < plan->findings.n; i++)
        if (plan->findings.v[i].severity == KVMIG_SEVERITY_BLOCKER)
            return &plan->findings.v[i];
    return NULL;
}

/* The reasons may be with the candidates: each of them is blocked. */
static const struct kvmig_finding *first_blocker_of_candidates(const struct kvmig_plan *plan)
{
    const struct kvmig__candidates *candidates = kvmig__plan_candidates(plan);

    for (size_t i = 0; i < candidates->n; i++)
        for (size_t k = 0; k < candidates->v[i].findings.n; k++)
            if (candidates->v[i].findings.v[k].severity == KVMIG_SEVERITY_BLOCKER)
                return &candidates->v[i].findings.v[k];
    return NULL;
}

struct kvmig_error *kvmig__session_plan_error(const struct kvmig_plan *plan, const char *where)
{
    const struct kvmig_finding *blocker = first_blocker(plan);

    if (plan->verdict != KVMIG_VERDICT_BLOCKED && (plan->target || plan->kube))
        return NULL;
    if (!blocker)
        blocker = first_blocker_of_candidates(plan);
    if (!blocker)
        return kvmig__error_new(KVMIG_EBLOCKED, where, NULL, "Add a host that can take the VM to the cluster view.",
                                "VM %s cannot be migrated: no host can take it", plan->vm);
    return kvmig__error_new(KVMIG_EBLOCKED, where, blocker->detail, blocker->hint,
                            "VM %s cannot be migrated: %s (%s%s%s)", plan->vm, blocker->message, blocker->code,
                            blocker->host ? ", " : "", blocker->host ? blocker->host : "");
}

static bool is_told(const struct kvmig_plan *before, const struct kvmig_finding *finding)
{
    for (size_t i = 0; before && i < before->findings.n; i++)
        if (kvmig__str_eq(before->findings.v[i].code, finding->code) &&
            kvmig__str_eq(before->findings.v[i].object, finding->object))
            return true;
    return false;
}

/* Risks and blockers that the caller cannot know of from the plan that was there before. */
static void tell_findings(struct kvmig_session *session, const struct kvmig_plan *plan, const struct kvmig_plan *before)
{
    for (size_t i = 0; i < plan->findings.n; i++)
        if (plan->findings.v[i].severity >= KVMIG_SEVERITY_WARN && !is_told(before, &plan->findings.v[i]))
            kvmig__session_notice(session, &plan->findings.v[i]);
}

/* ---- making plans ---- */

static struct kvmig_error *take_plan(struct kvmig_session *session, struct kvmig_plan *plan)
{
    struct kvmig_error *error = kvmig__session_plan_error(plan, plan->vm);

    tell_findings(session, plan, session->plan);
    if (error) {
        kvmig_plan_unref(plan);
        return error;
    }
    kvmig_plan_unref(session->plan);
    session->plan = plan;
    return NULL;
}

/* A session that was taken up again knows from its token what it is about: whatever has become of it meanwhile is for its driver
 * to find out. */
static int32_t plan_of_its_kind(struct kvmig_session *session, const struct kvmig__request *request,
                                struct kvmig_plan **out_plan)
{
    if (session->wishes.token) {
        const int32_t rc = kvmig__cluster_check_synced(session->cluster, "kvmig_session_resume");

        *out_plan = rc < 0 ? NULL : kvmig__session_plan_from_token(session);
        return rc;
    }
    if (session->wishes.attach)
        return kvmig__cluster_attach_locked(session->cluster, request->vm, session->wishes.attach, out_plan);
    return kvmig__cluster_plan_locked(session->cluster, request, out_plan);
}

/* Plans. A view that is not read yet is waited for: then *out_again is set. */
static struct kvmig_error *make_plan(struct kvmig_session *session, const struct kvmig__request *request,
                                     bool *out_again)
{
    struct kvmig_plan *plan = NULL;
    const int32_t rc = plan_of_its_kind(session, request, &plan);

    *out_again = rc == -KVMIG_ENOTSYNCED && kvmig__now_ms() < session->sync_by_ms;
    if (*out_again) {
        kvmig__timer_arm_in(&session->retry, RETRY_MS);
        return NULL;
    }
    return rc < 0 ? kvmig__error_copy(kvmig_error_last()) : take_plan(session, plan);
}

/* ---- the slot ---- */

static const struct kvmig_session *rival_of(const struct kvmig_session *session)
{
    const struct kvmig__slot *slot = kvmig__cluster_limits(session->cluster)->head;

    for (; slot; slot = slot->next) {
        const struct kvmig_session *other = slot->owner;

        if (other != session && other->plan && session->plan->uuid &&
            kvmig__str_eq(other->plan->uuid, session->plan->uuid))
            return other;
    }
    return NULL;
}

static struct kvmig_error *rival_error(const struct kvmig_session *session, const struct kvmig_session *rival)
{
    return kvmig__error_new(KVMIG_EBLOCKED, session->plan->vm, rival->id,
                            "Wait for its end, or cancel it; one VM has one migration at a time.",
                            "VM %s is being migrated by %s, which is in phase %s", session->plan->vm, rival->id,
                            kvmig_phase_name(rival->phase));
}

static void enter_queue(struct kvmig_session *session)
{
    const struct kvmig_session *rival = rival_of(session);

    if (rival) {
        kvmig__session_feed(session, KVMIG__IN_STEP_FAIL, rival_error(session, rival));
        return;
    }
    kvmig__limits_enter(kvmig__cluster_limits(session->cluster), &session->slot, session->plan->source,
                        session->plan->target, session);
    kvmig__cluster_settle_slots(session->cluster);
}

static void plan_first(struct kvmig_session *session)
{
    bool again;
    struct kvmig_error *error = make_plan(session, &session->request, &again);

    if (again)
        return;
    if (error)
        kvmig__session_feed(session, KVMIG__IN_STEP_FAIL, error);
    else
        enter_queue(session);
}

void kvmig__session_ask_slot(struct kvmig_session *session)
{
    session->sync_by_ms = kvmig__now_ms() + session->limits.step_ms;
    if (session->plan)
        enter_queue(session);
    else
        plan_first(session);
}

/* ---- what a waiting session tells ---- */

struct limit {
    const char *object;
    const char *host; /* NULL = in total */
    uint32_t running, max; /* running: those of this view */
};

static void add_limit(struct kvmig_findings *list, const struct limit *limit)
{
    struct kvmig__detail detail = { NULL, 0 };
    char *json;

    kvmig__detail_uint(&detail, "active", limit->running);
    kvmig__detail_uint(&detail, "limit", limit->max);
    json = kvmig__detail_take(&detail);
    kvmig__findings_add(list, "LIMIT_REACHED", KVMIG_SEVERITY_INFO, limit->object, limit->host, json,
                        "It starts by itself when a migration ends. The limits are options of the cluster view.",
                        "%u of %u migrations%s%s run already", (unsigned)limit->running, (unsigned)limit->max,
                        limit->host ? " of " : "", limit->host ? limit->host : "");
    free(json);
}

static void add_foreign_limit(struct kvmig_findings *list)
{
    kvmig__findings_add(list, "LIMIT_REACHED", KVMIG_SEVERITY_INFO, "cluster", NULL, NULL,
                        "It starts by itself when one of them ends. The limits are options of the cluster view.",
                        "migrations that others have started on these hosts count, too, and fill a limit");
}

/* The first limit that migrations of this view fill by themselves; NULL if others help to fill it. */
static const struct limit *reached_limit(const struct limit *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].running >= all[i].max)
            return &all[i];
    return NULL;
}

static void add_reason_to_wait(const struct kvmig_session *session, struct kvmig_findings *list)
{
    const struct kvmig__limits *limits = kvmig__cluster_limits(session->cluster);
    const char *from = session->slot.source, *to = session->slot.target;
    char *source = kvmig__asprintf("node/%s", from), *target = kvmig__asprintf("node/%s", to);
    const struct limit all[] = {
        { "cluster", NULL, kvmig__limits_running(limits, NULL, true), limits->max_migrations },
        { source, from, kvmig__limits_running(limits, from, true), limits->max_outbound },
        { target, to, kvmig__limits_running(limits, to, false), limits->max_inbound },
    };
    const struct limit *reached = reached_limit(all, KVMIG__N_ELEMENTS(all));

    if (reached)
        add_limit(list, reached);
    else
        add_foreign_limit(list);
    free(source);
    free(target);
}

static void tell_place(struct kvmig_session *session)
{
    struct kvmig_event *event = kvmig__event_new(KVMIG_EVENT_QUEUED);
    struct kvmig_findings list = { NULL, 0 };

    add_reason_to_wait(session, &list);
    kvmig__event_set_queue_position(event, session->slot.position);
    kvmig__event_set_finding(event, &list.v[0]);
    kvmig__session_emit(session, event);
    kvmig__findings_clear(&list);
}

void kvmig__session_slot_changed(struct kvmig__slot *slot)
{
    struct kvmig_session *session = slot->owner;

    if (session->state != KVMIG__ST_QUEUED)
        return;
    if (slot->granted)
        kvmig__session_feed(session, KVMIG__IN_SLOT, NULL);
    else
        tell_place(session);
}

/* ---- the second look ---- */

static struct kvmig_error *plan_again(struct kvmig_session *session, bool *out_again)
{
    struct kvmig__request request = { 0 };
    struct kvmig_error *error;

    kvmig__request_copy(&request, &session->plan->request);
    kvmig__str_set(&request.vm, session->plan->uuid ? session->plan->uuid : session->plan->vm);
    kvmig__str_set(&request.source, session->plan->source);
    if (!(request.flags & KVMIG_PLAN_ANY_TARGET))
        kvmig__str_set(&request.target, session->plan->target);
    error = make_plan(session, &request, out_again);
    kvmig__request_clear(&request);
    return error;
}

static struct kvmig_error *no_host(const char *name)
{
    return kvmig__error_new(KVMIG_ENOHOST, name, NULL, "Make the plan again.",
                            "host %s is not in the cluster view any more", name);
}

static struct kvmig_error *no_reach(const struct kvmig_session *session)
{
    return kvmig__error_new(ENOTSUP, session->plan->vm, NULL,
                            session->plan->kube ? "Open the view with a kubeconfig."
                                                : "Open the view with the hosts' libvirt URIs.",
                            "a view of files can plan and explain, but not migrate");
}

/* KubeVirt's migrations are made with the cluster, not with a node: the source may have left it, the target be unknown. */
static struct kvmig_error *make_kube_driver(struct kvmig_session *session)
{
    struct kvmig__kube_backend *backend = kvmig__cluster_kube_backend(session->cluster);
    const struct kvmig_error *lost;

    if (!backend || !kvmig__kube_backend_client(backend))
        return no_reach(session);
    lost = kvmig__kube_backend_lost(backend, KVMIG__KUBE_VMI);
    if (lost) /* what the plan was made from may not be true any more */
        return kvmig__error_copy(lost);
    session->driver = kvmig__kube_driver_new(backend, session, &session->limits);
    return NULL;
}

static struct kvmig_error *make_driver(struct kvmig_session *session)
{
    const struct kvmig_plan *plan = session->plan;
    struct kvmig__cluster_host *source, *target;

    if (plan->kube)
        return make_kube_driver(session);
    source = kvmig__cluster_find_host(session->cluster, plan->source);
    target = kvmig__cluster_find_host(session->cluster, plan->target);
    if (!source || !target)
        return no_host(source ? plan->target : plan->source);
    if (!source->backend->ops->driver_new)
        return no_reach(session);
    session->driver = source->backend->ops->driver_new(source->backend, target->backend, session, &session->limits);
    return NULL;
}

static void check_plan(struct kvmig_session *session)
{
    bool again;
    struct kvmig_error *error = plan_again(session, &again);

    if (again)
        return;
    if (!error)
        error = make_driver(session);
    kvmig__session_feed(session, error ? KVMIG__IN_STEP_FAIL : KVMIG__IN_STEP_OK, error);
}

static void on_fresh_facts(void *owner)
{
    struct kvmig_session *session = owner;

    if (--session->hosts_to_check == 0)
        check_plan(session);
}

void kvmig__session_check(struct kvmig_session *session)
{
    const char *names[] = { session->plan->source, session->plan->target };
    struct kvmig__cluster_host *hosts[2];

    session->sync_by_ms = kvmig__now_ms() + session->limits.step_ms;
    if (session->plan->kube) { /* watched all the time: there is nothing fresher to be had */
        kvmig__timer_arm_in(&session->retry, 0);
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        hosts[i] = kvmig__cluster_find_host(session->cluster, names[i]);
        if (!hosts[i]) {
            kvmig__session_feed(session, KVMIG__IN_STEP_FAIL, no_host(names[i]));
            return;
        }
    }
    session->hosts_to_check = 2;
    for (size_t i = 0; i < 2; i++)
        kvmig__cluster_refresh_host(hosts[i], on_fresh_facts, session);
}

void kvmig__session_on_retry(void *data)
{
    struct kvmig_session *session = data;

    if (session->state == KVMIG__ST_QUEUED)
        plan_first(session);
    else if (session->state == KVMIG__ST_CHECKING)
        check_plan(session);
}

void kvmig__session_stop_planning(struct kvmig_session *session)
{
    kvmig__timer_disarm(&session->retry);
    kvmig__cluster_refresh_forget(session->cluster, session);
}
