/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a plan keeps of the nodes that were judged: findings per class of nodes, and numbers. They are written out per node when
 * somebody asks for candidates. Pure; made by one thread, then read by any.
 */
#ifndef KVMIG_SRC_KUBE_LAZY_H
#define KVMIG_SRC_KUBE_LAZY_H

#include "plan/kube_checks.h"

#define KVMIG__NO_CLASS UINT32_MAX
/* Stands for the node's name in the findings of a class; no name of a node looks so. */
#define KVMIG__ANY_NODE "<kvmig-node>"

struct kvmig__kube_class {
    struct kvmig_findings findings;
    int32_t worst;
    uint32_t risks, blockers;
    uint64_t away, features; /* see struct kvmig__rank */
    bool limited; /* LIMIT_REACHED is among them */
    bool shared; /* names KVMIG__ANY_NODE */
    bool judged;
};
/* What is found about the classes of the base, for VMs that ask for the same: counted, because plans outlive the store. A class is
 * judged for the first plan that needs it, and never changed again. */
struct kvmig__kube_judged {
    uint32_t refs; /* atomic */
    bool kept; /* it is remembered, so that what it holds counts; the memo's own, as the next one */
    size_t cost;
    size_t n;
    struct kvmig__kube_class *v; /* per class of the base */
};
struct kvmig__kube_extra { /* findings of one node, beyond those of its class */
    size_t node;
    struct kvmig_findings findings;
};
struct kvmig__kube_lazy {
    struct kvmig__kube_nodes *nodes; /* counted */
    struct kvmig__kube_wants wants;
    const uint64_t *memory; /* left per node, in thousandths; NULL = not known; of nodes */
    uint64_t memory_need; /* of the VM, in thousandths */
    uint64_t *peers; /* per node; NULL = the VM asks for no spread */
    uint64_t *links, usual_link; /* per node, bytes/s; NULL = nothing was told */
    uint32_t *class_of; /* per node; KVMIG__NO_CLASS = no candidate; from shared->n on: of the own ones */
    size_t n; /* candidates */
    struct kvmig__kube_judged *shared; /* counted */
    struct {
        struct kvmig__kube_class *v;
        size_t n;
    } own; /* of nodes that are judged by themselves */
    struct {
        struct kvmig__kube_extra *v;
        size_t n;
    } extras; /* by node */
    struct {
        struct kvmig__disk_plan *v;
        size_t n;
    } disks; /* the same for every node */
    int32_t common_worst; /* of the findings about the VM */
    bool common_limited;
    struct kvmig__candidates *made; /* atomic; NULL = nobody has asked yet */
};

/* Of a node that is a candidate. */
static inline const struct kvmig__kube_class *kvmig__kube_class_of(const struct kvmig__kube_lazy *lazy, size_t node)
{
    const uint32_t class = lazy->class_of[node];

    return class < lazy->shared->n ? &lazy->shared->v[class] : &lazy->own.v[class - lazy->shared->n];
}

/* The node that comes first among those that can take the VM; KVMIG__NO_NODE. */
size_t kvmig__kube_lazy_best(const struct kvmig__kube_lazy *lazy);
/* How many candidates have each verdict (enum kvmig_verdict). */
void kvmig__kube_lazy_count(const struct kvmig__kube_lazy *lazy, size_t counts[KVMIG_VERDICT_SOURCE + 1]);
/* One candidate, written out into the empty *out. */
void kvmig__kube_lazy_write(const struct kvmig__kube_lazy *lazy, size_t node, struct kvmig__candidate *out);

/* ---- judgements that are kept (kube_memo.c) ---- */
/* A reference to what is known of the classes of the base for such VMs. own: nobody else asks for the same. */
struct kvmig__kube_judged *kvmig__kube_memo_get(const struct kvmig__kube_check *c, bool own);
/* A class of it was judged; may forget it, so that no other VM gets it. */
void kvmig__kube_memo_note(struct kvmig__kube_base *base, struct kvmig__kube_judged *judged,
                           const struct kvmig__kube_class *class);
struct kvmig__kube_judged *kvmig__kube_judged_new(size_t n);
void kvmig__kube_judged_unref(struct kvmig__kube_judged *judged);

/* ---- what nodes are compared by (kube_rank.c) ---- */
struct kvmig__kube_yardstick { /* of the source's node; borrowed texts */
    const char *zone;
    struct {
        const char **v;
        size_t n;
    } features; /* sorted */
};
void kvmig__kube_rank_begin(const struct kvmig__kube_check *c, struct kvmig__kube_yardstick *out);
void kvmig__kube_rank_end(struct kvmig__kube_yardstick *yardstick);
void kvmig__kube_rank_class(const struct kvmig__kube_check *c, const struct kvmig__kube_yardstick *source, bool shared,
                            struct kvmig__kube_class *out);
void kvmig__kube_rank_links(const struct kvmig__kube_check *c, struct kvmig__kube_lazy *lazy);
uint64_t kvmig__kube_headroom(const struct kvmig__kube_lazy *lazy, size_t node); /* bytes */
/* Without the findings that are the node's own. */
struct kvmig__rank kvmig__kube_rank(const struct kvmig__kube_lazy *lazy, size_t node);
/* Nodes that the request rules out, one entry per node; NULL = none. Owned. */
bool *kvmig__kube_unwanted(const struct kvmig__kube_check *c);
/* Excluded nodes must be there, and the target must not be ruled out. */
int32_t kvmig__kube_check_choice(const struct kvmig__kube *kube, const struct kvmig__request *request);

/* Judges every node but the source (kube_judge.c). common: findings about the VM. */
struct kvmig__kube_lazy *kvmig__kube_judge(const struct kvmig__kube_check *c, const struct kvmig_findings *common);

#endif
