/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the states, strategies and wishes of a port are called, and which states a wish leads through. Pure; any thread.
 */
#include "port/port_handle.h"

const char *kvmig_port_state_name(int32_t state)
{
    static const char *const names[] = {
        [KVMIG_PORT_IDLE] = "idle",
        [KVMIG_PORT_PREPARING] = "preparing",
        [KVMIG_PORT_PREPARED] = "prepared",
        [KVMIG_PORT_VERIFYING] = "verifying",
        [KVMIG_PORT_VERIFIED] = "verified",
        [KVMIG_PORT_ACTIVATED] = "activated",
        [KVMIG_PORT_CONVERGING] = "converging",
        [KVMIG_PORT_CONVERGED] = "converged",
        [KVMIG_PORT_ROLLING_BACK] = "rolling-back",
        [KVMIG_PORT_ROLLED_BACK] = "rolled-back",
        [KVMIG_PORT_SUPERSEDED] = "superseded",
        [KVMIG_PORT_FAILED] = "failed",
    };

    return state >= 0 && (size_t)state < KVMIG__N_ELEMENTS(names) ? names[state] : NULL;
}

const char *kvmig_port_strategy_name(int32_t strategy)
{
    static const char *const names[] = {
        [KVMIG_PORT_STRATEGY_AUTO] = "auto", [KVMIG_PORT_STRATEGY_RARP] = "rarp", [KVMIG_PORT_STRATEGY_GARP] = "garp",
        [KVMIG_PORT_STRATEGY_NA] = "na",     [KVMIG_PORT_STRATEGY_NONE] = "none",
    };

    return strategy >= 0 && (size_t)strategy < KVMIG__N_ELEMENTS(names) ? names[strategy] : NULL;
}

struct wish_facts {
    const char *name;
    int32_t during, after; /* -1 = the state does not change */
};

static const struct wish_facts *facts_of(enum kvmig__port_wish wish)
{
    static const struct wish_facts facts[] = {
        [KVMIG__PORT_PREPARE] = { "prepare", KVMIG_PORT_PREPARING, KVMIG_PORT_PREPARED },
        [KVMIG__PORT_VERIFY] = { "verify", KVMIG_PORT_VERIFYING, KVMIG_PORT_VERIFIED },
        [KVMIG__PORT_VERIFY_LATE] = { "verify-late", KVMIG_PORT_VERIFYING, KVMIG_PORT_VERIFIED },
        [KVMIG__PORT_CONVERGE] = { "converge", KVMIG_PORT_CONVERGING, KVMIG_PORT_CONVERGED },
        [KVMIG__PORT_CONVERGE_NOW] = { "converge-now", KVMIG_PORT_CONVERGING, KVMIG_PORT_CONVERGED },
        [KVMIG__PORT_ROLLBACK] = { "rollback", KVMIG_PORT_ROLLING_BACK, KVMIG_PORT_ROLLED_BACK },
        [KVMIG__PORT_GC] = { "gc", KVMIG_PORT_CONVERGING, KVMIG_PORT_CONVERGED },
        [KVMIG__PORT_REFRESH] = { "refresh", -1, -1 },
    };

    return &facts[wish];
}

const char *kvmig__port_wish_name(enum kvmig__port_wish wish)
{
    return facts_of(wish)->name;
}

int32_t kvmig__port_state_during(enum kvmig__port_wish wish)
{
    return facts_of(wish)->during;
}

int32_t kvmig__port_state_after(enum kvmig__port_wish wish)
{
    return facts_of(wish)->after;
}
