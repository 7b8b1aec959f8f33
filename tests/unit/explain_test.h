/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For tests of explanations: making one from a store, and asking it. Header only; what it gives belongs to the caller.
 */
#ifndef KVMIG_TEST_EXPLAIN_H
#define KVMIG_TEST_EXPLAIN_H

#include "follow_test.h"
#include "session/explain.h"

#include <string.h>

/* Of a VMI's migration, as the store has it; the caller's. */
static inline struct kvmig_explanation *explain(const struct kvmig__kube *kube, const char *vmi, const char *vmim,
                                                const struct kvmig__follow *follow, int64_t now_ms)
{
    struct kvmig_explanation *explanation = kvmig__explanation_new();

    kvmig__explain_kube(explanation, kube, KVMIG__KUBE_FIND(kube, VMI, "ns1", vmi),
                        vmim ? KVMIG__KUBE_FIND(kube, VMIM, "ns1", vmim) : NULL, follow, now_ms);
    kvmig__explanation_finish(explanation);
    return explanation;
}

static inline const struct kvmig_wait *find_wait(const struct kvmig_explanation *explanation, const char *code)
{
    for (size_t i = 0; i < kvmig_explanation_count(explanation); i++) {
        const struct kvmig_wait *wait = kvmig_explanation_wait(explanation, i);

        if (!strcmp(wait->code, code))
            return wait;
    }
    return NULL;
}

static inline const struct kvmig_wait *the_wait(const struct kvmig_explanation *explanation, const char *code)
{
    const struct kvmig_wait *wait = find_wait(explanation, code);

    if (!wait)
        fail_msg("no %s in: %s", code, kvmig_explanation_summary(explanation));
    return wait;
}

/* What blocks first. */
static inline const struct kvmig_wait *first_is(const struct kvmig_explanation *explanation, const char *code,
                                                int32_t severity)
{
    const struct kvmig_wait *wait = kvmig_explanation_wait(explanation, 0);

    assert_non_null(wait);
    if (strcmp(wait->code, code) != 0 || wait->severity != severity)
        fail_msg("%s (%d) is first, not %s (%d): %s", wait->code, wait->severity, code, severity,
                 kvmig_explanation_summary(explanation));
    return wait;
}

static inline void says(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("'%s' does not say '%s'", text ? text : "(nothing)", part);
}

static inline int32_t worst(const struct kvmig_explanation *explanation)
{
    int32_t severity = 0;

    for (size_t i = 0; i < kvmig_explanation_count(explanation); i++) {
        if (kvmig_explanation_wait(explanation, i)->severity > severity)
            severity = kvmig_explanation_wait(explanation, i)->severity;
    }
    return severity;
}

#endif
