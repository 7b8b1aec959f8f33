/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Planning many on a view: a drain, or every VM in turn. No I/O. A drain is planned under the context lock as one; plans of all VMs are
 * made one at a time, so that the view goes on living between them.
 */
#include "cluster/cluster_private.h"
#include "cluster/kube.h"
#include "plan/drain_internal.h"
#include "plan/locate.h"
#include <kvmig/plan.h>

#include <errno.h>
#include <stdlib.h>

/* ---- a drain ---- */

int32_t kvmig_cluster_plan_drain(struct kvmig_cluster *cluster, const struct kvmig_drain_opts *opts,
                                 struct kvmig_drain **out_drain)
{
    struct kvmig__drain_request request;
    struct kvmig__slots slots;
    int32_t rc;

    if (out_drain)
        *out_drain = NULL;
    if (!cluster || !out_drain)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_cluster_plan_drain", NULL, NULL, "%s is NULL",
                                            cluster ? "out_drain" : "cluster"));
    rc = kvmig__drain_request_from_opts(&request, opts);
    if (rc)
        return rc;
    kvmig__context_lock(cluster->context);
    rc = kvmig__cluster_check_synced(cluster, "kvmig_cluster_plan_drain");
    if (rc == 0) {
        request.plan.learned = &cluster->learned;
        kvmig__cluster_slots(cluster, NULL, &slots);
        rc = kvmig__drain_make(&cluster->view, &request, &slots, out_drain);
        kvmig__slots_clear(&slots);
    }
    kvmig__context_unlock(cluster->context);
    kvmig__drain_request_clear(&request);
    return rc;
}

/* ---- all VMs ---- */

struct kvmig_plan_iterator {
    struct kvmig_cluster *cluster; /* one owner of it */
    struct kvmig__request request; /* vm NULL */
    struct vm_place {
        char *vm, *source; /* source NULL: of Kubernetes, where a name is enough */
    } * v;
    size_t n, next;
};

static void add_vm(struct kvmig_plan_iterator *it, char *vm, const char *source)
{
    struct vm_place *place = KVMIG__PUSH(it);

    place->vm = vm;
    place->source = kvmig__strdup(source);
}

static void list_kube(struct kvmig_plan_iterator *it, const struct kvmig__kube *kube)
{
    KVMIG__KUBE_EACH(kube, VMI, vmi)
    {
        if (kvmig__vmi_runs(vmi))
            add_vm(it, kvmig__asprintf("%s/%s", vmi->meta.ns ? vmi->meta.ns : "default", vmi->meta.name), NULL);
    }
}

static void list_hosts(struct kvmig_plan_iterator *it, const struct kvmig__view *view)
{
    for (size_t h = 0; h < view->hosts.n; h++) {
        const struct kvmig__host *host = view->hosts.v[h];

        for (size_t i = 0; i < host->domains.n; i++) {
            const struct kvmig__domain *domain = &host->domains.v[i];

            if (kvmig__domain_runs(domain))
                add_vm(it, kvmig__strdup(domain->uuid ? domain->uuid : domain->name), host->name);
        }
    }
}

int32_t kvmig_cluster_plan_all(struct kvmig_cluster *cluster, const struct kvmig_plan_opts *opts,
                               struct kvmig_plan_iterator **out_iterator)
{
    struct kvmig_plan_iterator *it;
    struct kvmig__request request;
    int32_t rc;

    if (out_iterator)
        *out_iterator = NULL;
    if (!cluster || !out_iterator)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_cluster_plan_all", NULL, NULL, "%s is NULL",
                                            cluster ? "out_iterator" : "cluster"));
    rc = kvmig__request_for_many(&request, opts, "kvmig_cluster_plan_all");
    if (rc)
        return rc;
    it = kvmig__calloc(1, sizeof(*it));
    it->request = request;
    kvmig__context_lock(cluster->context);
    rc = kvmig__cluster_check_synced(cluster, "kvmig_cluster_plan_all");
    if (rc == 0 && cluster->view.kube)
        list_kube(it, cluster->view.kube);
    else if (rc == 0)
        list_hosts(it, &cluster->view);
    kvmig__context_unlock(cluster->context);
    if (rc == 0) {
        it->cluster = kvmig_cluster_ref(cluster);
        *out_iterator = it;
    } else {
        kvmig_plan_iterator_free(it);
    }
    return rc;
}

size_t kvmig_plan_iterator_count(const struct kvmig_plan_iterator *iterator)
{
    return iterator ? iterator->n : 0;
}

/* A VM that is gone by now, or that is found twice, has no plan of its own. */
static bool is_skipped(int32_t rc)
{
    return rc == -KVMIG_ENOVM || rc == -KVMIG_EAMBIGUOUS;
}

int32_t kvmig_plan_iterator_next(struct kvmig_plan_iterator *iterator, struct kvmig_plan **out_plan)
{
    int32_t rc = -KVMIG_ENOVM;

    if (out_plan)
        *out_plan = NULL;
    if (!iterator || !out_plan)
        return kvmig__fail(kvmig__error_new(EINVAL, "kvmig_plan_iterator_next", NULL, NULL, "%s is NULL",
                                            iterator ? "out_plan" : "iterator"));
    while (is_skipped(rc) && iterator->next < iterator->n) {
        const struct vm_place *place = &iterator->v[iterator->next++];
        struct kvmig__request request = iterator->request; /* shallow: borrows for this one plan */

        request.vm = place->vm;
        request.source = place->source;
        kvmig__context_lock(iterator->cluster->context);
        rc = kvmig__cluster_plan_locked(iterator->cluster, &request, out_plan);
        kvmig__context_unlock(iterator->cluster->context);
    }
    return is_skipped(rc) ? 0 : rc;
}

void kvmig_plan_iterator_free(struct kvmig_plan_iterator *iterator)
{
    if (!iterator)
        return;
    for (size_t i = 0; i < iterator->n; i++) {
        free(iterator->v[i].vm);
        free(iterator->v[i].source);
    }
    free(iterator->v);
    kvmig__request_clear(&iterator->request);
    kvmig_cluster_unref(iterator->cluster);
    free(iterator);
}
