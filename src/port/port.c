/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ports: their life, what callers ask of them, and what a session asks. Does not: check the options of a new port
 * (port_open.c) or touch a network (the backends do). Public calls come from any thread and take the context lock; the
 * rest needs it. A port is kept as port_handle.h says; it owns its backend.
 */
#include "port/port_handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

struct kvmig_port *kvmig__port_new(struct kvmig_context *context, const char *name, const char *owner,
                                   struct kvmig__port_backend *backend, struct kvmig__sink *sink)
{
    struct kvmig_port *port = kvmig__calloc(1, sizeof(*port));

    port->context = context;
    port->owners = 1;
    port->name = kvmig__strdup(name);
    port->owner = kvmig__strdup(owner);
    port->opened_ms = kvmig__now_ms();
    port->sink = sink;
    port->state = KVMIG_PORT_IDLE;
    port->backend = backend;
    backend->port = port;
    kvmig__timer_init(&port->notify, context, kvmig__port_on_notify, port);
    kvmig__context_own(context);
    return port;
}

static void free_if_unused(struct kvmig_port *port)
{
    if (port->owners || port->holds)
        return;
    kvmig__timer_disarm(&port->notify);
    port->backend->ops->free(port->backend);
    kvmig__port_timeline_clear(port);
    kvmig__error_free(port->error);
    kvmig__error_free(port->answer);
    free(port->source);
    free(port->target);
    free(port->winner);
    free(port->name);
    free(port->owner);
    free(port);
}

void kvmig__port_hold(struct kvmig_port *port)
{
    port->holds++;
    kvmig__context_hold(port->context);
}

void kvmig__port_release(struct kvmig_port *port)
{
    struct kvmig_context *context = port->context;

    port->holds--;
    free_if_unused(port);
    kvmig__context_release(context);
}

struct kvmig_port *kvmig_port_ref(struct kvmig_port *port)
{
    if (!port)
        return NULL;
    kvmig__context_lock(port->context);
    port->owners++;
    kvmig__context_unlock(port->context);
    return port;
}

void kvmig_port_unref(struct kvmig_port *port)
{
    struct kvmig_context *context;

    if (!port)
        return;
    context = port->context;
    kvmig__context_lock(context);
    if (--port->owners == 0) {
        kvmig__sink_retire(port->sink, true);
        port->sink = NULL;
        free_if_unused(port);
        kvmig__context_disown(context);
    }
    kvmig__context_unlock(context);
}

struct kvmig_context *kvmig__port_context(struct kvmig_port *port)
{
    return port->context;
}

/* ---- wishes ---- */

/* The names that a wish speaks of, for the report and for wishes to come. */
static void remember_names(struct kvmig_port *port, enum kvmig__port_wish wish, const char *a, const char *b)
{
    switch (wish) {
    case KVMIG__PORT_PREPARE:
        kvmig__str_set(&port->source, a);
        kvmig__str_set(&port->target, b);
        kvmig__str_set(&port->winner, NULL);
        return;
    case KVMIG__PORT_CONVERGE:
    case KVMIG__PORT_CONVERGE_NOW:
    case KVMIG__PORT_ROLLBACK:
    case KVMIG__PORT_GC:
        kvmig__str_set(&port->winner, a);
        return;
    case KVMIG__PORT_VERIFY:
    case KVMIG__PORT_VERIFY_LATE:
    case KVMIG__PORT_REFRESH:
        return;
    }
}

static void note_wish(struct kvmig_port *port, enum kvmig__port_wish wish, const char *a, const char *b,
                      int64_t min_age_ms)
{
    struct kvmig__detail detail = { NULL, 0 };
    char *text = NULL;

    if (wish == KVMIG__PORT_PREPARE) {
        kvmig__detail_str(&detail, "source", a);
        kvmig__detail_str(&detail, "target", b);
    } else if (a) {
        kvmig__detail_str(&detail, "winner", a);
    }
    if (wish == KVMIG__PORT_GC)
        kvmig__detail_uint(&detail, "min_age_ms", (uint64_t)min_age_ms);
    if (detail.n)
        text = kvmig__detail_take(&detail);
    kvmig__port_note(port, kvmig__port_wish_name(wish), text);
    free(text);
}

void kvmig__port_begin(struct kvmig_port *port, enum kvmig__port_wish wish, const char *a, const char *b,
                       int64_t min_age_ms, bool for_observer)
{
    if (wish == KVMIG__PORT_ROLLBACK && !a)
        a = port->source;
    note_wish(port, wish, a, b, min_age_ms);
    port->busy = true;
    port->wish = wish;
    port->for_observer = for_observer;
    port->told = false;
    port->answered = false; /* an older wish's answer that is still on its way comes too late */
    kvmig__error_free(port->answer);
    port->answer = NULL;
    if (wish != KVMIG__PORT_REFRESH) { /* which only looks: why the last wish failed is still worth knowing */
        kvmig__error_free(port->error);
        port->error = NULL;
    }
    port->backend->ops->wish(port->backend, wish, a, b, min_age_ms);
    remember_names(port, wish, a, b);
}

/* ---- for sessions ---- */

bool kvmig__port_attach(struct kvmig_port *port, const struct kvmig__port_observer *observer)
{
    if (port->has_observer)
        return false;
    port->has_observer = true;
    port->observer = *observer;
    return true;
}

void kvmig__port_detach(struct kvmig_port *port)
{
    port->has_observer = port->for_observer = port->changed = port->answered = false;
    kvmig__error_free(port->answer);
    port->answer = NULL;
    kvmig__timer_disarm(&port->notify);
}

void kvmig__port_wish(struct kvmig_port *port, enum kvmig__port_wish wish, const char *a, const char *b)
{
    kvmig__port_begin(port, wish, a, b, 0, true);
}

int32_t kvmig__port_get_state(const struct kvmig_port *port)
{
    return port->state;
}

int64_t kvmig__port_longest_ms(const struct kvmig_port *port)
{
    return port->backend->ops->longest_ms(port->backend);
}

/* ---- public calls ---- */

static int32_t fail_null(const char *where)
{
    return kvmig__fail(kvmig__error_new(EINVAL, where, NULL, NULL, "port is NULL"));
}

static int32_t check_free(const struct kvmig_port *port, const char *where)
{
    if (!port->has_observer)
        return 0;
    return kvmig__fail(kvmig__error_new(
        EBUSY, where, port->name, "Cancel the session, or wait for its end: it leaves the port where the guest runs.",
        "port %s belongs to a session, which moves it by itself", port->name));
}

/* Of a chassis or host: OVN separates names by commas and takes blanks for a part of them. */
static int32_t check_name(const char *where, const char *argument, const char *name)
{
    char *place;
    int32_t rc;

    if (name && *name && !strpbrk(name, ", \t\r\n"))
        return 0;
    place = kvmig__asprintf("%s: %s", where, argument);
    rc = kvmig__fail(kvmig__error_new(EINVAL, place, name,
                                      "Pass one name of a chassis or host, without blanks and commas.",
                                      name && *name ? "%s is not a name" : "%s is missing", argument));
    free(place);
    return rc;
}

int32_t kvmig_port_prepare(struct kvmig_port *port, const char *source, const char *target)
{
    static const char where[] = "kvmig_port_prepare";
    int32_t rc;

    if (!port)
        return fail_null(where);
    rc = check_name(where, "source", source);
    if (!rc)
        rc = check_name(where, "target", target);
    if (!rc && kvmig__str_eq(source, target))
        rc =
            kvmig__fail(kvmig__error_new(EINVAL, where, source, "Pass two chassis.", "source and target are the same"));
    if (rc)
        return rc;
    kvmig__context_lock(port->context);
    rc = check_free(port, where);
    if (!rc)
        kvmig__port_begin(port, KVMIG__PORT_PREPARE, source, target, 0, false);
    kvmig__context_unlock(port->context);
    return rc;
}

/* What was prepared on OVN stands in the database, maybe by another process: the machine finds out. */
static bool is_of_ovn(const struct kvmig_port *port)
{
    return kvmig__str_eq(port->backend->ops->kind, "ovn");
}

int32_t kvmig_port_verify(struct kvmig_port *port)
{
    static const char where[] = "kvmig_port_verify";
    int32_t rc;

    if (!port)
        return fail_null(where);
    kvmig__context_lock(port->context);
    rc = check_free(port, where);
    if (!rc && !port->prepared && !is_of_ovn(port))
        rc = kvmig__fail(kvmig__error_new(KVMIG_EPHASE, where, kvmig_port_state_name(port->state),
                                          "Call kvmig_port_prepare() and wait for KVMIG_PORT_PREPARED.",
                                          "port %s is not prepared, so there is nothing to verify", port->name));
    if (!rc)
        kvmig__port_begin(port, KVMIG__PORT_VERIFY, NULL, NULL, 0, false);
    kvmig__context_unlock(port->context);
    return rc;
}

int32_t kvmig_port_converge(struct kvmig_port *port, const char *winner)
{
    static const char where[] = "kvmig_port_converge";
    int32_t rc;

    if (!port)
        return fail_null(where);
    rc = check_name(where, "winner", winner);
    if (rc)
        return rc;
    kvmig__context_lock(port->context);
    rc = check_free(port, where);
    if (!rc)
        kvmig__port_begin(port, KVMIG__PORT_CONVERGE, winner, NULL, 0, false);
    kvmig__context_unlock(port->context);
    return rc;
}

int32_t kvmig_port_rollback(struct kvmig_port *port)
{
    static const char where[] = "kvmig_port_rollback";
    int32_t rc;

    if (!port)
        return fail_null(where);
    kvmig__context_lock(port->context);
    rc = check_free(port, where);
    if (!rc)
        kvmig__port_begin(port, KVMIG__PORT_ROLLBACK, NULL, NULL, 0, false);
    kvmig__context_unlock(port->context);
    return rc;
}

static int32_t check_gc(const struct kvmig_port *port, const char *where, uint64_t min_age_ms)
{
    if (!is_of_ovn(port))
        return kvmig__fail(kvmig__error_new(ENOTSUP, where, port->backend->ops->kind, NULL,
                                            "port %s is not a port of OVN: there are no owners to clean up after",
                                            port->name));
    if (min_age_ms > INT64_MAX)
        return kvmig__fail(
            kvmig__error_new(EINVAL, "kvmig_port_gc: min_age_ms", NULL, "Milliseconds.", "the age is out of range"));
    return 0;
}

int32_t kvmig_port_gc(struct kvmig_port *port, const char *winner, uint64_t min_age_ms)
{
    static const char where[] = "kvmig_port_gc";
    int32_t rc;

    if (!port)
        return fail_null(where);
    rc = check_name(where, "winner", winner);
    if (!rc)
        rc = check_gc(port, where, min_age_ms);
    if (rc)
        return rc;
    kvmig__context_lock(port->context);
    rc = check_free(port, where);
    if (!rc)
        kvmig__port_begin(port, KVMIG__PORT_GC, winner, NULL, (int64_t)min_age_ms, false);
    kvmig__context_unlock(port->context);
    return rc;
}

int32_t kvmig_port_refresh(struct kvmig_port *port)
{
    static const char where[] = "kvmig_port_refresh";
    int32_t rc;

    if (!port)
        return fail_null(where);
    kvmig__context_lock(port->context);
    rc = check_free(port, where);
    if (!rc && port->busy && port->wish != KVMIG__PORT_REFRESH)
        rc = kvmig__fail(kvmig__error_new(EBUSY, where, kvmig__port_wish_name(port->wish),
                                          "Wait for its event: the facts are fresh then.",
                                          "another operation runs on port %s", port->name));
    if (!rc)
        kvmig__port_begin(port, KVMIG__PORT_REFRESH, NULL, NULL, 0, false);
    kvmig__context_unlock(port->context);
    return rc;
}

int32_t kvmig_port_state(struct kvmig_port *port)
{
    int32_t state;

    if (!port)
        return KVMIG_PORT_IDLE;
    kvmig__context_lock(port->context);
    state = port->state;
    kvmig__context_unlock(port->context);
    return state;
}

const char *kvmig_port_name(const struct kvmig_port *port)
{
    return port ? port->name : NULL;
}

const char *kvmig_port_owner(const struct kvmig_port *port)
{
    return port ? port->owner : "";
}
