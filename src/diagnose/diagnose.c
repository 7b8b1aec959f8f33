/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One diagnosis: sets up the case, looks at each kind of evidence, and hands over what was found. Also the life of a diagnosis and its
 * accessors. Pure; a finished diagnosis is immutable and may be read by any thread.
 */
#include "diagnose/diagnose.h"
#include "diagnose/causes.h"

#include <stdlib.h>

static struct kvmig_diagnosis *conclude(struct kvmig__case *c)
{
    struct kvmig_diagnosis *diagnosis = kvmig__calloc(1, sizeof(*diagnosis));

    diagnosis->refs = 1;
    diagnosis->vm = kvmig__strdup(c->vm);
    diagnosis->target = kvmig__strdup(c->target);
    kvmig__diagnose_verdict(c, diagnosis);
    diagnosis->avoid = kvmig__cause_of(diagnosis->verdict) ? kvmig__cause_of(diagnosis->verdict)->avoid : "";
    diagnosis->moments = c->moments;
    c->moments = (struct kvmig__moments){ .n = 0 };
    kvmig__findings_sort(&c->findings);
    diagnosis->findings = c->findings;
    diagnosis->actions = c->actions;
    c->findings = c->actions = (struct kvmig_findings){ .n = 0 };
    return diagnosis;
}

static void look_at_all(struct kvmig__case *c)
{
    if (c->ask->told)
        kvmig__case_state(c, c->ask->told_strength, c->ask->told, "as the session knows");
    kvmig__diagnose_report(c);
    kvmig__diagnose_kube(c);
    kvmig__diagnose_pods(c);
    kvmig__diagnose_volumes(c);
    kvmig__diagnose_texts(c);
    kvmig__diagnose_events(c);
    kvmig__diagnose_series(c);
    kvmig__diagnose_jobs(c);
    kvmig__diagnose_sides(c);
    kvmig__diagnose_unproven(c);
    kvmig__diagnose_settle(c);
    kvmig__diagnose_refuted(c);
    kvmig__diagnose_ports(c);
    kvmig__diagnose_addresses(c);
    kvmig__diagnose_intent(c);
    kvmig__diagnose_moments(c);
}

int32_t kvmig__diagnose(const struct kvmig__view *view, const struct kvmig__ask *ask,
                        struct kvmig_diagnosis **out_diagnosis)
{
    struct kvmig__facts *none = view->facts ? NULL : kvmig__facts_new();
    struct kvmig__case c = { .view = view, .kube = view->kube, .facts = view->facts ? view->facts : none, .ask = ask };
    int32_t rc;

    c.now_ms = ask->plan.now_ms ? ask->plan.now_ms : view->kube ? view->kube->now_ms : 0;
    rc = kvmig__diagnose_subject(&c);
    if (rc == 0) {
        look_at_all(&c);
        *out_diagnosis = conclude(&c);
    }
    kvmig__case_clear(&c);
    kvmig__facts_free(none);
    return rc;
}

/* ---- the diagnosis ---- */

struct kvmig_diagnosis *kvmig_diagnosis_ref(const struct kvmig_diagnosis *diagnosis)
{
    struct kvmig_diagnosis *counted = (struct kvmig_diagnosis *)diagnosis;

    if (counted)
        __atomic_add_fetch(&counted->refs, 1, __ATOMIC_RELAXED);
    return counted;
}

void kvmig_diagnosis_unref(struct kvmig_diagnosis *diagnosis)
{
    if (!diagnosis || __atomic_sub_fetch(&diagnosis->refs, 1, __ATOMIC_ACQ_REL))
        return;
    free(diagnosis->verdict);
    free(diagnosis->summary);
    free(diagnosis->vm);
    free(diagnosis->target);
    kvmig__findings_clear(&diagnosis->findings);
    kvmig__findings_clear(&diagnosis->actions);
    kvmig__moments_clear(&diagnosis->moments);
    free(diagnosis);
}

const char *kvmig_diagnosis_verdict(const struct kvmig_diagnosis *diagnosis)
{
    return diagnosis->verdict;
}

const char *kvmig_diagnosis_summary(const struct kvmig_diagnosis *diagnosis)
{
    return diagnosis->summary;
}

const char *kvmig_diagnosis_vm(const struct kvmig_diagnosis *diagnosis)
{
    return diagnosis->vm;
}

const char *kvmig_diagnosis_target(const struct kvmig_diagnosis *diagnosis)
{
    return diagnosis->target;
}

const struct kvmig_findings *kvmig_diagnosis_findings(const struct kvmig_diagnosis *diagnosis)
{
    return &diagnosis->findings;
}

const struct kvmig_findings *kvmig_diagnosis_actions(const struct kvmig_diagnosis *diagnosis)
{
    return &diagnosis->actions;
}

const char *kvmig_diagnosis_avoid(const struct kvmig_diagnosis *diagnosis)
{
    return diagnosis->avoid;
}
