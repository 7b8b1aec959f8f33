/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backend of one libvirt host, for host*.c only. Everything needs the context lock. It has four channels, so that none
 * of what it does waits for another: reading the whole host (slow), asking for one domain's state (fast), acting (a destroy
 * takes seconds), measuring (seconds to a minute).
 */
#ifndef KVMIG_SRC_LIBVIRT_HOST_INTERNAL_H
#define KVMIG_SRC_LIBVIRT_HOST_INTERNAL_H

#include "libvirt/channel.h"
#include "libvirt/inventory_cache.h"
#include "libvirt/libvirt_internal.h"

struct kvmig__reading_job;
struct kvmig__question;
struct kvmig__measuring;

struct kvmig__virt_host {
    struct kvmig__host_backend base;
    struct kvmig__cluster_host *host;
    struct kvmig_context *context;
    char *uri;
    uint32_t refresh_ms, call_timeout_ms;

    /* reading (host_read.c) */
    struct kvmig__channel read;
    struct kvmig__reading_job *reading; /* the one that runs; its lane's, but for the pulse; NULL = none */
    bool again; /* asked for while one runs */
    bool guest_hung; /* one hung in a guest's QEMU, and that call has not returned */
    struct kvmig__timer next; /* when to read */
    struct kvmig__timer watch; /* looks at the pulse of the one that runs */
    int64_t back_off_ms; /* after the next failure */
    int64_t full_ms; /* when volumes were last read */
    struct kvmig__cache *cache; /* of the last reading; NULL while one has it */

    /* measurements (measure.c) */
    struct kvmig__channel measure;
    struct kvmig__measuring *measuring; /* those that are not answered, in no order */
    int64_t measure_until_ms; /* when those that wait are over at the latest */

    /* questions and acts (host_ask.c) */
    struct kvmig__channel ask, act;
    struct kvmig__question *questions; /* those that are not answered, in no order */
};

/* host_read.c */
void kvmig__virt_read_init(struct kvmig__virt_host *h, virConnectPtr given);
void kvmig__virt_read_close(struct kvmig__virt_host *h);
void kvmig__virt_read_refresh(struct kvmig__host_backend *backend);

/* measure.c */
void kvmig__virt_measure_init(struct kvmig__virt_host *h, virConnectPtr given);
void kvmig__virt_measure_close(struct kvmig__virt_host *h);
void kvmig__virt_measure(struct kvmig__host_backend *backend, const char *uuid, const struct kvmig__measure *what,
                         kvmig__measured_fn fn, void *owner);

/* host_ask.c */
void kvmig__virt_ask_init(struct kvmig__virt_host *h, virConnectPtr given);
void kvmig__virt_ask_close(struct kvmig__virt_host *h);
void kvmig__virt_ask_side(struct kvmig__host_backend *backend, const char *vm, int64_t timeout_ms, kvmig__side_fn fn,
                          void *owner);
void kvmig__virt_ask_act(struct kvmig__host_backend *backend, const char *vm, int32_t action, int64_t timeout_ms,
                         kvmig__act_fn fn, void *owner);

#endif
