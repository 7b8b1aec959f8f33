/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Scalars of YAML as JSON values: YAML 1.2's core schema, as far as JSON has such values. What JSON has not (.inf, .nan, numbers
 * that no double holds) stays a string, as do the yes, no, on and off of YAML 1.1. Pure; any thread; no locale matters.
 */
#include "kubernetes/yaml_internal.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAG_PREFIX "tag:yaml.org,2002:"

static bool is_one_of(const char *text, const char *a, const char *b, const char *c)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

static bool take_null(const char *text)
{
    return !*text || strcmp(text, "~") == 0 || is_one_of(text, "null", "Null", "NULL");
}

static bool take_bool(const char *text, struct json_object **out)
{
    const bool is_true = is_one_of(text, "true", "True", "TRUE");

    if (!is_true && !is_one_of(text, "false", "False", "FALSE"))
        return false;
    *out = json_object_new_boolean(is_true);
    return true;
}

/* The C locale's strtod(), whatever the program has set. */
static double to_double(const char *text)
{
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const double value = c_locale ? strtod_l(text, NULL, c_locale) : NAN;

    if (c_locale)
        freelocale(c_locale);
    return value;
}

/* False for what JSON cannot say. */
static bool take_double(const char *text, struct json_object **out)
{
    const double value = to_double(text);

    if (!isfinite(value))
        return false;
    *out = json_object_new_double(value);
    return true;
}

static bool consists_of(const char *text, const char *digits)
{
    return *text && text[strspn(text, digits)] == '\0';
}

/* Integers beyond 64 bits become floats, as in Kubernetes' own reader. */
static bool take_int(const char *text, struct json_object **out)
{
    const bool has_sign = *text == '-' || *text == '+';
    int base = 0;

    if (consists_of(text + has_sign, "0123456789"))
        base = 10;
    else if (text[0] == '0' && text[1] == 'x' && consists_of(text + 2, "0123456789abcdefABCDEF"))
        base = 16;
    else if (text[0] == '0' && text[1] == 'o' && consists_of(text + 2, "01234567"))
        base = 8;
    if (!base)
        return false;
    errno = 0;
    if (*text == '-') {
        const long long value = strtoll(text, NULL, base);

        if (errno)
            return take_double(text, out);
        *out = json_object_new_int64(value);
    } else {
        const unsigned long long value = strtoull(text + (base == 10 ? 0 : 2), NULL, base);

        if (errno)
            return base == 10 && take_double(text, out);
        *out = value > INT64_MAX ? json_object_new_uint64(value) : json_object_new_int64((int64_t)value);
    }
    return true;
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_float(const char *text)
{
    const char *c = text + (*text == '-' || *text == '+');
    const size_t whole = strspn(c, "0123456789");

    c += whole;
    if (*c == '.') {
        const size_t fraction = strspn(++c, "0123456789");

        if (!whole && !fraction)
            return false;
        c += fraction;
    } else if (!whole) {
        return false;
    }
    if (*c == 'e' || *c == 'E') {
        c += 1 + (c[1] == '-' || c[1] == '+');
        return consists_of(c, "0123456789");
    }
    return !*c;
}

static bool take_float(const char *text, struct json_object **out)
{
    return is_float(text) && take_double(text, out);
}

static bool take_string(const char *text, size_t length, struct json_object **out)
{
    *out = json_object_new_string_len(text, (int)length);
    return true;
}

static bool take_tagged(const char *text, size_t length, const char *type, struct json_object **out)
{
    if (is_one_of(type, "str", "timestamp", "binary"))
        return take_string(text, length, out);
    if (strlen(text) != length)
        return false;
    if (strcmp(type, "null") == 0)
        return take_null(text);
    if (strcmp(type, "bool") == 0)
        return take_bool(text, out);
    if (strcmp(type, "int") == 0)
        return take_int(text, out);
    return strcmp(type, "float") == 0 && take_float(text, out);
}

bool kvmig__yaml_scalar(const char *text, size_t length, const char *tag, bool plain, struct json_object **out)
{
    *out = NULL;
    if (tag && !kvmig__str_starts(tag, TAG_PREFIX))
        return strcmp(tag, "!") == 0 && take_string(text, length, out);
    if (tag)
        return take_tagged(text, length, tag + strlen(TAG_PREFIX), out);
    if (plain && (take_null(text) || take_bool(text, out) || take_int(text, out) || take_float(text, out)))
        return true;
    return take_string(text, length, out);
}
