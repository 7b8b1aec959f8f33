/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handle of a probe, for the files of this folder only.
 */
#ifndef KVMIG_SRC_PROBE_PRIVATE_H
#define KVMIG_SRC_PROBE_PRIVATE_H

#include "probe/probe_internal.h"
#include "probe/prober.h"

struct kvmig_probe {
    struct kvmig_context *context;
    struct kvmig__prober *prober; /* a reference; fixed */

    /* under the context lock */
    uint32_t owners; /* the caller's references; they keep the context open */
    uint32_t holds;
    bool was_started;
    bool has_session;
    struct kvmig__lane *lane; /* NULL unless it runs */
};

/* probe_opts.c: a prober as the options say. Errors: -EINVAL, -E2BIG. */
int32_t kvmig__prober_from_opts(const struct kvmig_probe_opts *opts, struct kvmig__prober **out_prober);
/* probe_json.c */
struct json_object *kvmig__prober_json(struct kvmig__prober *prober, int64_t base_ms);
/* probe.c: the figures; the prober's lock is held. */
void kvmig__prober_result(const struct kvmig__prober *prober, size_t index, struct kvmig_probe_result *out_result);

#endif
