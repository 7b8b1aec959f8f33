/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A cluster view of files: what it shows of libvirt hosts, plans without and with a target, that a refresh replaces everything, and that
 * nothing can be done to what is only told of.
 */
#include "cluster_test.h"
#include "files_test.h"

#include <errno.h>

#include <kvmig/kube.h>
#include <kvmig/plan.h>
#include <kvmig/session.h>

#define DOMAIN(machine)                                                                                                \
    "<domain type='kvm'><name>vm1</name><uuid>aaaaaaaa-0000-4000-8000-000000000001</uuid><memory>1048576</memory>"     \
    "<vcpu>2</vcpu><os><type arch='x86_64' machine='" machine "'>hvm</type></os>"                                      \
    "<cpu mode='custom'><model>Westmere</model></cpu><devices><emulator>/usr/bin/qemu-kvm</emulator>"                  \
    "<disk type='block' device='disk'><driver name='qemu' type='raw' cache='none'/><source dev='/dev/vg/vm1'/>"        \
    "<target dev='vda' bus='virtio'/></disk><disk type='file' device='cdrom'><source file='/iso/a.iso'/>"              \
    "<target dev='sda' bus='sata'/><readonly/></disk><interface type='bridge'><source bridge='br0'/></interface>"      \
    "<interface type='network'><source network='lan'/></interface></devices></domain>"

struct test {
    struct folder *folder;
    struct test_view view;
    const char *hosts[4];
    size_t n_hosts;
};

static int set_up(void **state)
{
    struct test *test = kvmig__calloc(1, sizeof(*test));
    void *folder;

    folder_set_up(&folder);
    test->folder = folder;
    *state = test;
    return 0;
}

static int tear_down(void **state)
{
    struct test *test = *state;
    void *folder = test->folder;

    folder_tear_down(&folder);
    free(test);
    return 0;
}

static void open_view(struct test *test)
{
    struct kvmig_cluster_opts opts = test_view_opts(&test->view);
    const char *paths[] = { test->folder->path };

    opts.snapshot_paths = paths;
    opts.n_snapshot_paths = 1;
    opts.snapshot_source = "node-a";
    opts.snapshot_hosts = test->hosts;
    opts.n_snapshot_hosts = test->n_hosts;
    test_view_open(&test->view, &opts);
    test_view_await(&test->view, "cluster-synced", 1);
}

static struct kvmig_plan *plan_of(struct test *test, const char *target)
{
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;
    struct kvmig_plan *plan = NULL;

    opts.vm = "vm1";
    opts.target = target;
    assert_int_equal(kvmig_cluster_plan(test->view.cluster, &opts, &plan), 0);
    return plan;
}

static bool plan_has(const struct kvmig_plan *plan, const char *code)
{
    return kvmig__findings_has(kvmig_plan_findings(plan), code);
}

static void the_vm_alone(void **state)
{
    struct test *test = *state;
    struct kvmig_plan *plan;

    folder_write(test->folder, "vm.xml", DOMAIN("pc-q35-8.2"));
    open_view(test);
    assert_true(test_view_saw(&test->view, "host-found node-a"));
    plan = plan_of(test, NULL);
    assert_int_equal(kvmig_plan_verdict(plan), KVMIG_VERDICT_MIGRATABLE);
    assert_null(kvmig_plan_target(plan));
    assert_string_equal(kvmig_plan_source(plan), "node-a");
    assert_int_equal(kvmig_plan_candidate_count(plan), 0);
    assert_int_equal(kvmig_plan_disk_count(plan), 2);
    assert_false(plan_has(plan, "NO_FEASIBLE_TARGET"));
    kvmig_plan_unref(plan);
    test_view_close(&test->view);
}

static void a_target_that_is_only_named(void **state)
{
    struct test *test = *state;
    struct kvmig_plan *plan;
    const struct kvmig_findings *findings;

    test->hosts[test->n_hosts++] = "node-b";
    folder_write(test->folder, "vm.xml", DOMAIN("pc-q35-8.2"));
    open_view(test);
    plan = plan_of(test, "node-b");
    /* Nothing is known of it: no bridge, pool, network, emulator, medium is missing. */
    assert_int_equal(kvmig_plan_verdict(plan), KVMIG_VERDICT_MIGRATABLE);
    assert_string_equal(kvmig_plan_target(plan), "node-b");
    findings = kvmig_plan_findings(plan);
    for (size_t i = 0; i < kvmig_findings_count(findings); i++)
        assert_int_equal(kvmig_finding_severity(kvmig_findings_get(findings, i)), KVMIG_SEVERITY_INFO);
    kvmig_plan_unref(plan);
    test_view_close(&test->view);
}

static void a_refresh_reads_again(void **state)
{
    struct test *test = *state;
    struct kvmig_plan *plan;

    folder_write(test->folder, "vm.xml", DOMAIN("q35"));
    folder_write(test->folder, "versions",
                 "{\"observation\":\"versions\",\"source\":{\"qemu\":\"6.2.0\"},\"target\":{\"qemu\":\"8.2.0\"}}");
    open_view(test);
    plan = plan_of(test, NULL);
    assert_true(plan_has(plan, "MACHINE_TYPE_ALIAS"));
    assert_int_equal(kvmig_plan_verdict(plan), KVMIG_VERDICT_MIGRATABLE_WITH_RISK);
    kvmig_plan_unref(plan);
    folder_write(test->folder, "vm.xml", DOMAIN("pc-q35-6.2"));
    assert_int_equal(kvmig_cluster_refresh(test->view.cluster), 0);
    test_view_await(&test->view, "cluster-synced", 2);
    plan = plan_of(test, NULL);
    assert_false(plan_has(plan, "MACHINE_TYPE_ALIAS"));
    kvmig_plan_unref(plan);
    /* The host goes with the last file that tells of it. */
    folder_write(test->folder, "vm.xml", "nothing");
    assert_int_equal(kvmig_cluster_refresh(test->view.cluster), 0);
    test_view_await(&test->view, "cluster-synced", 3);
    assert_true(test_view_saw(&test->view, "host-lost node-a"));
    folder_write(test->folder, "vm.xml", DOMAIN("pc-q35-6.2"));
    assert_int_equal(kvmig_cluster_refresh(test->view.cluster), 0);
    assert_int_equal(kvmig_cluster_refresh(test->view.cluster), 0);
    test_view_await(&test->view, "cluster-synced", 4);
    kvmig_plan_unref(plan_of(test, NULL));
    test_view_close(&test->view);
}

static int32_t has_failed(void *session)
{
    return kvmig_session_phase(session) == KVMIG_PHASE_FAILED;
}

static void nothing_can_be_done_there(void **state)
{
    struct test *test = *state;
    struct kvmig_session_opts opts = KVMIG_SESSION_OPTS_INIT;
    struct kvmig_session *session = NULL;
    struct kvmig_plan *plan;
    char *json = NULL;

    test->hosts[test->n_hosts++] = "node-b";
    folder_write(test->folder, "vm.xml", DOMAIN("pc-q35-8.2"));
    open_view(test);
    assert_int_equal(kvmig_cluster_snapshot(test->view.cluster, &json), -ENOTSUP);
    assert_int_equal(kvmig_cluster_to_json(test->view.cluster, &json), 0);
    assert_non_null(strstr(json, "node-b"));
    assert_non_null(strstr(json, "vm1"));
    free(json);
    plan = plan_of(test, "node-b");
    assert_int_equal(kvmig_session_new(test->view.cluster, plan, &opts, &session), 0);
    assert_int_equal(kvmig_session_start(session), 0);
    assert_int_equal(kvmig_context_run(test->view.context, has_failed, session, TEST_DEADLINE_MS), 0);
    kvmig_session_unref(session);
    kvmig_plan_unref(plan);
    test_view_close(&test->view);
}

static void closed_while_it_reads(void **state)
{
    struct test *test = *state;
    struct kvmig_cluster_opts opts = test_view_opts(&test->view);
    const char *paths[] = { test->folder->path };

    opts.snapshot_paths = paths;
    opts.n_snapshot_paths = 1;
    test_view_open(&test->view, &opts);
    test_view_close(&test->view);
}

static void options_are_checked(void **state)
{
    static const char *const wrong[] = { "", "=a", "a=" };
    struct test *test = *state;
    struct kvmig_context *context = NULL;
    struct kvmig_cluster *cluster = NULL;
    const char *paths[] = { test->folder->path };

    assert_int_equal(kvmig_context_new(NULL, &context), 0);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(wrong); i++) {
        struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;

        opts.snapshot_paths = paths;
        opts.n_snapshot_paths = 1;
        opts.snapshot_hosts = &wrong[i];
        opts.n_snapshot_hosts = 1;
        assert_int_equal(kvmig_cluster_open(context, &opts, &cluster), -EINVAL);
    }
    kvmig_context_unref(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_vm_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_target_that_is_only_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refresh_reads_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_can_be_done_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closed_while_it_reads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_are_checked, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
