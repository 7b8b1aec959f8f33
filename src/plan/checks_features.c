/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a session between these hosts would leave out of the request, or refuse: the session's own gates (features.c) with the
 * versions of this process, the source and the target, asked beforehand. What is not known of versions is not held against
 * a request. Pure; any thread.
 */
#include "plan/facts_checks.h"
#include "plan/features.h"

#include <stdlib.h>

bool kvmig__disks_copied(const struct kvmig__disk_plan *disks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (kvmig__disk_is_copied(&disks[i]))
            return true;
    }
    return false;
}

static uint64_t least_known(uint64_t a, uint64_t b)
{
    if (!a || !b)
        return a ? a : b;
    return a < b ? a : b;
}

static struct kvmig__virt_versions versions_of(const struct kvmig__check *c)
{
    return (struct kvmig__virt_versions){ .client = least_known(c->source->client_version, c->target->client_version),
                                          .source = kvmig__libvirt_of(c, c->source),
                                          .target = kvmig__libvirt_of(c, c->target),
                                          .source_qemu = kvmig__qemu_of(c, c->source),
                                          .target_qemu = kvmig__qemu_of(c, c->target),
                                          .unknown_may_be_new = true };
}

/* What other checks have something to say about already: contradictions, options without effect, a paused guest. */
static uint32_t without_conflicts(const struct kvmig__check *c, uint32_t wanted)
{
    const uint32_t single = KVMIG__FEATURE_XBZRLE | KVMIG__FEATURE_MT,
                   multi = KVMIG__FEATURE_ZLIB | KVMIG__FEATURE_ZSTD;
    uint32_t drop = wanted & KVMIG__FEATURE_PARALLEL ? single : multi;

    if (!(wanted & KVMIG__FEATURE_AUTO_CONVERGE))
        drop |= KVMIG__FEATURE_AUTO_CONVERGE_TUNING;
    if (!(wanted & KVMIG__FEATURE_TLS))
        drop |= KVMIG__FEATURE_TLS_DESTINATION;
    if (c->domain->state == KVMIG__STATE_PAUSED)
        drop |= KVMIG__FEATURE_POSTCOPY;
    if (wanted & ~drop & KVMIG__FEATURE_POSTCOPY)
        drop |= KVMIG__FEATURE_STRICT | KVMIG__FEATURE_MT;
    else
        drop |= KVMIG__FEATURE_POSTCOPY_BANDWIDTH;
    return wanted & ~drop;
}

static void note_refused(const struct kvmig__check *c, const struct kvmig_error *error)
{
    struct kvmig__detail d = { 0 };

    kvmig__detail_str(&d, "reason", kvmig_error_evidence(error));
    kvmig__detail_version(&d, "source_libvirt", kvmig__libvirt_of(c, c->source));
    kvmig__detail_version(&d, "target_libvirt", kvmig__libvirt_of(c, c->target));
    kvmig__detail_version(&d, "source_qemu", kvmig__qemu_of(c, c->source));
    kvmig__detail_version(&d, "target_qemu", kvmig__qemu_of(c, c->target));
    kvmig__note(c, "FEATURE_UNSUPPORTED", KVMIG_SEVERITY_BLOCKER, kvmig__object_request(), &d,
                "Upgrade that side, or ask for a migration without it and accept what that means.", "%s: %s.",
                kvmig_error_message(error), kvmig_error_evidence(error));
}

void kvmig__check_features(const struct kvmig__check *c, const struct kvmig__disk_plan *disks, size_t n)
{
    const struct kvmig__virt_versions versions = versions_of(c);
    uint32_t features =
        without_conflicts(c, kvmig__features_of_request(c->request, kvmig__disks_copied(disks, n), false));
    struct kvmig_findings dropped = { 0 };
    struct kvmig_error *error = NULL;

    if (kvmig__features_gate(features, false, &versions, &dropped, &features, &error) < 0)
        note_refused(c, error);
    for (size_t i = 0; i < dropped.n; i++) {
        const struct kvmig_finding *f = &dropped.v[i];

        kvmig__findings_add(c->out, f->code, f->severity, f->object, c->target->name, f->detail,
                            f->hint ? f->hint : "Leave it out of the request.", "%s.", f->message);
    }
    kvmig__findings_clear(&dropped);
    kvmig__error_free(error);
}
