/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The libvirt backend. Connections live on lanes: a virConnectPtr is opened, used and closed by jobs of one lane (the
 * blocking migrate call has a lane and a connection of its own). Nothing here registers an event loop, an error handler, or
 * keepalive (they are process-global in libvirt); dead peers are noticed by our own deadlines.
 */
#ifndef KVMIG_SRC_LIBVIRT_INTERNAL_H
#define KVMIG_SRC_LIBVIRT_INTERNAL_H

#include "cluster/cluster_internal.h"
#include "cluster/model.h"
#include <libvirt/libvirt.h>

/* ---- parsing (xml_*.c, libxml2): pure text -> model; any thread ----
 * XML is read without network access, entity expansion or document type declarations: one that has a DOCTYPE, is larger than
 * 16 MiB or nested deeper than 256 is refused with -KVMIG_EXML. out is cleared on failure. where names the source of the
 * text for errors. */
int32_t kvmig__xml_domain(const char *xml, const char *where, struct kvmig__domain *out);
int32_t kvmig__xml_capabilities(const char *xml, const char *where,
                                struct kvmig__host *out); /* uuid, arch, machines, cpus */
int32_t kvmig__xml_domain_capabilities(const char *xml, const char *where, struct kvmig__emulator *out);
int32_t kvmig__xml_cpu(const char *xml, const char *where, struct kvmig__cpu *out); /* one <cpu> element */
int32_t kvmig__xml_pool(const char *xml, const char *where, struct kvmig__pool *out);
int32_t kvmig__xml_volume(const char *xml, const char *where, struct kvmig__volume *out);
int32_t kvmig__xml_network(const char *xml, const char *where, struct kvmig__network *out);
int32_t kvmig__xml_block_device(const char *xml, const char *where, struct kvmig__block_device *out);
/* The domain XML with disk sources changed: for each pair (target device, new path). Owned text in *out. */
int32_t kvmig__xml_retarget_disks(const char *xml, const char *where, const char *const *targets,
                                  const char *const *paths, size_t n, char **out);
/* libvirt's canonical feature names: "arch-facilities" is "arch-capabilities", "hv_" and "-" spellings unified, ... */
const char *kvmig__cpu_feature_canonical(const char *name);

/* ---- errors (virt_error.c) ---- right after a failed call, on the same thread. Owned. */
struct kvmig_error *kvmig__virt_error(const char *host, const char *call, const char *hint);

/* ---- one side (side.c); blocking, on a lane ---- */
void kvmig__virt_read_side(virConnectPtr conn, const char *vm, struct kvmig__side *out);
int32_t kvmig__virt_domain_state(int state); /* enum kvmig__domain_state */
int32_t kvmig__virt_domain_reason(int state, int reason); /* enum kvmig__domain_reason */

/* ---- acting on one side (act.c); blocking, on the link's lane ---- enum kvmig_location_action. NULL = done; else owned.
 * Nothing is done any more once the link is given up, nor if the domain's state forbids it: then -KVMIG_EREFUSED. */
struct kvmig__link;
struct kvmig_error *kvmig__virt_act(struct kvmig__link *link, const char *vm, int32_t action);

/* ---- a host (host.c) ---- */
struct kvmig__host_backend *kvmig__virt_host_new(struct kvmig__cluster_host *host, const char *uri, virConnectPtr conn,
                                                 uint32_t refresh_ms, uint32_t call_timeout_ms);
const char *kvmig__virt_host_uri(struct kvmig__host_backend *backend); /* to dial it from here */
struct kvmig_context *kvmig__virt_host_context(struct kvmig__host_backend *backend); /* for lanes of one's own */
/* libvirt sets up itself and the libraries that it rests on once per process, at the latest with the first connection. Some
 * of those keep something per thread: so it is done on the caller's thread, before a short-lived one gets there first. */
void kvmig__virt_init(void);
virConnectPtr kvmig__virt_open(const char *uri, struct kvmig_error **out_error); /* blocking, on a lane */

/* ---- the session driver (driver.c) ---- */
struct kvmig__driver *kvmig__virt_driver_new(struct kvmig__host_backend *source, struct kvmig__host_backend *target,
                                             struct kvmig_session *session, const struct kvmig__driver_limits *limits);

#endif
