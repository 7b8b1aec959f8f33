/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * given_connections URI_A URI_B VM: a program that uses libvirt itself and hands its own connections to the library, which
 * migrates the VM to the other host. Prints the last phase. Run by test_given_connections.py.
 */
#include <kvmig/kvmig.h>
#include <kvmig/libvirt.h>
#include <stdio.h>

struct outcome {
    int32_t phase, frees;
};

static void on_event(const struct kvmig_event *event, void *data)
{
    struct outcome *outcome = data;

    if (kvmig_event_type(event) == KVMIG_EVENT_END)
        outcome->phase = kvmig_event_phase(event);
}

static void on_free(void *data)
{
    ((struct outcome *)data)->frees++;
}

static int32_t is_freed(void *data)
{
    return ((struct outcome *)data)->frees > 0;
}

static int32_t migrate(struct kvmig_context *context, virConnectPtr a, virConnectPtr b, const char *vm,
                       struct outcome *outcome)
{
    struct kvmig_cluster_opts hosts = KVMIG_CLUSTER_OPTS_INIT;
    struct kvmig_plan_opts plan = KVMIG_PLAN_OPTS_INIT;
    struct kvmig_session_opts opts = KVMIG_SESSION_OPTS_INIT;
    struct kvmig_cluster *cluster = NULL;
    struct kvmig_session *session = NULL;
    int32_t rc = kvmig_cluster_open(context, &hosts, &cluster);

    plan.vm = vm;
    opts.plan_opts = &plan;
    opts.on_event = (struct kvmig_event_callback){ on_event, outcome, on_free };
    rc = rc ? rc : kvmig_cluster_add_libvirt(cluster, a);
    rc = rc ? rc : kvmig_cluster_add_libvirt(cluster, b);
    rc = rc ? rc : kvmig_session_new(cluster, NULL, &opts, &session);
    rc = rc ? rc : kvmig_session_start(session);
    rc = rc ? rc : kvmig_context_run(context, is_freed, outcome, 100000);
    kvmig_session_unref(session);
    kvmig_cluster_unref(cluster);
    return rc;
}

int main(int argc, char **argv)
{
    struct outcome outcome = { KVMIG_PHASE_UNSET, 0 };
    struct kvmig_context *context = NULL;
    virConnectPtr a, b;
    int32_t rc;

    if (argc != 4)
        return 2;
    a = virConnectOpen(argv[1]);
    b = virConnectOpen(argv[2]);
    rc = a && b ? kvmig_context_new(NULL, &context) : -1;
    if (rc == 0)
        rc = migrate(context, a, b, argv[3], &outcome);
    if (rc != 0)
        fprintf(stderr, "%s\n", kvmig_error_message(kvmig_error_last()));
    kvmig_context_unref(context);
    /* The library has references of its own and gives them back in its own time: ours stay valid until here. */
    if (a && virConnectClose(a) < 0)
        rc = -1;
    if (b && virConnectClose(b) < 0)
        rc = -1;
    printf("%s, freed %d time(s)\n", kvmig_phase_name(outcome.phase), outcome.frees);
    return rc == 0 && outcome.phase == KVMIG_PHASE_SUCCEEDED && outcome.frees == 1 ? 0 : 1;
}
