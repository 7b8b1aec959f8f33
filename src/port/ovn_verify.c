/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Verifying that the target would forward: whether the ports are still prepared by us, what could prove it, and,
 * where nothing is plugged yet, that the target's ovn-controller is there and has seen the preparation. Also what
 * is looked for while the ports are prepared and nobody asks for anything: the activation. Pure.
 */
#include "port/ovn_machine.h"

#include <errno.h>
#include <stdlib.h>

/* What keeps the target silent is as our preparation wrote it, which may have been another handle's, with another
 * strategy. Where that is not known, there has to be one. */
static bool is_as_silent(const struct kvmig__ovn_lsp *lsp)
{
    struct kvmig__ovn_previous previous;
    bool same;

    kvmig__ovn_previous_read(lsp->previous, &previous);
    same = previous.activation
               ? kvmig__str_eq(lsp->activation_strategy ? lsp->activation_strategy : "none", previous.activation)
               : lsp->activation_strategy != NULL;
    kvmig__ovn_previous_clear(&previous);
    return same;
}

bool kvmig__ovn_all_ours(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                         const struct kvmig__ovn_lsp **out_first)
{
    *out_first = NULL;
    for (size_t i = 0; i < facts->lsps.n; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];

        if (kvmig__ovn_has_owner(m, lsp) && kvmig__ovn_pin_of(facts, lsp, m->source, m->target).is_pair &&
            is_as_silent(lsp))
            continue;
        *out_first = lsp;
        return false;
    }
    return facts->lsps.n > 0;
}

bool kvmig__ovn_all_activated(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    const char *target = kvmig__ovn_chassis_name(facts, m->target);

    for (size_t i = 0; i < facts->lsps.n; i++)
        if (!target || !kvmig__strlist_has(&facts->lsps.v[i].activated, target))
            return false;
    return facts->lsps.n > 0;
}

enum kvmig__ovn_input kvmig__ovn_judge_rest(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    const struct kvmig__ovn_lsp *other;
    bool looks = m->state == KVMIG__OVN_ST_PREPARED || m->state == KVMIG__OVN_ST_VERIFIED;

    if (looks && facts->nb.current && kvmig__ovn_is_current(&facts->sb) && kvmig__ovn_all_ours(m, facts, &other) &&
        kvmig__ovn_all_activated(m, facts))
        return KVMIG__OVN_IN_ACTIVATION;
    return KVMIG__OVN_IN_NO_NEWS;
}

static enum kvmig__ovn_input not_ours(struct kvmig__ovn_machine *m, const struct kvmig__ovn_lsp *lsp)
{
    char *evidence = lsp ? kvmig__ovn_evidence(lsp, NULL) : NULL;
    const char *hint = "prepare the port first";

    if (!lsp)
        kvmig__ovn_refuse(m, kvmig__error_new(-ENOENT, m->name, NULL, "check the name of the logical port",
                                              "the northbound database has no logical port %s", m->name));
    else if (lsp->owner && !kvmig__ovn_has_owner(m, lsp))
        kvmig__ovn_refuse(m, kvmig__error_new(-KVMIG_EPHASE, lsp->name, evidence, hint,
                                              "%s belongs to the migration %s, not to %s", lsp->name, lsp->owner,
                                              m->owner));
    else if (!lsp->owner)
        kvmig__ovn_refuse(m, kvmig__error_new(-KVMIG_EPHASE, lsp->name, evidence, hint,
                                              "%s is not prepared by %s: there is nothing to verify", lsp->name,
                                              m->owner));
    else
        kvmig__ovn_refuse(m, kvmig__error_new(-KVMIG_EPHASE, lsp->name, evidence, hint,
                                              "%s is not extended to the target, or was changed by somebody else",
                                              lsp->name));
    free(evidence);
    return KVMIG__OVN_IN_NOT_OURS;
}

/* What was given can never prove it. */
static bool lacks_proof(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    if (facts->ovs_target.used || (facts->sb.used && !facts->barrier_off))
        return false;
    kvmig__ovn_refuse(
        m, kvmig__error_new(
               -ENOTSUP, m->name, facts->barrier_off ? "NB_Global options:enable_chassis_nb_cfg_update=false" : NULL,
               "give the remotes of the target's Open vSwitch, or of the southbound database with its nb_cfg barrier",
               "it cannot be proven that %s is ready: %s", m->target ? m->target : "the target",
               facts->sb.used ? "the nb_cfg barrier is turned off, and its Open vSwitch was not given"
                              : "neither the southbound database nor its Open vSwitch was given"));
    return true;
}

/* The same for all kinds of verifying; NO_NEWS: nothing stands in the way. */
static enum kvmig__ovn_input judge_common(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                          int64_t now_ms)
{
    const struct kvmig__ovn_lsp *other;

    if (m->write_out || m->adopted || !kvmig__ovn_is_due(m->retry_ms, now_ms))
        return KVMIG__OVN_IN_BUSY;
    if (!facts->nb.current) {
        kvmig__ovn_waits_for(m, "the northbound database is not connected: %s",
                             facts->nb.trouble ? facts->nb.trouble : "no connection yet");
        return KVMIG__OVN_IN_NOT_CURRENT;
    }
    if (!kvmig__ovn_all_ours(m, facts, &other))
        return not_ours(m, other);
    return lacks_proof(m, facts) ? KVMIG__OVN_IN_NO_PROOF : KVMIG__OVN_IN_NO_NEWS;
}

enum kvmig__ovn_input kvmig__ovn_judge_verify(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                              int64_t now_ms)
{
    enum kvmig__ovn_input input = judge_common(m, facts, now_ms);

    if (input != KVMIG__OVN_IN_NO_NEWS)
        return input;
    if (m->state == KVMIG__OVN_ST_BARRIER)
        return kvmig__ovn_barrier_judge(m, facts, now_ms);
    input = kvmig__ovn_watch_judge(m, facts, now_ms);
    return input == KVMIG__OVN_IN_QUIET && m->bump_out ? KVMIG__OVN_IN_BUSY : input;
}

/* ---- before anything is plugged ---- */

static bool is_plugged(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    const char *target = kvmig__ovn_chassis_name(facts, m->target);

    for (size_t i = 0; i < facts->lsps.n; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];

        if (kvmig__ovn_is_current(&facts->ovs_target) && lsp->at_target.rows)
            return true;
        if (kvmig__ovn_is_current(&facts->sb) && target && kvmig__strlist_has(&lsp->additional, target))
            return true;
    }
    return false;
}

/* northd has resolved both chassis on every port; says what is missing. */
static bool has_followed(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    const char *source = kvmig__ovn_chassis_name(facts, m->source), *target = kvmig__ovn_chassis_name(facts, m->target);

    if (!facts->sb.used)
        return true;
    if (!facts->sb.current) {
        kvmig__ovn_waits_for(m, "the southbound database is not connected: %s",
                             facts->sb.trouble ? facts->sb.trouble : "no connection yet");
        return false;
    }
    for (size_t i = 0; i < facts->lsps.n; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];

        if (source && target && kvmig__str_eq(lsp->requested, source) &&
            kvmig__strlist_has(&lsp->requested_additional, target))
            continue;
        kvmig__ovn_waits_for(m, "northd has not followed: it does not want %s on %s yet", lsp->name, m->target);
        return false;
    }
    return true;
}

enum kvmig__ovn_input kvmig__ovn_judge_arm(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                           int64_t now_ms)
{
    enum kvmig__ovn_input input = judge_common(m, facts, now_ms);
    bool can_ask = !facts->barrier_off && facts->target_nb_cfg >= 0;

    if (input != KVMIG__OVN_IN_NO_NEWS)
        return input;
    if (m->state == KVMIG__OVN_ST_ARMING && is_plugged(m, facts))
        return KVMIG__OVN_IN_PLUGGED;
    if (!has_followed(m, facts))
        return KVMIG__OVN_IN_PAIR_NOT_FOLLOWED;
    if (m->state == KVMIG__OVN_ST_ARM_BARRIER && can_ask && facts->target_nb_cfg < m->barrier) {
        kvmig__ovn_waits_for(m,
                             "ovn-controller of %s does not answer the barrier: it has got to nb_cfg %lld, not to %lld",
                             m->target, (long long)facts->target_nb_cfg, (long long)m->barrier);
        return KVMIG__OVN_IN_PENDING;
    }
    if (m->state == KVMIG__OVN_ST_ARM_BARRIER)
        return can_ask ? KVMIG__OVN_IN_PROVEN : KVMIG__OVN_IN_MISSING;
    if (can_ask)
        return m->bump_out ? KVMIG__OVN_IN_BUSY : KVMIG__OVN_IN_QUIET;
    if (kvmig__ovn_is_current(&facts->ovs_target))
        return KVMIG__OVN_IN_PROVEN;
    kvmig__ovn_waits_for(m, "neither nb_cfg nor the Open vSwitch of %s can be read", m->target);
    return KVMIG__OVN_IN_MISSING;
}
