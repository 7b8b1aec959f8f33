/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What every host of a view is asked about its emulators, so that the planner can compare them: one query for each
 * combination of emulator, architecture, machine type and virtualisation type that any guest of the view runs with.
 */
#ifndef KVMIG_SRC_QUERIES_H
#define KVMIG_SRC_QUERIES_H

#include "cluster/model.h"

struct kvmig__query {
    char *emulator, *arch, *machine, *virt_type; /* NULL = whatever the host takes by default */
};
struct kvmig__queries {
    struct kvmig__query *v;
    size_t n;
};

/* false if it was there already. */
bool kvmig__queries_add(struct kvmig__queries *list, const struct kvmig__query *query);
/* Those of the active domains. */
void kvmig__queries_add_domains(struct kvmig__queries *list, const struct kvmig__host *host);
bool kvmig__queries_has(const struct kvmig__queries *list, const struct kvmig__query *query);
void kvmig__queries_copy(struct kvmig__queries *dst, const struct kvmig__queries *src);
void kvmig__queries_clear(struct kvmig__queries *list);

#endif
