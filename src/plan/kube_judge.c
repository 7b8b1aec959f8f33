/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Judges the nodes: what nodes of one class have in common once per class, the rest (room, neighbours, what a volume reaches) per
 * node. So planning costs classes times labels plus nodes times a few numbers. In small clusters, and for VMs that ask for what
 * tells nodes apart, nodes are judged one by one. Pure; any thread.
 */
#include "plan/facts_checks.h"
#include "plan/kube_lazy.h"

#include <stdlib.h>
#include <string.h>

#define FEW 256 /* nodes that are judged one by one */

struct judging {
    const struct kvmig__kube_check *check;
    struct kvmig__kube_lazy *lazy;
    bool alone; /* every node by itself */
    bool named; /* the VM asks for what tells nodes apart */
    bool reach; /* a volume of the VM admits some nodes only */
    bool *unwanted; /* per node; NULL = all are welcome */
    struct kvmig__kube_yardstick yardstick;
    bool measured; /* the yardstick is there */
};

/* ---- which nodes cannot be judged by their class ---- */

static void name_value(struct judging *j, const char *value)
{
    const struct kvmig__kube_base *base = j->check->index->base;
    const struct kvmig__multimap_entry *entry = NULL;

    while ((entry = kvmig__multimap_next(&base->named, value, entry)))
        j->lazy->class_of[entry->item] = KVMIG__NO_CLASS; /* gets one of its own */
}

static void name_selector(struct judging *j, const struct kvmig__pairs *selector)
{
    for (size_t i = 0; i < selector->n; i++) {
        if (!kvmig__kube_base_own_key(j->check->index->base, selector->v[i].key))
            continue;
        j->named = true;
        name_value(j, selector->v[i].value);
    }
}

/* Nodes whose name is in none of the values are alike to In and NotIn, and to whether there is a value at all. */
static void name_terms(struct judging *j, const struct kvmig__terms *terms)
{
    for (size_t t = 0; t < terms->n; t++) {
        for (size_t i = 0; i < terms->v[t].n; i++) {
            const struct kvmig__requirement *requirement = &terms->v[t].v[i];

            if (!requirement->is_field && !kvmig__kube_base_own_key(j->check->index->base, requirement->key))
                continue;
            j->named = true;
            if (kvmig__str_eq(requirement->op, "Gt") || kvmig__str_eq(requirement->op, "Lt"))
                j->alone = true;
            for (size_t v = 0; v < requirement->values.n; v++)
                name_value(j, requirement->values.v[v]);
        }
    }
}

static void name_nodes(struct judging *j)
{
    const struct kvmig__kube_check *c = j->check;

    name_selector(j, &c->vmi->placement.node_selector);
    name_terms(j, &c->vmi->placement.node_required);
    if (c->kubevirt)
        name_selector(j, &c->kubevirt->node_selectors);
    if (c->pod) {
        name_selector(j, &c->pod->placement.node_selector);
        name_terms(j, &c->pod->placement.node_required);
    }
}

/* ---- one class ---- */

/* What may be asked of the VM here is what kube_memo.c tells VMs apart by. */
static void judge_class(struct judging *j, size_t node, bool shared, struct kvmig__kube_class *out)
{
    struct kvmig__kube_check c = *j->check;

    c.target = kvmig__kube_base_node(c.index->base, node);
    c.target_at = node;
    c.target_name = shared ? KVMIG__ANY_NODE : c.target->meta.name;
    c.out = &out->findings;
    kvmig__kube_check_node(&c);
    kvmig__kube_check_target_network(&c);
    kvmig__kube_check_selectors(&c);
    kvmig__kube_check_cpu(&c);
    kvmig__kube_check_clock(&c);
    out->shared = shared;
    out->worst = kvmig__findings_worst(&out->findings);
    out->limited = kvmig__findings_has(&out->findings, "LIMIT_REACHED");
    out->risks = (uint32_t)kvmig__count_severity(&out->findings, KVMIG_SEVERITY_WARN);
    out->blockers = (uint32_t)kvmig__count_severity(&out->findings, KVMIG_SEVERITY_BLOCKER);
    if (!j->measured)
        kvmig__kube_rank_begin(&c, &j->yardstick);
    j->measured = true;
    kvmig__kube_rank_class(&c, &j->yardstick, shared, out);
    out->judged = true;
}

/* source: where the VM is; KVMIG__NO_NODE = none of the nodes. */
static bool is_candidate(const struct judging *j, size_t node, size_t source)
{
    const struct kvmig__kube_check *c = j->check;

    return node != source && !(j->unwanted && j->unwanted[node]) &&
           !(c->whatif && c->whatif->skip && c->whatif->skip[node]);
}

static uint32_t own_class(struct judging *j, size_t node)
{
    judge_class(j, node, false, KVMIG__PUSH(&j->lazy->own));
    return (uint32_t)(j->lazy->shared->n + j->lazy->own.n - 1);
}

/* A class is judged when the first of its nodes is met, unless that was done for another VM that asks for the same. */
static void judge_classes(struct judging *j)
{
    const struct kvmig__kube_base *base = j->check->index->base;
    struct kvmig__kube_judged *shared = j->lazy->shared;
    size_t source = kvmig__kube_base_find(base, j->check->vmi->node);

    for (size_t i = 0; i < base->nodes->n; i++) {
        uint32_t *class = &j->lazy->class_of[i];

        if (!is_candidate(j, i, source)) {
            *class = KVMIG__NO_CLASS;
            continue;
        }
        j->lazy->n++;
        if (j->alone || *class == KVMIG__NO_CLASS) {
            *class = own_class(j, i);
            continue;
        }
        if (!shared->v[*class].judged) {
            judge_class(j, i, true, &shared->v[*class]);
            kvmig__kube_memo_note(j->check->index->base, shared, &shared->v[*class]);
        }
    }
}

/* ---- one node ---- */

static bool has_neighbours(const struct kvmig__kube_check *c)
{
    const struct kvmig__placement *placement = &c->vmi->placement;

    return c->index->neighbours.n || placement->pod_required.n || placement->spread.n;
}

static void judge_nodes(struct judging *j)
{
    bool neighbours = has_neighbours(j->check), spread = j->check->vmi->placement.spread.n;
    bool facts = kvmig__has_facts_of_targets(j->check->wires);
    struct kvmig__kube_check c = *j->check;

    if (!neighbours && !j->reach && !facts)
        return;
    if (spread)
        j->lazy->peers = kvmig__calloc(j->lazy->nodes->n + 1, sizeof(*j->lazy->peers));
    for (size_t i = 0; i < j->lazy->nodes->n; i++) {
        struct kvmig_findings own = { 0 };

        if (j->lazy->class_of[i] == KVMIG__NO_CLASS)
            continue;
        c.target = kvmig__kube_base_node(c.index->base, i);
        c.target_at = i;
        c.target_name = c.target->meta.name;
        c.out = &own;
        kvmig__kube_check_neighbours(&c);
        if (spread)
            j->lazy->peers[i] = kvmig__kube_count_peers(&c);
        if (j->reach)
            kvmig__kube_check_reach(&c);
        if (facts)
            kvmig__check_facts_target(c.wires, c.target_name, c.out);
        if (own.n)
            *KVMIG__PUSH(&j->lazy->extras) = (struct kvmig__kube_extra){ i, own };
    }
}

/* ---- all ---- */

struct kvmig__kube_lazy *kvmig__kube_judge(const struct kvmig__kube_check *c, const struct kvmig_findings *common)
{
    struct kvmig__kube_base *base = c->index->base;
    struct kvmig__kube_lazy *lazy = kvmig__calloc(1, sizeof(*lazy));
    /* the frequency of a clock is a node's own; who is bound to one has it compared with each */
    struct judging j = { .check = c,
                         .lazy = lazy,
                         .alone = base->nodes->n <= FEW || c->vmi->tsc_frequency_hz,
                         .reach = kvmig__kube_has_places(c) };
    const struct kvmig__kube_column *memory = kvmig__kube_base_column(base, c->index->nodes, "memory");

    lazy->nodes = kvmig__kube_nodes_ref(c->index->nodes);
    lazy->memory = memory ? memory->left : NULL;
    lazy->memory_need = kvmig__kube_needs(c, "memory");
    if (lazy->memory_need == KVMIG__UNKNOWN)
        lazy->memory_need = 0;
    lazy->wants = c->index->wants; /* taken over */
    c->index->wants = (struct kvmig__kube_wants){ 0 };
    lazy->class_of = kvmig__calloc(base->nodes->n + 1, sizeof(*lazy->class_of));
    memcpy(lazy->class_of, base->class_of, base->nodes->n * sizeof(*lazy->class_of));
    lazy->common_worst = kvmig__findings_worst(common);
    lazy->common_limited = kvmig__findings_has(common, "LIMIT_REACHED");
    name_nodes(&j);
    j.unwanted = kvmig__kube_unwanted(c);
    lazy->shared = j.alone ? kvmig__kube_judged_new(0) : kvmig__kube_memo_get(c, j.named);
    judge_classes(&j);
    judge_nodes(&j);
    kvmig__kube_rank_links(c, lazy);
    kvmig__kube_rank_end(&j.yardstick);
    free(j.unwanted);
    kvmig__kube_plan_volumes(c, &lazy->disks.v, &lazy->disks.n);
    return lazy;
}
