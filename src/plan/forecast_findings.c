/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a forecast has to say among a plan's findings: that the copy will likely not end, or not within the completion limit. Where
 * the dirty rate is not known it says only what holds for any. Pure; any thread.
 */
#include "plan/forecast.h"
#include "plan/plan_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#define MS 1000.0

static void detail_rates(struct kvmig__detail *d, const struct kvmig__forecast *f, const struct kvmig_forecast *a)
{
    if (a->lowest_pause_ms != KVMIG__UNKNOWN)
        kvmig__detail_uint(d, "needed_ms", a->lowest_pause_ms);
    kvmig__detail_uint(d, "limit_ms", (uint64_t)(f->limit_s * MS + 0.5));
    kvmig__detail_uint(d, "memory_bytes", (uint64_t)f->memory);
    kvmig__detail_uint(d, "link_bytes_per_s", (uint64_t)f->rate);
    if (a->needed_bytes_per_s && a->needed_bytes_per_s != KVMIG__UNKNOWN)
        kvmig__detail_uint(d, "needed_bytes_per_s", a->needed_bytes_per_s);
}

/* The strategies that would end, and those of them that the caller does not rule out. */
static void list_ways(const struct kvmig__request *request, const struct kvmig__forecast *f, bool *out_any,
                      struct kvmig__strlist *ways)
{
    const struct kvmig_forecast *pre = &f->of[0], *converge = &f->of[1];
    const uint64_t ceiling = request->forecast.ceiling_ms;
    const uint32_t forbid = request->forecast.forbid;
    /* A caller who rules something out and names no ceiling means the limit as it is. */
    const bool pause = pre->lowest_pause_ms != KVMIG__UNKNOWN && (ceiling ? pre->lowest_pause_ms <= ceiling : !forbid);

    if (pause)
        kvmig__strlist_add(ways, "a longer pause");
    if (converge->converges == 1 && !(forbid & KVMIG_FORBID_AUTO_CONVERGE))
        kvmig__strlist_add(ways, "auto-converge");
    if (!(forbid & KVMIG_FORBID_POST_COPY))
        kvmig__strlist_add(ways, "post-copy");
    *out_any = ways->n > 0;
}

static char *hint_of(const struct kvmig__strlist *ways, bool any)
{
    char *list = kvmig__strlist_join(ways, ", ");
    char *hint =
        any ? kvmig__asprintf("What would end it: %s, or more bandwidth, or a quieter time.", list)
            : kvmig__strdup("What would end it is ruled out: allow post-copy, auto-converge or a longer pause; or "
                            "give more bandwidth, or wait for a quieter time.");

    free(list);
    return hint;
}

static void note_not_converging(const struct kvmig__request *request, const struct kvmig__forecast *f,
                                const struct kvmig_forecast *a, const char *object, struct kvmig_findings *out)
{
    struct kvmig__strlist ways = { 0 };
    struct kvmig__detail d = { 0 };
    char *detail, *hint;
    bool any;

    list_ways(request, f, &any, &ways);
    detail_rates(&d, f, a);
    kvmig__detail_list(&d, "would_end", &ways);
    detail = kvmig__detail_take(&d);
    hint = hint_of(&ways, any);
    kvmig__findings_add(out, "NOT_CONVERGING_LIKELY", any || !a->certain ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_BLOCKER,
                        object, NULL, detail, hint,
                        "The copy will likely not end: memory is dirtied so fast that the pause cannot get below about "
                        "%" PRIu64 " ms at %.0f MiB/s; the limit is %.0f ms.",
                        a->lowest_pause_ms, f->rate / 1048576, f->limit_s * MS);
    kvmig__strlist_clear(&ways);
    free(detail);
    free(hint);
}

static void note_limit(const struct kvmig_forecast *a, const char *object, struct kvmig_findings *out)
{
    const char *what = kvmig_limit_action_name(a->limit_action);
    struct kvmig__detail d = { 0 };
    char *detail;

    kvmig__detail_uint(&d, "limit_ms", a->limit_ms);
    if (a->converges == 1)
        kvmig__detail_uint(&d, "total_ms", a->total_ms);
    else if (a->converges < 0)
        kvmig__detail_uint(&d, "total_at_least_ms", a->total_low_ms);
    kvmig__detail_str(&d, "then", what);
    detail = kvmig__detail_take(&d);
    kvmig__findings_add(out, "COMPLETION_LIMIT_LIKELY", KVMIG_SEVERITY_WARN, object, NULL, detail,
                        "Raise the limit per GiB, give more bandwidth, or allow what ends it sooner.",
                        "The copy will likely still run when the completion limit of %" PRIu64
                        " s is reached; then: %s.",
                        a->limit_ms / 1000, what ? what : "?");
    free(detail);
}

void kvmig__forecast_findings(const struct kvmig__request *request, const struct kvmig__forecast_facts *facts,
                              const struct kvmig__forecast *forecast, const char *object, struct kvmig_findings *out)
{
    const struct kvmig_forecast *a;

    if (!forecast->known)
        return;
    a = &forecast->of[kvmig__forecast_planned(request, facts) - 1];
    if (a->converges == 0)
        note_not_converging(request, forecast, a, object, out);
    if (a->over_limit == 1)
        note_limit(a, object, out);
}
