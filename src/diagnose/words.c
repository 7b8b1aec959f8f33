/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Words in texts as people paste them: logs with prefixes, messages that a terminal has wrapped. Looks for tokens and reads what follows
 * them; knows nothing of what they mean. Pure; any thread; results belong to the caller.
 */
#include "diagnose/diagnose.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EVIDENCE 400
#define MAX_NAMES 256

static bool is_space(char c)
{
    return isspace((unsigned char)c) != 0;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

static bool same_letter(char a, char b)
{
    return a == b || tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* What follows pattern if it stands at at; NULL if it does not. */
static const char *matches(const char *at, const char *end, const char *pattern)
{
    for (; *pattern; pattern++) {
        if (*pattern == ' ') {
            if (at >= end || !is_space(*at))
                return NULL;
            at = skip_space(at, end);
            continue;
        }
        if (at < end && *at == '\n') /* a terminal broke the word */
            at = skip_space(at, end);
        if (at >= end || !same_letter(*at, *pattern))
            return NULL;
        at++;
    }
    return at;
}

const char *kvmig__words_find(const char *at, const char *end, const char *pattern, const char **out_after)
{
    for (; at < end; at++) {
        const char *after = same_letter(*at, *pattern) ? matches(at, end, pattern) : NULL;

        if (after) {
            if (out_after)
                *out_after = after;
            return at;
        }
    }
    return NULL;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_.+-/", c));
}

const char *kvmig__words_names(const char *at, const char *end, struct kvmig__strlist *out)
{
    while (out->n < MAX_NAMES) {
        const char *begin = skip_space(at, end), *stop = begin;
        char *name;

        while (stop < end && is_name(*stop))
            stop++;
        if (stop == begin)
            return at;
        name = kvmig__strndup(begin, (size_t)(stop - begin));
        kvmig__strlist_add_new(out, name);
        free(name);
        at = stop;
        if (at >= end || *at != ',')
            return at;
        at++;
    }
    return at;
}

char *kvmig__words_quoted(const char *at, const char *end)
{
    const char *open = at, *close;

    while (open < end && *open != '\'' && *open != '"' && *open != '\n')
        open++;
    if (open >= end || *open == '\n')
        return NULL;
    close = memchr(open + 1, *open, (size_t)(end - open - 1));
    return close && close > open + 1 && close - open < MAX_EVIDENCE
               ? kvmig__strndup(open + 1, (size_t)(close - open - 1))
               : NULL;
}

char *kvmig__words_word(const char *at, const char *end)
{
    const char *begin = skip_space(at, end), *stop = begin;

    while (stop < end && !is_space(*stop) && !strchr("'\"()[]{},;", *stop))
        stop++;
    return stop > begin ? kvmig__strndup(begin, (size_t)(stop - begin)) : NULL;
}

uint64_t kvmig__words_number(const char *at, const char *end, const char **out_after)
{
    uint64_t number = 0;
    int base = 10;

    while (at < end && !isdigit((unsigned char)*at) && *at != '\n')
        at++;
    if (at >= end || *at == '\n')
        return UINT64_MAX;
    if (at + 2 < end && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        base = 16;
        at += 2;
    }
    for (; at < end && (base == 16 ? isxdigit((unsigned char)*at) : isdigit((unsigned char)*at)); at++) {
        const int digit = isdigit((unsigned char)*at) ? *at - '0' : tolower((unsigned char)*at) - 'a' + 10;

        if (number > (UINT64_MAX - (uint64_t)digit) / (uint64_t)base)
            return UINT64_MAX;
        number = number * (uint64_t)base + (uint64_t)digit;
    }
    if (out_after)
        *out_after = at;
    return number;
}

uint32_t kvmig__words_line(const char *text, const char *at)
{
    uint32_t line = 1;

    for (const char *p = text; p < at; p++)
        line += *p == '\n' ? 1 : 0;
    return line;
}

char *kvmig__words_evidence(const char *text, const char *end, const char *at)
{
    const char *begin = at, *stop = at;

    while (begin > text && begin[-1] != '\n' && at - begin < MAX_EVIDENCE / 2)
        begin--;
    while (stop < end && *stop != '\n' && stop - begin < MAX_EVIDENCE)
        stop++;
    return kvmig__strndup(begin, (size_t)(stop - begin));
}
