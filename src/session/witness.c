/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Weighs what the hosts say against what the platform says. A host that does not know the guest proves nothing: the guest's
 * libvirt may be another one than the one that was asked (KubeVirt runs one in each launcher pod). A host that shows the guest
 * proves what it shows. Pure; any thread; nothing is owned.
 */
#include "session/witness.h"

static bool shows(const struct kvmig__side *side)
{
    return side->reachable && side->state != KVMIG__STATE_ABSENT && side->state != KVMIG__STATE_SHUTOFF;
}

static bool runs(const struct kvmig__side *side)
{
    return side->reachable && (side->state == KVMIG__STATE_RUNNING || side->state == KVMIG__STATE_SUSPENDED_PM);
}

/* Of hosts that do not decide it together: the side that runs the guest, 0 = none that is seen, or both. */
static int32_t running_side(const struct kvmig__side *source, const struct kvmig__side *target)
{
    return (int32_t)runs(target) - (int32_t)runs(source);
}

enum kvmig__testimony kvmig__testimony_of(const struct kvmig__resolution *platform,
                                          const struct kvmig__resolution *hosts, const struct kvmig__side *source,
                                          const struct kvmig__side *target)
{
    const int32_t told = platform->decided ? platform->side : 0;

    if (!shows(source) && !shows(target))
        return KVMIG__TESTIMONY_NONE;
    if (hosts->decided)
        return hosts->side && hosts->side == told ? KVMIG__TESTIMONY_AGREES : KVMIG__TESTIMONY_OVERRULES;
    if (told && running_side(source, target) == told)
        return KVMIG__TESTIMONY_AGREES;
    return KVMIG__TESTIMONY_DOUBTS;
}

const char *kvmig__testimony_name(enum kvmig__testimony testimony)
{
    static const char *const names[] = {
        [KVMIG__TESTIMONY_NONE] = "none",
        [KVMIG__TESTIMONY_AGREES] = "agrees",
        [KVMIG__TESTIMONY_OVERRULES] = "overrules",
        [KVMIG__TESTIMONY_DOUBTS] = "doubts",
    };

    return names[testimony];
}
