/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between the reading of a snapshot's files (snapshot_files.c) and of what is in them (snapshot.c). Any thread; a
 * load belongs to one.
 */
#ifndef KVMIG_SRC_SNAPSHOT_INTERNAL_H
#define KVMIG_SRC_SNAPSHOT_INTERNAL_H

#include "kubernetes/objects.h"

struct kvmig__snapshot_load {
    struct kvmig__kube *kube;
    struct kvmig_findings *problems;
    const char *name; /* of the text that is being read */
    int64_t newest_ms; /* of all objects so far */
};

void kvmig__snapshot_text(struct kvmig__snapshot_load *load, const char *text, size_t length, const char *name);
/* Gives the store its time, unless it has one. */
void kvmig__snapshot_finish(struct kvmig__snapshot_load *load);
/* object: what it concerns within the text, or NULL. */
void kvmig__snapshot_problem(struct kvmig__snapshot_load *load, const char *name, const char *object, const char *hint,
                             const char *reason_fmt, ...) KVMIG__PRINTF(5, 6);

#endif
