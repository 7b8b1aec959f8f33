/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the target launcher and the attachment pod of a migration in KubeVirt wait for: node, images, volumes, network, containers.
 * The order is that of the kubelet: volumes, then the sandbox with its network, then images, then containers. Pure; the caller's
 * thread.
 */
#include "session/explain_kube.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PENDING_S 900
#define PENDING_TIMER "kubevirt.io/migrationPendingPodTimeoutSeconds"
#define SCHEDULER_WARN_S 15
#define KUBELET_WARN_S 60
#define VOLUME_ERROR_S 120
#define NETWORK_ERROR_S 30
#define NETWORK_ERROR_COUNT 3
#define ATTACHMENT_WARN_S 10
#define ATTACHMENT_ERROR_S 30

static char *pod_name(const struct kvmig__kube_pod *pod)
{
    return kvmig__explain_name("pod", pod->meta.ns, pod->meta.name);
}

/* Both timers run from the pod's creation, as long as the migration is Pending or Scheduling. */
static void set_pending_limit(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod,
                              struct kvmig__wait *wait)
{
    kvmig__explain_limit(wait, pod->meta.created_ms, kvmig__explain_timer(x, PENDING_TIMER, PENDING_S),
                         "pending pod time-out");
}

/* ---- not on a node yet ---- */

static void explain_scheduling(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod, int32_t depth)
{
    const struct kvmig__kube_condition *scheduled = kvmig__kube_condition(&pod->conditions, "PodScheduled");
    const bool refused = scheduled && kvmig__str_eq(scheduled->status, "False");
    struct kvmig__wait *wait;

    if (refused && kvmig__str_eq(scheduled->reason, "Unschedulable")) {
        kvmig__explain_unschedulable(x, pod, depth);
        return;
    }
    wait = kvmig__explain_link(x, "TARGET_POD_STARTING",
                               kvmig__explain_grade(x, pod->meta.created_ms, SCHEDULER_WARN_S, 0), depth, pod_name(pod),
                               "the scheduler has not chosen a node yet");
    if (refused)
        wait->evidence =
            kvmig__asprintf("condition PodScheduled, reason %s: %s", scheduled->reason ? scheduled->reason : "?",
                            scheduled->message ? scheduled->message : "");
    wait->since_ms = pod->meta.created_ms;
    set_pending_limit(x, pod, wait);
}

/* ---- images ---- */

static bool one_of(const char *text, const char *const *list, size_t n)
{
    for (size_t i = 0; text && i < n; i++) {
        if (!strcmp(text, list[i]))
            return true;
    }
    return false;
}

static bool explain_image(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod, int32_t depth)
{
    static const char *const reasons[] = {
        "ErrImagePull",      "ImagePullBackOff",    "InvalidImageName",         "ErrImageNeverPull",
        "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"
    };

    for (size_t i = 0; i < pod->containers.n; i++) {
        const struct kvmig__kube_container *container = &pod->containers.v[i];
        struct kvmig__wait *wait;

        if (!kvmig__str_eq(container->state, "waiting") ||
            !one_of(container->reason, reasons, KVMIG__N_ELEMENTS(reasons)))
            continue;
        wait =
            kvmig__explain_link(x, "TARGET_IMAGE_PULL", KVMIG_SEVERITY_ERROR, depth, pod_name(pod),
                                "container %s cannot get its image %s on %s", container->name ? container->name : "?",
                                container->image ? container->image : "?", pod->node ? pod->node : "its node");
        wait->waits_for = container->image ? kvmig__asprintf("image/%s", container->image) : NULL;
        wait->evidence =
            kvmig__asprintf("container %s, waiting: %s%s%s", container->name ? container->name : "?", container->reason,
                            container->message ? ": " : "", container->message ? container->message : "");
        kvmig__detail_str(&wait->detail, "container", container->name);
        kvmig__detail_str(&wait->detail, "reference", container->image);
        kvmig__detail_str(&wait->detail, "reason", container->reason);
        kvmig__detail_str(&wait->detail, "node", pod->node);
        wait->since_ms = pod->meta.created_ms;
        set_pending_limit(x, pod, wait);
        wait->hint =
            kvmig__strdup("A containerDisk is pinned to the digest that the source's node reports: an image that was "
                          "imported there by hand has one that no registry knows. Push the image, or cancel.");
        return true;
    }
    return false;
}

/* ---- volumes and network ---- */

static const struct kvmig__kube_event *newest_of(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod,
                                                 const char *const *reasons, size_t n)
{
    const struct kvmig__kube_event *newest = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct kvmig__kube_event *event = kvmig__explain_event(x, &pod->meta, reasons[i], pod->meta.created_ms);

        if (event && (!newest || event->last_ms > newest->last_ms))
            newest = event;
    }
    return newest;
}

static void explain_volume(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod,
                           const struct kvmig__kube_event *event, int32_t depth)
{
    const bool second_writer = event->message && strstr(event->message, "Multi-Attach");
    const int32_t age = kvmig__explain_grade(x, event->first_ms, 0, VOLUME_ERROR_S);
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(
        x, "TARGET_VOLUME_NOT_READY",
        second_writer || age == KVMIG_SEVERITY_ERROR ? KVMIG_SEVERITY_ERROR : KVMIG_SEVERITY_WARN, depth, pod_name(pod),
        "a volume cannot be attached or mounted on %s", pod->node ? pod->node : "its node");
    wait->evidence = kvmig__asprintf("event %s: %s", event->reason, event->message ? event->message : "");
    wait->since_ms = event->first_ms;
    set_pending_limit(x, pod, wait);
    wait->hint =
        kvmig__strdup(second_writer ? "The volume admits one node only: the source holds it until the guest has moved. "
                                      "It must be ReadWriteMany, or be copied along."
                                    : "The storage's own driver on that node says more.");
}

static bool mentions_any(const char *text, const char *const *tokens, size_t n)
{
    for (size_t i = 0; text && i < n; i++) {
        if (strcasestr(text, tokens[i]))
            return true;
    }
    return false;
}

/* The network is said to be not ready yet, rather than that it was refused. */
static bool is_waiting_for_port(const char *message)
{
    static const char *const tokens[] = { "not ready", "timed out", "timeout", "wait" };

    return mentions_any(message, tokens, KVMIG__N_ELEMENTS(tokens));
}

/* What waits is the logical port: the step that the circle is about. */
static bool names_logical_port(const char *message)
{
    static const char *const tokens[] = { "ovn-installed", "requested-chassis", "logical switch port", "kube-ovn",
                                          "ovs interface" };

    return mentions_any(message, tokens, KVMIG__N_ELEMENTS(tokens));
}

static bool is_lasting(const struct kvmig__explain *x, const struct kvmig__kube_event *event)
{
    return event->count >= NETWORK_ERROR_COUNT ||
           kvmig__explain_grade(x, event->first_ms, 0, NETWORK_ERROR_S) == KVMIG_SEVERITY_ERROR;
}

/* Hotplugged volumes keep the VMIM in Pending until this very pod runs. Who configures the target's network only from Scheduling on
 * waits in a circle. One time-out of some network plug-in is no proof of that: plug-ins try again. */
static bool is_deadlock(const struct kvmig__explain *x, const struct kvmig__kube_event *event)
{
    return x->hotplug && x->follow->stage == KVMIG__STAGE_PENDING &&
           (names_logical_port(event->message) || (is_waiting_for_port(event->message) && is_lasting(x, event)));
}

/* Who waits for whom, each for the next, the last one for the first. */
static void add_circle(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod, struct kvmig__wait *wait)
{
    struct kvmig__strlist chain = { 0 };
    char *links[] = {
        kvmig__asprintf("migration/%s/%s: Pending until its pods are ready", x->follow->ns, x->follow->vmim),
        x->attachment == pod ? NULL : kvmig__asprintf("attachment pod: made once the launcher is ready"),
        kvmig__asprintf("pod/%s/%s: ready once its network is", pod->meta.ns, pod->meta.name),
        kvmig__asprintf("network: set up in the phase Scheduling of migration/%s/%s", x->follow->ns, x->follow->vmim),
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(links); i++) {
        if (links[i])
            kvmig__strlist_add(&chain, links[i]);
        free(links[i]);
    }
    kvmig__detail_list(&wait->detail, "chain", &chain);
    kvmig__strlist_clear(&chain);
}

static void explain_network(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod,
                            const struct kvmig__kube_event *event, int32_t depth)
{
    const bool deadlock = is_deadlock(x, event);
    const bool lasting = is_lasting(x, event);
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(
        x, deadlock ? "DEADLOCK_NETWORK_PENDING" : "TARGET_NETWORK_NOT_READY",
        deadlock || lasting ? KVMIG_SEVERITY_ERROR : KVMIG_SEVERITY_WARN, depth, pod_name(pod), "%s",
        deadlock ? "the pod's network is not ready; the migration stays Pending until this pod runs, so "
                   "nothing that sets the network up in Scheduling will ever come"
                 : "the pod's network is not ready");
    wait->waits_for = kvmig__strdup("network");
    wait->evidence = kvmig__asprintf("event %s: %s", event->reason, event->message ? event->message : "");
    if (deadlock)
        add_circle(x, pod, wait);
    wait->since_ms = event->first_ms;
    set_pending_limit(x, pod, wait);
    wait->hint =
        kvmig__strdup(deadlock ? "Prepare the port for the target's node now, while the migration is Pending."
                               : "See the network plug-in on that node; with OVN, whether the port is claimed there "
                                 "and its interface stays ovn-installed.");
}

static bool explain_sandbox(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod, int32_t depth)
{
    static const char *const volumes[] = { "FailedAttachVolume", "FailedMount", "FailedMapVolume" };
    static const char *const networks[] = { "FailedCreatePodSandBox", "NetworkNotReady" };
    const struct kvmig__kube_event *volume = newest_of(x, pod, volumes, KVMIG__N_ELEMENTS(volumes));
    const struct kvmig__kube_event *network = newest_of(x, pod, networks, KVMIG__N_ELEMENTS(networks));

    if (network && (!volume || network->last_ms >= volume->last_ms))
        explain_network(x, pod, network, depth);
    else if (volume)
        explain_volume(x, pod, volume, depth);
    return network || volume;
}

/* ---- containers ---- */

static bool explain_failing(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod, int32_t depth)
{
    static const char *const reasons[] = { "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError",
                                           "RunContainerError", "PreStartHookError" };

    for (size_t i = 0; i < pod->containers.n; i++) {
        const struct kvmig__kube_container *container = &pod->containers.v[i];
        struct kvmig__wait *wait;

        if (!kvmig__str_eq(container->state, "waiting") ||
            !one_of(container->reason, reasons, KVMIG__N_ELEMENTS(reasons)))
            continue;
        wait = kvmig__explain_link(x, "TARGET_CONTAINER_FAILING", KVMIG_SEVERITY_ERROR, depth, pod_name(pod),
                                   "container %s does not start", container->name ? container->name : "?");
        wait->evidence =
            kvmig__asprintf("container %s, waiting: %s%s%s", container->name ? container->name : "?", container->reason,
                            container->message ? ": " : "", container->message ? container->message : "");
        wait->since_ms = pod->meta.created_ms;
        set_pending_limit(x, pod, wait);
        return true;
    }
    return false;
}

/* The first container that KubeVirt still waits for: of compute it wants only that it runs. */
static const struct kvmig__kube_container *unready(const struct kvmig__kube_pod *pod)
{
    for (size_t i = 0; i < pod->containers.n; i++) {
        const struct kvmig__kube_container *container = &pod->containers.v[i];
        const bool only_runs =
            kvmig__str_eq(container->name, "compute") || kvmig__str_eq(container->name, "istio-proxy");

        if (!container->init && (only_runs ? !kvmig__str_eq(container->state, "running") : !container->ready))
            return container;
    }
    return NULL;
}

static const struct kvmig__kube_container *running_init(const struct kvmig__kube_pod *pod)
{
    for (size_t i = 0; i < pod->containers.n; i++) {
        const struct kvmig__kube_container *container = &pod->containers.v[i];

        if (container->init && kvmig__str_eq(container->state, "running") && !container->ready)
            return container;
    }
    return NULL;
}

static void explain_starting(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod, int32_t depth)
{
    const struct kvmig__kube_container *init = running_init(pod);
    struct kvmig__wait *wait;

    if (init)
        wait = kvmig__explain_link(
            x, "TARGET_POD_STARTING", kvmig__explain_grade(x, pod->meta.created_ms, KUBELET_WARN_S, 0), depth,
            pod_name(pod), "init container %s has not finished on %s", init->name ? init->name : "?", pod->node);
    else
        wait = kvmig__explain_link(x, "TARGET_POD_STARTING",
                                   kvmig__explain_grade(x, pod->meta.created_ms, KUBELET_WARN_S, 0), depth,
                                   pod_name(pod), "its containers are being started on %s", pod->node);
    wait->since_ms = pod->meta.created_ms;
    set_pending_limit(x, pod, wait);
}

static void explain_unready(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod, int32_t depth)
{
    const struct kvmig__kube_container *container = unready(pod);
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(x, "TARGET_CONTAINER_NOT_READY",
                               kvmig__explain_grade(x, pod->started_ms, KUBELET_WARN_S, 0), depth, pod_name(pod), "%s",
                               pod->meta.deleted_ms ? "the pod is being deleted" : "a container is not ready");
    if (container)
        wait->evidence = kvmig__asprintf("container %s: %s%s%s", container->name ? container->name : "?",
                                         container->state ? container->state : "no status",
                                         container->reason ? ", " : "", container->reason ? container->reason : "");
    wait->since_ms = pod->started_ms;
    kvmig__explain_launcher_limit(x, wait);
}

/* ---- one pod, then both ---- */

static void explain_ended(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod, int32_t depth)
{
    struct kvmig__wait *wait = kvmig__explain_link(x, "TARGET_POD_LOST", KVMIG_SEVERITY_ERROR, depth, pod_name(pod),
                                                   "the pod has ended; KubeVirt is about to fail the migration");

    wait->evidence = kvmig__strdup(x->follow->pod_failure ? x->follow->pod_failure : pod->phase);
}

static void explain_pod(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod, int32_t depth)
{
    if (kvmig__pod_is_final(pod))
        explain_ended(x, pod, depth);
    else if (!pod->node)
        explain_scheduling(x, pod, depth);
    else if (kvmig__str_eq(pod->phase, "Running"))
        explain_unready(x, pod, depth);
    else if (!explain_image(x, pod, depth) && !explain_failing(x, pod, depth) && !explain_sandbox(x, pod, depth))
        explain_starting(x, pod, depth);
}

/* KubeVirt makes the attachment pod while the migration is Pending and the launcher is ready; after that, never. */
static void explain_missing_attachment(const struct kvmig__explain *x, int32_t depth)
{
    const bool never = x->follow->stage >= KVMIG__STAGE_SCHEDULING;
    const int64_t since = x->follow->target_started_ms ? x->follow->target_started_ms : x->target->started_ms;
    const int32_t severity =
        never ? KVMIG_SEVERITY_ERROR : kvmig__explain_grade(x, since, ATTACHMENT_WARN_S, ATTACHMENT_ERROR_S);
    struct kvmig__wait *wait;

    wait = kvmig__explain_link(
        x, severity == KVMIG_SEVERITY_INFO ? "ATTACHMENT_POD_PENDING" : "ATTACHMENT_POD_MISSING", severity, depth,
        kvmig__explain_name("vm", x->vmi->meta.ns, x->vmi->meta.name), "%s",
        never ? "hotplugged volumes need an attachment pod on the target, and in this phase none is made "
                "any more"
              : "the attachment pod for the hotplugged volumes is still to be made");
    wait->evidence = kvmig__asprintf("launcher %s is ready; no pod kubevirt.io=hotplug-disk has the migration's UID",
                                     x->target->meta.name);
    kvmig__detail_str(&wait->detail, "launcher", x->target->meta.name);
    wait->since_ms = since;
    kvmig__explain_launcher_limit(x, wait);
    if (never)
        wait->hint =
            kvmig__strdup("Cancel and start again: a volume was plugged in while the migration was being scheduled.");
}

void kvmig__explain_pods(const struct kvmig__explain *x, int32_t depth)
{
    if (!x->pods_known)
        return;
    if (!x->target) {
        if (x->follow->stage >= KVMIG__STAGE_SCHEDULING && x->follow->target_pod) /* else it is only not seen yet */
            kvmig__explain_link(x, "TARGET_POD_LOST", KVMIG_SEVERITY_ERROR, depth,
                                kvmig__explain_name("pod", x->follow->ns, x->follow->target_pod),
                                "the target pod is gone; KubeVirt is about to fail the migration");
        return;
    }
    if (!kvmig__pod_is_ready_for_kubevirt(x->target))
        explain_pod(x, x->target, depth);
    else if (x->hotplug && !x->attachment)
        explain_missing_attachment(x, depth);
    if (x->attachment && !kvmig__pod_is_ready_for_kubevirt(x->attachment))
        explain_pod(x, x->attachment, depth);
}
