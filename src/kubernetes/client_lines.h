/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cuts a byte stream into lines, however it was split on its way. Any one thread at a time; no locks. Memory is
 * bounded by the longest line allowed and what is fed at once.
 */
#ifndef KVMIG_SRC_CLIENT_LINES_H
#define KVMIG_SRC_CLIENT_LINES_H

#include "base/base.h"

/* All zero, but for max_line, is empty. */
struct kvmig__lines {
    size_t max_line; /* bytes, without the line's end */
    char *data;
    size_t capacity;
    size_t head; /* where the first line begins that was not taken */
    size_t open; /* where the line begins that has no end yet */
    size_t end;
};

/* False: a line is too long; nothing more must be fed, and the lines before it can still be taken. */
bool kvmig__lines_feed(struct kvmig__lines *lines, const char *bytes, size_t n);
bool kvmig__lines_ready(const struct kvmig__lines *lines); /* is a whole line there? */
/* The next whole line without its end ("\n" or "\r\n"), NUL-terminated; borrowed until the next call. NULL: none. */
char *kvmig__lines_take(struct kvmig__lines *lines, size_t *out_length);
/* The stream is complete: what has no end is a line too. */
void kvmig__lines_finish(struct kvmig__lines *lines);
void kvmig__lines_clear(struct kvmig__lines *lines);

#endif
