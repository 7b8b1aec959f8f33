/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is left to say of launchers and attachment pods once their waits are explained (kube.c), and how a migration stands whose VM is
 * not among what was given. Pure.
 */
#include "diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

/* ---- a migration without its VMI ---- */

/* The limit in time depends on the size of the VM, which is not known: of the two timers only what is shorter than any such limit can be
 * told. */
static void from_abort(struct kvmig__case *c, const struct kvmig__kube_migration_state *state)
{
    const int64_t lasted = state->start_ms && state->end_ms > state->start_ms ? state->end_ms - state->start_ms : 0;
    const uint64_t progress_s = state->config.progress_s, per_gb_s = state->config.completion_s_per_gb;

    if (state->abort_requested)
        kvmig__case_state(c, KVMIG__KNOWN_ENDED, "CANCELLED_BY_USER", "abortRequested, and the copy was aborted");
    else if (lasted && progress_s && progress_s != KVMIG__UNKNOWN && per_gb_s != KVMIG__UNKNOWN &&
             (uint64_t)lasted >= progress_s * 1000 && (uint64_t)lasted < per_gb_s * 1000)
        kvmig__case_state(c, KVMIG__KNOWN_ENDED, "ABORTED_BY_PROGRESS_TIMEOUT",
                          "it was aborted without a request, after the limit of time without progress");
    else
        kvmig__case_state(c, KVMIG__KNOWN_ENDED, "CANCELLED", "the copy was aborted; who asked is not on record");
}

static void from_migration(struct kvmig__case *c)
{
    const struct kvmig__kube_migration_state *state = &c->vmim->state;
    const char *phase = c->vmim->phase;

    if (kvmig__str_eq(phase, "Succeeded"))
        kvmig__case_state(c, KVMIG__KNOWN_ENDED, "SUCCEEDED", "the migration object says so");
    else if (kvmig__str_eq(phase, "Failed") && kvmig__str_eq(state->abort_status, "Succeeded"))
        from_abort(c, state);
    else if (kvmig__str_eq(phase, "Failed"))
        kvmig__case_state(c, KVMIG__KNOWN_TOLD, "FAILED", "the migration object says so");
    else if (kvmig__str_eq(phase, "Running") && kvmig__str_eq(state->mode, "PostCopy"))
        kvmig__case_state(c, KVMIG__KNOWN_PROVEN, "POSTCOPY_ACTIVE", "the migration object says so");
    else if (kvmig__str_eq(phase, "Running"))
        kvmig__case_state(c, KVMIG__KNOWN_RUNNING, "RUNNING", "the migration object says so");
    else
        kvmig__case_state(c, KVMIG__KNOWN_WAITING, "WAITING", "the migration has not begun to copy");
}

/* ---- attachment pods ---- */

/* The explanation has found that the pod is missing; which volumes it should carry is what people need. */
static void name_volumes(struct kvmig__case *c)
{
    if (!c->vmi || !kvmig__findings_has(&c->findings, "ATTACHMENT_POD_MISSING"))
        return;
    for (size_t i = 0; i < c->vmi->volume_status.n; i++) {
        const struct kvmig__kube_volume_status *volume = &c->vmi->volume_status.v[i];
        struct kvmig__detail detail = { 0 };

        if (!volume->hotplug)
            continue;
        kvmig__detail_str(&detail, "volume", volume->name);
        kvmig__case_note(c, "ATTACHMENT_POD_MISSING", KVMIG_SEVERITY_ERROR, kvmig__asprintf("volume/%s", volume->name),
                         &detail, "Cancel the migration and start it again: nothing has been copied.",
                         "The hotplugged volume has no attachment pod on the target.");
    }
}

void kvmig__diagnose_pods(struct kvmig__case *c)
{
    if (c->vmim && !c->vmi)
        from_migration(c);
    name_volumes(c);
}
