/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the OVN port sends: operations of OVSDB for the machine's orders, word for word.
 */
#include "port/ovn_port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UUID "11111111-2222-4333-8444-555555555555"
#define OTHER "66666666-7777-4888-9999-000000000000"

static const char *const columns[] = { "name", "options", "external_ids", NULL };

/* A row as the monitor has it. */
static void row_make(struct kvmig__ovsdb_row *row, const char *name, const char *options, const char *ids)
{
    const char *const texts[] = { options, ids };

    memset(row, 0, sizeof(*row));
    row->uuid = (char *)UUID;
    row->names = columns;
    kvmig__strlist_add(&KVMIG__PUSH(&row->columns)->keys, name);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        struct json_object *json = json_tokener_parse(texts[i]);

        assert_true(kvmig__ovsdb_value_decode(json, KVMIG__PUSH(&row->columns)));
        json_object_put(json);
    }
}

static void row_clear(struct kvmig__ovsdb_row *row)
{
    for (size_t i = 0; i < row->columns.n; i++)
        kvmig__ovsdb_value_clear(&row->columns.v[i]);
    free(row->columns.v);
}

static void assert_json(struct json_object *json, const char *expected)
{
    struct json_object *wanted = json_tokener_parse(expected);

    assert_non_null(wanted);
    if (!json_object_equal(json, wanted))
        fail_msg("%s\nis not\n%s", json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN),
                 json_object_to_json_string_ext(wanted, JSON_C_TO_STRING_PLAIN));
    json_object_put(wanted);
}

static void exact_edit_compares_both_maps_in_whole(void **state)
{
    const struct kvmig__ovn_edit edit = {
        .uuid = UUID,
        .exact = true,
        .requested_chassis = (char *)"hv1,hv2",
        .activation_strategy = (char *)"rarp",
        .owner = (char *)"kvmig-7",
        .previous = (char *)"v1 ...",
    };
    struct json_object *operations = json_object_new_array();
    struct kvmig__ovsdb_row row;

    (void)state;
    row_make(&row, "vm", "[\"map\",[[\"mcast_flood\",\"true\"],[\"requested-chassis\",\"hv1\"]]]",
             "[\"map\",[[\"pod\",\"ns/vm\"]]]");
    kvmig__ovn_add_edit(operations, &edit, &row);
    kvmig__ovn_add_comment(operations, "extend", "kvmig-7");
    assert_json(
        operations,
        "[{\"op\":\"wait\",\"table\":\"Logical_Switch_Port\",\"timeout\":0,\"until\":\"==\","
        "\"columns\":[\"options\",\"external_ids\"],"
        "\"rows\":[{\"options\":[\"map\",[[\"mcast_flood\",\"true\"],[\"requested-chassis\",\"hv1\"]]],"
        "\"external_ids\":[\"map\",[[\"pod\",\"ns/vm\"]]]}],"
        "\"where\":[[\"_uuid\",\"==\",[\"uuid\",\"" UUID "\"]]]},"
        "{\"op\":\"mutate\",\"table\":\"Logical_Switch_Port\",\"where\":[[\"_uuid\",\"==\",[\"uuid\",\"" UUID
        "\"]]],\"mutations\":["
        "[\"options\",\"delete\",[\"set\",[\"requested-chassis\",\"activation-strategy\"]]],"
        "[\"options\",\"insert\",[\"map\",[[\"requested-chassis\",\"hv1,hv2\"],[\"activation-strategy\",\"rarp\"]]]],"
        "[\"external_ids\",\"delete\",[\"set\",[\"kvmig-owner\",\"kvmig-previous\"]]],"
        "[\"external_ids\",\"insert\",[\"map\",[[\"kvmig-owner\",\"kvmig-7\"],[\"kvmig-previous\",\"v1 ...\"]]]]]},"
        "{\"op\":\"comment\",\"comment\":\"kvmig extend kvmig-7\"}]");
    json_object_put(operations);
    row_clear(&row);
}

static void exact_edit_of_a_bare_port_expects_empty_maps(void **state)
{
    const struct kvmig__ovn_edit edit = { .uuid = UUID, .exact = true, .requested_chassis = (char *)"hv1" };
    struct json_object *operations = json_object_new_array();
    struct kvmig__ovsdb_row row;

    (void)state;
    row_make(&row, "vm", "[\"map\",[]]", "[\"map\",[]]");
    kvmig__ovn_add_edit(operations, &edit, &row);
    assert_json(operations,
                "[{\"op\":\"wait\",\"table\":\"Logical_Switch_Port\",\"timeout\":0,\"until\":\"==\","
                "\"columns\":[\"options\",\"external_ids\"],"
                "\"rows\":[{\"options\":[\"map\",[]],\"external_ids\":[\"map\",[]]}],"
                "\"where\":[[\"_uuid\",\"==\",[\"uuid\",\"" UUID "\"]]]},"
                "{\"op\":\"mutate\",\"table\":\"Logical_Switch_Port\",\"where\":[[\"_uuid\",\"==\",[\"uuid\",\"" UUID
                "\"]]],\"mutations\":["
                "[\"options\",\"delete\",[\"set\",[\"requested-chassis\",\"activation-strategy\"]]],"
                "[\"options\",\"insert\",[\"map\",[[\"requested-chassis\",\"hv1\"]]]],"
                "[\"external_ids\",\"delete\",[\"set\",[\"kvmig-owner\",\"kvmig-previous\"]]]]}]");
    json_object_put(operations);
    row_clear(&row);
}

static void pair_guard_tests_owner_and_pin_and_nothing_else(void **state)
{
    const struct kvmig__ovn_edit edit = {
        .uuid = UUID,
        .if_owner = "kvmig-7",
        .if_requested = "hv1,hv2",
        .requested_chassis = (char *)"hv2",
    };
    struct json_object *operations = json_object_new_array();
    struct kvmig__ovsdb_row row;

    (void)state;
    row_make(&row, "vm", "[\"map\",[[\"requested-chassis\",\"hv1,hv2\"]]]",
             "[\"map\",[[\"kvmig-owner\",\"kvmig-7\"]]]");
    kvmig__ovn_add_edit(operations, &edit, &row);
    assert_json(operations,
                "[{\"op\":\"wait\",\"table\":\"Logical_Switch_Port\",\"timeout\":0,\"until\":\"==\","
                "\"columns\":[\"name\"],\"rows\":[{\"name\":\"vm\"}],"
                "\"where\":[[\"_uuid\",\"==\",[\"uuid\",\"" UUID "\"]],"
                "[\"external_ids\",\"includes\",[\"map\",[[\"kvmig-owner\",\"kvmig-7\"]]]],"
                "[\"options\",\"includes\",[\"map\",[[\"requested-chassis\",\"hv1,hv2\"]]]]]},"
                "{\"op\":\"mutate\",\"table\":\"Logical_Switch_Port\",\"where\":[[\"_uuid\",\"==\",[\"uuid\",\"" UUID
                "\"]]],\"mutations\":["
                "[\"options\",\"delete\",[\"set\",[\"requested-chassis\",\"activation-strategy\"]]],"
                "[\"options\",\"insert\",[\"map\",[[\"requested-chassis\",\"hv2\"]]]],"
                "[\"external_ids\",\"delete\",[\"set\",[\"kvmig-owner\",\"kvmig-previous\"]]]]}]");
    json_object_put(operations);
    row_clear(&row);
}

/* All keys gone: nothing is inserted. */
static void edit_that_removes_everything_inserts_nothing(void **state)
{
    const struct kvmig__ovn_edit edit = { .uuid = OTHER, .if_owner = "o", .if_requested = "a,b" };
    struct json_object *operations = json_object_new_array(), *mutations;
    struct kvmig__ovsdb_row row;

    (void)state;
    row_make(&row, "vm", "[\"map\",[]]", "[\"map\",[]]");
    kvmig__ovn_add_edit(operations, &edit, &row);
    assert_int_equal(json_object_array_length(operations), 2);
    assert_true(json_object_object_get_ex(json_object_array_get_idx(operations, 1), "mutations", &mutations));
    assert_json(mutations, "[[\"options\",\"delete\",[\"set\",[\"requested-chassis\",\"activation-strategy\"]]],"
                           "[\"external_ids\",\"delete\",[\"set\",[\"kvmig-owner\",\"kvmig-previous\"]]]]");
    json_object_put(operations);
    row_clear(&row);
}

static void several_edits_share_one_transaction(void **state)
{
    const struct kvmig__ovn_edit edit = { .uuid = UUID, .if_owner = "o", .if_requested = "a,b" };
    struct json_object *operations = json_object_new_array();
    struct kvmig__ovsdb_row row;

    (void)state;
    row_make(&row, "vm", "[\"map\",[]]", "[\"map\",[]]");
    kvmig__ovn_add_edit(operations, &edit, &row);
    kvmig__ovn_add_edit(operations, &edit, &row);
    assert_int_equal(json_object_array_length(operations), 4);
    json_object_put(operations);
    row_clear(&row);
}

/* ---- the barrier ---- */

static void bump_adds_one_and_reads_it_back(void **state)
{
    struct json_object *operations = kvmig__ovn_bump_operations(), *look = kvmig__ovn_look_operations();

    (void)state;
    assert_json(operations,
                "[{\"op\":\"mutate\",\"table\":\"NB_Global\",\"where\":[],\"mutations\":[[\"nb_cfg\",\"+=\",1]]},"
                "{\"op\":\"select\",\"table\":\"NB_Global\",\"where\":[],\"columns\":[\"nb_cfg\"]}]");
    assert_json(look, "[{\"op\":\"select\",\"table\":\"NB_Global\",\"where\":[],\"columns\":[\"nb_cfg\"]}]");
    json_object_put(operations);
    json_object_put(look);
}

static bool bump_result(const char *text, int64_t *out)
{
    struct json_object *results = json_tokener_parse(text);
    bool ok = kvmig__ovn_bump_result(results, out);

    json_object_put(results);
    return ok;
}

static void answers_to_a_bump_without_a_value_are_refused(void **state)
{
    static const char *const bad[] = {
        "null",
        "{}",
        "[]",
        "[{\"count\":1}]",
        "[{\"count\":0},{\"rows\":[]}]",
        "[{},{\"rows\":[{}]}]",
        "[{},{\"rows\":[{\"nb_cfg\":\"x\"}]}]",
        "[{},{\"rows\":7}]",
        "[{},null]",
        "[{},[1]]",
    };
    int64_t value = 0;

    (void)state;
    assert_true(bump_result("[{\"count\":1},{\"rows\":[{\"nb_cfg\":42}]}]", &value));
    assert_int_equal(value, 42);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bad); i++)
        assert_false(bump_result(bad[i], &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_edit_compares_both_maps_in_whole),
        cmocka_unit_test(exact_edit_of_a_bare_port_expects_empty_maps),
        cmocka_unit_test(pair_guard_tests_owner_and_pin_and_nothing_else),
        cmocka_unit_test(edit_that_removes_everything_inserts_nothing),
        cmocka_unit_test(several_edits_share_one_transaction),
        cmocka_unit_test(bump_adds_one_and_reads_it_back),
        cmocka_unit_test(answers_to_a_bump_without_a_value_are_refused),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
