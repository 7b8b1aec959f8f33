/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists of findings: building, copying, ordering, and the public accessors. Pure: no JSON library, no clock, no lock. A
 * list owns its findings; it is changed only while it is built and immutable once a caller can see it.
 */
#include "base/finding_internal.h"

#include <stdlib.h>

void (*kvmig__findings_hook)(const char *code, int32_t severity);

struct kvmig_finding *kvmig__findings_add(struct kvmig_findings *list, const char *code, int32_t severity,
                                          const char *object, const char *host, const char *detail, const char *hint,
                                          const char *message_fmt, ...)
{
    struct kvmig_finding *finding = KVMIG__PUSH(list);
    va_list args;

    finding->code = kvmig__strdup(code);
    finding->severity = severity;
    finding->object = kvmig__strdup(object);
    finding->host = kvmig__strdup(host);
    finding->detail = kvmig__strdup(detail);
    finding->hint = kvmig__strdup(hint);
    va_start(args, message_fmt);
    finding->message = kvmig__vasprintf(message_fmt, args);
    va_end(args);
    if (kvmig__findings_hook)
        kvmig__findings_hook(code, severity);
    return finding;
}

void kvmig__findings_append(struct kvmig_findings *dst, const struct kvmig_findings *src)
{
    size_t n = src->n; /* src may be dst */

    for (size_t i = 0; i < n; i++) {
        struct kvmig_finding copy = { 0 };

        kvmig__finding_copy(&copy, &src->v[i]);
        *KVMIG__PUSH(dst) = copy;
    }
}

/* Insertion sort: lists are short, and it is stable without a scratch array. */
void kvmig__findings_sort(struct kvmig_findings *list)
{
    for (size_t i = 1; i < list->n; i++) {
        struct kvmig_finding moving = list->v[i];
        size_t j = i;

        for (; j > 0 && list->v[j - 1].severity < moving.severity; j--)
            list->v[j] = list->v[j - 1];
        list->v[j] = moving;
    }
}

int32_t kvmig__findings_worst(const struct kvmig_findings *list)
{
    int32_t worst = 0;

    for (size_t i = 0; i < list->n; i++) {
        if (list->v[i].severity > worst)
            worst = list->v[i].severity;
    }
    return worst;
}

bool kvmig__findings_has(const struct kvmig_findings *list, const char *code)
{
    for (size_t i = 0; i < list->n; i++) {
        if (kvmig__str_eq(list->v[i].code, code))
            return true;
    }
    return false;
}

void kvmig__findings_clear(struct kvmig_findings *list)
{
    for (size_t i = 0; i < list->n; i++)
        kvmig__finding_clear(&list->v[i]);
    free(list->v);
    *list = (struct kvmig_findings){ 0 };
}

void kvmig__finding_copy(struct kvmig_finding *dst, const struct kvmig_finding *src)
{
    struct kvmig_finding copy = {
        .code = kvmig__strdup(src->code),
        .severity = src->severity,
        .object = kvmig__strdup(src->object),
        .host = kvmig__strdup(src->host),
        .message = kvmig__strdup(src->message),
        .detail = kvmig__strdup(src->detail),
        .hint = kvmig__strdup(src->hint),
    };

    *dst = copy;
}

void kvmig__finding_clear(struct kvmig_finding *finding)
{
    free(finding->code);
    free(finding->object);
    free(finding->host);
    free(finding->message);
    free(finding->detail);
    free(finding->hint);
    *finding = (struct kvmig_finding){ 0 };
}

/* ---- public accessors ---- */

size_t kvmig_findings_count(const struct kvmig_findings *findings)
{
    return findings ? findings->n : 0;
}

const struct kvmig_finding *kvmig_findings_get(const struct kvmig_findings *findings, size_t index)
{
    return findings && index < findings->n ? &findings->v[index] : NULL;
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

const char *kvmig_finding_code(const struct kvmig_finding *finding)
{
    return finding ? text_or_empty(finding->code) : "";
}

int32_t kvmig_finding_severity(const struct kvmig_finding *finding)
{
    return finding ? finding->severity : 0;
}

const char *kvmig_finding_object(const struct kvmig_finding *finding)
{
    return finding ? text_or_empty(finding->object) : "";
}

const char *kvmig_finding_host(const struct kvmig_finding *finding)
{
    return finding ? finding->host : NULL;
}

const char *kvmig_finding_message(const struct kvmig_finding *finding)
{
    return finding ? text_or_empty(finding->message) : "";
}

const char *kvmig_finding_detail(const struct kvmig_finding *finding)
{
    return finding ? finding->detail : NULL;
}

const char *kvmig_finding_hint(const struct kvmig_finding *finding)
{
    return finding ? text_or_empty(finding->hint) : "";
}

const char *kvmig_severity_name(int32_t severity)
{
    switch (severity) {
    case KVMIG_SEVERITY_INFO:
        return "info";
    case KVMIG_SEVERITY_WARN:
        return "warn";
    case KVMIG_SEVERITY_ERROR:
        return "error";
    case KVMIG_SEVERITY_BLOCKER:
        return "blocker";
    default:
        return NULL;
    }
}
