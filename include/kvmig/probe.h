/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file probe.h
 * The guest's service as a client sees it: one try after another against TCP or HTTP targets, on a thread of the
 * library so that a busy loop of the caller is not taken for a silent guest. The longest gap between two successes is
 * the time that the service was away; the guest's pause is another number.
 */
#ifndef KVMIG_PROBE_H
#define KVMIG_PROBE_H

#include <kvmig/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What one try does. Append-only. Since: 0.1.0 */
enum kvmig_probe_kind {
    KVMIG_PROBE_TCP_CONNECT = 1, /**< opens a connection and closes it */
    KVMIG_PROBE_TCP_ECHO = 2, /**< one connection, held: sends a few bytes and waits for them to come back */
    KVMIG_PROBE_HTTP_GET = 3, /**< a GET on a new connection; any answer below 500 counts as success */
};

/** One target; zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_probe_target {
    size_t size; /**< set by KVMIG_PROBE_TARGET_INIT */
    /** IPv4 or IPv6 address (without brackets), or a name that is looked up once, at the start; required. */
    const char *host;
    const char *path; /**< HTTP_GET: path with its slash; NULL = "/" */
    uint32_t port; /**< TCP port; required */
    int32_t kind; /**< an enum kvmig_probe_kind; required */
    uint32_t interval_ms; /**< from one try to the next; 0 = 20 */
    uint32_t timeout_ms; /**< a try that takes longer has failed; 0 = 200 */
};

/** Begins a struct kvmig_probe_target: zero, but for its size. Since: 0.1.0 */
#define KVMIG_PROBE_TARGET_INIT KVMIG_OPTS_INIT(kvmig_probe_target)

/**
 * The same at run time, for languages that cannot use the macro: zeroes size bytes at target and sets target->size to
 * size, which is what the caller takes the size of the struct to be. Returns 0. Threads: any. Errors: -EINVAL (target
 * is NULL, or size has no room for the member size). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_probe_target_init(struct kvmig_probe_target *target, size_t size);

/** Options of kvmig_probe_new(). Append-only. Since: 0.1.0 */
struct kvmig_probe_opts {
    size_t size; /**< set by KVMIG_PROBE_OPTS_INIT */
    const struct kvmig_probe_target *const *targets; /**< copied */
    size_t n_targets; /**< 1 to 64 */
    const char *netns; /**< path of a network namespace to try from ("/run/netns/client"); NULL = that of the process */
};

/** Begins a struct kvmig_probe_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_PROBE_OPTS_INIT KVMIG_OPTS_INIT(kvmig_probe_opts)

/** As kvmig_probe_target_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_probe_opts_init(struct kvmig_probe_opts *opts, size_t size);

/**
 * What a target did so far. Times are milliseconds of CLOCK_MONOTONIC, as in kvmig_event_time(). Append-only.
 * Since: 0.1.0
 */
struct kvmig_probe_result {
    size_t size; /**< set by KVMIG_PROBE_RESULT_INIT; the library fills no more than that */
    uint64_t tries; /**< tries that ended */
    uint64_t failures; /**< those that failed or took too long */
    int64_t gap_begin_ms; /**< longest gap: end of the last success before it; 0 = no gap is known (no success yet) */
    int64_t gap_end_ms; /**< end of the first success after it; the present or the stop, if it is still open */
    /**
     * Its length; about one interval for a service that never failed. It contains the time that the service was away,
     * and is longer than that by at most one interval and one round trip.
     */
    uint64_t gap_ms;
    int32_t gap_is_open; /**< 1 if the longest gap has no end yet */
    /** TCP_ECHO: 1 if the first connection still stands, 0 if it broke, -1 for other kinds or if it never stood. */
    int32_t held_survived;
    int64_t last_success_ms; /**< 0 = none yet */
    int64_t last_failure_ms; /**< 0 = none yet */
};

/** Begins a struct kvmig_probe_result: zero, but for its size. Since: 0.1.0 */
#define KVMIG_PROBE_RESULT_INIT KVMIG_OPTS_INIT(kvmig_probe_result)

/** As kvmig_probe_target_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_probe_result_init(struct kvmig_probe_result *result, size_t size);

/** Tries against targets: an opaque handle, counted. Since: 0.1.0 */
struct kvmig_probe;

/**
 * Makes a probe; it begins with kvmig_probe_start() or with the session that it is given to. *out_probe is owned:
 * kvmig_probe_unref(). Threads: any. Errors: -EINVAL (names the option), -E2BIG. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_probe_new(struct kvmig_context *context, const struct kvmig_probe_opts *opts,
                                  struct kvmig_probe **out_probe);
/** One more owner. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_probe *kvmig_probe_ref(struct kvmig_probe *probe);
/** One owner less; NULL is ignored. With the last one it stops. Never blocks. Threads: any. Since: 0.1.0 */
KVMIG_API void kvmig_probe_unref(struct kvmig_probe *probe);

/**
 * Begins to try. Returns at once; a namespace that cannot be entered or a name that cannot be looked up counts as
 * failed tries and is said by kvmig_probe_to_json(). Threads: any. Errors: -EINVAL for NULL, -EALREADY (started
 * before), -EAGAIN (no thread), -EMFILE, -ENFILE, -ENOMEM (no descriptor); after the last four it may be started again.
 * Since: 0.1.0
 */
KVMIG_API int32_t kvmig_probe_start(struct kvmig_probe *probe);
/**
 * Ends it; results stay. Never blocks; repeating it is harmless. Threads: any. Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_probe_stop(struct kvmig_probe *probe);

/** How many targets. Threads: any. Since: 0.1.0 */
KVMIG_API size_t kvmig_probe_count(const struct kvmig_probe *probe);
/**
 * The figures of one target so far. result->size says how much the caller knows. Returns 0. Threads: any.
 * Errors: -EINVAL (a pointer is NULL, index is out of range, or result->size is too small). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_probe_get_result(struct kvmig_probe *probe, size_t index, struct kvmig_probe_result *result);
/**
 * All targets with figures and a compact time series. *out_json is owned by the caller, who frees it with free().
 * Returns 0. Threads: any. Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_probe_to_json(struct kvmig_probe *probe, char **out_json);

/** "tcp", "echo", "http"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_probe_kind_name(int32_t kind);

#ifdef __cplusplus
}
#endif
#endif
