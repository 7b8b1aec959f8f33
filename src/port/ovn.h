/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The OVN port without OVN: facts in, orders out. Pure: no clock, descriptor, JSON or database; the driver (ovn_port.c)
 * gathers facts from NB, SB and the chassis' OVS databases, and carries the orders out. Everything is level-triggered:
 * each step looks at the facts as they are, so a lost answer, a second owner, a restarted northd or a re-created port
 * need no case of their own.
 *
 * All logical ports of one handle go together: in one transaction, and a step is done when it is done for all.
 */
#ifndef KVMIG_SRC_OVN_H
#define KVMIG_SRC_OVN_H

#include "base/base.h"
#include <kvmig/port.h>

/* ---- facts ---- */

struct kvmig__ovn_iface { /* the OVS interface with that iface-id on one chassis */
    size_t rows; /* 0 = none, more than 1 = a duplicate iface-id; the rest is of the first */
    char *uuid, *name, *error;
    int64_t ofport; /* <= 0 = none */
    bool link_up;
    bool installed; /* external_ids:ovn-installed is "true" */
    char *installed_ts; /* external_ids:ovn-installed-ts; NULL = none. Survives the flag */
};
struct kvmig__ovn_lsp {
    char *uuid, *name;
    /* NB; NULL = the key is not there */
    char *requested_chassis, *activation_strategy;
    char *owner, *previous; /* external_ids kvmig-owner, kvmig-previous */
    bool has_address; /* at least one of addresses that OVN can read */
    /* SB */
    bool has_binding;
    char *chassis; /* names, never host names; NULL = unbound */
    char *requested; /* Port_Binding.requested_chassis */
    struct kvmig__strlist additional, requested_additional, activated;
    bool up;
    /* OVS */
    struct kvmig__ovn_iface at_source, at_target;
};
struct kvmig__ovn_chassis {
    char *name, *hostname;
};
struct kvmig__ovn_source { /* one database */
    bool used; /* the caller gave remotes for it */
    bool current; /* its facts are those of a live connection */
    char *trouble; /* why not, for messages; NULL if nothing is known */
};
struct kvmig__ovn_facts {
    struct kvmig__ovn_source nb, sb, ovs_source, ovs_target;
    struct {
        struct kvmig__ovn_lsp *v;
        size_t n;
    } lsps; /* those that exist in NB now */
    struct {
        struct kvmig__ovn_chassis *v;
        size_t n;
    } chassis; /* all, if SB is used */
    bool has_additional; /* the SB schema knows additional_chassis (OVN 22.06) */
    char *ovn_version; /* northd's own, "23.03.1"; NULL = unknown */
    bool barrier_off; /* NB_Global options:enable_chassis_nb_cfg_update is "false" */
    /* How far the chassis have got with NB_Global.nb_cfg: the larger of Chassis_Private (SB) and br-int (OVS); -1 =
     * unknown. */
    int64_t source_nb_cfg, target_nb_cfg;
    int64_t wall_ms; /* since 1970, for the age of what others left */
};
void kvmig__ovn_facts_clear(struct kvmig__ovn_facts *facts);

/* ---- pure helpers (ovn_rules.c) ---- */

/* By name first, then by host name, as OVN does. NULL: none. *out_ambiguous: several have that host name. */
const struct kvmig__ovn_chassis *kvmig__ovn_chassis_find(const struct kvmig__ovn_facts *facts, const char *name_or_host,
                                                         bool *out_ambiguous);
/* The value for activation-strategy ("rarp", "rarp,garp,na"), NULL for none. Errors: -ENOTSUP if this OVN would ignore
 * what was asked for (or has no multi-chassis ports at all). */
struct kvmig_error *kvmig__ovn_strategy(int32_t wanted, const char *ovn_version, bool has_additional,
                                        const char **out_value);
/* A list of OVN, "a,b": not trimmed, as OVN does not either. NULL is an empty list. (ovn_facts.c) */
void kvmig__ovn_list_split(const char *text, struct kvmig__strlist *out_list);
/* An entry of a logical port's addresses that OVN reads as an address: it begins with a MAC. Not "unknown",
 * "dynamic". */
bool kvmig__ovn_is_address(const char *text);
/* This OVN (from 25.09) keeps a port silent address by address: one that has none would forward at once, whatever its
 * activation-strategy. false if the version is unknown. */
bool kvmig__ovn_blocks_addresses(const char *ovn_version);
/* For OVN's claim throttle: unchanged for this long means stable. By version; the longest if it is unknown. */
int64_t kvmig__ovn_stable_ms(const char *ovn_version);

/* What stood there before, as text for external_ids:kvmig-previous; NULL members = absent. (ovn_previous.c; a small
 * format of our own that is written and read without a JSON library, escaping what it must.) */
struct kvmig__ovn_previous {
    char *requested_chassis, *activation_strategy;
    char *source, *target; /* as written by prepare */
    /* What prepare wrote beside the pair: activation-strategy, or "none"; NULL = it has not written the pair yet. */
    char *activation;
    int64_t since_ms; /* wall clock; 0 = unknown */
};
char *kvmig__ovn_previous_write(const struct kvmig__ovn_previous *previous);
bool kvmig__ovn_previous_read(const char *text,
                              struct kvmig__ovn_previous *out_previous); /* false: not ours or damaged */
void kvmig__ovn_previous_clear(struct kvmig__ovn_previous *previous);

/* ---- the machine (ovn_machine.c, ovn_table.h) ---- */

struct kvmig__ovn_config {
    const char *owner; /* the token; copied */
    const char *name; /* of the handle, for messages; copied */
    int32_t strategy; /* enum kvmig_port_strategy */
    int64_t prepare_ms, verify_ms, activation_ms, converge_ms;
};
enum kvmig__ovn_wish {
    KVMIG__OVN_PREPARE, /* a = source, b = target */
    KVMIG__OVN_VERIFY,
    /* As VERIFY, but if no interface is there yet it is enough that the target's ovn-controller has answered a barrier
     * that was bumped after the preparation: libvirt plugs it in the migrate call. State stays PREPARED. */
    KVMIG__OVN_VERIFY_LATE,
    KVMIG__OVN_CONVERGE, /* a = winner */
    KVMIG__OVN_CONVERGE_NOW, /* likewise, without waiting for the guest's announcement */
    KVMIG__OVN_ROLLBACK, /* a = source; NULL = the one that the preparation, or the ports themselves, name */
    KVMIG__OVN_GC, /* a = winner; min_age_ms */
};

/* An edit of one logical port, in one transaction with the others. NULL = remove the key. */
struct kvmig__ovn_edit {
    const char *uuid; /* borrowed from the facts */
    bool exact; /* guard: options and external_ids are as the facts have them, in whole */
    const char *if_owner, *if_requested; /* guard if not exact: both are still so; never NULL then */
    const char *if_previous; /* and so is this, which is another one in each preparation; NULL = it is not there */
    char *requested_chassis, *activation_strategy, *owner, *previous; /* owned */
};
/* A line of the timeline. */
struct kvmig__ovn_note {
    char *what; /* stable word; the table of the section on ports in docs/guide.md has all of them */
    char *detail; /* JSON text or NULL */
};
struct kvmig__ovn_orders {
    /* Why the edits are made ("prepare"), for the transaction's comment; NULL = no write. One is out at a time. */
    const char *write;
    struct {
        struct kvmig__ovn_edit *v;
        size_t n;
    } edits;
    bool bump; /* add 1 to NB_Global.nb_cfg and tell the new value; one is out at a time */
    int32_t state; /* enum kvmig_port_state */
    bool ended; /* the wish that runs has ended, so: */
    struct kvmig_error *error; /* why it failed; NULL = it did not */
    struct {
        struct kvmig__ovn_note *v;
        size_t n;
    } notes;
    int64_t wake_ms; /* step again by then, also if no fact changes; INT64_MAX = never */
};
void kvmig__ovn_orders_clear(struct kvmig__ovn_orders *orders);

struct kvmig__ovn_machine;
struct kvmig__ovn_machine *kvmig__ovn_machine_new(const struct kvmig__ovn_config *config);
void kvmig__ovn_machine_free(struct kvmig__ovn_machine *machine);
/* A new wish takes the place of the one that runs (which is not answered any more). Strings copied. */
void kvmig__ovn_machine_wish(struct kvmig__ovn_machine *machine, enum kvmig__ovn_wish wish, const char *a,
                             const char *b, int64_t min_age_ms, int64_t now_ms);
/* Looks at the facts and says what to do. To be called whenever a fact changed, an order was carried out, a wish was
 * made, or wake_ms came. *orders is empty before. */
void kvmig__ovn_machine_step(struct kvmig__ovn_machine *machine, const struct kvmig__ovn_facts *facts, int64_t now_ms,
                             struct kvmig__ovn_orders *orders);
/* How a write or bump ended. */
enum kvmig__ovn_carried {
    KVMIG__OVN_WRITTEN, /* committed; the facts show it already */
    KVMIG__OVN_CONFLICT, /* a guard did not hold: nothing was written */
    KVMIG__OVN_LOST, /* it may have been written: fresh facts will tell */
    KVMIG__OVN_NOT_WRITTEN, /* error says why */
};
void kvmig__ovn_machine_written(struct kvmig__ovn_machine *machine, enum kvmig__ovn_carried how,
                                const struct kvmig_error *error, int64_t now_ms);
void kvmig__ovn_machine_bumped(struct kvmig__ovn_machine *machine, enum kvmig__ovn_carried how, int64_t nb_cfg,
                               const struct kvmig_error *error, int64_t now_ms);
/* What the driver has to watch: as the wish named them; NULL = none yet. Where the wish names none, a step may learn
 * them from what another process of the owner wrote; it asks to be stepped again at once then. Borrowed until the next
 * wish or step. */
const char *kvmig__ovn_machine_source(const struct kvmig__ovn_machine *machine);
const char *kvmig__ovn_machine_target(const struct kvmig__ovn_machine *machine);
const char *kvmig__ovn_machine_state_name(const struct kvmig__ovn_machine *machine); /* of the inner state, for logs */

#endif
