/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From rows to facts: what NB, SB and the chassis' own databases say of the logical ports of one handle, in the
 * machine's words. Judges nothing but whether a database is current, and whether it is that of the chassis it was given
 * for. Needs the context lock (rows belong to the monitors); facts are copies, and the caller's.
 */
#include "port/ovn_port.h"

#include <stdlib.h>
#include <string.h>

/* ---- databases ---- */

static char *trouble_text(const struct kvmig__ovsdb *db)
{
    const struct kvmig_error *error = kvmig__ovsdb_trouble(db);
    const char *evidence, *hint;

    if (!error)
        return NULL;
    evidence = kvmig_error_evidence(error);
    hint = kvmig_error_hint(error);
    return kvmig__asprintf("%s%s%s%s%s%s", error->message, *evidence ? " (" : "", evidence, *evidence ? ")" : "",
                           *hint ? " " : "", hint);
}

static void gather_source(const struct kvmig__ovn_database *database, struct kvmig__ovn_source *source)
{
    source->used = database->db != NULL;
    source->current = source->used && kvmig__ovsdb_monitor_is_current(database->rows);
    if (source->used && !source->current)
        source->trouble = trouble_text(database->db);
}

static const struct kvmig__ovsdb_row *first_row(const struct kvmig__ovn_database *database, size_t table)
{
    if (!database->rows || !kvmig__ovsdb_row_count(database->rows, table))
        return NULL;
    return kvmig__ovsdb_row(database->rows, table, 0);
}

static const struct kvmig__ovsdb_row *row_with(const struct kvmig__ovn_database *database, size_t table,
                                               const char *column, const char *text)
{
    for (size_t i = 0; database->rows && i < kvmig__ovsdb_row_count(database->rows, table); i++) {
        const struct kvmig__ovsdb_row *row = kvmig__ovsdb_row(database->rows, table, i);

        if (kvmig__str_eq(kvmig__ovsdb_str(row, column), text))
            return row;
    }
    return NULL;
}

/* ---- chassis ---- */

const char *kvmig__ovn_rows_chassis(const struct kvmig__ovn_databases *databases, const char *name_or_host)
{
    const struct kvmig__ovsdb_row *row = row_with(&databases->sb, KVMIG__SB_CHASSIS, "name", name_or_host);
    const char *name;

    if (!row)
        row = row_with(&databases->sb, KVMIG__SB_CHASSIS, "hostname", name_or_host);
    name = row ? kvmig__ovsdb_str(row, "name") : NULL;
    return name ? name : name_or_host;
}

static void gather_chassis(const struct kvmig__ovn_databases *databases, struct kvmig__ovn_facts *facts)
{
    for (size_t i = 0; i < kvmig__ovsdb_row_count(databases->sb.rows, KVMIG__SB_CHASSIS); i++) {
        const struct kvmig__ovsdb_row *row = kvmig__ovsdb_row(databases->sb.rows, KVMIG__SB_CHASSIS, i);
        const char *name = kvmig__ovsdb_str(row, "name");

        if (name)
            *KVMIG__PUSH(&facts->chassis) = (struct kvmig__ovn_chassis){
                .name = kvmig__strdup(name),
                .hostname = kvmig__strdup(kvmig__ovsdb_str(row, "hostname")),
            };
    }
}

/* The name of a referenced chassis. A row that is not there (yet) is told by its UUID, which is no chassis that anybody
 * asks for. */
static char *referenced_name(const struct kvmig__ovn_databases *databases, const char *uuid)
{
    const struct kvmig__ovsdb_row *row =
        uuid ? kvmig__ovsdb_row_by_uuid(databases->sb.rows, KVMIG__SB_CHASSIS, uuid) : NULL;
    const char *name = row ? kvmig__ovsdb_str(row, "name") : NULL;

    return kvmig__strdup(name ? name : uuid);
}

static void add_referenced(const struct kvmig__ovn_databases *databases, const struct kvmig__ovsdb_row *row,
                           const char *column, struct kvmig__strlist *names)
{
    const struct kvmig__ovsdb_value *value = kvmig__ovsdb_column(row, column);

    for (size_t i = 0; value && i < value->keys.n; i++) {
        char *name = referenced_name(databases, value->keys.v[i]);

        kvmig__strlist_add(names, name);
        free(name);
    }
}

/* ---- logical ports ---- */

static void gather_binding(const struct kvmig__ovn_databases *databases, struct kvmig__ovn_lsp *lsp)
{
    const struct kvmig__ovsdb_row *row = row_with(&databases->sb, KVMIG__SB_BINDING, "logical_port", lsp->name);

    if (!row)
        return;
    lsp->has_binding = true;
    lsp->chassis = referenced_name(databases, kvmig__ovsdb_str(row, "chassis"));
    lsp->requested = referenced_name(databases, kvmig__ovsdb_str(row, "requested_chassis"));
    add_referenced(databases, row, "additional_chassis", &lsp->additional);
    add_referenced(databases, row, "requested_additional_chassis", &lsp->requested_additional);
    kvmig__ovn_list_split(kvmig__ovsdb_key(row, "options", "additional-chassis-activated"), &lsp->activated);
    lsp->up = kvmig__ovsdb_bool(row, "up");
}

void kvmig__ovn_gather_iface(const struct kvmig__ovn_local *local, const char *lsp, struct kvmig__ovn_iface *iface)
{
    const struct kvmig__ovsdb_monitor *rows = local->ovs.rows;

    for (size_t i = 0; rows && i < kvmig__ovsdb_row_count(rows, KVMIG__OVS_INTERFACE); i++) {
        const struct kvmig__ovsdb_row *row = kvmig__ovsdb_row(rows, KVMIG__OVS_INTERFACE, i);

        if (!kvmig__str_eq(kvmig__ovsdb_key(row, "external_ids", "iface-id"), lsp))
            continue;
        if (iface->rows++)
            continue;
        iface->uuid = kvmig__strdup(row->uuid);
        iface->name = kvmig__strdup(kvmig__ovsdb_str(row, "name"));
        iface->error = kvmig__strdup(kvmig__ovsdb_str(row, "error"));
        if (!kvmig__ovsdb_int(row, "ofport", &iface->ofport))
            iface->ofport = 0;
        iface->link_up = kvmig__str_eq(kvmig__ovsdb_str(row, "link_state"), "up");
        iface->installed = kvmig__str_eq(kvmig__ovsdb_key(row, "external_ids", "ovn-installed"), "true");
        iface->installed_ts = kvmig__strdup(kvmig__ovsdb_key(row, "external_ids", "ovn-installed-ts"));
    }
}

void kvmig__ovn_iface_clear(struct kvmig__ovn_iface *iface)
{
    free(iface->uuid);
    free(iface->name);
    free(iface->error);
    free(iface->installed_ts);
    *iface = (struct kvmig__ovn_iface){ 0 };
}

static bool has_address(const struct kvmig__ovsdb_row *row)
{
    const struct kvmig__ovsdb_value *addresses = kvmig__ovsdb_column(row, "addresses");

    for (size_t i = 0; addresses && i < addresses->keys.n; i++)
        if (kvmig__ovn_is_address(addresses->keys.v[i]))
            return true;
    return false;
}

static void gather_lsp(const struct kvmig__ovn_databases *databases, const struct kvmig__ovn_local *source,
                       const struct kvmig__ovn_local *target, const struct kvmig__ovsdb_row *row,
                       struct kvmig__ovn_lsp *lsp)
{
    lsp->uuid = kvmig__strdup(row->uuid);
    lsp->name = kvmig__strdup(kvmig__ovsdb_str(row, "name"));
    lsp->requested_chassis = kvmig__strdup(kvmig__ovsdb_key(row, "options", "requested-chassis"));
    lsp->activation_strategy = kvmig__strdup(kvmig__ovsdb_key(row, "options", "activation-strategy"));
    lsp->owner = kvmig__strdup(kvmig__ovsdb_key(row, "external_ids", "kvmig-owner"));
    lsp->previous = kvmig__strdup(kvmig__ovsdb_key(row, "external_ids", "kvmig-previous"));
    lsp->has_address = has_address(row);
    if (databases->sb.rows)
        gather_binding(databases, lsp);
    if (source)
        kvmig__ovn_gather_iface(source, lsp->name, &lsp->at_source);
    if (target)
        kvmig__ovn_gather_iface(target, lsp->name, &lsp->at_target);
}

/* ---- local databases ---- */

static const struct kvmig__ovn_local *local_of(const struct kvmig__ovn_databases *databases, const char *chassis)
{
    const char *name;

    if (!chassis)
        return NULL;
    name = kvmig__ovn_rows_chassis(databases, chassis);
    for (size_t i = 0; i < databases->locals.n; i++)
        if (kvmig__str_eq(kvmig__ovn_rows_chassis(databases, databases->locals.v[i].chassis), name))
            return &databases->locals.v[i];
    return NULL;
}

/* NULL if the database is that of the chassis it was given for; else what it says it is, owned. Looking at the
 * interfaces of another chassis would prove the wrong thing. */
static char *other_chassis(const struct kvmig__ovn_databases *databases, const struct kvmig__ovn_local *local)
{
    const struct kvmig__ovsdb_row *row = first_row(&local->ovs, KVMIG__OVS_OPEN);
    const char *system_id = row ? kvmig__ovsdb_key(row, "external_ids", "system-id") : NULL;
    const char *host = row ? kvmig__ovsdb_key(row, "external_ids", "hostname") : NULL;
    const char *name = kvmig__ovn_rows_chassis(databases, local->chassis);

    if (!system_id && !host)
        return kvmig__asprintf(
            "the Open vSwitch database that was given for chassis %s does not say which chassis it is: "
            "external_ids:system-id is not set",
            local->chassis);
    if (kvmig__str_eq(name, system_id) || kvmig__str_eq(local->chassis, system_id))
        return NULL;
    if (kvmig__str_eq(local->chassis, host) && kvmig__str_eq(name, local->chassis)) /* SB cannot tell the name */
        return NULL;
    return kvmig__asprintf("the Open vSwitch database that was given for chassis %s is that of %s (%s)", local->chassis,
                           system_id ? system_id : "a chassis without system-id", host ? host : "no host name");
}

void kvmig__ovn_gather_local(const struct kvmig__ovn_databases *databases, const struct kvmig__ovn_local *local,
                             struct kvmig__ovn_source *source)
{
    gather_source(&local->ovs, source);
    if (!source->current)
        return;
    source->trouble = other_chassis(databases, local);
    source->current = !source->trouble;
}

/* br-int, unless the chassis calls it otherwise. */
static int64_t local_nb_cfg(const struct kvmig__ovn_local *local)
{
    const struct kvmig__ovsdb_row *row = first_row(&local->ovs, KVMIG__OVS_OPEN);
    const char *bridge = row ? kvmig__ovsdb_key(row, "external_ids", "ovn-bridge") : NULL, *text;
    long long value;
    char *end;

    row = row_with(&local->ovs, KVMIG__OVS_BRIDGE, "name", bridge ? bridge : "br-int");
    text = row ? kvmig__ovsdb_key(row, "external_ids", "ovn-nb-cfg") : NULL;
    if (!text)
        return -1;
    value = strtoll(text, &end, 10);
    return *text && !*end && value >= 0 ? value : -1;
}

/* ---- how far the chassis have got ---- */

static int64_t nb_cfg_of(const struct kvmig__ovn_databases *databases, const struct kvmig__ovn_facts *facts,
                         const char *chassis, const struct kvmig__ovn_local *local, const struct kvmig__ovn_source *ovs)
{
    int64_t sb = -1, own = -1;

    if (!chassis)
        return -1;
    if (facts->sb.current) {
        const struct kvmig__ovsdb_row *row =
            row_with(&databases->sb, KVMIG__SB_PRIVATE, "name", kvmig__ovn_rows_chassis(databases, chassis));

        if (!row || !kvmig__ovsdb_int(row, "nb_cfg", &sb))
            sb = -1;
    }
    if (ovs->current)
        own = local_nb_cfg(local);
    return sb > own ? sb : own;
}

/* "23.03.1-20.27.0-70.6" is OVN's version, the schema's, and that of the pipeline. */
static char *northd_version(const struct kvmig__ovn_databases *databases)
{
    const struct kvmig__ovsdb_row *nb = first_row(&databases->nb, KVMIG__NB_GLOBAL);
    const struct kvmig__ovsdb_row *sb = first_row(&databases->sb, KVMIG__SB_GLOBAL);
    const char *text = nb ? kvmig__ovsdb_key(nb, "options", "northd_internal_version") : NULL;

    if (!text && sb)
        text = kvmig__ovsdb_key(sb, "options", "northd_internal_version");
    return text && *text ? kvmig__strndup(text, strcspn(text, "-")) : NULL;
}

/* One VM has a handful of cards. A key that fits a whole network is a mistake, which must neither pin all of its ports nor
 * hold the loop up. */
static void refuse_too_many(const struct kvmig__ovn_databases *databases, struct kvmig__ovn_facts *facts)
{
    const size_t n = kvmig__ovsdb_row_count(databases->nb.rows, KVMIG__NB_LSP);

    if (n <= KVMIG__OVN_MAX_LSPS)
        return;
    facts->nb.current = false;
    free(facts->nb.trouble);
    facts->nb.trouble = kvmig__asprintf("%zu logical ports have this key and value, and one handle moves %d at most: "
                                        "choose a key that only the ports of one VM have",
                                        n, KVMIG__OVN_MAX_LSPS);
}

static void gather_lsps(const struct kvmig__ovn_databases *databases, const struct kvmig__ovn_local *source,
                        const struct kvmig__ovn_local *target, struct kvmig__ovn_facts *facts)
{
    const size_t n = kvmig__ovsdb_row_count(databases->nb.rows, KVMIG__NB_LSP);

    for (size_t i = 0; i < n && n <= KVMIG__OVN_MAX_LSPS; i++)
        gather_lsp(databases, source, target, kvmig__ovsdb_row(databases->nb.rows, KVMIG__NB_LSP, i),
                   KVMIG__PUSH(&facts->lsps));
}

void kvmig__ovn_gather(const struct kvmig__ovn_databases *databases, const char *source, const char *target,
                       struct kvmig__ovn_facts *facts)
{
    const struct kvmig__ovn_local *at_source = local_of(databases, source), *at_target = local_of(databases, target);
    const struct kvmig__ovsdb_row *global = first_row(&databases->nb, KVMIG__NB_GLOBAL);

    gather_source(&databases->nb, &facts->nb);
    if (databases->nb_doubtful && facts->nb.current) {
        facts->nb.current = false;
        facts->nb.trouble = kvmig__strdup("the answer to a transaction was lost; the database is being read again");
    }
    refuse_too_many(databases, facts);
    gather_source(&databases->sb, &facts->sb);
    if (at_source)
        kvmig__ovn_gather_local(databases, at_source, &facts->ovs_source);
    if (at_target)
        kvmig__ovn_gather_local(databases, at_target, &facts->ovs_target);
    if (databases->sb.rows) {
        gather_chassis(databases, facts);
        facts->has_additional = kvmig__ovsdb_has_column(databases->sb.db, "Port_Binding", "additional_chassis");
    }
    gather_lsps(databases, at_source, at_target, facts);
    facts->ovn_version = northd_version(databases);
    facts->barrier_off =
        global && kvmig__str_eq(kvmig__ovsdb_key(global, "options", "enable_chassis_nb_cfg_update"), "false");
    facts->source_nb_cfg = nb_cfg_of(databases, facts, source, at_source, &facts->ovs_source);
    facts->target_nb_cfg = nb_cfg_of(databases, facts, target, at_target, &facts->ovs_target);
    facts->wall_ms = kvmig__wall_ms();
}
