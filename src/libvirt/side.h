/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading one domain's state and job, in two parts: the state never waits for anything; the job may have to ask QEMU. All
 * functions block as long as libvirt does and run on a lane.
 */
#ifndef KVMIG_SRC_LIBVIRT_SIDE_H
#define KVMIG_SRC_LIBVIRT_SIDE_H

#include "libvirt/libvirt_internal.h"

/* What is known of a domain's job. */
struct kvmig__virt_job {
    bool known; /* false: it could not be asked without waiting */
    bool active; /* some job runs; if not known, assume it */
    bool migrating_out, migrating_in;
    bool monitor_free; /* nobody uses QEMU's monitor, so calls that need it do not wait */
};
void kvmig__virt_read_job(virDomainPtr domain, struct kvmig__virt_job *out);

/* By UUID if the text is one, else by name. NULL: see virGetLastError(). */
virDomainPtr kvmig__virt_lookup(virConnectPtr conn, const char *vm);

/* The state alone. true = the domain is active, so that its job is worth asking for. */
bool kvmig__virt_read_state(virConnectPtr conn, const char *vm, struct kvmig__side *side);
/* The job of a domain whose state was read; reads the state again if the domain stopped meanwhile. */
void kvmig__virt_read_side_job(virConnectPtr conn, const char *vm, struct kvmig__side *side);

#endif
