/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Observations beside the objects of a snapshot: {"observation": "node-usage", "nodes": {NODE: {"memory": Q, "cpu": Q}}}, the sums
 * of what the pods there request, for those who give no pods. Kept until all nodes are read, since files come in any order. Other
 * observations are not for the store. Any thread; a load belongs to one.
 */
#include "kubernetes/snapshot_internal.h"

#include "kubernetes/objects_io.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NODES 65536
#define MAX_RESOURCES 256

static void set_amount(struct kvmig__amounts *amounts, const char *name, uint64_t milli)
{
    for (size_t i = 0; i < amounts->n; i++) {
        if (kvmig__str_eq(amounts->v[i].name, name)) {
            amounts->v[i].milli = milli;
            return;
        }
    }
    if (amounts->n < MAX_RESOURCES)
        *KVMIG__PUSH(amounts) = (struct kvmig__amount){ kvmig__strdup(name), milli };
}

/* What is no quantity was not observed. */
static void take_node(struct kvmig__snapshot_load *load, const char *node, struct json_object *amounts)
{
    struct kvmig__node_usage *usage;

    if (!json_object_is_type(amounts, json_type_object) || load->usage.n >= MAX_NODES)
        return;
    usage = KVMIG__PUSH(&load->usage);
    usage->node = kvmig__strdup(node);
    json_object_object_foreach(amounts, name, value)
    {
        uint64_t milli;

        if (kvmig__quantity_of(value, &milli))
            set_amount(&usage->told, name, milli);
    }
}

bool kvmig__snapshot_observation(struct kvmig__snapshot_load *load, struct json_object *json)
{
    struct json_object *what = NULL, *nodes = NULL;

    if (!json_object_is_type(json, json_type_object) || !json_object_object_get_ex(json, "observation", &what))
        return false;
    if (!json_object_is_type(what, json_type_string) || strcmp(json_object_get_string(what), "node-usage") != 0 ||
        !json_object_object_get_ex(json, "nodes", &nodes) || !json_object_is_type(nodes, json_type_object))
        return true;
    json_object_object_foreach(nodes, name, amounts)
    {
        take_node(load, name, amounts);
    }
    return true;
}

/* Of several observations of a node the later one wins, resource by resource. */
void kvmig__snapshot_apply_usage(struct kvmig__snapshot_load *load)
{
    for (size_t i = 0; i < load->usage.n; i++) {
        struct kvmig__node_usage *usage = &load->usage.v[i];
        struct kvmig__kube_node *node = KVMIG__KUBE_FIND(load->kube, NODE, NULL, usage->node);

        for (size_t k = 0; k < usage->told.n; k++) {
            if (node)
                set_amount(&node->told_usage, usage->told.v[k].name, usage->told.v[k].milli);
            free(usage->told.v[k].name);
        }
        free(usage->told.v);
        free(usage->node);
    }
    free(load->usage.v);
    load->usage.v = NULL;
    load->usage.n = 0;
}
