/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inside of the OVN backend, for ovn_{port,databases,gather,transact,json}.c: from the rows of OVN's databases to
 * the facts of the machine (ovn.h), and from its orders to transactions. Everything needs the context lock, but for
 * what is called pure.
 */
#ifndef KVMIG_SRC_OVN_PORT_H
#define KVMIG_SRC_OVN_PORT_H

#include "base/finding_internal.h"
#include "port/ovn.h"
#include "port/ovsdb.h"

#define KVMIG__OVN_MAX_LSPS 64 /* logical ports of one handle */

/* ---- the databases of one port (ovn_databases.c) ---- */

/* Tables by their place in the monitors. */
enum kvmig__ovn_nb_table { KVMIG__NB_LSP, KVMIG__NB_GLOBAL };
enum kvmig__ovn_sb_table { KVMIG__SB_BINDING, KVMIG__SB_CHASSIS, KVMIG__SB_PRIVATE, KVMIG__SB_GLOBAL };
enum kvmig__ovn_ovs_table { KVMIG__OVS_INTERFACE, KVMIG__OVS_BRIDGE, KVMIG__OVS_OPEN };

struct kvmig__ovn_database {
    struct kvmig__ovsdb *db; /* NULL = not used */
    struct kvmig__ovsdb_monitor *rows;
};
struct kvmig__ovn_local { /* what the caller told of one chassis */
    char *chassis; /* name or host name, as the caller wrote it */
    char *host; /* what the caller's wishes call it; NULL = the same */
    struct kvmig__ovn_database ovs; /* of its Open vSwitch; may be unused */
};
struct kvmig__ovn_databases {
    struct kvmig__ovn_database nb, sb;
    struct {
        struct kvmig__ovn_local *v;
        size_t n;
    } locals;
    struct kvmig__strlist lsps; /* logical ports that SB and the local databases are asked for */
    struct kvmig__strlist chassis; /* those whose nb_cfg SB is asked for */
    bool nb_doubtful; /* a write may be under way still: what NB shows is not what it will be */
};
/* Connects to the databases of opts, in the background. changed() is that of the monitors. Errors: -EINVAL (names the
 * option); nothing is left then. */
struct kvmig_error *kvmig__ovn_databases_open(struct kvmig__ovn_databases *databases, struct kvmig_context *context,
                                              const struct kvmig_port_ovn_opts *opts, void (*changed)(void *data),
                                              void *data);
void kvmig__ovn_databases_close(struct kvmig__ovn_databases *databases);
/* What OVN may know as a chassis, for a name that a wish used. Borrowed; NULL gives NULL. */
const char *kvmig__ovn_databases_chassis(const struct kvmig__ovn_databases *databases, const char *name);
/* Asks SB and the local databases for the logical ports that NB has now, and SB for these two chassis (NULL = none). */
void kvmig__ovn_databases_follow(struct kvmig__ovn_databases *databases, const char *source, const char *target);

/* ---- facts (ovn_gather.c) ---- *facts is empty before. source, target: as the wish named them; NULL = none yet. */
void kvmig__ovn_gather(const struct kvmig__ovn_databases *databases, const char *source, const char *target,
                       struct kvmig__ovn_facts *facts);
/* A name or host name as SB knows it; the text itself if it does not (or is not there). */
const char *kvmig__ovn_rows_chassis(const struct kvmig__ovn_databases *databases, const char *name_or_host);
/* The interface of that logical port in one local database. *iface is empty before. */
void kvmig__ovn_gather_iface(const struct kvmig__ovn_local *local, const char *lsp, struct kvmig__ovn_iface *iface);
void kvmig__ovn_iface_clear(struct kvmig__ovn_iface *iface);
/* How current it is, and which chassis it turns out to be. *source is empty before. */
void kvmig__ovn_gather_local(const struct kvmig__ovn_databases *databases, const struct kvmig__ovn_local *local,
                             struct kvmig__ovn_source *source);

/* ---- transactions (ovn_transact.c) ---- pure; owned. */
/* Operations for one edit, added to the array. row: of the logical port, as the facts have it; needed if the guard is
 * exact. */
void kvmig__ovn_add_edit(struct json_object *operations, const struct kvmig__ovn_edit *edit,
                         const struct kvmig__ovsdb_row *row);
void kvmig__ovn_add_comment(struct json_object *operations, const char *write, const char *owner);
struct json_object *kvmig__ovn_bump_operations(void);
/* The new value from what the bump answered; false: it has none (NB was never initialised). */
bool kvmig__ovn_bump_result(struct json_object *results, int64_t *out_nb_cfg);
struct json_object *kvmig__ovn_look_operations(void); /* reads, and changes nothing */

/* ---- findings (ovn_findings.c) ---- What is wrong with the ports as they are; pure. name: of the handle. */
void kvmig__ovn_find(const struct kvmig__ovn_facts *facts, const char *name, struct kvmig_findings *findings);

/* ---- JSON (ovn_json.c) ---- */
void kvmig__ovn_add_json(const struct kvmig__ovn_databases *databases, const struct kvmig__ovn_facts *facts,
                         struct json_object *object);

#endif
