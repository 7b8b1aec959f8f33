/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a migration teaches: from its progress figures and its report to the numbers that the next forecast takes up.
 */
#include "session/learning.h"

#include "cluster/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB 1048576.0

static void at(struct kvmig__learning *l, uint64_t elapsed_ms, uint64_t iteration, uint64_t dirty_per_s,
               int32_t throttle, int32_t mode)
{
    const struct kvmig_progress p = {
        .elapsed_ms = elapsed_ms, .iteration = iteration, .dirty_bytes_per_s = dirty_per_s, .throttle_percent = throttle
    };

    kvmig__learning_sample(l, &p, mode);
}

/* A call of 12.5 s, of which QEMU says 11.9 with 0.1 of set-up; 160 MiB, and its last rate is twice as much as it was on average. */
static struct kvmig__report *report_of_a_copy(void)
{
    struct kvmig__report *report = kvmig__report_new();

    report->call_started_ms = 1000;
    report->call_ended_ms = 13500;
    report->total_ms = 11900;
    report->setup_ms = 100;
    report->memory_total = (uint64_t)(256 * MIB);
    report->page_size = 4096;
    report->pages_constant = (uint64_t)(100 * MIB) / 4096;
    report->memory_sent = (uint64_t)(160 * MIB);
    report->bandwidth_bytes_per_s = (uint64_t)(32 * MIB);
    report->pause_source_ms = 40;
    return report;
}

static void a_new_dirty_rate_ends_a_window(void **state)
{
    struct kvmig__report *report = report_of_a_copy();
    struct kvmig__learning l = { .begun = false };
    struct kvmig__seen seen;

    (void)state;
    at(&l, 200, 0, KVMIG__UNKNOWN, 0, KVMIG_MODE_PRE_COPY);
    at(&l, 500, 1, KVMIG__UNKNOWN, 0, KVMIG_MODE_PRE_COPY);
    at(&l, 8500, 2, 4000000, 0, KVMIG_MODE_PRE_COPY);
    at(&l, 9500, 3, 4000000, 0, KVMIG_MODE_PRE_COPY);
    at(&l, 10500, 4, 5000000, 0, KVMIG_MODE_PRE_COPY);
    assert_true(kvmig__learning_end(&l, report, 0, 0.3, &seen));
    assert_int_equal(seen.n_points, 2);
    assert_float_equal(seen.points[0].seconds, 8, 1e-9);
    assert_float_equal(seen.points[0].bytes, 32e6, 1);
    assert_float_equal(seen.points[1].seconds, 2, 1e-9);
    assert_float_equal(seen.points[1].bytes, 10e6, 1);
    kvmig__report_free(report);
}

static void times_are_those_of_the_whole_not_of_a_moment(void **state)
{
    struct kvmig__report *report = report_of_a_copy();
    struct kvmig__learning l = { .begun = false };
    struct kvmig__seen seen;

    (void)state;
    assert_true(kvmig__learning_end(&l, report, 0, 0.3, &seen));
    assert_float_equal(seen.call_s, 12.5, 1e-9);
    assert_float_equal(seen.transfer_s, 11.8, 1e-9);
    assert_float_equal(seen.sent, 160 * MIB, 1);
    assert_float_equal(seen.used, 156 * MIB, 1);
    assert_float_equal(seen.pause_s, 0.04, 1e-9);
    report->disk_sent = 5; /* the job's time is that of the disks, too */
    assert_true(kvmig__learning_end(&l, report, 0, 0.3, &seen));
    assert_float_equal(seen.transfer_s, 5, 1e-9);
    kvmig__report_free(report);
}

static void a_throttled_guest_teaches_neither_its_dirtying_nor_the_overhead(void **state)
{
    struct kvmig__report *report = report_of_a_copy();
    struct kvmig__learning l = { .begun = false };
    struct kvmig__seen seen;

    (void)state;
    at(&l, 500, 1, KVMIG__UNKNOWN, 0, KVMIG_MODE_PRE_COPY);
    at(&l, 8500, 2, 4000000, 20, KVMIG_MODE_PRE_COPY);
    assert_true(kvmig__learning_end(&l, report, 0, 0.3, &seen));
    assert_int_equal(seen.n_points, 0);
    assert_true(seen.call_s < 0);
    assert_float_equal(seen.used, 156 * MIB, 1);
    kvmig__report_free(report);
}

static void post_copy_teaches_nothing(void **state)
{
    struct kvmig__report *report = report_of_a_copy();
    struct kvmig__learning l = { .begun = false };
    struct kvmig__seen seen;

    (void)state;
    at(&l, 500, 1, KVMIG__UNKNOWN, 0, KVMIG_MODE_POST_COPY);
    assert_false(kvmig__learning_end(&l, report, 0, 0.3, &seen));
    kvmig__report_free(report);
}

static void nothing_known_teaches_nothing(void **state)
{
    struct kvmig__report *report = kvmig__report_new();
    const struct kvmig__learning l = { .begun = false };
    struct kvmig__seen seen;

    (void)state;
    assert_false(kvmig__learning_end(&l, report, 0, 0.3, &seen));
    kvmig__report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_dirty_rate_ends_a_window),
        cmocka_unit_test(times_are_those_of_the_whole_not_of_a_moment),
        cmocka_unit_test(a_throttled_guest_teaches_neither_its_dirtying_nor_the_overhead),
        cmocka_unit_test(post_copy_teaches_nothing),
        cmocka_unit_test(nothing_known_teaches_nothing),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
