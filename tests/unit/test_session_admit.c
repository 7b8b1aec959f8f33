/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sessions on a platform that migrates by itself: it is asked first (ADMIT), chooses the target, and what it was asked is withdrawn
 * when the session does not want it any more. And what goes with it: ports that follow a target that changes, checkpoints, two
 * sessions for one VM. The platform is a driver of the test's own.
 */
#include "port/port_internal.h"
#include "scripted_port.h"

#include "base/json_internal.h"

static void begin(struct fixture *f)
{
    open_fixture(f);
    f->world.admits = true;
}

static int32_t is_admitting(void *data)
{
    return strstr(((struct fixture *)data)->world.log, "admit") != NULL;
}

static void start_and_wait(struct fixture *f)
{
    f->world.steps[KVMIG__STEP_ADMIT] = FAKE_NEVER;
    new_session(f, 0, 0);
    assert_int_equal(kvmig_session_start(f->session), 0);
    fake_run(&f->world, is_admitting, f);
}

static void answer_admit(struct fixture *f, struct kvmig_error *error)
{
    fake_answer_step(&f->world, KVMIG__STEP_ADMIT, error);
}

static void admit_comes_first_and_in_pending(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    start_and_wait(&f);
    assert_int_equal(kvmig_session_phase(f.session), KVMIG_PHASE_PENDING);
    answer_admit(&f, NULL);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_string_equal(f.world.log, "admit schedule prepare migrate locate finish");
    assert_int_equal(f.world.n_withdrawn, 0);
    close_fixture(&f);
}

static void cancel_in_pending_withdraws_and_says_what_it_will_do(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    f.world.cancel_effect = KVMIG_CANCEL_DEFERRED;
    start_and_wait(&f);
    assert_int_equal(kvmig_session_cancel(f.session), 0);
    assert_int_equal(f.world.n_withdrawn, 1);
    answer_admit(&f, kvmig__error_new(ECANCELED, "mig1", NULL, NULL, "deleted"));
    fake_run(&f.world, fake_ended, &f.caller);
    assert_true(fake_heard(&f.caller, "cancel deferred"));
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_CANCELLED);
    assert_string_equal(f.world.log, "admit locate");
    close_fixture(&f);
}

static void refusal_is_withdrawn_and_told(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    start_and_wait(&f);
    answer_admit(&f, kvmig__error_new(KVMIG_EBLOCKED, "mig1", NULL, NULL, "denied by a webhook"));
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -KVMIG_EBLOCKED);
    assert_int_equal(f.world.n_withdrawn, 1);
    close_fixture(&f);
}

static void drivers_own_deadline_ends_the_wait(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    f.world.admit_by_ms = 30;
    start_and_wait(&f);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -ETIMEDOUT);
    assert_int_equal(f.world.n_withdrawn, 1);
    close_fixture(&f);
}

static void tell_target(struct fixture *f, const char *node)
{
    kvmig__context_lock(f->world.context);
    kvmig__session_target(f->session, node);
    kvmig__context_unlock(f->world.context);
    fake_drain(&f->world);
}

static int32_t knows_the_new_target(void *data)
{
    return strstr(((struct scripted_port *)data)->log, "host-7") != NULL;
}

static void port_is_prepared_in_pending_and_follows_another_target(void **state)
{
    struct scripted_port script = { 0 };
    struct fixture f;
    char *report = NULL;

    (void)state;
    begin(&f);
    open_port(&f, &script, "nic0");
    f.world.steps[KVMIG__STEP_ADMIT] = FAKE_NEVER;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_add_port(f.session, script.port), 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, is_admitting, &f);
    assert_string_equal(script.log, "");
    tell_target(&f, "host-1");
    tell_target(&f, "host-1");
    assert_string_equal(script.log, "prepare(host-0,host-1)");
    tell_target(&f, "host-7");
    fake_run(&f.world, knows_the_new_target, &script);
    assert_string_equal(script.log, "prepare(host-0,host-1) rollback(host-0) prepare(host-0,host-7)");
    answer_admit(&f, NULL);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_non_null(strstr(script.log, "converge(host-7)"));
    assert_int_equal(kvmig_session_report(f.session, &report), 0);
    assert_non_null(strstr(report, "\"target\":\"host-7\""));
    free(report);
    kvmig_session_unref(f.session);
    f.session = NULL;
    close_port(&f, &script);
    close_fixture(&f);
}

static void second_session_for_a_vm_is_refused_with_the_firsts_name(void **state)
{
    struct kvmig_session *first;
    struct fixture f;

    (void)state;
    begin(&f);
    f.opts.on_event = (struct kvmig_event_callback){ NULL, NULL, NULL };
    start_and_wait(&f);
    first = f.session;
    f.opts.on_event = fake_callback(&f.caller);
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(f.caller.end_error, -KVMIG_EBLOCKED);
    assert_non_null(strstr(f.caller.end_message, kvmig_session_id(first)));
    answer_admit(&f, NULL);
    kvmig_session_unref(first);
    fake_drain(&f.world);
    close_fixture(&f);
}

static const struct kvmig_wait *wait_with(const struct kvmig_explanation *why, const char *code)
{
    for (size_t i = 0; i < kvmig_explanation_count(why); i++)
        if (strcmp(kvmig_explanation_wait(why, i)->code, code) == 0)
            return kvmig_explanation_wait(why, i);
    return NULL;
}

static void session_explains_its_step_and_its_ports(void **state)
{
    struct kvmig_explanation *why = NULL;
    struct kvmig_diagnosis *diagnosis = NULL;
    struct scripted_port script = { .prepare = ACT_NEVER };
    const struct kvmig_wait *wait;
    struct fixture f;

    (void)state;
    begin(&f);
    open_port(&f, &script, "nic0");
    f.world.steps[KVMIG__STEP_ADMIT] = FAKE_NEVER;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_add_port(f.session, script.port), 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, is_admitting, &f);
    tell_target(&f, "host-1");
    assert_int_equal(kvmig_session_explain(f.session, &why), 0);
    assert_string_equal(kvmig_explanation_verdict(why), "WAITING");
    wait = wait_with(why, "SESSION_STEP");
    assert_non_null(wait);
    assert_string_equal(wait->evidence, "ADMITTING");
    assert_true(wait->since_ms > 0 && wait->ends_ms > wait->since_ms);
    wait = wait_with(why, "WAITING_NETWORK_EVENT");
    assert_non_null(wait);
    assert_string_equal(wait->object, "lsp/nic0");
    assert_int_equal(kvmig_session_diagnose(f.session, &diagnosis), 0);
    assert_string_equal(kvmig_diagnosis_verdict(diagnosis), "WAITING");
    kvmig_diagnosis_unref(diagnosis);
    kvmig_explanation_unref(why);
    answer_admit(&f, kvmig__error_new(KVMIG_EBLOCKED, "mig1", NULL, NULL, "denied"));
    give_up_waiting(&script);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(kvmig_session_explain(f.session, &why), 0);
    assert_string_equal(kvmig_explanation_verdict(why), "FAILED");
    assert_non_null(strstr(kvmig_explanation_summary(why), "denied"));
    assert_int_equal(kvmig_session_diagnose(f.session, &diagnosis), 0);
    assert_string_equal(kvmig_diagnosis_verdict(diagnosis), "FAILED");
    kvmig_diagnosis_unref(diagnosis);
    kvmig_explanation_unref(why);
    kvmig_session_unref(f.session);
    f.session = NULL;
    close_port(&f, &script);
    close_fixture(&f);
}

static void checkpoint_reaches_the_caller_as_a_token(void **state)
{
    struct json_object *token = json_object_new_object();
    struct fixture f;

    (void)state;
    begin(&f);
    start_and_wait(&f);
    kvmig__json_add_str(token, "backend", "kubevirt");
    kvmig__context_lock(f.world.context);
    kvmig__session_checkpoint(f.session, token);
    kvmig__context_unlock(f.world.context);
    fake_drain(&f.world);
    assert_true(fake_heard(&f.caller, "checkpoint {\"backend\":\"kubevirt\"}"));
    answer_admit(&f, NULL);
    fake_run(&f.world, fake_ended, &f.caller);
    close_fixture(&f);
}

static void bad_tokens_are_refused_by_name(void **state)
{
    static const struct {
        const char *token;
        int32_t code;
        const char *says;
    } cases[] = {
        { NULL, -EINVAL, "NULL" },
        { "", -EINVAL, "JSON" },
        { "[1]", -EINVAL, "object" },
        { "{\"version\":99,\"backend\":\"kubevirt\",\"vm\":\"a/b\"}", -EINVAL, "version" },
        { "{\"version\":1,\"backend\":\"libvirt\",\"vm\":\"b\"}", -ENOTSUP, "KubeVirt" },
        { "{\"version\":1,\"backend\":\"kubevirt\"}", -EINVAL, "VM" },
        { "{\"version\":1,\"backend\":\"kubevirt\",\"vm\":\"a/b\"}", -EINVAL, "node" },
        { "{\"version\":1,\"backend\":\"kubevirt\",\"vm\":\"a/b\",\"source\":\"x\"} {}", -EINVAL, "not all of it" },
    };
    struct fixture f;

    (void)state;
    open_fixture(&f);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct kvmig_session *session = NULL;

        assert_int_equal(kvmig_session_resume(f.world.cluster, cases[i].token, NULL, &session), cases[i].code);
        assert_null(session);
        assert_non_null(strstr(kvmig_error_message(kvmig_error_last()), cases[i].says));
    }
    new_session(&f, 0, 0); /* which takes the caller's callback, so that the fixture can be closed */
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admit_comes_first_and_in_pending),
        cmocka_unit_test(cancel_in_pending_withdraws_and_says_what_it_will_do),
        cmocka_unit_test(refusal_is_withdrawn_and_told),
        cmocka_unit_test(drivers_own_deadline_ends_the_wait),
        cmocka_unit_test(port_is_prepared_in_pending_and_follows_another_target),
        cmocka_unit_test(second_session_for_a_vm_is_refused_with_the_firsts_name),
        cmocka_unit_test(session_explains_its_step_and_its_ports),
        cmocka_unit_test(checkpoint_reaches_the_caller_as_a_token),
        cmocka_unit_test(bad_tokens_are_refused_by_name),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
