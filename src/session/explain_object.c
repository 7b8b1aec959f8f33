/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The explanation as a value: building it link by link, putting it in order, handing it out. Knows nothing of what it says
 * (explain_kube*.c, the drivers). Building is for one thread; once finished it is immutable, and only the count of its owners
 * changes, atomically. It owns all that its accessors return.
 */
#include "session/explain.h"

#include <stdlib.h>
#include <string.h>

struct kvmig_explanation *kvmig__explanation_new(void)
{
    struct kvmig_explanation *explanation = kvmig__calloc(1, sizeof(*explanation));

    explanation->refs = 1;
    return explanation;
}

struct kvmig__wait *kvmig__explanation_add(struct kvmig_explanation *explanation, const char *code, int32_t severity,
                                           int32_t depth)
{
    struct kvmig__wait *wait = KVMIG__PUSH(&explanation->waits);

    wait->code = kvmig__strdup(code);
    wait->severity = severity;
    wait->depth = depth;
    if (kvmig__findings_hook)
        kvmig__findings_hook(code, severity);
    return wait;
}

static void clear_wait(struct kvmig__wait *wait)
{
    free(wait->code);
    free(wait->object);
    free(wait->waits_for);
    free(wait->condition);
    free(wait->evidence);
    free(wait->limit);
    free(wait->hint);
    free(wait->detail.text);
}

/* ---- finishing ---- */

/* Whether a blocks before b: worse, then deeper, then longer; what is not dated comes last. */
static bool goes_first(const struct kvmig__wait *a, const struct kvmig__wait *b)
{
    const int64_t since_a = a->since_ms ? a->since_ms : INT64_MAX, since_b = b->since_ms ? b->since_ms : INT64_MAX;

    if (a->severity != b->severity)
        return a->severity > b->severity;
    return a->depth != b->depth ? a->depth > b->depth : since_a < since_b;
}

/* By insertion: the lists are short, and equals keep the order in which they were found. */
static void sort(struct kvmig_explanation *explanation)
{
    struct kvmig__wait *v = explanation->waits.v;

    for (size_t i = 1; i < explanation->waits.n; i++) {
        const struct kvmig__wait wait = v[i];
        size_t at = i;

        for (; at > 0 && goes_first(&wait, &v[at - 1]); at--)
            v[at] = v[at - 1];
        v[at] = wait;
    }
}

/* The link that the chain starts with: the first one that was added at the lowest depth. */
static const struct kvmig__wait *head_of(const struct kvmig_explanation *explanation)
{
    const struct kvmig__wait *head = NULL;

    for (size_t i = 0; i < explanation->waits.n; i++) {
        if (!head || explanation->waits.v[i].depth < head->depth)
            head = &explanation->waits.v[i];
    }
    return head;
}

static const char *text_or(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

/* first: the first blocker; NULL if that is the head itself. */
static char *compose_summary(const struct kvmig__wait *head, const struct kvmig__wait *first)
{
    const char *object = text_or(head->object, "the migration"), *state = text_or(head->condition, head->code);

    if (!first)
        return kvmig__asprintf("%s: %s", object, state);
    return kvmig__asprintf("%s: %s; %s: %s (%s)", object, state, text_or(first->object, "first"),
                           text_or(first->condition, first->code), first->code);
}

static void publish(struct kvmig_explanation *explanation)
{
    explanation->public_waits = kvmig__calloc(explanation->waits.n + 1, sizeof(*explanation->public_waits));
    for (size_t i = 0; i < explanation->waits.n; i++) {
        const struct kvmig__wait *wait = &explanation->waits.v[i];

        explanation->public_waits[i] = (struct kvmig_wait){
            .size = sizeof(struct kvmig_wait),
            .code = wait->code,
            .object = wait->object,
            .waits_for = wait->waits_for,
            .condition = wait->condition,
            .evidence = wait->evidence,
            .limit = wait->limit,
            .hint = wait->hint,
            .since_ms = wait->since_ms,
            .ends_ms = wait->ends_ms,
            .severity = wait->severity,
            .depth = wait->depth,
        };
    }
}

static void finish_empty(struct kvmig_explanation *explanation)
{
    publish(explanation);
    if (!explanation->summary)
        explanation->summary = kvmig__strdup("nothing is waited for");
    if (!explanation->verdict)
        explanation->verdict = kvmig__strdup("NO_FINDING");
}

void kvmig__explanation_finish(struct kvmig_explanation *explanation)
{
    struct kvmig__wait head, first;
    bool same;

    if (!explanation->waits.n) {
        finish_empty(explanation);
        return;
    }
    head = *head_of(explanation); /* a copy: sorting moves the link, its strings stay */
    sort(explanation);
    publish(explanation);
    first = explanation->waits.v[0];
    same = first.code == head.code; /* each link owns its code */
    if (!explanation->summary)
        explanation->summary = compose_summary(&head, same ? NULL : &first);
    if (!explanation->verdict)
        explanation->verdict = kvmig__strdup(first.severity >= KVMIG_SEVERITY_ERROR ? first.code : head.code);
}

/* ---- public ---- */

struct kvmig_explanation *kvmig_explanation_ref(const struct kvmig_explanation *explanation)
{
    struct kvmig_explanation *owned = (struct kvmig_explanation *)explanation;

    if (owned)
        __atomic_add_fetch(&owned->refs, 1, __ATOMIC_RELAXED);
    return owned;
}

void kvmig_explanation_unref(struct kvmig_explanation *explanation)
{
    if (!explanation || __atomic_sub_fetch(&explanation->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    for (size_t i = 0; i < explanation->waits.n; i++)
        clear_wait(&explanation->waits.v[i]);
    free(explanation->waits.v);
    free(explanation->public_waits);
    free(explanation->summary);
    free(explanation->verdict);
    free(explanation);
}

const char *kvmig_explanation_summary(const struct kvmig_explanation *explanation)
{
    return explanation && explanation->summary ? explanation->summary : "";
}

const char *kvmig_explanation_verdict(const struct kvmig_explanation *explanation)
{
    return explanation && explanation->verdict ? explanation->verdict : "NO_FINDING";
}

size_t kvmig_explanation_count(const struct kvmig_explanation *explanation)
{
    return explanation && explanation->public_waits ? explanation->waits.n : 0;
}

const struct kvmig_wait *kvmig_explanation_wait(const struct kvmig_explanation *explanation, size_t index)
{
    return index < kvmig_explanation_count(explanation) ? &explanation->public_waits[index] : NULL;
}
