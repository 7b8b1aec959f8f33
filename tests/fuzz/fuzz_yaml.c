/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: YAML and JSON texts. What was read, written as JSON and read again, must be the same; a text that ends with an
 * error names a place.
 */
#include "fuzz.h"
#include "kubernetes/yaml.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST ((size_t)1 << 16)

struct seen {
    size_t n;
    size_t last_index;
};

static bool check_same(void *data, struct json_object *document, size_t index)
{
    const char *text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN);
    struct seen *seen = data;

    if (seen->n++ > 0 && index <= seen->last_index)
        abort();
    seen->last_index = index;
    /* A scalar alone is no JSON text of ours. */
    if (json_object_is_type(document, json_type_object) || json_object_is_type(document, json_type_array)) {
        struct kvmig_error *error = NULL;
        struct json_object *again = kvmig__yaml_parse(text, strlen(text), "again", &error);

        if (error || strcmp(text, json_object_to_json_string_ext(again, JSON_C_TO_STRING_PLAIN)) != 0)
            abort();
        json_object_put(again);
    }
    json_object_put(document);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kvmig_error *error = NULL;
    struct seen seen = { 0 };
    char *text;

    if (size > LARGEST)
        return 0;
    /* No NUL after it, and exactly as large as it must be. */
    text = kvmig__calloc(size, 1);
    if (size > 0)
        memcpy(text, data, size);
    if (kvmig__yaml_read(text, size, "text", check_same, &seen, &error) != seen.n)
        abort();
    if (error && !kvmig__str_starts(error->where, "text:"))
        abort();
    kvmig__error_free(error);
    free(text);
    return 0;
}
