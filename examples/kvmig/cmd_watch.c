/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig watch: tells what happens in a cluster: migrations as they go from phase to phase, whoever started them, and hosts that come
 * and go. Until Ctrl-C, or the end of --for. One thread.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "tool.h"

struct watch {
    const struct settings *settings;
    struct view view;
};

static void print_json(const struct kvmig_event *event)
{
    char *text = NULL;

    if (kvmig_event_to_json(event, &text) == 0)
        printf("%s\n", text);
    free(text);
}

/* The first blocker, if something is wrong: a migration within its normal times needs no comment. */
static void print_blocker(const struct watch *watch, const struct kvmig_event *event)
{
    struct kvmig_explanation *explanation = NULL;
    const struct kvmig_wait *wait;

    if (kvmig_cluster_explain(watch->view.cluster, kvmig_event_vm(event), kvmig_event_migration(event), &explanation) <
        0)
        return;
    wait = kvmig_explanation_wait(explanation, 0);
    if (wait && wait->severity >= KVMIG_SEVERITY_WARN)
        printf("    %s %s: %s\n", wait->code, wait->object ? wait->object : "", wait->condition ? wait->condition : "");
    kvmig_explanation_unref(explanation);
}

static void print_text(const struct watch *watch, const struct kvmig_event *event)
{
    const char *host = kvmig_event_host(event);

    switch (kvmig_event_type(event)) {
    case KVMIG_EVENT_MIGRATION:
        printf("%s  %s: %s\n", kvmig_event_vm(event), kvmig_event_migration(event),
               kvmig_phase_name(kvmig_event_phase(event)));
        print_blocker(watch, event);
        break;
    case KVMIG_EVENT_HOST_LOST:
        printf("%s: lost: %s\n", host, kvmig_error_message(kvmig_event_error(event)));
        break;
    case KVMIG_EVENT_HOST_FOUND:
        printf("%s: found\n", host);
        break;
    case KVMIG_EVENT_CLUSTER_CHANGED:
        printf("%s: changed\n", host);
        break;
    default:
        break;
    }
}

static void on_event(const struct kvmig_event *event, void *data)
{
    const struct watch *watch = data;

    if (watch->settings->json)
        print_json(event);
    else
        print_text(watch, event);
    fflush(stdout);
}

static int32_t was_interrupted(void *data)
{
    (void)data;
    return signals_count() > 0;
}

static int run(const struct settings *settings)
{
    struct watch watch = { .settings = settings };
    int code = view_open(&watch.view, settings);
    int32_t rc;

    if (code == 0) {
        const int64_t limit_ms = settings->duration_ms ? (int64_t)settings->duration_ms : -1;

        view_follow(&watch.view, on_event, &watch);
        signals_catch(watch.view.context);
        rc = kvmig_context_run(watch.view.context, was_interrupted, NULL, limit_ms);
        signals_release();
        view_follow(&watch.view, NULL, NULL);
        if (rc < 0 && rc != -ETIMEDOUT)
            code = complain_error("the event loop failed", NULL);
    }
    view_close(&watch.view);
    return code;
}

static const struct option_def options[] = {
    { .name = "for",
      .kind = OPTION_DURATION,
      .offset = offsetof(struct settings, duration_ms),
      .metavar = "TIME",
      .help = "end after this time (default: at Ctrl-C)",
      .min = 1,
      .max = (uint64_t)365 * 24 * 3600 * 1000 },
    { .name = NULL },
};
static const struct option_group watch_options = { "How long", options };
static const struct option_group *const groups[] = { &watch_options, &kube_options, &connect_options, NULL };

const struct command watch_command = {
    .name = "watch",
    .arguments = "[options]",
    .summary = "Tell what happens in the cluster: migrations from phase to phase, hosts that come and go.",
    .details = "With --json each event is one line.",
    .operands = OPERANDS_NONE,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
