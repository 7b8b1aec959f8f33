/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the storage behind a claim can be used on another node, whatever its access modes say: the node affinity of the bound
 * volume, volumes of a host, storage classes that need a parameter for two attachments. Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <stdlib.h>
#include <string.h>

#define HOSTNAME "kubernetes.io/hostname"
#define RWX "ReadWriteMany"
#define SELECTED_NODE "volume.kubernetes.io/selected-node"
#define MAX_ALLOWED 64 /* nodes that a finding names */

const struct kvmig__kube_pv *kvmig__kube_pv_of(const struct kvmig__kube_check *c, const struct kvmig__kube_pvc *pvc)
{
    return pvc && pvc->volume ? KVMIG__KUBE_FIND(c->kube, PV, NULL, pvc->volume) : NULL;
}

bool kvmig__kube_claim_is_local(const struct kvmig__kube_check *c, const struct kvmig__kube_pvc *pvc)
{
    const struct kvmig__kube_pv *pv = kvmig__kube_pv_of(c, pvc);

    return pv && (kvmig__str_eq(pv->type, "local") || kvmig__str_eq(pv->type, "hostPath"));
}

/* ---- node affinity ---- */

/* The nodes that the terms name, or that are seen to meet them. */
static void allowed_nodes(const struct kvmig__kube_check *c, const struct kvmig__terms *terms,
                          struct kvmig__strlist *out)
{
    KVMIG__KUBE_EACH(c->kube, NODE, node)
    {
        if (out->n < MAX_ALLOWED && kvmig__terms_hold(terms, &node->meta.labels, node->meta.name))
            kvmig__strlist_add(out, node->meta.name);
    }
    for (size_t t = 0; t < terms->n; t++) {
        for (size_t i = 0; i < terms->v[t].n; i++) {
            const struct kvmig__requirement *requirement = &terms->v[t].v[i];

            if (!kvmig__str_eq(requirement->op, "In") ||
                (!requirement->is_field && !kvmig__str_eq(requirement->key, HOSTNAME)))
                continue;
            for (size_t v = 0; v < requirement->values.n && out->n < MAX_ALLOWED; v++)
                kvmig__strlist_add_new(out, requirement->values.v[v]);
        }
    }
}

/* Speaks of nothing but the node's name: then a node can be judged by its name alone. */
static bool is_by_name(const struct kvmig__terms *terms)
{
    for (size_t t = 0; t < terms->n; t++) {
        for (size_t i = 0; i < terms->v[t].n; i++) {
            if (!terms->v[t].v[i].is_field && !kvmig__str_eq(terms->v[t].v[i].key, HOSTNAME))
                return false;
        }
    }
    return true;
}

static bool admits_name(const struct kvmig__terms *terms, const char *name)
{
    struct kvmig__pairs labels = { 0 };
    bool admits;

    kvmig__pairs_set(&labels, HOSTNAME, name);
    admits = kvmig__terms_hold(terms, &labels, name);
    kvmig__pairs_clear(&labels);
    return admits;
}

/* ---- labels that were left out of the files ---- */

static bool any_node_has(const struct kvmig__kube_check *c, const char *key)
{
    KVMIG__KUBE_EACH(c->kube, NODE, node)
    {
        if (kvmig__pairs_get(&node->meta.labels, key))
            return true;
    }
    return false;
}

/* The values of labels that no node of the files has: of a storage driver, as a rule. */
static void untold_values(const struct kvmig__kube_check *c, const struct kvmig__terms *terms,
                          struct kvmig__strlist *out)
{
    for (size_t t = 0; t < terms->n; t++) {
        for (size_t i = 0; i < terms->v[t].n; i++) {
            const struct kvmig__requirement *requirement = &terms->v[t].v[i];

            if (requirement->is_field || !kvmig__str_eq(requirement->op, "In") || any_node_has(c, requirement->key))
                continue;
            for (size_t v = 0; v < requirement->values.n; v++)
                kvmig__strlist_add_new(out, requirement->values.v[v]);
        }
    }
}

static bool names_a_node(const struct kvmig__kube_check *c, const struct kvmig__strlist *values)
{
    for (size_t i = 0; i < values->n; i++) {
        if (KVMIG__KUBE_FIND(c->kube, NODE, NULL, values->v[i]))
            return true;
    }
    return false;
}

/* Worked out once per plan: every node is compared, and every node that is refused names them. */
static const struct kvmig__kube_allowed *nodes_of_volume(const struct kvmig__kube_check *c,
                                                         const struct kvmig__kube_pv *pv)
{
    struct kvmig__strlist values = { 0 };
    struct kvmig__kube_allowed *allowed;

    for (size_t i = 0; i < c->index->allowed.n; i++) {
        if (c->index->allowed.v[i].pv == pv)
            return &c->index->allowed.v[i];
    }
    allowed = KVMIG__PUSH(&c->index->allowed);
    allowed->pv = pv;
    if (c->kube->trimmed)
        untold_values(c, &pv->node_required, &values);
    allowed->untold = values.n != 0;
    allowed->by_name = names_a_node(c, &values);
    allowed_nodes(c, &pv->node_required, &allowed->names);
    for (size_t i = 0; allowed->by_name && i < values.n; i++)
        kvmig__strlist_add_new(&allowed->names, values.v[i]);
    kvmig__strlist_clear(&values);
    return allowed;
}

static bool admits_target(const struct kvmig__kube_check *c, const struct kvmig__kube_pv *pv)
{
    const struct kvmig__terms *terms = &pv->node_required;
    const struct kvmig__kube_allowed *allowed;

    if (c->target) {
        allowed = nodes_of_volume(c, pv);
        if (!allowed->untold)
            return kvmig__terms_hold(terms, &c->target->meta.labels, c->target->meta.name);
        return !allowed->by_name || kvmig__strlist_has(&allowed->names, c->target->meta.name);
    }
    if (!is_by_name(terms))
        return true; /* not known */
    if (c->target_name)
        return admits_name(terms, c->target_name);
    /* no target in sight: is there any node but the source? */
    allowed = nodes_of_volume(c, pv);
    return !(allowed->names.n == 1 && kvmig__str_eq(allowed->names.v[0], c->vmi->node));
}

static void check_affinity(const struct kvmig__kube_check *c, const char *claim, const struct kvmig__kube_pv *pv)
{
    const struct kvmig__strlist *allowed;
    struct kvmig__detail d = { 0 };
    char *names;

    if (!pv->node_required.n || admits_target(c, pv))
        return;
    allowed = &nodes_of_volume(c, pv)->names;
    names = kvmig__strlist_join(allowed, ", ");
    kvmig__detail_str(&d, "claim", claim);
    kvmig__detail_list(&d, "allowed_nodes", allowed);
    kvmig__kube_note(c, "PV_NODE_AFFINITY", KVMIG_SEVERITY_BLOCKER, kvmig__asprintf("pv/%s", pv->meta.name), &d,
                     "Choose a node that the volume admits, or move it to another claim (volume migration).",
                     "The volume of claim %s can be used on %s only, whatever its access mode.", claim,
                     allowed->n ? names : "other nodes");
    free(names);
}

/* ---- a claim without a volume yet: where can one be made? ---- */

static void check_selected(const struct kvmig__kube_check *c, const struct kvmig__kube_pvc *pvc)
{
    const char *node = kvmig__pairs_get(&pvc->meta.annotations, SELECTED_NODE);
    struct kvmig__strlist allowed = { 0 };
    struct kvmig__detail d = { 0 };

    if (!node || !c->target_name || !strcmp(node, c->target_name))
        return;
    kvmig__strlist_add(&allowed, node);
    kvmig__detail_str(&d, "claim", pvc->meta.name);
    kvmig__detail_list(&d, "allowed_nodes", &allowed);
    kvmig__kube_note(c, "PV_NODE_AFFINITY", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_claim(c, pvc->meta.name), &d,
                     "Choose that node, or make another claim.", "The volume of claim %s is being made for node %s.",
                     pvc->meta.name, node);
    kvmig__strlist_clear(&allowed);
}

static void check_topology(const struct kvmig__kube_check *c, const struct kvmig__kube_pvc *pvc)
{
    const struct kvmig__kube_storage_class *class = KVMIG__KUBE_FIND(c->kube, STORAGE_CLASS, NULL, pvc->storage_class);
    struct kvmig__detail d = { 0 };

    if (!class || !c->target || !kvmig__str_eq(class->binding_mode, "WaitForFirstConsumer") ||
        kvmig__terms_hold(&class->topologies, &c->target->meta.labels, c->target->meta.name))
        return;
    kvmig__detail_str(&d, "claim", pvc->meta.name);
    kvmig__detail_str(&d, "storage_class", class->meta.name);
    kvmig__kube_note(c, "STORAGE_TOPOLOGY_MISMATCH", KVMIG_SEVERITY_BLOCKER, kvmig__kube_object_target(c), &d,
                     "Choose a node in a topology of the class, or a claim of another class.",
                     "Claim %s waits for its consumer, and class %s makes no volumes for node %s.", pvc->meta.name,
                     class->meta.name, c->target_name);
}

/* ---- of all volumes ---- */

/* Which claim the target opens. A throw-away overlay has a claim below it. */
static const char *claim_there(const struct kvmig__kube_drive *drive)
{
    if (drive->moves_to)
        return drive->moves_to;
    return kvmig__str_eq(drive->volume->kind, "ephemeral") ? drive->volume->claim : drive->claim;
}

static const struct kvmig__kube_pvc *pvc_there(const struct kvmig__kube_check *c, size_t volume)
{
    struct kvmig__kube_drive drive;

    kvmig__kube_drive(c, volume, &drive);
    return KVMIG__KUBE_FIND(c->kube, PVC, c->vmi->meta.ns, claim_there(&drive));
}

static bool is_unbound(const struct kvmig__kube_pvc *pvc)
{
    return !pvc->volume && kvmig__str_eq(pvc->phase, "Pending");
}

bool kvmig__kube_has_places(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->volumes.n; i++) {
        const struct kvmig__kube_pvc *pvc = pvc_there(c, i);
        const struct kvmig__kube_pv *pv = kvmig__kube_pv_of(c, pvc);

        if (pv ? pv->node_required.n != 0 : pvc && is_unbound(pvc))
            return true;
    }
    return false;
}

void kvmig__kube_check_reach(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->volumes.n; i++) {
        const struct kvmig__kube_pvc *pvc = pvc_there(c, i);
        const struct kvmig__kube_pv *pv = kvmig__kube_pv_of(c, pvc);

        if (pv)
            check_affinity(c, pvc->meta.name, pv);
        if (!pvc || !is_unbound(pvc))
            continue;
        check_selected(c, pvc);
        check_topology(c, pvc);
    }
}

/* ---- the storage itself, as seen from the VM ---- */

static void check_local(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive)
{
    const struct kvmig__kube_pv *pv = kvmig__kube_pv_of(c, drive->pvc);
    bool consent = c->request->flags & KVMIG_PLAN_UNSAFE;
    struct kvmig__detail d = { 0 };

    if (!kvmig__kube_claim_is_local(c, drive->pvc) || !drive->modes || !kvmig__strlist_has(drive->modes, RWX))
        return;
    kvmig__detail_str(&d, "type", pv->type);
    kvmig__detail_str(&d, "claim", drive->claim);
    kvmig__kube_note(
        c, "RWX_ON_LOCAL_PV", consent ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_BLOCKER,
        kvmig__asprintf("pv/%s", pv->meta.name), &d,
        "Use storage that all nodes reach; or plan with consent (unsafe) if the path is one file system on "
        "all nodes.",
        "Claim %s says ReadWriteMany, but its volume is %s: a path that each node has for itself.", drive->claim,
        pv->type);
}

static void check_class(const struct kvmig__kube_check *c, const struct kvmig__kube_drive *drive)
{
    const char *name = drive->pvc ? drive->pvc->storage_class : NULL;
    const struct kvmig__kube_storage_class *class = KVMIG__KUBE_FIND(c->kube, STORAGE_CLASS, NULL, name);
    struct kvmig__detail d = { 0 };

    if (!class || !kvmig__str_eq(class->provisioner, "driver.longhorn.io") ||
        kvmig__str_eq(kvmig__pairs_get(&class->parameters, "migratable"), "true") || !drive->modes ||
        !kvmig__strlist_has(drive->modes, RWX) || kvmig__str_eq(drive->pvc->volume_mode, "Filesystem"))
        return;
    kvmig__detail_str(&d, "parameter", "migratable");
    kvmig__detail_str(&d, "claim", drive->claim);
    kvmig__kube_note(c, "STORAGE_CLASS_NOT_MIGRATABLE", KVMIG_SEVERITY_WARN, kvmig__asprintf("storageclass/%s", name),
                     &d, "Use a class with migratable: \"true\", and move the volume to a claim of it.",
                     "Storage class %s lacks the parameter that lets two nodes attach a volume at once.", name);
}

void kvmig__kube_check_storage(const struct kvmig__kube_check *c)
{
    for (size_t i = 0; i < c->vmi->volumes.n; i++) {
        struct kvmig__kube_drive drive;

        kvmig__kube_drive(c, i, &drive);
        if (drive.moves_to || !drive.pvc)
            continue;
        check_local(c, &drive);
        check_class(c, &drive);
    }
}
