/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A migration in KubeVirt: takes over what the explanation of waits concludes from the objects (session/explain_kube.c), as state and
 * findings. Pure.
 */
#include "diagnose/diagnose.h"
#include "session/explain.h"

#include <stdlib.h>

static const struct {
    const char *code;
    enum kvmig__strength strength;
} states[] = {
    { "WAITING", KVMIG__KNOWN_WAITING },
    { "RUNNING", KVMIG__KNOWN_RUNNING },
    { "POSTCOPY_ACTIVE", KVMIG__KNOWN_PROVEN },
    { "POSTCOPY_FAILED", KVMIG__KNOWN_PROVEN },
    { "SUCCEEDED", KVMIG__KNOWN_ENDED },
    { "SUCCEEDED_UNREPORTED", KVMIG__KNOWN_PROVEN },
    { "FAILED", KVMIG__KNOWN_TOLD },
    { "CANCELLED", KVMIG__KNOWN_ENDED },
    { "CANCELLED_BY_USER", KVMIG__KNOWN_ENDED },
    { "CANCEL_INEFFECTIVE", KVMIG__KNOWN_ENDED },
    { "ABORTED_BY_COMPLETION_TIMEOUT", KVMIG__KNOWN_ENDED },
    { "ABORTED_BY_PROGRESS_TIMEOUT", KVMIG__KNOWN_ENDED },
    { "NOTHING_TO_MIGRATE", KVMIG__KNOWN_ENDED },
    { "VM_LOST", KVMIG__KNOWN_PROVEN },
    { "UNDECIDED", KVMIG__KNOWN_TOLD },
};

static void take_state(struct kvmig__case *c, const char *code, const char *why)
{
    for (size_t i = 0; code && i < KVMIG__N_ELEMENTS(states); i++)
        if (kvmig__str_eq(states[i].code, code))
            kvmig__case_state(c, states[i].strength, states[i].code, "%s", why ? why : "as its objects show");
}

static bool is_state(const char *code)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(states); i++)
        if (kvmig__str_eq(states[i].code, code))
            return true;
    return false;
}

static void take_wait(struct kvmig__case *c, const struct kvmig__wait *wait)
{
    struct kvmig__detail detail = { 0 };

    if (is_state(wait->code)) {
        take_state(c, wait->code, wait->condition);
        return;
    }
    if (wait->severity < KVMIG_SEVERITY_WARN)
        return;
    if (wait->evidence)
        kvmig__detail_str(&detail, "evidence", wait->evidence);
    if (wait->limit)
        kvmig__detail_str(&detail, "limit", wait->limit);
    kvmig__case_note(c, wait->code, wait->severity, kvmig__strdup(wait->object ? wait->object : c->vm_object), &detail,
                     wait->hint, "%s", wait->condition ? wait->condition : wait->code);
}

void kvmig__diagnose_kube(struct kvmig__case *c)
{
    struct kvmig_explanation *explanation;

    if (!c->kube || !c->vmi)
        return;
    explanation = kvmig__explanation_new();
    kvmig__explain_kube(explanation, c->kube, c->vmi, c->vmim, NULL, c->now_ms);
    for (size_t i = 0; i < explanation->waits.n; i++)
        take_wait(c, &explanation->waits.v[i]);
    kvmig__explanation_finish(explanation);
    take_state(c, explanation->verdict, explanation->summary);
    kvmig_explanation_unref(explanation);
}
