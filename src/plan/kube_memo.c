/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Remembers what was found about classes of nodes: VMs of one class of source that ask for the same are answered the same. What they ask
 * for is written as one text, so that nothing but equal texts makes VMs equal; it holds whatever the checks of a class (judge_class() in
 * kube_judge.c) read of the VM, its launcher, its node and the options in force. What names one VM is kept for nobody else. Judges
 * nothing itself. Pure; belongs to the base, for whoever may plan, one at a time; what is remembered is counted, because plans outlive it.
 */
#include "plan/kube_lazy.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 4096 /* a power of two, twice as many as entries */
#define MOST_ENTRIES (SLOTS / 2)
#define MOST_COST ((size_t)96 << 20) /* bytes, about; then all is forgotten */

struct entry {
    struct kvmig__kube_text text;
    uint32_t hash;
    struct kvmig__kube_judged *judged; /* counted; NULL: such VMs are judged each by itself */
};
struct kvmig__kube_memo {
    bool useless; /* a node's own labels are among what is read of a source */
    uint32_t slots[SLOTS]; /* 1 + entry */
    struct {
        struct entry *v;
        size_t n;
    } entries;
    size_t cost;
    struct kvmig__kube_text text; /* scratch */
};

/* ---- what is remembered ---- */

struct kvmig__kube_judged *kvmig__kube_judged_new(size_t n)
{
    struct kvmig__kube_judged *judged = kvmig__calloc(1, sizeof(*judged));

    judged->refs = 1;
    judged->n = n;
    judged->v = kvmig__calloc(n + 1, sizeof(*judged->v));
    return judged;
}

static struct kvmig__kube_judged *ref(struct kvmig__kube_judged *judged)
{
    __atomic_add_fetch(&judged->refs, 1, __ATOMIC_RELAXED);
    return judged;
}

void kvmig__kube_judged_unref(struct kvmig__kube_judged *judged)
{
    if (!judged || __atomic_sub_fetch(&judged->refs, 1, __ATOMIC_ACQ_REL))
        return;
    for (size_t i = 0; i < judged->n; i++)
        kvmig__findings_clear(&judged->v[i].findings);
    free(judged->v);
    free(judged);
}

/* ---- what VMs ask for ---- */

static void add_pairs(struct kvmig__kube_text *text, const struct kvmig__pairs *pairs)
{
    kvmig__kube_text_number(text, (int64_t)pairs->n);
    for (size_t i = 0; i < pairs->n; i++) {
        kvmig__kube_text_add(text, pairs->v[i].key);
        kvmig__kube_text_add(text, pairs->v[i].value);
    }
}

static void add_list(struct kvmig__kube_text *text, const struct kvmig__strlist *list)
{
    kvmig__kube_text_number(text, (int64_t)list->n);
    for (size_t i = 0; i < list->n; i++)
        kvmig__kube_text_add(text, list->v[i]);
}

static void add_tolerations(struct kvmig__kube_text *text, const struct kvmig__tolerations *tolerations)
{
    kvmig__kube_text_number(text, (int64_t)tolerations->n);
    for (size_t i = 0; i < tolerations->n; i++) {
        kvmig__kube_text_add(text, tolerations->v[i].key);
        kvmig__kube_text_add(text, tolerations->v[i].op);
        kvmig__kube_text_add(text, tolerations->v[i].value);
        kvmig__kube_text_add(text, tolerations->v[i].effect);
    }
}

static void add_terms(struct kvmig__kube_text *text, const struct kvmig__terms *terms)
{
    kvmig__kube_text_number(text, (int64_t)terms->n);
    for (size_t t = 0; t < terms->n; t++) {
        kvmig__kube_text_number(text, (int64_t)terms->v[t].n);
        for (size_t i = 0; i < terms->v[t].n; i++) {
            const struct kvmig__requirement *requirement = &terms->v[t].v[i];

            kvmig__kube_text_add(text, requirement->key);
            kvmig__kube_text_add(text, requirement->op);
            kvmig__kube_text_number(text, requirement->is_field);
            add_list(text, &requirement->values);
        }
    }
}

static void add_domain(struct kvmig__kube_text *text, const struct kvmig__kube_domain *domain)
{
    kvmig__kube_text_add(text, domain->cpu_model);
    kvmig__kube_text_number(text, (int64_t)domain->cpu_features.n);
    for (size_t i = 0; i < domain->cpu_features.n; i++) {
        kvmig__kube_text_add(text, domain->cpu_features.v[i].name);
        kvmig__kube_text_add(text, domain->cpu_features.v[i].policy);
    }
    kvmig__kube_text_number(text, domain->dedicated_cpus);
    kvmig__kube_text_number(text, domain->realtime);
    kvmig__kube_text_add(text, domain->machine);
    kvmig__kube_text_add(text, domain->launch_security);
    add_list(text, &domain->hyperv);
}

/* Without a launcher, whether it has moved decides where its CPU comes from. */
static void add_migration(struct kvmig__kube_text *text, const struct kvmig__kube_vmi *vmi)
{
    kvmig__kube_text_number(text, vmi->migration.completed);
    kvmig__kube_text_number(text, vmi->migration.failed);
    kvmig__kube_text_number(text, kvmig__str_eq(vmi->migration.target_node, vmi->node));
}

static void add_launcher(struct kvmig__kube_text *text, const struct kvmig__kube_pod *pod)
{
    kvmig__kube_text_number(text, pod != NULL);
    if (!pod)
        return;
    add_pairs(text, &pod->placement.node_selector);
    add_tolerations(text, &pod->placement.tolerations);
    kvmig__kube_text_number(text, kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/migrationJobUID") != NULL);
}

static void write_text(struct kvmig__kube_text *text, const struct kvmig__kube_check *c)
{
    const struct kvmig__kube_vmi *vmi = c->vmi;
    const size_t source = c->source ? kvmig__kube_base_find(c->index->base, c->source->meta.name) : KVMIG__NO_NODE;

    text->n = 0;
    kvmig__kube_text_number(text, source == KVMIG__NO_NODE ? -1 : (int64_t)c->index->base->class_of[source]);
    if (source == KVMIG__NO_NODE)
        kvmig__kube_text_add(text, vmi->node);
    kvmig__kube_text_add(text, c->config->network);
    kvmig__kube_text_add(text, vmi->architecture);
    kvmig__kube_text_add(text, vmi->machine);
    add_domain(text, &vmi->domain);
    add_pairs(text, &vmi->placement.node_selector);
    add_terms(text, &vmi->placement.node_required);
    add_tolerations(text, &vmi->placement.tolerations);
    add_migration(text, vmi);
    add_launcher(text, c->pod);
}

/* ---- the table ---- */

static void keep(struct kvmig__kube_memo *memo, struct entry *entry, struct kvmig__kube_judged *judged)
{
    entry->judged = ref(judged);
    judged->kept = true;
    judged->cost = judged->n * sizeof(*judged->v);
    memo->cost += judged->cost;
}

/* Plans may hold it on; what they add to it is theirs. */
static void let_go(struct kvmig__kube_memo *memo, struct entry *entry)
{
    if (!entry->judged)
        return;
    memo->cost -= entry->judged->cost;
    entry->judged->kept = false;
    kvmig__kube_judged_unref(entry->judged);
    entry->judged = NULL;
}

static void forget_all(struct kvmig__kube_memo *memo)
{
    for (size_t i = 0; i < memo->entries.n; i++) {
        let_go(memo, &memo->entries.v[i]);
        free(memo->entries.v[i].text.v);
    }
    memo->entries.n = 0;
    free(memo->entries.v);
    memo->entries.v = NULL;
    memset(memo->slots, 0, sizeof(memo->slots));
    memo->cost = 0;
}

/* The slot of such a text, or an empty one. */
static uint32_t *find(struct kvmig__kube_memo *memo, const struct kvmig__kube_text *text, uint32_t hash)
{
    for (size_t at = hash % SLOTS;; at = (at + 1) % SLOTS) {
        const struct entry *there = memo->slots[at] ? &memo->entries.v[memo->slots[at] - 1] : NULL;

        if (!there || (there->hash == hash && there->text.n == text->n && !memcmp(there->text.v, text->v, text->n)))
            return &memo->slots[at];
    }
}

static struct kvmig__kube_judged *add(struct kvmig__kube_memo *memo, uint32_t hash, size_t n)
{
    struct kvmig__kube_judged *judged = kvmig__kube_judged_new(n);
    struct entry *entry;

    if (memo->entries.n == MOST_ENTRIES || memo->cost > MOST_COST)
        forget_all(memo);
    entry = KVMIG__PUSH(&memo->entries);
    entry->hash = hash;
    entry->text.v = kvmig__calloc(memo->text.n + 1, 1);
    entry->text.n = memo->text.n;
    memcpy(entry->text.v, memo->text.v, memo->text.n);
    keep(memo, entry, judged);
    *find(memo, &entry->text, hash) = (uint32_t)memo->entries.n;
    memo->cost += memo->text.n;
    return judged;
}

struct kvmig__kube_judged *kvmig__kube_memo_get(const struct kvmig__kube_check *c, bool own)
{
    const struct kvmig__kube_base *base = c->index->base;
    struct kvmig__kube_memo *memo = base->memo;
    const struct entry *entry;
    uint32_t hash, slot;

    if (own || memo->useless)
        return kvmig__kube_judged_new(base->classes.n);
    write_text(&memo->text, c);
    hash = kvmig__kube_text_hash(&memo->text);
    slot = *find(memo, &memo->text, hash);
    if (!slot)
        return add(memo, hash, base->classes.n);
    entry = &memo->entries.v[slot - 1];
    return entry->judged ? ref(entry->judged) : kvmig__kube_judged_new(base->classes.n);
}

/* A finding that names the launcher and its node; the plan that it was made for keeps it. */
static void forget(struct kvmig__kube_memo *memo, struct kvmig__kube_judged *judged)
{
    for (size_t i = 0; i < memo->entries.n; i++) {
        if (memo->entries.v[i].judged != judged)
            continue;
        let_go(memo, &memo->entries.v[i]);
        return;
    }
}

static size_t length_of(const char *text)
{
    return text ? strlen(text) : 0;
}

void kvmig__kube_memo_note(struct kvmig__kube_base *base, struct kvmig__kube_judged *judged,
                           const struct kvmig__kube_class *class)
{
    size_t cost = 0;

    if (!judged->kept) /* it ends with its plan, and is no reason to forget others */
        return;
    for (size_t i = 0; i < class->findings.n; i++) {
        const struct kvmig_finding *finding = &class->findings.v[i];

        cost += sizeof(*finding) + length_of(finding->message) + length_of(finding->detail) + length_of(finding->hint) +
                128;
    }
    judged->cost += cost;
    base->memo->cost += cost;
    if (kvmig__findings_has(&class->findings, "STALE_NODE_SELECTOR"))
        forget(base->memo, judged);
}

/* ---- life ---- */

/* The values of labels that tell nodes apart are no part of a class: none of them may be read of a source. */
static bool reads_own_label(const struct kvmig__kube_base *base)
{
    for (size_t i = 0; i < base->own_keys.n; i++) {
        if (strstr(base->own_keys.v[i], "kubevirt.io/") || !strcmp(base->own_keys.v[i], "kubernetes.io/arch"))
            return true;
    }
    return false;
}

struct kvmig__kube_memo *kvmig__kube_memo_new(const struct kvmig__kube_base *base)
{
    struct kvmig__kube_memo *memo = kvmig__calloc(1, sizeof(*memo));

    memo->useless = reads_own_label(base);
    return memo;
}

void kvmig__kube_memo_free(struct kvmig__kube_memo *memo)
{
    forget_all(memo);
    free(memo->text.v);
    free(memo);
}
