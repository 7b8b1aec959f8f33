/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: JSON texts on tapes, against json-c. What the tape's reader takes, json-c takes when it is strict, and both tell the same
 * values. What the reader refuses is nobody's loss: such texts go to json-c. Then the text as a list of objects, on the fast way, against
 * the same list with a byte order mark before it, which goes the other way: both stores are saved as the same text.
 *
 * With libFuzzer as fuzz.h says, with what fuzz_objects.c needs.
 */
#include "base/json_internal.h"
#include "fuzz.h"
#include "kubernetes/objects.h"
#include "kubernetes/tape.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST ((size_t)1 << 18)
#define EXACT 18 /* digits of which every number is told as it is written */

static struct json_object *read_strictly(const char *text, size_t length)
{
    struct json_tokener *tokener = json_tokener_new_ex(128);
    struct json_object *json;

    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    json = json_tokener_parse_ex(tokener, text, (int)length + 1); /* with its NUL, which ends a number */
    if (json_tokener_get_error(tokener) != json_tokener_success)
        abort();
    json_tokener_free(tokener);
    return json;
}

static void check_same(const struct kvmig__value *a, const struct kvmig__value *b)
{
    const bool number = a->type == KVMIG__TAPE_INT;

    if (a->type != b->type || a->n != b->n || a->size != b->size)
        abort();
    if (!a->text != !b->text || (number && (a->length > EXACT || a->text[0] == '-')))
        return;
    if (a->text && (a->length != b->length || memcmp(a->text, b->text, a->length) != 0))
        abort();
}

static void check_tape(const char *text, size_t size)
{
    struct kvmig__tape mine = { 0 }, other = { 0 };
    char *copy = kvmig__strndup(text, size);
    size_t at = 0;

    if (!memchr(text, 0, size) && kvmig__tape_read(&mine, copy, size, &at)) {
        char *alone = kvmig__strndup(text, at); /* other values may follow */
        struct json_object *json = read_strictly(alone, at);

        kvmig__tape_take(&other, json);
        if (mine.n != other.n)
            abort();
        for (size_t i = 0; i < mine.n; i++)
            check_same(&mine.v[i], &other.v[i]);
        json_object_put(json);
        free(alone);
    }
    kvmig__tape_clear(&mine);
    kvmig__tape_clear(&other);
    free(copy);
}

static char *load(const char *text, size_t size)
{
    struct kvmig__kube kube = { .now_ms = 0 };
    struct kvmig_findings problems = { NULL, 0 };
    char *saved;

    kvmig__snapshot_read(&kube, text, size, "fuzz", &problems);
    saved = kvmig__snapshot_save(&kube);
    kvmig__kube_clear(&kube);
    kvmig__findings_clear(&problems);
    return saved;
}

static void check_list(const char *text, size_t size)
{
    char *marked = kvmig__asprintf("\xEF\xBB\xBF%.*s", (int)size, text), *fast = load(text, size);
    char *slow = load(marked, size + 3);

    if (strcmp(fast, slow) != 0)
        abort();
    free(marked);
    free(fast);
    free(slow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (size > LARGEST)
        return 0;
    text = kvmig__strndup((const char *)data, size); /* with a NUL behind it, and nothing more */
    if (strlen(text) == size) {
        check_tape(text, size);
        check_list(text, size);
    }
    free(text);
    return 0;
}
