/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The choice of the target among libvirt hosts: the order of candidates, the reason that each is told to come before the next, and
 * hosts that the caller does not want.
 */
#include "plan/learned.h"
#include "plan_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct scene scene;

/* alpha has the VM; beta and gamma are alike. */
static int setup(void **state)
{
    (void)state;
    scene_init(&scene);
    scene_add_host(&scene, "gamma");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scene_clear(&scene);
    return 0;
}

static void assert_first(const char *host, const char *because)
{
    const struct kvmig_plan *plan = scene_plan(&scene);

    assert_string_equal(kvmig_plan_candidate_host(plan, 0), host);
    assert_int_equal(kvmig_plan_candidate_count(plan), 2);
    if (!strstr(kvmig_plan_candidate_reason(plan, 0), because))
        fail_msg("\"%s\" does not tell \"%s\"", kvmig_plan_candidate_reason(plan, 0), because);
    assert_null(kvmig_plan_candidate_reason(plan, 1));
    assert_null(kvmig_plan_candidate_reason(plan, 2));
}

static void equals_are_told_to_be_equal(void **state)
{
    (void)state;
    assert_first("beta", "nothing tells it from gamma but the name");
}

static void who_can_start_comes_first(void **state)
{
    (void)state;
    scene_host(&scene, "beta")->networks.v[0].active = false;
    assert_first("gamma", "MIGRATABLE (beta: BLOCKED)");
}

static void fewer_risks_come_first(void **state)
{
    (void)state;
    scene_host(&scene, "beta")->libvirt_version = 11005000; /* older than the source's */
    scene_host(&scene, "beta")->memory_free = 60 * GIB; /* does not make up for it */
    assert_first("gamma", "MIGRATABLE (beta: MIGRATABLE_WITH_RISK)");
}

static void more_memory_comes_first(void **state)
{
    (void)state;
    scene_host(&scene, "gamma")->memory_free = 60 * GIB;
    assert_first("gamma", "more memory is left after the move: 58 GiB (beta: 30 GiB)");
}

static void a_little_more_memory_means_nothing(void **state)
{
    (void)state;
    scene_host(&scene, "gamma")->memory_free = 33 * GIB;
    assert_first("beta", "nothing tells it");
}

static void unknown_memory_is_never_better(void **state)
{
    (void)state;
    scene_host(&scene, "beta")->memory_free = KVMIG__UNKNOWN;
    assert_first("gamma", "more memory is left after the move: 30 GiB (beta: not known)");
}

static void tell_link(const char *host, uint64_t bytes_per_s)
{
    struct kvmig__link_speed *link = KVMIG__PUSH(&scene.request.links);

    link->host = kvmig__strdup(host);
    link->bytes_per_s = bytes_per_s;
}

static void faster_links_come_first(void **state)
{
    (void)state;
    tell_link("beta", 100 << 20);
    tell_link("gamma", 1 << 30);
    scene_host(&scene, "beta")->memory_free = 60 * GIB; /* comes after links */
    assert_first("gamma", "a faster link: 1 GiB/s (beta: 100 MiB/s)");
}

/* Else a host that was never used would never be chosen. */
static void hosts_without_a_link_count_as_usual(void **state)
{
    (void)state;
    tell_link("beta", 1 << 30);
    tell_link("delta", 1 << 20); /* not in the view */
    assert_first("beta", "a faster link: 1 GiB/s (gamma: not known)");
    scene.request.links.v[0].bytes_per_s = 1 << 20;
    scene.request.links.v[1].bytes_per_s = 1 << 30;
    assert_first("gamma", "a faster link: not known (beta: 1 MiB/s)");
}

/* What earlier migrations reached counts where the caller says nothing. */
static void links_that_were_learned_count(void **state)
{
    struct kvmig__learned learned = { 0 };

    (void)state;
    scene.request.learned = &learned;
    kvmig__learned_link(&learned, "alpha", "gamma")->line = 1 << 30;
    kvmig__learned_link(&learned, "gamma", "beta")->line = 1 << 20; /* another pair */
    assert_first("beta", "nothing tells it"); /* not known counts as usual */
    kvmig__learned_link(&learned, "alpha", "beta")->line = 100 << 20;
    assert_first("gamma", "a faster link: 1 GiB/s (beta: 100 MiB/s)");
    tell_link("gamma", 10 << 20);
    assert_first("beta", "a faster link: 100 MiB/s (gamma: 10 MiB/s)");
    scene.request.learned = NULL;
    kvmig__learned_clear(&learned);
}

static void a_cpu_like_the_sources_comes_first(void **state)
{
    (void)state;
    kvmig__strlist_add(&scene_host(&scene, "beta")->emulators.v[0].host_model.expanded, "avx512f");
    kvmig__strlist_add(&scene_host(&scene, "beta")->emulators.v[0].host_model.expanded, "sha-ni");
    assert_first("gamma", "a CPU more like the source's (features that differ): 0 (beta: 2)");
    scene_host(&scene, "gamma")->emulators.v[0].host_model.expanded_known = false;
    assert_first("beta", "a CPU more like the source's (features that differ): 2 (gamma: not known)");
}

/* Of hosts that cannot take it, the nearest comes first. */
static void fewer_blockers_come_first(void **state)
{
    (void)state;
    scene_host(&scene, "beta")->networks.v[0].active = false;
    kvmig__str_set(&scene_host(&scene, "beta")->uuid, scene_host(&scene, "alpha")->uuid);
    scene_host(&scene, "gamma")->networks.v[0].active = false;
    assert_first("gamma", "less stands against it: 1 (beta: 2)");
}

/* The order is that of what is told: for each pair of neighbours the first reason that differs is the one that is named, in worlds of
 * all kinds. */
static void neighbours_differ_in_the_reason_told(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits < 64; bits++) {
        const struct kvmig__candidates *all;
        enum kvmig__reason why = KVMIG__REASON_NAME;

        scene_host(&scene, "beta")->libvirt_version = bits & 1 ? 11005000 : 11006000;
        scene_host(&scene, "gamma")->libvirt_version = bits & 2 ? 11005000 : 11006000;
        scene_host(&scene, "beta")->memory_free = (bits & 4 ? 60 : 32) * GIB;
        scene_host(&scene, "gamma")->memory_free = (bits & 8 ? 60 : 32) * GIB;
        scene_host(&scene, "beta")->networks.v[0].active = !(bits & 16);
        scene_host(&scene, "gamma")->networks.v[0].active = !(bits & 32);
        all = kvmig__plan_candidates(scene_plan(&scene));
        if (all->v[0].verdict != all->v[1].verdict)
            why = KVMIG__REASON_STATE;
        else
            assert_true(kvmig__rank_compare(&all->v[0].rank, &all->v[1].rank, &why) <= 0);
        assert_int_equal(all->v[0].better_by, why);
    }
}

/* ---- hosts that are not wanted ---- */

static void excluded_hosts_are_no_candidates(void **state)
{
    const struct kvmig_plan *plan;

    (void)state;
    kvmig__strlist_add(&scene.request.exclude, "qemu+tls://beta/system");
    plan = scene_plan(&scene);
    assert_int_equal(kvmig_plan_candidate_count(plan), 1);
    assert_string_equal(kvmig_plan_target(plan), "gamma");
    kvmig__strlist_add(&scene.request.exclude, "gamma");
    plan = scene_plan(&scene);
    assert_int_equal(kvmig_plan_verdict(plan), KVMIG_VERDICT_BLOCKED);
    assert_true(kvmig__findings_has(&plan->findings, "NO_FEASIBLE_TARGET"));
    assert_non_null(strstr(kvmig_finding_detail(kvmig_findings_get(&plan->findings, 0)), "\"excluded\""));
}

static void excluding_what_is_not_there_is_an_error(void **state)
{
    struct kvmig_plan *plan;

    (void)state;
    kvmig__strlist_add(&scene.request.exclude, "omega");
    assert_int_equal(kvmig__plan_make(&scene.view, &scene.request, &scene.slots, &plan), KVMIG_ENOHOST * -1);
    assert_non_null(strstr(kvmig_error_message(kvmig_error_last()), "omega"));
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), "exclude"));
}

static void the_target_cannot_be_excluded(void **state)
{
    struct kvmig_plan *plan;

    (void)state;
    kvmig__strlist_add(&scene.request.exclude, "beta");
    kvmig__str_set(&scene.request.target, "beta");
    assert_int_equal(kvmig__plan_make(&scene.view, &scene.request, &scene.slots, &plan), -EINVAL);
}

/* ---- options ---- */

static void assert_refused(const struct kvmig_plan_opts *opts, const char *option)
{
    struct kvmig__request request;

    assert_int_equal(kvmig__request_from_opts(&request, opts, "test"), -EINVAL);
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), option));
    kvmig__request_clear(&request);
}

static void options_are_copied_and_checked(void **state)
{
    const char *exclude[] = { "beta", "beta", "gamma" };
    struct kvmig_link links[] = { { "beta", 5 } };
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;
    struct kvmig__request request, copy;

    (void)state;
    opts.vm = "vm1";
    opts.exclude = exclude;
    opts.n_exclude = 3;
    opts.links = links;
    opts.n_links = 1;
    opts.target_labels = "a=b,c,,d=";
    assert_int_equal(kvmig__request_from_opts(&request, &opts, "test"), 0);
    kvmig__request_copy(&copy, &request);
    kvmig__request_clear(&request);
    assert_int_equal(copy.exclude.n, 2);
    assert_int_equal(copy.target_labels.n, 3);
    assert_string_equal(copy.target_labels.v[2], "d=");
    assert_string_equal(copy.links.v[0].host, "beta");
    assert_int_equal(copy.links.v[0].bytes_per_s, 5);
    kvmig__request_clear(&copy);

    opts.flags = KVMIG_PLAN_ANY_TARGET;
    assert_refused(&opts, "flags");
    opts.flags = 0;
    links[0].bytes_per_s = 0;
    assert_refused(&opts, "links");
    opts.n_links = 0;
    exclude[1] = "";
    assert_refused(&opts, "exclude");
    opts.exclude = NULL;
    assert_refused(&opts, "exclude");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(equals_are_told_to_be_equal),
        TEST(who_can_start_comes_first),
        TEST(fewer_risks_come_first),
        TEST(more_memory_comes_first),
        TEST(a_little_more_memory_means_nothing),
        TEST(unknown_memory_is_never_better),
        TEST(faster_links_come_first),
        TEST(hosts_without_a_link_count_as_usual),
        TEST(links_that_were_learned_count),
        TEST(a_cpu_like_the_sources_comes_first),
        TEST(fewer_blockers_come_first),
        TEST(neighbours_differ_in_the_reason_told),
        TEST(excluded_hosts_are_no_candidates),
        TEST(excluding_what_is_not_there_is_an_error),
        TEST(the_target_cannot_be_excluded),
        TEST(options_are_copied_and_checked),
#undef TEST
    };

    return !!cmocka_run_group_tests_name("plan rank", tests, NULL, NULL);
}
