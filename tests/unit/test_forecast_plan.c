/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Forecasts in plans: where their numbers come from, what they find, what they recommend; and what is learned, with its JSON.
 */
#include "plan_fixture.h"

#include "cluster/facts.h"
#include "cluster/learned_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GBIT (1000000000ull / 8)

static struct kvmig_forecast of(const struct kvmig_plan *plan, int32_t strategy)
{
    struct kvmig_forecast f = KVMIG_FORECAST_INIT;

    assert_int_equal(kvmig_plan_forecast(plan, strategy, &f), 0);
    return f;
}

static void add_dirty(struct scene *s, uint64_t window_ms, uint64_t bytes_per_s)
{
    struct kvmig__forecast_asked *asked = &s->request.forecast;

    asked->dirty[asked->n_dirty++] = (struct kvmig_dirty_sample){ window_ms, bytes_per_s };
}

static struct scene scene_with(uint64_t memory, uint64_t link)
{
    struct scene s;

    scene_init(&s);
    s.request.target = kvmig__strdup("beta");
    s.request.forecast.memory = memory;
    s.request.forecast.link = link;
    return s;
}

/* ---- what is not known ---- */

static void without_a_link_there_is_no_forecast(void **state)
{
    struct scene s = scene_with(8 * GIB, 0);
    struct kvmig_forecast f = KVMIG_FORECAST_INIT;
    const struct kvmig_plan *plan = scene_plan(&s);
    const char *reason = "x";

    (void)state;
    assert_int_equal(kvmig_plan_forecast(plan, KVMIG_STRATEGY_PRE_COPY, &f), -ENODATA);
    assert_int_equal(kvmig_plan_recommended_strategy(plan, &reason), 0);
    assert_null(reason);
    assert_clean(plan);
    scene_clear(&s);
}

static void without_a_dirty_rate_nothing_is_found(void **state)
{
    struct scene s = scene_with(8 * GIB, GBIT);
    struct kvmig_forecast f;

    (void)state;
    assert_clean(scene_plan(&s));
    f = of(s.plan, KVMIG_STRATEGY_PRE_COPY);
    assert_int_equal(f.converges, -1);
    assert_true(f.total_ms > 60000 && f.total_ms < 80000);
    assert_true(f.total_high_ms == UINT64_MAX);
    scene_clear(&s);
}

static void the_limit_stands_for_a_link_that_is_not_known(void **state)
{
    struct scene s = scene_with(1 * GIB, 0);

    (void)state;
    s.request.bandwidth_mib = 64;
    scene_plan(&s);
    assert_true(of(s.plan, KVMIG_STRATEGY_PRE_COPY).total_ms > 15000);
    assert_string_equal(kvmig__basis_name(s.plan->forecast.link_basis), "bandwidth-limit");
    scene_clear(&s);
}

static void wrong_questions_are_refused(void **state)
{
    struct scene s = scene_with(8 * GIB, GBIT);
    struct kvmig_forecast f = KVMIG_FORECAST_INIT;

    (void)state;
    scene_plan(&s);
    assert_int_equal(kvmig_plan_forecast(s.plan, 0, &f), -EINVAL);
    assert_int_equal(kvmig_plan_forecast(s.plan, 4, &f), -EINVAL);
    assert_int_equal(kvmig_plan_forecast(NULL, 1, &f), -EINVAL);
    f.size = 4;
    assert_int_equal(kvmig_plan_forecast(s.plan, 1, &f), -EINVAL);
    f = (struct kvmig_forecast){ .size = 16, .total_ms = 7 };
    assert_int_equal(kvmig_plan_forecast(s.plan, 1, &f), 0);
    assert_int_equal(f.total_ms, 7); /* beyond what the caller knows */
    scene_clear(&s);
}

/* ---- what is found ---- */

/* An average alone: 650 of 1000 Mbit/s end within 300 ms, 900 do not but would within a second, 1100 never. */
static void an_average_is_judged_with_a_floor_for_the_last_passes(void **state)
{
    static const struct {
        uint64_t megabits, limit_ms;
        bool found;
    } cases[] = { { 100, 300, false },  { 650, 300, false }, { 900, 300, true },
                  { 900, 1200, false }, { 1100, 300, true }, { 1100, 1200, true } };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct scene s = scene_with(8 * GIB, GBIT);

        add_dirty(&s, 0, cases[i].megabits * 1000000 / 8);
        s.request.max_downtime_ms = cases[i].limit_ms;
        scene_plan(&s);
        if (cases[i].found)
            assert_finding(s.plan, "NOT_CONVERGING_LIKELY", KVMIG_SEVERITY_WARN);
        else
            assert_clean(s.plan);
        scene_clear(&s);
    }
}

static void what_is_planned_is_judged(void **state)
{
    struct scene s = scene_with(8 * GIB, GBIT);

    (void)state;
    add_dirty(&s, 0, 1100000000 / 8);
    s.request.flags = KVMIG_PLAN_AUTO_CONVERGE;
    assert_clean(scene_plan(&s)); /* throttled, it ends */
    s.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY | KVMIG_PLAN_POSTCOPY_AFTER_PRECOPY;
    assert_clean(scene_plan(&s));
    s.request.flags = KVMIG_PLAN_ALLOW_POSTCOPY; /* nobody has switched it yet */
    assert_finding(scene_plan(&s), "NOT_CONVERGING_LIKELY", KVMIG_SEVERITY_WARN);
    scene_clear(&s);
}

static void it_blocks_only_if_all_that_would_end_it_is_ruled_out(void **state)
{
    struct scene s = scene_with(8 * GIB, GBIT);

    (void)state;
    add_dirty(&s, 1000, 4 * GBIT);
    add_dirty(&s, 10000, 4 * GBIT);
    s.request.forecast.forbid = KVMIG_FORBID_AUTO_CONVERGE;
    s.request.forecast.ceiling_ms = 500;
    assert_finding(scene_plan(&s), "NOT_CONVERGING_LIKELY", KVMIG_SEVERITY_WARN);
    assert_int_equal(kvmig_plan_recommended_strategy(s.plan, NULL), KVMIG_STRATEGY_POST_COPY);
    s.request.forecast.forbid |= KVMIG_FORBID_POST_COPY;
    assert_finding(scene_plan(&s), "NOT_CONVERGING_LIKELY", KVMIG_SEVERITY_BLOCKER);
    assert_verdict(s.plan, KVMIG_VERDICT_BLOCKED);
    assert_int_equal(kvmig_plan_candidate_verdict(s.plan, 0), KVMIG_VERDICT_BLOCKED);
    assert_int_equal(kvmig_plan_recommended_strategy(s.plan, NULL), 0);
    s.request.forecast.ceiling_ms = 3600000;
    assert_finding(scene_plan(&s), "NOT_CONVERGING_LIKELY", KVMIG_SEVERITY_WARN);
    scene_clear(&s);
}

static void the_completion_limit_is_counted_per_gib(void **state)
{
    struct scene s = scene_with(8 * GIB, GBIT);

    (void)state;
    add_dirty(&s, 1000, 1000);
    s.request.forecast.completion_s_per_gib = 5;
    assert_finding(scene_plan(&s), "COMPLETION_LIMIT_LIKELY", KVMIG_SEVERITY_WARN);
    assert_int_equal(of(s.plan, KVMIG_STRATEGY_PRE_COPY).limit_ms, 40000);
    s.request.forecast.completion_s_per_gib = 150;
    assert_clean(scene_plan(&s));
    scene_clear(&s);
}

/* Not even all of its memory need be in use, and yet: 8 GiB within 8 s, at a gigabit. In 40 s, who knows. */
static void a_limit_that_even_a_quiet_guest_hits_is_found_without_a_dirty_rate(void **state)
{
    struct scene s = scene_with(8 * GIB, GBIT);

    (void)state;
    s.request.forecast.completion_s_per_gib = 1;
    assert_finding(scene_plan(&s), "COMPLETION_LIMIT_LIKELY", KVMIG_SEVERITY_WARN);
    assert_int_equal(of(s.plan, KVMIG_STRATEGY_PRE_COPY).over_limit, 1);
    s.request.forecast.completion_s_per_gib = 5;
    assert_clean(scene_plan(&s));
    assert_int_equal(of(s.plan, KVMIG_STRATEGY_PRE_COPY).over_limit, -1);
    scene_clear(&s);
}

/* Neither how long it would take nor how much it would send, not even at best; but what would do. */
static void what_never_ends_has_no_total(void **state)
{
    struct scene s = scene_with(8 * GIB, GBIT);
    struct kvmig_forecast f;

    (void)state;
    add_dirty(&s, 1000, GBIT * 4);
    add_dirty(&s, 4000, GBIT * 4);
    scene_plan(&s);
    f = of(s.plan, KVMIG_STRATEGY_PRE_COPY);
    assert_int_equal(f.converges, 0);
    assert_int_equal(f.certain, 1);
    assert_true(f.total_ms == UINT64_MAX && f.total_low_ms == UINT64_MAX && f.total_high_ms == UINT64_MAX);
    assert_true(f.sent_bytes == UINT64_MAX && f.sent_low_bytes == UINT64_MAX);
    assert_true(f.needed_bytes_per_s > GBIT && f.needed_bytes_per_s != UINT64_MAX);
    assert_true(f.needed_throttle_percent > 50);
    scene_clear(&s);
}

static void the_least_invasive_strategy_is_recommended(void **state)
{
    struct scene s = scene_with(8 * GIB, GBIT);

    (void)state;
    add_dirty(&s, 1000, GBIT / 100);
    add_dirty(&s, 10000, GBIT / 100);
    assert_int_equal(kvmig_plan_recommended_strategy(scene_plan(&s), NULL), KVMIG_STRATEGY_PRE_COPY);
    s.request.forecast.dirty[0].bytes_per_s = s.request.forecast.dirty[1].bytes_per_s = 2 * GBIT;
    assert_int_equal(kvmig_plan_recommended_strategy(scene_plan(&s), NULL), KVMIG_STRATEGY_AUTO_CONVERGE);
    s.request.forecast.forbid = KVMIG_FORBID_AUTO_CONVERGE;
    assert_int_equal(kvmig_plan_recommended_strategy(scene_plan(&s), NULL), KVMIG_STRATEGY_POST_COPY);
    scene_clear(&s);
}

static void bounds_lie_around_what_is_expected(void **state)
{
    (void)state;
    for (uint64_t rate = 0; rate < GBIT; rate += GBIT / 8) {
        struct scene s = scene_with(4 * GIB, GBIT);

        add_dirty(&s, 1000, rate);
        add_dirty(&s, 10000, rate / 2);
        scene_plan(&s);
        for (int32_t strategy = KVMIG_STRATEGY_PRE_COPY; strategy <= KVMIG_STRATEGY_POST_COPY; strategy++) {
            const struct kvmig_forecast f = of(s.plan, strategy);

            assert_true(f.total_low_ms <= f.total_ms && f.total_ms <= f.total_high_ms);
            assert_true(f.pause_low_ms <= f.pause_ms && f.pause_ms <= f.pause_high_ms);
        }
        scene_clear(&s);
    }
}

/* ---- what is learned ---- */

static struct kvmig__seen seen(void)
{
    return (struct kvmig__seen){ .call_s = 12,
                                 .transfer_s = 10,
                                 .sent = 500 * (double)MIB,
                                 .memory = 1 * (double)GIB,
                                 .used = 500 * (double)MIB,
                                 .rate = 50 * (double)MIB,
                                 .pause_s = 0.2,
                                 .last = 5 * (double)MIB,
                                 .points = { { 1, 1e6 }, { 3, 2e6 } },
                                 .n_points = 2 };
}

static void a_migration_teaches_link_and_guest(void **state)
{
    struct kvmig__learned learned = { .stamp = 0 };
    const struct kvmig__seen what = seen();
    struct scene s = scene_with(0, 0);

    (void)state;
    kvmig__learned_take(&learned, scene_vm(&s)->uuid, "alpha", "beta", &what);
    s.request.learned = &learned;
    scene_plan(&s);
    assert_string_equal(kvmig__basis_name(s.plan->forecast.link_basis), "learned");
    assert_string_equal(kvmig__basis_name(s.plan->forecast.used_basis), "learned");
    assert_string_equal(kvmig__basis_name(s.plan->forecast.dirty_basis), "learned");
    assert_true(of(s.plan, KVMIG_STRATEGY_PRE_COPY).total_ms > 11000);
    assert_true(of(s.plan, KVMIG_STRATEGY_PRE_COPY).total_ms < 13000);
    kvmig__learned_clear(&learned);
    scene_clear(&s);
}

static void a_limit_that_held_teaches_no_link(void **state)
{
    struct kvmig__learned learned = { .stamp = 0 };
    struct kvmig__seen what = seen();

    (void)state;
    what.cap = what.rate * 1.02;
    kvmig__learned_take(&learned, "u", "a", "b", &what);
    assert_true(kvmig__learned_find_link(&learned, "a", "b")->line < 0);
    assert_null(kvmig__learned_find_link(&learned, "b", "a"));
    kvmig__learned_clear(&learned);
}

/* 495 MiB at the limit of 51 MiB/s take 9.7 s, the pause 0.2 s: of 12 s the rest is overhead, whatever QEMU's last rate was. */
static void a_limit_that_held_tells_how_long_memory_flowed(void **state)
{
    struct kvmig__learned learned = { .stamp = 0 };
    struct kvmig__seen what = seen();

    (void)state;
    what.cap = 51 * (double)MIB;
    what.transfer_s = 3;
    kvmig__learned_take(&learned, "u", "a", "b", &what);
    assert_float_equal(kvmig__learned_find_link(&learned, "a", "b")->setup_s, 12 - 495 / 51.0 - 0.2, 0.001);
    kvmig__learned_clear(&learned);
}

/* The overhead is known to be 7 s: then 500 MiB went out in 5 s, though QEMU counts 10. But not in less than a quarter of these. */
static void a_line_is_what_went_out_beyond_the_overhead(void **state)
{
    struct kvmig__learned learned = { .stamp = 0 };
    const struct kvmig__seen what = seen();

    (void)state;
    kvmig__learned_link(&learned, "a", "b")->setup_s = 7;
    kvmig__learned_link(&learned, "a", "c")->setup_s = 11;
    kvmig__learned_take(&learned, "u", "a", "b", &what);
    kvmig__learned_take(&learned, "u", "a", "c", &what);
    assert_float_equal(kvmig__learned_find_link(&learned, "a", "b")->line, 100.0 * MIB, 1);
    assert_float_equal(kvmig__learned_find_link(&learned, "a", "c")->line, 50.0 * MIB, 1);
    kvmig__learned_clear(&learned);
}

static void the_store_forgets_the_oldest(void **state)
{
    struct kvmig__learned learned = { .stamp = 0 };

    (void)state;
    for (size_t i = 0; i <= KVMIG__LEARNED_MOST; i++) {
        char *uuid = kvmig__asprintf("vm%zu", i);

        kvmig__learned_vm(&learned, uuid);
        free(uuid);
    }
    assert_int_equal(learned.vms.n, KVMIG__LEARNED_MOST);
    assert_null(kvmig__learned_find_vm(&learned, "vm0"));
    assert_non_null(kvmig__learned_find_vm(&learned, "vm1"));
    kvmig__learned_clear(&learned);
}

static void what_was_learned_survives_json(void **state)
{
    struct kvmig__learned learned = { .stamp = 0 }, again = { .stamp = 0 };
    const struct kvmig__seen what = seen();
    const struct kvmig__dirty_point points[] = { { 1, 1e6 }, { 5, 2e6 } };
    char *json, *second;

    (void)state;
    kvmig__learned_take(&learned, "vm-a", "alpha", "beta", &what);
    kvmig__learned_measured(&learned, "vm-b", points, 2, 7e8, 0.25);
    json = kvmig__learned_to_json(&learned);
    assert_int_equal(kvmig__learned_from_json(&again, json, "test"), 0);
    second = kvmig__learned_to_json(&again);
    assert_string_equal(json, second);
    free(json);
    free(second);
    kvmig__learned_clear(&learned);
    kvmig__learned_clear(&again);
}

static void wrong_texts_are_refused_and_change_nothing(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"kvmig_learned\": 2}",
        "{\"kvmig_learned\": 1} x",
        "{\"kvmig_learned\": 1}{\"kvmig_learned\": 1}",
        "{\"kvmig_learned\": 1, \"links\": 3}",
        "{\"kvmig_learned\": 1, \"links\": [{\"source\": \"a\", \"target\": \"b\"}], \"vms\": [{}]}",
        "{\"kvmig_learned\": 1, \"links\": [{\"source\": \"a\", \"target\": \"b\"}], \"vms\": [7]}",
        "{\"kvmig_learned\": 1, \"links\": [{\"source\": \"a\", \"target\": \"b\", \"bytes_per_s\": -5}]}",
        "{\"kvmig_learned\": 1, \"links\": [{\"source\": \"a\", \"target\": \"b\", \"bytes_per_s\": \"x\"}]}",
        "{\"kvmig_learned\": 1, \"vms\": [{\"uuid\": \"u\", \"busy_permille\": 4000}]}",
        "{\"kvmig_learned\": 1, \"vms\": [{\"uuid\": \"u\", \"dirty\": [1]}]}",
        ("{\"kvmig_learned\": 1, \"vms\": [{\"uuid\": \"u\", \"dirty\": "
         "[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}]}"),
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        struct kvmig__learned learned = { .stamp = 0 };

        assert_int_equal(kvmig__learned_from_json(&learned, texts[i], "test"), -EINVAL);
        assert_int_equal(learned.links.n + learned.vms.n, 0);
        kvmig__learned_clear(&learned);
    }
}

static void an_export_that_fails_leaves_nothing(void **state)
{
    char *json = (char *)1;

    (void)state;
    assert_int_equal(kvmig_cluster_export_learned(NULL, &json), -EINVAL);
    assert_null(json);
    assert_int_equal(kvmig_cluster_export_learned(NULL, NULL), -EINVAL);
}

/* ---- options ---- */

static void options_are_copied_or_refused(void **state)
{
    const struct kvmig_dirty_sample samples[17] = { { 1000, 5 } };
    struct kvmig_forecast_opts forecast = KVMIG_FORECAST_OPTS_INIT;
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;
    struct kvmig__request request;

    (void)state;
    opts.vm = "vm1";
    opts.forecast = &forecast;
    forecast.dirty = samples;
    forecast.n_dirty = 1;
    forecast.used_bytes = 9;
    assert_int_equal(kvmig__request_from_opts(&request, &opts, "test"), 0);
    assert_int_equal(request.forecast.n_dirty, 1);
    assert_int_equal(request.forecast.used, 9);
    kvmig__request_clear(&request);
    forecast.n_dirty = 17;
    assert_int_equal(kvmig__request_from_opts(&request, &opts, "test"), -EINVAL);
    forecast.n_dirty = 1;
    forecast.forbid = 8;
    assert_int_equal(kvmig__request_from_opts(&request, &opts, "test"), -EINVAL);
    forecast.forbid = 0;
    forecast.busy_percent = 101;
    assert_int_equal(kvmig__request_from_opts(&request, &opts, "test"), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_link_there_is_no_forecast),
        cmocka_unit_test(without_a_dirty_rate_nothing_is_found),
        cmocka_unit_test(the_limit_stands_for_a_link_that_is_not_known),
        cmocka_unit_test(wrong_questions_are_refused),
        cmocka_unit_test(an_average_is_judged_with_a_floor_for_the_last_passes),
        cmocka_unit_test(what_is_planned_is_judged),
        cmocka_unit_test(it_blocks_only_if_all_that_would_end_it_is_ruled_out),
        cmocka_unit_test(the_completion_limit_is_counted_per_gib),
        cmocka_unit_test(a_limit_that_even_a_quiet_guest_hits_is_found_without_a_dirty_rate),
        cmocka_unit_test(what_never_ends_has_no_total),
        cmocka_unit_test(the_least_invasive_strategy_is_recommended),
        cmocka_unit_test(bounds_lie_around_what_is_expected),
        cmocka_unit_test(a_migration_teaches_link_and_guest),
        cmocka_unit_test(a_limit_that_held_teaches_no_link),
        cmocka_unit_test(a_limit_that_held_tells_how_long_memory_flowed),
        cmocka_unit_test(a_line_is_what_went_out_beyond_the_overhead),
        cmocka_unit_test(the_store_forgets_the_oldest),
        cmocka_unit_test(what_was_learned_survives_json),
        cmocka_unit_test(wrong_texts_are_refused_and_change_nothing),
        cmocka_unit_test(an_export_that_fails_leaves_nothing),
        cmocka_unit_test(options_are_copied_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
