/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What stood in a port before, as text beside the owner token: it comes back as it was, and damage is noticed.
 */
#include "port/ovn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_same(const char *a, const char *b)
{
    if (!kvmig__str_eq(a, b))
        fail_msg("\"%s\" is not \"%s\"", a ? a : "absent", b ? b : "absent");
}

static void round_trip(struct kvmig__ovn_previous in)
{
    struct kvmig__ovn_previous out;
    char *text = kvmig__ovn_previous_write(&in);

    for (const char *p = text; *p; p++)
        assert_true(*p > ' ' && *p < 127 && *p != '"' && *p != '\\');
    assert_true(kvmig__ovn_previous_read(text, &out));
    assert_same(out.requested_chassis, in.requested_chassis);
    assert_same(out.activation_strategy, in.activation_strategy);
    assert_same(out.source, in.source);
    assert_same(out.target, in.target);
    assert_same(out.activation, in.activation);
    assert_int_equal(out.since_ms, in.since_ms);
    kvmig__ovn_previous_clear(&out);
    free(text);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    round_trip((struct kvmig__ovn_previous){ 0 });
    round_trip((struct kvmig__ovn_previous){ .requested_chassis = (char *)"" });
    round_trip((struct kvmig__ovn_previous){ (char *)"hv1", (char *)"rarp,garp", (char *)"hv1", (char *)"node-2.lab",
                                             (char *)"rarp,garp,na", 1700000000123 });
    round_trip((struct kvmig__ovn_previous){ (char *)"a b;c=d%e", (char *)"\"\\\n\t\x01\x7f", (char *)"\xc3\xa4\xff",
                                             (char *)";;==", (char *)"none", 1 });
}

static void the_form_is_the_documented_one(void **state)
{
    struct kvmig__ovn_previous p = { .requested_chassis = (char *)"hv1", .source = (char *)"hv1", .since_ms = 5 };
    char *text = kvmig__ovn_previous_write(&p);

    (void)state;
    assert_string_equal(text, "kvmig1;requested=hv1;source=hv1;since=5");
    free(text);
}

static void unknown_keys_are_skipped(void **state)
{
    struct kvmig__ovn_previous p;

    (void)state;
    assert_true(kvmig__ovn_previous_read("kvmig1;color=red;source=hv1;color=blue;since=7", &p));
    assert_string_equal(p.source, "hv1");
    assert_int_equal(p.since_ms, 7);
    kvmig__ovn_previous_clear(&p);
}

static void damage_is_noticed(void **state)
{
    static const char *const bad[] = { NULL,
                                       "",
                                       "kvmig1",
                                       "kvmig1;",
                                       "kvmig2;since=1",
                                       "kvmig1;since",
                                       "kvmig1;=x",
                                       "kvmig1;source=a;;since=1",
                                       "kvmig1;source=a;",
                                       "kvmig1;source=a;source=b",
                                       "kvmig1;since=1;since=1",
                                       "kvmig1;since=",
                                       "kvmig1;since=-1",
                                       "kvmig1;since=12x",
                                       "kvmig1;since=1234567890123456789012",
                                       "kvmig1;source=%",
                                       "kvmig1;source=%4",
                                       "kvmig1;source=%zz",
                                       "kvmig1;source=%00",
                                       "kvmig1;source=a b",
                                       "kvmig1;source=a\"",
                                       "{\"source\": \"hv1\"}" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bad); i++) {
        struct kvmig__ovn_previous p;

        if (kvmig__ovn_previous_read(bad[i], &p))
            fail_msg("taken for good: %s", bad[i]);
        assert_null(p.source);
        assert_int_equal(p.since_ms, 0);
    }
}

static void cut_off_text_never_crashes_and_never_invents(void **state)
{
    struct kvmig__ovn_previous in = { (char *)"h v1", (char *)"rarp", (char *)"hv1",
                                      (char *)"hv2",  (char *)"none", 1700000000000 },
                               out;
    char *text = kvmig__ovn_previous_write(&in);

    (void)state;
    for (size_t n = 0; n < strlen(text); n++) {
        char *cut = kvmig__strndup(text, n);

        if (kvmig__ovn_previous_read(cut, &out) && out.target)
            assert_true(kvmig__str_starts("hv2", out.target));
        kvmig__ovn_previous_clear(&out);
        free(cut);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(the_form_is_the_documented_one),
        cmocka_unit_test(unknown_keys_are_skipped),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(cut_off_text_never_crashes_and_never_invents),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
