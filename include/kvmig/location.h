/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file location.h
 * The state resolver: given two hosts and a VM, where the guest is, what that proves, and what may be done about it.
 * Usable on any VM after any accident, whoever started the migration. It only looks; it acts when told to, and then
 * looks again first.
 */
#ifndef KVMIG_LOCATION_H
#define KVMIG_LOCATION_H

#include <kvmig/cluster.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where the guest is. Names are the outcome codes of the finding catalogue. Append-only. Since: 0.1.0 */
enum kvmig_location_verdict {
    KVMIG_LOCATION_NO_FINDING = 1, /**< on the source, no migration in sight */
    KVMIG_LOCATION_RUNNING = 2, /**< a migration is under way; wait */
    KVMIG_LOCATION_SUCCEEDED = 3, /**< on the target; the source holds no copy */
    KVMIG_LOCATION_SUCCEEDED_UNREPORTED = 4, /**< on the target; the source holds a dead, paused copy */
    KVMIG_LOCATION_FAILED = 5, /**< on the source; the target holds a dead or incoming copy */
    KVMIG_LOCATION_FAILED_SOURCE_PAUSED = 6, /**< paused by the migration on the source; nothing runs on the target */
    KVMIG_LOCATION_TARGET_PAUSED =
        7, /**< complete and paused on the target (strict hand-over); the source holds none */
    KVMIG_LOCATION_POSTCOPY_ACTIVE = 8, /**< runs on the target, still fetches memory from the source */
    KVMIG_LOCATION_POSTCOPY_FAILED = 9, /**< post-copy broke; both sides hold parts */
    KVMIG_LOCATION_SPLIT_BRAIN = 10, /**< runs on both sides */
    KVMIG_LOCATION_VM_LOST = 11, /**< on neither side */
    KVMIG_LOCATION_UNDECIDED = 12, /**< a side cannot be asked, or what was read does not decide it; see the proof */
};

/** What may be done. Append-only. Since: 0.1.0 */
enum kvmig_location_action {
    KVMIG_ACTION_WAIT = 1, /**< ask again later */
    KVMIG_ACTION_RESUME_SOURCE = 2, /**< let the source run again; the target is proven not to run */
    KVMIG_ACTION_RESUME_TARGET = 3, /**< let the target run; the source is proven not to run */
    KVMIG_ACTION_DESTROY_SOURCE = 4, /**< remove the source's dead copy; the target is proven to run */
    KVMIG_ACTION_DESTROY_TARGET = 5, /**< remove the target's dead or incoming copy; the source holds all state */
    KVMIG_ACTION_POSTCOPY_RECOVER = 6, /**< migrate again with VIR_MIGRATE_POSTCOPY_RESUME once the link is back */
    KVMIG_ACTION_SUSPEND_BOTH = 7, /**< split brain: stop further damage, reversible */
};

/** Options of kvmig_cluster_locate(); zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_locate_opts {
    size_t size; /**< set by KVMIG_LOCATE_OPTS_INIT */
    const char *vm; /**< name or UUID (surer); required */
    const char *source; /**< host name or URI; required */
    const char *target; /**< host name or URI; required */
    uint64_t timeout_ms; /**< a host that takes longer counts as unreachable; 0 = 10 s */
};

/** Begins a struct kvmig_locate_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_LOCATE_OPTS_INIT KVMIG_OPTS_INIT(kvmig_locate_opts)

/**
 * The same at run time, for languages that cannot use the macro: zeroes size bytes at opts and sets opts->size to size,
 * which is what the caller takes the size of the struct to be. Returns 0. Threads: any. Errors: -EINVAL (opts is NULL, or size
 * has no room for the member size). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_locate_opts_init(struct kvmig_locate_opts *opts, size_t size);

/** One answer of the resolver: opaque, immutable, counted. Since: 0.1.0 */
struct kvmig_location;

/** Where an answer goes. Since: 0.1.0 */
struct kvmig_location_callback {
    /**
     * Gets the answer, in dispatch, once: a location, or the error that prevented one; the other is NULL. Both are borrowed;
     * kvmig_location_ref() keeps a location. Not called if the call that took the callback failed, or if the context
     * ends before the answer.
     */
    void (*fn)(const struct kvmig_location *location, const struct kvmig_error *error, void *user_data);
    void *user_data; /**< handed to fn and free; the library does not look at it */
    void (*free)(void *user_data); /**< runs exactly once, after fn or instead of it; may be NULL */
};

/**
 * Asks both hosts, target first, then source, then target again (the state moves only from source to target), and
 * accepts only two equal answers of the target. A name is looked up on both hosts before, and stands for the UUID that it
 * has there; if it is that of two different guests, the answer is KVMIG_LOCATION_UNDECIDED without actions, and its proof names
 * both UUIDs. callback is taken, also on failure.
 * Threads: any. Errors: -EINVAL, -E2BIG, -KVMIG_ENOHOST. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_locate(struct kvmig_cluster *cluster, const struct kvmig_locate_opts *opts,
                                       struct kvmig_location_callback callback);

/**
 * Does one of the allowed actions: asks again first, and acts only if the action is still allowed. The callback
 * gets the location after the action, or the error that prevented it. It acts on the UUID that the location is about, and not
 * on a domain that runs (DESTROY_*) or is not paused (RESUME_*) when it gets there. POSTCOPY_RECOVER takes a new migrate call,
 * which is the caller's. Threads: any. Errors: -KVMIG_EREFUSED (not allowed), -EINVAL, -ENOTSUP (POSTCOPY_RECOVER). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_location_apply(const struct kvmig_location *location, int32_t action,
                                       struct kvmig_location_callback callback);

/** Keeps a location beyond its callback. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_location *kvmig_location_ref(const struct kvmig_location *location);
/** Gives it back; NULL is ignored. Threads: any. Since: 0.1.0 */
KVMIG_API void kvmig_location_unref(struct kvmig_location *location);

/** An enum kvmig_location_verdict. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_location_verdict(const struct kvmig_location *location);
/** The host where the guest runs; NULL if none, both or unknown. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_location_host(const struct kvmig_location *location);
/** What the states prove, for people. Borrowed; never NULL. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_location_proof(const struct kvmig_location *location);
/** How many actions are allowed. Threads: any. Since: 0.1.0 */
KVMIG_API size_t kvmig_location_action_count(const struct kvmig_location *location);
/** An allowed enum kvmig_location_action, in the order to take them; 0 past the end. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_location_action(const struct kvmig_location *location, size_t index);
/**
 * As JSON; *out_json is owned by the caller, who frees it with free(). Returns 0. Threads: any.
 * Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_location_to_json(const struct kvmig_location *location, char **out_json);

/** "SUCCEEDED", "SPLIT_BRAIN", ...; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_location_verdict_name(int32_t verdict);
/** "WAIT", "RESUME_SOURCE", ...; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_location_action_name(int32_t action);

#ifdef __cplusplus
}
#endif
#endif
