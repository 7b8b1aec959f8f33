/* SPDX-License-Identifier: MIT-0 */
/*
 * The VM's logical ports for a bundle, as rows of the databases in which kvmig diagnose reads them (docs/files.md). Rests on what
 * kvmig_port_to_json() says; what that does not know is left out.
 */
#include <string.h>

#include "bundle.h"

static struct json_object *pair(const char *key, struct json_object *value)
{
    struct json_object *list = json_object_new_array();

    json_object_array_add(list, json_object_new_string(key));
    json_object_array_add(list, value);
    return list;
}

static void map_add(struct json_object *entries, const char *key, const char *value)
{
    if (value)
        json_object_array_add(entries, pair(key, json_object_new_string(value)));
}

static struct json_object *table(const char *database, const char *name, const char *node, struct json_object *rows)
{
    struct json_object *json = json_object_new_object();

    json_object_object_add(json, "database", json_object_new_string(database));
    json_object_object_add(json, "table", json_object_new_string(name));
    if (node)
        json_object_object_add(json, "node", json_object_new_string(node));
    json_object_object_add(json, "rows", rows);
    return json;
}

static struct json_object *lsp_row(struct json_object *lsp)
{
    struct json_object *row = json_object_new_object(), *options = json_object_new_array();
    struct json_object *ids = json_object_new_array();
    const char *uuid = json_text(lsp, "uuid");

    map_add(options, "requested-chassis", json_text(lsp, "requested_chassis"));
    map_add(options, "activation-strategy", json_text(lsp, "activation_strategy"));
    if (uuid)
        json_object_object_add(row, "_uuid", pair("uuid", json_object_new_string(uuid)));
    json_object_object_add(row, "name", json_object_get(json_member(lsp, "name")));
    json_object_object_add(row, "type", json_object_new_string(""));
    json_object_object_add(row, "options", pair("map", options));
    map_add(ids, "kvmig-owner", json_text(lsp, "owner"));
    json_object_object_add(row, "external_ids", pair("map", ids));
    return row;
}

static struct json_object *binding_row(struct json_object *lsp)
{
    struct json_object *row = json_object_new_object();

    json_object_object_add(row, "logical_port", json_object_get(json_member(lsp, "name")));
    json_object_object_add(row, "chassis", json_object_get(json_member(lsp, "chassis")));
    json_object_object_add(row, "up", json_object_new_boolean(json_true(lsp, "up")));
    return row;
}

static void add_interfaces(struct json_object *tables, struct json_object *lsp)
{
    struct json_object *interfaces = json_member(lsp, "interfaces");

    if (!interfaces)
        return;
    json_object_object_foreach(interfaces, chassis, interface)
    {
        struct json_object *rows = json_object_new_array(), *row, *ids;

        if (json_object_is_type(interface, json_type_object)) {
            row = json_object_new_object();
            ids = json_object_new_array();
            map_add(ids, "iface-id", json_text(lsp, "name"));
            map_add(ids, "ovn-installed", json_true(interface, "installed") ? "true" : NULL);
            json_object_object_add(row, "name", json_object_get(json_member(interface, "name")));
            json_object_object_add(row, "external_ids", pair("map", ids));
            json_object_array_add(rows, row);
        }
        json_object_array_add(tables, table("Open_vSwitch", "Interface", chassis, rows));
    }
}

static struct json_object *chassis_rows(struct json_object *hosts)
{
    struct json_object *rows = json_object_new_array(), *row;

    if (!json_object_is_type(hosts, json_type_object))
        return rows;
    json_object_object_foreach(hosts, chassis, host)
    {
        row = json_object_new_object();
        json_object_object_add(row, "name", json_object_new_string(chassis));
        json_object_object_add(row, "hostname", json_object_get(host));
        json_object_array_add(rows, row);
    }
    return rows;
}

bool bundle_port(struct json_object *port, const char *dir)
{
    struct json_object *lsps = json_member(port, "lsps"), *tables = json_object_new_array();
    struct json_object *ports = json_object_new_array(), *bindings = json_object_new_array();

    for (size_t i = 0; i < json_list_length(lsps); i++) {
        struct json_object *lsp = json_list_at(lsps, i);

        json_object_array_add(ports, lsp_row(lsp));
        if (json_text(lsp, "chassis"))
            json_object_array_add(bindings, binding_row(lsp));
        add_interfaces(tables, lsp);
    }
    json_object_array_add(tables, table("OVN_Northbound", "Logical_Switch_Port", NULL, ports));
    json_object_array_add(tables, table("OVN_Southbound", "Port_Binding", NULL, bindings));
    json_object_array_add(tables,
                          table("OVN_Southbound", "Chassis", NULL, chassis_rows(json_member(port, "chassis_hosts"))));
    return bundle_write_json(dir, "ovn-rows.json", tables);
}
