/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The arithmetic of forecasts against figures worked out by hand, the directions that it must keep (more bandwidth is never worse),
 * and input that makes no sense.
 */
#include "plan/forecast_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MIB 1048576.0
#define GIB 1073741824.0

static void assert_near(double value, double wanted, double share)
{
    if (!(fabs(value - wanted) <= share * fabs(wanted) + 1e-9))
        fail_msg("%g is not near %g", value, wanted);
}

/* ---- curves ---- */

/* x = 1 - exp(-x D/R), worked out by hand: 2 GiB at 3 GiB/s over 1.16 GiB/s leave 0.90 of the set, 1.6 s; 0.5 GiB at 4 GiB/s leave 0.4 s,
 * although memory is dirtied 3.4 times as fast as it is sent. */
static void a_small_set_fits_into_a_pause_however_fast_it_is_written(void **state)
{
    const struct kvmig__dirty_curve large = { .hot = { 2 * GIB, 3 * GIB } }, small = { .hot = { 0.5 * GIB, 4 * GIB } };

    (void)state;
    assert_near(kvmig__curve_fixed_point(&large, 1.16 * GIB, 0) / GIB, 1.807, 0.01);
    assert_near(kvmig__curve_fixed_point(&small, 1.16 * GIB, 0) / (1.16 * GIB), 0.416, 0.02);
}

/* Below the bandwidth passes shrink to nothing; with a dead time t in each, to t x D / (1 - D/R). */
static void passes_have_a_floor_only_if_each_has_a_dead_time(void **state)
{
    const struct kvmig__dirty_curve curve = { .hot = { 8 * GIB, 650e6 / 8 } };

    (void)state;
    assert_true(kvmig__curve_fixed_point(&curve, 1e9 / 8, 0) < MIB);
    assert_near(kvmig__curve_fixed_point(&curve, 1e9 / 8, 0.1) / (1e9 / 8), 0.1 * 0.65 / 0.35, 0.01);
}

static void two_windows_give_the_set_and_the_rate(void **state)
{
    const double bytes = 400 * MIB, rate = 300 * MIB;
    const struct kvmig__dirty_point points[] = { { 10, bytes * (1 - exp(-10 * rate / bytes)) },
                                                 { 1, bytes * (1 - exp(-rate / bytes)) } };
    struct kvmig__dirty_curve curve;

    (void)state;
    kvmig__curve_fit(&curve, points, 2, 8 * GIB, 0, KVMIG__CURVE_LOW);
    assert_near(curve.hot.bytes, bytes, 0.01);
    assert_near(curve.hot.rate, rate, 0.01);
    assert_near(kvmig__curve_bytes(&curve, 3), bytes * (1 - exp(-3 * rate / bytes)), 0.01);
}

/* What grew between the windows may be cold pages: then more is dirtied after the longer one. Both curves pass through both points. */
static void bounds_differ_in_what_is_cold(void **state)
{
    const struct kvmig__dirty_point points[] = { { 1, 100 * MIB }, { 10, 190 * MIB } };
    struct kvmig__dirty_curve low, high;

    (void)state;
    kvmig__curve_fit(&low, points, 2, 8 * GIB, 0, KVMIG__CURVE_LOW);
    kvmig__curve_fit(&high, points, 2, 8 * GIB, 0, KVMIG__CURVE_HIGH);
    for (size_t i = 0; i < 2; i++) {
        assert_near(kvmig__curve_bytes(&low, points[i].seconds), points[i].bytes, 0.02);
        assert_near(kvmig__curve_bytes(&high, points[i].seconds), points[i].bytes, 0.02);
    }
    assert_near(kvmig__curve_bytes(&high, 60), 90 * MIB + 600 * MIB, 0.05);
    assert_true(kvmig__curve_bytes(&low, 60) < 200 * MIB);
}

static void a_rate_that_does_not_fall_says_nothing_of_the_set(void **state)
{
    const struct kvmig__dirty_point points[] = { { 1, 50 * MIB }, { 10, 500 * MIB } };
    struct kvmig__dirty_curve curve;

    (void)state;
    kvmig__curve_fit(&curve, points, 2, 4 * GIB, 0, KVMIG__CURVE_MIDDLE);
    assert_near(curve.hot.rate, 50 * MIB, 0.01);
    assert_near(kvmig__curve_most(&curve), 4 * GIB, 0.01);
    kvmig__curve_fit(&curve, points, 2, 4 * GIB, 1 * GIB, KVMIG__CURVE_MIDDLE);
    assert_near(kvmig__curve_most(&curve), 1 * GIB, 0.01);
}

static void three_windows_are_taken_as_they_are(void **state)
{
    const struct kvmig__dirty_point points[] = { { 0.1, 4 * MIB }, { 1.6, 64 * MIB }, { 60, 64 * MIB } };
    struct kvmig__dirty_curve curve;

    (void)state;
    kvmig__curve_fit(&curve, points, 3, 256 * MIB, 0, KVMIG__CURVE_HIGH);
    assert_near(kvmig__curve_bytes(&curve, 0.8), 32 * MIB, 0.01);
    assert_near(kvmig__curve_bytes(&curve, 5), 64 * MIB, 0.01);
    assert_near(kvmig__curve_bytes(&curve, 1e6), 64 * MIB, 0.01);
}

static void curves_never_fall_nor_exceed_memory(void **state)
{
    const double times[] = { 1e-9, 0.001, 0.1, 1, 3, 10, 100, 1e4, 1e9 };

    (void)state;
    srand(7);
    for (int round = 0; round < 2000; round++) {
        struct kvmig__dirty_point points[5];
        struct kvmig__dirty_curve curve;
        const size_t n = (size_t)(rand() % 6);
        double before = 0;

        for (size_t i = 0; i < n && i < 5; i++)
            points[i] = (struct kvmig__dirty_point){ (rand() % 600) / 10.0, (rand() % 10000) * MIB };
        kvmig__curve_fit(&curve, points, n < 5 ? n : 5, GIB, rand() % 3 ? 0 : 100 * MIB,
                         (enum kvmig__curve_bound)(rand() % 3));
        for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
            const double bytes = kvmig__curve_bytes(&curve, times[i]);

            assert_true(isfinite(bytes) && bytes >= before - 1 && bytes <= GIB * 1.001);
            before = bytes;
        }
    }
}

/* ---- migrations ---- */

static struct kvmig__copy_in quiet(void)
{
    return (struct kvmig__copy_in){ .memory = 1 * GIB,
                                    .used = 512 * MIB,
                                    .rate = 64 * MIB,
                                    .line = 256 * MIB,
                                    .post_rate = 256 * MIB,
                                    .limit_s = 0.3,
                                    .setup_s = 1,
                                    .finish_s = 0,
                                    .switch_s = 0.05,
                                    .converge_initial = 20,
                                    .converge_increment = 10,
                                    .busy = 1 };
}

static struct kvmig__copy_in writing(double bytes, double rate)
{
    struct kvmig__copy_in in = quiet();

    in.curve.hot = (struct kvmig__dirty_class){ bytes, rate };
    return in;
}

static struct kvmig__copy_out run(const struct kvmig__copy_in *in, enum kvmig__copy_kind kind)
{
    struct kvmig__copy_out out;

    kvmig__copy_run(in, kind, &out);
    assert_true(isfinite(out.total_s) && isfinite(out.pause_s) && isfinite(out.sent) && out.total_s >= 0);
    return out;
}

/* 512 MiB at 64 MiB/s: 8 s, less what fits into the pause, which goes at line speed; zero pages cost 9 bytes each. */
static void a_quiet_guest_takes_one_pass(void **state)
{
    const struct kvmig__copy_in in = quiet();
    const struct kvmig__copy_out out = run(&in, KVMIG__COPY_PRE);

    (void)state;
    assert_true(out.converges);
    assert_int_equal(out.rounds, 1);
    assert_near(out.total_s, 1 + 7.8 + 0.1, 0.02);
    assert_true(out.pause_s >= 0.05 && out.pause_s <= 0.05 + 0.3 * 64 / 256 + 0.001);
    assert_near(out.sent, 513 * MIB, 0.01);
}

/* Half as fast as the link: 8 + 4 + 2 + ... s, until less than 0.3 s is left. */
static void a_guest_that_writes_half_as_fast_takes_twice_as_long(void **state)
{
    const struct kvmig__copy_in in = writing(512 * MIB, 32 * MIB);
    const struct kvmig__copy_out out = run(&in, KVMIG__COPY_PRE);

    (void)state;
    assert_true(out.converges);
    assert_true(out.total_s > 12 && out.total_s < 17);
}

static void a_guest_that_writes_faster_never_ends(void **state)
{
    const struct kvmig__copy_in in = writing(400 * MIB, 100 * MIB);
    const struct kvmig__copy_out pre = run(&in, KVMIG__COPY_PRE), slowed = run(&in, KVMIG__COPY_CONVERGE),
                                 post = run(&in, KVMIG__COPY_POST);

    (void)state;
    assert_false(pre.converges);
    assert_true(slowed.converges);
    assert_true(slowed.throttle >= 20 && slowed.throttle <= 99);
    assert_true(post.converges);
    assert_true(post.total_s < slowed.total_s);
    assert_near(post.pause_s, 0.05, 0.01);
    assert_true(kvmig__copy_lowest_pause(&in) > 0.3);
    assert_true(kvmig__copy_needed_rate(&in) > 64 * MIB);
    assert_true(kvmig__copy_needed_throttle(&in) > 30 && kvmig__copy_needed_throttle(&in) < 60);
}

static void a_set_that_fits_into_the_pause_always_ends(void **state)
{
    const struct kvmig__copy_in in = writing(16 * MIB, 1000 * MIB); /* 0.3 s carry 19.2 MiB */

    (void)state;
    assert_true(run(&in, KVMIG__COPY_PRE).converges);
}

/* Throttling by less than what the guest leaves idle anyway does not slow its writing. */
static void an_idle_guest_is_slowed_down_late(void **state)
{
    struct kvmig__copy_in in = writing(400 * MIB, 100 * MIB);
    struct kvmig__copy_out busy = run(&in, KVMIG__COPY_CONVERGE), idle;

    (void)state;
    in.busy = 0.2;
    idle = run(&in, KVMIG__COPY_CONVERGE);
    assert_true(idle.throttle > busy.throttle);
    assert_true(idle.total_s > busy.total_s);
}

static void disks_come_before_memory(void **state)
{
    struct kvmig__copy_in in = quiet();
    const double without = run(&in, KVMIG__COPY_PRE).total_s;

    (void)state;
    in.disk_bytes = 640 * MIB;
    in.disk_rate = 64 * MIB;
    assert_near(run(&in, KVMIG__COPY_PRE).total_s, without + 10, 0.01);
}

static void the_lowest_pause_is_where_it_begins_to_end(void **state)
{
    struct kvmig__copy_in in = writing(400 * MIB, 100 * MIB);
    const double lowest = kvmig__copy_lowest_pause(&in);

    (void)state;
    in.limit_s = lowest * 1.1;
    assert_true(run(&in, KVMIG__COPY_PRE).converges);
    in.limit_s = lowest * 0.8;
    assert_false(run(&in, KVMIG__COPY_PRE).converges);
}

/* ---- directions ---- */

static struct kvmig__copy_in any(void)
{
    struct kvmig__copy_in in = writing((1 + rand() % 400) * MIB, (rand() % 120) * MIB);

    in.curve.cold = (struct kvmig__dirty_class){ 100 * MIB, (rand() % 3) * MIB };
    in.rate = (8 + rand() % 200) * MIB;
    in.line = in.rate * (1 + rand() % 4);
    in.post_rate = in.line;
    in.limit_s = (1 + rand() % 20) / 10.0;
    in.busy = (1 + rand() % 10) / 10.0;
    return in;
}

/* Windows of sending make a difference of a few tenths of a second either way. */
static void assert_no_worse(const struct kvmig__copy_out *better, const struct kvmig__copy_out *worse)
{
    assert_true(better->converges || !worse->converges);
    if (better->converges && worse->converges)
        assert_true(better->total_s <= worse->total_s * 1.05 + 0.5);
}

static void more_bandwidth_is_never_worse(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 3000; i++) {
        struct kvmig__copy_in in = any(), more = in;

        more.rate *= 1.5;
        more.line = more.post_rate = in.line * 1.5;
        for (int kind = KVMIG__COPY_PRE; kind <= KVMIG__COPY_POST; kind++) {
            const struct kvmig__copy_out a = run(&in, (enum kvmig__copy_kind)kind),
                                         b = run(&more, (enum kvmig__copy_kind)kind);

            if (kind != KVMIG__COPY_CONVERGE)
                assert_no_worse(&b, &a);
            else
                assert_true(b.converges || !a.converges);
        }
    }
}

static void less_memory_is_never_worse(void **state)
{
    (void)state;
    srand(2);
    for (int i = 0; i < 3000; i++) {
        struct kvmig__copy_in in = any(), less = in;
        struct kvmig__copy_out a, b;

        less.used = in.used / 2;
        a = run(&in, KVMIG__COPY_PRE);
        b = run(&less, KVMIG__COPY_PRE);
        assert_no_worse(&b, &a);
    }
}

static void a_longer_pause_is_never_worse(void **state)
{
    (void)state;
    srand(3);
    for (int i = 0; i < 3000; i++) {
        struct kvmig__copy_in in = any(), more = in;
        struct kvmig__copy_out a, b;

        more.limit_s *= 2;
        a = run(&in, KVMIG__COPY_PRE);
        b = run(&more, KVMIG__COPY_PRE);
        assert_no_worse(&b, &a);
    }
}

static void a_quieter_guest_is_never_worse(void **state)
{
    (void)state;
    srand(4);
    for (int i = 0; i < 3000; i++) {
        struct kvmig__copy_in in = any(), quieter = in;
        struct kvmig__copy_out a, b;

        kvmig__curve_scale(&quieter.curve, 0.5);
        a = run(&in, KVMIG__COPY_PRE);
        b = run(&quieter, KVMIG__COPY_PRE);
        assert_no_worse(&b, &a);
    }
}

/* ---- what makes no sense ---- */

static void extreme_numbers_come_to_an_end(void **state)
{
    static const double sizes[] = { 0, 1, 4096, 1e9, 1e18 }, rates[] = { 1024, 1e6, 1e18 },
                        limits[] = { 0, 1e-3, 1, 1e9 };

    (void)state;
    for (size_t i = 0; i < 5 * 5 * 3 * 4; i++) {
        struct kvmig__copy_in in = writing(sizes[i % 5], sizes[i / 5 % 5]);

        in.memory = in.used = sizes[i % 5];
        in.rate = in.line = in.post_rate = rates[i / 25 % 3];
        in.limit_s = limits[i / 75 % 4];
        for (int kind = KVMIG__COPY_PRE; kind <= KVMIG__COPY_POST; kind++)
            run(&in, (enum kvmig__copy_kind)kind);
        assert_true(isfinite(kvmig__copy_lowest_pause(&in)));
        assert_true(isfinite(kvmig__copy_needed_rate(&in)));
        assert_true(kvmig__copy_needed_throttle(&in) <= 100);
    }
}

/* 2 in the first second and 45 in five: noise. Together 47 in six. The third, which grows no faster, stays. */
static void a_rate_that_rises_with_the_window_is_noise(void **state)
{
    const struct kvmig__dirty_point points[] = { { 5, 45 }, { 1, 2 }, { 60, 50 } };
    struct kvmig__dirty_curve curve;

    (void)state;
    kvmig__curve_fit(&curve, points, 3, 1000, 0, KVMIG__CURVE_LOW);
    assert_float_equal(kvmig__curve_bytes(&curve, 1), 47 / 6.0, 1e-9);
    assert_float_equal(kvmig__curve_bytes(&curve, 5), 5 * 47 / 6.0, 1e-9);
    assert_float_equal(kvmig__curve_bytes(&curve, 60), 50, 1e-9);
}

/* 100 hot pages, written in turn, 50 a second: those of half a second and those of the next are 50; beyond two seconds it is all of them. */
static void pages_in_turn_are_not_written_twice_in_two_short_times(void **state)
{
    const struct kvmig__dirty_point points[] = { { 0.1, 5 }, { 2, 100 }, { 60, 100 } };
    struct kvmig__dirty_curve curve;

    (void)state;
    kvmig__curve_fit(&curve, points, 3, 1000, 100, KVMIG__CURVE_MIDDLE);
    assert_float_equal(kvmig__curve_hot_time(&curve, 25), 0.5, 1e-9);
    assert_true(kvmig__curve_hot_time(&curve, 100) > 1e9);
    assert_float_equal(kvmig__curve_hot(&curve, kvmig__curve_hot_time(&curve, 25) + 0.5), 50, 1e-9);
    assert_float_equal(kvmig__curve_hot(&curve, kvmig__curve_hot_time(&curve, 100)), 100, 1e-9);
}

static void one_class_tells_the_time_of_its_pages(void **state)
{
    const struct kvmig__dirty_point point = { 1, 50 };
    struct kvmig__dirty_curve curve;

    (void)state;
    kvmig__curve_fit(&curve, &point, 1, 1000, 100, KVMIG__CURVE_MIDDLE);
    for (double seconds = 0.25; seconds < 16; seconds *= 2)
        assert_float_equal(kvmig__curve_hot_time(&curve, kvmig__curve_hot(&curve, seconds)), seconds, 1e-6);
    kvmig__curve_fit(&curve, &point, 0, 1000, 0, KVMIG__CURVE_MIDDLE);
    assert_true(kvmig__curve_hot_time(&curve, 0) > 1e9);
    assert_float_equal(kvmig__curve_hot(&curve, HUGE_VAL), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_set_fits_into_a_pause_however_fast_it_is_written),
        cmocka_unit_test(passes_have_a_floor_only_if_each_has_a_dead_time),
        cmocka_unit_test(two_windows_give_the_set_and_the_rate),
        cmocka_unit_test(bounds_differ_in_what_is_cold),
        cmocka_unit_test(a_rate_that_does_not_fall_says_nothing_of_the_set),
        cmocka_unit_test(three_windows_are_taken_as_they_are),
        cmocka_unit_test(a_rate_that_rises_with_the_window_is_noise),
        cmocka_unit_test(pages_in_turn_are_not_written_twice_in_two_short_times),
        cmocka_unit_test(one_class_tells_the_time_of_its_pages),
        cmocka_unit_test(curves_never_fall_nor_exceed_memory),
        cmocka_unit_test(a_quiet_guest_takes_one_pass),
        cmocka_unit_test(a_guest_that_writes_half_as_fast_takes_twice_as_long),
        cmocka_unit_test(a_guest_that_writes_faster_never_ends),
        cmocka_unit_test(a_set_that_fits_into_the_pause_always_ends),
        cmocka_unit_test(an_idle_guest_is_slowed_down_late),
        cmocka_unit_test(disks_come_before_memory),
        cmocka_unit_test(the_lowest_pause_is_where_it_begins_to_end),
        cmocka_unit_test(more_bandwidth_is_never_worse),
        cmocka_unit_test(less_memory_is_never_worse),
        cmocka_unit_test(a_longer_pause_is_never_worse),
        cmocka_unit_test(a_quieter_guest_is_never_worse),
        cmocka_unit_test(extreme_numbers_come_to_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
