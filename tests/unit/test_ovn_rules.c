/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What OVN does with names of chassis, and which release understands which activation strategy.
 */
#include "port/ovn_machine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add_chassis(struct kvmig__ovn_facts *facts, const char *name, const char *host)
{
    *KVMIG__PUSH(&facts->chassis) = (struct kvmig__ovn_chassis){ kvmig__strdup(name), kvmig__strdup(host) };
}

static void a_chassis_is_found_by_name_before_host_name(void **state)
{
    struct kvmig__ovn_facts facts = { 0 };
    bool ambiguous;

    (void)state;
    add_chassis(&facts, "a", "b");
    add_chassis(&facts, "b", "c");
    add_chassis(&facts, "d", "twin");
    add_chassis(&facts, "e", "twin");
    assert_string_equal(kvmig__ovn_chassis_find(&facts, "b", &ambiguous)->name, "b");
    assert_false(ambiguous);
    assert_string_equal(kvmig__ovn_chassis_find(&facts, "c", NULL)->name, "b");
    assert_non_null(kvmig__ovn_chassis_find(&facts, "twin", &ambiguous));
    assert_true(ambiguous);
    assert_null(kvmig__ovn_chassis_find(&facts, "ghost", &ambiguous));
    assert_null(kvmig__ovn_chassis_find(&facts, "", &ambiguous));
    assert_true(kvmig__ovn_same_chassis(&facts, "b", "c"));
    assert_true(kvmig__ovn_same_chassis(&facts, "ghost", "ghost"));
    assert_false(kvmig__ovn_same_chassis(&facts, "a", "b"));
    assert_false(kvmig__ovn_same_chassis(&facts, "a", NULL));
    assert_false(kvmig__ovn_same_chassis(&facts, NULL, NULL));
    kvmig__ovn_facts_clear(&facts);
}

static void an_address_begins_with_a_mac(void **state)
{
    static const char *const good[] = { "52:54:00:00:00:01", "52:54:00:00:00:0A 10.0.0.7 fd00::7", "0:0:0:0:0:1",
                                        "52:54:00:00:00:01 dynamic", "aB:cD:eF:00:11:22 10.0.0.0/24" };
    static const char *const bad[] = { "",
                                       "unknown",
                                       "dynamic",
                                       "router",
                                       "dynamic 10.0.0.7",
                                       "10.0.0.7",
                                       "fd00::7",
                                       "52:54:00:00:00",
                                       "52:54:00:00:00:",
                                       "52:54:00:00:00:01:02",
                                       "52:54:00:00:00:012",
                                       "52-54-00-00-00-01",
                                       "52:54:00:00:00:0g" };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(good); i++)
        if (!kvmig__ovn_is_address(good[i]))
            fail_msg("\"%s\" is an address", good[i]);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(bad); i++)
        if (kvmig__ovn_is_address(bad[i]))
            fail_msg("\"%s\" is no address", bad[i]);
}

static void only_newer_releases_block_by_address(void **state)
{
    (void)state;
    assert_false(kvmig__ovn_blocks_addresses(NULL));
    assert_false(kvmig__ovn_blocks_addresses("of my own"));
    assert_false(kvmig__ovn_blocks_addresses("23.03.1"));
    assert_false(kvmig__ovn_blocks_addresses("25.03.9"));
    assert_true(kvmig__ovn_blocks_addresses("25.09.0"));
    assert_true(kvmig__ovn_blocks_addresses("25.09"));
    assert_true(kvmig__ovn_blocks_addresses("26.03.2-20.0"));
}

static void lists_are_taken_apart_as_ovn_does(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        bool alone, pair;
    } cases[] = { { NULL, 0, false, false },          { "", 0, false, false },        { ",", 0, false, false },
                  { "hv1", 1, true, false },          { "hv1,", 1, true, false },     { "hv1,hv2", 2, false, true },
                  { "node1,hv2", 2, false, true },    { "hv2,hv1", 2, false, false }, { "hv1, hv2", 2, false, false },
                  { "hv1,hv2,hv3", 3, false, false }, { "hv1,hv3", 2, false, false } };
    struct kvmig__ovn_facts facts = { 0 };

    (void)state;
    add_chassis(&facts, "hv1", "node1");
    add_chassis(&facts, "hv2", "node2");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct kvmig__ovn_lsp lsp = { .requested_chassis = (char *)cases[i].text };
        struct kvmig__ovn_pin pin = kvmig__ovn_pin_of(&facts, &lsp, "hv1", "hv2");

        assert_int_equal(pin.n, cases[i].n);
        assert_int_equal(pin.is_alone, cases[i].alone);
        assert_int_equal(pin.is_pair, cases[i].pair);
    }
    kvmig__ovn_facts_clear(&facts);
}

static void a_host_name_is_written_only_if_ovn_would_find_the_chassis_by_it(void **state)
{
    static const struct {
        const char *target, *source_form, *form;
    } cases[] = { { "c", "node1", "node3" },     { "c", "hv1", "c" },
                  { "twin1", "node1", "twin1" }, { "shadow", "node1", "shadow" },
                  { "bare", "node1", "bare" },   { "ghost", "node1", "ghost" },
                  { "c", "ghost", "c" } };
    struct kvmig__ovn_facts facts = { 0 };

    (void)state;
    add_chassis(&facts, "hv1", "node1");
    add_chassis(&facts, "c", "node3");
    add_chassis(&facts, "twin1", "twin");
    add_chassis(&facts, "twin2", "twin");
    add_chassis(&facts, "shadow", "hv1"); /* OVN would take that host name for the name of the other chassis */
    add_chassis(&facts, "bare", NULL);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct kvmig__ovn_machine machine = { .target = (char *)cases[i].target };
        char *form = kvmig__ovn_target_form(&machine, &facts, cases[i].source_form);

        assert_string_equal(form, cases[i].form);
        free(form);
    }
    kvmig__ovn_facts_clear(&facts);
}

static void a_strategy_is_written_only_if_this_ovn_knows_it(void **state)
{
    enum { AUTO = KVMIG_PORT_STRATEGY_AUTO, RARP, GARP, NA, NONE };
    static const struct {
        const char *version;
        bool has_additional;
        int32_t wanted;
        int32_t code;
        const char *value;
    } cases[] = {
        { "23.03.1", true, AUTO, 0, "rarp" },         { "23.03.1-20.27.0-70.6", true, AUTO, 0, "rarp" },
        { "25.03.2", true, AUTO, 0, "rarp" },         { "25.09.0", true, AUTO, 0, "rarp,garp,na" },
        { "26.03.2", true, AUTO, 0, "rarp,garp,na" }, { NULL, true, AUTO, 0, "rarp" },
        { "garbage", true, AUTO, 0, "rarp" },         { "22.09.0", true, AUTO, 0, "rarp" },
        { "22.06.0", true, AUTO, ENOTSUP, NULL },     { "22.06.1", true, RARP, ENOTSUP, NULL },
        { "22.06.1", true, NONE, 0, NULL },           { "22.03.1", true, NONE, ENOTSUP, NULL },
        { "21.12", true, AUTO, ENOTSUP, NULL },       { "23.03.1", false, NONE, ENOTSUP, NULL },
        { NULL, false, AUTO, ENOTSUP, NULL },         { "23.03.1", true, RARP, 0, "rarp" },
        { "25.09.0", true, RARP, 0, "rarp" },         { "23.03.1", true, GARP, ENOTSUP, NULL },
        { NULL, true, GARP, ENOTSUP, NULL },          { "25.09.0", true, GARP, 0, "garp" },
        { "25.03.2", true, NA, ENOTSUP, NULL },       { "25.09.1", true, NA, 0, "na" },
        { "23.03.1", true, NONE, 0, NULL },           { "23.03.1", true, 9, EINVAL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        const char *value = "unset";
        struct kvmig_error *error =
            kvmig__ovn_strategy(cases[i].wanted, cases[i].version, cases[i].has_additional, &value);

        if (kvmig_error_code(error) != -cases[i].code || !kvmig__str_eq(value, cases[i].value))
            fail_msg("case %zu: code %d, value %s", i, (int)kvmig_error_code(error), value ? value : "none");
        if (error)
            assert_string_not_equal(kvmig_error_hint(error), "");
        kvmig__error_free(error);
    }
}

static void stable_is_more_than_twice_the_throttle_of_the_release(void **state)
{
    static const struct {
        const char *version;
        int64_t ms;
    } cases[] = { { "22.09.1", 1200 },
                  { "23.03.1", 1200 },
                  { "23.09.6", 1200 },
                  { "24.03.6", 1200 },
                  { "24.03.7", 4500 },
                  { "24.03", 4500 },
                  { "24.09.3", 1200 },
                  { "24.09.4", 4500 },
                  { "25.03.1", 1200 },
                  { "25.03.2", 4500 },
                  { "25.09.0", 4500 },
                  { "26.03.2", 4500 },
                  { "24.06.1", 4500 },
                  { NULL, 4500 },
                  { "", 4500 },
                  { "main", 4500 },
                  { "23.03.1-20.27.0-70.6", 1200 } };

    (void)state;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++)
        if (kvmig__ovn_stable_ms(cases[i].version) != cases[i].ms)
            fail_msg("%s: %lld", cases[i].version, (long long)kvmig__ovn_stable_ms(cases[i].version));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chassis_is_found_by_name_before_host_name),
        cmocka_unit_test(lists_are_taken_apart_as_ovn_does),
        cmocka_unit_test(an_address_begins_with_a_mac),
        cmocka_unit_test(only_newer_releases_block_by_address),
        cmocka_unit_test(a_host_name_is_written_only_if_ovn_would_find_the_chassis_by_it),
        cmocka_unit_test(a_strategy_is_written_only_if_this_ovn_knows_it),
        cmocka_unit_test(stable_is_more_than_twice_the_throttle_of_the_release),
    };

    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
