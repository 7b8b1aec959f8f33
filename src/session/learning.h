/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a migration teaches for the next forecast, gathered from its progress figures and its report. Pure; time comes in with the
 * figures.
 */
#ifndef KVMIG_SRC_LEARNING_H
#define KVMIG_SRC_LEARNING_H

#include "plan/learned.h"
#include "session/report.h"

struct kvmig__learning {
    bool begun, in_memory; /* figures were seen; memory flows */
    uint64_t first_ms, memory_ms,
        rate_ms; /* elapsed: of the first figures, of the first of memory, when the dirty rate last changed */
    uint64_t dirty_per_s; /* the last one that was told; UINT64_MAX = none */
    bool throttled, post_copy;
    bool tuned; /* the caller gave other limits on the way than those of the plan */
    struct kvmig__dirty_point points[KVMIG__CURVE_POINTS];
    size_t n_points;
};
/* mode: enum kvmig_mode. */
void kvmig__learning_sample(struct kvmig__learning *learning, const struct kvmig_progress *progress, int32_t mode);
/* Of a migration that succeeded. cap: bytes/s, 0 = none; limit_s: the longest pause that was allowed. False: it teaches nothing. */
bool kvmig__learning_end(const struct kvmig__learning *learning, const struct kvmig__report *report, double cap,
                         double limit_s, struct kvmig__seen *out);

#endif
