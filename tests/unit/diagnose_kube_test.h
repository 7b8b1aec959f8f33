/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For tests of diagnoses of Kubernetes objects and OVN's rows: asking about a store, and looking at the answer. Header only; what it gives
 * belongs to the caller.
 */
#ifndef KVMIG_TEST_DIAGNOSE_KUBE_H
#define KVMIG_TEST_DIAGNOSE_KUBE_H

#include "diagnose/diagnose.h"
#include "follow_test.h"

#include <string.h>

/* facts may be NULL. */
static inline struct kvmig_diagnosis *diagnose(const struct kvmig__kube *kube, const struct kvmig__facts *facts,
                                               const char *vm, const char *migration, int32_t intent, int64_t now_ms)
{
    const struct kvmig__view view = { .kube = kube, .facts = facts };
    struct kvmig_plan_opts plan = KVMIG_PLAN_OPTS_INIT;
    struct kvmig_diagnose_opts opts = KVMIG_DIAGNOSE_OPTS_INIT;
    struct kvmig_diagnosis *diagnosis = NULL;
    struct kvmig__ask ask;

    plan.vm = vm;
    opts.plan = &plan;
    opts.migration = migration;
    opts.intent = intent;
    opts.node = intent == KVMIG_INTENT_DRAIN ? "node-a" : NULL;
    assert_int_equal(kvmig__ask_from_opts(&ask, &opts), 0);
    ask.plan.now_ms = now_ms;
    assert_int_equal(kvmig__diagnose(&view, &ask, &diagnosis), 0);
    kvmig__ask_clear(&ask);
    return diagnosis;
}

static inline const struct kvmig_finding *look_up(const struct kvmig_findings *list, const char *code)
{
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->v[i].code, code))
            return &list->v[i];
    return NULL;
}

static inline void verdict_is(const struct kvmig_diagnosis *diagnosis, const char *verdict)
{
    if (strcmp(diagnosis->verdict, verdict) != 0)
        fail_msg("verdict %s, not %s: %s", diagnosis->verdict, verdict, diagnosis->summary);
}

#endif
