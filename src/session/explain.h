/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Explanations: building the value object, and the pure explanation of a migration in KubeVirt from the store. Pure: no lock, clock or
 * I/O, JSON only in explain_json.c. Public calls that need a lock are in explain.c.
 */
#ifndef KVMIG_SRC_EXPLAIN_H
#define KVMIG_SRC_EXPLAIN_H

#include "base/finding_internal.h"
#include "cluster/kube.h"
#include "kubernetes/follow.h"
#include <kvmig/explain.h>

struct kvmig__wait { /* all owned; as struct kvmig_wait */
    char *code, *object, *waits_for, *condition, *evidence, *limit, *hint;
    int64_t since_ms, ends_ms;
    int32_t severity, depth;
    struct kvmig__detail detail; /* the values that matter, by name, for the diagnosis; owned */
};
struct kvmig_explanation {
    uint32_t refs; /* atomic */
    char *summary, *verdict;
    struct {
        struct kvmig__wait *v;
        size_t n;
    } waits; /* as added; kvmig__explanation_finish() sorts */
    struct kvmig_wait *public_waits; /* filled by finish */
};
struct kvmig_explanation *kvmig__explanation_new(void);
/* Adds a link, zeroed but for its code (copied). Valid until the next one is added. */
struct kvmig__wait *kvmig__explanation_add(struct kvmig_explanation *explanation, const char *code, int32_t severity,
                                           int32_t depth);
/* Sorts (the first blocker first: worst severity, then deepest, then oldest), fills the public structs, and writes a summary and
 * verdict unless they are set. After this it is immutable. */
void kvmig__explanation_finish(struct kvmig_explanation *explanation);

/* What the migration waits for, from the store alone: VMIM, its launcher and attachment pods, their images, volumes and network,
 * quota, slots and place in the queue, back-off, backup, utility volumes, hand-off, preparation, copy, switch, and what is left
 * behind. follow may be NULL (then one is made from the store). vmim may be NULL (nothing is under way). now_ms: wall clock. */
void kvmig__explain_kube(struct kvmig_explanation *explanation, const struct kvmig__kube *kube,
                         const struct kvmig__kube_vmi *vmi, const struct kvmig__kube_vmim *vmim,
                         const struct kvmig__follow *follow, int64_t now_ms);
/* Splits the scheduler's message ("0/5 nodes are available: 1 node(s) had untolerated taint {a: }, 2 Insufficient memory. preemption: ...")
 * into counts per reason. *out_total: nodes in all. Returns how many reasons; reasons are owned by out (clear it with
 * kvmig__pairs_clear: key = reason, value = count). */
size_t kvmig__scheduler_message(const char *message, uint32_t *out_total, struct kvmig__pairs *out);
/* The same as members of a detail: nodes in all, and each reason with its count. */
void kvmig__scheduler_detail(const char *message, struct kvmig__detail *out);
/* "... exceeded quota: NAME, requested: R, used: U, limited: L": what was asked for and what there is. */
void kvmig__quota_detail(const char *message, struct kvmig__detail *out);
/* Per node but source (may be NULL), the labels that the pod's selector wants and the node lacks: "node-b lacks: zone=z1, rack". Those
 * that lack the fewest come first. Owned list; returns how many nodes were left out of it. */
size_t kvmig__missing_labels(const struct kvmig__kube *kube, const struct kvmig__kube_pod *pod, const char *source,
                             struct kvmig__strlist *out);

#endif
