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
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MIB ((uint64_t)1024 * 1024)

static int explain(const struct command *command, const struct settings *settings, const char *what)
{
    complain("%s: --request %s: %s", command->name, settings->request_path, what);
    return EXIT_USAGE;
}

/* "64Mi", "1G", 1000000 */
static bool read_quantity(struct json_object *value, uint64_t *out_bytes)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = { { "", 1 },           { "k", 1e3 },           { "M", 1e6 },
                  { "G", 1e9 },        { "T", 1e12 },          { "Ki", 1024.0 },
                  { "Mi", 1048576.0 }, { "Gi", 1073741824.0 }, { "Ti", 1099511627776.0 } };
    const char *text = json_object_get_string(value);
    char *end = NULL;
    double number = text ? strtod(text, &end) : -1;

    if (!text || end == text || number < 0)
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(end, units[i].suffix) == 0 && number * units[i].factor < 1e18) {
            *out_bytes = (uint64_t)(number * units[i].factor);
            return true;
        }
    return false;
}

/* Plain small numbers are MiB/s, as libvirt's parameter is; quantities are bytes/s. */
static bool read_bandwidth(struct json_object *value, uint64_t *out_mib)
{
    uint64_t bytes;

    if (json_object_is_type(value, json_type_int)) {
        *out_mib = json_object_get_uint64(value);
        return json_object_get_int64(value) >= 0;
    }
    if (!read_quantity(value, &bytes))
        return false;
    *out_mib = bytes / MIB + (bytes % MIB ? 1 : 0);
    return true;
}

static void take_flag(struct json_object *object, const char *key, struct settings *settings, uint64_t flag)
{
    if (json_true(object, key))
        settings->plan_flags |= flag;
}

static int take_options(const struct command *command, struct settings *settings, struct json_object *options)
{
    struct json_object *bandwidth = json_member(options, "bandwidth");
    const uint64_t downtime = json_number(options, "max_downtime_ms"), parallel = json_number(options, "parallel");

    if (bandwidth && !settings->bandwidth_mib && !read_bandwidth(bandwidth, &settings->bandwidth_mib))
        return explain(command, settings, "options.bandwidth is neither MiB/s nor a quantity such as \"64Mi\"");
    if (downtime != UINT64_MAX && !settings->max_downtime_ms)
        settings->max_downtime_ms = downtime;
    if (parallel != UINT64_MAX && parallel <= 255 && !settings->parallel)
        settings->parallel = parallel;
    take_flag(options, "postcopy", settings, KVMIG_PLAN_ALLOW_POSTCOPY);
    take_flag(options, "tls", settings, KVMIG_PLAN_TLS);
    return 0;
}

static int take_volumes(const struct command *command, struct settings *settings, struct json_object *list)
{
    for (size_t i = 0; i < json_list_length(list); i++) {
        struct json_object *entry = json_list_at(list, i);
        const char *volume = json_text(entry, "volume"), *claim = json_text(entry, "to");
        char *word = NULL;

        if (!volume || !claim)
            return explain(command, settings, "an entry of volume_changes has no \"volume\" or no \"to\"");
        if (asprintf(&word, "%s=%s", volume, claim) < 0)
            abort();
        json_object_object_add(entry, "word", json_object_new_string(word)); /* which keeps the text */
        free(word);
        text_list_add(&settings->volumes, json_text(entry, "word"));
    }
    return 0;
}

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
    int code;

    *out_request = NULL;
    if (!settings->request_path)
        return 0;
    errno = 0;
    request = load(command, settings);
    if (!request)
        return EXIT_USAGE;
    *out_request = request;
    policy = json_member(request, "policy");
    if (!settings->source)
        settings->source = json_text(request, "source");
    if (!settings->target)
        settings->target = json_text(request, "target");
    take_flag(policy, "allow_postcopy", settings, KVMIG_PLAN_ALLOW_POSTCOPY);
    take_flag(policy, "allow_auto_converge", settings, KVMIG_PLAN_AUTO_CONVERGE);
    code = take_options(command, settings, json_member(request, "options"));
    return code ? code : take_volumes(command, settings, json_member(request, "volume_changes"));
}
