/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of the planner's enums. Static strings; any thread.
 */
#include <kvmig/plan.h>

const char *kvmig_verdict_name(int32_t verdict)
{
    switch (verdict) {
    case KVMIG_VERDICT_MIGRATABLE:
        return "MIGRATABLE";
    case KVMIG_VERDICT_MIGRATABLE_WITH_RISK:
        return "MIGRATABLE_WITH_RISK";
    case KVMIG_VERDICT_QUEUED:
        return "QUEUED";
    case KVMIG_VERDICT_BLOCKED:
        return "BLOCKED";
    case KVMIG_VERDICT_SOURCE:
        return "SOURCE";
    default:
        return NULL;
    }
}

const char *kvmig_disk_method_name(int32_t method)
{
    switch (method) {
    case KVMIG_DISK_SHARED:
        return "shared";
    case KVMIG_DISK_COPY_FULL:
        return "copy-full";
    case KVMIG_DISK_COPY_INCREMENTAL:
        return "copy-incremental";
    case KVMIG_DISK_SKIP:
        return "skip";
    case KVMIG_DISK_IMPOSSIBLE:
        return "impossible";
    default:
        return NULL;
    }
}

const char *kvmig_copy_name(int32_t copy)
{
    switch (copy) {
    case KVMIG_COPY_AUTO:
        return "auto";
    case KVMIG_COPY_NONE:
        return "none";
    case KVMIG_COPY_FULL:
        return "full";
    case KVMIG_COPY_INCREMENTAL:
        return "incremental";
    default:
        return NULL;
    }
}

const char *kvmig_handover_name(int32_t handover)
{
    switch (handover) {
    case KVMIG_HANDOVER_NORMAL:
        return "normal";
    case KVMIG_HANDOVER_STRICT:
        return "strict";
    default:
        return NULL;
    }
}
