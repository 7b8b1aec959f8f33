/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How a connection ends: every request is answered exactly once, nothing is called after closing, wherever that
 * happens, and a silent server is noticed.
 */
#include "rpc_test.h"

#include <errno.h>

static void on_reply_ask_again(void *data, struct json_object *result, struct json_object *server_error, bool lost)
{
    struct rpc_user *user = data;

    (void)result, (void)server_error;
    user->lost_replies += lost;
    user->replies++;
    if (user->ask_again)
        kvmig__ovsdb_rpc_request(user->rpc, "again", json_object_new_array(), on_reply_ask_again, user);
    user->ask_again = false;
}

/* ---- the end ---- */

static void a_lost_connection_answers_every_request_and_then_says_so_once(void **state)
{
    struct rpc_user *user = *state;

    connect_rpc(user, 0);
    for (int i = 0; i < 5; i++)
        ask(user, "m", "[]");
    hang_up_server(user);
    test_run_until(user->context, &user->lost, 1);
    assert_int_equal(user->lost_replies, 5);
    assert_int_equal(user->error->code, -ECONNRESET);
    test_drain(user->context);
    assert_int_equal(user->lost, 1);
    assert_int_equal(user->replies, 5);
}

static void a_server_that_is_not_there_answers_every_request_and_then_says_so(void **state)
{
    struct rpc_user *user = *state;

    fake_peer_stop_listening(&user->peer);
    open_rpc(user, 100);
    ask(user, "m", "[]");
    test_run_until(user->context, &user->lost, 1);
    assert_int_equal(user->lost_replies, 1);
    assert_int_equal(user->connected, 0);
    assert_int_equal(user->error->code, -KVMIG_EUNREACHABLE);
}

static void what_is_asked_after_the_loss_is_answered_too(void **state)
{
    struct rpc_user *user = *state;

    connect_rpc(user, 0);
    user->ask_again = true;
    kvmig__context_lock(user->context);
    kvmig__ovsdb_rpc_request(user->rpc, "m", json_object_new_array(), on_reply_ask_again, user);
    kvmig__context_unlock(user->context);
    hang_up_server(user);
    test_run_until(user->context, &user->replies, 2);
    assert_int_equal(user->lost_replies, 2);
    assert_int_equal(user->lost, 1);
}

static void assert_silent_after_close(struct rpc_user *user, int n_calls)
{
    assert_null(user->rpc);
    test_drain(user->context);
    assert_int_equal(user->connected + user->notified + user->replies + user->lost, n_calls);
}

static void it_may_be_closed_inside_connected(void **state)
{
    struct rpc_user *user = *state;

    user->close_in = CLOSE_IN_CONNECTED;
    open_rpc(user, 1000);
    ask(user, "m", "[]");
    test_run_until(user->context, &user->connected, 1);
    assert_silent_after_close(user, 1);
}

static void it_may_be_closed_inside_notified(void **state)
{
    struct rpc_user *user = *state;

    user->close_in = CLOSE_IN_NOTIFIED;
    connect_rpc(user, 1000);
    ask(user, "m", "[]");
    peer_say(user->connection, "{\"method\":\"a\",\"params\":[]}{\"method\":\"b\",\"params\":[]}garbage");
    test_run_until(user->context, &user->notified, 1);
    assert_silent_after_close(user, 2);
}

static void it_may_be_closed_inside_a_reply(void **state)
{
    struct rpc_user *user = *state;

    user->close_in = CLOSE_IN_REPLY;
    connect_rpc(user, 1000);
    ask(user, "m", "[]");
    say_id(user, "{\"result\":1,\"error\":null,\"id\":", ask(user, "m", "[]"), "}{\"method\":\"b\",\"params\":[]}");
    test_run_until(user->context, &user->replies, 1);
    assert_silent_after_close(user, 2);
}

static void it_may_be_closed_inside_a_reply_that_says_lost(void **state)
{
    struct rpc_user *user = *state;

    user->close_in = CLOSE_IN_REPLY;
    connect_rpc(user, 1000);
    for (int i = 0; i < 3; i++)
        ask(user, "m", "[]");
    hang_up_server(user);
    test_run_until(user->context, &user->replies, 1);
    assert_silent_after_close(user, 2);
}

static void it_may_be_closed_inside_lost(void **state)
{
    struct rpc_user *user = *state;

    user->close_in = CLOSE_IN_LOST;
    connect_rpc(user, 1000);
    hang_up_server(user);
    test_run_until(user->context, &user->lost, 1);
    assert_silent_after_close(user, 2);
}

static void it_may_be_closed_inside_a_reply_to_a_refused_request(void **state)
{
    struct rpc_user *user = *state;

    user->close_in = CLOSE_IN_REPLY;
    connect_rpc(user, 0);
    hang_up_server(user);
    test_run_until(user->context, &user->lost, 1);
    user->lost = 0;
    ask(user, "m", "[]");
    ask(user, "m", "[]");
    test_run_until(user->context, &user->replies, 1);
    assert_silent_after_close(user, 2);
}

/* ---- silence ---- */

static void a_silent_server_is_asked_and_then_given_up(void **state)
{
    struct rpc_user *user = *state;
    char text[1000];

    connect_rpc(user, 20);
    ask(user, "m", "[]");
    peer_hear(user->connection, text, sizeof(text));
    peer_pump_until_readable(user->context, user->connection);
    peer_hear(user->connection, text, sizeof(text));
    assert_non_null(strstr(text, "\"echo\""));
    test_run_until(user->context, &user->lost, 1);
    assert_int_equal(user->lost_replies, 1);
    assert_int_equal(user->error->code, -ETIMEDOUT);
    assert_non_null(strstr(user->error->message, "silent"));
    assert_false(peer_has_heard_something(user->connection) && peer_hear(user->connection, text, sizeof(text)) > 0);
}

static void a_server_that_answers_the_probe_is_kept(void **state)
{
    struct rpc_user *user = *state;

    connect_rpc(user, 20);
    for (int i = 0; i < 4; i++) {
        char text[1000];
        struct json_object *request, *id;

        peer_pump_until_readable(user->context, user->connection);
        peer_hear(user->connection, text, sizeof(text));
        request = json_tokener_parse(text);
        assert_true(json_object_object_get_ex(request, "id", &id));
        say_id(user, "{\"result\":[],\"error\":null,\"id\":", json_object_get_uint64(id), "}");
        json_object_put(request);
    }
    assert_int_equal(user->lost, 0);
}

/* A large answer takes longer than the probe's time: its bytes count, although the message is not whole. The probe is
 * long enough here that only a test which hangs reaches its end. */
static void bytes_of_an_unfinished_message_are_signs_of_life(void **state)
{
    struct rpc_user *user = *state;
    char text[1000];

    connect_rpc(user, 50);
    peer_say(user->connection, "{\"method\":\"a\",\"params\":[");
    for (int i = 0; i < 4; i++) {
        peer_pump_until_readable(user->context, user->connection); /* the probe */
        peer_hear(user->connection, text, sizeof(text));
        assert_non_null(strstr(text, "\"echo\""));
        peer_say(user->connection, " ");
    }
    assert_int_equal(user->lost, 0);
    peer_say(user->connection, "]}");
    test_run_until(user->context, &user->notified, 1);
}

static void a_process_that_did_not_dispatch_reads_before_it_judges(void **state)
{
    struct rpc_user *user = *state;

    connect_rpc(user, 20);
    peer_pump_until_readable(user->context, user->connection); /* the probe was sent */
    peer_say(user->connection, "{\"method\":\"a\",\"params\":[]}");
    poll(NULL, 0, 100); /* the loop of the process is busy elsewhere; the probe's time is over */
    test_run_until(user->context, &user->notified, 1);
    assert_int_equal(user->lost, 0);
}

static void without_a_probe_silence_is_borne(void **state)
{
    struct rpc_user *user = *state;

    connect_rpc(user, 0);
    test_drain(user->context);
    while (test_readable(user->context, 20)) /* what is left over from connecting */
        test_drain(user->context);
    assert_false(test_readable(user->context, 50));
    assert_false(peer_has_heard_something(user->connection));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_lost_connection_answers_every_request_and_then_says_so_once),
        TEST(a_server_that_is_not_there_answers_every_request_and_then_says_so),
        TEST(what_is_asked_after_the_loss_is_answered_too),
        TEST(it_may_be_closed_inside_connected),
        TEST(it_may_be_closed_inside_notified),
        TEST(it_may_be_closed_inside_a_reply),
        TEST(it_may_be_closed_inside_a_reply_that_says_lost),
        TEST(it_may_be_closed_inside_lost),
        TEST(it_may_be_closed_inside_a_reply_to_a_refused_request),
        TEST(a_silent_server_is_asked_and_then_given_up),
        TEST(a_server_that_answers_the_probe_is_kept),
        TEST(bytes_of_an_unfinished_message_are_signs_of_life),
        TEST(a_process_that_did_not_dispatch_reads_before_it_judges),
        TEST(without_a_probe_silence_is_borne),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
