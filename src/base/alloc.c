/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory and plain strings. Allocation never fails: without memory the process ends with a message, as it would inside
 * libvirt. Any thread; what is returned belongs to the caller and is released with free().
 */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void out_of_memory(void)
{
    fputs("libkvmig: out of memory\n", stderr);
    abort();
}

void *kvmig__calloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);

    if (!p)
        out_of_memory();
    return p;
}

void *kvmig__realloc_array(void *p, size_t n, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(n, size, &total))
        out_of_memory();
    p = realloc(p, total ? total : 1);
    if (!p)
        out_of_memory();
    return p;
}

char *kvmig__strdup(const char *s)
{
    return s ? kvmig__strndup(s, strlen(s)) : NULL;
}

char *kvmig__strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = kvmig__calloc(len + 1, 1);

    memcpy(copy, s, len);
    return copy;
}

char *kvmig__vasprintf(const char *fmt, va_list args)
{
    char *text = NULL;

    if (vasprintf(&text, fmt, args) < 0)
        out_of_memory();
    return text;
}

char *kvmig__asprintf(const char *fmt, ...)
{
    char *text;
    va_list args;

    va_start(args, fmt);
    text = kvmig__vasprintf(fmt, args);
    va_end(args);
    return text;
}

void kvmig__str_set(char **p, const char *s)
{
    char *copy = kvmig__strdup(s); /* first, because s may lie in *p */

    free(*p);
    *p = copy;
}

bool kvmig__str_eq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool kvmig__str_starts(const char *s, const char *prefix)
{
    if (!s)
        return false;
    while (*prefix && *s == *prefix) {
        s++;
        prefix++;
    }
    return !*prefix;
}

bool kvmig__str_ends(const char *s, const char *suffix)
{
    size_t len = s ? strlen(s) : 0, suffix_len = strlen(suffix);

    return s && len >= suffix_len && strcmp(s + len - suffix_len, suffix) == 0;
}

/* Grows by one each time: lists may come from an exact allocation, so no spare room can be assumed, and realloc()
 * extends in place in the common case. The pointer is moved with memcpy because *v is of another pointer type. */
void *kvmig__array_push(void **v, size_t *n, size_t size)
{
    void *p;
    char *element;

    memcpy(&p, (const void *)v, sizeof(p));
    p = kvmig__realloc_array(p, *n + 1, size);
    memcpy((void *)v, &p, sizeof(p));
    element = (char *)p + *n * size;
    memset(element, 0, size);
    (*n)++;
    return element;
}
