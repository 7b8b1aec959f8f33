/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sessions beside others, and sessions whose owners let go: slots, and what is freed when.
 */
#include "session_test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

/* ---- slots ---- */

struct pair_of_sessions {
    struct fake_world world;
    struct fake_caller callers[3];
    struct kvmig_session *sessions[3];
};

static void open_pair(struct pair_of_sessions *p, int n, uint64_t queue_timeout_ms)
{
    static const char *const vms[] = { "vm-0", "vm-1", "vm-2" };
    struct kvmig_cluster_opts cluster_opts = KVMIG_CLUSTER_OPTS_INIT;

    cluster_opts.max_outbound = 1;
    fake_world_open(&p->world, 2, n, &cluster_opts);
    p->world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    for (int i = 0; i < n; i++) {
        struct kvmig_session_opts opts = KVMIG_SESSION_OPTS_INIT;
        struct kvmig_plan *plan = fake_plan(&p->world, vms[i], "host-1", 0, 0);

        fake_caller_init(&p->callers[i], &p->world);
        opts.on_event = fake_callback(&p->callers[i]);
        opts.queue_timeout_ms = queue_timeout_ms;
        assert_int_equal(kvmig_session_new(p->world.cluster, plan, &opts, &p->sessions[i]), 0);
        assert_int_equal(kvmig_session_start(p->sessions[i]), 0);
        kvmig_plan_unref(plan);
    }
}

static void close_pair(struct pair_of_sessions *p, int n)
{
    for (int i = 0; i < n; i++) {
        kvmig_session_unref(p->sessions[i]);
        fake_drain(&p->world);
        assert_int_equal(p->callers[i].n_ends, 1);
        assert_int_equal(p->callers[i].n_frees, 1);
        fake_caller_clear(&p->callers[i]);
    }
    fake_world_close(&p->world);
}

static int32_t first_runs(void *data)
{
    return fake_heard(&((struct pair_of_sessions *)data)->callers[0], "phase Running");
}

static void session_over_the_limit_waits_and_hears_its_place(void **state)
{
    struct pair_of_sessions p;

    (void)state;
    open_pair(&p, 3, 0);
    fake_run(&p.world, first_runs, &p);
    fake_drain(&p.world);
    assert_heard_all(&p.callers[1], "phase Pending, queued 1 at node/host-0");
    assert_heard_all(&p.callers[2], "phase Pending, queued 2 at node/host-0");
    assert_int_equal(p.world.n_drivers, 1);
    p.world.steps[KVMIG__STEP_MIGRATE] = FAKE_OK;
    fake_answer_call(&p.world, NULL, false);
    fake_run(&p.world, fake_ended, &p.callers[2]);
    assert_int_equal(p.callers[0].end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_int_equal(p.callers[1].end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_int_equal(p.callers[2].end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_true(fake_heard(&p.callers[2], "queued 1 at node/host-0"));
    close_pair(&p, 3);
}

static void session_that_gets_no_slot_in_time_fails_with_the_option_to_raise(void **state)
{
    struct pair_of_sessions p;

    (void)state;
    open_pair(&p, 2, 40);
    fake_run(&p.world, fake_ended, &p.callers[1]);
    assert_int_equal(p.callers[1].end_phase, KVMIG_PHASE_FAILED);
    assert_int_equal(p.callers[1].end_error, -ETIMEDOUT);
    fake_answer_call(&p.world, NULL, false);
    fake_run(&p.world, fake_ended, &p.callers[0]);
    close_pair(&p, 2);
}

/* ---- letting go ---- */

static void session_that_was_never_started_is_freed(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_session(&f, 0, 0);
    assert_ptr_equal(kvmig_session_ref(f.session), f.session);
    kvmig_session_unref(f.session);
    close_fixture(&f);
}

static int32_t all_freed(void *data)
{
    struct fake_world *world = data;

    return world->n_drivers > 0 && world->n_drivers_freed == world->n_drivers;
}

static void last_owner_ends_the_events_but_not_the_migration(void **state)
{
    struct fixture f;
    size_t heard;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, session_runs, &f.caller);
    kvmig_session_unref(f.session);
    heard = f.caller.n;
    fake_answer_call(&f.world, NULL, false);
    fake_run(&f.world, all_freed, &f.world);
    fake_drain(&f.world);
    assert_int_equal(f.caller.n, heard);
    assert_int_equal(f.caller.n_frees, 1);
    assert_string_equal(f.world.log, "schedule prepare migrate locate finish");
    fake_world_close(&f.world);
    fake_caller_clear(&f.caller);
}

static void letting_go_right_after_the_end_still_frees_once(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_FINISH] = FAKE_NEVER;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    while (!strstr(f.world.log, "finish"))
        fake_drain(&f.world);
    fake_answer_step(&f.world, KVMIG__STEP_FINISH, NULL);
    kvmig_session_unref(f.session); /* the terminal event is on its way and must not come any more */
    fake_drain(&f.world);
    assert_int_equal(f.caller.n_ends, 0);
    assert_int_equal(f.caller.n_frees, 1);
    fake_world_close(&f.world);
    fake_caller_clear(&f.caller);
}

static int32_t freed(void *data)
{
    return ((struct fake_caller *)data)->n_frees > 0;
}

static void terminal_event_comes_before_free(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_session(&f, 0, 0);
    run_to_end(&f);
    fake_run(&f.world, freed, &f.caller);
    assert_int_equal(f.caller.n_ends, 1);
    close_fixture(&f);
}

/* The view that a session needs outlives its owners. */
static void cluster_may_go_while_a_session_runs(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, session_runs, &f.caller);
    kvmig_cluster_unref(f.world.cluster);
    fake_answer_call(&f.world, NULL, false);
    fake_run(&f.world, fake_ended, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    kvmig_session_unref(f.session);
    fake_drain(&f.world);
    assert_int_equal(f.caller.n_frees, 1);
    assert_int_equal(f.world.n_drivers_freed, 1);
    kvmig_context_unref(f.world.context);
    fake_caller_clear(&f.caller);
}

/* The same with nobody left at all: the library dispatches by itself until the migration has ended. */
static void context_may_go_while_a_session_runs(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    new_session(&f, 0, 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    kvmig_session_unref(f.session);
    kvmig_cluster_unref(f.world.cluster);
    kvmig_context_unref(f.world.context);
    assert_int_equal(f.caller.n_frees, 1);
    assert_int_equal(f.caller.n_ends, 0);
    for (int waited = 0; f.world.n_closed < 2; waited++) {
        assert_true(waited < 30000);
        poll(NULL, 0, 1);
    }
    assert_string_equal(f.world.log, "schedule prepare migrate locate finish");
    fake_caller_clear(&f.caller);
}

/* ---- threads ---- */

static void *call_all_the_time(void *data)
{
    struct fixture *f = data;
    struct kvmig_session *session = kvmig_session_ref(f->session);

    while (!f->caller.n_ends) {
        char *text = NULL;

        assert_int_equal(kvmig_session_report(session, &text), 0);
        free(text);
        kvmig_session_phase(session);
        kvmig_session_mode(session);
        kvmig_session_set_bandwidth(session, 5);
        kvmig_session_unref(kvmig_session_ref(session));
    }
    kvmig_session_unref(session);
    return NULL;
}

static void calls_from_any_thread_are_safe(void **state)
{
    pthread_t threads[3];
    struct fixture f;

    (void)state;
    fake_world_open_on(&f.world, KVMIG_CONTEXT_THREAD, 2, 1, NULL);
    fake_caller_init(&f.caller, &f.world);
    f.opts = (struct kvmig_session_opts)KVMIG_SESSION_OPTS_INIT;
    f.opts.on_event = fake_callback(&f.caller);
    new_session(&f, 0, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_all_the_time, &f), 0);
    assert_int_equal(kvmig_session_start(f.session), 0);
    fake_run(&f.world, fake_ended, &f.caller);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    kvmig_session_unref(f.session);
    fake_run(&f.world, freed, &f.caller);
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
    fake_world_close(&f.world);
    fake_caller_clear(&f.caller);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session_over_the_limit_waits_and_hears_its_place),
        cmocka_unit_test(session_that_gets_no_slot_in_time_fails_with_the_option_to_raise),
        cmocka_unit_test(session_that_was_never_started_is_freed),
        cmocka_unit_test(last_owner_ends_the_events_but_not_the_migration),
        cmocka_unit_test(letting_go_right_after_the_end_still_frees_once),
        cmocka_unit_test(terminal_event_comes_before_free),
        cmocka_unit_test(cluster_may_go_while_a_session_runs),
        cmocka_unit_test(context_may_go_while_a_session_runs),
        cmocka_unit_test(calls_from_any_thread_are_safe),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
