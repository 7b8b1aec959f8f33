/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The life of a plan and its public accessors. A plan is immutable once it is made, so any thread may read it without a lock;
 * only the count of its owners changes, atomically. It owns all that its accessors return.
 */
#include "plan/kube_lazy.h"
#include "plan/plan_internal.h"

#include <stdlib.h>

/* ---- disks ---- */

void kvmig__disk_plan_clear(struct kvmig__disk_plan *disk)
{
    free(disk->target);
    free(disk->reason);
    free(disk->source_path);
    free(disk->format);
    free(disk->pool);
    free(disk->volume);
    free(disk->target_path);
    free(disk->backing_path);
    free(disk->backing_format);
    *disk = (struct kvmig__disk_plan){ 0 };
}

void kvmig__disk_plan_copy(struct kvmig__disk_plan *dst, const struct kvmig__disk_plan *src)
{
    *dst = *src;
    dst->target = kvmig__strdup(src->target);
    dst->reason = kvmig__strdup(src->reason);
    dst->source_path = kvmig__strdup(src->source_path);
    dst->format = kvmig__strdup(src->format);
    dst->pool = kvmig__strdup(src->pool);
    dst->volume = kvmig__strdup(src->volume);
    dst->target_path = kvmig__strdup(src->target_path);
    dst->backing_path = kvmig__strdup(src->backing_path);
    dst->backing_format = kvmig__strdup(src->backing_format);
}

static void disks_clear(struct kvmig__disk_plan *disks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        kvmig__disk_plan_clear(&disks[i]);
    free(disks);
}

/* ---- candidates ---- */

void kvmig__candidates_clear(struct kvmig__candidates *candidates)
{
    for (size_t i = 0; i < candidates->n; i++) {
        struct kvmig__candidate *candidate = &candidates->v[i];

        free(candidate->host);
        free(candidate->better);
        kvmig__findings_clear(&candidate->findings);
        disks_clear(candidate->disks.v, candidate->disks.n);
    }
    free(candidates->v);
    *candidates = (struct kvmig__candidates){ 0 };
}

const struct kvmig__candidates *kvmig__plan_candidates(const struct kvmig_plan *plan)
{
    return plan->lazy ? kvmig__kube_lazy_candidates(plan->lazy) : &plan->candidates;
}

/* ---- life ---- */

static void plan_free(struct kvmig_plan *plan)
{
    kvmig__candidates_clear(&plan->candidates);
    kvmig__kube_lazy_free(plan->lazy);
    kvmig__forecast_clear(&plan->forecast);
    kvmig__remedies_free(plan->remedies);
    disks_clear(plan->disks.v, plan->disks.n);
    kvmig__findings_clear(&plan->findings);
    kvmig__request_clear(&plan->request);
    free(plan->vm);
    free(plan->uuid);
    free(plan->source);
    free(plan->target);
    free(plan);
}

struct kvmig_plan *kvmig_plan_ref(const struct kvmig_plan *plan)
{
    struct kvmig_plan *owned = (struct kvmig_plan *)plan; /* the count is no part of what is immutable */

    if (owned)
        __atomic_add_fetch(&owned->refs, 1, __ATOMIC_RELAXED);
    return owned;
}

void kvmig_plan_unref(struct kvmig_plan *plan)
{
    if (plan && __atomic_sub_fetch(&plan->refs, 1, __ATOMIC_ACQ_REL) == 0)
        plan_free(plan);
}

void kvmig__plan_keep_target(struct kvmig_plan *plan, size_t node)
{
    struct kvmig__candidates kept = { 0 };

    kvmig__str_set(&plan->request.target, plan->target);
    if (plan->lazy) { /* which the caller has still use for */
        kvmig__kube_lazy_write(plan->lazy, node, KVMIG__PUSH(&plan->candidates));
        return;
    }
    for (size_t i = 0; i < plan->candidates.n; i++) {
        if (!kvmig__str_eq(plan->candidates.v[i].host, plan->target))
            continue;
        *KVMIG__PUSH(&kept) = plan->candidates.v[i];
        plan->candidates.v[i] = plan->candidates.v[--plan->candidates.n];
        break;
    }
    kvmig__candidates_clear(&plan->candidates);
    plan->candidates = kept;
}

static void candidate_copy(struct kvmig__candidate *dst, const struct kvmig__candidate *src)
{
    *dst = (struct kvmig__candidate){ .host = kvmig__strdup(src->host),
                                      .verdict = src->verdict,
                                      .rank = src->rank,
                                      .better_by = src->better_by,
                                      .better = kvmig__strdup(src->better) };
    kvmig__findings_append(&dst->findings, &src->findings);
    for (size_t i = 0; i < src->disks.n; i++)
        kvmig__disk_plan_copy(KVMIG__PUSH(&dst->disks), &src->disks.v[i]);
}

struct kvmig_plan *kvmig__plan_retarget(const struct kvmig_plan *plan, const char *target)
{
    const struct kvmig__candidates *candidates = kvmig__plan_candidates(plan);
    struct kvmig_plan *copy = kvmig__calloc(1, sizeof(*copy));

    *copy = (struct kvmig_plan){
        .refs = 1,
        .vm = kvmig__strdup(plan->vm),
        .uuid = kvmig__strdup(plan->uuid),
        .source = kvmig__strdup(plan->source),
        .target = kvmig__strdup(target),
        .verdict = plan->verdict,
        .persistent = plan->persistent,
        .was_paused = plan->was_paused,
        .kube = plan->kube,
        .attached = plan->attached,
    };
    kvmig__forecast_copy(&copy->forecast, &plan->forecast);
    kvmig__request_copy(&copy->request, &plan->request);
    kvmig__findings_append(&copy->findings, &plan->findings);
    for (size_t i = 0; i < plan->disks.n; i++)
        kvmig__disk_plan_copy(KVMIG__PUSH(&copy->disks), &plan->disks.v[i]);
    for (size_t i = 0; i < candidates->n; i++)
        candidate_copy(KVMIG__PUSH(&copy->candidates), &candidates->v[i]);
    return copy;
}

/* ---- the plan ---- */

int32_t kvmig_plan_verdict(const struct kvmig_plan *plan)
{
    return plan ? plan->verdict : 0;
}

const char *kvmig_plan_vm(const struct kvmig_plan *plan)
{
    return plan ? plan->vm : NULL;
}

const char *kvmig_plan_source(const struct kvmig_plan *plan)
{
    return plan ? plan->source : NULL;
}

const char *kvmig_plan_target(const struct kvmig_plan *plan)
{
    return plan ? plan->target : NULL;
}

const struct kvmig_findings *kvmig_plan_findings(const struct kvmig_plan *plan)
{
    return plan ? &plan->findings : NULL;
}

/* ---- its disks ---- */

size_t kvmig_plan_disk_count(const struct kvmig_plan *plan)
{
    return plan ? plan->disks.n : 0;
}

const char *kvmig_plan_disk_target(const struct kvmig_plan *plan, size_t index)
{
    return index < kvmig_plan_disk_count(plan) ? plan->disks.v[index].target : NULL;
}

int32_t kvmig_plan_disk_method(const struct kvmig_plan *plan, size_t index)
{
    return index < kvmig_plan_disk_count(plan) ? plan->disks.v[index].method : 0;
}

/* ---- its candidates ---- */

size_t kvmig_plan_candidate_count(const struct kvmig_plan *plan)
{
    if (!plan)
        return 0;
    return plan->lazy ? plan->lazy->n : plan->candidates.n;
}

const char *kvmig_plan_candidate_host(const struct kvmig_plan *plan, size_t index)
{
    return index < kvmig_plan_candidate_count(plan) ? kvmig__plan_candidates(plan)->v[index].host : NULL;
}

int32_t kvmig_plan_candidate_verdict(const struct kvmig_plan *plan, size_t index)
{
    return index < kvmig_plan_candidate_count(plan) ? kvmig__plan_candidates(plan)->v[index].verdict : 0;
}

const struct kvmig_findings *kvmig_plan_candidate_findings(const struct kvmig_plan *plan, size_t index)
{
    return index < kvmig_plan_candidate_count(plan) ? &kvmig__plan_candidates(plan)->v[index].findings : NULL;
}

const char *kvmig_plan_candidate_reason(const struct kvmig_plan *plan, size_t index)
{
    return index < kvmig_plan_candidate_count(plan) ? kvmig__plan_candidates(plan)->v[index].better : NULL;
}
