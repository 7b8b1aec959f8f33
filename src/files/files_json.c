/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Members of JSON objects that strangers wrote, by type: what is missing, or of another type, leaves the value as it is, which is "not
 * given". Any thread; the JSON is borrowed.
 */
#include "files/files_internal.h"

#include "kubernetes/objects.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 4096 /* names and paths are shorter */

struct json_object *kvmig__files_member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    return json_object_is_type(object, json_type_object) && json_object_object_get_ex(object, key, &value) ? value
                                                                                                           : NULL;
}

struct json_object *kvmig__files_list(struct json_object *object, const char *key)
{
    struct json_object *list = kvmig__files_member(object, key);

    return json_object_is_type(list, json_type_array) ? list : NULL;
}

size_t kvmig__files_count(struct json_object *list)
{
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

    return n < KVMIG__FILES_ITEMS ? n : KVMIG__FILES_ITEMS;
}

static const char *text_of(struct json_object *value)
{
    const char *text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;

    return text && *text && strnlen(text, MAX_TEXT + 1) <= MAX_TEXT ? text : NULL;
}

void kvmig__files_str(struct json_object *object, const char *key, char **out)
{
    const char *text = text_of(kvmig__files_member(object, key));

    if (text)
        kvmig__str_set(out, text);
}

void kvmig__files_strlist(struct json_object *object, const char *key, struct kvmig__strlist *out)
{
    struct json_object *list = kvmig__files_list(object, key);

    for (size_t i = 0; i < kvmig__files_count(list); i++) {
        const char *text = text_of(json_object_array_get_idx(list, i));

        if (text)
            kvmig__strlist_add(out, text);
    }
}

void kvmig__files_tri(struct json_object *object, const char *key, int32_t *out)
{
    struct json_object *value = kvmig__files_member(object, key);

    if (json_object_is_type(value, json_type_boolean))
        *out = json_object_get_boolean(value) ? 1 : 0;
}

void kvmig__files_bytes(struct json_object *object, const char *key, uint64_t *out)
{
    struct json_object *value = kvmig__files_member(object, key);
    uint64_t milli;

    if (json_object_is_type(value, json_type_int)) {
        if (json_object_get_int64(value) >= 0)
            *out = json_object_get_uint64(value);
    } else if (value && kvmig__quantity_of(value, &milli)) {
        *out = milli / 1000 + (milli % 1000 ? 1 : 0);
    }
}

void kvmig__files_fraction(struct json_object *object, const char *key, double *out)
{
    struct json_object *value = kvmig__files_member(object, key);
    const char *text = text_of(value);
    char *end = NULL;
    double number = -1;

    if (json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int))
        number = json_object_get_double(value);
    else if (text && isdigit((unsigned char)text[0])) /* "0.055", as KubeVirt's own configuration writes it */
        number = strtod(text, &end);
    if (number >= 0 && number < 1 && (!end || !*end))
        *out = number;
}

void kvmig__files_time(struct json_object *object, const char *key, int64_t *out_s)
{
    int64_t ms = kvmig__time_parse(text_of(kvmig__files_member(object, key)));

    if (ms)
        *out_s = ms / 1000;
}

/* ---- versions ---- */

/* The digits at text, as a number below limit; UINT64_MAX if they are none. */
static uint64_t digits(const char *text, uint64_t limit, const char **rest)
{
    uint64_t number = 0;

    *rest = text;
    while (isdigit((unsigned char)**rest) && number < limit)
        number = number * 10 + (uint64_t)(*(*rest)++ - '0');
    return *rest == text || number >= limit ? UINT64_MAX : number;
}

static uint64_t part_after_dot(const char **rest)
{
    uint64_t part = 0;
    const char *end;

    if (**rest != '.')
        return 0;
    part = digits(*rest + 1, 1000, &end);
    if (part == UINT64_MAX)
        return 0;
    *rest = end;
    return part;
}

/* The first number with a dot behind it: an epoch ("1:8.2.0") or a name ("qemu-kvm-8.2.0") may stand before it. */
static uint64_t parse_version(const char *text)
{
    for (const char *p = text; *p; p++) {
        const char *rest;
        uint64_t major, minor;

        if (!isdigit((unsigned char)*p) || (p > text && (isdigit((unsigned char)p[-1]) || p[-1] == '.')))
            continue;
        major = digits(p, 1000, &rest);
        if (major == UINT64_MAX || *rest != '.' || !isdigit((unsigned char)rest[1]))
            continue;
        minor = part_after_dot(&rest);
        return major * 1000000 + minor * 1000 + part_after_dot(&rest);
    }
    return 0;
}

void kvmig__files_version(struct json_object *object, const char *key, uint64_t *out)
{
    struct json_object *value = kvmig__files_member(object, key);
    const char *text = text_of(value);
    uint64_t version = text ? parse_version(text) : 0;

    if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 1000000)
        version = json_object_get_uint64(value);
    if (version)
        *out = version;
}
