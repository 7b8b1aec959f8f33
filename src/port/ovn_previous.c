/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What stood in a logical port before it was prepared, as one line of text beside the owner token, so that another
 * process can put it back:
 *
 *     kvmig1;requested=hv1;strategy=rarp;source=hv1;target=hv2;activation=rarp;since=1700000000000
 *
 * What was absent is absent. A value is plain ASCII; what could be mistaken is written as %XX. Keys that are not
 * known are skipped, so that a newer library may add some. Everything else that is not of this form is damaged.
 * Pure; any thread.
 */
#include "port/ovn.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "kvmig1"

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr(".,_:-", c));
}

static char *escape(const char *value)
{
    static const char hex[] = "0123456789ABCDEF";
    char *text = kvmig__calloc(strlen(value) * 3 + 1, 1), *out = text;

    for (const char *p = value; *p; p++) {
        if (is_plain(*p)) {
            *out++ = *p;
        } else {
            *out++ = '%';
            *out++ = hex[(unsigned char)*p >> 4];
            *out++ = hex[(unsigned char)*p & 15];
        }
    }
    return text;
}

static void add(struct kvmig__strlist *parts, const char *key, const char *value)
{
    char *escaped, *part;

    if (!value)
        return;
    escaped = escape(value);
    part = kvmig__asprintf("%s=%s", key, escaped);
    kvmig__strlist_add(parts, part);
    free(part);
    free(escaped);
}

char *kvmig__ovn_previous_write(const struct kvmig__ovn_previous *previous)
{
    struct kvmig__strlist parts = { 0 };
    char *text, *since = kvmig__asprintf("%" PRId64, previous->since_ms);

    kvmig__strlist_add(&parts, MAGIC);
    add(&parts, "requested", previous->requested_chassis);
    add(&parts, "strategy", previous->activation_strategy);
    add(&parts, "source", previous->source);
    add(&parts, "target", previous->target);
    add(&parts, "activation", previous->activation);
    add(&parts, "since", since);
    text = kvmig__strlist_join(&parts, ";");
    kvmig__strlist_clear(&parts);
    free(since);
    return text;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* NULL: not what escape() makes. */
static char *unescape(const char *value, size_t n)
{
    char *text = kvmig__calloc(n + 1, 1), *out = text;

    for (size_t i = 0; i < n; i++) {
        if (is_plain(value[i])) {
            *out++ = value[i];
        } else if (value[i] == '%' && n - i > 2 && hex_digit(value[i + 1]) >= 0 && hex_digit(value[i + 2]) >= 0 &&
                   hex_digit(value[i + 1]) + hex_digit(value[i + 2]) > 0) {
            *out++ = (char)(hex_digit(value[i + 1]) * 16 + hex_digit(value[i + 2]));
            i += 2;
        } else {
            free(text);
            return NULL;
        }
    }
    return text;
}

static bool read_since(const char *text, int64_t *out_ms)
{
    int64_t value = 0;
    size_t digits = 0;

    for (; text[digits] >= '0' && text[digits] <= '9' && digits < 18; digits++)
        value = value * 10 + (text[digits] - '0');
    *out_ms = value;
    return digits > 0 && !text[digits];
}

/* Takes value. false: the key was there before, or its value is damaged. */
static bool set_member(struct kvmig__ovn_previous *p, const char *key, size_t n, char *value, bool *has_since)
{
    struct {
        const char *key;
        char **member;
    } members[] = { { "requested", &p->requested_chassis },
                    { "strategy", &p->activation_strategy },
                    { "source", &p->source },
                    { "target", &p->target },
                    { "activation", &p->activation } };
    bool ok = true;

    for (size_t i = 0; i < KVMIG__N_ELEMENTS(members); i++) {
        if (strlen(members[i].key) != n || strncmp(members[i].key, key, n) != 0)
            continue;
        ok = !*members[i].member;
        if (ok) {
            *members[i].member = value;
            return true;
        }
    }
    if (n == strlen("since") && strncmp(key, "since", n) == 0) {
        ok = !*has_since && read_since(value, &p->since_ms);
        *has_since = true;
    }
    free(value);
    return ok;
}

bool kvmig__ovn_previous_read(const char *text, struct kvmig__ovn_previous *out_previous)
{
    bool has_since = false;

    *out_previous = (struct kvmig__ovn_previous){ 0 };
    if (!text || strncmp(text, MAGIC ";", strlen(MAGIC ";")) != 0)
        return false;
    for (const char *p = text + strlen(MAGIC ";"), *end; p; p = *end ? end + 1 : NULL) {
        size_t key = strcspn(p, "=;");
        char *value;

        end = p + strcspn(p, ";");
        value = key && p[key] == '=' ? unescape(p + key + 1, (size_t)(end - p) - key - 1) : NULL;
        if (!value || !set_member(out_previous, p, key, value, &has_since)) {
            kvmig__ovn_previous_clear(out_previous);
            return false;
        }
    }
    return true;
}

void kvmig__ovn_previous_clear(struct kvmig__ovn_previous *previous)
{
    free(previous->requested_chassis);
    free(previous->activation_strategy);
    free(previous->source);
    free(previous->target);
    free(previous->activation);
    *previous = (struct kvmig__ovn_previous){ 0 };
}
