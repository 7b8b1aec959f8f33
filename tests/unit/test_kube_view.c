/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A view of a Kubernetes cluster from the API server's bytes to the caller's events: what it asks for, what it tells, and that it
 * finds its way back after trouble.
 */
#include "kube_world_test.h"

#include <kvmig/plan.h>

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct test {
    struct kvmig_context *context;
    struct world_server *server;
    struct world_view view;
};

static int set_up(void **state)
{
    struct test *test = kvmig__calloc(1, sizeof(*test));

    test_set_alarm();
    test->context = test_context_new(0);
    test->server = world_server_new();
    *state = test;
    return 0;
}

static int tear_down(void **state)
{
    struct test *test = *state;

    world_context_free(test->context);
    world_server_free(test->server);
    free(test);
    return 0;
}

static void open_view(struct test *test, struct kvmig_kube_opts *kube)
{
    world_view_open(&test->view, test->context, test->server, kube);
    world_wait_synced(&test->view);
}

static int32_t plan_of(struct kvmig_cluster *cluster, struct kvmig_plan **out_plan)
{
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;

    opts.vm = "ns1/vm1";
    return kvmig_cluster_plan(cluster, &opts, out_plan);
}

static int32_t verdict_of(struct kvmig_cluster *cluster)
{
    struct kvmig_plan *plan = NULL;
    int32_t verdict;

    if (plan_of(cluster, &plan) != 0)
        fail_msg("%s", kvmig_error_message(kvmig_error_last()));
    verdict = kvmig_plan_verdict(plan);
    kvmig_plan_unref(plan);
    return verdict;
}

static bool json_has(struct kvmig_cluster *cluster, const char *text)
{
    char *json = NULL;
    bool has;

    assert_int_equal(kvmig_cluster_to_json(cluster, &json), 0);
    has = strstr(json, text) != NULL;
    free(json);
    return has;
}

/* ---- what a view shows ---- */

static void a_view_shows_nodes_as_hosts_and_vms(void **state)
{
    struct test *test = *state;

    world_populate(test->server);
    world_view_open(&test->view, test->context, test->server, NULL);
    assert_int_equal(kvmig_cluster_is_synced(test->view.cluster), 0);
    world_wait_heard(&test->view, "synced", 1);
    assert_int_equal(world_heard(&test->view.ear, "found node-a"), 1);
    assert_int_equal(world_heard(&test->view.ear, "found node-b"), 1);
    assert_int_equal(world_heard(&test->view.ear, "notice"), 0);
    assert_true(json_has(test->view.cluster, "node-b"));
    assert_true(json_has(test->view.cluster, "ns1/vm1"));
    assert_int_equal(verdict_of(test->view.cluster), KVMIG_VERDICT_MIGRATABLE);
    world_view_close(&test->view);
}

/* The lists of the kinds may take as long as they like, each for itself. */
static void a_slow_list_delays_the_view_and_breaks_nothing(void **state)
{
    struct test *test = *state;
    int64_t end;

    world_populate(test->server);
    world_fault(test->server,
                &(struct world_fault){ .match = "virtualmachines?", .how = WORLD_FAULT_HOLD, .times = 9 });
    world_view_open(&test->view, test->context, test->server, NULL);
    world_wait_watches(&test->view, KVMIG__KUBE_VMI, 1);
    world_wait_has(&test->view, KVMIG__KUBE_VMI, "ns1", "vm1", 1);
    end = kvmig__now_ms() + 300; /* longer than changes are gathered */
    while (kvmig__now_ms() < end)
        kvmig_context_run(test->context, NULL, NULL, 20);
    assert_int_equal(kvmig_cluster_is_synced(test->view.cluster), 0);
    world_release(test->server);
    world_wait_heard(&test->view, "synced", 1);
    assert_int_equal(world_heard(&test->view.ear, "found node"), 2);
    world_view_close(&test->view);
}

static void a_list_of_many_pages_is_read_whole(void **state)
{
    struct test *test = *state;
    struct kvmig_kube_opts kube = KVMIG_KUBE_OPTS_INIT;

    world_populate(test->server);
    for (int i = 0; i < 23; i++) {
        char name[32], uid[32];

        snprintf(name, sizeof(name), "more-%d", i);
        snprintf(uid, sizeof(uid), "uid-more-%d", i);
        world_vmi(test->server, name, uid, "node-b", NULL);
    }
    kube.page_size = 5;
    open_view(test, &kube);
    assert_true(world_asked(test->server, "virtualmachineinstances?limit=5&continue=") >= 4);
    for (int i = 0; i < 23; i++) {
        char name[32];

        snprintf(name, sizeof(name), "more-%d", i);
        assert_true(world_has(&test->view, KVMIG__KUBE_VMI, "ns1", name, 1));
    }
    world_view_close(&test->view);
}

static void nodes_come_and_go(void **state)
{
    struct test *test = *state;

    world_populate(test->server);
    open_view(test, NULL);
    world_node(test->server, "node-c", NULL);
    world_wait_heard(&test->view, "found node-c", 1);
    world_node(test->server, "node-c", "'zone':'east'");
    assert_true(world_remove(test->server, KVMIG__KUBE_NODE, NULL, "node-b", NULL));
    world_wait_heard(&test->view, "lost node-b: host node-b is not a part of the cluster any more", 1);
    assert_false(json_has(test->view.cluster, "node-b"));
    assert_true(json_has(test->view.cluster, "node-c"));
    world_node(test->server, "node-b", NULL);
    world_wait_heard(&test->view, "found node-b", 2);
    world_view_close(&test->view);
}

/* A node that is gone while VMIs still claim to run there is no reason to lose sight of them. */
static void a_node_that_is_gone_stays_a_host_as_long_as_vms_are_on_it(void **state)
{
    struct test *test = *state;

    world_populate(test->server);
    open_view(test, NULL);
    world_remove(test->server, KVMIG__KUBE_NODE, NULL, "node-a", NULL);
    world_wait_has(&test->view, KVMIG__KUBE_NODE, NULL, "node-a", 0);
    world_node(test->server, "node-c", NULL); /* is told after it */
    world_wait_heard(&test->view, "found node-c", 1);
    assert_int_equal(world_heard(&test->view.ear, "lost node-a"), 0);
    assert_true(json_has(test->view.cluster, "ns1/vm1"));
    world_remove(test->server, KVMIG__KUBE_VMI, "ns1", "vm1", NULL);
    world_wait_heard(&test->view, "lost node-a", 1);
    world_view_close(&test->view);
}

static void migrations_are_told_whoever_started_them(void **state)
{
    struct test *test = *state;

    world_populate(test->server);
    world_vmim(test->server, "old", "uid-old", "vm1", "Succeeded");
    open_view(test, NULL);
    assert_int_equal(world_heard(&test->view.ear, "migration ns1/old ns1/vm1 Succeeded"), 1);
    world_vmim(test->server, "m", "uid-m", "vm1", "Pending");
    world_wait_heard(&test->view, "migration ns1/m ns1/vm1 Pending", 1);
    world_vmim(test->server, "m", "uid-m", "vm1", "Scheduling");
    world_vmim(test->server, "m", "uid-m", "vm1", "Scheduling"); /* no news */
    world_vmim(test->server, "m", "uid-m", "vm1", "Failed");
    world_wait_heard(&test->view, "migration ns1/m ns1/vm1 Failed", 1);
    assert_int_equal(world_heard(&test->view.ear, "migration ns1/m "), 3);
    world_vmim(test->server, "m", "uid-other", "vm1", "Failed"); /* another one of that name */
    world_wait_heard(&test->view, "migration ns1/m ns1/vm1 Failed", 2);
    world_view_close(&test->view);
}

/* ---- what may not be read ---- */

static void kinds_that_may_not_be_read_are_told_once_each(void **state)
{
    static const int32_t forbidden[] = { KVMIG__KUBE_NODE, KVMIG__KUBE_EVENT, KVMIG__KUBE_PV, KVMIG__KUBE_POLICY };
    struct test *test = *state;

    world_populate(test->server);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(forbidden); i++)
        world_forbid(test->server, forbidden[i]);
    world_withhold(test->server, KVMIG__KUBE_NAD);
    open_view(test, NULL);
    assert_int_equal(world_heard(&test->view.ear, "notice CHECK_SKIPPED: nodes cannot be read"), 1);
    assert_int_equal(world_heard(&test->view.ear, "notice CHECK_SKIPPED: events cannot be read"), 1);
    assert_int_equal(world_heard(&test->view.ear, "notice CHECK_SKIPPED: persistentvolumes cannot be read"), 1);
    assert_int_equal(world_heard(&test->view.ear, "notice CHECK_SKIPPED: migrationpolicies cannot be read"), 1);
    assert_int_equal(world_heard(&test->view.ear, "notice"), 4);
    assert_int_equal(world_heard(&test->view.ear, "found node-a"), 1); /* known from the VMI */
    assert_int_equal(world_heard(&test->view.ear, "found node-b"), 0);
    assert_true(verdict_of(test->view.cluster) != KVMIG_VERDICT_BLOCKED);
    world_view_close(&test->view);
}

static void a_cluster_without_kubevirt_is_a_view_without_vms(void **state)
{
    struct test *test = *state;
    struct kvmig_plan *plan = NULL;

    world_populate(test->server);
    for (int32_t kind = KVMIG__KUBE_VMI; kind < KVMIG__N_KUBE_KINDS; kind++)
        world_withhold(test->server, kind);
    open_view(test, NULL);
    assert_int_equal(world_heard(&test->view.ear, "notice"), 0);
    assert_int_equal(world_heard(&test->view.ear, "found node"), 2);
    assert_int_equal(plan_of(test->view.cluster, &plan), -KVMIG_ENOVM);
    world_view_close(&test->view);
}

/* ---- scopes ---- */

static void a_view_of_a_namespace_asks_for_no_other(void **state)
{
    struct test *test = *state;
    struct kvmig_kube_opts kube = KVMIG_KUBE_OPTS_INIT;

    world_populate(test->server);
    kube.namespace_ = "ns1";
    open_view(test, &kube);
    assert_int_equal(world_asked(test->server, "/apis/kubevirt.io/v1/virtualmachineinstances"), 0);
    assert_int_equal(world_asked(test->server, "/api/v1/pods"), 0);
    assert_int_equal(world_asked(test->server, "/api/v1/events"), 0);
    assert_true(world_asked(test->server, "GET /apis/kubevirt.io/v1/namespaces/ns1/virtualmachineinstances?") > 0);
    assert_true(world_asked(test->server, "GET /api/v1/namespaces/ns1/pods?") > 0);
    assert_true(world_asked(test->server, "GET /api/v1/nodes?") > 0);
    assert_true(world_asked(test->server, "GET /apis/kubevirt.io/v1/kubevirts?") > 0); /* of KubeVirt's own namespace */
    assert_int_equal(verdict_of(test->view.cluster), KVMIG_VERDICT_MIGRATABLE);
    world_view_close(&test->view);
}

static void a_view_of_one_vm_asks_for_nothing_of_others(void **state)
{
    struct test *test = *state;
    struct kvmig_kube_opts kube = KVMIG_KUBE_OPTS_INIT;

    world_populate(test->server);
    world_vmi(test->server, "vm2", "uid-vm2", "node-b", NULL);
    world_vmim(test->server, "m2", "uid-m2", "vm2", "Pending");
    world_vmim(test->server, "m1", "uid-m1", "vm1", "Failed");
    kube.vm = "ns1/vm1";
    open_view(test, &kube);
    assert_true(world_has(&test->view, KVMIG__KUBE_VMI, "ns1", "vm1", 1));
    assert_true(world_has(&test->view, KVMIG__KUBE_VMI, "ns1", "vm2", 0));
    assert_true(world_has(&test->view, KVMIG__KUBE_VMIM, "ns1", "m1", 1));
    assert_true(world_has(&test->view, KVMIG__KUBE_VMIM, "ns1", "m2", 0));
    assert_int_equal(world_asked(test->server, "/virtualmachineinstances?limit=500$"), 0);
    assert_int_equal(world_asked(test->server, "/virtualmachineinstancemigrations?limit=500$"), 0);
    assert_int_equal(verdict_of(test->view.cluster), KVMIG_VERDICT_MIGRATABLE);
    world_view_close(&test->view);
}

static void pods_that_are_no_launchers_are_not_asked_for(void **state)
{
    struct test *test = *state;

    world_populate(test->server);
    world_say(test->server,
              "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'ns1','name':'web','labels':{'app':'web'}}}");
    open_view(test, NULL);
    assert_true(world_has(&test->view, KVMIG__KUBE_POD, "ns1", "launcher-vm1", 1));
    assert_true(world_has(&test->view, KVMIG__KUBE_POD, "ns1", "web", 0));
    world_view_close(&test->view);
}

/* Events of a cluster are many. Those of a pod matter while its migration runs. */
static void events_of_a_pod_are_read_while_its_migration_runs(void **state)
{
    struct test *test = *state;

    world_populate(test->server);
    world_say(test->server, "{'apiVersion':'v1','kind':'Event','metadata':{'namespace':'ns1','name':'e1'},"
                            "'involvedObject':{'kind':'Pod','namespace':'ns1','name':'target'},'reason':'Failed'}");
    open_view(test, NULL);
    assert_int_equal(world_watches(test->server, KVMIG__KUBE_EVENT) > 2, 0);
    world_vmim(test->server, "m", "uid-m", "vm1", "Scheduling");
    world_target(test->server, "target", WORLD_VMI_UID, "uid-m", NULL, "Pending");
    world_wait_has(&test->view, KVMIG__KUBE_EVENT, "ns1", "e1", 1);
    world_wait_watches(&test->view, KVMIG__KUBE_EVENT, 3);
    world_vmim(test->server, "m", "uid-m", "vm1", "Failed");
    world_wait_has(&test->view, KVMIG__KUBE_EVENT, "ns1", "e1", 0);
    world_view_close(&test->view);
}

/* ---- snapshots ---- */

static bool is_synced(void *cluster)
{
    return kvmig_cluster_is_synced(cluster) == 1;
}

static void open_snapshot(struct test *test, const char *const *paths, size_t n, struct world_ear *ear,
                          struct kvmig_cluster **out)
{
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;

    opts.snapshot_paths = paths;
    opts.n_snapshot_paths = n;
    opts.on_event = world_callback(ear);
    assert_int_equal(kvmig_cluster_open(test->context, &opts, out), 0);
    world_run(test->context, is_synced, *out, "the snapshot to be synced");
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_snapshot_of_a_live_view_gives_the_same_plan(void **state)
{
    struct test *test = *state;
    struct kvmig_cluster *again = NULL;
    struct world_ear ear = { 0 };
    char path[] = "/tmp/kvmig-snapshot-XXXXXX", *json = NULL, *json_again = NULL;
    const char *paths[] = { path };
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    world_populate(test->server);
    world_vmim(test->server, "m", "uid-m", "vm1", "Failed");
    open_view(test, NULL);
    assert_int_equal(kvmig_cluster_snapshot(test->view.cluster, &json), 0);
    assert_null(strstr(json, "secret"));
    write_file(path, json);
    open_snapshot(test, paths, 1, &ear, &again);
    assert_int_equal(verdict_of(again), verdict_of(test->view.cluster));
    assert_int_equal(verdict_of(again), KVMIG_VERDICT_MIGRATABLE);
    assert_int_equal(world_heard(&ear, "found node"), 2);
    assert_int_equal(world_heard(&ear, "notice"), 0);
    assert_int_equal(kvmig_cluster_snapshot(again, &json_again), 0);
    assert_string_equal(json, json_again);
    kvmig_cluster_unref(again);
    world_view_close(&test->view);
    test_drain(test->context);
    assert_int_equal(ear.n_frees, 1);
    world_ear_clear(&ear);
    free(json);
    free(json_again);
    remove(path);
}

static void files_that_cannot_be_read_are_told_and_the_rest_loads(void **state)
{
    struct test *test = *state;
    char folder[] = "/tmp/kvmig-snapshots-XXXXXX";
    struct kvmig_cluster *cluster = NULL;
    struct world_ear ear = { 0 };
    char *good, *bad, *missing;

    assert_non_null(mkdtemp(folder));
    good = kvmig__asprintf("%s/nodes.yaml", folder);
    bad = kvmig__asprintf("%s/broken.json", folder);
    missing = kvmig__asprintf("%s/none.yaml", folder);
    write_file(good, "apiVersion: v1\nkind: Node\nmetadata:\n  name: node-y\n---\napiVersion: v1\nkind: Secret\n"
                     "metadata:\n  name: s\n");
    write_file(bad, "{\"apiVersion\": \"v1\", \"kind\": \"Node\", ");
    {
        const char *paths[] = { folder, missing };

        open_snapshot(test, paths, 2, &ear, &cluster);
    }
    assert_int_equal(world_heard(&ear, "found node-y"), 1);
    assert_int_equal(world_heard(&ear, "notice SNAPSHOT_UNREADABLE"), 2);
    kvmig_cluster_unref(cluster);
    test_drain(test->context);
    assert_int_equal(ear.n_frees, 1);
    world_ear_clear(&ear);
    remove(good);
    remove(bad);
    rmdir(folder);
    free(good);
    free(bad);
    free(missing);
}

/* ---- trouble ---- */

static void a_server_that_goes_away_is_told_and_found_again(void **state)
{
    struct test *test = *state;
    struct kvmig_kube_opts kube = KVMIG_KUBE_OPTS_INIT;

    world_populate(test->server);
    kube.request_timeout_ms = 1000; /* patience is no longer than that */
    open_view(test, &kube);
    world_away(test->server, true);
    world_wait_heard(&test->view, "lost node-a", 1);
    world_wait_heard(&test->view, "lost node-b", 1);
    assert_true(json_has(test->view.cluster, "ns1/vm1")); /* what is known is kept */
    world_node(test->server, "node-c", NULL);
    world_remove(test->server, KVMIG__KUBE_NODE, NULL, "node-b", NULL);
    world_away(test->server, false);
    world_wait_heard(&test->view, "found node-a", 2);
    world_wait_heard(&test->view, "found node-c", 1);
    world_wait_has(&test->view, KVMIG__KUBE_NODE, NULL, "node-b", 0);
    world_view_close(&test->view);
}

static void nothing_is_missed_however_a_watch_ends(void **state)
{
    static const enum world_cut ways[] = { WORLD_CUT_END, WORLD_CUT_CLOSE, WORLD_CUT_IN_LINE, WORLD_CUT_EXPIRED };
    struct test *test = *state;

    world_populate(test->server);
    open_view(test, NULL);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(ways); i++) {
        char name[32];

        snprintf(name, sizeof(name), "vm-%zu", i);
        world_wait_watches(&test->view, KVMIG__KUBE_VMI, 1);
        assert_int_equal(world_cut(test->server, KVMIG__KUBE_VMI, ways[i]), 1);
        world_vmi(test->server, name, name, "node-b", NULL);
        if (ways[i] == WORLD_CUT_EXPIRED) { /* what falls into the gap shows only in the new list */
            world_remove(test->server, KVMIG__KUBE_VMI, "ns1", "vm-0", NULL);
            world_compact(test->server);
        }
        world_wait_has(&test->view, KVMIG__KUBE_VMI, "ns1", name, 1);
    }
    world_wait_has(&test->view, KVMIG__KUBE_VMI, "ns1", "vm-0", 0);
    assert_true(world_has(&test->view, KVMIG__KUBE_VMI, "ns1", "vm-1", 1));
    assert_int_equal(world_heard(&test->view.ear, "lost"), 0);
    world_view_close(&test->view);
}

static void lists_meet_trouble_and_are_tried_again(void **state)
{
    struct test *test = *state;

    world_populate(test->server);
    world_fault(test->server, &(struct world_fault){ .match = "/nodes?limit",
                                                     .how = WORLD_FAULT_ANSWER,
                                                     .status = 429,
                                                     .reason = "TooManyRequests",
                                                     .retry_after_s = 1,
                                                     .times = 1 });
    world_fault(test->server,
                &(struct world_fault){ .match = "/pods?limit", .how = WORLD_FAULT_ANSWER, .status = 500, .times = 1 });
    world_fault(test->server,
                &(struct world_fault){ .match = "/virtualmachines?limit", .how = WORLD_FAULT_CLOSE, .times = 1 });
    open_view(test, NULL);
    assert_int_equal(world_heard(&test->view.ear, "notice"), 0);
    assert_int_equal(world_heard(&test->view.ear, "found node"), 2);
    assert_int_equal(verdict_of(test->view.cluster), KVMIG_VERDICT_MIGRATABLE);
    world_view_close(&test->view);
}

static void an_old_list_is_not_believed(void **state)
{
    struct test *test = *state;

    world_populate(test->server);
    open_view(test, NULL);
    world_wait_watches(&test->view, KVMIG__KUBE_VMI, 1);
    world_stale_lists(test->server, KVMIG__KUBE_VMI, 2);
    world_vmi(test->server, "vm2", "uid-vm2", "node-b", NULL);
    world_wait_has(&test->view, KVMIG__KUBE_VMI, "ns1", "vm2", 1);
    assert_int_equal(world_cut(test->server, KVMIG__KUBE_VMI, WORLD_CUT_EXPIRED), 1);
    world_wait_asked(&test->view, "virtualmachineinstances?limit=500$", 4);
    assert_true(world_has(&test->view, KVMIG__KUBE_VMI, "ns1", "vm2", 1));
    world_wait_watches(&test->view, KVMIG__KUBE_VMI, 1);
    assert_true(world_has(&test->view, KVMIG__KUBE_VMI, "ns1", "vm2", 1));
    world_view_close(&test->view);
}

/* ---- the end ---- */

static void a_view_may_be_let_go_of_at_any_moment(void **state)
{
    struct test *test = *state;

    world_populate(test->server);
    world_view_open(&test->view, test->context, test->server, NULL);
    world_view_close(&test->view); /* credentials are being loaded */
    world_fault(test->server, &(struct world_fault){ .match = "", .how = WORLD_FAULT_HOLD, .times = 1 });
    world_view_open(&test->view, test->context, test->server, NULL);
    world_wait_asked(&test->view, "GET ", 17);
    world_view_close(&test->view); /* lists are out */
    world_release(test->server);
    open_view(test, NULL);
    world_wait_watches(&test->view, -1, 17);
    world_view_close(&test->view); /* watches are open */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_view_shows_nodes_as_hosts_and_vms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_slow_list_delays_the_view_and_breaks_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_of_many_pages_is_read_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nodes_come_and_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_node_that_is_gone_stays_a_host_as_long_as_vms_are_on_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(migrations_are_told_whoever_started_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kinds_that_may_not_be_read_are_told_once_each, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cluster_without_kubevirt_is_a_view_without_vms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_view_of_a_namespace_asks_for_no_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_view_of_one_vm_asks_for_nothing_of_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pods_that_are_no_launchers_are_not_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(events_of_a_pod_are_read_while_its_migration_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_snapshot_of_a_live_view_gives_the_same_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_that_cannot_be_read_are_told_and_the_rest_loads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_that_goes_away_is_told_and_found_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_missed_however_a_watch_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_meet_trouble_and_are_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_old_list_is_not_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_view_may_be_let_go_of_at_any_moment, set_up, tear_down),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
