/* SPDX-License-Identifier: MIT-0 */
/*
 * --request FILE: a JSON object that says what is asked for, for programs that do not want to build a command line. Keys that a
 * command has no use for are ignored, so that one file can serve several commands.
 *
 *   backend                           "libvirt" or "kubevirt": what a plain number of options.bandwidth is
 *   target, source                    as the options
 *   exclude                           hosts that must not be the target
 *   target_labels                     as the option
 *   observed.links                    {HOST: BITS_PER_S}: what migrations to it reach
 *   hosts                             {HOST: [FILE, ...]}: which of the files tell of which libvirt host
 *   volume_changes                    [{"volume": NAME, "to": CLAIM}]
 *   options.flags                     libvirt's migrate flags, without VIR_MIGRATE_
 *   options.migrate_disks             target devices of the disks to copy
 *   options.migrate_uri, options.tls_destination
 *   options.postcopy, options.tls     booleans
 *   options.bandwidth                 MiB/s (libvirt), or a Kubernetes quantity of bytes/s, rounded to MiB/s
 *   options.max_downtime_ms, options.parallel
 *   policy.allow_postcopy, policy.allow_auto_converge
 *   policy.max_downtime_ms, policy.completion_timeout_s_per_gib      for the forecast
 *   observed.memory_bytes, observed.link_bits_per_s, observed.dirty_bits_per_s
 *   observed.now                      the time of the question (RFC 3339)
 *
 * A value that cannot be used blocks the plan, as the library's own checks of options do: notes with the codes of docs/findings.md.
 */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MAX_DOWNTIME_MS 2000000 /* QEMU's, as --max-downtime */
#define MAX_PARALLEL 255
#define PREFIX "VIR_MIGRATE_"

/* A text of our own that lives as long as the request. */
static const char *keep(struct json_object *request, const char *first, const char *between, const char *second)
{
    struct json_object *words = json_member(request, "words");
    char *word = NULL;

    if (!words) {
        words = json_object_new_array();
        json_object_object_add(request, "words", words);
    }
    if (asprintf(&word, "%s%s%s", first, between, second) < 0)
        abort();
    json_object_array_add(words, json_object_new_string(word));
    free(word);
    return json_object_get_string(json_list_at(words, json_list_length(words) - 1));
}

/* Consent that cannot be read is no consent, but said. */
static void take_flag(struct settings *settings, struct json_object *object, const char *of, const char *key,
                      uint64_t flag)
{
    struct json_object *value = json_member(object, key);
    char name[64];

    snprintf(name, sizeof(name), "%s.%s", of, key);
    if (value && !json_object_is_type(value, json_type_boolean))
        request_refuse(settings, name, value, "Write true or false, or leave it out.");
    if (json_true(object, key))
        settings->plan_flags |= flag;
}

static void take_text(struct settings *settings, struct json_object *options, const char *key, const char **slot)
{
    struct json_object *value = json_member(options, key);
    char name[64];

    if (!value || *slot)
        return;
    if (json_text(options, key) && *json_text(options, key)) {
        *slot = json_text(options, key);
        return;
    }
    snprintf(name, sizeof(name), "options.%s", key);
    request_refuse(settings, name, value, "Give a text that is not empty, or leave it out.");
}

/* A list of texts; what it holds beside is refused. */
static void take_texts(struct settings *settings, struct json_object *options, const char *name, const char *prefix,
                       const char *hint, struct text_list *out)
{
    const char *dot = strchr(name, '.');
    struct json_object *list = json_member(options, dot ? dot + 1 : name);

    if (list && !json_object_is_type(list, json_type_array))
        request_refuse(settings, name, list, hint);
    for (size_t i = 0; i < json_list_length(list); i++) {
        struct json_object *value = json_list_at(list, i);
        const char *text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";

        if (prefix && strncmp(text, prefix, strlen(prefix)) == 0)
            text += strlen(prefix);
        if (*text)
            text_list_add(out, text);
        else
            request_refuse(settings, name, value, hint);
    }
}

static void take_options(struct settings *settings, struct json_object *options, const char *backend)
{
    struct json_object *bandwidth = json_member(options, "bandwidth");

    if (bandwidth && !settings->bandwidth_mib)
        request_bandwidth(settings, bandwidth, backend);
    request_number(settings, options, "max_downtime_ms", MAX_DOWNTIME_MS, &settings->max_downtime_ms);
    request_number(settings, options, "parallel", MAX_PARALLEL, &settings->parallel);
    take_flag(settings, options, "options", "postcopy", KVMIG_PLAN_ALLOW_POSTCOPY);
    take_flag(settings, options, "options", "tls", KVMIG_PLAN_TLS);
    take_text(settings, options, "migrate_uri", &settings->migrate_uri);
    take_text(settings, options, "tls_destination", &settings->tls_destination);
    take_texts(settings, options, "options.flags", PREFIX,
               "Give names of libvirt's flags, such as [\"LIVE\", \"PEER2PEER\"].", &settings->libvirt_flags);
    take_texts(settings, options, "options.migrate_disks", NULL, "Give target devices of disks, such as [\"vda\"].",
               &settings->copy_disks);
}

static void take_volumes(struct settings *settings, struct json_object *request)
{
    struct json_object *list = json_member(request, "volume_changes");

    for (size_t i = 0; i < json_list_length(list); i++) {
        struct json_object *entry = json_list_at(list, i);
        const char *volume = json_text(entry, "volume"), *claim = json_text(entry, "to");

        if (volume && claim)
            text_list_add(&settings->volumes, keep(request, volume, "=", claim));
        else
            request_refuse(settings, "volume_changes", entry, "Each entry is {\"volume\": NAME, \"to\": CLAIM}.");
    }
}

/* ---- hosts ---- */

/* The one host of two that is not the target. */
static const char *other_host(struct json_object *hosts, const char *target)
{
    const char *other = NULL;

    if (!json_object_is_type(hosts, json_type_object) || !target)
        return NULL;
    json_object_object_foreach(hosts, host, files)
    {
        (void)files;
        if (strcmp(host, target) == 0)
            continue;
        if (other)
            return NULL;
        other = host;
    }
    return other;
}

static void take_hosts(struct settings *settings, struct json_object *request)
{
    static const char hint[] = "Write {\"HOST\": [\"FILE\", ...]}.";
    struct json_object *hosts = json_member(request, "hosts");

    if (!settings->source)
        settings->source = other_host(hosts, settings->target);
    if (settings->target && *settings->target)
        text_list_add(&settings->file_hosts, settings->target);
    if (!hosts)
        return;
    json_object_object_foreach(hosts, host, files)
    {
        if (!*host || strchr(host, '=') || !json_object_is_type(files, json_type_array)) {
            request_refuse(settings, "hosts", files, hint);
            continue;
        }
        if (!settings->target || strcmp(host, settings->target) != 0)
            text_list_add(&settings->file_hosts, host);
        for (size_t i = 0; i < json_list_length(files); i++) {
            struct json_object *file = json_list_at(files, i);

            if (json_object_is_type(file, json_type_string) && *json_object_get_string(file))
                text_list_add(&settings->file_hosts, keep(request, host, "=", json_object_get_string(file)));
            else
                request_refuse(settings, "hosts", file, hint);
        }
    }
}

static void take_observed(struct settings *settings, struct json_object *observed)
{
    struct json_object *now = json_member(observed, "now");

    if (now && !request_time(json_text(observed, "now"), &settings->now_ms))
        request_refuse(settings, "observed.now", now, "Give a time such as \"2026-01-05T00:00:00Z\".");
}

/* ---- for the forecast ---- */

#define MOST_BITS 1000000000000000000 /* what is more is no measurement */

/* A number that cannot be used is as good as none, but said. */
static uint64_t measured(struct settings *settings, struct json_object *object, const char *of, const char *key)
{
    struct json_object *value = json_member(object, key);
    const double number = value ? json_object_get_double(value) : -1;
    char name[64];

    if (!value)
        return UINT64_MAX;
    if ((json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double)) && number >= 0 &&
        number <= MOST_BITS)
        return (uint64_t)number;
    snprintf(name, sizeof(name), "%s.%s", of, key);
    request_refuse(settings, name, value, "Give a number that is not negative.");
    return UINT64_MAX;
}

static void take_links(struct settings *settings, struct json_object *request, struct json_object *observed)
{
    static const char hint[] = "Write {\"HOST\": BITS_PER_S}, more than 0.";
    struct json_object *links = json_member(observed, "links");

    if (links && !json_object_is_type(links, json_type_object))
        request_refuse(settings, "observed.links", links, hint);
    if (!json_object_is_type(links, json_type_object))
        return;
    json_object_object_foreach(links, host, value)
    {
        const bool number = json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
        const double bits = number ? json_object_get_double(value) : 0;
        char mib[64];

        if (!*host || !(bits >= 8) || bits > 1e15) {
            request_refuse(settings, "observed.links", value, hint);
            continue;
        }
        snprintf(mib, sizeof(mib), "%.9f", bits / 8 / 1048576);
        text_list_add(&settings->links, keep(request, host, "=", mib));
    }
}

static void take_measured(struct settings *settings, struct json_object *observed)
{
    const uint64_t memory = measured(settings, observed, "observed", "memory_bytes"),
                   link = measured(settings, observed, "observed", "link_bits_per_s"),
                   dirty = measured(settings, observed, "observed", "dirty_bits_per_s");

    settings->observed_memory = memory == UINT64_MAX ? 0 : memory;
    settings->observed_link = link == UINT64_MAX ? 0 : link / 8;
    settings->observed_dirty = dirty == UINT64_MAX ? 0 : dirty / 8 + 1;
}

/* What the policy does not mention is neither ruled out nor asked for. */
static void take_policy(struct settings *settings, struct json_object *policy)
{
    static const struct {
        const char *key;
        uint64_t bit;
    } permissions[] = { { "allow_auto_converge", KVMIG_FORBID_AUTO_CONVERGE },
                        { "allow_postcopy", KVMIG_FORBID_POST_COPY } };
    const uint64_t ceiling = measured(settings, policy, "policy", "max_downtime_ms"),
                   completion = measured(settings, policy, "policy", "completion_timeout_s_per_gib");

    for (size_t i = 0; i < sizeof(permissions) / sizeof(permissions[0]); i++) {
        struct json_object *value = json_member(policy, permissions[i].key);

        if (json_object_is_type(value, json_type_boolean) && !json_object_get_boolean(value))
            settings->forbid |= permissions[i].bit;
    }
    settings->downtime_ceiling_ms = ceiling == UINT64_MAX ? 0 : ceiling;
    settings->completion_s_per_gib = completion == UINT64_MAX ? 0 : completion;
}

/* ---- all ---- */

static struct text_list list_copy(const struct text_list *list)
{
    struct text_list copy = { NULL, 0 };

    for (size_t i = 0; i < list->n; i++)
        text_list_add(&copy, list->v[i]);
    return copy;
}

void request_begin(struct settings *asked)
{
    asked->volumes = list_copy(&asked->volumes);
    asked->copy_disks = list_copy(&asked->copy_disks);
    asked->exclude = list_copy(&asked->exclude);
    asked->links = list_copy(&asked->links);
    asked->libvirt_flags = list_copy(&asked->libvirt_flags);
    asked->file_hosts = list_copy(&asked->file_hosts);
}

void request_end(struct settings *asked)
{
    free(asked->volumes.v);
    free(asked->copy_disks.v);
    free(asked->exclude.v);
    free(asked->links.v);
    free(asked->libvirt_flags.v);
    free(asked->file_hosts.v);
}

int request_read(const struct command *command, struct settings *settings, struct json_object **out_request)
{
    struct json_object *request, *policy;

    *out_request = NULL;
    if (!settings->request_path) {
        if (settings->target)
            text_list_add(&settings->file_hosts, settings->target);
        return 0;
    }
    request = request_load(command, settings->request_path);
    if (!request)
        return EXIT_USAGE;
    *out_request = request;
    json_object_object_del(request, "words");
    settings->notes = json_object_new_array();
    json_object_object_add(request, "notes", settings->notes); /* which keeps them */
    policy = json_member(request, "policy");
    if (!settings->source)
        settings->source = json_text(request, "source");
    if (!settings->target)
        settings->target = json_text(request, "target");
    if (!settings->target_labels)
        settings->target_labels = json_text(request, "target_labels");
    take_texts(settings, request, "exclude", NULL, "Give names of hosts.", &settings->exclude);
    if (json_text(request, "intent") && !strcmp(json_text(request, "intent"), "drain"))
        settings->plan_flags |= KVMIG_PLAN_FOR_DRAIN;
    take_flag(settings, policy, "policy", "allow_postcopy", KVMIG_PLAN_ALLOW_POSTCOPY);
    take_flag(settings, policy, "policy", "allow_auto_converge", KVMIG_PLAN_AUTO_CONVERGE);
    take_options(settings, json_member(request, "options"), json_text(request, "backend"));
    take_volumes(settings, request);
    take_hosts(settings, request);
    take_observed(settings, json_member(request, "observed"));
    take_measured(settings, json_member(request, "observed"));
    take_links(settings, request, json_member(request, "observed"));
    take_policy(settings, policy);
    return 0;
}
