/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * OVSDB's values, types, conditions and rows, without a server: what is decoded, what is not believed, what updates
 * make of rows.
 */
#include "fake_ovsdb_rpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UUID_A "aaaaaaaa-0000-4000-8000-00000000000a"
#define UUID_B "bbbbbbbb-0000-4000-8000-00000000000b"

/* "a b" for a set, "{a=1 b=2}" for a map; static. */
static const char *show(const struct kvmig__ovsdb_value *value)
{
    static char text[400];
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < value->keys.n; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s%s%s", i ? " " : "", value->keys.v[i],
                               value->is_map ? "=" : "", value->is_map ? value->values.v[i] : "");
    return text;
}

static bool decode(const char *text, struct kvmig__ovsdb_value *out_value)
{
    struct json_object *json = fake_json(text);
    bool good = kvmig__ovsdb_value_decode(json, out_value);

    json_object_put(json);
    return good;
}

/* ---- values ---- */

static void values_are_decoded_to_sorted_text(void **state)
{
    static const struct {
        const char *json, *text;
        bool is_map;
    } cases[] = {
        { "'x'", "x", false },
        { "''", "", false },
        { "-7", "-7", false },
        { "9223372036854775807", "9223372036854775807", false },
        { "0.5", "0.5", false },
        { "true", "true", false },
        { "false", "false", false },
        { "['uuid','" UUID_A "']", UUID_A, false },
        { "['set',[]]", "", false },
        { "['set',['b','a']]", "a b", false },
        { "['set',[['uuid','" UUID_B "'],['uuid','" UUID_A "']]]", UUID_A " " UUID_B, false },
        { "['map',[]]", "", true },
        { "['map',[['k2','v2'],['k1',1]]]", "k1=1 k2=v2", true },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct kvmig__ovsdb_value value;

        assert_true(decode(cases[i].json, &value));
        assert_string_equal(show(&value), cases[i].text);
        assert_int_equal(value.is_map, cases[i].is_map);
        kvmig__ovsdb_value_clear(&value);
    }
}

static void what_is_no_value_is_refused(void **state)
{
    static const char *const cases[] = {
        "null",
        "{}",
        "[]",
        "['set']",
        "['set',3]",
        "['set',['a'],3]",
        "['set',[null]]",
        "['set',['a','b','a']]",
        "['set',[['set',[]]]]",
        "['map',[['k']]]",
        "['map',[['k','v','w']]]",
        "['map',[['k','v'],['k','w']]]",
        "['map',[['k',null]]]",
        "['map',['k']]",
        "['uuid','x']",
        "['uuid',3]",
        "['named-uuid','x']",
        "[3,3]",
        "'a\\u0000b'",
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct kvmig__ovsdb_value value = { .is_map = true };

        if (decode(cases[i], &value))
            fail_msg("taken: %s", cases[i]);
        assert_false(value.is_map);
        assert_int_equal(value.keys.n, 0);
    }
}

static void differences_change_sets_and_maps(void **state)
{
    static const struct {
        const char *before, *diff, *after;
        bool scalar;
    } cases[] = {
        { "['set',['a','c']]", "['set',['b','c']]", "a b", false },
        { "['set',['a']]", "'a'", "", false },
        { "['set',[]]", "'a'", "a", false },
        { "['set',['a']]", "['set',[]]", "a", false },
        { "'a'", "'b'", "b", true },
        { "'a'", "['set',[]]", "", true },
        { "['map',[['a','1'],['b','2'],['c','3']]]", "['map',[['a','1'],['b','5'],['d','4']]]", "b=5 c=3 d=4", false },
        { "['set',[]]", "['map',[['a','1']]]", "a=1", false }, /* an empty column says nothing of its type */
        { "['map',[['a','1']]]", "['map',[]]", "a=1", false },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct json_object *diff = fake_json(cases[i].diff);
        struct kvmig__ovsdb_value value;

        assert_true(decode(cases[i].before, &value));
        assert_true(kvmig__ovsdb_value_apply(&value, diff, cases[i].scalar));
        assert_string_equal(show(&value), cases[i].after);
        kvmig__ovsdb_value_clear(&value);
        json_object_put(diff);
    }
}

static void a_difference_of_another_kind_changes_nothing(void **state)
{
    static const char *const diffs[] = { "['map',[['a','1']]]", "{}", "null", "['set',[{}]]" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(diffs); i++) {
        struct json_object *diff = fake_json(diffs[i]);
        struct kvmig__ovsdb_value value;

        assert_true(decode("['set',['a','b']]", &value));
        assert_false(kvmig__ovsdb_value_apply(&value, diff, false));
        assert_string_equal(show(&value), "a b");
        kvmig__ovsdb_value_clear(&value);
        json_object_put(diff);
    }
}

static void requests_are_built_as_the_protocol_writes_them(void **state)
{
    const char *const atoms[] = { "a", "b" }, *const pairs[] = { "k", "v", "l", "w" };
    struct json_object *built[] = {
        kvmig__ovsdb_json_uuid(UUID_A),
        kvmig__ovsdb_json_set(atoms, 2),
        kvmig__ovsdb_json_set(NULL, 0),
        kvmig__ovsdb_json_map(pairs, 2),
        kvmig__ovsdb_json_clause("name", "==", json_object_new_string("x")),
    };
    static const char *const expected[] = {
        "['uuid','" UUID_A "']",         "['set',['a','b']]", "['set',[]]",
        "['map',[['k','v'],['l','w']]]", "['name','==','x']",
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(built); i++) {
        struct json_object *json = fake_json(expected[i]);

        assert_true(json_object_equal(built[i], json));
        json_object_put(json);
        json_object_put(built[i]);
    }
}

/* ---- types ---- */

static struct kvmig__ovsdb_type type_of(const char *text)
{
    char *schema_text = kvmig__asprintf("{'tables':{'T':{'columns':{'c':{'type':%s}}}}}", text);
    struct json_object *schema = fake_json(schema_text);
    struct kvmig__ovsdb_type type = kvmig__ovsdb_schema_type(schema, "T", "c");

    json_object_put(schema);
    free(schema_text);
    return type;
}

static void types_are_read_from_the_schema(void **state)
{
    static const struct {
        const char *json, *default_text;
        bool is_map, scalar;
    } cases[] = {
        { "'string'", "", false, true },
        { "'integer'", "0", false, true },
        { "{'key':'boolean'}", "false", false, true },
        { "{'key':{'type':'real','minReal':0}}", "0", false, true },
        { "{'key':'uuid'}", KVMIG__OVSDB_NO_TXN, false, true },
        { "{'key':'string','min':0}", NULL, false, true },
        { "{'key':'string','min':0,'max':4}", NULL, false, false },
        { "{'key':'integer','min':1,'max':'unlimited'}", "0", false, false },
        { "{'key':'string','value':'string','min':0,'max':'unlimited'}", NULL, true, false },
        { "{'key':'string','value':{'type':'integer'}}", "=0", true, true },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct kvmig__ovsdb_type type = type_of(cases[i].json);
        struct kvmig__ovsdb_value value;

        assert_true(type.known);
        assert_int_equal(type.is_map, cases[i].is_map);
        assert_int_equal(type.scalar, cases[i].scalar);
        kvmig__ovsdb_type_default(&type, &value);
        assert_int_equal(value.keys.n, cases[i].default_text ? 1 : 0);
        assert_string_equal(show(&value), cases[i].default_text ? cases[i].default_text : "");
        kvmig__ovsdb_value_clear(&value);
    }
}

static void a_type_that_is_not_understood_makes_the_column_unknown(void **state)
{
    static const char *const cases[] = { "'colour'", "{}", "7", "null", "{'key':'x'}", "{'key':'string','value':[]}",
                                         "[]" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++)
        assert_false(type_of(cases[i]).known);
    assert_false(kvmig__ovsdb_schema_type(NULL, "T", "c").known);
}

static void a_value_of_another_type_than_the_column_is_refused(void **state)
{
    static const struct {
        const char *type, *value;
        bool fits;
    } cases[] = {
        { "'string'", "'x'", true },
        { "'string'", "3", false },
        { "'string'", "['set',['x']]", true },
        { "'string'", "['set',[]]", false },
        { "'string'", "['set',['x','y']]", false },
        { "'string'", "['uuid','" UUID_A "']", false },
        { "'integer'", "3", true },
        { "'integer'", "3.5", false },
        { "'real'", "3", true },
        { "'real'", "true", false },
        { "'boolean'", "true", true },
        { "'boolean'", "'true'", false },
        { "'uuid'", "['uuid','" UUID_A "']", true },
        { "'uuid'", "'" UUID_A "'", false },
        { "{'key':'uuid','min':0,'max':'unlimited'}", "['set',[['uuid','" UUID_A "']]]", true },
        { "{'key':'uuid','min':0,'max':'unlimited'}", "['set',['x']]", false },
        { "{'key':'string','value':'integer','min':0,'max':'unlimited'}", "['map',[['k',1]]]", true },
        { "{'key':'string','value':'integer','min':0,'max':'unlimited'}", "['map',[['k','1']]]", false },
        { "{'key':'string','value':'integer','min':0,'max':'unlimited'}", "['map',[[1,1]]]", false },
        { "{'key':'string','value':'integer','min':0,'max':'unlimited'}", "['set',[]]", false },
        { "{'key':'string','min':0,'max':'unlimited'}", "['map',[]]", false },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct kvmig__ovsdb_type type = type_of(cases[i].type);
        struct json_object *json = fake_json(cases[i].value);
        struct kvmig__ovsdb_value value;

        if (kvmig__ovsdb_type_decode(&type, json, &value) != cases[i].fits)
            fail_msg("%s of %s", cases[i].value, cases[i].type);
        kvmig__ovsdb_value_clear(&value);
        json_object_put(json);
    }
}

/* ---- conditions ---- */

static void conditions_select_as_the_server_does(void **state)
{
    static const struct {
        const char *where;
        bool matches;
    } cases[] = {
        { NULL, true },
        { "[]", false },
        { "[true]", true },
        { "[false]", false },
        { "[['name','==','a']]", true },
        { "[['name','==','b']]", false },
        { "[['name','==','b'],['name','==','a']]", true }, /* any of them */
        { "[['name','!=','b']]", true },
        { "[['name','!=','a']]", false },
        { "[['_uuid','==',['uuid','" UUID_A "']]]", true },
        { "[['_uuid','==',['uuid','" UUID_B "']]]", false },
        { "[['tags','includes',['set',[1,3]]]]", true },
        { "[['tags','includes',['set',[1,4]]]]", false },
        { "[['tags','includes',['set',[]]]]", true },
        { "[['tags','excludes',4]]", true },
        { "[['tags','excludes',['set',[4,1]]]]", false },
        { "[['tags','==',['set',[3,2,1]]]]", true },
        { "[['tags','==',['set',[1,2]]]]", false },
        { "[['ids','includes',['map',[['k','v']]]]]", true },
        { "[['ids','includes',['map',[['k','w']]]]]", false },
        { "[['ids','excludes',['map',[['k','w']]]]]", true },
        { "[['ids','==','k']]", false },
        { "[['cfg','>',9]]", true },
        { "[['cfg','>=',10]]", true },
        { "[['cfg','<',10]]", false },
        { "[['cfg','<=',10]]", true },
        { "[['name','<',10]]", false },
        { "[['tags','<',10]]", false },
        { "[['cfg','~',10]]", false },
        { "[['colour','==','a']]", false },
        { "[['name','==']]", false },
        { "[[1,2,3]]", false },
        { "['name']", false },
        { "[['name','==',{}]]", false },
    };
    struct json_object *row =
        fake_json("{'name':'a','tags':['set',[1,2,3]],'ids':['map',[['k','v'],['l','w']]],'cfg':10}");

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct json_object *where = cases[i].where ? fake_json(cases[i].where) : NULL;

        if (kvmig__ovsdb_filter_match(where, UUID_A, row) != cases[i].matches)
            fail_msg("%s", cases[i].where);
        json_object_put(where);
    }
    json_object_put(row);
}

/* ---- rows ---- */

static const char *const columns[] = { "name", "up", "options", "cfg", "colour", NULL };

struct table {
    struct kvmig__ovsdb_rows rows;
    struct kvmig__ovsdb_budget budget;
};

static void table_open(struct table *table)
{
    struct json_object *schema = fake_json(fake_schema);

    *table = (struct table){ .budget = { .max_rows = 100, .max_bytes = 10000 } };
    kvmig__ovsdb_rows_init(&table->rows, "Port", columns);
    kvmig__ovsdb_rows_set_schema(&table->rows, schema);
    json_object_put(schema);
}

static void table_close(struct table *table)
{
    kvmig__ovsdb_rows_drop(&table->rows, &table->budget);
    assert_int_equal(table->budget.rows, 0);
    assert_int_equal(table->budget.bytes, 0);
    kvmig__ovsdb_rows_clear(&table->rows);
}

/* The code of the error; 0 = none. */
static int32_t apply(struct table *table, enum kvmig__ovsdb_format format, const char *updates, const char *filter)
{
    struct json_object *json = fake_json(updates), *where = filter ? fake_json(filter) : NULL;
    struct kvmig_error *error =
        kvmig__ovsdb_rows_apply(&table->rows, &table->budget, format, json, where, "tcp:1.2.3.4:6641");
    int32_t code = kvmig_error_code(error);

    kvmig__error_free(error);
    json_object_put(json);
    json_object_put(where);
    return code;
}

static void columns_of_a_row_are_read_by_name(void **state)
{
    const struct kvmig__ovsdb_row *row;
    struct table table;
    int64_t number = 7;

    (void)state;
    table_open(&table);
    assert_int_equal(apply(&table, KVMIG__OVSDB_UPDATE2,
                           "{'" UUID_A "':{'initial':{'name':'x','up':true,'cfg':12,'options':['map',[['k','v']]]}},"
                           "'" UUID_B "':{'insert':{}}}",
                           NULL),
                     0);
    row = kvmig__ovsdb_rows_find(&table.rows, UUID_A);
    assert_string_equal(kvmig__ovsdb_str(row, "name"), "x");
    assert_true(kvmig__ovsdb_bool(row, "up"));
    assert_true(kvmig__ovsdb_int(row, "cfg", &number));
    assert_int_equal(number, 12);
    assert_false(kvmig__ovsdb_int(row, "name", &number));
    assert_string_equal(kvmig__ovsdb_key(row, "options", "k"), "v");
    assert_null(kvmig__ovsdb_key(row, "options", "l"));
    assert_null(kvmig__ovsdb_key(row, "name", "x"));
    assert_null(kvmig__ovsdb_str(row, "options"));
    assert_null(kvmig__ovsdb_column(row, "colour")); /* the schema lacks it */
    assert_null(kvmig__ovsdb_column(row, "nothing"));
    assert_null(kvmig__ovsdb_str(NULL, "name"));

    /* What a server leaves out has the column's default. */
    row = kvmig__ovsdb_rows_find(&table.rows, UUID_B);
    assert_string_equal(kvmig__ovsdb_str(row, "name"), "");
    assert_true(kvmig__ovsdb_int(row, "cfg", &number));
    assert_int_equal(number, 0);
    assert_null(kvmig__ovsdb_column(row, "up"));
    assert_false(kvmig__ovsdb_bool(row, "up"));
    assert_null(kvmig__ovsdb_column(row, "options"));
    assert_null(kvmig__ovsdb_rows_find(&table.rows, FAKE_ROW));
    assert_null(kvmig__ovsdb_rows_find(&table.rows, NULL));
    table_close(&table);
}

static void updates_insert_change_and_delete_rows(void **state)
{
    struct table table;
    const struct kvmig__ovsdb_row *row;

    (void)state;
    table_open(&table);
    assert_int_equal(apply(&table, KVMIG__OVSDB_UPDATE2,
                           "{'" UUID_B "':{'initial':{'name':'b'}},'" UUID_A
                           "':{'initial':{'name':'a','options':['map',[['k','v'],['l','w']]]}}}",
                           NULL),
                     0);
    assert_string_equal(table.rows.v[0]->uuid, UUID_A);
    assert_int_equal(apply(&table, KVMIG__OVSDB_UPDATE2,
                           "{'" UUID_B "':{'delete':null},'" UUID_A
                           "':{'modify':{'options':['map',[['k','v'],['m','x']]],'up':true,'colour':{}}},"
                           "'" FAKE_ROW "':{'insert':{'name':'c'}}}",
                           NULL),
                     0);
    assert_int_equal(table.rows.n, 2);
    row = kvmig__ovsdb_rows_find(&table.rows, UUID_A);
    assert_string_equal(kvmig__ovsdb_str(row, "name"), "a");
    assert_null(kvmig__ovsdb_key(row, "options", "k"));
    assert_string_equal(kvmig__ovsdb_key(row, "options", "l"), "w");
    assert_string_equal(kvmig__ovsdb_key(row, "options", "m"), "x");
    assert_true(kvmig__ovsdb_bool(row, "up"));
    assert_string_equal(kvmig__ovsdb_str(kvmig__ovsdb_rows_find(&table.rows, FAKE_ROW), "name"), "c");

    /* Inserting what is there replaces it; deleting what is not there leaves it so. */
    assert_int_equal(apply(&table, KVMIG__OVSDB_UPDATE2,
                           "{'" UUID_B "':{'delete':null},'" UUID_A "':{'insert':{'name':'n'}}}", NULL),
                     0);
    assert_int_equal(table.rows.n, 2);
    assert_string_equal(kvmig__ovsdb_str(kvmig__ovsdb_rows_find(&table.rows, UUID_A), "name"), "n");
    table_close(&table);
}

static void plain_updates_are_filtered_here(void **state)
{
    static const char where[] = "[['name','==','a'],['name','==','b']]";
    struct table table;

    (void)state;
    table_open(&table);
    assert_int_equal(apply(&table, KVMIG__OVSDB_UPDATE,
                           "{'" UUID_A "':{'new':{'name':'a','cfg':1}},'" UUID_B "':{'new':{'name':'x','cfg':1}}}",
                           where),
                     0);
    assert_int_equal(table.rows.n, 1);
    assert_int_equal(apply(&table, KVMIG__OVSDB_UPDATE,
                           "{'" UUID_A "':{'old':{'name':'a'},'new':{'name':'y','cfg':1}},"
                           "'" UUID_B "':{'old':{'name':'x'},'new':{'name':'b','cfg':1}}}",
                           where),
                     0);
    assert_int_equal(table.rows.n, 1);
    assert_non_null(kvmig__ovsdb_rows_find(&table.rows, UUID_B));
    assert_int_equal(apply(&table, KVMIG__OVSDB_UPDATE, "{'" UUID_B "':{'old':{'name':'b'}}}", where), 0);
    assert_int_equal(table.rows.n, 0);
    table_close(&table);
}

static void updates_that_cannot_be_right_are_refused(void **state)
{
    static const char *const updates2[] = {
        "7",
        "{'x':{'delete':null}}",
        "{'" UUID_A "':7}",
        "{'" UUID_A "':{}}",
        "{'" UUID_A "':{'insert':7}}",
        "{'" UUID_A "':{'insert':{'name':7}}}",
        "{'" UUID_A "':{'modify':7}}",
        "{'" UUID_A "':{'modify':{'options':['set',['k']]}}}",
        "{'" UUID_A "':{'modify':{'options':['map',[['k',7]]]}}}",
        "{'" UUID_A "':{'modify':{'name':['set',[]]}}}",
        "{'" UUID_B "':{'modify':{'name':'never sent'}}}",
    };
    static const char *const updates[] = { "{'" UUID_A "':{}}", "{'" UUID_A "':{'new':7}}",
                                           "{'" UUID_A "':{'new':{'name':{}}}}" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(updates2) + KVMIG__N_ELEMENTS(updates); i++) {
        bool plain = i >= KVMIG__N_ELEMENTS(updates2);
        struct table table;

        table_open(&table);
        assert_int_equal(apply(&table, KVMIG__OVSDB_UPDATE2, "{'" UUID_A "':{'initial':{'name':'a'}}}", NULL), 0);
        assert_int_equal(apply(&table, plain ? KVMIG__OVSDB_UPDATE : KVMIG__OVSDB_UPDATE2,
                               plain ? updates[i - KVMIG__N_ELEMENTS(updates2)] : updates2[i], NULL),
                         -KVMIG_EJSON);
        assert_int_equal(table.rows.n, 1);
        table_close(&table);
    }
}

static void more_than_the_budget_is_refused(void **state)
{
    struct table table;
    char *text, *big = kvmig__calloc(20001, 1);

    (void)state;
    table_open(&table);
    table.budget.max_rows = 1;
    assert_int_equal(
        apply(&table, KVMIG__OVSDB_UPDATE2, "{'" UUID_A "':{'initial':{}},'" UUID_B "':{'initial':{}}}", NULL), -EFBIG);
    table_close(&table);
    table_open(&table);
    memset(big, 'x', 20000);
    text = kvmig__asprintf("{'" UUID_A "':{'insert':{'name':'%s'}}}", big);
    assert_int_equal(apply(&table, KVMIG__OVSDB_UPDATE2, text, NULL), -EFBIG);
    free(text);
    text = kvmig__asprintf("{'" UUID_A "':{'modify':{'options':['map',[['k','%s']]]}}}", big);
    assert_int_equal(apply(&table, KVMIG__OVSDB_UPDATE2, "{'" UUID_A "':{'insert':{'name':'a'}}}", NULL), 0);
    assert_int_equal(apply(&table, KVMIG__OVSDB_UPDATE2, text, NULL), -EFBIG);
    table_close(&table);
    free(text);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_decoded_to_sorted_text),
        cmocka_unit_test(what_is_no_value_is_refused),
        cmocka_unit_test(differences_change_sets_and_maps),
        cmocka_unit_test(a_difference_of_another_kind_changes_nothing),
        cmocka_unit_test(requests_are_built_as_the_protocol_writes_them),
        cmocka_unit_test(types_are_read_from_the_schema),
        cmocka_unit_test(a_type_that_is_not_understood_makes_the_column_unknown),
        cmocka_unit_test(a_value_of_another_type_than_the_column_is_refused),
        cmocka_unit_test(conditions_select_as_the_server_does),
        cmocka_unit_test(columns_of_a_row_are_read_by_name),
        cmocka_unit_test(updates_insert_change_and_delete_rows),
        cmocka_unit_test(plain_updates_are_filtered_here),
        cmocka_unit_test(updates_that_cannot_be_right_are_refused),
        cmocka_unit_test(more_than_the_budget_is_refused),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
