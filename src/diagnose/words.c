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
#define MIN_WIDTH 40 /* no terminal is narrower: a shorter line was not broken */

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

const char *kvmig__words_match(const char *at, const char *end, const char *pattern)
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
        const char *after = same_letter(*at, *pattern) ? kvmig__words_match(at, end, pattern) : NULL;

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

static bool is_hex(char c)
{
    return isxdigit((unsigned char)c) != 0;
}

static bool is_wide(const char *text, const char *stop)
{
    const char *begin = stop;

    while (begin > text && begin[-1] != '\n' && stop - begin < MIN_WIDTH)
        begin--;
    return stop - begin >= MIN_WIDTH;
}

/* Where a word goes on that a terminal has broken at stop, at the end of a long line; NULL if it was whole. What follows must be one
 * more piece of it, up to what limits words of that kind: another line of a log begins otherwise. */
static const char *goes_on(const char *text, const char *stop, const char *end, bool (*is_part)(char c),
                           const char *limits)
{
    const char *next, *after;

    if (stop >= end || *stop != '\n' || !is_wide(text, stop))
        return NULL;
    next = skip_space(stop, end);
    for (after = next; after < end && is_part(*after);)
        after++;
    return after > next && (after >= end || strchr(limits, *after)) ? next : NULL;
}

/* The word at at, put together again; *out_after: what follows it. NULL if there is none. */
static char *whole(const char *text, const char *at, const char *end, bool (*is_part)(char c), const char *limits,
                   const char **out_after)
{
    char *word = NULL;

    for (const char *next = at; next && (!word || strlen(word) < MAX_EVIDENCE);) {
        const char *stop = next;
        char *longer;

        while (stop < end && is_part(*stop) && stop - next < MAX_EVIDENCE)
            stop++;
        if (stop == next)
            break;
        longer = kvmig__asprintf("%s%.*s", word ? word : "", (int)(stop - next), next);
        free(word);
        word = longer;
        *out_after = stop;
        next = goes_on(text, stop, end, is_part, limits);
    }
    return word;
}

/* "..., missing features: ...": the next list, not a name. */
static bool is_heading(const char *after, const char *end)
{
    return kvmig__words_match(after, end, " features") != NULL;
}

const char *kvmig__words_names(const char *text, const char *at, const char *end, struct kvmig__strlist *out)
{
    while (out->n < MAX_NAMES) {
        const char *after;
        char *name = whole(text, skip_space(at, end), end, is_name, ",'\"()[]{};\n", &after);

        if (!name || is_heading(after, end) || (after < end && *after == ':')) {
            free(name);
            return at;
        }
        kvmig__strlist_add_new(out, name);
        free(name);
        at = after;
        if (at < end && *at == '\n' && *skip_space(at, end) == ',')
            at = skip_space(at, end);
        if (at >= end || *at != ',')
            return at;
        at++;
    }
    return at;
}

/* Without line breaks, which a terminal has put in. */
static char *unbroken(const char *at, const char *end)
{
    char *text = kvmig__calloc((size_t)(end - at) + 1, 1), *out = text;

    while (at < end) {
        if (*at == '\n')
            at = skip_space(at, end);
        else
            *out++ = *at++;
    }
    return text;
}

char *kvmig__words_quoted(const char *at, const char *end)
{
    const char *open = at, *close;

    while (open < end && *open != '\'' && *open != '"' && *open != '\n')
        open++;
    if (open >= end || *open == '\n')
        return NULL;
    close = memchr(open + 1, *open, (size_t)(end - open - 1));
    return close && close > open + 1 && close - open < MAX_EVIDENCE ? unbroken(open + 1, close) : NULL;
}

char *kvmig__words_until(const char *at, const char *end, const char *limits)
{
    const char *stop = at;

    while (stop < end && !strchr(limits, *stop) && stop - at < MAX_EVIDENCE)
        stop++;
    return stop < end && stop > at && strchr(limits, *stop) ? unbroken(at, stop) : NULL;
}

char *kvmig__words_word(const char *at, const char *end)
{
    const char *begin = skip_space(at, end), *stop = begin;

    while (stop < end && !is_space(*stop) && !strchr("'\"()[]{},;", *stop))
        stop++;
    while (stop > begin && (stop[-1] == ':' || stop[-1] == '.'))
        stop--;
    return stop > begin ? kvmig__strndup(begin, (size_t)(stop - begin)) : NULL;
}

static bool is_digit(char c)
{
    return isdigit((unsigned char)c) != 0;
}

uint64_t kvmig__words_number(const char *text, const char *at, const char *end, const char **out_after)
{
    const char *after;
    uint64_t number;
    bool hex;
    char *digits;

    if (skip_space(at, end) < end && is_digit(*skip_space(at, end)))
        at = skip_space(at, end); /* perhaps on the next line: a terminal broke it there */
    while (at < end && !is_digit(*at) && *at != '\n')
        at++;
    hex = end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && is_hex(at[2]);
    digits = whole(text, at + (hex ? 2 : 0), end, hex ? is_hex : is_digit, " ,;.)\n", &after);
    if (!digits || strlen(digits) > 19) {
        free(digits);
        return UINT64_MAX;
    }
    number = strtoull(digits, NULL, hex ? 16 : 10);
    free(digits);
    if (out_after)
        *out_after = after;
    return number;
}

uint32_t kvmig__words_line(const char *text, const char *at)
{
    uint32_t line = 1;

    for (const char *p = text; p < at && (p = memchr(p, '\n', (size_t)(at - p))); p++)
        line++;
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
