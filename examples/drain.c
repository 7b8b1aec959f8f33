/* SPDX-License-Identifier: MIT-0 */
/*
 * drain HOST URI...: empties a libvirt host: says which VM goes where in which wave, and what cannot go; then moves them, never more at
 * once than the limits of the view allow, and prints the report.
 */
#include <kvmig/kvmig.h>
#include <stdio.h>
#include <stdlib.h>

struct state {
    int32_t synced, ended;
};

static void on_event(const struct kvmig_event *event, void *user_data)
{
    struct state *state = user_data;

    if (kvmig_event_type(event) == KVMIG_EVENT_CLUSTER_SYNCED)
        state->synced = 1;
    if (kvmig_event_type(event) == KVMIG_EVENT_PHASE)
        printf("%s: %s\n", kvmig_event_vm(event), kvmig_phase_name(kvmig_event_phase(event)));
    if (kvmig_event_type(event) == KVMIG_EVENT_DRAIN_END)
        state->ended = 1;
}

static int32_t is_synced(void *user_data)
{
    return ((struct state *)user_data)->synced;
}

static int32_t has_ended(void *user_data)
{
    return ((struct state *)user_data)->ended;
}

static int fail(void)
{
    fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last()));
    return 1;
}

static void print_plan(const struct kvmig_drain *drain)
{
    for (size_t i = 0; i < kvmig_drain_count(drain); i++)
        printf("wave %u: %s to %s\n", (unsigned)kvmig_drain_wave(drain, i), kvmig_plan_vm(kvmig_drain_plan(drain, i)),
               kvmig_plan_target(kvmig_drain_plan(drain, i)));
    for (size_t i = 0; i < kvmig_drain_immovable_count(drain); i++)
        printf("stays: %s\n", kvmig_plan_vm(kvmig_drain_immovable(drain, i)));
}

static int run(struct kvmig_context *context, struct kvmig_cluster *cluster, const struct kvmig_drain *drain,
               struct state *state)
{
    struct kvmig_drain_run_opts opts = KVMIG_DRAIN_RUN_OPTS_INIT;
    struct kvmig_drain_run *drain_run;
    char *report;
    int code;

    opts.on_event = (struct kvmig_event_callback){ on_event, state, NULL };
    if (kvmig_drain_start(cluster, drain, &opts, &drain_run) < 0)
        return fail();
    kvmig_context_run(context, has_ended, state, -1);
    code = kvmig_drain_run_phase(drain_run, SIZE_MAX) == KVMIG_PHASE_SUCCEEDED ? 0 : 1;
    if (kvmig_drain_run_report(drain_run, &report) == 0) {
        puts(report);
        free(report);
    }
    kvmig_drain_run_unref(drain_run);
    return code;
}

static int empty(struct kvmig_context *context, struct kvmig_cluster *cluster, const char *const *host,
                 struct state *state)
{
    struct kvmig_drain_opts opts = KVMIG_DRAIN_OPTS_INIT;
    struct kvmig_drain *drain;
    int code;

    kvmig_context_run(context, is_synced, state, 30000);
    opts.nodes = host;
    opts.n_nodes = 1;
    if (kvmig_cluster_plan_drain(cluster, &opts, &drain) < 0)
        return fail();
    print_plan(drain);
    code = run(context, cluster, drain, state);
    kvmig_drain_unref(drain);
    return code;
}

int main(int argc, char **argv)
{
    struct state state = { 0, 0 };
    struct kvmig_context *context;
    struct kvmig_cluster *cluster;
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;
    int code;

    if (argc < 3)
        return fputs("usage: drain HOST URI...\n", stderr), 2;
    opts.on_event = (struct kvmig_event_callback){ on_event, &state, NULL };
    opts.libvirt_uris = (const char *const *)argv + 2;
    opts.n_libvirt_uris = (size_t)argc - 2;
    if (kvmig_context_new(NULL, &context) < 0)
        return fail();
    if (kvmig_cluster_open(context, &opts, &cluster) < 0) {
        code = fail();
    } else {
        code = empty(context, cluster, (const char *const *)argv + 1, &state);
        kvmig_cluster_unref(cluster);
    }
    kvmig_context_unref(context);
    return code;
}
