/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the XML parsers share: fixtures as text, and checks of errors and lists.
 */
#ifndef KVMIG_TESTS_XML_TEST_H
#define KVMIG_TESTS_XML_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/model.h"
#include "libvirt/libvirt_internal.h"

/* The text of tests/fixtures/libvirt-<name>.xml; owned. */
static inline char *fixture(const char *name)
{
    char *path = kvmig__asprintf("%s/tests/fixtures/libvirt-%s.xml", TOP_SRCDIR, name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot open %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    rewind(file);
    char *text = kvmig__calloc((size_t)size + 1, 1);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    fclose(file);
    free(path);
    return text;
}

/* A string member that may be NULL. */
#define assert_text(actual, expected)                                                                                  \
    do {                                                                                                               \
        const char *actual_ = (actual), *expected_ = (expected);                                                       \
        if (!kvmig__str_eq(actual_, expected_))                                                                        \
            fail_msg("%s is \"%s\", expected \"%s\"", #actual, actual_ ? actual_ : "NULL",                             \
                     expected_ ? expected_ : "NULL");                                                                  \
    } while (0)

/* The last error is of the code and has the piece in its message. */
static inline void assert_error(int32_t code, int32_t expected, const char *piece)
{
    const struct kvmig_error *error = kvmig_error_last();
    assert_int_equal(code, expected);
    assert_non_null(error);
    assert_int_equal(kvmig_error_code(error), expected);
    if (!strstr(kvmig_error_message(error), piece))
        fail_msg("\"%s\" does not tell \"%s\"", kvmig_error_message(error), piece);
    assert_true(*kvmig_error_where(error) != '\0');
    assert_true(*kvmig_error_hint(error) != '\0');
}

#endif
