/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading one host: everything that struct kvmig__host holds. One reading is one job of a lane; all of it blocks as long as
 * libvirt does. A part that the host's driver does not have, or that fails, stays unknown and leaves a remark; only a
 * broken connection fails the reading.
 */
#ifndef KVMIG_SRC_LIBVIRT_INVENTORY_H
#define KVMIG_SRC_LIBVIRT_INVENTORY_H

#include "libvirt/inventory_cache.h"
#include "libvirt/libvirt_internal.h"

#include <stdatomic.h>

enum kvmig__depth {
    KVMIG__DEPTH_USUAL, /* what may change at any time; what is costly comes from the cache */
    KVMIG__DEPTH_FULL, /* also volumes and block devices */
    KVMIG__DEPTH_THOROUGH, /* and active pools look for new volumes first */
};

/* Shows to others which call a reading is in, and since when. */
struct kvmig__pulse {
    _Atomic int64_t since_ms;
    _Atomic(const char *) call; /* static text */
    _Atomic bool asks_guest; /* it waits for one guest's QEMU, so that its hanging says little about the host */
};

struct kvmig__inventory {
    /* set by the caller */
    virConnectPtr conn;
    const char *label; /* what to call the host in errors */
    const struct kvmig__queries *queries;
    int32_t depth; /* enum kvmig__depth */
    bool spare_guests; /* a guest's QEMU hangs: ask none for what it alone knows */
    struct kvmig__cache *cache;
    struct kvmig__pulse *pulse;
    /* answers */
    struct kvmig__host *host; /* made by the caller, filled here */
    struct kvmig__strlist remarks; /* what could not be read, for the log */
    struct kvmig_error *error; /* the connection broke: nothing here counts */
};

/* Fills host. False: error says why. */
bool kvmig__inventory_run(struct kvmig__inventory *inv);

/* ---- the parts (inventory_*.c); each returns early if the connection is broken ---- */
void kvmig__inventory_free_pages(struct kvmig__inventory *inv); /* after the capabilities */
void kvmig__inventory_secrets(struct kvmig__inventory *inv);
void kvmig__inventory_domains(struct kvmig__inventory *inv);
void kvmig__inventory_emulators(struct kvmig__inventory *inv); /* after the domains */
void kvmig__inventory_networks(struct kvmig__inventory *inv); /* after the domains */
void kvmig__inventory_storage(struct kvmig__inventory *inv);

/* ---- for the parts ---- */
/* Every call into libvirt is announced. call: static text. */
void kvmig__inventory_calls(struct kvmig__inventory *inv, const char *call);
void kvmig__inventory_asks_guest(struct kvmig__inventory *inv, const char *call);
/* After a failed call: sets error if the connection is broken, else makes a remark. what: the object or NULL. */
void kvmig__inventory_failed(struct kvmig__inventory *inv, const char *call, const char *what);
/* After text of libvirt was not understood: a remark from this thread's last error of ours. */
void kvmig__inventory_misread(struct kvmig__inventory *inv, const char *what);
/* "host: object" for error messages of parsers. Owned. */
char *kvmig__inventory_where(const struct kvmig__inventory *inv, const char *what);

#endif
