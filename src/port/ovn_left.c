/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which ports a settlement is about: those that carry our token, and, for gc, whatever was left over. All others
 * are looked at and left alone: a late clean-up of one migration must not touch the next. Pure.
 */
#include "port/ovn_machine.h"

#include <stdlib.h>
#include <string.h>

bool kvmig__ovn_has_owner(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_lsp *lsp)
{
    return kvmig__str_eq(lsp->owner, m->owner);
}

bool kvmig__ovn_is_leftover(const struct kvmig__ovn_lsp *lsp)
{
    return lsp->owner || lsp->previous || lsp->activation_strategy ||
           (lsp->requested_chassis && strchr(lsp->requested_chassis, ','));
}

/* A port of this name was ours, and is not there any more. */
static bool is_recreated(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                         const struct kvmig__ovn_lsp *lsp)
{
    const struct kvmig__ovn_record *own = kvmig__ovn_record_of(m, lsp);

    if (own && own->ours)
        return false;
    for (size_t i = 0; i < m->records.n; i++) {
        const struct kvmig__ovn_record *record = &m->records.v[i];

        if (record->ours && kvmig__str_eq(record->name, lsp->name) && !kvmig__ovn_lsp_by_uuid(facts, record->uuid))
            return true;
    }
    return false;
}

/* What is there after gc has cleaned up is new: the next migration's; or a strategy that stood there before. */
static enum kvmig__ovn_left gc_left_of(const struct kvmig__ovn_record *record, const struct kvmig__ovn_lsp *lsp)
{
    if (!kvmig__ovn_is_leftover(lsp))
        return KVMIG__OVN_LEFT_DONE;
    if (!record || !record->released)
        return KVMIG__OVN_LEFT_OURS;
    return lsp->owner || strchr(lsp->requested_chassis ? lsp->requested_chassis : "", ',') ? KVMIG__OVN_LEFT_TAKEN
                                                                                           : KVMIG__OVN_LEFT_DONE;
}

/* A migration's clean-up: the wish, or a preparation that failed. */
static bool goes_back(const struct kvmig__ovn_machine *m)
{
    return m->is_undoing || m->wish == KVMIG__OVN_ROLLBACK;
}

enum kvmig__ovn_left kvmig__ovn_left_of(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                        const struct kvmig__ovn_lsp *lsp)
{
    const struct kvmig__ovn_record *record = kvmig__ovn_record_of(m, lsp);

    if (m->wish == KVMIG__OVN_GC)
        return gc_left_of(record, lsp);
    if (kvmig__ovn_has_owner(m, lsp))
        return KVMIG__OVN_LEFT_OURS;
    if (lsp->owner)
        return KVMIG__OVN_LEFT_TAKEN;
    if (m->winner && kvmig__ovn_pin_of(facts, lsp, m->winner, NULL).is_alone)
        return KVMIG__OVN_LEFT_DONE;
    if (is_recreated(m, facts, lsp))
        return KVMIG__OVN_LEFT_RECREATED;
    if (record && record->settled && kvmig__ovn_pin_of(facts, lsp, m->settled_winner, NULL).is_alone)
        return goes_back(m) ? KVMIG__OVN_LEFT_KEPT : KVMIG__OVN_LEFT_TAKEN;
    return goes_back(m) && !(record && record->ours) ? KVMIG__OVN_LEFT_UNTOUCHED : KVMIG__OVN_LEFT_TAKEN;
}

void kvmig__ovn_note_gone(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    struct kvmig__strlist gone = { 0 }, recreated = { 0 };
    struct kvmig__detail detail = { 0 };

    for (size_t i = 0; i < m->records.n; i++) {
        const struct kvmig__ovn_record *record = &m->records.v[i];

        if (record->ours && !kvmig__ovn_lsp_by_uuid(facts, record->uuid))
            kvmig__strlist_add_new(kvmig__ovn_lsp_by_name(facts, record->name) ? &recreated : &gone, record->name);
    }
    if (gone.n) {
        kvmig__detail_list(&detail, "ports", &gone);
        kvmig__ovn_note_once(m, "gone", kvmig__detail_take(&detail));
    }
    if (recreated.n) {
        kvmig__detail_list(&detail, "ports", &recreated);
        kvmig__ovn_note_once(m, "recreated", kvmig__detail_take(&detail));
    }
    kvmig__strlist_clear(&gone);
    kvmig__strlist_clear(&recreated);
}
