/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rows of OVN's and Open vSwitch's databases, as files hold them, to facts: {"database", "table", "rows": [...], "node"}, or an array of
 * such. Columns are in OVSDB's wire notation. Tables and columns that nobody asks about are passed over, and so is a column of another
 * type. Any thread; a loading belongs to one.
 */
#include "files/files_internal.h"

#include "port/ovsdb_value.h"

#include <stdlib.h>
#include <string.h>

/* ---- columns ---- */

static bool column(struct json_object *row, const char *name, struct kvmig__ovsdb_value *out)
{
    struct json_object *json = kvmig__files_member(row, name);

    *out = (struct kvmig__ovsdb_value){ .is_map = false };
    return json && kvmig__ovsdb_value_decode(json, out);
}

static char *text_column(struct json_object *row, const char *name)
{
    struct kvmig__ovsdb_value value;
    char *text = NULL;

    if (column(row, name, &value) && !value.is_map && value.keys.n)
        text = kvmig__strdup(value.keys.v[0]);
    kvmig__ovsdb_value_clear(&value);
    return text;
}

/* 1, 0, or -1 if the column is empty or not given. */
static int32_t bool_column(struct json_object *row, const char *name)
{
    char *text = text_column(row, name);
    int32_t value = kvmig__str_eq(text, "true") ? 1 : kvmig__str_eq(text, "false") ? 0 : -1;

    free(text);
    return value;
}

static struct kvmig__strlist set_column(struct json_object *row, const char *name)
{
    struct kvmig__ovsdb_value value;
    struct kvmig__strlist set = { .n = 0 };

    if (column(row, name, &value) && !value.is_map) {
        set = value.keys;
        value.keys = (struct kvmig__strlist){ .n = 0 };
    }
    kvmig__ovsdb_value_clear(&value);
    return set;
}

static struct kvmig__fact_map map_column(struct json_object *row, const char *name)
{
    struct kvmig__ovsdb_value value;
    struct kvmig__fact_map map = { .n = 0 };

    if (column(row, name, &value) && value.is_map) {
        for (size_t i = 0; i < value.keys.n && i < value.values.n; i++)
            *KVMIG__PUSH(&map) =
                (struct kvmig__fact_pair){ kvmig__strdup(value.keys.v[i]), kvmig__strdup(value.values.v[i]) };
    }
    kvmig__ovsdb_value_clear(&value);
    return map;
}

/* ---- rows ---- */

static void take_lsp(struct kvmig__files_load *load, struct json_object *row, const char *node)
{
    (void)node;
    *KVMIG__PUSH(&load->files->facts->lsps) = (struct kvmig__fact_lsp){
        .uuid = text_column(row, "_uuid"),
        .name = text_column(row, "name"),
        .type = text_column(row, "type"),
        .addresses = set_column(row, "addresses"),
        .port_security = set_column(row, "port_security"),
        .options = map_column(row, "options"),
        .external_ids = map_column(row, "external_ids"),
        .enabled = bool_column(row, "enabled"),
        .up = bool_column(row, "up"),
    };
}

static void take_port_group(struct kvmig__files_load *load, struct json_object *row, const char *node)
{
    (void)node;
    *KVMIG__PUSH(&load->files->facts->port_groups) =
        (struct kvmig__fact_port_group){ text_column(row, "name"), set_column(row, "ports"),
                                         map_column(row, "external_ids") };
}

static void take_chassis(struct kvmig__files_load *load, struct json_object *row, const char *node)
{
    (void)node;
    *KVMIG__PUSH(&load->files->facts->chassis) =
        (struct kvmig__fact_chassis){ text_column(row, "name"), text_column(row, "hostname"),
                                      map_column(row, "other_config") };
    *KVMIG__PUSH(&load->chassis) = (struct kvmig__files_chassis){ text_column(row, "_uuid"), text_column(row, "name") };
}

static void take_binding(struct kvmig__files_load *load, struct json_object *row, const char *node)
{
    (void)node;
    *KVMIG__PUSH(&load->files->facts->bindings) =
        (struct kvmig__fact_binding){ text_column(row, "logical_port"), text_column(row, "chassis"),
                                      bool_column(row, "up") };
}

static void take_interface(struct kvmig__files_load *load, struct json_object *row, const char *node)
{
    *KVMIG__PUSH(&load->files->facts->interfaces) =
        (struct kvmig__fact_interface){ kvmig__strdup(node), text_column(row, "name"),
                                        map_column(row, "external_ids") };
}

static const struct table {
    const char *name;
    size_t known; /* offset of the bool in the facts; 0 = they are known per node */
    void (*take)(struct kvmig__files_load *load, struct json_object *row, const char *node);
} tables[] = {
    { "Logical_Switch_Port", offsetof(struct kvmig__facts, lsps_known), take_lsp },
    { "Port_Group", offsetof(struct kvmig__facts, port_groups_known), take_port_group },
    { "Chassis", offsetof(struct kvmig__facts, chassis_known), take_chassis },
    { "Port_Binding", offsetof(struct kvmig__facts, bindings_known), take_binding },
    { "Interface", 0, take_interface },
};

/* ---- sets of rows ---- */

static const struct table *table_of(struct json_object *json)
{
    struct json_object *name = kvmig__files_member(json, "table");

    for (size_t i = 0; json_object_is_type(name, json_type_string) && i < KVMIG__N_ELEMENTS(tables); i++)
        if (kvmig__str_eq(tables[i].name, json_object_get_string(name)))
            return &tables[i];
    return NULL;
}

static bool is_rows(struct json_object *json)
{
    return kvmig__files_member(json, "database") && kvmig__files_member(json, "table");
}

static void take_rows(struct kvmig__files_load *load, struct json_object *json)
{
    const struct table *table = table_of(json);
    struct json_object *rows = kvmig__files_list(json, "rows");
    char *node = NULL;

    if (!rows) {
        kvmig__snapshot_problem(&load->base, load->base.name, "rows of OVSDB",
                                "Give {\"database\", \"table\", \"rows\": [...]}; the rest was loaded.",
                                "\"rows\" is %s", kvmig__files_member(json, "rows") ? "no list" : "missing");
        return;
    }
    if (!table)
        return;
    kvmig__files_str(json, "node", &node);
    if (table->known)
        *(bool *)((char *)load->files->facts + table->known) = true;
    else if (node)
        kvmig__strlist_add_new(&load->files->facts->interface_nodes, node);
    for (size_t i = 0; i < kvmig__files_count(rows); i++) {
        struct json_object *row = json_object_array_get_idx(rows, i);

        if (json_object_is_type(row, json_type_object))
            table->take(load, row, node);
    }
    free(node);
}

bool kvmig__files_rows(struct kvmig__files_load *load, struct json_object *json)
{
    bool taken = false;

    if (!json_object_is_type(json, json_type_array)) {
        taken = is_rows(json);
        if (taken)
            take_rows(load, json);
        return taken;
    }
    for (size_t i = 0; i < kvmig__files_count(json); i++) {
        struct json_object *part = json_object_array_get_idx(json, i);

        if (!is_rows(part))
            continue;
        take_rows(load, part);
        taken = true;
    }
    return taken;
}

/* ---- once everything was read ---- */

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_chassis(const void *a, const void *b)
{
    const struct kvmig__files_chassis *x = a, *y = b;

    return compare_text(x->uuid, y->uuid);
}

/* A binding refers to a row of Chassis; people know its name. */
static void name_bindings(struct kvmig__files_load *load)
{
    struct kvmig__facts *facts = load->files->facts;

    if (load->chassis.n)
        qsort(load->chassis.v, load->chassis.n, sizeof(*load->chassis.v), compare_chassis);
    for (size_t i = 0; load->chassis.n && i < facts->bindings.n; i++) {
        struct kvmig__fact_binding *binding = &facts->bindings.v[i];
        const struct kvmig__files_chassis key = { .uuid = binding->chassis }, *found;

        found = binding->chassis
                    ? bsearch(&key, load->chassis.v, load->chassis.n, sizeof(*load->chassis.v), compare_chassis)
                    : NULL;
        if (found && found->name)
            kvmig__str_set(&binding->chassis, found->name);
    }
    for (size_t i = 0; i < load->chassis.n; i++) {
        free(load->chassis.v[i].uuid);
        free(load->chassis.v[i].name);
    }
    free(load->chassis.v);
    load->chassis.v = NULL;
    load->chassis.n = 0;
}

struct ranked { /* a port, and when it was read */
    struct kvmig__fact_lsp lsp;
    size_t rank;
};

static int compare_ports(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int order = compare_text(x->lsp.uuid, y->lsp.uuid);

    if (order)
        return order;
    return x->rank < y->rank ? -1 : 1;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    return x->rank < y->rank ? -1 : 1;
}

/* Two files may hold one port, as it was at two times; the later file counts. */
static void drop_repeated_ports(struct kvmig__facts *facts)
{
    struct ranked *ports = facts->lsps.n > 1 ? kvmig__calloc(facts->lsps.n, sizeof(*ports)) : NULL;
    size_t kept = 0;

    if (!ports)
        return;
    for (size_t i = 0; i < facts->lsps.n; i++)
        ports[i] = (struct ranked){ facts->lsps.v[i], i };
    qsort(ports, facts->lsps.n, sizeof(*ports), compare_ports);
    for (size_t i = 0; i < facts->lsps.n; i++) {
        if (i + 1 < facts->lsps.n && ports[i].lsp.uuid && kvmig__str_eq(ports[i].lsp.uuid, ports[i + 1].lsp.uuid))
            kvmig__fact_lsp_clear(&ports[i].lsp);
        else
            ports[kept++] = ports[i];
    }
    qsort(ports, kept, sizeof(*ports), compare_ranks);
    facts->lsps.n = kept;
    for (size_t i = 0; i < kept; i++)
        facts->lsps.v[i] = ports[i].lsp;
    free(ports);
}

void kvmig__files_finish_rows(struct kvmig__files_load *load)
{
    name_bindings(load);
    drop_repeated_ports(load->files->facts);
}
