/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Monitors of the OVSDB client against a scripted server: other conditions while they run, and what their users may do
 * when they are told.
 */
#include "ovsdb_test.h"

static const char *const chassis_columns[] = { "name", NULL };

/* ---- other conditions ---- */

static void other_conditions_are_told_and_rows_are_current_when_they_are_confirmed(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_current(&test);
    test_set_where(&test, "[['name','==','b']]");
    fake_expect("monitor_cond_change", "['kvmig-1','kvmig-1',{'Port':[{'where':[['name','==','b']]}]}]");
    assert_false(kvmig__ovsdb_monitor_is_current(test.monitor));
    fake_notify("update3",
                "['kvmig-1','" TXN_2 "',{'Port':{'" UUID_A "':{'delete':null},'" UUID_B "':{'insert':{'name':'b'}}}}]");
    assert_false(kvmig__ovsdb_monitor_is_current(test.monitor));
    fake_reply("monitor_cond_change", "{}");
    assert_true(kvmig__ovsdb_monitor_is_current(test.monitor));
    assert_non_null(test_row(&test, UUID_B));
    assert_null(test_row(&test, UUID_A));
    test_reconnect(&test);
    assert_string_equal(json_object_get_string(fake_param("monitor_cond_since", 3)), TXN_2);
    test_close(&test);
}

static void conditions_that_change_again_meanwhile_are_told_afterwards(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_monitor(&test);
    test_set_where(&test, "[['name','==','b']]");
    assert_int_equal(fake_pending("monitor_cond_change"), 0);
    fake_reply("monitor_cond_since", "[false,'" TXN_1 "',{}]");
    assert_false(kvmig__ovsdb_monitor_is_current(test.monitor));
    test_set_where(&test, "[['name','==','c']]");
    test_set_where(&test, NULL);
    fake_expect("monitor_cond_change", "['kvmig-1','kvmig-1',{'Port':[{'where':[['name','==','b']]}]}]");
    fake_reply("monitor_cond_change", "{}");
    fake_expect("monitor_cond_change", "['kvmig-1','kvmig-1',{'Port':[{'where':[true]}]}]");
    assert_false(kvmig__ovsdb_monitor_is_current(test.monitor));
    fake_reply("monitor_cond_change", "{}");
    assert_true(kvmig__ovsdb_monitor_is_current(test.monitor));
    test_close(&test);
}

/* Rows that matched before are not among those that changed since. */
static void conditions_that_were_not_confirmed_get_all_rows_from_the_next_connection(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_current(&test);
    test_set_where(&test, "[['name','==','b']]");
    fake_notify("update3", "['kvmig-1','" TXN_2 "',{}]");
    test_reconnect(&test);
    fake_expect("monitor_cond_since", "['Net','kvmig-2',{'Port':[{'columns':['name','options','cfg'],"
                                      "'where':[['name','==','b']]}]},'" NO_TXN "']");
    fake_reply("monitor_cond_since", "[false,'" TXN_2 "',{}]");
    fake_lose("gone");
    test_set_where(&test, "[['name','==','c']]"); /* while nobody is there */
    test_retry(&test);
    fake_serve();
    fake_expect("monitor_cond_since", "['Net','kvmig-3',{'Port':[{'columns':['name','options','cfg'],"
                                      "'where':[['name','==','c']]}]},'" NO_TXN "']");
    test_close(&test);
}

static void a_server_that_cannot_change_conditions_gets_a_new_monitor(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_current(&test);
    test_set_where(&test, "[['name','==','b']]");
    fake_refuse("monitor_cond_change", "'unknown method'");
    fake_expect("monitor_cancel", "['kvmig-1']");
    fake_expect("monitor_cond_since", "['Net','kvmig-2',{'Port':[{'columns':['name','options','cfg'],"
                                      "'where':[['name','==','b']]}]},'" NO_TXN "']");
    fake_notify("update3", "['kvmig-1','" TXN_2 "',{'Port':7}]"); /* of the one that is cancelled: not ours any more */
    assert_non_null(test_row(&test, UUID_A));
    fake_reply("monitor_cond_since", "[false,'" TXN_2 "',{'Port':{'" UUID_B "':{'initial':{'name':'b'}}}}]");
    assert_true(kvmig__ovsdb_monitor_is_current(test.monitor));
    assert_null(test_row(&test, UUID_A));
    test_close(&test);
}

/* ---- users ---- */

static void trouble_and_its_end_are_told_to_all(void **state)
{
    const struct kvmig__ovsdb_table table = { .name = "Chassis", .columns = chassis_columns };
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    test_monitor(&test, &table, 1);
    assert_int_equal(test.n_changed, 0);
    fake_lose("refused");
    assert_int_equal(test.n_changed, 1);
    assert_non_null(kvmig__ovsdb_trouble(test.db));
    test_retry(&test);
    fake_serve();
    assert_int_equal(test.n_changed, 2);
    assert_null(kvmig__ovsdb_trouble(test.db));
    test_close(&test);
}

static void a_monitor_that_goes_is_cancelled(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_current(&test);
    kvmig__context_lock(test.context);
    kvmig__ovsdb_monitor_free(test.monitor);
    test.monitor = NULL;
    kvmig__context_unlock(test.context);
    fake_expect("monitor_cancel", "['kvmig-1']");
    fake_notify("update3", "['kvmig-1','" TXN_2 "',{'Port':{'" UUID_A "':{'delete':null}}}]");
    assert_true(kvmig__ovsdb_is_up(test.db));
    assert_int_equal(test.n_changed, 1);
    test_close(&test);
}

static void free_monitor(void *data)
{
    struct test_ovsdb *test = data;

    kvmig__ovsdb_monitor_free(test->monitor);
    test->monitor = NULL;
}

static void a_user_may_free_the_monitor_when_told(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_monitor(&test);
    test.then = free_monitor;
    test.then_data = &test;
    fake_reply("monitor_cond_since", "[false,'" TXN_1 "',{}]");
    assert_null(test.monitor);
    assert_int_equal(fake_pending("monitor_cancel"), 1);
    test_close(&test);
}

static void leave(void *data)
{
    struct test_ovsdb *test = data;

    free_monitor(test);
    kvmig__ovsdb_put(test->db);
    test->db = NULL;
}

static void a_user_may_put_the_client_when_told(void **state)
{
    struct test_ovsdb test;

    (void)state;
    for (int with_trouble = 0; with_trouble < 2; with_trouble++) {
        test_open_monitor(&test);
        test.then = leave;
        test.then_data = &test;
        if (with_trouble)
            fake_lose("gone");
        else
            fake_reply("monitor_cond_since", "[false,'" TXN_1 "',{}]");
        assert_null(test.db);
        assert_int_equal(test.n_changed, 1);
        test_close(&test);
    }
}

struct again {
    struct test_ovsdb *test;
    int n;
};

static void change_again(void *data)
{
    struct again *again = data;

    if (again->n++ == 0)
        kvmig__ovsdb_monitor_set_where(again->test->monitor, 0, fake_json("[['name','==','b']]"));
}

static void a_user_may_ask_for_other_rows_when_told(void **state)
{
    struct test_ovsdb test;
    struct again again = { .test = &test };

    (void)state;
    test_open_monitor(&test);
    test.then = change_again;
    test.then_data = &again;
    fake_reply("monitor_cond_since", "[false,'" TXN_1 "',{}]");
    assert_false(kvmig__ovsdb_monitor_is_current(test.monitor));
    fake_reply("monitor_cond_change", "{}");
    assert_true(kvmig__ovsdb_monitor_is_current(test.monitor));
    assert_int_equal(again.n, 2);
    test_close(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_conditions_are_told_and_rows_are_current_when_they_are_confirmed),
        cmocka_unit_test(conditions_that_change_again_meanwhile_are_told_afterwards),
        cmocka_unit_test(conditions_that_were_not_confirmed_get_all_rows_from_the_next_connection),
        cmocka_unit_test(a_server_that_cannot_change_conditions_gets_a_new_monitor),
        cmocka_unit_test(trouble_and_its_end_are_told_to_all),
        cmocka_unit_test(a_monitor_that_goes_is_cancelled),
        cmocka_unit_test(a_user_may_free_the_monitor_when_told),
        cmocka_unit_test(a_user_may_put_the_client_when_told),
        cmocka_unit_test(a_user_may_ask_for_other_rows_when_told),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
