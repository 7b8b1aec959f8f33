/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of the KubeVirt planner share. Pure, like all of the planner: the checks read the store of a view
 * (cluster/kube.h) and add findings. Two rules bind them all: of a kind that is not known nothing may be concluded from an
 * absence, and a check whose evidence is missing says nothing.
 */
#ifndef KVMIG_SRC_KUBE_CHECKS_H
#define KVMIG_SRC_KUBE_CHECKS_H

#include "cluster/facts.h"
#include "plan/kube_base.h"
#include "plan/plan_internal.h"

/* What the checks of all targets ask for again and again: with 1,000 nodes no check of one may go through all pods or nodes. What
 * depends on the store alone is in the base (kube_base.h), the rest is worked out once per plan (kube_index.c). Everything in it is
 * borrowed from the store but the lists themselves. */
struct kvmig__kube_neighbour { /* a pod that a rule about neighbours selects, and the topology domain that it is in */
    size_t rule;
    const char *key, *domain;
    const struct kvmig__kube_pod *pod;
};
/* One resource that the target launcher needs (kube_room.c). */
struct kvmig__kube_want {
    char *resource;
    uint64_t need;
    const char *code, *what; /* static */
    bool device, pages; /* of a device plugin; huge pages */
    const uint64_t *left; /* per node; NULL = no node offers it */
};
struct kvmig__kube_wants {
    struct kvmig__kube_want *v;
    size_t n;
};
struct kvmig__kube_index {
    struct kvmig__kube_base *base;
    struct kvmig__kube_nodes *nodes; /* with what is left on them: of the base, or as after other migrations */
    struct kvmig__kube_wants wants;
    struct {
        struct kvmig__kube_neighbour *v;
        size_t n;
    } neighbours; /* by rule, key, domain */
    struct kvmig__strlist repelling_keys; /* topology keys by which other pods keep the VM away */
    struct {
        uint64_t *v;
        size_t n;
    } spread_least; /* per topology spread of the VM: selected pods in the domain that has the fewest */
    struct {
        struct kvmig__kube_allowed {
            const struct kvmig__kube_pv *pv;
            struct kvmig__strlist names;
            bool untold, by_name; /* files without its labels; then: whose values are nodes' names */
        } * v;
        size_t n;
    } allowed; /* nodes that a volume admits, as far as they were asked for */
    int64_t newest_heartbeat_min; /* of all nodes; -1 = none */
    bool nodes_labelled; /* any node says whether it is schedulable for KubeVirt */
};
/* The cluster as it will be once other migrations have been made: for planning several together. */
struct kvmig__kube_whatif {
    struct kvmig__kube_nodes *nodes; /* less what the moved pods take there */
    const bool *skip; /* nodes that are no targets; per node */
    struct {
        const struct kvmig__kube_pod **v; /* as they will be: on another node */
        size_t n;
    } moved;
    bool left; /* the moved ones are not where they were any more; false: they count in both places */
    struct {
        const struct kvmig__kube_pod **v; /* as they are now */
        size_t n;
    } before;
};

struct kvmig__kube_check {
    const struct kvmig__kube *kube;
    const struct kvmig__facts *facts; /* NULL if there are none */
    const struct kvmig__wires *wires; /* of the VM (facts_checks.h); NULL without facts */
    struct kvmig__kube_index *index;
    const struct kvmig__kube_whatif *whatif; /* NULL = as it is */
    const struct kvmig__request *request;
    const struct kvmig__kube_vmi *vmi;
    const struct kvmig__kube_vm *vm; /* NULL: there is none, or it is not known */
    const struct kvmig__kube_kubevirt *kubevirt; /* NULL if not known */
    const struct kvmig__kube_vmim *vmim; /* of this VMI and not final; NULL if none */
    const struct kvmig__kube_pod *pod; /* the launcher that the VMI runs in; NULL if not known */
    const struct kvmig__kube_node *source; /* NULL if not known */
    const struct kvmig__kube_config *config; /* the options in force */
    const struct kvmig__kube_policy *policy; /* that contributed to them; NULL if none */
    const struct kvmig__kube_node *target; /* NULL while judging the VM alone, or if it is not in the view */
    size_t target_at; /* of target, in the store's order */
    const char *target_name; /* NULL while judging the VM alone */
    struct kvmig_findings *out;
};

/* ---- forecast (forecast_facts.c) ---- target: NULL = none is known */
void kvmig__forecast_facts_kube(const struct kvmig__view *view, const struct kvmig__kube_check *c,
                                const struct kvmig_plan *plan, const char *target, struct kvmig__forecast_facts *out);

/* ---- writing findings (kube_note.c) ---- */

/* Adds a finding to c->out, about c->target_name if there is one. Takes object (an owned string) and what detail holds (may be
 * NULL); hint may be NULL. */
void kvmig__kube_note(const struct kvmig__kube_check *c, const char *code, int32_t severity, char *object,
                      struct kvmig__detail *detail, const char *hint, const char *message_fmt, ...) KVMIG__PRINTF(7, 8);
/* Owned objects of findings. */
char *kvmig__kube_object_vm(const struct kvmig__kube_check *c);
char *kvmig__kube_object_target(const struct kvmig__kube_check *c);
char *kvmig__kube_object_claim(const struct kvmig__kube_check *c, const char *claim);
char *kvmig__kube_object_volume(const char *volume);
/* An amount in whole units, or as a decimal number in a string. */
void kvmig__detail_amount(struct kvmig__detail *d, const char *key, uint64_t milli);
char *kvmig__amount_text(uint64_t milli); /* "1.5"; owned */
/* Whether the running KubeVirt is at least that version: 1, 0, or -1 = not known. */
int32_t kvmig__kubevirt_is_at_least(const struct kvmig__kube_check *c, uint64_t major, uint64_t minor);
/* A feature gate is on: named and not disabled. */
bool kvmig__kubevirt_gate(const struct kvmig__kube_check *c, const char *gate);
/* The rest of text after prefix; NULL if it begins differently. */
const char *kvmig__after_prefix(const char *text, const char *prefix);

/* ---- the index (kube_index.c) ---- */
void kvmig__kube_index_init(struct kvmig__kube_index *index, const struct kvmig__kube_check *c);
void kvmig__kube_index_clear(struct kvmig__kube_index *index);
/* Of a rule (see kube_neighbours.c), the pods in one topology domain. */
const struct kvmig__kube_neighbour *kvmig__kube_neighbours_in(const struct kvmig__kube_index *index, size_t rule,
                                                              const char *key, const char *domain, size_t *out_n);
/* Whether a rule selects any pod, wherever that runs. */
bool kvmig__kube_has_neighbours(const struct kvmig__kube_index *index, size_t rule);
/* Adds the pods that each rule selects (kube_neighbours.c); unsorted. */
void kvmig__kube_collect_neighbours(struct kvmig__kube_index *index, const struct kvmig__kube_check *c);
/* After sorting: what the rules of topology spread compare with (kube_neighbours.c). */
void kvmig__kube_count_spread(struct kvmig__kube_index *index, const struct kvmig__kube_check *c);

/* ---- the VM itself ---- */
void kvmig__kube_check_state(const struct kvmig__kube_check *c); /* phase, pause (kube_state.c) */
void kvmig__kube_check_flight(const struct kvmig__kube_check *c); /* migrations under way or left (kube_flight.c) */
void kvmig__kube_check_waits(const struct kvmig__kube_check *c); /* slots, backup, utility volumes (kube_flight.c) */
void kvmig__kube_check_domain(const struct kvmig__kube_check *c); /* devices, guest protection (kube_domain.c) */
void kvmig__kube_check_target_network(const struct kvmig__kube_check *c);
void kvmig__kube_check_network(const struct kvmig__kube_check *c); /* bindings, addresses, networks (kube_network.c) */
/* The definition of a multus network ("NAME" or "NAMESPACE/NAME"); NULL if there is none or it is not known. */
const struct kvmig__kube_nad *kvmig__kube_nad_of(const struct kvmig__kube_check *c, const char *network);
void kvmig__kube_check_host_model(
    const struct kvmig__kube_check *c); /* does the source tell its host model? (kube_cpu.c) */
/* What the condition LiveMigratable says beyond what was found; after all other checks of the VM (kube_condition.c). */
void kvmig__kube_check_condition(const struct kvmig__kube_check *c);
void kvmig__kube_check_backoff(const struct kvmig__kube_check *c); /* kube_backoff.c */
void kvmig__kube_check_launcher(const struct kvmig__kube_check *c); /* the present launcher (kube_launcher.c) */
void kvmig__kube_check_options(const struct kvmig__kube_check *c); /* request and options in force (kube_options.c) */
/* Whether KubeVirt can be told the target (kube_options.c): unpinned is a risk if the VM may go elsewhere than was asked for (a
 * target, or that some nodes are none), and else a remark. */
void kvmig__kube_check_pinning(const struct kvmig__kube_check *c, bool elsewhere);
void kvmig__kube_check_quota(const struct kvmig__kube_check *c); /* kube_quota.c */
void kvmig__kube_check_forbidden(const struct kvmig__kube_check *c); /* kinds that may not be read (kube_options.c) */

/* ---- volumes (kube_volumes.c, kube_claims.c) ---- */
/* One volume of the VMI, joined with what is known of it. */
struct kvmig__kube_drive {
    const struct kvmig__kube_volume *volume;
    const struct kvmig__kube_disk *disk; /* NULL: it is no disk */
    const struct kvmig__kube_volume_status *status; /* NULL if there is none */
    const struct kvmig__kube_pvc *pvc; /* NULL if not known */
    const char *claim; /* NULL: it has none */
    const struct kvmig__strlist *modes; /* access modes of the claim; NULL if not known */
    bool filesystem; /* virtiofs */
    const char
        *moves_to; /* claim that it is copied to: of the request, or of a volume migration under way; NULL = it stays */
};
void kvmig__kube_drive(const struct kvmig__kube_check *c, size_t index, struct kvmig__kube_drive *out);
/* Decides the method of every volume. */
void kvmig__kube_plan_volumes(const struct kvmig__kube_check *c, struct kvmig__disk_plan **out_disks, size_t *out_n);
void kvmig__kube_check_volumes(const struct kvmig__kube_check *c); /* sharing, as seen from the VM */
/* The target gets a claim of its own for the state of TPM or EFI. */
bool kvmig__kube_state_is_copied(const struct kvmig__kube_check *c);
/* Claims of which the VM's status says nothing: KubeVirt takes them for not shared. */
void kvmig__kube_note_unobserved(const struct kvmig__kube_check *c);
void kvmig__kube_check_copies(const struct kvmig__kube_check *c, const struct kvmig__disk_plan *disks, size_t n);
/* Whether the target, or for want of one any other node, can use the claim's volume. */
void kvmig__kube_check_reach(const struct kvmig__kube_check *c);
bool kvmig__kube_has_places(const struct kvmig__kube_check *c); /* any volume that some nodes only can use */
void kvmig__kube_check_storage(const struct kvmig__kube_check *c); /* local volumes, classes; as seen from the VM */
bool kvmig__kube_claim_is_local(const struct kvmig__kube_check *c, const struct kvmig__kube_pvc *pvc);
const struct kvmig__kube_pv *kvmig__kube_pv_of(const struct kvmig__kube_check *c, const struct kvmig__kube_pvc *pvc);
/* ---- volume migrations (kube_move.c, kube_move_claim.c) ---- */
void kvmig__kube_check_move(const struct kvmig__kube_check *c);
void kvmig__kube_check_destination(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive);

/* ---- one target ---- */
/* The target's labels lack key=value; *out_stale: and so do the source's now, though the launcher pod still asks for it. */
bool kvmig__kube_lacks(const struct kvmig__kube_check *c, const char *key, const char *value, bool *out_stale);
void kvmig__kube_note_stale(const struct kvmig__kube_check *c, const struct kvmig__strlist *keys); /* kube_node.c */
void kvmig__kube_check_source_node(const struct kvmig__kube_check *c); /* can it send? (kube_node.c) */
/* The VM, or its launcher, tolerates that taint; an absent effect is any (kube_node.c). */
bool kvmig__kube_tolerates(const struct kvmig__kube_check *c, const struct kvmig__taint *taint);
void kvmig__kube_check_node(const struct kvmig__kube_check *c); /* readiness, taints, UUID (kube_node.c) */
void kvmig__kube_check_selectors(const struct kvmig__kube_check *c); /* labels asked for (kube_selectors.c) */
void kvmig__kube_check_pins(const struct kvmig__kube_check *c); /* the VM alone: does it admit another node at all? */
void kvmig__kube_check_neighbours(const struct kvmig__kube_check *c); /* pod affinity, spread (kube_neighbours.c) */
/* How many pods of the VM's spread, but its own, the target's domains hold. */
uint64_t kvmig__kube_count_peers(const struct kvmig__kube_check *c);
void kvmig__kube_check_cpu(const struct kvmig__kube_check *c); /* model, features, vendor (kube_cpu.c) */
void kvmig__kube_check_clock(const struct kvmig__kube_check *c); /* TSC, Hyper-V, machine type (kube_clock.c) */
/* What the launcher needs: worked out once, compared with each node. The list is the caller's: kvmig__kube_wants_clear(). */
void kvmig__kube_wants(const struct kvmig__kube_check *c, struct kvmig__kube_wants *out);
void kvmig__kube_wants_clear(struct kvmig__kube_wants *wants);
bool kvmig__kube_has_room(const struct kvmig__kube_wants *wants, const struct kvmig__kube_nodes *nodes, size_t at);
/* The findings of a node without room; needs no store. */
void kvmig__kube_note_room(const struct kvmig__kube_wants *wants, const struct kvmig__kube_nodes *nodes, size_t at,
                           struct kvmig_findings *out);
/* What the launcher of the VM asks for, and its limit, as Kubernetes counts it; KVMIG__UNKNOWN. */
uint64_t kvmig__kube_pod_request(const struct kvmig__kube_pod *pod, const char *resource);
uint64_t kvmig__kube_pod_limit(const struct kvmig__kube_pod *pod, const char *resource);
uint64_t kvmig__kube_needs(const struct kvmig__kube_check *c, const char *resource); /* estimated without a pod */

/* ---- names ---- */
#define KVMIG__LABEL_MODEL "cpu-model.node.kubevirt.io/"
#define KVMIG__LABEL_MODEL_MIGRATION "cpu-model-migration.node.kubevirt.io/"
#define KVMIG__LABEL_FEATURE "cpu-feature.node.kubevirt.io/"
#define KVMIG__LABEL_HOST_MODEL "host-model-cpu.node.kubevirt.io/"
#define KVMIG__LABEL_HOST_FEATURE "host-model-required-features.node.kubevirt.io/"
#define KVMIG__LABEL_VENDOR "cpu-vendor.node.kubevirt.io/"
#define KVMIG__LABEL_MACHINE "machine-type.node.kubevirt.io/"
#define KVMIG__LABEL_OBSOLETE "node-labeller.kubevirt.io/obsolete-host-model"
#define KVMIG__LABEL_HYPERV "hyperv.node.kubevirt.io/"
/* Whether the node has a label with that prefix. */
bool kvmig__kube_has_label(const struct kvmig__kube_node *node, const char *prefix);
/* The CPU model in force: of the VMI, of the KubeVirt object, or host-model. */
const char *kvmig__kube_cpu_model(const struct kvmig__kube_check *c);

#endif
