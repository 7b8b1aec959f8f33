/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What northd and ovn-controller do with one logical port, on the databases of fake_ovsdb.h: requested chassis are resolved, claimed at
 * once where an interface is plugged, flows "installed" with a new time stamp, barriers answered. With the context lock held.
 */
#include "ovn_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const chassis_names[] = { "hv1", "hv2" };
static const char *const chassis_uuids[] = { OVN_HV1, OVN_HV2 };

static struct json_object *uuid_set(const char *uuid)
{
    struct json_object *set = json_object_new_array(), *atoms = json_object_new_array();

    if (uuid)
        json_object_array_add(atoms, kvmig__ovsdb_json_uuid(uuid));
    json_object_array_add(set, json_object_new_string("set"));
    json_object_array_add(set, atoms);
    return set;
}

static int chassis_of(const char *token)
{
    if (strcmp(token, "hv1") == 0 || strcmp(token, "node1") == 0)
        return 0;
    return strcmp(token, "hv2") == 0 || strcmp(token, "node2") == 0 ? 1 : -1;
}

/* requested-chassis as chassis numbers; -1 = none. */
static void requested(struct ovn_world *world, int *main, int *additional)
{
    const char *text = fake_ovsdb_key(world->nb, "Logical_Switch_Port", OVN_LSP, "options", "requested-chassis");
    char *copy = kvmig__strdup(text ? text : ""), *comma = strchr(copy, ',');

    if (comma)
        *comma = '\0';
    *main = chassis_of(copy);
    *additional = comma ? chassis_of(comma + 1) : -1;
    free(copy);
}

static bool is_plugged(struct ovn_world *world, int chassis)
{
    return chassis >= 0 && fake_ovsdb_column(world->hv[chassis], "Interface", OVN_IFACE, "name") != NULL;
}

static void set_iface(struct ovn_world *world, int chassis, bool installed, const char *ts)
{
    const char *pairs[] = { "iface-id", "vm", "ovn-installed-ts", ts, "ovn-installed", "true" };

    fake_ovsdb_set_json(world->hv[chassis], "Interface", OVN_IFACE, "external_ids",
                        kvmig__ovsdb_json_map(pairs, installed ? 3
                                                     : ts      ? 2
                                                               : 1));
}

/* Flows of the port on one chassis: installed anew whenever it was not so before. */
static void install(struct ovn_world *world, int chassis, bool wanted)
{
    struct kvmig__ovsdb *db = world->hv[chassis];
    const char *flag, *ts;
    char text[32];

    if (!is_plugged(world, chassis) || world->dead[chassis])
        return;
    flag = fake_ovsdb_key(db, "Interface", OVN_IFACE, "external_ids", "ovn-installed");
    ts = fake_ovsdb_key(db, "Interface", OVN_IFACE, "external_ids", "ovn-installed-ts");
    if (wanted == (flag != NULL))
        return;
    if (wanted) {
        snprintf(text, sizeof(text), "%lld", (long long)(1700000000000 + world->installs++));
        ts = text;
    } else if (ts) {
        snprintf(text, sizeof(text), "%s", ts); /* the map that it is in is about to go */
        ts = text;
    }
    set_iface(world, chassis, wanted, ts);
}

static void set_column(struct ovn_world *world, const char *column, struct json_object *value)
{
    struct json_object *old = fake_ovsdb_column(world->sb, "Port_Binding", OVN_BINDING, column);

    if (old && json_object_equal(old, value))
        json_object_put(value);
    else
        fake_ovsdb_set_json(world->sb, "Port_Binding", OVN_BINDING, column, value);
}

static void claim(struct ovn_world *world, int main, int additional)
{
    const bool has_main = is_plugged(world, main) && !world->dead[main];
    const bool has_additional = is_plugged(world, additional) && !world->dead[additional];

    /* A dead controller neither claims nor lets go. */
    if (main >= 0 && !world->dead[main])
        set_column(world, "chassis", uuid_set(has_main ? chassis_uuids[main] : NULL));
    if (additional < 0 || !world->dead[additional])
        set_column(world, "additional_chassis", uuid_set(has_additional ? chassis_uuids[additional] : NULL));
    for (int i = 0; i < 2; i++)
        install(world, i, (i == main && has_main) || (i == additional && has_additional));
}

static void answer_barriers(struct ovn_world *world)
{
    struct json_object *nb_cfg = fake_ovsdb_column(world->nb, "NB_Global", OVN_GLOBAL, "nb_cfg");

    for (int i = 0; i < 2; i++) {
        struct json_object *old = fake_ovsdb_column(world->sb, "Chassis_Private", chassis_uuids[i], "nb_cfg");

        if (!world->dead[i] && json_object_get_int64(old) != json_object_get_int64(nb_cfg))
            fake_ovsdb_set_json(world->sb, "Chassis_Private", chassis_uuids[i], "nb_cfg",
                                json_object_new_int64(json_object_get_int64(nb_cfg)));
    }
}

void ovn_turn(struct ovn_world *world)
{
    int main, additional;

    if (world->no_northd || !fake_ovsdb_column(world->nb, "Logical_Switch_Port", OVN_LSP, "name"))
        return;
    requested(world, &main, &additional);
    set_column(world, "requested_chassis", uuid_set(main >= 0 ? chassis_uuids[main] : NULL));
    set_column(world, "requested_additional_chassis", uuid_set(additional >= 0 ? chassis_uuids[additional] : NULL));
    if (additional < 0)
        set_column(world, "options", kvmig__ovsdb_json_map(NULL, 0));
    claim(world, main >= 0 ? main : 0, additional);
    answer_barriers(world);
}

static void on_commit(void *data)
{
    ovn_turn(data);
}

void ovn_plug(struct ovn_world *world, int chassis, bool plugged)
{
    if (plugged)
        fake_ovsdb_set(world->hv[chassis], "Interface", OVN_IFACE,
                       "{\"name\":\"tap0\",\"ofport\":3,\"link_state\":\"up\","
                       "\"external_ids\":[\"map\",[[\"iface-id\",\"vm\"]]]}");
    else
        fake_ovsdb_delete(world->hv[chassis], "Interface", OVN_IFACE);
    ovn_turn(world);
}

void ovn_announce(struct ovn_world *world)
{
    const char *const pair[] = { "additional-chassis-activated", "hv2" };

    set_column(world, "options", kvmig__ovsdb_json_map(pair, 1));
}

const char *ovn_option(struct ovn_world *world, const char *key)
{
    const char *value = fake_ovsdb_key(world->nb, "Logical_Switch_Port", OVN_LSP, "options", key);

    return value ? value : "-";
}

const char *ovn_id(struct ovn_world *world, const char *key)
{
    const char *value = fake_ovsdb_key(world->nb, "Logical_Switch_Port", OVN_LSP, "external_ids", key);

    return value ? value : "-";
}

static void fill_central(struct ovn_world *world)
{
    fake_ovsdb_set(
        world->nb, "Logical_Switch_Port", OVN_LSP,
        "{\"name\":\"vm\",\"options\":[\"map\",[[\"mcast_flood\",\"true\"]]],"
        "\"external_ids\":[\"map\",[[\"pod\",\"ns/vm\"]]],\"up\":true,\"addresses\":[\"set\",[\"unknown\"]]}");
    fake_ovsdb_set(world->nb, "NB_Global", OVN_GLOBAL,
                   "{\"nb_cfg\":5,\"options\":[\"map\",[[\"northd_internal_version\",\"23.03.1-20.27.0-70.6\"]]]}");
    fake_ovsdb_set(world->sb, "SB_Global", OVN_GLOBAL, "{\"options\":[\"map\",[]]}");
    fake_ovsdb_set(world->sb, "Port_Binding", OVN_BINDING,
                   "{\"logical_port\":\"vm\",\"up\":true,\"options\":[\"map\",[]]}");
    fake_ovsdb_set(world->sb, "Chassis", OVN_HV1, "{\"name\":\"hv1\",\"hostname\":\"node1\"}");
    fake_ovsdb_set(world->sb, "Chassis", OVN_HV2, "{\"name\":\"hv2\",\"hostname\":\"node2\"}");
    fake_ovsdb_set(world->sb, "Chassis", OVN_HV3, "{\"name\":\"hv3\",\"hostname\":\"node3\"}");
    fake_ovsdb_set(world->sb, "Chassis_Private", OVN_HV1, "{\"name\":\"hv1\",\"nb_cfg\":5}");
    fake_ovsdb_set(world->sb, "Chassis_Private", OVN_HV2, "{\"name\":\"hv2\",\"nb_cfg\":5}");
}

static void fill_local(struct ovn_world *world, int i)
{
    char text[256];

    snprintf(text, sizeof(text), "{\"external_ids\":[\"map\",[[\"system-id\",\"%s\"],[\"hostname\",\"node%d\"]]]}",
             chassis_names[i], i + 1);
    fake_ovsdb_set(world->hv[i], "Open_vSwitch", OVN_OPEN, text);
    fake_ovsdb_set(world->hv[i], "Bridge", OVN_BRIDGE, "{\"name\":\"br-int\",\"external_ids\":[\"map\",[]]}");
}

void ovn_world_open(struct ovn_world *world, struct kvmig_context *context)
{
    memset(world, 0, sizeof(*world));
    world->context = context;
    kvmig__context_lock(context);
    world->nb = fake_ovsdb_new(context, "nb");
    world->sb = fake_ovsdb_new(context, "sb");
    world->hv[0] = fake_ovsdb_new(context, "ovs1");
    world->hv[1] = fake_ovsdb_new(context, "ovs2");
    fill_central(world);
    fill_local(world, 0);
    fill_local(world, 1);
    ovn_plug(world, 0, true);
    world->nb->on_commit = on_commit;
    world->nb->data = world;
    kvmig__context_unlock(context);
}

void ovn_world_close(struct ovn_world *world)
{
    kvmig__context_lock(world->context);
    fake_ovsdb_free(world->nb);
    fake_ovsdb_free(world->sb);
    fake_ovsdb_free(world->hv[0]);
    fake_ovsdb_free(world->hv[1]);
    kvmig__context_unlock(world->context);
}
