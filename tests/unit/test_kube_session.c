/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sessions that start a migration, through the whole stack and over HTTP, to each of their ends.
 */
#include "kube_world_session.h"

#include <kvmig/explain.h>

#include <errno.h>

/* ---- to the end ---- */

static void the_guest_moves_and_its_port_is_prepared_while_it_is_pending(void **state)
{
    struct test *test = *state;

    add_port(test);
    start(test);
    assert_moved(test);
    assert_int_equal(test->port.prepared_in, KVMIG_PHASE_PENDING);
    assert_true(kvmig__str_starts(test->port.log, "prepare(node-a,node-b) "));
    assert_non_null(strstr(test->port.log, " verify converge(node-b)"));
    assert_int_equal(world_asked(test->server, "POST " VMIMS "?dryRun=All$"), 1);
    assert_int_equal(world_asked(test->server, "POST " VMIMS "$"), 1);
    assert_int_equal(world_asked(test->server, "DELETE"), 0);
    assert_int_equal(world_heard(&test->view.ear, "ns1/vm1 Running"), 1); /* the view tells of it, too */
}

static void an_answer_that_is_lost_makes_no_second_migration(void **state)
{
    struct test *test = *state;

    world_fault(test->server, &(struct world_fault){ .match = "POST " VMIMS "$", .how = WORLD_FAULT_LOSE, .times = 1 });
    start(test);
    assert_moved(test);
    assert_int_equal(world_asked(test->server, "POST " VMIMS "$"), 1);
}

/* Nothing arrived, which nobody can know: it is looked for before it is asked for again. */
static void a_request_that_is_lost_is_repeated_after_a_look(void **state)
{
    struct test *test = *state;

    world_fault(test->server,
                &(struct world_fault){ .match = "POST " VMIMS "$", .how = WORLD_FAULT_CLOSE, .times = 1 });
    start(test);
    assert_moved(test);
    assert_int_equal(world_asked(test->server, "POST " VMIMS "$"), 2);
    assert_true(world_asked(test->server, "GET " VMIMS "/kvmig-") >= 2);
}

static void a_server_in_trouble_is_asked_again(void **state)
{
    struct test *test = *state;

    world_fault(test->server, &(struct world_fault){ .match = "dryRun=All$",
                                                     .how = WORLD_FAULT_ANSWER,
                                                     .status = 429,
                                                     .reason = "TooManyRequests",
                                                     .retry_after_s = 1,
                                                     .times = 1 });
    world_fault(test->server,
                &(struct world_fault){ .match = "dryRun=All$", .how = WORLD_FAULT_ANSWER, .status = 500, .times = 1 });
    start(test);
    assert_moved(test);
    assert_int_equal(world_asked(test->server, "dryRun=All$"), 3);
}

static void watches_that_break_do_not_matter(void **state)
{
    struct test *test = *state;

    start(test);
    run_to(test, KVMIG_PHASE_SCHEDULED);
    assert_true(world_cut(test->server, -1, WORLD_CUT_IN_LINE) > 0);
    run_to(test, KVMIG_PHASE_RUNNING);
    assert_true(world_cut(test->server, -1, WORLD_CUT_EXPIRED) > 0);
    world_compact(test->server);
    assert_moved(test);
}

static bool is_left(void *data)
{
    struct test *test = data;

    play(test);
    return test->phase == KVMIG_PHASE_SUCCEEDED && world_connections(test->server) == 0;
}

/* Its events are over, but it goes on to its end, and then the view goes as well. */
static void a_session_that_nobody_holds_comes_to_its_end(void **state)
{
    struct test *test = *state;

    start(test);
    run_to(test, KVMIG_PHASE_PENDING);
    test->unheld = true;
    kvmig_session_unref(test->session);
    kvmig_cluster_unref(test->view.cluster);
    world_run(test->context, is_left, test, "the session to end and the view to be closed");
    assert_false(test->ear.ended);
}

/* ---- refused ---- */

static void a_refusal_of_the_dry_run_is_final_and_in_the_servers_words(void **state)
{
    struct test *test = *state;

    world_fault(test->server,
                &(struct world_fault){ .match = "dryRun=All$",
                                       .how = WORLD_FAULT_ANSWER,
                                       .status = 403,
                                       .reason = "Forbidden",
                                       .message = "admission webhook migration-create denied the request: Cannot "
                                                  "migrate VMI, Reason: DisksNotLiveMigratable",
                                       .times = 1 });
    start(test);
    run_to_end(test, KVMIG_PHASE_FAILED, -KVMIG_EBLOCKED);
    assert_non_null(strstr(test->ear.message, "DisksNotLiveMigratable"));
    assert_phases(test, "Pending RollingBack Failed");
    assert_int_equal(world_asked(test->server, "POST " VMIMS "$"), 0);
    assert_int_equal(world_count(test->server, KVMIG__KUBE_VMIM), 0);
}

static void a_missing_right_is_named(void **state)
{
    struct test *test = *state;

    world_fault(test->server,
                &(struct world_fault){ .match = "dryRun=All$",
                                       .how = WORLD_FAULT_ANSWER,
                                       .status = 403,
                                       .reason = "Forbidden",
                                       .message = "migrations is forbidden: User me cannot create resource",
                                       .times = 1 });
    start(test);
    run_to_end(test, KVMIG_PHASE_FAILED, -EPERM);
    assert_non_null(strstr(test->ear.message, "lacks the right to create"));
}

static void somebody_who_comes_first_is_named(void **state)
{
    struct test *test = *state;

    world_fault(test->server, &(struct world_fault){ .match = "dryRun=All$", .how = WORLD_FAULT_HOLD, .times = 1 });
    start(test);
    world_wait_asked(&test->view, "dryRun=All$", 1);
    world_vmim(test->server, "theirs", "uid-theirs", "vm1", "Pending");
    world_wait_heard(&test->view, "migration ns1/theirs", 1);
    test->phase = test->stop_at = KVMIG_PHASE_PENDING; /* theirs is not played */
    world_release(test->server);
    run_to_end(test, KVMIG_PHASE_FAILED, -KVMIG_EBLOCKED);
    assert_non_null(strstr(test->ear.message, "ns1/theirs"));
    assert_int_equal(world_count(test->server, KVMIG__KUBE_VMIM), 1);
    assert_int_equal(world_asked(test->server, "DELETE"), 0);
}

static bool ear_ended(void *data)
{
    return ((struct world_ear *)data)->ended;
}

static void one_vm_has_one_session_at_a_time(void **state)
{
    struct test *test = *state;
    struct world_ear ear = { 0 };
    struct kvmig_session *second = new_session(test, &ear);

    start(test);
    run_to(test, KVMIG_PHASE_SCHEDULED);
    assert_int_equal(kvmig_session_start(second), 0);
    world_run(test->context, ear_ended, &ear, "the end of the second session");
    assert_int_equal(ear.end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(ear.error, -KVMIG_EBLOCKED);
    assert_moved(test);
    assert_int_equal(world_asked(test->server, "POST " VMIMS "$"), 1);
    let_go(test, second, &ear);
}

/* ---- cancelled ---- */

static void a_cancel_in_pending_deletes_the_migration(void **state)
{
    struct test *test = *state;

    start(test);
    run_to(test, KVMIG_PHASE_PENDING);
    assert_int_equal(kvmig_session_cancel(test->session), 0);
    test->stop_at = KVMIG_PHASE_PENDING;
    run_to_end(test, KVMIG_PHASE_CANCELLED, 0);
    assert_int_equal(world_heard(&test->ear, "cancel accepted"), 1);
    assert_phases(test, "Pending RollingBack Cancelled");
    assert_int_equal(world_asked(test->server, "DELETE " VMIMS "/"), 1);
    assert_int_equal(world_count(test->server, KVMIG__KUBE_VMIM), 0);
}

static void a_cancel_before_the_migration_exists_creates_none(void **state)
{
    struct test *test = *state;

    world_fault(test->server, &(struct world_fault){ .match = "dryRun=All$", .how = WORLD_FAULT_HOLD, .times = 1 });
    start(test);
    world_wait_asked(&test->view, "dryRun=All$", 1);
    assert_int_equal(kvmig_session_cancel(test->session), 0);
    run_to_end(test, KVMIG_PHASE_CANCELLED, 0);
    world_release(test->server);
    assert_int_equal(world_asked(test->server, "POST " VMIMS "$"), 0);
}

static void a_cancel_while_the_answer_is_under_way_deletes_what_was_created(void **state)
{
    struct test *test = *state;

    world_fault(test->server, &(struct world_fault){ .match = "POST " VMIMS "$", .how = WORLD_FAULT_HOLD, .times = 1 });
    start(test);
    world_wait_asked(&test->view, "POST " VMIMS "$", 1);
    assert_int_equal(kvmig_session_cancel(test->session), 0);
    test_drain(test->context);
    world_release(test->server);
    test->stop_at = KVMIG_PHASE_PENDING;
    run_to_end(test, KVMIG_PHASE_CANCELLED, 0);
    assert_int_equal(world_count(test->server, KVMIG__KUBE_VMIM), 0);
}

static bool was_refused(void *data)
{
    return world_heard(&((struct test *)data)->ear, "cancel refused") > 0;
}

static void a_cancel_in_postcopy_is_refused_and_the_guest_moves(void **state)
{
    struct test *test = *state;

    start(test);
    run_to(test, KVMIG_PHASE_RUNNING);
    test->mode = "PostCopy";
    write_vmi(test, "node-a", ",'startTimestamp':'2026-11-30T11:00:03Z'");
    world_wait_has(&test->view, KVMIG__KUBE_VMI, "ns1", "vm1",
                   world_version(test->server, KVMIG__KUBE_VMI, "ns1", "vm1"));
    assert_int_equal(kvmig_session_cancel(test->session), 0);
    world_run(test->context, was_refused, test, "the cancel to be refused");
    assert_int_equal(world_asked(test->server, "DELETE"), 0);
    assert_moved(test);
    assert_int_equal(world_heard(&test->ear, "mode PostCopy"), 1);
}

/* ---- asked meanwhile ---- */

static bool waits_for_the_pod(void *data)
{
    struct test *test = data;
    struct kvmig_explanation *explanation = NULL;
    const struct kvmig_wait *wait;
    bool does;

    assert_int_equal(kvmig_session_explain(test->session, &explanation), 0);
    wait = kvmig_explanation_wait(explanation, 0);
    does = wait && kvmig__str_eq(wait->object, "pod/ns1/target") && kvmig__str_eq(wait->code, "TARGET_UNSCHEDULABLE");
    kvmig_explanation_unref(explanation);
    return does;
}

static void a_waiting_session_says_what_for(void **state)
{
    struct test *test = *state;

    start(test);
    run_to(test, KVMIG_PHASE_PENDING);
    world_say(test->server,
              "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'ns1','name':'target','uid':'pod-target',"
              "'labels':{'kubevirt.io':'virt-launcher','kubevirt.io/created-by':'" WORLD_VMI_UID
              "','kubevirt.io/migrationJobUID':'%s'}},'spec':{'containers':[{'name':'compute'}]},'status':{'phase':"
              "'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable','message':"
              "'0/2 nodes are available: 2 Insufficient memory.'}]}}",
              test->uid);
    world_run(test->context, waits_for_the_pod, test, "the explanation to name the pod");
    assert_moved(test);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(the_guest_moves_and_its_port_is_prepared_while_it_is_pending),
        CASE(an_answer_that_is_lost_makes_no_second_migration),
        CASE(a_request_that_is_lost_is_repeated_after_a_look),
        CASE(a_server_in_trouble_is_asked_again),
        CASE(watches_that_break_do_not_matter),
        CASE(a_session_that_nobody_holds_comes_to_its_end),
        CASE(a_refusal_of_the_dry_run_is_final_and_in_the_servers_words),
        CASE(a_missing_right_is_named),
        CASE(somebody_who_comes_first_is_named),
        CASE(one_vm_has_one_session_at_a_time),
        CASE(a_cancel_in_pending_deletes_the_migration),
        CASE(a_cancel_before_the_migration_exists_creates_none),
        CASE(a_cancel_while_the_answer_is_under_way_deletes_what_was_created),
        CASE(a_cancel_in_postcopy_is_refused_and_the_guest_moves),
        CASE(a_waiting_session_says_what_for),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
