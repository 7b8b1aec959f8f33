/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who is where in a Kubernetes cluster, for those who go through all of its nodes. Pure; everything is borrowed from the store.
 */
#ifndef KVMIG_SRC_KUBE_PLACES_H
#define KVMIG_SRC_KUBE_PLACES_H

#include "cluster/kube.h"

struct kvmig__kube_move { /* a migration that is under way */
    const struct kvmig__kube_vmi *vmi;
    const struct kvmig__kube_vmim *vmim;
    const char *target; /* NULL = not known yet */
};
struct kvmig__kube_place { /* something on a node: a VMI, or a launcher that has not ended */
    const char *node;
    const struct kvmig__kube_vmi *vmi;
    const struct kvmig__kube_pod *pod;
    bool incoming; /* the VMI is on its way to here */
};
struct kvmig__kube_places {
    const struct kvmig__kube *kube;
    struct {
        struct kvmig__kube_move *v;
        size_t n;
    } moves;
    struct {
        struct kvmig__kube_place *v; /* by node */
        size_t n;
    } all;
};
void kvmig__places_init(struct kvmig__kube_places *places, const struct kvmig__kube *kube);
void kvmig__places_clear(struct kvmig__kube_places *places);
/* What is on a node; in no particular order. */
const struct kvmig__kube_place *kvmig__places_at(const struct kvmig__kube_places *places, const char *node,
                                                 size_t *out_n);
/* NULL if the VMI does not migrate. */
const struct kvmig__kube_move *kvmig__places_move(const struct kvmig__kube_places *places,
                                                  const struct kvmig__kube_vmi *vmi);

/* A node as a host with the VMIs that are there as its domains (name "NAMESPACE/NAME", uuid = the VMI's UID); owned. (kube_hosts.c) */
struct kvmig__host *kvmig__places_host(const struct kvmig__kube_places *places, const struct kvmig__kube_node *node);

#endif
