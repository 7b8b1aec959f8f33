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
    const struct kvmig__kube_class *class = &lazy->classes.v[lazy->class_of[node]];
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

size_t kvmig__kube_lazy_best(const struct kvmig__kube_lazy *lazy)
{
    struct summary best = { 0 };
    size_t found = KVMIG__NO_NODE;

    if (lazy->common_worst == KVMIG_SEVERITY_BLOCKER)
        return KVMIG__NO_NODE;
    for (size_t i = 0; i < lazy->nodes->n; i++) {
        struct summary here;

        if (lazy->class_of[i] == KVMIG__NO_CLASS || lazy->classes.v[lazy->class_of[i]].worst == KVMIG_SEVERITY_BLOCKER)
            continue;
        here = summarise(lazy, i);
        if (here.verdict == KVMIG_VERDICT_BLOCKED)
            continue;
        /* the order of kvmig__candidates_sort(); nodes are in the order of their names */
        if (found == KVMIG__NO_NODE || here.verdict < best.verdict ||
            (here.verdict == best.verdict && kvmig__rank_compare(&here.rank, &best.rank, NULL) < 0)) {
            best = here;
            found = i;
        }
    }
    return found;
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
    const struct kvmig__kube_class *class = &lazy->classes.v[lazy->class_of[node]];
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
    for (size_t i = 0; i < lazy->classes.n; i++)
        kvmig__findings_clear(&lazy->classes.v[i].findings);
    for (size_t i = 0; i < lazy->extras.n; i++)
        kvmig__findings_clear(&lazy->extras.v[i].findings);
    for (size_t i = 0; i < lazy->disks.n; i++)
        kvmig__disk_plan_clear(&lazy->disks.v[i]);
    free(lazy->classes.v);
    free(lazy->extras.v);
    free(lazy->disks.v);
    free(lazy->class_of);
    free(lazy->peers);
    free(lazy->links);
    kvmig__kube_wants_clear(&lazy->wants);
    kvmig__kube_nodes_unref(lazy->nodes);
    free(lazy);
}
