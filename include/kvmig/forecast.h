/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file forecast.h
 * How long a migration will take, how long the guest will be paused, whether it will end at all: per strategy, with bounds. What
 * the library does not know it is told (kvmig_forecast_opts), measures on request (kvmig_cluster_measure), or has learned from the
 * last migration.
 */
#ifndef KVMIG_FORECAST_H
#define KVMIG_FORECAST_H

#include <kvmig/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How memory gets to the target. Append-only. Since: 0.1.0 */
enum kvmig_strategy {
    KVMIG_STRATEGY_PRE_COPY = 1, /**< copied while the guest runs at full speed */
    KVMIG_STRATEGY_AUTO_CONVERGE = 2, /**< likewise, and the guest is slowed down while too much is dirtied */
    KVMIG_STRATEGY_POST_COPY = 3, /**< after the first pass the guest runs on the target and fetches the rest */
};

/** What the platform does with a migration that exceeds its completion limit. Append-only. Since: 0.1.0 */
enum kvmig_limit_action {
    KVMIG_LIMIT_NONE = 0, /**< there is no limit */
    KVMIG_LIMIT_ABORT = 1, /**< the migration is aborted */
    KVMIG_LIMIT_POST_COPY = 2, /**< it is switched to post-copy */
    KVMIG_LIMIT_PAUSE = 3, /**< the guest is paused until the copy is complete */
};

/** What the caller rules out. Append-only. Since: 0.1.0 */
enum kvmig_forbid_flags {
    KVMIG_FORBID_AUTO_CONVERGE = 1 << 0, /**< the guest must not be slowed down */
    KVMIG_FORBID_POST_COPY = 1 << 1, /**< post-copy must not be used */
};

/**
 * One measurement: how much distinct memory the guest dirtied in a window of time, as a rate. Fixed for good: it lies in arrays and
 * has no size member, so it never gets another member. Since: 0.1.0
 */
struct kvmig_dirty_sample {
    uint64_t window_ms; /**< length of the window; 0 = an average of which nothing more is known */
    uint64_t bytes_per_s; /**< distinct bytes dirtied in it, divided by its length */
};

/** What the caller knows for a forecast; zero = not known. Append-only. Since: 0.1.0 */
struct kvmig_forecast_opts {
    size_t size; /**< set by KVMIG_FORECAST_OPTS_INIT */
    const struct kvmig_dirty_sample *dirty; /**< at best of two or more window lengths; at most 16; copied */
    size_t n_dirty; /**< entries in dirty */
    uint64_t memory_bytes; /**< guest memory; 0 = what the view knows */
    uint64_t used_bytes; /**< of it what is not zero; 0 = learned, or all of it */
    uint64_t working_set_bytes; /**< all pages that are ever written; 0 = not known */
    uint64_t link_bytes_per_s; /**< what the network between the hosts carries; 0 = learned, or the bandwidth limit */
    uint64_t setup_ms; /**< from the migrate call until memory flows; 0 = learned, or 500 */
    uint64_t downtime_ceiling_ms; /**< longest pause that may ever be set; 0 = the max_downtime_ms of the plan */
    uint64_t
        completion_s_per_gib; /**< completion limit per GiB of memory (KubeVirt: per decimal GB); 0 = the platform's */
    uint32_t sharing; /**< other migrations that use the link at the same time */
    uint32_t busy_percent; /**< share of its CPUs' time that the guest uses; 0 = not known */
    uint32_t forbid; /**< enum kvmig_forbid_flags */
    uint32_t reserved; /**< must be 0 */
};

/** Begins a struct kvmig_forecast_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_FORECAST_OPTS_INIT KVMIG_OPTS_INIT(kvmig_forecast_opts)
/** As kvmig_plan_opts_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_forecast_opts_init(struct kvmig_forecast_opts *opts, size_t size);

/** A forecast for one strategy. UINT64_MAX where not known. Append-only. Since: 0.1.0 */
struct kvmig_forecast {
    size_t size; /**< set by KVMIG_FORECAST_INIT */
    int32_t converges; /**< 1 = it ends by itself, 0 = it does not, -1 = not known: no dirty rate */
    int32_t certain; /**< 1 = within the bounds of what is known, converges stays the same */
    uint64_t total_ms; /**< of the migrate call (KubeVirt: of Running); while it does not end by itself: not known */
    uint64_t total_low_ms; /**< at best */
    uint64_t total_high_ms; /**< at worst */
    uint64_t pause_ms; /**< of the guest at the switch */
    uint64_t pause_low_ms; /**< at best */
    uint64_t pause_high_ms; /**< at worst */
    uint64_t sent_bytes; /**< memory and disks */
    uint64_t sent_low_bytes; /**< at best */
    uint64_t sent_high_bytes; /**< at worst */
    uint64_t
        lowest_pause_ms; /**< the lowest limit of the pause (max_downtime_ms) with which pre-copy would end; post-copy: its pause */
    uint64_t needed_bytes_per_s; /**< bandwidth with which pre-copy would converge; 0 = as it is */
    uint32_t needed_throttle_percent; /**< slow-down of the guest with which it would; 0 = none, 100 = none helps */
    uint32_t rounds; /**< passes over memory */
    uint64_t limit_ms; /**< completion limit in force; 0 = none */
    int32_t over_limit; /**< 1 = the limit will be hit, 0 = not, -1 = not known */
    int32_t limit_action; /**< enum kvmig_limit_action: what happens then */
};

/** Begins a struct kvmig_forecast: zero, but for its size. Since: 0.1.0 */
#define KVMIG_FORECAST_INIT KVMIG_OPTS_INIT(kvmig_forecast)
/** As kvmig_plan_opts_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_forecast_init(struct kvmig_forecast *forecast, size_t size);

/**
 * The forecast of a plan for one strategy; fills as much of *out_forecast as its size says. Returns 0. Threads: any.
 * Errors: -EINVAL (NULL, no such strategy, size too small), -ENODATA (the bandwidth or the memory is not known). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_plan_forecast(const struct kvmig_plan *plan, int32_t strategy,
                                      struct kvmig_forecast *out_forecast);

/**
 * The least invasive strategy that keeps within the caller's limits: an enum kvmig_strategy; 0 = none does, or nothing is known.
 * *out_reason (may be NULL) says why, for people; borrowed; NULL if there is no forecast. Threads: any. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_plan_recommended_strategy(const struct kvmig_plan *plan, const char **out_reason);

/** Options of kvmig_cluster_measure(); zero is the default of every member. Append-only. Since: 0.1.0 */
struct kvmig_measure_opts {
    size_t size; /**< set by KVMIG_MEASURE_OPTS_INIT */
    uint64_t short_ms; /**< first window, whole seconds, at most 60 s; 0 = 1 s */
    uint64_t long_ms; /**< second window, likewise, longer than the first; 0 = 5 s */
    uint64_t timeout_ms; /**< of the whole; 0 = the windows and 20 s */
};

/** Begins a struct kvmig_measure_opts: zero, but for its size. Since: 0.1.0 */
#define KVMIG_MEASURE_OPTS_INIT KVMIG_OPTS_INIT(kvmig_measure_opts)
/** As kvmig_plan_opts_init(). Returns 0. Threads: any. Errors: -EINVAL. Since: 0.1.0 */
KVMIG_API int32_t kvmig_measure_opts_init(struct kvmig_measure_opts *opts, size_t size);

/**
 * Measures how fast a running VM of a libvirt host dirties its memory, at two window lengths, with how busy its CPUs are. Returns
 * at once; KVMIG_EVENT_MEASURED follows exactly once, with an error if it failed, and plans made from then on use what was measured. It
 * costs the guest a little. While somebody else measures the same VM, or migrates it, libvirt has no answer: -EBUSY in the event, which
 * is no reason for alarm. Threads: any. Errors: -EINVAL, -E2BIG, -KVMIG_ENOTSYNCED, -KVMIG_ENOVM, -KVMIG_EAMBIGUOUS, -ENOTSUP (not a
 * libvirt host). Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_measure(struct kvmig_cluster *cluster, const char *vm,
                                        const struct kvmig_measure_opts *opts);

/**
 * What the view has learned from its migrations and measurements, as JSON: bandwidth and overheads per pair of hosts, memory and
 * dirtying per VM. The library writes it nowhere: keep it, and give it to the next view. *out_json is owned by the caller, who frees
 * it with free(). Returns 0. Threads: any. Errors: -EINVAL for NULL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_export_learned(struct kvmig_cluster *cluster, char **out_json);
/** Takes up what another view has learned, beside or instead of what this one knows of the same hosts and VMs. Nothing is taken if the
 * text is wrong. Returns 0. Threads: any. Errors: -EINVAL (NULL, or no such text; names what is wrong). Since: 0.1.0 */
KVMIG_API int32_t kvmig_cluster_import_learned(struct kvmig_cluster *cluster, const char *json);

/** "pre-copy", "auto-converge", "post-copy"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_strategy_name(int32_t strategy);
/** "none", "abort", "post-copy", "pause"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_limit_action_name(int32_t action);

#ifdef __cplusplus
}
#endif
#endif
