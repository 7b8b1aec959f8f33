/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JSON values as one flat array, in the order of the text: what objects are decoded from. A tree of json-c costs several
 * allocations per value, which is most of the time that a large snapshot takes to load; here one array is used again for every
 * object. Filled from a text in place, or from a tree. Pure but for json-c in kvmig__tape_take(); a tape belongs to one thread.
 */
#ifndef KVMIG_SRC_TAPE_H
#define KVMIG_SRC_TAPE_H

#include "base/base.h"

enum kvmig__tape_type {
    KVMIG__TAPE_NULL,
    KVMIG__TAPE_FALSE,
    KVMIG__TAPE_TRUE,
    KVMIG__TAPE_INT,
    KVMIG__TAPE_DOUBLE,
    KVMIG__TAPE_STRING,
    KVMIG__TAPE_ARRAY, /* its elements follow */
    KVMIG__TAPE_OBJECT, /* its members follow, each a name (STRING) and a value */
};
struct kvmig__value {
    const char *text; /* STRING: ends with NUL. INT, DOUBLE: as written, ends with NUL too */
    uint32_t length; /* of text */
    uint32_t n; /* elements or members */
    uint32_t size; /* values from this one to the end of what is in it */
    uint8_t type; /* enum kvmig__tape_type */
};
struct kvmig__tape {
    struct kvmig__value *v;
    size_t n, room;
    char *numbers; /* their texts, one block that never moves while values point into it */
    size_t numbers_n, numbers_room;
};
void kvmig__tape_clear(struct kvmig__tape *tape);

/* ---- a text (tape.c) ----
 * Reads one value at *at of a text that ends with NUL at length, which is changed: strings are unescaped where they stand. Replaces what
 * is on the tape. Strict: no comments, no names twice in one object, valid UTF-8, no NUL in strings. false: it is none, or it is deeper
 * or wider than any object of an API; nothing is said of it then. */
bool kvmig__tape_read(struct kvmig__tape *tape, char *text, size_t length, size_t *at);
size_t kvmig__tape_skip_space(const char *text, size_t at);
/* The end of the value that begins at at, by brackets and quotes alone; 0 = it has none. Changes nothing. */
size_t kvmig__tape_find_end(const char *text, size_t length, size_t at);

/* ---- a tree (tape_take.c) ---- whose texts are borrowed */
struct json_object;
void kvmig__tape_take(struct kvmig__tape *tape, struct json_object *json);

/* ---- asking ---- NULL is a value that is absent */
static inline bool kvmig__value_is(const struct kvmig__value *value, enum kvmig__tape_type type)
{
    return value && value->type == type;
}
const struct kvmig__value *kvmig__value_get(const struct kvmig__value *object,
                                            const char *name); /* NULL if absent or null */
const char *kvmig__value_text(const struct kvmig__value *value); /* of a scalar but null, as text; else NULL */
/* for (i over the members of an object or the elements of an array) */
#define KVMIG__EACH_MEMBER(object, name, value)                                                                        \
    for (const struct kvmig__value *name = (object) + 1, *value = (object) + 2; name < (object) + (object)->size;      \
         name = value + value->size, value = name + 1)
#define KVMIG__EACH_ELEMENT(array, element)                                                                            \
    for (const struct kvmig__value *element = (array) + 1; element < (array) + (array)->size; element += element->size)

#endif
