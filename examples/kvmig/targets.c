/* SPDX-License-Identifier: MIT-0 */
/*
 * What the command line wants to be probed ("tcp:HOST:PORT", "echo:HOST:PORT", "http://HOST:PORT/PATH"), read and
 * handed to the library as one probe, for kvmig probe and kvmig migrate.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define HTTP_PORT 80

struct target {
    struct kvmig_probe_target opts; /* its texts point into text */
    char *text;
};

/* ---- reading ---- */

static bool read_port(const char *text, uint32_t *out_port)
{
    unsigned long port;
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return false;
    port = strtoul(text, &end, 10);
    *out_port = (uint32_t)port;
    return *end == '\0' && port >= 1 && port <= 65535;
}

/* "HOST:PORT", "[ADDRESS]:PORT"; cuts text into pieces. default_port 0 = one must be given. Returns what is wrong, or
 * NULL. */
static const char *read_address(char *text, uint32_t default_port, struct kvmig_probe_target *target)
{
    char *end = text + strcspn(text, ":");

    target->host = text;
    if (*text == '[') {
        target->host = text + 1;
        end = strchr(text, ']');
        if (!end)
            return "its address has no closing bracket";
        *end++ = '\0';
        if (*end && *end != ':')
            return "only a port may follow the bracket";
    } else if (*end && strchr(end + 1, ':')) {
        return "an IPv6 address is written in brackets: [fd00::1]:80";
    }
    if (!*target->host || end == text)
        return "it names no host";
    if (!*end && default_port) {
        target->port = default_port;
        return NULL;
    }
    if (*end)
        *end++ = '\0';
    return read_port(end, &target->port) ? NULL : "it needs a port from 1 to 65535";
}

static const char *read_url(char *text, struct kvmig_probe_target *target)
{
    char *path = strchr(text, '/');

    if (memchr(text, '@', path ? (size_t)(path - text) : strlen(text)))
        return "a name and password are not supported";
    if (path) {
        /* The slash ends the address and begins the path: make room for both. */
        size_t n = strlen(path) + 1;

        memmove(path + 1, path, n);
        *path = '\0';
        target->path = path + 1;
    }
    return read_address(text, HTTP_PORT, target);
}

static const char *read_target(const char *word, const struct settings *settings, struct target *out)
{
    char *text = calloc(1, strlen(word) + 2); /* one for the end, one for the path's own slash */

    if (!text)
        abort();
    strcpy(text, word);
    out->text = text;
    kvmig_probe_target_init(&out->opts, sizeof(out->opts));
    out->opts.interval_ms = (uint32_t)settings->interval_ms;
    out->opts.timeout_ms = (uint32_t)settings->try_timeout_ms;
    if (strncmp(text, "tcp:", 4) == 0) {
        out->opts.kind = KVMIG_PROBE_TCP_CONNECT;
        return read_address(text + 4, 0, &out->opts);
    }
    if (strncmp(text, "echo:", 5) == 0) {
        out->opts.kind = KVMIG_PROBE_TCP_ECHO;
        return read_address(text + 5, 0, &out->opts);
    }
    if (strncasecmp(text, "http://", 7) == 0) {
        out->opts.kind = KVMIG_PROBE_HTTP_GET;
        return read_url(text + 7, &out->opts);
    }
    return "it is none of tcp:HOST:PORT, echo:HOST:PORT and http://HOST:PORT/PATH";
}

/* ---- opening ---- */

static int make_probe(struct kvmig_context *context, const struct target *targets, const struct settings *settings,
                      struct kvmig_probe **out_probe)
{
    const struct kvmig_probe_target **pointers = calloc(settings->probes.n, sizeof(*pointers));
    struct kvmig_probe_opts opts = KVMIG_PROBE_OPTS_INIT;
    int32_t rc;

    if (!pointers)
        abort();
    for (size_t i = 0; i < settings->probes.n; i++)
        pointers[i] = &targets[i].opts;
    opts.targets = pointers;
    opts.n_targets = settings->probes.n;
    opts.netns = settings->netns;
    rc = kvmig_probe_new(context, &opts, out_probe);
    free(pointers);
    return rc < 0 ? complain_error("cannot probe", NULL) : 0;
}

int targets_open(const struct command *command, struct kvmig_context *context, const struct settings *settings,
                 struct kvmig_probe **out_probe)
{
    struct target *targets = calloc(settings->probes.n + 1, sizeof(*targets));
    int code = 0;

    if (!targets)
        abort();
    for (size_t i = 0; i < settings->probes.n && code == 0; i++) {
        const char *wrong = read_target(settings->probes.v[i], settings, &targets[i]);

        if (!wrong)
            continue;
        complain("%s: cannot probe \"%s\": %s", command->name, settings->probes.v[i], wrong);
        code = usage_hint(command);
    }
    if (code == 0 && context)
        code = make_probe(context, targets, settings, out_probe);
    for (size_t i = 0; i < settings->probes.n; i++)
        free(targets[i].text);
    free(targets);
    return code;
}
