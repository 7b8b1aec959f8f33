/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cluster view with hosts that report what the test says: options, events, being in step, waiting for fresh facts,
 * names, ownership. Everything happens on the test's thread; slots and JSON are in test_cluster_told.c, real hosts in
 * test_host.c.
 */
#include "cluster_test.h"

#include <errno.h>

/* ---- options ---- */

static void expect_refused(struct kvmig_cluster_opts *opts, struct test_view *view, int32_t code, const char *named)
{
    const unsigned freed = view->freed;
    struct kvmig_cluster *cluster = (void *)1;

    assert_int_equal(kvmig_cluster_open(view->context, opts, &cluster), code);
    assert_null(cluster);
    if (named)
        assert_non_null(strstr(kvmig_error_message(kvmig_error_last()), named));
    test_view_drain(view);
    assert_int_equal(view->freed, freed + 1);
}

static void bad_options_are_named_and_the_callback_is_freed(void **state)
{
    const char *with_null[] = { "test:///default", NULL }, *empty[] = { "" };
    const char *twice[] = { "qemu+tls://a/system", "qemu+tls://b/system", "qemu+tls://a/system" };
    const char *relative[] = { "var/lib/images" };
    struct test_view view = { 0 };
    struct kvmig_cluster_opts opts;

    (void)state;
    open_empty(&view);
    opts = test_view_opts(&view);
    opts.n_libvirt_uris = 2;
    expect_refused(&opts, &view, -EINVAL, "n_libvirt_uris");
    opts.libvirt_uris = with_null;
    expect_refused(&opts, &view, -EINVAL, "libvirt_uris[1]");
    opts.libvirt_uris = twice;
    opts.n_libvirt_uris = 3;
    expect_refused(&opts, &view, -EINVAL, "libvirt_uris[2]");
    assert_string_equal(kvmig_error_evidence(kvmig_error_last()), "qemu+tls://a/system");
    opts.libvirt_uris = empty;
    opts.n_libvirt_uris = 1;
    expect_refused(&opts, &view, -EINVAL, "libvirt_uris[0]");
    opts = test_view_opts(&view);
    opts.shared_paths = relative;
    opts.n_shared_paths = 1;
    expect_refused(&opts, &view, -EINVAL, "shared_paths[0]");
    opts = test_view_opts(&view);
    opts.reserved = 1;
    expect_refused(&opts, &view, -EINVAL, "reserved");
    opts = test_view_opts(&view);
    opts.size = 3;
    assert_int_equal(kvmig_cluster_open(view.context, &opts, &(struct kvmig_cluster *){ NULL }), -EINVAL);

    view.freed = 0;
    test_view_close(&view);
}

static void options_are_initialised_at_run_time_as_by_the_macro(void **state)
{
    const struct kvmig_cluster_opts fresh = KVMIG_CLUSTER_OPTS_INIT;
    struct kvmig_cluster_opts opts;

    (void)state;
    memset(&opts, 0xff, sizeof(opts));
    assert_int_equal(kvmig_cluster_opts_init(&opts, sizeof(opts)), 0);
    assert_memory_equal(&opts, &fresh, sizeof(opts));
    assert_int_equal(kvmig_cluster_opts_init(&opts, sizeof(opts.size) - 1), -EINVAL);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "kvmig_cluster_opts_init");
    assert_int_equal(kvmig_cluster_opts_init(NULL, sizeof(opts)), -EINVAL);
}

static void options_of_a_newer_caller_are_refused(void **state)
{
    struct {
        struct kvmig_cluster_opts opts;
        uint64_t newer;
    } future;
    struct test_view view = { 0 };

    (void)state;
    open_empty(&view);
    memset(&future, 0, sizeof(future));
    future.opts = test_view_opts(&view);
    future.opts.size = sizeof(future);
    future.newer = 1;
    expect_refused(&future.opts, &view, -E2BIG, NULL);
    view.freed = 0;
    test_view_close(&view);
}

static void null_handles_are_refused(void **state)
{
    struct test_view view = { 0 };
    struct kvmig_cluster_opts opts = test_view_opts(&view);
    struct kvmig_cluster *cluster = NULL;

    (void)state;
    assert_int_equal(kvmig_cluster_open(NULL, &opts, &cluster), -EINVAL);
    assert_int_equal(view.freed, 1);
    assert_int_equal(kvmig_cluster_refresh(NULL), -EINVAL);
    assert_int_equal(kvmig_cluster_is_synced(NULL), -EINVAL);
    assert_int_equal(kvmig_cluster_to_json(NULL, &(char *){ NULL }), -EINVAL);
    assert_null(kvmig_cluster_ref(NULL));
    kvmig_cluster_unref(NULL);
}

/* ---- being in step ---- */

static void a_view_without_hosts_is_synced_in_dispatch_only(void **state)
{
    struct test_view view = { 0 };

    (void)state;
    open_empty(&view);
    assert_int_equal(kvmig_cluster_is_synced(view.cluster), 0);
    assert_int_equal(view.events.n, 0);
    test_view_await(&view, "cluster-synced", 1);
    assert_int_equal(kvmig_cluster_is_synced(view.cluster), 1);
    assert_int_equal(kvmig_cluster_refresh(view.cluster), 0);
    test_view_await(&view, "cluster-synced", 2);
    test_view_close(&view);
}

static void synced_when_every_host_was_read_or_is_lost(void **state)
{
    struct test_view view = { 0 };
    struct fake a, b;

    (void)state;
    open_empty(&view);
    fake_add(&view, &a, "fake://a");
    fake_add(&view, &b, "fake://b");
    read_as(&view, &a, facts_of("hosta"));
    assert_true(test_view_saw(&view, "host-found hosta"));
    assert_false(test_view_saw(&view, "cluster-synced"));
    assert_int_equal(kvmig_cluster_is_synced(view.cluster), 0);
    lose(&view, &b, "no route");
    assert_true(test_view_saw(&view, "host-lost fake://b"));
    assert_string_equal(kvmig_error_message(view.lost_error), "no route");
    assert_int_equal(test_view_count(&view, "cluster-synced"), 1);
    assert_int_equal(kvmig_cluster_is_synced(view.cluster), 1);
    test_view_close(&view);
    assert_int_equal(a.closes, 1);
    assert_int_equal(b.closes, 1);
}

static void a_refresh_counts_only_readings_that_began_after_it(void **state)
{
    struct test_view view = { 0 };
    struct fake a;

    (void)state;
    open_empty(&view);
    fake_add(&view, &a, "fake://a");
    read_as(&view, &a, facts_of("hosta"));
    assert_int_equal(test_view_count(&view, "cluster-synced"), 1);

    begin(&view, &a);
    assert_int_equal(kvmig_cluster_refresh(view.cluster), 0);
    assert_int_equal(a.refreshes, 1);
    report(&view, &a, facts_of("hosta"));
    assert_int_equal(test_view_count(&view, "cluster-synced"), 1);
    assert_int_equal(kvmig_cluster_is_synced(view.cluster), 1); /* what was read once stays so */
    read_as(&view, &a, facts_of("hosta"));
    assert_int_equal(test_view_count(&view, "cluster-synced"), 2);
    test_view_close(&view);
}

static void a_host_added_later_is_synced_too(void **state)
{
    struct test_view view = { 0 };
    struct fake a;

    (void)state;
    open_empty(&view);
    test_view_await(&view, "cluster-synced", 1);
    fake_add(&view, &a, "fake://a");
    assert_int_equal(kvmig_cluster_is_synced(view.cluster), 0);
    read_as(&view, &a, facts_of("hosta"));
    assert_int_equal(test_view_count(&view, "cluster-synced"), 2);
    assert_int_equal(kvmig_cluster_is_synced(view.cluster), 1);

    kvmig__context_lock(view.context);
    assert_null(kvmig__cluster_host_add(view.cluster, "fake://a", "test"));
    kvmig__context_unlock(view.context);
    assert_int_equal(kvmig_error_code(kvmig_error_last()), -EINVAL);
    test_view_close(&view);
}

static void guests_of_one_host_are_asked_about_on_the_others_first(void **state)
{
    struct test_view view = { 0 };
    struct fake a, b;
    struct kvmig__host *facts = facts_of("hosta");
    struct kvmig__reading reading;

    (void)state;
    open_empty(&view);
    fake_add(&view, &a, "fake://a");
    fake_add(&view, &b, "fake://b");
    read_as(&view, &b, facts_of("hostb"));
    add_domain(facts, "vm1", "pc-q35-7.2");
    read_as(&view, &a, facts);
    assert_int_equal(b.refreshes, 1); /* it was not asked about q35 yet */
    assert_int_equal(a.refreshes, 0); /* it was, when its own guests were read */
    assert_false(test_view_saw(&view, "cluster-synced"));

    kvmig__context_lock(view.context);
    reading = kvmig__cluster_host_begin(b.host);
    assert_int_equal(reading.queries->n, 1);
    assert_string_equal(reading.queries->v[0].machine, "pc-q35-7.2");
    assert_false(reading.thorough); /* nothing costly is read again for this */
    kvmig__context_unlock(view.context);
    report(&view, &b, facts_of("hostb"));
    assert_int_equal(test_view_count(&view, "cluster-synced"), 1);
    assert_int_equal(b.refreshes, 1);
    test_view_close(&view);
}

/* ---- events ---- */

static void changed_only_when_facts_differ(void **state)
{
    struct test_view view = { 0 };
    struct fake a;
    struct kvmig__host *facts;

    (void)state;
    open_empty(&view);
    fake_add(&view, &a, "fake://a");
    facts = facts_of("hosta");
    add_domain(facts, "vm1", "pc");
    add_domain(facts, "vm2", "pc");
    read_as(&view, &a, facts);
    assert_false(test_view_saw(&view, "cluster-changed hosta"));

    facts = facts_of("hosta");
    facts->memory_free = 12345; /* moves all the time */
    add_domain(facts, "vm2", "pc");
    add_domain(facts, "vm1", "pc"); /* another order */
    read_as(&view, &a, facts);
    assert_false(test_view_saw(&view, "cluster-changed hosta"));

    facts = facts_of("hosta");
    add_domain(facts, "vm1", "pc")->state = KVMIG__STATE_PAUSED;
    add_domain(facts, "vm2", "pc");
    read_as(&view, &a, facts);
    assert_int_equal(test_view_count(&view, "cluster-changed hosta"), 1);
    facts = facts_of("hosta");
    add_domain(facts, "vm2", "pc");
    read_as(&view, &a, facts);
    assert_int_equal(test_view_count(&view, "cluster-changed hosta"), 2);
    assert_int_equal(test_view_count(&view, "host-found hosta"), 1);
    test_view_close(&view);
}

static void a_lost_host_keeps_its_facts_and_comes_back(void **state)
{
    struct test_view view = { 0 };
    struct fake a;
    struct kvmig__host *facts = facts_of("hosta");

    (void)state;
    open_empty(&view);
    fake_add(&view, &a, "fake://a");
    add_domain(facts, "vm1", "pc");
    read_as(&view, &a, facts);
    lose(&view, &a, "gone");
    lose(&view, &a, "still gone");
    assert_int_equal(test_view_count(&view, "host-lost hosta"), 1);
    assert_int_equal(a.host->facts->state, KVMIG__HOST_LOST);
    assert_string_equal(kvmig_error_message(a.host->facts->lost_error), "still gone");
    assert_non_null(kvmig__host_find_domain(a.host->facts, "vm1"));

    facts = facts_of("hosta");
    add_domain(facts, "vm1", "pc");
    read_as(&view, &a, facts);
    assert_int_equal(test_view_count(&view, "host-found hosta"), 2);
    assert_false(test_view_saw(&view, "cluster-changed hosta"));
    assert_int_equal(a.host->facts->state, KVMIG__HOST_UP);
    assert_null(a.host->facts->lost_error);
    test_view_close(&view);
}

static void two_hosts_of_one_name_stay_apart(void **state)
{
    struct test_view view = { 0 };
    struct fake a, b;

    (void)state;
    open_empty(&view);
    fake_add(&view, &a, "fake://a");
    fake_add(&view, &b, "fake://b");
    read_as(&view, &a, facts_of("localhost"));
    read_as(&view, &b, facts_of("localhost"));
    read_as(&view, &a, facts_of("localhost"));
    assert_string_equal(a.host->facts->name, "localhost");
    assert_string_equal(b.host->facts->name, "fake://b");
    kvmig__context_lock(view.context);
    assert_ptr_equal(kvmig__cluster_find_host(view.cluster, "localhost"), a.host);
    assert_ptr_equal(kvmig__cluster_find_host(view.cluster, "fake://a"), a.host);
    assert_ptr_equal(kvmig__cluster_find_host(view.cluster, "fake://b"), b.host);
    assert_null(kvmig__cluster_find_host(view.cluster, "elsewhere"));
    kvmig__context_unlock(view.context);
    test_view_close(&view);
}

/* ---- waiting for one host ---- */

static void count_up(void *owner)
{
    ++*(unsigned *)owner;
}

static void fresh_facts_are_newer_than_the_question(void **state)
{
    struct test_view view = { 0 };
    struct fake a;
    unsigned fresh = 0, forgotten = 0;

    (void)state;
    open_empty(&view);
    fake_add(&view, &a, "fake://a");
    read_as(&view, &a, facts_of("hosta"));
    begin(&view, &a);
    kvmig__context_lock(view.context);
    kvmig__cluster_refresh_host(a.host, count_up, &fresh);
    kvmig__cluster_refresh_host(a.host, count_up, &forgotten);
    kvmig__cluster_refresh_forget(view.cluster, &forgotten);
    kvmig__context_unlock(view.context);
    assert_int_equal(a.refreshes, 2);
    report(&view, &a, facts_of("hosta")); /* of a reading that was under way */
    assert_int_equal(fresh, 0);
    kvmig__context_lock(view.context);
    assert_true(kvmig__cluster_host_begin(a.host).thorough);
    kvmig__context_unlock(view.context);
    report(&view, &a, facts_of("hosta"));
    assert_int_equal(fresh, 1);
    read_as(&view, &a, facts_of("hosta"));
    assert_int_equal(fresh, 1);

    kvmig__context_lock(view.context);
    kvmig__cluster_refresh_host(a.host, count_up, &fresh);
    kvmig__context_unlock(view.context);
    lose(&view, &a, "gone"); /* an answer too */
    assert_int_equal(fresh, 2);
    assert_int_equal(forgotten, 0);
    test_view_close(&view);
}

/* ---- ownership ---- */

static void a_held_view_lives_on_without_events(void **state)
{
    struct test_view view = { 0 };
    struct kvmig_cluster *cluster;
    struct fake a;

    (void)state;
    open_empty(&view);
    cluster = view.cluster;
    fake_add(&view, &a, "fake://a");
    kvmig__context_lock(view.context);
    kvmig__cluster_hold(cluster);
    kvmig__context_unlock(view.context);
    assert_ptr_equal(kvmig_cluster_ref(cluster), cluster);
    kvmig_cluster_unref(cluster);
    begin(&view, &a);
    kvmig__context_lock(view.context);
    kvmig__cluster_host_facts(a.host, facts_of("hosta"));
    kvmig__context_unlock(view.context);
    kvmig_cluster_unref(cluster); /* events that are under way are dropped */
    view.cluster = NULL;
    test_view_drain(&view);
    assert_int_equal(view.events.n, 0);
    assert_int_equal(view.freed, 1);
    assert_int_equal(a.closes, 0);
    read_as(&view, &a, facts_of("hosta"));
    assert_int_equal(view.events.n, 0);

    kvmig__context_lock(view.context);
    kvmig__cluster_release(cluster);
    kvmig__context_unlock(view.context);
    assert_int_equal(a.closes, 1);
    test_view_close(&view);
}

static void let_go(void *owner)
{
    kvmig__cluster_release(owner);
}

static void the_view_may_end_in_an_answer(void **state)
{
    struct test_view view = { 0 };
    struct kvmig_cluster *cluster;
    struct fake a;

    (void)state;
    open_empty(&view);
    cluster = view.cluster;
    fake_add(&view, &a, "fake://a");
    kvmig__context_lock(view.context);
    kvmig__cluster_hold(cluster);
    kvmig__cluster_refresh_host(a.host, let_go, cluster);
    kvmig__context_unlock(view.context);
    kvmig_cluster_unref(cluster);
    view.cluster = NULL;
    assert_int_equal(a.closes, 0);
    read_as(&view, &a, facts_of("hosta"));
    assert_int_equal(a.closes, 1);
    test_view_close(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_named_and_the_callback_is_freed),
        cmocka_unit_test(options_are_initialised_at_run_time_as_by_the_macro),
        cmocka_unit_test(options_of_a_newer_caller_are_refused),
        cmocka_unit_test(null_handles_are_refused),
        cmocka_unit_test(a_view_without_hosts_is_synced_in_dispatch_only),
        cmocka_unit_test(synced_when_every_host_was_read_or_is_lost),
        cmocka_unit_test(a_refresh_counts_only_readings_that_began_after_it),
        cmocka_unit_test(a_host_added_later_is_synced_too),
        cmocka_unit_test(guests_of_one_host_are_asked_about_on_the_others_first),
        cmocka_unit_test(changed_only_when_facts_differ),
        cmocka_unit_test(a_lost_host_keeps_its_facts_and_comes_back),
        cmocka_unit_test(two_hosts_of_one_name_stay_apart),
        cmocka_unit_test(fresh_facts_are_newer_than_the_question),
        cmocka_unit_test(a_held_view_lives_on_without_events),
        cmocka_unit_test(the_view_may_end_in_an_answer),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
