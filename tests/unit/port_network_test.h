/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A network of the test's own behind a port: it writes down what it is asked for, and ends operations when and where the test wants.
 */
#ifndef KVMIG_TESTS_PORT_NETWORK_TEST_H
#define KVMIG_TESTS_PORT_NETWORK_TEST_H

#include "port_test.h"

#include <stdio.h>

#define MAX_OPS 16

/* A network of the test's own. */
struct network {
    char log[1024]; /* its calls: "prepare(hv1,hv2) verify" */
    struct kvmig_port_op *ops[MAX_OPS]; /* not ended yet, in order */
    _Atomic int n_ops;
    _Atomic int n_frees;
    bool at_once; /* ends each operation inside the call */
    bool in_thread; /* ends each on a thread of its own */
    int32_t result;
    const char *message;
    pthread_t threads[MAX_OPS];
    int n_threads;
};

struct ending {
    struct kvmig_port_op *op;
    int32_t result;
    const char *message;
};

static inline void *end_in_thread(void *data)
{
    struct ending *ending = data;

    kvmig_port_op_done(ending->op, ending->result, ending->message);
    free(ending);
    return NULL;
}

static inline void take(struct network *network, struct kvmig_port_op *op, const char *call)
{
    strcat(network->log, *network->log ? " " : "");
    strcat(network->log, call);
    if (network->at_once) {
        kvmig_port_op_done(op, network->result, network->message);
    } else if (network->in_thread) {
        struct ending *ending = malloc(sizeof(*ending));

        *ending = (struct ending){ op, network->result, network->message };
        assert_int_equal(pthread_create(&network->threads[network->n_threads++], NULL, end_in_thread, ending), 0);
    } else {
        network->ops[network->n_ops] = op;
        network->n_ops++;
    }
}

static inline void net_prepare(struct kvmig_port_op *op, const char *source, const char *target, void *data)
{
    char call[64];

    snprintf(call, sizeof(call), "prepare(%s,%s)", source, target);
    take(data, op, call);
}

static inline void net_verify(struct kvmig_port_op *op, void *data)
{
    take(data, op, "verify");
}

static inline void net_converge(struct kvmig_port_op *op, const char *winner, void *data)
{
    char call[64];

    snprintf(call, sizeof(call), "converge(%s)", winner);
    take(data, op, call);
}

static inline void net_rollback(struct kvmig_port_op *op, const char *source, void *data)
{
    char call[64];

    snprintf(call, sizeof(call), "rollback(%s)", source);
    take(data, op, call);
}

static inline void net_free(void *data)
{
    ((struct network *)data)->n_frees++;
}

struct fixture {
    struct kvmig_context *context;
    struct network network;
    struct port_caller caller;
    struct kvmig_port *port;
};

static const struct kvmig_port_backend functions = {
    .size = sizeof(functions),
    .prepare = net_prepare,
    .verify = net_verify,
    .converge = net_converge,
    .rollback = net_rollback,
    .free = net_free,
};

static inline void open_with(struct fixture *f, uint32_t flags, const struct kvmig_port_backend *calls,
                             uint64_t timeout_ms)
{
    struct kvmig_port_opts opts = KVMIG_PORT_OPTS_INIT;
    struct kvmig_port_backend backend = *calls;

    memset(f, 0, sizeof(*f));
    f->context = test_context_new(flags);
    backend.user_data = &f->network;
    opts.name = "tap7";
    opts.timeout_ms = timeout_ms;
    opts.on_event = port_callback(&f->caller);
    assert_int_equal(kvmig_port_open_backend(f->context, &backend, &opts, &f->port), 0);
}

static inline void open_fixture(struct fixture *f)
{
    open_with(f, 0, &functions, 0);
}

static inline void close_fixture(struct fixture *f)
{
    for (int i = 0; i < f->network.n_threads; i++)
        pthread_join(f->network.threads[i], NULL);
    kvmig_port_unref(f->port);
    kvmig_context_unref(f->context);
    test_wait_for(&f->network.n_frees, 1);
    assert_int_equal(f->network.n_frees, 1);
    assert_int_equal(f->caller.n_frees, 1);
    assert_int_equal(f->caller.n_late, 0);
    port_caller_clear(&f->caller);
}

static inline struct kvmig_port_op *wait_for_op(struct fixture *f, int n)
{
    test_run_until(f->context, &f->network.n_ops, n);
    return f->network.ops[n - 1];
}

#endif
