/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What was expected beside what came of it: forecasts in the report of a session, what a migration and a measurement teach, and what
 * another view takes up of that. On hosts that exist only here.
 */
#include "session/report.h"
#include "session_test.h"

#include <errno.h>

#define MIB ((uint64_t)1 << 20)
#define PAGE 4096

/* ---- the report ---- */

static struct kvmig_plan *plan_it(struct fake_world *world, const struct kvmig_forecast_opts *told)
{
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;
    struct kvmig_plan *plan = NULL;

    opts.vm = "vm-0";
    opts.target = "host-1";
    opts.forecast = told;
    assert_int_equal(kvmig_cluster_plan(world->cluster, &opts, &plan), 0);
    return plan;
}

static void start_on(struct fixture *f, uint64_t link_bytes_per_s)
{
    struct kvmig_forecast_opts told = KVMIG_FORECAST_OPTS_INIT;
    struct kvmig_plan *plan;

    told.link_bytes_per_s = link_bytes_per_s;
    plan = plan_it(&f->world, &told);
    assert_int_equal(kvmig_session_new(f->world.cluster, plan, &f->opts, &f->session), 0);
    kvmig_plan_unref(plan);
    f->world.steps[KVMIG__STEP_MIGRATE] = FAKE_NEVER;
    assert_int_equal(kvmig_session_start(f->session), 0);
    fake_run(&f->world, session_runs, &f->caller);
}

static void show_progress(struct fixture *f, uint64_t elapsed_ms, uint64_t iteration, uint64_t dirty_bytes_per_s)
{
    struct kvmig_progress progress;

    memset(&progress, 0xff, sizeof(progress)); /* nothing known */
    progress.eta_reason = KVMIG_ETA_UNKNOWN;
    progress.throttle_percent = progress.at_iteration_boundary = 0;
    progress.n_disks = 0;
    progress.disks = NULL;
    progress.elapsed_ms = elapsed_ms;
    progress.iteration = iteration;
    progress.dirty_bytes_per_s = dirty_bytes_per_s;
    fake_progress(&f->world, &progress);
}

/* The figures of the finished job, as a driver reads them: half of the guest's 1 GiB was zero. */
static void tell_figures(struct fixture *f)
{
    struct kvmig__report *report;

    kvmig__context_lock(f->world.context);
    report = kvmig__session_get_report(f->session);
    report->memory_total = 1024 * MIB;
    report->memory_sent = 600 * MIB;
    report->disk_sent = 0;
    report->page_size = PAGE;
    report->pages_constant = 512 * MIB / PAGE;
    report->bandwidth_bytes_per_s = 300 * MIB;
    report->pause_source_ms = 42;
    report->iterations = 3;
    kvmig__context_unlock(f->world.context);
}

static void end_it(struct fixture *f, struct kvmig_error *error)
{
    fake_answer_call(&f->world, error, false);
    fake_run(&f->world, fake_ended, &f->caller);
}

static struct json_object *at(struct json_object *object, const char *path)
{
    struct json_object *found = NULL;

    return json_pointer_get(object, path, &found) == 0 ? found : NULL;
}

static int64_t number_at(struct json_object *object, const char *path)
{
    struct json_object *found = at(object, path);

    if (!found)
        fail_msg("no %s in %s", path, json_object_to_json_string(object));
    return json_object_get_int64(found);
}

static void the_report_has_plan_and_outcome_side_by_side(void **state)
{
    struct json_object *report;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    start_on(&f, 100 * MIB);
    report = report_of(f.session); /* while it runs, there is no outcome */
    assert_non_null(at(report, "/forecast/predicted"));
    assert_null(at(report, "/forecast/measured"));
    json_object_put(report);
    tell_figures(&f);
    end_it(&f, NULL);
    report = report_of(f.session);
    assert_string_equal(json_object_get_string(at(report, "/forecast/strategy")), "pre-copy");
    assert_in_range(number_at(report, "/forecast/predicted/sent_bytes/expected"), 1024 * MIB, 1100 * MIB);
    assert_in_range(number_at(report, "/forecast/predicted/total_ms/expected"), 10240, 13000);
    assert_true(json_object_get_boolean(at(report, "/forecast/measured/converged")));
    assert_int_equal(number_at(report, "/forecast/measured/sent_bytes"), 600 * MIB);
    assert_int_equal(number_at(report, "/forecast/measured/pause_ms"), 42);
    assert_int_equal(number_at(report, "/forecast/measured/rounds"), 3);
    assert_true(number_at(report, "/forecast/measured/total_ms") >= 0);
    json_object_put(report);
    close_fixture(&f);
}

static void post_copy_is_compared_with_the_forecast_of_post_copy(void **state)
{
    struct json_object *report;
    struct fixture f;
    char *learned = NULL;

    (void)state;
    open_fixture(&f);
    start_on(&f, 100 * MIB);
    fake_mode(&f.world, KVMIG_MODE_POST_COPY);
    tell_figures(&f);
    end_it(&f, NULL);
    report = report_of(f.session);
    assert_string_equal(json_object_get_string(at(report, "/forecast/strategy")), "post-copy");
    json_object_put(report);
    assert_int_equal(kvmig_cluster_export_learned(f.world.cluster, &learned), 0);
    assert_null(strstr(learned, "host-1")); /* what flows in post-copy tells nothing of pre-copy */
    free(learned);
    close_fixture(&f);
}

static void a_failed_migration_has_no_outcome_and_teaches_nothing(void **state)
{
    struct json_object *report;
    struct fixture f;
    char *learned = NULL;

    (void)state;
    open_fixture(&f);
    f.world.sides_after[0] = f.world.sides[0];
    f.world.sides_after[1] = f.world.sides[1];
    start_on(&f, 100 * MIB);
    tell_figures(&f);
    end_it(&f, kvmig__error_new(KVMIG_EVIRT, "host-0", NULL, NULL, "it broke"));
    assert_int_equal(f.caller.end_phase, KVMIG_PHASE_FAILED);
    report = report_of(f.session);
    assert_non_null(at(report, "/forecast/predicted"));
    assert_null(at(report, "/forecast/measured")); /* nobody knows whether it would have ended */
    json_object_put(report);
    assert_int_equal(kvmig_cluster_export_learned(f.world.cluster, &learned), 0);
    assert_null(strstr(learned, "host-1"));
    free(learned);
    close_fixture(&f);
}

/* ---- the next forecast ---- */

static int32_t forecast_of(struct fake_world *world, struct kvmig_forecast *out)
{
    struct kvmig_plan *plan = plan_it(world, NULL);
    int32_t rc;

    *out = (struct kvmig_forecast)KVMIG_FORECAST_INIT;
    rc = kvmig_plan_forecast(plan, KVMIG_STRATEGY_PRE_COPY, out);
    kvmig_plan_unref(plan);
    return rc;
}

static void assert_rate_was_learned(struct fake_world *world, uint64_t bytes_per_s)
{
    struct kvmig_plan *plan = plan_it(world, NULL);
    struct json_object *json;
    char *text = NULL;

    assert_int_equal(kvmig_plan_to_json(plan, &text), 0);
    json = json_tokener_parse(text);
    assert_int_equal(number_at(json, "/forecast/inputs/bytes_per_s"), bytes_per_s);
    assert_string_equal(json_object_get_string(at(json, "/forecast/inputs/bytes_per_s_from")), "learned");
    json_object_put(json);
    free(text);
    kvmig_plan_unref(plan);
}

static void a_migration_makes_the_next_forecast(void **state)
{
    struct kvmig_forecast here, there;
    struct fake_world other;
    struct fixture f;
    char *learned = NULL;

    (void)state;
    open_fixture(&f);
    assert_int_equal(forecast_of(&f.world, &here), -ENODATA); /* neither a limit nor a link is known */
    start_on(&f, 100 * MIB);
    show_progress(&f, 100, 1, UINT64_MAX);
    show_progress(&f, 1200, 2, 20 * MIB);
    show_progress(&f, 2400, 3, 30 * MIB);
    tell_figures(&f);
    end_it(&f, NULL);
    assert_int_equal(forecast_of(&f.world, &here), 0);
    assert_int_equal(here.converges, 1); /* it knows how the guest dirties its memory */
    assert_in_range(here.sent_bytes, 512 * MIB, 1024 * MIB); /* and how much is not zero */
    assert_rate_was_learned(&f.world, 300 * MIB); /* as it was, not the 100 MiB/s that were told */

    assert_int_equal(kvmig_cluster_export_learned(f.world.cluster, &learned), 0);
    fake_world_open(&other, 2, 1, NULL);
    assert_int_equal(forecast_of(&other, &there), -ENODATA);
    assert_int_equal(kvmig_cluster_import_learned(other.cluster, learned), 0);
    assert_int_equal(forecast_of(&other, &there), 0);
    assert_int_equal(there.total_ms, here.total_ms);
    assert_int_equal(there.sent_bytes, here.sent_bytes);
    assert_int_equal(there.pause_ms, here.pause_ms);
    fake_world_close(&other);
    free(learned);
    close_fixture(&f);
}

static void a_migration_that_was_tuned_teaches_nothing(void **state)
{
    struct fixture f;
    char *learned;

    (void)state;
    for (int i = 0; i < 2; i++) {
        open_fixture(&f);
        start_on(&f, 100 * MIB);
        assert_int_equal(i ? kvmig_session_set_max_downtime(f.session, 50) : kvmig_session_set_bandwidth(f.session, 10),
                         0);
        tell_figures(&f);
        end_it(&f, NULL);
        assert_int_equal(f.caller.end_phase, KVMIG_PHASE_SUCCEEDED);
        assert_int_equal(kvmig_cluster_export_learned(f.world.cluster, &learned), 0);
        assert_null(strstr(learned, "host-1"));
        free(learned);
        close_fixture(&f);
    }
}

static void time_that_goes_back_teaches_no_nonsense(void **state)
{
    struct fake_world other;
    struct fixture f;
    char *learned = NULL;

    (void)state;
    open_fixture(&f);
    start_on(&f, 100 * MIB);
    show_progress(&f, 9000, 0, UINT64_MAX);
    show_progress(&f, 5000, 1, UINT64_MAX);
    show_progress(&f, 6200, 2, 20 * MIB);
    show_progress(&f, 1400, 2, 30 * MIB);
    tell_figures(&f);
    kvmig__context_lock(f.world.context);
    kvmig__session_get_report(f.session)->disk_sent = 100 * MIB;
    kvmig__context_unlock(f.world.context);
    end_it(&f, NULL);
    assert_int_equal(kvmig_cluster_export_learned(f.world.cluster, &learned), 0);
    assert_non_null(strstr(learned, "1200000")); /* the window of 1.2 s, and no other */
    assert_null(strstr(learned, "disk_bytes_per_s"));
    fake_world_open(&other, 2, 1, NULL);
    assert_int_equal(kvmig_cluster_import_learned(other.cluster, learned), 0);
    fake_world_close(&other);
    free(learned);
    close_fixture(&f);
}

static void a_drain_knows_what_was_learned(void **state)
{
    static const char *const nodes[] = { "host-0" };
    struct kvmig_drain_opts opts = KVMIG_DRAIN_OPTS_INIT;
    struct kvmig_forecast forecast = KVMIG_FORECAST_INIT;
    struct kvmig_drain *drain = NULL;
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    assert_int_equal(kvmig_cluster_import_learned(
                         world.cluster, "{\"kvmig_learned\": 1, \"links\": [{\"source\": \"host-0\", \"target\": "
                                        "\"host-1\", \"bytes_per_s\": 1000000000}]}"),
                     0);
    opts.nodes = nodes;
    opts.n_nodes = 1;
    assert_int_equal(kvmig_cluster_plan_drain(world.cluster, &opts, &drain), 0);
    assert_int_equal(kvmig_drain_count(drain), 1);
    assert_int_equal(kvmig_plan_forecast(kvmig_drain_plan(drain, 0), KVMIG_STRATEGY_PRE_COPY, &forecast), 0);
    kvmig_drain_unref(drain);
    fake_world_close(&world);
}

/* ---- measuring ---- */

struct heard {
    int n;
    int32_t error;
    char *vm, *host;
};

static void on_event(const struct kvmig_event *event, void *user_data)
{
    struct heard *heard = user_data;

    if (kvmig_event_type(event) != KVMIG_EVENT_MEASURED)
        return;
    heard->n++;
    heard->error = kvmig_event_error(event) ? kvmig_error_code(kvmig_event_error(event)) : 0;
    kvmig__str_set(&heard->vm, kvmig_event_vm(event));
    kvmig__str_set(&heard->host, kvmig_event_host(event));
}

static int32_t has_heard(void *data)
{
    return ((struct heard *)data)->n > 0;
}

static void open_listening(struct fake_world *world, struct heard *heard)
{
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;

    *heard = (struct heard){ 0 };
    opts.on_event = (struct kvmig_event_callback){ on_event, heard, NULL };
    fake_world_open(world, 2, 1, &opts);
}

static void close_listening(struct fake_world *world, struct heard *heard)
{
    fake_world_close(world);
    free(heard->vm);
    free(heard->host);
}

static void a_measurement_is_told_once_and_used(void **state)
{
    struct kvmig_forecast_opts told = KVMIG_FORECAST_OPTS_INIT;
    struct kvmig_forecast forecast = KVMIG_FORECAST_INIT;
    struct fake_world world;
    struct kvmig_plan *plan;
    struct heard heard;

    (void)state;
    open_listening(&world, &heard);
    assert_int_equal(kvmig_cluster_measure(world.cluster, "vm-0", NULL), 0);
    assert_int_equal(heard.n, 0);
    fake_run(&world, has_heard, &heard);
    fake_drain(&world);
    assert_int_equal(heard.n, 1);
    assert_int_equal(heard.error, 0);
    assert_string_equal(heard.vm, "vm-0");
    assert_string_equal(heard.host, "host-0");
    assert_int_equal(world.measured.window_ms[0], 1000);
    assert_int_equal(world.measured.window_ms[1], 5000);
    told.link_bytes_per_s = 100 * MIB;
    plan = plan_it(&world, &told);
    assert_int_equal(kvmig_plan_forecast(plan, KVMIG_STRATEGY_PRE_COPY, &forecast), 0);
    assert_int_equal(forecast.converges, 1);
    kvmig_plan_unref(plan);
    close_listening(&world, &heard);
}

static void a_measurement_that_fails_says_so_and_teaches_nothing(void **state)
{
    struct fake_world world;
    struct heard heard;
    char *learned = NULL;

    (void)state;
    open_listening(&world, &heard);
    world.measure_fails = true;
    assert_int_equal(kvmig_cluster_measure(world.cluster, "vm-0", NULL), 0);
    fake_run(&world, has_heard, &heard);
    assert_int_equal(heard.error, -EBUSY);
    assert_int_equal(kvmig_cluster_export_learned(world.cluster, &learned), 0);
    assert_null(strstr(learned, "uuid"));
    free(learned);
    close_listening(&world, &heard);
}

static void the_view_may_be_let_go_while_it_measures(void **state)
{
    struct fake_world world;
    struct heard heard;

    (void)state;
    open_listening(&world, &heard);
    assert_int_equal(kvmig_cluster_measure(world.cluster, "vm-0", NULL), 0);
    kvmig_cluster_unref(world.cluster);
    world.cluster = NULL;
    fake_drain(&world);
    assert_int_equal(heard.n, 0); /* nobody is there who could hear it */
    close_listening(&world, &heard);
}

static void assert_not_measured(struct fake_world *world, uint64_t short_ms, uint64_t long_ms, uint64_t timeout_ms,
                                const char *named)
{
    struct kvmig_measure_opts opts = KVMIG_MEASURE_OPTS_INIT;

    opts.short_ms = short_ms;
    opts.long_ms = long_ms;
    opts.timeout_ms = timeout_ms;
    assert_int_equal(kvmig_cluster_measure(world->cluster, "vm-0", &opts), -EINVAL);
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), named));
}

static void what_cannot_be_measured_is_refused(void **state)
{
    struct fake_world world;

    (void)state;
    fake_world_open(&world, 2, 1, NULL);
    assert_not_measured(&world, 1500, 0, 0, "short_ms");
    assert_not_measured(&world, 0, 61000, 0, "long_ms");
    assert_not_measured(&world, 5000, 5000, 0, "long_ms");
    assert_not_measured(&world, 0, 0, UINT64_MAX, "timeout_ms");
    assert_int_equal(kvmig_cluster_measure(world.cluster, "nobody", NULL), -KVMIG_ENOVM);
    assert_int_equal(kvmig_cluster_measure(world.cluster, "", NULL), -EINVAL);
    assert_int_equal(kvmig_cluster_measure(NULL, "vm-0", NULL), -EINVAL);
    fake_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_has_plan_and_outcome_side_by_side),
        cmocka_unit_test(post_copy_is_compared_with_the_forecast_of_post_copy),
        cmocka_unit_test(a_failed_migration_has_no_outcome_and_teaches_nothing),
        cmocka_unit_test(a_migration_makes_the_next_forecast),
        cmocka_unit_test(a_migration_that_was_tuned_teaches_nothing),
        cmocka_unit_test(time_that_goes_back_teaches_no_nonsense),
        cmocka_unit_test(a_drain_knows_what_was_learned),
        cmocka_unit_test(a_measurement_is_told_once_and_used),
        cmocka_unit_test(a_measurement_that_fails_says_so_and_teaches_nothing),
        cmocka_unit_test(the_view_may_be_let_go_while_it_measures),
        cmocka_unit_test(what_cannot_be_measured_is_refused),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
