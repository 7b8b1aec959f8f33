/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Slots: who may run, who waits and in which place. Pure; everything happens on the test's thread. */
#include "cluster/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static unsigned n_changed;

static void count_change(struct kvmig__slot *slot)
{
    (void)slot;
    n_changed++;
}

static void settle(struct kvmig__limits *limits)
{
    kvmig__limits_settle(limits, NULL, NULL, NULL);
}

static void grants_up_to_the_total(void **state)
{
    struct kvmig__limits limits;
    struct kvmig__slot slots[3] = { 0 };

    (void)state;
    kvmig__limits_init(&limits, 2, 9, 9);
    for (size_t i = 0; i < 3; i++)
        kvmig__limits_enter(&limits, &slots[i], "a", "b", NULL);
    settle(&limits);
    assert_true(slots[0].granted);
    assert_true(slots[1].granted);
    assert_false(slots[2].granted);
    assert_int_equal(slots[0].position, 0);
    assert_int_equal(slots[2].position, 1);
    assert_int_equal(kvmig__limits_running(&limits, NULL, true), 2);

    kvmig__limits_leave(&limits, &slots[0]);
    settle(&limits);
    assert_true(slots[2].granted);
    assert_int_equal(slots[2].position, 0);
    kvmig__limits_leave(&limits, &slots[1]);
    kvmig__limits_leave(&limits, &slots[2]);
    assert_null(limits.head);
    assert_null(limits.tail);
}

static void a_full_source_does_not_hold_up_another(void **state)
{
    struct kvmig__limits limits;
    struct kvmig__slot from_a = { 0 }, from_a_too = { 0 }, from_c = { 0 };

    (void)state;
    kvmig__limits_init(&limits, 9, 1, 9);
    kvmig__limits_enter(&limits, &from_a, "a", "b", NULL);
    kvmig__limits_enter(&limits, &from_a_too, "a", "b", NULL);
    kvmig__limits_enter(&limits, &from_c, "c", "b", NULL);
    settle(&limits);
    assert_true(from_a.granted);
    assert_false(from_a_too.granted);
    assert_true(from_c.granted);
    assert_int_equal(kvmig__limits_running(&limits, "a", true), 1);
    assert_int_equal(kvmig__limits_running(&limits, "b", false), 2);
    assert_int_equal(kvmig__limits_running(&limits, "b", true), 0);
    kvmig__limits_leave(&limits, &from_a);
    kvmig__limits_leave(&limits, &from_a_too);
    kvmig__limits_leave(&limits, &from_c);
}

static void a_full_target_holds_back(void **state)
{
    struct kvmig__limits limits;
    struct kvmig__slot first = { 0 }, second = { 0 };

    (void)state;
    kvmig__limits_init(&limits, 9, 9, 1);
    kvmig__limits_enter(&limits, &first, "a", "b", NULL);
    kvmig__limits_enter(&limits, &second, "c", "b", NULL);
    settle(&limits);
    assert_true(first.granted);
    assert_false(second.granted);
    kvmig__limits_leave(&limits, &first);
    settle(&limits);
    assert_true(second.granted);
    kvmig__limits_leave(&limits, &second);
}

static void first_come_first_served(void **state)
{
    struct kvmig__limits limits;
    struct kvmig__slot slots[4] = { 0 };

    (void)state;
    kvmig__limits_init(&limits, 1, 9, 9);
    for (size_t i = 0; i < 4; i++)
        kvmig__limits_enter(&limits, &slots[i], "a", "b", NULL);
    settle(&limits);
    assert_int_equal(slots[1].position, 1);
    assert_int_equal(slots[3].position, 3);
    kvmig__limits_leave(&limits, &slots[2]); /* gives up waiting */
    settle(&limits);
    assert_int_equal(slots[3].position, 2);
    kvmig__limits_leave(&limits, &slots[0]);
    settle(&limits);
    assert_true(slots[1].granted);
    assert_int_equal(slots[3].position, 1);
    kvmig__limits_leave(&limits, &slots[1]);
    kvmig__limits_leave(&limits, &slots[3]);
}

static void entering_and_leaving_twice_changes_nothing(void **state)
{
    struct kvmig__limits limits;
    struct kvmig__slot slot = { 0 };

    (void)state;
    kvmig__limits_init(&limits, 1, 1, 1);
    kvmig__limits_leave(&limits, &slot); /* never entered */
    kvmig__limits_enter(&limits, &slot, "a", "b", NULL);
    kvmig__limits_enter(&limits, &slot, "a", "b", NULL);
    settle(&limits);
    assert_int_equal(kvmig__limits_running(&limits, NULL, true), 1);
    kvmig__limits_leave(&limits, &slot);
    kvmig__limits_leave(&limits, &slot);
    assert_int_equal(kvmig__limits_running(&limits, NULL, true), 0);
    assert_false(slot.granted);
}

static void only_changes_are_told(void **state)
{
    struct kvmig__limits limits;
    struct kvmig__slot first = { 0 }, second = { 0 };

    (void)state;
    kvmig__limits_init(&limits, 1, 9, 9);
    kvmig__limits_enter(&limits, &first, "a", "b", NULL);
    kvmig__limits_enter(&limits, &second, "a", "b", NULL);
    n_changed = 0;
    kvmig__limits_settle(&limits, count_change, NULL, NULL);
    assert_int_equal(n_changed, 2); /* one granted, one placed */
    kvmig__limits_settle(&limits, count_change, NULL, NULL);
    assert_int_equal(n_changed, 2);
    kvmig__limits_leave(&limits, &first);
    kvmig__limits_settle(&limits, count_change, NULL, NULL);
    assert_int_equal(n_changed, 3);
    kvmig__limits_leave(&limits, &second);
}

static uint32_t two_out_of_a(void *data, const char *host, bool out)
{
    (void)data;
    return !host || (out && kvmig__str_eq(host, "a")) ? 2 : 0;
}

static void migrations_of_others_count(void **state)
{
    struct kvmig__limits limits;
    struct kvmig__slot from_a = { 0 }, from_b = { 0 };

    (void)state;
    kvmig__limits_init(&limits, 3, 2, 2);
    kvmig__limits_enter(&limits, &from_a, "a", "b", NULL);
    kvmig__limits_enter(&limits, &from_b, "b", "a", NULL);
    kvmig__limits_settle(&limits, NULL, two_out_of_a, NULL);
    assert_false(from_a.granted);
    assert_true(from_b.granted);
    settle(&limits); /* the others have ended */
    assert_true(from_a.granted);
    kvmig__limits_leave(&limits, &from_a);
    kvmig__limits_leave(&limits, &from_b);
}

static void unlimited_has_no_limit(void **state)
{
    struct kvmig__limits limits;
    struct kvmig__slot slots[50] = { 0 };

    (void)state;
    kvmig__limits_init(&limits, UINT32_MAX, UINT32_MAX, UINT32_MAX);
    for (size_t i = 0; i < 50; i++)
        kvmig__limits_enter(&limits, &slots[i], "a", "b", NULL);
    kvmig__limits_settle(&limits, NULL, two_out_of_a, NULL);
    for (size_t i = 0; i < 50; i++) {
        assert_true(slots[i].granted);
        kvmig__limits_leave(&limits, &slots[i]);
    }
}

static struct kvmig__limits reentrant;

/* The owner of a slot that is granted gives it back at once, and lets the rest move up. */
static void give_back(struct kvmig__slot *slot)
{
    n_changed++;
    if (!slot->granted)
        return;
    kvmig__limits_leave(&reentrant, slot);
    kvmig__limits_settle(&reentrant, give_back, NULL, NULL);
}

static void owners_may_leave_while_they_are_told(void **state)
{
    struct kvmig__slot slots[5] = { 0 };

    (void)state;
    kvmig__limits_init(&reentrant, 1, 9, 9);
    for (size_t i = 0; i < 5; i++)
        kvmig__limits_enter(&reentrant, &slots[i], "a", "b", NULL);
    n_changed = 0;
    kvmig__limits_settle(&reentrant, give_back, NULL, NULL);
    assert_null(reentrant.head);
    assert_true(n_changed >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grants_up_to_the_total),
        cmocka_unit_test(a_full_source_does_not_hold_up_another),
        cmocka_unit_test(a_full_target_holds_back),
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(entering_and_leaving_twice_changes_nothing),
        cmocka_unit_test(only_changes_are_told),
        cmocka_unit_test(migrations_of_others_count),
        cmocka_unit_test(unlimited_has_no_limit),
        cmocka_unit_test(owners_may_leave_while_they_are_told),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
