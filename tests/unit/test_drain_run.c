/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Drains of libvirt hosts that exist only here: targets and memory, and the run of a drain: one migration after the other under the
 * limits, one end, failures, cancel, letting go.
 */
#include "fake_backend.h"
#include "threads_test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct fake_world world;
    struct kvmig_drain *drain;
    struct kvmig_drain_run *run;
    struct kvmig_drain_run_opts opts;
    atomic_int n_ends, n_frees; /* asked for while the library's thread may count */
    int n_session_ends, n_late, running, most_at_once, n_sessions;
    int32_t end_phase, end_error;
    int cancel_after; /* so many ends of sessions; 0 = never */
    void (*in_on_session)(struct fixture *f); /* NULL = nothing */
    struct kvmig_session *session; /* for it; borrowed */
    pthread_t canceller;
};

static void on_event(const struct kvmig_event *event, void *user_data)
{
    struct fixture *f = user_data;

    f->n_late += f->n_ends > 0;
    switch (kvmig_event_type(event)) {
    case KVMIG_EVENT_PHASE:
        if (kvmig_event_phase(event) == KVMIG_PHASE_SCHEDULING && ++f->running > f->most_at_once)
            f->most_at_once = f->running;
        break;
    case KVMIG_EVENT_END:
        f->running--;
        if (++f->n_session_ends == f->cancel_after)
            assert_int_equal(kvmig_drain_run_cancel(f->run), 0);
        break;
    case KVMIG_EVENT_DRAIN_END:
        f->end_phase = kvmig_event_phase(event);
        f->end_error = kvmig_event_error(event) ? kvmig_error_code(kvmig_event_error(event)) : 0;
        f->n_ends++; /* last: whoever waits for it reads the others */
        break;
    default:
        break;
    }
}

static void on_free(void *user_data)
{
    ((struct fixture *)user_data)->n_frees++;
}

static void on_session(struct kvmig_session *session, size_t index, void *user_data)
{
    struct fixture *f = user_data;

    assert_non_null(session);
    assert_true(index < kvmig_drain_count(f->drain));
    f->n_sessions++;
    f->session = session;
    if (f->in_on_session)
        f->in_on_session(f);
}

static int32_t has_ended(void *data)
{
    return ((struct fixture *)data)->n_ends > 0;
}

static int32_t was_freed(void *data)
{
    return ((struct fixture *)data)->n_frees > 0;
}

static void open_fixture_on(struct fixture *f, uint32_t flags, int n_hosts, int n_vms, uint32_t at_once)
{
    static const char *const nodes[] = { "host-0" };
    struct kvmig_drain_opts opts = KVMIG_DRAIN_OPTS_INIT;

    *f = (struct fixture){ 0 };
    fake_world_open_on(&f->world, flags, n_hosts, n_vms, NULL);
    opts.nodes = nodes;
    opts.n_nodes = 1;
    opts.max_migrations = at_once;
    assert_int_equal(kvmig_cluster_plan_drain(f->world.cluster, &opts, &f->drain), 0);
    f->opts = (struct kvmig_drain_run_opts)KVMIG_DRAIN_RUN_OPTS_INIT;
    f->opts.on_event = (struct kvmig_event_callback){ on_event, f, on_free };
    f->opts.on_session = on_session;
    f->opts.user_data = f;
}

static void open_fixture(struct fixture *f, int n_hosts, int n_vms, uint32_t at_once)
{
    open_fixture_on(f, 0, n_hosts, n_vms, at_once);
}

static void start(struct fixture *f)
{
    assert_int_equal(kvmig_drain_start(f->world.cluster, f->drain, &f->opts, &f->run), 0);
}

static void close_fixture(struct fixture *f)
{
    kvmig_drain_run_unref(f->run);
    kvmig_drain_unref(f->drain);
    fake_drain(&f->world);
    assert_int_equal(f->n_frees, 1);
    assert_int_equal(f->n_late, 0);
    fake_world_close(&f->world);
}

static void a_host_is_emptied_one_by_one(void **state)
{
    struct fixture f;
    char *json = NULL;

    (void)state;
    open_fixture(&f, 2, 3, 1);
    assert_int_equal(kvmig_drain_count(f.drain), 3);
    assert_int_equal(kvmig_drain_wave(f.drain, 2), 3);
    start(&f);
    assert_int_equal(kvmig_drain_run_phase(f.run, SIZE_MAX), KVMIG_PHASE_RUNNING);
    assert_int_equal(kvmig_drain_run_phase(f.run, 2), KVMIG_PHASE_UNSET);
    assert_null(kvmig_drain_run_session(f.run, 2));
    fake_run(&f.world, has_ended, &f);
    assert_int_equal(f.most_at_once, 1);
    assert_int_equal(f.n_session_ends, 3);
    assert_int_equal(f.n_sessions, 3);
    assert_int_equal(f.end_phase, KVMIG_PHASE_SUCCEEDED);
    assert_int_equal(f.end_error, 0);
    assert_int_equal(kvmig_drain_run_phase(f.run, 2), KVMIG_PHASE_SUCCEEDED);
    assert_non_null(kvmig_drain_run_session(f.run, 2));
    assert_int_equal(kvmig_drain_run_report(f.run, &json), 0);
    assert_non_null(strstr(json, "\"moved\":3"));
    free(json);
    close_fixture(&f);
}

static void as_many_as_the_limit_run_at_once(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 3, 4, 2);
    start(&f);
    fake_run(&f.world, has_ended, &f);
    assert_true(f.most_at_once <= 2);
    assert_int_equal(f.n_session_ends, 4);
    assert_int_equal(f.end_phase, KVMIG_PHASE_SUCCEEDED);
    close_fixture(&f);
}

static void one_failure_does_not_stop_the_others(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 2, 2, 1);
    f.world.steps[KVMIG__STEP_PREPARE] = FAKE_FAIL;
    start(&f);
    fake_run(&f.world, has_ended, &f);
    assert_int_equal(f.n_session_ends, 2);
    assert_int_equal(f.end_phase, KVMIG_PHASE_FAILED);
    assert_int_not_equal(f.end_error, 0);
    assert_int_equal(kvmig_drain_run_phase(f.run, 0), KVMIG_PHASE_FAILED);
    close_fixture(&f);
}

static void a_cancel_starts_no_further_one(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 2, 3, 1);
    f.cancel_after = 1;
    start(&f);
    fake_run(&f.world, has_ended, &f);
    assert_in_range(f.n_session_ends, 1, 2); /* the second may have begun before the first one's end was heard */
    assert_int_equal(f.end_phase, KVMIG_PHASE_CANCELLED);
    assert_int_equal(kvmig_drain_run_phase(f.run, 2), KVMIG_PHASE_UNSET);
    assert_int_equal(kvmig_drain_run_cancel(f.run), 0); /* harmless */
    close_fixture(&f);
}

static void a_cancel_ends_the_one_that_runs(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 2, 2, 1);
    f.world.steps[KVMIG__STEP_PREPARE] = FAKE_NEVER;
    start(&f);
    assert_int_equal(kvmig_drain_run_cancel(f.run), 0);
    fake_run(&f.world, has_ended, &f);
    assert_int_equal(f.end_phase, KVMIG_PHASE_CANCELLED);
    assert_int_equal(kvmig_drain_run_phase(f.run, 0), KVMIG_PHASE_CANCELLED);
    close_fixture(&f);
}

static void an_empty_host_is_drained_already(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 2, 0, 1);
    assert_int_equal(kvmig_drain_count(f.drain), 0);
    assert_int_equal(kvmig_drain_expected_ms(f.drain), 0);
    start(&f);
    fake_run(&f.world, has_ended, &f);
    assert_int_equal(f.end_phase, KVMIG_PHASE_SUCCEEDED);
    close_fixture(&f);
}

static void whoever_lets_go_hears_no_more(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 2, 3, 1);
    start(&f);
    kvmig_drain_run_unref(f.run);
    f.run = NULL;
    fake_drain(&f.world);
    assert_int_equal(f.n_ends, 0);
    assert_int_equal(f.n_sessions, 1); /* it goes on; no other one begins */
    close_fixture(&f);
}

static void cancel_it(struct fixture *f)
{
    assert_int_equal(kvmig_drain_run_cancel(f->run), 0);
}

static void one_that_is_cancelled_before_it_starts_does_not_start(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 2, 2, 1);
    f.in_on_session = cancel_it;
    start(&f);
    fake_run(&f.world, has_ended, &f);
    assert_int_equal(f.n_sessions, 1);
    assert_int_equal(f.n_session_ends, 0);
    assert_int_equal(f.end_phase, KVMIG_PHASE_CANCELLED);
    assert_int_equal(kvmig_drain_run_phase(f.run, 0), KVMIG_PHASE_UNSET);
    assert_null(kvmig_drain_run_session(f.run, 0));
    close_fixture(&f);
}

static void let_go(struct fixture *f)
{
    kvmig_drain_run_unref(f->run);
    f->run = NULL;
}

static void the_last_owner_may_let_go_while_it_starts(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 2, 2, 2);
    f.in_on_session = let_go;
    start(&f);
    fake_drain(&f.world);
    assert_int_equal(f.n_sessions, 1);
    assert_int_equal(f.n_session_ends, 0);
    assert_int_equal(f.world.n_drivers, 0);
    close_fixture(&f);
}

static void let_go_of_all(struct fixture *f)
{
    let_go(f);
    kvmig_cluster_unref(f->world.cluster);
    kvmig_context_unref(f->world.context);
}

/* Of the run, the view and the context: what is under way still needs them. */
static void the_last_owner_of_all_may_let_go_while_it_starts(void **state)
{
    const unsigned threads = count_threads();
    struct fixture f;

    (void)state;
    open_fixture(&f, 2, 2, 2);
    f.in_on_session = let_go_of_all;
    start(&f);
    await_threads(threads); /* the library ends the rest by itself */
    assert_int_equal(f.n_sessions, 1);
    assert_int_equal(f.n_ends, 0);
    assert_int_equal(f.n_frees, 1);
    kvmig_drain_unref(f.drain);
}

static void start_it(struct fixture *f)
{
    assert_int_equal(kvmig_session_start(f->session), 0);
}

static void one_that_the_caller_starts_is_no_failure(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 2, 2, 1);
    f.in_on_session = start_it;
    start(&f);
    assert_int_equal(kvmig_drain_run_phase(f.run, 0), KVMIG_PHASE_UNSET);
    fake_run(&f.world, has_ended, &f);
    assert_int_equal(f.n_session_ends, 2);
    assert_int_equal(f.end_phase, KVMIG_PHASE_SUCCEEDED);
    close_fixture(&f);
}

static void start_and_cancel(struct fixture *f)
{
    start_it(f);
    cancel_it(f);
}

static void one_that_the_caller_starts_is_cancelled_too(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 2, 2, 1);
    f.world.steps[KVMIG__STEP_PREPARE] = FAKE_NEVER;
    f.in_on_session = start_and_cancel;
    start(&f);
    fake_run(&f.world, has_ended, &f);
    assert_int_equal(f.n_session_ends, 1);
    assert_int_equal(f.end_phase, KVMIG_PHASE_CANCELLED);
    assert_int_equal(kvmig_drain_run_phase(f.run, 0), KVMIG_PHASE_CANCELLED);
    close_fixture(&f);
}

static void *cancel_run(void *data)
{
    cancel_it(data);
    return NULL;
}

static void cancel_beside_it(struct fixture *f)
{
    assert_int_equal(pthread_create(&f->canceller, NULL, cancel_run, f), 0);
}

/* Whenever the cancel comes, before the session is started, meanwhile or after: nothing goes on. */
static void a_cancel_of_another_thread_is_never_lost(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct fixture f;

        open_fixture_on(&f, KVMIG_CONTEXT_THREAD, 2, 1, 1);
        f.world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
        f.world.sides_after[0] = f.world.sides[0]; /* an aborted call leaves the guest where it was */
        f.world.sides_after[1] = f.world.sides[1];
        f.in_on_session = cancel_beside_it;
        start(&f);
        fake_run(&f.world, has_ended, &f);
        pthread_join(f.canceller, NULL);
        assert_int_equal(f.end_phase, KVMIG_PHASE_CANCELLED);
        let_go(&f);
        fake_run(&f.world, was_freed, &f);
        kvmig_drain_unref(f.drain);
        fake_world_close(&f.world);
    }
}

static void assert_refused(struct fixture *f, const char *option)
{
    struct kvmig_drain_run *run = f->run;

    f->opts.on_event = (struct kvmig_event_callback){ on_event, f, on_free };
    f->n_frees = 0;
    assert_int_equal(kvmig_drain_start(f->world.cluster, f->drain, &f->opts, &run), -EINVAL);
    assert_null(run);
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), option));
    fake_drain(&f->world);
    assert_int_equal(f->n_frees, 1); /* it was taken */
}

static void options_of_the_sessions_are_refused_at_once(void **state)
{
    struct kvmig_session_opts session = KVMIG_SESSION_OPTS_INIT;
    struct kvmig_plan_opts plan = KVMIG_PLAN_OPTS_INIT;
    struct fixture f;

    (void)state;
    open_fixture(&f, 2, 1, 1);
    f.opts.session = &session;
    session.plan_opts = &plan;
    assert_refused(&f, "session");
    session.plan_opts = NULL;
    session.flags = 1u << 31;
    assert_refused(&f, "flags");
    session.flags = 0;
    session.step_timeout_ms = UINT64_MAX;
    assert_refused(&f, "step_timeout_ms");
    session.step_timeout_ms = 0;
    session.node_hosts = f.world.cluster; /* it is one of libvirt hosts itself */
    assert_refused(&f, "node_hosts");
    assert_int_equal(f.n_sessions, 0);
    close_fixture(&f);
}

static void only_a_blocked_target_is_left(void **state)
{
    static const char *const nodes[] = { "host-0", "host-1" };
    struct kvmig_drain_opts opts = KVMIG_DRAIN_OPTS_INIT;
    struct kvmig_drain *drain = NULL;
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    opts.nodes = nodes;
    opts.n_nodes = 2; /* all there are */
    assert_int_equal(kvmig_cluster_plan_drain(world.cluster, &opts, &drain), 0);
    assert_int_equal(kvmig_drain_count(drain), 0);
    assert_int_equal(kvmig_drain_immovable_count(drain), 1);
    assert_int_equal(kvmig_plan_verdict(kvmig_drain_immovable(drain, 0)), KVMIG_VERDICT_BLOCKED);
    kvmig_drain_unref(drain);
    opts.n_nodes = 1;
    opts.excludes = &nodes[1];
    opts.n_excludes = 1;
    assert_int_equal(kvmig_cluster_plan_drain(world.cluster, &opts, &drain), 0);
    assert_int_equal(kvmig_drain_immovable_count(drain), 1);
    kvmig_drain_unref(drain);
    fake_world_close(&world);
}

static void every_vm_is_planned_in_turn(void **state)
{
    struct kvmig_plan_iterator *it = NULL;
    struct kvmig_plan *plan = NULL;
    struct fake_world world;
    size_t n = 0;

    (void)state;
    fake_world_open(&world, 2, 3, NULL);
    assert_int_equal(kvmig_cluster_plan_all(world.cluster, NULL, &it), 0);
    assert_int_equal(kvmig_plan_iterator_count(it), 3);
    while (kvmig_plan_iterator_next(it, &plan) == 0 && plan) {
        struct kvmig_plan *alone = fake_plan(&world, kvmig_plan_vm(plan), NULL, 0, 0);
        char *a = NULL, *b = NULL;

        assert_string_equal(kvmig_plan_target(plan), kvmig_plan_target(alone));
        assert_int_equal(kvmig_plan_verdict(plan), kvmig_plan_verdict(alone));
        assert_int_equal(kvmig_plan_to_json(plan, &a), 0);
        assert_int_equal(kvmig_plan_to_json(alone, &b), 0);
        assert_memory_equal(a, b, strstr(a, "\"request\"") - a); /* which names the source, too */
        free(a);
        free(b);
        kvmig_plan_unref(alone);
        kvmig_plan_unref(plan);
        n++;
    }
    assert_int_equal(n, 3);
    kvmig_plan_iterator_free(it);
    fake_world_close(&world);
}

/* As a drain takes them: there is nothing to move of a guest that has crashed, nor of one that is only coming in. */
static void only_vms_that_run_are_planned(void **state)
{
    struct kvmig_plan_iterator *it = NULL;
    struct fake_world world;
    const struct kvmig__host *host;

    (void)state;
    fake_world_open(&world, 2, 3, NULL);
    kvmig__context_lock(world.context);
    host = kvmig__view_find_host(kvmig__cluster_view(world.cluster), world.hosts[0].name);
    assert_int_equal(host->domains.n, 3);
    host->domains.v[1].state = KVMIG__STATE_CRASHED;
    host->domains.v[2].migrating_in = true;
    kvmig__context_unlock(world.context);
    assert_int_equal(kvmig_cluster_plan_all(world.cluster, NULL, &it), 0);
    assert_int_equal(kvmig_plan_iterator_count(it), 1);
    kvmig_plan_iterator_free(it);
    fake_world_close(&world);
}

static void *do_nothing(void *data)
{
    return data;
}

/* ThreadSanitizer starts a thread of its own with the first, which must be there before threads are counted. */
static int start_a_thread(void **state)
{
    pthread_t thread;

    (void)state;
    return pthread_create(&thread, NULL, do_nothing, NULL) || pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_emptied_one_by_one),
        cmocka_unit_test(as_many_as_the_limit_run_at_once),
        cmocka_unit_test(one_failure_does_not_stop_the_others),
        cmocka_unit_test(a_cancel_starts_no_further_one),
        cmocka_unit_test(a_cancel_ends_the_one_that_runs),
        cmocka_unit_test(an_empty_host_is_drained_already),
        cmocka_unit_test(whoever_lets_go_hears_no_more),
        cmocka_unit_test(only_a_blocked_target_is_left),
        cmocka_unit_test(every_vm_is_planned_in_turn),
        cmocka_unit_test(only_vms_that_run_are_planned),
        cmocka_unit_test(one_that_is_cancelled_before_it_starts_does_not_start),
        cmocka_unit_test(the_last_owner_may_let_go_while_it_starts),
        cmocka_unit_test(the_last_owner_of_all_may_let_go_while_it_starts),
        cmocka_unit_test(one_that_the_caller_starts_is_no_failure),
        cmocka_unit_test(one_that_the_caller_starts_is_cancelled_too),
        cmocka_unit_test(a_cancel_of_another_thread_is_never_lost),
        cmocka_unit_test(options_of_the_sessions_are_refused_at_once),
    };

    return !!cmocka_run_group_tests(tests, start_a_thread, NULL);
}
