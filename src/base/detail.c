/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The detail writer of findings: a flat JSON object, built as text so that the planner stays free of a JSON library.
 * Escapes keys and values; mends strings that are not UTF-8. The writer belongs to its user; zeroed memory is a new
 * one.
 */
#include "base/finding_internal.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Longest escape of one input byte: \u001f, or U+FFFD for an invalid byte. */
#define MAX_ESCAPE 6

static char *escape_char(char *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char short_forms[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };

    *out++ = '\\';
    if (c == '"' || c == '\\') {
        *out++ = (char)c;
    } else if (c < sizeof(short_forms) && short_forms[c]) {
        *out++ = short_forms[c];
    } else {
        memcpy(out, "u00", 3);
        out += 3;
        *out++ = hex[c >> 4];
        *out++ = hex[c & 15];
    }
    return out;
}

/* The string as a JSON string with its quotes. Owned. */
static char *quoted(const char *s)
{
    char *clean = kvmig__utf8_dup(s);
    char *text = kvmig__calloc(strlen(clean) * MAX_ESCAPE + 3, 1), *out = text;

    *out++ = '"';
    for (const char *p = clean; *p; p++) {
        unsigned char c = (unsigned char)*p;

        if (c == '"' || c == '\\' || c < 0x20)
            out = escape_char(out, c);
        else
            *out++ = *p;
    }
    *out = '"';
    free(clean);
    return text;
}

/* Appends one member; value is JSON text and is freed. */
static void add_member(struct kvmig__detail *d, const char *key, char *value)
{
    char *name = quoted(key);
    char *text = kvmig__asprintf("%s%s%s: %s", d->n ? d->text : "{", d->n ? ", " : "", name, value);

    free(name);
    free(value);
    free(d->text);
    d->text = text;
    d->n++;
}

void kvmig__detail_str(struct kvmig__detail *d, const char *key, const char *value)
{
    add_member(d, key, value ? quoted(value) : kvmig__strdup("null"));
}

void kvmig__detail_uint(struct kvmig__detail *d, const char *key, uint64_t value)
{
    add_member(d, key, kvmig__asprintf("%" PRIu64, value));
}

void kvmig__detail_list(struct kvmig__detail *d, const char *key, const struct kvmig__strlist *values)
{
    struct kvmig__strlist items = { 0 };
    char *joined;

    for (size_t i = 0; i < values->n; i++) {
        char *item = quoted(values->v[i]);

        kvmig__strlist_add(&items, item);
        free(item);
    }
    joined = kvmig__strlist_join(&items, ", ");
    add_member(d, key, kvmig__asprintf("[%s]", joined));
    free(joined);
    kvmig__strlist_clear(&items);
}

char *kvmig__detail_take(struct kvmig__detail *d)
{
    char *text = kvmig__asprintf("%s}", d->n ? d->text : "{");

    free(d->text);
    *d = (struct kvmig__detail){ 0 };
    return text;
}
