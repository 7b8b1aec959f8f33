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

static int write_to(const char *path, struct json_object *json)
{
    FILE *out = path ? fopen(path, "w") : stdout;

    if (out)
        json_print(json, out);
    if (!out || (out != stdout && fclose(out) != 0)) {
        complain("cannot write to \"%s\": %s", path, strerror(errno));
        return EXIT_ERROR;
    }
    return EXIT_OK;
}

/* What could not be read is missing in the file: whoever only looks at the exit code has to know. */
static int save(const struct view *view, const struct settings *settings)
{
    struct json_object *json;
    char *text = NULL;
    int code;

    if (kvmig_cluster_snapshot(view->cluster, &text) < 0)
        return complain_error("cannot save", NULL);
    json = json_parse_owned(text);
    code = write_to(settings->report_path, json);
    json_object_put(json);
    return code == EXIT_OK && !view->complete ? EXIT_NOT_FOUND : code;
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
               "arguments these are read instead of a cluster.\n"
               "Exit code 0: saved. 6: the cluster cannot be read, or some of the files cannot; the rest was saved.",
    .operands = OPERANDS_SAVE,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
