/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ports with a backend of the caller's own: how operations go, and answers from inside, from other threads, late, twice and never.
 */
#include "port_network_test.h"

#include <errno.h>

/* ---- the way of an operation ---- */

static void functions_are_called_in_dispatch_and_answered_when_done(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    assert_string_equal(f.network.log, "");
    kvmig_port_op_done(wait_for_op(&f, 1), 0, NULL);
    assert_int_equal(kvmig_port_state(f.port), KVMIG_PORT_PREPARING); /* answered in dispatch, not in the call */
    port_run_until(f.context, &f.caller, "prepared");
    assert_int_equal(kvmig_port_verify(f.port), 0);
    kvmig_port_op_done(wait_for_op(&f, 2), 0, NULL);
    port_run_until(f.context, &f.caller, "verified");
    assert_int_equal(kvmig_port_converge(f.port, "hv2"), 0);
    kvmig_port_op_done(wait_for_op(&f, 3), 0, NULL);
    port_run_until(f.context, &f.caller, "converged");
    assert_string_equal(f.network.log, "prepare(hv1,hv2) verify converge(hv2)");
    assert_string_equal(f.caller.log, "preparing prepared verifying verified converging converged");
    close_fixture(&f);
}

static void operation_may_end_inside_its_call(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.network.at_once = true;
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "prepared");
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    port_run_until(f.context, &f.caller, "rolled-back");
    assert_string_equal(f.network.log, "prepare(hv1,hv2) rollback(hv1)");
    close_fixture(&f);
}

static void operation_may_end_on_any_thread(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, KVMIG_CONTEXT_THREAD, &functions, 0);
    f.network.in_thread = true;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
        test_run_until(f.context, &f.caller.n_events, 4 * i + 2);
        assert_int_equal(kvmig_port_rollback(f.port), 0);
        test_run_until(f.context, &f.caller.n_events, 4 * i + 4);
    }
    assert_int_equal(kvmig_port_state(f.port), KVMIG_PORT_ROLLED_BACK);
    close_fixture(&f);
}

static void function_that_is_missing_has_nothing_to_do(void **state)
{
    struct kvmig_port_backend few = functions;
    struct fixture f;

    (void)state;
    few.prepare = NULL;
    few.verify = NULL;
    open_with(&f, 0, &few, 0);
    f.network.at_once = true;
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "prepared");
    assert_int_equal(kvmig_port_verify(f.port), 0);
    port_run_until(f.context, &f.caller, "verified");
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    port_run_until(f.context, &f.caller, "rolled-back");
    assert_string_equal(f.network.log, "rollback(hv1)");
    close_fixture(&f);
}

static void rollback_of_what_was_never_prepared_calls_nobody(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    port_run_until(f.context, &f.caller, "rolled-back");
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0); /* overtaken before it is begun */
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    port_run_until(f.context, &f.caller, "preparing rolling-back rolled-back");
    assert_string_equal(f.network.log, "");
    close_fixture(&f);
}

static void failure_says_what_the_backend_said(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    kvmig_port_op_done(wait_for_op(&f, 1), -ENODEV, "no such switch");
    port_run_until(f.context, &f.caller, "failed(ENODEV)");
    assert_string_equal(f.caller.log, "preparing failed(ENODEV)"); /* one event: state and reason */
    assert_non_null(strstr(f.caller.message, "no such switch"));
    assert_non_null(strstr(f.caller.message, "tap7"));
    assert_int_equal(kvmig_port_verify(f.port), -KVMIG_EPHASE);
    assert_int_equal(kvmig_port_rollback(f.port), 0); /* half a preparation is undone */
    kvmig_port_op_done(wait_for_op(&f, 2), -EIO, NULL);
    port_run_until(f.context, &f.caller, "rolling-back failed(EIO)");
    close_fixture(&f);
}

static void failed_verification_may_be_repeated(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    kvmig_port_op_done(wait_for_op(&f, 1), 0, NULL);
    port_run_until(f.context, &f.caller, "prepared");
    assert_int_equal(kvmig_port_verify(f.port), 0);
    kvmig_port_op_done(wait_for_op(&f, 2), -EAGAIN, "not yet");
    port_run_until(f.context, &f.caller, "failed(EAGAIN)");
    assert_int_equal(kvmig_port_verify(f.port), 0);
    kvmig_port_op_done(wait_for_op(&f, 3), 0, NULL);
    port_run_until(f.context, &f.caller, "verifying verified");
    close_fixture(&f);
}

/* ---- late, twice, never ---- */

static void silence_ends_by_the_deadline_and_a_late_answer_changes_nothing(void **state)
{
    struct fixture f;

    (void)state;
    open_with(&f, 0, &functions, 20);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "failed(ETIMEDOUT)");
    kvmig_port_op_done(f.network.ops[0], 0, NULL);
    port_settle(f.context);
    assert_int_equal(kvmig_port_state(f.port), KVMIG_PORT_FAILED);
    assert_string_equal(f.caller.log, "preparing failed(ETIMEDOUT)");
    close_fixture(&f);
}

/* Its late success would undo what the newer one does: so the newer one begins after it. */
static void overtaken_operation_ends_before_the_next_begins_and_changes_nothing(void **state)
{
    struct kvmig_port_op *first, *second;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    first = wait_for_op(&f, 1);
    assert_int_equal(kvmig_port_converge(f.port, "hv1"), 0);
    port_settle(f.context);
    assert_int_equal(f.network.n_ops, 1);
    kvmig_port_op_done(first, -EIO, "too late");
    second = wait_for_op(&f, 2);
    assert_int_equal(kvmig_port_state(f.port), KVMIG_PORT_CONVERGING);
    kvmig_port_op_done(second, 0, NULL);
    port_run_until(f.context, &f.caller, "converged");
    assert_string_equal(f.caller.log, "preparing converging converged");
    close_fixture(&f);
}

static void answer_that_was_given_but_not_told_is_overtaken_too(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    kvmig_port_op_done(wait_for_op(&f, 1), -EIO, NULL);
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    kvmig_port_op_done(wait_for_op(&f, 2), 0, NULL);
    port_run_until(f.context, &f.caller, "rolled-back");
    assert_string_equal(f.caller.log, "preparing rolling-back rolled-back");
    close_fixture(&f);
}

static void on_log(int32_t level, const char *module, const char *message, void *data)
{
    (void)module;
    if (level == KVMIG_LOG_ERROR && strstr(message, "twice"))
        (*(int *)data)++;
}

static void second_answer_is_ignored_and_logged(void **state)
{
    struct kvmig_context_opts context_opts = KVMIG_CONTEXT_OPTS_INIT;
    struct kvmig_port_backend backend = functions;
    struct kvmig_port_opts opts = KVMIG_PORT_OPTS_INIT;
    struct fixture f;
    int n_complaints = 0;

    (void)state;
    memset(&f, 0, sizeof(f));
    context_opts.on_log = (struct kvmig_log_callback){ on_log, &n_complaints, NULL };
    assert_int_equal(kvmig_context_new(&context_opts, &f.context), 0);
    backend.user_data = &f.network;
    opts.name = "tap7";
    opts.on_event = port_callback(&f.caller);
    assert_int_equal(kvmig_port_open_backend(f.context, &backend, &opts, &f.port), 0);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    kvmig_port_op_done(wait_for_op(&f, 1), 0, NULL);
    kvmig_port_op_done(f.network.ops[0], -EIO, "once more");
    port_run_until(f.context, &f.caller, "prepared");
    kvmig_port_op_done(f.network.ops[0], -EIO, "and again");
    port_settle(f.context);
    assert_string_equal(f.caller.log, "preparing prepared");
    assert_int_equal(n_complaints, 2);
    close_fixture(&f);
}

static void many_operations_leave_nothing_behind(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.network.at_once = true;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
        test_run_until(f.context, &f.caller.n_events, 2 * i + 2);
        *f.network.log = '\0';
    }
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_called_in_dispatch_and_answered_when_done),
        cmocka_unit_test(operation_may_end_inside_its_call),
        cmocka_unit_test(operation_may_end_on_any_thread),
        cmocka_unit_test(function_that_is_missing_has_nothing_to_do),
        cmocka_unit_test(rollback_of_what_was_never_prepared_calls_nobody),
        cmocka_unit_test(failure_says_what_the_backend_said),
        cmocka_unit_test(failed_verification_may_be_repeated),
        cmocka_unit_test(silence_ends_by_the_deadline_and_a_late_answer_changes_nothing),
        cmocka_unit_test(overtaken_operation_ends_before_the_next_begins_and_changes_nothing),
        cmocka_unit_test(answer_that_was_given_but_not_told_is_overtaken_too),
        cmocka_unit_test(second_answer_is_ignored_and_logged),
        cmocka_unit_test(many_operations_leave_nothing_behind),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
