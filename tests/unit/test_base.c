/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The small things: strings, arrays, lists, option structs, errors, UTF-8, detail text, JSON helpers, version.
 */
#include "base/base.h"
#include "base/finding_internal.h"
#include "base/json_internal.h"
#include "base/utf8.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- strings and arrays ---- */

static void strings_compare_without_caring_for_null(void **state)
{
    (void)state;
    assert_true(kvmig__str_eq(NULL, NULL));
    assert_false(kvmig__str_eq(NULL, ""));
    assert_true(kvmig__str_eq("a", "a"));
    assert_true(kvmig__str_starts("qemu+tls://a", "qemu+"));
    assert_false(kvmig__str_starts(NULL, ""));
    assert_false(kvmig__str_starts("q", "qemu"));
    assert_true(kvmig__str_ends("disk.qcow2", ".qcow2"));
    assert_false(kvmig__str_ends("2", ".qcow2"));
    assert_false(kvmig__str_ends(NULL, ".qcow2"));
    assert_null(kvmig__strdup(NULL));
}

static void str_set_replaces_also_by_a_part_of_itself(void **state)
{
    char *s = NULL;

    (void)state;
    kvmig__str_set(&s, "host/vm");
    kvmig__str_set(&s, s + 5);
    assert_string_equal(s, "vm");
    kvmig__str_set(&s, s);
    assert_string_equal(s, "vm");
    kvmig__str_set(&s, NULL);
    assert_null(s);
}

static void strndup_stops_at_the_end_of_the_string(void **state)
{
    char *s = kvmig__strndup("abc", 10), *t = kvmig__strndup("abc", 2), *u = kvmig__asprintf("%s-%d", "x", 7);

    (void)state;
    assert_string_equal(s, "abc");
    assert_string_equal(t, "ab");
    assert_string_equal(u, "x-7");
    free(s);
    free(t);
    free(u);
}

static void pushed_elements_are_zero_and_keep_their_place(void **state)
{
    struct {
        struct {
            int number;
            char *text;
        } * v;
        size_t n;
    } list = { 0 };

    (void)state;
    for (int i = 0; i < 100; i++) {
        size_t n = list.n;

        KVMIG__PUSH(&list)->number = i;
        assert_int_equal(list.n, n + 1);
        assert_null(list.v[i].text);
    }
    for (int i = 0; i < 100; i++)
        assert_int_equal(list.v[i].number, i);
    free(list.v);
}

static void string_lists_keep_order_sort_and_join(void **state)
{
    struct kvmig__strlist list = { 0 }, copy = { 0 }, empty = { 0 };
    char *joined;

    (void)state;
    kvmig__strlist_add(&list, "c");
    kvmig__strlist_add_new(&list, "a");
    kvmig__strlist_add_new(&list, "c");
    kvmig__strlist_add(&list, "b");
    assert_int_equal(list.n, 3);
    assert_true(kvmig__strlist_has(&list, "a"));
    assert_false(kvmig__strlist_has(&list, "d"));
    kvmig__strlist_add(&copy, "old");
    kvmig__strlist_copy(&copy, &list);
    kvmig__strlist_copy(&copy, &copy);
    kvmig__strlist_sort(&list);
    joined = kvmig__strlist_join(&list, ", ");
    assert_string_equal(joined, "a, b, c");
    free(joined);
    joined = kvmig__strlist_join(&copy, "");
    assert_string_equal(joined, "cab");
    free(joined);
    joined = kvmig__strlist_join(&empty, ", ");
    assert_string_equal(joined, "");
    free(joined);
    kvmig__strlist_sort(&empty);
    kvmig__strlist_clear(&list);
    kvmig__strlist_clear(&copy);
    assert_int_equal(list.n, 0);
    assert_null(list.v);
}

static void only_full_uuids_are_uuids(void **state)
{
    (void)state;
    assert_true(kvmig__is_uuid("550e8400-e29b-41d4-a716-446655440000"));
    assert_true(kvmig__is_uuid("550E8400-E29B-41D4-A716-446655440000"));
    assert_false(kvmig__is_uuid("550e8400e29b41d4a716446655440000"));
    assert_false(kvmig__is_uuid("550e8400-e29b-41d4-a716-44665544000g"));
    assert_false(kvmig__is_uuid("550e8400-e29b-41d4-a716-4466554400001"));
    assert_false(kvmig__is_uuid("550e8400-e29b-41d4-a716"));
    assert_false(kvmig__is_uuid(""));
    assert_false(kvmig__is_uuid(NULL));
}

static void clocks_go_forward(void **state)
{
    int64_t before = kvmig__now_ms();

    (void)state;
    assert_true(kvmig__now_ms() >= before);
    assert_true(kvmig__wall_ms() > 1600000000000); /* this library is younger than 2020 */
}

/* ---- option structs ---- */

struct test_opts {
    size_t size;
    uint32_t a, b;
};

static void options_of_an_older_caller_are_filled_with_zero(void **state)
{
    /* Exactly as large as it says: reading past it is an error that a sanitizer sees. */
    const size_t size = offsetof(struct test_opts, b);
    unsigned char *src = kvmig__calloc(1, size);
    const uint32_t a = 7;
    struct test_opts dst = { 1, 2, 3 };

    (void)state;
    memcpy(src, &size, sizeof(size));
    memcpy(src + offsetof(struct test_opts, a), &a, sizeof(a));
    assert_int_equal(kvmig__opts_copy(&dst, sizeof(dst), src, "call"), 0);
    assert_int_equal(dst.size, sizeof(dst));
    assert_int_equal(dst.a, 7);
    assert_int_equal(dst.b, 0);
    free(src);
}

static void options_without_a_struct_are_defaults(void **state)
{
    struct test_opts dst = { 1, 2, 3 };

    (void)state;
    assert_int_equal(kvmig__opts_copy(&dst, sizeof(dst), NULL, "call"), 0);
    assert_int_equal(dst.a, 0);
    assert_int_equal(dst.b, 0);
}

static void options_of_a_newer_caller_pass_if_the_rest_is_zero(void **state)
{
    struct {
        struct test_opts known;
        uint64_t newer;
    } src = { { sizeof(src), 4, 5 }, 0 };
    struct test_opts dst;

    (void)state;
    assert_int_equal(kvmig__opts_copy(&dst, sizeof(dst), &src, "call"), 0);
    assert_int_equal(dst.size, sizeof(dst));
    assert_int_equal(dst.b, 5);
}

static void unknown_options_are_refused_but_the_known_part_is_there(void **state)
{
    struct {
        struct test_opts known;
        uint64_t newer;
    } src = { { sizeof(src), 4, 5 }, 1ULL << 56 };
    struct test_opts dst;

    (void)state;
    assert_int_equal(kvmig__opts_copy(&dst, sizeof(dst), &src, "kvmig_some_call: opts"), -E2BIG);
    assert_int_equal(dst.a, 4);
    assert_int_equal(kvmig_error_code(kvmig_error_last()), -E2BIG);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "kvmig_some_call: opts");
    assert_non_null(strstr(kvmig_error_evidence(kvmig_error_last()), "offset"));
    assert_string_not_equal(kvmig_error_hint(kvmig_error_last()), "");
}

static void options_without_a_size_are_refused(void **state)
{
    struct test_opts src = { 0, 4, 5 }, dst = { 1, 2, 3 };

    (void)state;
    assert_int_equal(kvmig__opts_copy(&dst, sizeof(dst), &src, "call"), -EINVAL);
    assert_int_equal(dst.a, 0);
    assert_string_equal(kvmig_error_evidence(kvmig_error_last()), "size = 0");
    src.size = sizeof(size_t) - 1;
    assert_int_equal(kvmig__opts_copy(&dst, sizeof(dst), &src, "call"), -EINVAL);
}

static void initialised_options_are_zero_but_for_their_size(void **state)
{
    struct {
        struct test_opts opts;
        int behind;
    } here;
    struct test_opts old;

    (void)state;
    memset(&here, 0xff, sizeof(here));
    assert_int_equal(kvmig__opts_init(&here, sizeof(here.opts), "call"), 0);
    assert_int_equal(here.opts.size, sizeof(here.opts));
    assert_int_equal(here.opts.a, 0);
    assert_true(here.behind == -1);
    memset(&old, 0xff, sizeof(old));
    assert_int_equal(kvmig__opts_init(&old, sizeof(old.size), "call"), 0);
    assert_int_equal(old.size, sizeof(old.size));
    assert_true(old.a == UINT32_MAX); /* a caller that knows less has less */
}

static void options_without_room_for_their_size_are_not_initialised(void **state)
{
    struct test_opts opts = { 7, 4, 5 };

    (void)state;
    assert_int_equal(kvmig__opts_init(&opts, sizeof(size_t) - 1, "some_call"), -EINVAL);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "some_call");
    assert_string_equal(kvmig_error_evidence(kvmig_error_last()), "size = 7");
    assert_int_equal(opts.size, 7);
    assert_int_equal(opts.a, 4);
    assert_int_equal(kvmig__opts_init(NULL, sizeof(opts), "some_call"), -EINVAL);
    assert_string_equal(kvmig_error_evidence(kvmig_error_last()), "");
}

/* ---- errors ---- */

static void errors_say_what_where_why_and_how_to_mend(void **state)
{
    struct kvmig_error *error = kvmig__error_new(EINVAL, "uri[1]", "it says 'x'", "write it as ...", "Bad URI %d.", 1);
    struct kvmig_error *copy = kvmig__error_copy(error);

    (void)state;
    assert_int_equal(kvmig__fail(error), -EINVAL);
    assert_ptr_equal(kvmig_error_last(), error);
    assert_int_equal(kvmig__fail(kvmig__error_new(-KVMIG_ENOVM, NULL, NULL, NULL, "No VM.")), -KVMIG_ENOVM);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "");
    assert_string_equal(kvmig_error_evidence(kvmig_error_last()), "");
    assert_string_equal(kvmig_error_hint(kvmig_error_last()), "");
    assert_int_equal(kvmig_error_code(copy), -EINVAL);
    assert_string_equal(kvmig_error_message(copy), "Bad URI 1.");
    assert_string_equal(kvmig_error_where(copy), "uri[1]");
    assert_string_equal(kvmig_error_evidence(copy), "it says 'x'");
    assert_string_equal(kvmig_error_hint(copy), "write it as ...");
    kvmig__error_free(copy);
    kvmig__error_free(NULL);
    assert_null(kvmig__error_copy(NULL));
}

static void a_copied_message_is_no_format(void **state)
{
    struct kvmig_error *error = kvmig__error_new(EIO, NULL, NULL, NULL, "100%% of %s", "%n%s");
    struct kvmig_error *copy = kvmig__error_copy(error);

    (void)state;
    assert_string_equal(kvmig_error_message(copy), "100% of %n%s");
    kvmig__error_free(error);
    kvmig__error_free(copy);
}

static void accessors_of_no_error_are_empty(void **state)
{
    (void)state;
    assert_int_equal(kvmig_error_code(NULL), 0);
    assert_string_equal(kvmig_error_message(NULL), "");
    assert_string_equal(kvmig_error_where(NULL), "");
    assert_string_equal(kvmig_error_evidence(NULL), "");
    assert_string_equal(kvmig_error_hint(NULL), "");
}

static void *fail_on_another_thread(void *data)
{
    const struct kvmig_error **last = data;

    last[0] = kvmig_error_last();
    kvmig__fail(kvmig__error_new(EPERM, "thread", NULL, NULL, "Not here."));
    last[1] = kvmig_error_last();
    return NULL;
}

static void the_last_error_belongs_to_its_thread(void **state)
{
    const struct kvmig_error *last[2] = { 0 }, *mine;
    pthread_t thread;

    (void)state;
    kvmig__fail(kvmig__error_new(EIO, "main", NULL, NULL, "Here."));
    mine = kvmig_error_last();
    assert_int_equal(pthread_create(&thread, NULL, fail_on_another_thread, last), 0);
    assert_int_equal(pthread_join(thread, NULL), 0); /* its error is freed with it: a sanitizer looks for leaks */
    assert_null(last[0]);
    assert_non_null(last[1]);
    assert_ptr_equal(kvmig_error_last(), mine);
    assert_string_equal(kvmig_error_where(mine), "main");
}

static void codes_have_names_with_either_sign(void **state)
{
    (void)state;
    assert_string_equal(kvmig_error_code_name(-EINVAL), "EINVAL");
    assert_string_equal(kvmig_error_code_name(EINVAL), "EINVAL");
    assert_string_equal(kvmig_error_code_name(-KVMIG_EBLOCKED), "KVMIG_EBLOCKED");
    assert_null(kvmig_error_code_name(0));
    assert_null(kvmig_error_code_name(INT32_MIN));
    for (int32_t code = KVMIG_EVIRT; code <= KVMIG_ECONFLICT; code++)
        assert_non_null(kvmig_error_code_name(code));
    assert_null(kvmig_error_code_name(KVMIG_ECONFLICT + 1));
}

/* ---- text ---- */

static void utf8_is_kept_and_anything_else_replaced(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "plain", "plain" },
        { "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x90\xA7", "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x90\xA7" },
        { "\xE4", "\xEF\xBF\xBD" }, /* Latin-1 */
        { "a\x80z", "a\xEF\xBF\xBDz" },
        { "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD" }, /* overlong */
        { "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" }, /* half of a surrogate pair */
        { "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" }, /* past U+10FFFF */
        { "\xF0\x9F\x90", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" }, /* cut off */
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        char *exact = kvmig__strdup(cases[i].in), *out = kvmig__utf8_dup(exact);

        assert_string_equal(out, cases[i].out);
        free(exact);
        free(out);
    }
    assert_null(kvmig__utf8_dup(NULL));
}

static void details_are_json_that_any_parser_reads(void **state)
{
    struct kvmig__detail detail = { 0 };
    struct kvmig__strlist list = { 0 };
    struct json_object *object, *member;
    char *text;

    (void)state;
    kvmig__strlist_add(&list, "svm");
    kvmig__strlist_add(&list, "a\"b");
    kvmig__detail_str(&detail, "path", "/a\\b\"c\n\x01\xE4");
    kvmig__detail_str(&detail, "none", NULL);
    kvmig__detail_uint(&detail, "need", UINT64_MAX);
    kvmig__detail_list(&detail, "names", &list);
    text = kvmig__detail_take(&detail);
    assert_null(detail.text);
    object = json_tokener_parse(text);
    assert_non_null(object);
    assert_true(json_object_object_get_ex(object, "path", &member));
    assert_string_equal(json_object_get_string(member), "/a\\b\"c\n\x01\xEF\xBF\xBD");
    assert_true(json_object_object_get_ex(object, "none", &member));
    assert_null(member);
    assert_true(json_object_object_get_ex(object, "need", &member));
    assert_true(json_object_get_uint64(member) == UINT64_MAX);
    assert_true(json_object_object_get_ex(object, "names", &member));
    assert_int_equal(json_object_array_length(member), 2);
    assert_string_equal(json_object_get_string(json_object_array_get_idx(member, 1)), "a\"b");
    json_object_put(object);
    free(text);
    text = kvmig__detail_take(&detail);
    assert_string_equal(text, "{}");
    free(text);
    kvmig__strlist_clear(&list);
}

static void only_one_whole_json_value_is_json(void **state)
{
    static const char *const broken[] = { "", "{", "{}x", "{} {}", "nul", "{\"a\":}", "[1,]" };
    struct json_object *json = kvmig__json_parse("{\"a\":[1]} \r\n", strlen("{\"a\":[1]} \r\n"));
    char deep[400] = "";

    (void)state;
    assert_non_null(json);
    json_object_put(json);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(broken); i++)
        assert_null(kvmig__json_parse(broken[i], strlen(broken[i])));
    assert_null(kvmig__json_parse("{}\0", 3));
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    json = kvmig__json_parse(deep, 200);
    assert_non_null(json);
    json_object_put(json);
}

static void json_leaves_out_what_is_not_known(void **state)
{
    struct json_object *object = json_object_new_object();
    struct kvmig__strlist list = { 0 };
    char *text;

    (void)state;
    kvmig__json_add_str(object, "absent", NULL);
    kvmig__json_add_u64(object, "unknown", UINT64_MAX);
    kvmig__json_add_str(object, "path", "/a/\xE4\n");
    kvmig__json_add_u64(object, "bytes", UINT64_MAX - 1);
    kvmig__json_add_i64(object, "code", -22);
    kvmig__json_add_bool(object, "up", true);
    kvmig__strlist_add(&list, "x");
    json_object_object_add(object, "list", kvmig__json_strlist(&list));
    text = kvmig__json_take_string(object);
    assert_string_equal(text,
                        "{\"path\":\"/a/\xEF\xBF\xBD\\n\",\"bytes\":18446744073709551614,\"code\":-22,\"up\":true,"
                        "\"list\":[\"x\"]}");
    free(text);
    kvmig__strlist_clear(&list);
}

static void errors_and_findings_become_json(void **state)
{
    struct kvmig_error *error = kvmig__error_new(KVMIG_EVIRT, "host a", NULL, NULL, "It failed.");
    struct kvmig_findings list = { 0 };
    struct json_object *object = json_object_new_object();
    char *text;

    (void)state;
    kvmig__findings_add(&list, "CPU_FEATURE_MISSING", KVMIG_SEVERITY_BLOCKER, "vm/a", "b", "{\"names\": [\"svm\"]}",
                        NULL, "No.");
    kvmig__findings_add(&list, "X", KVMIG_SEVERITY_INFO, "vm/a", NULL, "no JSON {", "do", "Hm.");
    json_object_object_add(object, "error", kvmig__json_error(error));
    json_object_object_add(object, "findings", kvmig__json_findings(&list));
    json_object_object_add(object, "none", kvmig__json_findings(NULL));
    text = kvmig__json_take_string(object);
    assert_string_equal(
        text, "{\"error\":{\"code\":-4000,\"name\":\"KVMIG_EVIRT\",\"message\":\"It failed.\",\"where\":\"host a\"},"
              "\"findings\":[{\"code\":\"CPU_FEATURE_MISSING\",\"severity\":\"blocker\",\"object\":\"vm/a\",\"host\":"
              "\"b\",\"message\":\"No.\",\"detail\":{\"names\":[\"svm\"]}},{\"code\":\"X\",\"severity\":\"info\","
              "\"object\":\"vm/a\",\"message\":\"Hm.\",\"detail\":\"no JSON {\",\"hint\":\"do\"}],\"none\":[]}");
    free(text);
    assert_null(kvmig__json_error(NULL));
    assert_null(kvmig__json_finding(NULL));
    kvmig__error_free(error);
    kvmig__findings_clear(&list);
}

static void the_version_is_that_of_the_headers(void **state)
{
    char text[64];

    (void)state;
    assert_int_equal(kvmig_version(), KVMIG_VERSION_NUMBER);
    snprintf(text, sizeof(text), "%d.%d.%d", KVMIG_VERSION_MAJOR, KVMIG_VERSION_MINOR, KVMIG_VERSION_MICRO);
    assert_string_equal(kvmig_version_string(), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_compare_without_caring_for_null),
        cmocka_unit_test(str_set_replaces_also_by_a_part_of_itself),
        cmocka_unit_test(strndup_stops_at_the_end_of_the_string),
        cmocka_unit_test(pushed_elements_are_zero_and_keep_their_place),
        cmocka_unit_test(string_lists_keep_order_sort_and_join),
        cmocka_unit_test(only_full_uuids_are_uuids),
        cmocka_unit_test(clocks_go_forward),
        cmocka_unit_test(options_of_an_older_caller_are_filled_with_zero),
        cmocka_unit_test(options_without_a_struct_are_defaults),
        cmocka_unit_test(options_of_a_newer_caller_pass_if_the_rest_is_zero),
        cmocka_unit_test(unknown_options_are_refused_but_the_known_part_is_there),
        cmocka_unit_test(options_without_a_size_are_refused),
        cmocka_unit_test(initialised_options_are_zero_but_for_their_size),
        cmocka_unit_test(options_without_room_for_their_size_are_not_initialised),
        cmocka_unit_test(errors_say_what_where_why_and_how_to_mend),
        cmocka_unit_test(a_copied_message_is_no_format),
        cmocka_unit_test(accessors_of_no_error_are_empty),
        cmocka_unit_test(the_last_error_belongs_to_its_thread),
        cmocka_unit_test(codes_have_names_with_either_sign),
        cmocka_unit_test(utf8_is_kept_and_anything_else_replaced),
        cmocka_unit_test(details_are_json_that_any_parser_reads),
        cmocka_unit_test(only_one_whole_json_value_is_json),
        cmocka_unit_test(json_leaves_out_what_is_not_known),
        cmocka_unit_test(errors_and_findings_become_json),
        cmocka_unit_test(the_version_is_that_of_the_headers),
    };

    kvmig__findings_hook = NULL; /* made-up codes */
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
