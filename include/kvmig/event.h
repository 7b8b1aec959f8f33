/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file event.h
 * What the library tells its caller: one kind of object, one kind of callback. Events are delivered
 * only from kvmig_context_dispatch() or kvmig_context_run() (or the context's own dispatcher thread),
 * with no library lock held.
 */
#ifndef KVMIG_EVENT_H
#define KVMIG_EVENT_H

#include <kvmig/error.h>
#include <kvmig/finding.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What an event says. Append-only. Since: 0.1.0 */
enum kvmig_event_type {
    KVMIG_EVENT_CLUSTER_SYNCED = 1, /**< every host was read once, or is known to be unreachable */
    KVMIG_EVENT_CLUSTER_CHANGED = 2, /**< something on kvmig_event_host() changed */
    KVMIG_EVENT_HOST_LOST = 3, /**< kvmig_event_host() no longer answers; kvmig_event_error() says why */
    KVMIG_EVENT_HOST_FOUND = 4, /**< kvmig_event_host() answers (again) */
    /** KubeVirt: the migration kvmig_event_migration() of kvmig_event_vm(), whoever started it, is in kvmig_event_phase(). */
    KVMIG_EVENT_MIGRATION = 5,
    /** Something could not be read (a snapshot's file, a kind that the account may not list): kvmig_event_finding() says what. */
    KVMIG_EVENT_VIEW_NOTICE = 6,
    /** A measurement of kvmig_event_vm() ended (kvmig_cluster_measure()); kvmig_event_error() if it told nothing. */
    KVMIG_EVENT_MEASURED = 7,
    KVMIG_EVENT_PHASE = 10, /**< the session entered kvmig_event_phase() */
    KVMIG_EVENT_QUEUED = 11, /**< waits for a slot at kvmig_event_queue_position() */
    KVMIG_EVENT_PROGRESS = 12, /**< kvmig_event_progress() has new figures */
    KVMIG_EVENT_NOTICE = 13, /**< kvmig_event_finding(): a dropped feature, a remark */
    KVMIG_EVENT_CANCEL = 14, /**< what became of a cancel: kvmig_event_cancel_result() */
    KVMIG_EVENT_MODE = 15, /**< the mode changed: kvmig_event_mode() */
    /** kvmig_event_port() is in kvmig_event_port_state(), or an operation on it failed: kvmig_event_error(). */
    KVMIG_EVENT_PORT = 16,
    /** kvmig_event_token() lets another process take the session up (kvmig_session_resume()); before each step with an effect. */
    KVMIG_EVENT_CHECKPOINT = 17,
    /** KubeVirt: what the session waits for changed: kvmig_event_finding() is the first blocker (see kvmig_session_explain()). */
    KVMIG_EVENT_WAIT = 18,
    KVMIG_EVENT_END = 20, /**< the one terminal event of a session; always the last */
    KVMIG_EVENT_DRAIN_END =
        21, /**< the one terminal event of a drain's run, after those of its sessions; always the last */
};

/** Phases of a migration, the same on every backend (names as KubeVirt users know them). Append-only. Since: 0.1.0 */
enum kvmig_phase {
    KVMIG_PHASE_UNSET = 0, /**< not started */
    KVMIG_PHASE_WAITING_FOR_SYNC = 1, /**< KubeVirt's, for migrations between clusters; libvirt hosts never enter it */
    KVMIG_PHASE_SYNCHRONIZING = 2, /**< likewise */
    KVMIG_PHASE_PENDING = 3, /**< waits for a slot; then the plan is made from fresh facts */
    KVMIG_PHASE_SCHEDULING = 4, /**< connects to both hosts and looks whether the target is free for the VM */
    KVMIG_PHASE_SCHEDULED = 5, /**< the target is free for it; nothing was changed yet */
    KVMIG_PHASE_PREPARING_TARGET = 6, /**< creates volumes on the target */
    KVMIG_PHASE_TARGET_READY = 7, /**< everything is there; the migrate call comes next */
    KVMIG_PHASE_RUNNING = 8, /**< the migrate call runs, or is being aborted */
    KVMIG_PHASE_FINALIZING = 9, /**< the call succeeded: proves where the guest runs, and cleans up the source */
    KVMIG_PHASE_ROLLING_BACK = 10, /**< it failed or was cancelled: finds the guest, undoes what was created */
    KVMIG_PHASE_SUCCEEDED = 11, /**< terminal: the guest runs on the target */
    KVMIG_PHASE_FAILED = 12, /**< terminal: the guest is where it was; the report names what was not undone */
    KVMIG_PHASE_CANCELLED = 13, /**< terminal: as FAILED, because the caller asked */
    KVMIG_PHASE_INDETERMINATE = 14, /**< terminal: not proven where it runs; the error names what to check */
};

/** How memory moves at this moment. Append-only. Since: 0.1.0 */
enum kvmig_mode {
    KVMIG_MODE_PRE_COPY = 0, /**< the guest runs on the source while memory is copied */
    KVMIG_MODE_POST_COPY = 1, /**< the guest runs on the target and fetches memory; no way back */
    KVMIG_MODE_PAUSED = 2, /**< the guest is stopped while memory is copied */
};

/** What became of a cancel. Append-only. Since: 0.1.0 */
enum kvmig_cancel_result {
    KVMIG_CANCEL_ACCEPTED = 1, /**< will end as Cancelled, unless the guest turns out to have moved */
    KVMIG_CANCEL_TOO_LATE = 2, /**< the guest has moved; the migration ends as Succeeded */
    KVMIG_CANCEL_REFUSED = 3, /**< post-copy: cancelling would lose the guest */
    KVMIG_CANCEL_UNKNOWN = 4, /**< a host does not answer; the outcome will be resolved */
    KVMIG_CANCEL_DEFERRED =
        5, /**< KubeVirt: accepted, but it takes effect only once the copy runs, or the target's own time-out ends it */
    KVMIG_CANCEL_WILL_RETURN =
        6, /**< KubeVirt: accepted, but the cluster will start it again (eviction, workload update, volume migration) */
};

/** Why the time left is what it is. Append-only. Since: 0.1.0 */
enum kvmig_eta_reason {
    KVMIG_ETA_UNKNOWN = 0, /**< too little data yet */
    KVMIG_ETA_BANDWIDTH_LIMITED = 1, /**< remaining / bandwidth; more bandwidth helps */
    KVMIG_ETA_BANDWIDTH_CAPPED = 2, /**< the bandwidth limit of the caller is reached */
    KVMIG_ETA_DIRTY_LIMITED = 3, /**< memory is dirtied about as fast as it is sent; may never end */
    KVMIG_ETA_DISK_LIMITED = 4, /**< disks are still copied */
    KVMIG_ETA_SWITCHING = 5, /**< the guest is being handed over */
    KVMIG_ETA_SETUP = 6, /**< the hosts are still connecting */
};

/** The progress of one disk copy. Bytes. Append-only; read no further than size says. Since: 0.1.0 */
struct kvmig_disk_progress {
    size_t size; /**< the bytes of this struct that the library filled */
    const char *target; /**< target device, for example "vda"; borrowed from the event */
    uint64_t total; /**< bytes to copy; grows while the guest writes */
    uint64_t done; /**< bytes copied */
};

/** Progress of a migration. UINT64_MAX where not known. Append-only; read no further than size says. Since: 0.1.0 */
struct kvmig_progress {
    size_t size; /**< the bytes of this struct that the library filled */
    uint64_t elapsed_ms; /**< since the migrate call began */
    uint64_t memory_total; /**< bytes of guest memory */
    uint64_t memory_sent; /**< bytes of guest memory processed, all rounds */
    uint64_t memory_remaining; /**< bytes; falls within a round and jumps when a round begins */
    uint64_t pages_normal; /**< pages sent */
    uint64_t pages_constant; /**< pages that were one repeated byte (zero pages) */
    uint64_t page_size; /**< bytes */
    uint64_t disk_total; /**< bytes, all copied disks */
    uint64_t disk_sent; /**< bytes */
    uint64_t disk_remaining; /**< bytes */
    uint64_t dirty_bytes_per_s; /**< guest memory dirtied; known after the first round */
    uint64_t bandwidth_bytes_per_s; /**< memory as sent now */
    uint64_t expected_pause_ms; /**< what QEMU expects the pause to be if it switched now */
    uint64_t
        final_pause_ms; /**< how long the guest was paused, measured on the source; only in the last one, sent in Finalizing */
    uint64_t iteration; /**< memory round, 1 = first pass; 0 = not begun */
    uint64_t eta_ms; /**< estimated time left */
    int32_t eta_reason; /**< an enum kvmig_eta_reason */
    int32_t throttle_percent; /**< auto-converge's vCPU throttle, 0 = none */
    int32_t at_iteration_boundary; /**< 1 if a new round has just begun: these figures are exact */
    uint32_t n_disks; /**< entries in disks */
    const struct kvmig_disk_progress *const *disks; /**< per copied disk; borrowed from the event */
};

/** One event: opaque, immutable, counted. Valid during the callback; kvmig_event_ref() keeps it. Since: 0.1.0 */
struct kvmig_event;

/** Where events go. Since: 0.1.0 */
struct kvmig_event_callback {
    /**
     * Gets each event, on the dispatching thread, with no library lock held. May call any function of the library except
     * dispatch and run on the same context. NULL = events are not delivered.
     */
    void (*fn)(const struct kvmig_event *event, void *user_data);
    void *user_data; /**< handed to fn and free; the library does not look at it */
    /**
     * Runs exactly once, from a clean stack, after the last call of fn, also if the call that took the callback failed.
     * May be NULL.
     */
    void (*free)(void *user_data);
};

/** Keeps an event beyond its callback. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_event *kvmig_event_ref(const struct kvmig_event *event);
/** Gives back what kvmig_event_ref() kept; NULL is ignored. Threads: any. Since: 0.1.0 */
KVMIG_API void kvmig_event_unref(struct kvmig_event *event);

/** An enum kvmig_event_type. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_event_type(const struct kvmig_event *event);
/** When it happened: milliseconds of CLOCK_MONOTONIC. Threads: any. Since: 0.1.0 */
KVMIG_API int64_t kvmig_event_time(const struct kvmig_event *event);
/** The host that it concerns; NULL if none. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_event_host(const struct kvmig_event *event);
/** The id of the session; NULL for cluster events. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_event_session_id(const struct kvmig_event *event);
/** An enum kvmig_phase: the phase that the session is in. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_event_phase(const struct kvmig_event *event);
/** An enum kvmig_phase: the phase before this one (PHASE and END events). Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_event_previous_phase(const struct kvmig_event *event);
/** An enum kvmig_mode. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_event_mode(const struct kvmig_event *event);
/** Place in the queue, 1 = next; 0 if not queued. Threads: any. Since: 0.1.0 */
KVMIG_API uint32_t kvmig_event_queue_position(const struct kvmig_event *event);
/** An enum kvmig_cancel_result; 0 if not a CANCEL event. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_event_cancel_result(const struct kvmig_event *event);
/** Progress figures; NULL if none. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_progress *kvmig_event_progress(const struct kvmig_event *event);
/** The port that it concerns (PORT events); NULL if none. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_event_port(const struct kvmig_event *event);
/** An enum kvmig_port_state (PORT events). Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_event_port_state(const struct kvmig_event *event);
/** "NAMESPACE/NAME" of the migration (MIGRATION events); NULL if none. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_event_migration(const struct kvmig_event *event);
/**
 * The VM that it concerns, as the plan names it ("NAMESPACE/NAME" on KubeVirt): of the events of a session, of MIGRATION and MEASURED; NULL
 * if none. Borrowed. Threads: any. Since: 0.1.0
 */
KVMIG_API const char *kvmig_event_vm(const struct kvmig_event *event);
/** The token of a CHECKPOINT event, one line of JSON without secrets; NULL if none. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_event_token(const struct kvmig_event *event);
/** What failed; NULL if nothing did. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_error *kvmig_event_error(const struct kvmig_event *event);
/** The finding of a NOTICE or QUEUED event; NULL if none. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_finding *kvmig_event_finding(const struct kvmig_event *event);
/**
 * The whole event as one line of JSON. *out_json is owned by the caller, who frees it with free(). Returns 0.
 * Threads: any. Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_event_to_json(const struct kvmig_event *event, char **out_json);

/** "phase", "progress", ...; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_event_type_name(int32_t type);
/** "Running", "Succeeded", ...; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_phase_name(int32_t phase);
/** 1 if the phase is terminal. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_phase_is_terminal(int32_t phase);
/** "PreCopy", ...; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_mode_name(int32_t mode);
/** "accepted", "too-late", "refused", "unknown", "deferred", "will-return"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_cancel_result_name(int32_t result);
/** "bandwidth-limited", ...; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_eta_reason_name(int32_t reason);

#ifdef __cplusplus
}
#endif
#endif
