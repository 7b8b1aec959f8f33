/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Resolver's verdict + what the session did -> input of the state machine. Decides nothing about hosts (resolver.c) and
 * moves nothing (fsm.c). Pure; any thread; all texts are static.
 */
#include "session/outcome.h"

#include "session/fsm.h"

#define HINT_ASK_AGAIN                                                                                                 \
    "Start and destroy nothing. Ask again with kvmig_cluster_locate() once both hosts answer; it tells what is safe "  \
    "then."

static struct kvmig__outcome at_source(const char *proof)
{
    return (struct kvmig__outcome){ .input = KVMIG__IN_AT_SOURCE, .proof = proof, .side = -1 };
}

static struct kvmig__outcome at_target(const char *proof)
{
    return (struct kvmig__outcome){ .input = KVMIG__IN_AT_TARGET, .proof = proof, .side = 1 };
}

static struct kvmig__outcome not_proven(enum kvmig__fsm_input input, int32_t error_code, const char *proof,
                                        const char *hint)
{
    return (struct kvmig__outcome){
        .input = (int32_t)input, .error_code = error_code, .proof = proof, .hint = hint, .side = 0
    };
}

static struct kvmig__outcome unknown(const char *proof, const char *hint)
{
    return not_proven(KVMIG__IN_AT_UNKNOWN, KVMIG_EUNKNOWN, proof, hint);
}

static struct kvmig__outcome lost(const char *proof)
{
    return not_proven(
        KVMIG__IN_AT_NONE, KVMIG_ELOST, proof,
        "The guest has ended, crashed or was shut down. Read its QEMU log on both hosts; then destroy what "
        "is left of it on either host, and start it again on one.");
}

static struct kvmig__outcome split(const char *proof)
{
    return not_proven(
        KVMIG__IN_AT_BOTH, KVMIG_ESPLIT, proof,
        "Suspend both copies at once (kvmig_location_apply() with KVMIG_ACTION_SUSPEND_BOTH), find out which "
        "one the storage and the clients use, then destroy the other one.");
}

static struct kvmig__outcome postcopy_broken(const char *proof)
{
    return not_proven(
        KVMIG__IN_AT_BOTH, KVMIG_EUNKNOWN, proof,
        "Destroy neither side and never resume the source. Restore the link between the hosts, then migrate "
        "again with VIR_MIGRATE_POSTCOPY_RESUME.");
}

/* The copy there is complete and the only one that may run. Whether that is the end depends on who paused it. */
static struct kvmig__outcome held_on_target(const struct kvmig__outcome_facts *facts, const struct kvmig__side *target,
                                            const char *proof)
{
    struct kvmig__outcome outcome = at_target(proof);

    if (target->reason != KVMIG__REASON_USER)
        return unknown(proof,
                       "The guest is on the target and does not run. Mend what paused it there (its QEMU log tells), "
                       "then resume it there.");
    outcome.left_paused = !facts->strict && !facts->was_paused;
    return outcome;
}

static bool is_alive(const struct kvmig__side *side)
{
    return side->reachable && (side->state == KVMIG__STATE_RUNNING || side->state == KVMIG__STATE_PAUSED ||
                               side->state == KVMIG__STATE_SUSPENDED_PM);
}

/* Nothing of ours can have moved the guest, so a source that has it, and no job, is proof enough even if the target cannot
 * be asked. A guest that is elsewhere was moved by somebody else: nothing of that is ours to finish or to undo. */
static struct kvmig__outcome before_call(const struct kvmig__resolution *resolution, const struct kvmig__side *source,
                                         const struct kvmig__side *target)
{
    const bool target_runs = target->reachable && target->state == KVMIG__STATE_RUNNING;

    if (resolution->verdict == KVMIG_LOCATION_VM_LOST)
        return lost(resolution->proof);
    if (resolution->verdict == KVMIG_LOCATION_SPLIT_BRAIN)
        return split(resolution->proof);
    if (is_alive(source) && !source->job_active && !target_runs)
        return at_source("the guest is on the source, and this session never made the migrate call");
    return unknown(resolution->proof, HINT_ASK_AGAIN);
}

/* The call's success is a proof of its own: libvirt's target had the complete guest, and from then on nothing in libvirt
 * resumes the source. So a source that fell silent since cannot hold a second running copy. */
bool kvmig__outcome_is_proven_by_call(const struct kvmig__outcome_facts *facts, const struct kvmig__side *source,
                                      const struct kvmig__side *target)
{
    if (!facts->call_ok || source->reachable || !target->reachable || target->job_active)
        return false;
    if (target->state == KVMIG__STATE_RUNNING)
        return target->reason == KVMIG__REASON_MIGRATED;
    return target->state == KVMIG__STATE_PAUSED && target->reason == KVMIG__REASON_USER &&
           (facts->strict || facts->was_paused);
}

static struct kvmig__outcome proven_by_call(const struct kvmig__side *target)
{
    const bool held = target->state == KVMIG__STATE_PAUSED;
    struct kvmig__outcome outcome = at_target(
        held ? "the migrate call reported success, and the guest is complete and paused on the target; the source "
               "cannot be asked, but nothing in libvirt resumes it after that"
             : "the migrate call reported success, and the guest runs on the target; the source cannot be asked, "
               "but nothing in libvirt resumes it after that");

    outcome.verdict = held ? KVMIG_LOCATION_TARGET_PAUSED : KVMIG_LOCATION_SUCCEEDED;
    return outcome;
}

/* Both sides are off the migration's track: the source was left paused by it, and on the target a definition is off. In
 * general it may have run there since. Not so after a call of this session that failed, if libvirt says that the last start
 * there failed: the target was off or absent before, and the only start since was the incoming one. */
static bool never_ran_there(const struct kvmig__outcome_facts *facts, const struct kvmig__side *source,
                            const struct kvmig__side *target)
{
    return facts->call_failed && source->reachable && !source->job_active && source->state == KVMIG__STATE_PAUSED &&
           (source->reason == KVMIG__REASON_MIGRATION || source->reason == KVMIG__REASON_API_ERROR) &&
           target->reachable && !target->job_active && target->state == KVMIG__STATE_SHUTOFF &&
           target->reason == KVMIG__REASON_FAILED;
}

static struct kvmig__outcome left_paused_on_source(void)
{
    struct kvmig__outcome outcome = at_source("the migration left the guest paused on the source; on the target its "
                                              "incoming copy failed to start and never ran");

    outcome.verdict = KVMIG_LOCATION_FAILED_SOURCE_PAUSED;
    return outcome;
}

static struct kvmig__outcome paused_on_source(const struct kvmig__outcome_facts *facts, const char *proof)
{
    /* The target was started before the call returned. What it wrote since is not in the source's memory. */
    if (facts->call_ok && !facts->strict && !facts->was_paused)
        return unknown(
            "the migrate call reported success, so the guest ran on the target, but it is not there any more; "
            "the source holds an old, paused copy",
            "Do not resume the source: its memory is older than the disks. Find out what ended the guest on "
            "the target (its QEMU log tells), then destroy the source's copy and start the guest again.");
    return at_source(proof);
}

static struct kvmig__outcome after_call(const struct kvmig__outcome_facts *facts,
                                        const struct kvmig__resolution *resolution, const struct kvmig__side *source,
                                        const struct kvmig__side *target)
{
    if (kvmig__outcome_is_proven_by_call(facts, source, target))
        return proven_by_call(target);
    if (never_ran_there(facts, source, target))
        return left_paused_on_source();
    switch (resolution->verdict) {
    case KVMIG_LOCATION_NO_FINDING:
    case KVMIG_LOCATION_FAILED:
        return at_source(resolution->proof);
    case KVMIG_LOCATION_FAILED_SOURCE_PAUSED:
        return paused_on_source(facts, resolution->proof);
    case KVMIG_LOCATION_SUCCEEDED:
    case KVMIG_LOCATION_SUCCEEDED_UNREPORTED:
        return at_target(resolution->proof);
    case KVMIG_LOCATION_TARGET_PAUSED:
        return held_on_target(facts, target, resolution->proof);
    case KVMIG_LOCATION_SPLIT_BRAIN:
        return split(resolution->proof);
    case KVMIG_LOCATION_POSTCOPY_FAILED:
        return postcopy_broken(resolution->proof);
    case KVMIG_LOCATION_VM_LOST:
        return lost(resolution->proof);
    case KVMIG_LOCATION_RUNNING:
        return unknown(resolution->proof, "The hosts have not finished. " HINT_ASK_AGAIN);
    case KVMIG_LOCATION_POSTCOPY_ACTIVE:
        return unknown(
            resolution->proof,
            "Do not touch either side until post-copy has ended; then ask again with kvmig_cluster_locate().");
    default:
        return unknown(resolution->proof, HINT_ASK_AGAIN);
    }
}

struct kvmig__outcome kvmig__outcome_of(const struct kvmig__outcome_facts *facts,
                                        const struct kvmig__resolution *resolution, const struct kvmig__side *source,
                                        const struct kvmig__side *target)
{
    struct kvmig__outcome outcome =
        facts->call_begun ? after_call(facts, resolution, source, target) : before_call(resolution, source, target);

    if (!outcome.verdict)
        outcome.verdict = resolution->verdict;
    return outcome;
}
