/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small OVN without OVN, for tests of the port's machine: northbound and southbound database, northd, three
 * chassis with ovn-controller and Open vSwitch, the client that carries orders out, and its clock. Behaves as OVN
 * 23.03 was seen to: northd clears an activation in its second round, unknown names are skipped, an unpinned port
 * is fought over, and the source's release takes the port from its new owner for a moment. Every write of the
 * machine is checked against what must never happen.
 */
#ifndef KVMIG_TESTS_OVN_SIM_H
#define KVMIG_TESTS_OVN_SIM_H

#include "port/ovn_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIM_LSPS 2
#define SIM_CHASSIS 3 /* hv1, hv2, hv3 on node1, node2, node3 */
#define SIM_TICK_MS 5

struct sim_lsp {
    bool exists;
    unsigned generation; /* of the UUID */
    char *requested, *strategy, *owner, *previous;
    unsigned others; /* keys of other writers, for exact guards */
    bool no_address;
    char *first_strategy; /* what stood there before anybody came */
    /* SB; chassis by number, -1 = none */
    int want, main;
    bool want_additional[SIM_CHASSIS], additional[SIM_CHASSIS], activated[SIM_CHASSIS];
    bool emptied; /* northd saw no additional chassis in its last round */
};
struct sim_iface {
    bool plugged, no_ofport, duplicate, installed, had_main;
    unsigned generation;
    int64_t ts, claimed_ms;
    int64_t changed_ms, moved_ms; /* any change; a claim or release */
    bool installing;
};
struct sim_chassis {
    bool known, runs; /* has a Chassis row; ovn-controller runs */
    int64_t nb_cfg;
    struct sim_iface ifaces[SIM_LSPS];
};
/* An order that is out. */
struct sim_order {
    bool out, is_bump;
    int64_t due_ms;
    char *write;
    struct {
        struct sim_edit *v;
        size_t n;
    } edits;
};
struct sim_edit {
    size_t lsp;
    unsigned generation;
    bool exact;
    char *if_owner, *if_requested, *if_previous;
    char *was_requested, *was_strategy, *was_owner, *was_previous; /* when it was ordered */
    unsigned was_others;
    char *requested, *strategy, *owner, *previous;
};
enum sim_fate { /* of the next orders */
                SIM_COMMIT = 0,
                SIM_LOSE_BEFORE, /* the answer is lost; was not committed */
                SIM_LOSE_AFTER, /* the answer is lost; was committed */
                SIM_LOSE_AND_COMMIT_LATE, /* the answer is lost; is committed after it, if nothing else is before */
                SIM_DENY, /* the server refuses it */
                SIM_UNSENT,
};
struct sim {
    struct kvmig__ovn_machine *machine;
    int64_t now_ms;
    int32_t strategy;
    const char *version;
    bool with_sb, with_ovs, barrier_off;
    bool nb_down, sb_down, ovs_down, northd_stopped;
    bool hangs; /* no order is answered */
    int64_t nb_cfg, sb_nb_cfg, bumped_ms, bumped;
    struct sim_lsp lsps[SIM_LSPS];
    size_t n_lsps;
    struct sim_chassis chassis[SIM_CHASSIS];
    struct sim_order order, bump;
    enum sim_fate fate;
    int late_ms; /* SIM_LOSE_AND_COMMIT_LATE */
    struct sim_order late; /* that commit */
    int64_t commits;
    int64_t late_commits_seen;
    uint32_t random; /* 0 = every party acts in every tick */
    /* what the machine said */
    int32_t state;
    bool ended, by_gc;
    struct kvmig_error *error;
    struct kvmig__strlist notes; /* "what" */
    char *last_detail; /* of the note that was asked for */
    const char *want_detail;
    int64_t wake_ms;
    size_t writes, bumps;
    char *last_write;
};

void sim_init(struct sim *sim, int32_t strategy);
void sim_clear(struct sim *sim);
/* The machine's process dies; another one, of the same owner or not, goes on. */
void sim_restart(struct sim *sim, const char *owner);
void sim_pin(struct sim *sim, size_t lsp, const char *requested, const char *strategy);
void sim_own(struct sim *sim, size_t lsp, const char *owner, const char *previous);
void sim_plug(struct sim *sim, size_t chassis, bool plugged); /* the interfaces of all ports */
void sim_announce(struct sim *sim, size_t chassis); /* RARP on all ports */
void sim_recreate(struct sim *sim, size_t lsp);
/* One wish of the machine. */
void sim_wish(struct sim *sim, enum kvmig__ovn_wish wish, const char *a, const char *b);
/* One tick: every party acts, orders come back, the machine steps. */
void sim_tick(struct sim *sim);
void sim_run(struct sim *sim, int64_t ms);
/* Until the wish has ended (asserts that it does, within ms). */
void sim_finish(struct sim *sim, int64_t ms);
/* Nothing of ours is left, and the port is pinned to the winner alone. */
void sim_assert_clean(const struct sim *sim, const char *winner);
size_t sim_count(const struct sim *sim, const char *note);
void sim_assert_error(const struct sim *sim, int32_t code, const char *part);
/* For its own files. */
char *sim_uuid_of(const struct sim *sim, size_t lsp); /* owned */
void sim_order_clear(struct sim_order *order);
bool sim_commit(struct sim *sim, const struct sim_order *order); /* false: a guard does not hold */
void sim_take_orders(struct sim *sim, const struct kvmig__ovn_orders *orders);
void sim_carry_out(struct sim *sim);

uint32_t sim_random(struct sim *sim, uint32_t n); /* 0 .. n - 1 */

#endif
