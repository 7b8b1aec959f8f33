/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of the OVN port's machine, for its own files: what it remembers, how the facts are judged in each
 * state, and how the orders are made. Pure; needs whatever lock its owner has.
 */
#ifndef KVMIG_SRC_OVN_MACHINE_H
#define KVMIG_SRC_OVN_MACHINE_H

#include "base/finding_internal.h"
#include "port/ovn.h"
#include "port/ovn_states.h"

/* ---- ovn_facts.c ---- */

/* The chassis' own name; NULL if SB does not know it. Borrowed from the facts. */
const char *kvmig__ovn_chassis_name(const struct kvmig__ovn_facts *facts, const char *name_or_host);
/* Spelled alike, or known to SB as one. false if one is NULL. */
bool kvmig__ovn_same_chassis(const struct kvmig__ovn_facts *facts, const char *a, const char *b);
struct kvmig__ovn_pin {
    size_t n; /* chassis in requested-chassis; 0 = unpinned */
    bool main; /* the first is the one asked about */
    bool additional; /* a later one is */
    bool is_alone, is_pair; /* exactly that one; exactly these two */
};
struct kvmig__ovn_pin kvmig__ovn_pin_of(const struct kvmig__ovn_facts *facts, const struct kvmig__ovn_lsp *lsp,
                                        const char *main, const char *additional);
bool kvmig__ovn_iface_is_ready(const struct kvmig__ovn_iface *iface);
bool kvmig__ovn_is_current(const struct kvmig__ovn_source *source); /* and used */
const struct kvmig__ovn_lsp *kvmig__ovn_lsp_by_uuid(const struct kvmig__ovn_facts *facts, const char *uuid);
const struct kvmig__ovn_lsp *kvmig__ovn_lsp_by_name(const struct kvmig__ovn_facts *facts, const char *name);

/* ---- what the machine remembers ---- */

enum kvmig__ovn_place { /* of what the watch looks at */
                        KVMIG__OVN_NOWHERE = 0,
                        KVMIG__OVN_AT_TARGET, /* the target as an additional chassis */
                        KVMIG__OVN_AT_WINNER, /* the winner, alone */
};
enum kvmig__ovn_slot { /* which of the two watched chassis */
                       KVMIG__OVN_NO_SLOT = 0,
                       KVMIG__OVN_SOURCE_SLOT,
                       KVMIG__OVN_TARGET_SLOT,
};
/* A logical port that was seen, for as long as the machine lives: what it did with it, and what the watch saw. */
struct kvmig__ovn_record {
    char *uuid, *name;
    bool ours; /* it carried our token */
    bool bound_once; /* SB has shown a chassis */
    bool settled; /* the last settlement was ordered for it, */
    bool released; /* and was committed */
    /* the watch */
    bool claimed; /* was right at least once at this place */
    bool right; /* everything is as it must be */
    char *uuid_seen, *ts_seen; /* of the interface when it was right */
    int64_t right_since_ms, flapped_ms;
    uint64_t flaps;
};
/* A wish as it was made. */
struct kvmig__ovn_asked {
    enum kvmig__ovn_wish wish;
    const char *a, *b;
    int64_t min_age_ms;
};
struct kvmig__ovn_machine {
    char *owner, *name; /* const */
    int32_t strategy; /* const */
    int64_t prepare_ms, verify_ms, activation_ms, converge_ms; /* const */

    enum kvmig__ovn_state state;
    /* the wish that runs, or ran last */
    bool runs;
    enum kvmig__ovn_wish wish;
    bool is_undoing; /* a preparation has failed, and is put back */
    char *source, *target; /* of the preparation; NULL = none known */
    char *winner; /* of the settlement; NULL = not known yet */
    char *watch_source, *watch_target; /* what the driver looks at */
    bool adopted; /* learned in this step: the facts are still without those chassis' own databases */
    int64_t min_age_ms;
    int64_t deadline_ms, activation_ends_ms, retry_ms, backoff_ms, quiet_at_ms;
    struct kvmig__strlist told; /* notes that are made once in a wish */
    /* orders that are out */
    bool write_out, bump_out;
    bool write_prepares; /* the write that is out pins or extends */
    /* what was done */
    bool wrote; /* the preparation has written, or may have */
    bool lost; /* a write that prepares may still come */
    bool unproven; /* settled, but not proven */
    enum kvmig__ovn_wish ordered_wish,
        settled_wish; /* the last settlement that was ordered; that was written, or may have been */
    char *ordered_winner, *settled_winner; /* and for whom */
    bool activation_told;
    int64_t patience_ends_ms; /* until when a loser has to let go of the port */
    bool is_patient; /* that is not over */
    /* the watch */
    enum kvmig__ovn_place place;
    bool watch_broken; /* a database was away: what was seen before does not count */
    uint64_t epoch; /* grows whenever something that was right changed */
    int64_t barrier; /* nb_cfg to be reached */
    uint64_t barrier_epoch; /* when it was ordered */
    struct {
        struct kvmig__ovn_record *v;
        size_t n;
    } records;
    /* for people */
    char *waits_for; /* what is missing; NULL = nothing is known */
    struct kvmig_error *refusal; /* of the last judgement that refused */
    struct kvmig_error *first_error; /* of the preparation that is put back */
    struct kvmig_error *order_error; /* why the last order was not carried out */
    struct kvmig__ovn_orders out; /* collected until the step ends */
};

/* ---- ovn_wish.c ---- */
void kvmig__ovn_take(struct kvmig__ovn_machine *m, const struct kvmig__ovn_asked *asked, int64_t now_ms);
/* A preparation has failed; takes the error. */
void kvmig__ovn_begin_undo(struct kvmig__ovn_machine *m, struct kvmig_error *error, int64_t now_ms);
void kvmig__ovn_remember_write(struct kvmig__ovn_machine *m, enum kvmig__ovn_carried how, int64_t now_ms);

/* ---- ovn_machine.c ---- */
bool kvmig__ovn_is_due(int64_t when_ms, int64_t now_ms);

/* ---- ovn_say.c: words for people ---- */
/* Takes detail. */
void kvmig__ovn_note(struct kvmig__ovn_machine *m, const char *what, char *detail);
void kvmig__ovn_note_once(struct kvmig__ovn_machine *m, const char *what, char *detail); /* once in a wish */
/* What has to happen before the wish can go on; replaces what was said before. */
void kvmig__ovn_waits_for(struct kvmig__ovn_machine *m, const char *fmt, ...) KVMIG__PRINTF(2, 3);
/* Takes the error. */
void kvmig__ovn_refuse(struct kvmig__ovn_machine *m, struct kvmig_error *error);
/* The detail of a note of the table. Owned; may be NULL. facts NULL: the end of an order is told. */
char *kvmig__ovn_note_detail(const struct kvmig__ovn_machine *m, const char *what, const struct kvmig__ovn_facts *facts,
                             int64_t now_ms);
/* The options of a port as JSON, as evidence; code: a finding's or NULL. Owned. */
char *kvmig__ovn_evidence(const struct kvmig__ovn_lsp *lsp, const char *code);
struct kvmig_error *kvmig__ovn_late_error(const struct kvmig__ovn_machine *m); /* the deadline has passed */
struct kvmig_error *kvmig__ovn_undo_error(const struct kvmig__ovn_machine *m, const struct kvmig_error *second);

/* ---- ovn_watch.c: what changed from step to step ---- */
void kvmig__ovn_record_clear(struct kvmig__ovn_record *record);
struct kvmig__ovn_record *kvmig__ovn_record_of(struct kvmig__ovn_machine *m,
                                               const struct kvmig__ovn_lsp *lsp); /* NULL: none */
/* Keeps the records and the watch current; the first thing in every step. */
void kvmig__ovn_watch(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts, int64_t now_ms);
void kvmig__ovn_watch_begin(struct kvmig__ovn_machine *m, enum kvmig__ovn_place place);
/* The port belongs to what is watched: all of them at the target; at the winner those that were settled and are still
 * so. */
bool kvmig__ovn_is_watched(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                           const struct kvmig__ovn_lsp *lsp);
/* MISSING, UNQUIET (and since when it will do in m->quiet_at_ms), QUIET or PROVEN by time; says what is missing. */
enum kvmig__ovn_input kvmig__ovn_watch_judge(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                             int64_t now_ms);
enum kvmig__ovn_input kvmig__ovn_barrier_judge(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                               int64_t now_ms);
enum kvmig__ovn_slot kvmig__ovn_slot_of(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                        const char *chassis);
const struct kvmig__ovn_source *kvmig__ovn_ovs_of(const struct kvmig__ovn_facts *facts, enum kvmig__ovn_slot slot);
int64_t kvmig__ovn_nb_cfg_of(const struct kvmig__ovn_facts *facts, enum kvmig__ovn_slot slot); /* -1 = unknown */
uint64_t kvmig__ovn_flaps(const struct kvmig__ovn_machine *m);

/* ---- ovn_seen.c: one look at one port ---- What is not right; NULL = all is. Owned. */
char *kvmig__ovn_missing_at_target(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                   const struct kvmig__ovn_lsp *lsp);
char *kvmig__ovn_missing_at_winner(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                   const struct kvmig__ovn_lsp *lsp, const struct kvmig__ovn_record *record);

/* ---- judging; each says why it waits or refuses ---- */
enum kvmig__ovn_input kvmig__ovn_judge_prepare(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                               int64_t now_ms); /* ovn_prepare.c */
enum kvmig__ovn_input kvmig__ovn_judge_arm(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                           int64_t now_ms); /* ovn_verify.c */
enum kvmig__ovn_input kvmig__ovn_judge_verify(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                              int64_t now_ms); /* ovn_verify.c */
enum kvmig__ovn_input kvmig__ovn_judge_rest(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts);
enum kvmig__ovn_input kvmig__ovn_judge_release(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                               int64_t now_ms); /* ovn_settle.c */
enum kvmig__ovn_input kvmig__ovn_judge_home(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                            int64_t now_ms); /* ovn_settle.c */

/* The target is activated on every port; false if there is none. (ovn_verify.c) */
bool kvmig__ovn_all_activated(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts);
/* Every port carries our token and the pair; *out_first: one that does not, NULL if there are no ports at all.
 * (ovn_verify.c) */
bool kvmig__ovn_all_ours(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                         const struct kvmig__ovn_lsp **out_first);

/* ---- ordering ---- */
void kvmig__ovn_order_pin(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts); /* ovn_prepare.c */
void kvmig__ovn_order_extend(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts); /* ovn_prepare.c */
void kvmig__ovn_order_settle(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts); /* ovn_settle.c */

/* ---- ovn_left.c: which ports a settlement is about ---- */
enum kvmig__ovn_left {
    KVMIG__OVN_LEFT_OURS, /* has to be written */
    KVMIG__OVN_LEFT_DONE, /* is as it should be */
    KVMIG__OVN_LEFT_KEPT, /* as this machine left it, for another winner */
    KVMIG__OVN_LEFT_UNTOUCHED, /* nothing was ever written, and nothing has to be */
    KVMIG__OVN_LEFT_TAKEN, /* somebody else's now */
    KVMIG__OVN_LEFT_RECREATED, /* another port of the same name */
};
enum kvmig__ovn_left kvmig__ovn_left_of(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                        const struct kvmig__ovn_lsp *lsp);
bool kvmig__ovn_has_owner(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_lsp *lsp); /* our token */
/* What gc has to clean up: any token, pair or strategy that is left. */
bool kvmig__ovn_is_leftover(const struct kvmig__ovn_lsp *lsp);
void kvmig__ovn_note_gone(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts);

/* ---- ovn_names.c ---- */
/* NULL: OVN would take it for one name. */
struct kvmig_error *kvmig__ovn_check_spelling(const struct kvmig__ovn_machine *m, const char *chassis,
                                              const char *role);
/* NULL: source and target may be meant. */
struct kvmig_error *kvmig__ovn_check_pair(struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts);
struct kvmig_error *kvmig__ovn_check_known(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                                           const char *chassis);
/* How source and target are written for this port: as the source is pinned already, else as the caller named it.
 * Owned. */
char *kvmig__ovn_source_form(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                             const struct kvmig__ovn_lsp *lsp);
char *kvmig__ovn_target_form(const struct kvmig__ovn_machine *m, const struct kvmig__ovn_facts *facts,
                             const char *source_form);

#endif
