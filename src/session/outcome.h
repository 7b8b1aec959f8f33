/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the resolver's judgement means for a session: which input of its state machine. The resolver knows two hosts; the
 * session knows what it did and what the guest was like before. Pure.
 */
#ifndef KVMIG_SRC_OUTCOME_H
#define KVMIG_SRC_OUTCOME_H

#include "session/resolver.h"

struct kvmig__outcome_facts {
    bool call_begun; /* this session made the migrate call */
    bool
        call_ok; /* ... and it returned success: the target was complete, and nothing in libvirt resumes the source any more */
    bool
        call_failed; /* ... and it returned failure: nothing of it is under way any more but what the hosts show as a job */
    bool strict; /* strict hand-over: the target is meant to come up paused */
    bool was_paused; /* the guest was paused before, and is meant to stay so */
};

struct kvmig__outcome {
    int32_t input; /* AT_SOURCE ... AT_UNKNOWN of enum kvmig__fsm_input */
    int32_t error_code; /* positive, for AT_NONE, AT_BOTH and AT_UNKNOWN; else 0 */
    int32_t verdict; /* enum kvmig_location_verdict: the resolver's, or what the session knows beyond it */
    const char *proof; /* static; what it rests on */
    const char *hint; /* static; what to check; NULL if there is nothing to check */
    int32_t side; /* where the guest is proven to be: -1 source, 1 target, 0 not proven */
    bool left_paused; /* AT_TARGET, but paused there by somebody else */
};

struct kvmig__outcome kvmig__outcome_of(const struct kvmig__outcome_facts *facts,
                                        const struct kvmig__resolution *resolution, const struct kvmig__side *source,
                                        const struct kvmig__side *target);

/* The call's success and the target's state say enough: a source that does not answer need not be waited for. */
bool kvmig__outcome_is_proven_by_call(const struct kvmig__outcome_facts *facts, const struct kvmig__side *source,
                                      const struct kvmig__side *target);

#endif
