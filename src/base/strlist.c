/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists of owned strings, and the form of a UUID. A list is a plain struct of its owner; zeroed memory is an empty
 * list. No locking.
 */
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void kvmig__strlist_add(struct kvmig__strlist *list, const char *s)
{
    *KVMIG__PUSH(list) = kvmig__strdup(s ? s : "");
}

void kvmig__strlist_add_new(struct kvmig__strlist *list, const char *s)
{
    if (!kvmig__strlist_has(list, s))
        kvmig__strlist_add(list, s);
}

bool kvmig__strlist_has(const struct kvmig__strlist *list, const char *s)
{
    for (size_t i = 0; i < list->n; i++) {
        if (kvmig__str_eq(list->v[i], s))
            return true;
    }
    return false;
}

void kvmig__strlist_copy(struct kvmig__strlist *dst, const struct kvmig__strlist *src)
{
    struct kvmig__strlist copy = { 0 };

    for (size_t i = 0; i < src->n; i++)
        kvmig__strlist_add(&copy, src->v[i]);
    kvmig__strlist_clear(dst);
    *dst = copy;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void kvmig__strlist_sort(struct kvmig__strlist *list)
{
    if (list->n > 1)
        qsort(list->v, list->n, sizeof(*list->v), compare);
}

char *kvmig__strlist_join(const struct kvmig__strlist *list, const char *separator)
{
    size_t len = 1, separator_len = strlen(separator);
    char *text, *out;

    for (size_t i = 0; i < list->n; i++)
        len += strlen(list->v[i]) + separator_len;
    text = out = kvmig__calloc(len, 1);
    for (size_t i = 0; i < list->n; i++) {
        if (i)
            out = stpcpy(out, separator);
        out = stpcpy(out, list->v[i]);
    }
    return text;
}

void kvmig__strlist_clear(struct kvmig__strlist *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->v[i]);
    free(list->v);
    *list = (struct kvmig__strlist){ 0 };
}

bool kvmig__is_uuid(const char *s)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    if (!s || strlen(s) != sizeof(form) - 1)
        return false;
    for (size_t i = 0; form[i]; i++) {
        if (form[i] == '-' ? s[i] != '-' : !isxdigit((unsigned char)s[i]))
            return false;
    }
    return true;
}
