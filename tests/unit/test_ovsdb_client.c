/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The OVSDB client against a scripted server: which server is good enough, what is done when it is not, whom it tries
 * next and when, and sharing. Monitors and transactions have files of their own.
 */
#include "ovsdb_test.h"

#include <errno.h>

#define REMOTES_3 "tcp:10.0.0.1:6641,tcp:10.0.0.2:6641,tcp:10.0.0.3:6641"

/* ---- the handshake ---- */

static void the_server_is_asked_in_order_before_it_is_up(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    assert_string_equal(fake.opened.v[0], "tcp:10.0.0.1:6641");
    fake_connect();
    fake_expect("get_schema", "['_Server']");
    fake_reply("get_schema", fake_server_schema);
    fake_expect("monitor_cond",
                "['_Server','kvmig-server',{'Database':[{'columns':['name','model','connected','leader','schema','cid',"
                "'index'],'where':[['name','==','Net']]}]}]");
    fake_reply("monitor_cond", "{'Database':{'" FAKE_ROW "':{'initial':{'name':'Net','model':'standalone',"
                               "'connected':true,'leader':true,'schema':'{}'}}}}");
    fake_expect("set_db_change_aware", "[true]");
    fake_expect("get_schema", "['Net']");
    assert_false(kvmig__ovsdb_is_up(test.db));
    assert_null(kvmig__ovsdb_schema_version(test.db));
    assert_false(kvmig__ovsdb_has_column(test.db, "Port", "name"));
    fake_reply("get_schema", fake_schema);
    assert_true(kvmig__ovsdb_is_up(test.db));
    assert_null(kvmig__ovsdb_trouble(test.db));
    assert_string_equal(kvmig__ovsdb_schema_version(test.db), "7.1.0");
    assert_true(kvmig__ovsdb_has_column(test.db, "Port", "options"));
    assert_true(kvmig__ovsdb_has_column(test.db, "Port", "_uuid"));
    assert_false(kvmig__ovsdb_has_column(test.db, "Port", "colour"));
    assert_false(kvmig__ovsdb_has_column(test.db, "Bridge", "name"));
    test_close(&test);
}

static void a_server_that_knows_no_clusters_is_taken_as_it_is(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open_at(&test, "tcp:10.0.0.1:6641", true);
    fake_connect();
    fake_refuse("get_schema", "{'error':'unknown database','details':'no _Server'}");
    assert_int_equal(fake_pending("monitor_cond"), 0);
    fake_expect("get_schema", "['Net']");
    fake_reply("get_schema", fake_schema);
    assert_true(kvmig__ovsdb_is_up(test.db));
    test_close(&test);
}

static void a_server_that_does_not_serve_is_left_and_the_trouble_says_why(void **state)
{
    static const struct {
        const char *row, *trouble;
    } cases[] = {
        { "{'name':'Net','model':'clustered','connected':true,'leader':true}", "does not have the database yet" },
        { "{'name':'Net','model':'clustered','connected':true,'leader':true,'schema':''}",
          "does not have the database yet" },
        { "{'name':'Net','model':'clustered','leader':true,'schema':'{}'}", "cut off from its cluster" },
        { "{'name':'Net','model':'clustered','connected':true,'schema':'{}'}", "not the leader" },
        { "{'name':'Net','model':'relay','connected':true,'leader':false,'schema':'{}'}", "not the leader" },
        { "{'name':'Net','connected':'yes'}", "cannot be right" },
        { "[]", "cannot be right" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct test_ovsdb test;

        test_open_at(&test, "tcp:10.0.0.1:6641", true);
        fake_serve_row(cases[i].row);
        assert_null(fake.rpc);
        assert_false(kvmig__ovsdb_is_up(test.db));
        assert_non_null(strstr(test_trouble(&test), cases[i].trouble));
        assert_non_null(strstr(kvmig_error_where(kvmig__ovsdb_trouble(test.db)), "tcp:10.0.0.1:6641, database Net"));
        test_retry(&test);
        fake_serve();
        assert_true(kvmig__ovsdb_is_up(test.db));
        assert_null(kvmig__ovsdb_trouble(test.db));
        test_close(&test);
    }
}

static void a_follower_is_good_enough_where_the_leader_is_not_asked_for(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    fake_serve_row(
        "{'name':'Net','model':'clustered','connected':true,'leader':false,'schema':'{}','cid':['uuid','" CLUSTER
        "'],'index':5}");
    assert_true(kvmig__ovsdb_is_up(test.db));
    test_close(&test);
}

static void a_database_that_is_not_there_is_named(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    fake_connect();
    fake_reply("get_schema", fake_server_schema);
    fake_reply("monitor_cond", "{}");
    assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -ENOENT);
    assert_string_equal(test_trouble(&test), "The server has no database Net.");
    test_retry(&test);
    fake_connect();
    fake_refuse("get_schema", "{'error':'unknown database'}");
    fake_refuse("get_schema", "{'error':'unknown database','details':'no Net'}");
    assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -ENOENT);
    assert_non_null(strstr(kvmig_error_evidence(kvmig__ovsdb_trouble(test.db)), "no Net"));
    test_close(&test);
}

static void nonsense_in_the_handshake_ends_the_connection(void **state)
{
    static const char *const schemas[] = { "null", "[]", "'x'", "{}", "{'tables':[]}", "{'tables':{'Database':3}}" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(schemas); i++) {
        struct test_ovsdb test;

        test_open(&test);
        fake_connect();
        fake_reply("get_schema", schemas[i]);
        assert_null(fake.rpc);
        assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -KVMIG_EJSON);
        test_retry(&test);
        fake_connect();
        fake_reply("get_schema", fake_server_schema);
        fake_reply("monitor_cond", "{'Database':{'" FAKE_ROW "':{'initial':{'connected':true,'schema':'{}'}}}}");
        fake_reply("get_schema", "{'version':7}");
        assert_null(fake.rpc);
        assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -KVMIG_EJSON);
        test_retry(&test);
        fake_connect();
        fake_refuse("get_schema", "{'details':'?'}");
        assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -EPROTO);
        test_close(&test);
    }
}

static void a_server_that_lives_but_does_not_answer_is_left(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    fake_connect();
    assert_true(test.db->answer.due_ms != INT64_MAX);
    kvmig__context_lock(test.context);
    kvmig__timer_arm_in(&test.db->answer, 0);
    kvmig__context_unlock(test.context);
    test_drain(test.context);
    assert_null(fake.rpc);
    assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -ETIMEDOUT);
    test_retry(&test);
    fake_serve();
    assert_true(test.db->answer.due_ms == INT64_MAX);
    test_close(&test);
}

/* ---- clusters ---- */

static void serve_cluster(const char *cluster, int index)
{
    char *row = kvmig__asprintf("{'name':'Net','model':'clustered','connected':true,'leader':true,'schema':'{}',"
                                "'cid':['uuid','%s'],'index':%d}",
                                cluster, index);

    fake_serve_row(row);
    free(row);
}

static void a_server_that_is_behind_what_was_seen_is_refused(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    serve_cluster(CLUSTER, 10);
    assert_true(kvmig__ovsdb_is_up(test.db));
    fake_notify("update2", "['kvmig-server',{'Database':{'" FAKE_ROW "':{'modify':{'index':20}}}}]");
    assert_true(kvmig__ovsdb_is_up(test.db));
    fake_lose("gone");
    test_retry(&test);
    serve_cluster(CLUSTER, 19);
    assert_false(kvmig__ovsdb_is_up(test.db));
    assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -ESTALE);
    test_retry(&test);
    serve_cluster(CLUSTER, 20);
    assert_true(kvmig__ovsdb_is_up(test.db));
    test_close(&test);
}

static void a_server_of_another_cluster_is_refused(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    serve_cluster(CLUSTER, 10);
    fake_lose("gone");
    test_retry(&test);
    serve_cluster(UUID_A, 10);
    assert_false(kvmig__ovsdb_is_up(test.db));
    assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -KVMIG_EREFUSED);
    assert_non_null(strstr(kvmig_error_evidence(kvmig__ovsdb_trouble(test.db)), CLUSTER));
    test_close(&test);
}

static void a_server_that_falls_back_is_left_at_once(void **state)
{
    static const struct {
        const char *change, *trouble;
    } cases[] = {
        { "{'modify':{'leader':false}}", "not the leader" },
        { "{'modify':{'connected':false}}", "cut off" },
        { "{'modify':{'schema':'{ }'}}", "was changed" },
        { "{'modify':{'schema':['set',[]]}}", "does not have the database" },
        { "{'modify':{'index':1}}", "behind" },
        { "{'delete':null}", "has no database" },
        { "{'modify':{'leader':3}}", "cannot be right" },
        { "{}", "cannot be right" },
        { "7", "cannot be right" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        char *params = kvmig__asprintf("['kvmig-server',{'Database':{'" FAKE_ROW "':%s}}]", cases[i].change);
        struct test_ovsdb test;

        test_open_at(&test, "tcp:10.0.0.1:6641", true);
        serve_cluster(CLUSTER, 10);
        assert_true(kvmig__ovsdb_is_up(test.db));
        test_was_well(&test);
        fake_notify("update2", params);
        assert_int_equal(fake.n_closed, 1);
        assert_int_equal(fake.opened.n, 2);
        assert_false(kvmig__ovsdb_is_up(test.db));
        assert_non_null(strstr(test_trouble(&test), cases[i].trouble));
        test_close(&test);
        free(params);
    }
}

static void a_new_index_or_a_strange_notification_disturbs_nobody(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    serve_cluster(CLUSTER, 10);
    fake_notify("update2", "['kvmig-server',{'Database':{'" FAKE_ROW "':{'modify':{'index':11}}}}]");
    fake_notify("update2", "['kvmig-server',{}]");
    fake_notify("update2", "['nobody',{}]");
    fake_notify("locked", "['x']");
    fake_notify("surprise", "[{}]");
    assert_true(kvmig__ovsdb_is_up(test.db));
    assert_int_equal(fake.n_closed, 0);
    test_close(&test);
}

/* ---- whom to try, and when ---- */

static void all_remotes_are_tried_at_once_then_it_waits_longer_and_longer(void **state)
{
    static const int64_t waits[] = { 1000, 2000, 4000, 8000, 8000 };
    struct test_ovsdb test;

    (void)state;
    test_open_at(&test, REMOTES_3, false);
    for (size_t round = 0; round < KVMIG__N_ELEMENTS(waits); round++) {
        for (size_t i = 0; i < 3; i++) {
            assert_non_null(fake.rpc);
            fake_lose("refused");
        }
        assert_null(fake.rpc);
        assert_int_equal(fake.opened.n, 3 * (round + 1));
        for (size_t i = 3 * round; i < fake.opened.n; i++) {
            for (size_t j = 3 * round; j < i; j++)
                assert_string_not_equal(fake.opened.v[i], fake.opened.v[j]);
        }
        assert_int_equal(test.db->backoff_ms, waits[round]);
        assert_in_range(test.db->retry.due_ms - kvmig__now_ms(), 0, waits[round] + 1);
        test_retry(&test);
    }
    test_close(&test);
}

static void the_order_of_remotes_is_not_always_the_same(void **state)
{
    int first[3] = { 0 };

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct test_ovsdb test;

        test_open_at(&test, REMOTES_3, false);
        first[fake.opened.v[0][strlen("tcp:10.0.0.")] - '1']++;
        test_close(&test);
    }
    assert_true(first[0] && first[1] && first[2]); /* fails once in 10^35 runs */
}

static void trouble_tells_what_happened_to_each_remote(void **state)
{
    struct test_ovsdb test;
    const char *evidence;

    (void)state;
    test_open_at(&test, "tcp:10.0.0.1:6641,tcp:10.0.0.2:6641", true);
    assert_null(kvmig__ovsdb_trouble(test.db));
    fake_lose("Connection refused.");
    fake_serve_row("{'name':'Net','model':'clustered','connected':true,'schema':'{}'}");
    evidence = kvmig_error_evidence(kvmig__ovsdb_trouble(test.db));
    assert_non_null(strstr(evidence, "tcp:10.0.0.1:6641: "));
    assert_non_null(strstr(evidence, "tcp:10.0.0.2:6641: "));
    assert_non_null(strstr(evidence, "Connection refused."));
    assert_non_null(strstr(evidence, "not the leader"));
    test_close(&test);
}

static void after_a_good_connection_it_tries_at_once(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    for (int i = 0; i < 3; i++) { /* some back-off that must be forgotten */
        fake_lose("refused");
        test_retry(&test);
    }
    fake_serve();
    test_was_well(&test);
    fake_lose("gone");
    assert_non_null(fake.rpc);
    fake_lose("refused");
    assert_null(fake.rpc);
    assert_int_equal(test.db->backoff_ms, KVMIG__OVSDB_MIN_BACKOFF_MS);
    test_close(&test);
}

static void a_connection_that_is_lost_right_after_it_was_made_counts_as_failed(void **state)
{
    struct test_ovsdb test;

    (void)state;
    test_open(&test);
    for (int i = 0; i < 3; i++) {
        fake_serve();
        assert_true(kvmig__ovsdb_is_up(test.db));
        fake_lose("gone");
        assert_null(fake.rpc);
        assert_int_equal(test.db->backoff_ms, KVMIG__OVSDB_MIN_BACKOFF_MS << i);
        test_retry(&test);
    }
    test_close(&test);
}

/* ---- sharing ---- */

static struct kvmig_error *try_get(struct test_ovsdb *test, const struct kvmig__ovsdb_spec *spec,
                                   struct kvmig__ovsdb **out_db)
{
    struct kvmig_error *error;

    kvmig__context_lock(test->context);
    error = kvmig__ovsdb_get(test->context, spec, "port.nb", out_db);
    kvmig__context_unlock(test->context);
    return error;
}

static void put(struct test_ovsdb *test, struct kvmig__ovsdb *db)
{
    kvmig__context_lock(test->context);
    kvmig__ovsdb_put(db);
    kvmig__context_unlock(test->context);
}

static void users_of_the_same_database_share_one_connection_until_the_last_goes(void **state)
{
    struct test_ovsdb test;
    struct kvmig__ovsdb *again, *leader;

    (void)state;
    test_open(&test);
    fake_serve();
    again = test_get(&test, "tcp:10.0.0.1:6641", false);
    assert_ptr_equal(again, test.db);
    leader = test_get(&test, "tcp:10.0.0.1:6641", true);
    assert_ptr_not_equal(leader, test.db);
    put(&test, leader); /* not connected yet */
    put(&test, again);
    test_drain(test.context);
    assert_true(kvmig__ovsdb_is_up(test.db));
    assert_int_equal(fake.opened.n, 1);
    test_close(&test);
    assert_int_equal(fake.n_closed, 1);
}

static void clients_in_any_order_can_go(void **state)
{
    struct test_ovsdb test;
    struct kvmig__ovsdb *others[3];
    const char *const remotes[] = { "tcp:1.1.1.1", "tcp:1.1.1.2", "tcp:1.1.1.3" };

    (void)state;
    test_open(&test);
    for (size_t i = 0; i < 3; i++)
        others[i] = test_get(&test, remotes[i], false);
    put(&test, others[1]);
    put(&test, others[2]);
    put(&test, others[0]);
    put(&test, NULL);
    test_close(&test);
}

static void wrong_options_are_named(void **state)
{
    struct test_ovsdb test;
    struct kvmig__ovsdb *db;
    struct kvmig__ovsdb_spec spec = { .remotes = "tcp:1.2.3.4:6641,ssl:1.2.3.4:6641", .database = "Net" };
    struct kvmig_error *error;

    (void)state;
    test_open(&test);
    error = try_get(&test, &spec, &db);
    assert_int_equal(kvmig_error_code(error), -EINVAL);
    assert_string_equal(kvmig_error_where(error), "port.nb");
    assert_string_equal(kvmig_error_evidence(error), "ssl:1.2.3.4:6641");
    assert_null(db);
    kvmig__error_free(error);
    spec.ca_file = spec.cert_file = spec.key_file = "/none.pem";
    assert_null(try_get(&test, &spec, &db));
    put(&test, db);
    spec.remotes = "nonsense";
    error = try_get(&test, &spec, &db);
    assert_int_equal(kvmig_error_code(error), -EINVAL);
    assert_null(db);
    kvmig__error_free(error);
    test_close(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_server_is_asked_in_order_before_it_is_up),
        cmocka_unit_test(a_server_that_knows_no_clusters_is_taken_as_it_is),
        cmocka_unit_test(a_server_that_does_not_serve_is_left_and_the_trouble_says_why),
        cmocka_unit_test(a_follower_is_good_enough_where_the_leader_is_not_asked_for),
        cmocka_unit_test(a_database_that_is_not_there_is_named),
        cmocka_unit_test(nonsense_in_the_handshake_ends_the_connection),
        cmocka_unit_test(a_server_that_lives_but_does_not_answer_is_left),
        cmocka_unit_test(a_server_that_is_behind_what_was_seen_is_refused),
        cmocka_unit_test(a_server_of_another_cluster_is_refused),
        cmocka_unit_test(a_server_that_falls_back_is_left_at_once),
        cmocka_unit_test(a_new_index_or_a_strange_notification_disturbs_nobody),
        cmocka_unit_test(all_remotes_are_tried_at_once_then_it_waits_longer_and_longer),
        cmocka_unit_test(the_order_of_remotes_is_not_always_the_same),
        cmocka_unit_test(trouble_tells_what_happened_to_each_remote),
        cmocka_unit_test(after_a_good_connection_it_tries_at_once),
        cmocka_unit_test(a_connection_that_is_lost_right_after_it_was_made_counts_as_failed),
        cmocka_unit_test(users_of_the_same_database_share_one_connection_until_the_last_goes),
        cmocka_unit_test(clients_in_any_order_can_go),
        cmocka_unit_test(wrong_options_are_named),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
