/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handle itself, for port*.c only. Everything is guarded by the context lock.
 *
 * Who keeps a port: its public owners, and holds: those of a session that has it, and one while its observer is told.
 * With the last owner its events stop; with the last of both it is freed, and its backend with it, whatever was asked
 * of it.
 */
#ifndef KVMIG_SRC_PORT_HANDLE_H
#define KVMIG_SRC_PORT_HANDLE_H

#include "port/port_internal.h"

#define KVMIG__PORT_LINES 256 /* that the timeline keeps */
#define KVMIG__PORT_DEFAULT_MS 30000 /* of an operation */
#define KVMIG__PORT_LONGEST_MS ((uint64_t)366 * 24 * 3600 * 1000) /* more is a mistake, and sums must not overflow */

struct kvmig__port_line {
    int64_t at_ms; /* CLOCK_MONOTONIC */
    char *what, *detail; /* JSON text; NULL = none */
};

struct kvmig_port {
    struct kvmig_context *context;
    uint32_t owners, holds;
    char *name, *owner;
    int64_t opened_ms;
    struct kvmig__sink *sink; /* NULL once the last owner is gone */
    struct kvmig__port_backend *backend;

    int32_t state; /* enum kvmig_port_state */
    bool prepared; /* and nothing has been converged or rolled back since */
    char *source, *target, *winner; /* as the wishes named them; NULL = not yet */
    struct kvmig_error *error; /* that the last wish ended with; NULL = none */
    struct {
        struct kvmig__port_line *v;
        size_t n;
    } timeline;

    bool busy; /* a wish is out */
    enum kvmig__port_wish wish; /* which */
    bool for_observer; /* the observer made it */
    bool told; /* an event has told of the present state since the wish was made */

    bool has_observer;
    struct kvmig__port_observer observer;
    bool changed, answered; /* what it has not been told yet */
    struct kvmig_error *answer; /* of the wish that ended */
    struct kvmig__timer notify;
};

/* ---- port.c ---- */
/* Asks the backend. for_observer: the session that has the port asks. */
void kvmig__port_begin(struct kvmig_port *port, enum kvmig__port_wish wish, const char *a, const char *b,
                       int64_t min_age_ms, bool for_observer);

/* ---- port_events.c ---- */
void kvmig__port_on_notify(void *port); /* of the notify timer */
void kvmig__port_timeline_clear(struct kvmig_port *port);

/* ---- port_none.c, port_custom.c ---- */
struct kvmig__port_backend *kvmig__none_port_new(struct kvmig_context *context);
/* Takes what calls->free is for; calls is copied. */
struct kvmig__port_backend *kvmig__custom_port_new(struct kvmig_context *context,
                                                   const struct kvmig_port_backend *calls, const char *name,
                                                   int64_t timeout_ms);

/* ---- port_names.c ---- */
const char *kvmig__port_wish_name(enum kvmig__port_wish wish); /* "prepare", ...; static */
/* The states that a wish goes through and ends in, where the backend has no other word for them. */
int32_t kvmig__port_state_during(enum kvmig__port_wish wish);
int32_t kvmig__port_state_after(enum kvmig__port_wish wish);

#endif
