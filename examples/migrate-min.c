/* SPDX-License-Identifier: MIT-0 */
/* migrate-min URI_A URI_B VM: migrates a VM from the host where it runs to the other one. */
#include <kvmig/kvmig.h>
#include <stdio.h>

static void on_event(const struct kvmig_event *event, void *phase)
{
    if (kvmig_event_type(event) == KVMIG_EVENT_PHASE || kvmig_event_type(event) == KVMIG_EVENT_END)
        puts(kvmig_phase_name(*(int32_t *)phase = kvmig_event_phase(event)));
}

static int32_t synced(void *cluster)
{
    return kvmig_cluster_is_synced(cluster);
}

static int32_t ended(void *phase)
{
    return kvmig_phase_is_terminal(*(int32_t *)phase);
}

int main(int argc, char **argv)
{
    struct kvmig_cluster_opts co = KVMIG_CLUSTER_OPTS_INIT;
    struct kvmig_plan_opts po = KVMIG_PLAN_OPTS_INIT;
    struct kvmig_session_opts so = KVMIG_SESSION_OPTS_INIT;
    struct kvmig_context *context = NULL;
    struct kvmig_cluster *cluster = NULL;
    struct kvmig_plan *plan = NULL;
    struct kvmig_session *session = NULL;
    int32_t phase = KVMIG_PHASE_UNSET;

    if (argc != 4)
        return fputs("usage: migrate-min URI_A URI_B VM\n", stderr), 2;
    co.libvirt_uris = (const char *const *)argv + 1;
    co.n_libvirt_uris = 2;
    po.vm = argv[3];
    so.on_event = (struct kvmig_event_callback){ on_event, &phase, NULL };
    if (kvmig_context_new(NULL, &context) || kvmig_cluster_open(context, &co, &cluster) ||
        kvmig_context_run(context, synced, cluster, 30000) || kvmig_cluster_plan(cluster, &po, &plan) ||
        kvmig_session_new(cluster, plan, &so, &session) || kvmig_session_start(session) ||
        kvmig_context_run(context, ended, &phase, -1))
        fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last()));
    kvmig_session_unref(session);
    kvmig_plan_unref(plan);
    kvmig_cluster_unref(cluster);
    kvmig_context_unref(context);
    return phase == KVMIG_PHASE_SUCCEEDED ? 0 : 1;
}
