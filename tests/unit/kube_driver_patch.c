/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See kube_driver_world.h: a JSON patch is really applied, with its tests. */
#include "kube_driver_world.h"

/* The place that a path names: its parent and last part. */
static struct json_object *parent_of(struct json_object *root, const char *path, char **out_key)
{
    struct json_object *at = root;
    const char *part = path + 1;

    for (;;) {
        const char *slash = strchr(part, '/');
        char *key = slash ? kvmig__strndup(part, (size_t)(slash - part)) : kvmig__strdup(part);

        if (!slash) {
            char *escape = strstr(key, "~1");

            if (escape) {
                *escape = '/';
                memmove(escape + 1, escape + 2, strlen(escape + 2) + 1);
            }
            *out_key = key;
            return at;
        }
        if (json_object_is_type(at, json_type_array))
            at = json_object_array_get_idx(at, strtoul(key, NULL, 10));
        else
            json_object_object_get_ex(at, key, &at);
        free(key);
        assert_non_null(at);
        part = slash + 1;
    }
}

static bool apply_op(struct json_object *root, struct json_object *op)
{
    const char *name = json_object_get_string(json_object_object_get(op, "op"));
    const char *path = json_object_get_string(json_object_object_get(op, "path"));
    struct json_object *value = json_object_object_get(op, "value"), *parent, *there = NULL;
    bool is_array, ok = true;
    char *key;

    parent = parent_of(root, path, &key);
    is_array = json_object_is_type(parent, json_type_array);
    there = is_array ? json_object_array_get_idx(parent, strtoul(key, NULL, 10)) : json_object_object_get(parent, key);
    if (!strcmp(name, "test"))
        ok = there && json_object_equal(there, value);
    else if (!strcmp(name, "remove"))
        is_array ? (void)json_object_array_del_idx(parent, strtoul(key, NULL, 10), 1)
                 : json_object_object_del(parent, key);
    else if (!strcmp(name, "add") && is_array)
        json_object_array_add(parent, json_object_get(value)); /* "-" is all that is used */
    else if (is_array)
        json_object_array_put_idx(parent, strtoul(key, NULL, 10), json_object_get(value));
    else
        json_object_object_add(parent, key, json_object_get(value));
    free(key);
    return ok;
}

struct json_object *apply_patch(struct json_object *to, const char *text)
{
    struct json_object *patch = json_tokener_parse(text), *out = NULL;
    bool ok = true;

    json_object_deep_copy(to, &out, NULL);
    for (size_t i = 0; ok && i < json_object_array_length(patch); i++)
        ok = apply_op(out, json_object_array_get_idx(patch, i));
    json_object_put(patch);
    if (ok)
        return out;
    json_object_put(out);
    return NULL;
}
