/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads JSON texts onto tapes (tape.h), and finds members. Knows nothing of Kubernetes, and gives no reasons: whoever gets false from it
 * asks json-c, which explains. All input is taken for hostile: bounds on depth, width and size; nothing is read past the text's end, whose
 * NUL stops every loop. Any thread; a tape belongs to one.
 */
#include "kubernetes/tape.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64
#define MAX_MEMBERS 1024 /* names are compared with each other */
#define MAX_VALUES ((size_t)1 << 20)

struct reader {
    struct kvmig__tape *tape;
    char *at; /* the text ends with NUL */
    unsigned depth;
};

/* ---- the tape ---- */

void kvmig__tape_clear(struct kvmig__tape *tape)
{
    free(tape->v);
    free(tape->numbers);
    *tape = (struct kvmig__tape){ 0 };
}

static size_t push(struct kvmig__tape *tape, enum kvmig__tape_type type)
{
    if (tape->n == tape->room) {
        tape->room = tape->room ? tape->room * 2 : 1024;
        tape->v = kvmig__realloc_array(tape->v, tape->room, sizeof(*tape->v));
    }
    tape->v[tape->n] = (struct kvmig__value){ .size = 1, .type = (uint8_t)type };
    return tape->n++;
}

/* ---- scalars ---- */

static void skip_space(struct reader *r)
{
    while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')
        r->at++;
}

size_t kvmig__tape_skip_space(const char *text, size_t at)
{
    while (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r')
        at++;
    return at;
}

static int32_t hex4(const char *s)
{
    int32_t value = 0;

    for (int i = 0; i < 4; i++) {
        int32_t digit = s[i] >= '0' && s[i] <= '9'   ? s[i] - '0'
                        : s[i] >= 'a' && s[i] <= 'f' ? s[i] - 'a' + 10
                        : s[i] >= 'A' && s[i] <= 'F' ? s[i] - 'A' + 10
                                                     : -1;

        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

static char *put_utf8(char *to, int32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

/* "\u1234", or two of them that belong together; *from stands behind the u. NULL: it is none, NUL, or half of a pair. */
static char *read_unicode(char **from, char *to)
{
    int32_t c = hex4(*from), low;

    if (c <= 0 || (c >= 0xdc00 && c < 0xe000))
        return NULL;
    *from += 4;
    if (c >= 0xd800 && c < 0xdc00) {
        if ((*from)[0] != '\\' || (*from)[1] != 'u')
            return NULL;
        low = hex4(*from + 2);
        if (low < 0xdc00 || low >= 0xe000)
            return NULL;
        *from += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    return put_utf8(to, c);
}

static char *read_escape(char **from, char *to)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char c = *(*from)++;
    const char *at = c ? strchr(names, c) : NULL;

    if (c == 'u')
        return read_unicode(from, to);
    if (!at)
        return NULL;
    *to++ = meanings[at - names];
    return to;
}

/* Behind the quote. What is written is never longer than what was read. */
static bool read_string(struct reader *r, size_t place)
{
    char *from = r->at, *to, *begin = r->at;
    struct kvmig__value *value;

    while ((unsigned char)*from >= 0x20 && (unsigned char)*from < 0x80 && *from != '"' && *from != '\\')
        from++;
    for (to = from; *from != '"';) {
        const unsigned char c = (unsigned char)*from;

        if (c < 0x20)
            return false;
        if (c == '\\') {
            from++;
            to = read_escape(&from, to);
            if (!to)
                return false;
        } else {
            size_t n = c < 0x80 ? 1 : kvmig__utf8_char_len(from);

            if (!n)
                return false;
            for (; n; n--)
                *to++ = *from++;
        }
    }
    r->at = from + 1;
    *to = 0;
    value = &r->tape->v[place];
    value->text = begin;
    value->length = (uint32_t)(to - begin);
    return true;
}

static char *digits(char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* A number ends where something follows that is needed, so its text is kept elsewhere. */
static const char *keep(struct kvmig__tape *tape, const char *text, size_t length)
{
    char *kept = tape->numbers + tape->numbers_n;

    if (tape->numbers_room - tape->numbers_n < length + 1)
        return NULL;
    memcpy(kept, text, length);
    kept[length] = 0;
    tape->numbers_n += length + 1;
    return kept;
}

static bool read_number(struct reader *r)
{
    char *begin = r->at, *at = *begin == '-' ? begin + 1 : begin, *end = digits(at);
    enum kvmig__tape_type type = KVMIG__TAPE_INT;
    struct kvmig__value *value;
    size_t place;

    if (end == at || (*at == '0' && end > at + 1))
        return false;
    if (*end == '.') {
        at = end + 1;
        end = digits(at);
        type = KVMIG__TAPE_DOUBLE;
        if (end == at)
            return false;
    }
    if (*end == 'e' || *end == 'E') {
        at = end + 1;
        at += *at == '+' || *at == '-';
        end = digits(at);
        type = KVMIG__TAPE_DOUBLE;
        if (end == at)
            return false;
    }
    place = push(r->tape, type);
    value = &r->tape->v[place];
    value->length = (uint32_t)(end - begin);
    value->text = keep(r->tape, begin, value->length);
    r->at = end;
    return value->text;
}

static bool read_word(struct reader *r, const char *word, enum kvmig__tape_type type)
{
    size_t length = strlen(word);

    if (strncmp(r->at, word, length) != 0)
        return false;
    push(r->tape, type);
    r->at += length;
    return true;
}

/* ---- objects and arrays ---- */

static bool read_value(struct reader *r);

static bool same_name(const struct kvmig__value *a, const struct kvmig__value *b)
{
    return a->length == b->length && !memcmp(a->text, b->text, a->length);
}

static bool has_names_twice(const struct kvmig__value *object)
{
    KVMIG__EACH_MEMBER(object, name, value)
    {
        const struct kvmig__value *end = object + object->size;

        for (const struct kvmig__value *other = value + value->size; other < end; other += 1 + other[1].size) {
            if (same_name(name, other))
                return true;
        }
    }
    return false;
}

static bool read_member(struct reader *r)
{
    size_t place;

    if (*r->at++ != '"')
        return false;
    place = push(r->tape, KVMIG__TAPE_STRING);
    if (!read_string(r, place))
        return false;
    skip_space(r);
    return *r->at++ == ':' && read_value(r);
}

/* Behind the bracket. */
static bool read_many(struct reader *r, size_t place, char end)
{
    uint32_t n = 0;

    skip_space(r);
    if (*r->at == end) {
        r->at++;
    } else {
        for (;;) {
            skip_space(r);
            if (!(end == '}' ? read_member(r) : read_value(r)))
                return false;
            n++;
            skip_space(r);
            if (*r->at == end)
                break;
            if (*r->at++ != ',')
                return false;
        }
        r->at++;
    }
    r->tape->v[place].n = n;
    r->tape->v[place].size = (uint32_t)(r->tape->n - place);
    return end == ']' || (n <= MAX_MEMBERS && !has_names_twice(&r->tape->v[place]));
}

static bool read_nested(struct reader *r, enum kvmig__tape_type type, char end)
{
    size_t place = push(r->tape, type);
    bool good;

    r->at++;
    if (r->depth++ >= MAX_DEPTH)
        return false;
    good = read_many(r, place, end);
    r->depth--;
    return good;
}

static bool read_value(struct reader *r)
{
    size_t place;

    skip_space(r);
    if (r->tape->n > MAX_VALUES)
        return false;
    switch (*r->at) {
    case '{':
        return read_nested(r, KVMIG__TAPE_OBJECT, '}');
    case '[':
        return read_nested(r, KVMIG__TAPE_ARRAY, ']');
    case '"':
        place = push(r->tape, KVMIG__TAPE_STRING);
        r->at++;
        return read_string(r, place);
    case 't':
        return read_word(r, "true", KVMIG__TAPE_TRUE);
    case 'f':
        return read_word(r, "false", KVMIG__TAPE_FALSE);
    case 'n':
        return read_word(r, "null", KVMIG__TAPE_NULL);
    default:
        return read_number(r);
    }
}

bool kvmig__tape_read(struct kvmig__tape *tape, char *text, size_t length, size_t *at)
{
    struct reader r = { .tape = tape, .at = text + *at };

    if (!tape->numbers) {
        tape->numbers_room = (size_t)1 << 16;
        tape->numbers = kvmig__calloc(tape->numbers_room, 1);
    }
    tape->n = tape->numbers_n = 0;
    if (length > UINT32_MAX || text[length] || !read_value(&r))
        return false;
    *at = (size_t)(r.at - text);
    return *at <= length;
}

static size_t end_of_string(const char *text, size_t length, size_t at)
{
    for (at++; at < length; at++) {
        if (text[at] == '\\')
            at++;
        else if (text[at] == '"')
            return at + 1;
    }
    return 0;
}

size_t kvmig__tape_find_end(const char *text, size_t length, size_t at)
{
    size_t depth = 0;

    while (at < length) {
        const char c = text[at];

        if (c == '"') {
            at = end_of_string(text, length, at);
            if (!at)
                return 0;
        } else {
            depth += c == '{' || c == '[';
            depth -= c == '}' || c == ']';
            at++;
        }
        if (!depth && (c == '"' || c == '}' || c == ']'))
            return at;
        if (!depth && (text[at] == ',' || text[at] == '}')) /* behind a number or a word */
            return at;
    }
    return 0;
}

/* ---- asking ---- */

const struct kvmig__value *kvmig__value_get(const struct kvmig__value *object, const char *name)
{
    size_t length = strlen(name);

    if (!object || object->type != KVMIG__TAPE_OBJECT)
        return NULL;
    KVMIG__EACH_MEMBER(object, key, value)
    {
        if (key->length == length && !memcmp(key->text, name, length))
            return value->type == KVMIG__TAPE_NULL ? NULL : value;
    }
    return NULL;
}

const char *kvmig__value_text(const struct kvmig__value *value)
{
    if (!value)
        return NULL;
    switch (value->type) {
    case KVMIG__TAPE_FALSE:
        return "false";
    case KVMIG__TAPE_TRUE:
        return "true";
    case KVMIG__TAPE_INT:
    case KVMIG__TAPE_DOUBLE:
    case KVMIG__TAPE_STRING:
        return value->text;
    default:
        return NULL;
    }
}
