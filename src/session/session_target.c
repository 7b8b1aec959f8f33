/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The target of a session on a platform that chooses it by itself: it becomes known while the session is in Pending, and may change
 * there. The plan in force says where to; ports follow. Also the other things that such a driver tells: checkpoints and waits. In
 * dispatch, with the context lock held.
 */
#include "session/session_internal.h"

#include "base/json_internal.h"

const char *kvmig__session_target_name(const struct kvmig_session *session)
{
    return session->plan->target ? session->plan->target : "the target";
}

bool kvmig__session_may_prepare(const struct kvmig_session *session)
{
    return session->state >= KVMIG__ST_ADMITTING && session->state <= KVMIG__ST_READY;
}

static void replace_plan(struct kvmig_session *session, const char *target)
{
    struct kvmig_plan *plan = kvmig__plan_retarget(session->plan, target);

    if (session->first_plan)
        kvmig_plan_unref(session->plan);
    else
        session->first_plan = session->plan;
    session->plan = plan;
}

void kvmig__session_target(struct kvmig_session *session, const char *node)
{
    const bool had_ports_prepared = session->target_told;
    bool changed;

    if (!node || kvmig__fsm_is_terminal((int32_t)session->state))
        return;
    changed = !kvmig__str_eq(session->plan->target, node);
    if (changed)
        replace_plan(session, node);
    /* Wherever it is found to go once a cancel or a failure is under way: ports must follow it there, but are not prepared for it. */
    if ((!changed && had_ports_prepared) || !kvmig__session_may_prepare(session))
        return;
    session->target_told = true;
    if (changed && had_ports_prepared)
        kvmig__session_ports_retarget(session);
    else
        kvmig__session_ports_prepare(session);
}

void kvmig__session_checkpoint(struct kvmig_session *session, struct json_object *token)
{
    struct kvmig_event *event = kvmig__event_new(KVMIG_EVENT_CHECKPOINT);

    json_object_put(session->token);
    session->token = token;
    kvmig__event_set_token(event, json_object_to_json_string_ext(token, JSON_C_TO_STRING_PLAIN));
    kvmig__session_emit(session, event);
}

void kvmig__session_waits(struct kvmig_session *session, const struct kvmig_finding *finding)
{
    struct kvmig_event *event = kvmig__event_new(KVMIG_EVENT_WAIT);

    kvmig__event_set_finding(event, finding);
    kvmig__session_emit(session, event);
}

bool kvmig__session_is_cancelling(const struct kvmig_session *session)
{
    return session->state == KVMIG__ST_STOPPING_CANCEL || session->state == KVMIG__ST_ABORTING_CANCEL ||
           session->state == KVMIG__ST_LOCATING_CANCEL || session->state == KVMIG__ST_UNDOING_CANCEL;
}

const struct kvmig__session_wishes *kvmig__session_wishes(const struct kvmig_session *session)
{
    return &session->wishes;
}

const char *kvmig__session_id(const struct kvmig_session *session)
{
    return session->id;
}
