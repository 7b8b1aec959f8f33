/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The databases of one OVN port: which rows of which are watched. NB says which logical ports there are, so what SB and
 * the chassis' own databases are asked for follows NB; never a whole table but for those that have a row per chassis or
 * bridge. Reads nothing out of the rows but names. Needs the context lock. Belongs to the backend (ovn_port.c).
 */
#include "port/ovn_port.h"

#include <stdlib.h>

static const char *const lsp_columns[] = { "name", "options", "external_ids", "addresses", NULL };
static const char *const nb_global_columns[] = { "nb_cfg", "options", NULL };
static const char *const binding_columns[] = {
    "logical_port", "chassis", "additional_chassis", "requested_chassis", "requested_additional_chassis", "up",
    "options",      NULL
};
static const char *const chassis_columns[] = { "name", "hostname", NULL };
static const char *const private_columns[] = { "name", "nb_cfg", NULL };
static const char *const sb_global_columns[] = { "options", NULL };
static const char *const interface_columns[] = { "name", "external_ids", "ofport", "link_state", "error", NULL };
static const char *const bridge_columns[] = { "name", "external_ids", NULL };
static const char *const open_columns[] = { "external_ids", NULL };

/* ---- conditions ---- */

static struct json_object *map_clause(const char *column, const char *key, const char *value)
{
    const char *const pair[] = { key, value };

    return kvmig__ovsdb_json_clause(column, "includes", kvmig__ovsdb_json_map(pair, 1));
}

/* One clause per name; for none, one that no row fulfils (names are never empty). */
static struct json_object *names_where(const char *column, const struct kvmig__strlist *names)
{
    struct json_object *where = json_object_new_array();

    for (size_t i = 0; i < names->n; i++)
        json_object_array_add(where, kvmig__ovsdb_json_clause(column, "==", json_object_new_string(names->v[i])));
    if (!names->n)
        json_object_array_add(where, kvmig__ovsdb_json_clause(column, "==", json_object_new_string("")));
    return where;
}

static struct json_object *interfaces_where(const struct kvmig__strlist *lsps)
{
    struct json_object *where = json_object_new_array();

    for (size_t i = 0; i < lsps->n; i++)
        json_object_array_add(where, map_clause("external_ids", "iface-id", lsps->v[i]));
    if (!lsps->n)
        json_object_array_add(where, map_clause("external_ids", "iface-id", ""));
    return where;
}

static struct json_object *lsp_where(const struct kvmig_port_ovn_opts *opts)
{
    struct json_object *where = json_object_new_array();

    if (opts->lsp)
        json_object_array_add(where, kvmig__ovsdb_json_clause("name", "==", json_object_new_string(opts->lsp)));
    else
        json_object_array_add(where, map_clause("external_ids", opts->match_key, opts->match_value));
    return where;
}

/* ---- opening ---- */

struct opening {
    struct kvmig_context *context;
    const struct kvmig_port_ovn_opts *opts;
    void (*changed)(void *data);
    void *data;
};

/* option names the member, for errors. */
static struct kvmig_error *connect_to(const struct opening *opening, const char *option, const char *remotes,
                                      const char *database, bool leader_only, struct kvmig__ovn_database *out)
{
    const struct kvmig__ovsdb_spec spec = {
        .remotes = remotes,
        .database = database,
        .ca_file = opening->opts->ca_file,
        .cert_file = opening->opts->cert_file,
        .key_file = opening->opts->key_file,
        .leader_only = leader_only,
    };
    char *where = kvmig__asprintf("kvmig_port_open_ovn: %s", option);
    struct kvmig_error *error = kvmig__ovsdb_get(opening->context, &spec, where, &out->db);

    free(where);
    return error;
}

static struct kvmig_error *open_nb(struct kvmig__ovn_databases *databases, const struct opening *opening)
{
    struct kvmig_error *error = connect_to(opening, "nb", opening->opts->nb, "OVN_Northbound", true, &databases->nb);
    struct kvmig__ovsdb_table tables[] = {
        [KVMIG__NB_LSP] = { "Logical_Switch_Port", lsp_columns, NULL },
        [KVMIG__NB_GLOBAL] = { "NB_Global", nb_global_columns, NULL },
    };

    if (error)
        return error;
    tables[KVMIG__NB_LSP].where = lsp_where(opening->opts);
    databases->nb.rows =
        kvmig__ovsdb_monitor_new(databases->nb.db, tables, KVMIG__N_ELEMENTS(tables), opening->changed, opening->data);
    return NULL;
}

static struct kvmig_error *open_sb(struct kvmig__ovn_databases *databases, const struct opening *opening)
{
    struct kvmig__ovsdb_table tables[] = {
        [KVMIG__SB_BINDING] = { "Port_Binding", binding_columns, NULL },
        [KVMIG__SB_CHASSIS] = { "Chassis", chassis_columns, NULL },
        [KVMIG__SB_PRIVATE] = { "Chassis_Private", private_columns, NULL },
        [KVMIG__SB_GLOBAL] = { "SB_Global", sb_global_columns, NULL },
    };
    struct kvmig_error *error;

    if (!opening->opts->sb)
        return NULL;
    error = connect_to(opening, "sb", opening->opts->sb, "OVN_Southbound", true, &databases->sb);
    if (error)
        return error;
    tables[KVMIG__SB_BINDING].where = names_where("logical_port", &databases->lsps);
    tables[KVMIG__SB_PRIVATE].where = names_where("name", &databases->chassis);
    databases->sb.rows =
        kvmig__ovsdb_monitor_new(databases->sb.db, tables, KVMIG__N_ELEMENTS(tables), opening->changed, opening->data);
    return NULL;
}

static struct kvmig_error *open_local(struct kvmig__ovn_databases *databases, const struct opening *opening,
                                      struct kvmig__ovn_local *local, size_t index)
{
    char *option = kvmig__asprintf("ovs[%zu].remotes", index);
    struct kvmig__ovsdb_table tables[] = {
        [KVMIG__OVS_INTERFACE] = { "Interface", interface_columns, NULL },
        [KVMIG__OVS_BRIDGE] = { "Bridge", bridge_columns, NULL },
        [KVMIG__OVS_OPEN] = { "Open_vSwitch", open_columns, NULL },
    };
    struct kvmig_error *error;

    error = connect_to(opening, option, opening->opts->ovs[index]->remotes, "Open_vSwitch", false, &local->ovs);
    free(option);
    if (error)
        return error;
    tables[KVMIG__OVS_INTERFACE].where = interfaces_where(&databases->lsps);
    local->ovs.rows =
        kvmig__ovsdb_monitor_new(local->ovs.db, tables, KVMIG__N_ELEMENTS(tables), opening->changed, opening->data);
    return NULL;
}

struct kvmig_error *kvmig__ovn_databases_open(struct kvmig__ovn_databases *databases, struct kvmig_context *context,
                                              const struct kvmig_port_ovn_opts *opts, void (*changed)(void *data),
                                              void *data)
{
    const struct opening opening = { context, opts, changed, data };
    struct kvmig_error *error;

    *databases = (struct kvmig__ovn_databases){ 0 };
    if (opts->lsp)
        kvmig__strlist_add(&databases->lsps, opts->lsp);
    error = open_nb(databases, &opening);
    if (!error)
        error = open_sb(databases, &opening);
    for (size_t i = 0; !error && i < opts->n_ovs; i++) {
        struct kvmig__ovn_local *local = KVMIG__PUSH(&databases->locals);

        local->chassis = kvmig__strdup(opts->ovs[i]->chassis);
        local->host = kvmig__strdup(opts->ovs[i]->host);
        if (opts->ovs[i]->remotes)
            error = open_local(databases, &opening, local, i);
    }
    if (error)
        kvmig__ovn_databases_close(databases);
    return error;
}

static void database_close(struct kvmig__ovn_database *database)
{
    kvmig__ovsdb_monitor_free(database->rows);
    kvmig__ovsdb_put(database->db);
    *database = (struct kvmig__ovn_database){ 0 };
}

void kvmig__ovn_databases_close(struct kvmig__ovn_databases *databases)
{
    database_close(&databases->nb);
    database_close(&databases->sb);
    for (size_t i = 0; i < databases->locals.n; i++) {
        database_close(&databases->locals.v[i].ovs);
        free(databases->locals.v[i].chassis);
        free(databases->locals.v[i].host);
    }
    free(databases->locals.v);
    kvmig__strlist_clear(&databases->lsps);
    kvmig__strlist_clear(&databases->chassis);
    *databases = (struct kvmig__ovn_databases){ 0 };
}

const char *kvmig__ovn_databases_chassis(const struct kvmig__ovn_databases *databases, const char *name)
{
    for (size_t i = 0; name && i < databases->locals.n; i++)
        if (kvmig__str_eq(databases->locals.v[i].host, name))
            return databases->locals.v[i].chassis;
    return name;
}

/* ---- following ---- */

/* Sorts names and puts them in place of *list if they are others; names is used up. */
static bool replace(struct kvmig__strlist *list, struct kvmig__strlist *names)
{
    bool same;

    kvmig__strlist_sort(names);
    same = names->n == list->n;
    for (size_t i = 0; same && i < names->n; i++)
        same = kvmig__str_eq(names->v[i], list->v[i]);
    if (same) {
        kvmig__strlist_clear(names);
    } else {
        kvmig__strlist_clear(list);
        *list = *names;
    }
    return !same;
}

/* Ports that are gone from NB stay watched until others come: what becomes of their bindings still is of interest. */
static void follow_lsps(struct kvmig__ovn_databases *databases)
{
    struct kvmig__strlist names = { 0 };

    for (size_t i = 0; i < kvmig__ovsdb_row_count(databases->nb.rows, KVMIG__NB_LSP); i++) {
        const char *name = kvmig__ovsdb_str(kvmig__ovsdb_row(databases->nb.rows, KVMIG__NB_LSP, i), "name");

        if (name)
            kvmig__strlist_add_new(&names, name);
    }
    if (!names.n || !replace(&databases->lsps, &names))
        return;
    if (databases->sb.rows)
        kvmig__ovsdb_monitor_set_where(databases->sb.rows, KVMIG__SB_BINDING,
                                       names_where("logical_port", &databases->lsps));
    for (size_t i = 0; i < databases->locals.n; i++) {
        if (databases->locals.v[i].ovs.rows)
            kvmig__ovsdb_monitor_set_where(databases->locals.v[i].ovs.rows, KVMIG__OVS_INTERFACE,
                                           interfaces_where(&databases->lsps));
    }
}

static void follow_chassis(struct kvmig__ovn_databases *databases, const char *source, const char *target)
{
    struct kvmig__strlist names = { 0 };

    if (!databases->sb.rows)
        return;
    if (source)
        kvmig__strlist_add_new(&names, kvmig__ovn_rows_chassis(databases, source));
    if (target)
        kvmig__strlist_add_new(&names, kvmig__ovn_rows_chassis(databases, target));
    if (replace(&databases->chassis, &names))
        kvmig__ovsdb_monitor_set_where(databases->sb.rows, KVMIG__SB_PRIVATE, names_where("name", &databases->chassis));
}

void kvmig__ovn_databases_follow(struct kvmig__ovn_databases *databases, const char *source, const char *target)
{
    if (kvmig__ovsdb_monitor_is_current(databases->nb.rows))
        follow_lsps(databases);
    follow_chassis(databases, source, target);
}
