/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A migration job in libvirt's words: a plan -> flags and typed parameters (job.c), and job statistics -> progress and
 * report (job_stats.c). Pure: only the typed parameter helpers of libvirt are called, which talk to nobody.
 */
#ifndef KVMIG_SRC_LIBVIRT_JOB_H
#define KVMIG_SRC_LIBVIRT_JOB_H

#include "plan/plan_internal.h"
#include "session/report.h"
#include <kvmig/event.h>
#include <libvirt/libvirt.h>

/* ---- the call (job.c) ---- */
struct kvmig__virt_call {
    unsigned int flags; /* virDomainMigrateFlags */
    virTypedParameterPtr params;
    int n_params, max_params;
};
/* features: what kvmig__features_gate() left. target_xml, persistent_xml: what the target is to be given; NULL = as on the
 * source. Fails with -EINVAL (libvirt's last error says why) if a value cannot be a parameter. */
int32_t kvmig__virt_call_build(const struct kvmig_plan *plan, uint32_t features, const char *target_xml,
                               const char *persistent_xml, struct kvmig__virt_call *out);
void kvmig__virt_call_clear(struct kvmig__virt_call *call);
char *kvmig__virt_flag_names(unsigned int flags); /* owned, "LIVE|PEER2PEER" */
/* The domain is to be persistent on the target. */
bool kvmig__virt_persists(const struct kvmig_plan *plan);
/* Disks that libvirt copies; borrowed from the plan. */
bool kvmig__virt_disk_is_copied(const struct kvmig__disk_plan *disk);
/* The XML of a volume that the target's pool (of that type) shall create. Owned text. */
char *kvmig__virt_volume_xml(const struct kvmig__disk_plan *disk, uint64_t capacity, const char *pool_type);
/* virDomainUndefineFlagsValues for a daemon of that version: removes libvirt's own records of a domain and nothing else. */
unsigned int kvmig__virt_undefine_flags(uint64_t libvirt_version);

/* ---- statistics (job_stats.c) ---- */
struct kvmig__job_sample {
    int type; /* virDomainJobType */
    struct kvmig_progress progress; /* all but disks, at_iteration_boundary and the estimate of the time left */
    uint64_t downtime_ms, downtime_net_ms, setup_ms; /* KVMIG__UNKNOWN where absent */
};
void kvmig__job_sample_read(int type, virTypedParameterPtr params, int n_params, struct kvmig__job_sample *out);
/* Takes over the figures of a finished job, or of a sample while it ran (completed is false). */
void kvmig__job_to_report(const struct kvmig__job_sample *sample, bool completed, struct kvmig__report *report);

#endif
