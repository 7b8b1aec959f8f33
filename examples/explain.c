/* SPDX-License-Identifier: MIT-0 */
/*
 * explain VM [FILE...]: what the migration of a VM on KubeVirt waits for. Without files it asks the cluster that KUBECONFIG leads
 * to; with files, what `kubectl get nodes,pods,pvc,pv,vm,vmi,vmim,kubevirt,events -A -o yaml` printed.
 */
#include <kvmig/kvmig.h>
#include <stdio.h>

static void on_event(const struct kvmig_event *event, void *synced)
{
    if (kvmig_event_type(event) == KVMIG_EVENT_CLUSTER_SYNCED)
        *(int32_t *)synced = 1;
    if (kvmig_event_type(event) == KVMIG_EVENT_VIEW_NOTICE)
        fprintf(stderr, "%s\n", kvmig_finding_message(kvmig_event_finding(event)));
}

static int32_t is_synced(void *synced)
{
    return *(int32_t *)synced;
}

static int fail(void)
{
    fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last()));
    return 1;
}

static void print(const struct kvmig_explanation *why)
{
    puts(kvmig_explanation_summary(why));
    for (size_t i = 0; i < kvmig_explanation_count(why); i++) {
        const struct kvmig_wait *wait = kvmig_explanation_wait(why, i);

        printf("%s %s: %s\n", wait->code, wait->object ? wait->object : "", wait->condition ? wait->condition : "");
        if (wait->limit)
            printf("    until: %s\n", wait->limit);
        if (wait->hint)
            printf("    %s\n", wait->hint);
    }
}

int main(int argc, char **argv)
{
    int32_t synced = 0;
    struct kvmig_context *context;
    struct kvmig_cluster *cluster;
    struct kvmig_explanation *why;
    struct kvmig_kube_opts kube = KVMIG_KUBE_OPTS_INIT;
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;
    int code = 0;

    if (argc < 2)
        return fputs("usage: explain VM [FILE...]\n", stderr), 2;
    opts.on_event = (struct kvmig_event_callback){ on_event, &synced, NULL };
    if (argc == 2) {
        opts.kube = &kube;
    } else {
        opts.snapshot_paths = (const char *const *)argv + 2;
        opts.n_snapshot_paths = (size_t)argc - 2;
    }
    if (kvmig_context_new(NULL, &context) < 0)
        return fail();
    if (kvmig_cluster_open(context, &opts, &cluster) < 0) {
        code = fail();
    } else {
        kvmig_context_run(context, is_synced, &synced, 30000);
        if (kvmig_cluster_explain(cluster, argv[1], NULL, &why) < 0) {
            code = fail();
        } else {
            print(why);
            kvmig_explanation_unref(why);
        }
        kvmig_cluster_unref(cluster);
    }
    kvmig_context_unref(context);
    return code;
}
