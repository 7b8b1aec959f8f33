/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the OVSDB client share: a client of the scripted server, and users who write down what they hear.
 */
#ifndef KVMIG_TESTS_OVSDB_TEST_H
#define KVMIG_TESTS_OVSDB_TEST_H

#include "fake_ovsdb_rpc.h"

#include <stdlib.h>
#include <string.h>

#define UUID_A "aaaaaaaa-0000-4000-8000-00000000000a"
#define UUID_B "bbbbbbbb-0000-4000-8000-00000000000b"
#define UUID_C "cccccccc-0000-4000-8000-00000000000c"
#define TXN_1 "00000001-0000-4000-8000-000000000001"
#define TXN_2 "00000002-0000-4000-8000-000000000002"
#define CLUSTER "99999999-0000-4000-8000-000000000009"
#define NO_TXN KVMIG__OVSDB_NO_TXN

/* What comes of a transaction, kept. */
struct test_call {
    struct kvmig__ovsdb_call *call;
    _Atomic int n_done;
    enum kvmig__ovsdb_outcome outcome;
    bool is_guard;
    int32_t code;
    char *message, *evidence;
    char *results; /* JSON text */
    void (*then)(void *data); /* also done in done() */
    void *then_data;
};

static inline void test_call_done(void *data, const struct kvmig__ovsdb_result *result)
{
    struct test_call *call = data;

    call->n_done++;
    call->outcome = result->outcome;
    call->is_guard = result->is_guard;
    call->code = kvmig_error_code(result->error);
    kvmig__str_set(&call->message, kvmig_error_message(result->error));
    kvmig__str_set(&call->evidence, kvmig_error_evidence(result->error));
    if (result->results)
        kvmig__str_set(&call->results, json_object_to_json_string_ext(result->results, JSON_C_TO_STRING_PLAIN));
    if (call->then)
        call->then(call->then_data);
}

static inline void test_call_clear(struct test_call *call)
{
    free(call->message);
    free(call->evidence);
    free(call->results);
}

struct test_ovsdb {
    struct kvmig_context *context;
    struct kvmig__ovsdb *db;
    struct kvmig__ovsdb_monitor *monitor;
    int n_changed;
    void (*then)(void *data); /* also done in changed() */
    void *then_data;
};

static inline void test_changed(void *data)
{
    struct test_ovsdb *test = data;

    test->n_changed++;
    if (test->then)
        test->then(test->then_data);
}

static inline struct kvmig__ovsdb *test_get(struct test_ovsdb *test, const char *remotes, bool leader_only)
{
    const struct kvmig__ovsdb_spec spec = { .remotes = remotes, .database = "Net", .leader_only = leader_only };
    struct kvmig__ovsdb *db;

    kvmig__context_lock(test->context);
    assert_null(kvmig__ovsdb_get(test->context, &spec, "test", &db));
    kvmig__context_unlock(test->context);
    return db;
}

/* The first connection is under way after this. */
static inline void test_open_at(struct test_ovsdb *test, const char *remotes, bool leader_only)
{
    *test = (struct test_ovsdb){ .context = test_context_new(0) };
    fake_ovsdb_init(test->context);
    test->db = test_get(test, remotes, leader_only);
    test_drain(test->context);
    assert_non_null(fake.rpc);
}

static inline void test_open(struct test_ovsdb *test)
{
    test_open_at(test, "tcp:10.0.0.1:6641", false);
}

static inline void test_close(struct test_ovsdb *test)
{
    kvmig__context_lock(test->context);
    kvmig__ovsdb_monitor_free(test->monitor);
    kvmig__ovsdb_put(test->db);
    kvmig__context_unlock(test->context);
    test_drain(test->context);
    fake_ovsdb_clear();
    kvmig_context_unref(test->context);
}

/* The back-off is over. */
static inline void test_retry(struct test_ovsdb *test)
{
    kvmig__context_lock(test->context);
    assert_true(test->db->retry.due_ms != INT64_MAX);
    kvmig__timer_arm_in(&test->db->retry, 0);
    kvmig__context_unlock(test->context);
    test_drain(test->context);
}

/* As if everything had been in order for long. */
static inline void test_was_well(struct test_ovsdb *test)
{
    assert_true(test->db->synced_ms != 0);
    test->db->synced_ms -= KVMIG__OVSDB_STEADY_MS;
}

static inline void test_monitor(struct test_ovsdb *test, const struct kvmig__ovsdb_table *tables, size_t n)
{
    int before = test->n_changed;

    kvmig__context_lock(test->context);
    test->monitor = kvmig__ovsdb_monitor_new(test->db, tables, n, test_changed, test);
    assert_int_equal(test->n_changed, before);
    kvmig__context_unlock(test->context);
    test_drain(test->context);
}

static inline void test_set_where(struct test_ovsdb *test, const char *where)
{
    int before = test->n_changed;

    kvmig__context_lock(test->context);
    kvmig__ovsdb_monitor_set_where(test->monitor, 0, where ? fake_json(where) : NULL);
    assert_int_equal(test->n_changed, before);
    kvmig__context_unlock(test->context);
    test_drain(test->context);
}

static inline void test_transact(struct test_ovsdb *test, struct test_call *call, const char *operations,
                                 int64_t timeout_ms)
{
    int before = call->n_done;

    kvmig__context_lock(test->context);
    call->call = kvmig__ovsdb_transact(test->db, fake_json(operations), timeout_ms, test_call_done, call);
    assert_int_equal(call->n_done, before);
    kvmig__context_unlock(test->context);
    test_drain(test->context);
}

static inline const char *test_trouble(const struct test_ovsdb *test)
{
    return kvmig_error_message(kvmig__ovsdb_trouble(test->db));
}

static inline const struct kvmig__ovsdb_row *test_row(const struct test_ovsdb *test, const char *uuid)
{
    return kvmig__ovsdb_row_by_uuid(test->monitor, 0, uuid);
}

/* ---- monitors ---- */

/* A monitor of the port "a"; asked for, not answered. */
static inline void test_open_monitor(struct test_ovsdb *test)
{
    static const char *const columns[] = { "name", "options", "cfg", "colour", NULL };
    const struct kvmig__ovsdb_table table = { .name = "Port",
                                              .columns = columns,
                                              .where = fake_json("[['name','==','a']]") };

    test_open(test);
    fake_serve();
    test_monitor(test, &table, 1);
}

/* The same with its first row. */
static inline void test_open_current(struct test_ovsdb *test)
{
    test_open_monitor(test);
    fake_reply("monitor_cond_since",
               "[false,'" TXN_1 "',{'Port':{'" UUID_A "':{'initial':{'name':'a','options':['map',[['k','v']]]}}}}]");
    assert_true(kvmig__ovsdb_monitor_is_current(test->monitor));
}

static inline void test_reconnect(struct test_ovsdb *test)
{
    fake_lose("gone");
    assert_false(kvmig__ovsdb_monitor_is_current(test->monitor));
    test_retry(test);
    fake_serve();
}

#endif
