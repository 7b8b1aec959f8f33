/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state resolver's judgement: (source state x target state) -> where the guest is, what that proves, what may be done.
 * Pure; the reading is done by backends (target, source, target again).
 */
#ifndef KVMIG_SRC_RESOLVER_H
#define KVMIG_SRC_RESOLVER_H

#include "cluster/model.h"
#include <kvmig/location.h>

#define KVMIG__MAX_ACTIONS 4
struct kvmig__resolution {
    int32_t verdict; /* enum kvmig_location_verdict */
    int32_t actions[KVMIG__MAX_ACTIONS]; /* enum kvmig_location_action, in the order to take them; 0 = no more */
    const char *proof; /* static text */
    bool decided; /* false: ask again (in progress, transient, unreachable) */
    int32_t side; /* where the guest is: -1 source, 1 target, 0 neither, both or unknown */
};

/* target_again: the second reading of the target; if it differs from the first the answer is "in progress". */
struct kvmig__resolution kvmig__resolve(const struct kvmig__side *source, const struct kvmig__side *target,
                                        const struct kvmig__side *target_again);
bool kvmig__resolution_allows(const struct kvmig__resolution *resolution, int32_t action);

#endif
