/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes to and from a server over a Unix socket and TCP: order, bounds on what is read and kept, every way to lose the
 * connection, and closing inside of every function of the user.
 */
#include "stream_test.h"

#include <errno.h>
#include <netdb.h>

/* ---- a name service that hangs: takes the place of the C library's ---- */

static struct test_gate name_service = TEST_GATE_INIT;

__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints, struct addrinfo **out)
{
    (void)service, (void)hints, (void)out;
    if (strcmp(name, "unknown.invalid") != 0)
        test_gate_pass(&name_service);
    return EAI_NONAME;
}

/* ---- a server and a user connected to it ---- */

struct pair {
    struct kvmig_context *context;
    struct fake_peer peer;
    struct stream_user user;
    int connection; /* the server's end; -1 = none */
};

static int setup(void **state, struct fake_peer peer)
{
    struct pair *pair = kvmig__calloc(1, sizeof(*pair));

    pair->context = test_context_new(0);
    pair->peer = peer;
    pair->connection = -1;
    pair->user.context = pair->context;
    *state = pair;
    return 0;
}

static int setup_unix(void **state)
{
    return setup(state, fake_peer_unix());
}

static int setup_tcp(void **state)
{
    return setup(state, fake_peer_tcp());
}

static int teardown(void **state)
{
    struct pair *pair = *state;

    stream_user_end(&pair->user);
    if (pair->connection >= 0)
        close(pair->connection);
    kvmig_context_unref(pair->context);
    fake_peer_end(&pair->peer);
    free(pair);
    return 0;
}

static void open_only(struct pair *pair)
{
    stream_user_open(&pair->user, pair->context, &pair->peer.remote, NULL, TEST_DEADLINE_MS);
}

static void connect_pair(struct pair *pair)
{
    open_only(pair);
    test_run_until(pair->context, &pair->user.connected, 1);
    pair->connection = fake_peer_accept(&pair->peer);
}

static void assert_lost(struct pair *pair, int32_t code, const char *hint)
{
    test_run_until(pair->context, &pair->user.lost, 1);
    test_drain(pair->context);
    assert_int_equal(pair->user.lost, 1);
    assert_int_equal(pair->user.error->code, -code);
    assert_string_equal(pair->user.error->where, pair->peer.remote.text);
    assert_non_null(strstr(pair->user.error->message, pair->peer.remote.text));
    assert_non_null(pair->user.error->hint);
    if (!strstr(pair->user.error->hint, hint))
        fail_msg("'%s' is not in '%s'", hint, pair->user.error->hint);
}

/* ---- bytes ---- */

static void bytes_go_both_ways(void **state)
{
    struct pair *pair = *state;
    char text[100];

    connect_pair(pair);
    stream_user_send(&pair->user, "ping", 4);
    assert_int_equal(peer_hear(pair->connection, text, sizeof(text)), 4);
    assert_string_equal(text, "ping");
    peer_say(pair->connection, "pong!");
    test_run_until(pair->context, &pair->user.received, 5);
    assert_int_equal(pair->user.last, '!');
    test_drain(pair->context);
    assert_int_equal(pair->user.connected, 1);
    assert_int_equal(pair->user.lost, 0);
}

static void an_idle_connection_does_not_keep_the_loop_busy(void **state)
{
    struct pair *pair = *state;

    connect_pair(pair);
    test_drain(pair->context);
    while (test_readable(pair->context, 20)) /* what timers and wake-ups are left over from connecting */
        test_drain(pair->context);
    assert_false(test_readable(pair->context, 50));
}

static void what_was_sent_before_the_connection_comes_first(void **state)
{
    struct pair *pair = *state;
    char text[100];

    open_only(pair);
    stream_user_send(&pair->user, "a", 1);
    stream_user_send(&pair->user, "b", 1);
    test_run_until(pair->context, &pair->user.connected, 1);
    stream_user_send(&pair->user, "c", 1);
    pair->connection = fake_peer_accept(&pair->peer);
    for (size_t n = 0; n < 3;)
        n += peer_hear(pair->connection, text + n, sizeof(text) - n);
    assert_string_equal(text, "abc");
}

static void what_the_server_does_not_take_at_once_is_sent_later(void **state)
{
    const size_t n = 8 << 20;
    struct pair *pair = *state;
    char *bytes = kvmig__calloc(1, n), *text = kvmig__calloc(1, n);
    size_t heard = 0;

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i % 251);
    connect_pair(pair);
    stream_user_send(&pair->user, bytes, n / 2);
    stream_user_send(&pair->user, bytes + n / 2, n / 2);
    while (heard < n) {
        size_t piece;

        peer_pump_until_readable(pair->context, pair->connection);
        piece = peer_hear(pair->connection, text, n);
        assert_true(piece > 0 && piece <= n - heard);
        assert_memory_equal(text, bytes + heard, piece);
        heard += piece;
    }
    assert_int_equal(pair->user.lost, 0);
    free(bytes);
    free(text);
}

static void a_server_that_does_not_read_is_given_up(void **state)
{
    const size_t n = 4 << 20;
    struct pair *pair = *state;
    char *bytes = kvmig__calloc(1, n);

    connect_pair(pair);
    for (int i = 0; i < 6; i++)
        stream_user_send(&pair->user, bytes, n);
    assert_lost(pair, EPIPE, "hangs");
    stream_user_send(&pair->user, bytes, n); /* of no effect */
    test_drain(pair->context);
    assert_int_equal(pair->user.lost, 1);
    free(bytes);
}

/* A thread that sends until it is told to stop. */
static void *flood(void *data)
{
    static const char bytes[65536];
    const int *connection = data;

    while (send(*connection, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0) {
    }
    return NULL;
}

static void a_flood_leaves_the_loop_its_turn(void **state)
{
    struct pair *pair = *state;
    pthread_t thread;

    connect_pair(pair);
    assert_int_equal(pthread_create(&thread, NULL, flood, &pair->connection), 0);
    for (int i = 0; i < 100; i++) {
        int before = pair->user.received;

        assert_true(test_readable(pair->context, TEST_DEADLINE_MS));
        assert_true(kvmig_context_dispatch(pair->context) >= 0);
        /* Once by the watch, once by the timer that reads on. */
        assert_true(pair->user.received - before <= 2 * ((256 + 16) << 10));
    }
    test_run_until(pair->context, &pair->user.received, 1 << 20);
    stream_user_close(&pair->user);
    pthread_join(thread, NULL);
}

/* ---- losing it ---- */

static void the_last_bytes_are_read_before_the_end(void **state)
{
    struct pair *pair = *state;

    connect_pair(pair);
    peer_say(pair->connection, "last words");
    close(pair->connection);
    pair->connection = -1;
    assert_lost(pair, ECONNRESET, "log");
    assert_int_equal(pair->user.received, 10);
}

static void a_connection_that_is_reset_is_lost(void **state)
{
    struct linger at_once = { .l_onoff = 1 };
    struct pair *pair = *state;

    connect_pair(pair);
    setsockopt(pair->connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(pair->connection);
    pair->connection = -1;
    assert_lost(pair, ECONNRESET, "log");
    assert_non_null(pair->user.error->evidence);
}

static void sending_to_a_server_that_is_gone_ends_it_quietly(void **state)
{
    struct pair *pair = *state;

    connect_pair(pair);
    close(pair->connection);
    pair->connection = -1;
    for (int i = 0; i < 3; i++)
        stream_user_send(&pair->user, "anybody?", 8); /* no SIGPIPE */
    test_run_until(pair->context, &pair->user.lost, 1);
    assert_non_null(pair->user.error->hint);
}

static void where_nobody_listens_the_hint_says_so(void **state)
{
    struct pair *pair = *state;

    fake_peer_stop_listening(&pair->peer);
    open_only(pair);
    assert_lost(pair, KVMIG_EUNREACHABLE, "Check that the server runs");
    assert_non_null(strstr(pair->user.error->evidence, "ECONNREFUSED"));
    assert_int_equal(pair->user.connected, 0);
}

static void a_socket_that_is_not_there_is_named(void **state)
{
    struct pair *pair = *state;

    unlink(pair->peer.remote.path);
    open_only(pair);
    assert_lost(pair, KVMIG_EUNREACHABLE, pair->peer.remote.path);
    assert_non_null(strstr(pair->user.error->hint, "there is no"));
}

static void connect_by_name(struct pair *pair, const char *name, int64_t connect_ms)
{
    kvmig__str_set(&pair->peer.remote.host, name);
    stream_user_open(&pair->user, pair->context, &pair->peer.remote, NULL, connect_ms);
}

static void an_unknown_name_is_told(void **state)
{
    struct pair *pair = *state;

    connect_by_name(pair, "unknown.invalid", TEST_DEADLINE_MS);
    assert_lost(pair, KVMIG_EUNREACHABLE, "unknown.invalid");
}

static void connecting_has_a_deadline(void **state)
{
    struct pair *pair = *state;

    connect_by_name(pair, "hangs.invalid", 20);
    assert_lost(pair, ETIMEDOUT, "firewall");
    test_wait_for(&name_service.waiting, 1);
    test_gate_open(&name_service);
    while (name_service.waiting > 0)
        poll(NULL, 0, 1);
}

static void tls_without_an_authority_is_refused(void **state)
{
    struct pair *pair = *state;

    pair->peer.remote.kind = KVMIG__REMOTE_SSL;
    open_only(pair);
    assert_lost(pair, EINVAL, "ca_file");
    assert_false(peer_has_heard_something(pair->peer.listener));
}

/* ---- closing ---- */

static void assert_silent_after_close(struct pair *pair)
{
    int connected = pair->user.connected, received = pair->user.received, lost = pair->user.lost;

    assert_null(pair->user.stream);
    test_drain(pair->context);
    assert_false(test_readable(pair->context, 20) && kvmig_context_dispatch(pair->context) < 0);
    assert_int_equal(pair->user.connected, connected);
    assert_int_equal(pair->user.received, received);
    assert_int_equal(pair->user.lost, lost);
}

static void a_stream_may_be_closed_before_it_is_connected(void **state)
{
    struct pair *pair = *state;

    open_only(pair);
    stream_user_send(&pair->user, "x", 1);
    stream_user_close(&pair->user);
    assert_silent_after_close(pair);
    assert_int_equal(pair->user.connected, 0);
}

static void a_stream_may_be_closed_inside_connected(void **state)
{
    struct pair *pair = *state;
    char text[10];

    pair->user.close_in = CLOSE_IN_CONNECTED;
    connect_pair(pair);
    assert_int_equal(peer_hear(pair->connection, text, sizeof(text)), 0);
    assert_silent_after_close(pair);
}

static void a_stream_may_be_closed_inside_received(void **state)
{
    struct pair *pair = *state;
    char bytes[40000] = { 0 };

    pair->user.close_in = CLOSE_IN_RECEIVED;
    connect_pair(pair);
    peer_send(pair->connection, bytes, sizeof(bytes));
    test_run_until(pair->context, &pair->user.received, 1);
    assert_true(pair->user.received < (int)sizeof(bytes));
    assert_silent_after_close(pair);
}

static void a_stream_may_be_closed_inside_lost(void **state)
{
    struct pair *pair = *state;

    pair->user.close_in = CLOSE_IN_LOST;
    connect_pair(pair);
    close(pair->connection);
    pair->connection = -1;
    test_run_until(pair->context, &pair->user.lost, 1);
    assert_silent_after_close(pair);
}

static void a_loss_that_was_not_told_yet_is_dropped_by_closing(void **state)
{
    struct pair *pair = *state;
    char *bytes = kvmig__calloc(1, 17 << 20);

    connect_pair(pair);
    stream_user_send(&pair->user, bytes, 17 << 20);
    stream_user_close(&pair->user);
    assert_silent_after_close(pair);
    assert_int_equal(pair->user.lost, 0);
    free(bytes);
}

static void streams_of_one_context_do_not_share_a_connection(void **state)
{
    struct pair *pair = *state;
    struct stream_user other = { 0 };
    int connection;

    connect_pair(pair);
    stream_user_open(&other, pair->context, &pair->peer.remote, NULL, TEST_DEADLINE_MS);
    test_run_until(pair->context, &other.connected, 1);
    connection = fake_peer_accept(&pair->peer);
    peer_say(connection, "other");
    test_run_until(pair->context, &other.received, 5);
    stream_user_end(&other);
    peer_say(pair->connection, "first");
    test_run_until(pair->context, &pair->user.received, 5);
    assert_int_equal(pair->user.lost, 0);
    close(connection);
}

#define UNIX(test) cmocka_unit_test_setup_teardown(test, setup_unix, teardown)
#define TCP(test) cmocka_unit_test_setup_teardown(test, setup_tcp, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIX(bytes_go_both_ways),
        TCP(bytes_go_both_ways),
        UNIX(an_idle_connection_does_not_keep_the_loop_busy),
        TCP(an_idle_connection_does_not_keep_the_loop_busy),
        UNIX(what_was_sent_before_the_connection_comes_first),
        TCP(what_the_server_does_not_take_at_once_is_sent_later),
        UNIX(what_the_server_does_not_take_at_once_is_sent_later),
        UNIX(a_server_that_does_not_read_is_given_up),
        UNIX(a_flood_leaves_the_loop_its_turn),
        UNIX(the_last_bytes_are_read_before_the_end),
        TCP(the_last_bytes_are_read_before_the_end),
        TCP(a_connection_that_is_reset_is_lost),
        TCP(sending_to_a_server_that_is_gone_ends_it_quietly),
        UNIX(sending_to_a_server_that_is_gone_ends_it_quietly),
        TCP(where_nobody_listens_the_hint_says_so),
        UNIX(where_nobody_listens_the_hint_says_so),
        UNIX(a_socket_that_is_not_there_is_named),
        TCP(an_unknown_name_is_told),
        TCP(connecting_has_a_deadline),
        TCP(tls_without_an_authority_is_refused),
        TCP(a_stream_may_be_closed_before_it_is_connected),
        UNIX(a_stream_may_be_closed_inside_connected),
        UNIX(a_stream_may_be_closed_inside_received),
        UNIX(a_stream_may_be_closed_inside_lost),
        UNIX(a_loss_that_was_not_told_yet_is_dropped_by_closing),
        TCP(streams_of_one_context_do_not_share_a_connection),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
