/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks and mends UTF-8. No locale, no conversion from other encodings. Any thread.
 */
#include "base/utf8.h"

#include "base/base.h"

#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

static bool is_tail(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

/* The second byte decides about overlong forms, surrogates and values past U+10FFFF. */
static bool second_byte_fits(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xE0:
        return second >= 0xA0 && second <= 0xBF;
    case 0xED:
        return second >= 0x80 && second <= 0x9F;
    case 0xF0:
        return second >= 0x90 && second <= 0xBF;
    case 0xF4:
        return second >= 0x80 && second <= 0x8F;
    default:
        return is_tail(second);
    }
}

size_t kvmig__utf8_char_len(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t len;

    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xC2 || p[0] > 0xF4)
        return 0;
    len = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (!second_byte_fits(p[0], p[1]))
        return 0;
    for (size_t i = 2; i < len; i++) {
        if (!is_tail(p[i])) /* also the final NUL, so nothing past it is read */
            return 0;
    }
    return len;
}

char *kvmig__utf8_dup(const char *s)
{
    char *copy, *out;

    if (!s)
        return NULL;
    copy = out = kvmig__calloc(strlen(s) + 1, sizeof(replacement) - 1);
    while (*s) {
        size_t len = kvmig__utf8_char_len(s);

        if (len) {
            memcpy(out, s, len);
            out += len;
            s += len;
        } else {
            memcpy(out, replacement, sizeof(replacement) - 1);
            out += sizeof(replacement) - 1;
            s++;
        }
    }
    return copy;
}
