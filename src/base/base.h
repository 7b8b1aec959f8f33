/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small things that everything else uses: memory, strings, string lists, byte buffers, errors, option structs, time,
 * logging. No context, no thread of its own; every function may be called from any thread unless it says otherwise.
 * Memory: allocation never fails (the process ends with a message, as in libvirt, on which this library rests).
 */
#ifndef KVMIG_SRC_BASE_H
#define KVMIG_SRC_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kvmig/error.h>

#define KVMIG__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define KVMIG__N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* ---- memory (alloc.c) ---- */
void *kvmig__calloc(size_t n, size_t size);
void *kvmig__realloc_array(void *p, size_t n, size_t size);
char *kvmig__strdup(const char *s); /* NULL gives NULL */
char *kvmig__strndup(const char *s, size_t n);
char *kvmig__vasprintf(const char *fmt, va_list args) KVMIG__PRINTF(1, 0);
char *kvmig__asprintf(const char *fmt, ...) KVMIG__PRINTF(1, 2);
/* Frees *p and sets it to copy of s (which may be NULL or *p itself). */
void kvmig__str_set(char **p, const char *s);
/* NULL-safe comparison. */
bool kvmig__str_eq(const char *a, const char *b);
bool kvmig__str_starts(const char *s, const char *prefix);
bool kvmig__str_ends(const char *s, const char *suffix);

/* ---- growing arrays: struct { T *v; size_t n; } (header only) ----
 * KVMIG__PUSH(list) makes room for one zeroed element and yields its address. */
void *kvmig__array_push(void **v, size_t *n, size_t size);
#define KVMIG__PUSH(list)                                                                                              \
    ((__typeof__((list)->v))kvmig__array_push((void **)&(list)->v, &(list)->n, sizeof(*(list)->v)))

/* ---- lists of strings (strlist.c) ---- */
struct kvmig__strlist {
    char **v;
    size_t n;
};
void kvmig__strlist_add(struct kvmig__strlist *list, const char *s);
void kvmig__strlist_add_new(struct kvmig__strlist *list, const char *s); /* unless it is there */
bool kvmig__strlist_has(const struct kvmig__strlist *list, const char *s);
void kvmig__strlist_copy(struct kvmig__strlist *dst, const struct kvmig__strlist *src);
void kvmig__strlist_sort(struct kvmig__strlist *list);
char *kvmig__strlist_join(const struct kvmig__strlist *list, const char *separator); /* owned */
void kvmig__strlist_clear(struct kvmig__strlist *list);

/* ---- errors (error.c) ---- */
struct kvmig_error {
    int32_t code; /* negative */
    char *message;
    char *where;
    char *evidence;
    char *hint;
};
/* An owned error. where, evidence, hint may be NULL. code is taken with either sign. */
struct kvmig_error *kvmig__error_new(int32_t code, const char *where, const char *evidence, const char *hint,
                                     const char *message_fmt, ...) KVMIG__PRINTF(5, 6);
struct kvmig_error *kvmig__error_copy(const struct kvmig_error *error); /* NULL gives NULL */
void kvmig__error_free(struct kvmig_error *error);
/* Sets this thread's last error; takes ownership; returns its code, so that callers may `return kvmig__fail(...)`. */
int32_t kvmig__fail(struct kvmig_error *error);

/* ---- size-tagged option structs (opts.c) ----
 * Copies what the caller's struct has into *dst (known_size bytes, the rest zero). NULL src gives all zero. dst->size
 * becomes known_size. Fails with -EINVAL (size 0 or too small for itself; *dst is all zero) or -E2BIG (non-zero bytes
 * that this library does not know; *dst has the known part, so that callbacks in it can be discarded); where names the
 * call for the error. Reads nothing past src's own size. */
int32_t kvmig__opts_copy(void *dst, size_t known_size, const void *src, const char *where);
/* Zeroes size bytes of the caller's struct and sets its size member. Fails with -EINVAL if opts is NULL or size has no room
 * for that member; nothing is written then. */
int32_t kvmig__opts_init(void *opts, size_t size, const char *where);

/* ---- errno (error.c) ---- the text of an errno value; static, in English. code has either sign. */
const char *kvmig__errno_text(int32_t code);

/* ---- time (time.c) ---- */
int64_t kvmig__now_ms(void); /* CLOCK_MONOTONIC */
int64_t kvmig__wall_ms(void); /* CLOCK_REALTIME since 1970 */

/* ---- UUIDs (strlist.c): "550e8400-e29b-41d4-a716-446655440000" in any case ---- */
bool kvmig__is_uuid(const char *s);

#endif
