/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One number that tells whether two readings of a host differ in anything worth an event. Figures that move all the time
 * (free memory, allocated bytes) and the order of lists do not count.
 */
#ifndef KVMIG_SRC_FINGERPRINT_H
#define KVMIG_SRC_FINGERPRINT_H

#include "cluster/model.h"

uint64_t kvmig__host_fingerprint(const struct kvmig__host *host);

#endif
