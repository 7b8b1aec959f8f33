/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: the byte stream of an OVSDB server. The first byte says how the rest is cut; whole, and cut, it must
 * give the same messages and the same verdict. (Which of several mistakes is told depends on how much was seen at
 * once.)
 */
#include "fuzz.h"
#include "port/ovsdb_rpc.h"

#include <stdlib.h>
#include <string.h>

#define MAX_MESSAGE 4096

struct seen {
    struct kvmig__strlist texts;
};

static bool keep(void *data, struct json_object *message)
{
    struct seen *seen = data;

    if (!json_object_is_type(message, json_type_object))
        abort();
    kvmig__strlist_add(&seen->texts, json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN));
    return true;
}

/* Whether all of it was taken. */
static bool feed(const uint8_t *data, size_t size, size_t piece, struct seen *seen)
{
    struct kvmig__ovsdb_framer *framer = kvmig__ovsdb_framer_new(MAX_MESSAGE);
    struct kvmig_error *error = NULL;
    bool ok;

    for (size_t i = 0; i < size && !error; i += piece) {
        size_t n = size - i < piece ? size - i : piece;
        char *copy = kvmig__calloc(n, 1);

        memcpy(copy, data + i, n);
        error = kvmig__ovsdb_framer_feed(framer, copy, n, keep, seen);
        free(copy);
    }
    ok = !error;
    kvmig__error_free(error);
    kvmig__ovsdb_framer_free(framer);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole = { 0 }, cut = { 0 };

    if (size < 2)
        return 0;
    if (feed(data + 1, size - 1, size, &whole) != feed(data + 1, size - 1, (size_t)data[0] + 1, &cut))
        abort();
    if (whole.texts.n != cut.texts.n)
        abort();
    for (size_t i = 0; i < whole.texts.n; i++) {
        if (strcmp(whole.texts.v[i], cut.texts.v[i]) != 0)
            abort();
    }
    kvmig__strlist_clear(&whole.texts);
    kvmig__strlist_clear(&cut.texts);
    return 0;
}
