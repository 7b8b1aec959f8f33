/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the OVN port tells people: the lines of its timeline with their evidence, what it waits for, and why a wish
 * failed. Decides nothing. Pure.
 */
#include "port/ovn_machine.h"

#include <errno.h>
#include <stdlib.h>

void kvmig__ovn_note(struct kvmig__ovn_machine *m, const char *what, char *detail)
{
    struct kvmig__ovn_note *note = KVMIG__PUSH(&m->out.notes);

    note->what = kvmig__strdup(what);
    note->detail = detail;
}

void kvmig__ovn_note_once(struct kvmig__ovn_machine *m, const char *what, char *detail)
{
    if (kvmig__strlist_has(&m->told, what)) {
        free(detail);
        return;
    }
    kvmig__strlist_add(&m->told, what);
    kvmig__ovn_note(m, what, detail);
}

void kvmig__ovn_waits_for(struct kvmig__ovn_machine *m, const char *fmt, ...)
{
    va_list args;

    free(m->waits_for);
    va_start(args, fmt);
    m->waits_for = kvmig__vasprintf(fmt, args);
    va_end(args);
}

void kvmig__ovn_refuse(struct kvmig__ovn_machine *m, struct kvmig_error *error)
{
    kvmig__error_free(m->refusal);
    m->refusal = error;
}

char *kvmig__ovn_evidence(const struct kvmig__ovn_lsp *lsp, const char *code)
{
    struct kvmig__detail detail = { 0 };

    if (code)
        kvmig__detail_str(&detail, "code", code);
    kvmig__detail_str(&detail, "port", lsp->name);
    kvmig__detail_str(&detail, "requested-chassis", lsp->requested_chassis);
    kvmig__detail_str(&detail, "activation-strategy", lsp->activation_strategy);
    kvmig__detail_str(&detail, "kvmig-owner", lsp->owner);
    if (lsp->has_binding)
        kvmig__detail_str(&detail, "chassis", lsp->chassis);
    return kvmig__detail_take(&detail);
}

/* ---- evidence of a proof ---- */

/* Of each port that was right: "name@ovn-installed-ts". */
static void add_seen(const struct kvmig__ovn_machine *m, struct kvmig__detail *detail, int64_t now_ms)
{
    struct kvmig__strlist seen = { 0 };
    int64_t since = INT64_MIN;

    for (size_t i = 0; i < m->records.n; i++) {
        const struct kvmig__ovn_record *record = &m->records.v[i];
        char *text;

        if (!record->right)
            continue;
        text = record->ts_seen ? kvmig__asprintf("%s@%s", record->name, record->ts_seen) : kvmig__strdup(record->name);
        kvmig__strlist_add(&seen, text);
        free(text);
        if (record->right_since_ms > since)
            since = record->right_since_ms;
    }
    kvmig__detail_list(detail, "ports", &seen);
    if (since != INT64_MIN && now_ms >= since)
        kvmig__detail_uint(detail, "unchanged_ms", (uint64_t)(now_ms - since));
    kvmig__strlist_clear(&seen);
}

static char *proof(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts, int64_t now_ms)
{
    bool by_barrier = m->state == KVMIG__OVN_ST_BARRIER || m->state == KVMIG__OVN_ST_HOME_BARRIER ||
                      m->state == KVMIG__OVN_ST_ARM_BARRIER;
    bool at_winner = m->place == KVMIG__OVN_AT_WINNER;
    const char *chassis = at_winner ? m->winner : m->target;
    enum kvmig__ovn_slot slot = at_winner ? kvmig__ovn_slot_of(m, facts, m->winner) : KVMIG__OVN_TARGET_SLOT;
    const struct kvmig__ovn_source *ovs = kvmig__ovn_ovs_of(facts, slot);
    bool has_ovs = ovs && kvmig__ovn_is_current(ovs);
    const char *kind = by_barrier ? "barrier" : has_ovs ? "ovn-installed" : facts->sb.used ? "binding" : "commit";
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "chassis", chassis);
    kvmig__detail_str(&detail, "proof", kind);
    if (by_barrier) {
        kvmig__detail_uint(&detail, "nb_cfg", (uint64_t)m->barrier);
        kvmig__detail_uint(&detail, "nb_cfg_reached", (uint64_t)kvmig__ovn_nb_cfg_of(facts, slot));
    }
    kvmig__detail_str(&detail, "southbound", facts->sb.used ? "yes" : "no");
    kvmig__detail_str(&detail, "open_vswitch", has_ovs ? "yes" : "no");
    if (m->state != KVMIG__OVN_ST_ARMING && m->state != KVMIG__OVN_ST_ARM_BARRIER) {
        add_seen(m, &detail, now_ms);
        kvmig__detail_uint(&detail, "stable_ms", (uint64_t)kvmig__ovn_stable_ms(facts->ovn_version));
        kvmig__detail_uint(&detail, "flaps", kvmig__ovn_flaps(m));
    }
    return kvmig__detail_take(&detail);
}

static char *names(const struct kvmig__ovn_machine *m)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "source", m->source);
    kvmig__detail_str(&detail, "target", m->target);
    return kvmig__detail_take(&detail);
}

static char *one(const char *key, const char *value)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, key, value);
    return kvmig__detail_take(&detail);
}

char *kvmig__ovn_note_detail(const struct kvmig__ovn_machine *m, const char *what, const struct kvmig__ovn_facts *facts,
                             int64_t now_ms)
{
    struct kvmig__detail detail = { 0 };

    if (kvmig__str_eq(what, "pinned") || kvmig__str_eq(what, "extended") || kvmig__str_eq(what, "prepared"))
        return names(m);
    if (kvmig__str_eq(what, "activated"))
        return one("chassis", m->target);
    if (kvmig__str_eq(what, "settled") || kvmig__str_eq(what, "nothing-left"))
        return m->winner ? one("winner", m->winner) : NULL;
    if (kvmig__str_eq(what, "barrier")) {
        kvmig__detail_uint(&detail, "nb_cfg", (uint64_t)m->barrier);
        return kvmig__detail_take(&detail);
    }
    if (kvmig__str_eq(what, "stale-activation"))
        return m->waits_for ? one("waits_for", m->waits_for) : NULL;
    if (facts && (kvmig__str_eq(what, "verified") || kvmig__str_eq(what, "armed") || kvmig__str_eq(what, "converged")))
        return proof(m, facts, now_ms);
    return NULL;
}

/* ---- errors ---- */

struct late {
    const char *what, *hint;
};

static struct late late_of(const struct kvmig__ovn_machine *m)
{
    switch (m->state) {
    case KVMIG__OVN_ST_LOOKING:
    case KVMIG__OVN_ST_PINNING:
    case KVMIG__OVN_ST_PINNED:
    case KVMIG__OVN_ST_EXTENDING:
    case KVMIG__OVN_ST_EXTENDED:
        return (struct late){ "the port was not prepared in time", "check OVN's databases, northd, and the source" };
    case KVMIG__OVN_ST_RELEASING:
    case KVMIG__OVN_ST_FENCING:
    case KVMIG__OVN_ST_SETTLING:
        return (struct late){ "it could not be written in time where the port belongs",
                              "check the northbound database, and ask again" };
    case KVMIG__OVN_ST_HOMING:
    case KVMIG__OVN_ST_HOME_BUMPING:
    case KVMIG__OVN_ST_HOME_BARRIER:
        return (struct late){ "written, but not proven: OVN did not follow in time",
                              "check northd, and ovn-controller on the winner; ask again to prove it" };
    default:
        return (struct late){ "the target was not proven ready in time",
                              "check that the interface is plugged there, and ovn-controller of the target" };
    }
}

struct kvmig_error *kvmig__ovn_late_error(const struct kvmig__ovn_machine *m)
{
    struct late late = late_of(m);
    const char *waits = m->waits_for ? m->waits_for : m->write_out ? "the answer to a write did not come" : NULL;

    if (m->order_error)
        return kvmig__error_new(-ETIMEDOUT, m->name, kvmig_error_message(m->order_error), late.hint,
                                "%s: %s (last: %s)", late.what, waits ? waits : "an order was not carried out",
                                kvmig_error_message(m->order_error));
    return kvmig__error_new(-ETIMEDOUT, m->name, waits, late.hint, "%s: %s", late.what,
                            waits ? waits : "nothing is known of what is missing");
}

struct kvmig_error *kvmig__ovn_undo_error(const struct kvmig__ovn_machine *m, const struct kvmig_error *second)
{
    if (!second)
        return kvmig__error_copy(m->first_error);
    return kvmig__error_new(m->first_error->code, m->first_error->where, m->first_error->evidence,
                            "roll the port back again, or let gc clean it up",
                            "%s; and what was written could not be put back: %s", m->first_error->message,
                            kvmig_error_message(second));
}
