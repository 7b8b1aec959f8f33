/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Settling: who the winner is, what is left to be written for it, the write, and the proof that OVN has followed.
 * Serves convergence, roll-back, putting back a preparation that failed, and gc. Pure.
 */
#include "port/ovn_machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- who the winner is ---- */

static bool goes_back(const struct kvmig__ovn_machine *m)
{
    return m->is_undoing || m->wish == KVMIG__OVN_ROLLBACK;
}

/* The source as the ports themselves say it. Owned; NULL = they do not. */
static char *noted_source(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    char *source = NULL;

    for (size_t i = 0; i < facts->lsps.n && !source; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];
        struct kvmig__ovn_previous previous;

        if (!kvmig__ovn_has_owner(m, lsp))
            continue;
        kvmig__ovn_previous_read(lsp->previous, &previous);
        source = kvmig__strdup(previous.source);
        kvmig__ovn_previous_clear(&previous);
    }
    return source;
}

/* The main chassis of what we own, where its note is damaged and the source is not known otherwise. */
static char *main_chassis(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    for (size_t i = 0; i < facts->lsps.n; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];

        if (kvmig__ovn_has_owner(m, lsp) && lsp->requested_chassis && *lsp->requested_chassis != ',')
            return kvmig__strndup(lsp->requested_chassis, strcspn(lsp->requested_chassis, ","));
    }
    return NULL;
}

/* What the ports say goes before what the last wish said, which may have been refused. */
static void find_source(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    char *source = noted_source(m, facts);

    if (!source && !m->winner)
        source = kvmig__strdup(m->source);
    if (!source && !m->winner)
        source = main_chassis(m, facts);
    if (source && !kvmig__ovn_same_chassis(facts, source, m->winner))
        kvmig__str_set(&m->winner, source);
    free(source);
    if (m->winner && !m->watch_source && !m->watch_target)
        kvmig__str_set(&m->watch_source, m->winner);
}

/* *known: something says which chassis take part. */
static bool takes_part(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts, bool *known)
{
    bool part =
        kvmig__ovn_same_chassis(facts, m->winner, m->source) || kvmig__ovn_same_chassis(facts, m->winner, m->target);

    *known = m->source || m->target;
    for (size_t i = 0; i < facts->lsps.n && !part; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];
        struct kvmig__ovn_previous previous;
        struct kvmig__ovn_pin pin = kvmig__ovn_pin_of(facts, lsp, m->winner, m->winner);

        if (!kvmig__ovn_has_owner(m, lsp))
            continue;
        kvmig__ovn_previous_read(lsp->previous, &previous);
        part = pin.main || pin.additional || kvmig__ovn_same_chassis(facts, m->winner, previous.source) ||
               kvmig__ovn_same_chassis(facts, m->winner, previous.target);
        kvmig__ovn_previous_clear(&previous);
        *known = true;
    }
    return part;
}

static enum kvmig__ovn_input judge_winner(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    bool known = false, sb_away = facts->sb.used && !facts->sb.current;
    struct kvmig_error *error;

    if (goes_back(m)) {
        find_source(m, facts);
        return KVMIG__OVN_IN_NO_NEWS;
    }
    error = m->wish == KVMIG__OVN_GC && !sb_away ? kvmig__ovn_check_known(m, facts, m->winner)
                                                 : kvmig__ovn_check_spelling(m, m->winner, "winner");
    if (error) {
        kvmig__ovn_refuse(m, error);
        return KVMIG__OVN_IN_BAD_NAMES;
    }
    if (m->wish == KVMIG__OVN_GC || takes_part(m, facts, &known) || !known)
        return KVMIG__OVN_IN_NO_NEWS;
    if (sb_away) { /* it may be another name of one that takes part */
        kvmig__ovn_waits_for(m, "the southbound database, which knows the names of %s, is not connected: %s", m->winner,
                             facts->sb.trouble ? facts->sb.trouble : "no connection yet");
        return KVMIG__OVN_IN_NOT_CURRENT;
    }
    kvmig__ovn_refuse(m, kvmig__error_new(-EINVAL, m->name, NULL, "give the source or the target of the preparation",
                                          "%s takes no part in this migration: it is between %s and %s", m->winner,
                                          m->source ? m->source : "?", m->target ? m->target : "?"));
    return KVMIG__OVN_IN_BAD_NAMES;
}

/* ---- gc: is it old enough? ---- */

static bool is_too_young(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                         const struct kvmig__ovn_lsp *lsp)
{
    struct kvmig__ovn_previous previous;
    bool known = kvmig__ovn_previous_read(lsp->previous, &previous) && previous.since_ms > 0;
    int64_t age = facts->wall_ms - previous.since_ms;
    char *evidence;

    kvmig__ovn_previous_clear(&previous);
    if (m->min_age_ms <= 0 || (known && age >= m->min_age_ms))
        return false;
    evidence = kvmig__ovn_evidence(lsp, lsp->owner ? NULL : "STALE_LSP_OPTIONS");
    if (known)
        kvmig__ovn_refuse(m, kvmig__error_new(-KVMIG_EREFUSED, lsp->name, evidence,
                                              "wait, or ask for a smaller age if its owner is known to be gone",
                                              "what the migration %s left on %s is %lld ms old, not %lld", lsp->owner,
                                              lsp->name, (long long)age, (long long)m->min_age_ms));
    else
        kvmig__ovn_refuse(m, kvmig__error_new(-KVMIG_EREFUSED, lsp->name, evidence,
                                              "ask for age 0 if it is known that nobody uses it",
                                              "how old the options of %s are is not known", lsp->name));
    free(evidence);
    return true;
}

/* ---- what is left ---- */

struct left {
    size_t n, ours, kept, taken;
    size_t unowned; /* of those taken: only another pin says so, whose name has to be understood */
};

static struct left count(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    struct kvmig__strlist taken = { 0 };
    struct kvmig__detail detail = { 0 };
    struct left left = { .n = facts->lsps.n };

    for (size_t i = 0; i < facts->lsps.n; i++) {
        enum kvmig__ovn_left kind = kvmig__ovn_left_of(m, facts, &facts->lsps.v[i]);

        left.ours += kind == KVMIG__OVN_LEFT_OURS;
        left.kept += kind == KVMIG__OVN_LEFT_KEPT;
        left.taken += kind == KVMIG__OVN_LEFT_TAKEN;
        left.unowned += kind == KVMIG__OVN_LEFT_TAKEN && !facts->lsps.v[i].owner;
        if (kind == KVMIG__OVN_LEFT_TAKEN)
            kvmig__strlist_add(&taken, facts->lsps.v[i].name);
    }
    if (taken.n && taken.n < left.n) {
        kvmig__detail_list(&detail, "ports", &taken);
        kvmig__ovn_note_once(m, "superseded", kvmig__detail_take(&detail));
    }
    kvmig__strlist_clear(&taken);
    kvmig__ovn_note_gone(m, facts);
    return left;
}

/* The target's guest has not announced itself on this port; says so. */
static bool lacks_activation(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                             const struct kvmig__ovn_lsp *lsp)
{
    const char *winner = kvmig__ovn_chassis_name(facts, m->winner);

    if (!kvmig__ovn_has_owner(m, lsp) || !lsp->activation_strategy || !winner ||
        !kvmig__ovn_pin_of(facts, lsp, NULL, m->winner).additional || kvmig__strlist_has(&lsp->activated, winner))
        return false;
    kvmig__ovn_waits_for(m, "the guest's announcement on %s of %s", m->winner, lsp->name);
    return true;
}

static bool is_awaiting(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts, int64_t now_ms)
{
    struct kvmig__detail detail = { 0 };
    bool lacks = false, blind = facts->sb.used && !facts->sb.current;

    if (m->wish != KVMIG__OVN_CONVERGE || m->is_undoing || !facts->sb.used)
        return false;
    for (size_t i = 0; i < facts->lsps.n && !lacks; i++)
        lacks = lacks_activation(m, facts, &facts->lsps.v[i]);
    if (!lacks)
        return false;
    if (!blind && !kvmig__ovn_is_due(m->activation_ends_ms, now_ms))
        return true;
    kvmig__detail_str(&detail, "why", blind ? "the southbound database is away" : "no announcement came in time");
    kvmig__ovn_note_once(m, "converge-anyway", kvmig__detail_take(&detail));
    return false;
}

static enum kvmig__ovn_input judge_nothing_ours(struct kvmig__ovn_machine *m, const struct left *left)
{
    if (m->lost)
        return m->bump_out ? KVMIG__OVN_IN_BUSY : KVMIG__OVN_IN_UNFENCED;
    if (m->is_undoing)
        return KVMIG__OVN_IN_PUT_BACK;
    if (left->kept) { /* a late roll-back: it stays what it was */
        m->wish = m->settled_wish;
        kvmig__str_set(&m->winner, m->settled_winner);
    }
    if (m->unproven)
        return KVMIG__OVN_IN_UNPROVEN;
    return left->n && left->taken == left->n ? KVMIG__OVN_IN_TAKEN : KVMIG__OVN_IN_NOTHING;
}

static bool is_away(struct kvmig__ovn_machine *m, const struct kvmig__ovn_source *source, const char *what)
{
    if (!source->used || source->current)
        return false;
    kvmig__ovn_waits_for(m, "the %s database is not connected: %s", what,
                         source->trouble ? source->trouble : "no connection yet");
    return true;
}

static enum kvmig__ovn_input judge_gc(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    struct kvmig__detail detail = { 0 };

    if (is_away(m, &facts->sb, "southbound"))
        return KVMIG__OVN_IN_NOT_CURRENT;
    if (!facts->lsps.n) {
        kvmig__ovn_refuse(m, kvmig__error_new(-ENOENT, m->name, NULL, "check the name of the logical port",
                                              "the northbound database has no logical port %s", m->name));
        return KVMIG__OVN_IN_NO_PORT;
    }
    for (size_t i = 0; i < facts->lsps.n; i++)
        if (kvmig__ovn_left_of(m, facts, &facts->lsps.v[i]) == KVMIG__OVN_LEFT_OURS &&
            is_too_young(m, facts, &facts->lsps.v[i]))
            return KVMIG__OVN_IN_TOO_YOUNG;
    if (!facts->sb.used) {
        kvmig__detail_str(&detail, "winner", m->winner);
        kvmig__ovn_note_once(m, "unchecked-chassis", kvmig__detail_take(&detail));
    }
    return KVMIG__OVN_IN_NO_NEWS;
}

enum kvmig__ovn_input kvmig__ovn_judge_release(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                               int64_t now_ms)
{
    enum kvmig__ovn_input input;
    struct left left;

    if (m->write_out || !kvmig__ovn_is_due(m->retry_ms, now_ms))
        return KVMIG__OVN_IN_BUSY;
    if (m->is_undoing && !m->wrote)
        return KVMIG__OVN_IN_PUT_BACK;
    if (is_away(m, &facts->nb, "northbound"))
        return KVMIG__OVN_IN_NOT_CURRENT;
    input = judge_winner(m, facts);
    if (input == KVMIG__OVN_IN_NO_NEWS && m->wish == KVMIG__OVN_GC)
        input = judge_gc(m, facts);
    if (input != KVMIG__OVN_IN_NO_NEWS)
        return input;
    left = count(m, facts);
    if (left.unowned && is_away(m, &facts->sb, "southbound"))
        return KVMIG__OVN_IN_NOT_CURRENT;
    if (!left.ours)
        return judge_nothing_ours(m, &left);
    if (!m->winner) {
        kvmig__ovn_refuse(m, kvmig__error_new(-KVMIG_EUNKNOWN, m->name, NULL,
                                              "converge to where the guest runs, or use gc",
                                              "nothing says which chassis was the source"));
        return KVMIG__OVN_IN_BAD_NAMES;
    }
    if (!m->activation_told && kvmig__ovn_is_current(&facts->sb) && kvmig__ovn_all_activated(m, facts)) {
        m->activation_told = true;
        kvmig__ovn_note(m, "activated", kvmig__ovn_note_detail(m, "activated", facts, now_ms));
    }
    return is_awaiting(m, facts, now_ms) ? KVMIG__OVN_IN_AWAITING : KVMIG__OVN_IN_OURS;
}

/* ---- the proof ---- */

enum kvmig__ovn_input kvmig__ovn_judge_home(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                            int64_t now_ms)
{
    const struct kvmig__ovn_source *ovs = kvmig__ovn_ovs_of(facts, kvmig__ovn_slot_of(m, facts, m->winner));
    enum kvmig__ovn_input input;
    size_t watched = 0;
    struct left left;

    if (m->write_out || !kvmig__ovn_is_due(m->retry_ms, now_ms))
        return KVMIG__OVN_IN_BUSY;
    if (is_away(m, &facts->nb, "northbound"))
        return KVMIG__OVN_IN_NOT_CURRENT;
    left = count(m, facts);
    if (left.ours)
        return KVMIG__OVN_IN_OURS;
    for (size_t i = 0; i < facts->lsps.n; i++)
        watched += kvmig__ovn_is_watched(m, facts, &facts->lsps.v[i]);
    if (!watched)
        return left.n && left.taken == left.n ? KVMIG__OVN_IN_TAKEN : KVMIG__OVN_IN_NOTHING;
    if (!facts->sb.used && !(ovs && ovs->used))
        return KVMIG__OVN_IN_PROVEN;
    if (m->state == KVMIG__OVN_ST_HOME_BARRIER)
        return kvmig__ovn_barrier_judge(m, facts, now_ms);
    input = kvmig__ovn_watch_judge(m, facts, now_ms);
    return input == KVMIG__OVN_IN_QUIET && m->bump_out ? KVMIG__OVN_IN_BUSY : input;
}

/* ---- the write ---- */

/* The winner as it was written before, else as the caller named it. Owned. */
static char *winner_form(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                         const struct kvmig__ovn_lsp *lsp, const struct kvmig__ovn_previous *previous)
{
    const char *known[] = { previous->requested_chassis, previous->source, previous->target };
    struct kvmig__strlist list = { 0 };
    char *form = NULL;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(known) && !form; i++)
        if (kvmig__ovn_same_chassis(facts, known[i], m->winner))
            form = kvmig__strdup(known[i]);
    kvmig__ovn_list_split(lsp->requested_chassis, &list);
    for (size_t i = 0; i < list.n && !form; i++)
        if (kvmig__ovn_same_chassis(facts, list.v[i], m->winner))
            form = kvmig__strdup(list.v[i]);
    kvmig__strlist_clear(&list);
    return form ? form : kvmig__strdup(m->winner);
}

/* It says what the preparation wrote: then owner and value are guard enough, and other keys may change meanwhile. */
static bool is_as_prepared(const struct kvmig__ovn_lsp *lsp, const struct kvmig__ovn_previous *previous)
{
    char *pair;
    bool as_prepared;

    if (!lsp->owner || !lsp->requested_chassis || !previous->source || !previous->target)
        return false;
    pair = kvmig__asprintf("%s,%s", previous->source, previous->target);
    as_prepared =
        kvmig__str_eq(lsp->requested_chassis, pair) || kvmig__str_eq(lsp->requested_chassis, previous->source);
    free(pair);
    return as_prepared;
}

static void add_edit(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                     const struct kvmig__ovn_lsp *lsp)
{
    struct kvmig__ovn_edit *edit = KVMIG__PUSH(&m->out.edits);
    struct kvmig__ovn_previous previous;

    kvmig__ovn_previous_read(lsp->previous, &previous);
    edit->uuid = lsp->uuid;
    edit->requested_chassis = winner_form(m, facts, lsp, &previous);
    edit->activation_strategy = kvmig__strdup(previous.activation_strategy);
    if (is_as_prepared(lsp, &previous)) {
        edit->if_owner = lsp->owner;
        edit->if_requested = lsp->requested_chassis;
        edit->if_previous = lsp->previous;
    } else {
        edit->exact = true;
        kvmig__ovn_note_once(m, "changed-by-other", kvmig__ovn_evidence(lsp, NULL));
    }
    kvmig__ovn_previous_clear(&previous);
}

void kvmig__ovn_order_settle(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    for (size_t i = 0; i < facts->lsps.n; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];

        if (kvmig__ovn_left_of(m, facts, lsp) != KVMIG__OVN_LEFT_OURS)
            continue;
        add_edit(m, facts, lsp);
        kvmig__ovn_record_of(m, lsp)->settled = true;
    }
    m->out.write = goes_back(m) ? "rollback" : m->wish == KVMIG__OVN_GC ? "gc" : "converge";
    m->write_out = true;
    m->write_prepares = false;
    m->ordered_wish = goes_back(m) ? KVMIG__OVN_ROLLBACK : m->wish;
    kvmig__str_set(&m->ordered_winner, m->winner);
    kvmig__ovn_watch_begin(m, KVMIG__OVN_AT_WINNER);
}
