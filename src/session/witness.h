/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What two hosts that were asked beside a platform add to the platform's answer where a guest is. Pure.
 */
#ifndef KVMIG_SRC_WITNESS_H
#define KVMIG_SRC_WITNESS_H

#include "session/resolver.h"

enum kvmig__testimony {
    KVMIG__TESTIMONY_NONE, /* no host knows the guest, or none could be asked: the platform's answer stands */
    KVMIG__TESTIMONY_AGREES,
    KVMIG__TESTIMONY_OVERRULES, /* the hosts prove where the guest is, and the platform says otherwise, or does not know */
    KVMIG__TESTIMONY_DOUBTS, /* what one host shows does not go with the platform's answer, and it proves no other */
};

/* platform: what it says. hosts, source, target: what the hosts were found to say, and how they were read. */
enum kvmig__testimony kvmig__testimony_of(const struct kvmig__resolution *platform,
                                          const struct kvmig__resolution *hosts, const struct kvmig__side *source,
                                          const struct kvmig__side *target);
const char *kvmig__testimony_name(enum kvmig__testimony testimony); /* "none", "agrees", "overrules", "doubts" */

#endif
