/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The diagnosis of a session: what it knows beside the view (its error, its last proof of where the guest is, its phase) is handed to
 * the pure diagnosis (src/diagnose) as one more witness. Takes the context lock; no I/O; any thread.
 */
#include "diagnose/diagnose.h"
#include "session/session_internal.h"

#include <errno.h>
#include <stdlib.h>

/* What went wrong, in the words of whoever said it. */
static void tell_error(struct kvmig__ask *ask, const struct kvmig_error *error)
{
    if (!error)
        return;
    kvmig__strlist_add_new(&ask->texts, error->message);
    if (error->evidence)
        kvmig__strlist_add_new(&ask->texts, error->evidence);
}

/* The resolver's other verdicts say that somebody has to look again, or to decide. */
static bool is_outcome(const char *verdict)
{
    static const char *const open[] = { "RUNNING", "NO_FINDING", "TARGET_PAUSED" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(open); i++)
        if (kvmig__str_eq(verdict, open[i]))
            return false;
    return true;
}

static void tell_end(struct kvmig__ask *ask, const struct kvmig_session *session)
{
    const char *proven = session->report->final_verdict;

    switch (session->state) {
    case KVMIG__ST_SUCCEEDED:
        ask->told = "SUCCEEDED";
        ask->told_strength = KVMIG__KNOWN_PROVEN;
        break;
    case KVMIG__ST_CANCELLED:
        ask->told = "CANCELLED";
        ask->told_strength = KVMIG__KNOWN_ENDED;
        break;
    case KVMIG__ST_FAILED:
        ask->told = "FAILED";
        ask->told_strength = KVMIG__KNOWN_TOLD;
        break;
    default:
        ask->told = proven && is_outcome(proven) ? proven : "UNDECIDED";
        ask->told_strength = KVMIG__KNOWN_PROVEN;
        break;
    }
}

static void tell(struct kvmig__ask *ask, const struct kvmig_session *session)
{
    const struct kvmig__request *request = session->plan ? &session->plan->request : &session->request;

    kvmig__request_copy(&ask->plan, request);
    if (session->plan) {
        kvmig__str_set(&ask->plan.vm, session->plan->vm);
        kvmig__str_set(&ask->plan.source, session->plan->source);
        kvmig__str_set(&ask->plan.target, session->plan->target);
    }
    tell_error(ask, session->call_error);
    tell_error(ask, session->report->error);
    if (kvmig__fsm_is_terminal((int32_t)session->state)) {
        tell_end(ask, session);
    } else {
        ask->told = session->phase >= KVMIG_PHASE_RUNNING ? "RUNNING" : "WAITING";
        ask->told_strength = session->phase >= KVMIG_PHASE_RUNNING ? KVMIG__KNOWN_RUNNING : KVMIG__KNOWN_WAITING;
    }
}

/* A view that is not whole would make what it lacks look absent. After the end only the session's own knowledge counts: the view is
 * let go of at some moment then, and goes on to change. */
static const struct kvmig__view *view_of(const struct kvmig_session *session)
{
    static const struct kvmig__view nothing = { .kube = NULL };

    if (!session->cluster || kvmig__fsm_is_terminal((int32_t)session->state) ||
        !kvmig__cluster_synced(session->cluster))
        return &nothing;
    return kvmig__cluster_view(session->cluster);
}

int32_t kvmig_session_diagnose(struct kvmig_session *session, struct kvmig_diagnosis **out_diagnosis)
{
    struct kvmig__ask ask = { .intent = KVMIG_INTENT_LOOK };
    int32_t rc;

    if (out_diagnosis)
        *out_diagnosis = NULL;
    if (!session || !out_diagnosis)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_session_diagnose", NULL, NULL, "%s is NULL",
                                            session ? "out_diagnosis" : "session"));
    kvmig__context_lock(session->context);
    tell(&ask, session);
    rc = kvmig__diagnose(view_of(session), &ask, out_diagnosis);
    kvmig__context_unlock(session->context);
    kvmig__ask_clear(&ask);
    return rc;
}
