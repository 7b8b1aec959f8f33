/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A port with a backend of the caller's own. The caller's functions run as deliveries, without the lock;
 * kvmig_port_op_done() comes from any thread, takes the lock, and leaves the result to a timer, which answers in
 * dispatch. Everything else needs the lock.
 *
 * Who owns what: the handle owns the backend; the backend owns the operation that it waits for in no other sense than
 * that it knows it. An operation belongs to the caller from the call of its function until it was ended, and the
 * caller's functions and data (struct calls) are shared by the backend and by the operations that are out. When the
 * backend is gone and no operation is out any more, the caller's free runs, as a delivery. Until then operations hold
 * the context: a port that is gone still gets its answers.
 */
#include "port/port_handle.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_ENDED 16 /* operations that are remembered, so that ending one twice is noticed */

struct custom_port;

struct calls {
    struct kvmig_context *context;
    struct kvmig_port_backend functions;
    size_t n_out; /* operations that are out */
    bool orphaned; /* the backend is gone */
    struct kvmig_port_op *ended; /* the newest first */
    size_t n_writing; /* that were given to the caller, have not ended, and change something */
    struct kvmig_port_op *queue; /* those that wait for them, in order */
};

struct kvmig_port_op {
    struct calls *calls;
    struct custom_port *port; /* waits for it; NULL = nobody does any more */
    enum kvmig__port_wish wish;
    char *a, *b;
    bool calling; /* the caller's function is running, or about to: the strings are in use */
    bool ended;
    struct kvmig_port_op *next; /* in calls->ended */
};

struct custom_port {
    struct kvmig__port_backend base;
    struct calls *calls;
    char *name;
    int64_t timeout_ms;
    bool prepared; /* the caller was asked to prepare, and neither converge nor rollback ended well since */
    enum kvmig__port_wish wish; /* that runs */
    struct kvmig_port_op *op; /* of that wish; NULL = it has ended, or nothing has to be done */
    struct kvmig_error *result; /* of that wish, until it is answered */
    struct kvmig__timer answer, deadline;
};

/* ---- the end of operations ---- */

static void op_free(struct kvmig_port_op *op)
{
    free(op->a);
    free(op->b);
    free(op);
}

/* Without the lock, as the caller's functions want it. */
static void end_calls(void *data)
{
    struct calls *calls = data;
    struct kvmig_context *context = calls->context;

    if (calls->functions.free)
        calls->functions.free(calls->functions.user_data);
    while (calls->ended) {
        struct kvmig_port_op *op = calls->ended;

        calls->ended = op->next;
        op_free(op);
    }
    free(calls);
    kvmig__context_lock(context);
    kvmig__context_release(context);
    kvmig__context_unlock(context);
}

static void end_calls_if_unused(struct calls *calls)
{
    if (!calls->orphaned || calls->n_out)
        return;
    kvmig__context_hold(calls->context); /* released when the caller's free has run */
    kvmig__context_deliver(calls->context, end_calls, NULL, calls, true);
}

static void forget_oldest(struct calls *calls)
{
    struct kvmig_port_op **link = &calls->ended;

    for (int i = 0; i < MAX_ENDED && *link; i++)
        link = &(*link)->next;
    if (!*link)
        return;
    op_free(*link);
    *link = NULL;
}

static bool writes(enum kvmig__port_wish wish)
{
    return wish != KVMIG__PORT_VERIFY && wish != KVMIG__PORT_VERIFY_LATE && wish != KVMIG__PORT_REFRESH;
}

static void deliver_op(void *data);
static void drop_op(void *data);

static void launch(struct kvmig_port_op *op)
{
    op->calls->n_writing += writes(op->wish);
    kvmig__context_deliver(op->calls->context, deliver_op, drop_op, op, false);
}

static void launch_next(struct calls *calls)
{
    struct kvmig_port_op *op = calls->queue;

    if (!op)
        return;
    calls->queue = op->next;
    op->next = NULL;
    launch(op);
}

/* A roll-back that overtakes a slow preparation would be undone by it: what changes the network waits until the one before it
 * has ended, within its own time. */
static void launch_in_turn(struct kvmig_port_op *op)
{
    struct kvmig_port_op **link = &op->calls->queue;

    if (!writes(op->wish) || !op->calls->n_writing) {
        launch(op);
        return;
    }
    while (*link)
        link = &(*link)->next;
    *link = op;
}

/* Nobody has to do with it any more: neither the port, nor the caller, nor the call of its function. */
static void op_retire(struct kvmig_port_op *op)
{
    struct calls *calls = op->calls;

    if (writes(op->wish) && --calls->n_writing == 0)
        launch_next(calls);

    op->next = calls->ended;
    calls->ended = op;
    forget_oldest(calls);
    calls->n_out--;
    end_calls_if_unused(calls);
    kvmig__context_release(calls->context);
}

/* What the port waited for: answered from dispatch. Takes error. */
static void settle(struct custom_port *port, struct kvmig_error *error)
{
    if (port->op)
        port->op->port = NULL;
    port->op = NULL;
    kvmig__error_free(port->result);
    port->result = error;
    kvmig__timer_disarm(&port->deadline);
    kvmig__timer_arm_in(&port->answer, 0);
}

static struct kvmig_error *result_error(const struct kvmig_port_op *op, int32_t result, const char *message)
{
    const char *wish = kvmig__port_wish_name(op->wish);
    struct kvmig_error *error;
    char *where;

    if (!result)
        return NULL;
    where = kvmig__asprintf("port/%s: %s", op->port->name, wish);
    error = kvmig__error_new(result, where, message, NULL, "the caller's backend could not %s port %s: %s", wish,
                             op->port->name, message ? message : "it does not say why");
    free(where);
    return error;
}

void kvmig_port_op_done(struct kvmig_port_op *op, int32_t result, const char *message)
{
    struct kvmig_context *context;

    if (!op)
        return;
    context = op->calls->context;
    kvmig__context_lock(context);
    if (op->ended) {
        kvmig__log(context, KVMIG_LOG_ERROR, "port", "kvmig_port_op_done was called twice for one %s",
                   kvmig__port_wish_name(op->wish));
    } else {
        op->ended = true;
        if (op->port)
            settle(op->port, result_error(op, result, message));
        if (!op->calling)
            op_retire(op);
    }
    kvmig__context_unlock(context);
}

/* ---- calling the caller ---- */

static bool has_function(const struct kvmig_port_backend *functions, enum kvmig__port_wish wish)
{
    switch (wish) {
    case KVMIG__PORT_PREPARE:
        return functions->prepare != NULL;
    case KVMIG__PORT_VERIFY:
        return functions->verify != NULL;
    case KVMIG__PORT_CONVERGE:
    case KVMIG__PORT_CONVERGE_NOW:
        return functions->converge != NULL;
    case KVMIG__PORT_ROLLBACK:
        return functions->rollback != NULL;
    case KVMIG__PORT_VERIFY_LATE: /* the interface is plugged later, and verify comes then */
    case KVMIG__PORT_GC:
    case KVMIG__PORT_REFRESH:
        return false;
    }
    return false;
}

/* The states of a wish; one that is put off leaves the port prepared. */
static int32_t state_during(enum kvmig__port_wish wish)
{
    return wish == KVMIG__PORT_VERIFY_LATE ? -1 : kvmig__port_state_during(wish);
}

static int32_t state_after(enum kvmig__port_wish wish)
{
    return wish == KVMIG__PORT_VERIFY_LATE ? KVMIG_PORT_PREPARED : kvmig__port_state_after(wish);
}

static void call_function(struct kvmig_port_op *op)
{
    const struct kvmig_port_backend *functions = &op->calls->functions;

    switch (op->wish) {
    case KVMIG__PORT_PREPARE:
        functions->prepare(op, op->a, op->b, functions->user_data);
        return;
    case KVMIG__PORT_VERIFY:
        functions->verify(op, functions->user_data);
        return;
    case KVMIG__PORT_CONVERGE:
    case KVMIG__PORT_CONVERGE_NOW:
        functions->converge(op, op->a, functions->user_data);
        return;
    case KVMIG__PORT_ROLLBACK:
        functions->rollback(op, op->a, functions->user_data);
        return;
    case KVMIG__PORT_VERIFY_LATE:
    case KVMIG__PORT_GC:
    case KVMIG__PORT_REFRESH:
        return;
    }
}

/* A delivery. An operation that was overtaken before it began is not begun. */
static void deliver_op(void *data)
{
    struct kvmig_port_op *op = data;
    struct kvmig_context *context = op->calls->context;
    bool wanted;

    kvmig__context_lock(context);
    wanted = op->port != NULL;
    if (wanted && op->wish == KVMIG__PORT_PREPARE)
        op->port->prepared = true;
    kvmig__context_unlock(context);
    if (wanted)
        call_function(op);
    kvmig__context_lock(context);
    op->calling = false;
    if (op->ended || !wanted)
        op_retire(op);
    kvmig__context_unlock(context);
}

/* The caller closed the context, and is not called any more. */
static void drop_op(void *data)
{
    struct kvmig_port_op *op = data;
    struct kvmig_context *context = op->calls->context;

    kvmig__context_lock(context);
    if (op->port)
        settle(op->port,
               kvmig__error_new(ECANCELED, op->port->name, NULL,
                                "Keep a reference to the context, or to the port, until the port is settled.",
                                "port %s has a backend of the caller's, whose context was closed", op->port->name));
    op_retire(op);
    kvmig__context_unlock(context);
}

static void ask(struct custom_port *port, enum kvmig__port_wish wish, const char *a, const char *b)
{
    struct kvmig_port_op *op = kvmig__calloc(1, sizeof(*op));

    op->calls = port->calls;
    op->port = port;
    op->wish = wish;
    op->a = kvmig__strdup(a);
    op->b = kvmig__strdup(b);
    op->calling = true;
    port->op = op;
    port->calls->n_out++;
    kvmig__context_hold(port->calls->context);
    kvmig__timer_arm_in(&port->deadline, port->timeout_ms);
    launch_in_turn(op);
}

/* ---- the backend ---- */

static void on_deadline(void *data)
{
    struct custom_port *port = data;
    const char *wish = kvmig__port_wish_name(port->wish);
    char *evidence = kvmig__asprintf("no kvmig_port_op_done() within %lld ms", (long long)port->timeout_ms);

    settle(port, kvmig__error_new(ETIMEDOUT, port->name, evidence,
                                  "Raise timeout_ms of the port, or look for what its backend waits for.",
                                  "%s of port %s was not done in time", wish, port->name));
    free(evidence);
}

static void on_answer(void *data)
{
    struct custom_port *port = data;
    struct kvmig_error *error = port->result;
    const int32_t after = state_after(port->wish);

    port->result = NULL;
    if (!error && (after == KVMIG_PORT_CONVERGED || after == KVMIG_PORT_ROLLED_BACK))
        port->prepared = false;
    if (after >= 0)
        kvmig__port_set_state(port->base.port, error ? KVMIG_PORT_FAILED : after);
    kvmig__port_answer(port->base.port, error);
}

static void custom_wish(struct kvmig__port_backend *backend, enum kvmig__port_wish wish, const char *a, const char *b,
                        int64_t min_age_ms)
{
    struct custom_port *port = (struct custom_port *)backend;
    const int32_t during = state_during(wish);
    bool needed = has_function(&port->calls->functions, wish);

    (void)min_age_ms;
    if (port->op)
        port->op->port = NULL; /* its answer changes nothing any more */
    port->op = NULL;
    kvmig__error_free(port->result);
    port->result = NULL;
    kvmig__timer_disarm(&port->answer);
    kvmig__timer_disarm(&port->deadline);
    port->wish = wish;
    if (wish == KVMIG__PORT_PREPARE && !needed)
        port->prepared = true;
    if (wish == KVMIG__PORT_ROLLBACK && (!port->prepared || !a))
        needed = false; /* nothing was done that could be undone */
    if (during >= 0)
        kvmig__port_set_state(port->base.port, during);
    if (needed)
        ask(port, wish, a, b);
    else
        kvmig__timer_arm_in(&port->answer, 0);
}

static int64_t custom_longest_ms(const struct kvmig__port_backend *backend)
{
    return ((const struct custom_port *)backend)->timeout_ms;
}

static void custom_free(struct kvmig__port_backend *backend)
{
    struct custom_port *port = (struct custom_port *)backend;

    kvmig__timer_disarm(&port->answer);
    kvmig__timer_disarm(&port->deadline);
    if (port->op)
        port->op->port = NULL;
    kvmig__error_free(port->result);
    port->calls->orphaned = true;
    end_calls_if_unused(port->calls);
    free(port->name);
    free(port);
}

struct kvmig__port_backend *kvmig__custom_port_new(struct kvmig_context *context,
                                                   const struct kvmig_port_backend *calls, const char *name,
                                                   int64_t timeout_ms)
{
    static const struct kvmig__port_backend_ops ops = {
        .kind = "custom",
        .wish = custom_wish,
        .longest_ms = custom_longest_ms,
        .free = custom_free,
    };
    struct custom_port *port = kvmig__calloc(1, sizeof(*port));

    port->base.ops = &ops;
    port->calls = kvmig__calloc(1, sizeof(*port->calls));
    port->calls->context = context;
    port->calls->functions = *calls;
    port->name = kvmig__strdup(name);
    port->timeout_ms = timeout_ms;
    kvmig__timer_init(&port->answer, context, on_answer, port);
    kvmig__timer_init(&port->deadline, context, on_deadline, port);
    return &port->base;
}
