/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file context.h
 * The loop. A context owns one file descriptor that is readable when there is work; the caller's own
 * loop watches it and calls kvmig_context_dispatch(). Callers without a loop use kvmig_context_run(),
 * or let the library dispatch on a thread of its own.
 */
#ifndef KVMIG_CONTEXT_H
#define KVMIG_CONTEXT_H

#include <kvmig/error.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C++" {
/** What KVMIG_OPTS_INIT() is in C++, which has no designated initialisers before C++20. Since: 0.1.0 */
template <typename T> inline T kvmig_opts_default()
{
    T opts = T();
    opts.size = sizeof(T);
    return opts;
}
}
/** Begins an option struct, for example KVMIG_OPTS_INIT(kvmig_plan_opts): zero, but for its size. Since: 0.1.0 */
#define KVMIG_OPTS_INIT(type) kvmig_opts_default<struct type>()
#else
/** Begins an option struct, for example KVMIG_OPTS_INIT(kvmig_plan_opts): zero, but for its size. Since: 0.1.0 */
#define KVMIG_OPTS_INIT(type)                                                                                          \
    {                                                                                                                  \
        .size = sizeof(struct type)                                                                                    \
    }
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Levels of log messages. Append-only. Since: 0.1.0 */
enum kvmig_log_level {
    KVMIG_LOG_ERROR = 1, /**< the library itself cannot go on as it should */
    KVMIG_LOG_WARN = 2, /**< the default */
    KVMIG_LOG_INFO = 3, /**< phases and failures of sessions, hosts that are lost */
    KVMIG_LOG_DEBUG = 4, /**< states, time-outs, details of reading */
};

/** Options of a context. Append-only. Since: 0.1.0 */
enum kvmig_context_flags {
    KVMIG_CONTEXT_THREAD = 1 << 0, /**< dispatch on a thread of the library; callbacks run there */
};

/** Where log messages go, instead of standard error. Since: 0.1.0 */
struct kvmig_log_callback {
    /** Gets each message, in dispatch, like every callback. level: an enum kvmig_log_level. Strings are borrowed. */
    void (*fn)(int32_t level, const char *module, const char *message, void *user_data);
    void *user_data; /**< handed to fn and free; the library does not look at it */
    void (*free)(void *user_data); /**< runs exactly once, after the last call of fn; may be NULL */
};

/** Options of kvmig_context_new(); zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_context_opts {
    size_t size; /**< set by KVMIG_CONTEXT_OPTS_INIT */
    uint32_t flags; /**< enum kvmig_context_flags */
    int32_t log_level; /**< an enum kvmig_log_level; 0 = the variable KVMIG_LOG, else KVMIG_LOG_WARN */
    struct kvmig_log_callback on_log; /**< fn NULL = standard error */
};

/** Begins a struct kvmig_context_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_CONTEXT_OPTS_INIT KVMIG_OPTS_INIT(kvmig_context_opts)

/**
 * The same at run time, for languages that cannot use the macro: zeroes size bytes at opts and sets opts->size to size,
 * which is what the caller takes the size of the struct to be. Returns 0. Threads: any. Errors: -EINVAL (opts is NULL, or size
 * has no room for the member size). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_context_opts_init(struct kvmig_context_opts *opts, size_t size);

/** The loop and everything that hangs on it: an opaque handle, counted. Since: 0.1.0 */
struct kvmig_context;

/**
 * Makes a context. opts may be NULL. *out_context is owned: kvmig_context_unref().
 * The environment variable KVMIG_LOG sets levels: "debug", or "warn,session=debug,libvirt=info".
 * Threads: any. Errors: -EINVAL, -E2BIG (opts newer than the library), -EMFILE, -ENFILE, -EAGAIN. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_context_new(const struct kvmig_context_opts *opts, struct kvmig_context **out_context);

/** One more owner. Threads: any. Since: 0.1.0 */
KVMIG_API struct kvmig_context *kvmig_context_ref(struct kvmig_context *context);

/**
 * One owner less; NULL is ignored. A cluster or session handle counts as an owner too. With the last one the context
 * stops: nothing is delivered any more but the free functions of callbacks, which run now (from inside a callback: as
 * soon as dispatch or run is done with it). Never blocks on a hung host: such a thread keeps what it needs and ends by
 * itself. A migration that still runs goes on to its end on a thread of the library, without events. If the context has
 * its own thread, this waits for the callback that runs there. In a forked child it does nothing.
 * Threads: any. Since: 0.1.0
 */
KVMIG_API void kvmig_context_unref(struct kvmig_context *context);

/**
 * The descriptor to watch for input (level-triggered), for the life of the context. Do not read or close it.
 * Threads: any. Errors: -EINVAL for NULL, -EBUSY if the context dispatches on its own thread, -ECHILD in a forked child.
 * Since: 0.1.0
 */
KVMIG_API int32_t kvmig_context_get_fd(struct kvmig_context *context);

/**
 * Does what is due, without blocking: timers, results of workers, callbacks. Returns 1 if more is due
 * already, 0 if not. Threads: any, one at a time. Errors: -EBUSY from inside a callback, from a second thread,
 * or if the context has its own thread; -ECHILD in a forked child. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_context_dispatch(struct kvmig_context *context);

/**
 * Dispatches until until(user_data) returns non-zero (asked before the first wait and after each
 * dispatch; NULL = never) or timeout_ms have passed (-1 = no limit). Returns 0 if the condition was met.
 * With the context's own thread it only waits. Threads: as dispatch. Errors: -ETIMEDOUT, -EBUSY, -ECHILD, -EINVAL,
 * -ECANCELED (the last owner let go of the context meanwhile). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_context_run(struct kvmig_context *context, int32_t (*until)(void *user_data), void *user_data,
                                    int64_t timeout_ms);

/**
 * Makes a running kvmig_context_run() ask its condition again. Threads: any; also from a signal handler.
 * Since: 0.1.0
 */
KVMIG_API void kvmig_context_wake(struct kvmig_context *context);

/** "error", "warn", "info", "debug"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_log_level_name(int32_t level);

#ifdef __cplusplus
}
#endif
#endif
