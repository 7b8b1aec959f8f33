/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of the planner. Pure: a request and a view go in, a plan comes out; no lock, clock, I/O, XML or JSON library
 * (plan_json.c, which writes a plan as JSON with json-c, is the one exception and reads only a finished plan).
 */
#ifndef KVMIG_SRC_PLAN_INTERNAL_H
#define KVMIG_SRC_PLAN_INTERNAL_H

#include "base/finding_internal.h"
#include "cluster/model.h"
#include "plan/forecast.h"
#include "plan/rank.h"
#include <kvmig/plan.h>

/* A deep copy of struct kvmig_plan_opts: what was asked for, validated for ranges only. */
struct kvmig__request {
    char *vm, *source, *target;
    uint64_t flags; /* enum kvmig_plan_flags */
    int32_t copy, handover;
    struct kvmig__strlist copy_disks;
    /* libvirt's migrate flags by name, without VIR_MIGRATE_, as the caller would pass them: judged as libvirt would judge them
     * (facts_flags.c). Whoever fills them sets flags, copy and the other members to what they mean, too. Empty = not given. */
    struct kvmig__strlist libvirt_flags;
    char *target_pool;
    uint64_t bandwidth_mib, postcopy_bandwidth_mib, max_downtime_ms;
    uint32_t parallel_connections, auto_converge_initial, auto_converge_increment;
    char *compression;
    int32_t compression_level;
    char *tls_destination, *target_uri, *migrate_uri, *target_name, *target_xml, *persistent_xml;
    struct {
        struct kvmig__volume_change {
            char *volume, *claim;
        } * v;
        size_t n;
    } volume_changes;
    int64_t now_ms; /* 0 = not known */
    struct kvmig__strlist exclude; /* hosts that are no targets */
    struct kvmig__strlist target_labels; /* KubeVirt: "KEY=VALUE" or "KEY" that the target must have */
    struct {
        struct kvmig__link_speed {
            char *host;
            uint64_t bytes_per_s;
        } * v;
        size_t n;
    } links;
    struct kvmig__forecast_asked forecast;
    /* What the view has learned; borrowed, read by kvmig__plan_make() only, as target_domain. NULL = nothing. */
    const struct kvmig__learned *learned;
    /* target_xml, parsed: what the target would open and plug into. Borrowed, read by kvmig__plan_make() only, never copied
     * or freed with the request. NULL = not parsed, then the host-specific parts of the caller's XML are not judged. */
    const struct kvmig__domain *target_domain;
    const struct kvmig__strlist *skip; /* host names that are no candidates; borrowed likewise */
};
/* Validates sizes, enums, unknown flags and required members; where names the call for the error. */
int32_t kvmig__request_from_opts(struct kvmig__request *request, const struct kvmig_plan_opts *opts, const char *where);
/* The same for many VMs: vm stays NULL, and what is about one VM is refused. opts may be NULL. */
int32_t kvmig__request_for_many(struct kvmig__request *request, const struct kvmig_plan_opts *opts, const char *where);
/* Sets what the libvirt flags stand for: those that are given, and what libvirt does without those that are not. (request_flags.c) */
void kvmig__request_take_flags(struct kvmig__request *request);
void kvmig__request_copy(struct kvmig__request *dst, const struct kvmig__request *src);
void kvmig__request_clear(struct kvmig__request *request);

/* What the plan says about one disk on the chosen target. */
struct kvmig__disk_plan {
    char *target; /* "vda" */
    int32_t method; /* enum kvmig_disk_method */
    char *reason; /* why this method, for people */
    char *source_path; /* what the source opens */
    char *format; /* of the top image */
    uint64_t capacity; /* virtual size, bytes */
    uint64_t estimate; /* bytes to be copied; KVMIG__UNKNOWN */
    char *pool; /* pool on the target for the new volume; NULL if nothing is to be created */
    char *volume; /* its name in the pool */
    char *target_path; /* where the target opens it */
    bool create; /* we create the volume */
    char *backing_path, *backing_format; /* for an incremental copy into a new qcow2 overlay; NULL = none */
};

struct kvmig__candidate {
    char *host;
    int32_t verdict; /* enum kvmig_verdict */
    struct kvmig__rank rank;
    enum kvmig__reason better_by; /* why it comes before the next one */
    char *better; /* the same for people; NULL for the last */
    struct kvmig_findings findings;
    struct {
        struct kvmig__disk_plan *v;
        size_t n;
    } disks;
};

struct kvmig__candidates {
    struct kvmig__candidate *v;
    size_t n;
};

/* What would have to change, of a plan that is blocked (remedy.c). */
struct kvmig__remedies {
    char *target; /* after which it could move there; NULL if there is no candidate */
    bool possible; /* no change is KVMIG_MEND_NEVER */
    struct kvmig_findings changes; /* blockers, cheapest to mend first */
};

/* Limits as they stand when the plan is made (cluster/limits.h counts them). */
struct kvmig__slots {
    uint32_t max_migrations, max_outbound, max_inbound;
    uint32_t running; /* in the view */
    /* per host, in view order: running out and in */
    struct {
        uint32_t out, in;
    } * per_host;
};

struct kvmig_plan {
    uint32_t refs; /* atomic */
    struct kvmig__request request;
    char *vm, *uuid, *source; /* host name */
    char *target; /* NULL if none */
    int32_t verdict;
    bool persistent; /* the domain is persistent on the source */
    bool was_paused; /* paused by a user before the migration: stays paused */
    struct kvmig_findings findings; /* about the VM, the request, and the target */
    struct {
        struct kvmig__disk_plan *v;
        size_t n;
    } disks; /* those of the target, or of no target in particular */
    struct kvmig__candidates candidates; /* best first, the source excluded; ask kvmig__plan_candidates() */
    struct kvmig__kube_lazy *lazy; /* KubeVirt: what they are written out from when somebody asks (plan/kube_lazy.c) */
    struct kvmig__forecast forecast;
    struct kvmig__remedies *remedies; /* atomic; NULL = nobody has asked yet */
    bool kube; /* of a Kubernetes cluster: vm is "NAMESPACE/NAME", uuid the VMI's UID, disks are its volumes */
    bool attached; /* not judged: follows the migration that somebody else started */
};

/* The planner. slots may be NULL. Fails only for: -KVMIG_ENOVM, -KVMIG_EAMBIGUOUS, -KVMIG_ENOHOST, -KVMIG_ENOTSYNCED. */
int32_t kvmig__plan_make(const struct kvmig__view *view, const struct kvmig__request *request,
                         const struct kvmig__slots *slots, struct kvmig_plan **out_plan);

/* ---- the planner for KubeVirt (kube_*.c) ---- view->kube is set. As kvmig__plan_make(). */
int32_t kvmig__plan_kube_make(const struct kvmig__view *view, const struct kvmig__request *request,
                              struct kvmig_plan **out_plan);
/* The same in the cluster as it will be after other migrations (kube_checks.h); NULL = as it is. */
struct kvmig__kube_whatif;
int32_t kvmig__plan_kube_whatif(const struct kvmig__view *view, const struct kvmig__request *request,
                                const struct kvmig__kube_whatif *whatif, struct kvmig_plan **out_plan);
/* A plan for following the migration vmim ("NAME", "NAMESPACE/NAME", "" = the one of the VM that is not final): source and, if known,
 * target; verdict MIGRATABLE without findings. Errors: -KVMIG_ENOVM, -KVMIG_EAMBIGUOUS, -ENOENT (no such migration). */
int32_t kvmig__plan_kube_attach(const struct kvmig__view *view, const char *vm, const char *vmim,
                                struct kvmig_plan **out_plan);

/* The judged hosts, best first. Any thread. */
const struct kvmig__candidates *kvmig__plan_candidates(const struct kvmig_plan *plan);
void kvmig__candidates_clear(struct kvmig__candidates *candidates);
struct kvmig__kube_lazy;
const struct kvmig__candidates *kvmig__kube_lazy_candidates(struct kvmig__kube_lazy *lazy);
void kvmig__kube_lazy_free(struct kvmig__kube_lazy *lazy); /* NULL is ignored */

/* Asks for the target that was found, and keeps no other candidate. node: of a KubeVirt plan that is not written out yet, its place.
 * Only for a plan that nobody else has seen. */
void kvmig__plan_keep_target(struct kvmig_plan *plan, size_t node);
/* The changes after which it could move; empty if it is not blocked. Any thread. */
const struct kvmig__remedies *kvmig__plan_remedies(const struct kvmig_plan *plan);
void kvmig__remedies_free(struct kvmig__remedies *remedies); /* NULL is ignored */
int32_t kvmig__finding_mend(const struct kvmig_finding *finding); /* enum kvmig_mend of a blocker */

/* The same plan with another target; a new plan, owned. */
struct kvmig_plan *kvmig__plan_retarget(const struct kvmig_plan *plan, const char *target);

/* ---- the checks (checks_*.c); each adds findings and changes nothing else ---- */
struct kvmig__paths { /* borrowed texts, sorted */
    const char **v;
    size_t n;
};
struct kvmig__check {
    const struct kvmig__view *view;
    const struct kvmig__request *request;
    const struct kvmig__host *source;
    const struct kvmig__domain *domain;
    const struct kvmig__host *target; /* NULL while judging the VM alone */
    struct kvmig_findings *out;
    const struct kvmig__paths *busy; /* what the active domains of the view have open for their disks */
};
void kvmig__check_request(const struct kvmig__check *c); /* conflicting options (checks_request.c) */
void kvmig__check_domain(const struct kvmig__check *c); /* state, snapshots, block jobs, devices (checks_domain.c) */
void kvmig__check_host(
    const struct kvmig__check *c); /* reachable, UUID, name, versions, memory, machine (checks_host.c) */
void kvmig__check_cpu(const struct kvmig__check *c); /* checks_cpu.c */
void kvmig__check_network(const struct kvmig__check *c); /* checks_network.c */
/* Decides the method of every disk and adds its findings (checks_disk.c). c->target may be NULL. */
void kvmig__plan_disks(const struct kvmig__check *c, struct kvmig__disk_plan **out_disks, size_t *out_n);

/* forecast_json.c: the forecast as JSON, owned; NULL = there is none. */
struct json_object;
struct json_object *kvmig__forecast_json(const struct kvmig__forecast *forecast);

void kvmig__disk_plan_clear(struct kvmig__disk_plan *disk);
void kvmig__disk_plan_copy(struct kvmig__disk_plan *dst, const struct kvmig__disk_plan *src);

#endif
