/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Puts a tree of json-c onto a tape (tape.h): what came as YAML, or in an answer of the API server. The texts stay the tree's. Any
 * thread, as long as nobody else uses the tree.
 */
#include "base/json_internal.h"
#include "kubernetes/tape.h"

#include <string.h>

static size_t push(struct kvmig__tape *tape, enum kvmig__tape_type type, const char *text)
{
    if (tape->n == tape->room) {
        tape->room = tape->room ? tape->room * 2 : 1024;
        tape->v = kvmig__realloc_array(tape->v, tape->room, sizeof(*tape->v));
    }
    tape->v[tape->n] = (struct kvmig__value){
        .text = text, .length = text ? (uint32_t)strlen(text) : 0, .size = 1, .type = (uint8_t)type
    };
    return tape->n++;
}

static void take(struct kvmig__tape *tape, struct json_object *json);

static void take_object(struct kvmig__tape *tape, struct json_object *json)
{
    size_t place = push(tape, KVMIG__TAPE_OBJECT, NULL);

    json_object_object_foreach(json, name, value)
    {
        push(tape, KVMIG__TAPE_STRING, name);
        take(tape, value);
    }
    tape->v[place].n = (uint32_t)json_object_object_length(json);
    tape->v[place].size = (uint32_t)(tape->n - place);
}

static void take_array(struct kvmig__tape *tape, struct json_object *json)
{
    size_t place = push(tape, KVMIG__TAPE_ARRAY, NULL), n = json_object_array_length(json);

    for (size_t i = 0; i < n; i++)
        take(tape, json_object_array_get_idx(json, i));
    tape->v[place].n = (uint32_t)n;
    tape->v[place].size = (uint32_t)(tape->n - place);
}

static void take(struct kvmig__tape *tape, struct json_object *json)
{
    switch (json_object_get_type(json)) {
    case json_type_object:
        take_object(tape, json);
        break;
    case json_type_array:
        take_array(tape, json);
        break;
    case json_type_boolean:
        push(tape, json_object_get_boolean(json) ? KVMIG__TAPE_TRUE : KVMIG__TAPE_FALSE, NULL);
        break;
    case json_type_int:
        push(tape, KVMIG__TAPE_INT, json_object_get_string(json));
        break;
    case json_type_double:
        push(tape, KVMIG__TAPE_DOUBLE, json_object_get_string(json));
        break;
    case json_type_string:
        push(tape, KVMIG__TAPE_STRING, json_object_get_string(json));
        break;
    default:
        push(tape, KVMIG__TAPE_NULL, NULL);
        break;
    }
}

void kvmig__tape_take(struct kvmig__tape *tape, struct json_object *json)
{
    tape->n = 0;
    take(tape, json);
}
