/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The classifier as a handle: takes the options and passes of callers, whichever version of the headers they were built
 * with, asks the rules (interface_class.c), and keeps what they want remembered. It judges nothing itself.
 *
 * Public calls come from any thread; a mutex of the classifier's own guards the memory. It has no context: nothing here
 * waits.
 */
#include "port/interface_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_GRACE_MS 60000
#define DEFAULT_SETTLE_MS 5000 /* more than twice the longest claim throttle of OVN */
#define LEAST_PASSES 2
#define LONGEST_MS ((uint64_t)24 * 3600 * 1000)

struct kvmig_interface_classifier {
    char *node;
    int64_t grace_ms, settle_ms;
    uint32_t passes;
    pthread_mutex_t lock;
    struct kvmig__iface_memories memories;
};

/* A pass as this library knows it; the arrays are owned, what they point to is the caller's. */
struct pass {
    struct kvmig_interface_pass own;
    struct kvmig_interface *interfaces;
    struct kvmig_workload *workloads; /* NULL = there is no inventory */
    size_t n_interfaces;
};

int32_t kvmig_interface_init(struct kvmig_interface *interface, size_t size)
{
    return kvmig__opts_init(interface, size, "kvmig_interface_init");
}

int32_t kvmig_workload_init(struct kvmig_workload *workload, size_t size)
{
    return kvmig__opts_init(workload, size, "kvmig_workload_init");
}

int32_t kvmig_interface_classifier_opts_init(struct kvmig_interface_classifier_opts *opts, size_t size)
{
    return kvmig__opts_init(opts, size, "kvmig_interface_classifier_opts_init");
}

int32_t kvmig_interface_pass_init(struct kvmig_interface_pass *pass, size_t size)
{
    return kvmig__opts_init(pass, size, "kvmig_interface_pass_init");
}

static int32_t fail(const char *where, const char *hint, const char *message)
{
    return kvmig__fail(kvmig__error_new(EINVAL, where, NULL, hint, "%s", message));
}

/* ---- life ---- */

static int32_t check_opts(const struct kvmig_interface_classifier_opts *opts)
{
    if (!opts->node || !*opts->node)
        return fail("kvmig_interface_classifier_new: node", "Name the node whose Open vSwitch is read.",
                    "no node is given");
    if (opts->grace_ms > LONGEST_MS)
        return fail("kvmig_interface_classifier_new: grace_ms", "Milliseconds, at most one day.",
                    "the grace period is too long");
    if (opts->settle_ms > LONGEST_MS)
        return fail("kvmig_interface_classifier_new: settle_ms", "Milliseconds, at most one day.",
                    "the time to settle is too long");
    if (opts->passes && opts->passes < LEAST_PASSES)
        return fail("kvmig_interface_classifier_new: passes", "Use 2 or more; 0 means 2.",
                    "a single pass does not prove that an interface is left over");
    if (opts->reserved)
        return fail("kvmig_interface_classifier_new: reserved", "Leave it 0.", "a reserved member is set");
    return 0;
}

int32_t kvmig_interface_classifier_new(const struct kvmig_interface_classifier_opts *opts,
                                       struct kvmig_interface_classifier **out_classifier)
{
    struct kvmig_interface_classifier_opts own;
    struct kvmig_interface_classifier *classifier;
    int32_t rc;

    if (!out_classifier)
        return fail("kvmig_interface_classifier_new: out_classifier", "Pass the address of a pointer.",
                    "there is no place for the new classifier");
    *out_classifier = NULL;
    rc = kvmig__opts_copy(&own, sizeof(own), opts, "kvmig_interface_classifier_new: opts");
    if (!rc)
        rc = check_opts(&own);
    if (rc)
        return rc;
    classifier = kvmig__calloc(1, sizeof(*classifier));
    classifier->node = kvmig__strdup(own.node);
    classifier->grace_ms = own.grace_ms ? (int64_t)own.grace_ms : DEFAULT_GRACE_MS;
    classifier->settle_ms = own.settle_ms ? (int64_t)own.settle_ms : DEFAULT_SETTLE_MS;
    classifier->passes = own.passes ? own.passes : LEAST_PASSES;
    pthread_mutex_init(&classifier->lock, NULL);
    *out_classifier = classifier;
    return 0;
}

void kvmig_interface_classifier_free(struct kvmig_interface_classifier *classifier)
{
    if (!classifier)
        return;
    kvmig__iface_memories_clear(&classifier->memories);
    pthread_mutex_destroy(&classifier->lock);
    free(classifier->node);
    free(classifier);
}

/* ---- reading a pass ---- */

/* Says which entry of which array is wrong. */
static int32_t fail_entry(const char *array, size_t index, const char *hint, const char *message)
{
    char *where = kvmig__asprintf("kvmig_interface_classify: %s[%zu]", array, index);
    int32_t rc = fail(where, hint, message);

    free(where);
    return rc;
}

static int32_t copy_entry(void *dst, size_t size, const void *src, const char *array, size_t index)
{
    char *where;
    int32_t rc;

    if (!src)
        return fail_entry(array, index, "Leave out entries that there are not.", "an entry is NULL");
    where = kvmig__asprintf("kvmig_interface_classify: %s[%zu]", array, index);
    rc = kvmig__opts_copy(dst, size, src, where);
    free(where);
    return rc;
}

static int32_t copy_interface(struct kvmig_interface *dst, const struct kvmig_interface *src, size_t index)
{
    int32_t rc = copy_entry(dst, sizeof(*dst), src, "interfaces", index);

    if (!rc && (!dst->uuid || !*dst->uuid))
        rc = fail_entry("interfaces", index, "Give the row's _uuid; names are used again.", "an interface has no uuid");
    if (!rc && dst->reserved)
        rc = fail_entry("interfaces", index, "Leave the member reserved 0.", "a reserved member is set");
    return rc;
}

static int32_t copy_workload(struct kvmig_workload *dst, const struct kvmig_workload *src, size_t index)
{
    int32_t rc = copy_entry(dst, sizeof(*dst), src, "workloads", index);

    if (rc)
        return rc;
    if (!kvmig_workload_kind_name(dst->kind))
        return fail_entry("workloads", index, "Use a member of enum kvmig_workload_kind.", "unknown kind of workload");
    if (!kvmig_workload_phase_name(dst->phase))
        return fail_entry("workloads", index, "Use a member of enum kvmig_workload_phase.",
                          "unknown phase of a workload");
    if (dst->kind != KVMIG_WORKLOAD_LAUNCHER && (!dst->name || !*dst->name))
        return fail_entry("workloads", index, "Name the pod or domain.", "a workload has no name");
    if (dst->reserved)
        return fail_entry("workloads", index, "Leave the member reserved 0.", "a reserved member is set");
    return 0;
}

static int32_t copy_interfaces(struct pass *out)
{
    const struct kvmig_interface_pass *own = &out->own;
    const size_t n = own->list ? kvmig_interfaces_count(own->list) : own->n_interfaces;
    int32_t rc = 0;

    if (own->list && (own->interfaces || own->n_interfaces))
        return fail("kvmig_interface_classify: interfaces", "Leave out list or interfaces.",
                    "the interfaces are given twice");
    if (n && !own->list && !own->interfaces)
        return fail("kvmig_interface_classify: interfaces", "Give the array, or leave n_interfaces 0.",
                    "there is a number of interfaces, but no array");
    out->interfaces = kvmig__calloc(n + 1, sizeof(*out->interfaces));
    out->n_interfaces = n;
    for (size_t i = 0; i < n && !rc; i++)
        rc =
            copy_interface(&out->interfaces[i], own->list ? kvmig_interfaces_get(own->list, i) : own->interfaces[i], i);
    return rc;
}

static int32_t copy_workloads(struct pass *out)
{
    const struct kvmig_interface_pass *own = &out->own;
    int32_t rc = 0;

    if (!own->workloads)
        return own->n_workloads ? fail("kvmig_interface_classify: workloads", "Give the array, or leave n_workloads 0.",
                                       "there is a number of workloads, but no array")
                                : 0;
    out->workloads = kvmig__calloc(own->n_workloads + 1, sizeof(*out->workloads));
    for (size_t i = 0; i < own->n_workloads && !rc; i++)
        rc = copy_workload(&out->workloads[i], own->workloads[i], i);
    return rc;
}

static int32_t check_operations(const struct kvmig_interface_pass *own)
{
    if (own->n_operations && !own->operations)
        return fail("kvmig_interface_classify: operations", "Give the array, or leave n_operations 0.",
                    "there is a number of operations, but no array");
    for (size_t i = 0; i < own->n_operations; i++) {
        if (!own->operations[i])
            return fail_entry("operations", i, "Leave out entries that there are not.", "an entry is NULL");
    }
    return 0;
}

static int32_t set_times(struct kvmig_interface_pass *own)
{
    if (own->now_ms < 0 || own->wall_ms < 0)
        return fail(own->now_ms < 0 ? "kvmig_interface_classify: now_ms" : "kvmig_interface_classify: wall_ms",
                    "Milliseconds; 0 is the library's own clock.", "a time is negative");
    if (!own->now_ms)
        own->now_ms = kvmig__now_ms();
    if (!own->wall_ms)
        own->wall_ms = kvmig__wall_ms();
    return 0;
}

static int32_t read_pass(struct pass *out, const struct kvmig_interface_pass *pass)
{
    int32_t rc = kvmig__opts_copy(&out->own, sizeof(out->own), pass, "kvmig_interface_classify: pass");

    if (!rc)
        rc = set_times(&out->own);
    if (!rc)
        rc = copy_interfaces(out);
    if (!rc)
        rc = copy_workloads(out);
    if (!rc)
        rc = check_operations(&out->own);
    return rc;
}

static void pass_clear(struct pass *pass)
{
    free(pass->interfaces);
    free(pass->workloads);
}

/* ---- judging ---- */

static int32_t fail_clock(int64_t now_ms, int64_t last_ms)
{
    char *evidence = kvmig__asprintf("now_ms = %lld after %lld", (long long)now_ms, (long long)last_ms);
    int32_t rc =
        kvmig__fail(kvmig__error_new(EINVAL, "kvmig_interface_classify: now_ms", evidence,
                                     "Use one clock that never goes back, such as CLOCK_MONOTONIC, for all passes.",
                                     "the clock went back since the last pass"));

    free(evidence);
    return rc;
}

static int32_t judge(struct kvmig_interface_classifier *classifier, const struct pass *pass,
                     struct kvmig_interface_report **out_report)
{
    const struct kvmig__iface_view view = {
        .node = classifier->node,
        .grace_ms = classifier->grace_ms,
        .settle_ms = classifier->settle_ms,
        .passes = classifier->passes,
        .now_ms = pass->own.now_ms,
        .wall_ms = pass->own.wall_ms,
        .interfaces = pass->interfaces,
        .n_interfaces = pass->n_interfaces,
        .workloads = pass->workloads,
        .n_workloads = pass->own.n_workloads,
        .inventory_error = pass->own.inventory_error,
        .operations = pass->own.operations,
        .n_operations = pass->own.n_operations,
    };
    struct kvmig__iface_memories after = { .v = NULL };
    struct kvmig__iface_decision *decisions;

    if (view.now_ms < classifier->memories.now_ms)
        return fail_clock(view.now_ms, classifier->memories.now_ms);
    decisions = kvmig__calloc(view.n_interfaces + 1, sizeof(*decisions));
    kvmig__ifaces_classify(&view, &classifier->memories, &after, decisions);
    kvmig__iface_memories_clear(&classifier->memories);
    classifier->memories = after;
    *out_report = kvmig__iface_report_new(&view, decisions);
    free(decisions);
    return 0;
}

int32_t kvmig_interface_classify(struct kvmig_interface_classifier *classifier, const struct kvmig_interface_pass *pass,
                                 struct kvmig_interface_report **out_report)
{
    struct pass own = { .interfaces = NULL };
    int32_t rc;

    if (out_report)
        *out_report = NULL;
    if (!classifier || !pass || !out_report)
        return fail(!classifier ? "kvmig_interface_classify: classifier"
                    : !pass     ? "kvmig_interface_classify: pass"
                                : "kvmig_interface_classify: out_report",
                    NULL, "a required pointer is NULL");
    rc = read_pass(&own, pass);
    if (!rc) {
        pthread_mutex_lock(&classifier->lock);
        rc = judge(classifier, &own, out_report);
        pthread_mutex_unlock(&classifier->lock);
    }
    pass_clear(&own);
    return rc;
}
