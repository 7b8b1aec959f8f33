/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a cluster view tells of its hosts: the slots as plans see them, and the whole as JSON. Hosts report what the test
 * says; everything happens on the test's thread.
 */
#include "cluster_test.h"
#include "session/session_internal.h"

#include <errno.h>
#include <json-c/json.h>
#include <kvmig/plan.h>

static uint32_t foreign_running(struct test_view *view, const char *vm)
{
    struct kvmig__slots slots;
    uint32_t running;

    kvmig__context_lock(view->context);
    kvmig__cluster_slots(view->cluster, vm, &slots);
    kvmig__context_unlock(view->context);
    running = slots.running;
    kvmig__slots_clear(&slots);
    return running;
}

/* ---- plans and slots ---- */

static void no_plan_before_the_view_is_synced(void **state)
{
    struct test_view view = { 0 };
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;
    struct kvmig_plan *plan = (void *)1;
    struct fake a;

    (void)state;
    open_empty(&view);
    fake_add(&view, &a, "fake://a");
    opts.vm = "vm1";
    assert_int_equal(kvmig_cluster_plan(view.cluster, &opts, &plan), -KVMIG_ENOTSYNCED);
    assert_null(plan);
    assert_int_equal(kvmig_cluster_plan(NULL, &opts, &plan), -EINVAL);
    assert_int_equal(kvmig_cluster_plan(view.cluster, &opts, NULL), -EINVAL);
    opts.vm = NULL;
    assert_int_equal(kvmig_cluster_plan(view.cluster, &opts, &plan), -EINVAL);
    read_as(&view, &a, facts_of("hosta"));
    opts.vm = "no-such-vm";
    assert_int_equal(kvmig_cluster_plan(view.cluster, &opts, &plan), -KVMIG_ENOVM);
    test_view_close(&view);
}

static void a_migration_between_two_hosts_counts_once(void **state)
{
    struct test_view view = { 0 };
    struct fake a, b;
    struct kvmig__host *on_a = facts_of("hosta"), *on_b = facts_of("hostb");
    struct kvmig__slots slots;

    (void)state;
    open_empty(&view);
    fake_add(&view, &a, "fake://a");
    fake_add(&view, &b, "fake://b");
    add_domain(on_a, "moving", "pc")->migrating_out = true;
    add_domain(on_b, "moving", "pc")->migrating_in = true;
    add_domain(on_b, "from-elsewhere", "pc")->migrating_in = true;
    read_as(&view, &a, on_a);
    read_as(&view, &b, on_b);
    kvmig__context_lock(view.context);
    kvmig__cluster_slots(view.cluster, "vm1", &slots);
    kvmig__context_unlock(view.context);
    assert_int_equal(slots.max_migrations, 5);
    assert_int_equal(slots.max_outbound, 2);
    assert_int_equal(slots.max_inbound, 2);
    assert_int_equal(slots.running, 2);
    assert_int_equal(slots.per_host[0].out, 1);
    assert_int_equal(slots.per_host[0].in, 0);
    assert_int_equal(slots.per_host[1].out, 0);
    assert_int_equal(slots.per_host[1].in, 2);
    kvmig__slots_clear(&slots);
    test_view_close(&view);
}

static void our_own_migrations_count_by_their_slots(void **state)
{
    struct test_view view = { 0 };
    struct kvmig_plan plan = { .vm = (char *)"vm1", .uuid = (char *)"uuid-of-vm1" };
    struct kvmig_session session = { .plan = &plan };
    struct kvmig__slot slot = { 0 };
    struct fake a;
    struct kvmig__host *facts;

    (void)state;
    open_empty(&view);
    fake_add(&view, &a, "fake://a");
    kvmig__context_lock(view.context);
    kvmig__limits_enter(kvmig__cluster_limits(view.cluster), &slot, "hosta", "hostb", &session);
    kvmig__limits_settle(kvmig__cluster_limits(view.cluster), NULL, NULL, NULL);
    kvmig__context_unlock(view.context);
    assert_int_equal(foreign_running(&view, "other"), 1); /* by its slot */
    assert_int_equal(foreign_running(&view, "vm1"), 0); /* a plan for the very guest ignores its slot */
    facts = facts_of("hosta");
    add_domain(facts, "vm1", "pc")->migrating_out = true;
    begin(&view, &a);
    kvmig__context_lock(view.context);
    kvmig__cluster_hold(view.cluster);
    kvmig__context_unlock(view.context);

    /* The session ends while the host is being read: the reading still shows the guest moving. */
    kvmig__context_lock(view.context);
    kvmig__limits_leave(kvmig__cluster_limits(view.cluster), &slot);
    kvmig__context_unlock(view.context);
    assert_int_equal(foreign_running(&view, "other"), 0);
    report(&view, &a, facts);
    assert_int_equal(foreign_running(&view, "other"), 0);
    while (kvmig__now_ms() <= view.cluster->own_guests.v[0].ended_ms)
        ;
    facts = facts_of("hosta");
    add_domain(facts, "vm1", "pc")->migrating_out = true;
    read_as(&view, &a, facts); /* it moves again, and nobody here moves it */
    assert_int_equal(foreign_running(&view, "other"), 1);
    assert_int_equal(view.cluster->own_guests.n, 0);
    kvmig__context_lock(view.context);
    kvmig__cluster_release(view.cluster);
    kvmig__context_unlock(view.context);
    test_view_close(&view);
}

/* ---- JSON ---- */

static struct json_object *member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    assert_true(json_object_object_get_ex(object, key, &value));
    return value;
}

static void the_view_is_told_as_json(void **state)
{
    static const char *const shared[] = { "/srv/images" };
    struct test_view view = { 0 };
    struct kvmig_cluster_opts opts = test_view_opts(&view);
    struct kvmig__host *facts = facts_of("hosta");
    struct fake a, b;
    struct json_object *json, *host, *domain;
    char *text = NULL;

    (void)state;
    opts.shared_paths = shared;
    opts.n_shared_paths = 1;
    test_view_open(&view, &opts);
    fake_add(&view, &a, "fake://a");
    fake_add(&view, &b, "fake://b");
    facts->libvirt_version = 9004012;
    facts->memory_total = UINT64_C(1) << 40;
    add_domain(facts, "quote\"and\\", "pc")->migrating_out = true;
    read_as(&view, &a, facts);
    lose(&view, &b, "no route");

    assert_int_equal(kvmig_cluster_to_json(view.cluster, &text), 0);
    json = json_tokener_parse(text);
    free(text);
    assert_non_null(json);
    assert_true(json_object_get_boolean(member(json, "synced")));
    assert_string_equal(json_object_get_string(json_object_array_get_idx(member(json, "shared_paths"), 0)), shared[0]);
    host = json_object_array_get_idx(member(json, "hosts"), 0);
    assert_string_equal(json_object_get_string(member(host, "name")), "hosta");
    assert_string_equal(json_object_get_string(member(host, "uri")), "fake://a");
    assert_string_equal(json_object_get_string(member(host, "state")), "up");
    assert_string_equal(json_object_get_string(member(host, "libvirt_version")), "9.4.12");
    assert_int_equal(json_object_get_uint64(member(host, "memory_total")), UINT64_C(1) << 40);
    assert_false(json_object_object_get_ex(host, "memory_free", NULL)); /* not known */
    assert_false(json_object_object_get_ex(host, "error", NULL));
    domain = json_object_array_get_idx(member(host, "domains"), 0);
    assert_string_equal(json_object_get_string(member(domain, "name")), "quote\"and\\");
    assert_string_equal(json_object_get_string(member(domain, "state")), "running");
    assert_string_equal(json_object_get_string(member(json_object_array_get_idx(member(host, "jobs"), 0), "kind")),
                        "migration-out");
    host = json_object_array_get_idx(member(json, "hosts"), 1);
    assert_string_equal(json_object_get_string(member(host, "state")), "lost");
    assert_string_equal(json_object_get_string(member(member(host, "error"), "message")), "no route");
    assert_false(json_object_object_get_ex(host, "domains", NULL));
    json_object_put(json);
    test_view_close(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_before_the_view_is_synced),
        cmocka_unit_test(a_migration_between_two_hosts_counts_once),
        cmocka_unit_test(our_own_migrations_count_by_their_slots),
        cmocka_unit_test(the_view_is_told_as_json),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
