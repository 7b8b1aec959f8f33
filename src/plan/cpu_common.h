/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CPU models for a set of nodes: which named ones all of them can run, what a guest would lose with each, and where guests with
 * the host's own model could go. Pure. What a model contains is not remembered here: it is read from the CPU map of the libvirt
 * that is installed (libvirt/xml_cpu_map.c), and what that does not know stays unknown.
 */
#ifndef KVMIG_SRC_CPU_COMMON_H
#define KVMIG_SRC_CPU_COMMON_H

#include "cluster/model.h"

struct kvmig__cpu_contents {
    char *model, *vendor; /* vendor NULL = any */
    struct kvmig__strlist features; /* canonical names, sorted */
};
struct kvmig__cpu_map {
    struct kvmig__cpu_contents *v; /* sorted by model */
    size_t n;
};
void kvmig__cpu_map_sort(struct kvmig__cpu_map *map);
const struct kvmig__cpu_contents *kvmig__cpu_map_find(const struct kvmig__cpu_map *map, const char *model);
void kvmig__cpu_map_clear(struct kvmig__cpu_map *map);

/* Nodes that say the same about their CPU. All lists are sorted. */
struct kvmig__cpu_kind {
    struct kvmig__strlist nodes;
    const char *unknown; /* why their CPU is not known, static; NULL = it is, and the rest is filled */
    char *vendor, *host_model;
    struct kvmig__strlist models; /* usable ones */
    struct kvmig__strlist required; /* what host_model has beyond its name */
    struct kvmig__strlist features; /* all that a guest can have */
    bool features_known;
    bool obsolete; /* KubeVirt gives it no guests with host-model */
    struct kvmig__strlist migration_models; /* KubeVirt's labels; empty = not told */
};
struct kvmig__cpu_lost {
    bool known;
    struct kvmig__strlist features;
};
struct kvmig__cpu_choice { /* a model that all known kinds can run */
    char *model;
    const struct kvmig__cpu_contents *contents; /* of the map; NULL = not known */
    struct kvmig__cpu_lost *lost; /* per kind */
    size_t n_lost; /* features that are lost anywhere, each node counted */
    struct kvmig__strlist can_add; /* what all offer and the model lacks */
};
struct kvmig__cpu_move { /* a guest with host-model that was started on a node of one kind, to one of another */
    size_t from, to; /* of kinds */
    bool known, model_missing, obsolete;
    struct kvmig__strlist lacking;
};
struct kvmig__cpu_common {
    struct {
        struct kvmig__cpu_kind *v;
        size_t n;
    } kinds;
    struct {
        struct kvmig__cpu_choice *v; /* the least lost first, unknown losses last */
        size_t n;
    } choices;
    struct {
        struct kvmig__cpu_move *v;
        size_t n;
    } moves;
    struct kvmig__strlist common; /* features that all known kinds offer */
    bool common_known;
};

/* Fills the empty *out. nodes: names of hosts or nodes, each in the view; empty = all of it. map may be empty; it is borrowed. */
void kvmig__cpu_common_make(const struct kvmig__view *view, const struct kvmig__strlist *nodes,
                            const struct kvmig__cpu_map *map, struct kvmig__cpu_common *out);
void kvmig__cpu_common_clear(struct kvmig__cpu_common *common);
/* The view is one of KubeVirt's nodes. */
bool kvmig__cpu_common_is_kube(const struct kvmig__view *view);
/* Of a host or a node: what it says, as the only one of its kind (cpu_kinds.c). */
void kvmig__cpu_kind_of_host(const struct kvmig__host *host, const struct kvmig__cpu_map *map,
                             struct kvmig__cpu_kind *out);
struct kvmig__kube_node;
void kvmig__cpu_kind_of_node(const struct kvmig__kube_node *node, const struct kvmig__cpu_map *map,
                             struct kvmig__cpu_kind *out);
void kvmig__cpu_kind_clear(struct kvmig__cpu_kind *kind);

/* As JSON, owned (cpu_common_json.c). */
char *kvmig__cpu_common_to_json(const struct kvmig__cpu_common *common);

/* Reads the CPU map in a folder, as libvirt installs it; a folder or files that cannot be read leave it smaller. *out is empty
 * before. (libvirt/xml_cpu_map.c) */
void kvmig__cpu_map_read(const char *folder, struct kvmig__cpu_map *out);

#endif
