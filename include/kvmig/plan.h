/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file plan.h
 * The planner: whether, where and how a VM can migrate, and every reason why not. A plan is pure: made from
 * the cluster view as it is, without I/O, and immutable.
 */
#ifndef KVMIG_PLAN_H
#define KVMIG_PLAN_H

#include <kvmig/cluster.h>
#include <kvmig/finding.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The answer of a plan. Append-only. Since: 0.1.0 */
enum kvmig_verdict {
    KVMIG_VERDICT_MIGRATABLE = 1, /**< no blocker and no risk worth a warning */
    KVMIG_VERDICT_MIGRATABLE_WITH_RISK = 2, /**< may start; each risk is a finding */
    KVMIG_VERDICT_QUEUED = 3, /**< nothing is wrong, but a limit holds it back */
    KVMIG_VERDICT_BLOCKED = 4, /**< must not start */
    KVMIG_VERDICT_SOURCE = 5, /**< candidates only: this host is the source */
};

/** What kind of change takes a blocker away, cheapest first. Append-only. Since: 0.1.0 */
enum kvmig_mend {
    KVMIG_MEND_REQUEST = 1, /**< other options, or another destination, in the request */
    KVMIG_MEND_WAIT = 2, /**< it ends by itself */
    KVMIG_MEND_VM = 3, /**< a change of the VM, or of its state, that needs no restart */
    KVMIG_MEND_TARGET = 4, /**< a change of the target's configuration */
    KVMIG_MEND_CLUSTER = 5, /**< a change of the cluster's configuration */
    KVMIG_MEND_ROOM = 6, /**< room has to be made: on the target, in a pool, in a quota */
    KVMIG_MEND_STORAGE = 7, /**< a disk has to get other storage */
    KVMIG_MEND_RESTART = 8, /**< a change of the VM that takes effect with a restart of the guest */
    KVMIG_MEND_UPGRADE = 9, /**< other versions on a host */
    KVMIG_MEND_NEVER = 10, /**< nothing helps as long as this guest runs as it does */
};

/** How a disk gets to the target. Append-only. Since: 0.1.0 */
enum kvmig_disk_method {
    KVMIG_DISK_SHARED = 1, /**< both hosts see the same storage */
    KVMIG_DISK_COPY_FULL = 2, /**< the whole disk is copied */
    KVMIG_DISK_COPY_INCREMENTAL = 3, /**< the top image is copied over a backing chain that the target has */
    KVMIG_DISK_SKIP = 4, /**< empty or read-only, or left out by the caller */
    KVMIG_DISK_IMPOSSIBLE = 5, /**< neither shared nor copyable; a finding says why */
};

/** Which disks are copied. Append-only. Since: 0.1.0 */
enum kvmig_copy {
    KVMIG_COPY_AUTO = 0, /**< those that are not proven to be shared; incremental where the target has the chain */
    KVMIG_COPY_NONE = 1, /**< none: all storage is shared, the caller says */
    KVMIG_COPY_FULL = 2, /**< copy_disks, or all writable disks that are not shared, whole */
    KVMIG_COPY_INCREMENTAL = 3, /**< likewise, top images only */
};

/** How the guest is handed over. Append-only. Since: 0.1.0 */
enum kvmig_handover {
    KVMIG_HANDOVER_NORMAL = 0, /**< libvirt starts the target; a lost reply at that moment could leave two copies */
    /** The target comes up paused and is resumed once the source is proven not to run the guest again: it is seen stopped,
     *  or, if it cannot be asked any more, the migrate call reported success, after which nothing in libvirt resumes it. */
    KVMIG_HANDOVER_STRICT = 1,
};

/** Switches of a migration. Append-only. Since: 0.1.0 */
enum kvmig_plan_flags {
    KVMIG_PLAN_MANAGED =
        1 << 0, /**< this process drives libvirt's phases; default: the source daemon does (peer-to-peer) */
    KVMIG_PLAN_UNSAFE = 1 << 1, /**< consent: VIR_MIGRATE_UNSAFE, the caller knows that the storage is safe */
    KVMIG_PLAN_AUTO_CONVERGE = 1 << 2, /**< QEMU may throttle the guest's CPUs */
    KVMIG_PLAN_ALLOW_POSTCOPY = 1 << 3, /**< consent: post-copy may be switched to; from then on there is no way back */
    KVMIG_PLAN_POSTCOPY_AFTER_PRECOPY = 1 << 4, /**< switch to post-copy after the first round (needs ALLOW_POSTCOPY) */
    KVMIG_PLAN_TLS = 1 << 5, /**< encrypt the migration (QEMU's own TLS) */
    KVMIG_PLAN_TRANSIENT_TARGET = 1 << 6, /**< do not make the domain persistent on the target */
    KVMIG_PLAN_KEEP_SOURCE_DEFINITION = 1 << 7, /**< leave the persistent definition on the source */
    KVMIG_PLAN_ABORT_ON_IO_ERROR = 1 << 8, /**< VIR_MIGRATE_ABORT_ON_ERROR */
    KVMIG_PLAN_ANY_TARGET =
        1 << 9, /**< KubeVirt: the plan's target is a forecast; the scheduler chooses, nothing is pinned */
    KVMIG_PLAN_FOR_DRAIN =
        1 << 10, /**< KubeVirt: a drain of the source is to move it; what that endangers is told, too */
};

/**
 * KubeVirt: one volume that is to move to another claim (updateVolumesStrategy Migration). Fixed for good: it lies in arrays and has
 * no size member, so it never gets another member. Since: 0.1.0
 */
struct kvmig_volume_change {
    const char *volume; /**< name of the volume in the VM's spec */
    const char *claim; /**< name of the destination PVC or DataVolume, which exists */
};

/**
 * What migrations to a host have reached, as the caller learned it. Fixed for good, as struct kvmig_volume_change. Since: 0.1.0
 */
struct kvmig_link {
    const char *host; /**< name, URI or UUID */
    uint64_t bytes_per_s; /**< more than 0 */
};
struct kvmig_forecast_opts;

/** What to plan; zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_plan_opts {
    size_t size; /**< set by KVMIG_PLAN_OPTS_INIT */
    const char *vm; /**< name or UUID of the VM; required */
    const char *source; /**< host name or URI; NULL = where the VM runs */
    const char *target; /**< host name or URI; NULL = the best one */
    uint64_t flags; /**< enum kvmig_plan_flags */
    int32_t copy; /**< an enum kvmig_copy */
    int32_t handover; /**< an enum kvmig_handover */
    const char *const *copy_disks; /**< target devices ("vda") to copy; copied; none = the planner chooses */
    size_t n_copy_disks; /**< entries in copy_disks */
    const char *target_pool; /**< pool for new volumes; NULL = the pool of the same path or name */
    uint64_t bandwidth_mib; /**< MiB/s; 0 = unlimited */
    uint64_t postcopy_bandwidth_mib; /**< MiB/s in post-copy; 0 = unlimited */
    uint64_t max_downtime_ms; /**< longest pause that is acceptable; 0 = QEMU's 300 ms */
    uint32_t parallel_connections; /**< 0 or 1 = one stream; else that many (VIR_MIGRATE_PARALLEL) */
    uint32_t auto_converge_initial; /**< percent; 0 = QEMU's default */
    uint32_t auto_converge_increment; /**< percent; 0 = QEMU's default */
    int32_t compression_level; /**< for mt, zlib and zstd; 0 = the default */
    const char *compression; /**< "xbzrle", "mt", "zlib", "zstd"; NULL = none */
    const char *tls_destination; /**< name in the target's certificate, when migrating by address */
    const char *target_uri; /**< how the source daemon dials the target daemon; NULL = the target's own URI */
    const char *migrate_uri; /**< VIR_MIGRATE_PARAM_URI; NULL = libvirt chooses */
    const char *target_name; /**< new name on the target; NULL = keep */
    const char *target_xml; /**< domain XML for the target (host-specific parts may differ); NULL = as on the source */
    const char *persistent_xml; /**< the same for the persistent definition */
    const struct kvmig_volume_change *
        volume_changes; /**< KubeVirt: a volume migration of exactly these; copied; none = the VM moves with its volumes as they are */
    size_t n_volume_changes; /**< entries in volume_changes */
    const char *const
        *libvirt_flags; /**< names of libvirt's migrate flags without VIR_MIGRATE_ ("LIVE", "TLS"), for callers who
                                 think in these: judged as a set, as libvirt would. Those that have a counterpart in
                                 flags, copy or parallel_connections set it; copied; none = not given */
    size_t n_libvirt_flags; /**< entries in libvirt_flags */
    int64_t
        now_ms; /**< the time of the question, ms since 1970, for what expires; 0 = not known, what expires is not judged */
    const char *const *exclude; /**< hosts that must not be the target: name, URI or UUID; copied */
    size_t n_exclude; /**< entries in exclude */
    const char *target_labels; /**< KubeVirt: "KEY=VALUE,KEY": only nodes with these labels; NULL = any */
    const struct kvmig_link
        *links; /**< makes faster links come first, before what migrations of this view have reached;
                                         hosts without one count as the mean; copied */
    size_t n_links; /**< entries in links */
    const struct kvmig_forecast_opts
        *forecast; /**< what the caller knows for the forecast (kvmig/forecast.h); copied; NULL = nothing */
};

/** Begins a struct kvmig_plan_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_PLAN_OPTS_INIT KVMIG_OPTS_INIT(kvmig_plan_opts)

/**
 * The same at run time, for languages that cannot use the macro: zeroes size bytes at opts and sets opts->size to size,
 * which is what the caller takes the size of the struct to be. Returns 0. Threads: any. Errors: -EINVAL (opts is NULL, or size
 * has no room for the member size). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_plan_opts_init(struct kvmig_plan_opts *opts, size_t size);

/** The result of planning one migration: opaque, immutable, counted. Since: 0.1.0 */
struct kvmig_plan;

/**
 * Plans one migration. A VM that cannot move is no error: the verdict says so. *out_plan is owned:
 * kvmig_plan_unref(). Threads: any. Errors: -EINVAL (names the option), -E2BIG, -KVMIG_ENOTSYNCED, -KVMIG_ENOVM,
 * -KVMIG_EAMBIGUOUS, -KVMIG_ENOHOST. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_plan(struct kvmig_cluster *cluster, const struct kvmig_plan_opts *opts,
                                     struct kvmig_plan **out_plan);

/** Plans of many VMs, one after the other: an opaque handle, for one thread at a time. Since: 0.1.0 */
struct kvmig_plan_iterator;

/**
 * Begins to plan every VM that runs in the view now, each as kvmig_cluster_plan() would. opts (may be NULL) are those of all plans,
 * without what is about one VM: vm, source, target_name, target_xml, persistent_xml, volume_changes. *out_iterator is owned:
 * kvmig_plan_iterator_free(). Threads: any. Errors: -EINVAL (names the option), -E2BIG, -KVMIG_ENOTSYNCED. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_plan_all(struct kvmig_cluster *cluster, const struct kvmig_plan_opts *opts,
                                         struct kvmig_plan_iterator **out_iterator);
/** How many VMs there were at the beginning. Threads: any. Since: 0.1.0 */
KVMIG_API size_t kvmig_plan_iterator_count(const struct kvmig_plan_iterator *iterator);
/**
 * The next plan, from the view as it is now; VMs that are gone by then are left out. Returns 0 with *out_plan owned
 * (kvmig_plan_unref()), or 0 with NULL at the end. Threads: any, one at a time. Errors: -EINVAL for NULL, -KVMIG_ENOHOST. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_plan_iterator_next(struct kvmig_plan_iterator *iterator, struct kvmig_plan **out_plan);
/** Frees it; NULL is ignored. Threads: any. Since: 0.1.0 */
KVMIG_API void kvmig_plan_iterator_free(struct kvmig_plan_iterator *iterator);

/** One more owner. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_plan *kvmig_plan_ref(const struct kvmig_plan *plan);
/** One owner less; NULL is ignored. Threads: any. Since: 0.1.0 */
KVMIG_API void kvmig_plan_unref(struct kvmig_plan *plan);

/** An enum kvmig_verdict. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_plan_verdict(const struct kvmig_plan *plan);
/** The VM's name. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_plan_vm(const struct kvmig_plan *plan);
/** The source host. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_plan_source(const struct kvmig_plan *plan);
/** The target chosen or asked for; NULL if there is none. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_plan_target(const struct kvmig_plan *plan);
/** Findings about the VM and the target, worst first. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_findings *kvmig_plan_findings(const struct kvmig_plan *plan);

/** How many disks the VM has. Threads: any. Since: 0.1.0 */
KVMIG_API size_t kvmig_plan_disk_count(const struct kvmig_plan *plan);
/** The target device of a disk ("vda"); NULL past the end. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_plan_disk_target(const struct kvmig_plan *plan, size_t index);
/** An enum kvmig_disk_method; 0 past the end. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_plan_disk_method(const struct kvmig_plan *plan, size_t index);

/** How many other hosts were judged. Threads: any. Since: 0.1.0 */
KVMIG_API size_t kvmig_plan_candidate_count(const struct kvmig_plan *plan);
/** A judged host, best first; NULL past the end. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_plan_candidate_host(const struct kvmig_plan *plan, size_t index);
/** Its enum kvmig_verdict. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_plan_candidate_verdict(const struct kvmig_plan *plan, size_t index);
/** Its findings, worst first. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_findings *kvmig_plan_candidate_findings(const struct kvmig_plan *plan, size_t index);

/**
 * Why it comes before the next one, in a sentence: candidates are ordered by verdict, then blockers, risks, spread of the VM's
 * peers, zone, link, memory left, bytes to copy, likeness of the CPU, name, and the first that differs is told. NULL for the last,
 * and past the end. Borrowed. Threads: any. Since: 0.1.0
 */
KVMIG_API const char *kvmig_plan_candidate_reason(const struct kvmig_plan *plan, size_t index);

/**
 * Of a blocked plan: the smallest set of blockers over all candidates that have to be mended before nothing known stands against a
 * migration to kvmig_plan_remedy_target(); cheapest first, each with its advice (kvmig_finding_hint()) and kind of change
 * (kvmig_finding_mend()); several that need a restart, or other storage for one claim, count as one change. If one of them is
 * KVMIG_MEND_NEVER, the VM cannot be made movable. Empty if the plan is not blocked. NULL
 * for NULL. Borrowed from the plan. Threads: any. Since: 0.1.0
 */
KVMIG_API const struct kvmig_findings *kvmig_plan_remedies(const struct kvmig_plan *plan);
/** The host that the VM could move to then; NULL if there is none, or the plan is not blocked. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_plan_remedy_target(const struct kvmig_plan *plan);
/** What kind of change takes a blocker away: an enum kvmig_mend; 0 for NULL and what is no blocker. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_finding_mend(const struct kvmig_finding *finding);
/** "request", "wait", ..., "never"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_mend_name(int32_t mend);

/**
 * CPU models for guests that are to move between some nodes: which named ones all of them can run (libvirt: usable in the domain
 * capabilities; KubeVirt: by label), the one that loses least first; per model the features that a guest on a node would lose
 * of what the node offers, and those that all nodes offer and could be added; and where a guest with its host's own model could
 * not go. Nodes that tell nothing of their CPU are named and left out. nodes: names of hosts or nodes; none = all of the view.
 * cpu_map: the folder with the contents of CPU models as libvirt installs it; NULL = that of the libvirt installed here
 * (/usr/share/libvirt/cpu_map); what a model contains that is not there is not known. docs/planning.md describes the JSON.
 * *out_json is owned by the caller, who frees it with free(). Returns 0. Threads: any; reads files. Errors: -EINVAL for NULL,
 * -KVMIG_ENOTSYNCED, -KVMIG_ENOHOST (names the node). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_cpu_common(struct kvmig_cluster *cluster, const char *const *nodes, size_t n_nodes,
                                           const char *cpu_map, char **out_json);

/**
 * The whole plan as JSON (docs/json.md). *out_json is owned by the caller, who frees it with free(). Returns 0. Threads: any.
 * Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_plan_to_json(const struct kvmig_plan *plan, char **out_json);

/**
 * The plan as JSON without its candidates, forecast, remedies and request: of the candidates the number per verdict
 * ("candidates_by_verdict"). In a large cluster it is cheap, and kvmig_plan_to_json() is not. *out_json is owned by the caller, who
 * frees it with free(). Returns 0. Threads: any. Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_plan_summary_to_json(const struct kvmig_plan *plan, char **out_json);

/** "MIGRATABLE", ...; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_verdict_name(int32_t verdict);
/** "shared", "copy-full", "copy-incremental", "skip", "impossible"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_disk_method_name(int32_t method);
/** "auto", "none", "full", "incremental"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_copy_name(int32_t copy);
/** "normal", "strict"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_handover_name(int32_t handover);

#ifdef __cplusplus
}
#endif
#endif
