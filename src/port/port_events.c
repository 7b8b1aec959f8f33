/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a port tells: events to the caller, changes and answers to the session that has it, and its timeline. Decides
 * nothing. With the context lock held. An event is owned by the sink once it was emitted; the observer is called from a
 * timer of its own, so never from inside a call of the session or of the backend.
 */
#include "port/port_handle.h"

#include "base/json_internal.h"

#include <stdlib.h>
#include <string.h>

static void tell(struct kvmig_port *port, const struct kvmig_error *error)
{
    struct kvmig_event *event;

    port->told = true;
    if (!port->sink)
        return;
    event = kvmig__event_new(KVMIG_EVENT_PORT);
    kvmig__event_set_port(event, port->name, port->state);
    if (error)
        kvmig__event_set_error(event, error);
    kvmig__sink_emit(port->sink, event);
}

/* ---- timeline ---- */

static void line_clear(struct kvmig__port_line *line)
{
    free(line->what);
    free(line->detail);
}

void kvmig__port_note(struct kvmig_port *port, const char *what, const char *detail)
{
    if (port->timeline.n == KVMIG__PORT_LINES) {
        line_clear(&port->timeline.v[0]);
        port->timeline.n--;
        memmove(&port->timeline.v[0], &port->timeline.v[1], port->timeline.n * sizeof(port->timeline.v[0]));
    }
    *KVMIG__PUSH(&port->timeline) = (struct kvmig__port_line){
        .at_ms = kvmig__now_ms(),
        .what = kvmig__strdup(what),
        .detail = kvmig__strdup(detail),
    };
}

void kvmig__port_timeline_clear(struct kvmig_port *port)
{
    for (size_t i = 0; i < port->timeline.n; i++)
        line_clear(&port->timeline.v[i]);
    free(port->timeline.v);
    port->timeline.v = NULL;
    port->timeline.n = 0;
}

static void note_state(struct kvmig_port *port)
{
    struct kvmig__detail detail = { NULL, 0 };
    char *text;

    kvmig__detail_str(&detail, "state", kvmig_port_state_name(port->state));
    text = kvmig__detail_take(&detail);
    kvmig__port_note(port, "state", text);
    free(text);
}

static void note_error(struct kvmig_port *port, const struct kvmig_error *error)
{
    char *text = kvmig__json_take_string(kvmig__json_error(error));

    kvmig__port_note(port, "error", text);
    free(text);
}

/* ---- from the backend ---- */

/* Whether there is something to verify. A failed verification leaves it prepared. */
static bool is_prepared_in(int32_t state, bool before)
{
    switch (state) {
    case KVMIG_PORT_PREPARED:
    case KVMIG_PORT_VERIFYING:
    case KVMIG_PORT_VERIFIED:
    case KVMIG_PORT_ACTIVATED:
        return true;
    case KVMIG_PORT_FAILED:
        return before;
    default:
        return false;
    }
}

void kvmig__port_set_state(struct kvmig_port *port, int32_t state)
{
    if (port->state == state)
        return;
    port->state = state;
    port->prepared = is_prepared_in(state, port->prepared);
    note_state(port);
    kvmig__log(port->context, KVMIG_LOG_INFO, "port", "%s: %s", port->name, kvmig_port_state_name(state));
    if (state == KVMIG_PORT_FAILED && port->busy)
        port->told = false; /* the answer tells, with the reason */
    else
        tell(port, NULL);
    if (port->has_observer) {
        port->changed = true;
        kvmig__timer_arm_in(&port->notify, 0);
    }
}

void kvmig__port_answer(struct kvmig_port *port, struct kvmig_error *error)
{
    if (!port->busy) { /* the wish was overtaken, and its answer with it */
        kvmig__error_free(error);
        return;
    }
    port->busy = false;
    if (error) {
        note_error(port, error);
        kvmig__log(port->context, KVMIG_LOG_INFO, "port", "%s: %s failed: %s", port->name,
                   kvmig__port_wish_name(port->wish), kvmig_error_message(error));
    }
    if (error || !port->told)
        tell(port, error);
    if (port->for_observer && port->has_observer) {
        port->answered = true;
        kvmig__error_free(port->answer);
        port->answer = kvmig__error_copy(error);
        kvmig__timer_arm_in(&port->notify, 0);
    }
    if (port->wish == KVMIG__PORT_REFRESH) {
        kvmig__error_free(error);
        return;
    }
    kvmig__error_free(port->error);
    port->error = error;
}

/* ---- to the observer ---- */

void kvmig__port_on_notify(void *data)
{
    struct kvmig_port *port = data;

    kvmig__port_hold(port); /* it may let go of the port in either function, or ask for something new in the first */
    if (port->has_observer && port->changed) {
        port->changed = false;
        port->observer.changed(port->observer.data, port);
    }
    if (port->has_observer && port->answered) {
        struct kvmig_error *error = port->answer;

        port->answered = false;
        port->answer = NULL;
        port->observer.answered(port->observer.data, port, error);
        kvmig__error_free(error);
    }
    kvmig__port_release(port);
}
