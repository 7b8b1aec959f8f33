/* SPDX-License-Identifier: MIT-0 */
/*
 * Reading the file of a request (request.c): one JSON object, whose members are of the kinds that they have to be. What a member says in
 * detail is not looked into here. What cannot be used ends the command, which then answers nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MAX_BYTES ((size_t)16 << 20)
#define MARK "\xef\xbb\xbf" /* of UTF-8, which some editors write first */

/* The members that name one of a few things; NULL ends a list. */
static const char *const backends[] = { "libvirt", "kubevirt", NULL };
static const char *const intents[] = { "migrate", "volume-migration", "drain", "rollback", "cancel", NULL };

static const struct member {
    const char *key;
    enum json_type type;
    const char *const *words;
} members[] = {
    { "backend", json_type_string, backends }, { "intent", json_type_string, intents },
    { "migration", json_type_string, NULL },   { "node", json_type_string, NULL },
    { "source", json_type_string, NULL },      { "target", json_type_string, NULL },
    { "vm", json_type_string, NULL },          { "options", json_type_object, NULL },
    { "policy", json_type_object, NULL },      { "observed", json_type_object, NULL },
    { "hosts", json_type_object, NULL },       { "volume_changes", json_type_array, NULL },
};

static void explain(const struct command *command, const char *path, const char *what, const char *more)
{
    complain("%s: --request %s: %s%s", command->name, path, what, more);
}

/* ---- the text ---- */

/* Owned, with a zero behind it; NULL and errno if it cannot be read. */
static char *read_text(const char *path, size_t *out_length)
{
    FILE *file = fopen(path, "r");
    char *text;

    if (!file)
        return NULL;
    text = malloc(MAX_BYTES + 1);
    if (!text)
        abort();
    *out_length = fread(text, 1, MAX_BYTES + 1, file);
    if (ferror(file) || *out_length > MAX_BYTES) {
        const int error = ferror(file) ? EIO : EFBIG;

        free(text);
        fclose(file);
        errno = error;
        return NULL;
    }
    fclose(file);
    text[*out_length] = '\0';
    return text;
}

static unsigned int line_of(const char *text, size_t offset)
{
    unsigned int line = 1;

    for (size_t i = 0; i < offset; i++)
        line += text[i] == '\n';
    return line;
}

static struct json_object *parse(const struct command *command, const char *path, const char *text, size_t length)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *value;
    char where[64];
    size_t end;

    if (!tokener)
        abort();
    value = json_tokener_parse_ex(tokener, text, (int)length + 1); /* the zero ends a number */
    end = json_tokener_get_parse_end(tokener);
    snprintf(where, sizeof(where), " (line %u)", line_of(text, end < length ? end : length));
    if (json_tokener_get_error(tokener) != json_tokener_success) {
        explain(command, path, "is not JSON", where);
        json_object_put(value);
        value = NULL;
    } else if (end < length && end + strspn(text + end, " \t\r\n") < length) {
        explain(command, path, "something stands behind the JSON object", where);
        json_object_put(value);
        value = NULL;
    } else if (!json_object_is_type(value, json_type_object)) {
        explain(command, path, "is no JSON object", "");
        json_object_put(value);
        value = NULL;
    }
    json_tokener_free(tokener);
    return value;
}

/* ---- the members ---- */

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(*words, text) != 0)
        words++;
    return *words;
}

static bool is_usable(const struct command *command, const char *path, struct json_object *request,
                      const struct member *member)
{
    struct json_object *value = json_member(request, member->key);
    char *what = NULL;

    if (!value || (json_object_is_type(value, member->type) &&
                   (!member->words || is_one_of(json_object_get_string(value), member->words))))
        return true;
    if (asprintf(&what, "\"%s\" is %.80s, but has to be ", member->key, json_object_to_json_string(value)) < 0)
        abort();
    if (!member->words) {
        explain(command, path, what,
                member->type == json_type_string   ? "a text"
                : member->type == json_type_object ? "an object"
                                                   : "a list");
    } else {
        for (size_t i = 0; member->words[i]; i++) {
            char *longer = NULL;

            if (asprintf(&longer, "%s%s%s", what, i ? ", or " : "", member->words[i]) < 0)
                abort();
            free(what);
            what = longer;
        }
        explain(command, path, what, "");
    }
    free(what);
    return false;
}

struct json_object *request_load(const struct command *command, const char *path)
{
    struct json_object *request = NULL;
    size_t length = 0, skip;
    char *text = read_text(path, &length);

    if (!text) {
        explain(command, path, "cannot be read: ", strerror(errno));
        return NULL;
    }
    skip = strncmp(text, MARK, strlen(MARK)) == 0 ? strlen(MARK) : 0;
    request = parse(command, path, text + skip, length - skip);
    free(text);
    for (size_t i = 0; request && i < sizeof(members) / sizeof(members[0]); i++) {
        if (!is_usable(command, path, request, &members[i])) {
            json_object_put(request);
            request = NULL;
        }
    }
    return request;
}
