/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Planner cases as data: every folder of tests/fixtures/plan is a test of its name. A case says what the plan must contain
 * ("plan"), which codes it must not contain ("absent"), and whether it must be without warnings ("clean").
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan_case.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_CASES 30
#define MIN_CLEAN 10

static struct json_object *plan_to_json(const struct plan_case *c)
{
    struct kvmig_plan *plan = NULL;
    struct json_object *json;
    char *text;

    if (kvmig__plan_make(&c->view, &c->request, &c->slots, &plan) < 0)
        fail_msg("planning failed: %s", kvmig_error_message(kvmig_error_last()));
    assert_int_equal(kvmig_plan_to_json(plan, &text), 0);
    json = json_tokener_parse(text);
    assert_non_null(json);
    free(text);
    kvmig_plan_unref(plan);
    return json;
}

static void fail_with(struct json_object *plan, const char *what, struct json_object *expected)
{
    print_message("%s\n", json_object_to_json_string_ext(plan, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
    fail_msg("%s: %s", what, expected ? json_object_to_json_string(expected) : "");
}

static bool has_code(struct json_object *plan, const char *code)
{
    struct json_object *findings = json_member(plan, "findings");

    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        if (kvmig__str_eq(json_text(json_object_array_get_idx(findings, i), "code"), code))
            return true;
    }
    return false;
}

static void check_clean(struct json_object *plan)
{
    struct json_object *findings = json_member(plan, "findings");

    if (!kvmig__str_eq(json_text(plan, "verdict"), "MIGRATABLE"))
        fail_with(plan, "the case must be clean", NULL);
    for (size_t i = 0; i < json_object_array_length(findings); i++)
        assert_string_equal(json_text(json_object_array_get_idx(findings, i), "severity"), "info");
}

/* Member by member, so that a failure tells which one. */
static void check_members(struct json_object *plan, struct json_object *expected)
{
    if (!expected)
        return;
    json_object_object_foreach(expected, key, value)
    {
        struct json_object *actual = NULL;

        if (!json_object_object_get_ex(plan, key, &actual) || !json_contains(actual, value))
            fail_with(plan, key, value);
    }
}

static void check_case(void **state)
{
    struct plan_case c;
    struct json_object *expect, *absent, *plan;

    plan_case_load(&c, *state);
    expect = json_member(c.json, "expect");
    absent = json_member(expect, "absent");
    assert_non_null(expect);
    plan = plan_to_json(&c);
    check_members(plan, json_member(expect, "plan"));
    for (size_t i = 0; absent && i < json_object_array_length(absent); i++) {
        if (has_code(plan, json_object_get_string(json_object_array_get_idx(absent, i))))
            fail_with(plan, "must not be found", json_object_array_get_idx(absent, i));
    }
    if (json_member(expect, "clean"))
        check_clean(plan);
    json_object_put(plan);
    plan_case_clear(&c);
}

static void there_are_enough_cases(void **state)
{
    char **names = *state;
    size_t n = 0, clean = 0;

    for (; names[n]; n++) {
        struct plan_case c;

        plan_case_load(&c, names[n]);
        clean += json_member(json_member(c.json, "expect"), "clean") != NULL;
        plan_case_clear(&c);
    }
    assert_in_range(n, MIN_CASES, SIZE_MAX);
    assert_in_range(clean, MIN_CLEAN, SIZE_MAX);
}

static int is_case(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && !strchr(entry->d_name, '.');
}

int main(void)
{
    struct dirent **found = NULL;
    int n = scandir(TOP_SRCDIR "/tests/fixtures/plan", &found, is_case, alphasort), failed;
    struct CMUnitTest *tests;
    char **names;

    if (n <= 0) {
        fprintf(stderr, "no cases in %s/tests/fixtures/plan\n", TOP_SRCDIR);
        return 1;
    }
    tests = kvmig__calloc((size_t)n + 1, sizeof(*tests));
    names = kvmig__calloc((size_t)n + 1, sizeof(*names));
    for (int i = 0; i < n; i++) {
        names[i] = kvmig__strdup(found[i]->d_name);
        tests[i] = (struct CMUnitTest){ names[i], check_case, NULL, NULL, names[i] };
        free(found[i]);
    }
    free(found);
    tests[n] = (struct CMUnitTest){ "there_are_enough_cases", there_are_enough_cases, NULL, NULL, names };
    failed = _cmocka_run_group_tests("plan cases", tests, (size_t)n + 1, NULL, NULL);
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    free(tests);
    return !!failed;
}
