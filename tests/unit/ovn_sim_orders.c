/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The client side of the simulated OVN (ovn_sim.h): carries the machine's orders out, and checks each before. */
#include "ovn_sim.h"

#include <errno.h>

void sim_order_clear(struct sim_order *order)
{
    for (size_t i = 0; i < order->edits.n; i++) {
        struct sim_edit *e = &order->edits.v[i];
        char *strings[] = { e->if_owner,     e->if_requested, e->if_previous,  e->was_requested,
                            e->was_strategy, e->was_owner,    e->was_previous, e->requested,
                            e->strategy,     e->owner,        e->previous };

        for (size_t k = 0; k < KVMIG__N_ELEMENTS(strings); k++)
            free(strings[k]);
    }
    free(order->edits.v);
    free(order->write);
    *order = (struct sim_order){ 0 };
}

static size_t lsp_by_uuid(const struct sim *sim, const char *uuid)
{
    for (size_t i = 0; i < sim->n_lsps; i++) {
        char *own = sim_uuid_of(sim, i);
        bool same = kvmig__str_eq(own, uuid);

        free(own);
        if (same)
            return i;
    }
    fail_msg("an edit of a port that is not there");
    return 0;
}

/* What must never be ordered. */
static void check_edit(const struct sim *sim, const char *why, const struct kvmig__ovn_edit *edit)
{
    const struct sim_lsp *lsp = &sim->lsps[lsp_by_uuid(sim, edit->uuid)];
    bool pair = edit->requested_chassis && strchr(edit->requested_chassis, ',');

    assert_non_null(edit->requested_chassis);
    assert_null(strpbrk(edit->requested_chassis, " \t"));
    assert_true(edit->exact || (edit->if_owner && edit->if_requested));
    assert_true(!edit->owner == !edit->previous);
    if (!sim->by_gc)
        assert_true(!lsp->owner || kvmig__str_eq(lsp->owner, sim->machine->owner));
    if (!sim->by_gc && strcmp(why, "pin") != 0 && strcmp(why, "prepare") != 0)
        assert_string_equal(lsp->owner ? lsp->owner : "", sim->machine->owner);
    if (!pair)
        return;
    assert_string_equal(why, "prepare");
    if (sim->strategy != KVMIG_PORT_STRATEGY_NONE)
        assert_non_null(edit->activation_strategy);
    /* Pinned before it is extended, and nothing of an older extension is left. */
    assert_non_null(lsp->requested);
    assert_null(strchr(lsp->requested, ','));
    assert_true(kvmig__str_starts(edit->requested_chassis, lsp->requested));
    if (!sim->with_sb)
        return;
    assert_true(lsp->want >= 0 && lsp->main == lsp->want);
    for (int c = 0; c < SIM_CHASSIS; c++)
        assert_false(lsp->want_additional[c] || lsp->additional[c] || lsp->activated[c]);
}

static void take_edit(struct sim *sim, struct sim_order *order, const struct kvmig__ovn_edit *edit)
{
    struct sim_edit *e = KVMIG__PUSH(&order->edits);
    const struct sim_lsp *lsp;

    e->lsp = lsp_by_uuid(sim, edit->uuid);
    lsp = &sim->lsps[e->lsp];
    e->generation = lsp->generation;
    e->exact = edit->exact;
    e->if_owner = kvmig__strdup(edit->if_owner);
    e->if_requested = kvmig__strdup(edit->if_requested);
    e->if_previous = kvmig__strdup(edit->if_previous);
    e->was_requested = kvmig__strdup(lsp->requested);
    e->was_strategy = kvmig__strdup(lsp->strategy);
    e->was_owner = kvmig__strdup(lsp->owner);
    e->was_previous = kvmig__strdup(lsp->previous);
    e->was_others = lsp->others;
    e->requested = kvmig__strdup(edit->requested_chassis);
    e->strategy = kvmig__strdup(edit->activation_strategy);
    e->owner = kvmig__strdup(edit->owner);
    e->previous = kvmig__strdup(edit->previous);
}

void sim_take_orders(struct sim *sim, const struct kvmig__ovn_orders *orders)
{
    int64_t due = sim->now_ms + (sim->random ? sim_random(sim, 60) : 5);

    if (orders->write) {
        assert_false(sim->order.out);
        assert_true(orders->edits.n > 0);
        sim->order = (struct sim_order){ .out = true, .due_ms = due, .write = kvmig__strdup(orders->write) };
        for (size_t i = 0; i < orders->edits.n; i++) {
            check_edit(sim, orders->write, &orders->edits.v[i]);
            take_edit(sim, &sim->order, &orders->edits.v[i]);
        }
        sim->writes++;
        kvmig__str_set(&sim->last_write, orders->write);
    }
    if (orders->bump) {
        assert_false(sim->bump.out);
        sim->bump = (struct sim_order){ .out = true, .is_bump = true, .due_ms = due };
        sim->bumped_ms = sim->now_ms;
        sim->bumps++;
    }
}

static bool guard_holds(const struct sim *sim, const struct sim_edit *e)
{
    const struct sim_lsp *lsp = &sim->lsps[e->lsp];

    if (!lsp->exists || lsp->generation != e->generation)
        return false;
    if (!e->exact)
        return kvmig__str_eq(lsp->owner, e->if_owner) && kvmig__str_eq(lsp->requested, e->if_requested) &&
               (!e->if_previous || kvmig__str_eq(lsp->previous, e->if_previous));
    return kvmig__str_eq(lsp->requested, e->was_requested) && kvmig__str_eq(lsp->strategy, e->was_strategy) &&
           kvmig__str_eq(lsp->owner, e->was_owner) && kvmig__str_eq(lsp->previous, e->was_previous) &&
           lsp->others == e->was_others;
}

bool sim_commit(struct sim *sim, const struct sim_order *order)
{
    for (size_t i = 0; i < order->edits.n; i++)
        if (!guard_holds(sim, &order->edits.v[i]))
            return false;
    for (size_t i = 0; i < order->edits.n; i++) {
        const struct sim_edit *e = &order->edits.v[i];

        kvmig__str_set(&sim->lsps[e->lsp].requested, e->requested);
        kvmig__str_set(&sim->lsps[e->lsp].strategy, e->strategy);
        kvmig__str_set(&sim->lsps[e->lsp].owner, e->owner);
        kvmig__str_set(&sim->lsps[e->lsp].previous, e->previous);
    }
    sim->commits++;
    return true;
}

static void answer_write(struct sim *sim, struct sim_order *order)
{
    struct kvmig_error *denied = kvmig__error_new(-EPERM, "NB", NULL, NULL, "permission denied");
    struct kvmig_error *unsent = kvmig__error_new(-KVMIG_EUNREACHABLE, "NB", NULL, NULL, "no server could be reached");
    enum kvmig__ovn_carried how = KVMIG__OVN_LOST;
    const struct kvmig_error *error = NULL;

    switch (sim->fate) {
    case SIM_COMMIT:
        how = sim_commit(sim, order) ? KVMIG__OVN_WRITTEN : KVMIG__OVN_CONFLICT;
        break;
    case SIM_LOSE_AFTER:
        sim_commit(sim, order);
        break;
    case SIM_LOSE_AND_COMMIT_LATE:
        sim_order_clear(&sim->late);
        sim->late = *order;
        sim->late.due_ms = sim->now_ms + sim->late_ms;
        sim->late_commits_seen = sim->commits;
        *order = (struct sim_order){ 0 };
        break;
    case SIM_DENY:
    case SIM_UNSENT:
        how = KVMIG__OVN_NOT_WRITTEN;
        error = sim->fate == SIM_DENY ? denied : unsent;
        break;
    case SIM_LOSE_BEFORE:
        break;
    }
    sim_order_clear(order);
    kvmig__ovn_machine_written(sim->machine, how, error, sim->now_ms);
    kvmig__error_free(denied);
    kvmig__error_free(unsent);
}

static void answer_bump(struct sim *sim)
{
    bool lost = sim->fate == SIM_LOSE_BEFORE || sim->fate == SIM_UNSENT || sim->fate == SIM_DENY;

    sim_order_clear(&sim->bump);
    if (!lost) {
        sim->bumped = ++sim->nb_cfg;
        sim->commits++;
    }
    kvmig__ovn_machine_bumped(sim->machine, lost ? KVMIG__OVN_LOST : KVMIG__OVN_WRITTEN, sim->nb_cfg, NULL,
                              sim->now_ms);
}

void sim_carry_out(struct sim *sim)
{
    if (sim->late.out && sim->now_ms >= sim->late.due_ms) {
        if (sim->commits == sim->late_commits_seen) /* a commit that came between made the server drop it */
            sim_commit(sim, &sim->late);
        sim_order_clear(&sim->late);
    }
    if (sim->nb_down || sim->hangs)
        return;
    if (sim->order.out && sim->now_ms >= sim->order.due_ms)
        answer_write(sim, &sim->order);
    if (sim->bump.out && sim->now_ms >= sim->bump.due_ms)
        answer_bump(sim);
}
