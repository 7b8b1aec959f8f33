/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Planner cases as data: tests/fixtures/plan/<case>/case.json describes hosts, a VM and a request, mostly by naming XML
 * documents of tests/fixtures, which are read by the library's own parsers; see tests/fixtures/plan/README.md.
 */
#ifndef KVMIG_TESTS_PLAN_CASE_H
#define KVMIG_TESTS_PLAN_CASE_H

#include <json-c/json.h>

#include "plan/plan_internal.h"

struct plan_case {
    struct json_object *json; /* after its base was merged in */
    struct kvmig__view view;
    struct kvmig__request request;
    struct kvmig__slots slots;
};

/* Reads the case of that name and builds its world; fails the running test if something is wrong with it. */
void plan_case_load(struct plan_case *out, const char *name);
void plan_case_clear(struct plan_case *c);

/* A member of an object; NULL if it is absent or null. */
struct json_object *json_member(struct json_object *object, const char *key);
const char *json_text(struct json_object *object, const char *key); /* NULL if absent */
/* Everything in expected is in actual: members of objects, elements of arrays (in any order); a string of an object's member
 * that begins with "~" must be part of the actual string. */
bool json_contains(struct json_object *actual, struct json_object *expected);

#endif
