/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Measures the planner on a folder that generate wrote, through the public interface: CPU time and peak memory of loading, CPU time of
 * planning one VM over all nodes, a drain of the first node, and every VM in turn. Prints one line of JSON. "load" stops after the
 * loading. One thread but for the library's own.
 *
 *   measure FOLDER [load]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <kvmig/kvmig.h>

#define ROUNDS 201

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
    const struct kvmig_error *error = kvmig_error_last();

    fprintf(stderr, "measure: %s: %s\n", what, error ? kvmig_error_message(error) : "?");
    exit(1);
}

static int32_t is_synced(void *cluster)
{
    return kvmig_cluster_is_synced(cluster);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* The median over VMs from all over the cluster; the first plan, which builds what all share, is told by itself. */
static void measure_plan(struct kvmig_cluster *cluster, size_t n_vms)
{
    double times[ROUNDS], first = 0;

    for (size_t i = 0; i < ROUNDS + 1; i++) {
        struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;
        size_t vm = i * 104729 % n_vms;
        struct kvmig_plan *plan = NULL;
        char name[64];
        double before;

        snprintf(name, sizeof(name), "project-%03zu/vm-%06zu", vm % 200, vm);
        opts.vm = name;
        before = cpu_s();
        if (kvmig_cluster_plan(cluster, &opts, &plan) < 0)
            die(name);
        kvmig_plan_unref(plan);
        if (i)
            times[i - 1] = cpu_s() - before;
        else
            first = cpu_s() - before;
    }
    qsort(times, ROUNDS, sizeof(*times), compare);
    printf(",\"first_plan_ms\":%.3f,\"plan_ms\":%.4f,\"plan_p90_ms\":%.4f", first * 1e3, times[ROUNDS / 2] * 1e3,
           times[ROUNDS * 9 / 10] * 1e3);
}

static void measure_drain(struct kvmig_cluster *cluster)
{
    static const char *const nodes[] = { "node-00000" };
    struct kvmig_drain_opts opts = KVMIG_DRAIN_OPTS_INIT;
    struct kvmig_drain *drain = NULL;
    double times[7];

    opts.nodes = nodes;
    opts.n_nodes = 1;
    opts.link_mib = 1000;
    for (size_t i = 0; i < 7; i++) {
        double before = cpu_s();

        kvmig_drain_unref(drain);
        if (kvmig_cluster_plan_drain(cluster, &opts, &drain) < 0)
            die("drain");
        times[i] = cpu_s() - before;
    }
    qsort(times, 7, sizeof(*times), compare);
    printf(",\"drain_ms\":%.2f,\"drain_moves\":%zu,\"drain_immovable\":%zu", times[3] * 1e3, kvmig_drain_count(drain),
           kvmig_drain_immovable_count(drain));
    kvmig_drain_unref(drain);
}

static void measure_all(struct kvmig_cluster *cluster)
{
    struct kvmig_plan_iterator *it = NULL;
    struct kvmig_plan *plan = NULL;
    double before = cpu_s();
    size_t n = 0, blocked = 0;

    if (kvmig_cluster_plan_all(cluster, NULL, &it) < 0)
        die("plan all");
    while (kvmig_plan_iterator_next(it, &plan) == 0 && plan) {
        n++;
        blocked += kvmig_plan_verdict(plan) == KVMIG_VERDICT_BLOCKED;
        kvmig_plan_unref(plan);
    }
    kvmig_plan_iterator_free(it);
    printf(",\"plan_all_s\":%.3f,\"plans\":%zu,\"blocked\":%zu", cpu_s() - before, n, blocked);
}

static size_t count_vms(struct kvmig_cluster *cluster)
{
    struct kvmig_plan_iterator *it = NULL;
    size_t n;

    if (kvmig_cluster_plan_all(cluster, NULL, &it) < 0)
        die("count");
    n = kvmig_plan_iterator_count(it);
    kvmig_plan_iterator_free(it);
    return n;
}

int main(int argc, char **argv)
{
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;
    struct kvmig_context *context = NULL;
    struct kvmig_cluster *cluster = NULL;
    const char *const paths[] = { argc > 1 ? argv[1] : "" };
    struct rusage usage;
    size_t n_vms;

    if (argc < 2) {
        fputs("Usage: measure FOLDER [load]\n", stderr);
        return 2;
    }
    opts.snapshot_paths = paths;
    opts.n_snapshot_paths = 1;
    if (kvmig_context_new(NULL, &context) < 0 || kvmig_cluster_open(context, &opts, &cluster) < 0)
        die("open");
    if (kvmig_context_run(context, is_synced, cluster, 600000) < 0)
        die("load");
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"cpu_s\":%.3f,\"peak_kib\":%ld", cpu_s(), usage.ru_maxrss);
    n_vms = count_vms(cluster);
    printf(",\"vms\":%zu", n_vms);
    if (argc < 3 && n_vms) {
        measure_plan(cluster, n_vms);
        measure_drain(cluster);
        measure_all(cluster);
    }
    puts("}");
    kvmig_cluster_unref(cluster);
    kvmig_context_unref(context);
    return 0;
}
