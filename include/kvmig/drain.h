/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file drain.h
 * Many migrations that belong together: emptying hosts, or moving a set of VMs away from them. The plan of a drain is pure, as every
 * plan; a run of it makes the sessions one after the other, within the limits.
 */
#ifndef KVMIG_DRAIN_H
#define KVMIG_DRAIN_H

#include <kvmig/plan.h>
#include <kvmig/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What to drain; zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_drain_opts {
    size_t size; /**< set by KVMIG_DRAIN_OPTS_INIT */
    const char *const *nodes; /**< hosts to empty, by name or URI; none = wherever the VMs of vms run. Never targets */
    size_t n_nodes; /**< entries in nodes */
    const char *const *vms; /**< only these VMs; none = all that run on nodes */
    size_t n_vms; /**< entries in vms */
    const char *const *targets; /**< only to these hosts; none = to any other */
    size_t n_targets; /**< entries in targets */
    const char *const *excludes; /**< never to these hosts */
    size_t n_excludes; /**< entries in excludes */
    /**
     * Options of every migration, without what is about one VM or host (vm, source, target, target_name, target_xml, persistent_xml,
     * volume_changes), and without KVMIG_PLAN_ANY_TARGET. Copied; NULL = the defaults.
     */
    const struct kvmig_plan_opts *plan;
    uint64_t link_mib; /**< MiB/s that leave a host, shared by its migrations; 0 = not known */
    uint32_t max_migrations; /**< at once, in total; 0 = the view's limit, or KubeVirt's */
    uint32_t max_outbound; /**< at once, from one host; 0 = likewise */
    uint32_t max_inbound; /**< at once, to one host; 0 = the view's limit; KubeVirt has none */
    uint32_t reserved; /**< must be 0 */
};

/** Begins a struct kvmig_drain_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_DRAIN_OPTS_INIT KVMIG_OPTS_INIT(kvmig_drain_opts)

/**
 * The same at run time, for languages that cannot use the macro: zeroes size bytes at opts and sets opts->size to size,
 * which is what the caller takes the size of the struct to be. Returns 0. Threads: any. Errors: -EINVAL (opts is NULL, or size
 * has no room for the member size). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_drain_opts_init(struct kvmig_drain_opts *opts, size_t size);

/** The plan of a drain: opaque, immutable, counted. Since: 0.1.0 */
struct kvmig_drain;

/**
 * Plans a drain: which VM goes where, so that all of them find room (CPU, memory, devices and whom they keep away from are counted
 * over the whole set), in which order, and which cannot go. A VM that cannot move is no error. *out_drain is owned:
 * kvmig_drain_unref(). Threads: any. Errors: -EINVAL (names the option), -E2BIG, -KVMIG_ENOTSYNCED, -KVMIG_ENOVM,
 * -KVMIG_EAMBIGUOUS, -KVMIG_ENOHOST. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_plan_drain(struct kvmig_cluster *cluster, const struct kvmig_drain_opts *opts,
                                           struct kvmig_drain **out_drain);

/** One more owner. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_drain *kvmig_drain_ref(const struct kvmig_drain *drain);
/** One owner less; NULL is ignored. Threads: any. Since: 0.1.0 */
KVMIG_API void kvmig_drain_unref(struct kvmig_drain *drain);

/** How many migrations it takes. Threads: any. Since: 0.1.0 */
KVMIG_API size_t kvmig_drain_count(const struct kvmig_drain *drain);
/** One of them, in the order in which they start: a plan whose target is assigned, and its only candidate. NULL past the end. Borrowed.
 *  Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_plan *kvmig_drain_plan(const struct kvmig_drain *drain, size_t index);
/** The wave that it belongs to, from 1: those of one wave may run at once under the limits. 0 past the end. Threads: any. Since: 0.1.0 */
KVMIG_API uint32_t kvmig_drain_wave(const struct kvmig_drain *drain, size_t index);
/** When it is expected to end, in milliseconds from the start of the drain; UINT64_MAX = not known. Threads: any. Since: 0.1.0 */
KVMIG_API uint64_t kvmig_drain_finish_ms(const struct kvmig_drain *drain, size_t index);
/** When the whole drain is expected to end; UINT64_MAX = not known. Threads: any. Since: 0.1.0 */
KVMIG_API uint64_t kvmig_drain_expected_ms(const struct kvmig_drain *drain);
/** How many VMs cannot move. Threads: any. Since: 0.1.0 */
KVMIG_API size_t kvmig_drain_immovable_count(const struct kvmig_drain *drain);
/** One of them: a plan whose verdict is BLOCKED, and whose findings say why. NULL past the end. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_plan *kvmig_drain_immovable(const struct kvmig_drain *drain, size_t index);

/**
 * The whole drain as JSON: limits, waves with their migrations, what cannot move, the expected end and what it is computed from.
 * *out_json is owned by the caller, who frees it with free(). Returns 0. Threads: any. Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_drain_to_json(const struct kvmig_drain *drain, char **out_json);

/** Options of kvmig_drain_start(); zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_drain_run_opts {
    size_t size; /**< set by KVMIG_DRAIN_RUN_OPTS_INIT */
    /** Gets the events of all sessions, and at last the one KVMIG_EVENT_DRAIN_END; fn NULL = nobody does. */
    struct kvmig_event_callback on_event;
    const struct kvmig_session_opts *
        session; /**< options of every session; on_event, plan_opts and attach must be unset; copied; NULL = defaults */
    /**
     * Called for each session before it starts, on the thread that starts it (that of kvmig_drain_start(), then the dispatching one), with
     * no lock held: the place to add ports and probes. index is that of kvmig_drain_plan(). May be NULL.
     */
    void (*on_session)(struct kvmig_session *session, size_t index, void *user_data);
    void *user_data; /**< handed to on_session, but not after the free function of on_event has run */
};

/** Begins a struct kvmig_drain_run_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_DRAIN_RUN_OPTS_INIT KVMIG_OPTS_INIT(kvmig_drain_run_opts)

/** The same at run time, as kvmig_drain_opts_init(). Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_drain_run_opts_init(struct kvmig_drain_run_opts *opts, size_t size);

/** A running drain: an opaque handle, counted. Since: 0.1.0 */
struct kvmig_drain_run;

/**
 * Runs the migrations of a drain: never more at once than its limits allow, the next one when one has ended, to the last one whatever
 * becomes of the others. VMs that cannot move stay. A migration that fails is not tried again. *out_run is owned:
 * kvmig_drain_run_unref(). opts->on_event is taken, also on failure. Threads: any. Errors: -EINVAL (names the option), -E2BIG. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_drain_start(struct kvmig_cluster *cluster, const struct kvmig_drain *drain,
                                    const struct kvmig_drain_run_opts *opts, struct kvmig_drain_run **out_run);
/** One more owner. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_drain_run *kvmig_drain_run_ref(struct kvmig_drain_run *run);
/**
 * One owner less; NULL is ignored. With the last owner no further migration starts, and the events stop; migrations that run go on
 * to their end. Never blocks. Threads: any. Since: 0.1.0
 */
KVMIG_API void kvmig_drain_run_unref(struct kvmig_drain_run *run);
/**
 * Starts no further migration, and cancels those that run (kvmig_session_cancel()). KVMIG_EVENT_DRAIN_END comes when the last of them
 * has ended. Repeating it is harmless. Returns 0. Threads: any. Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_drain_run_cancel(struct kvmig_drain_run *run);
/**
 * An enum kvmig_phase: of one migration, by the index of kvmig_drain_plan(); KVMIG_PHASE_UNSET while it has not started, or if it never
 * will. With index SIZE_MAX of the drain: RUNNING until its end; then SUCCEEDED (all moved), INDETERMINATE (of one it is not known where the
 * guest is), CANCELLED, or FAILED. Threads: any. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_drain_run_phase(struct kvmig_drain_run *run, size_t index);
/** The session of one migration; NULL while it has not started. Borrowed from the run. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_session *kvmig_drain_run_session(struct kvmig_drain_run *run, size_t index);
/**
 * The report so far, as JSON; complete with the terminal event: phase, counts, and per VM its source, target, phase and error. *out_json
 * is owned by the caller, who frees it with free(). Returns 0. Threads: any. Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_drain_run_report(struct kvmig_drain_run *run, char **out_json);

#ifdef __cplusplus
}
#endif
#endif
