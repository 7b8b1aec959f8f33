/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists of findings: building, order, copies, accessors.
 */
#include "base/finding_internal.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_finding_keeps_copies_of_all_that_it_is_given(void **state)
{
    struct kvmig_findings list = { 0 };
    char object[] = "disk/vda", detail[] = "{\"need\": 5}";
    const struct kvmig_finding *finding;

    (void)state;
    kvmig__findings_add(&list, "DEST_VOLUME_SMALLER", KVMIG_SEVERITY_BLOCKER, object, "host-b", detail, "Grow it.",
                        "%s needs %d bytes", object, 5);
    memset(object, 'x', sizeof(object) - 1);
    memset(detail, 'x', sizeof(detail) - 1);
    assert_int_equal(kvmig_findings_count(&list), 1);
    finding = kvmig_findings_get(&list, 0);
    assert_string_equal(kvmig_finding_code(finding), "DEST_VOLUME_SMALLER");
    assert_int_equal(kvmig_finding_severity(finding), KVMIG_SEVERITY_BLOCKER);
    assert_string_equal(kvmig_finding_object(finding), "disk/vda");
    assert_string_equal(kvmig_finding_host(finding), "host-b");
    assert_string_equal(kvmig_finding_message(finding), "disk/vda needs 5 bytes");
    assert_string_equal(kvmig_finding_detail(finding), "{\"need\": 5}");
    assert_string_equal(kvmig_finding_hint(finding), "Grow it.");
    kvmig__findings_clear(&list);
    assert_int_equal(kvmig_findings_count(&list), 0);
}

static void what_is_not_there_reads_as_empty(void **state)
{
    struct kvmig_findings list = { 0 };
    const struct kvmig_finding *finding =
        kvmig__findings_add(&list, "X", KVMIG_SEVERITY_INFO, "cluster", NULL, NULL, NULL, "m");

    (void)state;
    assert_null(kvmig_finding_host(finding));
    assert_null(kvmig_finding_detail(finding));
    assert_string_equal(kvmig_finding_hint(finding), "");
    assert_null(kvmig_findings_get(&list, 1));
    assert_null(kvmig_findings_get(NULL, 0));
    assert_int_equal(kvmig_findings_count(NULL), 0);
    assert_string_equal(kvmig_finding_code(NULL), "");
    assert_int_equal(kvmig_finding_severity(NULL), 0);
    assert_string_equal(kvmig_finding_object(NULL), "");
    assert_null(kvmig_finding_host(NULL));
    assert_string_equal(kvmig_finding_message(NULL), "");
    assert_null(kvmig_finding_detail(NULL));
    assert_string_equal(kvmig_finding_hint(NULL), "");
    kvmig__findings_clear(&list);
}

static void sorting_puts_the_worst_first_and_keeps_order_within(void **state)
{
    static const struct {
        const char *code;
        int32_t severity;
    } in[] = { { "I1", 1 }, { "W1", 2 }, { "B1", 4 }, { "I2", 1 }, { "B2", 4 }, { "E1", 3 }, { "W2", 2 } };
    static const char *const out[] = { "B1", "B2", "E1", "W1", "W2", "I1", "I2" };
    struct kvmig_findings list = { 0 };

    (void)state;
    assert_int_equal(kvmig__findings_worst(&list), 0);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(in); i++)
        kvmig__findings_add(&list, in[i].code, in[i].severity, "cluster", NULL, NULL, NULL, "m");
    assert_int_equal(kvmig__findings_worst(&list), KVMIG_SEVERITY_BLOCKER);
    kvmig__findings_sort(&list);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(out); i++)
        assert_string_equal(list.v[i].code, out[i]);
    kvmig__findings_clear(&list);
    kvmig__findings_sort(&list);
}

static void appending_copies_also_a_list_to_itself(void **state)
{
    struct kvmig_findings a = { 0 }, b = { 0 };

    (void)state;
    kvmig__findings_add(&a, "A", KVMIG_SEVERITY_WARN, "vm/1", "h", "1", "do", "m");
    kvmig__findings_append(&b, &a);
    kvmig__findings_clear(&a);
    kvmig__findings_append(&b, &b);
    assert_int_equal(b.n, 2);
    assert_true(kvmig__findings_has(&b, "A"));
    assert_false(kvmig__findings_has(&b, "B"));
    assert_string_equal(b.v[1].detail, "1");
    assert_ptr_not_equal(b.v[0].code, b.v[1].code);
    kvmig__findings_clear(&b);
}

static void severities_have_names(void **state)
{
    (void)state;
    assert_string_equal(kvmig_severity_name(KVMIG_SEVERITY_INFO), "info");
    assert_string_equal(kvmig_severity_name(KVMIG_SEVERITY_WARN), "warn");
    assert_string_equal(kvmig_severity_name(KVMIG_SEVERITY_ERROR), "error");
    assert_string_equal(kvmig_severity_name(KVMIG_SEVERITY_BLOCKER), "blocker");
    assert_null(kvmig_severity_name(0));
    assert_null(kvmig_severity_name(5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_keeps_copies_of_all_that_it_is_given),
        cmocka_unit_test(what_is_not_there_reads_as_empty),
        cmocka_unit_test(sorting_puts_the_worst_first_and_keeps_order_within),
        cmocka_unit_test(appending_copies_also_a_list_to_itself),
        cmocka_unit_test(severities_have_names),
    };

    kvmig__findings_hook = NULL; /* made-up codes */
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
