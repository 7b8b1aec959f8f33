/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Time left, from traces: figures as libvirt gives them, polled five times a second. The guest of a trace is a model: so much
 * memory, dirtied at such a rate within a working set of such a size.
 */
#include "session/eta.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)
#define UNKNOWN UINT64_MAX
#define POLL_MS 200

static struct kvmig_progress nothing_known(void)
{
    struct kvmig_progress p;

    memset(&p, 0xff, sizeof(p));
    p.eta_reason = KVMIG_ETA_UNKNOWN;
    p.throttle_percent = p.at_iteration_boundary = 0;
    p.n_disks = 0;
    p.disks = NULL;
    return p;
}

/* ---- a guest ---- */

struct guest {
    uint64_t memory, working_set, dirty_per_s, link_per_s; /* bytes */
    uint64_t downtime_ms;
    struct kvmig_progress p;
    uint64_t round_left, round_started_ms;
    bool done;
};

static void guest_start(struct guest *g)
{
    g->p = nothing_known();
    g->p.elapsed_ms = 0;
    g->p.memory_total = g->memory;
    g->p.memory_remaining = g->round_left = g->memory;
    g->p.memory_sent = 0;
    g->p.iteration = 1;
    g->p.bandwidth_bytes_per_s = g->link_per_s;
    g->p.at_iteration_boundary = 1;
}

/* One poll later. A round that ends is followed by one with what was dirtied in it, as far as the working set goes. */
static void guest_step(struct guest *g)
{
    uint64_t sends = g->link_per_s * POLL_MS / 1000;

    g->p.at_iteration_boundary = 0;
    g->p.elapsed_ms += POLL_MS;
    if (g->round_left > sends) {
        g->round_left -= sends;
        g->p.memory_sent += sends;
    } else {
        uint64_t dirtied = g->dirty_per_s * (g->p.elapsed_ms - g->round_started_ms) / 1000;

        g->p.memory_sent += g->round_left;
        g->round_left = dirtied < g->working_set ? dirtied : g->working_set;
        g->round_started_ms = g->p.elapsed_ms;
        g->p.iteration++;
        g->p.at_iteration_boundary = 1;
        g->p.dirty_bytes_per_s = g->dirty_per_s;
        g->done = g->round_left <= g->link_per_s * g->downtime_ms / 1000;
    }
    g->p.memory_remaining = g->round_left;
}

static struct kvmig__eta eta_for(const struct guest *g, uint64_t cap)
{
    const struct kvmig__eta_limits limits = { .bandwidth_bytes_per_s = cap, .max_downtime_ms = g->downtime_ms };
    struct kvmig__eta eta;

    kvmig__eta_init(&eta, &limits);
    return eta;
}

/* ---- tests ---- */

static void nothing_known_is_setup(void **state)
{
    const struct kvmig__eta_limits none = { 0 };
    struct kvmig_progress p = nothing_known();
    struct kvmig__eta eta;

    (void)state;
    kvmig__eta_init(&eta, &none);
    for (int i = 0; i < 5; i++) {
        const struct kvmig__eta_answer a = kvmig__eta_sample(&eta, &p, KVMIG_MODE_PRE_COPY);

        assert_int_equal(a.reason, KVMIG_ETA_SETUP);
        assert_true(a.ms == UNKNOWN);
    }
}

static void disks_come_first_and_memory_is_counted_after_them(void **state)
{
    const struct kvmig__eta_limits none = { 0 };
    struct kvmig_progress p = nothing_known();
    struct kvmig__eta_answer a = { 0 };
    struct kvmig__eta eta;

    (void)state;
    kvmig__eta_init(&eta, &none);
    p.disk_total = 1000 * MIB;
    p.memory_total = 100 * MIB;
    for (uint64_t ms = 0; ms <= 2000; ms += POLL_MS) {
        p.elapsed_ms = ms;
        p.disk_sent = ms * 100 * MIB / 1000;
        p.disk_remaining = p.disk_total - p.disk_sent;
        a = kvmig__eta_sample(&eta, &p, KVMIG_MODE_PRE_COPY);
        assert_int_equal(a.reason, KVMIG_ETA_DISK_LIMITED);
    }
    /* 800 MiB of disk and 100 MiB of memory at 100 MiB/s. */
    assert_in_range(a.ms, 8900, 9100);
}

static void idle_guest_is_limited_by_the_link_and_the_estimate_is_right(void **state)
{
    struct guest g = {
        .memory = 1024 * MIB, .working_set = 8 * MIB, .dirty_per_s = MIB, .link_per_s = 100 * MIB, .downtime_ms = 300
    };
    struct kvmig__eta eta = eta_for(&g, 0);

    (void)state;
    for (guest_start(&g); g.p.iteration == 1; guest_step(&g)) {
        const struct kvmig__eta_answer a = kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY);

        assert_int_equal(a.reason, KVMIG_ETA_BANDWIDTH_LIMITED);
        assert_in_range(a.ms + g.p.elapsed_ms, 10000, 10500);
    }
}

static void limit_of_the_caller_is_named(void **state)
{
    struct guest g = {
        .memory = 1024 * MIB, .working_set = 8 * MIB, .dirty_per_s = MIB, .link_per_s = 48 * MIB, .downtime_ms = 300
    };
    struct kvmig__eta eta = eta_for(&g, 50 * MIB);

    (void)state;
    guest_start(&g);
    assert_int_equal(kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY).reason, KVMIG_ETA_BANDWIDTH_CAPPED);
    eta.limits.bandwidth_bytes_per_s = 500 * MIB; /* it was raised; now the link is what holds it */
    guest_step(&g);
    assert_int_equal(kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY).reason, KVMIG_ETA_BANDWIDTH_LIMITED);
}

static void busy_guest_that_converges_gets_an_estimate_of_all_rounds(void **state)
{
    struct guest g = { .memory = 1024 * MIB,
                       .working_set = 1024 * MIB,
                       .dirty_per_s = 30 * MIB,
                       .link_per_s = 100 * MIB,
                       .downtime_ms = 300 };
    struct kvmig__eta eta = eta_for(&g, 0);
    uint64_t in_second_round = UNKNOWN;

    (void)state;
    for (guest_start(&g); !g.done; guest_step(&g)) {
        const struct kvmig__eta_answer a = kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY);

        assert_int_not_equal(a.reason, KVMIG_ETA_DIRTY_LIMITED);
        if (g.p.iteration == 2 && in_second_round == UNKNOWN)
            in_second_round = a.ms + g.p.elapsed_ms;
    }
    /* Within a fifth of what it took. */
    assert_in_range(in_second_round, g.p.elapsed_ms * 8 / 10, g.p.elapsed_ms * 12 / 10);
}

static void guest_that_dirties_faster_than_the_link_may_never_end(void **state)
{
    struct guest g = { .memory = 1024 * MIB,
                       .working_set = 512 * MIB,
                       .dirty_per_s = 400 * MIB,
                       .link_per_s = 100 * MIB,
                       .downtime_ms = 300 };
    struct kvmig__eta eta = eta_for(&g, 0);
    struct kvmig__eta_answer a = { 0 };

    (void)state;
    for (guest_start(&g); g.p.iteration < 4; guest_step(&g)) {
        a = kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY);
        if (g.p.iteration < 3)
            assert_int_not_equal(a.reason, KVMIG_ETA_DIRTY_LIMITED); /* one round proves nothing */
    }
    assert_int_equal(a.reason, KVMIG_ETA_DIRTY_LIMITED);
    assert_true(a.ms == UNKNOWN);
}

/* Four times the link's rate, but always the same few pages: they fit into the pause. */
static void small_working_set_ends_whatever_the_dirty_rate(void **state)
{
    struct guest g = { .memory = 1024 * MIB,
                       .working_set = 20 * MIB,
                       .dirty_per_s = 400 * MIB,
                       .link_per_s = 100 * MIB,
                       .downtime_ms = 300 };
    struct kvmig__eta eta = eta_for(&g, 0);
    struct kvmig__eta_answer a = { 0 };

    (void)state;
    for (guest_start(&g); g.p.iteration < 3; guest_step(&g))
        a = kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY);
    assert_int_equal(a.reason, KVMIG_ETA_SWITCHING);
    assert_true(a.ms <= 300);
}

static void longer_pause_ends_a_dirty_limited_migration(void **state)
{
    struct guest g = { .memory = 1024 * MIB,
                       .working_set = 200 * MIB,
                       .dirty_per_s = 400 * MIB,
                       .link_per_s = 100 * MIB,
                       .downtime_ms = 300 };
    struct kvmig__eta eta = eta_for(&g, 0);
    struct kvmig__eta_answer a = { 0 };

    (void)state;
    for (guest_start(&g); g.p.iteration < 4; guest_step(&g))
        a = kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY);
    assert_int_equal(a.reason, KVMIG_ETA_DIRTY_LIMITED);
    eta.limits.max_downtime_ms = 3000;
    assert_int_equal(kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY).reason, KVMIG_ETA_SWITCHING);
}

static void unknown_dirty_rate_is_made_up_for_by_rounds_that_do_not_shrink(void **state)
{
    struct guest g = { .memory = 1024 * MIB,
                       .working_set = 400 * MIB,
                       .dirty_per_s = 400 * MIB,
                       .link_per_s = 100 * MIB,
                       .downtime_ms = 300 };
    struct kvmig__eta eta = eta_for(&g, 0);
    struct kvmig__eta_answer a = { 0 };

    (void)state;
    for (guest_start(&g); g.p.iteration < 4; guest_step(&g)) {
        g.p.dirty_bytes_per_s = UNKNOWN;
        a = kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY);
    }
    assert_int_equal(a.reason, KVMIG_ETA_DIRTY_LIMITED);
}

static void postcopy_sends_each_page_once(void **state)
{
    struct guest g = { .memory = 1024 * MIB,
                       .working_set = 512 * MIB,
                       .dirty_per_s = 400 * MIB,
                       .link_per_s = 100 * MIB,
                       .downtime_ms = 300 };
    struct kvmig__eta eta = eta_for(&g, 0);
    struct kvmig__eta_answer a;

    (void)state;
    for (guest_start(&g); g.p.iteration < 4; guest_step(&g))
        kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY);
    a = kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_POST_COPY);
    assert_int_equal(a.reason, KVMIG_ETA_BANDWIDTH_LIMITED);
    assert_in_range(a.ms, 4900, 5300); /* 512 MiB at 100 MiB/s */
}

static void rate_is_measured_where_libvirt_does_not_tell_it(void **state)
{
    struct guest g = {
        .memory = 1024 * MIB, .working_set = 8 * MIB, .dirty_per_s = MIB, .link_per_s = 100 * MIB, .downtime_ms = 300
    };
    struct kvmig__eta eta = eta_for(&g, 0);
    struct kvmig__eta_answer a;

    (void)state;
    guest_start(&g);
    g.p.bandwidth_bytes_per_s = UNKNOWN;
    a = kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY);
    assert_int_equal(a.reason, KVMIG_ETA_UNKNOWN);
    guest_step(&g);
    a = kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY);
    assert_int_equal(a.reason, KVMIG_ETA_BANDWIDTH_LIMITED);
    assert_in_range(a.ms, 9900, 10200);
}

static void link_that_stops_has_no_estimate_that_shrinks(void **state)
{
    struct guest g = {
        .memory = 1024 * MIB, .working_set = 8 * MIB, .dirty_per_s = MIB, .link_per_s = 100 * MIB, .downtime_ms = 300
    };
    struct kvmig__eta eta = eta_for(&g, 0);
    uint64_t before;

    (void)state;
    guest_start(&g);
    g.p.bandwidth_bytes_per_s = UNKNOWN;
    for (int i = 0; i < 5; i++, guest_step(&g))
        kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY);
    before = kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY).ms;
    for (int i = 0; i < 20; i++) {
        uint64_t now;

        g.p.elapsed_ms += POLL_MS;
        now = kvmig__eta_sample(&eta, &g.p, KVMIG_MODE_PRE_COPY).ms;
        assert_true(now >= before);
        before = now;
    }
}

/* Figures that jump back, repeat or overflow: no answer is better than a wrong one, and nothing breaks. */
static void nonsense_is_survived(void **state)
{
    static const uint64_t values[] = { 0, 1, 100, UINT64_MAX - 1, UINT64_MAX, (uint64_t)1 << 62 };
    const struct kvmig__eta_limits limits = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
    uint32_t seed = 1;
    struct kvmig__eta eta;

    (void)state;
    kvmig__eta_init(&eta, &limits);
    for (int i = 0; i < 20000; i++) {
        struct kvmig_progress p = nothing_known();
        uint64_t *figures[] = { &p.elapsed_ms,       &p.memory_total,      &p.memory_sent,
                                &p.memory_remaining, &p.disk_total,        &p.disk_sent,
                                &p.disk_remaining,   &p.dirty_bytes_per_s, &p.bandwidth_bytes_per_s,
                                &p.iteration };
        struct kvmig__eta_answer a;

        for (size_t k = 0; k < sizeof(figures) / sizeof(figures[0]); k++) {
            seed = seed * 1664525u + 1013904223u;
            *figures[k] = values[(seed >> 16) % 6];
        }
        a = kvmig__eta_sample(&eta, &p, (int32_t)((seed >> 8) % 3));
        assert_non_null(kvmig_eta_reason_name(a.reason));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known_is_setup),
        cmocka_unit_test(disks_come_first_and_memory_is_counted_after_them),
        cmocka_unit_test(idle_guest_is_limited_by_the_link_and_the_estimate_is_right),
        cmocka_unit_test(limit_of_the_caller_is_named),
        cmocka_unit_test(busy_guest_that_converges_gets_an_estimate_of_all_rounds),
        cmocka_unit_test(guest_that_dirties_faster_than_the_link_may_never_end),
        cmocka_unit_test(small_working_set_ends_whatever_the_dirty_rate),
        cmocka_unit_test(longer_pause_ends_a_dirty_limited_migration),
        cmocka_unit_test(unknown_dirty_rate_is_made_up_for_by_rounds_that_do_not_shrink),
        cmocka_unit_test(postcopy_sends_each_page_once),
        cmocka_unit_test(rate_is_measured_where_libvirt_does_not_tell_it),
        cmocka_unit_test(link_that_stops_has_no_estimate_that_shrinks),
        cmocka_unit_test(nonsense_is_survived),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
