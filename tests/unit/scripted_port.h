/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A port whose backend does what a test tells it, and writes down what was asked of it. For tests of sessions; included once by
 * each, so everything is static.
 */
#ifndef KVMIG_TESTS_SCRIPTED_PORT_H
#define KVMIG_TESTS_SCRIPTED_PORT_H

#include "session_test.h"

#include <errno.h>
#include <stdio.h>

enum act { ACT_OK, ACT_FAIL, ACT_NEVER };

struct scripted_port {
    struct kvmig_port *port;
    enum act prepare, verify, converge, rollback;
    char log[400]; /* "prepare(host-0,host-1) verify ..." */
    struct kvmig_port_op *waiting; /* never answered by itself */
    int n_frees;
};

static void note(struct scripted_port *script, const char *what, const char *a, const char *b)
{
    const size_t n = strlen(script->log);

    if (a && b)
        snprintf(script->log + n, sizeof(script->log) - n, "%s%s(%s,%s)", n ? " " : "", what, a, b);
    else if (a)
        snprintf(script->log + n, sizeof(script->log) - n, "%s%s(%s)", n ? " " : "", what, a);
    else
        snprintf(script->log + n, sizeof(script->log) - n, "%s%s", n ? " " : "", what);
}

static void give_up_waiting(struct scripted_port *script)
{
    if (script->waiting)
        kvmig_port_op_done(script->waiting, -ECANCELED, NULL);
    script->waiting = NULL;
}

static void answer(struct scripted_port *script, struct kvmig_port_op *op, enum act act)
{
    give_up_waiting(script);
    if (act == ACT_NEVER)
        script->waiting = op;
    else
        kvmig_port_op_done(op, act == ACT_OK ? 0 : -EIO, act == ACT_OK ? NULL : "the switch is broken");
}

static void on_prepare(struct kvmig_port_op *op, const char *source, const char *target, void *data)
{
    struct scripted_port *script = data;

    note(script, "prepare", source, target);
    answer(script, op, script->prepare);
}

static void on_verify(struct kvmig_port_op *op, void *data)
{
    struct scripted_port *script = data;

    note(script, "verify", NULL, NULL);
    answer(script, op, script->verify);
}

static void on_converge(struct kvmig_port_op *op, const char *winner, void *data)
{
    struct scripted_port *script = data;

    note(script, "converge", winner, NULL);
    answer(script, op, script->converge);
}

static void on_rollback(struct kvmig_port_op *op, const char *source, void *data)
{
    struct scripted_port *script = data;

    note(script, "rollback", source, NULL);
    answer(script, op, script->rollback);
}

static void on_free(void *data)
{
    ((struct scripted_port *)data)->n_frees++;
}

static void open_port(struct fixture *f, struct scripted_port *script, const char *name)
{
    const struct kvmig_port_backend backend = {
        .size = sizeof(backend),
        .prepare = on_prepare,
        .verify = on_verify,
        .converge = on_converge,
        .rollback = on_rollback,
        .user_data = script,
        .free = on_free,
    };
    struct kvmig_port_opts opts = KVMIG_PORT_OPTS_INIT;

    opts.name = name;
    opts.timeout_ms = 300;
    assert_int_equal(kvmig_port_open_backend(f->world.context, &backend, &opts, &script->port), 0);
}

static void close_port(struct fixture *f, struct scripted_port *script)
{
    give_up_waiting(script);
    kvmig_port_unref(script->port);
    fake_drain(&f->world);
    assert_int_equal(script->n_frees, 1);
}

#endif
