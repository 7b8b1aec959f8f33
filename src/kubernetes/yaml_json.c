/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JSON values, one after another, as `kubectl -o json` and many tools print them. json-c reads them; this file finds where a value
 * ends, bounds what it may cost before json-c allocates for it, and finds duplicate keys, which json-c drops without a word.
 * Because the end of a value is known, a broken one does not hide the next. Any thread; owns nothing beyond a call.
 */
#include "kubernetes/yaml_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

struct value { /* of a text */
    const char *text;
    size_t length; /* of the text */
    size_t start, end;
    bool too_deep;
    uint64_t cost;
};

static size_t skip_space(const char *text, size_t length, size_t at)
{
    while (at < length && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at;
}

static bool begins_value(const char *text, size_t length, size_t at)
{
    return at < length && (text[at] == '{' || text[at] == '[');
}

/* Of the quote that ends the string which begins at the quote at; length if none does. */
static size_t end_of_string(const char *text, size_t length, size_t at)
{
    for (at++; at < length && text[at] != '"'; at++)
        at += text[at] == '\\';
    return at < length ? at : length;
}

/* Fills value, whose text, length and start are set. False: it has no end. */
static bool find_end(struct value *value)
{
    unsigned depth = 0;

    for (size_t at = value->start; at < value->length; at++) {
        const char c = value->text[at];

        if (c == '"') {
            const size_t end = end_of_string(value->text, value->length, at);

            value->cost += end - at;
            at = end;
        } else if (c == '{' || c == '[') {
            value->too_deep |= ++depth > KVMIG__YAML_MAX_DEPTH;
            value->cost += c == '{' ? KVMIG__YAML_MAPPING_COST : KVMIG__YAML_SEQUENCE_COST;
        } else if (c == ',') {
            value->cost += KVMIG__YAML_SCALAR_COST;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            value->end = at + 1;
            return true;
        }
    }
    return false;
}

/* ---- what is wrong ---- */

static bool check_bounds(struct kvmig__yaml_sink *sink, const struct value *value)
{
    if (value->too_deep)
        kvmig__yaml_fail_at(sink, EMSGSIZE, value->start, "Check that the text is what it should be.",
                            "the JSON value is nested too deeply");
    else if (value->cost > KVMIG__YAML_MAX_COST)
        kvmig__yaml_fail_at(sink, EMSGSIZE, value->start, "Split it into several files.",
                            "the JSON value is too large");
    else
        return true;
    return false;
}

/* ---- duplicate keys, of a value that json-c has found to be well-formed ---- */

/* What the string between the quotes at start and end says; owned; NULL if it has a NUL. */
static char *key_text(const char *text, size_t start, size_t end)
{
    struct json_object *string;
    char *key = NULL;

    if (!memchr(text + start, '\\', end - start))
        return kvmig__strndup(text + start + 1, end - start - 1);
    key = kvmig__strndup(text + start, end - start + 1);
    string = json_tokener_parse(key);
    free(key);
    key = NULL;
    if (string && strlen(json_object_get_string(string)) == (size_t)json_object_get_string_len(string))
        key = kvmig__strdup(json_object_get_string(string));
    json_object_put(string);
    return key;
}

/* What is wrong with the key; owned; NULL: nothing. */
static char *note_key(struct json_object **keys, const char *text, size_t start, size_t end)
{
    char *key = key_text(text, start, end), *wrong = NULL;

    if (!*keys)
        *keys = json_object_new_object();
    if (!key)
        return kvmig__strdup("a key has a NUL character");
    if (json_object_object_get_ex(*keys, key, NULL))
        wrong = kvmig__asprintf("the key \"%.100s\" stands twice in one object", key);
    else
        json_object_object_add(*keys, key, NULL);
    free(key);
    return wrong;
}

static bool check_keys(struct kvmig__yaml_sink *sink, const struct value *value)
{
    struct json_object *keys[KVMIG__YAML_MAX_DEPTH + 1] = { NULL };
    unsigned depth = 0;
    char *wrong = NULL;

    for (size_t at = value->start; at < value->end && !wrong; at++) {
        const char c = value->text[at];

        if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            json_object_put(keys[depth]);
            keys[depth--] = NULL;
        } else if (c == '"') {
            const size_t start = at, next = skip_space(value->text, value->end,
                                                       (at = end_of_string(value->text, value->end, start)) + 1);

            if (next < value->end && value->text[next] == ':')
                wrong = note_key(&keys[depth], value->text, start, at);
            if (wrong)
                kvmig__yaml_fail_at(sink, KVMIG_EJSON, start, "Remove one of the two.", wrong);
        }
    }
    for (depth = 0; wrong && depth <= KVMIG__YAML_MAX_DEPTH; depth++)
        json_object_put(keys[depth]);
    free(wrong);
    return !wrong;
}

/* ---- values ---- */

/* NULL with *at where json-c stopped, and *why. */
static struct json_object *parse(const struct value *value, size_t *at, const char **why)
{
    struct json_tokener *tokener =
        json_tokener_new_ex(KVMIG__YAML_MAX_DEPTH + 2); /* its own limit must not come first */
    struct json_object *object;

    if (!tokener)
        abort(); /* as every allocation of the library */
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    object = json_tokener_parse_ex(tokener, value->text + value->start, (int)(value->end - value->start));
    *at = value->start + json_tokener_get_parse_end(tokener);
    *why = json_tokener_error_desc(json_tokener_get_error(tokener));
    json_tokener_free(tokener);
    return object;
}

/* False: not JSON. Nothing was said of it then. */
static bool read_value(struct kvmig__yaml_sink *sink, const struct value *value, bool may_be_yaml)
{
    struct json_object *object;
    const char *why;
    size_t at;

    if (!check_bounds(sink, value)) {
        sink->index++;
        return true;
    }
    object = parse(value, &at, &why);
    if (!object && may_be_yaml)
        return false;
    if (!object)
        kvmig__yaml_fail_at(sink, KVMIG_EJSON, at, "Mend the JSON there.", why);
    if (object && check_keys(sink, value)) {
        kvmig__yaml_give(sink, object);
    } else {
        json_object_put(object);
        sink->index++;
    }
    return true;
}

bool kvmig__yaml_read_json(struct kvmig__yaml_sink *sink)
{
    const char *text = sink->text;
    const size_t length = sink->length;
    const size_t mark = length >= 3 && memcmp(text, BYTE_ORDER_MARK, 3) == 0 ? 3 : 0;
    struct value value = { .text = text, .length = length, .start = skip_space(text, length, mark) };
    size_t next;

    if (!begins_value(text, length, value.start) || !find_end(&value))
        return false;
    next = skip_space(text, length, value.end);
    if (next < length && !begins_value(text, length, next))
        return false;
    /* A single {flow: mapping} of YAML looks like this too; two of them after one another cannot be YAML. */
    if (!read_value(sink, &value, next == length))
        return false;
    while (next < length && !sink->stopped) {
        value = (struct value){ .text = text, .length = length, .start = next };
        if (!begins_value(text, length, next) || !find_end(&value)) {
            kvmig__yaml_fail_at(sink, KVMIG_EJSON, next, "Check that the text is complete.",
                                begins_value(text, length, next) ? "the JSON value has no end"
                                                                 : "what follows the JSON value is none");
            break;
        }
        read_value(sink, &value, false);
        next = skip_space(text, length, value.end);
    }
    return true;
}
