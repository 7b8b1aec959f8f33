/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a session tells its caller: events, and with them the lists of the report. Decides nothing. With the context lock
 * held; an event is owned by the sink once it was emitted.
 */
#include "session/session_internal.h"

#include <stdlib.h>

void kvmig__session_emit(struct kvmig_session *session, struct kvmig_event *event)
{
    const char *vm = session->plan ? session->plan->vm : NULL;

    kvmig__event_set_session(event, session->id, vm, session->phase, session->previous_phase, session->mode);
    if (session->sink)
        kvmig__sink_emit(session->sink, event);
    else
        kvmig_event_unref(event);
}

void kvmig__session_say_phase(struct kvmig_session *session, int32_t phase, int64_t now_ms)
{
    session->previous_phase = session->phase;
    session->phase = phase;
    kvmig__report_phase_enter(session->report, phase, now_ms);
    kvmig__log(session->context, KVMIG_LOG_INFO, "session", "%s: %s", session->id, kvmig_phase_name(phase));
    kvmig__session_emit(session, kvmig__event_new(KVMIG_EVENT_PHASE));
}

void kvmig__session_say_cancel(struct kvmig_session *session, int32_t result)
{
    struct kvmig_event *event;

    if (!session->cancel_pending)
        return;
    session->cancel_pending = false;
    session->report->cancel_result = result;
    session->report->cancel_settled_ms = kvmig__now_ms();
    event = kvmig__event_new(KVMIG_EVENT_CANCEL);
    kvmig__event_set_cancel_result(event, result);
    kvmig__session_emit(session, event);
}

void kvmig__session_notice(struct kvmig_session *session, const struct kvmig_finding *finding)
{
    struct kvmig_finding copy = { 0 };
    struct kvmig_event *event;

    if (kvmig__fsm_is_terminal((int32_t)session->state))
        return;
    kvmig__finding_copy(&copy, finding);
    *KVMIG__PUSH(&session->report->notices) = copy;
    event = kvmig__event_new(KVMIG_EVENT_NOTICE);
    kvmig__event_set_host(event, finding->host);
    kvmig__event_set_finding(event, finding);
    kvmig__session_emit(session, event);
}

void kvmig__session_say_finding(struct kvmig_session *session, const char *code, int32_t severity, const char *host,
                                const char *evidence, const char *hint, const char *fmt, ...)
{
    struct kvmig_findings list = { NULL, 0 };
    struct kvmig__detail detail = { NULL, 0 };
    char *object = kvmig__asprintf("vm/%s", session->plan->vm), *message, *json = NULL;
    va_list args;

    va_start(args, fmt);
    message = kvmig__vasprintf(fmt, args);
    va_end(args);
    if (evidence) {
        kvmig__detail_str(&detail, "evidence", evidence);
        json = kvmig__detail_take(&detail);
    }
    kvmig__findings_add(&list, code, severity, object, host, json, hint, "%s", message);
    kvmig__session_notice(session, &list.v[0]);
    kvmig__findings_clear(&list);
    free(json);
    free(message);
    free(object);
}
