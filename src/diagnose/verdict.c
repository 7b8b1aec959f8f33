/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Weighs what was found: an outcome that both sides prove outranks any cause; then the cause, the most specific one; then the state or
 * outcome that is told; then, if no migration is under way or recorded, what is worth a warning. Pure.
 */
#include "diagnose/causes.h"
#include "diagnose/diagnose.h"

/* Usually the consequence of something that the other side knows. */
static bool is_consequence(const char *code)
{
    static const char *const codes[] = { "TLS_CHANNEL_ERROR", "STREAM_MISMATCH", "RETRY_USELESS",
                                         "TARGET_NETWORK_NOT_READY" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(codes); i++)
        if (kvmig__str_eq(code, codes[i]))
            return true;
    return false;
}

static const struct kvmig_finding *first_of(const struct kvmig_findings *list, int32_t severity, bool consequences)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].severity == severity && is_consequence(list->v[i].code) == consequences)
            return &list->v[i];
    return NULL;
}

/* What something waits for, or how something ended, is worth telling; the cause is what the table of causes explains. */
static const struct kvmig_finding *cause(const struct kvmig__case *c, bool consequences)
{
    for (size_t i = 0; i < c->findings.n; i++)
        if (c->findings.v[i].severity == KVMIG_SEVERITY_ERROR &&
            is_consequence(c->findings.v[i].code) == consequences && kvmig__cause_of(c->findings.v[i].code))
            return &c->findings.v[i];
    return NULL;
}

static const struct kvmig_finding *explanation_of(const struct kvmig__case *c)
{
    const struct kvmig_finding *finding = NULL;

    if (c->strength < KVMIG__KNOWN_PROVEN)
        finding = cause(c, false);
    if (!finding && c->strength < KVMIG__KNOWN_PROVEN)
        finding = cause(c, true);
    if (!finding && !c->state)
        finding = first_of(&c->findings, KVMIG_SEVERITY_ERROR, false);
    if (!finding && !c->state)
        finding = first_of(&c->findings, KVMIG_SEVERITY_WARN, false);
    return finding;
}

/* A state whose reason is known is told with it. */
static char *tell_state(const struct kvmig__case *c)
{
    const struct kvmig_finding *finding =
        c->strength < KVMIG__KNOWN_PROVEN ? first_of(&c->findings, KVMIG_SEVERITY_ERROR, false) : NULL;

    return finding ? kvmig__asprintf("%s: %s; %s: %s (%s)", c->vm_object, c->why, finding->object, finding->message,
                                     finding->code)
                   : kvmig__asprintf("%s: %s", c->vm_object, c->why);
}

void kvmig__diagnose_verdict(const struct kvmig__case *c, struct kvmig_diagnosis *out)
{
    const struct kvmig_finding *finding = explanation_of(c);

    if (finding) {
        out->verdict = kvmig__strdup(finding->code);
        out->summary = kvmig__asprintf("%s: %s", finding->object, finding->message);
    } else if (c->state) {
        out->verdict = kvmig__strdup(c->state);
        out->summary = tell_state(c);
    } else {
        out->verdict = kvmig__strdup("NO_FINDING");
        out->summary =
            kvmig__asprintf("%s: nothing is under way, and nothing is wrong in what was given", c->vm_object);
    }
}
