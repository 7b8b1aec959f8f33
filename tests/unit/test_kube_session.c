/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sessions that start a migration, through the whole stack and over HTTP. The test plays KubeVirt: it sees the VMIM in the API
 * server, and writes what KubeVirt's controllers would write, one phase after the other, each once the session has seen the last.
 */
#include "kube_world_test.h"

#include <kvmig/explain.h>

#include <errno.h>
#include <stdio.h>

#define VMIMS "/apis/kubevirt.io/v1/namespaces/ns1/virtualmachineinstancemigrations"
#define HANDED_OVER                                                                                                    \
    "'migrationUid':'%s','sourceNode':'node-a','sourcePod':'launcher-vm1','targetNode':'node-b','targetPod':'target',"  \
    "'mode':'%s'"

struct port {
    struct kvmig_port *port;
    char log[200];
    int32_t prepared_in; /* phase of the session when prepare came */
    int n_frees;
};

struct test {
    struct kvmig_context *context;
    struct world_server *server;
    struct world_view view;
    struct world_ear ear;
    struct kvmig_session *session;
    struct kvmig_session_opts opts;
    struct port port;
    /* KubeVirt */
    int32_t phase; /* what the VMIM was told to be in */
    int32_t stop_at; /* phase to go no further than; 0 = to the end */
    const char *mode;
    char *uid; /* of the VMIM */
    bool unheld; /* session and view were let go of */
};

/* ---- KubeVirt's part ---- */

static void write_vmim(struct test *test, struct json_object *vmim, int32_t phase)
{
    struct json_object *status = json_object_new_object();

    json_object_object_add(status, "phase", json_object_new_string(kvmig_phase_name(phase)));
    json_object_object_add(vmim, "status", status);
    json_object_object_add(json_object_object_get(vmim, "metadata"), "finalizers",
                           world_json("['kubevirt.io/migrationJobFinalize']"));
    world_put(test->server, vmim);
    test->phase = phase;
}

static void write_vmi(struct test *test, const char *node, const char *more)
{
    char *state = kvmig__asprintf(HANDED_OVER "%s", test->uid, test->mode, more);

    world_vmi(test->server, "vm1", WORLD_VMI_UID, node, state);
    free(state);
}

/* What goes with the VMIM's next phase. */
static void do_what_precedes(struct test *test, int32_t phase)
{
    switch (phase) {
    case KVMIG_PHASE_PENDING: /* the pod comes while it is in Pending */
        break;
    case KVMIG_PHASE_SCHEDULING:
        world_target(test->server, "target", WORLD_VMI_UID, test->uid, "node-b", "Pending");
        break;
    case KVMIG_PHASE_SCHEDULED:
        world_target(test->server, "target", WORLD_VMI_UID, test->uid, "node-b", "Running");
        break;
    case KVMIG_PHASE_PREPARING_TARGET:
        write_vmi(test, "node-a", "");
        break;
    case KVMIG_PHASE_RUNNING:
        write_vmi(test, "node-a", ",'startTimestamp':'2026-11-30T11:00:03Z'");
        break;
    case KVMIG_PHASE_SUCCEEDED:
        write_vmi(test, "node-b",
                  ",'startTimestamp':'2026-11-30T11:00:03Z','targetNodeDomainReadyTimestamp':'2026-11-30T11:00:07Z',"
                  "'completed':true,'endTimestamp':'2026-11-30T11:00:08Z'");
        break;
    default:
        break;
    }
}

static int32_t phase_after(int32_t phase)
{
    static const int32_t order[] = { KVMIG_PHASE_UNSET,     KVMIG_PHASE_PENDING,          KVMIG_PHASE_SCHEDULING,
                                     KVMIG_PHASE_SCHEDULED, KVMIG_PHASE_PREPARING_TARGET, KVMIG_PHASE_TARGET_READY,
                                     KVMIG_PHASE_RUNNING,   KVMIG_PHASE_SUCCEEDED };
    size_t i = 0;

    while (order[i] != phase)
        i++;
    return order[i + 1];
}

/* Deleted: before the hand-off it is over at once. */
static void end_deleted(struct test *test)
{
    world_remove(test->server, KVMIG__KUBE_POD, "ns1", "target", NULL);
    while (world_count(test->server, KVMIG__KUBE_VMIM)) {
        struct json_object *vmim = world_first(test->server, KVMIG__KUBE_VMIM);
        char *name =
            kvmig__strdup(json_object_get_string(json_object_object_get(json_object_object_get(vmim, "metadata"), "name")));

        write_vmim(test, vmim, KVMIG_PHASE_FAILED);
        world_remove(test->server, KVMIG__KUBE_VMIM, "ns1", name, NULL);
        free(name);
    }
}

static bool has_seen(struct test *test, const char *vmim)
{
    return test->unheld || (kvmig_session_phase(test->session) >= test->phase &&
                            world_in_step(&test->view, KVMIG__KUBE_VMIM, "ns1", vmim));
}

/* One step, if there is a VMIM and the session has seen the last one. */
static void play(struct test *test)
{
    struct json_object *vmim = world_first(test->server, KVMIG__KUBE_VMIM), *meta;
    int32_t next;

    if (!vmim)
        return;
    meta = json_object_object_get(vmim, "metadata");
    kvmig__str_set(&test->uid, json_object_get_string(json_object_object_get(meta, "uid")));
    if (json_object_object_get(meta, "deletionTimestamp")) {
        json_object_put(vmim);
        end_deleted(test);
        return;
    }
    next = test->phase == KVMIG_PHASE_SUCCEEDED ? 0 : phase_after(test->phase);
    if (!next || (test->stop_at && next > test->stop_at) ||
        !has_seen(test, json_object_get_string(json_object_object_get(meta, "name")))) {
        json_object_put(vmim);
        return;
    }
    if (next == KVMIG_PHASE_SCHEDULING && test->port.port && !test->port.log[0]) {
        if (world_version(test->server, KVMIG__KUBE_POD, "ns1", "target") == 0)
            do_what_precedes(test, next); /* the pod is there, and on its node, before the phase says so */
        json_object_put(vmim);
        return;
    }
    do_what_precedes(test, next);
    write_vmim(test, vmim, next);
}

/* ---- the port ---- */

static void note(struct port *port, const char *fmt, const char *a, const char *b)
{
    const size_t n = strlen(port->log);

    snprintf(port->log + n, sizeof(port->log) - n, "%s", n ? " " : "");
    snprintf(port->log + strlen(port->log), sizeof(port->log) - strlen(port->log), fmt, a, b);
}

static void on_prepare(struct kvmig_port_op *op, const char *source, const char *target, void *data)
{
    struct test *test = data;

    if (!test->port.log[0])
        test->port.prepared_in = kvmig_session_phase(test->session);
    note(&test->port, "prepare(%s,%s)", source, target);
    kvmig_port_op_done(op, 0, NULL);
}

static void on_verify(struct kvmig_port_op *op, void *data)
{
    note(&((struct test *)data)->port, "verify%s%s", "", "");
    kvmig_port_op_done(op, 0, NULL);
}

static void on_converge(struct kvmig_port_op *op, const char *winner, void *data)
{
    note(&((struct test *)data)->port, "converge(%s)%s", winner, "");
    kvmig_port_op_done(op, 0, NULL);
}

static void on_rollback(struct kvmig_port_op *op, const char *source, void *data)
{
    note(&((struct test *)data)->port, "rollback(%s)%s", source, "");
    kvmig_port_op_done(op, 0, NULL);
}

static void on_port_free(void *data)
{
    ((struct test *)data)->port.n_frees++;
}

static void add_port(struct test *test)
{
    const struct kvmig_port_backend backend = {
        .size = sizeof(backend),
        .prepare = on_prepare,
        .verify = on_verify,
        .converge = on_converge,
        .rollback = on_rollback,
        .user_data = test,
        .free = on_port_free,
    };
    struct kvmig_port_opts opts = KVMIG_PORT_OPTS_INIT;

    opts.name = "vm1";
    assert_int_equal(kvmig_port_open_backend(test->context, &backend, &opts, &test->port.port), 0);
    assert_int_equal(kvmig_session_add_port(test->session, test->port.port), 0);
}

/* ---- set-up ---- */

static struct kvmig_session *new_session(struct test *test, struct world_ear *ear)
{
    struct kvmig_session *session = NULL;
    struct kvmig_plan_opts plan = KVMIG_PLAN_OPTS_INIT;

    plan.vm = "ns1/vm1";
    test->opts.plan_opts = &plan;
    test->opts.on_event = world_callback(ear);
    if (kvmig_session_new(test->view.cluster, NULL, &test->opts, &session) != 0)
        fail_msg("%s", kvmig_error_message(kvmig_error_last()));
    return session;
}

static int set_up(void **state)
{
    struct test *test = kvmig__calloc(1, sizeof(*test));

    test_set_alarm();
    test->context = test_context_new(0);
    test->server = world_server_new();
    test->mode = "PreCopy";
    test->opts = (struct kvmig_session_opts)KVMIG_SESSION_OPTS_INIT;
    world_populate(test->server);
    world_view_open(&test->view, test->context, test->server, NULL);
    world_wait_synced(&test->view);
    test->session = new_session(test, &test->ear);
    test->ear.session = test->session;
    *state = test;
    return 0;
}

static bool is_freed(void *data)
{
    return ((struct world_ear *)data)->n_frees > 0;
}

static void let_go(struct test *test, struct kvmig_session *session, struct world_ear *ear)
{
    kvmig_session_unref(session);
    world_run(test->context, is_freed, ear, "the session's callback to be freed");
    assert_int_equal(ear->n_late, 0);
    world_ear_clear(ear);
}

static int tear_down(void **state)
{
    struct test *test = *state;

    if (!test->unheld) {
        let_go(test, test->session, &test->ear);
        kvmig_port_unref(test->port.port);
        kvmig_cluster_unref(test->view.cluster);
    }
    world_ear_clear(&test->ear);
    world_view_clear(&test->view);
    test_drain(test->context);
    assert_int_equal(test->port.n_frees, test->port.port ? 1 : 0);
    world_context_free(test->context);
    world_server_free(test->server);
    free(test->uid);
    free(test);
    return 0;
}

/* ---- running ---- */

static bool has_ended(void *data)
{
    struct test *test = data;

    play(test);
    return test->ear.ended;
}

static void run_to_end(struct test *test, int32_t phase, int32_t error)
{
    world_run(test->context, has_ended, test, "the end of the session");
    if (test->ear.end_phase != phase || test->ear.error != error)
        fail_msg("%s, %d %s (%s)", kvmig_phase_name(test->ear.end_phase), (int)test->ear.error, test->ear.message,
                 test->ear.evidence);
}

static bool is_stopped(void *data)
{
    struct test *test = data;

    play(test);
    return test->phase == test->stop_at && kvmig_session_phase(test->session) >= test->stop_at &&
           world_heard(&test->ear, "checkpoint");
}

static void run_to(struct test *test, int32_t phase)
{
    test->stop_at = phase;
    world_run(test->context, is_stopped, test, kvmig_phase_name(phase));
    test->stop_at = 0;
}

static void start(struct test *test)
{
    assert_int_equal(kvmig_session_start(test->session), 0);
}

static void assert_phases(struct test *test, const char *expected)
{
    char *phases = world_phases(&test->ear);

    assert_string_equal(phases, expected);
    free(phases);
}

#define ALL_PHASES "Pending Scheduling Scheduled PreparingTarget TargetReady Running Finalizing Succeeded"

static void assert_moved(struct test *test)
{
    run_to_end(test, KVMIG_PHASE_SUCCEEDED, 0);
    assert_phases(test, ALL_PHASES);
    assert_int_equal(world_count(test->server, KVMIG__KUBE_VMIM), 1);
}

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

    world_fault(test->server, &(struct world_fault){ .match = "POST " VMIMS "$", .how = WORLD_FAULT_CLOSE, .times = 1 });
    start(test);
    assert_moved(test);
    assert_int_equal(world_asked(test->server, "POST " VMIMS "$"), 2);
    assert_true(world_asked(test->server, "GET " VMIMS "$") >= 2);
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
    world_fault(test->server, &(struct world_fault){
                                  .match = "dryRun=All$", .how = WORLD_FAULT_ANSWER, .status = 500, .times = 1 });
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
