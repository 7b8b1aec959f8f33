/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order of candidates: those that can start now before those that wait, blocked ones last; then by what struct kvmig__rank
 * says; equals by name. Amounts of which a little more or less means nothing (links, memory) count as equal within an eighth.
 * Pure; any thread.
 */
#include "plan/checks.h"
#include "plan/learned.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparing ---- */

/* To three significant bits: values within about an eighth of each other count as equal, so that what comes after them in the
 * order gets to decide. */
uint64_t kvmig__roughly(uint64_t value)
{
    uint64_t exponent;

    if (!value || value == KVMIG__UNKNOWN)
        return 0;
    exponent = 63 - (uint64_t)__builtin_clzll(value);
    if (exponent < 3)
        return exponent * 8;
    return exponent * 8 + ((value >> (exponent - 3)) & 7);
}

static int less_first(uint64_t a, uint64_t b)
{
    return a == b ? 0 : a < b ? -1 : 1;
}

static int more_first(uint64_t a, uint64_t b)
{
    return less_first(kvmig__roughly(b), kvmig__roughly(a));
}

static int compare_by(const struct kvmig__rank *a, const struct kvmig__rank *b, enum kvmig__reason reason)
{
    switch (reason) {
    case KVMIG__REASON_BLOCKERS:
        return less_first(a->blockers, b->blockers);
    case KVMIG__REASON_RISKS:
        return less_first(a->risks, b->risks);
    case KVMIG__REASON_SPREAD:
        return less_first(a->peers, b->peers);
    case KVMIG__REASON_LOCALITY:
        return less_first(a->away, b->away);
    case KVMIG__REASON_LINK:
        return more_first(a->link_or_usual, b->link_or_usual);
    case KVMIG__REASON_HEADROOM:
        return more_first(a->headroom, b->headroom);
    case KVMIG__REASON_COPY:
        return less_first(a->copy >> 20, b->copy >> 20); /* of less than a MiB nobody knows more */
    case KVMIG__REASON_FEATURES:
        return less_first(a->features, b->features);
    default:
        return 0;
    }
}

int kvmig__rank_compare(const struct kvmig__rank *a, const struct kvmig__rank *b, enum kvmig__reason *out_reason)
{
    for (int32_t reason = KVMIG__REASON_BLOCKERS; reason < KVMIG__REASON_NAME; reason++) {
        int order = compare_by(a, b, (enum kvmig__reason)reason);

        if (!order)
            continue;
        if (out_reason)
            *out_reason = (enum kvmig__reason)reason;
        return order;
    }
    return 0;
}

/* ---- as text ---- */

const char *kvmig__reason_name(enum kvmig__reason reason)
{
    static const char *const names[KVMIG__N_REASONS] = {
        [KVMIG__REASON_STATE] = "state",       [KVMIG__REASON_BLOCKERS] = "blockers",
        [KVMIG__REASON_RISKS] = "risks",       [KVMIG__REASON_SPREAD] = "spread",
        [KVMIG__REASON_LOCALITY] = "locality", [KVMIG__REASON_LINK] = "link",
        [KVMIG__REASON_HEADROOM] = "headroom", [KVMIG__REASON_COPY] = "copy",
        [KVMIG__REASON_FEATURES] = "features", [KVMIG__REASON_NAME] = "name",
    };

    return names[reason];
}

uint64_t kvmig__rank_value(const struct kvmig__rank *rank, enum kvmig__reason reason)
{
    switch (reason) {
    case KVMIG__REASON_BLOCKERS:
        return rank->blockers;
    case KVMIG__REASON_RISKS:
        return rank->risks;
    case KVMIG__REASON_SPREAD:
        return rank->peers;
    case KVMIG__REASON_LOCALITY:
        return rank->away;
    case KVMIG__REASON_LINK:
        return rank->link;
    case KVMIG__REASON_HEADROOM:
        return rank->headroom;
    case KVMIG__REASON_COPY:
        return rank->copy;
    case KVMIG__REASON_FEATURES:
        return rank->features;
    default:
        return KVMIG__UNKNOWN;
    }
}

char *kvmig__rank_text(uint64_t value, enum kvmig__reason reason)
{
    char *bytes, *text;

    if (value == KVMIG__UNKNOWN)
        return kvmig__strdup("not known");
    switch (reason) {
    case KVMIG__REASON_LOCALITY:
        return kvmig__strdup(value ? "another zone" : "the same zone");
    case KVMIG__REASON_HEADROOM:
    case KVMIG__REASON_COPY:
        return kvmig__bytes_text(value);
    case KVMIG__REASON_LINK:
        bytes = kvmig__bytes_text(value);
        text = kvmig__asprintf("%s/s", bytes);
        free(bytes);
        return text;
    default:
        return kvmig__asprintf("%" PRIu64, value);
    }
}

static const char *advantage(enum kvmig__reason reason)
{
    static const char *const texts[KVMIG__N_REASONS] = {
        [KVMIG__REASON_BLOCKERS] = "less stands against it",
        [KVMIG__REASON_RISKS] = "fewer risks",
        [KVMIG__REASON_SPREAD] = "fewer of the VM's peers are near",
        [KVMIG__REASON_LOCALITY] = "nearer to the source",
        [KVMIG__REASON_LINK] = "a faster link",
        [KVMIG__REASON_HEADROOM] = "more memory is left after the move",
        [KVMIG__REASON_COPY] = "less of disks to copy",
        [KVMIG__REASON_FEATURES] = "a CPU more like the source's (features that differ)",
    };

    return texts[reason];
}

static char *describe(const struct kvmig__candidate *before, const struct kvmig__candidate *after,
                      enum kvmig__reason reason)
{
    char *mine, *other, *text;

    if (reason == KVMIG__REASON_NAME)
        return kvmig__asprintf("nothing tells it from %s but the name", after->host);
    if (reason == KVMIG__REASON_STATE)
        return kvmig__asprintf("%s (%s: %s)", kvmig_verdict_name(before->verdict), after->host,
                               kvmig_verdict_name(after->verdict));
    mine = kvmig__rank_text(kvmig__rank_value(&before->rank, reason), reason);
    other = kvmig__rank_text(kvmig__rank_value(&after->rank, reason), reason);
    text = kvmig__asprintf("%s: %s (%s: %s)", advantage(reason), mine, after->host, other);
    free(mine);
    free(other);
    return text;
}

/* ---- order ---- */

/* The enum's order is the order of preference: start now, start with risks, wait, never. */
static int compare_why(const struct kvmig__candidate *x, const struct kvmig__candidate *y, enum kvmig__reason *why)
{
    int order;

    *why = KVMIG__REASON_STATE;
    if (x->verdict != y->verdict)
        return x->verdict < y->verdict ? -1 : 1;
    order = kvmig__rank_compare(&x->rank, &y->rank, why);
    if (order)
        return order;
    *why = KVMIG__REASON_NAME;
    return strcmp(x->host, y->host);
}

static int compare(const void *a, const void *b)
{
    enum kvmig__reason why;

    return compare_why(a, b, &why);
}

void kvmig__candidates_sort(struct kvmig__candidates *candidates)
{
    if (candidates->n > 1)
        qsort(candidates->v, candidates->n, sizeof(*candidates->v), compare);
    for (size_t i = 0; i + 1 < candidates->n; i++) {
        struct kvmig__candidate *candidate = &candidates->v[i];

        compare_why(candidate, &candidates->v[i + 1], &candidate->better_by);
        free(candidate->better);
        candidate->better = describe(candidate, &candidates->v[i + 1], candidate->better_by);
    }
}

/* ---- links ---- */

static bool is_told(const struct kvmig__request *request, const char *host)
{
    for (size_t i = 0; i < request->links.n; i++) {
        if (kvmig__str_eq(request->links.v[i].host, host))
            return true;
    }
    return false;
}

void kvmig__learned_links(const struct kvmig__request *request, const char *source,
                          void (*fn)(void *data, const char *target, uint64_t bytes_per_s), void *data)
{
    const struct kvmig__learned *learned = request->learned;

    for (size_t i = 0; learned && i < learned->links.n; i++) {
        const struct kvmig__learned_link *link = &learned->links.v[i];

        if (kvmig__str_eq(link->source, source) && link->line >= 1 && link->line < 1e18 &&
            !is_told(request, link->target))
            fn(data, link->target, (uint64_t)link->line);
    }
}

struct mean {
    double sum;
    size_t n;
};

static void add_to_mean(void *data, const char *target, uint64_t bytes_per_s)
{
    struct mean *mean = data;

    (void)target;
    mean->sum += (double)bytes_per_s;
    mean->n++;
}

uint64_t kvmig__usual_link(const struct kvmig__request *request, const char *source)
{
    struct mean mean = { 0, 0 };

    for (size_t i = 0; i < request->links.n; i++)
        add_to_mean(&mean, NULL, request->links.v[i].bytes_per_s);
    kvmig__learned_links(request, source, add_to_mean, &mean);
    return mean.n ? (uint64_t)(mean.sum / (double)mean.n) : 0;
}

/* What the caller tells counts, else what migrations have reached. */
static uint64_t link_to(const struct kvmig__request *request, const struct kvmig__host *source,
                        const struct kvmig__host *host)
{
    const struct kvmig__learned_link *learned;

    for (size_t i = 0; i < request->links.n; i++) {
        const char *name = request->links.v[i].host;

        if (kvmig__str_eq(name, host->name) || kvmig__str_eq(name, host->uri) || kvmig__str_eq(name, host->uuid))
            return request->links.v[i].bytes_per_s;
    }
    learned = request->learned ? kvmig__learned_find_link(request->learned, source->name, host->name) : NULL;
    return learned && learned->line >= 1 && learned->line < 1e18 ? (uint64_t)learned->line : KVMIG__UNKNOWN;
}

/* ---- the rank of a libvirt host ---- */

uint64_t kvmig__count_severity(const struct kvmig_findings *findings, int32_t severity)
{
    uint64_t n = 0;

    for (size_t i = 0; i < findings->n; i++)
        n += findings->v[i].severity == severity;
    return n;
}

static uint64_t memory_left(const struct kvmig__domain *domain, const struct kvmig__host *target)
{
    uint64_t have = target->memory_free, need = domain->memory;

    if (have == KVMIG__UNKNOWN)
        return KVMIG__UNKNOWN;
    return have > need ? have - need : 0;
}

/* What the host would give to guests like this one; NULL if it is not known in full. */
static const struct kvmig__strlist *offered(const struct kvmig__host *host, const struct kvmig__domain *domain)
{
    for (size_t i = 0; i < host->emulators.n; i++) {
        const struct kvmig__emulator *emulator = &host->emulators.v[i];

        if (kvmig__str_eq(emulator->arch, domain->arch) && kvmig__str_eq(emulator->virt_type, domain->virt_type) &&
            emulator->host_model_known && emulator->host_model.expanded_known)
            return &emulator->host_model.expanded;
    }
    return NULL;
}

static uint64_t not_in(const struct kvmig__strlist *these, const struct kvmig__strlist *others)
{
    uint64_t n = 0;

    for (size_t i = 0; i < these->n; i++)
        n += !kvmig__strlist_has(others, these->v[i]);
    return n;
}

static uint64_t feature_distance(const struct kvmig__domain *domain, const struct kvmig__host *source,
                                 const struct kvmig__host *target)
{
    const struct kvmig__strlist *here = offered(source, domain), *there = offered(target, domain);

    return here && there ? not_in(here, there) + not_in(there, here) : KVMIG__UNKNOWN;
}

/* Hosts of libvirt have no zones and no rules of spread: those members are the same for all. */
void kvmig__candidate_rank(struct kvmig__candidate *candidate, const struct kvmig__request *request,
                           const struct kvmig__domain *domain, const struct kvmig__host *source,
                           const struct kvmig__host *target)
{
    const uint64_t link = link_to(request, source, target);

    candidate->rank = (struct kvmig__rank){
        .blockers = kvmig__count_severity(&candidate->findings, KVMIG_SEVERITY_BLOCKER),
        .risks = kvmig__count_severity(&candidate->findings, KVMIG_SEVERITY_WARN),
        .peers = KVMIG__UNKNOWN,
        .away = KVMIG__UNKNOWN,
        .link = link,
        .link_or_usual = link != KVMIG__UNKNOWN ? link : kvmig__usual_link(request, source->name),
        .headroom = memory_left(domain, target),
        .copy = kvmig__disks_bytes_to_copy(candidate->disks.v, candidate->disks.n, NULL),
        .features = feature_distance(domain, source, target),
    };
}
