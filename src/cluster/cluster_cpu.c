/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Comparing the CPUs of nodes of a view. Reads the CPU map of the installed libvirt before it takes the context lock, and
 * nothing else; asks no host.
 */
#include "cluster/cluster_private.h"
#include "cluster/kube.h"
#include "plan/cpu_common.h"
#include <kvmig/plan.h>

#include <errno.h>

#define CPU_MAP "/usr/share/libvirt/cpu_map"
#define WHERE "kvmig_cluster_cpu_common"

static bool has_node(const struct kvmig__view *view, const char *name)
{
    return kvmig__cpu_common_is_kube(view) ? KVMIG__KUBE_FIND(view->kube, NODE, NULL, name) != NULL
                                           : kvmig__view_find_host(view, name) != NULL;
}

static int32_t compare_locked(const struct kvmig_cluster *cluster, const struct kvmig__strlist *nodes,
                              const struct kvmig__cpu_map *map, char **out_json)
{
    struct kvmig__cpu_common common = { 0 };
    const int32_t rc = kvmig__cluster_check_synced(cluster, WHERE);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < nodes->n; i++) {
        if (!has_node(&cluster->view, nodes->v[i]))
            return kvmig__fail(kvmig__error_new(KVMIG_ENOHOST, WHERE ", nodes", NULL,
                                                "Use a name as kvmig_cluster_to_json() lists them.",
                                                "No host or node of the view is called %s.", nodes->v[i]));
    }
    kvmig__cpu_common_make(&cluster->view, nodes, map, &common);
    *out_json = kvmig__cpu_common_to_json(&common);
    kvmig__cpu_common_clear(&common);
    return 0;
}

int32_t kvmig_cluster_cpu_common(struct kvmig_cluster *cluster, const char *const *nodes, size_t n_nodes,
                                 const char *cpu_map, char **out_json)
{
    struct kvmig__strlist names = { 0 };
    struct kvmig__cpu_map map = { 0 };
    int32_t rc = 0;

    if (out_json)
        *out_json = NULL;
    if (!cluster || !out_json || (n_nodes && !nodes))
        return kvmig__fail(kvmig__error_new(EINVAL, WHERE, NULL, NULL, "%s is NULL.",
                                            !cluster    ? "cluster"
                                            : !out_json ? "out_json"
                                                        : "nodes"));
    for (size_t i = 0; i < n_nodes && rc == 0; i++) {
        if (nodes[i])
            kvmig__strlist_add_new(&names, nodes[i]);
        else
            rc = kvmig__fail(kvmig__error_new(EINVAL, WHERE, NULL, NULL, "nodes[%zu] is NULL.", i));
    }
    if (rc == 0) {
        kvmig__cpu_map_read(cpu_map ? cpu_map : CPU_MAP, &map);
        kvmig__context_lock(cluster->context);
        rc = compare_locked(cluster, &names, &map, out_json);
        kvmig__context_unlock(cluster->context);
    }
    kvmig__cpu_map_clear(&map);
    kvmig__strlist_clear(&names);
    return rc;
}
