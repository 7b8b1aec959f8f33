/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file session.h
 * One migration of one VM, from start to exactly one terminal event. The guest is proven to run at the end of every
 * path that has a known outcome; where it is not known, the session ends as Indeterminate and says what to check.
 */
#ifndef KVMIG_SESSION_H
#define KVMIG_SESSION_H

#include <kvmig/cluster.h>
#include <kvmig/plan.h>
#include <kvmig/port.h>
#include <kvmig/probe.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of kvmig_session_new(); zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_session_opts {
    size_t size; /**< set by KVMIG_SESSION_OPTS_INIT */
    struct kvmig_event_callback on_event; /**< gets the events of the session; fn NULL = nobody does */
    const struct kvmig_plan_opts *plan_opts; /**< used when no plan is given: the session plans at start; copied */
    uint64_t queue_timeout_ms; /**< longest wait for a slot; 0 = one hour */
    uint64_t step_timeout_ms; /**< longest check, preparation or clean-up step; 0 = 60 s */
    uint64_t migrate_timeout_ms; /**< longest migrate call, then it is aborted; 0 = six hours */
    uint64_t resolve_timeout_ms; /**< how long to go on asking where the guest is; 0 = two minutes */
    uint64_t abort_timeout_ms; /**< how long to wait for an aborted migrate call to return; 0 = 30 s */
    uint32_t poll_ms; /**< how often progress is read; 0 = 200 */
    uint32_t reserved; /**< must be 0 */
    uint64_t
        service_timeout_ms; /**< with probes: how long Finalizing waits for the service to answer again; 0 = 10 s */
    /**
     * KubeVirt: follow this migration, which somebody else started, instead of starting one: "NAME" or "NAMESPACE/NAME" of the VMIM; ""
     * = whichever one of the VM is not final; NULL = start one. No limit of the session ends that migration, but kvmig_session_cancel() does.
     */
    const char *attach;
    uint64_t flags; /**< enum kvmig_session_flags */
    uint64_t
        pending_timeout_ms; /**< KubeVirt: longest stay in Pending once the VMIM exists (KubeVirt has no limit there); 0 = 20 minutes */
    uint64_t prepare_timeout_ms; /**< KubeVirt: longest time from Scheduling until the copy starts; 0 = 20 minutes */
    /**
     * KubeVirt: a view of the nodes' libvirt, as far as it can be reached, in the same context; its hosts bear the nodes' names. Where the
     * API says that the guest is, they are asked as well: what they show to run outweighs the API (notice NODE_HOSTS_DISAGREE), and a
     * host that is silent, or does not know the guest, says nothing. The domain is looked for by the UUID of the VMI's firmware, or
     * as "NAMESPACE_NAME". Kept by the session until it ends; NULL = the API's word alone.
     */
    struct kvmig_cluster *node_hosts;
};

/** Switches of a session. Append-only. Since: 0.1.0 */
enum kvmig_session_flags {
    /**
     * KubeVirt: bandwidth, auto-converge and post-copy of the plan are put into a MigrationPolicy that exists for this session only
     * and is removed at its end. Needs the right to create one.
     */
    KVMIG_SESSION_TEMPORARY_POLICY = 1 << 0,
    /**
     * KubeVirt: a cancel between hand-off and Running, which KubeVirt only notes, deletes the target launcher pod at once. The
     * source is not touched by that.
     */
    KVMIG_SESSION_DELETE_TARGET_POD = 1 << 1,
    /**
     * KubeVirt: a cancel of a migration that was started by an eviction also withdraws the eviction (evacuate/cancel), else it is
     * created again.
     */
    KVMIG_SESSION_STOP_EVACUATION = 1 << 2,
};

/** Begins a struct kvmig_session_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_SESSION_OPTS_INIT KVMIG_OPTS_INIT(kvmig_session_opts)

/**
 * The same at run time, for languages that cannot use the macro: zeroes size bytes at opts and sets opts->size to size,
 * which is what the caller takes the size of the struct to be. Returns 0. Threads: any. Errors: -EINVAL (opts is NULL, or size
 * has no room for the member size). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_session_opts_init(struct kvmig_session_opts *opts, size_t size);

/** One migration: an opaque handle, counted. Since: 0.1.0 */
struct kvmig_session;

/**
 * Makes a session; nothing happens before kvmig_session_start(). plan may be NULL if opts->plan_opts is given.
 * *out_session is owned: kvmig_session_unref(). opts->on_event is taken, also on failure.
 * Threads: any. Errors: -EINVAL (names the option), -E2BIG, -KVMIG_EBLOCKED (the plan has blockers). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_session_new(struct kvmig_cluster *cluster, const struct kvmig_plan *plan,
                                    const struct kvmig_session_opts *opts, struct kvmig_session **out_session);

/**
 * Takes a migration up again whose process died: token is what the last KVMIG_EVENT_CHECKPOINT gave. The new session follows the
 * same migration to its end, and cleans up what the dead one created. Ports are added again under the same owner token. opts: as
 * kvmig_session_new(), without attach and plan_opts. *out_session owned. Threads: any. Errors: -EINVAL (no such token; names what is
 * wrong with it), -E2BIG, -KVMIG_ENOTSYNCED, -KVMIG_ENOVM, -ENOTSUP (a token of a libvirt host: those cannot be resumed yet). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_session_resume(struct kvmig_cluster *cluster, const char *token,
                                       const struct kvmig_session_opts *opts, struct kvmig_session **out_session);

/** One more owner. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_session *kvmig_session_ref(struct kvmig_session *session);
/**
 * One owner less; NULL is ignored. A running migration goes on under the context to its end; only its
 * events stop with the last owner. To stop it: kvmig_session_cancel() and wait for the terminal event.
 * Never blocks. Threads: any. Since: 0.1.0
 */
KVMIG_API void kvmig_session_unref(struct kvmig_session *session);

/**
 * Gives the session a port that has to follow the guest; any number of them. The session keeps it to its end, and
 * nobody else may ask anything of it meanwhile (-EBUSY). It is prepared as soon as source and target are known, and
 * again before the target is prepared; the migrate call does not begin before the port is proven ready, as far as that
 * can be proven before the hypervisor plugs the interface, and is aborted if the proof does not come while it runs; in
 * the end the port converges to the host where the guest is proven to be. If that is not proven (Indeterminate), the
 * port is left prepared for both (notice PORT_LEFT_PREPARED). A guest that moved has moved, whatever its port does:
 * the session succeeds, and the notice PORT_NOT_CONVERGED or PORT_SUPERSEDED says that the port did not follow;
 * PORT_NOT_ROLLED_BACK likewise. Host names are those of the plan (see kvmig_port_ovs.host). The port's events also go
 * to the session's callback. Threads: any.
 * Errors: -EINVAL (NULL, or of another context), -KVMIG_EPHASE (started), -EBUSY (a session has it). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_session_add_port(struct kvmig_session *session, struct kvmig_port *port);

/**
 * Gives the session a probe that watches the guest's service; any number of them. One probe serves one session. It is
 * started before Running, unless it runs already, and stopped after Finalizing, which waits for the service to answer
 * again (service_timeout_ms). The figures are in the report, on the same time axis as the phases. Threads: any.
 * Errors: -EINVAL (NULL, or of another context), -KVMIG_EPHASE (the session was started, or the probe has run and
 * ended), -EBUSY (a session has it). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_session_add_probe(struct kvmig_session *session, struct kvmig_probe *probe);

/** Starts. Returns at once. Threads: any. Errors: -EALREADY. Since: 0.1.0 */
KVMIG_API int32_t kvmig_session_start(struct kvmig_session *session);

/**
 * Asks for the migration to be undone. A request: KVMIG_EVENT_CANCEL says whether it was accepted, too late or
 * refused, and the terminal event says how it ended. Repeating it is harmless. In a session that only follows a migration
 * (opts.attach, or resumed from a token of such a session) it deletes the VMIM that somebody else created: to stop following, give the
 * session back (kvmig_session_unref()), which leaves the migration alone. Before its first KVMIG_EVENT_CHECKPOINT such a session has
 * not found the migration yet, and a cancel ends the session alone.
 * Threads: any. Errors: -KVMIG_EPHASE (not started, or ended). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_session_cancel(struct kvmig_session *session);

/**
 * Changes the bandwidth limit of a running migration; MiB/s, 0 = unlimited.
 * Threads: any. Errors: -KVMIG_EPHASE (not in Running), -EINVAL. What libvirt says of it arrives as a NOTICE if it
 * fails. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_session_set_bandwidth(struct kvmig_session *session, uint64_t mib_per_s);

/** Changes the acceptable pause of a running migration; ms, at least 1. Threads and errors: as set_bandwidth. Since: 0.1.0 */
KVMIG_API int32_t kvmig_session_set_max_downtime(struct kvmig_session *session, uint64_t ms);

/**
 * Switches a running migration to post-copy. Needs KVMIG_PLAN_ALLOW_POSTCOPY. From then on there is no way back.
 * Threads: any. Errors: -KVMIG_EPHASE, -EPERM (no consent in the plan). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_session_start_postcopy(struct kvmig_session *session);

/** An enum kvmig_phase. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_session_phase(struct kvmig_session *session);
/** An enum kvmig_mode. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_session_mode(struct kvmig_session *session);
/** A name that is unique in this process and appears in events, logs and the report. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_session_id(struct kvmig_session *session);

/**
 * The report so far, as JSON; complete with the terminal event: outcome, durations per phase, pause (as the source
 * measured it, and in total), bytes, rounds, what was created and undone, each port's timeline, what the probes saw,
 * plan and outcome.
 * *out_json is owned by the caller, who frees it with free(). Returns 0. Threads: any.
 * Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_session_report(struct kvmig_session *session, char **out_json);

#ifdef __cplusplus
}
#endif
#endif
