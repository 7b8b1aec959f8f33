/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ports of a session: what is wished of them and when, what their answers mean for the migration, and how they end. The
 * port goes where the guest is proven to be, never where a phase says. Does not wait (session_gate.c). In dispatch or a public
 * call, with the context lock held; a session holds its ports from add to its end.
 */
#include "session/session_internal.h"

#include <errno.h>
#include <stdlib.h>

/* ---- wishes ---- */

static void wish(struct kvmig__session_port *entry, enum kvmig__port_wish what, const char *a, const char *b)
{
    kvmig__error_free(entry->error);
    entry->error = NULL;
    entry->wish = what;
    entry->asked = true;
    entry->again = false;
    entry->retarget = false;
    kvmig__port_wish(entry->port, what, a, b);
}

void kvmig__session_ports_prepare(struct kvmig_session *session)
{
    const struct kvmig_plan *plan = session->plan;

    if (!plan->target) /* not chosen yet: asked again as soon as it is */
        return;
    for (size_t i = 0; i < session->followers.ports.n; i++) {
        struct kvmig__session_port *entry = session->followers.ports.v[i];

        if (entry->asked)
            entry->again = true; /* it still runs, within its own deadline: should it fail, it is asked once more */
        else
            wish(entry, KVMIG__PORT_PREPARE, plan->source, plan->target);
    }
}

/* What was prepared for another target is put back first; the answer to that begins the preparation (on_answered()). */
void kvmig__session_ports_retarget(struct kvmig_session *session)
{
    for (size_t i = 0; i < session->followers.ports.n; i++) {
        struct kvmig__session_port *entry = session->followers.ports.v[i];

        wish(entry, KVMIG__PORT_ROLLBACK, session->plan->source, NULL);
        entry->retarget = true;
    }
}

/* An announcement proves that the target forwards; before the call it is not the guest's, and proves nothing. */
static bool is_proven(const struct kvmig__session_port *entry)
{
    const int32_t state = kvmig__port_get_state(entry->port);

    return entry->unprovable || state == KVMIG_PORT_VERIFIED ||
           (state == KVMIG_PORT_ACTIVATED && entry->session->call_begun);
}

void kvmig__session_ports_verify(struct kvmig_session *session, bool late)
{
    for (size_t i = 0; i < session->followers.ports.n; i++)
        if (!is_proven(session->followers.ports.v[i]))
            wish(session->followers.ports.v[i], late ? KVMIG__PORT_VERIFY_LATE : KVMIG__PORT_VERIFY, NULL, NULL);
}

void kvmig__session_ports_follow(struct kvmig_session *session, bool moved)
{
    const struct kvmig_plan *plan = session->plan;
    /* A guest that waits paused on the target announces itself when it is resumed; nothing else can run before. */
    const bool paused = session->resolution.verdict == KVMIG_LOCATION_TARGET_PAUSED;

    for (size_t i = 0; i < session->followers.ports.n; i++) {
        struct kvmig__session_port *entry = session->followers.ports.v[i];

        if (moved)
            wish(entry, paused ? KVMIG__PORT_CONVERGE_NOW : KVMIG__PORT_CONVERGE, plan->target, NULL);
        else
            wish(entry, KVMIG__PORT_ROLLBACK, plan->source, NULL);
    }
}

bool kvmig__session_ports_busy(const struct kvmig_session *session)
{
    for (size_t i = 0; i < session->followers.ports.n; i++)
        if (session->followers.ports.v[i]->asked)
            return true;
    return false;
}

const struct kvmig_error *kvmig__session_ports_error(const struct kvmig_session *session)
{
    for (size_t i = 0; i < session->followers.ports.n; i++)
        if (session->followers.ports.v[i]->error)
            return session->followers.ports.v[i]->error;
    return NULL;
}

const char *kvmig__session_ports_late(const struct kvmig_session *session)
{
    for (size_t i = 0; i < session->followers.ports.n; i++)
        if (session->followers.ports.v[i]->asked)
            return kvmig_port_name(session->followers.ports.v[i]->port);
    return NULL;
}

int64_t kvmig__session_ports_longest_ms(const struct kvmig_session *session)
{
    int64_t longest_ms = 0;

    for (size_t i = 0; i < session->followers.ports.n; i++) {
        const int64_t ms = kvmig__port_longest_ms(session->followers.ports.v[i]->port);

        longest_ms = ms > longest_ms ? ms : longest_ms;
    }
    return longest_ms;
}

/* ---- notices ---- */

static void say(struct kvmig__session_port *entry, const char *code, int32_t severity, const char *hint,
                const char *what)
{
    char *evidence = kvmig__error_text(entry->error);

    kvmig__session_say_finding(entry->session, code, severity, NULL, evidence, hint, "port %s %s",
                               kvmig_port_name(entry->port), what);
    free(evidence);
}

static void tell_end(struct kvmig__session_port *entry, bool moved)
{
    if (entry->asked || entry->error)
        say(entry, moved ? "PORT_NOT_CONVERGED" : "PORT_NOT_ROLLED_BACK", KVMIG_SEVERITY_ERROR,
            "Look at the port's timeline in the report; then clean up with kvmig_port_gc(), naming the host where the "
            "guest "
            "runs.",
            entry->asked ? "did not answer in time, and is not proven to have followed the guest"
                         : "is not proven to have followed the guest");
    else if (kvmig__port_get_state(entry->port) == KVMIG_PORT_SUPERSEDED)
        say(entry, "PORT_SUPERSEDED", KVMIG_SEVERITY_WARN, "Look who else moves this port.",
            "belongs to another owner now and was left alone");
}

void kvmig__session_ports_tell(struct kvmig_session *session, bool moved)
{
    for (size_t i = 0; i < session->followers.ports.n; i++)
        tell_end(session->followers.ports.v[i], moved);
}

static void tell_left(struct kvmig__session_port *entry)
{
    static const char hint[] =
        "Find out where the guest runs with kvmig_cluster_locate(), then call kvmig_port_gc() with that "
        "host.";

    switch (kvmig__port_get_state(entry->port)) {
    case KVMIG_PORT_IDLE:
    case KVMIG_PORT_SUPERSEDED:
        return;
    case KVMIG_PORT_CONVERGED:
    case KVMIG_PORT_ROLLED_BACK:
        say(entry, "PORT_UNCERTAIN", KVMIG_SEVERITY_ERROR, hint,
            "was left to the host where the guest had been proven to be, which is not proven any more");
        return;
    default:
        say(entry, "PORT_LEFT_PREPARED", KVMIG_SEVERITY_ERROR, hint,
            "is left as it is, because it is not proven where the guest runs");
    }
}

void kvmig__session_ports_left(struct kvmig_session *session)
{
    for (size_t i = 0; i < session->followers.ports.n; i++)
        tell_left(session->followers.ports.v[i]);
}

/* ---- answers ---- */

static void emit(struct kvmig__session_port *entry, const struct kvmig_error *error)
{
    struct kvmig_event *event = kvmig__event_new(KVMIG_EVENT_PORT);

    kvmig__event_set_port(event, kvmig_port_name(entry->port), kvmig__port_get_state(entry->port));
    kvmig__event_set_error(event, error);
    kvmig__session_emit(entry->session, event);
}

static void on_changed(void *data, struct kvmig_port *port)
{
    struct kvmig__session_port *entry = data;
    struct kvmig_session *session = entry->session;

    (void)port;
    /* Before there is a plan, the port is still where its caller has brought it. */
    if (kvmig__port_get_state(entry->port) == KVMIG_PORT_ACTIVATED && session->plan && !session->call_begun)
        say(entry, "PORT_ACTIVATED_EARLY", KVMIG_SEVERITY_WARN,
            "Look for what announces the guest's addresses on the target, for example the pod's own network stack.",
            "forwards on the target already, although the guest cannot be there yet");
    if (kvmig__port_get_state(entry->port) != KVMIG_PORT_FAILED) /* which comes with its answer */
        emit(entry, NULL);
}

static bool is_verification(const struct kvmig__session_port *entry)
{
    return entry->wish == KVMIG__PORT_VERIFY || entry->wish == KVMIG__PORT_VERIFY_LATE;
}

static void note_unprovable(struct kvmig__session_port *entry)
{
    entry->unprovable = true;
    say(entry, "PORT_UNVERIFIED", KVMIG_SEVERITY_WARN,
        "Name the southbound database, or the Open vSwitch database of the target.",
        "cannot be proven ready on the target with the databases that were named");
    kvmig__error_free(entry->error);
    entry->error = NULL;
}

static void on_answered(void *data, struct kvmig_port *port, const struct kvmig_error *error)
{
    struct kvmig__session_port *entry = data;
    struct kvmig_session *session = entry->session;

    (void)port;
    entry->asked = false;
    kvmig__error_free(entry->error);
    entry->error = kvmig__error_copy(error);
    if (error)
        emit(entry, error);
    if (entry->retarget && kvmig__session_may_prepare(session)) {
        entry->retarget = false;
        wish(entry, KVMIG__PORT_PREPARE, session->plan->source, session->plan->target);
        return;
    }
    if (error && entry->again && session->state == KVMIG__ST_SCHEDULED) { /* nobody has cancelled */
        wish(entry, KVMIG__PORT_PREPARE, session->plan->source, session->plan->target);
        return;
    }
    if (error && is_verification(entry) && error->code == -ENOTSUP)
        note_unprovable(entry);
    /* The guest must not arrive where nobody forwards for it. */
    if (entry->error && is_verification(entry) && session->state == KVMIG__ST_RUNNING &&
        session->mode != KVMIG_MODE_POST_COPY)
        kvmig__session_feed(session, KVMIG__IN_DEADLINE, kvmig__error_copy(entry->error));
    kvmig__session_gate_look(session);
}

/* ---- life ---- */

static void on_look(void *data)
{
    kvmig__session_gate_look(data);
}

void kvmig__followers_init(struct kvmig_session *session)
{
    kvmig__timer_init(&session->followers.look, session->context, on_look, session);
}

static int32_t check_addition(const struct kvmig_session *session, const struct kvmig_context *context,
                              const char *where)
{
    if (context != session->context)
        return kvmig__fail(kvmig__error_new(EINVAL, where, NULL,
                                            "Make it with the context of the session's cluster view.",
                                            "it belongs to another context than the session"));
    if (session->state != KVMIG__ST_UNSET)
        return kvmig__fail(kvmig__error_new(KVMIG_EPHASE, where, kvmig_phase_name(session->phase), NULL,
                                            "%s was started; this is possible before its start only", session->id));
    return 0;
}

static int32_t add_port(struct kvmig_session *session, struct kvmig_port *port)
{
    struct kvmig__session_port *entry = kvmig__calloc(1, sizeof(*entry));
    const struct kvmig__port_observer observer = { on_changed, on_answered, entry };

    if (!kvmig__port_attach(port, &observer)) {
        free(entry);
        return kvmig__fail(kvmig__error_new(EBUSY, "kvmig_session_add_port", kvmig_port_name(port),
                                            "One session at a time may move a port.", "a session has port %s already",
                                            kvmig_port_name(port)));
    }
    entry->session = session;
    entry->port = port;
    kvmig__port_hold(port);
    *KVMIG__PUSH(&session->followers.ports) = entry;
    return 0;
}

static int32_t fail_null(const char *where)
{
    return kvmig__fail(kvmig__error_new(EINVAL, where, NULL, NULL, "a required pointer is NULL"));
}

int32_t kvmig_session_add_port(struct kvmig_session *session, struct kvmig_port *port)
{
    int32_t rc;

    if (!session || !port)
        return fail_null("kvmig_session_add_port");
    kvmig__context_lock(session->context);
    rc = check_addition(session, kvmig__port_context(port), "kvmig_session_add_port");
    if (!rc)
        rc = add_port(session, port);
    kvmig__context_unlock(session->context);
    return rc;
}

static int32_t add_probe(struct kvmig_session *session, struct kvmig_probe *probe)
{
    const int32_t rc = kvmig__probe_attach(probe);

    if (rc == -EBUSY)
        return kvmig__fail(kvmig__error_new(rc, "kvmig_session_add_probe", NULL, "Make a probe for each session.",
                                            "a session has this probe already"));
    if (rc)
        return kvmig__fail(kvmig__error_new(rc, "kvmig_session_add_probe", NULL, "Make a probe for each session.",
                                            "this probe has run, and cannot be started again"));
    *KVMIG__PUSH(&session->followers.probes) = probe;
    return 0;
}

int32_t kvmig_session_add_probe(struct kvmig_session *session, struct kvmig_probe *probe)
{
    int32_t rc;

    if (!session || !probe)
        return fail_null("kvmig_session_add_probe");
    kvmig__context_lock(session->context);
    rc = check_addition(session, kvmig__probe_context(probe), "kvmig_session_add_probe");
    if (!rc)
        rc = add_probe(session, probe);
    kvmig__context_unlock(session->context);
    return rc;
}

static void let_go(struct kvmig_session *session)
{
    struct kvmig__followers *followers = &session->followers;

    for (size_t i = 0; i < followers->ports.n; i++) {
        kvmig__port_detach(followers->ports.v[i]->port);
        kvmig__port_release(followers->ports.v[i]->port);
        kvmig__error_free(followers->ports.v[i]->error);
        free(followers->ports.v[i]);
    }
    for (size_t i = 0; i < followers->probes.n; i++)
        kvmig__probe_detach(followers->probes.v[i]);
    free(followers->ports.v);
    free(followers->probes.v);
    followers->ports.v = NULL;
    followers->probes.v = NULL;
    followers->ports.n = followers->probes.n = 0;
}

void kvmig__followers_end(struct kvmig_session *session)
{
    struct kvmig__followers *followers = &session->followers;
    struct json_object *last;

    followers->gate.open = followers->close.open = false;
    kvmig__timer_disarm(&followers->look);
    for (size_t i = 0; i < followers->probes.n; i++)
        kvmig__probe_stop(followers->probes.v[i]);
    last = json_object_new_object();
    kvmig__followers_add_json(session, last);
    followers->last = last;
    let_go(session);
}

void kvmig__followers_free(struct kvmig_session *session)
{
    kvmig__timer_disarm(&session->followers.look);
    let_go(session);
    kvmig__error_free(session->followers.close.error);
    json_object_put(session->followers.last);
}
