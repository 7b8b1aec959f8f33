/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Members of the objects in a kubeconfig, with errors that name file, entry and member. Types are not guessed: `token: 12e5` is a
 * number, and an error. Any thread; what is got is borrowed from the kubeconfig. A value never gets into an error: it may be a
 * secret.
 */
#include "kubernetes/access_internal.h"

#include <stdlib.h>
#include <string.h>

void kvmig__entry_clear(struct kvmig__entry *entry)
{
    free(entry->label);
    memset(entry, 0, sizeof(*entry));
}

char *kvmig__entry_where(const struct kvmig__entry *entry, const char *key)
{
    const bool has_label = entry->label && *entry->label;

    return kvmig__asprintf("%s%s%s%s%s", entry->path, has_label ? ": " : "", has_label ? entry->label : "",
                           key ? ": " : "", key ? key : "");
}

struct kvmig_error *kvmig__entry_error(const struct kvmig__entry *entry, const char *key, int32_t code,
                                       const char *hint, const char *fmt, ...)
{
    char *where = kvmig__entry_where(entry, key), *message;
    struct kvmig_error *error;
    va_list args;

    va_start(args, fmt);
    message = kvmig__vasprintf(fmt, args);
    va_end(args);
    error = kvmig__error_new(code, where, NULL, hint, "%s", message);
    free(message);
    free(where);
    return error;
}

static const char *words_for(enum json_type type)
{
    switch (type) {
    case json_type_object:
        return "a mapping";
    case json_type_array:
        return "a list";
    case json_type_boolean:
        return "true or false";
    default:
        return "a text";
    }
}

struct kvmig_error *kvmig__entry_get(const struct kvmig__entry *entry, const char *key, enum json_type type,
                                     struct json_object **out)
{
    *out = NULL;
    if (!entry->value || !json_object_object_get_ex(entry->value, key, out) || !*out)
        return NULL;
    if (json_object_is_type(*out, type))
        return NULL;
    *out = NULL;
    return kvmig__entry_error(entry, key, KVMIG_EJSON,
                              type == json_type_string ? "Put the value into quotes." : "Mend the kubeconfig.",
                              "%s must be %s", key, words_for(type));
}

static bool has_nul(struct json_object *text)
{
    return strlen(json_object_get_string(text)) != (size_t)json_object_get_string_len(text);
}

struct kvmig_error *kvmig__entry_text(const struct kvmig__entry *entry, const char *key, const char **out)
{
    struct json_object *value;
    struct kvmig_error *error = kvmig__entry_get(entry, key, json_type_string, &value);

    *out = NULL;
    if (error || !value)
        return error;
    if (has_nul(value))
        return kvmig__entry_error(entry, key, KVMIG_EJSON, "Mend the kubeconfig.", "%s has a NUL character", key);
    if (json_object_get_string_len(value) > 0)
        *out = json_object_get_string(value);
    return NULL;
}

struct kvmig_error *kvmig__entry_bool(const struct kvmig__entry *entry, const char *key, bool *out)
{
    struct json_object *value;
    struct kvmig_error *error = kvmig__entry_get(entry, key, json_type_boolean, &value);

    *out = !error && value && json_object_get_boolean(value);
    return error;
}

struct kvmig_error *kvmig__entry_texts(const struct kvmig__entry *entry, const char *key, struct kvmig__strlist *out)
{
    struct json_object *list;
    struct kvmig_error *error = kvmig__entry_get(entry, key, json_type_array, &list);

    for (size_t i = 0; !error && list && i < json_object_array_length(list); i++) {
        struct json_object *value = json_object_array_get_idx(list, i);

        if (!json_object_is_type(value, json_type_string) || has_nul(value))
            error = kvmig__entry_error(entry, key, KVMIG_EJSON, "Put the values into quotes.",
                                       "%s must be a list of texts", key);
        else
            kvmig__strlist_add(out, json_object_get_string(value));
    }
    return error;
}
