/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Errors, findings and small values as json-c objects, and texts of others. Does not know what documents mean, nor any other object
 * of the library. Any thread; what is returned belongs to the caller.
 */
#include "base/json_internal.h"

#include "base/utf8.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 256 /* custom resources nest deeper than json-c allows by itself */

static struct json_object *string_object(const char *str)
{
    char *clean = kvmig__utf8_dup(str);
    struct json_object *object = json_object_new_string(clean);

    free(clean);
    return object;
}

void kvmig__json_add_str(struct json_object *object, const char *key, const char *str)
{
    if (str)
        json_object_object_add(object, key, string_object(str));
}

void kvmig__json_add_u64(struct json_object *object, const char *key, uint64_t number)
{
    if (number != UINT64_MAX)
        json_object_object_add(object, key, json_object_new_uint64(number));
}

void kvmig__json_add_i64(struct json_object *object, const char *key, int64_t number)
{
    json_object_object_add(object, key, json_object_new_int64(number));
}

void kvmig__json_add_bool(struct json_object *object, const char *key, bool value)
{
    json_object_object_add(object, key, json_object_new_boolean(value));
}

struct json_object *kvmig__json_strlist(const struct kvmig__strlist *list)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < list->n; i++)
        json_object_array_add(array, string_object(list->v[i]));
    return array;
}

struct json_object *kvmig__json_error(const struct kvmig_error *error)
{
    struct json_object *object;

    if (!error)
        return NULL;
    object = json_object_new_object();
    kvmig__json_add_i64(object, "code", error->code);
    kvmig__json_add_str(object, "name", kvmig_error_code_name(error->code));
    kvmig__json_add_str(object, "message", error->message);
    kvmig__json_add_str(object, "where", error->where);
    kvmig__json_add_str(object, "evidence", error->evidence);
    kvmig__json_add_str(object, "hint", error->hint);
    return object;
}

/* The evidence is JSON text by contract. Text that does not parse is shown as a string rather than lost. */
static struct json_object *detail_object(const char *detail)
{
    struct json_object *object;
    enum json_tokener_error error = json_tokener_success;

    object = json_tokener_parse_verbose(detail, &error);
    return error == json_tokener_success ? object : string_object(detail);
}

struct json_object *kvmig__json_finding(const struct kvmig_finding *finding)
{
    struct json_object *object;

    if (!finding)
        return NULL;
    object = json_object_new_object();
    kvmig__json_add_str(object, "code", finding->code);
    kvmig__json_add_str(object, "severity", kvmig_severity_name(finding->severity));
    kvmig__json_add_str(object, "object", finding->object);
    kvmig__json_add_str(object, "host", finding->host);
    kvmig__json_add_str(object, "message", finding->message);
    if (finding->detail)
        json_object_object_add(object, "detail", detail_object(finding->detail));
    kvmig__json_add_str(object, "hint", finding->hint);
    return object;
}

struct json_object *kvmig__json_findings(const struct kvmig_findings *findings)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; findings && i < findings->n; i++)
        json_object_array_add(array, kvmig__json_finding(&findings->v[i]));
    return array;
}

/* Whether nothing but white space follows; a NUL inside the length is something. */
static bool is_end(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!text[i] || !strchr(" \t\r\n", text[i]))
            return false;
    }
    return true;
}

struct json_object *kvmig__json_parse(const char *text, size_t length)
{
    struct json_tokener *tokener;
    struct json_object *json;
    size_t end;
    bool whole;

    if (!text || length == 0 || length > INT_MAX)
        return NULL;
    tokener = json_tokener_new_ex(MAX_DEPTH);
    if (!tokener)
        return NULL;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    json = json_tokener_parse_ex(tokener, text, (int)length);
    end = json_tokener_get_parse_end(tokener);
    whole = json_tokener_get_error(tokener) == json_tokener_success && is_end(text + end, length - end);
    json_tokener_free(tokener);
    if (whole)
        return json;
    json_object_put(json);
    return NULL;
}

char *kvmig__json_take_string(struct json_object *object)
{
    char *text =
        kvmig__strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));

    json_object_put(object);
    return text;
}
