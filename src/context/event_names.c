/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names of what events speak of: types, phases, modes, results, reasons. Static text; any thread.
 */
#include "base/base.h"

#include <kvmig/event.h>

struct name {
    int32_t value;
    const char *text;
};

static const char *name_of(const struct name *names, size_t n, int32_t value)
{
    for (size_t i = 0; i < n; i++) {
        if (names[i].value == value)
            return names[i].text;
    }
    return NULL;
}

const char *kvmig_event_type_name(int32_t type)
{
    static const struct name names[] = {
        { KVMIG_EVENT_CLUSTER_SYNCED, "cluster-synced" },
        { KVMIG_EVENT_CLUSTER_CHANGED, "cluster-changed" },
        { KVMIG_EVENT_HOST_LOST, "host-lost" },
        { KVMIG_EVENT_HOST_FOUND, "host-found" },
        { KVMIG_EVENT_MIGRATION, "migration" },
        { KVMIG_EVENT_VIEW_NOTICE, "view-notice" },
        { KVMIG_EVENT_MEASURED, "measured" },
        { KVMIG_EVENT_PHASE, "phase" },
        { KVMIG_EVENT_QUEUED, "queued" },
        { KVMIG_EVENT_PROGRESS, "progress" },
        { KVMIG_EVENT_NOTICE, "notice" },
        { KVMIG_EVENT_CANCEL, "cancel" },
        { KVMIG_EVENT_MODE, "mode" },
        { KVMIG_EVENT_PORT, "port" },
        { KVMIG_EVENT_CHECKPOINT, "checkpoint" },
        { KVMIG_EVENT_WAIT, "wait" },
        { KVMIG_EVENT_END, "end" },
        { KVMIG_EVENT_DRAIN_END, "drain-end" },
    };

    return name_of(names, KVMIG__N_ELEMENTS(names), type);
}

const char *kvmig_phase_name(int32_t phase)
{
    static const struct name names[] = {
        { KVMIG_PHASE_UNSET, "Unset" },
        { KVMIG_PHASE_WAITING_FOR_SYNC, "WaitingForSync" },
        { KVMIG_PHASE_SYNCHRONIZING, "Synchronizing" },
        { KVMIG_PHASE_PENDING, "Pending" },
        { KVMIG_PHASE_SCHEDULING, "Scheduling" },
        { KVMIG_PHASE_SCHEDULED, "Scheduled" },
        { KVMIG_PHASE_PREPARING_TARGET, "PreparingTarget" },
        { KVMIG_PHASE_TARGET_READY, "TargetReady" },
        { KVMIG_PHASE_RUNNING, "Running" },
        { KVMIG_PHASE_FINALIZING, "Finalizing" },
        { KVMIG_PHASE_ROLLING_BACK, "RollingBack" },
        { KVMIG_PHASE_SUCCEEDED, "Succeeded" },
        { KVMIG_PHASE_FAILED, "Failed" },
        { KVMIG_PHASE_CANCELLED, "Cancelled" },
        { KVMIG_PHASE_INDETERMINATE, "Indeterminate" },
    };

    return name_of(names, KVMIG__N_ELEMENTS(names), phase);
}

int32_t kvmig_phase_is_terminal(int32_t phase)
{
    return phase == KVMIG_PHASE_SUCCEEDED || phase == KVMIG_PHASE_FAILED || phase == KVMIG_PHASE_CANCELLED ||
           phase == KVMIG_PHASE_INDETERMINATE;
}

const char *kvmig_mode_name(int32_t mode)
{
    static const struct name names[] = {
        { KVMIG_MODE_PRE_COPY, "PreCopy" },
        { KVMIG_MODE_POST_COPY, "PostCopy" },
        { KVMIG_MODE_PAUSED, "Paused" },
    };

    return name_of(names, KVMIG__N_ELEMENTS(names), mode);
}

const char *kvmig_cancel_result_name(int32_t result)
{
    static const struct name names[] = {
        { KVMIG_CANCEL_ACCEPTED, "accepted" }, { KVMIG_CANCEL_TOO_LATE, "too-late" },
        { KVMIG_CANCEL_REFUSED, "refused" },   { KVMIG_CANCEL_UNKNOWN, "unknown" },
        { KVMIG_CANCEL_DEFERRED, "deferred" }, { KVMIG_CANCEL_WILL_RETURN, "will-return" },
    };

    return name_of(names, KVMIG__N_ELEMENTS(names), result);
}

const char *kvmig_eta_reason_name(int32_t reason)
{
    static const struct name names[] = {
        { KVMIG_ETA_UNKNOWN, "unknown" },
        { KVMIG_ETA_BANDWIDTH_LIMITED, "bandwidth-limited" },
        { KVMIG_ETA_BANDWIDTH_CAPPED, "bandwidth-capped" },
        { KVMIG_ETA_DIRTY_LIMITED, "dirty-limited" },
        { KVMIG_ETA_DISK_LIMITED, "disk-limited" },
        { KVMIG_ETA_SWITCHING, "switching" },
        { KVMIG_ETA_SETUP, "setup" },
    };

    return name_of(names, KVMIG__N_ELEMENTS(names), reason);
}
