/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The OVN port from its public calls down to the transactions, on an OVN in memory: what is written when, what others write
 * meanwhile, and what the port tells of itself.
 */
#include "ovn_port_test.h"

#include <stdio.h>

/* ---- the way of a migration ---- */

static void port_follows_the_guest_to_the_target(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    to_prepared(&f);
    assert_nb(&f, "hv1,hv2", "rarp", "me");
    plug_target(&f);
    assert_int_equal(kvmig_port_verify(f.port), 0);
    port_run_until(f.context, &f.caller, "verified");
    kvmig__context_lock(f.context);
    ovn_announce(&f.world);
    kvmig__context_unlock(f.context);
    port_run_until(f.context, &f.caller, "activated");
    assert_int_equal(kvmig_port_converge(f.port, "hv2"), 0);
    port_run_until(f.context, &f.caller, "converged");
    assert_nb(&f, "hv2", "-", "-");
    assert_string_equal(f.caller.log, "preparing prepared verifying verified activated converging converged");
    close_fixture(&f);
}

static void rollback_leaves_the_port_on_the_source(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    to_prepared(&f);
    plug_target(&f);
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    port_run_until(f.context, &f.caller, "rolled-back");
    assert_nb(&f, "hv1", "-", "-");
    close_fixture(&f);
}

static void repeated_preparation_writes_nothing(void **state)
{
    struct fixture f;
    size_t n;

    (void)state;
    open_fixture(&f);
    to_prepared(&f);
    n = n_transactions(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "preparing prepared prepared");
    assert_int_equal(n_transactions(&f), n);
    close_fixture(&f);
}

/* Another process, which knows nothing but the owner: another handle, made when the first is gone. */
static void another_handle_of_the_owner_goes_on(void **state)
{
    struct fixture f;
    size_t n;

    (void)state;
    prepare_fixture(&f);
    f.opts.strategy = KVMIG_PORT_STRATEGY_NONE;
    open_port(&f);
    to_prepared(&f);
    kvmig_port_unref(f.port);
    port_settle(f.context);
    f.caller.n_frees = 0;
    plug_target(&f);
    n = n_transactions(&f);
    f.opts.strategy = KVMIG_PORT_STRATEGY_AUTO;
    open_port(&f);
    assert_int_equal(kvmig_port_verify(f.port), 0);
    port_run_until(f.context, &f.caller, "verifying verified");
    assert_int_equal(n_writes(&f, "kvmig prepare"), 1); /* by the first */
    assert_true(n_transactions(&f) > n); /* the barrier */
    assert_nb(&f, "hv1,hv2", "-", "me");
    assert_int_equal(kvmig_port_converge(f.port, "hv2"), 0);
    port_run_until(f.context, &f.caller, "converged");
    assert_nb(&f, "hv2", "-", "-");
    close_fixture(&f);
}

static void what_was_not_prepared_by_this_owner_is_not_verified(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_verify(f.port), 0);
    port_run_until(f.context, &f.caller, "failed(KVMIG_EPHASE)");
    assert_int_equal(n_transactions(&f), 0);
    close_fixture(&f);
}

static void wishes_may_name_hosts_as_the_caller_does(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "node1", "b"), 0); /* a host name, and a name of the caller's own */
    port_run_until(f.context, &f.caller, "prepared");
    plug_target(&f);
    assert_int_equal(kvmig_port_converge(f.port, "b"), 0);
    port_run_until(f.context, &f.caller, "converged");
    kvmig__context_lock(f.context);
    assert_true(strcmp(ovn_option(&f.world, "requested-chassis"), "hv2") == 0 ||
                strcmp(ovn_option(&f.world, "requested-chassis"), "node2") == 0); /* what OVN knows */
    kvmig__context_unlock(f.context);
    close_fixture(&f);
}

static void chassis_that_nobody_knows_is_refused(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "ghost"), 0);
    port_run_until(f.context, &f.caller, "failed(KVMIG_ENOHOST)");
    assert_nb(&f, "-", "-", "-");
    assert_int_equal(n_transactions(&f), 0);
    close_fixture(&f);
}

static void port_without_southbound_database_is_settled_at_commit(void **state)
{
    struct fixture f;

    (void)state;
    prepare_fixture(&f);
    f.opts.sb = NULL;
    f.opts.ovs = NULL;
    f.opts.n_ovs = 0;
    f.opts.strategy = KVMIG_PORT_STRATEGY_RARP;
    open_port(&f);
    to_prepared(&f);
    assert_int_equal(kvmig_port_verify(f.port), 0);
    port_run_until(f.context, &f.caller, "failed(ENOTSUP)");
    assert_int_equal(kvmig_port_converge(f.port, "hv2"), 0);
    port_run_until(f.context, &f.caller, "converged");
    assert_nb(&f, "hv2", "-", "-");
    close_fixture(&f);
}

/* ---- others write as well ---- */

static void key_that_another_writer_adds_meanwhile_survives(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.world.nb->hold = true;
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "preparing");
    port_settle(f.context);
    edit(&f, f.world.nb, "Logical_Switch_Port", OVN_LSP,
         "{\"options\":[\"map\",[[\"mcast_flood\",\"true\"],[\"vif-plug-type\",\"x\"]]]}");
    kvmig__context_lock(f.context);
    fake_ovsdb_release(f.world.nb); /* the guard of what is under way does not hold any more */
    kvmig__context_unlock(f.context);
    port_run_until(f.context, &f.caller, "prepared");
    assert_nb(&f, "hv1,hv2", "rarp", "me");
    kvmig__context_lock(f.context);
    assert_string_equal(ovn_option(&f.world, "vif-plug-type"), "x");
    kvmig__context_unlock(f.context);
    close_fixture(&f);
}

static void port_of_another_migration_is_left_alone(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    to_prepared(&f);
    edit(&f, f.world.nb, "Logical_Switch_Port", OVN_LSP,
         "{\"external_ids\":[\"map\",[[\"pod\",\"ns/vm\"],[\"kvmig-owner\",\"they\"],[\"kvmig-previous\",\"?\"]]]}");
    assert_int_equal(kvmig_port_rollback(f.port), 0);
    port_run_until(f.context, &f.caller, "superseded");
    assert_nb(&f, "hv1,hv2", "rarp", "they");
    assert_int_equal(kvmig_port_prepare(f.port, "hv1", "hv2"), 0);
    port_run_until(f.context, &f.caller, "failed(KVMIG_EREFUSED)");
    assert_non_null(strstr(f.caller.evidence, "they"));
    assert_nb(&f, "hv1,hv2", "rarp", "they");
    close_fixture(&f);
}

static void collection_takes_over_what_a_dead_owner_left(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    to_prepared(&f);
    kvmig_port_unref(f.port); /* and dies */
    port_settle(f.context);
    assert_int_equal(f.caller.n_frees, 1);
    assert_nb(&f, "hv1,hv2", "rarp", "me");
    port_caller_clear(&f.caller);
    f.opts.owner = NULL;
    open_port(&f);
    assert_int_equal(kvmig_port_gc(f.port, "hv1", 3600000), 0);
    port_run_until(f.context, &f.caller, "failed(KVMIG_EREFUSED)");
    assert_nb(&f, "hv1,hv2", "rarp", "me");
    assert_int_equal(kvmig_port_gc(f.port, "hv1", 0), 0);
    port_run_until(f.context, &f.caller, "converged");
    assert_nb(&f, "hv1", "-", "-");
    close_fixture(&f);
}

/* ---- facts ---- */

static struct json_object *json_of(struct kvmig_port *port)
{
    struct json_object *json;
    char *text = NULL;

    assert_int_equal(kvmig_port_to_json(port, &text), 0);
    json = json_tokener_parse(text);
    assert_non_null(json);
    free(text);
    return json;
}

/* A member at the end of a path of keys and indexes, "lsps/0/name". Borrowed. */
static struct json_object *at(struct json_object *json, const char *path)
{
    char word[64];

    while (*path) {
        const size_t n = strcspn(path, "/");
        struct json_object *next = NULL;

        assert_true(n < sizeof(word));
        snprintf(word, sizeof(word), "%.*s", (int)n, path);
        if (json_object_is_type(json, json_type_array))
            next = json_object_array_get_idx(json, (size_t)atoi(word));
        else if (!json_object_object_get_ex(json, word, &next))
            fail_msg("no \"%s\" in %s", word, json_object_to_json_string(json));
        json = next;
        path += n + (path[n] == '/');
    }
    return json;
}

static void refresh_tells_when_the_facts_are_there(void **state)
{
    struct json_object *json;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(kvmig_port_refresh(f.port), 0);
    port_run_until(f.context, &f.caller, "idle");
    json = json_of(f.port);
    assert_string_equal(json_object_get_string(at(json, "kind")), "ovn");
    assert_string_equal(json_object_get_string(at(json, "owner")), "me");
    assert_string_equal(json_object_get_string(at(json, "state")), "idle");
    assert_string_equal(json_object_get_string(at(json, "lsps/0/name")), "vm");
    assert_string_equal(json_object_get_string(at(json, "lsps/0/chassis")), "hv1");
    assert_true(json_object_get_boolean(at(json, "lsps/0/up")));
    assert_int_equal(json_object_array_length(at(json, "lsps/0/additional")), 0);
    assert_string_equal(json_object_get_string(at(json, "lsps/0/interfaces/hv1/name")), "tap0");
    assert_true(json_object_get_boolean(at(json, "lsps/0/interfaces/hv1/installed")));
    assert_null(at(json, "lsps/0/interfaces/hv2"));
    assert_true(json_object_get_boolean(at(json, "databases/nb/current")));
    assert_true(json_object_get_boolean(at(json, "databases/ovs/hv2/current")));
    assert_string_equal(json_object_get_string(at(json, "ovn_version")), "23.03.1");
    assert_int_equal(json_object_array_length(at(json, "findings")), 0);
    json_object_put(json);
    close_fixture(&f);
}

static void refresh_does_not_wait_for_what_is_known_to_be_down(void **state)
{
    struct json_object *json;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    set_up(&f, f.world.hv[1], false);
    set_up(&f, f.world.sb, false);
    assert_int_equal(kvmig_port_refresh(f.port), 0);
    port_run_until(f.context, &f.caller, "idle");
    json = json_of(f.port);
    assert_false(json_object_get_boolean(at(json, "databases/sb/current")));
    assert_string_equal(json_object_get_string(at(json, "databases/sb/trouble")), "sb is down");
    assert_string_equal(json_object_get_string(at(json, "databases/ovs/hv2/trouble")), "ovs2 is down");
    json_object_put(json);
    close_fixture(&f);
}

static void refresh_needs_the_northbound_database(void **state)
{
    struct fixture f;

    (void)state;
    prepare_fixture(&f);
    f.opts.prepare_timeout_ms = 30;
    open_port(&f);
    set_up(&f, f.world.nb, false);
    assert_int_equal(kvmig_port_refresh(f.port), 0);
    port_run_until(f.context, &f.caller, "idle(ETIMEDOUT)");
    close_fixture(&f);
}

static void report_shows_the_operations_and_their_evidence(void **state)
{
    struct json_object *json, *timeline;
    const char *wanted[] = { "prepare", "pinned", "extended", "verify", "verified" };
    struct fixture f;
    size_t next = 0;

    (void)state;
    open_fixture(&f);
    to_prepared(&f);
    plug_target(&f);
    assert_int_equal(kvmig_port_verify(f.port), 0);
    port_run_until(f.context, &f.caller, "verified");
    json = json_of(f.port);
    timeline = at(json, "timeline");
    for (size_t i = 0; i < json_object_array_length(timeline) && next < KVMIG__N_ELEMENTS(wanted); i++) {
        const char *what = json_object_get_string(at(json_object_array_get_idx(timeline, i), "what"));

        next += strcmp(what, wanted[next]) == 0;
    }
    if (next < KVMIG__N_ELEMENTS(wanted))
        fail_msg("no \"%s\" in its place: %s", wanted[next], json_object_to_json_string(timeline));
    json_object_put(json);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_follows_the_guest_to_the_target),
        cmocka_unit_test(rollback_leaves_the_port_on_the_source),
        cmocka_unit_test(repeated_preparation_writes_nothing),
        cmocka_unit_test(another_handle_of_the_owner_goes_on),
        cmocka_unit_test(what_was_not_prepared_by_this_owner_is_not_verified),
        cmocka_unit_test(wishes_may_name_hosts_as_the_caller_does),
        cmocka_unit_test(chassis_that_nobody_knows_is_refused),
        cmocka_unit_test(port_without_southbound_database_is_settled_at_commit),
        cmocka_unit_test(key_that_another_writer_adds_meanwhile_survives),
        cmocka_unit_test(port_of_another_migration_is_left_alone),
        cmocka_unit_test(collection_takes_over_what_a_dead_owner_left),
        cmocka_unit_test(refresh_tells_when_the_facts_are_there),
        cmocka_unit_test(refresh_does_not_wait_for_what_is_known_to_be_down),
        cmocka_unit_test(refresh_needs_the_northbound_database),
        cmocka_unit_test(report_shows_the_operations_and_their_evidence),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
