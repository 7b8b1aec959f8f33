/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why no node takes the target pod: the scheduler's message split into counts, and per node the labels that it lacks, which neither
 * scheduler nor KubeVirt tells. Pure; the caller's thread.
 */
#include "session/explain_kube.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define UNSCHEDULABLE_S 300
#define UNSCHEDULABLE_TIMER "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"
#define MAX_NODES_TOLD 8
#define MAX_LABELS_TOLD 8 /* of each node */

/* ---- the scheduler's message ---- */

/* The end of the sentence of reasons: the rest ("preemption: ...") counts the same nodes again. Dots within names do not end it. */
static const char *reasons_end(const char *text)
{
    int braces = 0;

    for (; *text; text++) {
        braces += (*text == '{') - (*text == '}');
        if (braces <= 0 && *text == '.' && (!text[1] || text[1] == ' '))
            return text;
    }
    return text;
}

/* The end of one reason: a comma, but none inside of a taint's braces. */
static const char *reason_end(const char *text, const char *end)
{
    int braces = 0;

    for (; text < end; text++) {
        braces += (*text == '{') - (*text == '}');
        if (braces <= 0 && *text == ',')
            return text;
    }
    return end;
}

static void add_reason(struct kvmig__pairs *out, const char *reason, size_t length, uint64_t count)
{
    char *key = kvmig__strndup(reason, length), *value;
    const char *before = kvmig__pairs_get(out, key);

    count += before ? strtoull(before, NULL, 10) : 0;
    value = kvmig__asprintf("%" PRIu64, count);
    kvmig__pairs_set(out, key, value);
    free(key);
    free(value);
}

size_t kvmig__scheduler_message(const char *message, uint32_t *out_total, struct kvmig__pairs *out)
{
    const char *colon, *end;
    char *after;
    uint64_t total;

    *out_total = 0;
    *out = (struct kvmig__pairs){ 0 };
    if (!message || strncmp(message, "0/", 2) != 0)
        return 0;
    total = strtoull(message + 2, &after, 10);
    colon = strstr(after, ": ");
    if (!colon || total > UINT32_MAX)
        return 0;
    *out_total = (uint32_t)total;
    end = reasons_end(colon + 2);
    for (const char *p = colon + 2; p < end;) {
        const char *stop = reason_end(p, end);
        const char *reason = p;
        uint64_t count = total; /* a reason without a number concerns all */

        if (isdigit((unsigned char)*p)) {
            count = strtoull(p, &after, 10);
            reason = after;
        }
        while (reason < stop && *reason == ' ')
            reason++;
        if (reason < stop)
            add_reason(out, reason, (size_t)(stop - reason), count);
        for (p = stop < end ? stop + 1 : end; p < end && *p == ' ';)
            p++;
    }
    return out->n;
}

void kvmig__scheduler_detail(const char *message, struct kvmig__detail *out)
{
    struct kvmig__pairs reasons;
    uint32_t total;

    if (kvmig__scheduler_message(message, &total, &reasons)) {
        kvmig__detail_uint(out, "nodes", total);
        for (size_t i = 0; i < reasons.n; i++)
            kvmig__detail_uint(out, reasons.v[i].key, strtoull(reasons.v[i].value, NULL, 10));
    }
    kvmig__pairs_clear(&reasons);
}

/* ---- labels that are missing ---- */

static void add_label(struct kvmig__strlist *out, const char *key, const char *value)
{
    const bool plain = !value || !*value || !strcmp(value, "true");
    char *text = kvmig__asprintf("%s%s%s", key ? key : "?", plain ? "" : "=", plain ? "" : value);

    kvmig__strlist_add_new(out, text);
    free(text);
}

static void add_requirement(struct kvmig__strlist *out, const struct kvmig__requirement *requirement)
{
    char *values = kvmig__strlist_join(&requirement->values, "|");
    char *key = kvmig__asprintf("%s%s", kvmig__str_eq(requirement->op, "DoesNotExist") ? "must not have " : "",
                                requirement->key ? requirement->key : "?");
    char *value = kvmig__str_eq(requirement->op, "NotIn") || kvmig__str_eq(requirement->op, "Gt") ||
                          kvmig__str_eq(requirement->op, "Lt")
                      ? kvmig__asprintf("(%s %s)", requirement->op, values)
                      : kvmig__strdup(values);

    add_label(out, key, value);
    free(key);
    free(value);
    free(values);
}

/* Required affinity: with one term what does not hold of it, with several that none does. */
static void add_affinity(struct kvmig__strlist *out, const struct kvmig__kube_node *node,
                         const struct kvmig__terms *terms)
{
    if (kvmig__terms_hold(terms, &node->meta.labels, node->meta.name))
        return;
    if (terms->n != 1) {
        add_label(out, "required node affinity", NULL);
        return;
    }
    for (size_t i = 0; i < terms->v[0].n; i++) {
        if (!kvmig__requirement_holds(&terms->v[0].v[i], &node->meta.labels, node->meta.name))
            add_requirement(out, &terms->v[0].v[i]);
    }
}

static void labels_of_node(const struct kvmig__kube_pod *pod, const struct kvmig__kube_node *node,
                           struct kvmig__strlist *out)
{
    const struct kvmig__pairs *wanted = &pod->placement.node_selector;

    for (size_t i = 0; i < wanted->n; i++) {
        const char *have = kvmig__pairs_get(&node->meta.labels, wanted->v[i].key);

        if (!have || !kvmig__str_eq(have, wanted->v[i].value ? wanted->v[i].value : ""))
            add_label(out, wanted->v[i].key, wanted->v[i].value);
    }
    add_affinity(out, node, &pod->placement.node_required);
}

struct lacking {
    const char *node;
    struct kvmig__strlist labels;
};
struct all_lacking {
    struct lacking *v;
    size_t n;
};

/* Keeps those that lack the fewest, in that order; of equals the first. Takes labels. Returns whether one was left out. */
static bool keep_nearest(struct all_lacking *all, const char *node, struct kvmig__strlist *labels)
{
    const bool full = all->n == MAX_NODES_TOLD;
    size_t at;

    if (full && all->v[all->n - 1].labels.n <= labels->n) {
        kvmig__strlist_clear(labels);
        return true;
    }
    if (full)
        kvmig__strlist_clear(&all->v[all->n - 1].labels);
    else
        (void)KVMIG__PUSH(all);
    for (at = all->n - 1; at > 0 && all->v[at - 1].labels.n > labels->n; at--)
        all->v[at] = all->v[at - 1];
    all->v[at] = (struct lacking){ .node = node, .labels = *labels };
    return full;
}

/* "node-b lacks: x, y and 3 more"; owned. */
static char *lacking_text(const struct lacking *lacking)
{
    const size_t rest = lacking->labels.n > MAX_LABELS_TOLD ? lacking->labels.n - MAX_LABELS_TOLD : 0;
    const struct kvmig__strlist told = { .v = lacking->labels.v, .n = lacking->labels.n - rest };
    char *joined = kvmig__strlist_join(&told, ", ");
    char *text = rest ? kvmig__asprintf("%s lacks: %s and %zu more", lacking->node, joined, rest)
                      : kvmig__asprintf("%s lacks: %s", lacking->node, joined);

    free(joined);
    return text;
}

size_t kvmig__missing_labels(const struct kvmig__kube *kube, const struct kvmig__kube_pod *pod, const char *source,
                             struct kvmig__strlist *out)
{
    struct all_lacking all = { 0 };
    size_t left_out = 0;

    KVMIG__KUBE_EACH(kube, NODE, node)
    {
        struct kvmig__strlist labels = { 0 };

        if (kvmig__str_eq(node->meta.name, source))
            continue;
        labels_of_node(pod, node, &labels);
        if (labels.n)
            left_out += keep_nearest(&all, node->meta.name, &labels);
    }
    for (size_t i = 0; i < all.n; i++) {
        char *text = lacking_text(&all.v[i]);

        kvmig__strlist_add(out, text);
        free(text);
        kvmig__strlist_clear(&all.v[i].labels);
    }
    free(all.v);
    return left_out;
}

/* ---- the link ---- */

static char *reasons_text(const char *message)
{
    struct kvmig__strlist parts = { 0 };
    struct kvmig__pairs reasons;
    uint32_t total;
    char *joined, *text;

    if (!kvmig__scheduler_message(message, &total, &reasons)) {
        kvmig__pairs_clear(&reasons);
        return kvmig__strdup("no node takes the target pod");
    }
    for (size_t i = 0; i < reasons.n; i++) {
        char *part = kvmig__asprintf("%s: %s", reasons.v[i].value, reasons.v[i].key);

        kvmig__strlist_add(&parts, part);
        free(part);
    }
    joined = kvmig__strlist_join(&parts, "; ");
    text = kvmig__asprintf("none of %" PRIu32 " nodes takes the target pod (%s)", total, joined);
    free(joined);
    kvmig__strlist_clear(&parts);
    kvmig__pairs_clear(&reasons);
    return text;
}

static char *missing_text(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod)
{
    struct kvmig__strlist missing = { 0 };
    char *joined = NULL, *text = NULL;
    size_t rest;

    rest = kvmig__missing_labels(x->kube, pod, x->follow->source_node, &missing);
    if (missing.n) {
        joined = kvmig__strlist_join(&missing, "; ");
        text = rest ? kvmig__asprintf("Labels that nodes lack: %s; and %zu more nodes.", joined, rest)
                    : kvmig__asprintf("Labels that nodes lack: %s.", joined);
    }
    free(joined);
    kvmig__strlist_clear(&missing);
    return text;
}

void kvmig__explain_unschedulable(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod, int32_t depth)
{
    const struct kvmig__kube_condition *scheduled = kvmig__kube_condition(&pod->conditions, "PodScheduled");
    char *reasons = reasons_text(scheduled->message), *missing = missing_text(x, pod);
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(x, "TARGET_UNSCHEDULABLE", KVMIG_SEVERITY_ERROR, depth,
                               kvmig__explain_name("pod", pod->meta.ns, pod->meta.name), "%s", reasons);
    wait->evidence =
        kvmig__asprintf("condition PodScheduled, reason Unschedulable: %s%s%s",
                        scheduled->message ? scheduled->message : "", missing ? " " : "", missing ? missing : "");
    wait->since_ms = scheduled->since_ms ? scheduled->since_ms : pod->meta.created_ms;
    kvmig__explain_limit(wait, pod->meta.created_ms, kvmig__explain_timer(x, UNSCHEDULABLE_TIMER, UNSCHEDULABLE_S),
                         "unschedulable pod time-out");
    kvmig__scheduler_detail(scheduled->message, &wait->detail);
    wait->hint =
        kvmig__strdup(missing ? "A node must have the CPU, machine type and features of the source: the evidence names "
                                "per node what is missing. Add such a node, or cancel."
                              : "Free or add a node that fits, or cancel.");
    free(reasons);
    free(missing);
}
