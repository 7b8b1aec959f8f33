/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Forecasts for plans: from what was asked, told, learned and planned, to one answer per strategy and a recommendation. Pure.
 */
#ifndef KVMIG_SRC_FORECAST_H
#define KVMIG_SRC_FORECAST_H

#include "plan/forecast_model.h"
#include "plan/learned.h"
#include <kvmig/forecast.h>

struct kvmig_plan;

#define KVMIG__N_STRATEGIES 3

/* Of kvmig_forecast_opts, copied; no pointer. */
struct kvmig__forecast_asked {
    struct kvmig_dirty_sample dirty[KVMIG__CURVE_POINTS];
    size_t n_dirty;
    uint64_t memory, used, working_set, link, setup_ms, ceiling_ms, completion_s_per_gib;
    uint32_t sharing, busy_percent, forbid;
};

/* Where a number comes from. */
enum kvmig__basis {
    KVMIG__BASIS_NONE,
    KVMIG__BASIS_GIVEN, /* by the caller */
    KVMIG__BASIS_MEASURED,
    KVMIG__BASIS_LEARNED, /* from the last migration */
    KVMIG__BASIS_CAP, /* the bandwidth limit stands for the link */
    KVMIG__BASIS_SIZE, /* the whole memory stands for the used part */
    KVMIG__BASIS_DEFAULT,
};
const char *kvmig__basis_name(int32_t basis); /* "given", ...; NULL for NONE */

/* What a forecast is made of; the caller fills it. Bytes, bytes/s; < 0 = not known. */
struct kvmig__forecast_facts {
    double memory; /* of the guest */
    double disks; /* to be copied; 0 = none */
    double cap; /* bandwidth limit in force; 0 = none */
    double post_cap;
    uint64_t limit_s; /* completion limit; 0 = none */
    int32_t limit_action; /* enum kvmig_limit_action */
    bool converge, post; /* enabled in the plan, or on the platform */
    const struct kvmig__learned *learned; /* NULL = nothing */
    const char *uuid, *source, *target; /* to look up what was learned; NULL = not known */
    double told_memory, told_link, told_dirty; /* of an observation file, bytes and bytes/s; < 0 = not told */
};

struct kvmig__forecast {
    bool known; /* memory and link are known */
    bool dirty_known, average; /* average: of the dirty rate nothing but an average is known */
    int32_t link_basis, used_basis, dirty_basis, setup_basis; /* enum kvmig__basis */
    double memory, used, rate, limit_s;
    double cap; /* bandwidth limit in force; 0 = none */
    int32_t planned; /* enum kvmig_strategy: what the plan runs with */
    size_t n_points;
    struct kvmig_forecast of[KVMIG__N_STRATEGIES]; /* by strategy - 1 */
    int32_t recommended; /* enum kvmig_strategy; 0 = none */
    char *reason; /* owned; NULL = no forecast */
};

struct kvmig__request;
void kvmig__forecast_make(const struct kvmig__request *request, const struct kvmig__forecast_facts *facts,
                          struct kvmig__forecast *out);
void kvmig__forecast_clear(struct kvmig__forecast *forecast);
void kvmig__forecast_copy(struct kvmig__forecast *dst, const struct kvmig__forecast *src);
/* The strategy that the plan will run with, if nobody interferes: enum kvmig_strategy. */
int32_t kvmig__forecast_planned(const struct kvmig__request *request, const struct kvmig__forecast_facts *facts);
/* Chooses among the three and says why (forecast_choice.c). */
void kvmig__forecast_choose(const struct kvmig__request *request, const struct kvmig__forecast_facts *facts,
                            struct kvmig__forecast *forecast);

struct kvmig_findings;
/* NOT_CONVERGING_LIKELY and COMPLETION_LIMIT_LIKELY, about object (forecast_findings.c). */
void kvmig__forecast_findings(const struct kvmig__request *request, const struct kvmig__forecast_facts *facts,
                              const struct kvmig__forecast *forecast, const char *object, struct kvmig_findings *out);

#endif
