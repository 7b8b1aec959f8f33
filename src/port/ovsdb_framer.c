/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cuts a byte stream into JSON objects. OVSDB puts nothing between its messages, so where one ends is found by
 * counting brackets; json-c then gets exactly the bytes of one message, in the pieces in which they came. Also bounds
 * what a message may cost before json-c allocates for it, and checks UTF-8 and NUL, which json-c does not do across
 * pieces. Any one thread at a time; no locks.
 */
#include "port/ovsdb_rpc.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What json-c allocates beside the text itself, roughly: "{}," is three bytes to send and a kilobyte to keep. */
#define OBJECT_COST 1024
#define ARRAY_COST 128
#define ELEMENT_COST 64
#define COST_FACTOR 8 /* a message may cost this many times the bytes that it may have */
#define MAX_DIGITS 19 /* of an integer of 64 bits; json-c gives the largest one for what is larger */

struct kvmig__ovsdb_framer {
    struct json_tokener *tokener;
    size_t max_message;
    /* Of the present message. */
    size_t n; /* bytes */
    uint64_t cost;
    unsigned depth; /* of brackets; 0 = between messages */
    bool in_string, escaped;
    bool in_fraction; /* of a number, or in its exponent */
    unsigned digits; /* of the integer that it is in */
    unsigned char last; /* byte outside of strings */
    /* Of the present character: bytes to come, and what the next of them may be. */
    unsigned tail;
    unsigned char low, high;
};

struct kvmig__ovsdb_framer *kvmig__ovsdb_framer_new(size_t max_message)
{
    struct kvmig__ovsdb_framer *framer = kvmig__calloc(1, sizeof(*framer));

    framer->max_message = max_message < INT_MAX ? max_message : INT_MAX;
    framer->tokener = json_tokener_new_ex(KVMIG__OVSDB_MAX_DEPTH + 2); /* its own limit must not come first */
    if (!framer->tokener)
        abort(); /* as every allocation of the library */
    json_tokener_set_flags(framer->tokener, JSON_TOKENER_STRICT);
    return framer;
}

void kvmig__ovsdb_framer_free(struct kvmig__ovsdb_framer *framer)
{
    if (!framer)
        return;
    json_tokener_free(framer->tokener);
    free(framer);
}

/* ---- what is wrong ---- */

static struct kvmig_error *broken(const struct kvmig__ovsdb_framer *framer, const char *how)
{
    char *evidence = kvmig__asprintf("byte %zu of the message", framer->n);
    struct kvmig_error *error =
        kvmig__error_new(KVMIG_EJSON, NULL, evidence, "Check that the remote is that of an OVSDB server.",
                         "What the server sends is no message of OVSDB: %s.", how);

    free(evidence);
    return error;
}

static struct kvmig_error *too_large(const struct kvmig__ovsdb_framer *framer)
{
    char *evidence = kvmig__asprintf("%zu bytes and more; at most %zu", framer->n, framer->max_message);
    struct kvmig_error *error =
        kvmig__error_new(EMSGSIZE, NULL, evidence, "Check that the remote is that of the right OVSDB server.",
                         "A message of the OVSDB server is too large.");

    free(evidence);
    return error;
}

/* ---- one byte ---- */

/* False: not UTF-8 as RFC 3629 defines it. */
static bool take_utf8(struct kvmig__ovsdb_framer *framer, unsigned char c)
{
    if (framer->tail > 0) {
        bool fits = c >= framer->low && c <= framer->high;

        framer->tail--;
        framer->low = 0x80;
        framer->high = 0xBF;
        return fits;
    }
    if (c < 0x80)
        return true;
    if (c < 0xC2 || c > 0xF4)
        return false;
    framer->tail = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    /* The second byte decides about overlong forms, surrogates and values past U+10FFFF. */
    framer->low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    framer->high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    return true;
}

static void take_in_string(struct kvmig__ovsdb_framer *framer, unsigned char c)
{
    if (framer->escaped)
        framer->escaped = false;
    else if (c == '\\')
        framer->escaped = true;
    else if (c == '"')
        framer->in_string = false;
}

/* False: a sign inside of a number, which json-c misses if a piece begins with it. */
static bool take_number(struct kvmig__ovsdb_framer *framer, unsigned char c)
{
    bool is_digit = c >= '0' && c <= '9', is_sign = c == '+' || c == '-';
    bool fits = !is_sign || !strchr("0123456789.+-", framer->last);

    if (is_digit)
        framer->digits += framer->in_fraction ? 0 : 1;
    else if (c == '.' || c == 'e' || c == 'E')
        framer->in_fraction = framer->digits > 0;
    else if (!is_sign)
        framer->digits = framer->in_fraction = 0;
    framer->last = c;
    return fits;
}

static void take_structure(struct kvmig__ovsdb_framer *framer, unsigned char c)
{
    switch (c) {
    case '"':
        framer->in_string = true;
        break;
    case '{':
    case '[':
        framer->depth++;
        framer->cost += c == '{' ? OBJECT_COST : ARRAY_COST;
        break;
    case '}':
    case ']':
        framer->depth--; /* whether the brackets match is for json-c to see */
        break;
    case ',':
        framer->cost += ELEMENT_COST;
        break;
    default:
        break;
    }
}

static struct kvmig_error *take(struct kvmig__ovsdb_framer *framer, unsigned char c)
{
    if (framer->n == framer->max_message || framer->cost > framer->max_message * (uint64_t)COST_FACTOR)
        return too_large(framer);
    framer->n++;
    framer->cost++;
    if (c == '\0')
        return broken(framer, "there is a NUL byte");
    if (!take_utf8(framer, c))
        return broken(framer, "it is not UTF-8");
    if (framer->in_string) {
        take_in_string(framer, c);
        return NULL;
    }
    if (!take_number(framer, c))
        return broken(framer, "a number is broken");
    take_structure(framer, c);
    if (c == '\'' || c == 'N' || c == 'I')
        return broken(framer,
                      "there are quotes or numbers that JSON does not have"); /* json-c takes 'x', NaN, Infinity */
    if (framer->digits > MAX_DIGITS)
        return broken(framer, "a number is too large");
    return framer->depth > KVMIG__OVSDB_MAX_DEPTH ? broken(framer, "it is nested too deeply") : NULL;
}

/* ---- a piece of a message ---- */

static size_t count_blanks(const char *bytes, size_t n)
{
    size_t i = 0;

    while (i < n && (bytes[i] == ' ' || bytes[i] == '\t' || bytes[i] == '\r' || bytes[i] == '\n'))
        i++;
    return i;
}

/* How many of the bytes belong to the present message; it is whole if depth is 0 after this. */
static struct kvmig_error *measure(struct kvmig__ovsdb_framer *framer, const char *bytes, size_t n, size_t *out_n)
{
    for (*out_n = 0; *out_n < n;) {
        struct kvmig_error *error = take(framer, (unsigned char)bytes[*out_n]);

        if (error)
            return error;
        ++*out_n;
        if (framer->depth == 0)
            break;
    }
    return NULL;
}

/* Hands a piece to json-c; *out_message is the message if it is whole. */
static struct kvmig_error *parse(struct kvmig__ovsdb_framer *framer, const char *bytes, size_t n,
                                 struct json_object **out_message)
{
    bool whole = framer->depth == 0;
    enum json_tokener_error result;

    *out_message = json_tokener_parse_ex(framer->tokener, bytes, (int)n);
    result = json_tokener_get_error(framer->tokener);
    if (result == (whole ? json_tokener_success : json_tokener_continue))
        return NULL;
    json_object_put(*out_message);
    *out_message = NULL;
    /* Neither error nor end where the brackets say end: they do not match. */
    return broken(framer, result == json_tokener_success || result == json_tokener_continue
                              ? "its brackets do not match"
                              : json_tokener_error_desc(result));
}

static void begin_message(struct kvmig__ovsdb_framer *framer)
{
    framer->n = 0;
    framer->cost = 0;
    json_tokener_reset(framer->tokener);
}

struct kvmig_error *kvmig__ovsdb_framer_feed(struct kvmig__ovsdb_framer *framer, const char *bytes, size_t n,
                                             bool (*message)(void *data, struct json_object *message), void *data)
{
    struct kvmig_error *error = NULL;
    bool more = true;

    while (n > 0 && more) {
        struct json_object *whole = NULL;
        size_t used = framer->depth == 0 ? count_blanks(bytes, n) : 0;

        bytes += used;
        n -= used;
        if (n == 0)
            break;
        if (framer->depth == 0)
            begin_message(framer);
        if (framer->depth == 0 && *bytes != '{')
            return broken(framer, "it does not begin with {");
        error = measure(framer, bytes, n, &used);
        if (!error)
            error = parse(framer, bytes, used, &whole);
        if (error)
            return error;
        bytes += used;
        n -= used;
        if (whole)
            more = message(data, whole);
        json_object_put(whole);
    }
    return NULL;
}
