/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What libvirt's migrate flags say in the planner's own terms. A caller who gives them means exactly those: what is not among them is
 * not wanted, so that without NON_SHARED_* no disk is copied. Does not judge combinations (the checks do). Pure; any thread.
 */
#include "plan/plan_internal.h"

static const struct {
    const char *name;
    uint64_t given, absent; /* enum kvmig_plan_flags that it sets, and that its absence sets */
} meanings[] = {
    { "PEER2PEER", 0, KVMIG_PLAN_MANAGED },
    { "PERSIST_DEST", 0, KVMIG_PLAN_TRANSIENT_TARGET },
    { "UNDEFINE_SOURCE", 0, KVMIG_PLAN_KEEP_SOURCE_DEFINITION },
    { "UNSAFE", KVMIG_PLAN_UNSAFE, 0 },
    { "AUTO_CONVERGE", KVMIG_PLAN_AUTO_CONVERGE, 0 },
    { "POSTCOPY", KVMIG_PLAN_ALLOW_POSTCOPY, 0 },
    { "TLS", KVMIG_PLAN_TLS, 0 },
    { "ABORT_ON_ERROR", KVMIG_PLAN_ABORT_ON_IO_ERROR, 0 },
};

void kvmig__request_take_flags(struct kvmig__request *request)
{
    const struct kvmig__strlist *given = &request->libvirt_flags;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(meanings); i++)
        request->flags |= kvmig__strlist_has(given, meanings[i].name) ? meanings[i].given : meanings[i].absent;
    if (request->copy == KVMIG_COPY_AUTO)
        request->copy = kvmig__strlist_has(given, "NON_SHARED_INC")    ? KVMIG_COPY_INCREMENTAL
                        : kvmig__strlist_has(given, "NON_SHARED_DISK") ? KVMIG_COPY_FULL
                                                                       : KVMIG_COPY_NONE;
    if (kvmig__strlist_has(given, "PARALLEL") && request->parallel_connections < 2)
        request->parallel_connections = 2; /* libvirt's default */
}
