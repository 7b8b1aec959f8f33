/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of the follower share: reading facts out of objects (follow_take.c), and the judgement (follow_end.c). Pure.
 */
#ifndef KVMIG_SRC_FOLLOW_PRIVATE_H
#define KVMIG_SRC_FOLLOW_PRIVATE_H

#include "kubernetes/follow.h"

/* The object is this VMIM; also when only the name is known yet. */
bool kvmig__follow_is_vmim(const struct kvmig__follow *follow, const struct kvmig__kube_vmim *vmim);
/* A launcher that was made for this VMIM. */
bool kvmig__follow_is_target(const struct kvmig__follow *follow, const struct kvmig__kube_pod *pod);
bool kvmig__follow_is_attachment(const struct kvmig__follow *follow, const struct kvmig__kube_pod *pod);

/* Each takes over what an object says; the object may be its last state. */
void kvmig__follow_take_vmim(struct kvmig__follow *follow, const struct kvmig__kube_vmim *vmim);
void kvmig__follow_take_vmi(struct kvmig__follow *follow, const struct kvmig__kube_vmi *vmi);
/* Where the guest runs, beside the target that is known by then. */
void kvmig__follow_take_node(struct kvmig__follow *follow, const struct kvmig__kube_vmi *vmi, int64_t now_ms);
void kvmig__follow_take_target(struct kvmig__follow *follow, const struct kvmig__kube_pod *pod);
void kvmig__follow_take_attachment(struct kvmig__follow *follow, const struct kvmig__kube_pod *pod);
void kvmig__follow_take_event(struct kvmig__follow *follow, const struct kvmig__kube_event *event);
void kvmig__follow_take_slices(struct kvmig__follow *follow, const struct kvmig__kube *kube, int64_t now_ms);

/* The VMI that the follower is about, if the store has it; one of the same name with another UID is another. */
const struct kvmig__kube_vmi *kvmig__follow_vmi(const struct kvmig__follow *follow, const struct kvmig__kube *kube);
/* The target launcher may still hold an incoming guest, as far as is known. */
bool kvmig__follow_target_may_run(const struct kvmig__follow *follow);
/* Judges end, verdict and evidence anew. */
void kvmig__follow_judge(struct kvmig__follow *follow, const struct kvmig__kube *kube);

#endif
