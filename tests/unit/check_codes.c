/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Linked into every unit test: ends the test when a finding is added whose code is not in the table of codes, or not with that
 * severity. Tests of made-up findings set kvmig__findings_hook to NULL.
 */
#include "base/codes.h"
#include "base/finding_internal.h"

#include <stdio.h>
#include <stdlib.h>

static void check(const char *code, int32_t severity)
{
    if (kvmig__code_severities(code) >> severity & 1)
        return;
    fprintf(stderr, "src/base/codes.def has no %s with severity %s\n", code, kvmig_severity_name(severity));
    abort();
}

__attribute__((constructor)) static void begin(void)
{
    kvmig__findings_hook = check;
}
