/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Transactions of the OVSDB client against a scripted server: what became of them, in every way that they can end.
 */
#include "ovsdb_test.h"

#include <errno.h>

#define INSERT "[{'op':'insert','table':'Port','row':{'name':'a'}}]"
#define GUARDED                                                                                                        \
    "[{'op':'wait','table':'Port','timeout':0,'where':[],'columns':[],'until':'==','rows':[]},"                        \
    "{'op':'mutate','table':'Port','where':[],'mutations':[]}]"

static void open_up(struct test_ovsdb *test)
{
    test_open(test);
    fake_serve();
}

/* ---- the ways to end ---- */

static void a_transaction_is_sent_with_the_name_of_the_database_and_its_results_are_told(void **state)
{
    struct test_ovsdb test;
    struct test_call call = { 0 };

    (void)state;
    open_up(&test);
    test_transact(&test, &call, INSERT, 5000);
    fake_expect("transact", "['Net',{'op':'insert','table':'Port','row':{'name':'a'}}]");
    fake_reply("transact", "[{'uuid':['uuid','" UUID_A "']}]");
    assert_int_equal(call.n_done, 1);
    assert_int_equal(call.outcome, KVMIG__OVSDB_DONE);
    assert_int_equal(call.code, 0);
    assert_string_equal(call.results, "[{\"uuid\":[\"uuid\",\"" UUID_A "\"]}]");
    test_call_clear(&call);
    test_close(&test);
}

struct sight {
    struct test_ovsdb *test;
    size_t n_rows;
};

static void look(void *data)
{
    struct sight *sight = data;

    sight->n_rows = kvmig__ovsdb_row_count(sight->test->monitor, 0);
}

static void what_a_transaction_changed_is_seen_before_it_is_done(void **state)
{
    static const char *const columns[] = { "name", NULL };
    const struct kvmig__ovsdb_table table = { .name = "Port", .columns = columns };
    struct test_ovsdb test;
    struct sight sight = { .test = &test };
    struct test_call call = { .then = look, .then_data = &sight };

    (void)state;
    open_up(&test);
    test_monitor(&test, &table, 1);
    fake_reply("monitor_cond_since", "[false,'" TXN_1 "',{}]");
    test_transact(&test, &call, INSERT, 5000);
    fake_notify("update3", "['kvmig-1','" TXN_2 "',{'Port':{'" UUID_A "':{'insert':{'name':'a'}}}}]");
    assert_int_equal(call.n_done, 0);
    fake_reply("transact", "[{'uuid':['uuid','" UUID_A "']}]");
    assert_int_equal(call.n_done, 1);
    assert_int_equal(sight.n_rows, 1);
    test_call_clear(&call);
    test_close(&test);
}

static void failures_are_told_by_what_they_mean(void **state)
{
    static const struct {
        const char *answer;
        enum kvmig__ovsdb_outcome outcome;
        bool is_guard;
        int32_t code;
        const char *evidence;
    } cases[] = {
        { "[{'error':'timed out','details':'\\\"where\\\" clause test failed'},null]", KVMIG__OVSDB_REFUSED, true,
          -ESTALE, "operation 0 (wait Port): timed out: \"where\" clause test failed" },
        { "[{},{'error':'timed out'}]", KVMIG__OVSDB_REFUSED, false, -EINVAL, "operation 1 (mutate Port): timed out" },
        { "[{},{'error':'constraint violation','details':'why'}]", KVMIG__OVSDB_REFUSED, false, -EINVAL,
          "operation 1 (mutate Port): constraint violation: why" },
        { "[{},{'error':'permission error'}]", KVMIG__OVSDB_REFUSED, false, -EPERM,
          "operation 1 (mutate Port): permission error" },
        { "[{},{},{'error':'referential integrity violation'}]", KVMIG__OVSDB_REFUSED, false, -EINVAL,
          "commit: referential integrity violation" },
        { "[{},{},{'error':'I/O error','details':'disk full'}]", KVMIG__OVSDB_REFUSED, false, -EIO,
          "commit: I/O error: disk full" },
        { "[{},{},{'error':'cluster error','details':'lost leadership'}]", KVMIG__OVSDB_UNKNOWN, false, -KVMIG_EUNKNOWN,
          "commit: cluster error: lost leadership" },
        { "[{'error':7},null]", KVMIG__OVSDB_REFUSED, false, -EINVAL,
          "operation 0 (wait Port): an error without a text" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct test_ovsdb test;
        struct test_call call = { 0 };

        open_up(&test);
        test_transact(&test, &call, GUARDED, 5000);
        fake_reply("transact", cases[i].answer);
        assert_int_equal(call.n_done, 1);
        assert_int_equal(call.outcome, cases[i].outcome);
        assert_int_equal(call.is_guard, cases[i].is_guard);
        assert_int_equal(call.code, cases[i].code);
        assert_string_equal(call.evidence, cases[i].evidence);
        assert_null(call.results);
        assert_true(kvmig__ovsdb_is_up(test.db));
        test_call_clear(&call);
        test_close(&test);
    }
}

static void a_request_that_is_rejected_changed_nothing(void **state)
{
    struct test_ovsdb test;
    struct test_call call = { 0 };

    (void)state;
    open_up(&test);
    test_transact(&test, &call, INSERT, 5000);
    fake_refuse("transact", "{'error':'unknown database','details':'no Net'}");
    assert_int_equal(call.outcome, KVMIG__OVSDB_REFUSED);
    assert_false(call.is_guard);
    assert_string_equal(call.evidence, "unknown database: no Net");
    test_transact(&test, &call, INSERT, 5000);
    fake_refuse("transact", "'canceled'");
    assert_int_equal(call.n_done, 2);
    assert_int_equal(call.outcome, KVMIG__OVSDB_UNKNOWN);
    test_call_clear(&call);
    test_close(&test);
}

static void an_answer_that_is_none_leaves_the_outcome_open_and_costs_the_connection(void **state)
{
    static const char *const answers[] = { "null", "{}", "[]", "[{},{},{}]", "[{},null]", "[{},7]", "'x'" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(answers); i++) {
        struct test_ovsdb test;
        struct test_call call = { 0 };

        open_up(&test);
        test_transact(&test, &call, GUARDED, 5000);
        fake_reply("transact", answers[i]);
        assert_int_equal(call.n_done, 1);
        assert_int_equal(call.outcome, KVMIG__OVSDB_UNKNOWN);
        assert_null(fake.rpc);
        assert_int_equal(kvmig_error_code(kvmig__ovsdb_trouble(test.db)), -KVMIG_EJSON);
        test_call_clear(&call);
        test_close(&test);
    }
}

static void a_lost_connection_leaves_what_was_sent_open_and_keeps_what_was_not(void **state)
{
    struct test_ovsdb test;
    struct test_call sent = { 0 }, queued = { 0 };

    (void)state;
    open_up(&test);
    test_transact(&test, &sent, INSERT, 5000);
    fake_lose("The server is gone.");
    assert_int_equal(sent.n_done, 1);
    assert_int_equal(sent.outcome, KVMIG__OVSDB_UNKNOWN);
    assert_int_equal(sent.code, -KVMIG_EUNKNOWN);
    assert_non_null(strstr(sent.evidence, "The server is gone."));
    test_transact(&test, &queued, INSERT, 5000);
    test_retry(&test);
    fake_lose("refused");
    assert_int_equal(queued.n_done, 0);
    test_retry(&test);
    fake_serve();
    assert_int_equal(fake_pending("transact"), 1); /* once, and the first one never again */
    fake_reply("transact", "[{}]");
    assert_int_equal(queued.outcome, KVMIG__OVSDB_DONE);
    assert_int_equal(sent.n_done, 1);
    test_call_clear(&sent);
    test_call_clear(&queued);
    test_close(&test);
}

/* Our own end of a connection is no other than the server's. */
static void a_connection_that_is_dropped_leaves_what_was_sent_open(void **state)
{
    struct test_ovsdb test;
    struct test_call call = { 0 };

    (void)state;
    open_up(&test);
    test_transact(&test, &call, INSERT, 5000);
    fake_notify("update2", "['kvmig-server',{'Database':7}]");
    assert_null(fake.rpc);
    assert_int_equal(call.n_done, 1);
    assert_int_equal(call.outcome, KVMIG__OVSDB_UNKNOWN);
    test_call_clear(&call);
    test_close(&test);
}

static void a_transaction_without_a_server_is_given_up_in_time(void **state)
{
    struct test_ovsdb test;
    struct test_call call = { 0 };

    (void)state;
    test_open(&test);
    test_transact(&test, &call, INSERT, 1);
    test_run_until(test.context, &call.n_done, 1);
    assert_int_equal(call.outcome, KVMIG__OVSDB_UNSENT);
    assert_int_equal(call.code, -KVMIG_EUNREACHABLE);
    fake_lose("Nobody is there.");
    test_transact(&test, &call, INSERT, 1);
    test_run_until(test.context, &call.n_done, 2);
    assert_non_null(strstr(call.evidence, "Nobody is there."));
    test_retry(&test);
    fake_serve();
    assert_int_equal(fake_pending("transact"), 0);
    test_call_clear(&call);
    test_close(&test);
}

static void a_transaction_without_an_answer_in_time_is_left_open(void **state)
{
    struct test_ovsdb test;
    struct test_call call = { 0 };

    (void)state;
    open_up(&test);
    test_transact(&test, &call, INSERT, 1);
    test_run_until(test.context, &call.n_done, 1);
    assert_int_equal(call.outcome, KVMIG__OVSDB_UNKNOWN);
    assert_int_equal(fake_pending("transact"), 0); /* its answer would find nobody */
    assert_true(kvmig__ovsdb_is_up(test.db));
    test_call_clear(&call);
    test_close(&test);
}

/* ---- users ---- */

static void several_are_answered_each_by_its_own(void **state)
{
    struct test_ovsdb test;
    struct test_call calls[3] = { { 0 } };

    (void)state;
    open_up(&test);
    for (size_t i = 0; i < 3; i++)
        test_transact(&test, &calls[i], INSERT, 5000);
    for (size_t i = 0; i < 3; i++) {
        fake_reply("transact", "[{}]");
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(calls[j].n_done, j <= i);
    }
    for (size_t i = 0; i < 3; i++)
        test_call_clear(&calls[i]);
    test_close(&test);
}

static void a_call_that_is_forgotten_is_never_told(void **state)
{
    struct test_ovsdb test;
    struct test_call call = { 0 };

    (void)state;
    test_open(&test);
    test_transact(&test, &call, INSERT, 5000);
    kvmig__context_lock(test.context);
    kvmig__ovsdb_call_forget(call.call); /* not sent yet */
    kvmig__ovsdb_call_forget(NULL);
    kvmig__context_unlock(test.context);
    fake_serve();
    assert_int_equal(fake_pending("transact"), 0);
    test_transact(&test, &call, INSERT, 5000);
    kvmig__context_lock(test.context);
    kvmig__ovsdb_call_forget(call.call); /* sent */
    kvmig__context_unlock(test.context);
    test_drain(test.context);
    assert_int_equal(call.n_done, 0);
    test_close(&test);
}

static void calls_that_are_left_go_with_the_client(void **state)
{
    struct test_ovsdb test;
    struct test_call call = { 0 };

    (void)state;
    open_up(&test);
    test_transact(&test, &call, INSERT, 5000);
    test_close(&test);
    assert_int_equal(call.n_done, 0);
}

struct user {
    struct test_ovsdb *test;
    struct test_call *own, *other;
};

static void forget_all(void *data)
{
    struct user *user = data;

    kvmig__ovsdb_call_forget(user->own->call);
    kvmig__ovsdb_call_forget(user->other->call);
}

static void a_user_may_forget_calls_when_told(void **state)
{
    struct test_ovsdb test;
    struct test_call call = { 0 }, other = { 0 };
    struct user user = { &test, &call, &other };

    (void)state;
    open_up(&test);
    call.then = forget_all;
    call.then_data = &user;
    test_transact(&test, &call, INSERT, 5000);
    test_transact(&test, &other, INSERT, 5000);
    fake_lose("gone"); /* both end together */
    assert_int_equal(call.n_done, 1);
    assert_int_equal(other.n_done, 0);
    test_call_clear(&call);
    test_close(&test);
}

static void leave(void *data)
{
    struct test_ovsdb *test = data;

    kvmig__ovsdb_put(test->db);
    test->db = NULL;
}

static void a_user_may_put_the_client_when_told(void **state)
{
    struct test_ovsdb test;
    struct test_call call = { .then = leave, .then_data = &test }, other = { 0 };

    (void)state;
    open_up(&test);
    test_transact(&test, &call, INSERT, 5000);
    test_transact(&test, &other, INSERT, 5000);
    fake_reply("transact", "[{}]");
    assert_int_equal(call.n_done, 1);
    assert_int_equal(other.n_done, 0);
    assert_null(fake.rpc);
    test_call_clear(&call);
    test_close(&test);
}

static void send_next(void *data)
{
    struct user *user = data;

    user->other->call = kvmig__ovsdb_transact(user->test->db, fake_json(INSERT), 5000, test_call_done, user->other);
    assert_int_equal(user->other->n_done, 0);
}

static void a_user_may_send_the_next_when_told(void **state)
{
    struct test_ovsdb test;
    struct test_call call = { 0 }, next = { 0 };
    struct user user = { &test, &call, &next };

    (void)state;
    open_up(&test);
    call.then = send_next;
    call.then_data = &user;
    test_transact(&test, &call, INSERT, 5000);
    fake_reply("transact", "[{}]");
    fake_reply("transact", "[{}]");
    assert_int_equal(next.n_done, 1);
    test_call_clear(&call);
    test_call_clear(&next);
    test_close(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transaction_is_sent_with_the_name_of_the_database_and_its_results_are_told),
        cmocka_unit_test(what_a_transaction_changed_is_seen_before_it_is_done),
        cmocka_unit_test(failures_are_told_by_what_they_mean),
        cmocka_unit_test(a_request_that_is_rejected_changed_nothing),
        cmocka_unit_test(an_answer_that_is_none_leaves_the_outcome_open_and_costs_the_connection),
        cmocka_unit_test(a_lost_connection_leaves_what_was_sent_open_and_keeps_what_was_not),
        cmocka_unit_test(a_connection_that_is_dropped_leaves_what_was_sent_open),
        cmocka_unit_test(a_transaction_without_a_server_is_given_up_in_time),
        cmocka_unit_test(a_transaction_without_an_answer_in_time_is_left_open),
        cmocka_unit_test(several_are_answered_each_by_its_own),
        cmocka_unit_test(a_call_that_is_forgotten_is_never_told),
        cmocka_unit_test(calls_that_are_left_go_with_the_client),
        cmocka_unit_test(a_user_may_forget_calls_when_told),
        cmocka_unit_test(a_user_may_put_the_client_when_told),
        cmocka_unit_test(a_user_may_send_the_next_when_told),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
