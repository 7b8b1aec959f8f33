/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of a port handle: what a backend does for it, what the backend tells it, and what a session asks of it.
 * Everything needs the context lock; nothing of one side is called from inside a call of the other but where it says
 * so.
 */
#ifndef KVMIG_SRC_PORT_INTERNAL_H
#define KVMIG_SRC_PORT_INTERNAL_H

#include "base/finding_internal.h"
#include "context/context_internal.h"
#include <json-c/json.h>
#include <kvmig/port.h>

enum kvmig__port_wish {
    KVMIG__PORT_PREPARE, /* a = source, b = target */
    KVMIG__PORT_VERIFY,
    KVMIG__PORT_VERIFY_LATE, /* what can be proven before the interface is plugged (ovn.h) */
    KVMIG__PORT_CONVERGE, /* a = winner */
    KVMIG__PORT_CONVERGE_NOW,
    KVMIG__PORT_ROLLBACK, /* a = source, as prepare named it; NULL = never prepared by this handle */
    KVMIG__PORT_GC, /* a = winner */
    KVMIG__PORT_REFRESH, /* facts are as fresh as they can be had */
};

struct kvmig__port_backend;
struct kvmig__port_backend_ops {
    const char *kind; /* "ovn", "custom", "none" */
    /* A new wish; the one before, if it runs, is not answered any more. Answered once with kvmig__port_answer(), never
     * from inside. */
    void (*wish)(struct kvmig__port_backend *backend, enum kvmig__port_wish wish, const char *a, const char *b,
                 int64_t min_age_ms);
    void (*add_json)(struct kvmig__port_backend *backend,
                     struct json_object *object); /* facts of its own; NULL = none */
    int64_t (*longest_ms)(const struct kvmig__port_backend *backend); /* a wish is answered within this */
    void (*free)(struct kvmig__port_backend *backend); /* answers nothing any more */
};
struct kvmig__port_backend {
    const struct kvmig__port_backend_ops *ops;
    struct kvmig_port *port; /* set by kvmig__port_new(); the port outlives its backend */
};

/* ---- for backends ---- */
/* The port's state, which may change at any time (PREPARING, ACTIVATED, ...): an event, if it is another one. */
void kvmig__port_set_state(struct kvmig_port *port, int32_t state);
/* The wish that runs has ended; error taken, NULL = as wished. Set the state before. */
void kvmig__port_answer(struct kvmig_port *port, struct kvmig_error *error);
/* A line of the timeline, at this moment; detail (JSON text) copied, may be NULL. The timeline keeps the newest 256. */
void kvmig__port_note(struct kvmig_port *port, const char *what, const char *detail);
struct kvmig_context *kvmig__port_context(struct kvmig_port *port);

/* Makes the handle; takes the backend and the sink. name, owner copied. */
struct kvmig_port *kvmig__port_new(struct kvmig_context *context, const char *name, const char *owner,
                                   struct kvmig__port_backend *backend, struct kvmig__sink *sink);

/* ---- for sessions (port_session.c side) ---- */
/* One observer at a time: the session that has the port. While there is one, the caller's own operations answer
 * -EBUSY. */
struct kvmig__port_observer {
    void (*changed)(void *data, struct kvmig_port *port); /* the state changed; not inside a call */
    void (*answered)(void *data, struct kvmig_port *port,
                     const struct kvmig_error *error); /* NULL = as wished; not inside a call */
    void *data;
};
bool kvmig__port_attach(struct kvmig_port *port, const struct kvmig__port_observer *observer); /* false: has one */
void kvmig__port_detach(struct kvmig_port *port); /* neither function is called any more */
void kvmig__port_hold(struct kvmig_port *port); /* keeps it, and its context running, without owning it */
void kvmig__port_release(struct kvmig_port *port);
void kvmig__port_wish(struct kvmig_port *port, enum kvmig__port_wish wish, const char *a, const char *b);
int32_t kvmig__port_get_state(const struct kvmig_port *port);
/* No wish is out for longer than this, ms: what a session adds to its own deadlines. From the backend (longest_ms). */
int64_t kvmig__port_longest_ms(const struct kvmig_port *port);
/* For the session's report: kvmig_port_to_json()'s object, with times relative to base_ms (CLOCK_MONOTONIC). Owned. */
struct json_object *kvmig__port_json(struct kvmig_port *port, int64_t base_ms);

/* ---- the OVN backend (ovn_port.c) ---- NULL and *out_error: what is wrong with the options. name and owner are for
 * the handle. */
struct kvmig__port_backend *kvmig__ovn_port_new(struct kvmig_context *context, const struct kvmig_port_ovn_opts *opts,
                                                const char *name, const char *owner, struct kvmig_error **out_error);

#endif
