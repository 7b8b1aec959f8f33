/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For a plan that is blocked: the smallest set of changes after which nothing known stands against a migration, over all
 * candidates. What kind of change takes a blocker away is said by the table of codes. Reads a finished plan only; worked out by
 * whoever asks first. Pure; any thread; the plan owns the answer.
 *
 * It does not invent changes: each is a blocker of the plan with its advice. What a host that does not answer would say is not
 * known, so that it counts as one change more.
 */
#include "base/codes.h"
#include "plan/checks.h"

#include <stdlib.h>
#include <string.h>

/* What stands against one candidate; findings are borrowed from the plan. */
struct obstacles {
    const struct kvmig__candidate *candidate; /* NULL: there are no candidates */
    const struct kvmig_finding **v;
    size_t n;
    bool other_target; /* the caller has asked for another one */
    uint64_t nevers, changes, dearest, sum; /* what it costs, compared in this order */
};

int32_t kvmig__finding_mend(const struct kvmig_finding *finding)
{
    enum kvmig__mend mend = kvmig__code_mend(finding->code);

    return mend == KVMIG__MEND_NONE ? KVMIG_MEND_NEVER : (int32_t)mend;
}

/* ---- collecting ---- */

static bool is_same(const struct kvmig_finding *a, const struct kvmig_finding *b)
{
    return kvmig__str_eq(a->code, b->code) && kvmig__str_eq(a->object, b->object);
}

static void add_blockers(struct obstacles *to, const struct kvmig_findings *findings, bool common)
{
    for (size_t i = 0; i < findings->n; i++) {
        const struct kvmig_finding *finding = &findings->v[i];
        bool there = false;

        if (finding->severity != KVMIG_SEVERITY_BLOCKER || (common && finding->host) ||
            (to->other_target && kvmig__str_eq(finding->code, "TARGET_IS_SOURCE")) ||
            (to->candidate && kvmig__str_eq(finding->code, "NO_FEASIBLE_TARGET")))
            continue;
        for (size_t k = 0; k < to->n && !there; k++)
            there = is_same(to->v[k], finding);
        if (!there)
            *KVMIG__PUSH(to) = finding;
    }
}

/* The claim that a finding is about, with its quotes, up to the end of the detail; NULL if none. */
static const char *claim_of(const struct kvmig_finding *finding, size_t *out_length)
{
    static const char key[] = "\"claim\":";
    const char *claim = finding->detail ? strstr(finding->detail, key) : NULL;

    if (!claim)
        return NULL;
    claim += strlen(key);
    *out_length = *claim == '"' ? 1 + strcspn(claim + 1, "\"") : 0;
    return *out_length > 1 ? claim : NULL;
}

/* Other storage for a claim takes away all that stands against its present one. */
static bool is_mended_with_others(const struct obstacles *o, size_t index)
{
    size_t length, other_length;
    const char *claim = claim_of(o->v[index], &length);

    if (kvmig__finding_mend(o->v[index]) != KVMIG_MEND_STORAGE || !claim)
        return false;
    for (size_t i = 0; i < index; i++) {
        const char *other = claim_of(o->v[i], &other_length);

        if (kvmig__finding_mend(o->v[i]) == KVMIG_MEND_STORAGE && other && other_length == length &&
            !memcmp(claim, other, length))
            return true;
    }
    return false;
}

/* One restart carries out all changes that need one. */
static void count(struct obstacles *o)
{
    bool restarts = false;

    o->changes = o->other_target;
    for (size_t i = 0; i < o->n; i++) {
        const uint64_t mend = (uint64_t)kvmig__finding_mend(o->v[i]);

        o->nevers += mend == KVMIG_MEND_NEVER;
        o->changes += !is_mended_with_others(o, i) && (mend != KVMIG_MEND_RESTART || !restarts);
        o->changes += kvmig__str_eq(o->v[i]->code, "TARGET_UNREACHABLE");
        restarts = restarts || mend == KVMIG_MEND_RESTART;
        o->dearest = mend > o->dearest ? mend : o->dearest;
        o->sum += mend;
    }
}

static struct obstacles collect(const struct kvmig_plan *plan, const struct kvmig__candidate *candidate)
{
    struct obstacles o = { .candidate = candidate };

    o.other_target = candidate && plan->request.target && !kvmig__str_eq(plan->target, candidate->host);
    add_blockers(&o, &plan->findings, true);
    if (candidate)
        add_blockers(&o, &candidate->findings, false);
    count(&o);
    return o;
}

static bool is_less(const struct obstacles *a, const struct obstacles *b)
{
    if (a->nevers != b->nevers)
        return a->nevers < b->nevers;
    if (a->changes != b->changes)
        return a->changes < b->changes;
    if (a->dearest != b->dearest)
        return a->dearest < b->dearest;
    return a->sum < b->sum; /* equals: candidates come best first */
}

/* ---- the answer ---- */

static void write_out(const struct obstacles *o, struct kvmig__remedies *out)
{
    out->target = o->candidate ? kvmig__strdup(o->candidate->host) : NULL;
    out->possible = !o->nevers;
    if (o->other_target) {
        char *object = kvmig__asprintf("node/%s", o->candidate->host);

        kvmig__findings_add(&out->changes, "CHOOSE_OTHER_NODE", KVMIG_SEVERITY_BLOCKER, object, o->candidate->host,
                            NULL, "Ask for this target, or for none.",
                            "Less stands against %s than against the target asked for.", o->candidate->host);
        free(object);
    }
    for (int32_t mend = KVMIG_MEND_REQUEST; mend <= KVMIG_MEND_NEVER; mend++) {
        for (size_t i = 0; i < o->n; i++) {
            if (kvmig__finding_mend(o->v[i]) == mend)
                kvmig__finding_copy(KVMIG__PUSH(&out->changes), o->v[i]);
        }
    }
}

static struct kvmig__remedies *make(const struct kvmig_plan *plan)
{
    const struct kvmig__candidates *candidates = kvmig__plan_candidates(plan);
    struct kvmig__remedies *out = kvmig__calloc(1, sizeof(*out));
    struct obstacles best;

    out->possible = true;
    if (plan->verdict != KVMIG_VERDICT_BLOCKED)
        return out;
    best = collect(plan, candidates->n ? &candidates->v[0] : NULL);
    for (size_t i = 1; i < candidates->n; i++) {
        struct obstacles other = collect(plan, &candidates->v[i]);

        if (is_less(&other, &best)) {
            free(best.v);
            best = other;
        } else {
            free(other.v);
        }
    }
    write_out(&best, out);
    free(best.v);
    return out;
}

void kvmig__remedies_free(struct kvmig__remedies *remedies)
{
    if (!remedies)
        return;
    free(remedies->target);
    kvmig__findings_clear(&remedies->changes);
    free(remedies);
}

const struct kvmig__remedies *kvmig__plan_remedies(const struct kvmig_plan *plan)
{
    struct kvmig_plan *owner =
        (struct kvmig_plan *)plan; /* what is worked out on demand is no part of what is immutable */
    struct kvmig__remedies *there = __atomic_load_n(&owner->remedies, __ATOMIC_ACQUIRE), *mine;

    if (there)
        return there;
    mine = make(plan);
    if (__atomic_compare_exchange_n(&owner->remedies, &there, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return mine;
    kvmig__remedies_free(mine);
    return there;
}

/* ---- public ---- */

const struct kvmig_findings *kvmig_plan_remedies(const struct kvmig_plan *plan)
{
    return plan ? &kvmig__plan_remedies(plan)->changes : NULL;
}

const char *kvmig_plan_remedy_target(const struct kvmig_plan *plan)
{
    return plan ? kvmig__plan_remedies(plan)->target : NULL;
}

int32_t kvmig_finding_mend(const struct kvmig_finding *finding)
{
    return finding && finding->severity == KVMIG_SEVERITY_BLOCKER ? kvmig__finding_mend(finding) : 0;
}

const char *kvmig_mend_name(int32_t mend)
{
    static const char *const names[] = {
        [KVMIG_MEND_REQUEST] = "request", [KVMIG_MEND_WAIT] = "wait",       [KVMIG_MEND_VM] = "vm",
        [KVMIG_MEND_TARGET] = "target",   [KVMIG_MEND_CLUSTER] = "cluster", [KVMIG_MEND_ROOM] = "room",
        [KVMIG_MEND_STORAGE] = "storage", [KVMIG_MEND_RESTART] = "restart", [KVMIG_MEND_UPGRADE] = "upgrade",
        [KVMIG_MEND_NEVER] = "never",
    };

    return mend > 0 && mend <= KVMIG_MEND_NEVER ? names[mend] : NULL;
}
