/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan of a drain on KubeVirt: waves and limits, targets for the whole set (amounts, devices, anti-affinity among the moved), what
 * cannot move, and time.
 */
#include "kube_fixture.h"
#include "plan/drain_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct scene {
    struct cluster c;
    struct kvmig__drain_request request;
    struct kvmig_drain *drain;
};

/* VM "vmN" on a node, which asks for so many GiB, with a launcher and a shared volume. */
static struct kvmig__kube_pod *add_guest(struct scene *s, const char *name, const char *node, uint64_t gib)
{
    struct kvmig__kube_vmi *vmi = cluster_add_vm(&s->c, name, node);
    struct kvmig__kube_pod *pod = cluster_add(&s->c, KVMIG__KUBE_POD, "ns1", name);
    struct kvmig__kube_container *compute = KVMIG__PUSH(&pod->containers);

    vmi->architecture = kvmig__strdup("amd64");
    vmi->machine = kvmig__strdup("pc-q35-8.2");
    vmi->domain.memory = gib * GIB;
    condition(&vmi->conditions, "LiveMigratable", "True", NULL, NULL);
    label(pod, "kubevirt.io", "virt-launcher");
    label(pod, "kubevirt.io/created-by", vmi->meta.uid);
    pod->phase = kvmig__strdup("Running");
    pod->node = kvmig__strdup(node);
    compute->name = kvmig__strdup("compute");
    compute->state = kvmig__strdup("running");
    amount(&compute->requests, "memory", gib * GIB * 1000);
    return pod;
}

static void open_scene(struct scene *s)
{
    *s = (struct scene){ 0 };
    cluster_init(&s->c);
    cluster_add_launcher(&s->c, "launcher-vm1", "alpha");
    cluster_know(&s->c, KVMIG__KUBE_VMIM);
    kvmig__strlist_add(&s->request.nodes, "alpha");
}

static void close_scene(struct scene *s)
{
    kvmig_drain_unref(s->drain);
    kvmig__drain_request_clear(&s->request);
    cluster_clear(&s->c);
}

static const struct kvmig_drain *plan(struct scene *s)
{
    struct kvmig__view view = { .kube = &s->c.kube };

    kvmig_drain_unref(s->drain);
    s->drain = NULL;
    assert_int_equal(kvmig__drain_make(&view, &s->request, NULL, &s->drain), 0);
    assert_null(s->c.kube.lookup);
    return s->drain;
}

static size_t count_to(const struct kvmig_drain *drain, const char *target)
{
    size_t n = 0;

    for (size_t i = 0; i < drain->moves.n; i++)
        n += kvmig__str_eq(drain->moves.v[i].plan->target, target);
    return n;
}

static void all_vms_of_the_node_get_another(void **state)
{
    struct scene s;

    (void)state;
    open_scene(&s);
    add_guest(&s, "vm2", "alpha", 2);
    add_guest(&s, "vm3", "beta", 2); /* stays */
    plan(&s);
    assert_int_equal(kvmig_drain_count(s.drain), 2);
    assert_int_equal(kvmig_drain_immovable_count(s.drain), 0);
    for (size_t i = 0; i < 2; i++) {
        const struct kvmig_plan *move = kvmig_drain_plan(s.drain, i);

        assert_string_equal(kvmig_plan_source(move), "alpha");
        assert_string_not_equal(kvmig_plan_target(move), "alpha");
        assert_string_equal(move->request.target, kvmig_plan_target(move));
        assert_int_equal(kvmig_plan_candidate_count(move), 1);
        assert_string_equal(kvmig_plan_candidate_host(move, 0), kvmig_plan_target(move));
    }
    close_scene(&s);
}

static void room_is_counted_over_the_whole_set(void **state)
{
    struct scene s;

    (void)state;
    open_scene(&s);
    amount(&cluster_node(&s.c, "beta")->allocatable, "memory", 17 * GIB * 1000);
    amount(&cluster_node(&s.c, "gamma")->allocatable, "memory", 9 * GIB * 1000);
    add_guest(&s, "vm2", "alpha", 8);
    add_guest(&s, "vm3", "alpha", 8);
    add_guest(&s, "vm4", "alpha", 8);
    plan(&s);
    /* 8 + 8 on beta, 8 on gamma; for vm1 with its 4 there is nothing left */
    assert_int_equal(s.drain->moves.n, 3);
    assert_int_equal(count_to(s.drain, "beta"), 2);
    assert_int_equal(count_to(s.drain, "gamma"), 1);
    assert_int_equal(s.drain->immovable.n, 1);
    assert_string_equal(s.drain->immovable.v[0]->vm, "ns1/vm1");
    assert_non_null(finding(&s.drain->immovable.v[0]->findings, "NO_FEASIBLE_TARGET"));
    assert_non_null(finding(&s.drain->immovable.v[0]->findings, "INSUFFICIENT_MEMORY"));
    amount(&cluster_node(&s.c, "gamma")->allocatable, "memory", 13 * GIB * 1000);
    plan(&s);
    assert_int_equal(s.drain->moves.n, 4);
    assert_int_equal(s.drain->immovable.n, 0);
    close_scene(&s);
}

static void devices_are_counted_too(void **state)
{
    struct scene s;

    (void)state;
    open_scene(&s);
    for (size_t i = 0; i < 2; i++) {
        struct kvmig__kube_pod *pod = add_guest(&s, i ? "vm3" : "vm2", "alpha", 1);

        amount(&pod->containers.v[0].requests, "example.com/gpu", 1000);
    }
    amount(&cluster_node(&s.c, "beta")->allocatable, "example.com/gpu", 1000);
    plan(&s);
    assert_int_equal(s.drain->moves.n, 2); /* vm1 and one of them */
    assert_int_equal(s.drain->immovable.n, 1);
    assert_non_null(finding(&s.drain->immovable.v[0]->findings, "DEVICE_NOT_AVAILABLE"));
    amount(&cluster_node(&s.c, "gamma")->allocatable, "example.com/gpu", 1000);
    plan(&s);
    assert_int_equal(s.drain->moves.n, 3);
    close_scene(&s);
}

static void keep_apart(struct scene *s, const char *vm, const char *key)
{
    struct kvmig__kube_vmi *vmi = KVMIG__KUBE_FIND(&s->c.kube, VMI, "ns1", vm);
    struct kvmig__kube_pod *pod = KVMIG__KUBE_FIND(&s->c.kube, POD, "ns1", vm);
    struct kvmig__pod_term *terms[] = { KVMIG__PUSH(&vmi->placement.pod_forbidden),
                                        KVMIG__PUSH(&pod->placement.pod_forbidden) };

    label(pod, "app", "db");
    label(vmi, "app", "db");
    for (size_t i = 0; i < 2; i++) {
        struct kvmig__requirement *requirement = KVMIG__PUSH(&terms[i]->selector);

        terms[i]->topology_key = kvmig__strdup(key);
        requirement->key = kvmig__strdup("app");
        requirement->op = kvmig__strdup("In");
        kvmig__strlist_add(&requirement->values, "db");
    }
}

static void the_moved_keep_each_other_away(void **state)
{
    struct scene s;

    (void)state;
    open_scene(&s);
    kvmig__strlist_add(&s.request.nodes, "gamma");
    add_guest(&s, "vm2", "alpha", 2);
    add_guest(&s, "vm3", "gamma", 2);
    keep_apart(&s, "vm2", "kubernetes.io/hostname");
    keep_apart(&s, "vm3", "kubernetes.io/hostname");
    plan(&s); /* only beta is left, and it takes one of them */
    assert_int_equal(s.drain->moves.n, 2);
    assert_int_equal(s.drain->immovable.n, 1);
    assert_non_null(finding(&s.drain->immovable.v[0]->findings, "POD_ANTI_AFFINITY"));
    close_scene(&s);
}

/* vm3 may go to the zone that vm2 has to leave first, and nowhere else. */
static void who_waits_for_room_goes_last(void **state)
{
    const char *const nodes[] = { "alpha", "beta", "gamma", "delta" };
    const char *const zones[] = { "z1", "z2", "z1", "z3" };
    struct scene s;

    (void)state;
    open_scene(&s);
    cluster_add(&s.c, KVMIG__KUBE_NODE, NULL, "delta");
    kvmig__pairs_copy(&cluster_node(&s.c, "delta")->meta.labels, &cluster_node(&s.c, "beta")->meta.labels);
    label(cluster_node(&s.c, "delta"), "kubernetes.io/hostname", "delta");
    for (size_t i = 0; i < 4; i++)
        label(cluster_node(&s.c, nodes[i]), "zone", zones[i]);
    kvmig__strlist_add(&s.request.nodes, "beta");
    add_guest(&s, "vm2", "alpha", 8); /* z1; may go to delta only */
    add_guest(&s, "vm3", "beta", 2); /* z2; gamma is what is left for it */
    require_host(&KVMIG__KUBE_FIND(&s.c.kube, VMI, "ns1", "vm2")->placement.node_required, "delta");
    require_host(&KVMIG__KUBE_FIND(&s.c.kube, VMI, "ns1", "vm3")->placement.node_required, "gamma");
    keep_apart(&s, "vm3", "zone");
    label(KVMIG__KUBE_FIND(&s.c.kube, POD, "ns1", "vm2"), "app", "db");
    kvmig__strlist_add(&s.request.vms, "ns1/vm2");
    kvmig__strlist_add(&s.request.vms, "ns1/vm3");
    plan(&s);
    assert_int_equal(s.drain->moves.n, 2);
    assert_string_equal(s.drain->moves.v[0].plan->vm, "ns1/vm2");
    assert_string_equal(s.drain->moves.v[0].plan->target, "delta");
    assert_string_equal(s.drain->moves.v[1].plan->vm, "ns1/vm3");
    assert_string_equal(s.drain->moves.v[1].plan->target, "gamma");
    assert_true(s.drain->moves.v[1].after);
    assert_int_equal(s.drain->moves.v[1].wave, 2);
    close_scene(&s);
}

static void waves_keep_the_limits(void **state)
{
    static const char *const names[] = { "vm2", "vm3", "vm4", "vm5", "vm6" };
    struct scene s;

    (void)state;
    open_scene(&s);
    kvmig__strlist_add(&s.request.nodes, "beta");
    for (size_t i = 0; i < 5; i++)
        add_guest(&s, names[i], i < 3 ? "alpha" : "beta", 1);
    plan(&s); /* KubeVirt's own: 5 in all, 2 from a node */
    assert_int_equal(s.drain->moves.n, 6);
    assert_int_equal(s.drain->limits.total, 5);
    assert_int_equal(s.drain->limits.out, 2);
    for (uint32_t wave = 1; wave <= 2; wave++) {
        size_t alpha = 0, beta = 0;

        for (size_t i = 0; i < 6; i++) {
            alpha += s.drain->moves.v[i].wave == wave && !strcmp(s.drain->moves.v[i].plan->source, "alpha");
            beta += s.drain->moves.v[i].wave == wave && !strcmp(s.drain->moves.v[i].plan->source, "beta");
        }
        assert_int_equal(alpha, 2);
        assert_int_equal(beta, wave == 1 ? 2 : 0);
    }
    s.request.max_migrations = 1;
    plan(&s);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(s.drain->moves.v[i].wave, i + 1);
    s.request.max_migrations = 0;
    s.request.max_inbound = 1; /* gamma takes all of them */
    plan(&s);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(s.drain->moves.v[i].wave, i + 1);
    close_scene(&s);
}

static void migrations_under_way_take_their_part(void **state)
{
    struct scene s;

    (void)state;
    open_scene(&s);
    add_guest(&s, "vm2", "alpha", 1);
    add_guest(&s, "vm3", "alpha", 1);
    add_guest(&s, "other", "alpha", 1);
    cluster_add_vmim(&s.c, "m", "other", "Running");
    plan(&s);
    assert_int_equal(s.drain->limits.taken, 1);
    assert_int_equal(s.drain->moves.n, 3);
    assert_int_equal(s.drain->immovable.n, 1); /* the one that is moving already */
    assert_non_null(finding(&s.drain->immovable.v[0]->findings, "MIGRATION_IN_PROGRESS"));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(s.drain->moves.v[i].wave, i + 1); /* one of the two from alpha is taken */
    close_scene(&s);
}

static void targets_and_excludes_are_kept(void **state)
{
    struct scene s;

    (void)state;
    open_scene(&s);
    kvmig__strlist_add(&s.request.excludes, "beta");
    assert_int_equal(count_to(plan(&s), "gamma"), 1);
    kvmig__strlist_clear(&s.request.excludes);
    kvmig__strlist_add(&s.request.targets, "beta");
    assert_int_equal(count_to(plan(&s), "beta"), 1);
    kvmig__strlist_add(&s.request.excludes, "beta");
    plan(&s);
    assert_int_equal(s.drain->moves.n, 0);
    assert_int_equal(s.drain->immovable.n, 1);
    assert_non_null(finding(&s.drain->immovable.v[0]->findings, "NO_FEASIBLE_TARGET"));
    close_scene(&s);
}

static void only_the_named_vms_move(void **state)
{
    struct kvmig__view view;
    struct scene s;

    (void)state;
    open_scene(&s);
    add_guest(&s, "vm2", "alpha", 1);
    add_guest(&s, "vm3", "beta", 1);
    kvmig__strlist_add(&s.request.vms, "ns1/vm2");
    kvmig__strlist_add(&s.request.vms, "vm3"); /* is not on alpha */
    plan(&s);
    assert_int_equal(s.drain->moves.n, 1);
    assert_string_equal(s.drain->moves.v[0].plan->vm, "ns1/vm2");
    kvmig__strlist_clear(&s.request.nodes);
    plan(&s);
    assert_int_equal(s.drain->moves.n, 2);
    kvmig__strlist_add(&s.request.vms, "nobody");
    view = (struct kvmig__view){ .kube = &s.c.kube };
    kvmig_drain_unref(s.drain);
    assert_int_equal(kvmig__drain_make(&view, &s.request, NULL, &s.drain), -KVMIG_ENOVM);
    kvmig__strlist_clear(&s.request.vms);
    kvmig__strlist_add(&s.request.nodes, "nowhere");
    assert_int_equal(kvmig__drain_make(&view, &s.request, NULL, &s.drain), -KVMIG_ENOHOST);
    close_scene(&s);
}

static void time_follows_from_memory_and_link(void **state)
{
    char *json = NULL;
    struct scene s;

    (void)state;
    open_scene(&s); /* vm1: 2 GiB */
    add_guest(&s, "vm2", "alpha", 2);
    add_guest(&s, "vm3", "alpha", 2);
    plan(&s);
    assert_true(kvmig_drain_expected_ms(s.drain) == UINT64_MAX);
    s.request.link_mib = 1024; /* 512 for each of two: 4 s */
    plan(&s);
    assert_in_range(kvmig_drain_finish_ms(s.drain, 0), 4000, 4010);
    assert_in_range(kvmig_drain_expected_ms(s.drain), 8000, 8020);
    assert_int_equal(kvmig_drain_to_json(s.drain, &json), 0);
    assert_non_null(strstr(json, "\"waves\""));
    assert_non_null(strstr(json, "\"immovable\":[]"));
    free(json);
    close_scene(&s);
}

static void assert_refused(const struct kvmig_drain_opts *opts, const char *option)
{
    struct kvmig__drain_request request;

    assert_int_equal(kvmig__drain_request_from_opts(&request, opts), -EINVAL);
    assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), option));
    assert_string_not_equal(kvmig_error_hint(kvmig_error_last()), "");
}

static void wrong_options_are_refused(void **state)
{
    struct kvmig_drain_opts opts = KVMIG_DRAIN_OPTS_INIT;
    const char *const nodes[] = { "a", "" };
    struct kvmig__drain_request request;

    (void)state;
    assert_refused(NULL, "nodes");
    assert_refused(&opts, "nodes");
    opts.nodes = nodes;
    opts.n_nodes = 2;
    assert_refused(&opts, "nodes");
    opts.n_nodes = 1;
    opts.targets = nodes;
    opts.n_targets = 2;
    assert_refused(&opts, "targets");
    opts.n_targets = 0;
    opts.n_excludes = 1;
    assert_refused(&opts, "excludes");
    opts.n_excludes = 0;
    opts.n_vms = 1;
    assert_refused(&opts, "vms");
    opts.n_vms = 0;
    opts.reserved = 1;
    assert_refused(&opts, "reserved");
    opts.reserved = 0;
    opts.link_mib = UINT64_MAX;
    assert_refused(&opts, "link_mib");
    opts.link_mib = 1000;
    assert_int_equal(kvmig__drain_request_from_opts(&request, &opts), 0);
    assert_int_equal(request.nodes.n, 1);
    assert_int_equal(request.link_mib, 1000);
    assert_null(request.plan.vm);
    kvmig__drain_request_clear(&request);
}

static void options_of_one_migration_are_refused(void **state)
{
    static const char *const names[] = { "a" };
    static const struct kvmig_volume_change change = { "data", "claim" };
    struct kvmig_drain_opts opts = KVMIG_DRAIN_OPTS_INIT;
    struct kvmig_plan_opts plan = KVMIG_PLAN_OPTS_INIT;
    const struct {
        const char *option;
        const char **slot;
    } texts[] = { { "plan, option vm", &plan.vm },
                  { "plan, option source", &plan.source },
                  { "plan.target", &plan.target },
                  { "plan, option target_name", &plan.target_name },
                  { "plan, option target_xml", &plan.target_xml },
                  { "plan, option persistent_xml", &plan.persistent_xml } };

    (void)state;
    opts.nodes = names;
    opts.n_nodes = 1;
    opts.plan = &plan;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        *texts[i].slot = "b";
        assert_refused(&opts, texts[i].option);
        *texts[i].slot = NULL;
    }
    plan.volume_changes = &change;
    plan.n_volume_changes = 1;
    assert_refused(&opts, "plan, option volume_changes");
    plan.n_volume_changes = 0;
    plan.flags = KVMIG_PLAN_ANY_TARGET; /* then the targets that it assigns would be nobody's */
    assert_refused(&opts, "plan.flags");
    plan.flags = 1ull << 50;
    assert_refused(&opts, "plan, option flags");
}

static void nothing_is_asked_of_null(void **state)
{
    struct kvmig_drain_opts opts = KVMIG_DRAIN_OPTS_INIT;

    (void)state;
    assert_int_equal(kvmig_cluster_plan_drain(NULL, &opts, NULL), -EINVAL);
    assert_int_equal(kvmig_drain_to_json(NULL, NULL), -EINVAL);
    assert_int_equal(kvmig_drain_count(NULL), 0);
    assert_null(kvmig_drain_plan(NULL, 0));
    assert_null(kvmig_drain_immovable(NULL, 0));
    assert_int_equal(kvmig_drain_wave(NULL, 0), 0);
    kvmig_drain_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_vms_of_the_node_get_another),
        cmocka_unit_test(room_is_counted_over_the_whole_set),
        cmocka_unit_test(devices_are_counted_too),
        cmocka_unit_test(the_moved_keep_each_other_away),
        cmocka_unit_test(who_waits_for_room_goes_last),
        cmocka_unit_test(waves_keep_the_limits),
        cmocka_unit_test(migrations_under_way_take_their_part),
        cmocka_unit_test(targets_and_excludes_are_kept),
        cmocka_unit_test(only_the_named_vms_move),
        cmocka_unit_test(time_follows_from_memory_and_link),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(options_of_one_migration_are_refused),
        cmocka_unit_test(nothing_is_asked_of_null),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
