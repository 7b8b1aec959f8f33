/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of interface classification share: an interface and a launcher to begin with, and one classifier that
 * is shown pass after pass. Time is what the test says it is.
 */
#ifndef KVMIG_TESTS_INTERFACE_TEST_H
#define KVMIG_TESTS_INTERFACE_TEST_H

#include "base/base.h"
#include <kvmig/interface.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODE "node-b"
#define NOW 1000000
#define WALL 1700000000000
#define MINUTE 60000
#define UUID "aaaaaaaa-0000-4000-8000-000000000801"
/* An interface of ns1/vmi-77 that has been there and installed for long. */
#define IFACE                                                                                                          \
    .size = sizeof(struct kvmig_interface), .uuid = UUID, .name = "e19e7_0001_h", .iface_id = "vmi-77.ns1",            \
    .vm_namespace = "ns1", .vm_id = "vmi-77", .ofport = 5, .link_state = "up", .ovn_installed = 1,                     \
    .ovn_installed_ts_ms = WALL - 10 * MINUTE, .first_seen_ms = NOW - 10 * MINUTE
#define LAUNCHER                                                                                                       \
    .size = sizeof(struct kvmig_workload), .pod_namespace = "ns1", .name = "virt-launcher-vmi-77-abc12",               \
    .vmi_id = "vmi-77", .domain = "vmi-77", .display_name = "web-frontend", .node = NODE
#define RUNNING_LAUNCHER LAUNCHER, .phase = KVMIG_WORKLOAD_RUNNING

#define LIVE KVMIG_INTERFACE_LIVE
#define INITIALISING KVMIG_INTERFACE_INITIALISING
#define ORPHAN KVMIG_INTERFACE_ORPHAN
#define UNKNOWN KVMIG_INTERFACE_UNKNOWN
#define BECAUSE(reason) KVMIG_INTERFACE_REASON_##reason

struct bench {
    struct kvmig_interface_classifier *classifier;
    struct kvmig_interface_report *report;
    struct kvmig_interface interfaces[2];
    struct kvmig_workload workloads[3];
    const struct kvmig_interface *interface_list[2];
    const struct kvmig_workload *workload_list[3];
    const char *operation;
    struct kvmig_interface_pass pass;
};

static inline void bench_open(struct bench *bench)
{
    struct kvmig_interface_classifier_opts opts = KVMIG_INTERFACE_CLASSIFIER_OPTS_INIT;

    *bench = (struct bench){ .pass = KVMIG_INTERFACE_PASS_INIT };
    opts.node = NODE;
    assert_int_equal(kvmig_interface_classifier_new(&opts, &bench->classifier), 0);
    for (size_t i = 0; i < 3; i++)
        bench->workload_list[i] = &bench->workloads[i];
    for (size_t i = 0; i < 2; i++) {
        bench->interfaces[i] = (struct kvmig_interface){ IFACE };
        bench->interface_list[i] = &bench->interfaces[i];
    }
    bench->interfaces[1].uuid = "aaaaaaaa-0000-4000-8000-000000000802";
    bench->interfaces[1].name = "other";
    bench->pass.interfaces = bench->interface_list;
    bench->pass.n_interfaces = 1;
    bench->pass.workloads = bench->workload_list;
    bench->pass.now_ms = NOW;
    bench->pass.wall_ms = WALL;
}

static inline void bench_close(struct bench *bench)
{
    kvmig_interface_report_free(bench->report);
    kvmig_interface_classifier_free(bench->classifier);
}

static inline const struct kvmig_interface_verdict *classify(struct bench *bench)
{
    kvmig_interface_report_free(bench->report);
    assert_int_equal(kvmig_interface_classify(bench->classifier, &bench->pass, &bench->report), 0);
    assert_int_equal(kvmig_interface_report_count(bench->report), bench->pass.n_interfaces);
    assert_null(kvmig_interface_report_get(bench->report, bench->pass.n_interfaces));
    return kvmig_interface_report_get(bench->report, 0);
}

/* A pass some time after the one before. */
static inline const struct kvmig_interface_verdict *classify_after(struct bench *bench, int64_t ms)
{
    bench->pass.now_ms += ms;
    bench->pass.wall_ms += ms;
    return classify(bench);
}

static inline void bench_run(struct bench *bench)
{
    bench->workloads[0] = (struct kvmig_workload){ RUNNING_LAUNCHER };
    bench->pass.n_workloads = 1;
}

#endif
