/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See kube_world_session.h. Everything runs on the test's thread, but for the server.
 */
#include "kube_world_session.h"

#include <stdio.h>

#define HANDED_OVER                                                                                                    \
    "'migrationUid':'%s','sourceNode':'node-a','sourcePod':'launcher-vm1','targetNode':'node-b','targetPod':'target'," \
    "'mode':'%s'"

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

void write_vmi(struct test *test, const char *node, const char *more)
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
        char *name = kvmig__strdup(
            json_object_get_string(json_object_object_get(json_object_object_get(vmim, "metadata"), "name")));

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
void play(struct test *test)
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

static void KVMIG__PRINTF(2, 3) note(struct port *port, const char *fmt, ...)
{
    const size_t n = strlen(port->log);
    va_list args;
    char *text;

    va_start(args, fmt);
    text = kvmig__vasprintf(fmt, args);
    va_end(args);
    snprintf(port->log + n, sizeof(port->log) - n, "%s%s", n ? " " : "", text);
    free(text);
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
    note(&((struct test *)data)->port, "verify");
    kvmig_port_op_done(op, 0, NULL);
}

static void on_converge(struct kvmig_port_op *op, const char *winner, void *data)
{
    note(&((struct test *)data)->port, "converge(%s)", winner);
    kvmig_port_op_done(op, 0, NULL);
}

static void on_rollback(struct kvmig_port_op *op, const char *source, void *data)
{
    note(&((struct test *)data)->port, "rollback(%s)", source);
    kvmig_port_op_done(op, 0, NULL);
}

static void on_port_free(void *data)
{
    ((struct test *)data)->port.n_frees++;
}

void add_port(struct test *test)
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

struct kvmig_session *new_session(struct test *test, struct world_ear *ear)
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

int set_up(void **state)
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

void let_go(struct test *test, struct kvmig_session *session, struct world_ear *ear)
{
    kvmig_session_unref(session);
    world_run(test->context, is_freed, ear, "the session's callback to be freed");
    assert_int_equal(ear->n_late, 0);
    world_ear_clear(ear);
}

int tear_down(void **state)
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

void run_to_end(struct test *test, int32_t phase, int32_t error)
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

void run_to(struct test *test, int32_t phase)
{
    test->stop_at = phase;
    world_run(test->context, is_stopped, test, kvmig_phase_name(phase));
    test->stop_at = 0;
}

void start(struct test *test)
{
    assert_int_equal(kvmig_session_start(test->session), 0);
}

void assert_phases(struct test *test, const char *expected)
{
    char *phases = world_phases(&test->ear);

    assert_string_equal(phases, expected);
    free(phases);
}

#define ALL_PHASES "Pending Scheduling Scheduled PreparingTarget TargetReady Running Finalizing Succeeded"

void assert_moved(struct test *test)
{
    run_to_end(test, KVMIG_PHASE_SUCCEEDED, 0);
    assert_phases(test, ALL_PHASES);
    assert_int_equal(world_count(test->server, KVMIG__KUBE_VMIM), 1);
}
