/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ports that go along with a session: when they are asked for what, what their failures do to the migration, and that they
 * end where the guest is (I4). The ports have backends of the test's own; what OVN makes of the wishes is another test's.
 */
#include "port/port_internal.h"
#include "scripted_port.h"

#include <errno.h>
#include <stdio.h>

static void begin(struct fixture *f, struct scripted_port *script)
{
    open_fixture(f);
    open_port(f, script, "nic0");
    new_session(f, 0, 0);
    assert_int_equal(kvmig_session_add_port(f->session, script->port), 0);
}

static void end(struct fixture *f, struct scripted_port *script)
{
    kvmig_session_unref(f->session);
    f->session = NULL;
    close_port(f, script);
    close_fixture(f);
}

static int32_t was_prepared(void *data)
{
    return ((struct scripted_port *)data)->log[0] != '\0';
}

/* The answer has come, too. */
static int32_t is_prepared(void *data)
{
    return kvmig_port_state(((struct scripted_port *)data)->port) == KVMIG_PORT_PREPARED;
}

static void call_fails(struct fixture *f)
{
    f->world.sides_after[0] = f->world.sides[0];
    f->world.sides_after[1] = f->world.sides[1];
    f->world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
}

/* ---- the port goes where the guest goes ---- */

static void port_is_prepared_verified_and_converges_to_the_target(void **state)
{
    struct scripted_port script = { 0 };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_string_equal(script.log, "prepare(host-0,host-1) verify converge(host-1)");
    assert_true(fake_heard(&f.caller, "port nic0 prepared"));
    assert_true(fake_heard(&f.caller, "port nic0 verified"));
    assert_true(fake_heard(&f.caller, "port nic0 converged"));
    end(&f, &script);
}

/* The first time as soon as source and target are known, the second before the target is prepared. */
static void port_that_was_prepared_early_is_prepared_again_before_the_target_is(void **state)
{
    struct scripted_port script = { 0 };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    f.world.steps[KVMIG__STEP_SCHEDULE] = FAKE_NEVER;
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, is_prepared, &script);
    fake_drain(&f.world);
    assert_string_equal(script.log, "prepare(host-0,host-1)");
    fake_answer_step(&f.world, KVMIG__STEP_SCHEDULE, NULL);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_string_equal(script.log, "prepare(host-0,host-1) prepare(host-0,host-1) verify converge(host-1)");
    end(&f, &script);
}

static void verification_comes_before_the_call(void **state)
{
    struct scripted_port script = { .verify = ACT_FAIL };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -EIO);
    assert_null(strstr(f.world.log, "migrate"));
    assert_string_equal(script.log, "prepare(host-0,host-1) verify rollback(host-0)");
    end(&f, &script);
}

static void port_that_cannot_be_prepared_twice_fails_the_session_and_is_rolled_back(void **state)
{
    struct scripted_port script = { .prepare = ACT_FAIL };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -EIO);
    assert_null(strstr(f.world.log, "migrate"));
    assert_string_equal(script.log, "prepare(host-0,host-1) prepare(host-0,host-1) rollback(host-0)");
    end(&f, &script);
}

static void failed_call_rolls_the_port_back_to_the_source(void **state)
{
    struct scripted_port script = { 0 };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    call_fails(&f);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_non_null(strstr(script.log, "rollback(host-0)"));
    assert_null(strstr(script.log, "converge"));
    end(&f, &script);
}

/* I4: what the hosts say counts, not what the call said. */
static void port_converges_to_a_guest_that_moved_although_the_call_failed(void **state)
{
    struct scripted_port script = { 0 };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_non_null(strstr(script.log, "converge(host-1)"));
    assert_null(strstr(script.log, "rollback"));
    end(&f, &script);
}

static void port_stays_prepared_when_it_is_not_known_where_the_guest_is(void **state)
{
    struct scripted_port script = { 0 };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_FAIL;
    fake_side(&f.world.sides_after[0], KVMIG__STATE_ABSENT, KVMIG__REASON_OTHER, false);
    fake_side(&f.world.sides_after[1], KVMIG__STATE_ABSENT, KVMIG__REASON_OTHER, false);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_null(strstr(script.log, "converge"));
    assert_null(strstr(script.log, "rollback"));
    assert_true(fake_heard(&f.caller, "notice PORT_LEFT_PREPARED"));
    end(&f, &script);
}

/* I4: the last look at the hosts comes before the port is put back. */
static void port_is_not_put_back_when_the_last_look_finds_the_guest_gone(void **state)
{
    struct scripted_port script = { 0 };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    call_fails(&f);
    f.world.looks_again = true;
    fake_side(&f.world.sides_last[0], KVMIG__STATE_ABSENT, KVMIG__REASON_OTHER, false);
    fake_side(&f.world.sides_last[1], KVMIG__STATE_RUNNING, KVMIG__REASON_OTHER, false);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_INDETERMINATE);
    assert_null(strstr(script.log, "rollback"));
    assert_true(fake_heard(&f.caller, "notice PORT_LEFT_PREPARED"));
    end(&f, &script);
}

/* ---- cancelling does not wait for a port ---- */

static void cancel_is_answered_while_a_port_is_silent(void **state)
{
    struct scripted_port script = { .verify = ACT_NEVER };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    f.caller.cancel_at = KVMIG_PHASE_TARGET_READY;
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    assert_true(fake_heard(&f.caller, "cancel accepted"));
    assert_null(strstr(f.world.log, "migrate"));
    assert_non_null(strstr(script.log, "rollback(host-0)"));
    end(&f, &script);
}

static void preparation_that_fails_after_a_cancel_is_not_tried_again(void **state)
{
    struct scripted_port script = { .prepare = ACT_NEVER };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    f.caller.cancel_at = KVMIG_PHASE_SCHEDULED;
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, was_prepared, &script);
    fake_drain(&f.world);
    kvmig_port_op_done(script.waiting, -EIO, NULL);
    script.waiting = NULL;
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    assert_string_equal(script.log, "prepare(host-0,host-1) rollback(host-0)");
    end(&f, &script);
}

static void cancel_while_the_call_runs_rolls_back(void **state)
{
    struct scripted_port script = { 0 };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    call_fails(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    f.caller.cancel_at = KVMIG_PHASE_RUNNING;
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    assert_non_null(strstr(script.log, "rollback(host-0)"));
    end(&f, &script);
}

/* ---- a port that does not follow ---- */

static void guest_that_moved_is_a_success_although_its_port_did_not_follow(void **state)
{
    struct scripted_port script = { .converge = ACT_FAIL };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_true(fake_heard(&f.caller, "notice PORT_NOT_CONVERGED"));
    end(&f, &script);
}

static void silent_port_is_waited_for_until_its_deadline_only(void **state)
{
    struct scripted_port script = { .converge = ACT_NEVER };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_true(fake_heard(&f.caller, "notice PORT_NOT_CONVERGED"));
    end(&f, &script);
}

/* Both attempts run out of time, and it is the port that is named, not a host. */
static void silent_preparation_fails_with_the_ports_own_error(void **state)
{
    struct scripted_port script = { .prepare = ACT_NEVER };
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.opts.step_timeout_ms = 100;
    open_port(&f, &script, "nic0");
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_add_port(f.session, script.port), 0);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -ETIMEDOUT);
    assert_non_null(strstr(f.caller.end_message, "nic0"));
    end(&f, &script);
}

static void port_that_is_not_rolled_back_is_named(void **state)
{
    struct scripted_port script = { .rollback = ACT_FAIL };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    call_fails(&f);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_true(fake_heard(&f.caller, "notice PORT_NOT_ROLLED_BACK"));
    end(&f, &script);
}

/* ---- a hypervisor that plugs the interface in the migrate call ---- */

static int32_t was_verified(void *data)
{
    return strstr(((struct scripted_port *)data)->log, "verify") != NULL;
}

static void late_interface_is_verified_while_the_call_runs(void **state)
{
    struct scripted_port script = { 0 };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    f.world.plugs_late = true;
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, was_verified, &script);
    assert_true(fake_heard(&f.caller, "phase Running"));
    fake_answer_call(&f.world, NULL, false);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_string_equal(script.log, "prepare(host-0,host-1) verify converge(host-1)");
    end(&f, &script);
}

static void call_is_aborted_if_the_late_interface_is_not_proven(void **state)
{
    struct scripted_port script = { .verify = ACT_FAIL };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    call_fails(&f);
    f.world.plugs_late = true;
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -EIO);
    assert_int_equal(f.world.n_aborts, 1);
    assert_non_null(strstr(script.log, "rollback(host-0)"));
    end(&f, &script);
}

/* ---- several ports, several owners ---- */

static void one_port_that_fails_rolls_back_all(void **state)
{
    struct scripted_port good = { 0 }, bad = { .prepare = ACT_FAIL };
    struct fixture f;

    (void)state;
    begin(&f, &good);
    open_port(&f, &bad, "nic1");
    assert_int_equal(kvmig_session_add_port(f.session, bad.port), 0);
    run_to_end(&f);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_non_null(strstr(good.log, "rollback(host-0)"));
    assert_non_null(strstr(bad.log, "rollback(host-0)"));
    kvmig_session_unref(f.session);
    f.session = NULL;
    close_port(&f, &bad);
    end(&f, &good);
}

static void port_belongs_to_one_session_until_that_has_ended(void **state)
{
    struct scripted_port script = { 0 };
    struct kvmig_session *other;
    struct fixture f;

    (void)state;
    begin(&f, &script);
    other = f.session;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_add_port(f.session, script.port), -EBUSY);
    assert_int_equal(kvmig_port_prepare(script.port, "host-0", "host-1"), -EBUSY);
    assert_int_equal(kvmig_port_rollback(script.port), -EBUSY);
    kvmig_session_unref(f.session);
    f.session = f.caller.session = other;
    f.caller.n_frees--; /* that of the session which was refused */
    run_to_end(&f);
    assert_int_equal(kvmig_session_add_port(f.session, script.port), -KVMIG_EPHASE);
    assert_int_equal(kvmig_port_converge(script.port, "host-1"), 0);
    end(&f, &script);
}

/* A session that plans at its start has no plan yet, and the port may have been prepared by its caller before. */
static void port_may_change_before_the_session_has_a_plan(void **state)
{
    struct kvmig_plan_opts plan = KVMIG_PLAN_OPTS_INIT;
    struct scripted_port script = { 0 };
    struct fixture f;

    (void)state;
    open_fixture(&f);
    open_port(&f, &script, "nic0");
    plan.vm = "vm-0";
    f.opts.plan_opts = &plan;
    assert_int_equal(kvmig_session_new(f.world.cluster, NULL, &f.opts, &f.session), 0);
    assert_int_equal(kvmig_session_add_port(f.session, script.port), 0);
    kvmig__context_lock(f.world.context);
    kvmig__port_set_state(script.port, KVMIG_PORT_ACTIVATED);
    kvmig__context_unlock(f.world.context);
    fake_drain(&f.world);
    assert_true(fake_heard(&f.caller, "port nic0 activated"));
    assert_int_equal(fake_count(&f.caller, "notice"), 0);
    end(&f, &script);
}

static void session_that_never_starts_lets_go_of_its_port(void **state)
{
    struct scripted_port script = { 0 };
    struct fixture f;

    (void)state;
    begin(&f, &script);
    kvmig_session_unref(f.session);
    f.session = NULL;
    assert_int_equal(kvmig_port_prepare(script.port, "host-0", "host-1"), 0);
    end(&f, &script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_is_prepared_verified_and_converges_to_the_target),
        cmocka_unit_test(port_that_was_prepared_early_is_prepared_again_before_the_target_is),
        cmocka_unit_test(verification_comes_before_the_call),
        cmocka_unit_test(port_that_cannot_be_prepared_twice_fails_the_session_and_is_rolled_back),
        cmocka_unit_test(failed_call_rolls_the_port_back_to_the_source),
        cmocka_unit_test(port_converges_to_a_guest_that_moved_although_the_call_failed),
        cmocka_unit_test(port_stays_prepared_when_it_is_not_known_where_the_guest_is),
        cmocka_unit_test(port_is_not_put_back_when_the_last_look_finds_the_guest_gone),
        cmocka_unit_test(cancel_is_answered_while_a_port_is_silent),
        cmocka_unit_test(preparation_that_fails_after_a_cancel_is_not_tried_again),
        cmocka_unit_test(cancel_while_the_call_runs_rolls_back),
        cmocka_unit_test(guest_that_moved_is_a_success_although_its_port_did_not_follow),
        cmocka_unit_test(silent_port_is_waited_for_until_its_deadline_only),
        cmocka_unit_test(silent_preparation_fails_with_the_ports_own_error),
        cmocka_unit_test(port_that_is_not_rolled_back_is_named),
        cmocka_unit_test(late_interface_is_verified_while_the_call_runs),
        cmocka_unit_test(call_is_aborted_if_the_late_interface_is_not_proven),
        cmocka_unit_test(one_port_that_fails_rolls_back_all),
        cmocka_unit_test(port_belongs_to_one_session_until_that_has_ended),
        cmocka_unit_test(port_may_change_before_the_session_has_a_plan),
        cmocka_unit_test(session_that_never_starts_lets_go_of_its_port),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
