/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order of a drain: who may start now, which is the one rule that a run follows too; from it waves, and the time that all of it
 * takes. Pure; any thread.
 */
#include "plan/drain_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- hosts as numbers ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t number_of(const char *const *names, size_t n, const char *name)
{
    const char *const *at = name && n ? bsearch(&name, names, n, sizeof(*names), compare_names) : NULL;

    return at ? (size_t)(at - names) : SIZE_MAX;
}

/* Sorts, and leaves one of each; returns how many there are. */
static size_t make_unique(const char **names, size_t n)
{
    size_t kept = 0;

    if (n)
        qsort(names, n, sizeof(*names), compare_names);
    for (size_t i = 0; i < n; i++) {
        if (!kept || strcmp(names[kept - 1], names[i]) != 0)
            names[kept++] = names[i];
    }
    return kept;
}

/* Who runs from and to a host is counted often. */
static void number_hosts(struct kvmig_drain *drain)
{
    const char **names = kvmig__calloc(2 * drain->moves.n + 1, sizeof(*names));
    size_t n = 0;

    for (size_t i = 0; i < drain->moves.n; i++) {
        const struct kvmig_plan *plan = drain->moves.v[i].plan;

        if (plan->source)
            names[n++] = plan->source;
        if (plan->target)
            names[n++] = plan->target;
    }
    n = make_unique(names, n);
    for (size_t i = 0; i < drain->moves.n; i++) {
        struct kvmig__drain_move *move = &drain->moves.v[i];

        move->from = number_of(names, n, move->plan->source);
        move->to = number_of(names, n, move->plan->target);
    }
    drain->n_hosts = n;
    free(names);
}

/* ---- who may start ---- */

struct running {
    uint32_t total, *out, *in; /* in total, and by number of the host */
};

static struct running count(const struct kvmig_drain *drain, const uint8_t *states)
{
    struct running running = { .out = kvmig__calloc(2 * drain->n_hosts + 1, sizeof(*running.out)) };

    running.in = running.out + drain->n_hosts;
    for (size_t i = 0; i < drain->moves.n; i++) {
        const struct kvmig__drain_move *move = &drain->moves.v[i];

        if (states[i] != KVMIG__DRAIN_RUNS)
            continue;
        running.total++;
        if (move->from != SIZE_MAX)
            running.out[move->from]++;
        if (move->to != SIZE_MAX)
            running.in[move->to]++;
    }
    return running;
}

/* What others take is theirs, but one at a time is always tried: they end, too. */
static uint32_t room(uint32_t limit, uint32_t taken)
{
    return limit > taken + 1 ? limit - taken : 1;
}

static bool fits(const struct kvmig_drain *drain, const struct running *running, const struct kvmig__drain_move *move)
{
    return running->total < room(drain->limits.total, drain->limits.taken) &&
           (move->from == SIZE_MAX || running->out[move->from] < room(drain->limits.out, move->taken_out)) &&
           (move->to == SIZE_MAX || running->in[move->to] < drain->limits.in);
}

size_t kvmig__drain_next(const struct kvmig_drain *drain, const uint8_t *states)
{
    struct running running = count(drain, states);
    size_t next = SIZE_MAX;
    bool all_over = true;

    for (size_t i = 0; i < drain->moves.n && next == SIZE_MAX; i++) {
        if (states[i] == KVMIG__DRAIN_WAITS) {
            if (drain->moves.v[i].after && !all_over)
                break; /* nor may any that comes after it */
            if (fits(drain, &running, &drain->moves.v[i]))
                next = i;
        }
        all_over = all_over && states[i] == KVMIG__DRAIN_OVER;
    }
    free(running.out);
    return next;
}

/* ---- waves ---- */

/* As if all of a wave had to end before the next one begins. */
static void give_waves(struct kvmig_drain *drain)
{
    uint8_t *states = kvmig__calloc(drain->moves.n + 1, 1);
    uint32_t wave = 0;
    size_t next, left = drain->moves.n;

    while (left) {
        wave++;
        while ((next = kvmig__drain_next(drain, states)) != SIZE_MAX) {
            states[next] = KVMIG__DRAIN_RUNS;
            drain->moves.v[next].wave = wave;
            left--;
        }
        for (size_t i = 0; i < drain->moves.n; i++) {
            if (states[i] == KVMIG__DRAIN_RUNS)
                states[i] = KVMIG__DRAIN_OVER;
        }
    }
    free(states);
}

static int compare_waves(const void *a, const void *b)
{
    const struct kvmig__drain_move *x = a, *y = b;

    if (x->wave != y->wave)
        return x->wave < y->wave ? -1 : 1;
    if (x->after != y->after) /* it waits for all that stand before it */
        return x->after ? -1 : 1;
    if (x->bytes != y->bytes) /* the longest first, so that the end does not wait for one */
        return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->plan->vm, y->plan->vm);
}

/* ---- time ---- */

static uint64_t duration_ms(const struct kvmig__drain_move *move)
{
    if (move->bytes == KVMIG__UNKNOWN || !move->bandwidth)
        return KVMIG__NO_TIME;
    return move->bytes / move->bandwidth >= UINT64_MAX / 4096
               ? KVMIG__NO_TIME
               : (uint64_t)((double)move->bytes * 1000.0 / (double)move->bandwidth) + 1;
}

static void start_all(struct kvmig_drain *drain, uint8_t *states, uint64_t now)
{
    size_t next;

    while ((next = kvmig__drain_next(drain, states)) != SIZE_MAX) {
        struct kvmig__drain_move *move = &drain->moves.v[next];

        states[next] = KVMIG__DRAIN_RUNS;
        move->begin_ms = now;
        move->finish_ms = kvmig__sum(now, duration_ms(move));
    }
}

/* The first of those that run ends; false = none runs. */
static bool end_one(struct kvmig_drain *drain, uint8_t *states, uint64_t *out_now)
{
    size_t first = SIZE_MAX;

    for (size_t i = 0; i < drain->moves.n; i++) {
        if (states[i] == KVMIG__DRAIN_RUNS &&
            (first == SIZE_MAX || drain->moves.v[i].finish_ms < drain->moves.v[first].finish_ms))
            first = i;
    }
    if (first == SIZE_MAX)
        return false;
    states[first] = KVMIG__DRAIN_OVER;
    *out_now = drain->moves.v[first].finish_ms;
    return true;
}

static void give_times(struct kvmig_drain *drain)
{
    uint8_t *states = kvmig__calloc(drain->moves.n + 1, 1);
    uint64_t now = 0;

    drain->expected_ms = 0; /* KVMIG__NO_TIME is what a sum without room comes to, too */
    for (size_t i = 0; i < drain->moves.n; i++) {
        drain->moves.v[i].begin_ms = drain->moves.v[i].finish_ms = KVMIG__NO_TIME;
        if (duration_ms(&drain->moves.v[i]) == KVMIG__NO_TIME)
            drain->expected_ms = KVMIG__NO_TIME;
    }
    if (drain->expected_ms != KVMIG__NO_TIME) {
        do {
            start_all(drain, states, now);
        } while (end_one(drain, states, &now));
        drain->expected_ms = now;
    }
    free(states);
}

void kvmig__drain_order(struct kvmig_drain *drain)
{
    number_hosts(drain);
    give_waves(drain);
    if (drain->moves.n)
        qsort(drain->moves.v, drain->moves.n, sizeof(*drain->moves.v), compare_waves);
    give_times(drain);
}
