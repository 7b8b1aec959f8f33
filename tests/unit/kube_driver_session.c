/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See kube_driver_test.h: the session of the test, which notes what its driver tells it. */
#include "kube_driver_world.h"

static void take_answer(enum kvmig__step step, struct kvmig_error *error)
{
    kvmig__error_free(session.error);
    session.error = error;
    session.step = (int32_t)step;
    session.answers++;
}

void kvmig__session_step_done(struct kvmig_session *s, enum kvmig__step step, struct kvmig_error *error)
{
    (void)s;
    take_answer(step, error);
}

void kvmig__session_call_done(struct kvmig_session *s, struct kvmig_error *error, bool hung)
{
    s->hung = hung;
    take_answer(KVMIG__STEP_MIGRATE, error);
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
    take_answer(KVMIG__STEP_LOCATE, NULL);
}

void kvmig__session_final_side(struct kvmig_session *s, const struct kvmig__side *source,
                               const struct kvmig__side *target)
{
    s->final_source = source->reachable ? source->state : -1;
    s->final_target = target->reachable ? target->state : -1;
}

void kvmig__session_mode_changed(struct kvmig_session *s, int32_t mode)
{
    s->mode = mode;
}

static void copy_finding(struct kvmig_findings *to, const struct kvmig_finding *finding)
{
    kvmig__findings_add(to, finding->code, finding->severity, finding->object, NULL, NULL, NULL, "%s",
                        finding->message);
}

void kvmig__session_notice(struct kvmig_session *s, const struct kvmig_finding *finding)
{
    copy_finding(&s->notices, finding);
}

void kvmig__session_waits(struct kvmig_session *s, const struct kvmig_finding *finding)
{
    copy_finding(&s->waits, finding);
}

void kvmig__session_target(struct kvmig_session *s, const char *node)
{
    const size_t used = strlen(s->targets);

    snprintf(s->targets + used, sizeof(s->targets) - used, "%s,", node ? node : "-");
}

void kvmig__session_checkpoint(struct kvmig_session *s, struct json_object *token)
{
    free(s->token);
    s->token = kvmig__json_take_string(token);
    if (!s->first_token)
        s->first_token = kvmig__strdup(s->token);
    s->checkpoints++;
}

bool kvmig__session_is_cancelling(const struct kvmig_session *s)
{
    return s->cancelling;
}

const struct kvmig__session_wishes *kvmig__session_wishes(const struct kvmig_session *s)
{
    return &s->wishes;
}

const char *kvmig__session_id(const struct kvmig_session *s)
{
    (void)s;
    return "session-1";
}

struct kvmig__report *kvmig__session_get_report(struct kvmig_session *s)
{
    return s->report;
}

const struct kvmig_plan *kvmig__session_plan(struct kvmig_session *s)
{
    return &s->plan;
}

struct kvmig_plan *kvmig_plan_ref(const struct kvmig_plan *plan)
{
    return (struct kvmig_plan *)plan;
}

void kvmig_plan_unref(struct kvmig_plan *plan)
{
    (void)plan;
}
