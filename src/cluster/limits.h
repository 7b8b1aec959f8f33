/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Slots: how many migrations may run at once, in total and per host, and who is next. Pure. First come, first served
 * among those that fit: a waiter whose hosts are full does not hold up one behind it whose hosts are free.
 */
#ifndef KVMIG_SRC_LIMITS_H
#define KVMIG_SRC_LIMITS_H

#include "base/base.h"

struct kvmig__slot { /* embedded in its owner */
    char *source, *target; /* host names */
    bool granted;
    uint32_t position; /* 1 = first in the queue; 0 once granted */
    void *owner;
    struct kvmig__slot *next, *prev;
};

struct kvmig__limits {
    uint32_t max_migrations, max_outbound, max_inbound;
    struct kvmig__slot *head, *tail; /* granted and waiting, in order of arrival */
};

void kvmig__limits_init(struct kvmig__limits *limits, uint32_t max_migrations, uint32_t max_outbound,
                        uint32_t max_inbound);
void kvmig__limits_enter(struct kvmig__limits *limits, struct kvmig__slot *slot, const char *source, const char *target,
                         void *owner);
/* Idempotent. */
void kvmig__limits_leave(struct kvmig__limits *limits, struct kvmig__slot *slot);
/* Grants what fits and renumbers; calls changed(owner) for each slot whose granted or position changed. `busy` (may be
 * NULL) counts migrations on a host that are not ours: busy(data, host, out) with host NULL for the total. */
void kvmig__limits_settle(struct kvmig__limits *limits, void (*changed)(struct kvmig__slot *slot),
                          uint32_t (*busy)(void *data, const char *host, bool out), void *data);
uint32_t kvmig__limits_running(const struct kvmig__limits *limits, const char *host, bool out); /* host NULL = total */

#endif
