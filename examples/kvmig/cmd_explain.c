/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig explain: what the migration of a VM waits for, from the migration down to what blocks first. Reads a Kubernetes cluster or
 * files; changes nothing.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool.h"

static void print_time(const char *what, int64_t ms, FILE *out)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm broken;
    char text[32];

    if (ms == 0 || !gmtime_r(&seconds, &broken) || strftime(text, sizeof(text), "%H:%M:%S", &broken) == 0)
        return;
    fprintf(out, "      %-9s %s UTC\n", what, text);
}

static void print_text(const char *what, const char *text, FILE *out)
{
    if (text)
        fprintf(out, "      %-9s %s\n", what, text);
}

static void print_wait(const struct kvmig_wait *wait, FILE *out)
{
    const char *severity = kvmig_severity_name(wait->severity);

    fprintf(out, "  %-7s %s  %s%s%s\n", severity ? severity : "?", wait->code, wait->object ? wait->object : "",
            wait->waits_for ? " waits for " : "", wait->waits_for ? wait->waits_for : "");
    print_text("state:", wait->condition, out);
    print_text("evidence:", wait->evidence, out);
    print_time("since:", wait->since_ms, out);
    print_text("limit:", wait->limit, out);
    print_time("ends:", wait->ends_ms, out);
    print_text("advice:", wait->hint, out);
}

/* "... (TARGET_IMAGE_PULL)" */
static bool ends_with_code(const char *summary)
{
    const char *open = strrchr(summary, '(');
    size_t length = open ? strspn(open + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;

    return length > 0 && strcmp(open + 1 + length, ")") == 0;
}

void explanation_print(const struct kvmig_explanation *explanation, FILE *out)
{
    const char *summary = kvmig_explanation_summary(explanation);

    if (ends_with_code(summary))
        fprintf(out, "%s\n", summary);
    else
        fprintf(out, "%s (%s)\n", summary, kvmig_explanation_verdict(explanation));
    for (size_t i = 0; i < kvmig_explanation_count(explanation); i++)
        print_wait(kvmig_explanation_wait(explanation, i), out);
}

static int show(const struct view *view, const struct settings *settings)
{
    struct kvmig_explanation *explanation = NULL;
    struct json_object *json;
    char *text = NULL;

    if (kvmig_cluster_explain(view->cluster, settings->vm, settings->attach, &explanation) < 0)
        return complain_error("cannot explain", NULL);
    if (settings->json) {
        kvmig_explanation_to_json(explanation, &text);
        json = json_parse_owned(text);
        json_print(json, stdout);
        json_object_put(json);
    } else {
        explanation_print(explanation, stdout);
    }
    kvmig_explanation_unref(explanation);
    return EXIT_OK;
}

static int run(const struct settings *settings)
{
    struct view view;
    int code = view_open(&view, settings);

    if (code == 0)
        code = show(&view, settings);
    view_close(&view);
    return code;
}

static const struct option_def options[] = {
    { .name = "vm",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, vm),
      .metavar = "VM",
      .help = "the VM, if the words after the options are files or folders with Kubernetes objects" },
    { .name = "migration",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, attach),
      .metavar = "NAME",
      .help = "this migration (VMIM); default: the one that runs, or else the last one" },
    { .name = NULL },
};
static const struct option_group explain_options = { "What to explain", options };
static const struct option_group *const groups[] = { &explain_options, &kube_options, &kube_vm_options,
                                                     &connect_options, NULL };

const struct command explain_command = {
    .name = "explain",
    .arguments = "VM [options] | --vm NS/NAME [options] FILE...",
    .summary = "Say what the migration of a VM on KubeVirt waits for, since when, until which limit, and what to do.",
    .details = "The first blocker comes first. Exit code 0: explained. 6: no such VM or migration.",
    .operands = OPERANDS_VM_OR_FILES,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
