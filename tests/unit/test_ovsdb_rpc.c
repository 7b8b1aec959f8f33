/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests, answers, notifications and echo on one connection, and what a broken server sends. */
#include "rpc_test.h"

#include <errno.h>

/* ---- requests and answers ---- */

static void a_request_is_json_rpc_and_its_answer_comes_back(void **state)
{
    struct rpc_user *user = *state;
    struct json_object *request, *member;
    char text[1000];
    uint64_t id;

    connect_rpc(user, 0);
    id = ask(user, "transact", "[\"OVN_Northbound\",{\"op\":\"comment\",\"path\":\"a/b\"}]");
    peer_hear(user->connection, text, sizeof(text));
    request = json_tokener_parse(text);
    assert_true(json_object_object_get_ex(request, "method", &member));
    assert_string_equal(json_object_get_string(member), "transact");
    assert_true(json_object_object_get_ex(request, "params", &member));
    assert_string_equal(json_object_to_json_string_ext(member, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                        "[\"OVN_Northbound\",{\"op\":\"comment\",\"path\":\"a/b\"}]");
    assert_true(json_object_object_get_ex(request, "id", &member));
    assert_int_equal(json_object_get_uint64(member), id);
    json_object_put(request);
    say_id(user, "{\"id\":", id, ",\"result\":[{}],\"error\":null}");
    test_run_until(user->context, &user->replies, 1);
    assert_string_equal(user->answers.v[0], "[{}]");
    assert_int_equal(user->lost_replies, 0);
}

static void answers_may_come_in_any_order(void **state)
{
    struct rpc_user *user = *state;
    uint64_t first, second, third;

    connect_rpc(user, 0);
    first = ask(user, "m", "[]");
    second = ask(user, "m", "[]");
    third = ask(user, "m", "[]");
    assert_true(first != second && second != third && first != third);
    say_id(user, "{\"result\":3,\"error\":null,\"id\":", third, "}");
    say_id(user, "{\"result\":1,\"error\":null,\"id\":", first, "} ");
    say_id(user, "{\"result\":2,\"error\":null,\"id\":", second, "}");
    test_run_until(user->context, &user->replies, 3);
    assert_string_equal(user->answers.v[0], "3");
    assert_string_equal(user->answers.v[1], "1");
    assert_string_equal(user->answers.v[2], "2");
}

static void an_error_of_the_server_is_handed_on(void **state)
{
    struct rpc_user *user = *state;

    connect_rpc(user, 0);
    say_id(user, "{\"id\":", ask(user, "m", "[]"), ",\"result\":null,\"error\":{\"error\":\"unknown database\"}}");
    say_id(user, "{\"id\":", ask(user, "m", "[]"), ",\"result\":null,\"error\":null}");
    test_run_until(user->context, &user->replies, 2);
    assert_string_equal(user->answers.v[0], "error {\"error\":\"unknown database\"}");
    assert_string_equal(user->answers.v[1], "null");
}

static void answers_that_nobody_waits_for_are_ignored(void **state)
{
    struct rpc_user *user = *state;
    uint64_t id;

    connect_rpc(user, 0);
    id = ask(user, "m", "[]");
    peer_say(user->connection, "{\"id\":4711,\"result\":1,\"error\":null}{\"id\":\"x\",\"result\":1,\"error\":null}"
                               "{\"id\":null,\"result\":1,\"error\":null}{\"id\":-1,\"result\":1,\"error\":null}"
                               "{\"id\":1e0,\"result\":1,\"error\":null}{\"result\":1}");
    say_id(user, "{\"result\":2,\"error\":null,\"id\":", id, "}");
    say_id(user, "{\"result\":2,\"error\":null,\"id\":", id, "}"); /* again */
    test_run_until(user->context, &user->replies, 1);
    peer_say(user->connection, "{\"method\":\"last\",\"params\":[],\"id\":null}");
    test_run_until(user->context, &user->notified, 1);
    assert_int_equal(user->replies, 1);
    assert_string_equal(user->answers.v[0], "2");
    assert_int_equal(user->lost, 0);
}

static void a_forgotten_request_is_not_answered(void **state)
{
    struct rpc_user *user = *state;
    uint64_t forgotten, other;

    connect_rpc(user, 0);
    forgotten = ask(user, "m", "[]");
    other = ask(user, "m", "[]");
    ask(user, "m", "[]");
    forget(user, forgotten);
    forget(user, 0);
    forget(user, 4711);
    say_id(user, "{\"result\":1,\"error\":null,\"id\":", forgotten, "}");
    say_id(user, "{\"result\":2,\"error\":null,\"id\":", other, "}");
    test_run_until(user->context, &user->replies, 1);
    assert_string_equal(user->answers.v[0], "2");
    hang_up_server(user);
    test_run_until(user->context, &user->lost, 1);
    assert_int_equal(user->replies, 2);
    assert_int_equal(user->lost_replies, 1);
}

static void requests_wait_for_the_connection(void **state)
{
    struct rpc_user *user = *state;
    char text[1000];

    open_rpc(user, 0);
    ask(user, "early", "[]");
    test_run_until(user->context, &user->connected, 1);
    user->connection = fake_peer_accept(&user->peer);
    peer_hear(user->connection, text, sizeof(text));
    assert_non_null(strstr(text, "early"));
}

static void more_requests_than_a_server_may_owe_are_not_sent(void **state)
{
    enum { BOUND = 1024 };
    struct rpc_user *user = *state;
    uint64_t first, refused, forgotten;

    connect_rpc(user, 0);
    first = ask(user, "m", "[]");
    for (int i = 1; i < BOUND; i++)
        ask(user, "m", "[]");
    test_drain(user->context);
    assert_int_equal(user->replies, 0);
    refused = ask(user, "m", "[]");
    forgotten = ask(user, "m", "[]");
    assert_true(refused > first);
    forget(user, forgotten);
    test_run_until(user->context, &user->replies, 1);
    test_drain(user->context);
    assert_int_equal(user->lost_replies, 1);
    assert_int_equal(user->replies, 1);
    assert_int_equal(user->lost, 0);
    say_id(user, "{\"result\":1,\"error\":null,\"id\":", first, "}");
    test_run_until(user->context, &user->replies, 2);
    ask(user, "m", "[]"); /* there is room again */
    test_drain(user->context);
    assert_int_equal(user->replies, 2);
}

/* ---- what the server asks and tells ---- */

static void an_echo_of_the_server_is_answered(void **state)
{
    struct rpc_user *user = *state;
    char text[1000];

    connect_rpc(user, 0);
    peer_say(user->connection, "{\"id\":\"echo\",\"method\":\"echo\",\"params\":[1,\"x\"]}");
    peer_pump_until_readable(user->context, user->connection);
    peer_hear(user->connection, text, sizeof(text));
    assert_string_equal(text, "{\"id\":\"echo\",\"result\":[1,\"x\"],\"error\":null}");
    assert_int_equal(user->notified, 0);
}

static void notifications_are_handed_on_in_order(void **state)
{
    struct rpc_user *user = *state;

    connect_rpc(user, 0);
    peer_say(user->connection,
             "{\"id\":null,\"method\":\"update2\",\"params\":[null,{}]}"
             "{\"method\":\"locked\",\"params\":[\"x\"]}{\"id\":null,\"method\":\"echo\",\"params\":[]}");
    test_run_until(user->context, &user->notified, 3);
    assert_string_equal(user->notes.v[0], "update2 [null,{}]");
    assert_string_equal(user->notes.v[1], "locked [\"x\"]");
    assert_string_equal(user->notes.v[2], "echo []");
}

static void an_unknown_request_of_the_server_is_refused_and_handed_on(void **state)
{
    struct rpc_user *user = *state;
    char text[1000];

    connect_rpc(user, 0);
    peer_say(user->connection, "{\"id\":7,\"method\":\"dance\",\"params\":[]}");
    test_run_until(user->context, &user->notified, 1);
    peer_hear(user->connection, text, sizeof(text));
    assert_string_equal(text, "{\"id\":7,\"result\":null,\"error\":\"unknown method\"}");
}

static void assert_broken(struct rpc_user *user, const char *text, int32_t code)
{
    connect_rpc(user, 0);
    ask(user, "m", "[]");
    peer_say(user->connection, text);
    test_run_until(user->context, &user->lost, 1);
    assert_int_equal(user->error->code, -code);
    assert_string_equal(user->error->where, user->peer.remote.text);
    assert_non_null(user->error->hint);
    assert_non_null(user->error->evidence);
    assert_int_equal(user->lost_replies, 1);
    kvmig__context_lock(user->context);
    hang_up(user);
    kvmig__context_unlock(user->context);
    hang_up_server(user);
    user->connected = user->lost = user->lost_replies = user->replies = 0;
}

static void a_server_that_does_not_speak_json_rpc_is_left(void **state)
{
    struct rpc_user *user = *state;

    assert_broken(user, "HTTP/1.1 400 Bad Request\r\n\r\n", KVMIG_EJSON);
    assert_broken(user, "{\"id\":1,}", KVMIG_EJSON);
}

static void messages_of_the_wrong_shape_end_the_connection(void **state)
{
    struct rpc_user *user = *state;

    assert_broken(user, "{}", EPROTO);
    assert_broken(user, "{\"id\":1}", EPROTO);
    assert_broken(user, "{\"id\":null,\"method\":1,\"params\":[]}", EPROTO);
    assert_broken(user, "{\"id\":null,\"method\":null,\"params\":[]}", EPROTO);
    assert_broken(user, "{\"id\":null,\"method\":\"update\"}", EPROTO);
    assert_broken(user, "{\"id\":null,\"method\":\"update\",\"params\":{}}", EPROTO);
    assert_broken(user, "{\"id\":null,\"method\":\"\xFF\",\"params\":[]}", KVMIG_EJSON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_json_rpc_and_its_answer_comes_back),
        TEST(answers_may_come_in_any_order),
        TEST(an_error_of_the_server_is_handed_on),
        TEST(answers_that_nobody_waits_for_are_ignored),
        TEST(a_forgotten_request_is_not_answered),
        TEST(requests_wait_for_the_connection),
        TEST(more_requests_than_a_server_may_owe_are_not_sent),
        TEST(an_echo_of_the_server_is_answered),
        TEST(notifications_are_handed_on_in_order),
        TEST(an_unknown_request_of_the_server_is_refused_and_handed_on),
        TEST(a_server_that_does_not_speak_json_rpc_is_left),
        TEST(messages_of_the_wrong_shape_end_the_connection),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
