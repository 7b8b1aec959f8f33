/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of Kubernetes' objects share: objects from text, and comparing. Single-threaded.
 */
#ifndef KVMIG_TESTS_OBJECTS_TEST_H
#define KVMIG_TESTS_OBJECTS_TEST_H

#include "kubernetes/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define JSON(...) #__VA_ARGS__

/* An object of JSON text; must be one. Owned. */
static inline void *object_of(const char *text)
{
    struct json_object *json = json_tokener_parse(text);
    struct kvmig__kube_meta *object = kvmig__object_decode(json, -1);

    assert_non_null(json);
    json_object_put(json);
    assert_non_null(object);
    return object;
}

static inline char *text_of_object(const struct kvmig__kube_meta *object)
{
    return kvmig__json_take_string(kvmig__object_encode(object));
}

/* Decoding what was encoded gives the same again. */
static inline void assert_survives(const struct kvmig__kube_meta *object)
{
    char *once = text_of_object(object), *twice;
    struct kvmig__kube_meta *again = object_of(once);

    twice = text_of_object(again);
    assert_string_equal(once, twice);
    free(once);
    free(twice);
    kvmig__kube_object_free(again);
}

/* All that is in want is in got too. */
static inline void assert_has(struct json_object *want, struct json_object *got, const char *path)
{
    enum json_type type = json_object_get_type(want);

    /* What is inside them does not matter, and differs between versions. */
    if (kvmig__str_ends(path, ".stallDetector") || kvmig__str_ends(path, ".downtimeTuning")) {
        assert_true(json_object_is_type(got, json_type_object));
        return;
    }
    if (json_object_get_type(got) != type)
        fail_msg("%s was lost", path);
    if (type == json_type_object) {
        json_object_object_foreach(want, key, value)
        {
            char *inner = kvmig__asprintf("%s.%s", path, key);

            assert_has(value, json_object_object_get(got, key), inner);
            free(inner);
        }
    } else if (type == json_type_array) {
        assert_true(json_object_array_length(got) >= json_object_array_length(want));
        for (size_t i = 0; i < json_object_array_length(want); i++) {
            char *inner = kvmig__asprintf("%s[%zu]", path, i);

            assert_has(json_object_array_get_idx(want, i), json_object_array_get_idx(got, i), inner);
            free(inner);
        }
    } else if (strcmp(json_object_get_string(want), json_object_get_string(got)) != 0) {
        fail_msg("%s was %s and is %s", path, json_object_get_string(want), json_object_get_string(got));
    }
}

/* All of an object's JSON is kept. */
static inline void assert_comes_out(struct json_object *json)
{
    struct kvmig__kube_meta *object = kvmig__object_decode(json, -1);
    struct json_object *out;

    assert_non_null(object);
    out = kvmig__object_encode(object);
    assert_has(json, out, kvmig__kube_kind_info(object->kind)->kind);
    assert_survives(object);
    json_object_put(out);
    kvmig__kube_object_free(object);
}

/* A file of the tests; owned. */
static inline char *file_text(const char *name)
{
    char *path = kvmig__asprintf("%s/tests/unit/objects/%s", TOP_SRCDIR, name);
    FILE *file = fopen(path, "re");
    char *text = kvmig__calloc(1, 1 << 18);

    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 18) - 1, file) > 0);
    fclose(file);
    free(path);
    return text;
}

#endif
