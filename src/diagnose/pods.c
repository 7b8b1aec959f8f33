/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Launchers and attachment pods: what the VM's status says of them against what they are, and what pods say of themselves where no VM is
 * given. Pure.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

/* ---- a migration without its VMI ---- */

static void from_migration(struct kvmig__case *c)
{
    const char *phase = c->vmim->phase;

    if (kvmig__str_eq(phase, "Succeeded"))
        kvmig__case_state(c, KVMIG__KNOWN_ENDED, "SUCCEEDED", "the migration object says so");
    else if (kvmig__str_eq(phase, "Failed"))
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "the migration object says so");
    else if (kvmig__str_eq(phase, "Running"))
        kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "the migration object says so");
    else
        kvmig__case_state(c, KVMIG__KNOWN_WAITING, "WAITING", "the migration has not begun to copy");
}

/* ---- activePods ---- */

static const struct kvmig__kube_pod *pod_by_uid(const struct kvmig__case *c, const char *uid)
{
    return (const struct kvmig__kube_pod *)kvmig__kube_find_uid(c->kube, KVMIG__KUBE_POD, uid);
}

static bool is_open(const struct kvmig__case *c)
{
    return c->vmim && !kvmig__vmim_is_final(c->vmim);
}

static void stale_pod(struct kvmig__case *c, const struct kvmig__kube_pod *pod)
{
    struct kvmig__detail detail = { 0 };
    char *object = kvmig__asprintf("pod/%s/%s", pod->meta.ns ? pod->meta.ns : "", pod->meta.name);

    kvmig__detail_str(&detail, "uid", pod->meta.uid);
    kvmig__detail_str(&detail, "phase", pod->phase);
    kvmig__detail_str(&detail, "node", pod->node);
    kvmig__case_note(c, "STALE_ACTIVE_POD", KVMIG_SEVERITY_ERROR, kvmig__strdup(object), &detail,
                     "Delete that pod; the one in which the VM runs must be left alone.",
                     "activePods lists a launcher that has ended, and the migration waits for it.");
    kvmig__case_act(c, "DELETE_STALE_POD", object, NULL, "Delete the launcher that has ended: %s.", pod->meta.name);
}

static void look_at_active_pods(struct kvmig__case *c)
{
    for (size_t i = 0; is_open(c) && i < c->vmi->active_pods.n; i++) {
        const struct kvmig__kube_pod *pod = pod_by_uid(c, c->vmi->active_pods.v[i].key);

        if (pod && kvmig__pod_is_final(pod) && c->vmi->active_pods.n > 1 && !kvmig__str_eq(pod->node, c->vmi->node))
            stale_pod(c, pod);
    }
}

/* ---- attachment pods ---- */

/* The explanation has found that the pod is missing; which volumes it should carry is what people need. */
static void name_volumes(struct kvmig__case *c)
{
    if (!c->vmi || !kvmig__findings_has(&c->findings, "ATTACHMENT_POD_MISSING"))
        return;
    for (size_t i = 0; i < c->vmi->volume_status.n; i++) {
        const struct kvmig__kube_volume_status *volume = &c->vmi->volume_status.v[i];
        struct kvmig__detail detail = { 0 };

        if (!volume->hotplug)
            continue;
        kvmig__detail_str(&detail, "volume", volume->name);
        kvmig__case_note(c, "ATTACHMENT_POD_MISSING", KVMIG_SEVERITY_ERROR, kvmig__asprintf("volume/%s", volume->name),
                         &detail, "Cancel the migration and start it again: nothing has been copied.",
                         "The hotplugged volume has no attachment pod on the target, and none will be made any more.");
    }
}

void kvmig__diagnose_pods(struct kvmig__case *c)
{
    if (c->vmim && !c->vmi)
        from_migration(c);
    if (c->vmi && kvmig__kube_is_known(c->kube, KVMIG__KUBE_POD))
        look_at_active_pods(c);
    name_volumes(c);
}
