/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How a migration in KubeVirt ended, and why. The end is where the guest runs, and only the VMI says that. The cause is put together
 * from the migrationState, the VMIM's conditions and events, and what the target pods said while they were there, because KubeVirt
 * itself gives one text to several causes and none to others. Pure; the owner's thread; writes end, verdict and evidence only.
 */
#include "kubernetes/follow_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Time stamps of the API have whole seconds, and KubeVirt's clocks start a little after them. */
#define CLOCK_SLACK_MS 2000
/* The launcher gives up 240 s plus up to 119 s after it started when no guest has come; its pod's end is seen a little later. */
#define LAUNCHER_TIMER_MIN_MS 238000
#define LAUNCHER_TIMER_MAX_MS 375000
/* A limit beyond a century is none, and must not overflow. */
#define MAX_LIMIT_S UINT32_MAX
#define STALL_WINDOW_MS 40000

static bool contains(const char *text, const char *part)
{
    return text && strcasestr(text, part);
}

static void set_verdict(struct kvmig__follow *follow, const char *verdict, const char *evidence)
{
    follow->verdict = verdict;
    kvmig__str_set(&follow->evidence, evidence);
}

/* ---- what libvirt or QEMU said ---- */

/* First match wins: the more exact text stands before the general one. */
static const struct {
    const char *token, *code;
} texts[] = {
    { "extra features", "CPU_FEATURE_EXTRA" },
    { "guest CPU doesn't match specification", "CPU_FEATURE_MISSING" },
    { "CPU is incompatible with host CPU", "CPU_FEATURE_MISSING" },
    { "unsupported machine type", "MACHINE_TYPE_UNSUPPORTED" },
    { "Cannot migrate empty or read-only disk", "COPY_LIST_HAS_READONLY_DISK" },
    { "has to be smaller or equal to the actual size", "DEST_VOLUME_SMALLER" },
    { "is smaller than the source", "DEST_VOLUME_SMALLER" },
    { "size is smaller", "DEST_VOLUME_SMALLER" },
    { "pre-creation of storage targets", "TARGET_PRECREATE_UNSUPPORTED" },
    { "VIR_MIGRATE_NON_SHARED", "INVALID_FLAGS" },
    { "use cache other than none", "UNSAFE_DISK_CACHE" },
    { "use cache != none", "UNSAFE_DISK_CACHE" },
    { "Unsafe migration", "UNSAFE_MIGRATION_NOT_SHARED" },
    { "\"write\" lock", "IMAGE_LOCKED" },
    { "write lock", "IMAGE_LOCKED" },
    { "to the same host", "DUPLICATE_HOST_UUID" },
    { "doesn't match the expected", "TLS_HOSTNAME_MISMATCH" },
    { "certificate does not match", "TLS_HOSTNAME_MISMATCH" },
    { "Unable to find any credentials", "TLS_CREDENTIALS_MISSING" },
    { "Cannot read CA certificate", "TLS_CREDENTIALS_MISSING" },
    { "TLS handshake", "TLS_CHANNEL_ERROR" },
    { "TLS channel", "TLS_CHANNEL_ERROR" },
    { "userfaultfd", "POSTCOPY_UNSUPPORTED" },
    { "Postcopy is not supported", "POSTCOPY_UNSUPPORTED" },
    { "non-migratable device", "HOSTDEV_NOT_MIGRATABLE" },
    { "error while loading state for instance", "DEVICE_STATE_INCOMPATIBLE" },
    { "Unknown savevm section", "DEVICE_STATE_INCOMPATIBLE" },
    { "Length mismatch", "RAM_BLOCK_MISMATCH" },
    { "Not a migration stream", "STREAM_MISMATCH" },
    /* KubeVirt before 1.9 told its timers apart */
    { "stuck for ", "ABORTED_BY_PROGRESS_TIMEOUT" },
    { "not completed after ", "ABORTED_BY_COMPLETION_TIMEOUT" },
};

/* Words that are said of many things, and mean something only beside a second one. */
static const struct {
    const char *token, *code, *and_token;
} pairs[] = {
    { "not supported by hypervisor", "CPU_MODEL_UNSUPPORTED", "CPU" },
    { "certificate", "TLS_CHANNEL_ERROR", "TLS" },
    { "certificate", "TLS_CHANNEL_ERROR", "x509" },
    { "certificate", "TLS_CHANNEL_ERROR", "verif" },
    { "certificate", "TLS_CHANNEL_ERROR", "expired" },
    { "certificate", "TLS_CHANNEL_ERROR", "not trusted" },
    { "hostdev", "HOSTDEV_NOT_MIGRATABLE", "cannot be migrated" },
    { "hostdev", "HOSTDEV_NOT_MIGRATABLE", "cannot migrate" },
    { "hostdev", "HOSTDEV_NOT_MIGRATABLE", "not migratable" },
};

static const char *decode(const char *text)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        if (contains(text, texts[i].token))
            return texts[i].code;
    }
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(pairs); i++) {
        if (contains(text, pairs[i].token) && contains(text, pairs[i].and_token))
            return pairs[i].code;
    }
    return NULL;
}

/* ---- aborted: by whom ---- */

static bool was_aborted(const struct kvmig__follow *follow)
{
    return kvmig__str_eq(follow->abort_status, "Succeeded") || contains(follow->failure_reason, "been aborted") ||
           contains(follow->failure_reason, "canceled by client");
}

struct limits {
    uint64_t completion_ms, progress_ms; /* 0 = none */
    uint64_t stall_ms; /* how long KubeVirt's stall detector looks before it can give up; 0 = it does not watch */
};

/* As resolved for this migration, or else as they would be now. */
static struct limits limits_of(const struct kvmig__follow *follow, const struct kvmig__kube *kube,
                               const struct kvmig__kube_vmi *vmi)
{
    struct limits limits = { 0 };
    struct kvmig__kube_config now;
    uint64_t progress_s = follow->config.progress_s;

    limits.completion_ms = kvmig__follow_limit_ms(follow, kube, vmi);
    kvmig__kube_config_for(kube, vmi, &now, NULL);
    if (progress_s == KVMIG__UNKNOWN)
        progress_s = now.progress_s;
    kvmig__kube_config_clear(&now);
    limits.progress_ms = progress_s > MAX_LIMIT_S ? 0 : progress_s * 1000;
    if (kvmig__kube_stall_factor_milli(kube, &follow->config))
        limits.stall_ms =
            follow->config.stall_progress_s > MAX_LIMIT_S ? STALL_WINDOW_MS : follow->config.stall_progress_s * 1000;
    return limits;
}

/* KubeVirt doubles the limit while the guest is paused for it, and has a factor of its own with its stall detector. */
uint64_t kvmig__follow_limit_ms(const struct kvmig__follow *follow, const struct kvmig__kube *kube,
                                const struct kvmig__kube_vmi *vmi)
{
    struct kvmig__kube_config now;
    const struct kvmig__kube_config *config = &follow->config;
    uint64_t limit, factor_milli;

    if (!vmi)
        return 0;
    kvmig__kube_config_for(kube, vmi, &now, NULL);
    if (config->completion_s_per_gb == KVMIG__UNKNOWN)
        config = &now;
    limit = kvmig__kube_completion_limit_s(vmi, config);
    factor_milli = kvmig__kube_stall_factor_milli(kube, config);
    if (!factor_milli)
        factor_milli = follow->mode == KVMIG_MODE_PAUSED ? 2000 : 1000;
    kvmig__kube_config_clear(&now);
    return limit > MAX_LIMIT_S || factor_milli > MAX_LIMIT_S ? 0 : limit * factor_milli;
}

/* Nobody asked for it through the API: one of KubeVirt's two timers, or a hand on libvirt. */
static void judge_monitor_abort(struct kvmig__follow *follow, const struct kvmig__kube *kube,
                                const struct kvmig__kube_vmi *vmi)
{
    const struct limits limits = limits_of(follow, kube, vmi);
    const bool timed = follow->start_ms && follow->end_ms >= follow->start_ms;
    const uint64_t elapsed = timed ? (uint64_t)(follow->end_ms - follow->start_ms) : 0;
    const char *said = decode(follow->failure_reason);
    char *evidence;

    if (said) {
        set_verdict(follow, said, follow->failure_reason);
        return;
    }
    if (!timed) {
        set_verdict(follow, "CANCELLED", "the copy was aborted; neither a request nor its duration is on record");
        return;
    }
    evidence = kvmig__asprintf("aborted after %" PRIu64 " s without a request; completion limit %" PRIu64
                               " s, progress limit %" PRIu64 " s",
                               elapsed / 1000, limits.completion_ms / 1000, limits.progress_ms / 1000);
    if (limits.completion_ms && elapsed + CLOCK_SLACK_MS > limits.completion_ms)
        set_verdict(follow, "ABORTED_BY_COMPLETION_TIMEOUT", evidence);
    else if (limits.stall_ms && elapsed + CLOCK_SLACK_MS >= limits.stall_ms)
        set_verdict(follow, "NOT_CONVERGING", evidence);
    else if (limits.progress_ms && elapsed + CLOCK_SLACK_MS >= limits.progress_ms)
        set_verdict(follow, "ABORTED_BY_PROGRESS_TIMEOUT", evidence);
    else
        set_verdict(follow, "CANCELLED", evidence);
    free(evidence);
}

/* ---- the target pod ---- */

static bool blames_target_pod(const struct kvmig__follow *follow)
{
    return contains(follow->failure_reason, "target pod is down") || contains(follow->event_failure, "target pod") ||
           contains(follow->event_failure, "attachment pod");
}

/* The launcher's own timer ends a preparation that hangs; the pod then looks as if it had crashed. */
static bool launcher_timer_fired(const struct kvmig__follow *follow)
{
    const int64_t end = follow->failed_ms ? follow->failed_ms : follow->end_ms;
    const int64_t lived = follow->target_started_ms && end ? end - follow->target_started_ms : 0;

    return !follow->start_ms && follow->reached < KVMIG__STAGE_RUNNING && lived >= LAUNCHER_TIMER_MIN_MS &&
           lived <= LAUNCHER_TIMER_MAX_MS;
}

static const char *first_of(const char *a, const char *b)
{
    return a ? a : b;
}

static void judge_target_pod(struct kvmig__follow *follow)
{
    const char *timer = follow->timer_event;

    if (contains(timer, "unschedulable pod"))
        set_verdict(follow, "TARGET_UNSCHEDULABLE", first_of(follow->unschedulable, timer));
    else if (follow->image_pull)
        set_verdict(follow, "TARGET_IMAGE_PULL", follow->image_pull);
    else if (follow->unschedulable)
        set_verdict(follow, "TARGET_UNSCHEDULABLE", follow->unschedulable);
    else if (follow->pod_trouble_code)
        set_verdict(follow, follow->pod_trouble_code, follow->pod_trouble);
    else if (timer)
        set_verdict(follow, "TARGET_POD_PENDING", timer);
    else if (launcher_timer_fired(follow))
        set_verdict(follow, "TARGET_START_TIMEOUT",
                    "the target launcher ended when its start timer (240 to 359 s) ran out: the guest did not come");
    else
        set_verdict(follow, "TARGET_POD_LOST",
                    first_of(follow->pod_failure, first_of(follow->failure_reason, follow->event_failure)));
}

/* ---- the guest stayed ---- */

/* What the source has reported is a cause, whoever removed the record of it; that a pod is down may be how a cancel was carried out. */
static bool source_reported(const struct kvmig__follow *follow)
{
    return follow->failed && follow->failure_reason && !strstr(follow->failure_reason, "Target pod is down");
}

/* What ended it other than a cancel; false: nothing is on record. */
static bool judge_cause(struct kvmig__follow *follow)
{
    const char *code = decode(follow->failure_reason);

    if (code)
        set_verdict(follow, code, follow->failure_reason);
    else if (contains(follow->event_failure, "utility volume"))
        set_verdict(follow, "UTILITY_VOLUMES_PRESENT", follow->event_failure);
    else if (contains(follow->event_failure, "another migration job") || contains(follow->event_failure, "taken over"))
        set_verdict(follow, "MIGRATION_IN_PROGRESS", follow->event_failure);
    else if (blames_target_pod(follow) || (follow->target_pod_ended && !source_reported(follow)) ||
             (follow->timer_deleted && follow->target_pod_gone))
        judge_target_pod(follow);
    else if (!follow->handed_off && (follow->target_pod_gone || follow->unschedulable || follow->image_pull))
        judge_target_pod(follow);
    else if (follow->quota)
        set_verdict(follow, "QUOTA_EXCEEDED", follow->quota);
    else
        return false;
    return true;
}

static bool may_be_cancel(const struct kvmig__follow *follow)
{
    return follow->cancel_seen || (follow->gone && follow->stage != KVMIG__STAGE_FAILED && !source_reported(follow));
}

static void judge_stayed(struct kvmig__follow *follow, const struct kvmig__kube *kube,
                         const struct kvmig__kube_vmi *vmi)
{
    if (was_aborted(follow)) {
        if (follow->abort_requested)
            set_verdict(follow, "CANCELLED_BY_USER", "abortRequested, and the copy was aborted");
        else
            judge_monitor_abort(follow, kube, vmi);
        return;
    }
    /* A cancel before the copy runs is carried out by removing the target pod, so that pod's end is no cause of its own. */
    if (may_be_cancel(follow) && !decode(follow->failure_reason)) {
        if (follow->abort_requested)
            set_verdict(follow, "CANCELLED_BY_USER", "abortRequested");
        else
            set_verdict(follow, "CANCELLED",
                        follow->cancel_seen ? "the migration was deleted before its end (migrationAbortRequested)"
                                            : "the migration was deleted before its end");
        return;
    }
    if (!judge_cause(follow))
        set_verdict(
            follow, "FAILED",
            first_of(follow->failure_reason,
                     first_of(follow->event_failure, "the migration is in phase Failed; no cause is on record")));
}

bool kvmig__follow_target_may_run(const struct kvmig__follow *follow)
{
    const bool handed_over = follow->handed_off || follow->reached >= KVMIG__STAGE_PREPARING_TARGET;

    return handed_over && !follow->completed && !follow->failed && !follow->target_pod_gone &&
           !follow->target_pod_ended;
}

/* Over, as the VMIM says, and nothing is left that could still take the guest away. */
static bool has_stayed(const struct kvmig__follow *follow, const struct kvmig__kube_vmi *vmi)
{
    const bool over = follow->stage == KVMIG__STAGE_FAILED || (follow->gone && follow->stage != KVMIG__STAGE_SUCCEEDED);

    return vmi && over && !follow->node_flipped && kvmig__str_eq(vmi->phase, "Running") && follow->source_node &&
           kvmig__str_eq(vmi->node, follow->source_node) && !(follow->completed && !follow->failed) &&
           !kvmig__follow_target_may_run(follow);
}

/* ---- the guest moved, or is lost ---- */

/* In post-copy the target still needs the source's memory: it is not safe there before the end. */
static bool has_moved(const struct kvmig__follow *follow, const struct kvmig__kube_vmi *vmi)
{
    const bool ended = (follow->completed && !follow->failed) || follow->stage == KVMIG__STAGE_SUCCEEDED;

    if (!vmi)
        return false;
    if (follow->sends_away && ended && kvmig__str_eq(vmi->phase, "Succeeded"))
        return true;
    if (!follow->node_flipped || !kvmig__str_eq(vmi->phase, "Running"))
        return false;
    return !follow->postcopy_seen || ended || follow->failed || follow->stage == KVMIG__STAGE_FAILED;
}

static void judge_moved(struct kvmig__follow *follow)
{
    const bool reported_failed = follow->failed || follow->stage == KVMIG__STAGE_FAILED;
    char *evidence;

    if (!follow->node_flipped)
        evidence = kvmig__strdup("the VMI ended as Succeeded after it was sent to another cluster or namespace");
    else
        evidence = kvmig__asprintf("status.nodeName of the VMI is %s", follow->target_node);
    set_verdict(follow, reported_failed ? "SUCCEEDED_UNREPORTED" : "SUCCEEDED", evidence);
    free(evidence);
}

static bool is_lost(const struct kvmig__follow *follow, const struct kvmig__kube *kube,
                    const struct kvmig__kube_vmi *vmi)
{
    if (!vmi)
        return kvmig__kube_is_known(kube, KVMIG__KUBE_VMI);
    if (kvmig__str_eq(vmi->phase, "Failed"))
        return true;
    /* a source that sends its guest away ends as Succeeded as well, perhaps before its migration says so */
    return kvmig__str_eq(vmi->phase, "Succeeded") && (!follow->sends_away || follow->stage == KVMIG__STAGE_FAILED);
}

static void judge_lost(struct kvmig__follow *follow, const struct kvmig__kube_vmi *vmi)
{
    if (follow->postcopy_seen && !(follow->completed && !follow->failed))
        set_verdict(follow, "POSTCOPY_FAILED", "the VMI ended while post-copy was active: the guest's memory is lost");
    else if (vmi && kvmig__str_eq(vmi->phase, "Succeeded"))
        set_verdict(follow, "NOTHING_TO_MIGRATE", "the VMI has ended as Succeeded");
    else if (vmi && !follow->handed_off && follow->reached < KVMIG__STAGE_PREPARING_TARGET)
        set_verdict(follow, "NOTHING_TO_MIGRATE", "the VMI has ended as Failed, before it was handed over");
    else if (!vmi && follow->vmi_deleting)
        set_verdict(follow, "NOTHING_TO_MIGRATE", "the VMI was deleted");
    else
        set_verdict(follow, "VM_LOST", vmi ? vmi->reason ? vmi->reason : "the VMI has failed" : "the VMI is gone");
}

void kvmig__follow_judge(struct kvmig__follow *follow, const struct kvmig__kube *kube)
{
    const struct kvmig__kube_vmi *vmi = kvmig__follow_vmi(follow, kube);
    const bool undecided = follow->end == KVMIG__END_OPEN || follow->end == KVMIG__END_STAYED;

    if (undecided && has_moved(follow, vmi))
        follow->end = KVMIG__END_MOVED;
    else if (follow->end == KVMIG__END_OPEN && is_lost(follow, kube, vmi))
        follow->end = KVMIG__END_LOST;
    else if (follow->end == KVMIG__END_OPEN && has_stayed(follow, vmi))
        follow->end = KVMIG__END_STAYED;
    switch (follow->end) {
    case KVMIG__END_MOVED:
        judge_moved(follow);
        return;
    case KVMIG__END_STAYED:
        judge_stayed(follow, kube, vmi);
        return;
    case KVMIG__END_LOST:
        if (!follow->verdict)
            judge_lost(follow, vmi);
        return;
    default:
        return;
    }
}
