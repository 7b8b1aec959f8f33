/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cutting a byte stream into messages: every way to cut it gives the same messages, and what is hostile ends it
 * before it costs much.
 */
#include "context_test.h"
#include "port/ovsdb_rpc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    struct kvmig__strlist texts;
    size_t stop_after; /* messages; 0 = never */
};

static bool keep(void *data, struct json_object *message)
{
    struct seen *seen = data;

    assert_true(json_object_is_type(message, json_type_object));
    kvmig__strlist_add(&seen->texts, json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN));
    return seen->texts.n != seen->stop_after;
}

/* Feeds pieces of that size. */
static struct kvmig_error *feed(struct kvmig__ovsdb_framer *framer, const char *bytes, size_t n, size_t piece,
                                struct seen *seen)
{
    struct kvmig_error *error = NULL;

    for (size_t i = 0; i < n && !error; i += piece) {
        size_t length = n - i < piece ? n - i : piece;
        /* Exactly as large as it must be, so that a read past the end is noticed. */
        char *copy = kvmig__calloc(length, 1);

        memcpy(copy, bytes + i, length);
        error = kvmig__ovsdb_framer_feed(framer, copy, length, keep, seen);
        free(copy);
    }
    return error;
}

static struct kvmig_error *feed_all(const char *bytes, size_t n, size_t piece, size_t max_message, struct seen *seen)
{
    struct kvmig__ovsdb_framer *framer = kvmig__ovsdb_framer_new(max_message);
    struct kvmig_error *error = feed(framer, bytes, n, piece, seen);

    kvmig__ovsdb_framer_free(framer);
    return error;
}

static void messages_are_the_same_however_the_stream_is_cut(void **state)
{
    static const char stream[] =
        "{}{\"a\":[1,2.5,-3e2,true,null]} \t\r\n{\"b\":\"}{\\\"\\\\\"}\n"
        "{\"c\":\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x90\xA7\\u00e4\"}{\"d\":{\"e\":[[\"uuid\",\"x\"]]}}";
    static const char *const expected[] = {
        "{}",
        "{\"a\":[1,2.5,-3e2,true,null]}",
        "{\"b\":\"}{\\\"\\\\\"}",
        "{\"c\":\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x90\xA7\xC3\xA4\"}",
        "{\"d\":{\"e\":[[\"uuid\",\"x\"]]}}",
    };

    (void)state;
    for (size_t piece = 1; piece <= sizeof(stream); piece++) {
        struct seen seen = { 0 };

        assert_null(feed_all(stream, sizeof(stream) - 1, piece, 1000, &seen));
        assert_int_equal(seen.texts.n, KVMIG__N_ELEMENTS(expected));
        for (size_t i = 0; i < seen.texts.n; i++)
            assert_string_equal(seen.texts.v[i], expected[i]);
        kvmig__strlist_clear(&seen.texts);
    }
}

static void an_unfinished_message_is_waited_for(void **state)
{
    struct seen seen = { 0 };

    (void)state;
    assert_null(feed_all("{\"a\":", 5, 2, 1000, &seen));
    assert_int_equal(seen.texts.n, 0);
}

static void whoever_takes_a_message_can_stop_the_rest(void **state)
{
    struct seen seen = { .stop_after = 2 };

    (void)state;
    assert_null(feed_all("{}{}{}{", 7, 100, 1000, &seen));
    assert_int_equal(seen.texts.n, 2);
    kvmig__strlist_clear(&seen.texts);
}

static void assert_refused(const char *bytes, size_t n, size_t n_before, const char *how)
{
    for (size_t piece = 1; piece <= n; piece++) {
        struct seen seen = { 0 };
        struct kvmig_error *error = feed_all(bytes, n, piece, 1000, &seen);

        assert_non_null(error);
        assert_int_equal(error->code, -KVMIG_EJSON);
        assert_non_null(strstr(error->message, how));
        assert_non_null(error->hint);
        assert_non_null(strstr(error->evidence, "byte "));
        assert_int_equal(seen.texts.n, n_before);
        kvmig__strlist_clear(&seen.texts);
        kvmig__error_free(error);
    }
}

#define REFUSED(text, n_before, how) assert_refused(text, sizeof(text) - 1, n_before, how)

static void what_is_no_message_is_refused(void **state)
{
    (void)state;
    REFUSED("garbage", 0, "does not begin with {");
    REFUSED("{}garbage", 1, "does not begin with {");
    REFUSED("[]", 0, "does not begin with {");
    REFUSED("null", 0, "does not begin with {");
    REFUSED("}", 0, "does not begin with {");
    REFUSED("\0", 0, "does not begin with {");
    REFUSED("HTTP/1.1 400 Bad Request\r\n", 0, "does not begin with {");
    REFUSED("{\"a\":1,}", 0, ":");
    REFUSED("{\"a\":[1,]}", 0, ":");
    REFUSED("{'a':1}", 0, ":");
    REFUSED("{\"a\":1 /* */}", 0, ":");
    REFUSED("{\"a\":nul}", 0, ":");
    REFUSED("{\"a\":NaN}", 0, ":");
    REFUSED("{\"a\":\"\\x\"}", 0, ":");
    REFUSED("{\"a\"}", 0, ":");
    REFUSED("{\"a\":-Infinity}", 0, ":");
    REFUSED("{a:1}", 0, ":");
    REFUSED("{\"a\":[1}", 0, ":");
    REFUSED("{]", 0, ":");
}

static void text_that_is_not_utf8_is_refused(void **state)
{
    (void)state;
    REFUSED("{\"a\":\"\xFF\"}", 0, "not UTF-8");
    REFUSED("{\"a\":\"\xC3\"}", 0, "not UTF-8");
    REFUSED("{\"a\":\"\x80\"}", 0, "not UTF-8");
    REFUSED("{\"a\":\"\xC0\xAF\"}", 0, "not UTF-8");
    REFUSED("{\"a\":\"\xE0\x80\xAF\"}", 0, "not UTF-8");
    REFUSED("{\"a\":\"\xED\xA0\x80\"}", 0, "not UTF-8");
    REFUSED("{\"a\":\"\xF4\x90\x80\x80\"}", 0, "not UTF-8");
    REFUSED("{}{\"a\":\"\xF0\x9F\x90\"}", 1, "not UTF-8");
}

static void a_nul_byte_is_refused_wherever_it_stands(void **state)
{
    (void)state;
    REFUSED("{\"a\":\"x\0y\"}", 0, "NUL");
    REFUSED("{\0}", 0, "NUL");
    REFUSED("{}{\"a\":1\0}", 1, "NUL");
}

/* What a message of that depth costs is the same for objects and arrays. */
static char *nested(size_t depth)
{
    char *text = kvmig__calloc(1, 6 * depth + 2);

    strcpy(text, "{\"a\":");
    memset(text + 5, '[', depth - 1);
    memset(text + 5 + depth - 1, ']', depth - 1);
    strcat(text, "}");
    return text;
}

static void nesting_has_a_limit(void **state)
{
    struct seen seen = { 0 };
    char *deepest = nested(KVMIG__OVSDB_MAX_DEPTH), *deeper = nested(KVMIG__OVSDB_MAX_DEPTH + 1);

    (void)state;
    assert_null(feed_all(deepest, strlen(deepest), 7, 1000, &seen));
    assert_int_equal(seen.texts.n, 1);
    assert_refused(deeper, strlen(deeper), 0, "nested too deeply");
    kvmig__strlist_clear(&seen.texts);
    free(deepest);
    free(deeper);
}

static void a_message_may_be_as_long_as_the_limit_and_no_longer(void **state)
{
    const size_t limit = 1000;
    struct seen seen = { 0 };
    struct kvmig_error *error;
    char *two = kvmig__asprintf("{\"a\":%*d}  {\"a\":%*d}", (int)limit - 6, 1, (int)limit - 6, 1);

    (void)state;
    assert_null(feed_all(two, strlen(two), 3, limit, &seen));
    assert_int_equal(seen.texts.n, 2);
    error = feed_all(two, strlen(two), 3, limit - 1, &seen);
    assert_non_null(error);
    assert_int_equal(error->code, -EMSGSIZE);
    assert_int_equal(seen.texts.n, 2);
    kvmig__error_free(error);
    kvmig__strlist_clear(&seen.texts);
    free(two);
}

/* Repeats a text until something is wrong; returns how many bytes were taken before that. */
static size_t flood(const char *begin, const char *text, size_t max_message)
{
    struct kvmig__ovsdb_framer *framer = kvmig__ovsdb_framer_new(max_message);
    struct seen seen = { 0 };
    struct kvmig_error *error = feed(framer, begin, strlen(begin), 100, &seen);
    size_t n = strlen(begin);

    while (!error && n <= 2 * max_message) {
        error = feed(framer, text, strlen(text), 100, &seen);
        n += strlen(text);
    }
    assert_non_null(error);
    assert_int_equal(error->code, -EMSGSIZE);
    assert_non_null(strstr(error->evidence, "at most"));
    assert_int_equal(seen.texts.n, 0);
    kvmig__error_free(error);
    kvmig__ovsdb_framer_free(framer);
    return n;
}

static void an_endless_message_ends_at_the_limit(void **state)
{
    (void)state;
    assert_true(flood("{\"a\":\"", "abcdefgh", 100000) <= 100000 + 8);
    assert_true(flood("{\"a\":[0", ",1000000000000000000", 100000) <= 100000 + 20);
    assert_true(flood("{\"a\"", "        ", 100000) <= 100000 + 8);
}

static void a_message_of_small_things_that_take_much_memory_ends_early(void **state)
{
    (void)state;
    assert_true(flood("{\"a\":[0", ",{}", 1000000) < 50000);
    assert_true(flood("{\"a\":[0", ",[]", 1000000) < 200000);
    assert_true(flood("{\"a\":[0", ",0", 1000000) < 300000);
}

static void the_structure_inside_of_strings_costs_nothing(void **state)
{
    struct seen seen = { 0 };
    char *text = kvmig__calloc(1, 9000);

    (void)state;
    strcpy(text, "{\"a\":\"");
    memset(text + 6, '{', 8000);
    strcat(text, "\"}");
    assert_null(feed_all(text, strlen(text), 1000, 9000, &seen));
    assert_int_equal(seen.texts.n, 1);
    kvmig__strlist_clear(&seen.texts);
    free(text);
}

static void integers_that_do_not_fit_are_refused(void **state)
{
    static const char fitting[] =
        "{\"a\":[9223372036854775807,-9223372036854775808,1.00000000000000000000000001,1e00000000000000000000000]}";
    struct seen seen = { 0 };

    (void)state;
    REFUSED("{\"a\":99999999999999999999}", 0, "too large");
    REFUSED("{\"a\":[1,-99999999999999999999]}", 0, "too large");
    assert_null(feed_all(fitting, strlen(fitting), 5, 1000, &seen));
    assert_int_equal(seen.texts.n, 1);
    kvmig__strlist_clear(&seen.texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_the_same_however_the_stream_is_cut),
        cmocka_unit_test(an_unfinished_message_is_waited_for),
        cmocka_unit_test(whoever_takes_a_message_can_stop_the_rest),
        cmocka_unit_test(what_is_no_message_is_refused),
        cmocka_unit_test(text_that_is_not_utf8_is_refused),
        cmocka_unit_test(a_nul_byte_is_refused_wherever_it_stands),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(a_message_may_be_as_long_as_the_limit_and_no_longer),
        cmocka_unit_test(an_endless_message_ends_at_the_limit),
        cmocka_unit_test(a_message_of_small_things_that_take_much_memory_ends_early),
        cmocka_unit_test(the_structure_inside_of_strings_costs_nothing),
        cmocka_unit_test(integers_that_do_not_fit_are_refused),
    };

    test_set_alarm();
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
