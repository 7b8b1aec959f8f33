/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One look at one port: is everything as it must be at the target while it is an additional chassis, or at the
 * winner that has the port alone? Says in words what is not. One look proves nothing; ovn_watch.c compares many.
 * Pure.
 */
#include "port/ovn_machine.h"

#include <inttypes.h>
#include <stdlib.h>

static char *missing_database(const struct kvmig__ovn_source *source, const char *what, const char *chassis)
{
    if (!source->used || source->current)
        return NULL;
    return kvmig__asprintf("%s%s%s is not connected: %s", what, chassis ? " of " : "", chassis ? chassis : "",
                           source->trouble ? source->trouble : "no connection yet");
}

/* The interface in the chassis' Open vSwitch. */
static char *missing_interface(const struct kvmig__ovn_lsp *lsp, const struct kvmig__ovn_iface *iface,
                               const char *chassis)
{
    if (!iface->rows)
        return kvmig__asprintf("%s has no interface with iface-id %s", chassis, lsp->name);
    if (iface->rows > 1)
        return kvmig__asprintf("%s has %zu interfaces with iface-id %s", chassis, iface->rows, lsp->name);
    if (iface->ofport <= 0)
        return kvmig__asprintf("interface %s of %s has no OpenFlow port (ofport %" PRId64 "%s%s)",
                               iface->name ? iface->name : "?", chassis, iface->ofport, iface->error ? ": " : "",
                               iface->error ? iface->error : "");
    if (!kvmig__ovn_iface_is_ready(iface))
        return kvmig__asprintf("ovn-controller of %s has not installed the flows of interface %s (no ovn-installed)",
                               chassis, iface->name ? iface->name : "?");
    return NULL;
}

static const char *or_nobody(const char *chassis)
{
    return chassis ? chassis : "nobody";
}

static char *missing_claim(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                           const struct kvmig__ovn_lsp *lsp)
{
    const char *source = kvmig__ovn_chassis_name(facts, m->source);
    const char *target = kvmig__ovn_chassis_name(facts, m->target);

    if (!target)
        return kvmig__asprintf("the southbound database knows no chassis %s any more", m->target);
    if (!lsp->has_binding || !source || !kvmig__str_eq(lsp->chassis, source))
        return kvmig__asprintf("the main chassis of %s has moved: %s has it instead of %s", lsp->name,
                               or_nobody(lsp->chassis), m->source);
    if (!kvmig__strlist_has(&lsp->additional, target))
        return kvmig__asprintf("%s is not claimed by %s", lsp->name, m->target);
    return NULL;
}

char *kvmig__ovn_missing_at_target(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                   const struct kvmig__ovn_lsp *lsp)
{
    char *missing = missing_database(&facts->sb, "the southbound database", NULL);

    if (!missing)
        missing = missing_database(&facts->ovs_target, "Open vSwitch", m->target);
    if (!missing && facts->sb.used)
        missing = missing_claim(m, facts, lsp);
    if (!missing && facts->ovs_target.used)
        missing = missing_interface(lsp, &lsp->at_target, m->target);
    return missing;
}

/* A port that was never bound may stay so when it is put back: its guest does not run. */
static bool may_be_unbound(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                           const struct kvmig__ovn_lsp *lsp, const struct kvmig__ovn_record *record)
{
    return facts->sb.used && m->wish == KVMIG__OVN_ROLLBACK && record && !record->bound_once && !lsp->chassis;
}

/* Only the loser's own ovn-controller can take its name out of additional_chassis. If it is dead, that name stays
 * until it is back, and is no reason to call the winner unproven: northd wants the port on the winner alone, and the
 * winner has it. */
static bool is_held_by_loser(struct kvmig__ovn_machine *m, const struct kvmig__ovn_lsp *lsp)
{
    struct kvmig__detail detail = { 0 };

    if (!lsp->additional.n || m->is_patient)
        return lsp->additional.n > 0;
    kvmig__detail_str(&detail, "port", lsp->name);
    kvmig__detail_list(&detail, "chassis", &lsp->additional);
    kvmig__ovn_note_once(m, "unreleased", kvmig__detail_take(&detail));
    return false;
}

static char *missing_home(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                          const struct kvmig__ovn_lsp *lsp, bool unbound)
{
    const char *winner = kvmig__ovn_chassis_name(facts, m->winner);

    if (!winner)
        return kvmig__asprintf("the southbound database knows no chassis %s: does ovn-controller run there?",
                               m->winner);
    if (!kvmig__str_eq(lsp->requested, winner) || lsp->requested_additional.n)
        return kvmig__asprintf("northd has not followed: it still wants %s on %s%s", lsp->name,
                               or_nobody(lsp->requested), lsp->requested_additional.n ? " and another chassis" : "");
    if (is_held_by_loser(m, lsp))
        return kvmig__asprintf("%s is still claimed by %s as an additional chassis", lsp->name, lsp->additional.v[0]);
    if (lsp->activated.n)
        return kvmig__asprintf("northd has not removed the activation of %s yet", lsp->name);
    if (!unbound && !kvmig__str_eq(lsp->chassis, winner))
        return kvmig__asprintf("%s is not claimed by %s: %s has it", lsp->name, m->winner, or_nobody(lsp->chassis));
    return NULL;
}

/* The winner's Open vSwitch is a second witness: where it is away, the southbound database and the barrier do. */
char *kvmig__ovn_missing_at_winner(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                   const struct kvmig__ovn_lsp *lsp, const struct kvmig__ovn_record *record)
{
    enum kvmig__ovn_slot slot = kvmig__ovn_slot_of(m, facts, m->winner);
    const struct kvmig__ovn_source *ovs = kvmig__ovn_ovs_of(facts, slot);
    bool unbound = may_be_unbound(m, facts, lsp, record);
    bool ask_ovs = ovs && ovs->used && !unbound && (ovs->current || !facts->sb.used);
    char *missing = missing_database(&facts->sb, "the southbound database", NULL);

    if (!missing && ask_ovs)
        missing = missing_database(ovs, "Open vSwitch", m->winner);
    if (!missing && facts->sb.used)
        missing = missing_home(m, facts, lsp, unbound);
    if (!missing && ask_ovs)
        missing = missing_interface(lsp, slot == KVMIG__OVN_SOURCE_SLOT ? &lsp->at_source : &lsp->at_target, m->winner);
    return missing;
}
