/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of codes: no row twice, every blocker says what kind of change takes it away, and no code has two answers to that. */
#include "base/codes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void no_row_twice(void **state)
{
    (void)state;
    for (size_t i = 0; kvmig__code_at(i); i++) {
        for (size_t j = i + 1; kvmig__code_at(j); j++) {
            if (kvmig__code_at(i)->section == kvmig__code_at(j)->section)
                assert_string_not_equal(kvmig__code_at(i)->code, kvmig__code_at(j)->code);
        }
    }
}

static void rows_are_complete(void **state)
{
    (void)state;
    for (size_t i = 0; kvmig__code_at(i); i++) {
        const struct kvmig__code *row = kvmig__code_at(i);

        assert_non_null(kvmig__code_section_name(row->section));
        assert_true(*row->meaning);
        assert_null(strchr(row->meaning, '|'));
        if (!(row->severities >> KVMIG_SEVERITY_BLOCKER & 1))
            assert_int_equal(row->mend, KVMIG__MEND_NONE);
        else if (row->mend == KVMIG__MEND_NONE)
            assert_string_equal(row->code, "NO_FEASIBLE_TARGET"); /* its evidence names the blockers of each host */
        if (row->mend != KVMIG__MEND_NONE)
            assert_int_equal(kvmig__code_mend(row->code), row->mend);
    }
}

static void look_ups(void **state)
{
    (void)state;
    assert_int_equal(kvmig__code_severities("VM_IO_ERROR"), 1 << KVMIG_SEVERITY_BLOCKER | 1 << KVMIG_SEVERITY_ERROR);
    assert_int_equal(kvmig__code_severities("BLOCKED"), 0);
    assert_int_equal(kvmig__code_severities("NO_SUCH_CODE"), 0);
    assert_int_equal(kvmig__code_mend("NO_SUCH_CODE"), KVMIG__MEND_NONE);
    assert_int_equal(kvmig__code_mend("CPU_VENDOR_MISMATCH"), KVMIG__MEND_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_row_twice),
        cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(look_ups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
