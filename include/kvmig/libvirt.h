/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file libvirt.h
 * For programs that use libvirt themselves: the only header of libkvmig that includes libvirt's, and not
 * part of kvmig.h.
 */
#ifndef KVMIG_LIBVIRT_H
#define KVMIG_LIBVIRT_H

#include <kvmig/cluster.h>
#include <libvirt/libvirt.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Adds a host by a connection that the caller already has. The library takes a reference of its own
 * (virConnectRef) and reads the host through it. The long migrate call and its control calls run on connections
 * of their own, opened by the connection's URI (virConnectGetURI) with the same client credentials, because a
 * connection serves five requests at a time only; if one cannot be opened, the session fails with a clear error
 * before anything was changed. Should the connection break, the library reconnects by the same URI.
 * Threads: any. Errors: -EINVAL. Since: 0.1.0
 */
KVMIG_API int32_t kvmig_cluster_add_libvirt(struct kvmig_cluster *cluster, virConnectPtr connection);

#ifdef __cplusplus
}
#endif
#endif
