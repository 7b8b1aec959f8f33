/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small KubeVirt cluster for tests of the store and of the planner: nodes alpha, beta and gamma, all alike, and VM ns1/vm1 on alpha
 * with a shared volume "root", so that it migrates without a remark. A test changes what it is about and plans. Every kind that
 * has an object is known; the rest is unknown.
 */
#ifndef KVMIG_TESTS_KUBE_FIXTURE_H
#define KVMIG_TESTS_KUBE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/kube.h"
#include "plan/plan_internal.h"

#define GIB ((uint64_t)1 << 30)
#define VM_UID "aaaaaaaa-0000-4000-8000-000000000001"
#define JOB_UID "aaaaaaaa-0000-4000-8000-000000000100"

struct cluster {
    struct kvmig__kube kube;
    struct kvmig__request request; /* for ns1/vm1 */
    struct kvmig_plan *plan; /* the last one */
};

void cluster_init(struct cluster *cluster);
void cluster_clear(struct cluster *cluster);
void cluster_know(struct cluster *cluster, int32_t kind); /* listed, possibly empty */

/* Adds an object of a kind, which is known from then on; ns NULL for none. */
void *cluster_add(struct cluster *cluster, int32_t kind, const char *ns, const char *name);
struct kvmig__kube_node *cluster_add_node(struct cluster *cluster, const char *name); /* like the others */
struct kvmig__kube_node *cluster_node(struct cluster *cluster, const char *name);
struct kvmig__kube_vmi *cluster_vm(struct cluster *cluster);
/* The launcher of vm1 on a node: asks for 2 CPUs and 4 GiB. */
struct kvmig__kube_pod *cluster_add_launcher(struct cluster *cluster, const char *name, const char *node);
struct kvmig__kube_vmim *cluster_add_vmim(struct cluster *cluster, const char *name, const char *vmi,
                                          const char *phase);
/* A VM elsewhere that does not matter but for its node. */
struct kvmig__kube_vmi *cluster_add_vm(struct cluster *cluster, const char *name, const char *node);
struct kvmig__kube_pvc *cluster_claim(struct cluster *cluster, const char *name);
/* 10 GiB, bound, of class "shared". */
struct kvmig__kube_pvc *cluster_add_claim(struct cluster *cluster, const char *name, const char *access_mode);
/* Binds a claim to a volume of that type that only the node admits (NULL = any). */
struct kvmig__kube_pv *cluster_bind(struct cluster *cluster, const char *claim, const char *type, const char *node);
/* A further volume and its disk. */
struct kvmig__kube_disk *cluster_add_volume(struct cluster *cluster, const char *name, const char *kind,
                                            const char *claim);
struct kvmig__kube_kubevirt *cluster_add_kubevirt(struct cluster *cluster, const char *version);
void cluster_move(struct cluster *cluster, const char *volume, const char *claim); /* asks for a volume migration */

void label(void *object, const char *key, const char *value); /* NULL value: removes it */
void amount(struct kvmig__amounts *amounts, const char *name, uint64_t milli);
void condition(struct kvmig__kube_conditions *conditions, const char *type, const char *status, const char *reason,
               const char *message);
void require_host(struct kvmig__terms *terms, const char *node);

/* Plans (the old plan is dropped); fails the test if that fails. */
const struct kvmig_plan *cluster_plan(struct cluster *cluster);
const struct kvmig__candidate *candidate(const struct cluster *cluster, const char *node);
/* The finding of that code; NULL if there is none. */
const struct kvmig_finding *finding(const struct kvmig_findings *findings, const char *code);
/* Plans; the VM itself, or a candidate, has such a finding, whose detail contains piece (unless NULL). */
const struct kvmig_finding *assert_vm_has(struct cluster *cluster, const char *code, int32_t severity,
                                          const char *piece);
const struct kvmig_finding *assert_node_has(struct cluster *cluster, const char *node, const char *code,
                                            int32_t severity, const char *piece);
/* Plans; nothing of the code anywhere. */
void assert_nothing(struct cluster *cluster, const char *code);
void assert_is(struct cluster *cluster, int32_t verdict);
const struct kvmig__disk_plan *disk(const struct cluster *cluster, const char *volume);

#endif
