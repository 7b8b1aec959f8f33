/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A view through a thousand migrations, fifty at a time, while its watches break in every way and the server refuses now and
 * then; some of them are followed by sessions. In the end the view must have what a new view has, all sessions must have ended
 * as their migrations did, and nothing may have been gathered on the way. The course is random, but the same in each run.
 */
#include "kube_world_test.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#define CYCLES 1000
#define AT_ONCE 50
#define KEPT 100 /* the first ones stay to the end, with their VMs */
#define FOLLOWED 25 /* one of so many has a session */
#define LIMIT ((size_t)2 << 20) /* bytes in the second half that must not be gathered */

struct cycle {
    int number, step, steps; /* steps: ends after so many */
    bool fails;
    struct kvmig_session *session;
    struct world_ear *ear;
};

struct soak {
    struct kvmig_context *context;
    struct world_server *server;
    struct world_view view;
    struct cycle cycles[AT_ONCE];
    int begun, ended;
    uint64_t random;
    struct {
        struct cycle *v;
        size_t n;
    } followed; /* those with a session that ended */
};

static unsigned draw(struct soak *soak, unsigned below)
{
    soak->random ^= soak->random << 13;
    soak->random ^= soak->random >> 7;
    soak->random ^= soak->random << 17;
    return (unsigned)(soak->random % below);
}

/* ---- one migration ---- */

static const char *const phases[] = { "Pending",     "Scheduling", "Scheduled", "PreparingTarget",
                                      "TargetReady", "Running",    "Succeeded" };

struct names {
    char vmi[32], vmi_uid[32], vmim[32], uid[32], pod[32];
};

static struct names names_of(int number)
{
    struct names names;

    snprintf(names.vmi, sizeof(names.vmi), "vm-%d", number);
    snprintf(names.vmi_uid, sizeof(names.vmi_uid), "uid-vm-%d", number);
    snprintf(names.vmim, sizeof(names.vmim), "m-%d", number);
    snprintf(names.uid, sizeof(names.uid), "uid-m-%d", number);
    snprintf(names.pod, sizeof(names.pod), "t-%d", number);
    return names;
}

static void say_event(struct soak *soak, const char *name, const char *kind, const char *about, const char *reason)
{
    world_say(soak->server,
              "{'apiVersion':'v1','kind':'Event','metadata':{'namespace':'ns1','name':'%s'},'involvedObject':{'kind':"
              "'%s','namespace':'ns1','name':'%s'},'type':'Warning','reason':'%s','message':'because'}",
              name, kind, about, reason);
}

static void say_state(struct soak *soak, const struct names *names, const char *node, const char *more)
{
    char *state = kvmig__asprintf("'migrationUid':'%s','sourceNode':'node-a','targetNode':'node-b','targetPod':'%s',"
                                  "'startTimestamp':'2026-11-30T11:00:03Z'%s",
                                  names->uid, names->pod, more);

    world_vmi(soak->server, names->vmi, names->vmi_uid, node, state);
    free(state);
}

/* The VM of an old migration ends, and all that was there for it. */
static void forget(struct soak *soak, int number)
{
    const struct names names = names_of(number);
    char launcher[64], events[2][64];

    snprintf(launcher, sizeof(launcher), "launcher-%s", names.vmi);
    snprintf(events[0], sizeof(events[0]), "e-%s", names.vmim);
    snprintf(events[1], sizeof(events[1]), "e-%s", names.pod);
    world_remove(soak->server, KVMIG__KUBE_VMIM, "ns1", names.vmim, NULL);
    world_remove(soak->server, KVMIG__KUBE_POD, "ns1", names.pod, NULL);
    world_remove(soak->server, KVMIG__KUBE_POD, "ns1", launcher, NULL);
    world_remove(soak->server, KVMIG__KUBE_EVENT, "ns1", events[0], NULL);
    world_remove(soak->server, KVMIG__KUBE_EVENT, "ns1", events[1], NULL);
    world_remove(soak->server, KVMIG__KUBE_VMI, "ns1", names.vmi, NULL);
}

static void end_cycle(struct soak *soak, struct cycle *cycle, const struct names *names)
{
    char event[64];

    if (cycle->fails) {
        say_state(soak, names, "node-a", ",'completed':true,'failed':true,'failureReason':'the test'");
        world_target(soak->server, names->pod, names->vmi_uid, names->uid, "node-b", "Failed");
        world_vmim(soak->server, names->vmim, names->uid, names->vmi, "Failed");
        snprintf(event, sizeof(event), "e-%s", names->vmim);
        say_event(soak, event, "VirtualMachineInstanceMigration", names->vmim, "FailedMigration");
    } else {
        say_state(soak, names, "node-b", ",'completed':true,'endTimestamp':'2026-11-30T11:00:08Z'");
        world_vmim(soak->server, names->vmim, names->uid, names->vmi, "Succeeded");
    }
    if (!cycle->session && draw(soak, 3) == 0)
        world_remove(soak->server, KVMIG__KUBE_VMIM, "ns1", names->vmim, NULL);
}

static void advance(struct soak *soak, struct cycle *cycle, const struct names *names)
{
    char event[64];

    if (cycle->step == 1)
        world_target(soak->server, names->pod, names->vmi_uid, names->uid, NULL, "Pending");
    if (cycle->step == 2) {
        world_target(soak->server, names->pod, names->vmi_uid, names->uid, "node-b", "Running");
        snprintf(event, sizeof(event), "e-%s", names->pod);
        say_event(soak, event, "Pod", names->pod, "Pulled");
    }
    if (cycle->step == 5)
        say_state(soak, names, "node-a", "");
    if (cycle->step == cycle->steps)
        end_cycle(soak, cycle, names);
    else
        world_vmim(soak->server, names->vmim, names->uid, names->vmi, phases[cycle->step]);
    cycle->step++;
}

/* ---- sessions ---- */

static void follow(struct soak *soak, struct cycle *cycle, const struct names *names)
{
    struct kvmig_session_opts opts = KVMIG_SESSION_OPTS_INIT;
    struct kvmig_plan_opts plan = KVMIG_PLAN_OPTS_INIT;
    char *vm = kvmig__asprintf("ns1/%s", names->vmi);

    cycle->ear = kvmig__calloc(1, sizeof(*cycle->ear));
    plan.vm = vm;
    opts.plan_opts = &plan;
    opts.attach = names->vmim;
    opts.on_event = world_callback(cycle->ear);
    assert_int_equal(kvmig_session_new(soak->view.cluster, NULL, &opts, &cycle->session), 0);
    assert_int_equal(kvmig_session_start(cycle->session), 0);
    free(vm);
}

/* Whoever follows waits until it is followed, and until the session has come to its end. */
static bool is_held_up(struct soak *soak, struct cycle *cycle, const struct names *names)
{
    if (cycle->number % FOLLOWED || cycle->step == 0)
        return false;
    if (!cycle->session && world_in_step(&soak->view, KVMIG__KUBE_VMIM, "ns1", names->vmim) &&
        world_in_step(&soak->view, KVMIG__KUBE_VMI, "ns1", names->vmi))
        follow(soak, cycle, names);
    return !cycle->session ||
           (!cycle->ear->ended && (!world_heard(cycle->ear, "checkpoint") || cycle->step > cycle->steps));
}

/* ---- all of them ---- */

static void begin_cycle(struct soak *soak, struct cycle *cycle)
{
    struct names names;

    *cycle = (struct cycle){ .number = ++soak->begun, .steps = 6 };
    cycle->fails = draw(soak, 4) == 0;
    names = names_of(cycle->number);
    world_vmi(soak->server, names.vmi, names.vmi_uid, "node-a", NULL);
}

static void finish_cycle(struct soak *soak, struct cycle *cycle)
{
    if (cycle->session)
        *KVMIG__PUSH(&soak->followed) = *cycle;
    soak->ended++;
    if (soak->ended > KEPT && !cycle->session)
        forget(soak, cycle->number);
    *cycle = (struct cycle){ 0 };
}

static void tick(struct soak *soak)
{
    for (size_t slot = 0; slot < AT_ONCE; slot++) {
        struct cycle *cycle = &soak->cycles[slot];
        struct names names = names_of(cycle->number);

        if (draw(soak, 4))
            continue;
        if (!cycle->number && soak->begun < CYCLES)
            begin_cycle(soak, cycle);
        else if (cycle->number && !is_held_up(soak, cycle, &names) && cycle->step <= cycle->steps)
            advance(soak, cycle, &names);
        else if (cycle->number && !is_held_up(soak, cycle, &names))
            finish_cycle(soak, cycle);
    }
}

static void refuse_some(struct soak *soak, const char *match, enum world_fault_how how)
{
    if (world_faults(soak->server) < 3)
        world_fault(
            soak->server,
            &(struct world_fault){ .match = match, .how = how, .status = 500, .message = "for a while", .times = 1 });
}

static void make_trouble(struct soak *soak)
{
    static const int32_t kinds[] = { KVMIG__KUBE_VMIM, KVMIG__KUBE_VMI, KVMIG__KUBE_POD, KVMIG__KUBE_EVENT };
    const int32_t kind = kinds[draw(soak, KVMIG__N_ELEMENTS(kinds))];

    if (!world_watches(soak->server, kind))
        return;
    switch (draw(soak, 8)) {
    case 0:
        world_compact(soak->server);
        world_cut(soak->server, kind, WORLD_CUT_CLOSE);
        break;
    case 1:
        world_stale_lists(soak->server, kind, 1);
        world_cut(soak->server, kind, WORLD_CUT_EXPIRED);
        break;
    case 2:
        refuse_some(soak, "resourceVersion=", WORLD_FAULT_CLOSE);
        world_cut(soak->server, kind, WORLD_CUT_END);
        break;
    case 3:
        refuse_some(soak, "?limit=500", WORLD_FAULT_ANSWER);
        world_cut(soak->server, kind, WORLD_CUT_EXPIRED);
        break;
    case 4:
        world_bookmark(soak->server, -1);
        break;
    case 5:
        world_repeat(soak->server, draw(soak, 2) != 0);
        break;
    default:
        world_cut(soak->server, kind, (enum world_cut)draw(soak, 4));
        break;
    }
}

/* ---- judging ---- */

static char *items_of(struct kvmig_cluster *cluster)
{
    char *json = NULL, *items, *copy;

    assert_int_equal(kvmig_cluster_snapshot(cluster, &json), 0);
    items = strstr(json, "\"items\"");
    assert_non_null(items);
    copy = kvmig__strdup(items);
    free(json);
    return copy;
}

struct comparison {
    struct kvmig_cluster *a, *b;
};

static bool are_the_same(void *data)
{
    const struct comparison *comparison = data;
    char *a = items_of(comparison->a), *b = items_of(comparison->b);
    const bool same = !strcmp(a, b);

    free(a);
    free(b);
    return same;
}

static bool no_pod_is_followed(void *data)
{
    return world_watches(((struct soak *)data)->server, KVMIG__KUBE_EVENT) == 2;
}

static void compare_with_a_new_view(struct soak *soak)
{
    struct world_view fresh;

    world_view_open(&fresh, soak->context, soak->server, NULL);
    world_wait_synced(&fresh);
    world_run(soak->context, are_the_same, &(struct comparison){ soak->view.cluster, fresh.cluster },
              "the view to have what a new one has");
    world_view_close(&fresh);
}

static bool is_freed(void *data)
{
    return ((struct world_ear *)data)->n_frees > 0;
}

static void judge_sessions(struct soak *soak)
{
    assert_int_equal(soak->followed.n, CYCLES / FOLLOWED);
    for (size_t i = 0; i < soak->followed.n; i++) {
        struct cycle *cycle = &soak->followed.v[i];

        if (cycle->ear->end_phase != (cycle->fails ? KVMIG_PHASE_FAILED : KVMIG_PHASE_SUCCEEDED))
            fail_msg("m-%d ended as %s: %s (%s)", cycle->number, kvmig_phase_name(cycle->ear->end_phase),
                     cycle->ear->message, cycle->ear->evidence);
        kvmig_session_unref(cycle->session);
        world_run(soak->context, is_freed, cycle->ear, "a session's callback to be freed");
        assert_int_equal(cycle->ear->n_late, 0);
        world_ear_clear(cycle->ear);
        free(cycle->ear);
    }
    free(soak->followed.v);
}

static size_t memory_in_use(void)
{
    return mallinfo2().uordblks; /* 0 under a sanitizer, whose leak check then has to do */
}

static void a_thousand_migrations_leave_nothing_behind(void **state)
{
    struct soak soak = { .random = 20261130 };
    size_t half = 0;

    (void)state;
    test_set_alarm();
    soak.context = test_context_new(0);
    soak.server = world_server_new();
    world_populate(soak.server);
    world_view_open(&soak.view, soak.context, soak.server, NULL);
    world_wait_synced(&soak.view);
    for (int round = 0; soak.ended < CYCLES; round++) {
        tick(&soak);
        if (round % 16 == 0 && soak.begun < CYCLES)
            make_trouble(&soak);
        if (round % 64 == 0)
            world_compact(soak.server);
        if (!half && soak.ended >= CYCLES / 2) {
            kvmig__strlist_clear(&soak.view.ear.log);
            half = memory_in_use();
        }
        kvmig_context_run(soak.context, NULL, NULL, 2);
    }
    compare_with_a_new_view(&soak);
    world_run(soak.context, no_pod_is_followed, &soak, "the events of pods to be followed no more");
    judge_sessions(&soak);
    kvmig__strlist_clear(&soak.view.ear.log);
    assert_true(memory_in_use() < half + LIMIT);
    world_view_close(&soak.view);
    world_context_free(soak.context);
    world_server_free(soak.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_migrations_leave_nothing_behind),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
