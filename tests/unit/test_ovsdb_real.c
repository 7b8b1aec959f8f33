/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The OVSDB client against real servers: rows, transactions, restarts, changes of the schema, and a cluster of three
 * that loses its leader. Skipped where Open vSwitch is not installed.
 */
#include "context_test.h"
#include "ovsdb_server.h"
#include "port/ovsdb_private.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED 77

static const char *const columns[] = { "name", "up", "options", "tags", "chassis", "cfg", "colour", NULL };

struct user {
    struct kvmig_context *context;
    struct kvmig__ovsdb *db;
    struct kvmig__ovsdb_monitor *monitor;
    int n_changed;
    int n_done;
    enum kvmig__ovsdb_outcome outcome;
    bool is_guard;
    char *evidence;
};

static void changed(void *data)
{
    ((struct user *)data)->n_changed++;
}

static void done(void *data, const struct kvmig__ovsdb_result *result)
{
    struct user *user = data;

    user->n_done++;
    user->outcome = result->outcome;
    user->is_guard = result->is_guard;
    kvmig__str_set(&user->evidence, kvmig_error_evidence(result->error));
}

static struct json_object *json_of(const char *text)
{
    char *copy = kvmig__strdup(text);
    struct json_object *json;

    for (char *c = copy; *c; c++) {
        if (*c == '\'')
            *c = '"';
    }
    json = json_tokener_parse(copy);
    assert_non_null(json);
    free(copy);
    return json;
}

/* The user of ports that match where (NULL = all). */
static void open_user(struct user *user, const char *remotes, bool leader_only, const char *where)
{
    const struct kvmig__ovsdb_spec spec = { .remotes = remotes, .database = "Net", .leader_only = leader_only };
    const struct kvmig__ovsdb_table table = { .name = "Port",
                                              .columns = columns,
                                              .where = where ? json_of(where) : NULL };

    *user = (struct user){ .context = test_context_new(0) };
    kvmig__context_lock(user->context);
    assert_null(kvmig__ovsdb_get(user->context, &spec, "test", &user->db));
    user->monitor = kvmig__ovsdb_monitor_new(user->db, &table, 1, changed, user);
    kvmig__context_unlock(user->context);
}

static void close_user(struct user *user)
{
    kvmig__context_lock(user->context);
    kvmig__ovsdb_monitor_free(user->monitor);
    kvmig__ovsdb_put(user->db);
    kvmig__context_unlock(user->context);
    kvmig_context_unref(user->context);
    free(user->evidence);
}

/* ---- waiting ---- */

struct wish {
    struct user *user;
    bool (*holds)(const struct user *user, const void *data);
    const void *data;
};

static int32_t wish_holds(void *data)
{
    struct wish *wish = data;
    bool holds;

    kvmig__context_lock(wish->user->context);
    holds = wish->holds(wish->user, wish->data);
    kvmig__context_unlock(wish->user->context);
    return holds;
}

static void await(struct user *user, bool (*holds)(const struct user *user, const void *data), const void *data)
{
    struct wish wish = { user, holds, data };

    if (kvmig_context_run(user->context, wish_holds, &wish, TEST_DEADLINE_MS) != 0)
        fail_msg("not in time; trouble: %s %s", kvmig_error_message(kvmig__ovsdb_trouble(user->db)),
                 kvmig_error_evidence(kvmig__ovsdb_trouble(user->db)));
}

static bool is_current(const struct user *user, const void *data)
{
    (void)data;
    return kvmig__ovsdb_monitor_is_current(user->monitor);
}

static bool is_not_current(const struct user *user, const void *data)
{
    return !is_current(user, data);
}

static bool has_answer(const struct user *user, const void *n)
{
    return user->n_done >= *(const int *)n;
}

static const struct kvmig__ovsdb_row *port(const struct user *user, const char *name)
{
    for (size_t i = 0; i < kvmig__ovsdb_row_count(user->monitor, 0); i++) {
        const struct kvmig__ovsdb_row *row = kvmig__ovsdb_row(user->monitor, 0, i);

        if (strcmp(kvmig__ovsdb_str(row, "name"), name) == 0)
            return row;
    }
    return NULL;
}

static bool has_port(const struct user *user, const void *name)
{
    return is_current(user, NULL) && port(user, name);
}

static bool is_other_than(const struct user *user, const void *remote)
{
    return is_current(user, NULL) && strcmp(user->db->remote->text, remote) != 0;
}

static void send(struct user *user, const char *operations, int64_t timeout_ms)
{
    kvmig__context_lock(user->context);
    kvmig__ovsdb_transact(user->db, json_of(operations), timeout_ms, done, user);
    kvmig__context_unlock(user->context);
}

static enum kvmig__ovsdb_outcome transact(struct user *user, const char *operations)
{
    int n = user->n_done + 1;

    send(user, operations, TEST_DEADLINE_MS);
    await(user, has_answer, &n);
    assert_int_equal(user->n_done, n);
    return user->outcome;
}

static void add_port(struct user *user, const char *name)
{
    char *operations = kvmig__asprintf("[{'op':'insert','table':'Port','row':{'name':'%s'}}]", name);

    assert_int_equal(transact(user, operations), KVMIG__OVSDB_DONE);
    free(operations);
}

/* A new monitor in place of the old one. */
static void ask_again(struct user *user, const char *where)
{
    const struct kvmig__ovsdb_table table = { .name = "Port", .columns = columns, .where = json_of(where) };

    kvmig__context_lock(user->context);
    kvmig__ovsdb_monitor_free(user->monitor);
    user->monitor = kvmig__ovsdb_monitor_new(user->db, &table, 1, changed, user);
    kvmig__context_unlock(user->context);
    await(user, is_current, NULL);
}

/* ---- one server ---- */

static void rows_follow_the_database(void **state)
{
    const struct kvmig__ovsdb_value *value;
    const struct kvmig__ovsdb_row *row;
    struct real_server server;
    struct user user;
    int64_t cfg;

    real_server_alone(&server, *state);
    open_user(&user, server.remote, true, "[['name','==','a'],['tags','includes',7]]");
    await(&user, is_current, NULL);
    assert_int_equal(kvmig__ovsdb_row_count(user.monitor, 0), 0);
    assert_string_equal(kvmig__ovsdb_schema_version(user.db), "1.0.0");
    assert_false(kvmig__ovsdb_has_column(user.db, "Port", "colour"));

    assert_int_equal(
        transact(&user,
                 "[{'op':'insert','table':'Chassis','row':{'name':'hv1'},'uuid-name':'c1'},"
                 "{'op':'insert','table':'Chassis','row':{'name':'hv2'},'uuid-name':'c2'},"
                 "{'op':'insert','table':'Port','row':{'name':'a','up':true,'tags':['set',[3,1]],'chassis':['set',"
                 "[['named-uuid','c1'],['named-uuid','c2']]],'options':['map',[['k','v'],['l','w']]]}},"
                 "{'op':'insert','table':'Port','row':{'name':'b'}},"
                 "{'op':'insert','table':'Port','row':{'name':'c','tags':['set',[7,8]]}}]"),
        KVMIG__OVSDB_DONE);
    assert_int_equal(kvmig__ovsdb_row_count(user.monitor, 0), 2); /* visible with the answer, and no others */
    row = port(&user, "a");
    assert_true(kvmig__ovsdb_bool(row, "up"));
    assert_true(kvmig__ovsdb_int(row, "cfg", &cfg));
    assert_int_equal(cfg, 0);
    assert_int_equal(kvmig__ovsdb_column(row, "chassis")->keys.n, 2);
    assert_true(kvmig__is_uuid(kvmig__ovsdb_str(row, "chassis")));
    assert_string_equal(kvmig__ovsdb_key(row, "options", "k"), "v");

    /* Every kind of difference. */
    assert_int_equal(transact(&user,
                              "[{'op':'mutate','table':'Port','where':[['name','==','a']],'mutations':["
                              "['options','delete',['set',['k','l']]],['options','insert',['map',[['l','x'],"
                              "['m','y']]]],['tags','delete',3],['tags','insert',['set',[4,5]]],['cfg','+=',1]]},"
                              "{'op':'update','table':'Port','where':[['name','==','a']],'row':{'up':['set',[]]}}]"),
                     KVMIG__OVSDB_DONE);
    row = port(&user, "a");
    assert_null(kvmig__ovsdb_key(row, "options", "k"));
    assert_string_equal(kvmig__ovsdb_key(row, "options", "l"), "x");
    assert_string_equal(kvmig__ovsdb_key(row, "options", "m"), "y");
    assert_null(kvmig__ovsdb_column(row, "up"));
    assert_true(kvmig__ovsdb_int(row, "cfg", &cfg));
    assert_int_equal(cfg, 1);
    value = kvmig__ovsdb_column(row, "tags");
    assert_int_equal(value->keys.n, 3);
    assert_string_equal(value->keys.v[0], "1");
    assert_string_equal(value->keys.v[2], "5");

    assert_int_equal(transact(&user, "[{'op':'delete','table':'Port','where':[['name','==','a']]}]"),
                     KVMIG__OVSDB_DONE);
    assert_null(port(&user, "a"));
    close_user(&user);
    real_server_clear(&server);
}

static void changes_of_others_are_seen(void **state)
{
    struct real_server server;
    struct user user;

    real_server_alone(&server, *state);
    open_user(&user, server.remote, false, NULL);
    await(&user, is_current, NULL);
    assert_int_equal(REAL_RUN("ovsdb-client", "transact", server.remote,
                              "[\"Net\",{\"op\":\"insert\",\"table\":\"Port\",\"row\":{\"name\":\"x\"}}]"),
                     0);
    await(&user, has_port, "x");
    close_user(&user);
    real_server_clear(&server);
}

static void a_guard_that_does_not_hold_changes_nothing(void **state)
{
    static const char guarded[] =
        "[{'op':'wait','table':'Port','timeout':0,'until':'==','columns':['name'],'rows':[{'name':'a'}],"
        "'where':[['name','==','a'],['options','includes',['map',[['owner','me']]]]]},"
        "{'op':'update','table':'Port','where':[['name','==','a']],'row':{'cfg':9}}]";
    struct real_server server;
    struct user user;

    real_server_alone(&server, *state);
    open_user(&user, server.remote, true, NULL);
    add_port(&user, "a");
    assert_int_equal(transact(&user, guarded), KVMIG__OVSDB_REFUSED);
    assert_true(user.is_guard);
    assert_string_equal(kvmig__ovsdb_str(port(&user, "a"), "cfg"), "0");
    assert_int_equal(transact(&user, "[{'op':'mutate','table':'Port','where':[],'mutations':[['options','insert',"
                                     "['map',[['owner','me']]]]]}]"),
                     KVMIG__OVSDB_DONE);
    assert_int_equal(transact(&user, guarded), KVMIG__OVSDB_DONE);
    assert_string_equal(kvmig__ovsdb_str(port(&user, "a"), "cfg"), "9");

    assert_int_equal(transact(&user, "[{'op':'insert','table':'Port','row':{'name':'a'}}]"), KVMIG__OVSDB_REFUSED);
    assert_false(user.is_guard);
    assert_non_null(strstr(user.evidence, "commit: constraint violation"));
    assert_int_equal(transact(&user, "[{'op':'insert','table':'Port','row':{'colour':'red'}}]"), KVMIG__OVSDB_REFUSED);
    assert_non_null(strstr(user.evidence, "operation 0 (insert Port): unknown column"));
    assert_int_equal(transact(&user, "[{'op':'dance'}]"), KVMIG__OVSDB_REFUSED);
    close_user(&user);
    real_server_clear(&server);
}

static void other_rows_can_be_asked_for(void **state)
{
    struct real_server server;
    struct user user;

    real_server_alone(&server, *state);
    open_user(&user, server.remote, true, "[['name','==','a']]");
    add_port(&user, "a");
    add_port(&user, "b");
    await(&user, has_port, "a");
    kvmig__context_lock(user.context);
    kvmig__ovsdb_monitor_set_where(user.monitor, 0, json_of("[['name','==','b'],['colour','==','red']]"));
    assert_false(kvmig__ovsdb_monitor_is_current(user.monitor));
    kvmig__context_unlock(user.context);
    await(&user, has_port, "b");
    assert_null(port(&user, "a"));
    kvmig__context_lock(user.context);
    kvmig__ovsdb_monitor_set_where(user.monitor, 0, NULL);
    kvmig__context_unlock(user.context);
    await(&user, is_current, NULL);
    assert_int_equal(kvmig__ovsdb_row_count(user.monitor, 0), 2);
    kvmig__context_lock(user.context);
    kvmig__ovsdb_monitor_set_where(user.monitor, 0, json_object_new_array());
    kvmig__context_unlock(user.context);
    await(&user, is_current, NULL);
    assert_int_equal(kvmig__ovsdb_row_count(user.monitor, 0), 0);
    close_user(&user);
    real_server_clear(&server);
}

/* As servers that know nothing better are asked. */
static void older_ways_to_ask_give_the_same_rows(void **state)
{
    static const enum kvmig__ovsdb_method methods[] = { KVMIG__MONITOR_COND, KVMIG__MONITOR_PLAIN };
    struct real_server server;

    real_server_alone(&server, *state);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(methods); i++) {
        struct user user;

        open_user(&user, server.remote, true, "[['name','==','a'],['cfg','>',4]]");
        await(&user, is_current, NULL);
        assert_int_equal(transact(&user, "[{'op':'delete','table':'Port','where':[]}]"), KVMIG__OVSDB_DONE);
        kvmig__context_lock(user.context);
        user.db->method = methods[i];
        kvmig__context_unlock(user.context);
        ask_again(&user, "[['name','==','a'],['cfg','>',4]]");
        assert_int_equal(user.monitor->method, methods[i]);
        add_port(&user, "a");
        add_port(&user, "b");
        assert_int_equal(kvmig__ovsdb_row_count(user.monitor, 0), 1);
        assert_int_equal(transact(&user, "[{'op':'update','table':'Port','where':[['name','==','b']],'row':{'cfg':5,"
                                         "'tags':['set',[1,2]]}}]"),
                         KVMIG__OVSDB_DONE);
        assert_int_equal(kvmig__ovsdb_row_count(user.monitor, 0), 2);
        assert_int_equal(kvmig__ovsdb_column(port(&user, "b"), "tags")->keys.n, 2);
        assert_int_equal(
            transact(&user, "[{'op':'update','table':'Port','where':[['name','==','b']],'row':{'cfg':4}}]"),
            KVMIG__OVSDB_DONE);
        assert_null(port(&user, "b"));
        kvmig__context_lock(user.context);
        kvmig__ovsdb_monitor_set_where(user.monitor, 0, json_of("[['name','==','b']]"));
        kvmig__context_unlock(user.context);
        await(&user, has_port, "b");
        assert_int_equal(kvmig__ovsdb_row_count(user.monitor, 0), 1);
        close_user(&user);
    }
    real_server_clear(&server);
}

static void a_server_that_restarts_is_found_again(void **state)
{
    struct real_server server;
    struct user user;
    int n;

    real_server_alone(&server, *state);
    open_user(&user, server.remote, true, NULL);
    add_port(&user, "a");
    real_server_kill(&server);
    await(&user, is_not_current, NULL);
    assert_non_null(port(&user, "a")); /* the last that was seen */
    n = user.n_done + 1;
    send(&user, "[{'op':'insert','table':'Port','row':{'name':'b'}}]", 50);
    await(&user, has_answer, &n);
    assert_int_equal(user.outcome, KVMIG__OVSDB_UNSENT);
    real_server_start(&server);
    await(&user, is_current, NULL);
    assert_non_null(port(&user, "a"));
    assert_null(port(&user, "b"));
    add_port(&user, "c");
    close_user(&user);
    real_server_clear(&server);
}

static void a_server_that_dies_with_a_transaction_leaves_the_outcome_open(void **state)
{
    struct real_server server;
    struct user user;
    int n;

    real_server_alone(&server, *state);
    open_user(&user, server.remote, true, NULL);
    await(&user, is_current, NULL);
    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    n = user.n_done + 1;
    send(&user, "[{'op':'insert','table':'Port','row':{'name':'b'}}]", TEST_DEADLINE_MS);
    test_drain(user.context);
    real_server_kill(&server);
    await(&user, has_answer, &n);
    assert_int_equal(user.outcome, KVMIG__OVSDB_UNKNOWN);
    assert_false(kvmig__ovsdb_monitor_is_current(user.monitor));
    real_server_start(&server);
    await(&user, is_current, NULL);
    assert_null(port(&user, "b")); /* read again: it was not done */
    close_user(&user);
    real_server_clear(&server);
}

static void a_changed_schema_is_read_anew(void **state)
{
    struct real_server server;
    struct user user;
    char *path = kvmig__asprintf("%s/new.ovsschema", (const char *)*state);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(
        "{\"name\":\"Net\",\"version\":\"2.0.0\",\"tables\":{\"Port\":{\"isRoot\":true,\"columns\":{\"name\":{\"type\":"
        "\"string\"},\"colour\":{\"type\":\"string\"}}}}}",
        file);
    fclose(file);
    real_server_alone(&server, *state);
    open_user(&user, server.remote, true, NULL);
    add_port(&user, "a");
    assert_int_equal(REAL_RUN("ovsdb-client", "convert", server.remote, path), 0);
    await(&user, is_not_current, NULL);
    await(&user, is_current, NULL);
    assert_string_equal(kvmig__ovsdb_schema_version(user.db), "2.0.0");
    assert_true(kvmig__ovsdb_has_column(user.db, "Port", "colour"));
    assert_string_equal(kvmig__ovsdb_str(port(&user, "a"), "colour"), "");
    assert_null(kvmig__ovsdb_column(port(&user, "a"), "cfg"));
    close_user(&user);
    real_server_clear(&server);
    free(path);
}

/* ---- a cluster ---- */

struct cluster {
    struct real_server servers[3];
    char *remotes;
};

static void open_cluster(struct cluster *cluster, char *folder)
{
    real_servers_cluster(cluster->servers, 3, folder);
    cluster->remotes =
        kvmig__asprintf("%s,%s,%s", cluster->servers[0].remote, cluster->servers[1].remote, cluster->servers[2].remote);
}

static void close_cluster(struct cluster *cluster)
{
    for (size_t i = 0; i < 3; i++)
        real_server_clear(&cluster->servers[i]);
    free(cluster->remotes);
}

static struct real_server *server_at(struct cluster *cluster, const char *remote)
{
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(cluster->servers[i].remote, remote) == 0)
            return &cluster->servers[i];
    }
    fail_msg("no server at %s", remote);
    return NULL;
}

static void the_next_leader_is_found_when_one_dies(void **state)
{
    struct cluster cluster;
    struct real_server *leader;
    struct user user;
    int64_t index;
    char *cluster_id;

    open_cluster(&cluster, *state);
    open_user(&user, cluster.remotes, true, NULL);
    add_port(&user, "a");
    leader = server_at(&cluster, user.db->remote->text);
    index = user.db->min_index;
    cluster_id = kvmig__strdup(user.db->cluster_id);
    assert_true(index > 0);
    assert_true(kvmig__is_uuid(cluster_id));
    real_server_kill(leader);
    await(&user, is_other_than, leader->remote);
    assert_non_null(port(&user, "a"));
    add_port(&user, "b");
    assert_non_null(port(&user, "b"));
    assert_true(user.db->min_index >= index);
    assert_string_equal(user.db->cluster_id, cluster_id);
    free(cluster_id);
    close_user(&user);
    close_cluster(&cluster);
}

/* A leader that is asleep while the others choose a new one is a follower when it wakes, on the same connection. */
static void a_leader_that_becomes_a_follower_is_left(void **state)
{
    struct cluster cluster;
    struct real_server *leader;
    struct user user, next;
    struct kvmig__strlist others = { 0 };
    char *remotes;

    open_cluster(&cluster, *state);
    open_user(&user, cluster.remotes, true, NULL);
    add_port(&user, "a");
    leader = server_at(&cluster, user.db->remote->text);
    for (size_t i = 0; i < 3; i++) {
        if (&cluster.servers[i] != leader)
            kvmig__strlist_add(&others, cluster.servers[i].remote);
    }
    remotes = kvmig__strlist_join(&others, ",");
    assert_int_equal(kill(leader->pid, SIGSTOP), 0);
    open_user(&next, remotes, true, NULL);
    add_port(&next, "b");
    assert_int_equal(kill(leader->pid, SIGCONT), 0);
    await(&user, is_other_than, leader->remote);
    assert_non_null(port(&user, "b"));
    close_user(&next);
    close_user(&user);
    close_cluster(&cluster);
    kvmig__strlist_clear(&others);
    free(remotes);
}

static void without_most_servers_nothing_serves_until_they_are_back(void **state)
{
    struct cluster cluster;
    struct user user;
    int n = 0;

    open_cluster(&cluster, *state);
    open_user(&user, cluster.remotes, true, NULL);
    add_port(&user, "a");
    real_server_kill(&cluster.servers[1]);
    real_server_kill(&cluster.servers[2]);
    await(&user, is_not_current, NULL);
    n = user.n_done + 1;
    send(&user, "[{'op':'insert','table':'Port','row':{'name':'b'}}]", TEST_DEADLINE_MS);
    real_server_start(&cluster.servers[1]);
    await(&user, has_answer, &n);
    assert_int_equal(user.outcome, KVMIG__OVSDB_DONE);
    await(&user, has_port, "b");
    close_user(&user);
    close_cluster(&cluster);
}

static int make_folder(void **state)
{
    *state = real_folder_new();
    return 0;
}

static int remove_folder(void **state)
{
    real_folder_free(*state);
    return 0;
}

#define REAL_TEST(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REAL_TEST(rows_follow_the_database),
        REAL_TEST(changes_of_others_are_seen),
        REAL_TEST(a_guard_that_does_not_hold_changes_nothing),
        REAL_TEST(other_rows_can_be_asked_for),
        REAL_TEST(older_ways_to_ask_give_the_same_rows),
        REAL_TEST(a_server_that_restarts_is_found_again),
        REAL_TEST(a_server_that_dies_with_a_transaction_leaves_the_outcome_open),
        REAL_TEST(a_changed_schema_is_read_anew),
        REAL_TEST(the_next_leader_is_found_when_one_dies),
        REAL_TEST(a_leader_that_becomes_a_follower_is_left),
        REAL_TEST(without_most_servers_nothing_serves_until_they_are_back),
    };

    if (!getenv("KVMIG_REAL") || !real_servers_exist()) {
        fputs("run by make check-real, where ovsdb-server is installed\n", stderr);
        return SKIPPED;
    }
    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
