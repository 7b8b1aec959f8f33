/* SPDX-License-Identifier: MIT-0 */
/*
 * Reading the values of a request (request.c): quantities, numbers, times. A value that cannot be used becomes a note of the request.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool.h"

#define MIB 1048576.0
#define MAX_BYTES 4.5e15 /* 2^32 MiB/s */

/* ---- notes ---- */

/* detail and message are taken. */
void request_note(const struct settings *settings, const char *code, int32_t severity, struct json_object *detail,
                  const char *hint, char *message)
{
    struct json_object *note = json_object_new_object();

    json_object_object_add(note, "code", json_object_new_string(code));
    json_object_object_add(note, "severity", json_object_new_string(kvmig_severity_name(severity)));
    json_object_object_add(note, "object", json_object_new_string("request"));
    json_object_object_add(note, "message", json_object_new_string(message));
    json_object_object_add(note, "detail", detail);
    json_object_object_add(note, "hint", json_object_new_string(hint));
    json_object_array_add(settings->notes, note);
    free(message);
}

struct json_object *request_detail(const char *option, struct json_object *value)
{
    struct json_object *detail = json_object_new_object();

    json_object_object_add(detail, "option", json_object_new_string(option));
    json_object_object_add(detail, "value", json_object_get(value));
    return detail;
}

void request_refuse(const struct settings *settings, const char *option, struct json_object *value, const char *hint)
{
    char *message = NULL;

    if (asprintf(&message, "%s: %s of the request cannot be used.", option, json_object_to_json_string(value)) < 0)
        abort();
    request_note(settings, "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER, request_detail(option, value), hint, message);
}

static void note_rounded(const struct settings *settings, struct json_object *value, uint64_t mib)
{
    struct json_object *detail = request_detail("options.bandwidth", value);
    char *message = NULL;

    json_object_object_add(detail, "mib_per_s", json_object_new_uint64(mib));
    if (asprintf(&message, "The bandwidth %s is less than the least limit there is; %llu MiB/s is used.",
                 json_object_get_string(value), (unsigned long long)mib) < 0)
        abort();
    request_note(settings, "BANDWIDTH_ROUNDED", KVMIG_SEVERITY_INFO, detail,
                 "Ask for whole MiB/s, which is what the hypervisor's limit is set in.", message);
}

/* ---- values ---- */

/* Of a Kubernetes quantity: "64Mi", "1G", "1500m", 1000000. */
static bool read_quantity(struct json_object *value, double *out_bytes)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = { { "", 1 },
                  { "m", 1e-3 },
                  { "k", 1e3 },
                  { "M", 1e6 },
                  { "G", 1e9 },
                  { "T", 1e12 },
                  { "P", 1e15 },
                  { "Ki", 1024.0 },
                  { "Mi", 1048576.0 },
                  { "Gi", 1073741824.0 },
                  { "Ti", 1099511627776.0 },
                  { "Pi", 1125899906842624.0 } };
    const char *text = json_object_get_string(value);
    char *end = NULL;
    double number;

    /* strtod() would take more than a quantity may be: blanks, signs, "inf", hexadecimal. */
    if (!text || !isdigit((unsigned char)text[0]) || text[strspn(text, "0123456789.eEmkKMGTPi")])
        return false;
    number = strtod(text, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(end, units[i].suffix) == 0 && number * units[i].factor < MAX_BYTES) {
            *out_bytes = number * units[i].factor;
            return true;
        }
    return false;
}

/* 0 is no limit, so that a limit, however low, must not become 0. Others are rounded as KubeVirt does. */
static uint64_t whole_mib(double bytes)
{
    return bytes > 0 && bytes < MIB ? 1 : (uint64_t)(bytes / MIB + 0.5);
}

static bool read_mib(struct json_object *value, uint64_t *out_mib)
{
    const char *text = json_object_get_string(value);
    char *end = NULL;
    unsigned long long number;

    if (!text || !isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno || *end || number > UINT32_MAX)
        return false;
    *out_mib = number;
    return true;
}

/* libvirt's parameter counts MiB/s, KubeVirt's is a quantity of bytes/s. Where the request does not say whose it is, a plain number is
 * the former, and text the latter. */
void request_bandwidth(struct settings *settings, struct json_object *value, const char *backend)
{
    const bool number = json_object_is_type(value, json_type_int), text = json_object_is_type(value, json_type_string);
    const bool libvirt = backend ? strcmp(backend, "libvirt") == 0 : number;
    double bytes;
    bool plain;

    if (libvirt && (number || text) && read_mib(value, &settings->bandwidth_mib))
        return;
    /* Half a MiB/s is none, and surely not half a byte/s. */
    plain = text && !json_object_get_string(value)[strspn(json_object_get_string(value), "0123456789.")];
    if ((!text && !(number && !libvirt)) || (libvirt && plain) || !read_quantity(value, &bytes)) {
        request_refuse(settings, "options.bandwidth", value,
                       "Give a number of MiB/s, or a quantity of bytes/s such as \"64Mi\".");
        return;
    }
    settings->bandwidth_mib = whole_mib(bytes);
    if (bytes > 0 && bytes < MIB)
        note_rounded(settings, value, settings->bandwidth_mib);
}

void request_number(struct settings *settings, struct json_object *options, const char *key, uint64_t max,
                    uint64_t *slot)
{
    struct json_object *value = json_member(options, key);
    char name[64], hint[64];

    if (!value || *slot)
        return;
    if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0 &&
        json_object_get_uint64(value) <= max) {
        *slot = json_object_get_uint64(value);
        return;
    }
    snprintf(name, sizeof(name), "options.%s", key);
    snprintf(hint, sizeof(hint), "Give a whole number from 0 to %llu.", (unsigned long long)max);
    request_refuse(settings, name, value, hint);
}

/* ---- times ---- */

/* "+01:00" and "Z": minutes to be taken off. */
static bool read_offset(const char *text, int *out_minutes)
{
    int hours, minutes, used = 0;

    *out_minutes = 0;
    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0)
        return true;
    if ((*text != '+' && *text != '-') || sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || text[1 + used])
        return false;
    *out_minutes = (hours * 60 + minutes) * (*text == '-' ? -1 : 1);
    return true;
}

bool request_time(const char *text, int64_t *out_ms)
{
    struct tm tm = { .tm_year = 0 };
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    int minutes;

    if (!rest)
        return false;
    if (*rest == '.') /* fractions are finer than anything here */
        rest += 1 + strspn(rest + 1, "0123456789");
    if (!read_offset(rest, &minutes))
        return false;
    *out_ms = ((int64_t)timegm(&tm) - (int64_t)minutes * 60) * 1000;
    return *out_ms > 0;
}
