/* SPDX-License-Identifier: MIT-0 */
/*
 * --request FILE: a JSON object that says what is asked for, for programs that do not want to build a command line. Keys that a
 * command has no use for are ignored, so that one file can serve several commands.
 *
 *   target, source                    as the options
 *   volume_changes                    [{"volume": NAME, "to": CLAIM}]
 *   options.postcopy, options.tls     booleans
 *   options.bandwidth                 MiB/s (libvirt), or a Kubernetes quantity of bytes/s, rounded up to MiB/s
 *   options.max_downtime_ms, options.parallel
 *   policy.allow_postcopy, policy.allow_auto_converge
 *
 * A value that cannot be used blocks the plan, as the library's own checks of options do: notes with the codes of docs/findings.md.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MIB 1048576.0
#define MAX_BYTES 4.5e15 /* 2^32 MiB/s */
#define MAX_DOWNTIME_MS 2000000 /* QEMU's, as --max-downtime */
#define MAX_PARALLEL 255

static void explain(const struct command *command, const struct settings *settings, const char *what)
{
    complain("%s: --request %s: %s", command->name, settings->request_path, what);
}

/* ---- notes ---- */

/* detail and message are taken. */
static void add_note(const struct settings *settings, const char *code, int32_t severity, struct json_object *detail,
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

static struct json_object *detail_of(const char *option, struct json_object *value)
{
    struct json_object *detail = json_object_new_object();

    json_object_object_add(detail, "option", json_object_new_string(option));
    json_object_object_add(detail, "value", json_object_get(value));
    return detail;
}

static void refuse(const struct settings *settings, const char *option, struct json_object *value, const char *hint)
{
    char *message = NULL;

    if (asprintf(&message, "%s: %s of the request cannot be used.", option, json_object_to_json_string(value)) < 0)
        abort();
    add_note(settings, "INVALID_ARGUMENT", KVMIG_SEVERITY_BLOCKER, detail_of(option, value), hint, message);
}

static void note_rounded(const struct settings *settings, struct json_object *value, uint64_t mib)
{
    struct json_object *detail = detail_of("options.bandwidth", value);
    char *message = NULL;

    json_object_object_add(detail, "mib_per_s", json_object_new_uint64(mib));
    if (asprintf(&message, "The bandwidth %s is not a whole number of MiB/s; %llu MiB/s is used.",
                 json_object_get_string(value), (unsigned long long)mib) < 0)
        abort();
    add_note(settings, "BANDWIDTH_ROUNDED", KVMIG_SEVERITY_INFO, detail,
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

/* 0 is no limit, so that a limit, however low, must not become 0. */
static uint64_t whole_mib(double bytes)
{
    uint64_t mib = (uint64_t)(bytes / MIB);

    return (double)mib * MIB < bytes ? mib + 1 : mib;
}

/* Plain numbers are MiB/s, as libvirt's parameter is; quantities are bytes/s. */
static void take_bandwidth(struct settings *settings, struct json_object *value)
{
    double bytes;

    if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0 &&
        json_object_get_int64(value) <= UINT32_MAX) {
        settings->bandwidth_mib = json_object_get_uint64(value);
        return;
    }
    if (!json_object_is_type(value, json_type_string) || !read_quantity(value, &bytes)) {
        refuse(settings, "options.bandwidth", value,
               "Give a number of MiB/s, or a quantity of bytes/s such as \"64Mi\".");
        return;
    }
    settings->bandwidth_mib = whole_mib(bytes);
    if ((double)settings->bandwidth_mib * MIB > bytes)
        note_rounded(settings, value, settings->bandwidth_mib);
}

static void take_number(struct settings *settings, struct json_object *options, const char *key, uint64_t max,
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
    refuse(settings, name, value, hint);
}

static void take_flag(struct json_object *object, const char *key, struct settings *settings, uint64_t flag)
{
    if (json_true(object, key))
        settings->plan_flags |= flag;
}

static void take_options(struct settings *settings, struct json_object *options)
{
    struct json_object *bandwidth = json_member(options, "bandwidth");

    if (bandwidth && !settings->bandwidth_mib)
        take_bandwidth(settings, bandwidth);
    take_number(settings, options, "max_downtime_ms", MAX_DOWNTIME_MS, &settings->max_downtime_ms);
    take_number(settings, options, "parallel", MAX_PARALLEL, &settings->parallel);
    take_flag(options, "postcopy", settings, KVMIG_PLAN_ALLOW_POSTCOPY);
    take_flag(options, "tls", settings, KVMIG_PLAN_TLS);
}

static void take_volumes(struct settings *settings, struct json_object *list)
{
    for (size_t i = 0; i < json_list_length(list); i++) {
        struct json_object *entry = json_list_at(list, i);
        const char *volume = json_text(entry, "volume"), *claim = json_text(entry, "to");
        char *word = NULL;

        if (!volume || !claim) {
            refuse(settings, "volume_changes", entry, "Each entry is {\"volume\": NAME, \"to\": CLAIM}.");
            continue;
        }
        if (asprintf(&word, "%s=%s", volume, claim) < 0)
            abort();
        json_object_object_add(entry, "word", json_object_new_string(word)); /* which keeps the text */
        free(word);
        text_list_add(&settings->volumes, json_text(entry, "word"));
    }
}

/* ---- the file ---- */

static struct json_object *load(const struct command *command, const struct settings *settings)
{
    struct json_object *request = json_object_from_file(settings->request_path);

    if (!request)
        explain(command, settings, errno ? strerror(errno) : "is not JSON");
    else if (!json_object_is_type(request, json_type_object)) {
        explain(command, settings, "is no JSON object");
        json_object_put(request);
        request = NULL;
    }
    return request;
}

int request_read(const struct command *command, struct settings *settings, struct json_object **out_request)
{
    struct json_object *request, *policy;

    *out_request = NULL;
    if (!settings->request_path)
        return 0;
    errno = 0;
    request = load(command, settings);
    if (!request)
        return EXIT_USAGE;
    *out_request = request;
    settings->notes = json_object_new_array();
    json_object_object_add(request, "notes", settings->notes); /* which keeps them */
    policy = json_member(request, "policy");
    if (!settings->source)
        settings->source = json_text(request, "source");
    if (!settings->target)
        settings->target = json_text(request, "target");
    take_flag(policy, "allow_postcopy", settings, KVMIG_PLAN_ALLOW_POSTCOPY);
    take_flag(policy, "allow_auto_converge", settings, KVMIG_PLAN_AUTO_CONVERGE);
    take_options(settings, json_member(request, "options"));
    take_volumes(settings, json_member(request, "volume_changes"));
    return 0;
}
