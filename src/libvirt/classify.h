/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a libvirt error means for a migration. libvirt's code alone does not tell: one code serves many causes, and one
 * cause comes under several codes. Pure.
 */
#ifndef KVMIG_SRC_LIBVIRT_CLASSIFY_H
#define KVMIG_SRC_LIBVIRT_CLASSIFY_H

#include "base/base.h"

/* X(name, hint) */
#define KVMIG__VIRT_CAUSES(X)                                                                                          \
    X(OTHER, NULL)                                                                                                     \
    X(ABORTED, NULL)                                                                                                   \
    X(UNSAFE, "libvirt does not recognise the storage as shared: copy the disks, or give consent with "                \
              "KVMIG_PLAN_UNSAFE if you know that both hosts see the same files")                                      \
    X(CPU_INCOMPATIBLE, "the target cannot offer the CPU that the guest runs with: choose another target or a CPU "    \
                        "model that both hosts support")                                                               \
    X(CONFIG_INCOMPATIBLE, "the domain XML for the target differs from the running guest, or the target cannot "       \
                           "offer a device or machine type in it")                                                     \
    X(NOT_MIGRATABLE, "a device, snapshot or block job binds the guest to its host: remove it first")                  \
    X(PEER_TOO_OLD, "the daemon does not know an option that was used: leave it out or upgrade the daemon")            \
    X(TARGET_CONFLICT, "the target already has a domain of that name or UUID: remove or rename it")                    \
    X(TARGET_STORAGE, "a disk or its storage pool is missing on the target: create it, or choose a pool there")        \
    X(TARGET_PREPARE, "the target could not start a QEMU for the guest: its log on the target says more")              \
    X(SAME_HOST, "both hosts report one host UUID: set host_uuid in libvirtd.conf of one of them")                     \
    X(ACCESS, "the daemon refused the credentials: check its access rules and the certificate or key of the one who "  \
              "dialled")                                                                                               \
    X(TLS, "the TLS set-up failed: check that the certificates exist on both hosts and name the host that is "         \
           "dialled (tls_destination)")                                                                                \
    X(CONNECT, "the target's daemon cannot be reached from where it was dialled: check target_uri, address "           \
               "resolution, firewall and the daemon")                                                                  \
    X(LINK_LOST, "the connection broke while the call ran; its outcome has to be asked from the hosts")                \
    X(STREAM_BROKEN, "the migration stream between the two QEMUs broke: check the link between the hosts and QEMU's "  \
                     "log on the target")                                                                              \
    X(STATE_REFUSED, "QEMU on the target refused the guest's state: compare QEMU versions, machine type and devices")  \
    X(LOCKED, "another process holds the lock or lease of an image: find out who uses the disk")                       \
    X(BUSY, "the domain is busy with another operation: try again later")                                              \
    X(PERSIST_FAILED, NULL)                                                                                            \
    X(NO_JOB, NULL)                                                                                                    \
    X(POSTCOPY_BEGAN, "post-copy has begun: the guest's memory is on both hosts, wait for the end")                    \
    X(POSTCOPY_UNSUPPORTED, "the target cannot use post-copy: check userfaultfd and the memory backing there")         \
    X(NO_DOMAIN, NULL)                                                                                                 \
    X(GUEST_GONE, "the guest's QEMU ended during the migration: its log says why")                                     \
    X(INVALID_FLAGS, "the request combines options that libvirt refuses together")

enum kvmig__virt_cause {
#define X(name, hint) KVMIG__CAUSE_##name,
    KVMIG__VIRT_CAUSES(X)
#undef X
        KVMIG__N_CAUSES
};

/* code and domain are libvirt's (virErrorNumber, virErrorDomain); text may be NULL. */
int32_t kvmig__virt_cause(int code, int domain, const char *text);
const char *kvmig__virt_cause_name(int32_t cause); /* "UNSAFE", ...; NULL if unknown */
const char *kvmig__virt_cause_hint(int32_t cause); /* NULL = no advice */

/* Splits libvirt's text that carries a message of each host; false = it is not of that form. Both parts owned. */
bool kvmig__virt_split_sides(const char *text, char **out_source, char **out_target);

#endif
