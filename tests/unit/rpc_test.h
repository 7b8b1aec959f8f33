/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A user of one OVSDB connection for tests: keeps what it is told, and can close the connection inside of any
 * function. */
#ifndef KVMIG_TESTS_RPC_TEST_H
#define KVMIG_TESTS_RPC_TEST_H

#include "fake_peer.h"
#include "port/ovsdb_rpc.h"

enum { CLOSE_IN_CONNECTED = 1, CLOSE_IN_NOTIFIED = 2, CLOSE_IN_LOST = 4, CLOSE_IN_REPLY = 8 };

struct rpc_user {
    struct kvmig_context *context;
    struct fake_peer peer;
    int connection; /* the server's end; -1 = none */
    struct kvmig__ovsdb_rpc *rpc;
    int close_in;
    bool ask_again; /* in replies that say lost */
    _Atomic int connected, notified, lost, replies, lost_replies;
    struct kvmig__strlist notes, answers; /* as text */
    struct kvmig_error *error;
};

static inline void hang_up(struct rpc_user *user)
{
    kvmig__ovsdb_rpc_close(user->rpc);
    user->rpc = NULL;
}

static inline void on_connected(void *data)
{
    struct rpc_user *user = data;

    user->connected++;
    if (user->close_in & CLOSE_IN_CONNECTED)
        hang_up(user);
}

static inline void on_notified(void *data, const char *method, struct json_object *params)
{
    struct rpc_user *user = data;
    char *note = kvmig__asprintf("%s %s", method, json_object_to_json_string_ext(params, JSON_C_TO_STRING_PLAIN));

    kvmig__strlist_add(&user->notes, note);
    free(note);
    user->notified++;
    if (user->close_in & CLOSE_IN_NOTIFIED)
        hang_up(user);
}

static inline void on_lost(void *data, struct kvmig_error *error)
{
    struct rpc_user *user = data;

    kvmig__error_free(user->error);
    user->error = error;
    user->lost++;
    if (user->close_in & CLOSE_IN_LOST)
        hang_up(user);
}

static inline void on_reply(void *data, struct json_object *result, struct json_object *server_error, bool lost)
{
    struct rpc_user *user = data;
    const char *text = json_object_to_json_string_ext(server_error ? server_error : result, JSON_C_TO_STRING_PLAIN);
    char *answer = kvmig__asprintf("%s%s", server_error ? "error " : "", text);

    if (lost) {
        assert_null(result);
        assert_null(server_error);
        assert_int_equal(user->lost, 0); /* lost() comes after all of them */
        user->lost_replies++;
    }
    kvmig__strlist_add(&user->answers, answer);
    free(answer);
    user->replies++;
    if (user->close_in & CLOSE_IN_REPLY)
        hang_up(user);
}

static const struct kvmig__ovsdb_rpc_ops ops = { on_connected, on_notified, on_lost };

static inline int setup(void **state)
{
    struct rpc_user *user = kvmig__calloc(1, sizeof(*user));

    user->context = test_context_new(0);
    user->peer = fake_peer_unix();
    user->connection = -1;
    *state = user;
    return 0;
}

static inline int teardown(void **state)
{
    struct rpc_user *user = *state;

    kvmig__context_lock(user->context);
    hang_up(user);
    kvmig__context_unlock(user->context);
    kvmig_context_unref(user->context);
    if (user->connection >= 0)
        close(user->connection);
    fake_peer_end(&user->peer);
    kvmig__strlist_clear(&user->notes);
    kvmig__strlist_clear(&user->answers);
    kvmig__error_free(user->error);
    free(user);
    return 0;
}

static inline void open_rpc(struct rpc_user *user, int64_t probe_ms)
{
    kvmig__context_lock(user->context);
    user->rpc = kvmig__ovsdb_rpc_open(user->context, &user->peer.remote, NULL, TEST_DEADLINE_MS, probe_ms, &ops, user);
    assert_int_equal(user->connected + user->lost, 0); /* never inside open */
    kvmig__context_unlock(user->context);
}

static inline void connect_rpc(struct rpc_user *user, int64_t probe_ms)
{
    open_rpc(user, probe_ms);
    test_run_until(user->context, &user->connected, 1);
    user->connection = fake_peer_accept(&user->peer);
}

static inline uint64_t ask(struct rpc_user *user, const char *method, const char *params)
{
    int replies = user->replies;
    uint64_t id;

    kvmig__context_lock(user->context);
    id = kvmig__ovsdb_rpc_request(user->rpc, method, json_tokener_parse(params), on_reply, user);
    assert_int_equal(user->replies, replies); /* never inside request */
    kvmig__context_unlock(user->context);
    assert_true(id != 0);
    return id;
}

static inline void forget(struct rpc_user *user, uint64_t id)
{
    kvmig__context_lock(user->context);
    kvmig__ovsdb_rpc_forget(user->rpc, id);
    kvmig__context_unlock(user->context);
}

static inline void hang_up_server(struct rpc_user *user)
{
    close(user->connection);
    user->connection = -1;
}

/* Says it, with the id in place of %d. */
static inline void say_id(struct rpc_user *user, const char *before, uint64_t id, const char *after)
{
    char *text = kvmig__asprintf("%s%llu%s", before, (unsigned long long)id, after);

    peer_say(user->connection, text);
    free(text);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
