/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the diagnosis share: one text, read as a file, and what is said to it. Single-threaded. */
#ifndef KVMIG_TESTS_DIAGNOSE_TEST_H
#define KVMIG_TESTS_DIAGNOSE_TEST_H

#include "diagnose/diagnose.h"
#include "files_test.h"

/* Unref the result. */
static inline struct kvmig_diagnosis *diagnosis_of(const char *text, const struct kvmig__ask *ask)
{
    struct kvmig__files files = files_of(text, "text", NULL, NULL);
    const struct kvmig__view view = { .facts = files.facts };
    struct kvmig_diagnosis *diagnosis = NULL;

    assert_int_equal(kvmig__diagnose(&view, ask, &diagnosis), 0);
    kvmig__files_clear(&files);
    return diagnosis;
}

static inline const struct kvmig_finding *finding_of(const struct kvmig_findings *list, const char *code)
{
    for (size_t i = 0; i < list->n; i++)
        if (kvmig__str_eq(list->v[i].code, code))
            return &list->v[i];
    return NULL;
}

static inline void expect_verdict(const char *text, const struct kvmig__ask *ask, const char *verdict)
{
    struct kvmig_diagnosis *diagnosis = diagnosis_of(text, ask);

    if (!kvmig__str_eq(kvmig_diagnosis_verdict(diagnosis), verdict))
        print_error("%s\n", text);
    assert_string_equal(kvmig_diagnosis_verdict(diagnosis), verdict);
    kvmig_diagnosis_unref(diagnosis);
}

#endif
