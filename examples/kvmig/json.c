/* SPDX-License-Identifier: MIT-0 */
/*
 * Reading and printing the JSON that the library writes. Absent members are no mistake here: a newer or older library
 * may write others.
 */
#include <stdlib.h>

#include "tool.h"

struct json_object *json_parse_owned(char *text)
{
    struct json_object *object = text ? json_tokener_parse(text) : NULL;

    free(text);
    return object;
}

struct json_object *json_member(struct json_object *object, const char *key)
{
    struct json_object *member = NULL;

    if (!json_object_is_type(object, json_type_object))
        return NULL;
    return json_object_object_get_ex(object, key, &member) ? member : NULL;
}

const char *json_text(struct json_object *object, const char *key)
{
    struct json_object *member = json_member(object, key);

    return json_object_is_type(member, json_type_string) ? json_object_get_string(member) : NULL;
}

uint64_t json_number(struct json_object *object, const char *key)
{
    struct json_object *member = json_member(object, key);

    if (!json_object_is_type(member, json_type_int) && !json_object_is_type(member, json_type_double))
        return UINT64_MAX;
    return json_object_get_uint64(member);
}

bool json_true(struct json_object *object, const char *key)
{
    struct json_object *member = json_member(object, key);

    return json_object_is_type(member, json_type_boolean) && json_object_get_boolean(member);
}

size_t json_list_length(struct json_object *list)
{
    return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

struct json_object *json_list_at(struct json_object *list, size_t index)
{
    return index < json_list_length(list) ? json_object_array_get_idx(list, index) : NULL;
}

void json_print(struct json_object *object, FILE *out)
{
    int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE;

    fprintf(out, "%s\n", json_object_to_json_string_ext(object, flags));
}

void json_print_line(const char *type, struct json_object *object, FILE *out)
{
    struct json_object *line = json_object_new_object();

    json_object_object_add(line, "type", json_object_new_string(type));
    if (json_object_is_type(object, json_type_object)) {
        json_object_object_foreach(object, key, value)
        {
            if (!json_object_object_get_ex(line, key, NULL))
                json_object_object_add(line, key, json_object_get(value));
        }
    }
    fprintf(out, "%s\n", json_object_to_json_string_ext(line, JSON_C_TO_STRING_NOSLASHESCAPE));
    fflush(out);
    json_object_put(line);
}
