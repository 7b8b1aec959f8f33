/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig snapshot save: writes what the view knows of a Kubernetes cluster into one file, for planning and explaining elsewhere, or to
 * go with a bug report. No secrets are in it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static int save(const struct view *view, const struct settings *settings)
{
    FILE *out = settings->report_path ? fopen(settings->report_path, "w") : stdout;
    struct json_object *json;
    char *text = NULL;
    int code = EXIT_OK;

    if (!out) {
        complain("cannot write to \"%s\": %s", settings->report_path, strerror(errno));
        return EXIT_ERROR;
    }
    if (kvmig_cluster_snapshot(view->cluster, &text) < 0) {
        code = complain_error("cannot save", NULL);
    } else {
        json = json_parse_owned(text);
        json_print(json, out);
        json_object_put(json);
    }
    if (out != stdout && fclose(out) != 0) {
        complain("cannot write to \"%s\": %s", settings->report_path, strerror(errno));
        code = EXIT_ERROR;
    }
    return code;
}

static int run(const struct settings *settings)
{
    struct view view;
    int code = view_open(&view, settings);

    if (code == 0)
        code = save(&view, settings);
    view_close(&view);
    return code;
}

static const struct option_def options[] = {
    { .name = "output",
      .letter = 'o',
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, report_path),
      .metavar = "FILE",
      .help = "where to; default: standard output" },
    { .name = NULL },
};
static const struct option_group save_options = { "The file", options };
static const struct option_group *const groups[] = { &save_options, &kube_options, &connect_options, NULL };

const struct command snapshot_command = {
    .name = "snapshot",
    .arguments = "save [-o FILE] [options] [FILE...]",
    .summary = "Save the Kubernetes objects that matter to migrations, reduced and without secrets, into one file.",
    .details = "The file is a v1 List, which 'kvmig plan --vm' and 'kvmig explain --vm' read again. With files as "
               "arguments these are "
               "read instead of a cluster.",
    .operands = OPERANDS_SAVE,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
