/* SPDX-License-Identifier: MIT-0 */
/* migrate-min URI_A URI_B VM: migrates a VM from the host where it runs to the other one. */
#include <kvmig/kvmig.h>
#include <stdio.h>

static void on_event(const struct kvmig_event *event, void *phase)
{
    if (kvmig_event_type(event) == KVMIG_EVENT_PHASE)
        puts(kvmig_phase_name(kvmig_event_phase(event)));
    if (kvmig_event_type(event) != KVMIG_EVENT_END)
        return;
    if (kvmig_event_error(event))
        fprintf(stderr, "%s\n", kvmig_error_message(kvmig_event_error(event)));
    *(int32_t *)phase = kvmig_event_phase(event);
}

static int32_t ended(void *phase)
{
    return kvmig_phase_is_terminal(*(int32_t *)phase);
}

int main(int argc, char **argv)
{
    int32_t phase = KVMIG_PHASE_UNSET;
    struct kvmig_context *context;
    struct kvmig_cluster *cluster;
    struct kvmig_session *session;
    struct kvmig_cluster_opts hosts = KVMIG_CLUSTER_OPTS_INIT;
    struct kvmig_plan_opts plan = KVMIG_PLAN_OPTS_INIT;
    struct kvmig_session_opts opts = KVMIG_SESSION_OPTS_INIT;

    if (argc != 4)
        return fputs("usage: migrate-min URI_A URI_B VM\n", stderr), 2;
    hosts.libvirt_uris = (const char *const *)argv + 1;
    hosts.n_libvirt_uris = 2;
    plan.vm = argv[3];
    opts.plan_opts = &plan; /* the session plans for itself, as soon as the hosts have been read */
    opts.on_event = (struct kvmig_event_callback){ on_event, &phase, NULL };
    if (kvmig_context_new(NULL, &context) || kvmig_cluster_open(context, &hosts, &cluster) ||
        kvmig_session_new(cluster, NULL, &opts, &session) || kvmig_session_start(session) ||
        kvmig_context_run(context, ended, &phase, -1))
        return fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last())), 1;
    return phase == KVMIG_PHASE_SUCCEEDED ? 0 : 1;
}
