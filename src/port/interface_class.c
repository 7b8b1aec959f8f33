/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rules by which an interface is live, initialising, orphan or unknown. Pure: facts, the memory of the last pass
 * and the time come in, decisions and the next memory go out. It does not read databases, and removes nothing.
 *
 * Every rule errs on the side of keeping. An orphan needs four things at once: an inventory without gaps, an identity
 * that is known and unique on the node, no workload that has or may have this identity here, and age. Each pass in
 * which one of them is missing begins the count of passes anew.
 *
 * Any thread; what is in a view is borrowed from the caller, what is in memories is owned by them.
 */
#include "port/interface_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Longest value of a Kubernetes label; that of a VM whose name is longer is shortened to exactly this, with a hash. */
#define LABEL_MAX 63

/* ---- identity ---- */

static bool is_empty(const char *s)
{
    return !s || !*s;
}

static bool same_id(const char *a, const char *b)
{
    if (is_empty(a) || is_empty(b))
        return false;
    return strcmp(a, b) == 0 || (kvmig__is_uuid(a) && kvmig__is_uuid(b) && strcasecmp(a, b) == 0);
}

/* A launcher's own name is no identity: the interface of a VM outlives the pod's name. */
static bool has_id(const struct kvmig_workload *workload, const char *id)
{
    return same_id(workload->domain, id) || same_id(workload->vmi_id, id) ||
           (workload->kind != KVMIG_WORKLOAD_LAUNCHER && same_id(workload->name, id));
}

/* Whether a launcher whose full name is not told may be that of a VM called id. */
static bool may_have_id(const struct kvmig_workload *workload, const char *id)
{
    if (workload->kind != KVMIG_WORKLOAD_LAUNCHER || !is_empty(workload->domain))
        return false;
    if (is_empty(workload->vmi_id))
        return true;
    return strlen(id) > LABEL_MAX && strlen(workload->vmi_id) >= LABEL_MAX;
}

enum kvmig__iface_relation kvmig__iface_relate(const struct kvmig_interface *interface,
                                               const struct kvmig_workload *workload)
{
    const bool iface_bare = is_empty(interface->vm_namespace), workload_bare = is_empty(workload->pod_namespace);
    const char *id = interface->vm_id;

    if (is_empty(id))
        return KVMIG__IFACE_STRANGER;
    if (iface_bare != workload_bare) /* one of them lacks what the other has: not comparable */
        return has_id(workload, id) || may_have_id(workload, id) ? KVMIG__IFACE_PERHAPS : KVMIG__IFACE_STRANGER;
    if (!iface_bare && strcmp(interface->vm_namespace, workload->pod_namespace) != 0)
        return KVMIG__IFACE_STRANGER;
    if (has_id(workload, id))
        return KVMIG__IFACE_USER;
    if (may_have_id(workload, id))
        return KVMIG__IFACE_PERHAPS;
    if (workload->kind != KVMIG_WORKLOAD_LAUNCHER)
        return KVMIG__IFACE_STRANGER;
    if (same_id(workload->name, id))
        return KVMIG__IFACE_POD_NAME;
    return same_id(workload->display_name, id) ? KVMIG__IFACE_DISPLAY_NAME : KVMIG__IFACE_STRANGER;
}

bool kvmig__workload_is_alive(const struct kvmig_workload *workload)
{
    return workload->phase != KVMIG_WORKLOAD_SUCCEEDED && workload->phase != KVMIG_WORKLOAD_FAILED;
}

bool kvmig__iface_is_operated(const struct kvmig__iface_view *view, const struct kvmig_interface *interface)
{
    for (size_t i = 0; i < view->n_operations; i++) {
        if (kvmig__str_eq(view->operations[i], interface->iface_id))
            return true;
    }
    return false;
}

/* ---- what the workloads say of one interface ---- */

struct testimony {
    const struct kvmig_workload *user; /* the one that speaks best for it: alive, here or not placed yet */
    bool perhaps, pod_name; /* somebody alive here may be the user, or is a launcher of that name */
    bool finished, elsewhere, display_name; /* signs of who it was */
    bool same_sort; /* the inventory has workloads with, or without, a namespace, as the interface has it */
};

/* How well a workload explains the interface; the surest one is told. */
static int rank(const struct kvmig_workload *workload)
{
    if (workload->phase == KVMIG_WORKLOAD_PHASE_UNKNOWN)
        return 1;
    if (is_empty(workload->node))
        return 2;
    if (workload->terminating)
        return 3;
    return workload->phase == KVMIG_WORKLOAD_PENDING ? 4 : 5;
}

static void hear(struct testimony *out, const struct kvmig_workload *workload, enum kvmig__iface_relation relation,
                 const char *node)
{
    const bool alive = kvmig__workload_is_alive(workload);
    const bool here = is_empty(workload->node) || strcmp(workload->node, node) == 0;

    switch (relation) {
    case KVMIG__IFACE_USER:
        if (!here)
            out->elsewhere |= alive;
        else if (!alive)
            out->finished = true;
        else if (!out->user || rank(workload) > rank(out->user))
            out->user = workload;
        break;
    case KVMIG__IFACE_PERHAPS:
        out->perhaps |= alive && here;
        break;
    case KVMIG__IFACE_POD_NAME:
        out->pod_name |= alive && here;
        break;
    case KVMIG__IFACE_DISPLAY_NAME:
        out->display_name = true;
        break;
    case KVMIG__IFACE_STRANGER:
        break;
    }
}

static struct testimony hear_all(const struct kvmig__iface_view *view, const struct kvmig_interface *interface)
{
    struct testimony testimony = { .user = NULL };

    for (size_t i = 0; i < view->n_workloads; i++) {
        const struct kvmig_workload *workload = &view->workloads[i];

        testimony.same_sort |= is_empty(interface->vm_namespace) == is_empty(workload->pod_namespace);
        hear(&testimony, workload, kvmig__iface_relate(interface, workload), view->node);
    }
    return testimony;
}

/* ---- the decision ---- */

static void decide(struct kvmig__iface_decision *decision, int32_t interface_class, int32_t reason)
{
    decision->interface_class = interface_class;
    decision->reason = reason;
}

/* It has a user that runs here, or is being ended. reason is what to say if nothing is wrong. */
static void decide_used(struct kvmig__iface_decision *decision, const struct kvmig_interface *interface,
                        int64_t settle_ms, int32_t reason)
{
    const bool ends = reason == KVMIG_INTERFACE_REASON_TERMINATING; /* what is missing then is on its way out */

    if (interface->ofport <= 0)
        decide(decision, KVMIG_INTERFACE_INITIALISING, ends ? reason : KVMIG_INTERFACE_REASON_NO_OFPORT);
    else if (!interface->ovn_installed)
        decide(decision, KVMIG_INTERFACE_INITIALISING, ends ? reason : KVMIG_INTERFACE_REASON_NOT_INSTALLED);
    else if (decision->installed_for_ms < settle_ms)
        decide(decision, KVMIG_INTERFACE_INITIALISING, ends ? reason : KVMIG_INTERFACE_REASON_SETTLING);
    else
        decide(decision, KVMIG_INTERFACE_LIVE, reason);
}

static void decide_with_user(struct kvmig__iface_decision *decision, const struct kvmig_interface *interface,
                             const struct kvmig_workload *user, int64_t settle_ms)
{
    if (user->phase == KVMIG_WORKLOAD_PHASE_UNKNOWN)
        decide(decision, KVMIG_INTERFACE_UNKNOWN, KVMIG_INTERFACE_REASON_PHASE_UNKNOWN);
    else if (is_empty(user->node))
        decide(decision, KVMIG_INTERFACE_INITIALISING, KVMIG_INTERFACE_REASON_UNPLACED);
    else if (user->terminating)
        decide_used(decision, interface, settle_ms, KVMIG_INTERFACE_REASON_TERMINATING);
    else if (user->phase == KVMIG_WORKLOAD_PENDING)
        decide(decision, KVMIG_INTERFACE_INITIALISING, KVMIG_INTERFACE_REASON_PENDING);
    else
        decide_used(decision, interface, settle_ms, KVMIG_INTERFACE_REASON_RUNNING);
}

static void decide_unused(struct kvmig__iface_decision *decision, const struct testimony *testimony, int64_t grace_ms)
{
    int32_t reason = KVMIG_INTERFACE_REASON_NO_WORKLOAD;

    if (testimony->finished)
        reason = KVMIG_INTERFACE_REASON_FINISHED;
    else if (testimony->elsewhere)
        reason = KVMIG_INTERFACE_REASON_ELSEWHERE;
    else if (testimony->display_name)
        reason = KVMIG_INTERFACE_REASON_DISPLAY_NAME;
    if (decision->age_ms >= grace_ms) {
        decide(decision, KVMIG_INTERFACE_ORPHAN, reason);
        return;
    }
    /* Its workload may not be in the inventory yet: the network is set up before a pod is seen to run. */
    decide(decision, KVMIG_INTERFACE_INITIALISING, KVMIG_INTERFACE_REASON_YOUNG);
    decision->otherwise = reason;
}

/* The order is part of the rules: what makes the rest meaningless comes first. */
static void decide_one(struct kvmig__iface_decision *decision, const struct kvmig__iface_view *view,
                       const struct kvmig_interface *interface, bool duplicate)
{
    struct testimony testimony;

    if (view->inventory_error || !view->workloads) {
        decide(decision, KVMIG_INTERFACE_UNKNOWN, KVMIG_INTERFACE_REASON_NO_INVENTORY);
        return;
    }
    if (duplicate) {
        decide(decision, KVMIG_INTERFACE_UNKNOWN, KVMIG_INTERFACE_REASON_DUPLICATE);
        return;
    }
    if (is_empty(interface->iface_id) || is_empty(interface->vm_id) ||
        (interface->vm_namespace && !*interface->vm_namespace)) {
        decide(decision, KVMIG_INTERFACE_UNKNOWN, KVMIG_INTERFACE_REASON_NO_ID);
        return;
    }
    if (kvmig__iface_is_operated(view, interface)) {
        decide(decision, KVMIG_INTERFACE_INITIALISING, KVMIG_INTERFACE_REASON_OPERATION);
        return;
    }
    testimony = hear_all(view, interface);
    if (testimony.user)
        decide_with_user(decision, interface, testimony.user, view->settle_ms);
    else if (testimony.perhaps)
        decide(decision, KVMIG_INTERFACE_UNKNOWN, KVMIG_INTERFACE_REASON_UNRESOLVED);
    else if (testimony.pod_name)
        decide(decision, KVMIG_INTERFACE_UNKNOWN, KVMIG_INTERFACE_REASON_POD_NAME);
    else if (view->n_workloads && !testimony.same_sort) /* a list of domains says nothing of pods, nor the reverse */
        decide(decision, KVMIG_INTERFACE_UNKNOWN, KVMIG_INTERFACE_REASON_NO_INVENTORY);
    else
        decide_unused(decision, &testimony, view->grace_ms);
}

/* ---- memory ---- */

static int by_uuid(const void *a, const void *b)
{
    return strcmp(((const struct kvmig__iface_memory *)a)->uuid, ((const struct kvmig__iface_memory *)b)->uuid);
}

/* What is remembered of the row, if it is still the same interface of the same VM. */
static const struct kvmig__iface_memory *recall(const struct kvmig__iface_memories *memories,
                                                const struct kvmig_interface *interface)
{
    const struct kvmig__iface_memory key = { .uuid = (char *)interface->uuid }; /* only compared */
    const struct kvmig__iface_memory *memory =
        memories->n ? bsearch(&key, memories->v, memories->n, sizeof(key), by_uuid) : NULL;

    if (!memory || !kvmig__str_eq(memory->iface_id, interface->iface_id) ||
        !kvmig__str_eq(memory->vm_namespace, interface->vm_namespace) ||
        !kvmig__str_eq(memory->vm_id, interface->vm_id))
        return NULL;
    return memory;
}

/* A row that now belongs to somebody else is as young as that change, whatever the caller knows of the row. */
static int64_t first_seen(const struct kvmig__iface_view *view, const struct kvmig__iface_memories *before,
                          const struct kvmig__iface_memory *memory, const struct kvmig_interface *interface)
{
    const struct kvmig__iface_memory key = { .uuid = (char *)interface->uuid }; /* only compared */
    const bool told = interface->first_seen_ms > 0 && interface->first_seen_ms < view->now_ms;

    if (memory)
        return memory->first_seen_ms;
    if (before->n && bsearch(&key, before->v, before->n, sizeof(key), by_uuid))
        return view->now_ms;
    return told ? interface->first_seen_ms : view->now_ms;
}

/*
 * Since when the flag stands as it does, on the clock of the passes. The time stamp in the row is of another machine's
 * clock: it is believed at the first look, and later only as far as it does not contradict the pass before.
 */
static int64_t installed_since(const struct kvmig__iface_view *view, const struct kvmig__iface_memories *before,
                               const struct kvmig__iface_memory *memory, const struct kvmig_interface *interface)
{
    const int64_t ts = interface->ovn_installed_ts_ms;
    int64_t since = view->now_ms;

    if (memory && memory->installed && memory->installed_ts_ms == ts)
        return memory->installed_since_ms;
    if (ts > 0 && ts <= view->wall_ms)
        since -= view->wall_ms - ts;
    if (memory && since < before->now_ms) /* then it was otherwise */
        since = before->now_ms;
    return since;
}

static void remember(struct kvmig__iface_memory *out, const struct kvmig__iface_view *view,
                     const struct kvmig__iface_memories *before, const struct kvmig__iface_memory *memory,
                     const struct kvmig_interface *interface)
{
    out->uuid = kvmig__strdup(interface->uuid);
    out->iface_id = kvmig__strdup(interface->iface_id);
    out->vm_namespace = kvmig__strdup(interface->vm_namespace);
    out->vm_id = kvmig__strdup(interface->vm_id);
    out->first_seen_ms = first_seen(view, before, memory, interface);
    out->installed = interface->ovn_installed != 0;
    out->installed_ts_ms = interface->ovn_installed_ts_ms;
    out->installed_since_ms = installed_since(view, before, memory, interface);
}

void kvmig__iface_memories_clear(struct kvmig__iface_memories *memories)
{
    for (size_t i = 0; i < memories->n; i++) {
        free(memories->v[i].uuid);
        free(memories->v[i].iface_id);
        free(memories->v[i].vm_namespace);
        free(memories->v[i].vm_id);
    }
    free(memories->v);
    *memories = (struct kvmig__iface_memories){ .v = NULL };
}

/* ---- all of them ---- */

static int by_iface_id(const void *a, const void *b)
{
    return strcmp((*(const struct kvmig_interface *const *)a)->iface_id,
                  (*(const struct kvmig_interface *const *)b)->iface_id);
}

/* One flag per interface: another one has the same iface-id. Owned. */
static bool *find_duplicates(const struct kvmig__iface_view *view)
{
    bool *duplicate = kvmig__calloc(view->n_interfaces + 1, sizeof(*duplicate));
    const struct kvmig_interface **sorted =
        kvmig__calloc(view->n_interfaces + 1, sizeof(const struct kvmig_interface *));
    size_t n = 0;

    for (size_t i = 0; i < view->n_interfaces; i++) {
        if (!is_empty(view->interfaces[i].iface_id))
            sorted[n++] = &view->interfaces[i];
    }
    qsort(sorted, n, sizeof(*sorted), by_iface_id);
    for (size_t i = 1; i < n; i++) {
        if (by_iface_id(&sorted[i - 1], &sorted[i]) == 0)
            duplicate[sorted[i - 1] - view->interfaces] = duplicate[sorted[i] - view->interfaces] = true;
    }
    free(sorted);
    return duplicate;
}

void kvmig__ifaces_classify(const struct kvmig__iface_view *view, const struct kvmig__iface_memories *before,
                            struct kvmig__iface_memories *after, struct kvmig__iface_decision *decisions)
{
    bool *duplicate = find_duplicates(view);

    after->now_ms = view->now_ms;
    after->n = view->n_interfaces;
    after->v = kvmig__calloc(after->n + 1, sizeof(*after->v));
    for (size_t i = 0; i < view->n_interfaces; i++) {
        const struct kvmig_interface *interface = &view->interfaces[i];
        const struct kvmig__iface_memory *memory = recall(before, interface);
        struct kvmig__iface_decision *decision = &decisions[i];

        remember(&after->v[i], view, before, memory, interface);
        *decision = (struct kvmig__iface_decision){ .age_ms = view->now_ms - after->v[i].first_seen_ms };
        decision->installed_for_ms = interface->ovn_installed ? view->now_ms - after->v[i].installed_since_ms : -1;
        decide_one(decision, view, interface, duplicate[i]);
        if (decision->interface_class == KVMIG_INTERFACE_ORPHAN)
            decision->passes = memory && memory->orphan_passes < UINT32_MAX ? memory->orphan_passes + 1 : 1;
        decision->may_remove = decision->passes >= view->passes;
        after->v[i].orphan_passes = decision->passes;
    }
    qsort(after->v, after->n, sizeof(*after->v), by_uuid);
    free(duplicate);
}
