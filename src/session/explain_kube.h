/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of the explanation of KubeVirt migrations share: what is looked at, and the making of links. Pure.
 */
#ifndef KVMIG_SRC_EXPLAIN_KUBE_H
#define KVMIG_SRC_EXPLAIN_KUBE_H

#include "session/explain.h"

struct kvmig__explain {
    struct kvmig_explanation *to;
    const struct kvmig__kube *kube;
    const struct kvmig__kube_vmi *vmi; /* NULL: gone, then only the end is told */
    const struct kvmig__kube_vmim *vmim; /* NULL: gone */
    const struct kvmig__follow *follow;
    const struct kvmig__kube_pod *target, *attachment; /* NULL: none, or not visible */
    bool pods_known;
    bool hotplug; /* the migration needs an attachment pod */
    int64_t now_ms;
};

/* ---- links (explain_kube_link.c) ---- */
/* "pod/ns1/p1"; ns may be NULL. Owned. */
char *kvmig__explain_name(const char *kind, const char *ns, const char *name);
/* Adds a link; object is taken, condition a format. Valid until the next one is added. */
struct kvmig__wait *kvmig__explain_link(const struct kvmig__explain *x, const char *code, int32_t severity,
                                        int32_t depth, char *object, const char *condition, ...) KVMIG__PRINTF(6, 7);
void kvmig__explain_limit(struct kvmig__wait *wait, int64_t from_ms, int64_t seconds, const char *what, ...)
    KVMIG__PRINTF(4, 5); /* " (N s)" is appended */
/* The launcher's own start timer, which ends every wait of a target pod that runs. */
void kvmig__explain_launcher_limit(const struct kvmig__explain *x, struct kvmig__wait *wait);
/* INFO at first, WARN after warn_s, ERROR after error_s (0 = never). */
int32_t kvmig__explain_grade(const struct kvmig__explain *x, int64_t since_ms, int64_t warn_s, int64_t error_s);
/* The newest event of that reason about an object, not older than since_ms; reason NULL = any of type Warning. NULL if none. */
const struct kvmig__kube_event *kvmig__explain_event(const struct kvmig__explain *x,
                                                     const struct kvmig__kube_meta *about, const char *reason,
                                                     int64_t since_ms);
/* An annotation of the VMIM that overrides a timer, in seconds. */
int64_t kvmig__explain_timer(const struct kvmig__explain *x, const char *annotation, int64_t otherwise);

/* ---- subjects ---- each adds links at depth and below ---- */
void kvmig__explain_pending(const struct kvmig__explain *x); /* what keeps it from getting a target pod */
bool kvmig__explain_quota(const struct kvmig__explain *x); /* true: it is in the way */
bool kvmig__explain_slots(const struct kvmig__explain *x);
bool kvmig__explain_slots_unseen(const struct kvmig__explain *x); /* true: they cannot be counted in this view */
bool kvmig__explain_backoff(const struct kvmig__explain *x);
void kvmig__explain_pods(const struct kvmig__explain *x, int32_t depth); /* target launcher, attachment pod */
void kvmig__explain_unschedulable(const struct kvmig__explain *x, const struct kvmig__kube_pod *pod, int32_t depth);
void kvmig__explain_preparation(const struct kvmig__explain *x); /* Scheduled to TargetReady */
void kvmig__explain_copy(const struct kvmig__explain *x); /* Running, to the switch and what follows it */
/* A volume migration for which KubeVirt has no migration under way (yet); true if there is one. */
bool kvmig__explain_volumes(const struct kvmig__explain *x);
void kvmig__explain_endpoints(const struct kvmig__explain *x);
void kvmig__explain_cancel(const struct kvmig__explain *x);
void kvmig__explain_end(const struct kvmig__explain *x); /* outcome and what is left behind */
void kvmig__explain_left(const struct kvmig__explain *x); /* what earlier migrations left */

#endif
