/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What does not change from one planning to the next, as long as the store stays as it is: which pods are on which node, what is
 * left there, and which nodes are alike. Built once per state of the store and kept with its look-ups. Pure.
 */
#ifndef KVMIG_SRC_KUBE_BASE_H
#define KVMIG_SRC_KUBE_BASE_H

#include "cluster/kube_lookup.h"

#define KVMIG__NO_NODE SIZE_MAX

/* What is left of one resource on each node, in thousandths; KVMIG__UNKNOWN where it is not offered. */
struct kvmig__kube_column {
    char *resource;
    uint64_t *left;
};
/* The nodes as plans remember them: counted, and free of the store. Only columns are added, and only while the store is there. */
struct kvmig__kube_nodes {
    uint32_t refs; /* atomic */
    size_t n; /* nodes, in the order of the store */
    const char **names;
    bool *offers; /* lists what it offers at all */
    char *text; /* of the names */
    struct {
        struct kvmig__kube_column **v;
        size_t n;
    } columns;
};
struct kvmig__kube_base {
    const struct kvmig__kube *kube;
    struct kvmig__kube_nodes *nodes;
    const struct kvmig__kube_pod *
        *pods; /* on a node of the store and not ended; by node, then in the order of the store */
    size_t n_pods, *first; /* of the pods of each node; n + 1 entries */
    uint32_t *class_of; /* per node: its class; nodes of one class differ in names and amounts only */
    struct {
        uint32_t *v; /* a node of that class */
        size_t n;
    } classes;
    uint64_t *
        distances; /* 1 + features in which two classes differ, row by row; 0 = not counted yet; NULL = too many classes */
    struct kvmig__strlist own_keys; /* labels that tell nodes apart, as their names do; no part of a class */
    struct kvmig__multimap named; /* names and values of such labels, to nodes */
    struct {
        const struct kvmig__kube_pod **v;
        size_t n;
    } repelling; /* pods that keep others away */
    struct kvmig__strlist resources; /* that any node offers */
    int64_t newest_heartbeat_min; /* -1 = none */
    bool nodes_labelled; /* any node says whether it is schedulable for KubeVirt */
    struct kvmig__kube_memo *memo; /* judgements of classes, by what VMs ask for (kube_memo.c) */
};

/* Builds it, or takes the one that the store's look-ups hold, which must be there. */
struct kvmig__kube_base *kvmig__kube_base(const struct kvmig__kube *kube);
size_t kvmig__kube_base_find(const struct kvmig__kube_base *base, const char *node); /* KVMIG__NO_NODE */
const struct kvmig__kube_node *kvmig__kube_base_node(const struct kvmig__kube_base *base, size_t i);
bool kvmig__kube_base_own_key(const struct kvmig__kube_base *base, const char *key);

/* NULL if no node offers it. Counted from told usage, or from the pods. */
const struct kvmig__kube_column *kvmig__kube_base_column(struct kvmig__kube_base *base, struct kvmig__kube_nodes *nodes,
                                                         const char *resource);
struct kvmig__kube_nodes *kvmig__kube_nodes_ref(struct kvmig__kube_nodes *nodes);
void kvmig__kube_nodes_unref(struct kvmig__kube_nodes *nodes);
/* The same nodes with columns of their own, which may be changed. */
struct kvmig__kube_nodes *kvmig__kube_nodes_copy(const struct kvmig__kube_nodes *nodes);

/* ---- judgements that are kept (kube_memo.c) ---- */
struct kvmig__kube_memo *kvmig__kube_memo_new(const struct kvmig__kube_base *base);
void kvmig__kube_memo_free(struct kvmig__kube_memo *memo);

/* ---- classes (kube_classes.c) ---- */
/* Fields one after the other, written so that no two sequences of fields give the same text. */
struct kvmig__kube_text {
    char *v;
    size_t n, room;
};
void kvmig__kube_text_add(struct kvmig__kube_text *text, const char *what); /* NULL is no "" */
void kvmig__kube_text_number(struct kvmig__kube_text *text, int64_t number);
uint32_t kvmig__kube_text_hash(const struct kvmig__kube_text *text);
void kvmig__kube_base_classify(struct kvmig__kube_base *base);
/* Behind the newest heart-beat by more than KubeVirt takes: minutes, else 0. */
int64_t kvmig__kube_heartbeat_late_min(const struct kvmig__kube_node *node, int64_t newest_min);
int64_t kvmig__kube_heartbeat_min(const struct kvmig__kube_node *node); /* -1 = none (kube_node.c) */
/* virt-handler's pod on a node; NULL if it is not seen (kube_node.c). */
const struct kvmig__kube_pod *kvmig__kube_handler_on(const struct kvmig__kube_base *base, size_t node);
uint64_t kvmig__kube_pod_request(const struct kvmig__kube_pod *pod, const char *resource); /* kube_room.c */
#define KVMIG__LABEL_SCHEDULABLE "kubevirt.io/schedulable"
#define KVMIG__LABEL_HEARTBEAT "kubevirt.io/heartbeat"
#define KVMIG__NOTE_NETWORKS "k8s.v1.cni.cncf.io/networks"
#define KVMIG__NOTE_SKIP_LABELLER "node-labeller.kubevirt.io/skip-node"
#define KVMIG__LABEL_HOSTNAME "kubernetes.io/hostname"

#endif
