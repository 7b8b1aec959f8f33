/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes out candidates from what a plan keeps of them (see kube_lazy.h), and finds the best one without writing out any. Pure; any
 * thread: the list is made by whoever asks first, and if two ask at once, one of their lists is thrown away.
 */
#include "plan/kube_lazy.h"
#include "plan/checks.h"

#include <stdlib.h>
#include <string.h>

/* ---- one node ---- */

static const struct kvmig__kube_extra *extra_of(const struct kvmig__kube_lazy *lazy, size_t node)
{
    size_t low = 0, high = lazy->extras.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (lazy->extras.v[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < lazy->extras.n && lazy->extras.v[low].node == node ? &lazy->extras.v[low] : NULL;
}

struct summary {
    int32_t verdict;
    struct kvmig__rank rank;
};

static struct summary summarise(const struct kvmig__kube_lazy *lazy, size_t node)
{
    const struct kvmig__kube_class *class = kvmig__kube_class_of(lazy, node);
    const struct kvmig__kube_extra *extra = lazy->extras.n ? extra_of(lazy, node) : NULL;
    int32_t worst = class->worst > lazy->common_worst ? class->worst : lazy->common_worst;
    bool limited = class->limited || lazy->common_limited;
    struct kvmig__rank rank = kvmig__kube_rank(lazy, node);

    if (extra) {
        int32_t other = kvmig__findings_worst(&extra->findings);

        worst = other > worst ? other : worst;
        limited = limited || kvmig__findings_has(&extra->findings, "LIMIT_REACHED");
        rank.risks += kvmig__count_severity(&extra->findings, KVMIG_SEVERITY_WARN);
        rank.blockers += kvmig__count_severity(&extra->findings, KVMIG_SEVERITY_BLOCKER);
    }
    if (worst < KVMIG_SEVERITY_BLOCKER && !kvmig__kube_has_room(&lazy->wants, lazy->nodes, node))
        worst = KVMIG_SEVERITY_BLOCKER;
    return (struct summary){ kvmig__verdict_from(worst, limited), rank };
}

static bool is_ruled_out(const struct kvmig__kube_lazy *lazy, size_t node)
{
    return lazy->class_of[node] == KVMIG__NO_CLASS || kvmig__kube_class_of(lazy, node)->worst == KVMIG_SEVERITY_BLOCKER;
}

struct best {
    size_t node; /* KVMIG__NO_NODE = none yet */
    struct summary summary;
};

/* In the order of kvmig__candidates_sort(); nodes are in the order of their names. */
static void prefer(struct best *best, const struct kvmig__kube_lazy *lazy, size_t node)
{
    struct summary here = summarise(lazy, node);
    int order;

    if (here.verdict == KVMIG_VERDICT_BLOCKED)
        return;
    order = best->node == KVMIG__NO_NODE            ? -1
            : here.verdict != best->summary.verdict ? (here.verdict < best->summary.verdict ? -1 : 1)
                                                    : kvmig__rank_compare(&here.rank, &best->summary.rank, NULL);
    if (order < 0 || (!order && node < best->node))
        *best = (struct best){ node, here };
}

static size_t best_of_all(const struct kvmig__kube_lazy *lazy)
{
    struct best best = { .node = KVMIG__NO_NODE };

    for (size_t i = 0; i < lazy->nodes->n; i++)
        if (!is_ruled_out(lazy, i))
            prefer(&best, lazy, i);
    return best.node;
}

/* Where nodes of one class differ in nothing but their room: the roomiest of each class, then the best of these. */
static size_t best_of_classes(const struct kvmig__kube_lazy *lazy)
{
    struct {
        size_t node; /* 1 + it; 0 = none yet */
        uint64_t memory;
    } *of = kvmig__calloc(lazy->shared->n + lazy->own.n + 1, sizeof(*of));
    struct best best = { .node = KVMIG__NO_NODE };

    for (size_t i = 0; i < lazy->nodes->n; i++) {
        uint32_t class = lazy->class_of[i];
        uint64_t memory;

        if (is_ruled_out(lazy, i))
            continue;
        memory = kvmig__roughly(kvmig__kube_headroom(lazy, i));
        if ((of[class].node && memory <= of[class].memory) || !kvmig__kube_has_room(&lazy->wants, lazy->nodes, i))
            continue;
        of[class].node = i + 1;
        of[class].memory = memory;
    }
    for (size_t k = 0; k < lazy->shared->n + lazy->own.n; k++)
        if (of[k].node)
            prefer(&best, lazy, of[k].node - 1);
    free(of);
    return best.node;
}

size_t kvmig__kube_lazy_best(const struct kvmig__kube_lazy *lazy)
{
    if (lazy->common_worst == KVMIG_SEVERITY_BLOCKER)
        return KVMIG__NO_NODE;
    return lazy->extras.n || lazy->peers || lazy->links ? best_of_all(lazy) : best_of_classes(lazy);
}

void kvmig__kube_lazy_count(const struct kvmig__kube_lazy *lazy, size_t counts[KVMIG_VERDICT_SOURCE + 1])
{
    for (size_t i = 0; i < lazy->nodes->n; i++) {
        if (lazy->class_of[i] != KVMIG__NO_CLASS)
            counts[summarise(lazy, i).verdict]++;
    }
}

/* ---- writing out ---- */

/* The text with the node's name put in; owned. */
static char *put_name(const char *text, const char *name)
{
    static const char any[] = KVMIG__ANY_NODE;
    size_t n = 0, name_length = strlen(name);
    const char *at = text;
    char *out, *to;

    if (!text)
        return NULL;
    for (; (at = strstr(at, any)); at += sizeof(any) - 1)
        n++;
    out = to = kvmig__calloc(strlen(text) + n * name_length + 1, 1);
    while ((at = strstr(text, any))) {
        memcpy(to, text, (size_t)(at - text));
        to += at - text;
        memcpy(to, name, name_length);
        to += name_length;
        text = at + sizeof(any) - 1;
    }
    memcpy(to, text, strlen(text) + 1);
    return out;
}

static void write_shared(const struct kvmig_findings *from, const char *name, struct kvmig_findings *out)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct kvmig_finding *finding = &from->v[i];
        const struct kvmig_finding copy = {
            .code = kvmig__strdup(finding->code),
            .severity = finding->severity,
            .object = put_name(finding->object, name),
            .host = put_name(finding->host, name),
            .message = put_name(finding->message, name),
            .detail = put_name(finding->detail, name),
            .hint = put_name(finding->hint, name),
        };

        *KVMIG__PUSH(out) = copy;
    }
}

void kvmig__kube_lazy_write(const struct kvmig__kube_lazy *lazy, size_t node, struct kvmig__candidate *out)
{
    const struct kvmig__kube_class *class = kvmig__kube_class_of(lazy, node);
    const struct kvmig__kube_extra *extra = extra_of(lazy, node);
    const struct summary summary = summarise(lazy, node);

    *out = (struct kvmig__candidate){ .host = kvmig__strdup(lazy->nodes->names[node]),
                                      .verdict = summary.verdict,
                                      .rank = summary.rank };
    if (class->shared)
        write_shared(&class->findings, out->host, &out->findings);
    else
        kvmig__findings_append(&out->findings, &class->findings);
    kvmig__kube_note_room(&lazy->wants, lazy->nodes, node, &out->findings);
    if (extra)
        kvmig__findings_append(&out->findings, &extra->findings);
    kvmig__findings_sort(&out->findings);
    out->rank.blockers = kvmig__count_severity(&out->findings, KVMIG_SEVERITY_BLOCKER); /* room included */
    for (size_t i = 0; i < lazy->disks.n; i++)
        kvmig__disk_plan_copy(KVMIG__PUSH(&out->disks), &lazy->disks.v[i]);
}

static struct kvmig__candidates *write_all(const struct kvmig__kube_lazy *lazy)
{
    struct kvmig__candidates *all = kvmig__calloc(1, sizeof(*all));

    all->v = kvmig__calloc(lazy->n + 1, sizeof(*all->v));
    for (size_t i = 0; i < lazy->nodes->n; i++) {
        if (lazy->class_of[i] != KVMIG__NO_CLASS)
            kvmig__kube_lazy_write(lazy, i, &all->v[all->n++]);
    }
    kvmig__candidates_sort(all);
    return all;
}

const struct kvmig__candidates *kvmig__kube_lazy_candidates(struct kvmig__kube_lazy *lazy)
{
    struct kvmig__candidates *there = __atomic_load_n(&lazy->made, __ATOMIC_ACQUIRE), *mine;

    if (there)
        return there;
    mine = write_all(lazy);
    if (__atomic_compare_exchange_n(&lazy->made, &there, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return mine;
    kvmig__candidates_clear(mine);
    free(mine);
    return there;
}

void kvmig__kube_lazy_free(struct kvmig__kube_lazy *lazy)
{
    if (!lazy)
        return;
    if (lazy->made)
        kvmig__candidates_clear(lazy->made);
    free(lazy->made);
    kvmig__kube_judged_unref(lazy->shared);
    for (size_t i = 0; i < lazy->own.n; i++)
        kvmig__findings_clear(&lazy->own.v[i].findings);
    for (size_t i = 0; i < lazy->extras.n; i++)
        kvmig__findings_clear(&lazy->extras.v[i].findings);
    for (size_t i = 0; i < lazy->disks.n; i++)
        kvmig__disk_plan_clear(&lazy->disks.v[i]);
    free(lazy->own.v);
    free(lazy->extras.v);
    free(lazy->disks.v);
    free(lazy->class_of);
    free(lazy->peers);
    free(lazy->links);
    kvmig__kube_wants_clear(&lazy->wants);
    kvmig__kube_nodes_unref(lazy->nodes);
    free(lazy);
}
