/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recorded migrations (tests/recordings) through the whole stack: each is fed, event by event, into an API server, while a session
 * follows it through client, reflectors, store, driver and state machine. All recordings are played side by side in one context,
 * each with a server and a view of its own, as fast as the view takes the events; watches may be cut meanwhile.
 */
#include "follow_test.h"
#include "kube_world_test.h"

#include "cluster/cluster_internal.h"

#include <errno.h>

#define TO_RUNNING "Pending Scheduling Scheduled PreparingTarget TargetReady Running "

static const struct scenario {
    const char *recording, *vm, *vmim;
    int32_t end_phase, error;
    const char *verdict, *verdict_late; /* late: what is provable when events were missed; NULL = the same */
    const char *target;
    const char *phases; /* the most that the session enters before it ends */
} scenarios[] = {
    { "01-happy", "vm1", "mig1", KVMIG_PHASE_SUCCEEDED, 0, "SUCCEEDED", NULL, "node-b", TO_RUNNING },
    { "02-unschedulable", "vm1", "mig1", KVMIG_PHASE_FAILED, -KVMIG_EMIGRATE, "TARGET_UNSCHEDULABLE", NULL, NULL,
      "Pending Scheduling " },
    { "03-image-pull", "vm1", "mig1", KVMIG_PHASE_FAILED, -KVMIG_EMIGRATE, "TARGET_IMAGE_PULL", "TARGET_POD_PENDING",
      "node-b", "Pending Scheduling " },
    { "04-cancel-scheduling", "vm1", "mig1", KVMIG_PHASE_FAILED, -ECANCELED, "CANCELLED", NULL, NULL,
      "Pending Scheduling " },
    { "05-cancel-preparing", "vm1", "mig1", KVMIG_PHASE_FAILED, -ECANCELED, "CANCELLED", NULL, "node-b",
      "Pending Scheduling Scheduled PreparingTarget " },
    { "06-cancel-running", "vm1", "mig1", KVMIG_PHASE_FAILED, -ECANCELED, "CANCELLED_BY_USER", NULL, "node-b",
      TO_RUNNING },
    { "07-source-reports-failure", "vm1", "mig1", KVMIG_PHASE_FAILED, -KVMIG_EMIGRATE, "CPU_FEATURE_MISSING", NULL,
      "node-b", TO_RUNNING },
    { "08-target-lost", "vm1", "mig1", KVMIG_PHASE_FAILED, -KVMIG_EMIGRATE, "TARGET_POD_LOST", NULL, "node-b",
      TO_RUNNING },
    { "09-hotplug", "vm1", "mig1", KVMIG_PHASE_SUCCEEDED, 0, "SUCCEEDED", NULL, "node-b", TO_RUNNING },
    { "10-hotplug-unschedulable", "vm1", "mig1", KVMIG_PHASE_CANCELLED, 0, "CANCELLED", NULL, NULL, "Pending " },
    { "11-slots", "vm1", "mig1", KVMIG_PHASE_SUCCEEDED, 0, "SUCCEEDED", NULL, "node-b", TO_RUNNING },
    { "11-slots", "vm1-2", "mig1-2", KVMIG_PHASE_SUCCEEDED, 0, "SUCCEEDED", NULL, "node-b", TO_RUNNING },
};

enum way { IN_ORDER, TWICE, CUT, EXPIRED };

struct replay {
    const struct scenario *scenario;
    enum way way;
    struct recording recording;
    struct world_server *server;
    struct world_view view;
    struct kvmig_session *session;
    struct world_ear ear;
    size_t next, first; /* step that is fed next; the first that is not of the first list */
    size_t cut; /* the number of the next cut; of MAX_CUTS */
    const struct step *awaited; /* the view has not taken it yet */
    bool cancelled, over;
};
#define MAX_CUTS 3

/* ---- feeding ---- */

static struct json_object *copy_of(struct json_object *json)
{
    struct json_object *copy = NULL;

    assert_int_equal(json_object_deep_copy(json, &copy, NULL), 0);
    return copy;
}

static void feed(struct replay *replay, const struct step *step)
{
    if (step->type == STEP_DELETED)
        world_remove(replay->server, step->kind, step->ns, step->name, copy_of(step->json));
    else
        world_put(replay->server, copy_of(step->json));
}

/* Events of pods are read only while the pod's migration runs. */
static bool is_of_a_followed_pod(struct replay *replay, const struct step *step)
{
    struct json_object *about = member(step->json, "involvedObject");
    const char *name = json_object_get_string(member(about, "name"));
    const struct kvmig__kube *kube;
    const struct kvmig__kube_pod *pod;
    const struct kvmig__kube_meta *vmim;
    bool is;

    kvmig__context_lock(replay->view.context);
    kube = kvmig__cluster_kube(replay->view.cluster);
    pod = KVMIG__KUBE_FIND(kube, POD, step->ns, name);
    vmim = pod ? kvmig__kube_find_uid(kube, KVMIG__KUBE_VMIM,
                                      kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/migrationJobUID"))
               : NULL;
    is = vmim && !kvmig__vmim_is_final((const struct kvmig__kube_vmim *)vmim);
    kvmig__context_unlock(replay->view.context);
    return is;
}

static bool was_taken(struct replay *replay)
{
    const struct step *step = replay->awaited;
    const char *about;

    if (!step || world_in_step(&replay->view, step->kind, step->ns, step->name))
        return true;
    if (step->kind != KVMIG__KUBE_EVENT)
        return false;
    about = json_object_get_string(member(member(step->json, "involvedObject"), "kind"));
    return kvmig__str_eq(about, "Pod") && !is_of_a_followed_pod(replay, step);
}

/* The watches break; what an EXPIRED one misses shows only in a new list, in which some events are one. */
static void cut_watches(struct replay *replay)
{
    static const enum world_cut ways[MAX_CUTS] = { WORLD_CUT_IN_LINE, WORLD_CUT_END, WORLD_CUT_CLOSE };
    const size_t n = replay->recording.n - replay->first;

    if (replay->way < CUT || replay->cut == MAX_CUTS ||
        replay->next < replay->first + (replay->cut + 1) * n / (MAX_CUTS + 1))
        return;
    assert_true(world_cut(replay->server, -1, replay->way == CUT ? ways[replay->cut] : WORLD_CUT_EXPIRED) > 0);
    replay->cut++;
    for (size_t i = 0; replay->way == EXPIRED && i < 2 && replay->next < replay->recording.n; i++)
        feed(replay, &replay->recording.v[replay->next++]);
    if (replay->way == EXPIRED)
        world_compact(replay->server);
}

static void begin_session(struct replay *replay)
{
    struct kvmig_session_opts opts = KVMIG_SESSION_OPTS_INIT;
    struct kvmig_plan_opts plan = KVMIG_PLAN_OPTS_INIT;
    char *vm = kvmig__asprintf("ns1/%s", replay->scenario->vm);

    plan.vm = vm;
    opts.plan_opts = &plan;
    opts.attach = replay->scenario->vmim;
    opts.on_event = world_callback(&replay->ear);
    if (kvmig_session_new(replay->view.cluster, NULL, &opts, &replay->session) != 0)
        fail_msg("%s", kvmig_error_message(kvmig_error_last()));
    assert_int_equal(kvmig_session_start(replay->session), 0);
    free(vm);
}

/* ---- the end ---- */

/* One that goes round in circles is cancelled; the test plays what KubeVirt does then. */
static void cancel(struct replay *replay)
{
    struct json_object *vmim;

    if (!replay->cancelled) {
        assert_int_equal(kvmig_session_phase(replay->session), KVMIG_PHASE_PENDING);
        assert_int_equal(kvmig_session_cancel(replay->session), 0);
        replay->cancelled = true;
    }
    vmim = world_get(replay->server, KVMIG__KUBE_VMIM, "ns1", replay->scenario->vmim);
    if (vmim && member(member(vmim, "metadata"), "deletionTimestamp")) {
        world_remove(replay->server, KVMIG__KUBE_VMIM, "ns1", replay->scenario->vmim, NULL);
        for (size_t i = replay->first; i < replay->recording.n; i++)
            if (replay->recording.v[i].kind == KVMIG__KUBE_POD)
                world_remove(replay->server, KVMIG__KUBE_POD, "ns1", replay->recording.v[i].name, NULL);
    }
    json_object_put(vmim);
}

static bool is_one_of(const char *text, const char *a, const char *b)
{
    return kvmig__str_eq(text, a) || (b && kvmig__str_eq(text, b));
}

static void check_report(struct replay *replay)
{
    const struct scenario *scenario = replay->scenario;
    struct json_object *report, *kubernetes;
    const char *verdict, *target;
    char *text = NULL;

    assert_int_equal(kvmig_session_report(replay->session, &text), 0);
    report = json_tokener_parse(text);
    kubernetes = member(report, "kubernetes");
    assert_non_null(kubernetes);
    verdict = json_object_get_string(member(member(kubernetes, "migration"), "verdict"));
    target = json_object_get_string(member(member(kubernetes, "target"), "node"));
    if (!is_one_of(verdict, scenario->verdict, replay->way == EXPIRED ? scenario->verdict_late : NULL))
        fail_msg("%s, way %d: %s instead of %s", scenario->recording, (int)replay->way,
                 verdict ? verdict : "no verdict", scenario->verdict);
    if (replay->way != EXPIRED || target)
        assert_true(kvmig__str_eq(target, scenario->target));
    json_object_put(report);
    free(text);
}

/* What moved went all the way, in order; others may have ended before the session came so far. */
static void check_phases(struct replay *replay)
{
    const bool moved = replay->scenario->end_phase == KVMIG_PHASE_SUCCEEDED;
    const char *last = moved                                               ? "Finalizing Succeeded"
                       : replay->scenario->end_phase == KVMIG_PHASE_FAILED ? "RollingBack Failed"
                                                                           : "RollingBack Cancelled";
    char *phases = world_phases(&replay->ear);
    const char *end = strstr(phases, last);

    if (!end || end[strlen(last)] || (moved && (size_t)(end - phases) != strlen(replay->scenario->phases)) ||
        strncmp(phases, replay->scenario->phases, (size_t)(end - phases)) != 0)
        fail_msg("%s, way %d: %s", replay->scenario->recording, (int)replay->way, phases);
    free(phases);
}

static void check_end(struct replay *replay)
{
    const struct scenario *scenario = replay->scenario;

    if (replay->ear.end_phase != scenario->end_phase || replay->ear.error != scenario->error)
        fail_msg("%s, way %d: %s, %d %s (%s)", scenario->recording, (int)replay->way,
                 kvmig_phase_name(replay->ear.end_phase), (int)replay->ear.error, replay->ear.message,
                 replay->ear.evidence);
    check_report(replay);
    check_phases(replay);
    if (scenario->target)
        assert_int_equal(world_heard(&replay->ear, "notice"), world_heard(&replay->ear, "notice POD_IP_CHANGED"));
    assert_int_equal(world_asked(replay->server, "POST "), 0); /* it only follows */
    assert_int_equal(world_asked(replay->server, "DELETE "), replay->cancelled ? 1 : 0);
}

/* ---- playing ---- */

/* One step further, if what it waits for is there. */
static void advance(struct replay *replay)
{
    const struct step *step;

    if (replay->over || kvmig_cluster_is_synced(replay->view.cluster) != 1 || !was_taken(replay) ||
        (replay->session && !world_heard(&replay->ear, "checkpoint") && !replay->ear.ended))
        return;
    if (replay->next < replay->recording.n) {
        cut_watches(replay);
        step = &replay->recording.v[replay->next < replay->recording.n ? replay->next++ : replay->recording.n - 1];
        feed(replay, step);
        replay->awaited = step;
    } else if (replay->ear.ended) {
        replay->over = true;
    } else if (replay->scenario->end_phase == KVMIG_PHASE_CANCELLED) {
        cancel(replay);
    }
    if (!replay->session && replay->awaited &&
        world_has(&replay->view, KVMIG__KUBE_VMIM, "ns1", replay->scenario->vmim, 1))
        begin_session(replay);
}

struct replays {
    struct replay v[KVMIG__N_ELEMENTS(scenarios)];
};

static bool all_are_over(void *data)
{
    struct replays *replays = data;
    bool over = true;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++) {
        advance(&replays->v[i]);
        over &= replays->v[i].over;
    }
    return over;
}

static void open_replay(struct replay *replay, struct kvmig_context *context, const struct scenario *scenario,
                        enum way way)
{
    replay->scenario = scenario;
    replay->way = way;
    replay->server = world_server_new();
    load_recording(&replay->recording, scenario->recording);
    world_node(replay->server, "node-a", NULL);
    world_node(replay->server, "node-b", NULL);
    while (replay->recording.v[replay->next].initial)
        feed(replay, &replay->recording.v[replay->next++]);
    replay->first = replay->next;
    world_repeat(replay->server, way == TWICE);
    world_view_open(&replay->view, context, replay->server, NULL);
}

static bool is_freed(void *data)
{
    return ((struct world_ear *)data)->n_frees > 0;
}

static void close_replay(struct replay *replay)
{
    kvmig_session_unref(replay->session);
    world_run(replay->view.context, is_freed, &replay->ear, "the session's callback to be freed");
    assert_int_equal(replay->ear.n_late, 0);
    world_view_close(&replay->view);
    world_server_free(replay->server);
    world_ear_clear(&replay->ear);
    free_recording(&replay->recording);
}

static void play(enum way way)
{
    struct kvmig_context *context;
    struct replays *replays = kvmig__calloc(1, sizeof(*replays));

    test_set_alarm();
    context = test_context_new(0);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++)
        open_replay(&replays->v[i], context, &scenarios[i], way);
    world_run(context, all_are_over, replays, "all recordings to be over");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++)
        check_end(&replays->v[i]);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(scenarios); i++)
        close_replay(&replays->v[i]);
    world_context_free(context);
    free(replays);
}

static void each_recording_ends_as_it_did(void **state)
{
    (void)state;
    play(IN_ORDER);
}

static void events_that_come_twice_change_nothing(void **state)
{
    (void)state;
    play(TWICE);
}

static void watches_that_break_are_resumed_without_loss(void **state)
{
    (void)state;
    play(CUT);
}

static void what_falls_into_a_gap_is_made_up_from_the_next_list(void **state)
{
    (void)state;
    play(EXPIRED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_recording_ends_as_it_did),
        cmocka_unit_test(events_that_come_twice_change_nothing),
        cmocka_unit_test(watches_that_break_are_resumed_without_loss),
        cmocka_unit_test(what_falls_into_a_gap_is_made_up_from_the_next_list),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
