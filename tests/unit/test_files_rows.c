/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of OVSDB in files: what becomes a fact, in every form that the wire notation has, and what is passed over. */
#include "files_test.h"

#define UUID(n) "aaaaaaaa-0000-4000-8000-00000000000" #n

static void ports_with_every_column(void **state)
{
    struct kvmig__files f = files_of(
        "{\"database\":\"OVN_Northbound\",\"table\":\"Logical_Switch_Port\",\"rows\":["
        "{\"_uuid\":[\"uuid\",\"" UUID(
            1) "\"],\"name\":\"vm1.ns1\",\"type\":\"\","
               "\"addresses\":[\"set\",[\"02:00:00:00:00:01 "
               "198.51.100.10\",\"unknown\"]],\"port_security\":\"02:00:00:00:00:01\","
               "\"options\":[\"map\",[[\"requested-chassis\",\"node-a,node-b\"],[\"activation-strategy\",\"rarp\"]]],"
               "\"external_ids\":[\"map\",[]],\"enabled\":[\"set\",[]],\"up\":true},"
               "{\"name\":\"off\",\"enabled\":false,\"up\":[\"set\",[false]]},{}]}",
        "nb", NULL, NULL);
    const struct kvmig__fact_lsp *port = f.facts->lsps.v;

    (void)state;
    assert_true(f.facts->lsps_known);
    assert_int_equal(f.facts->lsps.n, 3);
    assert_string_equal(port->uuid, UUID(1));
    assert_string_equal(port->name, "vm1.ns1");
    assert_int_equal(port->addresses.n, 2);
    assert_int_equal(port->port_security.n, 1);
    assert_string_equal(kvmig__fact_get(&port->options, "requested-chassis"), "node-a,node-b");
    assert_null(kvmig__fact_get(&port->options, "other"));
    assert_int_equal(port->external_ids.n, 0);
    assert_int_equal(port->enabled, -1);
    assert_int_equal(port->up, 1);
    assert_int_equal(port[1].enabled, 0);
    assert_int_equal(port[1].up, 0);
    assert_null(port[2].name);
    assert_int_equal(f.problems.n, 0);
    kvmig__files_clear(&f);
}

static void an_empty_table_is_known(void **state)
{
    struct kvmig__files f = files_of("[{\"database\":\"OVN_Northbound\",\"table\":\"Port_Group\",\"rows\":[]},"
                                     "{\"database\":\"OVN_Southbound\",\"table\":\"Chassis\",\"rows\":[]}, 7]",
                                     "rows", NULL, NULL);

    (void)state;
    assert_true(f.facts->port_groups_known);
    assert_true(f.facts->chassis_known);
    assert_false(f.facts->lsps_known);
    assert_false(f.facts->bindings_known);
    kvmig__files_clear(&f);
}

static void bindings_name_their_chassis_whatever_came_first(void **state)
{
    struct kvmig__files f = files_of(
        "[{\"database\":\"OVN_Southbound\",\"table\":\"Port_Binding\",\"rows\":["
        "{\"logical_port\":\"p1\",\"chassis\":[\"uuid\",\"" UUID(
            2) "\"],\"up\":true},"
               "{\"logical_port\":\"p2\",\"chassis\":[\"uuid\",\"" UUID(
                   9) "\"]},{\"logical_port\":\"p3\",\"chassis\":[\"set\",[]]}]},"
                      "{\"database\":\"OVN_Southbound\",\"table\":\"Chassis\",\"rows\":[{\"_uuid\":[\"uuid\",\"" UUID(
                          2) "\"],"
                             "\"name\":\"ch-b\",\"hostname\":\"node-b\",\"other_config\":[\"map\",[[\"a\",\"b\"]]]}]}]",
        "sb", NULL, NULL);

    (void)state;
    assert_int_equal(f.facts->bindings.n, 3);
    assert_string_equal(f.facts->bindings.v[0].chassis, "ch-b");
    assert_int_equal(f.facts->bindings.v[0].up, 1);
    assert_string_equal(f.facts->bindings.v[1].chassis, UUID(9));
    assert_null(f.facts->bindings.v[2].chassis);
    assert_string_equal(f.facts->chassis.v[0].hostname, "node-b");
    assert_string_equal(kvmig__fact_get(&f.facts->chassis.v[0].other_config, "a"), "b");
    kvmig__files_clear(&f);
}

static void interfaces_belong_to_a_node(void **state)
{
    struct kvmig__files f =
        files_of("{\"database\":\"Open_vSwitch\",\"table\":\"Interface\",\"node\":\"node-b\",\"rows\":"
                 "[{\"name\":\"tap0\",\"external_ids\":[\"map\",[[\"iface-id\",\"vm1.ns1\"]]]}]}",
                 "ovs", NULL, NULL);

    (void)state;
    assert_int_equal(f.facts->interfaces.n, 1);
    assert_string_equal(f.facts->interfaces.v[0].node, "node-b");
    assert_string_equal(f.facts->interfaces.v[0].name, "tap0");
    assert_true(kvmig__strlist_has(&f.facts->interface_nodes, "node-b"));
    kvmig__files_clear(&f);
}

static void a_port_that_two_files_hold_counts_once(void **state)
{
    struct folder *f = *state;

    folder_write(f, "then.json",
                 "{\"database\":\"d\",\"table\":\"Logical_Switch_Port\",\"rows\":[{\"_uuid\":[\"uuid\",\"" UUID(
                     1) "\"],\"name\":\"old\"},{\"name\":\"x\"},{\"name\":\"x\"}]}");
    folder_write(f, "now.json",
                 "{\"database\":\"d\",\"table\":\"Logical_Switch_Port\",\"rows\":[{\"_uuid\":[\"uuid\",\"" UUID(
                     1) "\"],\"name\":\"new\"}]}");
    folder_load(f);
    assert_int_equal(f->files.facts->lsps.n, 3);
    assert_string_equal(f->files.facts->lsps.v[2].name, "new");
}

static void what_makes_no_sense_is_passed_over(void **state)
{
    static const char *const texts[] = {
        JSON({ "database" : "d", "table" : "Unheard_Of", "rows" : [ { "a" : 1 } ] }),
        JSON({ "database" : 1, "table" : 2, "rows" : [] }),
        JSON({ "database" : "d", "table" : "Chassis", "rows" : [ 1, null, "x", [] ] }),
        JSON({
            "database" : "d",
            "table" : "Logical_Switch_Port",
            "rows" : [ {
                "name" : { "a" : 1 },
                "options" : [ "map", [ 1, [2], [ "a", [] ] ] ],
                "addresses" : [ "set", "x" ],
                "enabled" : "maybe"
            } ]
        }),
        JSON([[ { "database" : "d", "table" : "Chassis", "rows" : [] } ]]),
        JSON([]),
        "{\"time\": 1, \"event\": \"SUSPENDED\"}\n{\"time\": 2, \"side\": \"source\"}\n",
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        struct kvmig__files f = files_of(texts[i], "text", NULL, NULL);

        assert_int_equal(f.problems.n, 0);
        assert_int_equal(f.facts->chassis.n, 0);
        assert_int_equal(f.hosts.n, 0);
        kvmig__files_clear(&f);
    }
}

static void broken_rows_are_told(void **state)
{
    static const char *const texts[] = {
        "{\"database\": \"d\", \"table\": \"Chassis\", \"rows\": [{\"name\":",
        JSON({ "database" : "d", "table" : "Chassis", "rows" : { "a" : 1 } }),
        JSON({ "database" : "d", "table" : "Chassis" }),
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        struct kvmig__files f = files_of(texts[i], "rows.json", NULL, NULL);

        assert_int_equal(f.problems.n, 1);
        assert_string_equal(f.problems.v[0].code, "SNAPSHOT_UNREADABLE");
        assert_non_null(strstr(f.problems.v[0].message, "rows.json"));
        assert_false(f.facts->chassis_known);
        kvmig__files_clear(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_with_every_column),
        cmocka_unit_test(an_empty_table_is_known),
        cmocka_unit_test(bindings_name_their_chassis_whatever_came_first),
        cmocka_unit_test(interfaces_belong_to_a_node),
        cmocka_unit_test_setup_teardown(a_port_that_two_files_hold_counts_once, folder_set_up, folder_tear_down),
        cmocka_unit_test(what_makes_no_sense_is_passed_over),
        cmocka_unit_test(broken_rows_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
