/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Probes, for the session that has them. Everything here needs the context lock and never blocks. A probe that somebody
 * holds goes on when its last owner lets go; whoever holds it keeps the context running by other means.
 */
#ifndef KVMIG_SRC_PROBE_INTERNAL_H
#define KVMIG_SRC_PROBE_INTERNAL_H

#include "context/context_internal.h"
#include <json-c/json.h>
#include <kvmig/probe.h>

void kvmig__probe_hold(struct kvmig_probe *probe);
void kvmig__probe_release(struct kvmig_probe *probe); /* with the last owner and the last hold it stops */
/* One session at a time has a probe. -EBUSY: another one has it; -KVMIG_EPHASE: it has run and ended. */
int32_t kvmig__probe_attach(struct kvmig_probe *probe); /* and holds it */
void kvmig__probe_detach(struct kvmig_probe *probe); /* and releases it */
/* What it was made with: a session takes only probes of its own context. */
struct kvmig_context *kvmig__probe_context(const struct kvmig_probe *probe);

/* -EALREADY if it runs or has run; -EAGAIN, -EMFILE, -ENFILE, -ENOMEM: it may be started again. The last error of the
 * thread says more. */
int32_t kvmig__probe_start(struct kvmig_probe *probe);
bool kvmig__probe_is_running(const struct kvmig_probe *probe);
void kvmig__probe_stop(struct kvmig_probe *probe); /* repeating it is harmless */

/* "tcp:10.0.0.1:80"; borrowed. */
const char *kvmig__probe_label(const struct kvmig_probe *probe, size_t index);
/* The figures of one target; index is below kvmig_probe_count(). */
void kvmig__probe_result(struct kvmig_probe *probe, size_t index, struct kvmig_probe_result *out_result);
/* Whether a try of the target has succeeded at since_ms (kvmig__now_ms()) or later. */
bool kvmig__probe_succeeded_since(struct kvmig_probe *probe, size_t index, int64_t since_ms);
/* As kvmig_probe_to_json(), with times relative to base_ms. Owned. */
struct json_object *kvmig__probe_report(struct kvmig_probe *probe, int64_t base_ms);

#endif
