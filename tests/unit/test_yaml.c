/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * YAML and JSON texts as json-c objects: scalars, documents, aliases, and what is refused.
 */
#include "kubernetes/yaml_internal.h"

#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What was read, one document per line, and the error. */
struct result {
    char *text;
    size_t n, stop_after; /* 0 = never */
    struct kvmig_error *error;
};

static bool keep(void *data, struct json_object *document, size_t index)
{
    struct result *result = data;
    char *text = kvmig__asprintf("%s%zu %s\n", result->text ? result->text : "", index,
                                 json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN));

    free(result->text);
    result->text = text;
    json_object_put(document);
    return ++result->n != result->stop_after;
}

static struct result read_length(const char *text, size_t length, size_t stop_after)
{
    struct result result = { .stop_after = stop_after };
    const size_t n = kvmig__yaml_read(text, length, "text", keep, &result, &result.error);

    assert_int_equal(n, result.n);
    return result;
}

static void clear(struct result *result)
{
    free(result->text);
    kvmig__error_free(result->error);
}

static void check(const char *text, const char *wanted)
{
    struct result result = read_length(text, strlen(text), 0);

    if (result.error)
        fail_msg("%s: %s", result.error->where, result.error->message);
    assert_string_equal(result.text ? result.text : "", wanted);
    clear(&result);
}

static void check_error(const char *text, const char *wanted, int32_t code, const char *where, const char *message)
{
    struct result result = read_length(text, strlen(text), 0);

    assert_string_equal(result.text ? result.text : "", wanted);
    assert_non_null(result.error);
    assert_int_equal(result.error->code, -code);
    assert_string_equal(result.error->where, where);
    if (!strstr(result.error->message, message))
        fail_msg("\"%s\" does not say \"%s\"", result.error->message, message);
    assert_non_null(result.error->hint);
    clear(&result);
}

/* ---- scalars ---- */

static void plain_scalars_follow_the_core_schema(void **state)
{
    (void)state;
    check("[true, False, TRUE, null, ~, Null, ]", "0 [true,false,true,null,null,null]\n");
    check("[0, -1, +7, 0x1F, 0o17, 0123, -0]", "0 [0,-1,7,31,15,123,0]\n");
    check("[.5, 5., 1e3, -2.5E-1]", "0 [0.5,5.0,1000.0,-0.25]\n");
    check(
        "[yes, no, on, off, y, 1_000, 2001-01-01, 1.2.3, 0x, 0xg, 0o8, e3, -, +, ., 1e, '']",
        "0 [\"yes\",\"no\",\"on\",\"off\",\"y\",\"1_000\",\"2001-01-01\",\"1.2.3\",\"0x\",\"0xg\",\"0o8\",\"e3\",\"-\","
        "\"+\",\".\",\"1e\",\"\"]\n");
}

static void integers_keep_all_64_bits(void **state)
{
    (void)state;
    check("[18446744073709551615, 9223372036854775808, -9223372036854775808]",
          "0 [18446744073709551615,9223372036854775808,-9223372036854775808]\n");
    check("- 18446744073709551615\n- 0xFFFFFFFFFFFFFFFF", "0 [18446744073709551615,18446744073709551615]\n");
    check("- 18446744073709551616\n", "0 [1.8446744073709552e+19]\n");
}

static void what_json_cannot_say_stays_a_string(void **state)
{
    (void)state;
    check("- .inf\n- -.Inf\n- .nan\n- 1e999\n- 0xFFFFFFFFFFFFFFFFF",
          "0 [\".inf\",\"-.Inf\",\".nan\",\"1e999\",\"0xFFFFFFFFFFFFFFFFF\"]\n");
}

static void quoted_and_block_scalars_are_strings(void **state)
{
    (void)state;
    check("a: \"1\"\nb: 'true'\nc: |\n  1\nd: >-\n  null\n",
          "0 {\"a\":\"1\",\"b\":\"true\",\"c\":\"1\\n\",\"d\":\"null\"}\n");
}

static void tags_decide_and_must_fit(void **state)
{
    (void)state;
    check("- !!str 1\n- !!int \"7\"\n- !!float 4\n- !!bool 'true'\n- !!null ''\n- !!seq []\n- !!map {}\n",
          "0 [\"1\",7,4.0,true,null,[],{}]\n");
    check_error("a: !!int x", "", KVMIG_EJSON, "text:1:4", "tag");
    check_error("a: !mine 1", "", KVMIG_EJSON, "text:1:4", "tag");
    check_error("a: !!set {b}", "", KVMIG_EJSON, "text:1:4", "tag");
    check_error("%TAG !e! tag:example.com,2000:\n---\n!e!x a\n", "", KVMIG_EJSON, "text:1:1", "%TAG");
}

static void the_locale_does_not_matter(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        skip();
    check("- 1.5\n", "0 [1.5]\n");
    setlocale(LC_NUMERIC, "C");
}

/* ---- documents ---- */

static void documents_come_in_order_and_may_be_empty(void **state)
{
    (void)state;
    check("---\na: 1\n---\n# nothing\n---\n- b\n...\n", "0 {\"a\":1}\n1 null\n2 [\"b\"]\n");
    check("", "");
    check("# nothing\n", "");
    check("\xEF\xBB\xBF{\"a\":1}", "0 {\"a\":1}\n");
    check("\xEF\xBB\xBF"
          "a: 1",
          "0 {\"a\":1}\n");
}

static void reading_stops_when_the_reader_has_enough(void **state)
{
    struct result yaml = read_length("a: 1\n---\nb: [", 13, 1), json = read_length("{}[]{", 5, 1);

    (void)state;
    assert_string_equal(yaml.text, "0 {\"a\":1}\n");
    assert_null(yaml.error);
    assert_string_equal(json.text, "0 {}\n");
    assert_null(json.error);
    clear(&yaml);
    clear(&json);
}

static void a_broken_document_ends_the_reading_and_names_its_place(void **state)
{
    (void)state;
    check_error("a: 1\n---\nb: [c\n---\nd: 1\n", "0 {\"a\":1}\n", KVMIG_EJSON, "text:4:1", "flow sequence");
    check_error("a:\n\tb: 1\n", "", KVMIG_EJSON, "text:2:1", "token");
    check_error("a: \"\x01\"", "", KVMIG_EJSON, "text:1:5", "control characters");
    check_error("a: \xC3(", "", KVMIG_EJSON, "text:1:5", "UTF-8");
}

static void json_values_follow_one_another(void **state)
{
    (void)state;
    check("{\"a\":1}{\"b\":[]}\n [1,2]\n", "0 {\"a\":1}\n1 {\"b\":[]}\n2 [1,2]\n");
    check("{\"s\":\"\\ud83d\\ude00 \\/ }]\\\"\"}", "0 {\"s\":\"\xF0\x9F\x98\x80 \\/ }]\\\"\"}\n");
}

static void a_broken_json_value_does_not_hide_the_next(void **state)
{
    (void)state;
    check_error("{\"a\":1}\n{\"b\" 2}\n{\"c\":3}\n", "0 {\"a\":1}\n2 {\"c\":3}\n", KVMIG_EJSON, "text:2:6", "");
    check_error("{\"a\" 1}{\"c\":3}", "1 {\"c\":3}\n", KVMIG_EJSON, "text:1:6", "");
    check_error("{\"a\":1}\n{\"b\":[", "0 {\"a\":1}\n", KVMIG_EJSON, "text:2:1", "no end");
    check_error("{\"a\":1}{}\nb: 1", "0 {\"a\":1}\n1 {}\n", KVMIG_EJSON, "text:2:1", "");
    check_error("{\"a\":\"\xC3(\"}{}", "1 {}\n", KVMIG_EJSON, "text:1:8", "");
}

static void a_flow_mapping_is_not_taken_for_json(void **state)
{
    (void)state;
    check("{a: b, 'c': [1]}", "0 {\"a\":\"b\",\"c\":[1]}\n");
    check("{\"a\": b, # }\n \"c\": d}\n---\ne: f", "0 {\"a\":\"b\",\"c\":\"d\"}\n1 {\"e\":\"f\"}\n");
    check("{\"a\": 1}\n---\n{\"b\": 2}\n", "0 {\"a\":1}\n1 {\"b\":2}\n");
    check("[]\n---\nb: 2\n", "0 []\n1 {\"b\":2}\n");
}

static void one_document_is_one(void **state)
{
    static const char *const bad[] = { "", "# nothing", "~", "a: 1\n---\nb: 2", "{}{}", "a: [" };
    struct kvmig_error *error = NULL;
    struct json_object *object = kvmig__yaml_parse("a: 1", 4, "text", &error);

    (void)state;
    assert_null(error);
    assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), "{\"a\":1}");
    json_object_put(object);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bad); i++) {
        assert_null(kvmig__yaml_parse(bad[i], strlen(bad[i]), "text", &error));
        assert_int_equal(error->code, -KVMIG_EJSON);
        kvmig__error_free(error);
        error = NULL;
    }
}

/* ---- keys ---- */

static void duplicate_keys_are_refused(void **state)
{
    (void)state;
    check_error("a: 1\nb: 2\na: 3\n", "", KVMIG_EJSON, "text:3:1", "\"a\" stands twice");
    check_error("a: {b: 1, 'b': 2}\n", "", KVMIG_EJSON, "text:1:11", "\"b\" stands twice");
    check_error("{\"a\":{\"b\":1,\n\"b\":2}}", "", KVMIG_EJSON, "text:2:1", "\"b\" stands twice");
    check_error("{\"a\":{\"b\":1,\"\\u0062\":2}}{}", "1 {}\n", KVMIG_EJSON, "text:1:13", "\"b\" stands twice");
    check("[{\"a\":\"a\"},{\"a\":[{\"a\":1},\"a\"]}]", "0 [{\"a\":\"a\"},{\"a\":[{\"a\":1},\"a\"]}]\n");
}

static void keys_are_texts(void **state)
{
    (void)state;
    check("1: a\ntrue: b\n? c\n: d\n", "0 {\"1\":\"a\",\"true\":\"b\",\"c\":\"d\"}\n");
    check("- &k name\n- *k : 1\n", "0 [\"name\",{\"name\":1}]\n");
    check_error("? [a]\n: b\n", "", KVMIG_EJSON, "text:1:3", "key");
    check_error("\"a\\0b\": c\n", "", KVMIG_EJSON, "text:1:1", "key");
    check_error("{\"a\\u0000b\":1}", "", KVMIG_EJSON, "text:1:2", "NUL");
}

/* ---- aliases and merge keys ---- */

static void aliases_are_copies(void **state)
{
    (void)state;
    check("a: &x {b: [1]}\nc: *x\nd: &x 2\ne: *x\nf: &n ~\ng: *n\n",
          "0 {\"a\":{\"b\":[1]},\"c\":{\"b\":[1]},\"d\":2,\"e\":2,\"f\":null,\"g\":null}\n");
    check_error("a: *x\n", "", KVMIG_EJSON, "text:1:4", "alias");
    check_error("&a [*a]", "", KVMIG_EJSON, "text:1:5", "alias");
    check_error("a: &x 1\n---\nb: *x\n", "0 {\"a\":1}\n", KVMIG_EJSON, "text:3:4", "alias");
}

static void merge_keys_add_what_is_not_there(void **state)
{
    (void)state;
    check("b: &b {x: 1, y: 2}\nc: {<<: *b, x: 0}\n", "0 {\"b\":{\"x\":1,\"y\":2},\"c\":{\"x\":0,\"y\":2}}\n");
    check("- &a {x: 1}\n- &b {x: 2, y: 3}\n- {<<: [*a, *b], z: 4}\n",
          "0 [{\"x\":1},{\"x\":2,\"y\":3},{\"z\":4,\"x\":1,\"y\":3}]\n");
    check("\"<<\": 1\n", "0 {\"<<\":1}\n");
    check_error("<<: 1\n", "", KVMIG_EJSON, "text:1:1", "merge key");
    check_error("<<: [1]\n", "", KVMIG_EJSON, "text:1:1", "merge key");
    check_error("<<: {a: 1}\n<<: {b: 1}\n", "", KVMIG_EJSON, "text:2:1", "stands twice");
}

/* ---- bounds ---- */

/* Each line's list holds the line before nine times. */
static void aliases_cannot_grow_without_bound(void **state)
{
    char *text = kvmig__strdup("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    struct result result;

    (void)state;
    for (int i = 1; i < 12; i++) {
        char *longer = kvmig__asprintf("%sa%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", text, i,
                                       i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);

        free(text);
        text = longer;
    }
    result = read_length(text, strlen(text), 0);
    assert_int_equal(result.n, 0);
    assert_int_equal(result.error->code, -EMSGSIZE);
    clear(&result);
    free(text);
}

static void anchors_are_bounded(void **state)
{
    char *text = kvmig__calloc(32 * 1024, 1), *end = text;
    struct result result;

    (void)state;
    for (int i = 0; i < 1001; i++)
        end += sprintf(end, "- &a%d x\n", i);
    result = read_length(text, strlen(text), 0);
    assert_int_equal(result.n, 0);
    assert_int_equal(result.error->code, -EMSGSIZE);
    assert_string_equal(result.error->where, "text:1001:3");
    clear(&result);
    free(text);
}

static void check_depth(const char *prefix, size_t depth, bool fits)
{
    char *text = kvmig__calloc(strlen(prefix) + 2 * depth + 1, 1);
    struct result result;

    strcpy(text, prefix);
    memset(text + strlen(prefix), '[', depth);
    memset(text + strlen(prefix) + depth, ']', depth);
    result = read_length(text, strlen(text), 0);
    assert_int_equal(result.n, fits ? 1 : 0);
    assert_int_equal(kvmig_error_code(result.error), fits ? 0 : -EMSGSIZE);
    clear(&result);
    free(text);
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    check_depth("", KVMIG__YAML_MAX_DEPTH, true); /* JSON */
    check_depth("", KVMIG__YAML_MAX_DEPTH + 1, false);
    check_depth("", 100000, false);
    check_depth("--- ", KVMIG__YAML_MAX_DEPTH, true); /* YAML */
    check_depth("--- ", KVMIG__YAML_MAX_DEPTH + 1, false);
    check_depth("--- ", 100000, false);
}

static void aliases_nest_as_deep_as_their_anchors(void **state)
{
    char *text = kvmig__strdup("a0: &a0 [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n");
    struct result result;

    (void)state;
    for (int i = 1; i < 12; i++) {
        char *longer = kvmig__asprintf("%sa%d: &a%d [[[[[[[[[[[[[[[[[[[[*a%d]]]]]]]]]]]]]]]]]]]]\n", text, i, i, i - 1);

        free(text);
        text = longer;
    }
    result = read_length(text, strlen(text), 0);
    assert_int_equal(result.n, 0);
    assert_int_equal(result.error->code, -EMSGSIZE);
    assert_string_equal(result.error->where, "text:10:29");
    clear(&result);
    free(text);
}

static void what_would_take_too_much_memory_is_refused_before(void **state)
{
    const size_t n = 2200000;
    char *text = kvmig__calloc(3 * n + 4, 1);
    struct result result;

    (void)state;
    text[0] = '[';
    for (size_t i = 0; i < n; i++)
        memcpy(text + 1 + 3 * i, "{},", 3);
    memcpy(text + 1 + 3 * n, "{}]", 3);
    result = read_length(text, 3 * n + 4, 0);
    assert_int_equal(result.n, 0);
    assert_int_equal(result.error->code, -EMSGSIZE);
    clear(&result);
    result = read_length(text, KVMIG__YAML_MAX_TEXT + 1, 0); /* nothing of it is looked at */
    assert_int_equal(result.error->code, -EMSGSIZE);
    clear(&result);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_scalars_follow_the_core_schema),
        cmocka_unit_test(integers_keep_all_64_bits),
        cmocka_unit_test(what_json_cannot_say_stays_a_string),
        cmocka_unit_test(quoted_and_block_scalars_are_strings),
        cmocka_unit_test(tags_decide_and_must_fit),
        cmocka_unit_test(the_locale_does_not_matter),
        cmocka_unit_test(documents_come_in_order_and_may_be_empty),
        cmocka_unit_test(reading_stops_when_the_reader_has_enough),
        cmocka_unit_test(a_broken_document_ends_the_reading_and_names_its_place),
        cmocka_unit_test(json_values_follow_one_another),
        cmocka_unit_test(a_broken_json_value_does_not_hide_the_next),
        cmocka_unit_test(a_flow_mapping_is_not_taken_for_json),
        cmocka_unit_test(one_document_is_one),
        cmocka_unit_test(duplicate_keys_are_refused),
        cmocka_unit_test(keys_are_texts),
        cmocka_unit_test(aliases_are_copies),
        cmocka_unit_test(merge_keys_add_what_is_not_there),
        cmocka_unit_test(aliases_cannot_grow_without_bound),
        cmocka_unit_test(anchors_are_bounded),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(aliases_nest_as_deep_as_their_anchors),
        cmocka_unit_test(what_would_take_too_much_memory_is_refused_before),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
