/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvirt's last error as one of ours. Does: choose the code that tells a caller what to do, keep libvirt's own words and
 * numbers as evidence. Does not: judge migrations (classify.c knows the causes). Runs on the thread of the failed call,
 * right after it, because libvirt keeps its last error per thread. The result is the caller's.
 */
#include "libvirt/classify.h"
#include "libvirt/libvirt_internal.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <stdlib.h>

static int32_t code_for(int32_t cause)
{
    switch (cause) {
    case KVMIG__CAUSE_CONNECT:
    case KVMIG__CAUSE_LINK_LOST:
    case KVMIG__CAUSE_TLS:
        return -KVMIG_EUNREACHABLE;
    case KVMIG__CAUSE_ACCESS:
        return -EACCES;
    default:
        return -KVMIG_EVIRT;
    }
}

struct kvmig_error *kvmig__virt_error(const char *host, const char *call, const char *hint)
{
    const virError *last = virGetLastError();
    const char *text = last && last->message ? last->message : "libvirt gave no reason";
    const int32_t cause = last ? kvmig__virt_cause(last->code, last->domain, text) : KVMIG__CAUSE_OTHER;
    char *where = host ? kvmig__asprintf("%s: %s", host, call) : kvmig__strdup(call);
    char *evidence =
        kvmig__asprintf("%s (libvirt error %d from domain %d)", text, last ? last->code : 0, last ? last->domain : 0);
    struct kvmig_error *error = kvmig__error_new(
        code_for(cause), where, evidence, hint ? hint : kvmig__virt_cause_hint(cause), "%s failed: %s", call, text);

    free(where);
    free(evidence);
    return error;
}
