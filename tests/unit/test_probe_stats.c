/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a probe makes of its tries: counts, the longest gap, and a series that stays small and keeps the gap.
 */
#include "probe/probe_stats.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define HOLE 60
#define TIMEOUT 200

static void assert_gap(const struct kvmig__probe_stats *stats, int64_t now, int64_t begin, int64_t end, bool is_open)
{
    struct kvmig__probe_gap gap;

    assert_true(kvmig__probe_stats_gap(stats, now, &gap));
    assert_int_equal(gap.begin_ms, begin);
    assert_int_equal(gap.end_ms, end);
    assert_int_equal(gap.is_open, is_open);
}

static void assert_span(const struct kvmig__probe_stats *stats, size_t index, int64_t begin, int64_t end,
                        uint64_t successes, uint64_t failures)
{
    assert_true(index < stats->n_spans);
    assert_int_equal(stats->spans[index].begin_ms, begin);
    assert_int_equal(stats->spans[index].end_ms, end);
    assert_int_equal(stats->spans[index].successes, successes);
    assert_int_equal(stats->spans[index].failures, failures);
}

/* Spans follow one another, and nothing that was counted is lost. */
static void assert_sound(const struct kvmig__probe_stats *stats)
{
    uint64_t successes = 0, failures = 0;

    assert_true(stats->n_spans <= KVMIG__PROBE_MAX_SPANS);
    for (size_t i = 0; i < stats->n_spans; i++) {
        assert_true(stats->spans[i].begin_ms <= stats->spans[i].end_ms);
        assert_true(i == 0 || stats->spans[i - 1].end_ms <= stats->spans[i].begin_ms);
        successes += stats->spans[i].successes;
        failures += stats->spans[i].failures;
    }
    assert_int_equal(successes + failures, stats->tries);
    assert_int_equal(failures, stats->failures);
}

/* Both ends of the longest gap can be read off the series. */
static void assert_gap_in_series(const struct kvmig__probe_stats *stats)
{
    bool begins = false, ends = false;

    for (size_t i = 0; i < stats->n_spans; i++) {
        begins |= stats->spans[i].successes && stats->spans[i].end_ms == stats->gap_begin_ms;
        ends |= stats->spans[i].successes && stats->spans[i].begin_ms == stats->gap_end_ms;
    }
    assert_true(begins && ends);
}

static void successes(struct kvmig__probe_stats *stats, int64_t from, int64_t to, int64_t step)
{
    for (int64_t at = from; at <= to; at += step)
        kvmig__probe_stats_success(stats, at);
}

/* ---- gaps ---- */

static void no_gap_is_known_before_the_first_success(void **state)
{
    struct kvmig__probe_stats stats;
    struct kvmig__probe_gap gap;

    (void)state;
    kvmig__probe_stats_init(&stats, HOLE);
    assert_false(kvmig__probe_stats_gap(&stats, 1000, &gap));
    kvmig__probe_stats_failure(&stats, 1000, 1200);
    assert_false(kvmig__probe_stats_gap(&stats, 2000, &gap));
    assert_int_equal(stats.tries, 1);
    assert_int_equal(stats.failures, 1);
    assert_int_equal(stats.last_failure_ms, 1200);
    assert_int_equal(stats.last_success_ms, 0);
    kvmig__probe_stats_clear(&stats);
}

static void a_gap_goes_from_the_end_of_one_success_to_the_end_of_the_next(void **state)
{
    struct kvmig__probe_stats stats;

    (void)state;
    kvmig__probe_stats_init(&stats, HOLE);
    successes(&stats, 1000, 1200, 20);
    successes(&stats, 1700, 1800, 20);
    assert_gap(&stats, 1810, 1200, 1700, false);
    assert_int_equal(stats.last_success_ms, 1800);
    kvmig__probe_stats_clear(&stats);
}

static void of_equal_gaps_the_first_is_told(void **state)
{
    struct kvmig__probe_stats stats;

    (void)state;
    kvmig__probe_stats_init(&stats, HOLE);
    kvmig__probe_stats_success(&stats, 1000);
    kvmig__probe_stats_success(&stats, 1500);
    kvmig__probe_stats_success(&stats, 2000);
    assert_gap(&stats, 2000, 1000, 1500, false);
    kvmig__probe_stats_clear(&stats);
}

static void an_open_gap_counts_as_soon_as_it_is_the_longest(void **state)
{
    struct kvmig__probe_stats stats;

    (void)state;
    kvmig__probe_stats_init(&stats, HOLE);
    kvmig__probe_stats_success(&stats, 1000);
    assert_gap(&stats, 1300, 1000, 1300, true);
    kvmig__probe_stats_success(&stats, 1500);
    assert_gap(&stats, 1999, 1000, 1500, false);
    assert_gap(&stats, 2001, 1500, 2001, true);
    kvmig__probe_stats_success(&stats, 2500);
    assert_gap(&stats, 2500, 1500, 2500, false);
    kvmig__probe_stats_clear(&stats);
}

static void failures_alone_make_no_gap(void **state)
{
    struct kvmig__probe_stats stats;

    (void)state;
    kvmig__probe_stats_init(&stats, HOLE);
    for (int64_t at = 1000; at <= 2000; at += 20) {
        kvmig__probe_stats_failure(&stats, at - 10, at - 5);
        kvmig__probe_stats_success(&stats, at);
    }
    assert_gap(&stats, 2000, 1000, 1020, false);
    assert_int_equal(stats.failures, 51);
    assert_sound(&stats);
    kvmig__probe_stats_clear(&stats);
}

/* ---- the series ---- */

static void an_outage_reads_as_success_failure_success(void **state)
{
    struct kvmig__probe_stats stats;

    (void)state;
    kvmig__probe_stats_init(&stats, HOLE);
    successes(&stats, 1000, 1200, 20);
    for (int64_t began = 1220; began <= 1600; began += 20)
        kvmig__probe_stats_failure(&stats, began, began + TIMEOUT);
    successes(&stats, 1820, 1900, 20);
    assert_int_equal(stats.n_spans, 3);
    assert_span(&stats, 0, 1000, 1200, 11, 0);
    assert_span(&stats, 1, 1220, 1600, 0, 20);
    assert_span(&stats, 2, 1820, 1900, 5, 0);
    kvmig__probe_stats_clear(&stats);
}

static void failures_that_are_known_late_stand_where_they_began(void **state)
{
    struct kvmig__probe_stats stats;

    (void)state;
    kvmig__probe_stats_init(&stats, HOLE);
    successes(&stats, 1000, 1200, 20);
    successes(&stats, 1300, 1400, 20);
    for (int64_t at = 1220; at <= 1280; at += 20) { /* run out of time while newer tries succeed */
        kvmig__probe_stats_failure(&stats, at, at + TIMEOUT);
        kvmig__probe_stats_success(&stats, at + TIMEOUT);
    }
    assert_int_equal(stats.n_spans, 3);
    assert_span(&stats, 0, 1000, 1200, 11, 0);
    assert_span(&stats, 1, 1220, 1280, 0, 4);
    assert_span(&stats, 2, 1300, 1480, 10, 0);
    assert_gap(&stats, 1480, 1200, 1300, false);
    assert_int_equal(stats.last_failure_ms, 1480);
    assert_sound(&stats);
    kvmig__probe_stats_clear(&stats);
}

static void one_lost_try_does_not_split_a_span(void **state)
{
    struct kvmig__probe_stats stats;

    (void)state;
    kvmig__probe_stats_init(&stats, HOLE);
    successes(&stats, 1000, 1100, 20);
    successes(&stats, 1140, 1400, 20);
    kvmig__probe_stats_failure(&stats, 1120, 1320);
    assert_int_equal(stats.n_spans, 1);
    assert_span(&stats, 0, 1000, 1400, 20, 1);
    kvmig__probe_stats_clear(&stats);
}

static void failures_before_everything_else_have_a_place(void **state)
{
    struct kvmig__probe_stats stats;

    (void)state;
    kvmig__probe_stats_init(&stats, HOLE);
    kvmig__probe_stats_success(&stats, 1200);
    kvmig__probe_stats_failure(&stats, 1020, 1220);
    kvmig__probe_stats_failure(&stats, 1000, 1220);
    kvmig__probe_stats_failure(&stats, 1040, 1240);
    assert_int_equal(stats.n_spans, 2);
    assert_span(&stats, 0, 1000, 1040, 0, 3);
    assert_span(&stats, 1, 1200, 1200, 1, 0);
    kvmig__probe_stats_clear(&stats);
}

static void a_long_unsteady_series_stays_bounded_and_keeps_the_longest_gap(void **state)
{
    struct kvmig__probe_stats stats;
    int64_t now = 1000;

    (void)state;
    kvmig__probe_stats_init(&stats, HOLE);
    for (int round = 0; round < 5000; round++) {
        const int64_t outage = round == 2500 ? 900 : 100 + round % 7 * 50;

        successes(&stats, now, now + 40, 20);
        for (int64_t began = now + 60; began < now + 40 + outage; began += 20)
            kvmig__probe_stats_failure(&stats, began, began + 1);
        now += 40 + outage;
        assert_true(stats.n_spans <= KVMIG__PROBE_MAX_SPANS);
    }
    assert_sound(&stats);
    assert_int_equal(stats.gap_end_ms - stats.gap_begin_ms, 900);
    assert_gap_in_series(&stats);
    kvmig__probe_stats_clear(&stats);
    assert_null(stats.spans);
}

/* Whatever comes, in whatever order a network may bring it. The numbers come from a fixed seed. */
static void no_order_of_results_breaks_the_series(void **state)
{
    uint32_t seed = 12345;

    (void)state;
    for (int run = 0; run < 50; run++) {
        struct kvmig__probe_stats stats;
        int64_t now = 1000;

        kvmig__probe_stats_init(&stats, HOLE);
        for (int i = 0; i < 4000; i++) {
            seed = seed * 1664525 + 1013904223;
            now += seed >> 24 & (run % 2 ? 127 : 15);
            if (seed >> 16 & 3)
                kvmig__probe_stats_success(&stats, now);
            else
                kvmig__probe_stats_failure(&stats, now - (seed >> 8 & 255), now);
        }
        assert_sound(&stats);
        if (stats.gap_end_ms - stats.gap_begin_ms > HOLE)
            assert_gap_in_series(&stats);
        kvmig__probe_stats_clear(&stats);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_gap_is_known_before_the_first_success),
        cmocka_unit_test(a_gap_goes_from_the_end_of_one_success_to_the_end_of_the_next),
        cmocka_unit_test(of_equal_gaps_the_first_is_told),
        cmocka_unit_test(an_open_gap_counts_as_soon_as_it_is_the_longest),
        cmocka_unit_test(failures_alone_make_no_gap),
        cmocka_unit_test(an_outage_reads_as_success_failure_success),
        cmocka_unit_test(failures_that_are_known_late_stand_where_they_began),
        cmocka_unit_test(one_lost_try_does_not_split_a_span),
        cmocka_unit_test(failures_before_everything_else_have_a_place),
        cmocka_unit_test(a_long_unsteady_series_stays_bounded_and_keeps_the_longest_gap),
        cmocka_unit_test(no_order_of_results_breaks_the_series),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
