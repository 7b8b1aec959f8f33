/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The machine of an OVN port: judges the facts in the way that the state asks for, looks the pair up in the table
 * (ovn_table.h), and carries out its actions, until nothing moves any more. What is out and what was done is
 * remembered in ovn_wish.c; what the facts amount to is judged in ovn_prepare.c, ovn_verify.c and ovn_settle.c.
 * Pure: needs the lock of its owner, the driver (ovn_port.c), which gathers the facts and carries out the orders.
 */
#include "port/ovn_machine.h"

#include <errno.h>
#include <stdlib.h>

#define BACK_OFF_MS 20
#define MAX_BACK_OFF_MS 1000
#define MAX_MOVES 64 /* in one step; every order ends one, so it takes a few */

static bool goes_back(const struct kvmig__ovn_machine *m)
{
    return m->is_undoing || m->wish == KVMIG__OVN_ROLLBACK;
}

bool kvmig__ovn_is_due(int64_t when_ms, int64_t now_ms)
{
    return now_ms >= when_ms;
}

/* ---- answers ---- */

/* Of a server that would say the same again. */
static bool is_final(const struct kvmig_error *error)
{
    switch (-kvmig_error_code(error)) {
    case EPERM:
    case EACCES:
    case EINVAL:
    case ENOTSUP:
    case EPROTO:
    case KVMIG_EREFUSED:
        return true;
    default:
        return false;
    }
}

static struct kvmig_error *cause_of(const struct kvmig__ovn_machine *m, enum kvmig__ovn_input input)
{
    if (input == KVMIG__OVN_IN_DEADLINE)
        return kvmig__ovn_late_error(m);
    if (input == KVMIG__OVN_IN_DENIED && m->order_error)
        return kvmig__error_copy(m->order_error);
    if (m->refusal)
        return kvmig__error_copy(m->refusal);
    return kvmig__error_new(-KVMIG_EUNKNOWN, m->name, kvmig__ovn_input_name(input), NULL,
                            "the port could not be settled");
}

static void fail(struct kvmig__ovn_machine *m, enum kvmig__ovn_input input)
{
    struct kvmig_error *second = NULL;

    if (!m->is_undoing) {
        m->out.error = cause_of(m, input);
    } else {
        if (input != KVMIG__OVN_IN_PUT_BACK)
            second = cause_of(m, input);
        m->out.error = kvmig__ovn_undo_error(m, second);
        kvmig__error_free(second);
    }
    m->out.ended = true;
    m->runs = false;
}

static void end(struct kvmig__ovn_machine *m, enum kvmig__ovn_state next)
{
    m->out.ended = true;
    m->runs = false;
    m->wrote = false;
    if (next == KVMIG__OVN_ST_SETTLED || next == KVMIG__OVN_ST_SUPERSEDED)
        m->unproven = false;
    if (next == KVMIG__OVN_ST_PREPARED && m->place != KVMIG__OVN_AT_TARGET)
        kvmig__ovn_watch_begin(m, KVMIG__OVN_AT_TARGET);
    if (next == KVMIG__OVN_ST_SETTLED || next == KVMIG__OVN_ST_SUPERSEDED)
        m->place = KVMIG__OVN_NOWHERE;
}

/* ---- moving ---- */

static void back_off(struct kvmig__ovn_machine *m, int64_t now_ms)
{
    m->backoff_ms = m->backoff_ms ? m->backoff_ms * 2 : BACK_OFF_MS;
    if (m->backoff_ms > MAX_BACK_OFF_MS)
        m->backoff_ms = MAX_BACK_OFF_MS;
    m->retry_ms = now_ms + m->backoff_ms;
}

/* facts are NULL at the end of an order, where nothing is ordered. */
static void act(struct kvmig__ovn_machine *m, const struct kvmig__ovn_pair *pair, enum kvmig__ovn_input input,
                const struct kvmig__ovn_facts *facts, int64_t now_ms)
{
    if (pair->actions & KVMIG__OVN_PIN)
        kvmig__ovn_order_pin(m, facts);
    if (pair->actions & KVMIG__OVN_EXTEND)
        kvmig__ovn_order_extend(m, facts);
    if (pair->actions & KVMIG__OVN_SETTLE)
        kvmig__ovn_order_settle(m, facts);
    if (pair->actions & KVMIG__OVN_BUMP) {
        m->out.bump = m->bump_out = true;
        m->barrier_epoch = m->epoch;
    }
    if (pair->actions & KVMIG__OVN_BACK_OFF)
        back_off(m, now_ms);
    if (pair->actions & KVMIG__OVN_FENCED)
        m->lost = false;
    if (pair->actions & KVMIG__OVN_UNDO)
        kvmig__ovn_begin_undo(m, cause_of(m, input), now_ms);
    if (pair->actions & KVMIG__OVN_FAIL)
        fail(m, input);
    if (pair->actions & KVMIG__OVN_END)
        end(m, (enum kvmig__ovn_state)pair->next);
}

static void note_bug(struct kvmig__ovn_machine *m, enum kvmig__ovn_input input)
{
    struct kvmig__detail detail = { 0 };

    kvmig__detail_str(&detail, "state", kvmig__ovn_state_name((int32_t)m->state));
    kvmig__detail_str(&detail, "input", kvmig__ovn_input_name((int32_t)input));
    kvmig__ovn_note_once(m, "bug", kvmig__detail_take(&detail));
}

static void note(struct kvmig__ovn_machine *m, const struct kvmig__ovn_pair *pair, const struct kvmig__ovn_facts *facts,
                 int64_t now_ms)
{
    char *detail;

    if (!pair->note || (pair->next == KVMIG__OVN_ST_ACTIVATED && m->activation_told)) /* it is told once */
        return;
    detail = kvmig__ovn_note_detail(m, pair->note, facts, now_ms);
    if (pair->kind == KVMIG__OVN_STAY)
        kvmig__ovn_note_once(m, pair->note, detail);
    else if (kvmig__str_eq(pair->note, "converged") && goes_back(m))
        kvmig__ovn_note(m, "rolled-back", detail);
    else
        kvmig__ovn_note(m, pair->note, detail);
}

/* true: it moved. */
static bool move(struct kvmig__ovn_machine *m, enum kvmig__ovn_input input, const struct kvmig__ovn_facts *facts,
                 int64_t now_ms)
{
    const struct kvmig__ovn_pair *pair = kvmig__ovn_pair_of((int32_t)m->state, (int32_t)input);

    if (pair->kind == KVMIG__OVN_ERROR) {
        note_bug(m, input);
        return false;
    }
    note(m, pair, facts, now_ms);
    if (pair->kind == KVMIG__OVN_STAY)
        return false;
    act(m, pair, input, facts, now_ms);
    m->state = (enum kvmig__ovn_state)pair->next;
    if (m->state == KVMIG__OVN_ST_ACTIVATED)
        m->activation_told = true;
    return true;
}

static enum kvmig__ovn_input judge(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts, int64_t now_ms)
{
    switch (m->state) {
    case KVMIG__OVN_ST_LOOKING:
    case KVMIG__OVN_ST_PINNED:
    case KVMIG__OVN_ST_EXTENDED:
        return kvmig__ovn_judge_prepare(m, facts, now_ms);
    case KVMIG__OVN_ST_ARMING:
    case KVMIG__OVN_ST_ARM_BARRIER:
        return kvmig__ovn_judge_arm(m, facts, now_ms);
    case KVMIG__OVN_ST_CLAIMING:
    case KVMIG__OVN_ST_BARRIER:
        return kvmig__ovn_judge_verify(m, facts, now_ms);
    case KVMIG__OVN_ST_RELEASING:
        return kvmig__ovn_judge_release(m, facts, now_ms);
    case KVMIG__OVN_ST_HOMING:
    case KVMIG__OVN_ST_HOME_BARRIER:
        return kvmig__ovn_judge_home(m, facts, now_ms);
    default:
        return kvmig__ovn_is_resting((int32_t)m->state) ? kvmig__ovn_judge_rest(m, facts) : KVMIG__OVN_IN_BUSY;
    }
}

/* What is proven counts, also if it is seen late. */
static bool is_late(const struct kvmig__ovn_machine *m, enum kvmig__ovn_input input, int64_t now_ms)
{
    const struct kvmig__ovn_pair *pair = kvmig__ovn_pair_of((int32_t)m->state, (int32_t)input);

    return m->runs && kvmig__ovn_is_due(m->deadline_ms, now_ms) && !(pair->actions & KVMIG__OVN_END);
}

static int64_t wake_of(const struct kvmig__ovn_machine *m, int64_t now_ms)
{
    int64_t times[] = { m->deadline_ms, m->retry_ms, m->quiet_at_ms,
                        m->state == KVMIG__OVN_ST_RELEASING ? m->activation_ends_ms : INT64_MAX,
                        m->state == KVMIG__OVN_ST_HOMING ? m->patience_ends_ms : INT64_MAX };
    int64_t wake = INT64_MAX;

    for (size_t i = 0; m->runs && i < KVMIG__N_ELEMENTS(times); i++)
        if (times[i] > now_ms && times[i] < wake)
            wake = times[i];
    return wake;
}

void kvmig__ovn_machine_step(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts, int64_t now_ms,
                             struct kvmig__ovn_orders *orders)
{
    char *source = kvmig__strdup(m->watch_source), *target = kvmig__strdup(m->watch_target);

    kvmig__ovn_watch(m, facts, now_ms);
    for (int moves = 0; moves < MAX_MOVES; moves++) {
        enum kvmig__ovn_input input;

        m->quiet_at_ms = INT64_MAX;
        input = judge(m, facts, now_ms);
        if (is_late(m, input, now_ms))
            input = KVMIG__OVN_IN_DEADLINE;
        if (!move(m, input, facts, now_ms))
            break;
    }
    *orders = m->out;
    m->out = (struct kvmig__ovn_orders){ 0 };
    orders->state = kvmig__ovn_public_state((int32_t)m->state, goes_back(m));
    orders->wake_ms = wake_of(m, now_ms);
    /* The ports have told whom to look at: these facts are still without them. */
    if (!kvmig__str_eq(source, m->watch_source) || !kvmig__str_eq(target, m->watch_target))
        orders->wake_ms = now_ms;
    free(source);
    free(target);
}

/* ---- what happens to it ---- */

void kvmig__ovn_machine_wish(struct kvmig__ovn_machine *m, enum kvmig__ovn_wish wish, const char *a, const char *b,
                             int64_t min_age_ms, int64_t now_ms)
{
    struct kvmig__ovn_asked asked = { .wish = wish, .a = a, .b = b, .min_age_ms = min_age_ms };

    /* An answer that was not fetched yet is one to the former wish. */
    kvmig__error_free(m->out.error);
    m->out.error = NULL;
    m->out.ended = false;
    kvmig__ovn_take(m, &asked, now_ms);
    move(m, (enum kvmig__ovn_input)wish, NULL, now_ms);
}

static void keep_order_error(struct kvmig__ovn_machine *m, const struct kvmig_error *error)
{
    kvmig__error_free(m->order_error);
    m->order_error = kvmig__error_copy(error);
}

void kvmig__ovn_machine_written(struct kvmig__ovn_machine *m, enum kvmig__ovn_carried how,
                                const struct kvmig_error *error, int64_t now_ms)
{
    static const enum kvmig__ovn_input inputs[] = {
        [KVMIG__OVN_WRITTEN] = KVMIG__OVN_IN_WRITTEN,
        [KVMIG__OVN_CONFLICT] = KVMIG__OVN_IN_CONFLICT,
        [KVMIG__OVN_LOST] = KVMIG__OVN_IN_LOST,
        [KVMIG__OVN_NOT_WRITTEN] = KVMIG__OVN_IN_UNWRITTEN,
    };
    enum kvmig__ovn_input input = inputs[how];

    if (input == KVMIG__OVN_IN_UNWRITTEN && is_final(error))
        input = KVMIG__OVN_IN_DENIED;
    if (!m->write_out)
        return;
    keep_order_error(m, how == KVMIG__OVN_WRITTEN ? NULL : error);
    if (how == KVMIG__OVN_WRITTEN)
        m->backoff_ms = 0;
    kvmig__ovn_remember_write(m, how, now_ms);
    move(m, input, NULL, now_ms);
}

void kvmig__ovn_machine_bumped(struct kvmig__ovn_machine *m, enum kvmig__ovn_carried how, int64_t nb_cfg,
                               const struct kvmig_error *error, int64_t now_ms)
{
    if (!m->bump_out)
        return;
    m->bump_out = false;
    keep_order_error(m, how == KVMIG__OVN_WRITTEN ? NULL : error);
    if (how == KVMIG__OVN_WRITTEN)
        m->barrier = nb_cfg;
    move(m, how == KVMIG__OVN_WRITTEN ? KVMIG__OVN_IN_BUMPED : KVMIG__OVN_IN_UNBUMPED, NULL, now_ms);
}

/* ---- making and ending it ---- */

struct kvmig__ovn_machine *kvmig__ovn_machine_new(const struct kvmig__ovn_config *config)
{
    struct kvmig__ovn_machine *m = kvmig__calloc(1, sizeof(*m));

    m->owner = kvmig__strdup(config->owner);
    m->name = kvmig__strdup(config->name);
    m->strategy = config->strategy;
    m->prepare_ms = config->prepare_ms;
    m->verify_ms = config->verify_ms;
    m->activation_ms = config->activation_ms;
    m->converge_ms = config->converge_ms;
    m->retry_ms = INT64_MIN;
    return m;
}

void kvmig__ovn_orders_clear(struct kvmig__ovn_orders *orders)
{
    for (size_t i = 0; i < orders->edits.n; i++) {
        free(orders->edits.v[i].requested_chassis);
        free(orders->edits.v[i].activation_strategy);
        free(orders->edits.v[i].owner);
        free(orders->edits.v[i].previous);
    }
    for (size_t i = 0; i < orders->notes.n; i++) {
        free(orders->notes.v[i].what);
        free(orders->notes.v[i].detail);
    }
    free(orders->edits.v);
    free(orders->notes.v);
    kvmig__error_free(orders->error);
    *orders = (struct kvmig__ovn_orders){ 0 };
}

static void free_records(struct kvmig__ovn_machine *m)
{
    for (size_t i = 0; i < m->records.n; i++)
        kvmig__ovn_record_clear(&m->records.v[i]);
    free(m->records.v);
}

void kvmig__ovn_machine_free(struct kvmig__ovn_machine *m)
{
    if (!m)
        return;
    char *strings[] = { m->owner,        m->name,         m->source,         m->target,         m->winner,
                        m->watch_source, m->watch_target, m->ordered_winner, m->settled_winner, m->waits_for };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(strings); i++)
        free(strings[i]);
    free_records(m);
    kvmig__strlist_clear(&m->told);
    kvmig__error_free(m->refusal);
    kvmig__error_free(m->first_error);
    kvmig__error_free(m->order_error);
    kvmig__ovn_orders_clear(&m->out);
    free(m);
}

const char *kvmig__ovn_machine_source(const struct kvmig__ovn_machine *m)
{
    return m->watch_source;
}

const char *kvmig__ovn_machine_target(const struct kvmig__ovn_machine *m)
{
    return m->watch_target;
}

const char *kvmig__ovn_machine_state_name(const struct kvmig__ovn_machine *m)
{
    return kvmig__ovn_state_name((int32_t)m->state);
}
