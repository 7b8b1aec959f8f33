/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Building lists of findings (pure: no JSON library; details are built with the small writer below, which escapes).
 */
#ifndef KVMIG_SRC_FINDING_INTERNAL_H
#define KVMIG_SRC_FINDING_INTERNAL_H

#include "base/base.h"
#include <kvmig/finding.h>

struct kvmig_finding {
    char *code;
    int32_t severity;
    char *object; /* kind/name */
    char *host; /* NULL = not about one host */
    char *message;
    char *detail; /* JSON text or NULL */
    char *hint;
};

struct kvmig_findings {
    struct kvmig_finding *v;
    size_t n;
};

/* Adds one. object, message are formats' results made by the caller with kvmig__asprintf or literals: all are copied.
 * detail may be NULL. */
struct kvmig_finding *kvmig__findings_add(struct kvmig_findings *list, const char *code, int32_t severity,
                                          const char *object, const char *host, const char *detail, const char *hint,
                                          const char *message_fmt, ...) KVMIG__PRINTF(8, 9);
/* Unit tests look at each finding that is added, and each link of an explanation (tests/unit/check_codes.c), set before any thread starts; NULL in the library. */
extern void (*kvmig__findings_hook)(const char *code, int32_t severity);
void kvmig__findings_append(struct kvmig_findings *dst, const struct kvmig_findings *src); /* copies */
void kvmig__findings_sort(struct kvmig_findings *list); /* worst first, stable */
int32_t kvmig__findings_worst(const struct kvmig_findings *list); /* severity, 0 if empty */
bool kvmig__findings_has(const struct kvmig_findings *list, const char *code);
void kvmig__findings_clear(struct kvmig_findings *list);
void kvmig__finding_copy(struct kvmig_finding *dst, const struct kvmig_finding *src);
void kvmig__finding_clear(struct kvmig_finding *finding);

/* Detail writer: detail = {"key": value, ...}. */
struct kvmig__detail {
    char *text; /* grows; kvmig__detail_take() closes and hands it over */
    size_t n; /* members so far */
};
void kvmig__detail_str(struct kvmig__detail *d, const char *key, const char *value); /* NULL value = null */
void kvmig__detail_uint(struct kvmig__detail *d, const char *key, uint64_t value);
void kvmig__detail_list(struct kvmig__detail *d, const char *key, const struct kvmig__strlist *values);
char *kvmig__detail_take(struct kvmig__detail *d); /* owned JSON text */

#endif
