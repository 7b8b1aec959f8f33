/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which strategy to recommend: the least invasive one that ends by itself, within the caller's pause and the completion limit, and is
 * not ruled out. And the names of strategies. Pure; any thread.
 */
#include "plan/forecast.h"
#include "plan/plan_internal.h"

#include <inttypes.h>
#include <stdlib.h>

const char *kvmig_strategy_name(int32_t strategy)
{
    static const char *const names[] = { NULL, "pre-copy", "auto-converge", "post-copy" };

    return strategy >= 1 && strategy < (int32_t)KVMIG__N_ELEMENTS(names) ? names[strategy] : NULL;
}

const char *kvmig_limit_action_name(int32_t action)
{
    static const char *const names[] = { "none", "abort", "post-copy", "pause" };

    return action >= 0 && action < (int32_t)KVMIG__N_ELEMENTS(names) ? names[action] : NULL;
}

int32_t kvmig__forecast_planned(const struct kvmig__request *request, const struct kvmig__forecast_facts *facts)
{
    if (facts->post && request->flags & KVMIG_PLAN_POSTCOPY_AFTER_PRECOPY)
        return KVMIG_STRATEGY_POST_COPY;
    return facts->converge ? KVMIG_STRATEGY_AUTO_CONVERGE : KVMIG_STRATEGY_PRE_COPY;
}

static bool is_forbidden(const struct kvmig__request *request, int32_t strategy)
{
    const uint32_t forbid = request->forecast.forbid;

    return (strategy == KVMIG_STRATEGY_AUTO_CONVERGE && forbid & KVMIG_FORBID_AUTO_CONVERGE) ||
           (strategy == KVMIG_STRATEGY_POST_COPY && forbid & KVMIG_FORBID_POST_COPY);
}

static bool fits(const struct kvmig__forecast *f, int32_t strategy)
{
    const struct kvmig_forecast *a = &f->of[strategy - 1];

    return a->converges == 1 && a->over_limit != 1;
}

static char *why_not_pre_copy(const struct kvmig__forecast *f)
{
    const struct kvmig_forecast *a = &f->of[KVMIG_STRATEGY_PRE_COPY - 1];

    if (a->converges == 1)
        return kvmig__asprintf("pre-copy would take %" PRIu64 " s, longer than the completion limit of %" PRIu64 " s",
                               a->total_ms / 1000, a->limit_ms / 1000);
    return kvmig__asprintf("pre-copy would not end: its shortest pause is about %" PRIu64 " ms, the limit is %.0f ms",
                           a->lowest_pause_ms, f->limit_s * 1000);
}

static char *reason_of(const struct kvmig__forecast_facts *facts, const struct kvmig__forecast *f, int32_t strategy)
{
    const struct kvmig_forecast *a = &f->of[strategy > 0 ? strategy - 1 : 0];
    char *why_not, *reason;

    if (strategy == KVMIG_STRATEGY_PRE_COPY)
        return a->converges < 0
                   ? kvmig__strdup("How fast the guest dirties its memory is not known; a quiet guest needs no more.")
                   : kvmig__asprintf("It ends by itself with a pause of about %" PRIu64 " ms (limit %.0f ms).",
                                     a->pause_ms, f->limit_s * 1000);
    why_not = why_not_pre_copy(f);
    if (strategy == KVMIG_STRATEGY_AUTO_CONVERGE)
        reason = kvmig__asprintf("Because %s. Slowing the guest down ends it%s.", why_not,
                                 facts->converge ? "" : ", if you allow it");
    else if (strategy == KVMIG_STRATEGY_POST_COPY)
        reason =
            kvmig__asprintf("Because %s, and slowing the guest down %s. Post-copy ends in any case%s.", why_not,
                            f->of[KVMIG_STRATEGY_AUTO_CONVERGE - 1].converges == 1 ? "is ruled out or takes too long"
                                                                                   : "does not help enough",
                            facts->post ? "" : ", but needs your consent: from the switch on there is no way back");
    else
        reason = kvmig__asprintf("None: %s, and what would end is ruled out.", why_not);
    free(why_not);
    return reason;
}

void kvmig__forecast_choose(const struct kvmig__request *request, const struct kvmig__forecast_facts *facts,
                            struct kvmig__forecast *f)
{
    f->recommended = 0;
    if (!f->dirty_known)
        f->recommended = KVMIG_STRATEGY_PRE_COPY;
    for (int32_t strategy = 1; strategy <= KVMIG__N_STRATEGIES && !f->recommended; strategy++) {
        if (fits(f, strategy) && !is_forbidden(request, strategy))
            f->recommended = strategy;
    }
    f->reason = reason_of(facts, f, f->recommended);
}
