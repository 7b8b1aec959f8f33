/* SPDX-License-Identifier: MIT-0 */
/*
 * diagnose FILE...: what became of a migration, from what is at hand: logs, statistics, objects, rows, observations (docs/files.md).
 */
#include <kvmig/kvmig.h>
#include <stdio.h>

static void on_event(const struct kvmig_event *event, void *synced)
{
    if (kvmig_event_type(event) == KVMIG_EVENT_CLUSTER_SYNCED)
        *(int32_t *)synced = 1;
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

static void print_list(const char *title, const struct kvmig_findings *list)
{
    for (size_t i = 0; i < kvmig_findings_count(list); i++)
        printf("%s %s: %s\n", title, kvmig_finding_object(kvmig_findings_get(list, i)),
               kvmig_finding_message(kvmig_findings_get(list, i)));
}

static int diagnose(struct kvmig_cluster *cluster)
{
    struct kvmig_diagnosis *diagnosis;

    if (kvmig_cluster_diagnose(cluster, NULL, &diagnosis) < 0)
        return fail();
    printf("%s: %s\n", kvmig_diagnosis_verdict(diagnosis), kvmig_diagnosis_summary(diagnosis));
    print_list("found", kvmig_diagnosis_findings(diagnosis));
    print_list("do", kvmig_diagnosis_actions(diagnosis));
    if (*kvmig_diagnosis_avoid(diagnosis))
        printf("do not: %s\n", kvmig_diagnosis_avoid(diagnosis));
    kvmig_diagnosis_unref(diagnosis);
    return 0;
}

int main(int argc, char **argv)
{
    int32_t synced = 0;
    struct kvmig_context *context;
    struct kvmig_cluster *cluster;
    struct kvmig_cluster_opts opts = KVMIG_CLUSTER_OPTS_INIT;
    int code;

    if (argc < 2)
        return fputs("usage: diagnose FILE...\n", stderr), 2;
    opts.on_event = (struct kvmig_event_callback){ on_event, &synced, NULL };
    opts.snapshot_paths = (const char *const *)argv + 1;
    opts.n_snapshot_paths = (size_t)argc - 1;
    if (kvmig_context_new(NULL, &context) < 0)
        return fail();
    if (kvmig_cluster_open(context, &opts, &cluster) < 0) {
        code = fail();
    } else {
        kvmig_context_run(context, is_synced, &synced, 30000);
        code = diagnose(cluster);
        kvmig_cluster_unref(cluster);
    }
    kvmig_context_unref(context);
    return code;
}
