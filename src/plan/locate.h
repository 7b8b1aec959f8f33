/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finding the VM and the hosts of a request in a view. Pure; what is found is borrowed from the view.
 */
#ifndef KVMIG_SRC_PLAN_LOCATE_H
#define KVMIG_SRC_PLAN_LOCATE_H

#include "plan/plan_internal.h"

struct kvmig__located {
    const struct kvmig__host *source;
    const struct kvmig__domain *domain;
};
bool kvmig__domain_is_active(const struct kvmig__domain *domain); /* there is a guest, not only its definition */
/* It runs here, and is not only coming in. */
bool kvmig__domain_runs(const struct kvmig__domain *domain);
/* Fails with -KVMIG_ENOVM, -KVMIG_EAMBIGUOUS, -KVMIG_ENOHOST or -KVMIG_ENOTSYNCED. */
int32_t kvmig__locate_vm(const struct kvmig__view *view, const struct kvmig__request *request,
                         struct kvmig__located *out);
/* The host asked for; NULL if none is. Fails with -KVMIG_ENOHOST. */
/* Every excluded host must be there, and the target asked for (may be NULL) must not be one of them. */
int32_t kvmig__locate_excluded(const struct kvmig__view *view, const struct kvmig__request *request,
                               const struct kvmig__host *asked);
bool kvmig__host_is_named(const struct kvmig__host *host, const struct kvmig__strlist *names); /* name, URI or UUID */
int32_t kvmig__locate_target(const struct kvmig__view *view, const struct kvmig__request *request,
                             const struct kvmig__host **out);
/* A host that does not answer and showed the same VM active when it last did; NULL if none. */
const struct kvmig__host *kvmig__locate_twin(const struct kvmig__view *view, const struct kvmig__located *vm);

#endif
