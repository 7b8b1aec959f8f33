/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preparing: what stands in each port, whose it is, and which write is due; and these writes. A port is pinned to
 * the source before it is extended, and extended only when nothing of an older extension is left in SB: else the
 * target would forward without its guest. Pure.
 */
#include "port/ovn_machine.h"

#include <errno.h>
#include <stdlib.h>

/* ---- one port ---- */

static enum kvmig__ovn_input refuse(struct kvmig__ovn_machine *m, enum kvmig__ovn_input input, int32_t code,
                                    const struct kvmig__ovn_lsp *lsp, const char *finding, const char *hint,
                                    char *message)
{
    char *evidence = kvmig__ovn_evidence(lsp, finding);

    kvmig__ovn_refuse(m, kvmig__error_new(code, lsp->name, evidence, hint, "%s", message));
    free(evidence);
    free(message);
    return input;
}

static char *age_of(const struct kvmig__ovn_previous *previous, const struct kvmig__ovn_facts *facts)
{
    if (!previous->since_ms || facts->wall_ms < previous->since_ms)
        return kvmig__strdup("of unknown age");
    return kvmig__asprintf("for %lld s", (long long)((facts->wall_ms - previous->since_ms) / 1000));
}

static enum kvmig__ovn_input judge_foreign(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                           const struct kvmig__ovn_lsp *lsp)
{
    struct kvmig__ovn_previous previous;
    bool readable = kvmig__ovn_previous_read(lsp->previous, &previous);
    char *age = age_of(&previous, facts);
    char *message = readable && previous.source && previous.target
                        ? kvmig__asprintf("%s belongs to the migration %s (%s to %s, %s)", lsp->name, lsp->owner,
                                          previous.source, previous.target, age)
                        : kvmig__asprintf("%s belongs to the migration %s (%s)", lsp->name, lsp->owner, age);

    free(age);
    kvmig__ovn_previous_clear(&previous);
    return refuse(m, KVMIG__OVN_IN_FOREIGN, -KVMIG_EREFUSED, lsp, NULL,
                  "wait until it has ended; if its owner is gone, let gc leave the port to where the guest runs",
                  message);
}

/* Neither ours nor pinned to the source alone. */
static enum kvmig__ovn_input judge_leftover(struct kvmig__ovn_machine *m, const struct kvmig__ovn_lsp *lsp, size_t n)
{
    if (n > 1)
        return refuse(
            m, KVMIG__OVN_IN_LEFTOVER, -KVMIG_EREFUSED, lsp, "STALE_LSP_OPTIONS",
            "find out which system wrote it; if none uses it any more, let gc leave the port to where the guest runs",
            kvmig__asprintf("%s is extended to %s, and nobody says that it is theirs", lsp->name,
                            lsp->requested_chassis));
    return refuse(
        m, KVMIG__OVN_IN_LEFTOVER, -KVMIG_EREFUSED, lsp, "LSP_WRONG_CHASSIS",
        "name the chassis where the guest runs as the source, or have the port pinned there first",
        kvmig__asprintf("%s is pinned to %s, not to the source %s", lsp->name, lsp->requested_chassis, m->source));
}

/* It carries our token, but the main chassis is another than the source. */
static enum kvmig__ovn_input judge_other_source(struct kvmig__ovn_machine *m, const struct kvmig__ovn_lsp *lsp)
{
    return refuse(m, KVMIG__OVN_IN_LEFTOVER, -KVMIG_EREFUSED, lsp, "LSP_WRONG_CHASSIS",
                  "converge or roll back what was prepared before",
                  kvmig__asprintf("%s is prepared by this owner with another source: %s instead of %s", lsp->name,
                                  lsp->requested_chassis, m->source));
}

/* Pinned to the source alone: has OVN followed, and is nothing left of an older extension? */
static enum kvmig__ovn_input judge_pinned(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                          const struct kvmig__ovn_lsp *lsp)
{
    const char *source = kvmig__ovn_chassis_name(facts, m->source);

    if (!facts->sb.used)
        return KVMIG__OVN_IN_READY;
    if (lsp->activated.n) {
        kvmig__ovn_waits_for(m, "northd has not removed an older activation of %s by %s", lsp->name,
                             lsp->activated.v[0]);
        return KVMIG__OVN_IN_STALE;
    }
    if (!kvmig__str_eq(lsp->requested, source)) {
        kvmig__ovn_waits_for(m, "northd has not followed: it wants %s on %s", lsp->name,
                             lsp->requested ? lsp->requested : "no chassis yet");
        return KVMIG__OVN_IN_NOT_FOLLOWED;
    }
    if (lsp->requested_additional.n || lsp->additional.n) {
        kvmig__ovn_waits_for(m, "%s still has %s as an additional chassis", lsp->name,
                             lsp->additional.n ? lsp->additional.v[0] : lsp->requested_additional.v[0]);
        return KVMIG__OVN_IN_NOT_FOLLOWED;
    }
    if (!kvmig__str_eq(lsp->chassis, source)) {
        kvmig__ovn_waits_for(m, "%s is bound to %s, not to the source", lsp->name, lsp->chassis);
        return KVMIG__OVN_IN_NOT_FOLLOWED;
    }
    return KVMIG__OVN_IN_READY;
}

static enum kvmig__ovn_input judge_pair(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                        const struct kvmig__ovn_lsp *lsp)
{
    const char *source = kvmig__ovn_chassis_name(facts, m->source);
    const char *target = kvmig__ovn_chassis_name(facts, m->target);

    if (!facts->sb.used)
        return KVMIG__OVN_IN_PAIR;
    if (kvmig__strlist_has(&lsp->activated, target) && !kvmig__strlist_has(&lsp->additional, target))
        return refuse(m, KVMIG__OVN_IN_PAIR_STALE, -KVMIG_EREFUSED, lsp, NULL,
                      "roll the port back, and prepare it again",
                      kvmig__asprintf("%s is activated on %s, which has not claimed it: left over from before",
                                      lsp->name, m->target));
    if (!kvmig__str_eq(lsp->requested, source) || !kvmig__strlist_has(&lsp->requested_additional, target)) {
        kvmig__ovn_waits_for(m, "northd has not followed: it wants %s on %s%s", lsp->name,
                             lsp->requested ? lsp->requested : "no chassis",
                             lsp->requested_additional.n ? " and another than the target" : " alone");
        return KVMIG__OVN_IN_PAIR_NOT_FOLLOWED;
    }
    return KVMIG__OVN_IN_PAIR;
}

static bool is_bound_to(const struct kvmig__ovn_facts *facts, const struct kvmig__ovn_lsp *lsp, const char *chassis)
{
    return kvmig__str_eq(lsp->chassis, kvmig__ovn_chassis_name(facts, chassis));
}

static enum kvmig__ovn_input judge_lsp(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                       const struct kvmig__ovn_lsp *lsp, const char *strategy)
{
    struct kvmig__ovn_pin pin = kvmig__ovn_pin_of(facts, lsp, m->source, m->target);
    bool ours = kvmig__ovn_has_owner(m, lsp);

    if (lsp->owner && !ours)
        return judge_foreign(m, facts, lsp);
    if (pin.n && !pin.main && ours)
        return judge_other_source(m, lsp);
    if (pin.n && !pin.is_alone && !ours)
        return judge_leftover(m, lsp, pin.n);
    if (pin.n > 1)
        return pin.is_pair && kvmig__str_eq(lsp->activation_strategy, strategy) ? judge_pair(m, facts, lsp)
                                                                                : KVMIG__OVN_IN_OTHER_PAIR;
    if (facts->sb.used && !ours && lsp->chassis && !is_bound_to(facts, lsp, m->source))
        return refuse(m, KVMIG__OVN_IN_ELSEWHERE, -KVMIG_EREFUSED, lsp, "LSP_WRONG_CHASSIS",
                      "name the chassis where the guest runs as the source",
                      kvmig__asprintf("%s is bound to %s, not to the source %s", lsp->name, lsp->chassis, m->source));
    if (facts->sb.used && !lsp->chassis) {
        kvmig__ovn_waits_for(m, "%s is not claimed by the source %s: is its guest plugged there?", lsp->name,
                             m->source);
        return KVMIG__OVN_IN_UNBOUND;
    }
    return pin.n ? judge_pinned(m, facts, lsp) : KVMIG__OVN_IN_UNPINNED;
}

/* ---- all of them ---- */

/* One is enough for the whole: the first of these that any port is. A refusal goes before a wait, so that nothing is
 * written in vain. */
static const enum kvmig__ovn_input order_of_weight[] = {
    KVMIG__OVN_IN_FOREIGN,    KVMIG__OVN_IN_LEFTOVER,          KVMIG__OVN_IN_ELSEWHERE,
    KVMIG__OVN_IN_UNBOUND,    KVMIG__OVN_IN_UNPINNED,          KVMIG__OVN_IN_OTHER_PAIR,
    KVMIG__OVN_IN_STALE,      KVMIG__OVN_IN_NOT_FOLLOWED,      KVMIG__OVN_IN_READY,
    KVMIG__OVN_IN_PAIR_STALE, KVMIG__OVN_IN_PAIR_NOT_FOLLOWED, KVMIG__OVN_IN_PAIR,
};

static size_t weight_of(enum kvmig__ovn_input input)
{
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(order_of_weight); i++)
        if (order_of_weight[i] == input)
            return i;
    return KVMIG__N_ELEMENTS(order_of_weight);
}

/* Judging a port also says what it waits for or why it is refused; that of the port that decides is made last, so that
 * it stays. */
static enum kvmig__ovn_input judge_lsps(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                        const char *strategy)
{
    const struct kvmig__ovn_lsp *heaviest = NULL;
    size_t weight = SIZE_MAX;

    for (size_t i = 0; i < facts->lsps.n; i++) {
        size_t w = weight_of(judge_lsp(m, facts, &facts->lsps.v[i], strategy));

        if (w < weight) {
            weight = w;
            heaviest = &facts->lsps.v[i];
        }
    }
    return judge_lsp(m, facts, heaviest, strategy);
}

/* It would forward on the target at once, whatever strategy is written. */
static struct kvmig_error *cannot_be_silent(const struct kvmig__ovn_facts *facts, const struct kvmig__ovn_lsp *lsp)
{
    return kvmig__error_new(-ENOTSUP, lsp->name, facts->ovn_version,
                            "give the port its address (ovn-nbctl lsp-set-addresses, with the MAC), or choose the "
                            "strategy \"none\", knowing that the target forwards at once then",
                            "%s has no address, and OVN %s keeps a port silent on the target by its addresses only",
                            lsp->name, facts->ovn_version);
}

static struct kvmig_error *wanted_strategy(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                           const char **out_strategy)
{
    struct kvmig_error *error =
        kvmig__ovn_strategy(m->strategy, facts->ovn_version, !facts->sb.used || facts->has_additional, out_strategy);

    if (error || !*out_strategy || !kvmig__ovn_blocks_addresses(facts->ovn_version))
        return error;
    for (size_t i = 0; i < facts->lsps.n; i++)
        if (!facts->lsps.v[i].has_address)
            return cannot_be_silent(facts, &facts->lsps.v[i]);
    return NULL;
}

static bool is_away(struct kvmig__ovn_machine *m, const struct kvmig__ovn_source *source, const char *what)
{
    if (source->current)
        return false;
    kvmig__ovn_waits_for(m, "the %s database is not connected: %s", what,
                         source->trouble ? source->trouble : "no connection yet");
    return true;
}

static enum kvmig__ovn_input refuse_with(struct kvmig__ovn_machine *m, enum kvmig__ovn_input input,
                                         struct kvmig_error *error)
{
    kvmig__ovn_refuse(m, error);
    return input;
}

static void note_unchecked(struct kvmig__ovn_machine *m)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "source", m->source);
    kvmig__detail_str(&detail, "target", m->target);
    kvmig__detail_str(&detail, "why", "no southbound database was given");
    kvmig__ovn_note_once(m, "unchecked-chassis", kvmig__detail_take(&detail));
}

enum kvmig__ovn_input kvmig__ovn_judge_prepare(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                               int64_t now_ms)
{
    struct kvmig_error *error = kvmig__ovn_check_pair(m, facts);
    const char *strategy;

    if (error)
        return refuse_with(m, KVMIG__OVN_IN_BAD_NAMES, error);
    if (m->write_out || !kvmig__ovn_is_due(m->retry_ms, now_ms))
        return KVMIG__OVN_IN_BUSY;
    if (is_away(m, &facts->nb, "northbound"))
        return KVMIG__OVN_IN_NOT_CURRENT;
    if (!facts->lsps.n)
        return refuse_with(
            m, KVMIG__OVN_IN_NO_PORT,
            kvmig__error_new(-ENOENT, m->name, NULL,
                             "check the name of the logical port, or the key and value that it should carry",
                             "the northbound database has no logical port %s", m->name));
    if (facts->sb.used && is_away(m, &facts->sb, "southbound"))
        return KVMIG__OVN_IN_NOT_CURRENT;
    error = kvmig__ovn_check_known(m, facts, m->source);
    if (!error)
        error = kvmig__ovn_check_known(m, facts, m->target);
    if (error)
        return refuse_with(m, KVMIG__OVN_IN_BAD_NAMES, error);
    error = wanted_strategy(m, facts, &strategy);
    if (error)
        return refuse_with(m, KVMIG__OVN_IN_UNSUPPORTED, error);
    if (!facts->sb.used)
        note_unchecked(m);
    return judge_lsps(m, facts, strategy);
}

/* ---- the writes ---- */

/* What stood there before us: as we noted it, or as it is now. */
static struct kvmig__ovn_previous previous_of(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_lsp *lsp)
{
    struct kvmig__ovn_previous previous;

    if (kvmig__ovn_has_owner(m, lsp)) {
        kvmig__ovn_previous_read(lsp->previous, &previous);
        return previous;
    }
    return (struct kvmig__ovn_previous){ .requested_chassis = kvmig__strdup(lsp->requested_chassis),
                                         .activation_strategy = kvmig__strdup(lsp->activation_strategy) };
}

static struct kvmig__ovn_edit *add_edit(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                        const struct kvmig__ovn_lsp *lsp, bool extend, const char *strategy)
{
    struct kvmig__ovn_edit *edit = KVMIG__PUSH(&m->out.edits);
    struct kvmig__ovn_previous previous = previous_of(m, lsp);
    char *source = kvmig__ovn_source_form(m, facts, lsp), *target = kvmig__ovn_target_form(m, facts, source);

    kvmig__str_set(&previous.source, source);
    kvmig__str_set(&previous.target, target);
    kvmig__str_set(&previous.activation, !extend ? NULL : strategy ? strategy : "none");
    previous.since_ms = facts->wall_ms;
    edit->uuid = lsp->uuid;
    edit->exact = true;
    edit->requested_chassis = extend ? kvmig__asprintf("%s,%s", source, target) : kvmig__strdup(source);
    edit->activation_strategy = kvmig__strdup(extend ? strategy : previous.activation_strategy);
    edit->owner = kvmig__strdup(m->owner);
    edit->previous = kvmig__ovn_previous_write(&previous);
    kvmig__ovn_previous_clear(&previous);
    free(source);
    free(target);
    return edit;
}

static void order(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts, bool extend)
{
    const char *strategy = NULL;
    struct kvmig_error *error = wanted_strategy(m, facts, &strategy);

    kvmig__error_free(error); /* it was asked when the ports were judged */
    for (size_t i = 0; i < facts->lsps.n; i++) {
        const struct kvmig__ovn_lsp *lsp = &facts->lsps.v[i];
        enum kvmig__ovn_input input = judge_lsp(m, facts, lsp, strategy);
        bool due = extend ? input == KVMIG__OVN_IN_READY
                          : input == KVMIG__OVN_IN_UNPINNED || input == KVMIG__OVN_IN_OTHER_PAIR;

        if (due)
            add_edit(m, facts, lsp, extend, strategy);
    }
    m->out.write = extend ? "prepare" : "pin";
    m->write_out = m->write_prepares = true;
}

void kvmig__ovn_order_pin(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    order(m, facts, false);
}

void kvmig__ovn_order_extend(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts)
{
    order(m, facts, true);
    kvmig__ovn_watch_begin(m, KVMIG__OVN_AT_TARGET);
}
