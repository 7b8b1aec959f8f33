/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kubernetes' quantities and times: what is read, how exactly, what is refused, and what is written.
 */
#include "objects_test.h"

#define MOST (UINT64_MAX - 1)

static void quantities_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        uint64_t milli;
    } cases[] = {
        { "0", 0 },
        { "4", 4000 },
        { "+4", 4000 },
        { "500m", 500 },
        { "0.5", 500 },
        { ".5", 500 },
        { "5.", 5000 },
        { "1.500", 1500 },
        { "1Ki", 1024000 },
        { "64Mi", UINT64_C(67108864000) },
        { "1.5Gi", UINT64_C(1610612736000) },
        { "1k", 1000000 },
        { "2G", UINT64_C(2000000000000) },
        { "1e3", 1000000 },
        { "1E3", 1000000 },
        { "1e+3", 1000000 },
        { "5e-1", 500 },
        { "1E", MOST },
        { "9Pi", UINT64_C(10133099161583616000) },
        { "16000000000000000", UINT64_C(16000000000000000000) },
        { "18446744073709551.614", MOST },
        { "0000000000000000000000000000000000000001", 1000 },
        { "1.00000000000000000000000000000000000000", 1000 },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        uint64_t milli = 7;

        if (!kvmig__quantity_parse(cases[i].text, &milli) || milli != cases[i].milli)
            fail_msg("%s gives %llu, not %llu", cases[i].text, (unsigned long long)milli,
                     (unsigned long long)cases[i].milli);
    }
}

static void less_than_a_thousandth_rounds_up(void **state)
{
    uint64_t milli = 0;

    (void)state;
    assert_true(kvmig__quantity_parse("1n", &milli));
    assert_int_equal(milli, 1);
    assert_true(kvmig__quantity_parse("1500u", &milli));
    assert_int_equal(milli, 2);
    assert_true(kvmig__quantity_parse("1e-300", &milli));
    assert_int_equal(milli, 1);
    assert_true(kvmig__quantity_parse("0.1000000000000000000000000001", &milli));
    assert_int_equal(milli, 101);
    assert_true(kvmig__quantity_parse("0e-300", &milli));
    assert_int_equal(milli, 0);
}

static void too_much_is_as_much_as_there_is(void **state)
{
    static const char *const texts[] = { "16Ei", "1e300", "99999999999999999999999999", "18446744073709552",
                                         "1e99999999999999999999" };
    uint64_t milli;

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        milli = 0;
        assert_true(kvmig__quantity_parse(texts[i], &milli));
        assert_true(milli == MOST);
    }
}

static void what_is_no_quantity_is_refused(void **state)
{
    static const char *const texts[] = { "",    " ",    "-1",  "-500m", "Gi",   ".",    "1.2.3", "1 Gi", "1gi",
                                         "1ki", "1mi",  "1e",  "1e+",   "1ee3", "0x10", "1K",    "+-1",  "inf",
                                         "nan", "1KiB", "1m1", "1 ",    "e3",   "1,5",  "++1" };
    uint64_t milli = 7;

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        if (kvmig__quantity_parse(texts[i], &milli))
            fail_msg("'%s' was taken as %llu", texts[i], (unsigned long long)milli);
    }
    assert_false(kvmig__quantity_parse(NULL, &milli));
    assert_int_equal(milli, 7);
}

static void numbers_are_quantities_too(void **state)
{
    static const struct {
        const char *json;
        bool good;
        uint64_t milli;
    } cases[] = { { "4", true, 4000 },      { "1.5", true, 1500 }, { "\"2Ki\"", true, 2048000 },
                  { "1e3", true, 1000000 }, { "-1", false, 0 },    { "true", false, 0 },
                  { "{}", false, 0 },       { "[1]", false, 0 },   { "18446744073709551615", true, MOST } };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct json_object *json = json_tokener_parse(cases[i].json);
        uint64_t milli = 0;

        assert_int_equal(kvmig__quantity_of(json, &milli), cases[i].good);
        assert_true(milli == cases[i].milli);
        json_object_put(json);
    }
    assert_false(kvmig__quantity_of(NULL, &(uint64_t){ 0 }));
}

static void a_long_text_does_no_harm(void **state)
{
    char *text = kvmig__calloc(1, 100001);
    uint64_t milli;

    (void)state;
    memset(text, '9', 100000);
    assert_false(kvmig__quantity_parse(text, &milli));
    text[0] = '.';
    kvmig__quantity_parse(text, &milli);
    free(text);
}

static void assert_text(uint64_t milli, const char *want)
{
    char *text = kvmig__quantity_text(milli);
    uint64_t again = 0;

    assert_string_equal(text, want);
    assert_true(kvmig__quantity_parse(text, &again) && again == milli);
    free(text);
}

static void quantities_are_written_short(void **state)
{
    (void)state;
    assert_text(0, "0");
    assert_text(1500, "1500m");
    assert_text(UINT64_C(4294967296000), "4294967296");
    assert_text(MOST, "18446744073709551614m");
}

/* ---- times ---- */

static void times_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        { "1970-01-01T00:00:01Z", 1000 },
        { "2026-11-30T11:02:00Z", INT64_C(1796036520000) },
        { "2026-11-30T12:02:00+01:00", INT64_C(1796036520000) },
        { "2026-11-30T05:32:00-05:30", INT64_C(1796036520000) },
        { "2026-11-30t11:02:00z", INT64_C(1796036520000) },
        { "2026-11-30T11:02:00.5Z", INT64_C(1796036520500) },
        { "2026-11-30T11:02:00.123456Z", INT64_C(1796036520123) },
        { "2026-11-30T11:02:00.123456789+00:00", INT64_C(1796036520123) },
        { "2024-02-29T00:00:00Z", INT64_C(1709164800000) },
        { "2000-02-29T23:59:60Z", INT64_C(951868800000) },
        { "9999-12-31T23:59:59Z", INT64_C(253402300799000) },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        if (kvmig__time_parse(cases[i].text) != cases[i].ms)
            fail_msg("%s gives %lld", cases[i].text, (long long)kvmig__time_parse(cases[i].text));
    }
}

static void what_is_no_time_is_none(void **state)
{
    static const char *const texts[] = { "",
                                         "now",
                                         "2026-11-30",
                                         "2026-11-30T11:02:00",
                                         "2026-11-30T11:02Z",
                                         "2026-13-01T00:00:00Z",
                                         "2026-00-01T00:00:00Z",
                                         "2026-02-29T00:00:00Z",
                                         "1900-02-29T00:00:00Z",
                                         "2026-11-31T00:00:00Z",
                                         "2026-11-30T24:00:00Z",
                                         "2026-11-30T11:60:00Z",
                                         "2026-11-30T11:02:00.Z",
                                         "2026-11-30T11:02:00Zx",
                                         "2026-11-30T11:02:00+1:00",
                                         "2026-11-30T11:02:00+24:00",
                                         "26-11-30T11:02:00Z",
                                         "0001-01-01T00:00:00Z",
                                         "1969-12-31T23:59:59Z",
                                         "-026-11-30T11:02:00Z" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(texts); i++) {
        if (kvmig__time_parse(texts[i]))
            fail_msg("'%s' was taken as a time", texts[i]);
    }
    assert_int_equal(kvmig__time_parse(NULL), 0);
}

static void times_are_written(void **state)
{
    char *text = kvmig__time_text(INT64_C(1796036520000));

    (void)state;
    assert_string_equal(text, "2026-11-30T11:02:00Z");
    free(text);
    text = kvmig__time_text(INT64_C(1796036520007));
    assert_string_equal(text, "2026-11-30T11:02:00.007Z");
    free(text);
    text = kvmig__time_text(INT64_MAX);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
    free(text);
}

static void every_day_survives(void **state)
{
    (void)state;
    for (int64_t day = 1; day < 60000; day++) {
        int64_t ms = day * 86400000 + day;
        char *text = kvmig__time_text(ms);

        assert_int_equal(kvmig__time_parse(text), ms);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_are_read_exactly),
        cmocka_unit_test(less_than_a_thousandth_rounds_up),
        cmocka_unit_test(too_much_is_as_much_as_there_is),
        cmocka_unit_test(what_is_no_quantity_is_refused),
        cmocka_unit_test(numbers_are_quantities_too),
        cmocka_unit_test(a_long_text_does_no_harm),
        cmocka_unit_test(quantities_are_written_short),
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(what_is_no_time_is_none),
        cmocka_unit_test(times_are_written),
        cmocka_unit_test(every_day_survives),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
