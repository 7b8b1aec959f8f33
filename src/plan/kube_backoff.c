/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * KubeVirt's back-off: migrations that it makes itself (for a drain, or to carry changes of volumes out) wait 20 s after a failure, and
 * twice as long after each further one. Those of clients do not. Pure; any thread.
 */
#include "plan/kube_checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_S 20
#define MOST_DOUBLINGS 4 /* five finished migrations are kept, so more failures are not seen */

static bool is_of(const struct kvmig__kube_check *c, const struct kvmig__kube_vmim *vmim)
{
    return kvmig__str_eq(vmim->meta.ns, c->vmi->meta.ns) && kvmig__str_eq(vmim->vmi, c->vmi->meta.name) &&
           kvmig__vmim_is_final(vmim);
}

static int64_t end_of(const struct kvmig__kube_vmim *vmim)
{
    for (size_t i = 0; i < vmim->transitions.n; i++) {
        if (kvmig__str_eq(vmim->transitions.v[i].phase, vmim->phase))
            return vmim->transitions.v[i].at_ms;
    }
    return vmim->state.end_ms ? vmim->state.end_ms : vmim->meta.created_ms;
}

/* Failures since the last success, and the end of the newest of them. */
static uint64_t count_failures(const struct kvmig__kube_check *c, int64_t *out_last_ms)
{
    int64_t success_ms = INT64_MIN;
    uint64_t failures = 0;

    *out_last_ms = 0;
    KVMIG__KUBE_EACH(c->kube, VMIM, vmim)
    {
        if (is_of(c, vmim) && kvmig__str_eq(vmim->phase, "Succeeded") && end_of(vmim) > success_ms)
            success_ms = end_of(vmim);
    }
    KVMIG__KUBE_EACH(c->kube, VMIM, vmim)
    {
        if (!is_of(c, vmim) || !kvmig__str_eq(vmim->phase, "Failed") || end_of(vmim) <= success_ms)
            continue;
        failures++;
        if (end_of(vmim) > *out_last_ms)
            *out_last_ms = end_of(vmim);
    }
    return failures;
}

static bool is_made_by_kubevirt(const struct kvmig__kube_check *c)
{
    return c->request->volume_changes.n || (c->vmi->evacuation_node && *c->vmi->evacuation_node);
}

void kvmig__kube_check_backoff(const struct kvmig__kube_check *c)
{
    uint64_t failures, wait_s;
    struct kvmig__detail d = { 0 };
    int64_t last_ms;

    if (!is_made_by_kubevirt(c))
        return;
    failures = count_failures(c, &last_ms);
    if (!failures)
        return;
    wait_s = (uint64_t)FIRST_S << (failures - 1 < MOST_DOUBLINGS ? failures - 1 : MOST_DOUBLINGS);
    if (c->kube->now_ms && last_ms && c->kube->now_ms - last_ms >= (int64_t)wait_s * 1000)
        return;
    kvmig__detail_uint(&d, "failures", failures);
    kvmig__detail_uint(&d, "wait_s", wait_s);
    kvmig__kube_note(c, "MIGRATION_BACKOFF", KVMIG_SEVERITY_INFO, kvmig__kube_object_vm(c), &d,
                     "Mend what made them fail; the wait doubles with each further failure.",
                     "Migrations of the VM have failed %" PRIu64 " times in a row: KubeVirt waits %" PRIu64
                     " s before it tries again.",
                     failures, wait_s);
}
