/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The checks on facts (cluster/facts.h), for both planners: rows of OVN's databases and observations that came with the view. All of
 * them say nothing where nothing was given. Pure, like all of the planner.
 */
#ifndef KVMIG_SRC_FACTS_CHECKS_H
#define KVMIG_SRC_FACTS_CHECKS_H

#include "cluster/facts.h"
#include "plan/checks.h"
#include "plan/kube_checks.h"

/* ---- the VM as its network sees it: neither a domain nor a VMI (facts_wires.c) ---- */
struct kvmig__move { /* a migration of the VM that is under way */
    const char *source, *target; /* nodes; borrowed; NULL = not known */
};
struct kvmig__wires {
    const struct kvmig__facts *facts; /* never NULL */
    const char *name, *ns; /* of the VM; ns NULL = a libvirt domain */
    char *object; /* "vm/ns/name" */
    const char *source; /* node that the VM runs on; NULL = not known */
    bool plugged; /* has an interface that a port of OVN could serve */
    struct kvmig__strlist macs; /* that it shows to its network */
    struct kvmig__strlist ids; /* iface-ids that its definition names */
    struct kvmig__strlist pods; /* its launchers, as far as they are known */
    struct kvmig__strlist providers; /* "NAME.NAMESPACE.ovn" of its secondary networks */
    bool pods_known, moves_known; /* moves_known: what is not in moves is not under way */
    struct {
        struct kvmig__move *v;
        size_t n;
    } moves;
    struct {
        const struct kvmig__fact_lsp **v;
        size_t n;
    } ports; /* its logical ports */
    struct kvmig__strlist tried; /* names that were looked for; "*" stands for anything */
    struct kvmig__strlist places; /* names by which chassis and hosts go, folded and sorted (facts_chassis.c) */
};
void kvmig__wires_of_domain(struct kvmig__wires *wires, const struct kvmig__check *c);
void kvmig__wires_of_vmi(struct kvmig__wires *wires, const struct kvmig__kube_check *c);
void kvmig__wires_clear(struct kvmig__wires *wires);
/* Adds a finding, about the host target if it is not NULL. Takes object and what detail holds, as kvmig__note(). */
void kvmig__wires_note(struct kvmig_findings *out, const char *target, const char *code, int32_t severity, char *object,
                       struct kvmig__detail *detail, const char *hint, const char *message_fmt, ...)
    KVMIG__PRINTF(8, 9);

/* ---- chassis and hosts by their several names (facts_chassis.c) ---- */
void kvmig__places_index(struct kvmig__wires *wires);
/* One of them is the other's first label, or they are equal; NULL is equal to nothing. */
bool kvmig__host_names_match(const char *a, const char *b);
enum kvmig__same kvmig__same_host(const struct kvmig__wires *wires, const char *chassis, const char *node);
/* What requested-chassis names, each chassis once; borrowed texts are copied. */
void kvmig__requested_chassis(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp,
                              struct kvmig__strlist *out);
/* The target's (and for any target the source's) row in OVN_Southbound. */
void kvmig__check_chassis(const struct kvmig__wires *wires, const char *target, struct kvmig_findings *out);

/* ---- logical ports ---- */
void kvmig__find_ports(struct kvmig__wires *wires); /* facts_ports.c */
void kvmig__check_ports(const struct kvmig__wires *wires, struct kvmig_findings *out); /* facts_ports.c */
void kvmig__check_port_options(const struct kvmig__wires *wires, const struct kvmig__fact_lsp *lsp,
                               struct kvmig_findings *out); /* facts_pair.c */

/* ---- both backends, network and certificates; wires NULL: no facts ---- */
void kvmig__check_facts(const struct kvmig__wires *wires, struct kvmig_findings *out);
bool kvmig__has_facts_of_targets(const struct kvmig__wires *wires); /* else the next finds nothing */
void kvmig__check_facts_target(const struct kvmig__wires *wires, const char *target, struct kvmig_findings *out);

/* ---- libvirt only ---- */
/* What observations call the target. If none was named it has no name; then the one host beside the source that they tell of is meant.
 * NULL: there is none, or there are several (facts_versions.c). */
const char *kvmig__observed_target(const struct kvmig__check *c);
/* Combinations of libvirt_flags that libvirt refuses (facts_flags.c); part of kvmig__check_request(). */
void kvmig__check_flags(const struct kvmig__check *c);
/* libvirt_flags ask for a copy and leave the choice of disks open. */
bool kvmig__flags_copy_all(const struct kvmig__request *request);
/* Names in the certificates that are used, and their time (facts_tls.c). */
void kvmig__check_certificates(const struct kvmig__check *c);
/* QEMU's and libvirt's versions as the hosts tell them, or else as the facts do; 0 = not known (facts_versions.c). */
uint64_t kvmig__qemu_of(const struct kvmig__check *c, const struct kvmig__host *host);
uint64_t kvmig__libvirt_of(const struct kvmig__check *c, const struct kvmig__host *host);
/* The same for a cluster, whose facts are those of the launchers (facts_versions.c). */
void kvmig__kube_check_versions(const struct kvmig__kube_check *c, const struct kvmig__facts *facts);
/* One storage or two, by what is mounted and what images there are (facts_mounts.c); UNKNOWN without such facts. */
struct kvmig__identity kvmig__facts_identity(const struct kvmig__check *c, const struct kvmig__place *source,
                                             const struct kvmig__place *target);
/* The file system that a host has mounted for a path; NULL if not known. *out_rest: the path below it. */
const struct kvmig__fact_mount *kvmig__fact_mount_of(const struct kvmig__facts *facts, const char *node,
                                                     const char *path, const char **out_rest);

/* The source has the path on a file system that keeps the caches of all hosts coherent. */
bool kvmig__fact_cache_coherent(const struct kvmig__check *c, const char *path);

/* ---- images (facts_images.c) ---- */
const struct kvmig__fact_image *kvmig__fact_image_of(const struct kvmig__facts *facts, const char *disk);
/* What the guest's image may take on the target; KVMIG__UNKNOWN. */
uint64_t kvmig__fact_image_room(const struct kvmig__fact_image *image);
/* Where the target opens the disk, and whether it has it, as observed; before and after the identity is judged. */
void kvmig__disk_see_path(const struct kvmig__check *c, struct kvmig__disk_job *job);
void kvmig__disk_see_absence(const struct kvmig__check *c, struct kvmig__disk_job *job);
/* The disk is to be copied into what was observed on the target. */
void kvmig__disk_copy_onto_image(const struct kvmig__check *c, struct kvmig__disk_job *job,
                                 const struct kvmig__fact_image *image);

#endif
