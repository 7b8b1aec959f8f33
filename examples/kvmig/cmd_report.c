/* SPDX-License-Identifier: MIT-0 */
/*
 * kvmig report bundle: collects in one folder what kvmig diagnose wants to see of a VM, from libvirt hosts or a Kubernetes cluster, and of
 * its logical port, so that a bug report has one attachment. Asks for no secrets, and changes nothing.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bundle.h"

#define PORT_TIMEOUT_MS 30000

/* ---- writing ---- */

bool bundle_write(const char *dir, const char *name, const char *text)
{
    char *path = NULL;
    FILE *out;
    bool good;

    if (asprintf(&path, "%s/%s", dir, name) < 0)
        abort();
    out = fopen(path, "wx"); /* two hosts of one name must not hide each other */
    good = out && fputs(text, out) >= 0;
    if (out && fclose(out) != 0)
        good = false;
    if (!good)
        complain("report: cannot write %s: %s", path, strerror(errno));
    free(path);
    return good;
}

bool bundle_write_json(const char *dir, const char *name, struct json_object *json)
{
    char *text = NULL;
    bool good;

    if (asprintf(&text, "%s\n", json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN)) < 0)
        abort();
    good = bundle_write(dir, name, text);
    free(text);
    json_object_put(json);
    return good;
}

/* ---- the cluster ---- */

static int add_cluster(const struct settings *settings, const char *dir)
{
    struct view view;
    char *text = NULL;
    int code = view_open(&view, settings);

    if (code == 0 && kvmig_cluster_snapshot(view.cluster, &text) < 0)
        code = complain_error("report", NULL);
    if (code == 0 && !bundle_write(dir, "cluster.json", text))
        code = EXIT_ERROR;
    free(text);
    view_close(&view);
    return code;
}

/* ---- the port ---- */

static void on_port(const struct kvmig_event *event, void *user_data)
{
    bool *done = user_data;

    *done = *done || kvmig_event_type(event) == KVMIG_EVENT_PORT;
}

static int32_t is_done(void *user_data)
{
    return *(bool *)user_data;
}

static int read_port(struct kvmig_context *context, struct kvmig_port *port, const bool *done, const char *dir)
{
    struct json_object *json;
    char *text = NULL;
    int code = EXIT_OK;

    if (kvmig_port_refresh(port) < 0 || kvmig_context_run(context, is_done, (void *)done, PORT_TIMEOUT_MS) < 0)
        return complain_error("report: the port", NULL);
    if (kvmig_port_to_json(port, &text) < 0)
        return complain_error("report: the port", NULL);
    json = json_parse_owned(text);
    if (!bundle_port(json, dir))
        code = EXIT_ERROR;
    json_object_put(json);
    return code;
}

static int add_port(const struct settings *settings, const char *dir)
{
    struct port_spec spec = { settings->lsp ? PORT_LSP : PORT_MATCH, settings->lsp ? settings->lsp : settings->match };
    bool done = false;
    struct kvmig_event_callback callback = { on_port, &done, NULL };
    struct kvmig_context *context = NULL;
    struct kvmig_port *port = NULL;
    int code;

    if (!port_spec_check(&report_command, &spec, settings))
        return EXIT_USAGE;
    if (kvmig_context_new(NULL, &context) < 0)
        return complain_error("report", NULL);
    code = port_open(context, &spec, settings, callback, &port);
    if (code == 0)
        code = read_port(context, port, &done, dir);
    kvmig_port_unref(port);
    kvmig_context_unref(context);
    return code;
}

/* ---- the command ---- */

static bool make_folder(const char *dir)
{
    if (mkdir(dir, 0700) == 0)
        return true;
    complain("report: cannot make the folder %s: %s", dir, strerror(errno));
    return false;
}

static int check(const struct settings *settings)
{
    if (strcmp(settings->operation, "bundle") != 0)
        complain("report: no operation \"%s\": 'report bundle' is what there is", settings->operation);
    else if (!settings->report_path)
        complain("report bundle: where to? Give a folder that does not exist yet with --output");
    else if (!settings->vm && !settings_want_kube(settings))
        complain("report bundle: which VM? Give its name with --vm");
    else
        return 0;
    return usage_hint(&report_command);
}

static int collect(const struct settings *settings)
{
    const char *dir = settings->report_path;
    int code = EXIT_OK, port = EXIT_OK;

    if (settings_want_kube(settings))
        code = add_cluster(settings, dir);
    else if (bundle_hosts(settings, dir) < settings->uris.n)
        code = EXIT_NOT_FOUND;
    if (settings->lsp || settings->match)
        port = add_port(settings, dir);
    printf("%s holds what the hosts or the cluster say. Logs are not to be had this way: add those of libvirt's and "
           "QEMU's\n"
           "daemons, or of the launcher pods, on both sides. Then: kvmig diagnose %s\n",
           dir, dir);
    return code ? code : port;
}

static int run(const struct settings *settings)
{
    int code = check(settings);

    if (code == 0)
        code = make_folder(settings->report_path) ? collect(settings) : EXIT_ERROR;
    return code;
}

static const struct option_def options[] = {
    { .name = "vm",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, vm),
      .metavar = "VM",
      .help = "the VM; on Kubernetes only with --only-vm, without which the whole view is saved" },
    { .name = "output",
      .letter = 'o',
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, report_path),
      .metavar = "DIR",
      .help = "the folder, which is made" },
    { .name = "lsp",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, lsp),
      .metavar = "NAME",
      .help = "with its logical port in OVN" },
    { .name = "match",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct settings, match),
      .metavar = "KEY=VALUE",
      .help = "with all logical ports that have it in their external_ids" },
    { .name = NULL },
};
static const struct option_group report_options = { "What to collect", options };
static const struct option_group *const groups[] = { &report_options,  &kube_options, &kube_vm_options,
                                                     &connect_options, &ovn_options,  NULL };

const struct command report_command = {
    .name = "report",
    .arguments = "bundle [--vm VM] --output DIR [options]",
    .summary = "Collect what kvmig diagnose wants to see of a VM in one folder, without secrets, for a bug report.",
    .details =
        "The source comes first in --connect. Exit code 0: all answered. 6: a host, cluster or database did not.",
    .operands = OPERANDS_OPERATION,
    .needs_hosts = true,
    .groups = groups,
    .run = run,
};
