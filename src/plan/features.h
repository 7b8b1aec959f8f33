/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which parts of a request the three libvirts (ours, the source's, the target's) and the two QEMUs can do. libvirt refuses
 * a parameter that it does not know, so what one of them lacks is left out beforehand, and said, or refused where leaving
 * it out would break a promise. The planner says beforehand what the session will do. Pure.
 */
#ifndef KVMIG_SRC_PLAN_FEATURES_H
#define KVMIG_SRC_PLAN_FEATURES_H

#include "base/finding_internal.h"
#include "plan/plan_internal.h"

/* As virGetVersion, virConnectGetLibVersion and virConnectGetVersion tell them: 9002003 = 9.2.3; 0 = not known. */
struct kvmig__virt_versions {
    uint64_t client, source, target;
    uint64_t source_qemu, target_qemu;
    /* What is not known may be new enough for two features to work together: a plan says only what is certain. */
    bool unknown_may_be_new;
};

enum kvmig__feature {
    KVMIG__FEATURE_PARALLEL = 1 << 0,
    KVMIG__FEATURE_POSTCOPY = 1 << 1,
    KVMIG__FEATURE_POSTCOPY_BANDWIDTH = 1 << 2,
    KVMIG__FEATURE_AUTO_CONVERGE = 1 << 3,
    KVMIG__FEATURE_AUTO_CONVERGE_TUNING = 1 << 4,
    KVMIG__FEATURE_XBZRLE = 1 << 5,
    KVMIG__FEATURE_MT = 1 << 6,
    KVMIG__FEATURE_ZLIB = 1 << 7,
    KVMIG__FEATURE_ZSTD = 1 << 8,
    KVMIG__FEATURE_TLS = 1 << 9,
    KVMIG__FEATURE_TLS_DESTINATION = 1 << 10,
    KVMIG__FEATURE_DISK_LIST = 1 << 11,
    KVMIG__FEATURE_STRICT = 1 << 12,
};

/* What the plan asks for; a mask of enum kvmig__feature. */
uint32_t kvmig__features_wanted(const struct kvmig_plan *plan, bool guest_paused);
/* The same of a request; copies: disks will be copied. */
uint32_t kvmig__features_of_request(const struct kvmig__request *request, bool copies, bool guest_paused);
/* What remains of wanted. Adds a FEATURE_DROPPED finding for each that was left out. Fails, with an owned error in
 * *out_error, if one is missing that must not be left out. */
int32_t kvmig__features_gate(uint32_t wanted, bool guest_paused, const struct kvmig__virt_versions *versions,
                             struct kvmig_findings *dropped, uint32_t *out_features, struct kvmig_error **out_error);

#endif
