/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order of candidates: those that can start now before those that wait, blocked ones last; then fewer risks, more free
 * memory after the move, fewer bytes to copy; equals by name. Pure; any thread.
 */
#include "plan/checks.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RISKS 255
#define MAX_COPY_MIB ((uint64_t)INT32_MAX)

static uint64_t count_risks(const struct kvmig_findings *findings)
{
    uint64_t risks = 0;

    for (size_t i = 0; i < findings->n; i++)
        risks += findings->v[i].severity == KVMIG_SEVERITY_WARN;
    return risks < MAX_RISKS ? risks : MAX_RISKS;
}

static uint64_t memory_left(const struct kvmig__domain *domain, const struct kvmig__host *target)
{
    uint64_t have = target->memory_free, need = domain->memory;

    if (have == KVMIG__UNKNOWN || have < need)
        return 0;
    return have - need;
}

/* To three significant bits: hosts within about an eighth of each other count as equal, so that the cost of copying decides
 * between them. */
static uint64_t roughly(uint64_t bytes)
{
    uint64_t exponent = 0;

    if (!bytes)
        return 0;
    while (exponent < 63 && bytes >> (exponent + 1))
        exponent++;
    if (exponent < 3)
        return exponent * 8;
    return exponent * 8 + ((bytes >> (exponent - 3)) & 7);
}

static uint64_t copy_mib(const struct kvmig__candidate *candidate)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < candidate->disks.n; i++) {
        const struct kvmig__disk_plan *disk = &candidate->disks.v[i];
        uint64_t bytes = disk->estimate != KVMIG__UNKNOWN ? disk->estimate : disk->capacity;

        if (kvmig__disk_is_copied(disk))
            sum += bytes >> 20;
        if (sum > MAX_COPY_MIB)
            return MAX_COPY_MIB;
    }
    return sum;
}

/* 8 bits of risks, 9 of memory, 31 of bytes to copy. */
int64_t kvmig__candidate_score(const struct kvmig__candidate *candidate, const struct kvmig__domain *domain,
                               const struct kvmig__host *target)
{
    uint64_t risks = MAX_RISKS - count_risks(&candidate->findings);

    return (int64_t)(risks << 40 | roughly(memory_left(domain, target)) << 31 | (MAX_COPY_MIB - copy_mib(candidate)));
}

/* The enum's order is the order of preference: start now, start with risks, wait, never. */
static int compare(const void *a, const void *b)
{
    const struct kvmig__candidate *x = a, *y = b;

    if (x->verdict != y->verdict)
        return x->verdict < y->verdict ? -1 : 1;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return strcmp(x->host, y->host);
}

void kvmig__candidates_sort(struct kvmig__candidates *candidates)
{
    if (candidates->n > 1)
        qsort(candidates->v, candidates->n, sizeof(*candidates->v), compare);
}
