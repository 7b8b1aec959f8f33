/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Judging interfaces: what is remembered, what is decided, and what of a decision is told. The rules are in
 * interface_class.c; everything here is pure but for the JSON in interface_report.c. Nobody needs the context lock.
 * Whoever makes a thing owns it.
 */
#ifndef KVMIG_SRC_INTERFACE_INTERNAL_H
#define KVMIG_SRC_INTERFACE_INTERNAL_H

#include "base/base.h"
#include <kvmig/interface.h>

/* How a workload and an interface belong together. */
enum kvmig__iface_relation {
    KVMIG__IFACE_STRANGER = 0,
    KVMIG__IFACE_USER, /* it has the interface's identity */
    KVMIG__IFACE_PERHAPS, /* it may have: its full name or namespace is not known */
    KVMIG__IFACE_POD_NAME, /* it is a launcher pod of the name that should be a VM's */
    KVMIG__IFACE_DISPLAY_NAME, /* it shows that name, and is called otherwise */
};
enum kvmig__iface_relation kvmig__iface_relate(const struct kvmig_interface *interface,
                                               const struct kvmig_workload *workload);
/* Pending, running, terminating or of unknown phase. */
bool kvmig__workload_is_alive(const struct kvmig_workload *workload);

/* What one pass rests on; everything is borrowed. Times are as in struct kvmig_interface_pass, and known. */
struct kvmig__iface_view {
    const char *node;
    int64_t grace_ms, settle_ms;
    uint32_t passes;
    int64_t now_ms, wall_ms;
    const struct kvmig_interface *interfaces;
    size_t n_interfaces;
    const struct kvmig_workload *workloads; /* NULL = there is no inventory */
    size_t n_workloads;
    const char *inventory_error;
    const char *const *operations;
    size_t n_operations;
};
bool kvmig__iface_is_operated(const struct kvmig__iface_view *view, const struct kvmig_interface *interface);

/* What is remembered of one row. */
struct kvmig__iface_memory {
    char *uuid, *iface_id, *vm_namespace, *vm_id;
    int64_t first_seen_ms;
    bool installed;
    int64_t installed_ts_ms; /* as the row says */
    int64_t installed_since_ms; /* on the clock of the passes; of no meaning unless installed */
    uint32_t orphan_passes; /* in a row */
};
struct kvmig__iface_memories { /* sorted by uuid */
    struct kvmig__iface_memory *v;
    size_t n;
    int64_t now_ms; /* of the pass */
};
void kvmig__iface_memories_clear(struct kvmig__iface_memories *memories);

struct kvmig__iface_decision {
    int32_t interface_class, reason;
    int32_t otherwise; /* YOUNG: the reason why it would be an orphan; else 0 */
    int64_t age_ms;
    int64_t installed_for_ms; /* -1 = is not installed */
    uint32_t passes;
    bool may_remove;
};
/* Judges all interfaces of the view: decisions has room for them; after is empty, and becomes what the next pass is to
 * get as before. */
void kvmig__ifaces_classify(const struct kvmig__iface_view *view, const struct kvmig__iface_memories *before,
                            struct kvmig__iface_memories *after, struct kvmig__iface_decision *decisions);

/* What is told of it (interface_report.c). Everything is copied. */
struct kvmig_interface_report *kvmig__iface_report_new(const struct kvmig__iface_view *view,
                                                       const struct kvmig__iface_decision *decisions);

#endif
