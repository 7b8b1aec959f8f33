/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The errors with which a session ends when it is not proven where the guest is, or when the hosts contradict the migrate call:
 * what is known, what each host said, and what to check. Only words; decides nothing. With the context lock held.
 */
#include "session/session_internal.h"

#include <stdlib.h>

char *kvmig__error_text(const struct kvmig_error *error)
{
    if (!error)
        return NULL;
    return error->evidence ? kvmig__asprintf("%s: %s", error->message, error->evidence) : kvmig__strdup(error->message);
}

static char *where_of(const struct kvmig_session *session)
{
    return kvmig__asprintf("vm/%s, %s, %s", session->plan->vm, session->plan->source,
                           kvmig__session_target_name(session));
}

static char *side_text(const char *host, const struct kvmig__side *side)
{
    if (!side->reachable)
        return kvmig__asprintf("%s cannot be asked (%s)", host, side->error ? side->error : "no answer");
    return kvmig__asprintf("%s says: %s, reason %s%s", host, kvmig__domain_state_name(side->state),
                           kvmig__domain_reason_name(side->reason), side->job_active ? ", a job is active" : "");
}

/* What brought the session to this point: its cause, or what the migrate call said. */
static char *cause_text(const struct kvmig_session *session)
{
    return kvmig__error_text(session->report->error ? session->report->error : session->call_error);
}

static char *sides_text(const struct kvmig_session *session, const struct kvmig__side *source,
                        const struct kvmig__side *target)
{
    char *source_text = side_text(session->plan->source, source),
         *target_text = side_text(kvmig__session_target_name(session), target);
    char *cause = cause_text(session);
    char *text =
        kvmig__asprintf("%s; %s%s%s", source_text, target_text, cause ? "; before that: " : "", cause ? cause : "");

    free(source_text);
    free(target_text);
    free(cause);
    return text;
}

static const char *claim_of(int32_t code)
{
    switch (code) {
    case KVMIG_ELOST:
        return "the guest runs neither on the source nor on the target";
    case KVMIG_ESPLIT:
        return "the guest runs on the source and on the target";
    default:
        return "it is not proven where the guest runs";
    }
}

struct kvmig_error *kvmig__session_unknown_error(const struct kvmig_session *session,
                                                 const struct kvmig__outcome *outcome, const struct kvmig__side *source,
                                                 const struct kvmig__side *target)
{
    char *where = where_of(session), *evidence = sides_text(session, source, target);
    struct kvmig_error *error = kvmig__error_new(
        outcome->error_code, where, evidence, outcome->hint, "VM %s, from %s to %s: %s: %s", session->plan->vm,
        session->plan->source, kvmig__session_target_name(session), claim_of(outcome->error_code), outcome->proof);

    free(where);
    free(evidence);
    return error;
}

static struct kvmig_error *wrap(const struct kvmig_session *session, int32_t code, const struct kvmig_error *why,
                                const char *what, const char *hint)
{
    char *where = where_of(session), *evidence = kvmig__error_text(why);
    struct kvmig_error *error =
        kvmig__error_new(code, where, evidence, hint, "VM %s, from %s to %s: %s", session->plan->vm,
                         session->plan->source, kvmig__session_target_name(session), what);

    free(where);
    free(evidence);
    return error;
}

struct kvmig_error *kvmig__session_unanswered_error(const struct kvmig_session *session, const struct kvmig_error *why)
{
    return wrap(
        session, KVMIG_EUNKNOWN, why, "it is not proven where the guest runs: nobody answered in time",
        "Start and destroy nothing. Ask again with kvmig_cluster_locate() once both hosts answer; it tells what is "
        "safe then.");
}

struct kvmig_error *kvmig__session_not_running_error(const struct kvmig_session *session, const struct kvmig_error *why)
{
    return wrap(
        session, KVMIG_EUNKNOWN, why, "the guest is on the target, but it is not proven that it runs there",
        "Never resume it on the source. Mend the cause, then ask with kvmig_cluster_locate(), which allows to resume "
        "it on the target once the source is proven to hold no copy.");
}

struct kvmig_error *kvmig__session_not_held_error(const struct kvmig_session *session, const struct kvmig_error *why)
{
    char *what = kvmig__error_text(why), *cause = cause_text(session), *where = where_of(session);
    char *evidence = kvmig__asprintf("%s%s%s", what ? what : "the source does not hold it any more",
                                     cause ? "; before that: " : "", cause ? cause : "");
    struct kvmig_error *error = kvmig__error_new(
        KVMIG_EUNKNOWN, where, evidence,
        "Start and destroy nothing. Ask with kvmig_cluster_locate(); it tells what is safe. The report names what this "
        "session created and could not undo.",
        "VM %s, from %s to %s: the guest was on the source when the roll-back began, but it is not proven that it runs "
        "there now",
        session->plan->vm, session->plan->source, kvmig__session_target_name(session));

    free(where);
    free(cause);
    free(evidence);
    free(what);
    return error;
}

struct kvmig_error *kvmig__session_stayed_error(const struct kvmig_session *session)
{
    return wrap(session, KVMIG_EMIGRATE, NULL, "the migrate call reported success, but the guest is on the source",
                "Read the libvirt logs of both hosts.");
}
