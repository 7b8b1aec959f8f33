/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Connections of a session's driver. Each belongs to one lane: its jobs open and use it, and the lane's last act closes it,
 * so that neither a hung host nor a slow close ever blocks dispatch.
 */
#ifndef KVMIG_SRC_LIBVIRT_LINK_H
#define KVMIG_SRC_LIBVIRT_LINK_H

#include "context/context_internal.h"
#include <libvirt/libvirt.h>
#include <stdatomic.h>

/* Memory of the lane. Jobs of that lane may keep a pointer to it: it is freed after the last of them. host and uri are
 * fixed; conn is touched on the lane's thread only. */
struct kvmig__link {
    char *host; /* its name, for errors */
    char *uri;
    virConnectPtr conn; /* NULL = not open */
    _Atomic bool given_up; /* nobody waits for the lane any more */
    struct kvmig__link *next; /* a second one on the same lane */
    struct kvmig__lost_count *lost; /* once it was given up: where its thread counts until it comes back */
};

/* Threads of one end that may hang at a time before nothing more is asked of its host. A hung QEMU costs some while its host
 * still answers other questions, so it is more than one would wait for. */
#define KVMIG__END_MAX_LOST 8

/* A lane and its connections, as the driver holds them. Zero = none. */
struct kvmig__end {
    struct kvmig_context *context;
    char *name; /* of the lane */
    struct kvmig__lane *lane;
    struct kvmig__link *link;
    struct kvmig__lost_count *lost;
};

/* ---- in dispatch, with the context lock ---- */
/* Opens nothing yet: the first job does. */
void kvmig__end_init(struct kvmig__end *end, struct kvmig_context *context, const char *name, const char *host,
                     const char *uri);
/* A second connection on the same lane; before the first job. */
struct kvmig__link *kvmig__end_add_link(struct kvmig__end *end, const char *host, const char *uri);
/* Gives up the lane with all that hangs on it, and goes on with a new one and new connections. */
void kvmig__end_renew(struct kvmig__end *end);
/* So many threads that were given up still hang that the next one would most likely join them: wait for one to return. */
bool kvmig__end_is_jammed(const struct kvmig__end *end);
void kvmig__end_close(struct kvmig__end *end); /* also if it was never initialised */

/* ---- on the lane's thread ---- */
/* The open connection, made again if it broke; NULL with an owned error. */
virConnectPtr kvmig__link_open(struct kvmig__link *link, struct kvmig_error **out_error);
/* Makes the next kvmig__link_open() dial again. */
void kvmig__link_drop(struct kvmig__link *link);
/* The domain, freed by the caller; NULL with an owned error. */
virDomainPtr kvmig__link_domain(struct kvmig__link *link, const char *uuid, struct kvmig_error **out_error);
/* Like it, but a domain that is not there is no error: *out_domain is NULL then. False with an owned error. */
bool kvmig__link_find_domain(struct kvmig__link *link, const char *uuid, virDomainPtr *out_domain,
                             struct kvmig_error **out_error);
/* A job that was given up must change nothing any more when its host comes back: to be asked right before every call that
 * has an effect. True, with an owned error, if the job was given up. */
bool kvmig__link_is_given_up(struct kvmig__link *link, struct kvmig_error **out_error);
/* Has the host read a storage pool anew. NULL = done; else an owned error. Waits, until the job is given up and 20 s at most, for volumes
 * that others have libvirt build in that pool: meanwhile it refuses. */
struct kvmig_error *kvmig__link_refresh_pool(struct kvmig__link *link, virStoragePoolPtr pool);
/* Right after a failed libvirt call: what it means. Owned. out_cause (enum kvmig__virt_cause) may be NULL. */
struct kvmig_error *kvmig__link_error(const struct kvmig__link *link, const char *call, int32_t *out_cause);

#endif
