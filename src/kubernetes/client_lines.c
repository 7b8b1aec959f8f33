/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lines out of a byte stream: one growing buffer, in which complete lines are ended by NUL in place. Knows nothing of
 * what lines mean. Any one thread at a time; the buffer belongs to the struct.
 */
#include "kubernetes/client_lines.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY ((size_t)16 << 10)
#define KEEP_CAPACITY ((size_t)256 << 10) /* a larger buffer is given back once it is empty */

static void make_room(struct kvmig__lines *lines, size_t n)
{
    size_t capacity = lines->capacity ? lines->capacity : FIRST_CAPACITY;

    if (lines->head > 0) {
        memmove(lines->data, lines->data + lines->head, lines->end - lines->head);
        lines->open -= lines->head;
        lines->end -= lines->head;
        lines->head = 0;
    }
    /* One byte more than was fed, for the NUL of a last line that has no end. */
    while (capacity - lines->end <= n)
        capacity *= 2;
    if (capacity == lines->capacity)
        return;
    lines->data = kvmig__realloc_array(lines->data, capacity, 1);
    lines->capacity = capacity;
}

bool kvmig__lines_feed(struct kvmig__lines *lines, const char *bytes, size_t n)
{
    if (n == 0)
        return true;
    make_room(lines, n);
    memcpy(lines->data + lines->end, bytes, n);
    for (size_t from = lines->end, end = lines->end + n; from < end;) {
        char *newline = memchr(lines->data + from, '\n', end - from);
        size_t stop = newline ? (size_t)(newline - lines->data) : end;

        if (stop - lines->open > lines->max_line) {
            lines->end = lines->open;
            return false;
        }
        from = newline ? stop + 1 : end;
        if (newline)
            lines->open = from;
        lines->end = from;
    }
    return true;
}

bool kvmig__lines_ready(const struct kvmig__lines *lines)
{
    return lines->head < lines->open;
}

char *kvmig__lines_take(struct kvmig__lines *lines, size_t *out_length)
{
    char *line, *newline;

    if (!kvmig__lines_ready(lines)) {
        if (lines->head == lines->end && lines->capacity > KEEP_CAPACITY)
            kvmig__lines_clear(lines);
        return NULL;
    }
    line = lines->data + lines->head;
    newline = memchr(line, '\n', lines->open - lines->head);
    lines->head = (size_t)(newline - lines->data) + 1;
    if (newline > line && newline[-1] == '\r')
        newline--;
    *newline = '\0';
    *out_length = (size_t)(newline - line);
    return line;
}

void kvmig__lines_finish(struct kvmig__lines *lines)
{
    if (lines->open == lines->end)
        return;
    lines->data[lines->end++] = '\n';
    lines->open = lines->end;
}

void kvmig__lines_clear(struct kvmig__lines *lines)
{
    free(lines->data);
    *lines = (struct kvmig__lines){ .max_line = lines->max_line };
}
