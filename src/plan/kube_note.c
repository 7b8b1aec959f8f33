/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small helpers for the KubeVirt planner's checks: a finding in one call, the names of objects, amounts as text, and what version
 * and gates the cluster has. Pure; any thread. What is passed as owned is freed here.
 */
#include "plan/kube_checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void kvmig__kube_note(const struct kvmig__kube_check *c, const char *code, int32_t severity, char *object,
                      struct kvmig__detail *detail, const char *hint, const char *message_fmt, ...)
{
    va_list args;
    char *message, *text = detail ? kvmig__detail_take(detail) : NULL;

    va_start(args, message_fmt);
    message = kvmig__vasprintf(message_fmt, args);
    va_end(args);
    kvmig__findings_add(c->out, code, severity, object, c->target_name, text, hint, "%s", message);
    free(message);
    free(text);
    free(object);
}

char *kvmig__kube_object_vm(const struct kvmig__kube_check *c)
{
    return kvmig__asprintf("vm/%s/%s", c->vmi->meta.ns ? c->vmi->meta.ns : "default", c->vmi->meta.name);
}

char *kvmig__kube_object_target(const struct kvmig__kube_check *c)
{
    return kvmig__asprintf("node/%s", c->target_name);
}

char *kvmig__kube_object_claim(const struct kvmig__kube_check *c, const char *claim)
{
    return kvmig__asprintf("pvc/%s/%s", c->vmi->meta.ns ? c->vmi->meta.ns : "default", claim);
}

char *kvmig__kube_object_volume(const char *volume)
{
    return kvmig__asprintf("volume/%s", volume ? volume : "?");
}

char *kvmig__amount_text(uint64_t milli)
{
    char digits[8];
    size_t n;

    if (!(milli % 1000))
        return kvmig__asprintf("%" PRIu64, milli / 1000);
    digits[0] = (char)('0' + milli / 100 % 10);
    digits[1] = (char)('0' + milli / 10 % 10);
    digits[2] = (char)('0' + milli % 10);
    for (n = 3; n && digits[n - 1] == '0';)
        n--;
    digits[n] = 0;
    return kvmig__asprintf("%" PRIu64 ".%s", milli / 1000, digits);
}

void kvmig__detail_amount(struct kvmig__detail *d, const char *key, uint64_t milli)
{
    char *text;

    if (!(milli % 1000)) {
        kvmig__detail_uint(d, key, milli / 1000);
        return;
    }
    text = kvmig__amount_text(milli);
    kvmig__detail_str(d, key, text);
    free(text);
}

int32_t kvmig__kubevirt_is_at_least(const struct kvmig__kube_check *c, uint64_t major, uint64_t minor)
{
    const char *text = c->kubevirt ? c->kubevirt->version : NULL;
    unsigned long long have_major, have_minor;
    char *end;

    if (!text)
        return -1;
    text += *text == 'v';
    have_major = strtoull(text, &end, 10);
    if (end == text || *end != '.')
        return -1;
    text = end + 1;
    have_minor = strtoull(text, &end, 10);
    if (end == text)
        return -1;
    return have_major != major ? have_major > major : have_minor >= minor;
}

bool kvmig__kubevirt_gate(const struct kvmig__kube_check *c, const char *gate)
{
    return kvmig__kube_gate(c->kubevirt, gate);
}

const char *kvmig__after_prefix(const char *text, const char *prefix)
{
    return kvmig__str_starts(text, prefix) ? text + strlen(prefix) : NULL;
}

bool kvmig__kube_has_label(const struct kvmig__kube_node *node, const char *prefix)
{
    size_t at = 0;

    return node && kvmig__pairs_next(&node->meta.labels, prefix, &at);
}

const char *kvmig__kube_cpu_model(const struct kvmig__kube_check *c)
{
    if (c->vmi->domain.cpu_model && *c->vmi->domain.cpu_model)
        return c->vmi->domain.cpu_model;
    if (c->kubevirt && c->kubevirt->cpu_model && *c->kubevirt->cpu_model)
        return c->kubevirt->cpu_model;
    return "host-model";
}
