/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Times as Kubernetes writes them (RFC 3339; metav1.Time and metav1.MicroTime) to milliseconds since 1970 and back.
 * Works on the Gregorian calendar itself: no time zone of the machine, no locale, no leap seconds but that ":60" is
 * taken as the next second. Pure; any thread.
 */
#include "kubernetes/objects.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#define MS_PER_DAY INT64_C(86400000)
#define LATEST_MS INT64_C(253402300799999) /* the end of the year 9999 */

struct civil {
    int64_t year;
    int64_t month, day; /* from 1 */
};

/* Days since 1970-01-01. Years are counted from March, so that the leap day is the last one of a year. */
static int64_t days_of(struct civil c)
{
    int64_t year = c.month > 2 ? c.year : c.year - 1;
    int64_t month = c.month > 2 ? c.month - 3 : c.month + 9;
    int64_t day_of_year = (153 * month + 2) / 5 + c.day - 1;

    return year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719468;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t days_in_month(int64_t year, int64_t month)
{
    static const int8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return days[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
}

/* n digits, then the character end unless that is 0. */
static bool take(const char **s, uint32_t n, char end, int64_t low, int64_t high, int64_t *out)
{
    int64_t value = 0;

    for (; n; n--, (*s)++) {
        if (!isdigit((unsigned char)**s))
            return false;
        value = value * 10 + (**s - '0');
    }
    if (end && *(*s)++ != end)
        return false;
    *out = value;
    return value >= low && value <= high;
}

static bool take_fraction(const char **s, int64_t *out_ms)
{
    int64_t scale = 100;

    *out_ms = 0;
    if (**s != '.')
        return true;
    (*s)++;
    if (!isdigit((unsigned char)**s))
        return false;
    for (; isdigit((unsigned char)**s); (*s)++) {
        *out_ms += (**s - '0') * scale;
        scale /= 10;
    }
    return true;
}

static bool take_offset(const char *s, int64_t *out_minutes)
{
    int64_t hours, minutes;
    char sign = *s++;

    *out_minutes = 0;
    if (sign == 'Z' || sign == 'z')
        return !*s;
    if ((sign != '+' && sign != '-') || !take(&s, 2, ':', 0, 23, &hours) || !take(&s, 2, 0, 0, 59, &minutes))
        return false;
    *out_minutes = (hours * 60 + minutes) * (sign == '-' ? -1 : 1);
    return !*s;
}

int64_t kvmig__time_parse(const char *text)
{
    int64_t hour, minute, second, ms, offset, at;
    struct civil c;

    if (!text || !take(&text, 4, '-', 1, 9999, &c.year) || !take(&text, 2, '-', 1, 12, &c.month) ||
        !take(&text, 2, 0, 1, days_in_month(c.year, c.month), &c.day))
        return 0;
    if (*text != 'T' && *text != 't' && *text != ' ')
        return 0;
    text++;
    if (!take(&text, 2, ':', 0, 23, &hour) || !take(&text, 2, ':', 0, 59, &minute) ||
        !take(&text, 2, 0, 0, 60, &second) || !take_fraction(&text, &ms) || !take_offset(text, &offset))
        return 0;
    at = days_of(c) * MS_PER_DAY + ((hour * 60 + minute - offset) * 60 + second) * 1000 + ms;
    return at < 0 ? 0 : at > LATEST_MS ? LATEST_MS : at;
}

static struct civil civil_of(int64_t days)
{
    struct civil c = { .year = 1970, .month = 1 };

    days += 719468; /* since 0000-03-01, in eras of 400 years */
    int64_t era = days / 146097, day = days % 146097;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153;

    c.day = day_of_year - (153 * month + 2) / 5 + 1;
    c.month = month < 10 ? month + 3 : month - 9;
    c.year = era * 400 + year + (c.month <= 2 ? 1 : 0);
    return c;
}

char *kvmig__time_text(int64_t ms)
{
    int64_t at = ms < 0 ? 0 : ms > LATEST_MS ? LATEST_MS : ms;
    struct civil c = civil_of(at / MS_PER_DAY);
    int64_t second = at / 1000 % 86400, rest = at % 1000;
    char *fraction = rest ? kvmig__asprintf(".%03" PRId64, rest) : kvmig__strdup("");
    char *text =
        kvmig__asprintf("%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T%02" PRId64 ":%02" PRId64 ":%02" PRId64 "%sZ",
                        c.year, c.month, c.day, second / 3600, second / 60 % 60, second % 60, fraction);

    free(fraction);
    return text;
}
