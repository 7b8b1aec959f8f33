/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The watch: what changed from step to step at the chassis that has to be proven. A port that reads "installed" may be
 * in the middle of a fight over it and read so 99 % of the time, so a proof is either a barrier that was asked for
 * after everything was right and during which nothing changed, or a time without change that is longer than OVN's claim
 * throttle. A barrier may be answered between two changes of a fight; so where the flag can be seen, it has to have
 * stood for one throttle before. A change that falls between two looks is seen by ovn-installed-ts, which is new after
 * each installation. Pure.
 */
#include "port/ovn_machine.h"

#include <stdlib.h>

/* ---- records ---- */

struct kvmig__ovn_record *kvmig__ovn_record_of(struct kvmig__ovn_machine *m, const struct kvmig__ovn_lsp *lsp)
{
    for (size_t i = 0; i < m->records.n; i++)
        if (kvmig__str_eq(m->records.v[i].uuid, lsp->uuid))
            return &m->records.v[i];
    return NULL;
}

void kvmig__ovn_record_clear(struct kvmig__ovn_record *record)
{
    free(record->uuid);
    free(record->name);
    free(record->uuid_seen);
    free(record->ts_seen);
}

/* Another process of the same owner has prepared it: its preparation is ours. */
static void adopt(struct kvmig__ovn_machine *m, const struct kvmig__ovn_lsp *lsp)
{
    struct kvmig__ovn_previous previous;

    if (m->source || m->target || !kvmig__ovn_previous_read(lsp->previous, &previous))
        return;
    if (previous.source && previous.target) {
        kvmig__str_set(&m->source, previous.source);
        kvmig__str_set(&m->target, previous.target);
        if (!m->watch_source && !m->watch_target) {
            kvmig__str_set(&m->watch_source, m->source);
            kvmig__str_set(&m->watch_target, m->target);
            m->adopted = true;
        }
    }
    kvmig__ovn_previous_clear(&previous);
}

/* A port that is gone and was never ours is of no interest any more. */
static void forget_strangers(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->records.n; i++) {
        struct kvmig__ovn_record *record = &m->records.v[i];

        if (record->ours || record->settled || kvmig__ovn_lsp_by_uuid(facts, record->uuid))
            m->records.v[kept++] = *record;
        else
            kvmig__ovn_record_clear(record);
    }
    m->records.n = kept;
}

static void keep_records(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    if (!kvmig__ovn_is_current(&facts->nb))
        return;
    forget_strangers(m, facts);
    for (size_t i = 0; i < facts->lsps.n; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];
        struct kvmig__ovn_record *record = kvmig__ovn_record_of(m, lsp);

        if (!record) {
            record = KVMIG__PUSH(&m->records);
            record->uuid = kvmig__strdup(lsp->uuid);
            record->name = kvmig__strdup(lsp->name);
        }
        if (kvmig__ovn_is_current(&facts->sb) && lsp->chassis)
            record->bound_once = true;
        if (kvmig__ovn_has_owner(m, lsp)) {
            record->ours = true;
            adopt(m, lsp);
        }
    }
}

/* ---- looking ---- */

enum kvmig__ovn_slot kvmig__ovn_slot_of(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                        const char *chassis)
{
    if (kvmig__ovn_same_chassis(facts, chassis, m->watch_source))
        return KVMIG__OVN_SOURCE_SLOT;
    if (kvmig__ovn_same_chassis(facts, chassis, m->watch_target))
        return KVMIG__OVN_TARGET_SLOT;
    return KVMIG__OVN_NO_SLOT;
}

const struct kvmig__ovn_source *kvmig__ovn_ovs_of(const struct kvmig__ovn_facts *facts, enum kvmig__ovn_slot slot)
{
    if (slot == KVMIG__OVN_NO_SLOT)
        return NULL;
    return slot == KVMIG__OVN_SOURCE_SLOT ? &facts->ovs_source : &facts->ovs_target;
}

int64_t kvmig__ovn_nb_cfg_of(const struct kvmig__ovn_facts *facts, enum kvmig__ovn_slot slot)
{
    if (slot == KVMIG__OVN_NO_SLOT)
        return -1;
    return slot == KVMIG__OVN_SOURCE_SLOT ? facts->source_nb_cfg : facts->target_nb_cfg;
}

static enum kvmig__ovn_slot watched_slot(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    return m->place == KVMIG__OVN_AT_TARGET ? KVMIG__OVN_TARGET_SLOT : kvmig__ovn_slot_of(m, facts, m->winner);
}

bool kvmig__ovn_is_watched(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                           const struct kvmig__ovn_lsp *lsp)
{
    const struct kvmig__ovn_record *record = kvmig__ovn_record_of(m, lsp);

    if (m->place == KVMIG__OVN_AT_TARGET)
        return kvmig__ovn_has_owner(m, lsp);
    return m->place == KVMIG__OVN_AT_WINNER && record && record->settled && !lsp->owner &&
           kvmig__ovn_pin_of(facts, lsp, m->winner, NULL).is_alone;
}

/* NULL: nothing is missing. Owned. */
static char *missing_of(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                        const struct kvmig__ovn_lsp *lsp)
{
    return m->place == KVMIG__OVN_AT_TARGET ? kvmig__ovn_missing_at_target(m, facts, lsp)
                                            : kvmig__ovn_missing_at_winner(m, facts, lsp, kvmig__ovn_record_of(m, lsp));
}

static const struct kvmig__ovn_iface *iface_of(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                               const struct kvmig__ovn_lsp *lsp)
{
    enum kvmig__ovn_slot slot = watched_slot(m, facts);
    const struct kvmig__ovn_source *ovs = kvmig__ovn_ovs_of(facts, slot);

    if (!ovs || !kvmig__ovn_is_current(ovs))
        return NULL;
    return slot == KVMIG__OVN_SOURCE_SLOT ? &lsp->at_source : &lsp->at_target;
}

static void note_flap(struct kvmig__ovn_machine *m, struct kvmig__ovn_record *record, const char *why, int64_t now_ms)
{
    struct kvmig__detail detail = { 0 };

    record->flaps++;
    record->flapped_ms = now_ms;
    kvmig__detail_str(&detail, "port", record->name);
    kvmig__detail_str(&detail, "why", why);
    kvmig__detail_uint(&detail, "flaps", record->flaps);
    kvmig__ovn_note(m, "flap", kvmig__detail_take(&detail));
}

static void note_claimed(struct kvmig__ovn_machine *m, const struct kvmig__ovn_record *record)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "port", record->name);
    kvmig__detail_str(&detail, "chassis", m->place == KVMIG__OVN_AT_TARGET ? m->target : m->winner);
    if (record->ts_seen)
        kvmig__detail_str(&detail, "installed_ts", record->ts_seen);
    kvmig__ovn_note(m, "claimed", kvmig__detail_take(&detail));
}

static void compare(struct kvmig__ovn_machine *m, struct kvmig__ovn_record *record, const char *missing,
                    const struct kvmig__ovn_iface *iface, int64_t now_ms)
{
    bool right = !missing;
    bool another =
        right && iface && record->ts_seen &&
        (!kvmig__str_eq(record->uuid_seen, iface->uuid) || !kvmig__str_eq(record->ts_seen, iface->installed_ts));

    /* Once the guest has announced itself, its old chassis lets go of the port: that is no flap. */
    if (record->right && (!right || another) && !m->activation_told)
        note_flap(m, record, right ? "its flows were installed anew" : missing, now_ms);
    if (record->right != right || another) {
        m->epoch++;
        record->right_since_ms = now_ms;
    }
    record->right = right;
    if (!right)
        return;
    if (iface) {
        kvmig__str_set(&record->uuid_seen, iface->uuid);
        kvmig__str_set(&record->ts_seen, iface->installed_ts);
    }
    if (!record->claimed)
        note_claimed(m, record);
    record->claimed = true;
}

/* A database that is needed is away: what is shown is old. */
static bool is_blind(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    const struct kvmig__ovn_source *ovs = kvmig__ovn_ovs_of(facts, watched_slot(m, facts));
    bool needs_ovs = ovs && ovs->used && (m->place == KVMIG__OVN_AT_TARGET || !facts->sb.used);

    return !kvmig__ovn_is_current(&facts->nb) || (facts->sb.used && !facts->sb.current) || (needs_ovs && !ovs->current);
}

void kvmig__ovn_watch(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts, int64_t now_ms)
{
    m->adopted = false;
    keep_records(m, facts);
    m->is_patient = !kvmig__ovn_is_due(m->patience_ends_ms, now_ms);
    if (m->place == KVMIG__OVN_NOWHERE || is_blind(m, facts)) {
        m->watch_broken = true;
        return;
    }
    for (size_t i = 0; i < facts->lsps.n; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];
        struct kvmig__ovn_record *record = kvmig__ovn_record_of(m, lsp);
        char *missing;

        if (!kvmig__ovn_is_watched(m, facts, lsp))
            continue;
        missing = missing_of(m, facts, lsp);
        compare(m, record, missing, iface_of(m, facts, lsp), now_ms);
        if (m->watch_broken)
            record->right_since_ms = now_ms;
        free(missing);
    }
    m->epoch += m->watch_broken;
    m->watch_broken = false;
}

void kvmig__ovn_watch_begin(struct kvmig__ovn_machine *m, enum kvmig__ovn_place place)
{
    m->place = place;
    m->epoch++;
    m->activation_told = false;
    for (size_t i = 0; i < m->records.n; i++) {
        struct kvmig__ovn_record *record = &m->records.v[i];

        record->claimed = record->right = false;
        record->flaps = 0;
        record->flapped_ms = record->right_since_ms = 0;
        kvmig__str_set(&record->uuid_seen, NULL);
        kvmig__str_set(&record->ts_seen, NULL);
    }
}

uint64_t kvmig__ovn_flaps(const struct kvmig__ovn_machine *m)
{
    uint64_t flaps = 0;

    for (size_t i = 0; i < m->records.n; i++)
        flaps += m->records.v[i].flaps;
    return flaps;
}

/* ---- judging ---- */

static bool can_ask_barrier(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    return !facts->barrier_off && kvmig__ovn_nb_cfg_of(facts, watched_slot(m, facts)) >= 0;
}

/* Everything is right at every port; says what is not. *out_since: for how long; *out_quiet: until when a flap
 * counts. */
static bool all_right(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts, int64_t stable_ms,
                      int64_t *out_since, int64_t *out_quiet)
{
    size_t n = 0;

    *out_since = *out_quiet = INT64_MIN;
    for (size_t i = 0; i < facts->lsps.n; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];
        const struct kvmig__ovn_record *record = kvmig__ovn_record_of(m, lsp);
        char *missing;

        if (!kvmig__ovn_is_watched(m, facts, lsp))
            continue;
        missing = missing_of(m, facts, lsp);
        if (missing || !record->right) {
            kvmig__ovn_waits_for(m, "%s", missing ? missing : "the databases have to be read again");
            free(missing);
            return false;
        }
        if (record->right_since_ms > *out_since)
            *out_since = record->right_since_ms;
        if (record->flaps && record->flapped_ms + stable_ms > *out_quiet)
            *out_quiet = record->flapped_ms + stable_ms;
        n++;
    }
    if (!n)
        kvmig__ovn_waits_for(m, "there is no logical port of this owner");
    return n > 0;
}

/* May time alone be the proof? Says what is missing if not. */
static bool may_prove_by_time(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    const struct kvmig__ovn_source *ovs = kvmig__ovn_ovs_of(facts, watched_slot(m, facts));

    if (ovs && kvmig__ovn_is_current(ovs))
        return true;
    if (m->place == KVMIG__OVN_AT_TARGET) {
        kvmig__ovn_waits_for(m, "how far ovn-controller of %s has got (nb_cfg) cannot be read", m->target);
        return false;
    }
    /* As the main chassis, the winner also says when its flows are there. */
    for (size_t i = 0; i < facts->lsps.n; i++) {
        if (kvmig__ovn_is_watched(m, facts, &facts->lsps.v[i]) && facts->lsps.v[i].chassis && !facts->lsps.v[i].up) {
            kvmig__ovn_waits_for(m, "%s is not up on %s", facts->lsps.v[i].name, m->winner);
            return false;
        }
    }
    return true;
}

/* For how long everything has to have been right. */
static int64_t needed_ms(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts, bool by_barrier)
{
    const int64_t stable_ms = kvmig__ovn_stable_ms(facts->ovn_version);

    if (!by_barrier)
        return stable_ms;
    /* After the guest's own convergence nobody fights any more, and the flag goes and comes once. */
    return m->place == KVMIG__OVN_AT_TARGET && kvmig__ovn_is_current(&facts->ovs_target) ? stable_ms / 2 : 0;
}

static void say_unquiet(struct kvmig__ovn_machine *m, int64_t wanted_ms)
{
    const char *chassis = m->place == KVMIG__OVN_AT_TARGET ? m->target : m->winner;
    const uint64_t flaps = kvmig__ovn_flaps(m);

    if (flaps)
        kvmig__ovn_waits_for(m, "%s has the ports, but flapped %llu times and was not quiet for long enough", chassis,
                             (unsigned long long)flaps);
    else
        kvmig__ovn_waits_for(m, "%s has not had the ports unchanged for %lld ms yet", chassis, (long long)wanted_ms);
}

enum kvmig__ovn_input kvmig__ovn_watch_judge(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                             int64_t now_ms)
{
    int64_t stable_ms = kvmig__ovn_stable_ms(facts->ovn_version), since, quiet, needed;
    bool by_barrier = can_ask_barrier(m, facts);

    if (!all_right(m, facts, stable_ms, &since, &quiet) || (!by_barrier && !may_prove_by_time(m, facts)))
        return KVMIG__OVN_IN_MISSING;
    needed = needed_ms(m, facts, by_barrier);
    if (since + needed > quiet)
        quiet = since + needed;
    if (now_ms < quiet) {
        m->quiet_at_ms = quiet;
        say_unquiet(m, needed);
        return KVMIG__OVN_IN_UNQUIET;
    }
    return by_barrier ? KVMIG__OVN_IN_QUIET : KVMIG__OVN_IN_PROVEN;
}

enum kvmig__ovn_input kvmig__ovn_barrier_judge(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                               int64_t now_ms)
{
    int64_t since, quiet, at = kvmig__ovn_nb_cfg_of(facts, watched_slot(m, facts));

    (void)now_ms;
    if (!all_right(m, facts, 0, &since, &quiet) || !can_ask_barrier(m, facts))
        return KVMIG__OVN_IN_MISSING;
    if (m->epoch != m->barrier_epoch)
        return KVMIG__OVN_IN_UNQUIET;
    if (at >= m->barrier)
        return KVMIG__OVN_IN_PROVEN;
    kvmig__ovn_waits_for(m, "ovn-controller of %s does not answer the barrier: it has got to nb_cfg %lld, not to %lld",
                         m->place == KVMIG__OVN_AT_TARGET ? m->target : m->winner, (long long)at,
                         (long long)m->barrier);
    return KVMIG__OVN_IN_PENDING;
}
