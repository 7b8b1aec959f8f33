/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blockers are independent: each failing condition of a world makes exactly its finding, whatever else fails, and taking it
 * away takes exactly that finding away. Subsets of conditions are drawn with fixed seeds; a failure is named by its subset. A
 * test lists conditions, each of which changes what no other one does, and says how a subset of them is planned.
 */
#ifndef KVMIG_TESTS_CONDITIONS_TEST_H
#define KVMIG_TESTS_CONDITIONS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan_internal.h"

#include <string.h>

struct conditions {
    size_t n; /* at most 64 */
    const char *(*code)(size_t index); /* no two have the same */
    /* A world with the conditions of the subset, planned; stays valid until the next call. */
    const struct kvmig_plan *(*plan)(uint64_t subset);
};

static inline uint64_t conditions_bit(const struct conditions *all, const char *code)
{
    for (size_t i = 0; i < all->n; i++) {
        if (!strcmp(all->code(i), code))
            return UINT64_C(1) << i;
    }
    return 0;
}

/* Which conditions a list of findings tells; every blocker must be that of one, and be told once. */
static inline uint64_t conditions_told(const struct conditions *all, const struct kvmig_findings *findings,
                                       uint64_t subset)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < findings->n; i++) {
        const struct kvmig_finding *finding = &findings->v[i];
        uint64_t bit = conditions_bit(all, finding->code);

        if (finding->severity != KVMIG_SEVERITY_BLOCKER)
            continue;
        if (!bit || bits & bit)
            fail_msg("subset %#llx: %s %s", (unsigned long long)subset, finding->code, finding->message);
        bits |= bit;
    }
    return bits;
}

static inline void conditions_assert_told(const struct conditions *all, uint64_t subset)
{
    const struct kvmig_plan *plan = all->plan(subset);
    uint64_t bits = conditions_told(all, &plan->findings, subset);

    assert_int_equal(plan->verdict == KVMIG_VERDICT_BLOCKED, subset != 0);
    for (size_t i = 0; i < all->n; i++) {
        if ((subset ^ bits) >> i & 1)
            fail_msg("subset %#llx: %s is %s", (unsigned long long)subset, all->code(i),
                     bits >> i & 1 ? "told" : "not told");
    }
}

/* Deterministic; small and large subsets alike. */
static inline uint64_t conditions_draw(const struct conditions *all, uint64_t *state)
{
    uint64_t bits = 0, density;

    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    density = 1 + (*state >> 40) % 7;
    for (size_t i = 0; i < all->n; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if ((*state >> 40) % 8 < density)
            bits |= UINT64_C(1) << i;
    }
    return bits;
}

/* None, each alone, each two, and n subsets, of some with each condition taken away. */
static inline void conditions_check(const struct conditions *all, size_t n)
{
    uint64_t random = 1;

    conditions_assert_told(all, 0);
    for (size_t i = 0; i < all->n; i++) {
        for (size_t k = 0; k <= i; k++)
            conditions_assert_told(all, UINT64_C(1) << i | UINT64_C(1) << k);
    }
    for (size_t drawn = 0; drawn < n; drawn++) {
        uint64_t subset = conditions_draw(all, &random);

        conditions_assert_told(all, subset);
        for (size_t i = 0; drawn % 16 == 0 && i < all->n; i++) {
            if (subset >> i & 1)
                conditions_assert_told(all, subset & ~(UINT64_C(1) << i));
        }
    }
}

#endif
