/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Base64 as RFC 4648 section 4 defines it, for the certificates and keys of kubeconfigs. Strict, but for line breaks, which editors
 * put in. Pure; any thread; the caller owns the results.
 */
#include "kubernetes/access_internal.h"

#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Appends the bytes of n digits; false: no byte has so few. */
static bool put_bytes(struct kvmig__blob *out, uint32_t bits, unsigned n)
{
    if (n == 1)
        return false;
    bits <<= 6 * (4 - n);
    for (unsigned i = 0; i + 1 < n; i++)
        out->data[out->length++] = (char)(bits >> (16 - 8 * i));
    return true;
}

bool kvmig__base64_decode(const char *text, struct kvmig__blob *out)
{
    uint32_t bits = 0;
    unsigned n = 0, pad = 0;
    bool ok = true;

    out->data = kvmig__calloc(strlen(text) / 4 * 3 + 4, 1);
    out->length = 0;
    for (const char *c = text; *c && ok; c++) {
        const char *digit = strchr(digits, *c);

        if (*c == '\n' || *c == '\r')
            continue;
        if (*c == '=') {
            pad++;
            continue;
        }
        ok = digit && !pad;
        if (!ok)
            break;
        bits = bits << 6 | (uint32_t)(digit - digits);
        if (++n == 4) {
            ok = put_bytes(out, bits, 4);
            bits = n = 0;
        }
    }
    ok = ok && (n == 0 ? pad == 0 : pad == 4 - n && put_bytes(out, bits, n));
    if (!ok)
        kvmig__blob_clear(out);
    return ok;
}

char *kvmig__base64_encode(const struct kvmig__blob *blob)
{
    char *text = kvmig__calloc(blob->length / 3 * 4 + 5, 1), *end = text;

    for (size_t i = 0; i < blob->length; i += 3) {
        const size_t left = blob->length - i;
        const uint32_t a = (unsigned char)blob->data[i], b = left > 1 ? (unsigned char)blob->data[i + 1] : 0,
                       c = left > 2 ? (unsigned char)blob->data[i + 2] : 0, bits = a << 16 | b << 8 | c;

        *end++ = digits[bits >> 18];
        *end++ = digits[bits >> 12 & 63];
        *end++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *end++ = left > 2 ? digits[bits & 63] : '=';
    }
    return text;
}
