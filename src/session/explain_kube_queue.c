/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a Pending migration in KubeVirt queues for: slots of the cluster and of its node, room in a quota, the end of a back-off.
 * Worked out from the other migrations, since no event or condition tells of slots. Pure; the caller's thread.
 */
#include "session/explain_kube.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define UNSEEN_WARN_S 120
#define BACKOFF_FIRST_S 20
#define BACKOFF_MAX_S 1000000 /* no more than a sum that cannot overflow: KubeVirt itself has no maximum */

/* ---- slots ---- */

/* "ns1/mig1, ns1/mig2": who holds the slots; of one node if node is given. Owned. */
static char *holders(const struct kvmig__explain *x, const char *node)
{
    struct kvmig__strlist names = { 0 };
    char *text;

    kvmig__kube_slot_holders(x->kube, node, &names);
    text = kvmig__strlist_join(&names, ", ");
    kvmig__strlist_clear(&names);
    return text;
}

static void add_limit_reached(const struct kvmig__explain *x, const char *node, uint64_t active, uint64_t limit,
                              const char *option)
{
    const uint32_t position = kvmig__kube_queue_position(x->kube, x->vmim);
    char *who = holders(x, node),
         *place = position ? kvmig__asprintf("; place %" PRIu32 " in the queue", position) : NULL;
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(x, "LIMIT_REACHED", KVMIG_SEVERITY_INFO, 1,
                               node ? kvmig__explain_name("node", NULL, node) : kvmig__strdup("cluster"),
                               "%" PRIu64 " of %" PRIu64 " slots for migrations %s are taken%s", active, limit,
                               node ? "out of this node" : "of the cluster", place ? place : "");
    wait->evidence = kvmig__asprintf("under way: %s", who);
    wait->since_ms = x->follow->stage_since_ms;
    wait->hint =
        kvmig__asprintf("It starts when another migration ends. KubeVirt's own (evictions, updates) overtake it. The "
                        "limit is %s.",
                        option);
    free(who);
    free(place);
}

/* In a view of a part of the cluster the other migrations are not seen: a full queue looks like a fault. */
bool kvmig__explain_slots_unseen(const struct kvmig__explain *x)
{
    const int64_t since = x->follow->stage_since_ms;
    struct kvmig__kube_slots slots;
    struct kvmig__wait *wait;

    kvmig__kube_slots(x->kube, x->vmi->node, &slots);
    if (slots.known)
        return false;
    wait = kvmig__explain_link(x, "NOT_VISIBLE", kvmig__explain_grade(x, since, UNSEEN_WARN_S, 0), 1,
                               kvmig__strdup("cluster"),
                               "KubeVirt has not created the target pod; the slots of the cluster are not visible");
    wait->since_ms = since;
    wait->hint =
        kvmig__strdup("It may wait for a slot (parallelMigrationsPerCluster, parallelOutboundMigrationsPerNode): "
                      "an account that may list migrations and VMs in all namespaces sees the queue. If there "
                      "is none, virt-controller's log tells why the pod is not made.");
    return true;
}

bool kvmig__explain_slots(const struct kvmig__explain *x)
{
    struct kvmig__kube_slots slots;
    bool cluster_full, node_full;

    if (!x->vmim || !x->pods_known)
        return false;
    kvmig__kube_slots(x->kube, x->vmi->node, &slots);
    cluster_full = slots.known && slots.running >= slots.limit;
    node_full = slots.known && x->vmi->node && slots.outbound >= slots.outbound_limit;
    if (cluster_full)
        add_limit_reached(x, NULL, slots.running, slots.limit, "parallelMigrationsPerCluster");
    if (node_full)
        add_limit_reached(x, x->vmi->node, slots.outbound, slots.outbound_limit, "parallelOutboundMigrationsPerNode");
    return cluster_full || node_full;
}

/* ---- quota ---- */

static void add_part(const char *message, const char *from, const char *to, const char *key, struct kvmig__detail *out)
{
    const char *begin = message ? strstr(message, from) : NULL, *end = NULL;
    char *text;

    if (!begin)
        return;
    begin += strlen(from);
    end = to ? strstr(begin, to) : NULL;
    text = kvmig__strndup(begin, end ? (size_t)(end - begin) : strcspn(begin, "\n\""));
    kvmig__detail_str(out, key, text);
    free(text);
}

void kvmig__quota_detail(const char *message, struct kvmig__detail *out)
{
    add_part(message, "exceeded quota: ", ",", "quota", out);
    add_part(message, "requested: ", ", used: ", "requested", out);
    add_part(message, "used: ", ", limited: ", "used", out);
    add_part(message, "limited: ", NULL, "limited", out);
}

/* The quota that the refusal names, or else the only one of the namespace. */
static const struct kvmig__kube_quota *quota_named(const struct kvmig__explain *x, const char *text)
{
    const struct kvmig__kube_quota *only = NULL;
    size_t n = 0;

    KVMIG__KUBE_EACH(x->kube, QUOTA, quota)
    {
        if (!kvmig__str_eq(quota->meta.ns, x->vmi->meta.ns))
            continue;
        if (text && quota->meta.name && strstr(text, quota->meta.name))
            return quota;
        only = quota;
        n++;
    }
    return n == 1 ? only : NULL;
}

bool kvmig__explain_quota(const struct kvmig__explain *x)
{
    const struct kvmig__kube_event *event =
        kvmig__explain_event(x, &x->vmi->meta, "FailedCreate", x->follow->created_ms);
    const char *refusal = event && event->message && strstr(event->message, "exceeded quota") ? event->message : NULL;
    const struct kvmig__kube_quota *quota;
    struct kvmig__wait *wait;

    if (!x->follow->quota && !refusal)
        return false;
    quota = quota_named(x, refusal ? refusal : x->follow->quota);
    wait = kvmig__explain_link(x, "QUOTA_EXCEEDED", KVMIG_SEVERITY_ERROR, 1,
                               quota ? kvmig__explain_name("resourcequota", quota->meta.ns, quota->meta.name)
                                     : kvmig__explain_name("vm", x->vmi->meta.ns, x->vmi->meta.name),
                               "the namespace's quota has no room for a second launcher of the VM");
    wait->evidence = kvmig__strdup(refusal ? refusal : x->follow->quota);
    kvmig__quota_detail(wait->evidence, &wait->detail);
    wait->since_ms = event && refusal ? event->first_ms : x->follow->stage_since_ms;
    wait->hint =
        kvmig__strdup("While it moves the VM counts twice: raise the quota, or free as much as the VM's launcher "
                      "requests.");
    return true;
}

/* ---- back-off ---- */

static bool is_controllers(const struct kvmig__kube_vmim *vmim)
{
    return kvmig__pairs_get(&vmim->meta.annotations, "kubevirt.io/evacuationMigration") ||
           kvmig__pairs_get(&vmim->meta.annotations, "kubevirt.io/workloadUpdateMigration");
}

/* The newest one of this VMI that a controller created before before_ms. */
static const struct kvmig__kube_vmim *predecessor(const struct kvmig__explain *x, const struct kvmig__kube_vmim *of)
{
    const struct kvmig__kube_vmim *newest = NULL;

    KVMIG__KUBE_EACH(x->kube, VMIM, vmim)
    {
        if (vmim == of || !kvmig__str_eq(vmim->meta.ns, of->meta.ns) || !kvmig__str_eq(vmim->vmi, of->vmi) ||
            !is_controllers(vmim) || vmim->meta.created_ms >= of->meta.created_ms)
            continue;
        if (!newest || vmim->meta.created_ms > newest->meta.created_ms)
            newest = vmim;
    }
    return newest;
}

static int64_t failed_at(const struct kvmig__kube_vmim *vmim)
{
    for (size_t i = 0; i < vmim->transitions.n; i++) {
        if (kvmig__str_eq(vmim->transitions.v[i].phase, "Failed"))
            return vmim->transitions.v[i].at_ms;
    }
    return 0;
}

/* 20 s, doubled for each failure in a row, counted from the newest failure on. */
static int64_t backoff_end(const struct kvmig__explain *x, int64_t *out_seconds)
{
    const struct kvmig__kube_vmim *newest = predecessor(x, x->vmim);
    int64_t seconds = 0;

    for (const struct kvmig__kube_vmim *vmim = newest; vmim; vmim = predecessor(x, vmim)) {
        if (kvmig__str_eq(vmim->phase, "Succeeded"))
            break;
        if (kvmig__str_eq(vmim->phase, "Failed") && seconds < BACKOFF_MAX_S)
            seconds = seconds ? seconds * 2 : BACKOFF_FIRST_S;
    }
    *out_seconds = seconds;
    return newest && seconds && failed_at(newest) ? failed_at(newest) + seconds * 1000 : 0;
}

bool kvmig__explain_backoff(const struct kvmig__explain *x)
{
    const struct kvmig__kube_event *event;
    struct kvmig__wait *wait;
    int64_t end, seconds;

    if (!x->vmim || !is_controllers(x->vmim))
        return false;
    event = kvmig__explain_event(x, &x->vmi->meta, "MigrationBackoff", x->follow->created_ms);
    end = backoff_end(x, &seconds);
    if (end ? x->now_ms >= end : !event)
        return false;
    wait = kvmig__explain_link(x, "MIGRATION_BACKOFF", KVMIG_SEVERITY_INFO, 1,
                               kvmig__explain_name("vm", x->vmi->meta.ns, x->vmi->meta.name),
                               "KubeVirt waits after earlier migrations of this VM that failed");
    if (event)
        wait->evidence = kvmig__asprintf("event MigrationBackoff: %s", event->message ? event->message : "");
    wait->since_ms = x->follow->stage_since_ms;
    if (end)
        kvmig__explain_limit(wait, end - seconds * 1000, seconds, "back-off since the last failure");
    wait->hint = kvmig__strdup("See why the earlier migrations failed: the next one meets the same cause.");
    return true;
}
