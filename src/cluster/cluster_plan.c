/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Planning on a view: hands the planner the request, the facts as they are now, and the slots. No I/O, so it is a matter of
 * microseconds under the context lock. The plan holds copies; it does not keep the view.
 */
#include "cluster/cluster_private.h"
#include "libvirt/libvirt_internal.h"
#include <kvmig/plan.h>

#include <errno.h>

int32_t kvmig__cluster_plan_locked(struct kvmig_cluster *cluster, const struct kvmig__request *request,
                                   struct kvmig_plan **out_plan)
{
    struct kvmig__request asked = *request; /* shallow: with the caller's XML parsed, which the planner only reads */
    struct kvmig__domain target_domain = { 0 };
    struct kvmig__slots slots;
    int32_t rc;

    *out_plan = NULL;
    if (!cluster->synced)
        return kvmig__fail(kvmig__error_new(-KVMIG_ENOTSYNCED, "kvmig_cluster_plan", NULL,
                                            "wait for KVMIG_EVENT_CLUSTER_SYNCED",
                                            "not every host of the cluster view has been read yet"));
    if (request->target_xml) {
        rc = kvmig__xml_domain(request->target_xml, "kvmig_plan_opts.target_xml", &target_domain);
        if (rc)
            return rc;
        asked.target_domain = &target_domain;
    }
    asked.learned = &cluster->learned;
    if (cluster->view.kube) { /* KubeVirt counts its slots itself */
        rc = kvmig__plan_make(&cluster->view, &asked, NULL, out_plan);
    } else {
        kvmig__cluster_slots(cluster, request->vm, &slots);
        rc = kvmig__plan_make(&cluster->view, &asked, &slots, out_plan);
        kvmig__slots_clear(&slots);
    }
    kvmig__domain_clear(&target_domain);
    return rc;
}

bool kvmig__cluster_synced(const struct kvmig_cluster *cluster)
{
    return cluster->synced;
}

int32_t kvmig__cluster_check_synced(const struct kvmig_cluster *cluster, const char *where)
{
    if (cluster->synced)
        return 0;
    return kvmig__fail(kvmig__error_new(-KVMIG_ENOTSYNCED, where, NULL, "wait for KVMIG_EVENT_CLUSTER_SYNCED",
                                        "the cluster view has not been read yet"));
}

int32_t kvmig__cluster_attach_locked(struct kvmig_cluster *cluster, const char *vm, const char *vmim,
                                     struct kvmig_plan **out_plan)
{
    const int32_t rc = kvmig__cluster_check_synced(cluster, "kvmig_session_start");

    *out_plan = NULL;
    if (rc < 0)
        return rc;
    if (!cluster->kube)
        return kvmig__fail(kvmig__error_new(-ENOTSUP, "kvmig_session_start: attach", vmim,
                                            "Open the view with a kubeconfig.",
                                            "only migrations of a KubeVirt cluster can be followed"));
    return kvmig__plan_kube_attach(&cluster->view, vm, vmim, out_plan);
}

int32_t kvmig_cluster_plan(struct kvmig_cluster *cluster, const struct kvmig_plan_opts *opts,
                           struct kvmig_plan **out_plan)
{
    struct kvmig__request request;
    int32_t rc;

    if (out_plan)
        *out_plan = NULL;
    if (!cluster || !out_plan)
        return kvmig__fail(kvmig__error_new(-EINVAL, "kvmig_cluster_plan", NULL, NULL, "%s is NULL",
                                            cluster ? "out_plan" : "cluster"));
    rc = kvmig__request_from_opts(&request, opts, "kvmig_cluster_plan");
    if (rc)
        return rc;
    kvmig__context_lock(cluster->context);
    rc = kvmig__cluster_plan_locked(cluster, &request, out_plan);
    kvmig__context_unlock(cluster->context);
    kvmig__request_clear(&request);
    return rc;
}
