/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The explanation of a migration in KubeVirt: the chain from the VMIM down to what blocks it, subject by subject in
 * explain_kube_*.c. It reads the store and the follower, and concludes nothing from objects that could not be read: those are named
 * instead. Within normal times everything is INFO. Pure; the caller's thread; borrows all but the explanation.
 */
#include "session/explain_kube.h"

#include <stdlib.h>

/* KubeVirt's controller looks at a new VMIM within a second. */
#define CONTROLLER_WARN_S 15
#define CONTROLLER_ERROR_S 60
#define SYNC_WARN_S 60

/* ---- the head of the chain ---- */

static const char *head_code(const struct kvmig__explain *x)
{
    if (x->follow->stage < KVMIG__STAGE_RUNNING)
        return "WAITING";
    return x->follow->postcopy_seen && !x->follow->completed ? "POSTCOPY_ACTIVE" : "RUNNING";
}

static void add_head(const struct kvmig__explain *x)
{
    const struct kvmig__follow *follow = x->follow;
    const bool postcopy = follow->postcopy_seen && !follow->completed;
    struct kvmig__wait *wait = kvmig__explain_link(
        x, head_code(x), postcopy ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_INFO, 0,
        kvmig__explain_name("migration", follow->ns, follow->vmim), "phase %s", kvmig__stage_name(follow->stage));

    wait->since_ms = follow->stage_since_ms;
    if (follow->stage == KVMIG__STAGE_PENDING && x->hotplug)
        wait->evidence =
            kvmig__strdup("the VM has hotplugged volumes: the phase lasts until the target launcher and its "
                          "attachment pod are ready");
}

/* ---- phases before Pending ---- */

static void explain_unseen(const struct kvmig__explain *x)
{
    struct kvmig__wait *wait =
        kvmig__explain_link(x, "CONTROLLER_SILENT",
                            kvmig__explain_grade(x, x->follow->stage_since_ms, CONTROLLER_WARN_S, CONTROLLER_ERROR_S),
                            1, kvmig__strdup("cluster"), "KubeVirt's controller has not looked at the migration yet");

    wait->since_ms = x->follow->stage_since_ms;
    wait->hint = kvmig__strdup("If it stays so, see whether virt-controller runs.");
}

static void explain_sync(const struct kvmig__explain *x)
{
    static const char blocked_type[] = "decentralizedMigrationBlocked";
    const struct kvmig__kube_condition *blocked =
        x->vmim ? kvmig__kube_condition(&x->vmim->conditions, blocked_type) : NULL;
    const bool is_blocked = blocked && kvmig__str_eq(blocked->status, "True");
    int32_t severity = kvmig__explain_grade(x, x->follow->stage_since_ms, SYNC_WARN_S, 0);
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(x, is_blocked ? "SYNC_BLOCKED" : "SYNC_PENDING",
                               is_blocked ? KVMIG_SEVERITY_ERROR : severity, 1, kvmig__strdup("cluster"),
                               "the %s of this migration between clusters or namespaces has not answered",
                               x->follow->stage == KVMIG__STAGE_WAITING_FOR_SYNC ? "source" : "target");
    wait->since_ms = x->follow->stage_since_ms;
    if (is_blocked)
        wait->evidence = kvmig__asprintf("condition %s: %s", blocked_type, blocked->message ? blocked->message : "");
    wait->hint =
        kvmig__strdup("Both migrations must name the same migrationID, and each cluster must reach the other's "
                      "synchronization address.");
}

/* ---- what cannot be seen ---- */

static void add_invisible(const struct kvmig__explain *x)
{
    static const struct {
        int32_t kind;
        const char *loss;
    } kinds[] = {
        { KVMIG__KUBE_POD, "why a target or attachment pod waits" },
        { KVMIG__KUBE_EVENT, "refused pods, volumes and networks that are not ready, and causes of failures" },
        { KVMIG__KUBE_VMIM, "other migrations, and so slots and the queue" },
        { KVMIG__KUBE_NODE, "which labels nodes lack, and whether they are ready" },
        { KVMIG__KUBE_KUBEVIRT, "the cluster's limits; KubeVirt's defaults are assumed" },
        { KVMIG__KUBE_QUOTA, "which quota is exhausted" },
        { KVMIG__KUBE_SLICE, "whether services have followed the guest" },
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(kinds); i++) {
        const char *plural = kvmig__kube_kind_info(kinds[i].kind)->plural;
        struct kvmig__wait *wait;

        if (x->kube->kinds[kinds[i].kind].known != KVMIG__KUBE_FORBIDDEN)
            continue;
        wait = kvmig__explain_link(x, "NOT_VISIBLE", KVMIG_SEVERITY_INFO, 0, kvmig__strdup("cluster"),
                                   "%s may not be read, so this is not seen: %s", plural, kinds[i].loss);
        wait->hint = kvmig__asprintf("Allow the account to list and watch %s.", plural);
    }
}

/* ---- putting it together ---- */

/* Each link waits for the first one below it, unless it says itself for what. */
static void join_links(struct kvmig_explanation *explanation)
{
    struct kvmig__wait *v = explanation->waits.v;

    for (size_t i = 0; i < explanation->waits.n; i++) {
        for (size_t j = i + 1; !v[i].waits_for && j < explanation->waits.n && v[j].depth > v[i].depth; j++) {
            if (v[j].depth == v[i].depth + 1)
                v[i].waits_for = kvmig__strdup(v[j].object);
        }
    }
}

static void explain_open(const struct kvmig__explain *x)
{
    add_head(x);
    switch (x->follow->stage) {
    case KVMIG__STAGE_NONE:
        explain_unseen(x);
        break;
    case KVMIG__STAGE_WAITING_FOR_SYNC:
    case KVMIG__STAGE_SYNCHRONIZING:
        explain_sync(x);
        break;
    case KVMIG__STAGE_PENDING:
        kvmig__explain_pending(x);
        kvmig__explain_pods(x, 1);
        break;
    case KVMIG__STAGE_SCHEDULING:
        kvmig__explain_pods(x, 1);
        break;
    case KVMIG__STAGE_RUNNING:
        kvmig__explain_copy(x);
        kvmig__explain_endpoints(x);
        break;
    default:
        kvmig__explain_preparation(x);
        break;
    }
    kvmig__explain_cancel(x);
}

static void explain_migration(struct kvmig__explain *x)
{
    const struct kvmig__kube_vmim key = {
        .meta = { .ns = x->follow->ns, .name = x->follow->vmim, .uid = x->follow->vmim_uid }
    };
    const int32_t stage = x->follow->stage;
    const bool over = stage == KVMIG__STAGE_SUCCEEDED || stage == KVMIG__STAGE_FAILED || x->follow->gone ||
                      x->follow->end == KVMIG__END_LOST;

    x->target = kvmig__kube_target_pod(x->kube, &key);
    x->attachment = kvmig__kube_attachment_pod(x->kube, &key);
    if (x->vmi && !over) {
        explain_open(x);
    } else {
        kvmig__explain_end(x);
        if (x->follow->end == KVMIG__END_MOVED)
            kvmig__explain_endpoints(x);
        if (x->vmi) /* KubeVirt tries a volume migration again and again */
            kvmig__explain_volumes(x);
    }
    kvmig__explain_left(x);
    add_invisible(x);
    join_links(x->to);
}

static void explain_nothing(const struct kvmig__explain *x)
{
    const bool waits = x->vmi && kvmig__explain_volumes(x);

    kvmig__explain_left(x);
    add_invisible(x);
    join_links(x->to);
    if (!x->to->summary && !waits)
        x->to->summary =
            kvmig__asprintf("%s/%s: no migration is under way, and none is on record", x->follow->ns, x->follow->vmi);
}

void kvmig__explain_kube(struct kvmig_explanation *explanation, const struct kvmig__kube *kube,
                         const struct kvmig__kube_vmi *vmi, const struct kvmig__kube_vmim *vmim,
                         const struct kvmig__follow *follow, int64_t now_ms)
{
    struct kvmig__explain x = {
        .to = explanation, .kube = kube, .vmi = vmi, .vmim = vmim, .follow = follow, .now_ms = now_ms
    };
    struct kvmig__follow own = { 0 };

    if (!follow && !vmi)
        return;
    if (!follow) {
        kvmig__follow_init(&own, vmi, vmim);
        kvmig__follow_update(&own, kube, now_ms);
        x.follow = &own;
    }
    x.pods_known = kvmig__kube_is_known(kube, KVMIG__KUBE_POD);
    x.hotplug = vmi && kvmig__vmi_has_hotplug(vmi);
    if (x.follow->vmim)
        explain_migration(&x);
    else
        explain_nothing(&x);
    kvmig__follow_clear(&own);
}
