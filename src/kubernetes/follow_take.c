/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The follower's reading: what a VMIM, a VMI, a pod, an event and the endpoint slices say about the one migration. Facts only move
 * forward, because an object may be gone the next time; what a pod says of itself replaces what was said of it before. Judges
 * nothing (follow_end.c). Pure; the owner's thread; borrows the objects.
 *
 * A migrationState is read only if its migrationUid is the VMIM's own: before the hand-over, and after the next migration began, it
 * is about another one.
 */
#include "kubernetes/follow_private.h"

#include <stdlib.h>
#include <string.h>

#define JOB_LABEL "kubevirt.io/migrationJobUID"

static void take_text(char **to, const char *from)
{
    if (from && *from)
        kvmig__str_set(to, from);
}

static void take_time(int64_t *to, int64_t from)
{
    if (from)
        *to = from;
}

static bool contains(const char *text, const char *part)
{
    return text && strstr(text, part);
}

/* ---- whose is it? ---- */

bool kvmig__follow_is_vmim(const struct kvmig__follow *follow, const struct kvmig__kube_vmim *vmim)
{
    if (!follow->vmim || !kvmig__str_eq(vmim->meta.ns, follow->ns))
        return false;
    if (follow->vmim_uid && vmim->meta.uid)
        return !strcmp(follow->vmim_uid, vmim->meta.uid);
    return kvmig__str_eq(follow->vmim, vmim->meta.name);
}

static bool carries_uid(const struct kvmig__follow *follow, const struct kvmig__kube_pod *pod, const char *role)
{
    return follow->vmim_uid && kvmig__str_eq(pod->meta.ns, follow->ns) &&
           kvmig__str_eq(kvmig__pairs_get(&pod->meta.labels, JOB_LABEL), follow->vmim_uid) &&
           kvmig__str_eq(kvmig__pairs_get(&pod->meta.labels, "kubevirt.io"), role);
}

bool kvmig__follow_is_target(const struct kvmig__follow *follow, const struct kvmig__kube_pod *pod)
{
    return carries_uid(follow, pod, "virt-launcher");
}

bool kvmig__follow_is_attachment(const struct kvmig__follow *follow, const struct kvmig__kube_pod *pod)
{
    return carries_uid(follow, pod, "hotplug-disk");
}

/* ---- migrationState ---- */

static int32_t mode_of(const char *mode, int32_t before)
{
    if (kvmig__str_eq(mode, "PostCopy"))
        return KVMIG_MODE_POST_COPY;
    if (kvmig__str_eq(mode, "Paused"))
        return KVMIG_MODE_PAUSED;
    return kvmig__str_eq(mode, "PreCopy") ? KVMIG_MODE_PRE_COPY : before;
}

static void take_state(struct kvmig__follow *follow, const struct kvmig__kube_migration_state *state)
{
    if (!state->present || !follow->vmim_uid || !kvmig__str_eq(state->uid, follow->vmim_uid))
        return;
    if (!follow->handed_off) {
        follow->handed_off = true;
        kvmig__kube_config_clear(&follow->config);
        kvmig__kube_config_copy(&follow->config, &state->config);
    }
    take_time(&follow->start_ms, state->start_ms);
    take_time(&follow->end_ms, state->end_ms);
    take_time(&follow->domain_ready_ms, state->domain_ready_ms);
    follow->domain_detected |= state->domain_detected;
    follow->completed |= state->completed;
    follow->failed |= state->failed;
    follow->abort_requested |= state->abort_requested;
    follow->mode = mode_of(state->mode, follow->mode);
    follow->postcopy_seen |= follow->mode == KVMIG_MODE_POST_COPY;
    take_text(&follow->abort_status, state->abort_status);
    take_text(&follow->failure_reason, state->failure_reason);
    take_text(&follow->source_node, state->source_node);
    take_text(&follow->source_pod, state->source_pod);
    take_text(&follow->target_node, state->target_node);
    take_text(&follow->target_pod, state->target_pod);
    take_text(&follow->target_address, state->target_address);
}

/* ---- VMIM ---- */

int32_t kvmig__stage_of(const char *phase)
{
    for (int32_t stage = KVMIG__STAGE_WAITING_FOR_SYNC; kvmig__stage_name(stage); stage++) {
        if (kvmig__str_eq(kvmig__stage_name(stage), phase))
            return stage;
    }
    return KVMIG__STAGE_NONE; /* none yet, or one that this version does not know: the stage stays */
}

static bool is_final(int32_t stage)
{
    return stage == KVMIG__STAGE_SUCCEEDED || stage == KVMIG__STAGE_FAILED;
}

static void take_stages(struct kvmig__follow *follow, const struct kvmig__kube_vmim *vmim)
{
    const int32_t stage = kvmig__stage_of(vmim->phase);
    const bool enters = stage > follow->stage && !is_final(follow->stage);

    if (enters) {
        follow->stage = stage;
        follow->stage_since_ms = 0;
    }
    if (!is_final(stage) && stage > follow->reached)
        follow->reached = stage;
    for (size_t i = 0; i < vmim->transitions.n; i++) {
        const struct kvmig__kube_transition *transition = &vmim->transitions.v[i];
        const int32_t entered = kvmig__stage_of(transition->phase);

        if (!is_final(entered) && entered > follow->reached)
            follow->reached = entered;
        if (entered == KVMIG__STAGE_FAILED)
            take_time(&follow->failed_ms, transition->at_ms);
        if (entered == follow->stage && entered != KVMIG__STAGE_NONE)
            take_time(&follow->stage_since_ms, transition->at_ms);
    }
    if (follow->stage == KVMIG__STAGE_NONE)
        follow->stage_since_ms = vmim->meta.created_ms;
}

static void take_vmim_conditions(struct kvmig__follow *follow, const struct kvmig__kube_vmim *vmim)
{
    const struct kvmig__kube_condition *quota =
        kvmig__kube_condition(&vmim->conditions, "migrationRejectedByResourceQuota");

    if (quota && kvmig__str_eq(quota->status, "True"))
        kvmig__str_set(&follow->quota, quota->message ? quota->message : quota->reason ? quota->reason : quota->type);
    else if (follow->reached >= KVMIG__STAGE_SCHEDULING)
        kvmig__str_set(&follow->quota, NULL); /* it got its pod after all */
    follow->cancel_seen |= kvmig__kube_condition_is(&vmim->conditions, "migrationAbortRequested", "True");
}

static void take_owner(struct kvmig__follow *follow, const struct kvmig__kube_vmim *vmim)
{
    follow->controller_owned |= kvmig__pairs_get(&vmim->meta.annotations, "kubevirt.io/evacuationMigration") ||
                                kvmig__pairs_get(&vmim->meta.annotations, "kubevirt.io/workloadUpdateMigration") ||
                                kvmig__pairs_get(&vmim->meta.labels, "kubevirt.io/volume-update-migration");
    follow->sends_away |= vmim->send_to && !vmim->receive;
}

void kvmig__follow_take_vmim(struct kvmig__follow *follow, const struct kvmig__kube_vmim *vmim)
{
    if (!follow->vmim_uid)
        kvmig__str_set(&follow->vmim_uid, vmim->meta.uid);
    follow->seen = true;
    take_time(&follow->created_ms, vmim->meta.created_ms);
    follow->deleting |= vmim->meta.deleted_ms != 0;
    take_owner(follow, vmim);
    take_stages(follow, vmim);
    take_vmim_conditions(follow, vmim);
    /* before the end only the source's pod stands there, and no UID */
    if (!vmim->state.uid)
        take_text(&follow->source_pod, vmim->state.source_pod);
    take_state(follow, &vmim->state);
}

/* ---- VMI ---- */

void kvmig__follow_take_vmi(struct kvmig__follow *follow, const struct kvmig__kube_vmi *vmi)
{
    take_state(follow, &vmi->migration);
    follow->vmi_deleting |= vmi->meta.deleted_ms != 0;
    kvmig__str_set(&follow->evacuation_node, vmi->evacuation_node);
    if (!follow->source_fixed && !follow->handed_off && (!follow->source_node || !is_final(follow->stage)))
        take_text(&follow->source_node, vmi->node);
}

/* The state that tells the target must still be about this migration, or have been completed by it: a later migration may have
 * taken the guest to the same node. */
static bool is_about_us(const struct kvmig__follow *follow, const struct kvmig__kube_vmi *vmi)
{
    return kvmig__str_eq(vmi->migration.uid, follow->vmim_uid) || (follow->completed && !follow->failed);
}

/* It was known where to, and nobody moves the guest now. */
static bool went_as_remembered(const struct kvmig__follow *follow, const struct kvmig__kube_vmi *vmi)
{
    const struct kvmig__kube_migration_state *state = &vmi->migration;

    return follow->resumed && (follow->gone || is_final(follow->stage)) &&
           (!state->present || state->completed || state->failed);
}

void kvmig__follow_take_node(struct kvmig__follow *follow, const struct kvmig__kube_vmi *vmi, int64_t now_ms)
{
    const bool is_proven = (follow->handed_off && is_about_us(follow, vmi)) || went_as_remembered(follow, vmi);

    if (follow->node_flipped || !is_proven || !follow->target_node || !kvmig__str_eq(vmi->node, follow->target_node) ||
        kvmig__str_eq(vmi->node, follow->source_node))
        return;
    follow->node_flipped = true;
    follow->node_flipped_seen_ms = now_ms;
}

/* ---- pods ---- */

static bool is_image_trouble(const struct kvmig__kube_container *container)
{
    static const char *const reasons[] = {
        "ErrImagePull",      "ImagePullBackOff",    "InvalidImageName",         "ErrImageNeverPull",
        "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"
    };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(reasons); i++) {
        if (kvmig__str_eq(container->state, "waiting") && kvmig__str_eq(container->reason, reasons[i]))
            return true;
    }
    return false;
}

static void take_image_trouble(struct kvmig__follow *follow, const struct kvmig__kube_pod *pod)
{
    if (kvmig__str_eq(pod->phase, "Running"))
        kvmig__str_set(&follow->image_pull, NULL);
    for (size_t i = 0; i < pod->containers.n; i++) {
        const struct kvmig__kube_container *container = &pod->containers.v[i];
        char *text;

        if (!is_image_trouble(container))
            continue;
        text = kvmig__asprintf("container %s: %s: %s", container->name ? container->name : "?", container->reason,
                               container->message ? container->message
                               : container->image ? container->image
                                                  : "");
        kvmig__str_set(&follow->image_pull, text);
        free(text);
        return;
    }
}

static void take_scheduling(struct kvmig__follow *follow, const struct kvmig__kube_pod *pod)
{
    const struct kvmig__kube_condition *scheduled = kvmig__kube_condition(&pod->conditions, "PodScheduled");

    if (pod->node || (scheduled && kvmig__str_eq(scheduled->status, "True")))
        kvmig__str_set(&follow->unschedulable, NULL);
    else if (scheduled && kvmig__str_eq(scheduled->status, "False") &&
             kvmig__str_eq(scheduled->reason, "Unschedulable"))
        kvmig__str_set(&follow->unschedulable, scheduled->message ? scheduled->message : scheduled->reason);
}

/* The first container that says why: one that ended badly, else any that ended. */
static const struct kvmig__kube_container *ended_container(const struct kvmig__kube_pod *pod)
{
    const struct kvmig__kube_container *found = NULL;

    for (size_t i = 0; i < pod->containers.n; i++) {
        const struct kvmig__kube_container *container = &pod->containers.v[i];

        if (!kvmig__str_eq(container->state, "terminated"))
            continue;
        if (container->exit_code != 0)
            return container;
        if (!found)
            found = container;
    }
    return found;
}

static void take_pod_end(struct kvmig__follow *follow, const struct kvmig__kube_pod *pod, const char *role)
{
    const struct kvmig__kube_container *container = ended_container(pod);
    char *why = NULL, *text;

    if (container)
        why = kvmig__asprintf("; container %s ended with %d%s%s%s%s", container->name ? container->name : "?",
                              container->exit_code, container->reason ? ", " : "",
                              container->reason ? container->reason : "", container->message ? ": " : "",
                              container->message ? container->message : "");
    text = kvmig__asprintf("%s pod %s is %s%s%s%s%s%s", role, pod->meta.name, pod->phase, pod->reason ? ": " : "",
                           pod->reason ? pod->reason : "", pod->message ? ": " : "", pod->message ? pod->message : "",
                           why ? why : "");
    kvmig__str_set(&follow->pod_failure, text);
    free(text);
    free(why);
}

static int64_t compute_started(const struct kvmig__kube_pod *pod)
{
    for (size_t i = 0; i < pod->containers.n; i++) {
        if (kvmig__str_eq(pod->containers.v[i].name, "compute") && kvmig__str_eq(pod->containers.v[i].state, "running"))
            return pod->containers.v[i].since_ms;
    }
    return 0;
}

void kvmig__follow_take_target(struct kvmig__follow *follow, const struct kvmig__kube_pod *pod)
{
    if (!kvmig__str_eq(follow->target_pod_uid, pod->meta.uid)) { /* another launcher: its node is not the old one's */
        kvmig__str_set(&follow->target_pod_uid, pod->meta.uid);
        kvmig__str_set(&follow->target_ip, NULL);
        if (!follow->handed_off)
            kvmig__str_set(&follow->target_node, NULL);
        follow->target_started_ms = 0;
        follow->target_pod_ended = false;
    }
    kvmig__str_set(&follow->target_pod, pod->meta.name);
    take_text(&follow->target_node, pod->node);
    take_text(&follow->target_ip, pod->ip);
    take_time(&follow->target_started_ms, compute_started(pod));
    follow->target_pod_gone = false;
    take_scheduling(follow, pod);
    take_image_trouble(follow, pod);
    if (kvmig__str_eq(pod->phase, "Running")) {
        follow->pod_trouble_ms = 0;
        follow->pod_trouble_code = NULL;
        kvmig__str_set(&follow->pod_trouble, NULL);
    }
    /* a target whose guest has moved on since ends like any source */
    if (kvmig__pod_is_final(pod) && !follow->node_flipped) {
        follow->target_pod_ended = true;
        take_pod_end(follow, pod, "target");
    }
}

void kvmig__follow_take_attachment(struct kvmig__follow *follow, const struct kvmig__kube_pod *pod)
{
    kvmig__str_set(&follow->attachment_pod, pod->meta.name);
    if (kvmig__str_eq(pod->phase, "Failed") && !follow->node_flipped)
        take_pod_end(follow, pod, "attachment");
}

/* ---- events ---- */

static bool is_about(const struct kvmig__kube_event *event, const char *kind, const char *ns, const char *name,
                     const char *uid)
{
    if (event->about_kind && strcmp(event->about_kind, kind) != 0)
        return false;
    if (event->about_uid && uid)
        return !strcmp(event->about_uid, uid);
    return name && kvmig__str_eq(event->about_ns, ns) && kvmig__str_eq(event->about_name, name);
}

/* "Created migration target pod NAME": launchers that were gone before anybody looked. */
static void take_created(struct kvmig__follow *follow, const char *message)
{
    const char *name = contains(message, "target pod ") ? strrchr(message, ' ') : NULL;

    if (name && name[1])
        kvmig__strlist_add_new(&follow->target_pod_names, name + 1);
}

static void take_deleted(struct kvmig__follow *follow, const char *message)
{
    follow->cancel_seen |= contains(message, "canceled");
    if (!contains(message, "unschedulable pod") && !contains(message, "pending pod"))
        return;
    follow->timer_deleted = true;
    kvmig__str_set(&follow->timer_event, message);
}

static void take_vmim_event(struct kvmig__follow *follow, const struct kvmig__kube_event *event)
{
    if (kvmig__str_eq(event->reason, "SuccessfulCreate")) {
        take_created(follow, event->message);
    } else if (kvmig__str_eq(event->reason, "SuccessfulDelete")) {
        take_deleted(follow, event->message);
    } else if (kvmig__str_eq(event->reason, "FailedMigration")) {
        take_text(&follow->event_failure, event->message);
        follow->cancel_seen |= contains(event->message, "being canceled");
    }
}

/* The VMI's own event names the migration in its text, and is all that is left of the reason if the state was overwritten. */
static void take_vmi_event(struct kvmig__follow *follow, const struct kvmig__kube_event *event)
{
    const char *reason;

    if (follow->failure_reason || !kvmig__str_eq(event->reason, "FailedMigration") ||
        !contains(event->message, follow->vmim_uid))
        return;
    reason = strstr(event->message, "reason: ");
    if (reason)
        take_text(&follow->failure_reason, reason + strlen("reason: "));
}

static const char *pod_trouble_code(const struct kvmig__kube_event *event)
{
    if (kvmig__str_eq(event->reason, "FailedAttachVolume") || kvmig__str_eq(event->reason, "FailedMount") ||
        kvmig__str_eq(event->reason, "FailedMapVolume"))
        return "TARGET_VOLUME_NOT_READY";
    if (kvmig__str_eq(event->reason, "FailedCreatePodSandBox") || kvmig__str_eq(event->reason, "NetworkNotReady"))
        return "TARGET_NETWORK_NOT_READY";
    return NULL;
}

/* Of a launcher that is not there any more (or never was seen), what the scheduler and the kubelet said last. */
static void take_lost_word(struct kvmig__follow *follow, const struct kvmig__kube_event *event)
{
    if (event->last_ms < follow->lost_word_ms)
        return;
    if (kvmig__str_eq(event->reason, "FailedScheduling")) {
        kvmig__str_set(&follow->unschedulable, event->message ? event->message : event->reason);
    } else if (kvmig__str_eq(event->reason, "Scheduled")) {
        kvmig__str_set(&follow->unschedulable, NULL);
    } else if (kvmig__str_eq(event->reason, "Failed") && contains(event->message, "Failed to pull image")) {
        kvmig__str_set(&follow->image_pull, event->message);
    } else if (kvmig__str_eq(event->reason, "Pulled")) {
        kvmig__str_set(&follow->image_pull, NULL);
    } else {
        return;
    }
    follow->lost_word_ms = event->last_ms;
}

static void take_pod_event(struct kvmig__follow *follow, const struct kvmig__kube_event *event)
{
    const char *code = pod_trouble_code(event);

    if (!code || event->last_ms < follow->pod_trouble_ms)
        return;
    follow->pod_trouble_ms = event->last_ms;
    follow->pod_trouble_code = code;
    take_text(&follow->pod_trouble, event->message);
}

void kvmig__follow_take_event(struct kvmig__follow *follow, const struct kvmig__kube_event *event)
{
    if (!follow->vmim_uid)
        return;
    if (is_about(event, "VirtualMachineInstanceMigration", follow->ns, follow->vmim, follow->vmim_uid))
        take_vmim_event(follow, event);
    else if (is_about(event, "VirtualMachineInstance", follow->ns, follow->vmi, follow->vmi_uid))
        take_vmi_event(follow, event);
    else if (is_about(event, "Pod", follow->ns, follow->target_pod, follow->target_pod_uid) ||
             is_about(event, "Pod", follow->ns, follow->attachment_pod, NULL))
        take_pod_event(follow, event);
    if (kvmig__str_eq(event->about_kind, "Pod") && kvmig__str_eq(event->about_ns, follow->ns) &&
        kvmig__strlist_has(&follow->target_pod_names, event->about_name) && !follow->target_started_ms &&
        (follow->target_pod_gone || !follow->target_pod))
        take_lost_word(follow, event);
}

/* ---- endpoint slices ---- */

struct handover { /* of one service */
    bool target_ready, source_ready;
};

struct slices {
    const struct kvmig__kube_slice **v;
    size_t n;
};

static bool is_launcher(const char *pod, const char *launcher)
{
    return pod && kvmig__str_eq(pod, launcher);
}

static bool concerns(const struct kvmig__follow *follow, const struct kvmig__kube_slice *slice)
{
    for (size_t i = 0; i < slice->endpoints.n; i++)
        if (is_launcher(slice->endpoints.v[i].pod, follow->target_pod) ||
            is_launcher(slice->endpoints.v[i].pod, follow->source_pod))
            return true;
    return false;
}

/* Where a namespace begins in a list, which is sorted by it. */
static size_t first_of(const struct kvmig__kube_list *list, const char *ns)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (list->v[middle]->ns && strcmp(list->v[middle]->ns, ns) >= 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Those that have one of the two launchers: a handful, of the many that a namespace may have. The list is the caller's. */
static struct slices slices_of_launchers(const struct kvmig__follow *follow, const struct kvmig__kube *kube)
{
    const struct kvmig__kube_list *list = &kube->kinds[KVMIG__KUBE_SLICE];
    struct slices ours = { NULL, 0 };

    for (size_t i = first_of(list, follow->ns); i < list->n && kvmig__str_eq(list->v[i]->ns, follow->ns); i++) {
        const struct kvmig__kube_slice *slice = (const struct kvmig__kube_slice *)list->v[i];

        if (slice->service && concerns(follow, slice))
            *KVMIG__PUSH(&ours) = slice;
    }
    return ours;
}

static void add_slice(const struct kvmig__follow *follow, const struct kvmig__kube_slice *slice, struct handover *sum)
{
    for (size_t i = 0; i < slice->endpoints.n; i++) {
        const struct kvmig__kube_endpoint *endpoint = &slice->endpoints.v[i];

        sum->target_ready |= is_launcher(endpoint->pod, follow->target_pod) && endpoint->ready != 0;
        sum->source_ready |= is_launcher(endpoint->pod, follow->source_pod) && endpoint->ready != 0;
    }
}

static struct handover service_handover(const struct kvmig__follow *follow, const struct slices *ours,
                                        const char *service)
{
    struct handover sum = { 0 };

    for (size_t i = 0; i < ours->n; i++)
        if (kvmig__str_eq(ours->v[i]->service, service))
            add_slice(follow, ours->v[i], &sum);
    return sum;
}

/* Moved when the last service has moved. */
void kvmig__follow_take_slices(struct kvmig__follow *follow, const struct kvmig__kube *kube, int64_t now_ms)
{
    bool all = true;
    struct slices ours;

    if (!follow->node_flipped || follow->endpoints_moved_ms || !follow->target_pod || !follow->ns)
        return;
    ours = slices_of_launchers(follow, kube);
    for (size_t i = 0; i < ours.n; i++) {
        const struct handover sum = service_handover(follow, &ours, ours.v[i]->service);

        if (i == 0 || (all && (!sum.target_ready || sum.source_ready)))
            kvmig__str_set(&follow->service, ours.v[i]->service);
        all &= sum.target_ready && !sum.source_ready;
    }
    if (ours.n && all)
        follow->endpoints_moved_ms = now_ms;
    free(ours.v);
}
