/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kubernetes' resource quantities ("1Gi", "500m", "1e3", 4) as whole numbers, exactly: decimal digits, a binary or
 * decimal suffix, or an exponent. Nothing here depends on the locale or on floating point. Pure but for the JSON
 * value that kvmig__quantity_of() and kvmig__quantity_scaled() look into; any thread.
 */
#include "kubernetes/objects_io.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

/* So many significant digits, times the largest binary suffix, fit into a wide. Further ones can only decide the
 * rounding. */
#define MAX_DIGITS 20
#define MAX_EXPONENT 1000
#define MOST (UINT64_MAX - 1) /* UINT64_MAX means "not known" */

struct parsed {
    wide digits; /* value = digits * 10^exponent * 2^shift, and a little more if inexact */
    uint32_t n;
    int32_t exponent;
    uint32_t shift;
    bool inexact;
};

static void take_digit(struct parsed *p, char c, bool fraction)
{
    if (p->n < MAX_DIGITS) {
        p->digits = p->digits * 10 + (wide)(c - '0');
        p->n += p->digits ? 1 : 0;
        p->exponent -= fraction ? 1 : 0;
        return;
    }
    p->inexact = p->inexact || c != '0';
    p->exponent += fraction ? 0 : 1;
}

/* The digits, with or without a point; NULL if there are none. */
static const char *take_number(struct parsed *p, const char *s)
{
    bool fraction = false, any = false;

    for (; isdigit((unsigned char)*s) || (*s == '.' && !fraction); s++) {
        if (*s == '.') {
            fraction = true;
        } else {
            take_digit(p, *s, fraction);
            any = true;
        }
        /* A text of digits without end must not overflow the exponent. */
        if (p->exponent > MAX_EXPONENT || p->exponent < -MAX_EXPONENT)
            return NULL;
    }
    return any ? s : NULL;
}

static bool take_exponent(struct parsed *p, const char *s)
{
    bool negative = *s == '-';
    int32_t exponent = 0;

    if (*s == '-' || *s == '+')
        s++;
    if (!*s)
        return false;
    for (; isdigit((unsigned char)*s); s++) {
        if (exponent < MAX_EXPONENT)
            exponent = exponent * 10 + (*s - '0');
    }
    p->exponent += negative ? -exponent : exponent;
    return !*s;
}

static bool take_suffix(struct parsed *p, const char *s)
{
    static const struct {
        const char *text;
        int32_t exponent;
        uint32_t shift;
    } suffixes[] = { { "", 0, 0 },    { "n", -9, 0 },  { "u", -6, 0 },  { "m", -3, 0 },
                     { "k", 3, 0 },   { "M", 6, 0 },   { "G", 9, 0 },   { "T", 12, 0 },
                     { "P", 15, 0 },  { "E", 18, 0 },  { "Ki", 0, 10 }, { "Mi", 0, 20 },
                     { "Gi", 0, 30 }, { "Ti", 0, 40 }, { "Pi", 0, 50 }, { "Ei", 0, 60 } };

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(suffixes); i++) {
        if (!strcmp(s, suffixes[i].text)) {
            p->exponent += suffixes[i].exponent;
            p->shift = suffixes[i].shift;
            return true;
        }
    }
    return (*s == 'e' || *s == 'E') && take_exponent(p, s + 1);
}

/* The value in units of 10^-scale: rounded up, and at most MOST. */
static uint64_t scaled_value(const struct parsed *p, int32_t scale)
{
    wide value = p->digits << p->shift;
    bool rest = p->inexact;

    for (int32_t e = p->exponent + scale; e < 0 && value; e++) {
        rest = rest || value % 10;
        value /= 10;
    }
    for (int32_t e = p->exponent + scale; e > 0 && value && value <= MOST; e--)
        value *= 10;
    if (rest)
        value++;
    return value > MOST ? MOST : (uint64_t)value;
}

static bool parse(const char *text, int32_t scale, uint64_t *out)
{
    struct parsed p = { 0 };

    if (!text)
        return false;
    if (*text == '+')
        text++;
    text = take_number(&p, text);
    if (!text || !take_suffix(&p, text))
        return false;
    *out = scaled_value(&p, scale);
    return true;
}

bool kvmig__quantity_parse(const char *text, uint64_t *out_milli)
{
    return parse(text, 3, out_milli);
}

bool kvmig__quantity_scaled(const struct kvmig__value *value, int32_t scale, uint64_t *out)
{
    if (!kvmig__value_is(value, KVMIG__TAPE_STRING) && !kvmig__value_is(value, KVMIG__TAPE_INT) &&
        !kvmig__value_is(value, KVMIG__TAPE_DOUBLE))
        return false;
    return parse(value->text, scale, out);
}

bool kvmig__quantity_of(struct json_object *json, uint64_t *out_milli)
{
    switch (json_object_get_type(json)) {
    case json_type_string:
    case json_type_int:
    case json_type_double:
        return parse(json_object_get_string(json), 3, out_milli);
    default:
        return false;
    }
}

char *kvmig__quantity_text(uint64_t milli)
{
    if (milli % 1000)
        return kvmig__asprintf("%" PRIu64 "m", milli);
    return kvmig__asprintf("%" PRIu64, milli / 1000);
}
