/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Weighs what was found: an outcome that both sides prove outranks any cause; then the cause, the most specific one; then the state or
 * outcome that is told; then, if no migration is under way or recorded, what is worth a warning. Pure.
 */
#include "diagnose/causes.h"
#include "diagnose/diagnose.h"

/* The lower, the nearer to the root: what the other side knows better, and what only goes with another cause, comes last. */
static int rank_of(const char *code)
{
    static const struct {
        const char *code;
        int rank;
    } ranks[] = { { "TLS_HOSTNAME_MISMATCH", 0 },
                  { "TLS_CREDENTIALS_MISSING", 0 },
                  { "DISK_COPY_FAILED", 2 },
                  { "TARGET_UNREACHABLE", 2 },
                  { "DIRTY_RATE_ABOVE_BANDWIDTH", 2 },
                  { "WAITING_NETWORK_EVENT", 2 },
                  { "TARGET_NETWORK_NOT_READY", 2 },
                  { "TLS_CHANNEL_ERROR", 3 },
                  { "STREAM_MISMATCH", 4 },
                  { "RETRY_USELESS", 5 } };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(ranks); i++)
        if (kvmig__str_eq(code, ranks[i].code))
            return ranks[i].rank;
    return 1;
}

static bool is_consequence(const char *code)
{
    return rank_of(code) >= 3;
}

/* A copy of a disk ends with an I/O error when the QEMU at its other end has died. */
static bool goes_with_another(const struct kvmig_findings *list, const char *code)
{
    return kvmig__str_eq(code, "DISK_COPY_FAILED") && kvmig__findings_has(list, "QEMU_DIED");
}

/* causes: only what the table of causes explains. */
static const struct kvmig_finding *first_of(const struct kvmig_findings *list, int32_t severity, bool causes)
{
    const struct kvmig_finding *best = NULL;

    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].severity == severity && (!causes || kvmig__cause_of(list->v[i].code)) &&
            !goes_with_another(list, list->v[i].code) && (!best || rank_of(list->v[i].code) < rank_of(best->code)))
            best = &list->v[i];
    return best;
}

/* A cancel breaks connections and streams: what is only such a consequence does not explain it. */
static bool is_explained(const struct kvmig__case *c)
{
    static const char *const states[] = { "CANCELLED", "CANCELLED_BY_USER", "ABORTED_BY_COMPLETION_TIMEOUT",
                                          "ABORTED_BY_PROGRESS_TIMEOUT" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(states); i++)
        if (kvmig__str_eq(c->state, states[i]))
            return true;
    return false;
}

/* What something waits for, or how something ended, is worth telling; the cause is what the table of causes explains. */
static const struct kvmig_finding *cause(const struct kvmig__case *c)
{
    const struct kvmig_finding *finding = first_of(&c->findings, KVMIG_SEVERITY_ERROR, true);

    if (c->strength >= KVMIG__KNOWN_PROVEN) /* by both sides; only what says more than that it is undecided is better */
        return kvmig__str_eq(c->state, "UNDECIDED") && kvmig__findings_has(&c->findings, "STUCK_FINISH") ? finding
                                                                                                         : NULL;
    return finding && is_consequence(finding->code) && is_explained(c) ? NULL : finding;
}

static const struct kvmig_finding *explanation_of(const struct kvmig__case *c)
{
    const struct kvmig_finding *finding = cause(c);

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
