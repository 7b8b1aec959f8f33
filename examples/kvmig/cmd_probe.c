/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig probe: tries targets again and again, until its time is over or the user interrupts it, and prints what a
 * client of theirs would have noticed. The library tries on a thread of its own; this one waits.
 */
#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "tool.h"

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- figures ---- */

static const char *explain_held(int32_t survived)
{
    if (survived < 0)
        return NULL;
    return survived ? "survived" : "broke";
}

/* Seconds since the start; a gap may have begun at a success just before the clock was read. */
static struct text text_since(int64_t ms, int64_t started_ms)
{
    struct text text;

    snprintf(text.s, sizeof(text.s), "%.3f s", ms > started_ms ? (double)(ms - started_ms) / 1000 : 0.0);
    return text;
}

static void add_result(struct table *table, const char *name, const struct kvmig_probe_result *result,
                       int64_t started_ms)
{
    bool has_gap = result->gap_begin_ms != 0;
    struct text tries, failures, gap, begin = text_since(result->gap_begin_ms, started_ms);
    struct text end = text_since(result->gap_end_ms, started_ms);
    const char *cells[] = { name,
                            tries.s,
                            failures.s,
                            has_gap ? gap.s : NULL,
                            has_gap ? begin.s : NULL,
                            result->gap_is_open ? "still open"
                            : has_gap           ? end.s
                                                : NULL,
                            explain_held(result->held_survived) };

    gap = text_ms(result->gap_ms);
    snprintf(tries.s, sizeof(tries.s), "%llu", (unsigned long long)result->tries);
    snprintf(failures.s, sizeof(failures.s), "%llu", (unsigned long long)result->failures);
    table_add(table, cells);
}

/* Returns how many targets never answered. */
static size_t print_results(struct kvmig_probe *probe, const struct settings *settings, int64_t started_ms)
{
    static const char *const titles[] = { "TARGET", "TRIES", "FAILED", "LONGEST GAP", "FROM", "TO", "CONNECTION" };
    struct table *table = table_new(titles, 7);
    size_t silent = 0;

    for (size_t i = 0; i < kvmig_probe_count(probe); i++) {
        struct kvmig_probe_result result = KVMIG_PROBE_RESULT_INIT;

        if (kvmig_probe_get_result(probe, i, &result) < 0) {
            complain_error(settings->probes.v[i], NULL);
            continue;
        }
        silent += result.last_success_ms == 0;
        add_result(table, settings->probes.v[i], &result, started_ms);
    }
    if (!settings->json)
        table_print(table, stdout, "");
    table_free(table);
    return silent;
}

static void print_json(struct kvmig_probe *probe)
{
    struct json_object *json;
    char *text = NULL;

    if (kvmig_probe_to_json(probe, &text) < 0) {
        complain_error("no figures", NULL);
        return;
    }
    json = json_parse_owned(text);
    json_print(json, stdout);
    json_object_put(json);
}

/* ---- running ---- */

static int32_t was_interrupted(void *user_data)
{
    (void)user_data;
    return signals_count() > 0;
}

static int run_probe(struct kvmig_context *context, struct kvmig_probe *probe, const struct settings *settings)
{
    int64_t started_ms = now_ms();
    size_t silent;
    int32_t rc;

    signals_catch(context);
    if (kvmig_probe_start(probe) < 0) {
        signals_release();
        return complain_error("cannot probe", NULL);
    }
    if (!settings->json) {
        printf("Trying %zu target%s; Ctrl-C ends it and prints the figures.\n", kvmig_probe_count(probe),
               kvmig_probe_count(probe) == 1 ? "" : "s");
        fflush(stdout);
    }
    rc = kvmig_context_run(context, was_interrupted, NULL, settings->duration_ms ? (int64_t)settings->duration_ms : -1);
    signals_release();
    kvmig_probe_stop(probe);
    if (rc < 0 && rc != -ETIMEDOUT)
        return complain_error("the event loop failed", NULL);
    silent = print_results(probe, settings, started_ms);
    if (settings->json)
        print_json(probe);
    if (silent > 0)
        complain("%zu of %zu targets never answered", silent, kvmig_probe_count(probe));
    return silent > 0 ? EXIT_NOT_FOUND : EXIT_OK;
}

static int run(const struct settings *settings)
{
    struct kvmig_context *context = NULL;
    struct kvmig_probe *probe = NULL;
    int code = 0;

    if (kvmig_context_new(NULL, &context) < 0)
        code = complain_error("cannot start", NULL);
    if (code == 0)
        code = targets_open(&probe_command, context, settings, &probe);
    if (code == 0)
        code = run_probe(context, probe, settings);
    kvmig_probe_unref(probe);
    kvmig_context_unref(context);
    return code;
}

/* ---- options ---- */

#define AT(member) offsetof(struct settings, member)

static const struct option_def options[] = {
    { .name = "netns",
      .kind = OPTION_TEXT,
      .offset = AT(netns),
      .metavar = "PATH",
      .help = "try from this network namespace, for example /run/netns/client" },
    { .name = "interval",
      .kind = OPTION_DURATION,
      .offset = AT(interval_ms),
      .metavar = "TIME",
      .help = "from one try to the next (default 20ms). Times are milliseconds, or have a unit: 500ms 30s 10m 2h",
      .min = 1,
      .max = 3600000 },
    { .name = "timeout",
      .kind = OPTION_DURATION,
      .offset = AT(try_timeout_ms),
      .metavar = "TIME",
      .help = "a try that takes longer has failed (default 200ms)",
      .min = 1,
      .max = 3600000 },
    { .name = "duration",
      .kind = OPTION_DURATION,
      .offset = AT(duration_ms),
      .metavar = "TIME",
      .help = "how long to go on; default: until Ctrl-C, SIGTERM or SIGHUP",
      .min = 100,
      .max = (uint64_t)365 * 24 * 3600 * 1000 },
    { .name = "json",
      .kind = OPTION_SWITCH,
      .offset = AT(json),
      .help = "print JSON on standard output instead of text" },
    { .name = NULL },
};
static const struct option_group probe_options = { "How to try", options };
static const struct option_group *const groups[] = { &probe_options, NULL };

const struct command probe_command = {
    .name = "probe",
    .arguments = "TARGET... [options]",
    .summary = "Try services again and again, and tell for how long each was away.",
    .details = "TARGET is tcp:HOST:PORT (opens a connection and closes it), echo:HOST:PORT (one connection, held, to a "
               "service that "
               "sends back what it gets) or http://HOST:PORT/PATH. An IPv6 address is written in brackets.\n"
               "Exit code 0: every target answered at least once. 6: at least one never did.",
    .operands = OPERANDS_PROBES,
    .needs_hosts = false,
    .groups = groups,
    .run = run,
};
