/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Monitors of the OVSDB client against a scripted server: how rows are asked for, kept over reconnects and old
 * servers, and updates that are not believed.
 */
#include "ovsdb_test.h"

#include <errno.h>

static const char *const port_columns[] = { "name", "options", "cfg", "colour", NULL };
static const char *const chassis_columns[] = { "name", NULL };
static const char *const bridge_columns[] = { "name", NULL };

/* ---- asking ---- */

static void only_the_rows_and_columns_that_are_wanted_are_asked_for(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_monitor(&test);
    fake_expect("monitor_cond_since", "['Net','kvmig-1',{'Port':[{'columns':['name','options','cfg'],"
                                      "'where':[['name','==','a']]}]},'" NO_TXN "']");
    assert_false(kvmig__ovsdb_monitor_is_current(test.monitor));
    test_close(&test);
}

static void what_the_schema_lacks_is_left_out(void **state)
{
    const struct kvmig__ovsdb_table tables[] = {
        { .name = "Bridge", .columns = bridge_columns },
        { .name = "Chassis", .columns = chassis_columns },
        { .name = "Port",
          .columns = port_columns,
          .where = fake_json("[['colour','==','red'],['_uuid','==',['uuid','" UUID_A "']]]") },
    };
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    test_monitor(&test, tables, 3); /* before there is a server */
    fake_serve();
    fake_expect("monitor_cond_since",
                "['Net','kvmig-1',{'Chassis':[{'columns':['name'],'where':[true]}],"
                "'Port':[{'columns':['name','options','cfg'],'where':[['_uuid','==',['uuid','" UUID_A "']]]}]},'" NO_TXN
                "']");
    fake_reply("monitor_cond_since", "[false,'" TXN_1 "',{'Chassis':{'" UUID_B "':{'initial':{'name':'hv1'}}}}]");
    assert_true(kvmig__ovsdb_monitor_is_current(test.monitor));
    assert_int_equal(kvmig__ovsdb_row_count(test.monitor, 0), 0);
    assert_int_equal(kvmig__ovsdb_row_count(test.monitor, 1), 1);
    assert_string_equal(kvmig__ovsdb_str(kvmig__ovsdb_row(test.monitor, 1, 0), "name"), "hv1");
    assert_null(kvmig__ovsdb_row(test.monitor, 1, 1));
    test_close(&test);
}

static void a_table_that_does_not_exist_has_no_rows(void **state)
{
    const struct kvmig__ovsdb_table table = { .name = "Bridge", .columns = bridge_columns };
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    fake_serve();
    test_monitor(&test, &table, 1);
    assert_int_equal(fake.requests.n, 0);
    assert_true(kvmig__ovsdb_monitor_is_current(test.monitor));
    assert_int_equal(test.n_changed, 1);
    assert_int_equal(kvmig__ovsdb_row_count(test.monitor, 0), 0);
    test_set_where(&test, "[['name','==','x']]");
    assert_true(kvmig__ovsdb_monitor_is_current(test.monitor));
    test_close(&test);
}

static void no_condition_that_can_match_means_no_rows(void **state)
{
    static const char *const wheres[] = { "[]", "[['colour','==','red']]" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(wheres); i++) {
        const struct kvmig__ovsdb_table table = { .name = "Port",
                                                  .columns = chassis_columns,
                                                  .where = fake_json(wheres[i]) };
        struct test_ovsdb test;

        test_open(&test);
        fake_serve();
        test_monitor(&test, &table, 1);
        fake_expect("monitor_cond_since",
                    "['Net','kvmig-1',{'Port':[{'columns':['name'],'where':[false]}]},'" NO_TXN "']");
        test_close(&test);
    }
}

/* ---- updates ---- */

static void updates_are_taken_in_and_told(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_current(&test);
    assert_int_equal(test.n_changed, 1);
    assert_string_equal(kvmig__ovsdb_key(test_row(&test, UUID_A), "options", "k"), "v");
    fake_notify("update3", "['kvmig-1','" TXN_2 "',{'Port':{'" UUID_A
                           "':{'modify':{'options':['map',[['k','v'],['l','w']]],'cfg':3}},'" UUID_B
                           "':{'insert':{'name':'a'}}}}]");
    assert_int_equal(test.n_changed, 2);
    assert_null(kvmig__ovsdb_key(test_row(&test, UUID_A), "options", "k"));
    assert_string_equal(kvmig__ovsdb_key(test_row(&test, UUID_A), "options", "l"), "w");
    assert_int_equal(kvmig__ovsdb_row_count(test.monitor, 0), 2);
    fake_notify("update3", "['kvmig-1','" TXN_2 "',{'Port':{'" UUID_A "':{'delete':null}}}]");
    assert_null(test_row(&test, UUID_A));
    assert_true(kvmig__ovsdb_monitor_is_current(test.monitor));
    test_close(&test);
}

static void an_update_that_cannot_be_right_costs_the_connection_and_all_is_read_anew(void **state)
{
    static const struct {
        const char *method, *params;
    } cases[] = {
        { "update3", "['kvmig-1','" TXN_2 "',{'Port':{'" UUID_B "':{'modify':{'cfg':3}}}}]" },
        { "update3", "['kvmig-1','" TXN_2 "',{'Port':{'" UUID_A "':{'modify':{'cfg':'x'}}}}]" },
        { "update3", "['kvmig-1','" TXN_2 "',{'Port':{'" UUID_A "':7}}]" },
        { "update3", "['kvmig-1','" TXN_2 "',{'Port':7}]" },
        { "update3", "['kvmig-1','" TXN_2 "',{'Chassis':{}}]" },
        { "update3", "['kvmig-1','" TXN_2 "',7]" },
        { "update3", "['kvmig-1','x',{}]" },
        { "update3", "['kvmig-1']" },
        { "update2", "['kvmig-1',{}]" },
        { "update", "[]" },
        { "update3", "[7]" },
        { "monitor_canceled", "['kvmig-1']" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct test_ovsdb test;

        test_open_current(&test);
        fake_notify(cases[i].method, cases[i].params);
        assert_int_equal(fake.n_closed, 1);
        assert_non_null(kvmig__ovsdb_trouble(test.db));
        assert_true(*test_trouble(&test) != '\0');
        assert_int_equal(test.n_changed, 2);
        assert_false(kvmig__ovsdb_monitor_is_current(test.monitor));
        assert_non_null(test_row(&test, UUID_A)); /* the last that was seen */
        test_retry(&test);
        fake_serve();
        fake_expect("monitor_cond_since", "['Net','kvmig-2',{'Port':[{'columns':['name','options','cfg'],"
                                          "'where':[['name','==','a']]}]},'" NO_TXN "']");
        test_close(&test);
    }
}

static void first_rows_that_cannot_be_right_leave_the_old_ones(void **state)
{
    static const char *const results[] = {
        "7",
        "null",
        "[]",
        "[false,'" TXN_1 "']",
        "[1,'" TXN_1 "',{}]",
        "[false,7,{}]",
        "[false,'" TXN_1 "',7]",
        "[false,'" TXN_1 "',{'Port':{'" UUID_B "':{'initial':{'name':'b'}},'" UUID_C "':{'initial':{'name':7}}}}]",
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(results); i++) {
        struct test_ovsdb test;

        test_open_current(&test);
        test_reconnect(&test);
        fake_reply("monitor_cond_since", results[i]);
        assert_null(fake.rpc);
        assert_false(kvmig__ovsdb_monitor_is_current(test.monitor));
        assert_int_equal(kvmig__ovsdb_row_count(test.monitor, 0), 1);
        assert_non_null(test_row(&test, UUID_A));
        assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -KVMIG_EJSON);
        test_close(&test);
    }
}

static void an_update_before_the_first_rows_is_not_believed(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_monitor(&test);
    fake_notify("update3", "['kvmig-1','" TXN_2 "',{}]");
    assert_null(fake.rpc);
    test_close(&test);
}

static void more_rows_than_a_monitor_may_hold_are_refused(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_monitor(&test);
    test.monitor->budget.max_rows = 1;
    fake_reply("monitor_cond_since",
               "[false,'" TXN_1 "',{'Port':{'" UUID_A "':{'initial':{}},'" UUID_B "':{'initial':{}}}}]");
    assert_null(fake.rpc);
    assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -EFBIG);
    assert_non_null(strstr(kvmig_error_evidence(kvmig__ovsdb_trouble(test.db)), "table Port"));
    test_close(&test);
}

/* ---- reconnects ---- */

static void after_a_reconnect_only_what_changed_is_sent(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_current(&test);
    fake_notify("update3", "['kvmig-1','" TXN_2 "',{}]");
    test_reconnect(&test);
    assert_non_null(test_row(&test, UUID_A));
    fake_expect("monitor_cond_since", "['Net','kvmig-2',{'Port':[{'columns':['name','options','cfg'],"
                                      "'where':[['name','==','a']]}]},'" TXN_2 "']");
    fake_reply("monitor_cond_since", "[true,'" TXN_2 "',{'Port':{'" UUID_A "':{'modify':{'cfg':4}}}}]");
    assert_true(kvmig__ovsdb_monitor_is_current(test.monitor));
    assert_string_equal(kvmig__ovsdb_str(test_row(&test, UUID_A), "cfg"), "4");
    assert_string_equal(kvmig__ovsdb_key(test_row(&test, UUID_A), "options", "k"), "v");
    test_close(&test);
}

static void a_server_that_does_not_know_what_we_know_sends_all_rows(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_current(&test);
    test_reconnect(&test);
    fake_reply("monitor_cond_since", "[false,'" TXN_2 "',{'Port':{'" UUID_B "':{'initial':{'name':'a'}}}}]");
    assert_int_equal(kvmig__ovsdb_row_count(test.monitor, 0), 1);
    assert_non_null(test_row(&test, UUID_B));
    test_close(&test);
}

static void another_schema_means_all_rows_anew(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_current(&test);
    fake_lose("gone");
    test_retry(&test);
    fake_connect();
    fake_refuse("get_schema", "{'error':'unknown database'}");
    fake_reply("get_schema", "{'version':'8.0.0','tables':{'Port':{'columns':{'name':{'type':'string'},"
                             "'colour':{'type':'string'}}}}}");
    fake_expect("monitor_cond_since",
                "['Net','kvmig-2',{'Port':[{'columns':['name','colour'],'where':[['name','==','a']]}]},'" NO_TXN "']");
    fake_reply("monitor_cond_since", "[false,'" TXN_2 "',{'Port':{'" UUID_A "':{'initial':{'colour':'red'}}}}]");
    assert_string_equal(kvmig__ovsdb_str(test_row(&test, UUID_A), "colour"), "red");
    assert_string_equal(kvmig__ovsdb_schema_version(test.db), "8.0.0");
    test_close(&test);
}

static void a_reconnect_is_well_only_when_every_monitor_has_its_rows(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_current(&test);
    test_reconnect(&test);
    assert_true(kvmig__ovsdb_is_up(test.db));
    assert_int_equal(test.db->synced_ms, 0);
    assert_true(test.db->answer.due_ms != INT64_MAX); /* the rows have a deadline */
    fake_reply("monitor_cond_since", "[true,'" TXN_2 "',{}]");
    assert_int_not_equal(test.db->synced_ms, 0);
    assert_true(test.db->answer.due_ms == INT64_MAX);
    test_close(&test);
}

/* ---- old servers ---- */

static void an_older_server_is_asked_without_a_transaction(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_monitor(&test);
    fake_refuse("monitor_cond_since", "'unknown method'");
    fake_expect("monitor_cond",
                "['Net','kvmig-2',{'Port':[{'columns':['name','options','cfg'],'where':[['name','==','a']]}]}]");
    fake_reply("monitor_cond", "{'Port':{'" UUID_A "':{'initial':{'name':'a'}}}}");
    assert_true(kvmig__ovsdb_monitor_is_current(test.monitor));
    fake_notify("update2", "['kvmig-2',{'Port':{'" UUID_A "':{'modify':{'cfg':5}}}}]");
    assert_string_equal(kvmig__ovsdb_str(test_row(&test, UUID_A), "cfg"), "5");
    /* What it does not know cannot be resumed from, not even with a newer server. */
    test_reconnect(&test);
    assert_string_equal(json_object_get_string(fake_param("monitor_cond_since", 3)), NO_TXN);
    test_close(&test);
}

static void a_transaction_from_before_an_older_server_is_not_resumed_from(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_current(&test);
    test_reconnect(&test);
    fake_refuse("monitor_cond_since", "'unknown method'");
    fake_reply("monitor_cond", "{'Port':{'" UUID_B "':{'initial':{'name':'a'}}}}");
    assert_null(test_row(&test, UUID_A));
    test_reconnect(&test);
    assert_string_equal(json_object_get_string(fake_param("monitor_cond_since", 3)), NO_TXN);
    test_close(&test);
}

static void the_oldest_server_sends_all_and_rows_are_selected_here(void **state)
{
    static const char *const columns[] = { "cfg", NULL };
    const struct kvmig__ovsdb_table table = { .name = "Port",
                                              .columns = columns,
                                              .where = fake_json("[['name','==','a']]") };
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    fake_serve();
    test_monitor(&test, &table, 1);
    fake_refuse("monitor_cond_since", "{'error':'unknown method','details':'?'}");
    fake_refuse("monitor_cond", "'unknown method'");
    fake_expect("monitor", "['Net','kvmig-3',{'Port':[{'columns':['cfg','name']}]}]");
    fake_reply("monitor",
               "{'Port':{'" UUID_A "':{'new':{'name':'a','cfg':1}},'" UUID_B "':{'new':{'name':'b','cfg':2}}}}");
    assert_int_equal(kvmig__ovsdb_row_count(test.monitor, 0), 1);
    fake_notify("update", "['kvmig-3',{'Port':{'" UUID_C "':{'new':{'name':'c','cfg':3}},'" UUID_A
                          "':{'old':{'cfg':1},'new':{'name':'a','cfg':9}}}}]");
    assert_int_equal(kvmig__ovsdb_row_count(test.monitor, 0), 1);
    assert_string_equal(kvmig__ovsdb_str(test_row(&test, UUID_A), "cfg"), "9");

    test_set_where(&test, "[['name','==','b']]");
    assert_false(kvmig__ovsdb_monitor_is_current(test.monitor));
    fake_expect("monitor_cancel", "['kvmig-3']");
    fake_reply("monitor_cancel", "{}");
    fake_reply("monitor",
               "{'Port':{'" UUID_B "':{'new':{'name':'b','cfg':2}},'" UUID_C "':{'new':{'name':'c','cfg':3}}}}");
    assert_true(kvmig__ovsdb_monitor_is_current(test.monitor));
    assert_int_equal(kvmig__ovsdb_row_count(test.monitor, 0), 1);
    assert_non_null(test_row(&test, UUID_B));
    test_close(&test);
}

static void a_server_that_refuses_is_in_trouble_not_asked_for_more(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_monitor(&test);
    fake_refuse("monitor_cond_since", "{'error':'syntax error','details':'bad clause'}");
    assert_null(fake.rpc);
    assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -EPROTO);
    assert_string_equal(kvmig_error_evidence(kvmig__ovsdb_trouble(test.db)), "syntax error: bad clause");
    test_retry(&test);
    fake_serve();
    fake_refuse("monitor_cond_since", "'unknown method'");
    fake_refuse("monitor_cond", "'unknown method'");
    fake_refuse("monitor", "'unknown method'");
    assert_null(fake.rpc);
    test_close(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_rows_and_columns_that_are_wanted_are_asked_for),
        cmocka_unit_test(what_the_schema_lacks_is_left_out),
        cmocka_unit_test(a_table_that_does_not_exist_has_no_rows),
        cmocka_unit_test(no_condition_that_can_match_means_no_rows),
        cmocka_unit_test(updates_are_taken_in_and_told),
        cmocka_unit_test(an_update_that_cannot_be_right_costs_the_connection_and_all_is_read_anew),
        cmocka_unit_test(first_rows_that_cannot_be_right_leave_the_old_ones),
        cmocka_unit_test(an_update_before_the_first_rows_is_not_believed),
        cmocka_unit_test(more_rows_than_a_monitor_may_hold_are_refused),
        cmocka_unit_test(after_a_reconnect_only_what_changed_is_sent),
        cmocka_unit_test(a_server_that_does_not_know_what_we_know_sends_all_rows),
        cmocka_unit_test(another_schema_means_all_rows_anew),
        cmocka_unit_test(a_reconnect_is_well_only_when_every_monitor_has_its_rows),
        cmocka_unit_test(an_older_server_is_asked_without_a_transaction),
        cmocka_unit_test(a_transaction_from_before_an_older_server_is_not_resumed_from),
        cmocka_unit_test(the_oldest_server_sends_all_and_rows_are_selected_here),
        cmocka_unit_test(a_server_that_refuses_is_in_trouble_not_asked_for_more),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
