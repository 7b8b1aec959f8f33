/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a migration in KubeVirt stays Pending without a target pod: what blocks it as such, and what the API shows of a pod that
 * cannot be created. Most of it KubeVirt tells nobody; it is worked out as its controller does. Slots, quota and back-off are in
 * explain_kube_queue.c. Pure; the caller's thread.
 */
#include "session/explain_kube.h"

#include <stdlib.h>
#include <string.h>

#define BACKUP_WARN_S 600
#define PODS_WARN_S 30
#define PODS_ERROR_S 300
/* What is left without a cause: rendering errors are in the controller's log only. */
#define UNEXPLAINED_WARN_S 15
#define UNEXPLAINED_ERROR_S 120
#define UTILITY_TIMER "kubevirt.io/migrationUtilityVolumesTimeoutSeconds"

static char *vm_name(const struct kvmig__explain *x)
{
    return kvmig__explain_name("vm", x->vmi->meta.ns, x->vmi->meta.name);
}

static const struct kvmig__kube_condition *vmim_condition(const struct kvmig__explain *x, const char *type)
{
    const struct kvmig__kube_condition *condition = x->vmim ? kvmig__kube_condition(&x->vmim->conditions, type) : NULL;

    return condition && kvmig__str_eq(condition->status, "True") ? condition : NULL;
}

static char *condition_text(const struct kvmig__kube_condition *condition)
{
    return kvmig__asprintf("condition %s%s%s%s%s", condition->type, condition->reason ? ", reason " : "",
                           condition->reason ? condition->reason : "", condition->message ? ": " : "",
                           condition->message ? condition->message : "");
}

static bool explain_backup(const struct kvmig__explain *x)
{
    const struct kvmig__kube_condition *condition = vmim_condition(x, "migrationBlockedByBackup");
    struct kvmig__wait *wait;
    int64_t since = x->vmi->backup_since_ms ? x->vmi->backup_since_ms : condition ? condition->probed_ms : 0;

    if (!condition && !x->vmi->backup)
        return false;
    wait =
        kvmig__explain_link(x, "BACKUP_RUNNING", kvmig__explain_grade(x, since, BACKUP_WARN_S, 0), 1, vm_name(x),
                            "backup %s of the VM must end first", x->vmi->backup ? x->vmi->backup : "(name not shown)");
    wait->since_ms = since;
    if (condition)
        wait->evidence = condition_text(condition);
    wait->hint = kvmig__strdup("Nothing but the end of the backup ends this wait.");
    return true;
}

static bool has_utility_volumes(const struct kvmig__kube_vmi *vmi)
{
    for (size_t i = 0; i < vmi->volumes.n; i++) {
        if (vmi->volumes.v[i].utility)
            return true;
    }
    return false;
}

static int64_t utility_limit_s(const struct kvmig__explain *x)
{
    struct kvmig__kube_config config;
    int64_t seconds;

    kvmig__kube_config_for(x->kube, x->vmi, &config, NULL);
    seconds = config.utility_s > INT32_MAX ? 150 : (int64_t)config.utility_s;
    kvmig__kube_config_clear(&config);
    return kvmig__explain_timer(x, UTILITY_TIMER, seconds);
}

static bool explain_utility(const struct kvmig__explain *x)
{
    const struct kvmig__kube_condition *condition = vmim_condition(x, "migrationBlockedByUtilityVolumes");
    struct kvmig__wait *wait;

    if (!condition && !has_utility_volumes(x->vmi))
        return false;
    wait = kvmig__explain_link(x, "UTILITY_VOLUMES_PRESENT", KVMIG_SEVERITY_WARN, 1, vm_name(x),
                               "utility volumes must be removed from the VM first");
    wait->since_ms = x->follow->created_ms;
    if (condition)
        wait->evidence = condition_text(condition);
    kvmig__explain_limit(wait, x->follow->created_ms, utility_limit_s(x), "utility volumes time-out, then it fails");
    wait->hint = kvmig__strdup("Remove the utility volumes, or end what uses them (a memory dump, a backup).");
    return true;
}

static bool explain_vmi_phase(const struct kvmig__explain *x)
{
    const char *phase = x->vmi->phase ? x->vmi->phase : "unset";
    const bool ended = !strcmp(phase, "Failed") || !strcmp(phase, "Succeeded");
    struct kvmig__wait *wait;

    if (!strcmp(phase, "Running"))
        return false;
    wait = kvmig__explain_link(x, ended ? "NOTHING_TO_MIGRATE" : "VM_NOT_RUNNING",
                               ended ? KVMIG_SEVERITY_ERROR : KVMIG_SEVERITY_WARN, 1, vm_name(x),
                               ended ? "the VM has ended" : "the VM must run first");
    wait->evidence = kvmig__asprintf("status.phase %s", phase);
    wait->since_ms = x->follow->stage_since_ms;
    return true;
}

/* ---- pods of the VM that live ---- */

static bool belongs_to_vmi(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod)
{
    const char *uid = kvmig__pairs_get(&pod->meta.labels, "kubevirt.io/created-by");

    return kvmig__pod_is_launcher(pod) && kvmig__str_eq(pod->meta.ns, x->vmi->meta.ns) && uid &&
           kvmig__str_eq(uid, x->vmi->meta.uid);
}

static bool explain_live_pods(const struct kvmig__explain *x)
{
    struct kvmig__strlist live = { 0 };
    struct kvmig__wait *wait;
    bool several;

    KVMIG__KUBE_EACH(x->kube, POD, pod)
    {
        if (belongs_to_vmi(x, pod) && !kvmig__pod_is_final(pod))
            kvmig__strlist_add(&live, pod->meta.name);
    }
    several = live.n > 1;
    if (several) {
        wait = kvmig__explain_link(x, "SEVERAL_LIVE_PODS",
                                   kvmig__explain_grade(x, x->follow->stage_since_ms, PODS_WARN_S, PODS_ERROR_S), 1,
                                   vm_name(x), "all launchers of the VM but one must have ended");
        wait->evidence = kvmig__strlist_join(&live, ", ");
        wait->since_ms = x->follow->stage_since_ms;
        wait->hint =
            kvmig__strdup("One of an earlier migration is still there; if it hangs, find out on which node the "
                          "guest runs before deleting any.");
    }
    kvmig__strlist_clear(&live);
    return several;
}

/* activePods lists pods that have ended as well; versions of KubeVirt have waited for such a one for ever. */
static bool explain_stale_active_pod(const struct kvmig__explain *x)
{
    const int64_t since = x->follow->stage_since_ms;

    /* of a moment that nobody dated it is not known that it is within normal times */
    if (!x->pods_known || x->vmi->active_pods.n < 2 || x->follow->target_pods || /* it has got pods before */
        (since && x->now_ms && kvmig__explain_grade(x, since, UNEXPLAINED_WARN_S, 0) == KVMIG_SEVERITY_INFO))
        return false;
    for (size_t i = 0; i < x->vmi->active_pods.n; i++) {
        const char *uid = x->vmi->active_pods.v[i].key;
        const struct kvmig__kube_pod *pod =
            (const struct kvmig__kube_pod *)kvmig__kube_find_uid(x->kube, KVMIG__KUBE_POD, uid);
        struct kvmig__wait *wait;

        if (pod && !kvmig__pod_is_final(pod))
            continue;
        wait = kvmig__explain_link(x, "STALE_ACTIVE_POD", KVMIG_SEVERITY_ERROR, 1,
                                   kvmig__explain_name("pod", x->vmi->meta.ns, pod ? pod->meta.name : uid),
                                   "activePods of the VM lists a pod that has ended");
        kvmig__detail_str(&wait->detail, "uid", uid);
        if (pod) {
            kvmig__detail_str(&wait->detail, "phase", pod->phase);
            kvmig__detail_str(&wait->detail, "node", pod->node);
        }
        wait->since_ms = since;
        wait->hint = kvmig__strdup("Delete the launcher pod that has ended; leave the one in which the VM runs alone.");
        return true;
    }
    return false;
}

/* ---- a pod that cannot be created ---- */

static bool explain_refused_pod(const struct kvmig__explain *x)
{
    const struct kvmig__kube_event *event =
        kvmig__explain_event(x, &x->vmi->meta, "FailedCreate", x->follow->created_ms);
    struct kvmig__wait *wait;

    if (!event)
        return false;
    wait = kvmig__explain_link(x, "TARGET_POD_REFUSED", KVMIG_SEVERITY_ERROR, 1, vm_name(x),
                               "the API server refuses the target pod; KubeVirt tries again without limit");
    wait->evidence = kvmig__asprintf("event FailedCreate: %s", event->message ? event->message : "");
    wait->since_ms = event->first_ms;
    wait->hint =
        kvmig__strdup("Pod security, an admission webhook or a missing object refuses it: the text says which.");
    return true;
}

static void explain_without_cause(const struct kvmig__explain *x)
{
    struct kvmig__wait *wait;
    const int64_t since = x->follow->stage_since_ms;

    wait = kvmig__explain_link(x, "PENDING_UNEXPLAINED",
                               kvmig__explain_grade(x, since, UNEXPLAINED_WARN_S, UNEXPLAINED_ERROR_S), 1,
                               kvmig__strdup("cluster"), "KubeVirt has not created the target pod");
    wait->since_ms = since;
    wait->hint =
        kvmig__strdup("No object shows a reason. KubeVirt logs errors in making the pod only in virt-controller: no "
                      "CPU model label on the source, no SELinux context, no image digest.");
}

/* ---- starting over and over ---- */

/* Between two of them: what the last one wanted is told by what removed it. */
static void explain_last_try(const struct kvmig__explain *x)
{
    const struct kvmig__follow *follow = x->follow;
    struct kvmig__wait *wait;

    if (x->target && (x->target->node || kvmig__kube_condition(&x->target->conditions, "PodScheduled")))
        return; /* it tells itself */
    if (!follow->unschedulable && (!follow->timer_event || !strstr(follow->timer_event, "unschedulable pod")))
        return;
    wait = kvmig__explain_link(
        x, "TARGET_UNSCHEDULABLE", KVMIG_SEVERITY_ERROR, 0,
        kvmig__explain_name("pod", follow->ns, follow->target_pod ? follow->target_pod : follow->target_pod_names.v[0]),
        "no node took the last target pod");
    kvmig__scheduler_detail(follow->unschedulable, &wait->detail);
    wait->evidence = kvmig__strdup(follow->unschedulable ? follow->unschedulable : follow->timer_event);
    wait->since_ms = follow->stage_since_ms;
    wait->hint = kvmig__strdup("Free or add a node that fits, or cancel.");
}

static void explain_cycle(const struct kvmig__explain *x)
{
    const struct kvmig__follow *follow = x->follow;
    struct kvmig__wait *wait;

    if (follow->target_pods < 2)
        return;
    wait = kvmig__explain_link(
        x, "TARGET_PODS_CYCLE", KVMIG_SEVERITY_ERROR, 0, kvmig__explain_name("migration", follow->ns, follow->vmim),
        "%u target pods were made in turn, each removed by a timer before it was ready; KubeVirt starts "
        "over without limit",
        follow->target_pods);
    wait->evidence = kvmig__strdup(follow->unschedulable ? follow->unschedulable : follow->timer_event);
    wait->since_ms = follow->stage_since_ms;
    wait->hint =
        kvmig__strdup("It will not fail by itself and holds a slot: mend what keeps the pod from starting, or cancel.");
    explain_last_try(x);
}

void kvmig__explain_pending(const struct kvmig__explain *x)
{
    bool found;

    explain_cycle(x);
    if (x->target)
        return;
    found = explain_vmi_phase(x);
    found |= explain_backup(x);
    found |= explain_utility(x);
    found |= kvmig__explain_backoff(x);
    found |= explain_live_pods(x);
    if (kvmig__explain_quota(x) || explain_refused_pod(x))
        return;
    if (!found && !kvmig__explain_slots(x) && !explain_stale_active_pod(x) && x->pods_known &&
        !kvmig__explain_slots_unseen(x))
        explain_without_cause(x);
}
