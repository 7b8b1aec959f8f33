/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ports with a backend of the caller's own: what is freed when, and wishes and answers from many threads at once.
 */
#include "port_network_test.h"

#include "port/port_internal.h"

#include <errno.h>

/* ---- what is freed when ---- */

static void user_data_lives_until_the_last_operation_has_ended(void **state)
{
    struct kvmig_port_op *op;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    op = wait_for_op(&f, 1);
    kvmig_port_unref(f.port);
    f.port = NULL;
    port_settle(f.context);
    assert_int_equal(f.caller.n_frees, 1);
    assert_int_equal(f.network.n_frees, 0);
    kvmig_port_op_done(op, 0, NULL);
    assert_int_equal(f.network.n_frees, 0); /* from a clean stack */
    port_settle(f.context);
    assert_int_equal(f.network.n_frees, 1);
    close_fixture(&f);
}

static void operation_may_end_after_the_context(void **state)
{
    struct kvmig_port_op *op;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    op = wait_for_op(&f, 1);
    kvmig_port_unref(f.port);
    kvmig_context_unref(f.context);
    assert_int_equal(f.network.n_frees, 0);
    kvmig_port_op_done(op, 0, NULL);
    f.port = NULL;
    f.context = NULL;
    close_fixture(&f); /* waits for the free function, which a thread of the library runs */
}

static void operation_that_was_not_begun_is_dropped_with_the_context(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    kvmig_port_unref(f.port);
    kvmig_context_unref(f.context);
    assert_int_equal(f.network.n_ops, 0);
    f.port = NULL;
    f.context = NULL;
    close_fixture(&f);
}

static void user_data_is_freed_once_if_the_port_cannot_be_opened(void **state)
{
    struct kvmig_context *context = test_context_new(0);
    struct kvmig_port_backend backend = functions;
    struct kvmig_port_opts opts = KVMIG_PORT_OPTS_INIT;
    struct network network;
    struct kvmig_port *port = NULL;

    (void)state;
    memset(&network, 0, sizeof(network));
    backend.user_data = &network;
    assert_int_equal(kvmig_port_open_backend(context, &backend, &opts, &port), -EINVAL);
    port_settle(context);
    assert_int_equal(network.n_frees, 1);
    opts.name = "tap7";
    assert_int_equal(kvmig_port_open_backend(NULL, &backend, &opts, &port), -EINVAL);
    assert_int_equal(network.n_frees, 2);
    kvmig_context_unref(context);
}

/* ---- a session that is the last to have the port ---- */

struct last_user {
    _Atomic int n_answers;
    int32_t code;
};

static void on_changed(void *data, struct kvmig_port *port)
{
    (void)data;
    (void)port;
}

static void on_answered(void *data, struct kvmig_port *port, const struct kvmig_error *error)
{
    struct last_user *user = data;

    user->code = kvmig_error_code(error);
    kvmig__port_detach(port);
    kvmig__port_release(port);
    user->n_answers++;
}

/* Nothing of the caller's is called once the context was closed, so the session has to hear that nothing will come of it. */
static void session_hears_that_a_closed_context_calls_nobody(void **state)
{
    struct last_user user = { 0, 0 };
    const struct kvmig__port_observer observer = { on_changed, on_answered, &user };
    struct fixture f;

    (void)state;
    open_fixture(&f);
    kvmig__context_lock(f.context);
    assert_true(kvmig__port_attach(f.port, &observer));
    kvmig__port_hold(f.port);
    assert_true(kvmig__port_longest_ms(f.port) > 0);
    kvmig__port_wish(f.port, KVMIG__PORT_PREPARE, "hv1", "hv2");
    kvmig__context_unlock(f.context);
    kvmig_port_unref(f.port);
    kvmig_context_unref(f.context);
    test_wait_for(&user.n_answers, 1);
    assert_int_equal(user.code, -ECANCELED);
    assert_string_equal(f.network.log, "");
    f.port = NULL;
    f.context = NULL;
    close_fixture(&f);
}

/* ---- from many threads ---- */

static void *wish_all_the_time(void *data)
{
    struct fixture *f = data;

    for (int i = 0; i < 100; i++) {
        char *text = NULL;

        assert_int_equal(kvmig_port_prepare(f->port, "hv1", "hv2"), 0);
        kvmig_port_verify(f->port);
        assert_int_equal(kvmig_port_converge(f->port, "hv2"), 0);
        assert_int_equal(kvmig_port_to_json(f->port, &text), 0);
        free(text);
        kvmig_port_unref(kvmig_port_ref(f->port));
    }
    return NULL;
}

/* Hands each operation to a thread that ends them, as slow as it likes. */
struct ender {
    pthread_mutex_t lock;
    struct kvmig_port_op *ops[4096];
    int n, done;
    bool stop;
    _Atomic int n_frees;
};

static void *net_end_all(void *data)
{
    struct ender *ender = data;
    bool stop = false;

    while (!stop) {
        struct kvmig_port_op *op = NULL;

        pthread_mutex_lock(&ender->lock);
        if (ender->done < ender->n)
            op = ender->ops[ender->done++];
        stop = ender->stop && !op;
        pthread_mutex_unlock(&ender->lock);
        if (op)
            kvmig_port_op_done(op, 0, NULL);
        else
            poll(NULL, 0, 1);
    }
    return NULL;
}

static void hand_over(struct kvmig_port_op *op, struct ender *ender)
{
    pthread_mutex_lock(&ender->lock);
    assert_true((size_t)ender->n < KVMIG__N_ELEMENTS(ender->ops));
    ender->ops[ender->n++] = op;
    pthread_mutex_unlock(&ender->lock);
}

static void hand_prepare(struct kvmig_port_op *op, const char *source, const char *target, void *data)
{
    assert_string_equal(source, "hv1");
    assert_string_equal(target, "hv2");
    hand_over(op, data);
    assert_string_equal(source, "hv1"); /* valid during the call, also if another thread was faster */
}

static void hand_verify(struct kvmig_port_op *op, void *data)
{
    hand_over(op, data);
}

static void hand_converge(struct kvmig_port_op *op, const char *winner, void *data)
{
    hand_over(op, data);
    assert_string_equal(winner, "hv2");
}

static void ender_freed(void *data)
{
    ((struct ender *)data)->n_frees++;
}

static void wishes_and_answers_from_many_threads_are_safe(void **state)
{
    static struct ender ender = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct kvmig_port_backend backend = functions;
    struct kvmig_port_opts opts = KVMIG_PORT_OPTS_INIT;
    pthread_t wishers[3], enders[2];
    struct fixture f;

    (void)state;
    memset(&f, 0, sizeof(f));
    f.context = test_context_new(KVMIG_CONTEXT_THREAD);
    backend.prepare = hand_prepare;
    backend.verify = hand_verify;
    backend.converge = hand_converge;
    backend.free = ender_freed;
    backend.user_data = &ender;
    opts.name = "tap7";
    assert_int_equal(kvmig_port_open_backend(f.context, &backend, &opts, &f.port), 0);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(enders); i++)
        assert_int_equal(pthread_create(&enders[i], NULL, net_end_all, &ender), 0);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(wishers); i++)
        assert_int_equal(pthread_create(&wishers[i], NULL, wish_all_the_time, &f), 0);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(wishers); i++)
        pthread_join(wishers[i], NULL);
    for (int waited = 0; kvmig_port_state(f.port) != KVMIG_PORT_CONVERGED; waited++) {
        assert_true(waited < TEST_DEADLINE_MS);
        poll(NULL, 0, 1);
    }
    kvmig_port_unref(f.port);
    kvmig_context_unref(f.context);
    pthread_mutex_lock(&ender.lock);
    ender.stop = true;
    pthread_mutex_unlock(&ender.lock);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(enders); i++)
        pthread_join(enders[i], NULL);
    test_wait_for(&ender.n_frees, 1);
    assert_int_equal(ender.n_frees, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_data_lives_until_the_last_operation_has_ended),
        cmocka_unit_test(operation_may_end_after_the_context),
        cmocka_unit_test(operation_that_was_not_begun_is_dropped_with_the_context),
        cmocka_unit_test(user_data_is_freed_once_if_the_port_cannot_be_opened),
        cmocka_unit_test(session_hears_that_a_closed_context_calls_nobody),
        cmocka_unit_test(wishes_and_answers_from_many_threads_are_safe),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
