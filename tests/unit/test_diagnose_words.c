/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words in texts that terminals have wrapped: tokens, lists of names, numbers, quotes; and that one pass finds what many would. */
#include "diagnose_test.h"

#define END(text) ((text) + strlen(text))

static void tokens(void **state)
{
    static const struct {
        const char *text, *pattern;
        bool found;
    } cases[] = {
        { "the missing features: a", "missing features:", true },
        { "the MISSING Features: a", "missing features:", true },
        { "the missing\n   features: a", "missing features:", true },
        { "the missing\tfeatures: a", "missing features:", true },
        { "the missi\nng features: a", "missing features:", true },
        { "the missi\n    ng features: a", "missing features:", true },
        { "the missing, features: a", "missing features:", false },
        { "the missing feature: a", "missing features:", false },
        { "missing features", "missing features:", false },
        { "", "missing features:", false },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        const char *after = NULL, *end = END(cases[i].text);
        const char *at = kvmig__words_find(cases[i].text, end, cases[i].pattern, &after);

        assert_int_equal(at != NULL, cases[i].found);
        if (at)
            assert_true(after > at && after <= end);
    }
}

#define WIDE "error: operation failed: guest CPU doesn't match specification: missing features: "

static void names(void **state)
{
    static const struct {
        const char *text, *names; /* separated by blanks */
    } cases[] = {
        { "a,b,c", "a b c" },
        { "a, b,\n c\nnext line", "a b c" },
        { "a,b')", "a b" },
        { "ht, missing features: erms", "ht" },
        { "a\n,b", "a b" },
        { "a\nb", "a" }, /* a short line was not broken */
        { WIDE "vmx-a,vmx-\nb-c,d')", "vmx-a vmx-b-c d" },
        { WIDE "vmx-a,vmx-b\n2026-05-05T10:00:00Z next", "vmx-a vmx-b" },
        { WIDE "vmx-a,vmx-b\nerror : next", "vmx-a vmx-b" },
        { WIDE "vmx-a,vmx-b\nunpause failed", "vmx-a vmx-b" },
        { WIDE "vmx-a,vmx\n-b\n", "vmx-a vmx-b" },
        { "", "" },
        { ",", "" },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        const char *text = cases[i].text;
        const char *at = kvmig__str_starts(text, WIDE) ? text + strlen(WIDE) : text;
        struct kvmig__strlist list = { 0 };
        char *joined = kvmig__strdup("");

        kvmig__words_names(text, at, END(text), &list);
        for (size_t k = 0; k < list.n; k++) {
            char *longer = kvmig__asprintf("%s%s%s", joined, k ? " " : "", list.v[k]);

            free(joined);
            joined = longer;
        }
        assert_string_equal(joined, cases[i].names);
        free(joined);
        kvmig__strlist_clear(&list);
    }
}

static void numbers(void **state)
{
    static const struct {
        const char *text;
        uint64_t number;
    } cases[] = {
        { "0x1c0010130afffaf unsupported", 0x1c0010130afffaf },
        { " is 42 of 43", 42 },
        { "none\n7", UINT64_MAX },
        { "\n7 then", 7 },
        { "", UINT64_MAX },
        { "0x", 0 },
        { "18446744073709551615", UINT64_MAX },
        { "99999999999999999999999999", UINT64_MAX },
        { "2026-12-16T22:06:36.625034Z qemu-kvm: of 0x1c00101\n30afffaf unsupported", 2026 },
    };
    const char *wrapped = "2026-12-16T22:06:36.625034Z qemu-kvm: Features 0x1c00101\n30afffaf unsupported", *after;

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++)
        if (kvmig__words_number(cases[i].text, cases[i].text, END(cases[i].text), NULL) != cases[i].number)
            print_error("%s\n", cases[i].text);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++)
        assert_true(kvmig__words_number(cases[i].text, cases[i].text, END(cases[i].text), NULL) == cases[i].number);
    assert_true(kvmig__words_number(wrapped, strstr(wrapped, "0x"), END(wrapped), &after) == 0x1c0010130afffaf);
    assert_string_equal(after, " unsupported");
}

static void quotes_and_words(void **state)
{
    static const struct {
        const char *text, *quoted, *word, *until;
    } cases[] = {
        { "'a b' c", "a b", NULL, "'a b' c" },
        { "say \"it\"]", "it", "say", "say \"it\"" },
        { "/etc/a.pem: No]", NULL, "/etc/a.pem", "/etc/a.pem: No" },
        { "'a\n  b' c", "ab", NULL, NULL },
        { "\n'a'", NULL, NULL, NULL },
        { "'open", NULL, NULL, NULL },
        { "''", NULL, NULL, NULL },
        { "", NULL, NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        const char *end = END(cases[i].text);
        char *quoted = kvmig__words_quoted(cases[i].text, end);

        assert_true(kvmig__str_eq(quoted, cases[i].quoted));
        free(quoted);
        if (cases[i].word) {
            char *word = kvmig__words_word(cases[i].text, end), *until = kvmig__words_until(cases[i].text, end, "]");

            assert_string_equal(word, cases[i].word);
            free(word);
            free(until);
        }
    }
}

static void places(void **state)
{
    const char *text = "one\ntwo\nthree";
    char *line = kvmig__words_evidence(text, END(text), strstr(text, "wo"));

    (void)state;
    assert_string_equal(line, "two");
    free(line);
    assert_int_equal(kvmig__words_line(text, text), 1);
    assert_int_equal(kvmig__words_line(text, strstr(text, "three")), 3);
    assert_int_equal(kvmig__words_line(text, END(text)), 3);
}

struct found {
    size_t n, sum;
};

static void count(void *user, size_t pattern, const char *at, const char *after)
{
    struct found *found = user;

    assert_true(after > at);
    found->n++;
    found->sum += pattern + (size_t)(after - at);
}

/* What one pass finds is what a search for each pattern finds. */
static void one_pass(void **state)
{
    static const char *const patterns[] = { "ab", "abc", "b c", "aab", "ca b", "bb" };
    struct kvmig__scanner *scanner = kvmig__scanner_new(patterns, KVMIG__N_ELEMENTS(patterns));
    char text[64];

    (void)state;
    srand(7);
    for (int round = 0; round < 2000; round++) {
        const size_t length = (size_t)(rand() % 60);
        struct found once = { 0 }, each = { 0 };

        for (size_t i = 0; i < length; i++)
            text[i] = "aAbBc \n"[rand() % 7];
        text[length] = '\0';
        kvmig__scan(scanner, text, text + length, count, &once);
        for (size_t p = 0; p < KVMIG__N_ELEMENTS(patterns); p++) {
            const char *at = text, *after;

            for (; (at = kvmig__words_find(at, text + length, patterns[p], &after)); at++)
                count(&each, p, at, after);
        }
        assert_int_equal(once.n, each.n);
        assert_int_equal(once.sum, each.sum);
    }
    kvmig__scanner_free(scanner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens),           cmocka_unit_test(names),  cmocka_unit_test(numbers),
        cmocka_unit_test(quotes_and_words), cmocka_unit_test(places), cmocka_unit_test(one_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
