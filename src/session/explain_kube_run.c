/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a migration in KubeVirt waits for once it has its target pod: hand-over, preparation, the copy and its limit, what follows
 * the switch, the services' endpoints, and a cancel that has not taken effect. Pure; the caller's thread.
 */
#include "session/explain_kube.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HANDOVER_WARN_S 15
#define HANDOVER_ERROR_S 120
#define PREPARE_WARN_S 30
#define FINALIZE_WARN_S 30
#define RESIZE_WARN_S 60
#define ENDPOINTS_WARN_S 15
#define CANCEL_WARN_S 60

static char *node_name(const char *node)
{
    return kvmig__explain_name("node", NULL, node);
}

static char *vm_name(const struct kvmig__explain *x)
{
    return kvmig__explain_name("vm", x->vmi->meta.ns, x->vmi->meta.name);
}

/* ---- nodes under a migration ---- */

static void explain_node(const struct kvmig__explain *x, const char *name)
{
    const struct kvmig__kube_node *node = name ? KVMIG__KUBE_FIND(x->kube, NODE, NULL, name) : NULL;
    const struct kvmig__kube_condition *ready = node ? kvmig__kube_condition(&node->conditions, "Ready") : NULL;
    struct kvmig__wait *wait;

    if (!ready || kvmig__str_eq(ready->status, "True"))
        return;
    wait = kvmig__explain_link(x, "NODE_NOT_READY", KVMIG_SEVERITY_ERROR, 1, node_name(name),
                               "the node must be ready; what runs on it is not known now");
    wait->evidence = kvmig__asprintf("condition Ready is %s%s%s", ready->status ? ready->status : "unset",
                                     ready->message ? ": " : "", ready->message ? ready->message : "");
    wait->since_ms = ready->since_ms;
}

static void explain_nodes(const struct kvmig__explain *x)
{
    explain_node(x, x->follow->source_node);
    explain_node(x, x->follow->target_node);
}

/* ---- Scheduled, PreparingTarget, TargetReady ---- */

/* What virt-handler last complained of, since the phase began. */
static void add_complaint(const struct kvmig__explain *x, struct kvmig__wait *wait)
{
    const struct kvmig__kube_event *event =
        kvmig__explain_event(x, &x->vmi->meta, "SyncFailed", x->follow->stage_since_ms);

    if (!event)
        return;
    wait->evidence = kvmig__asprintf("event SyncFailed: %s", event->message ? event->message : "");
    wait->severity = KVMIG_SEVERITY_WARN;
}

static void explain_handover(const struct kvmig__explain *x)
{
    const struct kvmig__kube_event *event =
        x->vmim ? kvmig__explain_event(x, &x->vmim->meta, "FailedHandOver", x->follow->created_ms) : NULL;
    const int64_t since = x->follow->stage_since_ms;
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(x, "HANDOVER_PENDING", kvmig__explain_grade(x, since, HANDOVER_WARN_S, HANDOVER_ERROR_S),
                               1, vm_name(x), "KubeVirt hands the VM over to the target pod");
    wait->since_ms = since;
    if (event)
        wait->evidence = kvmig__asprintf("event FailedHandOver: %s", event->message ? event->message : "");
    kvmig__explain_launcher_limit(x, wait);
}

static void explain_target(const struct kvmig__explain *x)
{
    const int64_t since = x->follow->stage_since_ms;
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(x, "TARGET_PREPARING", kvmig__explain_grade(x, since, PREPARE_WARN_S, 0), 1,
                               node_name(x->follow->target_node),
                               "virt-handler there mounts disks, sets up the network and publishes its address");
    wait->since_ms = since;
    add_complaint(x, wait);
    kvmig__explain_launcher_limit(x, wait);
    wait->hint =
        kvmig__strdup("If it stays so, see virt-handler's log on the target. A cancel takes effect only once the copy "
                      "runs; deleting the target pod ends it at once.");
}

static void explain_source(const struct kvmig__explain *x)
{
    const int64_t since = x->follow->stage_since_ms;
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(x, "SOURCE_NOT_STARTED", kvmig__explain_grade(x, since, PREPARE_WARN_S, 0), 1,
                               node_name(x->follow->source_node), "virt-handler there starts the copy");
    wait->since_ms = since;
    add_complaint(x, wait);
    kvmig__explain_launcher_limit(x, wait);
    wait->hint = kvmig__strdup(
        "If it stays so, see virt-handler's log on the source, and whether the two nodes reach each other "
        "on any TCP port of the migration network.");
}

void kvmig__explain_preparation(const struct kvmig__explain *x)
{
    if (x->pods_known && x->target && !kvmig__pod_is_ready_for_kubevirt(x->target))
        kvmig__explain_pods(x, 1);
    if (x->follow->stage == KVMIG__STAGE_SCHEDULED)
        explain_handover(x);
    else if (x->follow->stage == KVMIG__STAGE_PREPARING_TARGET)
        explain_target(x);
    else
        explain_source(x);
    explain_nodes(x);
}

/* ---- Running ---- */

/* What KubeVirt does when the limit is over; NULL: it ends the copy. */
static const char *at_the_limit(const struct kvmig__explain *x, const struct kvmig__kube_config *config)
{
    if (config->workload_disruption <= 0 || x->follow->mode == KVMIG_MODE_PAUSED)
        return NULL;
    if (kvmig__vmi_has_vfio(x->vmi))
        return "then the guest may be paused for as long as it takes, and the limit doubles";
    return config->post_copy > 0 ? "then it switches to post-copy, which nothing ends"
                                 : "then the guest is paused, and the limit doubles";
}

/* The limit does not say all: what happens then, and what else ends a copy. */
static void tell_limits(const struct kvmig__explain *x, struct kvmig__wait *wait, int64_t since, uint64_t limit_ms)
{
    struct kvmig__kube_config now;
    const struct kvmig__kube_config *config = &x->follow->config;
    const char *then;
    char *text;

    kvmig__kube_config_for(x->kube, x->vmi, &now, NULL);
    if (config->completion_s_per_gb == KVMIG__UNKNOWN) /* not resolved for this migration */
        config = &now;
    then = at_the_limit(x, config);
    if (limit_ms)
        kvmig__explain_limit(wait, since, (int64_t)(limit_ms / 1000), "completion limit%s%s", then ? ", " : "",
                             then ? then : "");
    if (config->progress_s && config->progress_s != KVMIG__UNKNOWN) {
        text = kvmig__asprintf("%s%sprogress time-out (%" PRIu64 " s without fewer bytes left)",
                               wait->limit ? wait->limit : "", wait->limit ? "; " : "", config->progress_s);
        free(wait->limit);
        wait->limit = text;
    }
    kvmig__kube_config_clear(&now);
}

static void explain_copying(const struct kvmig__explain *x)
{
    const struct kvmig__follow *follow = x->follow;
    const uint64_t limit_ms = kvmig__follow_limit_ms(follow, x->kube, x->vmi);
    const int64_t since = follow->start_ms ? follow->start_ms : follow->stage_since_ms;
    const bool paused = follow->mode == KVMIG_MODE_PAUSED;
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(x, paused ? "GUEST_PAUSED_FOR_COPY" : "COPYING",
                               paused ? KVMIG_SEVERITY_WARN : KVMIG_SEVERITY_INFO, 1, node_name(follow->target_node),
                               paused ? "the guest is paused on the source until its memory is copied"
                                      : "the copy must end");
    wait->since_ms = since;
    tell_limits(x, wait, since, limit_ms);
    if (x->now_ms > wait->ends_ms && wait->ends_ms)
        wait->severity = KVMIG_SEVERITY_WARN;
}

static void explain_postcopy(const struct kvmig__explain *x)
{
    struct kvmig__wait *wait =
        kvmig__explain_link(x, "POSTCOPY_ACTIVE", KVMIG_SEVERITY_WARN, 1, node_name(x->follow->source_node),
                            "the guest runs on the target and fetches the rest of its memory");

    wait->since_ms = x->follow->start_ms;
    wait->evidence = kvmig__strdup("migrationState.mode PostCopy");
    wait->hint =
        kvmig__strdup("Keep both nodes and the link between them up: if one fails, the guest is lost. No limit ends "
                      "this, and it cannot be cancelled.");
}

/* The guest has moved, but a change that asked for the migration is not applied: KubeVirt leaves the VMIM in Running. */
static bool explain_held(const struct kvmig__explain *x)
{
    static const struct {
        const char *type, *code, *text;
        bool only_true;
    } holders[] = {
        { "HotVCPUChange", "RESIZE_NOT_APPLIED", "the change of virtual CPUs must take effect", false },
        { "HotMemoryChange", "RESIZE_NOT_APPLIED", "the change of memory must take effect", true },
        { "MigrationRequired", "MIGRATION_STILL_REQUIRED", "the change that asked for the migration must take effect",
          true },
    };
    const int64_t since = x->follow->end_ms;
    bool held = false;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(holders); i++) {
        const struct kvmig__kube_condition *condition = kvmig__kube_condition(&x->vmi->conditions, holders[i].type);
        struct kvmig__wait *wait;

        if (!condition || (holders[i].only_true && !kvmig__str_eq(condition->status, "True")))
            continue;
        held = true;
        wait = kvmig__explain_link(x, holders[i].code, kvmig__explain_grade(x, since, RESIZE_WARN_S, 0), 1, vm_name(x),
                                   "%s", holders[i].text);
        wait->evidence =
            kvmig__asprintf("condition %s is %s%s%s", condition->type, condition->status ? condition->status : "unset",
                            condition->message ? ": " : "", condition->message ? condition->message : "");
        wait->since_ms = since;
        wait->hint =
            kvmig__strdup("The guest has moved already. KubeVirt leaves the migration in Running until this is done.");
    }
    return held;
}

static void explain_finalizing(const struct kvmig__explain *x)
{
    const struct kvmig__follow *follow = x->follow;
    const int64_t since = follow->end_ms ? follow->end_ms : follow->domain_ready_ms;
    struct kvmig__wait *wait;

    if (follow->completed && explain_held(x))
        return;
    wait = kvmig__explain_link(x, "FINALIZING", kvmig__explain_grade(x, since, FINALIZE_WARN_S, 0), 1,
                               node_name(follow->target_node),
                               follow->node_flipped ? "the guest runs there; KubeVirt finishes the migration"
                                                    : "the guest has switched; the VM's node is still to be set");
    wait->since_ms = since;
}

void kvmig__explain_copy(const struct kvmig__explain *x)
{
    const struct kvmig__follow *follow = x->follow;
    const bool switched = follow->node_flipped || follow->completed || follow->domain_ready_ms;

    if (follow->postcopy_seen && !follow->completed)
        explain_postcopy(x);
    else if (switched && !follow->failed)
        explain_finalizing(x);
    else
        explain_copying(x);
    explain_nodes(x);
}

/* ---- endpoints ---- */

struct ready {
    bool source, target;
};

static struct ready ready_endpoints(const struct kvmig__explain *x, const struct kvmig__kube_slice *slice)
{
    struct ready ready = { 0 };

    for (size_t i = 0; i < slice->endpoints.n; i++) {
        const struct kvmig__kube_endpoint *endpoint = &slice->endpoints.v[i];

        if (!endpoint->pod || endpoint->ready == 0)
            continue;
        ready.source |= kvmig__str_eq(endpoint->pod, x->follow->source_pod);
        ready.target |= kvmig__str_eq(endpoint->pod, x->follow->target_pod);
    }
    return ready;
}

static void add_early(const struct kvmig__explain *x, const struct kvmig__kube_slice *slice)
{
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(x, "DUAL_READY_ENDPOINTS", KVMIG_SEVERITY_WARN, 1,
                               kvmig__explain_name("endpointslice", slice->meta.ns, slice->meta.name),
                               "both launchers are ready endpoints of service %s before the guest has switched",
                               slice->service ? slice->service : "?");
    wait->evidence = kvmig__asprintf("pod %s is ready too early", x->follow->target_pod);
    kvmig__detail_str(&wait->detail, "pod", x->follow->target_pod);
    kvmig__detail_str(&wait->detail, "service", slice->service);
}

static void add_late(const struct kvmig__explain *x, const struct kvmig__kube_slice *slice, const struct ready *ready)
{
    const int64_t since = x->follow->end_ms ? x->follow->end_ms : x->follow->node_flipped_seen_ms;
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(x, "ENDPOINT_HANDOVER_PENDING", kvmig__explain_grade(x, since, ENDPOINTS_WARN_S, 0), 1,
                               kvmig__explain_name("endpointslice", slice->meta.ns, slice->meta.name),
                               "service %s must follow the guest to the target pod",
                               slice->service ? slice->service : "?");
    wait->evidence = kvmig__asprintf("%s%s%s", ready->target ? "" : "the target pod is not a ready endpoint",
                                     !ready->target && ready->source ? "; " : "",
                                     ready->source ? "the source pod still is one" : "");
    wait->since_ms = since;
}

/* A service may have several slices. */
static bool source_is_ready(const struct kvmig__explain *x, const struct kvmig__kube_slice *of)
{
    KVMIG__KUBE_EACH(x->kube, SLICE, slice)
    {
        if (kvmig__str_eq(slice->meta.ns, of->meta.ns) &&
            (slice == of || (of->service && kvmig__str_eq(slice->service, of->service))) &&
            ready_endpoints(x, slice).source)
            return true;
    }
    return false;
}

void kvmig__explain_endpoints(const struct kvmig__explain *x)
{
    if (!x->follow->target_pod || !x->follow->source_pod || x->follow->endpoints_moved_ms)
        return;
    KVMIG__KUBE_EACH(x->kube, SLICE, slice)
    {
        struct ready ready;

        if (!kvmig__str_eq(slice->meta.ns, x->follow->ns))
            continue;
        ready = ready_endpoints(x, slice);
        if (!x->follow->node_flipped && ready.target && source_is_ready(x, slice))
            add_early(x, slice);
        else if (x->follow->node_flipped && ready.source)
            add_late(x, slice, &ready);
    }
}

/* ---- a cancel under way ---- */

static int32_t cancel_severity(const struct kvmig__explain *x, int32_t effect, int64_t since)
{
    if (effect == KVMIG_CANCEL_REFUSED || effect == KVMIG_CANCEL_TOO_LATE || effect == KVMIG_CANCEL_WILL_RETURN ||
        kvmig__str_eq(x->follow->abort_status, "Failed"))
        return KVMIG_SEVERITY_WARN;
    return kvmig__explain_grade(x, since, CANCEL_WARN_S, 0);
}

void kvmig__explain_cancel(const struct kvmig__explain *x)
{
    const char *why;
    const int32_t effect = kvmig__follow_cancel_effect(x->follow, &why);
    struct kvmig__wait *wait;
    int64_t since;

    if (!x->vmim || !x->vmim->meta.deleted_ms)
        return;
    since = x->vmim->meta.deleted_ms;
    wait = kvmig__explain_link(x, effect == KVMIG_CANCEL_WILL_RETURN ? "CANCEL_INEFFECTIVE" : "CANCEL_PENDING",
                               cancel_severity(x, effect, since), 0,
                               kvmig__explain_name("migration", x->follow->ns, x->follow->vmim), "cancel asked for: %s",
                               why);
    wait->evidence = x->follow->abort_status
                         ? kvmig__asprintf("deletionTimestamp, abortStatus %s", x->follow->abort_status)
                         : kvmig__strdup("deletionTimestamp");
    wait->since_ms = since;
    if (effect == KVMIG_CANCEL_DEFERRED)
        kvmig__explain_launcher_limit(x, wait);
    if (effect == KVMIG_CANCEL_DEFERRED)
        wait->hint = kvmig__strdup("Delete the target launcher pod to end it at once; the guest stays on the source.");
    if (effect == KVMIG_CANCEL_WILL_RETURN)
        wait->hint = kvmig__strdup(
            "Take the cause away first: the evacuate/cancel subresource of an eviction, or the change that "
            "a workload update carries out.");
}
