/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A case while it is looked at: findings, actions and the strongest state so far. Pure; any thread; a case owns what it is given.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

#define MOST_HOSTS 256 /* that were asked for one VM: nobody asks more */
#define MAX_OF_CODE                                                                                                    \
    256 /* objects that one code is told of: of more nobody reads, and each costs a look at all others */

/* Or others of that code are, so many that one more says nothing new. */
static bool is_there(const struct kvmig_findings *list, const char *code, const char *object)
{
    size_t same = 0;

    for (size_t i = 0; i < list->n; i++) {
        if (!kvmig__str_eq(list->v[i].code, code))
            continue;
        if (++same >= MAX_OF_CODE || kvmig__str_eq(list->v[i].object, object))
            return true;
    }
    return false;
}

static void add(struct kvmig_findings *list, const char *code, int32_t severity, const char *object,
                struct kvmig__detail *detail, const char *hint, const char *message)
{
    char *text = detail && detail->n ? kvmig__detail_take(detail) : NULL;

    if (!is_there(list, code, object))
        kvmig__findings_add(list, code, severity, object, NULL, text, hint, "%s", message);
    if (detail && !text)
        free(detail->text);
    free(text);
}

void kvmig__case_note(struct kvmig__case *c, const char *code, int32_t severity, char *object,
                      struct kvmig__detail *detail, const char *hint, const char *message_fmt, ...)
{
    va_list args;
    char *message;

    va_start(args, message_fmt);
    message = kvmig__vasprintf(message_fmt, args);
    va_end(args);
    add(&c->findings, code, severity, object, detail, hint, message);
    free(message);
    free(object);
}

void kvmig__case_merge(struct kvmig__case *c, struct kvmig_findings *others)
{
    for (size_t i = 0; i < others->n; i++) {
        if (is_there(&c->findings, others->v[i].code, others->v[i].object))
            kvmig__finding_clear(&others->v[i]);
        else
            *KVMIG__PUSH(&c->findings) = others->v[i];
    }
    free(others->v);
    *others = (struct kvmig_findings){ .n = 0 };
}

void kvmig__case_act(struct kvmig__case *c, const char *code, char *object, struct kvmig__detail *detail,
                     const char *message_fmt, ...)
{
    va_list args;
    char *message;

    va_start(args, message_fmt);
    message = kvmig__vasprintf(message_fmt, args);
    va_end(args);
    add(&c->actions, code, KVMIG_SEVERITY_INFO, object, detail, NULL, message);
    free(message);
    free(object);
}

void kvmig__case_state(struct kvmig__case *c, enum kvmig__strength strength, const char *code, const char *why_fmt, ...)
{
    va_list args;

    if (strength <= c->strength)
        return;
    c->strength = strength;
    c->state = code;
    free(c->why);
    va_start(args, why_fmt);
    c->why = kvmig__vasprintf(why_fmt, args);
    va_end(args);
}

void kvmig__case_override(struct kvmig__case *c, const char *code, const char *why)
{
    c->strength = KVMIG__KNOWN_NONE;
    kvmig__case_state(c, KVMIG__KNOWN_PROVEN, code, "%s", why);
}

void kvmig__case_drop(struct kvmig_findings *list, const char *code, const char *object)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++) {
        if (kvmig__str_eq(list->v[i].code, code) && (!object || kvmig__str_eq(list->v[i].object, object)))
            kvmig__finding_clear(&list->v[i]);
        else
            list->v[kept++] = list->v[i];
    }
    list->n = kept;
}

int32_t kvmig__case_job(const struct kvmig__case *c)
{
    const char *job = c->ask->job;

    for (size_t i = c->facts->jobs.n; i-- > 0 && !job;)
        if (!c->facts->jobs.v[i].incoming && !c->facts->jobs.v[i].other)
            job = c->facts->jobs.v[i].type;
    if (!job || kvmig__str_eq(job, "unknown"))
        return 0;
    return kvmig__str_eq(job, "Bounded") || kvmig__str_eq(job, "Unbounded") ? 1 : -1;
}

/* Of several hosts that were told of on one side, the one that decides. One that could not be asked may run the VM, whatever another one
 * holds; only a guest that runs needs no answer from there. */
static int weight_of(const struct kvmig__fact_domain_state *seen)
{
    static const struct {
        const char *begins;
        int weight;
    } weights[] = { { "running", 5 }, { "idle", 5 },        { "blocked", 5 }, { "in shutdown", 5 },
                    { "pmsus", 5 },   { "unreachable", 4 }, { "paused", 3 },  { "shut", 2 },
                    { "crashed", 2 }, { "absent", 1 },      { "", 4 } };
    const char *state = seen->state ? seen->state : "absent";

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(weights); i++)
        if (kvmig__str_starts(state, weights[i].begins))
            return weights[i].weight;
    return 0;
}

/* Hosts that were met, from the last look to the first. */
struct looks {
    const char *nodes[MOST_HOSTS];
    size_t n;
    bool unnamed;
};

/* A later look at the same host replaces an earlier one; of a host without a name nobody knows whether it is one of the others. */
static bool is_new(struct looks *looks, const char *node)
{
    const bool new_unnamed = !node && !looks->unnamed;

    if (!node) {
        looks->unnamed = true;
        return new_unnamed;
    }
    for (size_t i = 0; i < looks->n; i++)
        if (strcmp(looks->nodes[i], node) == 0)
            return false;
    if (looks->n == MOST_HOSTS)
        return false;
    looks->nodes[looks->n++] = node;
    return true;
}

const struct kvmig__fact_domain_state *kvmig__case_seen(const struct kvmig__case *c, const char *side)
{
    const struct kvmig__fact_domain_state *best = NULL;
    struct looks looks = { .n = 0 };

    for (size_t i = c->facts->states.n; i-- > 0;) {
        const struct kvmig__fact_domain_state *seen = &c->facts->states.v[i];

        if (kvmig__str_eq(seen->side, side) && kvmig__case_is_of(c, seen->domain) && is_new(&looks, seen->node) &&
            (!best || weight_of(seen) > weight_of(best)))
            best = seen;
    }
    return best;
}

/* The host that was seen to run it, which may be another one than was asked for. */
static const char *node_of(const struct kvmig__case *c, const char *side, const char *asked)
{
    const struct kvmig__fact_domain_state *seen = kvmig__case_seen(c, side);

    return seen && seen->node && kvmig__str_starts(seen->state ? seen->state : "", "running") ? seen->node : asked;
}

bool kvmig__case_is_absent(const struct kvmig__case *c, const char *side)
{
    const char *state = kvmig__str_eq(side, "source") ? c->ask->source_state : c->ask->target_state;
    const struct kvmig__fact_domain_state *seen = kvmig__case_seen(c, side);

    if (!state && seen)
        state = seen->state;
    return state && (kvmig__str_starts(state, "absent") || kvmig__str_starts(state, "shut off"));
}

const char *kvmig__case_place(const struct kvmig__case *c)
{
    static const char *const nowhere[] = { "UNDECIDED", "SPLIT_BRAIN", "VM_LOST" },
                             *const there[] = { "SUCCEEDED", "SUCCEEDED_UNREPORTED" },
                             *const here[] = { "RUNNING", "CONVERGING", "FAILED", "FAILED_SOURCE_PAUSED", "CANCELLED" };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(nowhere); i++)
        if (kvmig__str_eq(c->state, nowhere[i]))
            return NULL;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(there); i++)
        if (kvmig__str_eq(c->state, there[i]) && c->target && !c->located &&
            (c->strength >= KVMIG__KNOWN_PROVEN || !c->vmi))
            return node_of(c, "target", c->target);
    if (c->vmi)
        return c->vmi->node;
    if (c->located)
        return node_of(c, "source", c->source);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(here); i++)
        if (kvmig__str_eq(c->state, here[i]) && (c->strength >= KVMIG__KNOWN_PROVEN || kvmig__case_job(c) > 0))
            return c->source; /* one line of a log is no proof */
    return NULL;
}

void kvmig__case_clear(struct kvmig__case *c)
{
    for (size_t i = 0; i < c->said.n; i++) {
        free(c->said.v[i].source);
        free(c->said.v[i].object);
    }
    free(c->said.v);
    for (size_t i = 0; i < c->attempts.n; i++)
        kvmig__attempts_clear(&c->attempts.v[i]);
    free(c->attempts.v);
    kvmig__findings_clear(&c->claims);
    kvmig__findings_clear(&c->findings);
    kvmig__findings_clear(&c->actions);
    kvmig__moments_clear(&c->moments);
    free(c->vm);
    free(c->vm_object);
    free(c->why);
    kvmig__follow_clear(&c->follow);
    *c = (struct kvmig__case){ .view = NULL };
}
