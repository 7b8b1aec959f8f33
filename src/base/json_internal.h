/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JSON with json-c: writing it, for every module that answers in JSON, and reading whole texts. A json_object stays on the thread that made it; no
 * global setting of json-c is touched. Any thread. Strings that are not valid UTF-8 are mended, so the text always
 * parses.
 */
#ifndef KVMIG_SRC_JSON_INTERNAL_H
#define KVMIG_SRC_JSON_INTERNAL_H

#include "base/finding_internal.h"
#include <json-c/json.h>

/* Adds a member, unless there is nothing to say: str NULL, number UINT64_MAX (KVMIG__UNKNOWN). */
void kvmig__json_add_str(struct json_object *object, const char *key, const char *str);
void kvmig__json_add_u64(struct json_object *object, const char *key, uint64_t number);
/* For members that are always there. */
void kvmig__json_add_i64(struct json_object *object, const char *key, int64_t number);
void kvmig__json_add_bool(struct json_object *object, const char *key, bool value);
/* An array of strings. */
struct json_object *kvmig__json_strlist(const struct kvmig__strlist *list);

/* {code, name, message, where, evidence, hint}; NULL gives NULL (JSON's null). Owned. */
struct json_object *kvmig__json_error(const struct kvmig_error *error);
/* {code, severity, object, host, message, detail, hint}. Owned. */
struct json_object *kvmig__json_finding(const struct kvmig_finding *finding);
/* An array, in the list's order; empty for NULL. Owned. */
struct json_object *kvmig__json_findings(const struct kvmig_findings *findings);

/* A text as JSON, owned; NULL: it is not one whole JSON value. JSON's null is NULL, too. */
struct json_object *kvmig__json_parse(const char *text, size_t length);

/* The object as one line of text, owned by the caller (free()); frees the object. */
char *kvmig__json_take_string(struct json_object *object);

#endif
