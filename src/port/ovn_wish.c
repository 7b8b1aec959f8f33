/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the OVN port's machine remembers from one wish to the next: who takes part, how long it may last, what was
 * written and what of it is not proven or not certain. Pure.
 */
#include "port/ovn_machine.h"

#include <stdlib.h>

/* A live ovn-controller lets go of a port within milliseconds, a very busy one within seconds. */
#define PATIENCE_MS 5000

static bool is_preparing(enum kvmig__ovn_state state)
{
    return state == KVMIG__OVN_ST_LOOKING || state == KVMIG__OVN_ST_PINNING || state == KVMIG__OVN_ST_PINNED ||
           state == KVMIG__OVN_ST_EXTENDING || state == KVMIG__OVN_ST_EXTENDED;
}

static void forget_settlement(struct kvmig__ovn_machine *m)
{
    m->unproven = false;
    for (size_t i = 0; i < m->records.n; i++)
        m->records.v[i].settled = m->records.v[i].released = false;
}

static void watch_chassis(struct kvmig__ovn_machine *m, const char *source, const char *target)
{
    kvmig__str_set(&m->watch_source, source);
    kvmig__str_set(&m->watch_target, target);
}

/* A preparation that was interrupted by the same wish still has to be put back if this one fails. */
static void take_prepare(struct kvmig__ovn_machine *m, const struct kvmig__ovn_asked *asked)
{
    bool same = kvmig__str_eq(m->source, asked->a) && kvmig__str_eq(m->target, asked->b);

    if (!is_preparing(m->state))
        m->wrote = false;
    forget_settlement(m);
    for (size_t i = 0; i < m->records.n; i++)
        m->records.v[i].ours = false;
    kvmig__str_set(&m->source, asked->a);
    kvmig__str_set(&m->target, asked->b);
    watch_chassis(m, m->source, m->target);
    if (!same || m->place == KVMIG__OVN_AT_WINNER)
        kvmig__ovn_watch_begin(m, KVMIG__OVN_NOWHERE);
}

static void take_verify(struct kvmig__ovn_machine *m)
{
    watch_chassis(m, m->source, m->target);
    if (m->place != KVMIG__OVN_AT_TARGET)
        kvmig__ovn_watch_begin(m, KVMIG__OVN_AT_TARGET);
}

/* Whom the preparation does not know is looked at in the place of the one that it lacks. */
static void take_settle(struct kvmig__ovn_machine *m, const struct kvmig__ovn_asked *asked)
{
    bool back = asked->wish == KVMIG__OVN_ROLLBACK;

    kvmig__str_set(&m->winner, asked->a || !back ? asked->a : m->source);
    if (m->source || m->target)
        watch_chassis(m, m->source, m->target);
    else
        watch_chassis(m, back ? m->winner : NULL, back ? NULL : m->winner);
}

static void take_gc(struct kvmig__ovn_machine *m, const struct kvmig__ovn_asked *asked)
{
    kvmig__str_set(&m->winner, asked->a);
    m->min_age_ms = asked->min_age_ms;
    watch_chassis(m, m->winner, NULL);
    for (size_t i = 0; i < m->records.n; i++)
        m->records.v[i].released = false;
    if (m->place == KVMIG__OVN_AT_WINNER && kvmig__str_eq(m->winner, m->settled_winner))
        return;
    forget_settlement(m);
    kvmig__ovn_watch_begin(m, KVMIG__OVN_NOWHERE);
}

static int64_t later(int64_t now_ms, int64_t ms)
{
    return ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + ms;
}

void kvmig__ovn_take(struct kvmig__ovn_machine *m, const struct kvmig__ovn_asked *asked, int64_t now_ms)
{
    int64_t ms = m->converge_ms;
    /* It must not eat the time that the write needs. */
    int64_t activation_ms = m->activation_ms < m->converge_ms / 2 ? m->activation_ms : m->converge_ms / 2;

    switch (asked->wish) {
    case KVMIG__OVN_PREPARE:
        take_prepare(m, asked);
        ms = m->prepare_ms;
        break;
    case KVMIG__OVN_VERIFY:
    case KVMIG__OVN_VERIFY_LATE:
        take_verify(m);
        ms = m->verify_ms;
        break;
    case KVMIG__OVN_GC:
        take_gc(m, asked);
        break;
    default:
        take_settle(m, asked);
        break;
    }
    m->wish = asked->wish;
    m->runs = true;
    m->is_undoing = false;
    m->deadline_ms = later(now_ms, ms);
    m->activation_ends_ms = later(now_ms, activation_ms);
    m->retry_ms = INT64_MIN;
    m->backoff_ms = 0;
    kvmig__strlist_clear(&m->told);
    kvmig__str_set(&m->waits_for, NULL);
    kvmig__ovn_refuse(m, NULL);
    kvmig__error_free(m->first_error);
    kvmig__error_free(m->order_error);
    m->first_error = m->order_error = NULL;
}

void kvmig__ovn_begin_undo(struct kvmig__ovn_machine *m, struct kvmig_error *error, int64_t now_ms)
{
    kvmig__error_free(m->first_error);
    m->first_error = error;
    m->is_undoing = true;
    m->deadline_ms = later(now_ms, m->converge_ms);
    m->retry_ms = INT64_MIN;
    m->backoff_ms = 0;
    kvmig__str_set(&m->winner, NULL);
    kvmig__str_set(&m->waits_for, NULL);
}

void kvmig__ovn_remember_write(struct kvmig__ovn_machine *m, enum kvmig__ovn_carried how, int64_t now_ms)
{
    bool maybe = how == KVMIG__OVN_WRITTEN || how == KVMIG__OVN_LOST;

    m->write_out = false;
    if (how == KVMIG__OVN_WRITTEN)
        m->lost = false; /* what was lost before cannot come after a later commit */
    if (!maybe)
        return;
    if (m->write_prepares) {
        m->wrote = true;
        m->lost = how == KVMIG__OVN_LOST;
        return;
    }
    m->settled_wish = m->ordered_wish;
    kvmig__str_set(&m->settled_winner, m->ordered_winner);
    m->unproven = true;
    m->patience_ends_ms = later(now_ms, PATIENCE_MS < m->converge_ms / 2 ? PATIENCE_MS : m->converge_ms / 2);
    for (size_t i = 0; how == KVMIG__OVN_WRITTEN && i < m->records.n; i++)
        m->records.v[i].released = m->records.v[i].settled;
}
