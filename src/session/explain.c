/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The public questions for explanations: of a migration in the view, and of a session. Takes the context lock; the explanation itself is
 * pure (explain_kube.c and its siblings) or asked of the session's driver. Any thread; the explanation belongs to the caller.
 */
#include "session/explain.h"
#include "session/session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- of a migration in the view ---- */

static const struct kvmig__kube_vmim *find_migration(const struct kvmig__kube *kube, const struct kvmig__kube_vmi *vmi,
                                                     const char *name)
{
    const char *slash = name ? strchr(name, '/') : NULL;

    if (!name || !*name)
        return kvmig__kube_vmim_of(kube, vmi);
    return KVMIG__KUBE_FIND(kube, VMIM, vmi->meta.ns, slash ? slash + 1 : name);
}

static int32_t no_vm(const char *vm, bool ambiguous)
{
    return ambiguous
               ? kvmig__fail(kvmig__error_new(KVMIG_EAMBIGUOUS, "kvmig_cluster_explain: vm", vm,
                                              "Write NAMESPACE/NAME.", "VMs of several namespaces are called %s", vm))
               : kvmig__fail(kvmig__error_new(KVMIG_ENOVM, "kvmig_cluster_explain: vm", vm,
                                              "Look at the VMs of the view (kvmig_cluster_to_json()).",
                                              "the view has no running VM %s", vm));
}

static int32_t explain_locked(struct kvmig_cluster *cluster, const char *vm, const char *migration,
                              struct kvmig_explanation **out_explanation)
{
    const struct kvmig__kube *kube = kvmig__cluster_kube(cluster);
    const struct kvmig__kube_vmi *vmi;
    const struct kvmig__kube_vmim *vmim;
    bool ambiguous = false;

    if (!kube)
        return kvmig__fail(kvmig__error_new(ENOTSUP, "kvmig_cluster_explain", NULL,
                                            "Open the view with a kubeconfig or a snapshot; a session on libvirt hosts "
                                            "is explained by kvmig_session_explain().",
                                            "the view has no Kubernetes cluster"));
    vmi = kvmig__kube_vmi(kube, vm, &ambiguous);
    if (!vmi)
        return no_vm(vm, ambiguous);
    vmim = find_migration(kube, vmi, migration);
    if (!vmim && migration && *migration)
        return kvmig__fail(kvmig__error_new(ENOENT, "kvmig_cluster_explain: migration", migration,
                                            "KubeVirt keeps the five newest ones only.", "VM %s has no migration %s",
                                            vm, migration));
    *out_explanation = kvmig__explanation_new();
    kvmig__explain_kube(*out_explanation, kube, vmi, vmim, NULL, kube->now_ms ? kube->now_ms : kvmig__wall_ms());
    kvmig__explanation_finish(*out_explanation);
    return 0;
}

int32_t kvmig_cluster_explain(struct kvmig_cluster *cluster, const char *vm, const char *migration,
                              struct kvmig_explanation **out_explanation)
{
    int32_t rc;

    if (out_explanation)
        *out_explanation = NULL;
    if (!cluster || !vm || !out_explanation)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_cluster_explain", NULL, NULL, "%s is NULL",
                                            !cluster ? "cluster"
                                            : !vm    ? "vm"
                                                     : "out_explanation"));
    kvmig__context_lock(kvmig__cluster_context(cluster));
    rc = explain_locked(cluster, vm, migration, out_explanation);
    kvmig__context_unlock(kvmig__cluster_context(cluster));
    return rc;
}

/* ---- of a session ---- */

static char *session_object(const struct kvmig_session *session)
{
    return kvmig__asprintf("session/%s", session->id);
}

/* Monotonic to wall clock, as far as both run alike. */
static int64_t wall_of(int64_t monotonic_ms)
{
    return monotonic_ms && monotonic_ms != INT64_MAX ? kvmig__wall_ms() - (kvmig__now_ms() - monotonic_ms) : 0;
}

static void add_ports(const struct kvmig_session *session, struct kvmig_explanation *explanation)
{
    for (size_t i = 0; i < session->followers.ports.n; i++) {
        const struct kvmig__session_port *entry = session->followers.ports.v[i];
        struct kvmig__wait *wait;

        if (!entry->asked && !entry->error)
            continue;
        wait = kvmig__explanation_add(explanation, entry->error ? "PORT_FAILED" : "WAITING_NETWORK_EVENT",
                                      entry->error ? KVMIG_SEVERITY_ERROR : KVMIG_SEVERITY_INFO, 2);
        wait->object = kvmig__asprintf("lsp/%s", kvmig_port_name(entry->port));
        wait->condition = kvmig__asprintf("the port is %s", kvmig_port_state_name(kvmig__port_get_state(entry->port)));
        wait->evidence = kvmig__error_text(entry->error);
        wait->limit =
            kvmig__asprintf("the port's own time-out (%lld ms)", (long long)kvmig__port_longest_ms(entry->port));
        wait->hint = kvmig__strdup("The port's timeline in the report tells what OVN has shown so far.");
    }
}

static void add_own(const struct kvmig_session *session, struct kvmig_explanation *explanation)
{
    const struct kvmig__report *report = session->report;
    struct kvmig__wait *wait = kvmig__explanation_add(
        explanation, session->state == KVMIG__ST_QUEUED ? "LIMIT_REACHED" : "SESSION_STEP", KVMIG_SEVERITY_INFO, 0);

    wait->object = session_object(session);
    wait->condition = session->state == KVMIG__ST_QUEUED && session->slot.position
                          ? kvmig__asprintf("waits for a slot, place %u in the queue", (unsigned)session->slot.position)
                          : kvmig__strdup(kvmig__fsm_state_comment((int32_t)session->state));
    wait->evidence = kvmig__strdup(kvmig__fsm_state_name((int32_t)session->state));
    if (report->phases.n)
        wait->since_ms = wall_of(report->phases.v[report->phases.n - 1].entered_ms);
    wait->ends_ms = wall_of(session->deadline.due_ms);
    if (wait->ends_ms)
        wait->limit = kvmig__strdup("the session's own deadline");
}

static void sum_up_end(const struct kvmig_session *session, struct kvmig_explanation *explanation)
{
    const struct kvmig__report *report = session->report;

    explanation->summary =
        kvmig__asprintf("%s has ended: %s%s%s", session->id, kvmig_phase_name(session->phase),
                        report->error ? ": " : "", report->error ? kvmig_error_message(report->error) : "");
    explanation->verdict = kvmig__strdup(session->state == KVMIG__ST_SUCCEEDED   ? "SUCCEEDED"
                                         : session->state == KVMIG__ST_CANCELLED ? "CANCELLED"
                                         : session->state == KVMIG__ST_FAILED    ? "FAILED"
                                                                                 : "UNDECIDED");
}

/* Within normal times no single link is the answer. */
static void judge_quiet(const struct kvmig_session *session, struct kvmig_explanation *explanation)
{
    for (size_t i = 0; i < explanation->waits.n; i++)
        if (explanation->waits.v[i].severity >= KVMIG_SEVERITY_WARN)
            return;
    if (!explanation->verdict)
        explanation->verdict = kvmig__strdup(session->phase == KVMIG_PHASE_RUNNING ? "RUNNING" : "WAITING");
}

int32_t kvmig_session_explain(struct kvmig_session *session, struct kvmig_explanation **out_explanation)
{
    if (out_explanation)
        *out_explanation = NULL;
    if (!session || !out_explanation)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_session_explain", NULL, NULL, "%s is NULL",
                                            session ? "out_explanation" : "session"));
    kvmig__context_lock(session->context);
    *out_explanation = kvmig__explanation_new();
    if (kvmig__fsm_is_terminal((int32_t)session->state)) {
        sum_up_end(session, *out_explanation);
    } else {
        add_own(session, *out_explanation);
        if (session->driver && session->driver->ops->explain)
            session->driver->ops->explain(session->driver, *out_explanation);
        add_ports(session, *out_explanation);
        judge_quiet(session, *out_explanation);
    }
    kvmig__explanation_finish(*out_explanation);
    kvmig__context_unlock(session->context);
    return 0;
}
